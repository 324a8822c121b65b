//! Cache pressure: after the primers the trajectories run on with one output token a request and no idle time
//! (`aiperf-replay` §4.6).

use super::Replay;
use super::deferred::PhaseStep;
use super::due::{Due, Effect};
use super::lanes::Start;
use super::phases::Stage;
use crate::Warmup;
use crate::live::Order;

impl Replay {
    /// All primers have returned: the lanes go on under pressure.
    pub(super) fn start_pressure(&mut self) {
        let rules = self.rules();
        self.phase.stage = Stage::Pressure;
        if let Warmup::PressureFor(seconds) = self.settings.warmup {
            let end = self.now + seconds;
            self.phase.window_end = Some(end);
            self.show(Effect::Set(Due::WindowEnd, end));
        }
        self.hand_over.begin_pressure(rules, self.now);
        self.lane_requests = vec![0; self.resumes.len()];
        for lane in 0..self.resumes.len() {
            self.start_lane(lane, Start::AtOnce);
        }
    }

    /// Whether the lane may send one more, which is then counted. Everything is held from the request on that fills the last
    /// lane's share.
    pub(super) fn has_lane_share(&mut self, order: &Order) -> bool {
        let Warmup::PressureRequests(share) = self.settings.warmup else {
            return true;
        };
        let Some(lane) = self.trees.get(&order.tree).map(|tree| tree.lane as usize) else {
            return false;
        };
        if self.phase.stage != Stage::Pressure {
            return true;
        }
        if self.lane_requests[lane] >= share {
            return false;
        }
        self.lane_requests[lane] += 1;
        self.phase.holds_all = self.lane_requests.iter().all(|sent| *sent >= share);
        true
    }

    /// Whether cache pressure sends nothing more: its time is over, every lane has had its share, or nothing is left that
    /// could send.
    pub(super) fn pressure_is_over(&self) -> bool {
        self.phase.has_noticed(PhaseStep::PressureEnd)
            || self.phase.holds_all
            || (self.phase.window_end.is_none() && self.in_flight.is_empty() && self.deferred.is_empty())
    }
}
