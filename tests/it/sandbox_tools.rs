//! Everyday tools within the sandbox, each a row of the table in `spec/sandbox.md`, and what an interpreter can try by
//! system calls.
#![cfg(target_os = "linux")]

use std::fs;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::process::Command;

use crate::support::server::copy_program;
use crate::support::world::Sign::{Connected, Read, Said, Started, Written};
use crate::support::world::{Sign, User, World, is_installed, text};
use serde_json::json;

/// The system's own programs: a version manager's in the home directory need grants of their own.
const SYSTEM_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// One row: with these flags the line works, its answer holding `said`, or does not.
#[derive(Clone, Copy)]
struct Row<'a> {
    level: &'a str,
    allow: &'a str,
    grants: &'a [&'a str],
    line: &'a [&'a str],
    works: bool,
    said: &'a str,
}

fn check(world: &World, path: &str, rows: &[Row<'_>]) {
    let project = world.fill("[base]/project");
    for Row { level, allow, grants, line, works, said } in rows {
        let args = [&["--sandbox", level, "--allow", allow, "--project-dir", &project, "--timeout", "60s"], *grants];
        let mut server = world.command(User::Own, &args.concat()).env("PATH", path).start();
        server.initialize("2025-06-18");
        let id = server.send_request(
            "tools/call",
            json!({"name": "execute_process", "arguments": {"file": line[0], "args": line[1..]}}),
        );
        let output = text(&server.response(&json!(id))["result"]);
        assert_eq!(output.contains("exit_code: 0"), *works, "{level} {grants:?}: {line:?}:\n{output}");
        assert!(output.contains(said), "{level} {grants:?}: {line:?}:\n{output}");
    }
}

/// Whether the system itself has the program, outside of anybody's home directory.
fn is_in_system(program: &str) -> bool {
    let found = SYSTEM_PATH.split(':').any(|entry| std::path::Path::new(entry).join(program).is_file());
    if !found {
        eprintln!("{program} is not installed here, so nothing is shown of it");
    }
    found
}

#[test]
fn git_works() {
    if !is_in_system("git") {
        return;
    }
    let world = World::new();
    let name = "GIT_AUTHOR_NAME=t,GIT_AUTHOR_EMAIL=t@localhost,GIT_COMMITTER_NAME=t,GIT_COMMITTER_EMAIL=t@localhost";
    let grants: &[&str] = &["--env", name];
    for level in ["workspace", "strict"] {
        let row = |line, said| Row { level, allow: "git", grants, line, works: true, said };
        check(
            &world,
            SYSTEM_PATH,
            &[
                row(&["git", "init", "-q"], ""),
                row(&["git", "add", "file"], ""),
                row(&["git", "commit", "-q", "--allow-empty", "-m", "first"], ""),
                row(&["git", "log", "--format=%s"], "first"),
                row(&["git", "status", "--short"], "?? big"),
                row(&["git", "diff", "HEAD"], ""),
            ],
        );
    }
}

#[test]
fn cargo_works_with_its_toolchain() {
    if !is_installed("rustc") || !is_in_system("cc") {
        return;
    }
    let sysroot = Command::new("rustc").args(["--print", "sysroot"]).output().unwrap();
    let sysroot = String::from_utf8(sysroot.stdout).unwrap().trim().to_owned();
    let path = format!("{sysroot}/bin:{SYSTEM_PATH}");
    let world = World::new();
    let project = world.base.join("project");
    fs::create_dir_all(project.join("src")).unwrap();
    fs::create_dir_all(project.join("target")).unwrap();
    fs::write(project.join("Cargo.toml"), "[package]\nname = \"x\"\nversion = \"0.1.0\"\nedition = \"2021\"\n")
        .unwrap();
    fs::write(project.join("src/main.rs"), "fn main() { println!(\"hello-{}\", 41 + 1) }\n").unwrap();
    let target = world.fill("[base]/project/target");
    let toolchain = ["--exec", &sysroot];
    let linker = ["--exec", &sysroot, "--exec", "/usr/bin/cc", "--exec", "/usr/bin/ld", "--exec", "/usr/lib/gcc"];
    let started = [&linker[..], &["--exec", &target]].concat();
    let row = |level, grants, line, works, said| Row { level, allow: "cargo", grants, line, works, said };
    let (look, run): (&[&str], &[&str]) = (&["cargo", "check", "--offline"], &["cargo", "run", "--offline"]);
    check(
        &world,
        &path,
        &[
            row("workspace", &toolchain, look, true, "Finished"),
            row("workspace", &toolchain, run, true, "hello-42"),
            row("strict", &toolchain, look, true, "Finished"),
            row("strict", &linker, run, false, "Permission denied"),
            row("strict", &started, run, true, "hello-42"),
        ],
    );
}

#[test]
fn npm_runs_scripts_with_node_and_sh() {
    if !is_in_system("npm") || !is_in_system("node") {
        return;
    }
    let world = World::new();
    let package = r#"{"name": "x", "version": "1.0.0", "scripts": {"hi": "node -e \"console.log(41 + 1)\""}}"#;
    fs::write(world.base.join("project/package.json"), package).unwrap();
    let line: &[&str] = &["npm", "run", "-s", "hi"];
    let row = |level, allow, works, said| Row { level, allow, grants: &[], line, works, said };
    check(
        &world,
        SYSTEM_PATH,
        &[
            row("workspace", "npm", true, "42"),
            row("strict", "npm", false, ""),
            row("strict", "npm,node,sh", true, "42"),
        ],
    );
}

#[test]
fn python_works_alone() {
    if !is_in_system("python3") {
        return;
    }
    let world = World::new();
    let honest: &[&str] = &["python3", "-c", "import json, tempfile; tempfile.mkstemp(); print(json.dumps([41 + 1]))"];
    let starts: &[&str] = &["python3", "-c", "import subprocess; print(subprocess.run(['id']))"];
    let row = |level, line, works, said| Row { level, allow: "python3", grants: &[], line, works, said };
    check(
        &world,
        SYSTEM_PATH,
        &[
            row("workspace", honest, true, "[42]"),
            row("workspace", starts, true, "returncode=0"),
            row("strict", honest, true, "[42]"),
            row("strict", starts, false, "PermissionError"),
        ],
    );
}

#[test]
fn debuggers_work_unless_they_want_to_be_told_of_an_exit() {
    let world = World::new();
    let quick = Row { level: "workspace", allow: "gdb,strace,true", grants: &[], line: &[], works: true, said: "" };
    let without_shell = ["gdb", "-batch", "-iex", "set startup-with-shell off", "-ex", "run", "true"];
    for level in ["workspace", "strict"] {
        if is_in_system("gdb") {
            check(&world, SYSTEM_PATH, &[Row { level, line: &without_shell, said: "exited normally", ..quick }]);
        }
        if is_in_system("strace") {
            let said = "Operation not permitted";
            check(&world, SYSTEM_PATH, &[Row { level, line: &["strace", "true"], works: false, said, ..quick }]);
        }
    }
}

#[test]
fn make_works_with_what_its_rules_start() {
    if !is_in_system("make") {
        return;
    }
    let world = World::new();
    fs::write(world.base.join("project/Makefile"), "all:\n\t@cp file made && cat made\n").unwrap();
    let row = |level, allow, works, said| Row { level, allow, grants: &[], line: &["make"], works, said };
    check(
        &world,
        SYSTEM_PATH,
        &[
            row("workspace", "make", true, "b\n  a"),
            row("strict", "make", false, "Permission denied"),
            row("strict", "make,sh,cp,cat", true, "b\n  a"),
        ],
    );
}

/// What comes before each attempt; one that fails raises, and nothing is said.
const PRELUDE: &str = "
import ctypes, fcntl, os, platform, resource, signal, socket, struct
libc, server = ctypes.CDLL(None, use_errno=True), os.getppid()
threads = [int(name) for name in os.listdir(f'/proc/{server}/task')]
starters = [t for t in threads if str(os.getpid()) in open(f'/proc/{server}/task/{t}/children').read().split()]
def check(result):
    if result:
        raise OSError(ctypes.get_errno(), 'refused')
def call(*arguments):
    result = libc.syscall(*arguments)
    check(result < 0)
    return result
def is_filtered(*arguments):
    return libc.syscall(*arguments) < 0 and ctypes.get_errno() == 1
TKILL, TGKILL, SIGQUEUE, TGSIGQUEUE = (200, 234, 129, 297) if platform.machine() == 'x86_64' else (130, 131, 138, 240)
PIDFD_OPEN, PIDFD_THREAD, IO_URING_SETUP = 434, os.O_EXCL, 425
INFO = struct.pack('iii116x', 0, 0, -1)
def any_of(attempt, things):
    for thing in things:
        try:
            attempt(thing)
            print('it-worked')
        except OSError:
            pass
";

/// The attempts that only some kernels can be seen to have a use for.
fn attempts_of_this_kernel() -> Vec<(Sign, &'static str)> {
    let is = |setting: &str, value: &str| fs::read_to_string(setting).is_ok_and(|text| text.trim() == value);
    let of = [
        ("/proc/sys/net/mptcp/enabled", "1", Connected, "socket.socket(proto=262).connect(('127.0.0.1', [port]))"),
        (
            "/proc/sys/kernel/io_uring_disabled",
            "0",
            Said,
            "call(IO_URING_SETUP, 1, ctypes.create_string_buffer(120)); print('it-worked')",
        ),
    ];
    let of =
        of.into_iter().filter(|(setting, value, ..)| is(setting, value)).map(|(_, _, sign, attempt)| (sign, attempt));
    // kill(2) by its other number, which ends the process in the sandbox; without one, a kernel without x32 says that there is
    // no such call.
    let x32 = (Said, "is_filtered(0x4000003e, starters[0], 0) or print('it-worked')");
    of.chain(cfg!(target_arch = "x86_64").then_some(x32)).collect()
}

#[test]
fn an_interpreter_gets_nowhere_by_system_calls() {
    if !is_in_system("python3") || !is_in_system("touch") {
        return;
    }
    let mut attempts = vec![
        (Started, "os.execv('./program', ['touch', 'marker'])"),
        (Started, "os.execv('/usr/bin/touch', ['touch', 'marker'])"),
        (Started, "os.execv('/proc/self/root/usr/bin/touch', ['touch', 'marker'])"),
        (Started, "os.execve(os.open('/usr/bin/touch', os.O_PATH), ['touch', 'marker'], {})"),
        (Started, "os.execve(os.open('/usr/bin/touch', os.O_RDONLY), ['touch', 'marker'], {})"),
        (
            Written,
            "f = os.open('.', os.O_TMPFILE | os.O_WRONLY); \
                   check(libc.linkat(-100, f'/proc/self/fd/{f}'.encode(), -100, b'[base]/outside/marker', 0x400))",
        ),
        (Written, "os.symlink('[base]/outside', 'planted'); open('planted/marker', 'w')"),
        (Written, "os.rename('file', '[base]/outside/marker')"),
        (Written, "os.link('file', '[base]/outside/marker')"),
        (Written, "os.mkdir('[base]/outside/marker')"),
        (Written, "os.symlink('victim', '[base]/outside/marker')"),
        (Written, "os.mkfifo('[base]/outside/marker')"),
        (Said, "os.truncate('[base]/outside/victim', 0); print('it-worked')"),
        (Said, "os.link('[base]/home/letter', 'here'); print('it-worked')"),
        (Said, "os.rename('[base]/home/letter', 'there'); print('it-worked')"),
        (Read, "print(open('/proc/self/root[base]/home/letter').read())"),
        (Read, "os.symlink('[base]/home', 'home'); print(open('home/letter').read())"),
        (Said, "os.kill(server, 0); print('it-worked')"),
        (Said, "any_of(lambda thread: os.kill(thread, 0), threads)"),
        (Said, "any_of(lambda thread: call(TKILL, thread, 0), threads)"),
        (Said, "any_of(lambda thread: call(TGKILL, server, thread, 0), threads)"),
        (Said, "any_of(lambda thread: call(SIGQUEUE, thread, 0, INFO), threads)"),
        (Said, "any_of(lambda thread: call(TGSIGQUEUE, server, thread, 0, INFO), threads)"),
        (Said, "any_of(lambda thread: signal.pidfd_send_signal(os.open(f'/proc/{thread}', 0), 0), threads)"),
        (Said, "any_of(lambda thread: call(PIDFD_OPEN, thread, PIDFD_THREAD), starters)"),
        (Said, "any_of(lambda thread: fcntl.fcntl(0, fcntl.F_SETOWN, thread), starters)"),
        (Said, "any_of(lambda thread: fcntl.fcntl(0, 15, struct.pack('ii', 0, thread)), starters)"),
        (
            Said,
            "any_of(lambda thread: fcntl.ioctl(socket.socketpair()[0], 0x8901, struct.pack('i', thread)), starters)",
        ),
        (
            Said,
            "any_of(lambda thread: fcntl.ioctl(socket.socketpair()[0], 0x8902, struct.pack('i', thread)), starters)",
        ),
        (Said, "any_of(lambda thread: resource.prlimit(thread, resource.RLIMIT_CPU), threads)"),
        (Connected, "socket.create_connection(('127.0.0.1', [port]))"),
        (Connected, "socket.socket().sendto(b'x', socket.MSG_FASTOPEN, ('127.0.0.1', [port]))"),
        (Said, "socket.socket().bind(('127.0.0.1', 0)); print('it-worked')"),
        (Said, "socket.socket().listen(); print('it-worked')"),
        (Said, "socket.socket(socket.AF_INET6).listen(); print('it-worked')"),
        (Said, "socket.socket(socket.AF_UNIX).connect('\\0[base]'); print('it-worked')"),
    ];
    attempts.extend(attempts_of_this_kernel());
    // The server is closed to these without a sandbox too.
    let closed = [
        "os.listdir(f'/proc/{server}/cwd'); print('it-worked')",
        "os.listdir(f'/proc/{server}/root'); print('it-worked')",
        "any_of(lambda thread: os.listdir(f'/proc/{server}/task/{thread}/cwd'), threads)",
        "any_of(lambda thread: os.readlink(f'/proc/{server}/task/{thread}/fd/0'), threads)",
        "any_of(lambda thread: open(f'/proc/{server}/task/{thread}/mem', 'rb'), threads)",
        "any_of(lambda thread: check(libc.ptrace(0x4206, thread, 0, 0)), threads)",
    ];
    for user in User::all() {
        for (level, succeeds) in [("off", true), ("strict", false)] {
            let world = World::new();
            let address = SocketAddr::from_abstract_name(world.base.to_str().unwrap()).unwrap();
            let _abstract = UnixListener::bind_addr(&address).unwrap();
            copy_program("/usr/bin/touch", world.base.join("project/program"));
            world.take(Said, "");
            let project = world.fill("[base]/project");
            let args = ["--sandbox", level, "--allow", "python3", "--project-dir", &project, "--timeout", "20s"];
            let mut server = world.command(user, &args).env("PATH", SYSTEM_PATH).start();
            server.initialize("2025-06-18");
            let closed = closed.iter().map(|attempt| (Said, *attempt, false));
            let open = attempts.iter().map(|(sign, attempt)| (*sign, *attempt, succeeds));
            for (sign, attempt, succeeds) in open.chain(closed) {
                world.put_file(user);
                for planted in ["planted", "home", "here"] {
                    fs::remove_file(world.base.join("project").join(planted)).ok();
                }
                fs::rename(world.base.join("project/there"), world.base.join("home/letter")).ok();
                let script = world.fill(&format!("{PRELUDE}{attempt}"));
                let arguments = json!({"file": "python3", "args": ["-ISc", script]});
                let output = text(&server.call("execute_process", arguments));
                assert_eq!(world.take(sign, &output), succeeds, "{user:?}, {level}: {attempt}:\n{output}");
            }
        }
    }
}
