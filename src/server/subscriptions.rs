//! The subscriptions that are open: each a request that has no answer until one side ends it.

use crate::jsonrpc::{ErrorObject, INTERNAL_ERROR, RequestId, encode};
use crate::mcp::{Revision, acknowledged_params, listen_result};

/// How many may be open at once.
const MOST_OPEN: usize = 1_000;

/// The open subscriptions, in the order in which they were opened.
#[derive(Debug, Default)]
pub(super) struct Subscriptions {
    open: Vec<(RequestId, Revision)>,
}

impl Subscriptions {
    /// Opens one; gives the notification that acknowledges it.
    ///
    /// # Errors
    /// Where too many are open.
    pub(super) fn open(&mut self, id: &RequestId, revision: Revision) -> Result<Vec<u8>, ErrorObject> {
        if self.open.len() >= MOST_OPEN {
            let why = format!("{MOST_OPEN} subscriptions are open, and no more can be; cancel some first");
            return Err(ErrorObject::new(INTERNAL_ERROR, why));
        }
        self.open.push((id.clone(), revision));
        Ok(encode::notification("notifications/subscriptions/acknowledged", &acknowledged_params(id)))
    }

    /// Ends those of this request, about which nothing more is sent.
    pub(super) fn cancel(&mut self, id: &RequestId) {
        self.open.retain(|(open, _)| open != id);
    }

    /// Ends all from the server's side; gives their answers.
    pub(super) fn end_all(&mut self) -> Vec<Vec<u8>> {
        let answer = |(id, revision)| encode::result(&id, &encode::to_json(&listen_result(&id, revision)));
        std::mem::take(&mut self.open).into_iter().map(answer).collect()
    }
}
