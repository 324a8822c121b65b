//! What each doubt says, and what to do about it.

use super::Doubt;
use crate::marks::Stop;
use crate::summary::Warning;

impl Doubt {
    /// The doubt as it stands in `summary.json`.
    pub fn warning(&self) -> Warning {
        let (code, message, advice) = self.words();
        Warning {
            code: code.to_owned(),
            message,
            advice: advice.to_owned(),
        }
    }

    fn words(&self) -> (&'static str, String, &'static str) {
        match self {
            Self::Killed => (
                "killed",
                "the run has no end; figures are of what was recorded until the last stamp".to_owned(),
                "do not compare rates with those of a whole run",
            ),
            Self::Stopped(stop, reason) => (
                "stopped",
                match stop {
                    Stop::Interrupt => with_reason("the user stopped the run", reason),
                    _ => with_reason("the run gave up", reason),
                },
                "figures are of what was recorded until then",
            ),
            Self::Unrecorded(requests) => (
                "unrecorded",
                format!("{} started without leaving a row", several(*requests, "request")),
                "they were in flight when the run was killed, or their row could not be written",
            ),
            Self::DamagedRows(rows, first) => (
                "damaged_rows",
                format!("{} cannot be read: {first}", several(*rows, "row")),
                "no figure counts them; restore requests.jsonl, or look at the line named",
            ),
            Self::ChunksMissing(requests) => (
                "chunks_missing",
                format!(
                    "the chunk stamps of {} are not in chunks.bin",
                    several(*requests, "request")
                ),
                "ITL is over the other requests; TTFT, TPOT and E2E are over all",
            ),
            Self::NothingAnswered => (
                "nothing_answered",
                "no request was answered, so there is nothing to measure".to_owned(),
                "see the errors and the counts by outcome",
            ),
            Self::Failures(failed, answered, first) => (
                "failures",
                with_reason(&format!("{failed} of {answered} requests failed"), first),
                "latency is over the others; see the errors, and the server's log",
            ),
            Self::Truncated(requests) => (
                "truncated",
                format!(
                    "{} ended before a finish reason or [DONE]",
                    several(*requests, "stream")
                ),
                "look for a proxy's time limit or a restart of the server",
            ),
            Self::Overflows(requests, answered, window) => (
                "overflow",
                match window {
                    Some(tokens) => {
                        format!("{requests} of {answered} prompts do not fit the window of {tokens} tokens")
                    }
                    None => format!("{requests} of {answered} prompts do not fit the context window"),
                },
                "serve a longer context, or leave such prompts out (max_context_length, for session trees)",
            ),
            Self::WarmupTrouble(failed, overflow) => (
                "warmup_trouble",
                format!("requests of the warm-up: {failed} failed, {overflow} overflowed"),
                "their lanes began the measurement with a colder cache",
            ),
            Self::Censored(requests) => (
                "censored",
                format!(
                    "{} cut by the end of the grace period",
                    several(*requests, "request")
                ),
                "the slowest answers are among them: high percentiles are too good; lengthen the grace period",
            ),
            Self::Malformed(events) => (
                "malformed_events",
                format!("{} not understood", several(*events, "event")),
                "look at the server's stream: a proxy may cut events",
            ),
            Self::NoDone(requests) => (
                "no_done",
                format!(
                    "{} ended with a finish reason but without [DONE]",
                    several(*requests, "answer")
                ),
                "nothing is lost; another client may call them cut",
            ),
            Self::NotSent(requests, planned, sessions_ended) => (
                "not_sent",
                format!(
                    "{requests} of {planned} requests of the trace were not sent: {}the run ended before their time",
                    if *sessions_ended {
                        "a failed request had ended their session, or "
                    } else {
                        ""
                    }
                ),
                "the load was lighter than the trace; compare with runs that sent as much",
            ),
            Self::StuckLanes(lanes) => (
                "stuck_lanes",
                format!(
                    "{} stood still, their turns waiting for what could not come: {}",
                    several(lanes.len() as u64, "lane"),
                    lanes.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")
                ),
                "look for a context overflow in them; the load was lower than the lanes say",
            ),
            Self::Acceptance(stated, realised) => (
                "acceptance",
                format!(
                    "the scenario states an acceptance length of {stated:.2}, the server realised {realised:.2}"
                ),
                "the speculative decoding is not the one that the scenario describes",
            ),
            Self::EngineVersion(stated, served) => (
                "engine_version",
                format!("the scenario states engine version {stated}, the server says {served}"),
                "do not file the result under the stated version",
            ),
            Self::NoServerMetrics(absent, pages, problem) => (
                "no_server_metrics",
                with_reason(
                    &format!("{absent} of {pages} pages of server metrics were never there"),
                    problem,
                ),
                "name the page with --server-metrics, or leave it out with --no-server-metrics",
            ),
            Self::CounterResets(resets) => (
                "counter_resets",
                format!(
                    "the server's counters went backwards {}",
                    several(*resets, "time")
                ),
                "the server was restarted, or one URL leads to several: name each one's page with --server-metrics",
            ),
            Self::ScrapedPartly(share) => (
                "scraped_partly",
                format!(
                    "the server's metrics cover {} of the measurement",
                    percent(*share)
                ),
                "its counters miss what came before and after; see from_ns and to_ns",
            ),
            Self::FewRequests(n, percent, needed) => (
                "few_requests",
                format!("{n} answers are too few for p{percent}, which needs {needed}"),
                "run longer, or quote the percentiles that are shown",
            ),
            Self::NoUsage(without, ok) => (
                "no_usage",
                format!("the server did not count the tokens of {without} of {ok} answers"),
                "they are in no TPOT, OSL or token rate; have the server honour stream_options.include_usage",
            ),
            Self::NoCachedTokens => (
                "no_cached_tokens",
                "the server does not say how many prompt tokens it had cached".to_owned(),
                "with vLLM: --enable-prompt-tokens-details",
            ),
            Self::EarlyFinish(share) => (
                "early_finish",
                format!("{} of the answers are shorter than asked", percent(*share)),
                "the load is lighter than the trace; check that the server honours ignore_eos",
            ),
            Self::Late(share) => (
                "late",
                format!("{} of the requests started more than 1 ms late", percent(*share)),
                "give the client more cores, or less to send at a time",
            ),
            Self::SlowParsing(lag, gap) => (
                "client_limit_parsing",
                format!(
                    "the client took {lag:.2} ms (p99) to parse what it read, the median ITL is {gap:.2} ms"
                ),
                "the client may be the limit: its ITL holds its own lag; give it more cores",
            ),
            Self::SlowStart(late, ttft) => (
                "client_limit_start",
                format!("requests started {late:.2} ms late (p99), the median TTFT is {ttft:.2} ms"),
                "the client may be the limit: give it more cores, or less to send at a time",
            ),
            Self::Bursts(share) => (
                "bursts",
                format!("{} of the gaps lie within one socket read", percent(*share)),
                "ITL is not token times here; quote TPOT",
            ),
            Self::Clumped(share, mean) => (
                "buffered_stream",
                format!(
                    "{} of the gaps are under 1 ms, their mean is {mean:.1} ms",
                    percent(*share)
                ),
                "something between server and client collects events; turn off its buffering, quote TPOT",
            ),
            Self::ManyTokensPerChunk(tokens) => (
                "tokens_per_chunk",
                format!("a chunk holds {tokens:.2} tokens"),
                "ITL is the time between chunks, TPOT between tokens; TTFT holds the first chunk's tokens",
            ),
            Self::IslDrift(drift) => (
                "isl_drift",
                format!("the server counts {drift:.2} times the prompt tokens of the trace"),
                "the prompts were made with another tokenizer, or the chat template adds text",
            ),
            Self::WarmCache(reported, theoretical) => (
                "warm_cache",
                format!(
                    "the server reports {} cached, the trace allows {}",
                    percent(*reported),
                    percent(*theoretical)
                ),
                "its cache held text of an earlier run; restart it, or change the benchmark id (of a trace file: the seed)",
            ),
        }
    }
}

fn with_reason(what: &str, reason: &str) -> String {
    if reason.is_empty() {
        what.to_owned()
    } else {
        format!("{what}: {reason}")
    }
}

fn several(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}
