//! Misbehaviour on demand: which requests it strikes, and what it does to them.
//!
//! A fault server for tests of a client: each kind stands for something a real server, gateway or network has done. Pure values;
//! `serve` acts on them. Requests are numbered from 1 in order of arrival, counting chat and completions only.

use std::ops::RangeInclusive;

/// One kind of misbehaviour and the requests it strikes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// What happens.
    pub kind: FaultKind,
    /// Request numbers it can strike.
    pub among: RangeInclusive<u64>,
    /// Of these, the first and then every k-th; 1 strikes all, and 0 counts as 1.
    pub every: u64,
}

impl Fault {
    /// Strikes every request.
    pub fn always(kind: FaultKind) -> Self {
        Self::every(kind, 1)
    }

    /// Strikes the k-th request and every k-th after it.
    pub fn every(kind: FaultKind, k: u64) -> Self {
        Self {
            kind,
            among: k.max(1)..=u64::MAX,
            every: k,
        }
    }

    /// Strikes request number `nth` alone.
    pub fn only(kind: FaultKind, nth: u64) -> Self {
        Self {
            kind,
            among: nth..=nth,
            every: 1,
        }
    }

    fn strikes(&self, nth: u64) -> bool {
        self.among.contains(&nth) && (nth - self.among.start()).is_multiple_of(self.every.max(1))
    }
}

/// What can go wrong with a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FaultKind {
    /// Answered with this status at once: the error object's message, and `Retry-After` in seconds if given.
    Refuse {
        /// HTTP status, 400 to 599.
        status: u16,
        /// Message of the error object.
        message: String,
        /// Value of `Retry-After`.
        retry_after_s: Option<u32>,
    },
    /// The request is read and never answered, not even with a status line.
    Silence,
    /// After so many tokens an error object stands in the 200 stream, then `[DONE]`.
    ErrorInStream {
        /// Tokens before it.
        after_tokens: u64,
        /// Message of the error object.
        message: String,
        /// Its `code`.
        code: u16,
    },
    /// After so many tokens the stream ends without finish reason, usage and `[DONE]`.
    Cut {
        /// Tokens before the end.
        after_tokens: u64,
        /// How the body ends.
        ending: CutEnding,
    },
    /// After so many tokens nothing more is sent, and the connection stays open.
    Stall {
        /// Tokens before the silence.
        after_tokens: u64,
    },
    /// The answer ends by itself after so many tokens, whatever `ignore_eos` and `min_tokens` say.
    EarlyFinish {
        /// Tokens of the answer.
        tokens: usize,
    },
    /// No usage, whatever was asked for.
    NoUsage,
    /// The role chunk is sent at once, long before the first token.
    EarlyRole,
    /// Events are held back and sent so many tokens at a time.
    Clumps {
        /// Tokens of one write.
        tokens: u64,
    },
    /// The connection is closed after the answer, and the answer says so.
    ConnectionClose,
    /// The stream ends properly but without `[DONE]`.
    NoDone,
    /// After `[DONE]` the body is left open.
    OpenAfterDone,
}

/// How the body of a cut stream ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CutEnding {
    /// With the terminator of the chunked coding: a proper end of an improper stream.
    Terminated,
    /// The connection is closed where the next chunk would begin.
    Dropped,
    /// The answer announced a `Content-Length` that it does not reach before the connection is closed.
    ShortOfLength,
}

/// Everything that happens to one request. The last fault of a kind wins.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Behaviour {
    pub(crate) refuse: Option<(u16, String, Option<u32>)>,
    pub(crate) silence: bool,
    pub(crate) break_off: Option<(u64, BreakOff)>,
    pub(crate) early_finish: Option<usize>,
    pub(crate) no_usage: bool,
    pub(crate) early_role: bool,
    pub(crate) clump: u64,
    pub(crate) connection_close: bool,
    pub(crate) no_done: bool,
    pub(crate) open_after_done: bool,
}

/// What ends a stream before its answer is complete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum BreakOff {
    Error { message: String, code: u16 },
    Cut(CutEnding),
    Stall,
}

/// What `faults` do to request number `nth`.
pub(crate) fn behaviour(faults: &[Fault], nth: u64) -> Behaviour {
    let mut all = Behaviour {
        clump: 1,
        ..Behaviour::default()
    };
    for fault in faults.iter().filter(|fault| fault.strikes(nth)) {
        match fault.kind.clone() {
            FaultKind::Refuse {
                status,
                message,
                retry_after_s,
            } => all.refuse = Some((status, message, retry_after_s)),
            FaultKind::Silence => all.silence = true,
            FaultKind::ErrorInStream {
                after_tokens,
                message,
                code,
            } => all.break_off = Some((after_tokens, BreakOff::Error { message, code })),
            FaultKind::Cut { after_tokens, ending } => {
                all.break_off = Some((after_tokens, BreakOff::Cut(ending)));
            }
            FaultKind::Stall { after_tokens } => all.break_off = Some((after_tokens, BreakOff::Stall)),
            FaultKind::EarlyFinish { tokens } => all.early_finish = Some(tokens),
            FaultKind::NoUsage => all.no_usage = true,
            FaultKind::EarlyRole => all.early_role = true,
            FaultKind::Clumps { tokens } => all.clump = tokens.max(1),
            FaultKind::ConnectionClose => all.connection_close = true,
            FaultKind::NoDone => all.no_done = true,
            FaultKind::OpenAfterDone => all.open_after_done = true,
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_strike_the_requests_they_name() {
        let cases = [
            (Fault::always(FaultKind::Silence), vec![1, 2, 3, 4, 5, 6, 7, 8, 9]),
            (Fault::every(FaultKind::Silence, 3), vec![3, 6, 9]),
            (Fault::only(FaultKind::Silence, 4), vec![4]),
            (
                Fault::every(FaultKind::Silence, 0),
                vec![1, 2, 3, 4, 5, 6, 7, 8, 9],
            ),
            (
                Fault {
                    kind: FaultKind::Silence,
                    among: 2..=7,
                    every: 2,
                },
                vec![2, 4, 6],
            ),
        ];
        for (fault, expected) in cases {
            let struck = |nth: &u64| behaviour(std::slice::from_ref(&fault), *nth).silence;
            assert_eq!((1..10).filter(struck).collect::<Vec<_>>(), expected, "{fault:?}");
        }
    }
}
