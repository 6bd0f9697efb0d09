//! `--network connect:PORT,listen:PORT`: TCP on these ports of the machine's network, and nothing else.
//!
//! As root and as an ordinary user. What must fail is shown to work without the sandbox.
#![cfg(target_os = "linux")]

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::support::Server;
use crate::support::world::{User, World, has_python, text};
use serde_json::json;

/// The system's own programs: a version manager's in the home directory need grants of their own.
const SYSTEM_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// One attempt each, in a function; it says so if it gets through. The arguments are a port with a listener, another one, a free
/// port, another one, an abstract name, and the attempts.
const ATTEMPTS_PY: &str = r#"
import ctypes, os, socket, struct, subprocess, sys
from socket import AF_INET, AF_INET6, AF_UNIX, SOCK_DGRAM, SOCK_RAW, SOCK_STREAM
port, other, free, taken = map(int, sys.argv[1:5])
V4, V6, MAPPED = "127.0.0.1", "::1", "::ffff:127.0.0.1"
FASTOPEN, TCP_ULP = 0x20000000, 31
def connect(host, number): socket.create_connection((host, number), 5)
def connects4(): connect(V4, port)
def connects6(): connect(V6, port)
def connects_mapped(): connect(MAPPED, port)
def connects_by_name(): connect("localhost", port)
def waits():
    one = socket.socket(AF_INET6)
    one.setblocking(False)
    if error := one.connect_ex((V6, other)) != 115: raise OSError(error, "not in progress")
def reach4(): connect(V4, other)
def reach6(): connect(V6, other)
def reach_mapped(): connect(MAPPED, other)
def again():
    one = socket.create_connection((V4, port))
    one.connect((V4, other))
def sends():
    one = socket.socket()
    one.sendto(b"x", FASTOPEN, (V4, other))
def sends6():
    one = socket.socket(AF_INET6)
    one.sendmsg([b"x"], [], FASTOPEN, (V6, other))
def in_child(function):
    code = "import sys; sys.argv[6] = %r; exec(open('attempts.py').read())" % function
    told = subprocess.run([sys.executable, "-c", code, *sys.argv[1:]], capture_output=True, text=True).stdout
    if "got through" not in told: raise OSError(told)
def child_connects(): in_child("connects4")
def child_reaches(): in_child("reach4")
def bind(family, host, number):
    one = socket.socket(family)
    one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    one.bind((host, number))
    one.listen()
def listens4(): bind(AF_INET, V4, free)
def listens6(): bind(AF_INET6, V6, free)
def listens_anywhere(): bind(AF_INET, "0.0.0.0", free)
def serve4(): bind(AF_INET, V4, taken)
def serve6(): bind(AF_INET6, V6, taken)
def serve_some(): bind(AF_INET, V4, 0)
def serve_unbound(): socket.socket().listen()
def child_serves(): in_child("serve4")
def udp(): socket.socket(AF_INET, SOCK_DGRAM).sendto(b"x", (V4, port))
def udp6(): socket.socket(AF_INET6, SOCK_DGRAM).sendto(b"x", (V6, port))
def udp_connects(): socket.socket(AF_INET, SOCK_DGRAM).connect((V4, port))
def ping(): socket.socket(AF_INET, SOCK_DGRAM, 1)
def raw(): socket.socket(AF_INET, SOCK_RAW, 6)
def packet(): socket.socket(17, SOCK_RAW)
def netlink(): socket.socket(16, SOCK_RAW, 0)
def mptcp(): socket.socket(AF_INET, SOCK_STREAM, 262).connect((V4, other))
def sctp(): socket.socket(AF_INET, SOCK_STREAM, 132)
def smc(): socket.socket(AF_INET, SOCK_STREAM, 256)
def vsock(): socket.socket(40, SOCK_STREAM)
def path(): socket.socket(AF_UNIX).connect("unix")
def abstract(): socket.socket(AF_UNIX).connect("\0" + sys.argv[5])
def datagrams(): socket.socket(AF_UNIX, SOCK_DGRAM)
def pair(): socket.socketpair(AF_UNIX, SOCK_DGRAM)
def ulp():
    one = socket.create_connection((V4, port))
    try: one.setsockopt(6, TCP_ULP, b"allowexec-test")
    except FileNotFoundError: pass
