//! What is granted stays what it was at the start: a command that can write where a granted directory lies puts a link in its
//! place, and neither a later set of rules nor the next server grants what the link leads to.
#![cfg(target_os = "linux")]

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Command;

use crate::support::server::copy_program;
use crate::support::world::{SECRET, User, World, text};
use crate::support::{Server, modern_meta};
use serde_json::{Value, json};

const LEVELS: [&str; 2] = ["workspace", "strict"];
const ALLOWED: &str = "sh,cat,mv,ln,rmdir,printenv";

/// Every level with every user.
fn levels_and_users() -> impl Iterator<Item = (&'static str, User)> {
    LEVELS.into_iter().flat_map(|level| User::all().into_iter().map(move |user| (level, user)))
}

/// A world with a workspace, in which there are some directories.
fn world() -> World {
    let world = World::new();
    for name in ["one", "two", "three", "target"] {
        fs::create_dir_all(world.base.join("site").join(name)).unwrap();
    }
    world
}

/// A script that puts a link to everything in the place of what lies in the workspace.
fn swap(world: &World, name: &str) -> String {
    world.fill(&format!("mv [base]/site/{name} [base]/site/{name}-moved; ln -s / [base]/site/{name}"))
}

fn is_swapped(world: &World, name: &str) -> bool {
    world.base.join("site").join(name).is_symlink()
}

/// How a client tells its roots.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Era {
    Legacy,
    Modern,
}

struct Client {
    server: Server,
    era: Era,
    has_roots: bool,
}

impl Client {
    fn new(world: &World, user: User, era: Era, args: &[&str]) -> Self {
        let mut server = world.command(user, args).start();
        if era == Era::Legacy {
            server.initialize_with("2025-06-18", json!({"roots": {"listChanged": true}}));
        }
        Self { server, era, has_roots: false }
    }

    /// Sends a call of a client that has this root now.
    fn send(&mut self, world: &World, root: &str, file: &str, args: &[&str]) -> Value {
        let roots = json!({"roots": [{"uri": world.fill(&format!("file://[base]/site/{root}"))}]});
        let mut params = json!({"name": "execute_process", "arguments": {"file": file, "args": args}});
        match self.era {
            Era::Legacy => {
                if self.has_roots {
                    self.server.notify("notifications/roots/list_changed", json!({}));
                }
                self.has_roots = true;
                let question = self.server.recv_until(|message| message["method"] == "roots/list");
                self.server.send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": roots}));
            }
            Era::Modern => {
                params["_meta"] = modern_meta();
                params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({"roots": {}});
                params["inputResponses"] = json!({"roots": roots});
            }
        }
        json!(self.server.send_request("tools/call", params))
    }

    fn answer(&mut self, id: &Value) -> String {
        text(&self.server.response(id)["result"])
    }

    fn call(&mut self, world: &World, root: &str, file: &str, args: &[&str]) -> String {
        let id = self.send(world, root, file, args);
        self.answer(&id)
    }
}

/// The output of reading what stands in the home directory.
fn letter(world: &World) -> String {
    world.fill("[base]/home/letter")
}

#[test]
fn other_client_roots_grant_what_was_granted_at_first() {
    for (level, user) in levels_and_users() {
        for era in [Era::Legacy, Era::Modern] {
            let world = world();
            let [work, one] = ["[base]/site", "[base]/site/one"].map(|path| world.fill(path));
            let args = ["--sandbox", level, "--allow", ALLOWED, "--workspace-dir", &work, "--project-dir", &one];
            let mut client = Client::new(&world, user, era, &args);
            let output = client.call(&world, "two", "sh", &["-c", &swap(&world, "one")]);
            assert!(is_swapped(&world, "one"), "{level} {user:?} {era:?}: {output}");
            let output = client.call(&world, "three", "cat", &[&letter(&world)]);
            assert!(!output.contains(SECRET), "{level} {user:?} {era:?}: {output}");
            // The directory that was granted still is, wherever it lies by now.
            let line = world.fill("echo x > [base]/site/one-moved/made && echo it-worked");
            let output = client.call(&world, "three", "sh", &["-c", &line]);
            assert!(output.contains("it-worked"), "{level} {user:?} {era:?}: {output}");
            // A root of the client's is what it was when the client named it, or lies in the workspace.
            let output = client.call(&world, "three", "sh", &["-c", &swap(&world, "two")]);
            assert!(is_swapped(&world, "two"), "{level} {user:?} {era:?}: {output}");
            let output = client.call(&world, "two", "cat", &[&letter(&world)]);
            assert!(!output.contains(SECRET), "{level} {user:?} {era:?}: {output}");
        }
    }
}

