//! The texts of `--help` about the subcommands of the workbench.

use crate::cli::name::Name;

/// Their part of the list of subcommands.
pub(in crate::cli) const COMMANDS: &str = "\n\
    To prepare, to test and to look back:\n  \
      policy ACTION             show the shipped profiles; test, explain, compare, suggest and import policies\n  \
      init                      write a starter configuration and policy for the project here\n  \
      setup CLIENT              print what to do so that a client starts this server\n  \
      doctor                    say what is allowed, what is risky and what to change\n  \
      record -- COMMAND...      pass messages between a client and any server, and record them\n  \
      replay FILE...            play recorded transcripts against fresh servers, and show what differs\n  \
      review FILE...            play them, and ask which of the differences to accept\n  \
      mock FILE                 answer a client from a transcript, and run nothing\n  \
      lint FILE...              check recorded sessions against the protocol\n  \
      report FILE...            make a page about what was run, from audit logs or transcripts\n  \
      schema WHICH              print the JSON schema of the configuration file or of policies, for editors\n  \
      completions SHELL         print completions for bash, zsh, fish or powershell\n  \
      man                       print the manual page\n";

/// The usage and the explanation of one of them.
pub(in crate::cli) fn words(about: Name) -> (&'static str, &'static str) {
    match about {
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
            "Prints whether the configuration is sound, what is wrong or risky in it, and what it amounts to. With `--json` also\n\
             each setting with its source, and all that this platform can enforce.\n\
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
            "allowexec setup CLIENT [--hook] [--snippet] [--json] [OPTIONS]",
            "Prints what to do so that a client starts this server with the flags given: the client's own command, or what goes\n\
             into its file, and where that is on this system. Relative paths are made absolute. It edits no file.\n\
             The clients are claude-code, claude-desktop, codex, copilot, cursor, gemini, opencode, vscode and zed.\n\
             --hook prints how the agent's own shell asks `allowexec hook` before it runs a line, with the same settings.\n\
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
        Name::Program
        | Name::Serve
        | Name::Call
        | Name::Check
        | Name::Run
        | Name::Hook
        | Name::Tools
        | Name::Lock
        | Name::Audit => ("", ""),
    }
}
