//! `allowexec doctor`: the resolved configuration, what it allows, what is wrong or risky in it, and what this platform can
//! enforce.
//!
//! - `clients`: files of clients that start this program in a way that can't work
//! - `risks`: what is risky, why, and what to change
//! - `tools`: what well-known tools need the sandbox to grant, and which flags grant it
//! - `page`: all of it as text

mod clients;
mod page;
mod risks;
mod tools;

use std::io::{self, IsTerminal};

use serde_json::{Value, json};

use crate::cli::error::CliError;
use page::Palette;
use risks::Risk;

use super::recording;
use crate::cli::{Outcome, log, print, print_json, stdio};
use crate::config::{self, Config, Flags, Row};
use crate::exec::Launcher;
use crate::network::{Network, NetworkError};
use crate::policy::rules::{SandboxWord, synopsis};
use crate::sandbox::{Enforcement, Kernel, Level};
use crate::server::{Parts, check_audit};

pub(super) fn run(config: &Config, flags: &Flags, json: bool) -> Result<Outcome, CliError> {
    let parts = Parts::new(config);
    let programs = programs(&parts);
    let mut problems = parts.problems_with(parts.untrusted());
    let not_executable: Vec<String> =
        programs.iter().map(|(name, _)| name).filter(|name| is_no_program(&parts, name)).cloned().collect();
    problems.extend(not_executable.iter().map(|name| format!("`{name}` on the allow-list can't be executed")));
    let (lacking, some): (Vec<_>, Vec<_>) = parts.not_found().into_iter().partition(|not_found| not_found.is_problem);
    problems.extend(lacking.into_iter().map(|not_found| not_found.sentence));
    let some = some.into_iter().map(|not_found| Risk { what: not_found.sentence, help: None }).collect();
    let of_files = [log::check(config), recording::check(config, flags), check_audit(config).map_err(CliError::from)];
    problems
        .extend(of_files.iter().filter_map(|checked| checked.as_ref().err()).map(|error| stdio::with_causes(error)));
    problems.extend(parts.anchor_problem());
    if config.audit_anchor.value.is_some() && config.audit.value.is_none() {
        problems.push("`--audit-anchor` keeps nothing without `--audit`".to_owned());
    }
    if config.record_required.value && config.record.value.is_none() {
        problems.push("`--record-required` records nothing without `--record`".to_owned());
    }
    if let (true, Some(why)) = (config.allow_project_commands.value, config.why_no_project_commands()) {
        problems.push(format!("`--allow-project-commands` allows nothing {why}"));
    }
    let launcher = parts.launcher.iter().flatten().next();
    let limits = launcher.map(Launcher::describe).unwrap_or_default();
    let tree = end_of_tree(config, launcher);
    let presets = parts.confinement.describe_presets();
    let report = Report {
        tree,
        limits,
        presets,
        gated: gated(&parts),
        rows: config::rows(config),
        commands: commands(&parts),
        allows_any: parts.policy.allow_list().allows_any(),
        allows_project: parts.policy.allow_list().allows_project(),
        directory: directory(config, &parts),
        roots: roots(config),
        in_use: levels(config, &parts),
        network: config.network(),
        programs,
        not_executable,
        problems,
        risks: [risks::find(config, &parts), some, clients::that_cannot_work(&config.surroundings)].concat(),
    };
    if json {
        print_json(&report.to_json())?
    } else {
        print(&report.to_text(palette(config)))?
    };
    Ok(if report.problems.is_empty() { Outcome::Good } else { Outcome::Bad })
}

/// Colours for a person who wants them: <https://no-color.org>.
fn palette(config: &Config) -> Palette {
    let is_set = |name| config.surroundings.variable(name).is_some_and(|value| !value.is_empty());
    let is_dumb = config.surroundings.variable("TERM").is_some_and(|term| term == "dumb");
    // The console of Windows may show the sequences themselves.
    let is_plain = cfg!(windows) || is_set("NO_COLOR") || is_dumb || !io::stdout().is_terminal();
    if is_plain { Palette::Plain } else { Palette::Coloured }
}

