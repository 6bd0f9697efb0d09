//! Command lines, and the errors for wrong ones.

use super::*;
use crate::cli::workbench::Subcommand as Work;
use crate::cli::workbench::completions::Shell;
use crate::cli::workbench::policy::{Action, Format};
use crate::cli::workbench::{mock, replay, review, setup};

fn parse(arguments: &str) -> Result<Subcommand, String> {
    let words = shlex::split(arguments).unwrap().into_iter().map(OsString::from);
    Arguments::parse(words).map(|arguments| arguments.subcommand).map_err(|error| error.to_string())
}

#[test]
fn subcommands_take_their_own_words_and_the_settings_anywhere() {
    assert_eq!(parse(""), Ok(Subcommand::Serve));
    assert_eq!(parse("--allow ls"), Ok(Subcommand::Serve));
    assert_eq!(parse("--allow=ls serve --timeout 5s"), Ok(Subcommand::Serve));
    assert_eq!(parse("doctor --json --allow ls"), Ok(Subcommand::Workbench(Work::Doctor { json: true })));
    let call = Subcommand::Call { tool: "t".into(), arguments: Some("{}".into()), json: false };
    assert_eq!(parse("--allow ls call t --structured {}"), Ok(call));
    let check = |directory: Option<&str>, command: &[&str]| {
        let command = command.iter().map(|&word| word.to_owned()).collect();
        Ok(Subcommand::Check { directory: directory.map(str::to_owned), command, with_input: false, json: false })
    };
    assert_eq!(parse("check --allow ls --in sub -- ls --json -l"), check(Some("sub"), &["ls", "--json", "-l"]));
    assert_eq!(parse("check -- 'ls -l'"), check(None, &["ls -l"]));
    assert_eq!(parse("call --help all"), Ok(Subcommand::Help(Name::Call, Length::Long)));
    assert_eq!(parse("call -h"), Ok(Subcommand::Help(Name::Call, Length::Short)));
    assert_eq!(parse("help call"), Ok(Subcommand::Help(Name::Call, Length::Short)));
    assert_eq!(parse("call --help"), Ok(Subcommand::Help(Name::Call, Length::Short)));
    assert_eq!(parse("help call all"), Ok(Subcommand::Help(Name::Call, Length::Long)));
    assert_eq!(parse("help"), Ok(Subcommand::Help(Name::Program, Length::Short)));
    assert_eq!(parse("help all"), Ok(Subcommand::Help(Name::Program, Length::Long)));
    assert_eq!(parse("--help=all"), Ok(Subcommand::Help(Name::Program, Length::Long)));
    let options = setup::Options::default();
    let client = setup::Client::Zed;
    assert_eq!(parse("setup zed --allow ls"), Ok(Subcommand::Workbench(Work::Setup { client, options })));
    assert_eq!(parse("setup --list --json"), Ok(Subcommand::Workbench(Work::SetupList { json: true })));
    assert_eq!(parse("completions fish"), Ok(Subcommand::Workbench(Work::Completions(Shell::Fish))));
    assert_eq!(parse("man"), Ok(Subcommand::Workbench(Work::Man)));
    assert_eq!(parse("-h"), Ok(Subcommand::Help(Name::Program, Length::Short)));
    let pass_env = ["A", "B", "C"].map(str::to_owned).to_vec();
    let rewriting = replay::Rewriting::Writes;
    let directory = Some("d".into());
    let options = replay::Options { rewriting, json: true, directory, pass_env, ..replay::Options::default() };
    let files = vec!["a".to_owned(), "b".to_owned()];
    let replay = "replay a --update --pass-env A,B --json --in d --pass-env=C b";
    assert_eq!(parse(replay), Ok(Subcommand::Workbench(Work::Replay { files, options })));
    let playing = replay::Options { strict: true, directory: Some("d".into()), ..replay::Options::default() };
    let options = review::Options { playing, decision: review::Decision::Accept };
    let review = "review a --accept --strict --in d";
    assert_eq!(parse(review), Ok(Subcommand::Workbench(Work::Review { files: vec!["a".into()], options })));
    let policy = |words: &str| match parse(words)? {
        Subcommand::Workbench(Work::Policy { action, json: true }) => Ok(action),
        other => Err(format!("{other:?}")),
    };
    assert_eq!(policy("policy show --json a"), Ok(Action::Show { names: vec!["a".into()] }));
    let test = Action::Test { files: vec!["p".into()], cases: vec!["c".into(), "d".into()] };
    assert_eq!(policy("policy test --cases c p --json --cases=d"), Ok(test));
    let explain =
        Action::Explain { directory: Some("d".into()), command: vec!["ls".into(), "--json".into()], with_input: true };
    assert_eq!(policy("policy --json explain --in d --with-input -- ls --json"), Ok(explain));
    let diff = Action::Diff { old: "a".into(), new: "b".into(), transcripts: vec!["t".into()] };
    assert_eq!(policy("policy diff a b t --json"), Ok(diff));
    assert_eq!(policy("policy suggest t --json"), Ok(Action::Suggest { transcripts: vec!["t".into()] }));
    let import = Action::Import { format: Format::Codex, files: vec!["a".into(), "b".into()] };
    assert_eq!(policy("policy import codex a b --json"), Ok(import));
    assert_eq!(
        parse("mock a"),
        Ok(Subcommand::Workbench(Work::Mock { file: "a".into(), options: mock::Options::default() }))
    );
    assert_eq!(parse("--version"), Ok(Subcommand::Version));
}

