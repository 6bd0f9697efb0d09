//! Interpreters and wrappers under other names: what the file says, not what it is called.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use crate::support::server::{copy_program, spawning};

/// A directory of programs, the only one in which the server looks before the system's own.
struct Programs {
    dir: tempfile::TempDir,
    path: String,
}

impl Programs {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let bin = dir.path().canonicalize().unwrap().join("bin");
        fs::create_dir(&bin).unwrap();
        Self { path: format!("{}:/usr/bin:/bin", bin.display()), dir }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join("bin").join(name)
    }

    fn script(&self, name: &str, text: &str) {
        let _quiet = spawning();
        fs::write(self.at(name), text).unwrap();
        fs::set_permissions(self.at(name), fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// What `serve` says at its start, and whether it starts.
    fn said(&self, args: &[&str]) -> (bool, String) {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_allowexec"));
        command.args(args).current_dir(self.dir.path()).env_clear().env("PATH", &self.path);
        let output = command.stdin(std::process::Stdio::null()).output().unwrap();
        (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
    }

    /// Checks that a rule with a free operand is refused for a program that is `of`, that one with a list is warned of, and an entry of
    /// the allow-list, too; and that nothing is said of a program that is no other.
    fn check(&self, name: &str, of: Option<&str>) {
        let policy = self.dir.path().join("policy.yaml");
        let text = policy.to_str().unwrap();
        let warning = format!("is `{}` under another name", of.unwrap_or_default());
        let is_named = |stderr: &str| match of {
            Some(_) => stderr.contains(&warning),
            None => stderr.contains("under another name"),
        };
        fs::write(&policy, format!("commands:\n  {name}: {{operands: [{{text: {{}}}}]}}\n")).unwrap();
        let (starts, stderr) = self.said(&["--policy", text]);
        assert_eq!(starts, of.is_none(), "{name}: {stderr}");
        assert_eq!(stderr.contains("does not limit it"), of.is_some(), "{name}: {stderr}");
        fs::write(&policy, format!("commands:\n  {name}: {{operands: [{{one_of: [x]}}]}}\n")).unwrap();
        for args in [&["--policy", text][..], &["--allow", name]] {
            let (starts, stderr) = self.said(args);
            assert!(starts && is_named(&stderr) == of.is_some(), "{name}: {stderr}");
        }
    }
}

#[test]
fn a_script_is_what_it_hands_its_arguments_on_to() {
    let programs = Programs::new();
    symlink("/bin/sh", programs.at("linked")).unwrap();
    for (text, of) in [
        ("#!/bin/sh\ncd / && exec sh \"$@\"\n", Some("sh")),
        ("#!/bin/sh\nif true; then exec sh \"$@\"; fi\n", Some("sh")),
        ("#!/bin/sh\nset -- sh \"$@\"\nexec \"$@\"\n", Some("sh")),
        ("#!/bin/sh\n\"$@\"\n", Some("env")),
        ("#!/bin/sh\neval \"$1\"\n", Some("sh")),
        ("#!/bin/sh\nSH=sh; exec \"$SH\" \"$@\"\n", Some("sh")),
        ("#!/bin/sh\nexec \"$(dirname \"$0\")/sh\" \"$@\"\n", Some("sh")),
        ("#!/bin/sh\nexec middle \"$@\"\n", Some("sh")),
        ("#!/usr/bin/env python3\nimport os, sys\nos.execvp(sys.argv[1], sys.argv[1:])\n", Some("env")),
        ("#!/bin/sh\nexec python3 app.py \"$@\"\n", None),
        ("#!/bin/sh\nrun() { \"$@\"; }\nrun make all; echo \"$@\"\n", None),
        ("#!/usr/bin/env python3\nimport sys\nprint(sys.argv)\n", None),
    ] {
        programs.script("middle", "#!/bin/sh\nexec linked \"$@\"\n");
        programs.script("tried", text);
        let of = if text.contains("middle") { fs::canonicalize("/bin/sh").ok() } else { of.map(PathBuf::from) };
        programs.check("tried", of.as_deref().and_then(Path::file_name).and_then(|name| name.to_str()));
    }
}

#[test]
fn a_copy_is_known_wherever_it_is_unless_its_file_holds_many_programs() {
    let programs = Programs::new();
    // The directory stands for one of the system's own.
    copy_program("/usr/bin/env", programs.at("env"));
    fs::hard_link(programs.at("env"), programs.at("calm")).unwrap();
    programs.check("calm", Some("env"));
    // As coreutils of Ubuntu 25.10 are installed: one file under each name.
    fs::hard_link(programs.at("env"), programs.at("true")).unwrap();
    fs::hard_link(programs.at("env"), programs.at("shuf")).unwrap();
    programs.check("shuf", None);
    programs.check("true", None);
}

/// A directory such as `/usr/bin` can't be written to here, so a copy there is one that the system has.
#[test]
fn a_copy_in_a_directory_of_the_system_is_known_too() {
    let places: Vec<PathBuf> = ["/usr/bin", "/bin", "/usr/sbin"].map(PathBuf::from).to_vec();
    let has = |name: &str| places.iter().any(|place| place.join(name).exists());
    let programs = Programs::new();
    // perl(1) and `perl5.36.0` are one file; any other name for it would be the same.
    for name in ["ls", "cat", "true", "wc", "md5sum", "gzip", "grep", "diff", "cmp", "jq", "file", "stat", "du"] {
        if has(name) {
            let (starts, stderr) = programs.said(&["--allow", name]);
            assert!(starts && !stderr.contains("under another name"), "{name}: {stderr}");
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_program_that_is_linked_with_an_interpreter_and_little_else_is_that_interpreter() {
    use std::process::Command;
    let programs = Programs::new();
    let dir = programs.dir.path();
    fs::write(dir.join("library.c"), "int part(void) { return 0; }\n").unwrap();
    fs::write(dir.join("main.c"), "int part(void);\nint main(void) { return part(); }\n").unwrap();
    let cc =
        |args: &[&str]| Command::new("cc").args(args).current_dir(dir).status().is_ok_and(|status| status.success());
    for (library, also, of) in [
        ("libpython3.13.so.1.0", None, Some("python3")),
        ("libperl.so.5.40", None, Some("perl")),
        ("libruby-3.2.so.3.2", None, Some("ruby")),
        ("liblua5.4.so.0", None, Some("lua")),
        ("libtcl8.6.so", None, Some("tclsh")),
        ("libguile-3.0.so.1", None, Some("guile")),
        ("libnode.so.115", None, Some("node")),
        ("libphp8.3.so", None, Some("php")),
        ("libjvm.so", None, Some("java")),
        ("libpython3.13.so.1.0", Some("libgtk-3.so.0"), None),
        ("libpythonic.so.1", None, None),
        ("libother.so.1", None, None),
    ] {
        let soname = format!("-Wl,-soname,{library}");
        if !cc(&["-shared", "-o", library, &soname, "library.c"]) {
            eprintln!("there is no compiler, so nothing is shown");
            return;
        }
        let mut args = vec!["-Wl,--no-as-needed", "-o", "bin/calm", "main.c", library];
        if let Some(also) = also {
            assert!(cc(&["-shared", "-o", also, &format!("-Wl,-soname,{also}"), "library.c"]));
            args.push(also);
        }
        {
            let _quiet = spawning();
            assert!(cc(&args), "{library}");
        }
        programs.check("calm", of);
        fs::remove_file(programs.at("calm")).unwrap();
    }
}
