//! The evaluation of a call: gathers what the decision needs, and decides. One-shot calls, `check`, `explain_refusal` and
//! programs that embed the crate all go through it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::decision::{self, Facts, Judged, LineVariable};
use super::proposal::Approved;
use super::rules::{CommandRule, Expected, HIDDEN, Match, OnDisk};
use super::{
    CommandLine, CommandLineError, Decision, DescribedAt, Directories, DirectoryError, Policy, Program, Refusal,
    RefusalKind, Rule, WorkingDirectory, is_path,
};
use crate::files::FileState;

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
    pub variables: BTreeMap<String, LineVariable>,
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
        self.evaluate_in(directories, InPlace { command, directory, has_input, variables: BTreeMap::new(), approved })
    }

    /// The same for a command whose directory is already known, as in a line.
    pub(super) fn evaluate_in(&self, directories: &Directories, asked: InPlace<'_>) -> Decision {
        let InPlace { command, directory, has_input, variables, approved } = asked;
        let command = command.map_err(|error| self.hidden_in_error(error));
        let project = || directories.project_for_commands().map(|project| Rule::Project(project.path().to_owned()));
        // The one place where the first word is looked up.
        let rule = command.as_ref().ok().and_then(|command| self.allow.find(command.word()).or_else(project));
        let mut facts = Facts {
            rule,
            directory,
            program: None,
            untrusted: None,
            state: None,
            judged: None,
            has_input,
            is_in_rule: true,
            variables,
        };
        if let (Ok(command), Ok(directory), Some(rule)) = (&command, &facts.directory, &mut facts.rule) {
            facts.program = self.programs.find(rule.clone(), command.word(), directory);
            if matches!(rule, Rule::Entry(_) | Rule::Any | Rule::Project(_)) {
                // A rule is for a file, by whatever word a call reaches it, also one that the operator allows beside it.
                let called = directory.path().join(command.word());
                let of_file =
                    |program: &Program| self.programs.rule_of(program.path(), &called, self.allow.rules(), directories);
                if let Some(described) = facts.program.as_ref().and_then(of_file) {
                    *rule = Rule::Described(described);
                    facts.program = facts.program.map(|program| program.by(rule.clone()));
                }
            }
            facts.untrusted = facts.program.as_ref().and_then(|program| self.guard()?.glance(program.path()).err());
            if let Rule::Described(rule) = rule {
                let judged = judged(rule, command.words(), directories, directory);
                if judged.decision == Expected::Ask {
                    facts.state =
                        facts.program.as_ref().and_then(|program| FileState::with_contents(program.path()).ok());
                }
                facts.judged = Some(judged);
                facts.is_in_rule =
                    rule.cwd_under.is_empty() || directories.beneath_project(&rule.cwd_under).holds(directory.held());
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

    /// How firmly a command is refused whose first word nothing allows: a rule that denies is for its file, by whatever word a call
    /// reaches it.
    fn denied_by_its_file(
        &self,
        command: &CommandLine,
        directories: &Directories,
        directory: &Result<WorkingDirectory, DirectoryError>,
    ) -> RefusalKind {
        let rules = self.allow.rules();
        if !rules.written().any(|rule| rule.denies()) {
            return RefusalKind::Undescribed;
        }
        let word = command.word();
        let program = match directory {
            Ok(directory) => self.programs.find(Rule::Any, word, directory),
            // Nobody knows where a relative path leads then.
            Err(_) if is_path(word) && !Path::new(word).is_absolute() => return RefusalKind::Unclear,
            Err(_) => self.programs.find_listed(word),
        };
        let called = directory.as_ref().map_or_else(|_| PathBuf::from(word), |directory| directory.path().join(word));
        let rule = program.and_then(|program| self.programs.rule_of(program.path(), &called, rules, directories));
        match (rule, directory) {
            (Some(rule), Ok(directory)) => judged(&rule, command.words(), directories, directory).refusal_kind,
            (Some(rule), Err(_)) if rule.denies() => RefusalKind::Unclear,
            (Some(_), Err(_)) | (None, _) => RefusalKind::Undescribed,
        }
    }
}

fn judged(rule: &CommandRule, words: &[String], directories: &Directories, directory: &WorkingDirectory) -> Judged {
    let judgement = rule.judge(words, &mut OnDisk::new(directories, directory));
    let matched = judgement.matched.as_ref();
    let form = matched.and_then(|matched| matched.form).map(|form| form.origin.clone());
    let described =
        DescribedAt { level: judgement.level.title(), origin: form.unwrap_or_else(|| judgement.level.origin.clone()) };
    let shown = judgement.shown;
    let (words, shown_inserted) = match matched {
        Some(matched) if judgement.decision != Expected::Refuse => {
            (matched.with_inserted(words), matched.with_inserted(&shown))
        }
        Some(_) | None => (words.to_vec(), Vec::new()),
    };
    let secrets = secrets_of(&words, &shown_inserted);
    let reason = judgement.reason.map(str::to_owned);
    // Words that nothing takes have the environment of all calls of the rule, for what is said of their variables.
    let env = matched.map_or_else(|| rule.level.env.clone(), Match::env);
    let (decision, refusal, claims) = (judgement.decision, judgement.refusal, judgement.claims);
    let refusal_kind = judgement.refusal_kind;
    Judged { decision, refusal, reason, words, shown, shown_inserted, secrets, described, claims, env, refusal_kind }
}

/// Compares words with how they are shown: the numbers of those with a secret part, and the byte from which it is secret.
pub(super) fn secrets_of(words: &[String], shown: &[String]) -> Vec<(usize, usize)> {
    let both = words.iter().zip(shown).enumerate().filter(|(_, (word, shown))| word != shown);
    both.map(|(place, (_, shown))| (place, shown.strip_suffix(HIDDEN).map_or(0, str::len))).collect()
}
