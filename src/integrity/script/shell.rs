//! The commands of a script for a shell.

use std::collections::HashMap;
use std::iter::Peekable;
use std::str::Chars;

use super::{ARGUMENTS, Lookup, MADE, UNKNOWN, command, is_in};

/// How deeply substitutions are followed into each other.
const DEEPEST: usize = 20;

/// The most words of a command that are looked at, and the longest value that is followed. No script that people write needs more.
const MOST_WORDS: usize = 200;
const LONGEST_VALUE: usize = 256;

/// Words in front of a command that are not part of it.
const KEYWORDS: &str = "if then elif else while until do ! { } export local readonly declare typeset";

/// The values that a script gives its variables, the telling ones first.
type Variables = HashMap<String, Vec<String>>;

#[derive(Debug, Default)]
struct Command {
    words: Vec<String>,
    /// Its input is the output of the command before it.
    is_piped: bool,
    /// Its input is a text with arguments in it.
    is_given: bool,
    /// It stands in the body of this function.
    function: Option<String>,
}

impl Command {
    /// Its words without what stands in front of the command itself.
    fn itself(&self) -> &[String] {
        let is_before = |word: &String| is_in(KEYWORDS, word) || assignment(word).is_some();
        let at = self.words.iter().position(|word| !is_before(word)).unwrap_or(self.words.len());
        self.words.get(at..self.words.len().min(at + MOST_WORDS)).unwrap_or_default()
    }

    fn holds_arguments(&self) -> bool {
        self.words.iter().any(|word| word.contains(ARGUMENTS))
    }

    /// Whether it makes words of its own the first arguments.
    fn replaces_arguments(&self) -> bool {
        matches!(self.itself(), [set, dashes, first, ..] if set == "set" && dashes == "--" && !first.contains(ARGUMENTS))
    }
}

/// The known program that a script hands its arguments on to.
pub(super) fn program(script: &str, known: &Lookup<'_>) -> Option<String> {
    let mut variables = Variables::from([("SHELL".to_owned(), vec!["sh".to_owned()])]);
    // A variable may be made from others, which may be made from others.
    for _ in 0..3 {
        assign(&commands(script, &variables, 0), known, &mut variables);
    }
    let commands = commands(script, &variables, 0);
    let is_given_some = |function: &str| {
        let of_function =
            commands.iter().filter(|command| command.itself().first().is_some_and(|word| word == function));
        of_function.into_iter().any(Command::holds_arguments)
    };
    let has_own = commands.iter().any(Command::replaces_arguments);
    let mut is_fed = false;
    for command in &commands {
        is_fed &= command.is_piped;
        let found = command::program(command.itself(), is_fed || command.is_given, known)
            .filter(|name| name != "env" || !has_own);
        if found.is_some() && command.function.as_deref().is_none_or(is_given_some) {
            return found;
        }
        is_fed |= command.holds_arguments();
    }
    None
}

/// Notes what the commands of a script give its variables.
fn assign(commands: &[Command], known: &Lookup<'_>, variables: &mut Variables) {
    let is_telling = |value: &str| {
        value.contains(ARGUMENTS) || value.split_whitespace().next().is_some_and(|word| known(word).is_some())
    };
    let mut note = |name: &str, value: String| {
        let values = variables.entry(name.to_owned()).or_default();
        let at = if is_telling(&value) { 0 } else { values.len() };
        if value.len() <= LONGEST_VALUE && values.len() < MOST_WORDS && !values.contains(&value) {
            values.insert(at, value);
        }
    };
    note("OPTARG", ARGUMENTS.to_string());
    for command in commands {
        match command.words.as_slice() {
            [word, name] if word == "for" => note(name, ARGUMENTS.to_string()),
            [word, name, _in, values @ ..] if word == "for" => note(name, values.join(" ")),
            words => {
                words.iter().filter_map(|word| assignment(word)).for_each(|(name, value)| note(name, value.to_owned()))
            }
        }
    }
}

/// The name and the value of a word that is an assignment.
fn assignment(word: &str) -> Option<(&str, &str)> {
    let (name, value) = word.split_once('=')?;
    let name = name.strip_suffix('+').unwrap_or(name);
    let is_name = !name.is_empty() && name.chars().all(|char| char.is_ascii_alphanumeric() || char == '_');
    is_name.then_some((name, value))
}

