//! The hand-over of tokens from the engine to one answer.
//!
//! A counter for each choice, not a queue: whatever the pace of the reader, it holds a number. A reader that comes late finds
//! several tokens at once and still writes one event for each.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use crate::engine::{Emission, Finish};

/// Tokens of one choice that have become ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Batch {
    pub(super) choice: usize,
    pub(super) tokens: u64,
    /// Set if the last of them is the last of the choice.
    pub(super) finish: Option<Finish>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Choice {
    ready: u64,
    finish: Option<Finish>,
    is_over: bool,
}

#[derive(Default)]
struct State {
    choices: Vec<Choice>,
    cached_tokens: usize,
    first_planned_ns: Option<u64>,
    waker: Option<Waker>,
}

pub(super) struct Feed {
    state: Mutex<State>,
}

impl Feed {
    pub(super) fn new(n_choices: usize) -> Self {
        let state = State {
            choices: vec![Choice::default(); n_choices],
            ..State::default()
        };
        Self {
            state: Mutex::new(state),
        }
    }

    /// One token of `choice` is there.
    pub(super) fn push(&self, choice: usize, emission: &Emission) {
        let mut state = self.lock();
        if choice == 0 {
            state.cached_tokens = emission.cached_tokens;
        }
        state.first_planned_ns.get_or_insert(emission.at_ns);
        let slot = &mut state.choices[choice];
        slot.ready += 1;
        slot.finish = emission.finish;
        if let Some(waker) = state.waker.take() {
            waker.wake();
        }
    }

    /// Moves what is ready into `batches`, at most `most` tokens; waits for `least` tokens or the end of a choice.
    pub(super) fn poll_take(
        &self,
        context: &Context<'_>,
        least: u64,
        most: u64,
        batches: &mut Vec<Batch>,
    ) -> Poll<()> {
        let mut state = self.lock();
        let ready: u64 = state.choices.iter().map(|choice| choice.ready).sum();
        let ends = state.choices.iter().any(|choice| choice.finish.is_some());
        if ready == 0 || (ready < least.min(most) && !ends) {
            state.waker = Some(context.waker().clone());
            return Poll::Pending;
        }
        let mut left = most;
        for (index, choice) in state.choices.iter_mut().enumerate() {
            let tokens = choice.ready.min(left);
            if tokens == 0 {
                continue;
            }
            left -= tokens;
            choice.ready -= tokens;
            let finish = if choice.ready == 0 {
                choice.finish.take()
            } else {
                None
            };
            choice.is_over |= finish.is_some();
            batches.push(Batch {
                choice: index,
                tokens,
                finish,
            });
        }
        Poll::Ready(())
    }

    /// Whether every choice has been taken to its end.
    pub(super) fn is_over(&self) -> bool {
        self.lock().choices.iter().all(|choice| choice.is_over)
    }

    /// Cached prompt tokens of the first choice, once it has a token.
    pub(super) fn cached_tokens(&self) -> usize {
        self.lock().cached_tokens
    }

    /// When the engine had the first token ready.
    pub(super) fn first_planned_ns(&self) -> Option<u64> {
        self.lock().first_planned_ns
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
