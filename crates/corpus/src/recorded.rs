//! Prompts of recorded requests: which parts a prompt consists of, and what it shares with others (`trace-csv` §5.3).
//!
//! With a sidecar every part is a recorded block. Without one a prompt is a prefix group's text and text of its own, and
//! how the rounds of a session build on each other is a [`Context`]. Parts are [`Stretch`]es of drawn tokens: equal parts
//! are equal tokens, and no recorded text exists. Never sends anything, and holds no prompt.

use trace::TraceError;
use trace::recording::{Name, Recording, Request};
use tree::segments::Role;

use crate::prompt::{Drawer, DrawnMessage, DrawnPrompt, Stretch};

/// How the rounds of a session build on each other where no sidecar says it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Context {
    /// A round's prompt begins with the prompt of the round before, if it is longer.
    #[default]
    Continued,
    /// Every prompt is text of its own.
    Independent,
    /// Recorded lengths are those of a round's new part; its prompt is the conversation so far, answers included, and that.
    Accumulate,
}

/// Where prompts go, which decides their form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Messages for the chat endpoint, which adds its template.
    Chat,
    /// Token ids for the completions endpoint, which adds nothing.
    Completions,
}

/// Plans the prompts of one recording.
pub struct RecordedPrompts {
    drawer: Drawer,
    context: Context,
    form: Form,
}

impl RecordedPrompts {
    /// For the requests of one recording, which every call takes. With a sidecar, `context` is not looked at.
    pub fn new(drawer: Drawer, context: Context, form: Form) -> Self {
        Self {
            drawer,
            context,
            form,
        }
    }

    /// What draws the tokens.
    pub fn drawer(&self) -> &Drawer {
        &self.drawer
    }

    /// Tokens of a request's prompt, the chat template's not counted.
    pub fn tokens(&self, recording: &Recording, request: &Request) -> u64 {
        if recording.blocks.is_some() {
            return request.prompt_tokens();
        }
        match self.context {
            Context::Independent | Context::Continued => self.whole(request),
            Context::Accumulate => {
                let (mut prefix, mut sum) = (u64::from(request.prefix_length), 0);
                for (at, round) in rounds_before(recording, request).enumerate() {
                    if at == 0 {
                        prefix = u64::from(round.prefix_length);
                    }
                    sum += u64::from(round.input_tokens) + u64::from(round.output_tokens);
                }
                prefix + sum + u64::from(request.input_tokens)
            }
        }
    }

    /// The prompt of a request.
    ///
    /// # Errors
    /// When the sidecar cannot be read any more.
    pub fn prompt(&self, recording: &Recording, request: &Request) -> Result<DrawnPrompt, TraceError> {
        let messages = match &recording.blocks {
            Some(store) => {
                let ids = store.ids(request.request_id)?.unwrap_or_default();
                vec![user(self.blocks(request, store.header().block_size, &ids))]
            }
            None => self.built(recording, request),
        };
        Ok(match self.form {
            Form::Chat => DrawnPrompt::Messages(messages),
            Form::Completions => DrawnPrompt::Ids(
                messages
                    .into_iter()
                    .flat_map(|message| message.stretches)
                    .collect(),
            ),
        })
    }

    fn blocks(&self, request: &Request, block_size: u64, ids: &[u64]) -> Vec<Stretch> {
        let mut left = request.prompt_tokens();
        let stretch = |id: &u64| {
            let tokens = left.min(block_size);
            left -= tokens;
            Stretch {
                label: self.drawer.block_label(*id),
                tokens: tokens as u32, // a row's tokens are two 32-bit counts; a block of more is cut by `left`
            }
        };
        ids.iter().map(stretch).collect()
    }

