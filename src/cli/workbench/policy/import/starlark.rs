//! The part of Starlark that rules are written in: calls with literals, at the top of the file.
//!
//! Everything else is a [`Statement::Other`]. The reader never guesses where a statement ends: the first one that it does not know
//! takes the rest of the file. See <https://github.com/bazelbuild/starlark/blob/master/spec.md>.

use super::{Wrong, take};

/// A statement at the top of a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Statement {
    Call {
        line: usize,
        name: String,
        /// Each with its line.
        arguments: Vec<Argument>,
    },
    /// All that follows is not understood.
    Other { line: usize },
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Argument {
    pub line: usize,
    /// `None` for an argument without a name.
    pub name: Option<String>,
    pub value: Value,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Value {
    Text(String),
    List(Vec<Value>),
    /// It is no literal, or no text and no list.
    Other,
}

impl Value {
    pub fn into_text(self) -> Option<String> {
        match self {
            Self::Text(text) => Some(text),
            Self::List(_) | Self::Other => None,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    Name(String),
    Text(String),
    Symbol(char),
    /// The end of a line that is outside all brackets.
    End,
}

/// The most levels of lists in each other.
const DEEPEST: usize = 16;

/// Reads the statements of a file.
///
/// # Errors
/// If a string or a bracket is not closed.
pub(super) fn parse(text: &str) -> Result<Vec<Statement>, Wrong> {
    let tokens = tokens(text)?;
    let mut statements = Vec::new();
    let mut rest = tokens.as_slice();
    while let Some(((line, token), after)) = rest.split_first() {
        rest = match (token, after) {
            (Token::End | Token::Symbol(';'), after) => after,
            // A text by itself does nothing.
            (Token::Text(_), [(_, Token::End | Token::Symbol(';')), after @ ..]) | (Token::Text(_), after @ []) => {
                after
            }
            (Token::Name(name), [(_, Token::Symbol('(')), after @ ..]) => match call(after) {
                Some((arguments, after)) => {
                    statements.push(Statement::Call { line: *line, name: name.clone(), arguments });
                    after
                }
                None => {
                    statements.push(Statement::Other { line: *line });
                    break;
                }
            },
            (Token::Name(_) | Token::Text(_) | Token::Symbol(_), _) => {
                statements.push(Statement::Other { line: *line });
                break;
            }
        };
    }
    Ok(statements)
}

type Tokens<'t> = &'t [(usize, Token)];

/// Reads the arguments of a call and what follows, which must be the end of its statement.
fn call(mut rest: Tokens<'_>) -> Option<(Vec<Argument>, Tokens<'_>)> {
    let mut arguments = Vec::new();
    loop {
        let line = rest.first().map_or(0, |(line, _)| *line);
        let (name, after) = match rest {
            [(_, Token::Symbol(')')), after @ ..] => {
                let is_end = matches!(after.first(), None | Some((_, Token::End | Token::Symbol(';'))));
                return is_end.then_some((arguments, after));
            }
            [(_, Token::Name(name)), (_, Token::Symbol('=')), after @ ..] => (Some(name.clone()), after),
            after => (None, after),
        };
        let (value, after) = value(after, 0)?;
        arguments.push(Argument { line, name, value });
        rest = match after {
            [(_, Token::Symbol(',')), after @ ..] => after,
            [(_, Token::Symbol(')')), ..] => after,
            _ => return None,
        };
    }
}

/// Reads a value up to the `,` or the bracket after it.
fn value(rest: Tokens<'_>, depth: usize) -> Option<(Value, Tokens<'_>)> {
    let is_end = |rest: Tokens<'_>| matches!(rest.first(), Some((_, Token::Symbol(',' | ')' | ']' | '}'))));
    let literal = match rest {
        [(_, Token::Text(text)), after @ ..] => Some((Value::Text(text.clone()), after)),
        [(_, Token::Symbol('[')), after @ ..] if depth < DEEPEST => list(after, depth),
        _ => None,
    };
    match literal {
        Some((value, after)) if is_end(after) => Some((value, after)),
        Some(_) | None => skipped(rest).map(|after| (Value::Other, after)),
    }
}

fn list(mut rest: Tokens<'_>, depth: usize) -> Option<(Value, Tokens<'_>)> {
    let mut list = Vec::new();
    loop {
        if let [(_, Token::Symbol(']')), after @ ..] = rest {
            return Some((Value::List(list), after));
        }
        let (value, after) = value(rest, depth + 1)?;
        list.push(value);
        rest = match after {
            [(_, Token::Symbol(',')), after @ ..] => after,
            [(_, Token::Symbol(']')), ..] => after,
            _ => return None,
        };
    }
}

