//! The sandbox for real: what a command's own options offer to get out of it is tried with and without it.
//!
//! Without the sandbox each attempt succeeds, so that none of them can fail for another reason than the sandbox.
#![cfg(target_os = "linux")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::Server;
use crate::support::world::Sign::{Connected, Read, Removed, Said, Started, Written};
use crate::support::world::{LOADER, Sign, User, World, is_installed, text};
use serde_json::json;

/// Calls `file`, the first word, with the others as its arguments.
fn call(server: &mut Server, words: &[String]) -> String {
    text(&server.call("execute_process", json!({"file": words[0], "args": words[1..]})))
}

/// Tries each attempt without the sandbox, where it must succeed, and at `strict`, where it must not; and then what the
/// program is there for, which must work at both.
fn try_all(program: &str, attempts: &[(Sign, &[&str])], honest: &[(&[&str], &str)]) {
    if !is_installed(program) {
        return;
    }
    for (user, (level, succeeds)) in
        User::all().into_iter().flat_map(|user| [(user, ("off", true)), (user, ("strict", false))])
    {
        let world = World::new();
        if program == "git" {
            repository(&world.base.join("project"));
        }
        world.take(Said, "");
        let mut server = world.server_of(user, level, program, &[]);
        for (sign, arguments) in attempts {
            // tar changes the user before it starts this one, which only root can.
            if user == User::Ordinary && arguments.iter().any(|argument| argument.starts_with("--rsh-command")) {
                continue;
            }
            let words: Vec<String> = [&[program], *arguments].concat().iter().map(|word| world.fill(word)).collect();
            let output = call(&mut server, &words);
            assert_eq!(world.take(*sign, &output), succeeds, "{user:?}, {level}: {sign:?} by {words:?}:\n{output}");
        }
        for (arguments, expected) in honest {
            let words: Vec<String> = [&[program], *arguments].concat().iter().map(|word| world.fill(word)).collect();
            let output = call(&mut server, &words);
            assert!(
                output.contains(expected) && output.contains("exit_code: 0"),
                "{user:?}, {level}: {words:?}:\n{output}"
            );
        }
    }
}

fn repository(project: &Path) {
    for arguments in [
        &["init", "-q"][..],
        &["add", "file"],
        &["-c", "user.name=t", "-c", "user.email=t@localhost", "commit", "-qm", "first"],
    ] {
        let status = Command::new("git").args(arguments).current_dir(project).env("HOME", "/nonexistent").status();
        assert!(status.unwrap().success(), "git {arguments:?}");
    }
    fs::write(project.join("file"), "changed\n").unwrap();
}

#[test]
fn find_gets_nowhere() {
    try_all(
        "find",
        &[
            (Started, &["file", "-exec", "touch", "marker", ";"]),
            (Started, &["file", "-execdir", "touch", "marker", ";"]),
            (Started, &["file", "-exec", "touch", "marker", "{}", "+"]),
            (Started, &["file", "-exec", "[ld]", "/usr/bin/touch", "marker", ";"]),
            (Started, &["file", "-exec", "./hook", ";"]),
            (Written, &["file", "-fprintf", "[base]/outside/marker", "x"]),
            (Written, &["file", "-fls", "[base]/outside/marker"]),
            (Removed, &["[base]/outside/victim", "-delete"]),
            (Read, &["[base]/home"]),
        ],
        &[(&[".", "-name", "fil*"], "./file")],
    );
}

#[test]
fn awk_gets_nowhere() {
    try_all(
        "awk",
        &[
            (Started, &["BEGIN { system(\"touch marker\") }"]),
            (Started, &["BEGIN { \"touch marker\" | getline }"]),
            (Started, &["BEGIN { print | \"touch marker\"; close(\"touch marker\") }"]),
            (Started, &["BEGIN { system(\"[ld] /usr/bin/touch marker\") }"]),
            (Written, &["BEGIN { print \"x\" > \"[base]/outside/marker\" }"]),
            (Read, &["{ print }", "[base]/home/letter"]),
            (Read, &["BEGIN { getline < \"[base]/home/letter\"; print }"]),
        ],
        &[(&["{ print $1 $1 }", "file"], "bb"), (&["BEGIN { print \"x\" > \"made\"; print \"ok\" }"], "ok")],
    );
}

