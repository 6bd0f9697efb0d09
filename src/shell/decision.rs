//! The decision for one command of the persistent shell: by the allow-list, and by the words that its dialect refuses.

use super::dialect::{Change, Refused, current as dialect};
use crate::policy::rules::shell_command::Finder;
use crate::policy::rules::without_values;
use crate::policy::{Explanation, Policy, Refusal, ShellCommand, find_literal_pattern, split_words};

/// The arguments of a command of the persistent shell.
#[derive(Debug)]
pub struct ShellArguments {
    words: Result<Vec<String>, Refused>,
    /// The whole line, if it can't be split into words.
    attempted: Option<String>,
    /// The pattern that a POSIX shell would have expanded in them. On Windows programs expand their own arguments.
    pub literal_pattern: Option<&'static str>,
}

impl ShellArguments {
    /// Splits the line after the command, by the rules of this platform's shell.
    pub fn read(line: &str) -> Self {
        let literal_pattern = find_literal_pattern(line).filter(|_| cfg!(unix));
        let words = dialect::words(line);
        let attempted = words.is_err().then(|| line.to_owned());
        Self { words, attempted, literal_pattern }
    }
}

/// A decision about a command of the persistent shell, with its explanation.
#[derive(Debug)]
pub struct ShellDecision {
    /// The explanation of the decision.
    pub explanation: Explanation,
    /// The command, to be run once, or the reason for the refusal.
    pub outcome: Result<ShellCommand, Refusal>,
    /// The directory change, if the command is one; whether it is allowed is decided at its turn.
    pub change: Option<Change>,
}

/// Decides whether `entry` of the allow-list with these arguments may be given to the shell.
pub fn decide(policy: &Policy, entry: &str, arguments: ShellArguments) -> ShellDecision {
    let ShellArguments { words, attempted, literal_pattern } = arguments;
    let rule = policy.allow_list().find(entry);
    let mut explanation = Explanation { rule, literal_pattern, ..Explanation::default() };
    let mut arguments = words;
    if let Some(line) = attempted {
        explanation.words = match split_words(&line) {
            Ok(words) => policy.without_secrets(std::iter::once(entry.to_owned()).chain(words).collect()),
            Err(_) => {
                let shown = policy.without_secrets(vec![format!("{entry} {line}")]).concat();
                let shown = shown.strip_prefix(entry).unwrap_or(&shown).trim_start().to_owned();
                if let Err(Refused::Unbalanced { arguments }) = &mut arguments {
                    arguments.clone_from(&shown);
                }
                vec![entry.to_owned(), shown]
            }
        };
    }
    let mut change = None;
    let outcome = (|| {
        let arguments = arguments.map_err(refusal)?;
        let words: Vec<String> =
            std::iter::once(entry).chain(arguments.iter().map(String::as_str)).map(str::to_owned).collect();
        explanation.words = policy.without_secrets(words.clone());
        let refusal = |refused: Refused| {
            let reason = without_values(refused.to_string(), &words, &explanation.words);
            Refusal::InShell { reason }
        };
        let mut finder = Finder::Shell;
        // Words that are not on the list get no further message, and the file system is not asked about them.
        if policy.allow_list().has_entry(entry) {
            dialect::refuse(&words, policy.settable()).map_err(refusal)?;
            if !dialect::is_found_by_shell(entry) {
                finder = Finder::Policy;
            }
        }
        let command = policy.allow_in_shell(entry, arguments, finder)?;
        explanation.program = command.program().map(Into::into);
        change = dialect::change_of(command.words()).map_err(refusal)?;
        explanation.words = command.shown().to_vec();
        Ok(command)
    })();
    ShellDecision { explanation, outcome, change }
}

fn refusal(refused: Refused) -> Refusal {
    Refusal::InShell { reason: refused.to_string() }
}
