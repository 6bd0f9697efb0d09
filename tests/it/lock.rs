//! The lock file: it is written, compared and enforced; nothing runs that differs from it, whatever is swapped and when.
#![cfg(target_os = "linux")]

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use crate::support::Server;
use crate::support::server::{copy_program, spawning};
use crate::support::world::{NOBODY, User, World, give, text};

const SYSTEM_PATH: &str = "/usr/local/bin:/usr/bin:/bin";
const ALLOWED: &str = "native,script,by-env,linked";

fn put(world: &World, name: &str, bytes: impl AsRef<[u8]>) {
    let path = world.base.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, bytes).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Puts another file in the place of one, in one step, and gives it to who has it already.
fn swap(world: &World, name: &str, bytes: impl AsRef<[u8]>) {
    put(world, "swapped", bytes);
    let before = fs::metadata(world.base.join(name)).unwrap();
    let owner = std::os::unix::fs::MetadataExt::uid(&before);
    std::os::unix::fs::chown(world.base.join("swapped"), Some(owner), None).unwrap();
    fs::rename(world.base.join("swapped"), world.base.join(name)).unwrap();
}

fn program(path: &str) -> Vec<u8> {
    fs::read(path).unwrap()
}

/// A native program, a script with an interpreter of its own, one that env(1) finds, and a link.
fn place() -> World {
    let world = World::new();
    let _quiet = spawning();
    put(&world, "bin/native", program("/bin/echo"));
    put(&world, "interpreters/isolated", program("/bin/sh"));
    put(&world, "interpreters/named", program("/bin/sh"));
    put(&world, "bin/script", format!("#!{}/interpreters/isolated\necho it-worked\n", world.base.display()));
    put(&world, "bin/by-env", "#!/usr/bin/env named\necho it-worked\n");
    put(&world, "other/native", program("/bin/pwd"));
    for empty in ["links", "first"] {
        fs::create_dir(world.base.join(empty)).unwrap();
    }
    symlink("../bin/native", world.base.join("links/linked")).unwrap();
    world
}

fn path(world: &World) -> String {
    let own = ["first", "bin", "links", "interpreters"].map(|place| world.base.join(place).display().to_string());
    format!("{}:{SYSTEM_PATH}", own.join(":"))
}

fn allowexec(world: &World, user: User, args: &[&str]) -> Output {
    // It gives the place to the user, and puts the binary there.
    drop(world.command(user, &[]));
    let mut command = match user {
        User::Own => Command::new(env!("CARGO_BIN_EXE_allowexec")),
        User::Ordinary => Command::new(world.base.join("allowexec")),
    };
    if user == User::Ordinary {
        command.uid(65534).gid(65534);
    }
    command.args(args).env("PATH", path(world)).current_dir(&world.base);
    let _quiet = spawning();
    command.output().unwrap()
}

/// Standard output and standard error, and the exit status.
fn said(output: Output) -> (String, i32) {
    let all = [output.stdout, output.stderr].concat();
    (String::from_utf8(all).unwrap(), output.status.code().unwrap())
}

fn lock(world: &World, user: User, more: &[&str]) -> (String, i32) {
    said(allowexec(world, user, &[&["lock", "--allow", ALLOWED], more].concat()))
}

fn server(world: &World, user: User, args: &[&str]) -> Server {
    let args = [&["--allow", ALLOWED, "--log", "error", "--lock", "allowexec.lock"], args].concat();
    let mut server = world.command(user, &args).env("PATH", path(world)).start();
    server.initialize("2025-11-25");
    server
}

fn call(server: &mut Server, command: &str) -> (String, bool) {
    let result = server.call("execute_command", json!({"command": format!("{command} it-worked")}));
    (text(&result), result["isError"] == true)
}

#[track_caller]
fn assert_runs(server: &mut Server, command: &str) {
    let (said, is_error) = call(server, command);
    assert!(said.contains("it-worked") && said.contains("exit_code: 0") && !is_error, "{command}: {said}");
}

