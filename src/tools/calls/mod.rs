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

use std::time::Duration;

use super::command_result::exit_code_of;
use crate::exec::End;

/// The settings of these tools, and of calls that go on after their answer.
#[derive(Debug, Clone, Copy)]
pub struct BackgroundSettings {
    /// Whether any output is kept.
    pub keeps_output: bool,
    /// The longest wait of a read.
    pub max_wait: Duration,
    /// The longest run of a call in the background.
    pub max_background: Duration,
    /// How many calls can run there concurrently.
    pub most_calls: usize,
    /// After what time a call is handed over to the background; zero for never.
    pub hand_over: Duration,
}

/// A tool about calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallTool {
    /// Reads the output of a call.
    ReadOutput,
    /// Writes to the standard input of a call.
    WriteInput,
    /// Ends a call.
    StopCall,
    /// Lists the calls.
    ListCalls,
}

impl CallTool {
    /// All, in the order of the list.
    pub const ALL: [Self; 4] = [Self::ReadOutput, Self::WriteInput, Self::StopCall, Self::ListCalls];
    /// Their names.
    pub const NAMES: [&'static str; 4] = ["read_output", "write_input", "stop_call", "list_calls"];

    /// The name that clients call it by.
    pub fn name(self) -> &'static str {
        match self {
            Self::ReadOutput => "read_output",
            Self::WriteInput => "write_input",
            Self::StopCall => "stop_call",
            Self::ListCalls => "list_calls",
        }
    }
}

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
