//! Transfers: whole, redirected, dripping, cut and resumed, lying.

use std::time::Duration;

use corpus::fetch::{FetchError, Progress, Wanted};

use super::loopback::{LoopbackHub, Seen, Step, answer, head};
use super::stage::{COMMIT, SHA256, Stage, TOKEN, content, resolve, wanted};

const HUB: [(&str, &str); 1] = [("X-Repo-Commit", COMMIT)];

/// What a good hub answers, from wherever it is asked to begin.
fn good(seen: &Seen) -> Vec<Step> {
    let content = content();
    vec![match seen.offset() {
        None => answer("200 OK", &HUB, &content),
        Some(start) => {
            let range = format!("bytes {start}-{}/{}", content.len() - 1, content.len());
            let headers = [HUB[0], ("Content-Range", range.as_str())];
            answer("206 Partial Content", &headers, &content[start..])
        }
    }]
}

/// A whole answer of which only the first `kept` bytes come.
fn cut(kept: usize) -> Vec<Step> {
    let mut bytes = head("200 OK", &HUB, content().len());
    bytes.extend_from_slice(&content()[..kept]);
    vec![Step::Send(bytes)]
}

/// Content of the right length that is not the corpus.
fn lie() -> Vec<u8> {
    content()
        .iter()
        .map(|byte| if *byte == b'n' { b'm' } else { *byte })
        .collect()
}

fn offsets(hub: &LoopbackHub) -> Vec<Option<usize>> {
    hub.seen().iter().map(Seen::offset).collect()
}

#[tokio::test]
async fn a_good_hub_fills_the_cache_as_hugging_face_does() {
    let hub = LoopbackHub::start(|_, seen| good(seen)).await;
    let stage = Stage::new();
    let (result, told) = stage.fetch(&hub.url, &wanted()).await;
    let fetched = result.unwrap();
    assert_eq!(
        fetched.path,
        stage.path(&format!("snapshots/{COMMIT}/traces.jsonl"))
    );
    assert_eq!(
        (fetched.revision_used.as_deref(), fetched.from_cache),
        (Some(COMMIT), false)
    );
    let target = std::fs::read_link(&fetched.path).unwrap();
    assert_eq!(target.to_str().unwrap(), format!("../../blobs/{SHA256}"));
    assert_eq!(
        stage.finished(),
        [
            format!("datasets--owner--traces/blobs/{SHA256}"),
            format!("datasets--owner--traces/snapshots/{COMMIT}/traces.jsonl"),
        ]
    );
    assert_eq!(stage.unfinished(), None);
    let total = content().len() as u64;
    assert_eq!(
        told.last(),
        Some(&Progress::Received {
            bytes: total,
            total: Some(total)
        })
    );

    let request = &hub.seen()[0];
    assert_eq!(request.path, resolve(COMMIT));
    assert_eq!(
        request.header("authorization"),
        Some(format!("Bearer {TOKEN}").as_str())
    );
    assert_eq!(request.header("accept-encoding"), Some("identity"));
    assert!(request.header("user-agent").unwrap().starts_with("turnmill/"));
}

#[tokio::test]
async fn without_a_stated_digest_the_found_one_is_returned() {
    let linked = format!("\"{SHA256}\"");
    let hub = LoopbackHub::start(move |_, _| {
        let headers = [HUB[0], ("X-Linked-Etag", linked.as_str())];
        vec![answer("200 OK", &headers, &content())]
    })
    .await;
    let stage = Stage::new();
    let any = Wanted {
        sha256: None,
        revision: None,
        ..wanted()
    };
    let fetched = stage.fetch(&hub.url, &any).await.0.unwrap();
    assert_eq!(
        (fetched.sha256.as_str(), fetched.commit.as_deref()),
        (SHA256, Some(COMMIT))
    );
    assert_eq!(std::fs::read_to_string(stage.path("refs/main")).unwrap(), COMMIT);
    assert_eq!(hub.seen()[0].path, resolve("main"));
    let again = stage.fetch(&hub.url, &any).await.0.unwrap();
    assert!(again.from_cache, "the hub named a content that is there already");
}

#[tokio::test]
async fn a_redirect_is_followed_and_the_token_stays_with_the_hub() {
    let storage = LoopbackHub::start(|_, seen| good(seen)).await;
    let place = format!("{}/storage/x?X-Signature=secret", storage.url);
    let hub = LoopbackHub::start(move |_, seen| {
        let to = if seen.path.starts_with("/moved") {
            place.as_str()
        } else {
            "/moved/x"
        };
        let headers = [HUB[0], ("X-Linked-Etag", SHA256), ("Location", to)];
        vec![answer("302 Found", &headers, b"see there")]
    })
    .await;
    let stage = Stage::new();
    let (result, told) = stage.fetch(&hub.url, &wanted()).await;
    assert_eq!(result.unwrap().commit.as_deref(), Some(COMMIT));
    assert!(
        hub.seen()
            .iter()
            .all(|seen| seen.header("authorization").is_some())
    );
    let stored = &storage.seen()[0];
    assert_eq!(
        (stored.path.as_str(), stored.header("authorization")),
        ("/storage/x?X-Signature=secret", None)
    );
    assert!(
        !format!("{told:?}").contains("Signature"),
        "a signed link is as good as a token"
    );
}