#[track_caller]
fn assert_refused(server: &mut Server, command: &str, why: &[&str]) {
    let (said, is_error) = call(server, command);
    assert!(is_error && !said.contains("exit_code"), "{command}: {said}");
    for why in why.iter().chain(&["run `allowexec lock` again, and restart the server"]) {
        assert!(said.contains(why), "{command}, {why}: {said}");
    }
}

#[test]
fn a_lock_file_is_the_same_for_the_same_programs_and_check_names_each_difference() {
    let world = place();
    let (first, status) = lock(&world, User::Own, &[]);
    assert_eq!((first.as_str(), status), ("`allowexec.lock`: written, 4 programs, 7 files\n", 0));
    let text = fs::read_to_string(world.base.join("allowexec.lock")).unwrap();
    assert_eq!(lock(&world, User::Own, &["-o", "other.lock"]).1, 0);
    assert_eq!(fs::read_to_string(world.base.join("other.lock")).unwrap(), text);
    assert!(lock(&world, User::Own, &[]).0.contains("the same as before"));
    let base = world.base.display();
    for expected in [
        format!("- command: linked\n  path: {base}/links/linked\n"),
        format!("- path: {base}/links/linked\n  real_path: {base}/bin/native\n"),
        format!("  interpreters:\n  - {base}/interpreters/isolated\n"),
        format!("  - {base}/interpreters/named\n  - /usr/bin/env\n"),
        "version: 1\nlibraries: false\n".to_owned(),
    ] {
        assert!(text.contains(&expected), "{expected}\n{text}");
    }
    assert!(!text.contains("loader:") && text.matches("sha256: ").count() == 7, "{text}");

    let check = || lock(&world, User::Own, &["--check"]);
    assert_eq!(check(), ("the programs match the lock file\n".to_owned(), 0));
    swap(&world, "bin/script", format!("#!{base}/interpreters/named\necho it-worked\n"));
    fs::rename(world.base.join("links/linked"), world.base.join("links/gone")).unwrap();
    let (differences, status) = check();
    let lines: Vec<&str> = differences.lines().collect();
    assert_eq!(status, 1, "{differences}");
    for expected in [
        "`linked` was not found in PATH, so it is not locked".to_owned(),
        format!("command `linked`: `{base}/links/linked` in the lock file, now not allowed or not found"),
        format!("`{base}/links/linked`: in the lock file, and not used any more"),
        format!("`{base}/interpreters/isolated`: in the lock file, and not used any more"),
        format!(
            "`{base}/bin/script`: interpreters `{base}/interpreters/isolated` in the lock file, now `{base}/interpreters/named`"
        ),
    ] {
        assert!(lines.iter().any(|line| line.ends_with(&expected)), "{expected}\n{differences}");
    }
    for fact in ["size ", "SHA-256 "] {
        let begin = format!("`{base}/bin/script`: {fact}");
        assert!(lines.iter().any(|line| line.starts_with(&begin)), "{begin}\n{differences}");
    }
    let json = allowexec(&world, User::Own, &["lock", "--check", "--json", "--allow", ALLOWED]);
    let report: Value = serde_json::from_slice(&json.stdout).unwrap();
    assert!(report["same"] == false && report["differences"].as_array().unwrap().len() >= 5, "{report}");
}

