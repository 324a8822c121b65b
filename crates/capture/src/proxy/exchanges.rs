//! Which request and which answer the bytes of a connection belong to.
//!
//! Requests are told apart before they are forwarded, since their heads must change in two places. Answers are looked at
//! after they have been forwarded, and given to the oldest open request. When either side says something that is not
//! understood, the connection becomes a tunnel: bytes pass as before, what is open is recorded as far as it came.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use tokio::sync::Notify;

use super::Shared;
use crate::http1::framing::Body;
use crate::http1::head::{AnswerHead, RequestHead};
use crate::tap::{Begun, Collected, Ended, Ending, Note};

/// Most requests that one connection may have open; with more, the connection becomes a tunnel.
const PIPELINED_MAX: usize = 256;

/// The requests that are open on one connection. Both directions of the connection tell it what passes.
pub(super) struct Exchanges<'a> {
    shared: &'a Shared,
    peer: IpAddr,
    state: Mutex<State>,
    /// Woken whenever a request ends.
    ended: Notify,
}

#[derive(Default)]
struct State {
    open: VecDeque<Open>,
    n_begun: u64,
    tunnel: bool,
    client_closed: bool,
    /// A request's head that is not complete yet, and when it began.
    request_head: Vec<u8>,
    head_began_ns: u64,
    request_body: Option<Body>,
    answer_head: Vec<u8>,
    answer_body: Option<Body>,
}

struct Open {
    number: u64,
    method: String,
    asks_for_tunnel: bool,
    sent_ns: Option<u64>,
    status: Option<u16>,
    content_encoding: Option<String>,
    recorded: Option<Recorded>,
}

struct Recorded {
    request_id: u64,
    /// Until the recorder has it.
    begun: Option<Box<Begun>>,
    answer: Collected,
}

impl<'a> Exchanges<'a> {
    pub(super) fn new(shared: &'a Shared, peer: IpAddr) -> Self {
        Self {
            shared,
            peer,
            state: Mutex::default(),
            ended: Notify::new(),
        }
    }

    /// Takes what the client sent and gives back what is to be sent to the server.
    pub(super) fn take_from_client(&self, at_ns: u64, bytes: Bytes) -> Vec<Bytes> {
        let mut state = self.lock();
        let mut out = Vec::with_capacity(2);
        let mut rest = bytes;
        while !rest.is_empty() {
            if state.tunnel {
                out.extend(state.held());
                out.push(std::mem::take(&mut rest));
            } else if state.request_body.is_some() {
                let used = self.request_body(&mut state, at_ns, &rest);
                out.push(rest.split_to(used));
            } else if state.open.back().is_some_and(|open| open.asks_for_tunnel) {
                // Of the protocol that follows, if the server agrees to it.
                out.push(std::mem::take(&mut rest));
            } else {
                if state.request_head.is_empty() {
                    state.head_began_ns = at_ns;
                }
                let before = state.request_head.len();
                state.request_head.extend_from_slice(&rest);
                match RequestHead::read(&state.request_head) {
                    Ok(None) => rest = Bytes::new(),
                    Ok(Some(head)) => {
                        // The head ends in what came now: an earlier read would have found it.
                        let _ = rest.split_to(head.length.saturating_sub(before).min(rest.len()));
                        out.push(self.begin(&mut state, &head));
                    }
                    Err(_) => {
                        state.request_head.truncate(before);
                        state.tunnel = true;
                    }
                }
            }
        }
        out
    }

    /// What [`Self::take_from_client`] gave back last has been written.
    pub(super) fn sent(&self, at_ns: u64) {
        let mut state = self.lock();
        for open in &mut state.open {
            open.sent_ns.get_or_insert(at_ns);
        }
    }

    /// The client sends nothing more. Gives back what was held for a head that never became one.
    pub(super) fn client_closed(&self) -> Option<Bytes> {
        let mut state = self.lock();
        state.client_closed = true;
        state.held()
    }

    /// Whether a whole request has come that waits for its answer.
    pub(super) fn has_whole_request(&self) -> bool {
        let state = self.lock();
        !state.open.is_empty() && state.request_body.is_none()
    }

    /// Whether the connection has stopped being understood.
    pub(super) fn is_tunnel(&self) -> bool {
        self.lock().tunnel
    }

    /// Takes what the server sent, after it has been forwarded.
    pub(super) fn take_from_server(&self, at_ns: u64, bytes: Bytes) {
        let mut state = self.lock();
        let mut rest = bytes;
        while !rest.is_empty() && !state.tunnel {
            if state.answer_body.is_some() {
                let used = self.answer_body(&mut state, at_ns, &rest);
                let _ = rest.split_to(used);
                continue;
            }
            let before = state.answer_head.len();
            state.answer_head.extend_from_slice(&rest);
            match AnswerHead::read(&state.answer_head) {
                Ok(None) => return,
                Ok(Some(head)) => {
                    let _ = rest.split_to(head.length.saturating_sub(before).min(rest.len()));
                    state.answer_head.clear();
                    self.answer(&mut state, &head);
                }
                Err(_) => self.give_up(&mut state),
            }
        }
    }

    /// The server's side of the connection is over: `broken` when by an error.
    pub(super) fn server_closed(&self, broken: bool) {
        let mut state = self.lock();
        if !broken && state.answer_body.is_some_and(|body| body.ends_by_close()) {
            self.end_first(&mut state, Ending::Whole);
        }
        let ending = if state.client_closed {
            Ending::ClientGone
        } else {
            Ending::Cut
        };
        self.end_all(&mut state, &ending);
    }

    /// Everything that is open ends like this.
    pub(super) fn end(&self, ending: &Ending) {
        self.end_all(&mut self.lock(), ending);
    }

