//! The persistent shell within the sandbox: what it can't reach, and how it follows the client's roots.
#![cfg(target_os = "linux")]

use std::fs;
use std::path::Path;

use crate::support::world::Sign::{Connected, Read, Said, Started, Written};
use crate::support::world::{User, World, is_installed, text};
use crate::support::{Server, modern_meta};
use serde_json::{Value, json};

#[test]
fn the_shell_is_confined_as_commands_are() {
    let bash = is_installed("bash");
    for user in User::all() {
        for (level, held) in [("off", 0), ("workspace", 1), ("strict", 2)] {
            let world = World::new();
            world.take(Said, "");
            let allow = if bash { "sh,bash" } else { "sh" };
            let mut server = world.server_of(user, level, allow, &["--tools", "shell"]);
            // The level from which on an attempt fails.
            for (from, sign, tool, script) in [
                (1, Written, "sh", "echo x > [base]/outside/marker"),
                (1, Read, "sh", "read x < [base]/home/letter; echo $x"),
                (1, Read, "sh", "echo [base]/home/*"),
                (
                    1,
                    Said,
                    "sh",
                    "shell=$PPID; read x x x server x < /proc/$shell/stat; kill -0 $server && echo it-worked",
                ),
                (
                    1,
                    Said,
                    "sh",
                    "read x x x p x < /proc/$PPID/stat; for t in /proc/$p/task/*; do kill -0 ${t##*/} && echo it-worked; done",
                ),
                (2, Started, "sh", "touch marker"),
                (2, Started, "sh", "[ld] /usr/bin/touch marker"),
                (2, Connected, "bash", ": < /dev/tcp/127.0.0.1/[port]"),
            ] {
                if tool == "bash" && !bash {
                    continue;
                }
                let arguments = json!({"arguments": world.fill(&format!("-c '{script}'"))});
                let output = text(&server.call(tool, arguments));
                assert_eq!(world.take(sign, &output), held < from, "{user:?}, {level}: {script}:\n{output}");
            }
            // What it is there for.
            let line = json!({"arguments": "-c 'echo x > made; echo t > $TMPDIR/t; read u < $TMPDIR/t; echo got-$u'"});
            let output = text(&server.call("sh", line));
            assert!(output.contains("got-t") && world.base.join("project/made").exists(), "{level}: {output}");
        }
    }
}

/// What a program of any kind could do to the memory and the descriptors of the shell that started it.
const TRACING: &str = r#"
import ctypes, os, platform
libc = ctypes.CDLL(None, use_errno=True)
shell = os.getppid()
maps = open(f"/proc/{shell}/maps").read().splitlines() if os.access(f"/proc/{shell}/maps", os.R_OK) else []
stack = next((int(line.split("-")[0], 16) for line in maps if "[stack]" in line), 0)
class Piece(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]
own = ctypes.create_string_buffer(8)
here, there = Piece(ctypes.addressof(own), 8), Piece(stack, 8)
def said(what, result):
    print(what, "works" if result >= 0 else "fails")
def opened(flags):
    try:
        return os.open(f"/proc/{shell}/mem", flags)
    except OSError:
        return -1
said("reads", libc.process_vm_readv(shell, ctypes.byref(here), 1, ctypes.byref(there), 1, 0))
said("writes", libc.process_vm_writev(shell, ctypes.byref(here), 1, ctypes.byref(there), 1, 0))
said("takes", libc.syscall(438, os.pidfd_open(shell), 0, 0))
said("opens", opened(os.O_RDWR))
said("traces", libc.ptrace(0x4206, shell, 0, 0))
"#;

