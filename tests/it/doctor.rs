//! `allowexec doctor`: a configuration that it calls sound serves calls, and it names what keeps another from it.

#![cfg(unix)]

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// The exit status, and the problems.
fn doctor(directory: &Path, arguments: &str) -> (i32, Vec<String>) {
    let (status, report) = report(directory, arguments);
    (status, sentences(&report["problems"]))
}

fn sentences(of: &Value) -> Vec<String> {
    of.as_array().unwrap().iter().map(|sentence| sentence.as_str().unwrap().to_owned()).collect()
}

fn report(directory: &Path, arguments: &str) -> (i32, Value) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_allowexec"));
    command.args(["doctor", "--json"]).args(arguments.split_whitespace()).current_dir(directory);
    let output = command.env_clear().env("PATH", "/usr/bin:/bin").output().unwrap();
    (output.status.code().unwrap(), serde_json::from_slice(&output.stdout).unwrap())
}

#[test]
#[cfg(target_os = "linux")]
fn what_a_command_can_prepare_for_a_later_start_or_call_is_a_warning() {
    let place = tempfile::tempdir().unwrap();
    let base = fs::canonicalize(place.path()).unwrap();
    fs::create_dir_all(base.join("inner/bin")).unwrap();
    let policy = "version: 1\ncommands:\n  ls: any\n";
    let confined = "version: 1\ncommands:\n  ls: {sandbox: {level: workspace}}\n";
    let files =
        [("inner/p.yaml", policy), ("p.yaml", policy), ("confined.yaml", confined), ("inner/c.yaml", "allow: ls\n")];
    for (file, text) in files {
        fs::write(base.join(file), text).unwrap();
    }
    fs::write(base.join("inner/ask.sh"), "#!/bin/sh\n").unwrap();
    fs::create_dir(base.join("read")).unwrap();
    std::os::unix::fs::symlink(base.join("p.yaml"), base.join("inner/link.yaml")).unwrap();
    let warned = |path: &str, arguments: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_allowexec"));
        command.args(["doctor", "--json", "--project-dir", "inner"]).args(arguments.split(' ')).current_dir(&base);
        let path = path.replace("[base]", base.to_str().unwrap());
        let output = command.env_clear().env("PATH", path).output().unwrap();
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        let warnings =
            sentences(&report["warnings"]).into_iter().filter(|warning| warning.ends_with("; keep it elsewhere"));
        warnings.collect::<Vec<_>>()
    };
    let clean = "/usr/bin:/bin";
    for (arguments, expected) in [
        (
            "--sandbox workspace --policy inner/p.yaml",
            Some("the policy `[base]/inner/p.yaml` lies where commands may write"),
        ),
        (
            "--sandbox strict --policy inner/link.yaml",
            Some("the policy `[base]/inner/link.yaml` is reached through the link"),
        ),
        ("--sandbox strict --config inner/c.yaml", Some("the configuration file `[base]/inner/c.yaml` lies where")),
        (
            "--sandbox strict --allow ls --ask date --ask-with inner/ask.sh",
            Some("the `--ask-with` file `[base]/inner/ask.sh` lies where commands may write"),
        ),
        ("--policy inner/p.yaml --policy confined.yaml", Some("the policy `[base]/inner/p.yaml` lies where")),
        (
            "--sandbox strict --allow ls --log-file inner/l.log",
            Some("the log file `inner/l.log` lies where commands may write"),
        ),
        ("--sandbox strict --allow ls --log-file l.log", None),
        (
            "--sandbox strict --allow ls --audit inner/a.jsonl",
            Some("the audit log `inner/a.jsonl` lies where commands may write, so a command can change"),
        ),
        (
            "--sandbox strict --allow ls --read read --audit read/a.jsonl",
            Some("the audit log `read/a.jsonl` lies where commands may read, so a command can keep it locked"),
        ),
        ("--sandbox strict --allow ls --read read --audit a.jsonl", None),
        (
            "--sandbox workspace --allow ls --audit /opt/none/a.jsonl",
            Some("the audit log `/opt/none/a.jsonl` lies where commands may read, so a command can keep it locked"),
        ),
        ("--sandbox strict --allow ls --audit /opt/none/a.jsonl", None),
        ("--allow ls --read read --audit read/a.jsonl", None),
        ("--sandbox workspace --policy p.yaml", None),
        ("--policy inner/p.yaml", None),
    ] {
        // One command is described twice in one of these cases, which is an error of its own.
        if arguments.contains("confined") {
            fs::write(base.join("inner/p.yaml"), policy.replace("ls", "cat")).unwrap();
        }
        let found = warned(clean, arguments);
        assert_eq!(found.len(), usize::from(expected.is_some()), "{arguments}: {found:?}");
        let expected = expected.map(|expected| expected.replace("[base]", base.to_str().unwrap()));
        assert!(expected.is_none_or(|expected| found[0].starts_with(&expected)), "{arguments}: {found:?}");
    }
    let found = warned("[base]/inner/bin:/usr/bin:/bin", "--allow ls --sandbox workspace");
    let expected =
        format!("the directory of `PATH` `{}/inner/bin` lies where commands may write, so a command", base.display());
    assert!(found.len() == 1 && found[0].starts_with(&expected), "{found:?}");
}

