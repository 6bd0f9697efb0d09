//! Decisions on lines, before they run and at their turns.

mod as_shown;
mod group_redirections;

use std::collections::BTreeMap;
use std::fs;

use super::*;
use crate::lines::Pipeline;
use crate::policy::rules::{PolicyText, Rules};
use crate::policy::{AllowList, Directories, DirectorySettings, LineRules, Lines, Policy, Programs, Roots, SearchPath};

/// A project with some files, and a policy for it.
struct Project {
    dir: tempfile::TempDir,
    policy: Policy,
}

const POLICY: &str = "
version: 1
types:
  secret: {path: {access: read, under: [secrets]}}
commands:
  echo: any
  cat: {operands: [{path: {access: read}, deny: secret, count: '0..'}], stdin: true}
  ls: {operands: [{path: read, count: '0..'}], read_only: true}
  touch: {operands: [{path: write, count: '1..'}]}
  tee: {operands: [{path: {access: write, under: [out]}, count: '0..'}], stdin: true}
  head: {options: {'-n': {integer: [1, 99]}}}
  sort: {decision: deny, reason: it is slow}
  wc: {decision: ask, reason: it counts, operands: [{path: read, count: '0..'}], stdin: true}
  env: {env: {accept: {LEVEL: {one_of: [low, high]}}, set: {FIXED: '1'}}}
  mkdir: any
  cp: {sandbox: {write: none}, operands: [{path: read}]}
";

fn project(lines: Lines) -> Project {
    project_with(lines, POLICY)
}

fn project_with(lines: Lines, policy: &str) -> Project {
    let dir = tempfile::tempdir().unwrap();
    let root = fs::canonicalize(dir.path()).unwrap();
    for directory in ["src", "src/deep", "out", "secrets", ".git"] {
        fs::create_dir(root.join(directory)).unwrap();
    }
    for file in ["a.txt", "b.txt", "src/c.txt", "secrets/key"] {
        fs::write(root.join(file), file).unwrap();
    }
    std::os::unix::fs::symlink("src/deep", root.join("link")).unwrap();
    std::os::unix::fs::symlink("/etc", root.join("away")).unwrap();
    let text = PolicyText { file: "policy.yaml".into(), text: policy.to_owned() };
    let rules = Rules::load(&[text], &[], &[]).unwrap();
    let settings = DirectorySettings {
        server: root.clone(),
        project: Some(root.clone()),
        roots: Roots::Within(vec![root]),
        ..DirectorySettings::default()
    };
    let programs = Programs::new(SearchPath::new(Some("/bin:/usr/bin".as_ref())), "/".into());
    let variables = BTreeMap::from([("HOME".to_owned(), "/nowhere".to_owned())]);
    let policy = Policy::new(AllowList::new([]).with_rules(rules.into()), Directories::new(settings), programs)
        .with_line_env(vec!["NAMED".to_owned()])
        .with_lines(LineRules { lines, variables, writable: Vec::new() });
    Project { dir, policy }
}

impl Project {
    fn plan(&self, text: &str) -> LineDecision {
        self.plan_approved(text, false, None)
    }

    fn plan_approved(&self, text: &str, has_input: bool, approved: Option<&LineProposal>) -> LineDecision {
        let line = match self.policy.read_line(text).unwrap() {
            ReadLine::Line(line) => line,
            ReadLine::Command(_) => Line::read(text).unwrap(),
        };
        let asked = RequestedLine { line, text, cwd: None, has_input, only_reads: false, approved, before: &[] };
        self.policy.plan(self.policy.directories(), asked)
    }

    fn refusal(&self, text: &str) -> String {
        if let Err(error) = self.policy.read_line(text) {
            return error.to_string();
        }
        self.plan(text).outcome.map_or_else(|refusal| refusal.to_string(), |_| "allowed".to_owned())
    }

    fn turn(&self, planned: &PlannedLine, pipeline: &Pipeline, position: &Position) -> Turn {
        planned.pipeline(&self.policy, self.policy.directories(), pipeline, position)
    }

    /// The refusal of the first pipeline that is refused at its turn, with nothing run.
    fn at_turn(&self, text: &str) -> String {
        let planned = self.plan(text).outcome.unwrap();
        let line = Arc::clone(planned.line());
        for pipeline in line.pipelines() {
            if let Err(refusal) = self.turn(&planned, pipeline, &planned.begin()).outcome {
                return refusal.to_string();
            }
        }
        "allowed".to_owned()
    }
}

