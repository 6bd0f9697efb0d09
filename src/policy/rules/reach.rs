//! Where the paths of a call lead. Links are followed part by part, through handles, and directories are compared with the
//! allowed ones by identity. Without a sandbox a path is only checked: the program opens it again.

use std::collections::{BTreeMap, HashMap};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use super::grammar::{Access, PathType};
use super::judge::PathJudge;
use super::matcher::Claim;
use super::region::{Place, Region, itself};
use crate::files::{Ancestry, Held, Identity, NotReached, Steps};
use crate::policy::client_roots::ADVICE;
use crate::policy::{Directories, MOST_STEPS, RefusalKind, WorkingDirectory};

pub use crate::files::Reached;

/// The directory of a repository, in which git finds programs to run.
pub(crate) const REPOSITORY: &str = ".git";

/// A path of a call that lies where it must.
#[derive(Debug, Clone)]
pub struct HeldClaim {
    /// The number of the client's word that names it.
    pub word: usize,
    /// The program's access to it.
    pub access: Access,
    /// Where it leads; `None` if the file system was not asked.
    pub reached: Option<Reached>,
    /// Why no call may use it although the rule means it: it lies outside the client's roots. A sentence for the model.
    pub narrowed: Option<String>,
}

/// Why a path does not lie where it must.
#[derive(Debug, Clone)]
pub enum PathError {
    /// It leads out of the allowed directories.
    Outside {
        /// The directories in one of which it must lie, as far as they are known.
        allowed: Vec<String>,
    },
    /// The same, but it is, or may be, a directory around an allowed one, or its end was not reached.
    PerhapsOutside {
        /// The directories in one of which it must lie, as far as they are known.
        allowed: Vec<String>,
    },
    /// The operator named no directory, so paths are measured by nothing.
    Unmeasured,
    /// Its type names directories of the project, and the operator named no project.
    NoProject,
    /// One of its parts has a name that is not allowed.
    Except {
        /// The name.
        name: String,
        /// Whether the place that it leads to has such a part, spelled exactly so, and not only its text.
        is_certain: bool,
    },
    /// It is to be written, and is an allowed directory itself.
    Root,
    /// It is to be written, and the server or an agent takes instructions from it.
    Protected,
    /// It is to be written, and is a file that has other names.
    Linked,
    /// It must exist, but does not.
    Missing,
    /// The paths of the call have more parts than are walked.
    TooLong,
    /// The system reported another error.
    Failed {
        /// The system's error.
        why: String,
    },
}

impl PathError {
    /// Whether it is certain that a form or a type which asks or denies does not mean this path. It does mean the directories
    /// that it names, and those around them.
    pub(super) fn is_elsewhere(&self) -> bool {
        match self {
            Self::Outside { .. } => true,
            // This name is excepted by default, so that it takes nothing out of what is asked for or denied.
            Self::Except { name, is_certain } => *is_certain && name != REPOSITORY,
            // To move or remove a directory is to change all that lies in it.
            Self::Root | Self::Protected | Self::PerhapsOutside { .. } => false,
            Self::Unmeasured | Self::NoProject => false,
            Self::Linked | Self::Missing | Self::TooLong | Self::Failed { .. } => false,
        }
    }

    /// How firmly a path is refused that a rule takes otherwise. What may be written by no call, and what the operator excepts, may
    /// be meant also where it is not certain.
    pub(crate) fn refusal_kind(&self, access: Access) -> RefusalKind {
        match self {
            Self::Protected => RefusalKind::Denied,
            Self::Except { name, .. } if name == REPOSITORY && access == Access::Write => RefusalKind::Denied,
            Self::Except { .. } | Self::Root | Self::Linked | Self::TooLong | Self::Failed { .. } => {
                RefusalKind::Unclear
            }
            Self::Outside { .. } | Self::PerhapsOutside { .. } if access == Access::Write => RefusalKind::Unclear,
            Self::Outside { .. } | Self::PerhapsOutside { .. } | Self::Unmeasured | Self::NoProject => {
                RefusalKind::Undescribed
            }
            Self::Missing => RefusalKind::Undescribed,
        }
    }

