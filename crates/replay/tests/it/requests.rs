//! Flat lists of requests against a stated service: what is sent when, by hand.

use replay::requests::{Follow, Limits, RequestReplay, Starts, Timetable};
use replay::{Action, Event, Machine, Mark, Outcome, RunEnd, Seconds};

/// What was sent: (position, due, held, at), in order.
type Sent = Vec<(usize, Seconds, Seconds, Seconds)>;

struct Case {
    due_s: Vec<f64>,
    /// (position, next position, think time)
    follow: Vec<(usize, u32, f64)>,
    starts: Starts,
    limits: Limits,
    /// Seconds that each request takes.
    service_s: Vec<f64>,
    failing: Vec<usize>,
    interrupts: Vec<Seconds>,
}

impl Default for Case {
    fn default() -> Self {
        Self {
            due_s: Vec::new(),
            follow: Vec::new(),
            starts: Starts::Due,
            limits: Limits::NONE,
            service_s: Vec::new(),
            failing: Vec::new(),
            interrupts: Vec::new(),
        }
    }
}

struct Came {
    sent: Sent,
    cancelled: usize,
    not_sent: u64,
    ended: (RunEnd, Seconds),
    sending_end: Seconds,
}

fn run(case: Case) -> Came {
    let mut follow = Vec::new();
    if !case.follow.is_empty() {
        follow = vec![None; case.due_s.len()];
        for (position, index, think_s) in case.follow {
            follow[position] = Some(Follow::new(index, think_s));
        }
    }
    let due_ns = case.due_s.iter().map(|s| (s * 1e9) as u64).collect();
    let mut machine = RequestReplay::new(Timetable { due_ns, follow }, case.starts, case.limits);
    let mut in_flight: Vec<(Seconds, u64, usize)> = Vec::new();
    let mut interrupts = case.interrupts.into_iter().peekable();
    let (mut sent, mut cancelled, mut sending_end) = (Sent::new(), 0, f64::NAN);
    let mut now = 0.0;
    let mut event = Event::Start;
    loop {
        for action in machine.handle(now, event) {
            match action {
                Action::Send(ask) => {
                    sent.push((ask.index, ask.due, ask.held, now));
                    in_flight.push((now + case.service_s[ask.index], ask.request, ask.index));
                }
                Action::CancelAll(_) => {
                    cancelled += in_flight.len();
                    for (at, ..) in &mut in_flight {
                        *at = now;
                    }
                }
                Action::Mark(Mark::SendingComplete { at, .. }) => sending_end = at,
                Action::Mark(_) => {}
            }
        }
        if let Some(why) = machine.ended() {
            return Came {
                sent,
                cancelled,
                not_sent: machine.not_sent(),
                ended: (why, now),
                sending_end,
            };
        }
        in_flight.sort_by(|a, b| a.0.total_cmp(&b.0));
        let answer = in_flight.first().map_or(f64::INFINITY, |first| first.0);
        let wake = machine.next_deadline().unwrap_or(f64::INFINITY);
        let stop = interrupts.peek().copied().unwrap_or(f64::INFINITY);
        now = answer.min(wake).min(stop).max(now);
        assert!(now.is_finite(), "a replay that waits for nothing");
        event = if answer <= wake && answer <= stop {
            let (_, request, index) = in_flight.remove(0);
            let outcome = match (cancelled > 0, case.failing.contains(&index)) {
                (true, _) => Outcome::Cancelled,
                (_, true) => Outcome::Failed,
                _ => Outcome::Ok,
            };
            Event::Returned { request, outcome }
        } else if stop <= wake {
            interrupts.next();
            Event::Interrupt
        } else {
            Event::Wake
        };
    }
}

fn at(sent: &Sent) -> Vec<(usize, Seconds)> {
    sent.iter().map(|(index, _, _, at)| (*index, *at)).collect()
}

#[test]
fn open_sends_at_the_instants_however_slow_the_server() {
    let came = run(Case {
        due_s: vec![0.0, 1.0, 1.0, 5.0],
        service_s: vec![100.0; 4],
        ..Case::default()
    });
    assert_eq!(at(&came.sent), [(0, 0.0), (1, 1.0), (2, 1.0), (3, 5.0)]);
    assert_eq!((came.sending_end, came.ended), (5.0, (RunEnd::Complete, 105.0)));
}

