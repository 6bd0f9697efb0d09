//! The words of a client's command: one for the program, and its arguments, without any shell syntax.

use thiserror::Error;

use super::lesson::lesson;
use super::quoted::quoted;
use super::syntax::{ShellSyntax, find_literal_pattern, find_quoted_syntax, find_syntax};
use super::windows_line;

/// The words of a command: the first names the program, the rest are its arguments. There is at least one word, the first is
/// not empty, and none holds a NUL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandLine {
    words: Vec<String>,
    /// The pattern outside quotes that a shell would have expanded.
    literal_pattern: Option<&'static str>,
}

/// The advice about quotes that are not balanced.
const BALANCED: &str =
    if cfg!(windows) { "close every `\"`" } else { "close every `'` and `\"`, and don't end with a `\\`" };

/// Why a text is not a command line.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum CommandLineError {
    /// There are no words, or the first one is empty.
    #[error("the command is empty; expected the name of an allowed command, followed by its arguments")]
    Empty,
    /// A quote or an escape has no end.
    #[error("the quotes in {} are not balanced; {BALANCED}", quoted(.line))]
    Unbalanced {
        /// The whole line.
        line: String,
    },
    /// Shell syntax outside quotes.
    #[error(
        "{} is shell syntax, and no shell runs here; {}call one command at a time with plain arguments, \
         choose a directory with `cwd`, or {} to pass it on literally", placed(*syntax), taught(.line), quote(*syntax)
    )]
    Syntax {
        /// The first piece of it.
        syntax: ShellSyntax,
        /// The whole line.
        line: String,
    },
    /// A word holds a NUL, which can't be passed to a program.
    #[error("{} holds a NUL character, which no argument can hold; leave it out", quoted(.word))]
    Nul {
        /// The word.
        word: String,
    },
    /// It is read as a line of several commands, and is none.
    #[error(transparent)]
    Unreadable {
        /// Why not.
        source: NotALine,
    },
    /// More than [`MOST_WORDS`].
    #[error("the command has more than {MOST_WORDS} words, the limit; pass the rest in a file or as `input`")]
    TooManyWords,
}

impl CommandLineError {
    /// Returns the words of the text. If a line can't be split, the whole line is one word. Empty for an empty command,
    /// and for one of too many words.
    pub fn attempted(&self) -> Vec<String> {
        match self {
            Self::Empty | Self::TooManyWords => Vec::new(),
            Self::Unbalanced { line } => vec![line.clone()],
            Self::Syntax { line, .. } => split_words(line).unwrap_or_else(|_| vec![line.clone()]),
            Self::Nul { word } => vec![word.clone()],
            Self::Unreadable { source } => vec![source.line.clone()],
        }
    }
}

/// A text that is no line of commands.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{reason}")]
pub struct NotALine {
    /// The text.
    pub line: String,
    /// Why not, as a sentence.
    pub reason: String,
}

/// The syntax, and where it stands.
fn placed(syntax: ShellSyntax) -> String {
    match syntax {
        ShellSyntax::Quoted("$'" | "$\"") => syntax.to_string(),
        ShellSyntax::Quoted(_) => format!("{syntax} within double quotes"),
        ShellSyntax::Operator(_) | ShellSyntax::Substitution(_) | ShellSyntax::Newline => {
            format!("{syntax} outside quotes")
        }
    }
}

/// How to pass it on.
fn quote(syntax: ShellSyntax) -> &'static str {
    match syntax {
        ShellSyntax::Quoted(_) => "use single quotes",
        ShellSyntax::Operator(_) | ShellSyntax::Substitution(_) | ShellSyntax::Newline => "quote it",
    }
}

/// Advises what to write instead of the operators of the line, each with its `; `.
fn taught(line: &str) -> String {
    lesson(line).into_iter().flat_map(|advice| [advice, "; "]).collect()
}

/// The most words that a command may have. Linux accepts slightly more words of one letter, and fewer longer ones.
pub const MOST_WORDS: usize = 131_072;

/// Why a line can't be split into words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SplitError {
    /// A quote or an escape has no end.
    Unbalanced,
    /// There are more than [`MOST_WORDS`].
    TooMany,
}

