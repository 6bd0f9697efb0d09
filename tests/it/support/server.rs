//! The real binary as a child process, with a clean environment, pipes, deadlines and the tap.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::schema::MODERN;
use super::tap::{Tap, TapWriter};

/// How long a test waits for anything.
pub const DEADLINE: Duration = Duration::from_secs(10);

/// `_meta` of a request of the modern era, by a client without capabilities.
pub fn modern_meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "0"},
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

/// What is to be started; see [`Server::command`].
pub struct ServerCommand {
    args: Vec<OsString>,
    env: Vec<(OsString, OsString)>,
    dir: Option<PathBuf>,
    /// Another copy of the binary and the number of the user who runs it.
    #[cfg(unix)]
    user: Option<(PathBuf, u32)>,
    /// What starts the binary, where that is another program.
    #[cfg(unix)]
    through: Vec<OsString>,
}

impl ServerCommand {
    /// Has these words, a program and its arguments, become the binary.
    #[cfg(unix)]
    pub fn through(mut self, words: &[&str]) -> Self {
        self.through = words.iter().map(OsString::from).collect();
        self
    }

    /// Has a user without any rights run this copy of the binary; for tests that root runs.
    #[cfg(unix)]
    pub fn run_by(mut self, binary: PathBuf, user: u32) -> Self {
        self.user = Some((binary, user));
        self
    }

    /// Sets a variable beside PATH and HOME (and SystemRoot on Windows), which are passed on.
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.env.push((name.as_ref().to_owned(), value.as_ref().to_owned()));
        self
    }

    /// The server's working directory; the test's own by default.
    pub fn dir(mut self, dir: impl AsRef<Path>) -> Self {
        self.dir = Some(dir.as_ref().to_owned());
        self
    }

    /// Starts `allowexec serve` with the arguments.
    pub fn start(self) -> Server {
        Server::over(self.spawn())
    }

    #[cfg(unix)]
    fn program(&self) -> Command {
        use std::os::unix::process::CommandExt;
        let of = |binary: &OsStr| match self.through.split_first() {
            None => Command::new(binary),
            Some((program, words)) => {
                let mut command = Command::new(program);
                command.args(words).arg(binary);
                command
            }
        };
        match &self.user {
            None => of(env!("CARGO_BIN_EXE_allowexec").as_ref()),
            Some((binary, user)) => {
                let mut command = of(binary.as_ref());
                // std drops root's other groups with this.
                command.uid(*user).gid(*user);
                command
            }
        }
    }

    #[cfg(not(unix))]
    fn program(&self) -> Command {
        Command::new(env!("CARGO_BIN_EXE_allowexec"))
    }

    /// The bare child, with three pipes.
    pub fn spawn(self) -> Child {
        let mut command = self.program();
        command.arg("serve").args(self.args).env_clear();
        for name in ["PATH", "HOME", "SystemRoot"] {
            command.envs(std::env::var_os(name).map(|value| (name, value)));
        }
        command.envs(self.env).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        if let Some(dir) = self.dir {
            command.current_dir(dir);
        }
        let _quiet = spawning();
        // A child that was forked elsewhere in this process may hold a binary that was copied just now.
        let until = Instant::now() + DEADLINE;
        loop {
            match command.spawn() {
                Err(error) if error.kind() == ErrorKind::ExecutableFileBusy && Instant::now() < until => {
                    thread::park_timeout(Duration::from_millis(5));
                }
                spawned => return spawned.expect("the binary starts"),
            }
        }
    }
}

/// Held while a child is spawned and while a script is written: a child that another thread forks in between would hold
/// the script open for writing, and running it would fail with ETXTBSY.
pub fn spawning() -> MutexGuard<'static, ()> {
    static SPAWNING: Mutex<()> = Mutex::new(());
    SPAWNING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Copies a program that is run at once. Another process writes it, so no child of another thread holds it open for writing.
#[cfg(unix)]
pub fn copy_program(from: impl AsRef<Path>, to: impl AsRef<Path>) {
    let status = Command::new("cp").arg("--").arg(from.as_ref()).arg(to.as_ref()).status().unwrap();
    assert!(status.success(), "{} could not be copied", from.as_ref().display());
}

/// A running server. Dropping it kills the child and fails the test where the server broke the protocol.
pub struct Server {
    child: Child,
    stdin: Option<TapWriter<ChildStdin>>,
    lines: Receiver<String>,
    /// What came while something else was waited for.
    passed: VecDeque<Value>,
    stderr: Arc<Mutex<Vec<u8>>>,
    stderr_ended: Receiver<()>,
    tap: Tap,
    next_id: i64,
}

