//! Stands where the execution of lines would, in a build without them: no thread is kept for them.

/// The idle threads that start commands of lines; there is none.
#[derive(Debug, Default)]
pub(in crate::exec) struct Idle;
