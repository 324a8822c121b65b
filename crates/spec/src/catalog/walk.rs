//! `validate-catalog`: every entry of a catalog, checked (`bindings.md` §10).

use std::path::Path;

use super::Catalog;
use crate::document::{Kind, read_bytes};
use crate::problem::is_ok;
use crate::render;

/// Namespaces of a catalog. We read the first.
const NAMESPACES: [&str; 5] = ["workloads", "models", "hardware", "networks", "devices"];

/// What the walk has to say, and how the command ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Walk {
    /// For standard output: a heading, a line for each good entry, a total.
    pub out: String,
    /// For standard error: every problem, and how many entries failed.
    pub err: String,
    /// 0 all good, 1 an entry failed, 2 there is nothing to validate.
    pub exit: u8,
}

/// Validates the catalog in this folder.
pub fn validate(root: &Path) -> Walk {
    if !root.is_dir() {
        let what = if root.exists() {
            "is not a folder"
        } else {
            "does not exist"
        };
        return refused(&format!("{} {what}; expected a catalog's folder", root.display()));
    }
    let present: Vec<&str> = NAMESPACES
        .into_iter()
        .filter(|name| root.join(name).is_dir())
        .collect();
    if present.is_empty() {
        return refused(&format!(
            "{} is not a catalog; expected one of the folders [{}] in it",
            root.display(),
            NAMESPACES.join(" ")
        ));
    }
    if !present.contains(&"workloads") {
        return refused(&format!(
            "{} has only [{}]; we validate workloads/, and it has none",
            root.display(),
            present.join(" ")
        ));
    }
    let catalog = Catalog::new(root);
    match catalog.names() {
        Err(error) => Walk {
            out: String::new(),
            err: format!("error: workloads/ cannot be read: {error}\n1 of 1 artifact(s) failed\n"),
            exit: 1,
        },
        Ok(names) if names.is_empty() => refused(&format!(
            "{} has nothing to validate; expected workloads/*.yaml",
            root.display()
        )),
        Ok(names) => entries(&catalog, &names),
    }
}

fn refused(message: &str) -> Walk {
    Walk {
        out: String::new(),
        err: format!("error: {message}\n"),
        exit: 2,
    }
}

fn entries(catalog: &Catalog, names: &[String]) -> Walk {
    let mut out = vec!["workloads\n".to_owned()];
    let mut err = Vec::new();
    let mut failed = 0;
    for name in names {
        if entry(catalog, name, &mut err) {
            out.push(format!("  {name}: ok\n"));
        } else {
            failed += 1;
        }
    }
    let total = names.len();
    if failed > 0 {
        err.push(format!("{failed} of {total} artifact(s) failed\n"));
    }
    out.push(format!("{} of {total} artifact(s) valid\n", total - failed));
    Walk {
        out: out.concat(),
        err: err.concat(),
        exit: u8::from(failed > 0),
    }
}

/// Validates one entry and tells its problems; whether it is good.
fn entry(catalog: &Catalog, name: &str, err: &mut Vec<String>) -> bool {
    match catalog.file(name) {
        Ok(Some(file)) => {
            let (_, problems) = read_bytes(&file.bytes, Some(Kind::Catalog));
            err.extend(
                problems
                    .iter()
                    .map(|problem| format!("{name}: {}\n", render::line(problem))),
            );
            is_ok(&problems)
        }
        unreadable => {
            let why = unreadable
                .err()
                .map_or_else(|| "no such file".to_owned(), |error| error.to_string());
            err.push(format!("{name}: error: cannot be read: {why}\n"));
            false
        }
    }
}