#[test]
fn a_cap_keeps_requests_back_and_says_how_long() {
    let came = run(Case {
        due_s: vec![0.0, 1.0, 2.0, 30.0],
        service_s: vec![10.0, 10.0, 1.0, 1.0],
        limits: Limits {
            in_flight_max: 1,
            ..Limits::NONE
        },
        ..Case::default()
    });
    let expected = [
        (0, 0.0, 0.0, 0.0),
        (1, 10.0, 9.0, 10.0),
        (2, 20.0, 18.0, 20.0),
        (3, 30.0, 0.0, 30.0),
    ];
    assert_eq!(came.sent, expected);
}

#[test]
fn closed_keeps_so_many_in_flight_in_order() {
    let came = run(Case {
        due_s: vec![0.0, 500.0, 600.0, 700.0],
        service_s: vec![3.0, 1.0, 4.0, 1.0],
        starts: Starts::Slots(2),
        ..Case::default()
    });
    assert_eq!(at(&came.sent), [(0, 0.0), (1, 0.0), (2, 1.0), (3, 3.0)]);
    assert!(
        came.sent
            .iter()
            .all(|(_, due, held, at)| due.total_cmp(at).is_eq() && held.total_cmp(&0.0).is_eq())
    );
}

fn two_sessions() -> Case {
    // Session A is 0, 2, 3; session B is 1, 4; 5 is a single request.
    Case {
        due_s: vec![0.0, 1.0, 2.0, 3.0, 4.0, 5.0],
        follow: vec![(0, 2, 0.5), (2, 3, 0.0), (1, 4, 2.0)],
        service_s: vec![10.0, 1.0, 1.0, 1.0, 1.0, 1.0],
        ..Case::default()
    }
}

#[test]
fn rounds_follow_the_answer_before_them() {
    let came = run(two_sessions());
    assert_eq!(
        at(&came.sent),
        [(0, 0.0), (1, 1.0), (4, 4.0), (5, 5.0), (2, 10.5), (3, 11.5)]
    );
    assert_eq!((came.sending_end, came.not_sent), (11.5, 0));
}

#[test]
fn a_session_ends_with_a_failed_round() {
    let came = run(Case {
        failing: vec![0],
        ..two_sessions()
    });
    assert_eq!(at(&came.sent), [(0, 0.0), (1, 1.0), (4, 4.0), (5, 5.0)]);
    assert_eq!((came.not_sent, came.sending_end, came.ended.1), (2, 10.0, 10.0));
}

#[test]
fn a_session_keeps_its_slot() {
    let came = run(Case {
        starts: Starts::Slots(1),
        ..two_sessions()
    });
    let expected = [(0, 0.0), (2, 10.5), (3, 11.5), (1, 12.5), (4, 15.5), (5, 16.5)];
    assert_eq!(at(&came.sent), expected);
}

#[test]
fn a_window_ends_sending_and_grace_the_rest() {
    let came = run(Case {
        limits: Limits {
            window_s: 4.5,
            grace_s: 2.0,
            ..Limits::NONE
        },
        ..two_sessions()
    });
    assert_eq!(at(&came.sent), [(0, 0.0), (1, 1.0), (4, 4.0)]);
    assert_eq!((came.sending_end, came.cancelled, came.not_sent), (4.5, 1, 3));
    assert_eq!(came.ended, (RunEnd::Complete, 6.5));
}

#[test]
fn so_many_requests_and_no_more() {
    let came = run(Case {
        limits: Limits {
            request_cap: 2,
            ..Limits::NONE
        },
        ..two_sessions()
    });
    assert_eq!(at(&came.sent), [(0, 0.0), (1, 1.0)]);
    assert_eq!(came.ended, (RunEnd::Complete, 10.0));
}

#[test]
fn the_first_interrupt_drains_and_the_second_cancels() {
    let drained = run(Case {
        interrupts: vec![2.0],
        ..two_sessions()
    });
    assert_eq!((drained.sent.len(), drained.cancelled), (2, 0));
    assert_eq!(drained.ended, (RunEnd::Interrupted, 10.0));
    let cancelled = run(Case {
        interrupts: vec![2.0, 3.0],
        ..two_sessions()
    });
    assert_eq!((cancelled.sent.len(), cancelled.cancelled), (2, 1));
    assert_eq!(cancelled.ended, (RunEnd::Interrupted, 3.0));
}

#[test]
fn an_empty_trace_ends_at_once() {
    let came = run(Case::default());
    assert_eq!((came.sent.len(), came.ended), (0, (RunEnd::Complete, 0.0)));
}
