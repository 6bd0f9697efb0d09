//! The end of the server, whoever brings it about and whatever is under way: it comes in time, and leaves nothing behind.

#![cfg(unix)]

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::support::server::{DEADLINE, spawning, wait_with_deadline};
use crate::support::{Server, modern_meta};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

/// Longer than the server may take on a busy machine, and shorter than what it must not wait for.
const IN_TIME: Duration = Duration::from_secs(5);

const SERVER: &str = env!("CARGO_BIN_EXE_allowexec");

/// Writes a script that can be run at once.
fn script(directory: &Path, name: &str, body: &str) -> PathBuf {
    let path = directory.join(name);
    let _quiet = spawning();
    fs::write(&path, format!("#!/bin/sh\n{body}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

/// Waits until the file holds a line, and says it.
fn line_of(path: &Path) -> String {
    let until = Instant::now() + DEADLINE;
    loop {
        let text = fs::read_to_string(path).unwrap_or_default();
        if let Some((line, _)) = text.split_once('\n') {
            return line.to_owned();
        }
        assert!(Instant::now() < until, "nothing came to stand in {}", path.display());
        thread::park_timeout(Duration::from_millis(5));
    }
}

/// Waits until the process is gone, or a zombie that nobody has reaped yet.
fn gone(pid: &str) {
    let until = Instant::now() + DEADLINE;
    let lives = || {
        let status = Command::new("ps").args(["-o", "stat=", "-p", pid]).output().unwrap();
        let status = String::from_utf8_lossy(&status.stdout).trim().to_owned();
        !status.is_empty() && !status.starts_with('Z')
    };
    while lives() {
        assert!(Instant::now() < until, "process {pid} lives on");
        thread::park_timeout(Duration::from_millis(5));
    }
}

fn kill(child: u32, signal: Signal) {
    kill_process(Pid::from_raw(i32::try_from(child).unwrap()).unwrap(), signal).unwrap();
}

fn modern_call(id: u32, tool: &str, arguments: Value) -> Value {
    let params = json!({"name": tool, "arguments": arguments, "_meta": modern_meta()});
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
}

/// How a test has the server end.
#[derive(Clone, Copy, Debug)]
enum By {
    EndOfInput,
    Signal,
}

#[test]
fn the_server_ends_in_time_while_its_shell_does_not_answer() {
    let directory = tempfile::tempdir().unwrap();
    let slow = script(directory.path(), "slow", "echo $$ > pid\nsleep 30\nexec /bin/sh");
    let deaf = script(directory.path(), "deaf", "echo $$ > pid\nexec cat");
    let [slow, deaf] = [&slow, &deaf].map(|shell| shell.to_str().unwrap());
    for shell in [slow, deaf] {
        for (by, calls) in [(By::EndOfInput, 0), (By::EndOfInput, 2), (By::Signal, 0), (By::Signal, 2)] {
            let args = ["--allow", "echo", "--tools", "shell", "--shell", shell, "--log", "off"];
            let mut server = Server::command(&args).dir(directory.path()).start();
            server.request("server/discover", json!({"_meta": modern_meta()}));
            let pid = line_of(&directory.path().join("pid"));
            for call in 0..calls {
                server.send(&modern_call(10 + call, "echo", json!({"arguments": "hi"})));
            }
            let started = Instant::now();
            match by {
                By::EndOfInput => server.close_stdin(),
                By::Signal => kill(server.pid(), Signal::TERM),
            }
            assert_eq!(server.wait_exit(), 0, "{shell}, {by:?}, {calls} calls");
            let took = started.elapsed();
            assert!(took < IN_TIME, "{shell}, {by:?}, {calls} calls: it took {took:?}");
            gone(&pid);
            fs::remove_file(directory.path().join("pid")).unwrap();
        }
    }
}

#[test]
fn a_call_waits_no_longer_than_its_timeout_for_a_shell_that_starts() {
    let directory = tempfile::tempdir().unwrap();
    let shell = script(directory.path(), "slow", "while [ ! -e go ]; do sleep 0.02; done\nexec /bin/sh");
    let args = ["--allow", "echo", "--tools", "shell", "--shell", shell.to_str().unwrap(), "--log", "off"];
    let mut server = Server::command(&args).dir(directory.path()).start();
    server.initialize("2025-11-25");
    let started = Instant::now();
    let result = server.call("echo", json!({"arguments": "one", "timeout_ms": 300}));
    assert!(started.elapsed() < IN_TIME, "it took {:?}", started.elapsed());
    assert_eq!(result["isError"], true, "{result}");
    let text = result["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("has not started within 300ms, so nothing was run"), "{text}");
    // One that is cancelled leaves its turn to the next, and the same shell goes on starting.
    let id = server.send_request("tools/call", json!({"name": "echo", "arguments": {"arguments": "two"}}));
    server.notify("notifications/cancelled", json!({"requestId": id}));
    fs::write(directory.path().join("go"), "").unwrap();
    let result = server.call("echo", json!({"arguments": "three"}));
    let text = result["content"][0]["text"].as_str().unwrap();
    assert!(text.starts_with("exit_code: 0\noutput: |\n  three\n"), "{text}");
    assert!(!text.contains("shell_restarted"), "{text}");
}

#[test]
fn an_answer_does_not_wait_for_the_shell_that_takes_the_place_of_a_lost_one() {
    let directory = tempfile::tempdir().unwrap();
    let body = "[ ! -e once ] || while [ ! -e go ]; do sleep 0.02; done\n: > once\nexec /bin/sh";
    let shell = script(directory.path(), "slow", body);
    let args = ["--allow", "echo,exit", "--tools", "shell", "--shell", shell.to_str().unwrap(), "--log", "off"];
    let mut server = Server::command(&args).dir(directory.path()).start();
    server.initialize("2025-11-25");
    let started = Instant::now();
    let result = server.call("exit", json!({"arguments": "3"}));
    assert!(started.elapsed() < IN_TIME, "it took {:?}", started.elapsed());
    let text = result["content"][0]["text"].as_str().unwrap();
    assert!(text.starts_with("exit_code: 3\n") && text.contains("shell_restarted"), "{text}");
    fs::write(directory.path().join("go"), "").unwrap();
    let text = server.call("echo", json!({"arguments": "hi"}))["content"][0]["text"].take();
    assert!(text.as_str().unwrap().starts_with("exit_code: 0\noutput: |\n  hi\n"), "{text}");
    assert!(!text.as_str().unwrap().contains("shell_restarted"), "{text}");
}

/// Puts what a parent does that ignores these signals, all but those of the terminal, before a program. A shell would not
/// leave SIGCHLD ignored.
fn ignoring(program: &str, args: &[&str]) -> Command {
    let mut command = Command::new("perl");
    command.args(["-e", "$SIG{$_} = 'IGNORE' for split ' ', shift; exec @ARGV", IGNORED, program]).args(args);
    command
}

/// What a parent may ignore.
const IGNORED: &str = "CHLD TERM INT HUP QUIT USR1 USR2 ALRM PIPE XCPU XFSZ";

/// Runs it to its end; says its exit status, and what it wrote on both streams.
fn output_of(mut command: Command, input: &str) -> (Option<i32>, String) {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = {
        let _quiet = spawning();
        command.spawn().unwrap()
    };
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    (output.status.code(), text)
}

#[test]
fn commands_run_where_the_parent_ignores_signals() {
    let (status, text) = output_of(
        ignoring(SERVER, &["call", "execute_command", r#"{"command":"echo hi"}"#, "--allow", "echo", "--log", "off"]),
        "",
    );
    assert_eq!((status, text.as_str()), (Some(0), "exit_code: 0\nstdout: |\n  hi\nstderr: ''\n"));
    let shell_call = modern_call(1, "echo", json!({"arguments": "hi"}));
    let call = modern_call(2, "execute_command", json!({"command": "echo hi"}));
    let (status, text) = output_of(
        ignoring(SERVER, &["serve", "--allow", "echo", "--tools", "all", "--log", "off"]),
        &format!("{shell_call}\n{call}\n"),
    );
    let counts =
        [r"exit_code: 0\noutput: |\n  hi\n", r"exit_code: 0\nstdout: |\n  hi\n"].map(|part| text.matches(part).count());
    assert_eq!((status, counts), (Some(0), [1, 1]), "{text}");
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("session");
    let answer = json!({"jsonrpc": "2.0", "id": 2, "result": {
        "content": [{"type": "text", "text": "exit_code: 0\nstdout: |\n  hi\nstderr: ''\n"}],
        "isError": false, "resultType": "complete"}});
    let lines = format!(
        "transcript: 1\nargs: --allow echo\nmatch: /result/_meta ignore\n\n--> {call}\n<-- {answer}\n==> eof\n<== exit 0\n"
    );
    fs::write(&file, lines).unwrap();
    let (status, text) = output_of(ignoring(SERVER, &["replay", file.to_str().unwrap()]), "");
    assert_eq!(status, Some(0), "{text}");
}

/// The mask of the ignored signals is the kernel's word on Linux, and for others to find.
#[cfg(target_os = "linux")]
#[test]
fn no_command_ignores_what_the_parent_of_the_server_does() {
    let mask = |text: &str| {
        let (_, mask) = text.split_once("SigIgn:").unwrap_or_else(|| panic!("{text}"));
        let digits: String = mask.trim_start_matches("\\t").trim_start().chars().take(16).collect();
        u64::from_str_radix(&digits, 16).unwrap_or_else(|error| panic!("{error}: {text}"))
    };
    let (_, text) = output_of(ignoring("grep", &["SigIgn", "/proc/self/status"]), "");
    let all = 1 << 16 | 1 << 14 | 1 << 1 | 1 | 1 << 2 | 1 << 9 | 1 << 11 | 1 << 13 | 1 << 12 | 1 << 23 | 1 << 24;
    assert_eq!(mask(&text) & all, all, "the parent ignores them: {text}");
    let args = ["serve", "--allow", "grep", "--tools", "all", "--log", "off"];
    let calls = [
        modern_call(1, "grep", json!({"arguments": "SigIgn /proc/self/status"})),
        modern_call(2, "execute_command", json!({"command": "grep SigIgn /proc/self/status"})),
    ];
    for call in calls {
        let (status, text) = output_of(ignoring(SERVER, &args), &format!("{call}\n"));
        assert_eq!((status, mask(&text) & all), (Some(0), 0), "{text}");
    }
}

/// A server whose output a test holds the other end of.
struct Held {
    child: Child,
    directory: tempfile::TempDir,
}

impl Held {
    fn start(stdout: impl Into<Stdio>) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let mut command = Command::new(SERVER);
        command.args(["serve", "--allow", "sh,echo", "--log", "off"]).current_dir(directory.path());
        command.stdin(Stdio::piped()).stdout(stdout).stderr(Stdio::null());
        let _quiet = spawning();
        Self { child: command.spawn().unwrap(), directory }
    }

    fn send(&mut self, message: &Value) {
        self.child.stdin.as_mut().unwrap().write_all(format!("{message}\n").as_bytes()).unwrap();
    }

    /// Sends a call that does not end by itself, and says its process once it runs.
    fn run(&mut self) -> String {
        let command = "sh -c 'echo $$ > pid; exec sleep 300'";
        self.send(&modern_call(1, "execute_command", json!({"command": command, "timeout_ms": 300_000})));
        line_of(&self.directory.path().join("pid"))
    }

    /// Waits for the end that must come with the input still open.
    fn ends(&mut self) {
        assert_eq!(wait_with_deadline(&mut self.child, DEADLINE), Some(0), "the server has ended");
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

fn ping(id: u32) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "ping"})
}

fn pong(id: u32) -> String {
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{}}}}\n")
}

#[test]
fn a_client_that_closes_the_output_ends_the_server() {
    for runs in [false, true] {
        let mut server = Held::start(Stdio::piped());
        let pid = runs.then(|| server.run());
        server.send(&ping(7));
        let mut stdout = BufReader::new(server.child.stdout.take().unwrap());
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        assert_eq!(line, pong(7));
        drop(stdout);
        server.ends();
        pid.as_deref().inspect(|pid| gone(pid));
    }
}

#[test]
fn a_client_that_closes_the_socket_of_the_output_ends_the_server() {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let mut server = Held::start(OwnedFd::from(theirs));
    let pid = server.run();
    // What is shut in the other direction is none of the output.
    ours.shutdown(Shutdown::Write).unwrap();
    server.send(&ping(7));
    let mut line = String::new();
    let mut reader = BufReader::new(ours);
    reader.read_line(&mut line).unwrap();
    assert_eq!(line, pong(7));
    drop(reader);
    server.ends();
    gone(&pid);
}

#[test]
fn one_socket_for_both_directions_may_be_shut_in_one() {
    let (mut ours, theirs) = UnixStream::pair().unwrap();
    let mut command = Command::new(SERVER);
    command.args(["serve", "--log", "off"]).stderr(Stdio::null());
    command.stdin(OwnedFd::from(theirs.try_clone().unwrap())).stdout(OwnedFd::from(theirs));
    let mut child = {
        let _quiet = spawning();
        command.spawn().unwrap()
    };
    drop(command);
    ours.write_all(format!("{}\n{}\n", ping(1), ping(2)).as_bytes()).unwrap();
    ours.shutdown(Shutdown::Write).unwrap();
    let mut text = String::new();
    ours.read_to_string(&mut text).unwrap();
    assert_eq!((text, wait_with_deadline(&mut child, DEADLINE)), (pong(1) + &pong(2), Some(0)));
}

#[test]
fn an_output_that_nobody_can_close_ends_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("answers");
    let mut server = Held::start(File::create(&path).unwrap());
    for id in 1..=3 {
        server.send(&ping(id));
        let until = Instant::now() + DEADLINE;
        while !fs::read_to_string(&path).unwrap().ends_with(&pong(id)) {
            assert!(Instant::now() < until, "no answer");
            thread::park_timeout(Duration::from_millis(5));
        }
    }
    drop(server.child.stdin.take());
    server.ends();
    assert_eq!(fs::read_to_string(&path).unwrap(), pong(1) + &pong(2) + &pong(3));
}

