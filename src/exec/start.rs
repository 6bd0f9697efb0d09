//! Starts processes: the one place where the server makes them.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

use super::os::{self, Ends};
use super::own_directory::is_inherited;
use super::processes::result;
use super::{
    ExecError, Launch, Launcher, Limits, OnStart, Output, Processes, StartedCommand, StopSignal, Streams, Told,
    own_binary, since_1970, spawn_error,
};
use crate::files::FileState;
use crate::integrity::{Checked, Untrusted};
use crate::policy::AllowedCommand;

/// A process that was started.
pub(crate) struct Started {
    /// The process.
    pub child: os::Spawned,
    /// The launcher that became it, if its limits needed one.
    pub launch: Option<Launch>,
}

impl Processes {
    /// Starts the program of the command by its absolute path, with the client's word as `argv[0]`, in a process group of its
    /// own, in the directory that was checked. Tells `on_start` of it.
    ///
    /// # Errors
    /// [`ExecError`], and then nothing was started.
    pub(crate) fn start(
        &self,
        launcher: Option<&Launcher>,
        allowed: &AllowedCommand,
        mut ends: Ends,
        on_start: Option<OnStart>,
    ) -> Result<Started, ExecError> {
        let checked = self.checked(allowed)?;
        let launch = launcher.map(|launcher| launcher.begin(&mut ends.stdin, checked.as_ref())).transpose();
        let launch = launch.map_err(|source| ExecError::Limits { source })?;
        let mut command = match launch {
            None => {
                let path = checked.as_ref().map_or_else(|| allowed.program().to_owned(), Checked::spawn_path);
                let mut command = Command::new(path);
                command.args(allowed.words().iter().skip(1));
                command
            }
            Some(_) => {
                let binary = own_binary().map_err(|source| ExecError::Limits { source })?;
                let mut command = Command::new(binary);
                command.args(Launch::arguments(allowed.program(), allowed.words()));
                command
            }
        };
        self.surround(&mut command, allowed);
        ends.connect(&mut command);
        let program = allowed.program();
        // As late as can be: what was checked is what runs.
        if checked.as_ref().is_some_and(|checked| !checked.is_unchanged()) {
            return Err(ExecError::Untrusted { source: Untrusted::Changed { program: program.to_owned() } });
        }
        let file = on_start.is_some().then(|| FileState::of(program).ok()).flatten();
        let child = os::spawn(command).map_err(|source| match launch {
            // The launcher is started with the same words, and has some of its own.
            Some(_) if source.kind() != io::ErrorKind::ArgumentListTooLong => ExecError::Limits { source },
            None | Some(_) => spawn_error(program.to_owned(), source),
        })?;
        if let Some(OnStart(tell)) = on_start {
            let sha256 = checked.as_ref().and_then(Checked::known_sha256);
            tell(StartedCommand { pid: Some(child.id()), program: program.to_owned(), file, sha256 });
        }
        Ok(Started { child, launch })
    }

    /// Opens and checks the program, where something is demanded of it. Then it is executed by its handle where that is
    /// possible; else by its path, since a program that is executed by a handle has another name in the list of processes.
    fn checked(&self, command: &AllowedCommand) -> Result<Option<Checked>, ExecError> {
        let program = || command.program().to_owned();
        let untrusted = |source| match source {
            Untrusted::Gone { program } => ExecError::ProgramGone { program },
            source => ExecError::Untrusted { source },
        };
        let checked = match &self.guard {
            Some(guard) => guard.check(command.program(), since_1970()).map_err(untrusted)?,
            None if command.is_approved() => {
                Checked::open(command.program()).map_err(|_| ExecError::ProgramChanged { program: program() })?
            }
            None => return Ok(None),
        };
        if command.is_changed_since_approval(&checked) {
            return Err(ExecError::ProgramChanged { program: program() });
        }
        Ok(Some(checked))
    }

    /// Gives it the directory of the command and its environment, and a group of its own.
    fn surround(&self, command: &mut Command, allowed: &AllowedCommand) {
        if !is_inherited(allowed.directory().held()) {
            command.current_dir(allowed.directory().spawn_path());
        }
        command.env_clear().envs(self.environment.variables());
        if self.environment.variables().any(|(name, _)| name == "PWD") {
            command.env("PWD", allowed.directory().path());
        }
        let describes = allowed.rule().is_some_and(|rule| rule.describes_arguments());
        for name in self.environment.of_reading().iter().filter(|_| describes) {
            command.env_remove(name);
        }
        for name in &allowed.env().unset {
            command.env_remove(name);
        }
        command.envs(&allowed.env().set);
        os::prepare(command, allowed.words());
    }
}

/// A program of the operator's own, which no client names and no sandbox confines.
#[derive(Debug, Clone)]
pub(crate) struct OperatorProgram {
    /// Its absolute path.
    pub program: PathBuf,
    /// `argv`, of which the first is what the operator calls it.
    pub words: Vec<String>,
    /// All of its environment.
    pub environment: BTreeMap<OsString, OsString>,
    /// Where it runs.
    pub directory: PathBuf,
}

impl OperatorProgram {
    /// Runs it to its end, with this on its standard input, and blocks until then. Its tree ends with it.
    ///
    /// # Errors
    /// [`ExecError`], where it could not be started or watched.
    pub(crate) fn run(
        &self,
        input: Vec<u8>,
        (name, value): (&str, &str),
        limits: Limits,
        stop: &StopSignal,
    ) -> Result<Output, ExecError> {
        let told = Told { started: Instant::now(), heartbeat: None, spool: None };
        let start = |ends: Ends| {
            let mut command = Command::new(&self.program);
            command.args(self.words.iter().skip(1)).current_dir(&self.directory);
            command.env_clear().envs(&self.environment).env(name, value);
            os::prepare(&mut command, &self.words);
            ends.connect(&mut command);
            os::spawn(command).map(|child| Started { child, launch: None })
        };
        let ran = os::run(Streams::Captured, (Some(input), None), stop, limits, told, start);
        result(ran.map_err(|source| spawn_error(self.program.clone(), source))?, &self.program)
    }
}
