//! Directories that are replaced while the server runs: what was checked is what is used, as root and as an ordinary
//! user, with and without the sandbox, in both eras.
#![cfg(target_os = "linux")]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use crate::support::world::{User, World, text};
use crate::support::{Server, modern_meta};
use serde_json::{Value, json};

const ADVICE: &str = "name one with `--workspace-dir`, `--project-dir` or `--cwd-root`";

/// Each user at each of these levels, in a world of its own.
fn each(levels: &[&str], test: impl Fn(&World, User, &str)) {
    for user in User::all() {
        for level in levels {
            test(&World::new(), user, level);
        }
    }
}

const LEVELS: &[&str] = &["off", "workspace", "strict"];
const CONFINED: &[&str] = &["workspace", "strict"];

/// A server with a client of the legacy era that has roots.
fn serve(world: &World, user: User, level: &str, args: &[&str]) -> Server {
    let args = [&["--sandbox", level, "--allow", "pwd"], args].concat();
    let mut server = world.command(user, &args).start();
    server.initialize_with("2025-11-25", json!({"roots": {"listChanged": true}}));
    server
}

fn list(roots: &[&Path]) -> Value {
    let root = |root: &&Path| json!({"uri": format!("file://{}", root.display())});
    json!({"roots": roots.iter().map(root).collect::<Vec<_>>()})
}

/// Answers the server's question.
fn tell(server: &mut Server, roots: &[&Path]) {
    let question = server.recv_until(|message| message["method"] == "roots/list");
    server.send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": list(roots)}));
}

fn tell_anew(server: &mut Server, roots: &[&Path]) {
    server.notify("notifications/roots/list_changed", json!({}));
    tell(server, roots);
}

/// The directory that `pwd` tells, or the sentence that it is refused with.
fn said(text: &str) -> String {
    let ran = text.split_once("stdout: |\n").and_then(|(_, stdout)| stdout.lines().next());
    ran.map_or_else(|| text.to_owned(), |line| line.trim().to_owned())
}

fn pwd(server: &mut Server, cwd: Option<&Path>) -> String {
    let arguments = cwd.map_or(json!({"command": "pwd"}), |cwd| json!({"command": "pwd", "cwd": cwd}));
    said(&text(&server.call("execute_command", arguments)))
}

/// A call of the modern era, which brings its roots.
fn modern_pwd(server: &mut Server, tool: &str, cwd: Option<&Path>, roots: &[&Path]) -> String {
    let mut meta = modern_meta();
    meta["io.modelcontextprotocol/clientCapabilities"] = json!({"roots": {}});
    let mut arguments = if tool == "pwd" { json!({}) } else { json!({"command": "pwd"}) };
    if let Some(cwd) = cwd {
        arguments["cwd"] = json!(cwd);
    }
    let answer = json!({"roots": list(roots)});
    let params = json!({"name": tool, "arguments": arguments, "_meta": meta, "inputResponses": answer});
    said(&text(&server.request("tools/call", params)["result"]))
}

/// Puts a link to another place where a directory is, and says where that has gone.
fn replace(directory: &Path, by: &Path) -> PathBuf {
    let moved = directory.with_extension("moved");
    fs::rename(directory, &moved).unwrap();
    symlink(by, directory).unwrap();
    moved
}

#[test]
fn a_clients_root_that_is_replaced_later_is_still_the_one_that_was_checked() {
    each(LEVELS, |world, user, level| {
        let (project, outside) = (world.base.join("project"), world.base.join("outside"));
        let mut server = serve(world, user, level, &["--workspace-dir", world.base.to_str().unwrap()]);
        tell(&mut server, &[&project]);
        assert_eq!(pwd(&mut server, None), project.to_str().unwrap(), "{user:?} {level}");
        let moved = replace(&project, &outside);
        for cwd in [None, Some(Path::new("."))] {
            assert_eq!(pwd(&mut server, cwd), moved.to_str().unwrap(), "{user:?} {level}");
        }
        for cwd in [&project, &outside] {
            let refused = pwd(&mut server, Some(cwd));
            assert!(refused.contains("is not inside an allowed root"), "{user:?} {level}: {refused}");
        }
        // What the client names anew is looked at anew.
        tell_anew(&mut server, &[&project]);
        assert_eq!(pwd(&mut server, None), outside.to_str().unwrap(), "{user:?} {level}");
    });
}

