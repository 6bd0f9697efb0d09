//! The audit log: what stands in it, that a call which can't be recorded does not run, and what crashes, full disks and other
//! servers leave of it.
#![cfg(unix)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use hmac_sha256::Hash;
use serde_json::{Value, json};

use crate::support::server::ServerCommand;
use crate::support::{Server, modern_meta};

fn sha256(bytes: &[u8]) -> String {
    Hash::hash(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn text(result: &Value) -> String {
    result["content"][0]["text"].as_str().unwrap().to_owned()
}

struct Log {
    _dir: tempfile::TempDir,
    base: PathBuf,
}

impl Log {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let base = fs::canonicalize(dir.path()).unwrap();
        Self { _dir: dir, base }
    }

    fn path(&self) -> PathBuf {
        self.base.join("audit.jsonl")
    }

    fn command(&self, args: &[&str]) -> ServerCommand {
        let path = self.path();
        let all: Vec<&str> = ["--audit", path.to_str().unwrap()].iter().chain(args).copied().collect();
        Server::command(&all).dir(&self.base)
    }

    fn server(&self, args: &[&str]) -> Server {
        let mut server = self.command(args).start();
        server.initialize("2025-11-25");
        server
    }

    fn records(&self) -> Vec<Value> {
        records(&self.path())
    }

    /// The records of this event.
    fn of(&self, event: &str) -> Vec<Value> {
        self.records().into_iter().filter(|record| record["event"] == event).collect()
    }
}

/// The records of a file, whose chain is checked; what is torn is left out where `recovered` tells of it.
fn records(path: &Path) -> Vec<Value> {
    let bytes = fs::read(path).unwrap();
    assert!(bytes.is_empty() || bytes.ends_with(b"\n"), "the last line has no end");
    let (mut prev, mut records) = (None, Vec::<Value>::new());
    let mut torn = None;
    for line in bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        match serde_json::from_slice::<Value>(line) {
            Ok(record) => {
                let continues = records.is_empty() && record.get("continues").is_some();
                let expected = prev.unwrap_or_else(|| "0".repeat(64));
                assert!(continues || record["prev"] == expected, "{record}");
                if let Some(torn) = torn.take() {
                    assert_eq!((&record["event"], &record["torn_sha256"]), (&json!("recovered"), &json!(torn)));
                }
                records.push(record);
            }
            Err(_) => torn = Some(sha256(line)),
        }
        prev = Some(sha256(line));
    }
    assert_eq!(torn, None, "a torn line that nothing tells of");
    let mut next: BTreeMap<String, u64> = BTreeMap::new();
    for record in &records {
        let next = next
            .entry(record["session"].as_str().unwrap().to_owned())
            .or_insert_with(|| record["seq"].as_u64().unwrap());
        assert_eq!(record["seq"], *next, "{record}");
        *next += 1;
    }
    records
}

fn end(mut server: Server) {
    server.close_stdin();
    assert_eq!(server.wait_exit(), 0);
}

#[test]
fn everything_that_happens_to_a_call_is_recorded() {
    let log = Log::new();
    let mut server = log.server(&["--allow", "echo,sleep,sh", "--timeout", "2s", "--log", "off"]);
    server.call("execute_command", json!({"command": "echo 'a b' c", "cwd": "."}));
    server.call("execute_command", json!({"command": "rm -rf /"}));
    server.call("execute_command", json!({"command": "sleep 30"}));
    server.call("execute_process", json!({"file": "sh", "args": ["-c", "kill -9 $$"]}));
    server.call("execute_command", json!({"command": "echo $HOME; ls"}));
    server.call("execute_command", json!({"command": 5}));
    server.request("tools/call", json!({"name": "nothing"}));
    server.request("no/such", json!({}));
    server.send_line("no message");
    server.recv();
    end(server);
    let mode = fs::metadata(log.path()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);

    let records = log.records();
    let events: Vec<&str> = records.iter().map(|record| record["event"].as_str().unwrap()).collect();
    assert_eq!((events[0], *events.last().unwrap()), ("session_started", "session_ended"));
    let first = &records[0];
    assert_eq!(first["client"], json!({"name": "test", "version": "0"}));
    assert_eq!(first["program_sha256"], sha256(&fs::read(env!("CARGO_BIN_EXE_allowexec")).unwrap()));
    assert_eq!((first["version"].as_str(), first["sandbox"].as_str()), (Some(env!("CARGO_PKG_VERSION")), Some("off")));
    assert_eq!(records.last().unwrap()["calls"], 5);
    assert!(records.iter().all(|record| record["time"].as_str().unwrap().ends_with('Z')));

    let decided = log.of("decided");
    let told = |record: &Value| (record["argv"].clone(), record["decision"].as_str().unwrap().to_owned());
    assert_eq!(told(&decided[0]), (json!(["echo", "a b", "c"]), "allowed".to_owned()));
    assert_eq!(decided[0]["cwd"], log.base.to_str().unwrap());
    assert_eq!(decided[0]["rule"], "the entry `echo` of the allow-list");
    assert_eq!(told(&decided[1]), (json!(["rm", "-rf", "/"]), "refused".to_owned()));
    assert_eq!(decided[1]["reason"], "command `rm` is not allowed; allowed commands: echo, sleep, sh");
    assert_eq!(decided[4]["decision"], "refused");
    assert_eq!(decided[0]["tool"], "execute_command");
    assert_eq!(decided[0]["id"], 2);

    let ended = log.of("ended");
    let of_call = |call: u64| ended.iter().find(|record| record["call"] == call).unwrap();
    assert_eq!(
        (&of_call(1)["exit_code"], &of_call(1)["stdout"]),
        (&json!(0), &json!({"bytes": 6, "sha256": sha256(b"a b c\n")}))
    );
    assert_eq!(of_call(3)["timed_out"], true);
    assert_eq!(of_call(4)["signal"], "SIGKILL");
    let started = log.of("started");
    assert_eq!(started.len(), 3);
    assert!(started.iter().all(|record| record["pid"].as_u64() > Some(1)));
    assert!(started[0]["program"].as_str().unwrap().ends_with("/echo"));
    assert!(started[0]["identity"]["inode"].as_u64() > Some(0));

    let refused: Vec<Value> = log.of("refused_request").iter().map(|record| record["code"].clone()).collect();
    assert_eq!(refused, [json!(null), json!(-32602), json!(-32601), json!(-32700)]);
    let names: Vec<Value> =
        log.of("refused_request").iter().map(|record| json!([record["method"], record["tool"]])).collect();
    assert_eq!(
        names,
        [
            json!(["tools/call", "execute_command"]),
            json!(["tools/call", "nothing"]),
            json!(["no/such", null]),
            json!([null, null])
        ]
    );
}

/// What a record holds of a text that is not in the log.
fn digest(text: &str) -> Value {
    json!({"bytes": text.len(), "sha256": sha256(text.as_bytes())})
}

