//! Calls that run while the loop does something else.

#![cfg(target_os = "linux")]

use std::fs;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::support::Server;
use crate::support::server::{DEADLINE, wait_with_deadline};
use serde_json::{Value, json};

fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + DEADLINE;
    while !holds() {
        assert!(Instant::now() < end, "not within {DEADLINE:?}: {what}");
        std::thread::park_timeout(Duration::from_millis(5));
    }
}

fn initialized(args: &[&str]) -> Server {
    let mut server = Server::start(args);
    server.initialize("2025-11-25");
    server
}

#[test]
fn many_at_once_are_each_answered_with_their_own_end() {
    let mut server = initialized(&["--allow", "sh", "--max-concurrent", "16", "--log", "off"]);
    let call = |code: u32| json!({"name": "execute_process", "arguments": {"file": "sh", "args": ["-c", format!("echo {code}; exit {code}")]}});
    let ids: Vec<(i64, u32)> = (0..64).map(|code| (server.send_request("tools/call", call(code)), code)).collect();
    for (id, code) in ids {
        let answer = server.response(&json!(id)).to_string();
        assert!(answer.contains(&format!("exit_code: {code}\\n")), "{code}: {answer}");
    }
}

#[test]
fn a_deadline_holds_while_the_client_does_not_read() {
    let mark = format!("301.{:07}", std::process::id());
    let is_running = || {
        let processes = fs::read_dir("/proc").unwrap().map_while(Result::ok);
        let mut lines = processes.filter_map(|process| fs::read(process.path().join("cmdline")).ok());
        lines.any(|line| String::from_utf8_lossy(&line).contains(&mark))
    };
    let mut child = Server::command(&["--allow", "sleep", "--log", "off"]).spawn();
    let (mut stdin, _unread) = (child.stdin.take().unwrap(), child.stdout.take());
    let mut send = |message: Value| writeln!(stdin, "{message}").is_ok();
    let params =
        json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "0"}});
    send(json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}));
    let arguments = json!({"command": format!("sleep {mark}"), "timeout_ms": 2000});
    let params = json!({"name": "execute_command", "arguments": arguments});
    send(json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params}));
    wait_until("it runs", is_running);
    // More answers than a pipe holds: the loop waits for the client to read them.
    for id in 3..40 {
        send(json!({"jsonrpc": "2.0", "id": id, "method": "tools/list"}));
    }
    wait_until("its deadline ends it", || !is_running());
    drop(stdin);
    assert_eq!(wait_with_deadline(&mut child, DEADLINE), Some(0));
}

#[test]
fn the_record_of_a_start_does_not_wait_for_the_end() {
    let dir = tempfile::tempdir().unwrap();
    let log = dir.path().join("audit.jsonl");
    let mut server = initialized(&["--allow", "sleep,true", "--audit", log.to_str().unwrap()]);
    server.call("execute_command", json!({"command": "true"}));
    let lasts = json!({"name": "execute_command", "arguments": {"command": "sleep 0.4"}});
    let id = server.send_request("tools/call", lasts);
    // Its start does not wait for its end.
    wait_until("the start is recorded", || events(&log).ends_with(&["decided".to_owned(), "started".to_owned()]));
    server.response(&json!(id));
    server.close_stdin();
    assert_eq!(server.wait_exit(), 0);
    assert_eq!(events(&log), ["decided", "started", "ended", "decided", "started", "ended"]);
}

fn events(log: &Path) -> Vec<String> {
    let text = fs::read_to_string(log).unwrap();
    let records = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let names = records.map(|record| record["event"].as_str().unwrap().to_owned());
    names.filter(|name| ["decided", "started", "ended"].contains(&&**name)).collect()
}