    fn built(&self, recording: &Recording, request: &Request) -> Vec<DrawnMessage> {
        match self.context {
            Context::Independent => vec![user(self.alone(recording, request))],
            Context::Continued => {
                let mut so_far = None;
                for round in rounds_before(recording, request) {
                    so_far = Some(self.continued(recording, so_far, round));
                }
                vec![user(self.continued(recording, so_far, request).stretches)]
            }
            Context::Accumulate => {
                let mut messages = Vec::new();
                for round in rounds_before(recording, request) {
                    messages.push(user(self.added(recording, round, messages.is_empty())));
                    messages.push(DrawnMessage {
                        role: Role::Assistant,
                        stretches: self.stretch("answer", round.request_id, u64::from(round.output_tokens)),
                    });
                }
                messages.push(user(self.added(recording, request, messages.is_empty())));
                messages
            }
        }
    }

    /// A round's prompt, given the prompt of the round before with its tokens: that and new text, if there is any; else
    /// text of its own.
    fn continued(&self, recording: &Recording, before: Option<Round>, request: &Request) -> Round {
        let tokens = self.whole(request);
        let group = request.prefix_group;
        let stretches = match before {
            Some(before) if before.group == group && before.tokens <= tokens => {
                let new = self.stretch("request", request.request_id, tokens - before.tokens);
                [before.stretches, new].concat()
            }
            _ => self.alone(recording, request),
        };
        Round {
            tokens,
            group,
            stretches,
        }
    }

    fn alone(&self, recording: &Recording, request: &Request) -> Vec<Stretch> {
        let mut stretches = self.group(recording, request);
        let own = self.whole(request) - u64::from(request.prefix_length);
        stretches.extend(self.stretch("request", request.request_id, own));
        stretches
    }

    fn added(&self, recording: &Recording, request: &Request, first: bool) -> Vec<Stretch> {
        let mut stretches = if first {
            self.group(recording, request)
        } else {
            Vec::new()
        };
        let own = u64::from(request.input_tokens);
        stretches.extend(self.stretch("request", request.request_id, own));
        stretches
    }

    fn group(&self, recording: &Recording, request: &Request) -> Vec<Stretch> {
        let name = recording.names.text(request.prefix_group);
        let label = match name {
            "" => self
                .drawer
                .label("request_prefix", &request.request_id.to_string()),
            name => self.drawer.label("prefix_group", name),
        };
        stretches(label, u64::from(request.prefix_length))
    }

    fn stretch(&self, kind: &str, request_id: u64, tokens: u64) -> Vec<Stretch> {
        stretches(self.drawer.label(kind, &request_id.to_string()), tokens)
    }

    /// Tokens of a prompt that is recorded whole. What the server counted is the better figure where nothing is added to the
    /// prompt again: not with chat, whose template it has in it, and not with a prefix group.
    fn whole(&self, request: &Request) -> u64 {
        let counted = u64::from(request.server_input_tokens);
        if self.form == Form::Completions && counted > 0 && request.prefix_group == Name::default() {
            counted.max(u64::from(request.prefix_length))
        } else {
            request.prompt_tokens()
        }
    }
}

/// The recorded rounds of the request's session before it, in order.
fn rounds_before<'r>(
    recording: &'r Recording,
    request: &Request,
) -> impl Iterator<Item = &'r Request> + use<'r> {
    let session = recording.session_of(request);
    let rounds = session.map_or([].as_slice(), |place| &recording.sessions[place].rounds);
    let round = request.round;
    let requests = rounds
        .iter()
        .map(|position| &recording.requests[*position as usize]);
    requests.take_while(move |earlier| earlier.round < round)
}

/// The prompt of a round that the next one may begin with.
struct Round {
    tokens: u64,
    group: Name,
    stretches: Vec<Stretch>,
}

fn user(stretches: Vec<Stretch>) -> DrawnMessage {
    DrawnMessage {
        role: Role::User,
        stretches,
    }
}

/// None for no tokens.
fn stretches(label: u64, tokens: u64) -> Vec<Stretch> {
    let tokens = u32::try_from(tokens).unwrap_or(u32::MAX);
    Some(Stretch { label, tokens })
        .filter(|_| tokens > 0)
        .into_iter()
        .collect()
}
