//! The tokens that drawn prompts consist of: such as remain what they are when their text is joined and encoded.
//!
//! Text that goes through a chat endpoint is tokenized again by the server, and neighbours can merge or break there. Words
//! that begin with a blank do not: pre-tokenizers cut in front of the blank. Which of them really come back is found out
//! with the tokenizer itself, so that no property of a vocabulary is taken on trust (`trace-csv` §4.3). Never takes a special
//! or an added token.

use rng::Numpy;

use crate::prompt::{PromptError, Tokenizer};

/// Fewest tokens to draw from. Five bits a token: two blocks of 16 tokens are alike by chance once in 2⁸⁰.
pub(crate) const LEAST_SAFE_TOKENS: usize = 32;

/// Ids from here on are not looked at; the largest vocabularies known have a quarter of it.
const MAX_IDS: u32 = 1 << 20;

/// In so many orders, one after the other, the joined text must come back without a change.
const INTACT_ORDERS: usize = 2;

/// Orders that are tried before a vocabulary is given up whose words stand alone but not beside each other.
const MAX_ORDERS: usize = 8;

/// Tokens that come back unchanged when their joined text is encoded, with what a body needs of each.
pub struct SafeTokens {
    ids: Box<[u32]>,
    texts: Pieces,
    numbers: Pieces,
}

impl SafeTokens {
    /// Those of `tokenizer`: words with their leading blank; where it has none, letters, digits and the blank.
    ///
    /// # Errors
    /// When too few come back to draw prompts from.
    pub fn of(tokenizer: &Tokenizer) -> Result<Self, PromptError> {
        let mut tried = 0;
        let mut found = 0;
        for form in [Form::Marked, Form::Unmarked, Form::Single] {
            let words = words(tokenizer, form);
            tried = tried.max(words.len());
            let safe = safe(tokenizer, words);
            if safe.len() >= LEAST_SAFE_TOKENS {
                return Ok(Self::new(&safe));
            }
            found = found.max(safe.len());
        }
        Err(PromptError::TooFewSafeTokens {
            candidates: tried,
            safe: found,
        })
    }

    fn new(words: &[Word]) -> Self {
        Self {
            ids: words.iter().map(|word| word.id).collect(),
            texts: words.iter().map(|word| word.text.as_str()).collect(),
            numbers: words.iter().map(|word| word.id.to_string()).collect(),
        }
    }

    /// How many there are.
    #[expect(clippy::len_without_is_empty, reason = "it is never empty")]
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Their ids, ascending.
    pub fn ids(&self) -> &[u32] {
        &self.ids
    }

    /// Text of the token at `position` as the inside of a JSON string; blanks, letters and digits need no escape.
    pub(super) fn text(&self, position: usize) -> &[u8] {
        self.texts.get(position)
    }

    /// Id of the token at `position` in decimal.
    pub(super) fn number(&self, position: usize) -> &[u8] {
        self.numbers.get(position)
    }
}

/// Short byte strings, one behind the other.
struct Pieces {
    bytes: Box<[u8]>,
    /// One more than there are pieces.
    places: Box<[u32]>,
}

impl Pieces {
    fn get(&self, position: usize) -> &[u8] {
        &self.bytes[self.places[position] as usize..self.places[position + 1] as usize]
    }
}

impl<T: AsRef<str>> FromIterator<T> for Pieces {
    fn from_iter<I: IntoIterator<Item = T>>(pieces: I) -> Self {
        let mut bytes = Vec::new();
        let mut places = vec![0];
        for piece in pieces {
            bytes.extend_from_slice(piece.as_ref().as_bytes());
            places.push(bytes.len() as u32); // a vocabulary has nothing like 4 GiB of words
        }
        Self {
            bytes: bytes.into_boxed_slice(),
            places: places.into_boxed_slice(),
        }
    }
}

/// How a vocabulary may write a token that is safe.
#[derive(Clone, Copy)]
enum Form {
    /// A word begins with a blank (byte-level) or with `▁` (`SentencePiece`).
    Marked,
    /// A word is written plainly, and what continues one is marked (`WordPiece`).
    Unmarked,
    /// One letter, digit or blank.
    Single,
}

impl Form {
    /// The text that a token with this spelling stands for, if it is of this form.
    fn text(self, spelling: &[u8]) -> Option<String> {
        let text = std::str::from_utf8(spelling).ok()?;
        let is_word = |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphabetic());
        match self {
            Self::Marked => {
                let word = text.strip_prefix([' ', '\u{2581}'])?;
                is_word(word).then(|| format!(" {word}"))
            }
            Self::Unmarked => is_word(text).then(|| format!(" {text}")),
            Self::Single => {
                let single = matches!(spelling, [byte] if byte.is_ascii_alphanumeric() || *byte == b' ');
                single.then(|| text.to_owned())
            }
        }
    }
}

struct Word {
    id: u32,
    text: String,
}

fn words(tokenizer: &Tokenizer, form: Form) -> Vec<Word> {
    let word = |id| {
        let text = form.text(&tokenizer.spelling(id)?)?;
        Some(Word { id, text })
    };
    (0..MAX_IDS).filter_map(word).collect()
}

/// Those of `words` that come back in any order; none when no end of dropping is in sight.
fn safe(tokenizer: &Tokenizer, mut words: Vec<Word>) -> Vec<Word> {
    let mut orders = Numpy::new(0);
    let mut intact = 0;
    for _ in 0..MAX_ORDERS {
        if words.len() < LEAST_SAFE_TOKENS {
            break;
        }
        orders.shuffle(&mut words);
        if come_back(tokenizer, &words) {
            intact += 1;
            if intact == INTACT_ORDERS {
                words.sort_unstable_by_key(|word| word.id);
                return words;
            }
        } else {
            intact = 0;
            let mut kept = vec![false; words.len()];
            sift(tokenizer, &words, &mut kept);
            let mut kept = kept.into_iter();
            words.retain(|_| kept.next().is_some_and(|kept| kept));
        }
    }
    Vec::new()
}

/// Marks the words of every longest part that comes back, found by halving.
fn sift(tokenizer: &Tokenizer, words: &[Word], kept: &mut [bool]) {
    if words.is_empty() {
        return;
    }
    if come_back(tokenizer, words) {
        return kept.fill(true);
    }
    let half = words.len() / 2;
    if half > 0 {
        let (left, right) = kept.split_at_mut(half);
        sift(tokenizer, &words[..half], left);
        sift(tokenizer, &words[half..], right);
    }
}

/// True when the joined text of `words` is encoded to their ids. The first word stands in front of it once more, because
/// some tokenizers put a blank of their own before a text.
fn come_back(tokenizer: &Tokenizer, words: &[Word]) -> bool {
    let text: String = words[..1]
        .iter()
        .chain(words)
        .map(|word| word.text.as_str())
        .collect();
    // A text that is refused, as one with unknown letters may be, is not safe either.
    let Ok(ids) = tokenizer.encode(&text) else {
        return false;
    };
    let expected = words.iter().map(|word| &word.id);
    ids.len() > words.len() && ids[ids.len() - words.len()..].iter().eq(expected)
}
