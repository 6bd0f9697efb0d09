//! Divides a script into names, texts and signs.

use super::super::is_in;
use super::Language;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Token {
    /// A name, with what stands before its dots.
    Name(String),
    /// A text, and whether names in it count, as in an f-string.
    Text(String),
    /// A text that a shell runs.
    Shell(String),
    Sign(char),
}

/// The tokens between the parenthesis at the start and the one that closes it.
pub(super) fn within(tokens: &[Token]) -> &[Token] {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate() {
        match token {
            Token::Sign('(') => depth += 1,
            Token::Sign(')') => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return tokens.get(1..at).unwrap_or_default();
        }
    }
    tokens
}

/// The tokens up to the end of a statement: a `;`, or a line that ends outside of parentheses.
pub(super) fn statement(tokens: &[Token]) -> &[Token] {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate() {
        match token {
            Token::Sign('(' | '[' | '{') => depth += 1,
            Token::Sign(')' | ']' | '}') if depth == 0 => return tokens.get(..at).unwrap_or_default(),
            Token::Sign(')' | ']' | '}') => depth -= 1,
            Token::Sign(';') => return tokens.get(..at).unwrap_or_default(),
            Token::Sign('\n') if depth == 0 => return tokens.get(..at).unwrap_or_default(),
            _ => {}
        }
    }
    tokens
}

pub(super) fn tokens(script: &str, language: &Language) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut rest = script;
    let is_tcl = is_in(language.names, "tclsh");
    let is_of_name = |c: char| c.is_alphanumeric() || c == '_';
    while let Some(first) = rest.chars().next() {
        let is_comment = rest.starts_with(language.comment) || rest.starts_with("#!");
        let counts_arguments = tokens.last() == Some(&Token::Sign('$'));
        if is_comment && !counts_arguments {
            rest = rest.get(rest.find('\n').unwrap_or(rest.len())..).unwrap_or_default();
            continue;
        }
        if language.comment == "//" && rest.starts_with("/*") {
            rest = rest.split_once("*/").map_or("", |(_, rest)| rest);
            continue;
        }
        if rest.starts_with("$^X") {
            tokens.push(Token::Name("$^X".to_owned()));
            rest = rest.get(3..).unwrap_or_default();
            continue;
        }
        let three = ["\"\"\"", "'''"].into_iter().find(|quotes| rest.starts_with(quotes));
        if let (Some(quotes), true) = (three, is_in(language.names, "python")) {
            let inner = rest.get(3..).unwrap_or_default();
            let (text, after) = inner.split_once(quotes).unwrap_or((inner, ""));
            tokens.push(Token::Text(text.to_owned()));
            rest = after;
            continue;
        }
        if matches!(first, '"' | '\'' | '`') {
            let (text, after) = string(rest, first);
            let is_command = first == '`' && !is_in(language.names, "node");
            tokens.push(if is_command { Token::Shell(text) } else { Token::Text(text) });
            rest = after;
            continue;
        }
        if is_of_name(first) {
            let end = rest
                .char_indices()
                .find(|(at, c)| {
                    let (before, after) = (rest.get(..*at).unwrap_or_default(), rest.get(at + 1..).unwrap_or_default());
                    let goes_on = match c {
                        '.' => after.starts_with(is_of_name),
                        '-' => is_tcl && after.starts_with(is_of_name),
                        ':' => after.starts_with(':') || before.ends_with(':'),
                        _ => is_of_name(*c),
                    };
                    !goes_on
                })
                .map_or(rest.len(), |(at, _)| at);
            let (name, after) = rest.split_at(end);
            tokens.push(Token::Name(name.replace("::", ".")));
            rest = after;
            continue;
        }
        if first == '\n' || !first.is_whitespace() {
            tokens.push(Token::Sign(first));
        }
        rest = rest.get(first.len_utf8()..).unwrap_or_default();
    }
    tokens
}

/// The text within quotes, and what follows them. One that is not closed ends with its line.
fn string(text: &str, quote: char) -> (String, &str) {
    let mut inner = String::new();
    let mut chars = text.char_indices().skip(1);
    while let Some((at, next)) = chars.next() {
        match next {
            '\\' => inner.extend(chars.next().map(|(_, escaped)| escaped)),
            '\n' if quote != '`' => return (inner, text.get(at..).unwrap_or_default()),
            _ if next == quote => return (inner, text.get(at + next.len_utf8()..).unwrap_or_default()),
            _ => inner.push(next),
        }
    }
    (inner, "")
}
