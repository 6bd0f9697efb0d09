//! The configurations and policies of README and the guide: each is used as it stands, with a reader's directories in place of
//! those that it shows.

#![cfg(target_os = "linux")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::{Value, json};

const README: &str = include_str!("../../README.md");
const RECIPES: &str = include_str!("../../spec/guide/recipes.md");
const MIGRATING: &str = include_str!("../../spec/guide/migrating.md");
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
        command.args(arguments).current_dir(directory).env_clear().env("PATH", "/usr/bin:/bin");
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
fn the_flags_of_readmes_recipes_say_the_same() {
    let reader = Reader::new();
    let (_, table) = README.split_once("| project | flags |\n|---|---|\n").unwrap();
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
fn readmes_configuration_is_sound() {
    let reader = Reader::new();
    let block = blocks(README, "yaml").into_iter().find(|block| block.contains("cwd_root")).unwrap();
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
