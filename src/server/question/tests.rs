//! Tests of the questions about calls.

use std::time::Duration;

use super::*;
use crate::text::{is_plain, is_right_to_left};

#[test]
fn a_person_reads_each_word_in_quotes_and_everything_that_runs() {
    let mut asked = asked_about(&["echo", "a b", "\"c\" \\"]);
    asked.terms.input = Some("line\n".to_owned());
    let program = asked.proposal.command().unwrap().program().unwrap().display().to_string();
    assert_eq!(
        asked.text(AnswerOf::OneCall).unwrap(),
        format!(
            "Run this command?\ncommand: \"echo\" \"a b\" \"\\\"c\\\" \\\\\"\nprogram: \"{program}\"\ndirectory: \"/\"\n\
             input: \"line\\n\"\nrule: the rule for `echo` in --ask\nsandbox: off"
        )
    );
    assert_eq!(
        asked.to_json(None),
        json!({
            "program": program, "argv": ["echo", "a b", "\"c\" \\"], "cwd": "/", "input": "line\n", "reason": null,
            "rule": "the rule for `echo` in --ask", "sandbox": "off", "client": null, "tool": "execute_process",
        })
    );
    assert!(!asked.is_same(&asked_about(&["echo", "a b", "\"c\" \\"])), "the other one has no input");
    asked.terms.input = None;
    assert!(asked.is_same(&asked_about(&["echo", "a b", "\"c\" \\"])));
    assert!(!asked.is_same(&asked_about(&["echo", "a", "b", "\"c\" \\"])));
}

#[test]
fn whatever_a_client_chooses_is_shown_to_a_person_and_to_a_program_and_makes_another_call() {
    let plain = asked_about(&["echo"]);
    let terms = &plain.terms;
    let second = Some(Duration::from_millis(1500));
    for (chosen, line, (key, value)) in [
        (Terms { input: Some("x".to_owned()), ..terms.clone() }, "input: \"x\"", ("input", json!("x"))),
        (Terms { timeout: second, ..terms.clone() }, "timeout: 1.5s", ("timeout_ms", json!(1500))),
        (Terms { is_background: true, ..terms.clone() }, "background: yes: ", ("background", json!(true))),
        (
            Terms { tool: "echo".to_owned(), is_in_shell: true, ..terms.clone() },
            "tool: \"echo\", in the persistent shell",
            ("tool", json!("echo")),
        ),
    ] {
        let asked = CallToApprove { terms: chosen, ..plain.clone() };
        let text = asked.text(AnswerOf::OneCall).unwrap();
        assert!(text.contains(&format!("\n{line}")), "{text}");
        assert!(!plain.text(AnswerOf::OneCall).unwrap().contains(&format!("\n{line}")), "{line}");
        assert_eq!(asked.to_json(None)[key], value, "{text}");
        assert_ne!(plain.to_json(None)[key], value, "{text}");
        assert!(!asked.is_same(&plain) && asked.is_same(&asked.clone()), "{text}");
    }
}

#[test]
fn no_text_looks_like_another_command() {
    for word in [
        "x\ncommand: \"ls\"",
        "\u{202e}ls\u{2066}",
        "\u{1b}[2K\rls",
        "a\u{200b}b\u{feff}",
        "\" \"ls",
        "x\u{2028}y\u{85}z\0".trim_end_matches('\0'),
        // Hebrew, Arabic, Arabic digits, a Hebrew ligature, and the oldest of them.
        "\u{5d0}\" \"\u{5d1}",
        "/home/\u{627}/1/\u{661}/\u{fb1d}/\u{10900}",
        // What looks like quotes or a backslash, marks that strike out what is before them or cover the line, no characters at all.
        "a\u{ff02} \u{ff02}b\u{2ba} \u{2033}c\u{201d} \u{201c}d\u{2019}\u{ff3c}\u{201d}",
        "a\u{338}\u{20dd}",
        &"\u{e33}\u{301}".repeat(100),
        "\u{e000}\u{378}\u{1160}\u{10ffff}",
    ] {
        let text = asked_about(&["echo", word]).text(AnswerOf::OneCall).unwrap();
        assert_eq!(text.lines().count(), 6, "{text}");
        let is_shown = |character| is_plain(character) && !is_right_to_left(character);
        assert!(text.chars().all(|character| character == '\n' || is_shown(character)), "{text}");
        let command = text.lines().nth(1).unwrap();
        let inside = command.strip_prefix("command: \"echo\" \"").unwrap().strip_suffix('"').unwrap();
        assert!(!inside.replace("\\\\", "").replace("\\\"", "").contains('"'), "{command}");
        let changes =
            |character| "\u{ff02}\u{2ba}\u{2033}“”’＼\u{338}\u{20dd}\u{301}\u{e000}\u{378}".contains(character);
        assert!(!text.contains(changes), "{text}");
    }
}

#[test]
fn blanks_push_nothing_out_of_sight_and_what_is_too_long_is_not_shown() {
    let text = asked_about(&["echo", &format!("a{}b", " ".repeat(20))]).text(AnswerOf::OneCall).unwrap();
    assert!(text.contains(&format!("\"a   {}b\"", "\\u{20}".repeat(17))), "{text}");
    for long in [" ".repeat(1_000), "x".repeat(LONGEST_TEXT), "\u{202e}".repeat(600)] {
        assert_eq!(asked_about(&["echo", &long]).text(AnswerOf::OneCall), None, "{}", long.len());
    }
    let mut asked = asked_about(&["echo"]);
    asked.terms.input = Some("x".repeat(LONGEST_TEXT));
    assert_eq!(asked.text(AnswerOf::OneCall), None);
    let words: Vec<&str> = std::iter::once("echo").chain(std::iter::repeat_n("", 2_000)).collect();
    assert_eq!(asked_about(&words).text(AnswerOf::OneCall), None);
    let most = asked_about(&["echo", &"x".repeat(LONGEST_TEXT - 200)]).text(AnswerOf::OneCall).unwrap();
    assert!(most.len() <= LONGEST_TEXT && most.len() > LONGEST_TEXT - 200);
}
