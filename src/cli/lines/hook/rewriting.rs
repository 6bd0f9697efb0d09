//! The command that replaces an allowed line: `'/abs/allowexec' run 'every setting' … -- 'LINE'`.
//!
//! The agent's shell reads it, so each word is quoted so that it has one reading. In bash, zsh and sh (also with zsh's `RC_QUOTES`)
//! that is single quotes, with `'\''` for a quote. For any other shell the line is written in hexadecimal digits, and every other
//! word must be one that no shell changes. Hexadecimal digits also stand for a line with control characters: an agent may type the
//! command into a terminal, where these are keys.

use std::fmt::Write;

use thiserror::Error;

/// The longest command in bytes. Linux passes no argument of more than 128 KiB, and the shell gets the command as one.
const LONGEST: usize = 100_000;

/// The shell that reads the command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cli) enum Quoting {
    /// bash, zsh or sh.
    Posix,
    /// Any other.
    Hex,
}

/// All of a rewritten command but the line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::cli) struct Rewriting {
    /// Up to the flag in front of the line.
    head: String,
    quoting: Quoting,
    /// Whether a line break is a key, too.
    is_typed: bool,
}

/// Why a line can't be rewritten.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(in crate::cli) enum RewritingError {
    /// A word that some shell reads as something else.
    #[error(
        "`{word}` can't be written for every shell; use bash, zsh or sh, or a word of letters, digits and `_./:=,+-`"
    )]
    Word {
        /// The word.
        word: String,
    },
    /// No argument can hold it.
    #[error("a NUL character can't be a part of a command")]
    Nul,
    /// It is too long.
    #[error("the command that replaces the line is too long: {length} of at most {LONGEST} bytes")]
    Long {
        /// Its length.
        length: usize,
    },
}

impl Rewriting {
    /// Takes the absolute path of this program and its settings.
    ///
    /// # Errors
    /// If a word can't be quoted.
    pub fn new<'w>(
        program: &str,
        settings: impl IntoIterator<Item = &'w str>,
        quoting: Quoting,
        is_typed: bool,
    ) -> Result<Self, RewritingError> {
        let mut head = word(program, quoting)?;
        head.push_str(" run");
        for setting in settings {
            head.push(' ');
            head.push_str(&word(setting, quoting)?);
        }
        Ok(Self { head, quoting, is_typed })
    }

    /// The same with a grant.
    ///
    /// # Errors
    /// If its name can't be quoted.
    pub fn granted(&self, name: &str) -> Result<Self, RewritingError> {
        let head = format!("{} {} {}", self.head, word("--grant", self.quoting)?, word(name, self.quoting)?);
        Ok(Self { head, ..*self })
    }

    /// The command that runs a line.
    ///
    /// # Errors
    /// If it would be too long, or the line holds NUL.
    pub fn command(&self, line: &str) -> Result<String, RewritingError> {
        if line.contains('\0') {
            return Err(RewritingError::Nul);
        }
        let is_key = |c: char| c.is_control() && (self.is_typed || !matches!(c, '\n' | '\t'));
        let quoting = if line.contains(is_key) { Quoting::Hex } else { self.quoting };
        let mut command = self.head.clone();
        match quoting {
            Quoting::Posix => command.push_str(&format!(" -- {}", single_quoted(line))),
            Quoting::Hex => {
                command.push_str(" --line-hex ");
                for byte in line.bytes() {
                    write!(command, "{byte:02x}").ok();
                }
            }
        }
        if command.len() > LONGEST { Err(RewritingError::Long { length: command.len() }) } else { Ok(command) }
    }

    /// The line that a command runs; `None` if this rewriting has not made the command, byte for byte.
    pub fn line_of(&self, command: &str) -> Option<String> {
        let rest = command.strip_prefix(&self.head)?;
        let line = match rest.strip_prefix(" --line-hex ") {
            None => {
                let quoted = rest.strip_prefix(" -- '")?.strip_suffix('\'')?;
                quoted.replace("'\\''", "'").replace("'\\\\'", "\\")
            }
            Some(rest) => {
                let digits: Vec<&str> =
                    (0..rest.len()).step_by(2).map(|at| rest.get(at..at + 2)).collect::<Option<_>>()?;
                let bytes =
                    digits.into_iter().map(|digits| u8::from_str_radix(digits, 16).ok()).collect::<Option<_>>()?;
                String::from_utf8(bytes).ok()?
            }
        };
        // Other spellings of the same words are not its own.
        (self.command(&line).ok()? == command).then_some(line)
    }
}

fn word(word: &str, quoting: Quoting) -> Result<String, RewritingError> {
    if word.contains('\0') {
        return Err(RewritingError::Nul);
    }
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_./:=,+-".contains(c);
    match quoting {
        Quoting::Posix if !word.contains(char::is_control) => Ok(single_quoted(word)),
        Quoting::Hex if !word.is_empty() && word.chars().all(is_plain) => Ok(word.to_owned()),
        Quoting::Posix | Quoting::Hex => Err(RewritingError::Word { word: word.escape_debug().to_string() }),
    }
}

/// The text in single quotes, within which a shell changes nothing. Only fish takes a backslash before a quote away; then each
/// stands outside of the quotes, so that no other shell than the expected one finds the end of the word elsewhere.
fn single_quoted(text: &str) -> String {
    let is_before_quote = text.contains("\\'") || text.ends_with('\\');
    let text = if is_before_quote { text.replace('\\', "\0") } else { text.to_owned() };
    // No word holds NUL, see `word` and `Rewriting::command`.
    format!("'{}'", text.replace('\'', "'\\''").replace('\0', "'\\\\'"))
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::path::Path;
    use std::process::Command;

    use super::*;

    #[test]
    fn every_shell_that_is_here_reads_a_quoted_line_as_that_one_word() {
        let lines = [
            "",
            "'",
            "''",
            "a'b",
            "'a'",
            "\\",
            "\\'",
            "!x",
            "$(id) `id` $HOME ~ * {a,b} #",
            "a\nb\n",
            "=ls",
            "x\\'; echo 'y",
            "\\\\'\\",
            "\u{e9}\t\"",
            "'''\\'''",
        ];
        let shells = [("sh", ""), ("bash", ""), ("dash", ""), ("zsh", ""), ("zsh", "setopt rcquotes\n"), ("fish", "")];
        let mut tried = 0;
        for (shell, options) in shells.into_iter().filter(|(shell, _)| Path::new("/bin").join(shell).exists()) {
            for line in lines {
                let script = format!("{options}printf '<%s>' {} {}", single_quoted(line), single_quoted(line));
                let output = Command::new(Path::new("/bin").join(shell)).args(["-c", &script]).output().unwrap();
                assert_eq!(String::from_utf8(output.stdout).unwrap(), format!("<{line}><{line}>"), "{shell} {options}");
            }
            tried += 1;
        }
        assert!(tried > 0, "no shell is in /bin");
    }
}