#[test]
#[cfg(target_os = "linux")]
fn roots_that_count_for_nothing_are_a_warning_with_the_flags_that_mend_it() {
    let place = tempfile::tempdir().unwrap();
    let advice = "name one with `--workspace-dir`, `--project-dir` or `--cwd-root`, or say `--roots ignore`";
    for (arguments, is_warned) in [
        ("--allow ls", false),
        ("--allow ls --sandbox workspace", true),
        ("--allow ls --sandbox strict", true),
        ("--allow-project-commands", true),
        ("--allow ls --sandbox workspace --roots ignore", false),
        ("--allow ls --sandbox workspace --workspace-dir .", false),
        ("--allow ls --sandbox workspace --project-dir .", false),
        ("--allow ls --sandbox workspace --cwd-root .", false),
    ] {
        let (_, report) = report(place.path(), arguments);
        let warnings = sentences(&report["warnings"]);
        let found = warnings.iter().any(|warning| warning.contains(advice));
        assert_eq!(found, is_warned, "{arguments}: {warnings:?}");
    }
}

#[test]
fn what_keeps_calls_from_being_served_is_a_problem_with_a_name() {
    let place = tempfile::tempdir().unwrap();
    let base = dunce::canonicalize(place.path()).unwrap();
    for directory in ["work/project", "other"] {
        fs::create_dir_all(base.join(directory)).unwrap();
    }
    fs::write(base.join("file"), "not a program").unwrap();
    fs::write(base.join("recorded"), "an earlier session").unwrap();
    let check = |arguments: &str, expected: &[&str]| {
        let (status, problems) = doctor(&base, arguments);
        assert_eq!(problems.len(), expected.len(), "{arguments}: {problems:?}");
        for (problem, part) in problems.iter().zip(expected) {
            assert!(problem.contains(part), "{arguments}: {problems:?}");
        }
        assert_eq!(status, i32::from(!expected.is_empty()), "{arguments}");
    };
    check("--allow ls", &[]);
    check("", &["no command is allowed"]);
    check("--allow ls,/bin/sh,./file", &["`./file` on the allow-list can't be executed"]);
    check("--allow-project-commands --project-dir work", &[]);
    let nothing = "`--allow-project-commands` allows nothing ";
    check("--allow ls --allow-project-commands", &[&format!("{nothing}without `--project-dir`, or")]);
    check("--allow ls --allow-project-commands --roots ignore", &[&format!("{nothing}with `--roots ignore` and")]);
    check("--allow ls --allow-project-commands --cwd-root work --tools shell", &[&format!("{nothing}with `--tools")]);
    check("--allow-project-commands", &["no command is allowed", nothing]);

    check("--allow ls --record new --audit new.jsonl --log-file new.log", &[]);
    assert!(!base.join("new.jsonl").exists() && !base.join("new.log").exists());
    check("--allow ls --audit file", &["the audit log `file` (`--audit`) can't be opened: it is not an audit log"]);
    check("--allow ls --audit none/a", &["the audit log `none/a` (`--audit`) can't be opened: No such file"]);
    check("--allow ls --log-file none/l", &["the log can't be written to `none/l`"]);
    check("--allow ls --audit new --audit-anchor ./none", &["`./none` of `--audit-anchor` was not found"]);
    check("--allow ls --audit-anchor cat", &["`--audit-anchor` keeps nothing without `--audit`"]);
    check("--allow ls --record recorded --record-force", &[]);
    check("--allow ls --record recorded", &["it exists already"]);
    check(
        "--allow ls --record /dev/null",
        &["can't record to `/dev/null` (`--record` or `ALLOWEXEC_RECORD`): it is a device"],
    );
    std::os::unix::fs::symlink(base.join("recorded"), base.join("link")).unwrap();
    check("--allow ls --record link", &["(`--record` or `ALLOWEXEC_RECORD`): it is a link; expected a regular file"]);
    check("--allow ls --record missing/new", &["can't record to `missing/new`"]);
    check("--allow ls --record file/new", &["can't record to `file/new`"]);
    check(
        "--allow ls --record other",
        &["can't record to `other` (`--record` or `ALLOWEXEC_RECORD`): it is a directory"],
    );
    check("--allow ls --record-required", &["`--record-required` records nothing without `--record`"]);
    assert_eq!(fs::read_to_string(base.join("recorded")).unwrap(), "an earlier session");
    assert!(!base.join("new").exists());

    check("--allow ls --tools shell", &[]);
    check("--allow ls --tools shell --shell ./file", &["the shell `./file` of `--shell` can't be executed"]);
    check("--allow ls --tools shell --shell missing", &["the shell `missing` of `--shell` was not found"]);
    // Nobody starts it.
    check("--allow ls --shell ./file", &[]);

    check("--allow ls --workspace-dir work --project-dir work/project --cwd-root work --cwd .", &[]);
    check("--allow ls --workspace-dir work --project-dir other", &["of `--project-dir` lies outside"]);
    check("--allow ls --workspace-dir work --project-dir work --cwd ..", &["of `--cwd` lies outside"]);
    check("--allow ls --project-dir work --cwd ..", &["of `--cwd` lies outside"]);
    check("--allow ls --workspace-dir work --cwd-root other", &["so every `cwd` is refused"]);
    check("--allow ls --workspace-dir work --cwd-root other,work/project", &[]);
    check("--allow ls --project-dir missing", &["can't be used"]);
    for (flags, expected) in [
        ("--cwd-root none", "so no call that names a `cwd` is served; name a directory that can be entered"),
        ("--cwd-root=", "so no call that names a `cwd` is served; name a directory, or leave the setting out"),
        ("--cwd none", "(os error 2); name a directory that can be entered"),
        ("--project-dir work --cwd ..", "within the project; name a directory within the project"),
    ] {
        let (_, problems) = doctor(&base, &format!("--allow ls {flags}"));
        assert!(problems.len() == 1 && problems[0].ends_with(expected), "{problems:?}");
    }
}

