//! Hubs that refuse, say nothing or lead astray, and disks that do not take what comes.

use std::time::Duration;

use corpus::fetch::{FetchError, Progress, Wanted};

use super::loopback::{LoopbackHub, Step, answer};
use super::stage::{COMMIT, SHA256, Stage, TOKEN, content, resolve, wanted};

#[tokio::test]
async fn a_hub_that_never_answers_is_given_up_after_the_stated_time() {
    let hub = LoopbackHub::start(|_, _| vec![Step::Hang]).await;
    let mut stage = Stage::new();
    stage.limits.first_byte = Duration::from_millis(300);
    let error = stage.fails(&hub.url, &wanted()).await;
    let FetchError::NoAnswer { after, url } = &error else {
        panic!("{error}")
    };
    assert_eq!(*after, Duration::from_millis(300));
    assert_eq!(*url, format!("{}{}", hub.url, resolve(COMMIT)));
    assert!(error.to_string().ends_with("within 0.3 s"), "{error}");
    assert_eq!(
        hub.seen().len(),
        1,
        "a hub that never answered is not asked again"
    );
}

#[tokio::test]
async fn a_refusal_says_what_to_do() {
    let cases = [
        ("401 Unauthorized", false, "put a token in HF_TOKEN"),
        ("401 Unauthorized", true, "did not take the token"),
        ("403 Forbidden", false, "accept its terms"),
        ("403 Forbidden", true, "accept the repository's terms"),
    ];
    for (status, token, hint) in cases {
        let hub = LoopbackHub::start(move |_, _| {
            let echo = if token { TOKEN } else { "nobody" };
            let words = format!("Access to owner/traces is restricted for {echo}");
            vec![answer(status, &[("X-Error-Message", &words)], b"<html>")]
        })
        .await;
        let mut stage = Stage::new();
        stage.token = token;
        let error = stage.fails(&hub.url, &wanted()).await;
        assert!(
            error.hint().unwrap().contains(hint),
            "{status} {token}: {:?}",
            error.hint()
        );
        assert!(error.to_string().contains("is restricted"), "{error}");
        assert_eq!(hub.seen().len(), 1, "a refusal is final");
    }
}

#[tokio::test]
async fn a_revision_that_is_gone_gives_way_to_the_default_branch() {
    let now = "fedcba9876543210fedcba9876543210fedcba98";
    let hub = LoopbackHub::start(move |_, seen| {
        if seen.path == resolve("main") {
            vec![answer("200 OK", &[("X-Repo-Commit", now)], &content())]
        } else {
            vec![answer(
                "404 Not Found",
                &[("X-Error-Code", "RevisionNotFound")],
                b"",
            )]
        }
    })
    .await;
    let stage = Stage::new();
    let (result, told) = stage.fetch(&hub.url, &wanted()).await;
    let fetched = result.unwrap();
    assert_eq!(
        (fetched.revision_used.as_deref(), fetched.commit.as_deref()),
        (Some("main"), Some(now))
    );
    assert_eq!(fetched.path, stage.path(&format!("snapshots/{now}/traces.jsonl")));
    assert!(told.contains(&Progress::FallingBack {
        from: COMMIT.to_owned()
    }));
}

#[tokio::test]
async fn a_file_that_is_nowhere_names_every_revision_that_was_tried() {
    let hub = LoopbackHub::start(|_, _| vec![answer("404 Not Found", &[], b"")]).await;
    let error = Stage::new().fails(&hub.url, &wanted()).await;
    assert_eq!(
        error.to_string(),
        format!("owner/traces has no traces.jsonl at {COMMIT} nor at main")
    );
    let only = Wanted {
        revision: None,
        ..wanted()
    };
    let error = Stage::new().fails(&hub.url, &only).await;
    assert_eq!(error.to_string(), "owner/traces has no traces.jsonl at main");
}

#[tokio::test]
async fn server_errors_without_end_are_counted() {
    let hub = LoopbackHub::start(|_, _| vec![answer("502 Bad Gateway", &[], b"")]).await;
    let error = Stage::new().fails(&hub.url, &wanted()).await;
    assert!(
        matches!(error, FetchError::GivenUp { failures: 4, .. }),
        "{error}"
    );
    assert!(error.to_string().contains("answered 502"), "{error}");
    assert_eq!(hub.seen().len(), 4);
}

#[tokio::test]
async fn redirects_that_lead_nowhere_are_not_followed() {
    let cases = [
        ("", "names no place"),
        ("ftp://127.0.0.1/x", "leaves http"),
        ("http://[", "is no URL"),
        ("/round", "more than 5 redirects"),
    ];
    for (to, why) in cases {
        let hub = LoopbackHub::start(move |_, _| vec![answer("302 Found", &[("Location", to)], b"")]).await;
        let error = Stage::new().fails(&hub.url, &wanted()).await.to_string();
        assert!(error.contains(why), "{to}: {error}");
    }
}

