//! `docs/reference/records.md` names every key that stands in a run's files.

use std::collections::BTreeSet;

use record::header::{Digests, RunHeader, Selection, Slo, TraceFacts};
use record::marks::MarkLine;
use record::request::{CancelCause, FailureKind, Phase};
use record::schema::{self, Row};
use record::server_metrics::statistics::{ScrapedPage, ServerMetrics};
use record::server_metrics::{Kind, Why};
use record::summary::Tally;
use record::words::Word;
use serde_json::Value;

use crate::samples::{answered, header};
use crate::summary::{marks, records};

fn document() -> String {
    std::fs::read_to_string(testkit::checkout().join("docs/reference/records.md")).unwrap()
}

/// A row with a value under every key.
fn full_row() -> Row {
    let mut record = answered(0, 5, &[10, 20]);
    record.parent_session_id = Some("p".into());
    record.slo_class = Some("batch".into());
    record.held_ns = 1;
    record.stamps.connected_ns = Some(record.stamps.start_ns);
    record.usage.reasoning_tokens = Some(0);
    record.failure_kind = Some(FailureKind::Truncated);
    record.cancel_cause = Some(CancelCause::Grace);
    record.error = Some("e".into());
    Row::from_record(&record)
}

#[test]
fn columns_are_the_keys_of_a_row_in_their_order() {
    let text = serde_json::to_string(&full_row()).unwrap();
    let mut from = 0;
    for column in schema::COLUMNS {
        let key = format!("\"{}\":", column.name);
        let at = text[from..]
            .find(&key)
            .unwrap_or_else(|| panic!("{key} is absent or out of order in {text}"));
        from += at + key.len();
    }
    let value: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(value.as_object().unwrap().len(), schema::COLUMNS.len());
}

#[test]
fn the_document_holds_the_table_of_columns() {
    let table = schema::columns_markdown();
    assert!(
        document().contains(&table),
        "docs/reference/records.md must hold this table:\n\n{table}"
    );
}

#[test]
fn the_document_names_every_key_and_word() {
    let document = document();
    let mut keys = BTreeSet::new();
    let run = RunHeader {
        selection: Some(Selection::default()),
        trace: Some(TraceFacts::default()),
        digests: Digests {
            scenario: Some(String::new()),
            corpus: Some(String::new()),
            tokenizer: Some(String::new()),
            pool: Some(String::new()),
            plan: Some(String::new()),
        },
        slo: [(
            CLASS.to_owned(),
            Slo {
                ttft_ms: 1.0,
                itl_ms: 1.0,
                e2e_ms: 1.0,
            },
        )]
        .into(),
        ..header()
    };
    let run = RunHeader {
        scenario: serde_json::json!({"engine_version": "0.32.0"}),
        ..run
    };
    let metrics = ServerMetrics {
        endpoints: vec![ScrapedPage::default()],
        ..ServerMetrics::default()
    };
    let mut tally = Tally::new(Some(run), &[]).beside(Some(metrics));
    for mut record in records() {
        record.slo_class = Some(CLASS.into());
        record.held_ns = 1;
        tally.push(&record::folder::Entry {
            record,
            chunks_known: true,
        });
    }
    let summary = serde_json::to_value(tally.finish(record::folder::Losses {
        first_damage: Some("d".into()),
        chunks_end: Some("torn".into()),
        ..record::folder::Losses::default()
    }));
    collect(&summary.unwrap(), &mut keys);
    for mark in marks() {
        collect(
            &serde_json::to_value(MarkLine::from_mark(&mark)).unwrap(),
            &mut keys,
        );
    }
    words::<Phase>(&mut keys);
    words::<Kind>(&mut keys);
    words::<Why>(&mut keys);
    words::<record::request::Outcome>(&mut keys);
    words::<FailureKind>(&mut keys);
    words::<CancelCause>(&mut keys);
    words::<record::marks::Stop>(&mut keys);
    words::<record::validity::ReasonName>(&mut keys);
    let absent: Vec<&String> = keys
        .iter()
        .filter(|key| !document.contains(&format!("`{key}`")))
        .collect();
    assert_eq!(
        absent,
        Vec::<&String>::new(),
        "docs/reference/records.md names none of these"
    );
}

/// A class of latency targets; what it is called is not schema.
const CLASS: &str = "class";

fn collect(value: &Value, keys: &mut BTreeSet<String>) {
    match value {
        Value::Object(object) => {
            for (key, value) in object {
                if key != CLASS {
                    keys.insert(key.clone());
                }
                // What stands in a scenario or is limited is not schema either.
                if key != "limits" && !(key == "scenario" && value.is_object()) {
                    collect(value, keys);
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, keys)),
        _ => {}
    }
}

fn words<T: Word>(keys: &mut BTreeSet<String>) {
    keys.extend(T::TABLE.iter().map(|(_, word)| (*word).to_owned()));
}
