//! `cargo bench`: what a call costs, compared with the same work without the server, measured alternately in one run.
//!
//! Medians and ratios; a figure means something only together with its baseline. `cargo bench -- --quick` takes a tenth of the
//! rounds, `--plain` leaves out the confined servers and the large ones, `--waits` measures only what people wait for, `--growth`
//! only what must not grow, `--svg FILE` also draws the table, `--json` prints it for programs.
//!
//! - [`client`]: a client of the server, as thin as possible.
//! - [`cores`]: where the two ends of a round trip run.
//! - [`growth`]: a call while the server or the machine holds a lot.
//! - [`limits`]: the same work without the server.
//! - [`measure`]: measures two things alternately, and their medians.
//! - [`report`]: the table and the plot.
//! - [`waits`]: what people wait for.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a benchmark fails by panicking, and prints"
)]

mod baseline;
mod client;
mod cores;
#[cfg(unix)]
mod growth;
mod measure;
mod report;
mod waits;

use std::process::ExitCode;
use std::time::Duration;

use allowexec::policy::rules::profile_names;
use client::Client;
use measure::{in_turns, median};
use report::{Bound, Report};

/// What the benchmark calls itself with, to be a server that holds a ballast of so many megabytes.
const SERVE: &str = "--serve-with-ballast";

/// What the benchmark calls itself with once its environment is plain.
const PLAIN: &str = "--in-plain-environment";

fn main() -> ExitCode {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.first().is_none_or(|argument| argument != SERVE && argument != PLAIN) {
        return in_plain_environment(&arguments);
    }
    if arguments.first().is_some_and(|argument| argument == PLAIN) {
        arguments.remove(0);
    }
    if arguments.first().is_some_and(|argument| argument == SERVE) {
        return serve_with_ballast(arguments[1].parse().expect("megabytes"), &arguments[2..]);
    }
    let value =
        |flag: &str| arguments.iter().position(|argument| argument == flag).and_then(|at| arguments.get(at + 1));
    let has = |flag: &str| arguments.iter().any(|argument| argument == flag);
    let mut report = Report::default();
    if has("--growth") {
        #[cfg(unix)]
        growth::rows(&mut report, has("--quick"));
    } else {
        waits::rows(&mut report, has("--quick"));
    }
    if !has("--growth") && !has("--waits") {
        let subjects = SUBJECTS.iter().filter(|subject| subject.name.is_empty() || !has("--plain"));
        for subject in subjects {
            Run { subject, report: &mut report, is_quick: has("--quick") }.all();
        }
    }
    if has("--json") {
        println!("{:#}", report.to_json());
    } else {
        println!("{}", report.to_text());
    }
    if let Some(file) = value("--svg") {
        std::fs::write(file, report.to_svg()).expect("the plot can be written");
    }
    ExitCode::SUCCESS
}

