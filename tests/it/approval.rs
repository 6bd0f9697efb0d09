//! Calls that a person has to approve: who asks, what the answer is bound to, and what hostile clients make of it.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::support::server::spawning;
use crate::support::{Server, modern_meta};
use serde_json::{Value, json};

const SHOWS_FORMS: [&str; 2] = ["2025-06-18", "2025-11-25"];

/// A directory with a program `tool`, which writes `ran` and its arguments.
struct Place {
    _dir: tempfile::TempDir,
    base: PathBuf,
}

impl Place {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let base = fs::canonicalize(dir.path()).unwrap();
        let place = Self { _dir: dir, base };
        place.script("tool", "echo ran \"$@\"; cat");
        place
    }

    fn script(&self, name: &str, text: &str) -> String {
        let _quiet = spawning();
        let path = self.base.join(name);
        // Another file takes its place, as an editor or a package manager does it.
        let fresh = self.base.join(format!(".{name}"));
        fs::write(&fresh, format!("#!/bin/sh\n{text}\n")).unwrap();
        fs::set_permissions(&fresh, fs::Permissions::from_mode(0o755)).unwrap();
        fs::rename(&fresh, &path).unwrap();
        path.to_str().unwrap().to_owned()
    }

    /// A server that asks about `tool`, found in PATH.
    fn server(&self, args: &[&str]) -> Server {
        let args: Vec<&str> = ["--ask", "tool", "--allow", "pwd,true"].iter().chain(args).copied().collect();
        Server::command(&args).dir(&self.base).env("PATH", self.path()).start()
    }

    fn path(&self) -> String {
        format!("{}:/usr/bin:/bin", self.base.display())
    }

    /// The same after the handshake of a client that shows forms.
    fn legacy(&self, args: &[&str]) -> Server {
        let mut server = self.server(args);
        server.initialize_with("2025-11-25", json!({"elicitation": {"form": {}}}));
        server
    }
}

fn params(line: &str) -> Value {
    json!({"name": "execute_command", "arguments": {"command": line}})
}

fn call(server: &mut Server, line: &str) -> i64 {
    server.send_request("tools/call", params(line))
}

/// The server's question to its client.
fn question(server: &mut Server) -> Value {
    server.recv_until(|message| message["method"] == "elicitation/create")
}

fn answer(server: &mut Server, question: &Value, result: Value) {
    server.send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": result}));
}

fn accept() -> Value {
    json!({"action": "accept", "content": {"remember": "once"}})
}

/// The text of the result with this id, and whether it is an error.
fn result(server: &mut Server, id: i64) -> (String, bool) {
    let response = server.response(&json!(id));
    text_of(&response)
}

fn text_of(response: &Value) -> (String, bool) {
    let result = &response["result"];
    let text = result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{response}"));
    (text.to_owned(), result["isError"] == true)
}

#[track_caller]
fn assert_ran(result: (String, bool), words: &str) {
    assert!(result.0.contains(&format!("ran{words}\n")) && !result.1, "{result:?}");
}

#[track_caller]
fn assert_refused(result: (String, bool), why: &str) {
    assert!(result.0.contains(why) && result.1 && !result.0.contains("ran"), "{result:?}");
}

#[test]
fn a_client_is_asked_and_its_answer_decides() {
    let place = Place::new();
    for revision in SHOWS_FORMS {
        let mut server = place.server(&[]);
        server.initialize_with(revision, json!({"elicitation": {}}));
        let id = call(&mut server, "tool 'a b'");
        let asked = question(&mut server);
        let message = asked["params"]["message"].as_str().unwrap();
        let base = place.base.display();
        let expected = format!(
            "Run this command?\ncommand: \"tool\" \"a b\"\nprogram: \"{base}/tool\"\ndirectory: \"{base}\"\n\
             rule: the rule for `tool` in --ask\nsandbox: off: nothing confines it\n\
             times: once for each identical call made before you answer (16 at most)"
        );
        assert_eq!(message, expected);
        let remember = &asked["params"]["requestedSchema"]["properties"]["remember"];
        assert_eq!(remember["enum"], json!(["once", "session"]));
        assert_eq!(remember.get("default").is_some(), revision == "2025-11-25");
        answer(&mut server, &asked, accept());
        assert_ran(result(&mut server, id), " a b");
        for (action, why) in [("decline", "it was declined"), ("cancel", "nobody has answered")] {
            let id = call(&mut server, "tool 'a b'");
            let asked = question(&mut server);
            answer(&mut server, &asked, json!({"action": action}));
            assert_refused(result(&mut server, id), why);
        }
    }
}

#[test]
fn an_approval_for_the_session_holds_for_the_very_same_call_until_the_next_handshake() {
    let place = Place::new();
    let mut server = place.legacy(&[]);
    let id = call(&mut server, "tool a");
    let asked = question(&mut server);
    answer(&mut server, &asked, json!({"action": "accept", "content": {"remember": "session"}}));
    assert_ran(result(&mut server, id), " a");
    let id = call(&mut server, "tool a");
    assert_ran(result(&mut server, id), " a");
    // Anything that differs is another call.
    for arguments in [
        json!({"command": "tool b"}),
        json!({"command": "tool a", "input": "x"}),
        json!({"command": "tool a", "timeout_ms": 5_000}),
        json!({"command": "tool a", "cwd": "/"}),
    ] {
        let id = server.send_request("tools/call", json!({"name": "execute_command", "arguments": arguments}));
        let asked = question(&mut server);
        answer(&mut server, &asked, json!({"action": "decline"}));
        assert_refused(result(&mut server, id), "declined");
    }
    // And so is another program under the same name.
    place.script("tool", "echo other");
    let id = call(&mut server, "tool a");
    let asked = question(&mut server);
    answer(&mut server, &asked, json!({"action": "decline"}));
    assert_refused(result(&mut server, id), "declined");
    place.script("tool", "echo ran \"$@\"");
    let id = call(&mut server, "tool a");
    let asked = question(&mut server);
    answer(&mut server, &asked, json!({"action": "accept", "content": {"remember": "session"}}));
    assert_ran(result(&mut server, id), " a");
    server.initialize_with("2025-11-25", json!({"elicitation": {}}));
    let id = call(&mut server, "tool a");
    let asked = question(&mut server);
    answer(&mut server, &asked, accept());
    assert_ran(result(&mut server, id), " a");
}

#[test]
fn a_client_that_shows_no_forms_is_refused_and_the_operator_is_told_how_to_ask() {
    let place = Place::new();
    for (revision, capabilities) in [
        ("2024-11-05", json!({"elicitation": {}})),
        ("2025-03-26", json!({"elicitation": {}})),
        ("2025-06-18", json!({})),
        ("2025-11-25", json!({"elicitation": {"url": {}}})),
    ] {
        let mut server = place.server(&[]);
        server.initialize_with(revision, capabilities);
        let id = call(&mut server, "tool");
        assert_refused(
            result(&mut server, id),
            "a person has to approve this call of `tool`; nobody can be asked here",
        );
        server.drain();
        server.wait_exit();
        assert!(server.says("name a program that asks with `--ask-with`"), "{}", server.stderr());
    }
    let mut server = place.server(&[]);
    let mut params = params("tool");
    params["_meta"] = modern_meta();
    let response = server.request("tools/call", params);
    assert_refused(text_of(&response), "nobody can be asked here");
}

