//! The requests of a trace file: their records, their prompts, their own deadlines and hints.

use std::sync::Arc;
use std::time::Duration;

use corpus::prompt::{DrawnBody, DrawnOptions, Envelope};
use corpus::recorded::RecordedPrompts;
use hyper::header::{HeaderName, HeaderValue};
use record::request::RequestRecord;
use replay::StreamId;
use replay::requests::Ask;
use serde_json::value::{RawValue, to_raw_value};
use trace::recording::{Recording, Request};
use trace::sharing::Hits;

use super::names::Names;
use super::{Load, Prepare};
use crate::body::BodySource;
use crate::client::Outgoing;

/// Longest prompt that is made, in tokens: sixteen times the longest context of any model in use. More would keep a thread busy
/// for what no server takes.
pub const PROMPT_TOKENS_MAX: u64 = 16 << 20;

/// Whether servers and gateways are told of classes, tenants and targets (`trace-csv` §5.3). Some vLLM releases refuse a
/// priority other than 0 unless they schedule by priority.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SloHints {
    /// They are not.
    #[default]
    None,
    /// `priority` in the body; class, tenant and target of the first token as headers.
    Send,
}

/// What the name of a request without a session begins with; its recorded id follows.
pub const SINGLE_REQUEST: &str = "request-";

/// What [`replay::requests::RequestReplay`] sends.
pub struct Recorded {
    parts: Arc<Parts>,
    trace: String,
    names: Names,
    /// Of each request; `None` when nothing tells.
    theoretical: Option<Vec<Hits>>,
}

struct Parts {
    recording: Arc<Recording>,
    prompts: Arc<RecordedPrompts>,
    envelope: Arc<Envelope>,
    hints: SloHints,
}

impl Recorded {
    /// For a replay of `recording`, called `trace`; `theoretical` are the hits of a cache that forgets nothing, for each request.
    pub fn new(
        trace: String,
        recording: Arc<Recording>,
        prompts: Arc<RecordedPrompts>,
        envelope: Envelope,
        hints: SloHints,
        theoretical: Option<Vec<Hits>>,
    ) -> Self {
        Self {
            trace,
            theoretical,
            names: Names::random(),
            parts: Arc::new(Parts {
                recording,
                prompts,
                envelope: Arc::new(envelope),
                hints,
            }),
        }
    }
}

impl Load for Recorded {
    type Ask = Ask;

    fn describe(&mut self, ask: &Ask, due_ns: u64) -> RequestRecord {
        let recording = &self.parts.recording;
        let request = &recording.requests[ask.index];
        let session = recording.session_of(request);
        let rounds = session.map_or(1, |place| recording.sessions[place].rounds.len());
        let hits = self
            .theoretical
            .as_ref()
            .map(|hits| hits[ask.index])
            .unwrap_or_default();
        // A single request is a session of its own, numbered behind the others.
        let stream = session.unwrap_or(recording.sessions.len() + ask.index) as u64;
        RequestRecord {
            request_id: self.names.request(ask.request),
            sequence: ask.request,
            conversation_id: match recording.names.text(request.session) {
                "" => format!("{SINGLE_REQUEST}{}", request.request_id),
                name => name.to_owned(),
            },
            trace_id: self.trace.clone(),
            session_id: self.names.session(StreamId(stream)),
            turn_index: request.round,
            turns_total: u32::try_from(rounds).unwrap_or(u32::MAX),
            slo_class: Some(recording.names.text(request.slo_class))
                .filter(|class| !class.is_empty())
                .map(str::to_owned),
            isl_planned: self.parts.prompts.tokens(recording, request),
            osl_planned: output_limit(request),
            theoretical_hit_blocks: u64::from(hits.hit),
            theoretical_total_blocks: u64::from(hits.total),
            held_ns: (ask.held * 1e9) as u64,
            ..RequestRecord::due(due_ns)
        }
    }

    fn prepare(&self, ask: Ask) -> Prepare {
        let parts = self.parts.clone();
        Box::new(move || parts.outgoing(ask.index))
    }
}

impl Parts {
    fn outgoing(&self, index: usize) -> Result<Outgoing, String> {
        let request = &self.recording.requests[index];
        let tokens = self.prompts.tokens(&self.recording, request);
        if tokens > PROMPT_TOKENS_MAX {
            return Err(format!(
                "the prompt has {tokens} tokens; prompts of up to {PROMPT_TOKENS_MAX} are sent"
            ));
        }
        let prompt = self
            .prompts
            .prompt(&self.recording, request)
            .map_err(|error| error.to_string())?;
        let hints = match self.hints {
            SloHints::None => Hints::default(),
            SloHints::Send => Hints::of(request, &self.recording),
        };
        let options = DrawnOptions {
            envelope: &self.envelope,
            max_tokens: output_limit(request),
            fields: &hints.fields,
        };
        let deadline = u64::try_from(request.deadline_us).ok().filter(|us| *us > 0);
        let body = self.prompts.drawer().body(prompt, &options);
        let outgoing = Outgoing::new(body).deadline(deadline.map(Duration::from_micros));
        let headers = hints.headers.into_iter();
        Ok(headers.fold(outgoing, |outgoing, (name, value)| outgoing.header(name, value)))
    }
}

/// As many tokens as were recorded, and one at least: no server takes 0.
fn output_limit(request: &Request) -> u64 {
    u64::from(request.output_tokens.max(1))
}

/// What upstream's replay tells servers and gateways of a request.
#[derive(Default)]
struct Hints {
    fields: Vec<(String, Box<RawValue>)>,
    headers: Vec<(HeaderName, HeaderValue)>,
}

const CLASS_HEADER: HeaderName = HeaderName::from_static("x-gateway-inference-objective");
const TENANT_HEADER: HeaderName = HeaderName::from_static("x-gateway-inference-fairness-id");
const TARGET_HEADER: HeaderName = HeaderName::from_static("x-slo-ttft-ms");

impl Hints {
    fn of(request: &Request, recording: &Recording) -> Self {
        let priority = to_raw_value(&request.vllm_priority).expect("a number is JSON");
        let target_us = u64::try_from(request.slo_target_us).unwrap_or(0);
        let target_ms = target_us.div_ceil(1000);
        let texts = [
            (CLASS_HEADER, recording.names.text(request.slo_class).to_owned()),
            (TENANT_HEADER, recording.names.text(request.tenant).to_owned()),
            (
                TARGET_HEADER,
                if target_ms > 0 {
                    target_ms.to_string()
                } else {
                    String::new()
                },
            ),
        ];
        // A name that no header can hold is not sent: it would be another name.
        let header = |(name, text): (HeaderName, String)| Some((name, HeaderValue::from_str(&text).ok()?));
        let stated = texts.into_iter().filter(|(_, text)| !text.is_empty());
        Self {
            fields: vec![("priority".to_owned(), priority)],
            headers: stated.filter_map(header).collect(),
        }
    }
}

impl BodySource for DrawnBody {
    fn content_length(&self) -> u64 {
        Self::content_length(self)
    }

    fn next_chunk(&mut self) -> Option<bytes::Bytes> {
        Self::next_chunk(self)
    }

    fn rewind(&mut self) {
        Self::rewind(self);
    }
}
