//! Sessions as text: the format, and the player that plays a transcript against a peer.
//!
//! It knows the messages of JSON-RPC but no method of MCP, and the server does not know that it exists.
//! `spec/transcript_format.md` describes the format for other implementations.
//!
//! - [`Transcript`]: a whole file, parsed and printed.
//! - [`Header`]: how the server is started and on which platforms, with [`Setup`] for the files it finds.
//! - [`Entry`]: one line of the body; [`Sent`] and [`Message`] are what goes each way.
//! - [`Era`]: `era: both`, one text for a legacy and a modern session. Only this file knows how each opens.
//! - [`Identity`]: which message answers which wait.
//! - [`Placeholders`]: `[tmp]` and `[version]`, filled in and removed only here.
//! - [`Player`] and [`Peer`]: playing.
//! - [`Recorder`]: records a session while it happens.
//! - [`Rule`]: what may differ.
//! - [`Comparison`]: the differences between a transcript and what was played, as a unified diff.
//! - [`Mock`]: answers a client from a transcript, to test the client.
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
mod eras;
mod error;
mod fresh;
mod header;
mod identity;
mod long_line;
mod mock;
mod nearest;
mod pairs;
mod peer;
mod placeholders;
mod player;
mod recorder;
mod rule;
mod setup;
#[cfg(test)]
mod tests;
mod text;
mod times;
mod unheld;

pub use comparison::Comparison;
pub(crate) use entry::is_bare;
pub use entry::{Entry, Failure, LineEnd, Message, Sent};
pub use eras::Era;
pub use error::{Problem, TranscriptError};
pub use header::{Header, Platform};
pub use identity::Identity;
pub use mock::{Answer, Mock};
pub use pairs::Strictness;
pub use peer::Peer;
pub use placeholders::Placeholders;
pub use player::Player;
pub use recorder::{Clock, Complaint, OnFailure, RecordedInput, RecordedOutput, Recorder, Spool};
pub use rule::Rule;
pub use setup::Setup;
pub use text::Transcript;
