//! The outcome of a request, and what becomes of a task before it.

use serde_json::Value;

use crate::jsonrpc::ErrorObject;

/// A change of a task before its end.
#[derive(Debug)]
pub(super) enum TaskChange {
    /// A person is being asked. The value is the question in the task; `None` if the person is asked in another way.
    Asks(Option<Value>),
    /// A person approved it.
    Works,
    /// It is running, as the call with this number.
    Runs(u64),
}

/// How a request is answered.
#[derive(Debug)]
pub(super) enum Outcome {
    /// A result, encoded.
    Result(Vec<u8>),
    Error(ErrorObject),
}
