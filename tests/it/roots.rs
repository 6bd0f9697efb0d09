//! The client's roots in both eras: asked for, waited for, narrowed to what the operator allows.
#![cfg(unix)]

use std::fs;
use std::path::PathBuf;

use crate::support::{Server, modern_meta};
use serde_json::{Value, json};

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
    assert!(server.says("did not tell its roots within 3 s"), "{}", server.stderr());
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

/// The URI of `one`, by links that take long to walk.
fn slow_uri(base: &std::path::Path) -> String {
    let way = "two/../".repeat(570);
    for number in 0..38 {
        let next = if number == 37 { "one".to_owned() } else { format!("link{}", number + 1) };
        std::os::unix::fs::symlink(way.clone() + &next, base.join(format!("link{number}"))).unwrap();
    }
    format!("file://{}/link0", base.display())
}

/// The answer of a client that names a root so often.
fn many(uri: &str, count: usize) -> Value {
    json!({"roots": vec![json!({"uri": uri}); count]})
}

#[test]
fn a_ping_does_not_wait_for_roots_that_take_long_to_look_at() {
    let (_dir, base) = tree();
    let (uri, said) = (slow_uri(&base), "client roots: ");
    let mut server = Server::command(&["--allow", "pwd,touch", "--log", "info"]).dir(&base).start();
    server.initialize_with("2025-06-18", json!({"roots": {"listChanged": true}}));
    let call = |command: &str| json!({"name": "execute_command", "arguments": {"command": command}});
    let cancelled = server.send_request("tools/call", call("touch cancelled"));
    let waits = server.send_request("tools/call", call("pwd"));
    answer(&mut server, &many(&uri, 256));
    server.notify("notifications/cancelled", json!({"requestId": cancelled}));
    // What changes meanwhile is asked for afterwards.
    server.notify("notifications/roots/list_changed", json!({}));
    let ping = server.send_request("ping", json!({}));
    server.response(&json!(ping));
    assert!(!server.stderr().contains(said), "the ping waited: {}", server.stderr());
    let response = server.response(&json!(waits));
    assert!(response["result"]["content"][0]["text"].as_str().unwrap().contains("/one\n"), "{response}");
    assert!(server.says(said) && !base.join("one/cancelled").exists(), "{}", server.stderr());
    answer(&mut server, &roots(&base, &["three"]));
    assert!(pwd(&mut server, json!({})).contains("/three\n"));
    assert!(server.drain().iter().all(|message| message["id"] != cancelled));
}

#[test]
fn a_call_after_a_change_waits_for_the_roots_after_it() {
    let (_dir, base) = tree();
    let uri = slow_uri(&base);
    let mut server = Server::command(&["--allow", "pwd"]).dir(&base).start();
    server.initialize_with("2025-06-18", json!({"roots": {"listChanged": true}}));
    answer(&mut server, &many(&uri, 256));
    server.notify("notifications/roots/list_changed", json!({}));
    let id = server.send_request("tools/call", json!({"name": "execute_command", "arguments": {"command": "pwd"}}));
    // It is asked again although a thread still looks at the first answer.
    answer(&mut server, &roots(&base, &["three"]));
    let response = server.response(&json!(id));
    assert!(response["result"]["content"][0]["text"].as_str().unwrap().contains("/three\n"), "{response}");
}

#[test]
fn handshakes_while_roots_are_looked_at_leave_few_threads() {
    let (_dir, base) = tree();
    let uri = slow_uri(&base);
    let mut server = Server::command(&["--allow", "pwd"]).dir(&base).start();
    for _ in 0..40 {
        server.initialize_with("2025-06-18", json!({"roots": {}}));
        answer(&mut server, &many(&uri, 256));
    }
    let threads = || fs::read_dir(format!("/proc/{}/task", server.pid())).unwrap().count();
    if cfg!(target_os = "linux") {
        assert!(threads() < 20, "{}", threads());
    }
}

#[test]
fn an_answer_that_has_come_before_the_end_of_the_input_counts() {
    let (_dir, base) = tree();
    let uri = slow_uri(&base);
    let mut server = Server::command(&["--allow", "pwd"]).dir(&base).start();
    server.initialize_with("2025-06-18", json!({"roots": {}}));
    let id = server.send_request("tools/call", json!({"name": "execute_command", "arguments": {"command": "pwd"}}));
    answer(&mut server, &many(&uri, 8));
    let left = server.drain();
    let response = left.iter().find(|message| message["id"] == id && message.get("method").is_none());
    assert!(response.is_some_and(|response| response.to_string().contains("/one\\n")), "{left:?}");
}

