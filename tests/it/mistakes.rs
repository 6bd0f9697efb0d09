//! What newcomers type, and the sentence that says what to do instead.

use std::fs;
use std::process::Command;

#[test]
fn a_mistake_is_answered_with_what_to_do() {
    let dir = tempfile::tempdir().unwrap();
    for (file, text) in [
        ("policy.yaml", "version: 1\ncommands: {ls: any}\n"),
        ("settings.yaml", "allow: [ls]\n"),
        ("notes.txt", "hello\n"),
        ("log.jsonl", "{\"seq\":0,\"event\":\"session_started\"}\n"),
    ] {
        fs::write(dir.path().join(file), text).unwrap();
    }
    let tools = "a command is an argument of one: `allowexec call execute_command '{\"command\":\"ls -l\"}'`";
    let rows: &[(&[&str], &str)] = &[
        (&["call", "ls", "--allow", "ls"], tools),
        (&["call", "{\"command\":\"ls\"}", "--allow", "ls"], tools),
        (
            &["call", "execute_command", "ls", "--allow", "ls"],
            "must be a JSON object, for instance '{\"command\":\"ls\"}'",
        ),
        (&["call", "execute_command", "ls", "-l"], "the arguments of a tool are one JSON object"),
        (&["check", "ls", "-l", "--allow", "ls"], "write `--` before the command: `allowexec check -- ls -l`"),
        (&["record", "session", "--", "ls"], "and `-o session` to name the file to write"),
        (&["policy", "show", "policy.yaml"], "`allowexec policy test policy.yaml` looks at a policy of your own"),
        (&["replay", "log.jsonl"], "expected a transcript, found an audit log; `allowexec audit show`"),
        (&["mock", "log.jsonl"], "expected a transcript, found an audit log"),
        (&["doctor", "settings.yaml"], "`--config settings.yaml` reads settings from a file"),
        (&["doctor", "--config", "policy.yaml"], "it is a key of policies, which are named with `--policy`"),
        (&["lock", "ls"], "`--allow ls` allows a command"),
    ];
    for (args, expected) in rows {
        let mut command = Command::new(env!("CARGO_BIN_EXE_allowexec"));
        let output = command.args(*args).current_dir(&dir).output().unwrap();
        let said = [output.stdout, output.stderr].map(|said| String::from_utf8(said).unwrap()).concat();
        assert!(said.contains(expected) && output.status.code() == Some(2), "{args:?}: {said}");
    }
}
