//! The rules of `corpus`: a loader that the scenario accepts, the repository that goes with it, and a digest.

use super::Corpus;
use crate::check;
use crate::loaders::{Loader, USABLE, loader};
use crate::problem::{Report, shown};
use crate::view::View;
use crate::vocabulary::{CORPUS_ENCODINGS, CORPUS_FORMATS};

/// The corpus file where none is stated.
const FILE: &str = "traces.jsonl";
/// The dataset split where none is stated.
const SPLIT: &str = "train";

pub(super) fn check(view: &View<'_>, report: &mut Report) -> Option<Corpus> {
    let source = view.mapping("source");
    let loader = usable(view, report);
    let format = check::word(view, report, "format", &CORPUS_FORMATS);
    let encoding = check::word(view, report, "encoding", &CORPUS_ENCODINGS);
    let repository = repository(&source, loader, report);
    let revision = check::text(
        &source,
        report,
        "revision",
        "the commit the corpus was observed at",
    );
    let file = optional_text(&source, "file", FILE);
    let split = optional_text(&source, "split", SPLIT);
    let sha256 = match check::text(
        view,
        report,
        "sha256",
        "64 hex digits, the digest of the corpus file",
    ) {
        Some(_) => check::digest(view, report, "sha256"),
        None => None,
    };
    Some(Corpus {
        loader: loader?.name.to_owned(),
        format: format?.to_owned(),
        encoding: encoding?.to_owned(),
        repository: repository?.to_owned(),
        revision: revision?.to_owned(),
        file: file.to_owned(),
        split: split.to_owned(),
        sha256: sha256?,
    })
}

/// A stated text, or what omission and emptiness mean.
fn optional_text<'a>(view: &View<'a>, key: &str, default: &'a str) -> &'a str {
    view.text(key).filter(|text| !text.is_empty()).unwrap_or(default)
}

fn usable(view: &View<'_>, report: &mut Report) -> Option<&'static Loader> {
    let name = view.text("loader").unwrap_or("");
    if name == "weka_trace" {
        view.error(
            report,
            "loader",
            "weka_trace reads a local directory, which has no identity; expected a loader of a published corpus",
        )
        .hint("name the corpus' alias, and give a local copy on the command line with --corpus");
        return None;
    }
    let loader = loader(check::word(view, report, "loader", &USABLE)?)?;
    if loader.rolling {
        view.warning(
            report,
            "loader",
            format!(
                "rolling alias: it tracks whatever corpus is current, {} in this harness release",
                loader.repository
            ),
        )
        .hint("name the dated alias of the corpus");
    }
    Some(loader)
}

fn repository<'a>(source: &View<'a>, loader: Option<&Loader>, report: &mut Report) -> Option<&'a str> {
    const KEY: &str = "huggingface";
    let found = check::text(source, report, KEY, "the dataset repository, owner/name")?;
    if !is_owner_and_name(found) {
        let problem = source.error(
            report,
            KEY,
            format!("expected owner/name, found {}", shown(found)),
        );
        if let Some(loader) = loader {
            problem.hint(format!("write {}", loader.repository));
        }
        return None;
    }
    let Some(loader) = loader else { return Some(found) };
    if found != loader.repository {
        let message = format!(
            "{} reads {}, found {}",
            loader.name,
            loader.repository,
            shown(found)
        );
        source
            .error(report, KEY, message)
            .hint(format!("write {}", loader.repository));
        return None;
    }
    Some(found)
}

/// `^[A-Za-z0-9._-]+/[A-Za-z0-9._-]+$`
fn is_owner_and_name(text: &str) -> bool {
    let part = |part: &str| {
        !part.is_empty()
            && part
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
    };
    text.split_once('/')
        .is_some_and(|(owner, name)| part(owner) && part(name))
}