#[test]
fn the_operators_directories_stay_where_they_were_when_the_clients_roots_change() {
    each(LEVELS, |_, user, level| {
        for setting in ["--cwd-root", "--workspace-dir", "--project-dir"] {
            let world = World::new();
            let (project, outside) = (world.base.join("project"), world.base.join("outside"));
            let args = [setting, project.to_str().unwrap()];
            let mut server = serve(&world, user, level, &args);
            tell(&mut server, &[&project]);
            assert_eq!(pwd(&mut server, None), project.to_str().unwrap(), "{user:?} {level} {setting}");
            let moved = replace(&project, &outside);
            tell_anew(&mut server, &[&outside]);
            let here = pwd(&mut server, None);
            assert_ne!(here, outside.to_str().unwrap(), "{user:?} {level} {setting}");
            assert!(setting != "--project-dir" || here == moved.to_str().unwrap(), "{user:?} {level}: {here}");
            let there = pwd(&mut server, Some(&outside));
            let is_bound = setting != "--project-dir";
            assert_eq!(there.contains("is not inside"), is_bound, "{user:?} {level} {setting}: {there}");
            // The very directory is still the operator's, whatever it is called.
            tell_anew(&mut server, &[&moved]);
            assert_eq!(pwd(&mut server, Some(&moved)), moved.to_str().unwrap(), "{user:?} {level} {setting}");
        }
    });
}

#[test]
fn a_modern_call_is_held_to_the_directories_of_the_start_too() {
    each(LEVELS, |world, user, level| {
        let (project, outside) = (world.base.join("project"), world.base.join("outside"));
        let args = ["--sandbox", level, "--allow", "pwd", "--workspace-dir", project.to_str().unwrap()];
        let mut server = world.command(user, &args).start();
        assert_eq!(modern_pwd(&mut server, "execute_command", None, &[&project]), project.to_str().unwrap());
        let moved = replace(&project, &outside);
        for root in [&project, &outside] {
            let there = modern_pwd(&mut server, "execute_command", Some(root), &[root]);
            assert!(there.contains("is not inside the workspace directory"), "{user:?} {level}: {there}");
        }
        // A root around the bound is the bound's own directory.
        for root in [&moved, &world.base] {
            let here = modern_pwd(&mut server, "execute_command", None, &[root]);
            assert_eq!(here, moved.to_str().unwrap(), "{user:?} {level}");
        }
    });
}

#[test]
fn a_relative_default_directory_lies_within_the_project() {
    each(LEVELS, |world, user, level| {
        let project = world.base.join("project");
        fs::create_dir(project.join("inner")).unwrap();
        symlink("inner", project.join("in")).unwrap();
        symlink(world.base.join("outside"), project.join("src")).unwrap();
        let base = world.base.to_str().unwrap();
        for (named, cwd, is_within) in [
            (true, "src", false),
            (false, "src", false),
            (true, "..", false),
            (false, "../outside", false),
            (true, "in", true),
            (false, "in", true),
        ] {
            let directory =
                if named { ["--project-dir", project.to_str().unwrap()] } else { ["--workspace-dir", base] };
            let mut server = serve(world, user, level, &[&directory[..], &["--cwd", cwd]].concat());
            tell(&mut server, &[&project]);
            for cwd in [None, Some(Path::new("."))] {
                let here = pwd(&mut server, cwd);
                let expected =
                    if is_within { here.ends_with("/project/inner") } else { here.contains("of `--cwd` lies outside") };
                assert!(expected, "{user:?} {level} {directory:?} {cwd:?}: {here}");
            }
        }
    });
}

#[test]
fn in_a_sandbox_roots_count_for_nothing_where_the_operator_named_no_directory() {
    each(CONFINED, |world, user, level| {
        for place in ["project", "home", "outside"] {
            let root = world.base.join(place);
            let mut server = serve(world, user, level, &[]);
            tell(&mut server, &[&root]);
            for cwd in [None, Some(Path::new(".")), Some(&root)] {
                let refused = pwd(&mut server, cwd);
                assert!(refused.contains(ADVICE), "{user:?} {level} {cwd:?}: {refused}");
            }
            // Elsewhere it runs as a call of a client without roots.
            assert_eq!(pwd(&mut server, Some(Path::new("/usr"))), "/usr", "{user:?} {level}");
            server.drain();
            assert!(server.says(ADVICE), "{}", server.stderr());
            let refused =
                modern_pwd(&mut server_without_handshake(world, user, level), "execute_command", None, &[&root]);
            assert!(refused.contains(ADVICE), "{user:?} {level}: {refused}");
            let mut server = serve(world, user, level, &["--tools", "shell"]);
            tell(&mut server, &[&root]);
            let refused = text(&server.call("pwd", json!({})));
            assert!(refused.contains(ADVICE), "{user:?} {level}: {refused}");
        }
        for args in [&["--roots", "ignore"][..], &["--workspace-dir", "."]] {
            let args = [&["--sandbox", level, "--allow", "pwd"], args].concat();
            let mut server = world.command(user, &args).start();
            server.initialize("2025-11-25");
            assert_eq!(pwd(&mut server, None), world.base.to_str().unwrap(), "{user:?} {level}");
        }
    });
}

