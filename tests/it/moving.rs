//! What leaves the tree of its command by every way that Linux has, and moves while it is looked for: it is gone when its call
//! has ended, however that ends, at each level of the sandbox, of root's and of an ordinary user's server.
#![cfg(target_os = "linux")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::support::Server;
use crate::support::server::{DEADLINE, spawning};
use crate::support::world::{User, World, text};

const LEVELS: [&str; 3] = ["off", "workspace", "strict"];
const WAYS: [&str; 4] = ["move", "parent", "stay", "deep"];
/// How long what a failing test leaves behind lives, longer than it is waited for.
const LIFE: &str = "90";

/// The mover, compiled once; `None` where there is no compiler.
fn mover() -> Option<&'static [u8]> {
    static MOVER: OnceLock<Option<Vec<u8>>> = OnceLock::new();
    let compile = || {
        let directory = tempfile::tempdir().unwrap();
        let (source, program) = (directory.path().join("mover.c"), directory.path().join("mover"));
        fs::write(&source, include_str!("mover.c")).unwrap();
        let compiled = Command::new("cc").arg("-pthread").arg("-o").arg(&program).arg(&source).status();
        if !compiled.is_ok_and(|status| status.success()) {
            eprintln!("not shown, since there is no C compiler (`cc`)");
            return None;
        }
        Some(fs::read(program).unwrap())
    };
    MOVER.get_or_init(compile).as_deref()
}

/// A server that may run the mover.
struct Scene {
    world: World,
    server: Server,
    mark: String,
    started: usize,
}

impl Scene {
    fn new(user: User, level: &str, more: &[&str]) -> Option<Self> {
        let (mover, world) = (mover()?, World::new());
        let programs = world.base.join("programs");
        fs::create_dir(&programs).unwrap();
        let spawning = spawning();
        fs::write(programs.join("mover"), mover).unwrap();
        drop(spawning);
        fs::set_permissions(programs.join("mover"), fs::Permissions::from_mode(0o755)).unwrap();
        let project = world.fill("[base]/project");
        let mut args = vec!["--sandbox", level, "--allow", "mover,true", "--project-dir", &project, "--log", "off"];
        args.extend(["--grace", "50ms"]);
        args.extend(more);
        let path = format!("{}:/usr/bin:/bin", programs.display());
        let mut server = world.command(user, &args).env("PATH", path).start();
        server.initialize("2025-11-25");
        static NEXT: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
        let number = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        Some(Self { world, server, mark: format!("mover-of-{}-{number}-", std::process::id()), started: 0 })
    }

    /// The arguments of a call of the mover, and the file that says that what it starts stands.
    fn arguments(&mut self, how: &str, then: &str) -> (String, std::path::PathBuf) {
        self.started += 1;
        let ready = self.world.base.join(format!("project/ready{}", self.started));
        (format!("{how} {LIFE} {} {}{} {then}", ready.display(), self.mark, self.started), ready)
    }

    fn call(&mut self, how: &str) -> String {
        let (arguments, _) = self.arguments(how, "");
        text(&self.server.call("execute_command", json!({"command": format!("mover {arguments}")})))
    }

    /// Sends a call that hangs, and waits until what it starts stands.
    fn hang(&mut self, how: &str) -> i64 {
        let (arguments, ready) = self.arguments(how, "hang");
        let command = json!({"command": format!("mover {arguments}")});
        let id = self.server.send_request("tools/call", json!({"name": "execute_command", "arguments": command}));
        wait_until("the mover has moved", || ready.exists());
        id
    }

    fn living(&self) -> Vec<u32> {
        marked(&self.mark)
    }

    fn assert_gone(&self, case: &str) {
        wait_until(&format!("{case}: everything ends"), || self.is_gone());
    }

    /// Whether several looks see no process, and no file that one has made anew: what moves may hide from the first.
    fn is_gone(&self) -> bool {
        let ready = || (1..=self.started).map(|number| self.world.base.join(format!("project/ready{number}")));
        // Where one is not there there is nothing to remove.
        ready().for_each(|file| drop(fs::remove_file(file)));
        (0..8).all(|_| {
            std::thread::park_timeout(Duration::from_millis(3));
            marked(&self.mark).is_empty() && !ready().any(|file| file.exists())
        })
    }
}

