//! One name, four places: the heading in `spec/`, the fixture, the test and the snapshot of each scenario.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use allowexec::transcript::{Entry, Transcript};

use super::scenario::fixture;

/// The one form of a scenario's heading.
const HEADING: &str = "### Scenario: ";

/// What is missing, superfluous or wrong, for the tests of this list; nothing where all is well.
pub fn problems(root: &Path, tests: &[(&str, &str)]) -> Vec<String> {
    let mut problems = Vec::new();
    let tests: BTreeSet<_> = tests.iter().map(|(area, name)| format!("{area}/{name}")).collect();
    let headings = headings(root, &mut problems);
    let fixtures = files(&root.join("fixtures/transcripts"), ".transcript", &mut problems);
    let snapshots = files(&root.join("tests/snapshots"), ".snap", &mut problems);
    let all = [&tests, &headings, &fixtures, &snapshots].into_iter().flatten().collect::<BTreeSet<_>>();
    for scenario in all {
        let (area, name) = scenario.split_once('/').unwrap();
        let places = [
            (&headings, format!("the heading `{HEADING}{name}` in spec/{area}.md")),
            (&fixtures, format!("fixtures/transcripts/{scenario}.transcript")),
            (&tests, format!("the test {area}::{name} in tests/it/scenarios.rs")),
            (&snapshots, format!("tests/snapshots/{scenario}.snap")),
        ];
        let (there, missing): (Vec<_>, Vec<_>) = places.iter().partition(|(place, _)| place.contains(scenario));
        for (_, place) in missing {
            problems.push(format!("{scenario}: {place} is missing; it stands in {}", there[0].1));
        }
        if fixtures.contains(scenario) {
            fixture_problems(root, area, name, &mut problems);
        }
    }
    problems
}

/// Whether the fixture can be read, says its own name, and plays to the end of the server.
fn fixture_problems(root: &Path, area: &str, name: &str, problems: &mut Vec<String>) {
    let shown = format!("fixtures/transcripts/{area}/{name}.transcript");
    let sessions = match Transcript::parse_sessions(&shown, fs::read(fixture(root, area, name)).unwrap()) {
        Ok(sessions) => sessions,
        Err(error) => return problems.push(error.to_string()),
    };
    let scenario = format!("{area}/{name}");
    for (_, transcript) in sessions {
        if transcript.header.scenario() != Some(&scenario) {
            problems.push(format!("{shown}: expected `scenario: {scenario}`"));
        }
        if !transcript.entries.iter().any(|entry| matches!(entry, Entry::Exit(_))) {
            problems.push(format!("{shown}: expected `<== exit N`, so that all that the server sends is seen"));
        }
    }
}

fn headings(root: &Path, problems: &mut Vec<String>) -> BTreeSet<String> {
    let mut headings = BTreeSet::new();
    for file in names(&root.join("spec")) {
        let Some(area) = file.strip_suffix(".md") else { continue };
        let text = fs::read_to_string(root.join("spec").join(&file)).unwrap();
        let mut fenced = false;
        for (index, line) in text.lines().enumerate() {
            fenced ^= line.starts_with("```");
            let title = line.trim_start_matches('#');
            if fenced || title.len() == line.len() || !title.trim_start().starts_with("Scenario") {
                continue;
            }
            let named = |name: &str| !name.is_empty() && name.chars().all(|c| matches!(c, 'a'..='z' | '0'..='9' | '_'));
            match line.strip_prefix(HEADING).filter(|name| named(name)) {
                Some(name) if headings.insert(format!("{area}/{name}")) => {}
                Some(name) => problems.push(format!("spec/{file}:{}: `{name}` stands there twice", index + 1)),
                None => problems.push(format!("spec/{file}:{}: expected `{HEADING}a_name`, found `{line}`", index + 1)),
            }
        }
    }
    headings
}

/// `area/name` of each file `area/name.ending`; other files in an area are superfluous, but for what insta leaves.
fn files(directory: &Path, ending: &str, problems: &mut Vec<String>) -> BTreeSet<String> {
    let mut files = BTreeSet::new();
    for area in names(directory) {
        for file in names(&directory.join(&area)) {
            match file.strip_suffix(ending) {
                Some(name) => _ = files.insert(format!("{area}/{name}")),
                None if file.ends_with(".snap.new") => {}
                None => problems.push(format!("{area}/{file}: expected files that end with `{ending}`")),
            }
        }
    }
    files
}

/// The names in a directory; none where it is a file or not there, since Git keeps no empty directory.
fn names(directory: &Path) -> BTreeSet<String> {
    let Ok(entries) = fs::read_dir(directory) else { return BTreeSet::new() };
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}
