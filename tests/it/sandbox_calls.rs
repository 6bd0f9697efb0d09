//! What an interpreter can reach by system calls that no path stands for: the network, other processes, the kernel. Each
//! attempt succeeds without the sandbox and fails at the levels that refuse it, by root and by an ordinary user.
#![cfg(target_os = "linux")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixDatagram, UnixListener};

use crate::support::Server;
use crate::support::world::Sign::{Connected, Said};
use crate::support::world::{Sign, User, World, text};
use serde_json::json;

/// The system's own programs: a version manager's in the home directory need grants of their own.
const SYSTEM_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// From which level on an attempt fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum From {
    Workspace,
    Strict,
}

/// Whether every kernel lets every user do it without a sandbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum On {
    EveryKernel,
    /// What the system forbids without the sandbox is said, and not shown. It may also forbid it for another reason at a
    /// level that does not, as to root without its capabilities.
    Some,
}

/// What comes before each attempt; one that fails raises, and nothing is said.
const PRELUDE: &str = "
import ctypes, os, signal, socket, struct, sys
libc, server = ctypes.CDLL(None, use_errno=True), os.getppid()
PC = os.uname().machine == 'x86_64'
def check(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), 'refused')
    return result
def call(*arguments):
    return check(libc.syscall(*arguments))
ADD_KEY, KEYCTL, CLONE, UFFD, BPF, PERF, CLONE3 = (
    (248, 250, 56, 323, 321, 298, 435) if PC else (217, 219, 220, 282, 280, 241, 435))
def child(attempt):
    # What is tried changes the process that tries it.
    if (pid := os.fork()) == 0:
        try:
            attempt()
            os._exit(0)
        except BaseException:
            os._exit(1)
    check(-os.waitpid(pid, 0)[1])
def made():
    # A file of its own for each attempt.
    name = f'[base]/project/made-{os.getpid()}'
    open(name, 'w').close()
    return name
def traced(attempt):
    if (pid := os.fork()) == 0:
        signal.pause()
    try:
        attempt(pid)
    finally:
        os.kill(pid, 9)
def ptrace(request, pid, data):
    check(libc.ptrace(ctypes.c_long(request), pid, None, ctypes.c_long(data)))
def new(flags, mode, path=None):
    os.umask(0)
    return os.fstat(os.open(path or made() + 'n', flags, mode)).st_mode
def left(pid):
    # The clone leaves at once, and is no child of ours.
    if pid == 0:
        os._exit(0)
";

