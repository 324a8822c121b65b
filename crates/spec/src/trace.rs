//! The trace arm: a captured file of real requests, and the header that says how to read it (`bindings.md` §7).
//!
//! The rows stay in their file, which is never opened here; digests and row counts are compared when it is.

use crate::check;
use crate::effective::Setting;
use crate::problem::{Report, shown};
use crate::replay::Origin;
use crate::terms::{self, Terms};
use crate::view::View;
use crate::vocabulary::{TIME_UNIT_NAMES, TIME_UNITS, TRACE_MODES, listed};

/// A checked trace reference.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    /// Path of the data CSV, relative to the document.
    pub data: String,
    /// Digest of the data file, lowercase hex.
    pub sha256: Option<String>,
    /// Expected number of rows; 0 is not stated.
    pub rows: Option<u64>,
    /// How to read the file.
    pub header: Header,
    /// The block-hash sidecar.
    pub token_blocks: Option<TokenBlocks>,
    /// Category, thinking, acceptance, routing.
    pub terms: Terms,
}

/// A trace's header.
#[derive(Clone, Debug, PartialEq)]
pub struct Header {
    /// Format version of the data file, at least 1.
    pub trace_version: u64,
    /// Unit of the timestamp columns, as spelled: one of [`TIME_UNITS`].
    pub time_unit: String,
    /// Microseconds in one unit of the timestamp columns.
    pub microseconds_per_unit: f64,
    /// How the latencies came about, one of [`TRACE_MODES`].
    pub mode: String,
    /// The workload generator's seed; 0 is a seed.
    pub workload_seed: Option<i128>,
    /// The server the trace came from.
    pub server: Server,
    /// Latency targets by class, in document order.
    pub goodput_slo_targets: Vec<(String, SloTargets)>,
}

/// The server a trace came from; 0 and empty are not recorded.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Server {
    /// The serving engine.
    pub engine: Option<String>,
    /// The model it served.
    pub model: Option<String>,
    /// Tensor-parallel width.
    pub tensor_parallel: Option<u64>,
    /// Sequence cap.
    pub max_num_seqs: Option<u64>,
    /// KV block size in tokens.
    pub block_size: Option<u64>,
    /// Fraction of GPU memory.
    pub gpu_memory_utilization: Option<f64>,
    /// Context length in tokens.
    pub max_model_len: Option<u64>,
}

/// Latency targets of one class, in milliseconds; `None` leaves a dimension free, and one is set.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SloTargets {
    /// Time to first token.
    pub ttft_ms: Option<f64>,
    /// Inter-token latency.
    pub itl_ms: Option<f64>,
    /// End-to-end latency.
    pub e2e_ms: Option<f64>,
}

/// The per-request block-hash sidecar.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenBlocks {
    /// Its path, relative to the document.
    pub path: String,
    /// Its digest, lowercase hex.
    pub sha256: String,
}

/// Checks the trace arm.
pub(crate) fn check(view: &View<'_>, report: &mut Report) -> Option<Trace> {
    let data = check::text(view, report, "data", "the path of the data CSV");
    let sha256 = check::digest(view, report, "sha256");
    let rows = check::at_least(view, report, "rows", 0).filter(|rows| *rows > 0);
    let header = header(&view.mapping("header"), report);
    let token_blocks = view
        .has("token_blocks")
        .then(|| token_blocks(&view.mapping("token_blocks"), report));
    let terms = terms::check(view, report);
    let token_blocks = match token_blocks {
        Some(checked) => Some(checked?),
        None => None,
    };
    Some(Trace {
        data: data?.to_owned(),
        sha256,
        rows,
        header: header?,
        token_blocks,
        terms,
    })
}

fn header(view: &View<'_>, report: &mut Report) -> Option<Header> {
    let trace_version = check::required_at_least(view, report, "trace_version", 1);
    let time_unit = check::word(view, report, "time_unit", &TIME_UNIT_NAMES)
        .and_then(|word| TIME_UNITS.iter().find(|(name, _)| *name == word));
    let mode = check::word(view, report, "mode", &TRACE_MODES);
    let server = server(&view.mapping("server"), report);
    let targets = slo_targets(&view.mapping("goodput_slo_targets"), report);
    Some(Header {
        trace_version: trace_version?,
        time_unit: time_unit?.0.to_owned(),
        microseconds_per_unit: time_unit?.1,
        mode: mode?.to_owned(),
        workload_seed: view.integer("workload_seed"),
        server,
        goodput_slo_targets: targets,
    })
}

fn server(view: &View<'_>, report: &mut Report) -> Server {
    let text = |key| view.text(key).filter(|text| !text.is_empty()).map(str::to_owned);
    let mut count = |key| check::at_least(view, report, key, 0).filter(|value| *value > 0);
    Server {
        engine: text("type"),
        model: text("model"),
        tensor_parallel: count("tensor_parallel"),
        max_num_seqs: count("max_num_seqs"),
        block_size: count("block_size"),
        max_model_len: count("max_model_len"),
        gpu_memory_utilization: check::fraction(view, report, "gpu_memory_utilization")
            .filter(|value| *value > 0.0),
    }
}

