//! The examples of a policy: command lines and what must be decided for them. They are checked whenever a policy file is
//! loaded.

use super::error::{PolicyError, Problem};
use super::grammar::{CommandRule, Example, ExampleLine, Expected};
use super::judge::{ByText, Judgement};
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

/// What a rule decides for words, without asking the file system: a relative path without `..` counts as inside.
pub fn decide_example<'p>(command: &'p CommandRule, words: &[String]) -> Judgement<'p> {
    command.judge(words, &mut ByText)
}

/// The result of running an example.
#[derive(Debug)]
pub struct ExampleRun<'p> {
    /// What was decided.
    pub came: Expected,
    /// Why, as a sentence; empty if the command takes anything.
    pub why: String,
    /// Whether this was expected. It never is for a line that calls another command.
    pub is_as_expected: bool,
    /// What the rule says; `None` for a line that does not call the command.
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
    let judgement = decide_example(command, &words);
    let came = judgement.decision;
    let by = judgement.matched.as_ref().and_then(|matched| matched.form).map(|form| &form.origin);
    let by = by.map_or_else(String::new, |origin| format!("the form in {origin} matches"));
    let why = judgement.refusal.clone().unwrap_or(by);
    ExampleRun { came, why, is_as_expected: came == example.expected, judgement: Some(judgement) }
}

/// Runs the examples of a command.
pub(super) fn check(command: &CommandRule) -> Result<(), PolicyError> {
    for example in &command.examples {
        let ExampleRun { came, why, is_as_expected, .. } = run_example(command, example);
        if !is_as_expected {
            let problem = Problem::Example { line: example.line.to_string(), what: example.expected.unmet(came, &why) };
            return Err(PolicyError { origin: example.origin.clone(), problem });
        }
    }
    Ok(())
}