def enter():
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(0x10000000) < 0: raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
def works_pair():
    one, two = socket.socketpair()
    one.send(b"x")
    if two.recv(1) != b"x": raise OSError("nothing")
def accepts():
    listener = socket.create_server((V4, free))
    listener.settimeout(30)
    listener.accept()[0].sendall(b"it-worked")
for attempt in sys.argv[6].split(","):
    try:
        globals()[attempt]()
        print(attempt + ": got through")
    except OSError as error:
        print(attempt + ": [" + str(error))
"#;

const CONNECT: &str = "connects4,connects6,connects_mapped,connects_by_name,child_connects";
const LISTEN: &str = "listens4,listens6,listens_anywhere";
/// What no ports allow; without the sandbox all of it works, but for what the system may lack.
const CONNECT_OTHER: &str = "reach4,reach6,reach_mapped,waits,sends,sends6,child_reaches";
const LISTEN_OTHER: &str = "serve4,serve6,serve_some,child_serves";
const OTHER: &str = "udp,udp6,udp_connects,netlink,path,abstract,datagrams,pair";
/// What the system may refuse anyway.
const RARE: &str = "again,ping,raw,packet,mptcp,sctp,smc,vsock,enter";

/// A project with the attempts, two ports with listeners, and two without.
struct Net {
    world: World,
    user: User,
    listeners: Vec<TcpListener>,
    ports: [u16; 4],
    name: String,
    _sockets: [UnixListener; 2],
}

impl Net {
    fn new(user: User) -> Self {
        let world = World::new();
        let project = world.base.join("project");
        fs::write(project.join("attempts.py"), ATTEMPTS_PY).unwrap();
        let (mut listeners, mut ports) = (Vec::new(), [0; 4]);
        for (place, port) in ports.iter_mut().enumerate() {
            let [four, six] = std::iter::repeat_with(both_of_a_port).take(100).flatten().next().expect("a free port");
            *port = four.local_addr().unwrap().port();
            // Two of them are free afterwards.
            if place < 2 {
                listeners.extend([four, six]);
            }
        }
        let name = format!("allowexec-ports-{}", ports[0]);
        let path = UnixListener::bind(project.join("unix")).unwrap();
        let abstract_one = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
        Self { world, user, listeners, ports, name, _sockets: [path, abstract_one] }
    }

    fn connect(&self) -> String {
        format!("connect:{}", self.ports[0])
    }

    fn listen(&self) -> String {
        format!("listen:{}", self.ports[2])
    }

    fn server(&self, level: &str, network: &str, more: &[&str]) -> Server {
        let project = self.world.fill("[base]/project");
        let mut args = vec!["--sandbox", level, "--project-dir", &project, "--timeout", "60s"];
        args.extend(["--network", network]);
        if !more.contains(&"--policy") {
            args.extend(["--allow", "sh,cat,echo,python3"]);
        }
        args.extend(more);
        let mut server = self.world.command(self.user, &args).env("PATH", SYSTEM_PATH).start();
        server.initialize("2025-06-18");
        server
    }

    /// The arguments of a call that tries these.
    fn arguments(&self, attempts: &str) -> String {
        let [port, other, free, taken] = self.ports;
        format!("attempts.py {port} {other} {free} {taken} {} {attempts}", self.name)
    }

    fn try_all(&self, server: &mut Server, attempts: &str) -> String {
        let command = format!("python3 {}", self.arguments(attempts));
        text(&server.call("execute_command", json!({ "command": command })))
    }

    /// How many connections have come to the two listeners of a port.
    fn accepted(&self, place: usize) -> usize {
        let mut count = 0;
        for listener in &self.listeners[2 * place..2 * place + 2] {
            listener.set_nonblocking(true).unwrap();
            count += std::iter::repeat_with(|| listener.accept()).take_while(Result::is_ok).count();
        }
        count
    }
}

/// The same port of both loopback addresses: none that the kernel chooses for another test.
fn both_of_a_port() -> Option<[TcpListener; 2]> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = std::process::id().wrapping_mul(31).wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed)) % 12_000;
    let port = u16::try_from(20_000 + number).unwrap();
    Some([TcpListener::bind(("127.0.0.1", port)).ok()?, TcpListener::bind(("::1", port)).ok()?])
}

