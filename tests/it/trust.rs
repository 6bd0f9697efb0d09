//! Programs that others can replace: `--trust owner` refuses them, `doctor` names them, and what was checked is what runs.
#![cfg(target_os = "linux")]

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::support::Server;
use crate::support::server::{copy_program, spawning};
use crate::support::world::{User, World, is_installed, text};

const SYSTEM_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// A place with programs: a native one, a script, a script by env(1), and links to the first.
fn place() -> World {
    let world = World::new();
    let _quiet = spawning();
    for directory in ["bin", "links", "inner", "interpreters"] {
        fs::create_dir(world.base.join(directory)).unwrap();
        mode(&world.base.join(directory), 0o755);
    }
    for copy in ["bin/native", "interpreters/isolated", "interpreters/named"] {
        copy_program(if copy == "bin/native" { "/bin/echo" } else { "/bin/sh" }, world.base.join(copy));
    }
    let write = |name: &str, text: String| {
        fs::write(world.base.join(name), text).unwrap();
        mode(&world.base.join(name), 0o755);
    };
    write("bin/script", format!("#!{}/interpreters/isolated\necho it-worked\n", world.base.display()));
    write("bin/by-env", "#!/usr/bin/env named\necho it-worked\n".to_owned());
    symlink("../bin/native", world.base.join("links/linked")).unwrap();
    symlink("../inner/../bin/native", world.base.join("links/around")).unwrap();
    world
}

fn path(world: &World) -> String {
    let own = ["bin", "links", "interpreters"].map(|place| world.base.join(place).display().to_string());
    format!("{}:{SYSTEM_PATH}", own.join(":"))
}

const ALLOWED: &str = "native,script,by-env,linked,around";

fn server(world: &World, user: User, args: &[&str]) -> Server {
    let args: Vec<&str> = ["--allow", ALLOWED, "--log", "error"].iter().chain(args).copied().collect();
    let mut server = world.command(user, &args).env("PATH", path(world)).start();
    server.initialize("2025-11-25");
    server
}

fn call(server: &mut Server, command: &str) -> (String, bool) {
    let result = server.call("execute_command", json!({"command": format!("{command} it-worked")}));
    (text(&result), result["isError"] == true)
}

/// `allowexec doctor` as this user, and whether it calls the configuration sound.
fn doctor(world: &World, user: User, args: &[&str]) -> (Value, i32) {
    drop(world.command(user, &[]));
    let mut doctor = match user {
        User::Own => Command::new(env!("CARGO_BIN_EXE_allowexec")),
        User::Ordinary => Command::new(world.base.join("allowexec")),
    };
    if user == User::Ordinary {
        std::os::unix::process::CommandExt::uid(&mut doctor, 65534);
        std::os::unix::process::CommandExt::gid(&mut doctor, 65534);
    }
    doctor.args(["doctor", "--json", "--allow", ALLOWED]).args(args).env("PATH", path(world)).current_dir(&world.base);
    let _quiet = spawning();
    let output = doctor.output().unwrap();
    (serde_json::from_slice(&output.stdout).unwrap(), output.status.code().unwrap())
}

/// Each with what is made writable for whom, and how the programs are called that this concerns.
const CHANGES: &[(&str, u32, &str, &[&str])] = &[
    ("bin/native", 0o775, "file", &["native", "linked", "around"]),
    ("bin/native", 0o757, "file", &["native", "linked", "around"]),
    ("bin", 0o777, "directory", &["native", "script", "by-env", "linked", "around"]),
    ("links", 0o775, "directory", &["linked", "around"]),
    ("inner", 0o777, "directory", &["around"]),
    ("interpreters", 0o777, "directory", &["script", "by-env"]),
    ("interpreters/isolated", 0o722, "file", &["script"]),
    ("interpreters/named", 0o775, "file", &["by-env"]),
];

