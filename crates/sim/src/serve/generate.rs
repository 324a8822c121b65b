//! Chat and completions: from a parsed request to an answer, streamed or whole, with the faults that strike it.

use std::sync::{Arc, PoisonError};
use std::task::Context;

use http_body_util::{Either, Full};
use hyper::StatusCode;
use hyper::header::{self, HeaderValue};

use super::routes::{Call, INLINE_BODY_BYTES, JSON, Parsed, Reply, reply};
use super::stream::{BrokenOff, Parts, StreamBody};
use crate::answer::Shape;
use crate::engine::{Finish, Work};
use crate::faults::{self, BreakOff, CutEnding};
use crate::log::Outcome;
use crate::refusal::Refusal;
use crate::request::Ask;
use crate::tokens::Answer;

/// Announced length of an answer that is cut short of it.
const UNREACHED_LENGTH: u64 = 1 << 40;

const EVENTS: HeaderValue = HeaderValue::from_static("text/event-stream; charset=utf-8");

/// Answers request number `nth`, whose answer is called `id`.
pub(super) async fn answer(call: Call, nth: u64, id: &str, ask: Parsed) -> Result<Reply, BrokenOff> {
    let behaviour = {
        let faults = call.shared.faults.lock().unwrap_or_else(PoisonError::into_inner);
        faults::behaviour(&faults, nth)
    };
    if behaviour.silence {
        return silence(&call).await;
    }
    if let Some((status, message, retry_after_s)) = behaviour.refuse {
        return Ok(call.refuse(&Refusal::Fault { status, message }, retry_after_s));
    }
    let ask = match ask {
        Ok(ask) => ask,
        Err(refusal) => return Ok(call.refuse(&refusal, None)),
    };
    let config = &call.shared.config;
    let shape = Shape::new(
        ask.endpoint,
        id,
        call.shared.clock.wall_s() as u64,
        &config.model,
        config.prompt_tokens_details,
        ask.continuous_usage && !behaviour.no_usage,
    );
    let (is_streamed, prompt_tokens) = (ask.stream, ask.prompt.n_tokens());
    let usage_wanted = (ask.include_usage || !is_streamed) && !behaviour.no_usage;
    let closes = behaviour.connection_close;
    let (works, answers) = plan(&call, ask, behaviour.early_finish).await;
    let parts = Parts {
        ticket: call.shared.submit(works),
        witness: call.witness,
        shape,
        answers,
        prompt_tokens,
        usage_wanted,
        behaviour,
    };
    let mut reply = if is_streamed {
        streamed(parts)
    } else {
        whole(parts).await?
    };
    if closes {
        let close = HeaderValue::from_static("close");
        reply.headers_mut().insert(header::CONNECTION, close);
    }
    Ok(reply)
}

/// Draws and hashes the answers, on another thread if they are long.
async fn plan(call: &Call, ask: Ask, early_finish: Option<usize>) -> (Vec<Work>, Vec<Answer>) {
    let bytes = (ask.prompt.n_tokens() + ask.max_tokens) * ask.n_choices;
    if bytes <= INLINE_BODY_BYTES {
        return ask.plan(&call.shared.config, early_finish).into_iter().unzip();
    }
    let shared = Arc::clone(&call.shared);
    let plan = move || ask.plan(&shared.config, early_finish).into_iter().unzip();
    let joined = tokio::task::spawn_blocking(plan).await;
    joined.expect("planning an answer does not panic")
}

fn streamed(parts: Parts) -> Reply {
    let break_off = parts.behaviour.break_off.as_ref().map(|(_, how)| how);
    let is_short = matches!(break_off, Some(BreakOff::Cut(CutEnding::ShortOfLength)));
    let mut reply = reply(StatusCode::OK, EVENTS, Either::Right(StreamBody::new(parts)));
    if is_short {
        let length = UNREACHED_LENGTH.into();
        reply.headers_mut().insert(header::CONTENT_LENGTH, length);
    }
    reply
}

/// An answer that is sent when it is complete. What would break off a stream here takes the place of the answer.
async fn whole(parts: Parts) -> Result<Reply, BrokenOff> {
    let choices = choices(&parts).await;
    let tokens = choices.iter().map(|(tokens, _)| tokens).sum();
    parts.witness.tokens(tokens, |seen| {
        seen.planned_first_token_ns = parts.ticket.feed.first_planned_ns();
        seen.cached_tokens = parts.ticket.feed.cached_tokens();
    });
    match &parts.behaviour.break_off {
        None => {}
        Some((_, BreakOff::Error { message, code })) => {
            parts.witness.end(Outcome::Faulted);
            let refusal = Refusal::Fault {
                status: *code,
                message: message.clone(),
            };
            let status = StatusCode::from_u16(*code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
            return Ok(reply(status, JSON, Either::Left(Full::from(refusal.body()))));
        }
        Some((_, BreakOff::Stall)) => {
            parts.witness.end(Outcome::Faulted);
            return std::future::pending().await;
        }
        Some((_, BreakOff::Cut(_))) => {
            parts.witness.end(Outcome::Faulted);
            return Err(BrokenOff);
        }
    }
    let texts: Vec<_> = choices
        .iter()
        .zip(&parts.answers)
        .map(|(&(tokens, finish), answer)| {
            let mut text = String::new();
            // The token that ends an answer by itself has no text.
            answer.write(0..tokens - u64::from(finish == Finish::Stop), &mut text);
            (text, finish)
        })
        .collect();
    let usage = parts.usage_wanted.then(|| parts.usage(tokens));
    let body = parts.shape.whole(&texts, usage);
    parts.witness.end(Outcome::Answered);
    Ok(reply(StatusCode::OK, JSON, Either::Left(Full::from(body))))
}

/// Waits for all tokens: how many each choice has, and why it ended.
async fn choices(parts: &Parts) -> Vec<(u64, Finish)> {
    let feed = &parts.ticket.feed;
    let mut choices = vec![(0, Finish::Abort); parts.answers.len()];
    let mut batches = Vec::new();
    while !feed.is_over() {
        let take = |context: &mut Context<'_>| feed.poll_take(context, 1, u64::MAX, &mut batches);
        std::future::poll_fn(take).await;
        for batch in batches.drain(..) {
            let choice = &mut choices[batch.choice];
            choice.0 += batch.tokens;
            choice.1 = batch.finish.unwrap_or(choice.1);
        }
    }
    choices
}

/// Never returns; the log has it at once.
async fn silence(call: &Call) -> Result<Reply, BrokenOff> {
    call.witness.end(Outcome::Faulted);
    std::future::pending().await
}
