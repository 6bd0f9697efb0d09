//! The log: one line for each event, for the operator.
//!
//! Text from a client, a command or the file system is quoted, and each value has a bound of its own, so that no value
//! can look like another or push another out of the line.

use std::fmt::Display;
use std::path::Path;
use std::sync::Arc;

use crate::config::LogLevel;
use crate::files::Held;
use crate::jsonrpc::RequestId;
use crate::text::{Secrets, escape, escape_os, quote};

/// Where the lines of the log go. Each comes without a line end, contains none, and has at most 4,000 bytes.
pub type LogSink = Box<dyn FnMut(&str) + Send>;

/// The longest line, in bytes: a pipe takes 4,096 bytes whole or not at all. The bounds of a call's fields add up to
/// less.
const LONGEST: usize = 4_000;

/// How many bytes of each value a line shows.
const LONGEST_ID: usize = 128;
const LONGEST_COMMAND: usize = 1_500;
const LONGEST_DIRECTORY: usize = 512;
const LONGEST_RULE: usize = 256;
const LONGEST_REASON: usize = 768;

/// Writes the lines at or above a level.
pub struct Log {
    level: LogLevel,
    sink: LogSink,
    secrets: Arc<Secrets>,
}

impl Log {
    /// Writes lines of at least `level` to `sink`; `off` writes none.
    pub fn new(level: LogLevel, sink: LogSink) -> Self {
        Self { level, sink, secrets: Arc::default() }
    }

    /// Writes `***` wherever one of these values would stand in a line.
    pub(super) fn hiding(self, secrets: Arc<Secrets>) -> Self {
        Self { secrets, ..self }
    }

    /// Writes one line, with its level in front. What is not plain text is escaped, and what is too long is cut.
    pub fn write(&mut self, level: LogLevel, line: &str) {
        if self.writes(level) {
            let line = format!("{level}: {}", self.secrets.hide(&escape(line)));
            let mut end = line.len().min(LONGEST);
            while !line.is_char_boundary(end) {
                end -= 1;
            }
            let (shown, rest) = line.split_at(end);
            match rest.is_empty() {
                true => (self.sink)(shown),
                false => (self.sink)(&format!("{shown}…+{}", rest.chars().count())),
            }
        }
    }

    /// Whether lines of this level are written, so that callers need not make lines that nobody sees.
    pub fn writes(&self, level: LogLevel) -> bool {
        level != LogLevel::Off && level <= self.level
    }
}

impl std::fmt::Debug for Log {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Log").field("level", &self.level).finish_non_exhaustive()
    }
}

/// The fields of a log line about a call: `key=value`, separated by blanks.
#[derive(Debug, Clone, Default)]
pub(super) struct Fields(String);

/// The fields of a call of which nothing is known.
pub(super) static NO_FIELDS: Fields = Fields(String::new());

impl Fields {
    /// Begins a line about the call of this request.
    pub(super) fn of_call(id: &RequestId) -> Self {
        Self::of("call", id)
    }

    /// Begins a line about any request.
    pub(super) fn of_request(id: &RequestId) -> Self {
        Self::of("request", id)
    }

    fn of(what: &str, id: &RequestId) -> Self {
        let fields = Self(what.to_owned());
        match id.as_value().as_str() {
            Some(id) => fields.quoted("id", id, LONGEST_ID),
            None => fields.ours("id", id),
        }
    }

    /// Adds a value that comes from the server: a number, a fixed word, the name of a tool.
    pub(super) fn ours(mut self, key: &str, value: impl Display) -> Self {
        self.push(format_args!("{key}={value}"));
        self
    }

    /// Adds the words of a command.
    pub(super) fn command(self, words: &[String]) -> Self {
        self.words("command", words)
    }

    /// Adds what a call asked for that was not parsed as a command, without secrets.
    pub(super) fn asked(self, words: &[String]) -> Self {
        if words.is_empty() { self } else { self.words("asked", words) }
    }

    fn words(self, key: &str, words: &[String]) -> Self {
        // This puts together only what can be shown, but counts what it leaves out.
        let mut shown = String::new();
        let mut rest = words.iter();
        for (place, word) in rest.by_ref().enumerate() {
            shown.extend((place > 0).then_some(' '));
            shown.push_str(word);
            if shown.len() > LONGEST_COMMAND {
                break;
            }
        }
        let left = rest.map(|word| 1 + word.chars().count()).sum();
        self.ours(key, quote(&shown, LONGEST_COMMAND).and_more(left))
    }

    /// Adds the directory of a call.
    pub(super) fn directory(self, directory: &Path) -> Self {
        match directory.to_str() {
            Some(directory) => self.quoted("directory", directory, LONGEST_DIRECTORY),
            None => self.quoted("directory", &escape_os(directory.as_os_str()), LONGEST_DIRECTORY),
        }
    }

