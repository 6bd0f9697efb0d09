//! Finds out what the available tools would decide about a command, without running anything.

use super::asked::Asked;
use super::shell_parts;
use crate::policy::line::{Line, LineDecision, ReadLine, RequestedLine};
use crate::policy::{Approved, CommandLine, Lines, Policy, Requested, Verdict};
use crate::shell::ShellDirectories;
use crate::tools::WhichTools;

/// Decides on a line as for a call, before anything of it runs; `None` if the text is none of several commands.
pub(super) fn examine_line(policy: &Policy, text: &str, cwd: Option<&str>, has_input: bool) -> Option<LineDecision> {
    match policy.read_line(text).ok().filter(|_| policy.lines() != Lines::Off)? {
        ReadLine::Command(_) => None,
        ReadLine::Line(line) => Some(plan(policy, line, text, cwd, has_input)),
    }
}

fn plan(policy: &Policy, line: Line, text: &str, cwd: Option<&str>, has_input: bool) -> LineDecision {
    let asked = RequestedLine { line, text, cwd, has_input, only_reads: false, approved: None, before: &[] };
    policy.plan(policy.directories(), asked)
}

/// Decides as for a call: of the persistent shell if all tools run there, else of one process.
pub(super) fn examine(
    policy: &Policy,
    which: WhichTools,
    asked: Asked,
    cwd: Option<&str>,
    has_input: bool,
    shell: ShellDirectories<'_>,
) -> Verdict {
    if which.has_execute() {
        let command = match asked {
            Asked::Line(line) if policy.lines() != Lines::Off => match policy.read_line(&line) {
                Ok(ReadLine::Command(command)) => Ok(command),
                Ok(ReadLine::Line(read)) => return plan(policy, read, &line, cwd, has_input).into_verdict(),
                Err(error) => Err(error),
            },
            Asked::Line(line) => CommandLine::parse(&line),
            Asked::Words(first, arguments) => CommandLine::from_process(first, arguments),
        };
        let requested = Requested { command, cwd, has_input, approved: Approved::default() };
        let decision = policy.evaluate(policy.directories(), requested);
        return Verdict { explanation: decision.explanation, refusal: decision.outcome.err() };
    }
    shell_parts::examine(policy, asked, cwd, shell)
}
