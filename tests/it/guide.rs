//! The configurations and policies of README and the guide: each is used as it stands, with a reader's directories in place of
//! those that it shows.

#![cfg(target_os = "linux")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::{Value, json};

const CONNECT: &str = include_str!("../../spec/guide/connect.md");
const RECIPES: &str = include_str!("../../spec/guide/recipes.md");
const MIGRATING: &str = include_str!("../../spec/guide/migrating.md");
const BACKGROUND: &str = include_str!("../../spec/guide/background.md");
const LOCKING: &str = include_str!("../../spec/guide/locking.md");

/// A home directory with what the recipes name.
struct Reader {
    _place: tempfile::TempDir,
    home: PathBuf,
}

impl Reader {
    fn new() -> Self {
        let place = tempfile::tempdir().unwrap();
        let home = dunce::canonicalize(place.path()).unwrap().join("me");
        for directory in ["project/.git", ".cargo/bin", ".cargo/registry", ".rustup/toolchains"] {
            fs::create_dir_all(home.join(directory)).unwrap();
        }
        fs::write(home.join(".rustup/settings.toml"), "").unwrap();
        fs::write(home.join("project/README.md"), "x\n").unwrap();
        // What a reader has installed: `doctor` names what is missing.
        fs::create_dir_all(home.join("installed")).unwrap();
        for program in
            ["cargo", "npm", "pytest", "mypy", "ruff", "rg", "go", "gofmt", "gh", "make", "kubectl", "docker"]
        {
            if !Path::new("/usr/bin").join(program).exists() {
                std::os::unix::fs::symlink("/bin/true", home.join("installed").join(program)).unwrap();
            }
        }
        Self { _place: place, home }
    }

    fn project(&self) -> PathBuf {
        self.home.join("project")
    }

    /// The text with this reader's directories.
    fn own(&self, text: &str) -> String {
        text.replace("/home/me", self.home.to_str().unwrap()).replace("~/", &format!("{}/", self.home.display()))
    }

    fn run(&self, directory: &Path, arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_allowexec"));
        command.args(arguments).current_dir(directory).env_clear();
        command.env("PATH", format!("/usr/bin:/bin:{}/installed", self.home.display()));
        command.env("HOME", &self.home).output().unwrap()
    }

    /// What `check` says of each command; a program that is not installed is allowed all the same.
    fn checks(&self, settings: &[&str], allowed: &[&str], refused: &[&str]) {
        for (commands, expected) in [(allowed, "allowed"), (refused, "refused")] {
            for command in commands {
                let output = self.run(&self.project(), &[&["check", "--json"], settings, &["--", command]].concat());
                let verdict: Value = serde_json::from_slice(&output.stdout)
                    .unwrap_or_else(|_| panic!("{command}: {}", String::from_utf8_lossy(&output.stderr)));
                let is_missing =
                    verdict["reason"].as_str().is_some_and(|reason| reason.contains("no such program was found"));
                let decision = if is_missing { "allowed" } else { verdict["decision"].as_str().unwrap() };
                assert_eq!(decision, expected, "{settings:?} {command}: {verdict:#}");
            }
        }
    }
}

fn blocks<'a>(page: &'a str, language: &str) -> Vec<&'a str> {
    let fence = format!("```{language}\n");
    page.split(&fence).skip(1).map(|rest| rest.split("```").next().unwrap()).collect()
}

/// The commands in backticks behind `label` on the first line that begins with it.
fn commands<'a>(page: &'a str, label: &str) -> Vec<&'a str> {
    let (_, rest) = page.split_once(label).unwrap();
    let list = rest.split(". Refused").next().unwrap().lines().next().unwrap();
    list.split('`').skip(1).step_by(2).collect()
}

/// Pages whose examples are run where they belong: the test that reads them.
const ELSEWHERE: [(&str, &str); 3] = [
    ("embedding.md", include_str!("../../src/lib.rs")),
    ("locking.md", include_str!("guide.rs")),
    ("recipes.md", include_str!("guide.rs")),
];
/// Pages without examples.
const WITHOUT: [&str; 3] = ["SUMMARY.md", "reference.md", "tested.md"];

