//! Plays a transcript with a fresh server in this process.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, BufReader, Read, Write};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use serde_json::Value;

use crate::cli::arguments::Arguments;
use crate::cli::error::CliError;
use crate::cli::stdio;
use crate::cli::workbench::interrupt::Interrupt;
use crate::config::{Config, ConfigError, Surroundings};
use crate::files::Beneath;
use crate::server::{DrainTime, Parts, Server};
use crate::transcript::{Entry, LineEnd, Peer, Placeholders, Player, Transcript};

/// The variables of this process that a server always gets: enough to find programs.
pub(super) const NEEDED: [&str; 2] = ["PATH", "SystemRoot"];
/// The longest wait is this much longer than the longest call, since the server itself takes time too.
const SLACK: Duration = Duration::from_secs(10);

/// The result of playing a transcript.
pub(super) struct Played {
    pub transcript: Transcript,
    /// Why the server did not answer, if that is known.
    pub problem: Option<String>,
    /// Whether the server got as far as answering. If not, what happened does not belong in a transcript.
    pub has_started: bool,
    /// The file that the server could not read, as the transcript names it.
    pub unread: Option<PathBuf>,
}

/// Plays a transcript in `directory`, which the placeholders stand for. `passed` are the variables of this process that the
/// server gets.
///
/// The server runs on this thread: it ends the orphans of its commands, which become children of the main thread. The player
/// has a thread of its own.
pub(super) fn play(
    player: Player,
    transcript: &Transcript,
    directory: &Beneath,
    placeholders: &Placeholders,
    passed: &BTreeMap<OsString, OsString>,
    timeout: Option<Duration>,
    interrupt: &Interrupt,
) -> io::Result<Played> {
    let config = configure(transcript, directory, placeholders, passed);
    let (to_server, from_player) = channel::<Vec<u8>>();
    let (to_player, from_server) = channel::<Vec<u8>>();
    let (ended, end) = channel::<i32>();
    let longest = || config.as_ref().map_or(SLACK, |config| longest_call(config, transcript) + SLACK);
    let player = player.deadline(timeout.unwrap_or_else(longest));
    let copy = transcript.clone();
    let playing = std::thread::Builder::new().name("player".into()).spawn(move || {
        let peer = Peer::over_channels(to_server, from_server, move |within| end.recv_timeout(within).ok());
        player.play(&copy, peer)
    })?;
    let (mut problem, mut unread) = (None, None);
    let parts = config.and_then(|config| {
        let parts = Parts::new(&config);
        parts.check_start()?;
        Ok(parts)
    });
    let status = match parts {
        Ok(parts) => {
            let output = Lines { lines: to_player, line: Vec::new() };
            let server = Server::new(parts, DrainTime::FOR_CLIENTS, Box::new(|_| ()), output).ending_orphans();
            let ender = server.ender();
            interrupt.watch(move || ender.end());
            server.serve(BufReader::new(Pieces { pieces: from_player, piece: Vec::new(), at: 0 })).map_or(2, |()| 0)
        }
        // As the program itself would end: with status 2, and no output.
        Err(error) => {
            if let CliError::Config(ConfigError::File { file, .. } | ConfigError::PolicyFile { file, .. }) = &error {
                unread = Some(file.clone());
            }
            problem = Some(format!("the server did not start: {}", stdio::with_causes(&error)));
            drop(to_player);
            2
        }
    };
    // If the transcript does not wait for the end, nobody receives this.
    ended.send(status).ok();
    let transcript = playing.join().map_err(|_| io::Error::other("the player failed"))?;
    Ok(Played { transcript, has_started: problem.is_none(), problem, unread })
}

/// The environment of the server: its directory as HOME, the variables that are passed on, and those of the header.
pub(super) fn variables(
    transcript: &Transcript,
    directory: &Beneath,
    placeholders: &Placeholders,
    passed: &BTreeMap<OsString, OsString>,
) -> BTreeMap<OsString, OsString> {
    let mut variables = BTreeMap::from([(OsString::from("HOME"), directory.path().into())]);
    variables.extend(passed.clone());
    let header = transcript.header.env().iter();
    variables.extend(header.map(|(name, value)| (name.into(), placeholders.fill(value).into())));
    variables
}