#[test]
fn a_line_runs_only_if_every_command_of_it_may() {
    let project = project(Lines::On);
    for line in [
        "echo a | cat",
        "echo a && cat a.txt || ls",
        "(cd src; ls)",
        "echo *.txt",
        "cd src && ls && cd ..",
        "true",
        "echo a 2>/dev/null | cat",
    ] {
        assert_eq!(project.refusal(line), "allowed", "{line}");
    }
    for (line, expected) in [
        ("false && rm x", "command 2, `rm`: command `rm` is not allowed"),
        ("echo a | rm x | cat", "command 2, `rm`: command `rm` is not allowed"),
        ("(echo a; (rm x) )", "command 2, `rm`: command `rm` is not allowed"),
        ("bash -c 'echo a; rm x'", "command 2, `rm`"),
        ("exit 1; rm x", "command 2, `rm`"),
        ("echo a; sort", "it is slow"),
        ("echo a; cat /etc/passwd", "allowed"),
        ("cat /etc/passwd; echo a", "leads outside the allowed directories"),
        ("true 2>/dev/null; cat /etc/passwd", "leads outside the allowed directories"),
        ("head -n 100", "command 1, `head`"),
        ("echo a; head -n 100", "command 2, `head`"),
        ("echo a | head -n 3", "command 2, `head`: `head` may not be given anything to read"),
        ("(head -n 3) <<< a", "may not be given anything to read"),
        ("echo a | (true; head -n 3)", "may not be given anything to read"),
        ("echo a | head -n 3 < /dev/null", "allowed"),
        ("cd nowhere; ls", "allowed"),
        ("cd /etc; ls", "the directory `/etc` is not allowed"),
        ("cd /nowhere; ls", "the directory `/nowhere` is not allowed"),
        ("cd link; ls", "leads through a link"),
        ("cd link/..; ls", "leads through a link"),
        ("echo a; cd /etc; ls", "allowed"),
        ("echo a | cd src", "has no effect as a part of a pipeline"),
        ("ls /et*", "leads outside"),
        ("ls away/*", "leads outside"),
        ("cat secrets/key", "command 1, `cat`"),
        ("echo $UNKNOWN", "has no value here"),
        ("ls $HOME/x", "leads outside"),
        ("NAMED=1 echo a", "allowed"),
        ("OTHER=1 echo a", "the variable `OTHER` can't be set"),
        ("LEVEL=low env", "allowed"),
        ("LEVEL=middle env", "the variable `LEVEL` can't be set"),
        ("FIXED=2 env", "the variable `FIXED` can't be set"),
        ("NAMED=1 true", "is no program"),
    ] {
        let refusal = project.refusal(line);
        assert!(refusal.contains(expected), "{line}: {refusal}");
    }
}

#[test]
fn what_an_earlier_command_may_change_is_decided_at_its_turn() {
    let project = project(Lines::Files);
    for (line, expected) in [
        ("echo a; cat /etc/passwd", "leads outside the allowed directories"),
        ("echo a; cd /etc; ls", "is not allowed"),
        ("echo a; cd away", "is not allowed"),
        ("echo a; ls away/*", "leads outside"),
        ("echo a; cat < away/passwd", "leads outside"),
        ("echo a; echo b > secrets/../../x", "leads outside"),
        ("echo a; cat a.txt", "allowed"),
    ] {
        let refusal = project.at_turn(line);
        assert!(refusal.contains(expected), "{line}: {refusal}");
    }
    let decision = project.plan("echo a; cat a.txt; echo b");
    let outcomes: Vec<&PartOutcome> = decision.parts.iter().map(|part| &part.outcome).collect();
    assert_eq!(outcomes, [&PartOutcome::Allowed, &PartOutcome::AtItsTurn, &PartOutcome::Allowed]);
}