#[test]
fn what_cannot_be_locked_or_read_is_an_error() {
    let world = place();
    let fails = |args: &[&str], why: &str| {
        let (said, status) = said(allowexec(&world, User::Own, args));
        assert!(status == 2 && said.contains(why), "{args:?} {status}: {said}");
    };
    fails(&["lock", "--allow", "*"], "the allow-list contains `*`, which names no program");
    fails(&["lock"], "no command is allowed; name commands with `--allow`");
    fails(&["lock", "--allow", "no,nope"], "no allowed command has a program in PATH: `no`, `nope`");
    fails(&["lock", "--check", "--allow", "native"], "the lock file");
    fails(&["lock", "--check", "none.lock", "--allow", "native"], "none.lock");
    fails(&["lock", "--check", "none.lock", "-o", "other.lock", "--allow", "native"], "name two lock files");
    fails(&["serve", "--allow", "native", "--lock", "none.lock"], "none.lock` can't be read");
    fails(&["serve", "--allow", "*", "--lock", "none.lock"], "can't be used with `*`");
    put(&world, "bin/relative", "#!interpreters/isolated\n");
    fails(&["lock", "--allow", "relative"], "looked up in the directory of each call");
    assert_eq!(lock(&world, User::Own, &[]).1, 0);
    let text = fs::read_to_string(world.base.join("allowexec.lock")).unwrap();
    for (wrong, why) in [
        (text.replace("libraries: false", "library: false"), "unknown field `library`"),
        (text.replace("version: 1", "version: 9"), "its version is 9"),
        (text.replace("sha256: ", "sha256: 0"), "is not 64 hexadecimal digits"),
    ] {
        fs::write(world.base.join("wrong.lock"), wrong).unwrap();
        fails(
            &["call", "execute_command", "{\"command\":\"native x\"}", "--allow", "native", "--lock", "wrong.lock"],
            why,
        );
        fails(&["lock", "--check", "--allow", ALLOWED, "--lock", "wrong.lock"], why);
    }
    // What was never a lock file is not replaced, whatever names it.
    fs::write(world.base.join("notes.txt"), "precious\n").unwrap();
    for flag in ["-o", "--lock"] {
        fails(
            &["lock", "--allow", "native", flag, "notes.txt"],
            "`notes.txt` is not a lock file, so it is not \
                replaced",
        );
        assert_eq!(fs::read_to_string(world.base.join("notes.txt")).unwrap(), "precious\n");
    }
    // A damaged one is, and so is an empty file.
    for damaged in [
        "".to_owned(),
        text.replace("version: 1", "<<<<<<< HEAD\nversion: 1"),
        text.replace("version: 1", "version: 0"),
    ] {
        fs::write(world.base.join("notes.txt"), damaged).unwrap();
        assert_eq!(said(allowexec(&world, User::Own, &["lock", "--allow", ALLOWED, "-o", "notes.txt"])).1, 0);
        assert_eq!(fs::read_to_string(world.base.join("notes.txt")).unwrap(), text);
    }
    // What it is told to call works as it stands.
    let again = ["lock", "--check", "--allow", "native", "--allow=script", "--env", "A=b c", "-o", "a new.lock"];
    let (said_first, _) = said(allowexec(&world, User::Own, &again));
    let advice = said_first.split('`').find(|part| part.starts_with("allowexec lock ")).expect(&said_first);
    assert_eq!(said_first.matches("a new.lock` can't be read").count(), 1, "{said_first}");
    assert_eq!(said_first.matches("No such file").count(), 1, "{said_first}");
    assert_eq!(advice, "allowexec lock --allow 'native,script' --env 'A=b c' -o 'a new.lock'");
    let words = shlex::split(advice).unwrap();
    let words: Vec<&str> = words.iter().skip(1).map(String::as_str).collect();
    assert_eq!(said(allowexec(&world, User::Own, &words)).1, 0);
    assert_eq!(said(allowexec(&world, User::Own, &again)).1, 0);
    // Commands keep the names that the allow-list has.
    let relative = ["lock", "--check", "--allow", "./bin/native", "-o", "another.lock"];
    assert!(
        said(allowexec(&world, User::Own, &relative))
            .0
            .contains("`allowexec lock --allow ./bin/native -o another.lock`")
    );
    // What is no regular file is neither read nor replaced.
    symlink("allowexec.lock", world.base.join("link.lock")).unwrap();
    fails(&["lock", "--allow", "native", "-o", "link.lock"], "can't write `link.lock`");
}

