//! The calls that the server's loop runs itself, and when it gives them to threads.

#![cfg(target_os = "linux")]

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::support::Server;
use crate::support::server::{DEADLINE, wait_with_deadline};
use serde_json::{Value, json};

/// The names of the threads of a process.
fn threads(pid: u32) -> Vec<String> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).unwrap().map_while(Result::ok);
    let names = tasks.filter_map(|task| fs::read_to_string(task.path().join("comm")).ok());
    names.map(|name| name.trim().to_owned()).collect()
}

fn has_worker(pid: u32) -> bool {
    threads(pid).iter().any(|name| name == "worker")
}

/// Whether programs lie on a file system whose contents this machine has; else the loop starts nothing.
fn is_local() -> bool {
    let told = Command::new("stat").args(["-f", "-c", "%T", "/usr/bin/true"]).output().unwrap();
    let name = String::from_utf8_lossy(&told.stdout).trim().to_owned();
    let is_local = ["ext2/ext3", "btrfs", "xfs", "tmpfs", "overlayfs", "f2fs", "zfs", "squashfs"].contains(&&*name);
    if !is_local {
        eprintln!("not tested: programs lie on {name}");
    }
    is_local
}

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
fn what_starts_at_once_needs_no_thread_unless_it_lasts() {
    if !is_local() {
        return;
    }
    let mut server = initialized(&["--allow", "true,sleep"]);
    let result = server.call("execute_command", json!({"command": "true"}));
    assert_eq!(result["isError"], json!(false), "{result}");
    assert!(!has_worker(server.pid()), "{:?}", threads(server.pid()));
    let id = server.send_request("tools/call", json!({"name": "execute_command", "arguments": {"command": "sleep 1"}}));
    wait_until("a thread takes a command that lasts", || has_worker(server.pid()));
    assert!(server.response(&json!(id)).to_string().contains("exit_code: 0"));
}

#[test]
fn what_has_to_be_waited_for_first_or_prints_much_is_left_to_a_thread() {
    if !is_local() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let script = dir.path().join("a-script");
    fs::write(&script, "#!/bin/sh\nexit 3\n").unwrap();
    fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let script = script.to_str().unwrap();
    for (command, args) in [
        (script, vec!["--allow", script]),
        ("seq 1 100000", vec!["--allow", "seq"]),
        ("true", vec!["--allow", "true", "--max-open-files", "64"]),
        ("true", vec!["--allow", "true", "--trust", "owner"]),
    ] {
        let mut server = initialized(&args);
        let result = server.call("execute_command", json!({"command": command}));
        assert!(result.to_string().contains("exit_code: "), "{args:?}: {result}");
        assert!(has_worker(server.pid()), "{args:?}: {:?}", threads(server.pid()));
    }
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
fn a_call_that_left_the_loop_is_recorded_like_any_other() {
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

#[test]
fn a_locked_program_is_checked_by_the_loop_and_its_digest_is_recorded() {
    if !is_local() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let (log, lock) = (dir.path().join("audit.jsonl"), dir.path().join("lock"));
    let locked = Command::new(env!("CARGO_BIN_EXE_allowexec"))
        .args(["lock", "--allow", "true", "-o", lock.to_str().unwrap()])
        .status()
        .unwrap();
    assert!(locked.success());
    let mut server =
        initialized(&["--allow", "true", "--lock", lock.to_str().unwrap(), "--audit", log.to_str().unwrap()]);
    wait_until("the locked files are read", || !threads(server.pid()).iter().any(|name| name == "lock"));
    let result = server.call("execute_command", json!({"command": "true"}));
    assert_eq!(result["isError"], json!(false), "{result}");
    assert!(!has_worker(server.pid()), "{:?}", threads(server.pid()));
    server.close_stdin();
    assert_eq!(server.wait_exit(), 0);
    let text = fs::read_to_string(&log).unwrap();
    let mut records = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let started = records.rfind(|record| record["event"] == "started").unwrap();
    let sha256 = started["identity"]["sha256"].as_str().unwrap().to_owned();
    assert!(fs::read_to_string(&lock).unwrap().contains(&sha256), "{sha256}");
}