#[test]
fn nobody_waits_longer_than_the_time_for_an_answer() {
    let place = Place::new();
    let mut server = place.legacy(&["--ask-timeout", "200ms"]);
    let id = call(&mut server, "tool");
    let asked = question(&mut server);
    let cancelled = server.recv_until(|message| message["method"] == "notifications/cancelled");
    assert_eq!(cancelled["params"]["requestId"], asked["id"]);
    assert_refused(result(&mut server, id), "nobody has answered");
    // What comes late is the answer to nothing.
    answer(&mut server, &asked, accept());
    assert_eq!(server.request("ping", json!({}))["result"], json!({}));
    server.drain();
    server.wait_exit();
    assert!(server.says("approval=timed_out by=client"), "{}", server.stderr());
}

#[test]
fn a_call_that_is_cancelled_takes_its_question_along() {
    let place = Place::new();
    let mut server = place.legacy(&[]);
    let id = call(&mut server, "tool");
    let asked = question(&mut server);
    server.notify("notifications/cancelled", json!({"requestId": id}));
    let cancelled = server.recv_until(|message| message["method"] == "notifications/cancelled");
    assert_eq!(cancelled["params"]["requestId"], asked["id"]);
    answer(&mut server, &asked, accept());
    let rest = server.drain();
    assert_eq!(rest, Vec::<Value>::new());
    assert_eq!(server.wait_exit(), 0);
}

#[test]
fn only_the_answer_that_was_asked_for_counts_and_only_once() {
    let place = Place::new();
    let mut server = place.legacy(&[]);
    for id in [json!("approval-1"), json!("approval-999"), json!(1)] {
        server.send(&json!({"jsonrpc": "2.0", "id": id, "result": accept()}));
    }
    for (wrong, why) in [
        (json!({"action": "yes"}), "none that the form offers"),
        (json!({}), "none that the form offers"),
        (json!({"action": "accept", "content": {"remember": "always"}}), "none that the form offers"),
        (json!({"action": "accept", "content": []}), "none that the form offers"),
        (json!({"roots": []}), "none that the form offers"),
    ] {
        let id = call(&mut server, "tool");
        let asked = question(&mut server);
        answer(&mut server, &asked, wrong);
        assert_refused(result(&mut server, id), why);
    }
    let id = call(&mut server, "tool");
    let asked = question(&mut server);
    let error = json!({"code": -32601, "message": "no such method"});
    server.send(&json!({"jsonrpc": "2.0", "id": asked["id"], "error": error}));
    assert_refused(result(&mut server, id), "nobody could be asked");
    // The first of two answers counts, and the second neither runs it nor runs the next call.
    let id = call(&mut server, "tool one");
    let asked = question(&mut server);
    answer(&mut server, &asked, json!({"action": "decline"}));
    answer(&mut server, &asked, accept());
    assert_refused(result(&mut server, id), "declined");
    let id = call(&mut server, "tool one");
    let next = question(&mut server);
    assert_ne!(asked["id"], next["id"]);
    answer(&mut server, &asked, accept());
    answer(&mut server, &next, json!({"action": "decline"}));
    assert_refused(result(&mut server, id), "declined");
}

#[test]
fn what_is_changed_between_the_question_and_the_start_is_not_run() {
    let place = Place::new();
    for name in ["one", "two"] {
        fs::create_dir(place.base.join(name)).unwrap();
    }
    let link = place.base.join("link");
    let mut server = place.legacy(&[]);
    let arguments = |line: &str| json!({"name": "execute_command", "arguments": {"command": line, "cwd": "link"}});
    symlink("one", &link).unwrap();
    let id = server.send_request("tools/call", arguments("tool"));
    let asked = question(&mut server);
    assert!(asked["params"]["message"].as_str().unwrap().contains("/one\"\n"), "{asked}");
    fs::remove_file(&link).unwrap();
    symlink("two", &link).unwrap();
    answer(&mut server, &asked, accept());
    assert_refused(result(&mut server, id), "the directory is not what it was when a person was asked");
    // The same name, and another directory.
    let id = server.send_request("tools/call", arguments("tool"));
    let asked = question(&mut server);
    fs::rename(place.base.join("two"), place.base.join("moved")).unwrap();
    fs::create_dir(place.base.join("two")).unwrap();
    answer(&mut server, &asked, accept());
    assert_refused(result(&mut server, id), "the directory is not what it was when a person was asked");
    // Another program, and the same one with other contents.
    let id = call(&mut server, "tool");
    let asked = question(&mut server);
    place.script("tool", "echo ran something else");
    answer(&mut server, &asked, accept());
    assert_refused(result(&mut server, id), "the program is not what it was when a person was asked");
    let id = call(&mut server, "tool");
    let asked = question(&mut server);
    {
        let _quiet = spawning();
        fs::write(place.base.join("tool"), "#!/bin/sh\necho ran yet another\n").unwrap();
    }
    answer(&mut server, &asked, accept());
    assert_refused(result(&mut server, id), "the program is not what it was when a person was asked");
    let id = call(&mut server, "tool");
    let asked = question(&mut server);
    answer(&mut server, &asked, accept());
    assert_ran(result(&mut server, id), " yet another");
}

#[test]
fn a_call_that_waited_for_its_turn_runs_only_what_was_approved() {
    let place = Place::new();
    let fifo = place.base.join("fifo");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    place.script("blocks", "cat fifo");
    let mut server = place.legacy(&["--allow", "blocks", "--max-concurrent", "1"]);
    server.request("logging/setLevel", json!({"level": "info"}));
    let blocks = call(&mut server, "blocks");
    let id = call(&mut server, "tool");
    let asked = question(&mut server);
    answer(&mut server, &asked, accept());
    // It is decided once more, and waits for its turn.
    server.recv_until(|message| message["params"]["data"]["command"] == "tool");
    place.script("tool", "echo ran something else");
    fs::write(&fifo, "go on").unwrap();
    assert!(result(&mut server, blocks).0.contains("go on"));
    assert_refused(result(&mut server, id), "was changed since a person approved it");
}

