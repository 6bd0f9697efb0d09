//! The persistent shell, where a command prints more than its answer holds or runs for longer than a client waits: what is
//! kept, how it goes on, and what the next call hears meanwhile.

#![cfg(unix)]

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::background::{read, yaml};
use crate::shell::shells;
use crate::support::Server;

/// A command that says what its number is, and ends once the file exists.
const UNTIL_GO: &str = "-c 'echo $$; while [ ! -e \"$0\" ]; do sleep 0.01; done; echo ends; exit 3' go";

struct Session {
    server: Server,
    dir: tempfile::TempDir,
}

fn session(shell: &Path, more: &[&str]) -> Session {
    let dir = tempfile::tempdir().unwrap();
    let allow = "sh,echo,export,printenv,sleep,seq";
    let mut args = vec!["--shell", shell.to_str().unwrap(), "--allow", allow, "--log", "off"];
    if !more.contains(&"--tools") {
        args.extend(["--tools", "shell"]);
    }
    args.extend(more);
    let mut server = Server::command(&args).dir(dir.path()).start();
    server.initialize("2025-11-25");
    Session { server, dir }
}

impl Session {
    fn call(&mut self, tool: &str, arguments: &str) -> Value {
        let answer = yaml(&self.server.call(tool, json!({"arguments": arguments})));
        self.ended(answer)
    }

    /// The answer of a short call, also where a busy machine took so long that it was handed over.
    fn ended(&mut self, answer: Value) -> Value {
        if answer["running"] != json!(true) {
            return answer;
        }
        let mut ended = read(&mut self.server, json!({"call": answer["call"], "wait_ms": 60_000}));
        ended["output"] = ended["text"].clone();
        ended
    }

    fn refused(&mut self, tool: &str, arguments: Value) -> String {
        let result = self.server.call(tool, arguments);
        assert_eq!(result["isError"], json!(true), "{result}");
        result["content"][0]["text"].as_str().unwrap().to_owned()
    }

    fn send(&mut self, tool: &str, arguments: Value) -> i64 {
        self.server.send_request("tools/call", json!({"name": tool, "arguments": arguments}))
    }

    /// Calls what takes long; gives its number once it is handed over.
    fn handed_over(&mut self, tool: &str, arguments: Value) -> u64 {
        let answer = yaml(&self.server.call(tool, arguments));
        assert_eq!(answer["running"], json!(true), "{answer}");
        assert!(answer["output"].is_string() && answer.get("exit_code").is_none(), "{answer}");
        answer["call"].as_u64().unwrap()
    }

    fn shell_pid(&mut self) -> String {
        self.call("sh", "-c 'echo $PPID'")["output"].as_str().unwrap().to_owned()
    }

    fn go(&self) {
        std::fs::write(self.dir.path().join("go"), "").unwrap();
    }
}

