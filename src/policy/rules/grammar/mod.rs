//! The types of a policy: the loader makes them from a file, and the matcher reads words by them.
//!
//! A command is a [`CommandRule`] with a tree of [`Level`]s, one for the command itself and one for each subcommand. A
//! level describes its arguments by one or more [`Form`]s, each with options and operands of a [`ValueType`].
//!
//! - `command`: the rule for a command, with the settings for its calls
//! - `head`: the part of a rule that is known before its arguments are read
//! - `level`: a command or a subcommand
//! - `form`: one way to call it
//! - `option`: options by their spelling
//! - `value`: the types of values
//! - `restriction`: decisions about single values
//! - `example`: command lines, and what must be decided for them

mod command;
mod example;
mod form;
mod head;
mod level;
mod option;
mod restriction;
mod value;

pub use crate::policy::source::{Origin, PolicySource};
pub use crate::policy::terms::{Access, EnvRule, LimitsRule, SandboxRule, SandboxWord};
pub use command::CommandRule;
pub use example::{Example, ExampleLine, Expected};
pub use form::{Form, Operand};
pub use head::RuleHead;
pub use level::{Arguments, Effect, Level, Order, Syntax};
pub use option::{NUMBER_OPTION, OptionRule, Options, Takes, ValuePlace};
pub use restriction::Restriction;
pub use value::{CharSet, DEFAULT_LENGTH, PathType, TextType, ValueType};
