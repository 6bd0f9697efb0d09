//! The shape of the source: which layer imports which, and what may appear nowhere or in one place only.
//!
//! Reads `src/` as text, without comments and the test modules at the end of files, which run in no server.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// Each layer, and what it may import of ours besides itself. The lower ones know nothing of the upper ones.
const LAYERS: &[(&str, &[&str])] = &[
    ("text", &[]),
    ("jsonrpc", &["text"]),
    ("mcp", &["text"]),
    ("lines", &["text"]),
    ("random", &[]),
    ("network", &[]),
    ("files", &["random"]),
    ("poll", &[]),
    ("audit", &["files", "text"]),
    ("integrity", &["files"]),
    ("policy", &["integrity", "lines", "files", "network", "text"]),
    ("sandbox", &["integrity", "files", "network", "random"]),
    ("exec", &["policy", "lines", "poll", "sandbox", "integrity", "files", "text"]),
    ("shell", &["policy", "poll", "sandbox", "exec", "integrity", "files", "random"]),
    ("tools", &["exec", "shell", "policy", "sandbox", "mcp", "network", "text"]),
    ("prompts", &["mcp", "policy", "tools"]),
    ("config", &["policy", "exec", "sandbox", "integrity", "files", "network", "text", "tools"]),
    (
        "server",
        &[
            "audit",
            "jsonrpc",
            "mcp",
            "lines",
            "policy",
            "poll",
            "sandbox",
            "exec",
            "shell",
            "tools",
            "prompts",
            "config",
            "integrity",
            "files",
            "network",
            "random",
            "text",
        ],
    ),
    ("transcript", &["jsonrpc", "files", "text"]),
    ("lint", &["transcript", "text"]),
    ("report", &["audit", "transcript", "files", "text"]),
    // `exec` for what belongs to the whole process (the subreaper), `mcp` and `tools` for what it prints.
    (
        "cli",
        &[
            "server",
            "audit",
            "report",
            "lint",
            "transcript",
            "config",
            "policy",
            "lines",
            "random",
            "poll",
            "sandbox",
            "exec",
            "mcp",
            "tools",
            "integrity",
            "files",
            "network",
            "text",
        ],
    ),
];

/// What may appear only in files whose path begins with one of these; nowhere if the list is empty.
const ABSENCES: &[(&str, &[&str])] = &[
    // The operator names what `cli` starts on the command line; no call of a client gets there.
    ("Command::new", &["exec/start.rs", "exec/launcher/own_network.rs", "shell/", "cli/workbench/started.rs"]),
    // The launcher becomes the command that `exec/start.rs` or the shell has started it for. std's `exec` runs by `/bin/sh` what
    // the kernel refuses.
    (".exec()", &[]),
    ("execv(", &["exec/launcher/launched.rs"]),
    // `audit/log/patience.rs` waits for a lock, the player for the end of a task, and they decide nothing else by it.
    (
        "Instant::now",
        &["config/", "exec/", "cli/", "shell/", "server/deadlines.rs", "audit/log/patience.rs", "transcript/player.rs"],
    ),
    ("SystemTime::now", &["config/", "exec/", "cli/"]),
    ("env::var", &["config/", "exec/", "cli/"]),
    ("env::current_dir", &["config/", "exec/", "cli/"]),
    ("env::home_dir", &[]),
    ("env::temp_dir", &["cli/workbench/replayer.rs"]),
    ("env::set_var", &[]),
    ("set_current_dir", &[]),
    ("fchdir", &[]),
    ("process::chdir", &[]),
    ("println!", &[]),
    ("eprintln!", &[]),
    ("print!", &[]),
    ("stdout()", &["cli/"]),
    ("stderr()", &["cli/"]),
    ("stdin()", &["cli/", "exec/launcher/launched.rs", "exec/launcher/own_network.rs"]),
    // The deadline of a hook ends the process while the decision hangs.
    ("process::exit", &["cli/lines/hook/mod.rs"]),
    ("std::net", &[]),
    ("TcpStream", &[]),
    ("UdpSocket", &[]),
    ("UnixStream", &[]),
    ("UnixListener", &[]),
    ("rustix::net", &["exec/launcher/", "shell/session/unix/linux.rs"]),
    ("close_fds", &["cli/hardening.rs"]),
    ("setsid()", &["cli/hardening.rs"]),
    ("set_dumpable_behavior", &["cli/hardening.rs", "sandbox/linux/landlock.rs"]),
    ("unsafe ", &[]),
    ("extern \"C\"", &[]),
    ("pre_exec", &[]),
    ("AllowedCommand {", &["policy/decision.rs"]),
    (" ShellCommand {", &["policy/rules/shell_command.rs"]),
    ("set_child_subreaper", &["exec/os/linux/mod.rs"]),
];

struct Source {
    /// Relative to `src/`, with `/`.
    path: String,
    /// Without comments and without the test module.
    code: String,
}

fn sources() -> Vec<Source> {
    let code = files().into_iter().filter(|(path, _)| !is_test(path));
    code.map(|(path, text)| Source { path, code: without_tests(&text) }).collect()
}

