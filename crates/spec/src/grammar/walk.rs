//! The structure stage: unknown keys and wrong types, all of them, each at its own place.

use super::{Form, Table};
use crate::problem::{Report, shown};
use crate::vocabulary::{listed, nearest};
use crate::yaml::scalar::{self, Meaning};
use crate::yaml::{Key, Node, Value, join};

/// Checks a whole document. The root must be a mapping.
pub(crate) fn document(root: &Node, table: &'static Table, report: &mut Report) {
    if refuses_tag(root, "", report) {
        return;
    }
    if !root.is_mapping() {
        report.error(
            "",
            root.place,
            format!("expected a mapping of keys, found {}", described(root)),
        );
        return;
    }
    mapping(root, table, false, "", report);
}

fn mapping(node: &Node, table: &'static Table, keeps_unknown: bool, path: &str, report: &mut Report) {
    for (key, value) in node.entries() {
        if table.drops(&key.text) {
            continue;
        }
        let path_here = join(path, &key.text);
        match table.field(&key.text) {
            Some(field) => form(value, &field.form, &path_here, report),
            None if keeps_unknown && !is_merge(key) => {
                report.warning(
                    path_here,
                    key.place,
                    format!(
                        "unknown key {}, kept as it is; known are {}",
                        shown(&key.text),
                        keys(table)
                    ),
                );
            }
            None => unknown(key, table, path_here, report),
        }
    }
}

fn unknown(key: &Key, table: &'static Table, path: String, report: &mut Report) {
    let message = format!(
        "unknown key {}; expected one of {}",
        shown(&key.text),
        keys(table)
    );
    let problem = report.error(path, key.place, message);
    if is_merge(key) {
        problem.hint("merge keys are not read; write the merged keys out");
    } else if key.text.starts_with('_') && table.comments {
        problem.hint("a comment key is _comment or begins with _comment_");
    } else if key.text.starts_with("_comment") {
        problem.hint("comment keys are not read here; write a YAML comment, # …");
    } else if table.comments && key.text == "name" {
        problem.hint("an entry is named by its file; leave the key out");
    } else if let Some(near) = nearest(&key.text, table.fields.iter().map(|field| field.key)) {
        problem.hint(format!("did you mean {near}?"));
    }
}

fn is_merge(key: &Key) -> bool {
    key.plain && key.text == "<<"
}

fn keys(table: &Table) -> String {
    listed(&table.fields.iter().map(|field| field.key).collect::<Vec<_>>())
}

fn form(node: &Node, form: &Form, path: &str, report: &mut Report) {
    if matches!(form, Form::Any) || refuses_tag(node, path, report) || node.is_null() {
        return;
    }
    match (form, &node.value) {
        (Form::Mapping(table), Value::Mapping(_)) => mapping(node, table, false, path, report),
        (Form::Inline(table), Value::Mapping(_)) => mapping(node, table, true, path, report),
        (Form::Named(table), Value::Mapping(entries)) => {
            for (key, value) in entries {
                if is_merge(key) {
                    report
                        .error(
                            join(path, &key.text),
                            key.place,
                            "unknown key \"<<\"; expected a class name",
                        )
                        .hint("merge keys are not read; write the merged keys out");
                } else {
                    self::form(value, &Form::Mapping(table), &join(path, &key.text), report);
                }
            }
        }
        (Form::Numbers | Form::Texts | Form::NumberOrRange, Value::List(items)) => {
            let item_form = if matches!(form, Form::Texts) {
                &Form::Text
            } else {
                NUMBER
            };
            for (index, item) in items.iter().enumerate() {
                let path = format!("{path}[{index}]");
                // Null is "not stated" for a key; a list has no keys.
                if !refuses_tag(item, &path, report) && !accepts(item_form, item) {
                    wrong_type(item, item_form, &path, report);
                }
            }
        }
        _ if accepts(form, node) => {}
        _ => wrong_type(node, form, path, report),
    }
}

/// Tells a tag that could change what the value means; whether there is one.
fn refuses_tag(node: &Node, path: &str, report: &mut Report) -> bool {
    let Some(tag) = &node.tag else { return false };
    let message = format!("expected a value without a tag, found the tag {}", shown(tag));
    report.error(path, node.place, message);
    true
}

const NUMBER: &Form = &Form::Number(super::Bound::Free);

/// Whether a scalar has the type that a form asks for.
fn accepts(form: &Form, node: &Node) -> bool {
    let Some(meaning) = node.meaning() else {
        return false;
    };
    match form {
        Form::Text | Form::Word(_) => meaning == Meaning::Text,
        Form::Switch(_) => matches!(meaning, Meaning::Text | Meaning::Boolean(_)),
        Form::Integer(_) => is_integer(meaning),
        Form::IntegerOr(word) => is_integer(meaning) || (meaning == Meaning::Text && node.text() == *word),
        Form::Number(_) | Form::NumberOrRange => match meaning {
            Meaning::Float(_) => true,
            Meaning::Integer(_) => !node.text().starts_with("0x") && !node.text().starts_with("0o"),
            _ => false,
        },
        Form::Boolean => matches!(meaning, Meaning::Boolean(_)),
        _ => false,
    }
}

