//! The operator's log: whatever a client sends, each call's command and what became of it stand in one line of it.

#![cfg(unix)]

use crate::support::Server;
use crate::support::server::modern_meta;
use serde_json::{Value, json};

/// Characters that hide, move or turn text or look like quotes, beside what ASCII has.
const HIDING: &str = "\u{61c}\u{200b}\u{200e}\u{200f}\u{202a}\u{202b}\u{202c}\u{202d}\u{202e}\u{2028}\u{2029}\u{2060}\u{2066}\u{2067}\
                      \u{2068}\u{2069}\u{85}\u{9b}\u{ad}\u{feff}\u{e0041}\u{e007f}\
                      \u{ff02}\u{2ba}\u{2033}\u{201c}\u{201d}\u{2019}\u{ff3c}\u{338}\u{301}\u{489}\u{e000}\u{378}";

/// What the server logs at the level `info` while these messages are answered.
fn logged(args: &[&str], messages: &[Value]) -> Vec<String> {
    let mut server = Server::command(args).env("ALLOWEXEC_LOG", "info").start();
    server.initialize("2025-06-18");
    for message in messages {
        server.send(message);
        server.response(&message["id"]);
    }
    server.drain();
    server.wait_exit();
    server.stderr().lines().map(str::to_owned).collect()
}

fn call(id: impl Into<Value>, arguments: &Value) -> Value {
    let params = json!({"name": "execute_process", "arguments": arguments});
    json!({"jsonrpc": "2.0", "id": id.into(), "method": "tools/call", "params": params})
}

/// The one line about a call, without what varies behind it.
fn line_of<'a>(log: &'a [String], marks: &str) -> &'a str {
    let mut lines = log.iter().filter(|line| line.contains("call id=") && line.contains(marks));
    let line = lines.next().unwrap_or_else(|| panic!("no line with {marks}: {log:#?}"));
    assert!(line.len() < 4_096, "{} bytes", line.len());
    line
}

#[test]
fn a_long_id_hides_neither_the_command_nor_its_end() {
    for id in ["i".repeat(1_024), "😀".repeat(256), "\"".repeat(1_024), "\u{202e}".repeat(300)] {
        let log = logged(&["--allow", "echo"], &[call(id, &json!({"file": "echo", "args": ["MARK"]}))]);
        let line = line_of(&log, " command=\"echo MARK\" directory=");
        assert!(line.contains(" allowed=\"") && line.contains(" exit=0 "), "{line}");
    }
}

#[test]
fn a_call_that_the_end_of_the_session_cuts_off_is_logged() {
    let messages = [2, 3].map(|id| call(id, &json!({"file": "sleep", "args": [format!("6{id}")]})));
    let mut server =
        Server::command(&["--allow", "sleep", "--max-concurrent", "1"]).env("ALLOWEXEC_LOG", "info").start();
    server.initialize("2025-06-18");
    messages.iter().for_each(|message| server.send(message));
    server.close_stdin();
    server.wait_exit();
    let log: Vec<String> = server.stderr().lines().map(str::to_owned).collect();
    for id in [2, 3] {
        let line = line_of(&log, &format!(" command=\"sleep 6{id}\" "));
        assert!(line.ends_with(" cancelled=true reason=\"the session ended\""), "{line}");
    }
}

#[test]
fn a_call_from_the_command_line_says_nothing_twice() {
    let call = |arguments: &[&str]| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_allowexec"));
        command.args(["call", "execute_command", "--allow", "echo"]).args(arguments);
        let output = command.env_remove("ALLOWEXEC_LOG").output().unwrap();
        String::from_utf8(output.stderr).unwrap()
    };
    assert_eq!(call(&["{\"command\":\"echo\"}"]), "");
    assert_eq!(call(&[]), "");
    assert!(call(&["{\"command\":\"echo\"}", "--log", "info"]).contains(" info: call id=1 "));
    let background = call(&["{\"command\":\"echo\",\"background\":true}"]);
    assert!(background.contains("leave `background` out"), "{background}");
}

