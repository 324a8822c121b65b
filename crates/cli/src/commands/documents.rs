//! `validate`, `validate-catalog`, `resolve`, `schema`: documents alone.

use crate::args::{Format, ResolveArgs, SchemaArgs, ValidateArgs, ValidateCatalogArgs};
use crate::exit::Exit;
use crate::output;
use anyhow::Context;
use spec::catalog::Catalog;
use spec::render::Source;
use spec::{Document, Kind, Problem};
use std::path::Path;

/// A document that was read, as far as it could be.
struct Read {
    name: String,
    text: String,
    document: Option<Document>,
    problems: Vec<Problem>,
}

fn read(path: &Path, kind: Option<Kind>, catalog: Option<&Catalog>) -> anyhow::Result<Read> {
    let bytes = std::fs::read(path).with_context(|| format!("{} cannot be read", path.display()))?;
    let (document, problems) = spec::validate(&bytes, kind, catalog);
    let text = String::from_utf8_lossy(&bytes).into_owned();
    Ok(Read {
        name: path.display().to_string(),
        text,
        document,
        problems,
    })
}

pub(crate) fn validate(args: &ValidateArgs) -> anyhow::Result<Exit> {
    let catalog = args.catalog.clone().map(Catalog::new);
    let kind = args.kind.map(Kind::from);
    let read: Vec<Read> = args
        .files
        .iter()
        .map(|file| read(file, kind, catalog.as_ref()))
        .collect::<anyhow::Result<_>>()?;
    let ok = read.iter().all(|one| spec::problem::is_ok(&one.problems));
    match args.format {
        Format::Json => {
            let files: Vec<(&str, &[Problem])> = read
                .iter()
                .map(|one| (one.name.as_str(), one.problems.as_slice()))
                .collect();
            output::json(&spec::render::to_json(files))?;
        }
        Format::Text => {
            for one in &read {
                let source = Source {
                    file: &one.name,
                    text: &one.text,
                };
                if !one.problems.is_empty() {
                    output::say(&spec::render::text(
                        &one.problems,
                        source,
                        output::colours_on_stderr(),
                    ));
                }
                if spec::problem::is_ok(&one.problems) {
                    output::data(&format!("{}: ok\n", one.name))?;
                }
            }
        }
    }
    Ok(if ok { Exit::Done } else { Exit::Invalid })
}

pub(crate) fn validate_catalog(args: &ValidateCatalogArgs) -> anyhow::Result<Exit> {
    let walk = spec::catalog::validate(&args.root);
    output::data(&walk.out)?;
    if !walk.err.is_empty() {
        output::say(&walk.err);
    }
    Ok(match walk.exit {
        0 => Exit::Done,
        1 => Exit::Invalid,
        _ => Exit::Refused,
    })
}

pub(crate) fn resolve(args: &ResolveArgs) -> anyhow::Result<Exit> {
    let catalog = args.catalog.clone().map(Catalog::new);
    let Read {
        name,
        text,
        document,
        mut problems,
    } = read(&args.file, None, None)?;
    let mut effective = None;
    if let Some(document) = document.filter(|_| spec::problem::is_ok(&problems)) {
        let (resolved, more) = spec::resolve(&document, catalog.as_ref());
        problems.extend(more);
        effective = resolved;
    }
    if !problems.is_empty() {
        let source = Source {
            file: &name,
            text: &text,
        };
        output::say(&spec::render::text(
            &problems,
            source,
            output::colours_on_stderr(),
        ));
    }
    let Some(effective) = effective.filter(|_| spec::problem::is_ok(&problems)) else {
        return Ok(Exit::Invalid);
    };
    match args.format {
        Format::Text => output::data(&effective.to_yaml())?,
        Format::Json => output::json(&effective.to_json())?,
    }
    Ok(Exit::Done)
}

pub(crate) fn schema(args: &SchemaArgs) -> anyhow::Result<Exit> {
    let schema = match args.kind {
        Some(kind) => spec::schema::schema(kind.into()),
        None => spec::schema::schemas(),
    };
    output::data(&format!("{schema:#}\n"))?;
    Ok(Exit::Done)
}