#[test]
fn a_rule_whose_paths_lead_elsewhere_since_is_not_run() {
    let place = Place::new();
    let policy = place.base.join("p.yaml");
    fs::write(&policy, "commands: {tool: {operands: [{path: read}], decision: ask, reason: it reads, insert: [-x]}}\n")
        .unwrap();
    fs::write(place.base.join("a"), "").unwrap();
    fs::write(place.base.join("b"), "").unwrap();
    let link = place.base.join("link");
    symlink("a", &link).unwrap();
    let mut server = Server::command(&["--policy", policy.to_str().unwrap()]).dir(&place.base);
    server = server.env("PATH", place.path());
    let mut server = server.start();
    server.initialize_with("2025-06-18", json!({"elicitation": {}}));
    let id = call(&mut server, "tool link");
    let asked = question(&mut server);
    let message = asked["params"]["message"].as_str().unwrap();
    assert!(
        message.contains("command: \"tool\" \"-x\" \"link\"\n") && message.contains("\nreason: it reads\n"),
        "{message}"
    );
    fs::remove_file(&link).unwrap();
    symlink("b", &link).unwrap();
    answer(&mut server, &asked, accept());
    assert_refused(result(&mut server, id), "what a path among the arguments leads to is not what it was");
    let id = call(&mut server, "tool link");
    let asked = question(&mut server);
    answer(&mut server, &asked, accept());
    assert_ran(result(&mut server, id), " -x link");
}

#[test]
fn sixteen_questions_are_open_and_equal_ones_are_asked_once() {
    let place = Place::new();
    let mut server = place.legacy(&[]);
    let ids: Vec<i64> = (0..16).map(|number| call(&mut server, &format!("tool {number}"))).collect();
    let asked: Vec<Value> = (0..16).map(|_| question(&mut server)).collect();
    let same = call(&mut server, "tool 0");
    let more: Vec<i64> = (16..2_000).map(|number| call(&mut server, &format!("tool {number}"))).collect();
    for id in more {
        assert_refused(result(&mut server, id), "16 questions are open already");
    }
    for question in &asked {
        answer(&mut server, question, accept());
    }
    assert_ran(result(&mut server, same), " 0");
    for (number, id) in ids.into_iter().enumerate() {
        assert_ran(result(&mut server, id), &format!(" {number}"));
    }
    assert!(server.drain().is_empty(), "nothing was asked twice");
}

