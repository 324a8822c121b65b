//! Scrapes: real pages, several, slow and dead ones, and figures that agree with what requests were told.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use driver::cancel::Cancellation;
use driver::client::{Client, ClientOptions};
use driver::clock::Clock;
use driver::endpoint::{CHAT_PATH, Endpoint};
use driver::key::BearerKey;
use driver::run::Written;
use driver::scrape::{Bell, FIRST_SCRAPE_DEADLINE, LAST_SCRAPE_DEADLINE, Pages, ScrapeError, Scraper};
use driver::tls::TlsOptions;
use record::folder::Recorder;
use record::header::RunHeader;
use record::marks::{Mark, RunEvent};
use record::request::Phase;
use record::server_metrics::aiperf;
use record::server_metrics::encode::Writer;
use record::server_metrics::statistics::ServerMetrics;
use record::server_metrics::window::Window;
use serde_json::Value;
use tokio::sync::mpsc;

use crate::script::{Server, Step, planned, sized};

fn pages(named: &[&str], base: &str, key: Option<&BearerKey>) -> Result<Pages, ScrapeError> {
    let named: Vec<String> = named.iter().map(|url| (*url).to_owned()).collect();
    let endpoint = Endpoint::new(base, CHAT_PATH).unwrap();
    let tls = TlsOptions::default().client_config().unwrap();
    Pages::new(&named, &endpoint, &tls, key)
}

/// Everything in the folder's file counts.
const ALWAYS: Window = Window {
    start_ns: 0,
    end_ns: u64::MAX,
    quiet_from_ns: 0,
};

/// Scrapes while `work` goes on, and writes what came to `folder`.
async fn scraped<T>(pages: Pages, folder: &Path, work: impl AsyncFnOnce(Clock, Bell) -> T) -> T {
    let clock = Clock::start();
    let (written, mut to_write) = mpsc::channel(64);
    let scraper = Scraper::start(pages, clock, written).await.unwrap();
    let worked = work(clock, scraper.bell()).await;
    scraper.finish().await;
    let mut writer = Writer::create(folder).unwrap();
    while let Some(what) = to_write.recv().await {
        match what {
            Written::Scrape(lines) => writer.append(&lines).unwrap(),
            other => panic!("a scraper writes scrapes, not {other:?}"),
        }
    }
    worked
}

fn figures(folder: &Path) -> ServerMetrics {
    ServerMetrics::of_folder(folder, Some(ALWAYS)).unwrap().unwrap()
}

/// A header of which only its being there matters.
fn header() -> RunHeader {
    serde_json::from_value(serde_json::json!({
        "schema_version": 1, "turnmill_version": "0", "benchmark_id": "0123456789ab", "dialect": "aiperf-0.12.0",
        "loop": "closed", "seed": 0, "concurrency": 1, "wall_start": "2026-02-03T04:05:06Z",
        "server": {"url": "http://h", "model": "m"}, "host": {"os": "linux", "cpu": "c", "cores": 1},
        "digests": {}, "validity": {}, "scenario": null,
    }))
    .unwrap()
}

#[test]
fn where_pages_are() {
    let urls = |named: &[&str], base: &str| -> Vec<String> {
        let pages = pages(named, base, None).unwrap();
        pages.urls().map(ToString::to_string).collect()
    };
    assert_eq!(urls(&[], "http://h:8000/v1"), ["http://h:8000/metrics"]);
    assert_eq!(urls(&[], "https://h/m/v1/"), ["https://h/m/metrics"]);
    let named = ["h1:9400", "http://h2/", "https://h3/a/metrics", "::1"];
    let expected = [
        "http://h1:9400/metrics",
        "http://h2/metrics",
        "https://h3/a/metrics",
        "http://[::1]/metrics",
    ];
    assert_eq!(urls(&named, "http://h"), expected);
    assert!(pages(&["ftp://h"], "http://h", None).is_err());
    assert!(pages(&["http://user:word@h"], "http://h", None).is_err());
    assert!(matches!(
        pages(&["h"; 65], "http://h", None),
        Err(ScrapeError::TooMany { found: 65 })
    ));
    // However it is written, one page is one page.
    assert!(matches!(
        pages(&["h1", "h2", "http://h1/metrics"], "http://h", None),
        Err(ScrapeError::Twice { url }) if url == "http://h1/metrics"
    ));
}

