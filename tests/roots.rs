//! The client's roots in both eras: asked for, waited for, narrowed to what the operator allows.
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a helper of a test fails by panicking, and clippy's exception covers test functions only"
)]

mod support;

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};
use support::{Server, modern_meta};

fn tree() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let base = fs::canonicalize(dir.path()).unwrap();
    for place in ["one/src", "two", "three"] {
        fs::create_dir_all(base.join(place)).unwrap();
    }
    (dir, base)
}

fn roots(base: &std::path::Path, names: &[&str]) -> Value {
    let root = |name: &&str| json!({"uri": format!("file://{}/{name}", base.display())});
    json!({"roots": names.iter().map(root).collect::<Vec<_>>()})
}

/// Waits for the server's question and answers it.
fn answer(server: &mut Server, result: &Value) {
    let question = server.recv_until(|message| message["method"] == "roots/list");
    server.send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": result}));
}

fn pwd(server: &mut Server, arguments: Value) -> String {
    let mut all = json!({"command": "pwd"});
    all.as_object_mut().unwrap().extend(arguments.as_object().unwrap().clone());
    server.call("execute_command", all)["content"][0]["text"].as_str().unwrap().to_owned()
}

#[test]
fn calls_wait_for_the_roots_and_run_in_the_first() {
    let (_dir, base) = tree();
    for revision in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let mut server = Server::command(&["--allow", "pwd"]).dir(&base).start();
        server.initialize_with(revision, json!({"roots": {"listChanged": true}}));
        let id = server.send_request("tools/call", json!({"name": "execute_command", "arguments": {"command": "pwd"}}));
        answer(&mut server, &roots(&base, &["one", "two"]));
        let response = server.response(&json!(id));
        let text = response["result"]["content"][0]["text"].as_str().unwrap();
        assert!(text.contains(&format!("{}/one\n", base.display())), "{text}");
        assert!(pwd(&mut server, json!({"cwd": "../two"})).contains("/two\n"));
        assert!(pwd(&mut server, json!({"cwd": "../three"})).contains("is not inside an allowed root"));
        server.notify("notifications/roots/list_changed", json!({}));
        let id = server.send_request("tools/call", json!({"name": "execute_command", "arguments": {"command": "pwd"}}));
        answer(&mut server, &roots(&base, &["three"]));
        let response = server.response(&json!(id));
        assert!(response["result"]["content"][0]["text"].as_str().unwrap().contains("/three\n"), "{response}");
        assert!(pwd(&mut server, json!({"cwd": "../two"})).contains("is not inside an allowed root"));
    }
}

#[test]
fn a_client_that_does_not_answer_is_served_without_its_roots() {
    let (_dir, base) = tree();
    let mut server = Server::command(&["--allow", "pwd"]).dir(&base).start();
    server.initialize_with("2025-06-18", json!({"roots": {}}));
    // The wait is for at most 3 s, and the harness waits for 10.
    assert!(pwd(&mut server, json!({})).contains(&format!("{}\n", base.display())));
    assert!(server.stderr().contains("did not tell its roots within 3 s"), "{}", server.stderr());
    // An answer that comes late still counts.
    answer(&mut server, &roots(&base, &["one"]));
    assert!(pwd(&mut server, json!({})).contains("/one\n"));
    // A call that waits at the end of the input is answered, since nobody will answer the question.
    let mut server = Server::command(&["--allow", "pwd"]).dir(&base).start();
    server.initialize_with("2025-06-18", json!({"roots": {}}));
    let id = server.send_request("tools/call", json!({"name": "execute_command", "arguments": {"command": "pwd"}}));
    let left = server.drain();
    assert!(left.iter().any(|message| message["id"] == id && message.get("method").is_none()), "{left:?}");
}

#[test]
fn a_waiting_call_can_be_cancelled() {
    let (_dir, base) = tree();
    let mut server = Server::command(&["--allow", "pwd"]).dir(&base).start();
    server.initialize_with("2025-06-18", json!({"roots": {}}));
    let id = server.send_request("tools/call", json!({"name": "execute_command", "arguments": {"command": "pwd"}}));
    server.notify("notifications/cancelled", json!({"requestId": id}));
    answer(&mut server, &roots(&base, &["one"]));
    assert!(pwd(&mut server, json!({})).contains("/one\n"));
    assert!(server.drain().iter().all(|message| message["id"] != id));
}

#[test]
fn roots_are_asked_for_only_where_they_are_wanted_and_declared() {
    let (_dir, base) = tree();
    for (arguments, capabilities) in
        [(&["--allow", "pwd", "--roots", "ignore"][..], json!({"roots": {}})), (&["--allow", "pwd"], json!({}))]
    {
        let mut server = Server::command(arguments).dir(&base).start();
        server.initialize_with("2025-06-18", capabilities);
        server.notify("notifications/roots/list_changed", json!({}));
        assert!(pwd(&mut server, json!({"cwd": "two"})).contains("/two\n"));
        assert!(server.drain().is_empty());
    }
}

