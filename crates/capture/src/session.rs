//! Who belongs to whom: which conversation a request goes on with, and which conversation started another.
//!
//! A request names its session in a header, or is a later turn of the session whose last message list it begins with, the
//! longest one if there are several; the end of a last message may have been rewritten. A retry of a request that failed is a turn of the same session. What goes on from
//! no session is a new one, and a child of another if it starts inside a turn of that: between the start of a request
//! and the next one of the same session, tools included. Several turns may be open at once, so evidence is asked for:
//!
//! 1. a header names the parent;
//! 2. the first message carries the mark of a load generator's session tree (aiperf 0.12.0, `aiperf-corpus` §5.8);
//! 3. the first message is the argument of a tool call of an open turn: what an agent tells its subagent;
//! 4. the message list begins with an earlier one of a session in an open turn: a branch of it;
//! 5. one open turn, and no more, of the same client waits for its tools, and prompts begin differently: an agent's own
//!    instructions are the same in each of its sessions, a subagent's are its own.
//!
//! Pure: fed with requests in the order in which they came. Holds digests, never texts.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use sha2::{Digest as _, Sha256};

use crate::prompt::Prompt;
use crate::tap::Endpoint;

/// Most sessions that are remembered; beyond it the tenth part that was quiet for longest is forgotten.
pub const SESSIONS_MAX: usize = 100_000;
/// Most message lists that are remembered; beyond it only each session's last one is.
pub const LISTS_MAX: usize = 1_000_000;
/// How long after its answer a turn that calls tools is taken to be open for rule 5.
pub const OPEN_TURN_NS_MAX: u64 = 600_000_000_000;
/// Shorter texts are no evidence that one is the other.
const TOLD_BYTES_MIN: usize = 12;
/// Most strings of one answer's tool calls that are remembered.
const TOLD_MAX: usize = 64;
/// How much of a last message must be the same when its end may be another, its role included.
const STEM_BYTES: usize = 64;
/// Length of a marker such as `[rid:0123456789ab]`.
const MARK_BYTES: usize = 18;

type Digest = [u8; 16];

/// Number of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct SessionId(u64);

/// What is known of a request when it comes.
pub(crate) struct Opening<'a> {
    pub(crate) at_ns: u64,
    pub(crate) client: u64,
    pub(crate) endpoint: Endpoint,
    pub(crate) session: Option<&'a str>,
    pub(crate) parent: Option<&'a str>,
    /// `None` when the body was not recorded or not understood.
    pub(crate) prompt: Option<&'a Prompt>,
}

/// What is known of a request when it has ended.
pub(crate) struct Closing<'a> {
    pub(crate) at_ns: u64,
    pub(crate) is_ok: bool,
    pub(crate) calls_tools: bool,
    pub(crate) tool_arguments: &'a [String],
    pub(crate) text: &'a str,
    pub(crate) response_id: Option<&'a str>,
}

#[derive(Debug)]
struct Session {
    name: String,
    parent: Option<SessionId>,
    client: u64,
    in_flight: u32,
    /// Turn number of its latest request.
    turn: u64,
    ended_ns: u64,
    last_ok: bool,
    /// Its last answer calls tools, and nothing has come since.
    waits_for_tools: bool,
    length: usize,
    answer: Option<Digest>,
    head: Option<Digest>,
}

/// All sessions that are remembered.
#[derive(Debug, Default)]
pub(crate) struct Sessions {
    known: BTreeMap<SessionId, Session>,
    next: u64,
    by_name: HashMap<String, SessionId>,
    by_mark: HashMap<String, SessionId>,
    /// By id of a response: its session, and the turn that it answered.
    by_response: HashMap<String, (SessionId, u64)>,
    /// Texts in tool calls of open turns.
    told: HashMap<Digest, SessionId>,
    lists: HashMap<Digest, List>,
    /// For each whole number of messages or stretches, the lengths of what may stand behind it in a list.
    tails: HashMap<Digest, BTreeSet<usize>>,
    /// Message lists but for the end of their last message.
    stems: HashMap<Digest, Vec<(SessionId, u64)>>,
}

/// A message list that was sent.
#[derive(Debug)]
struct List {
    /// Its whole messages or stretches, and the bytes behind them.
    chain: Digest,
    tail: usize,
    /// The sessions that sent it, each with the turn in which it did.
    of: Vec<(SessionId, u64)>,
}

/// A list of messages that a prompt begins with.
struct Beginning {
    digest: Digest,
    length: usize,
}

