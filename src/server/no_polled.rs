//! Stands where the stream that the loop reads itself would, on platforms without poll(2): a thread of its own reads, and the loop
//! sleeps only on the channel.

use std::convert::Infallible;
use std::io::{self, BufRead};
use std::sync::mpsc::Receiver;
use std::time::Duration;

use super::event::Event;

/// Nothing has to wake the loop.
#[derive(Debug, Default)]
pub(super) struct Bell {}

impl Bell {
    /// Does nothing.
    pub(super) fn ring(&self) {}
}

/// Never made here.
#[derive(Debug)]
pub(crate) struct Gate(Infallible);

/// Never made here.
pub(super) struct Polled(Infallible);

impl Polled {
    pub(super) fn new(_input: Box<dyn BufRead>, gate: Gate, _bell: &Bell) -> io::Result<Self> {
        match gate.0 {}
    }

    pub(super) fn next(&mut self, _events: &Receiver<Event>, _wait: Option<Duration>) -> Option<Event> {
        match self.0 {}
    }
}
