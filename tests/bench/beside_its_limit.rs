//! `cargo bench`: what a call costs, each figure beside its physical limit, in turns in one run.
//!
//! Medians and ratios; no figure is a promise without the limit beside it. `cargo bench -- --quick` takes a tenth of the
//! rounds, `cargo bench -- --svg FILE` also draws the table, `cargo bench -- --json` prints it for programs.
//!
//! - [`client`]: a client of the server, as thin as one can be.
//! - [`limits`]: the same work without the server.
//! - [`measure`]: two things in turns, and their medians.
//! - [`report`]: the table and the plot.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a benchmark fails by panicking, and prints"
)]

mod client;
mod limits;
mod measure;
mod report;

use std::process::ExitCode;
use std::time::Duration;

use client::Client;
use measure::{in_turns, median};
use report::{Bound, Report};

/// What the benchmark calls itself with, to be a server that holds a ballast of so many megabytes.
const SERVE: &str = "--serve-with-ballast";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.first().is_some_and(|argument| argument == SERVE) {
        return serve_with_ballast(arguments[1].parse().expect("megabytes"), &arguments[2..]);
    }
    let value =
        |flag: &str| arguments.iter().position(|argument| argument == flag).and_then(|at| arguments.get(at + 1));
    let quick = arguments.iter().any(|argument| argument == "--quick");
    let rounds = |full: usize| if quick { full / 10 } else { full };
    let mut report = Report::default();
    calls(&mut report, &rounds);
    start(&mut report, &rounds);
    protocol(&mut report, &rounds);
    shell(&mut report, &rounds);
    output(&mut report, &rounds);
    memory(&mut report, &rounds);
    if arguments.iter().any(|argument| argument == "--json") {
        println!("{:#}", report.to_json());
    } else {
        println!("{}", report.to_text());
    }
    if let Some(file) = value("--svg") {
        std::fs::write(file, report.to_svg()).expect("the plot can be written");
    }
    ExitCode::SUCCESS
}

/// A server that holds so much memory of its own, all of it touched: were it forked for a call, the fork would copy the
/// tables of all these pages.
fn serve_with_ballast(megabytes: usize, arguments: &[String]) -> ExitCode {
    let ballast = vec![1_u8; megabytes << 20];
    let status = allowexec::cli::run(arguments.iter().map(Into::into));
    drop(std::hint::black_box(ballast));
    status
}

/// One call at a time, and sixteen in flight.
fn calls(report: &mut Report, rounds: &impl Fn(usize) -> usize) {
    let program = limits::program("true");
    for (name, command, flags, bound) in [
        ("a call of `true`", "true", &[][..], Some(Bound::AtMost(1.15))),
        ("a call of `echo`", "echo hello", &[], None),
    ] {
        let mut client = Client::start(&[&["--allow", "true,echo", "--log", "off"], flags].concat());
        let [file, ref words @ ..] = command.split(' ').collect::<Vec<_>>()[..] else { unreachable!() };
        let (file, words) = (limits::program(file), words.to_vec());
        let pair = in_turns(rounds(1000), || client.execute(command), || limits::spawn(&file, &words));
        report.ratio(name, "Command::output() of it", pair, bound);
    }
    sandboxed(report, rounds, &program);
    for megabytes in [5, 50] {
        let mut client = Client::with_ballast(megabytes, &["--allow", "true", "--log", "off"]);
        let pair = in_turns(rounds(500), || client.execute("true"), || limits::spawn(&program, &[]));
        report.ratio(
            &format!("the same with {megabytes} MB of the server's own"),
            "Command::output() of it",
            pair,
            None,
        );
    }
    let mut client = Client::start(&["--allow", "true", "--log", "off"]);
    let calls = rounds(1600).max(64);
    let pair = in_turns(5, || client.in_flight(16, calls), || limits::two_threads(&program, calls));
    report.throughput("sixteen calls in flight", "two threads of plain spawns", pair, Bound::AtLeast(0.9));
}

