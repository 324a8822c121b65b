//! Files as a killed run, a full disk or a careless hand leave them.

use std::cell::RefCell;
use std::fs;
use std::io;
use std::path::Path;
use std::rc::Rc;

use proptest::prelude::*;
use record::RecordError;
use record::append::{Appender, Storage};
use record::chunks::{self, ChunkReader, ChunksEnd};
use record::folder::{Entry, Recorder, RunReader};
use record::lines::Lines;
use record::request::RequestRecord;
use record::schema::Row;
use record::summary::Summary;

use crate::samples::{self, answered};

fn records() -> Vec<RequestRecord> {
    (0..4)
        .map(|index| answered(index, 10 * index, &[10 * index + 5, 10 * index + 9, 300]))
        .collect()
}

fn run_of(records: &[RequestRecord]) -> testkit::TempDir {
    let folder = testkit::tempdir().unwrap();
    let mut recorder = Recorder::create(folder.path(), &samples::header()).unwrap();
    for record in records {
        recorder.append(record).unwrap();
    }
    folder
}

fn read(folder: &Path) -> (Vec<Entry>, record::folder::Losses) {
    let mut reader = RunReader::open(folder).unwrap();
    let entries = reader.by_ref().map(Result::unwrap).collect();
    (entries, reader.losses().clone())
}

#[test]
fn rows_cut_at_every_byte_give_the_rows_before() {
    let records = records().split_off(2);
    let folder = run_of(&records);
    let path = folder.path().join("requests.jsonl");
    let whole = fs::read(&path).unwrap();
    for length in 0..=whole.len() {
        fs::write(&path, &whole[..length]).unwrap();
        let kept = whole[..length].split(|byte| *byte == b'\n').count() - 1;
        // Only the newline is missing: the row is whole.
        let kept = kept + usize::from(whole.get(length) == Some(&b'\n'));
        let (entries, losses) = read(folder.path());
        let found: Vec<&RequestRecord> = entries.iter().map(|entry| &entry.record).collect();
        assert_eq!(
            found,
            records[..kept].iter().collect::<Vec<_>>(),
            "cut at {length}"
        );
        let at_line_end = length == 0 || whole[length - 1] == b'\n' || whole.get(length) == Some(&b'\n');
        assert_eq!(losses.torn_row, !at_line_end, "cut at {length}");
        assert_eq!(
            (losses.damaged_rows, losses.rows_without_chunks),
            (0, 0),
            "cut at {length}"
        );
    }
}

#[test]
fn chunks_cut_at_every_byte_give_the_frames_before() {
    let records = records();
    let folder = run_of(&records);
    let path = folder.path().join("chunks.bin");
    let whole = fs::read(&path).unwrap();
    let mut ends = vec![chunks::MAGIC.len()];
    for record in &records {
        let mut frame = Vec::new();
        chunks::encode(record, &mut frame).unwrap();
        ends.push(ends[ends.len() - 1] + frame.len());
    }
    for length in 0..=whole.len() {
        fs::write(&path, &whole[..length]).unwrap();
        let kept = ends[1..].iter().filter(|end| **end <= length).count();
        let (entries, losses) = read(folder.path());
        assert_eq!(
            entries.len(),
            records.len(),
            "every row is there, cut at {length}"
        );
        for (index, (entry, record)) in entries.iter().zip(&records).enumerate() {
            assert_eq!(
                entry.chunks_known,
                index < kept,
                "request {index}, cut at {length}"
            );
            assert_eq!(entry.record.stamps, record.stamps);
            assert_eq!(
                entry.record.chunks.as_slice(),
                if index < kept { &record.chunks[..] } else { &[] }
            );
        }
        let torn = (!ends.contains(&length)).then(|| "torn".to_owned());
        assert_eq!(losses.chunks_end, torn, "cut at {length}");
        assert_eq!(losses.rows_without_chunks, (records.len() - kept) as u64);
    }
}

