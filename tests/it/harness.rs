//! The harness's own tests: the tap finds what it is there to find, and a scenario plays against a fake.

use std::fs;
use std::io::{self, Cursor, Read, Write};
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use crate::support::scenario::{Streams, play};
use crate::support::schema::{MODERN, REVISIONS, Schema};
use crate::support::shown::both;
use crate::support::{Server, Tap, modern_meta};
use allowexec::transcript::Transcript;
use serde_json::{Value, json};

const LEGACY: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

fn client(tap: &Tap, message: &Value) {
    tap.client_line(message.to_string().as_bytes());
}

fn server(tap: &Tap, message: &Value) {
    tap.server_line(message.to_string().as_bytes());
}

/// A tap on a session that has gone through the handshake of the revision, or has none in the modern era.
fn session(revision: &str) -> Tap {
    let tap = Tap::default();
    if revision != MODERN {
        client(&tap, &json!({"jsonrpc": "2.0", "id": "i", "method": "initialize", "params": {}}));
        let info = json!({"name": "allowexec", "version": "0"});
        let result = json!({"protocolVersion": revision, "capabilities": {"tools": {}}, "serverInfo": info});
        server(&tap, &json!({"jsonrpc": "2.0", "id": "i", "result": result}));
    }
    tap
}

/// Sends a request of the revision's era with id 1 and a progress token.
fn ask(tap: &Tap, revision: &str, method: &str) {
    let mut meta = if revision == MODERN { modern_meta() } else { json!({}) };
    meta["progressToken"] = json!(0);
    let params = json!({"_meta": meta, "name": "execute_command"});
    client(tap, &json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}));
}

fn answer(tap: &Tap, result: &Value) {
    server(tap, &json!({"jsonrpc": "2.0", "id": 1, "result": result}));
}

/// A result that is valid in every revision, by the method.
fn valid_result(revision: &str, method: &str) -> Value {
    let mut result = match method {
        "tools/list" => json!({"tools": [{"name": "t", "inputSchema": {"type": "object"}}]}),
        "tools/call" => json!({"content": [{"type": "text", "text": "x"}], "isError": false}),
        "prompts/list" => json!({"prompts": []}),
        _ => json!({"messages": [{"role": "user", "content": {"type": "text", "text": "x"}}]}),
    };
    if revision == MODERN {
        result["resultType"] = json!("complete");
        result["_meta"] = json!({"io.modelcontextprotocol/serverInfo": {"name": "a", "version": "0"}});
        if method.ends_with("/list") {
            result["ttlMs"] = json!(0);
            result["cacheScope"] = json!("private");
        }
    }
    result
}

fn progress(value: u8) -> Value {
    json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": 0, "progress": value}})
}

#[test]
fn valid_sessions_pass_in_every_revision() {
    for revision in REVISIONS {
        for method in ["tools/list", "tools/call", "prompts/list", "prompts/get"] {
            let tap = session(revision);
            ask(&tap, revision, method);
            server(&tap, &progress(1));
            server(&tap, &progress(2));
            answer(&tap, &valid_result(revision, method));
            server(&tap, &json!({"jsonrpc": "2.0", "error": {"code": -32700, "message": "no JSON"}}));
            assert_eq!(tap.violations(), Vec::<String>::new(), "{revision} {method}");
        }
    }
    for revision in LEGACY {
        let tap = session(revision);
        ask(&tap, revision, "ping");
        answer(&tap, &json!({}));
        server(&tap, &json!({"jsonrpc": "2.0", "id": 7, "method": "roots/list"}));
        let params = json!({"level": "info", "data": "x"});
        server(&tap, &json!({"jsonrpc": "2.0", "method": "notifications/message", "params": params}));
        assert_eq!(tap.violations(), Vec::<String>::new(), "{revision}");
    }
}

