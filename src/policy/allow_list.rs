//! The operator's list of allowed commands, compared exactly with the first word of a call, and the rules for their
//! arguments.

use std::collections::HashSet;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use super::quoted::quoted;
use super::rules::{CommandRule, Rules};
use super::windows_name;

/// The entry that allows every command.
const ANY: &str = "*";

/// How messages list the programs of the project, after the names.
pub(super) const OF_PROJECT: &str = "programs under the project directory by path (`./NAME`)";

/// The commands that may run. Default deny: an empty list allows nothing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AllowList {
    /// The entries, and after them the commands that only rules describe.
    names: Vec<String>,
    /// The commands of which rules say nothing but `deny`. Nobody is told to call them, and no sandbox executes their programs.
    denied: Vec<String>,
    any: bool,
    /// Whether programs of the project may run too. The list does not know which directory that is.
    has_project: bool,
    rules: Arc<Rules>,
}

/// The entry, rule or setting that allows a first word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rule {
    /// The allow-list entry that is the word itself.
    Entry(String),
    /// The rule of a policy for the command, which also decides about the arguments.
    Described(Arc<CommandRule>),
    /// The entry `*`.
    Any,
    /// `--allow-project-commands`, for the commands under this canonical project directory.
    Project(PathBuf),
}

impl Rule {
    /// The name or path by which the program of a call is looked for whose first word this is.
    pub(super) fn sought<'a>(&'a self, word: &'a str) -> &'a str {
        match self {
            Self::Described(rule) => rule.sought(),
            Self::Entry(_) | Self::Any | Self::Project(_) => word,
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Entry(name) => write!(f, "the entry `{name}` of the allow-list"),
            Self::Described(rule) => write!(f, "the rule for `{}` in {}", rule.name, rule.origin),
            Self::Any => write!(f, "the entry `*` of the allow-list, which allows every command"),
            Self::Project(project) => {
                write!(
                    f,
                    "`--allow-project-commands`, which allows commands under {}",
                    quoted(&project.to_string_lossy())
                )
            }
        }
    }
}

impl AllowList {
    /// Makes a list of the operator's entries, in their order. An entry `*` allows every command.
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

    /// Adds rules and the commands that they describe. An entry of several words, such as `git log`, is among the rules
    /// already, and is no longer an entry.
    #[must_use]
    pub fn with_rules(mut self, rules: Arc<Rules>) -> Self {
        let is_rule = |entry: &String| {
            let first = entry.split_whitespace().next().unwrap_or_default();
            first != entry && rules.describes(first)
        };
        self.names.retain(|entry| !is_rule(entry));
        let known: HashSet<String> = self.names.iter().cloned().collect();
        let others = rules.names().filter(|name| !known.contains(*name)).map(str::to_owned);
        let (denied, names): (Vec<String>, Vec<String>) = others.partition(|name| rules.only_denies(name));
        self.names.extend(names);
        self.denied = denied;
        // What the operator wrote for this project says more than a shipped profile.
        self.names.sort_by_key(|name| rules.profile_of(name).is_some());
        Self { rules, ..self }
    }

    /// Says whether programs of the project may run too.
    #[must_use]
    pub(crate) fn with_project(self, has_project: bool) -> Self {
        Self { has_project, ..self }
    }

    /// Whether programs of the project may run too.
    pub(crate) fn allows_project(&self) -> bool {
        self.has_project
    }

    /// Returns the allowed commands besides `*`, for messages: the names, and the programs of the project.
    pub(crate) fn listed(&self) -> Vec<String> {
        let project = self.has_project.then(|| OF_PROJECT.to_owned());
        self.names.iter().cloned().chain(project).collect()
    }

    /// The rules for arguments.
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// Finds what allows calls whose first word is `word`. Whether their arguments are allowed is for the rule to say.
    ///
    /// The comparison is of the whole word, byte by byte: `ls` allows neither `/bin/ls` nor `./ls` nor `LS`. On
    /// Windows, case and the kind of slash do not count, and an ending such as `.exe` counts only if both have one.
    pub(crate) fn find(&self, word: &str) -> Option<Rule> {
        if word.is_empty() {
            return None;
        }
        let names = || self.names.iter().chain(&self.denied);
        let exact = names().find(|name| *name == word);
        let folded = || names().find(|name| windows_name::means(word, name));
        match exact.or_else(|| if cfg!(windows) { folded() } else { None }) {
            Some(name) if self.rules.describes(name) => self.rules.get(name).cloned().map(Rule::Described),
            Some(name) => Some(Rule::Entry(name.clone())),
            None => match self.rules.for_others(word) {
                Some(asked) => Some(Rule::Described(asked)),
                None => self.any.then_some(Rule::Any),
            },
        }
    }

    /// The commands besides `*`: the entries in the operator's order, and after them those that a policy describes. Those that it only
    /// denies are not among them.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Whether exactly this command is on the list; `*` does not count.
    pub fn has_entry(&self, entry: &str) -> bool {
        self.names.iter().any(|name| name == entry)
    }

    /// Whether every command is allowed.
    pub fn allows_any(&self) -> bool {
        self.any
    }

    /// The list as the end of a sentence: the names and the programs of the project, `every command`, or `none`.
    pub fn summary(&self) -> String {
        if self.any {
            "every command".to_owned()
        } else {
            let others = self.rules.for_others("").map(|_| "any other command that a person approves".to_owned());
            let listed: Vec<String> = self.listed().into_iter().chain(others).collect();
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
        // `windows_name` tests more of what Windows folds.
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
