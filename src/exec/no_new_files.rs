//! Stands where the files that a call may create would, on platforms whose sandbox does not grant single files.

use std::io;
use std::sync::Arc;

use crate::files::Held;
use crate::policy::rules::HeldClaim;

/// None.
#[derive(Debug)]
pub(super) struct NewFiles;

impl NewFiles {
    /// Creates nothing.
    ///
    /// # Errors
    /// None here.
    pub(super) fn of(_claims: &[HeldClaim]) -> io::Result<Self> {
        Ok(Self)
    }

    /// No files.
    pub(super) fn held(&self) -> impl Iterator<Item = Arc<Held>> {
        std::iter::empty()
    }
}
