//! Where the paths of a call lead. Links are followed part by part, through handles, and directories are compared with the
//! allowed ones by identity. Without a sandbox a path is only checked: the program opens it again.

use std::collections::BTreeMap;
use std::path::{Component, Path};
use std::sync::Arc;

use super::grammar::{Access, PathType};
use super::judge::PathJudge;
use super::matcher::Claim;
use crate::files::{Ancestry, Held, Identity, NotReached, Steps};
use crate::policy::{Directories, WorkingDirectory};

pub use crate::files::Reached;

/// How many parts the paths of one call may have together, with those of the links that they lead through. The loop walks them
/// itself, and serves nobody else meanwhile.
pub(super) const MOST_STEPS: usize = 16_384;
/// The same for calls that are decided together, such as those of a batch.
pub(crate) const MOST_STEPS_TOGETHER: usize = 2 * MOST_STEPS;

/// A path of a call that lies where it must.
#[derive(Debug, Clone)]
pub struct HeldClaim {
    /// What the program does with it.
    pub access: Access,
    /// Where it leads; `None` if the file system was not asked.
    pub reached: Option<Reached>,
}

/// Why a path does not lie where it must.
#[derive(Debug)]
pub enum PathError {
    /// It leads out of the allowed directories, or into `/proc`, `/dev` or `/sys`.
    Outside {
        /// The directories in one of which it must lie, as far as they are known.
        allowed: Vec<String>,
    },
    /// One of its parts has a name that is not allowed.
    Except {
        /// The name.
        name: String,
    },
    /// It is to be written, and is an allowed directory itself.
    Root,
    /// It must exist, but does not.
    Missing,
    /// It is to be written, and its directory does not exist.
    NoDirectory,
    /// The paths of the call have more parts than are walked.
    TooLong,
    /// The system reported another error.
    Failed {
        /// What the system says.
        why: String,
    },
}

impl PathError {
    /// Whether it is certain that the rule does not mean this path.
    pub(super) fn is_elsewhere(&self) -> bool {
        match self {
            Self::Outside { .. } | Self::Except { .. } | Self::Root => true,
            Self::Missing | Self::NoDirectory | Self::TooLong | Self::Failed { .. } => false,
        }
    }