impl Server {
    /// What to start: `allowexec serve` with these arguments.
    pub fn command(args: &[&str]) -> ServerCommand {
        ServerCommand {
            args: args.iter().map(OsString::from).collect(),
            env: Vec::new(),
            dir: None,
            #[cfg(unix)]
            user: None,
            #[cfg(unix)]
            through: Vec::new(),
        }
    }

    /// Starts it with nothing else set.
    pub fn start(args: &[&str]) -> Self {
        Self::command(args).start()
    }

    fn over(mut child: Child) -> Self {
        let tap = Tap::default();
        let stdin = tap.writer(child.stdin.take().unwrap());
        let stdout = tap.reader(child.stdout.take().unwrap());
        let (send, lines) = mpsc::channel();
        thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                // Nobody may be left to read, but the tap is to see all lines.
                send.send(line).ok();
            }
        });
        let (stderr, stderr_ended) = collect(child.stderr.take().unwrap());
        Self { child, stdin: Some(stdin), lines, passed: VecDeque::new(), stderr, stderr_ended, tap, next_id: 1 }
    }

    /// The process id of the server.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends one line, as it is.
    pub fn send_line(&mut self, line: &str) {
        self.send_bytes(format!("{line}\n").as_bytes());
    }

    /// Sends a message.
    pub fn send(&mut self, message: &Value) {
        self.send_line(&message.to_string());
    }

    /// Sends bytes, as they are, without a line end.
    pub fn send_bytes(&mut self, bytes: &[u8]) {
        let stdin = self.stdin.as_mut().expect("stdin is open");
        stdin.write_all(bytes).and_then(|()| stdin.flush()).expect("the server reads");
    }

    /// Sends a request with an id of its own and says the id.
    pub fn send_request(&mut self, method: &str, params: Value) -> i64 {
        let id = self.next_id;
        self.next_id += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    /// Sends a request and waits for its answer, the whole response.
    pub fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.send_request(method, params);
        self.response(&json!(id))
    }

    /// Sends a notification.
    pub fn notify(&mut self, method: &str, params: Value) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    /// Calls a tool and waits for its `result`.
    pub fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let mut answer = self.request("tools/call", json!({"name": tool, "arguments": arguments}));
        assert!(answer.get("error").is_none(), "{tool} was answered by {answer}");
        answer["result"].take()
    }

    /// The response to an id, if it has come.
    pub fn try_response(&mut self, id: i64) -> Option<Value> {
        while let Ok(line) = self.lines.try_recv() {
            self.passed.push_back(serde_json::from_str(&line).unwrap());
        }
        let index = self.passed.iter().position(|message| message.get("method").is_none() && message["id"] == id)?;
        self.passed.remove(index)
    }

    /// Waits for the response to an id.
    pub fn response(&mut self, id: &Value) -> Value {
        self.recv_until(|message| message.get("method").is_none() && message.get("id") == Some(id))
    }

    /// Goes through the handshake of the legacy era, without client capabilities, and says the result.
    pub fn initialize(&mut self, revision: &str) -> Value {
        self.initialize_with(revision, json!({}))
    }

    /// The same with these client capabilities.
    pub fn initialize_with(&mut self, revision: &str, capabilities: Value) -> Value {
        let client = json!({"name": "test", "version": "0"});
        let params = json!({"protocolVersion": revision, "capabilities": capabilities, "clientInfo": client});
        let mut answer = self.request("initialize", params);
        assert!(answer.get("result").is_some(), "initialize was answered by {answer}");
        self.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        answer["result"].take()
    }

    /// The next message, in the order in which they came.
    pub fn recv(&mut self) -> Value {
        match self.passed.pop_front() {
            Some(message) => message,
            None => self.next_message(Instant::now() + DEADLINE),
        }
    }

    /// The first message, of those that no one took yet, for which this holds; the others stay.
    pub fn recv_until(&mut self, wanted: impl Fn(&Value) -> bool) -> Value {
        if let Some(index) = self.passed.iter().position(&wanted) {
            return self.passed.remove(index).unwrap();
        }
        let deadline = Instant::now() + DEADLINE;
        loop {
            let message = self.next_message(deadline);
            if wanted(&message) {
                return message;
            }
            self.passed.push_back(message);
        }
    }

    /// Closes stdin, waits for the end of stdout and says what came until then and was not taken.
    pub fn drain(&mut self) -> Vec<Value> {
        self.close_stdin();
        let deadline = Instant::now() + DEADLINE;
        loop {
            match self.lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(line) => self.passed.push_back(serde_json::from_str(&line).unwrap()),
                Err(RecvTimeoutError::Disconnected) => break self.passed.drain(..).collect(),
                Err(RecvTimeoutError::Timeout) => panic!("stdout still open; stderr:\n{}", self.stderr()),
            }
        }
    }

    /// Closes stdin; nothing happens where it is closed already.
    pub fn close_stdin(&mut self) {
        self.stdin = None;
    }

    /// Waits for the end of the server; 128 and the signal's number where a signal ended it.
    pub fn wait_exit(&mut self) -> i32 {
        match wait_with_deadline(&mut self.child, DEADLINE) {
            Some(status) => status,
            None => panic!("the server still runs; stderr:\n{}", self.stderr()),
        }
    }

    /// What stands on stderr: all of it once the server has ended, what has come so far before.
    pub fn stderr(&mut self) -> String {
        if matches!(self.child.try_wait(), Ok(Some(_))) {
            // The end of the stream or a deadline; either way what has come is said.
            self.stderr_ended.recv_timeout(DEADLINE).ok();
        }
        String::from_utf8_lossy(&self.stderr.lock().unwrap_or_else(PoisonError::into_inner)).into_owned()
    }

    /// Whether it says this on stderr, or does so soon: what it has written may still be on its way.
    pub fn says(&mut self, text: &str) -> bool {
        let end = Instant::now() + DEADLINE;
        loop {
            let has_ended = matches!(self.child.try_wait(), Ok(Some(_)));
            if self.stderr().contains(text) {
                return true;
            }
            if has_ended || Instant::now() > end {
                return false;
            }
            thread::sleep(Duration::from_millis(5));
        }
    }

    fn next_message(&mut self, deadline: Instant) -> Value {
        match self.lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(line) => serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error} in {line}")),
            Err(error) => {
                let (passed, found, stderr) = (&self.passed.clone(), self.tap.violations(), self.stderr());
                panic!("no message: {error}; passed: {passed:?}; violations: {found:?}; stderr:\n{stderr}")
            }
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stdin = None;
        self.tap.expect_cut();
        // It may have ended already.
        self.child.kill().ok();
        self.child.wait().ok();
        if !thread::panicking() {
            let deadline = Instant::now() + DEADLINE;
            // A command that outlives the server can hold its stdout: no longer than the deadline.
            while self.lines.recv_timeout(deadline.saturating_duration_since(Instant::now())).is_ok() {}
            self.tap.assert_clean();
        }
    }
}

