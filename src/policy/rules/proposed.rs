//! A command or a line for a person to approve.

use std::fmt;
use std::path::PathBuf;

use super::Proposal;
use crate::policy::line::LineProposal;

/// A command or a line that a person is asked to approve.
#[derive(Debug, Clone)]
pub enum Proposed {
    /// One command.
    Command(Box<Proposal>),
    /// A line of several.
    Line(Box<LineProposal>),
}

impl Proposed {
    /// The command, if it is one.
    pub fn command(&self) -> Option<&Proposal> {
        match self {
            Self::Command(proposal) => Some(proposal),
            Self::Line(_) => None,
        }
    }

    /// The line, if it is one of several commands.
    pub fn line(&self) -> Option<&LineProposal> {
        match self {
            Self::Line(line) => Some(line),
            Self::Command(_) => None,
        }
    }

    /// Whether another decision came to exactly the same.
    pub fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Command(one), Self::Command(other)) => one.is_same(other),
            (Self::Line(one), Self::Line(other)) => one.is_same(other),
            (Self::Command(_), Self::Line(_)) | (Self::Line(_), Self::Command(_)) => false,
        }
    }

    /// The client's words, without what a rule calls secret; of a line those of its commands.
    pub fn shown(&self) -> Vec<String> {
        match self {
            Self::Command(proposal) => proposal.shown().to_vec(),
            Self::Line(line) => line.shown(),
        }
    }

    /// The directory that it runs in; of a line, its first command.
    pub fn directory(&self) -> PathBuf {
        match self {
            Self::Command(proposal) => proposal.directory().to_owned(),
            Self::Line(line) => line.directory(),
        }
    }
}

/// The sentence for the model.
impl fmt::Display for Proposed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Command(proposal) => proposal.fmt(f),
            Self::Line(line) => line.fmt(f),
        }
    }
}
