//! The hint for a model if the sandbox has probably refused something: the grant that the operator would have to add, as
//! far as the command's own error message says what the command wanted.

mod said;

use std::borrow::Cow;
use std::fs::Metadata;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::report::{Given, GrantLists, ListedIn, NetworkGrant, ReportSettings};
use crate::sandbox::{Access, Preset, Sandbox};
use said::{Line, is_secret};

/// The longest path that a hint repeats, in bytes.
const LONGEST: usize = 256;
/// How many lines around the error are searched for a path: some programs name the file above the error, or below.
const AROUND: usize = 3;
/// How many bytes at the end of the output are searched: a program that fails prints its error last.
const LOOKED_AT: usize = 16 * 1024;
/// The file that `allowexec init` writes.
const CONFIGURATION: &str = "allowexec.yaml";
/// The directory of shared memory, which programs use without naming it.
const SHARED_MEMORY: &str = "/dev/shm";

/// The sandbox of a command, as far as hints depend on it.
#[derive(Debug, Clone)]
pub struct ConfinedBy {
    /// The sandbox.
    pub sandbox: Arc<Sandbox>,
    /// The setting that would give the command a network.
    pub network: NetworkGrant,
    /// Whether its rule lets it write nothing, so that no grant of paths helps.
    pub writes_nothing: bool,
}

/// The kind of file at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LiesThere {
    /// Nothing, and not even the first of its directories: it is no path.
    NoPath,
    /// Nothing, so a command that was not allowed to open it wanted to make it: reading it fails in another way.
    Nothing,
    /// A file that nobody can execute.
    Data,
    /// Something else, or what can't be seen.
    Other,
}

/// The facts that the hint depends on beside the output.
trait Surroundings {
    fn network(&self) -> NetworkGrant;
    fn writes_nothing(&self) -> bool;
    /// Whether the access is granted, so that something else has refused it.
    fn grants(&self, path: &Path, access: Access) -> bool;
    /// Looks at the file there.
    fn look(&self, path: &Path) -> LiesThere;
    /// Whether the ordinary permissions let a file be read.
    fn is_readable(&self, path: &Path) -> bool;
    /// The directory that the command ran in; `None` if it is not known.
    fn directory(&self) -> Option<&Path>;
    /// Where the operator would add a grant.
    fn lists(&self) -> GrantLists;
    /// Whether the configuration of a project lies in this directory or above, so that commands may not write there.
    fn holds_settings(&self, directory: &Path) -> bool {
        directory.ancestors().any(|directory| self.look(&directory.join(CONFIGURATION)) == LiesThere::Data)
    }
}

/// A command's sandbox, and the settings of its report.
struct Real<'a>(&'a ConfinedBy, &'a ReportSettings);

impl Surroundings for Real<'_> {
    fn network(&self) -> NetworkGrant {
        self.0.network
    }

    fn writes_nothing(&self) -> bool {
        self.0.writes_nothing
    }

    fn directory(&self) -> Option<&Path> {
        self.1.directory.as_deref()
    }

    fn lists(&self) -> GrantLists {
        self.1.lists
    }

    fn grants(&self, path: &Path, access: Access) -> bool {
        self.0.sandbox.allows(path, access)
    }

    fn is_readable(&self, path: &Path) -> bool {
        path.is_file() && is_readable(path)
    }

    fn look(&self, path: &Path) -> LiesThere {
        let first: PathBuf = path.components().take(2).collect();
        match path.metadata() {
            Ok(metadata) if metadata.is_file() && !is_executable(&metadata) => LiesThere::Data,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                if first != path && first.is_dir() {
                    LiesThere::Nothing
                } else {
                    LiesThere::NoPath
                }
            }
            Ok(_) | Err(_) => LiesThere::Other,
        }
    }
}

/// Asks without opening it: a command may have put something there that blocks whoever opens it.
#[cfg(unix)]
fn is_readable(path: &Path) -> bool {
    rustix::fs::access(path, rustix::fs::Access::READ_OK).is_ok()
}

#[cfg(not(unix))]
fn is_readable(path: &Path) -> bool {
    std::fs::File::open(path).is_ok()
}

#[cfg(unix)]
fn is_executable(metadata: &Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt;
    metadata.permissions().mode() & 0o111 != 0
}

#[cfg(not(unix))]
fn is_executable(_metadata: &Metadata) -> bool {
    true
}

