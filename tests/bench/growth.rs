//! What a call of `true` costs while the server or the machine has a lot to hold, beside the same call without that, in
//! turns. A ratio of one means that the cost does not grow.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use super::client::Client;
use super::measure::in_turns;
use super::report::{Bound, Report};
use super::{SUBJECTS, baseline};

/// The tenth allows for the difference between two equal servers on a busy machine.
const FLAT: Option<Bound> = Some(Bound::AtMost(1.1));

/// How many rounds each row has, without `--quick`.
const ROUNDS: usize = 1500;

pub fn rows(report: &mut Report, is_quick: bool) {
    let part = if is_quick { 10 } else { 1 };
    let mut growth = Growth { report, rounds: ROUNDS / part };
    growth.equal();
    growth.after_calls(100_000 / part);
    growth.with_kept_output();
    growth.with_commands(300);
    growth.with_waiting_calls(1000, 3200 / part);
    growth.beside_processes(10_000 / part);
}

struct Growth<'a> {
    report: &'a mut Report,
    rounds: usize,
}

impl Growth<'_> {
    /// What the measurement shows for two equal servers.
    fn equal(&mut self) {
        let (one, other) = (start(&["--allow", "true"]), start(&["--allow", "true"]));
        self.call("a call of `true` on one of two equal servers", "the other one", one, other);
    }

    fn after_calls(&mut self, calls: usize) {
        let (mut old, new) = (start(&["--allow", "true"]), start(&["--allow", "true"]));
        old.in_flight(16, calls);
        self.call(&format!("a call of `true` after {calls} others"), "the first ones", old, new);
    }

    fn with_kept_output(&mut self) {
        let flags = ["--allow", "true,head"];
        let (mut full, empty) = (start(&flags), start(&flags));
        full.execute("head -c 64M /dev/zero");
        self.call("a call of `true` with 64 MB of kept output", "without", full, empty);
    }

    fn with_commands(&mut self, count: usize) {
        let policy = PolicyFile::of_commands(count);
        let path = policy.0.to_str().expect("a path of letters");
        let (many, one) = (start(&["--policy", path]), start(&["--allow", "true"]));
        self.call(&format!("a call of `true` under a policy of {count} commands"), "an allow-list of one", many, one);
    }

    /// Each call has to wait for the others, so the row is the time until all are answered.
    fn with_waiting_calls(&mut self, waiting: usize, calls: usize) {
        let (mut many, mut few) = (start(&["--allow", "true"]), start(&["--allow", "true"]));
        let pair = in_turns(5, || many.in_flight(waiting, calls), || few.in_flight(16, calls));
        let name = format!("{calls} calls of `true`, {waiting} waiting at once");
        self.report.ratio(&name, "sixteen at once", pair, FLAT);
    }

    /// The spawns are measured beside the same processes, so both rows compare with a spawn, and not with another server.
    fn beside_processes(&mut self, count: usize) {
        let mut client = start(&["--allow", "true"]);
        let program = baseline::program("true");
        let baseline = "Command::output() of it";
        let pair = in_turns(self.rounds, || client.execute("true"), || baseline::spawn(&program, &[]));
        self.report.ratio("a call of `true`, before them", baseline, pair, None);
        let company = Company::of(count);
        let pair = in_turns(self.rounds, || client.execute("true"), || baseline::spawn(&program, &[]));
        let name = format!("a call of `true` beside {} more processes", company.0.len());
        self.report.ratio(&name, baseline, pair, None);
    }

    fn call(&mut self, name: &str, baseline: &str, mut ours: Client, mut beside: Client) {
        let pair = in_turns(self.rounds, || ours.execute("true"), || beside.execute("true"));
        self.report.ratio(name, baseline, pair, FLAT);
    }
}

fn start(arguments: &[&str]) -> Client {
    Client::start(&SUBJECTS[0], arguments)
}

/// A policy with many commands, removed with the value.
struct PolicyFile(PathBuf);

impl PolicyFile {
    fn of_commands(count: usize) -> Self {
        let path = std::env::temp_dir().join(format!("allowexec-bench-{}.yaml", std::process::id()));
        let command = |number: usize| {
            format!(
                "  command-{number}:\n    subcommands:\n      show:\n        \
                 options: {{\"-v, --verbose\": flag, \"--depth\": {{integer: [1, 9]}}}}\n        \
                 operands: [{{name: FILE, path: read, count: \"0..\"}}]\n"
            )
        };
        let commands: String = (1..count).map(command).collect();
        std::fs::write(&path, format!("version: 1\ncommands:\n{commands}  \"true\": {{}}\n"))
            .expect("a temporary file");
        Self(path)
    }
}

impl Drop for PolicyFile {
    fn drop(&mut self) {
        std::fs::remove_file(&self.0).expect("it is there");
    }
}

/// Processes that sleep until the value is dropped.
struct Company(Vec<Child>);

impl Company {
    fn of(count: usize) -> Self {
        let sleep = baseline::program("sleep");
        let start =
            |_| Command::new(&sleep).arg("600").stdin(Stdio::null()).spawn().expect("the machine has room for it");
        Self((0..count).map(start).collect())
    }
}

impl Drop for Company {
    fn drop(&mut self) {
        for child in &mut self.0 {
            child.kill().expect("it sleeps");
        }
        for child in &mut self.0 {
            child.wait().expect("it was ended");
        }
    }
}