/// Where the system has Python: tries this script at each level, as each user, with a server whose shell may run it and
/// the `allowed` commands.
fn each_level_of_python(script: &str, allowed: &str, mut tried: impl FnMut(&str, &World, &mut Server, &str)) {
    if !Path::new("/usr/bin/python3").exists() {
        eprintln!("not shown, since the system has no python3");
        return;
    }
    for user in User::all() {
        for level in ["off", "workspace", "strict"] {
            let world = World::new();
            fs::write(world.base.join("project/script.py"), script).unwrap();
            let project = world.fill("[base]/project");
            let args = ["--sandbox", level, "--allow", allowed, "--project-dir", &project];
            let args = [&args[..], &["--tools", "shell", "--timeout", "10s"]].concat();
            let mut server = world.command(user, &args).env("PATH", "/usr/bin:/bin").start();
            server.initialize("2025-06-18");
            let output = text(&server.call("python3", json!({"arguments": "script.py"})));
            tried(&format!("{user:?}, {level}: {output}"), &world, &mut server, &output);
        }
    }
}

#[test]
fn no_command_takes_over_the_confined_shell_that_started_it() {
    each_level_of_python(TRACING, "python3", |case, _, _, output| {
        for what in ["reads", "writes", "takes", "opens", "traces"] {
            // Without a sandbox some systems keep users from tracing as well.
            let holds = output.contains(&format!("{what} fails")) || case.contains(", off: ") && output.contains(what);
            assert!(holds, "{what}: {case}");
        }
    });
}

/// Reads the marker that ends its own answer in the shell's memory, stops the shell, ends the answer and goes on.
const FORGING: &str = r#"
import os, re, signal, time
shell = os.getppid()
for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
    signal.signal(number, signal.SIG_IGN)
marker = None
with open(f"/proc/{shell}/mem", "rb", 0) as memory:
    for line in open(f"/proc/{shell}/maps"):
        place, rights = line.split()[:2]
        start, end = (int(part, 16) for part in place.split("-"))
        if "rw" not in rights:
            continue
        try:
            memory.seek(start)
            found = re.findall(rb"%s:%s:%s:%s.n' (Marker_[-0-9a-f]{36})", memory.read(end - start))
        except OSError:
            continue
        marker = found[-1].decode() if found else marker
open("found", "w").write(str(marker))
os.kill(shell, signal.SIGSTOP)
os.write(1, f"forged\n{marker}:0:/:{marker}\n".encode())
os.write(2, f"{marker}:{marker}\n".encode())
time.sleep(5)
"#;

/// Whether the system lets a process read the memory of its parent.
fn lets_read_parents() -> bool {
    // Missing where the kernel has no Yama.
    fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").map_or(true, |scope| scope.trim() == "0")
}

#[test]
fn who_forges_the_end_of_its_answer_reaches_into_no_other_one() {
    each_level_of_python(FORGING, "python3,echo", |case, world, server, forged| {
        let found = fs::read_to_string(world.base.join("project/found")).unwrap();
        // Otherwise what follows would show nothing.
        assert_eq!(found.starts_with("Marker_"), lets_read_parents(), "{found}: {case}");
        let is_forged = forged.contains("forged\n") && forged.starts_with("exit_code: 0\n");
        assert_eq!(is_forged, found.starts_with("Marker_"), "{case}");
        let started = std::time::Instant::now();
        let next = text(&server.call("echo", json!({"arguments": "next"})));
        assert!(next.contains("next\n") && !next.contains("forged"), "{case}, then {next}");
        assert!(!next.contains("timed_out"), "{case}, then {next} after {:?}", started.elapsed());
    });
}

#[test]
fn at_the_deadline_a_confined_command_ends_with_what_it_has_started() {
    for level in ["workspace", "strict"] {
        let world = World::new();
        let more = ["--tools", "shell", "--timeout", "500ms", "--grace", "100ms"];
        let mut server = world.server_of(User::Own, level, "sh,sleep", &more);
        let script = "-c 'trap : TERM; sleep 60 & echo started-$!; while :; do sleep 60; done'";
        let output = text(&server.call("sh", json!({"arguments": script})));
        assert!(output.contains("timed_out: true") && !output.contains("shell_restarted"), "{level}: {output}");
        let started = output.split_once("started-").unwrap().1.split_whitespace().next().unwrap();
        assert!(!Path::new("/proc").join(started).exists(), "{level}: {output}");
    }
}