#[test]
fn each_message_of_the_client_leaves_a_record() {
    let log = Log::new();
    let policy = log.base.join("policy.yaml");
    fs::write(&policy, "version: 1\ncommands:\n  cat: {stdin: true, decision: allow}\n").unwrap();
    let mut server = log.server(&["--policy", policy.to_str().unwrap(), "--log", "off"]);
    // What comes with a call is told by its length and digest.
    server.call("execute_command", json!({"command": "cat", "input": "planted-1", "timeout_ms": 5000}));
    let started = server.call("execute_command", json!({"command": "cat", "background": true}));
    assert_eq!(started["isError"], false, "{started}");
    server.call("write_input", json!({"call": 2, "text": "planted-2"}));
    server.call("read_output", json!({"call": 2, "search": "planted-3"}));
    server.call("list_calls", json!({}));
    server.call("list_commands", json!({}));
    server.call("stop_call", json!({"call": 2}));
    server.call("write_input", json!({"call": 2, "text": "planted-4", "colour": "planted-5"}));
    // What runs nothing, what nobody knows, and what is no message.
    server.request("tools/list", json!({}));
    server.request("prompts/get", json!({"name": "explain_refusal", "arguments": {"command": "planted-6"}}));
    server.request("ping", json!({}));
    server.request("no/such", json!({}));
    server.notify("notifications/cancelled", json!({"requestId": 77}));
    server.notify("no/such", json!({"x": "planted-7"}));
    server.send(&json!({"jsonrpc": "2.0", "id": "nobody", "result": {"x": "planted-8"}}));
    server.send_line("planted-9");
    server.recv();
    let long = format!("{{\"jsonrpc\":\"2.0\",\"method\":\"{}\"}}", "x".repeat(17 << 20));
    server.send_line(&long);
    let last = json!({"jsonrpc": "2.0", "id": "last", "method": "ping"}).to_string();
    server.send_line(&last);
    server.response(&json!("last"));
    end(server);

    let told = |record: &Value| {
        let text = |key: &str| record[key].as_str().unwrap_or_default().to_owned();
        match text("event").as_str() {
            "received" => [text("message"), text("method"), text("tool")].join(" ").trim().to_owned(),
            "decided" => format!("decided {}", record["argv"]),
            "refused_request" => format!("refused {} {}", record["method"], record["tool"]),
            _ => String::new(),
        }
    };
    let all: Vec<String> = log.records().iter().map(told).filter(|told| !told.is_empty()).collect();
    assert_eq!(
        all,
        [
            "request initialize",
            "notification notifications/initialized",
            "decided [\"cat\"]",
            "decided [\"cat\"]",
            "request tools/call write_input",
            "request tools/call read_output",
            "request tools/call list_calls",
            "request tools/call list_commands",
            "request tools/call stop_call",
            "request tools/call write_input",
            "refused \"tools/call\" \"write_input\"",
            "request tools/list",
            "request prompts/get",
            "request ping",
            "request no/such",
            "refused \"no/such\" null",
            "notification notifications/cancelled",
            "notification no/such",
            "response",
            "refused null null",
            "refused null null",
            "request ping",
        ]
    );
    let decided = log.of("decided");
    let facts = |record: &Value| ["input", "timeout_ms", "background"].map(|key| record[key].clone());
    assert_eq!(facts(&decided[0]), [digest("planted-1"), json!(5000), json!(null)]);
    assert_eq!(facts(&decided[1]), [json!(null), json!(null), json!(true)]);
    let received = log.of("received");
    let of_tool = |tool: &str| received.iter().find(|record| record["tool"] == tool).unwrap();
    assert_eq!(
        (&of_tool("write_input")["about_call"], &of_tool("write_input")["input"]),
        (&json!(2), &digest("planted-2"))
    );
    assert_eq!(of_tool("read_output")["about_call"], 2);
    assert_eq!((&received.last().unwrap()["id"], &received.last().unwrap()["line"]), (&json!("last"), &digest(&last)));
    let named = |method: &str| received.iter().find(|record| record["method"] == method).unwrap();
    assert_eq!(named("notifications/cancelled")["id"], 77);
    let refused = log.of("refused_request");
    assert_eq!(refused[2]["line"], digest("planted-9"));
    // The one that does not fit its schema and the parse error name what is wrong with them.
    let text = fs::read_to_string(log.path()).unwrap();
    assert!(!text.contains("planted"), "{}", text.lines().find(|line| line.contains("planted")).unwrap_or_default());
}

#[test]
fn a_tool_that_runs_nothing_is_refused_where_it_cannot_be_recorded() {
    let log = Log::new();
    let mut server = log.server(&["--allow", "sleep", "--log", "off"]);
    server.call("execute_command", json!({"command": "sleep 60", "background": true}));
    fs::rename(log.path(), log.base.join("elsewhere")).unwrap();
    for (tool, arguments) in [
        ("list_calls", json!({})),
        ("read_output", json!({"call": 1})),
        ("write_input", json!({"call": 1, "text": "x"})),
    ] {
        let result = server.call(tool, arguments);
        assert!(text(&result).starts_with("calls are refused while the audit log"), "{tool}: {result}");
    }
    // What only ends a call is served.
    let stopped = server.call("stop_call", json!({"call": 1}));
    assert_eq!((&stopped["isError"], text(&stopped).contains("running: false")), (&json!(false), true), "{stopped}");
    // And so is what changes nothing.
    assert!(server.request("tools/list", json!({}))["result"]["tools"].is_array());
    fs::rename(log.base.join("elsewhere"), log.path()).unwrap();
    assert_eq!(server.call("list_calls", json!({}))["isError"], false);
    end(server);
    assert!(log.records().last().unwrap()["lost"].as_u64() >= Some(4));
}

#[test]
fn long_output_is_told_by_its_whole_length_and_digest() {
    let log = Log::new();
    let mut server = log.server(&["--allow", "seq,sh", "--tools", "all", "--log", "off"]);
    server.call("execute_command", json!({"command": "seq 100000"}));
    server.call("seq", json!({"arguments": "100000"}));
    end(server);
    let whole: String = (1..=100_000).map(|number| format!("{number}\n")).collect();
    let expected = json!({"bytes": whole.len(), "sha256": sha256(whole.as_bytes())});
    let streams: Vec<Value> = log.of("ended").iter().map(|record| record["stdout"].clone()).collect();
    assert_eq!(streams, [expected.clone(), expected]);
}

#[test]
fn the_end_of_a_call_is_recorded_also_if_the_client_does_not_read_its_answer() {
    let log = Log::new();
    let mut child = log.command(&["--allow", "seq", "--max-output", "1MiB", "--log", "off"]).spawn();
    let mut stdin = child.stdin.take().unwrap();
    let params =
        json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "0"}});
    let call = json!({"name": "execute_command", "arguments": {"command": "seq 100000"}});
    for (id, method, params) in [(1, "initialize", params), (2, "tools/call", call)] {
        writeln!(stdin, "{}", json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).unwrap();
    }
    let until = Instant::now() + Duration::from_secs(20);
    while !fs::read_to_string(log.path()).is_ok_and(|text| text.contains("\"event\":\"ended\"")) {
        assert!(Instant::now() < until, "the answer fills the pipe, and its call has no end");
        thread::park_timeout(Duration::from_millis(10));
    }
    drop((stdin, child.stdout.take()));
    assert!(child.wait().unwrap().success());
    log.records();
}

/// It takes long to decide on the call, so the other client's request comes before the record of the decision.
#[test]
fn a_decision_is_recorded_for_the_client_that_sent_the_call() {
    let log = Log::new();
    fs::create_dir(log.base.join("s")).unwrap();
    let root = log.base.to_str().unwrap().to_owned();
    let args = ["--profile", "coreutils-readonly", "--cwd-root", &root, "--cwd", &root, "--log", "off"];
    let mut server = log.command(&args).start();
    let words: String = (0..10).map(|number| format!(" {}a", "s/../".repeat(370 + number))).collect();
    let request = |id: u64, client: &str, method: &str, params: Value| {
        let mut meta = modern_meta();
        meta["io.modelcontextprotocol/clientInfo"]["name"] = json!(client);
        let mut params = params;
        params["_meta"] = meta;
        json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()
    };
    let arguments = json!({"command": format!("cat{words} /etc/passwd")});
    let call = request(1, "one", "tools/call", json!({"name": "execute_command", "arguments": arguments}));
    server.send_line(&format!("{call}\n{}", request(2, "two", "tools/list", json!({}))));
    server.response(&json!(1));
    server.response(&json!(2));
    end(server);
    let (begun, decided) = (log.of("session_started"), log.of("decided"));
    // It is named where it is not the one of the session's begin.
    let client = decided[0].get("client").unwrap_or(&begun[0]["client"]);
    assert_eq!((decided.len(), &client["name"]), (1, &json!("one")), "{begun:?} {decided:?}");
}

