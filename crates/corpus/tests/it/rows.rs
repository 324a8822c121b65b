//! One right row, variants of it, and what loading them gives.

use std::fs;
use std::path::PathBuf;

use corpus::{Corpus, Error, LoadOptions};

/// A row that is right, with one request at the top level and one in a subagent.
pub(crate) const ROW: &str = r#"{"id":"a","models":["A"],"block_size":64,"hash_id_scope":"local","tool_tokens":0,"system_tokens":0,"totals":null,"requests":[{"t":0,"type":"s","model":"A","in":200,"out":70,"hash_ids":[1,2,3],"input_types":["text"],"output_types":[],"stop":"","api_time":2.5,"think_time":null,"ttft":0.5},{"t":5,"type":"subagent","agent_id":"x","subagent_type":"Explore","duration_ms":null,"total_tokens":1,"tool_use_count":null,"status":"completed","requests":[{"t":6,"type":"n","model":"A","in":64,"out":1,"hash_ids":[9]}],"models":["A"],"tool_tokens":0,"system_tokens":0}]}"#;

/// `ROW` with one part replaced.
pub(crate) fn row(from: &str, to: &str) -> String {
    assert!(ROW.contains(from), "{from}");
    ROW.replacen(from, to, 1)
}

pub(crate) struct File {
    _folder: testkit::TempDir,
    pub(crate) path: PathBuf,
}

pub(crate) fn file(text: impl AsRef<[u8]>) -> File {
    let folder = testkit::tempdir().unwrap();
    let path = folder.path().join("corpus.jsonl");
    fs::write(&path, text).unwrap();
    File {
        _folder: folder,
        path,
    }
}

pub(crate) fn load(text: impl AsRef<[u8]>) -> Result<Corpus, Error> {
    Corpus::load(&file(text).path, None, &LoadOptions::default(), None)
}

/// Loads `text` and compares the message, the file's name cut off.
pub(crate) fn check(text: impl AsRef<[u8]>, expected: &str) {
    let file = file(text);
    let error = Corpus::load(&file.path, None, &LoadOptions::default(), None)
        .unwrap_err()
        .to_string();
    let message = error.strip_prefix(file.path.to_str().unwrap()).unwrap();
    assert_eq!(message, expected);
}