/// The files of `src/` with their texts, by their path relative to it, with `/`.
pub fn files() -> Vec<(String, String)> {
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
                found.push((relative, fs::read_to_string(&path).unwrap()));
            }
        }
    }
    assert!(found.len() > 50, "src/ was read: {} files", found.len());
    found
}

fn is_test(path: &str) -> bool {
    path.ends_with("/tests.rs") || path.contains("/tests/")
}

/// Code without comments and without its tests: those at the end of a file, and modules that stand for files of tests.
pub fn without_tests(text: &str) -> String {
    let mut kept = String::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if line == "#[cfg(test)]" {
            let named = lines.by_ref().find(|line| !line.starts_with("#["));
            if named.is_some_and(|line| line.starts_with("mod ") && line.ends_with(';')) {
                continue;
            }
            break;
        }
        if !line.trim_start().starts_with("//") {
            kept.extend([line, "\n"]);
        }
    }
    kept
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

/// What a build leaves out is said where a room is declared and not in the flow.
const MOST_CONDITIONS: usize = 40;

#[test]
fn few_places_say_what_a_build_leaves_out() {
    let of_a_feature = |line: &&str| line.contains("cfg") && line.contains("feature");
    let counted: usize = sources().iter().map(|source| source.code.lines().filter(of_a_feature).count()).sum();
    assert!((30..=MOST_CONDITIONS).contains(&counted), "{counted} conditions");
}

/// The folders whose files import each other one way too.
const WITHOUT_CIRCLES: &[&str] = &["server"];

#[test]
fn files_of_a_folder_import_each_other_one_way() {
    for folder in WITHOUT_CIRCLES {
        let files = siblings(folder, &sources());
        assert!(files.values().map(BTreeSet::len).sum::<usize>() > 20, "the imports were read: {files:?}");
        assert_eq!(circle(&files), None, "src/{folder}");
    }
}

/// Each file of a folder but its `mod.rs`, and the files of the folder that it imports, by the names of their modules. What
/// lies in a folder of its own belongs to the file that is named like it.
fn siblings(folder: &str, sources: &[Source]) -> BTreeMap<String, BTreeSet<String>> {
    let of_folder = |source: &&Source| source.path.starts_with(&format!("{folder}/"));
    let below = |source: &Source| source.path[folder.len() + 1..].trim_end_matches(".rs").to_owned();
    let name = |source: &Source| below(source).split('/').next().unwrap_or_default().to_owned();
    let listed = sources.iter().find(|source| source.path == format!("{folder}/mod.rs")).unwrap();
    // What `mod.rs` passes on is its maker's.
    let passed_on = |text: &str| -> Option<String> {
        let uses = listed.code.split(';').filter_map(|item| item.split_once(" use ").map(|(_, path)| path.trim()));
        let found = uses
            .filter_map(|path| path.split_once("::"))
            .find(|(_, names)| names.split(|c: char| !c.is_alphanumeric() && c != '_').any(|passed| passed == text));
        found.map(|(module, _)| module.to_owned())
    };
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for source in sources.iter().filter(of_folder).filter(|source| name(source) != "mod") {
        // There `super` is that file.
        let is_deeper = below(source).contains('/');
        let code = if is_deeper { source.code.replace("super::", "") } else { source.code.clone() };
        // A room may have the name of a file here.
        let code = code.replace(&format!("crate::{folder}::"), "super::").replace("crate::", "elsewhere::");
        let code = code.replace("super::{", "crate::{");
        let named = imports(&code.replace("super::", "crate::"));
        let modules: BTreeSet<String> =
            named.into_iter().map(|name| passed_on(&name).unwrap_or(name)).filter(|name| *name != "super").collect();
        found.entry(name(source)).or_default().extend(modules);
    }
    let files: BTreeSet<String> = found.keys().cloned().collect();
    for (file, modules) in &mut found {
        modules.retain(|module| files.contains(module) && module != file);
    }
    found
}

/// The files of a circle, in its order, if there is one.
fn circle(files: &BTreeMap<String, BTreeSet<String>>) -> Option<Vec<String>> {
    fn follow<'a>(
        file: &'a str,
        files: &'a BTreeMap<String, BTreeSet<String>>,
        way: &mut Vec<&'a str>,
        done: &mut BTreeSet<&'a str>,
    ) -> Option<Vec<String>> {
        if let Some(begin) = way.iter().position(|passed| *passed == file) {
            return Some(way[begin..].iter().chain([&file]).map(|name| (*name).to_owned()).collect());
        }
        if !done.insert(file) {
            return None;
        }
        way.push(file);
        let found = files[file].iter().find_map(|next| follow(next, files, way, done));
        way.pop();
        found
    }
    let mut done = BTreeSet::new();
    files.keys().find_map(|file| follow(file, files, &mut Vec::new(), &mut done))
}