#[test]
fn no_modern_call_waits_for_the_roots_of_another() {
    let (_dir, base) = tree();
    let uri = slow_uri(&base);
    let mut server = Server::command(&["--allow", "pwd", "--tools", "all"]).dir(&base).start();
    let mut meta = modern_meta();
    meta["io.modelcontextprotocol/clientCapabilities"] = json!({"roots": {}});
    let call = |tool: &str, roots: &Value| {
        let arguments = if tool == "pwd" { json!({}) } else { json!({"command": "pwd"}) };
        json!({"name": tool, "arguments": arguments, "_meta": meta, "inputResponses": {"roots": roots}})
    };
    let (slow, quick) = (many(&uri, 256), roots(&base, &["three"]));
    let sent = [("execute_command", &slow), ("pwd", &slow), ("pwd", &quick), ("execute_command", &quick)];
    let ids = sent.map(|(tool, roots)| server.send_request("tools/call", call(tool, roots)));
    let discover = server.send_request("server/discover", json!({"_meta": meta}));
    let mut answered = Vec::new();
    while answered.len() < 5 {
        let answer = server.recv_until(|message| message.get("method").is_none());
        let place = ids.iter().position(|id| answer["id"] == *id);
        let Some(place) = place else {
            assert_eq!(answer["id"], discover);
            answered.push(4);
            continue;
        };
        let expected = if place < 2 { "/one\\n" } else { "/three\\n" };
        assert!(answer.to_string().contains(expected), "{answer}");
        answered.push(place);
    }
    let at = |which: usize| answered.iter().position(|place| *place == which).unwrap();
    assert!(at(4) < at(0) && at(3) < at(0), "they waited for the roots of the first: {answered:?}");
    assert!(at(1) < at(2), "calls of the shell run in their order: {answered:?}");
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
    server.drain();
    server.wait_exit();
    for why in ["it does not begin with `file://`", "No such file or directory"] {
        assert!(server.says(why), "{}", server.stderr());
    }
    let mut server = Server::command(&["--allow", "pwd", "--roots", "require"]).dir(&base).start();
    let params = json!({"name": "execute_command", "arguments": {"command": "pwd"}, "_meta": modern_meta()});
    let error = server.request("tools/call", params)["error"].clone();
    assert_eq!(error["code"], -32021);
    assert_eq!(error["data"], json!({"requiredCapabilities": {"roots": {}}}));
}

fn modern(server: &mut Server, arguments: Value, answer: Option<Value>) -> Value {
    modern_call(server, "execute_command", arguments, answer)
}

fn modern_call(server: &mut Server, tool: &str, arguments: Value, answer: Option<Value>) -> Value {
    let mut meta = modern_meta();
    meta["io.modelcontextprotocol/clientCapabilities"] = json!({"roots": {}});
    let mut params = json!({"name": tool, "arguments": arguments, "_meta": meta});
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
    // No question for roots carries a state, so whoever brings one has made it up.
    assert_eq!(question.get("requestState"), None);
    for state in [json!("made up"), json!(5)] {
        let mut meta = modern_meta();
        meta["io.modelcontextprotocol/clientCapabilities"] = json!({"roots": {}});
        let params = json!({
            "name": "execute_command", "arguments": {"command": "pwd"}, "_meta": meta, "requestState": state,
            "inputResponses": {"roots": roots(&base, &["one"])},
        });
        assert_eq!(server.request("tools/call", params)["error"]["code"], -32602);
    }
    // A call that names no directory does not need the roots where the operator named the project.
    let mut server = Server::command(&["--allow", "pwd", "--project-dir", "three"]).dir(&base).start();
    let response = modern(&mut server, json!({"command": "pwd"}), None);
    assert!(response["result"]["content"][0]["text"].as_str().unwrap().contains("/three\n"), "{response}");
}

