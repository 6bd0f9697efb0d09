//! The policies that are shipped with the binary, from the files in `src/policy/profiles`.
//!
//! A profile is read when one of its commands is asked for, once in each process. The table here says before that which
//! commands it describes. A test runs its examples, so they are not run again at each start.
//!
//! - `plain`: reads the part of YAML that they are written in

mod plain;

use std::fmt;
use std::sync::{Arc, OnceLock};

use super::grammar::{CommandRule, PolicySource};
use super::load;

/// A shipped policy.
pub(super) struct Profile {
    name: &'static str,
    /// The commands that it describes, in the order of its text.
    commands: &'static [&'static str],
    text: &'static str,
    rules: OnceLock<Vec<Arc<CommandRule>>>,
}

macro_rules! profiles {
    ($($name:literal: $($command:literal)+;)+) => {
        [$(Profile {
            name: $name,
            commands: &[$($command),+],
            text: include_str!(concat!("../profiles/", $name, ".yaml")),
            rules: OnceLock::new(),
        }),+]
    };
}

/// The profiles, in the order in which they are listed.
static PROFILES: [Profile; 17] = profiles! {
    "git-readonly": "git";
    "coreutils-readonly":
        "ls" "cat" "head" "tail" "wc" "stat" "file" "du" "df" "sort" "uniq" "cut" "tr" "diff" "cmp" "comm" "join"
        "paste" "nl" "tac" "fold" "expand" "unexpand" "od" "base64" "sha256sum" "sha1sum" "md5sum" "sha224sum"
        "sha384sum" "sha512sum" "b2sum" "cksum" "pwd" "date" "realpath" "readlink" "basename" "dirname" "echo" "printf"
        "seq" "true" "false" "id" "whoami" "groups" "hostname" "arch" "numfmt" "uname" "nproc" "sed" "tar";
    "ripgrep": "rg";
    "search": "grep" "find";
    "cargo-check": "cargo";
    "npm-scripts": "npm";
    "go-check": "go" "gofmt";
    "python-tools": "pytest" "mypy" "ruff";
    "make-targets": "make";
    "gh-readonly": "gh";
    "kubectl-readonly": "kubectl";
    "docker-readonly": "docker";
    // These extend others, so only one of the two can be used.
    "git-commit": "git";
    "rust-develop": "cargo";
    "node-develop": "npm" "node" "npx";
    "python-develop": "pytest" "mypy" "ruff" "python" "python3" "pip";
    "go-develop": "go" "gofmt";
};

impl Profile {
    /// The profile of this name.
    pub fn find(name: &str) -> Option<&'static Self> {
        PROFILES.iter().find(|profile| profile.name == name)
    }

    /// The first one that describes a command.
    pub fn describing(command: &str) -> Option<&'static Self> {
        PROFILES.iter().find(|profile| profile.commands.contains(&command))
    }

    /// What it is called.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The names of its commands. Reads nothing.
    pub fn commands(&self) -> &'static [&'static str] {
        self.commands
    }

    /// The rule for one of its commands, by the place of the name among [`commands`](Self::commands).
    pub fn rule(&self, place: usize) -> Option<&Arc<CommandRule>> {
        self.rules().get(place)
    }

    /// The rules for its commands, in their order.
    pub fn rules(&self) -> &[Arc<CommandRule>] {
        self.rules.get_or_init(|| {
            let source = Arc::new(PolicySource::Profile(self.name.to_owned()));
            let described = match plain::parse(self.text) {
                Some(document) => load::describe_document(&document, &source, &mut Vec::new()),
                None => load::describe(self.text, &source, &mut Vec::new()),
            };
            #[expect(clippy::expect_used, reason = "the text is a part of the binary, and a test reads it")]
            let described = described.expect("a shipped profile has no mistake");
            described.into_rules()
        })
    }
}

/// Compares only the names, since they are unique.
impl PartialEq for Profile {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Profile {}

impl fmt::Debug for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Profile").field(&self.name).finish()
    }
}

/// The names of the profiles.
pub fn names() -> impl Iterator<Item = &'static str> {
    PROFILES.iter().map(|profile| profile.name)
}

/// The text of a profile.
pub fn text(name: &str) -> Option<&'static str> {
    Profile::find(name).map(|profile| profile.text)
}

// The lines of examples are split by the rules of a POSIX shell.
#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;
    use crate::policy::rules::examples;

    #[test]
    fn every_profile_describes_the_commands_of_the_table_without_a_warning_and_its_examples_come_out_right() {
        for profile in &PROFILES {
            let source = Arc::new(PolicySource::Profile(profile.name.to_owned()));
            let described = load::describe(profile.text, &source, &mut Vec::new());
            let described = described.unwrap_or_else(|error| panic!("{error}"));
            let warnings: Vec<String> = described.warnings().iter().map(ToString::to_string).collect();
            // They run the project's files, and say so.
            let is_known = |warning: &&String| {
                profile.name.ends_with("-develop") && warning.contains("runs whatever is in the file that a call names")
            };
            let unknown: Vec<&String> = warnings.iter().filter(|warning| !is_known(warning)).collect();
            assert_eq!(unknown, Vec::<&String>::new(), "{}", profile.name);
            let rules = described.into_rules();
            let names: Vec<&str> = rules.iter().map(|rule| rule.name.as_str()).collect();
            assert_eq!(names, profile.commands, "{}", profile.name);
            for rule in rules {
                examples::check(&rule).unwrap_or_else(|error| panic!("{error}"));
            }
        }
    }
}