/// Traces processes for longer than any test waits, and takes no notice of what becomes of them.
#[cfg(target_os = "linux")]
const TRACE: &str = "
import ctypes, sys, time
libc = ctypes.CDLL(None)
seized = [libc.ptrace(ctypes.c_long(0x4206), int(pid), None, None) for pid in sys.argv[1:]]
print('held' if not any(seized) else 'refused', flush=True)
time.sleep(40)
";

/// The kernel keeps the exits of such processes back, and they are not the server's to end.
#[test]
#[cfg(target_os = "linux")]
fn what_is_traced_from_outside_holds_up_neither_its_call_nor_the_end() {
    let mut server = Server::start(&["--allow", "cat,sleep,true", "--tools", "all", "--grace", "2s", "--log", "off"]);
    server.initialize("2025-06-18");
    let call = |command: &str, background: bool| json!({"name": "execute_command", "arguments": {"command": command, "background": background}});
    let directory = tempfile::tempdir().unwrap();
    let fifo = directory.path().join("fifo");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let short = server.send_request("tools/call", call(&format!("cat {}", fifo.display()), false));
    for _ in 0..6 {
        let id = server.send_request("tools/call", call("sleep 60", true));
        server.response(&json!(id));
    }
    server.send_request("tools/call", json!({"name": "sleep", "arguments": {"arguments": "60"}}));
    let children = || {
        let tasks = fs::read_dir(format!("/proc/{}/task", server.pid())).unwrap().map_while(Result::ok);
        let lists = tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
        lists.flat_map(|list| list.split_whitespace().map(str::to_owned).collect::<Vec<_>>()).collect::<Vec<String>>()
    };
    // The commands and the shell.
    let until = Instant::now() + DEADLINE;
    while children().len() < 8 {
        assert!(Instant::now() < until, "{:?}", children());
        thread::park_timeout(Duration::from_millis(5));
    }
    let Some(mut tracer) = holder(TRACE, children()) else { return };
    // It ends by itself.
    drop(fs::OpenOptions::new().write(true).open(&fifo).unwrap());
    let answer = server.response(&json!(short));
    assert!(answer.to_string().contains("its exit status was lost"), "{answer}");
    assert_eq!(server.call("execute_command", json!({"command": "true"}))["isError"], false);
    let started = Instant::now();
    server.close_stdin();
    let status = server.wait_exit();
    let took = started.elapsed();
    assert!(tracer.try_wait().unwrap().is_none(), "the tracer is not the server's");
    kill(tracer.id(), Signal::KILL);
    tracer.wait().unwrap();
    assert!(status == 0 && took < IN_TIME, "{status} after {took:?}");
}