#[test]
fn the_first_call_beside_a_shell_gets_what_was_granted_at_first() {
    for (level, user) in levels_and_users() {
        let world = world();
        let [work, one] = ["[base]/site", "[base]/site/one"].map(|path| world.fill(path));
        let more = ["--tools", "all", "--write", &work];
        let args = ["--sandbox", level, "--allow", ALLOWED, "--project-dir", &one];
        let mut server = world.command(user, &[&args[..], &more].concat()).start();
        server.initialize("2025-06-18");
        let script = json!({"arguments": format!("-c '{}'", swap(&world, "one"))});
        let output = text(&server.call("sh", script));
        assert!(is_swapped(&world, "one"), "{level} {user:?}: {output}");
        // No rules of one-shot calls were made so far.
        let output = text(&server.call("execute_process", json!({"file": "cat", "args": [letter(&world)]})));
        assert!(!output.contains(SECRET), "{level} {user:?}: {output}");
        // Nor does the shell that takes its place get more.
        server.call("restart", json!({}));
        let output = text(&server.call("cat", json!({"arguments": letter(&world)})));
        assert!(!output.contains(SECRET), "{level} {user:?}: {output}");
    }
}

#[test]
fn a_call_that_waits_gets_the_root_that_was_checked() {
    for (level, user) in levels_and_users() {
        for era in [Era::Legacy, Era::Modern] {
            let world = world();
            let work = world.fill("[base]/site");
            let args = ["--sandbox", level, "--allow", ALLOWED, "--workspace-dir", &work, "--max-concurrent", "1"];
            let mut client = Client::new(&world, user, era, &args);
            let line = world.fill(&format!("until test -e [base]/site/go; do :; done; {}", swap(&world, "two")));
            let first = client.send(&world, "one", "sh", &["-c", &line]);
            let waiting = client.send(&world, "two", "cat", &[&letter(&world)]);
            // What comes behind the waiting call is answered, so it was decided.
            let unknown = json!(client.server.send_request("no/such/method", json!({"_meta": modern_meta()})));
            client.server.response(&unknown);
            fs::write(world.base.join("site/go"), "").unwrap();
            let output = client.answer(&first);
            assert!(is_swapped(&world, "two"), "{level} {user:?} {era:?}: {output}");
            let output = client.answer(&waiting);
            assert!(!output.contains(SECRET), "{level} {user:?} {era:?}: {output}");
        }
    }
}

