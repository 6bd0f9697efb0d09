//! A grant: a file or directory, and what commands may do with it and everything beneath it.

use std::path::PathBuf;
use std::sync::Arc;

use crate::files::Held;

/// What may be done. Landlock adds up the grants along a path and can't take any away beneath.
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

/// The place of a grant. It was opened once, so later rules grant the same thing, whatever its path leads to by then.
#[derive(Debug, Clone)]
pub enum GrantedPlace {
    /// This file or directory.
    Held(Arc<Held>),
    /// The file or directory at this relative path beneath a directory, opened without following links each time that
    /// rules are made: there may be thousands of these, more than a process may hold open.
    Beneath(Arc<Held>, PathBuf),
}

/// A file, or a directory with everything beneath it, and what may be done with it.
#[derive(Debug, Clone)]
pub struct Grant {
    /// The place.
    pub place: GrantedPlace,
    /// What may be done.
    pub access: Access,
}

impl Grant {
    /// Grants this.
    pub fn new(held: Arc<Held>, access: Access) -> Self {
        Self { place: GrantedPlace::Held(held), access }
    }

    /// The canonical path that the place had when it was opened, for messages.
    pub fn path(&self) -> PathBuf {
        match &self.place {
            GrantedPlace::Held(held) => held.path().to_owned(),
            GrantedPlace::Beneath(held, path) => held.path().join(path),
        }
    }
}
