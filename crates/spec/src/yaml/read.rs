//! Text to tree: one document, unique keys, no tags that change a meaning, within fixed budgets.

use std::collections::{HashMap, HashSet};

use granit_parser::{Event, Marker, Parser, ScalarStyle, Span, Tag};

use super::place::{locate, lone_carriage_return};
use super::{Key, Node, Scalar, Value};
use crate::problem::{Place, Report};

/// Longest document, in bytes. A hundred times the largest one we have seen.
const BYTES_MAX: usize = 1 << 20;
/// Most values in one document, repetitions by alias included; keeps an alias bomb small.
const NODES_MAX: usize = 100_000;
/// Deepest nesting. The deepest rule of any document has six levels.
const DEPTH_MAX: usize = 64;

/// The document's root, if its syntax is whole. Duplicate keys are reported and the first of them is kept.
pub(crate) fn read(text: &str, report: &mut Report) -> Option<Node> {
    if text.len() > BYTES_MAX {
        report.error(
            "",
            Place::START,
            format!(
                "the document has {} bytes; at most {BYTES_MAX} are read",
                text.len()
            ),
        );
        return None;
    }
    // YAML takes it for a line end and editors do not; every line number after it would be wrong in one of them.
    if let Some(at) = lone_carriage_return(text) {
        let message = "a carriage return without a line feed; expected lines that end in \\n or \\r\\n";
        report.error("", locate(text, at), message);
        return None;
    }
    let mut reader = Reader {
        text,
        report,
        anchors: HashMap::new(),
        open: Vec::new(),
        root: None,
        nodes: 0,
    };
    for next in Parser::new_from_str(text) {
        let step = match next {
            Ok((event, span)) => reader.take(event, &span),
            Err(error) => {
                let place = reader.at(error.marker());
                Err((place, format!("not YAML: {}", error.info())))
            }
        };
        if let Err((place, message)) = step {
            reader.report.error("", place, message);
            return None;
        }
    }
    if reader.root.is_none() {
        reader.report.error(
            "",
            Place::START,
            "the document is empty; expected a mapping of keys",
        );
    }
    reader.root
}

const KEY_IS_A_WORD: &str = "a key must be a single word, not a list or a mapping";

/// What ends the reading, and where.
type Fault = (Place, String);

struct Reader<'a> {
    text: &'a str,
    report: &'a mut Report,
    anchors: HashMap<usize, Node>,
    open: Vec<Open>,
    root: Option<Node>,
    nodes: usize,
}

/// A collection whose end has not come yet.
struct Open {
    place: Place,
    anchor: usize,
    tag: Option<String>,
    content: Content,
}

enum Content {
    List(Vec<Node>),
    Mapping {
        entries: Vec<(Key, Node)>,
        seen: HashSet<String>,
        key: Option<Key>,
    },
}