#[test]
fn the_reader_of_circles_sees_them() {
    let source = |path: &str, code: &str| Source { path: path.to_owned(), code: code.to_owned() };
    let mut folder = vec![
        source("server/mod.rs", "mod a;\nmod b;\nmod c;\npub use b::{B, Other};\npub(crate) use c::C;\n"),
        source("server/a.rs", "use super::{B, c::D};\nuse crate::policy::c;\n"),
        source("server/b.rs", "use crate::server::c::D;\n"),
        source("server/c.rs", "use crate::mcp::a;\n"),
        source("policy/a.rs", "use super::c;\n"),
    ];
    assert_eq!(circle(&siblings("server", &folder)), None);
    assert_eq!(siblings("server", &folder)["a"].iter().collect::<Vec<_>>(), ["b", "c"]);
    folder[3].code.push_str("use super::Other;\n");
    let found = circle(&siblings("server", &folder)).unwrap();
    assert_eq!(found, ["b", "c", "b"]);
    folder.truncate(3);
    folder.push(source("server/c.rs", "mod deep;\n"));
    folder.push(source("server/c/deep.rs", "use super::a;\nuse crate::server::b::B;\n"));
    assert_eq!(circle(&siblings("server", &folder)).unwrap(), ["b", "c", "b"]);
}

#[test]
fn the_methods_of_the_server_are_in_its_room() {
    let holders = sources()
        .into_iter()
        .filter(|source| source.code.lines().any(|line| line.starts_with("impl") && line.contains(" Server<")));
    let elsewhere = holders.map(|source| source.path).filter(|path| !path.starts_with("server/"));
    assert_eq!(elsewhere.collect::<Vec<_>>(), Vec::<String>::new());
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

/// Counts that can't be 1 where they are written, or stand in a test. Bounds are none: they are called `most`, or by their constants.
const NEVER_ONE: &[(&str, &str)] = &[
    ("cli/workbench/policy/diff.rs", "{} characters"),
    ("files/regular.rs", "{bytes} bytes"),
    ("policy/client_roots.rs", "{} bytes"),
    ("report/data.rs", "{} entries"),
    ("tools/calls/read/properties.rs", "{} bytes"),
];

/// `text::counted` knows the singular, so that nothing says "1 calls".
#[test]
fn a_count_stands_in_a_text_with_the_right_noun() {
    let nouns = "bytes calls cases characters entries examples facts files lines programs records sessions warnings";
    let mut problems = Vec::new();
    for Source { path, code } in sources() {
        for noun in nouns.split(' ') {
            for (at, _) in code.match_indices(&format!("}} {noun}")) {
                let name = code[..at].rsplit_once('{').map_or("", |(_, name)| name);
                let written = format!("{{{name}}} {noun}");
                let is_bound = name == "most" || name.starts_with(|c: char| c.is_ascii_uppercase());
                let is_number = name.chars().all(|c| c.is_ascii_lowercase() || c == '_');
                if is_number && !is_bound && !NEVER_ONE.contains(&(path.as_str(), written.as_str())) {
                    problems.push(format!("src/{path}: `{written}`"));
                }
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn calls_start_processes_in_one_file_of_exec_and_one_of_shell() {
    let starting: Vec<String> =
        sources().into_iter().filter(|source| source.code.contains("Command::new")).map(|source| source.path).collect();
    assert!(starting.iter().any(|path| path == "exec/start.rs"), "{starting:?}");
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

/// Each of these meant several things, in several rooms.
#[test]
fn a_name_that_meant_several_things_means_one() {
    let sources = sources();
    for name in ["Step", "Begun", "Opened", "Found", "Decided", "Seen", "Ending"] {
        let declares = |line: &&str| {
            let mut words = line.split(|character: char| !(character.is_alphanumeric() || character == '_'));
            words.any(|word| matches!(word, "struct" | "enum" | "trait" | "type")) && words.next() == Some(name)
        };
        let places = sources.iter().filter(|source| source.code.lines().any(|line| declares(&line)));
        let places: Vec<&str> = places.map(|source| source.path.as_str()).collect();
        assert!(places.len() <= 1, "{name}: {places:?}");
    }
}

/// `file::test` names a test of `tests/it/file.rs`, `area/name` a scenario.
#[test]
fn the_threat_model_names_tests_that_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = fs::read_to_string(root.join("spec/threat_model.md")).unwrap();
    let mut named = 0;
    for word in text.split('`').skip(1).step_by(2) {
        let found = if let Some((file, test)) = word.split_once("::").filter(|(file, _)| *file != "file") {
            fs::read_to_string(root.join(format!("tests/it/{file}.rs"))).unwrap().contains(&format!("fn {test}("))
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
    assert_eq!(without_tests("#[cfg(test)]\n#[cfg(unix)]\nmod tests;\na\n"), "a\n");
    assert_eq!(without_tests("#[cfg(test)]\nmod tests;\na\n"), "a\n");
    assert_eq!((layer("cli/mod.rs"), layer("lib.rs"), layer("shell.rs")), (Some("cli"), None, Some("shell")));
}
