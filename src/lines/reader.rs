//! The grammar of [`lines`](super), one function a rule.

use super::Dialect;
use super::bounds::{self, MOST_COMMANDS, MOST_LEVELS};
use super::braces::{self, Budget};
use super::builtin;
use super::quoting::Atom;
use super::tokens::{Arrow, Delimiter, Kind, Operator, Token, Tokens, bare};
use super::tree::{
    AndOr, Assignment, Command, Connector, Group, Line, Mode, Pipeline, Redirection, Simple, Stage, Stream,
};
use super::unreadable::{Reason, Unreadable};
use super::word::{Value, Word, split_name};
use crate::text::is_never_set;

type Result<T> = std::result::Result<T, Unreadable>;

/// Words that begin something else than a command, where they are written without quotes.
pub(super) const RESERVED: &[&str] = &[
    "!", "{", "}", "[[", "]]", "if", "then", "elif", "else", "fi", "for", "while", "until", "do", "done", "case",
    "esac", "select", "function", "time", "coproc",
];

/// Reads a text.
pub(super) fn read(text: &str, dialect: Dialect) -> Result<Line> {
    if let Some(at) = text.find('\0') {
        return Err(Unreadable { at, reason: Reason::Nul });
    }
    // Shells join lines in different places, and a terminal acts on control characters.
    let uncommon = text.find("\\\n").or_else(|| text.find(|c: char| c.is_control() && c != '\n'));
    if let Some(at) = uncommon.filter(|_| dialect == Dialect::Common) {
        let what = "control characters, and a backslash in front of a line break,".to_owned();
        return Err(Unreadable { at, reason: Reason::NotCommon(what) });
    }
    let tokens = Tokens::new(text, dialect);
    let mut reader = Reader { tokens, budget: Budget::new(), commands: 0, levels: 0 };
    let mut line = reader.line()?;
    let end = reader.tokens.next()?;
    if !matches!(end.kind, Kind::End) {
        return Err(misplaced(&end));
    }
    place_documents(&mut line, &mut reader.tokens.documents);
    bounds::check(&line).map_err(|reason| Unreadable { at: 0, reason })?;
    line.number();
    Ok(line)
}

fn misplaced(token: &Token) -> Unreadable {
    let reason = match &token.kind {
        Kind::End => Reason::MissingCommand("the end"),
        Kind::Newline => Reason::MissingCommand("a line break"),
        Kind::Operator(operator @ (Operator::Open | Operator::Close)) => Reason::Parenthesis(operator.text()),
        Kind::Operator(operator) => Reason::MissingCommand(operator.text()),
        Kind::Word(_) | Kind::Number(_) | Kind::Arrow(_) => Reason::AfterGroup,
    };
    Unreadable { at: token.at, reason }
}

/// Puts the texts of here-documents in their places. They were read after the rest of their line.
fn place_documents(line: &mut Line, documents: &mut [String]) {
    for stage in line.pipelines_mut().flat_map(|pipeline| &mut pipeline.stages) {
        let redirections = match &mut stage.command {
            Command::Simple(simple) => &mut simple.redirections,
            Command::Group(group) => {
                place_documents(&mut group.line, documents);
                &mut group.redirections
            }
        };
        for redirection in redirections {
            if let Redirection::Document(place) = redirection {
                *place = place
                    .parse()
                    .ok()
                    .and_then(|at: usize| documents.get_mut(at))
                    .map(std::mem::take)
                    .unwrap_or_default();
            }
        }
    }
}

struct Reader<'a> {
    tokens: Tokens<'a>,
    budget: Budget,
    commands: usize,
    levels: usize,
}

