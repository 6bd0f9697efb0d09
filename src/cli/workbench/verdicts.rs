//! The results of a replay: as text, as JSON, as TAP and as JUnit's XML.

use serde_json::{Map, Value, json};

use crate::text::{escape, escape_block};

/// The result of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ReplayVerdict {
    Same,
    Different(Difference),
    /// It was rewritten.
    Updated(Difference),
    /// It would be rewritten.
    Outdated(Difference),
    /// The header says that it does not play on this platform.
    Elsewhere,
    /// It can't be read, parsed, set up, started or written.
    Broken(String),
}

/// Where a transcript differs, and how.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Difference {
    pub line: Option<usize>,
    /// Why the server did not answer, and what could help.
    pub reason: String,
    pub diff: String,
}

impl ReplayVerdict {
    const NAMES: [(&'static str, &'static str); 6] = [
        ("same", "the same"),
        ("different", "different"),
        ("updated", "updated"),
        ("outdated", "would be updated"),
        ("elsewhere", "for other platforms"),
        ("broken", "broken"),
    ];

    fn name(&self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::Different(_) => "different",
            Self::Updated(_) => "updated",
            Self::Outdated(_) => "outdated",
            Self::Elsewhere => "elsewhere",
            Self::Broken(_) => "broken",
        }
    }

    /// The text that is printed, with every character escaped that could control a terminal: others chose the names of files,
    /// and what happened.
    pub(super) fn to_text(&self, file: &str) -> String {
        let file = escape(file);
        match self {
            Self::Same => String::new(),
            Self::Different(difference) => {
                let line = difference.line.map_or_else(String::new, |line| format!(":{line}"));
                format!("{file}{line}: different\n{}", difference.to_text())
            }
            Self::Updated(difference) => format!("{file}: updated\n{}", difference.to_text()),
            Self::Outdated(difference) => format!("{file}: would be updated\n{}", difference.to_text()),
            Self::Elsewhere => format!("{file}: not for this platform\n"),
            Self::Broken(why) => format!("{}\n", escape_block(why)),
        }
    }

    pub(super) fn to_json(&self, file: &str) -> Value {
        let mut members =
            Map::from_iter([("file".to_owned(), json!(file)), ("verdict".to_owned(), json!(self.name()))]);
        match self {
            Self::Same | Self::Elsewhere => {}
            Self::Different(difference) | Self::Updated(difference) | Self::Outdated(difference) => {
                let Difference { line, reason, diff } = difference;
                members.insert("line".to_owned(), json!(line));
                members.insert("diff".to_owned(), json!(diff));
                if !reason.is_empty() {
                    members.insert("reason".to_owned(), json!(reason));
                }
            }
            Self::Broken(why) => drop(members.insert("error".to_owned(), json!(why))),
        }
        members.into()
    }

    /// Reads the JSON that [`Self::to_json`] makes.
    pub(super) fn from_json(json: &Value) -> Option<Self> {
        let text = |key: &str| json.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let line = json.get("line").and_then(Value::as_u64).and_then(|line| usize::try_from(line).ok());
        let difference = || Difference { line, reason: text("reason"), diff: text("diff") };
        Some(match json.get("verdict")?.as_str()? {
            "same" => Self::Same,
            "different" => Self::Different(difference()),
            "updated" => Self::Updated(difference()),
            "outdated" => Self::Outdated(difference()),
            "elsewhere" => Self::Elsewhere,
            "broken" => Self::Broken(text("error")),
            _ => return None,
        })
    }
}

impl Difference {
    fn to_text(&self) -> String {
        format!("{}{}", escape_block(&self.reason), escape_block(&self.diff))
    }
}

/// Each file with its verdict, in the order in which they were named.
pub(super) struct ReplayVerdicts(pub Vec<(String, ReplayVerdict)>);

impl ReplayVerdicts {
    pub(super) fn count(&self, name: &str) -> usize {
        self.0.iter().filter(|(_, verdict)| verdict.name() == name).count()
    }

    /// The last line for people.
    pub(super) fn summary(&self) -> String {
        summary(&ReplayVerdict::NAMES.map(|(name, words)| (self.count(name), words)), self.0.len())
    }

    pub(super) fn to_json(&self) -> Value {
        let mut summary: Map<String, Value> =
            ReplayVerdict::NAMES.iter().map(|(name, _)| ((*name).to_owned(), json!(self.count(name)))).collect();
        let files: Vec<Value> = self.0.iter().map(|(file, verdict)| verdict.to_json(file)).collect();
        summary.insert("files".to_owned(), files.into());
        summary.into()
    }