    /// The sentence for the model. It never says where a path leads.
    pub(crate) fn sentence(&self, text: &str, access: Access) -> String {
        let text = crate::policy::quoted(text);
        let done = match access {
            Access::Read => "read",
            Access::Write => "written",
        };
        match self {
            Self::Outside { allowed } | Self::PerhapsOutside { allowed } => match allowed.as_slice() {
                [] => format!("{text} leads outside the allowed directories"),
                allowed => format!("{text} leads outside the allowed directories ({})", allowed.join(", ")),
            },
            Self::Unmeasured => format!(
                "{text} can't be {done}: a client's roots allow no paths, and the operator named no directory; ask the \
                 operator to {ADVICE}"
            ),
            Self::NoProject => format!(
                "{text} can't be {done}: the rule names directories of the project, and the operator named no project; ask the \
                 operator to name it with `--project-dir`"
            ),
            Self::Except { name, .. } => format!("{text} lies in `{name}`, where nothing may be {done}"),
            Self::Root => format!("{text} is a whole allowed directory; name something in it"),
            Self::Protected => {
                format!("{text} can't be {done}: the server or an agent reads from it what to run, or runs it")
            }
            Self::Linked => format!(
                "{text} can't be {done}: the file has other names (hard links), which may lie where nothing is {done}; to change only this \
                 one, make a copy under another name and move it here"
            ),
            Self::Missing => format!("{text} does not exist"),
            Self::TooLong => format!(
                "{text} is not looked up, since the paths of this call have more than {MOST_STEPS} parts together; pass fewer or \
                 shorter paths"
            ),
            Self::Failed { why } => format!("{text} can't be {done}: {why}"),
        }
    }
}

/// The judge that asks the file system.
#[derive(Debug)]
pub struct OnDisk<'a> {
    directories: &'a Directories,
    directory: &'a WorkingDirectory,
    /// The regions that paths must lie in, in each of them, by the `under` of their types.
    regions: BTreeMap<Vec<String>, Arc<Vec<Region>>>,
    /// The part of the operator's directories that is left by the client's roots; `None` until a path is checked.
    of_client: Option<Arc<Option<Region>>>,
    /// The files that no call writes; `None` until a path to be written is checked.
    protected: Option<Arc<Region>>,
    /// Where the paths lead that were walked, since several forms and types look at the same one.
    reached: HashMap<String, Reached>,
    /// The ancestries of the directories that were reached, since a call may name many files in one of them. They are
    /// held, so that no other directory gets the identity of one meanwhile.
    around: BTreeMap<Identity, (Arc<Held>, Arc<Ancestry>)>,
    /// The directories that paths name and leave again.
    left: HashMap<String, Arc<Vec<Arc<Held>>>>,
    steps: Steps,
    /// Whether the call names a file or a directory that is named like what agents read, and a directory to write to.
    named: (bool, bool),
}

impl<'a> OnDisk<'a> {
    /// Judges the paths of a call that runs in `directory`.
    pub fn new(directories: &'a Directories, directory: &'a WorkingDirectory) -> Self {
        let (regions, reached, around) = (BTreeMap::new(), HashMap::new(), BTreeMap::new());
        let steps = Steps::new(MOST_STEPS);
        let left = HashMap::new();
        let (of_client, protected, named) = (None, None, (false, false));
        Self { directories, directory, regions, of_client, protected, reached, around, left, steps, named }
    }

    /// The regions that a path of this type must lie in.
    fn regions(&mut self, path: &PathType) -> Arc<Vec<Region>> {
        let directories = self.directories;
        let find = || match path.under.as_slice() {
            [] => directories.regions(),
            under => vec![directories.beneath_project(under)],
        };
        Arc::clone(self.regions.entry(path.under.clone()).or_insert_with(|| Arc::new(find())))
    }