fn is_integer(meaning: Meaning) -> bool {
    matches!(meaning, Meaning::Integer(value) if i64::try_from(value).is_ok() || u64::try_from(value).is_ok())
}

fn wrong_type(node: &Node, form: &Form, path: &str, report: &mut Report) {
    let message = format!("expected {}, found {}", expected(form), described(node));
    let hint = type_hint(node, form, path);
    let problem = report.error(path, node.place, message);
    problem.hint = hint;
}

fn expected(form: &Form) -> String {
    match form {
        Form::Text => "text".to_owned(),
        Form::Word(words) | Form::Switch(words) => format!("one of {}", listed(words)),
        Form::Integer(_) => "an integer".to_owned(),
        Form::Number(_) => "a number".to_owned(),
        Form::Boolean => "true or false".to_owned(),
        Form::IntegerOr(word) => format!("an integer or {word}"),
        Form::NumberOrRange => "a number or a list of two numbers".to_owned(),
        Form::Numbers => "a list of numbers".to_owned(),
        Form::Texts => "a list of words".to_owned(),
        Form::Any => "anything".to_owned(),
        Form::Mapping(table) | Form::Inline(table) => format!("a mapping with the keys {}", keys(table)),
        Form::Named(table) => format!(
            "a mapping from class names to mappings with the keys {}",
            keys(table)
        ),
    }
}

/// What a node is, for "found …".
pub(crate) fn described(node: &Node) -> String {
    let text = node.text();
    match (&node.value, node.meaning()) {
        (Value::List(items), _) => format!("a list of {}", items.len()),
        (Value::Mapping(_), _) => "a mapping".to_owned(),
        (_, Some(Meaning::Null)) => "nothing".to_owned(),
        (_, Some(Meaning::Boolean(_))) => format!("the boolean {text}"),
        (_, Some(meaning @ Meaning::Integer(_))) if !is_integer(meaning) => {
            format!("the integer {}, which does not fit in 64 bits", shown(text))
        }
        (_, Some(Meaning::Integer(_))) => format!("the integer {text}"),
        (_, Some(Meaning::Float(_))) => format!("the number {text}"),
        _ => format!("the text {}", shown(text)),
    }
}

fn type_hint(node: &Node, form: &Form, path: &str) -> Option<String> {
    let text = node.text();
    let (Some(meaning), Value::Scalar(word)) = (node.meaning(), &node.value) else {
        let one_value =
            matches!(node.value, Value::List(_)) && matches!(form, Form::Integer(_) | Form::Number(_));
        return one_value.then(|| "state one value; a run is not a sweep".to_owned());
    };
    match form {
        Form::Text | Form::Word(_) if meaning != Meaning::Text => Some(format!("quote it: \"{text}\"")),
        Form::Boolean if ["yes", "on", "y", "1"].contains(&text.to_lowercase().as_str()) => {
            Some("write true".to_owned())
        }
        Form::Boolean if ["no", "off", "n", "0"].contains(&text.to_lowercase().as_str()) => {
            Some("write false".to_owned())
        }
        Form::Integer(_) | Form::Number(_) | Form::IntegerOr(_) | Form::NumberOrRange | Form::Boolean
            if meaning == Meaning::Text =>
        {
            number_hint(text, word.plain, form)
        }
        Form::Integer(_) | Form::IntegerOr(_) => match meaning {
            Meaning::Float(value) if value.fract() == 0.0 && value.abs() < 1e15 => {
                Some(format!("write {value}, without a fraction or an exponent"))
            }
            _ => None,
        },
        Form::Mapping(_) if path == "workload" && meaning == Meaning::Text => Some(format!(
            "to name a shape of the catalog, write workload: {{shape: {text}}}"
        )),
        _ => None,
    }
}

fn number_hint(text: &str, plain: bool, form: &Form) -> Option<String> {
    if !plain && !matches!(scalar::meaning(text), Meaning::Text | Meaning::Null) {
        return Some(format!("leave the quotes out: {text}"));
    }
    let bare = text.replace(['_', ','], "");
    let trimmed = bare.trim_start_matches('0');
    if !trimmed.is_empty() && matches!(scalar::meaning(trimmed), Meaning::Integer(_)) && trimmed != text {
        return Some(format!("write {trimmed}"));
    }
    let infinite = ["inf", "infinity", "+inf"].contains(&text.to_lowercase().as_str());
    (infinite && matches!(form, Form::Number(_))).then(|| "infinity is written .inf".to_owned())
}