impl Reader<'_> {
    /// Reads up to the end or a `)`.
    fn line(&mut self) -> Result<Line> {
        let mut lists = Vec::new();
        loop {
            self.newlines()?;
            if !lists.is_empty() && matches!(self.tokens.peek()?.kind, Kind::End | Kind::Operator(Operator::Close)) {
                return Ok(Line { lists });
            }
            if lists.is_empty() && matches!(self.tokens.peek()?.kind, Kind::End) && self.levels == 0 {
                return Err(Unreadable { at: 0, reason: Reason::Empty });
            }
            lists.push(self.and_or()?);
            match self.tokens.peek()?.kind {
                Kind::Operator(Operator::Semicolon) | Kind::Newline => drop(self.tokens.next()?),
                _ => return Ok(Line { lists }),
            }
        }
    }

    fn newlines(&mut self) -> Result<()> {
        while matches!(self.tokens.peek()?.kind, Kind::Newline) {
            self.tokens.next()?;
        }
        Ok(())
    }

    fn and_or(&mut self) -> Result<AndOr> {
        let first = self.pipeline()?;
        let mut rest = Vec::new();
        loop {
            let connector = match self.tokens.peek()?.kind {
                Kind::Operator(Operator::And) => Connector::And,
                Kind::Operator(Operator::Or) => Connector::Or,
                _ => return Ok(AndOr { first, rest }),
            };
            self.tokens.next()?;
            self.newlines()?;
            rest.push((connector, self.pipeline()?));
        }
    }

    fn pipeline(&mut self) -> Result<Pipeline> {
        let negated = matches!(&self.tokens.peek()?.kind, Kind::Word(atoms) if is_bare(atoms, "!"));
        if negated {
            let at = self.tokens.next()?.at;
            if self.tokens.is_next('(') {
                return Err(Unreadable { at, reason: Reason::Operator("!(") });
            }
        }
        let mut stages = Vec::new();
        loop {
            let command = self.command()?;
            let pipe = match self.tokens.peek()?.kind {
                Kind::Operator(operator @ (Operator::Pipe | Operator::PipeBoth)) => Some(operator),
                _ => None,
            };
            stages.push(Stage { place: 0, command, pipes_stderr: pipe == Some(Operator::PipeBoth) });
            if pipe.is_none() {
                break;
            }
            self.tokens.next()?;
            self.newlines()?;
        }
        if let [_, _, ..] = stages.as_slice() {
            for simple in stages.iter().filter_map(|stage| stage.command.simple()) {
                builtin::check_stage(simple)?;
            }
        }
        Ok(Pipeline { negated, stages })
    }

    fn command(&mut self) -> Result<Command> {
        let token = self.tokens.peek()?;
        match token.kind {
            Kind::Operator(Operator::Open) => self.group().map(Command::Group),
            Kind::Word(_) | Kind::Number(_) | Kind::Arrow(_) => self.simple().map(Command::Simple),
            Kind::Operator(_) | Kind::Newline | Kind::End => Err(misplaced(token)),
        }
    }

    fn group(&mut self) -> Result<Group> {
        let open = self.tokens.next()?;
        self.levels += 1;
        if self.levels > MOST_LEVELS {
            return Err(Unreadable { at: open.at, reason: Reason::TooManyLevels });
        }
        let line = self.line()?;
        let close = self.tokens.next()?;
        match close.kind {
            Kind::Operator(Operator::Close) => {}
            Kind::End => return Err(Unreadable { at: open.at, reason: Reason::Unclosed("(") }),
            _ => return Err(misplaced(&close)),
        }
        self.levels -= 1;
        let line_number = self.tokens.line_number();
        let mut redirections = Vec::new();
        while let Some(redirection) = self.redirection()? {
            redirections.push(redirection);
        }
        match self.tokens.peek()? {
            Token { at, kind: Kind::Word(_) } => Err(Unreadable { at: *at, reason: Reason::AfterGroup }),
            _ => Ok(Group { shell: None, line, line_number, redirections }),
        }
    }

    fn simple(&mut self) -> Result<Simple> {
        let at = self.tokens.peek()?.at;
        self.commands += 1;
        if self.commands > MOST_COMMANDS {
            return Err(Unreadable { at, reason: Reason::TooManyCommands });
        }
        let mut simple = Simple {
            number: 0,
            at,
            line_number: 0,
            assignments: Vec::new(),
            words: Vec::new(),
            redirections: Vec::new(),
        };
        while let Some(redirection) = self.redirection()? {
            simple.redirections.push(redirection);
            self.number_line(&mut simple);
        }
        while let Some((name, value, at)) = self.assignment()? {
            self.take_word(at)?;
            simple.assignments.push(Assignment { name, value });
            self.number_line(&mut simple);
        }
        let first = self.tokens.peek()?;
        match &first.kind {
            Kind::Word(atoms) => refuse_begin(atoms).map_err(|reason| Unreadable { at: first.at, reason })?,
            _ if !simple.assignments.is_empty() => return Err(Unreadable { at, reason: Reason::OnlyAssignments }),
            _ => return Ok(simple),
        }
        loop {
            if let Some(redirection) = self.redirection()? {
                simple.redirections.push(redirection);
                continue;
            }
            if !matches!(self.tokens.peek()?.kind, Kind::Word(_)) {
                break;
            }
            let token = self.tokens.next()?;
            if let Kind::Word(atoms) = token.kind {
                self.words(token.at, atoms, &mut simple.words)?;
            }
            // bash reads one more token, as `(` after the word would make it a function.
            self.tokens.peek()?;
            self.number_line(&mut simple);
        }
        // Braces can make no word at all.
        if simple.words.first().is_none_or(|word| word.parts.is_empty()) {
            return Err(Unreadable { at, reason: Reason::NoName });
        }
        builtin::check(&simple)?;
        Ok(simple)
    }

    /// Gives a command the number of the line that was reached, if it has none yet.
    fn number_line(&mut self, simple: &mut Simple) {
        if simple.line_number == 0 {
            simple.line_number = self.tokens.line_number();
        }
    }

    /// Reads `NAME=value`, if it is next.
    fn assignment(&mut self) -> Result<Option<(String, Value, usize)>> {
        let token = self.tokens.peek()?;
        let (at, Kind::Word(atoms)) = (token.at, &token.kind) else { return Ok(None) };
        let Some((name, rest)) = split_name(atoms) else { return Ok(None) };
        let refuse = |reason| Err(Unreadable { at, reason });
        let value = match rest {
            [Atom::Bare('='), value @ ..] => value,
            [Atom::Bare('['), ..] => return refuse(Reason::Subscript(name)),
            [Atom::Bare('+'), Atom::Bare('='), ..] => return refuse(Reason::Append(name)),
            _ => return Ok(None),
        };
        if is_never_set(&name) {
            return refuse(Reason::NeverSet(name));
        }
        let value = Value::new(value).map_err(|reason| Unreadable { at, reason })?;
        self.tokens.next()?;
        Ok(Some((name, value, at)))
    }

    fn words(&mut self, at: usize, atoms: Vec<Atom>, words: &mut Vec<Word>) -> Result<()> {
        let refused = |reason| Unreadable { at, reason };
        if braces::has_expansion(&atoms).map_err(refused)? {
            self.tokens.only_bash(at, "{…}")?;
        }
        let tokens = &self.tokens;
        let only_bash = |what| tokens.only_bash(at, what).map_err(|unreadable| unreadable.reason);
        for atoms in braces::expand(atoms, &mut self.budget).map_err(refused)? {
            words.push(Word::new(&atoms, only_bash).map_err(refused)?);
        }
        Ok(())
    }

    /// Counts one more word, which no braces can multiply.
    fn take_word(&mut self, at: usize) -> Result<()> {
        self.budget.words = self.budget.words.checked_sub(1).ok_or(Unreadable { at, reason: Reason::TooManyWords })?;
        Ok(())
    }

    /// Reads a redirection, if it is next.
    fn redirection(&mut self) -> Result<Option<Redirection>> {
        let number = match &self.tokens.peek()?.kind {
            Kind::Number(number) => Some(number.clone()),
            _ => None,
        };
        let at = self.tokens.peek()?.at;
        if number.is_some() {
            self.tokens.next()?;
        }
        let Kind::Arrow(arrow) = self.tokens.peek()?.kind else { return Ok(None) };
        self.tokens.next()?;
        self.take_word(at)?;
        let target = self.tokens.next()?;
        let Kind::Word(atoms) = target.kind else {
            return match target.kind {
                // `>&2>file`: bash reads these digits as the descriptor.
                Kind::Number(digits) if arrow == Arrow::Duplicate => {
                    duplicate(number.as_deref(), &digits, at).map(Some)
                }
                _ => Err(Unreadable { at, reason: Reason::MissingTarget }),
            };
        };
        let refused = |reason| Unreadable { at: target.at, reason };
        let text = |atoms: &[Atom]| atoms.iter().map(bare).collect::<Option<String>>();
        let write = |stream, mode| Ok(Redirection::Write { stream, mode, target: file(&atoms).map_err(refused)? });
        let redirection = match (arrow, number.as_deref()) {
            (Arrow::Read, None | Some("0")) => Redirection::Read(file(&atoms).map_err(refused)?),
            (Arrow::Write, None | Some("1")) => write(Stream::Stdout, Mode::Replace)?,
            (Arrow::Write, Some("2")) => write(Stream::Stderr, Mode::Replace)?,
            (Arrow::Append, None | Some("1")) => write(Stream::Stdout, Mode::Append)?,
            (Arrow::Append, Some("2")) => write(Stream::Stderr, Mode::Append)?,
            (Arrow::WriteBoth, None) => write(Stream::Both, Mode::Replace)?,
            (Arrow::HereString, None) => Redirection::HereString(Value::new(&atoms).map_err(refused)?),
            (Arrow::Document { strips_tabs }, None) => {
                let delimiter = delimiter(&atoms, target.at, strips_tabs)?;
                // The place of its text, until all texts are read.
                Redirection::Document(self.tokens.announce(delimiter).to_string())
            }
            (Arrow::Duplicate, number) => {
                let text = text(&atoms).ok_or(Unreadable { at, reason: Reason::Duplicate })?;
                duplicate(number, &text, at)?
            }
            (_, Some(number)) => {
                return Err(Unreadable { at, reason: Reason::Descriptor(number.to_owned()) });
            }
        };
        Ok(Some(redirection))
    }
}

