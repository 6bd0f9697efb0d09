//! Words, numbers, operators and line breaks, and the texts of here-documents, which follow a line break.

use super::Dialect;
use super::cursor::Cursor;
use super::quoting::{Atom, Quotes, atoms, check_character, is_name_part, is_name_start};
use super::unreadable::{Reason, Unreadable};

/// A token, and where it begins.
pub struct Token {
    pub at: usize,
    pub kind: Kind,
}

pub enum Kind {
    Word(Vec<Atom>),
    /// Digits directly before `<` or `>`.
    Number(String),
    Operator(Operator),
    /// `<`, `>` and their kin.
    Arrow(Arrow),
    Newline,
    End,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Operator {
    Semicolon,
    And,
    Or,
    Pipe,
    PipeBoth,
    Open,
    Close,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Arrow {
    Read,
    Write,
    Append,
    WriteBoth,
    Duplicate,
    Document { strips_tabs: bool },
    HereString,
}

impl Operator {
    pub fn text(self) -> &'static str {
        match self {
            Self::Semicolon => ";",
            Self::And => "&&",
            Self::Or => "||",
            Self::Pipe => "|",
            Self::PipeBoth => "|&",
            Self::Open => "(",
            Self::Close => ")",
        }
    }
}

/// The end of a here-document, as its begin says it.
pub struct Delimiter {
    pub at: usize,
    pub text: String,
    pub is_quoted: bool,
    pub strips_tabs: bool,
}

impl Delimiter {
    pub fn is_plain(&self) -> bool {
        !self.text.is_empty() && self.text.chars().all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c))
    }
}

/// Reads the lines up to the delimiter, and moves past it.
pub fn document(cursor: &mut Cursor<'_>, delimiter: &Delimiter) -> Result<String, Unreadable> {
    let mut text = String::new();
    loop {
        let at = cursor.at();
        let unclosed = || Unreadable { at: delimiter.at, reason: Reason::DocumentUnclosed(delimiter.text.clone()) };
        let line = cursor.line().ok_or_else(unclosed)?;
        let line = if delimiter.strips_tabs { line.trim_start_matches('\t') } else { line };
        if line == delimiter.text {
            return Ok(text);
        }
        if let Some(found) = line.find(['$', '`', '\\']).filter(|_| !delimiter.is_quoted) {
            return Err(Unreadable { at: at + found, reason: Reason::DocumentExpands(delimiter.text.clone()) });
        }
        text.push_str(line);
        text.push('\n');
    }
}

pub struct Tokens<'a> {
    cursor: Cursor<'a>,
    dialect: Dialect,
    peeked: Option<Token>,
    /// A byte offset, and how many line breaks are in front of it.
    counted: (usize, usize),
    /// Here-documents whose texts follow the next line break.
    waiting: Vec<Delimiter>,
    /// Their texts, in the order in which they were announced.
    pub documents: Vec<String>,
}

impl<'a> Tokens<'a> {
    pub fn new(text: &'a str, dialect: Dialect) -> Self {
        Self {
            cursor: Cursor::new(text),
            dialect,
            peeked: None,
            counted: (0, 0),
            waiting: Vec::new(),
            documents: Vec::new(),
        }
    }

    /// Announces a here-document, and returns its place in [`documents`](Self::documents).
    pub fn announce(&mut self, delimiter: Delimiter) -> usize {
        self.waiting.push(delimiter);
        self.documents.len() + self.waiting.len() - 1
    }

    /// Refuses what only bash reads, where a text is for another shell.
    pub fn only_bash(&self, at: usize, what: &'static str) -> Result<(), Unreadable> {
        match self.dialect {
            Dialect::Bash => Ok(()),
            Dialect::Posix => Err(Unreadable { at, reason: Reason::OnlyBash(what) }),
            Dialect::Common => Err(Unreadable { at, reason: Reason::NotCommon(format!("`{what}`")) }),
        }
    }

    /// Whether this character follows directly on what was read.
    pub fn is_next(&mut self, character: char) -> bool {
        self.peeked.is_none() && self.cursor.peek() == Some(character)
    }

    /// The number of the line, from 1, that has been read up to now. A line break that was only peeked at is not counted; the
    /// here-documents after it are, as in bash.
    pub fn line_number(&mut self) -> usize {
        let (at, breaks) = self.counted;
        self.counted = (self.cursor.at(), breaks + self.cursor.breaks_since(at));
        let is_break = matches!(&self.peeked, Some(Token { kind: Kind::Newline, .. }));
        self.counted.1 + 1 - usize::from(is_break)
    }

    pub fn peek(&mut self) -> Result<&Token, Unreadable> {
        let token = self.next()?;
        Ok(self.peeked.insert(token))
    }

    pub fn next(&mut self) -> Result<Token, Unreadable> {
        match self.peeked.take() {
            Some(token) => Ok(token),
            None => self.read(),
        }
    }

