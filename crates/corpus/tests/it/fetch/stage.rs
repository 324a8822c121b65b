//! The common set of the fetch tests: a corpus, a cache folder, short deadlines and one way to fetch.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use corpus::fetch::{FetchError, Fetched, Hub, HubEnvironment, Limits, Progress, Proxies, Wanted, fetch};
use testkit::{TempDir, tempdir};

pub(crate) const REPOSITORY: &str = "owner/traces";
pub(crate) const FILE: &str = "traces.jsonl";
pub(crate) const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";
pub(crate) const TOKEN: &str = "hf_tokenthatmustnotshow";

/// The folder that holds everything of [`REPOSITORY`].
const FOLDER: &str = "datasets--owner--traces";

/// SHA-256 of [`content`], as `sha256sum` gives it.
pub(crate) const SHA256: &str = "da616f34d3a309747a292c5c97b21145a165dc494fdeb14eddbd1aa06040d11f";

/// What the hub holds: 5,000 numbered lines, 55,000 bytes.
pub(crate) fn content() -> Vec<u8> {
    (0..5_000)
        .flat_map(|line| format!("{{\"n\":{line:04}}}\n").into_bytes())
        .collect()
}

/// A cache folder and what was seen of the fetches into it.
pub(crate) struct Stage {
    folder: TempDir,
    pub(crate) limits: Limits,
    pub(crate) offline: bool,
    pub(crate) token: bool,
}

impl Stage {
    /// Deadlines that a busy machine keeps; a test of a deadline sets its own.
    pub(crate) fn new() -> Self {
        let ms = Duration::from_millis;
        Self {
            folder: tempdir().unwrap(),
            limits: Limits {
                connect: ms(3_000),
                first_byte: ms(3_000),
                idle: ms(300),
                pace_window: ms(5_000),
                pause: ms(10),
                pause_max: ms(20),
                failures_max: 3,
                ..Limits::DEFAULT
            },
            offline: false,
            token: true,
        }
    }

    pub(crate) fn hub(&self, endpoint: &str) -> Hub {
        let environment = HubEnvironment::from_fn(|name| match name {
            "HF_ENDPOINT" => Some(endpoint.to_owned()),
            "HF_HUB_CACHE" => Some(self.folder.path().display().to_string()),
            "HF_TOKEN" => self.token.then(|| TOKEN.to_owned()),
            "HF_HUB_OFFLINE" => self.offline.then(|| "1".to_owned()),
            _ => None,
        });
        Hub::open(&environment, self.limits, Proxies::None).unwrap()
    }

    /// Fetches and checks what holds however it ends: no token in any word, and nothing but the corpus under a final name.
    pub(crate) async fn fetch(
        &self,
        endpoint: &str,
        wanted: &Wanted,
    ) -> (Result<Fetched, FetchError>, Vec<Progress>) {
        let mut told = Vec::new();
        let result = fetch(&self.hub(endpoint), wanted, &mut |progress| told.push(progress)).await;
        let words = format!(
            "{result:?} {told:?} {}",
            result.as_ref().err().map(ToString::to_string).unwrap_or_default()
        );
        assert!(!words.contains(TOKEN), "{words}");
        if let Ok(fetched) = &result {
            assert_eq!(fs::read(&fetched.path).unwrap(), content());
            assert_eq!(
                (fetched.sha256.as_str(), fetched.bytes),
                (SHA256, content().len() as u64)
            );
        }
        (result, told)
    }

    /// The error of a fetch that must fail and must leave nothing under a final name.
    pub(crate) async fn fails(&self, endpoint: &str, wanted: &Wanted) -> FetchError {
        let (result, _) = self.fetch(endpoint, wanted).await;
        assert_eq!(self.finished(), Vec::<String>::new(), "{result:?}");
        result.unwrap_err()
    }

    pub(crate) fn path(&self, relative: &str) -> PathBuf {
        self.folder.path().join(FOLDER).join(relative)
    }

    /// Puts a file of the repository's folder in place before a fetch.
    pub(crate) fn put(&self, relative: &str, bytes: &[u8]) -> PathBuf {
        let path = self.path(relative);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, bytes).unwrap();
        path
    }

    /// Every file of the cache that is neither unfinished nor a lock, relative and sorted.
    pub(crate) fn finished(&self) -> Vec<String> {
        let mut files = Vec::new();
        list(self.folder.path(), self.folder.path(), &mut files);
        files.sort();
        files
    }

    pub(crate) fn unfinished(&self) -> Option<u64> {
        let path = self.path(&format!("blobs/{SHA256}.incomplete"));
        fs::metadata(path).ok().map(|found| found.len())
    }
}

fn list(root: &Path, folder: &Path, files: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            list(root, &path, files);
        } else if path
            .extension()
            .is_none_or(|ending| ending != "incomplete" && ending != "lock")
        {
            files.push(path.strip_prefix(root).unwrap().display().to_string());
        }
    }
}

/// The corpus at [`COMMIT`], its digest stated.
pub(crate) fn wanted() -> Wanted {
    Wanted {
        repository: REPOSITORY.to_owned(),
        revision: Some(COMMIT.to_owned()),
        file: FILE.to_owned(),
        sha256: Some(SHA256.to_owned()),
    }
}

/// The path that a fetch at `revision` asks for.
pub(crate) fn resolve(revision: &str) -> String {
    format!("/datasets/{REPOSITORY}/resolve/{revision}/{FILE}")
}