fn duplicate(number: Option<&str>, target: &str, at: usize) -> Result<Redirection> {
    match (number, target) {
        (Some("2"), "1") => Ok(Redirection::StderrToStdout),
        (None | Some("1"), "2") => Ok(Redirection::StdoutToStderr),
        _ => Err(Unreadable { at, reason: Reason::Duplicate }),
    }
}

/// The file of a redirection: no braces and no patterns, so that it is one file whatever exists.
fn file(atoms: &[Atom]) -> std::result::Result<Value, Reason> {
    if braces::has_expansion(atoms)? {
        return Err(Reason::ExpandingTarget("braces"));
    }
    let word = Word::new(atoms, |_| Ok(()))?;
    if word.parts.iter().any(|part| matches!(part, super::Part::Pattern(_))) {
        return Err(Reason::ExpandingTarget("a pattern"));
    }
    Value::new(atoms)
}

/// A delimiter is quoted as a whole or not at all.
fn delimiter(atoms: &[Atom], at: usize, strips_tabs: bool) -> Result<Delimiter> {
    let (text, is_quoted) = match atoms {
        [Atom::Quoted(text)] => (Some(text.to_string()), true),
        _ => (atoms.iter().map(bare).collect(), false),
    };
    let delimiter = Delimiter { at, text: text.unwrap_or_default(), is_quoted, strips_tabs };
    if delimiter.is_plain() { Ok(delimiter) } else { Err(Unreadable { at, reason: Reason::Delimiter }) }
}

fn is_bare(atoms: &[Atom], text: &str) -> bool {
    atoms.len() == text.len() && atoms.iter().map(bare).eq(text.chars().map(Some))
}

fn refuse_begin(atoms: &[Atom]) -> std::result::Result<(), Reason> {
    match RESERVED.iter().find(|reserved| is_bare(atoms, reserved)) {
        Some(reserved) => Err(Reason::Reserved(reserved)),
        None => Ok(()),
    }
}
