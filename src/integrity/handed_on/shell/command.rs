//! Commands of a shell script: the program that each hands its words on to.

use super::super::{UNKNOWN, Value, handed};
use super::{Reader, store};

impl Reader<'_> {
    /// The known program that these words hand arguments on to.
    pub(super) fn command(&mut self, words: &[Value], is_maybe: bool, is_fed: bool, depth: usize) -> Option<String> {
        let mut words = words;
        let name = loop {
            let (first, rest) = words.split_first()?;
            match first {
                Value::Arguments => return Some("env".to_owned()),
                // A file whose name an argument gives, in whichever directory.
                Value::Holding(before) => {
                    return (before.is_empty() || before.ends_with('/')).then(|| "env".to_owned());
                }
                Value::Others => words = rest,
                Value::Text(text) if ["exec", "command", "builtin", "nocorrect", "noglob"].contains(&text.as_str()) => {
                    words = rest;
                    while let Some(Value::Text(option)) = words.first() {
                        let takes_next = option == "-a";
                        if !option.starts_with('-') {
                            break;
                        }
                        words = words.get(if takes_next { 2 } else { 1 }..).unwrap_or_default();
                        if text == "command" && ["-v", "-V"].contains(&option.as_str()) {
                            return None;
                        }
                    }
                }
                Value::Text(text) => {
                    words = rest;
                    break text;
                }
            }
        };
        match name.as_str() {
            "eval" | "trap" => {
                let code: &[Value] = if name == "eval" { words } else { words.get(..1).unwrap_or_default() };
                let is_code = |value: &Value| match value {
                    Value::Arguments => true,
                    // Within quotes, which a script also puts around those of an argument.
                    Value::Holding(before) => before.matches('\'').count() % 2 == 0,
                    Value::Text(_) | Value::Others => false,
                };
                if code.iter().any(is_code) {
                    return Some(self.shell.to_owned());
                }
                let texts = code.iter().map(|value| match value {
                    Value::Text(text) => text.as_str(),
                    Value::Arguments | Value::Holding(_) | Value::Others => "",
                });
                let text = texts.collect::<Vec<_>>().join(" ");
                self.run_text(&text, depth + 1)
            }
            "." | "source" => words.first()?.has_arguments().then(|| self.shell.to_owned()),
            "set" => {
                let is_end = |value: &Value| matches!(value, Value::Text(text) if text == "--" || text == "-");
                let is_option = |value: &Value| matches!(value, Value::Text(text) if text.starts_with('-') || text.starts_with('+'));
                let end = words.iter().position(is_end);
                let given = match end {
                    Some(end) => words.get(end + 1..),
                    None => Some(words).filter(|words| words.first().is_some_and(|first| !is_option(first))),
                };
                if let Some(given) = given {
                    // Those that getopt(1) has put in order.
                    let is_unknown = |value: &Value| matches!(value, Value::Text(text) if text.contains(UNKNOWN));
                    let ordered = [Value::Arguments];
                    let given = if given.iter().any(is_unknown) && depth > 0 { &ordered[..] } else { given };
                    store(&mut self.arguments, vec![given.to_vec()], is_maybe);
                }
                None
            }
            "shift" => {
                let count = match words.first() {
                    Some(Value::Text(count)) => count.parse().unwrap_or(1),
                    _ => 1,
                };
                for arguments in self.arguments.iter_mut().filter(|_| !is_maybe) {
                    let known = arguments.iter().take_while(|value| matches!(value, Value::Text(_))).count();
                    arguments.drain(..known.min(count));
                }
                None
            }
            "export" | "local" | "declare" | "readonly" | "typeset" => {
                for word in words {
                    match word {
                        Value::Text(text) => {
                            if let Some((name, value)) = text.split_once('=') {
                                self.set(name, vec![vec![Value::Text(value.to_owned())]], is_maybe);
                            }
                        }
                        Value::Holding(before) => {
                            if let Some((name, rest)) = before.split_once('=') {
                                let value =
                                    if rest.is_empty() { Value::Arguments } else { Value::Holding(rest.to_owned()) };
                                self.set(name, vec![vec![value]], is_maybe);
                            }
                        }
                        Value::Arguments | Value::Others => {}
                    }
                }
                None
            }
            _ => {
                if let Some(body) = self.functions.get(name).cloned() {
                    let outer = std::mem::replace(&mut self.arguments, vec![words.to_vec()]);
                    let found = self.run(&body, depth + 1);
                    self.arguments = outer;
                    return found;
                }
                let program = (self.known)(name)?;
                let (shell, known) = (program.clone(), self.known);
                let code = |text: &str, after: &[Value]| {
                    let mut reader = Reader::new(&shell, known);
                    // The first word after the code is `$0`.
                    let given = match after.split_first() {
                        Some((Value::Arguments, _)) => {
                            reader.own = Value::Arguments;
                            after
                        }
                        Some((_, rest)) => rest,
                        None => after,
                    };
                    reader.arguments = vec![given.to_vec()];
                    reader.left.set(self.left.get());
                    let found = reader.run_text(text, depth + 1);
                    self.left.set(reader.left.get());
                    found
                };
                handed(&program, words, is_fed, self.known, &code)
            }
        }
    }
}
