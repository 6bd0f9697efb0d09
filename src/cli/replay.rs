//! `allowexec replay`: plays transcripts against fresh servers and shows what differs.
//!
//! What it prints holds nothing that changes from run to run.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::error::CliError;
use super::signals::{Interrupt, Signals};
use super::{Outcome, played, print, print_json, stdio};
use crate::config::Surroundings;
use crate::exec::own_descendants;
use crate::transcript::{Comparison, Placeholders, Transcript};

/// What was asked for beside the files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Options {
    /// Rewrite what differs.
    pub update: bool,
    /// Print JSON.
    pub json: bool,
    /// Play there instead of in a fresh directory.
    pub directory: Option<String>,
}

/// What became of one file.
enum Verdict {
    Same,
    Different {
        line: Option<usize>,
        diff: String,
    },
    Updated,
    /// The header says that it does not play on this platform.
    Elsewhere,
    /// It can't be read, parsed, set up or written.
    Broken(String),
}

pub(super) fn run(files: &[String], options: &Options) -> Result<Outcome, CliError> {
    own_descendants();
    let interrupt = Signals::catch().and_then(Interrupt::new).map_err(|source| CliError::Serve { source })?;
    let own = Surroundings::of_this_process()?;
    let mut verdicts = Vec::new();
    for (index, file) in files.iter().enumerate() {
        stdio::progress(&format!("[{}/{}] {file}", index + 1, files.len()));
        let verdict = replay(file, options, &own.variables, &interrupt).unwrap_or_else(Verdict::Broken);
        stdio::progress("");
        if interrupt.came() {
            return Err(CliError::Interrupted);
        }
        if !options.json {
            print(&verdict.to_text(file))?;
        }
        verdicts.push((file, verdict));
    }
    let count = |wanted: fn(&Verdict) -> bool| verdicts.iter().filter(|(_, verdict)| wanted(verdict)).count();
    let counts = [
        ("same", count(|verdict| matches!(verdict, Verdict::Same))),
        ("different", count(|verdict| matches!(verdict, Verdict::Different { .. }))),
        ("updated", count(|verdict| matches!(verdict, Verdict::Updated))),
        ("elsewhere", count(|verdict| matches!(verdict, Verdict::Elsewhere))),
        ("broken", count(|verdict| matches!(verdict, Verdict::Broken(_)))),
    ];
    if options.json {
        let files: Vec<Value> = verdicts.iter().map(|(file, verdict)| verdict.to_json(file)).collect();
        let mut summary: serde_json::Map<String, Value> =
            counts.iter().map(|(name, count)| ((*name).to_owned(), json!(count))).collect();
        summary.insert("files".to_owned(), files.into());
        print_json(&summary.into())?;
    } else {
        let parts = counts.iter().filter(|(name, count)| *count > 0 || *name == "same");
        let parts: Vec<String> = parts.map(|(name, count)| format!("{count} {}", in_words(name))).collect();
        print(&format!("{} of {}\n", parts.join(", "), files.len()))?;
    }
    let broken = verdicts.into_iter().find_map(|(_, verdict)| match verdict {
        Verdict::Broken(why) => Some(why),
        Verdict::Same | Verdict::Different { .. } | Verdict::Updated | Verdict::Elsewhere => None,
    });
    match broken {
        Some(why) => Err(CliError::Transcript { why }),
        None if counts.iter().any(|(name, count)| *name == "different" && *count > 0) => Ok(Outcome::Bad),
        None => Ok(Outcome::Good),
    }
}

fn in_words(name: &str) -> &str {
    match name {
        "same" => "the same",
        "elsewhere" => "for other platforms",
        other => other,
    }
}

/// Plays one file. The error is for people, and names the file.
fn replay(
    file: &str,
    options: &Options,
    own: &BTreeMap<OsString, OsString>,
    interrupt: &Interrupt,
) -> Result<Verdict, String> {
    let failed = |error: io::Error| format!("{file}: {error}");
    let text = fs::read(file).map_err(failed)?;
    let transcript = Transcript::parse(file, &text).map_err(|error| error.to_string())?;
    if !transcript.header.plays_here() {
        return Ok(Verdict::Elsewhere);
    }
    let place = Place::new(options.directory.as_deref()).map_err(failed)?;
    if place.is_given && !transcript.header.setup().is_empty() {
        return Err(format!("{file}: `setup` makes files in a fresh directory, so it does not play with `--in`"));
    }
    let placeholders = Placeholders::with_tmp(&place.path).map_err(failed)?;
    for setup in transcript.header.setup() {
        setup.make(&place.path, &placeholders).map_err(|error| format!("{file}: setup: {setup}: {error}"))?;
    }
    let played = played::play(&transcript, &place.path, &placeholders, own, interrupt).map_err(failed)?;
    // The parser has taken it for UTF-8.
    let text = String::from_utf8_lossy(&text);
    let comparison = Comparison::new(file, &text, &transcript, &played, &placeholders);
    if options.update && !interrupt.came() {
        if let Some(updated) = comparison.updated() {
            fs::write(file, updated).map_err(failed)?;
            return Ok(Verdict::Updated);
        }
    }
    Ok(match comparison.is_same() {
        true => Verdict::Same,
        false => Verdict::Different { line: comparison.line(), diff: comparison.unified() },
    })
}

impl Verdict {
    fn to_text(&self, file: &str) -> String {
        match self {
            Self::Same => String::new(),
            Self::Different { line, diff } => {
                let line = line.map_or_else(String::new, |line| format!(":{line}"));
                format!("{file}{line}: different\n{diff}")
            }
            Self::Updated => format!("{file}: updated\n"),
            Self::Elsewhere => format!("{file}: not for this platform\n"),
            Self::Broken(why) => format!("{why}\n"),
        }
    }

    fn to_json(&self, file: &str) -> Value {
        match self {
            Self::Same => json!({"file": file, "verdict": "same"}),
            Self::Different { line, diff } => {
                json!({"file": file, "verdict": "different", "line": line, "diff": diff})
            }
            Self::Updated => json!({"file": file, "verdict": "updated"}),
            Self::Elsewhere => json!({"file": file, "verdict": "elsewhere"}),
            Self::Broken(why) => json!({"file": file, "verdict": "broken", "error": why}),
        }
    }
}

/// Where a transcript plays. A fresh directory goes with it.
struct Place {
    path: PathBuf,
    is_given: bool,
}

impl Place {
    fn new(given: Option<&str>) -> io::Result<Self> {
        if let Some(path) = given {
            return Ok(Self { path: dunce::canonicalize(path)?, is_given: true });
        }
        let base = std::env::temp_dir();
        // Names are taken by making them, so that two replays at once never share one.
        for number in 0_u32..10_000 {
            let path = base.join(format!("allowexec-replay-{}-{number}", std::process::id()));
            match make_private(&path) {
                Ok(()) => return Ok(Self { path, is_given: false }),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::Error::new(io::ErrorKind::AlreadyExists, format!("no free name in `{}`", base.display())))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if !self.is_given {
            // What a transcript has made unremovable stays, and hides nothing that was played.
            fs::remove_dir_all(&self.path).ok();
        }
    }
}

fn make_private(path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    return std::os::unix::fs::DirBuilderExt::mode(&mut fs::DirBuilder::new(), 0o700).create(path);
    #[cfg(not(unix))]
    fs::create_dir(path)
}
