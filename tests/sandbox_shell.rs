//! The persistent shell within the sandbox: what it can't reach, and how it follows the client's roots.
#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stderr,
    reason = "a helper of a test fails by panicking, and clippy's exception covers test functions only"
)]

mod support;

use std::fs;

use serde_json::{Value, json};
use support::world::Sign::{Connected, Read, Said, Started, Written};
use support::world::{User, World, is_installed, text};
use support::{Server, modern_meta};

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
                    "read x x x p x < /proc/$PPID/stat; for t in /proc/$p/task/*; do : < $t/mem && echo it-worked; done",
                ),
                (
                    1,
                    Said,
                    "sh",
                    "read x x x p x < /proc/$PPID/stat; for t in /proc/$p/task/*; do kill -0 ${t##*/} && echo it-worked; done",
                ),
                (
                    1,
                    Said,
                    "sh",
                    "read x x x p x < /proc/$PPID/stat; for t in /proc/$p/task/*; do test -e $t/fd/2 && echo it-worked; done",
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
        assert!(!std::path::Path::new("/proc").join(started).exists(), "{level}: {output}");
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

/// A script that tries to write in both directories.
fn write_in_both(world: &World) -> Value {
    json!({"arguments": world.fill("-c 'pwd; echo x > [base]/one/made; echo x > [base]/two/made'")})
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
        let args = ["--sandbox", level, "--allow", "sh,export", "--tools", "shell"];
        let mut server = world.command(User::Own, &args).start();
        server.initialize_with("2025-06-18", json!({"roots": {"listChanged": true}}));
        answer(&mut server, &roots(&world, &["one"]));
        // The shell was started before the client told its roots, but nobody has seen that.
        let output = text(&server.call("sh", write_in_both(&world)));
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
        let output = text(&server.call("sh", write_in_both(&world)));
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
    let args = ["--sandbox", "workspace", "--allow", "sh", "--tools", "shell"];
    let mut server = world.command(User::Own, &args).start();
    for (root, has_changed) in [("one", false), ("one", false), ("two", true)] {
        let question = modern(&mut server, write_in_both(&world), None);
        assert_eq!(question["resultType"], "input_required", "{question}");
        assert_eq!(question["inputRequests"], json!({"roots": {"method": "roots/list"}}));
        assert!(take_made(&world).is_empty());
        let output = text(&modern(&mut server, write_in_both(&world), Some(roots(&world, &[root]))));
        assert_eq!(take_made(&world), [root], "{output}");
        assert_eq!(output.contains("shell_restarted"), has_changed, "{output}");
    }
}
