//! The texts of `--help`. The part about the settings comes from the table of settings.

use super::name::Name;
use super::own_flags::{self, OwnFlag, Value};
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
    // Without settings, the explanation itself lists the flags.
    let listed = about.takes_settings().then(|| own_flags::of(about).map(explained).collect::<String>());
    let own = format!(
        "{what}\n\nUsage: {usage}\n\nFlags:\n{}  -h, --help                  print this help; -h the short one\n  \
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
            "An MCP server that runs only the commands its operator allows, on standard input and output.\n\n\
             Commands:\n  \
               serve                     serve MCP until standard input ends (the default)\n  \
               call TOOL [JSON]          run one tool as a client's call would, and print its result\n  \
               check -- COMMAND...       say what would be decided for a command, and why; run nothing\n  \
               policy ACTION             show the shipped profiles; test, explain, compare, suggest and import policies\n  \
               tools                     print the tools that a client would see\n  \
               lock                      write down what the allowed programs are, or compare them\n  \
               record -- COMMAND...      pass messages between a client and any server, and record them\n  \
               replay FILE...            play recorded transcripts against fresh servers, and show what differs\n  \
               review FILE...            play them, and ask which of the differences to accept\n  \
               mock FILE                 answer a client from a transcript, and run nothing\n  \
               lint FILE...              check recorded sessions against the protocol\n  \
               audit ACTION              read an audit log: its head, whether it is intact, its records
  \
               report FILE...            make a page about what was run, from audit logs or transcripts
  \
               doctor                    say what is allowed, what is risky and what to change\n  \
               init                      write a starter configuration and policy for the project here\n  \
               schema WHICH              print the JSON schema of the configuration file or of policies, for editors\n  \
               setup CLIENT              print what to do so that a client starts this server\n  \
               completions SHELL         print completions for bash, zsh, fish or powershell\n  \
               man                       print the manual page\n\n\
             Try:  allowexec call execute_command '{\"command\":\"echo hello\"}' --allow echo",
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
        Name::Policy => (
            "allowexec policy show|test|explain|diff|suggest|import [--json] [OPTIONS]",
            "Shows, tests, explains, compares and suggests rules for arguments (`--policy`, `--profile`). Runs no command.\n\n\
             show [NAME...]                   list the shipped profiles, or print them so that you can copy and change them\n\
             test [FILE...] [--cases FILE]    run the examples of policies, and JSON lines {\"argv\", \"expect\", \"cwd\",\n\
             \x20                                \"input\"}; report forms and options that none of them uses\n\
             explain [--in DIR] [--with-input] -- COMMAND...\n\
             \x20                                what each word means, what is inserted, and how the call would run\n\
             diff OLD NEW [TRANSCRIPT...]     what NEW allows and refuses that OLD does not, tried with the examples of both,\n\
             \x20                                recorded calls and each option once\n\
             suggest TRANSCRIPT...            the narrowest rules for the refused calls of recorded sessions\n\
             suggest -- COMMAND...            the same for one command\n\
             import FORMAT FILE...            a policy for what another tool allows (claude, codex, gemini or opencode), and as\n\
             \x20                                comments all that was not taken\n\n\
             Exit status: 0; 1 if an example fails, a command is refused, NEW allows more or something was not taken;\n\
             3 if a person would have to approve the command; 2 for a wrong flag, policy or file.",
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
        Name::Record => (
            "allowexec record [-o FILE | --dir DIR] [--force] [--timing] [--required] -- COMMAND...",
            "Starts a server and passes every byte unchanged between it and the client on standard input and output. The session\n\
             is written as a transcript. The server's standard error is passed on too, and written as comments.\n\n\
             -o, --output FILE  the file; without it, and without --dir, `%c-%t-%p.transcript` here\n\
             --dir DIR          write a file `%c-%t-%p.transcript` in this directory, which is made if it is missing\n\
             --force            replace an existing file, which is otherwise an error\n\
             --timing           write the time before each line, as a comment\n\
             --required         end the session when it can't be recorded any more\n\n\
             In names %t is the time, %p the number of the process, %c the client's name for itself, and %% is %.\n\
             Exit status: the server's, 128 plus the signal's number if a signal ended it; 2 if the session can't be\n\
             recorded or the server can't be started.",
        ),
        Name::Replay => (
            "allowexec replay FILE|DIR|-... [--server 'COMMAND...'] [--update] [--json] [OPTIONS]",
            "Plays recorded sessions (transcripts, as `allowexec record` writes them), each against a fresh server in a fresh\n\
             directory, and shows what differs as a unified diff. The header of a transcript says how its server is started;\n\
             if it names none, the server is allowexec. A directory means all files `*.transcript` in it, `-` means standard\n\
             input; several are played in parallel.\n\
             The commands in a transcript really run: play only those that you trust.\n\n\
             --server COMMAND   start this server instead of the one in the header\n\
             --update           write what happened into the files, except waits that were not met, and except files whose\n\
             \x20                  server did not start\n\
             --dry-run          show what would be written, and write nothing\n\
             --strict           allow only the differences that the transcript names; otherwise capabilities, versions,\n\
             \x20                  progress, times and the order of messages may differ\n\
             --json, --tap      print the verdicts as JSON, or in the Test Anything Protocol\n\
             --junit FILE       write the verdicts as JUnit's XML, in place of those of an earlier run\n\
             --timeout TIME     how long each wait may last; default: 10s plus the longest call\n\
             --jobs N           how many are played in parallel; default: the number of processors\n\
             --in DIR           play in that directory, with its files\n\
             --pass-env NAMES   pass these variables of yours to the servers, which otherwise get only PATH\n\n\
             Exit status: 0 all the same or updated, 1 something differs, 2 for a broken transcript, a server that can't be\n\
             started or a wrong flag.",
        ),
        Name::Review => (
            "allowexec review FILE|DIR... [--accept | --list] [--server 'COMMAND...'] [OPTIONS]",
            "Plays transcripts as `allowexec replay` does, one after the other, shows what differs, and asks for each file whether\n\
             that is right from now on. What is accepted is written into the file as it was shown; what is rejected stays a\n\
             difference. A server that does not start and a wait that was not met can't be accepted.\n\
             Without a terminal nobody is asked, and nothing is changed.\n\n\
             --accept           accept everything that can be accepted, and ask nobody\n\
             --list             show what differs, and change nothing, on a terminal too\n\
             --server COMMAND   start this server instead of the one in the header\n\
             --strict           allow only the differences that the transcript names; otherwise capabilities, versions,\n\
             \x20                  progress, times and the order of messages may differ\n\
             --timeout TIME     how long each wait may last; default: 10s plus the longest call\n\
             --in DIR           play in that directory, with its files\n\
             --pass-env NAMES   pass these variables of yours to the servers, which otherwise get only PATH\n\n\
             Exit status: 0 if nothing differs that was not accepted, 1 if something does, 2 for a broken transcript, a server\n\
             that can't be started or a wrong flag.",
        ),
        Name::Lint => (
            "allowexec lint FILE|DIR|-... [--schema DIR] [--json]",
            "Checks recorded sessions against the protocol: framing, ids, lifecycle, capabilities, progress, cancellation, and\n\
             with `--schema` each message against the official schema of its revision. It runs nothing.\n\n\
             --schema DIR       the directory `schema` of the specification's repository, with REVISION/schema.json\n\
             --json             print the findings as JSON\n\n\
             Exit status: 0 clean, 1 findings, 2 for a broken transcript, a schema that can't be read or a wrong flag.",
        ),
        Name::Mock => (
            "allowexec mock FILE [--strict] [--delay TIME] [--drop N] [--garble N] [--close-after N] [--split-writes]",
            "Answers a client on standard input and output from a transcript, and runs nothing. Requests may come in any\n\
             order, with ids of their own. One that the transcript does not contain gets an error that names the nearest one; one\n\
             that comes again gets the last answer again.\n\n\
             --strict           answer each line only as often as it was recorded, and report what the client did not send\n\
             --delay TIME       wait before each message\n\
             --drop N           leave out the N-th message to the client; N may be a list, such as 3,5\n\
             --garble N         cut the N-th message in the middle; N may be a list\n\
             --close-after N    close the output after the N-th message, and end\n\
             --split-writes     write each message in pieces\n\n\
             Exit status: 0 at the end of the input, 1 if `--strict` found something, 2 for a broken transcript, one with a\n\
             wait that has no message, or a wrong flag.",
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
        Name::Report => (
            "allowexec report FILE... [-o FILE] [--force]",
            "Makes one page of HTML from audit logs (the files of one log in their order, the oldest first) and transcripts:\n\
             each call with its rule, its question, its end, its time and its output, with filters and a search. The page needs\n\
             no network and no other file. For audit logs it says whether the chain is intact.\n\n\
             -o, --output FILE  write it there; without it, or with `-`, to standard output\n\
             --force            replace an existing file, which is otherwise an error\n\n\
             Exit status: 0, or 2 for a file that can't be read or written, or a wrong flag.",
        ),
        Name::Doctor => (
            "allowexec doctor [--json] [OPTIONS]",
            "Prints the resolved configuration with the source of each value, what is wrong or risky in it, and what this\n\
             platform can enforce.\n\
             Exit status: 0 sound, 1 a problem that it names, 2 for a wrong flag or configuration.",
        ),
        Name::Init => (
            "allowexec init [--to DIR] [--force]",
            "Writes a starter configuration, `allowexec.yaml`, and a policy, `allowexec-policy.yaml`, for the project in the\n\
             current directory: profiles for what it uses (Rust, Node, Python, Go, Make), the scripts of package.json and the\n\
             targets of the Makefile by name, a sandbox, and what the sandbox has to grant. Their JSON schemas, which editors\n\
             complete and check them with, go to the directory `.allowexec` beside them.\n\n\
             --to DIR           write the files to DIR; if that is outside of the project, where commands can't change them,\n\
             \x20                  commands may write to the whole project\n\
             --force            also for a home directory, or the root of the file system\n\n\
             In a subdirectory, the project is the nearest directory above that holds its files. What builds and tests write is\n\
             made (`target`, `dist`, the caches of pytest, mypy and ruff), and an empty `Cargo.lock`, since the sandbox grants\n\
             only what exists.\n\n\
             Exit status: 0, 1 if one of the files already exists or the directory is no project, 2 if they can't be written.",
        ),
        Name::Schema => (
            "allowexec schema config|policy",
            "Prints the JSON schema (draft 7) of the file that --config names, or of policies, for editors that complete and check\n\
             YAML. An editor with the YAML language server reads its path on the first line of the file:\n\
             # yaml-language-server: $schema=PATH\n\n\
             Exit status: 0, or 2 for an unknown word.",
        ),
        Name::Setup => (
            "allowexec setup CLIENT [--snippet] [--json] [OPTIONS]",
            "Prints what to do so that a client starts this server with the flags given: the client's own command, or what goes\n\
             into its file, and where that is on this system. Relative paths are made absolute. It edits no file.\n\
             The clients are claude-code, claude-desktop, codex, copilot, cursor, gemini, opencode, vscode and zed.\n\
             Lines that begin with `# ` explain; the rest can be run, or put into the file, as it is.\n\
             Exit status: 0, or 2 for an unknown client, a wrong flag or configuration.",
        ),
        Name::Completions => (
            "allowexec completions bash|zsh|fish|powershell",
            "Prints the completion script for a shell.\n\
             Exit status: 0, or 2 for an unknown shell.",
        ),
        Name::Man => (
            "allowexec man",
            "Prints the manual page, for `man -l` or for a file allowexec.1.\n\
             Exit status: 0.",
        ),
    }
}
