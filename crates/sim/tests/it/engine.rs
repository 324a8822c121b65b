//! The engine on its own: when tokens come, in which order, under which bounds.

use sim::config::{Config, Costs, EngineConfig};
use sim::engine::{Emission, Engine, Finish, SequenceId, Work};

fn config() -> EngineConfig {
    EngineConfig {
        max_num_seqs: 8,
        max_num_batched_tokens: 1000,
        block_size: 16,
        kv_blocks: 10_000,
        prefix_caching: true,
        costs: Costs {
            step_ns: 1_000_000,
            prefill_token_ns: 10_000.0,
            decoding_sequence_ns: 50_000.0,
            context_token_ns: 0.0,
        },
        jitter: 0.0,
    }
}

/// A sequence whose blocks are those of text `text`.
fn work(text: u64, prompt_tokens: usize, output_tokens: usize) -> Work {
    let n_blocks = (prompt_tokens + output_tokens) / 16;
    Work {
        prompt_tokens,
        output_tokens,
        max_tokens: output_tokens,
        finish: Finish::Length,
        blocks: (0..n_blocks as u64).map(|block| text << 32 | block).collect(),
    }
}

fn run_out(engine: &mut Engine) -> Vec<Emission> {
    let mut emissions = Vec::new();
    while let Some(at) = engine.deadline() {
        engine.advance(at, &mut emissions);
    }
    emissions
}

fn first_token_ns(engine: &mut Engine, now_ns: u64, work: Work) -> (u64, usize) {
    let id = engine.submit(now_ns, work);
    let emissions = run_out(engine);
    let first = emissions.iter().find(|token| token.sequence == id).unwrap();
    (first.at_ns - now_ns, first.cached_tokens)
}

#[test]
fn ttft_is_the_cost_of_the_uncached_tokens_chunk_by_chunk() {
    // (prompt, cached before, expected steps, expected cached)
    let cases = [
        (100, 0, 1, 0),
        (999, 0, 1, 0),
        (2500, 0, 3, 0),
        (10_000, 0, 10, 0),
        (10_000, 9000, 2, 8992),
        (10_000, 10_000, 1, 9984),
        (10_001, 10_000, 1, 10_000),
    ];
    for (prompt, before, steps, cached) in cases {
        let mut engine = Engine::new(config(), 1);
        let mut now_ns = 0;
        if before > 0 {
            engine.submit(0, work(1, before, 1));
            now_ns = run_out(&mut engine).last().unwrap().at_ns + 5;
        }
        let (ttft, hit) = first_token_ns(&mut engine, now_ns, work(1, prompt, 3));
        assert_eq!(hit, cached, "{prompt} after {before}");
        let expected = steps * 1_000_000 + (prompt - cached) as u64 * 10_000;
        assert_eq!(ttft, expected, "{prompt} after {before}");
    }
}

#[test]
fn gaps_grow_with_the_batch_and_with_the_context() {
    let gap = |n: usize, prompt: usize, context_token_ns: f64| {
        let mut config = config();
        config.costs.context_token_ns = context_token_ns;
        let mut engine = Engine::new(config, 1);
        for text in 0..n {
            engine.submit(0, work(text as u64, prompt, 50));
        }
        let emissions = run_out(&mut engine);
        let last: Vec<_> = emissions.iter().filter(|token| token.nth >= 40).collect();
        let own = last.iter().filter(|token| token.sequence == SequenceId(0));
        let times: Vec<_> = own.map(|token| token.at_ns).collect();
        times[1] - times[0]
    };
    assert_eq!(gap(1, 100, 0.0), 1_050_000);
    assert_eq!(gap(4, 100, 0.0), 1_200_000);
    assert_eq!(gap(8, 100, 0.0), 1_400_000);
    assert!(gap(1, 900, 10.0) > gap(1, 100, 10.0));
}

#[test]
fn a_chunk_of_a_new_prompt_delays_the_tokens_of_the_others() {
    let mut engine = Engine::new(config(), 1);
    let old = engine.submit(0, work(1, 10, 30));
    let mut emissions = Vec::new();
    engine.advance(10_000_000, &mut emissions);
    engine.submit(10_000_000, work(2, 5000, 1));
    emissions.extend(run_out(&mut engine));
    let times: Vec<_> = emissions.iter().filter(|token| token.sequence == old).collect();
    let gaps: Vec<_> = times
        .windows(2)
        .map(|pair| pair[1].at_ns - pair[0].at_ns)
        .collect();
    // The budget is shared: 999 tokens of the prompt beside the one of the old sequence.
    assert_eq!(
        gaps.iter().filter(|gap| **gap == 1_050_000 + 9_990_000).count(),
        5
    );
    assert!(gaps.iter().all(|gap| *gap >= 1_050_000));
}

#[test]
fn the_batch_and_the_budget_are_bounds_and_the_queue_is_first_come_first_served() {
    let mut engine = Engine::new(config(), 1);
    for text in 0..30 {
        engine.submit(0, work(text, 20, 5));
    }
    let mut emissions = Vec::new();
    while let Some(at) = engine.deadline() {
        assert!(engine.n_running() <= 8);
        engine.advance(at, &mut emissions);
    }
    let firsts: Vec<_> = emissions.iter().filter(|token| token.nth == 1).collect();
    assert!(firsts.is_sorted_by_key(|token| (token.at_ns, token.sequence)));
    assert_eq!(firsts.len(), 30);
    let ends = emissions.iter().filter(|token| token.finish.is_some());
    assert_eq!(ends.count(), 30);
    let largest = engine
        .counters()
        .iteration_tokens
        .cumulative()
        .find(|(_, n)| *n == engine.counters().iteration_tokens.count());
    assert!(largest.unwrap().0 <= 1024.0);
}

