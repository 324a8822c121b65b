//! The instants that the machine waits for, one by one.
//!
//! A real clock needs only the first of them. A simulated event loop must have them all, since which of two at one instant
//! comes first is decided by when they were set; to it the machine shows what it sets, drops and puts off.

use super::{Action, Cause, Event, Replay};
use crate::Seconds;
use crate::live::{Order, TreeId};
use crate::timers::{Shift, TimerId};

/// An instant waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Due {
    /// A timer that the idle caps move.
    Timer(TimerId),
    /// The first request of a spawned child, which they do not move.
    Sleep(TimerId),
    /// The guard of the system idle cap.
    Guard,
    /// The idle watchdog of a tree.
    Watchdog(TreeId),
    /// The end of sending.
    WindowEnd,
    /// The end of the grace period.
    GraceEnd,
    /// The next look whether cache pressure has drained.
    Poll,
}

/// What one step of the machine leads to, in order.
pub(crate) enum Effect {
    Action(Action),
    /// To be told at this instant; whatever was set for it before is dropped.
    Set(Due, Seconds),
    /// To be told with the next pass of the loop.
    Ready(Due),
    Drop(Due),
    /// Something was put off to the next pass ([`Cause::PutOff`]).
    PutOff,
}

impl Replay {
    /// As [`Replay::new`], for [`Self::step`]: shows effects that are not actions too.
    pub(crate) fn shown(mut self) -> Self {
        self.is_shown = true;
        self
    }

    pub(super) fn show(&mut self, effect: Effect) {
        if self.is_shown {
            self.effects.push(effect);
        }
    }

    pub(super) fn act(&mut self, action: Action) {
        self.effects.push(Effect::Action(action));
    }

    pub(super) fn arm(&mut self, order: Order) {
        let id = self.timers.arm(order.due, order);
        self.show(Effect::Set(Due::Timer(id), order.due));
    }

    pub(super) fn arm_sleep(&mut self, order: Order) {
        let id = self.sleeps.arm(order.due, order);
        self.show(Effect::Set(Due::Sleep(id), order.due));
    }

    /// Moves timers, and gives the seconds by which.
    pub(super) fn pull_in(&mut self, budget: Seconds, is_one: impl Fn(&Order) -> bool) -> Seconds {
        let Shift { by, moved } = self.timers.pull_in(self.now, budget, is_one);
        let at_once = self.rules().pulled_timers_skip_the_clock;
        for timer in moved {
            self.show(Effect::Drop(Due::Timer(timer.was)));
            self.show(if at_once && timer.at <= self.now {
                Effect::Ready(Due::Timer(timer.id))
            } else {
                Effect::Set(Due::Timer(timer.id), timer.at)
            });
        }
        by
    }

    /// One instant has come.
    pub(super) fn come(&mut self, due: Due) {
        match due {
            Due::Timer(id) => {
                if let Some((at, order)) = self.timers.take(id) {
                    self.timer_fired(Order { due: at, ..order });
                }
            }
            Due::Sleep(id) => {
                if let Some((at, order)) = self.sleeps.take(id) {
                    self.sleep_is_over(Order { due: at, ..order });
                }
            }
            Due::Guard => self.run_guard(),
            Due::Watchdog(tree) => self.run_watchdog(tree),
            Due::WindowEnd => self.window_end_comes(),
            Due::Poll => self.poll(),
            Due::GraceEnd => self.grace_end_comes(),
        }
    }

    /// All that is due by now, as far as a real clock can tell; then everything that was put off.
    pub(super) fn come_all(&mut self) {
        if self.next_guard().is_some_and(|at| at <= self.now) {
            self.run_guard();
        }
        for tree in self.due_watchdogs() {
            self.run_watchdog(tree);
        }
        if self.phase.poll_at.is_some_and(|at| self.is_due(at)) {
            self.poll();
        }
        if self.phase.window_end.is_some_and(|end| self.is_due(end)) {
            self.window_end_comes();
        }
        let sending_complete = self.phase.sending_complete;
        if sending_complete && self.phase.cancel_at.is_some_and(|at| self.is_due(at)) {
            self.grace_end_comes();
        }
        let mut due: Vec<_> = self
            .timers
            .take_due(self.now)
            .into_iter()
            .map(|one| (true, one))
            .collect();
        due.extend(self.sleeps.take_due(self.now).into_iter().map(|one| (false, one)));
        due.sort_by(|(_, a), (_, b)| a.0.total_cmp(&b.0));
        for (is_timer, (at, order)) in due {
            let order = Order { due: at, ..order };
            if is_timer {
                self.timer_fired(order);
            } else {
                self.sleep_is_over(order);
            }
        }
        while !self.deferred.is_empty() && self.ended.is_none() {
            self.run_deferred();
            self.conclude();
        }
    }

    /// Works through one cause, and gives what follows from it.
    pub(crate) fn step(&mut self, now: Seconds, cause: Cause) -> Vec<Effect> {
        debug_assert!(now >= self.now, "time goes forward: {now} after {}", self.now);
        self.now = now.max(self.now);
        if self.ended.is_none() {
            match cause {
                Cause::Event(Event::Start) => self.start_warmup(),
                Cause::Event(Event::Wake) => self.come_all(),
                Cause::Event(Event::Returned { request, outcome }) => self.settle(request, outcome),
                Cause::Event(Event::Interrupt) => self.interrupt(),
                Cause::Event(Event::Abort) => self.give_up(super::RunEnd::Aborted),
                Cause::Due(due) => self.come(due),
                Cause::PutOff => self.run_first_deferred(),
            }
            self.conclude();
            self.look_for_stuck_lanes();
        }
        std::mem::take(&mut self.effects)
    }
}
