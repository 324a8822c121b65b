//! Replay of a flat list of recorded requests: open, closed, or session by session (`trace-csv` §5.1, `sweeper-traffic` §7).
//!
//! [`RequestReplay`] is the second [`Machine`]: it knows when requests were due and which follows which, and nothing of
//! session trees. It has one phase, the measurement. A request's `due` is when the schedule wanted it; where the cap on
//! requests in flight kept it back, it is when the cap let it go, and [`Ask::held`] says how long that took.

use crate::dialect::{CANCEL_SETTLE_S, CLOCK_RESOLUTION_S};
use crate::machine::INTERRUPT_DRAIN_S;
use crate::timers::Timers;
use crate::{Action, Asked, Event, Machine, Mark, Outcome, Phase, RequestKey, RunEnd, Seconds, Standing};
use std::collections::HashMap;
use std::num::NonZeroU32;

/// When the requests of a trace are due and which follows which. Positions are those of the trace's order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Timetable {
    /// For each request, ns from the start to when it is due by itself; ascending.
    pub due_ns: Vec<u64>,
    /// For each request, what its session does next. Empty when no request waits for another.
    pub follow: Vec<Option<Follow>>,
}

/// The round behind a request, which waits for its answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Follow {
    /// Its position and one more: so that no follower takes no room, with millions of requests.
    place: NonZeroU32,
    /// Seconds from the end of the answer to when it is due; finite and not negative.
    pub think_s: Seconds,
}

impl Follow {
    /// The request at position `index`, due `think_s` seconds behind the answer.
    pub fn new(index: u32, think_s: Seconds) -> Self {
        Self {
            place: NonZeroU32::MIN.saturating_add(index),
            think_s,
        }
    }

    /// Its position.
    pub fn index(self) -> u32 {
        self.place.get() - 1
    }
}

/// What starts a request that follows none. One that follows another starts its think time behind that one's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Starts {
    /// Its instant, however slow the server is.
    Due,
    /// A free slot of so many, in order; instants are ignored. A session keeps its slot to its end.
    Slots(usize),
}

/// Where a replay stops.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Most requests in flight; more wait in order. At least 1.
    pub in_flight_max: usize,
    /// Nothing is sent from this many seconds on; infinite for the whole trace.
    pub window_s: Seconds,
    /// How long answers may take when nothing more is sent; infinite for as long as each request's own deadline lets them.
    pub grace_s: Seconds,
    /// Most requests sent.
    pub request_cap: u64,
}

impl Limits {
    /// The whole trace, to its last answer.
    pub const NONE: Self = Self {
        in_flight_max: usize::MAX,
        window_s: Seconds::INFINITY,
        grace_s: Seconds::INFINITY,
        request_cap: u64::MAX,
    };
}

/// One request to send.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ask {
    /// Names it in [`Event::Returned`]; also its position in order of sending.
    pub request: RequestKey,
    /// Its position in the trace.
    pub index: usize,
    /// When the schedule wanted it, or the cap let it go.
    pub due: Seconds,
    /// How long the cap kept it back.
    pub held: Seconds,
}

impl Asked for Ask {
    fn request(&self) -> RequestKey {
        self.request
    }

    fn due(&self) -> Seconds {
        self.due
    }
}

/// A replay as a state machine.
pub struct RequestReplay {
    table: Timetable,
    /// Requests that follow another, and so start by themselves never.
    follows: Vec<bool>,
    starts: Starts,
    limits: Limits,
    now: Seconds,
    /// Position of the next request that starts by itself.
    next_start: usize,
    /// Sessions and single requests that hold a slot.
    slots_taken: usize,
    /// Rounds whose think time runs, or is over while the cap keeps them.
    thinking: Timers<u32>,
    in_flight: HashMap<RequestKey, u32>,
    sent: RequestKey,
    /// Requests that were to be sent when the replay began.
    total: u64,
    cancel_at: Seconds,
    force_at: Option<Seconds>,
    sending_complete: bool,
    stopping: Option<RunEnd>,
    actions: Vec<Action<Ask>>,
    ended: Option<RunEnd>,
}