/// Has the process open no more than so many descriptors from now on.
#[cfg(target_os = "linux")]
pub fn bound_descriptors(pid: u32, most: u64) {
    use rustix::process::{Pid, Resource, Rlimit, prlimit};
    let pid = Pid::from_raw(i32::try_from(pid).unwrap());
    prlimit(pid, Resource::Nofile, Rlimit { current: Some(most), maximum: Some(most) }).unwrap();
}

/// The same, where nothing of another process can be bounded.
#[cfg(all(unix, not(target_os = "linux")))]
pub fn bound_descriptors(_pid: u32, _most: u64) {}

/// Reads a stream to its end in the background.
pub fn collect(mut stream: impl Read + Send + 'static) -> (Arc<Mutex<Vec<u8>>>, Receiver<()>) {
    let collected = Arc::new(Mutex::new(Vec::new()));
    let (ended, end) = mpsc::channel();
    let shared = Arc::clone(&collected);
    thread::spawn(move || {
        let mut buffer = [0; 4096];
        while let Ok(count @ 1..) = stream.read(&mut buffer) {
            shared.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(&buffer[..count]);
        }
        ended.send(()).ok();
    });
    (collected, end)
}

/// The exit status, or `None` where the child still runs at the deadline. std has no wait with a deadline, so it looks
/// every few milliseconds.
pub fn wait_with_deadline(child: &mut Child, deadline: Duration) -> Option<i32> {
    let end = Instant::now() + deadline;
    loop {
        match child.try_wait().unwrap() {
            Some(status) => return Some(exit_code(status)),
            None if Instant::now() >= end => return None,
            None => thread::park_timeout(Duration::from_millis(2)),
        }
    }
}

fn exit_code(status: ExitStatus) -> i32 {
    #[cfg(unix)]
    {
        use std::os::unix::process::ExitStatusExt;
        if let Some(signal) = status.signal() {
            return 128 + signal;
        }
    }
    status.code().unwrap_or(-1)
}
