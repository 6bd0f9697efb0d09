//! Parts of documents that a test makes, and whole ones: what stands there has to be what is made now. With
//! `INSTA_UPDATE=always` it is written.

use std::fs;
use std::path::PathBuf;

fn path(file: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(file)
}

fn check(file: &str, found: &str, expected: &str) {
    if found == expected {
        return;
    }
    if std::env::var_os("INSTA_UPDATE").is_some_and(|value| value == "always") {
        return fs::write(path(file), expected).unwrap();
    }
    let differs = found.lines().zip(expected.lines()).find(|(found, expected)| found != expected);
    panic!("{file} is not what is made now; INSTA_UPDATE=always writes it. The first difference: {differs:#?}");
}

/// The part between `<!-- NAME: made by SOURCE -->` and `<!-- end of NAME -->`.
pub fn part(file: &str, name: &str, source: &str, text: &str) {
    let found = fs::read_to_string(path(file)).unwrap();
    let (begin, end) = (format!("<!-- {name}: made by {source} -->\n"), format!("<!-- end of {name} -->\n"));
    let (before, rest) = found.split_once(&begin).unwrap_or_else(|| panic!("{file} has no line {begin}"));
    let (_, behind) = rest.split_once(&end).unwrap_or_else(|| panic!("{file} has no line {end}"));
    // A table of GitHub's ends at a blank line.
    check(file, &found, &format!("{before}{begin}\n{text}\n{end}{behind}"));
}

/// A whole file.
pub fn file(file: &str, text: &str) {
    check(file, &fs::read_to_string(path(file)).unwrap_or_default(), text);
}