fn server_without_handshake(world: &World, user: User, level: &str) -> Server {
    world.command(user, &["--sandbox", level, "--allow", "pwd"]).start()
}

#[test]
fn a_project_that_only_the_client_named_has_no_commands_without_a_directory_around_it() {
    each(LEVELS, |world, user, level| {
        let project = world.base.join("project");
        for (more, runs) in [(&[][..], false), (&["--workspace-dir", "."], true), (&["--cwd-root", "project"], true)] {
            let more = [more, &["--allow-project-commands", "--exec", "/bin/touch"]].concat();
            let mut server = serve(world, user, level, if level == "off" { &more[..more.len() - 2] } else { &more });
            tell(&mut server, &[&project]);
            let output = text(&server.call("execute_command", json!({"command": "./hook", "input": "given"})));
            // `strict` executes no command of the project's.
            let runs = runs && level != "strict";
            assert_eq!(output.contains("given"), runs, "{user:?} {level} {more:?}: {output}");
            let is_told = output.contains(ADVICE);
            assert_eq!(is_told, !more.contains(&"--workspace-dir") && !more.contains(&"--cwd-root"), "{output}");
        }
    });
}

#[test]
fn the_shell_starts_anew_in_the_directory_that_was_held() {
    each(LEVELS, |world, user, level| {
        let base = world.base.to_str().unwrap().to_owned();
        for directory in ["--project-dir", "--workspace-dir"] {
            let (project, outside) = (world.base.join("project"), world.base.join("outside"));
            let place = if directory == "--project-dir" { project.to_str().unwrap() } else { &base };
            let mut server = serve(world, user, level, &["--tools", "shell", directory, place]);
            tell(&mut server, &[&project]);
            let pwd = |server: &mut Server| text(&server.call("pwd", json!({})));
            assert!(pwd(&mut server).contains(&format!("{}\n", project.display())), "{user:?} {level}");
            let moved = replace(&project, &outside);
            server.call("restart", json!({}));
            let here = pwd(&mut server);
            assert!(here.contains(&format!("{}\n", moved.display())), "{user:?} {level} {directory}: {here}");
            drop(server);
            fs::remove_file(&project).unwrap();
            fs::rename(moved, project).unwrap();
        }
    });
}

#[test]
fn the_shell_is_held_to_the_very_directories() {
    each(&["off"], |world, user, _| {
        let (root, inner) = (world.base.join("project"), world.base.join("project/inner"));
        fs::create_dir(&inner).unwrap();
        let args = ["--allow", "sh,cd", "--tools", "shell", "--cwd-root", root.to_str().unwrap()];
        let mut server = world.command(user, &args).start();
        server.initialize("2025-11-25");
        let run = |server: &mut Server| text(&server.call("sh", json!({"arguments": "-c true"})));
        server.call("cd", json!({"arguments": inner}));
        // Under another name it is the same root.
        let moved = world.base.join("moved");
        fs::rename(&root, &moved).unwrap();
        for _ in 0..2 {
            assert!(!run(&mut server).contains("shell_restarted"), "{user:?}");
        }
        // And under the same name the other one is not.
        fs::create_dir(&root).unwrap();
        fs::rename(moved.join("inner"), &inner).unwrap();
        let output = run(&mut server);
        assert!(output.contains("the shell had come to a directory that is not allowed"), "{user:?}: {output}");
    });
}

#[test]
fn a_link_that_commands_left_behind_does_not_lead_the_next_start_away() {
    each(CONFINED, |world, user, level| {
        let (project, inner) = (world.base.join("project"), world.base.join("project/inner"));
        fs::create_dir(&inner).unwrap();
        let (project_text, inner_text) = (project.to_str().unwrap(), inner.to_str().unwrap());
        for setting in ["--project-dir", "--cwd-root"] {
            let args = ["--sandbox", level, "--allow", "cat", "--workspace-dir", project_text, setting, inner_text];
            let secret = world.base.join("home/letter");
            let read = |server: &mut Server| {
                text(&server.call("execute_process", json!({"file": "cat", "args": [&secret], "cwd": project_text})))
            };
            let mut server = world.command(user, &args).start();
            server.initialize("2025-11-25");
            assert!(read(&mut server).contains("Permission denied") || setting == "--cwd-root", "{user:?} {level}");
            drop(server);
            let moved = replace(&inner, Path::new("/"));
            let mut server = world.command(user, &args).start();
            assert_eq!(server.wait_exit(), 2, "{user:?} {level} {setting}");
            let said =
                format!("`{setting}` names `{inner_text}`, and the link `{inner_text}` on the way lies where commands");
            assert!(server.says(&said), "{user:?} {level}: {}", server.stderr());
            drop(server);
            fs::remove_file(&inner).unwrap();
            fs::rename(moved, &inner).unwrap();
        }
    });
}

