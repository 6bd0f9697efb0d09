//! The parts of a server, made from a resolved configuration.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::asked::Asked;
use super::auditor::AuditPlan;
use super::configured::{self, AnchorSettings};
use super::confinement::Confinement;
use super::examine::{examine, examine_line};
use super::not_started::NotStarted;
use super::observer::{Observer, Unobserved};
use super::questions::AskSettings;
use super::shell_parts;
use crate::config::{Config, LogLevel, RootsMode, Source};
use crate::exec::{
    Environment, EnvironmentSettings, Executor, Keeper, Launcher, Limits, LimitsError, Processes, since_1970,
};
use crate::integrity::{CommandPaths, Guard, Untrusted};
use crate::mcp::TaskSupport;
use crate::policy::line::LineDecision;
use crate::policy::rules::{RuleHead, Rules, SandboxWord};
use crate::policy::{Directories, Explanation, Policy, Program, Programs, Refusal, SearchPath, Verdict};
use crate::prompts;
use crate::shell::ShellSettings;
use crate::text::Secrets;
use crate::tools::{BackgroundSettings, ConfinedBy, ReportSettings, ToolSettings, Toolbox};

/// The parts of a server, all made only from the configuration.
pub struct Parts {
    /// Decides on commands.
    pub policy: Policy,
    /// Where commands look up the interpreters of scripts.
    pub(crate) paths: CommandPaths,
    /// Runs the commands.
    pub executor: Arc<dyn Executor>,
    /// The tools that clients see.
    pub toolbox: Toolbox,
    /// The default limits of calls.
    pub limits: Limits,
    /// How results are written.
    pub report: ReportSettings,
    /// The persistent shell, if there is one.
    pub shell: Option<ShellSettings>,
    /// How many calls run concurrently.
    pub max_concurrent: usize,
    /// How many calls run concurrently in the background.
    pub max_background_calls: usize,
    /// The longest time that a call runs there.
    pub(super) max_background: Duration,
    /// After what time a running call is handed over to the background; `None` for never.
    pub(super) hand_over: Option<Duration>,
    /// The lowest level that the log writes.
    pub log_level: LogLevel,
    /// How commands are confined.
    pub confinement: Confinement,
    /// Sets the kernel's limits on commands, if there are limits; an error if that is impossible, and then nothing
    /// runs.
    pub launcher: Result<Option<Launcher>, Arc<LimitsError>>,
    /// How the client's roots are used.
    pub roots: RootsMode,
    /// How a person is asked about calls that have to be approved.
    pub ask: AskSettings,
    /// Whether any call may have to be approved.
    pub(super) asks: bool,
    /// Is told about decisions and ends of commands; nobody by default.
    pub observer: Arc<dyn Observer>,
    /// Whether some rule bounds the paths among the words of its command.
    pub(super) bounds_paths: bool,
    /// Whether the allow-list is the default one of the shell's tools, because the operator named no command.
    pub(super) allows_by_default: bool,
    /// Variables that the operator names and that commands with described arguments don't get, as messages show them.
    pub(super) unset_for_rules: Vec<String>,
    /// Warnings about variables that other servers read.
    pub(super) settings_of_others: Vec<String>,
    /// Keeps the output of calls, for the tools that read it; `None` without them.
    keeper: Option<Keeper>,
    /// How the operator would allow a command that nothing describes, for the log; nobody says so by default.
    pub(crate) suggests: Option<Suggests>,
    /// How often that was asked.
    suggested: AtomicU64,
    /// How many calls were made without a client.
    pub(super) calls: AtomicU64,
    /// Whether the session is recorded, and there are values that the logs do not show.
    pub(super) records_secrets: bool,
    /// Values that are not shown in the log and in the list of calls.
    pub(super) secrets: Arc<Secrets>,
    /// How the audit log is opened, where there is to be one.
    pub(super) audit: Option<AuditPlan>,
    /// The program that keeps its head elsewhere.
    pub(super) anchor: Option<AnchorSettings>,
}

/// Says in one line how the operator would allow these words beside these rules.
pub(crate) type Suggests = Arc<dyn Fn(&Explanation, &Rules) -> Option<String> + Send + Sync>;

