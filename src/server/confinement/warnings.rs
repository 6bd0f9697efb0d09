//! Warnings and problems of the sandbox that a configuration asks for.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use crate::config::Config;
use crate::exec::RuleExecution;
use crate::policy::{AllowList, Directories};
use crate::sandbox::{Level, OpenedPlaces, Sandbox, is_read_anyway};

/// Warns of settings for a sandbox that is off.
pub(super) fn without_effect(config: &Config) -> Vec<String> {
    let granted = [
        ("read", config.read.value.is_empty()),
        ("write", config.write.value.is_empty()),
        ("exec", config.exec.value.is_empty()),
        ("grant", config.grant.value.is_empty()),
    ];
    let granted = granted.into_iter().filter(|(_, is_empty)| !is_empty).map(|(flag, _)| {
        format!("`--{flag}` grants nothing without a sandbox, and forbids nothing either; add `--sandbox workspace`")
    });
    granted.collect()
}

/// Warns of what the sandbox forbids although the operator may expect it.
pub(super) fn unusable(config: &Config, directories: &Directories, opened: &OpenedPlaces) -> Vec<String> {
    let mut warnings = Vec::new();
    let base = directories.base().path;
    let base = crate::files::canonicalize(&base).unwrap_or(base);
    let executed = opened.exec.iter().map(|(_, walked)| walked.held());
    let mut granted = opened.directories.iter().chain(&opened.read).chain(&opened.write).chain(executed);
    if !granted.any(|granted| base.starts_with(granted.path())) {
        warnings.push(format!(
            "calls that name no `cwd` run in `{}`, where the sandbox lets them neither read nor write; name a directory \
             with `--project-dir`",
            base.display()
        ));
    }
    if config.sandbox.value == Level::Strict && config.allow_project_commands.value {
        warnings.push("with `--sandbox strict`, the project's own commands run only if `--exec` names them".to_owned());
    }
    warnings
}

/// A sentence for each program that may not start, with the commands whose rules confine it. A program that only commands of
/// such rules start is judged by the sandboxes of these rules alone.
pub(super) fn unstartable(
    allow: &AllowList,
    all: Option<&Sandbox>,
    rules: &HashMap<String, RuleExecution>,
    program: impl Fn(&str) -> Option<PathBuf>,
) -> Vec<String> {
    let of_all = all.map(Sandbox::warnings).unwrap_or_default();
    // Each sentence, the commands of rules that it is about, and whether it is about other commands, too.
    let mut found: Vec<(String, Vec<&str>, bool)> = Vec::new();
    let mut judged: Vec<PathBuf> = Vec::new();
    for name in allow.names().iter().map(String::as_str) {
        let of_rule = rules.get(name);
        let own = of_rule.and_then(|rule| rule.sandbox.as_ref()).map(|sandbox| sandbox.warnings());
        let said = match of_rule {
            Some(_) => own.unwrap_or_default(),
            None => of_all.clone(),
        };
        if said.is_empty() && of_all.is_empty() {
            continue;
        }
        // Such a rule grants nothing of `--exec`.
        let executes_own = allow.rules().head(name).is_some_and(|rule| rule.sandbox.exec_own);
        let said = said.into_iter().map(|warning| match warning.rsplit_once("; name ").filter(|_| executes_own) {
            Some((why, _)) => {
                format!("{why}, and its rule has `exec: own`; keep the program where commands can't write")
            }
            None => warning,
        });
        let Some(program) = program(name) else { continue };
        let paths = [crate::files::canonicalize(&program).unwrap_or_else(|_| program.clone()), program];
        for warning in said.filter(|warning| paths.iter().any(|path| is_about(warning, path))) {
            let place = found.iter().position(|(other, ..)| *other == warning).unwrap_or_else(|| {
                found.push((warning, Vec::new(), false));
                found.len() - 1
            });
            if let Some((_, names, is_of_others)) = found.get_mut(place) {
                names.extend(of_rule.map(|_| name));
                *is_of_others |= of_rule.is_none();
            }
        }
        judged.extend(paths);
    }
    // Others are about what the operator names, or what programs start.
    let rest = of_all.into_iter().filter(|warning| !judged.iter().any(|path| is_about(warning, path)));
    found.extend(rest.map(|warning| (warning, Vec::new(), true)));
    let sentence = |(warning, names, is_of_others): (String, Vec<&str>, bool)| match (&*names, is_of_others) {
        ([], _) | (_, true) => warning,
        ([name], false) => format!("`{name}` may not start in the sandbox of its rule: {warning}"),
        (_, false) => format!("`{}` may not start in the sandboxes of their rules: {warning}", names.join("`, `")),
    };
    found.into_iter().map(sentence).collect()
}

