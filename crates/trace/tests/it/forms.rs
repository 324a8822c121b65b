//! What is written is what can be read: bundles, and the sidecar in both storages.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use tempfile::TempDir;
use trace::Severity;
use trace::blocks::{BlockStore, Ids};
use trace::bundle::{Bundle, BundleFiles};
use trace::csv::{Optional, Row};
use trace::header::{Header, Mode, Server, Slo};
use trace::verify::verify;

use crate::support::{places, reference};

fn header() -> Header {
    Header {
        created_at: Some("2026-01-01T00:00:00Z".to_owned()),
        warm_up_requests: 3,
        workload_seed: Some(0),
        workload_spec: Some("scenarios/a: \"b\".yaml".to_owned()),
        server: Server {
            engine: Some("vllm".to_owned()),
            model: Some("on".to_owned()),
            block_size: Some(16),
            gpu_memory_utilization: Some(0.92),
            max_model_len: None,
        },
        goodput_slo_targets: vec![(
            "critical: yes".to_owned(),
            Slo {
                ttft_ms: 500.0,
                itl_ms: 0.5,
                e2e_ms: 0.0,
            },
        )],
        ..Header::new(Mode::Real)
    }
}

fn write(folder: &TempDir) -> BundleFiles {
    let files = BundleFiles::of_stem(folder.path(), "t");
    let optional = Optional {
        x_request_id: true,
        ..Optional::default()
    };
    let mut bundle = Bundle::create(files.clone(), optional, Some((64, Ids::Chained))).unwrap();
    for id in [4, 3] {
        let row = Row {
            request_id: id,
            input_tokens: 100,
            status: "ok",
            x_request_id: "u",
            ..Row::default()
        };
        bundle.row(&row).unwrap();
    }
    bundle.blocks(3, 100, &[0, 1]).unwrap();
    bundle.blocks(4, 100, &[0, 2]).unwrap();
    assert!(bundle.blocks(4, 100, &[0, 2]).is_err(), "ids ascend");
    let stored = bundle.finish(&header()).unwrap();
    assert_eq!(stored.rows, 2);
    files
}

#[test]
fn a_bundle_is_ready_to_run() {
    let folder = TempDir::new().unwrap();
    let files = write(&folder);
    let reference = reference(&files.path(&files.binding));
    let verified = verify(&reference).unwrap();
    assert_eq!(verified.problems.list(), []);
    assert_eq!(verified.rows, 2);
    assert_eq!(verified.blocks.unwrap().data_sha256, Some(verified.sha256));
    let names = std::fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(names, 4, "nothing partial is left");
    let header = std::fs::read_to_string(files.path(&files.header)).unwrap();
    for line in [
        "warm_up_requests: 3",
        "workload_seed: 0",
        "  model: \"on\"",
        "mode: \"real\"",
    ] {
        assert!(header.lines().any(|found| found == line), "{line} in {header}");
    }
}

#[test]
fn a_packed_sidecar_is_read_and_digested_as_stored() {
    let folder = TempDir::new().unwrap();
    let files = write(&folder);
    let plain = std::fs::read(files.path(&files.blocks)).unwrap();
    let packed = folder.path().join("t.blocks.jsonl.gz");
    let mut encoder = GzEncoder::new(std::fs::File::create(&packed).unwrap(), Compression::fast());
    encoder.write_all(&plain).unwrap();
    encoder.finish().unwrap();
    let mut hashed = trace::Hashing::new(std::fs::File::open(&packed).unwrap());
    std::io::copy(&mut hashed, &mut std::io::sink()).unwrap();
    let (_, digest, _) = hashed.finish();
    let mut reference = reference(&files.path(&files.binding));
    reference.token_blocks = Some((packed.clone(), digest));
    assert_eq!(
        places(&verify(&reference).unwrap().problems, Severity::Error),
        [""; 0]
    );
    let store = BlockStore::open(&packed).unwrap();
    assert_eq!(store.ids(4).unwrap(), Some(vec![0, 2]));
}

#[test]
fn a_changed_data_file_is_refused_before_it_is_parsed() {
    let folder = TempDir::new().unwrap();
    let files = write(&folder);
    let reference = reference(&files.path(&files.binding));
    std::fs::write(&reference.data, "nonsense\n1,2\n").unwrap();
    let verified = verify(&reference).unwrap();
    assert_eq!(
        places(&verified.problems, Severity::Error),
        ["workload.trace.sha256", "workload.trace.rows"],
        "one stage's problems together, and no later stage"
    );
}
