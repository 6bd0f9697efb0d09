//! Which known program gets the arguments of a script, as far as its text tells at a glance. No script is run for it.
//!
//! It only helps operators: a script that nothing is found in is not therefore harmless. So it follows neither functions from call to call
//! nor values through loops; what a person sees who skims the file is enough.
//!
//! - `shell` divides a script for a shell into its commands
//! - `command` says of one command, with its words, which known program takes the arguments in it
//! - `calls` does both for Python, Node, Perl, Ruby, PHP, Lua and Tcl

mod calls;
mod command;
mod shell;

use super::wrappers::{reach_of, stem};

/// Finds the known program that a word names; `None` if it names another one.
pub(super) type Lookup<'l> = dyn Fn(&str) -> Option<String> + 'l;

/// Stands in a word for what is not known of it.
pub(super) const UNKNOWN: char = '\0';

/// Stands in a word for arguments of the script.
const ARGUMENTS: char = '\u{1}';

/// Stands before [`ARGUMENTS`] that a variable holds.
const MADE: char = '\u{2}';

/// Shells whose scripts are read as those of sh(1).
const SHELLS: &str = "sh ash bash dash rbash zsh ksh mksh lksh oksh pdksh posh yash busybox osh";

/// The program that reads the arguments of a script: the interpreter if the script is the value of one of its options, as in
/// `#!/usr/bin/awk -f`, or the program that gets them from it, as by `exec python3 "$@"`.
pub(super) fn program_of(script: &str, known: &Lookup<'_>) -> Option<String> {
    let first = script.lines().next().unwrap_or_default();
    let Some(line) = first.strip_prefix("#!") else { return shell::program(script, known) };
    let is_of_env =
        |word: &&str| base(word) == "env" || word.starts_with("-S") || *word == "--split-string" || word.contains('=');
    let mut words = line.split_whitespace().skip_while(is_of_env);
    let named = words.next()?;
    let interpreter = known(named).unwrap_or_else(|| base(named).to_owned());
    let takes_arguments =
        |word: &str| word.starts_with('-') && !word.starts_with("--") && word.contains(['c', 'f', 'i', 's']);
    if reach_of(&interpreter).is_some() && words.any(takes_arguments) {
        return Some(interpreter);
    }
    let body = script.get(first.len()..).unwrap_or_default();
    if is_in(SHELLS, stem(&interpreter)) {
        shell::program(body, known)
    } else {
        calls::program(body, &interpreter, known)
    }
}

/// Whether a list, separated by blanks, has a word.
fn is_in(list: &str, word: &str) -> bool {
    list.split(' ').any(|listed| listed == word)
}

/// The last part of a path.
fn base(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}

#[cfg(test)]
mod tests;