/// Starts a Python program that holds what it is given, once it does; `None` where it can't.
#[cfg(target_os = "linux")]
fn holder(script: &str, held: impl IntoIterator<Item = impl AsRef<std::ffi::OsStr>>) -> Option<Child> {
    let mut holder = {
        let _quiet = spawning();
        let mut holder = Command::new("python3");
        holder.args(["-c", script]).args(held).stdout(Stdio::piped()).stderr(Stdio::null());
        match holder.spawn() {
            Ok(holder) => holder,
            Err(_) => {
                eprintln!("not shown, since there is no python3");
                return None;
            }
        }
    };
    let mut said = String::new();
    BufReader::new(holder.stdout.take().unwrap()).read_line(&mut said).unwrap();
    if said != "held\n" {
        holder.kill().unwrap();
        holder.wait().unwrap();
        eprintln!("not shown, since the system refuses what it would be shown with");
        return None;
    }
    Some(holder)
}

/// Takes a lease on a file, says so, and keeps it for longer than any test waits. Whoever executes the file waits meanwhile.
#[cfg(target_os = "linux")]
const LEASE: &str = "
import fcntl, os, signal, sys, time
signal.signal(signal.SIGIO, signal.SIG_IGN)
fcntl.fcntl(os.open(sys.argv[1], os.O_RDONLY), 1024, 1)
print('held', flush=True)
time.sleep(40)
";

