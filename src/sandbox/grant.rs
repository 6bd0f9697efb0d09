//! One thing that is granted: a place, and what may be done with all that lies beneath it.

use std::path::PathBuf;

/// What may be done. Landlock adds up what is granted along a path and can take nothing away beneath.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Access {
    /// See what is in a directory.
    List,
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

/// A place and what may be done beneath it; of a file it is the file itself.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Grant {
    /// An absolute path, whose links are followed.
    pub path: PathBuf,
    /// What may be done.
    pub access: Access,
}

impl Grant {
    /// Grants this.
    pub fn new(path: impl Into<PathBuf>, access: Access) -> Self {
        Self { path: path.into(), access }
    }
}
