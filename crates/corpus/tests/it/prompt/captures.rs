//! Every request of every capture of a real aiperf 0.12.0 run: its body, made from corpus, tokenizer, pool and the marker
//! it carried, has the length and digest of what aiperf sent.

use std::collections::HashMap;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use corpus::prompt::{BodyOptions, Envelope, EnvelopeOptions, Prompter, RequestBody};
use corpus::reconstruct::Options;
use serde::Deserialize;
use sha2::{Digest, Sha256};

use super::real_pool;
use super::recorded::{Recorded, corpus};

#[derive(Deserialize)]
struct Capture {
    requests: Vec<Request>,
}

#[derive(Deserialize)]
struct Request {
    n: usize,
    phase: String,
    conversation_id: String,
    turn: usize,
    marker: String,
    fields: Fields,
    body_bytes: u64,
    body_sha256: String,
    body_norm_sha256: String,
}

#[derive(Deserialize, PartialEq, Eq, Hash)]
#[serde(deny_unknown_fields)]
struct Fields {
    model: String,
    stream: bool,
    max_completion_tokens: u64,
    ignore_eos: bool,
    stream_options: StreamOptions,
}

#[derive(Deserialize, PartialEq, Eq, Hash)]
#[serde(deny_unknown_fields)]
struct StreamOptions {
    include_usage: bool,
}

impl Fields {
    fn envelope(&self) -> Envelope {
        assert!(
            self.stream && self.stream_options.include_usage,
            "of every capture"
        );
        let options = EnvelopeOptions {
            model: self.model.clone(),
            ignore_eos: self.ignore_eos,
            usage: true,
            ..EnvelopeOptions::default()
        };
        Envelope::new(&options).expect("nothing in it is refused")
    }
}

const ZEROED: &str = "[rid:000000000000]";

/// Length and digest of a body, never held as a whole.
fn digest(mut body: RequestBody) -> (u64, String) {
    let mut bytes = 0;
    let mut sha256 = Sha256::new();
    while let Some(chunk) = body.next_chunk() {
        bytes += chunk.len() as u64;
        sha256.update(&chunk);
    }
    assert_eq!(bytes, body.content_length());
    let hex = sha256.finalize().iter().fold(String::new(), |mut hex, byte| {
        write!(hex, "{byte:02x}").expect("a String takes any text");
        hex
    });
    (bytes, hex)
}

/// Compares all requests of one capture; how many there were.
fn check(path: &Path, traces: &HashMap<Arc<str>, Recorded>, prompter: &Prompter, tool_shaped: bool) -> usize {
    let capture: Capture = testkit::json(path);
    for request in &capture.requests {
        let what = format!("{} request {}", path.display(), request.n);
        let trace = request.conversation_id.split("::").next().unwrap();
        let recorded = traces
            .get(trace)
            .unwrap_or_else(|| panic!("{what}: no trace {trace}"));
        let (place, turn) = recorded.turn(&request.conversation_id, request.turn);
        let limit = if request.phase == "warmup" {
            1
        } else {
            turn.max_tokens
        };
        assert_eq!(limit, request.fields.max_completion_tokens, "{what}");
        let envelope = Arc::new(request.fields.envelope());
        for (marker, sha256) in [
            (request.marker.as_str(), &request.body_sha256),
            (ZEROED, &request.body_norm_sha256),
        ] {
            let marker = format!("{marker}\n\n");
            let options = BodyOptions {
                envelope: &envelope,
                max_tokens: limit,
                marker: Some(&marker),
                tool_shaped,
            };
            let body = recorded.body(prompter, place, &options);
            assert_eq!(body.content_length(), request.body_bytes, "{what}");
            assert_eq!(digest(body), (request.body_bytes, sha256.clone()), "{what}");
        }
    }
    capture.requests.len()
}

fn captures(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder of captures");
    let mut paths: Vec<PathBuf> = entries
        .map(|entry| entry.expect("it can be listed").path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "gz"))
        .collect();
    // The largest first, so that the threads end together.
    paths.sort_by_key(|path| std::cmp::Reverse(fs::metadata(path).map_or(0, |file| file.len())));
    paths
}

#[test]
fn every_body_of_every_capture_is_the_one_that_aiperf_sent() {
    let folder = testkit::tempdir().unwrap();
    let Some(captured) = testkit::shared("oracle/captures") else {
        return;
    };
    let Some(tokenizer) = real_pool::qwen2(folder.path()) else {
        return;
    };
    let Some(pool) = real_pool::pool(folder.path(), &tokenizer) else {
        return;
    };
    let read = |name: &str, options: &Options| {
        let path = testkit::shared(&format!("oracle/corpora/{name}")).expect("it lies beside the captures");
        corpus(&testkit::bytes(&path), options)
    };
    let whole = Options {
        split_flattened_agents: false,
        ..Options::default()
    };
    let a = read("corpus_a.jsonl", &Options::default());
    let a_whole = read("corpus_a.jsonl", &whole);
    let b = read("corpus_b.jsonl.gz", &Options::default());
    let prompter = Prompter::new(pool, 42);

    let paths = std::sync::Mutex::new(captures(&captured).into_iter());
    let requests = std::sync::atomic::AtomicUsize::new(0);
    let work = || {
        loop {
            let Some(path) = paths.lock().unwrap().next() else {
                return;
            };
            let name = path.file_name().unwrap().to_str().unwrap();
            let traces = match name {
                _ if name.starts_with("b_") => &b,
                _ if name.contains("_nosplit_") => &a_whole,
                _ => &a,
            };
            let compared = check(&path, traces, &prompter, name.contains("_toolshape_"));
            requests.fetch_add(compared, std::sync::atomic::Ordering::Relaxed);
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(work);
        scope.spawn(work);
    });
    assert!(
        requests.into_inner() >= 8856,
        "fewer requests than the 25 captures hold"
    );
}
