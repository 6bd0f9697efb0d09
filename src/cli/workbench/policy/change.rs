//! A change that an operator could make in the settings, tried out: the settings with the change are loaded, and decide on the command.
//!
//! It reads the policy files again, and writes nothing.

use std::path::{Path, PathBuf};

use serde_yaml::Value;

use crate::config::Config;
use crate::files::canonicalize;
use crate::network::Network;
use crate::policy::rules::{CommandRule, ListEntry, PolicySource, PolicyText, Rules, describes};
use crate::policy::{Explanation, Programs, SearchPath};

/// The settings that decide which commands may run.
pub(super) struct Settings {
    /// The policy files as the operator named them.
    pub files: Vec<PathBuf>,
    /// The profiles that flags name.
    pub profiles: Vec<String>,
    /// The entries of the allow-list that are one word.
    pub single: Vec<String>,
    /// The others.
    pub entries: Vec<ListEntry>,
    /// The directory that relative paths count from.
    pub directory: PathBuf,
    /// Finds programs as the server does.
    pub programs: Programs,
    /// The directories that calls may use.
    pub roots: Vec<PathBuf>,
    /// Those of which commands can only read the top, since the sandbox lets them write in some directories below.
    pub read_only: Vec<PathBuf>,
    /// The repository that commands can't write, so that none of them commits.
    pub locked: Option<PathBuf>,
    /// Whether each call has a loopback of its own.
    pub has_loopback: bool,
    /// Where the settings are.
    pub configuration: Option<PathBuf>,
}

/// A change of the settings.
#[derive(Debug, Clone)]
pub(super) struct Change {
    /// The number of the policy file that gets the lines; `None` for a new one.
    pub file: Option<usize>,
    /// The lines of YAML.
    pub lines: String,
    /// The command whose rule in that file they replace; `None` if they are added to what is there.
    pub replaces: Option<String>,
    /// The profiles that flags name afterwards.
    pub profiles: Vec<String>,
    /// The new entry of a list of commands; `None` for none.
    pub entry: Option<ListEntry>,
}

impl Settings {
    pub(super) fn of(config: &Config) -> Self {
        let (single, entries) = config.list_entries();
        let variable = |name| config.surroundings.variable(name);
        let path = SearchPath::new(variable("PATH")).with_endings(variable("PATHEXT"));
        Self {
            files: config.policy.value.clone(),
            profiles: config.profile.value.clone(),
            single,
            entries,
            directory: config.surroundings.directory.clone(),
            programs: Programs::new(path, config.surroundings.directory.clone()),
            roots: roots(config),
            read_only: crate::cli::workbench::git::read_only(config),
            locked: crate::cli::workbench::git::locked(config),
            has_loopback: config.network() == Network::Loopback,
            configuration: config.file.value.clone(),
        }
    }

    /// The program of that name in the virtual environment of Python whose programs other rules name; `None` if there is none, or if
    /// a rule describes the command.
    pub(super) fn in_environment(&self, name: &str, rules: &Rules) -> Option<String> {
        if rules.describes(name) {
            return None;
        }
        let bins =
            rules.written().filter_map(|rule| Some(self.directory.join(rule.program.as_ref()?).parent()?.to_owned()));
        let mut bins = bins.filter(|bin| bin.with_file_name("pyvenv.cfg").is_file());
        let file = bins.find_map(|bin| Some(bin.join(Path::new(name).file_name()?)).filter(|file| file.is_file()))?;
        Some(file.display().to_string())
    }

    /// No change, but for lines that go to the policy file of this number, or to a new one.
    pub(super) fn change(&self, file: Option<usize>, lines: String) -> Change {
        Change { file, lines, replaces: None, profiles: self.profiles.clone(), entry: None }
    }

    /// Where a rule goes, or what is to be added to the one that there is, and how this is said. The first place that works is best.
    pub(super) fn places(&self, name: &str, rules: &Rules) -> Vec<(Change, String)> {
        let rule = rules.get(name).map(|rule| &**rule);
        let change = |file| self.change(file, String::new());
        let to =
            |file: usize| self.files.get(file).map_or_else(String::new, |file| format!("add to {}", file.display()));
        let files = || (0..self.files.len()).map(|file| (change(Some(file)), to(file)));
        let new = || "write a file for `--policy`".to_owned();
        match rule.map(|rule| (&*rule.origin.source, rule)) {
            Some((PolicySource::File(named), CommandRule { origin, .. })) => {
                let file = self.files.iter().position(|file| file == named);
                vec![(change(file), format!("add to the rule for `{name}` in {origin}"))]
            }
            // A file can't describe a command of a profile that a flag names.
            Some((PolicySource::Profile(profile), _)) if self.profiles.contains(profile) => {
                let places = if self.files.is_empty() { vec![(change(None), new())] } else { files().collect() };
                let instead = |(change, how): (Change, String)| {
                    let profiles = change.profiles.into_iter().filter(|name| name != profile).collect();
                    let lines = format!("profiles: [{profile}]\n");
                    (Change { profiles, lines, ..change }, format!("{how}, in place of `--profile {profile}`"))
                };
                places.into_iter().map(instead).collect()
            }
            _ if !self.files.is_empty() => files().collect(),
            None if rules.is_empty() => {
                let any = format!("add `{name}` to `--allow`, which takes any arguments, or {}", new());
                vec![(change(None), any)]
            }
            Some(_) | None => vec![(change(None), new())],
        }
    }

