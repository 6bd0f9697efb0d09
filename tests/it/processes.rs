//! What becomes of processes: of a command's whole tree, whoever ends it, and of the server itself under load.
//!
//! Every process that must end carries a mark in its arguments, by which it is looked for in the process table.

#![cfg(unix)]

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Read, Seek, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::support::Server;
use crate::support::server::{DEADLINE, bound_descriptors, wait_with_deadline};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

/// A number of seconds that no other process sleeps.
fn mark() -> String {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    format!("300.{:07}{:04}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// The processes that carry the mark, each with its number and arguments.
fn marked(mark: &str) -> Vec<String> {
    processes().into_iter().filter(|process| process.contains(mark)).collect()
}

#[cfg(target_os = "linux")]
fn processes() -> Vec<String> {
    let entries = fs::read_dir("/proc").unwrap().map_while(Result::ok);
    let command_lines =
        entries.filter_map(|entry| Some((entry.file_name(), fs::read(entry.path().join("cmdline")).ok()?)));
    command_lines
        .map(|(pid, line)| format!("{} {}", pid.to_string_lossy(), String::from_utf8_lossy(&line).replace('\0', " ")))
        .collect()
}

#[cfg(not(target_os = "linux"))]
fn processes() -> Vec<String> {
    let listed = Command::new("ps").args(["-axww", "-o", "pid=,args="]).output().unwrap();
    String::from_utf8_lossy(&listed.stdout).lines().map(str::to_owned).collect()
}

fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + DEADLINE;
    while !holds() {
        assert!(Instant::now() < end, "not within {DEADLINE:?}: {what}");
        thread::park_timeout(Duration::from_millis(5));
    }
}

fn assert_gone(mark: &str, case: &str) {
    wait_until(&format!("{case}: {:?} end", marked(mark)), || marked(mark).is_empty());
}

/// Ends what a failing test leaves behind; what passes has left nothing.
struct Leftovers(String);

impl Drop for Leftovers {
    fn drop(&mut self) {
        for process in marked(&self.0) {
            let pid = process.split_whitespace().next().and_then(|pid| pid.parse().ok()).and_then(Pid::from_raw);
            // It may have ended in between.
            pid.map(|pid| kill_process(pid, Signal::KILL).ok());
        }
    }
}

/// What a command starts: `READY` is the file that says that it is there, `MARK` what is looked for.
struct Tree {
    name: &'static str,
    script: &'static str,
    /// It leaves the process group, where only Linux can follow it.
    leaves: bool,
}

const fn tree(name: &'static str, script: &'static str) -> Tree {
    Tree { name, script, leaves: false }
}

const fn leaving(name: &'static str, script: &'static str) -> Tree {
    Tree { name, script, leaves: true }
}

const TREES: &[Tree] = &[
    tree("a child that holds the pipes", "sh -c 'touch READY; exec sleep MARK' &"),
    tree("a child that closed the pipes", "sh -c 'touch READY; exec sleep MARK' </dev/null >/dev/null 2>&1 &"),
    tree("a child that ignores SIGTERM", "sh -c 'trap \"\" TERM; touch READY; exec sleep MARK' &"),
    tree("a child that is stopped", "sh -c 'touch READY; kill -STOP $$; exec sleep MARK' &"),
    tree("a grandchild", "sh -c 'sh -c \"touch READY; exec sleep MARK\" & wait' &"),
    leaving("a session of its own", "setsid sh -c 'touch READY; exec sleep MARK' &"),
    leaving("a session that ignores SIGTERM", "setsid sh -c 'trap \"\" TERM HUP; touch READY; exec sleep MARK' &"),
    leaving("a daemon", "setsid sh -c '(touch READY; exec sleep MARK) </dev/null >/dev/null 2>&1 &'"),
    leaving("a daemon that holds the pipes", "setsid sh -c '(touch READY; exec sleep MARK) &'"),
    leaving(
        "a daemon with children",
        "setsid sh -c 'sleep MARK & (sleep MARK & touch READY; sleep MARK; true) & true' &",
    ),
    leaving("a stopped session", "setsid sh -c 'touch READY; kill -STOP $$; exec sleep MARK' &"),
];

/// What the command itself does once its tree stands.
const THEN_HANG: &str = "sleep MARK";
const THEN_HANG_STUBBORNLY: &str = "trap '' TERM; sleep MARK";
const THEN_STOP: &str = "kill -STOP $$; sleep MARK";
const THEN_CLOSE_AND_HANG: &str = "exec <&- >&- 2>&-; sleep MARK";
const THEN_EXIT: &str = "exit 7";

/// One server with one call for each tree, all of them running.
struct Forest {
    server: Server,
    ids: Vec<i64>,
    mark: String,
    _leftovers: Leftovers,
    directory: tempfile::TempDir,
}

impl Forest {
    fn plant(then: &str, timeout_ms: u64) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let mark = mark();
        let args = ["--allow", "sh", "--grace", "150ms", "--log", "off"];
        let mut server = Server::command(&args).dir(directory.path()).start();
        server.initialize("2025-11-25");
        let mut ids = Vec::new();
        for (number, tree) in TREES.iter().enumerate().filter(|(_, tree)| cfg!(target_os = "linux") || !tree.leaves) {
            let script =
                format!("{}\nuntil [ -e READY ]; do sleep 0.01; done\ntouch stands{number}\n{then}", tree.script);
            let script = script.replace("READY", &format!("ready{number}")).replace("MARK", &mark);
            let arguments = json!({"file": "sh", "args": ["-c", script], "timeout_ms": timeout_ms});
            ids.push(server.send_request("tools/call", json!({"name": "execute_process", "arguments": arguments})));
        }
        Self { server, ids, _leftovers: Leftovers(mark.clone()), mark, directory }
    }

    /// Waits until each command has its tree.
    fn stands(self) -> Self {
        for (number, tree) in TREES.iter().enumerate().filter(|(_, tree)| cfg!(target_os = "linux") || !tree.leaves) {
            let stands = self.directory.path().join(format!("stands{number}"));
            wait_until(tree.name, || stands.exists());
        }
        self
    }

    /// The result of each call.
    fn results(&mut self) -> Vec<Value> {
        let ids = self.ids.clone();
        ids.into_iter().map(|id| self.server.response(&json!(id))["result"].take()).collect()
    }

    fn assert_gone(&self, case: &str) {
        assert_gone(&self.mark, case);
    }
}

fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap()
}

#[test]
fn a_finished_command_leaves_nothing_behind() {
    let mut forest = Forest::plant(THEN_EXIT, 20_000);
    for result in forest.results() {
        assert_eq!(text(&result), "exit_code: 7\nstdout: ''\nstderr: ''\n");
    }
    forest.assert_gone("after the exit");
    assert_no_zombies(forest.server.pid());
}

#[test]
fn a_deadline_ends_every_kind_of_tree() {
    for then in [THEN_HANG, THEN_STOP, THEN_CLOSE_AND_HANG] {
        // Long enough that the trees stand on a busy machine; where they don't, less is shown, but nothing else.
        let mut forest = Forest::plant(then, 800);
        for result in forest.results() {
            assert!(text(&result).contains("timed_out: true"), "{then}: {result}");
        }
        forest.assert_gone(then);
        assert_no_zombies(forest.server.pid());
    }
}

#[test]
fn a_cancellation_ends_every_kind_of_tree() {
    for then in [THEN_HANG, THEN_HANG_STUBBORNLY, THEN_STOP] {
        let mut forest = Forest::plant(then, 60_000).stands();
        for id in forest.ids.clone() {
            forest.server.notify("notifications/cancelled", json!({"requestId": id}));
        }
        forest.assert_gone(then);
        // Nothing is said of them, and everything else is still served.
        assert_eq!(forest.server.request("ping", json!({}))["result"], json!({}));
        wait_until("the calls are reaped", || zombies(forest.server.pid()).is_empty());
        assert_eq!(forest.server.drain(), Vec::<Value>::new());
    }
}