fn slo_targets(view: &View<'_>, report: &mut Report) -> Vec<(String, SloTargets)> {
    view.all()
        .map(|(key, class)| {
            if key.text.is_empty() {
                report.error(
                    view.path.clone(),
                    key.place,
                    "an SLO class has an empty name; expected a name",
                );
            }
            (key.text.clone(), slo_class(&class, report))
        })
        .collect()
}

fn slo_class(view: &View<'_>, report: &mut Report) -> SloTargets {
    const KEYS: [&str; 3] = ["ttft_ms", "itl_ms", "e2e_ms"];
    let [ttft_ms, itl_ms, e2e_ms] =
        KEYS.map(|key| check::not_negative(view, report, key).filter(|value| *value > 0.0));
    // A target that is wrong is one problem already; only zeros and absences leave the class unconstrained.
    if KEYS
        .iter()
        .all(|key| view.number(key).is_none_or(|value| value == 0.0))
    {
        view.error_here(
            report,
            format!(
                "the class constrains nothing; expected a value above 0 for one of {}",
                listed(&KEYS)
            ),
        );
    }
    SloTargets {
        ttft_ms,
        itl_ms,
        e2e_ms,
    }
}

fn token_blocks(view: &View<'_>, report: &mut Report) -> Option<TokenBlocks> {
    let path = check::text(view, report, "path", "the path of the block-hash sidecar");
    let sha256 = check::text(view, report, "sha256", "64 lowercase hex digits");
    let sha256 = sha256?;
    if !check::is_digest(sha256) {
        view.error(report, "sha256", check::not_a_digest(sha256));
        return None;
    }
    if sha256.bytes().any(|byte| byte.is_ascii_uppercase()) {
        view.error(
            report,
            "sha256",
            format!("expected 64 lowercase hex digits, found {}", shown(sha256)),
        )
        .hint(format!("write {}", sha256.to_ascii_lowercase()));
        return None;
    }
    Some(TokenBlocks {
        path: path?.to_owned(),
        sha256: sha256.to_owned(),
    })
}

impl Trace {
    /// Every key that is stated, with its value.
    pub fn settings(&self) -> Vec<Setting> {
        let stated = Origin::Stated;
        let mut settings = vec![Setting::leaf("data", self.data.as_str(), stated)];
        settings.extend(
            self.sha256
                .as_deref()
                .map(|digest| Setting::leaf("sha256", digest, stated)),
        );
        settings.extend(self.rows.map(|rows| Setting::leaf("rows", rows, stated)));
        settings.push(Setting::group("header", self.header.settings()));
        settings.extend(self.token_blocks.as_ref().map(|blocks| {
            let path = Setting::leaf("path", blocks.path.as_str(), stated);
            let sha256 = Setting::leaf("sha256", blocks.sha256.as_str(), stated);
            Setting::group("token_blocks", vec![path, sha256])
        }));
        settings.extend(self.terms.settings(|_| stated));
        settings
    }
}

impl Header {
    fn settings(&self) -> Vec<Setting> {
        let stated = Origin::Stated;
        let mut settings = vec![
            Setting::leaf("trace_version", self.trace_version, stated),
            Setting::leaf("time_unit", self.time_unit.as_str(), stated),
            Setting::leaf("mode", self.mode.as_str(), stated),
        ];
        settings.extend(
            self.workload_seed
                .map(|seed| Setting::leaf("workload_seed", seed, stated)),
        );
        if self.server != Server::default() {
            settings.push(Setting::group("server", self.server.settings()));
        }
        if !self.goodput_slo_targets.is_empty() {
            let classes = self
                .goodput_slo_targets
                .iter()
                .map(|(name, targets)| Setting::group(name, targets.settings()));
            settings.push(Setting::group("goodput_slo_targets", classes.collect()));
        }
        settings
    }
}

impl Server {
    fn settings(&self) -> Vec<Setting> {
        let text = |key, value: &Option<String>| Some(Setting::leaf(key, value.as_deref()?, Origin::Stated));
        let count = |key, value: Option<u64>| Some(Setting::leaf(key, value?, Origin::Stated));
        let memory = self
            .gpu_memory_utilization
            .map(|value| Setting::leaf("gpu_memory_utilization", value, Origin::Stated));
        [
            text("type", &self.engine),
            text("model", &self.model),
            count("tensor_parallel", self.tensor_parallel),
            count("max_num_seqs", self.max_num_seqs),
            count("block_size", self.block_size),
            memory,
            count("max_model_len", self.max_model_len),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

impl SloTargets {
    fn settings(self) -> Vec<Setting> {
        [
            ("ttft_ms", self.ttft_ms),
            ("itl_ms", self.itl_ms),
            ("e2e_ms", self.e2e_ms),
        ]
        .into_iter()
        .filter_map(|(key, value)| Some(Setting::leaf(key, value?, Origin::Stated)))
        .collect()
    }
}
