//! The decision on a pipeline at its turn: the only one that makes the commands of a line.

use super::command::{Here, Stage, Verdict};
use super::places::{Changed, change};
use super::proposal::ShownRedirection;
use super::redirection;
use super::{
    DecidedRedirection, DecidedStage, LineRefusal, PartDecision, PartOutcome, PlannedLine, Position, ShownPart,
    StageWork,
};
use crate::lines::{Builtin, Command, Group, Pipeline, Redirection, Simple};
use crate::policy::rules::Ruled;
use crate::policy::{Approved, Directories, Policy, WorkingDirectory};

/// The decision on a pipeline at its turn.
#[derive(Debug)]
pub struct Turn {
    /// Its parts that are not as they were decided before the line began, up to the first that is refused.
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
        let here = Here { policy, directories, position, is_certain: true, room: &self.room };
        let mut parts = Vec::new();
        let stages = pipeline.stages.iter().enumerate().map(|(nth, stage)| {
            let place = stage.place;
            let mut taken = Taken { line: self, here, place, before: self.decided_at(place).iter(), parts: &mut parts };
            let inherits_input = nth > 0 || position.inherits_input;
            match &stage.command {
                Command::Simple(simple) => taken.command(simple, (pipeline.stages.len() > 1, inherits_input)),
                Command::Group(group) => taken.group(group, inherits_input),
            }
        });
        let outcome = stages.collect();
        Turn { outcome, parts }
    }

    /// The parts of the stage at this place, as they were decided before the line began.
    fn decided_at(&self, place: usize) -> &[PartDecision] {
        let from = self.decided.partition_point(|part| part.place < place);
        let of_stage = self.decided.get(from..).unwrap_or_default();
        of_stage.get(..of_stage.partition_point(|part| part.place == place)).unwrap_or_default()
    }

    /// Checks that a part of a line that a person has approved is what was shown.
    fn check_shown(&self, found: &ShownPart) -> Result<(), String> {
        let shown = self.approved.binary_search_by_key(&found.place, |part| part.place);
        match shown.ok().and_then(|nth| self.approved.get(nth)) {
            Some(shown) if found.difference(shown).is_none() => Ok(()),
            None if self.approved.is_empty() && !found.asks() => Ok(()),
            Some(_) | None => Err(NOT_SHOWN.to_owned()),
        }
    }
}

/// A stage at its turn.
struct Taken<'a> {
    line: &'a PlannedLine,
    here: Here<'a>,
    place: usize,
    /// Its parts as they were decided before the line began, of which the next comes next.
    before: std::slice::Iter<'a, PartDecision>,
    /// Those that are not as they were.
    parts: &'a mut Vec<PartDecision>,
}

