//! The run loop: tells the state machine what happened and when, and carries out what it answers.
//!
//! One loop for a run. Every request is a task that ends with its record; the loop waits for the next record, the machine's
//! next deadline, or a word from the user, whichever is first. It decides nothing.

mod live;
mod names;
mod recorded;
mod trees;

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use record::marks::{Mark, RunEvent, Stop};
use record::request::{CancelCause, Outcome, Phase, RequestRecord};
use record::server_metrics::encode::EncodedLines;
use replay::{Action, Asked, Event, Machine, RequestKey, RunEnd};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

use crate::cancel::{Canceller, cancellation};
use crate::client::{Client, Outgoing};
use crate::clock::{Alarm, Clock, Pacing};
use crate::scrape::Bell;

use live::Live;
pub use live::{Counts, FailedThreshold, Progress};
pub use recorded::{Recorded, SINGLE_REQUEST, SloHints};
pub use trees::Trees;

/// How often the progress is made known.
pub const PROGRESS_EVERY: Duration = Duration::from_millis(250);
/// Records and marks that may wait to be written; when they do, the loop waits for the writer.
pub const WRITE_QUEUE: usize = 8192;
/// A run that is ready to start.
pub struct Job<M, L> {
    /// What is sent when.
    pub machine: M,
    /// What that is on the wire.
    pub load: L,
    /// The connections.
    pub client: Arc<Client>,
    /// The run's clock.
    pub clock: Clock,
    /// How wake-ups are made.
    pub pacing: Pacing,
    /// Rung when a phase begins or ends.
    pub bell: Bell,
    /// When failing requests end the run.
    pub failed_threshold: Option<FailedThreshold>,
}

/// What a machine's requests are on the wire and in the record.
pub trait Load: Send {
    /// What the machine says of a request.
    type Ask;

    /// The record of a request before anything is known of its answer; `due_ns` is its stamp. In the order of sending.
    fn describe(&mut self, ask: &Self::Ask, due_ns: u64) -> RequestRecord;

    /// Makes what goes out, in the request's own task.
    fn prepare(&self, ask: Self::Ask) -> Prepare;
}

/// Makes what a request sends; an error says why that cannot be.
pub type Prepare = Box<dyn FnOnce() -> Result<Outgoing, String> + Send>;

/// What the run leaves behind, in the order in which it happens.
#[derive(Debug)]
pub enum Written {
    /// A request ended.
    Record(Box<RequestRecord>),
    /// A step of the run.
    Mark(Mark),
    /// The server's metrics, from [`crate::scrape`].
    Scrape(EncodedLines),
}

/// Why the run ended, in a word and in a sentence (empty when there is nothing to say).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// The word.
    pub stop: Stop,
    /// The sentence.
    pub reason: String,
}

