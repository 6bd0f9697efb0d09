//! The variables that calls may change in the persistent shell: with rules only those that the operator names.
#![cfg(unix)]

use std::fs;

use crate::shell::shells;
use crate::support::{Server, modern_meta};
use serde_json::{Value, json};

/// Builtins that change variables, and programs that show them.
const ALLOWED: &str =
    "export,readonly,unset,read,getopts,set,cd,echo,printenv,alias,declare,typeset,local,printf,let,mapfile,env";

/// What makes programs start others, read another configuration, or find other files; and a name that nobody has thought of.
const NAMES: &[&str] = &[
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_SSH_COMMAND",
    "HOME",
    "XDG_CONFIG_HOME",
    "RIPGREP_CONFIG_PATH",
    "MAKEFILES",
    "GOFLAGS",
    "RSYNC_RSH",
    "PAGER",
    "PATH",
    "LD_PRELOAD",
    "PYTHONPATH",
    "LANG",
    "TMPDIR",
    "home",
    "Z_9",
    "_",
];

/// The ways to limit commands, each with a file of rules at hand.
fn limits(rules: &str) -> Vec<Vec<&str>> {
    vec![
        vec!["--ask", "tool"],
        vec!["--ask", "tool sub"],
        vec!["--allow", "tool sub"],
        vec!["--profile", "git-readonly"],
        vec!["--policy", rules],
    ]
}

struct Session {
    dir: tempfile::TempDir,
    server: Server,
    is_modern: bool,
}

impl Session {
    fn start(is_modern: bool, shell: &str, args: &[&str]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let rules = dir.path().join("rules.yaml");
        fs::write(&rules, RULES).unwrap();
        let rules = rules.display().to_string();
        let args: Vec<&str> = args.iter().map(|arg| if *arg == "RULES" { rules.as_str() } else { arg }).collect();
        let all =
            [&["--tools", "shell", "--shell", shell, "--allow", ALLOWED, "--log", "off"], args.as_slice()].concat();
        let mut server = Server::command(&all).dir(dir.path()).env("HOME", dir.path()).start();
        if !is_modern {
            server.initialize("2025-06-18");
        }
        Self { dir, server, is_modern }
    }

    fn call(&mut self, tool: &str, arguments: &str) -> (String, bool) {
        let mut params = json!({"name": tool, "arguments": {"arguments": arguments}});
        if self.is_modern {
            params["_meta"] = modern_meta();
        }
        let result: Value = self.server.request("tools/call", params)["result"].clone();
        (
            result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{result}")).to_owned(),
            result["isError"] == true,
        )
    }

    /// What the programs of the shell get, without what the shell itself counts.
    fn environment(&mut self) -> String {
        let (text, is_error) = self.call("printenv", "");
        assert!(!is_error, "{text}");
        text
    }
}

const RULES: &str = "version: 1\ncommands:\n  git: {operands: [{one_of: [status]}], decision: allow}\n";

/// Every way to change this variable.
fn changes(name: &str) -> Vec<(&'static str, String)> {
    vec![
        ("export", format!("{name}=x")),
        ("export", name.to_owned()),
        ("export", format!("A_B_C {name}=x")),
        ("export", format!("-- {name}=x")),
        ("export", format!("'{name}=a b'")),
        ("readonly", format!("{name}=x")),
        ("readonly", name.to_owned()),
        ("unset", name.to_owned()),
        ("unset", format!("-v {name}")),
        ("read", name.to_owned()),
        ("read", format!("-r {name}")),
        ("getopts", format!("ab {name} -a")),
        ("export", format!("{name}+=x")),
        ("export", format!("-n {name}")),
        ("set", format!("-a {name}=x")),
        ("alias", format!("{name}=x")),
        ("declare", format!("-x {name}=x")),
        ("typeset", format!("-x {name}=x")),
        ("printf", format!("-v {name} x")),
        ("mapfile", name.to_owned()),
    ]
}

