//! `allowexec mock`: a client that is tested gets what was recorded, under ids of its own.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use allowexec::transcript::{Entry, Mock, Placeholders, Transcript};
use serde_json::{Value, json};

fn recording(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/recordings").join(format!("{name}.transcript"));
    fs::read_to_string(path).unwrap()
}

fn mock(text: &str) -> Mock {
    Mock::parse("t", text, Placeholders::version_only()).unwrap()
}

fn receive(mock: &mut Mock, message: &Value) -> Vec<Value> {
    let answer = mock.receive(message.to_string().as_bytes());
    answer.lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn recorded_sessions_of_both_eras_are_answered_backwards_and_under_other_ids() {
    for name in ["python_legacy", "python_modern", "typescript_legacy", "typescript_modern"] {
        let text = recording(name);
        let transcript = Transcript::parse(name, &text).unwrap();
        let mut mock = mock(&text.replace("[version]", "9.9"));
        let (mut requests, mut answers) = (Vec::new(), Vec::new());
        for entry in transcript.entries {
            match entry {
                Entry::Send(sent) => requests.push(serde_json::from_slice::<Value>(&sent.bytes).unwrap()),
                Entry::Receive(message) => answers.push(message.value().clone()),
                _ => {}
            }
        }
        requests.retain(|request| request.get("id").is_some());
        assert!(requests.len() > 5, "{name}");
        for mut request in requests.into_iter().rev() {
            let recorded = request["id"].take();
            let id = json!(format!("live {recorded}"));
            request["id"] = id.clone();
            let mut wanted = answers.iter().find(|answer| answer["id"] == recorded).unwrap().clone();
            wanted["id"] = id;
            let wanted: Value = serde_json::from_str(&wanted.to_string().replace("[version]", "9.9")).unwrap();
            assert_eq!(receive(&mut mock, &request), [wanted], "{name}");
        }
    }
}

#[test]
fn a_client_of_another_name_is_answered_in_both_eras() {
    for name in ["python_legacy", "python_modern"] {
        let mut mock = mock(&recording(name));
        let mut named = 0;
        for entry in Transcript::parse(name, recording(name)).unwrap().entries {
            let Entry::Send(sent) = entry else { continue };
            let mut message: Value = serde_json::from_slice(&sent.bytes).unwrap();
            for place in ["/params/clientInfo", "/params/_meta/io.modelcontextprotocol~1clientInfo"] {
                if let Some(info) = message.pointer_mut(place) {
                    *info = json!({"name": "another", "version": "0", "title": "Another"});
                    named += 1;
                }
            }
            let complaint = mock.receive(message.to_string().as_bytes()).complaint;
            assert_eq!(complaint, None, "{name}: {message}");
        }
        assert!(named > 0, "{name} does not say its name");
    }
    let text = "transcript: 1\n\n--> {\"id\":1,\"method\":\"m\",\"params\":{\"clientInfo\":1}}\n<-- {\"id\":1,\"jsonrpc\":\"2.0\",\"result\":{}}\n";
    let answer = mock(text).receive(br#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"clientInfo":2}}"#);
    assert!(answer.complaint.is_some(), "elsewhere it is content");
}

const SESSION: &str = r#"transcript: 1

--> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{"command":"ls -l"},"_meta":{"progressToken":7}}}
--> {"jsonrpc":"2.0","id":2,"method":"ping"}
<-- {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":7,"progress":1}}
<-- {"jsonrpc":"2.0","id":2,"result":{}}
<-- {"jsonrpc":"2.0","id":1,"result":{"content":[]}}
--> {"jsonrpc":"2.0","method":"notifications/initialized"}
<-- {"jsonrpc":"2.0","id":"s","method":"roots/list"}
--> {"jsonrpc":"2.0","id":"s","result":{"roots":[]}}
--> {"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"slow","arguments":{}}}
--> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3,"reason":"tired"}}
--> nonsense
<-- {"jsonrpc":"2.0","error":{"code":-32700,"message":"parse error"}}
==> eof
"#;

