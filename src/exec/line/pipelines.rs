//! One pipeline of a line: decided, its files opened, its commands started.

use std::io;
use std::path::Path;
use std::rc::Rc;

use super::failures::Status;
use super::interpreter::{Interpreter, Next, Place, lost};
use super::streams::{Streams, Target};
use super::{Given, LineError};
use crate::exec::os::{Role, Watch};
use crate::exec::{End, ExecError, Failure, StreamName, failed};
use crate::lines::{Builtin, Command, Pipeline, Stream};
use crate::policy::AllowedCommand;
use crate::policy::line::{CreatedFiles, DecidedRedirection, DecidedStage, Position, StageWork};
use crate::policy::rules::CommandRule;

/// The status of a command that there is no program for, and of one that can't be executed.
const NOT_FOUND: i32 = 127;
const NOT_EXECUTED: i32 = 126;
/// SIGPIPE, and the status of a program that reports it.
const SIGPIPE: i32 = 13;
const BROKEN_PIPE: i32 = 128 + SIGPIPE;

/// A pipeline whose stages run.
pub(super) struct Running<'l> {
    /// The line that it is in.
    pub sequence: usize,
    pipeline: &'l Pipeline,
    stages: Vec<Option<Status>>,
    /// Whether the redirections of the last stage could be done.
    is_redirected: bool,
    /// Whether it is all that stands in its parentheses.
    is_alone: bool,
    /// Whether it is `exit`, whose status no `!` changes.
    exits: bool,
}

impl Running<'_> {
    /// Takes the status of a stage; returns whether it was the last to end.
    pub(super) fn ended(&mut self, stage: usize, status: Status) -> bool {
        if let Some(ended) = self.stages.get_mut(stage) {
            *ended = Some(status);
        }
        self.stages.iter().all(Option::is_some)
    }

    /// The status of the pipeline, whose stages have ended.
    pub(super) fn status(&self) -> Status {
        let last = self.stages.last().copied().flatten().unwrap_or_default();
        if self.exits {
            return last;
        }
        // A shell that is nothing but this pipeline negates its status in any case.
        let code = self.pipeline.status(last.code, self.is_redirected || self.is_alone);
        if code == last.code { last } else { Status::of_code(code) }
    }
}

/// A process of a line.
pub(super) struct Child {
    /// The number of its command.
    pub number: usize,
    pub place: Place,
    /// The word of its command, for messages.
    word: String,
    /// The beginning of messages about it.
    says: String,
    /// Its name where its failure is told; `None` if that is not told.
    name: Option<String>,
    /// The codes that are no failure.
    success: Vec<i32>,
    /// Whether another command reads what it writes.
    is_read: bool,
    /// Whether it reads from another command, or from a file of the line.
    reads: bool,
}

impl Child {
    /// Its name, if a failure with this code is to be told.
    pub(super) fn name_to_tell(self, code: i32) -> Option<String> {
        let is_broken_pipe = self.is_read && code == BROKEN_PIPE;
        self.name.filter(|_| !is_broken_pipe && !self.success.contains(&code))
    }

    /// Its part in its pipeline.
    pub(super) fn role(&self) -> Role {
        match (self.reads, self.is_read) {
            (false, _) => Role::Begins,
            (true, true) => Role::Passes,
            (true, false) => Role::Prints,
        }
    }

    /// Its status, now that it has ended.
    pub(super) fn status(&self, end: End, failure: Option<Failure>, watch: &mut Watch) -> Result<i32, LineError> {
        let source = match failure {
            None => {
                return Ok(match end {
                    End::Exited(code) => code,
                    End::Signaled(signal) => 128 + signal,
                    End::TimedOut(_) | End::Stopped => NOT_EXECUTED,
                });
            }
            Some(Failure::Exec(source)) => source,
            Some(failure) => return Err(LineError::Failed(failed(failure, Path::new(&self.word)))),
        };
        let (code, why) = not_executed(&source);
        let text = format!("{}{}: {why}\n", self.says, self.word);
        watch.say(StreamName::Stderr, text.as_bytes()).map_err(lost)?;
        Ok(code)
    }
}

