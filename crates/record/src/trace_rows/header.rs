//! What a run's trace says of the run as a whole (`trace-csv` §3).

use jiff::Timestamp;
use trace::header::{Header, Mode, Server, Slo};

use super::Scraped;
use super::warm_up_requests;
use crate::header::RunHeader;
use crate::marks::Mark;

/// The trace header of a run. Its time of making is that of the last mark, so that the same files give the same header. What
/// is not known is left out; so is the round trip to the server, which nobody has measured.
pub fn trace_header(header: &RunHeader, marks: &[Mark], scraped: Scraped) -> Header {
    let made_ns = marks.last().map_or(0, |mark| i128::from(mark.at_ns));
    let made = Timestamp::from_nanosecond(header.wall_start.as_nanosecond() + made_ns);
    Header {
        created_at: Some(made.unwrap_or(header.wall_start).to_string()),
        warm_up_requests: warm_up_requests(marks),
        workload_seed: Some(header.seed),
        workload_spec: workload_spec(header),
        server: Server {
            model: Some(header.server.model.clone()),
            max_model_len: header.server.max_model_len,
            ..scraped.server
        },
        observed_kv: scraped.kv,
        goodput_slo_targets: header
            .slo
            .iter()
            .map(|(class, slo)| (class.clone(), targets(*slo)))
            .collect(),
        ..Header::new(Mode::Real)
    }
}

/// Where the load came from: the scenario's path and digest, as far as the run has them.
fn workload_spec(header: &RunHeader) -> Option<String> {
    let file = header.options.get("scenario_file").and_then(|file| file.as_str());
    let digest = header.digests.scenario.as_ref();
    let parts = [
        file.map(str::to_owned),
        digest.map(|digest| format!("sha256:{digest}")),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(" "))
}

fn targets(slo: crate::header::Slo) -> Slo {
    Slo {
        ttft_ms: slo.ttft_ms,
        itl_ms: slo.itl_ms,
        e2e_ms: slo.e2e_ms,
    }
}
