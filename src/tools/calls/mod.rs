//! The tools about calls that were made before: they run nothing.
//!
//! - `describe` makes their entries in the list of tools.
//! - [`CallRequest`] is a call of one of them.
//! - [`list_result`] and [`stop_result`] are the answers of two of them; [`read_output`] reads and searches output.

mod answers;
mod describe;
mod read;
mod request;

pub use answers::{ListedCall, list_result, stop_result};
pub(super) use describe::tools;
pub use read::{ReadOutcome, read_output};
pub(super) use request::read;
pub use request::{CallRequest, ReadOutput, Start, StopCall, WriteInput};

use super::CallTool;
use super::command_result::exit_code_of;
use crate::exec::End;

/// How far a call is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallState {
    /// Its command runs.
    Running,
    /// Its command has ended.
    Ended {
        /// How.
        end: End,
        /// Advice for the next call.
        hint: Option<String>,
    },
    /// Its command could not be started, or was lost.
    Failed(String),
}

impl CallState {
    /// Whether its command runs.
    pub fn is_running(&self) -> bool {
        matches!(self, Self::Running)
    }

    /// The short fields of a result for this state.
    fn fields(&self) -> Vec<(&'static str, Field)> {
        let mut fields = vec![("running", Field::Flag(self.is_running()))];
        match self {
            Self::Running => {}
            Self::Ended { end, hint } => {
                let (code, signal) = exit_code_of(*end);
                fields.push(("exit_code", Field::Number(i64::from(code))));
                fields.extend(signal.map(|signal| ("signal", Field::Text(signal))));
                fields.extend(matches!(end, End::TimedOut(_)).then_some(("timed_out", Field::Flag(true))));
                fields.extend(hint.clone().map(|hint| ("hint", Field::Text(hint))));
            }
            Self::Failed(why) => fields.push(("failed", Field::Text(why.clone()))),
        }
        fields
    }
}

/// A short field of a result.
#[derive(Debug, Clone)]
enum Field {
    Flag(bool),
    Number(i64),
    Text(String),
}
