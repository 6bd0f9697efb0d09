//! Where a session is recorded, and its header, from which a replay can start a server with the same settings.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde_json::Value;

use super::record;
use crate::cli::error::CliError;
use crate::cli::{log, stdio};
use crate::config::{Config, Flags, LogLevel, Replayable};
use crate::files::{Existing, Place, PlaceError, Replacement, create_directories};
use crate::server::LogSink;
use crate::text::time;
use crate::transcript::{Complaint, Header, OnFailure, Placeholders, Platform, Problem, Recorder};

/// The name of a recording, if none is given.
const UNNAMED: &str = "%c-%t-%p.transcript";
/// How many characters of a client's name can become part of a file's name.
const LONGEST_CLIENT: usize = 60;

/// Where a session is to be recorded.
pub(super) struct Target {
    /// The file as it was named, for people.
    shown: String,
    /// The file with its directory; `%t`, `%p` and `%c` are not filled in yet.
    path: PathBuf,
    /// The directories that commands work in.
    changeable: Vec<PathBuf>,
    existing: Existing,
    /// The directory to make, if it is missing.
    directory: Option<PathBuf>,
    /// The setting that named the file.
    how: &'static str,
}

/// An open file, which gets its name once its header is written.
pub(super) struct OpenTarget<'a> {
    target: &'a Target,
    replacement: Replacement,
    /// Its name, with `%c` until the client is known.
    name: String,
}

impl Target {
    /// The target of `--record`, if it is given. Below the directories that commands work in, links are not followed: a command
    /// of an earlier session may have put them there, so that the server writes the recording over a file that the command
    /// can't write itself.
    fn of_settings(config: &Config) -> Option<Self> {
        let here = &config.surroundings.directory;
        let name = config.record.value.as_ref()?;
        let (shown, path) = (name.display().to_string(), here.join(name));
        let changeable = config.changeable_directories();
        let existing = if config.record_force.value { Existing::IsReplaced } else { Existing::IsKept };
        Some(Self { shown, path, changeable, existing, directory: None, how: "`--record` or `ALLOWEXEC_RECORD`" })
    }

    /// The target of `allowexec record`, by its flags.
    pub(super) fn of_record(options: &record::Options, here: &Path) -> Self {
        let directory = options.directory.as_ref().map(|directory| here.join(directory));
        let within = directory.clone().unwrap_or_else(|| here.to_owned());
        let path = within.join(options.output.as_deref().unwrap_or(UNNAMED));
        let existing = if options.force { Existing::IsReplaced } else { Existing::IsKept };
        let shown = options.output.clone().unwrap_or_else(|| path.display().to_string());
        Self { shown, path, changeable: Vec::new(), existing, directory, how: "`--output` or `--dir`" }
    }

    /// Opens the file. It has no name yet, except on Windows.
    pub(super) fn open(&self) -> Result<OpenTarget<'_>, CliError> {
        self.directory
            .iter()
            .try_for_each(|directory| create_directories(directory))
            .map_err(|error| self.error(error.into()))?;
        let (place, name) = self.place().map_err(|error| self.error(error.into()))?;
        // If the client's name is part of the file's, it is checked later whether that file exists.
        let existing = if name.contains("%c") { Existing::IsReplaced } else { self.existing };
        let replacement = place.create(existing).map_err(|error| self.error(error))?;
        Ok(OpenTarget { target: self, replacement, name })
    }

    /// The error for this file, with how to mend it.
    pub(super) fn error(&self, source: PlaceError) -> CliError {
        let is_there = matches!(source, PlaceError::Exists);
        let how = if is_there { "put `%t` into the name, or give `--force` to replace it" } else { self.how };
        CliError::Record { file: self.shown.clone(), how, source }
    }

    /// The directory, held open, and the name of the file in it with `%t` and `%p` filled in.
    fn place(&self) -> io::Result<(Place, String)> {
        let name = self.path.file_name().ok_or(io::ErrorKind::IsADirectory)?;
        let name = name.to_str().ok_or_else(|| io::Error::other("the name is not UTF-8"))?;
        let name = filled(name, SystemTime::now());
        let changeable: Vec<&Path> = self.changeable.iter().map(PathBuf::as_path).collect();
        let meanwhile = self.path.with_file_name(with_client(&name, None));
        Ok((Place::open(&meanwhile, &changeable)?, name))
    }
}