#[test]
fn what_was_removed_is_not_what_was_made_anew() {
    each(LEVELS, |world, user, level| {
        let project = world.base.join("project");
        let args = ["--cwd-root", "project", "--project-dir", "project"];
        let mut server = serve(world, user, level, &args);
        tell(&mut server, &[&project]);
        assert_eq!(pwd(&mut server, Some(&project)), project.to_str().unwrap());
        fs::remove_dir_all(&project).unwrap();
        fs::create_dir(&project).unwrap();
        let refused = pwd(&mut server, None);
        assert!(refused.contains("it was removed since it was opened"), "{user:?} {level}: {refused}");
        let refused = pwd(&mut server, Some(&project));
        assert!(refused.contains("is not inside an allowed root"), "{user:?} {level}: {refused}");
        tell_anew(&mut server, &[&project]);
        let refused = pwd(&mut server, Some(&project));
        assert!(refused.contains("is not inside an allowed root"), "{user:?} {level}: {refused}");
    });
}

#[test]
fn a_client_with_too_many_roots_is_as_one_without() {
    let world = World::new();
    let root = format!("{{\"uri\":\"file://{}\"}},", world.base.join("project").display());
    let roots = root.repeat(3_000);
    let mut server = serve(&world, User::Own, "off", &[]);
    let question = server.recv_until(|message| message["method"] == "roots/list");
    let roots = format!("[{}]", roots.trim_end_matches(','));
    server.send_line(&format!(r#"{{"jsonrpc":"2.0","id":{},"result":{{"roots":{roots}}}}}"#, question["id"]));
    assert_eq!(pwd(&mut server, None), world.base.to_str().unwrap());
    server.drain();
    assert!(server.says("the client names more than 256 roots, so none of them is used"));
}

/// The ways to name something outside of a root, or through a link in it: whether it exists, and what it is.
const OUTSIDE: &[&str] = &[
    "outside",
    "outside/file",
    "outside/file/x",
    "outside/missing",
    "missing/x/y",
    "outside/loop",
    "outside/dangling",
    "outside/closed",
    "outside/closed/x",
    "project/out",
    "project/out/file",
    "project/out/missing",
    "project/to_file",
    "project/to_missing",
    "project/to_closed",
    "project/../outside/file",
    "proc/self/root/x",
];

#[test]
fn a_refused_cwd_does_not_tell_what_lies_outside() {
    each(LEVELS, |world, user, level| {
        use std::os::unix::fs::PermissionsExt;
        let at = |name: &str| world.base.join(name);
        for place in ["outside", "outside/closed", "project/inner"] {
            fs::create_dir_all(at(place)).unwrap();
        }
        fs::write(at("outside/file"), "").unwrap();
        fs::write(at("project/file"), "").unwrap();
        for (target, link) in [
            ("loop", "outside/loop"),
            ("nowhere", "outside/dangling"),
            ("../outside", "project/out"),
            ("../outside/file", "project/to_file"),
            ("../outside/missing", "project/to_missing"),
            ("../outside/closed/x", "project/to_closed"),
        ] {
            symlink(target, at(link)).unwrap();
        }
        fs::set_permissions(at("outside/closed"), fs::Permissions::from_mode(0o000)).unwrap();
        let project = at("project");
        let flags = ["--project-dir", project.to_str().unwrap()];
        let root = [&flags[..], &["--cwd-root", project.to_str().unwrap()]].concat();
        let workspace = [&flags[..], &["--workspace-dir", project.to_str().unwrap()]].concat();
        for (args, has_roots) in [(&root, false), (&workspace, false), (&flags.to_vec(), true)] {
            let mut server = serve(world, user, level, args);
            let roots: Vec<&Path> = if has_roots { vec![&project] } else { Vec::new() };
            tell(&mut server, &roots);
            for name in OUTSIDE {
                let named = if name.starts_with("proc/") { Path::new("/").join(name) } else { at(name) };
                let relative = if named.starts_with(&world.base) { Path::new("..").join(name) } else { named.clone() };
                for cwd in [named, relative] {
                    let text = pwd(&mut server, Some(&cwd));
                    let said = text.replace(cwd.to_str().unwrap(), "[cwd]");
                    let expected = "`cwd` `[cwd]` is not allowed: it is not inside ";
                    assert!(said.contains(expected), "{user:?}, {level}, {args:?}, {}: {text}", cwd.display());
                }
            }
            // Inside of it a client is told.
            for (name, expected) in [("project/missing", "does not exist"), ("project/file", "is not a directory")] {
                let text = pwd(&mut server, Some(&at(name)));
                assert!(text.contains(expected), "{user:?}, {level}, {args:?}, {name}: {text}");
            }
            assert!(pwd(&mut server, Some(&at("project/inner"))).ends_with("/project/inner"));
        }
        fs::set_permissions(at("outside/closed"), fs::Permissions::from_mode(0o700)).unwrap();
    });
}
