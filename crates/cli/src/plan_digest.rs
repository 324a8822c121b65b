//! The plan digest: equal digests mean equal workloads.
//!
//! It covers all that decides what is to be sent: rules, seed, lanes, and every trace with its timing, lengths and block
//! structure. The benchmark id is left out, since it must differ between runs; so are server, tokenizer and pool, which
//! have digests or names of their own.

use replay::requests::Timetable;
use replay::{Plan, Settings, Warmup};
use sha2::{Digest, Sha256};
use std::fmt::Write;
use std::sync::Arc;
use tree::{Conversation, HeadRole, InputKind, Trace, Turn};

/// Changes whenever what is fed to the digest changes.
const FORM: &str = "turnmill-plan-2";
const TRACE_FORM: &str = "turnmill-trace-plan-1";

/// SHA-256 in hex.
pub(crate) fn of(plan: &Plan, traces: &[Arc<Trace>], settings: &Settings) -> String {
    let mut feed = Feed(Sha256::new());
    feed.text(FORM);
    feed.settings(settings);
    for lane in &plan.lanes {
        feed.number(lane.trace as u64);
        feed.double(Some(lane.t_star_ms));
    }
    for trace in traces {
        feed.trace(trace);
    }
    feed.hex()
}

/// The same of a trace file: the digests of its files, the schedule, and `choices` in words.
pub(crate) fn of_trace(table: &Timetable, files: [&str; 2], choices: &str) -> String {
    let mut feed = Feed(Sha256::new());
    feed.text(TRACE_FORM);
    for sha256 in files {
        feed.text(sha256);
    }
    feed.text(choices);
    feed.numbers(table.due_ns.iter().copied());
    for follow in &table.follow {
        feed.number(follow.map_or(u64::MAX, |follow| u64::from(follow.index())));
        feed.double(follow.map(|follow| follow.think_s));
    }
    feed.hex()
}

/// Takes values so that no two lists of values feed the same bytes.
struct Feed(Sha256);

impl Feed {
    fn hex(self) -> String {
        self.0.finalize().iter().fold(String::new(), |mut hex, byte| {
            write!(hex, "{byte:02x}").expect("writing to a string cannot fail");
            hex
        })
    }

    fn number(&mut self, value: u64) {
        self.0.update(value.to_be_bytes());
    }

    fn text(&mut self, text: &str) {
        self.number(text.len() as u64);
        self.0.update(text.as_bytes());
    }

    fn double(&mut self, value: Option<f64>) {
        self.number(u64::from(value.is_some()));
        self.number(value.unwrap_or_default().to_bits());
    }

    fn numbers(&mut self, values: impl ExactSizeIterator<Item = u64>) {
        self.number(values.len() as u64);
        values.for_each(|value| self.number(value));
    }

    fn settings(&mut self, settings: &Settings) {
        self.text(settings.dialect.name());
        self.text(settings.sampling.name());
        self.number(settings.seed);
        self.number(u64::from(settings.concurrency));
        for seconds in [
            settings.duration_s,
            settings.grace_s,
            settings.system_idle_gap_cap_s,
        ] {
            self.double(Some(seconds));
        }
        self.double(Some(settings.min_ratio));
        self.double(Some(settings.max_ratio));
        self.double(settings.trace_idle_gap_cap_s);
        let (kind, amount) = match settings.warmup {
            Warmup::Primers => (0, None),
            Warmup::PressureFor(seconds) => (1, Some(seconds)),
            Warmup::PressureRequests(requests) => (2, Some(requests as f64)),
        };
        self.number(kind);
        self.double(amount);
        self.number(u64::from(settings.burst_phase_starts));
        self.number(settings.request_cap.unwrap_or(u64::MAX));
    }

    fn trace(&mut self, trace: &Trace) {
        self.text(&trace.id);
        self.numbers(trace.block_ids.iter().map(|id| id.cast_unsigned()));
        self.number(trace.conversations.len() as u64);
        for conversation in &trace.conversations {
            self.conversation(conversation);
        }
    }

    fn conversation(&mut self, conversation: &Conversation) {
        self.text(&conversation.id);
        self.number(conversation.branches.len() as u64);
        for branch in &conversation.branches {
            self.numbers(branch.children.iter().map(|child| *child as u64));
            self.number(u64::from(branch.background));
            self.double(branch.start_ms);
        }
        self.number(conversation.turns.len() as u64);
        for turn in &conversation.turns {
            self.turn(turn);
        }
    }

    fn turn(&mut self, turn: &Turn) {
        self.double(turn.timestamp_ms);
        self.double(turn.delay_ms);
        self.double(turn.api_time_ms);
        self.number(turn.max_tokens);
        self.number(match turn.input_kind {
            None => 0,
            Some(InputKind::ToolResult) => 1,
            Some(InputKind::UserInput) => 2,
        });
        self.numbers(turn.spawns.iter().map(|branch| *branch as u64));
        self.numbers(turn.joins.iter().map(|branch| *branch as u64));
        for before in &turn.predecessors {
            self.number(before.conversation as u64);
            self.number(before.turn as u64);
        }
        let step = &turn.prompt;
        self.number(u64::from(step.keep_blocks));
        self.numbers(step.new_blocks.iter().map(|block| u64::from(block.0)));
        self.number(u64::from(step.head_blocks));
        self.number(u64::from(step.head_role == HeadRole::System));
        self.number(u64::from(step.tail_tokens));
    }
}
