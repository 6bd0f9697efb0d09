//! Files that no call writes, whatever a rule says: what runs on the operator's behalf, what leads there, and what it leaves.

#![cfg(unix)]

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

const POLICY: &str = "commands: {cp: {operands: [{path: read}, {path: write}]}, mv: {operands: [{path: write, count: '2..'}]}, \
                      rm: {options: {'-r': flag}, operands: [{path: write, count: '1..'}]}}\n";

/// A project with links to programs and policies.
struct Place(TempDir);

impl Place {
    fn new() -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        for directory in ["eslint", "node_modules/.bin", "bin", "etc", "conf", "logs", "y", "fix/.claude", "sub"] {
            fs::create_dir_all(place.at(directory)).unwrap();
        }
        let _quiet = crate::support::server::spawning();
        for file in ["ask.sh", "anchor.sh", "shell.sh", "eslint/e.js", "evil", "y/eslint"] {
            fs::write(place.at(file), "#!/bin/sh\necho hello\n").unwrap();
            fs::set_permissions(place.at(file), fs::Permissions::from_mode(0o755)).unwrap();
        }
        for file in ["conf/real.yaml", "logs/au.log.1", "s-1-2.transcript", "server.log", "plain", "logs/other"] {
            fs::write(place.at(file), POLICY).unwrap();
        }
        fs::write(place.at("fix/.claude/settings.json"), "{}").unwrap();
        symlink("../../eslint/e.js", place.at("node_modules/.bin/eslint")).unwrap();
        symlink("../conf/real.yaml", place.at("etc/pol.yaml")).unwrap();
        symlink("/usr/bin/true", place.at("bin/link")).unwrap();
        symlink("node_modules", place.at("modules")).unwrap();
        place
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.path().canonicalize().unwrap().join(name)
    }

    /// What `check` says of a line.
    fn check(&self, flags: &[&str], line: &str) -> String {
        let mut command = Command::new(env!("CARGO_BIN_EXE_allowexec"));
        let path = format!("{}:/usr/bin:/bin", self.at("bin").display());
        command.env_clear().env("PATH", path).current_dir(self.at(""));
        command.args(["check", "--log", "off", "--project-dir", "."]).args(flags).args(["--", line]);
        let output = command.output().unwrap();
        String::from_utf8(output.stdout).unwrap() + &String::from_utf8_lossy(&output.stderr)
    }
}

#[test]
fn nothing_replaces_what_the_operator_lets_run_or_the_way_to_it() {
    let place = Place::new();
    let at = |name: &str| place.at(name).to_str().unwrap().to_owned();
    let (ask, anchor, script) = (at("ask.sh"), at("anchor.sh"), format!("/bin/sh {}", at("ask.sh")));
    let policy = ["--policy", "etc/pol.yaml"];
    let rows: &[(&[&str], &[&str], &[&str])] = &[
        (&["--ask", "true", "--ask-with", &ask], &["cp evil ask.sh", "rm ask.sh"], &["cp evil anchor.sh"]),
        (&["--ask", "true", "--ask-with", &script], &["cp evil ask.sh"], &["cp evil anchor.sh"]),
        (&["--audit", "logs/au.log", "--audit-anchor", &anchor], &["cp evil anchor.sh"], &["cp evil ask.sh"]),
        (&["--tools", "shell", "--shell", "./shell.sh"], &["mv y/eslint shell.sh"], &["cp evil ask.sh"]),
        (
            &["--allow", "node_modules/.bin/eslint"],
            &[
                "mv y/eslint node_modules/.bin",
                "mv node_modules sub",
                "cp evil eslint/e.js",
                "rm node_modules/.bin/eslint",
            ],
            &["mv y/eslint sub", "mv y/eslint bin"],
        ),
        (
            &["--allow", "modules/.bin/eslint"],
            &["mv node_modules sub", "mv y/eslint node_modules/.bin"],
            &["mv y/eslint sub"],
        ),
        (&[], &["mv y/eslint etc", "rm -r etc", "mv etc sub", "mv conf sub"], &["cp evil etc/new", "rm -r y"]),
        (&["--allow", "bin/link"], &["mv bin zz", "rm -r bin", "mv plain bin"], &["cp evil bin/other"]),
        (&["--allow", "eslint"], &["cp evil bin/eslint", "mv y/eslint bin", "mv bin zz"], &["cp evil bin/other"]),
    ];
    for (flags, refused, allowed) in rows {
        let flags = [&policy[..], flags].concat();
        for line in *refused {
            let said = place.check(&flags, line);
            assert!(said.contains("reads from it what to run, or runs it"), "{flags:?}, {line}: {said}");
        }
        for line in *allowed {
            let said = place.check(&flags, line);
            assert!(said.starts_with("allowed\n"), "{flags:?}, {line}: {said}");
        }
    }
}

