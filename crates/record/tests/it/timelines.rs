//! Stamps to intervals, and the shapes of `faults.md` that broke other clients.

use record::request::{ContentChunk, Stamps};
use record::timeline::{Gap, Timeline, gaps, timeline};

use crate::samples::{MS, answered};

struct Case {
    name: &'static str,
    stamps: Stamps,
    osl: Option<u64>,
    expected: Timeline,
}

fn check(cases: &[Case]) {
    for case in cases {
        assert_eq!(timeline(&case.stamps, case.osl), case.expected, "{}", case.name);
    }
}

/// Written at 10 ms, first content at 110, last at 210, end at 310.
fn whole() -> Stamps {
    Stamps {
        due_ns: 7 * MS,
        start_ns: 8 * MS,
        connected_ns: Some(9 * MS),
        headers_written_ns: Some(10 * MS),
        body_written_ns: Some(11 * MS),
        first_byte_ns: Some(60 * MS),
        first_content_ns: Some(110 * MS),
        first_output_ns: Some(160 * MS),
        last_content_ns: Some(210 * MS),
        last_byte_ns: Some(300 * MS),
        stream_end_ns: Some(310 * MS),
    }
}

fn whole_timeline() -> Timeline {
    Timeline {
        lateness_ns: MS,
        connect_ns: Some(MS),
        ttfb_ns: Some(50 * MS),
        ttft_ns: Some(100 * MS),
        ttfo_ns: Some(150 * MS),
        e2e_ns: Some(200 * MS),
        tpot_ns: Some(10e6),
        full_response_itl_ns: Some(20e6),
    }
}

#[test]
fn intervals_follow_their_definitions_and_missing_is_never_zero() {
    let no_tpot = Timeline {
        tpot_ns: None,
        full_response_itl_ns: None,
        ..whole_timeline()
    };
    check(&[
        Case {
            name: "all stamps",
            stamps: whole(),
            osl: Some(11),
            expected: whole_timeline(),
        },
        Case {
            name: "one token has no time between tokens",
            stamps: whole(),
            osl: Some(1),
            expected: no_tpot,
        },
        Case {
            name: "no token at all",
            stamps: whole(),
            osl: Some(0),
            expected: no_tpot,
        },
        // faults.md 22: the server never says how many tokens it sent.
        Case {
            name: "no usage",
            stamps: whole(),
            osl: None,
            expected: no_tpot,
        },
        Case {
            name: "an early start is not late, a reused connection takes no time to report",
            stamps: Stamps {
                due_ns: 20 * MS,
                connected_ns: None,
                ..whole()
            },
            osl: Some(11),
            expected: Timeline {
                lateness_ns: 0,
                connect_ns: None,
                ..whole_timeline()
            },
        },
        Case {
            // faults.md 24
            name: "no first token",
            stamps: Stamps {
                first_content_ns: None,
                first_output_ns: None,
                last_content_ns: None,
                ..whole()
            },
            osl: Some(11),
            expected: Timeline {
                lateness_ns: MS,
                connect_ns: Some(MS),
                ttfb_ns: Some(50 * MS),
                ..Timeline::default()
            },
        },
        Case {
            name: "nothing was written",
            stamps: Stamps {
                due_ns: 3,
                start_ns: 5,
                stream_end_ns: Some(9),
                ..Stamps::default()
            },
            osl: None,
            expected: Timeline {
                lateness_ns: 2,
                ..Timeline::default()
            },
        },
        Case {
            name: "stamps that go backwards are no interval",
            stamps: Stamps {
                headers_written_ns: Some(400 * MS),
                ..whole()
            },
            osl: Some(11),
            expected: Timeline {
                ttfb_ns: None,
                ttft_ns: None,
                ttfo_ns: None,
                e2e_ns: None,
                ..whole_timeline()
            },
        },
    ]);
}

#[test]
fn four_tokens_a_chunk_give_an_itl_of_the_chunk_and_a_tpot_of_the_token() {
    // faults.md 21: usage 400 in 100 chunks, 20 ms apart.
    let times: Vec<u64> = (0..100).map(|index| 100 + 20 * index).collect();
    let mut record = answered(0, 0, &times);
    record.usage.completion_tokens = Some(400);
    assert!(gaps(&record.chunks).all(|gap| gap
        == Gap {
            ns: 20 * MS,
            same_read: false
        }));
    assert_eq!(gaps(&record.chunks).count(), 99);
    let tpot_ns = record::timeline::of(&record).tpot_ns.unwrap();
    assert!((tpot_ns - 99.0 * 20e6 / 399.0).abs() < 1e-6, "{tpot_ns}");
}

#[test]
fn gaps_say_which_shared_a_read() {
    // faults.md 23: events in pairs.
    let chunk = |at_ns, same_read| ContentChunk { at_ns, same_read };
    let chunks = [chunk(5, false), chunk(5, true), chunk(17, false)];
    let found: Vec<Gap> = gaps(&chunks).collect();
    assert_eq!(
        found,
        [
            Gap {
                ns: 0,
                same_read: true
            },
            Gap {
                ns: 12,
                same_read: false
            }
        ]
    );
    assert_eq!(gaps(&chunks[..1]).count(), 0);
    assert_eq!(gaps(&[]).count(), 0);
}