/// The status of a program that the system does not execute, and what a shell says of it. A file without `#!` that is no
/// program is never read as a script.
fn not_executed(source: &io::Error) -> (i32, String) {
    const ENOEXEC: i32 = rustix::io::Errno::NOEXEC.raw_os_error();
    match (source.kind(), source.raw_os_error()) {
        (io::ErrorKind::NotFound, _) => (NOT_FOUND, "No such file or directory".to_owned()),
        (io::ErrorKind::PermissionDenied, _) => (NOT_EXECUTED, "Permission denied".to_owned()),
        (io::ErrorKind::ArgumentListTooLong, _) => (NOT_EXECUTED, "Argument list too long".to_owned()),
        (_, Some(ENOEXEC)) => (NOT_EXECUTED, "cannot execute binary file: Exec format error".to_owned()),
        _ => (NOT_EXECUTED, source.to_string()),
    }
}

/// A stage whose streams are connected, and whether its redirections could be done.
struct Prepared {
    stage: DecidedStage,
    streams: Streams,
    /// The beginning of messages about it.
    says: String,
    is_redirected: bool,
}

impl<'l> Interpreter<'l> {
    /// Decides on a pipeline of the line of this number, opens what its redirections name, and starts its commands; returns what
    /// comes next without any process ending.
    pub(super) fn begin_pipeline(
        &mut self,
        (sequence, is_told): (usize, bool),
        pipeline: &'l Pipeline,
        streams: Streams,
        watch: &mut Watch,
    ) -> Result<Vec<Next>, LineError> {
        let Some(around) = self.sequence(sequence) else { return Ok(Vec::new()) };
        let (position, shell, is_alone) = (around.position.clone(), around.shell, around.is_one_in_parentheses());
        let is_read_as_group = around.is_read;
        let stages = self.decides.decide(pipeline, &position)?;
        stages.iter().filter_map(|stage| stage.timeout).for_each(|timeout| watch.at_most(timeout));
        let prepared = self.prepare((pipeline, shell), stages, streams, watch)?;
        let number = self.pipelines.len();
        let is_redirected = prepared.last().is_none_or(|last| last.is_redirected);
        let stages = vec![None; pipeline.stages.len()];
        self.pipelines.push(Some(Running { sequence, pipeline, stages, is_redirected, is_alone, exits: false }));
        let mut next = Vec::new();
        for (stage, (written, prepared)) in pipeline.stages.iter().zip(prepared).enumerate() {
            let place = Place { pipeline: number, stage };
            let is_read = is_read_as_group || stage + 1 < pipeline.stages.len();
            let begun = self.begin_stage((sequence, is_told, is_read), &written.command, place, prepared, watch)?;
            next.extend(begun);
        }
        Ok(next)
    }

    /// Connects the stages, and opens their files from left to right.
    fn prepare(
        &mut self,
        (pipeline, shell): (&Pipeline, &str),
        stages: Vec<DecidedStage>,
        streams: Streams,
        watch: &mut Watch,
    ) -> Result<Vec<Prepared>, LineError> {
        let Streams { stdin, stdout, stderr } = streams;
        let (mut stdin, last) = (stdin, pipeline.stages.len().saturating_sub(1));
        let mut created = CreatedFiles::default();
        let mut prepared = Vec::with_capacity(stages.len());
        for (number, (mut stage, written)) in stages.into_iter().zip(&pipeline.stages).enumerate() {
            let (next, stdout) = match number == last {
                true => (None, Rc::clone(&stdout)),
                false => Target::between().map(|(read, write)| (Some(read), write)).map_err(lost)?,
            };
            let mut streams =
                Streams { stdin: std::mem::replace(&mut stdin, next), stdout, stderr: Rc::clone(&stderr) };
            let redirections = std::mem::take(&mut stage.redirections);
            let rule = match &stage.work {
                StageWork::Program(command) => command.rule().map(|rule| &**rule),
                _ => None,
            };
            let redirected = self.redirect(&mut streams, redirections, rule, (&mut created, watch))?;
            let says = begin_of_messages(shell, &written.command);
            if let Err(why) = &redirected {
                streams.say(&format!("{says}{why}\n"), watch).map_err(lost)?;
            }
            if written.pipes_stderr {
                streams.stderr = Rc::clone(&streams.stdout);
            }
            prepared.push(Prepared { stage, streams, says, is_redirected: redirected.is_ok() });
        }
        Ok(prepared)
    }

