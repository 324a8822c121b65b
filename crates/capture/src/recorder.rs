//! Makes rows of what the proxy saw. Runs on a thread of its own; the proxy never waits for it.
//!
//! A request is given its session when its body has passed, in order of arrival, and becomes a row when it has ended. Its
//! prompt is cut into blocks only then, because only the answer tells how many tokens it has.

use std::collections::HashMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use driver::clock::Clock;
use serde_json::{Value, json};

use crate::CaptureError;
use crate::answer::{self, Answer};
use crate::blocks::{BLOCK_TOKENS, Blocks, Cut};
use crate::files::{Files, Rotation};
use crate::finish::Finished;
use crate::prompt::Prompt;
use crate::responses::Responses;
use crate::rows::{JournalLine, Row, one_line};
use crate::session::{Closing, Opening, SessionId, Sessions};
use crate::tap::{Begun, Ended, Ending, Note};

/// How often the age of the trace is looked at while nothing happens.
const IDLE_LOOK: Duration = Duration::from_secs(1);
/// How far the recorder stands back.
const NICENESS: i32 = 10;
const NS_PER_US: u64 = 1_000;

/// The recorder's state.
pub(crate) struct Recorder {
    clock: Clock,
    files: Files,
    rotation: Rotation,
    keeps_text: bool,
    sessions: Sessions,
    responses: Responses,
    blocks: Blocks,
    open: HashMap<u64, Opened>,
    /// Of the trace that is being written: rounds of each session, and the end of its last one.
    rounds: HashMap<SessionId, (u64, u64)>,
    /// Clients in order of their appearance.
    clients: HashMap<u64, usize>,
    finished: Vec<Finished>,
    failed: Option<CaptureError>,
}

/// A request that waits for its end.
struct Opened {
    begun: Box<Begun>,
    prompt: Result<Prompt, String>,
    session: SessionId,
}

impl Recorder {
    pub(crate) fn new(clock: Clock, files: Files, rotation: Rotation, keeps_text: bool) -> Self {
        Self {
            clock,
            files,
            rotation,
            keeps_text,
            sessions: Sessions::default(),
            responses: Responses::default(),
            blocks: Blocks::new(),
            open: HashMap::new(),
            rounds: HashMap::new(),
            clients: HashMap::new(),
            finished: Vec::new(),
            failed: None,
        }
    }

    /// Records until the proxy is gone, then finishes the files. A file that cannot be written ends the recording and nothing
    /// else: clients are served on.
    pub(crate) fn run(mut self, notes: &Receiver<Note>) -> Result<Vec<Finished>, CaptureError> {
        // Of this thread alone, on Linux: where cores are short, forwarding goes first. A refusal changes nothing else.
        let _ = rustix::process::nice(NICENESS);
        loop {
            let note = match notes.recv_timeout(IDLE_LOOK) {
                Ok(note) => Some(note),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => break,
            };
            if self.failed.is_some() {
                continue;
            }
            let result = match note {
                Some(Note::Begun(begun)) => {
                    self.begin(begun);
                    Ok(())
                }
                Some(Note::Ended(ended)) => self.end(&ended),
                None => self.rotate_when_full(),
            };
            if let Err(error) = result {
                tracing::error!(%error, "recording has ended; requests are still forwarded");
                self.failed = Some(error);
            }
        }
        let last = self.files.finish();
        if let Some(error) = self.failed {
            return Err(error);
        }
        self.finished.push(last?);
        Ok(self.finished)
    }

    fn begin(&mut self, mut begun: Box<Begun>) {
        let mut prompt = read_prompt(&begun);
        if let Ok(prompt) = &mut prompt {
            let previous = prompt.previous_response.as_deref();
            if let Some(before) = previous.and_then(|id| self.responses.before(id)) {
                prompt.carry(&before);
            }
        }
        if !self.keeps_text {
            begun.body.forget_pieces();
        }
        let session = self.sessions.open(&Opening {
            at_ns: begun.arrival_ns,
            client: begun.client,
            endpoint: begun.endpoint,
            session: begun
                .session
                .as_deref()
                .map(|name| one_line(name, &begun.secrets))
                .as_deref(),
            parent: begun
                .parent
                .as_deref()
                .map(|name| one_line(name, &begun.secrets))
                .as_deref(),
            prompt: prompt.as_ref().ok(),
        });
        self.open.insert(
            begun.request_id,
            Opened {
                begun,
                prompt,
                session,
            },
        );
    }

