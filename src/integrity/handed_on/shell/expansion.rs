//! Expands the words of a shell script, as far as its text tells.

use super::super::words::{Piece, Token, Word, tokens};
use super::super::{UNKNOWN, Value, base};
use super::{DEEPEST, LONGEST_WORD, MOST_VALUES, MOST_WORDS, Reader, Values};

impl Reader<'_> {
    /// The words, once with each value of the variables in them.
    pub(super) fn all_values(&self, words: &[Word]) -> Values {
        let mut all: Values = Vec::new();
        for which in 0..MOST_VALUES {
            let values: Vec<Value> = words.iter().flat_map(|word| self.expand(word, which)).take(MOST_WORDS).collect();
            if which > 0 && all.contains(&values) {
                break;
            }
            all.push(values);
        }
        all
    }

    /// Expands a word with a value of each variable in it.
    pub(super) fn expand(&self, word: &Word, which: usize) -> Vec<Value> {
        if !self.takes(1 + word.pieces.len()) {
            return Vec::new();
        }
        match word.pieces.as_slice() {
            [] => vec![Value::Text(String::new())],
            [piece] => self.piece(piece, word.is_quoted, which),
            pieces => {
                let mut text = String::new();
                for piece in pieces {
                    for value in self.piece(piece, true, which) {
                        match value {
                            Value::Text(_) | Value::Others if text.len() > LONGEST_WORD => {}
                            Value::Text(part) => text += &part,
                            Value::Arguments => return vec![Value::Holding(text)],
                            Value::Holding(before) => return vec![Value::Holding(text + &before)],
                            Value::Others => text.push(UNKNOWN),
                        }
                    }
                }
                vec![Value::Text(text)]
            }
        }
    }

    fn piece(&self, piece: &Piece, is_quoted: bool, which: usize) -> Vec<Value> {
        let pick = |values: &Values| values.get(which).or(values.last()).cloned().unwrap_or_default();
        let unknown = || if is_quoted { Value::Text(UNKNOWN.to_string()) } else { Value::Others };
        match piece {
            Piece::Text(text) => vec![Value::Text(text.clone())],
            Piece::All => pick(&self.arguments),
            Piece::One(0) => vec![self.own.clone()],
            Piece::One(number) => {
                let arguments = pick(&self.arguments);
                let first = arguments.iter().position(|value| !matches!(value, Value::Text(_)));
                match (arguments.get(number - 1), first) {
                    (_, Some(first)) if *number > first => vec![Value::Arguments],
                    (Some(value), _) => vec![value.clone()],
                    (None, _) => vec![Value::Text(String::new())],
                }
            }
            Piece::Variable { name, otherwise } => match self.variables.get(name) {
                Some(values) => {
                    let values = pick(values);
                    match values.as_slice() {
                        [Value::Text(text)] if !is_quoted => split(text),
                        _ => values,
                    }
                }
                None => match (otherwise, of_environment(name)) {
                    (Some(otherwise), _) => {
                        let word = Word { pieces: otherwise.clone(), is_quoted };
                        self.expand(&word, which)
                    }
                    (None, Some(program)) => vec![Value::Text(program)],
                    (None, None) => vec![unknown()],
                },
            },
            Piece::Output(code) if self.around.get() > DEEPEST || !self.takes(code.len()) => vec![unknown()],
            Piece::Output(code) => {
                self.around.set(self.around.get() + 1);
                let inner = tokens(code);
                let words = inner.iter().filter_map(|token| match token {
                    Token::Word(word) => Some(self.expand(word, which)),
                    Token::Operator(_) | Token::Input(_) => None,
                });
                let words: Vec<Value> = words.flatten().collect();
                self.around.set(self.around.get() - 1);
                let is_simple = !inner.iter().any(|token| matches!(token, Token::Operator("|" | ";" | "\n")));
                let is_given = words.iter().any(Value::has_arguments);
                match (words.first(), words.last()) {
                    // What other programs make of arguments is not known: scripts also put quotes around them so.
                    (Some(Value::Text(first)), _) if is_given && is_simple && writes(first) => vec![Value::Arguments],
                    (Some(Value::Text(first)), Some(Value::Text(last))) if is_simple && finds(first) => {
                        vec![Value::Text(last.clone())]
                    }
                    _ => vec![unknown()],
                }
            }
            Piece::Unknown => vec![unknown()],
        }
    }
}

/// Programs that write their arguments out.
fn writes(program: &str) -> bool {
    ["echo", "printf"].contains(&base(program))
}

/// Programs whose output names the program that their last argument names.
fn finds(program: &str) -> bool {
    ["command", "which", "type", "whence", "readlink", "realpath", "echo"].contains(&base(program))
}

/// The words of a value that is not quoted.
fn split(text: &str) -> Vec<Value> {
    text.split_whitespace().map(|word| Value::Text(word.to_owned())).collect()
}

/// The program that a variable of this name usually names, if a script does not set it.
fn of_environment(name: &str) -> Option<String> {
    const NAMED: [&str; 13] =
        ["PYTHON", "PYTHON3", "PERL", "RUBY", "NODE", "BASH", "SHELL", "PHP", "LUA", "AWK", "SED", "JAVA", "JAVACMD"];
    NAMED.contains(&name).then(|| match name {
        "SHELL" => "sh".to_owned(),
        "JAVACMD" => "java".to_owned(),
        _ => name.to_ascii_lowercase(),
    })
}