#[test]
fn tar_gets_nowhere() {
    try_all(
        "tar",
        &[
            (Started, &["-cf", "/dev/null", "--checkpoint=1", "--checkpoint-action=exec=touch marker", "big"]),
            (Started, &["-cf", "x.tar", "--use-compress-program=touch marker", "file"]),
            (Started, &["-cf", "x.tar", "-I", "[base]/project/hook", "file"]),
            (Started, &["-cf", "localhost:x", "--rsh-command=[base]/project/hook", "file"]),
            (Started, &["-cf", "x.tar", "--use-compress-program=[ld] /usr/bin/touch marker", "file"]),
            (Written, &["-cf", "[base]/outside/marker", "file"]),
            (Read, &["-cf", "-", "-C", "[base]/home", "letter"]),
        ],
        &[(&["-cf", "x.tar", "file"], ""), (&["-tf", "x.tar"], "file")],
    );
}

#[test]
fn git_gets_nowhere() {
    try_all(
        "git",
        &[
            (Started, &["-c", "alias.x=!touch marker", "x"]),
            (Started, &["-c", "diff.external=touch marker;", "diff"]),
            (Started, &["-c", "core.fsmonitor=touch marker;", "status"]),
            (Started, &["-c", "core.sshCommand=touch marker;", "ls-remote", "ssh://localhost/x"]),
            (Started, &["-c", "protocol.ext.allow=always", "ls-remote", "ext::touch marker"]),
            (Started, &["grep", "--open-files-in-pager=touch marker;", "a"]),
            (Started, &["ls-remote", "--upload-pack=touch marker;", "."]),
            (Started, &["-c", "alias.x=![ld] /usr/bin/touch marker", "x"]),
            (Written, &["config", "--file", "[base]/outside/marker", "a.b", "c"]),
            (Written, &["init", "[base]/outside/marker"]),
            (Read, &["diff", "--no-index", "/dev/null", "[base]/home/letter"]),
            (Connected, &["ls-remote", "git://127.0.0.1:[port]/x"]),
        ],
        &[(&["status", "--short"], "M file"), (&["log", "--format=%s"], "first"), (&["diff"], "+changed")],
    );
}

#[test]
fn env_gets_nowhere() {
    try_all(
        "env",
        &[
            (Started, &["touch", "marker"]),
            (Started, &["-S", "touch marker"]),
            (Started, &["/usr/bin/touch", "marker"]),
            (Started, &["[ld]", "/usr/bin/touch", "marker"]),
            (Started, &["./hook"]),
            (Read, &["cat", "[base]/home/letter"]),
        ],
        &[(&["A=b"], "A=b")],
    );
}

#[test]
fn sort_gets_nowhere() {
    try_all(
        "sort",
        &[
            (Started, &["-S", "16K", "-T", ".", "--compress-program=[base]/project/hook", "big"]),
            (Written, &["-o", "[base]/outside/marker", "file"]),
            (Read, &["[base]/home/letter"]),
        ],
        &[(&["file"], "a\n  b"), (&["-S", "16K", "-o", "made", "big"], "")],
    );
}

#[test]
fn sh_gets_nowhere() {
    try_all(
        "sh",
        &[
            (Started, &["-c", "touch marker"]),
            (Started, &["-c", "exec /usr/bin/touch marker"]),
            (Started, &["-c", "[ld] /usr/bin/touch marker"]),
            (Started, &["-c", "[ld] /bin/touch marker"]),
            (Started, &["-c", "/proc/self/root/usr/bin/touch marker"]),
            (Started, &["-c", "cd /usr/bin && ./touch [base]/project/marker"]),
            (Started, &["-c", ". ./hook < /dev/null"]),
            (Started, &["./hook"]),
            (Written, &["-c", "echo x > [base]/outside/marker"]),
            (Read, &["-c", "read x < [base]/home/letter; echo $x"]),
            (Read, &["-c", "echo [base]/home/*"]),
            (Said, &["-c", "kill -0 $PPID && echo it-worked"]),
            (Said, &["-c", "for t in /proc/$PPID/task/*; do kill -0 ${t##*/} && echo it-worked; done"]),
        ],
        &[
            (&["-c", "echo x > made; read y < made; echo got-$y; echo z > /dev/null"], "got-x"),
            (&["-c", "echo $TMPDIR; echo t > $TMPDIR/t && read u < $TMPDIR/t && echo got-$u"], "got-t"),
            (&["-c", "(sleep() { :; }; sleep) & wait; kill -0 $$ && echo own"], "own"),
        ],
    );
}