    fn end(&mut self, ended: &Ended) -> Result<(), CaptureError> {
        // A request of which the queue had no room is one that nobody has heard of.
        let Some(opened) = self.open.remove(&ended.request_id) else {
            return Ok(());
        };
        let answer = answer::read(
            opened.begun.endpoint,
            &ended.answer,
            ended.content_encoding.as_deref(),
        );
        let failure = failure(ended, &answer, self.keeps_text);
        let (cut, tokens_from) = self.cut(&opened, &answer, failure.is_none());
        let end_ns = answer.last_content_ns.unwrap_or(ended.at_ns);
        self.sessions.close(
            opened.session,
            &Closing {
                at_ns: end_ns,
                is_ok: failure.is_none(),
                calls_tools: answer.calls_tools,
                tool_arguments: &answer.tool_arguments,
                text: &answer.text,
                response_id: answer.response_id.as_deref(),
            },
        );
        if let (Some(id), Ok(prompt)) = (&answer.response_id, &opened.prompt) {
            let texts = answer.tool_arguments.iter().chain([&answer.text]);
            let texts: Vec<&str> = texts
                .map(String::as_str)
                .filter(|text| !text.is_empty())
                .collect();
            self.responses.note(id, prompt, &texts);
        }
        let row = self.row(&opened, ended, &answer, &cut, failure.as_deref());
        let line = self.journal_line(&opened, &row, &answer, cut, tokens_from);
        self.rounds.insert(opened.session, (row.round_index + 1, end_ns));
        let anchor_ns = self.clock.wall_anchor_ns();
        let chunks = answer.content_ns.iter();
        let chunks_us = chunks.map(|ns| ((anchor_ns + ns) / NS_PER_US).cast_signed());
        self.files.append(&row, &line, chunks_us, &opened.begun.secrets)?;
        if self.keeps_text {
            self.files.append_text(&text_line(&opened, &answer))?;
        }
        self.rotate_when_full()
    }

    /// The prompt's blocks, and who counted its tokens.
    fn cut(&mut self, opened: &Opened, answer: &Answer, is_ok: bool) -> (Cut, &'static str) {
        let counted = answer.usage.prompt_tokens;
        let from = |is_ids| match (is_ids, counted) {
            (true, _) => "ids",
            (false, Some(_)) => "usage",
            (false, None) => "estimate",
        };
        match &opened.prompt {
            // A prompt that nobody counted or answered must not decide how later ones are cut.
            Ok(prompt) if !prompt.lacks_beginning() && (is_ok || counted.is_some() || prompt.is_ids) => {
                let cut = self
                    .blocks
                    .cut(&prompt.model, &prompt.bytes, prompt.is_ids, counted);
                (cut, from(prompt.is_ids))
            }
            Ok(prompt) => {
                let tokens = counted.unwrap_or_else(|| self.blocks.estimate_alone(prompt.bytes.len()));
                (self.blocks.private(tokens), from(false))
            }
            Err(_) => (self.blocks.private(counted.unwrap_or(1)), from(false)),
        }
    }

    fn row(
        &mut self,
        opened: &Opened,
        ended: &Ended,
        answer: &Answer,
        cut: &Cut,
        failure: Option<&str>,
    ) -> Row {
        let begun = &opened.begun;
        let wall_us = |ns: u64| (self.clock.wall_anchor_ns() + ns) / NS_PER_US;
        let (round_index, last_end_ns) = self.rounds.get(&opened.session).copied().unwrap_or_default();
        let think_ns = if round_index == 0 {
            0
        } else {
            begun.arrival_ns.saturating_sub(last_end_ns)
        };
        let output_tokens = answer.usage.completion_tokens.unwrap_or(answer.n_chunks());
        let reasoning = answer.usage.reasoning_tokens.unwrap_or(0).min(output_tokens);
        let n_clients = self.clients.len();
        let client = *self.clients.entry(begun.client).or_insert(n_clients);
        Row {
            request_id: begun.request_id,
            client_id: format!("c{client}"),
            session_id: self.sessions.name(opened.session),
            round_index,
            streaming: opened.prompt.as_ref().is_ok_and(|prompt| prompt.streamed),
            input_tokens: cut.tokens,
            output_tokens,
            reason_ratio: if output_tokens == 0 {
                0.0
            } else {
                reasoning as f64 / output_tokens as f64
            },
            model: model(opened),
            server_input_tokens: answer.usage.prompt_tokens.unwrap_or(0),
            arrival_time_us: begun.arrival_ns / NS_PER_US,
            send_time_us: wall_us(ended.sent_ns.unwrap_or(begun.arrival_ns)),
            first_chunk_time_us: answer.first_content_ns.map_or(0, wall_us),
            last_chunk_time_us: answer.last_content_ns.map_or(0, wall_us),
            num_chunks: answer.n_chunks(),
            status: if failure.is_some() { "error" } else { "ok" },
            error_message: failure.unwrap_or_default().to_owned(),
            finish_reason: answer.finish_reason.clone().unwrap_or_default(),
            x_request_id: begun.x_request_id.clone().unwrap_or_default(),
            think_time_us: think_ns / NS_PER_US,
        }
    }

