//! The streams of the commands of a line.

use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::rc::Rc;

use crate::exec::StreamName;
use crate::exec::os::{Ends, Watch};
use crate::poll::pipe;

/// An end of a pipe, or a file, that commands write to or read from. It is closed once no command to come needs it.
#[derive(Debug)]
pub(super) struct Target {
    fd: OwnedFd,
    /// The stream of the call, if the server reads it.
    captured: Option<StreamName>,
}

impl Target {
    /// An end of a pipe that the server reads.
    pub(super) fn captured(fd: OwnedFd, name: StreamName) -> Rc<Self> {
        Rc::new(Self { fd, captured: Some(name) })
    }

    /// A file, or an end of a pipe to a command or from one.
    pub(super) fn of(fd: OwnedFd) -> Rc<Self> {
        Rc::new(Self { fd, captured: None })
    }

    /// `/dev/null`, to write to.
    pub(super) fn null() -> io::Result<Rc<Self>> {
        let null = std::fs::OpenOptions::new().write(true).open("/dev/null")?;
        Ok(Self::of(null.into()))
    }

    /// A pipe between two commands: the end to read from, and the end to write to.
    pub(super) fn between() -> io::Result<(Rc<Self>, Rc<Self>)> {
        let (read, write) = pipe()?;
        Ok((Self::of(read), Self::of(write)))
    }

    /// The descriptor for one command: this one if no other command needs it, else a copy.
    fn into_fd(self: Rc<Self>) -> io::Result<OwnedFd> {
        match Rc::try_unwrap(self) {
            Ok(target) => Ok(target.fd),
            Err(shared) => shared.fd.try_clone(),
        }
    }

    /// Writes what the server says in place of a command.
    fn say(&self, text: &str, watch: &mut Watch) -> io::Result<()> {
        if let Some(name) = self.captured {
            return watch.say(name, text.as_bytes());
        }
        let mut file = std::fs::File::from(self.fd.try_clone()?);
        let text = text.to_owned();
        // A full disk or a pipe that nobody reads loses a message, as it does for a shell.
        let mut write = move || drop(file.write_all(text.as_bytes()));
        if std::fs::File::from(self.fd.try_clone()?).metadata()?.is_file() {
            write();
            return Ok(());
        }
        // A pipe may be full, and whoever reads it may never do so. When the call ends, its readers do, and then this thread.
        std::thread::Builder::new().name("message".into()).spawn(write).map(drop)
    }
}

/// The streams of a command, or of the commands of a group.
#[derive(Debug, Clone)]
pub(super) struct Streams {
    /// `None` for nothing to read.
    pub stdin: Option<Rc<Target>>,
    pub stdout: Rc<Target>,
    pub stderr: Rc<Target>,
}

impl Streams {
    /// Writes what the server says in place of the command to its standard error.
    pub(super) fn say(&self, text: &str, watch: &mut Watch) -> io::Result<()> {
        self.stderr.say(text, watch)
    }

    /// The streams for a process.
    pub(super) fn into_ends(self) -> io::Result<Ends> {
        let Self { stdin, stdout, stderr } = self;
        // An end that both lead to is shared until one of them has its own.
        let stdout = stdout.into_fd()?;
        Ok(Ends { stdin: stdin.map(Target::into_fd).transpose()?, stdout, stderr: stderr.into_fd()? })
    }
}
