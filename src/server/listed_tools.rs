//! The list of tools, as clients get it.

use serde_json::Value;

use crate::jsonrpc::encode;
use crate::mcp::Revision;

/// The list of tools, encoded for each revision in which it was requested. It never changes, and clients request it
/// often.
#[derive(Debug, Default)]
pub(super) struct ListedTools(Vec<(Revision, Vec<u8>)>);

impl ListedTools {
    /// The list in this revision; `make` makes it when it is requested first.
    pub(super) fn encoded(&mut self, revision: Revision, make: impl FnOnce() -> Value) -> Vec<u8> {
        if let Some((_, encoded)) = self.0.iter().find(|(listed, _)| *listed == revision) {
            return encoded.clone();
        }
        let encoded = encode::to_json(&make());
        self.0.push((revision, encoded.clone()));
        encoded
    }
}
