//! What the operator demands of programs, and the check of one.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::contents::{Contents, Known, Seen};
use super::{Checked, Replaceable, Untrusted};

/// How many files are looked at for one program. The kernel itself follows five interpreters, and each has a loader.
const MOST: usize = 32;

/// Which programs run, by who can replace them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Trust {
    /// All that are allowed; the default.
    #[default]
    Any,
    /// Those that nobody but root and the server's user can replace.
    Owner,
}

impl Trust {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Any, Self::Owner];

    /// The word for it in a setting.
    pub fn name(self) -> &'static str {
        match self {
            Self::Any => "any",
            Self::Owner => "owner",
        }
    }
}

impl fmt::Display for Trust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Checks programs before they are executed.
#[derive(Debug)]
pub struct Guard {
    trust: Trust,
    /// Where `#!/usr/bin/env NAME` looks names up.
    search_path: Vec<PathBuf>,
    known: Known,
}

impl Guard {
    /// Makes one that demands this.
    pub fn new(trust: Trust, search_path: Vec<PathBuf>) -> Self {
        Self { trust, search_path, known: Known::default() }
    }

    /// Checks a program by its absolute path, right before it is executed. `now` is the time since 1970.
    ///
    /// # Errors
    /// [`Untrusted`]; then it must not be executed.
    pub fn check(&self, program: &Path, now: Duration) -> Result<Checked, Untrusted> {
        let seen = self.open(program, program, now)?;
        match self.trust {
            Trust::Any => {}
            Trust::Owner => self.look(program, &seen, now, &mut |found| {
                Err(Untrusted::Replaceable { program: program.to_owned(), found })
            })?,
        }
        Ok(Checked::of(program, seen))
    }

    /// Looks at what can be told at once, so that a call is refused before it waits for its turn.
    ///
    /// # Errors
    /// [`Untrusted`], which [`Self::check`] would say too.
    pub fn glance(&self, program: &Path) -> Result<(), Untrusted> {
        self.check(program, Duration::ZERO).map(drop)
    }

    /// Everything on the way to a program, and to what is executed with it, that others than root and the server's user can
    /// replace: the first one of each file.
    ///
    /// # Errors
    /// [`Untrusted`], where that can't be told.
    pub fn replaceable(&self, program: &Path, now: Duration) -> Result<Vec<Replaceable>, Untrusted> {
        let seen = self.open(program, program, now)?;
        let mut all: Vec<Replaceable> = Vec::new();
        self.look(program, &seen, now, &mut |found| {
            if !all.contains(&found) {
                all.push(found);
            }
            Ok(())
        })?;
        Ok(all)
    }

    fn open(&self, program: &Path, file: &Path, now: Duration) -> Result<Seen, Untrusted> {
        self.known.open(file, now).map_err(|source| match source.kind() {
            io::ErrorKind::NotFound => Untrusted::Gone { program: program.to_owned() },
            _ => Untrusted::Unknown { program: program.to_owned(), file: file.to_owned(), source },
        })
    }

    /// Looks at the ways to a program and to all that is executed with it.
    fn look(
        &self,
        program: &Path,
        seen: &Seen,
        now: Duration,
        found: &mut impl FnMut(Replaceable) -> Result<(), Untrusted>,
    ) -> Result<(), Untrusted> {
        let unknown = |file: &Path, source| {
            let (program, file) = (program.to_owned(), file.to_owned());
            Untrusted::Unknown { program, file, source }
        };
        let mut passed = vec![program.to_owned()];
        let mut left = vec![(program.to_owned(), Arc::clone(&seen.contents))];
        while let Some((file, contents)) = left.pop() {
            if let Some(replaceable) = Replaceable::on_the_way_to(&file).map_err(|source| unknown(&file, source))? {
                found(replaceable)?;
            }
            for needed in self.needed(&contents) {
                if !needed.is_absolute() {
                    return Err(Untrusted::Relative { program: program.to_owned(), named: needed });
                }
                if passed.contains(&needed) || passed.len() == MOST {
                    continue;
                }
                passed.push(needed.clone());
                match self.known.open(&needed, now) {
                    Ok(seen) => left.push((needed, seen.contents)),
                    // The system says so when the program is started.
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                    Err(source) => return Err(unknown(&needed, source)),
                }
            }
        }
        Ok(())
    }

    /// What a file names to be executed with it.
    #[cfg(unix)]
    fn needed(&self, contents: &Contents) -> Vec<PathBuf> {
        let needed = contents.needed.iter();
        needed.filter_map(|needed| needed.clone().find(&self.search_path)).collect()
    }

    #[cfg(not(unix))]
    fn needed(&self, _contents: &Contents) -> Vec<PathBuf> {
        Vec::new()
    }
}
