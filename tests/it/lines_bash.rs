//! Lines against bash: whatever the reader takes means the same to both.
//!
//! A small interpreter runs the tree of a line in an empty directory, with programs that can do no harm, and bash runs the
//! same text there: exit status, standard output and files have to agree. bash finds nothing but these programs, and has no
//! builtin but `cd`, `exit`, `true`, `:` and `false`. It runs only texts that were read, and whose commands are all known.
//!
//! `ALLOWEXEC_LINES=100000 cargo test --test it lines_bash::` tries more lines, `ALLOWEXEC_SEED=7` others.
#![cfg(target_os = "linux")]

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::symlink;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command as Process, ExitStatus, Stdio};

use allowexec::lines::{
    Builtin, Command, Connector, Directories, ExpandError, Group, Line, Mode, Outside, Pipeline, Redirection, Simple,
    Stream,
};

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

/// All other builtins are taken from bash, so that it could not do more than the interpreter if it read more.
const DISABLED: &str = "enable -n . [ alias bg bind break builtin caller command compgen complete compopt continue declare dirs \
    disown echo eval exec export fc fg getopts hash help history jobs kill let local logout mapfile popd printf pushd pwd read \
    readarray readonly return set shift shopt source suspend test times trap type typeset ulimit umask unalias unset wait enable\n";

struct World {
    root: tempfile::TempDir,
    /// The names that may be called.
    names: Vec<String>,
}

