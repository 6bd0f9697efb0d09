//! Limits of the kernel's: that they hold from a command's first instruction on, and that nothing else of it changes.
//!
//! As root and as an ordinary user, with and without the sandbox. Where a cgroup can be made (mostly by root alone) the
//! limits of memory and of processes are the whole call's, and what was hit is known of each.
#![cfg(target_os = "linux")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::support::Server;
use crate::support::server::copy_program;
use crate::support::world::{User, World, text};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

const LEVELS: [&str; 3] = ["off", "workspace", "strict"];
/// On a busy machine, two seconds of a core take many of the clock.
const DEADLINE: Duration = Duration::from_secs(60);

fn each(mut check: impl FnMut(User, &str, &World)) {
    for user in User::all() {
        for level in LEVELS {
            check(user, level, &World::new());
        }
    }
}

fn sh(server: &mut Server, script: &str) -> String {
    text(&server.call("execute_process", json!({"file": "sh", "args": ["-c", script]})))
}

/// How the server keeps a limit, by its own word.
fn kept(world: &World, user: User, flag: &str, value: &str) -> String {
    world.doctor_says(user, &[&format!("--{flag}={value}")], flag)
}

#[test]
fn what_was_hit_stands_in_the_result() {
    each(|user, level, world| {
        let mut cpu = world.server_of(user, level, "sh", &["--max-cpu", "1s"]);
        let mut spin = |script: &str| {
            let arguments = json!({"file": "sh", "args": ["-c", script], "timeout_ms": 60_000});
            text(&cpu.call("execute_process", arguments))
        };
        let spun = spin("while :; do :; done");
        assert!(spun.starts_with("exit_code: 152\nlimit: cpu\nsignal: SIGXCPU\n"), "{user:?}, {level}: {spun}");
        // The kernel counts these in the same way at every level and for every user, and each takes seconds of a core.
        if level == "off" && user == User::Own {
            let below = spin("sh -c 'while :; do :; done'; exit $?");
            assert!(below.starts_with("exit_code: 152\nlimit: cpu\n"), "{user:?}, {level}: {below}");
            let caught = spin("trap 'echo caught' XCPU; while :; do :; done");
            assert!(
                caught.starts_with("exit_code: 137\nlimit: cpu\nsignal: SIGKILL\n") && caught.contains("  caught\n"),
                "{user:?}, {level}: {caught}"
            );
        }
        // Who only says so has hit nothing.
        let told = sh(&mut cpu, "kill -XCPU $$");
        assert!(told.contains("signal: SIGXCPU") && !told.contains("limit:"), "{user:?}, {level}: {told}");
        assert!(!sh(&mut cpu, "exit 152").contains("limit:"));

        let mut files = world.server_of(user, level, "dd", &["--max-file-size", "64KiB"]);
        let written =
            text(&files.call("execute_command", json!({"command": "dd if=/dev/zero of=made bs=1000 count=1000"})));
        assert!(written.starts_with("exit_code: 153\nlimit: file-size\n"), "{user:?}, {level}: {written}");
        assert_eq!(fs::metadata(world.base.join("project/made")).unwrap().len(), 65536);
    });
}

