//! What the loop knows of the session.

use serde_json::Value;

use super::auditor::Auditor;
use super::outgoing::Outgoing;
use super::questions::Questions;
use super::reading::Background;
use super::requests::Requests;
use super::roots::Roots;
use super::session::Session;
use crate::jsonrpc::encode;
use crate::mcp::Revision;

/// The state that messages change.
pub(super) struct State {
    pub session: Session,
    pub requests: Requests,
    pub outgoing: Outgoing,
    pub roots: Roots,
    pub tools: ListedTools,
    pub questions: Questions,
    pub background: Background,
    pub audit: Auditor,
}

/// The list of tools, encoded for each revision in which it was requested. It never changes, and clients request it
/// often.
#[derive(Debug, Default)]
pub(super) struct ListedTools(Vec<(Revision, Vec<u8>)>);

impl ListedTools {
    pub(super) fn encoded(&mut self, revision: Revision, make: impl FnOnce() -> Value) -> Vec<u8> {
        if let Some((_, encoded)) = self.0.iter().find(|(listed, _)| *listed == revision) {
            return encoded.clone();
        }
        let encoded = encode::to_json(&make());
        self.0.push((revision, encoded.clone()));
        encoded
    }
}
