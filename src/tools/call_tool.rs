//! The names of the tools about calls, and their settings.

use std::time::Duration;

/// The settings of these tools, and of calls that go on after their answer.
#[derive(Debug, Clone, Copy)]
pub struct BackgroundSettings {
    /// Whether any output is kept.
    pub keeps_output: bool,
    /// The longest wait of a read.
    pub max_wait: Duration,
    /// The longest run of a call in the background.
    pub max_background: Duration,
    /// The most calls that can run there concurrently.
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
