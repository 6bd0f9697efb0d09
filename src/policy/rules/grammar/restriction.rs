//! Decisions about single values: for which of them a person is asked, or the call is refused.

use super::{Effect, Origin, ValueType};

/// Values for which a person is asked, or the call is refused, whichever form of the command matches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restriction {
    /// The decision about them: [`Effect::Ask`] or [`Effect::Deny`].
    pub effect: Effect,
    /// Which values they are.
    pub value: ValueType,
    /// Why, in the operator's words.
    pub reason: Option<String>,
    /// Where it is described.
    pub origin: Origin,
}
