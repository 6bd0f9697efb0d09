//! Cgroups on Unixes that have none: none can be made.

use std::convert::Infallible;
use std::io;
use std::os::fd::BorrowedFd;

use crate::exec::Limit;

/// Never made here.
#[derive(Debug)]
pub(super) struct Groups(Infallible);

impl Groups {
    pub(super) fn new(_memory: Option<u64>, _processes: Option<u64>) -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(super) fn ends_trees(&self) -> bool {
        match self.0 {}
    }

    pub(super) fn keeps_memory(&self) -> bool {
        match self.0 {}
    }

    pub(super) fn keeps_processes(&self) -> bool {
        match self.0 {}
    }

    pub(super) fn make(&self) -> io::Result<Group> {
        match self.0 {}
    }
}

/// Never made here.
#[derive(Debug)]
pub(super) struct Group(Infallible);

impl Group {
    pub(super) fn kill(&mut self) {
        match self.0 {}
    }

    pub(super) fn entries(&self) -> std::iter::Empty<BorrowedFd<'_>> {
        match self.0 {}
    }

    pub(super) fn is_hit_anew(&mut self, _limit: Limit) -> bool {
        match self.0 {}
    }
}
