//! What a rule relies on: that it decides whatever word leads to its program, and that programs read words as it does, whatever
//! the environment says.
#![cfg(unix)]

use std::fs;
use std::path::PathBuf;

use crate::support::Server;
use serde_json::json;

const POLICY: &str = "commands:\n  cat: {options: {-n: flag}, operands: [{path: read, count: '1..'}]}\n  \
    printenv: {operands: [{text: {}, count: '0..'}]}\n  env: any\n  \
    uniq: {options: {-c: flag}, operands: [{path: read}]}\n";

fn project() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let base = fs::canonicalize(dir.path()).unwrap();
    fs::create_dir(base.join("project")).unwrap();
    fs::write(base.join("secret"), "the secret\n").unwrap();
    fs::write(base.join("project/a"), "text of a\n").unwrap();
    fs::write(base.join("policy.yaml"), POLICY).unwrap();
    std::os::unix::fs::symlink("../secret", base.join("project/-n")).unwrap();
    std::os::unix::fs::symlink("../secret", base.join("project/-c")).unwrap();
    (dir, base)
}

/// Variables that change how programs read their words.
const READING: &[&str] = &[
    "POSIXLY_CORRECT",
    "_POSIX2_VERSION",
    "GREP_OPTIONS",
    "TAR_OPTIONS",
    "LS_OPTIONS",
    "RIPGREP_CONFIG_PATH",
    "GOFLAGS",
    "MAKEFLAGS",
    "XZ_OPT",
    "UNIX95",
    "GIT_GLOB_PATHSPECS",
];

/// Variables that change what programs print, or mean something to others.
const HARMLESS: &[&str] = &["BLOCKSIZE", "FIGNORE", "COLUMNS", "QUOTING_STYLE", "CARGO_HOME"];

#[test]
fn no_variable_changes_how_a_described_command_reads_its_words() {
    let (_dir, base) = project();
    let policy = base.join("policy.yaml");
    let all: Vec<&str> = READING.iter().chain(HARMLESS).copied().collect();
    let named: Vec<String> = all.iter().map(|name| format!("{name}=set")).collect();
    let with = |how: &[&str]| how.iter().map(|&word| word.to_owned()).collect::<Vec<String>>();
    let passes = |names: &[String]| names.iter().flat_map(|name| ["--env".to_owned(), name.clone()]).collect();
    let by_name: Vec<String> = all.iter().map(|&name| name.to_owned()).collect();
    let ways: [Vec<String>; 4] = [
        with(&["--inherit-env"]),
        passes(&by_name),
        passes(&named),
        with(&["--inherit-env", "--max-open-files", "99"]),
    ];
    for way in ways {
        let mut args = vec!["--policy", policy.to_str().unwrap(), "--project-dir", ".", "--tools", "all"];
        args.extend(way.iter().map(String::as_str));
        let mut server = Server::command(&args).dir(base.join("project"));
        for name in &all {
            server = server.env(name, "set");
        }
        let mut server = server.start();
        server.initialize("2025-06-18");
        let mut run = |line: &str| {
            let text = server.call("execute_command", json!({"command": line}))["content"][0]["text"].to_string();
            text.replace("\\n", "\n").replace("\\t", "\t")
        };
        for (line, expected) in [("cat a -n", "1\ttext of a"), ("uniq a -c", "1 text of a")] {
            let text = run(line);
            assert!(text.contains(expected) && !text.contains("secret"), "{way:?}, {line}: {text}");
        }
        for name in &all {
            let text = run(&format!("printenv {name}"));
            assert_eq!(text.contains("stdout: |\n  set\n"), HARMLESS.contains(name), "{way:?}, {name}: {text}");
        }
        // A command of which nothing is described gets them all.
        let text = run("env");
        assert!(all.iter().all(|name| text.contains(&format!("  {name}=set\n"))), "{way:?}: {text}");
        let text = server.call("printenv", json!({"arguments": "POSIXLY_CORRECT"}))["content"][0]["text"].to_string();
        assert!(text.contains("exit_code: 1") && !text.contains("  set"), "{way:?}, shell: {text}");
        assert_eq!(fs::read_to_string(base.join("secret")).unwrap(), "the secret\n");
        server.drain();
        server.wait_exit();
        let is_told = server.says("don't get `POSIXLY_CORRECT`, `_POSIX2_VERSION`");
        assert_eq!(is_told, way.contains(&"--env".to_owned()), "{way:?}: {}", server.stderr());
    }
}

