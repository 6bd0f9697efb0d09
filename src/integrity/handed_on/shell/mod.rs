//! Reads a shell script command by command, and follows what its words stand for. Branches are all taken, loops once.
//!
//! - `command`: what a command does with its words
//! - `expansion`: what words stand for

mod command;
mod expansion;

use std::cell::Cell;
use std::collections::HashMap;
use std::rc::Rc;

use super::words::{Piece, Token, Word, tokens};
use super::{Lookup, UNKNOWN, Value};

/// How deep functions, `eval` and `sh -c` are followed.
const DEEPEST: usize = 8;

/// The most values of one variable that are tried.
const MOST_VALUES: usize = 8;

/// The most words and characters that are looked at in all, since functions call each other, and texts double.
const MOST_STEPS: usize = 500_000;

/// How long a word becomes, in bytes. What follows is not known.
const LONGEST_WORD: usize = 4_096;

/// How many words a variable or the arguments become.
const MOST_WORDS: usize = 64;

/// Finds the known program that gets the arguments of a script for the shell `shell`.
pub(super) fn program(script: &str, shell: &str, known: &Lookup<'_>) -> Option<String> {
    let mut reader = Reader::new(shell, known);
    reader.run_text(script, 0)
}

/// The values that a variable may have, each as the words that it expands to.
type Values = Vec<Vec<Value>>;

struct Reader<'k> {
    shell: &'k str,
    known: &'k Lookup<'k>,
    variables: HashMap<String, Values>,
    arguments: Values,
    /// The value of `$0`.
    own: Value,
    functions: HashMap<String, Rc<[Token]>>,
    /// How much may still be looked at.
    left: Cell<usize>,
    /// How many substitutions are around the word that is read.
    around: Cell<usize>,
}

/// A part of a script that ends with a word or a sign of its own.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Block {
    /// `{ … }`, whose commands run always.
    Group,
    /// A loop, a branch or a subshell.
    Maybe,
    /// `case`, between its patterns.
    Case,
}

/// A command while it is read.
#[derive(Default)]
struct Command {
    assignments: Vec<(String, Vec<Word>)>,
    words: Vec<Word>,
    input: Vec<Word>,
}

impl Command {
    /// Whether no command of the script runs after this one.
    fn is_last(&self) -> bool {
        match self.words.first().and_then(Word::plain) {
            Some("exec") => self.words.len() > 1,
            Some("exit") => true,
            Some(_) | None => false,
        }
    }
}

impl<'k> Reader<'k> {
    fn new(shell: &'k str, known: &'k Lookup<'k>) -> Self {
        // The value of an option that getopts(1) read.
        let variables = HashMap::from([("OPTARG".to_owned(), vec![vec![Value::Arguments]])]);
        let arguments = vec![vec![Value::Arguments]];
        let own = Value::Text(UNKNOWN.to_string());
        Self {
            shell,
            known,
            variables,
            arguments,
            own,
            functions: HashMap::new(),
            left: Cell::new(MOST_STEPS),
            around: Cell::new(0),
        }
    }

    /// Counts steps. Returns whether there were any left.
    fn takes(&self, steps: usize) -> bool {
        let left = self.left.get().checked_sub(steps);
        self.left.set(left.unwrap_or(0));
        left.is_some()
    }

    fn run_text(&mut self, text: &str, depth: usize) -> Option<String> {
        if depth > DEEPEST || !self.takes(text.len()) {
            return None;
        }
        self.run(&tokens(text), depth)
    }

