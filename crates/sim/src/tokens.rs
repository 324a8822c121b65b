//! From messages to tokens without a tokenizer, and from output tokens to text.
//!
//! A token is a fixed number of bytes of the text, one by default, which is what turnmill's built-in byte tokenizer
//! counts, too. Equal text prefixes are therefore equal token prefixes. A prompt is one flat byte array in which every token
//! has the same width, so block hashes run straight over it. Never claims to count as a real model would.

use crate::mix;

/// How messages become tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Template {
    /// Bytes of text for one token, at least 1. The last token of a text may hold fewer.
    pub bytes_per_token: usize,
    /// Tokens in front of each message's text, which tell its role; they also open the answer at the end of a prompt.
    pub message_head_tokens: usize,
    /// Tokens behind each message's text.
    pub message_tail_tokens: usize,
}

impl Default for Template {
    /// One byte a token, and around each message the 3 + 2 tokens that Qwen's template has.
    fn default() -> Self {
        Self {
            bytes_per_token: 1,
            message_head_tokens: 3,
            message_tail_tokens: 2,
        }
    }
}

impl Template {
    /// Nothing but the texts: no roles, no marks between messages.
    pub fn bare(bytes_per_token: usize) -> Self {
        Self {
            bytes_per_token,
            message_head_tokens: 0,
            message_tail_tokens: 0,
        }
    }
}

// Bytes that no UTF-8 text contains stand for the template's own tokens.
const OPEN: u8 = 0xff;
const CLOSE: u8 = 0xfe;
const ROLES: [(&str, u8); 4] = [
    ("system", 0xf8),
    ("user", 0xf9),
    ("assistant", 0xfa),
    ("tool", 0xfb),
];
const OTHER_ROLE: u8 = 0xfc;

/// Bytes of one token where the client sent token ids.
const ID_BYTES: usize = 4;

/// The tokens of a prompt, and behind them, once appended, those of its answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tokens {
    bytes: Vec<u8>,
    width: usize,
}

impl Tokens {
    /// Nothing yet, with `template`'s width and room for `bytes` bytes.
    pub fn with_capacity(template: &Template, bytes: usize) -> Self {
        Self {
            bytes: Vec::with_capacity(bytes),
            width: template.bytes_per_token,
        }
    }

    /// A prompt of token ids.
    pub fn from_ids(ids: &[u32]) -> Self {
        Self {
            bytes: ids.iter().flat_map(|id| id.to_le_bytes()).collect(),
            width: ID_BYTES,
        }
    }

    /// Opens a message of `role`, appends `texts` as one, and closes it.
    pub fn message<'a>(&mut self, template: &Template, role: &str, texts: impl IntoIterator<Item = &'a str>) {
        self.open(template, role);
        self.text(texts);
        self.mark(CLOSE, template.message_tail_tokens);
    }

    /// The tokens in front of a message; at the end of a prompt, those that ask for the answer.
    pub fn open(&mut self, template: &Template, role: &str) {
        let known = ROLES.iter().find(|(name, _)| *name == role);
        let role = known.map_or(OTHER_ROLE, |(_, byte)| *byte);
        self.mark(OPEN, template.message_head_tokens.saturating_sub(1));
        self.mark(role, template.message_head_tokens.min(1));
    }

    /// `texts`, joined; the last token is filled up.
    pub fn text<'a>(&mut self, texts: impl IntoIterator<Item = &'a str>) {
        for text in texts {
            self.bytes.extend_from_slice(text.as_bytes());
        }
        let whole = self.bytes.len().next_multiple_of(self.width);
        self.bytes.resize(whole, 0);
    }

    /// How many tokens there are.
    pub fn n_tokens(&self) -> usize {
        self.bytes.len() / self.width
    }

    /// The tokens as numbers, little-endian over their bytes, at most eight bytes each.
    pub fn ids(&self) -> impl Iterator<Item = u64> {
        self.bytes.chunks_exact(self.width).map(|token| {
            let bytes = token.iter().take(8).rev();
            bytes.fold(0, |id, byte| id << 8 | u64::from(*byte))
        })
    }

    /// A number for the whole prompt, from which the seeded choices about its answer are drawn.
    pub fn fingerprint(&self) -> u64 {
        mix::bytes(self.width as u64, &self.bytes)
    }

    /// Appends the output tokens `0..n` of `answer`.
    pub fn answer(&mut self, answer: &Answer, n: usize) {
        for index in 0..n {
            let start = self.bytes.len();
            self.bytes.extend(answer.token(index as u64));
            self.bytes.resize(start + self.width, 0);
        }
    }

    /// The chained hash of every full block of `block_size` tokens.
    pub fn chain(&self, block_size: usize) -> Vec<u64> {
        let mut parent = self.width as u64;
        let blocks = self.bytes.chunks_exact(block_size * self.width);
        blocks
            .map(|block| {
                parent = mix::bytes(parent, block);
                parent
            })
            .collect()
    }

    fn mark(&mut self, byte: u8, n_tokens: usize) {
        let end = self.bytes.len() + n_tokens * self.width;
        self.bytes.resize(end, byte);
    }
}

