//! What handlers ask the loop to do. They change the state that they are given, and write nothing themselves.

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;

use super::event::{CallEnded, Deadline};
use super::replies::Reply;
use super::requests::HeldCall;
use super::tasks::TaskChange;
use crate::audit;
use crate::config::LogLevel;
use crate::exec::OperatorProgram;
use crate::jsonrpc::{ErrorObject, encode};

/// One thing for the loop to do.
#[derive(Debug)]
pub(super) enum Effect {
    /// Answer a request with an encoded result.
    Answer(Reply, Vec<u8>),
    /// Answer a request with an error.
    Refuse(Reply, ErrorObject),
    /// Send no answer, because the client has cancelled the request.
    Withdraw(Reply),
    /// Send an encoded message of the server's own.
    Send(Vec<u8>),
    /// Serve a request that was held.
    Serve(Box<HeldCall>),
    /// Run the operator's program that asks a person.
    Ask(Box<ProgramAsks>),
    /// End the operator's program that asks this question, because nobody is waiting for the answer.
    EndAsking(u64),
    /// Handle the end of a call as the next event.
    End(CallEnded),
    /// Note a change of the task with this number, and tell its client.
    Task(u64, TaskChange),
    /// Set a deadline that passes after the delay.
    Wait(Duration, Deadline),
    /// Remove a deadline.
    Forget(Deadline),
    /// Write a line to the log.
    Log(LogLevel, String),
    /// Write a record to the audit log, if there is one.
    Record(Box<audit::Event>),
}

/// What the operator's program is given.
#[derive(Debug)]
pub(super) struct ProgramAsks {
    /// The number of the question.
    pub number: u64,
    pub program: Arc<OperatorProgram>,
    /// Its standard input.
    pub request: Vec<u8>,
    /// The text that a person reads.
    pub text: String,
}

/// What the loop is to do, in order.
#[derive(Debug, Default)]
pub(super) struct Effects(Vec<Effect>);

impl Effects {
    /// Answers a request with a result.
    pub(super) fn answer(reply: Reply, result: &impl Serialize) -> Self {
        Effect::Answer(reply, encode::to_json(result)).into()
    }

    /// Answers a request with a handler's result or error.
    pub(super) fn respond(reply: Reply, result: Result<impl Serialize, ErrorObject>) -> Self {
        match result {
            Ok(result) => Self::answer(reply, &result),
            Err(error) => Effect::Refuse(reply, error).into(),
        }
    }

    pub(super) fn push(&mut self, effect: Effect) {
        self.0.push(effect);
    }

    /// Sends the message, if there is one.
    pub(super) fn send(&mut self, message: Option<Vec<u8>>) {
        self.0.extend(message.map(Effect::Send));
    }

    pub(super) fn log(&mut self, level: LogLevel, line: impl Into<String>) {
        self.0.push(Effect::Log(level, line.into()));
    }

    pub(super) fn record(&mut self, event: audit::Event) {
        self.0.push(Effect::Record(Box::new(event)));
    }

    /// These effects, followed by `more`.
    pub(super) fn and(mut self, more: Self) -> Self {
        self.extend(more);
        self
    }

    pub(super) fn extend(&mut self, more: Self) {
        self.0.extend(more.0);
    }
}

impl From<Effect> for Effects {
    fn from(effect: Effect) -> Self {
        Self(vec![effect])
    }
}

impl IntoIterator for Effects {
    type Item = Effect;
    type IntoIter = std::vec::IntoIter<Effect>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}
