//! The server: one loop that owns the state of the session and writes all output.
//!
//! The loop reads its standard input itself, if it can, and keeps its own deadlines. Each call has a thread of its own, which
//! decides on it, runs it and reports through the single channel of `Event`s. `Session` decides which era of the protocol a
//! request belongs to, and makes a `RequestContext` from it; handlers see only that.
//!
//! - [`Server::new`] builds everything that a resolved configuration describes.
//! - [`Server::serve`] serves a client on two streams.
//! - [`Parts::call`] runs a call without a client.
//! - [`Observer`] is told about every decision and every end of a command.

#[cfg_attr(not(feature = "background"), path = "no_about_calls.rs")]
mod about_calls;
mod answers;
#[cfg_attr(not(feature = "rules"), path = "no_approval.rs")]
mod approval;
mod asked;
#[cfg_attr(not(feature = "evidence"), path = "no_auditor.rs")]
mod auditor;
#[cfg_attr(not(feature = "background"), path = "no_background.rs")]
mod background;
mod budget;
mod call_threads;
mod calls;
mod cancelling;
mod configured;
mod confinement;
mod deadlines;
mod dispatch;
mod ending;
mod event;
mod examine;
mod facts;
mod feedback;
mod filling_in;
mod in_process;
mod inbox;
mod job;
mod leftovers;
#[cfg_attr(not(all(unix, feature = "lines")), path = "no_line_calls.rs")]
pub(crate) mod line_calls;
#[cfg_attr(not(all(unix, feature = "lines")), path = "no_line_job.rs")]
mod line_job;
mod listed_tools;
mod log;
mod messages;
mod narrowed;
mod narrowing;
mod not_found;
mod not_run;
mod not_started;
mod observer;
mod outcome;
mod outgoing;
mod parts;
mod placing;
mod planned;
#[cfg_attr(not(unix), path = "no_polled.rs")]
pub(crate) mod polled;
mod prompting;
#[cfg_attr(not(feature = "rules"), path = "no_question.rs")]
mod question;
#[cfg_attr(not(feature = "rules"), path = "no_questions.rs")]
mod questions;
mod recorded;
mod replies;
mod requests;
mod roots;
mod run;
mod sent_words;
mod session;
#[cfg_attr(not(feature = "shell"), path = "no_shell_parts.rs")]
mod shell_parts;
#[cfg_attr(not(feature = "shell"), path = "no_shell_runner.rs")]
mod shell_runner;
mod terms;
mod tool_call;
mod turns;
mod warnings;
mod workers;

pub use asked::Asked;
pub(crate) use auditor::check_audit;
pub use confinement::Confinement;
pub use in_process::CallError;
pub use inbox::Ender;
pub use log::{Log, LogSink};
pub(crate) use not_started::NotStarted;
pub use observer::{CommandEnded, CommandOutcome, Decided, Observer, QuestionAnswered, QuestionAsked};
pub use parts::Parts;
pub(crate) use parts::{NOTHING_ALLOWED, Suggests};
pub use question::{Answer, Channel};
pub use questions::AskSettings;
pub use run::{DrainTime, Server};