#[test]
fn memory_and_processes_are_bounded_and_known_where_a_cgroup_keeps_them() {
    each(|user, level, world| {
        let in_group = kept(world, user, "max-memory", "64MiB").contains("cgroup");
        let mut server = world.server_of(user, level, "tail", &["--max-memory", "64MiB"]);
        // It keeps the whole of an endless line.
        let grown = text(&server.call("execute_command", json!({"command": "tail /dev/zero"})));
        if in_group {
            assert!(
                grown.starts_with("exit_code: 137\nlimit: memory\nsignal: SIGKILL\n"),
                "{user:?}, {level}: {grown}"
            );
        } else {
            assert!(grown.contains("memory exhausted") && !grown.contains("limit:"), "{user:?}, {level}: {grown}");
        }

        let how = kept(world, user, "max-processes", "20");
        let mut server = world.server_of(user, level, "sh,sleep", &["--max-processes", "20"]);
        let started = "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30; do sleep 8 & done";
        let forked = sh(&mut server, started);
        assert!(!forked.starts_with("exit_code: 0\n"), "{user:?}, {level}: {forked}");
        assert_eq!(forked.contains("limit: processes"), how.contains("cgroup"), "{user:?}, {level}: {how}: {forked}");
        assert!(forked.to_lowercase().contains("fork"), "{user:?}, {level}: {forked}");
        if how.contains("cgroup") {
            let few = sh(&mut server, "for i in 1 2 3 4 5; do sleep 0 & done; wait; echo fine");
            assert_eq!(few, "exit_code: 0\nstdout: |\n  fine\nstderr: ''\n", "{user:?}, {level}");
        }
    });
}

#[test]
fn limits_hold_from_the_first_instruction_and_cannot_be_raised() {
    each(|user, level, world| {
        let limits = ["--max-open-files", "50", "--max-file-size", "1MiB", "--max-cpu", "7s"];
        let mut server = world.server_of(user, level, "sh,cat", &limits);
        for _ in 0..10 {
            let shown = text(&server.call("execute_command", json!({"command": "cat /proc/self/limits"})));
            let line = |name: &str| {
                let line = shown.lines().find(|line| line.trim_start().starts_with(name)).unwrap_or_default();
                line.split_ascii_whitespace().skip(3).take(2).collect::<Vec<_>>().join(" ")
            };
            assert_eq!(line("Max open files"), "50 50", "{user:?}, {level}: {shown}");
            assert_eq!(line("Max file size"), "1048576 1048576", "{user:?}, {level}: {shown}");
            assert_eq!(line("Max cpu time"), "7 8", "{user:?}, {level}: {shown}");
        }
        // What it starts at once is under them too, in the background and in a session of its own.
        assert!(sh(&mut server, "(ulimit -Hn) & wait").contains("50\n"));
        let raised = sh(&mut server, "ulimit -n 5000 || echo kept; ulimit -n");
        assert!(raised.contains("kept\n  50\n"), "{user:?}, {level}: {raised}");
        // Root could, by CAP_SYS_RESOURCE, the bit 24.
        let status = text(&server.call("execute_command", json!({"command": "cat /proc/self/status"})));
        for set in ["CapPrm", "CapEff", "CapInh"] {
            let line = status.lines().find_map(|line| line.trim_start().strip_prefix(set)).unwrap();
            let bits = u64::from_str_radix(line.trim_start_matches(':').trim(), 16).unwrap();
            assert_eq!(bits & (1 << 24), 0, "{user:?}, {level}: {set} {line}");
        }
    });
}

/// All that a command can see of how it was started.
const SEEN: &[&str] = &[
    "tr '\\0' ' ' < /proc/self/cmdline; echo; env | sort; pwd",
    "cd /proc/self/fd && echo *; readlink /proc/self/fd/0",
    "read x; echo $x; exit 7",
    "[ $(ps -o pgid= -p $$) = $$ ] && echo leads",
    "grep -E 'Sig(Blk|Ign)' /proc/self/status",
    "kill -9 $$",
];

#[test]
fn a_command_with_limits_is_started_as_one_without() {
    for user in User::all() {
        let world = World::new();
        let mut plain = world.server_of(user, "off", "sh,cat", &[]);
        let mut limited = world.server_of(user, "off", "sh,cat", &["--max-open-files", "500"]);
        for script in SEEN {
            assert_eq!(sh(&mut limited, script), sh(&mut plain, script), "{user:?}: {script}");
        }
        for input in [json!("a\nb\n"), json!("x".repeat(300_000)), json!("")] {
            let call = json!({"command": "cat", "input": input, "cwd": world.base.join("home")});
            assert_eq!(
                text(&limited.call("execute_command", call.clone())),
                text(&plain.call("execute_command", call))
            );
        }
        let late = json!({"file": "sh", "args": ["-c", "sleep 30 & sleep 30"], "timeout_ms": 200});
        assert_eq!(text(&limited.call("execute_process", late.clone())), text(&plain.call("execute_process", late)));
    }
}