/// One call at a time, confined: the rules are made once, and each worker puts them on itself once.
#[cfg(target_os = "linux")]
fn sandboxed(report: &mut Report, rounds: &impl Fn(usize) -> usize, program: &std::path::Path) {
    for (level, bound) in [("workspace", None), ("strict", Some(Bound::AtMost(1.25)))] {
        let mut client = Client::start(&["--allow", "true", "--log", "off", "--project-dir", ".", "--sandbox", level]);
        let pair = in_turns(rounds(1000), || client.execute("true"), || limits::spawn(program, &[]));
        report.ratio(&format!("a call of `true`, sandbox {level}"), "Command::output() of it", pair, bound);
    }
}

#[cfg(not(target_os = "linux"))]
fn sandboxed(_report: &mut Report, _rounds: &impl Fn(usize) -> usize, _program: &std::path::Path) {}

/// From the spawn to the first answer.
fn start(report: &mut Report, rounds: &impl Fn(usize) -> usize) {
    let program = limits::program("true");
    let pair = in_turns(rounds(300), || client::start_to_answer(client::INITIALIZE), || limits::spawn(&program, &[]));
    report.ratio("start to `initialize` answered", "a spawn of `true`", pair, Some(Bound::AtMost(3.0)));
    let pair = in_turns(rounds(300), || client::start_to_answer(client::DISCOVER), || limits::spawn(&program, &[]));
    report.ratio("start to `server/discover` answered", "a spawn of `true`", pair, None);
}

/// Requests that run nothing.
fn protocol(report: &mut Report, rounds: &impl Fn(usize) -> usize) {
    let mut client = Client::start(&["--allow", "true", "--log", "off"]);
    let mut cat = limits::Lines::start("cat");
    for (method, bound) in [("ping", Some(Bound::AtMost(2.5))), ("tools/list", None)] {
        let line = client::request(1, method, "{}");
        let pair = in_turns(rounds(3000), || client.round_trip(&line), || cat.round_trip(&line));
        report.ratio(&format!("`{method}`"), "a line through `cat`", pair, bound);
    }
}

/// A command that is built into the persistent shell.
fn shell(report: &mut Report, rounds: &impl Fn(usize) -> usize) {
    let mut client = Client::start(&["--tools", "shell", "--allow", "echo", "--log", "off"]);
    let mut sh = limits::Lines::start("sh");
    let line = client::request(1, "tools/call", r#"{"name":"echo","arguments":{"arguments":"hello"}}"#);
    let pair = in_turns(rounds(3000), || client.round_trip(&line), || sh.round_trip("echo hello\n"));
    report.ratio("`echo hello` on the persistent shell", "the line to a bare `sh`", pair, Some(Bound::AtMost(2.5)));
}

/// Ten megabytes of text, read from a file.
fn output(report: &mut Report, rounds: &impl Fn(usize) -> usize) {
    let file = limits::TextFile::of_megabytes(10);
    let path = file.path().to_str().expect("a path of letters").to_owned();
    let cat = limits::program("cat");
    for (name, bound, limit) in [
        ("10 MB of output, no bound", "0", Bound::AtMost(12.0)),
        ("10 MB of output, default bound", "64KiB", Bound::AtMost(1.3)),
    ] {
        let mut client = Client::start(&["--allow", "cat", "--log", "off", "--max-output", bound]);
        let command = format!("cat {path}");
        let pair = in_turns(rounds(60).max(5), || client.execute(&command), || limits::spawn(&cat, &[&path]));
        report.ratio(name, "reading it from the command", pair, Some(limit));
    }
}

/// Resident memory, which has no limit beside it but a bound.
fn memory(report: &mut Report, rounds: &impl Fn(usize) -> usize) {
    let mut client = Client::start(&["--allow", "true,head", "--log", "off"]);
    report.memory("resident, idle", client.resident(), Some(4.0));
    for _ in 0..8 {
        client.in_flight(16, 64);
    }
    let before = client.resident();
    client.in_flight(16, rounds(10_000));
    let after = client.resident();
    report.memory(&format!("resident, after {} calls", rounds(10_000)), after, None);
    report.memory("what they added", after - before, None);
    client.execute("head -c 60000000 /dev/zero");
    report.memory("what 60 MB of output added at the default bound", client.resident() - after, Some(10.0));
}

/// The medians of a pair in microseconds.
fn medians([ours, limit]: &[Vec<Duration>; 2]) -> [f64; 2] {
    [ours, limit].map(|times| median(times).as_secs_f64() * 1e6)
}
