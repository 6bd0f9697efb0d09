//! The decision for one command of the persistent shell: by the allow-list, and by what its dialect must not be given.

use super::dialect::{Change, Refused, current as dialect};
use crate::policy::{Explanation, Finder, Policy, Refusal, ShellCommand, allow_in_shell};

/// What was decided for a command of the persistent shell, and why.
#[derive(Debug)]
pub struct ShellDecision {
    /// What the decision rests on.
    pub explanation: Explanation,
    /// The command, to be run once, or the reason why not.
    pub outcome: Result<ShellCommand, Refusal>,
    /// Where it would change the directory to, if it is such a change; whether it may is decided when its turn comes.
    pub change: Option<Change>,
}

/// Decides whether `entry` of the allow-list with these arguments may be given to the shell.
pub fn decide(
    policy: &Policy,
    entry: &str,
    arguments: Result<Vec<String>, Refused>,
    literal_pattern: Option<&'static str>,
) -> ShellDecision {
    let rule = policy.allow_list().rule_for(entry);
    let mut explanation = Explanation { rule, literal_pattern, ..Explanation::default() };
    let mut change = None;
    let outcome = (|| {
        let arguments = arguments.map_err(refusal)?;
        explanation.words =
            std::iter::once(entry).chain(arguments.iter().map(String::as_str)).map(str::to_owned).collect();
        let mut found = Finder::Shell;
        // Nothing is said of what is not on the list, and the file system is not asked for it.
        if policy.allow_list().names().iter().any(|name| name == entry) {
            dialect::refuse(&explanation.words).map_err(refusal)?;
            if !dialect::is_found_by_shell(entry) {
                found = Finder::Policy(policy.programs().find_listed(entry));
            }
        }
        let command = allow_in_shell(policy.allow_list(), entry, arguments, found)?;
        explanation.program = command.program().map(Into::into);
        change = dialect::change_of(command.words()).map_err(refusal)?;
        Ok(command)
    })();
    ShellDecision { explanation, outcome, change }
}

fn refusal(refused: Refused) -> Refusal {
    Refusal::InShell { reason: refused.to_string() }
}