#[test]
fn files_are_redirected_only_where_everything_allows_it() {
    let on = project(Lines::On);
    for line in ["echo a > out/f", "cat < a.txt", "echo a 2> out/f", "echo a &> out/f", "(echo a) > out/f"] {
        assert!(on.refusal(line).contains("by a redirection here"), "{line}: {}", on.refusal(line));
    }
    let files = project(Lines::Files);
    for (line, expected) in [
        ("echo a > out/f", "allowed"),
        ("echo a > f", "allowed"),
        ("cat < a.txt", "allowed"),
        ("echo a > missing/f", "allowed"),
        ("echo a > out", "allowed"),
        ("cat < missing", "allowed"),
        ("echo a > .git/config", "lies in `.git`"),
        ("echo a > src/../.git/config", "lies in `.git`"),
        ("echo a > .mcp.json", "can't be written"),
        ("echo a > .claude/settings.json", "can't be written"),
        ("echo a > /etc/passwd", "leads outside"),
        ("echo a > away/passwd", "leads outside"),
        ("cat < /etc/passwd", "leads outside"),
        ("cat < secrets/key", "may not name"),
        ("echo a | tee > f", "leads outside the allowed directories"),
        ("echo a | tee > out/f", "allowed"),
        ("cp a.txt > out/f", "writes nothing"),
        ("cp a.txt > /dev/null", "allowed"),
        ("echo a > /dev/full", "leads outside"),
        ("echo a > /proc/self/mem", "leads outside"),
    ] {
        let refusal = files.refusal(line);
        assert!(refusal.contains(expected), "{line}: {refusal}");
    }
    let narrow = project_with(
        Lines::Files,
        "{version: 1, commands: {echo: any}, redirections: {write: {path: {access: write, under: [out]}}}}",
    );
    assert_eq!(narrow.refusal("echo a > out/f"), "allowed");
    assert!(narrow.refusal("echo a > f").contains("leads outside"));
}

#[test]
fn a_line_is_asked_for_once_and_only_what_was_shown_runs() {
    let project = project(Lines::Files);
    let proposal = |text: &str| match project.plan(text).outcome {
        Err(LineRefusal::NeedsApproval(proposal)) => *proposal,
        other => panic!("{text}: {other:?}"),
    };
    let text = "cd src && echo a | wc > ../out/f; wc *.txt";
    let asked = proposal(text);
    assert_eq!(asked.to_string(), "a person has to approve this line, for command 3, `wc`; command 4, `wc`");
    assert_eq!(asked.reasons(), ["it counts"]);
    let shown: Vec<_> =
        asked.parts().iter().map(|part| (part.number(), part.words().join(" "), part.is_as_found())).collect();
    let expected = [(1, "cd src", false), (2, "echo a", false), (3, "wc", false), (4, "wc c.txt", true)];
    assert_eq!(shown, expected.map(|(number, words, found)| (number, words.to_owned(), found)));
    let planned = project.plan_approved(text, false, Some(&asked)).outcome.unwrap();
    let line = Arc::clone(planned.line());
    let pipelines: Vec<&Pipeline> = line.pipelines().collect();
    let mut position = planned.begin();
    let refused = project.turn(&planned, pipelines[1], &position).outcome.unwrap_err().to_string();
    assert!(refused.contains("is not what it was") || refused.contains("was shown something else"), "{refused}");
    let first = project.turn(&planned, pipelines[0], &position).outcome.unwrap();
    let StageWork::Cd(Ok(directory)) = &first[0].work else { panic!("{first:?}") };
    position.directory = directory.clone();
    project.turn(&planned, pipelines[1], &position).outcome.unwrap();
    fs::write(directory.path().join("d.txt"), "d").unwrap();
    let last = project.turn(&planned, pipelines[2], &position).outcome.unwrap();
    let StageWork::Program(command) = &last[0].work else { panic!("{last:?}") };
    assert_eq!(command.words(), ["wc", "c.txt", "d.txt"]);
    // Another line, or another directory, is not what was approved.
    let other = project.plan_approved("cd src && echo b | wc > ../out/f; wc *.txt", false, Some(&asked));
    assert!(matches!(other.outcome, Err(LineRefusal::ChangedSinceApproval { .. })));
}

