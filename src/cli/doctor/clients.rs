//! Clients on this system whose files start this program in a way that can't work. They are read, and never changed.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::risks::Risk;
use crate::cli::arguments::{Arguments, Subcommand};
use crate::cli::setup::{Client, ClientFiles};
use crate::cli::stdio;
use crate::config::{Config, Surroundings};
use crate::policy::{Programs, SearchPath};
use crate::server::Parts;

/// The longest file of a client that is read: some keep whole histories beside their servers.
const LONGEST: u64 = 16 * 1024 * 1024;

/// What is wrong in the files of all clients, as this user and this directory have them.
pub(super) fn that_cannot_work(surroundings: &Surroundings) -> Vec<Risk> {
    let files = ClientFiles::new(surroundings);
    let mut risks = Vec::new();
    for client in Client::ALL {
        for file in files.all(client) {
            for why in faults(client, &file, surroundings) {
                risks.push(Risk::new(
                    format!("{} can't start the server of `{}`: {why}", client.title(), file.display()),
                    format!("`allowexec setup {}` prints what works", client.name()),
                ));
            }
        }
    }
    risks
}

fn faults(client: Client, file: &Path, surroundings: &Surroundings) -> Vec<String> {
    if !fs::metadata(file).is_ok_and(|data| data.is_file() && data.len() <= LONGEST) {
        return Vec::new();
    }
    let Ok(text) = fs::read_to_string(file) else { return Vec::new() };
    let value: Value = match serde_json::from_str(&text) {
        Ok(value) => value,
        // Others take comments, which this reader does not know.
        Err(error) if client.reads_plain_json() => return vec![format!("the file is no JSON: {error}")],
        Err(_) => return Vec::new(),
    };
    let Some(key) = client.key() else { return Vec::new() };
    let directory = surroundings.directory.to_str().unwrap_or_default();
    let of_project = value.get("projects").and_then(|projects| projects.get(directory));
    let lists = [Some(&value), of_project].into_iter().flatten().filter_map(|value| value.get(key)?.as_object());
    let entries = lists.flat_map(|list| list.values());
    entries.filter_map(|entry| fault(client, entry, surroundings)).collect()
}

/// The words of an entry: opencode has them in one list.
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

fn fault(client: Client, entry: &Value, surroundings: &Surroundings) -> Option<String> {
    let words = words(entry)?;
    let (program, arguments) = words.split_first()?;
    if Path::new(program).file_stem()? != "allowexec" {
        return None;
    }
    let mut there = surroundings.clone().without_settings();
    if let Some(directory) = client.starts_in() {
        there.directory = PathBuf::from(directory);
    }
    let search_path = SearchPath::new(surroundings.variable("PATH")).with_endings(surroundings.variable("PATHEXT"));
    let found = Programs::new(search_path, there.directory.clone()).find_listed(program);
    if !found.is_some_and(|found| found.is_executable()) {
        return Some(format!("its program `{program}` is not there"));
    }
    // What variables add is not known here.
    if entry.get("env").and_then(Value::as_object).is_some_and(|variables| !variables.is_empty()) {
        return None;
    }
    let arguments = match Arguments::parse(arguments.iter().map(OsString::from)) {
        Ok(arguments) if arguments.subcommand == Subcommand::Serve => arguments,
        Ok(_) => return None,
        Err(error) => return Some(stdio::with_causes(&error)),
    };
    let config = match Config::resolve(&arguments.flags, there) {
        Ok(config) => config,
        Err(error) => return Some(stdio::with_causes(&error)),
    };
    let parts = Parts::new(&config);
    if let Err(error) = parts.check_start() {
        return Some(stdio::with_causes(&error));
    }
    let bounds_nothing = client.starts_in().is_some()
        && super::risks::directories(&config).any(|(_, path)| super::risks::resolved(&config, path).parent().is_none());
    let relative =
        "it starts servers in `/`, so a relative directory is that one; name the project by its absolute path";
    parts.problems().into_iter().next().or_else(|| bounds_nothing.then(|| relative.to_owned()))
}
