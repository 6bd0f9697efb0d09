//! What `ask` and `deny` decide, for forms and for types, by the real binary: no shape of a line gets past them, and what can't be
//! found out never runs unasked.

#![cfg(unix)]

use std::fs;
#[cfg(target_os = "linux")]
use std::os::unix::fs::PermissionsExt;
use std::os::unix::fs::symlink;
#[cfg(target_os = "linux")]
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

#[cfg(target_os = "linux")]
use crate::support::world::{NOBODY, User, give, put_binary};

struct Project(TempDir);

impl Project {
    fn new() -> Self {
        let project = Self(tempfile::tempdir().unwrap());
        for directory in ["project/private/deep", "project/public/inner", "project/deep/in/secret", "other"] {
            fs::create_dir_all(project.path(directory)).unwrap();
        }
        for file in ["private/x", "public/x", "deep/in/secret/x", "deep/x", "key"] {
            fs::write(project.path("project").join(file), "x\n").unwrap();
        }
        for (target, link) in
            [("private", "door"), ("../private/x", "public/way"), ("private/none", "dangling"), (".", "here")]
        {
            symlink(target, project.path("project").join(link)).unwrap();
        }
        project
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().canonicalize().unwrap().join(name)
    }

    /// What `check` decides, with these flags.
    fn decides(&self, policy: &str, flags: &[&str], words: &[&str]) -> String {
        fs::write(self.path("policy.yaml"), policy).unwrap();
        self.decision(&mut Command::new(env!("CARGO_BIN_EXE_allowexec")), flags, words)
    }

    /// The same, by a binary and the policy that is there.
    fn decision(&self, command: &mut Command, flags: &[&str], words: &[&str]) -> String {
        let file = self.path("policy.yaml");
        command.env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin").env("HOME", self.0.path());
        command.current_dir(self.path("project")).args(["check", "--json", "--log", "off", "--policy"]).arg(file);
        let output = command.args(flags).arg("--").args(words).output().unwrap();
        let value: Value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)));
        let decision = value["decision"].as_str().unwrap().to_owned();
        if words.len() < 20 { format!("{decision} {}", words.join(" ")) } else { decision }
    }

    /// Each line begins with what must be decided.
    fn check(&self, policy: &str, lines: &str) {
        let expected: Vec<&str> = lines.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        let decided = expected.iter().map(|line| {
            let words: Vec<&str> = line.split(' ').skip(1).collect();
            self.decides(policy, &[], &words)
        });
        assert_eq!(decided.collect::<Vec<String>>(), expected);
    }
}

/// The same decisions by a type, and for one operand by a form beside one that allows. For several, such a form would be
/// evaded by one more operand, and the loader refuses it.
fn policies(effect: &str) -> [String; 2] {
    let places = "[private, deep/in/secret, key, later/on]";
    [
        format!(
            "types: {{place: {{path: write, {effect}: {{path: {{access: read, under: {places}}}}}}}}}\n\
             commands: {{rm: {{options: {{-r: flag, -f: flag}}, operands: [{{type: place, count: \"1..\"}}]}}}}\n"
        ),
        format!(
            "commands:\n  rm:\n    options: {{-r: flag, -f: flag}}\n    forms:\n      - operands: [{{path: write}}]\n      \
             - {{decision: {effect}, operands: [{{path: {{access: write, under: {places}}}}}]}}\n"
        ),
    ]
}

#[test]
fn a_denied_place_is_denied_by_each_of_its_names_and_with_all_that_it_lies_in() {
    let project = Project::new();
    let absolute = project.path("project/private/x");
    let words = [
        "private/x",
        "private/new",
        "private/deep",
        "private",
        "private/",
        "./private/.",
        "public/../private",
        "door",
        "door/",
        "door/x",
        "door/deep/..",
        "public/way",
        "dangling",
        "here/private/x",
        "deep/in/secret",
        "deep/in/secret/x",
        "deep/in",
        "deep",
        "here/deep",
        "key",
        "later",
        "private/none/x",
        absolute.to_str().unwrap(),
    ];
    let free = ["public/x", "public", "public/inner", "deep/x", "later/other", "new", "privates", "other/private"];
    for (effect, decision) in [("deny", "refused"), ("ask", "ask")] {
        for policy in policies(effect) {
            for word in words {
                for words in [vec![word], vec!["-rf", word], vec!["-f", "-f", "--", word]] {
                    let words: Vec<&str> = std::iter::once("rm").chain(words).collect();
                    let decided = project.decides(&policy, &[], &words);
                    assert_eq!(decided, format!("{decision} {}", words.join(" ")), "{policy}");
                }
            }
            for word in free {
                assert_eq!(project.decides(&policy, &[], &["rm", word]), format!("allowed rm {word}"), "{policy}");
            }
        }
        let [by_type, _] = policies(effect);
        for words in [["rm", "public/x", "private/x"], ["rm", "private/x", "public/x"], ["rm", "-r", "deep"]] {
            assert_eq!(project.decides(&by_type, &[], &words), format!("{decision} {}", words.join(" ")));
        }
    }
}