#[test]
fn a_redirection_that_is_asked_for_writes_only_the_file_that_was_shown() {
    let project = project_with(
        Lines::Files,
        "{version: 1, commands: {echo: any}, redirections: {write: {path: write, ask: {path: {access: write, under: [out]}}, \
         reason: it counts}}}",
    );
    let root = fs::canonicalize(project.dir.path()).unwrap();
    fs::write(root.join("out/a"), "").unwrap();
    fs::write(root.join("out/b"), "").unwrap();
    std::os::unix::fs::symlink("out/a", root.join("to")).unwrap();
    let text = "echo a; echo b > to";
    let Err(LineRefusal::NeedsApproval(asked)) = project.plan(text).outcome else { panic!("it was not asked for") };
    assert_eq!(asked.to_string(), "a person has to approve this line, for command 2, `echo`");
    let planned = project.plan_approved(text, false, Some(&asked)).outcome.unwrap();
    let line = Arc::clone(planned.line());
    let last = line.pipelines().last().unwrap();
    project.turn(&planned, last, &planned.begin()).outcome.unwrap();
    // An earlier command of the line has made the link lead elsewhere.
    fs::remove_file(root.join("to")).unwrap();
    std::os::unix::fs::symlink("out/b", root.join("to")).unwrap();
    let refused = project.turn(&planned, last, &planned.begin()).outcome.unwrap_err().to_string();
    assert!(refused.contains("was shown something else"), "{refused}");
    let changed = project.plan_approved(text, false, Some(&asked)).outcome;
    assert!(matches!(changed, Err(LineRefusal::ChangedSinceApproval { .. })));
}

#[test]
fn a_line_that_writes_nothing_only_reads() {
    let project = project(Lines::Files);
    for (line, expected) in [
        ("ls | ls", true),
        ("cd src; ls 2>/dev/null", true),
        ("ls; echo a", false),
        ("ls > out/f", false),
        ("ls *.txt", true),
    ] {
        assert_eq!(project.plan(line).is_read_only, expected, "{line}");
    }
}

#[test]
fn what_only_seemed_to_change_nothing_is_refused_at_its_turn() {
    let policy = "{version: 1, commands: {ls: {operands: [{path: read, count: '0..'}], read_only: true}, touch: any}}";
    for text in [
        "ls a || cd src; [lt][so]* new",
        "ls a || cd /dev; ls > \"$PWD/null\"",
        "ls a || cd /dev; (ls; ls) > \"$PWD/null\"",
    ] {
        let project = project_with(Lines::Files, policy);
        fs::write(project.dir.path().join("touch"), "").unwrap();
        fs::write(project.dir.path().join("src/ls"), "").unwrap();
        let only_reads = |only_reads| {
            let ReadLine::Line(line) = project.policy.read_line(text).unwrap() else { panic!("{text}") };
            let before = &[];
            let asked = RequestedLine { line, text, cwd: None, has_input: false, only_reads, approved: None, before };
            project.policy.plan(&everywhere(&project), asked)
        };
        let decided = only_reads(true);
        assert!(decided.is_read_only, "{text}: {decided:?}");
        for (planned, expected) in [(decided, "is not read-only"), (only_reads(false), "allowed")] {
            let planned = planned.outcome.unwrap();
            let line = Arc::clone(planned.line());
            let last = line.pipelines().last().unwrap();
            let turn = planned.pipeline(&project.policy, &everywhere(&project), last, &planned.begin());
            let outcome = turn.outcome.map_or_else(|refusal| refusal.to_string(), |_| "allowed".to_owned());
            assert!(outcome.contains(expected), "{text}: {outcome}");
        }
    }
}

/// The directories of a project whose calls may change to any directory.
fn everywhere(project: &Project) -> Directories {
    let server = fs::canonicalize(project.dir.path()).unwrap();
    Directories::new(DirectorySettings { project: Some(server.clone()), server, ..DirectorySettings::default() })
}

#[test]
fn the_timeout_of_a_rule_counts_when_its_words_are_known() {
    let policy = "{version: 1, commands: {echo: any, touch: {operands: [{text: {}, count: '0..'}], timeout: 1s}}}";
    let project = project_with(Lines::On, policy);
    fs::write(project.dir.path().join("-"), "").unwrap();
    let planned = project.plan("echo; touch ?").outcome.unwrap();
    assert_eq!(planned.timeout(), None);
    fs::rename(project.dir.path().join("-"), project.dir.path().join("n")).unwrap();
    let line = Arc::clone(planned.line());
    let turn = project.turn(&planned, line.pipelines().last().unwrap(), &planned.begin());
    assert_eq!(turn.outcome.unwrap()[0].timeout, Some(Duration::from_secs(1)));
}

