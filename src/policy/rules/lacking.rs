//! The rule, the input or the variable that a refused command lacks: the operator is told to add it.

use super::{CommandRule, PolicySource, describes};
use crate::policy::{Explanation, RefusalKind, Rule};

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
