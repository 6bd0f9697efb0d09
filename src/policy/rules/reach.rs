//! Where the paths of a call lead: through handles, links followed part by part, compared with the allowed directories by
//! identity. Without a sandbox this is checked and not held: the program opens the path again.

use std::path::{Component, Path};
use std::sync::Arc;

use super::grammar::{Access, PathType};
use super::judge::PathJudge;
use super::matcher::Claim;
use crate::files::{Ancestry, Held, NotReached};
use crate::policy::{Directories, WorkingDirectory};

pub use crate::files::Reached;

/// A path of a call that lies where it must.
#[derive(Debug, Clone)]
pub struct HeldClaim {
    /// What the program does with it.
    pub access: Access,
    /// Where it leads; `None` where the file system was not asked.
    pub reached: Option<Reached>,
}

/// Why a path does not lie where it must.
#[derive(Debug)]
pub enum PathError {
    /// It leads out of the allowed directories, or to what the kernel makes.
    Outside {
        /// Directories of which it had to lie in one, as far as they are known.
        allowed: Vec<String>,
    },
    /// A part has a name that no part may have.
    Except {
        /// The name.
        name: String,
    },
    /// It is a whole allowed directory, and is to be written.
    Root,
    /// It is not there, and must be.
    Missing,
    /// The directory that it is to be made in is not there.
    NoDirectory,
    /// The system can't say.
    Failed {
        /// What it says.
        why: String,
    },
}

impl PathError {
    /// Whether it is known to be another path than the rule means.
    pub(super) fn is_elsewhere(&self) -> bool {
        match self {
            Self::Outside { .. } | Self::Except { .. } | Self::Root => true,
            Self::Missing | Self::NoDirectory | Self::Failed { .. } => false,
        }
    }

    /// The sentence for the model. Where a path leads is never said.
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
            Self::Failed { why } => format!("{text} can't be {done}: {why}"),
        }
    }
}

/// The judge that asks the file system.
#[derive(Debug)]
pub struct OnDisk<'a> {
    directories: &'a Directories,
    directory: &'a WorkingDirectory,
    /// Found out with the first path: it must lie in one directory of each group.
    bounds: Option<Vec<Vec<Arc<Held>>>>,
}

impl<'a> OnDisk<'a> {
    /// Judges the paths of a call that runs in `directory`.
    pub fn new(directories: &'a Directories, directory: &'a WorkingDirectory) -> Self {
        Self { directories, directory, bounds: None }
    }

    /// The directories that a path of this type must lie in, one of each group.
    fn bounds(&mut self, path: &PathType) -> Vec<Vec<Arc<Held>>> {
        if !path.under.is_empty() {
            return vec![self.directories.beneath_project(&path.under)];
        }
        self.bounds.get_or_insert_with(|| self.directories.bounds_of_paths()).clone()
    }
}

/// The first directory of each group that this one lies in.
fn lies_in<'b>(directory: &Held, bounds: &'b [Vec<Arc<Held>>]) -> Option<Vec<&'b Arc<Held>>> {
    let ancestry = Ancestry::of(directory);
    bounds.iter().map(|group| group.iter().find(|root| ancestry.lies_in(root))).collect()
}

/// The refusal of what lies in no directory of some group, with those of the first such group.
fn outside(directory: &Held, bounds: &[Vec<Arc<Held>>]) -> PathError {
    let ancestry = Ancestry::of(directory);
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
        let reached = Reached::from(self.directory.held(), Path::new(text)).map_err(|error| match error {
            NotReached::Special => PathError::Outside { allowed: Vec::new() },
            // Of what lies outside nothing is said but that.
            NotReached::Failed { directory, .. } if lies_in(&directory, &bounds).is_none() => {
                outside(&directory, &bounds)
            }
            NotReached::Failed { source, .. } => PathError::Failed { why: source.to_string() },
        })?;
        // A directory lies in itself, a file where it was found.
        let place = match &reached {
            Reached::There { held, is_directory: true, .. } => held,
            Reached::There { directory, .. } | Reached::Missing { directory, .. } => directory,
        };
        let roots = lies_in(place, &bounds).ok_or_else(|| outside(place, &bounds))?;
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
