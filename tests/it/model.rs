//! What a model reads before it calls anything: how much it is, and what comes first.

use std::fs;
use std::path::Path;

use crate::support::Server;
use serde_json::{Value, json};

/// The answer to `tools/list` with these flags, in this directory.
fn tools(dir: &Path, args: &[&str]) -> Value {
    let mut server = Server::command(args).dir(dir).start();
    server.initialize("2025-11-25");
    server.request("tools/list", json!({}))["result"].clone()
}

fn tool<'a>(list: &'a Value, name: &str) -> &'a Value {
    list["tools"].as_array().unwrap().iter().find(|tool| tool["name"] == name).unwrap_or(&Value::Null)
}

#[cfg(unix)]
fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap()
}

#[test]
fn the_list_is_small_and_says_nothing_twice() {
    let dir = tempfile::tempdir().unwrap();
    // Only Linux can enforce the sandbox of some profiles, and without it no server starts with them.
    let profiles = match cfg!(target_os = "linux") {
        true => ["git-readonly,coreutils-readonly,cargo-check", "git-readonly,search,npm-scripts"],
        false => ["coreutils-readonly,search,ripgrep", "gh-readonly,kubectl-readonly,docker-readonly"],
    };
    for (args, most) in [
        (&["--allow", "ls,cat,git"][..], 6 * 1024),
        (&["--profile", profiles[0]], 9 * 1024),
        (&["--profile", profiles[1]], 9 * 1024),
    ] {
        let list = tools(dir.path(), args);
        let size = list.to_string().len();
        assert!(size <= most, "{size} bytes for {args:?}");
        // No paragraph stands in two descriptions, but for the names of the commands.
        let described = list["tools"].as_array().unwrap().iter().map(|tool| tool["description"].as_str().unwrap());
        let paragraphs = described.flat_map(str::lines).filter(|line| line.len() > 100 && !line.contains("ommands: "));
        let mut paragraphs: Vec<&str> = paragraphs.collect();
        let count = paragraphs.len();
        paragraphs.sort_unstable();
        paragraphs.dedup();
        assert_eq!(paragraphs.len(), count, "{args:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_sandbox_is_told_by_what_it_lets_commands_do() {
    let dir = tempfile::tempdir().unwrap();
    let root = fs::canonicalize(dir.path()).unwrap();
    let root = root.to_str().unwrap();
    let list = tools(dir.path(), &["--allow", "ls", "--sandbox", "strict", "--cwd-root", root, "--write", "/var/tmp"]);
    let description = tool(&list, "execute_command")["description"].as_str().unwrap();
    for told in [&format!("`{root}`"), "`/var/tmp`", "`$TMPDIR`", "no network"] {
        assert!(description.contains(told), "{told}: {description}");
    }
    for untold in ["Landlock", "seccomp", "ABI", "ioctl"] {
        assert!(!description.contains(untold), "{untold}: {description}");
    }
}

#[test]
fn the_projects_own_commands_come_first_and_named_scripts_are_listed() {
    let dir = tempfile::tempdir().unwrap();
    let policy = "version: 1\nprofiles: [coreutils-readonly]\ncommands:\n  npm: {subcommands: {run: {operands: [{one_of: [build, lint]}]}}}\n";
    fs::write(dir.path().join("policy.yaml"), policy).unwrap();
    let list = tools(dir.path(), &["--policy", "policy.yaml", "--allow", "mytool"]);
    let description = tool(&list, "execute_command")["description"].as_str().unwrap();
    assert!(description.contains("Allowed commands: mytool, npm, ls, cat"), "{description}");
    let lines = description.lines().skip_while(|line| !line.contains("no other arguments")).nth(1).unwrap();
    assert_eq!(lines, "  npm run (build|lint)");
}

// Its profile has a sandbox, which only Linux can enforce.
#[cfg(target_os = "linux")]
#[test]
fn commands_can_be_asked_about_with_their_subcommand() {
    let mut server = Server::start(&["--profile", "git-readonly", "--allow", "ls"]);
    server.initialize("2025-11-25");
    let mut ask = |command: &str| text(&server.call("list_commands", json!({"command": command}))).to_owned();
    let log = ask("git log");
    assert!(log.contains("git log ") && !log.contains("git show ") && !log.contains("\"ls\""), "{log}");
    assert!(log.contains("examples:"), "{log}");
    // Blanks don't count, and what is unknown of a command shows all of it.
    assert_eq!(ask("git  log "), log);
    assert!(ask("git nosuch").contains("git show "));
    assert!(ask("ls -l").contains("\"ls\": execute_command"));
    assert!(ask("rm -r").contains("command `rm` is not allowed"));
}

#[test]
fn a_tool_for_what_only_reads_is_there_where_some_commands_do_and_others_do_not() {
    for (args, is_there) in [
        (&["--allow", "ls,touch", "--read-only", "ls"][..], true),
        (&["--allow", "ls,touch"], false),
        (&["--allow", "ls", "--read-only", "ls"], false),
        (&["--allow", "*", "--read-only", "ls"], true),
        (&["--profile", "ripgrep"], false),
        (&["--profile", "ripgrep", "--allow", "make"], true),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let list = tools(dir.path(), args);
        let inspect = tool(&list, "inspect_command");
        assert_eq!(inspect.is_object(), is_there, "{args:?}");
        if is_there {
            assert_eq!(inspect["annotations"]["readOnlyHint"], true);
            assert_eq!(tool(&list, "execute_command")["annotations"]["readOnlyHint"], false);
        }
    }
}

#[cfg(unix)]
#[test]
fn it_runs_what_only_reads_and_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    let mut server = Server::command(&["--allow", "echo,touch,env", "--read-only", "echo"]).dir(dir.path()).start();
    server.initialize("2025-11-25");
    let mut inspect = |command: &str| server.call("inspect_command", json!({"command": command}));
    assert!(text(&inspect("echo a")).contains("stdout: |\n  a\n"));
    for other in [
        "touch made",
        "env touch made",
        "echo a && touch made",
        "echo a; touch made",
        "echo `touch made`",
        "/usr/bin/touch made",
        "rm x",
        "",
    ] {
        let refused = inspect(other);
        assert_eq!(refused["isError"], true, "{other}: {refused}");
    }
    assert_eq!(
        text(&inspect("touch made")),
        "`inspect_command` runs only what changes nothing: echo; call `touch` with `execute_command`"
    );
    assert!(!dir.path().join("made").exists());
    let call = std::process::Command::new(env!("CARGO_BIN_EXE_allowexec"))
        .args([
            "call",
            "inspect_command",
            "{\"command\":\"touch made\"}",
            "--allow",
            "echo,touch",
            "--read-only",
            "echo",
        ])
        .current_dir(dir.path())
        .status()
        .unwrap();
    assert_eq!(call.code(), Some(1));
    assert!(!dir.path().join("made").exists());
}
