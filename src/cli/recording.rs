//! `--record`: opens the file and describes the server, so that a replay can start one like it.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::Path;

use super::error::CliError;
use super::stdio;
use crate::config::{Config, Flags, LogLevel, Replayable};
use crate::transcript::{Complaint, Header, OnFailure, Placeholders, Platform, Problem, Recorder};

/// Begins the recording that the configuration asks for.
pub(super) fn start(config: &Config, flags: &Flags) -> Result<Option<Recorder>, CliError> {
    let Some(name) = &config.record.value else { return Ok(None) };
    let failed = |source| CliError::Record { file: name.display().to_string(), source };
    let directory = &config.surroundings.directory;
    let placeholders = Placeholders::of_recording(directory).map_err(failed)?;
    let settings = Replayable::new(config, flags)?;
    let header = header(&settings, &placeholders, name)?;
    let on_failure = if config.record_required.value { OnFailure::End } else { OnFailure::GoOn };
    let file = open(&directory.join(name)).map_err(failed)?;
    let recorder =
        Recorder::start(file, &header, placeholders.clone(), on_failure, complaint(config)).map_err(failed)?;
    let here = directory.display().to_string();
    if placeholders.hide_directory(&here) != here {
        recorder.comment(&format!("Recorded in {here}, which is written [tmp]."));
    }
    for setting in settings.left_out {
        recorder.comment(&format!(
            "The setting `{setting}` is missing: an entry of it holds a comma, which no flag can say."
        ));
    }
    Ok(Some(recorder))
}

/// Whether a recording could begin, as far as that can be told without touching its file.
pub(super) fn check(config: &Config, flags: &Flags) -> Result<(), CliError> {
    let Some(name) = &config.record.value else { return Ok(()) };
    let failed = |source| CliError::Record { file: name.display().to_string(), source };
    let directory = &config.surroundings.directory;
    let placeholders = Placeholders::of_recording(directory).map_err(failed)?;
    header(&Replayable::new(config, flags)?, &placeholders, name)?;
    could_open(&directory.join(name)).map_err(failed)
}

/// The session's own status, or the failure of a recording that was required.
pub(super) fn finish(recorder: &Recorder, config: &Config) -> Result<(), CliError> {
    recorder.ended(0);
    if config.record_required.value && !recorder.is_complete() {
        let file = config.record.value.as_deref().map_or_else(String::new, |name| name.display().to_string());
        let source = io::Error::other("a line could not be written, so the session was ended");
        return Err(CliError::Record { file, source });
    }
    Ok(())
}

/// A new file in place of an old one, readable by its owner alone where the system knows modes: a session may hold secrets.
/// Where a client starts the server twice at once, the file is the second one's, and the first one writes on without it.
fn open(path: &Path) -> io::Result<File> {
    if fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_file()) {
        take_away(path)?;
    }
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Whether [`open`] would find what it needs. Windows has no such question: there it is asked for the directory alone.
fn could_open(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    let is_new = fs::metadata(path).is_err();
    if is_new || fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_file()) {
        // Behind a file that is no directory there is no `.` either.
        let directory = path.parent().unwrap_or(path).join(".");
        fs::metadata(&directory)?;
        return may_change(&directory);
    }
    may_change(path)
}

#[cfg(unix)]
fn may_change(path: &Path) -> io::Result<()> {
    use rustix::fs::Access;
    let asked = if path.is_dir() { Access::WRITE_OK | Access::EXEC_OK } else { Access::WRITE_OK };
    Ok(rustix::fs::access(path, asked)?)
}

#[cfg(not(unix))]
fn may_change(_: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(not(windows))]
fn take_away(path: &Path) -> io::Result<()> {
    fs::remove_file(path)
}

/// On Windows a deleted file may keep its name as long as anybody has it open, and then nothing else can have that name.
/// So it gets another one first, beside the old one, which is what may stay until the other server ends.
#[cfg(windows)]
fn take_away(path: &Path) -> io::Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".replaced-{}", uuid::Uuid::new_v4()));
    let aside = path.with_file_name(name);
    fs::rename(path, &aside)?;
    fs::remove_file(&aside).inspect_err(|_| {
        // It can't be deleted, and so it keeps its place; the error that is told is the one that says why.
        let _ = fs::rename(&aside, path);
    })
}

fn header(settings: &Replayable, placeholders: &Placeholders, file: &Path) -> Result<Header, CliError> {
    header_of(settings, placeholders)
        .map_err(|problem| CliError::Unrecordable { file: file.display().to_string(), problem })
}

fn header_of(settings: &Replayable, placeholders: &Placeholders) -> Result<Header, Problem> {
    let platform = if cfg!(windows) { Platform::Windows } else { Platform::Unix };
    let header = Header::default().with_version(env!("CARGO_PKG_VERSION"))?.with_platform(platform);
    let mut args = settings.args.iter();
    let header = args.try_fold(header, |header, arg| header.with_arg(&placeholders.hide_directory(arg)))?;
    let mut env = settings.env.iter();
    env.try_fold(header, |header, (name, value)| header.with_env(name, &placeholders.hide_directory(value)))
}

fn complaint(config: &Config) -> Complaint {
    let level = config.log.value;
    let heard = level != LogLevel::Off && LogLevel::Warn <= level;
    let mut sink = stdio::log_sink();
    Box::new(move |error| {
        if heard {
            sink(&format!("warn: the session can't be recorded any more: {error}"));
        }
    })
}
