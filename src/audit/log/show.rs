//! Shows records as rows of a table, and filters them.

use std::collections::HashSet;
use std::fmt::Write as _;

use serde_json::Value;

use super::read::Line;
use crate::files::Sha256;
use crate::text::{counted, escape, escape_bytes, quote};

/// How many calls are remembered that match a filter and have not ended.
const MOST_CALLS: usize = 1 << 16;
/// How many characters of a text are shown; rows are cut later anyway.
const LONGEST: usize = 4096;

/// Which records are wanted; all if nothing is set.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Filter {
    /// Only what was refused or not approved.
    refused: bool,
    /// Only the call with this number, in each session.
    call: Option<u64>,
    /// Only what happened at this time or later; a time as records have it, or its beginning.
    since: Option<String>,
    /// Only calls of this program, by its name or path.
    program: Option<String>,
    /// The calls of that program that have not ended, by the hash of their session's name.
    open: HashSet<(Sha256, u64)>,
}

impl Filter {
    pub(crate) fn new(refused: bool, call: Option<u64>, since: Option<String>, program: Option<String>) -> Self {
        Self { refused, call, since, program, open: HashSet::new() }
    }

    /// Whether a record is wanted. Must be called in the order of the log. A record of which only the beginning is known may say what
    /// is wanted in the rest, so only its call and its time can leave it out.
    pub(crate) fn wants(&mut self, record: &Value, is_whole: bool) -> bool {
        let text = |key: &str| record.get(key).and_then(Value::as_str).unwrap_or_default();
        let is_of_program = self.is_of_program(record);
        let call = record.get("call").or(record.get("about_call")).and_then(Value::as_u64);
        (!is_whole || is_of_program && (!self.refused || is_refusal(record)))
            && self.call.is_none_or(|wanted| call.map_or(!is_whole, |call| call == wanted))
            && self.since.as_deref().is_none_or(|since| text("time") >= since)
    }

    /// Whether a line that is not a record is wanted: a long one in any case, since it may hide one, and another only if no filter
    /// needs what a record says.
    pub(crate) fn wants_unreadable(&self, is_whole: bool) -> bool {
        !is_whole || !self.refused && self.call.is_none() && self.program.is_none()
    }

    fn is_of_program(&mut self, record: &Value) -> bool {
        let Some(program) = &self.program else { return true };
        let is_named = |name: &str| name == program || name.rsplit(['/', '\\']).next() == Some(program.as_str());
        let first = record.get("argv").and_then(|argv| argv.get(0)).and_then(Value::as_str);
        let path = record.get("program").and_then(Value::as_str);
        let is_named = first.is_some_and(is_named) || path.is_some_and(is_named);
        let session = record.get("session").and_then(Value::as_str).unwrap_or_default();
        let Some(call) = record.get("call").and_then(Value::as_u64) else { return is_named };
        // The name of a session may be as long as a line.
        let key = (Sha256::of(session), call);
        let is_known = self.open.contains(&key);
        if record.get("event").and_then(Value::as_str) == Some("ended") {
            self.open.remove(&key);
        } else if is_named && self.open.len() < MOST_CALLS {
            self.open.insert(key);
        }
        is_named || is_known
    }
}

/// Whether a record is about something that was refused: a call, a request, a root, or an approval.
fn is_refusal(record: &Value) -> bool {
    let text = |key: &str| record.get(key).and_then(Value::as_str).unwrap_or_default();
    match text("event") {
        "decided" => text("decision") == "refused",
        "answered" => !is_approval(text("answer")),
        "roots" => record.get("refused").and_then(Value::as_array).is_some_and(|refused| !refused.is_empty()),
        "refused_request" => true,
        _ => false,
    }
}

/// Whether this answer to a question lets the call run.
pub(crate) fn is_approval(answer: &str) -> bool {
    matches!(answer, "once" | "session")
}

/// A record in a table; everything is plain text for a terminal.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Row {
    /// `2026-11-23 05:48:36`
    pub time: String,
    /// The beginning of the session's name.
    pub session: String,
    pub call: String,
    pub event: String,
    pub what: String,
}