/// Begins the recording that the configuration asks for.
pub(in crate::cli) fn start(config: &Config, flags: &Flags) -> Result<Option<Recorder>, CliError> {
    let Some(target) = Target::of_settings(config) else { return Ok(None) };
    let placeholders = placeholders(&target, config)?;
    let settings = Replayable::new(config, flags)?;
    let header = header(&settings, &placeholders, &target, &config.surroundings.directory)?;
    let on_failure = if config.record_required.value { OnFailure::End } else { OnFailure::GoOn };
    let opened = target.open()?;
    let recorder = opened.begin(&header, placeholders, on_failure, complaint(config.log.value, log::sink(config)?))?;
    for setting in settings.left_out {
        recorder.comment(&format!(
            "The setting `{setting}` is missing: an entry of it contains a comma, so it can't be written as a flag."
        ));
    }
    Ok(Some(recorder))
}

/// Begins the recording of a server that was started from its command line.
pub(super) fn of_server(opened: OpenTarget<'_>, options: &record::Options, here: &Path) -> Result<Recorder, CliError> {
    let target = opened.target;
    let placeholders = Placeholders::of_recording(here).map_err(|error| target.error(error.into()))?.keeping_versions();
    let basis = basis(here, &placeholders).map_err(|problem| target.unrecordable(problem))?;
    let mut words = options.command.iter().map(|word| placeholders.hide_directory(word));
    // An argument that is a script has line breaks, and a header can't contain them.
    let whole = words.try_fold(basis.clone(), |header, word| header.with_server(&word));
    let (header, unsaid) = match whole {
        Ok(header) => (header, None),
        Err(problem) => (basis, Some(problem)),
    };
    let spool = target.place().and_then(|(place, _)| spool(place)).map_err(|error| target.error(error.into()))?;
    let on_failure = if options.required { OnFailure::End } else { OnFailure::GoOn };
    let recorder = opened.begin(&header, placeholders, on_failure, complaint(LogLevel::Warn, Box::new(stdio::note)))?;
    if let Some(problem) = unsaid {
        recorder.comment(&format!("The command is missing, so a replay needs `--server`: {problem}"));
    }
    Ok(match spool {
        Some(spool) => recorder.with_spool(spool),
        None => recorder,
    })
}

/// Checks whether a recording could begin, as far as possible without touching its file.
pub(super) fn check(config: &Config, flags: &Flags) -> Result<(), CliError> {
    let Some(target) = Target::of_settings(config) else { return Ok(()) };
    let placeholders = placeholders(&target, config)?;
    header(&Replayable::new(config, flags)?, &placeholders, &target, &config.surroundings.directory)?;
    let (place, name) = target.place().map_err(|error| target.error(error.into()))?;
    let existing = if name.contains("%c") { Existing::IsReplaced } else { target.existing };
    place.could_create(existing).map_err(|error| target.error(error))
}

/// Ends the recording; an error if it was required and is not complete.
pub(in crate::cli) fn finish(recorder: &Recorder, config: &Config) -> Result<(), CliError> {
    recorder.ended(0);
    match Target::of_settings(config) {
        Some(target) if config.record_required.value && !recorder.is_complete() => {
            Err(target.error(io::Error::other("a line could not be written, so the session was ended").into()))
        }
        Some(_) | None => Ok(()),
    }
}

impl OpenTarget<'_> {
    /// Writes the header, and only then gives the file its name, which may replace an earlier recording.
    fn begin(
        self,
        header: &Header,
        placeholders: Placeholders,
        on_failure: OnFailure,
        complaint: Complaint,
    ) -> Result<Recorder, CliError> {
        let Self { target, replacement, name } = self;
        let failed = |error: io::Error| target.error(error.into());
        let mut file = Named { file: replacement.file().map_err(failed)?, pending: None };
        if name.contains("%c") {
            file.pending = Some(Pending { replacement, name, existing: target.existing });
            return Recorder::start(file, header, placeholders, on_failure, complaint).map_err(failed);
        }
        let recorder = Recorder::start(file, header, placeholders, on_failure, complaint).map_err(failed)?;
        replacement.take_name(&OsString::from(name), target.existing).map_err(|error| target.error(error))?;
        Ok(recorder)
    }
}

/// A file that gets its name once the client has said its own.
struct Named {
    file: File,
    pending: Option<Pending>,
}

struct Pending {
    replacement: Replacement,
    name: String,
    existing: Existing,
}