#[test]
fn a_cancelled_call_and_one_that_never_started_have_an_end() {
    let log = Log::new();
    let mut server = log.server(&["--allow", "sleep,true", "--max-concurrent", "1", "--log", "off"]);
    let call = |command: &str| json!({"name": "execute_command", "arguments": {"command": command}});
    let [running, queued, last] =
        ["sleep 30", "true", "sleep 31"].map(|command| server.send_request("tools/call", call(command)));
    let wait_for = |count: usize, event: &str| {
        let until = Instant::now() + Duration::from_secs(20);
        while log.of(event).len() < count && Instant::now() < until {
            thread::park_timeout(Duration::from_millis(10));
        }
    };
    // Cancelled before that, it would be on record as one that was not decided on.
    wait_for(3, "decided");
    server.notify("notifications/cancelled", json!({"requestId": queued}));
    wait_for(1, "started");
    server.notify("notifications/cancelled", json!({"requestId": running}));
    wait_for(2, "started");
    let _ = last;
    end(server);
    let ended: BTreeMap<u64, bool> =
        log.of("ended").iter().map(|record| (record["call"].as_u64().unwrap(), record["cancelled"] == true)).collect();
    assert_eq!(ended, BTreeMap::from([(1, true), (2, true), (3, true)]));
}

#[test]
fn calls_that_resist_their_end_have_one_on_record_too() {
    let script = "trap '' TERM; setsid sh -c \"trap '' TERM; exec sleep 60\" & sleep 60 & : > READY; wait; sleep 60";
    for background in [true, false] {
        let log = Log::new();
        let mut server = log.server(&["--allow", "sh", "--log", "off"]);
        let ready: Vec<PathBuf> = (0..6).map(|number| log.base.join(format!("ready{number}"))).collect();
        for ready in &ready {
            let script = script.replace("READY", ready.to_str().unwrap());
            let arguments = json!({"file": "sh", "args": ["-c", script], "background": background});
            server.send_request("tools/call", json!({"name": "execute_process", "arguments": arguments}));
        }
        let until = Instant::now() + Duration::from_secs(20);
        while !ready.iter().all(|ready| ready.exists()) && Instant::now() < until {
            thread::park_timeout(Duration::from_millis(10));
        }
        end(server);
        let calls =
            |event| log.of(event).iter().map(|record| record["call"].as_u64().unwrap()).collect::<BTreeSet<_>>();
        assert_eq!((calls("started").len(), calls("ended")), (6, calls("started")), "background: {background}");
        let lost: Vec<Value> = log.of("ended").into_iter().filter(|record| record.get("error").is_some()).collect();
        assert_eq!(lost, Vec::<Value>::new(), "background: {background}");
    }
}

#[test]
fn the_persistent_shell_is_recorded_too() {
    let log = Log::new();
    let mut server = log.server(&["--allow", "echo,ls,cd", "--tools", "shell", "--log", "off"]);
    server.call("echo", json!({"arguments": "one"}));
    server.call("ls", json!({"arguments": "-d ."}));
    server.call("echo", json!({"arguments": "$(id)"}));
    server.call("restart", json!({}));
    end(server);
    let told: Vec<Value> = log.of("decided").iter().map(|record| json!([record["argv"], record["decision"]])).collect();
    assert_eq!(
        told,
        [
            json!([["echo", "one"], "allowed"]),
            json!([["ls", "-d", "."], "allowed"]),
            json!([["echo", "$(id)"], "refused"]),
            json!([[], "allowed"]),
        ]
    );
    assert_eq!(log.of("ended").len(), 3);
    assert!(log.of("started")[0]["program"].as_str().unwrap().ends_with("/ls"));
}

#[test]
fn questions_and_answers_are_recorded() {
    let log = Log::new();
    let mut server = log.command(&["--ask", "echo", "--log", "off"]).start();
    server.initialize_with("2025-11-25", json!({"elicitation": {"form": {}}}));
    for action in ["accept", "decline"] {
        let arguments = json!({"name": "execute_command", "arguments": {"command": "echo hi"}});
        let call = server.send_request("tools/call", arguments);
        let asked = server.recv_until(|message| message["method"] == "elicitation/create");
        server.send(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"action": action, "content": {}}}));
        server.response(&json!(call));
    }
    end(server);
    let events = |of: &Value| {
        log.records()
            .iter()
            .filter(|record| record["call"] == *of)
            .map(|record| record["event"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
            .join(" ")
    };
    let calls: Vec<Value> = log.of("asked").iter().map(|record| record["call"].clone()).collect();
    assert_eq!(events(&calls[0]), "decided asked answered decided started ended");
    assert_eq!(events(&calls[1]), "decided asked answered");
    let answers: Vec<Value> = log.of("answered").iter().map(|record| record["answer"].clone()).collect();
    assert_eq!(answers, ["once", "declined"]);
    assert!(log.of("asked")[0]["text"].as_str().unwrap().contains("\"echo\" \"hi\""), "{:?}", log.of("asked"));
    // The readers take the approved call for what it is, and for one call.
    let read = |arguments: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_allowexec")).args(arguments).arg(log.path()).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let refused = read(&["audit", "show", "--refused"]);
    assert!(refused.contains("declined") && !refused.contains("once"), "{refused}");
    let page = read(&["report"]);
    let (_, page) = page.split_once("id=\"data\">").unwrap();
    let page: Value = serde_json::from_str(page.split_once("</script>").unwrap().0).unwrap();
    let entries = page["rows"].as_array().unwrap().iter().filter(|row| row["command"] == "echo hi");
    let entries: Vec<Value> = entries.map(|row| json!([row["call"], row["kind"], row["outcome"]])).collect();
    assert_eq!(entries, [json!([calls[0], "allowed", "approved"]), json!([calls[1], "refused", "not approved"])]);
}

#[test]
fn what_waits_when_the_server_is_ended_is_recorded_all_the_same() {
    let log = Log::new();
    let base = log.base.to_str().unwrap();
    let flags =
        ["--ask", "echo", "--allow", "sleep,true", "--log", "off", "--workspace-dir", base, "--max-concurrent", "1"];
    let mut server = log.command(&flags).start();
    server.initialize_with("2025-11-25", json!({"elicitation": {"form": {}}, "roots": {}}));
    let call = |command: &str| json!({"name": "execute_command", "arguments": {"command": command, "cwd": "."}});
    let asked = server.recv_until(|message| message["method"] == "roots/list");
    server.send(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"roots": []}}));
    server.send_request("tools/call", call("sleep 60"));
    server.send_request("tools/call", call("true"));
    server.send_request("tools/call", call("echo hi"));
    server.recv_until(|message| message["method"] == "elicitation/create");
    // Now the roots are asked for again, and nobody answers.
    server.notify("notifications/roots/list_changed", json!({}));
    server.recv_until(|message| message["method"] == "roots/list");
    let held = server.send_request("tools/call", call("true held"));
    server.send(&json!({"jsonrpc": "2.0", "id": "last", "method": "ping"}));
    server.response(&json!("last"));
    let signaled = Command::new("kill").args(["-TERM", &server.pid().to_string()]).status().unwrap();
    assert!(signaled.success());
    server.wait_exit();
    let told = |record: &Value| format!("{} {}", record["call"], record["event"].as_str().unwrap());
    let all: Vec<String> = log.records().iter().filter(|record| record["call"].is_u64()).map(told).collect();
    for expected in ["1 ended", "2 ended", "3 asked", "3 answered"] {
        assert!(all.iter().any(|told| told == expected), "{expected}: {all:?}");
    }
    assert_eq!(log.of("answered")[0]["answer"], "withdrawn");
    let refused = log.of("refused_request");
    let of_held = refused.iter().find(|record| record["id"] == held).unwrap_or_else(|| panic!("{refused:?}"));
    assert_eq!(of_held["reason"], "the session ended before it was decided on");

    // A question in a result, which is no request that waits.
    let log = Log::new();
    let mut server = log.command(&["--ask", "echo", "--log", "off"]).start();
    let mut meta = modern_meta();
    meta["io.modelcontextprotocol/clientCapabilities"] = json!({"elicitation": {"form": {}}});
    server
        .request("tools/call", json!({"name": "execute_command", "arguments": {"command": "echo hi"}, "_meta": meta}));
    Command::new("kill").args(["-TERM", &server.pid().to_string()]).status().unwrap();
    server.wait_exit();
    assert_eq!(log.of("answered")[0]["answer"], "withdrawn");
}