#[test]
fn nothing_runs_that_differs_from_the_lock_file() {
    for user in User::all() {
        let world = place();
        assert_eq!(lock(&world, user, &[]).1, 0);
        let mut server = server(&world, user, &[]);
        let all = || ALLOWED.split(',');
        all().for_each(|command| assert_runs(&mut server, command));
        let base = world.base.display().to_string();

        // An update while the server runs: another file in the place of the program.
        swap(&world, "bin/native", program("/bin/pwd"));
        assert_refused(&mut server, "native", &["size", &format!("`{base}/bin/native`"), "allowexec.lock"]);
        assert_refused(&mut server, "linked", &["size"]);
        assert_runs(&mut server, "script");
        swap(&world, "bin/native", program("/bin/echo"));
        assert_runs(&mut server, "native");

        // One byte, the same size, the same time.
        for (name, command) in [("bin/script", "script"), ("bin/native", "native"), ("interpreters/named", "by-env")] {
            let file = world.base.join(name);
            let (before, modified) = (fs::read(&file).unwrap(), fs::metadata(&file).unwrap().modified().unwrap());
            let mut changed = before.clone();
            *changed.last_mut().unwrap() ^= 1;
            for (bytes, is_locked) in [(&changed, false), (&before, true)] {
                fs::write(&file, bytes).unwrap();
                File::options().write(true).open(&file).unwrap().set_modified(modified).unwrap();
                if is_locked {
                    assert_runs(&mut server, command);
                } else {
                    assert_refused(&mut server, command, &["SHA-256", name]);
                }
            }
        }

        // The interpreter, and where env(1) finds it.
        swap(&world, "interpreters/isolated", program("/bin/cat"));
        assert_refused(&mut server, "script", &[&format!("`{base}/interpreters/isolated`: size")]);
        swap(&world, "interpreters/isolated", program("/bin/sh"));
        assert_runs(&mut server, "script");
        put(&world, "first/named", program("/bin/sh"));
        assert_refused(&mut server, "by-env", &["interpreters", &format!("{base}/first/named")]);
        fs::remove_file(world.base.join("first/named")).unwrap();
        assert_runs(&mut server, "by-env");

        // A directory on the way, and a link.
        let at = |name: &str| world.base.join(name);
        fs::rename(at("bin"), at("bin-before")).unwrap();
        fs::rename(at("other"), at("bin")).unwrap();
        assert_refused(&mut server, "native", &["size"]);
        fs::rename(at("bin"), at("other")).unwrap();
        fs::rename(at("bin-before"), at("bin")).unwrap();
        assert_runs(&mut server, "native");
        fs::remove_file(at("links/linked")).unwrap();
        symlink("../other/native", at("links/linked")).unwrap();
        assert_refused(
            &mut server,
            "linked",
            &[&format!("leads to `{base}/bin/native` in the lock file, now to `{base}/other/native`")],
        );
        assert_runs(&mut server, "native");

        // What is executed with other rights is another program.
        fs::set_permissions(at("bin/native"), fs::Permissions::from_mode(0o4755)).unwrap();
        assert_refused(&mut server, "native", &["mode 0755", "now mode 4755"]);
    }
}

#[test]
fn a_program_that_the_lock_file_does_not_hold_does_not_run() {
    let world = place();
    assert_eq!(said(allowexec(&world, User::Own, &["lock", "--allow", "script"])).1, 0);
    let mut server = server(&world, User::Own, &[]);
    assert_runs(&mut server, "script");
    assert_refused(&mut server, "native", &["is not in the lock file"]);
    let (verdict, status) =
        said(allowexec(&world, User::Own, &["check", "--allow", ALLOWED, "--lock", "allowexec.lock", "--", "native"]));
    assert!(status == 1 && verdict.contains("is not in the lock file"), "{verdict}");
    swap(&world, "bin/script", format!("#!{}/interpreters/isolated\necho it-xorked\n", world.base.display()));
    let check = ["check", "--allow", ALLOWED, "--lock", "allowexec.lock", "--", "script"];
    let (verdict, status) = said(allowexec(&world, User::Own, &check));
    assert!(status == 1 && verdict.contains("SHA-256"), "{verdict}");
    let (report, status) =
        said(allowexec(&world, User::Own, &["doctor", "--allow", ALLOWED, "--lock", "allowexec.lock"]));
    assert!(
        status == 1 && report.contains("is not what the lock file") && report.contains("is not in the lock file"),
        "{report}"
    );
    let mut changed: Vec<&str> = report.lines().filter_map(|line| Some(line.split_once(" is not what")?.0)).collect();
    let all = changed.len();
    changed.sort_unstable();
    changed.dedup();
    assert_eq!(changed.len(), all, "each is named once: {report}");
}

