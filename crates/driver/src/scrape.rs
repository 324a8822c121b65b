//! Reads the server's `/metrics` pages beside a run: at its start, every [`SCRAPE_EVERY`], when a phase begins or ends, at
//! its end.
//!
//! It has a thread and a runtime of its own, so that neither a slow page nor a large one takes anything from the timed
//! requests; all that it shares with the run is the queue to the writer. A page that cannot be read costs the run
//! nothing: it is asked for again when the next scrape is due, and what was wrong is noted.

use std::io;
use std::thread;
use std::time::Duration;

use record::header::ServerUrl;
use record::server_metrics::encode::Encoder;
use record::server_metrics::{ENDPOINTS_MAX, Family, Kind, Sample, Scrape, Why};
use reqwest::{Client, RequestBuilder, StatusCode, Url, header};
use rustls::ClientConfig;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval_at, timeout};
use wire::prometheus;

use crate::causes::in_full;
use crate::clock::Clock;
use crate::endpoint::{self, Endpoint, EndpointError};
use crate::key::BearerKey;
use crate::run::Written;
use crate::server::{ServerError, untimed_http};

/// Time between two scrapes of a page. aiperf 0.12.0 takes a third of a second; a server spends some 15 ms on an answer.
pub const SCRAPE_EVERY: Duration = Duration::from_secs(1);
/// Longest time that connecting may take here.
pub const SCRAPE_CONNECT_DEADLINE: Duration = Duration::from_secs(2);
/// Longest time that a whole page may take.
pub const SCRAPE_DEADLINE: Duration = Duration::from_secs(5);
/// Longest time that a run waits, before its start, for the first scrape of each page.
pub const FIRST_SCRAPE_DEADLINE: Duration = Duration::from_secs(1);
/// Longest time that the last scrape may take, once the run has ended.
pub const LAST_SCRAPE_DEADLINE: Duration = Duration::from_secs(2);

