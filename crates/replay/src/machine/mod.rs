//! The state machine: what it is fed with, what it answers, and the order in which it works.
//!
//! A return's own consequences follow at once. What it starts besides comes with the next [`Event::Wake`], which is then due
//! immediately: after all returns of the same instant.

mod deferred;
mod due;
mod ends;
mod handover;
mod idle;
mod issue;
mod lanes;
mod phases;
mod pressure;
mod returns;
mod spawn;
mod stuck;
mod watchdog;

use crate::dialect::CLOCK_RESOLUTION_S;
use crate::live::{Order, Tree, TreeId};
use crate::timers::Timers;
use crate::{Plan, Rules, Seconds, Settings};
use deferred::DeferredQueue;
pub(crate) use due::{Due, Effect};
use handover::HandOver;
use idle::IdleCheck;
use lanes::Resume;
pub(crate) use phases::INTERRUPT_DRAIN_S;
use phases::{PhaseState, Stage};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use stuck::Stuck;
use tree::{Trace, TurnRef};

/// Names a request; unique in a run, in order of sending.
pub type RequestKey = u64;

/// Names one replay of one conversation; unique in a run. Warm-up and measurement of a lane's first tree share it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StreamId(pub u64);

/// Part of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    /// Primers; never counted.
    Warmup,
    /// The measurement.
    Profiling,
}

/// What the machine is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// Begin. Once, first.
    Start,
    /// The time that [`Replay::next_deadline`] asked for has come; harmless at any other time.
    Wake,
    /// A request ended.
    Returned {
        /// Which.
        request: RequestKey,
        /// How.
        outcome: Outcome,
    },
    /// The user wants to stop: nothing new is sent and requests in flight may finish; a second time cancels them.
    Interrupt,
    /// The run cannot go on: nothing new is sent and requests in flight are cancelled.
    Abort,
}

/// What a step of the machine comes from.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Cause {
    Event(Event),
    /// An instant that was set has come.
    Due(Due),
    /// A pass later: the first of what was put off.
    PutOff,
}

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Answered.
    Ok,
    /// Failed in any way but the next.
    Failed,
    /// The prompt did not fit the server's context window: the conversation ends here.
    Overflow,
    /// Ended by us.
    Cancelled,
}

/// What a machine wants done; `A` is what it says of a request to send.
#[derive(Clone, Debug, PartialEq)]
pub enum Action<A = Send> {
    /// Send a request; its end must be told with [`Event::Returned`].
    Send(Box<A>),
    /// Cancel every request in flight; each must still be told as returned.
    CancelAll(RunEnd),
    /// A step of the run, for the record.
    Mark(Mark),
}

/// One request to send.
#[derive(Clone, Debug, PartialEq)]
pub struct Send {
    /// Names it in [`Event::Returned`].
    pub request: RequestKey,
    /// Which phase it belongs to.
    pub phase: Phase,
    /// Position in its phase, from 0.
    pub sequence: u64,
    /// The lane of its tree.
    pub lane: u32,
    /// How many trees of the trace were started before its own.
    pub tree_pass: u64,
    /// Twelve hex digits of the tree's cache-bust marker.
    pub marker: String,
    /// Position of the trace in the corpus.
    pub trace: usize,
    /// Which conversation and turn of the trace.
    pub turn: TurnRef,
    /// This replay of the conversation.
    pub stream: StreamId,
    /// The parent's replay, for children.
    pub parent: Option<StreamId>,
    /// Output tokens to ask for instead of the turn's own.
    pub max_tokens_override: Option<u64>,
    /// When the schedule wanted it.
    pub due: Seconds,
    /// When it was decided.
    pub at: Seconds,
}

/// A step of the run.
#[derive(Clone, Debug, PartialEq)]
pub enum Mark {
    /// A phase began.
    PhaseStart {
        /// Which.
        phase: Phase,
        /// When.
        at: Seconds,
    },
    /// Nothing more will be sent in the phase.
    SendingComplete {
        /// Which.
        phase: Phase,
        /// When.
        at: Seconds,
    },
    /// A lane's tree has nothing in flight and nothing that will ever come due, but is not done: turns of it wait for a
    /// conversation that ended before its time, or for a join that cannot open. The lane sends no more in this phase.
    LaneStuck {
        /// The lane.
        lane: u32,
        /// When.
        at: Seconds,
    },
    /// The grace period ended, or the run was given up.
    CancelAll {
        /// When.
        at: Seconds,
        /// Requests that were still in flight.
        in_flight: usize,
    },
    /// A phase ended.
    PhaseComplete {
        /// Which.
        phase: Phase,
        /// When, by the dialect's rule; it may lie after the last return.
        at: Seconds,
    },
    /// The run is over.
    End(RunEnd),
}