    /// Why a path lies outside the client's roots; `None` if it does not. A type that names its directories is not narrowed.
    fn narrowed(&mut self, path: &PathType, reached: &Reached, ancestry: &Ancestry) -> Option<PathError> {
        if !path.under.is_empty() {
            return None;
        }
        let of_client = self.of_client.get_or_insert_with(|| Arc::new(self.directories.region_of_client()));
        let region = Option::as_ref(of_client)?;
        (region.place(reached, ancestry) != Place::Within).then(|| PathError::Outside { allowed: shown([region]) })
    }

    /// Walks a path once for all forms and types that look at it.
    fn walk(&mut self, text: &str) -> Result<Reached, NotReached> {
        if let Some(reached) = self.reached.get(text) {
            return Ok(reached.clone());
        }
        let reached = Reached::from(self.directory.held(), Path::new(text), &mut self.steps)?;
        self.reached.insert(text.to_owned(), reached.clone());
        Ok(reached)
    }

    /// Whether a path to be written is, lies in or holds something that the server or an agent takes instructions from.
    fn is_protected(&mut self, reached: &Reached, ancestry: &Ancestry, roots: &[&Arc<Held>]) -> bool {
        let protected = self.protected.get_or_insert_with(|| Arc::new(self.directories.protected()));
        let place = protected.place(reached, ancestry);
        let path = reached.path();
        matches!(place, Place::Within | Place::Around)
            || self.directories.protects_name(&path)
            || instructs_agents(&beneath(&path, roots))
            || matches!(reached, Reached::There { is_directory: true, .. }) && holds_instructions(&path)
    }

    /// Whether a path names a directory outside the allowed ones and leaves it by `..`: where the rest leads would tell whether such
    /// a directory exists.
    fn strays(&mut self, path: &PathType, text: &str, regions: &[Region]) -> Result<bool, PathError> {
        if !text.contains("..") {
            return Ok(false);
        }
        let left = match self.left.get(text) {
            Some(left) => Arc::clone(left),
            None => {
                let left = Reached::left_again(self.directory.held(), Path::new(text), &mut self.steps);
                let left = Arc::new(left.map_err(|error| match error {
                    NotReached::TooLong => PathError::TooLong,
                    NotReached::Special | NotReached::Failed { .. } => {
                        PathError::PerhapsOutside { allowed: Vec::new() }
                    }
                })?);
                self.left.insert(text.to_owned(), Arc::clone(&left));
                left
            }
        };
        // What a type asks for or denies lies in the operator's directories, and a path may go through these.
        let of_operator = if left.is_empty() { Vec::new() } else { self.directories.regions() };
        Ok(left.iter().any(|directory| {
            let (here, ancestry) = (itself(directory), self.ancestry(directory));
            let is_within = |regions: &[Region]| lies_in(&here, &ancestry, regions).is_ok();
            let is_hidden = self.narrowed(path, &here, &ancestry).is_some();
            is_hidden || !(is_within(regions) || is_within(&of_operator))
        }))
    }

    fn ancestry(&mut self, directory: &Arc<Held>) -> Arc<Ancestry> {
        let climb = || {
            let ancestry = Ancestry::of(directory);
            self.steps.take_levels(&ancestry);
            (Arc::clone(directory), Arc::new(ancestry))
        };
        Arc::clone(&self.around.entry(directory.identity().clone()).or_insert_with(climb).1)
    }
}

/// The directories of regions, as messages show them.
fn shown<'r>(regions: impl IntoIterator<Item = &'r Region>) -> Vec<String> {
    let quoted = |held: &Arc<Held>| crate::policy::quoted(&held.path().to_string_lossy());
    regions.into_iter().flat_map(Region::directories).map(quoted).collect()
}

