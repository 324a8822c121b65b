//! What the cache holds is used when its digest is right, and only then.

use corpus::fetch::{FetchError, Wanted};

use super::loopback::{LoopbackHub, answer};
use super::stage::{COMMIT, SHA256, Stage, content, wanted};

/// An endpoint that nobody listens at: who asks it fails.
const NOBODY: &str = "http://127.0.0.1:1";

#[tokio::test]
async fn a_cached_corpus_needs_no_network() {
    // Each case: where the content lies, and a ref that leads there.
    let elsewhere = "00000000000000000000000000000000000000aa";
    let cases = [
        (format!("snapshots/{COMMIT}/traces.jsonl"), None, Some(COMMIT)),
        (
            format!("snapshots/{elsewhere}/traces.jsonl"),
            Some(("refs/main", elsewhere)),
            Some("main"),
        ),
        (format!("blobs/{SHA256}"), None, None),
    ];
    for (path, reference, revision) in cases {
        let stage = Stage::new();
        let path = stage.put(&path, &content());
        if let Some((name, commit)) = reference {
            stage.put(name, commit.as_bytes());
        }
        for sha256 in [SHA256.to_owned(), SHA256.to_uppercase()] {
            let asked = Wanted {
                sha256: Some(sha256),
                ..wanted()
            };
            let fetched = stage.fetch(NOBODY, &asked).await.0.unwrap();
            assert_eq!((&fetched.path, fetched.from_cache), (&path, true));
            assert_eq!(fetched.revision_used.as_deref(), revision);
        }
    }
}

#[tokio::test]
async fn what_was_fetched_once_is_found_again() {
    let hub =
        LoopbackHub::start(|_, _| vec![answer("200 OK", &[("X-Repo-Commit", COMMIT)], &content())]).await;
    let stage = Stage::new();
    let first = stage.fetch(&hub.url, &wanted()).await.0.unwrap();
    let second = stage.fetch(NOBODY, &wanted()).await.0.unwrap();
    assert_eq!((second.path, second.from_cache), (first.path, true));
}

#[tokio::test]
async fn a_cached_file_with_another_digest_is_fetched_anew() {
    let hub =
        LoopbackHub::start(|_, _| vec![answer("200 OK", &[("X-Repo-Commit", COMMIT)], &content())]).await;
    for place in [
        format!("snapshots/{COMMIT}/traces.jsonl"),
        format!("blobs/{SHA256}"),
    ] {
        let stage = Stage::new();
        stage.put(&place, b"{\"n\":0}\n");
        let fetched = stage.fetch(&hub.url, &wanted()).await.0.unwrap();
        assert!(!fetched.from_cache, "{place}");
    }
}

#[tokio::test]
async fn without_a_digest_only_a_commit_is_trusted_while_the_hub_can_be_asked() {
    let mut stage = Stage::new();
    stage.put(&format!("snapshots/{COMMIT}/traces.jsonl"), &content());
    stage.put("refs/main", COMMIT.as_bytes());
    let commit = Wanted {
        sha256: None,
        ..wanted()
    };
    assert!(stage.fetch(NOBODY, &commit).await.0.unwrap().from_cache);
    let branch = Wanted {
        revision: None,
        ..commit
    };
    let error = stage.fetch(NOBODY, &branch).await.0.unwrap_err();
    assert!(matches!(error, FetchError::Connect { .. }), "{error}");
    stage.offline = true;
    assert!(stage.fetch(NOBODY, &branch).await.0.unwrap().from_cache);
}

#[tokio::test]
async fn offline_asks_nobody() {
    let hub = LoopbackHub::start(|_, _| Vec::new()).await;
    let mut stage = Stage::new();
    stage.offline = true;
    let error = stage.fails(&hub.url, &wanted()).await;
    assert!(matches!(error, FetchError::Offline { .. }), "{error}");
    assert!(hub.seen().is_empty());
}