/// Pages that cannot be read from the start.
#[derive(Debug, thiserror::Error)]
pub enum ScrapeError {
    /// A URL is none.
    #[error(transparent)]
    Url(#[from] EndpointError),
    /// The HTTP library refuses the setup.
    #[error(transparent)]
    Server(#[from] ServerError),
    /// A page that would be counted twice.
    #[error("the page of server metrics {url} is named twice, and would be counted twice")]
    Twice {
        /// The page, without what may hold a credential.
        url: String,
    },
    /// More pages than a run may have.
    #[error("{found} pages of server metrics; expected at most {ENDPOINTS_MAX}")]
    TooMany {
        /// How many were named.
        found: usize,
    },
}

/// The pages of a run, ready to be read.
pub struct Pages {
    http: Client,
    pages: Vec<(Url, Option<BearerKey>)>,
}

impl Pages {
    /// `named` as the user gave them, each with its path or without (`/metrics`); without any, the page of `server`. The key
    /// goes to pages of that same host and port only.
    ///
    /// # Errors
    /// When a URL is none, or there are too many.
    pub fn new(
        named: &[String],
        server: &Endpoint,
        tls: &ClientConfig,
        key: Option<&BearerKey>,
    ) -> Result<Self, ScrapeError> {
        let urls = if named.is_empty() {
            vec![server.metrics_url()]
        } else {
            named.iter().map(|url| page_url(url)).collect::<Result<_, _>>()?
        };
        if urls.len() > ENDPOINTS_MAX {
            return Err(ScrapeError::TooMany { found: urls.len() });
        }
        if let Some(twice) = urls
            .iter()
            .enumerate()
            .find(|(at, url)| urls[..*at].contains(url))
        {
            let mut url = Url::clone(twice.1);
            url.set_query(None);
            return Err(ScrapeError::Twice { url: url.into() });
        }
        let http = untimed_http(tls)
            .connect_timeout(SCRAPE_CONNECT_DEADLINE)
            .build()
            .map_err(|error| ServerError::Setup {
                why: in_full(&error.without_url()),
            })?;
        let own = server.request_url().origin();
        let pages = urls
            .into_iter()
            .map(|url| {
                let key = key.filter(|_| url.origin() == own).cloned();
                (url, key)
            })
            .collect();
        Ok(Self { http, pages })
    }

    /// Where the pages are.
    pub fn urls(&self) -> impl Iterator<Item = &Url> {
        self.pages.iter().map(|(url, _)| url)
    }
}

/// A page as a user names it.
fn page_url(given: &str) -> Result<Url, EndpointError> {
    let mut url = endpoint::parse(given)?;
    if url.path().trim_matches('/').is_empty() {
        url.set_path("/metrics");
    }
    Ok(url)
}

/// Rung by the run loop when a phase begins or ends; without a scraper nobody hears it.
#[derive(Clone, Debug, Default)]
pub struct Bell(Option<watch::Sender<Wish>>);

impl Bell {
    /// Asks for a scrape now. Never waits.
    pub fn ring(&self) {
        self.send(|wish| wish.rung += 1);
    }

    fn send(&self, change: impl FnOnce(&mut Wish)) {
        if let Some(wishes) = &self.0 {
            wishes.send_modify(change);
        }
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Wish {
    rung: u64,
    is_over: bool,
}

/// Scrapes that go on.
#[derive(Debug)]
pub struct Scraper {
    bell: Bell,
    ended: oneshot::Receiver<()>,
}

impl Scraper {
    /// Starts reading the pages, and returns once each was asked for, answered or not, within [`FIRST_SCRAPE_DEADLINE`].
    ///
    /// # Errors
    /// When the system gives no thread.
    pub async fn start(pages: Pages, clock: Clock, written: mpsc::Sender<Written>) -> io::Result<Self> {
        let (wishes, heard) = watch::channel(Wish::default());
        let (ended, end) = oneshot::channel();
        let (ready, mut first) = mpsc::channel(ENDPOINTS_MAX);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let n_pages = pages.pages.len();
        thread::Builder::new().name("scrape".into()).spawn(move || {
            runtime.block_on(read_all(pages, clock, &written, &heard, &ready));
            // Nobody listens once the run was given up.
            let _ = ended.send(());
        })?;
        let all_asked = async {
            for _ in 0..n_pages {
                first.recv().await;
            }
        };
        // Whoever has not answered by now does so beside the run.
        let _ = timeout(FIRST_SCRAPE_DEADLINE, all_asked).await;
        Ok(Self {
            bell: Bell(Some(wishes)),
            ended: end,
        })
    }

    /// What the run loop rings.
    pub fn bell(&self) -> Bell {
        self.bell.clone()
    }

    /// Reads each page a last time, within [`LAST_SCRAPE_DEADLINE`], and ends.
    pub async fn finish(self) {
        self.bell.send(|wish| wish.is_over = true);
        // An error means that it has ended already.
        let _ = self.ended.await;
    }
}

/// Reads every page until the run is over, each in a task of this thread.
async fn read_all(
    pages: Pages,
    clock: Clock,
    written: &mpsc::Sender<Written>,
    heard: &watch::Receiver<Wish>,
    ready: &mpsc::Sender<()>,
) {
    let mut tasks = JoinSet::new();
    for (number, (url, key)) in (0..).zip(pages.pages) {
        let page = PageReader {
            encoder: Encoder::new(number, ServerUrl::new(url.as_str())),
            request: request(&pages.http, url, key.as_ref()),
            clock,
            written: written.clone(),
        };
        tasks.spawn(page.read_on(heard.clone(), ready.clone()));
    }
    while tasks.join_next().await.is_some() {}
}

fn request(http: &Client, url: Url, key: Option<&BearerKey>) -> RequestBuilder {
    let request = http.get(url).header(header::ACCEPT, "text/plain");
    // A key that no header can hold was refused where the run's client was made.
    match key.and_then(|key| key.authorization().ok()) {
        Some(value) => request.header(header::AUTHORIZATION, value),
        None => request,
    }
}

struct PageReader {
    encoder: Encoder,
    request: RequestBuilder,
    clock: Clock,
    written: mpsc::Sender<Written>,
}

impl PageReader {
    async fn read_on(mut self, mut wishes: watch::Receiver<Wish>, ready: mpsc::Sender<()>) {
        let mut due = interval_at(Instant::now() + SCRAPE_EVERY, SCRAPE_EVERY);
        due.set_missed_tick_behavior(MissedTickBehavior::Skip);
        let mut why = Why::Before;
        loop {
            let rung = wishes.borrow().rung;
            let scraped = tokio::select! {
                biased;
                _ = wishes.wait_for(|wish| wish.is_over) => break,
                scraped = self.fetch(why, SCRAPE_DEADLINE) => scraped,
            };
            if self.hand_over(scraped).await.is_err() {
                return;
            }
            // Full only when there are more signals than pages.
            let _ = ready.try_send(());
            why = tokio::select! {
                biased;
                wish = wishes.wait_for(|wish| wish.rung != rung || wish.is_over) => match wish {
                    Ok(_) => Why::Mark,
                    Err(_) => return,
                },
                _ = due.tick() => Why::Interval,
            };
        }
        if self.encoder.has_answered() {
            let last = self.fetch(Why::After, LAST_SCRAPE_DEADLINE).await;
            // An error means that the writer has gone.
            let _ = self.hand_over(last).await;
        }
    }

    async fn hand_over(&mut self, scraped: Result<Scrape, String>) -> Result<(), ()> {
        let lines = match scraped {
            Ok(scrape) => Some(self.encoder.scrape(&scrape)),
            Err(problem) => {
                tracing::debug!(problem, "a page of server metrics cannot be read");
                self.encoder.miss(self.clock.now_ns(), &problem)
            }
        };
        match lines {
            Some(lines) => self.written.send(Written::Scrape(lines)).await.map_err(|_| ()),
            None => Ok(()),
        }
    }

    async fn fetch(&self, why: Why, deadline: Duration) -> Result<Scrape, String> {
        timeout(deadline, self.fetch_page(why))
            .await
            .unwrap_or_else(|_| Err(format!("no whole answer within {} s", deadline.as_secs())))
    }

    async fn fetch_page(&self, why: Why) -> Result<Scrape, String> {
        let request = self.request.try_clone().ok_or("the request cannot be repeated")?;
        let sent_ns = self.clock.now_ns();
        let mut response = request
            .send()
            .await
            .map_err(|error| in_full(&error.without_url()))?;
        let at_ns = self.clock.now_ns();
        if response.status() != StatusCode::OK {
            return Err(format!("status {}", response.status()));
        }
        let mut body = Vec::new();
        while let Some(more) = response
            .chunk()
            .await
            .map_err(|error| in_full(&error.without_url()))?
        {
            body.extend_from_slice(&more);
            if body.len() > prometheus::PAGE_BYTES_MAX {
                return Err(format!("longer than {} bytes", prometheus::PAGE_BYTES_MAX));
            }
        }
        let end_ns = self.clock.now_ns();
        let page = prometheus::parse(&body);
        if page.samples.is_empty() {
            return Err("no Prometheus text with a sample in it".to_owned());
        }
        Ok(scrape(page, why, [sent_ns, at_ns, end_ns]))
    }
}

/// A page as it is recorded.
fn scrape(page: prometheus::Page, why: Why, [sent_ns, at_ns, end_ns]: [u64; 3]) -> Scrape {
    let families = page.families.into_iter().map(|family| Family {
        name: family.name,
        kind: match family.kind {
            prometheus::Kind::Counter => Kind::Counter,
            prometheus::Kind::Gauge => Kind::Gauge,
            prometheus::Kind::Histogram => Kind::Histogram,
            prometheus::Kind::Summary => Kind::Summary,
            prometheus::Kind::Untyped => Kind::Unknown,
        },
        help: family.help,
    });
    let samples = page.samples.into_iter().map(|sample| Sample {
        family: sample.family,
        name: sample.name,
        labels: sample.labels,
        value: sample.value,
    });
    Scrape {
        why,
        sent_ns,
        at_ns,
        end_ns,
        families: families.collect(),
        samples: samples.collect(),
        skipped: page.bad_lines_total + u64::from(page.cut),
    }
}
