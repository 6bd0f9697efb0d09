//! Output that is kept, and what reads it: ranges, searches and waits, while a command writes and after its end.

#![cfg(unix)]

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::Server;

/// The result of a read, as its YAML says it.
pub(crate) fn read(server: &mut Server, arguments: Value) -> Value {
    yaml(&server.call("read_output", arguments))
}

/// The text of a result, parsed.
pub(crate) fn yaml(result: &Value) -> Value {
    let text = result["content"][0]["text"].as_str().unwrap();
    assert_eq!(result["isError"], json!(false), "{text}");
    serde_yaml::from_str(text).unwrap_or_else(|error| panic!("{error} in {text}"))
}

/// All of a stream, read in parts by what each says to go on with.
fn read_all(server: &mut Server, call: u64, part: &Value) -> String {
    let mut whole = String::new();
    let mut next = json!(0);
    loop {
        let mut arguments = json!({"call": call, "from_byte": next, "wait_ms": 5000});
        arguments.as_object_mut().unwrap().extend(part.as_object().unwrap().clone());
        let answer = read(server, arguments);
        let text = answer["text"].as_str().unwrap();
        whole.push_str(text);
        assert_eq!(answer["next_byte"].as_u64(), Some(whole.len() as u64));
        assert_eq!(answer["next_line"].as_u64(), Some(whole.matches('\n').count() as u64 + 1));
        next = answer["next_byte"].clone();
        if answer["end"] == json!(true) {
            return whole;
        }
    }
}

#[test]
fn what_is_read_in_parts_while_it_is_written_is_exactly_what_was_printed() {
    let mut server = Server::start(&["--allow", "awk", "--max-output", "1000"]);
    server.initialize("2025-11-25");
    // Characters of one to four bytes in lines of all lengths, 600 KB in pieces of odd sizes.
    let program = r#"BEGIN { for (i = 1; i <= 9000; i++) { s = i " aé漢😀"; for (j = 0; j < i % 7; j++) s = s "-é漢😀"; print s; if (i % 100 == 0) fflush() } }"#;
    let printed = |line: usize| format!("{line} aé漢😀{}\n", "-é漢😀".repeat(line % 7));
    let expected: String = (1..=9000).map(printed).collect();
    for (call, part) in (1..).zip([json!({}), json!({"bytes": 4093}), json!({"lines": 700})]) {
        let arguments = json!({"file": "awk", "args": [program]});
        let id = server.send_request("tools/call", json!({"name": "execute_process", "arguments": arguments}));
        assert!(read_all(&mut server, call, &part) == expected, "{part}");
        let result = yaml(&server.response(&json!(id))["result"]);
        assert_eq!(result["output"].as_u64(), Some(call));
    }
}

#[test]
fn a_read_waits_for_a_text_for_more_and_for_the_end_and_no_longer_than_it_says() {
    let mut server = Server::start(&["--allow", "sh"]);
    server.initialize("2025-11-25");
    let script = "echo begins; while [ ! -e \"$0\" ]; do sleep 0.01; done; printf 'listen'; sleep 0.05; echo 'ing on 80'; \
                  while [ ! -e \"$0.end\" ]; do sleep 0.01; done; exit 3";
    let directory = tempfile::tempdir().unwrap();
    let flag = directory.path().join("flag").to_str().unwrap().to_owned();
    let arguments = json!({"file": "sh", "args": ["-c", script, flag]});
    let call_id = server.send_request("tools/call", json!({"name": "execute_process", "arguments": arguments}));
    let more = read(&mut server, json!({"call": 1, "from_byte": 0, "wait_ms": 10_000}));
    assert_eq!((more["text"].as_str(), more["running"].as_bool()), (Some("begins\n"), Some(true)));
    let nothing = read(&mut server, json!({"call": 1, "from_byte": 7, "wait_ms": 50}));
    assert_eq!((nothing["text"].as_str(), nothing["end"].as_bool()), (Some(""), Some(false)));
    let wait = |arguments| json!({"name": "read_output", "arguments": arguments});
    let until = server.send_request("tools/call", wait(json!({"call": 1, "until": "listening on", "wait_ms": 10_000})));
    let never = server.send_request("tools/call", wait(json!({"call": 1, "until": "no such text", "wait_ms": 10_000})));
    let end = server.send_request("tools/call", wait(json!({"call": 1, "wait_ms": 10_000})));
    std::fs::write(&flag, "").unwrap();
    let until = yaml(&server.response(&json!(until))["result"]);
    assert_eq!((until["found"].as_bool(), until["running"].as_bool()), (Some(true), Some(true)));
    assert_eq!(until["text"].as_str(), Some("begins\nlistening on 80\n"));
    std::fs::write(format!("{flag}.end"), "").unwrap();
    for (id, found) in [(never, Some(false)), (end, None)] {
        let answer = yaml(&server.response(&json!(id))["result"]);
        assert_eq!(
            (answer["found"].as_bool(), answer["exit_code"].as_i64(), answer["end"].as_bool()),
            (found, Some(3), Some(true))
        );
    }
    assert_eq!(yaml(&server.response(&json!(call_id))["result"])["exit_code"], json!(3));
}

