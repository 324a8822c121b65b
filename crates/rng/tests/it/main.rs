//! The streams against values that `CPython` and numpy printed (`data/`, made by running aiperf 0.12.0's own functions).

#![allow(clippy::unwrap_used, reason = "a test that cannot read its vector has failed")]

use rng::{Numpy, Python, SeedSequence, stream};
use serde_json::Value;

fn vectors(text: &str) -> Value {
    serde_json::from_str(text).expect("vector file is JSON")
}

fn list(value: &Value) -> &Vec<Value> {
    value.as_array().unwrap()
}

fn number<T: std::str::FromStr<Err: std::fmt::Debug>>(value: &Value) -> T {
    match value {
        Value::String(text) => text.parse().unwrap(),
        other => other.to_string().parse().unwrap(),
    }
}

fn numbers<T: std::str::FromStr<Err: std::fmt::Debug>>(value: &Value) -> Vec<T> {
    list(value).iter().map(number).collect()
}

fn doubles(hex: &Value) -> Vec<f64> {
    list(hex)
        .iter()
        .map(|text| f64::from_bits(u64::from_str_radix(text.as_str().unwrap(), 16).unwrap()))
        .collect()
}

fn draw<R, T>(count: usize, mut source: R, mut one: impl FnMut(&mut R) -> T) -> Vec<T> {
    (0..count).map(|_| one(&mut source)).collect()
}

#[test]
fn named_children_have_aiperf_s_seeds() {
    let all = vectors(include_str!("../data/rng.json"));
    for case in list(&all["derive"]) {
        let child = stream::child(number(&case["root"]), case["identifier"].as_str().unwrap());
        assert_eq!(child, number::<u64>(&case["child_seed"]), "{case}");
    }
}

#[test]
fn python_and_numpy_draws_are_equal_bit_for_bit() {
    let all = vectors(include_str!("../data/rng.json"));
    assert!(!list(&all["draws"]).is_empty());
    for case in list(&all["draws"]) {
        let seed: u64 = number(&case["seed"]);
        let python = || Python::new(seed);
        assert_eq!(draw(10, python(), |r| r.bits(32)), numbers::<u64>(&case["u32"]));
        assert_eq!(
            draw(10, python(), |r| r.below(276_439)),
            numbers::<u64>(&case["randrange_276439"])
        );
        assert_eq!(
            draw(10, python(), |r| r.below(790)),
            numbers::<u64>(&case["randrange_790"])
        );
        assert_eq!(
            draw(10, python(), |r| 1 + r.below(6)),
            numbers::<u64>(&case["randint_1_6"])
        );
        assert_eq!(draw(5, python(), Python::random), doubles(&case["random_hex"]));
        assert_eq!(
            draw(3, python(), |r| r.bits(64)),
            numbers::<u64>(&case["getrandbits64"])
        );
        assert_eq!(
            SeedSequence::new(seed).state().to_vec(),
            numbers::<u64>(&case["seedsequence_u64x4"])
        );
        assert_eq!(
            draw(4, Numpy::new(seed), Numpy::u64),
            numbers::<u64>(&case["pcg64_raw_u64"])
        );
        assert_eq!(
            draw(4, Numpy::new(seed), Numpy::double),
            doubles(&case["pcg64_uniform_0_1_hex"])
        );
        for (size, key) in [(10, "pcg64_list_shuffle_10"), (33, "pcg64_list_shuffle_33")] {
            let mut items: Vec<u64> = (0..size).collect();
            Numpy::new(seed).shuffle(&mut items);
            assert_eq!(items, numbers::<u64>(&case[key]));
        }
    }
}

#[test]
fn lane_seeds_pools_and_uniforms_are_equal_bit_for_bit() {
    let all = vectors(include_str!("../data/rng_snapshot.json"));
    assert!(!list(&all["vectors"]).is_empty());
    for case in list(&all["vectors"]) {
        let seed = stream::lane(
            number(&case["base_seed"]),
            case["trace_id"].as_str().unwrap(),
            number(&case["lane"]),
        );
        assert_eq!(seed, number::<u64>(&case["seed_u64"]));
        let sequence = SeedSequence::new(seed);
        assert_eq!(
            sequence.pool().to_vec(),
            numbers::<u32>(&case["seed_sequence_pool_u32"])
        );
        assert_eq!(
            sequence.state().to_vec(),
            numbers::<u64>(&case["seed_sequence_state_u64"])
        );
        assert_eq!(
            draw(3, Numpy::new(seed), Numpy::u64),
            numbers::<u64>(&case["first_raw_u64"])
        );
        assert_eq!(
            Numpy::new(seed).double().to_bits(),
            number::<f64>(&case["first_double"]).to_bits()
        );
        let uniform = Numpy::new(seed).uniform(1000.0, 361_000.0);
        assert_eq!(
            uniform.to_bits(),
            number::<f64>(&case["uniform_1000_361000"]).to_bits()
        );
    }
}

#[test]
fn named_streams_draw_equal_doubles() {
    let all = vectors(include_str!("../data/samplers.json"));
    for case in list(&all["named_streams"]) {
        let seed = stream::child(number(&case["root_seed"]), case["identifier"].as_str().unwrap());
        assert_eq!(seed, number::<u64>(&case["seed_u64"]));
        assert_eq!(
            draw(5, Python::new(seed), Python::random),
            numbers::<f64>(&case["python_random_first5"])
        );
        assert_eq!(
            draw(3, Numpy::new(seed), Numpy::double),
            numbers::<f64>(&case["numpy_first3_double"])
        );
    }
}
