//! Policies by the real binary: what `check` says, what a call does, and that both agree.

#![cfg(unix)]

use std::fs;
#[cfg(target_os = "linux")]
use std::os::unix::fs::MetadataExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::Arc;
use std::time::Duration;

use allowexec::config::{Config, Surroundings};
use allowexec::exec::{Captured, End, ExecError, Executor, Invocation, Output as Ran};
use allowexec::server::{Asked, Parts};
use serde_json::{Value, json};
use tempfile::TempDir;

#[cfg(target_os = "linux")]
use crate::support::server::bound_descriptors;
use crate::support::{Server, modern_meta};

/// A project beside what lies outside of it.
struct Project(TempDir);

impl Project {
    fn new() -> Self {
        let project = Self(tempfile::tempdir().unwrap());
        for directory in ["project/src", "project/.git", "project/out", "outside"] {
            fs::create_dir_all(project.path(directory)).unwrap();
        }
        for (file, text) in [
            ("project/a", "text of a\n"),
            ("project/src/b", "text of b\n"),
            ("project/.git/config", ""),
            ("outside/secret", "the secret\n"),
        ] {
            fs::write(project.path(file), text).unwrap();
        }
        for (target, link) in [
            ("../outside/secret", "leak"),
            ("../outside", "away"),
            ("src/b", "inside"),
            ("new", "dangling"),
            ("../outside/new", "dangling_out"),
            ("/proc/self/root", "magic"),
            (".git", "repository"),
        ] {
            symlink(target, project.path("project").join(link)).unwrap();
        }
        project
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().canonicalize().unwrap().join(name)
    }

    fn policy(&self, text: &str) -> String {
        let file = self.path("policy.yaml");
        fs::write(&file, text).unwrap();
        file.into_os_string().into_string().unwrap()
    }

    fn run(&self, words: &[&str], policy: &str, last: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_allowexec"));
        command.env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin").env("HOME", self.0.path());
        command.env("CANARY", "sings").current_dir(self.path("project"));
        command.args(words).args(["--log", "off", "--policy", policy]).args(last);
        command.output().unwrap()
    }

    /// The decision of `check`, with its exit status.
    fn check(&self, policy: &str, words: &[&str]) -> (Value, i32) {
        let output = self.run(&["check", "--json"], policy, &[&["--"], words].concat());
        let value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)));
        (value, output.status.code().unwrap())
    }

    fn call(&self, policy: &str, flags: &[&str], line: &str) -> String {
        let arguments = json!({"command": line}).to_string();
        let output = self.run(&["call", "execute_command", &arguments], policy, flags);
        String::from_utf8(output.stdout).unwrap() + &String::from_utf8_lossy(&output.stderr)
    }
}

const PATHS: &str = r#"
version: 1
commands:
  cat: {operands: [{name: FILE, path: read, count: "1.."}]}
  touch: {operands: [{name: FILE, path: write}]}
  head: {operands: [{path: {access: read, exists: true, except: [.git]}}]}
  tail: {operands: [{path: {access: read, under: [src]}}]}
  tee:
    forms:
      - operands: [{path: write}]
      - {decision: deny, reason: out is for the build, operands: [{path: {access: write, under: [out]}}]}
      - {decision: deny, reason: nothing goes there yet, operands: [{path: {access: write, under: [later]}}]}
"#;

