//! What can be wrong with a policy, in words for the person who wrote it.

use thiserror::Error;

use super::grammar::{Origin, PolicySource};

/// A mistake in a policy, with its place.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{origin}: {problem}")]
pub struct PolicyError {
    /// The file and the line.
    pub origin: Origin,
    /// What is wrong there.
    pub problem: Problem,
}

/// A situation that is allowed and probably not meant, with its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyWarning {
    /// The file and the line.
    pub origin: Origin,
    /// What is odd there.
    pub text: String,
}

impl std::fmt::Display for PolicyWarning {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.origin, self.text)
    }
}

impl From<PolicyError> for PolicyWarning {
    fn from(error: PolicyError) -> Self {
        Self { origin: error.origin, text: error.problem.to_string() }
    }
}

/// What can be wrong.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Problem {
    /// No YAML, or more of it than is read.
    #[error("{why}")]
    Yaml {
        /// As a sentence.
        why: String,
    },
    /// A key that means nothing here.
    #[error("unknown key {key} of {of}{}", meant(nearest.as_deref(), &format!("known are {}", known.join(", "))))]
    UnknownKey {
        /// As it is written, in backticks.
        key: String,
        /// What has keys here.
        of: String,
        /// The one that was probably meant.
        nearest: Option<String>,
        /// All that there are.
        known: Vec<&'static str>,
    },
    /// A key that is missing.
    #[error("{of} needs the key `{key}`")]
    MissingKey {
        /// What has keys here.
        of: String,
        /// The key.
        key: &'static str,
    },
    /// A value of the wrong shape, or one that means nothing.
    #[error("{what}: expected {expected}, found {found}")]
    Value {
        /// What it is the value of.
        what: String,
        /// What it may be.
        expected: String,
        /// What stands there.
        found: String,
    },
    /// A type that is not declared.
    #[error("unknown type `{name}`{}", meant(nearest.as_deref(), "declare it under `types`"))]
    UnknownType {
        /// The name.
        name: String,
        /// The one that was probably meant.
        nearest: Option<String>,
    },
    /// A type that is made of itself.
    #[error("type `{name}` is made of itself")]
    TypeInItself {
        /// The name.
        name: String,
    },
    /// A type of two kinds.
    #[error("{what} has the two types `{first}` and `{second}`; keep one of them")]
    TwoTypes {
        /// What it is the type of.
        what: String,
        /// One of them.
        first: String,
        /// The other.
        second: String,
    },
    /// A set that is not declared.
    #[error("unknown set `{name}`{}", meant(nearest.as_deref(), "declare it under `sets`"))]
    UnknownSet {
        /// The name.
        name: String,
        /// The one that was probably meant.
        nearest: Option<String>,
    },
    /// A profile that is not shipped.
    #[error("unknown profile `{name}`{}", meant(nearest.as_deref(), "`allowexec policy show` lists them"))]
    UnknownProfile {
        /// The name.
        name: String,
        /// The one that was probably meant.
        nearest: Option<String>,
    },
    /// `extends` of a profile without that command.
    #[error("profile `{profile}` does not describe `{command}`, so there is nothing to extend")]
    NothingToExtend {
        /// The profile.
        profile: String,
        /// The command.
        command: String,
    },
    /// A set of characters that is none.
    #[error("`chars`: {}", if range.is_empty() { "the set is empty".to_owned() } else { format!("the range `{range}` runs backwards") })]
    Chars {
        /// The range; empty where there is nothing at all.
        range: String,
    },
    /// Bounds the wrong way round.
    #[error("{what}: {low} is more than {high}")]
    Bounds {
        /// What has them.
        what: String,
        /// The lower one.
        low: String,
        /// The upper one.
        high: String,
    },
    /// A spelling that the syntax can't have.
    #[error("option `{spelling}`: {why}")]
    Spelling {
        /// As it is written.
        spelling: String,
        /// Why not, and what instead.
        why: String,
    },
    /// One option in two keys.
    #[error("option `{spelling}` occurs twice in this form, first in {first}; keep one of them")]
    OptionTwice {
        /// The spelling that both have.
        spelling: String,
        /// Where the first one stands.
        first: Origin,
    },
    /// An attribute that means nothing with this type.
    #[error("{what}: `{attribute}` means nothing {why}")]
    Attribute {
        /// What has it.
        what: String,
        /// The attribute.
        attribute: &'static str,
        /// Where it means nothing.
        why: String,
    },
    /// Two operands of variable number.
    #[error(
        "the operands {first} and {second} both have a variable number, so nobody can tell where one ends; give one of them a fixed `count`"
    )]
    TwoVariable {
        /// One of them.
        first: String,
        /// The other.
        second: String,
    },
    /// Operands beside forms.
    #[error("`{key}` stands beside `forms` of `{level}`; put it into the forms that it belongs to")]
    BesideForms {
        /// The key.
        key: &'static str,
        /// The command with its subcommands.
        level: String,
    },
    /// One command in two places.
    #[error("`{command}` is described here and in {first}; a command has one description, so keep one of them{}", or_extend(.first))]
    CommandTwice {
        /// The command.
        command: String,
        /// The other place.
        first: Origin,
    },
    /// A rule for a program that runs what it is told to, and is told anything.
    #[error(
        "`{command}` {meaning}, and {what} does not pin what that is: name what it may run with `one_of`, or say `{command}: any`"
    )]
    Unpinned {
        /// The command.
        command: String,
        /// What the program does.
        meaning: String,
        /// The operand or the option.
        what: String,
    },
    /// An example that comes out in another way.
    #[error("example `{line}`: expected {expected}, got {came}: {why}")]
    Example {
        /// The command line.
        line: String,
        /// What was expected.
        expected: &'static str,
        /// What came.
        came: &'static str,
        /// Why, as a sentence.
        why: String,
    },
}

fn or_extend(first: &Origin) -> String {
    match &*first.source {
        PolicySource::Profile(name) => {
            format!(", or extend the profile in a policy file: `extends: {name}` in the rule of the command")
        }
        PolicySource::File(_) | PolicySource::Allow | PolicySource::Ask => String::new(),
    }
}

/// What was probably meant, or else what to do.
fn meant(nearest: Option<&str>, otherwise: &str) -> String {
    nearest.map_or_else(|| format!("; {otherwise}"), |nearest| format!("; did you mean `{nearest}`?"))
}
