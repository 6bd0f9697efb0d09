//! `allowexec run`: one line with the caller's own streams and status.
#![cfg(unix)]

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use crate::support::server::spawning;

/// Starts the program in a directory, without variables that are settings.
fn program(here: &Path, arguments: &[&str]) -> Command {
    let mut program = Command::new(env!("CARGO_BIN_EXE_allowexec"));
    program.args(arguments).current_dir(here).env("XDG_STATE_HOME", here.join("state"));
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("ALLOW") {
            program.env_remove(name);
        }
    }
    program.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    program
}

/// Starts it while no test writes a script.
fn started(command: &mut Command) -> Child {
    let _quiet = spawning();
    command.spawn().unwrap()
}

/// Runs it to its end.
fn ended(command: &mut Command) -> Output {
    started(command).wait_with_output().unwrap()
}

/// The status, the output and the errors of `run`.
fn run(here: &Path, settings: &str, words: &[&str]) -> (Option<i32>, String, String) {
    let settings: Vec<&str> = settings.split(' ').collect();
    let arguments = [&["run"][..], &settings, &["--"], words].concat();
    said(ended(&mut program(here, &arguments)))
}

fn said(output: Output) -> (Option<i32>, String, String) {
    let Output { status, stdout, stderr } = output;
    (status.code(), String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap())
}

fn fed(here: &Path, settings: &str, line: &str, input: &str) -> (Option<i32>, String, String) {
    let settings: Vec<&str> = settings.split(' ').collect();
    let arguments = [&["run"][..], &settings, &["--", line]].concat();
    let mut child = started(program(here, &arguments).stdin(Stdio::piped()));
    // A line that reads nothing may have ended before.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    said(child.wait_with_output().unwrap())
}

#[test]
fn a_line_runs_with_the_callers_streams_and_status() {
    let here = tempfile::tempdir().unwrap();
    let here = here.path();
    let settings = "--allow echo,cat,wc,false,sh,sleep,missing-program";
    for (words, status, stdout, stderr) in [
        (&["echo hi | cat; echo b >&2"][..], 0, "hi\n", "b\n"),
        (&["echo a; false"], 1, "a\n", ""),
        (&["false || echo b"], 0, "b\n", ""),
        (&["exit 7"], 7, "", ""),
        (&["echo", "a b", "|", "c"], 0, "a b | c\n", ""),
        (&["sh", "-c", "kill -9 $$"], 137, "", ""),
        (&["sh -c 'exit 3'"], 3, "", ""),
    ] {
        assert_eq!(run(here, settings, words), (Some(status), stdout.to_owned(), stderr.to_owned()), "{words:?}");
    }
    let (status, stdout, stderr) = run(here, settings, &["missing-program | cat"]);
    assert_eq!((status, stdout.as_str()), (Some(0), ""));
    assert!(stderr.contains("missing-program: command not found"), "{stderr}");
    assert_eq!(run(here, settings, &["missing-program"]).0, Some(127));
}

#[test]
fn what_is_refused_runs_nothing_and_says_why_with_status_126() {
    let here = tempfile::tempdir().unwrap();
    let here = here.path();
    for line in ["touch made; id", "echo a; touch made", "touch made", "echo a > made", "echo $(touch made)"] {
        let (status, stdout, stderr) = run(here, "--allow echo,id", &[line]);
        assert_eq!((status, stdout.as_str()), (Some(126), ""), "{line}: {stderr}");
        assert!(stderr.starts_with("allowexec: "), "{line}: {stderr}");
    }
    assert!(!here.join("made").exists());
    // Without a terminal nobody is asked.
    let (status, _, stderr) = run(here, "--ask touch", &["touch made"]);
    assert_eq!(status, Some(126), "{stderr}");
    assert!(!here.join("made").exists());
}