#[test]
fn programs_in_directories_of_programs_are_out_of_the_loaders_reach() {
    let world = World::new();
    let mut server = world.server("strict", "sh", &[]);
    let mut tried = 0;
    for place in ["/usr/bin", "/usr/sbin", "/usr/libexec", "/usr/games", "/usr/local/bin", "/usr/local/sbin"] {
        for path in programs_under(Path::new(place)).into_iter().take(40) {
            let shown = path.display();
            // `--list` only looks at the file, so nothing is started where it should succeed.
            let line = format!("{LOADER} --list '{shown}' > /dev/null 2>&1 && echo it-worked");
            let output = call(&mut server, &["sh".to_owned(), "-c".to_owned(), line]);
            assert!(!output.contains("it-worked") || path == fs::canonicalize("/bin/sh").unwrap(), "{shown}: {output}");
            tried += 1;
        }
    }
    assert!(tried > 20, "only {tried} programs were found");
    let sh = fs::canonicalize("/bin/sh").unwrap();
    let line = format!("{LOADER} --list '{}' > /dev/null && echo it-worked", sh.display());
    assert!(call(&mut server, &["sh".to_owned(), "-c".to_owned(), line]).contains("it-worked"));
}

#[test]
fn a_helper_below_a_directory_of_libraries_is_not_executed_and_stays_confined_when_it_is_loaded() {
    let helpers = programs_under(Path::new("/usr/lib"));
    let helper = |name: &str| helpers.iter().find(|path| path.ends_with(name)).cloned();
    let Some(git) = helper("git") else {
        println!("not shown: git keeps no program below /usr/lib here");
        return;
    };
    for (level, is_confined) in [("off", false), ("strict", true)] {
        let world = World::new();
        let mut server = world.server(level, "sh", &[]);
        let mut run = |line: String| call(&mut server, &["sh".to_owned(), "-c".to_owned(), line]);
        let executed = run(format!("'{}' --version; echo status-$?", git.display()));
        assert!(executed.contains(if is_confined { "status-126" } else { "status-0" }), "{level}: {executed}");
        // The loader can read it, as it could a copy that the command had brought, and it gets no further than the command.
        let made = world.base.join("made");
        let load = format!("{LOADER} '{}' config -f", git.display());
        let output =
            run(format!("{load} here a.b c && echo inside; {load} '{}' a.b c && echo outside", made.display()));
        assert!(output.contains("inside"), "{level}: {output}");
        assert_eq!((output.contains("outside"), made.exists()), (!is_confined, !is_confined), "{level}: {output}");
    }
}

/// Executable files in ELF that are no links.
fn programs_under(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let (path, kind) = (entry.path(), entry.file_type().unwrap());
        if kind.is_dir() {
            found.extend(programs_under(&path));
        } else if kind.is_file() && entry.metadata().unwrap().permissions().mode() & 0o111 != 0 {
            let head = fs::read(&path).unwrap_or_default();
            let is_library = path.to_string_lossy().contains(".so");
            if head.starts_with(b"\x7fELF") && !is_library {
                found.push(path);
            }
        }
        if found.len() >= 40 {
            break;
        }
    }
    found
}