impl Drop for Scene {
    /// Ends what a failing test leaves behind; what passes has left nothing.
    fn drop(&mut self) {
        let end = Instant::now() + Duration::from_secs(2);
        while !self.is_gone() && Instant::now() < end {
            for pid in marked(&self.mark) {
                // It may have ended in between.
                Pid::from_raw(i32::try_from(pid).unwrap()).map(|pid| kill_process(pid, Signal::KILL).ok());
            }
        }
    }
}

fn marked(mark: &str) -> Vec<u32> {
    let entries = fs::read_dir("/proc").unwrap().map_while(Result::ok);
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let holds = |pid: &u32| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        line.windows(mark.len()).any(|part| part == mark.as_bytes())
    };
    numbers.filter(holds).collect()
}

fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + DEADLINE;
    while !holds() {
        assert!(Instant::now() < end, "not within {DEADLINE:?}: {what}");
        std::thread::park_timeout(Duration::from_millis(5));
    }
}

fn zombies(parent: u32) -> Vec<String> {
    let entries = fs::read_dir("/proc").unwrap().map_while(Result::ok);
    let stats = entries.filter_map(|entry| fs::read_to_string(entry.path().join("stat")).ok());
    let of_parent = |stat: &String| {
        let fields = stat.rsplit_once(") ").map(|(_, fields)| fields).unwrap_or_default();
        fields.starts_with(&format!("Z {parent} "))
    };
    stats.filter(of_parent).collect()
}

#[test]
fn what_left_the_tree_is_gone_with_the_exit_of_its_command() {
    for user in User::all() {
        for level in LEVELS {
            let Some(mut scene) = Scene::new(user, level, &[]) else { return };
            for how in WAYS {
                let case = format!("{user:?}, {level}, {how}");
                assert!(scene.call(how).starts_with("exit_code: 7\n"), "{case}");
                // Within the answer already, where the sandbox ends its domain.
                assert!(level == "off" || !has_scopes() || scene.is_gone(), "{case}: {:?}", scene.living());
                scene.assert_gone(&case);
            }
            assert!(
                text(&scene.server.call("execute_command", json!({"command": "true"}))).starts_with("exit_code: 0\n")
            );
            wait_until("the zombies are reaped", || {
                scene.server.call("execute_command", json!({"command": "true"}));
                zombies(scene.server.pid()).is_empty()
            });
        }
    }
}

#[test]
fn what_has_a_cgroup_to_be_killed_leaves_nothing_behind_without_a_sandbox_either() {
    let limits = ["--max-open-files", "1000"];
    for user in User::all() {
        let Some(mut scene) = Scene::new(user, "off", &limits) else { return };
        if !scene.world.doctor_says(user, &limits, "end of a command's tree").contains("cgroup.kill") {
            eprintln!("not shown for {user:?}, who can make no cgroup here");
            continue;
        }
        for how in WAYS {
            assert!(scene.call(how).starts_with("exit_code: 7\n"), "{how}");
            // Within the answer already.
            assert!(scene.is_gone(), "{user:?}, {how}: {:?}", scene.living());
        }
        // An orphan that is hunted may be any running call's, and so lives until those have ended; a cgroup tells whose it is.
        let id = scene.hang("stay");
        let running = scene.living();
        for how in ["deep", "move"] {
            assert!(scene.call(how).starts_with("exit_code: 7\n"), "{how}");
            assert_eq!(scene.living(), running, "{user:?}, {how} beside a running call");
        }
        scene.server.notify("notifications/cancelled", json!({"requestId": id}));
        scene.assert_gone(&format!("{user:?}, cancellation"));
    }
}

/// Whether the kernel keeps signals in a domain (Landlock ABI 6); where it does not, the sandbox hunts as `off` does.
fn has_scopes() -> bool {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    let mut numbers = release.split(['.', '-']).map_while(|number| number.parse::<u32>().ok());
    (numbers.next(), numbers.next()) >= (Some(6), Some(12))
}

