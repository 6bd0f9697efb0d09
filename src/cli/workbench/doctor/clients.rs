//! Clients on this system whose files start this program in a way that can't work. The files are read, and never changed.

use std::ffi::OsString;
use std::path::Path;

use serde_json::Value;

use super::risks::Risk;
use crate::cli::arguments::Arguments;
use crate::cli::stdio;
use crate::cli::subcommand::Subcommand;
use crate::cli::workbench::setup::{Client, ClientFiles};
use crate::config::{Config, Surroundings};
use crate::files::read_regular;
use crate::policy::{Programs, SearchPath};
use crate::server::NOTHING_ALLOWED;

/// The name of this program in them.
const NAME: &str = "allowexec";
/// The largest file of a client that is read: some also keep whole histories in it.
const LONGEST: u64 = 16 * 1024 * 1024;
/// The most entries of a file that are looked at, of those that start this program.
const MOST_ENTRIES: usize = 16;

/// Returns the faults in the files of all clients, for this user and this directory.
pub(super) fn that_cannot_work(surroundings: &Surroundings) -> Vec<Risk> {
    let files = ClientFiles::new(surroundings);
    let mut risks = Vec::new();
    for client in Client::ALL {
        for file in files.all(client) {
            match faults(client, &file, surroundings) {
                Ok(faults) => risks.extend(faults.into_iter().map(|why| {
                    Risk::new(
                        format!("{} can't start the server of `{}`: {why}", client.title(), file.display()),
                        format!("`allowexec setup {}` prints what works", client.name()),
                    )
                })),
                Err(why) => risks.push(Risk {
                    what: format!(
                        "the servers of {} in `{}` were not looked at, since the file is not plain JSON: {why}",
                        client.title(),
                        file.display()
                    ),
                    help: None,
                }),
            }
        }
    }
    risks
}

/// Returns the faults of a file; an error if it can't be parsed here.
fn faults(client: Client, file: &Path, surroundings: &Surroundings) -> Result<Vec<String>, serde_json::Error> {
    let text = read_regular(file, LONGEST).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    let (Some(text), Some(key)) = (text, client.key()) else { return Ok(Vec::new()) };
    let value: Value = match serde_json::from_str(&text) {
        Ok(value) => value,
        Err(error) if client.reads_plain_json() => return Ok(vec![format!("the file is not JSON: {error}")]),
        // Other clients accept comments, which this parser does not. A file without this server does not matter.
        Err(error) if text.contains(NAME) => return Err(error),
        Err(_) => return Ok(Vec::new()),
    };
    let directory = surroundings.directory.to_str().unwrap_or_default();
    let of_project = value.get("projects").and_then(|projects| projects.get(directory));
    let lists = [Some(&value), of_project].into_iter().flatten().filter_map(|value| value.get(key)?.as_object());
    let entries = lists.flat_map(|list| list.values()).filter_map(|entry| Some((entry, words(entry)?)));
    let ours = entries.filter(|(entry, words)| starts_this(words) && is_on(entry) && !has_placeholder(entry, words));
    Ok(ours.take(MOST_ENTRIES).filter_map(|(entry, words)| fault(client, entry, &words, surroundings)).collect())
}

/// The program and its arguments in an entry. In opencode's file they are one list.
fn words(entry: &Value) -> Option<Vec<String>> {
    let list = |value: &Value| -> Option<Vec<String>> {
        value.as_array()?.iter().map(|word| word.as_str().map(str::to_owned)).collect()
    };
    match entry.get("command")? {
        Value::String(program) => {
            let arguments = entry.get("args").map_or(Some(Vec::new()), list)?;
            Some([vec![program.clone()], arguments].concat())
        }
        words => list(words),
    }
}

fn starts_this(words: &[String]) -> bool {
    words.first().is_some_and(|program| Path::new(program).file_stem().is_some_and(|stem| stem == NAME))
}

fn is_on(entry: &Value) -> bool {
    entry.get("enabled") != Some(&Value::Bool(false)) && entry.get("disabled") != Some(&Value::Bool(true))
}

/// Whether the client replaces a part of a word with something that is not known here.
fn has_placeholder(entry: &Value, words: &[String]) -> bool {
    let mut words = words.iter().map(String::as_str).chain(own_directory(entry));
    words.any(|word| ["${", "{env:", "{file:"].iter().any(|begin| word.contains(begin)))
}

/// The directory in which the entry starts its server, if it names one.
fn own_directory(entry: &Value) -> Option<&str> {
    entry.get("cwd")?.as_str()
}

/// Whether the entry sets variables: opencode has its own key for them, and some clients read them from a file.
fn has_variables(entry: &Value) -> bool {
    let has_some = |key| entry.get(key).and_then(Value::as_object).is_some_and(|variables| !variables.is_empty());
    has_some("env") || has_some("environment") || entry.get("envFile").is_some()
}

fn fault(client: Client, entry: &Value, words: &[String], surroundings: &Surroundings) -> Option<String> {
    let (program, arguments) = words.split_first()?;
    let mut there = surroundings.clone().without_settings();
    let starts_elsewhere = client.starts_in().filter(|_| own_directory(entry).is_none());
    if let Some(directory) = own_directory(entry).or(starts_elsewhere) {
        there.directory = there.directory.join(directory);
    }
    let search_path = SearchPath::new(surroundings.variable("PATH")).with_endings(surroundings.variable("PATHEXT"));
    let found = Programs::new(search_path, there.directory.clone()).find_listed(program);
    if !found.is_some_and(|found| found.is_executable()) {
        return Some(format!("its program `{program}` was not found"));
    }
    // Variables may hold settings that are not known here.
    if has_variables(entry) {
        return None;
    }
    let arguments = match Arguments::parse(arguments.iter().map(OsString::from)) {
        Ok(arguments) if arguments.subcommand == Subcommand::Serve => arguments,
        Ok(_) => return None,
        Err(error) => return Some(stdio::with_causes(&error)),
    };
    // Only the settings are made: making a server has effects, such as a directory for temporary files.
    match Config::resolve(&arguments.flags, there) {
        Ok(config) => fault_of_settings(&config, starts_elsewhere.is_some()),
        Err(error) => Some(stdio::with_causes(&error)),
    }
}

fn fault_of_settings(config: &Config, starts_elsewhere: bool) -> Option<String> {
    let allow = config.allow_list();
    if allow.names().is_empty()
        && !allow.allows_any()
        && !allow.allows_project()
        && allow.rules().for_others("").is_none()
    {
        return Some(NOTHING_ALLOWED.to_owned());
    }
    super::risks::directories(config).find_map(|(flag, path)| {
        let found = super::risks::resolved(config, path);
        if !found.is_dir() {
            return Some(format!("`--{flag} {}` is not a directory", path.display()));
        }
        let bounds_nothing = starts_elsewhere && path.is_relative() && found.parent().is_none();
        bounds_nothing.then(|| {
            "it starts servers in `/`, so a relative directory is that one; name the project by its absolute path"
                .to_owned()
        })
    })
}