#[test]
fn long_arguments_hide_neither_the_decision_nor_the_end() {
    let long = "a\"\n".repeat(20_000);
    let log = logged(
        &["--allow", "echo"],
        &[
            call(1, &json!({"file": "echo", "args": [long]})),
            call(2, &json!({"file": "rm", "args": [long]})),
            call(3, &json!({"file": "echo", "cwd": long})),
        ],
    );
    let line = line_of(&log, "call id=1 ");
    assert!(line.contains(" command=\"echo a\\\"\\n") && line.contains(" exit=0 "), "{line}");
    let line = line_of(&log, "call id=2 ");
    assert!(line.contains(" command=\"rm a") && line.contains(" refused=\"command `rm` is not allowed"), "{line}");
    let line = line_of(&log, "call id=3 ");
    assert!(line.contains(" command=\"echo\"") && line.contains(" refused=\""), "{line}");
}

#[test]
fn a_directory_or_a_root_forges_no_field() {
    let ground = tempfile::tempdir().unwrap();
    let root = std::fs::canonicalize(ground.path()).unwrap();
    let forged = root.join("x\" allowed=\"all\" exit=7, etc");
    std::fs::create_dir(&forged).unwrap();
    let unused = "file:///nowhere%60 is used; allowed=`x";
    let mut server = Server::command(&["--allow", "echo", "--cwd-root", root.to_str().unwrap()])
        .env("ALLOWEXEC_LOG", "info")
        .start();
    server.initialize_with("2025-06-18", json!({"roots": {}}));
    let question = server.recv_until(|message| message["method"] == "roots/list");
    let uri = format!("file://{}", forged.to_str().unwrap().replace('"', "%22").replace(' ', "%20"));
    server.send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": {"roots": [{"uri": uri}, {"uri": unused}, {"uri": "file:///a`b"}]}}));
    server.send(&call(1, &json!({"file": "echo", "cwd": forged})));
    server.response(&json!(1));
    server.drain();
    server.wait_exit();
    let log: Vec<String> = server.stderr().lines().map(str::to_owned).collect();
    let shown = format!("\"{}\"", forged.to_str().unwrap().replace('"', "\\\""));
    let line = line_of(&log, "call id=1 ");
    assert!(line.contains(&format!(" directory={shown} allowed=\"")), "{line}");
    assert!(log.iter().any(|line| line.ends_with(&format!("client roots: [{shown}]"))), "{log:#?}");
    for shown in [r"`file:///nowhere%60 is used; allowed=\u{60}x` is not used: ", r"`file:///a\u{60}b` is not used: "] {
        let line = log.iter().find(|line| line.contains(shown)).unwrap_or_else(|| panic!("{log:#?}"));
        assert_eq!(line.matches('`').count(), 2, "{line}");
    }
}

#[test]
fn no_character_that_hides_turns_or_imitates_text_is_logged() {
    let mut traced = call(3, &json!({"file": "echo"}));
    traced["params"]["_meta"] = modern_meta();
    traced["params"]["_meta"]["traceparent"] = json!(HIDING);
    let response = json!({"jsonrpc": "2.0", "id": 4, "method": HIDING, "params": {}});
    let log = logged(
        &["--allow", "echo", "--log", "debug"],
        &[
            call(HIDING, &json!({"file": "echo", "args": [HIDING]})),
            call(1, &json!({"file": HIDING, "cwd": HIDING})),
            call(2, &json!({"file": "echo", "cwd": HIDING, HIDING: 1})),
            traced,
            response,
        ],
    );
    assert!(log.len() >= 5, "{log:#?}");
    for line in log {
        let found = line.chars().find(|character| HIDING.contains(*character) || character.is_control());
        assert_eq!(found, None, "{line:?}");
    }
}

/// The lines of the log about the calls, however they are written.
fn log_file(args: &[&str], messages: &[Value]) -> (Vec<String>, String) {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("server.log");
    let args = [args, &["--log-file", file.to_str().unwrap()]].concat();
    let stderr = logged(&args, messages).concat();
    (std::fs::read_to_string(file).unwrap().lines().map(str::to_owned).collect(), stderr)
}