    /// The sentence for the model. It never says where a path leads.
    pub(super) fn sentence(&self, text: &str, access: Access) -> String {
        let text = crate::policy::quoted(text);
        let done = match access {
            Access::Read => "read",
            Access::Write => "written",
        };
        match self {
            Self::Outside { allowed } if allowed.is_empty() => format!("{text} leads outside the allowed directories"),
            Self::Outside { allowed } => {
                format!("{text} leads outside the allowed directories ({})", allowed.join(", "))
            }
            Self::Except { name } => format!("{text} lies in `{name}`, where nothing may be {done}"),
            Self::Root => format!("{text} is a whole allowed directory; name something in it"),
            Self::Missing => format!("{text} does not exist"),
            Self::NoDirectory => format!("{text} can't be {done}: the directory that it lies in does not exist"),
            Self::TooLong => format!(
                "{text} is not looked up, since the paths of this call have more than {MOST_STEPS} parts together, or those of \
                 the calls that came with it more than {MOST_STEPS_TOGETHER}; pass fewer or shorter paths"
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
    /// The directories that paths must lie in, in one of each group; `None` until the first path is checked.
    bounds: Option<Vec<Vec<Arc<Held>>>>,
    /// The same for types that name directories of the project.
    under: BTreeMap<Vec<String>, Vec<Vec<Arc<Held>>>>,
    /// What lies around the directories that were reached, since a call may name many files in one of them. They are held, so
    /// that no other directory gets the identity of one meanwhile.
    around: BTreeMap<Identity, (Arc<Held>, Arc<Ancestry>)>,
    steps: Steps<'a>,
}

impl<'a> OnDisk<'a> {
    /// Judges the paths of a call that runs in `directory`.
    pub fn new(directories: &'a Directories, directory: &'a WorkingDirectory) -> Self {
        let (under, around) = (BTreeMap::new(), BTreeMap::new());
        Self { directories, directory, bounds: None, under, around, steps: Steps::new(MOST_STEPS, directories.steps()) }
    }

    /// The directories that a path of this type must lie in, in one of each group.
    fn bounds(&mut self, path: &PathType) -> Vec<Vec<Arc<Held>>> {
        if !path.under.is_empty() {
            let find = || vec![self.directories.beneath_project(&path.under)];
            return self.under.entry(path.under.clone()).or_insert_with(find).clone();
        }
        self.bounds.get_or_insert_with(|| self.directories.bounds_of_paths()).clone()
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

/// The first directory of each group that this one lies in; `None` if it lies in no directory of some group.
fn lies_in<'b>(ancestry: &Ancestry, bounds: &'b [Vec<Arc<Held>>]) -> Option<Vec<&'b Arc<Held>>> {
    bounds.iter().map(|group| group.iter().find(|root| ancestry.lies_in(root))).collect()
}

/// The error for a directory that lies in no directory of some group; it names those of the first such group.
fn outside(ancestry: &Ancestry, bounds: &[Vec<Arc<Held>>]) -> PathError {
    let missed = bounds.iter().find(|group| !group.iter().any(|root| ancestry.lies_in(root)));
    let shown = |root: &Arc<Held>| crate::policy::quoted(&root.path().to_string_lossy());
    PathError::Outside { allowed: missed.into_iter().flatten().map(shown).collect() }
}

impl PathJudge for OnDisk<'_> {
    fn judge(&mut self, claim: &Claim<'_, '_>) -> Result<HeldClaim, PathError> {
        let Claim { path, text, .. } = *claim;
        let bounds = self.bounds(path);
        if text.is_empty() || text == "-" || text.contains('\0') {
            return Err(PathError::Outside { allowed: Vec::new() });
        }
        let reached =
            Reached::from(self.directory.held(), Path::new(text), &mut self.steps).map_err(|error| match error {
                NotReached::Special => PathError::Outside { allowed: Vec::new() },
                NotReached::TooLong => PathError::TooLong,
                // A client must learn nothing else about what lies outside.
                NotReached::Failed { directory, source } => {
                    let ancestry = self.ancestry(&directory);
                    match lies_in(&ancestry, &bounds) {
                        Some(_) => PathError::Failed { why: source.to_string() },
                        None => outside(&ancestry, &bounds),
                    }
                }
            })?;
        // A directory counts as lying in itself, a file in its directory.
        let place = match &reached {
            Reached::There { held, is_directory: true, .. } => held,
            Reached::There { directory, .. } | Reached::Missing { directory, .. } => directory,
        };
        let ancestry = self.ancestry(place);
        let roots = lies_in(&ancestry, &bounds).ok_or_else(|| outside(&ancestry, &bounds))?;
        let except = |part: &str| path.except.iter().find(|except| part.eq_ignore_ascii_case(except)).cloned();
        let real = reached.path();
        let beneath = roots
            .iter()
            .filter_map(|root| real.strip_prefix(root.path_now()).ok())
            .min_by_key(|rest| rest.components().count());
        let parts = Path::new(text).components().chain(beneath.unwrap_or(&real).components());
        let mut names = parts.filter_map(|part| match part {
            Component::Normal(name) => Some(name.to_string_lossy()),
            Component::ParentDir | Component::CurDir | Component::RootDir | Component::Prefix(_) => None,
        });
        if let Some(name) = names.find_map(|name| except(&name)) {
            return Err(PathError::Except { name });
        }
        match (&reached, path.access) {
            (Reached::There { held, .. }, Access::Write)
                if roots.iter().any(|root| root.identity() == held.identity()) =>
            {
                Err(PathError::Root)
            }
            (Reached::Missing { .. }, _) if path.exists => Err(PathError::Missing),
            (Reached::Missing { names, .. }, Access::Write) if names.len() > 1 => Err(PathError::NoDirectory),
            (Reached::There { .. } | Reached::Missing { .. }, Access::Read | Access::Write) => {
                Ok(HeldClaim { access: path.access, reached: Some(reached) })
            }
        }
    }
}