#[test]
fn an_answer_is_for_as_many_equal_calls_as_the_person_was_told() {
    let place = Place::new();
    let mut server = place.legacy(&[]);
    server.request("logging/setLevel", json!({"level": "notice"}));
    let ids: Vec<i64> = (0..16).map(|_| call(&mut server, "tool")).collect();
    // Each is decided on beside the others.
    ids.iter().for_each(|_| drop(server.recv_until(|message| message["params"]["data"]["event"] == "asked")));
    let asked = question(&mut server);
    assert!(asked["params"]["message"].as_str().unwrap().ends_with("before you answer (16 at most)"), "{asked}");
    let more = call(&mut server, "tool");
    assert_refused(result(&mut server, more), "16 calls exactly like it wait for a person's answer already");
    answer(&mut server, &asked, accept());
    for id in ids {
        assert_ran(result(&mut server, id), "");
    }
    // Whoever is asked in a result is asked about each call by itself.
    let mut server = place.server(&[]);
    for _ in 0..2 {
        let asked = modern(&mut server, "tool", json!({}));
        let message = asked["result"]["inputRequests"]["approval"]["params"]["message"].as_str();
        assert!(message.unwrap().ends_with("nothing confines it"), "{asked}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_program_that_asks_counts_as_an_open_question_until_it_has_ended() {
    let place = Place::new();
    // It ignores SIGTERM, so it lives until the grace period is over.
    let script = "trap '' TERM; echo $$ >> \"$(dirname \"$0\")/started\"; while :; do sleep 1; done";
    let asker = place.script("asker", script);
    let started = place.base.join("started");
    let mut server = place.server(&["--ask-with", &asker, "--grace", "3s"]);
    server.initialize_with("2025-11-25", json!({}));
    let ids: Vec<i64> = (0..16).map(|number| call(&mut server, &format!("tool {number}"))).collect();
    let begun = || fs::read_to_string(&started).unwrap_or_default().lines().count();
    eventually("all programs run", || begun() == 16);
    for id in &ids {
        server.notify("notifications/cancelled", json!({"requestId": id}));
    }
    let more = call(&mut server, "tool 16");
    assert_refused(result(&mut server, more), "16 questions are open already");
    eventually("there is room again", || {
        call(&mut server, "tool 17");
        begun() == 17
    });
    server.close_stdin();
    server.wait_exit();
    for process in fs::read_to_string(&started).unwrap().lines() {
        eventually("it is gone with the server", || !Path::new("/proc").join(process).exists());
    }
}

#[test]
fn waiting_for_a_person_takes_no_turn_and_no_time_and_is_told() {
    let place = Place::new();
    let mut server = place.legacy(&["--max-concurrent", "1", "--timeout", "900ms"]);
    let mut progressing = params("tool");
    progressing["_meta"] = json!({"progressToken": "t"});
    let id = server.send_request("tools/call", progressing);
    let asked = question(&mut server);
    let other = call(&mut server, "true");
    assert!(!result(&mut server, other).1);
    // Longer than a call may take.
    for seconds in 1..=2 {
        let progress = server.recv_until(|message| message["method"] == "notifications/progress");
        assert_eq!(progress["params"]["progress"], json!(seconds));
        assert_eq!(progress["params"]["message"], json!("a person is asked whether this may run"));
    }
    answer(&mut server, &asked, accept());
    assert_ran(result(&mut server, id), "");
}

#[test]
fn questions_end_with_the_input_and_with_the_handshake() {
    let place = Place::new();
    let mut server = place.legacy(&[]);
    let first = call(&mut server, "tool one");
    let asked = question(&mut server);
    server.initialize_with("2025-06-18", json!({"elicitation": {}}));
    assert_refused(result(&mut server, first), "nobody has answered");
    answer(&mut server, &asked, accept());
    let second = call(&mut server, "tool two");
    question(&mut server);
    let rest = server.drain();
    let response = rest.iter().find(|message| message["id"] == json!(second)).unwrap();
    assert_refused(text_of(response), "nobody has answered");
    assert_eq!(server.wait_exit(), 0);
}

/// A modern call, with what `more` adds to its parameters.
fn modern(server: &mut Server, line: &str, more: Value) -> Value {
    let mut params = params(line);
    params["_meta"] = modern_meta();
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({"elicitation": {"form": {}}});
    params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    server.request("tools/call", params)
}

fn retry(state: &Value, result: &Value) -> Value {
    json!({"requestState": state, "inputResponses": {"approval": result}})
}

/// The state of a call that is to be sent anew with a person's answer.
fn state(server: &mut Server, line: &str) -> Value {
    let response = modern(server, line, json!({}));
    assert_eq!(response["result"]["resultType"], "input_required", "{response}");
    let asked = &response["result"]["inputRequests"]["approval"];
    assert_eq!(asked["method"], "elicitation/create");
    assert!(asked["params"]["message"].as_str().unwrap().starts_with("Run this command?\n"), "{asked}");
    response["result"]["requestState"].clone()
}

#[test]
fn a_modern_call_is_sent_anew_with_the_answer() {
    let place = Place::new();
    let mut server = place.server(&[]);
    let asked = state(&mut server, "tool a");
    assert_ran(text_of(&modern(&mut server, "tool a", retry(&asked, &accept()))), " a");
    for (action, why) in [("decline", "it was declined"), ("cancel", "nobody has answered")] {
        let asked = state(&mut server, "tool a");
        assert_refused(text_of(&modern(&mut server, "tool a", retry(&asked, &json!({"action": action})))), why);
    }
    let asked = state(&mut server, "tool a");
    let session = json!({"action": "accept", "content": {"remember": "session"}});
    assert_ran(text_of(&modern(&mut server, "tool a", retry(&asked, &session))), " a");
    assert_ran(text_of(&modern(&mut server, "tool a", json!({}))), " a");
    state(&mut server, "tool b");
}

#[test]
fn a_state_that_is_forged_replayed_swapped_or_late_runs_nothing() {
    let place = Place::new();
    let mut server = place.server(&[]);
    let code = |response: &Value| response["error"]["code"].as_i64();
    // Forged, of whatever kind, and an answer without any.
    for forged in [json!("00000000-0000-4000-8000-000000000000"), json!(""), json!(7), json!(null), json!({"a": 1})] {
        assert_eq!(code(&modern(&mut server, "tool a", retry(&forged, &accept()))), Some(-32602));
    }
    let unasked = modern(&mut server, "tool a", json!({"inputResponses": {"approval": accept()}}));
    assert_eq!(unasked["result"]["resultType"], "input_required");
    // Replayed.
    let asked = state(&mut server, "tool a");
    assert_ran(text_of(&modern(&mut server, "tool a", retry(&asked, &accept()))), " a");
    assert_eq!(code(&modern(&mut server, "tool a", retry(&asked, &accept()))), Some(-32602));
    // Swapped, and then it is gone for its own call too.
    let asked = state(&mut server, "tool a");
    assert_eq!(code(&modern(&mut server, "tool b", retry(&asked, &accept()))), Some(-32602));
    assert_eq!(code(&modern(&mut server, "tool a", retry(&asked, &accept()))), Some(-32602));
    // Without an answer, or with one of another shape.
    let asked = state(&mut server, "tool a");
    let unanswered = modern(&mut server, "tool a", json!({"requestState": asked}));
    assert_eq!(unanswered["result"]["resultType"], "input_required");
    for wrong in [json!({"action": "yes"}), json!({}), json!({"action": "accept", "content": {"remember": 1}})] {
        let asked = state(&mut server, "tool a");
        assert_eq!(code(&modern(&mut server, "tool a", retry(&asked, &wrong))), Some(-32602));
        assert_eq!(code(&modern(&mut server, "tool a", retry(&asked, &accept()))), Some(-32602));
    }
    // Another program by then.
    let asked = state(&mut server, "tool a");
    place.script("tool", "echo ran something else");
    let changed = modern(&mut server, "tool a", retry(&asked, &accept()));
    assert_refused(text_of(&changed), "the program is not what it was");
    // Late.
    let mut server = place.server(&["--ask-timeout", "100ms"]);
    let asked = state(&mut server, "tool a");
    let until = Instant::now() + Duration::from_secs(10);
    while !server.stderr().contains("approval=timed_out by=client") && Instant::now() < until {
        assert_eq!(modern(&mut server, "true", json!({}))["result"]["isError"], json!(false));
    }
    assert_eq!(code(&modern(&mut server, "tool a", retry(&asked, &accept()))), Some(-32602));
}

#[test]
fn a_modern_client_with_roots_is_asked_for_both_at_once() {
    let place = Place::new();
    fs::create_dir(place.base.join("root")).unwrap();
    let mut server = place.server(&[]);
    let capabilities = json!({"elicitation": {}, "roots": {}});
    let roots = json!({"roots": [{"uri": format!("file://{}/root", place.base.display())}]});
    let mut send = |more: Value| {
        let mut params = params("tool a");
        params["_meta"] = modern_meta();
        params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = capabilities.clone();
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        server.request("tools/call", params)
    };
    let first = send(json!({}));
    assert_eq!(first["result"]["inputRequests"], json!({"roots": {"method": "roots/list"}}));
    let second = send(json!({"inputResponses": {"roots": roots}}));
    let questions = second["result"]["inputRequests"].as_object().unwrap();
    assert_eq!(questions.keys().collect::<Vec<_>>(), ["approval", "roots"]);
    let asked = questions["approval"]["params"]["message"].as_str().unwrap();
    assert!(asked.contains("/root\"\n"), "{asked}");
    let answers = json!({"approval": accept(), "roots": roots});
    let third = send(json!({"requestState": second["result"]["requestState"], "inputResponses": answers}));
    assert_ran(text_of(&third), " a");
    // Other roots by then, and so another directory.
    let second = send(json!({"inputResponses": {"roots": roots}}));
    let elsewhere = json!({"roots": [{"uri": format!("file://{}", place.base.display())}]});
    let answers = json!({"approval": accept(), "roots": elsewhere});
    let third = send(json!({"requestState": second["result"]["requestState"], "inputResponses": answers}));
    assert_refused(text_of(&third), "the directory is not what it was");
}

#[test]
fn open_questions_of_modern_clients_are_bounded_too() {
    let place = Place::new();
    let mut server = place.server(&[]);
    let first = state(&mut server, "tool 0");
    (1..16).for_each(|number| drop(state(&mut server, &format!("tool {number}"))));
    for number in 16..1_000 {
        let refused = modern(&mut server, &format!("tool {number}"), json!({}));
        assert_refused(text_of(&refused), "16 questions are open already");
    }
    assert_ran(text_of(&modern(&mut server, "tool 0", retry(&first, &accept()))), " 0");
    state(&mut server, "tool 17");
}

/// A program that asks: it keeps what it is given, and ends as the file `says`.
fn asker(place: &Place) -> String {
    place.script(
        "asker",
        "cd \"$(dirname \"$0\")\"; cat > request.new; mv request.new request; printf '%s' \"$ALLOWEXEC_ASK_TEXT\" > text; \
         echo asked >> count; echo looked >&2; exit $(cat says)",
    )
}

#[test]
fn the_operators_program_wins_over_the_client_and_its_exit_status_decides() {
    let place = Place::new();
    let asker = asker(&place);
    let says = |status: &str| fs::write(place.base.join("says"), status).unwrap();
    let mut server = place.legacy(&["--ask-with", &format!("{asker} --title 'a b'")]);
    says("0");
    let id = call(&mut server, "tool 'a b'");
    assert_ran(result(&mut server, id), " a b");
    let base = place.base.display().to_string();
    let request: Value = serde_json::from_slice(&fs::read(place.base.join("request")).unwrap()).unwrap();
    assert_eq!(
        request,
        json!({
            "program": format!("{base}/tool"), "argv": ["tool", "a b"], "cwd": base, "reason": null, "client": "test 0",
            "rule": "the rule for `tool` in --ask", "sandbox": "off: nothing confines it", "tool": "execute_command",
        })
    );
    let text = fs::read_to_string(place.base.join("text")).unwrap();
    assert!(text.starts_with("Run this command?\ncommand: \"tool\" \"a b\"\n"), "{text}");
    for status in ["1", "2", "126", "127", "255", "11", "9"] {
        says(status);
        let id = call(&mut server, "tool 'a b'");
        assert_refused(result(&mut server, id), "it was declined");
    }
    says("10");
    for _ in 0..3 {
        let id = call(&mut server, "tool 'a b'");
        assert_ran(result(&mut server, id), " a b");
    }
    assert_eq!(fs::read_to_string(place.base.join("count")).unwrap().lines().count(), 9);
    // A modern client, one without forms and one of before forms are served alike.
    says("0");
    assert_ran(text_of(&modern(&mut server, "tool modern", json!({}))), " modern");
    server.drain();
    server.wait_exit();
    let log = server.stderr();
    assert!(log.contains("asked=program"), "{log}");
    assert!(log.contains("approval=session by=program") && log.contains("said=\"looked\""), "{log}");
    let mut server = place.server(&["--ask-with", &asker]);
    server.initialize("2024-11-05");
    let id = call(&mut server, "tool old");
    assert_ran(result(&mut server, id), " old");
}

#[test]
fn a_program_that_can_not_ask_refuses() {
    let place = Place::new();
    let mut server = place.legacy(&["--ask-with", "no-such-program --x"]);
    let id = call(&mut server, "tool");
    assert_refused(result(&mut server, id), "`no-such-program` of `--ask-with` was not found");
    place.script("dies", "kill -9 $$");
    let mut server = place.legacy(&["--ask-with", "dies"]);
    let id = call(&mut server, "tool");
    assert_refused(result(&mut server, id), "was ended by signal 9");
    place.script("sleeps", "sleep 60");
    let mut server = place.legacy(&["--ask-with", "sleeps", "--ask-timeout", "200ms", "--grace", "0s"]);
    let id = call(&mut server, "tool");
    assert_refused(result(&mut server, id), "nobody has answered");
}

/// Waits until this holds.
#[cfg(target_os = "linux")]
#[track_caller]
fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let until = Instant::now() + Duration::from_secs(10);
    while !holds() {
        assert!(Instant::now() < until, "{what}");
        std::thread::park_timeout(Duration::from_millis(5));
    }
}

#[cfg(target_os = "linux")]
fn is_alive(pid: &str) -> bool {
    // A process that has ended and was not reaped has no command line.
    fs::read(format!("/proc/{}/cmdline", pid.trim())).is_ok_and(|line| !line.is_empty())
}

/// A program that asks for ever, with a child; gives their process ids once they are there.
#[cfg(target_os = "linux")]
fn lingering(place: &Place) -> String {
    let script =
        "cd \"$(dirname \"$0\")\"; sleep 300 & echo $! > child.new; echo $$ > parent; mv child.new child; wait";
    place.script("lingers", script)
}

#[cfg(target_os = "linux")]
fn pids(base: &Path) -> [String; 2] {
    eventually("the program has started", || base.join("child").exists());
    ["parent", "child"].map(|name| fs::read_to_string(base.join(name)).unwrap())
}

#[test]
#[cfg(target_os = "linux")]
fn the_operators_program_ends_with_its_tree_when_nobody_waits() {
    let place = Place::new();
    let program = lingering(&place);
    let mut server = place.legacy(&["--ask-with", &program, "--grace", "100ms"]);
    let id = call(&mut server, "tool");
    let asking = pids(&place.base);
    // It blocks neither other calls nor the loop.
    let other = call(&mut server, "true");
    assert!(!result(&mut server, other).1);
    assert!(asking.iter().all(|pid| is_alive(pid)));
    server.notify("notifications/cancelled", json!({"requestId": id}));
    eventually("it has ended with its call", || !asking.iter().any(|pid| is_alive(pid)));
    fs::remove_file(place.base.join("child")).unwrap();
    let id = call(&mut server, "tool");
    let asking = pids(&place.base);
    let rest = server.drain();
    assert_refused(text_of(rest.iter().find(|message| message["id"] == json!(id)).unwrap()), "nobody has answered");
    assert_eq!(server.wait_exit(), 0);
    assert!(!asking.iter().any(|pid| is_alive(pid)), "it has ended with the input");
    fs::remove_file(place.base.join("child")).unwrap();
    let mut server = place.legacy(&["--ask-with", &program, "--ask-timeout", "3s", "--grace", "100ms"]);
    let id = call(&mut server, "tool");
    let asking = pids(&place.base);
    assert_refused(result(&mut server, id), "nobody has answered");
    assert!(!asking.iter().any(|pid| is_alive(pid)), "it has ended at the deadline");
}

#[test]
fn the_operators_program_runs_outside_of_the_sandbox() {
    let place = Place::new();
    let secret = tempfile::tempdir().unwrap();
    let file = secret.path().join("asked");
    let asker = place.script("asker", &format!("echo yes > {}", file.display()));
    // On a kernel without Landlock nothing is confined, and the program writes all the same.
    let args = ["--ask-with", &asker, "--sandbox", "workspace", "--sandbox-best-effort", "--project-dir", "."];
    let mut server = place.legacy(&args);
    let id = call(&mut server, "tool");
    assert_ran(result(&mut server, id), "");
    assert_eq!(fs::read_to_string(file).unwrap(), "yes\n");
}

/// Maps the file, writes to the mapping, and once more when it is told to, which gives the file no new times by then.
const MAPS: &str = "
import mmap, sys
file = open(sys.argv[1], 'r+b')
text = mmap.mmap(file.fileno(), 0)
place = text.find(b'ran')
text[place:place + 3] = b'ran'
print('mapped', flush=True)
for evil in [b'bad', b'ill']:
    sys.stdin.readline()
    text[place:place + 3] = evil
    if evil == b'ill': text.close(), file.close()
    print('written', flush=True)
";

#[test]
fn what_is_written_through_a_mapping_is_asked_about_anew() {
    use std::io::{BufRead, BufReader, Write};
    use std::process::Stdio;
    let place = Place::new();
    let mut maps = Command::new("python3");
    maps.args(["-c", MAPS]).arg(place.base.join("tool")).stdin(Stdio::piped()).stdout(Stdio::piped());
    let Ok(mut writer) = maps.spawn() else { return eprintln!("not tested without python3") };
    let mut said = BufReader::new(writer.stdout.take().unwrap()).lines();
    let mut input = writer.stdin.take().unwrap();
    assert_eq!(said.next().unwrap().unwrap(), "mapped");
    let mut server = place.legacy(&[]);
    let id = call(&mut server, "tool x");
    let asked = question(&mut server);
    writeln!(input).unwrap();
    assert_eq!(said.next().unwrap().unwrap(), "written");
    answer(&mut server, &asked, accept());
    assert_refused(result(&mut server, id), "the program");
    // Who has it mapped can do so again, and is not there any more when the call would run.
    let id = call(&mut server, "tool x");
    let asked = question(&mut server);
    let session = json!({"action": "accept", "content": {"remember": "session"}});
    writeln!(input).unwrap();
    assert_eq!(said.next().unwrap().unwrap(), "written");
    assert!(writer.wait().unwrap().success());
    answer(&mut server, &asked, session);
    assert_refused(result(&mut server, id), "the program");
}

#[test]
fn the_operators_programs_run_where_no_command_writes() {
    let place = Place::new();
    let told = tempfile::tempdir().unwrap();
    let [asked, kept] = ["asked", "kept"].map(|name| told.path().join(name).display().to_string());
    // A program of the name of a module is first looked for where Python runs, and so are settings of many others.
    let asker = place.script("asker", &format!("pwd > {asked}; echo $PWD >> {asked}; ls settings >> {asked}; exit 0"));
    let anchor = place.script("anchor", &format!("pwd > {kept}; echo $PWD >> {kept}; echo $AUDIT_LOG >> {kept}"));
    fs::write(place.base.join("settings"), "").unwrap();
    // Both are named from the server's directory.
    let relative = |path: &str| format!("./{}", Path::new(path).file_name().unwrap().to_str().unwrap());
    let args = ["--ask-with", &relative(&asker), "--audit", "log", "--audit-anchor", &relative(&anchor)];
    let mut server = place.legacy(&args);
    let id = call(&mut server, "tool");
    assert_ran(result(&mut server, id), "");
    server.drain();
    assert_eq!(server.wait_exit(), 0);
    assert_eq!(fs::read_to_string(&asked).unwrap(), "/\n/\n");
    let log = place.base.join("log");
    assert_eq!(fs::read_to_string(&kept).unwrap(), format!("/\n/\n{}\n", log.display()));
}

#[test]
fn one_call_from_the_command_line_asks_the_program_and_else_nobody() {
    let place = Place::new();
    let asker = asker(&place);
    let run = |args: &[&str]| {
        let _quiet = spawning();
        let mut command = Command::new(env!("CARGO_BIN_EXE_allowexec"));
        command.args(["call", "execute_command", r#"{"command":"tool x"}"#, "--ask", "tool"]).args(args);
        command.env("PATH", place.path()).current_dir(&place.base).output().unwrap()
    };
    let refused = run(&[]);
    assert_eq!(refused.status.code(), Some(1), "{refused:?}");
    assert!(String::from_utf8_lossy(&refused.stdout).contains("nobody can be asked here"), "{refused:?}");
    for (says, status, text) in [("0", 0, "ran x"), ("1", 1, "declined")] {
        fs::write(place.base.join("says"), says).unwrap();
        let ran = run(&["--ask-with", &asker]);
        assert_eq!(ran.status.code(), Some(status), "{ran:?}");
        assert!(String::from_utf8_lossy(&ran.stdout).contains(text), "{ran:?}");
    }
}

#[test]
fn a_program_that_asks_can_start_allowexec_itself() {
    let place = Place::new();
    let binary = env!("CARGO_BIN_EXE_allowexec");
    let asker = place.script("asker", &format!("{binary} check --allow true -- true >&2"));
    let mut server = place.legacy(&["--ask-with", &asker]);
    let id = call(&mut server, "tool");
    assert_ran(result(&mut server, id), "");
}

#[test]
fn the_tools_of_the_persistent_shell_ask_too() {
    let place = Place::new();
    fs::create_dir(place.base.join("sub")).unwrap();
    let args = ["--tools", "shell", "--ask", "tool,echo", "--allow", "cd,pwd"];
    let mut server = Server::command(&args).dir(&place.base).env("PATH", place.path()).start();
    server.initialize_with("2025-06-18", json!({"elicitation": {}}));
    let tool = |name: &str, arguments: &str| json!({"name": name, "arguments": {"arguments": arguments}});
    let id = server.send_request("tools/call", tool("tool", "a </dev/null"));
    assert!(result(&mut server, id).1);
    let id = server.send_request("tools/call", tool("echo", "'ran b'"));
    let asked = question(&mut server);
    let message = asked["params"]["message"].as_str().unwrap();
    assert!(message.contains("command: \"echo\" \"ran b\"\ndirectory: \""), "{message}");
    answer(&mut server, &asked, accept());
    assert_ran(result(&mut server, id), " b");
    let id = server.send_request("tools/call", tool("tool", "c"));
    let asked = question(&mut server);
    assert!(asked["params"]["message"].as_str().unwrap().contains("/tool\"\n"), "{asked}");
    answer(&mut server, &asked, json!({"action": "decline"}));
    assert_refused(result(&mut server, id), "declined");
    // The shell goes elsewhere while the question is open.
    let id = server.send_request("tools/call", tool("echo", "'ran d'"));
    let asked = question(&mut server);
    let moved = server.send_request("tools/call", tool("cd", "sub"));
    assert!(!result(&mut server, moved).1);
    answer(&mut server, &asked, accept());
    assert_refused(result(&mut server, id), "the directory is not what it was");
    let id = server.send_request("tools/call", tool("echo", "'ran e'"));
    let asked = question(&mut server);
    assert!(asked["params"]["message"].as_str().unwrap().contains("/sub\"\n"), "{asked}");
    answer(&mut server, &asked, json!({"action": "accept", "content": {"remember": "session"}}));
    assert_ran(result(&mut server, id), " e");
    let id = server.send_request("tools/call", tool("echo", "'ran e'"));
    assert_ran(result(&mut server, id), " e");
}

#[test]
fn a_change_of_the_shells_directory_can_be_asked_for() {
    let place = Place::new();
    fs::create_dir(place.base.join("sub")).unwrap();
    let args = ["--tools", "shell", "--ask", "cd", "--allow", "pwd"];
    let mut server = Server::command(&args).dir(&place.base).env("PATH", place.path()).start();
    server.initialize_with("2025-06-18", json!({"elicitation": {}}));
    for (action, ends) in [("decline", false), ("accept", true)] {
        let call = json!({"name": "cd", "arguments": {"arguments": "sub"}});
        let id = server.send_request("tools/call", call);
        let asked = question(&mut server);
        answer(&mut server, &asked, json!({"action": action}));
        assert_eq!(result(&mut server, id).1, !ends);
        let id = server.send_request("tools/call", json!({"name": "pwd", "arguments": {}}));
        assert_eq!(result(&mut server, id).0.contains("/sub"), ends);
    }
}

#[test]
fn check_and_doctor_say_who_would_be_asked() {
    let place = Place::new();
    let run = |args: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_allowexec"))
            .args(args)
            .env("PATH", place.path())
            .current_dir(&place.base)
            .output()
            .unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let (status, said) = run(&["check", "--ask", "tool", "--", "tool", "a"]);
    assert_eq!(status, Some(3), "{said}");
    assert!(said.contains("a person has to approve this call of `tool`"), "{said}");
    let (status, said) = run(&["check", "--tools", "shell", "--ask", "tool", "--", "tool", "a"]);
    assert_eq!(status, Some(3), "{said}");
    let (status, said) = run(&["doctor", "--ask", "tool"]);
    assert_eq!(status, Some(0), "{said}");
    assert!(said.contains("calls of `tool` need a person's approval") && said.contains("--ask-with"), "{said}");
    // Of a command that asks about some subcommands, these alone; not too many.
    let (_, said) = run(&["doctor", "--profile", "git-commit"]);
    assert!(said.contains("calls of `git stash drop`, `git stash clear` need a person's approval"), "{said}");
    let (_, said) = run(&["doctor", "--profile", "node-develop"]);
    assert!(
        said.contains("calls of `npm install`, `npm i`, ") && said.contains(" and 1 more need a person's approval"),
        "{said}"
    );
    let (status, said) = run(&["doctor", "--ask", "tool", "--ask-with", "no-such-program"]);
    assert_eq!(status, Some(1), "{said}");
    assert!(said.contains("`no-such-program` of `--ask-with` was not found"), "{said}");
    let (status, said) = run(&["doctor", "--allow", "true", "--ask-with", "true"]);
    assert_eq!((status, said.contains("`--ask-with` asks nobody")), (Some(0), true), "{said}");
    let (_, said) = run(&["doctor", "--allow", "*", "--ask", "tool"]);
    assert!(said.contains("by its path without approval"), "{said}");
}

#[test]
fn a_redirection_is_asked_about_though_no_command_is() {
    let place = Place::new();
    fs::create_dir(place.base.join("sub")).unwrap();
    fs::write(place.base.join("sub/x"), "").unwrap();
    let policy = "commands: {echo: any}\n\
                  redirections: {write: {path: {access: write, under: [.]}, ask: {path: {access: write, under: [sub]}}}}\n";
    fs::write(place.base.join("policy.yaml"), policy).unwrap();
    let asked = place.base.join("asked");
    let answers = place.script("answers", &format!("echo asked >> {}; exit 10", asked.display()));
    let args = ["--policy", "policy.yaml", "--project-dir", ".", "--lines", "files", "--ask-with", &answers];
    let mut server = Server::command(&args).dir(&place.base).env("PATH", place.path()).start();
    server.initialize("2025-11-25");
    for _ in 0..2 {
        let result = server.call("execute_command", json!({"command": "echo a > sub/x"}));
        assert_eq!(result["isError"], false, "{result}");
    }
    assert_eq!(fs::read_to_string(place.base.join("sub/x")).unwrap(), "a\n");
    assert_eq!(fs::read_to_string(asked).unwrap(), "asked\n", "the answer is for the session");
    let begin = ["doctor", "--policy", "policy.yaml", "--project-dir", ".", "--lines", "files"];
    let doctor = |args: &[&str]| allowexec(&[&begin, args].concat(), &place.base, "").1;
    assert!(!doctor(&["--ask-with", &answers]).contains("asks nobody"));
    assert!(doctor(&[]).contains("redirections to or from some files need a person's approval"), "{}", doctor(&[]));
    let said = doctor(&["--ask", "*"]);
    assert!(
        said.contains("calls of commands that nothing describes, and redirections to or from some files need"),
        "{said}"
    );
}

fn allowexec(args: &[&str], dir: &Path, input: &str) -> (i32, String) {
    use std::io::Write;
    use std::process::Stdio;

    let mut child = {
        let _quiet = spawning();
        let mut command = Command::new(env!("CARGO_BIN_EXE_allowexec"));
        command.args(args).current_dir(dir).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().unwrap()
    };
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let said = [output.stdout, output.stderr].map(|said| String::from_utf8(said).unwrap());
    (output.status.code().unwrap(), said.concat())
}

#[test]
fn a_recorded_approval_replays_and_is_mocked_in_both_eras() {
    let place = Place::new();
    let tool = place.base.join("tool").display().to_string();
    for era in ["legacy", "modern"] {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("s.transcript").display().to_string();
        let mut server = Server::command(&["--ask", &tool, "--record", &file]).dir(dir.path()).start();
        if era == "legacy" {
            server.initialize_with("2025-11-25", json!({"elicitation": {}}));
            for result in [accept(), json!({"action": "decline"})] {
                let id = call(&mut server, &tool);
                let asked = question(&mut server);
                answer(&mut server, &asked, result);
                self::result(&mut server, id);
            }
        } else {
            for result in [accept(), json!({"action": "cancel"})] {
                let asked = state(&mut server, &tool);
                modern(&mut server, &tool, retry(&asked, &result));
            }
        }
        server.drain();
        assert_eq!(server.wait_exit(), 0);
        let recorded = fs::read_to_string(&file).unwrap();
        assert!(recorded.contains("elicitation/create") && recorded.contains("ran"), "{recorded}");
        let (status, said) = allowexec(&["replay", &file], dir.path(), "");
        assert_eq!(status, 0, "{era}: {said}");
        // What the client sent then brings what the server said then, to the byte but for the order of the keys.
        let lines = |arrow: &str| -> Vec<String> {
            recorded.lines().filter_map(|line| line.strip_prefix(arrow).map(str::to_owned)).collect()
        };
        let (status, said) = allowexec(&["mock", &file], dir.path(), &(lines("--> ").join("\n") + "\n"));
        assert_eq!(status, 0, "{era}: {said}");
        let parsed = |lines: Vec<String>| -> Vec<Value> {
            let mut values: Vec<Value> = lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
            values.sort_by_key(Value::to_string);
            values
        };
        let said = said.lines().filter(|line| line.starts_with('{')).map(str::to_owned).collect();
        let version = format!("\"{}\"", env!("CARGO_PKG_VERSION"));
        let wanted = lines("<-- ").iter().map(|line| line.replace("\"[version]\"", &version)).collect();
        let wanted: Vec<Value> = parsed(wanted);
        let tmp = fs::canonicalize(dir.path()).unwrap().display().to_string();
        let wanted: Vec<Value> = wanted
            .iter()
            .map(|value| serde_json::from_str(&value.to_string().replace("[tmp]", &tmp)).unwrap())
            .collect();
        assert_eq!(parsed(said), wanted, "{era}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn an_approved_command_does_not_follow_a_shell_that_was_started_anew_elsewhere() {
    let place = Place::new();
    fs::create_dir(place.base.join("sub")).unwrap();
    let base = place.base.to_str().unwrap();
    let args = ["--tools", "all", "--allow", "cd,sh", "--ask", "touch", "--ask-with", "true", "--project-dir", base];
    let mut server = place.server(&args);
    server.initialize("2025-06-18");
    let mut shell = |tool: &str, arguments: &str| {
        let result = server.call(tool, json!({"arguments": arguments}));
        (result["isError"] == true, result["content"][0]["text"].as_str().unwrap().to_owned())
    };
    assert!(!shell("cd", "sub").0);
    let (is_error, text) = shell("touch", "first");
    assert!(!is_error && place.base.join("sub/first").exists(), "{text}");
    // It is gone before the next call.
    let (_, text) = shell("sh", "-c 'echo $PPID'");
    let pid: i32 = text.split_whitespace().find_map(|word| word.parse().ok().filter(|number| *number > 1)).unwrap();
    rustix::process::kill_process(rustix::process::Pid::from_raw(pid).unwrap(), rustix::process::Signal::KILL).unwrap();
    eventually("the shell is gone", || !is_alive(&pid.to_string()));
    let (is_error, text) = shell("touch", "second");
    assert!(is_error && text.contains("checked again"), "{text}");
    assert!(!place.base.join("second").exists() && !place.base.join("sub/second").exists());
    // Asked for again, it is decided for where the shell stands now.
    let (is_error, text) = shell("touch", "second");
    assert!(!is_error && place.base.join("second").exists(), "{text}");
}

#[test]
fn what_earlier_calls_have_set_in_the_shell_is_shown_and_part_of_what_is_approved() {
    let place = Place::new();
    let asker = asker(&place);
    fs::write(place.base.join("says"), "10").unwrap();
    let args = ["--tools", "shell", "--allow", "export,umask,unset,pwd,true", "--ask", "tool", "--ask-with", &asker];
    let args = [&args[..], &["--line-env", "HOME,A,V"]].concat();
    let mut server = Server::command(&args).dir(&place.base).env("PATH", place.path()).start();
    server.initialize("2025-11-25");
    let mut shell = |tool: &str, arguments: &str| {
        let arguments = if tool == "restart" { json!({}) } else { json!({"arguments": arguments}) };
        let result = server.call(tool, arguments);
        (result["content"][0]["text"].as_str().unwrap().to_owned(), result["isError"] == true)
    };
    let asked = || fs::read_to_string(place.base.join("count")).unwrap_or_default().lines().count();
    let told = || fs::read_to_string(place.base.join("text")).unwrap();
    assert_ran(shell("tool", "a"), " a");
    assert!(asked() == 1 && !told().contains("earlier"), "{}", told());
    // What shows something, and what sets nothing, changes nothing.
    for (tool, arguments) in [("pwd", ""), ("umask", ""), ("umask", "-S"), ("export", "-p"), ("true", "x")] {
        assert!(!shell(tool, arguments).1, "{tool}");
        assert_ran(shell("tool", "a"), " a");
        assert_eq!(asked(), 1, "{tool}");
    }
    for (number, (tool, arguments)) in
        [("export", "HOME=/x 'A=b c'"), ("umask", "0"), ("unset", "A")].iter().enumerate()
    {
        shell(tool, arguments);
        assert_ran(shell("tool", "a"), " a");
        assert_ran(shell("tool", "a"), " a");
        assert_eq!(asked(), number + 2, "{tool}");
    }
    let line = "\nearlier in this shell: \"export\" \"HOME=/x\" \"A=b c\"; \"umask\" \"0\"; \"unset\" \"A\"\n";
    assert!(told().contains(line), "{}", told());
    let request: Value = serde_json::from_slice(&fs::read(place.base.join("request")).unwrap()).unwrap();
    let changes = json!([["export", "HOME=/x", "A=b c"], ["umask", "0"], ["unset", "A"]]);
    assert_eq!(request["shell_changes"], changes);
    // A new shell holds nothing of it, and what was approved for the first one holds for it.
    assert!(shell("restart", "").0.contains("`restart` was called"));
    assert_ran(shell("tool", "a"), " a");
    assert_eq!(asked(), 4);
    // More than is shown to anybody is approved by nobody.
    for number in 0..50 {
        shell("export", &format!("V={number}{}", "x".repeat(100)));
    }
    assert_refused(shell("tool", "a"), "too long to be shown in full");
    assert_eq!(asked(), 4);
}

#[test]
fn what_is_set_in_the_shell_while_a_person_is_asked_is_not_approved() {
    let place = Place::new();
    let args = ["--tools", "shell", "--ask", "tool", "--allow", "export,exit", "--line-env", "HOME"];
    let mut server = Server::command(&args).dir(&place.base).env("PATH", place.path()).start();
    server.initialize_with("2025-06-18", json!({"elicitation": {}}));
    let call = |name: &str, arguments: &str| json!({"name": name, "arguments": {"arguments": arguments}});
    let id = server.send_request("tools/call", call("tool", "a"));
    let asked = question(&mut server);
    let set = server.send_request("tools/call", call("export", "HOME=/x"));
    assert!(!result(&mut server, set).1);
    answer(&mut server, &asked, accept());
    assert_refused(result(&mut server, id), "what earlier calls have set in the shell is not what it was");
    // A shell that is lost in between is not what was approved, either.
    let id = server.send_request("tools/call", call("tool", "a"));
    let asked = question(&mut server);
    assert!(asked["params"]["message"].as_str().unwrap().contains("\nearlier in this shell: \"export\""), "{asked}");
    let ended = server.send_request("tools/call", call("exit", "3"));
    assert!(result(&mut server, ended).0.contains("shell_restarted"));
    answer(&mut server, &asked, accept());
    assert_refused(result(&mut server, id), "what earlier calls have set in the shell is not what it was");
    let id = server.send_request("tools/call", call("tool", "a"));
    let asked = question(&mut server);
    assert!(!asked["params"]["message"].as_str().unwrap().contains("earlier"), "{asked}");
    answer(&mut server, &asked, accept());
    assert_ran(result(&mut server, id), " a");
}

#[test]
#[cfg(target_os = "linux")]
fn an_approved_command_does_not_run_in_a_shell_that_has_lost_what_was_set() {
    let place = Place::new();
    let args = ["--tools", "shell", "--allow", "export,sh", "--ask", "tool", "--ask-with", "true", "--line-env", "A"];
    let mut server = Server::command(&args).dir(&place.base).env("PATH", place.path()).start();
    server.initialize("2025-06-18");
    let mut shell = |tool: &str, arguments: &str| {
        let result = server.call(tool, json!({"arguments": arguments}));
        (result["content"][0]["text"].as_str().unwrap().to_owned(), result["isError"] == true)
    };
    assert!(!shell("export", "A=b").1);
    let (text, _) = shell("sh", "-c 'echo $PPID'");
    let pid: i32 = text.split_whitespace().find_map(|word| word.parse().ok().filter(|number| *number > 1)).unwrap();
    rustix::process::kill_process(rustix::process::Pid::from_raw(pid).unwrap(), rustix::process::Signal::KILL).unwrap();
    eventually("the shell is gone", || !is_alive(&pid.to_string()));
    assert_refused(shell("tool", "a"), "approved for a shell whose state is lost");
    assert_ran(shell("tool", "a"), " a");
}

#[test]
fn an_answer_for_a_session_that_is_over_approves_nothing() {
    let place = Place::new();
    // It is asked in the first session, and would answer in the second one.
    place.script("late", "until [ -e go ]; do sleep 0.02; done; exit 10");
    let mut server = place.legacy(&["--ask-with", "late"]);
    let id = call(&mut server, "tool");
    server.initialize("2025-06-18");
    fs::write(place.base.join("go"), "").unwrap();
    let (text, is_error) = result(&mut server, id);
    assert!(is_error && !text.contains("stdout"), "{text}");
    // The same call is asked about anew.
    fs::remove_file(place.base.join("go")).unwrap();
    place.script("late", "exit 1");
    let id = call(&mut server, "tool");
    let (text, is_error) = result(&mut server, id);
    assert!(is_error && !text.contains("stdout"), "{text}");
}