#[tokio::test]
async fn a_slow_hub_is_waited_for_as_long_as_it_moves() {
    let hub = LoopbackHub::start(|_, _| {
        let content = content();
        let mut steps = vec![Step::Send(head("200 OK", &HUB, content.len()))];
        for part in content.chunks(content.len() / 8 + 1) {
            steps.push(Step::Pause(Duration::from_millis(40)));
            steps.push(Step::Send(part.to_vec()));
        }
        steps
    })
    .await;
    let stage = Stage::new();
    assert!(!stage.fetch(&hub.url, &wanted()).await.0.unwrap().from_cache);
    assert_eq!(hub.seen().len(), 1);
}

#[tokio::test]
async fn a_hub_that_drips_for_ever_is_given_up() {
    let hub = LoopbackHub::start(|_, _| {
        let mut steps = vec![Step::Send(head("200 OK", &HUB, content().len()))];
        for _ in 0..1000 {
            steps.extend([Step::Pause(Duration::from_millis(20)), Step::Send(vec![b'{'])]);
        }
        steps
    })
    .await;
    let mut stage = Stage::new();
    stage.limits.pace_window = Duration::from_millis(150);
    stage.limits.failures_max = 1;
    let error = stage.fails(&hub.url, &wanted()).await;
    let FetchError::GivenUp { failures: 2, last } = error else {
        panic!("{error}")
    };
    assert!(matches!(*last, FetchError::TooSlow { .. }), "{last}");
}

/// The first attempt breaks as `first` says, every later one is answered by `later`; the fetch ends well.
async fn recovers(first: Vec<Step>, later: fn(&Seen) -> Vec<Step>, expected: &[Option<usize>]) {
    let hub = LoopbackHub::start(move |n, seen| if n == 0 { first.clone() } else { later(seen) }).await;
    let stage = Stage::new();
    let (result, told) = stage.fetch(&hub.url, &wanted()).await;
    result.unwrap();
    assert_eq!(offsets(&hub), expected);
    assert!(told.iter().any(|progress| matches!(
        progress,
        Progress::Retrying {
            failures: 1,
            of: 3,
            ..
        }
    )));
    assert_eq!(stage.unfinished(), None);
}

#[tokio::test]
async fn a_cut_transfer_goes_on_where_it_stopped() {
    recovers(cut(20_000), good, &[None, Some(20_000)]).await;
}

#[tokio::test]
async fn a_stalled_transfer_goes_on_where_it_stopped() {
    let mut steps = cut(20_000);
    steps.push(Step::Hang);
    recovers(steps, good, &[None, Some(20_000)]).await;
}

#[tokio::test]
async fn a_hub_that_cannot_resume_sends_all_of_it_again() {
    recovers(
        cut(20_000),
        |_| vec![answer("200 OK", &HUB, &content())],
        &[None, Some(20_000)],
    )
    .await;
}

#[tokio::test]
async fn a_part_that_begins_elsewhere_is_not_taken() {
    let later = |seen: &Seen| match seen.offset() {
        None => good(seen),
        Some(_) => vec![answer(
            "206 Partial Content",
            &[HUB[0], ("Content-Range", "bytes 19999-54999/55000")],
            &content()[19_999..],
        )],
    };
    recovers(cut(20_000), later, &[None, Some(20_000), None]).await;
}

#[tokio::test]
async fn a_part_without_a_place_is_not_taken() {
    let later = |seen: &Seen| match seen.offset() {
        None => good(seen),
        Some(start) => vec![answer("206 Partial Content", &HUB, &content()[start..])],
    };
    recovers(cut(20_000), later, &[None, Some(20_000), None]).await;
}

#[tokio::test]
async fn server_errors_pass() {
    let busy = vec![answer(
        "503 Service Unavailable",
        &[("Retry-After", "0")],
        b"later",
    )];
    recovers(busy, good, &[None, None]).await;
    recovers(
        vec![answer("500 Internal Server Error", &[], b"")],
        good,
        &[None, None],
    )
    .await;
}

#[tokio::test]
async fn a_transfer_of_an_earlier_process_goes_on() {
    let cases = [
        (
            "a good beginning",
            content()[..30_000].to_vec(),
            vec![Some(30_000)],
        ),
        (
            "a bad beginning, noticed at the end",
            lie()[..30_000].to_vec(),
            vec![Some(30_000), None],
        ),
        ("all of it", content(), vec![Some(content().len())]),
        (
            "more than there is",
            [content(), b"x".to_vec()].concat(),
            vec![Some(content().len() + 1), None],
        ),
    ];
    for (name, begun, expected) in cases {
        let hub = LoopbackHub::start(|_, seen| match seen.offset() {
            Some(start) if start >= content().len() => {
                let range = format!("bytes */{}", content().len());
                vec![answer(
                    "416 Range Not Satisfiable",
                    &[HUB[0], ("Content-Range", &range)],
                    b"",
                )]
            }
            _ => good(seen),
        })
        .await;
        let stage = Stage::new();
        stage.put(&format!("blobs/{SHA256}.incomplete"), &begun);
        stage.fetch(&hub.url, &wanted()).await.0.unwrap();
        assert_eq!(offsets(&hub), expected, "{name}");
        assert_eq!(stage.unfinished(), None, "{name}");
    }
}

