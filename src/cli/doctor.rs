//! `allowexec doctor`: the resolved configuration, what is wrong or risky in it, and what this platform can enforce.

use serde_json::{Value, json};

use super::error::CliError;
use super::{Outcome, print, print_json, recording, stdio};
use crate::config::{self, Config, Flags, RootsMode, Row, Source};
use crate::sandbox::{Enforcement, Kernel, Level};
use crate::server::Parts;

pub(super) fn run(config: &Config, flags: &Flags, json: bool) -> Result<Outcome, CliError> {
    let parts = Parts::new(config);
    let programs = programs(&parts);
    let mut problems = parts.problems();
    for (name, path) in &programs {
        match path {
            None if config.allow.source != Source::Default => {
                problems.push(format!("`{name}` on the allow-list was not found in the directories of PATH"));
            }
            Some(_) if is_no_program(&parts, name) => {
                problems.push(format!("`{name}` on the allow-list can't be executed"));
            }
            None | Some(_) => {}
        }
    }
    problems.extend(recording::check(config, flags).err().map(|error| stdio::with_causes(&error)));
    if config.record_required.value && config.record.value.is_none() {
        problems.push("`--record-required` records nothing without `--record`".to_owned());
    }
    let has_project = config.project_dir.value.is_some() || config.roots.value != RootsMode::Ignore;
    if config.allow_project_commands.value && !has_project {
        problems.push(
            "`--allow-project-commands` allows nothing with `--roots ignore` and without `--project-dir`".to_owned(),
        );
    }
    let report = Report { rows: config::rows(config), programs, problems, warnings: parts.warnings() };
    if json {
        print_json(&report.to_json())?
    } else {
        print(&report.to_text())?
    };
    Ok(if report.problems.is_empty() { Outcome::Good } else { Outcome::Bad })
}

/// Where each entry of the allow-list is.
fn programs(parts: &Parts) -> Vec<(String, Option<String>)> {
    let find = |name: &String| {
        let program = parts.policy.programs().find_listed(name);
        let built_in = parts.is_built_in(name).then(|| "built into the shell".to_owned());
        (name.clone(), built_in.or_else(|| program.map(|program| program.path().display().to_string())))
    };
    parts.policy.allow_list().names().iter().map(find).collect()
}

/// Whether an entry is a path to a file that the system would not execute. On the shell it may be built in all the same.
fn is_no_program(parts: &Parts, name: &str) -> bool {
    let program = parts.policy.programs().find_listed(name);
    !parts.is_built_in(name) && program.is_some_and(|program| !program.is_executable())
}

struct Report {
    rows: Vec<Row>,
    programs: Vec<(String, Option<String>)>,
    problems: Vec<String>,
    warnings: Vec<String>,
}

/// What this platform does to hold commands, and what it can't.
fn platform() -> Vec<(&'static str, String)> {
    let tree = if cfg!(target_os = "linux") {
        "process group, and what leaves it is found (subreaper)"
    } else if cfg!(windows) {
        "job object, which nothing leaves"
    } else {
        "process group; what leaves it is not found"
    };
    let directory = if cfg!(target_os = "linux") {
        "held open from the check to the start of the command"
    } else {
        "checked, then used by its canonical path"
    };
    let sandbox = Level::ALL.into_iter().filter(|&level| level != Level::Off).map(|level| {
        let name = if level == Level::Strict { "sandbox strict" } else { "sandbox workspace" };
        let enforcement = Enforcement::new(level, Kernel::current(), false);
        (name, enforcement.map_or_else(|error| error.to_string(), |enforcement| enforcement.describe()))
    });
    let fixed = [("end of a command's tree", tree.to_owned()), ("working directory", directory.to_owned())];
    fixed.into_iter().chain(sandbox).collect()
}

impl Report {
    fn to_json(&self) -> Value {
        let settings: Vec<Value> = self
            .rows
            .iter()
            .map(|row| json!({"name": row.name, "value": row.value, "source": row.source.to_string()}))
            .collect();
        let programs: Vec<Value> =
            self.programs.iter().map(|(name, path)| json!({"name": name, "path": path})).collect();
        let platform: Vec<Value> =
            platform().into_iter().map(|(what, how)| json!({"what": what, "how": how})).collect();
        json!({
            "version": env!("CARGO_PKG_VERSION"),
            "settings": settings,
            "programs": programs,
            "platform": platform,
            "warnings": self.warnings,
            "problems": self.problems,
        })
    }

    fn to_text(&self) -> String {
        let settings = self.rows.iter().map(|row| [row.name.to_owned(), row.value.clone(), row.source.to_string()]);
        let programs = self
            .programs
            .iter()
            .map(|(name, path)| [name.clone(), path.clone().unwrap_or_else(|| "not found".to_owned()), String::new()]);
        let platform = platform().into_iter().map(|(what, how)| [what.to_owned(), how, String::new()]);
        let sections = [
            section("settings", &settings.collect::<Vec<_>>()),
            section("programs", &programs.collect::<Vec<_>>()),
            section("platform", &platform.collect::<Vec<_>>()),
            sentences("warnings", &self.warnings),
            sentences("problems", &self.problems),
        ];
        format!("allowexec {}\n{}", env!("CARGO_PKG_VERSION"), sections.concat())
    }
}

fn section(heading: &str, rows: &[[String; 3]]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or_default()
    };
    let (first, second) = (width(0), width(1));
    let lines = rows.iter().map(|[name, value, source]| {
        format!("  {}\n", format!("{name:<first$}  {value:<second$}  {source}").trim_end())
    });
    format!("\n{heading}\n{}", lines.collect::<String>())
}

fn sentences(heading: &str, sentences: &[String]) -> String {
    if sentences.is_empty() {
        return format!("\n{heading}\n  none\n");
    }
    format!("\n{heading}\n{}", sentences.iter().map(|sentence| format!("  {sentence}\n")).collect::<String>())
}