#[test]
fn workspace_confines_to_the_work_and_leaves_the_system_as_it_is() {
    let attempts = [
        (Written, "echo x > [base]/outside/marker"),
        (Written, "cp file [base]/outside/marker"),
        (Written, "mv file [base]/outside/marker"),
        (Written, "ln file [base]/outside/marker"),
        (Removed, "rm [base]/outside/victim"),
        (Read, "cat [base]/home/letter"),
        (Read, "ls [base]/home"),
        (Said, "kill -0 $PPID && echo it-worked"),
        (Said, "for t in /proc/$PPID/task/*; do kill -0 ${t##*/} && echo it-worked; done"),
        (Said, "ln [base]/home/letter here && echo it-worked; rm -f here"),
    ];
    for (user, (level, succeeds)) in
        User::all().into_iter().flat_map(|user| [(user, ("off", true)), (user, ("workspace", false))])
    {
        let world = World::new();
        world.take(Said, "");
        let mut server = world.server_of(user, level, "sh", &[]);
        for (sign, line) in attempts {
            world.put_file(user);
            let output = call(&mut server, &["sh".to_owned(), "-c".to_owned(), world.fill(line)]);
            assert_eq!(world.take(sign, &output), succeeds, "{user:?}, {level}: {line}:\n{output}");
        }
        for line in [
            "ls /usr/bin | head -1 > /dev/null && cat /etc/hostname > /dev/null && id > /dev/null && echo it-worked",
            "mkdir -p d/e && echo x > d/e/f && mv d/e/f d/g && rm -r d && echo it-worked",
            "./hook < /dev/null && echo it-worked",
            "mktemp > /dev/null && echo it-worked",
        ] {
            let output = call(&mut server, &["sh".to_owned(), "-c".to_owned(), line.to_owned()]);
            assert!(output.contains("it-worked"), "{user:?}, {level}: {line}:\n{output}");
        }
        fs::remove_file(world.base.join("project/marker")).ok();
    }
}

#[test]
#[cfg(target_arch = "x86_64")]
fn a_program_of_another_convention_is_ended() {
    if !is_installed("cc") {
        return;
    }
    let world = World::new();
    let program = world.base.join("project/other");
    // exit(0) by the numbers of 32-bit programs.
    let source = ".globl _start\n_start: mov $1, %eax\nxor %ebx, %ebx\nint $0x80\nhlt\n";
    fs::write(world.base.join("project/other.s"), source).unwrap();
    let mut built = Command::new("cc");
    built.args(["-nostdlib", "-static", "-o"]).arg(&program).arg(program.with_extension("s"));
    assert!(built.status().unwrap().success());
    if !Command::new(&program).status().unwrap().success() {
        eprintln!("this kernel knows no 32-bit programs, so nothing is shown of them");
        return;
    }
    for (level, end) in [("off", "exit_code: 0"), ("workspace", "signal: SIGSYS"), ("strict", "signal: SIGSYS")] {
        let project = world.fill("[base]/project");
        let args = ["--sandbox", level, "--allow", "other", "--project-dir", &project];
        let mut server = world.command(User::Own, &args).env("PATH", &project).start();
        server.initialize("2025-06-18");
        let output = call(&mut server, &["other".to_owned()]);
        assert!(output.contains(end), "{level}: {output}");
    }
}

