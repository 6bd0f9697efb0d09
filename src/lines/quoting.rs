//! The atoms of a word: what quotes, escapes and `$` make of its characters.

use super::Dialect;
use super::bounds::MOST_WORD_BYTES;
use super::cursor::Cursor;
use super::tokens::{Delimiter, document};
use super::unreadable::{Reason, Unreadable};

/// A piece of a word as it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Atom {
    /// A character outside quotes, which may mean more than itself.
    Bare(char),
    /// Text that means only itself; empty for `''`.
    Quoted(Box<str>),
    /// A variable.
    Variable {
        name: Box<str>,
        quoted: bool,
        /// Written `${NAME}`: what follows can't become part of its name.
        braced: bool,
    },
}

/// Characters that end a word.
pub const OPERATORS: &[char] = &['<', '>', '|', '&', ';', '(', ')'];

/// Quotes that are not read everywhere.
#[derive(Clone, Copy)]
pub struct Quotes {
    /// `"$(cat <<'EOF' …)"`. Not while the text of a here-document is expected after this line.
    pub documents: bool,
    /// `$'…'` is only bash's.
    pub dialect: Dialect,
}

/// Reads one word; empty if none begins here.
pub fn atoms(cursor: &mut Cursor<'_>, quotes: Quotes) -> Result<Vec<Atom>, Unreadable> {
    let begin = cursor.at();
    let mut atoms = Vec::new();
    while let Some(character) = cursor.peek() {
        let at = cursor.at();
        if at - begin > MOST_WORD_BYTES {
            return Err(Unreadable { at: begin, reason: Reason::LongWord });
        }
        match character {
            ' ' | '\t' | '\n' => break,
            _ if OPERATORS.contains(&character) => break,
            _ if quotes.dialect == Dialect::Common && !is_common(cursor.rest(), atoms.last()) => {
                return Err(Unreadable { at, reason: Reason::NotCommon(format!("`{character}` here")) });
            }
            '\'' => {
                cursor.next();
                let Some((text, _)) = cursor.rest().split_once('\'') else {
                    return Err(Unreadable { at, reason: Reason::Unclosed("'") });
                };
                cursor.skip(text.len() + 1);
                atoms.push(Atom::Quoted(text.into()));
            }
            '"' => {
                cursor.next();
                double_quoted(cursor, at, quotes, &mut atoms)?;
            }
            '\\' => {
                cursor.next();
                // Never a line break: the cursor has joined those.
                let escaped = cursor.next_raw().ok_or(Unreadable { at, reason: Reason::Unclosed("\\") })?;
                check_character(escaped, at)?;
                atoms.push(Atom::Quoted(escaped.to_string().into()));
            }
            '`' => return Err(Unreadable { at, reason: Reason::Substitution("`") }),
            '$' => {
                cursor.next();
                if cursor.peek() == Some('\'') && quotes.dialect != Dialect::Bash {
                    return Err(Unreadable { at, reason: Reason::OnlyBash("$'") });
                }
                atoms.push(dollar(cursor, at, false)?);
            }
            _ => {
                check_character(character, at)?;
                cursor.next();
                atoms.push(Atom::Bare(character));
            }
        }
    }
    if cursor.at() - begin > MOST_WORD_BYTES {
        return Err(Unreadable { at: begin, reason: Reason::LongWord });
    }
    Ok(atoms)
}

/// Whether bash, dash, zsh and fish take what is next in a word for the same text, after this atom of the word.
fn is_common(rest: &str, before: Option<&Atom>) -> bool {
    let mut characters = rest.chars();
    let next = characters.next();
    let quoted = |quote| characters.as_str().split(quote).next().unwrap_or_default();
    let after_quotes = matches!(before, Some(Atom::Quoted(_)));
    match next {
        // Two quoted parts side by side are one with a quote in it under zsh's RC_QUOTES. fish reads two escapes.
        Some('\'') => !after_quotes && !quoted('\'').contains("\\\\") && !quoted('\'').ends_with('\\'),
        Some('"') => !after_quotes && !quoted('"').contains(['$', '`', '\\', '!']),
        // zsh replaces a first `=NAME` by a path; shells with jobs read a first `%`.
        Some('=' | '%') => matches!(before, Some(Atom::Bare(_))),
        Some(plain) => plain.is_ascii_alphanumeric() || "_-./:,+@*?".contains(plain),
        None => true,
    }
}

