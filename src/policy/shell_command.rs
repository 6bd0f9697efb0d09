//! A command for the persistent shell: allowed by the same list, and made here alone.

use super::{AllowList, Refusal};

/// A command that may be given to the persistent shell, once. Only [`allow_in_shell`] makes one.
///
/// It holds no program: whether its first word is a builtin or a program in the search path is the shell's to find.
#[derive(Debug, PartialEq, Eq)]
pub struct ShellCommand {
    words: Vec<String>,
}

impl ShellCommand {
    /// The entry of the allow-list, and behind it the arguments. Never empty.
    pub fn words(&self) -> &[String] {
        &self.words
    }

    /// The same, to be used up.
    pub(crate) fn into_words(self) -> Vec<String> {
        self.words
    }
}

/// Decides whether `entry` with `arguments` may be given to the shell: only where the list holds that very entry, since
/// the list is what the tools are made of. `*` allows nothing here.
///
/// # Errors
/// [`Refusal::NotAllowed`].
pub fn allow_in_shell(allow: &AllowList, entry: &str, arguments: Vec<String>) -> Result<ShellCommand, Refusal> {
    if !allow.names().iter().any(|name| name == entry) {
        return Err(Refusal::NotAllowed { word: entry.to_owned(), allowed: allow.names().to_vec() });
    }
    Ok(ShellCommand { words: std::iter::once(entry.to_owned()).chain(arguments).collect() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_stands_on_the_list_may_be_given_to_the_shell() {
        let allow = AllowList::new(["ls".to_owned(), "*".to_owned()]);
        let command = allow_in_shell(&allow, "ls", vec!["-l".to_owned()]).unwrap();
        assert_eq!(command.words(), ["ls", "-l"]);
        for entry in ["rm", "*", "", "LS", "/bin/ls", "ls "] {
            assert!(allow_in_shell(&allow, entry, Vec::new()).is_err(), "{entry}");
        }
    }
}