#[test]
fn a_value_of_any_length_and_content_is_shown_or_refused() {
    let place = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_allowexec"));
        command.arg("doctor").args(arguments).current_dir(place.path()).env_clear().env("PATH", "/usr/bin:/bin");
        let output = command.output().unwrap();
        (output.status.code().unwrap(), output.stdout, String::from_utf8(output.stderr).unwrap())
    };
    let (status, shown, error) = run(&["--allow", "ls", "--cwd", &"x".repeat(65_536)]);
    assert_eq!((status, error.as_str()), (1, ""));
    assert!(shown.len() > 65_536);
    let (status, _, error) = run(&["--allow", &"x".repeat(70_000)]);
    let expected = "allowexec: error: flag `--allow`: expected at most 65536 bytes, found 70000\n";
    assert_eq!((status, error.as_str()), (2, expected));
    let (_, shown, _) = run(&["--allow", "ls", "--cwd", "\u{1b}[2J\u{9b}\u{202e}\n"]);
    let shown = String::from_utf8(shown).unwrap();
    assert!(shown.contains(r"\u{1b}[2J\u{9b}\u{202e}\n"), "{shown}");
    assert!(!shown.contains(['\u{1b}', '\u{9b}', '\u{202e}']), "{shown}");
}

#[test]
#[cfg(target_os = "linux")]
fn what_is_risky_is_a_warning_that_says_what_to_change() {
    let place = tempfile::tempdir().unwrap();
    let base = dunce::canonicalize(place.path()).unwrap();
    fs::create_dir_all(base.join("home/.rustup/toolchains")).unwrap();
    fs::create_dir_all(base.join("home/.cargo/bin")).unwrap();
    fs::create_dir_all(base.join("work")).unwrap();
    let cargo = base.join("home/.cargo/bin/cargo");
    crate::support::server::copy_program("/bin/true", base.join("home/.cargo/bin/rustup"));
    std::os::unix::fs::symlink("rustup", &cargo).unwrap();
    let warned = |directory: &Path, arguments: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_allowexec"));
        command.args(["doctor", "--json"]).args(arguments.split_whitespace()).current_dir(directory).env_clear();
        command.env("PATH", format!("{}:/usr/bin:/bin", base.join("home/.cargo/bin").display()));
        let output = command.env("HOME", base.join("home")).output().unwrap();
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        (sentences(&report["warnings"]), report)
    };
    let work = base.join("work");
    let sound = "--allow ls --sandbox workspace --cwd-root . --cwd .";
    assert_eq!(warned(&work, sound).0, <[&str; 0]>::default());
    let sandboxed = "--allow ls --sandbox workspace";
    for (directory, arguments, expected) in [
        (
            work.as_path(),
            "--allow ls",
            "without a sandbox `ls` can read and write whatever the server's user can; add `--sandbox workspace`",
        ),
        (&work, "--allow ls --read /opt", "`--read` grants nothing without a sandbox"),
        (&work, "--allow ls --write /opt --grant git", "`--grant` grants nothing without a sandbox"),
        (
            &work,
            &format!("{sandboxed} --cwd-root . --write /"),
            "`--write /` lets commands read and write everything despite the sandbox; name",
        ),
        (&work, &format!("{sandboxed} --cwd-root . --exec /"), "`--exec /` lets commands read and execute everything"),
        (
            &work,
            &format!("{sandboxed} --cwd-root . --read ../home"),
            "`--read ../home` lets commands read your whole home directory",
        ),
        (
            &work,
            &format!("{sandboxed} --cwd-root ~/x"),
            "`--cwd-root ~/x` names a directory called `~`, since only a shell would expand it; write the whole \
                    path, such as",
        ),
        (
            Path::new("/"),
            &format!("{sandboxed} --cwd-root ."),
            "`--cwd-root .` is `/`, so it bounds nothing; some clients start servers in `/`",
        ),
        (&base.join("home"), &format!("{sandboxed} --project-dir ."), "`--project-dir .` is your home directory"),
        (
            &work,
            "--allow cargo --sandbox workspace --cwd-root .",
            "`cargo` is a shim of rustup, and the sandbox does not let it start the toolchain; add `--grant rust`",
        ),
    ] {
        let (warnings, _) = warned(directory, arguments);
        assert!(warnings.iter().any(|warning| warning.contains(expected)), "{arguments}: {warnings:#?}");
    }
    // The flags that it names mend it.
    let (warnings, _) = warned(&work, "--allow cargo --sandbox workspace --cwd-root .");
    let advice = warnings.iter().find(|warning| warning.contains("shim")).unwrap();
    let flags = advice.split('`').find(|part| part.starts_with("--grant")).unwrap();
    fs::write(base.join("home/.rustup/settings.toml"), "").unwrap();
    let mended = format!("--allow cargo --sandbox workspace --cwd-root . {flags}");
    let (warnings, _) = warned(&work, &mended);
    assert!(!warnings.iter().any(|warning| warning.contains("shim")), "{warnings:?}");
    // What holds nothing is named with the directory that it comes to.
    let (_, report) = warned(&work, sound);
    assert_eq!(report["directory"], work.to_str().unwrap());
}