/// Serves a client that calls these commands, with these settings.
fn serve(reader: &Reader, settings: &[&str], commands: &[&str]) {
    let call = |(id, command): (usize, &&str)| {
        let params = json!({"name": "execute_command", "arguments": {"command": command}});
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
    };
    let info = json!({"name": "reader", "version": "0"});
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info});
    let first = json!({"jsonrpc": "2.0", "id": "first", "method": "initialize", "params": params});
    let second = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let lines = [first, second].into_iter().chain(commands.iter().enumerate().map(call));
    let input = reader.home.join("requests");
    fs::write(&input, lines.map(|line| format!("{line}\n")).collect::<String>()).unwrap();
    let mut server = Command::new(env!("CARGO_BIN_EXE_allowexec"));
    server.args(["--allow", "ls", "--log", "off"]).args(settings).current_dir(reader.project());
    let served = server.stdin(fs::File::open(&input).unwrap()).output().unwrap();
    assert!(served.status.success(), "{}", String::from_utf8_lossy(&served.stderr));
}

/// Makes what the examples of a page need and the page does not show; gives the page as this reader would type it.
fn prepared(name: &str, page: &str, reader: &Reader) -> String {
    let project = reader.project();
    match name {
        "approval.md" => {
            let ask = reader.home.join("bin/ask");
            fs::create_dir(reader.home.join("bin")).unwrap();
            fs::write(&ask, "#!/bin/sh\n").unwrap();
            fs::set_permissions(&ask, fs::Permissions::from_mode(0o755)).unwrap();
        }
        "audit.md" => {
            let settings = ["--audit", "audit.jsonl", "--audit-max-size", "4KiB"];
            while !project.join("audit.jsonl.1").exists() {
                serve(reader, &settings, &["ls"]);
            }
            let head = String::from_utf8(reader.run(&project, &["audit", "head", "audit.jsonl"]).stdout).unwrap();
            serve(reader, &settings[..2], &["ls", "ls", "rm x"]);
            return page.replace("2b4e…", head.split_whitespace().nth(1).unwrap());
        }
        "connect.md" => {
            fs::write(project.join("Cargo.toml"), "[package]\nname = \"x\"\n").unwrap();
            fs::write(project.join("requests.jsonl"), blocks(page, "json")[1]).unwrap();
        }
        "sandbox.md" => {
            fs::write(reader.home.join("secret"), "").unwrap();
            fs::write(reader.home.join(".gitconfig"), "").unwrap();
        }
        "transcripts.md" => {
            fs::create_dir(project.join("transcripts")).unwrap();
            fs::write(project.join("transcripts/greet.transcript"), blocks(page, "text")[0]).unwrap();
        }
        "migrating.md" => {
            let file = |name: &str, text: &str| fs::write(project.join(name), text).unwrap();
            file("settings.json", blocks(page, "json")[0]);
            file("opencode.jsonc", blocks(page, "json")[1]);
            file("rules.toml", blocks(page, "toml")[0]);
        }
        "policy.md" => {
            serve(reader, &["--record", "session.transcript"], &["git log -n 5", "ls"]);
            fs::write(project.join("changed.yaml"), "version: 1\nprofiles: [git-readonly]\n").unwrap();
        }
        _ => {}
    }
    page.to_owned()
}

/// A text with `#` for each number, time and hash, and one blank for several, where they differ from run to run.
fn without_numbers(text: &str) -> String {
    let is_number = |word: &str| {
        let is_part = |character: char| character.is_ascii_hexdigit() || "-:;…".contains(character);
        word.chars().all(is_part) && word.chars().any(|character| character.is_ascii_digit())
    };
    let words = text.split_whitespace().map(|word| if is_number(word) { "#" } else { word });
    words.collect::<Vec<_>>().join(" ")
}

/// The fenced blocks of a page, in their order, each with its language.
fn fenced(page: &str) -> Vec<(&str, &str)> {
    let blocks = page.split("```").skip(1).step_by(2);
    blocks.map(|block| block.split_once('\n').unwrap()).collect()
}

