//! The decision on one command of a line, as things are now.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::places::Names;
use super::{PartDecision, PartKind, PartOutcome, Position};
use crate::lines::{Assignment, Builtin, BuiltinError, ExpandError, Part, Redirection, Room, Simple, Value, Word};
use crate::policy::evaluate::InPlace;
use crate::policy::rules::{LineVariable, LineVariables, Ruled};
use crate::policy::{
    AllowedCommand, Approved, CommandLine, Decision, Directories, Explanation, Policy, Proposal, Refusal, RefusalKind,
    Rule, quoted,
};

/// The surroundings of a decision on a part of a line.
#[derive(Clone, Copy)]
pub(super) struct Here<'a> {
    pub policy: &'a Policy,
    pub directories: &'a Directories,
    pub position: &'a Position,
    /// Whether files are as they will be when it runs: nothing of the line runs before.
    pub is_certain: bool,
    /// How much more the words of the line may become.
    pub room: &'a Room,
}

/// The place of a command in its pipeline.
#[derive(Clone, Copy)]
pub(super) struct Stage {
    /// Whether other stages run beside it.
    pub is_one_of_several: bool,
    /// Whether it reads from a pipe, or from what its group was given.
    pub inherits_input: bool,
    /// Whether it reads the input of the call, unless something else gives it more to read.
    pub reads_call: bool,
}

/// A command that was decided on.
pub(super) struct Commanded {
    pub kind: PartKind,
    /// Its words, as they are passed on; as they are written where they are not known.
    pub words: Vec<String>,
    /// Whether a pattern has found it, for each of the words.
    pub found: Vec<bool>,
    /// Whether the words are those that will be found when it runs.
    pub is_as_found: bool,
    /// Describes what it reads by a pipe, or of the call.
    pub reads: Option<&'static str>,
    /// The variables that the line sets for it.
    pub variables: Vec<(String, String)>,
    pub explanation: Explanation,
    pub verdict: Verdict,
}

/// The words of a command; where they are not known, those that are written, and why.
type Words = Result<Vec<String>, (Vec<String>, ExpandError)>;

impl Commanded {
    /// The command as its redirections count for it; `None` if no rule describes it.
    pub(super) fn ruled(&self) -> Option<Ruled> {
        match &self.explanation.rule {
            Some(Rule::Described(rule)) => Some(Ruled::new(Arc::clone(rule), &self.words)),
            Some(Rule::Entry(_) | Rule::Any | Rule::Project(_)) | None => None,
        }
    }

    /// Whether it may run where only what changes nothing runs.
    pub(super) fn changes_nothing(&self) -> bool {
        self.kind != PartKind::Command || self.ruled().is_some_and(|command| command.rule.read_only)
    }

    /// The command as a part of the line, with what was decided.
    pub(super) fn part(&self, (place, number): (usize, usize), outcome: PartOutcome) -> PartDecision {
        let (explanation, variables) = (self.explanation.clone(), self.variables.clone());
        PartDecision { place, number, kind: self.kind, explanation, variables, input: None, outcome }
    }
}

/// The decision on a command.
pub(super) enum Verdict {
    Nothing,
    Builtin(Builtin),
    Program(Box<AllowedCommand>),
    NotFound { word: String },
    AtItsTurn,
    Ask(Box<Proposal>),
    Refused(String),
}