impl Sessions {
    /// Finds the session of a request, or makes one.
    pub(crate) fn open(&mut self, opening: &Opening<'_>) -> SessionId {
        let prompt = opening.prompt;
        // Every byte of the prompt goes through it, so it is made once.
        let chain = prompt.map_or_else(Vec::new, |prompt| chain(opening.endpoint, prompt));
        let beginnings = prompt.map_or_else(Vec::new, |prompt| self.beginnings(prompt, &chain));
        let found = match opening.session {
            Some(name) => self.by_name.get(name).copied(),
            None => self.continued(opening, &chain, &beginnings),
        };
        let id = found.unwrap_or_else(|| self.start(opening, &beginnings));
        self.note_list(id, opening, &chain);
        id
    }

    /// A request has ended.
    pub(crate) fn close(&mut self, id: SessionId, closing: &Closing<'_>) {
        let Some(session) = self.known.get_mut(&id) else {
            return;
        };
        session.in_flight = session.in_flight.saturating_sub(1);
        session.ended_ns = closing.at_ns;
        session.last_ok = closing.is_ok;
        session.waits_for_tools = closing.is_ok && closing.calls_tools;
        session.answer = Some(digest(&[closing.text.as_bytes()]));
        if session.waits_for_tools {
            for text in closing
                .tool_arguments
                .iter()
                .flat_map(|arguments| strings(arguments))
                .take(TOLD_MAX)
            {
                self.told.insert(digest(&[text.trim().as_bytes()]), id);
            }
        }
        if let Some(response) = closing.response_id {
            self.by_response.insert(response.to_owned(), (id, session.turn));
        }
        if self.known.len() > SESSIONS_MAX || self.lists.len() > LISTS_MAX {
            self.forget();
        }
    }

    pub(crate) fn name(&self, id: SessionId) -> String {
        self.known
            .get(&id)
            .map_or_else(|| generated(id), |session| session.name.clone())
    }

    pub(crate) fn parent(&self, id: SessionId) -> Option<String> {
        let parent = self.known.get(&id)?.parent?;
        Some(self.name(parent))
    }

    /// The message lists of earlier requests that this prompt begins with, longest first.
    fn beginnings(&self, prompt: &Prompt, chain: &[Link]) -> Vec<Beginning> {
        let mut found = Vec::new();
        for (end, chain) in chain {
            let Some(tails) = self.tails.get(chain) else {
                continue;
            };
            for tail in tails {
                let Some(bytes) = prompt.bytes.get(*end..end + tail) else {
                    break;
                };
                let digest = digest(&[chain, bytes]);
                if self.lists.contains_key(&digest) {
                    found.push(Beginning {
                        digest,
                        length: end + tail - prompt.messages_start,
                    });
                }
            }
        }
        found.sort_by_key(|beginning| std::cmp::Reverse(beginning.length));
        found
    }

    /// The session whose last list is the longest that the prompt begins with.
    fn continued(
        &self,
        opening: &Opening<'_>,
        chain: &[Link],
        beginnings: &[Beginning],
    ) -> Option<SessionId> {
        let prompt = opening.prompt?;
        if let Some(previous) = &prompt.previous_response {
            let found = self.by_response.get(previous);
            let last = found.filter(|(id, turn)| {
                let session = self.known.get(id);
                session.is_some_and(|session| session.turn == *turn && session.in_flight == 0)
            });
            if last.is_some() {
                return last.map(|(id, _)| *id);
            }
            if prompt.lacks_beginning() {
                return found.map(|(id, _)| *id);
            }
        }
        let length = prompt.bytes.len() - prompt.messages_start;
        let answer = prompt
            .last_assistant
            .as_ref()
            .map(|text| digest(&[text.as_bytes()]));
        beginnings
            .iter()
            .find_map(|beginning| {
                let sessions = self.lists[&beginning.digest].of.iter().filter(|(id, turn)| {
                    self.known.get(id).is_some_and(|session| {
                        let is_last = session.turn == *turn && session.in_flight == 0;
                        is_last && (beginning.length < length || !session.last_ok)
                    })
                });
                self.likeliest(sessions, answer)
            })
            .or_else(|| self.continued_but_for_last(opening, chain, answer))
    }

