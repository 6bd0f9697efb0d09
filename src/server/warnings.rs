//! The reports of a server's parts before anything runs: warnings, and problems that keep calls from being served.

use super::parts::{NOTHING_ALLOWED, Parts};
use super::shell_parts;
use crate::config::RootsMode;
use crate::exec::Launcher;
use crate::integrity::Guard;
use crate::integrity::{KnownPrograms, reach_of};
use crate::policy::DirectoryError;

impl Parts {
    /// Returns the warnings for the operator before anything runs, one sentence each.
    pub fn warnings(&self) -> Vec<String> {
        let allow = self.policy.allow_list();
        let mut warnings = Vec::new();
        if allow.allows_any() {
            warnings.push("the allow-list holds `*`: every command is allowed".to_owned());
        }
        if self.allows_by_default {
            warnings.push(format!(
                "no command is named, so `--tools shell` allows `@shell`: {}; name your own with `--allow`, or these with \
                 `--allow @shell`",
                allow.names().join(", ")
            ));
        }
        if self.records_secrets {
            warnings.push(
                "the recording (`--record`) holds all that clients and commands send in clear text, also values of `--env` and \
                 values that a rule marks `secret: true`; let nobody read it who may not know them"
                    .to_owned(),
            );
        }
        warnings.extend(self.settings_of_others.iter().cloned());
        if !self.unset_for_rules.is_empty() {
            warnings.push(format!(
                "commands whose arguments a rule describes don't get {}, which changes how programs read their arguments; what \
                 such a command needs belongs in `env: {{set: …}}` of its rule",
                self.unset_for_rules.join(", ")
            ));
        }
        warnings.extend(allow.rules().warnings().iter().map(ToString::to_string));
        let known = KnownPrograms::new(self.policy.programs().search_path().entries());
        for name in allow.names().iter().filter(|name| !allow.rules().describes(name)) {
            let other = || known.name_of(self.policy.programs().find_listed(name)?.path());
            if let Some(reach) = reach_of(name) {
                warnings.push(format!("`{name}` on the allow-list {}", reach.meaning()));
            } else if let Some((reach, other)) = other().and_then(|other| Some((reach_of(&other)?, other))) {
                warnings.push(format!(
                    "`{name}` on the allow-list is `{other}` under another name, which {}",
                    reach.meaning()
                ));
            }
        }
        if self.shell.is_some() {
            warnings.extend(shell_parts::warnings(&self.policy));
        }
        for name in self.toolbox.read_only().filter(|name| !allow.has_entry(name)) {
            warnings.push(format!("`--read-only` names `{}`, which is not allowed", crate::text::escape(name)));
        }
        let directories = self.policy.directories();
        if allow.allows_project() {
            warnings.push("commands under the project directory are allowed, whoever wrote them".to_owned());
        }
        if directories.withholds_from_clients_roots() && self.roots != RootsMode::Ignore {
            let is_refused = self.confinement.is_on() || self.confinement.confines_rules();
            let consequence = if is_refused { "calls in them are refused" } else { "commands in them are not allowed" };
            warnings.push(format!(
                "a client's roots count only inside directories that you name, and none is named, so {consequence}; name one \
                 with `--workspace-dir`, `--project-dir` or `--cwd-root`, or say `--roots ignore`"
            ));
        }
        let limits = self.launcher.iter().flatten().flat_map(Launcher::describe);
        let of_user = limits.filter(|(flag, how)| *flag == "max-processes" && how.contains("RLIMIT_NPROC"));
        warnings.extend(
            of_user.map(|(flag, how)| format!("`--{flag}` bounds the number {how}: no cgroup can be made here")),
        );
        warnings.extend(self.confinement.warnings());
        if self.policy.guard().and_then(|guard| guard.locks_libraries()) == Some(false) && self.locks_libraries() {
            warnings.push(
                "the lock file was written without `--sandbox strict`, so it holds no loaders and libraries; write it again with \
                 `allowexec lock --sandbox strict`"
                    .to_owned(),
            );
        }
        warnings.extend(self.ask.warnings(allow, self.asks));
        warnings
    }

    /// Returns the problems that keep calls from being served, one sentence each.
    pub fn problems(&self) -> Vec<String> {
        // Problems of programs that take long to find are reported by the first call, and by `doctor`.
        self.problems_with(self.untrusted_by(Guard::glance))
    }

    /// The same, with the guard's objections to allowed programs.
    pub(crate) fn problems_with(&self, untrusted: Vec<String>) -> Vec<String> {
        let directories = self.policy.directories().problems();
        let mut problems: Vec<String> = directories.iter().map(DirectoryError::for_operator).collect();
        problems.extend(self.policy.directories().contradictions());
        problems.extend(self.shell.as_ref().and_then(|shell| shell.program().err()).map(str::to_owned));
        let allow = self.policy.allow_list();
        if allow.names().is_empty()
            && !allow.allows_any()
            && !allow.allows_project()
            && allow.rules().for_others("").is_none()
        {
            problems.push(NOTHING_ALLOWED.to_owned());
        }
        problems.extend(self.launcher.as_ref().err().map(ToString::to_string));
        problems.extend(untrusted);
        problems.extend(self.ask.problem());
        problems.extend(self.confinement.problems());
        problems
    }
}