impl Write for Named {
    /// A recorder writes whole lines.
    fn write(&mut self, lines: &[u8]) -> io::Result<usize> {
        let is_entry = |line: &&[u8]| line.starts_with(b"-->") || line.starts_with(b"<") || line.starts_with(b"==>");
        if let Some(entry) = lines.split(|&byte| byte == b'\n').find(is_entry) {
            if let Some(Pending { replacement, name, existing }) = self.pending.take() {
                let name = with_client(&name, client(entry).as_deref());
                replacement.take_name(&OsString::from(name), existing).map_err(io::Error::other)?;
            }
        }
        self.file.write_all(lines)?;
        Ok(lines.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// The name that a client gives itself in the first line that it sends.
fn client(line: &[u8]) -> Option<String> {
    let message: Value = serde_json::from_slice(line.strip_prefix(b"--> ")?).ok()?;
    let params = message.get("params")?;
    let info = params.get("_meta").and_then(|meta| meta.get("io.modelcontextprotocol/clientInfo"));
    let name = info.or_else(|| params.get("clientInfo"))?.get("name")?.as_str()?;
    let safe = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.') { c } else { '_' };
    let name: String = name.chars().take(LONGEST_CLIENT).map(safe).collect();
    let name = name.trim_start_matches('.').to_owned();
    (!name.is_empty()).then_some(name)
}

/// The name with `%t`, `%p` and `%%` filled in; `%c` stays.
fn filled(name: &str, now: SystemTime) -> String {
    let mut filled = String::new();
    let mut characters = name.chars().peekable();
    while let Some(character) = characters.next() {
        match (character, characters.peek()) {
            ('%', Some('t')) => filled.push_str(&time::basic(now)),
            ('%', Some('p')) => filled.push_str(&std::process::id().to_string()),
            ('%', Some('%')) => filled.push('%'),
            (character, _) => {
                filled.push(character);
                continue;
            }
        }
        characters.next();
    }
    filled
}

fn with_client(name: &str, client: Option<&str>) -> String {
    name.replace("%c", client.unwrap_or("client"))
}

/// Opens files without names in the directory of the recording; they disappear when they are closed.
#[cfg(unix)]
fn spool(place: Place) -> io::Result<Option<crate::transcript::Spool>> {
    Ok(Some(Box::new(move || place.create(Existing::IsReplaced).map_err(io::Error::other)?.file())))
}

/// Here, an open file has a name, so long lines are kept in memory instead.
#[cfg(not(unix))]
fn spool(_place: Place) -> io::Result<Option<crate::transcript::Spool>> {
    Ok(None)
}

fn placeholders(target: &Target, config: &Config) -> Result<Placeholders, CliError> {
    Placeholders::of_recording(&config.surroundings.directory).map_err(|error| target.error(error.into()))
}

fn header(
    settings: &Replayable,
    placeholders: &Placeholders,
    target: &Target,
    here: &Path,
) -> Result<Header, CliError> {
    let header = || -> Result<Header, Problem> {
        let header = basis(here, placeholders)?.with_version(env!("CARGO_PKG_VERSION"))?;
        let mut args = settings.args.iter();
        let header = args.try_fold(header, |header, arg| header.with_arg(&placeholders.hide_directory(arg)))?;
        let mut env = settings.env.iter();
        env.try_fold(header, |header, (name, value)| header.with_env(name, &placeholders.hide_directory(value)))
    };
    header().map_err(|problem| target.unrecordable(problem))
}

/// The header of every recording: the platform, and the directory if the recording writes that as `[tmp]`.
fn basis(here: &Path, placeholders: &Placeholders) -> Result<Header, Problem> {
    let platform = if cfg!(windows) { Platform::Windows } else { Platform::Unix };
    let header = Header::default().with_platform(platform);
    let here = here.display().to_string();
    if placeholders.hide_directory(&here) == here { Ok(header) } else { header.with_directory(&here) }
}

impl Target {
    fn unrecordable(&self, problem: Problem) -> CliError {
        CliError::Unrecordable { file: self.shown.clone(), how: self.how, problem: problem.to_string() }
    }
}

fn complaint(level: LogLevel, mut sink: LogSink) -> Complaint {
    let heard = level != LogLevel::Off && LogLevel::Warn <= level;
    Box::new(move |error| {
        if heard {
            sink(&format!("warn: the session can't be recorded any more: {error}"));
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_take_the_time_the_process_and_the_client() {
        let process = std::process::id();
        assert_eq!(
            filled("%p-%%t-%c-%t-%x%", SystemTime::UNIX_EPOCH),
            format!("{process}-%t-%c-19700101T000000.000Z-%x%")
        );
        let client =
            |name: &str| client(format!("--> {{\"params\":{{\"clientInfo\":{{\"name\":{name:?}}}}}}}").as_bytes());
        assert_eq!(client("a/../b c").as_deref(), Some("a_.._b_c"));
        assert_eq!(client("..x").as_deref(), Some("x"));
        assert_eq!(client(".."), None);
    }
}