/// Shows a record, or a line that is not a record. Of a very long line it shows the beginning, and says so.
pub(crate) fn row(line: &Line, record: Option<&Value>) -> Row {
    let Some(record) = record else {
        let what = format!(
            "{}: {}",
            counted(line.length, "byte"),
            cut(&escape_bytes(line.bytes.get(..200).unwrap_or(&line.bytes)), 200)
        );
        return Row { event: "unreadable".to_owned(), what, ..Row::default() };
    };
    let shown = Shown(record);
    let time = shown.text("time").unwrap_or_default().replacen('T', " ", 1);
    let event = shown.text("event").unwrap_or_default();
    Row {
        time: time.chars().take(19).collect(),
        session: shown.text("session").unwrap_or_default().chars().take(8).collect(),
        call: shown.number("call").or(shown.number("about_call")).unwrap_or_default(),
        event: match event.as_str() {
            "decided" => shown.text("decision").unwrap_or(event),
            _ => event,
        },
        what: match line.is_whole() {
            true => what(shown),
            false => format!("[the beginning of a record of {}] {}", counted(line.length, "byte"), what(shown)),
        },
    }
}

fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// A text without control characters, and no longer than is shown.
fn plain(text: &str) -> String {
    cut(&escape(&cut(text, LONGEST)), LONGEST)
}

/// A record, with access to its fields as text.
#[derive(Clone, Copy)]
struct Shown<'a>(&'a Value);

impl Shown<'_> {
    fn text(self, key: &str) -> Option<String> {
        self.0.get(key).and_then(Value::as_str).map(plain)
    }

    fn number(self, key: &str) -> Option<String> {
        self.0.get(key).filter(|value| value.is_number()).map(ToString::to_string)
    }

    /// Only what counts something is a count: a record can hold anything.
    fn count(self, key: &str, one: &str) -> Option<String> {
        self.0.get(key)?.as_u64().map(|count| counted(count, one))
    }

    fn is_true(self, key: &str) -> bool {
        self.0.get(key) == Some(&Value::Bool(true))
    }

    /// Text or a number, or any other value as JSON.
    fn any(self, key: &str) -> Option<String> {
        let value = self.0.get(key).filter(|value| !value.is_null())?;
        self.text(key).or_else(|| Some(plain(&value.to_string())))
    }

    fn within(self, key: &str) -> Option<Self> {
        self.0.get(key).map(Shown)
    }
}

/// The words of a command for people. Words with blanks or with invisible characters are in double quotes.
pub(crate) fn words(argv: &Value) -> String {
    let mut shown = String::new();
    for word in argv.as_array().into_iter().flatten() {
        if !shown.is_empty() {
            shown.push(' ');
        }
        if shown.len() > LONGEST {
            shown.push('…');
            break;
        }
        // Writing to a string can't fail.
        let _ = match word.as_str() {
            Some(word) if is_bare(word) => write!(shown, "{}", cut(word, LONGEST)),
            Some(word) => write!(shown, "{}", quote(word, LONGEST)),
            None if word.get("sha256").is_some() => write!(shown, "[secret]"),
            // Of a record that is only shown in part, a word that is too long.
            None if word.is_null() => write!(shown, "[left out]"),
            None => write!(shown, "{}", quote(&word.to_string(), LONGEST)),
        };
    }
    shown
}

/// The variables that a line sets for the command of a record, for people; `None` if it sets none.
pub(crate) fn variables(record: &Value) -> Option<String> {
    let env = record.get("env")?.as_object().filter(|env| !env.is_empty())?;
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let set = env.iter().map(|(name, value)| Value::String(format!("{name}={}", text(value))));
    Some(words(&Value::Array(set.collect())))
}

fn is_bare(word: &str) -> bool {
    !word.is_empty() && word.chars().all(|c| crate::text::is_plain(c) && !matches!(c, ' ' | '"' | '\'' | '\\' | '`'))
}