/// Why a run, or what was in flight, came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunEnd {
    /// The window or the request cap, with its grace.
    Complete,
    /// The user stopped it.
    Interrupted,
    /// A request of a root failed in the warm-up.
    PrimerFailed,
    /// Requests in flight at the end of cache pressure did not return within the warm-up's grace period.
    WarmupTimedOut,
    /// It could not go on.
    Aborted,
}

/// A look at the run while it goes on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Standing {
    /// The phase at hand.
    pub phase: Phase,
    /// When it began.
    pub phase_start: Seconds,
    /// When its sending ends at the latest: the window's end, or the last primer as planned now.
    pub sending_until: Option<Seconds>,
    /// Nothing more will be sent in it.
    pub sending_complete: bool,
    /// Requests sent in it.
    pub sent: u64,
    /// Requests that it is to send in all, where that is known.
    pub total: Option<u64>,
    /// Requests sent and not returned.
    pub in_flight: usize,
    /// Lanes with a live tree.
    pub live_lanes: usize,
    /// Turns that wait for the recorded order.
    pub held: usize,
    /// Lanes that will send no more in the phase ([`Mark::LaneStuck`]).
    pub stuck_lanes: usize,
    /// How often timers were pulled in because the system idled, and by how many seconds in all.
    pub idle_shifts: (u64, Seconds),
}

/// What a machine says of a request to send.
pub trait Asked {
    /// Names it in [`Event::Returned`].
    fn request(&self) -> RequestKey;

    /// When the schedule wanted it.
    fn due(&self) -> Seconds;
}

impl Asked for Send {
    fn request(&self) -> RequestKey {
        self.request
    }

    fn due(&self) -> Seconds {
        self.due
    }
}

/// Decides what is sent, and when: fed with events and a time, it gives actions and the time of its next wake.
pub trait Machine {
    /// What it says of a request to send.
    type Ask: Asked;

    /// Works through `event` at `now`, which never goes back, and gives what follows from it.
    fn handle(&mut self, now: Seconds, event: Event) -> Vec<Action<Self::Ask>>;

    /// When the machine wants [`Event::Wake`] next, if nothing else comes first.
    fn next_deadline(&mut self) -> Option<Seconds>;

    /// Nothing is in flight and nothing can be sent any more: what is left is to pass the remaining deadlines, which needs
    /// no waiting.
    fn is_spent(&self) -> bool {
        false
    }

    /// Why the run ended, once it has.
    fn ended(&self) -> Option<RunEnd>;

    /// The run at this moment.
    fn standing(&self) -> Standing;
}

/// A run of session trees as a state machine.
pub struct Replay {
    settings: Settings,
    traces: Arc<[Arc<Trace>]>,
    plan: Plan,
    now: Seconds,
    phase: PhaseState,
    trees: BTreeMap<TreeId, Tree>,
    /// From where each lane's tree goes on when the next stage begins.
    resumes: Vec<Resume>,
    /// What cache pressure will hand over.
    hand_over: HandOver,
    /// Requests of cache pressure, for each lane.
    lane_requests: Vec<u64>,
    /// Trees started so far, for each trace.
    passes: HashMap<usize, u64>,
    in_flight: HashMap<RequestKey, (TreeId, TurnRef)>,
    /// Timers that the idle cap moves.
    timers: Timers<Order>,
    /// First requests of spawned children, which it does not move.
    sleeps: Timers<Order>,
    /// What comes with the next wake, which is then due at once.
    deferred: DeferredQueue,
    idle: IdleCheck,
    stuck: Stuck,
    /// Joins that a drained tree left closed: the phase still waits for them.
    abandoned_joins: usize,
    requests: RequestKey,
    streams: u64,
    /// What the step at hand has led to.
    effects: Vec<Effect>,
    /// Effects that are not actions are wanted too.
    is_shown: bool,
    ended: Option<RunEnd>,
}

