//! Directories that a thread has narrowed to a client's roots.

use std::sync::Arc;

use crate::policy::{ClientRoots, Directories};

/// The operator's directories, narrowed to roots of the client.
#[derive(Debug)]
pub(super) struct Narrowed {
    pub directories: Arc<Directories>,
    /// The roots that count, and why others do not.
    pub client: ClientRoots,
}
