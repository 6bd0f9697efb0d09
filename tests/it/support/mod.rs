//! The harness of the integration tests: the real binary as a child process, and a tap on everything it says.
//!
//! - [`server`]: starts the binary, sends to it, waits for it.
//! - [`tap`]: checks each line that any server sends in any test, by the official schemas and by what they don't say.
//! - [`schema`]: those schemas, compiled when first needed.
//! - `world`: what the tests of the sandbox try to get out of (Linux).
//! - `place`: the directory and the programs of the tests of Windows.
//! - [`made`]: parts of documents that a test makes.
//! - [`scenario`]: plays a fixture and compares it with its snapshot; one name in four places.
//! - `shown`: what a snapshot shows of what was played.
//!
//! ```ignore
//! use crate::support::Server;
//!
//! let mut server = Server::command(&["--allow", "echo"]).env("ALLOWEXEC_TIMEOUT", "5s").start();
//! server.initialize("2025-06-18");
//! let answer = server.request("tools/list", json!({}));
//! ```

#![cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "part of it serves tests that only Linux has"))]

pub mod four_places;
pub mod made;
#[cfg(windows)]
pub mod place;
pub mod scenario;
pub mod schema;
pub mod server;
pub mod shown;
pub mod tap;
#[cfg(target_os = "linux")]
pub mod world;

pub use server::{Server, modern_meta};
pub use tap::Tap;