impl Replay {
    /// A run of `plan`, which was drawn from the same traces and settings. Nothing happens before [`Event::Start`].
    pub fn new(traces: Arc<[Arc<Trace>]>, settings: Settings, plan: Plan) -> Self {
        Self {
            settings,
            traces,
            plan,
            now: 0.0,
            phase: PhaseState::new(Stage::Priming, 0.0),
            trees: BTreeMap::new(),
            resumes: Vec::new(),
            hand_over: HandOver::default(),
            lane_requests: Vec::new(),
            passes: HashMap::new(),
            in_flight: HashMap::new(),
            timers: Timers::default(),
            sleeps: Timers::default(),
            deferred: DeferredQueue::default(),
            idle: IdleCheck::default(),
            stuck: Stuck::default(),
            abandoned_joins: 0,
            requests: 0,
            streams: 0,
            effects: Vec::new(),
            is_shown: false,
            ended: None,
        }
    }

    /// Works through `event` at `now`, which never goes back, and gives what follows from it.
    pub fn handle(&mut self, now: Seconds, event: Event) -> Vec<Action> {
        let actions = |effect| match effect {
            Effect::Action(action) => Some(action),
            _ => None,
        };
        self.step(now, Cause::Event(event))
            .into_iter()
            .filter_map(actions)
            .collect()
    }

    /// When the machine wants [`Event::Wake`] next, if nothing else comes first.
    pub fn next_deadline(&self) -> Option<Seconds> {
        if self.ended.is_some() {
            return None;
        }
        let deadlines = [
            (!self.deferred.is_empty()).then_some(self.now),
            self.timers.earliest(),
            self.sleeps.earliest(),
            self.phase.next_deadline(),
            self.next_watchdog(),
            self.next_guard(),
        ];
        deadlines
            .into_iter()
            .flatten()
            .filter(|at| at.is_finite())
            .reduce(f64::min)
    }

    /// The measurement has nothing in flight and can send nothing any more: what is left is to pass the remaining deadlines, which needs
    /// no waiting.
    pub fn is_spent(&self) -> bool {
        self.phase.stage == Stage::Window
            && self.in_flight.is_empty()
            && self.deferred.is_empty()
            && (self.phase.sending_complete || (self.timers.is_empty() && self.sleeps.is_empty()))
    }

    /// Why the run ended, once it has.
    pub fn ended(&self) -> Option<RunEnd> {
        self.ended
    }

    /// The run at this moment.
    pub fn standing(&self) -> Standing {
        Standing {
            phase: self.phase.name(),
            phase_start: self.phase.start,
            sending_until: match self.phase.name() {
                Phase::Warmup => self.phase.window_end.or(self.timers.latest()),
                Phase::Profiling => self.phase.window_end,
            },
            sending_complete: self.phase.sending_complete,
            sent: self.phase.sent,
            total: None,
            in_flight: self.in_flight.len(),
            live_lanes: self.trees.len(),
            stuck_lanes: self.stuck.found.len(),
            held: self.trees.values().map(|tree| tree.barrier.held_count()).sum(),
            idle_shifts: self.idle.shifts(),
        }
    }

    /// The plan that this run carries out.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The instant has come, by the clock's resolution.
    fn is_due(&self, at: Seconds) -> bool {
        at <= self.now + CLOCK_RESOLUTION_S
    }

    fn rules(&self) -> Rules {
        self.settings.dialect.rules()
    }

    fn trace_of(&self, tree: TreeId) -> Option<Arc<Trace>> {
        self.trees.get(&tree).map(|tree| self.traces[tree.trace].clone())
    }

    fn mark(&mut self, mark: Mark) {
        self.act(Action::Mark(mark));
    }
}

impl Machine for Replay {
    type Ask = Send;

    fn handle(&mut self, now: Seconds, event: Event) -> Vec<Action> {
        Replay::handle(self, now, event)
    }

    fn next_deadline(&mut self) -> Option<Seconds> {
        Replay::next_deadline(self)
    }

    fn is_spent(&self) -> bool {
        Replay::is_spent(self)
    }

    fn ended(&self) -> Option<RunEnd> {
        Replay::ended(self)
    }

    fn standing(&self) -> Standing {
        Replay::standing(self)
    }
}
