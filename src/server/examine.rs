//! What would be decided for a command, by the tools that there are, without running anything.

use super::shell_calls::Stand;
use crate::policy::{CommandLine, Policy, Refusal, Verdict, WhichTools, find_literal_pattern};
use crate::shell::dialect::current as dialect;
use crate::shell::{ShellDecision, decide};

/// A command that somebody asks about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Asked {
    /// As one line.
    Line(String),
    /// As words: the first one, and its arguments.
    Words(String, Vec<String>),
}

/// Decides as a call would: on the persistent shell where all tools are on it, else as a process of its own.
pub(super) fn examine(
    policy: &Policy,
    which: WhichTools,
    asked: Asked,
    cwd: Option<&str>,
    stand: Stand<'_>,
) -> Verdict {
    if which.has_execute() {
        let command = match asked {
            Asked::Line(line) => CommandLine::parse(&line),
            Asked::Words(first, arguments) => CommandLine::from_process(first, arguments),
        };
        let decision = policy.examine(command, cwd);
        return Verdict { explanation: decision.explanation, refusal: decision.outcome.err() };
    }
    let (entry, arguments) = match asked {
        Asked::Line(line) => {
            let line = line.trim_start();
            let (entry, arguments) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
            (entry.to_owned(), arguments.to_owned())
        }
        Asked::Words(first, arguments) => (first, dialect::join(&arguments)),
    };
    let pattern = find_literal_pattern(&arguments).filter(|_| cfg!(unix));
    let ShellDecision { mut explanation, outcome, change } =
        decide(policy, &entry, dialect::words(&arguments), pattern);
    let directories = policy.directories();
    let refusal = match (outcome, directories.resolve(cwd)) {
        (Err(refusal), _) => Some(refusal),
        (Ok(_), Err(error)) => Some(error.into()),
        (Ok(_), Ok(directory)) => {
            let here = Some(stand.here.filter(|_| cwd.is_none()).unwrap_or(directory.path()));
            explanation.directory = here.map(Into::into);
            let target = change.map(|change| Stand { here, ..stand }.target(&change, directories));
            target.and_then(Result::err).map(|reason| Refusal::InShell { reason })
        }
    };
    Verdict { explanation, refusal }
}
