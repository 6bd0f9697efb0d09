//! Which file is the interpreter of a script: what the kernel and env(1) really execute is what a lock file, `--trust owner` and the
//! sandbox look at; where that can't be told, nothing is locked and nothing runs.
#![cfg(target_os = "linux")]

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::support::server::{copy_program, spawning};
use crate::support::world::World;

/// What each script does: it says which file executes it.
const SAYS: &str = "/bin/readlink /proc/$$/exe\n";

/// What comes of a first line.
enum Expected<'a> {
    /// The kernel executes this file, the lock file holds it, and the server runs it.
    Runs(&'a str),
    /// The kernel executes this file if it is named, and nothing is locked, for this reason.
    Unclear(Option<&'a str>, &'a str),
    /// The kernel executes this file if it is named; the script is locked, and refused for this reason.
    Refused(Option<&'a str>, &'a str),
    /// Nothing is executed besides env(1), and the server does not refuse it.
    Nothing,
}
use Expected::{Nothing, Refused, Runs, Unclear};

/// Copies of a shell in the directories of a `PATH`, beside what env(1) passes over.
struct Place {
    world: World,
    /// What commands get as `PATH`; the server has another one.
    path: String,
    /// Whether the shell has a loader, which the copies called `loaderless` then miss in `second`.
    has_loader: bool,
}

impl Place {
    fn new() -> Self {
        let world = World::new();
        let base = world.base.clone();
        let _quiet = spawning();
        for directory in ["bin", "server", "dirs/named", "plain", "second", "third", "isolated", "links", "calls/sub"] {
            fs::create_dir_all(base.join(directory)).unwrap();
        }
        for copy in [
            "server/named",
            "second/named",
            "second/sh",
            "second/two words",
            "second/loaderless",
            "third/named",
            "third/lost",
            "third/loaderless",
            "isolated/sh",
            "calls/sub/named",
            "calls/sh",
        ] {
            copy_program("/bin/sh", base.join(copy));
        }
        let mut place = Self {
            path: ["dirs", "plain", "second", "third"].map(|it| base.join(it).display().to_string()).join(":")
                + ":/bin",
            has_loader: false,
            world,
        };
        place.script("plain/named", "#!/bin/sh\n");
        fs::set_permissions(base.join("plain/named"), fs::Permissions::from_mode(0o644)).unwrap();
        place.script("second/lost", "#!/nowhere/at/all\n");
        place.script("second/no-first-line", "");
        place.script("second/inner", "#!/usr/bin/env named\n");
        place.script("isolated/nested", &place.fill("#!@/isolated/sh\n"));
        symlink("/usr/bin/env", base.join("links/other")).unwrap();
        symlink("/usr/bin/env", base.join("second/again")).unwrap();
        symlink("/usr/bin/nohup", base.join("links/on")).unwrap();
        place.script("isolated/outer", "#!/usr/bin/nohup named\n");
        let mut bytes = fs::read(base.join("second/loaderless")).unwrap();
        // A static shell names none.
        if let Some(loader) = bytes.windows(4).position(|part| part == b"/ld-") {
            bytes[loader + 1] = b'x';
            place.has_loader = true;
        }
        fs::write(base.join("second/loaderless"), bytes).unwrap();
        place
    }

    fn fill(&self, text: &str) -> String {
        text.replace('@', self.world.base.to_str().unwrap())
    }