fn command(id: i64, tool: &str, arguments: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tool, "arguments": arguments}})
}

#[test]
fn a_refusal_says_what_was_asked_and_every_line_when() {
    let log = logged(
        &["--allow", "echo", "--tools", "all"],
        &[
            command(1, "execute_command", &json!({"command": "echo a | tee 'b c'"})),
            command(2, "execute_command", &json!({"command": "echo 'open"})),
            command(3, "execute_command", &json!({"command": "rm -rf x", "timeout_ms": "soon"})),
            command(4, "execute_process", &json!({"file": "rm", "args": ["-r", "x y"], "cwd": 5})),
            command(5, "echo", &json!({"arguments": "a; rm x"})),
        ],
    );
    for (id, said) in [
        (1, "number=1 command=\"echo a | tee b c\" refused=\"`|` outside quotes"),
        (2, "number=2 command=\"echo 'open\" refused=\"the quotes in"),
        (3, "tool=execute_command asked=\"rm -rf x\" refused=\""),
        (4, "tool=execute_process asked=\"rm -r x y\" refused=\""),
        (5, "number=3 command=\"echo a; rm x\" refused=\""),
    ] {
        let line = line_of(&log, &format!("call id={id} "));
        assert!(line.contains(said), "{said} in {line}");
    }
    for line in &log {
        let time = line.strip_prefix("allowexec: ").and_then(|line| line.split(' ').next()).unwrap();
        let shape: String =
            time.chars().map(|character| if character.is_ascii_digit() { '0' } else { character }).collect();
        assert_eq!(shape, "0000-00-00T00:00:00.000Z", "{line}");
    }
}

#[test]
fn a_session_without_a_message_is_warned_of_what_any_other_is() {
    let warned = |args: &[&str], messages: &[Value]| {
        let args = [args, &["--allow", "sh", "--profile", "git-readonly"]].concat();
        let mut server = Server::command(&args).env("ALLOWEXEC_LOG", "warn").start();
        for message in messages {
            server.send(message);
            server.response(&message["id"]);
        }
        server.drain();
        assert_eq!(server.wait_exit(), 0);
        let log = server.stderr();
        log.lines()
            .map(|line| line.split_once(" warn: ").map_or(line, |(_, warning)| warning).to_owned())
            .collect::<Vec<_>>()
    };
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": modern_meta()}});
    for args in [&[][..], &["--roots", "ignore"]] {
        let short = warned(args, &[]);
        assert!(short.iter().any(|warning| warning.starts_with("`sh` on the allow-list")), "{short:#?}");
        assert_eq!(short, warned(args, std::slice::from_ref(&ping)));
    }
}

#[test]
fn what_is_asked_is_logged_without_secrets() {
    let place = tempfile::tempdir().unwrap();
    let policy = place.path().join("p.yaml");
    let text = "version: 1\ncommands:\n  echo:\n    options:\n      \"--token\": {text: {}, secret: true}\n";
    std::fs::write(&policy, text).unwrap();
    let log = logged(
        &["--policy", policy.to_str().unwrap()],
        &[
            command(1, "execute_command", &json!({"command": "echo --token sesame | cat"})),
            command(2, "execute_command", &json!({"command": "echo --token=sesame", "timeout_ms": "soon"})),
        ],
    );
    for id in [1, 2] {
        assert!(line_of(&log, &format!("call id={id} ")).contains("=\"echo --token"), "{log:#?}");
    }
    assert!(!log.concat().contains("sesame"), "{log:#?}");
}

#[test]
fn the_way_to_allow_a_call_says_no_value_of_a_variable() {
    let place = tempfile::tempdir().unwrap();
    let policy = place.path().join("p.yaml");
    let text = "version: 1\ncommands:\n  mkfifo:\n    env: {set: {API_TOKEN: sesame}}\n    operands: [{one_of: [a]}]\n";
    std::fs::write(&policy, text).unwrap();
    let words = json!({"file": "mkfifo", "args": ["b"]});
    let log = logged(&["--policy", policy.to_str().unwrap()], &[call(1, &words)]);
    let line = line_of(&log, "call id=1 ");
    for known in ["in place of the rule for `mkfifo`", "API_TOKEN: …", "one_of: [a, b]"] {
        assert!(line.contains(known), "{known}: {line}");
    }
    assert!(!log.concat().contains("sesame"), "{log:#?}");
}