#[tokio::test]
async fn packed_content_and_unasked_parts_are_refused() {
    let hub =
        LoopbackHub::start(|_, _| vec![answer("200 OK", &[("Content-Encoding", "gzip")], b"\x1f\x8b")]).await;
    let error = Stage::new().fails(&hub.url, &wanted()).await;
    assert!(
        matches!(&error, FetchError::Encoded { encoding, .. } if encoding == "gzip"),
        "{error}"
    );
    let part = [("Content-Range", "bytes 0-54999/55000")];
    let hub = LoopbackHub::start(move |_, _| vec![answer("206 Partial Content", &part, &content())]).await;
    let error = Stage::new().fails(&hub.url, &wanted()).await;
    assert!(
        matches!(error, FetchError::WrongRange { asked: 0, .. }),
        "{error}"
    );
}

#[tokio::test]
async fn a_web_page_is_not_taken_for_the_file() {
    let hub = LoopbackHub::start(|_, _| {
        vec![answer(
            "200 OK",
            &[("Content-Type", "text/html; charset=utf-8")],
            b"<html>log in",
        )]
    })
    .await;
    let unknown = Wanted {
        sha256: None,
        ..wanted()
    };
    let error = Stage::new().fails(&hub.url, &unknown).await;
    assert!(matches!(error, FetchError::WebPage { .. }), "{error}");
}

#[tokio::test]
async fn content_without_end_is_refused() {
    let hub = LoopbackHub::start(|_, _| vec![answer("200 OK", &[], &content())]).await;
    let mut stage = Stage::new();
    stage.limits.bytes_max = 10_000;
    let error = stage.fails(&hub.url, &wanted()).await;
    assert!(
        matches!(error, FetchError::TooLong { limit: 10_000, .. }),
        "{error}"
    );
    assert_eq!(stage.unfinished(), None);
}

#[tokio::test]
async fn nobody_there_and_nobody_who_speaks_tls() {
    let port = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let error = Stage::new()
        .fails(&format!("http://127.0.0.1:{port}"), &wanted())
        .await;
    assert!(matches!(error, FetchError::Connect { .. }), "{error}");
    assert!(error.hint().is_some());

    let plain = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = plain.local_addr().unwrap().port();
    tokio::spawn(async move {
        use tokio::io::AsyncWriteExt;
        while let Ok((mut socket, _)) = plain.accept().await {
            let _ = socket.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await;
        }
    });
    let error = Stage::new()
        .fails(&format!("https://127.0.0.1:{port}"), &wanted())
        .await;
    assert!(matches!(error, FetchError::Tls { .. }), "{error}");
}

#[tokio::test]
async fn a_cache_that_cannot_be_written_is_named() {
    let hub = LoopbackHub::start(|_, _| vec![answer("200 OK", &[], &content())]).await;
    let stage = Stage::new();
    let in_the_way = stage.put("blobs", b"a file where a folder should be");
    let (result, _) = stage.fetch(&hub.url, &wanted()).await;
    let error = result.unwrap_err();
    assert!(matches!(error, FetchError::Disk { .. }), "{error}");
    assert!(
        error.to_string().contains(&in_the_way.display().to_string()),
        "{error}"
    );
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_full_disk_is_named() {
    let hub = LoopbackHub::start(|_, _| vec![answer("200 OK", &[], &content())]).await;
    let stage = Stage::new();
    let blob = stage
        .put("blobs/x", b"")
        .with_file_name(format!("{SHA256}.incomplete"));
    std::os::unix::fs::symlink("/dev/full", &blob).unwrap();
    let (result, _) = stage.fetch(&hub.url, &wanted()).await;
    let error = result.unwrap_err();
    assert!(
        matches!(&error, FetchError::NoSpace { path } if *path == blob),
        "{error}"
    );
    assert!(error.hint().unwrap().contains("HF_HUB_CACHE"));
}

#[tokio::test]
async fn two_processes_do_not_write_one_file() {
    let hub = LoopbackHub::start(|_, _| vec![answer("200 OK", &[], &content())]).await;
    let stage = Stage::new();
    let lock = stage.put(&format!("../.locks/datasets--owner--traces/{SHA256}.lock"), b"");
    let held = std::fs::File::open(&lock).unwrap();
    held.lock().unwrap();
    let error = stage.fails(&hub.url, &wanted()).await;
    assert!(matches!(error, FetchError::Busy { .. }), "{error}");
    drop(held);
    stage.fetch(&hub.url, &wanted()).await.0.unwrap();
}
