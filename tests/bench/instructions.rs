//! The parts of a call that wait for nothing cost no more instructions than they did, by valgrind's count.
//!
//! A test without a harness: it runs itself under valgrind as `instructions PART N`. The count is of instructions and not of
//! time, so a busy machine does not change it. The bounds are a quarter above what was counted when they were written, in
//! this very profile: room for another compiler and for longer paths of another machine, none for another algorithm.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test without a harness fails by panicking, and says what it saw"
)]

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use allowexec::exec::{Captured, End, Output};
use allowexec::jsonrpc::{Incoming, encode};
use allowexec::lines::plain_words;
use allowexec::mcp::Revision;
use allowexec::policy::rules::{PolicyText, Rules, profile_names};
use allowexec::policy::{AllowList, CommandLine, Directories, DirectorySettings, Policy, Programs, SearchPath};
use allowexec::tools::{ReportSettings, execute_result};

const REQUEST: &[u8] = br#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"execute_command","arguments":{"command":"ls -l 'a b' src","cwd":"/"},"_meta":{"progressToken":1}}}"#;

const BOUNDS: [(&str, u64); 6] = [
    ("parse", 60_000),
    ("split", 80_000),
    ("plain line", 36_000),
    ("decide", 40_000),
    ("rules", 255_000),
    ("encode", 700_000),
];

/// The bounds of what is done once in a process, with the start of the program. What a profile says is kept once it was read, so a second time
/// would cost nothing.
const BOUNDS_OF_PROCESSES: [(&str, u64); 2] = [("name profiles", 1_700_000), ("name profiles in a file", 2_200_000)];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [part, times] = arguments.as_slice() {
        return work(part, times.parse().unwrap());
    }
    if !cfg!(target_os = "linux") || Command::new("valgrind").arg("--version").output().is_err() {
        println!("valgrind is not installed: the instructions were not counted");
        return;
    }
    for (part, bound) in BOUNDS {
        // The difference of two runs leaves out the start of the program.
        let each = (count(part, 300) - count(part, 100)) / 200;
        println!("{part}: {each} instructions, at most {bound}");
        assert!(each <= bound, "{part} takes {each} instructions, more than {bound}");
    }
    for (part, bound) in BOUNDS_OF_PROCESSES {
        let all = count(part, 1);
        println!("{part}: {all} instructions with the start, at most {bound}");
        assert!(all <= bound, "{part} takes {all} instructions with the start, more than {bound}");
    }
}

/// The instructions of one whole run.
fn count(part: &str, times: usize) -> u64 {
    let directory = tempfile::tempdir().unwrap();
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=out"])
        .arg(std::env::current_exe().unwrap())
        .args([part, &times.to_string()])
        .current_dir(directory.path())
        .output()
        .expect("valgrind runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let counted = std::fs::read_to_string(directory.path().join("out")).unwrap();
    let total = counted.lines().find_map(|line| line.strip_prefix("summary: ")).expect("a summary");
    total.trim().parse().unwrap()
}

/// Does one part so many times.
fn work(part: &str, count: usize) {
    match part {
        "parse" => repeat(count, || Incoming::parse(black_box(REQUEST)).is_ok()),
        "split" => repeat(count, || CommandLine::parse(black_box("grep -rn 'two words' src --include=*.rs")).is_ok()),
        // With `--lines`; as many as without, or the reader of lines was asked.
        "plain line" => repeat(count, || plain_words(black_box("grep -rn 'two words' src --include=x.rs")).is_some()),
        "decide" => {
            let settings = DirectorySettings { server: PathBuf::from("/"), ..DirectorySettings::default() };
            let programs = Programs::new(SearchPath::new(None), Path::new("/").to_owned());
            let policy = Policy::new(AllowList::new(["ls".to_owned()]), Directories::new(settings), programs);
            repeat(count, || policy.examine(CommandLine::parse(black_box("ls -l")), black_box(None)).outcome.is_ok());
        }
        "rules" => {
            let settings = DirectorySettings { server: PathBuf::from("/"), ..DirectorySettings::default() };
            let programs = Programs::new(SearchPath::new(None), Path::new("/").to_owned());
            let text = PolicyText { file: "p.yaml".into(), text: thirty_commands() };
            let rules = Arc::new(Rules::load(&[text], &[], &[]).unwrap());
            let allow = AllowList::default().with_rules(rules);
            let policy = Policy::new(allow, Directories::new(settings), programs);
            let line = "ls log --oneline -n5 --color=always main..topic HEAD~3";
            repeat(count, || policy.examine(CommandLine::parse(black_box(line)), black_box(None)).outcome.is_ok());
        }
        // What a start with all profiles does before it answers: reading them takes a hundred times as much.
        "name profiles" => repeat(count, || all_profiles(false).names().count() > 50),
        "name profiles in a file" => repeat(count, || all_profiles(true).names().count() > 50),
        "encode" => {
            let stdout = Captured { head: "a line of output\n".repeat(60).into_bytes(), ..Captured::default() };
            let output = Output {
                end: End::Exited(0),
                stdout,
                stderr: Captured::default(),
                elapsed: Duration::ZERO,
                limit: None,
            };
            repeat(count, || {
                let result = execute_result(black_box(&output).clone(), None, &[], &ReportSettings::default());
                encode::result(&7.into(), result.encode(Revision::V2025_06_18)).len() > 1000
            });
        }
        other => panic!("unknown part {other}"),
    }
}

/// A policy of thirty commands, each with subcommands and twenty options.
fn thirty_commands() -> String {
    let options: String = (0..16).map(|number| format!("          \"--option-{number}\": flag\n")).collect();
    let command = |name: &str| {
        format!(
            "  {name}:\n    insert: [-c, a=b]\n    subcommands:\n      status: any\n      log:\n        options:\n{options}          \
             \"--oneline\": flag\n          \"-n, --max-count\": {{integer: [1, 1000]}}\n          \"--color\": {{one_of: [always, never], \
             optional: true}}\n        operands: [{{text: {{chars: \"A-Za-z0-9_./@{{}}^~:-\", relative: true}}, count: \"0..\"}}]\n"
        )
    };
    let others: String = (0..29).map(|number| command(&format!("c{number}"))).collect();
    format!("commands:\n{others}{}", command("ls"))
}

fn all_profiles(in_file: bool) -> Rules {
    // The others describe the same commands once more, and take the place of these.
    let is_reading = |name: &&str| !["git-commit", "coreutils-write"].contains(name) && !name.ends_with("-develop");
    let names: Vec<String> = profile_names().filter(is_reading).map(str::to_owned).collect();
    if in_file {
        let text = format!("profiles: [{}]\n", names.join(", "));
        return Rules::load(&[PolicyText { file: "p.yaml".into(), text }], &[], &[]).unwrap();
    }
    Rules::load(&[], black_box(&names), &[]).unwrap()
}

fn repeat(count: usize, work: impl Fn() -> bool) {
    for _ in 0..count {
        assert!(work());
    }
}
