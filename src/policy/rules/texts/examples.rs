//! The examples of a policy: command lines and what must be decided for them. They are checked whenever a policy file is
//! loaded.

use super::super::error::{PolicyError, Problem};
use super::super::grammar::{CommandRule, Example, ExampleLine, Expected, Form};
use super::super::judge::Judgement;
use super::by_text::ByText;
use super::variations;
use crate::policy::{CommandLine, CommandLineError};

/// The words of an example, split as a client's line is.
///
/// # Errors
/// [`CommandLineError`], if it is not a command line.
pub fn words_of(line: &ExampleLine) -> Result<Vec<String>, CommandLineError> {
    let command = match line {
        ExampleLine::Line(line) => CommandLine::parse(line),
        ExampleLine::Words(words) => {
            let mut words = words.iter().cloned();
            CommandLine::from_process(words.next().unwrap_or_default(), words.collect())
        }
    };
    command.map(CommandLine::into_words)
}

/// Decides on words by a rule, without asking the file system; see `ByText`.
pub fn decide_example<'p>(command: &'p CommandRule, words: &[String]) -> Judgement<'p> {
    command.judge(words, &mut { ByText::USUAL })
}

/// Decides on words by a rule, if the decision is the same wherever the project lies; else returns `None`.
pub(crate) fn decide_anywhere<'p>(command: &'p CommandRule, words: &[String]) -> Option<Judgement<'p>> {
    let usual = decide_example(command, words);
    let is_same = |mut reading: ByText| command.judge(words, &mut reading).decision == usual.decision;
    ByText::OTHERS.into_iter().all(is_same).then_some(usual)
}

/// Decides by each of the readings that a file system can make true: that a path lies outside, inside or around where
/// its text does not tell, and that it is missing.
pub(crate) fn decide_readings(command: &CommandRule, words: &[String]) -> [Expected; 4] {
    let [inside, around] = ByText::OTHERS;
    [ByText::USUAL, inside, around, ByText::MISSING].map(|mut reading| command.judge(words, &mut reading).decision)
}

/// Why an example can't be decided.
pub(crate) const UNTOLD: &str = "whether a path of it lies under the directories that its type names can't be told without \
    files; write the path relative to the project, or leave the example out";

/// The result of running an example.
#[derive(Debug)]
pub struct ExampleRun<'p> {
    /// The decision.
    pub came: Expected,
    /// Why, as a sentence; empty if the command takes anything.
    pub why: String,
    /// Whether this was expected. It never is for a line that calls another command.
    pub is_as_expected: bool,
    /// The rule's judgement; `None` for a line that does not call the command.
    pub judgement: Option<Judgement<'p>>,
}

/// Runs an example of a command.
pub fn run_example<'p>(command: &'p CommandRule, example: &Example) -> ExampleRun<'p> {
    let none = |why: String, is_foreign: bool| {
        let is_as_expected = example.expected == Expected::Refuse && !is_foreign;
        ExampleRun { came: Expected::Refuse, why, is_as_expected, judgement: None }
    };
    let words = match words_of(&example.line) {
        Err(error) => return none(error.to_string(), false),
        Ok(words) => words,
    };
    if words.first() != Some(&command.name) {
        return none(format!("it does not call `{}`", command.name), true);
    }
    let Some(judgement) = decide_anywhere(command, &words) else {
        let (came, why) = (example.expected, UNTOLD.to_owned());
        return ExampleRun { came, why, is_as_expected: false, judgement: None };
    };
    let came = judgement.decision;
    let is_meant = judgement.decision == example.expected;
    if let Some(why) = variations::evading(command, &words, &judgement).filter(|_| is_meant) {
        return ExampleRun { came: example.expected, why, is_as_expected: false, judgement: Some(judgement) };
    }
    let by = judgement.matched.as_ref().and_then(|matched| matched.form).map(|form| &form.origin);
    let by = by.map_or_else(String::new, |origin| format!("the form in {origin} matches"));
    let why = judgement.refusal.clone().unwrap_or(by);
    ExampleRun { came, why, is_as_expected: came == example.expected, judgement: Some(judgement) }
}

/// Runs the examples of a command, and a call of each form that asks or denies beside laxer ones and decides no example.
pub(in crate::policy::rules) fn check(command: &CommandRule) -> Result<(), PolicyError> {
    let words: Vec<Vec<String>> = command.examples.iter().filter_map(|example| words_of(&example.line).ok()).collect();
    let mut tried: Vec<&Form> = Vec::new();
    for words in &words {
        tried.extend(decide_example(command, words).matched.and_then(|matched| matched.form));
    }
    let forms =
        command.level.levels().into_iter().flat_map(|level| level.forms().iter().map(move |form| (level, form)));
    for (level, form) in forms.filter(|(_, form)| !tried.iter().any(|other| std::ptr::eq(*other, *form))) {
        let Some(words) = variations::sample(level, form) else { continue };
        let Some(judgement) = decide_anywhere(command, &words) else { continue };
        let is_its = judgement.matched.as_ref().and_then(|matched| matched.form).is_some_and(|by| by == form);
        if let Some(what) = variations::evading_form(command, form, &words, &judgement).filter(|_| is_its) {
            let problem = Problem::Evaded { line: super::super::written(&words), effect: form.effect.name(), what };
            return Err(PolicyError { origin: form.origin.clone(), problem });
        }
    }
    for example in &command.examples {
        let ExampleRun { came, why, is_as_expected, .. } = run_example(command, example);
        if !is_as_expected {
            let problem = Problem::Example { line: example.line.to_string(), what: example.expected.unmet(came, &why) };
            return Err(PolicyError { origin: example.origin.clone(), problem });
        }
    }
    Ok(())
}