    /// The rule for a command as its policy file has it, and the number of the file.
    pub(super) fn own_rule(&self, name: &str, rules: &Rules) -> Option<(usize, Value)> {
        let PolicySource::File(named) = &*rules.get(name)?.origin.source else { return None };
        let number = self.files.iter().position(|file| file == named)?;
        let text = std::fs::read_to_string(self.directory.join(named)).ok()?;
        let whole: Value = serde_yaml::from_str(&text).ok()?;
        Some((number, whole.get("commands")?.get(name)?.clone()))
    }

    /// Tries whether the words and their input are allowed after the change, or a person is asked about them.
    ///
    /// # Errors
    /// Why they are not, as the end of a sentence.
    pub(super) fn allows(&self, refused: &Explanation, change: &Change) -> Result<(), String> {
        let mut texts = Vec::new();
        for file in &self.files {
            let text = std::fs::read_to_string(self.directory.join(file))
                .map_err(|error| format!("`{}` can't be read: {error}", file.display()))?;
            texts.push(PolicyText { file: file.clone(), text });
        }
        match change.file.and_then(|file| texts.get_mut(file)) {
            Some(policy) => {
                let file = policy.file.display();
                let rest = change.replaces.as_ref().map(|name| without(&policy.text, name));
                let changed = with(rest.as_ref().unwrap_or(&policy.text), &change.lines);
                policy.text =
                    changed.ok_or_else(|| format!("its rule in `{file}` says something else; change it there"))?;
            }
            None if change.lines.is_empty() => {}
            None => texts.push(PolicyText { file: "policy".into(), text: change.lines.clone() }),
        }
        let entries: Vec<ListEntry> = self.entries.iter().chain(&change.entry).cloned().collect();
        let rules = Rules::load(&texts, &change.profiles, &entries).map_err(|error| error.problem.to_string())?;
        let words = refused.words.as_slice();
        let rule = words.first().and_then(|name| rules.get(name)).ok_or("nothing describes it then")?;
        let takes_all = describes(rule, words) && (rule.stdin || !refused.has_input);
        takes_all.then_some(()).ok_or_else(|| "its rule does not take these words then".to_owned())
    }
}

/// The directories that calls may use, as they are named and where they lead.
fn roots(config: &Config) -> Vec<PathBuf> {
    let named = config.cwd_root.value.iter().flatten();
    let named = named.chain(config.workspace_dir.value.as_ref()).chain(config.project_dir.value.as_ref());
    let absolute = named.map(|path| config.surroundings.directory.join(path));
    absolute.flat_map(|path| [canonicalize(&path).ok(), Some(path)]).flatten().collect()
}

/// The policy with these lines added, as a person would add them: only lists of forms and profiles grow, and only `extends` is
/// replaced. `None` if something else is there.
pub(super) fn with(policy: &str, lines: &str) -> Option<String> {
    let mut whole: Value = serde_yaml::from_str(policy).ok()?;
    add(&mut whole, serde_yaml::from_str(lines).ok()?, "")?;
    serde_yaml::to_string(&whole).ok()
}

/// The policy without the rule for a command.
pub(super) fn without(policy: &str, name: &str) -> String {
    let mut whole: Value = serde_yaml::from_str(policy).unwrap_or_default();
    if let Some(commands) = whole.get_mut("commands").and_then(Value::as_mapping_mut) {
        commands.remove(name);
    }
    // What was read as YAML can be written.
    serde_yaml::to_string(&whole).unwrap_or_default()
}

fn add(to: &mut Value, from: Value, key: &str) -> Option<()> {
    match (to, from) {
        (Value::Mapping(to), Value::Mapping(from)) => {
            for (key, value) in from {
                let name = key.as_str().unwrap_or_default().to_owned();
                add(to.entry(key).or_insert(Value::Null), value, &name)?;
            }
        }
        (Value::Sequence(to), Value::Sequence(from)) if key == "forms" || key == "profiles" => to.extend(from),
        (to, from) if to.is_null() || *to == from || key == "extends" => *to = from,
        (_, _) => return None,
    }
    Some(())
}
