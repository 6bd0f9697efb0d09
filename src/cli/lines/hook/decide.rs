//! The decision on an event: that of `check` for its line, and what the agent's shell makes of it.

use std::path::Path;

use serde_json::{Map, Value};

use super::Options;
use super::agent::Agent;
use super::event::{Event, Kind};
use super::gate::{Doubt, Gate, Leaves};
use super::rewriting::{Quoting, Rewriting};
use super::verdict::{Shell, Unknown, Verdict};
use crate::cli::lines::run::grant;
use crate::cli::stdio::with_causes;
use crate::config::{Config, Flags, Surroundings, absolute_arguments};
use crate::files::canonicalize;
use crate::policy::Lines;
use crate::server::Parts;
use crate::server::line_calls::LineVerdict;

/// Decides on the line of an event.
///
/// # Errors
/// In words, why no decision could be made.
pub(super) fn decide(agent: Agent, event: &Event, flags: &Flags, options: Options) -> Result<Verdict, String> {
    let here = Surroundings::of_this_process().map_err(|error| with_causes(&error))?;
    let shell = shell(agent, event, &here, options.shell);
    // What replaces the line takes no variables as settings, so nothing is decided by them.
    let here = if options.rewrites { here.without_settings() } else { here };
    let mut config = Config::resolve(flags, here.clone()).map_err(|error| with_causes(&error))?;
    if config.lines.value == Lines::Off {
        config.lines.value = Lines::On;
    }
    let measured = measured_by_hook(&config);
    if measured {
        if here.directory.parent().is_none() {
            return Err(NO_DIRECTORY.to_owned());
        }
        config.cwd_root.value = Some(vec![here.directory.clone()]);
    }
    // The shell runs in the directory that the path leads to, however it is written. One that is missing is refused below.
    let real = event.cwd.as_ref().map(|cwd| canonicalize(cwd).unwrap_or_else(|_| cwd.clone()));
    let Some(directory) = real.as_ref().and_then(|directory| directory.to_str()) else {
        return Ok(options.unknown.undescribed("the event does not say in which directory the line runs".to_owned()));
    };
    let is_typed = Agent::is_typed(&event.tool);
    if options.rewrites && names_shell(event) {
        let why = "the event names a shell, or variables for one, which may run something else".to_owned();
        return Ok(options.unknown.unreadable(why));
    }
    let rewriting = match options.rewrites {
        true => Some(rewriting(&config, flags, (&here, measured), (shell, is_typed))?),
        false => None,
    };
    // Codex asks again about the command that replaced the line.
    let own = rewriting.as_ref().filter(|_| event.kind == Kind::PermissionRequest);
    let own = own.and_then(|rewriting| rewriting.line_of(&event.line));
    let is_own = own.is_some();
    let line = own.unwrap_or_else(|| event.line.clone());
    let mut parts = Parts::to_decide(&config);
    parts.check_start().map_err(|error| error.to_string())?;
    let decided = parts.decide_for_agent(&line, directory)?;
    let verdict = match &decided.verdict {
        LineVerdict::Denied(reason) => return Ok(Verdict::Deny { reason: reason.clone() }),
        LineVerdict::Unreadable(why) => return Ok(options.unknown.unreadable(why.clone())),
        LineVerdict::Undescribed { why, asks } => return Ok(undescribed(options.unknown, why.clone(), *asks)),
        LineVerdict::Asks(reason) => Some(reason.clone()),
        LineVerdict::Allowed => None,
    };
    let Some(rewriting) = rewriting.filter(|_| !is_own) else {
        if is_own {
            return Ok(
                verdict.map_or(Verdict::Allow { rewritten: None }, |reason| Verdict::Ask { reason, rewritten: None })
            );
        }
        if let Some(reason) = decided.denied_as_it_is_now() {
            return Ok(Verdict::Deny { reason });
        }
        if agent.reuses_shell(&event.fields) {
            let why = "the call may use a shell that was started in another directory".to_owned();
            return Ok(options.unknown.unreadable(why));
        }
        let leaves = Leaves {
            // Nobody knows where the next line begins, whose event names the directory of the workspace.
            stays: is_typed,
            is_plain: is_plain(event.cwd.as_deref(), directory.as_ref(), &config),
        };
        let here = directory.as_ref();
        let gate = Gate { shell, parts: &decided.parts, server: &parts, config: &config, here, leaves };
        return Ok(match (gate.doubt(&line), verdict) {
            (None, None) if event.kind == Kind::PermissionRequest => {
                let reason = "the event may not say in which directory and by which shell the line runs".to_owned();
                Verdict::Ask { reason, rewritten: None }
            }
            // Nobody decides on the rest at its turn.
            (Some(Doubt::Undescribed(why)), _) if decided.has_undecided() => options.unknown.unreadable(why),
            (Some(Doubt::Unreadable(why)), _) => options.unknown.unreadable(why),
            (Some(Doubt::Undescribed(why)), asks) => undescribed(options.unknown, why, asks.is_some()),
            (None, Some(reason)) => Verdict::Ask { reason, rewritten: None },
            (None, None) => Verdict::Allow { rewritten: None },
        });
    };
    if event.kind == Kind::PermissionRequest {
        // Nothing replaces the line here, and the shell would read it as it is.
        return Ok(options.unknown.undescribed("only what the hook has put in place of a line runs".to_owned()));
    }
    match verdict {
        None => {
            let rewritten = rewriting.command(&line).map_err(|error| error.to_string())?;
            Ok(Verdict::Allow { rewritten: Some(rewritten) })
        }
        Some(reason) if !agent.can_ask() => Ok(Verdict::Ask { reason, rewritten: None }),
        Some(reason) => {
            let directory = Surroundings { directory: directory.into(), ..here };
            let name = grant::make(&directory, &line)?;
            let granted = rewriting.granted(&name).map_err(|error| error.to_string())?;
            let rewritten = granted.command(&line).map_err(|error| error.to_string())?;
            Ok(Verdict::Ask { reason, rewritten: Some(rewritten) })
        }
    }
}

