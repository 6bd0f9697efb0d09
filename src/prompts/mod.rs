//! Prompts, and the instructions that introduce the server to a model.
//!
//! - [`intro`] describes the tools and their rules.
//! - [`explain_refusal`] says why a command would be refused, and what to call instead.

mod explain_refusal;
mod intro;

pub use explain_refusal::explain_refusal;
pub use intro::{instructions, intro};

use serde_json::{Map, Value};
use thiserror::Error;

use crate::mcp::{Prompt, PromptArgument, Tool};
use crate::policy::{AllowList, Lines, Verdict, quoted};
use crate::tools::WhichTools;

/// The prompts, in the order of their list.
pub const PROMPTS: &[Prompt] = &[INTRO, EXPLAIN_REFUSAL];

const INTRO: Prompt = Prompt {
    name: "intro",
    title: "Introduction",
    description: "Describes the tools of this server, the commands that are allowed, and the rules for calling them.",
    arguments: &[],
};

const EXPLAIN_REFUSAL: Prompt = Prompt {
    name: "explain_refusal",
    title: "Explain a refusal",
    description: "Explains whether and why this server would refuse a command, without running it, and what to call instead.",
    arguments: &[COMMAND],
};

const COMMAND: PromptArgument = PromptArgument {
    name: "command",
    title: "Command",
    description: "The command line, as it would be given to `execute_command`.",
    required: true,
};

/// Why there is no such prompt, or no completion of its argument.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum PromptError {
    /// No prompt has this name.
    #[error("unknown prompt {}; the prompts are {}", quoted(.name), names(PROMPTS.iter().map(|prompt| prompt.name)))]
    UnknownPrompt {
        /// The name in the request.
        name: String,
    },
    /// The prompt has no such argument.
    #[error("prompt `{prompt}` has no argument {}; it has {}", quoted(.argument), names(.known.iter().map(|known| known.name)))]
    UnknownArgument {
        /// The prompt's name.
        prompt: &'static str,
        /// The name in the request.
        argument: String,
        /// The arguments of the prompt.
        known: &'static [PromptArgument],
    },
    /// A required argument is missing.
    #[error("prompt `{prompt}` needs the argument `{argument}`, a string")]
    MissingArgument {
        /// The prompt's name.
        prompt: &'static str,
        /// The argument's.
        argument: &'static str,
    },
}

fn names<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

/// Fills in a prompt; returns it with its text. Unknown arguments are ignored. `examine` returns what would be decided
/// for a command.
///
/// # Errors
/// [`PromptError`] if there is no such prompt or a required argument is missing.
pub fn get(
    name: &str,
    arguments: &Map<String, Value>,
    tools: &[&Tool],
    (which, lines): (WhichTools, Lines),
    allow: &AllowList,
    examine: impl FnOnce(&str) -> Verdict,
) -> Result<(&'static Prompt, String), PromptError> {
    let prompt = find(name)?;
    let text = if prompt == &EXPLAIN_REFUSAL {
        let missing = PromptError::MissingArgument { prompt: prompt.name, argument: COMMAND.name };
        let command = arguments.get(COMMAND.name).and_then(Value::as_str).ok_or(missing)?;
        let asked = whole_word(command);
        let text = explain_refusal(asked, tools, allow, &examine(asked));
        if asked == command { text } else { format!("{}{text}", split_note(command, asked)) }
    } else {
        intro(tools.iter().copied(), allow, which, lines)
    };
    Ok((prompt, text))
}

/// The command without an unclosed quote at its start: some clients split what is typed after a prompt at blanks, and
/// pass on only the first piece of `"rm -rf x"`.
fn whole_word(command: &str) -> &str {
    let rest = command.strip_prefix('"').filter(|rest| !rest.contains('"'));
    let rest = rest.or_else(|| command.strip_prefix('\'').filter(|rest| !rest.contains('\'')));
    rest.filter(|rest| !rest.trim().is_empty()).unwrap_or(command)
}

fn split_note(command: &str, asked: &str) -> String {
    format!(
        "The argument arrived as {}, with a quote that has no end: the client split it at a blank and passed on its first part. This \
         is what holds for {}; for a whole line, ask `allowexec check -- LINE`.\n\n",
        quoted(command),
        quoted(asked)
    )
}

/// The completions of a partly typed argument of a prompt: for a command, the names of the allowed commands.
///
/// # Errors
/// [`PromptError`] if there is no such prompt or argument.
pub fn complete<'a>(
    prompt: &str,
    argument: &str,
    value: &str,
    allow: &'a AllowList,
) -> Result<Vec<&'a str>, PromptError> {
    let prompt = find(prompt)?;
    if !prompt.arguments.iter().any(|known| known.name == argument) {
        let argument = argument.to_owned();
        return Err(PromptError::UnknownArgument { prompt: prompt.name, argument, known: prompt.arguments });
    }
    Ok(allow.names().iter().map(String::as_str).filter(|name| name.starts_with(value)).collect())
}

fn find(name: &str) -> Result<&'static Prompt, PromptError> {
    let found = PROMPTS.iter().find(|prompt| prompt.name == name);
    found.ok_or_else(|| PromptError::UnknownPrompt { name: name.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quote_without_an_end_is_taken_off_and_what_is_whole_stays() {
        for (command, expected) in [
            ("\"rm", "rm"),
            ("'git", "git"),
            ("ls -l", "ls -l"),
            ("\"a b\" c", "\"a b\" c"),
            ("'it's", "'it's"),
            ("\"", "\""),
            ("ls \"x", "ls \"x"),
        ] {
            assert_eq!(whole_word(command), expected, "{command}");
        }
        let note = split_note("\"rm", "rm");
        assert!(note.starts_with("The argument arrived as `\"rm`") && note.contains("what holds for `rm`"), "{note}");
    }
}