/// The text of one answer, any part of which can be made at any time: ASCII letters and spaces, one token's bytes a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answer {
    seed: u64,
    bytes_per_token: usize,
}

const LETTERS: &[u8; 32] = b"etaoin shrdlu cmfwyp vbgkjqxz et";

impl Answer {
    /// The answer that `seed` stands for.
    pub fn new(seed: u64, template: &Template) -> Self {
        Self {
            seed,
            bytes_per_token: template.bytes_per_token,
        }
    }

    /// The characters of one output token.
    pub fn token(&self, index: u64) -> impl Iterator<Item = u8> + use<> {
        let seed = mix::draw(self.seed, index);
        (0..self.bytes_per_token as u64).map(move |place| {
            let drawn = if place == 0 { seed } else { mix::draw(seed, place) };
            LETTERS[(drawn >> 59) as usize]
        })
    }

    /// Appends the text of the tokens in `range` to `text`.
    pub fn write(&self, range: std::ops::Range<u64>, text: &mut String) {
        text.extend(range.flat_map(|index| self.token(index)).map(char::from));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prompt(template: &Template, messages: &[(&str, &str)]) -> Tokens {
        let mut tokens = Tokens::with_capacity(template, 0);
        for (role, text) in messages {
            tokens.message(template, role, [*text]);
        }
        tokens
    }

    #[test]
    fn token_counts_are_bytes_over_width_plus_template() {
        let cases = [
            (Template::bare(1), 3 + 5),
            (Template::bare(4), 1 + 2),
            (Template::default(), 3 + 5 + 2 * 5),
        ];
        for (template, expected) in cases {
            let tokens = prompt(&template, &[("system", "abc"), ("user", "h\u{e9}ll")]);
            assert_eq!(tokens.n_tokens(), expected, "{template:?}");
        }
        assert_eq!(
            Tokens::from_ids(&[1, 70_000, 3]).ids().collect::<Vec<_>>(),
            [1, 70_000, 3]
        );
    }

    #[test]
    fn blocks_are_shared_exactly_as_far_as_the_text_is() {
        for template in [Template::bare(1), Template::bare(4), Template::default()] {
            let long = "x".repeat(1000);
            let a = prompt(
                &template,
                &[("user", &long), ("assistant", "one"), ("user", "two")],
            )
            .chain(16);
            let b = prompt(
                &template,
                &[("user", &long), ("assistant", "ten"), ("user", "two")],
            )
            .chain(16);
            let shared = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
            let head = prompt(&template, &[("user", &long)]).n_tokens();
            assert_eq!(shared, (head + template.message_head_tokens) / 16, "{template:?}");
        }
    }

    #[test]
    fn a_role_is_part_of_the_text_unless_the_template_is_bare() {
        let templates = [(Template::default(), false), (Template::bare(1), true)];
        for (template, equal) in templates {
            let text = "y".repeat(64);
            let user = prompt(&template, &[("user", &text)]).chain(16);
            assert_eq!(user == prompt(&template, &[("tool", &text)]).chain(16), equal);
        }
    }

    #[test]
    fn an_answer_sent_back_continues_the_blocks_it_made() {
        let template = Template::default();
        let answer = Answer::new(9, &template);
        let mut served = prompt(&template, &[("user", "question")]);
        served.open(&template, "assistant");
        served.answer(&answer, 100);
        let mut text = String::new();
        answer.write(0..100, &mut text);
        let next = prompt(
            &template,
            &[("user", "question"), ("assistant", &text), ("user", "more")],
        );
        let (served, next) = (served.chain(16), next.chain(16));
        assert_eq!(served[..], next[..served.len()]);
    }
}
