//! What a client asked for: a program's word and its arguments, without any syntax.

use thiserror::Error;

use super::quoted::quoted;
use super::syntax::{ShellSyntax, find_literal_pattern, find_syntax};
use super::windows_line;

/// The words of a command: the first names the program, the rest are its arguments. Never empty, never with a NUL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandLine {
    words: Vec<String>,
    /// What stood outside quotes and would have been expanded by a shell.
    literal_pattern: Option<&'static str>,
}

/// How quotes are balanced.
const BALANCED: &str = if cfg!(windows) {
    "close every `\"`"
} else {
    "close every `'` and `\"`, and put nothing but a character behind a `\\`"
};

/// Why a command line is none.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum CommandLineError {
    /// No word is left, or the first one is empty.
    #[error("the command is empty; expected the name of an allowed command, with its arguments behind it")]
    Empty,
    /// A quote or an escape has no end.
    #[error("the quotes in {} are not balanced; {BALANCED}", quoted(.line))]
    Unbalanced {
        /// The whole line.
        line: String,
    },
    /// Shell syntax outside quotes.
    #[error(
        "{syntax} outside quotes is shell syntax, and no shell runs here; call one command at a time with plain arguments, \
         choose a directory with `cwd`, or quote it to pass it on literally"
    )]
    Syntax {
        /// The first piece of it.
        syntax: ShellSyntax,
    },
    /// A word holds a NUL, which no program can be given.
    #[error("{} holds a NUL character, which no argument can hold; leave it out", quoted(.word))]
    Nul {
        /// The word.
        word: String,
    },
}

impl CommandLine {
    /// Splits one line into words by the rules of a POSIX shell, without any of its expansions; on Windows by those of
    /// its programs, where a backslash is an ordinary character and only `"` quotes.
    ///
    /// To a POSIX shell blanks, tabs and quotes mean what they mean there; `#` at the start of a word begins a comment. Variables, globs
    /// and tildes are ordinary characters. See [`find_syntax`] for what is refused.
    ///
    /// # Errors
    /// [`CommandLineError`], the first that applies.
    pub fn parse(line: &str) -> Result<Self, CommandLineError> {
        if cfg!(windows) {
            let (words, literal_pattern) = windows_line::split(line)?;
            return Self::from_words(words, literal_pattern);
        }
        if let Some((_, syntax)) = find_syntax(line) {
            return Err(CommandLineError::Syntax { syntax });
        }
        let words = shlex::split(line).ok_or_else(|| CommandLineError::Unbalanced { line: line.to_owned() })?;
        Self::from_words(words, find_literal_pattern(line))
    }

    /// Takes a program and its arguments as they are.
    ///
    /// # Errors
    /// [`CommandLineError::Empty`] where `file` is empty, [`CommandLineError::Nul`] where a word holds a NUL.
    pub fn from_process(file: String, arguments: Vec<String>) -> Result<Self, CommandLineError> {
        Self::from_words(std::iter::once(file).chain(arguments).collect(), None)
    }

    fn from_words(words: Vec<String>, literal_pattern: Option<&'static str>) -> Result<Self, CommandLineError> {
        if let Some(word) = words.iter().find(|word| word.contains('\0')) {
            return Err(CommandLineError::Nul { word: word.clone() });
        }
        match words.first() {
            None => Err(CommandLineError::Empty),
            Some(first) if first.is_empty() => Err(CommandLineError::Empty),
            Some(_) => Ok(Self { words, literal_pattern }),
        }
    }

    /// The word that names the program.
    pub fn word(&self) -> &str {
        // `from_words` made sure of a first word.
        self.words.first().map_or("", String::as_str)
    }

    /// All words, the program's first.
    pub fn words(&self) -> &[String] {
        &self.words
    }

    /// What a shell would have expanded (`*`, `?`, `~` or `$`), where the line held it outside quotes.
    pub fn literal_pattern(&self) -> Option<&'static str> {
        self.literal_pattern
    }

    pub(super) fn into_words(self) -> Vec<String> {
        self.words
    }
}

// What Windows does is tested in `windows_line`.
#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn words_are_split_as_a_shell_splits_them_and_expanded_by_nobody() {
        let cases: [(&str, &[&str]); 8] = [
            ("ls -l", &["ls", "-l"]),
            ("  ls\t-l  ", &["ls", "-l"]),
            ("echo 'a b' \"c d\" e\\ f", &["echo", "a b", "c d", "e f"]),
            ("echo '' \"\"", &["echo", "", ""]),
            ("echo $HOME *.rs ~ {a,b}", &["echo", "$HOME", "*.rs", "~", "{a,b}"]),
            ("echo a # b", &["echo", "a"]),
            ("echo a\rb\u{a0}c", &["echo", "a\rb\u{a0}c"]),
            ("echo '\n'", &["echo", "\n"]),
        ];
        for (line, words) in cases {
            assert_eq!(CommandLine::parse(line).unwrap().words(), words, "{line:?}");
        }
    }

    #[test]
    fn what_is_no_command_line_says_why() {
        let check = |line: &str, message: &str| {
            assert_eq!(CommandLine::parse(line).unwrap_err().to_string(), message, "{line:?}");
        };
        let empty = "the command is empty; expected the name of an allowed command, with its arguments behind it";
        for line in ["", "  ", "\t", "# ls", "''", "\"\" ls"] {
            check(line, empty);
        }
        for line in ["echo 'a", "echo \"a", "echo a\\", "echo \"a\\"] {
            let message = format!(
                "the quotes in {} are not balanced; close every `'` and `\"`, and put nothing but a character behind a `\\`",
                quoted(line)
            );
            check(line, &message);
        }
        check("echo a\0b", r"`a\u{0}b` holds a NUL character, which no argument can hold; leave it out");
        check(
            "ls && rm",
            "`&&` outside quotes is shell syntax, and no shell runs here; call one command at a time with plain arguments, \
             choose a directory with `cwd`, or quote it to pass it on literally",
        );
    }

    proptest! {
        #[test]
        fn no_line_panics_and_every_word_is_what_a_shell_would_make_of_it(line in r#"[ab \t\n'"\\#$`;&|<>(]{0,24}"#) {
            if let Ok(command) = CommandLine::parse(&line) {
                prop_assert!(!command.word().is_empty());
                prop_assert_eq!(command.words(), shlex::split(&line).unwrap());
            }
        }

        #[test]
        fn words_that_were_quoted_come_back_as_they_were(words in proptest::collection::vec(r"[^\x00]{1,8}", 1..5)) {
            let line = shlex::try_join(words.iter().map(String::as_str)).unwrap();
            let command = CommandLine::parse(&line).unwrap();
            prop_assert_eq!(command.words(), &words[..]);
            prop_assert_eq!(command.literal_pattern(), None);
        }
    }
}
