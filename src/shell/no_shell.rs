//! Stands where the layer of the persistent shell would, in a build without it: the types that the server names.

use std::marker::PhantomData;
use std::path::Path;

use crate::exec::Host;
use crate::sandbox::Sandbox;

/// Never made.
#[derive(Debug, Clone)]
pub enum ShellSettings {}

impl ShellSettings {
    pub fn program(&self) -> Result<&Path, &str> {
        match *self {}
    }

    pub fn sandbox(&self) -> Option<&Sandbox> {
        match *self {}
    }

    pub fn has_builtin(&self, _: &str) -> bool {
        match *self {}
    }

    pub fn at_start(&self) -> ShellDirectories<'_> {
        match *self {}
    }
}

/// Of no shell.
#[derive(Debug, Clone, Copy, Default)]
pub struct ShellDirectories<'a>(PhantomData<&'a ()>);

/// Never made.
#[derive(Debug)]
pub enum ShellState {}

impl ShellState {
    pub fn host(&self) -> Option<&Host> {
        match *self {}
    }

    pub fn restarted(&self) -> Option<&str> {
        match *self {}
    }
}