#[test]
fn what_the_schemas_forbid_is_found_in_every_revision() {
    for revision in REVISIONS {
        if Schema::of(revision).is_none() {
            return;
        }
        let broken: [(&str, &str, Value); 6] = [
            ("tools/list", "/tools/0/inputSchema", json!(true)),
            ("tools/list", "/tools/0/nonsense", json!(1)),
            ("tools/list", "/nextCursor", Value::Null),
            ("tools/call", "/content", json!("x")),
            ("tools/call", "/content/0/type", json!("prose")),
            ("prompts/get", "/messages/0/role", json!("system")),
        ];
        for (method, pointer, value) in broken {
            let mut result = valid_result(revision, method);
            let (parent, key) = pointer.rsplit_once('/').unwrap();
            result.pointer_mut(parent).unwrap()[key] = value;
            let tap = session(revision);
            ask(&tap, revision, method);
            answer(&tap, &result);
            assert!(!tap.violations().is_empty(), "{revision} {method} {pointer}");
        }
        for message in [
            json!({"id": 1, "result": valid_result(revision, "tools/call")}),
            json!({"jsonrpc": "2.0", "id": 1, "result": valid_result(revision, "tools/call"), "extra": 1}),
            json!({"jsonrpc": "2.0", "id": 1, "error": {"code": -32602}}),
            json!({"jsonrpc": "2.0", "method": "notifications/nonsense"}),
            json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": 0}}),
        ] {
            let tap = session(revision);
            ask(&tap, revision, "tools/call");
            server(&tap, &message);
            assert!(!tap.violations().is_empty(), "{revision} {message}");
        }
    }
}

#[test]
fn keys_of_a_later_revision_are_found() {
    if Schema::of(MODERN).is_none() {
        return;
    }
    let found = |revision: &str, method: &str, pointer: &str, value: Value| {
        let tap = session(revision);
        ask(&tap, revision, method);
        let mut result = valid_result(revision, method);
        result.pointer_mut(pointer.rsplit_once('/').unwrap().0).unwrap()[pointer.rsplit_once('/').unwrap().1] = value;
        answer(&tap, &result);
        !tap.violations().is_empty()
    };
    for revision in LEGACY {
        let title = found(revision, "tools/list", "/tools/0/title", json!("T"));
        assert_eq!(title, revision < "2025-06-18", "title in {revision}");
        let structured = found(revision, "tools/call", "/structuredContent", json!({}));
        assert_eq!(structured, revision < "2025-06-18", "structuredContent in {revision}");
        let annotations = found(revision, "tools/list", "/tools/0/annotations", json!({}));
        assert_eq!(annotations, revision < "2025-03-26", "annotations in {revision}");
        assert!(found(revision, "tools/list", "/ttlMs", json!(0)), "ttlMs in {revision}");
        let tap = session(revision);
        ask(&tap, revision, "tools/call");
        let mut with_text = progress(1);
        with_text["params"]["message"] = json!("half");
        server(&tap, &with_text);
        assert_eq!(!tap.violations().is_empty(), revision < "2025-03-26", "message of progress in {revision}");
    }
    let tap = session(MODERN);
    ask(&tap, MODERN, "tools/call");
    answer(&tap, &json!({"content": []}));
    assert!(!tap.violations().is_empty(), "no resultType in {MODERN}");
}

