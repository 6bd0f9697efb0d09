//! The page: the template with its style, its script, and the data, under a content security policy that allows only this
//! style and this script.

use std::io::{self, Write};

use super::data::Report;
use crate::files::Sha256;

const PAGE: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// Writes the page.
///
/// # Errors
/// If it can't be written.
pub(crate) fn write(report: &Report, output: &mut impl Write) -> io::Result<()> {
    // Only the template is searched for `{{name}}`, so the same in the data is text.
    let mut rest = PAGE;
    while let Some((before, (name, after))) =
        rest.split_once("{{").and_then(|(before, rest)| Some((before, rest.split_once("}}")?)))
    {
        output.write_all(before.as_bytes())?;
        match name {
            "policy" => output.write_all(policy().as_bytes())?,
            "style" => output.write_all(STYLE.as_bytes())?,
            "script" => output.write_all(SCRIPT.as_bytes())?,
            "data" => output.write_all(contained(&serde_json::to_string(report)?).as_bytes())?,
            _ => {}
        }
        rest = after;
    }
    output.write_all(rest.as_bytes())
}

/// The content security policy: nothing is loaded, and only this style and this script take effect.
fn policy() -> String {
    format!(
        "default-src 'none'; style-src 'sha256-{}'; script-src 'sha256-{}'; base-uri 'none'; form-action 'none'",
        base64(STYLE),
        base64(SCRIPT)
    )
}

/// The SHA-256 of a text in base64, as a content security policy has it.
fn base64(text: &str) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut encoded = String::new();
    for chunk in Sha256::of(text).to_bytes().chunks(3) {
        let bits = chunk.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for place in 0..4 {
            let digit = usize::try_from(bits >> (18 - 6 * place) & 63).unwrap_or_default();
            let digit = DIGITS.get(digit).copied().unwrap_or_default();
            encoded.push(if place <= chunk.len() { char::from(digit) } else { '=' });
        }
    }
    encoded
}

/// The same JSON, with every character escaped that could end the element around it, or a line of a script. JSON has these
/// characters only in strings.
fn contained(json: &str) -> String {
    let mut contained = String::with_capacity(json.len());
    for character in json.chars() {
        match character {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                contained.push_str(&format!("\\u{:04x}", u32::from(character)));
            }
            other => contained.push(other),
        }
    }
    contained
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn page(records: &[Value]) -> String {
        let mut report = Report::default();
        records.iter().for_each(|record| report.add_record(record));
        report.finish();
        let mut page = Vec::new();
        write(&report, &mut page).unwrap();
        String::from_utf8(page).unwrap()
    }

    #[test]
    fn no_text_of_others_ends_the_element_that_holds_it() {
        let hostile = "</script><!--<script>{{script}}\u{2028}]]>&amp;\u{202e}\0'\"`";
        let page = page(&[
            json!({"event": "session_started", "session": hostile, "client": {"name": hostile}, "version": hostile}),
            json!({"event": "decided", "session": hostile, "call": 1, "argv": [hostile], "cwd": hostile, "decision": "refused", "rule": hostile, "reason": hostile, "tool": hostile, "id": hostile, "time": hostile}),
            json!({"event": hostile, "session": hostile}),
            json!({"event": "refused_request", "session": 5, "method": hostile, "reason": [hostile]}),
        ]);
        assert_eq!(page.matches("</script>").count(), 2);
        assert_eq!(page.matches("<script").count(), 2);
        assert_eq!(page.matches("<!--").count(), 0);
        assert_eq!(page.matches(SCRIPT).count(), 1);
        assert!(!page.contains(['\u{2028}', '\u{202e}', '\0']));
        let (_, data) = page.split_once("id=\"data\">").unwrap();
        let data: Value = serde_json::from_str(data.split_once("</script>").unwrap().0).unwrap();
        assert_eq!(data["rows"].as_array().unwrap().len(), 3);
        assert!(
            data["rows"][0]["why"].as_str().unwrap().starts_with("</script><!--<script>{{script}}\\u{2028}]]>&amp;")
        );
    }

    #[test]
    fn the_policy_names_the_hashes_of_the_script_and_the_style_in_the_page() {
        let page = page(&[]);
        let policy = page.split_once("Content-Security-Policy\" content=\"").unwrap().1.split_once('"').unwrap().0;
        // As `printf abc | openssl dgst -sha256 -binary | base64` says.
        assert_eq!(base64("abc"), "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=");
        assert!(policy.contains(&base64(SCRIPT)) && policy.contains(&base64(STYLE)), "{policy}");
        assert!(policy.starts_with("default-src 'none'; ") && !policy.contains("unsafe"));
        for outside in
            ["http:", "https:", "//cdn", "url(", "@import", "innerHTML", "insertAdjacent", "document.write", "eval("]
        {
            let page = page.replace("http://www.w3.org/2000/svg", "");
            assert!(!page.contains(outside), "{outside}");
        }
    }

    #[test]
    fn a_call_is_one_entry_from_its_decision_to_its_end() {
        let mut report = Report::default();
        for record in [
            json!({"event": "decided", "session": "s", "call": 1, "argv": ["rm", "a b"], "decision": "ask", "rule": "p.yaml:3", "time": "2026-11-23T05:48:36.123Z"}),
            json!({"event": "asked", "session": "s", "call": 1, "channel": "client", "text": "Run\nrm?"}),
            json!({"event": "answered", "session": "s", "call": 1, "channel": "client", "answer": "once", "waited_ms": 5}),
            json!({"event": "decided", "session": "s", "call": 1, "argv": ["rm", "a b"], "decision": "allowed", "rule": "p.yaml:3", "time": "2026-11-23T05:48:37.123Z"}),
            json!({"event": "started", "session": "s", "call": 1, "program": "/bin/rm", "pid": 7}),
            json!({"event": "ended", "session": "s", "call": 1, "exit_code": 1, "duration_ms": 12, "stdout": {"bytes": 3, "sha256": "x"}, "stderr": {"bytes": 4}}),
            json!({"event": "ended", "session": "s", "call": 1, "exit_code": 0}),
            json!({"event": "ended", "session": "t", "call": 1, "exit_code": 0}),
        ] {
            report.add_record(&record);
        }
        let rows = serde_json::to_value(&report).unwrap()["rows"].clone();
        assert_eq!(rows.as_array().unwrap().len(), 1);
        let row = &rows[0];
        assert_eq!((&row["kind"], &row["outcome"], &row["asked"]), (&json!("failed"), &json!("failed"), &json!(true)));
        assert_eq!(
            (&row["exit"], &row["ms"], &row["stdout"], &row["stderr"]),
            (&json!(1), &json!(12), &json!(3), &json!(4))
        );
        assert_eq!(row["command"], "rm \"a b\"");
        let facts = row["facts"].to_string();
        assert_eq!(row["rule"], "p.yaml:3");
        for fact in ["Run\\nrm?", "/bin/rm", "once", "05:48:37", "3 bytes, SHA-256 x"] {
            assert!(facts.contains(fact), "{facts} lacks {fact}");
        }
    }
}