#[test]
fn require_refuses_until_the_roots_are_known() {
    let (_dir, base) = tree();
    let mut server = Server::command(&["--allow", "pwd", "--roots", "require"]).dir(&base).start();
    server.initialize("2025-06-18");
    assert!(pwd(&mut server, json!({})).contains("the client does not declare the capability `roots`"));
    let mut server = Server::command(&["--allow", "pwd", "--roots", "require"]).dir(&base).start();
    server.initialize_with("2025-06-18", json!({"roots": {}}));
    answer(&mut server, &json!({"roots": [{"uri": "https://localhost/x"}, {"uri": "file:///nowhere/at/all"}]}));
    assert!(pwd(&mut server, json!({})).contains("none of the client's roots can be used"));
    for why in ["it does not begin with `file://`", "No such file or directory"] {
        assert!(server.stderr().contains(why), "{}", server.stderr());
    }
    let mut server = Server::command(&["--allow", "pwd", "--roots", "require"]).dir(&base).start();
    let params = json!({"name": "execute_command", "arguments": {"command": "pwd"}, "_meta": modern_meta()});
    let error = server.request("tools/call", params)["error"].clone();
    assert_eq!(error["code"], -32021);
    assert_eq!(error["data"], json!({"requiredCapabilities": {"roots": {}}}));
}

fn modern(server: &mut Server, arguments: Value, answer: Option<Value>) -> Value {
    let mut meta = modern_meta();
    meta["io.modelcontextprotocol/clientCapabilities"] = json!({"roots": {}});
    let mut params = json!({"name": "execute_command", "arguments": arguments, "_meta": meta});
    if let Some(answer) = answer {
        params["inputResponses"] = answer;
    }
    server.request("tools/call", params)
}

#[test]
fn a_modern_call_that_needs_the_project_is_asked_for_the_roots_once() {
    let (_dir, base) = tree();
    let mut server = Server::command(&["--allow", "pwd"]).dir(&base).start();
    let question = modern(&mut server, json!({"command": "pwd"}), None)["result"].clone();
    assert_eq!(question["resultType"], "input_required");
    assert_eq!(question["inputRequests"], json!({"roots": {"method": "roots/list"}}));
    let answered = Some(json!({"roots": roots(&base, &["one"])}));
    let response = modern(&mut server, json!({"command": "pwd"}), answered.clone());
    assert!(response["result"]["content"][0]["text"].as_str().unwrap().contains("/one\n"), "{response}");
    let response = modern(&mut server, json!({"command": "pwd", "cwd": "src"}), answered);
    assert!(response["result"]["content"][0]["text"].as_str().unwrap().contains("/one/src\n"), "{response}");
    // Nothing is kept, and what is missing is asked for again.
    for nothing in [None, Some(json!({})), Some(json!({"other": {}}))] {
        let response = modern(&mut server, json!({"command": "pwd", "cwd": "src"}), nothing);
        assert_eq!(response["result"]["resultType"], "input_required");
    }
    assert_eq!(
        modern(&mut server, json!({"command": "pwd"}), Some(json!({"roots": {"roots": 5}})))["error"]["code"],
        -32602
    );
    // A call with an absolute directory does not need the project, and neither do calls where the operator named it.
    let response = modern(&mut server, json!({"command": "pwd", "cwd": base.join("two")}), None);
    assert!(response["result"]["content"][0]["text"].as_str().unwrap().contains("/two\n"), "{response}");
    let mut server = Server::command(&["--allow", "pwd", "--project-dir", "three"]).dir(&base).start();
    let response = modern(&mut server, json!({"command": "pwd"}), None);
    assert!(response["result"]["content"][0]["text"].as_str().unwrap().contains("/three\n"), "{response}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_sandbox_follows_the_roots_as_they_change() {
    let (_dir, base) = tree();
    let mut server =
        Server::command(&["--allow", "sh", "--sandbox", "workspace"]).env("TMPDIR", &base).dir(&base).start();
    server.initialize_with("2025-06-18", json!({"roots": {"listChanged": true}}));
    answer(&mut server, &roots(&base, &["one"]));
    let made = |name: &str| base.join(name).exists();
    let write = json!({"file": "sh", "args": ["-c", "echo x > ../one/made; echo x > ../two/made"]});
    server.call("execute_process", write.clone());
    assert!(made("one/made") && !made("two/made"));
    fs::remove_file(base.join("one/made")).unwrap();
    server.notify("notifications/roots/list_changed", json!({}));
    answer(&mut server, &roots(&base, &["two"]));
    server.call("execute_process", write.clone());
    assert!(!made("one/made") && made("two/made"));
    // And for calls of the modern era, which bring theirs with them.
    fs::remove_file(base.join("two/made")).unwrap();
    let mut server =
        Server::command(&["--allow", "sh", "--sandbox", "workspace"]).env("TMPDIR", &base).dir(&base).start();
    let arguments = json!({"command": "sh -c 'echo x > ../one/made; echo x > ../two/made'"});
    for (root, other) in [("one", "two"), ("two", "one"), ("one", "two")] {
        let response = modern(&mut server, arguments.clone(), Some(json!({"roots": roots(&base, &[root])})));
        assert!(made(&format!("{root}/made")) && !made(&format!("{other}/made")), "{response}");
        fs::remove_file(base.join(root).join("made")).unwrap();
    }
}
