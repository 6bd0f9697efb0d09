//! Prompts, and the words that introduce the server to a model.
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
use crate::policy::{AllowList, Verdict, WhichTools, quoted};

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

/// Why a prompt or the completion of its argument can't be had.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum PromptError {
    /// No prompt has this name.
    #[error("unknown prompt {}; the prompts are {}", quoted(.name), names(PROMPTS.iter().map(|prompt| prompt.name)))]
    UnknownPrompt {
        /// What was asked for.
        name: String,
    },
    /// The prompt has no such argument.
    #[error("prompt `{prompt}` has no argument {}; it has {}", quoted(.argument), names(.known.iter().map(|known| known.name)))]
    UnknownArgument {
        /// The prompt's name.
        prompt: &'static str,
        /// What was asked for.
        argument: String,
        /// What there is.
        known: &'static [PromptArgument],
    },
    /// The prompt can't do without the argument.
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

/// Fills in a prompt; gives it with its text. Arguments that it does not have are ignored. `examine` tells what would be
/// decided for a command.
///
/// # Errors
/// [`PromptError`], where there is no such prompt or a required argument is missing.
pub fn get(
    name: &str,
    arguments: &Map<String, Value>,
    tools: &[&Tool],
    which: WhichTools,
    allow: &AllowList,
    examine: impl FnOnce(&str) -> Verdict,
) -> Result<(&'static Prompt, String), PromptError> {
    let prompt = find(name)?;
    let text = if prompt == &EXPLAIN_REFUSAL {
        let missing = PromptError::MissingArgument { prompt: prompt.name, argument: COMMAND.name };
        let command = arguments.get(COMMAND.name).and_then(Value::as_str).ok_or(missing)?;
        explain_refusal(command, tools, allow, &examine(command))
    } else {
        intro(tools.iter().copied(), allow, which)
    };
    Ok((prompt, text))
}

/// What may stand for an argument of a prompt whose value begins like this: for a command, the names of those that are
/// allowed.
///
/// # Errors
/// [`PromptError`], where there is no such prompt or argument.
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