#[test]
fn a_read_that_waits_is_cancelled_and_too_many_are_refused() {
    let mut server = Server::start(&["--allow", "sleep"]);
    server.initialize("2025-11-25");
    let sleep = json!({"name": "execute_command", "arguments": {"command": "sleep 30"}});
    let sleeping = server.send_request("tools/call", sleep);
    let wait = json!({"name": "read_output", "arguments": {"call": 1, "until": "x", "wait_ms": 600_000}});
    let first = server.send_request("tools/call", wait.clone());
    for _ in 1..1000 {
        server.send_request("tools/call", wait.clone());
    }
    let refused = server.request("tools/call", wait.clone());
    let text = refused["result"]["content"][0]["text"].as_str().unwrap();
    assert_eq!(text, "1000 reads of output wait already; wait for some of their answers, or cancel some");
    for id in first..first + 1000 {
        server.notify("notifications/cancelled", json!({"requestId": id}));
    }
    // What is cancelled has made room, and is never answered.
    let answer = read(&mut server, json!({"call": 1}));
    assert_eq!((answer["running"].as_bool(), answer["text"].as_str()), (Some(true), Some("")));
    for _ in 0..10 {
        for _ in 0..1000 {
            let id = server.send_request("tools/call", wait.clone());
            server.notify("notifications/cancelled", json!({"requestId": id}));
        }
    }
    server.notify("notifications/cancelled", json!({"requestId": sleeping}));
    assert_eq!(server.request("ping", json!({}))["result"], json!({}));
    assert_eq!(server.drain(), Vec::<Value>::new());
    assert_eq!(server.wait_exit(), 0);
}

#[test]
fn invalid_utf_8_and_long_lines_are_shown_as_far_as_they_can_be() {
    let mut server = Server::start(&["--allow", "printf,sh"]);
    server.initialize("2025-11-25");
    server.call("execute_process", json!({"file": "printf", "args": ["a\\377b\\303\\nc\\303\\251\\n"]}));
    let all = read(&mut server, json!({"call": 1}));
    assert_eq!((all["text"].as_str(), all["lossy"].as_bool()), (Some("a\u{fffd}b\u{fffd}\ncé\n"), Some(true)));
    // In the middle of a character, the next one is the first.
    let from = |byte: u64| json!({"call": 1, "from_byte": byte, "bytes": 1});
    for (byte, text, next) in [(1, "\u{fffd}", 2), (5, "c", 6), (6, "é", 8), (7, "\n", 9), (9, "", 9), (100, "", 9)] {
        let part = read(&mut server, from(byte));
        assert_eq!((part["text"].as_str(), part["next_byte"].as_u64()), (Some(text), Some(next)), "{byte}");
    }
    let script =
        "i=0; while [ $i -lt 300 ]; do printf 'é漢xy'; i=$((i+1)); done; printf needle; printf '%02000d\\n' 1; echo z";
    server.call("execute_process", json!({"file": "sh", "args": ["-c", script]}));
    let call = 2;
    let found = read(&mut server, json!({"call": call, "search": "needle", "context": 1}));
    let text = found["text"].as_str().unwrap();
    assert!(text.starts_with("1:…") && text.contains("xyneedle00") && text.ends_with("0…\n2-z\n"), "{text}");
    assert!(text.len() < 600 && !text.contains('\u{fffd}'), "{text}");
}