impl Here<'_> {
    /// The value of a variable that words may hold.
    pub(super) fn variable(&self, name: &str) -> Option<String> {
        match name {
            "PWD" => self.position.directory.path().to_str().map(str::to_owned),
            name => self.policy.line_rules.variables.get(name).cloned(),
        }
    }

    /// The text of a value.
    pub(super) fn value(&self, value: &Value) -> Result<String, ExpandError> {
        value.expand(&|name| self.variable(name))
    }

    /// Whether a command is given something to read: the last of its redirections counts, and `/dev/null` is nothing.
    pub(super) fn is_given_input(&self, redirections: &[Redirection], stage: Stage) -> bool {
        redirections.iter().fold(stage.inherits_input || stage.reads_call, |has_input, redirection| match redirection {
            Redirection::Read(file) => self.value(file).as_deref() != Ok(super::redirection::NULL),
            Redirection::Document(_) | Redirection::HereString(_) => true,
            Redirection::Write { .. } | Redirection::StderrToStdout | Redirection::StdoutToStderr => has_input,
        })
    }

    /// Describes what a command or a group reads that is not among its redirections.
    pub(super) fn reads(&self, redirections: &[Redirection], stage: Stage) -> Option<&'static str> {
        match redirections.iter().any(Redirection::gives_input) {
            false if stage.inherits_input => Some("the output of another command, or what its group is given"),
            false if stage.reads_call => Some("the `input` of the call"),
            true | false => None,
        }
    }

    /// Decides on a command.
    pub(super) fn command(&self, simple: &Simple, stage: Stage, approved: Approved<'_>) -> Commanded {
        let has_pattern = simple.words.iter().any(has_pattern);
        let has_input = self.is_given_input(&simple.redirections, stage);
        let is_as_found = has_pattern && !self.is_certain;
        let reads = self.reads(&simple.redirections, stage);
        let counted = |value: String| self.room.hold(1, value.len()).map(|()| value);
        let value = |one: &Assignment| self.value(&one.value).and_then(counted).unwrap_or_else(|_| "…".to_owned());
        let variables: Vec<_> = simple.assignments.iter().map(|one| (one.name.clone(), value(one))).collect();
        let (words, found) = self.words(simple);
        let commanded = |kind, words, explanation, verdict| {
            let (found, variables) = (found.clone(), variables.clone());
            Commanded { kind, words, found, is_as_found, reads, variables, explanation, verdict }
        };
        let refused = |words: Vec<String>, sentence: String| {
            let hidden = self.policy.hide(words);
            let sentence = hidden.in_sentence(sentence);
            let refusal_kind = RefusalKind::Unclear;
            let (words, directory) = (hidden.words, Some(self.position.directory.path().to_owned()));
            let explanation = Explanation { words: words.clone(), directory, refusal_kind, ..Explanation::default() };
            commanded(PartKind::Command, words, explanation, Verdict::Refused(sentence))
        };
        let words = match words {
            Ok(words) => words,
            Err((words, error)) => {
                let verdict = match error {
                    ExpandError::Unknown { .. } | ExpandError::Splits { .. } => None,
                    _ if self.is_certain => None,
                    // Other names may be found then.
                    _ => Some(Verdict::AtItsTurn),
                };
                // The words that are known may be enough to deny it.
                let known = self.evaluated(words, has_input, BTreeMap::new(), Approved::default());
                let kind = known.explanation.refusal_kind.max(RefusalKind::Unclear);
                let denied = known.outcome.err().filter(|_| kind == RefusalKind::Denied);
                let written = simple.words.iter().map(Word::written).collect();
                let mut refused =
                    refused(written, denied.map_or_else(|| error.to_string(), |denied| denied.to_string()));
                refused.verdict = verdict.unwrap_or(refused.verdict);
                refused.explanation.refusal_kind = kind;
                return refused;
            }
        };
        if words.is_empty() {
            return commanded(PartKind::Builtin, words, Explanation::default(), Verdict::Nothing);
        }
        match Builtin::of(&words) {
            Some(Err(_)) if is_as_found => {
                return Commanded { verdict: Verdict::AtItsTurn, ..refused(words, String::new()) };
            }
            Some(Err(error)) => return refused(words, error.to_string()),
            Some(Ok(Builtin::Cd(_) | Builtin::Exit(_))) if stage.is_one_of_several => {
                let name = words.first().cloned().unwrap_or_default();
                return refused(words, BuiltinError::Stage { name }.to_string());
            }
            Some(Ok(_)) if !simple.assignments.is_empty() => {
                let name = words.first().cloned().unwrap_or_default();
                return refused(words, BuiltinError::Assignment { name }.to_string());
            }
            Some(Ok(builtin)) => {
                // The policy may describe a program of the same name.
                let shown = self.policy.without_secrets(words.clone());
                let directory = Some(self.position.directory.path().to_owned());
                let explanation = Explanation { words: shown, directory, ..Explanation::default() };
                return commanded(PartKind::Builtin, words, explanation, Verdict::Builtin(builtin));
            }
            None => {}
        }
        let variables = match self.variables(simple) {
            Ok(variables) => variables,
            Err(error) => return refused(words, error.to_string()),
        };
        let Decision { explanation, outcome } = self.evaluated(words.clone(), has_input, variables, approved);
        let verdict = self.verdict(&words, has_pattern, &explanation, outcome);
        commanded(PartKind::Command, words, explanation, verdict)
    }

    /// Decides on words as for any call.
    fn evaluated(
        &self,
        mut words: Vec<String>,
        has_input: bool,
        variables: LineVariables,
        approved: Approved<'_>,
    ) -> Decision {
        let arguments = words.split_off(words.len().min(1));
        let command = CommandLine::from_process(words.concat(), arguments);
        let directory = Ok(self.position.directory.clone());
        self.policy.evaluate_in(self.directories, InPlace { command, directory, has_input, variables, approved })
    }

    /// The meaning of a decision for a line, in which files may change before the command runs.
    fn verdict(
        &self,
        words: &[String],
        has_pattern: bool,
        explanation: &Explanation,
        outcome: Result<AllowedCommand, Refusal>,
    ) -> Verdict {
        let of_files = |rule: &Option<Rule>| match rule {
            Some(Rule::Described(rule)) => rule.depends_on_files(words),
            Some(Rule::Entry(_) | Rule::Any | Rule::Project(_)) | None => false,
        };
        let may_change = !self.is_certain && (has_pattern || of_files(&explanation.rule));
        let word = words.first().map_or("", String::as_str);
        match outcome {
            Ok(_) if may_change => Verdict::AtItsTurn,
            Ok(command) => Verdict::Program(Box::new(command)),
            Err(Refusal::NeedsApproval(proposal)) => Verdict::Ask(proposal),
            Err(Refusal::ProgramNotFound { word, .. }) => Verdict::NotFound { word },
            Err(Refusal::NotAllowed { .. } | Refusal::Directory(_))
                if !self.is_certain && word.contains('/') && self.directories.project_for_commands().is_some() =>
            {
                Verdict::AtItsTurn
            }
            Err(Refusal::Input { word }) => Verdict::Refused(format!(
                "{} may not be given anything to read, by a pipe, `<` or a here-document; name what it needs as arguments",
                quoted(&word)
            )),
            Err(Refusal::Arguments { .. } | Refusal::OutsideOfRule { .. }) if may_change => Verdict::AtItsTurn,
            Err(refusal) => Verdict::Refused(refusal.to_string()),
        }
    }

    /// The words that a command becomes, and of each whether a pattern has found it; with an error as they are written.
    fn words(&self, simple: &Simple) -> (Words, Vec<bool>) {
        let mut names = Names { directories: self.directories, here: &self.position.directory };
        let (mut words, mut found) = (Vec::new(), Vec::new());
        for word in &simple.words {
            match word.expand(&|name| self.variable(name), &mut names, self.room) {
                Ok(of_word) => {
                    words.extend(of_word);
                    found.resize(words.len(), has_pattern(word));
                }
                Err(error) => {
                    let written = simple.words.iter().map(|word| word.text().unwrap_or_else(|| "…".to_owned()));
                    return (Err((written.collect(), error)), simple.words.iter().map(has_pattern).collect());
                }
            }
        }
        (Ok(words), found)
    }

    /// The variables that the line sets for a command.
    fn variables(&self, simple: &Simple) -> Result<LineVariables, ExpandError> {
        let variable = |assignment: &Assignment| {
            let is_named = self.policy.line_env.contains(&assignment.name);
            let value = self.value(&assignment.value)?;
            self.room.hold(1, value.len())?;
            Ok((assignment.name.clone(), LineVariable { value, is_named }))
        };
        simple.assignments.iter().map(variable).collect()
    }
}

fn has_pattern(word: &Word) -> bool {
    word.parts.iter().any(|part| matches!(part, Part::Pattern(_)))
}
