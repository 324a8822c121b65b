//! The requests of session trees: their records, their bodies, and the drawing of blocks ahead of need.

use std::io;
use std::sync::Arc;

use record::request::RequestRecord;
use replay::Plan;
use tree::Trace;

use super::names::Names;
use super::{Load, Prepare, phase};
use crate::client::Outgoing;
use crate::prompts::{Drawing, Prompts};

/// Traces whose blocks are drawn before a lane asks for them.
const DRAWN_AHEAD: usize = 8;

/// What [`replay::Replay`] sends.
pub struct Trees {
    traces: Arc<[Arc<Trace>]>,
    prompts: Arc<Prompts>,
    names: Names,
    drawing: Drawing,
    /// Traces that lanes take next, in order.
    upcoming: std::vec::IntoIter<usize>,
}

impl Trees {
    /// For a run of `plan` over `traces`; starts to draw.
    ///
    /// # Errors
    /// When the system refuses a thread.
    pub fn new(plan: &Plan, traces: Arc<[Arc<Trace>]>, prompts: Prompts) -> io::Result<Self> {
        let prompts = Arc::new(prompts);
        let drawing = Drawing::start(prompts.clone())?;
        for lane in &plan.lanes {
            drawing.ask(lane.trace);
        }
        let mut upcoming = plan.next_recycled(&traces, traces.len()).into_iter();
        upcoming
            .by_ref()
            .take(DRAWN_AHEAD)
            .for_each(|trace| drawing.ask(trace));
        Ok(Self {
            traces,
            prompts,
            names: Names::random(),
            drawing,
            upcoming,
        })
    }
}

impl Load for Trees {
    type Ask = replay::Send;

    fn describe(&mut self, send: &replay::Send, due_ns: u64) -> RequestRecord {
        if send.turn.conversation == 0
            && send.turn.turn == 0
            && let Some(trace) = self.upcoming.next()
        {
            self.drawing.ask(trace);
        }
        let trace = &self.traces[send.trace];
        let conversation = &trace.conversations[send.turn.conversation];
        let turn = &conversation.turns[send.turn.turn];
        RequestRecord {
            request_id: self.names.request(send.request),
            sequence: send.sequence,
            phase: phase(send.phase),
            lane: send.lane,
            tree_pass: send.tree_pass,
            conversation_id: conversation.id.to_string(),
            trace_id: trace.id.to_string(),
            session_id: self.names.session(send.stream),
            parent_session_id: send.parent.map(|parent| self.names.session(parent)),
            turn_index: send.turn.turn as u32,
            turns_total: conversation.turns.len() as u32,
            depth: conversation.depth,
            marker: send.marker.clone(),
            isl_planned: turn.input_tokens,
            osl_planned: send.max_tokens_override.unwrap_or(turn.max_tokens),
            theoretical_hit_blocks: turn.cache.hit_blocks,
            theoretical_total_blocks: turn.cache.total_blocks,
            ..RequestRecord::due(due_ns)
        }
    }

    fn prepare(&self, send: replay::Send) -> Prepare {
        let prompts = self.prompts.clone();
        Box::new(move || Ok(Outgoing::new(prompts.body(&send))))
    }
}
