//! Which tokenizer a name means: a path, a repository in the Hugging Face cache, or ours. Never downloads and never runs code.

use crate::output;
use anyhow::bail;
use corpus::fetch::HubEnvironment;
use std::path::{Path, PathBuf};

/// What `--tokenizer` of `run` would be given. Without a name the model's is tried, as aiperf does, and then ours.
pub(super) fn find(stated: Option<&str>, revision: &str, model: &str) -> anyhow::Result<String> {
    let environment = HubEnvironment::from_process();
    let known = |name: &str| {
        if name == "builtin" || Path::new(name).exists() {
            return Some(name.to_owned());
        }
        in_cache(environment.cache()?, name, revision).map(|folder| folder.display().to_string())
    };
    if let Some(name) = stated {
        let Some(found) = known(name) else {
            bail!(
                "--tokenizer {name}: neither a file or folder nor a repository in the Hugging Face cache\n\
                 hint: give the path of its tokenizer.json, or bring that file into the cache first, for example with \
                 `hf download {name} tokenizer.json`"
            );
        };
        return Ok(found);
    }
    Ok(known(model).unwrap_or_else(|| {
        output::say(&format!(
            "warning: --tokenizer is not given and {model} is no tokenizer on this machine: prompts are made with the built-in \
             one, a token a byte, so their lengths in the server's tokens are not the recorded ones"
        ));
        "builtin".to_owned()
    }))
}

/// The folder with a repository's `tokenizer.json` in the cache, as Hugging Face's tools lay it out.
fn in_cache(cache: &Path, name: &str, revision: &str) -> Option<PathBuf> {
    let (owner, repository) = name.split_once('/')?;
    let plain = |part: &str| !part.is_empty() && !part.contains('/') && part != "." && part != "..";
    if !plain(owner) || !plain(repository) || !plain(revision) {
        return None;
    }
    let repository = cache.join(format!("models--{owner}--{repository}"));
    let commit = std::fs::read_to_string(repository.join("refs").join(revision))
        .map_or_else(|_| revision.to_owned(), |commit| commit.trim().to_owned());
    let folder = repository.join("snapshots").join(commit);
    folder.join("tokenizer.json").exists().then_some(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repository_is_found_by_branch_and_by_commit() {
        let cache = testkit::tempdir().unwrap();
        let repository = cache.path().join("models--o--n");
        let snapshot = repository.join("snapshots/abc");
        std::fs::create_dir_all(&snapshot).unwrap();
        std::fs::create_dir_all(repository.join("refs")).unwrap();
        std::fs::write(repository.join("refs/main"), "abc\n").unwrap();
        assert_eq!(
            in_cache(cache.path(), "o/n", "main"),
            None,
            "without a tokenizer it is none"
        );
        std::fs::write(snapshot.join("tokenizer.json"), "{}").unwrap();
        assert_eq!(in_cache(cache.path(), "o/n", "main"), Some(snapshot.clone()));
        assert_eq!(in_cache(cache.path(), "o/n", "abc"), Some(snapshot));
        assert_eq!(in_cache(cache.path(), "o/n", "other"), None);
        assert_eq!(in_cache(cache.path(), "o/..", "main"), None);
    }
}
