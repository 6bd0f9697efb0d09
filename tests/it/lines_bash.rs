//! Lines against bash: whatever is read, decided and run means the same to both.
//!
//! A line is decided and run in a small directory, with programs that can do no harm, and bash runs the same text there: exit
//! status, standard output and files have to agree. bash finds nothing but these programs, and has no
//! builtin but `cd`, `exit`, `true`, `:` and `false`. It runs only texts that were read, and whose commands are all known.
//!
//! `.ci/run` tries more lines than `cargo test` does; `TRIED_LINES=100000 cargo test --test it lines_bash::` tries still more, and
//! `TRIED_SEED=7` others.
#![cfg(target_os = "linux")]

use std::collections::BTreeMap;
use std::env;
use std::fs::{self, File};
use std::io::{Read, Seek};
use std::os::unix::fs::symlink;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command as Process, ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use allowexec::config::{Config, Surroundings};
use allowexec::exec::line::{LineInvocation, Unrecorded};
use allowexec::exec::{End, Limits, Processes, stop};
use allowexec::lines::{Command, Line, Part, Redirection, Simple};
use allowexec::policy::line::RequestedLine;
use allowexec::policy::{AllowList, DirectorySettings, LineRules, Lines, Policy, Programs, Roots, SearchPath};
use allowexec::server::Parts;

#[path = "lines_bash/contract.rs"]
mod contract;
#[path = "lines_bash/everyday.rs"]
mod everyday;
#[path = "lines_bash/fixed.rs"]
mod fixed;
#[path = "lines_bash/generate.rs"]
mod generate;

use crate::support::server::spawning;
use generate::Generator;

/// What a line did.
#[derive(Debug, PartialEq, Eq)]
struct Outcome {
    status: i32,
    stdout: String,
    files: BTreeMap<String, Option<String>>,
}

impl Outcome {
    /// Whether this was written anywhere.
    fn says(&self, text: &str) -> bool {
        self.files.values().flatten().chain([&self.stdout]).any(|written| written.contains(text))
    }

    /// The same without the order of characters.
    fn sorted(&self) -> Self {
        let sort = |text: &String| {
            let mut characters: Vec<char> = text.chars().collect();
            characters.sort_unstable();
            characters.into_iter().collect::<String>()
        };
        let files = self.files.iter().map(|(name, text)| (name.clone(), text.as_ref().map(sort))).collect();
        Self { status: self.status, stdout: sort(&self.stdout), files }
    }
}

/// Programs that write nowhere but to their output.
const PROGRAMS: &[&str] = &["cat", "echo", "head", "printf", "sort", "tr", "wc"];
const BUILTINS: &[&str] = &["cd", "exit", "true", ":", "false"];

/// All other builtins are taken from bash before it reads the line, so that it could not do more than the line if it read more.
const DISABLED: &str = "enable -n . [ alias bg bind break builtin caller command compgen complete compopt continue declare dirs \
    disown echo eval exec export fc fg getopts hash help history jobs kill let local logout mapfile popd printf pushd pwd read \
    readarray readonly return set shift shopt source suspend test times trap type typeset ulimit umask unalias unset wait enable\n";

/// The failures of a line that are told, by names and statuses.
type Failed = Vec<(String, i32)>;

struct World {
    root: tempfile::TempDir,
    processes: Processes,
    /// The names that may be called.
    names: Vec<String>,
}

impl World {
    fn new() -> Self {
        Self::with(&[])
    }

