//! The evaluation of a call: gathers what the decision needs, and decides. One-shot calls, `check`, `explain_refusal` and
//! programs that embed the crate all go through it.

use super::decision::{self, Facts};
use super::rules::{Approved, Judged, LineVariables};
use super::{
    CommandLine, CommandLineError, Decision, Directories, DirectoryError, Policy, Refusal, RefusalKind, Rule,
    WorkingDirectory,
};

/// The facts about a call that a decision needs.
#[derive(Debug)]
pub struct Requested<'a> {
    /// The command, or why it is not a command line.
    pub command: Result<CommandLine, CommandLineError>,
    /// Where to run it, as the client gave it.
    pub cwd: Option<&'a str>,
    /// Whether it has an `input`.
    pub has_input: bool,
    /// The approvals of a person.
    pub approved: Approved<'a>,
}

/// The same, in a directory that is already known.
pub(super) struct InPlace<'a> {
    pub command: Result<CommandLine, CommandLineError>,
    pub directory: Result<WorkingDirectory, DirectoryError>,
    pub has_input: bool,
    /// The variables that its line sets for it.
    pub variables: LineVariables,
    pub approved: Approved<'a>,
}

impl Policy {
    /// Gathers what the decision on a call needs, and decides.
    ///
    /// A program is looked for only if its word is allowed, so a client learns nothing about programs that it may not run.
    pub fn examine(&self, command: Result<CommandLine, CommandLineError>, cwd: Option<&str>) -> Decision {
        self.evaluate(&self.directories, Requested { command, cwd, has_input: false, approved: Approved::default() })
    }

    /// The same for a call with an input or an approval, and in other directories than the operator's, such as those narrowed
    /// to a client's roots.
    pub fn evaluate(&self, directories: &Directories, asked: Requested<'_>) -> Decision {
        let Requested { command, cwd, has_input, approved } = asked;
        let directory = directories.resolve(cwd);
        self.evaluate_in(
            directories,
            InPlace { command, directory, has_input, variables: Default::default(), approved },
        )
    }

    /// The same for a command whose directory is already known, as in a line.
    pub(super) fn evaluate_in(&self, directories: &Directories, asked: InPlace<'_>) -> Decision {
        let InPlace { command, directory, has_input, variables, approved } = asked;
        let command = command.map_err(|error| self.hidden_in_error(error));
        let project = || directories.project_for_commands().map(|project| Rule::Project(project.path().to_owned()));
        // The one place where the first word is looked up.
        let rule = command.as_ref().ok().and_then(|command| self.allow.find(command.word()).or_else(project));
        let mut facts = Facts { rule, directory, program: None, untrusted: None, judged: None, has_input, variables };
        if let (Ok(command), Ok(directory), Some(rule)) = (&command, &facts.directory, &mut facts.rule) {
            facts.program = self.programs.find(rule.clone(), command.word(), directory);
            let described = match &facts.program {
                Some(program) if !self.allow.rules().is_empty() => {
                    self.rule_of_file(program, command.word(), directories, directory)
                }
                Some(_) | None => None,
            };
            if let Some(described) = described {
                *rule = Rule::Described(described);
                facts.program = facts.program.map(|program| program.by(rule.clone()));
            }
            facts.untrusted = facts.program.as_ref().and_then(|program| self.guard()?.glance(program.path()).err());
            if let Rule::Described(rule) = rule {
                let place = (directories, directory);
                facts.judged = Some(Judged::of(rule, command.words(), place, facts.program.as_ref()));
            }
        }
        // The project allows only programs that were found in it.
        if matches!(facts.rule, Some(Rule::Project(_))) && facts.program.is_none() {
            facts.rule = None;
        }
        let attempted = command.as_ref().err().map(CommandLineError::attempted);
        let denied = match (&command, &facts.rule) {
            (Ok(command), None) => self.denied_by_its_file(command, directories, &facts.directory),
            (Ok(_), Some(_)) | (Err(_), _) => RefusalKind::Undescribed,
        };
        let is_judged = facts.judged.is_some();
        let mut decision = decision::decide(&self.allow, command, facts, approved);
        decision.explanation.refusal_kind = decision.explanation.refusal_kind.max(denied);
        if let Err(Refusal::NotAllowed { word, .. }) = &decision.outcome {
            if let Some(withheld) = directories.withheld(word) {
                decision.outcome = Err(withheld.into());
            }
        }
        if decision.outcome.is_err() && !is_judged {
            // Nobody has looked at its arguments.
            let words = attempted.unwrap_or_else(|| std::mem::take(&mut decision.explanation.words));
            let hidden = self.hide(words);
            decision.outcome = decision.outcome.map_err(|refusal| hidden.in_refusal(refusal));
            decision.explanation.words = hidden.words;
        }
        decision
    }
}
