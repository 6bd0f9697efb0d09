//! A command whose decision somebody wants to know, without running it.

/// A command whose decision is wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Asked {
    /// As one line.
    Line(String),
    /// As words: the program, and its arguments.
    Words(String, Vec<String>),
}