    /// One with more names that may be called; those that are programs are there.
    fn with(more: &[&str]) -> Self {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("bin")).unwrap();
        fs::write(root.path().join("disabled"), DISABLED).unwrap();
        let names: Vec<String> = PROGRAMS.iter().chain(more).map(|name| (*name).to_owned()).collect();
        let path = root.path().join("bin").into_os_string();
        let variables = [("PATH".into(), path), ("LC_ALL".into(), "C.UTF-8".into())];
        let variables = Self::variables().map(|(name, value)| (name.into(), value.into())).into_iter().chain(variables);
        let surroundings = Surroundings { variables: variables.collect(), directory: root.path().to_owned() };
        let config = Config::builder(surroundings).build().unwrap();
        let processes = Parts::new(&config).executor.as_processes().unwrap().clone();
        let world = Self { root, processes, names };
        // Shells are for `bash -c LINE` in a text, whose line becomes a group.
        let names = PROGRAMS.iter().chain(more).chain(&["bash"]).filter(|name| !name.contains('/'));
        for name in names.chain(["sh"].iter().filter(|_| !more.contains(&"sh"))) {
            let found = ["/usr/bin", "/bin"].map(|directory| Path::new(directory).join(name));
            if let Some(found) = found.iter().find(|path| path.exists()) {
                symlink(found, world.bin().join(name)).unwrap();
            }
        }
        world
    }

    fn bin(&self) -> PathBuf {
        self.root.path().join("bin")
    }

    fn work(&self) -> PathBuf {
        self.root.path().join("work")
    }

    /// Makes the directory anew, as every line finds it.
    fn prepare(&self) {
        let work = self.work();
        if work.exists() {
            fs::remove_dir_all(&work).unwrap();
        }
        for directory in ["src/deep", "empty"] {
            fs::create_dir_all(work.join(directory)).unwrap();
        }
        for (file, text) in [
            ("a.txt", "one\ntwo\n"),
            ("b.txt", "b\n"),
            ("c d.txt", "blank\n"),
            (".hidden", "hidden\n"),
            ("[x]", "brackets\n"),
            ("src/a.rs", "fn a\n"),
            ("src/b.rs", "fn b\n"),
            ("src/deep/c.rs", "fn c\n"),
            ("src/-x", "dash\n"),
        ] {
            fs::write(work.join(file), text).unwrap();
        }
    }

    fn files(&self) -> BTreeMap<String, Option<String>> {
        let mut found = BTreeMap::new();
        let mut directories = vec![self.work()];
        while let Some(directory) = directories.pop() {
            for entry in fs::read_dir(&directory).unwrap() {
                let path = entry.unwrap().path();
                let name = path.strip_prefix(self.work()).unwrap().to_string_lossy().into_owned();
                if path.is_dir() {
                    found.insert(name, None);
                    directories.push(path);
                } else {
                    found.insert(name, Some(String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned()));
                }
            }
        }
        found
    }

    fn variables() -> [(&'static str, &'static str); 4] {
        [("HOME", "/no/home"), ("NAME", "value"), ("WORDS", "one  two*"), ("EMPTY", "")]
    }

    fn process(&self, program: &Path) -> Process {
        let mut process = Process::new(program);
        process.env_clear().envs(Self::variables()).env("PATH", self.bin()).env("LC_ALL", "C.UTF-8");
        process
    }

    /// What bash makes of it.
    fn bash(&self, text: &str) -> Outcome {
        self.prepare();
        let mut stdout = tempfile::tempfile().unwrap();
        let mut process = self.process(Path::new("/usr/bin/timeout"));
        process
            .args(["20", "bash", "--norc", "--noprofile", "-c", text])
            .env("BASH_ENV", self.root.path().join("disabled"))
            .current_dir(self.work());
        process.stdin(Stdio::null()).stdout(stdout.try_clone().unwrap()).stderr(Stdio::null());
        let status = started(&mut process);
        let status = status.code().or(status.signal().map(|signal| 128 + signal)).unwrap();
        Outcome { status, stdout: read(&mut stdout), files: self.files() }
    }

    /// Decides by the names that may be called, within the directory.
    fn policy(&self) -> Policy {
        let settings = DirectorySettings {
            server: self.work(),
            project: Some(self.work()),
            roots: Roots::Within(vec![self.work()]),
            ..DirectorySettings::default()
        };
        let search = SearchPath::new(Some(self.bin().as_os_str()));
        let path = ("PATH".to_owned(), self.bin().to_str().unwrap().to_owned());
        let variables = Self::variables().map(|(name, value)| (name.to_owned(), value.to_owned()));
        let policy = Policy::new(
            AllowList::new(self.names.iter().cloned()),
            allowexec::policy::Directories::new(settings),
            Programs::new(search, self.work()),
        );
        policy.with_line_env(["A", "X", "A1_", "NAME", "RUST_BACKTRACE", "CI"].map(str::to_owned).to_vec()).with_lines(
            LineRules {
                lines: Lines::Files,
                variables: variables.into_iter().chain([path]).collect(),
                writable: Vec::new(),
            },
        )
    }

    /// Why a text does not run, as the model is told; `None` if it may.
    fn refusal(&self, text: &str) -> Option<String> {
        let line = match Line::read(text).and_then(|line| line.open_shells(&|_| false)) {
            Ok(line) => line,
            Err(unreadable) => return Some(unreadable.to_string()),
        };
        self.prepare();
        let policy = self.policy();
        let asked =
            RequestedLine { line, text, cwd: None, has_input: false, only_reads: false, approved: None, before: &[] };
        policy.plan(policy.directories(), asked).outcome.err().map(|refusal| refusal.to_string())
    }

    /// The outcome of the product; `None` if it is refused.
    fn ours(&self, line: Line, text: &str) -> Option<(Outcome, Failed)> {
        self.prepare();
        let policy = self.policy();
        let asked =
            RequestedLine { line, text, cwd: None, has_input: false, only_reads: false, approved: None, before: &[] };
        let planned = policy.plan(policy.directories(), asked).outcome.ok()?;
        let (_stop, signal) = stop().unwrap();
        let tree = Arc::clone(planned.line());
        // Its children must not hold a script that another test writes.
        let quiet = spawning();
        let ran = self.processes.run_line(LineInvocation {
            line: &tree,
            begin: planned.begin(),
            reader: planned.reader(),
            input: None,
            limits: Limits {
                timeout: Duration::from_secs(20),
                grace: Duration::ZERO,
                max_output: 0,
                has_digests: false,
            },
            stop: signal,
            heartbeat: None,
            spool: None,
            decides: &mut Unrecorded { planned: &planned, policy: &policy },
            observes: &(),
        });
        drop(quiet);
        let ran = ran.unwrap();
        if ran.error.is_some() {
            return None;
        }
        let End::Exited(status) = ran.output.end else { panic!("{text:?}: {ran:?}") };
        assert_eq!(ran.output.stdout.left_out, 0);
        let stdout = String::from_utf8_lossy(&ran.output.stdout.head).into_owned();
        Some((Outcome { status, stdout, files: self.files() }, ran.failed))
    }

    /// Whether every command of the line is one of the programs or builtins, and every file that it writes is in the
    /// directory.
    fn is_harmless(&self, line: &Line, text: &str) -> bool {
        let is_inside = |redirection: &Redirection| match redirection {
            Redirection::Write { target, .. } => {
                let written = target.expand(&|_| None).unwrap_or_default();
                !written.contains("..") && (!written.starts_with('/') || written == "/dev/null")
            }
            Redirection::Read(_)
            | Redirection::StderrToStdout
            | Redirection::StdoutToStderr
            | Redirection::Document(_)
            | Redirection::HereString(_) => true,
        };
        let known = |name: &String| self.names.contains(name) || BUILTINS.contains(&name.as_str());
        let is_short = |simple: &&Simple| simple.words.len() < 2_000;
        let elsewhere = text.replace("/dev/null", "");
        let commands = line.commands();
        ![">/", "> /", "../", "/.."].iter().any(|path| elsewhere.contains(path))
            && commands.iter().all(|simple| {
                is_short(simple)
                    && simple.redirections.iter().all(is_inside)
                    && simple.words.first().is_none_or(|word| word.text().is_some_and(|name| known(&name)))
            })
    }

    /// Compares one text; returns the failures that are told, or `None` if it is refused.
    fn compare(&self, text: &str) -> Option<Failed> {
        let line = Line::read(text).and_then(|line| line.open_shells(&|_| false)).ok()?;
        if !self.is_harmless(&line, text) {
            return None;
        }
        let is_unsteady = may_meet_broken_pipes(&line, text.contains('&')) || may_see_new_files(&line);
        let (own, failed) = self.ours(line, text)?;
        // Where several stages write to one stream, their order is not always the same.
        let mut of_bash = self.bash(text);
        for _ in 0..40 {
            if own == of_bash || !text.contains('|') {
                break;
            }
            of_bash = self.bash(text);
        }
        let is_unordered = text.contains('|') && text.contains('&') && own.sorted() == of_bash.sorted();
        // A login shell of bash reads its profile, which finds no program here; a line reads none.
        let has_profile = of_bash.says("/etc/profile: ");
        // Commands may meet a pipe that nobody reads any more, or not.
        if own != of_bash && (is_unordered || is_unsteady || has_profile) {
            return None;
        }
        let same = own.files.iter().filter(|(name, text)| of_bash.files.get(*name) == Some(text));
        let same: Vec<String> = same.map(|(name, _)| name.clone()).collect();
        let without = |mut outcome: Outcome| {
            outcome.files.retain(|name, _| !same.contains(name));
            outcome
        };
        assert_eq!(without(own), without(of_bash), "left: ours, right: bash, of {text:?}");
        Some(failed)
    }
}