impl RequestReplay {
    /// A replay of `table`. Nothing happens before [`Event::Start`].
    pub fn new(table: Timetable, starts: Starts, limits: Limits) -> Self {
        let mut follows = vec![false; table.due_ns.len()];
        for follow in table.follow.iter().flatten() {
            follows[follow.index() as usize] = true;
        }
        Self {
            total: table.due_ns.len() as u64,
            cancel_at: limits.window_s + limits.grace_s,
            table,
            follows,
            starts,
            limits,
            now: 0.0,
            next_start: 0,
            slots_taken: 0,
            thinking: Timers::default(),
            in_flight: HashMap::new(),
            sent: 0,
            force_at: None,
            sending_complete: false,
            stopping: None,
            actions: Vec::new(),
            ended: None,
        }
    }

    /// Requests of the trace that were never sent: their session ended before them, or the replay did.
    pub fn not_sent(&self) -> u64 {
        self.total - self.sent
    }

    /// Sends what is due, the earliest first, as far as the cap allows. What is older than `freed` was kept back by the cap.
    fn send_due(&mut self, freed: Option<Seconds>) {
        while self.may_send() && self.in_flight.len() < self.limits.in_flight_max {
            let Some((wanted, index)) = self.take_due() else {
                return;
            };
            let due = freed.map_or(wanted, |freed| wanted.max(freed));
            let request = self.sent;
            self.sent += 1;
            self.in_flight.insert(request, index);
            self.actions.push(Action::Send(Box::new(Ask {
                request,
                index: index as usize,
                due,
                held: due - wanted,
            })));
        }
    }

    fn may_send(&self) -> bool {
        self.stopping.is_none() && self.sent < self.limits.request_cap && self.now < self.limits.window_s
    }

    /// The request that is due and was wanted first, with the instant at which it was.
    fn take_due(&mut self) -> Option<(Seconds, u32)> {
        let start = self.next_start();
        let round = self.thinking.earliest();
        let due = |at: &Seconds| *at <= self.now + CLOCK_RESOLUTION_S;
        match (start.filter(due), round.filter(due)) {
            (None, None) => None,
            (Some(start), round) if round.is_none_or(|round| start <= round) => {
                let index = self.next_start as u32; // a trace has fewer rows
                self.next_start += 1;
                self.slots_taken += 1;
                Some((start, index))
            }
            _ => self.thinking.take_first(),
        }
    }

    /// When the next request that follows none is wanted; `None` when there is none, or no slot for it.
    fn next_start(&mut self) -> Option<Seconds> {
        while *self.follows.get(self.next_start)? {
            self.next_start += 1;
        }
        match self.starts {
            Starts::Due => Some(self.table.due_ns[self.next_start] as Seconds / 1e9),
            Starts::Slots(slots) => (self.slots_taken < slots).then_some(self.now),
        }
    }

    fn settle(&mut self, request: RequestKey, outcome: Outcome) {
        let Some(index) = self.in_flight.remove(&request) else {
            return; // told twice
        };
        let follow = self.table.follow.get(index as usize).copied().flatten();
        match follow.filter(|_| outcome == Outcome::Ok) {
            Some(follow) => {
                self.thinking.arm(self.now + follow.think_s, follow.index());
            }
            None => self.slots_taken -= 1,
        }
    }

    /// Carries the phase forward as far as this moment allows.
    fn conclude(&mut self) {
        if !self.sending_complete && (!self.may_send() || self.nothing_will_come()) {
            self.sending_complete = true;
            self.mark(Mark::SendingComplete {
                phase: Phase::Profiling,
                at: self.now,
            });
        }
        if !self.sending_complete {
            return;
        }
        if !self.in_flight.is_empty() && self.now >= self.cancel_at {
            self.cancel_all(self.stopping.unwrap_or(RunEnd::Complete));
        }
        if self.in_flight.is_empty() || self.force_at.is_some_and(|at| self.now >= at) {
            let end = self.stopping.unwrap_or(RunEnd::Complete);
            self.ended = Some(end);
            self.mark(Mark::PhaseComplete {
                phase: Phase::Profiling,
                at: self.now,
            });
            self.mark(Mark::End(end));
        }
    }

