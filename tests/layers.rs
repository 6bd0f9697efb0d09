//! The shape of the source: who imports whom, and what stands nowhere or in one place only.
//!
//! Reads `src/` as text. Comments and the test modules at the end of files do not count: they run in no server.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "helpers of tests, which clippy's exception for test functions leaves out"
)]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Each layer, and what it may import of ours beside itself. The lower ones know nothing of the upper ones.
const LAYERS: &[(&str, &[&str])] = &[
    ("jsonrpc", &[]),
    ("mcp", &[]),
    ("policy", &[]),
    ("sandbox", &[]),
    ("exec", &["policy", "sandbox"]),
    ("shell", &["policy", "sandbox", "exec"]),
    ("tools", &["exec", "shell", "policy", "mcp"]),
    ("prompts", &["mcp", "policy"]),
    ("config", &["policy", "exec", "sandbox"]),
    ("server", &["jsonrpc", "mcp", "policy", "sandbox", "exec", "shell", "tools", "prompts", "config"]),
    ("transcript", &["jsonrpc"]),
    // `exec` for what belongs to the whole process (the subreaper, a pipe), `mcp` and `tools` for what it prints.
    ("cli", &["server", "transcript", "config", "policy", "sandbox", "exec", "mcp", "tools"]),
];

/// What stands only in files whose path begins with one of these; nowhere where there are none.
const ABSENCES: &[(&str, &[&str])] = &[
    ("Command::new", &["exec/run.rs", "shell/"]),
    ("Instant::now", &["config/", "exec/", "cli/", "shell/"]),
    ("SystemTime", &["config/", "exec/", "cli/"]),
    ("env::var", &["config/", "exec/", "cli/"]),
    ("env::current_dir", &["config/", "exec/", "cli/"]),
    ("env::home_dir", &["config/"]),
    ("env::temp_dir", &["cli/replay.rs"]),
    ("env::set_var", &[]),
    ("set_current_dir", &[]),
    ("println!", &[]),
    ("eprintln!", &[]),
    ("print!", &[]),
    ("stdout()", &["cli/"]),
    ("stderr()", &["cli/"]),
    ("stdin()", &["cli/"]),
    ("process::exit", &[]),
    ("std::net", &[]),
    ("TcpStream", &[]),
    ("UdpSocket", &[]),
    ("UnixStream", &[]),
    ("UnixListener", &[]),
    ("unsafe ", &[]),
    ("extern \"C\"", &[]),
    ("pre_exec", &[]),
    ("AllowedCommand {", &["policy/decision.rs"]),
    (" ShellCommand {", &["policy/shell_command.rs"]),
    ("set_child_subreaper", &["exec/os/linux.rs"]),
];

struct Source {
    /// Relative to `src/`, with `/`.
    path: String,
    /// Without comments and without the test module.
    code: String,
}

fn sources() -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = Vec::new();
    let mut directories = vec![root.clone()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(&directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                directories.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let relative = path.strip_prefix(&root).unwrap().to_str().unwrap().replace('\\', "/");
                if !is_test(&relative) {
                    let code = without_tests(&fs::read_to_string(&path).unwrap());
                    found.push(Source { path: relative, code });
                }
            }
        }
    }
    assert!(found.len() > 50, "src/ was read: {} files", found.len());
    found
}

fn is_test(path: &str) -> bool {
    path.ends_with("/tests.rs") || path.contains("/tests/")
}

fn without_tests(text: &str) -> String {
    let lines = text.lines().take_while(|line| *line != "#[cfg(test)]");
    lines.filter(|line| !line.trim_start().starts_with("//")).map(|line| format!("{line}\n")).collect()
}

/// The layers that a piece of code names: each `crate::name` and each name in `crate::{…}`.
fn imports(code: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for (_, rest) in code.match_indices("crate::").map(|(at, found)| (at, &code[at + found.len()..])) {
        match rest.strip_prefix('{') {
            Some(group) => {
                let mut depth = 0;
                let mut fresh = true;
                for (at, character) in group.char_indices() {
                    match character {
                        '{' => depth += 1,
                        '}' if depth == 0 => break,
                        '}' => depth -= 1,
                        ',' if depth == 0 => fresh = true,
                        character if fresh && !character.is_whitespace() => {
                            names.insert(identifier(&group[at..]));
                            fresh = false;
                        }
                        _ => {}
                    }
                }
            }
            None => {
                names.insert(identifier(rest));
            }
        }
    }
    names
}

