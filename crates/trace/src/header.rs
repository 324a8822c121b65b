//! The header file of a trace, and the binding that is ready to run (`trace-csv` §3). Both are YAML whose texts are quoted.

use std::fmt::{Display, Write};

use crate::unit::TimeUnit;

/// Version that is written.
pub const TRACE_VERSION: u64 = 3;

/// How a trace's latencies came about (`bindings` §1.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// A live server was observed.
    Real,
    /// A workload was synthesised or converted.
    Generated,
}

impl Mode {
    /// The word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Real => "real",
            Self::Generated => "generated",
        }
    }
}

/// The trace as a whole. What is `None` or empty is left out.
#[derive(Clone, Debug, PartialEq)]
pub struct Header {
    /// When it was made: UTC, RFC 3339.
    pub created_at: Option<String>,
    /// How its latencies came about.
    pub mode: Mode,
    /// How many first requests were left out of the data file.
    pub warm_up_requests: u64,
    /// Seed of the load; 0 is a seed.
    pub workload_seed: Option<u64>,
    /// Where the load came from: path and digest.
    pub workload_spec: Option<String>,
    /// The server.
    pub server: Server,
    /// Latency targets by class.
    pub goodput_slo_targets: Vec<(String, Slo)>,
    /// Prefix-cache hits over the window, as the server counted them.
    pub observed_kv: Option<ObservedKv>,
}

impl Header {
    /// Of that mode, with nothing else known.
    pub fn new(mode: Mode) -> Self {
        Self {
            created_at: None,
            mode,
            warm_up_requests: 0,
            workload_seed: None,
            workload_spec: None,
            server: Server::default(),
            goodput_slo_targets: Vec::new(),
            observed_kv: None,
        }
    }
}

/// The server that a trace came from, as far as it told.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Server {
    /// The engine, such as `vllm`.
    pub engine: Option<String>,
    /// The model it served.
    pub model: Option<String>,
    /// KV block size in tokens.
    pub block_size: Option<u64>,
    /// Share of the accelerator's memory that it may use.
    pub gpu_memory_utilization: Option<f64>,
    /// Context length in tokens.
    pub max_model_len: Option<u64>,
}

/// `observed_kv_metrics`: what two of the server's counters rose by in the window (`trace-csv` §6.2). They are written as they
/// were counted: tokens with current engines, blocks with others.
#[derive(Clone, Debug, PartialEq)]
pub struct ObservedKv {
    /// The two counters.
    pub source: String,
    /// Hits ÷ queries.
    pub hit_rate: f64,
    /// Found in the cache.
    pub block_hits: u64,
    /// Looked up.
    pub block_queries: u64,
}

/// Latency targets of one class in milliseconds; 0 leaves one free.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Slo {
    /// Time to first token.
    pub ttft_ms: f64,
    /// The request's mean time between tokens.
    pub itl_ms: f64,
    /// End-to-end latency.
    pub e2e_ms: f64,
}

/// What a binding says beside the header: the files, which lie beside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    /// Name of the data file.
    pub data: String,
    /// Its digest.
    pub sha256: String,
    /// Its rows.
    pub rows: u64,
    /// Name and digest of the sidecar.
    pub token_blocks: Option<(String, String)>,
}

/// The header file.
pub fn header_yaml(header: &Header) -> String {
    let mut yaml = Yaml::default();
    yaml.shared(header);
    yaml.text("created_at", header.created_at.as_deref());
    yaml.number("warm_up_requests", Some(header.warm_up_requests));
    yaml.text("workload_spec", header.workload_spec.as_deref());
    yaml.maps(header);
    yaml.line("network: {}");
    if let Some(kv) = &header.observed_kv {
        yaml.line("observed_kv_metrics:");
        yaml.depth += 1;
        yaml.text("source", Some(&kv.source));
        yaml.number("hit_rate", Some(kv.hit_rate));
        yaml.number("block_hits", Some(kv.block_hits));
        yaml.number("block_queries", Some(kv.block_queries));
    }
    yaml.out
}

/// The binding file.
pub fn binding_yaml(header: &Header, stored: &Stored) -> String {
    let mut yaml = Yaml::default();
    yaml.line("workload:");
    yaml.deeper("trace:");
    yaml.depth += 1;
    yaml.text("data", Some(&stored.data));
    yaml.text("sha256", Some(&stored.sha256));
    yaml.number("rows", Some(stored.rows));
    yaml.line("header:");
    yaml.depth += 1;
    yaml.shared(header);
    yaml.maps(header);
    yaml.depth -= 1;
    if let Some((path, sha256)) = &stored.token_blocks {
        yaml.line("token_blocks:");
        yaml.depth += 1;
        yaml.text("path", Some(path));
        yaml.text("sha256", Some(sha256));
    }
    yaml.out
}

/// Lines at a depth.
#[derive(Default)]
struct Yaml {
    out: String,
    depth: usize,
}

impl Yaml {
    /// The scalar keys that header and binding have in common.
    fn shared(&mut self, header: &Header) {
        self.number("trace_version", Some(TRACE_VERSION));
        self.text("time_unit", Some(TimeUnit::Microsecond.name()));
        self.text("mode", Some(header.mode.word()));
        self.number("workload_seed", header.workload_seed);
    }

    /// The mappings that they have in common.
    fn maps(&mut self, header: &Header) {
        let server = &header.server;
        if *server != Server::default() {
            self.line("server:");
            self.depth += 1;
            self.text("type", server.engine.as_deref());
            self.text("model", server.model.as_deref());
            self.number("block_size", server.block_size);
            self.number("gpu_memory_utilization", server.gpu_memory_utilization);
            self.number("max_model_len", server.max_model_len);
            self.depth -= 1;
        }
        if !header.goodput_slo_targets.is_empty() {
            self.line("goodput_slo_targets:");
            self.depth += 1;
            for (class, slo) in &header.goodput_slo_targets {
                let Slo {
                    ttft_ms,
                    itl_ms,
                    e2e_ms,
                } = slo;
                let class = quoted(class);
                self.line(&format!(
                    "{class}: {{ttft_ms: {ttft_ms}, itl_ms: {itl_ms}, e2e_ms: {e2e_ms}}}"
                ));
            }
            self.depth -= 1;
        }
    }

    fn line(&mut self, line: &str) {
        writeln!(self.out, "{:1$}{line}", "", self.depth * 2).expect("a string takes everything");
    }

    fn deeper(&mut self, line: &str) {
        self.depth += 1;
        self.line(line);
    }

    fn text(&mut self, key: &str, value: Option<&str>) {
        if let Some(value) = value {
            self.line(&format!("{key}: {}", quoted(value)));
        }
    }

    fn number(&mut self, key: &str, value: Option<impl Display>) {
        if let Some(value) = value {
            self.line(&format!("{key}: {value}"));
        }
    }
}

/// A JSON string is a double-quoted YAML scalar.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