/// Runs the examples of a page one after the other in one project, as a reader would in a shell; gives how many there were.
/// `# exit status N` behind a command says how it ends, where that is not 0; the output is compared where the page shows it. A
/// block of YAML or Python that begins with `# NAME` is the file of that name.
fn run_page(name: &str, page: &str) -> usize {
    let reader = Reader::new();
    let page = &prepared(name, page, &reader);
    let own = Path::new(env!("CARGO_BIN_EXE_allowexec")).parent().unwrap();
    let mut count = 0;
    for (language, block) in fenced(page) {
        let named = block.strip_prefix("# ").and_then(|rest| rest.split_once('\n'));
        if let Some((file, _)) = named.filter(|_| ["yaml", "python"].contains(&language)) {
            let file = reader.project().join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, reader.own(block)).unwrap();
        }
        if language != "console" {
            continue;
        }
        for example in format!("\n{block}").split("\n$ ").skip(1) {
            let (line, expected) = example.split_once('\n').unwrap_or((example, ""));
            // What others' programs do is not tried here.
            if !line.starts_with("allowexec ") && !line.starts_with("sed ") {
                continue;
            }
            let mut shell = Command::new("/bin/sh");
            shell.args(["-c", &reader.own(line)]).current_dir(reader.project()).env_clear();
            shell
                .env("PATH", format!("{}:/usr/bin:/bin:{}/installed", own.display(), reader.home.display()))
                .env("HOME", &reader.home);
            let output = shell.stdin(std::process::Stdio::null()).output().unwrap();
            let status = line.split_once("exit status ").map_or(0, |(_, status)| status.trim().parse().unwrap());
            let said = String::from_utf8_lossy(&output.stdout).replace(reader.home.to_str().unwrap(), "/home/me");
            let complained = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(status), "{name}: {line}\n{said}{complained}");
            if !expected.trim().is_empty() && name == "audit.md" {
                assert_eq!(without_numbers(&said), without_numbers(expected), "{name}: {line}");
            } else if !expected.trim().is_empty() {
                assert_eq!(said.trim_end(), expected.trim_end(), "{name}: {line}");
            }
            count += 1;
        }
    }
    count
}

#[test]
fn every_example_of_the_guide_is_run() {
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("spec/guide");
    let mut count = 0;
    for entry in fs::read_dir(guide).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if !name.ends_with(".md") || WITHOUT.contains(&name) {
            continue;
        }
        if let Some((_, test)) = ELSEWHERE.iter().find(|(page, _)| *page == name) {
            assert!(test.contains(&format!("spec/guide/{name}\")")), "no test reads {name}");
            continue;
        }
        let run = run_page(name, &fs::read_to_string(&path).unwrap());
        assert!(run > 0 || name == "remote.md", "{name} has no example that is run");
        count += run;
    }
    assert!(count >= 30, "{count} examples");
}

