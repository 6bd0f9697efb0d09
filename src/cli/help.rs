//! The texts of `--help`. The settings' part comes from the table of the settings.

use super::arguments::{Name, takes_settings};
use crate::config;

/// The help for the program or for one of its subcommands.
pub(super) fn text(about: Name) -> String {
    let (usage, what) = words(about);
    if !takes_settings(about) {
        return format!(
            "{what}\n\nUsage: {usage}\n\nOther:\n  -h, --help                  print this help\n  -V, --version               print the \
             version\n"
        );
    }
    format!(
        "{what}\n\nUsage: {usage}\n\nA flag beats its variable, which beats the file, which beats the default.\n\n{}\n\
         Other:\n  -h, --help                  print this help\n  -V, --version               print the version\n",
        config::help()
    )
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
            "An MCP server that runs only the commands its operator allows, on standard input and output.\n\n\
             Commands:\n  \
               serve                     serve MCP until standard input ends (the default)\n  \
               call TOOL [JSON]          run one tool as a client's call would, and print its result\n  \
               check -- COMMAND...       say what would be decided for a command, and why; run nothing\n  \
               tools                     print the tools that a client would see\n  \
               replay FILE...            play recorded transcripts against fresh servers, and show what differs\n  \
               mock FILE                 answer a client from a transcript, and run nothing\n  \
               doctor                    print the resolved configuration, and what this platform can enforce\n  \
               completions SHELL         print completions for bash, zsh, fish or powershell\n  \
               man                       print the manual page\n\n\
             Try:  allowexec call execute_command '{\"command\":\"echo hello\"}' --allow echo",
        ),
        Name::Serve => (
            "allowexec serve [OPTIONS]",
            "Serves MCP on standard input and output until standard input ends: one JSON-RPC message a line.\n\
             Exit status: 0, or 2 for a wrong flag or configuration.",
        ),
        Name::Call => (
            "allowexec call TOOL [JSON] [--json] [OPTIONS]",
            "Runs one tool with the arguments in JSON, by the very path that a client's call takes, and prints the text of\n\
             its result; with --json the whole result.\n\
             Exit status: 0, 1 where the result is an error, 2 for a wrong flag, tool or configuration.",
        ),
        Name::Check => (
            "allowexec check [--in DIR] [--json] [OPTIONS] -- COMMAND...",
            "Says what would be decided for a call of the command with `cwd` DIR, by which rule, and why; runs nothing.\n\
             One argument is a command line, as `execute_command` gets it; several are a program and its arguments,\n\
             as `execute_process` gets them. With --tools shell it is a call of that command's tool on the\n\
             persistent shell, which stands in DIR.\n\
             Exit status: 0 allowed, 1 refused, 2 for a wrong flag or configuration.",
        ),
        Name::Tools => (
            "allowexec tools [--json] [OPTIONS]",
            "Prints the tools that a client would see, as a table or as the list that clients get.\n\
             Exit status: 0, or 2 for a wrong flag or configuration.",
        ),
        Name::Replay => (
            "allowexec replay FILE... [--update] [--json] [--in DIR]",
            "Plays transcripts, such as `allowexec serve --record FILE` writes, each against a fresh server with the\n\
             arguments and variables of its header, in a fresh directory, and shows what differs as a unified diff.\n\
             The commands in a transcript really run: play only those that you trust.\n\n\
             --update    write what happened into the files; a wait that was not met is never written\n\
             --json      print the verdicts as JSON\n\
             --in DIR    play in that directory, with the files that are there\n\n\
             Exit status: 0 all the same or updated, 1 something differs, 2 for a broken transcript or a wrong flag.",
        ),
        Name::Mock => (
            "allowexec mock FILE",
            "Answers a client on standard input and output from a transcript, and runs nothing. Requests may come in any\n\
             order, with ids of their own; one that the transcript does not hold gets an error that names the nearest.\n\
             Exit status: 0 at the end of the input, 2 for a broken transcript or a wrong flag.",
        ),
        Name::Doctor => (
            "allowexec doctor [--json] [OPTIONS]",
            "Prints the resolved configuration with the source of each value, what is wrong or risky in it, and what this\n\
             platform can enforce.\n\
             Exit status: 0 sound, 1 a problem that it names, 2 for a wrong flag or configuration.",
        ),
        Name::Completions => (
            "allowexec completions bash|zsh|fish|powershell",
            "Prints what completes the command line in a shell.\n\
             Exit status: 0, or 2 for an unknown shell.",
        ),
        Name::Man => (
            "allowexec man",
            "Prints the manual page, for `man -l` or for a file allowexec.1.\n\
             Exit status: 0.",
        ),
    }
}
