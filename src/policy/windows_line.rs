//! Splits a command line by the rules of Windows programs, where a backslash is an ordinary character.
//!
//! These are the rules by which Microsoft's C run-time, and so nearly every program, reads its own command line: only `"`
//! quotes, and a backslash is special only before one. See "Parsing C command-line arguments" in Microsoft's
//! documentation. One state machine both splits and finds what is refused, so that the two can't disagree. It is pure text,
//! so it is tested on every platform.

use super::CommandLineError;
use super::command_line::MOST_WORDS;
use super::syntax::{ShellSyntax, syntax_at};

/// Splits one line into words. Also returns what `cmd.exe` would have expanded, which is passed literally here.
///
/// Blanks and tabs separate words. `"` begins and ends a quoted part; `""` within one is a quote. Before a quote, each two
/// backslashes become one, and one left over makes the quote an ordinary character. Single quotes, `%`, `!` and globs are
/// ordinary characters.
///
/// # Errors
/// Outside quotes, what [`find_syntax`](super::find_syntax) refuses, and `^`, which is the escape character of `cmd.exe`; a
/// quote that is not closed; too many words.
pub(super) fn split(line: &str) -> Result<(Vec<String>, Option<&'static str>), CommandLineError> {
    let mut words = Vec::new();
    // `None` between words, so that an empty pair of quotes is a word.
    let mut word: Option<String> = None;
    let mut is_quoted = false;
    let mut backslashes = 0_usize;
    let mut characters = line.char_indices().peekable();
    while let Some((offset, character)) = characters.next() {
        if character == '\\' {
            backslashes += 1;
            continue;
        }
        let before = std::mem::take(&mut backslashes);
        if character == '"' {
            let word = word.get_or_insert_default();
            word.extend(std::iter::repeat_n('\\', before / 2));
            let is_escaped = before % 2 == 1;
            if is_escaped || (is_quoted && characters.next_if(|(_, next)| *next == '"').is_some()) {
                word.push('"');
            } else {
                is_quoted = !is_quoted;
            }
            continue;
        }
        if before > 0 {
            word.get_or_insert_default().extend(std::iter::repeat_n('\\', before));
        }
        if is_quoted {
            word.get_or_insert_default().push(character);
        } else if let Some(syntax) = refused_at(line.get(offset..).unwrap_or_default()) {
            return Err(CommandLineError::Syntax { syntax, line: line.to_owned() });
        } else if matches!(character, ' ' | '\t') {
            words.extend(word.take());
            if words.len() > MOST_WORDS {
                return Err(CommandLineError::TooManyWords);
            }
        } else {
            word.get_or_insert_default().push(character);
        }
    }
    if backslashes > 0 {
        word.get_or_insert_default().extend(std::iter::repeat_n('\\', backslashes));
    }
    if is_quoted {
        return Err(CommandLineError::Unbalanced { line: line.to_owned() });
    }
    words.extend(word);
    Ok((words, literal_variable(line)))
}

fn refused_at(rest: &str) -> Option<ShellSyntax> {
    if rest.starts_with('^') { Some(ShellSyntax::Operator("^")) } else { syntax_at(rest) }
}

