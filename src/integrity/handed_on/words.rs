//! The words of a shell script, with what their expansions stand for.

use std::iter::Peekable;
use std::str::Chars;

/// A part of a word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Piece {
    /// This text.
    Text(String),
    /// `$@` and what is made of it.
    All,
    /// `$1`, and `$0`, the name of the script.
    One(usize),
    /// A variable, and what it is if it is not set.
    Variable { name: String, otherwise: Option<Vec<Piece>> },
    /// The output of these commands.
    Output(String),
    /// A part that is not understood.
    Unknown,
}

/// A word.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Word {
    pub pieces: Vec<Piece>,
    /// Whether a part of it is quoted, so that it is no keyword and is not split.
    pub is_quoted: bool,
}

impl Word {
    /// The text, if no part is quoted or expanded.
    pub fn plain(&self) -> Option<&str> {
        match self.pieces.as_slice() {
            [Piece::Text(text)] if !self.is_quoted => Some(text),
            _ => None,
        }
    }

    /// The name and the value of an assignment.
    pub fn assignment(&self) -> Option<(String, Word)> {
        let Some((Piece::Text(first), rest)) = self.pieces.split_first() else { return None };
        let (name, value) = first.split_once('=')?;
        let name = name.trim_end_matches('+');
        let is_name = |name: &str| {
            name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
                && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        };
        let start = (!value.is_empty()).then(|| Piece::Text(value.to_owned()));
        let pieces = start.into_iter().chain(rest.iter().cloned()).collect();
        is_name(name).then(|| (name.to_owned(), Word { pieces, is_quoted: self.is_quoted }))
    }
}

/// A part of a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Token {
    Word(Word),
    /// An operator between commands, or a parenthesis.
    Operator(&'static str),
    /// The input of `<<` and `<<<`.
    Input(Word),
}

/// The operators between commands, longer ones first.
const OPERATORS: [&str; 13] = [";;&", ";;", ";&", "&&", "||", "|&", "&", "|", ";", "(", ")", "\n", "\r"];

/// How deep expansions within others are read.
const DEEPEST: usize = 16;

fn ends_word(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r' | ';' | '&' | '|' | '(' | ')' | '<' | '>')
}

/// Divides a script into words and operators. Redirections to and from files are left out.
pub(super) fn tokens(script: &str) -> Vec<Token> {
    let mut reader = Reader::new(script, 0);
    let mut tokens = Vec::new();
    while let Some(&next) = reader.rest.peek() {
        match next {
            ' ' | '\t' => {
                reader.rest.next();
            }
            '#' => while reader.rest.next_if(|c| *c != '\n').is_some() {},
            '<' | '>' => reader.redirection(&mut tokens),
            _ => {
                let ahead: String = reader.rest.clone().take(3).collect();
                if let Some(operator) = OPERATORS.into_iter().find(|operator| ahead.starts_with(operator)) {
                    reader.rest.nth(operator.len() - 1);
                    if ahead.starts_with("&>") {
                        reader.redirection(&mut tokens);
                        continue;
                    }
                    if operator == "\n" {
                        reader.read_documents(&mut tokens);
                    }
                    tokens.push(Token::Operator(operator));
                } else if ahead.starts_with("\\\n") {
                    reader.rest.nth(1);
                } else {
                    let word = reader.word(&ends_word);
                    // The number of a file descriptor.
                    let is_number = word.plain().is_some_and(|text| text.chars().all(|c| c.is_ascii_digit()));
                    if !(is_number && reader.rest.peek().is_some_and(|c| matches!(c, '<' | '>'))) {
                        tokens.push(Token::Word(word));
                    }
                }
            }
        }
    }
    tokens
}

/// The parts of a text within double quotes, such as a here-document.
fn quoted(text: &str) -> Word {
    let mut reader = Reader::new(text, 0);
    let mut word = Word { is_quoted: true, ..Word::default() };
    while let Some(next) = reader.rest.next() {
        reader.in_quotes(next, &mut word);
    }
    word
}