#[test]
fn a_call_with_more_paths_than_are_walked_never_runs_unasked() {
    let project = Project::new();
    for (effect, decision) in [("deny", "refused"), ("ask", "ask")] {
        let [policy, _] = policies(effect);
        for many in [100, 2000, 4500, 9000] {
            let words: Vec<&str> = ["rm", "-f"].into_iter().chain(std::iter::repeat_n("private/x", many)).collect();
            assert_eq!(project.decides(&policy, &[], &words), decision, "{many}: {policy}");
            let names: Vec<String> = (0..many).map(|number| format!("private/x{number}")).collect();
            let words: Vec<&str> = ["rm", "-f"].into_iter().chain(names.iter().map(String::as_str)).collect();
            assert_ne!(project.decides(&policy, &[], &words), "allowed", "{many}: {policy}");
        }
    }
    // What is allowed stays so where nothing else is in question.
    let [policy, _] = policies("deny");
    let words: Vec<&str> = std::iter::once("rm").chain(std::iter::repeat_n("public/x", 4000)).collect();
    assert_eq!(project.decides(&policy, &[], &words), "allowed");
}

#[test]
fn where_the_project_directory_is_missing_everything_may_be_meant() {
    let project = Project::new();
    let root = project.path("project");
    let within = ["--cwd-root", root.to_str().unwrap(), "--in", root.to_str().unwrap()];
    for (effect, decision) in [("deny", "refused"), ("ask", "ask")] {
        for policy in policies(effect) {
            let decides = |more: &[&str], word| project.decides(&policy, &[&within[..], more].concat(), &["rm", word]);
            for word in ["private/x", "public/x", "private"] {
                for more in
                    [&["--project-dir", "missing"][..], &["--project-dir", "missing", "--cwd", root.to_str().unwrap()]]
                {
                    assert_eq!(decides(more, word), format!("{decision} rm {word}"), "{policy}");
                }
            }
            assert_eq!(decides(&["--project-dir", "."], "public/x"), "allowed rm public/x");
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn what_can_t_be_read_may_be_meant() {
    let project = Project::new();
    // Root reads everything, so an ordinary user runs it, also where root runs the test.
    let user = User::all().pop().unwrap();
    let binary = project.path("allowexec");
    put_binary(&binary);
    let decides = |policy: &str, words: &[&str]| {
        fs::write(project.path("policy.yaml"), policy).unwrap();
        let mut command = Command::new(&binary);
        if user == User::Ordinary {
            command.uid(NOBODY).gid(NOBODY);
        }
        project.decision(&mut command, &[], words)
    };
    let closed = project.path("project/closed");
    fs::create_dir(&closed).unwrap();
    let policy = "commands:\n  rm:\n    forms:\n      - operands: [{text: {}}]\n      - {decision: deny, operands: [{path: \
                  {access: write, under: [private, closed/in]}}]}\n";
    if user == User::Ordinary {
        for place in [project.path(""), project.path("project")] {
            fs::set_permissions(place, fs::Permissions::from_mode(0o755)).unwrap();
        }
        give(&project.path("project"), NOBODY);
    }
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o000)).unwrap();
    let decided = [["rm", "closed/../private/x"], ["rm", "public/x"]].map(|words| decides(policy, &words));
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o700)).unwrap();
    assert_eq!(decided, ["refused rm closed/../private/x", "refused rm public/x"]);
    assert_eq!(decides(policy, &["rm", "public/x"]), "allowed rm public/x");
}

#[test]
fn a_form_or_a_type_that_excepts_a_place_leaves_it_to_the_others() {
    let project = Project::new();
    let policy = "commands:\n  rm:\n    forms:\n      - operands: [{path: {access: write, under: [private/deep, public]}}]\n      \
                  - {decision: ask, operands: [{path: {access: write, except: [deep]}}]}\n  mv: {operands: [{path: {access: \
                  write, except: []}, deny: {path: {access: write, under: [private], except: [deep, .git]}}}]}\n";
    project.check(
        policy,
        "allowed rm private/deep/x
         ask rm private/x
         ask rm public/x
         ask rm deep/../public/x
         refused rm private/deep
         refused mv private/x
         refused mv private/Deep
         refused mv private/deep/../x
         allowed mv private/deep/x
         refused mv private/.git
         allowed mv public/x",
    );
}

#[test]
fn texts_that_name_paths_are_denied_by_where_they_lead() {
    let project = Project::new();
    let policy = "commands: {show: {options: {--file: {text: {first: \"-+@\"}, deny: {path: {access: read, under: \
                  [private]}}}}, program: /bin/true}}\n";
    let long = format!("--file=public/{}/../private/x", "y".repeat(300));
    let lines = format!(
        "refused show --file private/x
         refused show --file=door
         refused show --file=here
         refused show {long}
         allowed show --file=public/x
         allowed show --file=@public"
    );
    project.check(policy, &lines);
}