#[test]
fn calls_are_numbered_one_after_another_whatever_else_is_asked() {
    let log = Log::new();
    let base = log.base.to_str().unwrap();
    let mut server =
        log.command(&["--ask", "echo", "--allow", "true", "--log", "off", "--workspace-dir", base]).start();
    server.initialize_with("2025-11-25", json!({"elicitation": {"form": {}}, "roots": {}}));
    let arguments = json!({"name": "execute_command", "arguments": {"command": "true", "cwd": "."}});
    // It is held until the roots are known.
    let held = server.send_request("tools/call", arguments.clone());
    let asked = server.recv_until(|message| message["method"] == "roots/list");
    server.send(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"roots": []}}));
    server.response(&json!(held));
    for action in ["accept", "decline"] {
        let arguments = json!({"name": "execute_command", "arguments": {"command": "echo hi"}});
        let call = server.send_request("tools/call", arguments);
        let asked = server.recv_until(|message| message["method"] == "elicitation/create");
        server.send(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"action": action, "content": {}}}));
        server.response(&json!(call));
    }
    server.call("execute_command", json!({"command": 5}));
    server.request("tools/call", arguments);
    end(server);
    let calls: Vec<u64> = log.of("decided").iter().map(|record| record["call"].as_u64().unwrap()).collect();
    assert_eq!(calls, [1, 2, 2, 3, 4]);
}

#[test]
fn a_question_in_a_result_and_its_answer_are_of_one_call() {
    let log = Log::new();
    let mut server = log.command(&["--ask", "echo", "--allow", "true", "--log", "off"]).start();
    let mut meta = modern_meta();
    meta["io.modelcontextprotocol/clientCapabilities"] = json!({"elicitation": {"form": {}}});
    for action in ["accept", "decline"] {
        let mut params = json!({"name": "execute_command", "arguments": {"command": "echo hi"}, "_meta": meta});
        let asked = server.request("tools/call", params.clone())["result"].clone();
        params["requestState"] = asked["requestState"].clone();
        params["inputResponses"] = json!({"approval": {"action": action, "content": {}}});
        server.request("tools/call", params);
    }
    server.request("tools/call", json!({"name": "execute_command", "arguments": {"command": "true"}, "_meta": meta}));
    end(server);
    let told = |record: &Value| format!("{} {}", record["call"], record["event"].as_str().unwrap());
    let all: Vec<String> = log.records().iter().filter(|record| record["call"].is_u64()).map(told).collect();
    let expected = [
        "1 decided",
        "1 asked",
        "1 answered",
        "1 decided",
        "1 started",
        "1 ended",
        "2 decided",
        "2 asked",
        "2 answered",
        "3 decided",
        "3 started",
        "3 ended",
    ];
    assert_eq!(all, expected);
}

#[test]
fn a_call_that_becomes_a_task_is_recorded_as_one() {
    let log = Log::new();
    let mut server = log.server(&["--allow", "true", "--log", "off"]);
    let arguments = json!({"command": "true"});
    let task = server.request("tools/call", json!({"name": "execute_command", "arguments": arguments, "task": {}}));
    let task = task["result"]["task"]["taskId"].clone();
    server.request("tasks/result", json!({"taskId": task}));
    server.call("execute_command", json!({"command": "true", "background": true}));
    end(server);
    let told: Vec<Value> =
        log.of("decided").iter().map(|record| json!([record["task"], record["background"]])).collect();
    assert_eq!(told, [json!([true, null]), json!([null, true])]);
}

#[test]
fn roots_and_what_they_come_to_are_recorded_once() {
    let log = Log::new();
    let base = log.base.to_str().unwrap();
    let mut server = log.command(&["--allow", "pwd", "--log", "off", "--workspace-dir", base]).start();
    let answer = json!({"roots": {"roots": [{"uri": format!("file://{base}")}, {"uri": "file:///etc"}]}});
    for _ in 0..2 {
        let mut meta = modern_meta();
        meta["io.modelcontextprotocol/clientCapabilities"] = json!({"roots": {}});
        let params = json!({"name": "execute_command", "arguments": {"command": "pwd"}, "_meta": meta, "inputResponses": answer});
        server.request("tools/call", params);
    }
    end(server);
    let roots = log.of("roots");
    assert_eq!(roots[0]["roots"], json!([base]));
    assert!(roots[0]["refused"][0]["reason"].as_str().unwrap().contains("file:///etc"), "{roots:?}");
}

#[test]
fn what_cannot_be_recorded_does_not_run() {
    let log = Log::new();
    let mut server = log.server(&["--allow", "touch"]);
    server.call("execute_command", json!({"command": "touch one"}));
    let moved = log.base.join("elsewhere");
    fs::rename(log.path(), &moved).unwrap();
    for _ in 0..2 {
        let result = server.call("execute_command", json!({"command": "touch two"}));
        assert_eq!(result["isError"], true);
        let said = text(&result);
        assert!(
            said.starts_with("calls are refused while the audit log can't be written (it was removed or moved away"),
            "{said}"
        );
    }
    assert!(!log.base.join("two").exists());
    // Put back, it goes on.
    fs::rename(&moved, log.path()).unwrap();
    server.call("execute_command", json!({"command": "touch three"}));
    assert!(log.base.join("three").exists());
    // Removed, it goes on in a file that somebody has made for it.
    fs::remove_file(log.path()).unwrap();
    server.call("execute_command", json!({"command": "touch four"}));
    assert!(!log.base.join("four").exists());
    fs::write(log.path(), "").unwrap();
    server.call("execute_command", json!({"command": "touch five"}));
    assert!(log.base.join("five").exists());
    server.close_stdin();
    assert_eq!(server.wait_exit(), 0);
    let said = server.stderr();
    assert_eq!(said.matches("error: the audit log can't be written, so calls are refused").count(), 2, "{said}");
    assert_eq!(said.matches("warn: the audit log is written again").count(), 2, "{said}");
    let records = log.records();
    assert_eq!((&records[0]["event"], records[0]["emptied_last"].is_string()), (&json!("recovered"), true));
    let last = records.last().unwrap();
    assert!(last["lost"].as_u64() > Some(0));
    assert_eq!(last["calls"], 3, "the decisions that could be written: {last}");
}

#[test]
fn who_locks_the_log_holds_up_the_server_once() {
    use rustix::fs::{FlockOperation, flock};
    let log = Log::new();
    let mut server = log.server(&["--allow", "true", "--log", "off"]);
    let call = |server: &mut Server| server.call("execute_command", json!({"command": "true"}));
    assert_eq!(call(&mut server)["isError"], false);
    // As a command may have it that can only read.
    let reader = fs::File::open(log.path()).unwrap();
    for operation in [FlockOperation::NonBlockingLockExclusive, FlockOperation::NonBlockingLockShared] {
        // The end of a command is recorded after its answer.
        let until = Instant::now() + Duration::from_secs(5);
        while flock(&reader, operation).is_err() {
            assert!(Instant::now() < until, "somebody else keeps it locked");
            thread::park_timeout(Duration::from_millis(1));
        }
        let started = Instant::now();
        for _ in 0..20 {
            let said = text(&call(&mut server));
            assert!(said.contains("another process has kept it locked for"), "{said}");
        }
        assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
        flock(&reader, FlockOperation::NonBlockingUnlock).unwrap();
        assert_eq!(call(&mut server)["isError"], false);
    }
    end(server);
    log.records();
}

/// The call waits for the log, which somebody keeps locked. Nobody else does, although there is something to record of each message.
#[test]
fn a_call_that_waits_for_the_log_holds_up_no_message_behind_it() {
    use rustix::fs::{FlockOperation, flock};
    let log = Log::new();
    let mut server = log.server(&["--allow", "true", "--log", "off"]);
    let call = |id| json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "execute_command", "arguments": {"command": "true"}}});
    let pings = |server: &mut Server, ids: std::ops::Range<u64>| {
        for id in ids {
            server.send(&json!({"jsonrpc": "2.0", "id": id, "method": "ping"}));
        }
    };
    let reader = fs::File::open(log.path()).unwrap();
    flock(&reader, FlockOperation::LockExclusive).unwrap();
    server.send(&call(100));
    pings(&mut server, 101..105);
    let answers: Vec<u64> = (100..105).map(|_| server.recv()["id"].as_u64().unwrap()).collect();
    assert_eq!(answers, [101, 102, 103, 104, 100]);
    flock(&reader, FlockOperation::Unlock).unwrap();
    end(server);
    log.records();
}

