//! From a turn that is due to a request on the wire: barrier, stop checks, numbering.

use super::deferred::Then;
use super::phases::Stage;
use super::{Action, Phase, Replay, Send};
use crate::Warmup;
use crate::live::{Order, TreeId, Via};
use tree::TurnRef;

impl Replay {
    /// Sends the turn, or holds it until its recorded predecessors have ended. Once cache pressure is over it holds
    /// everything: what becomes due then is handed over. Gives the first requests of children that start with it.
    pub(super) fn submit(&mut self, order: Order) -> Vec<Order> {
        let Some(trace) = self.trace_of(order.tree) else {
            return Vec::new();
        };
        let Some(tree) = self.trees.get_mut(&order.tree) else {
            return Vec::new();
        };
        let replaying = self.phase.stage != Stage::Priming;
        if replaying && (self.phase.holds_all || !tree.barrier.is_open(&trace, order.turn)) {
            tree.barrier.hold(&trace, order.turn, order);
            self.stuck.suspect(order.tree);
            self.rearm_expired_watchdog(order.tree);
            return Vec::new();
        }
        self.issue(order)
    }

    /// Sends the turn unless the phase sends nothing more, or its lane has had its share. Gives the first requests of children
    /// that start with it.
    pub(super) fn issue(&mut self, order: Order) -> Vec<Order> {
        if !self.may_send() {
            self.refuse(order);
        } else if self.has_lane_share(&order) {
            return self.send(order);
        } else {
            self.hand_over.defer(order);
        }
        Vec::new()
    }

    /// A turn that will never be sent. Its child is done, so that joins and trees do not wait for it; not so, in stock
    /// aiperf, a child that was to go on from the snapshot.
    pub(super) fn refuse(&mut self, order: Order) {
        let Some(trace) = self.trace_of(order.tree) else {
            return;
        };
        let is_child = trace.conversations[order.turn.conversation].depth > 0;
        let settles = match order.via {
            Via::Next | Via::Spawn => true,
            Via::Start => self.rules().window_end_settles_children && self.phase.stage == Stage::Window,
            Via::Primer | Via::Join | Via::JoinDelay => false,
        };
        if is_child && settles {
            self.end_child(order.tree, order.turn.conversation, Then::Nothing);
        }
    }

    /// Whether the phase may send anything at this moment (`aiperf-replay` §5.3).
    pub(super) fn may_send(&self) -> bool {
        let phase = &self.phase;
        let capped = phase.stage == Stage::Window
            && self
                .settings
                .request_cap
                .is_some_and(|request_cap| phase.sent >= request_cap);
        let over = match phase.stage {
            Stage::Pressure => phase.holds_all,
            Stage::Priming | Stage::Window => phase.window_end.is_some_and(|end| self.is_due(end)),
        };
        !phase.sending_complete && !capped && !over
    }

    /// Whether a lane may take another tree. As the time of cache pressure ends it still may: its first turn is held then, and
    /// handed over.
    pub(super) fn may_start_tree(&self) -> bool {
        match (self.phase.stage, self.settings.warmup) {
            (Stage::Pressure, Warmup::PressureFor(_)) => !self.phase.sending_complete,
            _ => self.may_send(),
        }
    }

    fn send(&mut self, order: Order) -> Vec<Order> {
        let Some(tree) = self.trees.get(&order.tree) else {
            return Vec::new();
        };
        let conversation = order.turn.conversation;
        let stream = |index| tree.streams.get(&index).map(|stream| stream.id);
        let Some(id) = stream(conversation) else {
            return Vec::new();
        };
        let parent = self.traces[tree.trace].conversations[conversation]
            .parent
            .and_then(stream);
        let sent = Send {
            request: self.requests,
            phase: self.phase.name(),
            sequence: self.phase.sent,
            lane: tree.lane,
            tree_pass: tree.pass,
            marker: tree.marker.clone(),
            trace: tree.trace,
            turn: order.turn,
            stream: id,
            parent,
            max_tokens_override: (self.phase.name() == Phase::Warmup).then_some(1),
            due: order.due,
            at: self.now,
        };
        self.requests += 1;
        self.phase.sent += 1;
        self.in_flight.insert(sent.request, (order.tree, order.turn));
        self.watch_sent(order.tree);
        self.act(Action::Send(Box::new(sent)));
        self.spawn_overlapping(order.tree, order.turn)
    }

    /// The conversation's next turn, after its recorded delay; cache pressure knows no delays.
    pub(super) fn follow(&mut self, tree: TreeId, turn: TurnRef, then: Then) {
        let Some(trace) = self.trace_of(tree) else {
            return self.go(then);
        };
        let next = TurnRef {
            turn: turn.turn + 1,
            ..turn
        };
        let recorded_ms = trace.conversations[next.conversation].turns[next.turn].delay_ms;
        let knows_delays = self.phase.stage == Stage::Window;
        let delay_s = recorded_ms.filter(|_| knows_delays).unwrap_or(0.0) / 1000.0;
        let due = self.now + delay_s;
        let order = Order {
            tree,
            turn: next,
            via: Via::Next,
            due,
        };
        if delay_s > 0.0 {
            self.arm(order);
            self.go(then);
        } else {
            self.submit_then(order, then);
        }
    }
}
