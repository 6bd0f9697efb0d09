//! `allowexec doctor`: a configuration that it calls sound serves calls, and it names what keeps another from it.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "helpers of tests, which clippy's exception for test functions leaves out"
)]
#![cfg(unix)]

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// The exit status, and the problems.
fn doctor(directory: &Path, arguments: &str) -> (i32, Vec<String>) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_allowexec"));
    command.args(["doctor", "--json"]).args(arguments.split_whitespace()).current_dir(directory);
    let output = command.env_clear().env("PATH", "/usr/bin:/bin").output().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let problems = report["problems"].as_array().unwrap().iter().map(|problem| problem.as_str().unwrap().to_owned());
    (output.status.code().unwrap(), problems.collect())
}

#[test]
fn what_keeps_calls_from_being_served_is_a_problem_with_a_name() {
    let place = tempfile::tempdir().unwrap();
    let base = dunce::canonicalize(place.path()).unwrap();
    for directory in ["work/project", "other"] {
        fs::create_dir_all(base.join(directory)).unwrap();
    }
    fs::write(base.join("file"), "not a program").unwrap();
    fs::write(base.join("recorded"), "an earlier session").unwrap();
    let check = |arguments: &str, expected: &[&str]| {
        let (status, problems) = doctor(&base, arguments);
        assert_eq!(problems.len(), expected.len(), "{arguments}: {problems:?}");
        for (problem, part) in problems.iter().zip(expected) {
            assert!(problem.contains(part), "{arguments}: {problems:?}");
        }
        assert_eq!(status, i32::from(!expected.is_empty()), "{arguments}");
    };
    check("--allow ls", &[]);
    check("", &["no command is allowed"]);
    check("--allow ls,/bin/sh,./file", &["`./file` on the allow-list can't be executed"]);
    check("--allow-project-commands --project-dir work", &[]);
    check("--allow ls --allow-project-commands --roots ignore", &["`--allow-project-commands` allows nothing"]);

    check("--allow ls --record new", &[]);
    check("--allow ls --record recorded", &[]);
    check("--allow ls --record /dev/null", &[]);
    check("--allow ls --record missing/new", &["can't record to `missing/new`"]);
    check("--allow ls --record file/new", &["can't record to `file/new`"]);
    check("--allow ls --record other", &["can't record to `other` (`--record` or `ALLOWEXEC_RECORD`): is a directory"]);
    check("--allow ls --record-required", &["`--record-required` records nothing without `--record`"]);
    assert_eq!(fs::read_to_string(base.join("recorded")).unwrap(), "an earlier session");
    assert!(!base.join("new").exists());

    check("--allow ls --tools shell", &[]);
    check("--allow ls --tools shell --shell ./file", &["the shell `./file` of `--shell` can't be executed"]);
    check("--allow ls --tools shell --shell missing", &["the shell `missing` of `--shell` was not found"]);
    // Nobody starts it.
    check("--allow ls --shell ./file", &[]);

    check("--allow ls --workspace-dir work --project-dir work/project --cwd-root work --cwd .", &[]);
    check("--allow ls --workspace-dir work --project-dir other", &["of `--project-dir` lies outside"]);
    check("--allow ls --workspace-dir work --project-dir work --cwd ..", &["of `--cwd` lies outside"]);
    check("--allow ls --workspace-dir work --cwd-root other", &["so every `cwd` is refused"]);
    check("--allow ls --workspace-dir work --cwd-root other,work/project", &[]);
    check("--allow ls --project-dir missing", &["can't be used"]);
}