/// Runs the benchmark anew in the very environment that the server builds for commands. Cargo sets `LD_LIBRARY_PATH`, with
/// which the loader of a plain spawn would search four more directories, while the commands of the server never see it.
fn in_plain_environment(arguments: &[String]) -> ExitCode {
    let (this, call) = (std::env::current_exe().expect("this very program"), r#"{"command":"env"}"#);
    let mut server = std::process::Command::new(env!("CARGO_BIN_EXE_allowexec"));
    server.args(["call", "execute_command", call, "--allow", "env", "--json", "--structured", "--log", "off"]);
    let output = server.output().expect("the server runs `env`");
    let result: serde_json::Value = serde_json::from_slice(&output.stdout).expect("a result");
    let environment = result["structuredContent"]["stdout"].as_str().expect("what `env` has printed");
    let variables = environment.lines().map(|line| line.split_once('=').expect("a variable a line"));
    let mut benchmark = std::process::Command::new(this);
    let status = benchmark.env_clear().envs(variables).arg(PLAIN).args(arguments).status().expect("it runs");
    if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// A server that holds so much memory of its own, all of it touched: were it forked for a call, the fork would copy the
/// tables of all these pages.
fn serve_with_ballast(megabytes: usize, arguments: &[String]) -> ExitCode {
    let ballast = vec![1_u8; megabytes << 20];
    let status = allowexec::cli::run(arguments.iter().map(Into::into));
    drop(std::hint::black_box(ballast));
    status
}

/// A server that is measured.
pub struct Subject {
    /// What is special about it; empty for the server as it is started without a thought.
    name: &'static str,
    /// How many megabytes it holds in addition to the server's memory.
    ballast: Option<usize>,
    flags: &'static [&'static str],
}

/// As it is, confined, and large: each row of the table is measured with each of them.
const SUBJECTS: &[Subject] = &[
    Subject { name: "", ballast: None, flags: &[] },
    #[cfg(target_os = "linux")]
    Subject {
        name: "sandbox workspace",
        ballast: None,
        flags: &["--sandbox", "workspace", "--project-dir", ".", "--read", "/tmp"],
    },
    #[cfg(target_os = "linux")]
    Subject {
        name: "sandbox strict",
        ballast: None,
        flags: &["--sandbox", "strict", "--project-dir", ".", "--read", "/tmp"],
    },
    Subject { name: "5 MB of its own", ballast: Some(5), flags: &[] },
    Subject { name: "50 MB of its own", ballast: Some(50), flags: &[] },
];

/// What a server is started with that runs nothing special.
const ALLOWED: [&str; 2] = ["--allow", "true"];

/// What one server is measured with.
struct Run<'a> {
    subject: &'a Subject,
    report: &'a mut Report,
    is_quick: bool,
}

