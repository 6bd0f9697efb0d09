//! The judge for examples: where paths lead as far as their text tells, so that the verdict is the same on every machine.
//!
//! A relative path is relative to the project and lies inside, unless it goes up from there. An absolute path, or one that goes
//! up, lies inside only where `under` names it. There are no links. Where the text does not tell, the readings differ.

use std::path::{Component, Path, PathBuf};

use super::super::grammar::Access;
use super::super::judge::PathJudge;
use super::super::matcher::Claim;
use super::super::reach::{HeldClaim, PathError, instructs_agents};

/// The judge, with what it takes for true where the text does not tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ByText {
    /// Whether a path lies in a directory if it may.
    is_inside: bool,
    /// Whether a path is around a directory if it may be.
    is_around: bool,
    /// Whether all files exist.
    exists: bool,
}

impl ByText {
    /// The usual reading: every file exists, and what may lie outside does.
    pub const USUAL: Self = Self { is_inside: false, is_around: false, exists: true };
    /// The other readings in which every file exists.
    pub const OTHERS: [Self; 2] =
        [Self { is_inside: true, ..Self::USUAL }, Self { is_inside: true, is_around: true, exists: true }];
    /// No file exists.
    pub const MISSING: Self = Self { exists: false, ..Self::USUAL };
}

/// A path in parts.
struct Parts<'t> {
    is_absolute: bool,
    /// How many times it goes up before its names.
    up: usize,
    names: Vec<&'t str>,
}

impl<'t> Parts<'t> {
    fn of(text: &'t str) -> Self {
        let mut parts = Self { is_absolute: false, up: 0, names: Vec::new() };
        for component in Path::new(text).components() {
            match component {
                Component::Normal(name) => parts.names.push(name.to_str().unwrap_or_default()),
                Component::CurDir => {}
                Component::RootDir | Component::Prefix(_) => parts.is_absolute = true,
                Component::ParentDir if parts.names.pop().is_some() => {}
                // The root directory has nothing above it.
                Component::ParentDir => parts.up += usize::from(!parts.is_absolute),
            }
        }
        parts
    }
}

/// How a path lies to a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    Apart,
    MaybeAround,
    Around,
    MaybeInside,
    /// It is the directory itself.
    Itself,
    Inside,
}

/// How one path lies to another one with the same beginning.
fn compare(path: &[&str], under: &[&str]) -> Place {
    match (path.starts_with(under), under.starts_with(path)) {
        (true, true) => Place::Itself,
        (true, false) => Place::Inside,
        (false, true) => Place::Around,
        (false, false) => Place::Apart,
    }
}

fn place(path: &Parts<'_>, under: &Parts<'_>) -> Place {
    match (path.is_absolute, under.is_absolute) {
        (true, true) => compare(&path.names, &under.names),
        (false, true) if under.names.is_empty() => Place::Inside,
        // The project may lie there.
        (false, true) => Place::MaybeInside,
        (true, false) if path.names.is_empty() => Place::Around,
        // The path may begin with that of the project.
        (true, false) => {
            let is_there = (0..=path.names.len()).any(|from| {
                let rest = path.names.get(from..).unwrap_or_default();
                under.up > 0 || rest.starts_with(&under.names)
            });
            if is_there { Place::MaybeInside } else { Place::MaybeAround }
        }
        (false, false) => match path.up.checked_sub(under.up) {
            Some(0) => compare(&path.names, &under.names),
            // It may come back by the name of the project.
            Some(higher) => match path.names.get(higher..) {
                None | Some([]) if path.names.is_empty() => Place::Around,
                None | Some([]) => Place::MaybeAround,
                Some(rest) => match compare(rest, &under.names) {
                    Place::Itself | Place::Inside => Place::MaybeInside,
                    Place::Around => Place::MaybeAround,
                    Place::Apart | Place::MaybeAround | Place::MaybeInside => Place::Apart,
                },
            },
            None if under.names.is_empty() => Place::Inside,
            None => Place::Apart,
        },
    }
}

impl PathJudge for ByText {
    fn judge(&mut self, claim: &Claim<'_, '_>) -> Result<HeldClaim, PathError> {
        let path = Parts::of(claim.text);
        let outside = |is_certain| match is_certain {
            true => Err(PathError::Outside { allowed: Vec::new() }),
            false => Err(PathError::PerhapsOutside { allowed: Vec::new() }),
        };
        let unders: Vec<Parts<'_>> = claim.path.under.iter().map(|under| Parts::of(under)).collect();
        let found = match unders.iter().map(|under| place(&path, under)).max() {
            Some(found) => found,
            None if path.is_absolute || path.up > 0 => Place::Apart,
            None if path.names.is_empty() => Place::Itself,
            None => Place::Inside,
        };
        match found {
            Place::Apart => return outside(true),
            Place::Around => return outside(false),
            Place::MaybeAround => return outside(!self.is_around),
            Place::MaybeInside if !self.is_inside => return outside(true),
            Place::Itself | Place::Inside | Place::MaybeInside => {}
        }
        let is_excepted = |except: &&String| path.names.iter().any(|part| part.eq_ignore_ascii_case(except));
        if let Some(except) = claim.path.except.iter().find(is_excepted) {
            let from =
                unders.iter().filter(|under| path.names.starts_with(&under.names)).map(|under| under.names.len());
            let beneath = path.names.get(from.max().unwrap_or_default()..).unwrap_or_default();
            return Err(PathError::Except { name: except.clone(), is_certain: beneath.contains(&except.as_str()) });
        }
        if claim.path.access == Access::Write && found == Place::Inside {
            let from =
                unders.iter().filter(|under| path.names.starts_with(&under.names)).map(|under| under.names.len());
            let beneath = path.names.get(from.min().unwrap_or_default()..).unwrap_or_default();
            if instructs_agents(&beneath.iter().collect::<PathBuf>()) {
                return Err(PathError::Protected);
            }
        }
        if claim.path.exists && !self.exists {
            return Err(PathError::Missing);
        }
        if claim.path.access == Access::Write && found == Place::Itself {
            return Err(PathError::Root);
        }
        Ok(HeldClaim { word: claim.word, access: claim.path.access, reached: None, narrowed: None })
    }
}
