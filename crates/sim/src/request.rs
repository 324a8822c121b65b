//! From a request body to what the engine has to do, or to the error that vLLM would answer.
//!
//! Pure. Unknown fields and unknown roles are accepted, as vLLM accepts them. Not simulated: several prompts in one completions
//! request (refused), log-probabilities, stop strings, sampling parameters, tool parsing (all ignored).

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::config::Config;
use crate::engine::{Finish, Work};
use crate::mix;
use crate::refusal::Refusal;
use crate::tokens::{Answer, Tokens};

/// Most choices of one request.
const CHOICES_MAX: usize = 128;
/// Output limit of a completions request that states none.
const COMPLETIONS_DEFAULT_TOKENS: usize = 16;

/// Which of the two generating routes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Endpoint {
    Chat,
    Completions,
}

/// A request as it stands in JSON; one struct for both routes.
#[derive(Deserialize)]
struct Body {
    model: Option<String>,
    messages: Option<Vec<Message>>,
    prompt: Option<Prompt>,
    tools: Option<Box<RawValue>>,
    stream: Option<bool>,
    stream_options: Option<StreamOptions>,
    max_tokens: Option<i64>,
    max_completion_tokens: Option<i64>,
    min_tokens: Option<usize>,
    ignore_eos: Option<bool>,
    n: Option<usize>,
}

#[derive(Deserialize)]
struct Message {
    role: String,
    content: Option<Content>,
    tool_calls: Option<Box<RawValue>>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Content {
    Text(String),
    Parts(Vec<Part>),
}

#[derive(Deserialize)]
struct Part {
    text: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Prompt {
    Text(String),
    Ids(Vec<u32>),
    Texts(Vec<String>),
    IdLists(Vec<Vec<u32>>),
}

#[derive(Deserialize, Default)]
struct StreamOptions {
    include_usage: Option<bool>,
    continuous_usage_stats: Option<bool>,
}

/// A request that will be served.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Ask {
    pub(crate) endpoint: Endpoint,
    pub(crate) prompt: Tokens,
    pub(crate) stream: bool,
    pub(crate) include_usage: bool,
    pub(crate) continuous_usage: bool,
    pub(crate) n_choices: usize,
    pub(crate) max_tokens: usize,
    pub(crate) min_tokens: usize,
    pub(crate) ignore_eos: bool,
}

impl Ask {
    /// Reads `body`, in vLLM's order of complaints.
    pub(crate) fn parse(endpoint: Endpoint, body: &[u8], config: &Config) -> Result<Self, Refusal> {
        let parsed: Body = serde_json::from_slice(body).map_err(|error| complaint(body, &error))?;
        let asked = parsed.model.as_deref().unwrap_or(&config.model);
        if asked != config.model {
            return Err(Refusal::UnknownModel {
                asked: asked.to_owned(),
                served: config.model.clone(),
            });
        }
        let prompt = parsed.prompt(endpoint, config, body.len())?;
        let max_tokens = parsed.max_tokens(endpoint, config, prompt.n_tokens())?;
        let min_tokens = parsed.min_tokens.unwrap_or(0);
        if min_tokens > max_tokens {
            return Err(Refusal::MinAboveMax {
                min_tokens,
                max_tokens,
            });
        }
        let n_choices = parsed.n.unwrap_or(1);
        if !(1..=CHOICES_MAX).contains(&n_choices) {
            return Err(invalid(
                "n",
                &format!("{n_choices} is not from 1 to {CHOICES_MAX}"),
            ));
        }
        let options = parsed.stream_options.unwrap_or_default();
        let include_usage = options.include_usage.unwrap_or(false);
        Ok(Self {
            endpoint,
            prompt,
            stream: parsed.stream.unwrap_or(false),
            include_usage,
            continuous_usage: include_usage && options.continuous_usage_stats.unwrap_or(false),
            n_choices,
            max_tokens,
            min_tokens,
            ignore_eos: parsed.ignore_eos.unwrap_or(false),
        })
    }

    /// One piece of work for each choice, with its text. `early_finish` ends each answer after so many tokens.
    pub(crate) fn plan(&self, config: &Config, early_finish: Option<usize>) -> Vec<(Work, Answer)> {
        let seed = mix::fold(config.seed, self.prompt.fingerprint());
        let prompt_tokens = self.prompt.n_tokens();
        let plan = |choice: usize| {
            let seed = mix::draw(seed, choice as u64);
            let answer = Answer::new(seed, &config.template);
            let (output_tokens, finish) = match early_finish {
                Some(tokens) => (tokens.clamp(1, self.max_tokens), Finish::Stop),
                None => self.length(seed, config.natural_output_tokens),
            };
            let mut all = self.prompt.clone();
            all.answer(&answer, output_tokens);
            let work = Work {
                prompt_tokens,
                output_tokens,
                max_tokens: self.max_tokens,
                finish,
                blocks: all.chain(config.engine.block_size),
            };
            (work, answer)
        };
        (0..self.n_choices).map(plan).collect()
    }

