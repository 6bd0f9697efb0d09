//! The server: one loop that owns all state and writes all output.
//!
//! A reader thread turns lines into events, workers run calls, a timer keeps the loop's deadlines; they share the one
//! channel of [`Event`]s and nothing else. [`Session`] is the one seam between the eras of the protocol: it makes a
//! [`RequestContext`] for each request, and handlers see only that.
//!
//! - [`Server::new`] builds everything that a resolved configuration describes.
//! - [`Server::serve`] serves a client on two streams.

mod calls;
mod context;
mod dispatch;
mod event;
mod log;
mod parts;
mod replies;
mod run;
mod session;
mod workers;

pub use context::RequestContext;
pub use event::Ender;
pub(crate) use event::EventSender;
pub use log::{Log, LogSink};
pub use parts::Parts;
pub use run::{Patience, Server};
pub use session::Session;