    fn read(&mut self) -> Result<Token, Unreadable> {
        while self.cursor.eat(' ') || self.cursor.eat('\t') {}
        let next = self.cursor.peek();
        let at = self.cursor.at();
        if let Some(what) = uncommon(self.cursor.rest()).filter(|_| self.dialect == Dialect::Common) {
            return Err(Unreadable { at, reason: Reason::NotCommon(format!("`{what}`")) });
        }
        if next == Some('#') {
            self.comment()?;
        }
        let next = self.cursor.peek();
        let at = self.cursor.at();
        let kind = match next {
            None => {
                if let Some(Delimiter { at, text, .. }) = self.waiting.pop() {
                    return Err(Unreadable { at, reason: Reason::DocumentUnclosed(text) });
                }
                Kind::End
            }
            Some('\n') => {
                self.cursor.next();
                for delimiter in self.waiting.drain(..) {
                    self.documents.push(document(&mut self.cursor, &delimiter)?);
                }
                Kind::Newline
            }
            Some(';' | '&' | '|' | '(' | ')') => {
                let read = self.operator().map_err(|text| Unreadable { at, reason: Reason::Operator(text) })?;
                match read {
                    Kind::Operator(Operator::PipeBoth) => self.only_bash(at, "|&")?,
                    Kind::Arrow(_) => self.only_bash(at, "&>")?,
                    _ => {}
                }
                read
            }
            Some('<' | '>') => {
                let arrow = self.arrow().map_err(|text| Unreadable { at, reason: Reason::Operator(text) })?;
                if arrow == Arrow::HereString {
                    self.only_bash(at, "<<<")?;
                }
                Kind::Arrow(arrow)
            }
            Some(_) => self.word(at)?,
        };
        Ok(Token { at, kind })
    }

    /// Moves up to the line break.
    fn comment(&mut self) -> Result<(), Unreadable> {
        let at = self.cursor.at();
        let text = self.cursor.rest().split('\n').next().unwrap_or_default();
        for (offset, character) in text.char_indices() {
            check_character(character, at + offset)?;
        }
        self.cursor.skip(text.len());
        Ok(())
    }

    fn word(&mut self, at: usize) -> Result<Kind, Unreadable> {
        let quotes = Quotes { documents: self.waiting.is_empty(), dialect: self.dialect };
        let atoms = atoms(&mut self.cursor, quotes)?;
        if !matches!(self.cursor.peek(), Some('<' | '>')) {
            return Ok(Kind::Word(atoms));
        }
        let bare: Option<String> = atoms.iter().map(bare).collect();
        match bare {
            Some(text) if text.chars().all(|c| c.is_ascii_digit()) => Ok(Kind::Number(text)),
            Some(text) if names_descriptor(&text) => Err(Unreadable { at, reason: Reason::Descriptor(text) }),
            Some(_) | None => Ok(Kind::Word(atoms)),
        }
    }

    /// Reads the longest operator, of all that bash has. The error is one that is refused.
    fn operator(&mut self) -> Result<Kind, &'static str> {
        let cursor = &mut self.cursor;
        let operator = match cursor.next() {
            Some(';') if cursor.eat(';') => return Err(if cursor.eat('&') { ";;&" } else { ";;" }),
            Some(';') if cursor.eat('&') => return Err(";&"),
            Some(';') => Operator::Semicolon,
            Some('&') if cursor.eat('&') => Operator::And,
            Some('&') if cursor.eat('>') => {
                return if cursor.eat('>') { Err("&>>") } else { Ok(Kind::Arrow(Arrow::WriteBoth)) };
            }
            Some('&') => return Err("&"),
            Some('|') if cursor.eat('|') => Operator::Or,
            Some('|') if cursor.eat('&') => Operator::PipeBoth,
            Some('|') => Operator::Pipe,
            Some('(') if cursor.eat('(') => return Err("(("),
            Some('(') => Operator::Open,
            _ if cursor.eat(')') => return Err("))"),
            _ => Operator::Close,
        };
        Ok(Kind::Operator(operator))
    }

    /// The same for what begins with `<` or `>`.
    fn arrow(&mut self) -> Result<Arrow, &'static str> {
        let cursor = &mut self.cursor;
        if cursor.next() == Some('<') {
            if cursor.eat('<') {
                return Ok(if cursor.eat('<') {
                    Arrow::HereString
                } else {
                    Arrow::Document { strips_tabs: cursor.eat('-') }
                });
            }
            let refused = [('>', "<>"), ('&', "<&"), ('(', "<(")];
            return refused
                .into_iter()
                .find(|(next, _)| cursor.eat(*next))
                .map_or(Ok(Arrow::Read), |(_, text)| Err(text));
        }
        if cursor.eat('(') {
            return Err(">(");
        }
        let others = [('>', Arrow::Append), ('&', Arrow::Duplicate), ('|', Arrow::Write)];
        Ok(others.into_iter().find(|(next, _)| cursor.eat(*next)).map_or(Arrow::Write, |(_, arrow)| arrow))
    }
}

/// The begin of a token that bash, dash, zsh and fish don't all read alike: also `<1-9>`, a pattern in zsh, and `>|`, a pipe in fish.
fn uncommon(rest: &str) -> Option<&'static str> {
    let is_pattern = |after: &str| after.starts_with(|c: char| c.is_ascii_digit() || c == '-');
    let pattern = rest.strip_prefix('<').is_some_and(is_pattern).then_some("<");
    pattern.or(["#", "<<", ">|"].into_iter().find(|begin| rest.starts_with(begin)))
}

/// The character, if the atom is one outside quotes.
pub fn bare(atom: &Atom) -> Option<char> {
    match atom {
        Atom::Bare(character) => Some(*character),
        Atom::Quoted(_) | Atom::Variable { .. } => None,
    }
}

/// Whether bash would take this, directly before a redirection, for the variable that gets a descriptor.
fn names_descriptor(text: &str) -> bool {
    let inner = text.strip_prefix('{').and_then(|inner| inner.strip_suffix('}'));
    let name = inner.map(|inner| inner.split('[').next().unwrap_or_default());
    name.is_some_and(|name| name.starts_with(is_name_start) && name.chars().all(is_name_part))
}
