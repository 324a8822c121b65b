//! With a cache that holds everything, cached tokens are the theoretical blocks.

use std::collections::HashSet;

use sim::Config;
use sim::tokens::Template;

use crate::client::{CHAT, chat, post, start};

/// 64 characters that stand for one block of a trace.
fn block(id: u64) -> String {
    format!("{id:064}")
}

/// Prompts of a few conversations that grow turn by turn, branch, and take each other's turns, as lists of block ids.
fn conversations() -> Vec<Vec<u64>> {
    let shared: Vec<u64> = (0..9).collect();
    let mut prompts = Vec::new();
    for conversation in 1..4 {
        let mut ids = shared.clone();
        for turn in 0..6 {
            ids.extend((0..=turn % 3).map(|n| conversation * 1000 + turn * 10 + n));
            prompts.push(ids.clone());
        }
        ids.truncate(12);
        ids.push(conversation * 1000 + 999);
        prompts.push(ids);
    }
    prompts
}

#[test]
fn cached_tokens_equal_the_theoretical_blocks_to_within_block_rounding() {
    for (block_size, template) in [
        (64, Template::bare(1)),
        (16, Template::bare(1)),
        (16, Template::bare(4)),
        (16, Template::default()),
    ] {
        let mut config = Config::instant();
        config.engine.block_size = block_size;
        config.template = template;
        let server = start(config);
        let mut seen: HashSet<u64> = HashSet::new();
        for ids in conversations() {
            let hit_blocks = ids.iter().take_while(|id| seen.contains(id)).count();
            seen.extend(&ids);
            let text: String = ids.iter().map(|id| block(*id)).collect();
            let answer = post(
                &server,
                CHAT,
                &chat(&text, r#","max_completion_tokens":2,"ignore_eos":true"#),
            );
            let usage = answer.usage().unwrap();
            let cached = usage["prompt_tokens_details"]["cached_tokens"].as_u64().unwrap();
            let overhead = (2 * template.message_head_tokens + template.message_tail_tokens) as u64;
            let prompt_tokens = ids.len() as u64 * 64 / template.bytes_per_token as u64 + overhead;
            assert_eq!(usage["prompt_tokens"], prompt_tokens);
            // Texts of ids share their leading zeros, so a block of the server smaller than one of the trace can hit more.
            let theoretical = (hit_blocks * 64 / template.bytes_per_token) as u64;
            let theoretical = theoretical.min(prompt_tokens - 1) / block_size as u64 * block_size as u64;
            let more = (64 / template.bytes_per_token + template.message_head_tokens) as u64;
            assert!(
                cached >= theoretical && cached <= theoretical + more,
                "{block_size} {template:?} {ids:?}: {cached} of {theoretical}"
            );
            if block_size == 64 {
                assert_eq!(cached, theoretical, "{ids:?}");
            }
        }
    }
}