    /// The session whose last list the prompt begins with but for the end of its last message, and goes on behind it: clients
    /// put reminders there and take them away in the next turn, and replayed traces fill up the last block.
    fn continued_but_for_last(
        &self,
        opening: &Opening<'_>,
        chain: &[Link],
        answer: Option<Digest>,
    ) -> Option<SessionId> {
        let mut stems = stems(opening, chain);
        stems.pop(); // its own last message: a list of the same length is no earlier turn
        stems.iter().rev().find_map(|stem| {
            let sessions = self.stems.get(stem)?.iter().filter(|(id, turn)| {
                let session = self.known.get(id);
                session.is_some_and(|session| session.turn == *turn && session.in_flight == 0)
            });
            self.likeliest(sessions, answer)
        })
    }

    /// Of equal ones, that whose answer the client gives back, then the latest.
    fn likeliest<'a>(
        &self,
        sessions: impl Iterator<Item = &'a (SessionId, u64)>,
        answer: Option<Digest>,
    ) -> Option<SessionId> {
        let likeliest = sessions.max_by_key(|(id, _)| {
            let session = &self.known[id];
            (answer.is_some() && session.answer == answer, session.ended_ns)
        });
        likeliest.map(|(id, _)| *id)
    }

    fn start(&mut self, opening: &Opening<'_>, beginnings: &[Beginning]) -> SessionId {
        let parent = self.parent_of(opening, beginnings);
        let id = SessionId(self.next);
        self.next += 1;
        let name = opening.session.map_or_else(|| generated(id), str::to_owned);
        if let Some(mark) = opening.prompt.and_then(mark) {
            self.by_mark.entry(mark).or_insert(id);
        }
        self.by_name.insert(name.clone(), id);
        let session = Session {
            name,
            parent,
            client: opening.client,
            in_flight: 0,
            turn: 0,
            ended_ns: opening.at_ns,
            last_ok: true,
            waits_for_tools: false,
            length: 0,
            answer: None,
            head: opening.prompt.and_then(head),
        };
        self.known.insert(id, session);
        id
    }

    fn parent_of(&self, opening: &Opening<'_>, beginnings: &[Beginning]) -> Option<SessionId> {
        if let Some(name) = opening.parent {
            return self
                .by_name
                .get(name)
                .copied()
                .filter(|_| opening.session != Some(name));
        }
        let prompt = opening.prompt?;
        if let Some(mark) = mark(prompt) {
            return self.by_mark.get(&mark).copied();
        }
        let told = prompt
            .first_user
            .iter()
            .map(|text| text.trim())
            .filter(|text| text.len() >= TOLD_BYTES_MIN);
        let teller = told
            .into_iter()
            .find_map(|text| self.told.get(&digest(&[text.as_bytes()])));
        if let Some(teller) =
            teller.filter(|id| self.known.get(id).is_some_and(|session| session.waits_for_tools))
        {
            return Some(*teller);
        }
        let length = prompt.bytes.len() - prompt.messages_start;
        let branched = beginnings.iter().filter(|beginning| beginning.length < length);
        let mut branched = branched
            .flat_map(|beginning| &self.lists[&beginning.digest].of)
            .map(|(id, _)| *id);
        branched
            .find(|id| self.known.get(id).is_some_and(Session::has_open_turn))
            .or_else(|| self.only_waiting(opening, prompt))
    }

    /// Rule 5.
    fn only_waiting(&self, opening: &Opening<'_>, prompt: &Prompt) -> Option<SessionId> {
        let mut waiting = self.known.iter().filter(|(_, session)| {
            session.client == opening.client
                && session.waits_for_tools
                && opening.at_ns.saturating_sub(session.ended_ns) <= OPEN_TURN_NS_MAX
        });
        let (id, session) = waiting.next()?;
        let alike = session.head.is_some() && session.head == head(prompt);
        (waiting.next().is_none() && !alike).then_some(*id)
    }

    fn note_list(&mut self, id: SessionId, opening: &Opening<'_>, chain: &[Link]) {
        let Some(session) = self.known.get_mut(&id) else {
            return;
        };
        session.in_flight += 1;
        session.turn += 1;
        session.waits_for_tools = false;
        let Some(prompt) = opening.prompt else {
            return;
        };
        session.length = prompt.bytes.len() - prompt.messages_start;
        let Some((end, last)) = chain.last() else {
            return;
        };
        let tail = &prompt.bytes[*end..];
        if session.length == 0 {
            return;
        }
        self.tails.entry(*last).or_default().insert(tail.len());
        let list = self.lists.entry(digest(&[last, tail])).or_insert_with(|| List {
            chain: *last,
            tail: tail.len(),
            of: Vec::new(),
        });
        list.of.push((id, session.turn));
        if let Some(stem) = stems(opening, chain).pop() {
            self.stems.entry(stem).or_default().push((id, session.turn));
        }
    }

    /// Makes room: sessions that were quiet for longest go, or the earlier lists of those that stay.
    fn forget(&mut self) {
        if self.known.len() > SESSIONS_MAX {
            let quiet = self.known.iter().filter(|(_, session)| session.in_flight == 0);
            let mut quiet: Vec<_> = quiet.map(|(id, session)| (session.ended_ns, *id)).collect();
            quiet.sort_unstable();
            for (_, id) in quiet.into_iter().take(SESSIONS_MAX / 10) {
                self.known.remove(&id);
            }
        }
        let known = &self.known;
        self.by_name.retain(|_, id| known.contains_key(id));
        self.by_mark.retain(|_, id| known.contains_key(id));
        self.by_response.retain(|_, (id, _)| known.contains_key(id));
        self.told
            .retain(|_, id| known.get(id).is_some_and(|session| session.waits_for_tools));
        let only_last = self.lists.len() > LISTS_MAX;
        self.lists.retain(|_, list| {
            list.of.retain(|(id, turn)| {
                known
                    .get(id)
                    .is_some_and(|session| !only_last || session.turn == *turn)
            });
            !list.of.is_empty()
        });
        self.stems.retain(|_, of| {
            of.retain(|(id, turn)| known.get(id).is_some_and(|session| session.turn == *turn));
            !of.is_empty()
        });
        self.tails.clear();
        for list in self.lists.values() {
            self.tails.entry(list.chain).or_default().insert(list.tail);
        }
    }
}

