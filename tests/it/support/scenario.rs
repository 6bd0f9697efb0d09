//! Plays a scenario's fixture against the real binary and compares what happened with its snapshot.

use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use allowexec::transcript::{Peer, Placeholders, Player, Transcript};

use super::server::{Server, collect, spawning, wait_with_deadline};
use super::shown::{Texts, both, lines};
use super::tap::Tap;

/// What a peer is made of: its input, its output, and its end.
pub struct Streams {
    pub input: Box<dyn Write + Send>,
    pub output: Box<dyn Read + Send>,
    pub end: Box<dyn FnMut(Duration) -> Option<i32>>,
}

/// The directory of the fixtures, of the snapshots, and of the specification.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Where a scenario's fixture stands.
pub fn fixture(root: &Path, area: &str, name: &str) -> PathBuf {
    root.join("fixtures/transcripts").join(area).join(format!("{name}.transcript"))
}

/// The body of each test of a scenario.
pub fn check(area: &str, name: &str) {
    let path = fixture(root(), area, name);
    let shown = format!("fixtures/transcripts/{area}/{name}.transcript");
    let text = fs::read(&path).unwrap_or_else(|error| panic!("{shown}: {error}"));
    let sessions = Transcript::parse_sessions(&shown, text).unwrap_or_else(|error| panic!("{error}"));
    if !sessions.iter().all(|(_, session)| session.header.plays_here()) {
        return;
    }
    let texts = Texts::read(root());
    let played = sessions.iter().map(|(_, session)| lines(&play(session, start_binary), &texts)).collect::<Vec<_>>();
    let played = match played.as_slice() {
        [legacy, modern] => both(legacy, modern),
        of_one => of_one.concat().join("\n"),
    };
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(root().join("tests/snapshots").join(area));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, played));
}

/// Plays a transcript against what `start` makes of its arguments, its variables and the fresh temporary directory, with
/// the placeholders filled, and says what happened. The tap sees all of it.
pub fn play(
    transcript: &Transcript,
    start: impl FnOnce(&[String], &[(String, String)], &Path) -> Streams,
) -> Transcript {
    let directory = tempfile::tempdir().unwrap();
    let placeholders = Placeholders::with_tmp(directory.path()).unwrap();
    let header = &transcript.header;
    {
        // Another process writes what is executed, so that no child of another thread holds it open for writing.
        let written = tempfile::tempdir().unwrap();
        let place = if cfg!(unix) { written.path() } else { directory.path() };
        let _quiet = spawning();
        for setup in header.setup() {
            setup.make(place, &placeholders).unwrap_or_else(|error| panic!("setup: {setup}: {error}"));
        }
        if cfg!(unix) {
            let from = format!("{}/.", written.path().display());
            let copied = std::process::Command::new("cp").arg("-a").arg(from).arg(directory.path()).status();
            assert!(copied.unwrap().success());
        }
    }
    let args: Vec<_> = header.args().iter().map(|arg| placeholders.fill(arg)).collect();
    let env: Vec<_> = header.env().iter().map(|(name, value)| (name.clone(), placeholders.fill(value))).collect();
    let streams = start(&args, &env, directory.path());
    let tap = Tap::default();
    let peer = Peer::over_streams(tap.writer(streams.input), tap.reader(streams.output), streams.end).unwrap();
    let played = Player::default().placeholders(placeholders).play(transcript, peer);
    tap.assert_clean();
    played
}

/// The real binary, in the temporary directory, which is its HOME too.
fn start_binary(args: &[String], env: &[(String, String)], directory: &Path) -> Streams {
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let command = Server::command(&args).dir(directory).env("HOME", directory);
    let mut child = env.iter().fold(command, |command, (name, value)| command.env(name, value)).spawn();
    let (input, output) = (Box::new(child.stdin.take().unwrap()), Box::new(child.stdout.take().unwrap()));
    let (stderr, _end) = collect(child.stderr.take().unwrap());
    let mut child = KilledOnDrop(child);
    let end = Box::new(move |deadline| {
        let status = wait_with_deadline(&mut child.0, deadline);
        // The runner shows it where the test fails.
        eprintln!("{}", String::from_utf8_lossy(&stderr.lock().unwrap()));
        status
    });
    Streams { input, output, end }
}

struct KilledOnDrop(std::process::Child);

impl Drop for KilledOnDrop {
    fn drop(&mut self) {
        // It has ended already where the transcript waited for that.
        self.0.kill().ok();
        self.0.wait().ok();
    }
}