/// The exit status of a server whose client says nothing, and what it wrote.
fn start(world: &World, user: User, args: &[&str]) -> (Option<i32>, String) {
    let output = world.command(user, args).spawn().wait_with_output().unwrap();
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn the_next_start_refuses_a_link_that_a_command_has_made() {
    for (level, user) in levels_and_users() {
        let world = world();
        let work = world.fill("[base]/site");
        let target = world.fill("[base]/site/target");
        let args = ["--sandbox", level, "--allow", ALLOWED, "--workspace-dir", &work];
        let ways = [
            ["--project-dir", &target],
            ["--cwd-root", &target],
            ["--read", &target],
            ["--write", &target],
            ["--exec", &target],
            ["--exec", "site/one/../target"],
        ];
        for way in ways {
            let (status, said) = start(&world, user, &[&args[..], &way].concat());
            assert_eq!(status, Some(0), "{level} {user:?} {way:?}: {said}");
        }
        let mut server = world.command(user, &args).start();
        server.initialize("2025-06-18");
        let line = json!({"file": "sh", "args": ["-c", swap(&world, "target")]});
        let output = text(&server.call("execute_process", line));
        assert!(is_swapped(&world, "target"), "{level} {user:?}: {output}");
        drop(server);
        for way in ways {
            let (status, said) = start(&world, user, &[&args[..], &way].concat());
            assert_eq!(status, Some(2), "{level} {user:?} {way:?}: {said}");
            let link = format!("the link `{target}` on the way lies where commands may write");
            assert!(said.contains(&link) && said.contains("leads to `/` now"), "{level} {user:?} {way:?}: {said}");
        }
        // `doctor` names it too, and `call` does nothing.
        for (subcommand, status) in [(&["doctor"][..], 1), (&["call", "execute_process", r#"{"file":"sh"}"#], 2)] {
            let mut command = Command::new(env!("CARGO_BIN_EXE_allowexec"));
            command.args(subcommand).args(args).args(["--read", &target]).current_dir(&world.base);
            let output = command.output().unwrap();
            let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
            assert_eq!(output.status.code(), Some(status), "{said}");
            assert!(said.contains("lies where commands may write"), "{said}");
        }
    }
}

#[test]
fn what_commands_can_write_does_not_decide_what_is_granted() {
    for (level, user) in levels_and_users() {
        let world = world();
        let [project, tool] = ["[base]/site/one", "[base]/site/one/tool"].map(|path| world.fill(path));
        fs::write(&tool, "#!/bin/sh\necho hello-from-$0\n").unwrap();
        fs::set_permissions(&tool, fs::Permissions::from_mode(0o755)).unwrap();
        let path = format!("{project}:/usr/bin:/bin");
        let ways = [
            &["--project-dir", &project, "--allow", "sh,cat", "--exec", &tool][..],
            &["--project-dir", &project, "--allow", "sh,cat,tool"],
            &["--write", &tool, "--allow", "sh,cat,tool"],
        ];
        let server_of = |way: &[&str]| {
            let args = [&["--sandbox", level], way].concat();
            let mut server = world.command(user, &args).env("PATH", &path).start();
            server.initialize("2025-06-18");
            server
        };
        for way in ways {
            let output = text(&server_of(way).call("execute_process", json!({"file": "sh", "args": ["-c", &tool]})));
            // With `--write` alone it is not executed at `strict`, but then it is on the allow-list.
            assert!(output.contains("hello-from-"), "{level} {user:?} {way:?}: {output}");
        }
        let line = world.fill(&format!("echo '#!{}' > {tool}", letter(&world)));
        let output = text(&server_of(ways[0]).call("execute_process", json!({"file": "sh", "args": ["-c", line]})));
        assert!(fs::read_to_string(&tool).unwrap().contains("letter"), "{output}");
        for way in ways {
            let mut server = server_of(way);
            let output = text(&server.call("execute_process", json!({"file": "cat", "args": [letter(&world)]})));
            assert!(!output.contains(SECRET), "{level} {user:?} {way:?}: {output}");
            server.close_stdin();
            server.wait_exit();
            let said = server.stderr();
            assert!(said.contains("what it needs to start"), "{level} {user:?} {way:?}: {said}");
        }
    }
}

#[test]
fn an_allowed_program_is_not_followed_through_a_link_that_a_command_has_made() {
    for user in User::all() {
        let world = world();
        let project = world.fill("[base]/site/one");
        symlink("/usr/bin/env", world.base.join("site/one/tool")).unwrap();
        let args = ["--sandbox", "strict", "--allow", "sh,tool", "--project-dir", &project];
        let mut server = world.command(user, &args).env("PATH", format!("{project}:/usr/bin:/bin")).start();
        server.initialize("2025-06-18");
        let output = text(&server.call("execute_process", json!({"file": "sh", "args": ["-c", "/usr/bin/env"]})));
        assert!(!output.contains("exit_code: 0"), "{user:?}: {output}");
        server.close_stdin();
        server.wait_exit();
        let said = server.stderr();
        assert!(said.contains("which commands can make lead elsewhere"), "{user:?}: {said}");
    }
}

#[test]
fn a_path_that_was_missing_at_the_start_is_never_granted() {
    for (level, user) in levels_and_users() {
        let world = world();
        let [work, late] = ["[base]/site", "[base]/site/late"].map(|path| world.fill(path));
        let args = ["--sandbox", level, "--allow", ALLOWED, "--workspace-dir", &work, "--read", &late, "--exec", &late];
        let mut client = Client::new(&world, user, Era::Legacy, &args);
        let output = client.call(&world, "one", "ln", &["-s", "/", &late]);
        assert!(is_swapped(&world, "late"), "{level} {user:?}: {output}");
        let output = client.call(&world, "two", "cat", &[&letter(&world)]);
        assert!(!output.contains(SECRET), "{level} {user:?}: {output}");
    }
}

#[test]
fn a_granted_directory_that_is_removed_costs_no_other_call() {
    for (level, user) in levels_and_users() {
        let world = world();
        let [work, three] = ["[base]/site", "[base]/site/three"].map(|path| world.fill(path));
        let args = ["--sandbox", level, "--allow", ALLOWED, "--workspace-dir", &work, "--write", &three];
        let mut client = Client::new(&world, user, Era::Legacy, &args);
        let output = client.call(&world, "one", "rmdir", &[&three]);
        assert!(!world.base.join("site/three").exists(), "{level} {user:?}: {output}");
        let output = client.call(&world, "two", "cat", &[&world.fill("[base]/project/file"), "/dev/null"]);
        assert!(output.contains("Permission denied"), "{level} {user:?}: {output}");
        let output = client.call(&world, "two", "sh", &["-c", "echo x > made && echo it-worked"]);
        assert!(output.contains("it-worked"), "{level} {user:?}: {output}");
    }
}

#[test]
fn the_operators_own_links_are_followed_and_target_is_executed_from() {
    for user in User::all() {
        let world = world();
        symlink(world.base.join("site"), world.base.join("shortcut")).unwrap();
        symlink("home", world.base.join("letters")).unwrap();
        copy_program("/bin/true", world.base.join("site/one/true"));
        let [project, target, letters] =
            ["[base]/shortcut/one", "[base]/shortcut/target", "[base]/letters"].map(|path| world.fill(path));
        let more = ["--exec", &target, "--read", &letters];
        let args = ["--sandbox", "strict", "--allow", ALLOWED, "--project-dir", &project, "--write", &target];
        let mut server = world.command(user, &[&args[..], &more].concat()).start();
        server.initialize("2025-06-18");
        let line = world.fill(&format!("cat true > {target}/made; cat {}", letter(&world)));
        let output = text(&server.call("execute_process", json!({"file": "sh", "args": ["-c", line]})));
        assert!(output.contains(SECRET), "{user:?}: {output}");
        fs::set_permissions(world.base.join("site/target/made"), fs::Permissions::from_mode(0o755)).unwrap();
        let line = format!("{target}/made && echo it-worked; ./true || echo refused");
        let output = text(&server.call("execute_process", json!({"file": "sh", "args": ["-c", line]})));
        assert!(output.contains("it-worked") && output.contains("refused"), "{user:?}: {output}");
    }
}

#[test]
fn the_temporary_directory_is_made_where_no_command_can_replace_it() {
    for (level, user) in levels_and_users() {
        let world = world();
        let project = world.fill("[base]/site/one");
        for own in ["[base]/site/one", "[base]/site/one/link"] {
            symlink(world.base.join("home"), world.base.join("site/one/link")).ok();
            let args = ["--sandbox", level, "--allow", ALLOWED, "--project-dir", &project];
            let mut server = world.command(user, &args).env("TMPDIR", world.fill(own)).start();
            server.initialize("2025-06-18");
            let line = "echo t > $TMPDIR/t && read u < $TMPDIR/t && echo got-$u; echo at=$TMPDIR";
            let output = text(&server.call("execute_process", json!({"file": "sh", "args": ["-c", line]})));
            assert!(output.contains("got-t"), "{level} {user:?} {own}: {output}");
            let path = output.split_once("at=").unwrap().1.split_whitespace().next().unwrap().to_owned();
            assert!(!path.contains("/site/") && !path.contains("/home/"), "{level} {user:?} {own}: {path}");
            assert!(fs::metadata(&path).unwrap().is_dir());
            server.close_stdin();
            server.wait_exit();
            assert!(fs::metadata(&path).is_err(), "{path} is left behind");
            let said = server.stderr();
            assert!(said.contains("so their temporary directory is made in"), "{level} {user:?} {own}: {said}");
        }
    }
}

#[test]
fn a_configuration_that_commands_can_write_is_warned_of() {
    let world = world();
    let project = world.fill("[base]/site/one");
    fs::write(world.base.join("site/one/config.yaml"), "allow: [sh]\n").unwrap();
    fs::write(world.base.join("outside/config.yaml"), "allow: [sh]\n").unwrap();
    symlink(world.base.join("outside/config.yaml"), world.base.join("site/one/link.yaml")).unwrap();
    for (file, why) in [
        ("site/one/config.yaml", Some("lies where commands may write")),
        ("site/one/link.yaml", Some("is reached through the link")),
        ("outside/config.yaml", None),
    ] {
        for level in ["off", "workspace"] {
            let args = ["--config", file, "--sandbox", level, "--project-dir", &project];
            let (status, said) = start(&world, User::Own, &args);
            assert_eq!(status, Some(0), "{said}");
            let warned = said.contains("so a command can decide what the next start allows");
            assert_eq!(warned, level != "off" && why.is_some(), "{file} {level}: {said}");
            assert!(!warned || said.contains(why.unwrap()), "{file} {level}: {said}");
        }
    }
}