/// The file may become so large and no larger: as on a full disk, a part of the record is written.
#[test]
fn a_full_disk_refuses_calls_until_there_is_room() {
    let log = Log::new();
    let through = ["sh", "-c", "trap '' XFSZ; ulimit -S -f 8; exec \"$@\"", "sh"];
    let mut server = log.command(&["--allow", "true", "--log", "off"]).through(&through).start();
    server.initialize("2025-11-25");
    let mut call = || {
        let result = server.call("execute_command", json!({"command": "true"}));
        result["isError"] == true
    };
    let tries = (0..100).take_while(|_| !call()).count();
    assert!((1..99).contains(&tries), "{tries}");
    assert!(call(), "it stays closed");
    let decided = fs::read_to_string(log.path()).unwrap().matches("\"event\":\"decided\"").count();
    assert!(decided == tries || decided == tries + 1, "{decided} decisions of {tries} calls");
    let pid = server.pid().to_string();
    let raised = Command::new("prlimit").args(["--pid", &pid, "--fsize=unlimited"]).status();
    if !raised.is_ok_and(|status| status.success()) {
        eprintln!("not shown: no prlimit(1) here to make room again");
        return;
    }
    let result = server.call("execute_command", json!({"command": "true"}));
    assert_eq!(result["isError"], false, "{result}");
    end(server);
    assert_eq!(log.of("recovered").len(), 1);
}

#[test]
fn a_torn_line_is_kept_and_the_next_session_names_it() {
    let log = Log::new();
    end(log.server(&["--allow", "true", "--log", "off"]));
    let torn = br#"{"seq":9,"time":"2026-"#;
    OpenOptions::new().append(true).open(log.path()).unwrap().write_all(torn).unwrap();
    end(log.server(&["--allow", "true", "--log", "off"]));
    let records = log.records();
    let recovered = records.iter().position(|record| record["event"] == "recovered").unwrap();
    assert_eq!(records[recovered]["torn_sha256"], sha256(torn));
    assert_eq!(records[recovered]["torn_bytes"], torn.len());
    assert_eq!(records[recovered]["seq"], 0);
    assert_eq!(records[recovered + 1]["event"], "session_started");
}

#[test]
fn nothing_but_an_audit_log_is_written_to() {
    let log = Log::new();
    let (base, path) = (&log.base, log.path());
    let refused = |what: &str, says: &str| {
        let mut child = log.command(&["--allow", "true"]).spawn();
        drop(child.stdin.take());
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{what}: {said}");
        assert!(said.contains(" (`--audit`) can't be opened: ") && said.contains(says), "{what}: {said}");
    };
    fs::write(&path, "export PATH=/bin\n").unwrap();
    refused("another file", "it is not an audit log");
    assert_eq!(fs::read_to_string(&path).unwrap(), "export PATH=/bin\n");
    fs::remove_file(&path).unwrap();
    fs::write(base.join("victim"), "").unwrap();
    symlink(base.join("victim"), &path).unwrap();
    refused("a link", "a link");
    fs::remove_file(&path).unwrap();
    fs::hard_link(base.join("victim"), &path).unwrap();
    refused("a second name", "second name");
    fs::remove_file(&path).unwrap();
    assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
    refused("a FIFO", "FIFO");
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    refused("a directory", "directory");
}

#[test]
fn a_full_file_is_moved_away_and_the_chain_goes_on() {
    let log = Log::new();
    let mut server = log.server(&["--allow", "true", "--audit-max-size", "4KiB", "--log", "off"]);
    for _ in 0..20 {
        server.call("execute_command", json!({"command": "true"}));
    }
    end(server);
    let mut files: Vec<PathBuf> =
        (1..).map(|number| log.base.join(format!("audit.jsonl.{number}"))).take_while(|file| file.exists()).collect();
    assert!(files.len() >= 3, "{}", files.len());
    files.push(log.path());
    let mut last: Option<(String, String)> = None;
    let mut decided = 0;
    for file in &files {
        assert!(fs::metadata(file).unwrap().len() <= 4096);
        let records = records(file);
        if let Some((name, hash)) = &last {
            assert_eq!((&records[0]["continues"], &records[0]["prev"]), (&json!(name), &json!(hash)));
        }
        decided += records.iter().filter(|record| record["event"] == "decided").count();
        let text = fs::read_to_string(file).unwrap();
        let name = file.file_name().unwrap().to_str().unwrap().to_owned();
        last = Some((name, sha256(text.lines().last().unwrap().as_bytes())));
    }
    assert_eq!(decided, 20);
}

#[test]
fn several_servers_write_one_chain() {
    const SERVERS: usize = 4;
    const CALLS: usize = 40;
    for more in [&[][..], &["--audit-sync"]] {
        several_servers(SERVERS, CALLS, more);
    }
}

fn several_servers(servers: usize, calls: usize, more: &[&str]) {
    let log = Log::new();
    thread::scope(|scope| {
        for _ in 0..servers {
            scope.spawn(|| {
                let mut server = log.server(&[&["--allow", "true", "--log", "off"], more].concat());
                for _ in 0..calls {
                    let result = server.call("execute_command", json!({"command": "true"}));
                    assert_eq!(result["isError"], false, "{result}");
                }
                end(server);
            });
        }
    });
    let mut sessions: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for record in log.records() {
        sessions.entry(record["session"].as_str().unwrap().to_owned()).or_default().push(record);
    }
    assert_eq!(sessions.len(), servers);
    for records in sessions.values() {
        // One for the start, one for the end, two for the handshake, three for each call.
        assert_eq!(records.len(), 4 + 3 * calls);
        assert_eq!((&records[0]["seq"], &records[0]["event"]), (&json!(0), &json!("session_started")));
    }
}

#[test]
fn no_call_runs_without_its_decision_when_the_server_is_killed() {
    let log = Log::new();
    for round in 0..20_u64 {
        let name = format!("ran-{round}-");
        let mut server = log.server(&["--allow", "touch", "--log", "off"]);
        for number in 0..30 {
            let arguments = json!({"command": format!("touch {name}{number}")});
            server.send_request("tools/call", json!({"name": "execute_command", "arguments": arguments}));
        }
        // At another moment each time.
        thread::sleep(Duration::from_micros(round * 1700));
        drop(server);
        let known: Vec<Value> = match log.path().exists() {
            // A torn line may be the last one; the next session tells of it.
            true => fs::read_to_string(log.path())
                .unwrap()
                .lines()
                .filter_map(|line| serde_json::from_str(line).ok())
                .collect(),
            false => Vec::new(),
        };
        let decided: Vec<&str> = known
            .iter()
            .filter(|record| record["event"] == "decided")
            .filter_map(|record| record["argv"][1].as_str())
            .collect();
        for entry in fs::read_dir(&log.base).unwrap() {
            let ran = entry.unwrap().file_name().into_string().unwrap();
            assert!(!ran.starts_with(&name) || decided.contains(&ran.as_str()), "{ran} was not recorded");
        }
    }
    end(log.server(&["--allow", "touch", "--log", "off"]));
    log.records();
}

