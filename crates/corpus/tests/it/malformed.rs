//! Rows that are wrong, each with the one message that it must give, and spellings that are right.

use crate::rows::{ROW, check, load, row};

#[test]
fn rows_that_are_not_json() {
    let second = |text: &str| format!("{ROW}\n{text}\n");
    check(second("not json"), ":2:2: not JSON: expected ident");
    check(
        second(&ROW[..100]),
        ":2:100: not JSON: EOF while parsing a string",
    );
    check(
        second(&format!("{ROW}}}")),
        &format!(":2:{}: not JSON: trailing characters", ROW.len() + 1),
    );
    check(
        format!("{ROW}\n\n{ROW}\n"),
        ":2: an empty line between rows; one JSON object a line is right",
    );
    check(
        format!("{ROW}\n[1]"),
        ":2: row: invalid type: sequence, expected an object, a Weka trace",
    );
    check(
        "{\n  \"id\": \"a\",\n  \"models\": [\"A\"\n",
        ":3:16: not JSON: EOF while parsing a list",
    );
    check(
        "",
        ": none of 0 traces is left: at least one row and an entry cap of at least 1 are needed",
    );
    check(b"\xff\xfe", ":1:1: not JSON: expected value");
}

#[test]
fn keys_of_a_row() {
    let cases = [
        (r#""id":"a","#, "", ":1: id: is missing; the trace's id is needed"),
        (
            r#""id":"a","#,
            r#""id":7,"#,
            ":1: id: invalid type: integer `7`, expected a string",
        ),
        (
            r#""models":["A"],"#,
            "",
            ":1: models: is missing; a list of model names is needed",
        ),
        (
            r#""models":["A"],"#,
            r#""models":["A",null],"#,
            ":1: models[1]: invalid type: null, expected a string",
        ),
        (
            "64",
            "0",
            ":1: block_size: 0 is no block size; a number above 0 is right",
        ),
        (
            "local",
            "global",
            ":1: hash_id_scope: `global` is not replayed; only `local` hash ids are",
        ),
        (
            "null",
            "[]",
            ":1: totals: invalid type: sequence, expected an object or null",
        ),
        (
            r#""totals":null"#,
            r#""total":null"#,
            ":1: total: unknown field `total`, expected one of `id`, `models`, `block_size`, `hash_id_scope`, \
             `tool_tokens`, `system_tokens`, `requests`, `totals`",
        ),
        (
            r#""id":"a","#,
            r#""id":"a","id":"b","#,
            ":1: id: duplicate field `id`",
        ),
    ];
    for (from, to, expected) in cases {
        check(row(from, to), expected);
    }
}

#[test]
fn keys_of_a_request() {
    let integer = "expected an integer of at most 64 bits";
    let cases = [
        (
            r#""t":0,"#,
            "",
            "requests[0].t: is missing; a start in seconds is needed".to_owned(),
        ),
        (
            r#""t":0,"#,
            r#""t":"x","#,
            r#"requests[0].t: invalid value: string "x", expected a number"#.into(),
        ),
        (
            r#""t":0,"#,
            r#""t":"inf","#,
            "requests[0].t: inf is no start in seconds; at most 1e11 either way is right".into(),
        ),
        (
            r#""s""#,
            r#""x""#,
            "requests[0].type: `x` is no type; `n`, `s` or `subagent` is right".into(),
        ),
        (
            r#""s""#,
            r#""n""#,
            "requests[0].ttft: an entry of type `n` has no such key; leave it out".into(),
        ),
        (
            r#""type":"s","#,
            "",
            "requests[0].type: is missing; `n`, `s` or `subagent` is needed".into(),
        ),
        (
            r#""model":"A","#,
            "",
            "requests[0].model: is missing; the recorded model is needed".into(),
        ),
        (
            "200",
            "200.5",
            format!("requests[0].in: invalid value: floating point `200.5`, {integer}"),
        ),
        (
            "200",
            r#""200.5""#,
            format!(r#"requests[0].in: invalid value: string "200.5", {integer}"#),
        ),
        (
            "200",
            "null",
            format!("requests[0].in: invalid type: null, {integer}"),
        ),
        (
            "200",
            "-1",
            "requests[0].in: -1 is no number of tokens; 0 to 4294967295 is right".into(),
        ),
        (
            r#""in":200"#,
            r#""in":200,"input_length":200"#,
            "requests[0].input_length: duplicate field `in`".into(),
        ),
        (
            "[1,2,3]",
            "[1,null,3]",
            format!("requests[0].hash_ids[1]: invalid type: null, {integer}"),
        ),
        (
            "[1,2,3]",
            "null",
            "requests[0].hash_ids: invalid type: null, expected a list of integers".into(),
        ),
        (
            "[1,2,3]",
            "[1,18446744073709551615]",
            format!("requests[0].hash_ids[1]: invalid value: integer `18446744073709551615`, {integer}"),
        ),
        (
            r#""stop":"""#,
            r#""stop":null"#,
            "requests[0].stop: invalid type: null, expected a string".into(),
        ),
        (
            "2.5",
            "1e12",
            "requests[0].api_time: 1000000000000 is no duration in seconds; at most 1e11 is right".into(),
        ),
        (
            "2.5",
            "true",
            "requests[0].api_time: invalid type: boolean `true`, expected a number".into(),
        ),
        (
            r#""stop":"""#,
            r#""status":"x""#,
            "requests[0].status: an entry of type `s` has no such key; leave it out".into(),
        ),
    ];
    for (from, to, expected) in cases {
        check(row(from, to), &format!(":1: {expected}"));
    }
    let unknown = load(row(r#""stop":"""#, r#""halt":"""#)).unwrap_err().to_string();
    assert!(
        unknown.contains(":1: requests[0].halt: unknown field `halt`, expected one of `t`, `type`"),
        "{unknown}"
    );
}

#[test]
fn keys_of_a_subagent() {
    let inner = r#"{"t":6,"type":"n","#;
    let cases = [
        (
            r#""agent_id":"x","#,
            "",
            "requests[1].agent_id: is missing; the subagent's id is needed",
        ),
        (
            r#""subagent_type":"Explore","#,
            "",
            "requests[1].subagent_type: is missing; the subagent's type is needed",
        ),
        (
            r#""status":"completed","#,
            "",
            "requests[1].status: is missing; how the subagent ended is needed",
        ),
        (
            r#""status":"completed","#,
            r#""stop":"","#,
            "requests[1].stop: an entry of type `subagent` has no such key; leave it out",
        ),
        (
            inner,
            r#"{"t":6,"type":"subagent","#,
            "requests[1].requests[0].type: a subagent inside a subagent; only `n` and `s` are right here",
        ),
        (
            inner,
            r#"{"t":null,"type":"n","#,
            "requests[1].requests[0].t: invalid type: null, expected a number",
        ),
        (
            r#""models":["A"],"tool_tokens":0,"system_tokens":0}]"#,
            r#""models":["A"],"tool_tokens":null,"system_tokens":0}]"#,
            "requests[1].tool_tokens: invalid type: null, expected an integer of at most 64 bits",
        ),
    ];
    for (from, to, expected) in cases {
        check(row(from, to), &format!(":1: {expected}"));
    }
}

#[test]
fn lenient_types_and_null_where_it_is_allowed() {
    let cases = [
        ("200", "200.0"),
        ("200", r#"" 200 ""#),
        ("200", r#""2e2""#),
        (r#""out":70"#, r#""out":true"#),
        (r#""in":200,"out":70"#, r#""input_length":200,"output_length":70"#),
        (r#""t":0,"#, r#""t":"0.0","#),
        (
            r#""tool_tokens":0,"system_tokens":0,"totals":null"#,
            r#""tool_tokens":null,"system_tokens":null,"totals":{"a":[1]}"#,
        ),
        (r#""totals":null,"#, ""),
        ("2.5", "null"),
        ("0.5", "null"),
        (r#","ttft":0.5"#, ""),
        (
            r#""hash_ids":[1,2,3],"input_types":["text"],"output_types":[],"stop":"","#,
            "",
        ),
    ];
    for (from, to) in cases {
        let corpus = load(row(from, to)).unwrap();
        assert_eq!(
            corpus.traces[0].conversations[0].turns[0].input_tokens, 200,
            "{from} -> {to}"
        );
    }
}