#[test]
fn what_a_rule_sets_itself_reaches_its_command() {
    let (_dir, base) = project();
    let policy = base.join("policy.yaml");
    let rule = "commands:\n  printenv:\n    order: options_first\n    operands: [{text: {}}]\n    env: {set: {POSIXLY_CORRECT: own, TAR_OPTIONS: own}}\n";
    fs::write(&policy, rule).unwrap();
    let args = ["--policy", policy.to_str().unwrap(), "--env", "POSIXLY_CORRECT=x", "--inherit-env"];
    let mut server = Server::command(&args).env("TAR_OPTIONS", "x").dir(&base).start();
    server.initialize("2025-06-18");
    for name in ["POSIXLY_CORRECT", "TAR_OPTIONS"] {
        let text = server.call("execute_command", json!({"command": format!("printenv {name}")}))["content"][0]["text"]
            .to_string();
        assert!(text.contains("own"), "{name}: {text}");
    }
}

/// Words that lead to `deploy/preview`, from the project.
const SPELLINGS: &[&str] = &[
    "./deploy/preview",
    "deploy/preview",
    "././deploy/preview",
    "./deploy//preview",
    "./deploy/../deploy/preview",
    "deploy/./preview",
    "../project/deploy/preview",
    "./link",
    "./deploy/link",
    "./hard",
    "./directory/preview",
    "[base]/project/deploy/preview",
    "[base]/project/hard",
    "//[base]/project/deploy/../link",
];

#[test]
fn a_rule_belongs_to_its_file_and_not_to_a_spelling() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let (_dir, base) = project();
    let at = |name: &str| base.join("project").join(name);
    fs::create_dir(at("deploy")).unwrap();
    for name in ["deploy/preview", "other"] {
        let _quiet = crate::support::server::spawning();
        fs::write(at(name), "#!/bin/sh\necho it ran $*\n").unwrap();
        fs::set_permissions(at(name), fs::Permissions::from_mode(0o755)).unwrap();
    }
    symlink("deploy/preview", at("link")).unwrap();
    symlink("preview", at("deploy/link")).unwrap();
    symlink("deploy", at("directory")).unwrap();
    fs::hard_link(at("deploy/preview"), at("hard")).unwrap();
    let policy = base.join("rules.yaml");
    let file = at("deploy/preview");
    let rule = |name: &str, program: &str| {
        format!("commands:\n  {name}: {{program: {program}, operands: [{{one_of: [staging], count: '0..1'}}]}}\n")
    };
    fs::write(&policy, rule("preview", file.to_str().unwrap())).unwrap();
    fs::write(base.join("relative.yaml"), rule("preview", "deploy/preview")).unwrap();
    let policies = [policy.to_str().unwrap(), base.join("relative.yaml").to_str().unwrap()].map(str::to_owned);
    for (level, everything) in
        [("off", "--allow-project-commands"), ("strict", "--allow-project-commands"), ("off", "--allow=*")]
    {
        // Asked for, and nobody is there to say yes; or limited to one word.
        let asked = |name: &str| vec!["--ask".to_owned(), name.to_owned()];
        for how in [asked("./deploy/preview"), asked(file.to_str().unwrap())] {
            let how: Vec<&str> = how.iter().map(String::as_str).collect();
            assert_decided(&base, &[&["--sandbox", level, everything][..], &how].concat(), "");
        }
        for policy in &policies {
            assert_decided(&base, &["--sandbox", level, everything, "--policy", policy], " staging");
        }
    }
    // Where the server was started elsewhere, a relative path of a rule is one of the project too.
    let args = ["--allow-project-commands", "--project-dir", "project", "--policy", &policies[1]];
    let mut server = Server::command(&args).dir(&base).start();
    server.initialize("2025-06-18");
    let text = server.call("execute_command", json!({"command": "deploy/preview production"})).to_string();
    assert!(!text.contains("it ran"), "{text}");
}

/// Every spelling is decided by the rule: with `granted` the call runs, unless its file has another name there, and with another word
/// it does not.
fn assert_decided(base: &std::path::Path, args: &[&str], granted: &str) {
    let other = base.join("project/other");
    let more = ["--project-dir", ".", "--exec", other.to_str().unwrap(), "--exec", "/bin/sh"];
    let args = if args.contains(&"strict") { [args, &more].concat() } else { [args, &more[..2]].concat() };
    for revision in ["2025-06-18", ""] {
        let mut server = Server::command(&args).dir(base.join("project")).start();
        if !revision.is_empty() {
            server.initialize(revision);
        }
        let mut run = |line: &str| {
            let mut params = json!({"name": "execute_command", "arguments": {"command": line}});
            if revision.is_empty() {
                params["_meta"] = crate::support::modern_meta();
            }
            server.request("tools/call", params).to_string()
        };
        for spelling in SPELLINGS {
            let word =
                spelling.replace("//[base]", &format!("/{}", base.display())).replace("[base]", base.to_str().unwrap());
            let text = run(&format!("{word} production"));
            assert!(!text.contains("it ran"), "{args:?}, {word}: {text}");
            if !granted.is_empty() {
                let text = run(&format!("{word}{granted}"));
                // By another name the same file may do something else.
                assert_eq!(text.contains("it ran"), word.ends_with("preview"), "{args:?}, {word}: {text}");
            }
        }
        let text = run("./other production");
        assert!(text.contains("it ran production"), "{args:?}: {text}");
        assert!(!run("./deploy/preview/").contains("it ran"), "{args:?}");
    }
}