    fn journal_line(
        &self,
        opened: &Opened,
        row: &Row,
        answer: &Answer,
        cut: Cut,
        tokens_from: &str,
    ) -> JournalLine {
        let secrets = &opened.begun.secrets;
        let prompt = opened.prompt.as_ref().ok();
        let tools = prompt.map_or(0, |prompt| cut.tokens_before(prompt.tools_end));
        let system = prompt.map_or(0, |prompt| cut.tokens_before(prompt.system_end));
        let after_sent = |at_us: u64| at_us.checked_sub(row.send_time_us).filter(|_| at_us > 0);
        let output_type = if answer.calls_tools { "tool_use" } else { "text" };
        let unread = answer.unread.as_ref().map(|why| format!("answer: {why}"));
        JournalLine {
            request_id: row.request_id,
            tokens: cut.tokens,
            ids: cut.ids,
            tokens_from: tokens_from.to_owned(),
            session_id: row.session_id.clone(),
            parent_session_id: self.sessions.parent(opened.session),
            left_out: opened
                .prompt
                .as_ref()
                .err()
                .map(|why| format!("prompt: {why}"))
                .or(unread),
            // Both together stand in whole blocks of the prompt.
            tool_tokens: tools.min(cut.tokens / BLOCK_TOKENS * BLOCK_TOKENS),
            system_tokens: system
                .min(cut.tokens / BLOCK_TOKENS * BLOCK_TOKENS)
                .saturating_sub(tools),
            is_ok: row.status == "ok",
            streamed: row.streaming,
            model: one_line(&row.model, secrets),
            arrival_us: row.arrival_time_us,
            output_tokens: row.output_tokens,
            api_us: after_sent(row.last_chunk_time_us),
            ttft_us: after_sent(row.first_chunk_time_us),
            think_us: (row.round_index > 0).then_some(row.think_time_us),
            input_types: prompt
                .map(|prompt| prompt.new_kinds.iter().map(|kind| (*kind).to_owned()).collect())
                .unwrap_or_default(),
            output_types: vec![output_type.to_owned()],
            stop: stop(answer).to_owned(),
        }
    }

    fn rotate_when_full(&mut self) -> Result<(), CaptureError> {
        let now_ns = self.clock.now_ns();
        if self.files.is_full(self.rotation, now_ns) {
            self.finished.push(self.files.rotate(now_ns)?);
            self.blocks.rotate();
            self.rounds.clear();
        }
        Ok(())
    }
}

fn read_prompt(begun: &Begun) -> Result<Prompt, String> {
    if let Some(why) = begun.body.left_out {
        return Err(why.to_owned());
    }
    if let Some(coding) = begun
        .content_encoding
        .as_deref()
        .filter(|coding| *coding != "identity")
    {
        return Err(format!("content coding {} is not read", answer::word(coding)));
    }
    Prompt::read(begun.endpoint, &begun.body.joined()).map_err(str::to_owned)
}

/// Why a request is not `ok`, in words that hold nothing of prompt or answer unless text may be kept.
fn failure(ended: &Ended, answer: &Answer, keeps_text: bool) -> Option<String> {
    let stated = || {
        let kind = answer.error.as_deref()?;
        let message = answer.error_message.as_deref().filter(|_| keeps_text);
        Some(message.map_or_else(|| kind.to_owned(), |message| format!("{kind}: {message}")))
    };
    match (&ended.ending, ended.status) {
        (Ending::NoServer(why), _) => Some(why.clone()),
        (Ending::ClientGone, _) => Some("the client hung up".to_owned()),
        (Ending::Stopped, _) => Some("the capture was stopped".to_owned()),
        (_, None) => Some("the connection ended without an answer".to_owned()),
        (_, Some(status)) if status != 200 => Some(stated().map_or_else(
            || format!("HTTP {status}"),
            |error| format!("HTTP {status}: {error}"),
        )),
        (_, Some(_)) if answer.error.is_some() => stated(),
        (Ending::Cut, _) if !answer.is_complete => Some("the answer was cut off".to_owned()),
        _ if answer.unread.is_some() => None,
        _ if !answer.is_complete => Some("the answer ended without a finish reason".to_owned()),
        _ => None,
    }
}

fn model(opened: &Opened) -> String {
    opened
        .prompt
        .as_ref()
        .map(|prompt| prompt.model.clone())
        .unwrap_or_default()
}

/// The finish reason in a Weka trace's words.
fn stop(answer: &Answer) -> &'static str {
    match answer.finish_reason.as_deref() {
        Some("tool_calls" | "tool_use" | "function_call") => "tool_use",
        Some("stop" | "end_turn" | "stop_sequence") => "end_turn",
        _ => "",
    }
}

/// A request's body and its answer's text.
fn text_line(opened: &Opened, answer: &Answer) -> String {
    let body = opened.begun.body.joined();
    let request = serde_json::from_slice::<Value>(&body)
        .unwrap_or_else(|_| Value::String(String::from_utf8_lossy(&body).into_owned()));
    let line = json!({
        "request_id": opened.begun.request_id, "request": request, "answer": answer.text,
        "tool_arguments": answer.tool_arguments,
    });
    format!("{}\n", opened.begun.secrets.hide(&line.to_string()))
}