#[test]
fn the_calls_of_the_page_about_long_work_do_what_it_says() {
    let reader = Reader::new();
    let npm = reader.home.join("bin/npm");
    fs::create_dir(reader.home.join("bin")).unwrap();
    fs::write(&npm, "#!/bin/sh\necho listening on 8080\nexec sleep 600\n").unwrap();
    fs::set_permissions(&npm, fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:/usr/bin:/bin", reader.home.join("bin").display());
    let mut server = crate::support::Server::command(&["--allow", "npm"]).env("PATH", &path).start();
    server.initialize("2025-11-25");
    let mut said = Vec::new();
    for line in blocks(BACKGROUND, "json")[0].lines() {
        let params: Value = serde_json::from_str(line).unwrap();
        let answer = server.request("tools/call", params);
        said.push(answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned());
    }
    assert!(said[0].contains("running: true") && said[0].contains("call: 1"), "{said:?}");
    assert!(said[1].contains("found: true") && said[1].contains("listening on 8080"), "{said:?}");
    assert!(said[2].contains("signal: SIGTERM"), "{said:?}");
}

#[test]
fn a_long_output_is_read_as_the_page_about_long_work_says() {
    let reader = Reader::new();
    let make = reader.home.join("bin/make");
    fs::create_dir(reader.home.join("bin")).unwrap();
    let script = "#!/bin/sh\ni=0\nwhile [ $i -lt 2000 ]; do\n  i=$((i + 1)); word=ok; [ $i = 812 ] && word=FAILED\n  \
                  echo \"test $i ... $word\"\ndone\necho 'make: *** [check] Error 1' >&2\nexit 2\n";
    fs::write(&make, script).unwrap();
    fs::set_permissions(&make, fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:/usr/bin:/bin", reader.home.join("bin").display());
    let arguments = ["--allow", "make", "--max-output", "1KiB"];
    let mut server = crate::support::Server::command(&arguments).env("PATH", &path).start();
    server.initialize("2025-11-25");
    let mut said = Vec::new();
    for line in blocks(BACKGROUND, "json")[1..].iter().flat_map(|block| block.lines()) {
        let answer = server.request("tools/call", serde_json::from_str(line).unwrap());
        said.push(answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned());
    }
    assert!(said[0].contains("output: 1\n") && said[0].contains("bytes left out"), "{}", said[0]);
    assert_eq!(said[1], blocks(BACKGROUND, "yaml")[0]);
    assert!(said[2].contains("next_byte: 12904\n") && said[2].contains("  test 812 ... FAILED\n  test 813 ... ok\n"));
    assert!(said[3].contains("text: \"test 814 .\"\n") || said[3].contains("text: test 814 .\n"), "{}", said[3]);
    assert!(said[4].contains("stdout_bytes: 32897\n") && said[4].contains("Error 1"), "{}", said[4]);
    assert!(said[5].contains("running: true\n") && said[5].contains("call: 2\n"), "{}", said[5]);
    let found = "end: true\nstderr_bytes: 26\ntext: |\n  812:test 812 ... FAILED\n";
    assert!(said[6].contains("running: false\n") && said[6].contains(found), "{}", said[6]);
}

#[test]
fn each_recipe_is_sound_and_allows_and_refuses_what_it_says() {
    let reader = Reader::new();
    let recipes: Vec<&str> = RECIPES.split("\n## ").skip(1).collect();
    assert_eq!(recipes.len(), 3);
    for recipe in recipes {
        let yaml = blocks(recipe, "yaml")[0];
        let file = reader.home.join("recipe.yaml");
        fs::write(&file, reader.own(yaml)).unwrap();
        let settings = ["--config", file.to_str().unwrap()];
        let output = reader.run(Path::new("/"), &[&["doctor", "--json"][..], &settings].concat());
        let report: Value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)));
        assert_eq!((&report["warnings"], &report["problems"]), (&json!([]), &json!([])), "{report:#}");
        assert_eq!(report["directory"], reader.project().to_str().unwrap());
        let (allowed, refused) = (commands(recipe, "Allowed: "), commands(recipe, "Refused: "));
        assert!(allowed.len() >= 3 && refused.len() >= 2, "{recipe}");
        reader.checks(&settings, &allowed, &refused);
    }
}

#[test]
fn the_flags_of_the_recipes_say_the_same() {
    let reader = Reader::new();
    let (_, table) = RECIPES.split_once("| project | flags |\n|---|---|\n").unwrap();
    let rows: Vec<&str> = table.lines().take_while(|line| line.starts_with('|')).collect();
    assert_eq!(rows.len(), 3);
    for row in rows {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        let flags = reader.own(cells[1].trim_matches('`')).replace("DIR", reader.project().to_str().unwrap());
        let flags: Vec<&str> = flags.split(' ').collect();
        let recipe = RECIPES.split("\n## ").find(|recipe| recipe.starts_with(cells[0])).unwrap();
        reader.checks(&flags, &commands(recipe, "Allowed: "), &commands(recipe, "Refused: "));
    }
}

#[test]
fn the_configuration_of_the_page_about_clients_is_sound() {
    let reader = Reader::new();
    let block = blocks(CONNECT, "yaml").into_iter().find(|block| block.contains("cwd_root")).unwrap();
    let file = reader.home.join("project.yaml");
    fs::write(&file, reader.own(block)).unwrap();
    let settings = ["--config", file.to_str().unwrap()];
    let output = reader.run(Path::new("/"), &[&["doctor", "--json"][..], &settings].concat());
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&report["warnings"], &report["problems"]), (&json!([]), &json!([])), "{report:#}");
    reader.checks(&settings, &["ls -l", "cat x", "git log", "grep -n x README.md"], &["git push", "sh"]);
}