#[test]
fn a_clients_root_opens_nothing_that_the_operator_did_not() {
    let world = World::new();
    let project = world.fill("[base]/project");
    let home = world.base.join("home");
    for (args, root, is_used) in [
        (&["--project-dir", &project][..], "/", false),
        (&["--project-dir", &project], home.to_str().unwrap(), false),
        (&["--project-dir", &project], &project, true),
        (&[], "/", false),
        (&[], "/usr", false),
        (&[], "/usr/bin", false),
        (&[], home.to_str().unwrap(), false),
        (&[], &project, false),
        (&["--workspace-dir", &project], &project, true),
    ] {
        for level in ["off", "strict"] {
            let args = [args, &["--sandbox", level, "--allow", "sh,cat", "--log", "off"]].concat();
            let mut server = world.command(User::Own, &args).start();
            server.initialize_with("2025-06-18", json!({"roots": {}}));
            let question = server.recv_until(|message| message["method"] == "roots/list");
            let roots = json!({"roots": [{"uri": format!("file://{root}")}]});
            server.send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": roots}));
            let arguments = json!({"file": "cat", "args": [world.fill("[base]/home/letter")]});
            let output = text(&server.call("execute_process", arguments));
            assert_eq!(world.take(Read, &output), level == "off", "{args:?} {root}: {output}");
            let line = ["sh", "-c", &world.fill("[ld] /usr/bin/touch [base]/project/marker")].map(str::to_owned);
            let output = call(&mut server, &line);
            assert_eq!(world.take(Started, &output), level == "off", "{args:?} {root}: {output}");
            let write = world.fill("echo x > [base]/project/made && echo it-worked");
            let output = call(&mut server, &["sh".to_owned(), "-c".to_owned(), write]);
            let is_granted = is_used || args.contains(&project.as_str());
            assert_eq!(world.take(Said, &output), level == "off" || is_granted, "{args:?} {root}: {output}");
        }
    }
}

#[test]
fn grants_add_to_a_level() {
    let world = World::new();
    let home = world.fill("[base]/home");
    let outside = world.fill("[base]/outside");
    let touch = "/usr/bin/touch";
    let more = ["--read", &home, "--write", &outside, "--exec", touch];
    let mut server = world.server("strict", "sh", &more);
    let line = world.fill("read x < [base]/home/letter; echo $x; echo y > [base]/outside/marker; touch marker");
    let output = call(&mut server, &["sh".to_owned(), "-c".to_owned(), line]);
    assert!(world.take(Read, &output), "{output}");
    let output =
        call(&mut server, &["sh".to_owned(), "-c".to_owned(), world.fill("touch marker [base]/outside/marker")]);
    assert!(world.base.join("project/marker").exists() && world.base.join("outside/marker").exists(), "{output}");
    let output = call(&mut server, &["sh".to_owned(), "-c".to_owned(), world.fill("echo x > [base]/home/new")]);
    assert!(!world.base.join("home/new").exists(), "{output}");
}

#[test]
fn a_confined_command_is_ended_with_its_tree() {
    let world = World::new();
    for level in ["off", "workspace"] {
        let mut server = world.server(level, "sh", &[]);
        let arguments = json!({"file": "sh", "args": ["-c", "echo here; sleep 60 & sleep 60"], "timeout_ms": 1500});
        let output = text(&server.call("execute_process", arguments));
        assert!(output.contains("timed_out: true") && output.contains("here"), "{level}: {output}");
        let arguments = json!({"file": "sh", "args": ["-c", "cat; pwd"], "input": "given\n"});
        let output = text(&server.call("execute_process", arguments));
        assert!(output.contains("given") && output.contains("/project"), "{level}: {output}");
        // What leaves its group is found by the server, which is not confined.
        let arguments = json!({"file": "sh", "args": ["-c", "setsid sleep 61 & echo $!"]});
        let output = text(&server.call("execute_process", arguments));
        assert!(output.contains("exit_code: 0"), "{level}: {output}");
        server.close_stdin();
        assert_eq!(server.wait_exit(), 0);
    }
}

#[test]
fn the_temporary_directory_goes_with_the_server_however_it_ends() {
    for end in ["stdin", "TERM"] {
        let world = World::new();
        let mut server = world.server("workspace", "sh", &[]);
        let line = "echo x > $TMPDIR/x; stat -c %a $TMPDIR; echo $TMPDIR";
        let output = call(&mut server, &["sh".to_owned(), "-c".to_owned(), line.to_owned()]);
        let made: Vec<_> = fs::read_dir(world.base.join("tmp")).unwrap().flatten().collect();
        assert_eq!(made.len(), 1, "{output}");
        assert!(output.contains("700\n") && output.contains(made[0].path().to_str().unwrap()), "{output}");
        match end {
            "TERM" => {
                let pid = rustix::process::Pid::from_raw(i32::try_from(server.pid()).unwrap()).unwrap();
                rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
            }
            _ => server.close_stdin(),
        }
        server.wait_exit();
        assert_eq!(fs::read_dir(world.base.join("tmp")).unwrap().count(), 0, "{end}");
    }
}