    /// The Test Anything Protocol, version 14 (<https://testanything.org/tap-version-14-specification.html>).
    pub(super) fn to_tap(&self) -> String {
        let mut tap = format!("TAP version 14\n1..{}\n", self.0.len());
        for (index, (file, verdict)) in self.0.iter().enumerate() {
            let (number, name) = (index + 1, escape(file).replace('\\', "\\\\").replace('#', "\\#"));
            let details = verdict.to_text(file);
            tap.push_str(&match verdict {
                ReplayVerdict::Same | ReplayVerdict::Updated(_) | ReplayVerdict::Outdated(_) => {
                    format!("ok {number} - {name}\n")
                }
                ReplayVerdict::Elsewhere => format!("ok {number} - {name} # SKIP not for this platform\n"),
                ReplayVerdict::Different(_) | ReplayVerdict::Broken(_) => {
                    let details: String = details.lines().map(|line| format!("    {line}\n")).collect();
                    format!("not ok {number} - {name}\n  ---\n  message: |\n{details}  ...\n")
                }
            });
        }
        tap
    }

    /// The XML that continuous integration reads, as JUnit writes it.
    pub(super) fn to_junit(&self) -> String {
        let [failures, errors, skipped] = ["different", "broken", "elsewhere"].map(|name| self.count(name));
        let mut xml = format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite name=\"allowexec replay\" tests=\"{}\" \
             failures=\"{failures}\" errors=\"{errors}\" skipped=\"{skipped}\">\n",
            self.0.len()
        );
        for (file, verdict) in &self.0 {
            let text = verdict.to_text(file);
            let first = xml_text(text.lines().next().unwrap_or_default());
            let inner = match verdict {
                ReplayVerdict::Same | ReplayVerdict::Updated(_) | ReplayVerdict::Outdated(_) => String::new(),
                ReplayVerdict::Elsewhere => "<skipped message=\"not for this platform\"/>".to_owned(),
                ReplayVerdict::Different(_) => format!("<failure message=\"{first}\">{}</failure>", xml_text(&text)),
                ReplayVerdict::Broken(_) => format!("<error message=\"{first}\">{}</error>", xml_text(&text)),
            };
            let name = xml_text(&escape(file));
            xml.push_str(&format!("    <testcase classname=\"allowexec.replay\" name=\"{name}\">{inner}</testcase>\n"));
        }
        xml.push_str("  </testsuite>\n</testsuites>\n");
        xml
    }
}

/// The last line for people: how many files came out in which way, of `all`.
pub(super) fn summary(counts: &[(usize, &str)], all: usize) -> String {
    let parts = counts.iter().filter(|(count, words)| *count > 0 || *words == "the same");
    let parts: Vec<String> = parts.map(|(count, words)| format!("{count} {words}")).collect();
    format!("{} of {all}\n", parts.join(", "))
}

/// Text as XML. It contains no character that XML forbids, since those are already escaped.
fn xml_text(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_are_printed_for_people_and_for_programs() {
        let difference = Difference { line: Some(7), reason: "why\n".into(), diff: "-<a> & \"b\"\u{1b}\n+c\n".into() };
        let verdicts = ReplayVerdicts(vec![
            ("a#1".into(), ReplayVerdict::Same),
            ("b".into(), ReplayVerdict::Different(difference.clone())),
            ("c".into(), ReplayVerdict::Elsewhere),
            ("d".into(), ReplayVerdict::Broken("d: no such file".into())),
            ("e".into(), ReplayVerdict::Updated(difference)),
        ]);
        assert_eq!(verdicts.summary(), "1 the same, 1 different, 1 updated, 1 for other platforms, 1 broken of 5\n");
        for (file, verdict) in &verdicts.0 {
            assert_eq!(ReplayVerdict::from_json(&verdict.to_json(file)).as_ref(), Some(verdict));
        }
        assert_eq!(
            verdicts.to_tap(),
            "TAP version 14\n1..5\nok 1 - a\\#1\nnot ok 2 - b\n  ---\n  message: |\n    b:7: different\n    why\n    -<a> & \"b\"\\u{1b}\n    +c\n  ...\n\
             ok 3 - c # SKIP not for this platform\nnot ok 4 - d\n  ---\n  message: |\n    d: no such file\n  ...\nok 5 - e\n"
        );
        let xml = verdicts.to_junit();
        assert!(xml.contains("tests=\"5\" failures=\"1\" errors=\"1\" skipped=\"1\""), "{xml}");
        assert!(xml.contains("<failure message=\"b:7: different\">b:7: different\nwhy\n-&lt;a&gt; &amp; &quot;b&quot;\\u{1b}\n+c\n</failure>"), "{xml}");
    }
}