#[test]
fn a_log_of_a_hundred_megabytes_is_searched_at_once_and_the_server_stays_small() {
    let args = ["--allow", "awk", "--keep-output", "128MiB", "--timeout", "5m"];
    let mut server = Server::start(&args);
    server.initialize("2025-11-25");
    let memory = |server: &Server| -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", server.pid())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        line.map_or(0, |line| line.trim().trim_end_matches(" kB").parse().unwrap())
    };
    read_error(&mut server);
    let before = memory(&server);
    let program = "BEGIN { for (i = 1; i < 1300000; i++) print \"[\" i \"] Compiling some crate with a name v0.1.0 (/some/directory/of/it)\"; print \"error: it is here\" }";
    let done = server.send_request(
        "tools/call",
        json!({"name": "execute_process", "arguments": {"file": "awk", "args": [program]}}),
    );
    let until = Instant::now() + Duration::from_secs(120);
    while server.try_response(done).is_none() {
        assert!(Instant::now() < until);
        server.call("read_output", json!({"call": 1, "from_line": -1, "until": "error: it", "wait_ms": 1000}));
    }
    let search = |server: &mut Server| {
        let begun = Instant::now();
        let found = read(server, json!({"call": 1, "search": "error: it", "context": 1}));
        (begun.elapsed(), found)
    };
    // The best of some: other tests run beside this one.
    let (took, found) = (0..10).map(|_| search(&mut server)).min_by_key(|(took, _)| *took).unwrap();
    let expected = "1299999-[1299999] Compiling some crate with a name v0.1.0 (/some/directory/of/it)\n1300000:error: it is here\n";
    assert_eq!(found["text"].as_str(), Some(expected));
    assert_eq!(found["next_line"].as_u64(), Some(1_300_001));
    assert!(found["next_byte"].as_u64().unwrap() > 90_000_000, "{found}");
    // Promised is a tenth of that, of a server that is optimised and alone.
    assert!(took < Duration::from_secs(1), "{took:?}");
    let grown = memory(&server) - before;
    eprintln!("searched in {took:?}, memory grew by {grown} KiB");
    assert!(grown < 10 * 1024, "{grown} KiB");
}

fn read_error(server: &mut Server) {
    let result = server.call("read_output", json!({"call": 99}));
    assert_eq!(result["isError"], json!(true));
}

/// The entries of the directory of temporary files, and the files that a process has open in it.
#[cfg(target_os = "linux")]
fn temporary_files(directory: &std::path::Path, pid: u32) -> (usize, usize) {
    let listed = std::fs::read_dir(directory).unwrap().count();
    let open = std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap();
    let targets = open.filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok());
    (listed, targets.filter(|target| target.starts_with(directory)).count())
}

#[test]
#[cfg(target_os = "linux")]
fn nothing_of_the_kept_output_is_left_in_the_temporary_directory() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().canonicalize().unwrap();
    let server = Server::command(&["--allow", "head,ls,true", "--max-output", "100"]);
    let mut server = server.env("TMPDIR", &path).start();
    server.initialize("2025-11-25");
    server.call("execute_command", json!({"command": "true"}));
    assert_eq!(temporary_files(&path, server.pid()).0, 0);
    for call in 2..6 {
        server.call("execute_command", json!({"command": "head -c 3000000 /dev/zero"}));
        let read = read(&mut server, json!({"call": call, "from_byte": 2_999_990}));
        assert_eq!((read["text"].as_str(), read["end"].as_bool()), (Some("\0".repeat(10).as_str()), Some(true)));
    }
    // One file for all, which no command inherits.
    let seen = temporary_files(&path, server.pid());
    assert!(seen == (0, 1) || !is_root(), "{seen:?}");
    let inherited = yaml(&server.call("execute_command", json!({"command": "ls -l /proc/self/fd"})));
    assert!(!inherited["stdout"].as_str().unwrap().contains(path.to_str().unwrap()), "{inherited}");
    let pid = rustix::process::Pid::from_raw(i32::try_from(server.pid()).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    assert_eq!(server.wait_exit(), 128 + 9);
    assert_eq!(std::fs::read_dir(&path).unwrap().count(), 0);
}

