//! A redirection of a group counts for each command in it that inherits the stream.

use super::*;

const RULES: &str = "
version: 1
types:
  r: {path: read, deny: {path: {access: read, under: [secrets]}}, reason: no secrets}
  w: {path: write, deny: {path: {access: write, under: [secrets]}}, ask: {path: {access: write, under: [out]}}}
commands:
  cat: {operands: [{type: r, count: '0..'}], stdin: true}
  tee: {operands: [{type: w, count: '0..'}], stdin: true}
  head: {operands: [{path: {access: read, under: [src]}, count: '0..'}], stdin: true}
  ls: {sandbox: {write: none}, operands: [{path: read, count: '0..'}], stdin: true}
  git: {subcommands: {stage: {operands: [{type: w, count: '0..'}]}, status: any}}
  echo: any
";

#[test]
fn rules_hold_for_the_redirections_of_groups_as_for_those_of_commands() {
    let project = project_with(Lines::Files, RULES);
    for (line, expected) in [
        ("cat < secrets/key", "may not name"),
        ("( cat ) < secrets/key", "may not name"),
        ("( (cat) ) < secrets/key", "may not name"),
        ("bash -c cat < secrets/key", "may not name"),
        ("( cat a.txt; cat ) < secrets/key", "may not name"),
        ("( cat a.txt | cat ) < secrets/key", "may not name"),
        ("( echo a | cat ) < secrets/key", "allowed"),
        ("( cat < a.txt ) < secrets/key", "allowed"),
        ("( cat < a.txt; cat ) < secrets/key", "may not name"),
        ("( echo a ) < secrets/key", "allowed"),
        ("( head ) < a.txt", "leads outside"),
        ("( head ) < src/c.txt", "allowed"),
        ("tee > secrets/n", "may not name"),
        ("( tee ) > secrets/n", "may not name"),
        ("( tee ) 2> secrets/n", "may not name"),
        ("( tee ) &> secrets/n", "may not name"),
        ("( tee > f ) 2> secrets/n", "may not name"),
        ("( tee > f ) > secrets/n", "allowed"),
        ("( tee > f ) > secrets/n 2>&1", "may not name"),
        ("( tee 2>&1 > f ) > secrets/n", "may not name"),
        ("( tee | echo ) > secrets/n", "allowed"),
        ("( tee |& echo ) 2> secrets/n", "allowed"),
        ("( tee | echo ) 2> secrets/n", "may not name"),
        ("( tee ) > secrets/n > /dev/null", "may not name"),
        ("echo a | ( tee ) > secrets/n", "may not name"),
        ("( tee ) > out/f", "a person has to approve"),
        ("( ( tee ) 2>&1 ) 2> f > out/f", "a person has to approve"),
        ("ls > f", "writes nothing"),
        ("( ls ) > f", "writes nothing"),
        ("bash -c ls > f", "writes nothing"),
        ("( echo a; (ls) ) &> f", "writes nothing"),
        ("( ls ) < a.txt", "allowed"),
        ("( ls ) 2> /dev/null", "allowed"),
        ("( ls ) > /dev/null", "allowed"),
        ("( git status ) > secrets/n", "allowed"),
        ("( git stage a.txt ) > secrets/n", "may not name"),
        ("( git status; git stage a.txt ) > secrets/n", "may not name"),
        ("( rm ) < secrets/key", "command 1, `rm`"),
    ] {
        let refusal = project.refusal(line);
        assert!(refusal.contains(expected), "{line}: {refusal}");
    }
}

#[test]
fn rules_hold_for_the_redirections_of_groups_at_their_turn() {
    let project = project_with(Lines::Files, RULES);
    std::os::unix::fs::symlink("secrets", project.dir.path().join("g")).unwrap();
    for line in ["echo a; (cat) < g/key", "echo a; (tee) > g/n", "echo a; bash -c ls > f", "echo a; (tee) > g/../out/f"]
    {
        let refusal = match project.plan(line).outcome {
            Ok(_) => project.at_turn(line),
            Err(refusal) => refusal.to_string(),
        };
        assert_ne!(refusal, "allowed", "{line}");
    }
    // Only at its turn is it known which subcommand this is, and its redirections were decided for another.
    let in_project = |name: &str| project.dir.path().join(name);
    fs::write(in_project("status"), "").unwrap();
    let planned = project.plan("echo a; ( git sta* ) > f").outcome.unwrap();
    let line = Arc::clone(planned.line());
    let last = line.pipelines().last().unwrap();
    let Some(crate::lines::Command::Group(group)) = last.stages.first().map(|stage| &stage.command) else { panic!() };
    let turn = || project.turn(&planned, &group.line.lists[0].first, &planned.begin()).outcome;
    turn().unwrap();
    fs::rename(in_project("status"), in_project("stage")).unwrap();
    let refused = turn().unwrap_err().to_string();
    assert!(refused.contains("a redirection of its group"), "{refused}");
}

#[test]
fn a_group_that_is_given_a_file_gives_its_commands_something_to_read() {
    let project = project(Lines::Files);
    for line in ["( head -n 3 ) < a.txt", "bash -c 'head -n 3' < a.txt", "( (echo a; head -n 3) ) < a.txt"] {
        assert!(project.refusal(line).contains("may not be given anything to read"), "{line}");
    }
    assert_eq!(project.refusal("( head -n 3 ) < a.txt < /dev/null"), "allowed");
}
