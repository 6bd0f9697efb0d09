//! `allowexec lock`: writes down what the allowed programs are, or compares them with the file.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::cli::error::CliError;
use crate::cli::{Outcome, print, print_json, stdio};
use crate::config::{Config, Flags, Setting, given_arguments};
use crate::files::{Place, PlaceError, ReadError, read_regular};
use crate::integrity::LARGEST_LOCK;
use crate::integrity::demands::{Lock, Locked, lock};
use crate::policy::written;
use crate::server::Parts;
use crate::text::{counted, escape};

/// The file, if none is named.
const DEFAULT: &str = "allowexec.lock";

/// The flags of the subcommand.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::cli) struct Options {
    pub output: Option<String>,
    pub check: bool,
    pub json: bool,
}

pub(super) fn run(config: Config, flags: &Flags, options: &Options) -> Result<Outcome, CliError> {
    let named = options.output.as_ref().map(PathBuf::from).or_else(|| config.lock.value.clone());
    let name = named.unwrap_or_else(|| DEFAULT.into());
    let file = config.surroundings.directory.join(&name);
    // An old lock file must not affect which programs are found.
    let parts = Parts::new(&Config { lock: Setting::default(None), ..config });
    let Locked { lock: now, notes } = lock_of(&parts)?;
    for note in notes {
        stdio::note(&note);
    }
    if options.check {
        let unread = |source| CliError::ReadLock { source, command: command(flags, options) };
        return check(&Lock::read(&file).map_err(unread)?, &now, options.json);
    }
    let before = read_regular(&file, LARGEST_LOCK);
    let is_other = match &before {
        Ok(bytes) => !Lock::is_meant(bytes),
        Err(ReadError::TooLarge { .. }) => true,
        // Writing the file will report these.
        Err(ReadError::System { .. } | ReadError::NotRegular { .. } | ReadError::NotUtf8 { .. }) => false,
    };
    if is_other {
        return Err(CliError::NoLockFile { file: name.display().to_string() });
    }
    let is_same = before.is_ok_and(|bytes| Lock::of_bytes(&bytes, &file).is_ok_and(|before| before == now));
    if !is_same {
        let failed = |source| CliError::Write { file: name.display().to_string(), source };
        write(&file, &now.to_text()?).map_err(failed)?;
    }
    let done = if is_same { "the same as before" } else { "written" };
    if options.json {
        let file = file.display().to_string();
        return print_json(&json!({"file": file, "changed": !is_same, "files": now.files.len()}));
    }
    print(&format!(
        "`{}`: {done}, {}, {}\n",
        escape(&name.display().to_string()),
        counted(now.commands.len() as u64, "program"),
        counted(now.files.len() as u64, "file")
    ))
}

/// The command that writes the file with the same settings, in this directory. Paths stay as they were given, since the lock
/// file has commands as they are on the allow-list.
fn command(flags: &Flags, options: &Options) -> String {
    let output = options.output.iter().flat_map(|file| ["-o".to_owned(), file.clone()]);
    let words = ["allowexec", "lock"].map(str::to_owned).into_iter().chain(given_arguments(flags)).chain(output);
    written(&words.collect::<Vec<_>>())
}

/// Locks the programs that the configuration allows.
fn lock_of(parts: &Parts) -> Result<Locked, CliError> {
    let allow = parts.policy.allow_list();
    if allow.allows_any() {
        let why = "the allow-list contains `*`, which names no program; name the commands with `--allow`".to_owned();
        return Err(CliError::NothingToLock { why });
    }
    let commands: BTreeMap<String, PathBuf> = parts.programs().into_iter().collect();
    if commands.is_empty() {
        let missing: Vec<String> = allow.names().iter().map(|name| format!("`{name}`")).collect();
        let why = match missing.is_empty() {
            true => "no command is allowed; name commands with `--allow`, `--profile` or `--policy`".to_owned(),
            false => format!("no allowed command has a program in PATH: {}", missing.join(", ")),
        };
        return Err(CliError::NothingToLock { why });
    }
    let missing = allow.names().iter().filter(|name| parts.program_of(name).is_none() && !parts.is_built_in(name));
    let missing: Vec<String> =
        missing.map(|name| format!("`{name}` was not found in PATH, so it is not locked")).collect();
    let mut locked = lock(commands, &parts.paths, parts.locks_libraries())?;
    locked.notes.extend(missing);
    if parts.policy.directories().allow_project_commands() {
        locked.notes.insert("commands of the project are not locked, so with `--lock` they do not run".to_owned());
    }
    Ok(locked)
}

fn check(locked: &Lock, now: &Lock, json: bool) -> Result<Outcome, CliError> {
    let differences: Vec<String> = locked.differences(now).iter().map(ToString::to_string).collect();
    if json {
        print_json(&json!({"same": differences.is_empty(), "differences": differences}))?;
    } else if differences.is_empty() {
        print("the programs match the lock file\n")?;
    } else {
        print(&differences.iter().map(|difference| format!("{}\n", escape(difference))).collect::<String>())?;
    }
    Ok(if differences.is_empty() { Outcome::Good } else { Outcome::Bad })
}

/// Writes the file in one step, readable by everybody: it holds no secrets and belongs under version control.
fn write(file: &Path, text: &str) -> Result<(), PlaceError> {
    let replacement = Place::open(file, &[])?.replace()?;
    let mut opened = replacement.file()?;
    opened.write_all(text.as_bytes())?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        opened.set_permissions(std::fs::Permissions::from_mode(0o644))?;
    }
    opened.sync_all()?;
    drop(opened);
    Ok(replacement.take_the_name()?)
}