/// Starts the process while no other thread writes a script, and waits for it.
fn started(process: &mut Process) -> ExitStatus {
    let child = {
        let _quiet = spawning();
        process.spawn()
    };
    child.unwrap().wait().unwrap()
}

/// Whether a stage has a pattern that a file of another stage's redirection may match: bash expands it when that may be there, or
/// not. Here all words of a pipeline are expanded before any file of it is opened.
fn may_see_new_files(line: &Line) -> bool {
    let has_pattern = |simple: &Simple| {
        let is_pattern = |part: &Part| matches!(part, Part::Pattern(_));
        simple.words.iter().any(|word| word.parts.iter().any(is_pattern))
    };
    line.pipelines().any(|pipeline| {
        let stages = pipeline.stages.iter();
        let has_more = pipeline.stages.len() > 1;
        has_more && stages.clone().any(|stage| stage.command.simple().is_none_or(has_pattern))
            || stages.into_iter().any(|stage| match &stage.command {
                Command::Group(group) => may_see_new_files(&group.line),
                Command::Simple(_) => false,
            })
    })
}

/// Whether a command or a group writes into a pipe, and a stage behind it may end before it has read everything. Of a single command
/// this shows only `with_messages`, which may be lost.
fn may_meet_broken_pipes(line: &Line, with_messages: bool) -> bool {
    line.pipelines().any(|pipeline| {
        let groups = pipeline.stages.iter().filter_map(|stage| match &stage.command {
            Command::Group(group) => Some(group),
            Command::Simple(_) => None,
        });
        let is_writer = |command: &Command| with_messages || matches!(command, Command::Group(_));
        let first = pipeline.stages.iter().position(|stage| is_writer(&stage.command));
        let readers = pipeline.stages.iter().skip(first.map_or(usize::MAX, |first| first + 1));
        let reads_all = |simple: &Simple| {
            let reads = |redirection: &Redirection| {
                matches!(redirection, Redirection::Read(_) | Redirection::Document(_) | Redirection::HereString(_))
            };
            let words: Vec<_> = simple.words.iter().filter_map(allowexec::lines::Word::text).collect();
            let is_reader = ["cat", "sort", "wc -c", "tr a-z A-Z"].contains(&words.join(" ").as_str());
            is_reader && !simple.redirections.iter().any(reads)
        };
        groups.into_iter().any(|group| may_meet_broken_pipes(&group.line, with_messages))
            || readers.into_iter().any(|stage| !stage.command.simple().is_some_and(reads_all))
    })
}

