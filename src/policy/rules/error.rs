//! Mistakes in a policy, in words for its author.

use thiserror::Error;

use super::grammar::{Origin, PolicySource};

/// A mistake in a policy, with its place.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{origin}: {problem}")]
pub struct PolicyError {
    /// The file and the line.
    pub origin: Origin,
    /// The mistake.
    pub problem: Problem,
}

/// Something in a policy that is allowed but probably not meant, with its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyWarning {
    /// The file and the line.
    pub origin: Origin,
    /// Describes it, as a sentence.
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

/// A mistake in a policy.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Problem {
    /// It is not YAML, or too much of it.
    #[error("{why}")]
    Yaml {
        /// The mistake, as a sentence.
        why: String,
    },
    /// A key that is not known here.
    #[error("unknown key {key} of {of}{}", meant(nearest.as_deref(), &format!("the known keys are {}", known.join(", "))))]
    UnknownKey {
        /// The key as it is written, in backticks.
        key: String,
        /// The mapping of the key.
        of: String,
        /// The one that was probably meant.
        nearest: Option<String>,
        /// All keys that are known here.
        known: Vec<&'static str>,
    },
    /// A key that is missing.
    #[error("{of} needs the key `{key}`")]
    MissingKey {
        /// The mapping of the key.
        of: String,
        /// The key.
        key: &'static str,
    },
    /// A value of the wrong shape, or one that is not allowed.
    #[error("{what}: expected {expected}, found {found}")]
    Value {
        /// The key or the part that has the value.
        what: String,
        /// The expected values.
        expected: String,
        /// The value that was found.
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
    /// A type that is defined by itself.
    #[error("type `{name}` is defined by itself")]
    TypeInItself {
        /// The name.
        name: String,
    },
    /// A value with two types.
    #[error("{what} has the two types `{first}` and `{second}`; keep one of them")]
    TwoTypes {
        /// The value.
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
    /// A set of characters that can't be read.
    #[error("`chars`: {}", if range.is_empty() { "the set is empty".to_owned() } else { format!("the range `{range}` runs backwards") })]
    Chars {
        /// The range that runs backwards; empty for an empty set.
        range: String,
    },
    /// Bounds the wrong way round.
    #[error("{what}: {low} is more than {high}")]
    Bounds {
        /// The part that has the bounds.
        what: String,
        /// The lower one.
        low: String,
        /// The upper one.
        high: String,
    },
    /// A spelling that an option can't have.
    #[error("option `{spelling}`: {why}")]
    Spelling {
        /// The spelling.
        spelling: String,
        /// Why not, and what instead.
        why: String,
    },
    /// One option under two keys.
    #[error("option `{spelling}` occurs twice in this form, first in {first}; keep one of them")]
    OptionTwice {
        /// The spelling that both have.
        spelling: String,
        /// Where the first one is.
        first: Origin,
    },
    /// An attribute that has no meaning here.
    #[error("{what}: `{attribute}` means nothing {why}")]
    Attribute {
        /// The part that has the attribute.
        what: String,
        /// The attribute.
        attribute: &'static str,
        /// Why, such as "with a flag".
        why: String,
    },
    /// Two operands with a variable count.
    #[error(
        "the operands {first} and {second} both have a variable count, so it is not clear where the first one ends; give one of them a fixed `count`"
    )]
    TwoVariable {
        /// One of them.
        first: String,
        /// The other.
        second: String,
    },
    /// Operands next to forms.
    #[error("`{level}` has both `{key}` and `forms`; put `{key}` into the forms that it belongs to")]
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
    /// The types of redirections, in two places.
    #[error("`redirections` are described here and in {first}; keep one of them")]
    RedirectionsTwice {
        /// The other place.
        first: Origin,
    },
    /// A rule for a program that runs code or other programs, and that lets a call choose which.
    #[error(
        "`{command}` {meaning}, and {what} does not limit it: list what it may run with `one_of`, or allow everything with `{command}: any`"
    )]
    Unpinned {
        /// The command.
        command: String,
        /// The effect of the program, as a clause.
        meaning: String,
        /// The operand or the option.
        what: String,
    },
    /// An example that comes out in another way.
    #[error("example `{line}`: {what}")]
    Example {
        /// The command line.
        line: String,
        /// The expected decision, the one that came, and why.
        what: String,
    },
    /// A form that asks or denies, with no example of its own, and a call that evades it.
    #[error("the form that would {effect} at `{line}`: {what}")]
    Evaded {
        /// A call that it decides.
        line: String,
        /// Its decision.
        effect: &'static str,
        /// The call that evades it, and how to mend it.
        what: String,
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

/// Returns the name that was probably meant, or else the advice.
fn meant(nearest: Option<&str>, otherwise: &str) -> String {
    nearest.map_or_else(|| format!("; {otherwise}"), |nearest| format!("; did you mean `{nearest}`?"))
}
