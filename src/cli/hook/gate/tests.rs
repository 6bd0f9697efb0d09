use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use proptest::prelude::RngCore;
use proptest::test_runner::TestRng;

use super::*;
use crate::config::Surroundings;
use crate::policy::Lines;
use crate::server::{LineVerdict, Parts};

/// A program that writes its words to the file that `LOG` names, separated by U+001F, in one write(2).
const STUB: &str = "#!/bin/sh\nt=\"${0##*/}\"\ns=$(printf '\\037')\nfor w in \"$@\"; do t=\"$t$s$w\"; done\nprintf '%s\\036' \"$t\" >>\"$LOG\"\n";

/// A project with stubs as its PATH, outside of it.
struct Project {
    _directory: tempfile::TempDir,
    here: PathBuf,
    log: PathBuf,
    path: PathBuf,
    config: Config,
    parts: Parts,
}

impl Project {
    fn new(policy: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let base = crate::files::canonicalize(directory.path()).unwrap();
        let (here, path) = (base.join("here"), base.join("bin"));
        fs::create_dir_all(here.join("d")).unwrap();
        fs::create_dir(&path).unwrap();
        for file in ["x.rs", "y.rs", "-n", "d/z.rs", "in"] {
            fs::write(here.join(file), "text\n").unwrap();
        }
        for name in ["aa", "bb", "printf", "test", "r", "where", "echo", "time", "stat"] {
            fs::write(path.join(name), STUB).unwrap();
            fs::set_permissions(path.join(name), fs::Permissions::from_mode(0o755)).unwrap();
        }
        fs::write(base.join("p.yaml"), policy).unwrap();
        let variables: BTreeMap<_, _> = [
            ("PATH".into(), path.clone().into()),
            ("HOME".into(), here.clone().into()),
            ("PWD".into(), here.clone().into()),
        ]
        .into();
        let surroundings = Surroundings { variables, directory: here.clone() };
        let policy = base.join("p.yaml").to_str().unwrap().to_owned();
        let config = Config::builder(surroundings).setting("policy", [policy]).build().unwrap();
        let config = Config { lines: crate::config::Setting::default(Lines::Files), ..config };
        let parts = Parts::new(&config);
        Self { _directory: directory, here, log: base.join("log"), path, config, parts }
    }

    /// The words of the commands that were decided, if the gate lets the line through.
    fn allowed(&mut self, line: &str, shell: Shell) -> Option<Vec<Vec<String>>> {
        let decided = self.parts.decide_for_agent(line, self.here.to_str().unwrap()).unwrap();
        if decided.verdict != LineVerdict::Allowed
            || doubt(line, shell, &decided.parts, (&self.config, &self.here)).is_some()
        {
            return None;
        }
        let commands = decided.parts.into_iter().filter(|part| part.kind == PartKind::Command);
        Some(commands.map(|part| part.explanation.words).collect())
    }

    /// The words of the programs that start when the shell runs the line.
    fn started(&self, shell: &Path, line: &str) -> Vec<Vec<String>> {
        let _ = fs::remove_file(&self.log);
        let status = Command::new(shell)
            .args(["-c", line])
            .current_dir(&self.here)
            .env_clear()
            .env("PATH", &self.path)
            .env("HOME", &self.here)
            .env("LOG", &self.log)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        status.unwrap();
        let log = fs::read_to_string(&self.log).unwrap_or_default();
        log.split_terminator('\u{1e}').map(|words| words.split('\u{1f}').map(str::to_owned).collect()).collect()
    }
}

/// The shells of this system, each with what the operator would name.
fn shells() -> Vec<(Shell, PathBuf)> {
    let known = [(Shell::Bash, "bash"), (Shell::Zsh, "zsh"), (Shell::Sh, "dash")];
    let found = known.map(|(shell, name)| (shell, Path::new("/bin").join(name)));
    found.into_iter().filter(|(_, path)| path.exists()).collect()
}

const WORDS: [&str; 48] = [
    "aa",
    "bb",
    "x.rs",
    "'q  q'",
    "\"d $HOME\"",
    "$HOME",
    "\"$PWD\"",
    "\\$x",
    "./*",
    "d/*",
    "*",
    "*.rs",
    "./*.rs",
    "?",
    "{a,b}",
    "a{1..2}",
    "a=b",
    "=aa",
    "~",
    "~/x",
    "!x",
    "%1",
    "^x",
    "x^y",
    "[xy].rs",
    "./[xy].rs",
    "x]",
    "x}",
    "#c",
    "a#b",
    "-n",
    "--",
    "@x",
    "+x",
    "é",
    "'é'",
    "\"a\\b\"",
    "a\\ b",
    "''",
    "\"\"",
    "$'a'",
    "${HOME}",
    "${HOME}x",
    "a:b",
    "a,b",
    "$HOME/[x]",
    "\"`\"",
    "'$(aa)'",
];
const NAMES: [&str; 16] = [
    "aa", "bb", "aa", "bb", "aa", "echo", "printf", "test", "r", "where", "time", "stat", "cd ./d", "cd d", "true",
    "./aa",
];
const BETWEEN: [&str; 9] = [" | ", " && ", " || ", "; ", "\n", " |& ", " & ", "|", ";"];
const AFTER: [&str; 16] = [
    "",
    "",
    "",
    "",
    "",
    " > out",
    " >> out",
    " 2>&1",
    " 2>/dev/null",
    " < in",
    " &>/dev/null",
    " >out >out2",
    " <<<x",
    " >!out",
    " <1",
    " >|out",
];