/// Whether the descriptors of the server, which is not dumpable, can be looked at.
#[cfg(target_os = "linux")]
fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Starts a call in the background; gives its number.
fn start(server: &mut Server, command: &str) -> u64 {
    let answer = yaml(&server.call("execute_command", json!({"command": command, "background": true})));
    assert_eq!(answer["running"], json!(true));
    answer["call"].as_u64().unwrap()
}

/// What `list_calls` says of a call.
fn listed(server: &mut Server, call: u64) -> Option<Value> {
    let list = yaml(&server.call("list_calls", json!({})));
    list["calls"].as_array().unwrap().iter().find(|listed| listed["call"] == json!(call)).cloned()
}

/// The processes that run with this word among their arguments.
#[cfg(target_os = "linux")]
pub(crate) fn running(word: &str) -> usize {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let lines = processes.filter_map(|process| std::fs::read(process.path().join("cmdline")).ok());
    lines.filter(|line| line.split(|byte| *byte == 0).any(|argument| argument == word.as_bytes())).count()
}

#[cfg(target_os = "linux")]
pub(crate) fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let until = Instant::now() + Duration::from_secs(10);
    while !is_so() {
        assert!(Instant::now() < until, "{what}");
        std::thread::park_timeout(Duration::from_millis(5));
    }
}

#[test]
#[cfg(target_os = "linux")]
fn hundreds_of_calls_in_the_background_leave_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let mut server =
        Server::command(&["--allow", "true,sh,head", "--log", "off"]).env("TMPDIR", directory.path()).start();
    server.initialize("2025-11-25");
    let descriptors = |server: &Server| std::fs::read_dir(format!("/proc/{}/fd", server.pid())).unwrap().count();
    let big = start(&mut server, "head -c 100000 /dev/zero");
    assert_eq!(read(&mut server, json!({"call": big, "wait_ms": 10_000}))["running"], json!(false));
    let before = descriptors(&server);
    for _ in 0..25 {
        let calls: Vec<u64> =
            (0..8).map(|_| start(&mut server, "sh -c 'head -c 50000 /dev/zero; sleep 0.01 & true'")).collect();
        for call in calls {
            let ended = read(&mut server, json!({"call": call, "wait_ms": 10_000, "from_byte": 49_999}));
            let ended = if ended["running"] == json!(true) {
                read(&mut server, json!({"call": call, "wait_ms": 10_000, "bytes": 1}))
            } else {
                ended
            };
            assert_eq!((ended["running"].as_bool(), ended["exit_code"].as_i64()), (Some(false), Some(0)));
        }
    }
    wait_until("the descriptors are those of before", || descriptors(&server) == before);
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    let list = yaml(&server.call("list_calls", json!({})));
    assert_eq!(list["calls"].as_array().unwrap().len(), 100);
    // What was forgotten is unknown.
    assert_eq!(server.call("read_output", json!({"call": big}))["isError"], json!(true));
}