#[test]
fn a_rule_for_one_of_many_programs_in_a_file_is_for_that_name() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let (_dir, base) = project();
    {
        let _quiet = crate::support::server::spawning();
        fs::write(base.join("busybox"), "#!/bin/sh\necho it is ${0##*/}\n").unwrap();
        fs::set_permissions(base.join("busybox"), fs::Permissions::from_mode(0o755)).unwrap();
    }
    for name in ["echo", "basename"] {
        symlink("busybox", base.join(name)).unwrap();
    }
    let echo = base.join("echo");
    let args = ["--allow", "*", "--ask", echo.to_str().unwrap()];
    let mut server = Server::command(&args).dir(&base).start();
    server.initialize("2025-06-18");
    for (line, runs) in [("./basename x", true), ("./echo said", false), ("././echo said", false)] {
        let text = server.call("execute_command", json!({"command": line}))["content"][0]["text"].to_string();
        assert_eq!(text.contains("it is basename"), runs, "{line}: {text}");
    }
}

/// Of a program that is many in one file, a rule that describes arguments says only what they mean by its own name.
#[test]
fn a_file_by_another_name_is_not_read_as_the_command_of_its_rule() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let (_dir, base) = project();
    {
        let _quiet = crate::support::server::spawning();
        fs::write(base.join("many"), "#!/bin/sh\necho it is ${0##*/} $*\n").unwrap();
        fs::set_permissions(base.join("many"), fs::Permissions::from_mode(0o755)).unwrap();
    }
    fs::hard_link(base.join("many"), base.join("many-push")).unwrap();
    symlink("many", base.join("many-pull")).unwrap();
    let policy = base.join("many.yaml");
    fs::write(&policy, "commands: {many: {subcommands: {status: any, push: {decision: ask}}}}").unwrap();
    let policy = ["--policy", policy.to_str().unwrap()];
    let path = format!("{}:/usr/bin:/bin", base.display());
    for (args, lines) in [
        (
            policy.as_slice(),
            [("./many status", "it is"), ("./many-push status", "call `many`"), ("./many-pull", "call `many`")],
        ),
        (
            &["--ask", "many push"],
            [("./many push x", "approve"), ("./many push", "approve"), ("./many-push", "call `")],
        ),
        (&["--ask", "many"], [("./many", "approve"), ("./many-push", "approve"), ("./many-pull", "approve")]),
    ] {
        for everything in ["--allow=*", "--allow-project-commands"] {
            let args = [args, &[everything, "--project-dir", "."]].concat();
            let mut server = Server::command(&args).dir(&base).env("PATH", &path).start();
            server.initialize("2025-06-18");
            for (line, told) in lines {
                let text = server.call("execute_command", json!({"command": line}))["content"][0]["text"].to_string();
                assert!(text.contains(told), "{args:?} {line}: {text}");
                assert_eq!(text.contains("it is"), told == "it is", "{args:?} {line}: {text}");
            }
        }
    }
}