/// How many refused commands the log says more about, since a client may send them without end.
const MOST_SUGGESTED: u64 = 200;

/// The problem if no command is allowed.
pub(crate) const NOTHING_ALLOWED: &str = "no command is allowed: name some with `--allow` or `ALLOWED_COMMANDS`";

impl Parts {
    /// Makes the parts.
    pub fn new(config: &Config) -> Self {
        Self::made(config, true)
    }

    /// Makes parts that decide and run nothing: no sandbox is tried, and only the program of a decision is looked up.
    pub(crate) fn to_decide(config: &Config) -> Self {
        Self::made(config, false)
    }

    fn made(config: &Config, runs: bool) -> Self {
        let search_path =
            SearchPath::new(config.surroundings.variable("PATH")).with_endings(config.surroundings.variable("PATHEXT"));
        let allow = config.allow_list();
        let programs = Programs::new(search_path.clone(), config.surroundings.directory.clone());
        let directories = Directories::new(configured::directory_settings(config));
        let directories = if runs {
            // Every name means the same file from here on.
            let protected = config.protected(&allow, &programs);
            directories.protecting(move || protected)
        } else {
            let (config, allow) = (config.clone(), allow.clone());
            let programs = Programs::new(search_path.clone(), config.surroundings.directory.clone());
            directories.protecting(move || config.protected(&allow, &programs))
        };
        let launcher = Launcher::new(config.resource_limits()).map_err(Arc::new);
        let mut environment = Environment::new(&EnvironmentSettings {
            inherited: config.surroundings.variables.clone(),
            inherit_all: config.inherit_env.value,
            variables: config.env.value.iter().map(configured::variable).collect(),
            path: search_path.to_variable(),
        });
        let mut line_rules = configured::line_rules(config, &environment, search_path.to_variable());
        let unset_for_rules = configured::unset_for_rules(config, &allow);
        let paths = configured::command_paths(&environment, &allow);
        let (mut confinement, sandbox, rules) = if runs {
            Confinement::new(config, &allow, &directories, (&programs, &paths), &launcher)
        } else {
            (Confinement::to_decide(config, &allow, &directories), None, HashMap::new())
        };
        let toolbox = Toolbox::new(ToolSettings {
            allowed: allow.summary(),
            which: config.tools.value,
            entries: allow.names().to_vec(),
            allows_any: allow.allows_any(),
            allows_project: allow.allows_project(),
            lines: config.lines.value,
            described: configured::described(&allow),
            rules: Arc::clone(&config.rules),
            read_only: configured::read_only(config, &allow),
            timeout: config.timeout.value,
            max_timeout: config.max_timeout.value,
            max_output: config.max_output.value,
            structured: config.structured.value,
            sandbox: confinement.describe_for_models(),
            background: config.has_background().then_some(BackgroundSettings {
                keeps_output: config.keep_output.value > 0,
                max_wait: config.max_timeout.value,
                max_background: config.max_background.value,
                most_calls: config.max_background_calls.value,
                hand_over: config.hand_over.value,
            }),
        });
        if let Some(temporary) = confinement.temporary() {
            environment.set("TMPDIR", temporary.into());
            // That of the server is not what commands have.
            line_rules.variables.remove("TMPDIR");
        }
        line_rules.writable = confinement.writable().to_vec();
        let guard = configured::guard(config, &paths);
        let (confined, guarded) = (sandbox.as_deref(), guard.as_ref());
        let shell = shell_parts::settings(config, &allow, &programs, &environment, confined, &launcher, guarded);
        if let Some(sandbox) = shell.as_ref().and_then(ShellSettings::sandbox) {
            confinement.warn_of_shell(sandbox);
        }
        let processes =
            Processes::new(environment).with_limits(launcher.clone()).with_rules(rules).with_guard(guard.clone());
        let ask = AskSettings::of(config, &programs, &search_path);
        let asks = allow.rules().ask();
        Self {
            shell,
            ask,
            asks,
            paths,
            policy: Policy::new(allow, directories, programs)
                .with_guard(guard)
                .with_line_env(config.line_env.value.clone())
                .with_lines(line_rules),
            executor: Arc::new(match sandbox.clone() {
                Some(sandbox) => processes.with_sandbox(sandbox),
                None => processes,
            }),
            toolbox,
            limits: Limits {
                timeout: config.timeout.value,
                grace: config.grace.value,
                max_output: config.max_output.value,
                has_digests: config.audit.value.is_some(),
            },
            report: ReportSettings {
                unopened: Vec::new(),
                directory: None,
                lists: configured::grant_lists(config),
                structured: config.structured.value,
                exit_error: config.exit_error.value,
                confined: sandbox
                    .filter(|sandbox| sandbox.is_on())
                    .map(|sandbox| ConfinedBy { sandbox, network: confinement.network_grant(), writes_nothing: false })
                    .into_iter()
                    .collect(),
                kept_as: None,
            },
            max_concurrent: config.max_concurrent.value,
            max_background_calls: config.max_background_calls.value,
            max_background: config.max_background.value,
            hand_over: configured::hand_over(config),
            log_level: config.log.value,
            confinement,
            launcher,
            roots: config.roots.value,
            observer: Arc::new(Unobserved),
            bounds_paths: config.rules.heads().any(|rule| rule.has_paths),
            allows_by_default: config.allow.source == Source::Default && !config.allow.value.is_empty(),
            unset_for_rules,
            settings_of_others: config.surroundings.settings_of_others(),
            keeper: config
                .has_background()
                .then(|| Keeper::of(configured::temporary_directories(config), config.keep_output.value))
                .flatten(),
            suggests: None,
            suggested: AtomicU64::new(0),
            calls: AtomicU64::new(0),
            records_secrets: config.record.value.is_some()
                && (!config.env.value.is_empty() || config.rules.have_secrets()),
            secrets: Arc::new(Secrets::new(config.secret_values())),
            audit: AuditPlan::of(config),
            anchor: configured::anchor_settings(config),
        }
    }