    /// How long an answer gets, and why it ends there.
    fn length(&self, seed: u64, mean: f64) -> (usize, Finish) {
        if self.ignore_eos {
            return (self.max_tokens, Finish::Length);
        }
        // Geometric: each token is the last one with probability 1 / mean.
        let drawn = (1.0 - mix::unit(seed, u64::MAX)).ln() / (1.0 - 1.0 / mean).ln();
        let natural = (drawn.clamp(0.0, 1e9) as usize + 1).max(self.min_tokens);
        if natural <= self.max_tokens {
            (natural, Finish::Stop)
        } else {
            (self.max_tokens, Finish::Length)
        }
    }
}

impl Body {
    fn prompt(&self, endpoint: Endpoint, config: &Config, body_bytes: usize) -> Result<Tokens, Refusal> {
        let template = &config.template;
        let mut tokens = Tokens::with_capacity(template, body_bytes);
        match endpoint {
            Endpoint::Chat => {
                let messages = self.messages.as_ref().filter(|messages| !messages.is_empty());
                let messages =
                    messages.ok_or_else(|| invalid("messages", "at least one message is required"))?;
                if let Some(tools) = &self.tools {
                    tokens.message(template, "system", [tools.get()]);
                }
                for message in messages {
                    let calls = message.tool_calls.as_ref().map(|calls| calls.get());
                    tokens.message(template, &message.role, message.texts().chain(calls));
                }
                tokens.open(template, "assistant");
            }
            Endpoint::Completions => match &self.prompt {
                Some(Prompt::Text(text)) => tokens.text([text.as_str()]),
                Some(Prompt::Ids(ids)) => tokens = Tokens::from_ids(ids),
                Some(Prompt::Texts(texts)) if texts.len() == 1 => tokens.text([texts[0].as_str()]),
                Some(Prompt::IdLists(lists)) if lists.len() == 1 => tokens = Tokens::from_ids(&lists[0]),
                Some(_) => {
                    return Err(invalid(
                        "prompt",
                        "the simulated server takes one prompt a request",
                    ));
                }
                None => return Err(invalid("prompt", "a text or a list of token ids is required")),
            },
        }
        if tokens.n_tokens() == 0 {
            return Err(invalid("prompt", "a prompt of at least one token is required"));
        }
        Ok(tokens)
    }

    fn max_tokens(
        &self,
        endpoint: Endpoint,
        config: &Config,
        prompt_tokens: usize,
    ) -> Result<usize, Refusal> {
        let max_model_len = config.max_model_len;
        let asked = match endpoint {
            Endpoint::Chat => self.max_completion_tokens.or(self.max_tokens),
            Endpoint::Completions => self.max_tokens,
        };
        let asked = match asked {
            None => None,
            Some(asked) if asked < 1 => return Err(Refusal::ZeroTokens(asked)),
            Some(asked) => match usize::try_from(asked) {
                Ok(fits) if fits <= max_model_len => Some(fits),
                _ => return Err(Refusal::TooManyTokens { asked, max_model_len }),
            },
        };
        let left = max_model_len
            .checked_sub(prompt_tokens)
            .ok_or(Refusal::PromptTooLong { max_model_len })?;
        match (asked, endpoint) {
            (Some(asked), _) if asked > left => Err(Refusal::ContextTooLong { asked, max_model_len }),
            (Some(asked), _) => Ok(asked),
            (None, _) if left == 0 => Err(Refusal::ZeroTokens(0)),
            (None, Endpoint::Chat) => Ok(left),
            (None, Endpoint::Completions) => Ok(COMPLETIONS_DEFAULT_TOKENS.min(left)),
        }
    }
}

impl Message {
    fn texts(&self) -> impl Iterator<Item = &str> {
        let (text, parts) = match &self.content {
            None => (None, [].as_slice()),
            Some(Content::Text(text)) => (Some(text.as_str()), [].as_slice()),
            Some(Content::Parts(parts)) => (None, parts.as_slice()),
        };
        text.into_iter()
            .chain(parts.iter().filter_map(|part| part.text.as_deref()))
    }
}

fn invalid(field: &str, message: &str) -> Refusal {
    Refusal::Invalid {
        field: field.to_owned(),
        message: message.to_owned(),
    }
}

fn complaint(body: &[u8], error: &serde_json::Error) -> Refusal {
    if error.is_data() {
        return invalid("", &error.to_string());
    }
    let before = body
        .split(|byte| *byte == b'\n')
        .take(error.line().saturating_sub(1));
    let at = before.map(|line| line.len() + 1).sum::<usize>() + error.column();
    Refusal::BadJson {
        at: at.min(body.len()),
        message: error.to_string(),
    }
}
