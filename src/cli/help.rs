//! The texts of `--help`. The part about the settings comes from the table of settings.

use super::name::Name;
use super::own_flags::{self, OwnFlag, Value};
use super::{evidence, lines, workbench};
use crate::config;

/// How much of the help is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Length {
    /// The explanation of the command, and its own flags.
    Short,
    /// The settings as well.
    Long,
}

/// The help for the program or for one of its subcommands, with the settings last.
pub(super) fn text(about: Name, length: Length) -> String {
    let (usage, what) = words(about);
    let commands = if about == Name::Program { commands() } else { String::new() };
    // Without settings, the explanation itself lists the flags.
    let listed = about.takes_settings().then(|| own_flags::of(about).map(explained).collect::<String>());
    let own = format!(
        "{what}{commands}\n\nUsage: {usage}\n\nFlags:\n{}  -h, --help [all]            print this help; with `all` all of it\n  \
         -V, --version               print the version\n",
        listed.unwrap_or_default()
    );
    match (about.takes_settings(), length) {
        (false, _) => own,
        (true, Length::Short) => {
            let command = format!("allowexec {}", about.text());
            format!(
                "{own}\n`{} --help all` also lists the settings, which this command takes too.\n",
                command.trim_end()
            )
        }
        (true, Length::Long) => format!(
            "{own}\nSettings: a flag beats its variable, which beats the file, which beats the default.\n\
             A flag for a list replaces the list of the file: beside `write: [/srv/a]`, `--write /srv/b` grants /srv/b alone.\n\n{}",
            config::help()
        ),
    }
}

/// The list of subcommands.
fn commands() -> String {
    let own = "\n\nCommands:\n  \
         serve                     serve MCP until standard input ends (the default)\n  \
         call TOOL [JSON]          run one tool as a client's call would, and print its result\n  \
         check -- COMMAND...       say what would be decided for a command, and why; run nothing\n  \
         tools                     print the tools that a client would see\n";
    let try_it = "\nTry:  allowexec call execute_command '{\"command\":\"echo hello\"}' --allow echo";
    format!("{own}{}{}{}{try_it}", lines::COMMANDS, evidence::COMMANDS, workbench::COMMANDS)
}

fn explained(flag: &OwnFlag) -> String {
    let value = match flag.value {
        Value::None => "",
        Value::Any => " VALUE",
        Value::Directory => " DIR",
        Value::File => " FILE",
        Value::Program => " COMMAND",
    };
    let mut help = flag.help.chars();
    // The lines for `--help` and `--version` begin in lower case.
    let first = help.next().into_iter().flat_map(char::to_lowercase);
    format!("  {:<26}  {}\n", format!("--{}{value}", flag.name), first.chain(help).collect::<String>())
}

/// Returns the summary of a subcommand: the beginning of its explanation.
pub(super) fn summary(about: Name) -> &'static str {
    let (_, what) = words(about);
    what.split(['\n', '.', ';', ',']).next().unwrap_or_default()
}

/// The usage and the explanation of the program or of one of its subcommands.
pub(super) fn words(about: Name) -> (&'static str, &'static str) {
    match about {
        Name::Program => (
            "allowexec [COMMAND] [OPTIONS]",
            "An MCP server that runs only the commands its operator allows, on standard input and output.",
        ),
        Name::Serve => (
            "allowexec serve [OPTIONS]",
            "Serves MCP on standard input and output until standard input ends: one JSON-RPC message per line.\n\
             Exit status: 0, or 2 for a wrong flag or configuration.",
        ),
        Name::Call => (
            "allowexec call TOOL [JSON] [--json] [OPTIONS]",
            "Runs one tool with the arguments in JSON, exactly as a client's call would, and prints the text of its result; with\n\
             --json the whole result.\n\
             Exit status: 0, 1 if the result is an error, 2 for a wrong flag, tool or configuration.",
        ),
        Name::Check => (
            "allowexec check [--in DIR] [--with-input] [--json] [OPTIONS] -- COMMAND...",
            "Says what would be decided for a call of the command with `cwd` DIR, by which rule, and why; runs nothing.\n\
             One argument is a command line, as `execute_command` gets it; several are a program and its arguments,\n\
             as `execute_process` gets them. With --tools shell it is a call of that command's tool on the\n\
             persistent shell in DIR. --with-input asks about a call that has `input`.\n\
             Exit status: 0 allowed, 1 refused, 3 if a person would have to approve it, 2 for a wrong flag or configuration.",
        ),
        Name::Tools => (
            "allowexec tools [--json] [OPTIONS]",
            "Prints the tools that a client would see, as a table or as the list that clients get.\n\
             Exit status: 0, or 2 for a wrong flag or configuration.",
        ),
        Name::Run | Name::Hook => lines::words(about),
        Name::Lock | Name::Audit => evidence::words(about),
        name => workbench::words(name),
    }
}