/// Checks that each attempt was made, and got through or not.
#[track_caller]
fn check(said: &str, attempts: &str, gets_through: bool, what: &str) {
    for attempt in attempts.split(',') {
        let (through, refused) = (format!("\n  {attempt}: got through"), format!("\n  {attempt}: ["));
        let [expected, other] = if gets_through { [through, refused] } else { [refused, through] };
        assert!(
            said.contains(&expected) && !said.contains(&other),
            "{what}, {attempt} was to get through: {gets_through}\n{said}"
        );
    }
}

#[test]
fn only_the_ports_that_are_named_are_reached_and_listened_on() {
    if !has_python() {
        return;
    }
    for user in User::all() {
        let net = Net::new(user);
        for level in ["workspace", "strict"] {
            let both = format!("{},{}", net.connect(), net.listen());
            for network in [&both, &net.connect(), &net.listen()] {
                let what = format!("{user:?}, {level}, {network}");
                let mut server = net.server(level, network, &[]);
                let attempts = format!(
                    "{CONNECT},{LISTEN},{CONNECT_OTHER},{LISTEN_OTHER},{OTHER},{RARE},serve_unbound,works_pair"
                );
                let said = net.try_all(&mut server, &attempts);
                let (connects, listens) = (network.contains("connect"), network.contains("listen"));
                check(&said, CONNECT, connects, &what);
                check(&said, LISTEN, listens, &what);
                for refused in [CONNECT_OTHER, LISTEN_OTHER, OTHER, RARE] {
                    check(&said, refused, false, &what);
                }
                // Landlock has no rule for listening without bind(2).
                if !listens {
                    check(&said, "serve_unbound", false, &what);
                }
                check(&said, "works_pair", true, &what);
                assert_eq!(net.accepted(0), if connects { 6 } else { 0 }, "{what}: {said}");
                assert_eq!(net.accepted(1), 0, "{what}: {said}");
                assert!(said.contains("its port to `--network`") || said.contains("exit_code: 0"), "{what}: {said}");
            }
            let mut none = net.server(level, "none", &[]);
            let said = net.try_all(&mut none, &format!("{CONNECT},{LISTEN},{OTHER}"));
            check(&said, &format!("{CONNECT},{LISTEN},{OTHER}"), false, level);
        }
        let mut free = net.server("off", "full", &[]);
        let attempts = format!("{CONNECT_OTHER},{LISTEN_OTHER},{OTHER},serve_unbound");
        let said = net.try_all(&mut free, &attempts);
        check(&said, &attempts, true, &format!("{user:?} without the sandbox"));
        assert!(net.accepted(1) >= 5, "{said}");
    }
}

#[test]
fn a_socket_becomes_no_other_protocol() {
    if !has_python() {
        return;
    }
    let net = Net::new(User::Own);
    for (level, network, is_refused) in [("workspace", net.connect(), true), ("off", "full".to_owned(), false)] {
        let said = net.try_all(&mut net.server(level, &network, &[]), "ulp");
        check(&said, "ulp", !is_refused, level);
    }
}

/// What is outside connects until the server of a call answers.
fn answer_of(port: u16) -> String {
    let end = Instant::now() + Duration::from_secs(60);
    loop {
        match TcpStream::connect(("127.0.0.1", port)) {
            Ok(stream) => return std::io::read_to_string(stream).unwrap(),
            Err(error) => assert!(Instant::now() < end, "{error}"),
        }
        thread::park_timeout(Duration::from_millis(10));
    }
}

#[test]
fn who_is_outside_reaches_the_server_of_a_call() {
    if !has_python() {
        return;
    }
    for user in User::all() {
        let net = Net::new(user);
        let mut server = net.server("strict", &net.listen(), &[]);
        let port = net.ports[2];
        let asks = thread::spawn(move || answer_of(port));
        let said = net.try_all(&mut server, "accepts");
        check(&said, "accepts", true, &format!("{user:?}"));
        assert_eq!(asks.join().unwrap(), "it-worked");
    }
}

