//! Stands where the files that starting a program needs would, on platforms where files name no interpreters.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::{self, Read, Seek};
use std::path::PathBuf;

use super::{CommandPaths, Unclear};
use crate::files::Held;

/// A file that is executed with another one; never made here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Needed {
    Interpreter(PathBuf, Option<OsString>),
    Loader(PathBuf),
    Shell,
}

/// The interpreters of a file: none.
#[derive(Debug, Default)]
pub(crate) struct Interpreters {
    pub files: BTreeSet<PathBuf>,
    pub broken: Option<PathBuf>,
    pub not_found: Option<OsString>,
}

impl Interpreters {
    pub(crate) fn of(_needed: &[Needed], _paths: &CommandPaths) -> Result<Self, Unclear> {
        Ok(Self::default())
    }
}

/// Facts about a file's execution: none are known.
#[derive(Debug, Default)]
pub(crate) struct Head {
    pub needed: Vec<Needed>,
    pub is_native: bool,
}

pub(crate) fn needed_by(_held: &Held) -> io::Result<Vec<Needed>> {
    Ok(Vec::new())
}

/// Reads nothing.
pub(crate) fn read(_held: &Held) -> io::Result<Head> {
    Ok(Head::default())
}

pub(super) fn interpreter_linked(_head: &[u8], _file: &mut (impl Read + Seek)) -> Option<&'static str> {
    None
}
