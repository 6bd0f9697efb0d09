//! What a rule relies on: that programs read words as it does, whatever the environment says.
#![cfg(unix)]

use std::fs;
use std::path::PathBuf;

use crate::support::Server;
use serde_json::json;

const POLICY: &str = "commands:\n  cat: {options: {-n: flag}, operands: [{path: read, count: '1..'}]}\n  \
    printenv: {operands: [{text: {}, count: '0..'}]}\n  env: any\n  \
    uniq: {options: {-c: flag}, operands: [{path: read}]}\n";

fn project() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let base = fs::canonicalize(dir.path()).unwrap();
    fs::create_dir(base.join("project")).unwrap();
    fs::write(base.join("secret"), "the secret\n").unwrap();
    fs::write(base.join("project/a"), "text of a\n").unwrap();
    fs::write(base.join("policy.yaml"), POLICY).unwrap();
    std::os::unix::fs::symlink("../secret", base.join("project/-n")).unwrap();
    std::os::unix::fs::symlink("../secret", base.join("project/-c")).unwrap();
    (dir, base)
}

/// Variables that change how programs read their words.
const READING: &[&str] = &[
    "POSIXLY_CORRECT",
    "_POSIX2_VERSION",
    "GREP_OPTIONS",
    "TAR_OPTIONS",
    "LS_OPTIONS",
    "RIPGREP_CONFIG_PATH",
    "GOFLAGS",
    "MAKEFLAGS",
    "XZ_OPT",
    "UNIX95",
    "GIT_GLOB_PATHSPECS",
];

/// Variables that change what programs print, or mean something to others.
const HARMLESS: &[&str] = &["BLOCKSIZE", "FIGNORE", "COLUMNS", "QUOTING_STYLE", "CARGO_HOME"];

#[test]
fn no_variable_changes_how_a_described_command_reads_its_words() {
    let (_dir, base) = project();
    let policy = base.join("policy.yaml");
    let all: Vec<&str> = READING.iter().chain(HARMLESS).copied().collect();
    let named: Vec<String> = all.iter().map(|name| format!("{name}=set")).collect();
    let with = |how: &[&str]| how.iter().map(|&word| word.to_owned()).collect::<Vec<String>>();
    let passes = |names: &[String]| names.iter().flat_map(|name| ["--env".to_owned(), name.clone()]).collect();
    let by_name: Vec<String> = all.iter().map(|&name| name.to_owned()).collect();
    let ways: [Vec<String>; 4] = [
        with(&["--inherit-env"]),
        passes(&by_name),
        passes(&named),
        with(&["--inherit-env", "--max-open-files", "99"]),
    ];
    for way in ways {
        let mut args = vec!["--policy", policy.to_str().unwrap(), "--project-dir", ".", "--tools", "all"];
        args.extend(way.iter().map(String::as_str));
        let mut server = Server::command(&args).dir(base.join("project"));
        for name in &all {
            server = server.env(name, "set");
        }
        let mut server = server.start();
        server.initialize("2025-06-18");
        let mut run = |line: &str| {
            let text = server.call("execute_command", json!({"command": line}))["content"][0]["text"].to_string();
            text.replace("\\n", "\n").replace("\\t", "\t")
        };
        for (line, expected) in [("cat a -n", "1\ttext of a"), ("uniq a -c", "1 text of a")] {
            let text = run(line);
            assert!(text.contains(expected) && !text.contains("secret"), "{way:?}, {line}: {text}");
        }
        for name in &all {
            let text = run(&format!("printenv {name}"));
            assert_eq!(text.contains("stdout: |\n  set\n"), HARMLESS.contains(name), "{way:?}, {name}: {text}");
        }
        // A command of which nothing is described gets them all.
        let text = run("env");
        assert!(all.iter().all(|name| text.contains(&format!("  {name}=set\n"))), "{way:?}: {text}");
        let text = server.call("printenv", json!({"arguments": "POSIXLY_CORRECT"}))["content"][0]["text"].to_string();
        assert!(text.contains("exit_code: 1") && !text.contains("  set"), "{way:?}, shell: {text}");
        assert_eq!(fs::read_to_string(base.join("secret")).unwrap(), "the secret\n");
        server.drain();
        server.wait_exit();
        let is_told = server.says("don't get `POSIXLY_CORRECT`, `_POSIX2_VERSION`");
        assert_eq!(is_told, way.contains(&"--env".to_owned()), "{way:?}: {}", server.stderr());
    }
}

#[test]
fn what_a_rule_sets_itself_reaches_its_command() {
    let (_dir, base) = project();
    let policy = base.join("policy.yaml");
    let rule = "commands:\n  printenv:\n    order: options_first\n    operands: [{text: {}}]\n    env: {set: {POSIXLY_CORRECT: own, TAR_OPTIONS: own}}\n";
    fs::write(&policy, rule).unwrap();
    let args = ["--policy", policy.to_str().unwrap(), "--env", "POSIXLY_CORRECT=x", "--inherit-env"];
    let mut server = Server::command(&args).env("TAR_OPTIONS", "x").dir(&base).start();
    server.initialize("2025-06-18");
    for name in ["POSIXLY_CORRECT", "TAR_OPTIONS"] {
        let text = server.call("execute_command", json!({"command": format!("printenv {name}")}))["content"][0]["text"]
            .to_string();
        assert!(text.contains("own"), "{name}: {text}");
    }
}
