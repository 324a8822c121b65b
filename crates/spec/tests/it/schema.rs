//! The JSON schema against the fixtures: it accepts what validates and refuses every structural fault it can see.

use serde_json::{Value, json};
use spec::problem::is_ok;
use spec::schema::{schema, schemas};
use spec::{Kind, Problem};

use crate::support::{bindings, sweepers};

/// What the schema cannot say: JSON has no duplicate keys.
const UNSEEN: [&str; 1] = ["132-scenario-duplicate-key"];

/// A document as JSON; `None` where JSON has no form for it.
pub(crate) fn as_json(text: &str) -> Option<Value> {
    // Markers of documents mean nothing once they are indented.
    let is_marker = |line: &str| ["---", "...", "%"].iter().any(|marker| line.starts_with(marker));
    if text
        .trim_start_matches('\u{feff}')
        .split(['\n', '\r'])
        .any(is_marker)
    {
        return None;
    }
    let kept = format!("model: {}", indented(text));
    let (document, _) = spec::read(&kept, Some(Kind::Scenario));
    let Some(spec::Document::Scenario(scenario)) = document else {
        return None;
    };
    let json = scenario.kept("model")?;
    (!text.contains(".inf") && !text.contains(".nan")).then_some(json)
}

/// The text as the value of a key that keeps anything, which is how this test turns YAML into JSON.
fn indented(text: &str) -> String {
    format!("\n{text}").replace('\n', "\n  ")
}

fn refused(problems: &[Problem]) -> bool {
    !is_ok(problems)
}

#[test]
fn the_schema_accepts_what_validates_and_refuses_structural_faults() {
    let mut compared = 0;
    for case in bindings().into_iter().chain(sweepers()) {
        let Some(document) = as_json(&case.text) else {
            continue;
        };
        let (_, problems) = spec::read(&case.text, Some(case.kind));
        let accepted = conforms(&schema(case.kind), &document);
        if !refused(&problems) {
            assert_eq!(accepted, Ok(()), "{}", case.name);
        }
        if case.stage() == "structure" && !UNSEEN.iter().any(|name| case.name.contains(name)) {
            assert!(accepted.is_err(), "{} is accepted", case.name);
        }
        compared += 1;
    }
    assert!(compared > 170, "{compared} documents have a JSON form");
}

#[test]
fn vocabularies_and_bounds_are_in_the_schema() {
    let cases = [
        (
            Kind::Scenario,
            json!({"workload": {"replay": {"workload": "a", "concurrency": 0}}}),
        ),
        (Kind::Scenario, json!({"workload": {"replay": {"workload": "a"}}})),
        (
            Kind::Scenario,
            json!({"workload": {"trace": {"data": "a", "header": {"trace_version": 1, "time_unit": "h", "mode": "real"}}}}),
        ),
        (
            Kind::Catalog,
            json!({"prompt": {"tokens": 0}, "output": {"tokens": 1}}),
        ),
        (Kind::Catalog, json!({"replay": {"concurrency": 4}})),
        (Kind::Sweeper, json!({"workload": {"request_rate": 0}})),
        (Kind::Sweeper, json!({"goal": {"target": "fast"}})),
    ];
    for (kind, document) in cases {
        assert!(conforms(&schema(kind), &document).is_err(), "{document}");
    }
}

#[test]
fn there_is_a_schema_for_each_kind() {
    let all = schemas();
    for kind in Kind::ALL {
        assert_eq!(
            all[kind.as_str()]["$schema"],
            "https://json-schema.org/draft/2020-12/schema"
        );
        known_keywords(&all[kind.as_str()]);
    }
}

/// The keywords that [`conforms`] reads; one it does not would pass unseen.
const KEYWORDS: [&str; 22] = [
    "$schema",
    "title",
    "description",
    "type",
    "enum",
    "const",
    "properties",
    "patternProperties",
    "additionalProperties",
    "required",
    "items",
    "minItems",
    "maxItems",
    "minLength",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "anyOf",
    "if",
    "then",
    "else",
    "minProperties",
];

