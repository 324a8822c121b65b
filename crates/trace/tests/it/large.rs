//! Size and hostility: bounded buffers, capped reports, no panic on any bytes.

use std::io::{self, Read};
use std::path::Path;

use proptest::prelude::*;
use trace::csv::{FileChecks, Optional, Row, RowWriter, Rows, Step, count_rows};
use trace::{PROBLEMS_MAX, Problems, TimeUnit, TraceError};

fn header() -> Vec<u8> {
    RowWriter::new(Vec::new(), Optional::default())
        .unwrap()
        .finish()
        .unwrap()
}

/// Reads everything; gives rows that were right.
fn read(input: impl Read) -> (u64, Problems, Option<TraceError>) {
    let mut problems = Problems::new(Path::new("t.csv"));
    let mut right = 0;
    let mut rows = match Rows::new(Path::new("t.csv"), input, TimeUnit::Microsecond, &mut problems) {
        Ok(Some(rows)) => rows,
        Ok(None) => return (0, problems, None),
        Err(error) => return (0, problems, Some(error)),
    };
    let mut checks = FileChecks::default();
    while !problems.is_full() {
        match rows.next(&mut problems) {
            Ok(Step::Row { row, number, line }) => {
                right += 1;
                checks.row(&row, number, line, &mut problems);
            }
            Ok(Step::Wrong) => {}
            Ok(Step::End) => break,
            Err(error) => return (right, problems, Some(error)),
        }
    }
    (right, problems, None)
}

#[test]
fn an_open_quote_does_not_swallow_the_file() {
    let endless = header().chain_reader(io::repeat(b'x').take(1 << 30));
    let (_, _, error) = read(endless);
    assert!(
        matches!(error, Some(TraceError::TooLong { line: 2, .. })),
        "{error:?}"
    );
}

trait ChainReader {
    fn chain_reader(self, rest: impl Read) -> impl Read;
}

impl ChainReader for Vec<u8> {
    fn chain_reader(mut self, rest: impl Read) -> impl Read {
        self.push(b'"');
        io::Cursor::new(self).chain(rest)
    }
}

#[test]
fn reports_are_capped() {
    let mut text = header();
    for _ in 0..1000 {
        text.extend_from_slice(b"x\n");
    }
    let (right, problems, error) = read(text.as_slice());
    assert!(error.is_none());
    assert_eq!((right, problems.list().len()), (0, PROBLEMS_MAX));
    assert_eq!(problems.errors(), PROBLEMS_MAX, "reading stopped there");
}

#[test]
fn quoted_line_breaks_and_blank_lines_are_no_rows() {
    let mut text = header();
    text.extend_from_slice(b"0,,,,,0,,0,1,1,1,0,0,0,0,0,,0,0,0,0,0,0,0,error,\"a\nb, \"\"c\"\"\",\r\n\n\n");
    text.extend_from_slice(b"1,,,,,0,,0,f,1,1,0,0,0,0,0,,0,0,0,0,0,0,0,ok,,");
    assert_eq!(count_rows(Path::new("t.csv"), text.as_slice()).unwrap(), 2);
    let (right, problems, _) = read(text.as_slice());
    assert_eq!((right, problems.list()), (2, &[][..]));
}

proptest! {
    #[test]
    fn rows_come_back_as_they_were_written(
        id in any::<u64>(),
        texts in prop::array::uniform4("\\PC{0,12}"),
        quoted in "[a,\"\n\r ]{0,10}",
        counts in prop::array::uniform4(any::<u32>()),
        times in prop::array::uniform4(any::<i64>()),
        ratio in 0.0..=1.0f64,
        streaming in any::<bool>(),
        think in 0..i64::MAX,
    ) {
        let row = Row {
            request_id: id,
            client_id: &texts[0],
            session_id: &texts[1],
            prefix_group: &texts[2],
            model: &texts[3],
            error_message: &quoted,
            prefix_length: counts[0],
            input_tokens: counts[1],
            output_tokens: counts[2],
            server_input_tokens: counts[3],
            arrival_us: times[0],
            send_us: times[1],
            first_chunk_us: times[2],
            last_chunk_us: times[3],
            reason_ratio: ratio,
            streaming,
            think_time_us: think,
            status: "ok",
            ..Row::default()
        };
        let optional = Optional { think_time_us: true, ..Optional::default() };
        let mut writer = RowWriter::new(Vec::new(), optional).unwrap();
        writer.write(&row).unwrap();
        let text = writer.finish().unwrap();
        let mut problems = Problems::new(Path::new("t.csv"));
        let mut rows = Rows::new(Path::new("t.csv"), text.as_slice(), TimeUnit::Microsecond, &mut problems).unwrap().unwrap();
        let step = rows.next(&mut problems).unwrap();
        prop_assert_eq!(step, Step::Row { row, number: 1, line: Some(2) });
        prop_assert_eq!(rows.next(&mut problems).unwrap(), Step::End);
        prop_assert!(problems.list().is_empty());
    }

    #[test]
    fn no_bytes_panic(tail in prop::collection::vec(any::<u8>(), 0..400), whole in any::<bool>()) {
        let mut text = if whole { Vec::new() } else { header() };
        text.extend_from_slice(&tail);
        let _ = read(text.as_slice());
    }
}
