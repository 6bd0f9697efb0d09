//! Presets of grants with the real tools, and what a call is told whose command the sandbox has refused something.
#![cfg(target_os = "linux")]

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::support::server::spawning;
use crate::support::world::{User, World, is_installed, text};

const LEVELS: [&str; 2] = ["workspace", "strict"];
const SYSTEM_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// A tool that reads a file of the home directory.
struct Tool {
    preset: &'static str,
    /// The program that must be there, and all that is allowed.
    allow: &'static str,
    file: String,
    holds: &'static str,
    line: &'static [&'static str],
    said: &'static str,
    /// Whether the tool says so where it may not read the file; some take it for missing.
    complains: bool,
}

fn tools() -> Vec<Tool> {
    let version =
        Command::new("/usr/bin/python3").args(["-c", "import sys; print('%d.%d' % sys.version_info[:2])"]).output();
    let version = version.map(|output| String::from_utf8(output.stdout).unwrap().trim().to_owned()).unwrap_or_default();
    vec![
        Tool {
            preset: "git",
            allow: "git",
            file: ".gitconfig".to_owned(),
            holds: "[user]\n\tname = Grace-41\n",
            line: &["git", "config", "user.name"],
            said: "Grace-41",
            complains: true,
        },
        Tool {
            preset: "rust",
            allow: "cargo",
            file: ".cargo/config.toml".to_owned(),
            holds: "[alias]\ngreet = \"version\"\n",
            line: &["cargo", "greet"],
            said: "cargo 1.",
            complains: true,
        },
        Tool {
            preset: "node",
            allow: "npm,node,sh",
            file: ".npmrc".to_owned(),
            holds: "greeting=hello-41\n",
            line: &["npm", "config", "get", "greeting"],
            said: "hello-41",
            complains: false,
        },
        Tool {
            preset: "python",
            allow: "python3",
            file: format!(".local/lib/python{version}/site-packages/greeting.py"),
            holds: "text = 'hello-41'\n",
            line: &["python3", "-c", "import greeting; print(greeting.text)"],
            said: "hello-41",
            complains: false,
        },
        Tool {
            preset: "go",
            allow: "go",
            file: ".config/go/env".to_owned(),
            holds: "GOPRIVATE=hello-41\n",
            line: &["go", "env", "GOPRIVATE"],
            said: "hello-41",
            complains: false,
        },
    ]
}

fn put(world: &World, file: &str, holds: &str) {
    let path = world.base.join("home").join(file);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, holds).unwrap();
}

#[test]
fn a_preset_lets_its_tool_use_its_files_and_without_it_the_hint_names_it() {
    let sysroot = Command::new("rustc").args(["--print", "sysroot"]).output();
    let sysroot = sysroot.map(|output| String::from_utf8(output.stdout).unwrap().trim().to_owned()).unwrap_or_default();
    for tool in tools() {
        let program = tool.line[0];
        let is_cargo = program == "cargo";
        let is_there = SYSTEM_PATH.split(':').any(|entry| Path::new(entry).join(program).is_file());
        if !(is_there || is_cargo && is_installed("rustc")) {
            eprintln!("{program} is not installed here, so nothing is shown of it");
            continue;
        }
        let toolchain: &[&str] = if is_cargo { &["--exec", &sysroot] } else { &[] };
        let path = if is_cargo { format!("{sysroot}/bin:{SYSTEM_PATH}") } else { SYSTEM_PATH.to_owned() };
        for level in LEVELS {
            for is_granted in [true, false] {
                let world = World::new();
                put(&world, &tool.file, tool.holds);
                let project = world.fill("[base]/project");
                let args = ["--sandbox", level, "--allow", tool.allow, "--project-dir", &project];
                let grant: &[&str] = if is_granted { &["--grant", tool.preset] } else { &[] };
                let args = [&args[..], toolchain, grant].concat();
                let mut server = world.command(User::Own, &args).env("PATH", &path).start();
                server.initialize("2025-06-18");
                let call = json!({"file": program, "args": tool.line[1..]});
                let output = text(&server.call("execute_process", call));
                let case = format!("{level}, granted: {is_granted}, {:?}: {output}", tool.line);
                assert_eq!(output.contains(tool.said), is_granted, "{case}");
                let hints = output.contains(&format!("ask the operator to add `--grant {}`", tool.preset));
                assert_eq!(hints, tool.complains && !is_granted, "{case}");
            }
        }
    }
}