impl World {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("bin")).unwrap();
        let world = Self { root, names: PROGRAMS.iter().map(|name| (*name).to_owned()).collect() };
        for name in PROGRAMS {
            let found = ["/usr/bin", "/bin"].map(|directory| Path::new(directory).join(name));
            symlink(found.iter().find(|path| path.exists()).unwrap(), world.bin().join(name)).unwrap();
        }
        // For `bash -c LINE` in a text. The interpreter makes groups of those.
        for shell in ["bash", "sh"] {
            symlink(Path::new("/bin").join(shell), world.bin().join(shell)).unwrap();
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
            .args(["20", "/bin/bash", "--norc", "--noprofile", "-c", &format!("{DISABLED}{text}")])
            .current_dir(self.work());
        process.stdin(Stdio::null()).stdout(stdout.try_clone().unwrap()).stderr(Stdio::null());
        let status = started(&mut process);
        Outcome { status: status.code().unwrap(), stdout: read(&mut stdout), files: self.files() }
    }

    /// What the interpreter makes of it; `None` if it is refused at its turn.
    fn interpret(&self, line: &Line) -> Option<Outcome> {
        self.prepare();
        let mut stdout = tempfile::tempfile().unwrap();
        let streams = Streams {
            stdin: File::open("/dev/null").unwrap().into(),
            stdout: stdout.try_clone().unwrap().into(),
            stderr: OpenOptions::new().write(true).open("/dev/null").unwrap().into(),
        };
        let mut shell = Interpreter { world: self, directory: self.work() };
        let status = match shell.line(line, &streams, 0) {
            Ok(status) | Err(Stop::Exit(status)) => status,
            Err(Stop::Refused) => return None,
        };
        Some(Outcome { status, stdout: read(&mut stdout), files: self.files() })
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

    /// Compares one text; `None` if it is refused.
    fn compare(&self, text: &str) -> Option<()> {
        let line = Line::read(text).and_then(|line| line.open_shells(&|_| false)).ok()?;
        if !self.is_harmless(&line, text) {
            return None;
        }
        let own = self.interpret(&line)?;
        // Where several stages write to one stream, bash does not always write in the order of the interpreter.
        let mut of_bash = self.bash(text);
        for _ in 0..40 {
            if own == of_bash || !text.contains('|') {
                break;
            }
            of_bash = self.bash(text);
        }
        let is_unordered = text.contains('|') && text.contains('&') && own.sorted() == of_bash.sorted();
        // Its commands may meet a pipe that nobody reads any more; the interpreter never does.
        if own != of_bash && (is_unordered || may_meet_broken_pipes(&line)) {
            return None;
        }
        let same = own.files.iter().filter(|(name, text)| of_bash.files.get(*name) == Some(text));
        let same: Vec<String> = same.map(|(name, _)| name.clone()).collect();
        let without = |mut outcome: Outcome| {
            outcome.files.retain(|name, _| !same.contains(name));
            outcome
        };
        assert_eq!(without(own), without(of_bash), "left: ours, right: bash, of {text:?}");
        Some(())
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

/// Whether a group writes into a pipe, and a stage behind it may end before it has read everything.
fn may_meet_broken_pipes(line: &Line) -> bool {
    line.pipelines().any(|pipeline| {
        let groups = pipeline.stages.iter().filter_map(|stage| match &stage.command {
            Command::Group(group) => Some(group),
            Command::Simple(_) => None,
        });
        let first = pipeline.stages.iter().position(|stage| matches!(stage.command, Command::Group(_)));
        let readers = pipeline.stages.iter().skip(first.map_or(usize::MAX, |first| first + 1));
        let reads_all = |simple: &Simple| {
            let reads = |redirection: &Redirection| {
                matches!(redirection, Redirection::Read(_) | Redirection::Document(_) | Redirection::HereString(_))
            };
            let words: Vec<_> = simple.words.iter().filter_map(allowexec::lines::Word::text).collect();
            let is_reader = ["cat", "sort", "wc -c", "tr a-z A-Z"].contains(&words.join(" ").as_str());
            is_reader && !simple.redirections.iter().any(reads)
        };
        groups.into_iter().any(|group| may_meet_broken_pipes(&group.line))
            || readers.into_iter().any(|stage| !stage.command.simple().is_some_and(reads_all))
    })
}

fn read(file: &mut File) -> String {
    let mut bytes = Vec::new();
    file.rewind().unwrap();
    file.read_to_end(&mut bytes).unwrap();
    String::from_utf8_lossy(&bytes).into_owned()
}

struct Streams {
    stdin: OwnedFd,
    stdout: OwnedFd,
    stderr: OwnedFd,
}

impl Streams {
    fn copy(&self) -> Self {
        Self { stdin: copy(&self.stdin), stdout: copy(&self.stdout), stderr: copy(&self.stderr) }
    }
}

fn copy(descriptor: &OwnedFd) -> OwnedFd {
    descriptor.try_clone().unwrap()
}

enum Stop {
    Exit(i32),
    Refused,
}

struct Interpreter<'a> {
    world: &'a World,
    directory: PathBuf,
}

impl Interpreter<'_> {
    /// `status` is that of the command in front of it.
    fn line(&mut self, line: &Line, streams: &Streams, mut status: i32) -> Result<i32, Stop> {
        for list in &line.lists {
            status = self.pipeline(&list.first, streams, status)?;
            for (connector, pipeline) in &list.rest {
                if (*connector == Connector::And) == (status == 0) {
                    status = self.pipeline(pipeline, streams, status)?;
                }
            }
        }
        Ok(status)
    }

    /// Runs the stages one after the other: what they print fits into their pipes.
    fn pipeline(&mut self, pipeline: &Pipeline, streams: &Streams, before: i32) -> Result<i32, Stop> {
        let mut status = 0;
        let mut is_redirected = true;
        let mut stdin = copy(&streams.stdin);
        for (at, stage) in pipeline.stages.iter().enumerate() {
            let mut own = streams.copy();
            own.stdin = stdin;
            let (reader, writer) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).unwrap();
            rustix::pipe::fcntl_setpipe_size(&writer, 1 << 20).unwrap();
            if at + 1 < pipeline.stages.len() {
                own.stdout = writer;
            }
            status = match &stage.command {
                Command::Simple(simple) => self.simple(simple, own, stage.pipes_stderr, before)?,
                Command::Group(group) => {
                    let of_group = self.group(group, own, stage.pipes_stderr, before)?;
                    is_redirected = of_group.is_some();
                    of_group.unwrap_or(1)
                }
            };
            stdin = reader;
        }
        Ok(pipeline.status(status, is_redirected))
    }

    /// `None` if a redirection failed.
    fn group(
        &mut self,
        group: &Group,
        mut streams: Streams,
        pipes_stderr: bool,
        before: i32,
    ) -> Result<Option<i32>, Stop> {
        if !self.redirect(&group.redirections, &mut streams, pipes_stderr)? {
            return Ok(None);
        }
        let before = if group.shell.is_some() { 0 } else { before };
        let mut inner = Interpreter { world: self.world, directory: self.directory.clone() };
        match inner.line(&group.line, &streams, before) {
            Ok(status) | Err(Stop::Exit(status)) => Ok(Some(status)),
            Err(Stop::Refused) => Err(Stop::Refused),
        }
    }

    fn simple(&mut self, simple: &Simple, mut streams: Streams, pipes_stderr: bool, before: i32) -> Result<i32, Stop> {
        let directory = self.directory.clone();
        let variables = |name: &str| match name {
            "PWD" => Some(directory.to_str().unwrap().to_owned()),
            _ => World::variables().into_iter().find(|(known, _)| *known == name).map(|(_, value)| value.to_owned()),
        };
        let mut names = Names { directory: directory.clone() };
        let expanded: Result<Vec<Vec<String>>, ExpandError> =
            simple.words.iter().map(|word| word.expand(&variables, &mut names)).collect();
        let words = expanded.map_err(|_| Stop::Refused)?.concat();
        let mut values = Vec::new();
        for assignment in &simple.assignments {
            values.push((assignment.name.clone(), assignment.value.expand(&variables).map_err(|_| Stop::Refused)?));
        }
        if !self.redirect(&simple.redirections, &mut streams, pipes_stderr)? {
            return Ok(1);
        }
        match Builtin::of(&words) {
            Some(Ok(Builtin::True)) => return Ok(0),
            Some(Ok(Builtin::False)) => return Ok(1),
            Some(Ok(Builtin::Exit(status))) => return Err(Stop::Exit(status.map_or(before, i32::from))),
            Some(Ok(Builtin::Cd(target))) => {
                let target = self.directory.join(target);
                let target = fs::canonicalize(target).ok().filter(|target| target.is_dir());
                let Some(target) = target else { return Self::fail(&streams).map(|_| 1) };
                self.directory = target;
                return Ok(0);
            }
            Some(Err(_)) => return Err(Stop::Refused),
            None => {}
        }
        let Some((name, arguments)) = words.split_first() else { return Ok(0) };
        assert!(self.world.names.contains(name), "{name}");
        let mut process = self.world.process(&self.world.bin().join(name));
        process.arg0(name).args(arguments).envs(values).env("PWD", &self.directory).current_dir(&self.directory);
        process.stdin(streams.stdin).stdout(streams.stdout).stderr(streams.stderr);
        let status = started(&mut process);
        Ok(status.code().unwrap_or_else(|| 128 + status.signal().unwrap()))
    }

    /// A command that fails without a program. Texts in which the message of bash is read are not compared.
    fn fail(streams: &Streams) -> Result<bool, Stop> {
        let device = |stat: rustix::fs::Stat| stat.st_rdev;
        let null = rustix::fs::stat("/dev/null").map(device);
        if rustix::fs::fstat(&streams.stderr).map(device) == null { Ok(false) } else { Err(Stop::Refused) }
    }

    /// Whether all of them could be done.
    fn redirect(&self, redirections: &[Redirection], streams: &mut Streams, pipes_stderr: bool) -> Result<bool, Stop> {
        let variables = |name: &str| match name {
            "PWD" => Some(self.directory.to_str().unwrap().to_owned()),
            _ => World::variables().into_iter().find(|(known, _)| *known == name).map(|(_, value)| value.to_owned()),
        };
        for redirection in redirections {
            let path = |value: &allowexec::lines::Value| {
                value.expand(&variables).map(|path| self.directory.join(path)).map_err(|_| Stop::Refused)
            };
            match redirection {
                Redirection::Read(source) => match File::open(path(source)?) {
                    Ok(file) => streams.stdin = file.into(),
                    Err(_) => return Self::fail(streams),
                },
                Redirection::Write { stream, mode, target } => {
                    let is_empty = target.expand(&variables).is_ok_and(|text| text.is_empty());
                    let mut options = OpenOptions::new();
                    options.create(true).write(true).append(*mode == Mode::Append).truncate(*mode == Mode::Replace);
                    let Ok(file) = options.open(path(target)?) else { return Self::fail(streams) };
                    if is_empty {
                        return Self::fail(streams);
                    }
                    let file = OwnedFd::from(file);
                    if *stream != Stream::Stderr {
                        streams.stdout = copy(&file);
                    }
                    if *stream != Stream::Stdout {
                        streams.stderr = file;
                    }
                }
                Redirection::StderrToStdout => streams.stderr = copy(&streams.stdout),
                Redirection::StdoutToStderr => streams.stdout = copy(&streams.stderr),
                Redirection::Document(text) => streams.stdin = holding(text),
                Redirection::HereString(value) => {
                    streams.stdin = holding(&(value.expand(&variables).map_err(|_| Stop::Refused)? + "\n"));
                }
            }
        }
        if pipes_stderr {
            streams.stderr = copy(&streams.stdout);
        }
        Ok(true)
    }
}

