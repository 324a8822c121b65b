//! The manifests against `docs/architecture.md`: who uses whom, and which crates stay free of sockets; and against
//! `docs/dependencies.md`: what is used of others.
//!
//! The rules are read from these pages, so that neither a page nor a manifest can change alone.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

/// An async runtime, an HTTP or TLS library, and what these stand on.
const SOCKETS: [&str; 8] = [
    "async-std",
    "hyper",
    "mio",
    "reqwest",
    "rustls",
    "smol",
    "socket2",
    "tokio",
];
/// Crates of which the page's first invariant must speak, whatever others are added to it.
const PURE: [&str; 6] = ["record", "replay", "rng", "spec", "tree", "wire"];

/// Packages and what each needs to run, without `dev-dependencies` and `build-dependencies`.
struct Packages {
    names: BTreeMap<String, String>,
    needs: BTreeMap<String, Vec<String>>,
    ours: BTreeSet<String>,
    /// Packages of others that a manifest of ours names, for whatever purpose.
    direct: BTreeSet<String>,
}

impl Packages {
    /// As cargo resolves them for this machine; no network is asked.
    fn read() -> Self {
        let output = Command::new(env!("CARGO"))
            .args([
                "metadata",
                "--format-version",
                "1",
                "--offline",
                "--filter-platform",
            ])
            .arg(host())
            .current_dir(testkit::checkout())
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
        let packages = metadata["packages"].as_array().unwrap();
        let nodes = metadata["resolve"]["nodes"].as_array().unwrap();
        let ours = metadata["workspace_members"].as_array().unwrap();
        let ours: BTreeSet<String> = ours.iter().map(word).collect();
        let manifests = packages
            .iter()
            .filter(|package| ours.contains(&word(&package["id"])));
        let named = manifests.flat_map(|package| package["dependencies"].as_array().unwrap());
        Self {
            // A package of ours has a path, one of others a registry.
            direct: named
                .filter(|dependency| dependency["path"].is_null())
                .map(|dependency| word(&dependency["name"]))
                .collect(),
            names: packages
                .iter()
                .map(|package| (word(&package["id"]), word(&package["name"])))
                .collect(),
            needs: nodes
                .iter()
                .map(|node| (word(&node["id"]), needs(node)))
                .collect(),
            ours,
        }
    }

    fn id(&self, name: &str) -> &String {
        let found = self.ours.iter().find(|id| self.names[*id] == name);
        found.unwrap_or_else(|| panic!("no crate of the workspace is called {name}"))
    }

    /// Crates of ours that `id` needs itself.
    fn uses(&self, id: &str) -> BTreeSet<String> {
        let ours = self.needs[id].iter().filter(|needed| self.ours.contains(*needed));
        ours.map(|needed| self.names[needed].clone()).collect()
    }

    /// The shortest way from `id` to a package of [`SOCKETS`], by name.
    fn way_to_a_socket(&self, id: &str) -> Option<Vec<String>> {
        let mut seen = BTreeSet::from([id.to_owned()]);
        let mut ways = std::collections::VecDeque::from([vec![id.to_owned()]]);
        while let Some(way) = ways.pop_front() {
            let last = &way[way.len() - 1];
            if SOCKETS.contains(&self.names[last].as_str()) {
                return Some(way.iter().map(|id| self.names[id].clone()).collect());
            }
            for needed in &self.needs[last] {
                if seen.insert(needed.clone()) {
                    let further = way.iter().chain([needed]).cloned();
                    ways.push_back(further.collect());
                }
            }
        }
        None
    }
}

fn needs(node: &Value) -> Vec<String> {
    let is_normal = |dep: &&Value| {
        let mut kinds = dep["dep_kinds"].as_array().unwrap().iter();
        kinds.any(|kind| kind["kind"].is_null())
    };
    let deps = node["deps"].as_array().unwrap().iter();
    deps.filter(is_normal).map(|dep| word(&dep["pkg"])).collect()
}

fn word(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

fn host() -> String {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc).arg("-vV").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    host.unwrap().to_owned()
}

fn page(name: &str) -> String {
    std::fs::read_to_string(testkit::checkout().join("docs").join(name)).unwrap()
}

/// The cells of the table with this head.
fn table<'a>(page: &'a str, head: &str) -> Vec<Vec<&'a str>> {
    let rows = page.lines().skip_while(|line| *line != head).skip(2);
    rows.take_while(|line| line.starts_with('|'))
        .map(|row| row.trim_matches('|').split('|').map(str::trim).collect())
        .collect()
}

/// The words of `text` that stand in backticks.
fn quoted(text: &str) -> BTreeSet<String> {
    text.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// The page's table of who uses whom.
fn stated_uses(page: &str) -> BTreeMap<String, BTreeSet<String>> {
    let rows = table(page, "| crate | uses |").into_iter();
    rows.map(|cells| (quoted(cells[0]).pop_first().unwrap(), quoted(cells[1])))
        .collect()
}

/// The crates that the page's first invariant is about.
fn stated_pure(page: &str) -> BTreeSet<String> {
    let rule = page.split("\n1. ").nth(1).unwrap();
    quoted(rule.split(" have no ").next().unwrap())
}

#[test]
fn crates_use_what_the_page_says() {
    let packages = Packages::read();
    let found: BTreeMap<String, BTreeSet<String>> = packages
        .ours
        .iter()
        .map(|id| (packages.names[id].clone(), packages.uses(id)))
        .collect();
    let stated = stated_uses(&page("architecture.md"));
    for (name, uses) in &found {
        assert_eq!(
            Some(uses),
            stated.get(name),
            "`{name}`: its manifest, then the table of who uses whom in docs/architecture.md"
        );
    }
    for name in stated.keys() {
        assert!(
            found.contains_key(name),
            "docs/architecture.md speaks of `{name}`, which is no crate"
        );
    }
    let is_below_tests = |(name, uses): (&String, &BTreeSet<String>)| {
        !uses.contains("cli") && (name == "benches" || !uses.contains("testkit"))
    };
    assert!(found.iter().all(is_below_tests));
}

#[test]
fn pure_crates_reach_no_socket() {
    let packages = Packages::read();
    let stated = stated_pure(&page("architecture.md"));
    for name in PURE {
        assert!(
            stated.contains(name),
            "docs/architecture.md no longer says that `{name}` is pure"
        );
    }
    for name in &stated {
        let way = packages.way_to_a_socket(packages.id(name));
        assert_eq!(
            way, None,
            "`{name}` must have no async runtime and no HTTP library"
        );
    }
    // The search finds one where there is one.
    let way = packages.way_to_a_socket(packages.id("driver"));
    assert!(way.is_some_and(|way| way.len() > 1));
}

#[test]
fn every_dependency_has_its_reason() {
    let page = page("dependencies.md");
    let stated = table(&page, "| package | why |").into_iter();
    let stated: BTreeSet<String> = stated.map(|cells| cells[0].to_owned()).collect();
    assert_eq!(
        Packages::read().direct,
        stated,
        "the manifests, then the table in docs/dependencies.md"
    );
}
