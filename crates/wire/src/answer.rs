//! One HTTP body of a successful status, from its bytes to an [`Answer`].
//!
//! A body is taken for an event stream unless its first byte that is no white space opens a JSON object: no event
//! stream can begin like that, while content types are often wrong (`metrics-and-exports` §2.3 has servers of both
//! kinds). A JSON body is a reply that was not streamed, and is accepted as one content chunk.

use crate::error::bounded;
use crate::fold::{Answer, AnswerFault, Arrival, BodyEnd, Fold, Verdict};
use crate::sse::Splitter;

/// Longest reply that is accepted where the server did not stream: 16 MiB.
pub const REPLY_BYTES_MAX: usize = 16 << 20;

/// How many leading bytes of a body are kept, to be shown when it turns out to be no answer at all.
const HEAD_BYTES: usize = 200;

/// The body so far.
#[derive(Debug, Default)]
pub struct AnswerBody {
    form: Form,
    fold: Fold,
    head: Vec<u8>,
    bytes: u64,
    events: u64,
    last: Option<Arrival>,
}

#[derive(Debug)]
enum Form {
    /// Nothing but white space has come, which the splitter has seen.
    Unknown(Splitter),
    Stream(Splitter),
    Reply(Vec<u8>),
    /// A reply longer than [`REPLY_BYTES_MAX`].
    TooLong,
}

impl Default for Form {
    fn default() -> Self {
        Self::Unknown(Splitter::default())
    }
}

impl Form {
    /// What the body turns out to be once `bytes` of it have come.
    fn seen(self, bytes: &[u8]) -> Self {
        let Self::Unknown(splitter) = self else {
            return self;
        };
        match bytes.iter().find(|byte| !byte.is_ascii_whitespace()) {
            Some(b'{') => Self::Reply(Vec::new()),
            Some(_) => Self::Stream(splitter),
            None => Self::Unknown(splitter),
        }
    }
}

impl AnswerBody {
    /// Takes the next bytes of the body, framing removed. They are parsed at once.
    pub fn push(&mut self, bytes: &[u8], arrival: Arrival) {
        if bytes.is_empty() {
            return;
        }
        self.bytes += bytes.len() as u64;
        self.last = Some(arrival);
        if self.head.len() < HEAD_BYTES {
            let more = bytes.len().min(HEAD_BYTES - self.head.len());
            self.head.extend_from_slice(&bytes[..more]);
        }
        if let Form::Unknown(_) = self.form {
            self.form = std::mem::take(&mut self.form).seen(bytes);
        }
        match &mut self.form {
            Form::Unknown(splitter) | Form::Stream(splitter) => splitter.push(bytes, arrival.read, |event| {
                self.events += 1;
                self.fold.event(event, arrival.at_ns);
            }),
            Form::Reply(reply) if reply.len() + bytes.len() <= REPLY_BYTES_MAX => {
                reply.extend_from_slice(bytes);
            }
            Form::Reply(_) => self.form = Form::TooLong,
            Form::TooLong => {}
        }
    }

    /// `[DONE]` or an error came: what follows can only be the end of the framing.
    pub fn has_ended(&self) -> bool {
        self.fold.has_ended()
    }

    /// Bytes that came, framing removed.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The body is over, or not to be read further: of a whole body, an event without its blank line or a reply
    /// is parsed now.
    pub fn finish(mut self, end: BodyEnd) -> Answer {
        // What a cut left of an event or a reply is no event and no reply.
        if let (Some(arrival), BodyEnd::Whole) = (self.last, end) {
            match &mut self.form {
                Form::Stream(splitter) => splitter.finish(|event| {
                    self.events += 1;
                    self.fold.event(event, arrival.at_ns);
                }),
                Form::Reply(reply) => self.fold.reply(&String::from_utf8_lossy(reply), arrival),
                Form::Unknown(_) | Form::TooLong => {}
            }
        }
        let no_answer = self.why_no_answer(end);
        let mut answer = self.fold.finish(end);
        if let (Verdict::Failed(..), Some(text)) = (&answer.verdict, no_answer) {
            answer.verdict = Verdict::Failed(AnswerFault::Malformed, bounded(&text));
        }
        answer
    }

    /// What to say of a body in which nothing was recognized.
    fn why_no_answer(&self, end: BodyEnd) -> Option<String> {
        let begins = String::from_utf8_lossy(&self.head);
        match self.form {
            Form::TooLong => Some(format!(
                "the reply is not streamed and longer than {REPLY_BYTES_MAX} bytes"
            )),
            Form::Reply(_) if end == BodyEnd::Whole && !self.fold.has_terminal() => Some(format!(
                "the reply is not streamed and no JSON object; it begins: {begins}"
            )),
            Form::Stream(_) if end == BodyEnd::Whole && self.events == 0 => {
                Some(format!("the answer holds no events; it begins: {begins}"))
            }
            _ => None,
        }
    }
}