/// Splits a line by the rules of a POSIX shell. A word takes many times more memory than its text in the line, so splitting
/// stops at [`MOST_WORDS`].
///
/// # Errors
/// [`SplitError`].
pub fn split_words(line: &str) -> Result<Vec<String>, SplitError> {
    let mut lexer = shlex::Shlex::new(line);
    let words: Vec<String> = lexer.by_ref().take(MOST_WORDS).collect();
    let has_more = words.len() == MOST_WORDS && lexer.next().is_some();
    match (lexer.had_error, has_more) {
        (true, _) => Err(SplitError::Unbalanced),
        (false, true) => Err(SplitError::TooMany),
        (false, false) => Ok(words),
    }
}

impl CommandLine {
    /// Splits one line into words by the rules of a POSIX shell; on Windows by those of its programs, where a backslash is
    /// an ordinary character and only `"` quotes. Nothing is expanded: variables, globs and tildes are ordinary characters.
    ///
    /// On Unix `#` at the start of a word begins a comment. See [`find_syntax`] for what is refused.
    ///
    /// # Errors
    /// [`CommandLineError`], the first that applies.
    pub fn parse(line: &str) -> Result<Self, CommandLineError> {
        if cfg!(windows) {
            let (words, literal_pattern) = windows_line::split(line)?;
            return Self::from_words(words, literal_pattern);
        }
        let outside = find_syntax(line).map(|(_, syntax)| syntax);
        if let Some(syntax) = outside.or_else(|| find_quoted_syntax(line)) {
            return Err(CommandLineError::Syntax { syntax, line: line.to_owned() });
        }
        let words = split_words(line).map_err(|error| match error {
            SplitError::Unbalanced => CommandLineError::Unbalanced { line: line.to_owned() },
            SplitError::TooMany => CommandLineError::TooManyWords,
        })?;
        Self::from_words(words, find_literal_pattern(line))
    }

    /// Takes a program and its arguments as they are.
    ///
    /// # Errors
    /// [`CommandLineError::Empty`] if `file` is empty, [`CommandLineError::Nul`] if a word holds a NUL, and
    /// [`CommandLineError::TooManyWords`].
    pub fn from_process(file: String, arguments: Vec<String>) -> Result<Self, CommandLineError> {
        Self::from_words(std::iter::once(file).chain(arguments).collect(), None)
    }

    fn from_words(words: Vec<String>, literal_pattern: Option<&'static str>) -> Result<Self, CommandLineError> {
        if words.len() > MOST_WORDS {
            return Err(CommandLineError::TooManyWords);
        }
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
        // `from_words` has checked that there is a first word.
        self.words.first().map_or("", String::as_str)
    }

    /// All words, the program's first.
    pub fn words(&self) -> &[String] {
        &self.words
    }

    /// Returns the pattern outside quotes that a shell would have expanded: `*`, `?`, `~` or `$`, and `%` on Windows.
    pub fn literal_pattern(&self) -> Option<&'static str> {
        self.literal_pattern
    }

    pub(super) fn into_words(self) -> Vec<String> {
        self.words
    }
}

// `windows_line` tests the rules of Windows.
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
    fn a_command_has_no_more_words_than_are_taken() {
        let most = "a ".repeat(MOST_WORDS);
        assert_eq!(CommandLine::parse(&most).unwrap().words().len(), MOST_WORDS);
        assert_eq!(CommandLine::parse(&format!("{most} a")), Err(CommandLineError::TooManyWords));
        let words = vec![String::from("a"); MOST_WORDS];
        assert_eq!(CommandLine::from_process("a".into(), words), Err(CommandLineError::TooManyWords));
    }

    #[test]
    fn what_is_no_command_line_says_why() {
        let check = |line: &str, message: &str| {
            assert_eq!(CommandLine::parse(line).unwrap_err().to_string(), message, "{line:?}");
        };
        let empty = "the command is empty; expected the name of an allowed command, followed by its arguments";
        for line in ["", "  ", "\t", "# ls", "''", "\"\" ls"] {
            check(line, empty);
        }
        for line in ["echo 'a", "echo \"a", "echo a\\", "echo \"a\\"] {
            let message = format!(
                "the quotes in {} are not balanced; close every `'` and `\"`, and don't end with a `\\`",
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
