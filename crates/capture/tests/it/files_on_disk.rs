//! Files at any instant: a capture that is killed leaves a valid trace, and the next one finishes it.

use std::collections::BTreeMap;
use std::fs;

use capture::TracePaths;
use serde_json::json;
use trace::verify::{Reference, verify};

use crate::recorded::assert_valid;
use crate::rig::{Rig, cell, chat, lines, rows, simulated};

fn ask(rig: &Rig, n: usize) {
    for index in 0..n {
        let body = json!({"messages": [{"role": "user", "content": format!("question {index}")}], "max_tokens": 3, "ignore_eos": true});
        chat(rig.addr(), "", &body);
    }
}

#[test]
fn a_growing_trace_is_valid_and_its_binding_fits() {
    let server = simulated();
    let mut rig = Rig::new(&server.url());
    let paths = TracePaths::new(&rig.out(), 1);
    for n in 1..4 {
        ask(&rig, 1);
        rig.await_rows(n);
        let verified = verify(&Reference::of_data(&paths.data())).unwrap();
        assert!(verified.problems.is_ok(), "{:?}", verified.problems);
        assert_eq!(verified.rows, n as u64);
        let binding = fs::read_to_string(paths.binding()).unwrap();
        assert!(!binding.contains("sha256"), "{binding}");
        let (_, problems) = spec::read(&binding, None);
        assert!(problems.is_empty(), "{problems:?}");
    }
    rig.stop();
}

/// The kernel keeps whole writes, so a killed capture leaves whole lines; a lost power supply may leave any prefix. Each is taken for
/// what it holds.
#[test]
fn whatever_prefix_is_on_disk_is_finished_by_the_next_capture() {
    let server = simulated();
    let mut rig = Rig::new(&server.url());
    ask(&rig, 3);
    rig.await_rows(3);
    let paths = TracePaths::new(&rig.out(), 1);
    let data = fs::read(paths.data()).unwrap();
    let journal = fs::read(paths.journal()).unwrap();
    rig.stop();
    let first_row = data.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    // Rows end after lines, so a prefix of the rows has at least as long a journal.
    let row_ends: Vec<usize> = (first_row..=data.len())
        .filter(|end| data[end - 1] == b'\n')
        .collect();
    let line_ends: Vec<usize> = (1..=journal.len())
        .filter(|end| journal[end - 1] == b'\n')
        .collect();
    for cut in (0..=data.len()).step_by(7).chain(row_ends.iter().copied()) {
        let n_rows = row_ends
            .iter()
            .filter(|end| **end > first_row && **end <= cut)
            .count();
        let next = Rig::with(&server.url(), |options| {
            let paths = TracePaths::new(&options.out, 1);
            fs::create_dir_all(&options.out).unwrap();
            fs::write(paths.data(), &data[..cut]).unwrap();
            let lines = n_rows.checked_sub(1).map_or(0, |last| line_ends[last]);
            let torn = (lines + 5).min(journal.len());
            fs::write(paths.journal(), &journal[..torn]).unwrap();
        });
        let mut next = next;
        let traces = next.stop();
        assert_eq!(
            (traces.len(), traces[0].rows as usize),
            (2, n_rows),
            "cut at {cut}"
        );
        assert_valid(&traces[0]);
        assert!(!traces[0].paths.journal().exists());
        assert_eq!(lines(&traces[0].paths.weka()).len(), n_rows);
    }
}

#[test]
fn a_full_trace_is_followed_by_another_with_rounds_from_zero() {
    let server = simulated();
    let mut rig = Rig::with(&server.url(), |options| {
        options.rotation.bytes = 1;
        options.session_header = Some("x-session".to_owned());
    });
    let body = json!({"messages": [{"role": "user", "content": "x"}], "max_tokens": 3, "ignore_eos": true});
    for _ in 0..3 {
        chat(rig.addr(), "X-Session: one\r\n", &body);
    }
    let traces = rig.stop();
    let n: Vec<_> = traces.iter().map(|trace| trace.rows).collect();
    assert_eq!(n, [1, 1, 1, 0]);
    for trace in &traces {
        assert_valid(trace);
        for row in rows(&trace.paths.data()) {
            assert_eq!(cell(&row, "round_index"), "0");
        }
    }
}

/// Chunk times by request.
fn chunk_times(paths: &TracePaths) -> BTreeMap<u64, Vec<u64>> {
    let text = fs::read_to_string(paths.chunk_times()).unwrap();
    assert!(text.starts_with("request_id,chunk_index,timestamp_us\n") && text.ends_with('\n'));
    let mut times = BTreeMap::<u64, Vec<u64>>::new();
    for line in text.lines().skip(1) {
        let cells: Vec<u64> = line.split(',').map(|cell| cell.parse().unwrap()).collect();
        let request = times.entry(cells[0]).or_default();
        assert_eq!(cells[1], request.len() as u64);
        request.push(cells[2]);
    }
    times
}

fn assert_chunks_fit(paths: &TracePaths) {
    let times = chunk_times(paths);
    let rows = rows(&paths.data());
    for row in &rows {
        let number = |name: &str| cell(row, name).parse::<u64>().unwrap();
        let stamps = times.get(&number("request_id")).map_or(&[][..], Vec::as_slice);
        assert!(stamps.is_sorted());
        assert_eq!(number("num_chunks"), stamps.len() as u64);
        assert_eq!(
            number("first_chunk_time_us"),
            stamps.first().copied().unwrap_or(0)
        );
        assert_eq!(number("last_chunk_time_us"), stamps.last().copied().unwrap_or(0));
    }
    assert!(times.len() <= rows.len(), "no chunks without a row");
}

#[test]
fn chunk_times_are_written_on_request() {
    let server = simulated();
    let mut rig = Rig::with(&server.url(), |options| options.chunk_times = true);
    for (stream, model) in [(true, "sim"), (false, "sim"), (true, "none")] {
        let body = json!({"model": model, "messages": [{"role": "user", "content": "x"}], "max_tokens": 9, "ignore_eos": true, "stream": stream});
        chat(rig.addr(), "", &body);
    }
    rig.await_rows(3);
    let paths = TracePaths::new(&rig.out(), 1);
    assert_chunks_fit(&paths);
    let counts: Vec<usize> = chunk_times(&paths).values().map(Vec::len).collect();
    assert_eq!(counts.len(), 2, "a refused request has no chunks");
    assert!(
        counts.contains(&1) && counts.iter().max() > Some(&1),
        "{counts:?}"
    );
    let (data, chunks) = (
        fs::read(paths.data()).unwrap(),
        fs::read(paths.chunk_times()).unwrap(),
    );
    rig.stop();

    // Killed between a request's chunk times and its row, and within them: what has no row goes.
    for extra in ["", "7,0,1\n7,1,2\n", "7,0,1\n7,1"] {
        let mut next = Rig::with(&server.url(), |options| {
            let paths = TracePaths::new(&options.out, 1);
            fs::create_dir_all(&options.out).unwrap();
            fs::write(paths.data(), &data).unwrap();
            fs::write(paths.journal(), "").unwrap();
            fs::write(paths.chunk_times(), [&chunks[..], extra.as_bytes()].concat()).unwrap();
        });
        let traces = next.stop();
        assert_eq!(fs::read(traces[0].paths.chunk_times()).unwrap(), chunks);
        assert!(!traces[1].paths.chunk_times().exists(), "it was not asked for");
    }
}