    fn run(&mut self, tokens: &[Token], depth: usize) -> Option<String> {
        if depth > DEEPEST {
            return None;
        }
        let (mut blocks, mut command) = (Vec::new(), Command::default());
        // Whether the command runs only if another one ended well or badly, and whether its input has arguments in it.
        let (mut is_conditional, mut is_fed) = (false, false);
        let mut at = 0;
        while let Some(token) = tokens.get(at) {
            at += 1;
            if !self.takes(1) {
                return None;
            }
            match token {
                Token::Word(word) if command.words.is_empty() && command.assignments.is_empty() => {
                    match self.keyword(word, tokens, &mut at, &mut blocks) {
                        Some(()) => {}
                        None => at = self.take(word, tokens, at, &mut command),
                    }
                }
                Token::Word(word) => at = self.take(word, tokens, at, &mut command),
                Token::Input(word) => command.input.push(word.clone()),
                Token::Operator(operator) => {
                    // A here-document belongs to the command before the end of its line.
                    while let (&"\n", Some(Token::Input(word))) = (operator, tokens.get(at)) {
                        command.input.push(word.clone());
                        at += 1;
                    }
                    let is_maybe = is_conditional || blocks.iter().any(|block| *block != Block::Group);
                    let command = std::mem::take(&mut command);
                    let (found, gives) = self.end(&command, is_maybe, is_fed, depth);
                    // What follows is no part of the script, such as an archive.
                    if found.is_some() || depth == 0 && !is_maybe && operator != &"|" && command.is_last() {
                        return found;
                    }
                    is_fed = operator.starts_with('|') && *operator != "||" && (is_fed || gives);
                    match *operator {
                        "(" => blocks.push(Block::Maybe),
                        ")" if blocks.last().is_some_and(|block| *block != Block::Case) => drop(blocks.pop()),
                        ";;" | ";&" | ";;&" => skip_pattern(tokens, &mut at, &mut blocks),
                        _ => {}
                    }
                    is_conditional = matches!(*operator, "&&" | "||");
                }
            }
        }
        let is_maybe = is_conditional || blocks.iter().any(|block| *block != Block::Group);
        self.end(&command, is_maybe, is_fed, depth).0
    }

    /// Reads on after a keyword; `None` if the word is none.
    fn keyword(&mut self, word: &Word, tokens: &[Token], at: &mut usize, blocks: &mut Vec<Block>) -> Option<()> {
        match word.plain()? {
            "if" | "while" | "until" => blocks.push(Block::Maybe),
            "then" | "do" | "else" | "elif" | "!" | "time" | "coproc" => {}
            "{" => blocks.push(Block::Group),
            "fi" | "done" | "esac" | "}" => drop(blocks.pop()),
            "for" | "select" => {
                blocks.push(Block::Maybe);
                let Some(Token::Word(name)) = tokens.get(*at) else { return Some(()) };
                *at += 1;
                let mut values = self.arguments.clone();
                if matches!(tokens.get(*at), Some(Token::Word(word)) if word.plain() == Some("in")) {
                    *at += 1;
                    values = Vec::new();
                    while let Some(Token::Word(word)) = tokens.get(*at) {
                        values.extend(self.expand(word, 0).into_iter().map(|value| vec![value]));
                        *at += 1;
                    }
                }
                // Those with arguments first, since not all may be tried.
                values.sort_by_key(|value| !value.iter().any(Value::has_arguments));
                values.truncate(MOST_VALUES);
                self.variables.extend(name.plain().map(|name| (name.to_owned(), values)));
            }
            "case" => {
                blocks.push(Block::Case);
                while let Some(token) = tokens.get(*at) {
                    *at += 1;
                    if matches!(token, Token::Word(word) if word.plain() == Some("in")) {
                        break;
                    }
                }
                skip_pattern(tokens, at, blocks);
            }
            "[[" => {
                while let Some(token) = tokens.get(*at) {
                    if *token == Token::Operator("\n") {
                        break;
                    }
                    *at += 1;
                    if matches!(token, Token::Word(word) if word.plain() == Some("]]")) {
                        break;
                    }
                }
            }
            "function" => {
                if let Some(Token::Word(name)) = tokens.get(*at) {
                    *at += 1;
                    if is_followed_by_parentheses(tokens, *at) {
                        *at += 2;
                    }
                    self.define(name, tokens, at);
                }
            }
            _ if is_followed_by_parentheses(tokens, *at) => {
                *at += 2;
                self.define(word, tokens, at);
            }
            _ => return None,
        }
        Some(())
    }

