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
use crate::server::Parts;
use crate::server::line_calls::LineVerdict;

/// A program that writes its words to the file that `LOG` names, separated by U+001F, in one write(2). It tells whether it was given
/// what is outside of the project: by its input, as `cat` by a word, or as the directory that it runs in.
const STUB: &str = r#"#!/bin/sh
t="${0##*/}"
s=$(printf '\037')
for w in "$@"; do
    t="$t$s$w"
    case $t in cat*) [ "$w" -ef "$OUTSIDE/secret" ] && t="$t${s}LEAKED" ;; esac
done
[ . -ef "$OUTSIDE" ] && t="$t${s}LEAKED"
IFS= read -r line && [ "$line" = secret ] && t="$t${s}LEAKED"
case $t in lk*) /bin/ln -sfn "$1" "$2" ;; esac
printf '%s\036' "$t" >>"$LOG"
"#;

/// A shell that begins each line in the real directory of its event.
const PLAIN: Leaves = Leaves { stays: false, is_plain: true };

/// A project with stubs as its PATH, outside of it.
struct Project {
    directory: tempfile::TempDir,
    here: PathBuf,
    outside: PathBuf,
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
        fs::create_dir_all(&here).unwrap();
        fs::create_dir(&path).unwrap();
        // Programs that no rule names are what zsh runs for redirections without a command.
        for name in
            ["aa", "bb", "printf", "test", "r", "where", "echo", "time", "stat", "lk", "cat", "ro", "more", "less"]
        {
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
        let root = here.to_str().unwrap().to_owned();
        let config = Config::builder(surroundings).setting("policy", [policy]).setting("cwd-root", [root.clone()]);
        let config = config.setting("project-dir", [root]).build().unwrap();
        let config = Config { lines: crate::config::Setting::default(Lines::Files), ..config };
        let parts = Parts::new(&config);
        let project =
            Self { directory, here, outside: base.join("outside"), log: base.join("log"), path, config, parts };
        project.renew();
        project
    }

    /// Makes its files anew, as they were before anything ran.
    fn renew(&self) {
        for directory in [&self.here, &self.outside] {
            // The directories themselves are held from the start.
            for entry in fs::read_dir(directory).into_iter().flatten() {
                let path = entry.unwrap().path();
                if path.is_dir() && !path.is_symlink() { fs::remove_dir_all(path) } else { fs::remove_file(path) }
                    .unwrap();
            }
        }
        // fish keeps its own files beside the project.
        for directory in
            [&self.here.join("d"), &self.here.join(".git"), &self.outside, &self.directory.path().join("fish")]
        {
            fs::create_dir_all(directory).unwrap();
        }
        for file in ["x.rs", "y.rs", "-n", "d/z.rs", "in"] {
            fs::write(self.here.join(file), "text\n").unwrap();
        }
        fs::write(self.outside.join("secret"), "secret\n").unwrap();
        std::os::unix::fs::symlink(&self.outside, self.here.join("o")).unwrap();
    }

    /// The files that no line may make or write.
    fn untouchable(&self) -> Vec<(PathBuf, String)> {
        let within = |directory: &Path| fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
        let paths = within(&self.here.join(".git")).chain(within(&self.outside)).chain(within(self.directory.path()));
        let text = |path: &PathBuf| fs::read_to_string(path).unwrap_or_default();
        paths.filter(|path| *path != self.log).map(|path| (path.clone(), text(&path))).collect()
    }

    /// The words of the commands that were decided, if the gate lets the line through.
    fn allowed(&mut self, line: &str, shell: Shell) -> Option<Vec<Vec<String>>> {
        self.allowed_with(line, shell, PLAIN)
    }

