//! Problems for people and for machines. The only place where their form is decided; printing is the caller's.

use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
use serde_json::{Value, json};

use crate::problem::{Place, Problem, Severity, is_ok};

/// Longest line that is shown whole, in bytes.
const LINE_BYTES_MAX: usize = 4096;

/// A file as problems are shown in it.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// The name to show.
    pub file: &'a str,
    /// The text that was read.
    pub text: &'a str,
}

/// Problems for a terminal: `error: path: message`, the place, the line with a caret, the hint. Colours only when asked.
pub fn text(problems: &[Problem], source: Source<'_>, colours: bool) -> String {
    let renderer = if colours {
        Renderer::styled()
    } else {
        Renderer::plain()
    }
    .decor_style(DecorStyle::Ascii);
    let mut out = String::new();
    for problem in problems {
        out.push_str(&one(problem, source, &renderer));
        out.push('\n');
    }
    out
}

fn one(problem: &Problem, source: Source<'_>, renderer: &Renderer) -> String {
    let level = match problem.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let mut group = level
        .primary_title(problem.title())
        .elements(Vec::<annotate_snippets::Message<'_>>::new());
    if let Some(place) = problem.place {
        let (line, start, end) = line_of(source.text, place);
        if line.len() <= LINE_BYTES_MAX {
            group = group.element(
                Snippet::source(line)
                    .line_start(place.line as usize)
                    .path(source.file)
                    .annotation(AnnotationKind::Primary.span(start..end)),
            );
        } else {
            group = group.element(
                annotate_snippets::Origin::path(source.file)
                    .line(place.line as usize)
                    .char_column(place.column as usize),
            );
        }
    }
    if let Some(hint) = &problem.hint {
        group = group.element(Level::HELP.with_name("hint").message(hint.as_str()));
    }
    renderer.render(&[group])
}

/// The line of a place, and the place's bytes in it.
fn line_of(text: &str, place: Place) -> (&str, usize, usize) {
    let start = place.start.min(text.len());
    let from = text[..start].rfind('\n').map_or(0, |at| at + 1);
    let to = text[start..].find('\n').map_or(text.len(), |at| start + at);
    let line = text[from..to].trim_end_matches('\r');
    let end = place.end.min(from + line.len()).max(start);
    (line, (start - from).min(line.len()), (end - from).min(line.len()))
}

/// A problem on one line, with its place and hint.
pub fn line(problem: &Problem) -> String {
    let place = problem.place.map_or(String::new(), |place| {
        format!(" (line {}, column {})", place.line, place.column)
    });
    let hint = problem
        .hint
        .as_ref()
        .map_or(String::new(), |hint| format!("; hint: {hint}"));
    format!("{problem}{place}{hint}")
}

/// Problems of several files as the one object of `validate --format json`: `problems` and `ok`. Warnings leave it true.
pub fn to_json<'a>(files: impl IntoIterator<Item = (&'a str, &'a [Problem])>) -> Value {
    let mut ok = true;
    let mut all = Vec::new();
    for (file, problems) in files {
        ok &= is_ok(problems);
        all.extend(problems.iter().map(|problem| problem_json(file, problem)));
    }
    json!({"problems": all, "ok": ok})
}

fn problem_json(file: &str, problem: &Problem) -> Value {
    let mut object = json!({
        "file": file,
        "path": problem.path,
        "severity": problem.severity.to_string(),
        "message": problem.message,
        "line": problem.place.map(|place| place.line),
        "column": problem.place.map(|place| place.column),
    });
    if let Some(hint) = &problem.hint {
        object["hint"] = hint.as_str().into();
    }
    object
}