#[test]
fn what_cannot_be_executed_is_told_as_without_limits() {
    for user in User::all() {
        let world = World::new();
        let file = |name: &str, bytes: &[u8], mode: u32| -> String {
            let path: PathBuf = world.base.join("project").join(name);
            fs::write(&path, bytes).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            path.to_str().unwrap().to_owned()
        };
        let own = fs::read("/proc/self/exe").unwrap();
        let mut foreign = own[..4096].to_vec();
        foreign[18] = 8;
        // A native header behind which nothing is as it must be: the size of its program headers is wrong.
        let mut broken = own[..4096].to_vec();
        broken[54] = 1;
        let mut narrow = own[..4096].to_vec();
        narrow[18] = 3;
        let runs = b"\ntouch ran-by-a-shell; echo hi\n".as_slice();
        let with = |start: &[u8]| [start, runs].concat();
        let files = [
            file("no-format", &with(b"echo hi"), 0o755),
            file("unreadable", &with(b"echo hi"), 0o111),
            file("no-word-after-the-sign", &with(b"#!"), 0o755),
            file("blanks-after-the-sign", &with(b"#!  \t "), 0o755),
            file("line-without-end", &with(format!("#!/{}", "x".repeat(400)).as_bytes()), 0o755),
            file("broken", &with(&broken), 0o755),
            file("narrow", &with(&narrow), 0o755),
            file("no-interpreter", b"#!/nowhere/at/all\n", 0o755),
            file("not-executable", b"#!/bin/sh\n", 0o644),
            file("cut", &own[..20], 0o755),
            file("foreign", &foreign, 0o755),
            file("empty", b"", 0o755),
        ];
        let allow = files.join(",");
        // A program that is trusted is executed by its handle.
        for trust in ["any", "owner"] {
            let mut plain = world.server_of(user, "off", &allow, &["--trust", trust]);
            let limits = ["--max-open-files=500", "--max-cpu=10s", "--max-file-size=1MiB", "--max-memory=1GiB"];
            for limit in limits {
                let mut limited = world.server_of(user, "off", &allow, &["--trust", trust, limit]);
                for file in &files {
                    let call = json!({"file": file, "args": ["x"]});
                    let limited = limited.call("execute_process", call.clone());
                    let plain = plain.call("execute_process", call);
                    assert_eq!(text(&limited), text(&plain), "{user:?}, {trust}, {limit}: {file}");
                    assert_eq!(limited["isError"], true, "{user:?}, {trust}, {limit}: {file}");
                }
            }
        }
        for directory in ["project", "home"] {
            assert!(!world.base.join(directory).join("ran-by-a-shell").exists(), "{user:?}: {directory}");
        }
    }
}

#[test]
fn the_launcher_does_nothing_for_anybody_but_the_server() {
    for user in User::all() {
        let world = World::new();
        let binary = world.base.join("allowexec");
        copy_program(env!("CARGO_BIN_EXE_allowexec"), &binary);
        let allow = format!("sh,{}", binary.to_str().unwrap());
        for limits in [&[][..], &["--max-open-files", "500"]] {
            let mut server = world.server_of(user, "off", &allow, limits);
            let marker = world.base.join("project/marker");
            for input in ["", "x"] {
                let arguments = json!({
                    "file": binary, "args": ["__launch", "/bin/sh", "sh", "-c", format!("touch {}", marker.display())],
                    "input": input,
                });
                let result = text(&server.call("execute_process", arguments));
                assert_eq!(result, "exit_code: 2\nstdout: ''\nstderr: ''\n", "{user:?}");
            }
            assert!(!marker.exists());
            // What it could say to the server, a command can't: it has no descriptor beside its three.
            let descriptors =
                sh(&mut server, "cd /proc/$$/fd; for fd in *; do readlink $fd | grep socket; done; echo done");
            assert_eq!(descriptors, "exit_code: 0\nstdout: |\n  done\nstderr: ''\n");
        }
    }
}