fn holding(text: &str) -> OwnedFd {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(text.as_bytes()).unwrap();
    file.rewind().unwrap();
    file.into()
}

struct Names {
    directory: PathBuf,
}

impl Directories for Names {
    fn names(&mut self, path: &str) -> Result<Option<Vec<OsString>>, Outside> {
        let entries = fs::read_dir(self.directory.join(path)).ok();
        Ok(entries.map(|entries| entries.map(|entry| entry.unwrap().file_name()).collect()))
    }

    fn exists(&mut self, path: &str) -> Result<bool, Outside> {
        Ok(fs::symlink_metadata(self.directory.join(path)).is_ok())
    }
}

/// How many texts to try, and from which seed.
fn amount(normal: usize) -> (usize, u64) {
    let of = |name: &str| env::var(name).ok().map(|text| text.parse().unwrap());
    (of("ALLOWEXEC_LINES").map_or(normal, |amount: u64| amount.try_into().unwrap()), of("ALLOWEXEC_SEED").unwrap_or(36))
}

#[test]
fn lines_of_the_grammar_do_what_bash_does() {
    let world = World::new();
    let (amount, seed) = amount(600);
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
    let (amount, seed) = amount(1_500);
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
    let (amount, seed) = amount(1_500);
    let mut generator = Generator::new(seed + 2);
    let mut compared = 0;
    for _ in 0..amount {
        compared += usize::from(world.compare(&generator.random()).is_some());
    }
    assert!(compared * 50 > amount, "{compared} of {amount} were read and compared");
}
