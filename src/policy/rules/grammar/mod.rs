//! The types of a policy: what the loader makes of a file, and what the matcher reads words by.
//!
//! A command is a [`CommandRule`] with a tree of [`Level`]s, one for the command itself and one for each subcommand. A
//! level describes its arguments by one or more [`Form`]s, each with options and operands of a [`ValueType`].
//!
//! - `command`: what holds for every call of a command
//! - `level`: a command or a subcommand
//! - `form`: one way to call it
//! - `option`: options by their spelling
//! - `value`: the types of values
//! - `example`: what a policy says that it decides
//! - `source`: where it stands

mod command;
mod example;
mod form;
mod level;
mod option;
mod source;
mod value;

pub use command::{CommandRule, EnvRule, LimitsRule, SandboxRule, SandboxWord};
pub use example::{Example, ExampleLine, Expected};
pub use form::{Form, Operand};
pub use level::{Arguments, Effect, Level, Order, Syntax};
pub use option::{NUMBER_OPTION, OptionRule, Options, Takes, ValuePlace};
pub use source::{Origin, PolicySource};
pub use value::{Access, CharSet, DEFAULT_LENGTH, PathType, TextType, ValueType};
