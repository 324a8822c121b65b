//! The event log of a simulation: JSON with aiperf's keys, and lines for people.

use replay::simulate::Logged;
use replay::{Mark, Phase, Seconds, Send};
use serde_json::{Value, json};
use std::fmt::Write;
use std::sync::Arc;
use tree::Trace;

/// Name of a phase in logs and records.
pub(crate) fn phase_name(phase: Phase) -> &'static str {
    match phase {
        Phase::Warmup => "warmup",
        Phase::Profiling => "profiling",
    }
}

/// Rounded to a microsecond, as aiperf's log holds times.
fn micros(at: Seconds) -> f64 {
    (at * 1e6).round() / 1e6
}

/// The log's events, in order. Run ends and stuck lanes are left out: aiperf's log has none.
pub(crate) fn json(log: &[Logged], traces: &[Arc<Trace>]) -> Vec<Value> {
    let mut phase_start = 0.0;
    let mut events = Vec::new();
    for logged in log {
        events.extend(match logged {
            Logged::Sent(sent) => Some(sent_json(sent, traces, phase_start)),
            Logged::Returned { at, sent, error } => {
                let mut event = request_json("return", *at, sent, traces);
                if let Some(error) = error {
                    event["error"] = error.as_str().into();
                }
                Some(event)
            }
            Logged::Cancelled { at, sent } => Some(request_json("cancelled", *at, sent, traces)),
            Logged::Mark(mark) => {
                if let Mark::PhaseStart { at, .. } = mark {
                    phase_start = micros(*at);
                }
                mark_json(mark)
            }
        });
    }
    events
}

fn request_json(event: &str, at: Seconds, sent: &Send, traces: &[Arc<Trace>]) -> Value {
    json!({
        "ev": event,
        "phase": phase_name(sent.phase),
        "t": micros(at),
        "n": sent.sequence,
        "lane": sent.lane,
        "conversation": &*traces[sent.trace].conversations[sent.turn.conversation].id,
        "turn": sent.turn.turn,
    })
}

fn sent_json(sent: &Send, traces: &[Arc<Trace>], phase_start: Seconds) -> Value {
    let mut event = request_json("send", sent.at, sent, traces);
    // The rounded time less the rounded start of the phase, rounded again only to shed the subtraction's last digits.
    event["t_phase"] = micros(micros(sent.at) - phase_start).into();
    event["tree_pass"] = sent.tree_pass.into();
    event["depth"] = traces[sent.trace].conversations[sent.turn.conversation]
        .depth
        .into();
    event["marker"] = format!("[rid:{}]", sent.marker).into();
    if let Some(tokens) = sent.max_tokens_override {
        event["max_tokens_override"] = tokens.into();
    }
    event
}

fn mark_json(mark: &Mark) -> Option<Value> {
    Some(match mark {
        Mark::PhaseStart { phase, at } => {
            json!({"ev": "phase_start", "phase": phase_name(*phase), "t": micros(*at)})
        }
        Mark::SendingComplete { phase, at } => {
            json!({"ev": "phase_sending_complete", "t": micros(*at), "phase": phase_name(*phase)})
        }
        Mark::CancelAll { at, in_flight } => {
            json!({"ev": "cancel_all", "t": micros(*at), "in_flight": in_flight})
        }
        Mark::PhaseComplete { phase, at } => {
            json!({"ev": "phase_complete", "t": micros(*at), "phase": phase_name(*phase)})
        }
        Mark::LaneStuck { .. } | Mark::End(_) => return None,
    })
}

/// One line an event.
pub(crate) fn text(log: &[Logged], traces: &[Arc<Trace>]) -> String {
    let mut page = String::new();
    for event in json(log, traces) {
        let word = |key: &str| event[key].as_str().unwrap_or_default().to_string();
        let what = match event["ev"].as_str() {
            Some("send" | "return" | "cancelled") => {
                let error = event["error"]
                    .as_str()
                    .map(|error| format!("  {error}"))
                    .unwrap_or_default();
                format!(
                    "lane {:<4} {} turn {}{error}",
                    event["lane"],
                    word("conversation"),
                    event["turn"]
                )
            }
            Some("cancel_all") => format!("{} in flight", event["in_flight"]),
            _ => word("phase"),
        };
        let at = event["t"].as_f64().unwrap_or_default();
        writeln!(page, "{at:>14.6}  {:<24}{what}", word("ev")).expect("writing to a string cannot fail");
    }
    page
}