#[test]
fn standard_input_goes_to_the_command_that_would_get_a_calls_input_if_its_rule_allows_input() {
    let here = tempfile::tempdir().unwrap();
    let here = here.path();
    assert_eq!(fed(here, "--allow cat,wc", "cat | cat", "in\n"), (Some(0), "in\n".to_owned(), String::new()));
    assert_eq!(fed(here, "--allow cat,true", "true && cat", "in\n"), (Some(0), "in\n".to_owned(), String::new()));
    fs::write(here.join("p.yaml"), "commands: {cat: {forms: [{}]}}\n").unwrap();
    assert_eq!(fed(here, "--policy p.yaml", "cat", "in\n"), (Some(0), String::new(), String::new()));
    fs::write(here.join("p.yaml"), "commands: {cat: {stdin: true, forms: [{}]}}\n").unwrap();
    assert_eq!(fed(here, "--policy p.yaml", "cat", "in\n"), (Some(0), "in\n".to_owned(), String::new()));
}

#[test]
fn output_is_passed_through_unbounded_and_a_closed_pipe_ends_the_writer() {
    let here = tempfile::tempdir().unwrap();
    let settings = "--allow head,yes,wc";
    let (status, stdout, _) = run(here.path(), settings, &["yes | head -c 20000000"]);
    assert_eq!((status, stdout.len()), (Some(0), 20_000_000));
    let mut child = started(&mut program(here.path(), &["run", "--allow", "yes", "--", "yes"]));
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(141));
}

#[test]
fn a_timeout_ends_it_with_124_and_without_one_there_is_none() {
    let here = tempfile::tempdir().unwrap();
    let (status, _, stderr) = run(here.path(), "--allow sleep --timeout 200ms", &["sleep 60; sleep 60"]);
    assert_eq!(status, Some(124), "{stderr}");
}