    /// Returns the keeper of calls' output. Confined threads can't make its file, so the file is made before they write
    /// to it.
    pub(super) fn keeper(&self) -> Option<&Keeper> {
        let keeper = self.keeper.as_ref()?;
        if self.confinement.is_on() || self.confinement.confines_rules() {
            keeper.prepare();
        }
        Some(keeper)
    }

    /// The default time for which a task is kept: as long as its command may run, plus an hour to fetch the result.
    /// `None` if calls can't become tasks.
    pub(super) fn task_ttl(&self) -> Option<Duration> {
        let hour = Duration::from_secs(60 * 60);
        self.keeper.is_some().then(|| self.max_background.saturating_add(hour))
    }

    /// Whether calls can become tasks.
    pub(super) fn task_support(&self) -> TaskSupport {
        if self.keeper.is_some() { TaskSupport::Optional } else { TaskSupport::Forbidden }
    }

    /// Returns the instructions for the model that a handshake carries.
    pub(super) fn instructions(&self) -> String {
        prompts::instructions(self.policy.allow_list(), self.toolbox.which())
    }

    /// Whether the server may start.
    ///
    /// # Errors
    /// Why commands can't be confined, or kept to their limits.
    pub(crate) fn check_start(&self) -> Result<(), NotStarted> {
        self.confinement.check().map_err(|error| NotStarted::Sandbox(error.to_string()))?;
        self.launcher.as_ref().map_err(|error| NotStarted::Limits(Arc::clone(error)))?;
        if let Some(why) = self.policy.guard().and_then(|guard| guard.broken_lock()) {
            return Err(NotStarted::Lock(why.to_owned()));
        }
        Ok(())
    }

    /// Decides about a command in `directory` as the available tools would; runs nothing.
    pub fn examine(&self, asked: Asked, directory: Option<&str>) -> Verdict {
        self.examined(asked, directory, false)
    }

    /// The same for a call that brings something to read on standard input.
    pub fn examine_with_input(&self, asked: Asked, directory: Option<&str>) -> Verdict {
        self.examined(asked, directory, true)
    }

    /// How the operator would allow a command that was refused, if a rule is all that is missing and somebody says so.
    pub(super) fn suggest(&self, refused: &Explanation) -> Option<String> {
        let suggests = self.suggests.as_ref().filter(|_| refused.lacks_something())?;
        let before = self.suggested.fetch_add(1, Ordering::Relaxed);
        if before < MOST_SUGGESTED { suggests(refused, self.policy.allow_list().rules()) } else { None }
    }

