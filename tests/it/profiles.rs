//! The shipped profiles: their examples, the case sets of `fixtures/policy`, and the real programs in a repository and a
//! project that are hostile on purpose.
//!
//! What the profiles allow is run here with the words that they insert and the variables that they set, and without the
//! sandbox that some of them ask for: what only the sandbox stops is named where it is.

#![cfg(target_os = "linux")]

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use allowexec::policy::rules::{
    Arguments, CommandRule, ExampleLine, Expected, Form, Level, NUMBER_OPTION, OptionRule, Order, PolicyText, Rules,
    Syntax, Takes, ValuePlace, decide_example, profile_names, words_of,
};
use serde_json::{Value, json};

use crate::support::Server;
use crate::support::world::is_installed;

fn profile(name: &str) -> Rules {
    Rules::load(&[], &[name.to_owned()], &[]).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Those for work that changes the project; each extends others.
fn writers() -> Vec<String> {
    let writes = |name: &&str| name.ends_with("-develop") || ["git-commit", "coreutils-write"].contains(name);
    profile_names().filter(writes).map(str::to_owned).collect()
}

fn readers() -> Vec<String> {
    let writers = writers();
    profile_names().map(str::to_owned).filter(|name| !writers.contains(name)).collect()
}

fn together(names: &[String]) -> Rules {
    Rules::load(&[], names, &[]).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn every_command_of_a_profile_has_examples_of_what_runs_and_what_does_not_and_all_go_together() {
    let names: Vec<&str> = profile_names().collect();
    assert_eq!(
        names,
        [
            "git-readonly",
            "coreutils-readonly",
            "ripgrep",
            "search",
            "cargo-check",
            "npm-scripts",
            "go-check",
            "python-tools",
            "make-targets",
            "gh-readonly",
            "kubectl-readonly",
            "docker-readonly",
            "git-commit",
            "coreutils-write",
            "rust-develop",
            "node-develop",
            "python-develop",
            "go-develop"
        ]
    );
    for name in names {
        let rules = profile(name);
        for command in rules.iter() {
            let count = |wanted| command.examples.iter().filter(|example| example.expected == wanted).count();
            assert!(count(Expected::Allow) > 0, "{name}: `{}` has no example that runs", command.name);
            let takes_anything = command.level.syntax == Syntax::Operands;
            assert!(takes_anything || count(Expected::Refuse) > 0, "{name}: `{}` refuses no example", command.name);
        }
    }
    for names in [readers(), writers()] {
        let each: usize = names.iter().map(|name| profile(name).iter().count()).sum();
        assert_eq!(together(&names).iter().count(), each, "{names:?}");
    }
}

/// The cases of a file beside the policy of the same name, as (line, words, expected).
fn cases(name: &str) -> Vec<(usize, Vec<String>, String)> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/policy").join(format!("{name}.jsonl"));
    let text = fs::read_to_string(file).unwrap();
    let case = |(index, line): (usize, &str)| {
        let value: Value = serde_json::from_str(line).unwrap();
        let words = value["argv"].as_array().unwrap().iter().map(|word| word.as_str().unwrap().to_owned()).collect();
        (index + 1, words, value["expect"].as_str().unwrap().to_owned())
    };
    text.lines().enumerate().map(case).collect()
}

fn assert_cases(name: &str, rules: &Rules) -> usize {
    let cases = cases(name);
    let mut wrong = Vec::new();
    for (line, words, expected) in &cases {
        // A word that no command line can hold is refused before any rule is asked.
        let words = words_of(&ExampleLine::Words(words.clone()));
        let command = words.as_ref().ok().and_then(|words| Some((rules.get(words.first()?)?, words)));
        let judgement = command.map(|(command, words)| decide_example(command, words));
        let came = judgement.as_ref().map_or("refuse", |judgement| judgement.decision.name());
        if came != expected {
            wrong.push(format!("{name}.jsonl:{line}: {words:?}: expected {expected}, came {came}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    cases.len()
}

#[test]
fn the_case_sets_come_out_as_the_contract_says() {
    let mut count = 0;
    for name in ["gnu", "operands", "types", "syntaxes", "deciding"] {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/policy").join(format!("{name}.yaml"));
        let text = fs::read_to_string(&file).unwrap();
        let rules = Rules::load(&[PolicyText { file, text }], &[], &[]).unwrap_or_else(|error| panic!("{error}"));
        count += assert_cases(name, &rules);
    }
    assert!(count >= 800, "{count} cases");
}

#[test]
fn hostile_lines_are_refused_by_the_profiles_and_everyday_lines_run() {
    let count = assert_cases("profiles", &together(&readers()));
    assert!(count >= 2400, "{count} cases");
    let count = assert_cases("develop", &together(&writers()));
    assert!(count >= 280, "{count} cases");
}

#[test]
fn every_whole_policy_of_the_guide_and_of_readme_loads() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut count = 0;
    for page in ["spec/guide/policy.md", "README.md"] {
        let text = fs::read_to_string(root.join(page)).unwrap();
        let blocks = text.split("```yaml\n").skip(1).filter_map(|rest| rest.split("```").next());
        for block in blocks.filter(|block| block.starts_with("version: 1\n")) {
            let policy = PolicyText { file: page.into(), text: block.to_owned() };
            Rules::load(&[policy], &[], &[]).unwrap_or_else(|error| panic!("{error}\n{block}"));
            count += 1;
        }
    }
    assert!(count >= 8, "{count} policies");
    let readme = fs::read_to_string(root.join("README.md")).unwrap();
    let shown = fs::read_to_string(root.join("fixtures/policy/readme.yaml")).unwrap();
    let (_, shown) = shown.split_once('\n').unwrap();
    assert!(readme.contains(shown), "README shows another policy than its examples use");
}

/// What stands outside of the project.
const SECRET: &str = "what_lies_outside";

/// Every file of a project with what changes when it is written to, and every link with where it leads.
type Tree = BTreeMap<String, (Option<PathBuf>, [i64; 6])>;

/// A directory with a home, a canary that writes down who ran it, and a project.
struct Hostile {
    base: tempfile::TempDir,
}

impl Hostile {
    fn new() -> Self {
        let hostile = Self { base: tempfile::tempdir().unwrap() };
        for directory in ["home", "project/src", "project/docs", "project/tests"] {
            fs::create_dir_all(hostile.path(directory)).unwrap();
        }
        let canary = hostile.path("canary");
        let hits = hostile.path("hits");
        fs::write(&canary, format!("#!/bin/sh\necho \"$*\" >> {}\ncat\n", hits.display())).unwrap();
        fs::set_permissions(&canary, fs::Permissions::from_mode(0o755)).unwrap();
        hostile.write("project/README.md", "# needle -x y\nfn main\n");
        hostile.write("project/src/main.rs", "fn main() { todo }\n");
        hostile.write("project/docs/d", "d\n");
        for (name, text) in [("a", "1,2\n3,4\n"), ("b", "1,2\n5,6\n"), ("-x", "x\n"), ("-odd", "odd\n")] {
            hostile.write(&format!("project/{name}"), text);
        }
        symlink("/etc/passwd", hostile.path("project/docs/link")).unwrap();
        // What nobody may read: links to it, under the names that values of options have, and beside a file of the same name.
        hostile.write("secret", &format!("{SECRET}\n"));
        hostile.write("secret.go", &format!("package p\nvar   {SECRET}   int\n"));
        hostile.write("project/tests/secret", "none\n");
        for (target, link) in
            [("../secret", "2"), ("../../secret", "docs/secret"), ("../../secret.go", "src/secret.go")]
        {
            symlink(target, hostile.path("project").join(link)).unwrap();
        }
        hostile
    }

    fn path(&self, name: &str) -> PathBuf {
        self.base.path().join(name)
    }

    fn canary(&self) -> String {
        self.path("canary").display().to_string()
    }

    fn write(&self, name: &str, text: &str) {
        fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
        fs::write(self.path(name), text).unwrap();
    }

    /// A program of the system's, for making the fixture.
    fn make(&self, directory: &str, words: &[&str]) -> Output {
        let output = self.command(words[0], &words[1..]).current_dir(self.path(directory)).output().unwrap();
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        output
    }

    /// A program of PATH. It is named by its path: std looks through a PATH that it sets itself only after fork(2), which copies all
    /// the memory that the other tests hold.
    fn command(&self, program: &str, arguments: &[impl AsRef<std::ffi::OsStr>]) -> Command {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let found = std::env::split_paths(&path).map(|entry| entry.join(program)).find(|file| file.is_file());
        let mut command = Command::new(found.unwrap_or_else(|| program.into()));
        command.arg0(program).args(arguments).env_clear().stdin(Stdio::null());
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("HOME", self.path("home"));
        command.env("TERM", "dumb").env("LANG", "C.UTF-8");
        command
    }

    /// Runs what a rule makes of the words, and says whether anything of the project's ran, and what has changed.
    fn run(&self, rule: &CommandRule, words: &[String]) -> (Output, Vec<String>, Vec<String>) {
        self.run_after(&mut self.tree(), rule, words)
    }

    /// The same, where the project is known as it is before and, then, after it.
    fn run_after(&self, tree: &mut Tree, rule: &CommandRule, words: &[String]) -> (Output, Vec<String>, Vec<String>) {
        let judgement = decide_example(rule, words);
        let matched = judgement.matched.expect("it is allowed");
        let argv = matched.with_inserted(words);
        let _ = fs::remove_file(self.path("hits"));
        let mut command = self.command(&argv[0], &argv[1..]);
        command.envs(&matched.env().set).current_dir(self.path("project"));
        let output = command.output().unwrap();
        let before = std::mem::replace(tree, self.tree());
        let hits = fs::read_to_string(self.path("hits")).unwrap_or_default().lines().map(str::to_owned).collect();
        let names = before.keys().chain(tree.keys());
        let changed = names.filter(|name| before.get(*name) != tree.get(*name)).cloned().collect();
        (output, hits, changed)
    }

    fn tree(&self) -> Tree {
        let mut found = BTreeMap::new();
        let mut open = vec![self.path("project")];
        while let Some(directory) = open.pop() {
            for entry in fs::read_dir(directory).unwrap().map(Result::unwrap) {
                let (path, kind) = (entry.path(), entry.file_type().unwrap());
                let (mut target, mut stamp) = (None, [0; 6]);
                if kind.is_dir() {
                    open.push(path.clone());
                } else if kind.is_symlink() {
                    target = Some(fs::read_link(&path).unwrap());
                } else {
                    let is = entry.metadata().unwrap();
                    let [inode, size] = [is.ino(), is.size()].map(|number| i64::try_from(number).unwrap());
                    stamp = [inode, size, is.mtime(), is.mtime_nsec(), is.ctime(), is.ctime_nsec()];
                }
                found.insert(path.display().to_string(), (target, stamp));
            }
        }
        found
    }

    /// A repository with a submodule, whose settings and attributes name the canary wherever git would start a program.
    fn with_repository(self) -> Self {
        let name = ["-c", "user.name=t", "-c", "user.email=t@localhost", "-c", "init.defaultBranch=main"];
        let git = |directory: &str, words: &[&str]| {
            self.make(directory, &[&["git"], &name[..], words].concat());
        };
        self.write("below/s.txt", "s\n");
        for directory in ["below", "project"] {
            git(directory, &["init", "-q"]);
        }
        git("below", &["add", "."]);
        git("below", &["commit", "-q", "-m", "below"]);
        self.write("project/Cargo.toml", "[package]\n");
        self.write("project/.gitattributes", "*.rs diff=evil filter=evil\n*.md diff=evil filter=evil merge=evil\n");
        git("project", &["add", "."]);
        git("project", &["commit", "-q", "-m", "one"]);
        git("project", &["-c", "protocol.file.allow=always", "submodule", "-q", "add", "../below", "sub"]);
        for (number, text) in ["two", "three", "four"].into_iter().enumerate() {
            self.write("project/src/main.rs", &format!("fn main() {{ {text} }}\n").repeat(12 + number));
            git("project", &["commit", "-q", "-a", "-m", text]);
        }
        git("project", &["tag", "v1.0"]);
        git("project", &["checkout", "-q", "-b", "topic"]);
        self.write("project/README.md", "# needle -x y\nmore\n");
        git("project", &["commit", "-q", "-a", "-m", "topic"]);
        git("project", &["checkout", "-q", "main"]);
        self.write("project/README.md", "stashed\n");
        git("project", &["stash", "-q"]);
        for (file, text) in
            [("README.md", "wip\n"), ("src/main.rs", "wip\n"), ("new.rs", "new\n"), ("sub/s.txt", "wip\n")]
        {
            self.write(&format!("project/{file}"), text);
        }
        let patch = self.make("project", &["git", "diff", "-R", "--", "README.md"]);
        self.write("project/fix.patch", &String::from_utf8(patch.stdout).unwrap());
        git("project", &["bundle", "create", "-q", "x.bundle", "main"]);
        git("project", &["notes", "add", "-m", "note"]);
        git("project", &["remote", "add", "origin", &format!("ext::{} remote", self.canary())]);
        let config = fs::read_to_string(self.path("project/.git/config")).unwrap() + &self.settings();
        self.write("project/.git/config", &config);
        let below = fs::read_to_string(self.path("project/.git/modules/sub/config")).unwrap() + &self.settings();
        self.write("project/.git/modules/sub/config", &below);
        self.write("attributes", "* filter=evil diff=evil\n");
        for hook in ["post-index-change", "reference-transaction", "fsmonitor-watchman", "post-checkout"] {
            let file = self.path("project/.git/hooks").join(hook);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::copy(self.path("canary"), &file).unwrap();
        }
        let _ = fs::remove_file(self.path("hits"));
        self
    }

    /// Every setting by which git starts a program, in this repository's own file.
    fn settings(&self) -> String {
        let base = self.base.path().display();
        let canary = self.canary();
        format!(
            "\n[core]\n\tfsmonitor = {canary} fsmonitor\n\tpager = {canary} pager\n\teditor = {canary} editor\n\
             \tsshCommand = {canary} ssh\n\taskPass = {canary} askpass\n\tgitProxy = {canary} proxy\n\
             \tattributesFile = {base}/attributes\n\talternateRefsCommand = {canary} alternates\n\
             \thooksPath = {base}/project/.git/hooks\n\tuntrackedCache = true\n\
             [pager]\n\tlog = {canary} pager-log\n\tstatus = {canary} pager-status\n\tdiff = true\n\
             [alias]\n\tst = !{canary} alias\n\tlog = !{canary} alias-log\n\tstatus = !{canary} alias-status\n\
             [diff]\n\texternal = {canary} external\n\tsubmodule = diff\n\tignoreSubmodules = none\n\
             [diff \"evil\"]\n\ttextconv = {canary} textconv\n\tcommand = {canary} command\n\tcachetextconv = true\n\
             [column]\n\tui = always\n[gc]\n\tauto = 1\n[maintenance]\n\tauto = true\n\
             [filter \"evil\"]\n\tclean = {canary} clean\n\tsmudge = {canary} smudge\n\
             [merge \"evil\"]\n\tdriver = {canary} merge\n\
             [log]\n\tshowSignature = true\n\
             [gpg]\n\tprogram = {canary} gpg\n\tformat = ssh\n\
             [gpg \"openpgp\"]\n\tprogram = {canary} gpg\n[gpg \"x509\"]\n\tprogram = {canary} gpg\n\
             [gpg \"ssh\"]\n\tprogram = {canary} gpg\n\tallowedSignersFile = /dev/null\n\tdefaultKeyCommand = {canary} key\n\
             [format]\n\tpretty = %H %G?\n[pretty]\n\tevil = %G?\n\
             [status]\n\tsubmoduleSummary = true\n[submodule]\n\trecurse = true\n\
             [credential]\n\thelper = !{canary} credential\n\
             [protocol]\n\tallow = always\n[protocol \"ext\"]\n\tallow = always\n\
             [interactive]\n\tdiffFilter = {canary} interactive\n[trailer \"x\"]\n\tcommand = {canary} trailer\n\
             [tar \"x\"]\n\tcommand = {canary} tar\n[mailmap]\n\tfile = /etc/passwd\n"
        )
    }
}

/// The lines of a command's examples that run.
fn everyday(rule: &CommandRule) -> Vec<Vec<String>> {
    let allowed = rule.examples.iter().filter(|example| example.expected == Expected::Allow);
    allowed.map(|example| words_of(&example.line).unwrap()).collect()
}

/// Runs each example of a command, and each of its options once. What ran of the project's, and what has changed, is a
/// failure unless `is_known` says why it is none.
fn run_all(hostile: &Hostile, rule: &CommandRule, is_known: impl Fn(&[String], &str) -> bool) -> usize {
    let lines: Vec<Vec<String>> = everyday(rule).into_iter().chain(options_of(rule)).collect();
    let mut failures = Vec::new();
    let mut tree = hostile.tree();
    for words in &lines {
        let (output, hits, changed) = hostile.run_after(&mut tree, rule, words);
        let said = String::from_utf8_lossy(&output.stderr).lines().next().unwrap_or_default().to_owned();
        // A sandbox, which is left out here, holds what it holds by the kernel.
        let shows = |stream: &[u8]| String::from_utf8_lossy(stream).replace([' ', '\n'], "").contains(SECRET);
        if !rule.sandbox.is_confining() && (shows(&output.stdout) || shows(&output.stderr)) {
            failures.push(format!("{words:?} shows what lies outside"));
        }
        for what in
            hits.iter().map(|hit| format!("ran: {hit}")).chain(changed.iter().map(|file| format!("changed: {file}")))
        {
            if !is_known(words, &what) {
                failures.push(format!("{words:?} {what} ({said})"));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    lines.len()
}

/// A line for each option of each level: the shortest example of that level with the option in front, and the shortest one that
/// ends with an operand with the option at its end. A program may take what stands there for another operand.
fn options_of(rule: &CommandRule) -> Vec<Vec<String>> {
    let everyday = everyday(rule);
    let mut lines = Vec::new();
    for level in rule.level.levels() {
        let Arguments::Described { forms, .. } = &level.arguments else { continue };
        let mut examples: Vec<&Vec<String>> = everyday.iter().filter(|words| leads_to(rule, words, level)).collect();
        examples.sort_by_key(|words| words.len());
        let mut tried = Vec::new();
        for option in forms.iter().flat_map(|form: &Form| form.options.iter()).filter(|option| !option.is_required) {
            for spelling in &option.spellings {
                if tried.contains(&spelling) {
                    continue;
                }
                tried.push(spelling);
                lines
                    .extend(examples.iter().find_map(|words| with_option(rule, level, words, option, spelling, false)));
                if level.order == Order::Any {
                    let ends = |words: &&&Vec<String>| {
                        let is_operand = words.last().is_some_and(|word| !word.starts_with('-'));
                        is_operand && words.len() > level.path.len() && !words.contains(&"--".to_owned())
                    };
                    let mut examples = examples.iter().filter(ends);
                    lines.extend(examples.find_map(|words| with_option(rule, level, words, option, spelling, true)));
                }
            }
        }
    }
    lines
}

fn leads_to(rule: &CommandRule, words: &[String], level: &Level) -> bool {
    let matched = decide_example(rule, words).matched;
    matched.is_some_and(|matched| matched.levels.last().is_some_and(|(last, _)| last.path == level.path))
}

fn with_option(
    rule: &CommandRule,
    level: &Level,
    words: &[String],
    option: &OptionRule,
    spelling: &str,
    is_behind: bool,
) -> Option<Vec<String>> {
    let at = match level.order {
        _ if is_behind => words.len(),
        Order::OperandsFirst if !option.is_leading => words.len(),
        Order::Any | Order::OptionsFirst | Order::OperandsFirst => {
            let matched = decide_example(rule, words).matched?;
            matched.levels.last()?.1
        }
    };
    let is_long = spelling.starts_with("--") || level.syntax == Syntax::Go;
    let variants: Vec<Vec<String>> = match &option.takes {
        Takes::Flag => vec![vec![spelling.to_owned()]],
        Takes::Value { place, .. } => {
            ["2", "a", "HEAD", "README.md", "always", "short", "1,2:README.md", "%H", "auto", "f", "py39"]
                .into_iter()
                .chain(match &option.takes {
                    Takes::Value { value: allowexec::policy::rules::ValueType::OneOf(words), .. } => {
                        words.first().map(String::as_str)
                    }
                    Takes::Value { .. } | Takes::Flag => None,
                })
                .map(|value| match place {
                    _ if spelling == NUMBER_OPTION => vec![format!("-{value}")],
                    ValuePlace::Anywhere => vec![spelling.to_owned(), value.to_owned()],
                    ValuePlace::Attached | ValuePlace::Optional if is_long => vec![format!("{spelling}={value}")],
                    ValuePlace::Attached | ValuePlace::Optional => vec![format!("{spelling}{value}")],
                })
                .collect()
        }
    };
    let line = |variant: &Vec<String>| [&words[..at], variant, &words[at..]].concat();
    variants.iter().map(line).find(|line| decide_example(rule, line).decision == Expected::Allow)
}

/// Whether the programs are there; it is said where one is not.
fn have(programs: &[&str]) -> bool {
    let missing: Vec<&&str> = programs.iter().filter(|program| !is_installed(program)).collect();
    for program in &missing {
        eprintln!("skipped: {program} is not installed here, so nothing is shown of it");
    }
    missing.is_empty()
}

#[test]
fn git_starts_nothing_and_changes_nothing_in_a_hostile_repository() {
    if !have(&["git"]) {
        return;
    }
    let hostile = Hostile::new().with_repository();
    // Otherwise the fixture shows nothing.
    let plain = hostile.command("git", &["diff"]).current_dir(hostile.path("project")).output().unwrap();
    assert!(hostile.path("hits").exists(), "plain git runs the repository's programs: {plain:?}");
    let rules = profile("git-readonly");
    // Older ones read attributes of the files; what these name is stopped by the sandbox.
    let version = String::from_utf8(hostile.make("project", &["git", "version"]).stdout).unwrap();
    let minor = version.split('.').nth(1).and_then(|minor| minor.parse::<u32>().ok()).unwrap_or_default();
    let knows_source = version.starts_with("git version 2.") && minor >= 41;
    let count = run_all(&hostile, rules.get("git").unwrap(), |words, what| {
        // `git apply` reads them here too.
        let reads_attributes = !knows_source || words.get(1).is_some_and(|word| word == "apply");
        reads_attributes && what == "ran: clean"
    });
    assert!(count > 400, "{count} lines");
}

/// What only the sandbox stops: git may execute itself, and a filter may be one of its other names. Each of these changes
/// something when git starts it as a filter, without words of its own.
#[test]
fn git_itself_as_the_filter_of_a_hostile_repository_changes_nothing_in_the_sandbox() {
    if !have(&["git"]) {
        return;
    }
    let lines = [&["diff"][..], &["diff", "--stat", "HEAD"], &["status"], &["blame", "README.md"], &["grep", "wip"]];
    // The profile as it is, and the sandbox that it had before it wrote nothing.
    let shipped = allowexec::policy::rules::profile_text("git-readonly").unwrap();
    let writing = shipped.replace(", write: none}", "}");
    assert_ne!(shipped, writing);
    for (text, writes) in [(shipped, false), (writing.as_str(), true)] {
        let hostile = Hostile::new().with_repository();
        hostile.write("policy.yaml", text);
        hostile.write("project/.git/info/attributes", "* filter=itself\n");
        let settings = fs::read_to_string(hostile.path("project/.git/config")).unwrap();
        let settings = settings + "[user]\n\tname = t\n\temail = t@localhost\n[filter \"itself\"]\n\tclean = ";
        hostile.make("project", &["git", "-c", "core.fsmonitor=false", "add", "-N", "new.rs"]);
        let policy = hostile.path("policy.yaml");
        let mut server = Server::command(&["--policy", policy.to_str().unwrap(), "--project-dir", "."])
            .dir(hostile.path("project"))
            .start();
        server.initialize("2025-11-25");
        let mut changes = 0;
        for filter in ["git-reset", "git-gc", "git-stash", "git-commit", "git-pack-refs", "git"] {
            hostile.write("project/.git/config", &format!("{settings}{filter}\n"));
            for line in lines {
                let before = hostile.tree();
                let result = server.call("execute_process", json!({"file": "git", "args": line}));
                assert_ne!(result["isError"], true, "{filter}: {line:?}: {result}");
                let is_same = hostile.tree() == before;
                assert!(is_same || writes, "{filter}: {line:?}: {result}");
                changes += usize::from(!is_same);
            }
        }
        assert_eq!(changes > 2, writes, "{changes} lines change the repository");
        server.close_stdin();
        server.wait_exit();
    }
}

#[test]
fn git_takes_and_prints_the_names_that_files_and_branches_have() {
    if !have(&["git"]) {
        return;
    }
    let hostile = Hostile::new();
    let names = ["app/(auth)/[slug]/page.tsx", "a file.md", "résumé.md", "読む.md", "odd'#&;.md"];
    for name in names {
        hostile.write(&format!("project/{name}"), &format!("text of {name}\n"));
    }
    let who = ["-c", "user.name=t", "-c", "user.email=t@localhost", "-c", "init.defaultBranch=main"];
    for words in [&["init", "-q"][..], &["add", "."], &["commit", "-q", "-m", "one"], &["branch", "feature/#12"]] {
        hostile.make("project", &[&["git"], &who[..], words].concat());
    }
    for name in names {
        hostile.write(&format!("project/{name}"), "other\n");
    }
    let rules = profile("git-readonly");
    let run = |words: &[&str]| {
        let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
        let (output, ..) = hostile.run(rules.get("git").unwrap(), &words);
        assert!(output.status.success(), "{words:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    for name in names {
        for revision in ["HEAD", "feature/#12"] {
            assert_eq!(run(&["git", "show", &format!("{revision}:{name}")]), format!("text of {name}\n"));
        }
        assert_eq!(run(&["git", "diff", "--name-only", "--", name]).trim_end(), name);
        for list in [
            &["git", "ls-files"][..],
            &["git", "diff", "--name-only"],
            &["git", "ls-tree", "-r", "--name-only", "HEAD"],
        ] {
            assert!(run(list).lines().any(|line| line == name), "{list:?} {name}: {}", run(list));
        }
    }
    assert!(run(&["git", "log", "--oneline", "main...feature/#12"]).is_empty());
}

/// A refusal of a pattern says so, and does not take it for a path.
#[test]
fn what_is_wrong_with_a_pattern_is_said_of_the_pattern() {
    for (profile, line) in
        [("search", "grep"), ("ripgrep", "rg"), ("git-readonly", "git grep"), ("coreutils-readonly", "sed")]
    {
        let rules = self::profile(profile);
        let mut words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let rule = rules.get(&words[0]).unwrap();
        words.extend(["x".repeat(5000), "a".to_owned()]);
        let refusal = decide_example(rule, &words).refusal.unwrap();
        let is_named = ["as PATTERN", "as SCRIPT"].iter().any(|name| refusal.contains(name));
        assert!(is_named && !refusal.contains("as PATH") && !refusal.contains("as FILE"), "{line}: {refusal}");
    }
}

/// Commits, restores and switches in the sandbox of `git-commit`: the attributes of files count, and what they name is not started.
#[test]
fn git_commits_in_a_hostile_repository_without_starting_what_it_names() {
    if !have(&["git"]) {
        return;
    }
    let hostile = Hostile::new().with_repository();
    // Otherwise the fixture shows nothing.
    let plain =
        hostile.command("git", &["-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "add", "new.rs"]);
    let _ = { plain }.current_dir(hostile.path("project")).output().unwrap();
    assert!(fs::read_to_string(hostile.path("hits")).unwrap().contains("clean"), "plain git runs the filter");
    hostile.make("project", &["git", "-c", "core.fsmonitor=false", "reset", "-q", "--", "new.rs"]);
    let _ = fs::remove_file(hostile.path("hits"));
    hostile.write(
        "policy.yaml",
        "commands:\n  git:\n    extends: git-commit\n    env: {set: {GIT_AUTHOR_NAME: A, GIT_AUTHOR_EMAIL: a@x, GIT_COMMITTER_NAME: A, GIT_COMMITTER_EMAIL: a@x}}\n",
    );
    let policy = hostile.path("policy.yaml");
    let mut server = Server::command(&["--policy", policy.to_str().unwrap(), "--project-dir", "."])
        .dir(hostile.path("project"))
        .start();
    server.initialize("2025-11-25");
    let mut run = |line: &[&str]| {
        let result = server.call("execute_process", json!({"file": "git", "args": line}));
        let hits = fs::read_to_string(hostile.path("hits")).unwrap_or_default();
        assert!(hits.is_empty(), "{line:?} ran {hits}: {result}");
        result["content"][0]["text"].as_str().unwrap().to_owned()
    };
    for (line, is_success) in [
        (&["add", "new.rs"][..], true),
        (&["add", "--chmod=+x", "docs/d"], true),
        (&["commit", "-m", "- one thing\n\nand @why"], true),
        (&["commit", "--amend", "--no-edit", "--date=2024-01-01 12:00"], true),
        (&["commit", "-a", "--fixup=HEAD"], true),
        (&["log", "-1", "--format=%s"], true),
        (&["restore", "--source=HEAD~1", "README.md"], true),
        (&["restore", "--staged", "--worktree", "."], true),
        (&["switch", "topic"], true),
        (&["switch", "-"], true),
        (&["switch", "-c", "feature/#12"], true),
        // It conflicts, and no merge driver helps.
        (&["stash", "pop"], false),
        (&["restore", "--staged", "--worktree", "."], true),
        (&["restore", "."], true),
        (&["stash", "push", "-u", "-m", "before"], true),
        (&["switch", "--detach", "v1.0"], true),
        (&["commit"], false),
        (&["push", "origin", "main"], false),
    ] {
        let said = run(line);
        // Filters are not required here, so git goes on without them.
        assert_eq!(said.contains("exit_code: 0"), is_success, "{line:?}: {said}");
    }
    assert!(run(&["log", "--all", "--format=%an %s"]).contains("A - one thing"));
    server.close_stdin();
    server.wait_exit();
}

/// The words behind the name of a tool are the tool's: npm reads none of them, since some would start another program.
#[test]
fn npx_hands_all_words_behind_the_name_of_a_tool_on_to_it() {
    if !have(&["npx", "node"]) {
        return;
    }
    let hostile = Hostile::new();
    hostile.write("project/package.json", "{\"name\": \"x\", \"version\": \"1.0.0\"}");
    hostile.write(
        "project/node_modules/.bin/prettier",
        "#!/usr/bin/env node\nconsole.log(process.argv.slice(2).join('|'))\n",
    );
    hostile.make("project", &["chmod", "+x", "node_modules/.bin/prettier"]);
    let inserted = &profile("node-develop").get("npx").unwrap().level.insert.clone();
    for words in [&["--check", "."][..], &["--script-shell=/bin/false", "--package=other", "x"], &["--version"]] {
        let line = ["prettier"].iter().chain(words).copied();
        let line: Vec<&str> = inserted.iter().map(String::as_str).chain(line).collect();
        let output = hostile.command("npx", &line).current_dir(hostile.path("project")).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout), words.join("|") + "\n", "{output:?}");
    }
}

#[test]
fn coreutils_change_nothing() {
    let hostile = Hostile::new();
    hostile.make("project", &["tar", "-cf", "a.tar", "README.md", "src"]);
    hostile.make("project", &["tar", "-czf", "a.tar.gz", "README.md"]);
    let mut count = 0;
    for rule in profile("coreutils-readonly").iter().filter(|rule| have(&[&rule.name])) {
        count += run_all(&hostile, rule, |_, _| false);
    }
    assert!(count > 100, "{count} lines");
}

/// Each line runs in a project of its own, since most of them change it. They change it alone, and follow no link out of it.
#[test]
fn what_coreutils_write_lies_in_the_project() {
    let mut count = 0;
    for rule in profile("coreutils-write").iter().filter(|rule| have(&[&rule.name])) {
        for words in everyday(rule).into_iter().chain(options_of(rule)) {
            let hostile = Hostile::new();
            let before = fs::read_to_string(hostile.path("secret")).unwrap();
            let (output, hits, _) = hostile.run(rule, &words);
            assert!(hits.is_empty(), "{words:?} ran {hits:?}: {output:?}");
            assert_eq!(fs::read_to_string(hostile.path("secret")).unwrap(), before, "{words:?}");
            let beside: Vec<_> =
                fs::read_dir(hostile.base.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
            assert_eq!(beside.len(), 5, "{words:?}: {beside:?}");
            count += 1;
        }
    }
    assert!(count > 60, "{count} lines");
    // A link in the place of a new file is replaced: `docs/secret` leads to the file beside the project.
    let hostile = Hostile::new();
    hostile.write("project/secret", "new\n");
    let rules = profile("coreutils-write");
    let words = ["cp", "secret", "docs"].map(str::to_owned);
    let (output, ..) = hostile.run(rules.get("cp").unwrap(), &words);
    assert!(output.status.success(), "{output:?}");
    assert_eq!(fs::read_to_string(hostile.path("secret")).unwrap(), format!("{SECRET}\n"));
    assert_eq!(fs::read_to_string(hostile.path("project/docs/secret")).unwrap(), "new\n");
    // What a script could start or write is refused by sed itself.
    for script in [
        format!("1e {}", hostile.canary()),
        "w stolen".to_owned(),
        "s/a/b/w stolen".to_owned(),
        "r /etc/passwd".to_owned(),
    ] {
        let words = ["sed", "-i", &script, "README.md"].map(str::to_owned);
        let (output, hits, changed) = hostile.run(rules.get("sed").unwrap(), &words);
        assert!(!output.status.success() && hits.is_empty() && changed.is_empty(), "{script}: {output:?}");
    }
}

#[test]
fn sed_itself_refuses_what_its_scripts_could_start_or_write() {
    if !have(&["sed"]) {
        return;
    }
    let hostile = Hostile::new();
    let rules = profile("coreutils-readonly");
    let canary = hostile.canary();
    for script in [
        format!("1e {canary}"),
        format!("s/.*/{canary}/e"),
        "w stolen".to_owned(),
        "s/a/b/w stolen".to_owned(),
        "r /etc/passwd".to_owned(),
    ] {
        let words = ["sed", "-n", &script, "README.md"].map(str::to_owned);
        let (output, hits, changed) = hostile.run(rules.get("sed").unwrap(), &words);
        assert!(!output.status.success() && hits.is_empty() && changed.is_empty(), "{script}: {output:?}");
    }
}

#[test]
fn searching_starts_nothing_and_changes_nothing() {
    let hostile = Hostile::new();
    let config = format!("--pre={}\n", hostile.canary());
    hostile.write("project/.ripgreprc", &config);
    hostile.write("home/.ripgreprc", &config);
    for name in ["search", "ripgrep"] {
        for rule in profile(name).iter().filter(|rule| have(&[&rule.name])) {
            run_all(&hostile, rule, |_, _| false);
        }
    }
}

#[test]
fn npm_runs_the_named_scripts_by_the_systems_shell() {
    if !have(&["npm"]) {
        return;
    }
    let hostile = Hostile::new();
    let canary = hostile.canary();
    let scripts = format!(
        "{{\"build\":\"echo built\",\"lint\":\"echo linted\",\"test\":\"echo tested\",\"deploy\":\"{canary}\"}}"
    );
    hostile.write("project/package.json", &format!("{{\"name\":\"p\",\"version\":\"1.0.0\",\"scripts\":{scripts}}}"));
    hostile.write(
        "project/.npmrc",
        &format!(
            "script-shell={canary}\nnode-options=--require={}/evil.js\neditor={canary}\n",
            hostile.path("project").display()
        ),
    );
    hostile.write(
        "project/evil.js",
        &format!("require('fs').appendFileSync('{}','required\\n')\n", hostile.path("hits").display()),
    );
    let rules = profile("npm-scripts");
    let npm = rules.get("npm").unwrap();
    let plain = hostile.command("npm", &["run", "build"]).current_dir(hostile.path("project")).output().unwrap();
    assert!(hostile.path("hits").exists(), "plain npm runs what .npmrc names: {plain:?}");
    for (line, said) in
        [("npm run build", "built"), ("npm run lint -s", "linted"), ("npm test", "tested"), ("npm run", "deploy")]
    {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let (output, hits, changed) = hostile.run(npm, &words);
        assert!(String::from_utf8_lossy(&output.stdout).contains(said), "{line}: {output:?}");
        assert!(hits.is_empty() && changed.is_empty(), "{line}: {hits:?} {changed:?}");
    }
}

#[test]
fn make_runs_the_named_targets() {
    if !have(&["make"]) {
        return;
    }
    let hostile = Hostile::new();
    hostile.write(
        "project/Makefile",
        &format!("all build check test lint:\n\t@echo $@\ndeploy install:\n\t{}\n", hostile.canary()),
    );
    hostile.write("project/evil.mk", &format!("all:\n\t{}\n", hostile.canary()));
    run_all(&hostile, profile("make-targets").get("make").unwrap(), |_, _| false);
}

#[test]
fn cargo_takes_the_operators_compiler_and_toolchain() {
    // Another directory for the home would hide a version manager's toolchains.
    let toolchains = |name: &str, below: &str| {
        std::env::var_os(name)
            .map_or_else(|| Path::new(&std::env::var_os("HOME").unwrap_or_default()).join(below), PathBuf::from)
    };
    let homes =
        [("RUSTUP_HOME", toolchains("RUSTUP_HOME", ".rustup")), ("CARGO_HOME", toolchains("CARGO_HOME", ".cargo"))];
    let has_stable = fs::read_dir(homes[0].1.join("toolchains"))
        .is_ok_and(|mut found| found.any(|entry| entry.unwrap().file_name().to_string_lossy().starts_with("stable-")));
    if !have(&["cargo"]) || (is_installed("rustup") && !has_stable) {
        eprintln!("skipped: there is no cargo here, or rustup without the toolchain `stable`");
        return;
    }
    let hostile = Hostile::new();
    let canary = hostile.canary();
    hostile.write("project/Cargo.toml", "[package]\nname = \"p\"\nversion = \"0.1.0\"\nedition = \"2021\"\n");
    hostile.write("project/src/main.rs", "fn main() {}\n");
    let settings =
        ["rustc", "rustc-wrapper", "rustc-workspace-wrapper", "rustdoc"].map(|key| format!("{key} = \"{canary}\"\n"));
    hostile.write("project/.cargo/config.toml", &format!("[build]\n{}[alias]\ncheck = \"run\"\n", settings.concat()));
    hostile.write("project/rust-toolchain.toml", "[toolchain]\npath = \"evil\"\n");
    let rules = profile("cargo-check");
    let cargo = rules.get("cargo").unwrap();
    for line in [
        "cargo check",
        "cargo check --workspace --all-targets -q",
        "cargo metadata --no-deps --format-version=1",
        "cargo tree",
    ] {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let mut command = hostile.command("cargo", &words[1..]);
        command.envs(homes.iter().cloned()).envs(&cargo.level.env.set).current_dir(hostile.path("project"));
        assert_eq!(decide_example(cargo, &words).decision, Expected::Allow, "{line}");
        let output = command.output().unwrap();
        assert!(output.status.success() && !hostile.path("hits").exists(), "{line}: {output:?}");
    }
}

#[test]
fn go_compiles_and_runs_nothing_of_the_project() {
    if !have(&["go", "git"]) {
        return;
    }
    let hostile = Hostile::new().with_repository();
    hostile.write("project/go.mod", "module example.com/p\n\ngo 1.17\n");
    hostile.write("project/main.go", "package main\n\nfunc main() { println(1) }\n");
    hostile.write("project/cgo.go", "package main\n\n/*\n#cgo pkg-config: evil\n*/\nimport \"C\"\n");
    // Behind `--` too, which is why the profile refuses it: `go vet` looks for this option in all words.
    let plain = ["vet", "--", "-vettool", &hostile.canary()].map(str::to_owned);
    let plain = hostile.command("go", &plain).current_dir(hostile.path("project")).output().unwrap();
    assert!(hostile.path("hits").exists(), "plain go runs the program that is named behind `--`: {plain:?}");
    let rules = profile("go-check");
    for line in [
        "go vet",
        "go vet ./...",
        "go build ./...",
        "go build -v",
        "go list -m",
        "go list -json ./...",
        "go env GOPATH",
        "go version",
    ] {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let (output, hits, changed) = hostile.run(rules.get("go").unwrap(), &words);
        assert!(
            output.status.success() && hits.is_empty() && changed.is_empty(),
            "{line}: {output:?} {hits:?} {changed:?}"
        );
    }
}

#[test]
fn pytest_and_mypy_run_and_write_their_caches_alone() {
    let hostile = Hostile::new();
    hostile.write("project/tests/test_a.py", "def test_a():\n    assert 1\n");
    hostile.write("project/src/m.py", "x: int = 1\n");
    let is_cache = |_: &[String], what: &str| what.contains("_cache") || what.contains("__pycache__");
    let rules = profile("python-tools");
    for (line, said) in [("pytest -q tests", "1 passed"), ("mypy src", "Success")] {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        if !have(&[&words[0]]) {
            continue;
        }
        let (output, hits, changed) = hostile.run(rules.get(&words[0]).unwrap(), &words);
        assert!(String::from_utf8_lossy(&output.stdout).contains(said), "{line}: {output:?}");
        let others: Vec<&String> = changed.iter().filter(|file| !is_cache(&words, file)).collect();
        assert!(hits.is_empty() && others.is_empty(), "{line}: {hits:?} {others:?}");
    }
    if have(&["ruff"]) {
        hostile.write("project/pyproject.toml", "[tool.ruff]\nfix = true\n[tool.ruff.lint]\nselect = [\"F\", \"E\"]\n");
        hostile.write("project/src/unused.py", "import os\n");
        run_all(&hostile, rules.get("ruff").unwrap(), |_, _| false);
    }
}

#[test]
fn clients_of_clusters_daemons_and_forges_change_nothing_here() {
    let hostile = Hostile::new().with_repository();
    for (profile, program) in [("kubectl-readonly", "kubectl"), ("docker-readonly", "docker"), ("gh-readonly", "gh")] {
        if !have(&[program]) {
            continue;
        }
        let rules = self::profile(profile);
        let rule = rules.get(program).unwrap();
        for words in everyday(rule) {
            let (output, hits, changed) = hostile.run(rule, &words);
            assert!(hits.is_empty() && changed.is_empty(), "{words:?}: {output:?} {hits:?} {changed:?}");
        }
    }
}
