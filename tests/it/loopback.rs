//! `--network loopback`: a server and its client meet in one call, and nobody else meets them.
//!
//! As root and as an ordinary user. What must fail is shown to work with `--network full` or without the sandbox.
#![cfg(target_os = "linux")]

use std::fs;
use std::net::TcpStream;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::support::Server;
use crate::support::server::wait_with_deadline;
use crate::support::world::Sign::Connected;
use crate::support::world::{User, World, has_python, is_installed, text};
use serde_json::json;

/// The system's own programs: a version manager's in the home directory need grants of their own.
const SYSTEM_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Listens on the port, writes its number to `pid`, and answers each connection.
const SERVER_PY: &str = r#"
import os, socket, sys
listener = socket.create_server(("127.0.0.1", int(sys.argv[1])))
open("pid.new", "w").write(str(os.getpid()))
os.rename("pid.new", "pid")
while True:
    peer, _ = listener.accept()
    peer.recv(4096)
    peer.sendall(b"HTTP/1.0 200 OK\r\n\r\nit-worked")
    peer.close()
"#;
/// Asks by name, and again until the server listens.
const CLIENT_PY: &str = r#"
import sys, time, urllib.request
for _ in range(int(sys.argv[2])):
    try:
        print(urllib.request.urlopen("http://localhost:" + sys.argv[1]).read().decode())
        break
    except OSError as error:
        print(error)
        time.sleep(0.05)
"#;
const SERVER_JS: &str = r#"
require("http").createServer((_, answer) => answer.end("it-worked")).listen(+process.argv[2], "localhost");
"#;
const CLIENT_JS: &str = r#"
console.log("interfaces: " + Object.keys(require("os").networkInterfaces()));
const ask = (left) => fetch("http://localhost:" + process.argv[2]).then((answer) => answer.text()).then(console.log)
    .catch((error) => left ? setTimeout(ask, 50, left - 1) : console.log(error));
ask(+process.argv[3]);
"#;
const PEER_RS: &str = r#"
use std::io::{Read, Write};
fn main() {
    let words: Vec<String> = std::env::args().collect();
    let place = ("::1", words[2].parse::<u16>().unwrap());
    if words[1] == "server" {
        for peer in std::net::TcpListener::bind(place).unwrap().incoming() { peer.unwrap().write_all(b"it-worked").unwrap(); }
    }
    loop {
        let Ok(mut peer) = std::net::TcpStream::connect(place) else {
            std::thread::sleep(std::time::Duration::from_millis(50));
            continue;
        };
        let mut answer = String::new();
        peer.read_to_string(&mut answer).unwrap();
        return println!("{answer}");
    }
}
"#;

/// A world with these programs in its project.
fn world() -> World {
    let world = World::new();
    let project = world.base.join("project");
    for (name, source) in
        [("server.py", SERVER_PY), ("client.py", CLIENT_PY), ("server.js", SERVER_JS), ("client.js", CLIENT_JS)]
    {
        fs::write(project.join(name), source).unwrap();
    }
    world
}

fn server(world: &World, user: User, level: &str, network: &str, more: &[&str]) -> Server {
    let project = world.fill("[base]/project");
    // Rules of a policy would say the same twice.
    let allow = if more.contains(&"--policy") { "sh,node" } else { "sh,node,python3" };
    let args = ["--network", network, "--allow", allow, "--project-dir", &project, "--timeout", "60s"];
    let confined: &[&str] = if level == "off" { &[] } else { &["--sandbox", level] };
    let args = [&args[..], more, confined].concat();
    let mut server = world.command(user, &args).env("PATH", SYSTEM_PATH).start();
    server.initialize("2025-06-18");
    server
}

fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(60);
    while !holds() {
        assert!(Instant::now() < end, "still not: {what}");
        std::thread::park_timeout(Duration::from_millis(5));
    }
}

/// Whether the server that has written its number is alive.
fn is_alive(world: &World) -> bool {
    let number = fs::read_to_string(world.base.join("project/pid")).ok();
    number.is_some_and(|number| Path::new("/proc").join(number).exists())
}

fn sh(server: &mut Server, script: &str) -> String {
    text(&server.call("execute_process", json!({"file": "sh", "args": ["-c", script]})))
}