    /// Returns when no request is open.
    pub(super) async fn drained(&self) {
        loop {
            let ended = self.ended.notified();
            if self.lock().open.is_empty() {
                return;
            }
            ended.await;
        }
    }

    /// A head is complete: opens its request and gives back the head as the server shall have it.
    fn begin(&self, state: &mut State, head: &RequestHead) -> Bytes {
        let upstream = &self.shared.upstream;
        let rewritten = head.rewritten(&state.request_head, &upstream.host_header, &upstream.prefix);
        state.request_head.clear();
        if state.open.len() == PIPELINED_MAX {
            self.give_up(state);
            return rewritten.into();
        }
        let begun = self.shared.tap.begin(head, self.peer, state.head_began_ns);
        state.n_begun += 1;
        let open = Open {
            number: state.n_begun,
            method: head.method.clone(),
            asks_for_tunnel: head.method == "CONNECT" || head.header("upgrade").is_some(),
            sent_ns: None,
            status: None,
            content_encoding: None,
            recorded: begun.map(|begun| Recorded {
                request_id: begun.request_id,
                begun: Some(Box::new(begun)),
                answer: self.shared.tap.answer(),
            }),
        };
        state.open.push_back(open);
        let body = Body::new(head.framing);
        if body.is_done() {
            self.request_whole(state);
        } else {
            state.request_body = Some(body);
        }
        rewritten.into()
    }

    /// Bytes of a request's body; gives back how many belong to it.
    fn request_body(&self, state: &mut State, at_ns: u64, bytes: &Bytes) -> usize {
        let (Some(body), number) = (&mut state.request_body, state.n_begun) else {
            return 0;
        };
        // An answer may have come before the request was whole.
        let mut begun = state
            .open
            .back_mut()
            .filter(|open| open.number == number)
            .and_then(|open| open.recorded.as_mut()?.begun.as_mut());
        let used = body.advance(bytes, |range| {
            if let Some(begun) = &mut begun {
                begun.body.take(at_ns, bytes.slice(range));
            }
        });
        let Ok(used) = used else {
            self.give_up(state);
            return bytes.len();
        };
        if body.is_done() {
            state.request_body = None;
            self.request_whole(state);
        }
        used
    }

    /// The last request is whole: the recorder may have it.
    fn request_whole(&self, state: &mut State) {
        let number = state.n_begun;
        if let Some(open) = state.open.back_mut().filter(|open| open.number == number) {
            self.hand_over(open);
        }
    }

    fn hand_over(&self, open: &mut Open) {
        if let Some(begun) = open.recorded.as_mut().and_then(|recorded| recorded.begun.take()) {
            self.shared.tap.tell(Note::Begun(begun));
        }
    }

    /// An answer's head has come.
    fn answer(&self, state: &mut State, head: &AnswerHead) {
        if head.is_interim() {
            return;
        }
        let Some(open) = state.open.front_mut() else {
            // An answer to nothing: servers say 408 or 400 so before they close.
            state.tunnel = true;
            return;
        };
        open.status = Some(head.status);
        open.content_encoding.clone_from(&head.content_encoding);
        let is_tunnel = head.status == 101 || (open.method == "CONNECT" && head.status / 100 == 2);
        let body = Body::new(head.framing(&open.method));
        if is_tunnel {
            self.end_first(state, Ending::Whole);
            self.give_up(state);
        } else if body.is_done() {
            self.end_first(state, Ending::Whole);
        } else {
            state.answer_body = Some(body);
        }
    }

    /// Bytes of an answer's body; gives back how many belong to it.
    fn answer_body(&self, state: &mut State, at_ns: u64, bytes: &Bytes) -> usize {
        let (Some(body), Some(open)) = (&mut state.answer_body, state.open.front_mut()) else {
            return bytes.len();
        };
        let mut recorded = open.recorded.as_mut();
        let used = body.advance(bytes, |range| {
            if let Some(recorded) = &mut recorded {
                recorded.answer.take(at_ns, bytes.slice(range));
            }
        });
        let Ok(used) = used else {
            self.give_up(state);
            return bytes.len();
        };
        if body.is_done() {
            self.end_first(state, Ending::Whole);
        }
        used
    }

    fn give_up(&self, state: &mut State) {
        state.tunnel = true;
        self.end_all(state, &Ending::Cut);
    }

    fn end_all(&self, state: &mut State, ending: &Ending) {
        while !state.open.is_empty() {
            self.end_first(state, ending.clone());
        }
    }

    fn end_first(&self, state: &mut State, ending: Ending) {
        state.answer_body = None;
        let Some(mut open) = state.open.pop_front() else {
            return;
        };
        if let Some(begun) = open
            .recorded
            .as_mut()
            .and_then(|recorded| recorded.begun.as_mut())
        {
            begun.body.leave_out("not sent whole");
        }
        self.hand_over(&mut open);
        if let Some(recorded) = open.recorded {
            self.shared.tap.tell(Note::Ended(Box::new(Ended {
                request_id: recorded.request_id,
                sent_ns: open.sent_ns,
                status: open.status,
                content_encoding: open.content_encoding,
                answer: recorded.answer,
                ending,
                at_ns: self.shared.clock.now_ns(),
            })));
        }
        self.ended.notify_waiters();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Bytes that were held back for a head.
    fn held(&mut self) -> Option<Bytes> {
        let held = std::mem::take(&mut self.request_head);
        (!held.is_empty()).then(|| held.into())
    }
}

impl Drop for Exchanges<'_> {
    fn drop(&mut self) {
        self.end(&Ending::Stopped);
    }
}