#[test]
fn no_secret_stands_in_the_log() {
    let log = Log::new();
    let policy = log.base.join("policy.yaml");
    fs::write(&policy, "commands:\n  echo:\n    options:\n      --token: {text: {}, secret: true}\n    operands: [{text: {}, count: \"0..\"}]\n").unwrap();
    let env = ["--env", "KEY=planted-env-value", "--env", "OTHER"];
    let args = [&["--policy", policy.to_str().unwrap(), "--log", "off"][..], &env].concat();
    let mut server = log.command(&args).env("OTHER", "planted-passed-on").start();
    server.initialize("2025-11-25");
    for line in [
        "echo --token planted-one",
        "echo --token=planted-two x",
        "echo planted-env-value -x",
        "echo a-planted-passed-on-b",
        "echo --other planted-env-value",
    ] {
        server.call("execute_command", json!({"command": line}));
    }
    end(server);
    let written = fs::read_to_string(log.path()).unwrap();
    assert!(!written.contains("planted"), "{written}");
    let records = log.records();
    let salt = records[0]["salt"].as_str().unwrap();
    let salt: Vec<u8> =
        (0..salt.len()).step_by(2).map(|at| u8::from_str_radix(&salt[at..at + 2], 16).unwrap()).collect();
    let digest = |value: &str| format!("sha256:{}", sha256(&[&salt, value.as_bytes()].concat()));
    let argv: Vec<Value> = log.of("decided").iter().map(|record| record["argv"].clone()).collect();
    assert_eq!(argv[0], json!(["echo", "--token", digest("planted-one")]));
    assert_eq!(argv[1], json!(["echo", format!("--token={}", digest("planted-two")), "x"]));
    assert_eq!(argv[3], json!(["echo", format!("a-{}-b", digest("planted-passed-on"))]));
    assert_eq!(records[0]["policies"][0]["sha256"], sha256(&fs::read(&policy).unwrap()));
}

/// Values of `--env` that look different once they are escaped or quoted.
const PLANTED: [&str; 6] = [
    "planted-plain",
    "planted\"quote",
    "planted\\back\\",
    "planted\nline",
    "planted\u{200b}\u{5d0}",
    "planted'    blanks",
];

#[test]
fn no_value_of_a_variable_stands_in_a_record_or_the_log_or_the_list_of_calls() {
    let log = Log::new();
    let named = log.base.join(PLANTED[0]);
    fs::create_dir(&named).unwrap();
    let program = named.join("tool");
    fs::write(&program, "#!/bin/sh\n").unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let outside = log.base.join("root");
    fs::create_dir(&outside).unwrap();
    let variables: Vec<String> =
        PLANTED.iter().enumerate().map(|(number, value)| format!("V{number}={value}")).collect();
    let allow = format!("sleep,true,{}", program.display());
    let mut args = vec!["--allow", &allow, "--ask", "echo", "--tools", "all", "--cwd-root", log.base.to_str().unwrap()];
    args.extend(["--log", "debug", "--env", "NUMBER=918273"]);
    args.extend(variables.iter().flat_map(|variable| ["--env", variable]));
    let mut server = log.command(&args).start();
    let capabilities = json!({"elicitation": {"form": {}}});
    let client = json!({"name": PLANTED[1], "version": PLANTED[2]});
    server.request(
        "initialize",
        json!({"protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": client}),
    );
    server.notify("notifications/initialized", json!({}));
    server.call("execute_process", json!({"file": program}));
    for value in PLANTED {
        // In the words, the directory, the input, and where it does not belong.
        server
            .call("execute_process", json!({"file": "true", "args": [value, format!("--x={value}"), "é".repeat(300)]}));
        server.call("execute_process", json!({"file": value, "args": [value]}));
        server.call("execute_process", json!({"file": "true", "args": [format!("{value}\0")]}));
        server.call("execute_process", json!({"file": "true", "args": [value], "cwd": format!("/{value}")}));
        server.call("execute_process", json!({"file": "true", "args": [value], "cwd": log.base.join(value)}));
        server.call("execute_process", json!({"file": "true", "args": ["x".repeat(115) + value], "timeout_ms": value}));
        server.call("execute_process", json!({"file": "x".repeat(115) + value}));
        let open = if value.contains('\'') { '"' } else { '\'' };
        server.call("execute_command", json!({"command": format!("true {open}{value}")}));
        let quoted = shlex::try_quote(value).unwrap();
        server.call("execute_command", json!({"command": format!("true {quoted} | cat")}));
        server.call("execute_command", json!({"command": format!("true {quoted}"), value: 1}));
        server.call("true", json!({"arguments": quoted}));
        server.call("true", json!({"arguments": format!("{open}{value}")}));
        server.call("execute_process", json!({"file": "sleep", "args": ["0", value], "background": true}));
        server.request("tools/call", json!({"name": value, "arguments": {"command": value}}));
        server.request("tools/call", json!({"name": "x".repeat(250) + value}));
        server.request(value, json!({}));
        server.request("prompts/get", json!({"name": value}));
        server.notify(value, json!({}));
        server.notify("notifications/cancelled", json!({"requestId": value}));
        server.send(&json!({"jsonrpc": "2.0", "id": value, "result": {}}));
        server.send(&json!({"jsonrpc": "2.0", "id": value, "method": "tools/call", "params": {"name": "execute_process", "arguments": {"file": value}}}));
        server.response(&json!(value));
        let arguments = json!({"name": "execute_process", "arguments": {"file": "echo", "args": [value]}});
        let call = server.send_request("tools/call", arguments);
        let asked = server.recv_until(|message| message["method"] == "elicitation/create");
        server.send(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"action": "decline"}}));
        server.response(&json!(call));
    }
    server.send(&json!({"jsonrpc": "2.0", "id": 918_273, "method": "ping"}));
    server.response(&json!(918_273));
    let listed = server.call("list_calls", json!({})).to_string();
    server.close_stdin();
    assert_eq!(server.wait_exit(), 0);
    log.records();
    let written = fs::read_to_string(log.path()).unwrap();
    let told = server.stderr();
    assert!(written.contains("sha256:") && told.contains("***") && listed.contains("***"), "{told}");
    for (place, text) in [("record", written), ("log", told), ("list of calls", listed)] {
        for line in text.lines() {
            let line = line.replace(&format!("{}/", named.display()), "");
            let at = line.find("planted").or_else(|| line.find("918273"));
            assert!(at.is_none(), "{place}: {:.400}", &line[at.unwrap_or(0).saturating_sub(60)..]);
        }
    }
}

#[test]
fn no_secret_of_a_rule_stands_in_the_record_of_a_call_that_is_refused() {
    for lines in ["off", "on"] {
        no_secret_of_a_refused_call_is_recorded(lines);
    }
}