/// The synopsis of each allowed command, by its rule; `None` if any arguments are allowed.
fn commands(parts: &Parts) -> Vec<(String, Option<String>)> {
    let allow = parts.policy.allow_list();
    let rule = |name: &String| allow.rules().get(name).filter(|rule| !rule.is_plain_any()).map(|rule| synopsis(rule));
    allow.names().iter().map(|name| (name.clone(), rule(name))).collect()
}

/// The commands whose rules add something that another shell would not, and that a hook without `--rewrite` therefore lets through in no line.
fn gated(parts: &Parts) -> Vec<String> {
    let rules = parts.policy.allow_list().rules().iter();
    rules.filter(|rule| !rule.rests_on_words_alone()).map(|rule| format!("`{}`", rule.name)).collect()
}

/// The levels at which commands run; with none, the one that could be asked for.
fn levels(config: &Config, parts: &Parts) -> Vec<Level> {
    let of_rules = parts.policy.allow_list().rules().heads().filter_map(|rule| match rule.sandbox.level {
        Some(SandboxWord::Strict) => Some(Level::Strict),
        Some(SandboxWord::Workspace) => Some(Level::Workspace),
        Some(SandboxWord::Off) | None => None,
    });
    let in_use: Vec<Level> = of_rules.chain([config.sandbox.value]).filter(|&level| level != Level::Off).collect();
    if in_use.is_empty() { vec![Level::Workspace] } else { in_use }
}

/// The directory that calls without `cwd` run in.
fn directory(config: &Config, parts: &Parts) -> String {
    let path = config.surroundings.directory.join(parts.policy.directories().base().path);
    crate::files::canonicalize(&path).unwrap_or(path).display().to_string()
}

/// The directories that the `cwd` of a call must be in; empty for no bound.
fn roots(config: &Config) -> Vec<String> {
    let workspace = config.workspace_dir.value.iter();
    let named = config.cwd_root.value.iter().flatten().chain(workspace).chain(&config.project_dir.value);
    named
        .map(|path| {
            config.surroundings.directory.join(path).components().collect::<std::path::PathBuf>().display().to_string()
        })
        .collect()
}

/// Where each entry of the allow-list is.
fn programs(parts: &Parts) -> Vec<(String, Option<String>)> {
    let find = |name: &String| {
        let program = parts.program_of(name);
        let built_in = parts.is_built_in(name).then(|| "built into the shell".to_owned());
        (name.clone(), built_in.or_else(|| program.map(|program| program.path().display().to_string())))
    };
    parts.policy.allow_list().names().iter().map(find).collect()
}

/// Whether the file of an entry can't be executed. In the persistent shell it may still be a builtin.
fn is_no_program(parts: &Parts, name: &str) -> bool {
    let program = parts.program_of(name);
    !parts.is_built_in(name) && program.is_some_and(|program| !program.is_executable())
}

/// How everything that a call has started is ended.
fn end_of_tree(config: &Config, launcher: Option<&Launcher>) -> &'static str {
    if config.sandbox.value != Level::Off && Kernel::current().abi() >= SCOPED_SIGNALS {
        "certain: one signal ends all of its sandbox"
    } else if launcher.is_some_and(Launcher::ends_trees) {
        "its cgroup is killed as a whole (`cgroup.kill`); only what may write to cgroups can leave it"
    } else if cfg!(target_os = "linux") {
        "process group, and what leaves it is found (subreaper); a fast chain of forks can outlive the answer"
    } else if cfg!(windows) {
        "certain: job object, which nothing leaves"
    } else {
        "process group; what leaves it is not found"
    }
}

/// The first ABI of Landlock that keeps signals within a sandbox.
const SCOPED_SIGNALS: u8 = 6;

