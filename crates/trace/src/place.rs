//! A finished file takes its place, and nothing that is no file loses its own.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;

/// Renames the finished `draft` to `target`, replacing a file that is there; through a symbolic link, the file that it leads to.
///
/// # Errors
/// When the file system refuses, and when `target` is a folder, a device, a pipe or anything else that is no file: it would be
/// gone. The draft is removed then.
pub fn take_place(draft: &Path, target: &Path) -> io::Result<()> {
    let placed = match fs::metadata(target) {
        Ok(there) if !there.is_file() => Err(io::Error::new(
            ErrorKind::InvalidInput,
            "something that is no regular file is there; it would be replaced by one",
        )),
        Ok(_) => fs::canonicalize(target).and_then(|target| fs::rename(draft, target)),
        Err(_) => fs::rename(draft, target),
    };
    placed.inspect_err(|_| {
        let _ = fs::remove_file(draft); // the error that matters is the other
    })
}

#[cfg(test)]
mod tests {
    use super::take_place;
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    #[test]
    fn files_are_replaced_links_are_followed_and_the_rest_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let draft = || {
            fs::write(path("draft"), "new").unwrap();
            path("draft")
        };
        take_place(&draft(), &path("absent")).unwrap();
        take_place(&draft(), &path("absent")).unwrap();
        fs::write(path("file"), "old").unwrap();
        symlink(path("file"), path("link")).unwrap();
        take_place(&draft(), &path("link")).unwrap();
        assert_eq!(fs::read_to_string(path("file")).unwrap(), "new");
        assert!(fs::symlink_metadata(path("link")).unwrap().is_symlink());
        let _socket = UnixListener::bind(path("socket")).unwrap();
        let refused = take_place(&draft(), &path("socket")).unwrap_err();
        assert!(refused.to_string().contains("no regular file"), "{refused}");
        assert!(!path("draft").exists());
        assert!(!fs::metadata(path("socket")).unwrap().is_file());
    }
}