fn no_secret_of_a_refused_call_is_recorded(lines: &str) {
    let log = Log::new();
    let policy = log.base.join("policy.yaml");
    let rule = "options: {\"--token\": {text: {}, secret: true}, \"-p\": {text: {}, secret: true}, \"-v\": flag, \"--name\": {text: {}}}";
    let go = "syntax: go, options: {\"-p\": {text: {}, secret: true}, \"-token\": {text: {}, secret: true}, \"-n\": {text: {}}}";
    fs::write(&policy, format!("commands:\n  echo: {{{rule}}}\n  true: {{{rule}, decision: ask}}\n  go: {{{go}}}\n"))
        .unwrap();
    let path = policy.to_str().unwrap();
    let base = log.base.to_str().unwrap();
    let mut server =
        log.server(&["--policy", path, "--tools", "all", "--log", "debug", "--cwd-root", base, "--lines", lines]);
    let calls = [
        ("execute_command", json!({"command": "echo --token 'planted"})),
        ("execute_command", json!({"command": "\"echo\" -v --token planted \""})),
        ("execute_command", json!({"command": "echo --token planted | cat"})),
        ("execute_command", json!({"command": "echo --tokne planted"})),
        ("execute_command", json!({"command": "echo --tokne=planted"})),
        ("execute_command", json!({"command": "echo -vpplanted -x"})),
        ("execute_command", json!({"command": "echo token planted"})),
        ("execute_command", json!({"command": "echo --toknplanted"})),
        ("execute_command", json!({"command": "echo --toknplanted=x --TOKENplanted"})),
        ("execute_command", json!({"command": "echo --name --toknplanted"})),
        ("execute_command", json!({"command": "echo --name=x;--token=planted"})),
        ("execute_command", json!({"command": "echo --name $(x)--tokenplanted"})),
        ("execute_command", json!({"command": "echo --name='x --token=planted"})),
        ("execute_command", json!({"command": "echo --name='--token=planted"})),
        ("execute_command", json!({"command": "echo -v=planted --token-planted"})),
        ("execute_command", json!({"command": "env A=b echo --token planted"})),
        ("execute_command", json!({"command": "sudo -u x /bin/echo --toknplanted"})),
        ("execute_command", json!({"command": "\"echo --token planted\""})),
        ("execute_command", json!({"command": "'echo\t--token\tplanted'"})),
        ("execute_command", json!({"command": "'echo --token' planted"})),
        ("execute_command", json!({"command": "sh -c 'exec echo --token planted'"})),
        ("execute_command", json!({"command": "echo --token pa$planted"})),
        ("execute_command", json!({"command": "echo --token \"pa${planted}\""})),
        ("execute_command", json!({"command": "echo --token ../planted* --token //*/planted"})),
        ("execute_command", json!({"command": "echo --token $planted.tail"})),
        ("execute_command", json!({"command": "a=$(echo --token planted)"})),
        ("execute_command", json!({"command": "a=`echo --token planted`"})),
        ("execute_command", json!({"command": "true;{echo --token planted;}"})),
        ("execute_command", json!({"command": "echo --token x <<planted"})),
        ("execute_command", json!({"command": "echo --token x <<planted\n$\nplanted"})),
        ("execute_command", json!({"command": "echo --token planted+=x"})),
        ("execute_command", json!({"command": "A=b echo --token planted"})),
        ("execute_process", json!({"file": "echo --token planted"})),
        ("execute_process", json!({"file": "echo\t--token\tplanted"})),
        ("execute_process", json!({"file": "echo --token", "args": ["planted"]})),
        ("execute_process", json!({"file": "/bin/echo --token planted", "args": ["x"]})),
        ("execute_process", json!({"file": "env", "args": ["echo --token planted", "x"]})),
        ("execute_command", json!({"command": "go -pplanted"})),
        ("execute_command", json!({"command": "go --pplanted -n -pplanted"})),
        ("execute_command", json!({"command": "go -tokenplanted -vpplanted"})),
        ("execute_process", json!({"file": "go", "args": ["-pplanted"], "cwd": "/"})),
        ("execute_process", json!({"file": "go", "args": ["-pplanted"], "timeout_ms": "x"})),
        ("go", json!({"arguments": "-pplanted -tokenplanted"})),
        ("go", json!({"arguments": "-n=x;-p=planted"})),
        ("execute_command", json!({"command": "/bin/echo --token planted"})),
        ("execute_command", json!({"command": "ehco --token planted"})),
        ("execute_command", json!({"command": "echo --token planted", "cwd": "/"})),
        ("execute_command", json!({"command": "echo --token planted", "cwd": "/nonexistent"})),
        ("execute_command", json!({"command": "echo --token planted", "timeout_ms": "x"})),
        ("execute_command", json!({"command": "echo --token planted", "input": "x"})),
        ("execute_process", json!({"file": "echo", "args": ["--token", "planted\0"]})),
        ("execute_process", json!({"file": "echo", "args": ["--token", "planted"], "cwd": "/"})),
        ("execute_command", json!({"command": "true -vpplanted --token=planted"})),
        ("echo", json!({"arguments": "--tokne planted"})),
        ("echo", json!({"arguments": "--token 'planted"})),
        ("echo", json!({"arguments": "-v --token planted; id"})),
        ("echo", json!({"arguments": "--token planted", "timeout_ms": "x"})),
        ("echo", json!({"arguments": "-vpplanted"})),
        ("true", json!({"arguments": "-vpplanted --token=planted"})),
    ];
    // With lines this is another command, of which no rule says anything.
    let is_other = |arguments: &Value| lines == "on" && arguments["command"] == "echo --name=x;--token=planted";
    let calls: Vec<_> = calls.into_iter().filter(|(_, arguments)| !is_other(arguments)).collect();
    for (tool, arguments) in &calls {
        server.call(tool, arguments.clone());
    }
    let listed = server.call("list_calls", json!({})).to_string();
    server.close_stdin();
    assert_eq!(server.wait_exit(), 0);
    let decided: BTreeSet<u64> = log.of("decided").iter().map(|record| record["call"].as_u64().unwrap()).collect();
    assert_eq!(decided.len() + 3, calls.len(), "three have wrong arguments");
    let written = fs::read_to_string(log.path()).unwrap();
    for (place, text) in [("record", written), ("log", server.stderr()), ("list of calls", listed)] {
        let found = text.lines().find(|line| line.contains("planted"));
        assert_eq!(found, None, "{place}");
    }
}

#[test]
fn the_digest_of_the_configuration_is_computed_as_the_specification_says() {
    let log = Log::new();
    let flags = ["--allow", "true,größe", "--env", "TOKEN=planted", "--timeout", "45s", "--log", "off"];
    end(log.server(&flags));
    let recorded = log.of("session_started")[0]["config_sha256"].clone();
    let doctor = Command::new(env!("CARGO_BIN_EXE_allowexec"))
        .args(["doctor", "--json", "--audit", log.path().to_str().unwrap()])
        .args(flags)
        .current_dir(&log.base)
        .output()
        .unwrap();
    let shown: Value = serde_json::from_slice(&doctor.stdout).unwrap();
    let line = |row: &Value| format!("{}: {}\n", row["name"].as_str().unwrap(), row["value"].as_str().unwrap());
    let lines: String = shown["settings"].as_array().unwrap().iter().map(line).collect();
    assert!(lines.contains("timeout: 45s\n") && lines.contains("TOKEN=…") && !lines.contains("planted"), "{lines}");
    assert_eq!(recorded, sha256(lines.as_bytes()));
    if Command::new("python3").arg("--version").output().is_err() {
        return eprintln!("python3 is missing, so the example of the specification was not run");
    }
    let example = include_str!("../../spec/audit.md").split("```python\n").nth(1).unwrap().split("```").next().unwrap();
    fs::write(log.base.join("doctor.json"), &doctor.stdout).unwrap();
    let input = fs::File::open(log.base.join("doctor.json")).unwrap();
    let output = Command::new("python3").args(["-c", example]).stdin(input).output().unwrap();
    assert_eq!(recorded, String::from_utf8(output.stdout).unwrap().trim_end());
}

#[test]
fn a_program_of_the_operators_keeps_the_head() {
    let log = Log::new();
    let anchors = log.base.join("anchors");
    let program = format!("sh -c 'cat >> {}'", anchors.display());
    let mut server = log.server(&["--allow", "true", "--audit-anchor", &program, "--log", "off"]);
    server.call("execute_command", json!({"command": "true"}));
    end(server);
    let lines = fs::read_to_string(log.path()).unwrap();
    let last = lines.lines().last().unwrap();
    let expected = format!("{} {} {}\n", lines.lines().count(), sha256(last.as_bytes()), log.path().display());
    assert_eq!(fs::read_to_string(anchors).unwrap(), expected);
}

/// What a command does to the log when it can write there, and why its head can't be kept then; `None` if that of the log is.
const DONE_TO_IT: [(&str, Option<&str>); 5] = [
    ("rm audit.jsonl; mkfifo audit.jsonl", None),
    ("rm audit.jsonl; ln -s other.jsonl audit.jsonl", None),
    ("rm audit.jsonl; truncate -s 4T audit.jsonl", None),
    // So many bytes of nothing, which are one line.
    ("truncate -s 4T audit.jsonl", Some("is longer than 128 MiB")),
    (
        "i=0; while [ $i -lt 128 ]; do i=$((i + 1)); truncate -s $((i * 100))M audit.jsonl; echo >> audit.jsonl; done",
        Some("was not read to its end within 5 s"),
    ),
];