#[test]
fn lines_and_the_persistent_shell_have_the_same_ports() {
    if !has_python() {
        return;
    }
    for user in User::all() {
        let net = Net::new(user);
        let network = format!("{},{}", net.connect(), net.listen());
        let (allowed, refused) = (format!("{CONNECT},{LISTEN}"), format!("{CONNECT_OTHER},{LISTEN_OTHER},{OTHER}"));
        let tried = net.arguments(&format!("{allowed},{refused}"));
        for level in ["workspace", "strict"] {
            let mut server = net.server(level, &network, &["--lines", "on"]);
            let line = format!("echo a | cat && python3 {tried} | cat; python3 {tried}");
            let lines = text(&server.call("execute_command", json!({ "command": line })));
            server = net.server(level, &network, &["--tools", "shell"]);
            for _ in 0..2 {
                let said = text(&server.call("python3", json!({ "arguments": tried })));
                check(&said, &allowed, true, &format!("{user:?}, {level}, the shell"));
                check(&said, &refused, false, &format!("{user:?}, {level}, the shell"));
            }
            assert_eq!(lines.matches("  reach4: [").count(), 2, "{lines}");
            check(&lines, &refused, false, &format!("{user:?}, {level}, a line"));
            check(&lines, &allowed, true, &format!("{user:?}, {level}, a line"));
            assert_eq!(net.accepted(0), 4 * 5, "{user:?}, {level}");
            assert_eq!(net.accepted(1), 0, "{user:?}, {level}");
        }
    }
}

#[test]
fn a_rule_gives_its_calls_alone_ports() {
    if !has_python() {
        return;
    }
    for user in User::all() {
        let net = Net::new(user);
        let policy = net.world.base.join("policy.yaml");
        let rule = format!(
            "commands:\n  python3:\n    sandbox: {{level: workspace, network: '{}'}}\n    operands: [{{one_of: [attempts.py]}}, {{text: {{}}, count: '0..'}}]\n  sh: any\n",
            net.connect()
        );
        fs::write(&policy, rule).unwrap();
        let mut server = net.server("workspace", "none", &["--policy", policy.to_str().unwrap()]);
        let said = net.try_all(&mut server, &format!("{CONNECT},{CONNECT_OTHER},{LISTEN_OTHER},{OTHER}"));
        check(&said, CONNECT, true, &format!("{user:?}"));
        check(&said, &format!("{CONNECT_OTHER},{LISTEN_OTHER},{OTHER}"), false, &format!("{user:?}"));
        let script = format!("python3 {}", net.arguments(CONNECT));
        let said = text(&server.call("execute_process", json!({"file": "sh", "args": ["-c", script]})));
        check(&said, CONNECT, false, &format!("{user:?}, a command without the rule"));
    }
}

#[test]
fn what_is_allowed_is_said_to_models_operators_and_in_reports() {
    let world = World::new();
    let project = world.fill("[base]/project");
    let network = "connect:8080,listen:3000, connect:5432";
    let mut server = Server::command(&["--allow", "sh", "--sandbox", "workspace", "--project-dir", &project])
        .env("ALLOWEXEC_NETWORK", network)
        .start();
    server.initialize("2025-06-18");
    let tools = server.request("tools/list", json!({}))["result"]["tools"].clone();
    let in_words = "connections to TCP port 5432 or 8080 and servers on TCP port 3000";
    let description = tools[0]["description"].as_str().unwrap();
    assert!(description.contains(&format!("and have no network but {in_words}")), "{description}");
    let config = world.base.join("settings.yaml");
    fs::write(&config, format!("sandbox: strict\nnetwork: {network}\nallow: [sh]\n")).unwrap();
    let run = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_allowexec"));
        let output = command.args(args).current_dir(&project).output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned())
    };
    let (_, said) = run(&["doctor", "--config", config.to_str().unwrap(), "--cwd-root", "."]);
    for told in ["connect:5432,connect:8080,listen:3000\n", "network ports"] {
        assert!(said.contains(told), "{told}: {said}");
    }
    for (flags, expected) in [
        (
            &["--network", "connect:5432"][..],
            "`--network connect:5432` (flag `--network`) can't be enforced without the sandbox; add `--sandbox workspace` or \
             `--sandbox strict`",
        ),
        (&["--sandbox", "strict", "--network", "connect:0"], "`connect:0` names no port; expected `connect:PORT`"),
        (&["--sandbox", "strict", "--network", "listen:80,loopback"], "`loopback` can't be combined with ports"),
        (&["--sandbox", "strict", "--network", "udp:53"], "`udp:53` names no port; expected `connect:PORT`"),
    ] {
        for subcommand in ["serve", "doctor"] {
            let (code, said) = run(&[&[subcommand, "--allow", "ls"], flags].concat());
            assert!(code == Some(2) && said.contains(expected), "{said}");
        }
    }
}
