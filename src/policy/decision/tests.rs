use super::*;

fn decided(allowed: &[&str], line: &str, directory: Result<WorkingDirectory, DirectoryError>) -> Decision {
    let allow = AllowList::new(allowed.iter().map(|&name| name.to_owned()));
    let command = CommandLine::parse(line);
    let rule = command.as_ref().ok().and_then(|command| allow.find(command.word()));
    let facts = Facts {
        rule,
        directory,
        program: None,
        untrusted: None,
        judged: None,
        has_input: false,
        variables: Default::default(),
    };
    decide(&allow, command, facts, Approved::default())
}

fn refusal(allowed: &[&str], line: &str) -> String {
    let directory = WorkingDirectory::open(Path::new("/")).map_err(|_| DirectoryError::NoRoots);
    decided(allowed, line, directory).outcome.unwrap_err().to_string()
}

#[test]
fn a_refusal_says_what_was_wrong_and_what_is_allowed() {
    assert_eq!(refusal(&["ls"], "pwd"), "command `pwd` is not allowed; allowed commands: ls");
    assert_eq!(
        refusal(&["ls", "cat"], "/bin/ls -l"),
        "command `/bin/ls` is not allowed; call it by its name alone, `ls`; allowed commands: ls, cat"
    );
    assert_eq!(
        refusal(&[], "ls"),
        "command `ls` is not allowed; no command is allowed yet: the operator names them with `--allow` or `ALLOWED_COMMANDS`"
    );
    assert_eq!(
        refusal(&["ls"], "cd web"),
        "command `cd` is not allowed; choose the directory of each call with `cwd`; allowed commands: ls"
    );
    assert_eq!(
        refusal(&["ls"], "FOO=1 ls"),
        "command `FOO=1` is not allowed; a call can't set variables (the operator can, with `--env`); leave it out, and \
         begin with an allowed command: ls"
    );
    assert_eq!(
        refusal(&["ls"], "\"ls -l\""),
        "command `ls -l` is not allowed; put its arguments into `args`, separate from its name `ls`, or remove the quotes \
         around the whole command; allowed commands: ls"
    );
    assert!(refusal(&["*"], "\"lx -l\"").contains("was not found; put its arguments into `args`"));
    assert_eq!(
        refusal(&["cd"], "cd web"),
        "command `cd` is not a program here; choose the directory of each call with `cwd`"
    );
    assert!(
        refusal(&["./lx"], "./lx").starts_with("command `./lx` was not found: no executable file is at `./lx`. Note")
    );
    assert!(refusal(&["ls"], "a-b=1").ends_with("is not allowed; allowed commands: ls"));
    assert!(refusal(&["cargo"], "cargo test 2>&1").contains("standard error is returned already"));
    assert_eq!(
        refusal(&["lx"], "lx"),
        "command `lx` was not found in the directories of the server's PATH. Note: This tool does not support \
         interactive commands. Ensure the command is non-interactive and the executable exists."
    );
}

#[test]
fn what_is_not_on_the_list_is_refused_whatever_the_directory_is() {
    let decision = decided(&["ls"], "rm x", Err(DirectoryError::NoRoots));
    assert!(matches!(decision.outcome, Err(Refusal::NotAllowed { .. })));
    let decision = decided(&["ls"], "ls x", Err(DirectoryError::NoRoots));
    assert!(matches!(decision.outcome, Err(Refusal::Directory(DirectoryError::NoRoots))));
    assert_eq!(decision.explanation.rule, Some(Rule::Entry("ls".to_owned())));
}
