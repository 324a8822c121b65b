//! When each request of a recording is due: the recorded instants, sped up, long silences cut.

use crate::recording::Recording;

/// How recorded time becomes replayed time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pace {
    /// Recorded seconds in one replayed second; above 0.
    pub speedup: f64,
    /// Longest silence between two arrivals, in **replayed** seconds: it is applied behind the speed-up.
    pub gap_cap_s: Option<f64>,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            speedup: 1.0,
            gap_cap_s: None,
        }
    }
}

/// Due times of a recording.
#[derive(Clone, Debug, PartialEq)]
pub struct Schedule {
    /// In ns from the start of the replay, in the order of the recording's requests.
    pub due_ns: Vec<u64>,
    /// Silence that was cut, in replayed seconds.
    pub silence_cut_s: f64,
    /// Silences that were cut.
    pub gaps_cut: u64,
}

impl Schedule {
    /// The due times of `recording`; the first is 0.
    pub fn of(recording: &Recording, pace: Pace) -> Self {
        let mut schedule = Self {
            due_ns: Vec::with_capacity(recording.requests.len()),
            silence_cut_s: 0.0,
            gaps_cut: 0,
        };
        let mut cut_us = 0.0;
        let mut before_us = 0;
        for request in &recording.requests {
            let gap_us = (request.at_us - before_us) as f64 / pace.speedup;
            if let Some(cap) = pace.gap_cap_s.map(|cap| cap * 1e6).filter(|cap| gap_us > *cap) {
                cut_us += gap_us - cap;
                schedule.gaps_cut += 1;
            }
            before_us = request.at_us;
            let due_us = (request.at_us as f64 / pace.speedup - cut_us).max(0.0);
            schedule.due_ns.push((due_us * 1e3).round() as u64);
        }
        schedule.silence_cut_s = cut_us / 1e6;
        schedule
    }

    /// Sessions and single requests that a replay of `window_s` seconds never starts, and the latest start among them in
    /// seconds; to be said before it begins.
    pub fn never_started(&self, recording: &Recording, window_s: f64) -> (usize, Option<f64>) {
        let late: Vec<f64> = recording
            .requests
            .iter()
            .zip(&self.due_ns)
            .filter(|(request, _)| request.round == 0)
            .map(|(_, due_ns)| *due_ns as f64 / 1e9)
            .filter(|due_s| *due_s >= window_s)
            .collect();
        (late.len(), late.last().copied())
    }
}