/// Describes a record on one line.
fn what(shown: Shown<'_>) -> String {
    let with = |main: String, details: Vec<(&str, Option<String>)>| {
        let details: Vec<String> =
            details.into_iter().filter_map(|(name, text)| text.map(|text| format!("{name}{text}"))).collect();
        if details.is_empty() { main } else { format!("{main}  ({})", details.join("; ")) }
    };
    let bytes = |key: &str| shown.within(key).and_then(|stream| stream.count("bytes", "byte"));
    match shown.text("event").unwrap_or_default().as_str() {
        "session_started" => {
            let client = shown.within("client").and_then(|client| {
                Some(format!("{} {}", client.text("name")?, client.text("version").unwrap_or_default()))
            });
            let version = format!("allowexec {}", shown.text("version").unwrap_or_default());
            let who = shown.text("user").zip(shown.text("host")).map(|(user, host)| format!("{user}@{host}"));
            with(
                version,
                vec![("client ", client), ("", who), ("pid ", shown.number("pid")), ("sandbox ", shown.any("sandbox"))],
            )
        }
        "decided" => {
            let argv = shown.0.get("argv").unwrap_or(&Value::Null);
            let details = vec![
                ("", shown.text("reason")),
                ("with ", variables(shown.0)),
                ("in ", shown.text("cwd")),
                ("rule ", shown.any("rule")),
                ("tool ", shown.text("tool")),
                ("input ", bytes("input")),
                ("timeout ", shown.number("timeout_ms").map(|timeout| format!("{timeout} ms"))),
                ("", shown.is_true("background").then(|| "in the background".to_owned())),
                ("", shown.is_true("task").then(|| "as a task".to_owned())),
            ];
            with(words(argv), details)
        }
        "asked" => with(shown.text("text").unwrap_or_default(), vec![("by ", shown.text("channel"))]),
        "answered" => {
            let waited = shown.number("waited_ms").map(|waited| format!("{waited} ms"));
            let remembered = shown.is_true("remembered").then(|| "for the session".to_owned());
            with(
                shown.text("answer").unwrap_or_default(),
                vec![("", remembered), ("after ", waited), ("by ", shown.text("channel"))],
            )
        }
        "started" => with(shown.text("program").unwrap_or_default(), vec![("pid ", shown.number("pid"))]),
        "ended" => {
            let mut how = Vec::new();
            how.extend(shown.number("exit_code").map(|code| format!("exit {code}")));
            how.extend(shown.any("signal").map(|signal| format!("signal {signal}")));
            how.extend(shown.is_true("timed_out").then(|| "timed out".to_owned()));
            how.extend(shown.is_true("cancelled").then(|| "cancelled".to_owned()));
            how.extend(shown.any("limit").map(|limit| format!("limit {limit}")));
            how.extend(shown.any("error").map(|error| format!("error: {error}")));
            if how.is_empty() {
                how.push("no exit status".to_owned());
            }
            let duration = shown.number("duration_ms").map(|duration| format!("{duration} ms"));
            with(how.join(", "), vec![("", duration), ("stdout ", bytes("stdout")), ("stderr ", bytes("stderr"))])
        }
        "roots" => {
            let reasons = shown.0.get("refused").and_then(Value::as_array).map(|refused| {
                let reasons = refused.iter().take(20).filter_map(|root| Shown(root).any("reason"));
                reasons.collect::<Vec<_>>().join("; ")
            });
            let refused = reasons.filter(|reasons| !reasons.is_empty());
            with(words(shown.0.get("roots").unwrap_or(&Value::Null)), vec![("refused: ", refused)])
        }
        "refused_request" => {
            let details = vec![
                ("method ", shown.text("method")),
                ("tool ", shown.text("tool")),
                ("code ", shown.number("code")),
                ("line ", bytes("line")),
            ];
            with(shown.text("reason").unwrap_or_default(), details)
        }
        "received" => {
            let main = [shown.text("message"), shown.text("method"), shown.text("tool")].into_iter().flatten();
            let details = vec![("id ", shown.any("id")), ("input ", bytes("input")), ("line ", bytes("line"))];
            with(main.collect::<Vec<_>>().join(" "), details)
        }
        "recovered" => {
            match (shown.count("torn_bytes", "byte"), shown.text("emptied_last"), shown.text("replaced_last")) {
                (Some(bytes), ..) => format!("the line before is torn after {bytes}"),
                (_, Some(_), _) => "an empty file had taken the place of the log".to_owned(),
                (.., Some(_)) => "another file had taken the place of the log, or its lines were changed".to_owned(),
                (None, None, None) => "the file had become shorter: lines at its end are gone".to_owned(),
            }
        }
        "session_ended" => {
            let lost = shown.count("lost", "record").map(|lost| format!("could not write {lost}"));
            with(shown.count("calls", "call").unwrap_or_default(), vec![("", lost)])
        }
        _ => plain(&shown.0.to_string()),
    }
}
