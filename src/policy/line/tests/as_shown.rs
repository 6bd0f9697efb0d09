//! An approval holds for exactly what was shown: each part is compared with that when its turn comes.

use std::fs;
use std::os::unix::fs::symlink;

use super::*;

/// Approves a line, and returns it with the pipelines of its text.
fn approved(project: &Project, text: &str) -> (PlannedLine, Arc<Line>) {
    let Err(LineRefusal::NeedsApproval(asked)) = project.plan(text).outcome else { panic!("{text} was not asked for") };
    let planned = project.plan_approved(text, false, Some(&asked)).outcome.unwrap();
    let line = Arc::clone(planned.line());
    (planned, line)
}

/// The refusal of the pipeline of this number at its turn, in this directory of the project.
fn refusal_of(project: &Project, (planned, line): &(PlannedLine, Arc<Line>), number: usize, directory: &str) -> String {
    let mut position = planned.begin();
    position.directory = project.policy.directories().resolve_from(&position.directory, directory).unwrap();
    let turn = project.turn(planned, line.pipelines().nth(number).unwrap(), &position);
    turn.outcome.map_or_else(|refusal| refusal.to_string(), |_| "allowed".to_owned())
}

const ASKS_FOR_SECRETS: &str = "
version: 1
types:
  r: {path: read, ask: {path: {access: read, under: [secrets]}}}
  w: {path: write, ask: {path: {access: write, under: [secrets]}}}
redirections: {read: {type: r}, write: {type: w}}
commands: {echo: any, cat: any}
";

#[test]
fn the_approval_of_one_redirection_serves_no_other() {
    for text in [
        "echo a; cat < secrets/key > g",
        "( cat; cat ) < secrets/key; cat > g",
        "( cat; cat ) < secrets/key; (cat) < g",
        "( cat; cat ) < secrets/key; (cat) > g",
    ] {
        let project = project_with(Lines::Files, ASKS_FOR_SECRETS);
        let line = approved(&project, text);
        let before = refusal_of(&project, &line, 1, ".");
        assert_eq!(before, "allowed", "{text}");
        // An earlier command of the line makes the other lead to the same file.
        symlink("secrets/key", project.dir.path().join("g")).unwrap();
        let after = refusal_of(&project, &line, 1, ".");
        assert!(after.contains("was shown"), "{text}: {after}");
    }
}

#[test]
fn a_program_does_not_run_in_the_place_of_a_builtin_that_was_shown() {
    let project = project(Lines::On);
    fs::write(project.dir.path().join("true"), "").unwrap();
    let line = approved(&project, "echo a; [t][re][ue]* out/made; wc");
    assert_eq!(refusal_of(&project, &line, 1, "."), "allowed");
    fs::rename(project.dir.path().join("true"), project.dir.path().join("tee")).unwrap();
    let after = refusal_of(&project, &line, 1, ".");
    assert!(after.contains("was shown"), "{after}");
}

#[test]
fn what_was_asked_for_and_leads_elsewhere_is_refused() {
    let project = project_with(Lines::Files, ASKS_FOR_SECRETS);
    let link = project.dir.path().join("g");
    symlink("secrets/key", &link).unwrap();
    let line = approved(&project, "echo a; cat < g");
    assert_eq!(refusal_of(&project, &line, 1, "."), "allowed");
    fs::remove_file(&link).unwrap();
    symlink("a.txt", &link).unwrap();
    let after = refusal_of(&project, &line, 1, ".");
    assert!(after.contains("was shown"), "{after}");
}

#[test]
fn parts_that_do_not_ask_run_as_they_were_shown_too() {
    for text in
        ["cat $PWD/c.txt", "cat c.txt", "cat < c.txt", "echo $PWD", "echo a > f", "(cat) < c.txt", "NAMED=$PWD echo"]
    {
        let project = project(Lines::Files);
        let line = approved(&project, &format!("ls nosuch && cd src; {text}; wc"));
        assert_eq!(refusal_of(&project, &line, 2, "src"), "allowed", "{text}");
        let elsewhere = refusal_of(&project, &line, 2, ".");
        assert!(elsewhere.contains("was shown"), "{text}: {elsewhere}");
    }
}

#[test]
fn what_an_earlier_command_makes_runs_if_its_text_leads_there() {
    let project = project(Lines::Files);
    let root = project.dir.path();
    let line = approved(&project, "mkdir new; echo a > new/f; cat < new/f; wc a.txt; cat a.txt > f");
    fs::create_dir(root.join("new")).unwrap();
    assert_eq!(refusal_of(&project, &line, 1, "."), "allowed");
    fs::write(root.join("new/f"), "").unwrap();
    for number in [1, 2, 3, 4] {
        assert_eq!(refusal_of(&project, &line, number, "."), "allowed", "{number}");
    }
    symlink("b.txt", root.join("f")).unwrap();
    let elsewhere = refusal_of(&project, &line, 4, ".");
    assert!(elsewhere.contains("was shown"), "{elsewhere}");
}

#[test]
fn only_what_patterns_find_may_differ_from_what_was_shown() {
    let project = project(Lines::Files);
    let root = project.dir.path();
    symlink("a.txt", root.join("to")).unwrap();
    let line = approved(&project, "echo a; wc *.txt to; echo *.txt");
    fs::write(root.join("d.txt"), "d").unwrap();
    assert_eq!(refusal_of(&project, &line, 1, "."), "allowed");
    assert_eq!(refusal_of(&project, &line, 2, "."), "allowed");
    fs::remove_file(root.join("to")).unwrap();
    symlink("b.txt", root.join("to")).unwrap();
    let elsewhere = refusal_of(&project, &line, 1, ".");
    assert!(elsewhere.contains("was shown"), "{elsewhere}");
}

#[test]
fn a_part_is_recorded_at_its_turn_unless_it_was_recorded_so_before() {
    let project = project(Lines::Files);
    let recorded = |text: &str, number: usize, directory: &str| -> Vec<String> {
        let planned = project.plan(text).outcome.unwrap();
        let line = Arc::clone(planned.line());
        let mut position = planned.begin();
        position.directory = project.policy.directories().resolve_from(&position.directory, directory).unwrap();
        let turn = project.turn(&planned, line.pipelines().nth(number).unwrap(), &position);
        turn.outcome.unwrap();
        turn.parts.iter().map(|part| part.explanation.words.join(" ")).collect()
    };
    let text = "ls nosuch && cd src; echo a; echo $PWD 2>/dev/null; echo a > f; (echo) 2>/dev/null";
    let root = fs::canonicalize(project.dir.path()).unwrap();
    for number in [2, 3, 5] {
        assert!(recorded(text, number, "src").is_empty(), "{number}");
    }
    assert_eq!(recorded(text, 4, "src"), ["> f"]);
    assert_eq!(recorded(text, 2, "."), ["echo a"]);
    assert_eq!(recorded(text, 3, "."), [format!("echo {}", root.display()), "2> /dev/null".to_owned()]);
    assert_eq!(recorded(text, 4, "."), ["echo a", "> f"]);
    assert_eq!(recorded(text, 5, "."), ["2> /dev/null"]);
}
