//! The functions that are fuzzed, with the inputs that are saved; `fuzz/README.md` says how to look for more.

use std::fs;
use std::path::Path;

#[path = "../../fuzz/targets.rs"]
mod targets;

/// The name of a target, and what it does with an input.
type Target = (&'static str, fn(&[u8]));

const TARGETS: &[Target] = &[
    ("lines", targets::lines),
    ("command_line", targets::command_line),
    ("transcript", targets::transcript),
    ("configuration", targets::configuration),
    ("file_uri", targets::file_uri),
    ("audit_log", targets::audit_log),
    ("report", targets::report),
    ("lock_file", targets::lock_file),
    ("policy", targets::policy),
    ("hook_event", targets::hook_event),
    ("shell_line", targets::shell_line),
];

#[test]
fn saved_inputs_break_no_promise() {
    let saved = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/fuzz");
    let folders = fs::read_dir(&saved).unwrap().count();
    assert_eq!(folders, TARGETS.len(), "each folder of {} is a target's", saved.display());
    for (name, target) in TARGETS {
        let inputs: Vec<_> = fs::read_dir(saved.join(name)).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert!(inputs.len() > 2, "{name}");
        for input in inputs {
            let bytes = fs::read(&input).unwrap();
            // Each beginning of it too, so that every input is cut in the middle of something.
            for end in (0..=bytes.len()).rev().step_by(bytes.len() / 64 + 1) {
                let whole = bytes.get(..end).unwrap();
                eprintln!("{}, {end} bytes", input.display());
                target(whole);
            }
        }
    }
}

#[test]
fn each_target_is_built_by_cargo_fuzz() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz");
    let manifest = fs::read_to_string(root.join("Cargo.toml")).unwrap();
    let readme = fs::read_to_string(root.join("README.md")).unwrap();
    for (name, _) in TARGETS {
        assert!(manifest.contains(&format!("path = \"fuzz_targets/{name}.rs\"")), "{name}");
        let target = fs::read_to_string(root.join(format!("fuzz_targets/{name}.rs"))).unwrap();
        assert!(target.contains(&format!("targets::{name}(data)")), "{name}");
        assert!(readme.contains(&format!("| `{name}` |")), "{name}");
    }
}
