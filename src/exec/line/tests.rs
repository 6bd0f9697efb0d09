//! Lines are run as bash runs them, with everything allowed.

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use super::*;
use crate::exec::{Environment, stop};
use crate::policy::line::{PlannedLine, RequestedLine};
use crate::policy::{AllowList, Directories, DirectorySettings, LineRules, Lines, Policy, Programs, SearchPath};

/// Decides with everything allowed.
struct Any<'a> {
    policy: &'a Policy,
    planned: &'a PlannedLine,
}

impl Decides for Any<'_> {
    fn decide(&mut self, pipeline: &Pipeline, at: &Position) -> Result<Vec<DecidedStage>, LineError> {
        let turn = self.planned.pipeline(self.policy, self.policy.directories(), pipeline, at);
        turn.outcome.map_err(LineError::Refused)
    }
}

struct Nobody;

impl Observes for Nobody {
    fn on_start(&self, _number: usize) -> Option<OnStart> {
        None
    }

    fn ended(&self, _number: usize, _end: End) {}
}

fn run(text: &str, directory: &Path) -> LineOutput {
    let directory = std::fs::canonicalize(directory).unwrap();
    let settings =
        DirectorySettings { server: directory.clone(), project: Some(directory), ..DirectorySettings::default() };
    let programs = Programs::new(SearchPath::new(Some("/bin:/usr/bin".as_ref())), "/".into());
    let policy = Policy::new(AllowList::new(["*".to_owned()]), Directories::new(settings), programs);
    let policy = policy.with_lines(LineRules { lines: Lines::Files, ..LineRules::default() });
    let line = Line::read(text).unwrap().open_shells(&|_| false).unwrap();
    let asked = RequestedLine { line, text, cwd: None, has_input: false, approved: None, before: &[] };
    let planned =
        policy.plan(policy.directories(), asked).outcome.unwrap_or_else(|refusal| panic!("{text}: {refusal}"));
    let mut environment = Environment::default();
    environment.set("PATH", "/bin:/usr/bin".into());
    let processes = Processes::new(environment);
    let (_stop, signal) = stop().unwrap();
    let limits =
        Limits { timeout: Duration::from_secs(20), grace: Duration::from_secs(1), max_output: 0, has_digests: false };
    let line = Arc::clone(planned.line());
    let (decides, observes) = (&mut Any { policy: &policy, planned: &planned }, &Nobody);
    let invocation = LineInvocation {
        line: &line,
        begin: planned.begin(),
        input: None,
        limits,
        stop: signal,
        heartbeat: None,
        spool: None,
        decides,
        observes,
    };
    processes.run_line(invocation).unwrap()
}

/// Compares with bash; returns the failures that are told.
fn check(text: &str) -> Vec<(String, i32)> {
    let [ours, theirs] = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let ran = run(text, ours.path());
    let mut bash = Command::new("bash");
    bash.arg("-c")
        .arg(text)
        .current_dir(theirs.path())
        .env_clear()
        .env("PATH", "/bin:/usr/bin")
        .stdin(std::process::Stdio::null());
    let shell = bash.output().unwrap();
    let stdout = String::from_utf8_lossy(&ran.output.stdout.head).into_owned();
    let files = |directory: &Path| {
        let mut files: Vec<(String, String)> = std::fs::read_dir(directory)
            .unwrap()
            .map(|file| {
                let path = file.unwrap().path();
                (
                    path.file_name().unwrap().to_string_lossy().into_owned(),
                    std::fs::read_to_string(&path).unwrap_or_default(),
                )
            })
            .collect();
        files.sort();
        files
    };
    // It becomes the last command itself.
    let code = shell.status.code().or(shell.status.signal().map(|signal| 128 + signal));
    let theirs = (code, String::from_utf8_lossy(&shell.stdout).into_owned(), files(theirs.path()));
    let End::Exited(code) = ran.output.end else { panic!("{text}: {ran:?}") };
    let stderr = String::from_utf8_lossy(&ran.output.stderr.head).into_owned();
    assert_eq!((Some(code), stdout, files(ours.path())), theirs, "{text}\n{stderr}");
    ran.failed
}