#[test]
fn the_shell_and_limits_keep_to_the_lock_file() {
    let world = place();
    let tools = ["--tools", "all"];
    assert_eq!(lock(&world, User::Own, &tools).1, 0);
    let mut with_shell = server(&world, User::Own, &tools);
    let call_tool = |server: &mut Server| {
        let result = server.call("native", json!({"arguments": "it-worked"}));
        (text(&result), result["isError"] == true)
    };
    let (said, is_error) = call_tool(&mut with_shell);
    assert!(said.contains("it-worked") && !is_error, "{said}");
    swap(&world, "bin/native", program("/bin/pwd"));
    let (said, is_error) = call_tool(&mut with_shell);
    assert!(is_error && said.contains("is not what the lock file"), "{said}");
    swap(&world, "bin/native", program("/bin/echo"));
    if cfg!(target_os = "linux") {
        let mut limited = server(&world, User::Own, &["--max-open-files", "64"]);
        ALLOWED.split(',').for_each(|command| assert_runs(&mut limited, command));
        swap(&world, "bin/native", program("/bin/pwd"));
        assert_refused(&mut limited, "native", &["size"]);
    }
}

/// The link is turned back and forth as fast as can be: what was checked is what runs, each time.
#[test]
#[cfg(target_os = "linux")]
fn a_link_that_is_turned_back_and_forth_never_leads_to_another_program() {
    for user in User::all() {
        let world = place();
        assert_eq!(lock(&world, user, &[]).1, 0);
        let limits: &[&[&str]] = &[&[], &["--max-open-files", "64"]];
        for more in limits {
            let mut server = server(&world, user, more);
            let (link, fresh) = (world.base.join("links/linked"), world.base.join("links/fresh"));
            let is_over = AtomicBool::new(false);
            let (mut ran, mut refused) = (0, 0);
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    for target in ["../other/native", "../bin/native"].into_iter().cycle() {
                        if is_over.load(Ordering::Relaxed) && target.starts_with("../other") {
                            return;
                        }
                        symlink(target, &fresh).unwrap();
                        fs::rename(&fresh, &link).unwrap();
                    }
                });
                let mut all: Vec<(String, bool)> = Vec::new();
                while all.len() < 150 {
                    all.push(call(&mut server, "linked"));
                }
                is_over.store(true, Ordering::Relaxed);
                for (said, is_error) in all {
                    assert_eq!(!is_error, said.contains("it-worked"), "another program ran, {user:?} {more:?}: {said}");
                    if is_error { refused += 1 } else { ran += 1 }
                }
            });
            assert!(ran > 0 && refused > 0, "both were seen: {ran} ran, {refused} were refused");
        }
    }
}

