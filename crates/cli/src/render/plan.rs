//! A plan as JSON (the keys of aiperf's own trajectory listing) and as a table.

use replay::{LaneStart, Plan, Settings, StreamStart};
use serde_json::{Value, json};
use std::fmt::Write;
use std::sync::Arc;
use tree::Trace;

/// Recycled traces that a plan lists.
const RECYCLED_LISTED: usize = 8;

/// The shortest text that reads back as the same double; always with a point (`"0.0"`).
fn double(value: f64) -> String {
    format!("{value:?}")
}

/// The plan as one JSON object.
pub(crate) fn json(plan: &Plan, traces: &[Arc<Trace>], settings: &Settings) -> Value {
    let recycled = plan.next_recycled(traces, RECYCLED_LISTED);
    json!({
        "seed": settings.seed,
        "concurrency": settings.concurrency,
        "min_ratio": settings.min_ratio,
        "max_ratio": settings.max_ratio,
        "sampling": settings.sampling.name(),
        "traces": traces.iter().map(|trace| &*trace.id).collect::<Vec<_>>(),
        "warmup_request_count": plan.warmup_request_count(),
        "lanes": plan.lanes.iter().map(|lane| lane_json(lane, &traces[lane.trace])).collect::<Vec<_>>(),
        "next_recycled_traces": recycled.iter().map(|trace| &*traces[*trace].id).collect::<Vec<_>>(),
    })
}

fn lane_json(lane: &LaneStart, trace: &Trace) -> Value {
    let completed = lane
        .completed
        .iter()
        .map(|(index, turns)| json!([&*trace.conversations[*index].id, turns]));
    json!({
        "lane": lane.lane,
        "trace": &*trace.id,
        "root_next_turn": lane.root_next_turn(),
        "t_star_ms": double(lane.t_star_ms),
        "streams": lane.streams.iter().map(|stream| stream_json(stream, trace)).collect::<Vec<_>>(),
        "completed_prefixes": completed.collect::<Vec<_>>(),
    })
}

fn stream_json(stream: &StreamStart, trace: &Trace) -> Value {
    let conversation = &trace.conversations[stream.conversation];
    json!({
        "conversation": &*conversation.id,
        "next_turn": stream.next_turn,
        "dispatch_offset_ms": double(stream.offset_ms),
        "depth": conversation.depth,
        "waiting_on_children": stream.waiting,
        "join_turn": stream.join_turn,
        "branch": stream.branch.map(|branch| &*trace.conversations[0].branches[branch].id),
        "warmup_turn": stream.warmup_turn,
    })
}

/// The plan as a table for people.
pub(crate) fn text(plan: &Plan, traces: &[Arc<Trace>], settings: &Settings) -> String {
    let mut page = format!(
        "{} lanes over {} traces, seed {}, starts drawn from {} to {} of each trace's span\n\
         warm-up: {} requests; then a window of {} s\n\n\
         {:>4}  {:<28} {:>12}  {:<14} first request of the window\n",
        plan.lanes.len(),
        traces.len(),
        settings.seed,
        settings.min_ratio,
        settings.max_ratio,
        plan.warmup_request_count(),
        settings.duration_s,
        "lane",
        "trace",
        "start, s",
        "root"
    );
    for lane in &plan.lanes {
        let trace = &traces[lane.trace];
        let root = lane.streams.iter().find(|stream| stream.conversation == 0);
        let root_text = match root {
            None => "ended".to_string(),
            Some(root) if root.waiting => format!("turn {}, waits", root.next_turn),
            Some(root) => format!("turn {}", root.next_turn),
        };
        let first = lane
            .streams
            .iter()
            .filter(|stream| !stream.waiting)
            .min_by(|a, b| a.offset_ms.total_cmp(&b.offset_ms));
        let first_text = first.map_or_else(
            || "none: this lane sends nothing".to_string(),
            |stream| {
                let id = &trace.conversations[stream.conversation].id;
                format!(
                    "{id} turn {} at {:.3} s",
                    stream.next_turn,
                    stream.offset_ms / 1000.0
                )
            },
        );
        writeln!(
            page,
            "{:>4}  {:<28} {:>12.3}  {:<14} {first_text}",
            lane.lane,
            trace.id,
            lane.t_star_ms / 1000.0,
            root_text
        )
        .expect("writing to a string cannot fail");
    }
    page
}