#[tokio::test]
async fn the_key_goes_to_the_server_alone() {
    let serve = || {
        Server::start(vec![vec![
            Step::Request,
            sized("200 OK", "a 1\n"),
            Step::Request,
            sized("200 OK", "a 1\n"),
        ]])
    };
    let (own, other) = (serve(), serve());
    let base = format!("http://{}/v1", own.address());
    let named = [format!("{}/m", own.address()), other.address().to_string()];
    let named: Vec<&str> = named.iter().map(String::as_str).collect();
    let pages = pages(&named, &base, Some(&BearerKey::new("secret"))).unwrap();
    let folder = testkit::tempdir().unwrap();
    scraped(pages, folder.path(), async |_, _| ()).await;
    let head = |server: &Server| server.requests()[0].head.to_lowercase();
    assert!(
        head(&own).starts_with("get /m http/1.1\r\n")
            && head(&own).contains("authorization: bearer secret\r\n")
    );
    assert!(head(&other).starts_with("get /metrics http/1.1\r\n") && !head(&other).contains("secret"));
    assert_eq!(
        figures(folder.path())
            .endpoints
            .iter()
            .map(|page| page.scrapes)
            .collect::<Vec<_>>(),
        [2, 2]
    );
}

fn real(name: &str) -> Option<String> {
    let answer = testkit::bytes(&testkit::shared(&format!("oracle/vllm-0.32/{name}"))?);
    let answer = String::from_utf8(answer).unwrap().replace("\r\n", "\n");
    Some(answer.split_once("\n\n").unwrap().1.to_owned())
}

#[tokio::test]
async fn real_pages_give_the_hit_rate_and_aiperfs_names() {
    let (Some(before), Some(after)) = (
        real("metrics-before.response.txt"),
        real("metrics-after.response.txt"),
    ) else {
        return;
    };
    let script = vec![
        Step::Request,
        sized("200 OK", &before),
        Step::Request,
        sized("200 OK", &after),
    ];
    let server = Server::start(vec![script]);
    let folder = testkit::tempdir().unwrap();
    let pages = pages(&[], &format!("http://{}", server.address()), None).unwrap();
    scraped(pages, folder.path(), async |_, _| ()).await;
    let found = figures(folder.path());
    assert_eq!(
        (found.cache.hit_tokens, found.cache.query_tokens),
        (Some(768.0), Some(2015.0))
    );
    assert_eq!(
        (
            found.endpoints[0].skipped_lines,
            found.damaged_lines,
            found.resets
        ),
        (0, 0, 0)
    );

    let real = testkit::shared("oracle/captures/aiperf_outputs/a_c4_realvllm/server_metrics_export.json.gz");
    let Some(real) = real else { return };
    let real: Value = testkit::json(&real);
    let file = folder.path().join("server_metrics_export.json");
    // A run whose only phase is the measurement.
    let mut recorder = Recorder::create(folder.path(), &header()).unwrap();
    let start = RunEvent::PhaseStart(Phase::Profiling);
    recorder
        .mark(&Mark {
            at_ns: 0,
            event: start,
        })
        .unwrap();
    assert!(aiperf::write(folder.path(), &file).unwrap());
    let ours: Value = testkit::json(&file);
    let mut compared = 0;
    for (name, theirs) in real["metrics"].as_object().unwrap() {
        let Some(ours) = ours["metrics"].get(name) else {
            continue;
        };
        for key in ["type", "unit", "description"] {
            assert_eq!(ours.get(key), theirs.get(key), "{name}.{key}");
        }
        compared += 1;
    }
    assert!(compared >= 45, "only {compared} names are the same");
}