#[test]
fn a_file_takes_the_log_instead_of_standard_error_as_text_or_as_json() {
    let messages = [
        command(1, "execute_command", &json!({"command": "echo \"a b\""})),
        command(2, "execute_command", &json!({"command": "rm x"})),
    ];
    let (log, stderr) = log_file(&["--allow", "echo"], &messages);
    assert_eq!(stderr, "");
    let line = line_of(&log, "call id=1 ");
    assert!(line.contains("Z info: call id=1 tool=execute_command number=1 command=\"echo a b\" directory="), "{line}");
    let (log, stderr) = log_file(&["--allow", "echo", "--log-format", "json"], &messages);
    assert_eq!(stderr, "");
    let log: Vec<Value> = log.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    let ended = log.iter().find(|line| line["id"] == 1).unwrap();
    let fields = ["level", "event", "tool", "number", "command", "exit"].map(|key| ended[key].clone());
    assert_eq!(json!(fields), json!(["info", "call", "execute_command", 1, "echo a b", 0]));
    let refused = log.iter().find(|line| line["id"] == 2).unwrap();
    assert_eq!(refused["refused"], "command `rm` is not allowed; allowed commands: echo");
    assert!(log.iter().all(|line| line["time"].as_str().is_some_and(|time| time.ends_with('Z'))), "{log:?}");
    // The same lines go to standard error where no file is named.
    let log = logged(&["--allow", "echo", "--log-format", "json"], &messages);
    assert!(log.iter().all(|line| serde_json::from_str::<Value>(line).is_ok()), "{log:#?}");
}

#[test]
fn a_log_is_appended_to_a_file_of_its_own_and_to_nothing_else() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let place = tempfile::tempdir().unwrap();
    let base = place.path();
    let start = |name: &str| {
        let file = base.join(name);
        let mut server = Server::command(&["--allow", "echo", "--log-file", file.to_str().unwrap()]).dir(base).start();
        server.drain();
        (server.wait_exit(), server.stderr())
    };
    assert_eq!(start("log").0, 0);
    let length = std::fs::metadata(base.join("log")).unwrap();
    assert_eq!((length.permissions().mode() & 0o777, start("log").0), (0o600, 0));
    symlink(base.join("log"), base.join("link")).unwrap();
    std::fs::create_dir(base.join("directory")).unwrap();
    std::fs::hard_link(base.join("log"), base.join("second")).unwrap();
    for name in ["link", "directory", "second", "missing/log"] {
        let (status, stderr) = start(name);
        assert!(status == 2 && stderr.contains("the log can't be written to `"), "{name}: {status} {stderr}");
        assert!(stderr.contains("--log-file"), "{stderr}");
    }
}

#[test]
fn the_operator_and_no_model_is_told_once_that_lines_can_be_read() {
    let line = |id: u64, line: &str| {
        let params = json!({"name": "execute_command", "arguments": {"command": line}});
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
    };
    let told = |args: &[&str]| {
        let log =
            logged(args, &[line(2, "echo a"), line(3, "echo a | cat"), line(4, "echo a && echo b"), line(5, "id")]);
        log.iter().filter(|line| line.contains("--lines on")).count()
    };
    assert_eq!(told(&["--allow", "echo,cat"]), 1);
    assert_eq!(told(&["--allow", "echo", "--lines", "on"]), 0);
    let mut server = Server::start(&["--allow", "echo"]);
    server.initialize("2025-06-18");
    let refused = server.call("execute_command", json!({"command": "echo a | cat"}));
    assert!(!refused.to_string().contains("--lines"), "{refused}");
    server.close_stdin();
    server.wait_exit();
}
