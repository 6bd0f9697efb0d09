//! What an auditor has to read beside the project: few crates, and each with its reason.

// It is the Linux binary's tree that is counted, and under Wine there is no cargo to ask; `spec/platforms.md` lists it.
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a helper of a test fails by panicking, and clippy's exception covers test functions only"
)]

use std::collections::{BTreeSet, HashMap};
use std::process::Command;

use serde_json::Value;

const ARCHITECTURE: &str = include_str!("../spec/architecture.md");

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
        kinds.iter().any(|kind| kind["kind"] != "dev").then(|| dependency["pkg"].as_str())?
    })
}

#[test]
fn the_tree_is_small_and_each_direct_dependency_has_its_reason() {
    let metadata = metadata();
    let root = metadata["resolve"]["root"].as_str().expect("a root package");
    let nodes: HashMap<&str, &Value> = metadata["resolve"]["nodes"]
        .as_array()
        .expect("nodes")
        .iter()
        .map(|node| (node["id"].as_str().unwrap(), node))
        .collect();
    let mut tree = BTreeSet::new();
    let mut next: Vec<&str> = needed(nodes[root]).collect();
    while let Some(id) = next.pop() {
        if tree.insert(id) {
            next.extend(needed(nodes[id]));
        }
    }
    assert!(tree.len() > 10, "the tree was not read: {tree:?}");
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
