//! What people wait for: the first call of a server that was just started, the subcommands that run once, and a line beside
//! `sh -c`.
//!
//! A server's first call at a level of the sandbox includes all that the level does at a start.

use std::io::Write;
use std::process::{Command, Stdio};

use super::baseline;
use super::client::Client;
use super::measure::in_turns;
#[cfg(target_os = "linux")]
use super::measure::three_in_turns;
use super::report::{Bound, Report};
use super::{SUBJECTS, Subject};

const SPAWN: &str = "a spawn of `true`";

/// Measures all of it: so many rounds of each.
pub fn rows(report: &mut Report, is_quick: bool) {
    let rounds = if is_quick { 30 } else { 300 };
    let levels = SUBJECTS.iter().filter(|subject| subject.ballast.is_none());
    for subject in levels.clone() {
        first_call(report, rounds, subject);
    }
    #[cfg(target_os = "linux")]
    git_readonly(report, rounds);
    for subject in levels {
        processes(report, rounds, subject);
    }
    #[cfg(unix)]
    line(report, rounds);
}

fn name(what: &str, subject: &Subject) -> String {
    if subject.name.is_empty() { what.to_owned() } else { format!("{what}, {}", subject.name) }
}

fn first_call(report: &mut Report, rounds: usize, subject: &Subject) {
    let program = baseline::program("true");
    let pair =
        in_turns(rounds, || called_first(subject, &["--allow", "true"], "true"), || baseline::spawn(&program, &[]));
    let bound = match subject.name {
        "" => Some(Bound::AtMost(9.0)),
        "sandbox strict" => Some(Bound::AtMost(12.0)),
        _ => None,
    };
    report.ratio(&name("start to the end of the first call", subject), SPAWN, pair, bound);
}

fn called_first(subject: &Subject, arguments: &[&str], command: &str) -> Client {
    let mut client = Client::start(subject, arguments);
    client.execute(command);
    client
}

/// A first call at the sandbox of its profile, beyond what git itself takes.
#[cfg(target_os = "linux")]
fn git_readonly(report: &mut Report, rounds: usize) {
    let (repository, git, program) = (Repository::new(), baseline::program("git"), baseline::program("true"));
    let here = repository.0.to_str().expect("a path of ours");
    let arguments = ["--profile", "git-readonly", "--project-dir", here];
    let of_git = ["-C", here, "log", "--oneline"];
    let call = || called_first(&SUBJECTS[0], &arguments, "git log --oneline");
    let (git, spawn) = (|| baseline::spawn(&git, &of_git), || baseline::spawn(&program, &[]));
    let [ours, beside, unit] = three_in_turns(rounds, call, git, spawn);
    let (name, baseline) = ("start to the end of the first call, `git-readonly`", "git, in spawns of `true`");
    report.beyond(name, baseline, [ours, beside], &unit, 15.0);
}

/// A repository with one commit, removed with the value.
#[cfg(target_os = "linux")]
struct Repository(std::path::PathBuf);

#[cfg(target_os = "linux")]
impl Repository {
    fn new() -> Self {
        let path = std::env::temp_dir().join(format!("allowexec-bench-git-{}", std::process::id()));
        std::fs::create_dir(&path).expect("a temporary directory");
        let made = Self(path);
        for arguments in ["init -q", "-c user.name=a -c user.email=b commit -q --allow-empty -m first"] {
            let mut git = Command::new(baseline::program("git"));
            assert!(git.arg("-C").arg(&made.0).args(arguments.split(' ')).status().expect("git runs").success());
        }
        made
    }
}

#[cfg(target_os = "linux")]
impl Drop for Repository {
    fn drop(&mut self) {
        // Left behind only where the directory for temporary files is gone.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The subcommands that an agent's hook or a script starts anew each time.
fn processes(report: &mut Report, rounds: usize, subject: &Subject) {
    let program = baseline::program("true");
    let event = r#"{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"true"},"cwd":"."}"#;
    let flags = ["--allow", "true", "--log", "off"];
    let call = ["call", "execute_command", r#"{"command":"true"}"#];
    let mut kinds = vec![("`allowexec call`", &call[..], &flags[..], "")];
    if subject.name.is_empty() {
        // These start nothing, so that the sandbox does not matter.
        kinds.push(("`allowexec check`", &["check"], &["--allow", "true", "--", "true"], ""));
        kinds.push(("`allowexec hook`", &["hook", "claude-code"], &flags, event));
    }
    for (what, words, flags, input) in kinds {
        let ours = || run(&[words, subject.flags, flags].concat(), input);
        let pair = in_turns(rounds, ours, || baseline::spawn(&program, &[]));
        report.ratio(&name(what, subject), SPAWN, pair, None);
    }
}

/// Runs this program to its end, which must be success.
fn run(arguments: &[&str], input: &str) -> usize {
    let mut command = Command::new(env!("CARGO_BIN_EXE_allowexec"));
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().expect("it runs");
    child.stdin.take().expect("a pipe").write_all(input.as_bytes()).expect("it reads");
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stdout));
    output.stdout.len()
}

/// Three commands, none of which is built into a shell.
#[cfg(unix)]
fn line(report: &mut Report, rounds: usize) {
    let (line, sh) = ("head -c 1 /dev/zero | wc -c && ls /dev/null", baseline::program("sh"));
    for subject in SUBJECTS.iter().filter(|subject| subject.ballast.is_none()) {
        let mut client = Client::start(subject, &["--allow", "head,wc,ls", "--lines", "on"]);
        let pair = in_turns(rounds, || client.execute(line), || baseline::spawn(&sh, &["-c", line]));
        report.ratio(&name("a line of three commands", subject), "`sh -c` with the line", pair, None);
    }
}
