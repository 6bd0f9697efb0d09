//! Checks a recorded session against the protocol: framing, ids, lifecycle, capabilities, progress, cancellation, and the
//! official schemas.
//!
//! The schemas are MCP's own (`schema/REVISION/schema.json` of its repository), and the caller names their directory:
//! this project does not contain them. [`Schema`] knows the part of JSON Schema that they use, and refuses one that
//! uses more.

mod capabilities;
mod finding;
mod schema;
mod session;
#[cfg(test)]
mod tests;

pub use finding::{Finding, Side};
pub use schema::Schema;
pub use session::lint;