#[test]
#[cfg(target_os = "linux")]
fn at_strict_the_loader_and_the_libraries_are_locked_too() {
    let world = place();
    let strict = ["--sandbox", "strict", "--project-dir", "project"];
    let (said, status) = lock(&world, User::Own, &strict);
    assert_eq!(status, 0, "{said}");
    let text = fs::read_to_string(world.base.join("allowexec.lock")).unwrap();
    assert!(
        text.contains("libraries: true\n") && text.contains("  loader: /") && text.contains("/libc.so.6"),
        "{text}"
    );
    assert_eq!(lock(&world, User::Own, &[&strict[..], &["--check"]].concat()).1, 0);
    let (differences, status) = lock(&world, User::Own, &["--check"]);
    assert!(status == 1 && differences.contains("written with `--sandbox strict`"), "{differences}");
    if !world.doctor_says(User::Own, &[], "sandbox strict").starts_with("strict") {
        eprintln!("this kernel can't enforce the sandbox, so nothing runs in it");
    } else {
        let mut server = server(&world, User::Own, &strict);
        ALLOWED.split(',').for_each(|command| assert_runs(&mut server, command));
        drop(server);
    }
    // A library of a program's own, which is found by its RUNPATH.
    let compiler = Command::new("cc").arg("--version").output();
    if compiler.is_err() {
        eprintln!("there is no compiler, so no library is swapped");
        return;
    }
    let (source, main) = (world.base.join("own.c"), world.base.join("main.c"));
    fs::write(&source, "int number(void) { return 0; }\n").unwrap();
    fs::write(
        &main,
        "#include <stdio.h>\nint number(void);\nint main(void) { puts(\"it-worked\"); return number(); }\n",
    )
    .unwrap();
    fs::create_dir(world.base.join("lib")).unwrap();
    let library = world.base.join("lib/libown.so");
    let build = |args: &[&str]| {
        let _quiet = spawning();
        assert!(Command::new("cc").current_dir(&world.base).args(args).status().unwrap().success(), "{args:?}");
    };
    build(&["-shared", "-fPIC", "own.c", "-o", "lib/libown.so"]);
    build(&["main.c", "-Llib", "-lown", "-Wl,--enable-new-dtags,-rpath,$ORIGIN/../lib", "-o", "bin/linked-own"]);
    let allow = ["--allow", "linked-own", "--sandbox", "strict", "--project-dir", "project"];
    assert_eq!(self::said(allowexec(&world, User::Own, &[&["lock"], &allow[..]].concat())).1, 0);
    let text = fs::read_to_string(world.base.join("allowexec.lock")).unwrap();
    assert!(text.contains(&format!("{}/bin/../lib/libown.so", world.base.display())), "{text}");
    let mut bytes = fs::read(&library).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&library, bytes).unwrap();
    let (differences, status) = self::said(allowexec(&world, User::Own, &[&["lock", "--check"], &allow[..]].concat()));
    assert!(status == 1 && differences.contains("libown.so`: SHA-256"), "{differences}");
    let call = ["call", "execute_command", "{\"command\":\"linked-own\"}", "--lock", "allowexec.lock"];
    let (refused, status) = self::said(allowexec(&world, User::Own, &[&call, &allow[..2]].concat()));
    assert!(status == 1 && refused.contains("libown.so`: SHA-256") && !refused.contains("it-worked"), "{refused}");
}

#[test]
#[cfg(target_os = "linux")]
fn a_lock_file_that_commands_can_write_is_warned_of() {
    let world = place();
    let base = world.base.to_str().unwrap();
    let warned = |file: &str| {
        let args = ["--allow", "native", "--sandbox", "workspace", "--sandbox-best-effort", "--project-dir", "project"];
        let lock = said(allowexec(&world, User::Own, &[&["lock", "-o", file], &args[..]].concat()));
        assert_eq!(lock.1, 0, "{lock:?}");
        let report = allowexec(&world, User::Own, &[&["doctor", "--json", "--lock", file], &args[..]].concat());
        let report: Value = serde_json::from_slice(&report.stdout).unwrap();
        let warnings = report["warnings"].to_string();
        warnings.contains("the lock file") && warnings.contains("a command can decide what programs may be")
    };
    assert!(warned(&format!("{base}/project/allowexec.lock")));
    assert!(!warned(&format!("{base}/outside/allowexec.lock")));
}

#[test]
fn a_program_that_embeds_the_server_locks_programs_too() {
    use allowexec::config::{Config, Surroundings};
    use allowexec::server::Parts;
    let world = place();
    assert_eq!(lock(&world, User::Own, &[]).1, 0);
    let config = |lock: &Path| {
        let variables = [("PATH", path(&world))].into_iter().map(|(name, value)| (name.into(), value.into())).collect();
        let surroundings = Surroundings { variables, directory: world.base.clone() };
        Config::builder(surroundings).allow(["native"]).setting("lock", [lock.to_str().unwrap()]).build().unwrap()
    };
    let call = |parts: &Parts| {
        let arguments = json!({"command": "native it-worked"});
        let called = parts.call("execute_command", arguments.as_object().cloned().unwrap());
        called.map(|result| result.text).map_err(|error| error.to_string())
    };
    let parts = Parts::new(&config(&world.base.join("allowexec.lock")));
    assert!(call(&parts).unwrap().contains("it-worked"));
    swap(&world, "bin/native", program("/bin/pwd"));
    let refused = call(&parts).unwrap_err();
    assert!(refused.contains("is not what the lock file"), "{refused}");
    // Where there is not a lock file nothing runs.
    swap(&world, "bin/native", program("/bin/echo"));
    let refused = call(&Parts::new(&config(&world.base.join("none.lock")))).unwrap_err();
    assert!(refused.contains("none.lock` can't be read"), "{refused}");
}

