//! Lines that were found to do more than was decided, each with its kin.
#![cfg(unix)]

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::Server;

/// The text of the result of a call under this policy.
fn call(directory: &Path, policy: &str, flags: &[&str], tool: &str, arguments: serde_json::Value) -> String {
    let file = directory.join("policy.yaml");
    fs::write(&file, policy).unwrap();
    let project = directory.join("project");
    let mut settings =
        vec!["--policy", file.to_str().unwrap(), "--project-dir", project.to_str().unwrap(), "--log", "off"];
    settings.extend(flags);
    let mut server = Server::start(&settings);
    server.initialize("2025-11-25");
    let result = server.call(tool, arguments);
    server.close_stdin();
    assert_eq!(server.wait_exit(), 0);
    result["content"][0]["text"].as_str().unwrap().to_owned()
}

fn project() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    fs::create_dir_all(directory.path().join("project/sub")).unwrap();
    directory
}

#[test]
fn input_is_read_by_no_command_that_reads_something_else() {
    let directory = project();
    let policy = "commands: {cat: {operands: [], stdin: true}, sh: {operands: [], stdin: false}, echo: any}\n";
    let stdout = |command: &str| {
        let arguments = json!({"command": command, "input": "echo from the input\n"});
        call(directory.path(), policy, &["--lines", "on"], "execute_command", arguments)
    };
    let refused = stdout("sh; echo a");
    assert!(refused.contains("allowed") && !refused.contains("from the input"), "{refused}");
    for line in [
        "sh < /dev/null",
        "sh 2>&1 < /dev/null",
        "cat < /dev/null",
        "cat <<< x < /dev/null",
        "( cat ) < /dev/null",
        "( true; ( cat ) ) < /dev/null",
        "true | cat < /dev/null",
        "true | cat",
    ] {
        let text = stdout(line);
        assert!(text.contains("exit_code: 0") && !text.contains("from the input"), "{line}: {text}");
    }
    assert!(stdout("cat 2> /dev/null; echo a").contains("from the input"));
}

#[test]
fn a_call_that_may_only_read_writes_nothing_whatever_its_words_become() {
    let policy = "commands: {cat: {operands: [{path: read, count: '0..'}], read_only: true}, echo: {operands: [{text: {}}], \
                  read_only: true}, tee: {operands: [{path: write, count: '0..'}]}}\n";
    for line in [r#"cat some || cd /dev; echo hi > "$PWD/null""#, "cat some || cd sub; [ct][ae][te] made"] {
        let directory = project();
        let project = directory.path().join("project");
        fs::write(project.join("some"), "").unwrap();
        fs::write(project.join("tee"), "").unwrap();
        fs::write(project.join("sub/cat"), "").unwrap();
        let text = call(directory.path(), policy, &["--lines", "files"], "inspect_command", json!({"command": line}));
        assert!(text.contains("read-only"), "{line}: {text}");
        assert!(!project.join("null").exists() && !project.join("made").exists(), "{line}: {text}");
    }
}

#[test]
fn the_timeout_of_a_rule_holds_for_words_that_are_found_late() {
    let directory = project();
    let project = directory.path().join("project");
    fs::write(project.join("-"), "").unwrap();
    fs::write(project.join("9"), "").unwrap();
    let policy = "commands: {mv: any, sleep: {operands: [{text: {}}], timeout: 1s}}\n";
    let line = json!({"command": "mv ./- long; sleep ?"});
    let text = call(directory.path(), policy, &["--lines", "on"], "execute_command", line);
    assert!(text.contains("timeout: 1s") || text.contains("1 s") || text.contains("1000"), "{text}");
}

#[test]
fn at_the_deadline_the_readers_of_a_pipeline_print_what_they_have_read() {
    let policy = "commands: {echo: any, sleep: any, env: any, cat: any, tail: any, grep: any, sort: any}\n";
    let stubborn = r#"env sh -c 'trap "" TERM; echo a; sleep 60'"#;
    let lines = [
        ("(echo a; sleep 60) | tail -1".to_owned(), "a"),
        ("(echo b; echo a; sleep 60) | tail -5".to_owned(), "b\n  a"),
        ("(echo b; echo a; sleep 60) | grep a".to_owned(), "a"),
        ("(echo b; echo a; sleep 60) 2>&1 | sort".to_owned(), "a\n  b"),
        ("(echo b; echo a; sleep 60) | cat | sort | tail -1".to_owned(), "b"),
        ("echo x && (echo a; sleep 60) | (tail -1)".to_owned(), "x\n  a"),
        ("(echo a; sleep 60 | cat) | tail -1".to_owned(), "a"),
        // Their writer ends only by SIGKILL.
        (format!("{stubborn} | tail -1"), "a"),
        (format!("{stubborn} | cat | tail -1"), "a"),
        // A reader that does not end is ended, too.
        ("echo a; sleep 60 | sleep 61".to_owned(), "a"),
        (format!("echo b; sleep 60 | {stubborn}"), "b\n  a"),
        (format!("{stubborn} | {stubborn}"), "a"),
        ("echo a; sleep 60".to_owned(), "a"),
    ];
    std::thread::scope(|scope| {
        for (line, printed) in &lines {
            scope.spawn(move || {
                let directory = project();
                let begun = Instant::now();
                let arguments = json!({ "command": line, "timeout_ms": 1500 });
                let said = call(directory.path(), policy, &["--lines", "on"], "execute_command", arguments);
                assert!(said.starts_with("exit_code: 124\n"), "{line}: {said}");
                assert!(said.contains(&format!("stdout: |\n  {printed}\nstderr")), "{line}: {said}");
                assert!(begun.elapsed() < Duration::from_secs(20), "{line}: {:?}", begun.elapsed());
            });
        }
    });
}

#[test]
fn lines_of_files_do_not_start_beside_project_commands_that_they_could_write() {
    for more in [&[][..], &["--profile", "git-readonly"], &["--ask", "cat"]] {
        let mut settings = vec!["--lines", "files", "--allow-project-commands", "--allow", "printf"];
        settings.extend(more);
        let mut server = Server::start(&settings);
        server.close_stdin();
        assert_ne!(server.wait_exit(), 0, "{more:?}");
        let said = server.stderr();
        assert!(said.contains("would let a line write a program and run it"), "{more:?}: {said}");
    }
}