#[test]
fn nothing_writes_what_the_server_has_logged_or_recorded() {
    let place = Place::new();
    let rows: &[(&[&str], &[&str], &[&str])] = &[
        (
            &["--audit", "logs/au.log", "--audit-max-size", "1MiB"],
            &["rm logs/au.log.1", "cp evil logs/au.log.2", "mv plain logs/au.log.7.gz", "rm -r logs"],
            &["cp evil logs/other", "cp evil au.log.1"],
        ),
        (
            &["--record", "s-%t-%p.transcript"],
            &["rm s-1-2.transcript", "cp evil s-2-3.transcript"],
            &["cp evil other.transcript", "cp evil sub/s-1-2.transcript"],
        ),
        (&["--record", "%t"], &["cp evil 20260102T030405.123Z"], &["cp evil other"]),
        (&["--record", "logs/%p-%t"], &["cp evil logs/17-20260102T030405.123Z"], &["cp evil logs/new"]),
        (&["--record", "logs/%c"], &["rm logs/other", "cp evil logs/new"], &["cp evil other"]),
        (&["--log-file", "server.log"], &["rm server.log", "cp evil server.log"], &["cp evil other.log"]),
    ];
    for (flags, refused, allowed) in rows {
        let flags = [&["--policy", "conf/real.yaml"], *flags].concat();
        for line in *refused {
            let said = place.check(&flags, line);
            assert!(said.contains("reads from it what to run, or runs it"), "{flags:?}, {line}: {said}");
        }
        for line in *allowed {
            let said = place.check(&flags, line);
            assert!(said.starts_with("allowed\n"), "{flags:?}, {line}: {said}");
        }
    }
}

#[test]
fn a_directory_that_holds_what_agents_read_stays_where_it_is() {
    let place = Place::new();
    fs::write(place.at("fix/.mcp.json"), "{}").unwrap();
    symlink("plain", place.at("y/.mcp.json")).unwrap();
    for line in [
        "mv fix sub",
        "rm -r fix",
        "mv plain fix",
        "cp fix/.mcp.json sub",
        "cp y/.mcp.json sub",
        "mv sub/.husky/x sub",
        "cp plain none/.husky/x",
        "mv plain none/deep/.envrc",
        "cp fix/.mcp.json none/deep",
    ] {
        let said = place.check(&["--policy", "conf/real.yaml"], line);
        assert!(said.contains("an agent reads from it what to run"), "{line}: {said}");
    }
    for line in ["cp evil fix/new", "mv sub other", "cp fix/.mcp.json sub/new", "cp evil sub", "cp evil none/deep"] {
        let said = place.check(&["--policy", "conf/real.yaml"], line);
        assert!(said.starts_with("allowed\n"), "{line}: {said}");
    }
}

#[test]
fn an_entry_for_the_file_of_a_described_command_is_decided_by_its_rule() {
    let place = Place::new();
    let rm = ["/usr/bin/rm", "/bin/rm"].into_iter().find(|rm| Path::new(rm).is_file()).unwrap();
    symlink(rm, place.at("bin/remove")).unwrap();
    for (flags, line, expected) in [
        (["--allow", rm, "--ask", "rm"].as_slice(), format!("{rm} plain"), "ask\n"),
        (&["--allow", rm, "--policy", "conf/real.yaml"], format!("{rm} -f plain"), "refused"),
        (&["--allow", rm, "--policy", "conf/real.yaml"], format!("{rm} plain"), "allowed\n"),
        (&["--allow", "remove", "--policy", "conf/real.yaml"], "remove -f plain".to_owned(), "refused"),
        (&["--allow", "bin/remove", "--policy", "conf/real.yaml"], "bin/remove -f plain".to_owned(), "refused"),
    ] {
        let said = place.check(flags, &line);
        assert!(said.contains(expected), "{flags:?}, {line}: {said}");
    }
}

#[test]
fn a_copied_directory_brings_no_instructions_to_another_one() {
    let place = Place::new();
    for directory in ["evil/.opencode", "nested/.git", "harmless/src"] {
        fs::create_dir_all(place.at(&format!("in/{directory}"))).unwrap();
    }
    let policy = "commands: {cp: {options: {'-r': flag}, operands: [{path: read}, {path: write}]}}";
    fs::write(place.at("conf/copies.yaml"), policy).unwrap();
    let check = |line: &str| place.check(&["--policy", "conf/copies.yaml"], line);
    for line in [
        "cp -r in/evil sub",
        "cp -r in/evil/. sub",
        "cp -r in/evil/.opencode sub",
        "cp -r in/nested sub",
        "cp -r in/nested/. sub",
        "cp -r in/nested/.git sub",
        "cp plain sub/.opencode/x.js",
    ] {
        assert!(!check(line).starts_with("allowed"), "{line}: {}", check(line));
    }
    // The project itself holds a repository, and can't be copied into itself.
    fs::create_dir(place.at(".git")).unwrap();
    for line in ["cp -r in/harmless sub", "cp -r . sub"] {
        assert!(check(line).starts_with("allowed"), "{line}: {}", check(line));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_file_with_other_names_is_not_written() {
    let place = Place::new();
    fs::hard_link(place.at("fix/.claude/settings.json"), place.at("sub/linked")).unwrap();
    let said = place.check(&["--policy", "etc/pol.yaml"], "cp plain sub/linked");
    assert!(said.contains("`sub/linked` can't be written: the file has other names (hard links)"), "{said}");
    let said = place.check(&["--policy", "etc/pol.yaml", "--allow", "echo", "--lines", "files"], "echo x > sub/linked");
    assert!(said.contains("the file has other names (hard links)"), "{said}");
    fs::remove_file(place.at("fix/.claude/settings.json")).unwrap();
    let said = place.check(&["--policy", "etc/pol.yaml"], "cp plain sub/linked");
    assert!(said.starts_with("allowed"), "{said}");
}