/// Refuses what can't be seen, outside quotes.
pub fn check_character(character: char, at: usize) -> Result<(), Unreadable> {
    match character {
        '\t' | '\n' => Ok(()),
        '\r' => Err(Unreadable { at, reason: Reason::CarriageReturn }),
        _ if character.is_control() => Err(Unreadable { at, reason: Reason::Control(character) }),
        _ => Ok(()),
    }
}

/// Reads on after a `"` at `begin`, up to the one that closes it.
fn double_quoted(
    cursor: &mut Cursor<'_>,
    begin: usize,
    quotes: Quotes,
    atoms: &mut Vec<Atom>,
) -> Result<(), Unreadable> {
    let mut text = String::new();
    let mut is_empty = true;
    loop {
        cursor.peek();
        let at = cursor.at();
        match cursor.next().ok_or(Unreadable { at: begin, reason: Reason::Unclosed("\"") })? {
            '"' => break,
            '`' => return Err(Unreadable { at, reason: Reason::Substitution("`") }),
            '\\' => match cursor.next_raw() {
                Some(escaped @ ('$' | '`' | '"' | '\\')) => text.push(escaped),
                Some(other) => text.extend(['\\', other]),
                None => return Err(Unreadable { at: begin, reason: Reason::Unclosed("\"") }),
            },
            '$' if cursor.peek() == Some('(') => text.push_str(&document_in_quotes(cursor, at, quotes)?),
            '$' => match dollar(cursor, at, true)? {
                Atom::Quoted(literal) => text.push_str(&literal),
                atom => {
                    if !text.is_empty() {
                        atoms.push(Atom::Quoted(std::mem::take(&mut text).into()));
                    }
                    is_empty = false;
                    atoms.push(atom);
                }
            },
            other => text.push(other),
        }
    }
    if is_empty || !text.is_empty() {
        atoms.push(Atom::Quoted(text.into()));
    }
    Ok(())
}

/// Reads on after a `$` at `at`.
fn dollar(cursor: &mut Cursor<'_>, at: usize, quoted: bool) -> Result<Atom, Unreadable> {
    let refuse = |reason| Err(Unreadable { at, reason });
    let literal = || Ok(Atom::Quoted("$".into()));
    let Some(next) = cursor.peek() else { return literal() };
    match next {
        '(' => {
            cursor.next();
            refuse(Reason::Substitution(if cursor.peek() == Some('(') { "$((" } else { "$(" }))
        }
        ' ' | '\t' | '\n' => literal(),
        _ if OPERATORS.contains(&next) => literal(),
        '"' if quoted => literal(),
        '\'' if !quoted => {
            cursor.next();
            ansi_c(cursor, at)
        }
        '{' => {
            cursor.next();
            let name = name(cursor);
            if name.is_empty() || !cursor.eat('}') {
                return refuse(Reason::Parameter);
            }
            variable(name, at, quoted, true)
        }
        _ if is_name_start(next) => {
            let name = name(cursor);
            if let Some(after @ ('[' | ':' | '{')) = cursor.peek() {
                return refuse(Reason::AfterVariable { name, after });
            }
            variable(name, at, quoted, false)
        }
        _ => refuse(Reason::Dollar(next)),
    }
}

fn name(cursor: &mut Cursor<'_>) -> String {
    let mut name = String::new();
    while let Some(next) =
        cursor.peek().filter(|next| is_name_part(*next) && (!name.is_empty() || is_name_start(*next)))
    {
        cursor.next();
        name.push(next);
    }
    name
}

/// Whether a name of a variable can begin with it.
pub fn is_name_start(character: char) -> bool {
    character.is_ascii_alphabetic() || character == '_'
}

/// Whether it can be within the name of a variable.
pub fn is_name_part(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '_'
}

/// Variables that a shell makes itself: no value that the server could give would be theirs.
const OF_SHELLS: &[&str] = &[
    "COPROC",
    "DIRSTACK",
    "EPOCHREALTIME",
    "EPOCHSECONDS",
    "EUID",
    "FUNCNAME",
    "GROUPS",
    "HISTCMD",
    "HOSTNAME",
    "HOSTTYPE",
    "IFS",
    "LINENO",
    "MACHTYPE",
    "MAPFILE",
    "OLDPWD",
    "OPTARG",
    "OPTERR",
    "OPTIND",
    "OSTYPE",
    "PIPESTATUS",
    "PPID",
    "PS1",
    "PS2",
    "PS3",
    "PS4",
    "RANDOM",
    "READLINE_LINE",
    "REPLY",
    "SECONDS",
    "SHELLOPTS",
    "SHLVL",
    "SRANDOM",
    "UID",
    "_",
];