#[test]
#[cfg(target_os = "linux")]
fn calls_in_the_background_end_with_their_trees_however_the_client_goes() {
    for (number, era) in ["2025-11-25", "modern"].into_iter().enumerate() {
        for end in ["input", "signal", "handshake"] {
            let word = format!("30.{}{number}{}", std::process::id(), end.len());
            let mut server = Server::start(&["--allow", "sh", "--grace", "100ms"]);
            if era != "modern" {
                server.initialize(era);
            }
            let meta = crate::support::modern_meta();
            let script = format!("trap '' TERM; (trap '' TERM; sleep {word}) & sleep {word}");
            let arguments = json!({"file": "sh", "args": ["-c", script], "background": true});
            let mut params = json!({"name": "execute_process", "arguments": arguments});
            if era == "modern" {
                params["_meta"] = meta;
            }
            let answer = server.request("tools/call", params);
            assert_eq!(yaml(&answer["result"])["call"], json!(1));
            wait_until("it runs", || running(&word) == 2);
            match end {
                "input" => drop(server.drain()),
                "signal" => {
                    let pid = rustix::process::Pid::from_raw(i32::try_from(server.pid()).unwrap()).unwrap();
                    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
                }
                _ => {
                    server.initialize("2025-06-18");
                    // Another session knows nothing of it.
                    assert_eq!(listed(&mut server, 1), None);
                    for tool in ["read_output", "stop_call"] {
                        assert_eq!(server.call(tool, json!({"call": 1}))["isError"], json!(true));
                    }
                }
            }
            wait_until("its tree is gone", || running(&word) == 0);
            if end != "handshake" {
                assert_eq!(server.wait_exit(), 0);
            }
        }
    }
}

#[test]
fn a_call_is_stopped_by_the_signal_that_was_asked_for() {
    let mut server = Server::start(&["--allow", "sh,sleep", "--grace", "5s"]);
    server.initialize("2025-11-25");
    let script = "sh -c 'trap \"echo interrupted; exit 0\" INT; echo ready; while :; do sleep 0.01; done'";
    for (signal, code, name, text) in
        [("SIGINT", 130, "SIGINT", "ready\ninterrupted\n"), ("KILL", 137, "SIGKILL", "ready\n")]
    {
        let call = start(&mut server, script);
        read(&mut server, json!({"call": call, "until": "ready"}));
        assert_eq!(listed(&mut server, call).unwrap()["running"], json!(true));
        let stopped = yaml(&server.call("stop_call", json!({"call": call, "signal": signal})));
        assert_eq!(stopped, json!({"call": call, "running": false, "exit_code": code, "signal": name}));
        assert_eq!(read(&mut server, json!({"call": call}))["text"].as_str(), Some(text));
        let listed = listed(&mut server, call).unwrap();
        assert_eq!(listed["exit_code"], json!(code));
        assert!(listed["command"].as_str().unwrap().starts_with("sh -c trap"), "{listed}");
        assert!(listed["elapsed_ms"].as_u64().unwrap() < 10_000, "{listed}");
    }
    // A call that is not in the background can be stopped as well, and its answer says so.
    let sleeping =
        server.send_request("tools/call", json!({"name": "execute_command", "arguments": {"command": "sleep 60"}}));
    assert_eq!(yaml(&server.call("stop_call", json!({"call": 3})))["exit_code"], json!(143));
    assert_eq!(server.response(&json!(sleeping))["result"]["isError"], json!(true));
}

#[test]
fn a_call_that_was_handed_over_keeps_its_deadline_and_is_not_cancelled_by_its_request() {
    let mut server = Server::start(&[
        "--allow",
        "sh,echo",
        "--hand-over",
        "500ms",
        "--max-concurrent",
        "1",
        "--max-background-calls",
        "1",
    ]);
    server.initialize("2025-11-25");
    let arguments = json!({"command": "sh -c 'echo begins; sleep 60'", "timeout_ms": 4000});
    let id = server.send_request("tools/call", json!({"name": "execute_command", "arguments": arguments.clone()}));
    // It waits for its turn, which comes as soon as the first one is handed over.
    let second =
        server.send_request("tools/call", json!({"name": "execute_command", "arguments": {"command": "echo hello"}}));
    let handed_over = yaml(&server.response(&json!(id))["result"]);
    assert_eq!(handed_over, json!({"running": true, "call": 1, "stdout": "begins\n", "stderr": ""}));
    assert_eq!(yaml(&server.response(&json!(second))["result"])["stdout"], json!("hello\n"));
    server.notify("notifications/cancelled", json!({"requestId": id}));
    // There is no room for another one, so this one is answered at its end.
    let third = server.call("execute_command", json!({"command": "sh -c 'sleep 0.8; echo done'"}));
    assert_eq!(yaml(&third)["stdout"], json!("done\n"));
    assert_eq!(listed(&mut server, 1).unwrap()["running"], json!(true));
    let ended = read(&mut server, json!({"call": 1, "wait_ms": 10_000}));
    assert_eq!((ended["exit_code"].as_i64(), ended["timed_out"].as_bool()), (Some(124), Some(true)));
}