/// The tokens after an expression: from the next `,` or closing bracket outside its own brackets.
fn skipped(rest: Tokens<'_>) -> Option<Tokens<'_>> {
    let mut depth = 0_usize;
    for (at, (_, token)) in rest.iter().enumerate() {
        match token {
            Token::Symbol('(' | '[' | '{') => depth += 1,
            // Without a value before it, it is none.
            Token::Symbol(',' | ')' | ']' | '}') if depth == 0 => return if at > 0 { rest.get(at..) } else { None },
            Token::Symbol(')' | ']' | '}') => depth -= 1,
            Token::Name(_) | Token::Text(_) | Token::Symbol(_) | Token::End => {}
        }
    }
    None
}

fn tokens(text: &str) -> Result<Vec<(usize, Token)>, Wrong> {
    let mut tokens: Vec<(usize, Token)> = Vec::new();
    let (mut line, mut depth, mut rest) = (1, 0_usize, text);
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    while let Some(first) = rest.chars().next() {
        let at = line;
        let (token, length) = match first {
            // A statement at the top of the file begins in the first column.
            ' ' | '\t' if depth == 0 && matches!(tokens.last(), None | Some((_, Token::End))) => {
                let after = rest.trim_start_matches([' ', '\t']);
                let is_blank = after.is_empty() || after.starts_with(['\r', '\n', '#']);
                ((!is_blank).then_some(Token::Symbol(first)), rest.len() - after.len())
            }
            ' ' | '\t' | '\r' => (None, 1),
            '\n' => ((depth == 0).then_some(Token::End), 1),
            '\\' if rest.starts_with("\\\n") => (None, 2),
            '#' => (None, rest.find('\n').unwrap_or(rest.len())),
            '"' | '\'' => {
                let (value, length) = string(rest, false)
                    .ok_or((at, "a string is not closed, or has an escape that is not known".to_owned()))?;
                (Some(Token::Text(value)), length)
            }
            'r' if rest.starts_with("r\"") || rest.starts_with("r'") => {
                let raw = rest.get(1..).unwrap_or_default();
                let (value, length) = string(raw, true).ok_or((at, "a string is not closed".to_owned()))?;
                (Some(Token::Text(value)), length + 1)
            }
            _ if is_name(first) => {
                let end = rest.find(|c: char| !is_name(c)).unwrap_or(rest.len());
                (Some(Token::Name(rest.get(..end).unwrap_or_default().to_owned())), end)
            }
            _ => {
                match first {
                    '(' | '[' | '{' => depth += 1,
                    ')' | ']' | '}' => depth = depth.checked_sub(1).ok_or((at, format!("`{first}` closes nothing")))?,
                    _ => {}
                }
                (Some(Token::Symbol(first)), first.len_utf8())
            }
        };
        take(&mut rest, &mut line, length);
        tokens.extend(token.map(|token| (at, token)));
    }
    if depth > 0 { Err((line, "a bracket is not closed".to_owned())) } else { Ok(tokens) }
}

/// The string that a text begins with, and its length with its quotes.
fn string(text: &str, is_raw: bool) -> Option<(String, usize)> {
    let quote = text.chars().next()?;
    let three: String = [quote; 3].iter().collect();
    let (end, is_long) = if text.starts_with(&three) { (three.as_str(), true) } else { (three.get(..1)?, false) };
    let mut value = String::new();
    let mut at = end.len();
    loop {
        let rest = text.get(at..)?;
        if rest.starts_with(end) {
            return Some((value, at + end.len()));
        }
        let mut characters = rest.chars();
        let character = characters.next()?;
        at += character.len_utf8();
        match character {
            '\n' if !is_long => return None,
            '\\' => {
                let escaped = characters.next()?;
                at += escaped.len_utf8();
                match escaped {
                    _ if is_raw => value.extend(['\\', escaped]),
                    '\\' | '\'' | '"' => value.push(escaped),
                    'n' => value.push('\n'),
                    't' => value.push('\t'),
                    'r' => value.push('\r'),
                    '\n' => {}
                    // `\x41`, `\101`, `\u0041`: no rule needs them.
                    _ => return None,
                }
            }
            _ => value.push(character),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Value {
        Value::Text(text.to_owned())
    }

    #[test]
    fn calls_with_literals_are_read_and_everything_else_is_other() {
        let file = "# a\n\"\"\"doc\n\"\"\"\nf(a = ['x', [\"y\\\"\", r'\\d',],], # b\n  \"\"\"z\n\"\"\", b = g(1)[0] + 'k', c = D)\n\nx = 1\nf()\n";
        let argument = |line, name: &str, value| Argument {
            line,
            name: Some(name.to_owned()).filter(|name| !name.is_empty()),
            value,
        };
        let list = Value::List(vec![text("x"), Value::List(vec![text("y\""), text("\\d")])]);
        let arguments = vec![
            argument(4, "a", list),
            argument(5, "", text("z\n")),
            argument(6, "b", Value::Other),
            argument(6, "c", Value::Other),
        ];
        assert_eq!(
            parse(file).unwrap(),
            [Statement::Call { line: 4, name: "f".to_owned(), arguments }, Statement::Other { line: 8 },]
        );
        for other in [
            " f()",
            "\tf()",
            "f() if x else g()",
            "f().g()",
            "f(, 1)",
            "f(a, , b)",
            "[f() for x in y]",
            "def f():\n  g()",
            "f(*x)[0]",
        ] {
            assert_eq!(parse(other).unwrap(), [Statement::Other { line: 1 }], "{other}");
        }
        let more = |value: &str| match parse(&format!("f({value})")).unwrap().remove(0) {
            Statement::Call { mut arguments, .. } => arguments.remove(0).value,
            Statement::Other { .. } => panic!("{value}"),
        };
        for other in
            ["\"a\" + \"b\"", "\"a\" \"b\"", "[x]", "[\"a\"] * 2", "1", "None", "(\"a\")", "[y for y in z]", "b\"a\""]
        {
            let value = more(other);
            assert!(value == Value::Other || value == Value::List(vec![Value::Other]), "{other}: {value:?}");
        }
        for wrong in ["f(", "f('a)", "f)", "'a\nb'", "'\\q'"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