    /// Adds the rule that allowed a call.
    pub(super) fn allowed(self, rule: &str) -> Self {
        self.quoted("allowed", rule, LONGEST_RULE)
    }

    /// Adds the reason why a call does not run, or has failed.
    pub(super) fn reason(self, key: &str, why: &str) -> Self {
        self.quoted(key, why, LONGEST_REASON)
    }

    /// Adds other fields.
    pub(super) fn and(mut self, more: &Self) -> Self {
        if !more.0.is_empty() {
            self.push(format_args!("{}", more.0));
        }
        self
    }

    /// Adds something that writes itself as bounded fields, each with a blank before it.
    pub(super) fn followed_by(mut self, fields: &impl Display) -> Self {
        self.0.push_str(&fields.to_string());
        self
    }

    /// The line.
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    fn quoted(self, key: &str, value: &str, most: usize) -> Self {
        self.ours(key, quote(value, most))
    }

    fn push(&mut self, field: std::fmt::Arguments<'_>) {
        use std::fmt::Write;
        if !self.0.is_empty() {
            self.0.push(' ');
        }
        // Writing to a String can't fail.
        let _ = self.0.write_fmt(field);
    }
}

/// The line about the directories that result from the client's roots.
pub(super) fn client_roots(roots: &[Arc<Held>]) -> String {
    const SHOWN: usize = 8;
    let shown = |root: &Arc<Held>| quote(&escape_os(root.path().as_os_str()), LONGEST_DIRECTORY / 2).to_string();
    let shown: Vec<String> = roots.iter().take(SHOWN).map(shown).collect();
    match roots.len().saturating_sub(SHOWN) {
        0 => format!("client roots: [{}]", shown.join(", ")),
        more => format!("client roots: [{}] and {more} more", shown.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};

    fn written(lines: &[&str]) -> Vec<String> {
        let written = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&written);
        let mut log = Log::new(LogLevel::Info, Box::new(move |line| sink.lock().unwrap().push(line.to_owned())));
        lines.iter().for_each(|line| log.write(LogLevel::Info, line));
        drop(log);
        Arc::into_inner(written).unwrap().into_inner().unwrap()
    }

    #[test]
    fn no_line_is_longer_than_a_pipe_takes_or_holds_what_is_not_plain() {
        let long = "é".repeat(10_000);
        for line in [written(&[&long]), written(&["a\n\u{2066}\u{61c}"])] {
            assert!(line[0].len() < 4_096 && line[0].chars().all(crate::text::is_plain), "{line:?}");
        }
        assert_eq!(written(&["a\n\u{2066}\u{61c}"]), [r"info: a\n\u{2066}\u{61c}"]);
    }

    #[test]
    fn no_value_pushes_another_out_of_the_line_or_looks_like_one() {
        let long = "\"😀".repeat(5_000);
        let id = RequestId::from_value(&"i".repeat(1_024).into()).unwrap();
        let call =
            Fields::default().ours("tool", "t".repeat(64)).command(&["ok".to_owned(), long.clone(), long.clone()]);
        let call = call.directory(Path::new(&format!("/d\" allowed=\"{long}"))).allowed(&long);
        let line = Fields::of_call(&id).and(&call).reason("failed", &long).ours("exit", 0);
        assert!(line.as_str().len() < LONGEST - 500, "{}", line.as_str().len());
        assert!(line.as_str().starts_with(&format!("call id=\"{}\"…+896 tool=ttt", "i".repeat(128))));
        for field in [" command=\"ok \\\"😀", " directory=\"/d\\\" allowed=\\\"", " allowed=\"\\\"😀", " exit=0"] {
            assert!(line.as_str().contains(field), "{field} in {}", line.as_str());
        }
        // Of the 20,004 characters, as many are shown as fit, each of them whole.
        assert!(line.as_str().contains("😀\\\"\"…+19502 directory="), "{}", line.as_str());
    }

    #[test]
    fn an_ordinary_call_is_told_as_it_was() {
        let call = Fields::default().ours("tool", "execute_command").command(&["echo".to_owned(), "hi".to_owned()]);
        let call = call.directory(Path::new("/tmp")).allowed("entry `echo`");
        let line = Fields::of_call(&7.into()).and(&call).ours("exit", 0);
        assert_eq!(
            line.as_str(),
            "call id=7 tool=execute_command command=\"echo hi\" directory=\"/tmp\" allowed=\"entry `echo`\" exit=0"
        );
        assert_eq!(Fields::of_call(&RequestId::from_value(&"a".into()).unwrap()).as_str(), "call id=\"a\"");
    }
}
