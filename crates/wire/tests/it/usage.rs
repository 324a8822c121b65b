//! The names of token counts (`metrics-and-exports` §1.7).

use wire::usage::Usage;

fn check(json: &str, expected: [Option<u64>; 4]) {
    let told: Usage = serde_json::from_str(json).unwrap_or_else(|error| panic!("{json}: {error}"));
    let [prompt_tokens, completion_tokens, cached_tokens, reasoning_tokens] = expected;
    let expected = Usage {
        prompt_tokens,
        completion_tokens,
        cached_tokens,
        reasoning_tokens,
    };
    assert_eq!(told, expected, "{json}");
}

#[test]
fn names() {
    check(
        r#"{"prompt_tokens":40,"total_tokens":46,"completion_tokens":6,"prompt_tokens_details":{"cached_tokens":0,"created_cache_tokens":0},"completion_tokens_details":{"reasoning_tokens":2}}"#,
        [Some(40), Some(6), Some(0), Some(2)],
    );
    check(
        r#"{"prompt_tokens":40,"completion_tokens":6,"prompt_tokens_details":null,"completion_tokens_details":null}"#,
        [Some(40), Some(6), None, None],
    );
    check(
        r#"{"input_tokens":10,"output_tokens":3,"input_tokens_details":{"cached_tokens":8},"output_tokens_details":{"reasoning_tokens":1}}"#,
        [Some(10), Some(3), Some(8), Some(1)],
    );
    // Disjoint cache counts are part of the prompt.
    check(
        r#"{"input_tokens":10,"output_tokens":3,"cache_read_input_tokens":100,"cache_creation_input_tokens":20}"#,
        [Some(130), Some(3), Some(100), None],
    );
    check(
        r#"{"inputTokens":10,"outputTokens":3,"cacheReadInputTokens":100,"cacheWriteInputTokens":20}"#,
        [Some(130), Some(3), Some(100), None],
    );
    // Not where the count has another name.
    check(
        r#"{"prompt_tokens":10,"input_tokens":10,"cache_read_input_tokens":4}"#,
        [Some(10), None, Some(4), None],
    );
    check(
        r#"{"promptTokenCount":9,"candidatesTokenCount":2,"cachedContentTokenCount":4,"thoughtsTokenCount":1}"#,
        [Some(9), Some(2), Some(4), Some(1)],
    );
    check(
        r#"{"input_token_count":9,"generated_token_count":2,"prompt_cache_hit_tokens":5,"prompt_cache_miss_tokens":4}"#,
        [Some(9), Some(2), Some(5), None],
    );
    check(
        r#"{"prompt_tokens":9,"cached_tokens":5}"#,
        [Some(9), None, Some(5), None],
    );
}

#[test]
fn odd_numbers() {
    check(
        r#"{"prompt_tokens":null,"completion_tokens":5.0,"cached_tokens":-1}"#,
        [None, Some(5), None, None],
    );
    assert!(serde_json::from_str::<Usage>("{}").unwrap().is_empty());
}