#[tokio::test]
async fn slow_and_dead_pages_cost_nothing_and_are_named() {
    let dead = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let silent = Server::start(vec![vec![Step::Request, Step::Wait(3000)]; 3]);
    let no_page = Server::start(vec![vec![Step::Request, sized("404 Not Found", "no")]; 3]);
    let html = Server::start(vec![
        vec![Step::Request, sized("200 OK", "<html>hello</html>")];
        3
    ]);
    let answer = || [Step::Request, sized("200 OK", "a_total 1\n")];
    let good = Server::start(vec![(0..10).flat_map(|_| answer()).collect(); 4]);
    let named: Vec<String> = [
        dead,
        silent.address(),
        no_page.address(),
        html.address(),
        good.address(),
    ]
    .iter()
    .map(ToString::to_string)
    .collect();
    let named: Vec<&str> = named.iter().map(String::as_str).collect();
    let pages = pages(&named, "http://h", None).unwrap();
    let folder = testkit::tempdir().unwrap();
    let all = scraped(pages, folder.path(), async |_, bell| {
        // However often it is rung, the loop is not held up.
        for _ in 0..10_000 {
            bell.ring();
        }
    });
    let most = FIRST_SCRAPE_DEADLINE + LAST_SCRAPE_DEADLINE + Duration::from_secs(5);
    tokio::time::timeout(most, all)
        .await
        .expect("no page holds a run up");
    let found = figures(folder.path());
    let problem = |page: usize| {
        found
            .endpoints
            .get(page)
            .and_then(|page| page.first_problem.clone())
            .unwrap_or_default()
    };
    assert!(problem(0).contains("refused"), "{found:?}");
    assert!(problem(2).contains("404"), "{found:?}");
    assert!(problem(3).contains("no Prometheus text"), "{found:?}");
    assert!(found.endpoints[4].scrapes >= 2);
}

/// What the answers say of the cache and what the server's counters say is the same.
#[tokio::test]
async fn counters_agree_with_what_requests_were_told() {
    let server = sim::Server::start(sim::Config::instant()).unwrap();
    let pages = pages(&[], &server.url(), None).unwrap();
    let folder = testkit::tempdir().unwrap();
    let usage = scraped(pages, folder.path(), async |clock, bell| {
        let endpoint = Endpoint::new(&server.url(), CHAT_PATH).unwrap();
        let tls: Arc<_> = TlsOptions::default().client_config().unwrap();
        let client = Client::new(ClientOptions::new(endpoint, tls), clock).unwrap();
        let (mut cached, mut prompt, mut output) = (0, 0, 0);
        for turn in 1..=20 {
            let text = "the same words again and ".repeat(40 * turn);
            let body = format!(
                "{{\"model\":\"sim\",\"stream\":true,\"stream_options\":{{\"include_usage\":true}},\"max_completion_tokens\":5,\"ignore_eos\":true,\"messages\":[{{\"role\":\"user\",\"content\":\"{text}\"}}]}}"
            );
            let body = driver::client::Outgoing::new(driver::body::WholeBody::new(body));
            let record = client.send(planned(), body, Cancellation::never()).await;
            assert_eq!(record.error, None);
            cached += record.usage.cached_tokens.unwrap();
            prompt += record.usage.prompt_tokens.unwrap();
            output += record.usage.completion_tokens.unwrap();
            bell.ring();
        }
        (cached, prompt, output)
    })
    .await;
    let found = figures(folder.path());
    let (cached, prompt, output) = usage;
    assert!(cached > 0);
    assert_eq!(found.cache.share, Some(cached as f64 / prompt as f64));
    assert_eq!(found.prompt_tokens, Some(prompt as f64));
    assert_eq!(found.generation_tokens, Some(output as f64));
    assert_eq!((found.resets, found.endpoints[0].missed), (0, 0));
    server.shutdown().await;
}
