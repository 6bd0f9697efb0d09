//! The platforms without Landlock: nothing is enforced, and a level that asks for more than nothing is an error.

use super::{Enforcement, Grant, Kernel, Level, SandboxError, SandboxSettings};

/// Says that there is none.
pub(super) fn kernel() -> Kernel {
    Kernel::Without("only Linux has Landlock")
}

/// Grants nothing, since nothing is held back.
pub(super) fn system_grants(_level: Level) -> Vec<Grant> {
    Vec::new()
}

/// Grants nothing, for the same reason.
pub(super) fn own_grants(_settings: &SandboxSettings) -> Vec<Grant> {
    Vec::new()
}

/// No rules at all.
#[derive(Debug)]
pub(super) struct Domain;

impl Domain {
    pub(super) fn new(_enforcement: Enforcement, _grants: &[Grant]) -> Result<Self, SandboxError> {
        Ok(Self)
    }

    pub(super) fn confine_thread(&self) -> Result<(), SandboxError> {
        Ok(())
    }
}
