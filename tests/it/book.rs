//! The guide as a book: its table of contents is whole, its links lead somewhere, and its reference is what `--help` prints.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn pages_in(directory: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(root().join(directory)).unwrap();
    let mut pages: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    pages.retain(|page| page.extension().is_some_and(|extension| extension == "md"));
    pages.sort();
    assert!(!pages.is_empty(), "{directory}");
    pages
}

/// A page without its fenced blocks, in which brackets mean other things.
fn prose(page: &Path) -> String {
    let text = fs::read_to_string(page).unwrap();
    text.split("```").step_by(2).collect()
}

/// The targets of links and pictures.
fn links(page: &Path) -> Vec<String> {
    let text = prose(page);
    let found = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    found.map(str::to_owned).collect()
}

/// As GitHub and mdBook name a heading.
fn anchor(heading: &str) -> String {
    let kept = heading.to_lowercase();
    let kept = kept.chars().filter(|character| character.is_alphanumeric() || " -_".contains(*character));
    kept.map(|character| if character == ' ' { '-' } else { character }).collect()
}

fn anchors(page: &Path) -> BTreeSet<String> {
    let text = prose(page);
    let headings = text.lines().filter(|line| line.starts_with('#'));
    headings.map(|line| anchor(line.trim_start_matches('#').trim())).collect()
}

#[test]
fn every_link_leads_to_a_page_and_a_heading_of_it() {
    let mut count = 0;
    for page in [pages_in("."), pages_in("spec"), pages_in("spec/guide"), pages_in("fuzz")].concat() {
        for link in links(&page) {
            if link.starts_with("https://") {
                continue;
            }
            let (file, heading) = link.split_once('#').unwrap_or((&link, ""));
            let target = if file.is_empty() { page.clone() } else { page.parent().unwrap().join(file) };
            assert!(target.is_file(), "{}: the link {link} leads nowhere", page.display());
            assert!(heading.is_empty() || anchors(&target).contains(heading), "{}: no heading {link}", page.display());
            count += 1;
        }
    }
    assert!(count >= 20, "{count} links");
}

#[test]
fn every_file_that_the_pages_for_users_name_is_there() {
    let places = ["spec/", "tests/", "fixtures/", "src/", "fuzz/", ".ci/", ".github/"];
    let mut count = 0;
    for page in [pages_in("."), pages_in("spec/guide")].concat() {
        let text = prose(&page);
        for word in text.split('`').skip(1).step_by(2) {
            let is_path = places.iter().any(|place| word.starts_with(place)) && !word.contains([' ', '*', '<', '…']);
            if is_path && !word.chars().any(char::is_uppercase) {
                assert!(root().join(word).exists(), "{}: there is no `{word}`", page.display());
                count += 1;
            }
        }
    }
    assert!(count >= 40, "{count} files");
}

#[test]
fn the_summary_of_the_guide_lists_every_page_and_no_page_links_out_of_the_book() {
    let guide = root().join("spec/guide");
    let summary = guide.join("SUMMARY.md");
    let listed = links(&summary);
    let mut sorted = listed.clone();
    sorted.sort();
    let pages: Vec<String> = pages_in("spec/guide")
        .iter()
        .filter(|page| **page != summary)
        .map(|page| page.file_name().unwrap().to_str().unwrap().to_owned())
        .collect();
    assert_eq!(sorted, pages);
    for page in pages {
        let page = guide.join(page);
        for link in links(&page).into_iter().filter(|link| !link.starts_with("https://") && !link.starts_with('#')) {
            let file = link.split('#').next().unwrap();
            assert!(listed.iter().any(|page| page == file), "{}: {link} is no page of the book", page.display());
        }
        let first = fs::read_to_string(&page).unwrap();
        assert!(first.starts_with("# ") || first.starts_with("<!-- "), "{} has no heading", page.display());
    }
}

// On Windows some defaults are others.
#[cfg(target_os = "linux")]
#[test]
fn the_reference_is_what_help_prints() {
    let help = |arguments: &[&str]| {
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_allowexec")).args(arguments).output().unwrap();
        assert!(output.status.success(), "{arguments:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let program = help(&["-h"]);
    let (_, list) = program.split_once("Commands:\n").unwrap();
    let rows = list.lines().take_while(|line| !line.starts_with("Try:")).filter(|line| line.starts_with("  "));
    let names: Vec<&str> = rows.map(|line| line.split_whitespace().next().unwrap()).collect();
    assert!(names.len() >= 15, "{names:?}");
    let mut text = format!(
        "<!-- Made by `INSTA_UPDATE=always cargo test --test it book::` -->\n\n# Commands and settings\n\n\
         What `allowexec -h` prints, then what `allowexec COMMAND -h` prints, and last the settings, as `allowexec --help all` ends. \
         `allowexec man` has the same as a manual page.\n\n```text\n{program}```\n"
    );
    for name in names {
        let own = help(&[name, "-h"]);
        let own = own.split("\n`allowexec ").next().unwrap().trim_end();
        text.push_str(&format!("\n## {name}\n\n```text\n{own}\n```\n"));
    }
    let long = help(&["--help", "all"]);
    let (_, settings) = long.split_once("\nSettings: ").unwrap();
    let (order, groups) = settings.split_once("\n\n").unwrap();
    text.push_str(&format!("\n## Settings\n\nOrder: {order}\n"));
    for group in groups.trim_end().split("\n\n") {
        let (heading, flags) = group.split_once(":\n").unwrap();
        text.push_str(&format!("\n### {heading}\n\n```text\n{flags}\n```\n"));
    }
    crate::support::made::file("spec/guide/reference.md", &text);
}