impl Taken<'_> {
    fn command(
        &mut self,
        simple: &Simple,
        (is_one_of_several, inherits_input): (bool, bool),
    ) -> Result<DecidedStage, LineRefusal> {
        let number = simple.number;
        let stage = Stage { is_one_of_several, inherits_input, reads_call: self.line.reader() == Some(number) };
        let mut commanded = self.here.command(simple, stage, Approved::default());
        let ruled = commanded.ruled();
        let (verdicts, shown) = self.verdicts(&simple.redirections, |_| ruled.as_slice());
        let found = ShownPart::of_command((self.place, number), self.here, &commanded, shown);
        let is_as_shown = self.line.check_shown(&found);
        if let (Some(asked), Ok(())) = (found.proposal(), &is_as_shown) {
            // It is what was shown, but for what patterns have found since.
            commanded = self.here.command(simple, stage, Approved { now: Some(asked), before: &[] });
        }
        let part = commanded.part((self.place, number), PartOutcome::Allowed);
        let word = part.explanation.words.first().cloned().unwrap_or_default();
        let timeout = ruled.as_ref().and_then(|command| command.rule.timeout);
        let may_change = self.may_change(commanded.changes_nothing(), &simple.redirections);
        let is_decided = self.line.inheritance.is_decided_for(self.place, ruled.as_ref());
        let work = self.work(commanded.verdict).and_then(|work| is_as_shown.map(|()| work));
        let work = if is_decided { work } else { work.and(Err(OF_ANOTHER.to_owned())) };
        let work = if may_change { work.and(Err(ONLY_READS.to_owned())) } else { work };
        if !commanded.words.is_empty() {
            let refused = work.as_ref().err().map(|why| PartOutcome::Refused(why.clone()));
            self.note(PartDecision { outcome: refused.unwrap_or(PartOutcome::Allowed), ..part });
        }
        let refused = |sentence| LineRefusal::Part { number, word: word.clone(), sentence, allowed: None };
        let work = work.map_err(refused)?;
        let redirections = self.redirections((number, &word), &simple.redirections, verdicts)?;
        Ok(DecidedStage { number, work, timeout, redirections })
    }

    fn group(&mut self, group: &Group, inherits_input: bool) -> Result<DecidedStage, LineRefusal> {
        let stage = Stage { is_one_of_several: false, inherits_input, reads_call: false };
        let place = self.place;
        let (mut verdicts, shown) =
            self.verdicts(&group.redirections, |number| self.line.inheritance.rules_of(place, number));
        if let Some(first) = verdicts.first_mut() {
            let reads = self.here.reads(&group.redirections, stage);
            let found = ShownPart::of_group(place, self.here, shown, reads);
            if let Err(why) = self.line.check_shown(&found) {
                *first = redirection::Verdict::Refused(why);
            }
            if self.may_change(true, &group.redirections) {
                *first = redirection::Verdict::Refused(ONLY_READS.to_owned());
            }
        }
        let redirections = self.redirections((0, ""), &group.redirections, verdicts)?;
        Ok(DecidedStage { number: 0, work: StageWork::Group, timeout: None, redirections })
    }

    /// Whether a stage changes something, where the line may run only what changes nothing: what its words lead to is known now.
    fn may_change(&self, changes_nothing: bool, redirections: &[Redirection]) -> bool {
        let writes = redirections.iter().any(|redirection| self.here.writes_file(redirection));
        self.line.only_reads && (!changes_nothing || writes)
    }

    /// Notes a part, unless it is what it was before the line began.
    fn note(&mut self, part: PartDecision) {
        if self.before.next() != Some(&part) {
            self.parts.push(part);
        }
    }

    fn work(&self, verdict: Verdict) -> Result<StageWork, String> {
        match verdict {
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
        }
    }

    /// The decisions on redirections, each of which counts for the commands that `of` returns, and how they would be shown.
    fn verdicts<'r>(
        &self,
        redirections: &[Redirection],
        of: impl Fn(usize) -> &'r [Ruled],
    ) -> (Vec<redirection::Verdict>, Vec<ShownRedirection>) {
        redirections.iter().enumerate().map(|(nth, one)| self.here.redirection(one, of(nth))).unzip()
    }

    fn redirections(
        &mut self,
        (number, word): (usize, &str),
        redirections: &[Redirection],
        verdicts: Vec<redirection::Verdict>,
    ) -> Result<Vec<DecidedRedirection>, LineRefusal> {
        let mut decided = Vec::with_capacity(redirections.len());
        for (redirection, verdict) in redirections.iter().zip(verdicts) {
            let verdict = match verdict {
                // That it is what was shown is known by now.
                redirection::Verdict::Done(redirection) | redirection::Verdict::Ask(redirection) => Ok(redirection),
                redirection::Verdict::AtItsTurn => Err("it can't be decided".to_owned()),
                redirection::Verdict::Refused(sentence) => Err(sentence),
            };
            let outcome = verdict.as_ref().err().map_or(PartOutcome::Allowed, |why| PartOutcome::Refused(why.clone()));
            let part = self.here.part((self.place, number), redirection, outcome);
            self.note(part);
            let word = word.to_owned();
            decided.push(verdict.map_err(|sentence| LineRefusal::Part { number, word, sentence, allowed: None })?);
        }
        Ok(decided)
    }
}

/// Why a part that is not what was shown does not run.
const NOT_SHOWN: &str = "a person has to approve it as it is now, and was shown something else, or nothing, before the line began; \
                         call it again by itself";

/// Why a part does not run of a line that may only read.
const ONLY_READS: &str =
    "it is not what it seemed to be before the line began, and is not read-only; call it by itself with another tool";

/// Why a command does not run whose groups have redirections that were decided for another one.
const OF_ANOTHER: &str = "a redirection of its group was decided before it was known that this is the command; redirect its own \
                          streams, or call it by itself";

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
