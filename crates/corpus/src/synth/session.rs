//! One trace: a main conversation, then the agents and calls beside it.
//!
//! What the shape of a trace is follows from its number, so that every shape occurs in a corpus of a dozen traces; all
//! lengths and times are drawn.

use std::collections::BTreeMap;

use super::Synth;
use super::context::{BlockIds, Context};
use super::draw::Draw;
use super::row::{Call, Entry, Ms, Row, Subagent};

/// The model of main conversations.
const LARGE: &str = "demo-large";
/// The model of short calls and of agents that only look around.
const SMALL: &str = "demo-small";

/// A kind of subagent with its declared prefix.
#[derive(Clone, Copy)]
struct Kind {
    name: &'static str,
    model: &'static str,
    tool_tokens: u32,
    system_tokens: u32,
}

const KINDS: [Kind; 3] = [
    Kind {
        name: "Explore",
        model: SMALL,
        tool_tokens: 905,
        system_tokens: 431,
    },
    Kind {
        name: "general-purpose",
        model: LARGE,
        tool_tokens: 1_490,
        system_tokens: 612,
    },
    Kind {
        name: "Plan",
        model: LARGE,
        tool_tokens: 1_130,
        system_tokens: 487,
    },
];

/// What a trace has beside its main conversation, by its number.
struct Shape {
    /// After how many turns of the main conversation subagents are started and waited for; 0 for never.
    groups_every: u32,
    /// A subagent that outlasts the main conversation.
    background: bool,
    /// Once, the conversation is summed up and goes on from the summary.
    compaction: bool,
    /// Agents that the capture flattened: how many at once.
    flattened: u32,
    /// A short call to another model.
    aux: bool,
    /// How much more text a turn brings than usual.
    growth: u32,
}

impl Shape {
    fn of(number: u32) -> Self {
        Self {
            groups_every: [5, 0, 7, 4, 6][number as usize % 5],
            background: number % 4 == 1,
            compaction: number % 6 == 2,
            flattened: match number % 12 {
                3 | 9 => 1,
                7 => 3,
                _ => 0,
            },
            aux: number % 5 == 1,
            growth: if number % 8 == 6 { 3 } else { 1 },
        }
    }
}

/// Trace `number` of the corpus.
pub(super) fn trace(synth: &Synth, number: u32, draw: Draw) -> Row {
    let shape = Shape::of(number);
    let mut session = Session {
        synth,
        draw,
        ids: BlockIds::default(),
        prefixes: BTreeMap::new(),
        entries: Vec::new(),
        agents: 0,
    };
    let tool_tokens = session.draw.between(1_400, 2_600);
    let system_tokens = session.draw.between(500, 1_100);
    let mut shared = Context::fresh(tool_tokens + system_tokens, &mut session.ids);
    // Notes about the project, which flattened agents get too.
    shared.grow(session.draw.between(200, 900), &mut session.ids);
    let main = session.main(&shape, &shared);
    if shape.background {
        session.background(&main);
    }
    if shape.flattened > 0 {
        session.flattened(&main, &shared, shape.flattened);
    }
    if shape.aux {
        session.aux(&main);
    }
    let mut entries = session.entries;
    entries.extend(main.into_iter().map(Entry::Call));
    entries.sort_by_key(Entry::start);
    Row {
        id: format!("demo-{number:02}"),
        models: models(&entries),
        block_size: tree::BLOCK_TOKENS,
        tool_tokens,
        system_tokens,
        hash_id_scope: "local",
        requests: entries,
    }
}

/// The models of all calls, the main one first.
fn models(entries: &[Entry]) -> Vec<&'static str> {
    let small = entries.iter().any(|entry| match entry {
        Entry::Call(call) => call.model == SMALL,
        Entry::Subagent(agent) => agent.models.contains(&SMALL),
    });
    if small { vec![LARGE, SMALL] } else { vec![LARGE] }
}

/// When a call is made, and with what.
struct Step {
    /// In ms since the trace's start.
    start: u64,
    /// Time since the call before, in ms.
    pause: u64,
    /// Tokens of the prompt that no earlier call had.
    fresh: u32,
    /// Who gave them.
    input: Input,
    /// Who will give the next ones.
    next: Input,
}

