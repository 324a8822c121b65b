//! What a replay needs of a trace: its requests in order of arrival, some hundred bytes each, and their sessions.
//!
//! [`Recording::load`] verifies first and gives nothing of a file that is wrong. Block ids stay in the sidecar and are read
//! when a prompt is made ([`crate::blocks::BlockStore`]); when each request is due says [`crate::pace`].

use std::collections::HashMap;

use crate::blocks::BlockStore;
use crate::csv::Row;
use crate::error::TraceError;
use crate::problem::Problems;
use crate::verify::{self, Reference};

/// Most rows that are held.
pub const REQUESTS_MAX: usize = u32::MAX as usize - 1;

/// Position of a name in [`Names`]; 0 is the empty name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Name(u32);

/// The different texts of a trace.
#[derive(Clone, Debug)]
pub struct Names {
    list: Vec<Box<str>>,
}

impl Names {
    /// The text.
    pub fn text(&self, name: Name) -> &str {
        &self.list[name.0 as usize]
    }
}

/// The texts while rows go by: each is held once, and found again.
struct Known {
    names: HashMap<Box<str>, Name>,
}

impl Default for Known {
    fn default() -> Self {
        Self {
            names: HashMap::from([("".into(), Name::default())]),
        }
    }
}

impl Known {
    fn of(&mut self, text: &str) -> Name {
        if text.is_empty() {
            return Name::default();
        }
        if let Some(name) = self.names.get(text) {
            return *name;
        }
        let name = Name(u32::try_from(self.names.len()).expect("fewer names than rows times eight"));
        self.names.insert(text.into(), name);
        name
    }

    fn finish(self) -> Names {
        let mut list = vec![Box::default(); self.names.len()];
        for (text, name) in self.names {
            list[name.0 as usize] = text;
        }
        Names { list }
    }
}

/// One request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Its id in the files.
    pub request_id: u64,
    /// Arrival, or the recorded send where asked for, in µs from the first one.
    pub at_us: i64,
    /// Recorded think time before it; 0 also for not recorded.
    pub think_time_us: i64,
    /// From send to last chunk; 0 for not recorded.
    pub service_us: i64,
    /// The client's deadline, in µs from the arrival; 0 for none.
    pub deadline_us: i64,
    /// Target of the first token in µs; 0 for none.
    pub slo_target_us: i64,
    /// Its session; empty for a single request.
    pub session: Name,
    /// Round in its session.
    pub round: u32,
    /// Prefix group; empty for none.
    pub prefix_group: Name,
    /// Tokens of the group's text.
    pub prefix_length: u32,
    /// Prompt tokens behind it.
    pub input_tokens: u32,
    /// Output tokens; 0 for a row that failed, whose count is not reliable.
    pub output_tokens: u32,
    /// Prompt tokens as the server counted them; 0 for not recorded.
    pub server_input_tokens: u32,
    /// Model.
    pub model: Name,
    /// SLO class; empty is `default`.
    pub slo_class: Name,
    /// Tenant.
    pub tenant: Name,
    /// Client.
    pub client: Name,
    /// Priority, 0 most urgent.
    pub vllm_priority: u32,
}

impl Request {
    /// Tokens of the whole prompt.
    pub fn prompt_tokens(&self) -> u64 {
        u64::from(self.prefix_length) + u64::from(self.input_tokens)
    }
}

/// Which rows are taken, and what their instant is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LoadOptions {
    /// Count instants from the recorded sends instead of the arrivals.
    pub from_send: bool,
    /// Take rows that failed too; else they are skipped and counted.
    pub include_failed: bool,
    /// Take rows without prompt tokens too; else they are skipped and counted.
    pub include_empty: bool,
}

/// Rows that were not taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Skipped {
    /// Not `ok`, nor `incomplete` in a trace that was never run.
    pub failed: u64,
    /// No prompt tokens.
    pub empty: u64,
    /// No recorded send, which was asked for.
    pub unsent: u64,
}

/// The rounds of one session, by position in [`Recording::requests`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// Its name.
    pub name: Name,
    /// In order of round.
    pub rounds: Vec<u32>,
}

/// A trace, loaded.
#[derive(Debug)]
pub struct Recording {
    /// In order of (instant, request id).
    pub requests: Vec<Request>,
    /// Sessions in order of their first request.
    pub sessions: Vec<Session>,
    /// The texts.
    pub names: Names,
    /// Rows not taken.
    pub skipped: Skipped,
    /// What the first instant was in the file, in µs; requests count from it.
    pub first_us: i64,
    /// The sidecar.
    pub blocks: Option<BlockStore>,
    /// Digest of the data file.
    pub sha256: String,
    /// What is odd about the trace.
    pub warnings: Problems,
    /// By name: its place among the sessions, or [`NO_SESSION`].
    places: Vec<u32>,
}

/// Place of a name that no session has.
const NO_SESSION: u32 = u32::MAX;