fn roots(world: &World, names: &[&str]) -> Value {
    let root = |name: &&str| json!({"uri": format!("file://{}/{name}", world.base.display())});
    json!({"roots": names.iter().map(root).collect::<Vec<_>>()})
}

fn answer(server: &mut Server, result: &Value) {
    let question = server.recv_until(|message| message["method"] == "roots/list");
    server.send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": result}));
}

/// A script that writes in the directory that it runs in, which is the first root.
fn write() -> Value {
    json!({"arguments": "-c 'pwd; echo x > made'"})
}

/// In which of the two directories something was written; afterwards there is nothing.
fn take_made(world: &World) -> Vec<&'static str> {
    let made = |name: &&str| fs::remove_file(world.base.join(name).join("made")).is_ok();
    ["one", "two"].into_iter().filter(made).collect()
}

fn world_of_two() -> World {
    let world = World::new();
    ["one", "two"].iter().for_each(|name| fs::create_dir(world.base.join(name)).unwrap());
    world
}

#[test]
fn the_shell_follows_the_roots_of_a_legacy_client() {
    for level in ["workspace", "strict"] {
        let world = world_of_two();
        let workspace = world.base.to_str().unwrap();
        let args = ["--sandbox", level, "--allow", "sh,export", "--tools", "shell", "--workspace-dir", workspace];
        let mut server = world.command(User::Own, &args).start();
        server.initialize_with("2025-06-18", json!({"roots": {"listChanged": true}}));
        answer(&mut server, &roots(&world, &["one"]));
        // The shell was started before the client told its roots, but nobody has seen that.
        let output = text(&server.call("sh", write()));
        assert_eq!(take_made(&world), ["one"], "{output}");
        assert!(output.contains("/one\n") && !output.contains("shell_restarted"), "{output}");
        // The same roots once more change nothing, and neither does what the shell has kept.
        server.call("export", json!({"arguments": "KEPT=yes"}));
        server.notify("notifications/roots/list_changed", json!({}));
        answer(&mut server, &roots(&world, &["one"]));
        let output = text(&server.call("sh", json!({"arguments": "-c 'echo kept-$KEPT'"})));
        assert!(output.contains("kept-yes") && !output.contains("shell_restarted"), "{output}");
        server.notify("notifications/roots/list_changed", json!({}));
        answer(&mut server, &roots(&world, &["two"]));
        let output = text(&server.call("sh", write()));
        assert_eq!(take_made(&world), ["two"], "{output}");
        let reason = "the client's roots have changed; its state is lost";
        assert!(output.contains("/two\n") && output.contains(reason), "{output}");
        let output = text(&server.call("sh", json!({"arguments": "-c 'echo kept-$KEPT'"})));
        assert!(output.contains("kept-\n") && !output.contains("shell_restarted"), "{output}");
    }
}

fn modern(server: &mut Server, arguments: Value, answer: Option<Value>) -> Value {
    let mut meta = modern_meta();
    meta["io.modelcontextprotocol/clientCapabilities"] = json!({"roots": {}});
    let mut params = json!({"name": "sh", "arguments": arguments, "_meta": meta});
    if let Some(answer) = answer {
        params["inputResponses"] = json!({"roots": answer});
    }
    server.request("tools/call", params)["result"].take()
}

#[test]
fn a_modern_call_of_the_shell_brings_the_roots() {
    let world = world_of_two();
    let workspace = world.base.to_str().unwrap();
    let args = ["--sandbox", "workspace", "--allow", "sh", "--tools", "shell", "--workspace-dir", workspace];
    let mut server = world.command(User::Own, &args).start();
    for (root, has_changed) in [("one", false), ("one", false), ("two", true)] {
        let question = modern(&mut server, write(), None);
        assert_eq!(question["resultType"], "input_required", "{question}");
        assert_eq!(question["inputRequests"], json!({"roots": {"method": "roots/list"}}));
        assert!(take_made(&world).is_empty());
        let output = text(&modern(&mut server, write(), Some(roots(&world, &[root]))));
        assert_eq!(take_made(&world), [root], "{output}");
        assert_eq!(output.contains("shell_restarted"), has_changed, "{output}");
    }
}