/// The tools of a server.
fn tools(session: &mut Session) -> Vec<String> {
    let listed = session.server.request("tools/list", json!({}));
    let tools = listed["result"]["tools"].as_array().unwrap().iter();
    tools.map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn what_a_command_prints_beyond_its_answer_is_read_by_its_number() {
    for shell in shells() {
        let mut session = session(&shell, &["--max-output", "100"]);
        let all: String = (1..=9000).map(|number| format!("{number}\n")).collect();
        for (call, stream, arguments) in [(1, "stdout", "-c 'seq 9000'"), (2, "stderr", "-c 'seq 9000 >&2'")] {
            let answer = session.call("sh", arguments);
            assert_eq!((&answer["call"], &answer["exit_code"]), (&json!(call), &json!(0)), "{shell:?}");
            assert!(answer["truncated"][stream].as_u64().unwrap() > all.len() as u64 - 200, "{answer}");
            assert!(answer["output"].as_str().unwrap().starts_with("1\n2\n"), "{answer}");
            let whole = read(&mut session.server, json!({"call": call, "stream": stream, "bytes": 1_000_000}));
            assert!(whole["text"].as_str() == Some(&all) && whole["end"] == json!(true), "{shell:?}: it is not exact");
            let part =
                read(&mut session.server, json!({"call": call, "stream": stream, "from_line": 4321, "lines": 2}));
            assert_eq!(part["text"], json!("4321\n4322\n"));
        }
        let found = read(&mut session.server, json!({"call": 1, "search": "8765", "context": 1}));
        assert_eq!(found["text"], json!("8764-8764\n8765:8765\n8766-8766\n"));
        // What the shell does itself, at once, is kept as well.
        let long = "漢".repeat(300);
        let answer = session.call("echo", &long);
        assert_eq!(answer["call"], json!(3), "{answer}");
        assert_eq!(read(&mut session.server, json!({"call": 3, "bytes": 2000}))["text"], json!(format!("{long}\n")));
        // And what was not cut, by its place in the list.
        assert!(session.call("seq", "3").get("call").is_none());
        let listed = yaml(&session.server.call("list_calls", json!({})));
        assert_eq!(listed["calls"][3]["command"], json!("seq 3"), "{listed}");
        assert_eq!(read(&mut session.server, json!({"call": 4}))["text"], json!("1\n2\n3\n"));
    }
}

#[test]
fn a_command_that_takes_long_is_handed_over_and_the_shell_is_busy_until_it_ends() {
    for shell in shells() {
        let mut session = session(&shell, &["--hand-over", "200ms"]);
        session.call("export", "KEPT=yes");
        let call = session.handed_over("sh", json!({"arguments": UNTIL_GO}));
        assert_eq!(call, 2);
        for tool in ["echo", "restart"] {
            let arguments = if tool == "echo" { json!({"arguments": "hello"}) } else { json!({}) };
            let why = session.refused(tool, arguments);
            let busy = "the persistent shell is busy with call 2 (`sh -c echo $$; while";
            assert!(why.starts_with(busy) && why.contains("`read_output`") && why.contains("`stop_call`"), "{why}");
        }
        let listed = yaml(&session.server.call("list_calls", json!({})));
        assert_eq!((&listed["calls"][1]["call"], &listed["calls"][1]["running"]), (&json!(2), &json!(true)));
        let begins = read(&mut session.server, json!({"call": 2, "until": "\n"}));
        assert_eq!((&begins["found"], &begins["running"]), (&json!(true), &json!(true)));
        session.go();
        let ended = read(&mut session.server, json!({"call": 2, "wait_ms": 10_000}));
        let text = ended["text"].as_str().unwrap();
        assert!(text.ends_with("\nends\n") && ended["exit_code"] == json!(3), "{shell:?}: {ended}");
        let answer = session.call("printenv", "KEPT");
        assert_eq!((&answer["output"], answer.get("shell_restarted")), (&json!("yes\n"), None), "{shell:?}");
    }
}

#[test]
fn the_calls_that_wait_for_the_shell_hear_that_it_is_busy() {
    let mut session = session(Path::new("/bin/sh"), &["--hand-over", "200ms"]);
    let first = session.send("sh", json!({"arguments": UNTIL_GO}));
    let waiting = [1, 2].map(|number| session.send("echo", json!({"arguments": number.to_string()})));
    let answer = yaml(&session.server.response(&json!(first))["result"]);
    assert_eq!(answer["call"], json!(1), "{answer}");
    for id in waiting {
        let result = &session.server.response(&json!(id))["result"];
        let text = result["content"][0]["text"].as_str().unwrap();
        assert!(result["isError"] == json!(true) && text.contains("is busy with call 1"), "{text}");
    }
    session.go();
    assert_eq!(read(&mut session.server, json!({"call": 1, "wait_ms": 10_000}))["exit_code"], json!(3));
    assert_eq!(session.call("echo", "hello")["output"], json!("hello\n"));
}

#[test]
fn a_command_that_was_handed_over_is_stopped_and_the_shell_lives_on() {
    let script = "-c 'trap \"echo interrupted; exit 0\" INT; trap \"echo terminated; exit 0\" TERM; echo ready; \
                  while :; do sleep 0.01; done'";
    for shell in shells() {
        let mut session = session(&shell, &["--hand-over", "50ms", "--grace", "5s"]);
        session.call("export", "KEPT=yes");
        let pid = session.shell_pid();
        for (signal, code, text) in [
            ("SIGINT", 130, "ready\ninterrupted\n"),
            ("SIGTERM", 143, "ready\nterminated\n"),
            ("SIGKILL", 137, "ready\n"),
        ] {
            let call = session.handed_over("sh", json!({"arguments": script}));
            assert_eq!(read(&mut session.server, json!({"call": call, "until": "ready"}))["found"], json!(true));
            let stopped = yaml(&session.server.call("stop_call", json!({"call": call, "signal": signal})));
            if cfg!(target_os = "linux") || signal != "SIGKILL" {
                let expected = json!({"call": call, "running": false, "exit_code": code, "signal": signal});
                assert_eq!(stopped, expected, "{shell:?}");
                let said = read(&mut session.server, json!({"call": call}));
                // SIGTERM may come twice.
                assert!(said["text"].as_str().unwrap().starts_with(text), "{shell:?} {signal}: {said}");
                assert_eq!(session.shell_pid(), pid, "{shell:?} {signal}");
            }
        }
        // A call that comes before the end of one that was told to end waits for it.
        let call = session.handed_over("sleep", json!({"arguments": "100"}));
        let stop = session.send("stop_call", json!({"call": call}));
        let next = session.send("printenv", json!({"arguments": "KEPT"}));
        assert_eq!(yaml(&session.server.response(&json!(stop))["result"])["running"], json!(false));
        let answer = yaml(&session.server.response(&json!(next))["result"]);
        let answer = session.ended(answer);
        if cfg!(target_os = "linux") {
            assert_eq!(answer["output"], json!("yes\n"), "{shell:?}");
        }
    }
}

#[test]
fn the_deadline_of_a_command_holds_on_and_is_no_longer_for_being_handed_over() {
    for shell in shells() {
        let mut session = session(&shell, &["--hand-over", "100ms", "--grace", "100ms"]);
        let pid = session.shell_pid();
        let call = session.handed_over("sleep", json!({"arguments": "100", "timeout_ms": 1000}));
        let ended = read(&mut session.server, json!({"call": call, "wait_ms": 10_000}));
        assert_eq!((&ended["exit_code"], &ended["timed_out"]), (&json!(124), &json!(true)), "{shell:?}");
        assert_eq!(session.shell_pid(), pid, "{shell:?}");
        // One whose deadline comes first is answered at that.
        let said = session.refused("sleep", json!({"arguments": "100", "timeout_ms": 50}));
        assert!(said.starts_with("exit_code: 124\ntimed_out: true\n"), "{said}");
    }
}

#[test]
fn a_shell_that_was_lost_after_the_answer_is_told_of_by_the_next() {
    let mut session = session(Path::new("/bin/sh"), &["--hand-over", "1s"]);
    let script = "-c 'while [ ! -e \"$0\" ]; do sleep 0.01; done; kill -9 $PPID' go";
    let call = session.handed_over("sh", json!({"arguments": script}));
    session.go();
    let ended = read(&mut session.server, json!({"call": call, "wait_ms": 10_000}));
    assert_eq!((&ended["running"], &ended["signal"]), (&json!(false), &json!("SIGKILL")));
    let answer = session.call("echo", "hello");
    let told = answer["shell_restarted"].as_str().unwrap();
    assert!(told.contains("the shell ended by signal 9 during this call"), "{told}");
    assert!(session.call("echo", "again").get("shell_restarted").is_none());
}

#[test]
fn a_command_that_was_handed_over_ends_with_the_client() {
    for end in ["input", "handshake"] {
        let mut session = session(Path::new("/bin/sh"), &["--hand-over", "100ms", "--grace", "100ms"]);
        let script = "-c 'trap \"\" TERM; echo $$; (trap \"\" TERM; sleep 100) & sleep 100; echo ends >&2'";
        let call = session.handed_over("sh", json!({"arguments": script}));
        let said = read(&mut session.server, json!({"call": call, "until": "\n"}));
        let pid = said["text"].as_str().unwrap().trim().to_owned();
        if end == "input" {
            session.server.drain();
            assert_eq!(session.server.wait_exit(), 0);
        } else {
            session.server.initialize("2025-06-18");
            assert!(session.refused("read_output", json!({"call": call})).contains("is unknown"));
            // The next call of the new session waits for the end of it, and is told nothing of it.
            assert_eq!(session.call("echo", "hello")["output"], json!("hello\n"));
        }
        let until = Instant::now() + Duration::from_secs(20);
        let lives = || {
            let status = std::process::Command::new("ps").args(["-o", "stat=", "-p", &pid]).output().unwrap();
            let status = String::from_utf8_lossy(&status.stdout).trim().to_owned();
            !status.is_empty() && !status.starts_with('Z')
        };
        while lives() {
            assert!(Instant::now() < until, "{end}: process {pid} lives on");
            std::thread::park_timeout(Duration::from_millis(5));
        }
    }
}

#[test]
fn the_tools_about_calls_are_those_that_the_shell_can_use() {
    let about_calls = |session: &mut Session| -> Vec<String> {
        let known = ["read_output", "write_input", "stop_call", "list_calls"];
        tools(session).into_iter().filter(|tool| known.contains(&tool.as_str())).collect()
    };
    assert_eq!(about_calls(&mut session(Path::new("/bin/sh"), &[])), ["read_output", "stop_call", "list_calls"]);
    let all = ["--tools", "all"];
    let mut session_of_all = session(Path::new("/bin/sh"), &all);
    assert_eq!(about_calls(&mut session_of_all), ["read_output", "write_input", "stop_call", "list_calls"]);
    let mut off = session(Path::new("/bin/sh"), &["--background", "off", "--max-output", "20"]);
    assert_eq!(about_calls(&mut off), Vec::<String>::new());
    let answer = off.call("seq", "1000");
    assert!(answer.get("truncated").is_some() && answer.get("call").is_none(), "{answer}");
}

#[test]
fn the_audit_log_and_the_log_tell_of_a_command_that_was_handed_over() {
    let dir = tempfile::tempdir().unwrap();
    let audit: PathBuf = dir.path().join("audit.jsonl");
    let args = ["--tools", "shell", "--allow", "sh,echo", "--hand-over", "100ms", "--log", "info"];
    let mut command = Server::command(&[&args[..], &["--audit", audit.to_str().unwrap()]].concat());
    let work = tempfile::tempdir().unwrap();
    command = command.dir(work.path());
    let mut session = Session { server: command.start(), dir: work };
    session.server.initialize("2025-11-25");
    let call = session.handed_over("sh", json!({"arguments": UNTIL_GO}));
    session.refused("echo", json!({"arguments": "hello"}));
    session.go();
    assert_eq!(read(&mut session.server, json!({"call": call, "wait_ms": 10_000}))["exit_code"], json!(3));
    session.server.drain();
    assert_eq!(session.server.wait_exit(), 0);
    let records: Vec<Value> =
        std::fs::read_to_string(&audit).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |call: u64| -> Vec<&Value> { records.iter().filter(|record| record["call"] == json!(call)).collect() };
    let events = |call: u64| of(call).iter().map(|record| record["event"].as_str().unwrap()).collect::<Vec<_>>();
    assert_eq!(events(1), ["decided", "started", "ended"]);
    assert_eq!(of(1)[2]["exit_code"], json!(3));
    assert!(of(1)[2]["stdout"]["bytes"].as_u64().unwrap() > 5, "{:?}", of(1));
    assert_eq!(events(2), ["decided", "ended"]);
    assert!(of(2)[1]["error"].as_str().unwrap().contains("is busy with call 1"), "{:?}", of(2));
    let log = session.server.stderr();
    let lines: Vec<&str> = log.lines().filter(|line| line.contains("handed_over=true")).collect();
    assert_eq!(lines.len(), 1, "{log}");
    assert!(log.contains("exit=3"), "{log}");
}