const ATTEMPTS: &[(From, On, Sign, &str)] = &[
    (From::Strict, On::EveryKernel, Connected, "socket.create_connection(('127.0.0.1', [port]))"),
    (From::Strict, On::EveryKernel, Said, "socket.socket(type=socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', 9)); SAY"),
    (From::Strict, On::EveryKernel, Said, "socket.socket(type=socket.SOCK_DGRAM).connect(('127.0.0.1', 9)); SAY"),
    (From::Strict, On::EveryKernel, Said, "socket.socket(socket.AF_UNIX).connect('[base]/outside/stream'); SAY"),
    (From::Strict, On::EveryKernel, Said, "socket.socket(socket.AF_UNIX).bind('[base]/project/own'); SAY"),
    (
        From::Strict,
        On::EveryKernel,
        Said,
        "socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b'x', '[base]/outside/datagrams'); SAY",
    ),
    (
        From::Strict,
        On::EveryKernel,
        Said,
        "socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0].sendto(b'x', '[base]/outside/datagrams'); SAY",
    ),
    (
        From::Strict,
        On::EveryKernel,
        Said,
        "socket.socketpair(socket.AF_UNIX, socket.SOCK_RAW)[0].sendmsg([b'x'], [], 0, '[base]/outside/datagrams'); SAY",
    ),
    (From::Strict, On::EveryKernel, Said, "socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0); SAY"),
    (From::Strict, On::Some, Said, "socket.socket(socket.AF_PACKET, socket.SOCK_RAW); SAY"),
    (From::Strict, On::Some, Said, "socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM); SAY"),
    (From::Strict, On::Some, Said, "socket.socket(socket.AF_ALG, socket.SOCK_SEQPACKET); SAY"),
    (From::Strict, On::EveryKernel, Said, "i = check(libc.shmget(0, 4096, 0o1600)); libc.shmctl(i, 0, None); SAY"),
    (From::Strict, On::EveryKernel, Said, "i = check(libc.semget(0, 1, 0o1600)); libc.semctl(i, 0, 0); SAY"),
    (From::Strict, On::EveryKernel, Said, "i = check(libc.msgget(0, 0o1600)); libc.msgctl(i, 0, None); SAY"),
    (
        From::Workspace,
        On::Some,
        Said,
        "name = f'/{os.getpid()}'.encode(); check(libc.mq_open(name, 0o102, 0o600, None)); libc.mq_unlink(name); SAY",
    ),
    (
        From::Strict,
        On::EveryKernel,
        Said,
        "check(libc.inotify_add_watch(check(libc.inotify_init()), b'[base]/home', 2)); SAY",
    ),
    (
        From::Strict,
        On::EveryKernel,
        Said,
        "check(libc.inotify_add_watch(check(libc.inotify_init1(0)), b'/etc', 2)); SAY",
    ),
    (From::Strict, On::Some, Said, "import fcntl; fcntl.fcntl(os.open('/etc', 0), 1026, 2); SAY"),
    // A program that everybody runs as the user of the server, or as its group.
    (From::Workspace, On::EveryKernel, Said, "os.chmod(made(), 0o4755); SAY"),
    (From::Workspace, On::EveryKernel, Said, "os.chmod('[base]/home/letter', 0o4755); SAY"),
    (From::Workspace, On::EveryKernel, Said, "os.fchmod(os.open(made(), 2), 0o4755); SAY"),
    (
        From::Workspace,
        On::EveryKernel,
        Said,
        "os.chmod(os.path.basename(made()), 0o4755, dir_fd=os.open('[base]/project', 0)); SAY",
    ),
    (From::Workspace, On::Some, Said, "call(452, -100, made().encode(), 0o4755, 0); SAY"),
    (From::Strict, On::EveryKernel, Said, "os.chmod(made(), 0o2755); SAY"),
    (From::Workspace, On::EveryKernel, Said, "check(-(new(0o101, 0o4755) & 0o4000 == 0)); SAY"),
    (From::Workspace, On::EveryKernel, Said, "check(-(new(os.O_CREAT | os.O_EXCL | 2, 0o4000) & 0o4000 == 0)); SAY"),
    (From::Workspace, On::Some, Said, "check(-(new(os.O_TMPFILE | 2, 0o4755, '[base]/project') & 0o4000 == 0)); SAY"),
    (From::Workspace, On::EveryKernel, Said, "os.mknod(made() + 'n', 0o104755); SAY"),
    (From::Strict, On::EveryKernel, Said, "check(-(new(0o101, 0o2755) & 0o2000 == 0)); SAY"),
    (From::Strict, On::EveryKernel, Said, "os.mknod(made() + 'n', 0o102755); SAY"),
    (
        From::Workspace,
        On::Some,
        Said,
        "call(437, -100, (made() + 'n').encode(), struct.pack('3Q', 0o101, 0o4755, 0), ctypes.c_size_t(24)); SAY",
    ),
    (From::Workspace, On::Some, Said, "call(425, 1, ctypes.create_string_buffer(120)); SAY"),
    // Being told of a process's exit, which SIGKILL does not end then.
    (From::Workspace, On::Some, Said, "traced(lambda pid: ptrace(0x4206, pid, 0x40)); SAY"),
    (
        From::Workspace,
        On::Some,
        Said,
        "traced(lambda pid: (ptrace(16, pid, 0), os.waitpid(pid, 0), ptrace(0x4200, pid, 0x51))); SAY",
    ),
    (
        From::Workspace,
        On::Some,
        Said,
        "traced(lambda pid: (ptrace(16, pid, 0), os.waitpid(pid, 0), ptrace(21, pid, 0x40))); SAY",
    ),
    (
        From::Workspace,
        On::Some,
        Said,
        "import fcntl; f = os.open('[base]/project/leased', os.O_CREAT | os.O_RDWR); fcntl.fcntl(f, 1024, 1); SAY",
    ),
    (
        From::Workspace,
        On::Some,
        Said,
        "f = check(libc.fanotify_init(0x200, 0)); \
         check(libc.fanotify_mark(f, 1, ctypes.c_ulong(2), -100, b'[base]/home')); SAY",
    ),
    (From::Workspace, On::Some, Said, "call(ADD_KEY, b'user', b'x', b'y', ctypes.c_size_t(1), -2); SAY"),
    (From::Workspace, On::Some, Said, "call(KEYCTL, 0, -4, 0); SAY"),
    (From::Workspace, On::Some, Said, "call(UFFD, 1); SAY"),
    (
        From::Workspace,
        On::Some,
        Said,
        "call(BPF, 0, ctypes.create_string_buffer(struct.pack('5I', 2, 4, 4, 1, 0), 72), 72); SAY",
    ),
    (
        From::Strict,
        On::Some,
        Said,
        "call(PERF, ctypes.create_string_buffer(struct.pack('IIQQQQQ', 1, 112, 9, 0, 0, 0, 0x60), 112), 0, -1, -1, 0); SAY",
    ),
    (
        From::Workspace,
        On::Some,
        Said,
        "call(PERF, ctypes.create_string_buffer(struct.pack('IIQQQQQ', 1, 112, 0, 0, 0, 0, 0), 112), -1, 0, -1, 0); SAY",
    ),
    (From::Workspace, On::Some, Said, "child(lambda: check(libc.unshare(0x10000000))); SAY"),
    (From::Workspace, On::Some, Said, "child(lambda: check(libc.unshare(0x10000000 | 0x40000000))); SAY"),
    (From::Workspace, On::Some, Said, "left(call(CLONE, 0x10000000 | 17, 0, 0, 0, 0)); SAY"),
    (From::Workspace, On::EveryKernel, Said, "left(call(CLONE, 0x8000 | 17, 0, 0, 0, 0)); SAY"),
    (
        From::Workspace,
        On::EveryKernel,
        Said,
        "left(call(CLONE3, struct.pack('8Q', 0x8000, 0, 0, 0, 0, 0, 0, 0), 64)); SAY",
    ),
    (From::Workspace, On::EveryKernel, Said, "child(lambda: os.setpgid(0, os.getpgid(server))); SAY"),
    (
        From::Workspace,
        On::EveryKernel,
        Said,
        "p = os.fork() or signal.pause()\ntry: os.setpgid(p, os.getpgid(server)); SAY\nfinally: os.kill(p, 9)",
    ),
    (From::Strict, On::Some, Said, "os.setpriority(os.PRIO_PROCESS, server, os.getpriority(0, server)); SAY"),
    (From::Strict, On::Some, Said, "os.sched_setaffinity(server, os.sched_getaffinity(server)); SAY"),
    (From::Strict, On::Some, Said, "os.sched_setscheduler(server, os.SCHED_OTHER, os.sched_param(0)); SAY"),
    (From::Workspace, On::Some, Said, "h = socket.gethostname().encode(); check(libc.sethostname(h, len(h))); SAY"),
    (From::Strict, On::Some, Said, "check(libc.klogctl(3, ctypes.create_string_buffer(9), 9)); SAY"),
];