#[test]
fn a_program_that_others_can_replace_does_not_run_with_trust_owner() {
    for user in User::all() {
        let world = place();
        let mut server = server(&world, user, &["--trust", "owner"]);
        for program in ALLOWED.split(',') {
            let (said, is_error) = call(&mut server, program);
            assert!(said.contains("it-worked") && !is_error, "{user:?} {program}: {said}");
        }
        for (changed, bits, kind, concerned) in CHANGES {
            let changed = world.base.join(changed);
            let before = fs::metadata(&changed).unwrap().permissions().mode();
            mode(&changed, *bits);
            for program in ALLOWED.split(',') {
                let (said, is_error) = call(&mut server, program);
                let is_concerned = concerned.contains(&program);
                assert_eq!(is_error, is_concerned, "{user:?} {program} with {bits:o} of {}: {said}", changed.display());
                let names = said.contains(&format!("the {kind} `{}` can be written by ", changed.display()));
                assert_eq!(names, is_concerned, "{said}");
                assert_eq!(said.contains("`chmod g"), is_concerned, "{said}");
            }
            mode(&changed, before);
        }
        // With the sticky bit only its owner replaces an entry.
        mode(&world.base.join("bin"), 0o1777);
        assert!(!call(&mut server, "native").1);
    }
}

#[test]
fn a_program_of_somebody_else_does_not_run_with_trust_owner() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("only root can give files away, so nothing is shown of owners");
        return;
    }
    for user in User::all() {
        let world = place();
        let mut server = server(&world, user, &["--trust", "owner"]);
        let own = fs::metadata(world.base.join("bin")).map(|bin| std::os::unix::fs::MetadataExt::uid(&bin)).unwrap();
        for (given, program) in [("bin/native", "native"), ("bin", "linked"), ("interpreters/isolated", "script")] {
            let given = world.base.join(given);
            chown(&given, Some(12345), None).unwrap();
            let (said, is_error) = call(&mut server, program);
            assert!(is_error && said.contains("belongs to the user 12345") && said.contains("chown root"), "{said}");
            chown(&given, Some(own), None).unwrap();
            assert!(!call(&mut server, program).1);
        }
    }
}

#[test]
fn without_a_demand_the_program_runs_and_doctor_names_it() {
    for user in User::all() {
        let world = place();
        let (report, status) = doctor(&world, user, &[]);
        assert!(!report["warnings"].to_string().contains("can be replaced") && status == 0, "{report}");
        mode(&world.base.join("interpreters"), 0o777);
        assert!(!call(&mut server(&world, user, &[]), "script").1);
        let found = format!("the directory `{}/interpreters` can be written by everybody", world.base.display());
        let (report, status) = doctor(&world, user, &[]);
        assert!(report["warnings"].to_string().contains(&found) && status == 0, "{report}");
        let (report, status) = doctor(&world, user, &["--trust", "owner"]);
        assert!(report["problems"].to_string().contains(&found) && status == 1, "{report}");
    }
}

#[test]
fn check_the_shell_and_a_program_that_embeds_the_server_refuse_it_too() {
    let world = place();
    mode(&world.base.join("bin"), 0o777);
    let _one_at_a_time = spawning();
    let mut check = Command::new(env!("CARGO_BIN_EXE_allowexec"));
    check.args(["check", "--trust", "owner", "--allow", "native", "--", "native"]).env("PATH", path(&world));
    let output = check.output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.code() == Some(1) && said.contains("does not run with `--trust owner`"), "{said}");
    drop(_one_at_a_time);

    let mut server = server(&world, User::Own, &["--trust", "owner", "--tools", "shell"]);
    let result = server.call("native", json!({"arguments": "it-worked"}));
    assert!(result["isError"] == true && text(&result).contains("does not run with `--trust owner`"), "{result}");
    mode(&world.base.join("bin"), 0o755);
    let result = server.call("native", json!({"arguments": "it-worked"}));
    assert!(result["isError"] != true && text(&result).contains("it-worked"), "{result}");
    let shell = world.base.join("interpreters/isolated");
    mode(&shell, 0o757);
    let shell = shell.to_str().unwrap();
    let mut server = self::server(&world, User::Own, &["--trust", "owner", "--tools", "shell", "--shell", shell]);
    let result = server.call("native", json!({"arguments": "it-worked"}));
    assert!(result["isError"] == true && text(&result).contains("the shell is not started"), "{result}");
}

