//! Text to tree: one document, unique keys, no tags that change a meaning, within fixed budgets.

use std::collections::{HashMap, HashSet};

use granit_parser::{Event, Marker, Parser, ScalarStyle, Span, Tag};

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
                if !tagged_text {
                    refuse_tag(tag.as_deref(), place)?;
                }
                let plain = style == ScalarStyle::Plain && !tagged_text;
                let value = Value::Scalar(Scalar {
                    text: text.into_owned(),
                    plain,
                });
                self.place_node(Node { place, value }, anchor)
            }
            Event::SequenceStart(_, anchor, tag) => {
                refuse_tag(tag.as_deref(), place)?;
                self.enter(Open {
                    place,
                    anchor,
                    content: Content::List(Vec::new()),
                })
            }
            Event::MappingStart(_, anchor, tag) => {
                refuse_tag(tag.as_deref(), place)?;
                let content = Content::Mapping {
                    entries: Vec::new(),
                    seen: HashSet::new(),
                    key: None,
                };
                self.enter(Open {
                    place,
                    anchor,
                    content,
                })
            }
            Event::SequenceEnd | Event::MappingEnd => self.leave(),
            Event::Alias(anchor) => match self.anchors.get(&anchor) {
                // The repetition stands where the alias does, so its problems point there.
                Some(node) => {
                    let copy = node.clone();
                    self.nodes += count(&copy);
                    self.place_node(moved(copy, place), 0)
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

/// The place of a byte offset. The end of the text counts as the end of its last line, so that every place is inside.
pub(crate) fn locate(text: &str, offset: usize) -> Place {
    let mut start = offset.min(text.trim_end_matches(['\n', '\r']).len());
    while !text.is_char_boundary(start) {
        start -= 1;
    }
    let before = &text[..start];
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
    let column = before[line_start..]
        .trim_start_matches('\u{feff}')
        .chars()
        .count()
        + 1;
    Place {
        line: line as u32,
        column: column as u32,
        start,
        end: start,
        in_entry: false,
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

fn refuse_tag(tag: Option<&Tag>, place: Place) -> Result<(), Fault> {
    match tag {
        None => Ok(()),
        Some(tag) => Err((
            place,
            format!("the tag {tag} is not read; write the value without it"),
        )),
    }
}

fn count(node: &Node) -> usize {
    1 + match &node.value {
        Value::Scalar(_) => 0,
        Value::List(items) => items.iter().map(count).sum(),
        Value::Mapping(entries) => entries.iter().map(|(_, value)| count(value)).sum(),
    }
}

fn moved(mut node: Node, place: Place) -> Node {
    node.place = place;
    match &mut node.value {
        Value::Scalar(_) => {}
        Value::List(items) => {
            *items = std::mem::take(items)
                .into_iter()
                .map(|item| moved(item, place))
                .collect();
        }
        Value::Mapping(entries) => {
            *entries = std::mem::take(entries)
                .into_iter()
                .map(|(mut key, value)| {
                    key.place = place;
                    (key, moved(value, place))
                })
                .collect();
        }
    }
    node
}