    /// Takes a word into a command. Returns where to read on.
    fn take(&mut self, word: &Word, tokens: &[Token], at: usize, command: &mut Command) -> usize {
        let assigned = if command.words.is_empty() { word.assignment() } else { None };
        let Some((name, value)) = assigned else {
            command.words.push(word.clone());
            return at;
        };
        // An array.
        if value.pieces.is_empty() && !value.is_quoted && tokens.get(at) == Some(&Token::Operator("(")) {
            let inner = tokens.get(at + 1..).unwrap_or_default();
            let end = inner.iter().position(|token| *token == Token::Operator(")")).unwrap_or(inner.len());
            let words = inner.iter().take(end).filter_map(|token| match token {
                Token::Word(word) => Some(word.clone()),
                Token::Operator(_) | Token::Input(_) => None,
            });
            let is_added = matches!(word.pieces.first(), Some(Piece::Text(text)) if text.ends_with("+="));
            let before = is_added.then(|| Word {
                pieces: vec![Piece::Variable { name: name.clone(), otherwise: None }],
                is_quoted: true,
            });
            command.assignments.push((name, before.into_iter().chain(words).collect()));
            return at + end + 2;
        }
        command.assignments.push((name, vec![value]));
        at
    }

    /// Keeps the body of a function, which begins after blank lines.
    fn define(&mut self, name: &Word, tokens: &[Token], at: &mut usize) {
        while tokens.get(*at) == Some(&Token::Operator("\n")) {
            *at += 1;
        }
        let start = *at;
        let mut depth = 0_usize;
        while let Some(token) = tokens.get(*at) {
            *at += 1;
            match token {
                Token::Operator("(") => depth += 1,
                Token::Word(word) if word.plain() == Some("{") => depth += 1,
                // The end of a pattern of `case` closes nothing.
                Token::Operator(")") if depth <= 1 && opens_with_brace(tokens.get(start)) => {}
                Token::Operator(")") => depth = depth.saturating_sub(1),
                Token::Word(word) if word.plain() == Some("}") => depth = depth.saturating_sub(1),
                Token::Word(_) | Token::Operator(_) | Token::Input(_) => {}
            }
            if depth == 0 {
                break;
            }
        }
        if let Some(name) = name.plain().filter(|_| self.takes(*at - start)) {
            self.functions.insert(name.to_owned(), tokens.get(start..*at).unwrap_or_default().into());
        }
    }

    /// The known program that a command hands arguments on to, and whether the command may write them out.
    fn end(&mut self, command: &Command, is_maybe: bool, is_fed: bool, depth: usize) -> (Option<String>, bool) {
        let for_command = !command.words.is_empty();
        for (name, words) in &command.assignments {
            let values = self.all_values(words);
            // Only this command sees them.
            if !for_command {
                self.set(name, values, is_maybe);
            }
        }
        let is_given = |words: &[Word], reader: &Self| {
            words.iter().any(|word| reader.expand(word, 0).iter().any(Value::has_arguments))
        };
        let is_fed = is_fed || is_given(&command.input, self);
        let gives = is_fed || is_given(&command.words, self);
        for words in self.all_values(&command.words) {
            let found = self.command(&words, is_maybe, is_fed, depth);
            if found.is_some() {
                return (found, gives);
            }
        }
        (None, gives)
    }

    fn set(&mut self, name: &str, values: Values, is_maybe: bool) {
        store(self.variables.entry(name.to_owned()).or_default(), values, is_maybe);
    }
}

fn store(values: &mut Values, new: Values, is_maybe: bool) {
    if is_maybe {
        values.extend(new);
        values.dedup();
        values.truncate(MOST_VALUES);
    } else {
        *values = new.into_iter().take(MOST_VALUES).collect();
    }
}

fn is_followed_by_parentheses(tokens: &[Token], at: usize) -> bool {
    tokens.get(at) == Some(&Token::Operator("(")) && tokens.get(at + 1) == Some(&Token::Operator(")"))
}

fn opens_with_brace(token: Option<&Token>) -> bool {
    matches!(token, Some(Token::Word(word)) if word.plain() == Some("{"))
}

/// Goes past a pattern of `case`, or past its end.
fn skip_pattern(tokens: &[Token], at: &mut usize, blocks: &mut Vec<Block>) {
    while let Some(token) = tokens.get(*at) {
        *at += 1;
        match token {
            Token::Word(word) if word.plain() == Some("esac") => {
                blocks.pop();
                return;
            }
            Token::Operator(")") => return,
            Token::Word(_) | Token::Operator(_) | Token::Input(_) => {}
        }
    }
}