/// The hint for a confined command that failed and printed this to its standard error and its standard output; `None`
/// if nothing in it looks like a refusal of the sandbox. Standard output counts only if standard error says nothing.
pub(super) fn hint([stderr, stdout]: [&str; 2], confined: &ConfinedBy, settings: &ReportSettings) -> Option<String> {
    let surroundings = Real(confined, settings);
    hint_of(stderr, &surroundings).or_else(|| hint_of(stdout, &surroundings))
}

/// The hint for files that could not be opened to write; `None` if all of them are granted, so that something else has refused it.
pub(super) fn hint_of_files(confined: &ConfinedBy, settings: &ReportSettings) -> Option<String> {
    let files = settings.unopened.iter().filter_map(|file| file.to_str());
    files.into_iter().find_map(|file| hint_of_file(file, &Real(confined, settings)))
}

fn hint_of_file(file: &str, surroundings: &impl Surroundings) -> Option<String> {
    let denial = Denial {
        path: Some(Cow::Borrowed(file)),
        is_own: true,
        is_relative: false,
        is_write: true,
        is_replacement: false,
        is_execution: false,
        is_of_network: false,
    };
    (!denial.is_granted(surroundings)).then(|| denial.hint(surroundings))
}

fn hint_of(output: &str, surroundings: &impl Surroundings) -> Option<String> {
    let mut start = output.len().saturating_sub(LOOKED_AT);
    while !output.is_char_boundary(start) {
        start += 1;
    }
    let lines: Vec<Line<'_>> = output.get(start..)?.lines().map(Line).collect();
    let has_network = surroundings.network() == NetworkGrant::None;
    let denied: Vec<usize> = places(&lines, |line| line.is_denial());
    // A failure after the last refusal is the one that ended the command.
    let failure = lines.iter().rposition(|line| line.fails_to_connect()).filter(|_| !has_network);
    if failure.is_some_and(|failure| denied.last().is_none_or(|last| *last < failure)) {
        return Some(sentence(of_network(surroundings.network(), false)));
    }
    let denials: Vec<Denial<'_>> = denied.iter().map(|&place| Denial::of(&lines, place, surroundings)).collect();
    let (of_network_itself, denials): (Vec<_>, Vec<_>) = denials.into_iter().partition(|denial| denial.is_of_network);
    if !of_network_itself.is_empty() && !has_network {
        let listens = denied.iter().filter_map(|place| lines.get(*place)).any(|line| said::is_listening(line.0));
        return Some(sentence(of_network(surroundings.network(), listens)));
    }
    // The error's own line names what was refused better than those around it.
    let named = denials.iter().filter(|denial| denial.path.is_some());
    let own = named.clone().filter(|denial| denial.is_own);
    let absolute = own.clone().filter(|denial| !denial.is_relative);
    if let Some(denial) = absolute.chain(own).chain(named).find(|denial| !denial.is_granted(surroundings)) {
        return Some(denial.hint(surroundings));
    }
    if denials.is_empty() && lines.iter().any(|line| line.0.contains(NO_REPOSITORY)) {
        return Some(format!("{OF_REPOSITORY}{}", surroundings.lists().read.adding("read", "~/.gitconfig")));
    }
    // Something names a path, and all that it names is granted: the ordinary permissions have refused it.
    let unnamed = denials.iter().find(|denial| denial.path.is_none())?;
    let GrantLists { read, write, exec, grant: _ } = surroundings.lists();
    let is_locked =
        |directory: &&Path| !surroundings.grants(directory, Access::Write) && surroundings.holds_settings(directory);
    let elsewhere = match surroundings.directory().filter(is_locked) {
        Some(_) => format!(", or {SETTINGS_ELSEWHERE}"),
        None => String::new(),
    };
    let is_write = unnamed.is_write;
    let grant = match (write, is_write && unnamed.is_replacement) {
        (_, _) if is_write && surroundings.writes_nothing() => return Some(sentence(OF_RULE)),
        (ListedIn::Flag, true) => format!("`--write` of the directory that holds it, or {SETTINGS_ELSEWHERE}"),
        (_, true) => format!("the directory that holds it{}, or {SETTINGS_ELSEWHERE}", write.place("write")),
        (ListedIn::Flag, false) if is_write => {
            format!("`--write` of the path that is needed, once it exists, or of its directory{elsewhere}")
        }
        (_, false) if is_write => {
            format!("the path that is needed, once it exists, or its directory{}{elsewhere}", write.place("write"))
        }
        (_, _) => {
            let all = [("read", read), ("write", write), ("exec", exec)];
            let list = |(flag, list)| match list {
                ListedIn::Flag => format!("`--{flag}`"),
                ListedIn::Variable(name) => format!("`{name}`"),
                ListedIn::File => format!("`{flag}:`"),
            };
            let [read, or_write, or_exec] = all.map(list);
            match write {
                ListedIn::Flag => format!("{read}, {or_write} or {or_exec} of the path that is needed{elsewhere}"),
                ListedIn::Variable(_) => {
                    format!("the path that is needed to {read}, {or_write} or {or_exec}{elsewhere}")
                }
                ListedIn::File => format!(
                    "the path that is needed to {read}, {or_write} or {or_exec} in the configuration file{elsewhere}"
                ),
            }
        }
    };
    Some(sentence(&grant))
}

