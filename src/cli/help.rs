//! The texts of `--help`. The part about the settings comes from the table of settings.

use super::name::Name;
use super::own_flags::{self, OwnFlag, Value};
use super::workbench;
use crate::config;

/// How much of the help is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Length {
    /// What the command does, and its own flags.
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
        "{what}{commands}\n\nUsage: {usage}\n\nFlags:\n{}  -h, --help                  print this help; -h the short one\n  \
         -V, --version               print the version\n",
        listed.unwrap_or_default()
    );
    match (about.takes_settings(), length) {
        (false, _) => own,
        (true, Length::Short) => {
            let command = format!("allowexec {}", about.text());
            format!("{own}\n`{} --help` also lists the settings, which this command takes too.\n", command.trim_end())
        }
        (true, Length::Long) => format!(
            "{own}\nSettings: a flag beats its variable, which beats the file, which beats the default.\n\n{}",
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
         tools                     print the tools that a client would see\n  \
         lock                      write down what the allowed programs are, or compare them\n  \
         audit ACTION              read an audit log: its head, whether it is intact, its records\n";
    let try_it = "\nTry:  allowexec call execute_command '{\"command\":\"echo hello\"}' --allow echo";
    format!("{own}{}{try_it}", workbench::COMMANDS)
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

/// What a subcommand does, in its first sentence.
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
        Name::Lock => (
            "allowexec lock [-o FILE] [--check [FILE]] [--json] [OPTIONS]",
            "Writes down what the allowed programs are, for `--lock FILE`: path, size, SHA-256, mode and owner of each program and of\n\
             the interpreters of scripts, with --sandbox strict of loaders and shared libraries too. Give it the settings that the\n\
             server gets. Without -o it is the file of `--lock`, else `allowexec.lock` here.\n\n\
             --check [FILE]     compare the file with what the programs are now, and print each difference\n\n\
             Exit status: 0 written or the same, 1 something differs, 2 for a wrong flag, configuration or lock file.",
        ),
        Name::Audit => (
            "allowexec audit head|verify|show FILE... [--json]",
            "Reads audit logs, such as `allowexec serve --audit FILE` writes. `-` means standard input.\n\n\
             head FILE                        print the number of records and the hash of the last one\n\
             verify FILE... [--head HASH] [--since-anchor FILE]\n\
             \x20                                check the chain, through the files of one log, the oldest first, and say where it\n\
             \x20                                breaks first and whether that line looks changed, inserted, out of order or cut off\n\
             show FILE... [--refused] [--call N] [--since TIME] [--program NAME]\n\
             \x20                                print the records as a table\n\n\
             --head HASH          the log must hold this hash, which `head` printed earlier\n\
             --since-anchor FILE  the log must hold the heads in this file, one a line\n\
             --refused            only what was refused, by a rule or by a person\n\
             --call N             only call N of each session\n\
             --since TIME         only records since then: `2026-11-23T05:48` (UTC), or `30m` for so long ago\n\
             --program NAME       only calls of this program, by its name or its path\n\
             --json               print JSON; `show` prints the records themselves\n\n\
             Without `--head` or `--since-anchor`, records that were cut off at the end can't be detected.\n\
             Exit status: 0 intact, 1 broken, 2 for a file that can't be read or a wrong flag.",
        ),
        name => workbench::words(name),
    }
}
