//! What an auditor has to read beside the project: few crates, and each with its reason.

// It is the Linux binary's tree that is counted, and under Wine there is no cargo to ask; `spec/platforms.md` lists it.
#![cfg(unix)]

use std::collections::{BTreeSet, HashMap};
use std::process::Command;

use serde_json::Value;

const ARCHITECTURE: &str = include_str!("../../spec/architecture.md");

/// Fewer crates than this, the build-time ones included and this one not.
const CRATES: usize = 45;

/// The resolved dependencies for the Linux binary, as cargo knows them without a network.
fn metadata() -> Value {
    let arguments = ["metadata", "--format-version=1", "--offline", "--locked"];
    let output = Command::new(env!("CARGO"))
        .args(arguments)
        .args(["--filter-platform", "x86_64-unknown-linux-gnu"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("cargo's metadata is JSON")
}

/// The names of the packages that a package needs to build and to run, itself not counted.
fn needed(package: &Value) -> impl Iterator<Item = &str> {
    package["deps"].as_array().into_iter().flatten().filter_map(|dependency| {
        let kinds = dependency["dep_kinds"].as_array()?;
        // Cargo leaves out what is of other platforms alone, but not a kind of a dependency that the tests have everywhere.
        let is_needed = |kind: &Value| kind["kind"] != "dev" && kind["target"] != "cfg(windows)";
        kinds.iter().any(is_needed).then(|| dependency["pkg"].as_str())?
    })
}

/// Licences that ask for nothing but their own text, as `.github/deny.toml` lists them.
fn allowed_licences() -> Vec<&'static str> {
    const DENY: &str = include_str!("../../.github/deny.toml");
    let list = DENY.split("\nallow = [").nth(1).and_then(|rest| rest.split(']').next()).expect("the list of licences");
    list.split('"').skip(1).step_by(2).collect()
}

/// Whether a licence expression can be met with the allowed licences alone: of each `AND` every part, of an `OR` one.
fn met(expression: &str, allowed: &[&str]) -> bool {
    // The old way to write an `OR`.
    let expression = expression.replace('/', " OR ");
    if let Some((group, rest)) = expression.strip_prefix('(').and_then(|inner| inner.split_once(')')) {
        return match rest.trim().split_once(' ') {
            None => met(group, allowed),
            Some(("AND", rest)) => met(group, allowed) && met(rest, allowed),
            Some(("OR", rest)) => met(group, allowed) || met(rest, allowed),
            Some(_) => false,
        };
    }
    let alternatives = expression.split(" OR ");
    alternatives.into_iter().any(|every| every.split(" AND ").all(|licence| allowed.contains(&licence.trim())))
}

fn root(metadata: &Value) -> &str {
    metadata["resolve"]["root"].as_str().expect("a root package")
}

/// The ids of the packages in the tree of the Linux binary, the root package among them.
fn tree(metadata: &Value) -> BTreeSet<&str> {
    let nodes: HashMap<&str, &Value> = metadata["resolve"]["nodes"]
        .as_array()
        .expect("nodes")
        .iter()
        .map(|node| (node["id"].as_str().unwrap(), node))
        .collect();
    let root = root(metadata);
    let mut tree = BTreeSet::from([root]);
    let mut next = vec![root];
    while let Some(id) = next.pop() {
        for dependency in needed(nodes[id]) {
            if tree.insert(dependency) {
                next.push(dependency);
            }
        }
    }
    assert!(tree.len() > 10, "the tree was not read: {tree:?}");
    tree
}

/// The packages in the tree of the Linux binary.
fn built(metadata: &Value) -> Vec<&Value> {
    let tree = tree(metadata);
    let packages = metadata["packages"].as_array().expect("packages").iter();
    packages.filter(|package| tree.contains(package["id"].as_str().unwrap())).collect()
}

#[test]
fn what_the_binary_holds_is_under_known_licences_and_comes_from_the_registry() {
    let metadata = metadata();
    let allowed = allowed_licences();
    assert_eq!(allowed, ["MIT", "Apache-2.0", "ISC", "Unicode-3.0", "Zlib"]);
    for package in built(&metadata) {
        let name = package["name"].as_str().unwrap();
        let licence = package["license"].as_str().unwrap_or_default();
        assert!(met(licence, &allowed), "`{name}` is under `{licence}`");
        // The project itself has no source; what comes from elsewhere comes from crates.io, by its checksum in Cargo.lock.
        if let Some(source) = package["source"].as_str() {
            assert_eq!(source, "registry+https://github.com/rust-lang/crates.io-index", "{name}");
        }
    }
}

#[test]
fn a_licence_is_met_only_where_each_of_its_parts_is() {
    let allowed = ["MIT", "Apache-2.0"];
    for good in ["MIT", "MIT/Apache-2.0", "Zlib OR MIT", "(MIT OR Zlib) AND Apache-2.0", "(GPL-3.0) OR MIT"] {
        assert!(met(good, &allowed), "{good}");
    }
    for bad in ["", "GPL-3.0", "MIT AND GPL-3.0", "(MIT OR Zlib) AND GPL-3.0", "Apache-2.0 WITH LLVM-exception"] {
        assert!(!met(bad, &allowed), "{bad}");
    }
}

#[test]
fn the_tree_is_small_and_each_direct_dependency_has_its_reason() {
    let metadata = metadata();
    let (root, mut tree) = (root(&metadata), tree(&metadata));
    tree.remove(root);
    assert!(tree.len() < CRATES, "{} crates: {tree:#?}", tree.len());

    let packages = metadata["packages"].as_array().expect("packages");
    let own = packages.iter().find(|package| package["id"] == root).expect("the root package");
    let rows: BTreeSet<&str> =
        ARCHITECTURE.split("## Dependencies").nth(1).expect("the table").split('`').skip(1).step_by(2).collect();
    for dependency in own["dependencies"].as_array().expect("dependencies") {
        let name = dependency["name"].as_str().unwrap();
        if dependency["kind"] != "dev" {
            assert!(rows.contains(name), "`{name}` has no row among the dependencies in spec/architecture.md");
        }
    }
}

/// The build of an audited program must not compile or run another one.
#[test]
fn the_build_script_starts_nothing() {
    let script = include_str!("../../build.rs");
    for absent in ["Command", "process", "include!", "OUT_DIR"] {
        assert!(!script.contains(absent), "build.rs has `{absent}`");
    }
}