#[test]
fn a_killed_run_is_summarised_whatever_the_byte() {
    let folder = run_of(&records());
    for name in ["requests.jsonl", "chunks.bin", "marks.jsonl"] {
        let path = folder.path().join(name);
        let whole = fs::read(&path).unwrap();
        for length in (0..whole.len()).step_by(23) {
            fs::write(&path, &whole[..length]).unwrap();
            let summary = Summary::of_folder(folder.path()).unwrap();
            assert_eq!(summary.end.stop, None);
            assert!(summary.warnings.iter().any(|warning| warning.code == "killed"));
        }
        fs::write(&path, whole).unwrap();
    }
    fs::remove_file(folder.path().join("run.json")).unwrap();
    fs::remove_file(folder.path().join("chunks.bin")).unwrap();
    let summary = Summary::of_folder(folder.path()).unwrap();
    assert!(summary.losses.no_header);
    assert_eq!(summary.losses.rows_without_chunks, 4);
    assert_eq!(summary.profiling.counts.ok, 4);
    assert_eq!(summary.profiling.ttft_ms.n, 4);
}

#[test]
fn a_damaged_row_is_named_and_the_others_are_read() {
    let folder = run_of(&records());
    let path = folder.path().join("requests.jsonl");
    let text = fs::read_to_string(&path).unwrap();
    let bad = text.replacen("\"outcome\":\"ok\"", "\"outcome\":\"fine\"", 1);
    fs::write(&path, bad).unwrap();
    let found: Vec<_> = RunReader::open(folder.path()).unwrap().collect();
    let message = found[0].as_ref().unwrap_err().to_string();
    assert!(message.contains("requests.jsonl:1: "), "{message}");
    assert!(
        message.contains("\"fine\", expected outcome: one of ok, failed, overflow, cancelled"),
        "{message}"
    );
    assert!(
        found[1..]
            .iter()
            .all(|entry| entry.as_ref().unwrap().chunks_known)
    );
    let summary = Summary::of_folder(folder.path()).unwrap();
    assert_eq!(
        (summary.losses.damaged_rows, summary.profiling.counts.unrecorded),
        (1, 1)
    );

    fs::write(&path, text.replacen("{\"v\":1", "{\"v\":2", 1)).unwrap();
    let error = Summary::of_folder(folder.path()).unwrap_err();
    assert!(
        matches!(
            error,
            RecordError::Version {
                line: 1,
                found: 2,
                supported: 1,
                ..
            }
        ),
        "{error}"
    );
}

#[test]
fn frames_without_a_row_and_rows_without_a_frame_do_not_shift_the_others() {
    let records = records();
    let mut bytes = chunks::MAGIC.to_vec();
    for index in [9, 1, 8, 3] {
        let mut record = records[index % 4].clone();
        record.sequence = index as u64;
        chunks::encode(&record, &mut bytes).unwrap();
    }
    let folder = run_of(&records);
    fs::write(folder.path().join("chunks.bin"), bytes).unwrap();
    let (entries, losses) = read(folder.path());
    let known: Vec<bool> = entries.iter().map(|entry| entry.chunks_known).collect();
    assert_eq!(known, [false, true, false, true]);
    assert_eq!(losses.rows_without_chunks, 2);
}

#[test]
fn stamps_that_cannot_be_written_are_refused_and_the_row_is_kept() {
    let folder = testkit::tempdir().unwrap();
    let mut recorder = Recorder::create(folder.path(), &samples::header()).unwrap();
    let mut record = answered(0, 0, &[5, 9]);
    record.chunks.reverse();
    let error = recorder.append(&record).unwrap_err();
    assert!(
        matches!(error, RecordError::ChunkOrder { chunk: 1, .. }),
        "{error}"
    );
    recorder.append(&answered(1, 0, &[5, 9])).unwrap();
    let (entries, _) = read(folder.path());
    assert_eq!(
        entries.iter().map(|entry| entry.chunks_known).collect::<Vec<_>>(),
        [false, true]
    );
}

/// A disk that holds `room` bytes over all its files.
#[derive(Clone)]
struct SmallDisk {
    room: Rc<RefCell<usize>>,
    bytes: Rc<RefCell<Vec<u8>>>,
}