    /// The same, for a shell that leaves directories so.
    fn allowed_with(&mut self, line: &str, shell: Shell, leaves: Leaves) -> Option<Vec<Vec<String>>> {
        let decided = self.parts.decide_for_agent(line, self.here.to_str().unwrap()).unwrap();
        let gate =
            Gate { shell, parts: &decided.parts, server: &self.parts, config: &self.config, here: &self.here, leaves };
        if decided.verdict != LineVerdict::Allowed || gate.doubt(line).is_some() {
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
            .env("HOME", &self.outside)
            .env("XDG_CONFIG_HOME", self.directory.path())
            .env("XDG_DATA_HOME", self.directory.path())
            .env("LOG", &self.log)
            .env("OUTSIDE", &self.outside)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        status.unwrap();
        let log = fs::read_to_string(&self.log).unwrap_or_default();
        log.split_terminator('\u{1e}').map(|words| words.split('\u{1f}').map(str::to_owned).collect()).collect()
    }
}

/// The shells of this system.
fn shells() -> Vec<PathBuf> {
    let known = ["bash", "zsh", "dash", "fish"].map(|name| Path::new("/bin").join(name));
    known.into_iter().filter(|path| path.exists()).collect()
}

const WORDS: [&str; 62] = [
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
    "$'\\''",
    "$'x y'",
    "\"$(cat <<'E'\n\"\nE\n)\"",
    "$TERM",
    "$NO_COLOR/x",
    "l/secret",
    "l/x.rs",
    "./l/*",
    "o/secret",
    "'a'b",
    "'a''b'",
    "'a\\.b'",
    "<1-2>x",
    "=bb",
];
const NAMES: [&str; 28] = [
    "aa",
    "bb",
    "aa",
    "bb",
    "aa",
    "echo",
    "printf",
    "test",
    "r",
    "where",
    "time",
    "stat",
    "cd ./d",
    "cd d",
    "true",
    "./aa",
    "",
    "cat",
    "cat x.rs",
    "cat d/z.rs",
    "ro",
    "lk ../outside l",
    "lk ../outside l",
    "lk .git l",
    "lk .git d",
    "cd ./l",
    "cd ./d",
    "cat l/secret",
];
const BETWEEN: [&str; 9] = [" | ", " && ", " || ", "; ", "\n", " |& ", " & ", "|", ";"];
const AFTER: [&str; 25] = [
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
    " > l/out",
    " > d/out",
    " < l/secret",
    " > $NO_COLOR/out",
    " < in",
    " > out",
    " 2\\\n>out",
    " > /dev/null",
    " <1-2>x",
];

/// A line of these.
fn line(random: &mut impl RngCore) -> String {
    let mut number = |below: usize| usize::try_from(random.next_u32()).unwrap() % below;
    let mut pick = |all: &[&'static str]| all[number(all.len())];
    let mut line = String::new();
    // Every other line makes a link that a later part may follow.
    if pick(&["a", "aa"]).len() > 1 {
        line.push_str(pick(&["lk ../outside l", "lk .git l", "lk ../outside d/l"]));
        line.push_str(pick(&BETWEEN));
        let after = [
            "cat l/secret",
            "aa > l/out",
            "echo > l/out",
            "aa < l/secret",
            "cd ./l && aa",
            "(cd ./l; aa)",
            "aa",
            "aa 'b'",
        ];
        line.push_str(pick(&after));
        return line;
    }
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

const POLICY: &str = "commands: {aa: any, bb: any, echo: any, printf: any, test: any, r: any, where: any, time: any, stat: any, \
                      lk: any, cat: {operands: [{path: read, count: '0..'}], read_only: true, stdin: true}, \
                      ro: {operands: [{type: text, count: '0..'}], read_only: true, stdin: true}}\n";

#[test]
fn shells_start_exactly_what_was_decided_for_each_line_that_goes_through() {
    let mut project = Project::new(POLICY);
    let mut random = TestRng::deterministic_rng(proptest::test_runner::RngAlgorithm::ChaCha);
    let (mut tried, mut through) = (0, 0);
    while through < 100 && tried < 20_000 {
        tried += 1;
        let line = line(&mut random);
        let Some(decided) = project.allowed(&line, Shell::Bash) else { continue };
        through += 1;
        for shell in shells() {
            let before = project.untouchable();
            for words in project.started(&shell, &line) {
                assert!(decided.contains(&words), "{shell:?} {line:?} started {words:?}, decided were {decided:?}");
            }
            assert_eq!(project.untouchable(), before, "{shell:?} {line:?}");
            project.renew();
        }
    }
    assert!(through >= 100, "{through} of {tried}");
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
        ("aa &> out", false, false),
        ("aa |& bb", false, false),
        ("aa <<< x", false, false),
        ("aa $'x'", false, false),
        ("aa $'\\'' =bb", false, false),
        ("aa $'\\'' x}", false, false),
        ("aa $'\\'' <1-2>x", false, false),
        ("aa \"$(cat <<'E'\n\"\nE\n)\" =bb", false, false),
        ("aa $HOME", false, false),
        ("aa \"$PWD\"", false, false),
        ("aa $NO_COLOR/x", false, false),
        ("aa > $NO_COLOR/x", false, false),
        ("aa ~", false, false),
        ("aa a\\ b", false, false),
        ("aa \"a!b\"", false, false),
        ("aa 'a!b' 'a\\.b' \"a b\"", true, true),
        ("aa 'a\\\\b'", false, false),
        ("aa 'a\\'", false, false),
        ("aa 'a''b'", false, false),
        ("aa a'b'c", true, true),
        ("aa ''=bb", false, false),
        ("aa --a=b +x @x a%b a:b,c", true, true),
        ("aa %1", false, false),
        ("aa 2\\\n> out", false, false),
        ("aa \\\n x", false, false),
        ("aa 2> out", true, true),
        ("aa 2>&1 | bb", true, true),
        ("aa >| out", false, false),
        ("aa 'a\tb'", false, false),
        ("aa\nbb", true, true),
        ("< in", false, false),
        ("< /dev/null", false, false),
        ("> /dev/null", false, false),
        ("aa | > out", false, false),
        ("(< in)", false, false),
        ("(aa)", true, true),
        ("(cd ./d && aa); bb", true, true),
        ("(aa) < in", false, false),
        ("(aa) | bb", false, false),
        ("! aa", false, false),
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
fn what_another_command_of_the_line_can_change_does_not_go_through() {
    let mut project = Project::new(POLICY);
    for (line, goes) in [
        ("lk .git g; aa > g/x", false),
        ("lk .git g && aa 2> g/x", false),
        ("lk .git g; aa < g/x", false),
        ("lk .git g; aa > /dev/null", true),
        ("lk .git g; cd ./g && aa", false),
        ("lk .git g; (cd ./g; aa)", false),
        ("(lk .git g); aa > g/x", false),
        ("lk .git g | aa > g/x", false),
        ("aa < g/x | lk .git g", false),
        ("lk .git g | cat g/x", false),
        ("cat g/x | lk .git g", false),
        ("lk .git g; cat g/x", false),
        ("lk .git g; echo x > g/x", false),
        ("lk .git g; aa ./g/*", false),
        ("lk .git g; ./aa", false),
        ("lk .git g; aa g", true),
        ("aa; cat", true),
        ("aa 2>&1 | cat", true),
        ("aa > out; aa > out", false),
        ("cat x.rs > out; cat y.rs", false),
        ("echo x > out; cat y.rs", false),
        ("cat x.rs; cat y.rs", true),
        ("cat x.rs && cat d/z.rs | ro a; cat y.rs", true),
        ("ro a; cat x.rs > out", true),
        ("cat x.rs | ro > out", true),
        ("ro a && aa ./*.rs", true),
        ("cat x.rs; cat o/secret", false),
        ("cat x.rs; aa > o/y", false),
        ("cat x.rs; aa > .git/x", false),
        ("cd ./d && cat z.rs; cat z.rs", true),
        ("cd ./d; cat x.rs; (cat ../x.rs)", true),
        ("ro a; cd ./d && cat z.rs", false),
        ("cd ./d; cd ./.. && cat x.rs", true),
    ] {
        for shell in Shell::NAMED {
            assert_eq!(project.allowed(line, shell).is_some(), goes, "{shell:?} {line}");
        }
    }
}

#[test]
fn a_directory_that_the_shell_knows_by_another_path_is_not_left_upwards() {
    let mut project = Project::new(POLICY);
    let by_link = Leaves { stays: false, is_plain: false };
    let stays = Leaves { stays: true, is_plain: true };
    for (line, through_link, in_terminal) in [
        ("cd ./d && cat z.rs", true, false),
        ("cd ./d; cd ../ && cat x.rs", false, false),
        ("cd ./d; cd ./.. && cat x.rs", false, false),
        ("(cd ./d; cat z.rs)", true, false),
        ("cat x.rs", true, true),
    ] {
        assert!(project.allowed(line, Shell::Bash).is_some(), "{line}");
        assert_eq!(project.allowed_with(line, Shell::Bash, by_link).is_some(), through_link, "{line}");
        assert_eq!(project.allowed_with(line, Shell::Bash, stays).is_some(), in_terminal, "{line}");
    }
}

#[test]
fn an_environment_that_changes_commands_does_not_go_through() {
    for (variable, of_program, of_builtin) in [
        ("BASH_FUNC_aa%%", false, true),
        ("BASH_FUNC_aa()", false, true),
        ("BASH_FUNC_cd%%", true, false),
        ("BASH_ENV", false, false),
        ("SHELLOPTS", false, false),
        ("EXECIGNORE", false, false),
        ("BASH_FUNC_bb%%", true, true),
        ("BASH_VERSION", true, true),
    ] {
        let mut project = Project::new(POLICY);
        project.config.surroundings.variables.insert(variable.into(), "() { id; }".into());
        assert_eq!(project.allowed("aa", Shell::Bash).is_some(), of_program, "{variable}");
        assert_eq!(project.allowed("cd ./d", Shell::Bash).is_some(), of_builtin, "{variable}");
    }
}

#[test]
fn names_that_zsh_gives_another_command_do_not_go_through() {
    let mut project = Project::new("commands: {run-help: any, which-command: any, ran: any}\n");
    for name in ["run-help", "which-command", "ran"] {
        fs::copy(project.path.join("aa"), project.path.join(name)).unwrap();
    }
    for (line, goes) in [("run-help x", false), ("which-command x", false), ("ran x", true)] {
        assert_eq!(project.allowed(line, Shell::Zsh).is_some(), goes, "{line}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_program_without_its_interpreter_does_not_go_through() {
    let mut project = Project::new(POLICY);
    assert!(project.allowed("aa", Shell::Zsh).is_some());
    fs::write(project.path.join("aa"), "#!/nonexistent/interpreter\n").unwrap();
    assert!(project.allowed("aa", Shell::Zsh).is_none(), "zsh starts the next `aa` in PATH");
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
    let link = project.directory.path().join("link");
    std::os::unix::fs::symlink(&writable, &link).unwrap();
    let lead = |first: &str| format!("{first}:{}", path.display());
    for (value, goes) in [
        (path.display().to_string(), true),
        (lead(""), false),
        (lead("bin"), false),
        (lead(writable.to_str().unwrap()), false),
        (lead("/nonexistent"), true),
        (format!("{}:bin", path.display()), true),
        (lead(link.to_str().unwrap()), false),
    ] {
        project.config.surroundings.variables.insert("PATH".into(), value.clone().into());
        assert_eq!(project.allowed("aa", Shell::Bash).is_some(), goes, "{value}");
    }
}
