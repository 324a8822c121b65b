//! JSON Schema (2020-12) of the documents, for editors: written from the same tables that the structure stage reads.
//!
//! A schema accepts every document that validates, and refuses unknown keys, wrong types and what bounds and vocabularies can
//! say. It cannot say the rest: digests, relations between keys, `.inf` (JSON has none), duplicate keys.

use serde_json::{Map, Value, json};

use crate::document::Kind;
use crate::grammar::{Bound, Field, Form, Table, binding, catalog, replay as replay_table, sweeper};
use crate::replay::CHOICES;

/// The schema of one kind of document.
pub fn schema(kind: Kind) -> Value {
    let mut schema = match kind {
        Kind::Scenario => object(&binding::SCENARIO, Strictness::Whole),
        Kind::Sweeper => object(&sweeper::DOCUMENT, Strictness::Whole),
        Kind::Catalog => json!({
            "type": "object",
            "if": {"required": ["replay"]},
            "then": object(&catalog::REPLAY_ENTRY, Strictness::Entry),
            "else": object(&catalog::SHAPE, Strictness::Whole),
        }),
    };
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema".into();
    schema["title"] = format!("turnmill {} document", kind.as_str()).into();
    schema
}

/// The schemas of all kinds, by the word that `--as` takes.
pub fn schemas() -> Value {
    Kind::ALL
        .into_iter()
        .map(|kind| (kind.as_str().to_owned(), schema(kind)))
        .collect::<Map<_, _>>()
        .into()
}

/// How much of the rules applies.
#[derive(Clone, Copy, PartialEq)]
enum Strictness {
    /// Types, bounds and required keys.
    Whole,
    /// As [`Strictness::Whole`], in a catalog replay entry.
    Entry,
    /// Types only: values that are checked after a merge.
    TypesOnly,
}

fn object(table: &'static Table, strictness: Strictness) -> Value {
    let properties: Map<String, Value> = table
        .fields
        .iter()
        .map(|field| (field.key.to_owned(), property(field, strictness)))
        .collect();
    let mut schema = json!({
        "type": "object",
        "description": table.about,
        "properties": properties,
        "additionalProperties": false,
    });
    let required: Vec<&str> = table
        .fields
        .iter()
        .filter(|field| field.required)
        .map(|field| field.key)
        .collect();
    if !required.is_empty() && strictness != Strictness::TypesOnly {
        schema["required"] = required.into();
    }
    if table.comments {
        schema["patternProperties"] = json!({"^_comment(_|$)": {}});
    }
    schema
}

fn property(field: &Field, strictness: Strictness) -> Value {
    let mut schema = match &field.form {
        Form::Mapping(table) if std::ptr::eq(*table, &raw const replay_table::REPLAY) => replay(strictness),
        form => value(form, strictness),
    };
    if schema.get("description").is_none() {
        schema["description"] = field.about.into();
    }
    schema
}

/// An inline replay, a reference, or a catalog entry's definition: one table, three key sets.
fn replay(strictness: Strictness) -> Value {
    let table = &replay_table::REPLAY;
    let narrowed = |strictness: Strictness, keeps: &dyn Fn(&str) -> bool, required: &[&str]| {
        let mut schema = object(table, strictness);
        for field in table.fields.iter().filter(|field| !keeps(field.key)) {
            schema["properties"][field.key] = json!({"type": "null"});
        }
        schema["required"] = required.into();
        nullable(schema)
    };
    if strictness == Strictness::Entry {
        let keeps = |key: &str| key != "workload" && key != "concurrency";
        return narrowed(
            Strictness::Whole,
            &keeps,
            &["scenario", "harness_version", "corpus"],
        );
    }
    let reference = |key: &str| key == "workload" || CHOICES.contains(&key);
    let mut reference = narrowed(Strictness::TypesOnly, &reference, &["workload", "concurrency"]);
    reference["properties"]["concurrency"]["minimum"] = 1.into();
    let mut inline = narrowed(
        Strictness::Whole,
        &|_| true,
        &["scenario", "harness_version", "corpus", "concurrency"],
    );
    inline["properties"]["workload"] = json!({"enum": ["", null]});
    json!({
        "if": {"required": ["workload"], "properties": {"workload": {"type": "string", "minLength": 1}}},
        "then": reference,
        "else": inline,
    })
}

fn value(form: &Form, strictness: Strictness) -> Value {
    let whole = strictness != Strictness::TypesOnly;
    match form {
        Form::Any => json!({}),
        Form::Word(words) | Form::Switch(words) if whole => {
            let words: Vec<Value> = words
                .iter()
                .map(|word| (*word).into())
                .chain([Value::Null])
                .collect();
            json!({"enum": words})
        }
        Form::Text | Form::Word(_) => json!({"type": ["string", "null"]}),
        Form::Switch(_) => json!({"type": ["string", "boolean", "null"]}),
        Form::Integer(least) => {
            let mut schema = json!({"type": ["integer", "null"]});
            if let Some(least) = least.filter(|_| whole) {
                schema["minimum"] = least.into();
            }
            schema
        }
        Form::Number(bound) => number(if whole { *bound } else { Bound::Free }),
        Form::Boolean => json!({"type": ["boolean", "null"]}),
        Form::IntegerOr(word) => {
            json!({"anyOf": [value(&Form::Integer(Some(1)), strictness), {"const": word}]})
        }
        Form::NumberOrRange => {
            let range = json!({"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 2});
            json!({"anyOf": [number(Bound::AtLeast(0.0)), range]})
        }
        Form::Numbers => json!({"type": ["array", "null"], "items": {"type": "number"}}),
        Form::Texts => json!({"type": ["array", "null"], "items": {"type": "string"}}),
        Form::Mapping(table) => nullable(object(table, strictness)),
        Form::Named(table) => {
            let class = nullable(object(table, strictness));
            json!({"type": ["object", "null"], "additionalProperties": class})
        }
        Form::Inline(table) => {
            let mut schema = nullable(object(table, strictness));
            schema["additionalProperties"] = true.into();
            schema
        }
    }
}

fn nullable(mut schema: Value) -> Value {
    schema["type"] = json!(["object", "null"]);
    schema
}

fn number(bound: Bound) -> Value {
    let mut schema = json!({"type": ["number", "null"]});
    match bound {
        Bound::Free => {}
        Bound::AtLeast(least) => schema["minimum"] = least.into(),
        Bound::Above(limit) => schema["exclusiveMinimum"] = limit.into(),
        Bound::Within(least, most) => {
            schema["minimum"] = least.into();
            schema["maximum"] = most.into();
        }
    }
    schema
}