/// A line of these.
fn line(random: &mut impl RngCore) -> String {
    let mut number = |below: usize| usize::try_from(random.next_u32()).unwrap() % below;
    let mut pick = |all: &[&'static str]| all[number(all.len())];
    let mut line = String::new();
    for place in 0..pick(&["a", "aa", "aaa"]).len() {
        if place > 0 {
            line.push_str(pick(&BETWEEN));
        }
        line.push_str(pick(&["", "", "", "", "! ", "(", "A=b "]));
        let closes = line.ends_with('(');
        line.push_str(pick(&NAMES));
        for _ in 0..pick(&["", "a", "aa", "aaa"]).len() {
            line.push(' ');
            line.push_str(pick(&WORDS));
        }
        line.push_str(pick(&AFTER));
        if closes {
            line.push(')');
        }
    }
    line
}

const POLICY: &str =
    "commands: {aa: any, bb: any, echo: any, printf: any, test: any, r: any, where: any, time: any, stat: any}\n";

#[test]
fn shells_start_exactly_what_was_decided_for_each_line_that_goes_through() {
    let mut project = Project::new(POLICY);
    let mut random = TestRng::deterministic_rng(proptest::test_runner::RngAlgorithm::ChaCha);
    let (mut tried, mut through) = (0, 0);
    while through < 400 && tried < 40_000 {
        tried += 1;
        let line = line(&mut random);
        for (shell, path) in shells() {
            let Some(decided) = project.allowed(&line, shell) else { continue };
            through += 1;
            for words in project.started(&path, &line) {
                assert!(decided.contains(&words), "{shell:?} {line:?} started {words:?}, decided were {decided:?}");
            }
        }
    }
    assert!(through >= 400, "{through} of {tried}");
}

#[test]
fn what_shells_read_in_their_own_ways_does_not_go_through() {
    let mut project = Project::new(POLICY);
    for (line, in_bash, in_sh) in [
        ("aa x.rs", true, true),
        ("aa 'a b' | bb", true, true),
        ("cd ./d && aa", true, true),
        ("cd d && aa", false, false),
        ("cd && aa", false, false),
        ("echo a; exit 3", true, true),
        ("echo -n a", false, false),
        ("echo 'a\\nb'", false, false),
        ("printf %d 'path[$(id)]'", false, false),
        ("test -v 'a[$(id)]'", false, false),
        ("where aa", false, false),
        ("r", false, false),
        ("time aa", false, false),
        ("stat x.rs", false, false),
        ("aa =bb", false, false),
        ("aa a=b", true, true),
        ("aa {a,b}", false, false),
        ("aa x^y", false, false),
        ("aa é", false, false),
        ("aa 'é'", true, true),
        ("aa *.rs", false, false),
        ("aa ./*.rs", true, true),
        ("aa d/*", true, true),
        ("aa <1", false, false),
        ("aa > out > out2", false, false),
        ("aa > out | bb", false, false),
        ("aa > out", true, true),
        ("aa &> out", true, false),
        ("aa |& bb", true, false),
        ("aa <<< x", true, false),
        ("aa $'x'", true, false),
        ("bash -c 'aa'", false, false),
        ("A=b aa", false, false),
        ("aa <<E\nx\nE\n", false, false),
        ("aa # c", false, false),
        ("cc", false, false),
    ] {
        assert_eq!(project.allowed(line, Shell::Bash).is_some(), in_bash, "bash: {line}");
        assert_eq!(project.allowed(line, Shell::Zsh).is_some(), in_bash, "zsh: {line}");
        assert_eq!(project.allowed(line, Shell::Sh).is_some(), in_sh, "sh: {line}");
        assert!(project.allowed(line, Shell::Other).is_none(), "another shell: {line}");
    }
}

#[test]
fn a_rule_that_adds_something_does_not_go_through() {
    for (rule, goes) in [
        ("{forms: [{operands: [{type: text, count: '0..'}]}]}", true),
        ("{insert: [-x], forms: [{}]}", false),
        ("{env: {set: {A: b}}, forms: [{}]}", false),
        ("{sandbox: {network: none}, forms: [{}]}", false),
        ("{limits: {memory: 1GiB}, forms: [{}]}", false),
        ("{program: /bin/true, forms: [{}]}", false),
    ] {
        let mut project = Project::new(&format!("commands: {{aa: {rule}}}\n"));
        assert_eq!(project.allowed("aa", Shell::Bash).is_some(), goes, "{rule}");
    }
}

#[test]
fn a_path_that_commands_can_change_does_not_go_through() {
    let mut project = Project::new(POLICY);
    let path = project.path.clone();
    let writable = project.here.join("bin");
    fs::create_dir(&writable).unwrap();
    let lead = |first: &str| format!("{first}:{}", path.display());
    for (value, goes) in [
        (path.display().to_string(), true),
        (lead(""), false),
        (lead("bin"), false),
        (lead(writable.to_str().unwrap()), false),
        (lead("/nonexistent"), true),
        (format!("{}:bin", path.display()), true),
    ] {
        project.config.surroundings.variables.insert("PATH".into(), value.clone().into());
        assert_eq!(project.allowed("aa", Shell::Bash).is_some(), goes, "{value}");
    }
}