#[test]
fn a_mistake_is_named_with_what_would_be_right() {
    let check = |arguments: &str, expected: &str| assert_eq!(parse(arguments).unwrap_err(), expected, "{arguments}");
    let commands = "serve, call, check, run, hook, tools, lock, audit, policy, init, setup, doctor, record, replay, review, mock, lint, report, schema, completions, man";
    check("srve", "unknown command `srve`; did you mean `serve`?");
    check("rep", "unknown command `rep`; did you mean `replay`?");
    check("start", &format!("unknown command `start`; the commands are {commands}"));
    check("completions ksh", "unknown shell `ksh`; did you mean `zsh`?");
    check("completions xonsh", "unknown shell `xonsh`; the shells are bash, zsh, fish, powershell");
    check("completions", "`allowexec completions` needs the name of a shell; see `allowexec completions --help`");
    check("call", "`allowexec call` needs the name of a tool; see `allowexec call --help`");
    check("check --in x", "`allowexec check` needs a command after `--`; see `allowexec check --help`");
    check("serve now", "unexpected argument `now`; `--allow now` allows a command");
    let yaml = "`--config a.yaml` reads settings from a file, and `--policy a.yaml` reads rules";
    check("doctor a.yaml", &format!("unexpected argument `a.yaml`; {yaml}"));
    check("lock a", "unexpected argument `a`; `-o a` names the lock file, and `--allow a` allows a command");
    check("init a", "unexpected argument `a`; `--to a` names another directory");
    check("setup zed -- --allow ls", "unexpected argument `--allow`; write flags before `--`");
    check("version", "unknown command `version`; did you mean `--version`?");
    // A command without `--`, and words in front of it.
    let dashes = "if it belongs to the command, write `--` before the command: `allowexec";
    check("check --allow ls ls -l", &format!("unexpected argument `-l`; {dashes} check -- ls -l`"));
    check("check ls --color=auto", &format!("unexpected argument `--color`; {dashes} check -- ls --color=auto`"));
    check("record node --a=", &format!("unexpected argument `--a`; {dashes} record -- node --a=`"));
    check("check ls --alow ls", "unknown flag `--alow`; did you mean `--allow`?");
    check("policy explain git -C x", &format!("unexpected argument `-C`; {dashes} policy explain -- git -C`"));
    check("record node --stdio", &format!("unexpected argument `--stdio`; {dashes} record -- node --stdio`"));
    let json = "the arguments of a tool are one JSON object, for instance '{\"command\":\"ls -l\"}'";
    check(
        "call execute_command ls -l",
        &format!("unexpected argument `-l`; `allowexec call` has no such flag, and {json}"),
    );
    check("call execute_command -- ls /", &format!("unexpected argument `/`; {json}"));
    let front = "write the whole command after `--`, and only flags before it";
    check("check ls -- -l", &format!("unexpected argument `ls`; {front}"));
    check("policy explain p.yaml -- ls", &format!("unexpected argument `p.yaml`; {front}"));
    check(
        "record a.transcript -- ls",
        "unexpected argument `a.transcript`; write the server's command after `--`, and `-o a.transcript` to name \
                the file to write",
    );
    assert!(parse("record ls --").is_ok() && parse("replay -- -odd").is_ok() && parse("-- serve").is_ok());
    check("replay", "`allowexec replay` needs the file of a transcript; see `allowexec replay --help`");
    check("mock a b", "unexpected argument `b`; nothing more is expected here");
    check(
        "replay a --pass-env A=b",
        "`--pass-env` takes names of variables, found `A=b`; a transcript sets values with `env:`",
    );
    check("replay a --updat", "`allowexec replay` has no flag `--updat`; did you mean `--update`?");
    check(
        "policy",
        "`allowexec policy` needs one of show, test, explain, diff, suggest and import; see `allowexec policy --help`",
    );
    check("policy shw", "unknown policy action `shw`; did you mean `show`?");
    check("policy x", "unknown policy action `x`; the policy actions are show, test, explain, diff, suggest, import");
    check("policy diff a", "`allowexec policy` needs two policies after `diff`; see `allowexec policy --help`");
    check("policy explain", "`allowexec policy` needs a command after `explain --`; see `allowexec policy --help`");
    check(
        "policy suggest",
        "`allowexec policy` needs the file of a transcript after `suggest`; see `allowexec policy --help`",
    );
    check("policy show --cases x", "`allowexec policy` has no flag `--cases`; only `allowexec policy test` has it");
    check("policy test --in x y", "`allowexec policy` has no flag `--in`; only `allowexec policy explain` has it");
    check(
        "mock a --allow ls",
        "`allowexec mock` has no flag `--allow`; its flags are `--help`, `--strict`, `--delay`, `--drop`, `--garble`, \
         `--close-after`, `--split-writes`",
    );
    check("mock a --drop 1,0", "flag `--drop`: expected a number from 1, found `0`");
    check("setup", "`allowexec setup` needs the name of a client, or `--list`; see `allowexec setup --help`");
    check("setup claud-code", "unknown client `claud-code`; did you mean `claude-code`?");
    let twice = "flag `--in` is given twice, with `a` and with `b`; give it once";
    check("check --in a --in=b -- ls", twice);
    check("replay f --in a --in b", twice);
    check("lock -o a --output b --allow ls", "flag `--output` is given twice, with `a` and with `b`; give it once");
    check("-v", "unknown flag `-v`; `-V` prints the version, and `--log debug` makes the server log more");
    check("-allow ls", "unknown flag `-allow`; did you mean `--allow`?");
    check(
        "-x",
        "unknown flag `-x`; the flags of one letter are `-h` (help) and `-V` (version), and all others begin with `--`",
    );
    let list = "unexpected argument `cargo` after `--allow git`; lists take commas: `--allow git,cargo`";
    check("--allow git cargo", list);
    check("doctor --allow git cargo", list);
    check("help start", &format!("unknown command `start`; the commands are {commands}"));
    assert!(parse("--alow ls").unwrap_err().contains("--allow"));
    assert!(parse("serve --json").is_err());
}
