//! Which rule is for the file of a program: a rule is for a file, by whatever word a call reaches it.

use std::cell::OnceCell;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use super::{CommandRule, Judged, RuleHead, Rules};
use crate::files::Held;
use crate::policy::{
    CommandLine, Directories, DirectoryError, Policy, Program, Programs, RefusalKind, Rule, WorkingDirectory, is_path,
};

/// Programs that are many in one file, and do what the name says that they are called by.
const HOLD_MANY: [&str; 6] = ["busybox", "toybox", "coreutils", "rustup", "kmod", "systemctl"];

impl Policy {
    /// The rule for the file of a program that its name alone allows, or the whole project.
    pub(in crate::policy) fn rule_of_file(
        &self,
        program: &Program,
        word: &str,
        directories: &Directories,
        directory: &WorkingDirectory,
    ) -> Option<Arc<CommandRule>> {
        if matches!(program.rule(), Rule::Described(_)) {
            return None;
        }
        self.programs.rule_of(program.path(), &directory.path().join(word), self.allow.rules(), directories)
    }

    /// How firmly a command is refused whose first word nothing allows: a rule that denies is for its file, by whatever word a call
    /// reaches it.
    pub(in crate::policy) fn denied_by_its_file(
        &self,
        command: &CommandLine,
        directories: &Directories,
        directory: &Result<WorkingDirectory, DirectoryError>,
    ) -> RefusalKind {
        let rules = self.allow.rules();
        if !rules.written().any(|rule| rule.denies()) {
            return RefusalKind::Undescribed;
        }
        let word = command.word();
        let program = match directory {
            Ok(directory) => self.programs.find(Rule::Any, word, directory),
            // Nobody knows where a relative path leads then.
            Err(_) if is_path(word) && !Path::new(word).is_absolute() => return RefusalKind::Unclear,
            Err(_) => self.programs.find_listed(word),
        };
        let called = directory.as_ref().map_or_else(|_| PathBuf::from(word), |directory| directory.path().join(word));
        let rule = program.and_then(|program| self.programs.rule_of(program.path(), &called, rules, directories));
        match (rule, directory) {
            (Some(rule), Ok(directory)) => {
                Judged::of(&rule, command.words(), (directories, directory), None).refusal_kind
            }
            (Some(rule), Err(_)) if rule.denies() => RefusalKind::Unclear,
            (Some(_), Err(_)) | (None, _) => RefusalKind::Undescribed,
        }
    }
}

impl Programs {
    /// The rule for the file of a program that another spelling of its name led to; `None` if no rule is for that file. `called` is the
    /// path or the name that it was called by.
    ///
    /// A relative path of a rule counts from the server's directory, from each of the operator's, and from the project. Where a client's roots
    /// choose the project, they would choose what it means: there it is for every file whose path ends with it.
    ///
    /// A rule that is for one of many programs in a file is for calls of that name alone. Of programs that are not known to be many, the
    /// rule itself refuses what it says nothing of by another name.
    pub(in crate::policy) fn rule_of(
        &self,
        program: &Path,
        called: &Path,
        rules: &Rules,
        directories: &Directories,
    ) -> Option<Arc<CommandRule>> {
        let identity = |path: &Path| Held::open(path).ok().map(|held| held.identity().clone());
        let own_identity = identity(program)?;
        let is_same = |path: &Path| identity(path).is_some_and(|other| other == own_identity);
        let bases: Vec<&Path> = directories.bases_of_rules().collect();
        let real = OnceCell::new();
        let real = || real.get_or_init(|| program.canonicalize().unwrap_or_else(|_| program.to_owned()));
        let is_chosen_by_roots = directories.project_for_commands().is_some() && !directories.has_operators_project();
        let is_for_file = |rule: &RuleHead<'_>| {
            let path = Path::new(rule.sought);
            self.find_listed(rule.sought).is_some_and(|listed| is_same(listed.path()))
                || is_path(rule.sought) && bases.iter().any(|base| is_same(&base.join(path)))
                || is_path(rule.sought) && is_chosen_by_roots && (ends_with(real(), path) || ends_with(called, path))
        };
        let found: Vec<&str> = rules.heads().filter(is_for_file).map(|rule| rule.name).collect();
        let name = called.file_name();
        let named = found.iter().copied().find(|rule| Path::new(rule).file_name() == name);
        let holds_many = || {
            let place = real().parent();
            place.is_some_and(|place| HOLD_MANY.iter().any(|name| is_same(&place.join(name))))
        };
        let found = named.or_else(|| found.first().copied().filter(|_| !holds_many()))?;
        rules.get(found).cloned()
    }
}

/// Whether a path ends with a relative one.
fn ends_with(path: &Path, relative: &Path) -> bool {
    let end: PathBuf = relative.components().filter(|part| *part != Component::CurDir).collect();
    let path: PathBuf = path.components().filter(|part| *part != Component::CurDir).collect();
    end.is_relative() && path.ends_with(end)
}