/// Where a here-document ends, and whether its expansions count.
struct Document {
    end: String,
    is_literal: bool,
}

struct Reader<'s> {
    rest: Peekable<Chars<'s>>,
    documents: Vec<Document>,
    /// How many expansions are around it.
    depth: usize,
}

impl<'s> Reader<'s> {
    fn new(text: &'s str, depth: usize) -> Self {
        Self { rest: text.chars().peekable(), documents: Vec::new(), depth }
    }

    fn redirection(&mut self, tokens: &mut Vec<Token>) {
        let mut operator = String::new();
        while let Some(sign) = self.rest.next_if(|c| matches!(c, '<' | '>' | '&' | '|')) {
            operator.push(sign);
            if operator == "<<<" {
                break;
            }
        }
        // `<(` and `>(` run commands.
        if self.rest.peek() == Some(&'(') {
            return;
        }
        if operator == "<<" {
            self.rest.next_if_eq(&'-');
        }
        while self.rest.next_if(|c| matches!(c, ' ' | '\t')).is_some() {}
        let word = self.word(&ends_word);
        match operator.as_str() {
            "<<<" => tokens.push(Token::Input(word)),
            "<<" => {
                let text = |piece: &Piece| match piece {
                    Piece::Text(text) => text.clone(),
                    _ => String::new(),
                };
                let end = word.pieces.iter().map(text).collect();
                self.documents.push(Document { end, is_literal: word.is_quoted });
            }
            _ => {}
        }
    }

    /// Reads the here-documents that begin after a line. What they pass belongs to the last command of the line.
    fn read_documents(&mut self, tokens: &mut Vec<Token>) {
        for document in std::mem::take(&mut self.documents) {
            let mut body = String::new();
            loop {
                let mut line = String::new();
                while let Some(next) = self.rest.next_if(|c| *c != '\n') {
                    line.push(next);
                }
                let is_last = self.rest.next().is_none();
                if line.trim_start_matches('\t') == document.end || is_last {
                    break;
                }
                body += &line;
                body.push('\n');
            }
            if !document.is_literal {
                tokens.push(Token::Input(quoted(&body)));
            }
        }
    }

    /// Reads a word up to a character that ends it.
    fn word(&mut self, ends: &dyn Fn(char) -> bool) -> Word {
        let mut word = Word::default();
        while let Some(next) = self.rest.next_if(|c| !ends(*c)) {
            match next {
                '\'' => {
                    word.is_quoted = true;
                    let text = self.until('\'');
                    push(&mut word, text);
                }
                '"' => {
                    word.is_quoted = true;
                    push(&mut word, String::new());
                    while let Some(next) = self.rest.next_if(|c| *c != '"') {
                        self.in_quotes(next, &mut word);
                    }
                    self.rest.next();
                }
                '$' if self.rest.peek() == Some(&'\'') => {
                    self.rest.next();
                    word.is_quoted = true;
                    let text = self.until('\'');
                    push(&mut word, text);
                }
                '\\' => match self.rest.next() {
                    Some('\n') | None => {}
                    Some(escaped) => {
                        word.is_quoted = true;
                        push(&mut word, escaped.to_string());
                    }
                },
                '$' | '`' => self.expansion(next, &mut word),
                _ => push(&mut word, next.to_string()),
            }
        }
        word.pieces.retain(|piece| *piece != Piece::Text(String::new()));
        word
    }

    /// Reads on within double quotes.
    fn in_quotes(&mut self, next: char, word: &mut Word) {
        match next {
            '\\' => match self.rest.next() {
                Some('\n') | None => {}
                Some(escaped @ ('$' | '`' | '"' | '\\')) => push(word, escaped.to_string()),
                Some(other) => push(word, format!("\\{other}")),
            },
            '$' | '`' => self.expansion(next, word),
            _ => push(word, next.to_string()),
        }
    }