#[test]
fn what_left_the_tree_is_gone_after_a_deadline_and_a_cancellation() {
    for level in LEVELS {
        let Some(mut scene) = Scene::new(User::Own, level, &[]) else { return };
        for how in WAYS {
            let (arguments, _) = scene.arguments(how, "hang");
            let call = json!({"command": format!("mover {arguments}"), "timeout_ms": 300});
            assert!(text(&scene.server.call("execute_command", call)).contains("timed_out: true"), "{level}, {how}");
            scene.assert_gone(&format!("{level}, {how}, deadline"));
            let id = scene.hang(how);
            scene.server.notify("notifications/cancelled", json!({"requestId": id}));
            // Everything else is served meanwhile.
            assert_eq!(scene.server.request("ping", json!({}))["result"], json!({}));
            scene.assert_gone(&format!("{level}, {how}, cancellation"));
        }
        assert_eq!(scene.server.drain(), Vec::<Value>::new());
    }
}

#[test]
fn what_left_the_tree_is_gone_with_the_server() {
    for level in LEVELS {
        for how in WAYS {
            for is_signal in [false, true] {
                let Some(mut scene) = Scene::new(User::Own, level, &[]) else { return };
                scene.hang(how);
                if is_signal {
                    let pid = Pid::from_raw(i32::try_from(scene.server.pid()).unwrap()).unwrap();
                    kill_process(pid, Signal::TERM).unwrap();
                } else {
                    scene.server.close_stdin();
                }
                assert_eq!(scene.server.wait_exit(), 0);
                let case = format!("{level}, {how}, by a signal: {is_signal}");
                // Nobody is left who could end it.
                assert!(scene.is_gone(), "{case}: {:?}", scene.living());
            }
        }
    }
}

#[test]
fn what_left_the_tree_is_gone_when_the_shell_answers() {
    for user in User::all() {
        for level in LEVELS {
            let Some(mut scene) = Scene::new(user, level, &["--tools", "shell"]) else { return };
            for how in WAYS {
                let case = format!("{user:?}, {level}, {how}");
                let (arguments, _) = scene.arguments(how, "");
                let answer = text(&scene.server.call("mover", json!({"arguments": arguments})));
                assert!(answer.starts_with("exit_code: 7\n"), "{case}: {answer}");
                assert!(level == "off" || !has_scopes() || scene.is_gone(), "{case}: {:?}", scene.living());
                scene.assert_gone(&case);
                let answer = text(&scene.server.call("true", json!({})));
                assert!(answer.starts_with("exit_code: 0\n"), "{case}: {answer}");
            }
            let (arguments, ready) = scene.arguments("move", "hang");
            let call = json!({"name": "mover", "arguments": {"arguments": arguments}});
            scene.server.send_request("tools/call", call);
            wait_until("the mover has moved", || ready.exists());
            scene.server.close_stdin();
            assert_eq!(scene.server.wait_exit(), 0);
            assert!(scene.is_gone(), "{user:?}, {level}, end of the input: {:?}", scene.living());
        }
    }
}

#[test]
fn what_left_the_tree_of_a_running_call_lives_on_when_others_end() {
    for level in LEVELS {
        let Some(mut scene) = Scene::new(User::Own, level, &[]) else { return };
        let id = scene.hang("stay");
        let before = scene.living();
        // The mover itself, and what it has started as a child of the server.
        assert_eq!(before.len(), 2, "{level}: {before:?}");
        for how in ["stay", "deep"] {
            assert!(scene.call(how).starts_with("exit_code: 7\n"), "{level}, {how}");
        }
        let after = scene.living();
        assert!(before.iter().all(|pid| after.contains(pid)), "{level}: of {before:?} {after:?} live");
        scene.server.notify("notifications/cancelled", json!({"requestId": id}));
        scene.assert_gone(level);
    }
}

/// What traces a command and takes no notice of its end, see `mover.c`.
const TRACES: [&str; 7] =
    ["trace", "trace+attach", "trace+parent", "trace+orphan", "trace+vfork", "trace+thread", "trace+child"];
/// What keeps a command from ending even after SIGKILL, except in a sandbox, or from being seen to end.
const HOLDS: [&str; 7] = [
    "trace+exit",
    "trace+exit+parent",
    "trace+exit+orphan",
    "trace+exit+thread",
    "trace+exit+child",
    "trace+chain",
    "trace+second",
];

