//! `allowexec policy import`: prints a policy for what another tool allows, and what was not taken of it, with file and line.
//!
//! The policy allows nothing that its source would not: what can't be read for certain is left out, and what may refuse or ask
//! narrows all that it may touch. The command lines that both decide on are compared by their words, so `git "log"` is `git log`.
//!
//! - `claude`, `codex`, `gemini`, `opencode`: the formats
//! - `json`, `starlark`, `toml`: readers that know the line of each value. A policy is imported once, by hand, and needs a few literals
//!   of TOML and Starlark; a parser of either would be another crate that every auditor of the server has to read.
//! - `entry`: the entries that every format is read into; `pattern`: patterns that are text with `*`; `paths`: commands whose paths they watch
//! - `shells`: shells whose lines would be read if no rule denied it
//! - `verdict`: which entry decides; `tree`: the words of all entries, with what is decided for each
//! - `written`: the tree as a policy; `checked`: the policy, loaded and compared with its source

mod checked;
mod claude;
mod codex;
mod entry;
mod gemini;
mod json;
mod opencode;
mod paths;
mod pattern;
mod shells;
mod starlark;
#[cfg(test)]
#[cfg(unix)]
mod tests;
mod toml;
mod tree;
mod verdict;
mod written;

use serde_json::{Value, json};

use self::entry::{Imported, LeftOut};
use super::text_of;
use crate::cli::error::CliError;
use crate::cli::{Outcome, print, print_json};
use crate::config::Surroundings;
use crate::text::escape;

/// The largest file in bytes.
const LARGEST: u64 = 1024 * 1024;

/// A mistake in a file: the line, and a sentence.
type Wrong = (usize, String);

/// Takes this many bytes from the front of what is left of a text, and counts the lines in them.
fn take<'t>(rest: &mut &'t str, line: &mut usize, length: usize) -> &'t str {
    let (taken, left) = rest.split_at(length.min(rest.len()));
    *line += taken.matches('\n').count();
    *rest = left;
    taken
}

/// The tools whose files are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cli) enum Format {
    Claude,
    Codex,
    Gemini,
    Opencode,
}

impl Format {
    pub(in crate::cli) const ALL: [Self; 4] = [Self::Claude, Self::Codex, Self::Gemini, Self::Opencode];

    pub(in crate::cli) fn name(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
            Self::Opencode => "opencode",
        }
    }

    fn read(self, file: &str, text: &str, imported: &mut Imported) -> Result<(), Wrong> {
        match self {
            Self::Claude => claude::read(file, text, imported),
            Self::Codex => codex::read(file, text, imported),
            Self::Gemini => gemini::read(file, text, imported),
            Self::Opencode => opencode::read(file, text, imported),
        }
    }
}

pub(super) fn run(format: Format, files: &[String], json: bool) -> Result<Outcome, CliError> {
    let wrong = |why: String| CliError::Policy { why };
    let directory = Surroundings::of_this_process()?.directory;
    let mut texts = Vec::new();
    for file in files {
        let text = text_of(&directory.join(file), LARGEST);
        texts.push((file.as_str(), text.map_err(|why| wrong(format!("cannot read `{}`: {why}", escape(file))))?));
    }
    let (imported, policy) = import(format, &texts).map_err(wrong)?;
    let outcome =
        if imported.left_out.iter().any(|left_out| left_out.is_missing) { Outcome::Bad } else { Outcome::Good };
    if json {
        let left_out = |left_out: &LeftOut| {
            json!({
                "file": &*left_out.place.file,
                "line": left_out.place.line,
                "what": left_out.what,
                "reason": left_out.why,
                "is_missing": left_out.is_missing,
            })
        };
        let left_out: Vec<Value> = imported.left_out.iter().map(left_out).collect();
        print_json(&json!({"policy": policy, "left_out": left_out}))?;
    } else {
        print(&shown(format, files, &imported, &policy))?;
    }
    Ok(outcome)
}

/// Reads files, each with its name and its text, and makes a policy of them.
///
/// # Errors
/// A sentence with the file and the line, if a file is not of the format.
fn import(format: Format, texts: &[(&str, String)]) -> Result<(Imported, String), String> {
    let mut imported = Imported::default();
    for (file, text) in texts {
        format.read(file, text, &mut imported).map_err(|(line, why)| format!("{}:{line}: {why}", escape(file)))?;
    }
    imported.bound()?;
    match format {
        Format::Claude => claude::finish(&mut imported),
        Format::Opencode => opencode::finish(&mut imported),
        Format::Codex | Format::Gemini => {}
    }
    let shells = shells::denied(&imported);
    imported.leave_out_builtins();
    imported.leave_out_runners();
    let policy = checked::policy(&mut imported, &shells);
    imported.left_out.sort_by_key(|left_out| left_out.place.clone());
    imported.left_out.dedup();
    Ok((imported, policy))
}

/// The policy, and after it as comments all that was not taken.
fn shown(format: Format, files: &[String], imported: &Imported, policy: &str) -> String {
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    let mut text = format!(
        "# Made by `allowexec policy import {}` of {}. It allows at most what was allowed there; read it before you use it.\n{}",
        format.name(),
        escape(&files.join(", ")),
        policy,
    );
    let of = |is_missing: bool| imported.left_out.iter().filter(move |left_out| left_out.is_missing == is_missing);
    for (title, is_missing) in [("Not taken:", true), ("Good to know:", false)] {
        if of(is_missing).next().is_some() {
            text.push_str(&format!("\n# {title}\n"));
        }
        for LeftOut { place, what, why, .. } in of(is_missing) {
            text.push_str(&escape(&format!("# {place}: `{what}`: {why}")));
            text.push('\n');
        }
    }
    text
}
