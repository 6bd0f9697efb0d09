//! The examples of a policy: command lines with what must be decided for them, run whenever the policy is loaded.

use super::error::{PolicyError, Problem};
use super::grammar::{CommandRule, ExampleLine, Expected};
use super::judge::{ByText, Judgement};
use crate::policy::{CommandLine, CommandLineError};

/// The words of an example, split as a client's line is.
///
/// # Errors
/// [`CommandLineError`], where it is no command line.
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

/// What a rule decides for words, whatever lies on the disk: a relative path without `..` counts as one that lies inside.
pub fn decide_example<'p>(command: &'p CommandRule, words: &[String]) -> Judgement<'p> {
    command.judge(words, &mut ByText)
}

/// Runs the examples of a command.
pub(super) fn check(command: &CommandRule) -> Result<(), PolicyError> {
    for example in &command.examples {
        let (came, why) = match words_of(&example.line) {
            Err(error) => (Expected::Refuse, error.to_string()),
            Ok(words) if words.first() != Some(&command.name) => {
                (Expected::Refuse, format!("it is no call of `{}`", command.name))
            }
            Ok(words) => {
                let judgement = decide_example(command, &words);
                let by = judgement.matched.as_ref().and_then(|matched| matched.form).map(|form| &form.origin);
                let by = by.map_or_else(String::new, |origin| format!("the form in {origin} matches"));
                (judgement.decision, judgement.refusal.unwrap_or(by))
            }
        };
        // A line that belongs to another command is a mistake whatever was expected.
        let is_foreign = words_of(&example.line).is_ok_and(|words| words.first() != Some(&command.name));
        if came != example.expected || is_foreign {
            let (line, expected, came) = (example.line.to_string(), example.expected.name(), came.name());
            let problem = Problem::Example { line, expected, came, why };
            return Err(PolicyError { origin: example.origin.clone(), problem });
        }
    }
    Ok(())
}
