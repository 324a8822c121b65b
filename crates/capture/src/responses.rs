//! What was said before a Responses request that names the response it goes on from.
//!
//! Such a request brings its new messages alone. The server has those before them, and so has who saw the earlier requests
//! pass. Instructions and tools are not among them: each request brings its own.
//!
//! Held in memory and never written. Beyond [`SAID_BYTES_MAX`] the responses that came first are forgotten; what goes on from
//! one of them has a beginning that is not known.

use std::collections::{HashMap, VecDeque};

use crate::prompt::{Messages, Prompt};

/// Most bytes of messages that are held: 256 MiB.
pub const SAID_BYTES_MAX: usize = 256 << 20;

/// Messages by the response that they led to.
#[derive(Debug)]
pub(crate) struct Responses {
    by_id: HashMap<String, Said>,
    /// Ids, the first that came in front.
    order: VecDeque<String>,
    bytes: usize,
    bytes_max: usize,
}

/// What one request and its answer added.
#[derive(Debug)]
struct Said {
    previous: Option<String>,
    messages: Messages,
}

impl Default for Responses {
    fn default() -> Self {
        Self {
            by_id: HashMap::new(),
            order: VecDeque::new(),
            bytes: 0,
            bytes_max: SAID_BYTES_MAX,
        }
    }
}

impl Responses {
    /// A response has come: what a request that goes on from it need not repeat.
    pub(crate) fn note(&mut self, id: &str, prompt: &Prompt, answer: &[&str]) {
        let said = Said {
            previous: prompt.previous_response.clone(),
            messages: prompt.said(answer),
        };
        self.bytes += said.messages.bytes.len();
        match self.by_id.insert(id.to_owned(), said) {
            // A server that gives one id twice means the later one.
            Some(earlier) => self.bytes -= earlier.messages.bytes.len(),
            None => self.order.push_back(id.to_owned()),
        }
        while self.bytes > self.bytes_max {
            let Some(first) = self.order.pop_front() else {
                break;
            };
            let forgotten = self.by_id.remove(&first);
            self.bytes -= forgotten.map_or(0, |said| said.messages.bytes.len());
        }
    }

    /// All messages up to a response, its answer the last; `None` when some are not known.
    pub(crate) fn before(&self, id: &str) -> Option<Messages> {
        let mut turns = Vec::new();
        let mut next = Some(id);
        while let Some(id) = next {
            let said = self.by_id.get(id)?;
            if turns.len() == self.by_id.len() {
                return None; // ids that were given twice may lead in a circle
            }
            turns.push(&said.messages);
            next = said.previous.as_deref();
        }
        let mut all = Messages::default();
        for messages in turns.into_iter().rev() {
            all.append(messages);
        }
        Some(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tap::Endpoint;

    fn prompt(text: &str, previous: Option<&str>) -> Prompt {
        let body = serde_json::json!({"input": text, "previous_response_id": previous});
        Prompt::read(Endpoint::Responses, body.to_string().as_bytes()).unwrap()
    }

    #[test]
    fn what_is_known_whole_is_carried_and_the_rest_is_not() {
        let mut known = Responses {
            bytes_max: 120,
            ..Responses::default()
        };
        known.note("r1", &prompt("one", None), &["first"]);
        known.note("r2", &prompt("two", Some("r1")), &["second"]);
        let before = known.before("r2").unwrap();
        let mut third = prompt("three", Some("r2"));
        assert!(third.lacks_beginning());
        third.carry(&before);
        let whole = serde_json::json!({"input": [
            {"role": "user", "content": "one"}, {"role": "assistant", "content": "first"},
            {"role": "user", "content": "two"}, {"role": "assistant", "content": "second"},
            {"role": "user", "content": "three"},
        ]});
        let whole = Prompt::read(Endpoint::Responses, whole.to_string().as_bytes()).unwrap();
        assert_eq!(
            (&third.bytes, &third.message_ends),
            (&whole.bytes, &whole.message_ends)
        );
        assert!(!third.lacks_beginning());

        assert_eq!(known.before("r3"), None);
        known.note("r4", &prompt(&"x".repeat(60), Some("r2")), &[]);
        assert_eq!(known.before("r4"), None, "its beginning is forgotten");
        known.note("r5", &prompt("", Some("r5")), &[]);
        assert_eq!(known.before("r5"), None, "a circle");
    }
}