#[test]
fn a_server_and_its_client_meet_in_one_call() {
    for user in User::all() {
        for level in ["workspace", "strict"] {
            let world = world();
            let peer = world.base.join("project/peer");
            let mut lines = Vec::new();
            if has_python() {
                lines.push("python3 server.py 8000 & python3 client.py 8000 400");
            }
            if Path::new("/usr/bin/node").exists() {
                lines.push("node server.js 8000 & node client.js 8000 400");
            }
            if is_installed("rustc") {
                fs::write(peer.with_extension("rs"), PEER_RS).unwrap();
                let mut rustc = Command::new("rustc");
                assert!(rustc.arg(peer.with_extension("rs")).arg("-o").arg(&peer).status().unwrap().success());
                lines.push("./peer server 8000 & ./peer client 8000");
            }
            let exec = peer.to_str().unwrap();
            let grants: &[&str] = if peer.exists() { &["--exec", exec] } else { &[] };
            let mut server = server(&world, user, level, "loopback", grants);
            // All use one port, and what a call has left behind would hold it.
            for line in lines.iter().chain(&lines) {
                let answer = sh(&mut server, line);
                assert!(answer.starts_with("exit_code: 0\n"), "{user:?}, {level}, {line}: {answer}");
                assert!(answer.contains("it-worked"), "{user:?}, {level}, {line}: {answer}");
                if line.contains("node") {
                    assert!(answer.contains("interfaces: lo\n"), "{user:?}, {level}: {answer}");
                }
            }
            if has_python() {
                wait_until("the server has ended with its call", || !is_alive(&world));
            }
        }
    }
}

/// One attempt each, in a function; it says so if it gets out of the call's network.
const ATTEMPTS: &str = r#"
import ctypes, os, socket, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
def call(done):
    if done < 0: raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
def outside(): socket.create_connection(("127.0.0.1", int(sys.argv[1])), 2)
def path(): socket.socket(socket.AF_UNIX).connect("unix")
def abstract(): socket.socket(socket.AF_UNIX).connect("\0" + sys.argv[2])
def datagrams(): socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
def pair():
    one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    one.sendto(b"", "unix")
def packet(): socket.socket(17, socket.SOCK_DGRAM)
def vsock(): socket.socket(40, socket.SOCK_STREAM)
def raw(): socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)
def diag(): socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 4)
def enter_server():
    call(libc.setns(os.open("/proc/%d/ns/net" % os.getppid(), 0), 0))
def enter_first(): call(libc.setns(os.open("/proc/1/ns/net", 0), 0))
def enter_own(): call(libc.setns(os.open("/proc/self/ns/net", 0), 0x40000000))
def new_user(): call(libc.unshare(0x10000000))
def new_network(): call(libc.unshare(0x40000000))
def another_user():
    # clone(2) with CLONE_NEWUSER
    call(libc.syscall(56 if os.uname().machine == "x86_64" else 220, 0x10000000 | 17, 0, 0, 0, 0))
def configure():
    one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    import fcntl
    fcntl.ioctl(one, 0x8914, struct.pack("16sH14s", b"lo", 0, b""))
for attempt in sys.argv[3].split(","):
    try:
        globals()[attempt]()
        print(attempt + ": got out")
    except OSError as error:
        print(attempt + ": " + str(error))
"#;

#[test]
fn nothing_outside_of_the_call_is_reached() {
    if !has_python() {
        return;
    }
    // Whether it works without the sandbox too shows that the attempt is one.
    let attempts = "outside,path,abstract,datagrams,pair,packet,vsock,raw,diag,enter_server,enter_first,enter_own,\
                    new_user,new_network,another_user,configure";
    for user in User::all() {
        let world = world();
        let project = world.base.join("project");
        fs::write(project.join("attempts.py"), ATTEMPTS).unwrap();
        let _path = UnixListener::bind(project.join("unix")).unwrap();
        let name = format!("allowexec-test-{}-{user:?}", std::process::id());
        let _abstract = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
        let line = world.fill(&format!("python3 attempts.py [port] {name} {attempts}; true"));
        for level in ["workspace", "strict"] {
            let mut confined = server(&world, user, level, "loopback", &[]);
            let said = sh(&mut confined, &line);
            let tried = attempts.split(',').filter(|attempt| said.contains(&format!("{attempt}: ["))).count();
            assert_eq!(tried, attempts.split(',').count(), "{user:?}, {level}: {said}");
            assert!(!said.contains("got out"), "{user:?}, {level}: {said}");
            assert!(!world.take(Connected, ""), "{user:?}, {level}: {said}");
        }
        let mut free = server(&world, user, "off", "full", &[]);
        let said = sh(&mut free, &line);
        for attempt in ["outside", "path", "abstract", "datagrams", "new_user"] {
            assert!(said.contains(&format!("{attempt}: got out")), "{user:?}, {attempt}: {said}");
        }
        assert!(world.take(Connected, ""), "{user:?}: {said}");
    }
}

