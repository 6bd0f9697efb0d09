//! Sessions as text: the format, and the player that plays a transcript against a peer.
//!
//! It knows JSON-RPC's message shapes and nothing of MCP's methods; the server does not know that it exists. The
//! page for another implementation is `spec/transcript_format.md`.
//!
//! - [`Transcript`]: a whole file, parsed and printed.
//! - [`Header`]: how the server is started and on which platforms, with [`Setup`] for the files it finds.
//! - [`Entry`]: one line of the body; [`Sent`] and [`Message`] are what goes each way.
//! - [`Identity`]: which message answers which wait.
//! - [`Placeholders`]: `[tmp]` and `[version]`, put in and taken out in this one place.
//! - [`Player`] and [`Peer`]: playing.
//! - [`Recorder`]: writing a session down while it happens.
//! - [`Comparison`]: what differs between a transcript and what was played, as a unified diff.
//! - [`Mock`]: the answers of a transcript, for a client that is tested.
//!
//! ```
//! use allowexec::transcript::Transcript;
//!
//! let text = "transcript: 1\nargs: --allow ls\n\n--> {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n<-- {\"id\":1}\n";
//! let transcript = Transcript::parse("ping.transcript", text)?;
//! assert_eq!(transcript.header.args(), ["--allow", "ls"]);
//! assert_eq!(transcript.to_string(), text);
//! # Ok::<(), allowexec::transcript::TranscriptError>(())
//! ```

mod comparison;
mod diff;
mod entry;
mod error;
mod header;
mod identity;
mod mock;
mod nearest;
mod peer;
mod placeholders;
mod player;
mod recorder;
mod setup;
#[cfg(test)]
mod tests;
mod text;

pub use comparison::Comparison;
pub use entry::{Entry, Failure, LineEnd, Message, Sent};
pub use error::{Problem, TranscriptError};
pub use header::{Header, Platform};
pub use identity::Identity;
pub use mock::{Answer, Mock};
pub use peer::Peer;
pub use placeholders::Placeholders;
pub use player::Player;
pub use recorder::{Complaint, OnFailure, RecordedInput, RecordedOutput, Recorder};
pub use setup::Setup;
pub use text::Transcript;
