//! The tokens that drawn prompts consist of: such as remain what they are when their text is joined and encoded.
//!
//! Text that goes through a chat endpoint is tokenized again by the server, and neighbours can merge or break there. Words
//! that begin with a blank do not: pre-tokenizers cut in front of the blank. Which of them really come back is found out
//! with the tokenizer itself, so that no property of a vocabulary is taken on trust (`trace-csv` §4.3). Never takes a special
//! or an added token.

use std::borrow::Cow;

use rng::Numpy;

use super::Sequence;
use crate::prompt::{PromptError, Tokenizer};

/// Fewest tokens to draw from. Five bits a token: two blocks of 16 tokens are alike by chance once in 2⁸⁰.
pub(crate) const LEAST_SAFE_TOKENS: usize = 32;

/// Ids from here on are not looked at; the largest vocabularies known have a quarter of it.
const MAX_IDS: u32 = 1 << 20;

/// In so many random orders, one after the other, the joined text must come back without a change. Not all pairs of a
/// large vocabulary are seen in them, but so many that what they miss is rare in a prompt too.
const INTACT_ORDERS: usize = 2;

/// Orders that are tried before a vocabulary is given up in which too many words depend on their neighbours.
const MAX_ORDERS: usize = 8;

/// Fewest pairs of neighbours in an order.
const LEAST_PAIRS: usize = 1 << 14;

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
        let spelled = |id| Some((id, tokenizer.spelling(id)?));
        let spellings: Vec<_> = (0..MAX_IDS).filter_map(spelled).collect();
        let mut best = (0, 0);
        for form in [Form::Marked, Form::Unmarked, Form::Single] {
            let word = |(id, spelling): &(u32, Cow<'static, [u8]>)| {
                form.text(spelling).map(|text| Word { id: *id, text })
            };
            let words: Vec<Word> = spellings.iter().filter_map(word).collect();
            let candidates = words.len();
            let safe = safe(tokenizer, words);
            if safe.len() >= LEAST_SAFE_TOKENS {
                return Ok(Self::new(&safe));
            }
            best = best.max((safe.len(), candidates));
        }
        let (safe, candidates) = best;
        Err(PromptError::TooFewSafeTokens { candidates, safe })
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

/// Those of `words` that come back in any order that was tried; none when they depend on their neighbours too much.
fn safe(tokenizer: &Tokenizer, mut words: Vec<Word>) -> Vec<Word> {
    let mut orders = Sequence(Numpy::new(0));
    let mut intact = 0;
    for _ in 0..MAX_ORDERS {
        if words.is_empty() {
            break;
        }
        let order = order(words.len(), &mut orders);
        let mut dropped = vec![false; words.len()];
        if sift(tokenizer, &words, &order, &mut dropped) {
            intact += 1;
            if intact == INTACT_ORDERS {
                return words;
            }
        } else {
            intact = 0;
            let mut dropped = dropped.into_iter();
            words.retain(|_| dropped.next() == Some(false));
        }
    }
    Vec::new()
}

/// Positions of all words in random order, and of few words as many more, drawn as a prompt's are, as make
/// [`LEAST_PAIRS`].
fn order(words: usize, orders: &mut Sequence) -> Vec<usize> {
    let mut order: Vec<usize> = (0..words).collect();
    orders.0.shuffle(&mut order);
    order.extend((words..LEAST_PAIRS).map(|_| orders.next(words)));
    order
}

/// True when the words of `order` come back. Else each half is looked at alone, down to the words that are to blame, which
/// are dropped: at least one.
fn sift(tokenizer: &Tokenizer, words: &[Word], order: &[usize], dropped: &mut [bool]) -> bool {
    if comes_back(tokenizer, words, order) {
        return true;
    }
    if let [word] = *order {
        dropped[word] = true;
        return false;
    }
    let (left, right) = order.split_at(order.len() / 2);
    let left_came = sift(tokenizer, words, left, dropped);
    let right_came = sift(tokenizer, words, right, dropped);
    if left_came && right_came {
        // What broke is where they meet.
        dropped[right[0]] = true;
    }
    false
}

/// True when the joined text of the words of `order` is encoded to their ids. The first one stands in front once more,
/// because some tokenizers put a blank of their own before a text.
fn comes_back(tokenizer: &Tokenizer, words: &[Word], order: &[usize]) -> bool {
    let texts = order[..1]
        .iter()
        .chain(order)
        .map(|&word| words[word].text.as_str());
    // A text that is refused, as one with unknown letters may be, is not safe either.
    let Ok(ids) = tokenizer.encode(&texts.collect::<String>()) else {
        return false;
    };
    let expected = order.iter().map(|&word| &words[word].id);
    ids.len() > order.len() && ids[ids.len() - order.len()..].iter().eq(expected)
}
