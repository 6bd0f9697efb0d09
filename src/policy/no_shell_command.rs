//! Stands where commands of the persistent shell would be decided on, in a build without it: there are none.

/// A command for the persistent shell; there is none.
pub type ShellCommand = std::convert::Infallible;

/// Whether this build has the room.
pub(crate) const IS_BUILT: bool = false;
