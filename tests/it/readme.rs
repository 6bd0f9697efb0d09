//! What README shows is what happens: its console examples are run, and its configurations are accepted. `guide.rs` has the guide.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

const README: &str = include_str!("../../README.md");
const CONNECT: &str = include_str!("../../spec/guide/connect.md");

/// The fenced blocks of a page in this language.
fn blocks(page: &'static str, language: &str) -> Vec<&'static str> {
    let fence = format!("```{language}\n");
    page.split(&fence).skip(1).map(|rest| rest.split("```").next().unwrap_or_default()).collect()
}

/// Each command of the console examples, with the output that the page shows for it.
fn examples() -> Vec<(&'static str, String)> {
    let mut examples: Vec<(&'static str, String)> = Vec::new();
    for line in blocks(README, "console").into_iter().flat_map(str::lines) {
        match line.strip_prefix("$ ") {
            Some(command) => examples.push((command, String::new())),
            None => {
                let (_, output) = examples.last_mut().expect("a block begins with a command");
                output.push_str(line);
                output.push('\n');
            }
        }
    }
    examples
}

/// The words of an example behind the program's name, where it is this program that it runs.
fn own_arguments(command: &str) -> Option<Vec<String>> {
    let arguments = command.strip_prefix("cargo run -- ").or(command.strip_prefix("allowexec "))?;
    Some(shlex::split(arguments).expect("balanced quotes"))
}

fn allowexec(arguments: &[String], directory: &Path) -> std::process::Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_allowexec"));
    command.current_dir(directory);
    command.args(arguments).env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.output().expect("the binary runs")
}

#[test]
fn the_examples_print_what_readme_shows() {
    if cfg!(windows) {
        // As `spec/platforms.md` says.
        println!("not run: the examples run `echo` and `ls`, which Windows has only within its shell");
        return;
    }
    let mut run = 0;
    // What is about a project of the reader's is run in one.
    let project = tempfile::tempdir().expect("a directory");
    std::fs::write(project.path().join("Cargo.toml"), "[package]\nname = \"x\"\nversion = \"0.1.0\"\n")
        .expect("a file");
    for (command, expected) in examples() {
        let Some(arguments) = own_arguments(command) else { continue };
        let is_in_project = arguments.iter().any(|argument| argument == "init" || argument == "allowexec.yaml");
        let directory = if is_in_project { project.path() } else { Path::new(env!("CARGO_MANIFEST_DIR")) };
        let output = allowexec(&arguments, directory);
        assert_ne!(output.status.code(), Some(2), "{command}: {}", String::from_utf8_lossy(&output.stderr));
        if !expected.is_empty() {
            assert_eq!(String::from_utf8_lossy(&output.stdout), expected, "{command}");
        }
        run += 1;
    }
    assert!(run >= 4, "README has lost its examples");
}

#[test]
fn it_is_read_in_two_minutes_and_sends_nobody_to_a_registry_that_has_no_package() {
    assert!(README.lines().count() <= 160, "{} lines", README.lines().count());
    let pages = [README, CONNECT, include_str!("../../spec/guide/install.md")];
    for command in [
        "cargo install allowexec",
        "npx allowexec",
        "npm install -g allowexec",
        "pip install allowexec",
        "uvx allowexec",
    ] {
        assert!(pages.iter().all(|page| !page.contains(command)), "{command}");
    }
}

#[test]
fn the_test_command_is_the_one_that_ci_calls() {
    let ci = include_str!("../../.ci/run");
    assert!(examples().iter().any(|(command, _)| *command == "cargo test"));
    let mut behind = ci.lines().skip_while(|line| !line.starts_with("# The test command of README."));
    let step = behind.nth(1).unwrap_or_default();
    // How many tests run at once may stand in front.
    assert!(step.ends_with("step 1500 cargo test") && !step.contains('#'), "{step}");
}

#[test]
fn the_configurations_start_the_server() {
    let [json, _requests] = blocks(CONNECT, "json")[..] else { panic!("the page has other JSON") };
    let config: Value = serde_json::from_str(json).expect("JSON");
    let server = &config["mcpServers"]["allowexec"];
    assert_eq!(server["command"], "allowexec");
    let arguments = server["args"].as_array().expect("arguments").iter();
    let servers: [Vec<String>; 1] =
        [arguments.map(|argument| argument.as_str().expect("a string").to_owned()).collect()];
    // The file that this one names is the example of YAML, which `guide.rs` runs.
    let line = blocks(CONNECT, "toml")[0].lines().find_map(|line| line.strip_prefix("args = ")).expect("arguments");
    let arguments: Vec<String> = serde_json::from_str(line).expect("an array of strings");
    assert_eq!(arguments[0], "--config");
    for arguments in servers {
        let mut arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        // Elsewhere the sandbox of the examples can't be enforced, and the server says so and does not start.
        if !cfg!(target_os = "linux") {
            arguments.push("--sandbox-best-effort");
        }
        let mut server = crate::support::Server::start(&arguments);
        server.initialize("2025-06-18");
        let listed = server.request("tools/list", serde_json::json!({}));
        assert_eq!(listed["result"]["tools"][0]["name"], "execute_command", "{arguments:?}");
    }
}