fn is_about(warning: &str, path: &Path) -> bool {
    warning.contains(&format!("`{}`", path.display()))
}

/// The directory in which the operator's own programs run. The server's directory is usually the project, in which
/// commands can write, so a command could control a program that reads its configuration from there.
pub(in crate::server) fn directory_of_operators_programs(config: &Config) -> PathBuf {
    if cfg!(unix) {
        return PathBuf::from("/");
    }
    let system = config.surroundings.variable("SystemRoot").map(PathBuf::from);
    system.filter(|system| system.is_absolute()).unwrap_or_else(|| config.surroundings.directory.clone())
}

/// A sentence for each place where commands may write but must not: what the server reads at its next start, where it
/// looks up programs, and what it writes for its operator.
pub(super) fn prepared(config: &Config, search_path: &[PathBuf], opened: &OpenedPlaces) -> Vec<String> {
    let here = &config.surroundings.directory;
    let allows = "so a command can decide what the next start allows";
    let means = "so a command can decide which program a name means";
    let file = config.file.value.iter().map(|file| ("the configuration file", file, allows));
    let policies = config.policy.value.iter().map(|file| ("the policy", file, allows));
    let locks =
        config.lock.value.iter().map(|file| ("the lock file", file, "so a command can decide what programs may be"));
    let directories = search_path.iter().map(|directory| ("the directory of `PATH`", directory, means));
    let all = file.chain(policies).chain(locks).chain(directories).map(|(what, path, so)| (what, here.join(path), so));
    let approves = "so a command can approve what it likes";
    let elsewhere = directory_of_operators_programs(config);
    // Only the program itself is looked up from the server's directory; paths in its arguments count from where it runs.
    let named = |(place, word): (usize, &String)| match word.contains(std::path::is_separator) {
        true => Some(if place == 0 { here.join(word) } else { elsewhere.join(word) }),
        false => search_path.iter().map(|directory| directory.join(word)).find(|file| file.is_file()),
    };
    let asking = config.ask_with.value.iter().flat_map(|words| words.iter().enumerate()).filter_map(named);
    let all = all.chain(asking.map(|path| ("the `--ask-with` file", path, approves)));
    let keeps = "so a command can keep any head of the audit log that it likes";
    let anchoring = config.audit_anchor.value.iter().flat_map(|words| words.iter().enumerate()).filter_map(named);
    let all = all.chain(anchoring.map(|path| ("the `--audit-anchor` file", path, keeps)));
    let warning = |(what, path, so): (&str, PathBuf, &str)| {
        let why = opened.writable_way(&path)?;
        Some(format!("{what} `{}` {why}, {so}; keep it elsewhere", path.display()))
    };
    // They may not exist before the first start.
    let real = |path: &Path| crate::files::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let logs = [("the log file", &config.log_file.value), ("the audit log", &config.audit.value)];
    let logs = logs.into_iter().filter_map(|(what, file)| Some((what, file.as_ref()?))).filter_map(|(what, file)| {
        let why = opened.writable_way(here.join(file).parent()?)?;
        Some(format!("{what} `{}` {why}, so a command can change what it says; keep it elsewhere", file.display()))
    });
    let locked = config.audit.value.iter().filter(|file| {
        let directory = here.join(file).parent().map(Path::to_owned).unwrap_or_default();
        let is_readable = || opened.is_readable(&directory) || is_read_anyway(config.sandbox.value, &real(&directory));
        opened.writable_way(&directory).is_none() && is_readable()
    });
    let locked = locked.map(|file| {
        format!(
            "the audit log `{}` lies where commands may read, so a command can keep it locked, and other calls are refused \
             meanwhile; keep it elsewhere",
            file.display()
        )
    });
    all.filter_map(warning).chain(logs).chain(locked).collect()
}

/// Returns the problems that keep the sandbox from being as the operator asked.
pub(super) fn problems(level: Level, allow: &AllowList, opened: &OpenedPlaces) -> Vec<String> {
    let mut problems = Vec::new();
    if level == Level::Strict && allow.allows_any() {
        problems.push(
            "`--sandbox strict` executes only commands that the allow-list names, and `*` names none; name them, or what \
             may be executed with `--exec`"
                .to_owned(),
        );
    }
    problems.extend(opened.missing.iter().cloned());
    problems
}
