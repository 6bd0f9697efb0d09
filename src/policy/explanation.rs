//! The verdict on a command, and its explanation.

use std::path::PathBuf;

use super::rules::{CommandRule, Origin, PolicySource, describes};
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

impl Explanation {
    /// Whether the operator could allow a command that was refused: all that is missing is a rule, its input or a variable.
    pub(crate) fn lacks_something(&self) -> bool {
        let is_open = self.refusal_kind == RefusalKind::Undescribed && !self.words.is_empty();
        self.lacks_rule() || is_open && (self.lacks_input() || !self.variables.is_empty())
    }

    /// Whether it is given input, which its rule in the operator's file does not mention. Shipped profiles know which programs read.
    pub(crate) fn lacks_input(&self) -> bool {
        let is_own = |rule: &CommandRule| matches!(*rule.origin.source, PolicySource::File(_));
        self.has_input && matches!(&self.rule, Some(Rule::Described(rule)) if !rule.stdin && is_own(rule))
    }

    /// Whether nothing describes the words of a command that was refused, so that a rule is missing and nothing stands against it.
    pub(crate) fn lacks_rule(&self) -> bool {
        self.refusal_kind == RefusalKind::Undescribed
            && !self.words.is_empty()
            && match &self.rule {
                None => true,
                Some(Rule::Described(rule)) => !describes(rule, &self.words),
                Some(Rule::Entry(_) | Rule::Any | Rule::Project(_)) => false,
            }
    }
}

/// The part of a policy that a call was decided by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DescribedAt {
    /// The command and its subcommands, as far as the words name them.
    pub level: String,
    /// Where the form that decided is described, else the level.
    pub origin: Origin,
}
