//! A command for the persistent shell: allowed by the same list, and made here alone.

use std::path::Path;

use super::{AllowList, Program, Refusal};

/// A command that may be given to the persistent shell, once. Only [`allow_in_shell`] makes one.
#[derive(Debug, PartialEq, Eq)]
pub struct ShellCommand {
    words: Vec<String>,
    /// What the shell is given in place of the first word; `None` where it is left to find what the word means.
    program: Option<String>,
}

/// Who finds what the first word of a command means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finder {
    /// The shell: the word is built into it, or its rules are its own.
    Shell,
    /// The policy, which has found this, or nothing.
    Policy(Option<Program>),
}

impl ShellCommand {
    /// The entry of the allow-list, and behind it the arguments. Never empty.
    pub fn words(&self) -> &[String] {
        &self.words
    }

    /// The program that runs, where the policy has found it.
    pub fn program(&self) -> Option<&Path> {
        self.program.as_deref().map(Path::new)
    }

    /// The words that the shell is given: the program by its path, so that nothing of the shell's own stands in for it.
    pub(crate) fn into_shell_words(self) -> Vec<String> {
        let Self { mut words, program } = self;
        if let (Some(word), Some(program)) = (words.first_mut(), program) {
            *word = program;
        }
        words
    }
}

/// Decides whether `entry` with `arguments` may be given to the shell: only where the list holds that very entry, since
/// the list is what the tools are made of. `*` allows nothing here.
///
/// # Errors
/// [`Refusal::NotAllowed`], or [`Refusal::ProgramNotFound`], also of a program whose path the shell's line can't hold.
pub fn allow_in_shell(
    allow: &AllowList,
    entry: &str,
    arguments: Vec<String>,
    found: Finder,
) -> Result<ShellCommand, Refusal> {
    if !allow.names().iter().any(|name| name == entry) {
        return Err(Refusal::NotAllowed { word: entry.to_owned(), allowed: allow.names().to_vec() });
    }
    let program = match found {
        Finder::Shell => None,
        Finder::Policy(found) => {
            let path = found.as_ref().and_then(|program| program.path().to_str());
            let path = path.filter(|path| !path.contains(char::is_control));
            Some(path.ok_or_else(|| Refusal::ProgramNotFound { word: entry.to_owned() })?.to_owned())
        }
    };
    Ok(ShellCommand { words: std::iter::once(entry.to_owned()).chain(arguments).collect(), program })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_stands_on_the_list_may_be_given_to_the_shell() {
        let allow = AllowList::new(["ls".to_owned(), "*".to_owned()]);
        let command = allow_in_shell(&allow, "ls", vec!["-l".to_owned()], Finder::Shell).unwrap();
        assert_eq!(command.words(), ["ls", "-l"]);
        for entry in ["rm", "*", "", "LS", "/bin/ls", "ls "] {
            assert!(allow_in_shell(&allow, entry, Vec::new(), Finder::Shell).is_err(), "{entry}");
        }
    }

    #[test]
    fn a_program_that_is_not_there_or_has_no_plain_path_is_refused() {
        let allow = AllowList::new(["ls".to_owned()]);
        let refused = allow_in_shell(&allow, "ls", Vec::new(), Finder::Policy(None)).unwrap_err();
        assert!(refused.to_string().starts_with("command `ls` was not found"), "{refused}");
    }
}
