//! Finds shell syntax outside quotes, so that a client gets an error instead of a surprise.
//!
//! This is not a security check: no shell ever sees a command of `execute_command`, so `ls && rm x` would only pass `&&`,
//! `rm` and `x` to `ls`. The scanner reads quotes as the shlex crate does, which splits the words afterwards.

use std::fmt;

/// A piece of shell syntax outside quotes, which would mean something else in a shell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShellSyntax {
    /// `&&`, `||`, `;`, `|`, `&`, `<`, `>` and the like.
    Operator(&'static str),
    /// A backtick or `$(`.
    Substitution(&'static str),
    /// A line break, even after a backslash.
    Newline,
    /// A backtick or `$(` within double quotes, or `$'`, where a shell reads it, too.
    Quoted(&'static str),
}

impl fmt::Display for ShellSyntax {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Operator("`") | Self::Substitution("`") | Self::Quoted("`") => write!(f, "a backtick"),
            Self::Operator(text) | Self::Substitution(text) | Self::Quoted(text) => write!(f, "`{text}`"),
            Self::Newline => write!(f, "a line break"),
        }
    }
}

/// The longest first, so that `&&` is not reported as `&`.
const OPERATORS: [&str; 16] =
    ["<<<", "<<", ">>", ">&", "<&", "<>", ">|", "&&", "&>", "||", ";;", ";", "|", "&", ">", "<"];

/// Finds the first shell syntax outside quotes in `line`, and its byte offset.
pub fn find_syntax(line: &str) -> Option<(usize, ShellSyntax)> {
    unquoted(line).find_map(|(offset, rest)| syntax_at(rest).map(|syntax| (offset, syntax)))
}

/// Finds the first quotes that a shell would not take literally: `$(` and backticks within double quotes, and `$'…'`.
pub fn find_quoted_syntax(line: &str) -> Option<ShellSyntax> {
    // Most lines have neither, and need no second look.
    if !line.contains('$') && !line.contains('`') {
        return None;
    }
    placed(line).find_map(|(offset, state, is_unquoted)| {
        let rest = line.get(offset..).unwrap_or_default();
        let known: &[&'static str] = match state {
            State::Double => &["`", "$(", "$'"],
            _ if is_unquoted => &["$'", "$\""],
            _ => &[],
        };
        known.iter().find(|syntax| rest.starts_with(**syntax)).copied().map(ShellSyntax::Quoted)
    })
}

/// The line with every character that is quoted, escaped or in a comment replaced by a letter.
pub(super) fn without_quoted(line: &str) -> String {
    let replaced = |(place, _, is_unquoted): (usize, State, bool)| {
        let character = line.get(place..).and_then(|rest| rest.chars().next()).filter(|_| is_unquoted);
        character.unwrap_or('q')
    };
    placed(line).map(replaced).collect()
}

/// Finds the first thing that a shell would have expanded (a variable, also within double quotes, a glob, a tilde), so that a hint can
/// say that it was passed literally: how a message names it.
pub fn find_literal_pattern(line: &str) -> Option<&'static str> {
    // Most lines have none of them, and need no second look.
    if !line.bytes().any(|byte| matches!(byte, b'*' | b'?' | b'~' | b'$')) {
        return None;
    }
    placed(line).find_map(|(offset, state, is_unquoted)| {
        let rest = line.get(offset..).unwrap_or_default();
        if let (State::Double, Some(after)) = (state, rest.strip_prefix('$')) {
            let is_variable =
                after.starts_with(|name: char| name.is_ascii_alphanumeric() || "_{?$!@#-*".contains(name));
            return is_variable.then_some("`$` within double quotes");
        }
        if !is_unquoted {
            return None;
        }
        let starts_word = || line.get(..offset).is_none_or(|before| before.is_empty() || before.ends_with([' ', '\t']));
        let mut characters = rest.chars();
        match (characters.next(), characters.next()) {
            (Some('*'), _) => Some("the unquoted `*`"),
            (Some('?'), _) => Some("the unquoted `?`"),
            (Some('~'), _) if starts_word() => Some("the unquoted `~`"),
            (Some('$'), Some(name)) if name.is_ascii_alphanumeric() || "_{?$!@#-".contains(name) => {
                Some("the unquoted `$`")
            }
            _ => None,
        }
    })
}

/// The rest of the line from each character that is outside quotes, comments and escapes, with its byte offset.
fn unquoted(line: &str) -> impl Iterator<Item = (usize, &str)> {
    placed(line)
        .filter(|(_, _, is_unquoted)| *is_unquoted)
        .map(|(offset, _, _)| (offset, line.get(offset..).unwrap_or_default()))
}

/// Each character's byte offset, the state in which it is read, and whether it is outside quotes, comments and escapes.
fn placed(line: &str) -> impl Iterator<Item = (usize, State, bool)> {
    let mut state = State::Blank;
    line.char_indices().map(move |(offset, character)| {
        let before = state;
        let (next, is_unquoted) = state.step(character);
        state = next;
        (offset, before, is_unquoted)
    })
}

/// The state of the scanner: how it reads the next character.
#[derive(Clone, Copy)]
enum State {
    /// Between words, where `#` begins a comment.
    Blank,
    Word,
    Escaped,
    Single,
    Double,
    DoubleEscaped,
    Comment,
}

