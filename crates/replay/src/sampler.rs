//! Which trace comes next: in order, shuffled, or drawn (`aiperf-replay` §8.3).

use rng::{Numpy, Python, stream};

/// How traces are chosen for lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sampling {
    /// Row order, wrapping round; uses no randomness.
    Sequential,
    /// A shuffled pass; each further pass shuffles the shuffled list again.
    Shuffle,
    /// Drawn with replacement.
    Random,
}

impl Sampling {
    /// The name used on the command line and in plans.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sequential => "sequential",
            Self::Shuffle => "shuffle",
            Self::Random => "random",
        }
    }
}

/// An endless supply of trace positions; one for a whole run, so that recycling goes on where the lanes ended.
pub(crate) struct Sampler {
    size: usize,
    order: Order,
}

enum Order {
    Sequential {
        next: usize,
    },
    Shuffle {
        generator: Numpy,
        list: Vec<usize>,
        next: usize,
    },
    Random {
        generator: Box<Python>,
    },
}

impl Sampler {
    pub(crate) fn new(sampling: Sampling, seed: u64, size: usize) -> Self {
        let order = match sampling {
            Sampling::Sequential => Order::Sequential { next: 0 },
            Sampling::Shuffle => {
                let mut generator = Numpy::new(stream::child(seed, "dataset.sampler.shuffle"));
                let mut list: Vec<usize> = (0..size).collect();
                generator.shuffle(&mut list);
                Order::Shuffle {
                    generator,
                    list,
                    next: 0,
                }
            }
            Sampling::Random => Order::Random {
                generator: Box::new(Python::new(stream::child(seed, "dataset.sampler.random"))),
            },
        };
        Self { size, order }
    }

    /// Traces to choose from.
    pub(crate) fn size(&self) -> usize {
        self.size
    }

    /// The next position; `None` only when there are no traces.
    pub(crate) fn next(&mut self) -> Option<usize> {
        if self.size == 0 {
            return None;
        }
        Some(match &mut self.order {
            Order::Sequential { next } => {
                let chosen = *next;
                *next = (chosen + 1) % self.size;
                chosen
            }
            Order::Shuffle {
                generator,
                list,
                next,
            } => {
                if *next == list.len() {
                    generator.shuffle(list);
                    *next = 0;
                }
                *next += 1;
                list[*next - 1]
            }
            Order::Random { generator } => generator.below(self.size as u64) as usize,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Sampler, Sampling};
    use serde_json::Value;

    #[test]
    fn orders_are_aiperf_s() {
        let all: Value = serde_json::from_str(include_str!("../tests/data/samplers.json")).unwrap();
        let cases = all["samplers"].as_array().unwrap();
        assert!(!cases.is_empty());
        for case in cases {
            for sampling in [Sampling::Sequential, Sampling::Shuffle, Sampling::Random] {
                let expected: Vec<&str> = case[sampling.name()]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|id| id.as_str().unwrap())
                    .collect();
                let mut sampler = Sampler::new(
                    sampling,
                    case["seed"].as_u64().unwrap(),
                    case["n"].as_u64().unwrap() as usize,
                );
                let drawn: Vec<String> = expected
                    .iter()
                    .map(|_| format!("t{}", sampler.next().unwrap()))
                    .collect();
                assert_eq!(drawn, expected, "{}", sampling.name());
            }
        }
    }
}