impl Reader<'_> {
    fn take(&mut self, event: Event<'_>, span: &Span) -> Result<(), Fault> {
        let place = self.place(span);
        match event {
            Event::DocumentStart(..) if self.root.is_some() => Err((
                place,
                "a second document begins here; a file holds one".to_owned(),
            )),
            Event::Scalar(text, style, anchor, tag) => {
                let tagged_text = tag.as_deref().is_some_and(is_text_tag);
                let plain = style == ScalarStyle::Plain && !tagged_text;
                let value = Value::Scalar(Scalar {
                    text: text.into_owned(),
                    plain,
                });
                let tag = tag.as_deref().filter(|_| !tagged_text).map(Tag::to_string);
                self.place_node(Node { place, value, tag }, anchor)
            }
            Event::SequenceStart(_, anchor, tag) => {
                let content = Content::List(Vec::new());
                self.enter(Open {
                    place,
                    anchor,
                    tag: tag.as_deref().map(Tag::to_string),
                    content,
                })
            }
            Event::MappingStart(_, anchor, tag) => {
                let content = Content::Mapping {
                    entries: Vec::new(),
                    seen: HashSet::new(),
                    key: None,
                };
                self.enter(Open {
                    place,
                    anchor,
                    tag: tag.as_deref().map(Tag::to_string),
                    content,
                })
            }
            Event::SequenceEnd | Event::MappingEnd => self.leave(),
            Event::Alias(anchor) => match self.anchors.get(&anchor) {
                // The repetition stands where the alias does, so its problems point there.
                Some(node) => {
                    let copy = node.clone();
                    self.nodes += copy.count();
                    self.place_node(copy.moved(place), 0)
                }
                None => Err((place, "an alias inside the value it names".to_owned())),
            },
            _ => Ok(()),
        }
    }

    fn enter(&mut self, open: Open) -> Result<(), Fault> {
        if self.open.len() >= DEPTH_MAX {
            return Err((open.place, format!("nested deeper than {DEPTH_MAX} levels")));
        }
        if self.awaits_key() {
            return Err((open.place, KEY_IS_A_WORD.to_owned()));
        }
        self.open.push(open);
        Ok(())
    }

    fn leave(&mut self) -> Result<(), Fault> {
        let open = self.open.pop().expect("the parser balances starts and ends");
        let value = match open.content {
            Content::List(items) => Value::List(items),
            Content::Mapping { entries, .. } => Value::Mapping(entries),
        };
        self.place_node(
            Node {
                place: open.place,
                value,
                tag: open.tag,
            },
            open.anchor,
        )
    }

    fn awaits_key(&self) -> bool {
        matches!(
            self.open.last(),
            Some(Open {
                content: Content::Mapping { key: None, .. },
                ..
            })
        )
    }

    fn place_node(&mut self, node: Node, anchor: usize) -> Result<(), Fault> {
        self.nodes += 1;
        if self.nodes > NODES_MAX {
            return Err((
                node.place,
                format!("the document has more than {NODES_MAX} values"),
            ));
        }
        if anchor != 0 {
            self.anchors.insert(anchor, node.clone());
        }
        match self.open.last_mut().map(|open| &mut open.content) {
            None => self.root = Some(node),
            Some(Content::List(items)) => items.push(node),
            Some(Content::Mapping { key: slot @ None, .. }) => {
                let Value::Scalar(scalar) = node.value else {
                    return Err((node.place, KEY_IS_A_WORD.to_owned()));
                };
                *slot = Some(Key {
                    text: scalar.text,
                    plain: scalar.plain,
                    place: node.place,
                });
                self.refuse_duplicate();
            }
            Some(Content::Mapping { entries, seen, key }) => {
                let key = key.take().expect("the arm above takes mappings that await a key");
                if seen.insert(key.text.clone()) {
                    entries.push((key, node));
                }
            }
        }
        Ok(())
    }

    /// Reports the key just read if its mapping has it already.
    fn refuse_duplicate(&mut self) {
        let Some(Open {
            content: Content::Mapping {
                seen, key: Some(key), ..
            },
            ..
        }) = self.open.last()
        else {
            return;
        };
        if seen.contains(&key.text) {
            let (path, place) = (join(&self.path(), &key.text), key.place);
            self.report.error(
                path,
                place,
                "this key is stated twice in one mapping; keep one of the two",
            );
        }
    }

    /// The path of the innermost open collection.
    fn path(&self) -> String {
        let mut path = String::new();
        let outer = self.open.len().saturating_sub(1);
        for open in &self.open[..outer] {
            path = match &open.content {
                Content::List(items) => format!("{path}[{}]", items.len()),
                Content::Mapping { key: Some(key), .. } => join(&path, &key.text),
                Content::Mapping { key: None, .. } => path,
            };
        }
        path
    }

    fn place(&self, span: &Span) -> Place {
        let mut place = self.at(&span.start);
        place.end = span
            .end
            .byte_offset()
            .unwrap_or(place.start)
            .clamp(place.start, self.text.len());
        place
    }

    fn at(&self, marker: &Marker) -> Place {
        let start = marker.byte_offset().unwrap_or(0);
        if start >= self.text.len() || !self.text.is_char_boundary(start) {
            return locate(self.text, start);
        }
        let (line, column) = (marker.line() as u32, marker.col() as u32 + 1);
        Place {
            line,
            column,
            start,
            end: start,
            in_entry: false,
        }
    }
}

/// `path.key`, or `key` alone at the root.
pub(crate) fn join(path: &str, key: &str) -> String {
    if path.is_empty() {
        key.to_owned()
    } else {
        format!("{path}.{key}")
    }
}

fn is_text_tag(tag: &Tag) -> bool {
    tag.is_yaml_core_schema_tag("str") || (tag.handle() == "!" && tag.suffix().is_empty())
}
