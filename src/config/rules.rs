//! The rules for arguments, which are made of policies, shipped profiles and the entries of lists.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::config::Config;
use super::entry;
use super::error::ConfigError;
use super::file::FileFrom;
use super::setting::Setting;
use crate::files::{Sha256, into_text};
use crate::integrity::KnownPrograms;
use crate::policy::rules::{CommandRule, Effect, LARGEST_POLICY, ListEntry, PolicySource, PolicyText, Rules};
use crate::policy::{AllowList, Lines, Programs, Protected, SearchPath, is_path};

impl Config {
    /// The entries of the allow-list that are one word; and as rules are made of them, those of several words and all that a
    /// person approves.
    pub(crate) fn list_entries(&self) -> (Vec<String>, Vec<ListEntry>) {
        let (single, several): (Vec<String>, Vec<String>) =
            self.allow.value.iter().cloned().partition(|entry| !entry::has_several_words(entry));
        let entry = |effect| move |text: &String| ListEntry { text: text.clone(), effect };
        let asked = self.ask.value.iter().map(entry(Effect::Ask));
        let entries = several.iter().map(entry(Effect::Allow)).chain(asked).collect();
        (single, entries)
    }

    /// Reads the policies, and makes rules of them and of the entries that have several words.
    pub(super) fn read_rules(&mut self, from: FileFrom<'_>) -> Result<(), ConfigError> {
        let (single, mut entries) = self.list_entries();
        if self.policy.value.is_empty() && self.profile.value.is_empty() && entries.is_empty() {
            return self.check_lines(&Rules::default());
        }
        let star = single.iter().filter(|entry| *entry == "*");
        entries.extend(star.map(|text| ListEntry { text: text.clone(), effect: Effect::Allow }));
        let texts = policies(&self.policy, &self.surroundings.directory, from)?;
        if self.audit.value.is_some() {
            let digest = |text: &PolicyText| (text.file.clone(), Sha256::of(&text.text));
            self.policy_digests = texts.iter().map(digest).collect();
        }
        let of_policy = |source| ConfigError::Policy { source: Box::new(source) };
        let mut rules = Rules::load(&texts, &self.profile.value, &entries).map_err(of_policy)?;
        if let Some(project) = &self.project_dir.value {
            rules.set_project(&self.surroundings.directory.join(project));
        }
        let search_path = SearchPath::new(self.surroundings.variable("PATH"));
        let known = KnownPrograms::new(search_path.entries());
        let programs = Programs::new(search_path, self.surroundings.directory.clone());
        let name_of = |sought: &str| known.name_of(programs.find_listed(sought)?.path());
        rules.check_programs(name_of).map_err(of_policy)?;
        // Asking about every call of an allowed command only narrows what may run.
        let is_narrower = |rule: &CommandRule| matches!(*rule.origin.source, PolicySource::Ask) && rule.asks_always();
        let twice = single.iter().filter_map(|entry| rules.get(entry)).find(|rule| !is_narrower(rule));
        if let Some(rule) = twice {
            let (command, allow_source) = (rule.name.clone(), self.allow.source.clone());
            return Err(ConfigError::DescribedTwice { command, described: rule.origin.clone(), allow_source });
        }
        // cmd.exe does not split a line into words: each program does that itself, in its own way.
        let is_cmd = cfg!(windows) && self.tools.value.has_shell();
        let unusable = if is_cmd { rules.iter().find(|rule| !rule.is_plain_any()) } else { None };
        if let Some(rule) = unusable {
            let (command, described) = (rule.name.clone(), rule.origin.clone());
            return Err(ConfigError::RuleOnCmd { command, described, which: self.tools.value });
        }
        self.check_lines(&rules)?;
        self.rules = Arc::new(rules);
        Ok(())
    }

    /// Makes sure that no line can write a program and run it.
    fn check_lines(&self, rules: &Rules) -> Result<(), ConfigError> {
        let writes_anything = rules.redirections().is_none_or(|redirections| redirections.write.is_none());
        if self.lines.value == Lines::Files && self.allow_project_commands.value && writes_anything {
            return Err(ConfigError::LinesWriteProject { lines_source: self.lines.source.clone() });
        }
        Ok(())
    }

    /// The files that no call writes: those that settings name, allowed programs and the operator's own, also where they don't
    /// exist yet.
    pub(crate) fn protected(&self, allow: &AllowList, programs: &Programs) -> Vec<Protected> {
        let here = |path: PathBuf| self.surroundings.directory.join(path);
        let (record, audit) = (&self.record.value, &self.audit.value);
        let files = [&self.file.value, &self.lock.value, record, audit, &self.log_file.value];
        let named = files.into_iter().flatten().chain(&self.policy.value).cloned();
        let sought = |name: &String| allow.rules().head(name).map_or(name.clone(), |rule| rule.sought.to_owned());
        let operators = [&self.ask_with.value, &self.audit_anchor.value].into_iter().flatten();
        // A word of theirs may be a script.
        let scripts = operators.clone().flatten().filter(|word| Path::new(word).is_absolute()).map(PathBuf::from);
        let operators = operators.filter_map(|words| words.first().cloned());
        let shell = self.shell.value.to_str().map(str::to_owned);
        let entries = allow.names().iter().map(sought).chain(operators).chain(shell);
        // A relative path may be that of a program in any directory that the operator named.
        let named_for_calls = self.cwd_root.value.iter().flatten().chain(&self.workspace_dir.value);
        let places = |entry: String| {
            let beneath = named_for_calls.clone().filter(|_| is_path(&entry)).map(|base| here(base.join(&entry)));
            let beneath: Vec<PathBuf> = beneath.collect();
            programs.places(&entry).into_iter().chain(beneath)
        };
        let files = named.chain(scripts).chain(entries.flat_map(places));
        let full = audit.iter().filter_map(|log| Protected::beginning(here(log.clone()), "."));
        let recordings = record.iter().filter_map(|name| Protected::filled(here(name.clone())));
        let files = files.map(|path| Protected::File(here(path)));
        // Whoever writes there approves lines of agents.
        let grants = self.surroundings.grants_directory();
        let grants =
            grants.map(|directory| Protected::Named { directory, beginning: String::new(), ending: String::new() });
        files.chain(full).chain(recordings).chain(grants).collect()
    }
}

/// The texts of the policies that are named; relative names start from `directory`.
///
/// # Errors
/// A file that can't be read.
fn policies(
    files: &Setting<Vec<PathBuf>>,
    directory: &Path,
    from: FileFrom<'_>,
) -> Result<Vec<PolicyText>, ConfigError> {
    let read = |name: &PathBuf| {
        let failed = |source| ConfigError::PolicyFile { file: name.clone(), named_by: files.source.clone(), source };
        let text = from.read(directory, name, LARGEST_POLICY).and_then(into_text).map_err(failed)?;
        Ok(PolicyText { file: name.clone(), text })
    };
    files.value.iter().map(read).collect()
}
