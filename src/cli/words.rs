//! The words of subcommands: one of several names, a word that must be there, and the errors for the rest.

use super::error::CliError;
use super::own_flags::Given;
use crate::config::meant;
use crate::text::nearest;

/// The one of `all` that is named `word`; `kind` is what they are called, for the error.
pub(super) fn named<T: Copy, const N: usize>(
    kind: &'static str,
    word: &str,
    all: [T; N],
    name: impl Fn(T) -> &'static str,
) -> Result<T, CliError> {
    all.into_iter().find(|known| name(*known) == word).ok_or_else(|| {
        let names = all.map(name);
        let help = meant("", nearest(word, names), &format!("the {kind}s are {}", names.join(", ")));
        CliError::Unknown { kind, found: word.escape_debug().to_string(), help }
    })
}

/// Makes sure that no flag is given that only another action of the subcommand has; `flags` are the flags with their actions.
pub(super) fn check_flags(
    subcommand: &'static str,
    action: &str,
    given: &Given,
    flags: &[(&str, &str)],
) -> Result<(), CliError> {
    match flags.iter().find(|(flag, of)| given.is_given(flag) && *of != action) {
        None => Ok(()),
        Some((flag, of)) => {
            let help = format!("; only `allowexec {subcommand} {of}` has it");
            Err(CliError::UnknownOwnFlag { flag: (*flag).to_owned(), subcommand, help })
        }
    }
}

/// The next word, which must be there.
pub(super) fn word(
    words: &mut impl Iterator<Item = String>,
    subcommand: &'static str,
    what: &'static str,
) -> Result<String, CliError> {
    words.next().ok_or(CliError::Missing { subcommand, what })
}

/// The words that are left, of which there must be at least one.
pub(super) fn some(
    words: &mut impl Iterator<Item = String>,
    subcommand: &'static str,
    what: &'static str,
) -> Result<Vec<String>, CliError> {
    let words: Vec<String> = words.collect();
    if words.is_empty() { Err(CliError::Missing { subcommand, what }) } else { Ok(words) }
}

/// The error for the value of a flag that is not a setting.
pub(super) fn wrong(flag: &'static str, found: &str, expected: &'static str) -> CliError {
    CliError::Value { flag, found: found.escape_debug().to_string(), expected }
}