impl Storage for SmallDisk {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let fits = bytes.len().min(*self.room.borrow());
        self.bytes.borrow_mut().extend_from_slice(&bytes[..fits]);
        *self.room.borrow_mut() -= fits;
        if fits < bytes.len() {
            Err(io::ErrorKind::StorageFull.into())
        } else {
            Ok(())
        }
    }

    fn cut(&mut self, length: u64) -> io::Result<()> {
        let mut bytes = self.bytes.borrow_mut();
        *self.room.borrow_mut() += bytes.len() - length as usize;
        bytes.truncate(length as usize);
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_full_disk_is_an_error_and_leaves_whole_records_at_every_size() {
    let records = records();
    for room in (8..3600).step_by(31) {
        let room = Rc::new(RefCell::new(room));
        let files = ["requests.jsonl", "chunks.bin", "marks.jsonl"];
        let disks = files.map(|_| SmallDisk {
            room: room.clone(),
            bytes: Rc::default(),
        });
        let [rows, frames, marks] =
            [0, 1, 2].map(|index| Appender::new(Path::new(files[index]), disks[index].clone()));
        let mut recorder = Recorder::new(rows, frames, marks).unwrap();
        let results: Vec<_> = records.iter().map(|record| recorder.append(record)).collect();
        *room.borrow_mut() = 10_000;
        recorder.append(&answered(7, 0, &[1, 2])).unwrap();

        let folder = testkit::tempdir().unwrap();
        for (name, disk) in files.iter().zip(&disks) {
            fs::write(folder.path().join(name), &*disk.bytes.borrow()).unwrap();
        }
        let (entries, losses) = read(folder.path());
        assert_eq!(entries.len() as u64, recorder.recorded());
        let written = results.iter().filter(|result| result.is_ok()).count();
        let whole = entries.iter().filter(|entry| entry.chunks_known).count();
        assert_eq!(whole, written + 1, "and the one after there was room again");
        assert_eq!((losses.torn_row, losses.chunks_end), (false, None));
    }
}

#[test]
fn a_line_without_end_is_an_error_that_names_the_limit() {
    let endless = vec![b' '; record::lines::LINE_BYTES_MAX + 2];
    let mut lines = Lines::<_, Row>::new(Path::new("r"), endless.as_slice(), 1);
    let error = lines.next().unwrap().unwrap_err().to_string();
    assert_eq!(error, "r:1: line is longer than 1048576 bytes");
    assert!(lines.next().is_none());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn any_bytes_are_read_without_a_panic(
        bytes in proptest::collection::vec(any::<u8>(), 0..400),
        magic in any::<bool>(),
    ) {
        let path = Path::new("x");
        Lines::<_, Row>::new(path, bytes.as_slice(), 1).for_each(drop);
        let input = if magic { [&chunks::MAGIC[..], &bytes].concat() } else { bytes };
        if let Ok(mut reader) = ChunkReader::new(path, input.as_slice()) {
            while reader.next_frame().unwrap().is_some() {}
            prop_assert!(reader.end().is_some());
        }
    }

    #[test]
    fn a_changed_byte_never_gives_a_wrong_stamp_for_a_row(at in 8usize..100, to in any::<u8>()) {
        let records = records();
        let folder = run_of(&records);
        let path = folder.path().join("chunks.bin");
        let mut bytes = fs::read(&path).unwrap();
        let at = at.min(bytes.len() - 1);
        bytes[at] = to;
        fs::write(&path, bytes).unwrap();
        let (entries, _) = read(folder.path());
        for (entry, record) in entries.iter().zip(&records) {
            if entry.chunks_known {
                prop_assert_eq!(entry.record.chunks.len(), record.chunks.len());
                prop_assert_eq!(entry.record.chunks.first().unwrap().at_ns, record.chunks[0].at_ns);
                prop_assert_eq!(entry.record.chunks.last().unwrap().at_ns, record.chunks[2].at_ns);
            }
        }
    }
}

#[test]
fn a_file_that_is_no_chunk_file_is_named() {
    let error = ChunkReader::new(Path::new("c"), &b"{\"v\":1}\n"[..])
        .unwrap_err()
        .to_string();
    assert_eq!(error, "c: not a chunk file of version 1");
    let mut reader = ChunkReader::new(Path::new("c"), &b"tmchunk\x01\x02\x07\x00"[..]).unwrap();
    assert_eq!(reader.next_frame().unwrap(), None);
    assert_eq!(reader.end(), Some(ChunksEnd::Damaged(8)));
}