#[test]
fn another_call_and_other_processes_do_not_reach_its_server() {
    if !has_python() {
        return;
    }
    // A port that nobody else has.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    for user in User::all() {
        for network in ["loopback", "full"] {
            let world = world();
            let mut server = server(&world, user, "strict", network, &[]);
            let command = format!("python3 server.py {port}");
            let started = text(&server.call("execute_command", json!({"command": command, "background": true})));
            assert!(started.contains("running: true"), "{user:?}: {started}");
            wait_until("the server listens", || is_alive(&world));
            let first = fs::read(world.base.join("project/pid")).unwrap();
            let said = sh(&mut server, &format!("python3 client.py {port} 1"));
            let (is_reached, is_open) = (said.contains("it-worked"), TcpStream::connect(("127.0.0.1", port)).is_ok());
            assert_eq!([is_reached, is_open], [network == "full"; 2], "{user:?}, {network}: {said}");
            // Both can have the port, each in a network of its own.
            if network == "loopback" {
                let said = sh(&mut server, &format!("python3 server.py {port} & python3 client.py {port} 400"));
                assert!(said.contains("it-worked"), "{user:?}: {said}");
            }
            fs::write(world.base.join("project/pid"), first).unwrap();
            assert!(is_alive(&world), "{user:?}: the first server has ended");
            server.close_stdin();
            assert_eq!(server.wait_exit(), 0);
            wait_until("the end of its session ends it", || !is_alive(&world));
        }
    }
}

#[test]
fn a_stop_and_the_deadline_end_a_server_with_all_that_it_started() {
    if !has_python() {
        return;
    }
    for user in User::all() {
        let world = world();
        let mut server = server(&world, user, "strict", "loopback", &[]);
        let daemon = "import os\nif os.fork(): os._exit(0)\nos.setsid()\nos.execvp('python3', ['python3', 'server.py', '8000'])\n";
        fs::write(world.base.join("project/daemon.py"), daemon).unwrap();
        let script = "python3 daemon.py; python3 client.py 8000 400; exec python3 -c 'import time; time.sleep(60)'";
        let call = |more: &str, value: serde_json::Value| json!({"file": "sh", "args": ["-c", script], more: value});
        let started = text(&server.call("execute_process", call("background", json!(true))));
        wait_until("the server listens", || is_alive(&world));
        let number = started.lines().find_map(|line| line.strip_prefix("call: ")).unwrap();
        server.call("stop_call", json!({"call": number.parse::<u64>().unwrap()}));
        wait_until("nothing is left of the stopped call", || !is_alive(&world));
        let said = text(&server.call("execute_process", call("timeout_ms", json!(5000))));
        assert!(said.contains("timed_out: true"), "{user:?}: {said}");
        wait_until("nothing is left", || !is_alive(&world));
    }
}

#[test]
fn all_else_of_a_call_is_as_in_other_networks() {
    for user in User::all() {
        for level in ["workspace", "strict"] {
            let world = world();
            fs::write(world.base.join("project/formless"), "exit 0\n").unwrap();
            Command::new("chmod").arg("+x").arg(world.base.join("project/formless")).status().unwrap();
            for limits in [&[][..], &["--max-open-files", "77"]] {
                let of = |network: &str| {
                    let more = [limits, &["--allow-project-commands", "--exec", "project"]].concat();
                    let mut server = server(&world, user, level, network, &more);
                    let input =
                        json!({"file": "sh", "args": ["-c", "read a; echo $a; ulimit -n; exit 7"], "input": "b\n"});
                    let arguments = [
                        input,
                        json!({"file": "sh", "args": ["-c", "kill -TERM $$"]}),
                        json!({"file": "sh", "args": ["-c", "umask; echo new > made; ls made; echo > ../outside/made"]}),
                        json!({"file": "./formless"}),
                        json!({"file": "sh", "args": ["-c", "echo $TMPDIR > $TMPDIR/made && read a < $TMPDIR/made; exit $?"]}),
                    ];
                    arguments.map(|arguments| text(&server.call("execute_process", arguments)))
                };
                let (own, none) = (of("loopback"), of("none"));
                assert_eq!(own, none, "{user:?}, {level}, {limits:?}");
                assert!(own[0].starts_with("exit_code: 7\n") && own[0].contains("  b\n"), "{user:?}: {own:?}");
                assert_eq!(own[0].contains("  77\n"), !limits.is_empty(), "{user:?}: {own:?}");
            }
        }
    }
}