/// A refusal that a program reports.
struct Denial<'a> {
    /// The path or the name that was refused. A relative one is taken from the command's directory.
    path: Option<Cow<'a, str>>,
    /// Whether the error's own line names it.
    is_own: bool,
    /// Whether the path was a relative one, which is a guess.
    is_relative: bool,
    is_write: bool,
    /// Whether a file was to be removed, renamed or replaced, which is a write to its directory.
    is_replacement: bool,
    is_execution: bool,
    is_of_network: bool,
}

impl<'a> Denial<'a> {
    fn of(lines: &[Line<'a>], place: usize, surroundings: &impl Surroundings) -> Self {
        let line = lines.get(place).copied().unwrap_or(Line(""));
        let is_possible = |path: &&str| surroundings.look(Path::new(path)) != LiesThere::NoPath;
        let above = lines.get(place.saturating_sub(2 * AROUND)..place).unwrap_or_default();
        let below = lines.get(place + 1..).unwrap_or_default();
        let code = traceback(lines, place);
        // Its own line says of what it speaks, even if that is nowhere on this machine.
        let mut own = line.path().filter(|path| !said::is_pattern(path) || is_possible(path));
        if line.is_of_shared_memory() || code.iter().chain(above).any(Line::is_of_shared_memory) {
            own = own.filter(|path| path.starts_with(SHARED_MEMORY)).or(Some(SHARED_MEMORY));
        }
        // A line that names something else that it was about leaves nothing to be looked for.
        let around = || {
            let above = above.iter().rev().take(AROUND).filter(|line| line.may_name_a_file());
            let below = below.iter().take(AROUND).filter(|line| line.labels_a_path());
            let mut paths = below.chain(above).filter_map(|line| Some((*line, line.path()?)));
            paths.find(|(_, path)| is_possible(path))
        };
        // A guess from its words, so it counts only if the sandbox refuses it.
        let relative = match (own, surroundings.directory()) {
            (None, Some(directory)) => line.relative_path().and_then(|spelled| {
                let full = spelled.split('/').fold(directory.to_owned(), |full, part| match part {
                    "" | "." => full,
                    ".." => full.parent().unwrap_or(directory).to_owned(),
                    part => full.join(part),
                });
                let parent = full.parent()?;
                let is_there = surroundings.look(parent) == LiesThere::Other;
                // In a directory that is granted it is a link to elsewhere, and the link is no grant.
                let is_refused =
                    !surroundings.grants(&full, Access::Write) && !surroundings.grants(parent, Access::Write);
                Some((spelled, full.into_os_string().into_string().ok()?)).filter(|_| is_there && is_refused)
            }),
            (_, _) => None,
        };
        let found = match own.or(relative.as_ref().map(|(spelled, _)| *spelled)) {
            Some(path) => Some((line, path)),
            None if line.names_something() => None,
            None => around(),
        };
        let path = found.map(|(_, path)| path);
        let full = relative.as_ref().map(|(_, full)| full.as_str()).or(path);
        let (before, behind) = found.and_then(|(line, path)| line.0.split_once(path)).unwrap_or((line.0, ""));
        // The words around a path say what was to be done with it; words inside the path say nothing about that. Another
        // line about the same path may say more: cargo fails to write a file, because it failed to open it.
        let lies_there = full.map(|path| surroundings.look(Path::new(path)));
        let is_execution =
            code.iter().any(|line| line.is_frame_in("subprocess.py")) || said::is_execution(before, behind);
        let about = |other: &&Line<'_>| path.is_some_and(|path| other.0.contains(path));
        let without = |line: &Line<'_>| path.map_or_else(|| line.0.to_owned(), |path| line.0.replace(path, ""));
        let calls = lines.get(place.saturating_sub(AROUND)..(place + 1 + AROUND).min(lines.len())).unwrap_or_default();
        let calls = || calls.iter().filter(|line| line.0.contains("syscall"));
        let says = |is: fn(&str) -> bool| {
            is(before)
                || lines.iter().filter(about).any(|line| is(&without(line)))
                || calls().any(|line| is(&without(line)))
                || path.is_none() && is(&without(&line))
        };
        let is_called = |name: &str| calls().any(|line| line.0.contains(name));
        let is_opened = said::is_opened(before, behind) || is_called("open");
        // Nothing keeps the command from reading it, so it was to be written.
        let is_read_anyway = |path: &str| {
            let path = Path::new(path);
            surroundings.grants(path, Access::Read)
                && !surroundings.grants(path, Access::Write)
                && surroundings.is_readable(path)
        };
        let is_relative_write = relative.is_some()
            && !is_execution
            && full.is_some_and(|path| {
                lies_there == Some(LiesThere::Nothing) || surroundings.grants(Path::new(path), Access::Read)
            });
        // A temporary file has another name each time.
        let is_temporary = said::is_temporary(before);
        let is_write = says(said::is_write) || is_temporary || is_relative_write;
        let is_replacement = says(said::is_replacement) || is_temporary;
        let place = relative.as_ref().map(|(_, full)| Cow::Owned(full.clone())).or(path.map(Cow::Borrowed));
        Self {
            path: place,
            is_own: own.is_some() || relative.is_some(),
            is_relative: relative.is_some(),
            is_write: is_write
                || is_opened && (lies_there == Some(LiesThere::Nothing) || path.is_some_and(is_read_anyway))
                || is_execution && matches!(lies_there, Some(LiesThere::Data | LiesThere::Nothing))
                || path.is_some_and(|path| path.starts_with(SHARED_MEMORY))
                || code.iter().any(Line::opens_to_write),
            is_replacement,
            is_execution,
            is_of_network: said::is_of_network(&without_file(line))
                || line.path().is_none()
                    && code
                        .iter()
                        .chain(above)
                        .chain(below.iter().take(AROUND))
                        .any(|line| line.is_frame_in("socket.py")),
        }
    }

    fn access(&self) -> Access {
        match (self.is_write, self.is_execution) {
            (true, _) => Access::Write,
            (false, true) => Access::ReadAndExecute,
            (false, false) => Access::Read,
        }
    }

    fn is_granted(&self, surroundings: &impl Surroundings) -> bool {
        let may = !(self.is_write && surroundings.writes_nothing());
        may && self.place().is_some_and(|path| surroundings.grants(Path::new(path), self.access()))
    }

    /// The path that has to be granted.
    fn place(&self) -> Option<&str> {
        let path = self.path.as_deref();
        let directory = path.and_then(|path| path.rsplit_once('/')).map(|(directory, _)| directory);
        if self.is_replacement { directory.filter(|directory| !directory.is_empty()) } else { path }
    }

    fn hint(&self, surroundings: &impl Surroundings) -> String {
        let path = self.path.as_deref().unwrap_or_default();
        let lists = surroundings.lists();
        if is_secret(path) {
            return format!("{REFUSED}; work inside the allowed directories");
        }
        if self.is_write && surroundings.writes_nothing() {
            return sentence(OF_RULE);
        }
        if let Some(preset) = Preset::ALL.into_iter().find(|preset| !self.is_write && concerns(*preset, path)) {
            return sentence(&lists.grant.adding("grant", preset.name()));
        }
        let (flag, list) = match self.access() {
            Access::Write | Access::WriteAndExecute | Access::Device => ("write", lists.write),
            Access::ReadAndExecute => ("exec", lists.exec),
            Access::Read => ("read", lists.read),
        };
        // Git makes its files anew, beside a lock that is gone again.
        let of_git = path.find(GIT).filter(|_| self.is_write).and_then(|at| path.get(..at + GIT.len() - 1));
        let known = if path.starts_with(SHARED_MEMORY) { Some(SHARED_MEMORY) } else { of_git };
        let place = known.or(self.place()).unwrap_or(path);
        // A path that was cut would not be a valid grant.
        let shown = |path| if str::len(path) > LONGEST { "PATH" } else { path };
        let grant = list.adding(flag, shown(place));
        let exists = |path: &&Path| surroundings.look(path) != LiesThere::Nothing;
        let directory = Path::new(place).ancestors().find(exists).and_then(Path::to_str).unwrap_or("/");
        let is_missing = directory != place && self.is_write;
        let is_elsewhere = self.is_write && surroundings.holds_settings(Path::new(directory));
        sentence(&match (known, is_missing) {
            // What does not exist when the server starts is not granted.
            (None, true) if is_elsewhere => {
                format!("{grant} once it exists (`mkdir -p`, or an empty file), or {SETTINGS_ELSEWHERE}")
            }
            (None, true) => format!(
                "{} once it exists (`mkdir -p`, or an empty file), or {}",
                list.value(flag, shown(place)),
                list.adding(flag, shown(directory))
            ),
            (None, false) if is_elsewhere && self.is_replacement => SETTINGS_ELSEWHERE.to_owned(),
            (None, false) if is_elsewhere => format!("{grant}, or {SETTINGS_ELSEWHERE}"),
            (_, _) => grant,
        })
    }
}

fn places(lines: &[Line<'_>], is: impl Fn(&Line<'_>) -> bool) -> Vec<usize> {
    (0..lines.len()).filter(|&place| lines.get(place).is_some_and(&is)).collect()
}

/// The line without the path of an ordinary file, whose words say nothing.
fn without_file(line: Line<'_>) -> String {
    let path = line.path().filter(|path| !path.starts_with("/dev/tcp/") && !path.starts_with("/dev/udp/"));
    path.map_or(line.0.to_owned(), |path| line.0.replace(path, ""))
}

/// The setting that gives the commands of a rule back what the rule takes from them.
const OF_RULE: &str = "`write: full` to the `sandbox` of its rule";

/// The setting that gives a network. A command that only listens may do with a loopback of its own.
fn of_network(network: NetworkGrant, listens: bool) -> &'static str {
    match network {
        NetworkGrant::OfServer(Given::Nothing) if listens => {
            "`--network loopback`, or `--network full` for other machines (in a file: `network: loopback`, or `full`)"
        }
        NetworkGrant::OfRule(Given::Nothing) if listens => {
            "`network: loopback`, or `network: full` for other machines, to the `sandbox` of its rule"
        }
        NetworkGrant::None | NetworkGrant::OfServer(Given::Nothing | Given::Loopback) => {
            "`--network full` (in a file: `network: full`)"
        }
        NetworkGrant::OfServer(Given::Ports) => "its port to `--network`, or `--network full`",
        NetworkGrant::OfRule(Given::Nothing | Given::Loopback) => "`network: full` to the `sandbox` of its rule",
        NetworkGrant::OfRule(Given::Ports) => "its port, or `network: full`, to the `sandbox` of its rule",
    }
}