/// Checks that something lies in each region. The error names the directories of the first that it does not lie in.
fn lies_in(reached: &Reached, ancestry: &Ancestry, regions: &[Region]) -> Result<(), PathError> {
    let places: Vec<Place> = regions.iter().map(|region| region.place(reached, ancestry)).collect();
    let missed = regions.iter().zip(&places).find(|(_, place)| **place != Place::Within);
    let Some((region, _)) = missed else { return Ok(()) };
    let allowed = shown([region]);
    // One region that it certainly does not lie in is enough.
    Err(if places.contains(&Place::Elsewhere) {
        PathError::Outside { allowed }
    } else {
        PathError::PerhapsOutside { allowed }
    })
}

impl PathJudge for OnDisk<'_> {
    fn judge(&mut self, claim: &Claim<'_, '_>) -> Result<HeldClaim, PathError> {
        let Claim { path, text, .. } = *claim;
        if text.is_empty() || text == "-" || text.contains('\0') {
            return Err(PathError::Outside { allowed: Vec::new() });
        }
        if path.under.is_empty() && !self.directories.measures_paths() {
            return Err(PathError::Unmeasured);
        }
        let regions = self.regions(path);
        self.within(claim, &regions).map_err(|error| match error {
            PathError::PerhapsOutside { .. } if !self.directories.measures(&path.under) => PathError::NoProject,
            error => error,
        })
    }
}

impl OnDisk<'_> {
    /// Checks a path by the regions of its type.
    fn within(&mut self, claim: &Claim<'_, '_>, regions: &[Region]) -> Result<HeldClaim, PathError> {
        let Claim { path, text, .. } = *claim;
        if self.strays(path, text, regions)? {
            return Err(PathError::PerhapsOutside { allowed: shown(regions) });
        }
        let reached = self.walk(text).map_err(|error| match error {
            NotReached::Special => PathError::PerhapsOutside { allowed: Vec::new() },
            NotReached::TooLong => PathError::TooLong,
            // A client must learn nothing else about what lies outside.
            NotReached::Failed { directory, source } => {
                let ancestry = self.ancestry(&directory);
                let here = itself(&directory);
                let is_hidden = self.narrowed(path, &here, &ancestry).is_some();
                match lies_in(&here, &ancestry, regions) {
                    Ok(()) if !is_hidden => PathError::Failed { why: source.to_string() },
                    Ok(()) => PathError::PerhapsOutside { allowed: Vec::new() },
                    Err(_) => PathError::PerhapsOutside { allowed: shown(regions) },
                }
            }
        })?;
        // A directory counts as lying in itself, a file in its directory.
        let place = match &reached {
            Reached::There { held, is_directory: true, .. } => held,
            Reached::There { directory, .. } | Reached::Missing { directory, .. } => directory,
        };
        let ancestry = self.ancestry(place);
        lies_in(&reached, &ancestry, regions)?;
        let roots: Vec<&Arc<Held>> =
            regions.iter().flat_map(Region::directories).filter(|root| ancestry.lies_in(root)).collect();
        if let Some((name, is_certain)) = forbidden(path, Path::new(text), &reached.path(), &roots) {
            return Err(PathError::Except { name, is_certain });
        }
        let is_root = |held: &Arc<Held>| roots.iter().any(|root| root.identity() == held.identity());
        let is_whole = matches!(&reached, Reached::There { held, .. } if is_root(held));
        if path.access == Access::Write && !is_whole && self.is_protected(&reached, &ancestry, &roots) {
            return Err(PathError::Protected);
        }
        if path.access == Access::Write && matches!(&reached, Reached::There { held, .. } if held.has_other_names()) {
            return Err(PathError::Linked);
        }
        // Whoever copies such a file to a directory makes another one, and so does a copy of a directory that holds it. An allowed
        // directory can't be copied into itself.
        let is_instruction =
            |path: &Path| path.file_name().is_some_and(|name| name == REPOSITORY || instructs_agents(Path::new(name)));
        let holds_one = |reached: &Reached| {
            let is_directory = matches!(reached, Reached::There { is_directory: true, .. });
            is_directory
                && (holds_instructions(&reached.path()) || reached.path().join(REPOSITORY).symlink_metadata().is_ok())
        };
        self.named.0 |=
            is_instruction(Path::new(text)) || is_instruction(&reached.path()) || !is_whole && holds_one(&reached);
        // Where directories are missing, the program makes them (`install -D`).
        let takes_files = match &reached {
            Reached::There { is_directory, .. } => *is_directory,
            Reached::Missing { names, .. } => names.len() > 1,
        };
        self.named.1 |= path.access == Access::Write && takes_files;
        if self.named == (true, true) {
            return Err(PathError::Protected);
        }
        let narrowed = self.narrowed(path, &reached, &ancestry).map(|error| error.sentence(text, path.access));
        match (&reached, path.access) {
            (Reached::There { .. }, Access::Write) if is_whole => Err(PathError::Root),
            (Reached::Missing { .. }, _) if path.exists && narrowed.is_none() => Err(PathError::Missing),
            (Reached::There { .. } | Reached::Missing { .. }, Access::Read | Access::Write) => {
                Ok(HeldClaim { word: claim.word, access: path.access, reached: Some(reached), narrowed })
            }
        }
    }
}

