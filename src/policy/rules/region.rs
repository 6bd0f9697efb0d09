//! Regions: files and directories that paths must lie in, or must not, compared by identity. A region may name files
//! that do not exist yet.

use std::path::Path;
use std::sync::Arc;

use crate::files::{Ancestry, Held, NotReached, Reached, Steps};
use crate::policy::MOST_STEPS;

/// Directories and files, and all that lies in these directories.
#[derive(Debug, Clone, Default)]
pub(crate) struct Region {
    members: Vec<Reached>,
    /// Whether a member could not be looked up, so that it is not known what lies in it.
    is_partial: bool,
}

/// Where something lies in relation to a region.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// It is a member, or lies in one.
    Within,
    /// It is a directory that a member lies in.
    Around,
    /// Neither.
    Elsewhere,
    /// This can't be found out.
    Unknown,
}

impl Region {
    /// Directories that are open; `None` for one that could not be opened.
    pub fn of<'a>(directories: impl IntoIterator<Item = Option<&'a Arc<Held>>>) -> Self {
        let mut region = Self::default();
        for directory in directories {
            match directory {
                Some(held) => region.members.push(itself(held)),
                None => region.is_partial = true,
            }
        }
        region
    }

    /// Returns the region that paths lead to, relative to the directory `from`, which is `None` if it could not be
    /// opened. Missing files count by their names.
    pub fn beneath(from: Option<&Arc<Held>>, paths: impl IntoIterator<Item: AsRef<Path>>) -> Self {
        let mut region = Self::default();
        for path in paths {
            let reached = from.map(|from| Reached::from(from, path.as_ref(), &mut Steps::new(MOST_STEPS)));
            match reached {
                Some(Ok(reached)) => region.members.push(reached),
                // Nothing that a rule allows lies there.
                Some(Err(NotReached::Special)) => {}
                Some(Err(NotReached::TooLong | NotReached::Failed { .. })) | None => region.is_partial = true,
            }
        }
        region
    }

    /// Returns the region of these files and directories.
    pub fn reached(members: impl IntoIterator<Item = Reached>) -> Self {
        Self { members: members.into_iter().collect(), is_partial: false }
    }

    /// Both regions together.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.members.extend(other.members);
        Self { is_partial: self.is_partial || other.is_partial, ..self }
    }

    /// Its directories.
    pub fn directories(&self) -> impl Iterator<Item = &Arc<Held>> {
        self.members.iter().filter_map(|member| match member {
            Reached::There { held, is_directory: true, .. } => Some(held),
            Reached::There { is_directory: false, .. } | Reached::Missing { .. } => None,
        })
    }

    /// Where `reached` lies. `ancestry` is that of the nearest directory: itself, or the one that it lies in.
    pub fn place(&self, reached: &Reached, ancestry: &Ancestry) -> Place {
        if self.members.iter().any(|member| is_within(reached, ancestry, member)) {
            Place::Within
        } else if self.members.iter().any(|member| is_around(reached, member)) {
            Place::Around
        } else if self.is_partial || ancestry.error().is_some() {
            Place::Unknown
        } else {
            Place::Elsewhere
        }
    }

    /// Whether a directory is one of its members, or lies in one.
    pub fn holds(&self, directory: &Arc<Held>) -> bool {
        self.place(&itself(directory), &Ancestry::of(directory)) == Place::Within
    }
}

/// A directory, as what a path may lead to.
pub(crate) fn itself(directory: &Arc<Held>) -> Reached {
    Reached::There { held: Arc::clone(directory), directory: Arc::clone(directory), is_directory: true }
}

fn is_within(reached: &Reached, ancestry: &Ancestry, member: &Reached) -> bool {
    match (member, reached) {
        (Reached::There { held: outer, is_directory: true, .. }, _) => ancestry.lies_in(outer),
        (Reached::There { held: file, .. }, Reached::There { held, .. }) => file.identity() == held.identity(),
        (Reached::Missing { directory, names }, Reached::Missing { directory: other, names: inner }) => {
            directory.identity() == other.identity() && inner.starts_with(names)
        }
        (Reached::There { .. }, Reached::Missing { .. }) | (Reached::Missing { .. }, Reached::There { .. }) => false,
    }
}

fn is_around(reached: &Reached, member: &Reached) -> bool {
    let inner = match member {
        Reached::There { held, is_directory: true, .. } => held,
        Reached::There { directory, .. } | Reached::Missing { directory, .. } => directory,
    };
    match (reached, member) {
        (Reached::There { held, is_directory: true, .. }, _) => Ancestry::of(inner).lies_in(held),
        (Reached::Missing { directory, names }, Reached::Missing { directory: other, names: inner }) => {
            directory.identity() == other.identity() && inner.starts_with(names)
        }
        (Reached::There { .. } | Reached::Missing { .. }, _) => false,
    }
}