#[test]
fn a_rule_gives_its_calls_alone_a_loopback() {
    if !has_python() {
        return;
    }
    for user in User::all() {
        let world = world();
        let policy = world.base.join("policy.yaml");
        fs::write(
            &policy,
            "commands:\n  python3:\n    syntax: operands\n    operands: [{one_of: [both.py, ask.py]}]\n    sandbox: {level: workspace, network: \
             loopback}\n",
        )
        .unwrap();
        fs::write(
            world.base.join("project/both.py"),
            format!("import threading, sys\nsys.argv = ['', '8000', '400']\n\
                     threading.Thread(target=exec, args=({SERVER_PY:?}, {{}}), daemon=True).start()\nexec({CLIENT_PY:?})\n"),
        )
        .unwrap();
        let ask = world.fill(&format!("import sys\nsys.argv = ['', '[port]', '1']\nexec({CLIENT_PY:?})\n"));
        fs::write(world.base.join("project/ask.py"), ask).unwrap();
        let mut server = server(&world, user, "off", "full", &["--policy", policy.to_str().unwrap()]);
        let said = text(&server.call("execute_process", json!({"file": "python3", "args": ["both.py"]})));
        assert!(said.contains("it-worked"), "{user:?}: {said}");
        let said = text(&server.call("execute_command", json!({"command": "python3 ask.py"})));
        assert!(said.contains("refused") && !world.take(Connected, ""), "{user:?}: {said}");
        sh(&mut server, "python3 ask.py");
        assert!(world.take(Connected, ""), "{user:?}: a command without the rule");
    }
}

#[test]
fn the_commands_of_a_line_share_one() {
    if !has_python() {
        return;
    }
    for user in User::all() {
        for level in ["workspace", "strict"] {
            let world = world();
            let project = world.base.join("project");
            let which = "import os\nnetwork = os.readlink('/proc/self/ns/net')\nprint(network)\nopen('network', 'w').write(network)\n";
            fs::write(project.join("which.py"), which).unwrap();
            fs::write(project.join("once.py"), SERVER_PY.replace("while True:", "for _ in range(1):")).unwrap();
            let mut server = server(&world, user, level, "loopback", &["--lines", "on"]);
            // The network of this line lasts until the end, so no other gets its number.
            let lasting = json!({"command": "python3 which.py; python3 server.py 8000", "background": true});
            server.call("execute_command", lasting);
            wait_until("the server listens", || project.join("pid").exists());
            let of_another_call = fs::read_to_string(project.join("network")).unwrap();
            let of_server = fs::read_link("/proc/self/ns/net").unwrap();
            let mut line = |line: &str| text(&server.call("execute_command", json!({"command": line})));
            let said = line("python3 which.py; (python3 which.py) | python3 -c 'print(input())' && python3 which.py");
            let found: Vec<&str> = said.lines().map(str::trim).filter(|line| line.starts_with("net:[")).collect();
            assert!(found.len() == 3 && found.iter().all(|one| *one == found[0]), "{user:?}, {level}: {said}");
            assert!(found[0] != of_another_call && Path::new(found[0]) != of_server, "{user:?}, {level}: {said}");
            let said = line("python3 client.py 8000 1");
            assert!(said.contains("refused"), "{user:?}, {level}: {said}");
            let said = line("python3 once.py 8000 | python3 client.py 8000 400");
            assert!(said.contains("it-worked"), "{user:?}, {level}: {said}");
            // So that it ends what runs in the background.
            server.close_stdin();
            server.wait_exit();
        }
    }
}

#[test]
fn the_persistent_shell_has_one_for_all_its_commands() {
    if !has_python() {
        return;
    }
    for user in User::all() {
        let world = world();
        let mut server = server(&world, user, "strict", "loopback", &["--tools", "shell"]);
        let ask = world.fill("client.py [port] 1");
        let said = text(&server.call("python3", json!({"arguments": ask})));
        assert!(said.contains("refused") && !world.take(Connected, ""), "{user:?}: {said}");
        let said =
            text(&server.call("sh", json!({"arguments": "-c 'python3 server.py 8000 & python3 client.py 8000 400'"})));
        assert!(said.contains("it-worked"), "{user:?}: {said}");
    }
}

#[test]
fn a_system_that_forbids_namespaces_keeps_the_server_from_starting() {
    let may = Command::new("unshare").args(["-U", "-r", "true"]).status().is_ok_and(|status| status.success());
    if !may {
        eprintln!("unshare(1) does not work here, so nothing is shown of a system that forbids namespaces");
        return;
    }
    let world = world();
    let project = world.fill("[base]/project");
    let forbid = "echo 0 > /proc/sys/user/max_user_namespaces; exec \"$@\"";
    let through = ["unshare", "-U", "-r", "sh", "-c", forbid, "sh"];
    let args = ["--allow", "sh", "--project-dir", &project, "--sandbox", "strict", "--network"];
    for (network, expected) in [("loopback", Some(2)), ("none", None)] {
        let args = [&args[..], &[network]].concat();
        let mut child = world.command(User::Own, &args).through(&through).spawn();
        let Some(expected) = expected else {
            drop(child.stdin.take());
            assert_eq!(wait_with_deadline(&mut child, Duration::from_secs(60)), Some(0));
            continue;
        };
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(expected), "{said}");
        assert!(said.contains("user.max_user_namespaces") && said.contains("--network none"), "{said}");
    }
}
