//! The decision on a pipeline at its turn: the only one that makes the commands of a line.

use super::command::{Commanded, Here, Stage, Verdict};
use super::places::{Changed, change};
use super::redirection;
use super::{
    DecidedRedirection, DecidedStage, LineRefusal, PartDecision, PartKind, PartOutcome, PlannedLine, Position,
    ShownPart, StageWork,
};
use crate::lines::{Builtin, Command, Pipeline, Redirection, Simple};
use crate::policy::{Approved, Directories, Policy, Proposal, Rule, WorkingDirectory};

/// The decision on a pipeline at its turn.
#[derive(Debug)]
pub struct Turn {
    /// Its parts, up to the first that is refused.
    pub parts: Vec<PartDecision>,
    /// Its stages, or why the line ends here.
    pub outcome: Result<Vec<DecidedStage>, LineRefusal>,
}

impl PlannedLine {
    /// Decides on all stages of a pipeline of this line. Nothing was opened or started yet, and if one is refused nothing is.
    pub fn pipeline(
        &self,
        policy: &Policy,
        directories: &Directories,
        pipeline: &Pipeline,
        position: &Position,
    ) -> Turn {
        let here = Here { policy, directories, position, is_certain: true };
        let mut taken = Taken { line: self, here, parts: Vec::new() };
        let stages = pipeline.stages.iter().enumerate().map(|(place, stage)| {
            let inherits_input = place > 0 || position.inherits_input;
            match &stage.command {
                Command::Simple(simple) => taken.command(simple, (pipeline.stages.len() > 1, inherits_input)),
                Command::Group(group) => {
                    let redirections = taken.redirections((0, ""), &group.redirections, None)?;
                    Ok(DecidedStage { number: 0, work: StageWork::Group, redirections })
                }
            }
        });
        let outcome = stages.collect();
        Turn { outcome, parts: taken.parts }
    }

    fn approved(&self, number: usize) -> Option<&ShownPart> {
        self.approved.iter().find(|part| part.number == number)
    }
}

struct Taken<'a> {
    line: &'a PlannedLine,
    here: Here<'a>,
    parts: Vec<PartDecision>,
}

impl Taken<'_> {
    fn command(
        &mut self,
        simple: &Simple,
        (is_one_of_several, inherits_input): (bool, bool),
    ) -> Result<DecidedStage, LineRefusal> {
        let number = simple.number;
        let stage = Stage { is_one_of_several, inherits_input, reads_call: self.line.reader() == Some(number) };
        let approved = self.line.approved(number).and_then(ShownPart::proposal);
        let shown = self.line.approved(number).filter(|part| !part.is_as_found).and_then(ShownPart::proposal);
        let mut commanded = self.here.command(simple, stage, Approved { now: shown, before: &[] });
        if let (Verdict::Ask(found), Some(approved)) = (&commanded.verdict, approved) {
            // The words are those that were found; all else is what was approved.
            if is_as_shown(found, approved) {
                let found = found.clone();
                commanded = self.here.command(simple, stage, Approved { now: Some(&found), before: &[] });
            }
        }
        let Commanded { kind, words, explanation, verdict, .. } = commanded;
        let word = explanation.words.first().cloned().unwrap_or_default();
        let rule = match &explanation.rule {
            Some(Rule::Described(rule)) => Some(std::sync::Arc::clone(rule)),
            Some(Rule::Entry(_) | Rule::Any | Rule::Project(_)) | None => None,
        };
        let work = match verdict {
            Verdict::Nothing => Ok(StageWork::Nothing),
            Verdict::Builtin(Builtin::Cd(path)) => {
                match change(self.here.directories, &self.here.position.directory, &path) {
                    Changed::To(directory) => Ok(StageWork::Cd(Ok(directory))),
                    Changed::Failed(why) => Ok(StageWork::Cd(Err(why))),
                    Changed::Refused(sentence) => Err(sentence),
                }
            }
            Verdict::Builtin(builtin) => Ok(StageWork::Builtin(builtin)),
            Verdict::Program(command) => Ok(StageWork::Program(command)),
            Verdict::NotFound { word } => {
                let status = not_found(&self.here.position.directory, &word);
                Ok(StageWork::NotFound { word, status })
            }
            Verdict::Ask(_) => Err(NOT_SHOWN.to_owned()),
            Verdict::AtItsTurn => Err("it can't be decided".to_owned()),
            Verdict::Refused(sentence) => Err(sentence),
        };
        let outcome = work.as_ref().map_or_else(|why| PartOutcome::Refused(why.clone()), |_| PartOutcome::Allowed);
        if kind == PartKind::Command || !explanation.words.is_empty() {
            self.parts.push(PartDecision { number, kind, explanation, input: None, outcome });
        }
        let refused = |sentence| LineRefusal::Part { number, word: word.clone(), sentence, allowed: None };
        let work = work.map_err(refused)?;
        let of = rule.as_ref().map(|rule| (&**rule, words.as_slice()));
        let redirections = self.redirections((number, &word), &simple.redirections, of)?;
        Ok(DecidedStage { number, work, redirections })
    }

    fn redirections(
        &mut self,
        (number, word): (usize, &str),
        redirections: &[Redirection],
        of: redirection::Of<'_>,
    ) -> Result<Vec<DecidedRedirection>, LineRefusal> {
        let mut decided = Vec::with_capacity(redirections.len());
        for redirection in redirections {
            let verdict = match self.here.redirection(redirection, of) {
                redirection::Verdict::Done(redirection) => Ok(redirection),
                redirection::Verdict::Ask(redirection, asked) => {
                    let parts = self.line.approved.iter().filter(|part| part.number == number);
                    let mut shown = parts.flat_map(|part| &part.files);
                    let is_shown = shown.any(|file| file.is_same(&asked));
                    if is_shown { Ok(redirection) } else { Err(NOT_SHOWN.to_owned()) }
                }
                redirection::Verdict::AtItsTurn => Err("it can't be decided".to_owned()),
                redirection::Verdict::Refused(sentence) => Err(sentence),
            };
            let outcome = verdict.as_ref().err().map_or(PartOutcome::Allowed, |why| PartOutcome::Refused(why.clone()));
            self.parts.push(self.here.part(number, redirection, outcome));
            let word = word.to_owned();
            decided.push(verdict.map_err(|sentence| LineRefusal::Part { number, word, sentence, allowed: None })?);
        }
        Ok(decided)
    }
}

/// Why a part that asks at its turn does not run.
const NOT_SHOWN: &str = "a person has to approve it as it is now, and was shown something else, or nothing, before the line began; \
                         call it again by itself";

/// The status of a command that there is no program for, and what a shell says of it. Only a path can lead to something else.
fn not_found(from: &WorkingDirectory, word: &str) -> (i32, &'static str) {
    if !word.contains('/') {
        return (127, "command not found");
    }
    match from.path().join(word).metadata() {
        Ok(found) if found.is_dir() => (126, "Is a directory"),
        Ok(_) => (126, "Permission denied"),
        Err(_) => (127, "No such file or directory"),
    }
}

/// Whether a command whose words were found only now is otherwise the one that a person was shown.
fn is_as_shown(found: &Proposal, shown: &Proposal) -> bool {
    found.rule() == shown.rule()
        && found.reason() == shown.reason()
        && found.program() == shown.program()
        && found.directory() == shown.directory()
        && found.env() == shown.env()
}