fn identifier(text: &str) -> String {
    text.chars().take_while(|character| character.is_alphanumeric() || *character == '_').collect()
}

fn layer(path: &str) -> Option<&str> {
    let name = path.split('/').next().unwrap();
    let name = name.strip_suffix(".rs").unwrap_or(name);
    (!matches!(name, "lib" | "main")).then_some(name)
}

#[test]
fn imports_run_one_way() {
    let mut problems = Vec::new();
    for Source { path, code } in sources() {
        let Some(layer) = layer(&path) else { continue };
        let Some((_, allowed)) = LAYERS.iter().find(|(name, _)| *name == layer) else {
            problems.push(format!("src/{path}: `{layer}` is no layer of the table"));
            continue;
        };
        for import in imports(&code) {
            if import != layer && !allowed.contains(&import.as_str()) {
                problems.push(format!("src/{path}: `{layer}` must not import `crate::{import}`"));
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn what_must_stand_nowhere_else_stands_nowhere_else() {
    let mut problems = Vec::new();
    for Source { path, code } in sources() {
        for (text, places) in ABSENCES {
            for (number, line) in code.lines().enumerate().filter(|(_, line)| line.contains(text)) {
                if !places.iter().any(|place| path.starts_with(place)) {
                    problems.push(format!("src/{path}: `{text}` in line {} without comments: {line}", number + 1));
                }
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn processes_are_started_in_at_most_two_files() {
    let starting: Vec<String> =
        sources().into_iter().filter(|source| source.code.contains("Command::new")).map(|source| source.path).collect();
    assert!(starting.iter().any(|path| path == "exec/run.rs"), "{starting:?}");
    assert!(starting.iter().filter(|path| path.starts_with("shell/")).count() <= 1, "{starting:?}");
}

#[test]
fn unsafe_code_is_forbidden_in_the_library_and_in_the_binary() {
    for source in sources().iter().filter(|source| matches!(source.path.as_str(), "lib.rs" | "main.rs")) {
        assert!(source.code.contains("#![forbid(unsafe_code)]"), "src/{}", source.path);
    }
}

#[test]
fn each_file_says_what_it_is_for() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    for source in sources() {
        let text = fs::read_to_string(root.join(&source.path)).unwrap();
        assert!(text.starts_with("//!"), "src/{} does not open with `//!`", source.path);
    }
}

/// `file::test` names a test of `tests/file.rs`, `area/name` a scenario.
#[test]
fn the_threat_model_names_tests_that_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = fs::read_to_string(root.join("spec/threat_model.md")).unwrap();
    let mut named = 0;
    for word in text.split('`').skip(1).step_by(2) {
        let found = if let Some((file, test)) = word.split_once("::").filter(|(file, _)| *file != "file") {
            fs::read_to_string(root.join(format!("tests/{file}.rs"))).unwrap().contains(&format!("fn {test}("))
        } else if let Some((area, _)) = word.split_once('/').filter(|_| !word.contains(['.', ' '])) {
            if area.is_empty() || !root.join("spec").join(format!("{area}.md")).exists() {
                continue;
            }
            root.join("fixtures/transcripts").join(format!("{word}.transcript")).exists()
        } else {
            continue;
        };
        assert!(found, "spec/threat_model.md names `{word}`, which does not exist");
        named += 1;
    }
    assert!(named > 30, "{named} names were found");
}

#[test]
fn the_reader_of_imports_sees_each_form() {
    let code =
        "use crate::policy::{A, B};\nuse crate::{exec::{C, D}, mcp};\nlet x = crate::server::y();\npub(crate) use z;";
    assert_eq!(imports(code).into_iter().collect::<Vec<_>>(), ["exec", "mcp", "policy", "server"]);
    assert_eq!(without_tests("a\n  // crate::b\n#[cfg(test)]\nmod tests {}\n"), "a\n");
    assert_eq!((layer("cli/mod.rs"), layer("lib.rs"), layer("shell.rs")), (Some("cli"), None, Some("shell")));
}
