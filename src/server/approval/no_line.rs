//! Stands where the question to a person about a line would, in a build without them: there is none.

use super::{Property, Shows};
use crate::policy::line::LineProposal;

pub(super) fn length_of(line: &LineProposal) -> usize {
    match *line {}
}

pub(super) fn properties(line: &LineProposal, _: Shows) -> Vec<Property> {
    match *line {}
}