#[test]
fn a_path_passes_by_where_it_leads_and_not_by_how_it_is_written() {
    let project = Project::new();
    let policy = project.policy(PATHS);
    let inside = project.path("project/a");
    let outside = project.path("outside/secret");
    let (inside, outside) = (inside.to_str().unwrap(), outside.to_str().unwrap());
    let rows: &[(&[&str], Option<&str>)] = &[
        (&["cat", "a"], None),
        (&["cat", "./src/../a", "src/b"], None),
        (&["cat", inside], None),
        (&["cat", "inside"], None),
        (&["cat", "missing"], None),
        (&["cat", "dangling"], None),
        (&["cat", ".git/config"], None),
        (&["cat", outside], Some("leads outside the allowed directories")),
        (&["cat", "a", "leak"], Some("`leak` leads outside the allowed directories (`")),
        (&["cat", "../outside/secret"], Some("leads outside the allowed directories")),
        (&["cat", "away/secret"], Some("leads outside the allowed directories")),
        (&["cat", "away/missing/x"], Some("leads outside the allowed directories")),
        (&["cat", "dangling_out"], Some("leads outside the allowed directories")),
        (&["cat", "/proc/self/environ"], Some("leads outside the allowed directories")),
        (&["cat", "magic/etc/passwd"], Some("leads outside the allowed directories")),
        (&["cat", "/dev/null"], Some("leads outside the allowed directories")),
        (&["cat", "/sys/kernel"], Some("leads outside the allowed directories")),
        (&["cat", "-"], Some("`cat` takes a path as FILE, not `-`")),
        (&["cat", ""], Some("`cat` takes a path as FILE, not ``, which is empty")),
        (&["touch", "new"], None),
        (&["touch", "src/new"], None),
        (&["touch", "dangling"], None),
        (&["touch", "a"], None),
        (&["touch", "src"], None),
        (&["touch", "."], Some("`.` is a whole allowed directory; name something in it")),
        (&["touch", "src/.."], Some("is a whole allowed directory; name something in it")),
        (&["touch", "none/new"], None),
        (&["touch", "none/deep/new/"], None),
        (&["touch", "dangling/deep/new"], None),
        (&["touch", "none/../new"], Some("can't be written")),
        (&["touch", "none/../../outside/new"], Some("can't be written")),
        (&["touch", "none/.git/hooks"], Some("lies in `.git`, where nothing may be written")),
        (&["touch", "none/.claude/settings.json"], Some("reads from it what to run")),
        (&["touch", "none/.github/hooks/x"], Some("reads from it what to run")),
        (&["touch", "away/none/new"], Some("leads outside the allowed directories")),
        (&["touch", "dangling_out/deep/new"], Some("leads outside the allowed directories")),
        (&["touch", "a/deep/new"], Some("can't be written")),
        (&["touch", ".git/hooks"], Some("lies in `.git`, where nothing may be written")),
        (&["touch", "repository/hooks"], Some("lies in `.git`, where nothing may be written")),
        (&["touch", ".git"], Some("lies in `.git`, where nothing may be written")),
        (&["touch", "dangling_out"], Some("leads outside the allowed directories")),
        (&["touch", "away/new"], Some("leads outside the allowed directories")),
        (&["head", "a"], None),
        (&["head", "missing"], Some("`missing` does not exist")),
        (&["head", "away/missing"], Some("leads outside the allowed directories")),
        (&["head", ".git/config"], Some("lies in `.git`, where nothing may be read")),
        (&["tail", "src/b"], None),
        (&["tail", "inside"], None),
        (&["tail", "a"], Some("leads outside the allowed directories")),
        (&["tee", "a"], None),
        (&["tee", "out/x"], Some("the operator does not allow `tee out/x`: out is for the build")),
        (&["tee", "src/../out/x"], Some("out is for the build")),
        (&["tee", "out/none/x"], Some("out is for the build")),
        (&["tee", "later/none/x"], Some("nothing goes there yet")),
        (&["tee", "sooner/later/x"], None),
    ];
    for (words, refused) in rows {
        let (said, status) = project.check(&policy, words);
        match refused {
            None => assert_eq!((&said["decision"], status), (&json!("allowed"), 0), "{words:?}: {said}"),
            Some(why) => {
                assert_eq!((&said["decision"], status), (&json!("refused"), 1), "{words:?}: {said}");
                assert!(said["reason"].as_str().unwrap().contains(why), "{words:?}: {said}");
            }
        }
    }
}

#[test]
fn check_names_the_rule_with_its_file_and_line() {
    let project = Project::new();
    let policy = project.policy(
        "commands:\n  git:\n    subcommands:\n      log: any\n      push: {decision: ask, operands: [{text: {}}]}\n",
    );
    let (said, status) = project.check(&policy, &["git", "push", "origin"]);
    assert_eq!(
        (&said["decision"], &said["file"], &said["line"], status),
        (&json!("ask"), &json!(policy), &json!(5), 3)
    );
    assert!(said["reason"].as_str().unwrap().starts_with("a person has to approve this call of `git push`"), "{said}");
    let (said, status) = project.check(&policy, &["git", "log", "-p"]);
    assert_eq!((&said["decision"], &said["line"], status), (&json!("allowed"), &json!(4), 0));
    assert_eq!(said["rule"], json!(format!("the rule for `git log` in {policy}:4")));
    let with_input = project.run(&["check", "--with-input"], &policy, &["--", "git", "log", "-p"]);
    assert_eq!(with_input.status.code(), Some(1), "{with_input:?}");
    assert!(String::from_utf8_lossy(&with_input.stdout).contains("`git` takes no `input`"), "{with_input:?}");
    let twice = project.run(&["check", "--allow", "git"], &policy, &["--", "git log"]);
    let said = String::from_utf8_lossy(&twice.stderr);
    assert!(said.contains(&format!("`git` is described in {policy}:2, and is also in `--allow`")), "{said}");
    let empty = project.policy("commands: {}\n");
    let asked = project.run(&["check", "--allow", "git", "--ask", "git push"], &empty, &["--", "git log"]);
    let said = String::from_utf8_lossy(&asked.stderr);
    assert!(said.contains("list the others in `--allow`, as in `--allow 'git SUBCOMMAND'`"), "{said}");
    let missing = project.run(&["check", "--allow", "./missing"], &empty, &["--", "./missing"]);
    let said = String::from_utf8_lossy(&missing.stdout);
    assert!(said.contains("`./missing` may run, but no executable file is at `./missing`"), "{said}");
    let wrong = project.policy("commands:\n  git: nothing\n");
    let output = project.run(&["check"], &wrong, &["--", "git log"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2));
    assert!(said.contains(&format!("the policy can't be used: {wrong}:2: `git`: expected `any`")), "{said}");
}

#[test]
fn a_program_that_a_policy_names_by_a_relative_path_lies_in_the_project() {
    let project = Project::new();
    for (directory, text) in [("project", "of the server"), ("outside", "of the project")] {
        let _quiet = crate::support::server::spawning();
        let tool = project.path(directory).join("bin/tool");
        fs::create_dir_all(tool.parent().unwrap()).unwrap();
        fs::write(&tool, format!("#!/bin/sh\necho {text}\n")).unwrap();
        fs::set_permissions(&tool, PermissionsExt::from_mode(0o755)).unwrap();
    }
    let policy = project.policy(
        "commands: {tool: {program: bin/tool, operands: []}, touch: {operands: [{path: write}]}, other: {program: bin/other}}\n",
    );
    let outside = project.path("outside");
    for (flags, expected) in [
        (["--project-dir", outside.to_str().unwrap()].as_slice(), "of the project"),
        (&["--project-dir", "../outside"], "of the project"),
        (&[], "of the server"),
    ] {
        let text = project.call(&policy, flags, "tool");
        assert!(text.contains(expected), "{flags:?}: {text}");
    }
    for line in ["touch bin/tool", "touch bin/other"] {
        let text = project.call(&policy, &["--project-dir", "../outside"], line);
        assert!(text.contains("runs it"), "{line}: {text}");
    }
}

