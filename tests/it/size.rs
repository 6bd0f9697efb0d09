//! The sizes that `spec/architecture.md` claims: the code between a client's bytes and a process, by folder.

use std::fs;
use std::path::Path;

use crate::layers::without_tests;

const ARCHITECTURE: &str = include_str!("../../spec/architecture.md");

/// Lines of code: without comments, blank lines, and the tests at the end of files and in files of their own.
fn lines_of_code(path: &Path) -> usize {
    if path.is_dir() {
        let entries = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path());
        return entries.filter(|entry| !entry.ends_with("tests")).map(|entry| lines_of_code(&entry)).sum();
    }
    if path.ends_with("tests.rs") || path.extension().is_none_or(|extension| extension != "rs") {
        return 0;
    }
    let code = without_tests(&fs::read_to_string(path).unwrap());
    code.lines().filter(|line| !line.trim().is_empty()).count()
}

#[test]
fn the_folders_between_a_clients_bytes_and_a_process_are_as_large_as_is_claimed() {
    let table = ARCHITECTURE.split("| folder | lines, about |\n|---|---|\n").nth(1).expect("the table of sizes");
    let rows = table.lines().map_while(|line| line.strip_prefix("| `")?.strip_suffix(" |")?.split_once("` | "));
    let mut folders = Vec::new();
    for (folder, claimed) in rows {
        let claimed: usize = claimed.replace(',', "").parse().unwrap();
        let counted = lines_of_code(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(folder));
        assert!(
            counted.abs_diff(claimed) * 10 <= claimed,
            "spec/architecture.md claims about {claimed} lines for `{folder}`, and there are {counted}; correct the table"
        );
        folders.push(folder);
    }
    assert_eq!(folders, ["jsonrpc", "files", "policy", "sandbox", "exec"]);
}