/// Starts a program on a kernel that says it has no Landlock: a seccomp filter answers its system calls with ENOSYS.
const WITHOUT_LANDLOCK: &str = r#"
import ctypes, os, struct, sys
# landlock_create_ruleset, _add_rule and _restrict_self are 444 to 446 on every architecture.
code = [(0x20, 0, 0, 0), (0x35, 0, 2, 444), (0x25, 1, 0, 446), (0x06, 0, 0, 0x50000 | 38), (0x06, 0, 0, 0x7fff0000)]
program = b"".join(struct.pack("HBBI", *line) for line in code)
buffer = ctypes.create_string_buffer(program)
filter = struct.pack("HxxxxxxP", len(code), ctypes.addressof(buffer))
libc = ctypes.CDLL(None, use_errno=True)
assert libc.prctl(38, 1, 0, 0, 0) == 0
assert libc.prctl(22, 2, ctypes.create_string_buffer(filter), 0, 0) == 0, ctypes.get_errno()
os.execv(sys.argv[1], sys.argv[1:])
"#;

#[test]
fn a_kernel_without_landlock_stops_the_start_unless_the_best_effort_will_do() {
    if !is_installed("python3") {
        return;
    }
    let run = |arguments: &[&str]| {
        let output = Command::new("python3")
            .args(["-c", WITHOUT_LANDLOCK, env!("CARGO_BIN_EXE_allowexec")])
            .args(arguments)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        (output.status.code(), said)
    };
    for level in ["workspace", "strict"] {
        for arguments in [&["serve"][..], &["call", "execute_command", r#"{"command":"echo hello"}"#]] {
            let arguments = [arguments, &["--allow", "echo", "--sandbox", level]].concat();
            let (code, said) = run(&arguments);
            assert_eq!(code, Some(2), "{said}");
            let expected = format!("error: `--sandbox {level}` can't be enforced here: it needs Landlock ABI");
            assert!(said.contains(&expected) && said.contains("has no Landlock"), "{said}");
            assert!(said.contains("missing: access to files and directories"), "{said}");
            let (code, said) = run(&[&arguments[..], &["--sandbox-best-effort"]].concat());
            assert_eq!(code, Some(0), "{said}");
            assert!(said.contains("missing: access to files and directories"), "{said}");
            // `call` prints warnings only.
            let is_told = said.contains(&format!("sandbox: {level}, but nothing of it is enforced"));
            assert_eq!(is_told, arguments.first() == Some(&"serve"), "{said}");
        }
        let (code, said) = run(&["doctor", "--allow", "echo", "--sandbox", level]);
        assert_eq!(code, Some(1), "{said}");
        assert!(said.contains("can't be enforced here"), "{said}");
    }
    assert_eq!(run(&["call", "execute_command", r#"{"command":"echo hello"}"#, "--allow", "echo"]).0, Some(0));
    // Where a rule alone asks for it, its calls are refused and the others run.
    let policy = tempfile::NamedTempFile::new().unwrap();
    fs::write(policy.path(), "commands: {echo: {operands: [{one_of: [hello]}], sandbox: {write: none}}}\n").unwrap();
    let policy = ["--allow", "true", "--policy", policy.path().to_str().unwrap()];
    let call = |line: &str, more: &[&str]| run(&[&["call", "execute_command", line], &policy[..], more].concat());
    let (code, said) = call(r#"{"command":"echo hello"}"#, &[]);
    assert_eq!(code, Some(1), "{said}");
    assert!(
        said.contains("because it could not be confined: `write: none` of its rule needs Landlock ABI 3"),
        "{said}"
    );
    assert!(said.contains("warn: every call of `echo` is refused: `write: none` of its rule needs"), "{said}");
    assert_eq!(call(r#"{"command":"true"}"#, &[]).0, Some(0));
    assert_eq!(call(r#"{"command":"echo hello"}"#, &["--sandbox-best-effort"]).0, Some(0));
}

#[test]
fn a_temporary_directory_is_needed_only_where_a_confined_command_may_write() {
    let place = tempfile::tempdir().unwrap();
    let status = |sandbox: &str, more: &[&str]| {
        let policy = format!("commands: {{echo: {{operands: [{{one_of: [hello]}}], sandbox: {sandbox}}}}}\n");
        fs::write(place.path().join("policy"), policy).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_allowexec"));
        command.args([
            "call",
            "execute_command",
            r#"{"command":"echo hello"}"#,
            "--policy",
            "policy",
            "--project-dir",
            ".",
        ]);
        command.args(more).current_dir(place.path()).env("TMPDIR", place.path().join("missing"));
        let output = command.output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    for sandbox in ["{write: none}", "{level: workspace, write: none}", "{level: off}"] {
        assert_eq!(status(sandbox, &[]).0, Some(0), "{sandbox}");
    }
    for (sandbox, more) in [("{level: workspace}", &[][..]), ("{write: none}", &["--sandbox", "workspace"])] {
        let (code, said) = status(sandbox, more);
        assert!(code == Some(2) && said.contains("no temporary directory could be made"), "{sandbox}: {code:?} {said}");
    }
}

#[test]
fn what_is_enforced_stands_in_the_log_the_descriptions_and_the_report() {
    let world = World::new();
    let mut server = world.server("strict", "sh", &[]);
    let tools = server.request("tools/list", json!({}))["result"]["tools"].clone();
    let description = tools[0]["description"].as_str().unwrap();
    assert!(description.contains("Sandbox: commands can write only in `"), "{description}");
    server.close_stdin();
    server.wait_exit();
    assert!(server.says("sandbox: strict, enforced by the kernel"), "{}", server.stderr());
    let mut doctor = Command::new(env!("CARGO_BIN_EXE_allowexec"));
    doctor.args(["doctor", "--allow", "sh", "--sandbox", "strict"]);
    let mut doctor = doctor.output().map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap();
    doctor.retain(|character| character != '`');
    assert!(doctor.contains("sandbox strict           strict, enforced by the kernel"), "{doctor}");
}

#[test]
fn a_root_that_read_names_too_is_written_only_where_write_says_so() {
    let place = tempfile::tempdir().unwrap();
    let base = dunce::canonicalize(place.path()).unwrap();
    fs::create_dir_all(base.join("out")).unwrap();
    // With a rule that has a sandbox of its own as well: what that grants is made from the same directories.
    let policy = base.parent().unwrap().join(format!("{}.yaml", base.file_name().unwrap().to_string_lossy()));
    let rule = "version: 1\ncommands:\n  sh:\n    syntax: operands\n    operands: [{one_of: [-c]}, {one_of: [\"echo x > top; echo x > out/file; cat top out/file\"]}]\n    \
                sandbox: {level: workspace}\n";
    fs::write(&policy, rule).unwrap();
    for with_rule in [false, true] {
        for (read, expected) in [(false, true), (true, false)] {
            let mut command = Command::new(env!("CARGO_BIN_EXE_allowexec"));
            let script = "echo x > top; echo x > out/file; cat top out/file";
            let arguments = json!({"file": "sh", "args": ["-c", script]}).to_string();
            command.args([
                "call",
                "execute_process",
                &arguments,
                "--sandbox",
                "workspace",
                "--cwd-root",
                ".",
                "--cwd",
                ".",
            ]);
            command.args(["--write", "out"]).current_dir(&base);
            match with_rule {
                true => command.arg("--policy").arg(&policy),
                false => command.args(["--allow", "sh"]),
            };
            if read {
                command.args(["--read", "."]);
            }
            let output = command.output().unwrap();
            let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
            assert!(base.join("out/file").exists(), "{said}");
            assert_eq!(base.join("top").exists(), expected, "rule {with_rule}, read {read}: {said}");
            fs::remove_file(base.join("out/file")).unwrap();
            if expected {
                fs::remove_file(base.join("top")).unwrap();
            }
        }
    }
    fs::remove_file(&policy).unwrap();
}