#[test]
fn what_came_with_a_request_comes_with_it_again() {
    let mut mock = mock(SESSION);
    let call = |id: Value, meta: Value| {
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call",
            "params": {"name": "a", "arguments": {"command": "ls -l"}, "_meta": meta}})
    };
    assert_eq!(
        receive(&mut mock, &call(json!("x"), json!({"progressToken": "t", "vendor/any": 1}))),
        [
            json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": "t", "progress": 1}}),
            json!({"jsonrpc": "2.0", "id": "x", "result": {"content": []}}),
        ]
    );
    let without_token = {
        let mut mock = self::mock(SESSION);
        receive(&mut mock, &call(json!(1), json!({})))
    };
    assert_eq!(without_token.len(), 1, "progress that nobody asked for: {without_token:?}");
    let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    assert_eq!(receive(&mut mock, &initialized), [json!({"jsonrpc": "2.0", "id": "s", "method": "roots/list"})]);
    assert_eq!(receive(&mut mock, &json!({"jsonrpc": "2.0", "id": "s", "result": {"roots": []}})), Vec::<Value>::new());
    let slow = json!({"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": {"name": "slow", "arguments": {}}});
    assert_eq!(receive(&mut mock, &slow), Vec::<Value>::new());
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 9}});
    assert_eq!(receive(&mut mock, &cancel), Vec::<Value>::new());
    assert_eq!(
        mock.receive(b"nonsense").lines,
        [r#"{"jsonrpc":"2.0","error":{"code":-32700,"message":"parse error"}}"#]
    );
}

