//! The flags of the workbench's subcommands that are not settings.

use crate::cli::name::Name;
use crate::cli::own_flags::{OwnFlag, Value, flag};

/// The subcommands that play transcripts.
const PLAYED: &[Name] = &[Name::Replay, Name::Review];

pub(in crate::cli) const FLAGS: &[OwnFlag] = &[
    flag("json", &[Name::Policy, Name::Doctor, Name::Setup, Name::Replay, Name::Lint], Value::None, "Print JSON"),
    flag("to", &[Name::Init], Value::Directory, "Write the files there"),
    flag("force", &[Name::Init], Value::None, "Also for a home directory, or the root of the file system"),
    flag("list", &[Name::Setup], Value::None, "Say which clients are found on this system"),
    flag(
        "snippet",
        &[Name::Setup],
        Value::None,
        "Print the part of the client's file, even if the client has a command",
    ),
    flag("hook", &[Name::Setup], Value::None, "Print how the agent's own shell asks before it runs a line"),
    flag("in", &[Name::Policy], Value::Directory, "The directory that the call would name"),
    flag("with-input", &[Name::Policy], Value::None, "Ask about a call that has input"),
    flag("cases", &[Name::Policy], Value::File, "More cases to test, as JSON lines"),
    flag("in", PLAYED, Value::Directory, "Play in that directory"),
    flag("update", &[Name::Replay], Value::None, "Rewrite what differs"),
    flag("dry-run", &[Name::Replay], Value::None, "Show what would be rewritten, and write nothing"),
    flag("accept", &[Name::Review], Value::None, "Accept everything that can be accepted"),
    flag("list", &[Name::Review], Value::None, "Show what differs, and change nothing"),
    flag("schema", &[Name::Lint], Value::Directory, "The directory of the official schemas"),
    flag("strict", PLAYED, Value::None, "Allow only the differences that the transcript names"),
    flag("strict", &[Name::Mock], Value::None, "End with 1 if a request was not recorded or not sent"),
    flag("delay", &[Name::Mock], Value::Any, "Wait before each message"),
    flag("drop", &[Name::Mock], Value::Any, "Leave out the N-th message"),
    flag("garble", &[Name::Mock], Value::Any, "Cut the N-th message in the middle"),
    flag("close-after", &[Name::Mock], Value::Any, "Close the output after the N-th message"),
    flag("split-writes", &[Name::Mock], Value::None, "Write each message in pieces"),
    flag("server", PLAYED, Value::Program, "The command of another server"),
    flag("timeout", PLAYED, Value::Any, "How long each wait may last"),
    flag("jobs", &[Name::Replay], Value::Any, "How many transcripts are played in parallel"),
    flag("junit", &[Name::Replay], Value::File, "Write the verdicts as JUnit's XML"),
    flag("tap", &[Name::Replay], Value::None, "Print the verdicts as TAP"),
    flag("pass-env", PLAYED, Value::Any, "Pass these variables of yours to servers"),
    flag("output", &[Name::Record, Name::Report], Value::File, "The file to write"),
    flag("dir", &[Name::Record], Value::Directory, "Write a file for each session in this directory"),
    flag("force", &[Name::Record, Name::Report], Value::None, "Replace an existing file"),
    flag("force", &[Name::Serve], Value::None, "Replace an existing file of `--record`"),
    flag("required", &[Name::Record], Value::None, "End the session when it can't be recorded any more"),
    flag("timing", &[Name::Record], Value::None, "Write the time before each line"),
];