#[test]
fn the_end_of_the_input_ends_every_kind_of_tree() {
    for then in [THEN_HANG, THEN_HANG_STUBBORNLY] {
        let mut forest = Forest::plant(then, 60_000).stands();
        assert_eq!(forest.server.drain(), Vec::<Value>::new());
        assert_eq!(forest.server.wait_exit(), 0);
        forest.assert_gone(then);
    }
}

#[test]
fn a_signal_to_the_server_ends_every_kind_of_tree() {
    for signal in [Signal::TERM, Signal::INT] {
        let mut forest = Forest::plant(THEN_HANG_STUBBORNLY, 60_000).stands();
        kill_process(pid_of(&forest.server), signal).unwrap();
        assert_eq!(forest.server.wait_exit(), 0);
        forest.assert_gone("after the signal");
    }
}

#[test]
fn a_client_that_is_killed_leaves_nothing_behind() {
    let mark = mark();
    let _leftovers = Leftovers(mark.clone());
    let mut child = Server::command(&["--allow", "sh"]).spawn();
    let script = format!("trap '' TERM; sleep {mark} & sleep {mark}");
    let mut stdin = child.stdin.take().unwrap();
    for message in [initialize(), call(1, "execute_process", &json!({"file": "sh", "args": ["-c", script]}))] {
        writeln!(stdin, "{message}").unwrap();
    }
    wait_until("the command runs", || marked(&mark).len() >= 3);
    // The kernel closes all ends of a killed client at once.
    drop((stdin, child.stdout.take(), child.stderr.take()));
    assert_eq!(wait_with_deadline(&mut child, DEADLINE), Some(0));
    assert_gone(&mark, "after the client's end");
}