#[test]
fn a_script_whose_interpreter_is_looked_up_where_the_call_runs_is_not_trusted() {
    let world = place();
    fs::write(world.base.join("bin/script"), "#!interpreters/isolated\necho it-worked\n").unwrap();
    let (said, is_error) = call(&mut server(&world, User::Own, &["--trust", "owner"]), "script");
    assert!(is_error && said.contains("looked up in the directory of each call"), "{said}");
}

/// Programs that find themselves by what the kernel tells them; all that they see must be as without the handle.
#[test]
#[cfg(target_os = "linux")]
fn a_program_that_is_executed_by_its_handle_finds_its_own_files() {
    let world = place();
    let base = world.base.display().to_string();
    let _quiet = spawning();
    let mut lines: Vec<(&str, Vec<String>)> = Vec::new();
    if is_installed("python3") {
        let made = Command::new("/usr/bin/python3")
            .args(["-m", "venv", "--without-pip"])
            .arg(world.base.join("venv"))
            .output();
        let venv = format!("{base}/venv/bin/python3");
        if made.is_ok_and(|made| made.status.success()) {
            let shows = "import os, sys; print(sys.prefix, sys.executable, sys.argv, os.readlink('/proc/self/exe'))";
            lines.push(("python", vec![venv, "-c".to_owned(), shows.to_owned()]));
        }
    }
    for tool in ["git", "perl", "busybox", "cargo", "rustc"] {
        let line: &[&str] = match tool {
            "git" => &["git", "--exec-path"],
            "perl" => &["perl", "-e", "print \"$^X $0\\n\""],
            "busybox" => &["busybox", "sh", "-c", "echo $0; readlink /proc/self/exe"],
            _ => &[tool, "--version"],
        };
        if is_installed(tool) {
            lines.push((tool, line.iter().map(|&word| word.to_owned()).collect()));
        }
    }
    if is_installed("busybox") {
        let path = std::env::var_os("PATH").unwrap();
        let found =
            std::env::split_paths(&path).map(|entry| entry.join("busybox")).find(|file| file.is_file()).unwrap();
        symlink(found, world.base.join("bin/uname")).unwrap();
        lines.push(("applet", vec![format!("{base}/bin/uname")]));
    }
    let sh = "echo $0; readlink /proc/$$/exe; tr '\\0' ' ' < /proc/$$/cmdline; ls /proc/$$/fd";
    lines.push(("sh", vec!["/bin/sh".to_owned(), "-c".to_owned(), sh.to_owned()]));
    drop(_quiet);
    let path = format!("{}:{}", path(&world), std::env::var("PATH").unwrap());
    for more in [&[][..], &["--max-open-files", "64"][..]] {
        let seen = |trust: &str| -> Vec<(&str, String)> {
            let args: Vec<&str> = ["--allow", "*", "--log", "error", "--inherit-env", "--trust", trust]
                .iter()
                .chain(more)
                .copied()
                .collect();
            let mut server = world.command(User::Own, &args).env("PATH", &path).start();
            server.initialize("2025-11-25");
            let run = |(name, line): &(&'static str, Vec<String>)| {
                let result = server.call("execute_process", json!({"file": line[0], "args": line[1..]}));
                (*name, text(&result))
            };
            lines.iter().map(run).collect()
        };
        let (by_path, by_handle) = (seen("any"), seen("owner"));
        for ((name, before), (_, after)) in by_path.iter().zip(&by_handle) {
            let is_replaceable = after.contains("does not run with `--trust owner`");
            assert!(is_replaceable || before == after, "{name} {more:?}:\n{before}\n{after}");
            if is_replaceable {
                eprintln!("{name} can be replaced by others here, so nothing is shown of it: {after}");
            }
        }
        assert!(by_handle.iter().any(|(name, said)| *name == "sh" && said.contains("exit_code: 0")), "{by_handle:?}");
    }
}

/// The operator's own mistake is an error, whatever the platform.
#[test]
fn a_choice_that_there_is_not_is_an_error() {
    let _quiet = spawning();
    let output = Command::new(env!("CARGO_BIN_EXE_allowexec")).args(["serve", "--trust", "roots"]).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(2) && said.contains("not a choice of trust"), "{said}");
}