/// Numbers without pattern, for cases by the dozen.
fn scatter(seed: u64, index: u64) -> u64 {
    let mut word = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ index.wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word ^= word >> 31;
    word = word.wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ word >> 29
}

/// Fifty sequences at odd times over a cache of `kv_blocks`; a caller who is `lag_ns` late.
fn crowd(kv_blocks: usize, jitter: f64, seed: u64, lag_ns: u64) -> (Vec<Emission>, Engine) {
    let mut engine = Engine::new(
        EngineConfig {
            kv_blocks,
            jitter,
            ..config()
        },
        seed,
    );
    let mut emissions = Vec::new();
    let mut arrival_ns = 0;
    for index in 0..50 {
        arrival_ns += scatter(1, index) % 20_000_000;
        while let Some(at) = engine.deadline().filter(|at| at + lag_ns < arrival_ns) {
            engine.advance(at + lag_ns, &mut emissions);
        }
        let prompt = 1 + scatter(2, index) % 1500;
        let output = 1 + scatter(3, index) % 100;
        engine.submit(
            arrival_ns,
            work(scatter(4, index) % 5, prompt as usize, output as usize),
        );
    }
    while let Some(at) = engine.deadline() {
        engine.advance(at + lag_ns, &mut emissions);
    }
    (emissions, engine)
}

#[test]
fn everything_admitted_finishes_also_when_blocks_are_short() {
    for kv_blocks in [101, 130, 300, 10_000] {
        let (emissions, engine) = crowd(kv_blocks, 0.0, 1, 0);
        let ends = emissions.iter().filter(|token| token.finish.is_some()).count();
        assert_eq!(ends, 50, "{kv_blocks}");
        let tokens: u64 = (0..50).map(|index| 1 + scatter(3, index) % 100).sum();
        assert_eq!(emissions.len() as u64, tokens, "each token once");
        assert_eq!(engine.counters().generation_tokens, tokens);
        assert_eq!(engine.pool().available(), kv_blocks, "all blocks come back");
        assert_eq!(engine.counters().preemptions > 0, kv_blocks <= 300, "{kv_blocks}");
        assert!(emissions.is_sorted_by_key(|token| token.at_ns));
    }
}

#[test]
fn a_seed_gives_one_schedule_and_a_late_caller_changes_nothing() {
    let (base, _) = crowd(10_000, 0.2, 7, 0);
    assert_eq!(base, crowd(10_000, 0.2, 7, 0).0);
    assert_eq!(base, crowd(10_000, 0.2, 7, 3_000_000).0);
    assert_ne!(base, crowd(10_000, 0.2, 8, 0).0);
    assert_ne!(base, crowd(10_000, 0.0, 7, 0).0);
}

#[test]
fn two_of_one_text_in_one_step_share_its_blocks() {
    let mut engine = Engine::new(config(), 1);
    let none = engine.submit(0, work(9, 10, 1));
    engine.submit(0, work(1, 160, 2));
    engine.submit(0, work(1, 160, 2));
    let emissions = run_out(&mut engine);
    let cached: Vec<_> = emissions
        .iter()
        .filter(|token| token.nth == 1 && token.sequence != none)
        .map(|token| token.cached_tokens)
        .collect();
    assert_eq!(cached, [0, 144]);
}

#[test]
fn an_aborted_sequence_frees_its_place_and_its_blocks() {
    let mut config = config();
    config.max_num_seqs = 1;
    let mut engine = Engine::new(config, 1);
    let first = engine.submit(0, work(1, 100, 1000));
    let second = engine.submit(0, work(2, 100, 1000));
    let third = engine.submit(0, work(3, 100, 2));
    engine.advance(50_000_000, &mut Vec::new());
    assert_eq!((engine.n_running(), engine.n_waiting()), (1, 2));
    assert!(engine.abort(second));
    assert!(engine.abort(first));
    assert!(!engine.abort(first));
    assert_eq!(engine.pool().available(), config.kv_blocks);
    let emissions = run_out(&mut engine);
    assert!(emissions.iter().all(|token| token.sequence == third));
    assert_eq!(emissions.len(), 2);
    assert_eq!(engine.counters().success_abort, 2);
}

#[test]
fn the_demo_is_as_quick_as_it_says() {
    let demo = Config::demo().engine;
    for (prompt, low_ms, high_ms) in [(10_000, 100, 200), (30_000, 300, 450)] {
        let mut engine = Engine::new(demo, 1);
        let (ttft_ns, _) = first_token_ns(&mut engine, 0, work(1, prompt, 1));
        let ttft_ms = ttft_ns / 1_000_000;
        assert!((low_ms..high_ms).contains(&ttft_ms), "{prompt}: {ttft_ms} ms");
    }
}

#[test]
fn a_config_that_makes_no_server_is_refused_by_name() {
    type Spoil = fn(&mut Config);
    let cases: [(&str, Spoil); 6] = [
        ("block_size", |config| config.engine.block_size = 0),
        ("kv_blocks", |config| config.engine.kv_blocks = 10),
        ("jitter", |config| config.engine.jitter = 1.0),
        ("max_num_batched_tokens", |config| {
            config.engine.max_num_batched_tokens = 1;
        }),
        ("bytes_per_token", |config| config.template.bytes_per_token = 0),
        ("model", |config| config.model.clear()),
    ];
    for (field, spoil) in cases {
        let mut config = Config::demo();
        assert!(config.check().is_ok());
        spoil(&mut config);
        let message = config.check().unwrap_err().to_string();
        assert!(message.starts_with(field), "{message}");
    }
}
