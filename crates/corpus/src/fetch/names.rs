//! Names that a person states, refused when they would lead elsewhere.

use super::digest::is_sha256;
use super::{FetchError, Wanted};

/// Refuses names that would leave the repository's folder or its URL.
pub(super) fn check(wanted: &Wanted) -> Result<(), FetchError> {
    let refuse = |what, found: &str, expected| {
        Err(FetchError::Name {
            what,
            found: found.to_owned(),
            expected,
        })
    };
    let word = |part: &str| {
        !matches!(part, "" | "." | "..")
            && part
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
    };
    let repository = wanted.repository.split_once('/');
    if !repository.is_some_and(|(owner, name)| word(owner) && word(name)) {
        return refuse("repository", &wanted.repository, "owner/name");
    }
    if !is_inside(&wanted.file) {
        return refuse("corpus file", &wanted.file, "a path inside the repository");
    }
    if let Some(revision) = wanted.revision.as_deref().filter(|revision| !is_inside(revision)) {
        return refuse("revision", revision, "a commit, branch or tag");
    }
    if let Some(sha256) = wanted.sha256.as_deref().filter(|text| !is_sha256(text)) {
        return refuse("SHA-256", sha256, "64 hex digits");
    }
    Ok(())
}

/// Whether `path` has only plain parts, none of them empty.
fn is_inside(path: &str) -> bool {
    !path.is_empty()
        && path.split('/').all(|part| !matches!(part, "" | "." | ".."))
        && !path.contains(['\\', '\0'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_lead_elsewhere_are_refused() {
        let good = Wanted {
            repository: "o/n".to_owned(),
            revision: Some("refs/pr/1".to_owned()),
            file: "data/t.jsonl".to_owned(),
            sha256: Some("0".repeat(64)),
        };
        check(&good).unwrap();
        let with = |change: &dyn Fn(&mut Wanted)| {
            let mut wanted = good.clone();
            change(&mut wanted);
            check(&wanted).unwrap_err().to_string()
        };
        for repository in ["n", "o/n/x", "../n", "o/..", "o/n?x", ""] {
            let message = with(&|wanted| repository.clone_into(&mut wanted.repository));
            assert!(message.starts_with("repository `"), "{message}");
        }
        for path in ["", "../t", "/t", "a//b", "a/./b", "a/", "a\\b"] {
            let message = with(&|wanted| path.clone_into(&mut wanted.file));
            assert!(message.starts_with("corpus file `"), "{message}");
            let message = with(&|wanted| wanted.revision = Some(path.to_owned()));
            assert!(message.starts_with("revision `"), "{message}");
        }
        let message = with(&|wanted| wanted.sha256 = Some("abc".to_owned()));
        assert_eq!(message, "SHA-256 `abc` is not 64 hex digits");
    }
}