#[test]
fn the_page_begins_with_what_a_person_came_for_and_has_colours_on_a_terminal_alone() {
    let place = tempfile::tempdir().unwrap();
    let directory = dunce::canonicalize(place.path()).unwrap();
    // Not every machine has it.
    let programs = tempfile::tempdir().unwrap();
    crate::support::server::copy_program("/usr/bin/true", programs.path().join("rg"));
    let path = format!("/usr/bin:/bin:{}", programs.path().display());
    let page = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_allowexec"));
        command.arg("doctor").args(arguments).current_dir(place.path()).env_clear();
        let output = command.env("PATH", &path).env("TERM", "xterm").output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let wide = page(&["--allow", "ls,no-such,cat", "--profile", "ripgrep"]);
    let (verdict, rest) = wide.split_once("\n\nallowed\n").unwrap();
    let verdict: Vec<&str> = verdict.lines().skip(2).collect();
    assert!(verdict[0].starts_with("not sound: 1 problem, "), "{wide}");
    assert!(verdict[1].starts_with("  error: ") && verdict[2].starts_with("  warning: "), "{wide}");
    assert!(rest.starts_with("  with any arguments: ls, no-such, cat\n  rg "), "{rest}");
    assert!(rest.contains(&format!("  calls run in      {}\n", directory.display())), "{rest}");
    assert!(!wide.contains('\u{1b}'));
    let programs: Vec<_> =
        rest.split_once("\nprograms\n").unwrap().1.lines().take_while(|line| !line.is_empty()).collect();
    assert!(programs[0].contains("/bin: ls, cat"), "{rest}");
    assert!(programs.contains(&"  no-such: not found"), "{rest}");
    // Only settings that somebody made are listed.
    assert!(rest.contains("\n  profile  ripgrep (flag `--profile`)\n") && !rest.contains("\n  max-output "), "{rest}");
    let project = page(&["--allow-project-commands", "--project-dir", "."]);
    assert!(project.contains("\nallowed\n  programs under the project directory, by their path\n"), "{project}");
}