/// The problem if paths can't be measured.
const NO_DIRECTORY: &str = "the hook was started in `/`, and no setting names a directory, so the paths of lines can't be measured; name one with \
                            `--project-dir`";

/// Whether paths are measured by the directory in which the hook was started, since no setting names one. The agent's shell may run the
/// line in another one, which the model chooses, so what replaces the line gets this one as its bound.
fn measured_by_hook(config: &Config) -> bool {
    let named = config.cwd_root.value.is_some()
        || config.project_dir.value.is_some()
        || config.workspace_dir.value.is_some()
        || config.cwd.value.as_ref().is_some_and(|cwd| cwd.is_absolute());
    !named && (config.lines.value == Lines::Files || config.rules.heads().any(|rule| rule.has_paths))
}

/// The arguments by which tools may choose another shell, or variables for it.
const OF_SHELL: [&str; 3] = ["shell", "env", "environment"];

/// Whether the event names a shell, or variables for it.
fn names_shell(event: &Event) -> bool {
    let is_empty = |value: &Value| value.is_null() || value.as_object().is_some_and(Map::is_empty);
    OF_SHELL.iter().any(|name| event.fields.get(*name).is_some_and(|value| !is_empty(value)))
}

/// Whether the agent's shell takes this real directory for what its path says: not for one that a link leads to, by which `..` would
/// lead elsewhere.
fn is_plain(of_event: Option<&Path>, real: &Path, config: &Config) -> bool {
    let leads_here = |path: &Path| canonicalize(path).is_ok_and(|path| path == real);
    let of_parent = config.surroundings.variable("PWD").map(Path::new).filter(|path| leads_here(path));
    of_event.into_iter().chain(of_parent).all(|path| path == real)
}

/// The shell that runs the line, as far as it is known.
fn shell(agent: Agent, event: &Event, here: &Surroundings, named: Option<Shell>) -> Shell {
    if names_shell(event) {
        return Shell::Other;
    }
    let of_user = || Some(Shell::of_path(here.variable("SHELL")?.as_ref()));
    // A terminal has the shell of its user, whatever agent reads the hook.
    let of_agent = || agent.shell(here).filter(|_| !Agent::is_typed(&event.tool));
    named.or_else(of_agent).or_else(of_user).unwrap_or(Shell::Other)
}

/// Nothing describes a part of the line; another part may have to be asked about.
fn undescribed(unknown: Unknown, why: String, asks: bool) -> Verdict {
    match (unknown, asks) {
        (Unknown::Pass, true) => Verdict::Ask { reason: why, rewritten: None },
        (unknown, _) => unknown.undescribed(why),
    }
}

/// The command that replaces lines: this program with the settings of the hook.
fn rewriting(
    config: &Config,
    flags: &Flags,
    (here, is_bound): (&Surroundings, bool),
    (shell, is_typed): (Shell, bool),
) -> Result<Rewriting, String> {
    let program =
        std::env::current_exe().map_err(|error| format!("the path of this program can't be found: {error}"))?;
    let program = program.to_str().ok_or("the path of this program is not UTF-8")?.to_owned();
    let mut arguments = absolute_arguments(config, flags, here).map_err(|error| with_causes(&error))?;
    if is_bound {
        let bound = here.directory.to_str().ok_or("the path of the hook's directory is not UTF-8")?;
        arguments.extend(["--cwd-root".to_owned(), bound.to_owned()]);
    }
    let quoting = match shell {
        Shell::Bash | Shell::Zsh | Shell::Sh => Quoting::Posix,
        Shell::Other => Quoting::Hex,
    };
    let settings = ["--flags-only"].into_iter().chain(arguments.iter().map(String::as_str));
    Rewriting::new(&program, settings, quoting, is_typed).map_err(|error| error.to_string())
}
