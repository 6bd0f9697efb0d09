//! The entries of a report that are made from an audit log.

use serde_json::Value;

use super::data::{Kind, Report, Row, shown, shown_block};
use crate::audit::log::{is_approval, variables, words};
use crate::text::counted;

/// A record, with access to its fields as texts for the page.
#[derive(Clone, Copy)]
struct Record<'a>(&'a Value);

impl<'a> Record<'a> {
    fn raw(self, key: &str) -> &'a str {
        self.0.get(key).and_then(Value::as_str).unwrap_or_default()
    }

    fn text(self, key: &str) -> Option<String> {
        self.0.get(key).and_then(Value::as_str).map(shown)
    }

    /// A text, or any other value except null as JSON.
    fn any(self, key: &str) -> Option<String> {
        let value = self.0.get(key).filter(|value| !value.is_null())?;
        Some(value.as_str().map_or_else(|| shown(&value.to_string()), shown))
    }

    fn number(self, key: &str) -> Option<u64> {
        self.0.get(key).and_then(Value::as_u64)
    }

    fn is_true(self, key: &str) -> bool {
        self.0.get(key) == Some(&Value::Bool(true))
    }

    fn within(self, key: &str) -> Self {
        Record(self.0.get(key).unwrap_or(&Value::Null))
    }
}

impl Report {
    /// Adds a record of an audit log; records must be added in their order.
    pub(crate) fn add_record(&mut self, record: &Value) {
        let record = Record(record);
        let session = self.session(record.raw("session"));
        match record.raw("event") {
            "session_started" => self.session_started(session, record),
            "session_ended" => {
                let ended = [
                    ("Ended", record.text("time")),
                    ("Calls", record.any("calls")),
                    ("Records lost", record.any("lost")),
                ];
                self.add_facts(session, ended);
            }
            "decided" => self.decided(session, record),
            "asked" => self.of_call(session, record, |row| {
                row.asked = true;
                row.outcome = "asked".to_owned();
                row.fact("Question", record.0.get("text").and_then(Value::as_str).map(shown_block));
                row.fact("Asked by", record.text("channel"));
            }),
            "answered" => self.of_call(session, record, |row| answered(row, record)),
            "started" => self.of_call(session, record, |row| {
                row.outcome = "running".to_owned();
                row.fact("Program", record.text("program"));
                row.fact("Process", record.any("pid"));
            }),
            "ended" => self.end_open_call(session, &call_name(record), |row| ended(row, record)),
            event => self.other(session, event, record),
        }
    }

    fn session_started(&mut self, session: usize, record: Record<'_>) {
        let client = record.within("client");
        let client = client.text("name").map(|name| format!("{name} {}", client.text("version").unwrap_or_default()));
        let who = record.text("user").zip(record.text("host")).map(|(user, host)| format!("{user}@{host}"));
        let facts = [
            ("Client", client.clone()),
            ("Began", record.text("time")),
            ("User", who.clone()),
            ("Process", record.any("pid")),
            ("Platform", record.any("platform")),
            ("Sandbox", record.any("sandbox")),
            ("Version", record.text("version")),
            ("Program SHA-256", record.any("program_sha256")),
            ("Configuration SHA-256", record.any("config_sha256")),
            ("Policies SHA-256", policies(record)),
        ];
        self.add_facts(session, facts);
        let parts = [client, who, record.text("time").map(|time| time.replacen('T', " ", 1))];
        if let Some(session) = self.sessions.get_mut(session) {
            session.title = parts.into_iter().flatten().collect::<Vec<_>>().join(" · ");
        }
    }

    fn decided(&mut self, session: usize, record: Record<'_>) {
        let (kind, outcome) = match record.raw("decision") {
            "allowed" => (Kind::Allowed, "allowed"),
            "ask" => (Kind::Other, "to be asked"),
            "refused" => (Kind::Refused, "refused"),
            _ => (Kind::Other, "decided"),
        };
        let command = words(record.0.get("argv").unwrap_or(&Value::Null));
        let key = (session, call_name(record));
        // If a person was asked, the call is decided again, with the answer.
        let before = self.open.get(&key).and_then(|index| self.rows.get(*index));
        if before.is_some_and(|before| before.asked && before.command == command) {
            self.change_open_call(session, &key.1, |row| {
                if kind == Kind::Refused {
                    (row.kind, row.outcome) = (kind, outcome.to_owned());
                    row.why = record.text("reason");
                    row.fact("Reason", record.text("reason"));
                }
                row.fact("Decided with the answer", record.text("time"));
            });
            if kind == Kind::Refused {
                self.open.remove(&key);
            }
            return;
        }
        let mut row = Row {
            session,
            kind,
            outcome: outcome.to_owned(),
            time: record.text("time"),
            call: record.number("call"),
            command: if command.is_empty() { record.text("tool").unwrap_or_default() } else { command },
            rule: record.any("rule"),
            why: record.text("reason").filter(|_| kind == Kind::Refused),
            ..Row::default()
        };
        row.fact("Call", record.any("call"));
        row.fact("Request", record.any("id"));
        row.fact("Tool", record.text("tool"));
        row.fact("Directory", record.text("cwd"));
        row.fact("Variables", variables(record.0));
        row.fact("Reason", record.text("reason"));
        row.fact("Input", digest(record.within("input")));
        row.fact("Timeout", record.number("timeout_ms").map(|timeout| format!("{timeout} ms")));
        row.fact("Background", record.is_true("background").then(|| "yes".to_owned()));
        row.fact("Client", record.within("client").text("name"));
        if let Some(index) = self.add(row).filter(|_| kind != Kind::Refused) {
            self.open.insert(key, index);
        }
    }

