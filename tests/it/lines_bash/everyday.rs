//! Lines that agents write every day, in the proportions that were measured: they are read.

use std::collections::BTreeSet;

use allowexec::lines::Line;

use super::World;

/// A line ends where the next begins at column one, outside of quotes and here-documents.
const EVERYDAY: &str = include_str!("../../../fixtures/lines/everyday.txt");

/// The lines that are read, but name what is not in the directory of the test.
const ELSEWHERE: &[(&str, &str)] =
    &[("cd /home/me/project && git fetch origin && git log HEAD..origin/main --oneline", "is not allowed")];

fn everyday() -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for text in EVERYDAY.lines() {
        match lines.last_mut().filter(|line| is_open(line)) {
            Some(line) => *line += &format!("\n{text}"),
            None => lines.push(text.to_owned()),
        }
    }
    lines
}

/// Whether a line goes on in the next one: a here-document or double quotes are open. No single quotes span lines here.
fn is_open(line: &str) -> bool {
    let (mut quotes, mut document) = (0, None);
    for line in line.lines() {
        match document {
            Some(end) if line == end => document = None,
            Some(_) => {}
            None => {
                quotes += line.matches('"').count();
                document = line.split_once("<<'").and_then(|(_, rest)| rest.split_once('\'')).map(|(end, _)| end);
            }
        }
    }
    document.is_some() || quotes % 2 == 1
}

#[test]
fn lines_that_agents_write_are_read() {
    let lines = everyday();
    assert_eq!(lines.len(), 70, "{lines:#?}");
    let not_read: Vec<(&str, String)> = lines
        .iter()
        .filter_map(|line| {
            let unreadable = Line::read(line).and_then(|line| line.open_shells(&|_| false)).err()?;
            Some((line.as_str(), unreadable.to_string()))
        })
        .collect();
    assert!(not_read.is_empty(), "{not_read:#?}");
}

#[test]
fn lines_that_agents_write_may_run_where_their_commands_may() {
    let lines = everyday();
    let mut names = BTreeSet::new();
    for line in &lines {
        let line = Line::read(line).and_then(|line| line.open_shells(&|_| false)).unwrap();
        let words = line.commands().into_iter().filter_map(|command| command.words.first()?.text());
        names.extend(words);
    }
    let names: Vec<&str> = names.iter().map(String::as_str).filter(|name| !super::PROGRAMS.contains(name)).collect();
    let world = World::with(&names);
    let refused: Vec<(&str, String)> =
        lines.iter().filter_map(|line| Some((line.as_str(), world.refusal(line)?))).collect();
    assert_eq!(refused.len(), ELSEWHERE.len(), "{refused:#?}");
    for ((line, why), (expected, words)) in refused.iter().zip(ELSEWHERE) {
        assert!(line == expected && why.contains(words), "{line}: {why}");
    }
}