impl Run<'_> {
    /// So many rounds for the server as it is; the others are there to be compared with it.
    fn rounds(&self, full: usize) -> usize {
        let full = if self.subject.name.is_empty() { full } else { full / 3 };
        if self.is_quick { full / 10 } else { full }
    }

    fn client(&self, arguments: &[&str]) -> Client {
        Client::start(self.subject, arguments)
    }

    /// The bounds are those of the server as it is, and of a confined call.
    fn plain(&self, bound: Bound) -> Option<Bound> {
        self.subject.name.is_empty().then_some(bound)
    }

    fn name(&self, name: &str) -> String {
        let Subject { name: which, .. } = self.subject;
        if which.is_empty() { name.to_owned() } else { format!("{name}, {which}") }
    }

    fn all(&mut self) {
        self.calls();
        self.start();
        self.protocol();
        self.shell();
        self.output();
        self.memory();
        if self.subject.name.is_empty() && cfg!(unix) {
            self.recording();
        }
    }

    fn ratio<A, B>(
        &mut self,
        name: &str,
        baseline: &str,
        rounds: usize,
        work: (impl FnMut() -> A, impl FnMut() -> B),
        bound: Option<Bound>,
    ) {
        let pair = in_turns(rounds, work.0, work.1);
        self.report.ratio(&self.name(name), baseline, pair, bound);
    }

    /// One call at a time, and sixteen in flight.
    fn calls(&mut self) {
        let mut client = self.client(&["--allow", "true,echo"]);
        let [program, echo] = ["true", "echo"].map(baseline::program);
        let bound = match self.subject.name {
            "" => Some(Bound::AtMost(1.08)),
            "sandbox strict" => Some(Bound::AtMost(1.12)),
            _ => None,
        };
        let baseline = "Command::output() of it";
        let work = (|| client.execute("true"), || baseline::spawn(&program, &[]));
        self.ratio("a call of `true`", baseline, self.rounds(1500), work, bound);
        let work = (|| client.execute("echo hello"), || baseline::spawn(&echo, &["hello"]));
        self.ratio("a call of `echo`", baseline, self.rounds(600), work, None);
        let calls = self.rounds(1600).max(64);
        let pair = in_turns(5, || client.in_flight(16, calls), || baseline::two_threads(&program, calls));
        let (name, bound) = (self.name("sixteen calls in flight"), self.plain(Bound::AtLeast(0.95)));
        self.report.throughput(&name, "two threads of plain spawns", pair, bound);
    }

    /// From the spawn to the first answer, and to the end that follows at once. To fill a ballast is no part of any start.
    fn start(&mut self) {
        if self.subject.ballast.is_some() {
            return;
        }
        let program = baseline::program("true");
        let subject = self.subject;
        let (baseline, rounds) = ("a spawn of `true`", self.rounds(300));
        let bound = match subject.name {
            "" => Some(Bound::AtMost(1.7)),
            "sandbox strict" => Some(Bound::AtMost(2.5)),
            _ => None,
        };
        let work =
            (|| client::start_to_answer(subject, &ALLOWED, client::INITIALIZE), || baseline::spawn(&program, &[]));
        self.ratio("start to `initialize` answered", baseline, rounds, work, bound);
        let work = (|| client::start_to_answer(subject, &ALLOWED, client::DISCOVER), || baseline::spawn(&program, &[]));
        self.ratio("start to `server/discover` answered", baseline, rounds, work, None);
        let work = (|| client::start_to_end(subject, &ALLOWED, client::INITIALIZE), || baseline::spawn(&program, &[]));
        self.ratio("start, `initialize`, end", baseline, rounds, work, None);
        // The others describe the same commands once more, and take the place of these.
        let is_reading = |name: &&str| !["git-commit", "coreutils-write"].contains(name) && !name.ends_with("-develop");
        let profiles: Vec<&str> = profile_names().filter(is_reading).collect();
        let profiles = ["--profile", &profiles.join(",")];
        let bound = self.plain(Bound::AtMost(3.0));
        let work =
            (|| client::start_to_answer(subject, &profiles, client::INITIALIZE), || baseline::spawn(&program, &[]));
        self.ratio("start with all profiles to `initialize` answered", baseline, rounds, work, bound);
        let work = (|| client::start_to_end(subject, &profiles, client::INITIALIZE), || baseline::spawn(&program, &[]));
        self.ratio("start with all profiles, `initialize`, end", baseline, rounds, work, None);
    }

    /// Requests that run nothing.
    fn protocol(&mut self) {
        let subject = self.subject;
        let start = || (Client::start(subject, &["--allow", "true"]), baseline::Lines::start("cat"));
        cores::on_each(start, |cores, (mut client, mut cat)| {
            let bound = |most| self.plain(Bound::AtMost(most));
            for (method, bound) in [("ping", bound(2.5)), ("tools/list", bound(1.5))] {
                let line = client::request(1, method, "{}");
                let name = format!("`{method}`{}", cores.name());
                let work = (|| client.round_trip(&line), || cat.round_trip(&line));
                self.ratio(&name, "a line through `cat`", self.rounds(3000), work, bound);
            }
        });
    }

    /// A command that is built into the persistent shell, and one that it starts.
    fn shell(&mut self) {
        let subject = self.subject;
        let flags = ["--tools", "shell", "--allow", "echo,env"];
        let start = || (Client::start(subject, &flags), baseline::Lines::start("sh"));
        let baseline = "the line to a bare `sh`";
        cores::on_each(start, |cores, (mut client, mut sh)| {
            let line = client::request(1, "tools/call", r#"{"name":"echo","arguments":{"arguments":"hello"}}"#);
            let name = format!("`echo hello` on the persistent shell{}", cores.name());
            let work = (|| client.round_trip(&line), || sh.round_trip("echo hello\n"));
            let bound = self.plain(Bound::AtMost(cores.of(2.2, 1.25)));
            self.ratio(&name, baseline, self.rounds(3000), work, bound);
        });
        let (mut client, mut sh) = start();
        let line = client::request(1, "tools/call", r#"{"name":"env","arguments":{"arguments":"echo hello"}}"#);
        let work = (|| client.round_trip(&line), || sh.round_trip("env echo hello\n"));
        self.ratio("`env echo hello` on the persistent shell", baseline, self.rounds(600), work, None);
    }

    /// What `allowexec record` adds to a server. A process in between costs two more switches between processes, whatever it does.
    #[cfg(unix)]
    fn recording(&mut self) {
        let start = || (Client::start_recorded(&ALLOWED), Client::start_passed_on(&ALLOWED));
        let line = client::request(1, "ping", "{}");
        cores::on_each(start, |cores, (mut recorded, mut passed_on)| {
            let name = format!("`ping` through `allowexec record`{}", cores.name());
            let work = (|| recorded.round_trip(&line), || passed_on.round_trip(&line));
            self.ratio(&name, "the server between two `cat`", self.rounds(3000), work, Some(Bound::AtMost(1.5)));
        });
        let pair = in_turns(
            self.rounds(300),
            || Client::start_recorded(&ALLOWED),
            || client::start_to_answer(self.subject, &ALLOWED, client::INITIALIZE),
        );
        let (name, baseline) = ("what `allowexec record` adds to a start", "the start without it");
        self.report.added(name, baseline, pair, 1000.0);
        let flags = ["--allow", "cat", "--max-output", "0", "--timeout", "1m"];
        let (file, mut client) = (baseline::TextFile::of_megabytes(10), Client::start_recorded(&flags));
        let command = format!("cat {}", file.path().to_str().expect("a path of letters"));
        for _ in 0..10 {
            client.execute(&command);
        }
        self.report.memory("`allowexec record`, peak of 100 MB passed on", client.peak(), Some(10.0));
        drop(client);
        std::fs::remove_dir_all(client::recordings()).expect("they were recorded");
    }

    /// Elsewhere there is no `cat`.
    #[cfg(not(unix))]
    fn recording(&mut self) {}

    /// Ten megabytes of text, read from a file.
    fn output(&mut self) {
        let file = baseline::TextFile::of_megabytes(10);
        let path = file.path().to_str().expect("a path of letters").to_owned();
        let cat = baseline::program("cat");
        for (name, max_output, bound) in [
            ("10 MB of output, no bound", "0", Bound::AtMost(4.0)),
            ("10 MB of output, default bound", "64KiB", Bound::AtMost(1.3)),
        ] {
            let mut client = self.client(&["--allow", "cat", "--max-output", max_output]);
            let command = format!("cat {path}");
            let work = (|| client.execute(&command), || baseline::spawn(&cat, &[&path]));
            let bound = self.plain(bound);
            self.ratio(name, "reading it from the command", self.rounds(60).max(5), work, bound);
        }
    }

    /// Resident memory, which has a bound but no baseline.
    fn memory(&mut self) {
        let mut client = self.client(&["--allow", "true,head"]);
        let calls = if self.is_quick { 1000 } else { 10_000 };
        let mut memory = |what: &str, megabytes: f64, bound: Option<f64>| {
            let (name, bound) = (self.name(what), bound.filter(|_| self.subject.name.is_empty()));
            self.report.memory(&name, megabytes, bound);
        };
        memory("resident, idle", client.resident(), Some(3.5));
        for _ in 0..8 {
            client.in_flight(16, 64);
        }
        let before = client.resident();
        client.in_flight(16, calls);
        let after = client.resident();
        memory(&format!("resident, after {calls} calls"), after, None);
        memory("what they added", after - before, None);
        client.execute("head -c 60000000 /dev/zero");
        memory("what 60 MB of output added at the default bound", client.resident() - after, Some(10.0));
    }
}

/// The medians of a pair in microseconds.
fn medians([ours, baseline]: &[Vec<Duration>; 2]) -> [f64; 2] {
    [ours, baseline].map(|times| median(times).as_secs_f64() * 1e6)
}
