//! How firmly a command or a redirection is refused: what a hook makes of it where another decision may follow.

/// The kind of a refusal, from the weakest to the strongest. Of the parts of a line the strongest counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) enum RefusalKind {
    /// Nothing describes it.
    #[default]
    Undescribed,
    /// It can't be judged as it is now, so that it may be something that is denied.
    Unclear,
    /// The operator denies it, or no call may ever do it.
    Denied,
}
