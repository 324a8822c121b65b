//! The marker's digest, against values printed by aiperf 0.12.0.

use corpus::prompt::marker;
use serde::Deserialize;

use super::data;

#[derive(Deserialize)]
struct CacheBust {
    markers: Vec<MarkerCase>,
    base_trace_id: std::collections::BTreeMap<String, String>,
}

#[derive(Deserialize)]
struct MarkerCase {
    benchmark_id: String,
    recycle_pass: u64,
    lane: u64,
    base_trace_id: String,
    marker: String,
}

#[test]
fn markers_are_aiperf_s() {
    let cases: CacheBust = testkit::json(&data("cache_bust.json"));
    assert!(!cases.markers.is_empty() && !cases.base_trace_id.is_empty());
    for case in &cases.markers {
        for id in [
            case.base_trace_id.clone(),
            format!("{}::sa:x", case.base_trace_id),
        ] {
            let text = marker::text(&case.benchmark_id, case.recycle_pass, case.lane, &id);
            assert_eq!(text, case.marker);
        }
    }
    for (conversation, trace) in &cases.base_trace_id {
        assert_eq!(marker::base_trace_id(conversation), trace);
    }
}