#[test]
fn the_first_program_reads_the_input_of_the_call() {
    let project = project(Lines::On);
    for (line, reader) in [
        ("true; cat; cat", Some(2)),
        ("cd src && (cat)", Some(2)),
        ("true", None),
        // Something else is given to the first program.
        ("cat < /dev/null; cat", None),
        ("cat <<< a < /dev/null", None),
        ("( cd src; cat ) < /dev/null; cat", None),
        ("true | cat", None),
        ("cat 2> /dev/null", Some(1)),
    ] {
        assert_eq!(project.plan_approved(line, true, None).outcome.unwrap().reader(), reader, "{line}");
    }
    let refused = project.plan_approved("head -n 3; cat", true, None).outcome.unwrap_err().to_string();
    assert!(refused.contains("command 1, `head`: `head` may not be given anything"), "{refused}");
}

#[test]
fn files_are_opened_as_a_shell_opens_them_and_nothing_else_is() {
    let project = project(Lines::Files);
    let root = fs::canonicalize(project.dir.path()).unwrap();
    let open = |text: &str| -> Result<std::os::fd::OwnedFd, String> {
        let planned = project.plan(text).outcome.map_err(|refusal| refusal.to_string())?;
        let line = Arc::clone(planned.line());
        let turn = project.turn(&planned, &line.lists[0].first, &planned.begin());
        let stages = turn.outcome.map_err(|refusal| refusal.to_string())?;
        match &stages[0].redirections[0] {
            DecidedRedirection::WriteFile(_, file) | DecidedRedirection::ReadFile(file) => {
                file.open(&mut CreatedFiles::default()).map_err(|error| error.to_string())
            }
            DecidedRedirection::Unusable { sentence } => Err(sentence.clone()),
            other => panic!("{other:?}"),
        }
    };
    drop(open("echo a > new").unwrap());
    let mode = std::os::unix::fs::MetadataExt::mode(&fs::metadata(root.join("new")).unwrap());
    assert_eq!(mode & 0o777, 0o644);
    drop(open("echo a >> a.txt").unwrap());
    assert_eq!(fs::read_to_string(root.join("a.txt")).unwrap(), "a.txt");
    drop(open("echo a > a.txt").unwrap());
    assert_eq!(fs::read_to_string(root.join("a.txt")).unwrap(), "");
    assert_eq!(open("echo a > out").unwrap_err(), "out: Is a directory");
    assert_eq!(open("cat < no/file").unwrap_err(), "no/file: No such file or directory");
    assert!(open("cat < missing").unwrap_err().starts_with("No such file or directory"));
    assert_eq!(open("echo a > missing/f").unwrap_err(), "missing/f: No such file or directory");
    assert!(std::process::Command::new("mkfifo").arg(root.join("fifo")).status().unwrap().success());
    assert!(open("echo a > fifo").unwrap_err().contains("is not a regular file"));
}

#[test]
fn a_line_sets_nothing_that_changes_how_described_words_are_read() {
    let mut project = project_with(Lines::On, "{version: 1, commands: {cat: {operands: [{path: read}]}, go: any}}");
    project.policy = project.policy.with_line_env(["POSIXLY_CORRECT", "GOFLAGS", "NAMED"].map(str::to_owned).to_vec());
    let refused = project.refusal("POSIXLY_CORRECT=1 cat a.txt");
    assert!(refused.contains("changes how the program reads"), "{refused}");
    assert_eq!(project.refusal("NAMED=1 cat a.txt"), "allowed");
    // Nothing is described that it could change.
    assert_eq!(project.refusal("GOFLAGS=-v go version"), "allowed");
}

#[test]
fn the_turns_of_a_line_share_one_bound() {
    let project = project(Lines::On);
    for number in 0..9_000 {
        fs::write(project.dir.path().join(format!("out/{number}")), "").unwrap();
    }
    let patterns = "*x ".repeat(20);
    let text = format!("echo; cd out; {}", format!("echo {patterns};").repeat(10));
    let planned = project.plan(&text);
    // Each of them is refused already, or ends the line at its turn.
    let Ok(planned) = planned.outcome else { return };
    let line = Arc::clone(planned.line());
    let position = || {
        let mut position = planned.begin();
        position.directory = project.policy.directories().resolve_from(&position.directory, "out").unwrap();
        position
    };
    let turns = line.pipelines().skip(2).map(|pipeline| project.turn(&planned, pipeline, &position()).outcome);
    let refused = turns.filter_map(Result::err).next().unwrap().to_string();
    assert!(refused.contains("too many or too long"), "{refused}");
}