/// The configuration of `allowexec serve` with the arguments and variables of the header, in that directory.
///
/// Somebody else may have written the header: it may set variables, but sees only those that are passed on, and files that it
/// names must be in the directory and be reached without a link.
fn configure(
    transcript: &Transcript,
    directory: &Beneath,
    placeholders: &Placeholders,
    passed: &BTreeMap<OsString, OsString>,
) -> Result<Config, CliError> {
    let header = &transcript.header;
    let words = header.args().iter().map(|arg| OsString::from(placeholders.fill(arg)));
    let Arguments { flags, .. } = Arguments::parse(std::iter::once("serve".into()).chain(words))?;
    let variables = variables(transcript, directory, placeholders, passed);
    let surroundings = Surroundings { variables, directory: directory.path().to_owned() };
    let mut config = Config::resolve_beneath(&flags, surroundings, directory)?;
    // A replay does not belong in an audit log, and the header of a transcript must not name a file to write to.
    (config.audit.value, config.audit_anchor.value) = (None, None);
    Ok(config)
}

/// The longest that any call of the transcript may take; zero if it calls no tool.
fn longest_call(config: &Config, transcript: &Transcript) -> Duration {
    let mut sent = Vec::new();
    for entry in &transcript.entries {
        if let Entry::Send(piece) = entry {
            sent.extend_from_slice(&piece.bytes);
            if piece.end == LineEnd::Newline {
                sent.push(b'\n');
            }
        }
    }
    // A line that is not JSON is not a call.
    let lines = sent.split(|&byte| byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok());
    let messages = lines.flat_map(|line| match line {
        Value::Array(messages) => messages,
        message => vec![message],
    });
    let calls = messages.filter(|message| message.get("method").is_some_and(|method| method == "tools/call"));
    let longest = calls.map(|call| {
        let asked = call.pointer("/params/arguments/timeout_ms").and_then(Value::as_u64).map(Duration::from_millis);
        asked.map_or(config.timeout.value, |asked| asked.min(config.max_timeout.value))
    });
    longest.max().map_or(Duration::ZERO, |longest| longest + config.grace.value)
}

/// The player's pieces as a stream, which ends when the player closes its side.
struct Pieces {
    pieces: Receiver<Vec<u8>>,
    piece: Vec<u8>,
    at: usize,
}

impl Read for Pieces {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.at == self.piece.len() {
            let Ok(piece) = self.pieces.recv() else { return Ok(0) };
            (self.piece, self.at) = (piece, 0);
        }
        let count = self.piece.get(self.at..).unwrap_or_default().read(buffer)?;
        self.at += count;
        Ok(count)
    }
}

/// The server's output as lines for the player.
struct Lines {
    lines: Sender<Vec<u8>>,
    line: Vec<u8>,
}

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut rest = bytes;
        while let Some(end) = rest.iter().position(|&byte| byte == b'\n') {
            let (line, after) = rest.split_at(end + 1);
            self.line.extend_from_slice(line);
            // The player is done, like a client that has closed its end.
            let gone = |_| io::Error::from(io::ErrorKind::BrokenPipe);
            self.lines.send(std::mem::take(&mut self.line)).map_err(gone)?;
            rest = after;
        }
        self.line.extend_from_slice(rest);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn a_wait_is_as_long_as_the_longest_call_that_is_made() {
        let check = |lines: &str, expected: Duration| {
            let text = format!("transcript: 1\nargs: --timeout 20s --max-timeout 1m --grace 2s\n\n{lines}\n");
            let transcript = Transcript::parse("t", text).unwrap();
            let placeholders = Placeholders::version_only();
            let root = Beneath::open(Path::new("/")).unwrap();
            let config = configure(&transcript, &root, &placeholders, &BTreeMap::new()).unwrap();
            assert_eq!(longest_call(&config, &transcript), expected, "{lines}");
        };
        let call = |arguments: &str| {
            format!(r#"{{"id":1,"method":"tools/call","params":{{"name":"x","arguments":{{{arguments}}}}}}}"#)
        };
        check("", Duration::ZERO);
        check(r#"--> {"id":1,"method":"ping","params":{"arguments":{"timeout_ms":9000}}}"#, Duration::ZERO);
        check("--> nonsense", Duration::ZERO);
        check(&format!("--> {}", call("")), Duration::from_secs(22));
        check(&format!("--> {}", call("\"timeout_ms\":5000")), Duration::from_secs(7));
        check(&format!("--> {}", call("\"timeout_ms\":500000")), Duration::from_secs(62));
        let two = format!("--> {}\n--> [{},7]", call("\"timeout_ms\":1000"), call("\"timeout_ms\":5000"));
        check(&two, Duration::from_secs(7));
    }
}