/// A program that its owner has leased, as one on a file system that does not answer.
#[test]
#[cfg(target_os = "linux")]
fn a_start_that_waits_in_the_kernel_holds_up_no_other_call_and_no_end() {
    let directory = tempfile::tempdir().unwrap();
    let leased = script(directory.path(), "leased", "exit 0");
    holds_up_nobody(&leased, &leased);
    // What the server's loop would start itself.
    let native = directory.path().join("native");
    crate::support::server::copy_program("/usr/bin/true", &native);
    holds_up_nobody(&native, &native);
}

/// The same with the loader of a program. Its name takes the place of another one, so it is short.
#[test]
#[cfg(target_os = "linux")]
fn a_loader_that_waits_in_the_kernel_holds_up_no_other_call_and_no_end() {
    // Some may be mounted so that nothing in them can be executed.
    let runs_in = |place: &Path| {
        let directory = tempfile::Builder::new().prefix("").tempdir_in(place).ok()?;
        let tried = directory.path().join("true");
        crate::support::server::copy_program("/usr/bin/true", &tried);
        let _quiet = spawning();
        Command::new(tried).status().is_ok_and(|status| status.success()).then_some(directory)
    };
    let places = [std::env::temp_dir(), "/tmp".into(), "/var/tmp".into(), "/dev/shm".into()];
    let fits = |place: &&PathBuf| place.as_os_str().len() <= "/var/tmp".len();
    let Some(directory) = places.iter().filter(fits).find_map(|place| runs_in(place)) else {
        return eprintln!("not shown, since nothing can be executed in {places:?}");
    };
    let (native, loader) = (directory.path().join("native"), directory.path().join("ld"));
    let mut program = fs::read("/usr/bin/true").unwrap();
    let names = (0..program.len()).filter(|&at| program[at..].starts_with(b"/lib"));
    let name_at = |at: usize| program[at..].split(|&byte| byte == 0).next().unwrap().to_vec();
    let found = names.map(|at| (at, name_at(at))).find(|(_, name)| name.windows(4).any(|part| part == b"/ld-"));
    let Some((at, name)) = found.filter(|(_, name)| name.len() >= loader.as_os_str().len()) else {
        return eprintln!("not shown, since `true` has no loader with a name as long as {}", loader.display());
    };
    crate::support::server::copy_program(std::str::from_utf8(&name).unwrap(), &loader);
    let new = loader.to_str().unwrap().as_bytes();
    program[at..at + name.len()].fill(0);
    program[at..at + new.len()].copy_from_slice(new);
    {
        let _quiet = spawning();
        fs::write(&native, program).unwrap();
    }
    fs::set_permissions(&native, fs::Permissions::from_mode(0o755)).unwrap();
    holds_up_nobody(&native, &loader);
}

#[cfg(target_os = "linux")]
fn holds_up_nobody(program: &Path, leased: &Path) {
    let allow = format!("{},true", program.display());
    let mut server = Server::start(&["--allow", &allow, "--log", "off"]);
    server.initialize("2025-06-18");
    // The server knows it before anybody has a lease on it.
    let result = server.call("execute_command", json!({"command": program.display().to_string()}));
    assert_eq!(result["isError"], false, "{result}");
    let Some(mut lease) = holder(LEASE, [leased]) else { return };
    for _ in 0..3 {
        let arguments = json!({"command": program.display().to_string(), "timeout_ms": 500});
        server.send_request("tools/call", json!({"name": "execute_command", "arguments": arguments}));
    }
    for _ in 0..5 {
        let started = Instant::now();
        let answer = server.call("execute_command", json!({"command": "true"}));
        assert!(answer["isError"] == false && started.elapsed() < IN_TIME, "{answer} after {:?}", started.elapsed());
    }
    let started = Instant::now();
    server.close_stdin();
    let status = server.wait_exit();
    let took = started.elapsed();
    kill(lease.id(), Signal::KILL);
    lease.wait().unwrap();
    assert!(status == 0 && took < IN_TIME, "{status} after {took:?}");
}
