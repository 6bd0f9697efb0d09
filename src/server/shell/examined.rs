//! What would be decided for a command on the persistent shell, without running anything.

use crate::policy::{Policy, Verdict, WorkingDirectory};
use crate::server::examine::Asked;
use crate::shell::dialect::current as dialect;
use crate::shell::{ShellArguments, ShellDecision, ShellDirectories, decide};

/// Decides as for a call of the persistent shell.
pub(in crate::server) fn examine(
    policy: &Policy,
    asked: Asked,
    cwd: Option<&str>,
    shell: ShellDirectories<'_>,
) -> Verdict {
    let (entry, arguments) = match asked {
        Asked::Line(line) => {
            let line = line.trim_start();
            let (entry, arguments) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
            (entry.to_owned(), arguments.to_owned())
        }
        Asked::Words(first, arguments) => (first, dialect::join(&arguments)),
    };
    let ShellDecision { mut explanation, outcome, change } = decide(policy, &entry, ShellArguments::read(&arguments));
    let directories = policy.directories();
    let refusal = match (outcome, directories.resolve(cwd)) {
        (Err(refusal), _) => Some(refusal),
        (Ok(_), Err(error)) => Some(error.into()),
        (Ok(command), Ok(directory)) => {
            let current = Some(shell.current.filter(|_| cwd.is_none()).unwrap_or(directory.path()));
            explanation.directory = current.map(Into::into);
            let target = change.map(|change| ShellDirectories { current, ..shell }.target(&change, directories));
            let here = current.and_then(|current| WorkingDirectory::open(current).ok()).unwrap_or(directory);
            target.and_then(Result::err).or_else(|| command.check_in(directories, &here, &[]).err())
        }
    };
    Verdict { explanation, refusal }
}
