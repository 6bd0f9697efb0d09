//! The verdict on a command, and its explanation.

use std::path::PathBuf;

use super::source::Origin;
use super::{Refusal, RefusalKind, Rule};

/// The decision about a command that is only asked about, with its explanation.
#[derive(Debug)]
pub struct Verdict {
    /// The explanation, as far as the decision came.
    pub explanation: Explanation,
    /// Why it would not run; `None` if it would.
    pub refusal: Option<Refusal>,
}

/// The facts that a decision rests on. A part that was not reached is `None`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Explanation {
    /// The words of the command, without the values that its rule calls secret. If it was not a command line,
    /// [`CommandLineError::attempted`](super::CommandLineError::attempted).
    pub words: Vec<String>,
    /// The entry or rule that allows the first word.
    pub rule: Option<Rule>,
    /// Where a policy describes the call; `None` if none does.
    pub described: Option<DescribedAt>,
    /// The file that would be executed.
    pub program: Option<PathBuf>,
    /// The canonical directory that it would run in.
    pub directory: Option<PathBuf>,
    /// The pattern that a shell would have expanded, and that is passed on literally.
    pub literal_pattern: Option<&'static str>,
    /// The words that would run and have a secret part: the number of the word, and the byte from which it is secret.
    pub(crate) secrets: Vec<(usize, usize)>,
    /// How firmly it is refused, if it is.
    pub(crate) refusal_kind: RefusalKind,
    /// Whether it is given something to read.
    pub(crate) has_input: bool,
    /// The variables that its line sets, and which the operator would have to allow.
    pub(crate) variables: Vec<String>,
    /// The variables that its line sets, and which no line may set, since its rule sets or removes them itself.
    pub(crate) barred: Vec<String>,
}

/// The part of a policy that a call was decided by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DescribedAt {
    /// The command and its subcommands, as far as the words name them.
    pub level: String,
    /// Where the form that decided is described, else the level.
    pub origin: Origin,
}