struct Report {
    /// How the process tree of a call is ended.
    tree: &'static str,
    /// How each limit that is set is enforced.
    limits: Vec<(&'static str, &'static str)>,
    /// The description of each preset's grants, by its name.
    presets: Vec<(&'static str, String)>,
    /// The commands that a hook without `--rewrite` does not let through.
    gated: Vec<String>,
    rows: Vec<Row>,
    programs: Vec<(String, Option<String>)>,
    /// The entries whose file can't be executed.
    not_executable: Vec<String>,
    problems: Vec<String>,
    risks: Vec<Risk>,
    /// The synopsis of each allowed command; `None` for any arguments.
    commands: Vec<(String, Option<String>)>,
    allows_any: bool,
    /// Whether programs of the project are allowed.
    allows_project: bool,
    /// The directory that calls without `cwd` run in.
    directory: String,
    /// The directories that the `cwd` of a call must be in; empty for no bound.
    roots: Vec<String>,
    /// The levels of the sandbox that the page describes.
    in_use: Vec<Level>,
    network: Network,
}

/// A restriction of commands, and how this platform enforces it.
struct PlatformRow {
    what: String,
    how: String,
    /// Whether it is about what the settings use, so that the page shows it.
    is_of_interest: bool,
}

/// Whether this kernel can hold commands to ports, by the example of two.
fn ports(kernel: Kernel) -> String {
    let network = "connect:5432,listen:3000".parse::<Network>().map_err(|error: NetworkError| error.to_string());
    let enforced = network.and_then(|network| {
        Enforcement::new(Level::Workspace, network, kernel, false).map_err(|error| error.to_string())
    });
    match enforced {
        Ok(_) => "TCP on the ports of `connect:PORT,listen:PORT`, on whatever host, and nothing else".to_owned(),
        Err(error) => error,
    }
}

impl Report {
    /// Describes in named rows which restrictions of commands this platform can enforce, and which not.
    fn platform(&self) -> Vec<PlatformRow> {
        let directory = if cfg!(target_os = "linux") {
            "held open from the check to the start of the command"
        } else {
            "checked, then used by its canonical path"
        };
        let row = |what: &str, how: &str, is_of_interest: bool| PlatformRow {
            what: what.to_owned(),
            how: how.to_owned(),
            is_of_interest,
        };
        let sandbox = Level::ALL.into_iter().filter(|&level| level != Level::Off).map(|level| {
            let enforcement = Enforcement::new(level, level.default_network(), Kernel::current(), false);
            let how = enforcement.map_or_else(|error| error.to_string(), |enforcement| enforcement.describe());
            row(&format!("sandbox {}", level.name()), &how, self.in_use.contains(&level))
        });
        let fixed = [row("end of a command's tree", self.tree, true), row("working directory", directory, false)];
        let limits = self.limits.iter().map(|(flag, how)| row(flag, how, true));
        let presets = self.presets.iter().map(|(name, granted)| row(&format!("grant {name}"), granted, true));
        let own_network = match Launcher::try_own_network() {
            Ok(()) => "a network of each call's own, with a loopback interface and nothing else".to_owned(),
            Err(error) => error.to_string(),
        };
        let has_ports = matches!(self.network, Network::Ports(_));
        let network = [
            row("network loopback", &own_network, self.network == Network::Loopback),
            row("network ports", &ports(Kernel::current()), has_ports),
        ];
        let gated = (!self.gated.is_empty()).then(|| {
            let how =
                format!("no line with {}: their rules add what the agent's shell would not", self.gated.join(", "));
            row("hook without --rewrite", &how, false)
        });
        fixed.into_iter().chain(sandbox).chain(network).chain(gated).chain(limits).chain(presets).collect()
    }

    fn to_json(&self) -> Value {
        let settings: Vec<Value> = self
            .rows
            .iter()
            .map(|row| json!({"name": row.name, "value": row.value, "source": row.source.to_string()}))
            .collect();
        let programs: Vec<Value> =
            self.programs.iter().map(|(name, path)| json!({"name": name, "path": path})).collect();
        let platform: Vec<Value> =
            self.platform().into_iter().map(|row| json!({"what": row.what, "how": row.how})).collect();
        json!({
            "version": env!("CARGO_PKG_VERSION"),
            "settings": settings,
            "programs": programs,
            "platform": platform,
            "directory": self.directory,
            "warnings": self.risks.iter().map(Risk::sentence).collect::<Vec<_>>(),
            "problems": self.problems,
        })
    }
}