/// The settings of a project whose top directory commands can't write, since they lie there.
const SETTINGS_ELSEWHERE: &str = "settings outside of the project (`allowexec init --to DIR`)";

/// The error of `cargo fix` if its libgit2 may not open the user's settings, which it takes for no repository.
const NO_REPOSITORY: &str = "no VCS found for this package";
const OF_REPOSITORY: &str = "if the package lies in a repository, the sandbox has refused git's settings; pass `--allow-no-vcs`, or ask the operator \
                             to add ";

/// In the paths of its files.
const GIT: &str = "/.git/";

const REFUSED: &str = "the sandbox has probably refused this";

fn sentence(grant: &str) -> String {
    format!("{REFUSED}; work inside the allowed directories, or ask the operator to add {grant}")
}

/// The lines of the traceback that ends in front of this one: Python's own, or the code that pytest shows.
fn traceback<'a, 'b>(lines: &'a [Line<'b>], end: usize) -> &'a [Line<'b>] {
    let above = lines.get(..end).unwrap_or_default();
    let is_code = |line: &Line<'_>| line.0.starts_with("  ") || line.0.starts_with('>') || line.0.trim().is_empty();
    let start = above.iter().rposition(|line| !is_code(line)).map_or(0, |other| other + 1);
    above.get(start..).unwrap_or_default()
}

/// Whether the path is in some home directory, at a place that the preset grants.
fn concerns(preset: Preset, path: &str) -> bool {
    let mut granted = preset.read().iter().chain(preset.executed());
    granted.any(|granted| {
        let behind =
            path.match_indices(granted).find(|(place, _)| path.get(..*place).is_some_and(|head| head.ends_with('/')));
        behind.is_some_and(|(place, _)| {
            path.get(place + granted.len()..).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    })
}

#[cfg(test)]
mod tests;
