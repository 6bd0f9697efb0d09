//! Lines that are one command of plain words, as most are.

use super::builtin::Builtin;
use super::inner::dialect;
use super::reader::RESERVED;
use super::tree::{Command, Line};
use super::word::Word;

/// The longest text that is looked at, so that no bound of lines is passed.
const LONGEST: usize = 4096;

/// Returns the words of a text that is clearly one command of plain words: the reader would understand it in the same way, and take
/// six times as long. `None` for any other text, which may still be such a command.
pub fn plain_words(text: &str) -> Option<Vec<String>> {
    let mut words: Vec<String> = Vec::new();
    let mut word: Option<String> = None;
    let mut rest = Some(text).filter(|text| text.len() <= LONGEST)?;
    while let Some(first) = rest.chars().next() {
        let end = match first {
            ' ' => 1,
            // The name of the command is not quoted, so it is a reserved word where it looks like one.
            '\'' | '"' if !words.is_empty() => 2 + rest.get(1..)?.find(first)?,
            _ => rest.find(|c| !is_plain(c, words.is_empty())).unwrap_or(rest.len()),
        };
        let (piece, after) = rest.split_at_checked(end).filter(|(piece, _)| !piece.is_empty())?;
        match first {
            ' ' => words.extend(word.take()),
            '\'' | '"' => {
                let quoted = piece.get(1..end - 1)?;
                let is_literal = |c: char| !c.is_control() && (first == '\'' || !matches!(c, '$' | '`' | '\\' | '!'));
                word.get_or_insert_default().push_str(Some(quoted).filter(|quoted| quoted.chars().all(is_literal))?);
            }
            _ => word.get_or_insert_default().push_str(piece),
        }
        rest = after;
    }
    words.extend(word);
    let name = words.first()?;
    let is_program = !RESERVED.contains(&name.as_str()) && dialect(name).is_none() && Builtin::of(&words).is_none();
    is_program.then_some(words)
}

/// Whether a character stands for itself wherever it stands. In the name of a command `=` would make it an assignment.
fn is_plain(c: char, is_in_name: bool) -> bool {
    c.is_ascii_alphanumeric() || "-_./:,@+%".contains(c) || c == '=' && !is_in_name
}

impl Line {
    /// The words of a line that is one command of plain words.
    pub fn plain_words(&self) -> Option<Vec<String>> {
        let [list] = self.lists.as_slice() else { return None };
        let [stage] = list.first.stages.as_slice() else { return None };
        let Command::Simple(simple) = &stage.command else { return None };
        let has_more = !list.rest.is_empty() || list.first.negated || stage.pipes_stderr;
        if has_more || !simple.assignments.is_empty() || !simple.redirections.is_empty() {
            return None;
        }
        let words: Vec<String> = simple.words.iter().map(Word::text).collect::<Option<_>>()?;
        Some(words).filter(|words| !words.is_empty() && Builtin::of(words).is_none())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn as_read(text: &str) -> Option<Vec<String>> {
        Line::read(text).and_then(|line| line.open_shells(&|_| false)).ok()?.plain_words()
    }

    #[test]
    fn most_commands_are_plain_and_what_is_read_otherwise_is_not() {
        for text in [
            "ls",
            "git log --oneline -n5 HEAD..main",
            "grep -rn 'two words' \"src\" --include=x.rs",
            " a  b'c'\"\" '' ",
        ] {
            assert_eq!(plain_words(text), as_read(text), "{text}");
            assert!(plain_words(text).is_some(), "{text}");
        }
        for text in [
            "",
            " ",
            "a=b c",
            "if x",
            "time ls",
            "cd src",
            "true",
            "exit 1",
            ". x",
            "bash -c ls",
            "/bin/sh -c 'a | b'",
            "'ls' x",
            "a \"$x\"",
            "a ~",
            "a {b,c}",
            "a *",
            "a #b",
            "a 'b",
            "a\tb",
            "a\nb",
            "! a",
            "a | b",
            "a \"b\\\"c\"",
            "a \"!b\"",
            "é",
            "a 'b\u{7}'",
        ] {
            assert_eq!(plain_words(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_is_plain_is_read_in_the_same_way(
            name in "(|if|time|cd|eval|true|echo|bash|/bin/sh|[a-z.:=@+%/-]{1,3})",
            rest in "( [a-z0-9=.:,@+%/_~{}*#!$\\\\'\"|-]{0,4}| '[^']{0,3}'| \"[^\"]{0,3}\"|\"[a-z ]{0,2}\"){0,5}",
        ) {
            let text = format!("{name}{rest}");
            if let Some(words) = plain_words(&text) {
                prop_assert_eq!(Some(words), as_read(&text), "{}", text);
            }
        }
    }
}
