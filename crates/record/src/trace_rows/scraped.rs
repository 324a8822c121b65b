//! What the server's metrics tell a trace's header (`trace-csv` §3, §6.2).

use std::path::Path;
use std::str::FromStr;

use trace::header::{ObservedKv, Server};

use crate::RecordError;
use crate::marks::Mark;
use crate::request::Phase;
use crate::server_metrics::read::{Reader, Series};
use crate::server_metrics::statistics::ServerMetrics;
use crate::server_metrics::window::Window;

/// Engines, by how the names of their metrics begin.
const ENGINES: [(&str, &str); 2] = [("vllm:", "vllm"), ("sglang:", "sglang")];

/// vLLM's series whose labels say how its cache is set up.
const CACHE_CONFIG: &str = "vllm:cache_config_info";

/// What is known of a run's server from its metrics; nothing when they were not read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scraped {
    pub(super) server: Server,
    pub(super) kv: Option<ObservedKv>,
}

impl Scraped {
    /// From the folder of a run with these marks.
    ///
    /// # Errors
    /// When `server_metrics.jsonl` cannot be read or was written under a later version.
    pub fn of_folder(folder: &Path, marks: &[Mark]) -> Result<Self, RecordError> {
        let Some(mut reader) = Reader::open(folder)? else {
            return Ok(Self::default());
        };
        while reader.next_step()?.is_some() {}
        let pages = reader.endpoints().iter();
        let series: Vec<&Series> = pages.flat_map(|page| page.series.iter().flatten()).collect();
        let label = |name: &str| {
            let config = series.iter().filter(|series| series.name == CACHE_CONFIG);
            only(config.map(|series| series.labels.get(name).map(String::as_str)))
        };
        let engines = series.iter().filter_map(|series| {
            let known = ENGINES.iter().find(|(prefix, _)| series.name.starts_with(prefix));
            known.map(|(_, engine)| Some(*engine))
        });
        let server = Server {
            engine: only(engines).map(str::to_owned),
            block_size: above_zero(label("block_size")),
            gpu_memory_utilization: above_zero(label("gpu_memory_utilization")).filter(|share| *share <= 1.0),
            ..Server::default()
        };
        let window = Window::of(Phase::Profiling, marks);
        let metrics = ServerMetrics::of_folder(folder, window)?;
        Ok(Self {
            server,
            kv: metrics.as_ref().and_then(observed),
        })
    }
}

/// The value, when all have the same: engines of one run may differ.
fn only<'a>(values: impl IntoIterator<Item = Option<&'a str>>) -> Option<&'a str> {
    let mut values = values.into_iter();
    let first = values.next()??;
    values.all(|value| value == Some(first)).then_some(first)
}

/// The number that a label states; engines write `None` for what is not set.
fn above_zero<T: FromStr + PartialOrd + Default>(label: Option<&str>) -> Option<T> {
    let value = label?.parse().ok()?;
    (value > T::default()).then_some(value)
}

/// Nothing rather than a guess: a counter that went backwards or found more than it looked up counts something else.
fn observed(metrics: &ServerMetrics) -> Option<ObservedKv> {
    let cache = &metrics.cache;
    let (hits, queries) = (cache.hit_tokens?, cache.query_tokens?);
    if metrics.resets > 0 || !(0.0..=queries).contains(&hits) {
        return None;
    }
    Some(ObservedKv {
        source: cache.source.clone()?,
        hit_rate: cache.share?,
        block_hits: hits as u64,
        block_queries: queries as u64,
    })
}