fn known_keywords(schema: &Value) {
    let Some(object) = schema.as_object() else { return };
    for (keyword, value) in object {
        assert!(KEYWORDS.contains(&keyword.as_str()), "{keyword}");
        match keyword.as_str() {
            "properties" | "patternProperties" => {
                value.as_object().unwrap().values().for_each(known_keywords);
            }
            "anyOf" => value.as_array().unwrap().iter().for_each(known_keywords),
            "items" | "additionalProperties" | "if" | "then" | "else" => known_keywords(value),
            _ => {}
        }
    }
}

/// The part of JSON Schema 2020-12 that our schemas use.
pub(crate) fn conforms(schema: &Value, value: &Value) -> Result<(), String> {
    let fault = |keyword: &str| Err(format!("{keyword} {}: {value}", schema[keyword]));
    if let Some(types) = schema.get("type") {
        let types: Vec<&str> = types
            .as_array()
            .map_or_else(|| vec![types], |list| list.iter().collect())
            .iter()
            .map(|name| name.as_str().unwrap())
            .collect();
        if !types.iter().any(|name| is_type(value, name)) {
            return fault("type");
        }
    }
    if schema
        .get("enum")
        .is_some_and(|words| !words.as_array().unwrap().contains(value))
    {
        return fault("enum");
    }
    if schema.get("const").is_some_and(|word| word != value) {
        return fault("const");
    }
    let number = value.as_f64();
    let compared = |keyword: &str, holds: fn(f64, f64) -> bool| {
        let bound = schema.get(keyword).and_then(Value::as_f64);
        number
            .zip(bound)
            .is_none_or(|(number, bound)| holds(number, bound))
    };
    if !compared("minimum", |a, b| a >= b)
        || !compared("maximum", |a, b| a <= b)
        || !compared("exclusiveMinimum", |a, b| a > b)
    {
        return Err(format!("bounds of {schema}: {value}"));
    }
    if value
        .as_str()
        .zip(schema.get("minLength"))
        .is_some_and(|(text, least)| (text.len() as u64) < least.as_u64().unwrap())
    {
        return fault("minLength");
    }
    if let Some(options) = schema.get("anyOf").and_then(Value::as_array)
        && !options.iter().any(|option| conforms(option, value).is_ok())
    {
        return fault("anyOf");
    }
    if let Some(condition) = schema.get("if") {
        let branch = if conforms(condition, value).is_ok() {
            "then"
        } else {
            "else"
        };
        conforms(&schema[branch], value)?;
    }
    items(schema, value)?;
    properties(schema, value)
}

fn items(schema: &Value, value: &Value) -> Result<(), String> {
    let Some(list) = value.as_array() else {
        return Ok(());
    };
    let count = |keyword: &str| schema.get(keyword).and_then(Value::as_u64);
    if count("minItems").is_some_and(|least| (list.len() as u64) < least)
        || count("maxItems").is_some_and(|most| list.len() as u64 > most)
    {
        return Err(format!("number of items: {value}"));
    }
    schema.get("items").map_or(Ok(()), |each| {
        list.iter().try_for_each(|item| conforms(each, item))
    })
}

fn properties(schema: &Value, value: &Value) -> Result<(), String> {
    let Some(object) = value.as_object() else {
        return Ok(());
    };
    for key in schema
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        if !object.contains_key(key.as_str().unwrap()) {
            return Err(format!("required {key}: {value}"));
        }
    }
    for (key, inner) in object {
        // The one pattern there is.
        let comment =
            schema.get("patternProperties").is_some() && (key == "_comment" || key.starts_with("_comment_"));
        match schema
            .get("properties")
            .and_then(|properties| properties.get(key))
        {
            Some(property) => conforms(property, inner).map_err(|why| format!("{key}: {why}"))?,
            None if comment => {}
            None => match schema.get("additionalProperties") {
                Some(Value::Bool(false)) => return Err(format!("unknown {key}")),
                Some(each) if each.is_object() => {
                    conforms(each, inner).map_err(|why| format!("{key}: {why}"))?;
                }
                _ => {}
            },
        }
    }
    Ok(())
}

fn is_type(value: &Value, name: &str) -> bool {
    match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        "number" => value.is_number(),
        other => panic!("no such type: {other}"),
    }
}