#[test]
fn what_is_done_to_the_log_neither_holds_up_the_end_nor_has_another_head_anchored() {
    for (done, why) in DONE_TO_IT {
        let log = Log::new();
        fs::write(log.base.join("other.jsonl"), "another log\n").unwrap();
        let anchors = log.base.join("anchors");
        let program = format!("sh -c 'cat >> {}'", anchors.display());
        let mut server = log.server(&["--allow", "sh", "--audit-anchor", &program]);
        let script = format!("ln audit.jsonl kept; {done}; echo done");
        let said = text(&server.call("execute_process", json!({"file": "sh", "args": ["-c", script]})));
        assert!(said.contains("done"), "{said}");
        server.close_stdin();
        assert_eq!(server.wait_exit(), 0, "{done}");
        let said = server.stderr();
        let Some(why) = why else {
            let kept = fs::read_to_string(log.base.join("kept")).unwrap();
            let last = kept.lines().last().unwrap();
            let head = format!("{} {} ", kept.lines().count(), sha256(last.as_bytes()));
            let anchored = fs::read_to_string(&anchors).unwrap_or_default();
            assert!(anchored.starts_with(&head), "{done}: {anchored}\n{kept}\n{said}");
            continue;
        };
        assert!(!anchors.exists(), "{done}: {}", fs::read_to_string(&anchors).unwrap());
        assert!(said.contains("has not kept the head") && said.contains(why), "{said}");
    }
}

/// A log in a directory of its own, so that the directory can be moved and removed.
struct LogInDirectory {
    log: Log,
    directory: PathBuf,
}

impl LogInDirectory {
    fn new() -> Self {
        let log = Log::new();
        let directory = log.base.join("logs");
        fs::create_dir(&directory).unwrap();
        Self { log, directory }
    }

    fn path(&self) -> PathBuf {
        self.directory.join("audit.jsonl")
    }

    fn server(&self, args: &[&str]) -> Server {
        let path = self.path();
        let all: Vec<&str> =
            ["--audit", path.to_str().unwrap(), "--allow", "true"].iter().chain(args).copied().collect();
        let mut server = Server::command(&all).dir(&self.log.base).start();
        server.initialize("2025-11-25");
        server
    }
}

fn runs(server: &mut Server) -> bool {
    server.call("execute_command", json!({"command": "true"}))["isError"] == false
}

#[test]
fn a_log_whose_directory_is_moved_away_goes_on_and_its_own_head_is_kept() {
    let log = LogInDirectory::new();
    let anchors = log.log.base.join("anchors");
    let mut server = log.server(&["--audit-anchor", &format!("sh -c 'cat >> {}'", anchors.display())]);
    assert!(runs(&mut server));
    let elsewhere = log.log.base.join("elsewhere");
    fs::rename(&log.directory, &elsewhere).unwrap();
    fs::create_dir(&log.directory).unwrap();
    fs::write(log.path(), "{\"seq\":0,\"another\":\"log\"}\n").unwrap();
    assert!(runs(&mut server));
    end(server);
    let written = fs::read_to_string(elsewhere.join("audit.jsonl")).unwrap();
    assert_eq!(records(&elsewhere.join("audit.jsonl")).last().unwrap()["event"], "session_ended");
    let head = format!("{} {} ", written.lines().count(), sha256(written.lines().last().unwrap().as_bytes()));
    assert!(fs::read_to_string(&anchors).unwrap().starts_with(&head), "{}", fs::read_to_string(&anchors).unwrap());
}

#[test]
fn a_log_whose_directory_is_removed_goes_on_in_an_empty_file_at_its_place() {
    let log = LogInDirectory::new();
    let mut server = log.server(&[]);
    assert!(runs(&mut server));
    fs::remove_dir_all(&log.directory).unwrap();
    assert!(!runs(&mut server));
    fs::create_dir(&log.directory).unwrap();
    assert!(!runs(&mut server), "there is no file yet");
    fs::write(log.path(), "").unwrap();
    assert!(runs(&mut server));
    end(server);
    let records = records(&log.path());
    assert_eq!((&records[0]["event"], records[0]["emptied_last"].is_string()), (&json!("recovered"), true));
    // A link in its place is not followed.
    let mut server = log.server(&[]);
    assert!(runs(&mut server));
    fs::remove_dir_all(&log.directory).unwrap();
    fs::create_dir(log.log.base.join("other")).unwrap();
    fs::write(log.log.base.join("other/audit.jsonl"), "").unwrap();
    symlink(log.log.base.join("other"), &log.directory).unwrap();
    assert!(!runs(&mut server));
    end(server);
}

#[test]
fn another_file_in_the_place_of_the_log_is_recorded() {
    // A log of another server, one that pretends to continue, and the log itself with other lines.
    type Replace = fn(&Path, &str) -> String;
    let replaced: [(&str, Replace); 3] = [
        ("another log", |_, other| other.to_owned()),
        ("a made-up file before", |_, _| {
            let zeros = "0".repeat(64);
            format!(
                "{{\"seq\":0,\"time\":\"\",\"session\":\"s\",\"prev\":\"{zeros}\",\"continues\":\"x\",\"event\":\"roots\"}}\n"
            )
        }),
        ("the log, written anew", |path, other| {
            let own = fs::read_to_string(path).unwrap();
            own.replace("\"true\"", "\"another\"") + other
        }),
    ];
    for (what, replace) in replaced {
        let other = Log::new();
        let mut server = other.server(&["--allow", "true", "--log", "off"]);
        assert!(runs(&mut server));
        end(server);
        let other = fs::read_to_string(other.path()).unwrap();
        for in_place in [false, true] {
            let log = Log::new();
            let mut server = log.server(&["--allow", "true", "--log", "off"]);
            assert!(runs(&mut server));
            // The record of the end comes behind the answer.
            let until = Instant::now() + Duration::from_secs(20);
            while log.of("ended").is_empty() {
                assert!(Instant::now() < until);
                thread::park_timeout(Duration::from_millis(1));
            }
            let last =
                fs::read_to_string(log.path()).unwrap().lines().last().map(|line| sha256(line.as_bytes())).unwrap();
            let mut contents = replace(&log.path(), &other);
            if in_place {
                // Longer than it was, or it would be a cut.
                while contents.len() < 10_000 {
                    contents += &other;
                }
                fs::write(log.path(), &contents).unwrap();
            } else {
                fs::write(log.base.join("new"), &contents).unwrap();
                fs::rename(log.base.join("new"), log.path()).unwrap();
            }
            assert!(runs(&mut server), "{what}");
            end(server);
            let written = fs::read_to_string(log.path()).unwrap();
            let recovered = written.lines().find(|line| line.contains("\"recovered\""));
            let recovered: Value =
                serde_json::from_str(recovered.unwrap_or_else(|| panic!("{what}: {written}"))).unwrap();
            assert_eq!(recovered["replaced_last"], last, "{what}");
            let output =
                Command::new(env!("CARGO_BIN_EXE_allowexec")).args(["audit", "verify"]).arg(log.path()).output();
            assert_eq!(output.unwrap().status.code(), Some(1), "{what}");
        }
    }
}

#[test]
fn files_that_another_server_has_begun_are_no_other_ones() {
    let log = Log::new();
    let mut idle = log.server(&["--allow", "true", "--log", "off"]);
    assert!(runs(&mut idle));
    let mut busy = log.server(&["--allow", "true", "--log", "off", "--audit-max-size", "4KiB"]);
    for _ in 0..20 {
        assert!(runs(&mut busy));
    }
    assert!(log.base.join("audit.jsonl.3").exists());
    assert!(runs(&mut idle));
    end(busy);
    end(idle);
    assert!(log.of("recovered").is_empty(), "{:?}", log.of("recovered"));
    assert_eq!(log.records().last().unwrap()["event"], "session_ended");
}

#[test]
fn a_log_with_a_second_name_is_not_written_to() {
    let log = Log::new();
    let mut server = log.server(&["--allow", "true", "--log", "off"]);
    assert!(runs(&mut server));
    let second = log.base.join("second");
    fs::hard_link(log.path(), &second).unwrap();
    let said = text(&server.call("execute_command", json!({"command": "true"})));
    assert!(said.contains("it has a second name"), "{said}");
    fs::remove_file(second).unwrap();
    assert!(runs(&mut server));
    end(server);
    log.records();
}