#[test]
fn a_signal_ends_the_line_and_all_that_it_started() {
    let here = tempfile::tempdir().unwrap();
    let mark = here.path().join("began");
    let line = format!("sh -c 'setsid sleep 61.52 & touch {}; sleep 60'; echo after", mark.display());
    let child = started(&mut program(here.path(), &["run", "--allow", "sh,echo", "--", &line]));
    while !mark.exists() {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let pid = rustix::process::Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    let (status, stdout, _) = said(child.wait_with_output().unwrap());
    assert_eq!((status, stdout.as_str()), (Some(143), ""));
    assert_is_gone("61.52");
}

/// No process that sleeps for exactly this time is left.
fn assert_is_gone(time: &str) {
    let sleeps = format!("sleep\0{time}\0");
    #[cfg(target_os = "linux")]
    for process in fs::read_dir("/proc").unwrap().flatten() {
        let words = fs::read(process.path().join("cmdline")).unwrap_or_default();
        assert!(!words.ends_with(sleeps.as_bytes()), "{process:?} is left");
    }
    #[cfg(not(target_os = "linux"))]
    drop(sleeps);
}

#[test]
fn every_signal_that_ends_it_ends_its_commands_too() {
    use rustix::process::Signal;
    let here = tempfile::tempdir().unwrap();
    for (signal, status) in [
        (Signal::HUP, 129),
        (Signal::QUIT, 131),
        (Signal::USR1, 138),
        (Signal::USR2, 140),
        (Signal::ALARM, 142),
        (Signal::TERM, 143),
        (Signal::XCPU, 152),
    ] {
        let began = here.path().join(format!("began{status}"));
        let line = format!("sh -c 'touch {}; sleep 62.{status}'; echo after", began.display());
        let child = started(&mut program(here.path(), &["run", "--allow", "sh,echo", "--", &line]));
        while !began.exists() {
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        let pid = rustix::process::Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
        rustix::process::kill_process(pid, signal).unwrap();
        let (found, stdout, _) = said(child.wait_with_output().unwrap());
        assert_eq!((found, stdout.as_str()), (Some(status), ""), "{signal:?}");
        assert_is_gone(&format!("62.{status}"));
    }
}

#[test]
fn the_variable_of_the_directory_names_that_of_each_command() {
    let here = tempfile::tempdir().unwrap();
    let here = fs::canonicalize(here.path()).unwrap();
    fs::create_dir(here.join("sub")).unwrap();
    let line = "printenv PWD; cd sub && printenv PWD | cat; (cd .. && printenv PWD)";
    let (directory, sub) = (here.display(), here.join("sub").display().to_string());
    for flags in [&["--inherit-env"][..], &["--env", "PWD"]] {
        let arguments = [&["run", "--allow", "printenv,cat"][..], flags, &["--", line]].concat();
        let output = ended(program(&here, &arguments).env("PWD", &here));
        assert_eq!(said(output).1, format!("{directory}\n{sub}\n{directory}\n"), "{flags:?}");
    }
    let output = ended(program(&here, &["run", "--allow", "printenv,cat", "--", line]).env("PWD", &here));
    assert_eq!(said(output).1, "");
}

#[test]
fn a_line_in_hexadecimal_digits_is_that_line_and_flags_only_hears_no_variable() {
    let here = tempfile::tempdir().unwrap();
    let hex = |line: &str| line.bytes().map(|byte| format!("{byte:02x}")).collect::<String>();
    let line = "echo 'é \"x\"' | cat";
    let output = ended(&mut program(here.path(), &["run", "--allow", "echo,cat", "--line-hex", &hex(line)]));
    assert_eq!(said(output).1, "é \"x\"\n");
    for wrong in ["6", "zz", "ff"] {
        let output = ended(&mut program(here.path(), &["run", "--allow", "echo", "--line-hex", wrong]));
        assert_eq!(output.status.code(), Some(2), "{wrong}");
    }
    let with = |flags: &[&str]| {
        let arguments = [&["run"][..], flags, &["--", "echo a"]].concat();
        ended(program(here.path(), &arguments).env("ALLOWED_COMMANDS", "echo"))
    };
    assert_eq!(with(&[]).status.code(), Some(0));
    assert_eq!(with(&["--flags-only"]).status.code(), Some(126));
}

#[test]
fn each_decision_start_and_end_is_recorded_and_nothing_runs_without_the_log() {
    let here = tempfile::tempdir().unwrap();
    let here = here.path();
    assert_eq!(run(here, "--allow echo,cat --audit log", &["echo a | cat"]).0, Some(0));
    assert_eq!(run(here, "--allow echo --audit log", &["rm x"]).0, Some(126));
    let log = fs::read_to_string(here.join("log")).unwrap();
    let count = |event: &str| log.matches(&format!("\"event\":\"{event}\"")).count();
    assert_eq!((count("decided"), count("started"), count("session_started")), (3, 2, 2), "{log}");
    assert!(log.contains("\"tool\":\"run\"") && log.contains("\"decision\":\"refused\""), "{log}");
    fs::create_dir(here.join("directory")).unwrap();
    let (status, stdout, stderr) = run(here, "--allow echo --audit directory", &["echo a"]);
    assert_eq!((status, stdout.as_str()), (Some(126), ""), "{stderr}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_sandbox_holds_for_it_as_for_calls() {
    let outside = tempfile::tempdir().unwrap();
    let file = outside.path().join("secret");
    fs::write(&file, "kept out").unwrap();
    let here = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    for line in [format!("cat {}", file.display()), format!("cat {} | cat", file.display())] {
        let (_, stdout, stderr) = run(here.path(), "--allow cat --sandbox strict", &[&line]);
        assert!(!stdout.contains("kept out") && stderr.contains("Permission denied"), "{line}: {stdout}{stderr}");
    }
}

/// A person at a terminal: reads from it, is asked on it, and interrupts a line.
#[cfg(target_os = "linux")]
#[test]
fn commands_read_the_terminal_and_a_person_is_asked_on_it() {
    let script = include_str!("run/terminal.py");
    let here = tempfile::tempdir().unwrap();
    let mut python = Command::new("python3");
    python.args(["-c", script, env!("CARGO_BIN_EXE_allowexec")]).current_dir(here.path());
    let quiet = spawning();
    let child = python.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    drop(quiet);
    let Ok(output) = child.and_then(Child::wait_with_output) else {
        println!("not shown: there is no python3");
        return;
    };
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
}