#[test]
fn the_policies_for_those_who_migrate_load_and_their_examples_hold() {
    let reader = Reader::new();
    let policies = blocks(MIGRATING, "yaml");
    assert!(!policies.is_empty());
    for policy in policies {
        let file = reader.home.join("policy.yaml");
        fs::write(&file, policy).unwrap();
        let output = reader.run(&reader.project(), &["policy", "test", file.to_str().unwrap()]);
        let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        assert_eq!(output.status.code(), Some(0), "{said}");
    }
}

#[test]
fn the_programs_of_the_guide_are_locked_and_an_update_is_refused_as_it_says() {
    let reader = Reader::new();
    let file = reader.home.join("allowexec.yaml");
    fs::write(&file, reader.own(blocks(LOCKING, "yaml")[0])).unwrap();
    // Each line of the guide, as it stands there.
    let lines = blocks(LOCKING, "console").into_iter().flat_map(str::lines);
    for line in lines.map(|line| line.strip_prefix("$ allowexec ").unwrap()) {
        let output = reader.run(&reader.home, &line.split(' ').collect::<Vec<_>>());
        let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        assert_eq!(output.status.code(), Some(0), "{line}: {said}");
    }
    reader.checks(&["--config", file.to_str().unwrap()], &["ls -l", "cat x"], &[]);
    let lock = reader.home.join("allowexec.lock");
    let text = fs::read_to_string(&lock).unwrap();
    let size = text.split_once("  size: ").unwrap().1.lines().next().unwrap();
    fs::write(&lock, text.replacen(size, "1", 1)).unwrap();
    let checked = reader.run(&reader.home, &["lock", "--check", "--config", "allowexec.yaml"]);
    assert_eq!(checked.status.code(), Some(1), "{}", String::from_utf8_lossy(&checked.stdout));
    let output = reader.run(&reader.home, &["check", "--config", "allowexec.yaml", "--", "cat x"]);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    for part in [
        "is not what the lock file",
        "in the lock file, now",
        "if this update is meant, run `allowexec lock` again, and restart the server",
    ] {
        let as_shown = LOCKING.replace("\n> ", " ");
        assert!(said.contains(part) && as_shown.contains(part), "{part}: {said}");
    }
}

#[test]
fn variables_of_other_servers_are_answered_by_ours() {
    let reader = Reader::new();
    let mut command = Command::new(env!("CARGO_BIN_EXE_allowexec"));
    command.args(["doctor", "--json", "--allow", "ls"]).env_clear().env("PATH", "/usr/bin:/bin");
    command.current_dir(reader.project());
    let of_others = [
        "ALLOW_COMMANDS",
        "ALLOW_PATTERNS",
        "ALLOWED_DIR",
        "ALLOWED_FLAGS",
        "COMMAND_TIMEOUT",
        "ALLOW_SHELL_OPERATORS",
    ];
    let output = command.envs(of_others.map(|name| (name, "30"))).env("ALLOWED_DIR", "").output().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let warnings = report["warnings"].to_string();
    for name in of_others {
        // One that is empty is not set, and each has its place in the guide.
        let expected = name != "ALLOWED_DIR";
        assert_eq!(warnings.contains(&format!("`{name}` is a setting of ")), expected, "{name}: {warnings}");
        assert!(MIGRATING.contains(&format!("`{name}")), "{name}");
    }
    assert!(warnings.contains("use `ALLOWEXEC_TIMEOUT` or `--timeout`, with a unit (`30s`)"));
    // The server says so too when it starts.
    let mut server = Command::new(env!("CARGO_BIN_EXE_allowexec"));
    server.args(["--allow", "ls"]).env_clear().env("PATH", "/usr/bin:/bin").env("ALLOW_COMMANDS", "ls");
    let output = server.stdin(std::process::Stdio::null()).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("`ALLOW_COMMANDS` is a setting of mcp-shell-server"), "{said}");
}