#[test]
fn a_command_that_is_traced_ends_with_its_exit_and_its_tracer_with_it() {
    for user in User::all() {
        for level in LEVELS {
            let Some(mut scene) = Scene::new(user, level, &[]) else { return };
            for how in TRACES {
                let case = format!("{user:?}, {level}, {how}");
                let answer = scene.call(how);
                assert!(answer.starts_with("exit_code: 7\n"), "{case}: {answer}");
                scene.assert_gone(&case);
                // Nothing else has waited.
                assert_eq!(scene.server.request("ping", json!({}))["result"], json!({}));
            }
        }
    }
}

#[test]
fn no_tracer_keeps_a_command_alive_after_a_deadline_and_a_cancellation() {
    for user in User::all() {
        for level in LEVELS {
            let Some(mut scene) = Scene::new(user, level, &[]) else { return };
            for how in HOLDS.into_iter().chain(["trace"]) {
                let (arguments, _) = scene.arguments(how, "hang");
                let call = json!({"command": format!("mover {arguments}"), "timeout_ms": 300});
                let answer = text(&scene.server.call("execute_command", call));
                assert!(answer.contains("timed_out: true"), "{user:?}, {level}, {how}: {answer}");
                scene.assert_gone(&format!("{user:?}, {level}, {how}, deadline"));
                if user != User::Own {
                    continue;
                }
                let id = scene.hang(how);
                scene.server.notify("notifications/cancelled", json!({"requestId": id}));
                assert_eq!(scene.server.request("ping", json!({}))["result"], json!({}));
                scene.assert_gone(&format!("{user:?}, {level}, {how}, cancellation"));
            }
            wait_until("the zombies are reaped", || {
                scene.server.call("execute_command", json!({"command": "true"}));
                zombies(scene.server.pid()).is_empty()
            });
            assert_eq!(scene.server.drain(), Vec::<Value>::new());
        }
    }
}

#[test]
fn no_tracer_keeps_a_command_alive_after_the_server() {
    for how in HOLDS.into_iter().chain(["trace"]) {
        for is_signal in [false, true] {
            let Some(mut scene) = Scene::new(User::Own, "off", &[]) else { return };
            scene.hang(how);
            if is_signal {
                let pid = Pid::from_raw(i32::try_from(scene.server.pid()).unwrap()).unwrap();
                kill_process(pid, Signal::TERM).unwrap();
            } else {
                scene.server.close_stdin();
            }
            assert_eq!(scene.server.wait_exit(), 0);
            let case = format!("{how}, by a signal: {is_signal}");
            // Nobody is left who could end it.
            assert!(scene.is_gone(), "{case}: {:?}", scene.living());
        }
    }
}

#[test]
fn the_shell_answers_when_a_deadline_ends_what_is_traced() {
    for level in LEVELS {
        let Some(mut scene) = Scene::new(User::Own, level, &["--tools", "shell"]) else { return };
        for how in HOLDS.into_iter().chain(["trace", "trace+orphan"]) {
            let (arguments, _) = scene.arguments(how, "hang");
            let call = json!({"arguments": arguments, "timeout_ms": 300});
            let answer = text(&scene.server.call("mover", call));
            assert!(answer.contains("timed_out: true"), "{level}, {how}: {answer}");
            scene.assert_gone(&format!("{level}, {how}"));
            let answer = text(&scene.server.call("true", json!({})));
            assert!(answer.starts_with("exit_code: 0\n"), "{level}, {how}: {answer}");
        }
    }
    // A command that has exited is kept back from the shell, too, which is not lost with it. Nor is it if the command made it its tracer.
    let Some(mut scene) = Scene::new(User::Own, "off", &["--tools", "shell"]) else { return };
    for (how, hang) in [("trace", ""), ("trace+orphan", ""), ("trace+self", "hang")] {
        let (arguments, _) = scene.arguments(how, hang);
        let answer = text(&scene.server.call("mover", json!({"arguments": arguments, "timeout_ms": 300})));
        assert!(answer.contains("timed_out: true") && !answer.contains("shell_restarted"), "{how}: {answer}");
        scene.assert_gone(how);
    }
}