/// What works at every level.
const HONEST: &[&str] = &[
    "a, b = socket.socketpair(); a.send(b'x'); assert b.recv(1) == b'x'; a.sendmsg([b'y']); assert b.recv(1) == b'y'; SAY",
    "a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET); a.send(b'x'); assert b.recv(1) == b'x'; SAY",
    "import asyncio; asyncio.run(asyncio.sleep(0)); SAY",
    "import threading; t = threading.Thread(target=lambda: SAY); t.start(); t.join()",
    "import subprocess; subprocess.run([sys.executable, '-c', 'print(\"it-worked\")'])",
    "import multiprocessing as m; c = m.get_context('fork'); p = c.Process(target=lambda: SAY); p.start(); p.join()",
    "child(lambda: os.setpgid(0, 0)); SAY",
    "child(lambda: os.setpgid(os.getpid(), os.getpid())); SAY",
    "child(os.setsid); SAY",
    "os.nice(1); os.sched_setaffinity(0, os.sched_getaffinity(0)); SAY",
    // What gdb wants to be told of, unless the system lets nobody trace a child of its own (Yama).
    "yama = '/proc/sys/kernel/yama/ptrace_scope'; \
     os.path.exists(yama) and open(yama).read() >= '2' or \
     traced(lambda pid: (ptrace(16, pid, 0), os.waitpid(pid, 0), ptrace(0x4200, pid, 0x100037))); SAY",
];

fn is_installed() -> bool {
    let found = SYSTEM_PATH.split(':').any(|entry| std::path::Path::new(entry).join("python3").is_file());
    if !found {
        eprintln!("python3 is not installed here, so nothing is shown of it");
    }
    found
}

/// Runs a script behind the prelude.
fn run(world: &World, server: &mut Server, script: &str) -> String {
    let script = world.fill(&format!("{PRELUDE}{}", script.replace("SAY", "print('it-worked', flush=True)")));
    text(&server.call("execute_process", json!({"file": "python3", "args": ["-ISc", script]})))
}