    /// Decides on a line of several commands as for a call; `None` if the text is none, or if lines are off.
    pub(crate) fn examine_line(&self, text: &str, directory: Option<&str>, has_input: bool) -> Option<LineDecision> {
        if !self.toolbox.which().has_execute() {
            return None;
        }
        examine_line(&self.policy, text, directory, has_input)
    }

    fn examined(&self, asked: Asked, directory: Option<&str>, has_input: bool) -> Verdict {
        let shell = self.shell.as_ref().map(ShellSettings::at_start).unwrap_or_default();
        let mut verdict = examine(&self.policy, self.toolbox.which(), asked, directory, has_input, shell);
        // A call checks its program again when it starts, so this does too.
        let checked = verdict.explanation.program.as_deref().filter(|_| verdict.refusal.is_none());
        if let Some(Err(source)) = checked.and_then(|program| Some(self.policy.guard()?.check(program, since_1970()))) {
            let word = verdict.explanation.words.first().cloned().unwrap_or_default();
            verdict.refusal = Some(Refusal::Untrusted { word, source });
        }
        verdict
    }

    /// The program of a command of the allow-list: the one that its rule names, else what its name is looked up as.
    pub(crate) fn program_of(&self, name: &str) -> Option<Program> {
        let rule = self.policy.allow_list().rules().head(name);
        self.policy.programs().find_listed(rule.map_or(name, |rule| rule.sought))
    }

    /// Starts a thread that reads the locked files, so that no call has to wait for this. Without a thread, calls wait.
    pub(super) fn read_locked(&self) {
        let Some(guard) = self.policy.guard() else { return };
        let files = guard.locked_files();
        if files.is_empty() {
            return;
        }
        let guard = Arc::downgrade(guard);
        let read = move || {
            for file in files {
                // If the server is gone, nobody needs this any more.
                let Some(guard) = guard.upgrade() else { return };
                guard.prepare(&file, since_1970());
            }
        };
        std::thread::Builder::new().name("lock".into()).spawn(read).ok();
    }

    /// The programs that calls can start, as far as the operator names them, each with a description.
    pub(crate) fn programs(&self) -> Vec<(String, PathBuf)> {
        let names = self.policy.allow_list().names().iter();
        let named = names.filter_map(|name| Some((name.clone(), self.program_of(name)?.path().to_owned())));
        let shell = self.shell.iter().filter_map(|shell| shell.program().ok().map(Path::to_owned));
        named.chain(shell.map(|program| ("the persistent shell".to_owned(), program))).collect()
    }

    /// Whether a lock file of these parts holds loaders and libraries: if some commands may execute only named files.
    pub(crate) fn locks_libraries(&self) -> bool {
        let is_strict = |rule: RuleHead<'_>| rule.sandbox.level == Some(SandboxWord::Strict);
        self.confinement.is_strict() || self.policy.allow_list().rules().heads().any(is_strict)
    }

    /// The guard's objections to allowed programs; calls of these are refused.
    pub(crate) fn untrusted(&self) -> Vec<String> {
        self.untrusted_by(|guard, program| guard.check(program, since_1970()).map(drop))
    }

    /// Why the program of `--audit-anchor` can't run; the server starts without it, and logs that.
    pub(crate) fn anchor_problem(&self) -> Option<String> {
        self.anchor.as_ref()?.program.as_ref().err().cloned()
    }

    pub(super) fn untrusted_by(&self, look: impl Fn(&Guard, &Path) -> Result<(), Untrusted>) -> Vec<String> {
        let Some(guard) = self.policy.guard() else { return Vec::new() };
        let mut untrusted = Vec::new();
        for (_, program) in self.programs() {
            let problem = look(guard, &program).err().map(|error| error.to_string());
            untrusted.extend(problem.filter(|problem| !untrusted.contains(problem)));
        }
        untrusted
    }

    /// Whether the name is a builtin of the persistent shell, if there is one, so that it needs no program.
    pub fn is_built_in(&self, name: &str) -> bool {
        self.shell.as_ref().is_some_and(|shell| shell.has_builtin(name))
    }
}