/// The sign `%`, as a message names it, if the line holds `%NAME%`, which `cmd.exe` expands even within quotes.
fn literal_variable(line: &str) -> Option<&'static str> {
    let is_name = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "_()".contains(c));
    let parts: Vec<&str> = line.split('%').collect();
    let inner = parts.get(1..parts.len().saturating_sub(1)).unwrap_or_default();
    inner.iter().any(|part| is_name(part)).then_some("`%`")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn words_are_split_as_windows_programs_split_them() {
        let cases: [(&str, &[&str]); 14] = [
            ("", &[]),
            (" \t ", &[]),
            (r"dir C:\Users\me", &["dir", r"C:\Users\me"]),
            (r"  a   b ", &["a", "b"]),
            (r#""C:\Program Files\x.exe" -v"#, &[r"C:\Program Files\x.exe", "-v"]),
            (r#"a "" b"#, &["a", "", "b"]),
            (r#"a"b c"d e"#, &["ab cd", "e"]),
            (r#"say "he said \"hi\"""#, &["say", r#"he said "hi""#]),
            (r#"say "a ""b"" c""#, &["say", r#"a "b" c"#]),
            (r#""C:\dir\\" x"#, &[r"C:\dir\", "x"]),
            (r#"a\\\"b c\\d\"#, &[r#"a\"b"#, r"c\\d\"]),
            (r#"\\server\share "\\server\a b""#, &[r"\\server\share", r"\\server\a b"]),
            ("echo 'a b' # c", &["echo", "'a", "b'", "#", "c"]),
            (r#"echo "a && b | c > d ^ e ; `f` $(g)""#, &["echo", "a && b | c > d ^ e ; `f` $(g)"]),
        ];
        for (line, words) in cases {
            assert_eq!(split(line).unwrap().0, words, "{line:?}");
        }
    }

    #[test]
    fn syntax_outside_double_quotes_is_refused() {
        let cases = [
            ("dir && del x", "`&&`"),
            ("dir || del x", "`||`"),
            ("dir & del x", "`&`"),
            ("dir|more", "`|`"),
            ("dir > x", "`>`"),
            ("dir >> x", "`>>`"),
            ("sort < x", "`<`"),
            ("sort << x", "`<<`"),
            ("dir ; del", "`;`"),
            ("echo a^b", "`^`"),
            ("echo $(x)", "`$(`"),
            ("echo `x`", "a backtick"),
            ("dir\r\ndel x", "a line break"),
            // What a POSIX shell would quote is not quoted here.
            ("echo 'a & b'", "`&`"),
            (r"echo \& x", "`&`"),
            (r#"echo \"a & b\""#, "`&`"),
            (r#"echo "a\\" & b"#, "`&`"),
            (r#"echo "a""b" & c"#, "`&`"),
        ];
        for (line, expected) in cases {
            match split(line) {
                Err(CommandLineError::Syntax { syntax, .. }) => assert_eq!(syntax.to_string(), expected, "{line:?}"),
                other => panic!("{line:?} gave {other:?}"),
            }
        }
        for line in [r#"echo "a"#, r#"echo "a\""#, r#"echo "a"" b"#] {
            let expected = CommandLineError::Unbalanced { line: line.to_owned() };
            assert_eq!(split(line).unwrap_err(), expected, "{line:?}");
        }
    }

    #[test]
    fn a_variable_that_cmd_would_expand_is_noticed() {
        for (line, expected) in
            [("echo %PATH%", Some("`%`")), ("date +%Y-%m", None), ("echo 5% x 6%", None), ("%%", None)]
        {
            assert_eq!(split(line).unwrap().1, expected, "{line:?}");
        }
    }

    /// Quotes one word, as Microsoft's documentation says that a caller should.
    fn quote(word: &str) -> String {
        let mut quoted = String::from('"');
        let mut backslashes = 0;
        for character in word.chars() {
            match character {
                '\\' => backslashes += 1,
                '"' => {
                    quoted.extend(std::iter::repeat_n('\\', backslashes + 1));
                    backslashes = 0;
                }
                _ => backslashes = 0,
            }
            quoted.push(character);
        }
        quoted.extend(std::iter::repeat_n('\\', backslashes));
        quoted.push('"');
        quoted
    }

    proptest! {
        #[test]
        fn words_that_were_quoted_come_back_as_they_were(
            words in proptest::collection::vec(r#"[a \t\\"'&|<>^%;é]{0,8}"#, 1..5)
        ) {
            let line = words.iter().map(|word| quote(word)).collect::<Vec<_>>().join(" ");
            prop_assert_eq!(split(&line).unwrap().0, words);
        }

        #[test]
        fn no_operator_is_passed_where_a_quoteless_line_holds_one(line in r"[ab \\&|;<>^]{0,16}") {
            prop_assert_eq!(split(&line).is_err(), line.contains(['&', '|', ';', '<', '>', '^']));
        }
    }
}