#[test]
fn lines_run_as_bash_runs_them() {
    let lines = [
        "echo a",
        "echo a | cat",
        "echo a | cat | cat -n | tail -1",
        "echo a; echo b",
        "echo a && echo b || echo c",
        "false && echo b || echo c",
        "false || false",
        "! false",
        "! echo a",
        "! (exit 3)",
        "(exit 3)",
        "(echo a; echo b) | tac",
        "echo a | (cat; echo b)",
        "(echo a; (echo b; echo c) | tac) | cat -n",
        "echo a > f; cat f",
        "echo a > f; echo b >> f; cat < f",
        "cat < missing",
        "cat < missing; echo a",
        "cat < missing 2>/dev/null | cat",
        "echo a > d/f || echo no",
        "nosuchprogram",
        "nosuchprogram 2>&1 | cat",
        "nosuchprogram 2>&1",
        "cd missing; echo a",
        "mkdir d && cd d && pwd | tail -c 3; echo b > f",
        "(mkdir d && cd d); ls",
        "exit 3; echo a",
        "(exit 4; echo a); echo b",
        "true; exit",
        "false; exit",
        "false; (exit)",
        "cat <<E\na\nb\nE",
        "cat <<< x",
        "cat <<< x | tr x y",
        "sh -c 'echo a; echo b >&2' 2>&1 | cat -n",
        "sh -c 'echo a; echo b >&2' |& cat -n",
        "sh -c 'echo b >&2' 2>f |& cat; cat f",
        "ls nosuch 2>f; wc -l < f",
        "> f",
        "> f > g; ls",
        "yes | head -2",
        "seq 100000 | tail -1",
        "seq 100000 | head -1",
        "echo a >&2",
        "echo a 1>&2 2>&1",
        "echo a 2>&1 1>&2",
        "sh -c 'exit 7' | true",
        "sh -e -c 'kill -9 $$'; echo a",
        "sh -e -c 'kill -9 $$'",
        "echo a &> f; cat f",
        "! true | false",
        "(cat; echo b) <<< x",
        "(echo a; echo b) > f; cat f",
        "(exit 3) > missing/f; echo a",
        "! (exit 3) > missing/f",
        "(head -1; cat) <<E\na\nb\nE",
        "echo a > f | cat; cat f",
        "printf x | (cat > f); cat f",
        "sleep 0.1 | echo a",
        "/dev/null",
        "./f",
        "echo '#!/nosuch' > f; chmod +x f; ./f",
        "bash -c 'echo a; exit 3'; echo b",
        "echo a | bash -c 'cat | cat'",
        "true | false | true",
        "cat /dev/zero | head -c 3 | wc -c",
        "echo a; false; echo b && false || echo c; (false)",
        "sh -e -c 'sleep 0.2 & echo a' | cat",
    ];
    for line in lines {
        check(line);
    }
}

#[test]
fn a_failure_that_the_status_hides_is_told() {
    let told = |text: &str| check(text).into_iter().map(|(name, code)| format!("{name} {code}")).collect::<Vec<_>>();
    assert_eq!(told("ls nosuch | cat"), ["ls 2"]);
    assert_eq!(told("ls nosuch; echo a"), ["ls 2"]);
    for line in [
        "ls nosuch",
        "ls nosuch || true",
        "! ls nosuch",
        "yes | head -1",
        "(ls nosuch)",
        "(ls nosuch | cat) || true",
        "ls nosuch && echo a",
    ] {
        assert_eq!(told(line), Vec::<String>::new(), "{line}");
    }
    assert_eq!(told("(ls nosuch; false) | cat"), ["ls 2"]);
}
