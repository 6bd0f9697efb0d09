//! The operator's list of commands, matched against the first word of a call, exactly; with the rules for the arguments
//! of those that have some.

use std::collections::HashSet;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use super::rules::{CommandRule, Rules};
use super::windows_name;

/// The entry that allows every command.
const ANY: &str = "*";

/// How messages list the programs of the project, behind the names.
pub(super) const OF_PROJECT: &str = "programs under the project directory by path (`./NAME`)";

/// The commands that may run. Default deny: an empty list allows nothing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AllowList {
    /// What stands on the list, and behind it what only rules describe.
    names: Vec<String>,
    any: bool,
    /// Whether programs of the project may run too; which directory that is, the list doesn't know.
    has_project: bool,
    rules: Arc<Rules>,
}

/// Which entry of the list let a word pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rule {
    /// The entry that is the word itself.
    Entry(String),
    /// What a policy says of the command and its arguments.
    Described(Arc<CommandRule>),
    /// The entry `*`.
    Any,
    /// The operator's word that commands under this canonical project directory are allowed.
    Project(PathBuf),
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Entry(name) => write!(f, "the entry `{name}` of the allow-list"),
            Self::Described(rule) => write!(f, "the rule for `{}` in {}", rule.name, rule.origin),
            Self::Any => write!(f, "the entry `*` of the allow-list, which allows every command"),
            Self::Project(project) => {
                write!(f, "`--allow-project-commands`, which allows commands under `{}`", project.display())
            }
        }
    }
}

impl AllowList {
    /// Makes a list of the operator's entries, their order kept; `*` among them allows every command.
    pub fn new(entries: impl IntoIterator<Item = String>) -> Self {
        let mut list = Self::default();
        for entry in entries {
            if entry == ANY {
                list.any = true;
            } else if !list.names.contains(&entry) {
                list.names.push(entry);
            }
        }
        list
    }

    /// The same list with these rules. Their commands are on it; an entry with several words, which is one of them, is not
    /// one of its own.
    #[must_use]
    pub fn with_rules(mut self, rules: Arc<Rules>) -> Self {
        let is_rule = |entry: &String| {
            let first = entry.split_whitespace().next().unwrap_or_default();
            first != entry && rules.describes(first)
        };
        self.names.retain(|entry| !is_rule(entry));
        let known: HashSet<String> = self.names.iter().cloned().collect();
        self.names.extend(rules.names().filter(|name| !known.contains(*name)).map(str::to_owned));
        Self { rules, ..self }
    }

    /// The same list for a server that also runs programs of the project.
    #[must_use]
    pub(crate) fn with_project(self, has_project: bool) -> Self {
        Self { has_project, ..self }
    }

    /// Whether programs of the project may run too.
    pub(crate) fn allows_project(&self) -> bool {
        self.has_project
    }

    /// What is allowed beside `*`, for messages: the names, and the programs of the project.
    pub(crate) fn listed(&self) -> Vec<String> {
        let project = self.has_project.then(|| OF_PROJECT.to_owned());
        self.names.iter().cloned().chain(project).collect()
    }

    /// The rules for arguments.
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// What is said of calls whose first word is `word`; whether their arguments pass is for the rule.
    ///
    /// The comparison is of the whole word, byte by byte: `ls` allows neither `/bin/ls` nor `./ls` nor `LS`. On Windows an
    /// entry also allows the words that differ from it in case, in the kind of slash, or in that one of the two has no
    /// ending such as `.exe`.
    pub(crate) fn find(&self, word: &str) -> Option<Rule> {
        if word.is_empty() {
            return None;
        }
        let exact = self.names.iter().find(|name| *name == word);
        let folded = || self.names.iter().find(|name| windows_name::means(word, name));
        match exact.or_else(|| if cfg!(windows) { folded() } else { None }) {
            Some(name) if self.rules.describes(name) => self.rules.get(name).cloned().map(Rule::Described),
            Some(name) => Some(Rule::Entry(name.clone())),
            None if self.any => Some(Rule::Any),
            None => None,
        }
    }

    /// The commands beside `*`: the entries in the operator's order, and behind them those that a policy describes.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Whether this very command is on the list, `*` aside.
    pub fn has_entry(&self, entry: &str) -> bool {
        self.names.iter().any(|name| name == entry)
    }

    /// Whether every command is allowed.
    pub fn allows_any(&self) -> bool {
        self.any
    }

    /// The list as a sentence's end: the names and the programs of the project, `every command`, or `none`.
    pub fn summary(&self) -> String {
        if self.any {
            "every command".to_owned()
        } else {
            let listed = self.listed();
            if listed.is_empty() { "none".to_owned() } else { listed.join(", ") }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(entries: &[&str]) -> AllowList {
        AllowList::new(entries.iter().map(|&entry| entry.to_owned()))
    }

    #[test]
    fn only_the_very_word_passes() {
        let allow = list(&["ls", "/opt/tool", "ls"]);
        assert_eq!(allow.names(), ["ls", "/opt/tool"]);
        assert_eq!(allow.find("ls"), Some(Rule::Entry("ls".to_owned())));
        assert_eq!(allow.find("/opt/tool"), Some(Rule::Entry("/opt/tool".to_owned())));
        for word in [
            "",
            "l",
            "lsx",
            "ls ",
            " ls",
            "./ls",
            "/bin/ls",
            "/tmp/ls",
            "tool",
            "/opt//tool",
            "ls\n",
            "ls\0",
            "ls\r",
            "*",
        ] {
            assert_eq!(allow.find(word), None, "{word:?}");
        }
        // More of what Windows folds is tested in `windows_name`.
        let folded = cfg!(windows).then(|| Rule::Entry("ls".to_owned()));
        for word in ["LS", "ls.exe"] {
            assert_eq!(allow.find(word), folded, "{word:?}");
        }
    }

    #[test]
    fn the_star_allows_every_word_but_the_empty_one() {
        let allow = list(&["ls", "*"]);
        assert_eq!(allow.find("ls"), Some(Rule::Entry("ls".to_owned())));
        assert_eq!(allow.find("whoami"), Some(Rule::Any));
        assert_eq!(allow.find(""), None);
        assert_eq!(list(&[]).find("ls"), None);
    }
}