impl State {
    /// Reads one character, and says whether it is outside quotes.
    fn step(self, character: char) -> (Self, bool) {
        match (self, character) {
            (Self::Blank, '#') => (Self::Comment, false),
            (Self::Comment, '\n') => (Self::Blank, true),
            (Self::Comment, _) => (Self::Comment, false),
            (Self::Blank | Self::Word, ' ' | '\t' | '\n') => (Self::Blank, true),
            (Self::Blank | Self::Word, '\'') => (Self::Single, false),
            (Self::Blank | Self::Word, '"') => (Self::Double, false),
            (Self::Blank | Self::Word, '\\') => (Self::Escaped, false),
            (Self::Blank | Self::Word, _) => (Self::Word, true),
            // In a shell a backslash before a line break joins the lines; shlex would make an empty word of it.
            (Self::Escaped, character) => (Self::Word, character == '\n'),
            (Self::Single, '\'') | (Self::Double, '"') => (Self::Word, false),
            (Self::Single, _) => (Self::Single, false),
            (Self::Double, '\\') => (Self::DoubleEscaped, false),
            (Self::Double | Self::DoubleEscaped, _) => (Self::Double, false),
        }
    }
}

/// The shell syntax that `rest` begins with; `rest` is outside quotes.
pub(super) fn syntax_at(rest: &str) -> Option<ShellSyntax> {
    match rest.chars().next()? {
        '\n' => Some(ShellSyntax::Newline),
        '`' => Some(ShellSyntax::Substitution("`")),
        '$' => rest.starts_with("$(").then_some(ShellSyntax::Substitution("$(")),
        '<' | '>' | '|' | '&' | ';' => {
            OPERATORS.into_iter().find(|operator| rest.starts_with(operator)).map(ShellSyntax::Operator)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, expected: Option<&str>) {
        let found = find_syntax(line).map(|(offset, syntax)| format!("{syntax} at {offset}"));
        assert_eq!(found.as_deref(), expected, "{line:?}");
    }

    #[test]
    fn syntax_outside_quotes_is_found_where_it_stands() {
        check("ls && rm x", Some("`&&` at 3"));
        check("ls&&rm", Some("`&&` at 2"));
        check("ls || rm", Some("`||` at 3"));
        check("ls;rm", Some("`;` at 2"));
        check("ls | wc", Some("`|` at 3"));
        check("ls &", Some("`&` at 3"));
        check("ls > x", Some("`>` at 3"));
        check("ls 2>&1", Some("`>&` at 4"));
        check("ls >> x", Some("`>>` at 3"));
        check("cat < x", Some("`<` at 4"));
        check("cat <<EOF", Some("`<<` at 4"));
        check("echo `id`", Some("a backtick at 5"));
        check("echo $(id)", Some("`$(` at 5"));
        check("echo <(id)", Some("`<` at 5"));
        check("ls\nrm x", Some("a line break at 2"));
        check("ls\r\nrm", Some("a line break at 3"));
        check("ls\n", Some("a line break at 2"));
        check("ls \\\n -l", Some("a line break at 4"));
        check("ls # it\nrm", Some("a line break at 7"));
        check("echo 'a' && rm 'b'", Some("`&&` at 9"));
        check("echo \"a\\\"\" ; rm", Some("`;` at 11"));
        check("echo a'b'\"c\"|d", Some("`|` at 12"));
    }

    #[test]
    fn syntax_inside_quotes_escapes_and_comments_is_ordinary() {
        for line in [
            "echo 'a && b'",
            "echo \"a; b | c > d < e & `f` $(g)\"",
            "echo 'it\nis'",
            "echo \"it\nis\"",
            r"echo \; \& \| \> \< \` \$(x)",
            "ls # a; b && c",
            "echo a#b 'x'#",
            "echo $HOME ${HOME} *.rs ~ ! ^ % [a-z] {a,b} a=b",
            "echo $ ( x )",
            "echo \"\\\"; x\"",
        ] {
            check(line, None);
        }
    }

    #[test]
    fn quotes_that_a_shell_would_read_are_found() {
        let cases = [
            ("git commit -m \"$(cat <<'EOF'\na\nEOF\n)\"", Some("$(")),
            ("a \"b `c`\"", Some("`")),
            ("a $'b'", Some("$'")),
            ("a b$\"c\"", Some("$\"")),
            ("a '$(b) `c`' \"\\$(b) \\`c\\`\" $b \"$b $ \" \\$\\'b # $'c'", None),
        ];
        for (line, expected) in cases {
            assert_eq!(find_quoted_syntax(line), expected.map(ShellSyntax::Quoted), "{line:?}");
        }
        assert_eq!(without_quoted("a 'b|c' \\| | \"d\" # e|"), "a qqqqq qq | qqq qqqq");
    }

    #[test]
    fn a_pattern_that_a_shell_would_expand_is_noticed() {
        let within = Some("`$` within double quotes");
        for (line, expected) in [
            ("ls *.rs", Some("the unquoted `*`")),
            ("ls a?", Some("the unquoted `?`")),
            ("ls ~/x", Some("the unquoted `~`")),
            ("ls a~", None),
            ("echo $HOME", Some("the unquoted `$`")),
            ("echo ${X}", Some("the unquoted `$`")),
            ("echo '$HOME' \"*\"", None),
            ("echo 5$", None),
            ("echo \"$HOME\"", within),
            ("echo \"a ${HOME}/b\"", within),
            ("echo \"\\$HOME 5$ $\"", None),
        ] {
            assert_eq!(find_literal_pattern(line), expected, "{line}");
        }
    }
}