struct Session<'a> {
    synth: &'a Synth,
    draw: Draw,
    ids: BlockIds,
    /// The declared prefix of each kind of subagent that has occurred: the same text each time.
    prefixes: BTreeMap<&'static str, Context>,
    entries: Vec<Entry>,
    agents: u32,
}

/// Who gives a turn its new input.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Input {
    Person,
    Tool,
}

impl Session<'_> {
    /// The main conversation, with the subagents that it waits for.
    fn main(&mut self, shape: &Shape, shared: &Context) -> Vec<Call> {
        let turns = self.draw.between(self.synth.turns.0, self.synth.turns.1);
        let compaction_at = turns / 2 + 1;
        let mut calls: Vec<Call> = Vec::new();
        let mut context = shared.clone();
        let (mut now, mut pause, mut input) = (0, 0, Input::Person);
        let mut fresh = self.draw.between(120, 900);
        for turn in 0..turns {
            if shape.compaction && turn == compaction_at {
                context = shared.clone();
                fresh = self.draw.between(900, 2_200);
            }
            if !self.fits(&context, fresh) {
                break;
            }
            context.grow(fresh, &mut self.ids);
            let group = shape.groups_every > 0 && turn % shape.groups_every == shape.groups_every - 1;
            let next = match turn {
                _ if group && turn + 1 < turns => Input::Tool,
                _ if turn + 1 == turns || self.draw.once_in(8) => Input::Person,
                _ => Input::Tool,
            };
            let step = Step {
                start: now + pause,
                pause,
                fresh,
                input,
                next,
            };
            let call = self.call(LARGE, &context, &step);
            now = call.end().0;
            context.grow(call.output, &mut self.ids);
            calls.push(call);
            fresh = self.draw.mostly_low((90, 2_400)) * shape.growth;
            input = next;
            pause = u64::from(match next {
                Input::Person => self.draw.mostly_low(self.synth.think_ms),
                Input::Tool => self.draw.mostly_low(self.synth.tool_ms),
            });
            if group && turn + 1 < turns {
                let ended = self.group(now);
                // What the agents took is the think time of the next turn.
                pause += ended - now;
            }
        }
        calls
    }

    /// One to three subagents at once, waited for. Gives the time at which the last one ended.
    fn group(&mut self, now: u64) -> u64 {
        let mut last = now;
        for place in 0..u64::from(self.draw.between(1, 3)) {
            let kind = self.draw.one_of(&KINDS);
            let turns = self.draw.between(3, 6);
            let calls = self.agent(kind, now + 5 + 3 * place, |done, _| done < turns);
            let end = calls.last().map_or(now, |call| call.end().0);
            last = last.max(end);
            // Captures know the duration of most agents; of the others only their calls.
            let known = !self.draw.once_in(4);
            self.subagent(kind, calls, "completed", known.then_some(end));
        }
        last
    }

    /// An agent started in the second half that is still at work when the last turn has begun.
    fn background(&mut self, main: &[Call]) {
        let from = &main[main.len() / 2];
        let last = main[main.len() - 1].t.0;
        let kind = self.draw.one_of(&KINDS);
        let calls = self.agent(kind, from.end().0 + 7, |_, now| now <= last + 300);
        self.subagent(kind, calls, "async_launched", None);
    }

    /// Agents that share the main conversation's beginning and stand among its calls, from one moment on.
    fn flattened(&mut self, main: &[Call], shared: &Context, count: u32) {
        // Had the main conversation ended, an agent would look like its continuation.
        let Some(from) = main.get(3).filter(|_| main.len() > 4) else {
            return;
        };
        let start = from.end().0 + 9;
        for agent in 0..u64::from(count) {
            let turns = self.draw.between(3, 5);
            let calls = self.chain(LARGE, shared.clone(), start + 4 * agent, |done, _| done < turns);
            self.entries.extend(calls.into_iter().map(Entry::Call));
        }
    }

    /// A short call to the small model while the second turn is under way.
    fn aux(&mut self, main: &[Call]) {
        let Some(beside) = main.get(1) else {
            return;
        };
        let tokens = self.draw.between(2_000, 2_900);
        let context = Context::fresh(tokens, &mut self.ids);
        let step = Step {
            start: beside.t.0 + 15,
            pause: 0,
            fresh: tokens,
            input: Input::Person,
            next: Input::Person,
        };
        let mut call = self.call(SMALL, &context, &step);
        call.output = call.output.min(60);
        self.entries.push(Entry::Call(call));
    }

    /// The calls of one subagent that begins at `start`, after its declared prefix.
    fn agent(&mut self, kind: Kind, start: u64, more: impl Fn(u32, u64) -> bool) -> Vec<Call> {
        let declared = kind.tool_tokens + kind.system_tokens;
        let ids = &mut self.ids;
        let prefix = self
            .prefixes
            .entry(kind.name)
            .or_insert_with(|| Context::fresh(declared, ids));
        let context = prefix.clone();
        self.chain(kind.model, context, start, more)
    }

    /// A conversation of tool calls from `context` on, as long as `more` (calls so far, time) says.
    fn chain(
        &mut self,
        model: &'static str,
        mut context: Context,
        start: u64,
        more: impl Fn(u32, u64) -> bool,
    ) -> Vec<Call> {
        let mut calls: Vec<Call> = Vec::new();
        let (mut now, mut pause, mut input) = (start, 0, Input::Person);
        let mut fresh = self.draw.between(700, 1_400);
        while (calls.len() < 2 || more(calls.len() as u32, now)) && self.fits(&context, fresh) {
            context.grow(fresh, &mut self.ids);
            let step = Step {
                start: now + pause,
                pause,
                fresh,
                input,
                next: Input::Tool,
            };
            let call = self.call(model, &context, &step);
            now = call.end().0;
            context.grow(call.output, &mut self.ids);
            calls.push(call);
            fresh = self.draw.mostly_low((90, 1_500));
            input = Input::Tool;
            pause = u64::from(self.draw.mostly_low(self.synth.tool_ms));
        }
        if let Some(last) = calls.last_mut() {
            last.stop = "end_turn";
            last.output_types = vec!["text"];
        }
        calls
    }

    /// Whether another turn's text and its answer leave the prompt within its limit.
    fn fits(&self, context: &Context, fresh: u32) -> bool {
        context.tokens + fresh + self.synth.output_tokens.1 <= self.synth.prompt_tokens_max
    }

    fn subagent(&mut self, kind: Kind, calls: Vec<Call>, status: &'static str, known_end: Option<u64>) {
        let Some(first) = calls.first() else {
            return;
        };
        self.agents += 1;
        let start = Ms(first.t.0 - 2);
        let tokens = |call: &Call| u64::from(call.input) + u64::from(call.output);
        self.entries.push(Entry::Subagent(Subagent {
            t: start,
            kind: "subagent",
            agent_id: format!("agent-{:02}", self.agents),
            agent_type: kind.name,
            duration_ms: known_end.map(|end| end - start.0),
            total_tokens: known_end.and(calls.last().map(tokens)),
            tool_use_count: known_end.map(|_| calls.len() as u64 - 1),
            status,
            requests: calls,
            models: vec![kind.model],
            tool_tokens: kind.tool_tokens,
            system_tokens: kind.system_tokens,
        }));
    }

    /// One call whose prompt is `context`, answered after a made-up time.
    fn call(&mut self, model: &'static str, context: &Context, step: &Step) -> Call {
        let output = self.draw.mostly_low(self.synth.output_tokens);
        // A prefill of some 20 tokens a millisecond, then a token every 6 to 9 milliseconds.
        let ttft = u64::from(60 + step.fresh / 20 + self.draw.between(0, 80));
        let api_time = ttft + u64::from(output) * u64::from(self.draw.between(6, 9));
        let streamed = self.draw.once_in(5);
        Call {
            t: Ms(step.start),
            kind: if streamed { "s" } else { "n" },
            model,
            input: context.tokens,
            output,
            hash_ids: context.ids.clone(),
            input_types: vec![match step.input {
                Input::Person => "text",
                Input::Tool => "tool_result",
            }],
            output_types: match step.next {
                Input::Person => vec!["text"],
                Input::Tool => vec!["text", "tool_use"],
            },
            stop: match step.next {
                Input::Person => "end_turn",
                Input::Tool => "tool_use",
            },
            api_time: Ms(api_time),
            ttft: streamed.then_some(Ms(ttft)),
            think_time: Ms(step.pause),
        }
    }
}