/// The text of a call's result in either era, by a client that has the one root `root`.
fn text_of(is_modern: bool, server: &mut Server, tool: &str, arguments: &Value, roots: &Value) -> String {
    if !is_modern {
        return server.call(tool, arguments.clone())["content"][0]["text"].as_str().unwrap().to_owned();
    }
    let question = modern_call(server, tool, arguments.clone(), None)["result"].take();
    assert_eq!(question["resultType"], "input_required", "{tool} {arguments}: {question}");
    let answer = Some(json!({"roots": roots}));
    let mut result = modern_call(server, tool, arguments.clone(), answer)["result"].take();
    result["content"][0]["text"].take().as_str().unwrap().to_owned()
}

#[test]
fn wherever_a_directory_is_named_the_roots_bind_in_both_eras() {
    let (_dir, base) = tree();
    let roots = roots(&base, &["one"]);
    let (inside, outside) = (base.join("one/src"), base.join("two"));
    let (inside, outside) = (inside.to_str().unwrap(), outside.to_str().unwrap());
    let refused = "is not inside an allowed root";
    for project in [&[][..], &["--project-dir", "one"]] {
        for is_modern in [false, true] {
            let start = |tools: &str| {
                let args = [&["--allow", "pwd,cd", "--tools", tools][..], project].concat();
                let mut server = Server::command(&args).dir(&base).start();
                if !is_modern {
                    server.initialize_with("2025-11-25", json!({"roots": {}}));
                    answer(&mut server, &roots);
                }
                server
            };
            let mut server = start("execute");
            for (cwd, expected) in
                [(outside, refused), ("../two", refused), (inside, "/one/src\n"), ("src", "/one/src\n")]
            {
                let arguments = json!({"command": "pwd", "cwd": cwd});
                let text = text_of(is_modern, &mut server, "execute_command", &arguments, &roots);
                assert!(text.contains(expected), "{project:?}, modern: {is_modern}, {cwd}: {text}");
            }
            let mut server = start("shell");
            for (target, expected) in [(outside, refused), ("../two", refused), (inside, "exit_code: 0\n")] {
                let text = text_of(is_modern, &mut server, "cd", &json!({"arguments": target}), &roots);
                assert!(text.contains(expected), "{project:?}, modern: {is_modern}, cd {target}: {text}");
            }
            let text = text_of(is_modern, &mut server, "pwd", &json!({}), &roots);
            assert!(text.contains("/one/src\n"), "{project:?}, modern: {is_modern}: {text}");
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn in_a_sandbox_calls_follow_the_roots_within_the_operators_directory() {
    let (_dir, base) = tree();
    let work = base.join("project");
    fs::create_dir(&work).unwrap();
    for place in ["one", "two"] {
        fs::rename(base.join(place), work.join(place)).unwrap();
    }
    let workspace = work.to_str().unwrap();
    let args = ["--allow", "sh", "--sandbox", "workspace", "--workspace-dir", workspace];
    let mut server = Server::command(&args).env("TMPDIR", &base).dir(&base).start();
    server.initialize_with("2025-06-18", json!({"roots": {"listChanged": true}}));
    let made = |name: &str| fs::remove_file(base.join(name).join("made")).is_ok();
    let write = json!({"file": "sh", "args": ["-c", "echo x > made; echo x > ../../three/made"]});
    answer(&mut server, &roots(&base, &["project/one", "three"]));
    for (root, other) in [("one", "two"), ("two", "one"), ("one", "two")] {
        server.call("execute_process", write.clone());
        let found = [root, other].map(|name| made(&format!("project/{name}")));
        assert!(found == [true, false] && !made("three"), "{root}: {found:?}");
        server.notify("notifications/roots/list_changed", json!({}));
        answer(&mut server, &roots(&base, &[&format!("project/{other}")]));
    }
    // And for calls of the modern era, which bring theirs with them.
    let mut server = Server::command(&args).env("TMPDIR", &base).dir(&base).start();
    let arguments = json!({"command": "sh -c 'echo x > made; echo x > ../../three/made'"});
    for (root, other) in [("one", "two"), ("two", "one"), ("one", "two")] {
        let answer = json!({"roots": roots(&base, &[&format!("project/{root}"), "three"])});
        let response = modern(&mut server, arguments.clone(), Some(answer));
        let found = [root, other].map(|name| made(&format!("project/{name}")));
        assert!(found == [true, false] && !made("three"), "{root}: {found:?} {response}");
    }
}

/// What path rules are tried on: a project with a repository and links, and what lies outside of it.
fn measured() -> (tempfile::TempDir, PathBuf) {
    let (dir, base) = tree();
    for place in ["project/private", "project/sub/private", "project/.git/hooks", "outside/private", "start"] {
        fs::create_dir_all(base.join(place)).unwrap();
    }
    for file in
        ["project/a", "project/private/x", "project/sub/b", "project/.git/config", "outside/a", "outside/private/x"]
    {
        fs::write(base.join(file), "text\n").unwrap();
    }
    fs::write(base.join("start/here"), "text\n").unwrap();
    std::os::unix::fs::symlink(".git", base.join("project/repository")).unwrap();
    fs::write(
        base.join("policy.yaml"),
        "commands:\n  cat: {operands: [{path: read}]}\n  touch: {operands: [{path: write}]}\n  \
         tail: {operands: [{path: {access: read, under: [private]}}]}\n  pwd: {cwd: {under: [private]}}\n  \
         wc: {operands: [{path: {access: read, except: [private]}}]}\n  head:\n    forms:\n      \
         - operands: [{path: {access: read, under: [., /]}}]\n      \
         - {decision: deny, operands: [{path: {access: read, under: [private]}}]}\n  nl:\n    forms:\n      \
         - operands: [{path: {access: read, under: [., /]}}]\n      \
         - {decision: deny, operands: [{path: read}]}\n  tac:\n    forms:\n      - operands: [{path: read}]\n      \
         - {decision: ask, operands: [{path: {access: read, under: [private]}}]}\n",
    )
    .unwrap();
    (dir, base)
}

/// Whether a call of a client with one root runs: `(flags, root, cwd, command, ran)`, all paths below the base.
#[cfg(target_os = "linux")]
type Row = (&'static [&'static str], &'static str, &'static str, &'static str, bool);

#[cfg(target_os = "linux")]
const PROJECT: &[&str] = &["--project-dir", "[base]/project"];
#[cfg(target_os = "linux")]
const WORKSPACE: &[&str] = &["--workspace-dir", "[base]/project"];
#[cfg(target_os = "linux")]
const CWD_ROOT: &[&str] = &["--cwd-root", "[base]/project", "--project-dir", "[base]/project"];
#[cfg(target_os = "linux")]
const MISSING: &[&str] = &["--project-dir", "[base]/missing", "--workspace-dir", "[base]"];

/// A root never gives a path rule more than the operator's directories have, and takes nothing from what is denied or asked for.
#[cfg(target_os = "linux")]
const ROWS: &[Row] = &[
    (PROJECT, "/", "[base]/project", "cat [base]/outside/a", false),
    (PROJECT, "/", "[base]/project", "touch [base]/outside/new", false),
    (PROJECT, "/", "[base]/project", "cat a", true),
    (PROJECT, "/", "[base]/project", "touch .git/config", false),
    (PROJECT, "/", "[base]/project", "touch repository/config", false),
    (PROJECT, "[base]", "[base]/project", "cat ../outside/a", false),
    (PROJECT, "[base]/outside", "", "cat [base]/outside/a", false),
    (PROJECT, "[base]/project/.git", "[base]/project/.git", "touch config", false),
    (PROJECT, "[base]/project/.git", "[base]/project/.git", "touch hooks/new", false),
    (PROJECT, "[base]/project/.git/hooks", "[base]/project/.git/hooks", "touch new", false),
    (PROJECT, "[base]/project/repository", "[base]/project/repository", "touch hooks/new", false),
    (PROJECT, "[base]/project/repository", "[base]/project/repository", "cat config", true),
    (WORKSPACE, "[base]/project/.git", "[base]/project/.git", "touch config", false),
    (WORKSPACE, "/", "[base]/project", "cat [base]/outside/a", false),
    (CWD_ROOT, "/", "[base]/project", "cat [base]/outside/a", false),
    (CWD_ROOT, "[base]/project/.git", "[base]/project/.git", "touch hooks/new", false),
    // What lies outside is not gone through and left again, whether it is there or not.
    (PROJECT, "[base]/project", "[base]/project", "cat [base]/outside/../project/a", false),
    (PROJECT, "[base]/project", "[base]/project", "cat [base]/missing/../project/a", false),
    (PROJECT, "[base]/project", "[base]/project", "cat sub/../a", true),
    (PROJECT, "[base]/project", "[base]/project", "cat ../project/a", true),
    (PROJECT, "[base]/project", "[base]/project", "head sub/../a", true),
    (WORKSPACE, "[base]/project", "[base]/outside/../project", "cat a", false),
    (WORKSPACE, "[base]/project", "[base]/project/sub/..", "cat a", true),
    // Roots narrow.
    (PROJECT, "[base]/project/sub", "[base]/project/sub", "cat b", true),
    (PROJECT, "[base]/project/sub", "[base]/project/sub", "cat ../a", false),
    // What `under` names lies in the operator's project, whichever root is the first.
    (PROJECT, "[base]/project/sub", "[base]/project/sub", "tail ../private/x", true),
    (PROJECT, "[base]/outside", "", "tail [base]/outside/private/x", false),
    (WORKSPACE, "[base]/project/sub", "[base]/project/sub", "tail private/x", false),
    (PROJECT, "[base]/project", "[base]/project/private", "pwd", true),
    (PROJECT, "[base]/project/sub", "[base]/project/sub/private", "pwd", false),
    (WORKSPACE, "[base]/project/sub", "[base]/project/sub/private", "pwd", false),
    (PROJECT, "[base]/project/private", "[base]/project/private", "wc x", false),
    (PROJECT, "[base]/project/sub", "[base]/project/sub", "wc b", true),
    // What is denied or asked for stays so outside of the roots.
    (PROJECT, "[base]/project/sub", "[base]/project/sub", "head b", true),
    (PROJECT, "[base]/project/sub", "[base]/project/sub", "head ../private/x", false),
    (WORKSPACE, "[base]/project/sub", "[base]/project/sub", "head b", false),
    (PROJECT, "[base]/project/sub", "[base]/project/sub", "nl ../private/x", false),
    (PROJECT, "[base]/project/sub", "[base]/project/sub", "tac ../private/x", false),
    // Where the project can't be opened, nothing is known to lie elsewhere.
    (MISSING, "[base]/project", "[base]/project", "head private/x", false),
    (MISSING, "[base]/project", "[base]/project", "tail private/x", false),
    (MISSING, "[base]/project", "[base]/project", "cat a", true),
];

#[cfg(target_os = "linux")]
#[test]
fn a_path_rule_is_measured_by_the_operators_directories_and_never_by_a_root() {
    let (_dir, base) = measured();
    let fill = |text: &str| text.replace("[base]", base.to_str().unwrap());
    for level in ["off", "strict"] {
        for (flags, root, cwd, command, ran) in ROWS {
            let flags: Vec<String> = flags.iter().map(|flag| fill(flag)).collect();
            let policy = fill("[base]/policy.yaml");
            let mut args = vec!["--sandbox", level, "--policy", &policy];
            args.extend(flags.iter().map(String::as_str));
            let roots = json!({"roots": [{"uri": format!("file://{}", fill(root))}]});
            let mut arguments = json!({"command": fill(command)});
            if !cwd.is_empty() {
                arguments["cwd"] = json!(fill(cwd));
            }
            for is_modern in [false, true] {
                let mut server = Server::command(&args).dir(base.join("start")).start();
                if !is_modern {
                    server.initialize_with("2025-11-25", json!({"roots": {}}));
                    answer(&mut server, &roots);
                }
                let text = text_of(is_modern, &mut server, "execute_command", &arguments, &roots);
                let row = format!("{level}, {flags:?}, {root}, {cwd}, {command}, modern: {is_modern}: {text}");
                assert_eq!(text.contains("exit_code: 0"), *ran, "{row}");
                assert!(*ran || !text.contains("exit_code"), "{row}");
            }
        }
    }
    assert!(!base.join("outside/new").exists() && !base.join("project/.git/hooks/new").exists());
}

#[test]
fn without_a_directory_of_the_operators_a_clients_roots_allow_no_path() {
    let (_dir, base) = measured();
    let fill = |text: &str| text.replace("[base]", base.to_str().unwrap());
    let policy = fill("[base]/policy.yaml");
    let start = || Server::command(&["--policy", &policy]).dir(base.join("start")).start();
    for root in ["/", "/project", "/start"] {
        let roots = json!({"roots": [{"uri": format!("file://{}", fill(&format!("[base]{root}")))}]});
        for command in
            ["cat [base]/project/a", "cat [base]/start/here", "cat a", "tail private/x", "touch [base]/project/new"]
        {
            for is_modern in [false, true] {
                let mut server = start();
                if !is_modern {
                    server.initialize_with("2025-11-25", json!({"roots": {}}));
                    answer(&mut server, &roots);
                }
                let arguments = json!({"command": fill(command)});
                let text = text_of(is_modern, &mut server, "execute_command", &arguments, &roots);
                let is_told = command.starts_with("tail") || text.contains("the operator named no directory");
                assert!(!text.contains("exit_code") && is_told, "{root}, {command}: {text}");
            }
        }
    }
    // The operator's only directory is the project if the client's root is this directory, too.
    for (flag, root, command, expected) in [
        ("--cwd-root", "project", "tail a", "exit_code: 0"),
        ("--workspace-dir", "project", "tail a", "exit_code: 0"),
        ("--cwd-root", "project", "tail private/x", "does not allow"),
        ("--cwd-root", "project/private", "tail x", "`--project-dir`"),
    ] {
        let policy = base.join("denies.yaml");
        let text = "commands: {tail: {operands: [{path: read, deny: {path: {access: read, under: [private]}}}]}}";
        fs::write(&policy, text).unwrap();
        let bound = fill("[base]/project");
        let args = [flag, bound.as_str(), "--policy", policy.to_str().unwrap()];
        let mut server = Server::command(&args).dir(base.join("start")).start();
        server.initialize_with("2025-11-25", json!({"roots": {}}));
        let roots = json!({"roots": [{"uri": format!("file://{}", base.join(root).display())}]});
        answer(&mut server, &roots);
        let text = text_of(false, &mut server, "execute_command", &json!({"command": command}), &roots);
        assert!(text.contains(expected), "{flag}, {root}, {command}: {text}");
    }
    // A client without roots is served in the directory that the server was started in.
    let mut server = start();
    server.initialize_with("2025-11-25", json!({}));
    let text = server.call("execute_command", json!({"command": "cat here"}))["content"][0]["text"].to_string();
    assert!(text.contains("exit_code: 0"), "{text}");
}

/// What a command says to a client that names these roots; `None` for one without roots.
fn said_to(base: &std::path::Path, flags: &[&str], roots: Option<&[&str]>, arguments: &Value) -> String {
    let fill = |text: &str| text.replace("[base]", base.to_str().unwrap());
    let policy = base.join("rules.yaml");
    let flags: Vec<String> = flags.iter().map(|flag| fill(flag)).collect();
    let mut args = vec!["--policy", policy.to_str().unwrap()];
    args.extend(flags.iter().map(String::as_str));
    let mut server = Server::command(&args).dir(base.join("start")).start();
    server.initialize_with("2025-11-25", if roots.is_some() { json!({"roots": {}}) } else { json!({}) });
    if let Some(roots) = roots {
        let uris: Vec<Value> = roots.iter().map(|root| json!({"uri": format!("file://{}", fill(root))})).collect();
        answer(&mut server, &json!({"roots": uris}));
    }
    let arguments: Value = serde_json::from_str(&fill(&arguments.to_string())).unwrap();
    server.call("execute_command", arguments)["content"][0]["text"].to_string()
}

#[test]
fn no_root_that_cannot_be_used_moves_what_a_rule_denies_or_allows() {
    let (_dir, base) = measured();
    fs::create_dir_all(base.join("start/private")).unwrap();
    fs::write(base.join("start/private/x"), "text\n").unwrap();
    fs::write(
        base.join("rules.yaml"),
        "commands:\n  tail: {operands: [{path: read, deny: {path: {access: read, under: [private]}}}]}\n  \
         head: {operands: [{path: {access: read, under: [private]}}]}\n  \
         tac: {operands: [{path: read, ask: {path: {access: read, under: [private]}}}]}\n",
    )
    .unwrap();
    let dud: [Option<&[&str]>; 5] =
        [None, Some(&[]), Some(&["[base]/missing"]), Some(&["[base]/project/a"]), Some(&["[base]/project"])];
    for flags in [
        &["--cwd-root", "[base]/project"][..],
        &["--workspace-dir", "[base]/project"],
        &["--cwd-root", "[base]/project,[base]/outside"],
    ] {
        for roots in dud {
            for command in
                ["tail [base]/project/private/x", "tac [base]/project/private/x", "head [base]/start/private/x"]
            {
                let said = said_to(&base, flags, roots, &json!({"command": command}));
                assert!(!said.contains("exit_code"), "{flags:?}, {roots:?}, {command}: {said}");
            }
        }
    }
    // The operator's only directory is what `under` is measured by.
    let said =
        said_to(&base, &["--cwd-root", "[base]/project"], None, &json!({"command": "head [base]/project/private/x"}));
    assert!(said.contains("exit_code: 0"), "{said}");
}

#[cfg(unix)]
#[test]
fn no_root_chooses_which_file_a_rule_is_for() {
    let (_dir, base) = measured();
    fs::create_dir_all(base.join("project/deploy")).unwrap();
    let preview = base.join("project/deploy/preview");
    fs::write(&preview, "#!/bin/sh\necho ran $1\n").unwrap();
    fs::set_permissions(&preview, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    std::os::unix::fs::symlink("deploy/preview", base.join("project/link")).unwrap();
    fs::hard_link(&preview, base.join("project/deploy/other")).unwrap();
    for name in ["deploy/preview", "./deploy/preview"] {
        fs::write(base.join("rules.yaml"), format!("commands: {{{name}: {{operands: [{{one_of: [safe]}}]}}}}\n"))
            .unwrap();
        for bound in ["--workspace-dir", "--cwd-root"] {
            for around in ["[base]", "[base]/project"] {
                let flags = [bound, around, "--allow-project-commands"];
                let mut lists: Vec<&[&str]> = vec![&["[base]/project"], &["[base]/project/deploy"]];
                if around == "[base]" {
                    lists.extend([&["[base]", "[base]/project"][..], &["[base]"]]);
                }
                for roots in lists {
                    for (cwd, word) in [
                        ("[base]/project/deploy", "./preview"),
                        ("[base]/project/deploy", "[base]/project/deploy/preview"),
                        ("[base]/project/deploy", "../deploy/./preview"),
                        ("[base]/project/deploy", "[base]/project/link"),
                    ] {
                        let call = |argument: &str| json!({"command": format!("{word} {argument}"), "cwd": cwd});
                        let evil = said_to(&base, &flags, Some(roots), &call("evil"));
                        assert!(!evil.contains("ran"), "{name}, {flags:?}, {roots:?}, {word}: {evil}");
                    }
                }
                // The other name of the file is known where the rule's path leads to the file.
                let other = json!({"command": "./other evil", "cwd": "[base]/project/deploy"});
                let evil = said_to(&base, &flags, Some(&["[base]/project/deploy"]), &other);
                assert!(around == "[base]" || !evil.contains("ran"), "{name}, {flags:?}: {evil}");
                let safe = json!({"command": "./preview safe", "cwd": "[base]/project/deploy"});
                let safe = said_to(&base, &flags, Some(&["[base]/project"]), &safe);
                assert!(safe.contains("ran safe"), "{name}, {flags:?}: {safe}");
            }
        }
    }
}

#[cfg(unix)]
#[test]
fn a_command_that_a_policy_names_by_a_relative_path_lies_in_the_project() {
    let (_dir, base) = measured();
    let tool = base.join("project/tool");
    fs::write(&tool, "#!/bin/sh\necho ran\n").unwrap();
    fs::set_permissions(&tool, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    fs::write(
        base.join("rules.yaml"),
        "commands: {./tool: {operands: []}, cp: {operands: [{path: read}, {path: write}]}}\n",
    )
    .unwrap();
    let said = |command: &str| said_to(&base, &["--project-dir", "[base]/project"], None, &json!({"command": command}));
    assert!(said("./tool").contains("ran"));
    // What is allowed is not written.
    let written = said("cp [base]/project/a [base]/project/tool");
    assert!(!written.contains("exit_code"), "{written}");
    // Also where only directories for calls are named, in which it may be meant.
    for flags in [
        &["--workspace-dir", "[base]/project"][..],
        &["--cwd-root", "[base]/outside,[base]/project"],
        &["--cwd-root", "[base]/project"],
    ] {
        for roots in [None, Some(&["[base]/project"][..])] {
            let written = said_to(&base, flags, roots, &json!({"command": "cp [base]/project/a [base]/project/tool"}));
            assert!(!written.contains("exit_code"), "{flags:?}, {roots:?}: {written}");
        }
    }
}