fn read(file: &mut File) -> String {
    let mut bytes = Vec::new();
    file.rewind().unwrap();
    file.read_to_end(&mut bytes).unwrap();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// How many texts to try, and from which seed.
fn amount(normal: usize) -> (usize, u64) {
    let of = |name: &str| env::var(name).ok().map(|text| text.parse().unwrap());
    (of("TRIED_LINES").map_or(normal, |amount: u64| amount.try_into().unwrap()), of("TRIED_SEED").unwrap_or(36))
}

#[test]
fn lines_of_the_grammar_do_what_bash_does() {
    let world = World::new();
    let (amount, seed) = amount(200);
    let mut generator = Generator::new(seed);
    let mut compared = 0;
    for _ in 0..amount {
        compared += usize::from(world.compare(&generator.line()).is_some());
    }
    assert!(compared * 10 > amount * 6, "{compared} of {amount} were read and compared");
}

#[test]
fn changed_lines_are_refused_or_do_what_bash_does() {
    let world = World::new();
    let (amount, seed) = amount(500);
    let mut generator = Generator::new(seed + 1);
    let mut compared = 0;
    for _ in 0..amount {
        compared += usize::from(world.compare(&generator.changed()).is_some());
    }
    assert!(compared * 10 > amount, "{compared} of {amount} were read and compared");
}

#[test]
fn random_text_is_refused_or_does_what_bash_does() {
    let world = World::new();
    let (amount, seed) = amount(500);
    let mut generator = Generator::new(seed + 2);
    let mut compared = 0;
    for _ in 0..amount {
        compared += usize::from(world.compare(&generator.random()).is_some());
    }
    assert!(compared * 50 > amount, "{compared} of {amount} were read and compared");
}
