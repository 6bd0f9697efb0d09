//! A grant: a file or directory, and what commands may do with it and everything beneath it.

use std::sync::Arc;

use crate::files::Held;

/// The access that a grant gives. Landlock adds up the grants along a path and can't take any away beneath.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Access {
    /// Read files, and see what is in directories.
    Read,
    /// Read, and execute.
    ReadAndExecute,
    /// Read, write, make and remove, but no device nodes.
    Write,
    /// Write, and execute.
    WriteAndExecute,
    /// Read and write a device, and what ioctl(2) can do with it.
    Device,
}

/// A file, or a directory with everything beneath it, and what may be done with it. It was opened once, so later rules
/// grant the same thing, whatever its path leads to by then.
#[derive(Debug, Clone)]
pub struct Grant {
    /// The file or directory.
    pub held: Arc<Held>,
    /// The access.
    pub access: Access,
}

impl Grant {
    /// Grants this.
    pub fn new(held: Arc<Held>, access: Access) -> Self {
        Self { held, access }
    }
}
