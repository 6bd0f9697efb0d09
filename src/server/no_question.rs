//! Stands where the question to a person about a call would be, in a build without rules: nothing asks one.

use crate::policy::Refusal;

/// A call that a person is asked about, of which there is none.
#[derive(Debug)]
pub(super) enum CallToApprove {}

impl CallToApprove {
    pub(super) fn is_same(&self, _: &Self) -> bool {
        match *self {}
    }

    pub(super) fn sentence(&self) -> String {
        match *self {}
    }

    pub(super) fn into_refusal(self) -> Refusal {
        match self {}
    }
}

/// The end of a question, of which there is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {}

/// The channel by which a person is asked, of which there is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Channel {}