/// A run that could not go on.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The kernel refused a timer or a thread.
    #[error("the system refuses what a run needs: {0}")]
    System(#[from] io::Error),
    /// A request's task failed: a defect of this program.
    #[error("a request's task failed ({0}); this is a defect of turnmill")]
    Task(#[from] tokio::task::JoinError),
}

/// Carries out a run to its end.
///
/// `written` takes every record and mark; when its receiver is gone, nothing can be kept any more and the run is given up.
/// A word on `interrupts` is a wish to stop (see [`Event::Interrupt`]).
///
/// # Errors
/// When the system refuses what the loop needs. Everything written until then stays.
pub async fn run<M: Machine, L: Load<Ask = M::Ask>>(
    job: Job<M, L>,
    written: mpsc::Sender<Written>,
    progress: watch::Sender<Option<Progress>>,
    mut interrupts: mpsc::Receiver<()>,
) -> Result<Ended, RunError> {
    let mut alarm = Alarm::new(job.clock, job.pacing)?;
    let mut run = Run::new(job, written);
    let mut ticks = tokio::time::interval(PROGRESS_EVERY);
    run.tell(Event::Start).await;
    while run.machine.ended().is_none() {
        if run.machine.is_spent() && run.tasks.is_empty() {
            run.pass_deadline().await;
            continue;
        }
        let deadline_ns = run.machine.next_deadline().map(|at| run.stamp(at));
        tokio::select! {
            biased;
            Some(ended) = run.tasks.join_next(), if !run.tasks.is_empty() => {
                let (request, record) = ended?;
                run.settle(request, record).await;
            }
            woken = alarm.sleep_until(deadline_ns.unwrap_or(u64::MAX)), if deadline_ns.is_some() => {
                woken?;
                run.tell(Event::Wake).await;
            }
            Some(()) = interrupts.recv() => run.tell(Event::Interrupt).await,
            _ = ticks.tick() => {
                progress.send_replace(Some(run.progress()));
            }
        }
    }
    progress.send_replace(Some(run.progress()));
    Ok(run.finish().await)
}

struct Run<M, L> {
    machine: M,
    load: L,
    client: Arc<Client>,
    clock: Clock,
    /// The clock's stamp of the machine's instant 0.
    origin_ns: u64,
    tasks: JoinSet<(RequestKey, RequestRecord)>,
    cancellers: HashMap<RequestKey, Canceller>,
    written: mpsc::Sender<Written>,
    bell: Bell,
    live: Live,
    failed_threshold: Option<FailedThreshold>,
    started: u64,
    ended: Option<Ended>,
}

impl<M: Machine, L: Load<Ask = M::Ask>> Run<M, L> {
    fn new(job: Job<M, L>, written: mpsc::Sender<Written>) -> Self {
        Self {
            machine: job.machine,
            load: job.load,
            client: job.client,
            origin_ns: job.clock.now_ns(),
            clock: job.clock,
            tasks: JoinSet::new(),
            cancellers: HashMap::new(),
            written,
            bell: job.bell,
            live: Live::default(),
            failed_threshold: job.failed_threshold,
            started: 0,
            ended: None,
        }
    }

    fn now_s(&self) -> f64 {
        (self.clock.now_ns() - self.origin_ns) as f64 / 1e9
    }

    /// The clock's stamp of an instant of the machine.
    fn stamp(&self, at_s: f64) -> u64 {
        self.origin_ns + (at_s * 1e9) as u64
    }

    async fn tell(&mut self, event: Event) {
        self.tell_at(self.now_s(), event).await;
    }

    /// Passes the machine's next deadline without waiting for it: nothing can come of it any more.
    async fn pass_deadline(&mut self) {
        match self.machine.next_deadline() {
            Some(at) => self.tell_at(at.max(self.now_s()), Event::Wake).await,
            None => self.tell(Event::Interrupt).await,
        }
    }

    async fn tell_at(&mut self, now_s: f64, event: Event) {
        for action in self.machine.handle(now_s, event) {
            match action {
                Action::Send(send) => self.send(*send),
                Action::CancelAll(why) => self.cancel_all(why),
                Action::Mark(mark) => self.mark(&mark).await,
            }
        }
    }

    fn send(&mut self, ask: M::Ask) {
        let request = ask.request();
        let (canceller, cancellation) = cancellation();
        self.cancellers.insert(request, canceller);
        self.started += 1;
        let record = self.load.describe(&ask, self.stamp(ask.due()));
        let prepare = self.load.prepare(ask);
        let client = self.client.clone();
        self.tasks.spawn(async move {
            let record = match prepare() {
                Ok(outgoing) => client.send(record, outgoing, cancellation).await,
                Err(why) => client.give_up(record, why),
            };
            (request, record)
        });
    }

    async fn settle(&mut self, request: RequestKey, record: RequestRecord) {
        self.cancellers.remove(&request);
        self.live.count(&record);
        let outcome = match record.outcome {
            Outcome::Ok => replay::Outcome::Ok,
            Outcome::Failed => replay::Outcome::Failed,
            Outcome::Overflow => replay::Outcome::Overflow,
            Outcome::Cancelled => replay::Outcome::Cancelled,
        };
        self.write(Written::Record(Box::new(record))).await;
        self.tell(Event::Returned { request, outcome }).await;
        if self
            .failed_threshold
            .take_if(|threshold| self.live.exceeds(*threshold))
            .is_some()
        {
            self.tell(Event::Abort).await;
        }
    }

    async fn write(&mut self, what: Written) {
        // A writer that has gone away cannot be told anything; the machine is, once.
        if self.written.send(what).await.is_err() && !self.live.writer_gone {
            self.live.writer_gone = true;
            for action in self.machine.handle(self.now_s(), Event::Abort) {
                if let Action::CancelAll(why) = action {
                    self.cancel_all(why);
                }
            }
        }
    }

    fn cancel_all(&mut self, why: RunEnd) {
        let cause = match why {
            RunEnd::Complete => CancelCause::Grace,
            RunEnd::Interrupted => CancelCause::Interrupt,
            RunEnd::PrimerFailed | RunEnd::WarmupTimedOut | RunEnd::Aborted => CancelCause::Abort,
        };
        if !self.cancellers.is_empty() {
            tracing::debug!(
                ?cause,
                in_flight = self.cancellers.len(),
                "requests in flight are called off"
            );
        }
        for (_, canceller) in self.cancellers.drain() {
            canceller.cancel(cause);
        }
    }

    async fn mark(&mut self, mark: &replay::Mark) {
        tracing::debug!(?mark, "a step of the run");
        let (at, event) = match mark {
            replay::Mark::PhaseStart { phase: which, at } => {
                self.live.begin(*which);
                self.bell.ring();
                (*at, RunEvent::PhaseStart(phase(*which)))
            }
            replay::Mark::SendingComplete { phase: which, at } => (*at, RunEvent::SendingEnd(phase(*which))),
            replay::Mark::PhaseComplete { phase: which, at } => {
                self.bell.ring();
                let started = self.live.started_in_phase(self.started);
                let phase = phase(*which);
                (*at, RunEvent::PhaseEnd { phase, started })
            }
            replay::Mark::LaneStuck { lane, at } => (*at, RunEvent::LaneStuck { lane: *lane }),
            replay::Mark::CancelAll { .. } => return,
            replay::Mark::End(why) => {
                let ended = self.live.explain(*why);
                let event = RunEvent::RunEnd {
                    stop: ended.stop,
                    reason: ended.reason.clone(),
                };
                self.ended = Some(ended);
                (self.now_s(), event)
            }
        };
        let mark = Mark {
            at_ns: self.stamp(at),
            event,
        };
        Box::pin(self.write(Written::Mark(mark))).await;
    }

    fn progress(&self) -> Progress {
        self.live.progress(self.machine.standing(), self.now_s())
    }

    /// What is left in flight at a forced end is cancelled and recorded like the rest.
    async fn finish(mut self) -> Ended {
        self.cancel_all(self.machine.ended().unwrap_or(RunEnd::Aborted));
        while let Some(ended) = self.tasks.join_next().await {
            if let Ok((_, record)) = ended {
                self.write(Written::Record(Box::new(record))).await;
            }
        }
        self.ended.unwrap_or(Ended {
            stop: Stop::Abort,
            reason: String::new(),
        })
    }
}

fn phase(phase: replay::Phase) -> Phase {
    match phase {
        replay::Phase::Warmup => Phase::Warmup,
        replay::Phase::Profiling => Phase::Profiling,
    }
}
