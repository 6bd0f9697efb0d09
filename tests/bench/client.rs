//! A client as thin as one can be, so that what is measured is the server.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use super::Subject;

/// The handshake of a legacy client.
pub const INITIALIZE: &str = concat!(
    r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"#,
    r#""clientInfo":{"name":"bench","version":"1"}}}"#,
    "\n"
);

/// The first request of a modern client.
pub const DISCOVER: &str = concat!(
    r#"{"jsonrpc":"2.0","id":0,"method":"server/discover","params":{"_meta":{"#,
    r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#,
    "\n"
);

/// A request line; `params` is JSON.
pub fn request(id: usize, method: &str, params: &str) -> String {
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"{method}\",\"params\":{params}}}\n")
}

/// A server, after the handshake.
pub struct Client {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    answer: String,
}

/// Starts a server, waits for the answer to this one line, and has it end: a plain spawn waits for its child too.
pub fn start_to_end(subject: &Subject, arguments: &[&str], line: &str) {
    drop(start_to_answer(subject, arguments, line));
}

/// Starts a server and waits for the answer to this one line.
pub fn start_to_answer(subject: &Subject, arguments: &[&str], line: &str) -> Client {
    let mut client = Client::spawn(&mut command(subject, arguments));
    client.round_trip(line);
    client
}

/// The server itself, behind `allowexec record`.
#[cfg(unix)]
fn recorded(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_allowexec"));
    command
        .args(["record", "--dir"])
        .arg(recordings())
        .arg("--")
        .arg(env!("CARGO_BIN_EXE_allowexec"))
        .args(arguments)
        .args(["--log", "off"]);
    command
}

/// The directory of their files: each has its own, since to replace one costs more than to make one.
#[cfg(unix)]
pub fn recordings() -> std::path::PathBuf {
    std::env::temp_dir().join(format!("allowexec-bench-{}", std::process::id()))
}

/// The server itself, or this very program where it is to hold a ballast.
fn command(subject: &Subject, arguments: &[&str]) -> Command {
    let mut command = match subject.ballast {
        None => Command::new(env!("CARGO_BIN_EXE_allowexec")),
        Some(megabytes) => {
            let mut command = Command::new(std::env::current_exe().expect("this very program"));
            command.args([super::SERVE, &megabytes.to_string()]);
            command
        }
    };
    command.args(arguments).args(subject.flags).args(["--log", "off"]);
    command
}

impl Client {
    pub fn start(subject: &Subject, arguments: &[&str]) -> Self {
        let mut client = Self::spawn(&mut command(subject, arguments));
        client.round_trip(INITIALIZE);
        client
    }

    /// A server behind `allowexec record`.
    #[cfg(unix)]
    pub fn start_recorded(arguments: &[&str]) -> Self {
        let mut client = Self::spawn(&mut recorded(arguments));
        client.round_trip(INITIALIZE);
        client
    }

    /// A server between two programs that only pass lines on, which is what any program in between costs at least.
    #[cfg(unix)]
    pub fn start_passed_on(arguments: &[&str]) -> Self {
        let words = [&[env!("CARGO_BIN_EXE_allowexec")], arguments, &["--log", "off"]].concat();
        let mut client = Self::spawn(Command::new("sh").args(["-c", "cat | \"$@\" | cat", "sh"]).args(words));
        client.round_trip(INITIALIZE);
        client
    }

    /// The most memory that the process had, in megabytes, as the kernel counts it.
    #[cfg(unix)]
    pub fn peak(&self) -> f64 {
        self.memory("VmHWM:")
    }

    fn spawn(command: &mut Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the server starts");
        let stdin = child.stdin.take();
        let stdout = BufReader::with_capacity(64 * 1024, child.stdout.take().expect("a pipe"));
        Self { child, stdin, stdout, answer: String::new() }
    }

    /// Sends a line and reads one; gives its length.
    pub fn round_trip(&mut self, line: &str) -> usize {
        self.send(line);
        self.receive()
    }

    /// One call of `execute_command`, which must succeed.
    pub fn execute(&mut self, command: &str) -> usize {
        let params = format!("{{\"name\":\"execute_command\",\"arguments\":{{\"command\":\"{command}\"}}}}");
        let length = self.round_trip(&request(1, "tools/call", &params));
        assert!(self.answer.contains("exit_code: 0"), "{}", self.answer.chars().take(300).collect::<String>());
        length
    }

    /// So many calls of `true`, so many of them at once.
    pub fn in_flight(&mut self, at_once: usize, calls: usize) {
        let line = request(1, "tools/call", r#"{"name":"execute_command","arguments":{"command":"true"}}"#);
        for _ in 0..at_once.min(calls) {
            self.send(&line);
        }
        for answered in 0..calls {
            self.receive();
            if answered + at_once < calls {
                self.send(&line);
            }
        }
    }

    /// Resident memory in megabytes, as the kernel counts it.
    pub fn resident(&self) -> f64 {
        self.memory("VmRSS:")
    }

    fn memory(&self, name: &str) -> f64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).expect("proc(5) is there");
        let line = status.lines().find_map(|line| line.strip_prefix(name)).expect("a resident size");
        line.trim().trim_end_matches(" kB").parse::<f64>().expect("a number") / 1024.0
    }

    fn send(&mut self, line: &str) {
        self.stdin.as_mut().expect("open until the drop").write_all(line.as_bytes()).expect("the server reads");
    }

    fn receive(&mut self) -> usize {
        self.answer.clear();
        let length = self.stdout.read_line(&mut self.answer).expect("the server answers");
        assert!(self.answer.contains("\"result\""), "{}", self.answer);
        length
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        drop(self.stdin.take());
        self.child.wait().expect("the server ends with its input");
    }
}
