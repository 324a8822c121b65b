//! The lines of `server_metrics.jsonl`, version 1.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Kind, Why};
use crate::header::ServerUrl;
use crate::words::Worded;

/// One line.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Line {
    pub(super) v: u32,
    /// Which page, from 0.
    pub(super) endpoint: u32,
    #[serde(flatten)]
    pub(super) content: Content,
}

/// What a line says, its name under `line`. A family and a series are told once, before the first value that needs them.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "line", rename_all = "snake_case")]
pub(super) enum Content {
    Endpoint {
        url: ServerUrl,
    },
    Family {
        family: u32,
        name: String,
        kind: Worded<Kind>,
        #[serde(default, skip_serializing_if = "String::is_empty")]
        help: String,
    },
    Series {
        series: u32,
        family: u32,
        name: String,
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        labels: BTreeMap<String, String>,
    },
    Scrape(ScrapeLine),
    Miss {
        at_ns: u64,
        /// Scrapes that failed since the last line that counted them.
        missed: u64,
        problem: String,
    },
    /// A line that a later version added.
    #[serde(other)]
    Unknown,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ScrapeLine {
    pub(super) why: Worded<Why>,
    pub(super) sent_ns: u64,
    pub(super) at_ns: u64,
    pub(super) end_ns: u64,
    /// Every series that there is stands in `values`; else those that changed.
    pub(super) whole: bool,
    /// Series and value.
    pub(super) values: Vec<(u32, f64)>,
    /// Series that were there and are not any more.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) gone: Vec<u32>,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(super) skipped: u64,
    /// Scrapes that failed since the last line that counted them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(super) missed: u64,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}