#[test]
fn an_orphan_of_a_running_call_survives_the_end_of_others() {
    if !cfg!(target_os = "linux") {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let mark = mark();
    let _leftovers = Leftovers(mark.clone());
    let mut server = Server::command(&["--allow", "sh,true", "--log", "off"]).dir(directory.path()).start();
    server.initialize("2025-11-25");
    let script = format!(
        "setsid sh -c '(echo $$ > session; sh -c \"echo \\$PPID\" > pid; exec sleep {mark}) </dev/null >/dev/null 2>&1 &'\n\
         until [ -s pid ]; do sleep 0.01; done\ntouch stands\nuntil [ -e go ]; do sleep 0.01; done\n\
         kill -0 $(cat pid) && echo alive"
    );
    let id = server.send_request(
        "tools/call",
        json!({"name": "execute_process", "arguments": {"file": "sh", "args": ["-c", script]}}),
    );
    wait_until("the daemon runs", || directory.path().join("stands").exists());
    for _ in 0..20 {
        server.call("execute_command", json!({"command": "true"}));
    }
    fs::write(directory.path().join("go"), "").unwrap();
    let answer = server.response(&json!(id));
    assert_eq!(text(&answer["result"]), "exit_code: 0\nstdout: |\n  alive\nstderr: ''\n");
    assert_gone(&mark, "after its own call's end");
}

#[test]
fn hundreds_of_calls_leave_no_descriptor_and_no_zombie() {
    if !cfg!(target_os = "linux") {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let mut server =
        Server::command(&["--allow", "true,sh,cat,sleep,missing", "--log", "off"]).dir(directory.path()).start();
    server.initialize("2025-11-25");
    let round = |server: &mut Server| {
        for arguments in [
            json!({"command": "true"}),
            json!({"command": "missing"}),
            json!({"command": "refused"}),
            json!({"command": "true", "cwd": "/missing"}),
            json!({"command": "cat", "input": "x".repeat(100_000), "cwd": "/"}),
            json!({"command": "true", "input": "x".repeat(300_000)}),
            json!({"command": "sh -c 'exit 3'"}),
            json!({"command": "sh -c 'sleep 300 & kill -9 $$'"}),
        ] {
            server.call("execute_command", arguments);
        }
        server.call("execute_command", json!({"command": "sleep 300", "timeout_ms": 1}));
        let gone = server
            .send_request("tools/call", json!({"name": "execute_command", "arguments": {"command": "sleep 300"}}));
        server.notify("notifications/cancelled", json!({"requestId": gone}));
    };
    // What is opened once and kept is there after the first call; what a call holds is closed when it is answered.
    server.call("execute_command", json!({"command": "cat", "input": "x".repeat(100_000)}));
    let before = descriptors(server.pid());
    bound_descriptors(server.pid(), 128);
    for _ in 0..25 {
        round(&mut server);
    }
    // The last cancelled call has no answer to wait for.
    let pid = server.pid();
    wait_until("the descriptors are those of before", || descriptors(pid) == before);
    wait_until("no command is left", || children(pid).is_empty());
    assert_no_zombies(server.pid());
    assert_eq!(server.drain(), Vec::<Value>::new());
}

/// The numbers of the open descriptors.
fn descriptors(pid: u32) -> BTreeSet<String> {
    // Only root looks into the server; for others the limit tells.
    if !rustix::process::geteuid().is_root() {
        return BTreeSet::new();
    }
    let entries = fs::read_dir(format!("/proc/{pid}/fd")).unwrap();
    entries.map_while(Result::ok).map(|entry| entry.file_name().into_string().unwrap()).collect()
}

#[test]
fn input_that_nobody_reads_holds_nobody_up() {
    let mut server = Server::start(&["--allow", "true,sh,cat,sleep,head", "--log", "off", "--max-output", "0"]);
    server.initialize("2025-11-25");
    let large = "0123456789abcde\n".repeat(65_536);
    let mut call = |arguments: Value| text(&server.call("execute_command", arguments)).to_owned();
    assert_eq!(call(json!({"command": "true", "input": large})), "exit_code: 0\nstdout: ''\nstderr: ''\n");
    assert_eq!(
        call(json!({"command": "head -n 1", "input": large})),
        "exit_code: 0\nstdout: |\n  0123456789abcde\nstderr: ''\n"
    );
    assert_eq!(
        call(json!({"command": "sh -c 'exec <&-; echo closed'", "input": large})),
        "exit_code: 0\nstdout: |\n  closed\nstderr: ''\n"
    );
    assert!(call(json!({"command": "sleep 300", "input": large, "timeout_ms": 200})).contains("timed_out: true"));
    // Both directions at once, each larger than any pipe.
    let echoed = call(json!({"command": "cat", "input": large}));
    assert_eq!(echoed.matches("0123456789abcde").count(), 65_536);
    assert_eq!(call(json!({"command": "cat"})), "exit_code: 0\nstdout: ''\nstderr: ''\n");
}

#[test]
fn the_input_may_be_any_stream_and_come_in_any_pieces() {
    let start = |stdin: Stdio| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_allowexec"));
        command.args(["--allow", "echo", "--log", "off"]).env_remove("ALLOWED_COMMANDS");
        let _spawning = crate::support::server::spawning();
        command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap()
    };
    let ping = |id: i64| json!({"jsonrpc": "2.0", "id": id, "method": "ping"}).to_string();
    let answer = |id: i64| json!({"jsonrpc": "2.0", "id": id, "result": {}});
    let read = |line: &str| serde_json::from_str::<Value>(line).unwrap();
    let to_the_end = |server: Child| {
        let output = server.wait_with_output().unwrap();
        assert!(output.status.success());
        String::from_utf8(output.stdout).unwrap().lines().map(read).collect::<Vec<Value>>()
    };

    // A file, without a line end behind its last line, and a stream without a line.
    let mut file = tempfile::tempfile().unwrap();
    write!(file, "{}\n\n{}", ping(1), ping(2)).unwrap();
    file.rewind().unwrap();
    assert_eq!(to_the_end(start(file.into())), [answer(1), answer(2)]);
    assert_eq!(to_the_end(start(Stdio::null())), Vec::<Value>::new());

    // A socket that its client has set to not block, as some programs have it, and lines in pieces.
    let (mut client, servers) = UnixStream::pair().unwrap();
    servers.set_nonblocking(true).unwrap();
    let mut server = start(OwnedFd::from(servers).into());
    let mut answers = BufReader::new(server.stdout.take().unwrap());
    let mut next = || {
        let mut line = String::new();
        answers.read_line(&mut line).unwrap();
        read(&line)
    };
    for id in 1..4 {
        let (line, pause) = (format!("{}\r\n", ping(id)), Duration::from_millis(20));
        for piece in [&line[..1], &line[1..9], &line[9..line.len() - 1], &line[line.len() - 1..]] {
            thread::park_timeout(pause);
            client.write_all(piece.as_bytes()).unwrap();
        }
        assert_eq!(next(), answer(id));
    }
    // Several at once, longer than what is read at once.
    let many: String = (10..3010).map(|id| format!("{}\n", ping(id))).collect();
    let writing = thread::spawn(move || client.write_all(many.as_bytes()).map(|()| client));
    (10..3010).for_each(|id| assert_eq!(next(), answer(id)));
    drop(writing.join().unwrap().unwrap());
    assert!(server.wait().unwrap().success());
}

#[test]
fn a_client_that_does_not_read_stops_the_server_from_reading() {
    for messages in [
        vec![call(1, "execute_command", &json!({"command": "nothing"}))],
        vec![json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})],
    ] {
        let mut child = Server::command(&["--log", "off"]).spawn();
        let mut stdin = child.stdin.take().unwrap();
        let _unread = child.stdout.take();
        writeln!(stdin, "{}", initialize()).unwrap();
        rustix::io::ioctl_fionbio(&stdin, true).unwrap();
        let flood: String = messages.iter().cycle().take(1000).map(|message| format!("{message}\n")).collect();
        let (mut taken, most) = (0, 64 * 1024 * 1024);
        while taken < most {
            match rustix::io::write(&stdin, &flood.as_bytes()[taken % flood.len()..]) {
                Ok(count) => taken += count,
                Err(rustix::io::Errno::AGAIN) if !is_writable_soon(&stdin) => break,
                Err(rustix::io::Errno::AGAIN) => {}
                Err(error) => panic!("{error}"),
            }
        }
        assert!(taken < most, "the server read {taken} bytes, and nobody read its answers");
        if let Some(resident) = resident_kib(child.id()) {
            assert!(resident < 32 * 1024, "{resident} KiB resident");
        }
        // Its output is full, and still it ends with its input.
        drop(stdin);
        assert_eq!(wait_with_deadline(&mut child, DEADLINE), Some(0));
    }
}