fn server(world: &World, user: User, flags: &[&str]) -> Server {
    let project = world.fill("[base]/project");
    let args = [&["--allow", "python3", "--project-dir", &project, "--timeout", "20s"], flags].concat();
    let mut server = world.command(user, &args).env("PATH", SYSTEM_PATH).start();
    server.initialize("2025-06-18");
    server
}

/// A world with two sockets outside of the project that everybody may use.
fn world_with_sockets() -> (World, UnixListener, UnixDatagram) {
    let world = World::new();
    let [stream, datagrams] = ["stream", "datagrams"].map(|name| world.base.join("outside").join(name));
    let sockets = (UnixListener::bind(&stream).unwrap(), UnixDatagram::bind(&datagrams).unwrap());
    for path in [stream, datagrams] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o777)).unwrap();
    }
    world.take(Said, "");
    (world, sockets.0, sockets.1)
}

#[test]
fn an_interpreter_reaches_neither_the_network_nor_other_processes_nor_the_kernel() {
    if !is_installed() {
        return;
    }
    let mut wrong = Vec::new();
    for user in User::all() {
        let mut shown = vec![true; ATTEMPTS.len()];
        for level in ["off", "workspace", "strict"] {
            let (world, _stream, datagrams) = world_with_sockets();
            datagrams.set_nonblocking(true).unwrap();
            let mut server = server(&world, user, &["--sandbox", level]);
            for (&(from, on, sign, attempt), shown) in ATTEMPTS.iter().zip(&mut shown) {
                if !*shown {
                    continue;
                }
                fs::remove_file(world.base.join("project/own")).ok();
                // A queue that is full would refuse as well.
                while datagrams.recv(&mut [0]).is_ok() {}
                let output = run(&world, &mut server, attempt);
                let is_refused = level == "strict" || (level == "workspace" && from == From::Workspace);
                let worked = world.take(sign, &output);
                if level == "off" && on == On::Some && !worked {
                    eprintln!("{user:?}: this system refuses it without the sandbox too: {attempt}");
                    *shown = false;
                    continue;
                }
                let is_free = on == On::EveryKernel || level == "off";
                if (worked && is_refused) || (!worked && !is_refused && is_free) {
                    wrong.push(format!("{user:?}, {level}, worked: {worked}: {attempt}:\n{output}"));
                }
            }
            for honest in HONEST {
                let output = run(&world, &mut server, honest);
                if !world.take(Said, &output) {
                    wrong.push(format!("{user:?}, {level}: {honest}:\n{output}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_network_is_chosen_apart_from_the_level() {
    if !is_installed() {
        return;
    }
    let tcp = "socket.create_connection(('127.0.0.1', [port]))";
    let rest = [
        "socket.socket(type=socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', 9)); SAY",
        "socket.socket().bind(('127.0.0.1', 0)); SAY",
        "socket.socket(socket.AF_UNIX).connect('[base]/outside/stream'); SAY",
        "socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0); SAY",
    ];
    for user in User::all() {
        for (level, network, is_open) in [
            ("workspace", None, true),
            ("workspace", Some("none"), false),
            ("workspace", Some("full"), true),
            ("strict", None, false),
            ("strict", Some("none"), false),
            ("strict", Some("full"), true),
        ] {
            let (world, _stream, _datagrams) = world_with_sockets();
            let network: Vec<&str> = network.into_iter().flat_map(|network| ["--network", network]).collect();
            let mut server = server(&world, user, &[&["--sandbox", level], &network[..]].concat());
            let output = run(&world, &mut server, tcp);
            assert_eq!(world.take(Connected, &output), is_open, "{user:?}, {level} {network:?}: {output}");
            for attempt in rest {
                let output = run(&world, &mut server, attempt);
                assert_eq!(world.take(Said, &output), is_open, "{user:?}, {level} {network:?}: {attempt}: {output}");
            }
            assert!(run(&world, &mut server, HONEST[0]).contains("it-worked"));
            // At `strict` the rest stays closed.
            let output = run(&world, &mut server, "check(libc.inotify_init1(0)); SAY");
            assert_eq!(world.take(Said, &output), level == "workspace", "{output}");
            let tools = server.request("tools/list", json!({}))["result"]["tools"].clone();
            let description = tools[0]["description"].as_str().unwrap();
            assert_eq!(description.contains("and have no network"), !is_open, "{description}");
        }
    }
}

#[test]
fn no_network_without_a_sandbox_is_an_error() {
    for subcommand in ["serve", "doctor"] {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_allowexec"));
        let output = command.args([subcommand, "--allow", "ls", "--network", "none"]).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{said}");
        let expected = "`--network none` (flag `--network`) can't be enforced without the sandbox; add `--sandbox workspace` \
                        or `--sandbox strict`";
        assert!(said.contains(expected), "{said}");
    }
}

/// A set of capabilities as `/proc/self/status` has it.
fn set(status: &str, name: &str) -> u64 {
    let line = status.lines().find_map(|line| line.trim().strip_prefix(name)).expect(status);
    u64::from_str_radix(line.trim_start_matches(':').trim(), 16).unwrap()
}

#[test]
fn commands_keep_the_capabilities_that_files_need() {
    if !is_installed() {
        return;
    }
    // chown, dac_override, fowner
    const FILES: u64 = 1 | 1 << 1 | 1 << 3;
    // kill, setgid, setuid, setpcap, sys_chroot
    const USERS: u64 = 1 << 5 | 1 << 6 | 1 << 7 | 1 << 8 | 1 << 18;
    // net_bind_service, net_raw
    const NETWORK: u64 = 1 << 10 | 1 << 13;
    let own = fs::read_to_string("/proc/self/status").unwrap();
    for user in User::all() {
        let has = if user == User::Own { set(&own, "CapPrm") } else { 0 };
        for (flags, kept) in [
            (&["--sandbox", "workspace"][..], FILES | USERS | NETWORK),
            (&["--sandbox", "workspace", "--network", "none"], FILES | USERS),
            (&["--sandbox", "strict", "--network", "full"], FILES | NETWORK),
            (&["--sandbox", "strict"], FILES),
            (&["--sandbox", "strict", "--network", "connect:80"], FILES),
            (&["--sandbox", "strict", "--network", "connect:80,listen:80"], FILES | 1 << 10),
        ] {
            let world = World::new();
            let mut server = server(&world, user, flags);
            let status = run(&world, &mut server, "print(open('/proc/self/status').read())");
            for name in ["CapPrm", "CapEff"] {
                assert_eq!(set(&status, name), has & kept, "{user:?} {flags:?} {name}:\n{status}");
            }
            for name in ["CapInh", "CapAmb"] {
                assert_eq!(set(&status, name), 0, "{user:?} {flags:?} {name}:\n{status}");
            }
            if has != 0 {
                assert_eq!(set(&status, "CapBnd") & !kept, 0, "{flags:?}:\n{status}");
            }
        }
    }
}

/// A client in a session of its own, so that only it and its server can be hung up: a command leaves a stopped process in
/// their group, and its own end makes the kernel look at the group.
const CLIENT: &str = r#"
import json, os, signal, subprocess, sys
if (pid := os.fork()) != 0:
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
os.setsid()
hung_up = []
signal.signal(signal.SIGHUP, lambda *_: hung_up.append(1))
server = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
def ask(id, method, params):
    server.stdin.write((json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params}) + "\n").encode())
    server.stdin.flush()
    while True:
        message = json.loads(server.stdout.readline())
        if message.get("id") == id:
            return json.dumps(message)
command = """
import os, signal
group, stopped = os.getpgid(os.getppid()), os.fork()
if stopped == 0:
    signal.pause()
try:
    os.setpgid(stopped, group)
    print('joined')
except OSError:
    print('refused')
os.kill(stopped, signal.SIGSTOP)
os.waitpid(stopped, os.WUNTRACED)
"""
ask(1, "initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}})
call = {"name": "execute_process", "arguments": {"file": "python3", "args": ["-c", command]}}
print(ask(2, "tools/call", call))
print(ask(3, "ping", {}), "hung up:", len(hung_up), flush=True)
server.stdin.close()
os._exit(server.wait())
"#;

#[test]
fn no_command_has_the_servers_group_hung_up() {
    if !is_installed() {
        return;
    }
    let world = World::new();
    let project = world.fill("[base]/project");
    for level in ["workspace", "strict"] {
        let mut client = std::process::Command::new("python3");
        client.args(["-c", CLIENT, env!("CARGO_BIN_EXE_allowexec"), "--sandbox", level, "--allow", "python3"]);
        client.args(["--project-dir", &project, "--log", "off"]).env("PATH", SYSTEM_PATH).env("HOME", &world.base);
        let output = client.output().unwrap();
        let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        assert!(said.contains("refused") && said.contains("hung up: 0"), "{level}: {said}");
        assert!(output.status.success(), "{level}: {said}");
    }
}
