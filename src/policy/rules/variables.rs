//! The variables that a line sets for a command: which of them its rule lets it set.

use std::collections::BTreeMap;

use super::EnvRule;
use crate::policy::decision::Granted;
use crate::policy::reading::changes_reading;
use crate::policy::{Refusal, VariableBar};

/// The variables that a line sets for a command, by name.
pub(crate) type LineVariables = BTreeMap<String, LineVariable>;

/// A variable that a line sets for a command.
#[derive(Debug)]
pub(crate) struct LineVariable {
    pub value: String,
    /// Whether the operator lets lines set it for every command.
    pub is_named: bool,
}

/// Adds the variables that a line sets, as far as they are allowed. What the rule says itself stays, and where it describes arguments, none
/// changes how the program reads them.
pub(in crate::policy) fn add_variables(
    granted: &mut Granted,
    word: &str,
    variables: LineVariables,
) -> Result<(), Refusal> {
    let describes_arguments = granted.rule.as_ref().is_some_and(|rule| rule.describes_arguments());
    let env = &mut granted.env;
    for (name, LineVariable { value, is_named }) in variables {
        let bar = match () {
            () if env.set.contains_key(&name) => Some(VariableBar::Set),
            () if env.unset.contains(&name) => Some(VariableBar::Removed),
            () if describes_arguments && changes_reading(name.as_ref()) => Some(VariableBar::Reading),
            () => (!is_named && !env.accepts(&name, &value)).then_some(VariableBar::NotNamed),
        };
        if let Some(bar) = bar {
            return Err(Refusal::Variable { word: word.to_owned(), name, bar });
        }
        env.set.insert(name, value);
    }
    Ok(())
}

/// The variables that a line may set only if the operator says so, and those that it may not set whatever is said. If there are any of
/// the latter, the former don't matter.
pub(super) fn not_accepted(
    variables: &LineVariables,
    env: Option<&EnvRule>,
    describes: bool,
) -> (Vec<String>, Vec<String>) {
    let is_of_rule = |name: &&String| {
        env.is_some_and(|env| env.set.contains_key(*name) || env.unset.contains(*name))
            || describes && changes_reading(name.as_ref())
    };
    let barred: Vec<String> = variables.keys().filter(is_of_rule).cloned().collect();
    if !barred.is_empty() {
        return (Vec::new(), barred);
    }
    let is_accepted = |name: &str, value: &str| env.is_some_and(|env| env.accepts(name, value));
    let open = variables.iter().filter(|(name, set)| !set.is_named && !is_accepted(name, &set.value));
    (open.map(|(name, _)| name.clone()).collect(), barred)
}