/// Maps the file, writes to the mapping, and once more when it is told to, which gives the file no new times by then.
const MAPS: &str = "
import mmap, os, sys
os.chmod(sys.argv[1], 0o755)
file = open(sys.argv[1], 'r+b')
text = mmap.mmap(file.fileno(), 0)
place = text.find(b'good')
text[place:place + 4] = b'good'
os.chmod(sys.argv[1], 0o555)
print('mapped', flush=True)
sys.stdin.readline()
text[place:place + 4] = b'evil'
text.close()
file.close()
print('written', flush=True)
";

#[test]
fn what_is_written_through_a_mapping_does_not_run() {
    // One on a disk, one in memory. The owner has made it unwritable again.
    let try_in = |user: User, place: &str| {
        let dir = tempfile::tempdir_in(place).unwrap();
        let tool = dir.path().join("tool");
        let quiet = spawning();
        fs::write(&tool, "#!/bin/sh\necho good\n").unwrap();
        fs::set_permissions(&tool, fs::Permissions::from_mode(0o555)).unwrap();
        drop(quiet);
        let path = format!("{}:{SYSTEM_PATH}", dir.path().display());
        let locking = ["lock", "--allow", "tool", "-o", "tool.lock"];
        let binary = dir.path().join("allowexec");
        copy_program(env!("CARGO_BIN_EXE_allowexec"), &binary);
        let as_user = |command: &mut Command| {
            if user == User::Ordinary {
                give(dir.path(), NOBODY);
                command.uid(NOBODY).gid(NOBODY);
            }
        };
        let mut locks = Command::new(&binary);
        as_user(&mut locks);
        assert!(locks.args(locking).env("PATH", &path).current_dir(&dir).output().unwrap().status.success());
        let mut maps = Command::new("python3");
        maps.env("PATH", SYSTEM_PATH).args(["-c", MAPS]).arg(&tool).stdin(Stdio::piped()).stdout(Stdio::piped());
        as_user(&mut maps);
        let Ok(mut writer) = maps.spawn() else { return eprintln!("not tested without python3") };
        let mut said = BufReader::new(writer.stdout.take().unwrap()).lines();
        assert_eq!(said.next().unwrap().unwrap(), "mapped");
        // What was read of a file is remembered when it has not been changed for three seconds.
        let settled = fs::metadata(&tool).unwrap().modified().unwrap() + Duration::from_millis(3100);
        while let Ok(left) = settled.duration_since(SystemTime::now()) {
            std::thread::park_timeout(left);
        }
        let args = ["--allow", "tool", "--lock", "tool.lock", "--log", "off"];
        let mut command = Server::command(&args).env("PATH", &path).dir(&dir);
        if user == User::Ordinary {
            command = command.run_by(binary, NOBODY);
        }
        let mut server = command.start();
        server.initialize("2025-11-25");
        let mut call = || text(&server.call("execute_command", json!({"command": "tool"})));
        // The kernel executes nothing that somebody may write to.
        assert!(call().contains("Text file busy"), "{place}");
        writeln!(writer.stdin.take().unwrap()).unwrap();
        assert_eq!(said.next().unwrap().unwrap(), "written");
        assert!(writer.wait().unwrap().success());
        let answer = call();
        assert!(answer.contains("SHA-256") && !answer.contains("evil"), "{user:?}, {place}: {answer}");
    };
    // Each waits for seconds.
    std::thread::scope(|scope| {
        for (user, place) in User::all().into_iter().flat_map(|user| [(user, "/tmp"), (user, "/dev/shm")]) {
            scope.spawn(move || try_in(user, place));
        }
    });
}