/// Whether the server takes more within a while; it is full where it does not.
fn is_writable_soon(stdin: &std::process::ChildStdin) -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let mut polled = [PollFd::new(stdin, PollFlags::OUT)];
    let wait = Timespec::try_from(Duration::from_millis(500)).unwrap();
    poll(&mut polled, Some(&wait)).unwrap() > 0
}

/// The memory of its own, without the pages of its binary and libraries.
fn resident_kib(pid: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix("RssAnon:"))?.split_whitespace().next()?.parse().ok()
}

#[test]
fn a_full_output_does_not_keep_commands_alive_when_the_input_ends() {
    let mark = mark();
    let _leftovers = Leftovers(mark.clone());
    let mut child = Server::command(&["--allow", "sh", "--log", "off"]).spawn();
    let mut stdin = child.stdin.take().unwrap();
    let _unread = child.stdout.take();
    writeln!(stdin, "{}", initialize()).unwrap();
    let script = format!("trap '' TERM; sleep {mark} & sleep {mark}");
    writeln!(stdin, "{}", call(1, "execute_process", &json!({"file": "sh", "args": ["-c", script]}))).unwrap();
    wait_until("the command runs", || marked(&mark).len() >= 3);
    rustix::io::ioctl_fionbio(&stdin, true).unwrap();
    let flood = format!("{}\n", json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"})).repeat(1000);
    loop {
        match rustix::io::write(&stdin, flood.as_bytes()) {
            Ok(_) => {}
            Err(rustix::io::Errno::AGAIN) if is_writable_soon(&stdin) => {}
            Err(rustix::io::Errno::AGAIN) => break,
            Err(error) => panic!("{error}"),
        }
    }
    drop(stdin);
    assert_eq!(wait_with_deadline(&mut child, DEADLINE), Some(0));
    assert_gone(&mark, "with a full output");
}

#[test]
fn a_log_that_nobody_reads_holds_nobody_up() {
    let mut child = Server::command(&["--allow", "true", "--log", "debug"]).spawn();
    let _unread = child.stderr.take();
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    writeln!(stdin, "{}", initialize()).unwrap();
    stdout.read_line(&mut line).unwrap();
    // Several times what a pipe holds, refused and run.
    for number in 0..500 {
        let command =
            if number % 10 == 0 { format!("true {}", "x".repeat(800)) } else { format!("{}x", "y".repeat(800)) };
        writeln!(stdin, "{}", call(number, "execute_command", &json!({"command": command}))).unwrap();
        line.clear();
        stdout.read_line(&mut line).unwrap();
        assert!(line.contains(&format!("\"id\":{number}")), "{line}");
    }
    drop(stdin);
    stdout.read_to_string(&mut line).unwrap();
    assert_eq!(wait_with_deadline(&mut child, DEADLINE), Some(0));
}

#[test]
fn output_without_end_is_read_and_dropped_within_bounds() {
    let mut server = Server::start(&["--allow", "sh", "--log", "off", "--max-output", "1000"]);
    server.initialize("2025-11-25");
    let script = "head -c 60000000 /dev/zero; head -c 60000000 /dev/zero >&2; exit 5";
    let result = server.call("execute_process", json!({"file": "sh", "args": ["-c", script]}));
    let said = text(&result);
    let expected = "exit_code: 5\noutput: 1\ntruncated: {stdout: 59999000, stderr: 59999000}\nstdout: ";
    assert!(said.starts_with(expected), "{}", &said[..80]);
    if let Some(resident) = resident_kib(server.pid()) {
        assert!(resident < 16 * 1024, "{resident} KiB resident");
    }
    // One that never ends is ended at its deadline, however fast it writes.
    let script = "while :; do echo y; done";
    let result = server.call("execute_process", json!({"file": "sh", "args": ["-c", script], "timeout_ms": 300}));
    assert!(text(&result).contains("timed_out: true"), "{result}");
}

fn initialize() -> Value {
    let params =
        json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "0"}});
    json!({"jsonrpc": "2.0", "id": "i", "method": "initialize", "params": params})
}

fn call(id: i64, tool: &str, arguments: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tool, "arguments": arguments}})
}

fn pid_of(server: &Server) -> Pid {
    Pid::from_raw(i32::try_from(server.pid()).unwrap()).unwrap()
}

/// The children of a process with their state, where there is a `/proc`.
fn children(parent: u32) -> Vec<(PathBuf, String)> {
    let entries = fs::read_dir("/proc").into_iter().flatten().map_while(Result::ok);
    let stat = |path: &Path| fs::read_to_string(path.join("stat")).ok();
    let fields = entries.filter_map(|entry| Some((entry.path(), stat(&entry.path())?.rsplit_once(") ")?.1.to_owned())));
    fields
        .filter(|(_, fields)| fields.split(' ').nth(1) == Some(&parent.to_string()))
        .map(|(path, fields)| (path, fields.chars().take(1).collect()))
        .collect()
}

fn zombies(parent: u32) -> Vec<PathBuf> {
    children(parent).into_iter().filter(|(_, state)| state == "Z").map(|(path, _)| path).collect()
}

fn assert_no_zombies(parent: u32) {
    assert_eq!(zombies(parent), Vec::<PathBuf>::new());
}