#[test]
#[cfg(unix)]
fn a_call_that_is_decided_on_after_a_handshake_is_nothing_to_the_new_session() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().to_str().unwrap().to_owned();
    std::fs::create_dir(directory.path().join("s")).unwrap();
    for _ in 0..5 {
        let mut server = Server::start(&[
            "--profile",
            "coreutils-readonly",
            "--allow",
            "sleep",
            "--cwd-root",
            &root,
            "--cwd",
            &root,
        ]);
        server.initialize("2025-11-25");
        let cwd = "s/../".repeat(2_000);
        let arguments = json!({"command": "sleep 60", "cwd": cwd, "background": true});
        let id = server.send_request("tools/call", json!({"name": "execute_command", "arguments": arguments}));
        server.initialize("2025-11-25");
        server.response(&json!(id));
        let list = yaml(&server.call("list_calls", json!({})));
        // It had begun before the handshake, or never does.
        assert_eq!(list["calls"], json!([]), "{list}");
    }
}

#[test]
fn a_call_of_the_command_line_is_never_handed_over() {
    let call = |arguments: &str| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_allowexec"));
        command.args(["call", "execute_command", arguments, "--allow", "sh,sleep", "--hand-over", "50ms"]);
        let output = command.output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    assert_eq!(
        call(r#"{"command": "sh -c 'sleep 0.3; echo hello'"}"#),
        "exit_code: 0\nstdout: |\n  hello\nstderr: ''\n"
    );
    let begun = Instant::now();
    assert!(call(r#"{"command": "sleep 60", "background": true}"#).starts_with("running: true\ncall: 1\n"));
    assert!(begun.elapsed() < Duration::from_secs(20));
}

#[test]
fn what_a_command_does_not_read_is_bounded_and_what_it_reads_comes_whole() {
    let mut server = Server::start(&["--allow", "sleep,sh,cat", "--max-output", "100"]);
    server.initialize("2025-11-25");
    let deaf = start(&mut server, "sleep 60");
    let half = "x".repeat(600_000);
    let write =
        |server: &mut Server, call: u64, text: &str| server.call("write_input", json!({"call": call, "text": text}));
    assert_eq!(write(&mut server, deaf, &half)["isError"], json!(false));
    let refused = write(&mut server, deaf, &half);
    let text = refused["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("bytes to read already, and at most 1048576 can wait"), "{text}");
    // Three times what may wait, as fast as it is read, behind the input of the call.
    let arguments = json!({"command": "cat", "input": "first\n", "background": true});
    let cat = yaml(&server.call("execute_command", arguments))["call"].as_u64().unwrap();
    for number in 1..=6_u64 {
        while write(&mut server, cat, &half)["isError"] == json!(true) {}
        read(&mut server, json!({"call": cat, "from_byte": 5 + number * 600_000, "wait_ms": 10_000, "bytes": 1}));
    }
    assert_eq!(server.call("write_input", json!({"call": cat, "close": true}))["isError"], json!(false));
    let end = read(&mut server, json!({"call": cat, "wait_ms": 10_000, "lines": 1}));
    assert_eq!((end["text"].as_str(), end["exit_code"].as_i64()), (Some("first\n"), Some(0)));
    let all = read(&mut server, json!({"call": cat, "from_byte": 3_600_006}));
    assert_eq!((all["text"].as_str(), all["end"].as_bool()), (Some(""), Some(true)));
    // One that closes its input says so.
    let closed = start(&mut server, "sh -c 'exec <&-; echo ready; sleep 60'");
    read(&mut server, json!({"call": closed, "until": "ready"}));
    let until = Instant::now() + Duration::from_secs(10);
    while write(&mut server, closed, "x\n")["isError"] == json!(false) {
        assert!(Instant::now() < until);
    }
}