#[tokio::test]
async fn a_transfer_that_keeps_breaking_is_given_up_and_what_came_is_kept() {
    let hub = LoopbackHub::start(|n, seen| {
        if n == 0 {
            return cut(20_000);
        }
        let start = seen.offset().unwrap();
        let range = format!("bytes {start}-54999/55000");
        let mut bytes = head(
            "206 Partial Content",
            &[("Content-Range", &range)],
            55_000 - start,
        );
        bytes.extend_from_slice(&content()[start..start + 1_000]);
        vec![Step::Send(bytes)]
    })
    .await;
    let stage = Stage::new();
    let error = stage.fails(&hub.url, &wanted()).await;
    let FetchError::GivenUp { failures: 4, last } = error else {
        panic!("{error}")
    };
    assert!(
        matches!(
            *last,
            FetchError::Truncated {
                bytes: 23_000,
                expected: Some(55_000),
                ..
            }
        ),
        "{last}"
    );
    assert_eq!(stage.unfinished(), Some(23_000));
}

#[tokio::test]
async fn content_with_another_digest_is_not_kept() {
    let hub = LoopbackHub::start(|_, _| {
        let headers = [HUB[0], ("X-Linked-Etag", SHA256)];
        vec![answer("200 OK", &headers, &lie())]
    })
    .await;
    for stated in [Some(SHA256.to_owned()), None] {
        let stage = Stage::new();
        let error = stage
            .fails(
                &hub.url,
                &Wanted {
                    sha256: stated.clone(),
                    ..wanted()
                },
            )
            .await;
        let FetchError::Digest {
            expected,
            found,
            bytes: 55_000,
            stated_by,
            ..
        } = &error
        else {
            panic!("{error}")
        };
        assert_eq!(
            *stated_by,
            if stated.is_some() {
                "the request"
            } else {
                "the hub"
            }
        );
        assert_eq!(expected, SHA256);
        assert!(
            error.to_string().contains(SHA256) && error.to_string().contains(found.as_str()),
            "{error}"
        );
        assert_ne!(found, SHA256);
        assert_eq!(stage.unfinished(), None);
    }
    assert_eq!(hub.seen().len(), 2, "a lie is not asked for twice");
}

#[tokio::test]
async fn a_lie_after_a_resumption_is_asked_for_once_more_and_not_kept() {
    let hub = LoopbackHub::start(|_, seen| match seen.offset() {
        None => vec![answer("200 OK", &HUB, &lie())],
        Some(start) => {
            let range = format!("bytes {start}-54999/55000");
            let headers = [HUB[0], ("Content-Range", range.as_str())];
            vec![answer("206 Partial Content", &headers, &lie()[start..])]
        }
    })
    .await;
    let stage = Stage::new();
    stage.put(&format!("blobs/{SHA256}.incomplete"), &content()[..30_000]);
    let error = stage.fails(&hub.url, &wanted()).await;
    assert!(matches!(error, FetchError::Digest { .. }), "{error}");
    assert_eq!(offsets(&hub), [Some(30_000), None]);
    assert_eq!(stage.unfinished(), None);
}

#[tokio::test]
async fn a_transfer_that_breaks_often_but_moves_on_is_not_given_up() {
    let hub = LoopbackHub::start(|_, seen| {
        let start = seen.offset().unwrap_or(0);
        let end = content().len().min(start + 6_000);
        let range = format!("bytes {start}-54999/55000");
        let mut bytes = match start {
            0 => head("200 OK", &HUB, 55_000),
            _ => head(
                "206 Partial Content",
                &[HUB[0], ("Content-Range", &range)],
                55_000 - start,
            ),
        };
        bytes.extend_from_slice(&content()[start..end]);
        vec![Step::Send(bytes)]
    })
    .await;
    let mut stage = Stage::new();
    stage.limits.progress_bytes = 5_000;
    stage.fetch(&hub.url, &wanted()).await.0.unwrap();
    assert_eq!(hub.seen().len(), 10);
}

#[tokio::test]
async fn the_same_beginning_over_and_over_is_no_progress() {
    let hub = LoopbackHub::start(|_, _| cut(20_000)).await;
    let mut stage = Stage::new();
    stage.limits.progress_bytes = 5_000;
    let error = stage.fails(&hub.url, &wanted()).await;
    assert!(
        matches!(error, FetchError::GivenUp { failures: 4, .. }),
        "{error}"
    );
    assert_eq!(hub.seen().len(), 4);
}