fn variable(name: String, at: usize, quoted: bool, braced: bool) -> Result<Atom, Unreadable> {
    if OF_SHELLS.contains(&name.as_str()) || name.starts_with("BASH") || name.starts_with("COMP_") {
        return Err(Unreadable { at, reason: Reason::VariableOfShell(name) });
    }
    Ok(Atom::Variable { name: name.into(), quoted, braced })
}

/// Reads on after `$'`.
fn ansi_c(cursor: &mut Cursor<'_>, begin: usize) -> Result<Atom, Unreadable> {
    let mut text = String::new();
    loop {
        let at = cursor.at();
        match cursor.next_raw().ok_or(Unreadable { at: begin, reason: Reason::Unclosed("$'") })? {
            '\'' => return Ok(Atom::Quoted(text.into())),
            '\\' => text.push(escaped(cursor).ok_or(Unreadable { at, reason: Reason::Escape })?),
            other => text.push(other),
        }
    }
}

/// The character that an escape within `$'…'` stands for, after its backslash.
fn escaped(cursor: &mut Cursor<'_>) -> Option<char> {
    let digits = |cursor: &mut Cursor<'_>, radix: u32, most: usize| {
        let digits: String = cursor.rest().chars().take(most).take_while(|c| c.is_digit(radix)).collect();
        cursor.skip(digits.len());
        u8::from_str_radix(&digits, radix).ok().filter(|byte| (1..=0x7F).contains(byte)).map(char::from)
    };
    if cursor.rest().starts_with(|c: char| c.is_digit(8)) {
        return digits(cursor, 8, 3);
    }
    match cursor.next_raw()? {
        'a' => Some('\x07'),
        'b' => Some('\x08'),
        'e' => Some('\x1B'),
        'f' => Some('\x0C'),
        'n' => Some('\n'),
        'r' => Some('\r'),
        't' => Some('\t'),
        'v' => Some('\x0B'),
        'x' => digits(cursor, 16, 2),
        same @ ('\\' | '\'' | '"') => Some(same),
        _ => None,
    }
}

/// Reads on after a `$` before `(` within double quotes: the form in which agents write messages of several lines,
/// `$(cat <<'EOF'` with the text and `)`. Nothing else of `$(…)` is read.
fn document_in_quotes(cursor: &mut Cursor<'_>, at: usize, quotes: Quotes) -> Result<String, Unreadable> {
    let refused = || Unreadable { at, reason: Reason::Substitution("$(") };
    let rest = cursor.rest();
    let blank = |c| c == ' ' || c == '\t';
    let inner = rest.strip_prefix('(').map(|inner| inner.trim_start_matches(blank)).and_then(|i| i.strip_prefix("cat"));
    let inner = inner.filter(|inner| inner.starts_with(blank)).map(|inner| inner.trim_start_matches(blank));
    let inner = inner.and_then(|inner| inner.strip_prefix("<<")).ok_or_else(refused)?;
    let (strips_tabs, inner) = inner.strip_prefix('-').map_or((false, inner), |inner| (true, inner));
    let (first, _) = inner.split_once('\n').ok_or_else(refused)?;
    let delimiter = first.trim_matches(blank);
    let quoted = ["'", "\""].iter().find_map(|quote| delimiter.strip_prefix(quote)?.strip_suffix(quote));
    let delimiter =
        Delimiter { at, text: quoted.unwrap_or(delimiter).to_owned(), is_quoted: quoted.is_some(), strips_tabs };
    if !delimiter.is_plain() || !quotes.documents {
        return Err(refused());
    }
    cursor.skip(rest.len() - inner.len() + first.len() + 1);
    let text = document(cursor, &delimiter)?;
    // In `$(…)` bash ends the text there, if a `)` follows, and reads the rest of that line.
    if text.lines().any(|line| line.starts_with(&delimiter.text)) {
        return Err(Unreadable { at, reason: Reason::DocumentMayEnd(delimiter.text) });
    }
    let after = cursor.rest();
    let closed = after.trim_start_matches([' ', '\t', '\n']).strip_prefix(')').ok_or_else(refused)?;
    cursor.skip(after.len() - closed.len());
    Ok(text.trim_end_matches('\n').to_owned())
}