#[test]
#[cfg(target_os = "linux")]
fn a_clients_file_that_cannot_start_this_program_is_a_warning_and_others_are_none() {
    let place = tempfile::tempdir().unwrap();
    let base = dunce::canonicalize(place.path()).unwrap();
    let (home, work) = (base.join("home"), base.join("project"));
    fs::create_dir_all(&work).unwrap();
    let binary = env!("CARGO_BIN_EXE_allowexec");
    let warned = |file: &str, text: &str| {
        let file = base.join(file);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        let text = text.replace("[work]", work.to_str().unwrap()).replace("[binary]", binary);
        fs::write(&file, &text).unwrap();
        let mut command = Command::new(binary);
        command.args(["doctor", "--json", "--allow", "ls", "--sandbox", "workspace", "--cwd-root", ".", "--cwd", "."]);
        command.current_dir(&work).env_clear().env("PATH", "/usr/bin:/bin").env("HOME", &home);
        let report: Value = serde_json::from_slice(&command.output().unwrap().stdout).unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), text);
        fs::remove_file(&file).unwrap();
        sentences(&report["warnings"])
    };
    let desktop = "home/.config/Claude/claude_desktop_config.json";
    let entry = |words: &str| format!(r#"{{"mcpServers": {{"mine": {words}}}}}"#);
    for (file, text, expected) in [
        (
            desktop,
            "{",
            Some(
                "Claude Desktop can't start the server of `[base]/home/.config/Claude/claude_desktop_config.json`: the file is not JSON",
            ),
        ),
        (
            desktop,
            &entry(r#"{"command": "[binary]", "args": ["--allow", "ls", "--cwd-root", "."]}"#),
            Some("it starts servers in `/`, so a relative directory is that one"),
        ),
        (
            desktop,
            &entry(r#"{"command": "[binary]", "args": ["--allow", "ls", "--cwd-root", "[work]", "--cwd", "[work]"]}"#),
            None,
        ),
        (
            desktop,
            &entry(r#"{"command": "/nowhere/allowexec", "args": []}"#),
            Some("its program `/nowhere/allowexec` was not found; `allowexec setup claude-desktop` prints what works"),
        ),
        (desktop, &entry(r#"{"command": "/nowhere/another", "args": []}"#), None),
        (
            "project/.mcp.json",
            &entry(r#"{"command": "allowexec", "args": []}"#),
            Some("its program `allowexec` was not found"),
        ),
        (
            "project/.cursor/mcp.json",
            &entry(r#"{"command": "[binary]", "args": ["--alow", "ls"]}"#),
            Some("Cursor can't start the server of `[base]/project/.cursor/mcp.json`: unknown flag `--alow`"),
        ),
        (
            "home/.gemini/settings.json",
            &entry(r#"{"command": "[binary]", "args": ["--config", "missing.yaml"]}"#),
            Some("missing.yaml"),
        ),
        (
            "home/.config/opencode/opencode.json",
            r#"{"mcp": {"mine": {"type": "local", "command": ["[binary]"]}}}"#,
            Some("no command is allowed"),
        ),
        ("home/.config/zed/settings.json", "// a comment\n{", None),
        (
            "project/.vscode/mcp.json",
            "// mine\n{\"servers\": {\"allowexec\": {}}}",
            Some(
                "the servers of VS Code in `[base]/project/.vscode/mcp.json` were not looked at, since the file is not plain JSON",
            ),
        ),
        (
            "home/.claude.json",
            r#"{"projects": {"[work]": {"mcpServers": {"mine": {"command": "[binary]", "args": ["--policy", "none.yaml"]}}}}}"#,
            Some("none.yaml"),
        ),
        (
            "home/.claude.json",
            r#"{"projects": {"/other": {"mcpServers": {"mine": {"command": "[binary]", "args": ["--policy", "none.yaml"]}}}}}"#,
            None,
        ),
        ("home/.claude.json", &entry(r#"{"command": "[binary]", "env": {"ALLOWED_COMMANDS": "ls"}}"#), None),
        ("home/.claude.json", &entry(r#"{"command": "[binary]", "args": ["record", "--", "other"]}"#), None),
        (
            "home/.claude.json",
            &entry(r#"{"command": "[binary]", "args": ["--allow", "ls", "--cwd-root", "/nowhere"]}"#),
            Some("`--cwd-root /nowhere` is not a directory"),
        ),
        // The entry's own directory.
        (
            desktop,
            &entry(r#"{"command": "[binary]", "args": ["--allow", "ls", "--cwd-root", "."], "cwd": "[work]"}"#),
            None,
        ),
        ("project/.mcp.json", &entry(r#"{"command": "../../allowexec", "cwd": "/"}"#), Some("was not found")),
        // No relative directory.
        (desktop, &entry(r#"{"command": "[binary]", "args": ["--allow", "ls", "--cwd-root", "/"]}"#), None),
        // What the client puts there, what it does not start, and what its variables may say.
        ("project/.cursor/mcp.json", &entry(r#"{"command": "${workspaceFolder}/allowexec"}"#), None),
        (
            "project/.mcp.json",
            &entry(r#"{"command": "[binary]", "args": ["--allow", "ls", "--cwd-root", "${HOME}/x"]}"#),
            None,
        ),
        (desktop, &entry(r#"{"command": "[binary]", "disabled": true}"#), None),
        ("project/opencode.json", r#"{"mcp": {"mine": {"command": ["[binary]"], "enabled": false}}}"#, None),
        ("project/opencode.json", r#"{"mcp": {"mine": {"command": ["[binary]", "{env:FLAG}"]}}}"#, None),
        (
            "project/opencode.json",
            r#"{"mcp": {"mine": {"command": ["[binary]"], "environment": {"ALLOWED_COMMANDS": "ls"}}}}"#,
            None,
        ),
    ] {
        let warnings = warned(file, text);
        match expected.map(|expected| expected.replace("[base]", base.to_str().unwrap())) {
            None => assert_eq!(warnings, <[&str; 0]>::default(), "{file}: {text}"),
            Some(expected) => assert!(warnings.len() == 1 && warnings[0].contains(&expected), "{file}: {warnings:#?}"),
        }
    }
    let many: Vec<String> =
        (0..40).map(|number| format!(r#""{number}": {{"command": "/nowhere/allowexec"}}"#)).collect();
    let warnings = warned(desktop, &format!(r#"{{"mcpServers": {{{}}}}}"#, many.join(",")));
    assert_eq!(warnings.len(), 16, "{warnings:#?}");
}

#[test]
#[cfg(target_os = "linux")]
fn calls_that_run_outside_of_the_roots_are_a_warning() {
    let place = tempfile::tempdir().unwrap();
    fs::create_dir(place.path().join("sub")).unwrap();
    for (arguments, is_warned) in [
        ("--allow ls --cwd-root sub", true),
        ("--allow ls --cwd-root sub --cwd sub", false),
        ("--allow ls --cwd-root sub --project-dir sub", false),
        ("--allow ls --cwd-root .", false),
        ("--allow ls", false),
    ] {
        let (_, report) = report(place.path(), arguments);
        let warnings = sentences(&report["warnings"]);
        let found = warnings.iter().any(|warning| warning.contains("outside of `--cwd-root`; add `--cwd "));
        assert_eq!(found, is_warned, "{arguments}: {warnings:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn what_is_not_there_of_a_profile_a_rule_and_a_list_is_named_by_doctor_and_serve() {
    let dir = tempfile::tempdir().unwrap();
    let bin = dir.path().join("bin");
    fs::create_dir(&bin).unwrap();
    std::os::unix::fs::symlink("/bin/ls", bin.join("ls")).unwrap();
    fs::write(dir.path().join("p.yaml"), "commands:\n  mine: {program: .venv/bin/mine, operands: []}\n").unwrap();
    let run = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_allowexec"));
        command.args(args).current_dir(dir.path()).env_clear().env("PATH", &bin).env("HOME", dir.path());
        let output = command.stdin(std::process::Stdio::null()).output().unwrap();
        [output.stdout, output.stderr].map(|said| String::from_utf8_lossy(&said).into_owned())
    };
    for (flags, name, is_problem) in [
        (&["--profile", "ripgrep"][..], "nothing of profile ripgrep was found in the directories of PATH: `rg`", true),
        (
            &["--profile", "coreutils-readonly"],
            "of profile coreutils-readonly, these were not found in the directories of PATH: `cat`",
            false,
        ),
        (
            &["--policy", "p.yaml"],
            "`mine` on the allow-list was not found: its program `.venv/bin/mine` is not there",
            true,
        ),
        (&["--allow", "ls,nosuch"], "`nosuch` on the allow-list was not found in the directories of PATH", true),
    ] {
        let [report, _] = run(&[&["doctor", "--json"], flags].concat());
        let report: Value = serde_json::from_str(&report).unwrap();
        let key = if is_problem { "problems" } else { "warnings" };
        assert!(report[key].to_string().contains(name), "{name}: {report:#}");
        let [_, log] = run(flags);
        assert!(log.contains(name), "{name}: {log}");
    }
    let [report, _] = run(&["doctor", "--json", "--allow", "ls"]);
    assert!(!report.contains("not found"), "{report}");
}