    /// Does the redirections of a stage, from left to right; returns why one can't be done, for a shell's message.
    fn redirect(
        &mut self,
        streams: &mut Streams,
        redirections: Vec<DecidedRedirection>,
        rule: Option<&CommandRule>,
        (created, watch): (&mut CreatedFiles, &mut Watch),
    ) -> Result<Result<(), String>, LineError> {
        for redirection in redirections {
            let (file, stream) = match redirection {
                DecidedRedirection::StderrToStdout => {
                    streams.stderr = Rc::clone(&streams.stdout);
                    continue;
                }
                DecidedRedirection::StdoutToStderr => {
                    streams.stdout = Rc::clone(&streams.stderr);
                    continue;
                }
                DecidedRedirection::NullInput => {
                    streams.stdin = None;
                    continue;
                }
                DecidedRedirection::Input(text) => {
                    streams.stdin = Some(Target::of(watch.input(text, None).map_err(lost)?));
                    continue;
                }
                DecidedRedirection::NullOutput(stream) => {
                    write_to(streams, stream, &Target::null().map_err(lost)?);
                    continue;
                }
                DecidedRedirection::Unusable { sentence } => return Ok(Err(sentence)),
                DecidedRedirection::ReadFile(file) => (file, None),
                DecidedRedirection::WriteFile(stream, file) => (file, Some(stream)),
            };
            let name = file.name().to_owned();
            let path = stream.map(|_| file.path());
            let opened = match self.starters.open(rule, file, created).map_err(LineError::Failed)? {
                Ok(opened) => Target::of(opened),
                Err(source) => {
                    self.unopened.extend(path.filter(|_| source.kind() == io::ErrorKind::PermissionDenied));
                    return Ok(Err(format!("{name}: {}", said_of(&source))));
                }
            };
            match stream {
                Some(stream) => write_to(streams, stream, &opened),
                None => streams.stdin = Some(opened),
            }
        }
        Ok(Ok(()))
    }

    /// Begins one stage; returns what comes next, unless it is a process that runs.
    fn begin_stage(
        &mut self,
        (sequence, is_told, is_read): (usize, bool, bool),
        command: &'l Command,
        place: Place,
        prepared: Prepared,
        watch: &mut Watch,
    ) -> Result<Option<Next>, LineError> {
        let Prepared { stage: DecidedStage { number, work, .. }, streams, says, is_redirected } = prepared;
        if !is_redirected {
            let name = name_of(&work).filter(|_| is_told);
            let code = self.sequence(sequence).map_or(1, |around| around.cannot);
            let status = self.failures.status(code, name);
            return Ok(Some(Next::Ended(place, status)));
        }
        let code = match work {
            StageWork::Program(command) => {
                return self.begin_program((number, is_told, is_read), (command, says), place, streams, watch);
            }
            StageWork::Group => {
                let Command::Group(group) = command else { return Ok(None) };
                let Some(around) = self.sequence(sequence) else { return Ok(None) };
                let inherits_input = streams.stdin.is_some();
                let position = Position { inherits_input, ..around.position.clone() };
                // A shell of its own knows nothing of the status before it.
                let status = Status::of_code(if group.shell.is_some() { 0 } else { around.status.code });
                let shell = group.shell.as_deref().filter(|word| word.ends_with("bash")).unwrap_or(around.shell);
                let line = ((&group.line, shell), group.shell.is_none());
                let cannot = match group.shell.as_deref() {
                    Some(shell) if shell.ends_with("bash") || shell.ends_with("zsh") => 1,
                    // `sh` is taken for dash.
                    Some(_) => 2,
                    None => around.cannot,
                };
                return Ok(Some(self.add_group(line, position, streams, (status, is_told, is_read, place), cannot)));
            }
            StageWork::NotFound { word, status: (code, why) } => {
                streams.say(&format!("{says}{word}: {why}\n"), watch).map_err(lost)?;
                let status = self.failures.status(code, Some(word).filter(|_| is_told));
                return Ok(Some(Next::Ended(place, status)));
            }
            StageWork::Nothing | StageWork::Builtin(Builtin::True) => 0,
            StageWork::Builtin(Builtin::False) => 1,
            StageWork::Builtin(Builtin::Exit(code)) => {
                let Some(around) = self.sequence(sequence) else { return Ok(None) };
                around.exit();
                let status = code.map_or(around.status, |code| Status::of_code(i32::from(code)));
                if let Some(Some(running)) = self.pipelines.get_mut(place.pipeline) {
                    running.exits = true;
                }
                return Ok(Some(Next::Ended(place, status)));
            }
            // Its directory was decided on.
            StageWork::Builtin(Builtin::Cd(_)) => 0,
            StageWork::Cd(Ok(directory)) => {
                if let Some(around) = self.sequence(sequence) {
                    around.position.directory = directory;
                }
                0
            }
            StageWork::Cd(Err(why)) => {
                streams.say(&format!("{says}{why}\n"), watch).map_err(lost)?;
                let code = self.sequence(sequence).map_or(1, |around| around.cannot);
                let status = self.failures.status(code, Some("cd".to_owned()).filter(|_| is_told));
                return Ok(Some(Next::Ended(place, status)));
            }
        };
        Ok(Some(Next::Ended(place, Status::of_code(code))))
    }