impl Session {
    fn has_open_turn(&self) -> bool {
        self.in_flight > 0 || self.waits_for_tools
    }
}

fn generated(id: SessionId) -> String {
    format!("s{:06}", id.0)
}

/// An end of a message, and a digest of the list up to it.
type Link = (usize, Digest);

/// Digest of the message list up to each of its ends, its beginning included.
fn chain(endpoint: Endpoint, prompt: &Prompt) -> Vec<Link> {
    let mut start = prompt.messages_start;
    let mut chain = digest(&[format!("{endpoint:?}").as_bytes()]);
    let mut out = vec![(start, chain)];
    for end in &prompt.message_ends {
        chain = digest(&[&chain, &prompt.bytes[start..*end]]);
        start = *end;
        out.push((start, chain));
    }
    out
}

/// For each message a digest of all before it and of its beginning. Prompts without messages have none.
fn stems(opening: &Opening<'_>, chain: &[Link]) -> Vec<Digest> {
    let Some(prompt) = opening
        .prompt
        .filter(|_| opening.endpoint != Endpoint::Completions)
    else {
        return Vec::new();
    };
    let messages = chain.iter().zip(&prompt.message_ends);
    messages
        .map(|((start, before), end)| {
            let begins = &prompt.bytes[*start..(*end).min(start + STEM_BYTES)];
            digest(&[b"stem", before, begins])
        })
        .collect()
}

/// Digest of tools and system texts, when there are any.
fn head(prompt: &Prompt) -> Option<Digest> {
    (prompt.system_end > 0).then(|| digest(&[&prompt.bytes[..prompt.system_end]]))
}

/// A load generator's mark at the start of the first user message.
fn mark(prompt: &Prompt) -> Option<String> {
    let mark = prompt.first_user.first()?.get(..MARK_BYTES)?;
    let id = mark.strip_prefix("[rid:")?.strip_suffix(']')?;
    id.bytes()
        .all(|byte| byte.is_ascii_hexdigit())
        .then(|| mark.to_owned())
}

fn digest(parts: &[&[u8]]) -> Digest {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    let whole: [u8; 32] = hash.finalize().into();
    let mut half = Digest::default();
    half.copy_from_slice(&whole[..16]);
    half
}

/// All strings in a tool call's arguments that are long enough to be told.
fn strings(arguments: &str) -> Vec<String> {
    fn collect(value: serde_json::Value, out: &mut Vec<String>) {
        match value {
            serde_json::Value::String(text) if text.trim().len() >= TOLD_BYTES_MIN => out.push(text),
            serde_json::Value::Array(list) => list.into_iter().for_each(|value| collect(value, out)),
            serde_json::Value::Object(object) => {
                object.into_iter().for_each(|(_, value)| collect(value, out));
            }
            _ => {}
        }
    }
    let mut out = Vec::new();
    if let Ok(value) = serde_json::from_str(arguments) {
        collect(value, &mut out);
    }
    out
}

#[cfg(test)]
mod tests;
