//! The server: one loop that owns all state and writes all output.
//!
//! It reads its standard input itself, where it can; workers run calls, a timer keeps the loop's deadlines; they share
//! the one channel of `Event`s and nothing else. `Session` is the one seam between the eras of the protocol: it makes a
//! `RequestContext` for each request, and handlers see only that.
//!
//! - [`Server::new`] builds everything that a resolved configuration describes.
//! - [`Server::serve`] serves a client on two streams.
//! - [`Parts::call`] runs a call without a client.
//! - [`Observer`] hears of every decision and of every end of a command.

mod calls;
mod confinement;
mod context;
mod dispatch;
mod event;
mod examine;
mod feedback;
mod in_process;
mod inbox;
mod log;
mod observer;
mod parts;
#[cfg(unix)]
mod polled;
mod replies;
mod roots;
mod run;
mod session;
mod shell_calls;
mod subscriptions;
mod utilities;
mod workers;

pub use confinement::Confinement;
pub(crate) use context::RequestContext;
pub use event::Ender;
pub use examine::Asked;
pub use in_process::CallError;
pub(crate) use inbox::EventSender;
pub use log::{Log, LogSink};
pub(crate) use observer::Unobserved;
pub use observer::{CommandEnded, CommandOutcome, Decided, Observer};
pub use parts::Parts;
#[cfg(unix)]
pub(crate) use polled::{Gate, Gated, gated};
pub use run::{Patience, Server};
pub(crate) use session::Session;