#[test]
fn what_the_transcript_does_not_hold_is_an_error_that_names_the_nearest() {
    let mut mock = mock(SESSION);
    let mut ask = |method: &str, params: Value| {
        let request = json!({"jsonrpc": "2.0", "id": 5, "method": method, "params": params});
        let answer = receive(&mut mock, &request);
        assert_eq!((answer.len(), &answer[0]["id"]), (1, &json!(5)));
        (answer[0]["error"]["code"].as_i64().unwrap(), answer[0]["error"]["message"].as_str().unwrap().to_owned())
    };
    let (code, message) = ask("tools/call", json!({"name": "a", "arguments": {"command": "ls -a"}}));
    assert_eq!(code, -32602);
    let start = "the transcript does not contain this `tools/call`; the nearest recorded one is on line 3 \
                 (at `/params/arguments/command` it has \"ls -l\", and this request \"ls -a\"): {";
    assert!(message.starts_with(start), "{message}");
    let (code, message) = ask("tools/lst", json!({}));
    assert_eq!(code, -32601);
    assert!(message.contains("the nearest recorded one is on line 4"), "{message}");
    mock.receive(br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#);
    let again = mock.receive(br#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#);
    assert!(
        again.lines[0].contains("the transcript holds this `ping` 1 times, and each was answered already"),
        "{again:?}"
    );
    assert!(mock.receive(br#"{"jsonrpc":"2.0","method":"notifications/other"}"#).complaint.is_some());
}

#[test]
fn what_follows_from_an_answer_of_the_client_waits_for_it() {
    // Two questions for one call, beside another call, and then a call that is answered at once.
    let text = r#"transcript: 1

--> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"risky","_meta":{"progressToken":5}}}
<-- {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":5,"progress":1}}
<-- {"jsonrpc":"2.0","id":"ask-1","method":"elicitation/create","params":{"message":"sure?"}}
--> {"jsonrpc":"2.0","method":"notifications/other"}
--> {"jsonrpc":"2.0","id":2,"method":"ping"}
<-- {"jsonrpc":"2.0","id":2,"result":{}}
--> {"jsonrpc":"2.0","id":"ask-1","result":{"action":"accept"}}
<-- {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":5,"progress":2}}
<-- {"jsonrpc":"2.0","id":"ask-2","method":"elicitation/create","params":{"message":"really?"}}
--> {"jsonrpc":"2.0","id":"ask-2","result":{"action":"accept"}}
<-- {"jsonrpc":"2.0","id":1,"result":{"content":[]}}
--> {"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"plain"}}
<-- {"jsonrpc":"2.0","id":3,"result":{"content":[]}}
"#;
    let mut mock = mock(text);
    let progress = |count: u32| json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": "t", "progress": count}});
    let question = |id: &str, message: &str| json!({"jsonrpc": "2.0", "id": id, "method": "elicitation/create", "params": {"message": message}});
    let answer = |id: &str| json!({"jsonrpc": "2.0", "id": id, "result": {"action": "accept"}});
    let call = json!({"jsonrpc": "2.0", "id": "x", "method": "tools/call", "params": {"name": "risky", "_meta": {"progressToken": "t"}}});
    // Nobody has asked yet.
    assert_eq!(receive(&mut self::mock(text), &answer("ask-2")), Vec::<Value>::new());
    assert_eq!(receive(&mut mock, &call), [progress(1), question("ask-1", "sure?")]);
    let ping = json!({"jsonrpc": "2.0", "id": 7, "method": "ping"});
    assert_eq!(receive(&mut mock, &ping), [json!({"jsonrpc": "2.0", "id": 7, "result": {}})]);
    assert_eq!(receive(&mut mock, &answer("ask-1")), [progress(2), question("ask-2", "really?")]);
    let result = |id: Value| json!({"jsonrpc": "2.0", "id": id, "result": {"content": []}});
    assert_eq!(receive(&mut mock, &answer("ask-2")), [result(json!("x"))]);
    let plain = json!({"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": {"name": "plain"}});
    assert_eq!(receive(&mut mock, &plain), [result(json!(9))]);
}

#[test]
fn batches_are_answered_as_they_were() {
    let text = r#"transcript: 1

--> [{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"tools/list"}]
<-- [{"jsonrpc":"2.0","id":2,"result":{"tools":[]}},{"jsonrpc":"2.0","id":1,"result":{}}]
"#;
    let live =
        json!([{"jsonrpc": "2.0", "id": "a", "method": "ping"}, {"jsonrpc": "2.0", "id": "b", "method": "tools/list"}]);
    let wanted =
        json!([{"jsonrpc": "2.0", "id": "b", "result": {"tools": []}}, {"jsonrpc": "2.0", "id": "a", "result": {}}]);
    let mut mock = mock(text);
    assert_eq!(receive(&mut mock, &live), [wanted]);
    let refused = receive(&mut mock, &live);
    assert_eq!(refused[0].as_array().unwrap().len(), 2, "{refused:?}");
}

#[test]
fn a_bare_wait_cannot_answer() {
    let text = "transcript: 1\n\n--> {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n<-- {\"id\":1}\n";
    let error = Mock::parse("t", text, Placeholders::version_only()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "t:4: expected a whole message to answer with, found `{\"id\":1}`; `allowexec replay --update` fills it in"
    );
}

/// The status and what stands on standard output.
fn run(file: &str, input: &str) -> (i32, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_allowexec"));
    command.args(["mock", file]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    // A mock that does not start reads nothing.
    child.stdin.take().unwrap().write_all(input.as_bytes()).ok();
    let output = child.wait_with_output().unwrap();
    (output.status.code().unwrap(), String::from_utf8(output.stdout).unwrap())
}

#[test]
fn the_program_answers_until_its_input_ends() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("s.transcript");
    fs::write(&file, SESSION).unwrap();
    let file = file.to_str().unwrap();
    let ping = "{\"jsonrpc\":\"2.0\",\"id\":8,\"method\":\"ping\"}\n";
    assert_eq!(run(file, ping), (0, "{\"id\":8,\"jsonrpc\":\"2.0\",\"result\":{}}\n".to_owned()));
    assert_eq!(run("missing", ping), (2, String::new()));
}

#[test]
#[cfg(unix)]
fn a_transcript_is_a_file_and_what_it_holds_does_not_write_to_the_terminal() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    let stderr = |file: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_allowexec"));
        command.args(["mock", file]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // A mock that does not start reads nothing.
        let asked = "{\"jsonrpc\":\"2.0\",\"method\":\"a\u{9b}b\"}\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\"}\n";
        child.stdin.take().unwrap().write_all(asked.as_bytes()).ok();
        // A mock that waits for a FIFO is killed, and said to.
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(30);
        while child.try_wait().unwrap().is_none() {
            if std::time::Instant::now() > deadline {
                child.kill().unwrap();
                panic!("{file}: still running");
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        String::from_utf8(child.wait_with_output().unwrap().stderr).unwrap()
    };
    assert!(Command::new("mkfifo").arg(path("fifo")).status().unwrap().success());
    assert!(stderr(&path("fifo")).ends_with("fifo: it is a FIFO or a pipe; expected a regular file\n"));
    assert!(stderr("/dev/zero").ends_with("/dev/zero: it is a device; expected a regular file\n"));
    let request = "transcript: 1\n\n--> {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\u{9b}31m\u{202e}\"}\n<-- {\"id\":1,\"result\":{}}\n";
    for (name, text) in
        [("key", "transcript: 1\nk\u{1b}[2Jy: x\n"), ("n\u{1b}ame", "transcript: 2\n"), ("request", request)]
    {
        fs::write(path(name), text).unwrap();
        let said = stderr(&path(name));
        assert!(!said.is_empty(), "{name}");
        assert!(!said.contains(|c: char| c != '\n' && (c.is_control() || c == '\u{202e}')), "{name}: {said:?}");
    }
}

/// Exit status, the lines of the answers, and standard error of `allowexec mock`.
fn mocked(arguments: &[&str], input: &str) -> (i32, Vec<String>, String) {
    let directory = tempfile::tempdir().unwrap();
    let text = "transcript: 1\nserver: anything\n\n--> {\"id\":1,\"method\":\"a\"}\n<--! a log\n\
                <-- {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":1}\n--> {\"id\":2,\"method\":\"b\"}\n\
                <-- {\"jsonrpc\":\"2.0\",\"id\":2,\"result\":2}\n";
    fs::write(directory.path().join("s.transcript"), text).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_allowexec"));
    command.args([&["mock", "s.transcript"], arguments].concat()).current_dir(directory.path());
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // A mock that closes its end early reads no more.
    child.stdin.take().unwrap().write_all(input.as_bytes()).ok();
    let output = child.wait_with_output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    let lines = text(output.stdout).lines().map(str::to_owned).collect();
    (output.status.code().unwrap(), lines, text(output.stderr))
}

#[test]
fn answers_can_be_repeated_and_strictly_are_not() {
    let ask = |id: u32, method: &str| format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"{method}\"}}\n");
    // The recorded client says no `jsonrpc`, as a mistake; this one does.
    let recorded = |id: u32, method: &str| format!("{{\"id\":{id},\"method\":\"{method}\"}}\n");
    let (status, lines, _) = mocked(&[], &[recorded(7, "a"), recorded(8, "a"), recorded(9, "b")].concat());
    assert_eq!(status, 0);
    assert_eq!(
        lines,
        [7, 8, 9].map(|id| format!("{{\"id\":{id},\"jsonrpc\":\"2.0\",\"result\":{}}}", if id == 9 { 2 } else { 1 }))
    );
    let (status, lines, errors) = mocked(&["--strict"], &[recorded(7, "b"), recorded(8, "a")].concat());
    assert_eq!((status, lines.len(), errors.as_str()), (0, 2, ""));
    let (status, _, errors) = mocked(&["--strict"], &[recorded(7, "a"), recorded(8, "a"), ask(9, "c")].concat());
    assert_eq!(status, 1);
    assert!(
        errors.contains("allowexec: s.transcript:7: the client did not send {\"id\":2,\"method\":\"b\"}"),
        "{errors}"
    );
    assert_eq!(errors.lines().count(), 3, "{errors}");
}

#[test]
fn faults_come_on_demand() {
    let session = "{\"id\":1,\"method\":\"a\"}\n{\"id\":2,\"method\":\"b\"}\n{\"id\":3,\"method\":\"b\"}\n";
    let answer = |id: u32, result: u32| format!("{{\"id\":{id},\"jsonrpc\":\"2.0\",\"result\":{result}}}");
    let recorded = |id: u32| format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{id}}}");
    let check = |arguments: &[&str], expected: &[String]| {
        let (status, lines, _) = mocked(arguments, session);
        assert_eq!((status, lines.as_slice()), (0, expected), "{arguments:?}");
    };
    check(&["--drop", "1,3"], &[recorded(2)]);
    check(&["--drop=2", "--split-writes"], &[recorded(1), answer(3, 2)]);
    check(&["--garble", "2"], &[recorded(1), recorded(2)[..recorded(2).len().div_ceil(2)].to_owned(), answer(3, 2)]);
    check(&["--close-after", "1"], &[recorded(1)]);
    let began = std::time::Instant::now();
    check(&["--delay", "100ms"], &[recorded(1), recorded(2), answer(3, 2)]);
    assert!(began.elapsed() >= std::time::Duration::from_millis(300));
}