    fn of_call(&mut self, session: usize, record: Record<'_>, change: impl FnOnce(&mut Row)) {
        self.change_open_call(session, &call_name(record), change);
    }

    fn other(&mut self, session: usize, event: &str, record: Record<'_>) {
        let mut row = Row { session, outcome: shown(event), time: record.text("time"), ..Row::default() };
        match event {
            "refused_request" => {
                row.kind = Kind::Refused;
                "bad request".clone_into(&mut row.outcome);
                row.command = record.text("tool").or(record.text("method")).unwrap_or_else(|| "a message".to_owned());
                row.why = record.text("reason");
                row.fact("Request", record.any("id"));
                row.fact("Method", record.text("method"));
                row.fact("Code", record.any("code"));
                row.fact("Reason", record.text("reason"));
                row.fact("Line", digest(record.within("line")));
            }
            "received" => {
                row.outcome = record.text("message").unwrap_or_default();
                row.command = record.text("tool").or(record.text("method")).unwrap_or_else(|| "an answer".to_owned());
                row.fact("Request", record.any("id"));
                row.fact("Method", record.text("method"));
                row.fact("About call", record.any("about_call"));
                row.fact("Input", digest(record.within("input")));
                row.fact("Line", digest(record.within("line")));
            }
            "roots" => {
                row.command = words(record.0.get("roots").unwrap_or(&Value::Null));
                let refused = record.0.get("refused").and_then(Value::as_array).filter(|refused| !refused.is_empty());
                if let Some(refused) = refused {
                    row.kind = Kind::Refused;
                    row.why = Some(format!("{} refused", refused.len()));
                    row.fact("Refused", Some(shown(&Value::Array(refused.clone()).to_string())));
                }
            }
            "recovered" if record.number("torn_bytes").is_some() => {
                row.command = "the line before is torn: a crash or a full disk has cut it off".to_owned();
                row.fact("Bytes", record.any("torn_bytes"));
                row.fact("SHA-256", record.any("torn_sha256"));
            }
            "recovered" => {
                row.kind = Kind::Refused;
                row.command = "the log had become shorter: lines at its end are gone".to_owned();
            }
            _ => row.fact("Record", Some(shown(&record.0.to_string()))),
        }
        self.add(row);
    }
}

fn call_name(record: Record<'_>) -> String {
    record.number("call").map(|call| call.to_string()).unwrap_or_default()
}

/// The length and the SHA-256 of a text that the log does not contain.
fn digest(record: Record<'_>) -> Option<String> {
    let sha256 = record.text("sha256").map(|sha256| format!(", SHA-256 {sha256}")).unwrap_or_default();
    record.number("bytes").map(|bytes| format!("{}{sha256}", counted(bytes, "byte")))
}

fn policies(record: Record<'_>) -> Option<String> {
    let policies = record.0.get("policies").and_then(Value::as_array).filter(|policies| !policies.is_empty())?;
    let line = |policy| {
        let policy = Record(policy);
        format!("{}  {}", policy.text("path").unwrap_or_default(), policy.text("sha256").unwrap_or_default())
    };
    Some(policies.iter().take(50).map(line).collect::<Vec<_>>().join("\n"))
}

fn answered(row: &mut Row, record: Record<'_>) {
    row.fact("Answer", record.text("answer"));
    row.fact("Answered by", record.text("channel"));
    row.fact("Answered after", record.number("waited_ms").map(|waited| format!("{waited} ms")));
    row.fact("Remembered", record.is_true("remembered").then(|| "for the session".to_owned()));
    if is_approval(record.raw("answer")) {
        (row.kind, row.outcome) = (Kind::Allowed, "approved".to_owned());
    } else {
        row.why = record.text("answer");
        (row.kind, row.outcome) = (Kind::Refused, "not approved".to_owned());
    }
}

fn ended(row: &mut Row, record: Record<'_>) {
    row.exit = record.0.get("exit_code").and_then(Value::as_i64);
    row.ms = record.number("duration_ms");
    row.stdout = record.within("stdout").number("bytes");
    row.stderr = record.within("stderr").number("bytes");
    let signal = record.any("signal").map(|signal| format!("signal {signal}"));
    let ends = [
        record.any("error").map(|error| {
            row.fact("Error", Some(error));
            "not run".to_owned()
        }),
        record.is_true("cancelled").then(|| "cancelled".to_owned()),
        record.is_true("timed_out").then(|| "timed out".to_owned()),
        record.any("limit").map(|limit| format!("limit: {limit}")),
        signal,
        row.exit.filter(|exit| *exit != 0).map(|_| "failed".to_owned()),
    ];
    let end = ends.into_iter().flatten().next();
    row.kind = if end.is_some() { Kind::Failed } else { Kind::Allowed };
    row.outcome = end.unwrap_or_else(|| if row.asked { "approved".to_owned() } else { "allowed".to_owned() });
    row.fact("Signal", record.any("signal"));
    row.fact("Limit", record.any("limit"));
    row.fact("Ended", record.text("time"));
    for (name, key) in [("Standard output", "stdout"), ("Standard error", "stderr")] {
        row.fact(name, digest(record.within(key)));
    }
}