    /// Starts a program; returns its end, if it does not begin.
    fn begin_program(
        &mut self,
        (number, is_told, is_read): (usize, bool, bool),
        (command, says): (Box<AllowedCommand>, String),
        place: Place,
        mut streams: Streams,
        watch: &mut Watch,
    ) -> Result<Option<Next>, LineError> {
        let reads = streams.stdin.is_some();
        if !reads {
            streams.stdin = match self.input.take_if(|(reader, _)| *reader == number) {
                Some((_, Given::Bytes(input))) => Some(Target::of(watch.input(input, None).map_err(lost)?)),
                Some((_, Given::Own(stdin))) if command.takes_input() => Some(Target::of(stdin)),
                Some((_, Given::Own(_))) | None => None,
            };
        }
        let word = command.words().first().cloned().unwrap_or_default();
        let child = Child {
            number,
            place,
            name: is_told.then(|| command.name()),
            success: command.success_exit_codes().to_vec(),
            word,
            says,
            is_read,
            reads,
        };
        let stderr = Streams { stdin: None, ..streams.clone() };
        let ends = streams.into_ends().map_err(lost)?;
        let started = self.starters.start(command, ends, self.observes.on_start(number));
        let source = match started {
            Ok(started) => {
                drop(stderr);
                let number = watch.watch(started).map_err(lost)?;
                self.children.insert(number, child);
                return Ok(None);
            }
            Err(ExecError::Spawn { source, .. } | ExecError::TooLong { source, .. }) => source,
            Err(ExecError::ProgramGone { .. } | ExecError::InterpreterMissing { .. }) => io::ErrorKind::NotFound.into(),
            Err(error) => return Err(LineError::Failed(error)),
        };
        let (code, why) = not_executed(&source);
        stderr.say(&format!("{}{}: {why}\n", child.says, child.word), watch).map_err(lost)?;
        let name = child.name_to_tell(code);
        Ok(Some(Next::Ended(place, self.failures.status(code, name))))
    }
}

/// The beginning of a shell's messages about a command.
fn begin_of_messages(shell: &str, command: &Command) -> String {
    format!("{shell}: line {}: ", command.line_number())
}

/// The name of a stage where its failure is told.
fn name_of(work: &StageWork) -> Option<String> {
    match work {
        StageWork::Program(command) => Some(command.name()),
        StageWork::NotFound { word, .. } => Some(word.clone()),
        StageWork::Cd(_) | StageWork::Builtin(Builtin::Cd(_)) => Some("cd".to_owned()),
        StageWork::Builtin(Builtin::True | Builtin::False | Builtin::Exit(_))
        | StageWork::Group
        | StageWork::Nothing => None,
    }
}

fn write_to(streams: &mut Streams, stream: Stream, target: &Rc<Target>) {
    if matches!(stream, Stream::Stdout | Stream::Both) {
        streams.stdout = Rc::clone(target);
    }
    if matches!(stream, Stream::Stderr | Stream::Both) {
        streams.stderr = Rc::clone(target);
    }
}

/// The words of strerror(3), without the number that std adds.
fn said_of(source: &io::Error) -> String {
    let text = source.to_string();
    text.split(" (os error").next().unwrap_or_default().to_owned()
}