    /// All that start by themselves have started, no think time runs, and no answer leads to a further round.
    fn nothing_will_come(&mut self) -> bool {
        while self.follows.get(self.next_start) == Some(&true) {
            self.next_start += 1;
        }
        let leads_on = |index: &u32| matches!(self.table.follow.get(*index as usize), Some(Some(_)));
        self.next_start == self.follows.len()
            && self.thinking.is_empty()
            && (self.table.follow.is_empty() || !self.in_flight.values().any(leads_on))
    }

    fn interrupt(&mut self) {
        if self.stopping.is_some() {
            self.cancel_all(RunEnd::Interrupted);
            return;
        }
        self.stopping = Some(RunEnd::Interrupted);
        self.cancel_at = self
            .cancel_at
            .min(self.now + self.limits.grace_s.min(INTERRUPT_DRAIN_S));
    }

    fn cancel_all(&mut self, why: RunEnd) {
        if self.force_at.is_some() {
            return;
        }
        self.force_at = Some(self.now + CANCEL_SETTLE_S);
        self.mark(Mark::CancelAll {
            at: self.now,
            in_flight: self.in_flight.len(),
        });
        if !self.in_flight.is_empty() {
            self.actions.push(Action::CancelAll(why));
        }
    }

    fn mark(&mut self, mark: Mark) {
        self.actions.push(Action::Mark(mark));
    }
}

impl Machine for RequestReplay {
    type Ask = Ask;

    fn handle(&mut self, now: Seconds, event: Event) -> Vec<Action<Ask>> {
        self.now = now.max(self.now);
        if self.ended.is_none() {
            let was_full = self.in_flight.len() >= self.limits.in_flight_max;
            match event {
                Event::Start => self.mark(Mark::PhaseStart {
                    phase: Phase::Profiling,
                    at: self.now,
                }),
                Event::Wake => {}
                Event::Returned { request, outcome } => self.settle(request, outcome),
                Event::Interrupt => self.interrupt(),
                Event::Abort => {
                    self.stopping = Some(RunEnd::Aborted);
                    self.cancel_all(RunEnd::Aborted);
                }
            }
            self.send_due(was_full.then_some(self.now));
            self.conclude();
        }
        std::mem::take(&mut self.actions)
    }

    fn next_deadline(&mut self) -> Option<Seconds> {
        if self.ended.is_some() {
            return None;
        }
        let deadline = if self.sending_complete {
            self.force_at.unwrap_or(self.cancel_at)
        } else if self.in_flight.len() >= self.limits.in_flight_max {
            self.limits.window_s
        } else {
            [self.next_start(), self.thinking.earliest()]
                .into_iter()
                .flatten()
                .fold(self.limits.window_s, Seconds::min)
        };
        deadline.is_finite().then_some(deadline)
    }

    fn ended(&self) -> Option<RunEnd> {
        self.ended
    }

    fn standing(&self) -> Standing {
        let last_s = match self.starts {
            Starts::Due => self.table.due_ns.last().map(|ns| *ns as Seconds / 1e9),
            Starts::Slots(_) => None,
        };
        Standing {
            phase: Phase::Profiling,
            phase_start: 0.0,
            sending_until: Some(last_s.unwrap_or(Seconds::INFINITY).min(self.limits.window_s))
                .filter(|until| until.is_finite()),
            sending_complete: self.sending_complete,
            sent: self.sent,
            total: Some(self.total.min(self.limits.request_cap)),
            in_flight: self.in_flight.len(),
            live_lanes: self.slots_taken,
            held: 0,
            stuck_lanes: 0,
            idle_shifts: (0, 0.0),
        }
    }
}