#[test]
fn where_rules_limit_commands_no_variable_is_changed_but_those_that_the_operator_names() {
    let shells = shells();
    for (is_modern, shell) in [false, true].into_iter().flat_map(|era| shells.iter().map(move |shell| (era, shell))) {
        // The limits are found out without the shell.
        let all = if *shell == shells[0] { usize::MAX } else { 1 };
        for limit in limits("RULES").into_iter().take(all) {
            let mut session = Session::start(is_modern, shell.to_str().unwrap(), &limit);
            let before = session.environment();
            for (tool, arguments) in NAMES.iter().flat_map(|name| changes(name)) {
                let said = session.call(tool, &arguments);
                // Programs that have the name of a builtin change nothing here; the environment says so.
                if ["export", "readonly", "unset", "read", "getopts"].contains(&tool) {
                    assert!(said.1, "{limit:?}: {tool} {arguments}: {said:?}");
                }
            }
            let named = session.call("export", "GIT_DIR=x").0;
            assert!(named.contains("none can") && named.contains("`--line-env`"), "{named}");
            assert_eq!(session.environment(), before, "{limit:?}, {}", shell.display());
            // What shows something, or sets what no program gets, is done.
            for (tool, arguments) in
                [("export", "-p"), ("readonly", ""), ("set", "-- a b"), ("cd", "."), ("echo", "A=b")]
            {
                assert!(!session.call(tool, arguments).1, "{tool}");
            }
            let mut more = limit.clone();
            more.extend(["--line-env", "GREETING,PAGER", "--line-env", "_A1"]);
            let mut session = Session::start(is_modern, shell.to_str().unwrap(), &more);
            let before = session.environment();
            for (tool, arguments) in NAMES.iter().filter(|name| **name != "PAGER").flat_map(|name| changes(name)) {
                session.call(tool, &arguments);
            }
            let refused = session.call("export", "GREETING=x GIT_DIR=y").0;
            assert!(refused.contains("`GIT_DIR`") && refused.contains("only GREETING, PAGER, _A1 can"), "{refused}");
            assert_eq!(session.environment(), before, "{limit:?}");
            for name in ["GREETING", "PAGER", "_A1"] {
                assert!(!session.call("export", &format!("{name}=good")).1, "{name}");
                assert!(session.call("printenv", name).0.contains("good"), "{name}");
                assert!(!session.call("unset", name).1, "{name}");
            }
            // In part is not the name.
            for name in ["GREETIN", "GREETINGS", "greeting", "_A"] {
                assert!(session.call("export", &format!("{name}=x")).1, "{name}");
            }
        }
    }
}

#[test]
fn what_the_operator_names_counts_without_rules_too_and_alone() {
    for is_modern in [false, true] {
        let mut session = Session::start(is_modern, "/bin/sh", &["--line-env", "PAGER"]);
        assert!(!session.call("export", "PAGER=x").1);
        for name in ["HOME", "GREETING", "GIT_DIR"] {
            assert!(session.call("export", &format!("{name}=x")).1, "{name}");
        }
        // Without both, all that no known program takes code from. A rule that allows anything limits nothing.
        fs::write(session.dir.path().join("any.yaml"), "version: 1\ncommands: {ls: any}\n").unwrap();
        let any = session.dir.path().join("any.yaml").display().to_string();
        for args in [vec![], vec!["--policy", &any]] {
            let mut session = Session::start(is_modern, "/bin/sh", &args);
            assert!(!session.call("export", "GREETING=x HOME=/").1, "{args:?}");
            assert!(session.call("export", "PAGER=x").1, "{args:?}");
        }
    }
}

#[test]
fn a_rule_is_not_gone_round_by_a_variable() {
    if std::process::Command::new("git").arg("--version").output().is_err() {
        return eprintln!("not tested: there is no git");
    }
    for is_modern in [false, true] {
        let mut session = Session::start(is_modern, "/bin/sh", &["--allow", "git status"]);
        let dir = session.dir.path().to_owned();
        let git = |args: &[&str]| {
            assert!(std::process::Command::new("git").args(args).current_dir(&dir).status().unwrap().success());
        };
        git(&["init", "-q", "."]);
        git(&["init", "-q", "evil"]);
        git(&["-C", "evil", "config", "core.fsmonitor", &format!("touch {}; true", dir.join("ran").display())]);
        session.call("export", &format!("GIT_DIR={}", dir.join("evil/.git").display()));
        let (text, is_error) = session.call("git", "status");
        assert!(!is_error, "{text}");
        assert!(!dir.join("ran").exists(), "{text}");
    }
}

#[test]
fn the_operator_is_warned_of_builtins_that_change_nothing() {
    let warned = |args: &[&str]| {
        let args = [&["--tools", "shell", "--allow", "export,read,echo"], args].concat();
        let mut server = Server::start(&args);
        server.initialize("2025-06-18");
        server.drain();
        server.wait_exit();
        let log = server.stderr();
        ["export", "read", "echo"].map(|name| log.contains(&format!("`{name}` changes no variable")))
    };
    assert_eq!(warned(&["--ask", "tool"]), [true, true, false]);
    assert_eq!(warned(&["--ask", "tool", "--line-env", "A"]), [false; 3]);
    assert_eq!(warned(&[]), [false; 3]);
}