#[test]
fn what_no_schema_says_is_found_without_schemas_too() {
    let first = |revision: &str, lines: &[&str]| {
        let tap = session(revision);
        ask(&tap, revision, "tools/call");
        lines.iter().for_each(|line| tap.server_line(line.as_bytes()));
        let found = tap.violations().first().cloned().unwrap_or_default();
        found.lines().next().unwrap_or_default().to_owned()
    };
    let ok = r#"{"jsonrpc":"2.0","id":1,"result":{"content":[]}}"#;
    let half = r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":0,"progress":1}}"#;
    let batch = format!("[{ok}]");
    let rows: &[(&str, &[&str], &str)] = &[
        ("2025-06-18", &[""], "- no JSON: EOF while parsing a value at line 1 column 0"),
        ("2025-06-18", &["{}\r"], "- a carriage return"),
        ("2025-06-18", &["{}"], "- neither a method nor an id nor an error"),
        ("2025-06-18", &[r#"{"id":null,"error":{}}"#], "- the id is null"),
        ("2025-06-18", &[r#"{"jsonrpc":"2.0","id":"1","result":{}}"#], "- answers the id \"1\", which is not open"),
        ("2025-06-18", &[ok, ok], "- answers the id 1, which is not open"),
        ("2025-06-18", &[&batch], "- a batch, which only 2025-03-26 knows, and not empty"),
        ("2025-03-26", &[&batch], ""),
        ("2025-06-18", &[half, half], "- progress does not increase: Some(1.0) before"),
        ("2025-06-18", &[ok, half], "- progress for a token that no open request carries"),
        (
            MODERN,
            &[r#"{"jsonrpc":"2.0","id":9,"method":"roots/list"}"#],
            "- a request of the server without a handshake",
        ),
        (
            "2025-06-18",
            &[r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"x"}}"#],
            "- error code Some(-32022), which is not for 2025-06-18",
        ),
        (
            "2025-06-18",
            &[r#"{"jsonrpc":"2.0","id":1,"result":{"content":[],"structuredContent":{},"isError":true}}"#],
            "- structured content beside an error",
        ),
    ];
    for (revision, lines, expected) in rows {
        assert_eq!(first(revision, lines), *expected, "{revision} {lines:?}");
    }
}

#[test]
fn structured_content_must_conform_to_what_the_tool_declared() {
    for (content, clean) in [(json!({"exit_code": 0}), true), (json!({"exit_code": "0"}), false), (Value::Null, false)]
    {
        let tap = session("2025-06-18");
        client(&tap, &json!({"jsonrpc": "2.0", "id": 0, "method": "tools/list"}));
        let output = json!({"type": "object", "properties": {"exit_code": {"type": "integer"}}});
        let tool = json!({"name": "execute_command", "inputSchema": {"type": "object"}, "outputSchema": output});
        server(&tap, &json!({"jsonrpc": "2.0", "id": 0, "result": {"tools": [tool]}}));
        ask(&tap, "2025-06-18", "tools/call");
        let mut result = json!({"content": []});
        if !content.is_null() {
            result["structuredContent"] = content.clone();
        }
        answer(&tap, &result);
        assert_eq!(tap.violations().is_empty(), clean, "{content}: {:?}", tap.violations());
    }
}

#[test]
fn a_last_line_without_its_end_is_found() {
    let tap = Tap::default();
    io::copy(&mut tap.reader(Cursor::new(b"{\"jsonrpc\"")), &mut io::sink()).unwrap();
    assert_eq!(tap.violations(), ["- the last line has no line end"]);
}

#[test]
fn the_binary_starts_and_ends_with_its_input() {
    let mut server = Server::command(&[]).env("ALLOWEXEC_LOG", "error").start();
    server.close_stdin();
    assert_eq!(server.wait_exit(), 0, "{}", server.stderr());
    assert_eq!(server.drain(), Vec::<Value>::new());
}

/// A stream in memory: each piece that is sent can be read, and the end of the sender is its end.
struct Pipe(Receiver<Vec<u8>>, Cursor<Vec<u8>>);

impl Read for Pipe {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.1.position() == self.1.get_ref().len() as u64 {
            self.1 = Cursor::new(self.0.recv().unwrap_or_default());
        }
        self.1.read(buffer)
    }
}

struct PipeEnd(Sender<Vec<u8>>);

impl Write for PipeEnd {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.send(bytes.to_vec()).map_err(|_| io::ErrorKind::BrokenPipe)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn pipe() -> (PipeEnd, Pipe) {
    let (send, receive) = channel();
    (PipeEnd(send), Pipe(receive, Cursor::default()))
}

#[test]
fn a_snapshot_of_both_eras_shows_whatever_differs_beyond_what_each_modern_result_has() {
    let lines = |lines: &[&str]| lines.iter().map(|&line| line.to_owned()).collect::<Vec<_>>();
    let answer = r#"<-- {"id":1,"result":{"isError":false}}"#;
    let modern = r#"<-- {"id":1,"result":{"isError":false,"resultType":"complete",[_meta]}}"#;
    let legacy = lines(&["i", "<-- i", "n", "--> ping 0", "--> a 1", answer, "==> eof"]);
    let shown = |modern: &[&str]| {
        let shown = both(&legacy, &lines(modern));
        shown.strip_prefix(&legacy.join("\n")).unwrap().trim_start().to_owned()
    };
    assert_eq!(shown(&["--> ping 0", "--> a 1", modern, "==> eof"]), "modern: the same");
    assert_eq!(shown(&["--> a 1", modern, "==> eof"]), "modern, in place of line 4:");
    assert_eq!(
        shown(&["--> ping 0", "--> b 1", "--> a 1", answer, "==> eof"]),
        format!("modern, after line 4:\n--> b 1\n\nmodern, in place of line 6:\n{answer}")
    );
    let other = modern.replace("complete", "other");
    assert_eq!(
        shown(&["--> ping 0", &other, "<-- x", "<== exit 0"]),
        format!("modern, in place of lines 5 to 7:\n{other}\n<-- x\n<== exit 0")
    );
}

#[test]
fn a_scenario_plays_against_a_peer_with_its_directory_arguments_and_variables() {
    let text = "transcript: 1\nargs: --cwd-root [tmp]/a\nenv: X=[tmp]\nsetup: file a/f hello\n\n\
                --> {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\"}\n<-- {\"id\":1}\n==> eof\n<== exit 0\n";
    let transcript = Transcript::parse("t", text).unwrap();
    let played = play(&transcript, |args, env, directory| {
        assert_eq!(fs::read_to_string(directory.join("a/f")).unwrap(), "hello");
        let (input, from_client) = pipe();
        let (mut to_client, output) = pipe();
        let seen = format!("{args:?} {env:?}");
        let served = thread::spawn(move || {
            for line in io::BufRead::lines(io::BufReader::new(from_client)) {
                let asked: Value = serde_json::from_str(&line.unwrap()).unwrap();
                let content = json!([{"type": "text", "text": seen}]);
                let answer = json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"content": content}});
                writeln!(to_client, "{answer}").unwrap();
            }
        });
        let mut served = Some(served);
        let end = Box::new(move |_| served.take().map(|served| i32::from(served.join().is_err())));
        Streams { input: Box::new(input), output: Box::new(output), end }
    });
    let answer = r#"<-- {"id":1,"jsonrpc":"2.0","result":{"content":[{"text":"[\"--cwd-root\", \"[tmp]/a\"] [(\"X\", \"[tmp]\")]","type":"text"}]}}"#;
    assert_eq!(played.to_string(), text.replace("<-- {\"id\":1}", answer));
}

fn write(root: &Path, path: &str, text: &str) {
    fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
    fs::write(root.join(path), text).unwrap();
}

#[test]
fn what_is_missing_in_one_of_four_places_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    let good = |name: &str| format!("transcript: 1\nscenario: a/{name}\n\n==> eof\n<== exit 0\n");
    write(
        root,
        "spec/a.md",
        "# A\n### Scenario: all\n### Scenario: only_spec\n#### Scenario: deep\n```\n### Scenario: no\n```\n",
    );
    write(root, "fixtures/transcripts/a/all.transcript", &good("all"));
    write(root, "fixtures/transcripts/a/only_fixture.transcript", "transcript: 1\n\n");
    write(root, "tests/snapshots/a/all.snap", "");
    write(root, "tests/snapshots/a/only_snapshot.snap", "");
    write(root, "tests/snapshots/of_another_test.snap", "");
    let problems = crate::support::four_places::problems(root, &[("a", "all"), ("a", "only_test")]);
    let expected = "\
spec/a.md:4: expected `### Scenario: a_name`, found `#### Scenario: deep`
a/only_fixture: the heading `### Scenario: only_fixture` in spec/a.md is missing; it stands in fixtures/transcripts/a/only_fixture.transcript
a/only_fixture: the test a::only_fixture in tests/it/scenarios.rs is missing; it stands in fixtures/transcripts/a/only_fixture.transcript
a/only_fixture: tests/snapshots/a/only_fixture.snap is missing; it stands in fixtures/transcripts/a/only_fixture.transcript
fixtures/transcripts/a/only_fixture.transcript: expected `scenario: a/only_fixture`
fixtures/transcripts/a/only_fixture.transcript: expected `<== exit N`, so that all that the server sends is seen
a/only_snapshot: the heading `### Scenario: only_snapshot` in spec/a.md is missing; it stands in tests/snapshots/a/only_snapshot.snap
a/only_snapshot: fixtures/transcripts/a/only_snapshot.transcript is missing; it stands in tests/snapshots/a/only_snapshot.snap
a/only_snapshot: the test a::only_snapshot in tests/it/scenarios.rs is missing; it stands in tests/snapshots/a/only_snapshot.snap
a/only_spec: fixtures/transcripts/a/only_spec.transcript is missing; it stands in the heading `### Scenario: only_spec` in spec/a.md
a/only_spec: the test a::only_spec in tests/it/scenarios.rs is missing; it stands in the heading `### Scenario: only_spec` in spec/a.md
a/only_spec: tests/snapshots/a/only_spec.snap is missing; it stands in the heading `### Scenario: only_spec` in spec/a.md
a/only_test: the heading `### Scenario: only_test` in spec/a.md is missing; it stands in the test a::only_test in tests/it/scenarios.rs
a/only_test: fixtures/transcripts/a/only_test.transcript is missing; it stands in the test a::only_test in tests/it/scenarios.rs
a/only_test: tests/snapshots/a/only_test.snap is missing; it stands in the test a::only_test in tests/it/scenarios.rs";
    assert_eq!(problems.join("\n"), expected);
}