#[test]
fn the_persistent_shell_and_its_commands_have_limits() {
    each(|user, level, world| {
        let limits = ["--tools", "shell", "--max-cpu", "1s", "--max-memory", "64MiB", "--max-open-files", "60"];
        let in_group = kept(world, user, "max-memory", "64MiB").contains("cgroup");
        let mut server = world.server_of(user, level, "echo,awk,tail,ulimit,cat", &limits);
        let mut run = |tool: &str, arguments: &str| text(&server.call(tool, json!({"arguments": arguments})));
        assert!(run("cat", "/proc/self/limits").contains("60                   60"), "{user:?}, {level}");
        let spun = run("awk", "'BEGIN { while (1) x++ }'");
        assert!(spun.starts_with("exit_code: 152\nlimit: cpu\noutput:"), "{user:?}, {level}: {spun}");
        let grown = run("tail", "/dev/zero");
        assert_eq!(grown.contains("limit: memory"), in_group, "{user:?}, {level}: {grown}");
        let after = run("echo", "alive");
        assert!(after.contains("alive") && !after.contains("limit:"), "{user:?}, {level}: {after}");
        assert!(!after.contains("shell_restarted"), "{user:?}, {level}: {after}");
    });
}

/// The cgroups of the server with this number.
fn groups(server: u32) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut directories = vec![PathBuf::from("/sys/fs/cgroup")];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                if entry.file_name().to_str().unwrap_or("").starts_with(&format!("allowexec-{server}-")) {
                    found.push(entry.path());
                }
                directories.push(entry.path());
            }
        }
    }
    found
}

fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + DEADLINE;
    while !holds() {
        assert!(Instant::now() < end, "still not: {what}");
        std::thread::park_timeout(Duration::from_millis(5));
    }
}

#[test]
fn no_cgroup_stays_behind() {
    let world = World::new();
    if !kept(&world, User::Own, "max-processes", "20").contains("cgroup") {
        eprintln!("no cgroup can be made here, so nothing is shown of their removal");
        return;
    }
    let mut server = world.server("off", "sh,sleep", &["--max-processes", "20"]);
    let number = server.pid();
    assert!(sh(&mut server, "echo x").contains('x'));
    wait_until("the cgroup of a call that ended is gone", || groups(number).is_empty());
    server.send_request("tools/call", json!({"name": "execute_command", "arguments": {"command": "sleep 60"}}));
    wait_until("the cgroup of a call that runs is there", || {
        groups(number)
            .iter()
            .any(|group| !fs::read_to_string(group.join("cgroup.procs")).unwrap_or_default().is_empty())
    });
    kill_process(Pid::from_raw(number.try_into().unwrap()).unwrap(), Signal::KILL).unwrap();
    // The command outlives a server that is killed, and with it the cgroup.
    for group in groups(number) {
        for process in fs::read_to_string(group.join("cgroup.procs")).unwrap().lines() {
            kill_process(Pid::from_raw(process.parse().unwrap()).unwrap(), Signal::KILL).unwrap();
        }
        wait_until("its processes are gone", || {
            fs::read_to_string(group.join("cgroup.procs")).unwrap_or_default().is_empty()
        });
    }
    drop(server);
    assert!(!groups(number).is_empty());
    wait_until("the next server removes it", || {
        let mut next = world.server("off", "sh", &["--max-processes", "20"]);
        assert!(sh(&mut next, "echo x").contains('x'));
        groups(number).is_empty()
    });
}