/// Runs nothing, and says the words that it would run.
struct Fake;

impl Executor for Fake {
    fn run(&self, invocation: Invocation) -> Result<Ran, ExecError> {
        let stdout = Captured { head: invocation.command.words().join(" ").into_bytes(), ..Captured::default() };
        Ok(Ran { end: End::Exited(0), stdout, stderr: Captured::default(), limit: None, elapsed: Duration::ZERO })
    }
}

#[test]
fn check_and_calls_decide_alike() {
    let project = Project::new();
    let policy = project.policy(
        "commands:\n  echo:\n    insert: [--]\n    options: {-n: {integer: [1, 9]}}\n    forms:\n      - operands: [{path: read, count: \"0..1\"}]\n      - {decision: ask, operands: [{one_of: [a]}]}\n  pwd: any\n",
    );
    let surroundings = Surroundings::of_this_process().unwrap();
    let base = project.path("project");
    let config = Config::builder(surroundings).setting("policy", [&policy]).project_dir(&base).build().unwrap();
    let mut parts = Parts::new(&config);
    parts.executor = Arc::new(Fake);
    let words = ["echo", "pwd", "-n", "-n5", "5", "a", "src/b", "leak", "../outside", "--", "", "-", "@x", "src"];
    let mut allowed = 0;
    for first in words {
        for second in words {
            for third in words {
                let arguments = [second.to_owned(), third.to_owned()];
                let verdict = parts.examine(Asked::Words(first.to_owned(), arguments.to_vec()), None);
                let call = json!({"file": first, "args": arguments}).as_object().cloned().unwrap();
                let called = parts.call("execute_process", call);
                match (&verdict.refusal, &called) {
                    (None, Ok(_)) => allowed += 1,
                    (Some(refusal), Err(error)) => assert_eq!(refusal.to_string(), error.to_string()),
                    (one, other) => panic!("{first} {second} {third}: {one:?}, {other:?}"),
                }
            }
        }
    }
    assert!(allowed > words.len() * words.len(), "{allowed}");
    let called =
        parts.call("execute_command", json!({"command": "echo -n 5 src"}).as_object().cloned().unwrap()).unwrap();
    assert!(called.text.contains("echo -- -n 5 src"), "{}", called.text);
}

