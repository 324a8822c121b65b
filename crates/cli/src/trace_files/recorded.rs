//! The prompts of a trace file, for the trace of its replay: what was recorded is handed on.

use super::Prompts;
use anyhow::Context;
use corpus::prompt::{DrawnPrompt, Stretch};
use corpus::recorded::RecordedPrompts;
use record::request::RequestRecord;
use std::collections::HashMap;
use std::sync::Arc;
use trace::blocks::{BlockStore, ChainIds, Ids, Piece, Root};
use trace::bundle::Bundle;
use trace::csv::{Optional, Row};
use trace::recording::{Name, Recording, Request};

/// Tokens of a block where the replayed trace had none.
const BLOCK_TOKENS: u32 = 64;

/// What the prompts of a replay were made of.
pub(crate) struct RecordingPrompts<'a> {
    recording: &'a Recording,
    prompts: Arc<RecordedPrompts>,
    /// Rounds waited for the answers before them, so that their think times are those of the run.
    in_sessions: bool,
    /// By name: its place among the sessions.
    sessions: HashMap<&'a str, usize>,
    /// Single requests by recorded id, ascending.
    singles: Vec<(u64, u32)>,
    /// Requests that were sent: their id in the run, their place in the recording.
    sent: Vec<(u64, u32)>,
}

impl<'a> RecordingPrompts<'a> {
    /// For a run that replayed `recording` with `prompts`; `in_sessions` when each round waited for the one before it.
    pub(crate) fn of(recording: &'a Recording, prompts: Arc<RecordedPrompts>, in_sessions: bool) -> Self {
        let sessions = recording.sessions.iter().zip(0..);
        let requests = recording.requests.iter().zip(0..);
        let mut singles: Vec<_> = requests
            .filter(|(request, _)| request.session == Name::default())
            .map(|(request, place)| (request.request_id, place))
            .collect();
        singles.sort_unstable();
        Self {
            recording,
            prompts,
            in_sessions,
            sessions: sessions
                .map(|(session, place)| (recording.names.text(session.name), place))
                .collect(),
            singles,
            sent: Vec::new(),
        }
    }

    /// The recorded request that a record is of, and which of its session's recorded requests it is.
    fn place(&self, record: &RequestRecord) -> Option<(u32, u32)> {
        let name = record.conversation_id.as_str();
        if let Some(session) = self.sessions.get(name) {
            let rounds = &self.recording.sessions[*session].rounds;
            let round = |place: &u32| self.recording.requests[*place as usize].round;
            let at = rounds.binary_search_by_key(&record.turn_index, round).ok()?;
            return Some((rounds[at], u32::try_from(at).ok()?));
        }
        let id = name.strip_prefix(driver::run::SINGLE_REQUEST)?.parse().ok()?;
        let at = self.singles.binary_search_by_key(&id, |(id, _)| *id).ok()?;
        Some((self.singles[at].1, 0))
    }
}

impl<'a> Prompts<'a> for RecordingPrompts<'a> {
    fn columns(&self) -> Optional {
        let any = |of: fn(&Request) -> bool| self.recording.requests.iter().any(of);
        Optional {
            vllm_priority: any(|request| request.vllm_priority > 0 || request.slo_class != Name::default()),
            slo_target_us: any(|request| request.slo_target_us > 0),
            ..Optional::MEASURED
        }
    }

    fn blocks(&self) -> (u64, Ids) {
        match &self.recording.blocks {
            Some(store) => (store.header().block_size, store.header().ids),
            None => (u64::from(BLOCK_TOKENS), Ids::Chained),
        }
    }

    fn fill<'r>(&mut self, record: &RequestRecord, row: &mut Row<'r>) -> anyhow::Result<()>
    where
        'a: 'r,
    {
        let (place, round) = self
            .place(record)
            .with_context(|| format!("{} is not in the trace", record.conversation_id))?;
        let recording = self.recording;
        let request = &recording.requests[place as usize];
        let text = |name| recording.names.text(name);
        self.sent.push((row.request_id, place));
        row.client_id = text(request.client);
        row.tenant_id = text(request.tenant);
        row.slo_class = text(request.slo_class);
        row.session_id = text(request.session);
        // Rounds that were left out leave no gap.
        row.round_index = round;
        if !self.in_sessions {
            row.think_time_us = request.think_time_us;
        }
        row.prefix_group = text(request.prefix_group);
        row.prefix_length = request.prefix_length;
        row.vllm_priority = u64::from(request.vllm_priority);
        row.slo_target_us = request.slo_target_us;
        let tokens = self.prompts.tokens(recording, request);
        let own = tokens.saturating_sub(u64::from(request.prefix_length));
        row.input_tokens = u32::try_from(own).unwrap_or(u32::MAX);
        row.text_tokens = row.input_tokens;
        if request.deadline_us > 0 {
            row.deadline_us = row.arrival_us + request.deadline_us;
        }
        Ok(())
    }

    fn write(mut self: Box<Self>, bundle: &mut Bundle) -> anyhow::Result<()> {
        self.sent.sort_unstable();
        match &self.recording.blocks {
            Some(store) => self.hand_on(store, bundle),
            None => self.make(bundle),
        }
    }
}

impl RecordingPrompts<'_> {
    /// The recorded sidecar's lines of what was sent.
    fn hand_on(&self, store: &BlockStore, bundle: &mut Bundle) -> anyhow::Result<()> {
        for (request_id, place) in &self.sent {
            let request = &self.recording.requests[*place as usize];
            let ids = store.ids(request.request_id)?.unwrap_or_default();
            bundle.blocks(*request_id, request.prompt_tokens(), &ids)?;
        }
        Ok(())
    }

    /// Lines made of the prompts' parts. Prompts share blocks only when their first parts are the same: so long as such
    /// prompts are to come, their blocks are kept.
    fn make(&self, bundle: &mut Bundle) -> anyhow::Result<()> {
        let mut last = HashMap::new();
        for (at, (_, place)) in self.sent.iter().enumerate() {
            last.insert(self.parts(*place)?.first().map(|part| part.label), at);
        }
        let mut chain = ChainIds::new(BLOCK_TOKENS);
        let mut ids = Vec::new();
        for (at, (request_id, place)) in self.sent.iter().enumerate() {
            let parts = self.parts(*place)?;
            let first = parts.first().map(|part| part.label);
            let root = Root::numbered(first.unwrap_or_default());
            let pieces = parts.into_iter().map(|part| Piece {
                source: part.label,
                from: 0,
                tokens: part.tokens,
            });
            ids.clear();
            let tokens = chain.of(root, pieces, &mut ids);
            bundle.blocks(*request_id, tokens, &ids)?;
            if last.get(&first) == Some(&at) {
                chain.close(root);
            }
        }
        Ok(())
    }

    /// The parts of a request's prompt, in order.
    fn parts(&self, place: u32) -> anyhow::Result<Vec<Stretch>> {
        let request = &self.recording.requests[place as usize];
        Ok(match self.prompts.prompt(self.recording, request)? {
            DrawnPrompt::Messages(messages) => {
                // Roles that stand between them are no tokens of the trace.
                messages
                    .into_iter()
                    .flat_map(|message| message.stretches)
                    .collect()
            }
            DrawnPrompt::Ids(ids) => ids,
        })
    }
}