impl Recording {
    /// Verifies and loads a trace.
    ///
    /// # Errors
    /// [`TraceError::Refused`] when anything about it is wrong; `verify` says what.
    pub fn load(reference: &Reference, options: LoadOptions) -> Result<Self, TraceError> {
        let mut taking = Taking {
            options,
            requests: Vec::new(),
            names: Known::default(),
            skipped: Skipped::default(),
        };
        let verified = verify::verify_with(reference, |row| {
            if taking.requests.len() >= REQUESTS_MAX {
                return Err(TraceError::TooManyRows {
                    file: reference.data.clone(),
                    limit: REQUESTS_MAX,
                });
            }
            taking.row(row);
            Ok(())
        })?;
        if !verified.problems.is_ok() {
            let first = verified
                .problems
                .list()
                .iter()
                .find(|problem| problem.severity == crate::Severity::Error);
            return Err(TraceError::Refused {
                file: reference.data.clone(),
                errors: verified.problems.errors(),
                first: first.map(ToString::to_string).unwrap_or_default(),
            });
        }
        let blocks = reference
            .token_blocks
            .as_ref()
            .map(|(path, _)| BlockStore::open(path));
        let Taking {
            mut requests,
            names,
            skipped,
            ..
        } = taking;
        let names = names.finish();
        requests.sort_unstable_by_key(|request| (request.at_us, request.request_id));
        let first_us = requests.first().map_or(0, |request| request.at_us);
        for request in &mut requests {
            request.at_us -= first_us;
        }
        let (sessions, places) = sessions(&requests, &names);
        Ok(Self {
            sessions,
            places,
            requests,
            names,
            skipped,
            first_us,
            blocks: blocks.transpose()?,
            sha256: verified.sha256,
            warnings: verified.problems,
        })
    }

    /// Place of the request's session in [`Recording::sessions`]; `None` for a single request.
    pub fn session_of(&self, request: &Request) -> Option<usize> {
        let place = *self.places.get(request.session.0 as usize)?;
        (place != NO_SESSION).then_some(place as usize)
    }

    /// Recorded think times of a session, for its rounds from the second on: as recorded where one is not zero, else
    /// measured from the end of the round before where that is known, else the gap between arrivals (`trace-csv` §5.2,
    /// rules 2 to 4). Never negative.
    pub fn think_times_us(&self, session: &Session) -> Vec<i64> {
        let rounds: Vec<&Request> = session
            .rounds
            .iter()
            .map(|at| &self.requests[*at as usize])
            .collect();
        let recorded = rounds.iter().skip(1).any(|request| request.think_time_us > 0);
        rounds
            .windows(2)
            .map(|pair| {
                if recorded {
                    return pair[1].think_time_us;
                }
                (pair[1].at_us - pair[0].at_us - pair[0].service_us).max(0)
            })
            .collect()
    }
}

struct Taking {
    options: LoadOptions,
    requests: Vec<Request>,
    names: Known,
    skipped: Skipped,
}

impl Taking {
    fn row(&mut self, row: &Row<'_>) {
        let failed = !matches!(row.status, "ok" | "incomplete");
        if failed && !self.options.include_failed {
            self.skipped.failed += 1;
            return;
        }
        if row.prompt_tokens() == 0 && !self.options.include_empty {
            self.skipped.empty += 1;
            return;
        }
        if self.options.from_send && row.send_us <= 0 {
            self.skipped.unsent += 1;
            return;
        }
        let at_us = if self.options.from_send {
            row.send_us
        } else {
            row.arrival_us
        };
        let deadline_us = if row.deadline_us == 0 {
            0
        } else {
            (row.deadline_us - row.arrival_us).max(0)
        };
        self.requests.push(Request {
            request_id: row.request_id,
            at_us,
            think_time_us: row.think_time_us,
            service_us: row.e2e_us().unwrap_or(0),
            deadline_us,
            slo_target_us: row.slo_target_us,
            session: self.names.of(row.session_id),
            round: row.round_index,
            prefix_group: self.names.of(row.prefix_group),
            prefix_length: row.prefix_length,
            input_tokens: row.input_tokens,
            output_tokens: if failed { 0 } else { row.output_tokens },
            server_input_tokens: row.server_input_tokens,
            model: self.names.of(row.model),
            slo_class: self.names.of(row.slo_class),
            tenant: self.names.of(row.tenant_id),
            client: self.names.of(row.client_id),
            vllm_priority: u32::try_from(row.vllm_priority).unwrap_or(u32::MAX),
        });
    }
}

/// The sessions, and by name the place of each. Rounds are counted first, so that no list has room to spare.
fn sessions(requests: &[Request], names: &Names) -> (Vec<Session>, Vec<u32>) {
    let mut rounds = vec![0_u32; names.list.len()];
    for request in requests {
        rounds[request.session.0 as usize] += 1;
    }
    let mut places = vec![NO_SESSION; names.list.len()];
    let mut sessions: Vec<Session> = Vec::new();
    for (position, request) in requests.iter().enumerate() {
        let name = request.session;
        if name == Name::default() {
            continue;
        }
        let place = &mut places[name.0 as usize];
        if *place == NO_SESSION {
            *place = sessions.len() as u32; // fewer than requests, which are below REQUESTS_MAX
            sessions.push(Session {
                name,
                rounds: Vec::with_capacity(rounds[name.0 as usize] as usize),
            });
        }
        sessions[*place as usize].rounds.push(position as u32); // below REQUESTS_MAX
    }
    for session in &mut sessions {
        session
            .rounds
            .sort_by_key(|position| requests[*position as usize].round);
    }
    (sessions, places)
}
