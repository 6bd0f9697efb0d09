//! Plays several transcripts in parallel, each in a process of its own; the verdicts come in the order of the files.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;

use super::replay::{Options, Rewriting};
use super::started;
use super::verdicts::ReplayVerdict;
use crate::cli::error::CliError;
use crate::cli::stdio;
use crate::cli::workbench::interrupt::Interrupt;
use crate::text::escape_bytes;

/// Plays the files, and calls `said` with each verdict, in the order of the files.
pub(super) fn replay(
    files: &[String],
    options: &Options,
    interrupt: &Interrupt,
    mut said: impl FnMut(&str, &ReplayVerdict) -> Result<(), CliError>,
) -> Result<Vec<(String, ReplayVerdict)>, CliError> {
    let program = std::env::current_exe().map_err(CliError::serve)?;
    let jobs = options.jobs.or_else(|| std::thread::available_parallelism().ok().map(Into::into)).unwrap_or(1);
    let running = Arc::new(Mutex::new(BTreeSet::new()));
    let at_signal = Arc::clone(&running);
    interrupt
        .watch(move || at_signal.lock().unwrap_or_else(PoisonError::into_inner).iter().copied().for_each(ask_to_end));
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        let (verdicts, ended) = channel();
        for _ in 0..jobs.min(files.len()) {
            let (verdicts, next, program, running) = (verdicts.clone(), &next, &program, &running);
            scope.spawn(move || {
                while let Some((index, file)) = {
                    let index = next.fetch_add(1, Ordering::SeqCst);
                    files.get(index).map(|file| (index, file))
                } {
                    let verdict = match interrupt.came() {
                        true => Err("interrupted".to_owned()),
                        false => one(program, file, options, running),
                    };
                    let verdict = verdict.unwrap_or_else(|why| ReplayVerdict::Broken(format!("{file}: {why}")));
                    if verdicts.send((index, verdict)).is_err() {
                        return;
                    }
                }
            });
        }
        drop(verdicts);
        let (mut early, mut all) = (BTreeMap::new(), Vec::new());
        for (index, verdict) in ended {
            early.insert(index, verdict);
            stdio::progress(&format!("[{}/{}]", all.len() + early.len(), files.len()));
            while let Some((file, verdict)) = files.get(all.len()).zip(early.remove(&all.len())) {
                stdio::progress("");
                if interrupt.came() {
                    return Err(CliError::Interrupted);
                }
                said(file, &verdict)?;
                all.push((file.clone(), verdict));
            }
        }
        Ok(all)
    })
}

/// Plays one file in a process of its own.
fn one(program: &Path, file: &str, options: &Options, running: &Mutex<BTreeSet<u32>>) -> Result<ReplayVerdict, String> {
    let lock = || running.lock().unwrap_or_else(PoisonError::into_inner);
    let mut command = started::command(program, arguments(file, options));
    let mut child = command.spawn().map_err(|error| error.to_string())?;
    let id = child.id();
    lock().insert(id);
    drop(child.stdin.take());
    let output = child.wait_with_output();
    lock().remove(&id);
    let output = output.map_err(|error| error.to_string())?;
    let json: Option<Value> = serde_json::from_slice(&output.stdout).ok();
    let verdict = json.as_ref().and_then(|json| ReplayVerdict::from_json(json.get("files")?.get(0)?));
    verdict.ok_or_else(|| {
        let status = started::number(output.status);
        format!("its replay ended with status {status}: {}", escape_bytes(&output.stderr))
    })
}

/// The arguments that play one file with the same options.
fn arguments(file: &str, options: &Options) -> Vec<OsString> {
    let Options { rewriting, json: _, tap: _, junit: _, directory, server, timeout, jobs: _, pass_env, strict } =
        options;
    let mut arguments: Vec<OsString> = ["replay", "--json"].map(OsString::from).into();
    match rewriting {
        Rewriting::Off => {}
        Rewriting::Shows => arguments.push("--dry-run".into()),
        Rewriting::Writes => arguments.push("--update".into()),
    }
    if *strict {
        arguments.push("--strict".into());
    }
    let mut add = |flag: &str, value: String| arguments.push(format!("--{flag}={value}").into());
    directory.iter().for_each(|directory| add("in", directory.clone()));
    // The words were split by the rules of a shell, so they can be quoted by them.
    let quoted = server.as_ref().and_then(|words| shlex::try_join(words.iter().map(String::as_str)).ok());
    quoted.into_iter().for_each(|server| add("server", server));
    timeout.iter().for_each(|timeout| add("timeout", format!("{}ms", timeout.as_millis())));
    pass_env.iter().for_each(|name| add("pass-env", name.clone()));
    arguments.extend(["--".into(), file.into()]);
    arguments
}

#[cfg(unix)]
fn ask_to_end(process: u32) {
    use rustix::process::{Pid, Signal, kill_process};
    if let Some(process) = i32::try_from(process).ok().and_then(Pid::from_raw) {
        // It may have ended.
        kill_process(process, Signal::TERM).ok();
    }
}

/// Windows has no signal for this; the process ends with its transcript.
#[cfg(not(unix))]
fn ask_to_end(_process: u32) {}