    fn script(&self, name: &str, first_line: &str) -> PathBuf {
        let path = self.world.base.join(name);
        fs::write(&path, format!("{first_line}{SAYS}")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    fn allowexec(&self, args: &[&str]) -> (String, Option<i32>) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_allowexec"));
        let path = self.fill("@/bin:@/server:/usr/bin:/bin");
        command.args(args).env("PATH", path).current_dir(self.world.base.join("calls"));
        let _quiet = spawning();
        said(&command.output().unwrap())
    }

    /// Which file the kernel executes for a script with the `PATH` of commands, if any says so.
    fn kernel_runs(&self, script: &Path) -> Option<PathBuf> {
        let _quiet = spawning();
        let mut command = Command::new(script);
        let output = command.env_clear().env("PATH", &self.path).current_dir(self.world.base.join("calls")).output();
        executed(&said(&output.ok()?).0)
    }
}

fn said(output: &Output) -> (String, Option<i32>) {
    let all = [&*output.stdout, &*output.stderr].concat();
    (String::from_utf8_lossy(&all).into_owned(), output.status.code())
}

/// The file that a script says to be executed by.
fn executed(output: &str) -> Option<PathBuf> {
    let mut lines = output.lines().map(|line| line.trim().trim_start_matches("stdout: "));
    lines.find(|line| line.starts_with('/') && Path::new(line).is_file()).map(PathBuf::from)
}

#[test]
fn what_the_kernel_and_env_execute_is_what_the_lock_file_holds() {
    let place = Place::new();
    let long = "/.".repeat(130);
    // The longest name that fits into the kernel's 256 bytes with `#!` and the line's end, and one byte more.
    let longest = "/".repeat(253 - place.fill("@/isolated/sh").len());
    let (blanks, padded) = (" ".repeat(300), "x".repeat(300));
    let named = Runs("@/second/named");
    let system_shell = fs::canonicalize("/bin/sh").unwrap().display().to_string();
    let rows: &[(String, Expected)] = &[
        ("#!@/isolated/sh".into(), Runs("@/isolated/sh")),
        ("#! \t @/isolated/sh\t-e \t".into(), Runs("@/isolated/sh")),
        ("#!@/isolated/sh\0 -x".into(), Runs("@/isolated/sh")),
        (format!("#!@/isolated/sh -e{blanks}"), Runs("@/isolated/sh")),
        ("#!@/isolated/sh\r".into(), Refused(None, "/isolated/sh\r`, which does not exist")),
        ("#!@/isolated/nested".into(), Runs("@/isolated/sh")),
        ("#!@/isolated".into(), Refused(None, "does not exist or can't be executed")),
        ("#!/nowhere/at/all".into(), Refused(None, "`/nowhere/at/all`, which does not exist")),
        (format!("#!{longest}@/isolated/sh"), Runs("@/isolated/sh")),
        (format!("#!/{longest}@/isolated/sh"), Nothing),
        (format!("#!{long}@/isolated/sh"), Nothing),
        ("#! \t".into(), Nothing),
        ("#!sh".into(), Unclear(Some("@/calls/sh"), "names `sh`, which is looked up in the directory of each call")),
        ("#!/usr/bin/env named".into(), named),
        ("#! /usr/bin/env\tnamed \t".into(), Runs("@/second/named")),
        ("#!@/links/other named".into(), Runs("@/second/named")),
        ("#!/usr/bin/env inner".into(), Runs("@/second/named")),
        ("#!/usr/bin/env @/isolated/sh".into(), Runs("@/isolated/sh")),
        ("#!/usr/bin/env two words".into(), Runs("@/second/two words")),
        ("#!/usr/bin/env named -e".into(), Nothing),
        ("#!/usr/bin/env missing".into(), Nothing),
        (
            "#!/usr/bin/env sub/named".into(),
            Unclear(Some("@/calls/sub/named"), "names `sub/named`, which is looked up in"),
        ),
        ("#!/usr/bin/env no-first-line".into(), Runs(&system_shell)),
        ("#!/usr/bin/env lost".into(), Refused(Some("@/third/lost"), "needs `/nowhere/at/all`, which does not exist")),
        ("#!/usr/bin/env loaderless".into(), Refused(Some("@/third/loaderless"), "can't be executed")),
        ("#!/usr/bin/env -S named -e".into(), Runs("@/second/named")),
        ("#!/usr/bin/env -Snamed".into(), Runs("@/second/named")),
        ("#!/usr/bin/env --split-string=A=b \x0bnamed -e".into(), Runs("@/second/named")),
        (format!("#!/usr/bin/env -S named -e{blanks}{padded}"), Runs("@/second/named")),
        ("#!/usr/bin/env -S PATH=@/third named".into(), Unclear(Some("@/third/named"), "it sets `PATH`")),
        ("#!/usr/bin/env -S -i sh".into(), Unclear(Some(&system_shell), "it has options of env(1) besides `-S`")),
        ("#!/usr/bin/env -S -u PATH sh".into(), Unclear(Some(&system_shell), "it has options of env(1)")),
        (
            "#!/usr/bin/env -S -C @/calls sub/named".into(),
            Unclear(Some("@/calls/sub/named"), "it has options of env(1)"),
        ),
        ("#!/usr/bin/env -vSnamed".into(), Unclear(Some("@/second/named"), "it has options of env(1)")),
        ("#!/usr/bin/env -S 'named'".into(), Unclear(Some("@/second/named"), "it has quotes")),
        ("#!/usr/bin/env -S na\"med\"".into(), Unclear(Some("@/second/named"), "it has quotes")),
        ("#!/usr/bin/env -S \"two\\_words\"".into(), Unclear(Some("@/second/two words"), "it has quotes")),
        ("#!/usr/bin/env -S env PATH=@/third named".into(), Unclear(Some("@/third/named"), "starts env(1) once more")),
        ("#!/usr/bin/env -S again named".into(), Unclear(Some("@/second/named"), "starts env(1) once more")),
        (
            "#!/usr/bin/nohup named".into(),
            Unclear(Some("@/second/named"), "`/usr/bin/nohup`, which starts other programs"),
        ),
        ("#!@/links/on named".into(), Unclear(Some("@/second/named"), "/links/on`, which starts other programs")),
        ("#!@/isolated/outer".into(), Unclear(Some("@/second/named"), "`/usr/bin/nohup`, which starts other programs")),
        (
            "#!/usr/bin/env -S /usr/bin/timeout 60 named -e".into(),
            Unclear(Some("@/second/named"), "`/usr/bin/timeout`, which starts other programs"),
        ),
    ];
    let env = format!("PATH={}", place.path);
    let settings = ["--allow", "script", "--env", &env, "--lock", "it.lock"];
    for (first_line, expected) in rows {
        if first_line.ends_with("loaderless") && !place.has_loader {
            eprintln!("not shown, since `/bin/sh` has no loader: {first_line}");
            continue;
        }
        let first_line = place.fill(first_line);
        let script = place.script("bin/script", &format!("{first_line}\n"));
        let shown = first_line.escape_debug();
        let runs = place.kernel_runs(&script);
        fs::remove_file(place.world.base.join("calls/it.lock")).ok();
        let (lock_said, locked) = place.allowexec(&[&["lock"], &settings[..]].concat());
        let lock = fs::read_to_string(place.world.base.join("calls/it.lock")).unwrap_or_default();
        let (call_said, _) =
            place.allowexec(&[&["call", "execute_command", "{\"command\":\"script\"}"], &settings[..]].concat());
        let expects = |path: Option<&str>| assert_eq!(runs, path.map(|path| place.fill(path).into()), "{shown}");
        match expected {
            Runs(path) => {
                expects(Some(path));
                assert_eq!(executed(&call_said), runs, "{shown}: {lock_said}{call_said}");
            }
            Unclear(path, why) => {
                expects(*path);
                assert!(locked == Some(2) && lock_said.contains(why) && lock.is_empty(), "{shown}: {lock_said}");
            }
            Refused(path, why) => {
                expects(*path);
                let why = &place.fill(why).replace('\r', "\\r");
                assert!(lock_said.contains("does not run") && locked == Some(0), "{shown}: {lock_said}");
                assert!(call_said.contains(why) && executed(&call_said).is_none(), "{shown}: {call_said}");
            }
            Nothing => {
                expects(None);
                assert!(!call_said.contains("lock file") && executed(&call_said).is_none(), "{shown}: {call_said}");
            }
        }
        // Whatever was expected: nothing runs that the lock file does not hold.
        if let Some(ran) = executed(&call_said) {
            let held = format!("  real_path: {}\n", ran.display());
            assert!(lock.contains(&held), "{shown} ran `{}`, which is not locked: {lock}", ran.display());
        }
    }
}

/// A call of the script, with these settings.
fn call(place: &Place, settings: &[&str]) -> String {
    place.allowexec(&[&["call", "execute_command", "{\"command\":\"script\"}"], settings].concat()).0
}

#[test]
fn an_interpreter_is_looked_up_in_the_path_that_its_command_gets() {
    let place = Place::new();
    place.script("bin/script", "#!/usr/bin/env named\n");
    let policy = place.world.base.join("policy.yaml");
    let by_rule =
        |env: &str| fs::write(&policy, place.fill(&format!("commands:\n  script:\n    env: {env}\n"))).unwrap();
    let policy = policy.to_str().unwrap();
    let env = format!("PATH={}", place.path);
    let of_env = ["--allow", "script", "--env", &env];
    let of_rule = ["--policy", policy];
    let locks = |settings: &[&str]| place.allowexec(&[&["lock", "-o", "it.lock"], settings].concat());
    let lock = || fs::read_to_string(place.world.base.join("calls/it.lock")).unwrap();
    let is_strict =
        place.world.doctor_says(crate::support::world::User::Own, &[], "sandbox strict").starts_with("strict");
    by_rule("{set: {PATH: '@/third'}}");
    // With a rule, the other commands still have the server's.
    for (settings, ran, others) in [(&of_env[..], "second", &["server", "third"][..]), (&of_rule, "third", &["second"])]
    {
        let (said, status) = locks(settings);
        assert_eq!(status, Some(0), "{said}");
        let ran = place.fill(&format!("@/{ran}/named"));
        assert!(
            lock().contains(&ran) && !others.iter().any(|other| lock().contains(&format!("/{other}/"))),
            "{}",
            lock()
        );
        for more in [
            &["--lock", "it.lock"][..],
            &["--trust", "owner"],
            &["--sandbox", "strict", "--project-dir", ".", "--exec", "/bin/readlink"],
        ] {
            if more[1] == "strict" && !is_strict {
                eprintln!("this kernel can't enforce the sandbox, so nothing runs in it");
                continue;
            }
            let said = call(&place, &[settings, more].concat());
            assert_eq!(executed(&said), Some(ran.clone().into()), "{more:?}: {said}");
        }
        // Somebody else could put another interpreter there.
        let directory = Path::new(&ran).parent().unwrap();
        fs::set_permissions(directory, fs::Permissions::from_mode(0o777)).unwrap();
        let said = call(&place, &[settings, &["--trust", "owner"]].concat());
        assert!(said.contains(&format!("the directory `{}` can be written by", directory.display())), "{said}");
        fs::set_permissions(directory, fs::Permissions::from_mode(0o755)).unwrap();
    }
    // Where the directory of the call, or nobody knows which, comes first.
    let relative = format!("PATH={}:sub:{}", place.world.base.join("dirs").display(), place.path);
    let of_relative = ["--allow", "script", "--env", &relative];
    by_rule("{unset: [PATH]}");
    for (settings, why) in
        [(&of_relative[..], "whose entry `sub` is the directory of each call"), (&of_rule, "a rule unsets")]
    {
        let (said, status) = locks(settings);
        assert!(status == Some(2) && said.contains(why), "{said}");
        let said = call(&place, &[settings, &["--trust", "owner"]].concat());
        assert!(said.contains(why) && executed(&said).is_none(), "{said}");
    }
}