    /// Reads an expansion after its first character.
    fn expansion(&mut self, first: char, word: &mut Word) {
        if first == '`' {
            let code = self.until('`');
            word.pieces.push(Piece::Output(code));
            return;
        }
        match self.rest.peek().copied() {
            Some('(') => {
                self.rest.next();
                let code = self.balanced('(', ')');
                // `$((` counts.
                word.pieces.push(if code.starts_with('(') { Piece::Unknown } else { Piece::Output(code) });
            }
            Some('{') => {
                self.rest.next();
                let inner = self.balanced('{', '}');
                word.pieces.extend(parameter(&inner, self.depth));
            }
            Some('@' | '*') => {
                self.rest.next();
                word.pieces.push(Piece::All);
            }
            Some(digit) if digit.is_ascii_digit() => {
                self.rest.next();
                word.pieces.push(Piece::One(digit.to_digit(10).unwrap_or(0) as usize));
            }
            Some('#' | '?' | '$' | '!' | '-') => {
                self.rest.next();
                word.pieces.push(Piece::Unknown);
            }
            Some(letter) if letter.is_ascii_alphabetic() || letter == '_' => {
                let mut name = String::new();
                while let Some(next) = self.rest.next_if(|c| c.is_ascii_alphanumeric() || *c == '_') {
                    name.push(next);
                }
                word.pieces.push(Piece::Variable { name, otherwise: None });
            }
            _ => push(word, "$".to_owned()),
        }
    }

    fn until(&mut self, end: char) -> String {
        let mut text = String::new();
        while let Some(next) = self.rest.next_if(|c| *c != end) {
            text.push(next);
        }
        self.rest.next();
        text
    }

    /// Reads up to the parenthesis or brace that closes, past those in quotes.
    fn balanced(&mut self, open: char, close: char) -> String {
        let (mut text, mut depth, mut quote) = (String::new(), 1_usize, None);
        while let Some(next) = self.rest.next() {
            match (next, quote) {
                ('\\', None | Some('"')) => {
                    text.push(next);
                    text.extend(self.rest.next());
                    continue;
                }
                ('\'', None) if open == '(' => quote = Some('\''),
                // A substitution within quotes has its own.
                ('"', None) => quote = Some('"'),
                (_, Some(within)) if next == within => quote = None,
                (_, None) if next == open => depth += 1,
                (_, None) if next == close => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                break;
            }
            text.push(next);
        }
        text
    }
}

fn push(word: &mut Word, text: String) {
    if let Some(Piece::Text(last)) = word.pieces.last_mut() {
        last.push_str(&text);
    } else {
        word.pieces.push(Piece::Text(text));
    }
}

/// Reads `${…}`.
fn parameter(inner: &str, depth: usize) -> Vec<Piece> {
    let indirect = inner.strip_prefix('!');
    let inner = indirect.unwrap_or(inner);
    let name_ends = |c: char| !(c.is_ascii_alphanumeric() || c == '_');
    let (name, rest) = match inner.chars().next() {
        Some('@' | '*') => inner.split_at(1),
        Some('#') if indirect.is_some() => return vec![Piece::All],
        Some('#') => return vec![Piece::Unknown],
        _ => inner.split_at(inner.find(name_ends).unwrap_or(inner.len())),
    };
    let rest = rest.strip_prefix('[').and_then(|rest| rest.split_once(']')).map_or(rest, |(_, rest)| rest);
    let word = |text: &str| {
        if depth < DEEPEST { Reader::new(text, depth + 1).word(&|_| false).pieces } else { vec![Piece::Unknown] }
    };
    // `${1+"$@"}` is the word if there is an argument.
    if let Some(given) = rest.strip_prefix(":+").or_else(|| rest.strip_prefix('+')) {
        return word(given);
    }
    let otherwise = [":-", "-", ":=", "="].iter().find_map(|operator| rest.strip_prefix(operator)).map(word);
    vec![match name {
        "@" | "*" | "BASH_ARGV" => Piece::All,
        _ => match name.parse() {
            Ok(number) => Piece::One(number),
            Err(_) if name.is_empty() => Piece::Unknown,
            Err(_) => Piece::Variable { name: name.to_owned(), otherwise },
        },
    }]
}