/// The name among `except` that a part of a path has: of the path as it was given, or of what it leads to; and whether it is a
/// part of the latter, spelled exactly so.
///
/// A repository's own directory counts wherever it is. Other names count beneath the outermost of the operator's directories.
fn forbidden(path: &PathType, given: &Path, real: &Path, roots: &[&Arc<Held>]) -> Option<(String, bool)> {
    let beneath = beneath(real, roots);
    let has = |place: &Path, name: &str| {
        place.components().any(|part| match part {
            Component::Normal(part) => part.to_string_lossy().eq_ignore_ascii_case(name),
            Component::ParentDir | Component::CurDir | Component::RootDir | Component::Prefix(_) => false,
        })
    };
    let is_forbidden =
        |name: &&String| has(given, name) || has(&beneath, name) || (*name == REPOSITORY && has(real, name));
    let is_part = |name: &str| beneath.components().any(|part| matches!(part, Component::Normal(part) if part == name));
    path.except.iter().find(is_forbidden).map(|name| (name.clone(), is_part(name)))
}

/// The part of a path beneath the outermost of the operator's directories that hold it.
fn beneath(real: &Path, roots: &[&Arc<Held>]) -> PathBuf {
    let rests = roots.iter().filter_map(|root| real.strip_prefix(root.path_now()).ok().map(Path::to_owned));
    rests.max_by_key(|rest| rest.components().count()).unwrap_or_else(|| real.to_owned())
}

/// The names of files and directories that agents read as instructions to run.
const AGENTS: [&str; 24] = [
    ".claude",
    ".codex",
    ".cursor",
    ".gemini",
    ".vscode",
    ".mcp.json",
    "opencode.json",
    "opencode.jsonc",
    ".opencode",
    ".copilot",
    ".qwen",
    ".kiro",
    ".amazonq",
    ".roo",
    ".clinerules",
    ".continue",
    ".pre-commit-config.yaml",
    ".devcontainer",
    ".devcontainer.json",
    ".husky",
    ".zed",
    ".idea",
    ".envrc",
    ".windsurf",
];

/// Whether what agents read as instructions to run lies directly in a directory, so that it moves and goes with it.
fn holds_instructions(directory: &Path) -> bool {
    AGENTS.iter().chain(&[".github/hooks"]).any(|name| directory.join(name).symlink_metadata().is_ok())
}

/// Whether a part of a path is what agents read as instructions to run, or its last part is a directory that can hold it.
pub(super) fn instructs_agents(path: &Path) -> bool {
    let parts: Vec<String> = path.iter().map(|part| part.to_string_lossy().to_ascii_lowercase()).collect();
    let is_hooks = |pair: &[String]| matches!(pair, [outer, inner] if outer == ".github" && inner == "hooks");
    parts.iter().any(|part| AGENTS.contains(&part.as_str()))
        || parts.windows(2).any(is_hooks)
        || parts.last().is_some_and(|last| last == ".github")
}