/// The commands of a script, and of its substitutions in front of them.
fn commands(script: &str, variables: &Variables, depth: usize) -> Vec<Command> {
    let script = script.replace("\\\n", " ");
    let mut reader = Reader {
        chars: script.chars().peekable(),
        variables,
        depth,
        read: Vec::new(),
        command: Command::default(),
        word: None,
        redirection: None,
        documents: Vec::new(),
        functions: Vec::new(),
        declared: None,
    };
    reader.read();
    reader.read
}

struct Reader<'r> {
    chars: Peekable<Chars<'r>>,
    variables: &'r Variables,
    depth: usize,
    read: Vec<Command>,
    command: Command,
    word: Option<String>,
    /// The next word is what a redirection leads to, which is no file for `<<<`.
    redirection: Option<&'static str>,
    /// The ends of the here-documents that begin at the next line.
    documents: Vec<String>,
    /// The function whose body each open brace is in.
    functions: Vec<Option<String>>,
    declared: Option<String>,
}

impl Reader<'_> {
    fn read(&mut self) {
        let mut is_quoted = false;
        let mut is_list = false;
        while let Some(char) = self.chars.next() {
            match char {
                '"' => {
                    is_quoted = !is_quoted;
                    self.push("");
                }
                '$' => self.expansion(is_quoted),
                '`' => {
                    let text: String = self.chars.by_ref().take_while(|next| *next != '`').collect();
                    self.substitution(&text);
                }
                '\\' => {
                    let next = self.chars.next().unwrap_or_default();
                    self.push(next.encode_utf8(&mut [0; 4]));
                }
                _ if is_quoted => self.push(char.encode_utf8(&mut [0; 4])),
                '\'' => {
                    let text: String = self.chars.by_ref().take_while(|next| *next != '\'').collect();
                    self.push(&text);
                }
                '(' if self.word.as_ref().is_some_and(|word| word.ends_with('=')) => is_list = true,
                ')' if is_list => is_list = false,
                _ if is_list && char.is_whitespace() => self.push(" "),
                '#' if self.word.is_none() => while self.chars.next_if(|next| *next != '\n').is_some() {},
                '(' => self.parenthesis(),
                // `[[ A || B ]]` is one command.
                '&' | '|' if self.is_in_condition() => self.end_of_word(),
                '\n' | ';' | '&' | '|' | ')' => self.end_of_command(char),
                '<' if self.chars.next_if_eq(&'<').is_some() => self.document(),
                '<' | '>' => {
                    // The number of a descriptor.
                    self.word = self.word.take().filter(|word| !word.chars().all(|char| char.is_ascii_digit()));
                    self.end_of_word();
                    while self.chars.next_if(|next| ['>', '&'].contains(next)).is_some() {}
                    self.redirection = Some(">");
                }
                _ if char.is_whitespace() => self.end_of_word(),
                _ => self.push(char.encode_utf8(&mut [0; 4])),
            }
        }
        self.end_of_command('\n');
    }

    fn is_in_condition(&self) -> bool {
        let words = self.command.itself();
        words.first().is_some_and(|word| word == "[[") && words.last().is_some_and(|word| word != "]]")
    }

    fn push(&mut self, text: &str) {
        self.word.get_or_insert_default().push_str(text);
    }

    fn end_of_word(&mut self) {
        let Some(word) = self.word.take() else { return };
        if let Some(redirection) = self.redirection.take() {
            self.command.is_given |= redirection == "<<<" && word.contains(ARGUMENTS);
            return;
        }
        self.command.words.push(word);
        match self.command.words.as_slice() {
            [brace] if brace == "{" => self.open(self.declared.clone()),
            [function, name, brace] if function == "function" && brace == "{" => self.open(Some(name.clone())),
            [brace] if brace == "}" => {
                self.functions.pop();
            }
            _ => {}
        }
    }

    /// A body begins, of a function or of the one that it stands in.
    fn open(&mut self, function: Option<String>) {
        let outer = self.functions.last().cloned().flatten();
        self.functions.push(function.or(outer));
        self.declared = None;
        self.command.words.clear();
    }

    fn end_of_command(&mut self, end: char) {
        self.end_of_word();
        let mut command = std::mem::take(&mut self.command);
        command.function = self.functions.last().cloned().flatten();
        if !command.words.is_empty() {
            self.declared = None;
            self.read.push(command);
        }
        self.command.is_piped = end == '|' && self.chars.next_if_eq(&'|').is_none();
        if end == '\n' {
            for end in std::mem::take(&mut self.documents) {
                self.text_until(&end);
            }
        }
    }

    /// The text of a here-document, for the command in front of it.
    fn text_until(&mut self, end: &str) {
        while self.chars.peek().is_some() {
            let line: String = self.chars.by_ref().take_while(|next| *next != '\n').collect();
            if line.trim() == end {
                break;
            }
            let is_given = ["$@", "$*", "$1", "${1", "${@"].iter().any(|argument| line.contains(argument));
            if let Some(command) = self.read.last_mut().filter(|_| is_given) {
                command.is_given = true;
            }
        }
    }

    /// A group, or the parentheses of a function's name.
    fn parenthesis(&mut self) {
        self.end_of_word();
        if self.chars.next_if_eq(&')').is_some() {
            self.declared = self.command.words.pop();
            self.command.words.clear();
        } else {
            self.end_of_command('(');
        }
    }

    /// A here-document, of which only its end stands here, or a here-string.
    fn document(&mut self) {
        self.end_of_word();
        if self.chars.next_if_eq(&'<').is_some() {
            self.redirection = Some("<<<");
            return;
        }
        while self.chars.next_if(|next| ['-', ' '].contains(next)).is_some() {}
        let mut end = String::new();
        while let Some(next) = self.chars.next_if(|next| !next.is_whitespace() && !";|&)".contains(*next)) {
            end.push(next);
        }
        self.documents.push(end.replace(['\'', '"', '\\'], ""));
    }

    fn expansion(&mut self, is_quoted: bool) {
        match self.chars.peek().copied() {
            Some('(') => {
                let text = self.enclosed('(', ')');
                self.substitution(&text);
            }
            Some('{') => {
                let text = self.enclosed('{', '}');
                self.parameter(&text, is_quoted && !text.ends_with("[@]"));
            }
            Some('@' | '*' | '1'..='9') => {
                self.chars.next();
                self.push(&ARGUMENTS.to_string());
            }
            _ => {
                let mut name = String::new();
                while let Some(next) = self.chars.next_if(|next| next.is_ascii_alphanumeric() || *next == '_') {
                    name.push(next);
                }
                self.parameter(&name, is_quoted);
            }
        }
    }

    /// The text between brackets, which may be nested.
    fn enclosed(&mut self, open: char, close: char) -> String {
        let mut depth = 0_usize;
        let mut text = String::new();
        for next in self.chars.by_ref() {
            depth = if next == open { depth + 1 } else { depth - usize::from(next == close) };
            text.push(next);
            if depth == 0 {
                text.pop();
                break;
            }
        }
        text.get(1..).unwrap_or_default().to_owned()
    }

    /// The value of a parameter as `${…}` names it.
    fn parameter(&mut self, text: &str, is_one_word: bool) {
        if text.starts_with(['@', '*', '1', '2', '3', '4', '5', '6', '7', '8', '9']) {
            return self.push(&ARGUMENTS.to_string());
        }
        let end = text.find(|char: char| !char.is_ascii_alphanumeric() && char != '_').unwrap_or(text.len());
        let (name, rest) = text.split_at(end);
        let default = rest.strip_prefix(":-").or_else(|| rest.strip_prefix(":=")).or_else(|| rest.strip_prefix('-'));
        let value = match (self.variables.get(name).and_then(|values| values.first()), default) {
            (Some(value), _) => value.replace(MADE, "").replace(ARGUMENTS, &format!("{MADE}{ARGUMENTS}")),
            (None, Some(default)) => default.replace(['"', '\''], ""),
            // `$PYTHON` is what its name says.
            (None, None) if !name.is_empty() && name != "0" => name.to_lowercase(),
            (None, None) => UNKNOWN.to_string(),
        };
        if is_one_word {
            return self.push(&value);
        }
        for (at, word) in value.split_whitespace().enumerate() {
            if at > 0 {
                self.end_of_word();
            }
            self.push(word);
        }
    }

    /// The output of a command is not known, but for where a program is.
    fn substitution(&mut self, text: &str) {
        if self.depth == DEEPEST {
            return self.push(&UNKNOWN.to_string());
        }
        let inner = commands(text, self.variables, self.depth + 1);
        let place = inner.iter().find_map(|command| match command.itself() {
            [command, option, program] if command == "command" && option == "-v" => Some(program.clone()),
            [which, program] if which == "which" => Some(program.clone()),
            _ => None,
        });
        self.push(&place.unwrap_or_else(|| UNKNOWN.to_string()));
        self.read.extend(inner);
    }
}