#[test]
fn an_interpreter_under_another_name_is_held_to_what_a_rule_for_it_must_say() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let (_dir, base) = project();
    let bin = base.join("bin");
    fs::create_dir(&bin).unwrap();
    symlink("/bin/sh", bin.join("linked")).unwrap();
    symlink("linked", bin.join("twice")).unwrap();
    crate::support::server::copy_program("/bin/sh", bin.join("copied"));
    fs::hard_link(bin.join("copied"), bin.join("hard")).unwrap();
    let script = |name: &str, text: &str| {
        let _quiet = crate::support::server::spawning();
        fs::write(bin.join(name), text).unwrap();
        fs::set_permissions(bin.join(name), fs::Permissions::from_mode(0o755)).unwrap();
    };
    script("hands_on", "#!/bin/sh\nexec sh \"$@\"\n");
    script("reads", "#!/bin/sh -s\n");
    script("sedish", "#!/usr/bin/sed -f\np\n");
    script("harmless", "#!/bin/sh\necho \"$@\"\n");
    fs::copy("/bin/true", bin.join("plain")).unwrap();
    fs::set_permissions(bin.join("plain"), fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:/usr/bin:/bin", bin.display());
    let said = |args: &[&str]| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_allowexec"));
        command.args(args).current_dir(&base).env_clear().env("PATH", &path);
        let output = command.stdin(std::process::Stdio::null()).output().unwrap();
        (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let policy = base.join("programs.yaml");
    let policy = policy.to_str().unwrap();
    for (name, is_known) in [
        ("linked", true),
        ("twice", true),
        ("copied", true),
        ("hard", true),
        ("hands_on", true),
        ("reads", true),
        ("sedish", true),
        ("harmless", false),
        ("plain", false),
    ] {
        let of_other = format!("other: {{program: {}, operands: [{{text: {{}}}}]}}", bin.join(name).display());
        for rule in [format!("{name}: {{operands: [{{text: {{}}}}]}}"), of_other] {
            fs::write(policy, format!("commands:\n  {rule}\n")).unwrap();
            let (starts, stderr) = said(&["--policy", policy]);
            // Of a language for texts, as sed, a free operand is only warned of.
            assert_eq!(starts, !is_known || name == "sedish", "{rule}: {stderr}");
            assert_eq!(stderr.contains("does not limit it"), is_known, "{rule}: {stderr}");
        }
        fs::write(policy, format!("commands:\n  {name}: {{operands: [{{one_of: [run.sh]}}]}}\n")).unwrap();
        let (starts, stderr) = said(&["--policy", policy]);
        assert!(starts && stderr.contains("under another name") == is_known, "{name}: {stderr}");
        let (starts, stderr) = said(&["--allow", name]);
        assert!(starts && stderr.contains("under another name, which runs any code") == is_known, "{name}: {stderr}");
    }
}

#[test]
fn no_path_to_be_written_is_what_the_server_or_an_agent_takes_instructions_from() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let (_dir, base) = project();
    let at = |name: &str| base.join("project").join(name);
    for place in [".claude", ".github/hooks", ".github/workflows", "conf", "bin", "sub/.VSCode", ".git"] {
        fs::create_dir_all(at(place)).unwrap();
    }
    fs::write(
        at("conf/policy.yaml"),
        "commands: {touch: {operands: [{path: write, count: '1..'}]}, './bin/tool': any, './bin/none': any}\n",
    )
    .unwrap();
    {
        let _quiet = crate::support::server::spawning();
        fs::write(at("bin/tool"), "#!/bin/sh\n").unwrap();
        fs::set_permissions(at("bin/tool"), fs::Permissions::from_mode(0o755)).unwrap();
    }
    fs::hard_link(at("conf/policy.yaml"), at("hard")).unwrap();
    fs::hard_link(at("bin/tool"), at("tool")).unwrap();
    symlink("conf/policy.yaml", at("soft")).unwrap();
    symlink(".claude", at("agent")).unwrap();
    for level in ["off", "strict"] {
        let args = ["--sandbox", level, "--policy", "conf/policy.yaml", "--audit", "conf/log", "--project-dir", "."];
        let mut server = Server::command(&args).dir(at("")).start();
        server.initialize("2025-06-18");
        let mut touch = |path: &str| {
            let text = server.call("execute_command", json!({"command": format!("touch {path}")}));
            text["content"][0]["text"].as_str().unwrap().to_owned()
        };
        for path in [
            ".claude/settings.json",
            ".claude",
            ".Claude/new",
            "agent/new",
            ".codex/x",
            ".cursor/mcp.json",
            ".gemini/x",
            ".vscode/tasks.json",
            "sub/.vscode/x",
            ".mcp.json",
            "sub/.mcp.json",
            "opencode.json",
            ".github/hooks/x",
            ".github/hooks",
            ".github",
            "conf/policy.yaml",
            "hard",
            "soft",
            "conf",
            "conf/log",
            "bin/tool",
            "tool",
            "bin/none",
            "src/../conf/policy.yaml",
            ".git/hooks/x",
        ] {
            let text = touch(path);
            assert!(!text.contains("exit_code"), "{level}, {path}: {text}");
        }
        for path in ["new", "conf/other", "bin/other", ".github/workflows/ci.yml", "claude", "a"] {
            let text = touch(path);
            assert!(text.contains("exit_code: 0"), "{level}, {path}: {text}");
        }
    }
}