#[test]
fn a_rule_has_the_last_word_on_the_environment_the_input_the_time_and_the_exit_code() {
    let project = Project::new();
    fs::write(project.path("project/run.sh"), "echo \"FOO=$FOO CANARY=$CANARY\"; exit 3\n").unwrap();
    fs::write(project.path("project/sleep.sh"), "sleep 30\n").unwrap();
    let policy = project.policy(
        "commands:\n  sh:\n    operands: [{one_of: [run.sh, sleep.sh]}]\n    env: {set: {FOO: bar}, unset: [CANARY]}\n    timeout: 500ms\n    success_exit_codes: [0, 3]\n    cwd: {under: [.]}\n",
    );
    let said = project.call(&policy, &["--inherit-env", "--env", "FOO=other", "--exit-error"], "sh run.sh");
    assert!(said.contains("exit_code: 3") && said.contains("FOO=bar CANARY=\n"), "{said}");
    let output = project.run(&["call", "execute_command", r#"{"command":"sh run.sh"}"#, "--exit-error"], &policy, &[]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let said = project.call(&policy, &[], "sh sleep.sh");
    assert!(said.contains("timed_out: true"), "{said}");
    let away = project.run(&["check", "--in", "/"], &policy, &["--", "sh", "run.sh"]);
    let away = String::from_utf8_lossy(&away.stdout).into_owned();
    assert!(away.contains("`sh` may not run in this directory"), "{away}");
}

/// The arguments, and what is decided, or a part of the error.
#[test]
fn entries_of_lists_add_to_profiles_and_a_star_stands_for_all_that_nothing_describes() {
    let project = Project::new();
    let path = project.path("project/tool");
    fs::write(&path, "#!/bin/sh\n").unwrap();
    fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
    let git = ["--profile", "git-readonly"];
    let beside = |entry: [&'static str; 2]| [&git[..], &entry].concat();
    let everything = vec!["--allow", "*", "--ask", "git push"];
    let but_log = vec!["--ask", "*", "--allow", "git log,ls"];
    for (flags, line, expected) in [
        (beside(["--allow", "git add"]), "git add -A", "allowed"),
        (beside(["--allow", "git add"]), "git log -3", "allowed"),
        (beside(["--allow", "git add"]), "git log --output=x", "refused"),
        (beside(["--allow", "git add"]), "git push", "refused"),
        (beside(["--allow", "git add"]), "git -C .. add x", "refused"),
        (beside(["--allow", "git stash drop"]), "git stash drop", "allowed"),
        (beside(["--allow", "git stash drop"]), "git stash list", "allowed"),
        (beside(["--allow", "git stash drop"]), "git stash clear", "refused"),
        (beside(["--ask", "git push"]), "git push origin main", "ask"),
        (beside(["--ask", "git push"]), "git log", "allowed"),
        (beside(["--allow", "git log"]), "git log", "`git log` is described here and in profile git-readonly"),
        (beside(["--ask", "git log"]), "git log", "`git log` is described here and in profile git-readonly"),
        (beside(["--allow", "git remote show"]), "git remote", "is described here and in profile git-readonly"),
        (beside(["--ask", "git"]), "git log", "`git` is described here and in profile git-readonly"),
        (everything.clone(), "git push", "ask"),
        (everything.clone(), "git push origin main", "ask"),
        (everything.clone(), "git -C . push", "ask"),
        (everything.clone(), "git -c a=b -p push", "ask"),
        (everything.clone(), "git log -3", "allowed"),
        (everything.clone(), "git", "allowed"),
        (everything.clone(), "git commit -m @push", "allowed"),
        (everything.clone(), "ls /", "allowed"),
        (vec!["--allow", "*,git log", "--ask", "git push"], "git log", "allowed"),
        ([&git[..], &everything].concat(), "git push", "ask"),
        ([&git[..], &everything].concat(), "git commit", "refused"),
        (vec!["--ask", "*"], "sort a", "ask"),
        (vec!["--ask", "*"], "./tool", "ask"),
        (vec!["--ask", "*", "--allow", "*"], "sort a", "ask"),
        ([&git[..], &["--ask", "*"]].concat(), "sort a", "ask"),
        ([&git[..], &["--ask", "*"]].concat(), "git log", "allowed"),
        (but_log.clone(), "ls -l", "allowed"),
        (but_log.clone(), "git log -3", "allowed"),
        (but_log.clone(), "git -C . log", "ask"),
        (but_log, "git push", "ask"),
        (vec!["--allow", "git diff:*"], "ls", "`git diff:*` is a pattern of another tool; write `git diff`"),
        (vec!["--allow", "git *"], "ls", "`git *` is a pattern of another tool; write `git`"),
        (vec!["--allow", "git:*"], "ls", "`git:*` is a pattern of another tool; write `git`"),
        (vec!["--allow", "npm*"], "ls", "`npm*` is a pattern of another tool; write `npm`"),
        (vec!["--ask", "Bash(git log)"], "ls", "`Bash(git log)` is a pattern of another tool; write `git log`"),
        (
            vec!["--allow", "Bash(git diff:*)"],
            "ls",
            "`Bash(git diff:*)` is a pattern of another tool; write `git diff`",
        ),
        (vec!["--allow", "shell(git:*)"], "ls", "`shell(git:*)` is a pattern of another tool; write `git`"),
        (vec!["--ask", "git * main"], "ls", "`git * main` is a pattern of another tool; write `git`"),
        (vec!["--allow", "^git log"], "ls", "`^git log` is a pattern of another tool; write `git log`"),
        (vec!["--allow", "Bash(*)"], "ls", "`Bash(*)` is a pattern of another tool; write `*`"),
    ] {
        let words: Vec<&str> = line.split(' ').collect();
        let mut command = Command::new(env!("CARGO_BIN_EXE_allowexec"));
        command.env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin").current_dir(project.path("project"));
        let output = command.arg("check").args(&flags).arg("--").args(words).output().unwrap();
        let said = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        let is_word = !expected.contains(' ');
        let is_right = if is_word { said.lines().any(|line| line == expected) } else { said.contains(expected) };
        assert!(is_right, "{flags:?} {line}: expected {expected}, came {said}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_subcommand_that_is_added_to_a_profile_can_write_in_its_sandbox() {
    let project = Project::new();
    let git = |words: &[&str]| {
        let mut command = Command::new("git");
        command.args(words).current_dir(project.path("project")).env("GIT_CONFIG_GLOBAL", "/dev/null");
        assert!(command.output().unwrap().status.success(), "{words:?}");
    };
    fs::remove_dir_all(project.path("project/.git")).unwrap();
    git(&["init", "-q"]);
    for (flags, is_added) in [(vec!["--allow", "git add"], true), (vec!["--ask", "git push"], false)] {
        let mut server = Server::command(&[&["--profile", "git-readonly", "--project-dir", "."], &flags[..]].concat())
            .dir(project.path("project"))
            .start();
        server.initialize("2025-11-25");
        let result = server.call("execute_process", json!({"file": "git", "args": ["add", "a"]}));
        let text = result["content"][0]["text"].as_str().unwrap().to_owned();
        assert_eq!(text.contains("exit_code: 0"), is_added, "{text}");
        server.close_stdin();
        server.wait_exit();
    }
}

#[test]
fn a_subcommand_has_the_environment_of_its_command_and_over_it_its_own() {
    let project = Project::new();
    fs::write(project.path("project/run.sh"), "echo \"$1 A=$A B=$B C=$C D=$D\"\n").unwrap();
    let policy = "commands:\n  sh:\n    insert: [run.sh]\n    env: {set: {A: '1', B: '2'}, unset: [C, D]}\n    subcommands:\n      x:\n        env: {set: {B: '3', C: '4'}, unset: [A]}\n        subcommands: {z: {env: {set: {A: '5'}}}}\n        forms: [{}]\n      y: any\n";
    let policy = project.policy(policy);
    let variables = ["--env", "A=0", "--env", "B=0", "--env", "C=0", "--env", "D=0"];
    for (line, said) in [("sh x", "x A= B=3 C=4 D=\n"), ("sh x z", "x A=5 B=3 C=4 D=\n"), ("sh y", "y A=1 B=2 C= D=\n")]
    {
        let called = project.call(&policy, &variables, line);
        assert!(called.contains(said), "{line}: {called}");
    }
    let explained = project.run(&["policy", "explain"], &policy, &["--", "sh", "x", "z"]);
    let explained = String::from_utf8_lossy(&explained.stdout).into_owned();
    assert!(explained.contains("A=5") && explained.contains("C=4") && !explained.contains("A=1"), "{explained}");
    // `policy diff` compares it.
    let old = project.path("old.yaml");
    fs::copy(&policy, &old).unwrap();
    let text = fs::read_to_string(&old).unwrap().replace("C: '4'", "C: '6'");
    let new = project.path("new.yaml");
    fs::write(&new, text).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_allowexec")).args(["policy", "diff"]).args([&old, &new]).output();
    let output = output.unwrap();
    assert!(String::from_utf8_lossy(&output.stdout).contains("C=6"), "{output:?}");
}

#[test]
fn in_the_persistent_shell_an_environment_of_a_subcommand_counts_like_one_of_the_command() {
    let project = Project::new();
    let policy = project.policy("commands:\n  git: {subcommands: {status: {env: {set: {X: '1'}}}}}\n");
    let mut server = Server::command(&["--policy", &policy, "--tools", "shell"]).dir(project.path("project")).start();
    server.initialize("2025-11-25");
    let id = server.send_request("tools/call", json!({"name": "git", "arguments": {"arguments": "status"}}));
    let result = server.response(&json!(id))["result"].clone();
    let text = result["content"][0]["text"].as_str().unwrap().to_owned();
    assert!(text.contains("the persistent shell has one for all commands"), "{text}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_sandbox_of_a_rule_holds_its_own_program_and_the_paths_of_the_call_alone() {
    let project = Project::new();
    fs::write(
        project.path("project/run.sh"),
        "/bin/cat a; echo \"cat: $?\"\nread line < src/b; echo \"read: $line\"\n",
    )
    .unwrap();
    // The same lines without a sandbox of theirs do it all.
    let open = project.policy("commands:\n  sh:\n    operands: [{one_of: [run.sh]}]\n");
    let said = project.call(&open, &[], "sh run.sh");
    assert!(said.contains("text of a") && said.contains("read: text of b"), "{said}");
    let policy = project.policy(
        "commands:\n  sh:\n    operands: [{one_of: [run.sh]}]\n    sandbox: {level: strict, exec: own}\n  cat:\n    operands: [{path: read, count: \"0..\"}]\n    sandbox: {level: strict, exec: own, paths: claimed}\n  dash:\n    operands: [{one_of: [run.sh]}, {path: read}]\n    sandbox: {level: strict, exec: own, paths: claimed}\n  tail: {operands: [{path: read}], limits: {cpu: 5s}}\n",
    );
    let said = project.call(&policy, &[], "sh run.sh");
    assert!(!said.contains("text of a") && said.contains("cat: 126") && said.contains("read: text of b"), "{said}");
    let said = project.call(&policy, &[], "cat a src/b");
    assert!(said.contains("exit_code: 0") && said.contains("text of a") && said.contains("text of b"), "{said}");
    // The script is no path of the call, so nothing may read it; what is named may be read.
    let said = project.call(&policy, &[], "dash run.sh a");
    assert!(!said.contains("exit_code: 0") && !said.contains("text of"), "{said}");
    let said = project.call(&policy, &[], "tail a");
    assert!(said.contains("exit_code: 0") && said.contains("text of a"), "{said}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_rule_that_writes_nothing_reads_and_runs_as_before_with_any_sandbox_of_the_server() {
    let project = Project::new();
    let at = |name: &str| project.path("project").join(name);
    fs::write(
        at("run.sh"),
        "echo x > new; echo x >> a; rm src/b; mv out in; mkdir $TMPDIR/d; chmod 600 src/b; touch -d 2001-01-01 src/b; chown 1 src/b\necho x > /dev/null && echo devices\nread line < a; echo $line\n/bin/cat src/b\n",
    )
    .unwrap();
    let rule = |sandbox: &str| {
        let rule = |name: &str, word: &str| format!("  {name}: {{operands: [{{one_of: [{word}]}}]{sandbox}}}\n");
        project.policy(&format!("commands:\n{}{}", rule("sh", "run.sh"), rule("touch", "new")))
    };
    let before = fs::metadata(at("src/b")).unwrap();
    let is_untouched = || {
        let reads = |name: &str, text: &str| fs::read_to_string(at(name)).is_ok_and(|found| found == text);
        let state = fs::metadata(at("src/b")).unwrap();
        let is_same = (state.mode(), state.uid(), state.mtime()) == (before.mode(), before.uid(), before.mtime());
        is_same
            && !at("new").exists()
            && reads("a", "text of a\n")
            && reads("src/b", "text of b\n")
            && at("out").exists()
    };
    let policy = rule(", sandbox: {write: none}");
    for level in ["off", "workspace", "strict"] {
        let said = project.call(&policy, &["--sandbox", level, "--cwd-root", "."], "sh run.sh");
        assert!(said.contains("devices") && said.contains("text of a") && is_untouched(), "{level}: {said}");
        // At `strict` the shell may execute itself alone.
        assert_eq!(said.contains("text of b"), level != "strict", "{level}: {said}");
        // No grant lets it write.
        let hints = said.lines().filter(|line| line.starts_with("hint:"));
        assert!(hints.clone().all(|hint| !hint.contains("--write")), "{level}: {said}");
        assert_eq!(said.contains("add `--exec /bin/cat`"), level == "strict", "{level}: {said}");
        let written = project.call(&policy, &["--sandbox", level, "--cwd-root", "."], "touch new");
        assert!(written.contains("add `write: full` to the `sandbox` of its rule"), "{level}: {written}");
    }
    for narrow in ["{level: strict, write: none}", "{level: workspace, write: none, network: none}"] {
        let said = project.call(&rule(&format!(", sandbox: {narrow}")), &["--cwd-root", "."], "sh run.sh");
        assert!(said.contains("devices") && said.contains("text of a") && is_untouched(), "{narrow}: {said}");
    }
    // Otherwise the lines above show nothing.
    let said = project.call(&rule(""), &[], "sh run.sh");
    assert!(said.contains("devices") && !is_untouched() && at("new").exists(), "{said}");
}

/// Requests of ioctl(2) for which it is enough to read the file. Most file systems have few of them, and answer with another error.
#[cfg(target_os = "linux")]
#[test]
fn a_rule_that_writes_nothing_lets_no_request_change_a_file() {
    const SCRIPT: &str = "import fcntl, os
file, directory = os.open('a', 0), os.open('src', 0)
def error(request):
    found = []
    for descriptor in file, directory:
        try:
            fcntl.ioctl(descriptor, request, bytes(256))
        except OSError as error:
            found.append(error.errno)
    return found
# Flags, encryption, extents, verity, attributes of FAT, subvolumes, pins of F2FS.
changes = [0x40086602, 0x401c5820, 0x40087602, 0x800c6613, 0x6609, 0x660c, 0x40806685, 0x40047211, 0x5000940f, 0x4004f50d, 0x40049409]
print('changed', [hex(request) for request in changes if error(request) != [1, 1]])
# Flags, attributes, the size of blocks, terminals, what can be read, names of interfaces.
print('refused', [hex(request) for request in [0x80086601, 0x801c581f, 2, 0x5401, 0x802c542a, 0x541b, 0x8910] if 1 in error(request)])
";
    let project = Project::new();
    fs::write(project.path("project").join("run.py"), SCRIPT).unwrap();
    for sandbox in ["{write: none}", "{level: strict, write: none}"] {
        let rule = format!("commands:\n  python3: {{operands: [{{one_of: [run.py]}}], sandbox: {sandbox}}}\n");
        let said = project.call(&project.policy(&rule), &[], "python3 run.py");
        if said.contains("non-interactive") || said.contains("no such program") {
            return eprintln!("not shown without python3");
        }
        assert!(said.contains("changed []\n  refused []\n"), "{sandbox}: {said}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_call_whose_sandbox_grants_the_claimed_paths_alone_makes_the_file_that_it_names_and_no_other() {
    let project = Project::new();
    let rule = |operands: &str| {
        format!("{{syntax: operands, operands: [{operands}], sandbox: {{level: strict, exec: own, paths: claimed}}}}")
    };
    let copy = rule("{path: read}, {path: write}");
    let script = rule("{one_of: [-c]}, {one_of: ['echo x > other; echo y > new; :']}, {path: write}");
    let policy = project.policy(&format!(
        "commands:\n  cp: {copy}\n  dash: {script}\n  touch: {0}\n  \"true\": {0}\n  mkdir: {0}\n",
        rule("{path: write}")
    ));
    let at = |name: &str| project.path("project").join(name);
    for (line, made) in [("cp a new", "new"), ("cp a out", "out/a"), ("touch out/b", "out/b"), ("cp a dangling", "new")]
    {
        let said = project.call(&policy, &[], line);
        assert!(said.contains("exit_code: 0") && at(made).is_file(), "{line}: {said}");
        fs::remove_file(at(made)).unwrap();
    }
    // What a call names and does not use is gone before its answer comes.
    for line in ["true new", "mkdir new", "cp missing new"] {
        project.call(&policy, &[], line);
        assert!(!at("new").exists(), "{line}");
    }
    // Beside the file that is named nothing can be made.
    let said = project.call(&policy, &[], "dash -c 'echo x > other; echo y > new; :' new");
    assert!(said.contains("cannot create other") && !at("other").exists(), "{said}");
    assert_eq!(fs::read_to_string(at("new")).unwrap(), "y\n");
    // What the rule takes no write to is not made.
    assert!(project.call(&policy, &[], "touch dangling_out").contains("leads outside"));
    assert!(!project.path("outside/new").exists());
}

#[cfg(target_os = "linux")]
#[test]
fn files_that_are_made_for_a_call_go_where_no_descriptor_is_left_for_it() {
    let project = Project::new();
    let policy = project.policy(
        "commands:\n  touch:\n    syntax: operands\n    operands: [{path: write, count: \"0..\"}]\n    sandbox: {level: strict, exec: own, paths: claimed}\n",
    );
    let mut server = Server::command(&["--policy", &policy]).dir(project.path("project")).start();
    server.initialize("2025-11-25");
    bound_descriptors(server.pid(), 100);
    let line = (0..200).fold("touch".to_owned(), |line, number| line + &format!(" new{number}"));
    let id = server.send_request("tools/call", json!({"name": "execute_command", "arguments": {"command": line}}));
    let result = server.response(&json!(id))["result"].clone();
    assert_eq!(result["isError"], json!(true), "{result}");
    let names = fs::read_dir(project.path("project")).unwrap().map(|entry| entry.unwrap().file_name());
    let left: Vec<_> = names.filter(|name| name.to_string_lossy().starts_with("new")).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_model_learns_from_the_tools_what_it_may_call() {
    let project = Project::new();
    let policy = project.policy(
        "commands:\n  git:\n    read_only: true\n    subcommands:\n      log: {options: {\"--oneline\": flag}, operands: [{name: REVISION, text: {}, count: \"0..\"}]}\n    examples: {allow: [git log --oneline]}\n",
    );
    let mut server = Server::command(&["--policy", &policy]).dir(project.path("project")).start();
    server.initialize("2025-11-25");
    let id = server.send_request("tools/list", json!({}));
    let tools = server.response(&json!(id))["result"]["tools"].clone();
    let names: Vec<&str> = tools.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    let about_calls = ["read_output", "write_input", "stop_call", "list_calls"];
    assert_eq!(names, [&["execute_command", "execute_process"][..], &about_calls, &["list_commands"]].concat());
    assert!(tools[0]["description"].as_str().unwrap().contains("\n  git log\n"), "{}", tools[0]["description"]);
    assert_eq!(tools[0]["annotations"]["readOnlyHint"], json!(true));
    let mut call = |name: &str, arguments: Value| {
        let id = server.send_request("tools/call", json!({"name": name, "arguments": arguments}));
        let result = server.response(&json!(id))["result"].clone();
        (result["isError"] == true, result["content"][0]["text"].as_str().unwrap().to_owned())
    };
    let (_, text) = call("list_commands", json!({"command": "git"}));
    assert!(text.contains("git log [--oneline] [REVISION...]") && text.contains("- git log --oneline"), "{text}");
    assert!(call("list_commands", json!({"command": "rm"})).0);
    let (is_error, text) = call("execute_command", json!({"command": "git log --onelin"}));
    let refused =
        "`git log` does not take `--onelin`; write options in full; usage: `git log [--oneline] [REVISION...]`";
    assert_eq!((is_error, text.as_str()), (true, refused));
    let (is_error, text) = call("execute_command", json!({"command": "git log", "input": "x"}));
    assert!(is_error && text.starts_with("`git` takes no `input`"), "{text}");
}

/// The tools that run commands, each with whether it says that it changes nothing, by a client of each era.
fn read_only_hints(args: &[&str]) -> Vec<(String, bool)> {
    let project = Project::new();
    let hints = |is_modern: bool| -> Vec<(String, bool)> {
        let mut server = Server::command(args).dir(project.path("project")).start();
        let params = if is_modern {
            json!({"_meta": modern_meta()})
        } else {
            server.initialize("2025-11-25");
            json!({})
        };
        let id = server.send_request("tools/list", params);
        let tools = server.response(&json!(id))["result"]["tools"].clone();
        let hint = |tool: &Value| {
            let read_only = tool["annotations"]["readOnlyHint"] == true;
            assert_eq!(tool["annotations"]["destructiveHint"], json!(!read_only), "{tool}");
            (tool["name"].as_str().unwrap().to_owned(), read_only)
        };
        let own =
            ["list_commands", "restart", "read_output", "write_input", "stop_call", "list_calls", "inspect_command"];
        tools.as_array().unwrap().iter().map(hint).filter(|(name, _)| !own.contains(&name.as_str())).collect()
    };
    let legacy = hints(false);
    assert_eq!(legacy, hints(true), "{args:?}");
    legacy
}

#[test]
fn a_tool_is_annotated_as_reading_only_where_all_that_it_can_run_only_reads() {
    let both = |hint: bool| vec![("execute_command".to_owned(), hint), ("execute_process".to_owned(), hint)];
    for (args, expected) in [
        (&["--allow", "ls,cat"][..], false),
        (&["--allow", "ls,cat", "--read-only", "ls"], false),
        (&["--allow", "ls,cat", "--read-only", "ls,cat"], true),
        (&["--allow", "*", "--read-only", "ls"], false),
        (&["--allow", "ls,*", "--read-only", "ls"], false),
        (&["--allow", "ls", "--read-only", "ls", "--allow-project-commands", "--project-dir", "."], false),
        (&["--allow", "ls", "--read-only", "ls", "--allow-project-commands", "--roots", "ignore"], true),
        (&["--profile", "search,ripgrep"], true),
        (&["--profile", "search,ripgrep", "--allow", "ls"], false),
        (&["--profile", "search,ripgrep", "--allow", "ls", "--read-only", "ls"], true),
        (&["--profile", "search,make-targets"], false),
        (&["--allow", "git status"], false),
        (&["--allow", "git status", "--read-only", "git"], true),
    ] {
        assert_eq!(read_only_hints(args), both(expected), "{args:?}");
    }
    // Each tool of the persistent shell is for one command.
    let shell = read_only_hints(&["--tools", "all", "--allow", "ls,rm", "--read-only", "ls"]);
    let alone = [("ls".to_owned(), true), ("rm".to_owned(), false)];
    assert_eq!(shell, [both(false), alone.to_vec()].concat());
}

#[test]
fn programs_of_the_project_are_listed_only_where_they_can_run() {
    let project = Project::new();
    fs::write(project.path("project/lock"), "version: 1\nlibraries: false\ncommands: []\nfiles: []\n").unwrap();
    for (settings, is_listed) in [
        ("--project-dir .", true),
        ("--project-dir . --roots ignore", true),
        ("--workspace-dir .", true),
        ("--cwd-root .", true),
        ("--roots ignore", false),
        ("--workspace-dir . --roots ignore", false),
        ("--cwd-root . --roots ignore", false),
        // No root of a client counts.
        ("", false),
        ("--workspace-dir . --cwd-root=", false),
        ("--project-dir . --tools shell", false),
        ("--project-dir . --lock lock", false),
    ] {
        let args = [&["--allow", "ls", "--allow-project-commands"], &*settings.split_whitespace().collect::<Vec<_>>()];
        let mut server = Server::command(&args.concat()).dir(project.path("project")).start();
        let instructions = server.initialize("2025-11-25")["instructions"].to_string();
        let tools = server.request("tools/list", json!({}))["result"]["tools"].to_string();
        let list = server.call("list_commands", json!({})).to_string();
        for (what, text) in [("instructions", instructions), ("tools", tools), ("list_commands", list)] {
            assert_eq!(text.contains("under the project directory"), is_listed, "{settings}: {what}: {text}");
        }
    }
}

/// Where the kernel can't enforce it, no server starts that could be asked.
#[test]
fn programs_of_the_project_are_not_listed_at_strict_unless_some_may_be_executed() {
    for (settings, is_listed) in [
        (&[][..], true),
        (&[("sandbox", "strict")], false),
        (&[("sandbox", "strict"), ("exec", "/opt")], true),
        (&[("sandbox", "strict"), ("sandbox-best-effort", "on")], true),
        (&[("sandbox", "workspace")], true),
    ] {
        let config = Config::builder(Surroundings::of_this_process().unwrap()).allow(["ls"]);
        let config = config.setting("allow-project-commands", ["on"]).setting("project-dir", ["."]);
        let set =
            |config: allowexec::config::ConfigBuilder, (name, value): &(&str, &str)| config.setting(name, [*value]);
        let config = settings.iter().fold(config, set).build().unwrap();
        let listed = config.allow_list().summary();
        assert_eq!(listed.contains("under the project directory"), is_listed, "{settings:?}: {listed}");
    }
}

#[test]
fn a_command_that_is_said_to_only_read_and_is_not_allowed_is_warned_of() {
    let config = Config::builder(Surroundings::of_this_process().unwrap()).allow(["ls"]);
    let config = config.setting("read-only", ["ls", "cat"]).build().unwrap();
    assert_eq!(Parts::new(&config).warnings(), ["`--read-only` names `cat`, which is not allowed"]);
}

#[test]
fn a_start_with_profiles_answers_the_handshake_and_then_whatever_needs_the_rules() {
    let project = Project::new();
    let args = ["--profile", "git-readonly,coreutils-readonly,search", "--allow", "git-lfs"];
    let mut server = Server::command(&args).dir(project.path("project")).start();
    let greeting = server.initialize("2025-11-25");
    let instructions = greeting["instructions"].as_str().or(greeting["result"]["instructions"].as_str()).unwrap();
    assert!(instructions.contains("Allowed: git-lfs, git, ls, cat,"), "{instructions}");
    // No task is named that is not allowed.
    assert!(!instructions.contains("lint"), "{instructions}");
    let result = server.call("execute_command", json!({"command": "cat a src/b"}));
    assert_eq!(
        result["content"][0]["text"], "exit_code: 0\nstdout: |\n  text of a\n  text of b\nstderr: ''\n",
        "{result}"
    );
    let result = server.call("execute_command", json!({"command": "cat ../outside/secret"}));
    assert_eq!(result["isError"], true, "{result}");
    let id = server.send_request("tools/list", json!({}));
    let tools = server.response(&json!(id))["result"]["tools"].clone();
    assert!(tools[0]["description"].as_str().unwrap().contains("\n  git "), "{tools}");
}

#[test]
fn a_server_that_ends_before_its_rules_are_read_leaves_nothing_behind() {
    for round in 0..8 {
        let project = Project::new();
        fs::create_dir(project.path("temporary")).unwrap();
        let mut server = Server::command(&["--profile", "git-readonly,coreutils-readonly"])
            .env("TMPDIR", project.path("temporary"))
            .dir(project.path("project"))
            .start();
        server.initialize("2025-11-25");
        // Later and later, so that the end comes at each point of the start.
        std::thread::sleep(Duration::from_millis(round));
        server.close_stdin();
        assert_eq!(server.wait_exit(), 0, "{}", server.stderr());
        let left: Vec<_> = fs::read_dir(project.path("temporary")).unwrap().collect();
        assert!(left.is_empty(), "{left:?}");
    }
}

#[test]
fn in_the_persistent_shell_rules_hold_where_it_stands() {
    let project = Project::new();
    let policy = project.policy(
        "commands:\n  cd: any\n  cat: {operands: [{path: read}]}\n  head: {operands: [{path: read}], env: {unset: [X]}}\n  ls: {options: {-l: flag}}\n",
    );
    let mut server = Server::command(&["--policy", &policy, "--tools", "shell"]).dir(project.path("project")).start();
    server.initialize("2025-11-25");
    let mut call = |name: &str, arguments: &str| {
        let id = server.send_request("tools/call", json!({"name": name, "arguments": {"arguments": arguments}}));
        let result = server.response(&json!(id))["result"].clone();
        (result["isError"] == true, result["content"][0]["text"].as_str().unwrap().to_owned())
    };
    let (is_error, text) = call("cat", "b");
    assert!(!is_error && text.contains("exit_code: 1"), "{text}");
    assert!(!call("cd", "src").0);
    let (is_error, text) = call("cat", "b");
    assert!(!is_error && text.contains("text of b"), "{text}");
    let (is_error, text) = call("cat", "../leak");
    assert!(is_error && text.contains("leads outside the allowed directories"), "{text}");
    let (is_error, text) = call("ls", "-R");
    assert!(is_error && text.starts_with("`ls` does not take `-R`"), "{text}");
    let (is_error, text) = call("head", "b");
    assert!(is_error && text.contains("the persistent shell has one for all commands"), "{text}");
}
