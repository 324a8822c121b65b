//! When the requests of a recording are due and which waits for which, by the choices of a run.

use super::choices::{Choices, Think};
use crate::args::{ModeName, ThinkTime};
use replay::requests::{Follow, Timetable};
use rng::{Numpy, stream};
use trace::pace::Schedule;
use trace::recording::{Recording, Session};

/// The timetable, and the silences that were cut.
pub(super) fn of(recording: &Recording, choices: &Choices) -> (Timetable, Schedule) {
    let mut schedule = Schedule::of(recording, choices.pace);
    let mut follow = Vec::new();
    if choices.mode == ModeName::Sessions {
        follow = vec![None; recording.requests.len()];
        let mut draw = Numpy::new(stream::child(choices.seed, "think_time"));
        for session in &recording.sessions {
            let waits_s = waits_s(recording, session, choices.think, &mut draw);
            for (pair, think_s) in session.rounds.windows(2).zip(waits_s) {
                let index = pair[1];
                follow[pair[0] as usize] = Some(Follow::new(index, think_s));
            }
        }
    }
    let due_ns = std::mem::take(&mut schedule.due_ns);
    (Timetable { due_ns, follow }, schedule)
}

/// Waits before the rounds of a session from the second on, in seconds.
fn waits_s(recording: &Recording, session: &Session, think: Think, draw: &mut Numpy) -> Vec<f64> {
    match think {
        Think::Recorded => {
            let waits_us = recording.think_times_us(session);
            waits_us.into_iter().map(|us| us as f64 / 1e6).collect()
        }
        Think::Stated { divisor } => {
            let later = session.rounds.iter().skip(1);
            let wait_us = |at: &u32| recording.requests[*at as usize].think_time_us;
            later.map(|at| wait_us(at) as f64 / 1e6 / divisor).collect()
        }
        Think::Drawn(think) => {
            let later = session.rounds.iter().skip(1);
            later.map(|_| drawn_s(think, draw)).collect()
        }
    }
}

fn drawn_s(think: ThinkTime, draw: &mut Numpy) -> f64 {
    match think {
        ThinkTime::Constant(seconds) => seconds,
        ThinkTime::Exponential(mean) => -mean * (1.0 - draw.double()).ln(), // 1 − u is never 0
        ThinkTime::Uniform(low, high) => draw.uniform(low, high),
    }
}