/// A project of one language, and what its tool should do there.
struct Work {
    allow: &'static str,
    files: &'static [(&'static str, &'static str)],
    commands: &'static [&'static str],
    /// At `strict` they run from the temporary directory, where nothing is executed.
    not_strict: &'static [&'static str],
}

const WORK: [Work; 4] = [
    Work {
        allow: "npm",
        files: &[
            ("project/package.json", r#"{"name": "x", "version": "1.0.0", "scripts": {"test": "node -e 0"}}"#),
            ("home/.npmrc", "fund=false\n"),
        ],
        commands: &["npm --version", "npm test"],
        not_strict: &[],
    },
    Work {
        allow: "python3",
        files: &[("project/x.py", "")],
        commands: &["python3 -c 'import x, json'"],
        not_strict: &[],
    },
    Work {
        allow: "cargo",
        files: &[
            ("project/Cargo.toml", "[package]\nname = \"x\"\nversion = \"0.1.0\"\nedition = \"2021\"\n"),
            ("project/src/main.rs", "fn main() {}\n#[test]\nfn passes() {}\n"),
        ],
        commands: &["cargo check --offline", "cargo test --offline"],
        not_strict: &[],
    },
    Work {
        allow: "go",
        files: &[
            ("project/go.mod", "module x\n\ngo 1.19\n"),
            ("project/main.go", "package main\n\nfunc main() {}\n"),
            ("project/main_test.go", "package main\n\nimport \"testing\"\n\nfunc TestX(t *testing.T) {}\n"),
            ("home/.config/go/env", "GOFLAGS=-mod=mod\n"),
        ],
        commands: &["go version", "go build"],
        not_strict: &["go test"],
    },
];

/// The flags in the helps of `doctor`, one help after the other, until it has none; a directory that is to be made is made.
fn advised(base: &Path, path: &str, settings: &[&str]) -> Vec<String> {
    let mut flags: Vec<String> = Vec::new();
    loop {
        let mut doctor = Command::new(env!("CARGO_BIN_EXE_allowexec"));
        doctor.args(["doctor", "--json"]).args(settings).args(&flags).current_dir(base.join("project")).env_clear();
        let output = doctor.env("PATH", path).env("HOME", base.join("home")).output().unwrap();
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        let warnings = report["warnings"].as_array().unwrap().iter().map(|warning| warning.as_str().unwrap());
        let Some(advice) = warnings.into_iter().find(|warning| warning.contains("add `--")) else { return flags };
        let add = advice.split_once("add `").unwrap().1.split('`').next().unwrap();
        if let Some((_, made)) = advice.split_once("make `") {
            fs::create_dir_all(made.split('`').next().unwrap()).unwrap();
        } else if advice.contains("make that directory") {
            fs::create_dir_all(add.strip_prefix("--write ").unwrap()).unwrap();
        }
        assert!(!flags.join(" ").contains(add), "said twice: {advice}");
        flags.extend(add.split(' ').map(str::to_owned));
    }
}

#[test]
fn what_doctor_advises_makes_the_tools_work_at_each_level() {
    let sysroot = Command::new("rustc").args(["--print", "sysroot"]).output();
    let sysroot = sysroot.map(|output| String::from_utf8(output.stdout).unwrap().trim().to_owned()).unwrap_or_default();
    let path = format!("{sysroot}/bin:{SYSTEM_PATH}");
    for work in WORK {
        if !path.split(':').any(|entry| Path::new(entry).join(work.allow).is_file()) {
            eprintln!("{} is not installed here, so nothing is shown of it", work.allow);
            continue;
        }
        for level in LEVELS {
            let world = World::new();
            for (file, text) in work.files {
                let file = world.base.join(file);
                fs::create_dir_all(file.parent().unwrap()).unwrap();
                fs::write(file, text).unwrap();
            }
            let project = world.fill("[base]/project");
            let settings = ["--sandbox", level, "--allow", work.allow, "--project-dir", &project, "--timeout", "2m"];
            let flags = advised(&world.base, &path, &settings);
            let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
            let mut server = world.command(User::Own, &[&settings, &flags[..]].concat()).env("PATH", &path).start();
            server.initialize("2025-06-18");
            let not_strict = if level == "strict" { &[][..] } else { work.not_strict };
            for command in work.commands.iter().chain(not_strict) {
                let output = text(&server.call("execute_command", json!({"command": command})));
                assert!(output.starts_with("exit_code: 0\n"), "{level}, {command}, {flags:?}: {output}");
            }
        }
    }
}

#[test]
fn doctor_names_what_an_installation_of_ones_own_needs() {
    let world = World::new();
    let home = world.fill("[base]/home");
    for (program, preset) in [
        (".nvm/versions/node/v1/bin/node", "`--grant node`"),
        (".pyenv/versions/3/bin/python3", "`--grant python`"),
        ("sdk/go1/bin/go", "`--grant go`"),
        ("own/bin/node", "`--exec [base]/home/own`"),
    ] {
        put(&world, program, "#!/bin/sh\n");
        let file = world.base.join("home").join(program);
        fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let name = file.file_name().unwrap().to_str().unwrap();
        let mut doctor = Command::new(env!("CARGO_BIN_EXE_allowexec"));
        doctor.args(["doctor", "--json", "--sandbox", "workspace", "--allow", name, "--cwd-root", "project"]);
        doctor.current_dir(&world.base).env_clear().env("HOME", &home);
        let output = doctor.env("PATH", file.parent().unwrap()).output().unwrap();
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        let expected = format!("which the sandbox does not grant; add {}", world.fill(preset));
        let warnings = report["warnings"].as_array().unwrap();
        assert!(
            warnings.iter().any(|warning| warning.as_str().unwrap().ends_with(&expected)),
            "{program}: {warnings:#?}"
        );
    }
}

#[test]
fn a_preset_lets_nothing_be_written_and_gives_no_credentials() {
    for user in User::all() {
        for level in LEVELS {
            let world = World::new();
            put(&world, ".cargo/registry/index", "granted-41\n");
            put(&world, ".cargo/credentials.toml", "secret-41\n");
            put(&world, ".git-credentials", "secret-41\n");
            let mut server = world.server_of(user, level, "cat,cp", &["--grant", "git, rust,node,python,go"]);
            let mut run = |line: &str| text(&server.call("execute_command", json!({"command": world.fill(line)})));
            assert!(run("cat [base]/home/.cargo/registry/index").contains("granted-41"), "{user:?}, {level}");
            for secret in ["[base]/home/.cargo/credentials.toml", "[base]/home/.git-credentials"] {
                let output = run(&format!("cat {secret}"));
                assert!(!output.contains("secret-41"), "{user:?}, {level}: {output}");
                let named = output.contains("hint:")
                    && output.lines().any(|line| {
                        line.starts_with("hint:") && (line.contains("--read") || line.contains(&world.fill(secret)))
                    });
                assert!(
                    output.contains("the sandbox has probably refused this") && !named,
                    "{user:?}, {level}: {output}"
                );
            }
            let output = run("cp file [base]/home/.cargo/registry/new");
            assert!(!world.base.join("home/.cargo/registry/new").exists(), "{user:?}, {level}: {output}");
            assert!(output.contains("add `--write "), "{user:?}, {level}: {output}");
        }
    }
}

#[test]
fn a_hint_comes_by_every_way_that_a_failure_is_read() {
    let world = World::new();
    let denial = "curl: (6) Could not resolve host: a";
    let hint = "ask the operator to add `--network full`";
    for stream in ["1", "2"] {
        let line = format!("sh -c 'echo \"{denial}\" >&{stream}; exit 6'");
        let mut server = world.server("strict", "sh", &[]);
        let said = text(&server.call("execute_command", json!({"command": line})));
        assert!(said.contains(hint), "{said}");
        let begun = text(&server.call("execute_command", json!({"command": line, "background": true})));
        let call: u64 = begun.lines().find_map(|line| line.strip_prefix("call: ")).unwrap().parse().unwrap();
        let mut read =
            |wait: u64| text(&server.call("read_output", json!({"call": call, "wait_ms": wait, "until": "nothing"})));
        let said = read(20_000);
        assert!(said.contains("exit_code: 6") && said.contains(hint), "{said}");
        let list = text(&server.call("list_calls", json!({})));
        assert!(list.contains(hint), "{list}");
    }
}

#[test]
fn a_failure_within_a_line_gets_the_hint_of_the_sandbox_of_its_command() {
    let world = World::new();
    let project = world.fill("[base]/project");
    fs::create_dir_all(format!("{project}/sub")).unwrap();
    fs::write(format!("{project}/fails.sh"), "echo 'Error: listen EACCES: permission denied 127.0.0.1'; exit 1")
        .unwrap();
    fs::copy(format!("{project}/fails.sh"), format!("{project}/sub/fails.sh")).unwrap();
    let policy = world.base.join("rules.yaml");
    let rules = "commands:\n  sh: {operands: [{one_of: [fails.sh]}], sandbox: {level: workspace, network: none}}\n  \
                tail: any\n  cat: any\n  'true': {sandbox: {level: off}}\n";
    fs::write(&policy, rules).unwrap();
    let more = ["--policy", policy.to_str().unwrap(), "--lines", "on"];
    let mut server = world.server("workspace", "echo", &more);
    let mut hint = |line: &str| {
        let output = text(&server.call("execute_command", json!({ "command": line })));
        output.split_once("ask the operator to add ").map(|(_, grant)| grant.lines().next().unwrap().to_owned())
    };
    for line in [
        "sh fails.sh",
        "sh fails.sh 2>&1 | tail -5",
        "cd sub && sh fails.sh | tail -5",
        "sh fails.sh; true",
        "cat file && sh fails.sh",
        "sh fails.sh; cat file; echo x",
        "(sh fails.sh) | tail -5",
    ] {
        let hint = hint(line).unwrap_or_else(|| panic!("{line}: no hint"));
        assert!(hint.starts_with("`network: loopback`") && hint.contains("`sandbox` of its rule"), "{line}: {hint}");
    }
    // What the line itself deals with, and what did not fail.
    for line in ["sh fails.sh || true", "! sh fails.sh", "echo listen EACCES: permission denied"] {
        assert_eq!(hint(line), None, "{line}");
    }
    // Its redirections, and a line whose call runs in the background.
    assert!(hint("cat < /root/x | tail -5; echo x > /dev/null").is_none_or(|hint| !hint.contains("network")));
    let begun = text(&server.call("execute_command", json!({"command": "sh fails.sh | cat", "background": true})));
    let call: u64 = begun.lines().find_map(|line| line.strip_prefix("call: ")).unwrap().parse().unwrap();
    let read = json!({"call": call, "wait_ms": 20_000, "until": "nothing"});
    let said = text(&server.call("read_output", read));
    assert!(said.contains("`network: loopback`"), "{said}");
}

#[test]
fn without_a_sandbox_and_in_a_success_nothing_is_said_of_it() {
    let world = World::new();
    let denial = "sh -c 'echo /srv/x: Permission denied >&2; exit 1'";
    let hint_of = |level, line: &str| {
        let output = text(&world.server(level, "sh", &[]).call("execute_command", json!({"command": line})));
        output.contains("the sandbox has probably refused this")
    };
    assert!(hint_of("workspace", denial));
    assert!(!hint_of("off", denial));
    assert!(!hint_of("workspace", &denial.replace("exit 1", "exit 0")));
    let no_network = |more: &[&str]| {
        let line = "sh -c 'echo \"curl: (6) Could not resolve host: a\" >&2; exit 6'";
        let output = text(&world.server("strict", "sh", more).call("execute_command", json!({"command": line})));
        output.contains("ask the operator to add `--network full`")
    };
    assert!(no_network(&[]) && !no_network(&["--network", "full"]));
    // What a rule says counts for its calls.
    let policy = world.base.join("rules.yaml");
    let script = world.fill("[base]/project/fails.sh");
    fs::write(&script, "echo 'curl: (6) Could not resolve host: a' >&2; exit 6").unwrap();
    let by_rule = |level, sandbox: &str, more: &[&str]| {
        let rule = format!("{{operands: [{{one_of: ['{script}']}}], sandbox: {sandbox}}}");
        fs::write(&policy, format!("commands:\n  sh: {rule}\n")).unwrap();
        let more = [&["--policy", policy.to_str().unwrap()], more].concat();
        let output = text(
            &world.server(level, "true", &more).call("execute_command", json!({"command": format!("sh {script}")})),
        );
        assert!(output.contains("Could not resolve host"), "{output}");
        output.split_once("ask the operator to add ").map(|(_, grant)| grant.lines().next().unwrap().to_owned())
    };
    let of_server = Some("`--network full` (in a file: `network: full`)");
    let of_rule = Some("`network: full` to the `sandbox` of its rule");
    for (level, sandbox, more, expected) in [
        ("strict", "{level: strict, network: full}", &[][..], None),
        ("strict", "{level: workspace}", &[], None),
        ("strict", "{level: off}", &[], None),
        ("strict", "{level: strict}", &[], of_server),
        ("off", "{level: strict}", &[], of_server),
        ("off", "{level: strict}", &["--network", "full"], None),
        ("off", "{level: strict, network: none}", &[], of_rule),
        ("workspace", "{level: workspace, network: none}", &["--network", "full"], of_rule),
    ] {
        let said = by_rule(level, sandbox, more);
        assert_eq!(said.as_deref().map(|said| said.trim_end_matches(['"', '\''])), expected, "{level}, {sandbox}");
    }
    let retrying = "sh -c 'echo connect: Permission denied >&2; sleep 60'";
    let timed_out = json!({"command": retrying, "timeout_ms": 2000});
    let output = text(&world.server("strict", "sh,sleep", &[]).call("execute_command", timed_out));
    assert!(output.contains("ended after 2 s") && output.contains("add `--network full`"), "{output}");
    let mut shell = world.server("workspace", "sh", &["--tools", "shell"]);
    let output = text(&shell.call("sh", json!({"arguments": "-c 'echo /srv/x: Permission denied >&2; exit 1'"})));
    assert!(output.contains("ask the operator to add `--read /srv/x`"), "{output}");
}

#[test]
fn doctor_says_what_each_preset_grants() {
    let world = World::new();
    put(&world, ".gitconfig", "");
    put(&world, ".cargo/registry/index", "");
    put(&world, ".cargo/bin/tool", "");
    let doctor = |level: &str, home: &str| {
        let _no_child_inherits_it = spawning();
        let mut doctor = Command::new(env!("CARGO_BIN_EXE_allowexec"));
        doctor.args(["doctor", "--json", "--allow", "true", "--sandbox", level, "--grant", "git,rust,go"]);
        doctor.args(["--project-dir", "project"]);
        let output = doctor.env("HOME", home).current_dir(&world.base).output().unwrap();
        serde_json::from_slice::<Value>(&output.stdout).unwrap()
    };
    let report = doctor("workspace", world.base.join("home").to_str().unwrap());
    let says = |what: &str| {
        let row = report["platform"].as_array().unwrap().iter().find(|row| row["what"] == what);
        row.map(|row| row["how"].as_str().unwrap().to_owned()).unwrap_or_default()
    };
    assert_eq!(says("grant git"), world.fill("to be read: [base]/home/.gitconfig"));
    let rust = "to be read: [base]/home/.cargo/registry; to be read and executed: [base]/home/.cargo/bin";
    assert_eq!(says("grant rust"), world.fill(rust));
    assert_eq!(says("grant go"), "nothing of it is in the home directory");
    let setting = report["settings"].as_array().unwrap().iter().find(|row| row["name"] == "grant").unwrap();
    assert_eq!(setting["value"], "git, rust, go");
    // A home directory in the project, where a command can make a link for the next start.
    let home = world.base.join("project/home");
    fs::create_dir(&home).unwrap();
    std::os::unix::fs::symlink(world.base.join("outside"), home.join(".gitconfig")).unwrap();
    let problems = doctor("workspace", home.to_str().unwrap())["problems"].to_string();
    assert!(problems.contains("`--grant` names") && problems.contains("lies where commands may write"), "{problems}");
    let report = doctor("workspace", "nowhere");
    assert!(report["problems"].to_string().contains("`HOME` names none"), "{report}");
}
