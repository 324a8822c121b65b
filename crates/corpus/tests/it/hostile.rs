//! Whatever the bytes, the reader answers with rows or with a problem; it never panics.

use corpus::dump::{DumpOptions, digests};
use corpus::formats::weka;
use corpus::reconstruct::{self, reconstruct};
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::Value;

/// Parses, reconstructs and dumps; gives whether it got to the end.
fn drive(bytes: &[u8]) -> bool {
    let Ok(row) = weka::parse(bytes) else { return false };
    let options = [None, Some(5.0)].map(|cap| reconstruct::Options {
        trace_idle_gap_cap_s: cap,
        ..Default::default()
    });
    options.iter().all(|options| {
        let Ok(done) = reconstruct(&row, options) else {
            return false;
        };
        let mut out = Vec::new();
        digests(&[done.trace], &DumpOptions::default(), &mut out).unwrap();
        !out.is_empty()
    })
}

/// Rows of the hand-written traces, as text.
fn rows() -> Vec<String> {
    let file: Value = testkit::json(std::path::Path::new("tests/data/minitraces.json"));
    let cases = file["cases"].as_array().unwrap().iter();
    cases
        .flat_map(|case| case["traces"].as_array().unwrap())
        .map(ToString::to_string)
        .collect()
}

#[test]
fn rows_are_driven_to_the_end() {
    let done = rows().iter().filter(|row| drive(row.as_bytes())).count();
    assert_eq!(
        (rows().len(), done),
        (30, 28),
        "all but the two that are wrong on purpose"
    );
}

/// Replaces the number at `place` among all numbers of a value.
fn replace_number(value: &mut Value, place: &mut usize, with: &Value) {
    match value {
        Value::Number(_) if *place == 0 => {
            *value = with.clone();
            *place = usize::MAX;
        }
        Value::Number(_) => *place = place.saturating_sub(1),
        Value::Array(items) => items
            .iter_mut()
            .for_each(|item| replace_number(item, place, with)),
        Value::Object(fields) => fields
            .values_mut()
            .for_each(|field| replace_number(field, place, with)),
        _ => {}
    }
}

fn numbers() -> impl Strategy<Value = Value> {
    prop_oneof![
        (-3_i64..2000).prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        Just(Value::Null),
        Just(Value::from("nan")),
        Just(Value::from(u64::MAX)),
        Just(Value::from(1e308)),
    ]
}

proptest! {
    #[test]
    fn any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        drive(&bytes);
    }

    #[test]
    fn any_text_of_json_signs(text in r#"[\[\]{}:,"a-e0-9\\ .-]{0,200}"#) {
        drive(text.as_bytes());
    }

    #[test]
    fn bytes_of_a_row_changed(row in any::<Index>(), edits in prop::collection::vec((any::<Index>(), any::<u8>()), 1..4)) {
        let rows = rows();
        let mut bytes = row.get(&rows).clone().into_bytes();
        for (at, byte) in edits {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        drive(&bytes);
    }

    #[test]
    fn a_row_cut_short(row in any::<Index>(), at in any::<Index>()) {
        let rows = rows();
        let bytes = row.get(&rows).as_bytes();
        prop_assert!(!drive(&bytes[..at.index(bytes.len())]));
    }

    #[test]
    fn numbers_of_a_row_changed(row in any::<Index>(), edits in prop::collection::vec((0_usize..200, numbers()), 1..6)) {
        let rows = rows();
        let mut value: Value = serde_json::from_str(row.get(&rows).as_str()).unwrap();
        for (mut place, with) in edits {
            replace_number(&mut value, &mut place, &with);
        }
        drive(value.to_string().as_bytes());
    }
}
