//! Checks programs against what the operator demands of them: who may be able to replace them, and a lock file.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::difference::Difference;
use super::lock::{Lock, LockedFile};
use super::replaceable::Replaceable;
use crate::integrity::contents::{Contents, Known, Seen};
use crate::integrity::needed::{Interpreters, Needed};
use crate::integrity::{Checked, CommandPaths, Trust, Unclear, Untrusted};

/// How many files are checked for one program. The kernel follows five interpreters, and each has a loader.
const MOST: usize = 32;

/// Checks programs before they are executed.
#[derive(Debug)]
pub struct Guard {
    trust: Trust,
    lock: Demand,
    /// Where `#!/usr/bin/env NAME` looks names up.
    paths: CommandPaths,
    known: Known,
}

/// Which files the programs must be.
#[derive(Debug)]
enum Demand {
    Nothing,
    /// The files in this lock file.
    Locked(PathBuf, Lock),
    /// The lock file can't be used, so no program may run.
    Broken(String),
}

/// How much is compared with the lock file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Depth {
    /// Only the program, and not its whole contents.
    Glance,
    /// Everything.
    Whole,
}

/// How many differences a refusal names.
const MOST_NAMED: usize = 6;

impl Guard {
    /// The guard for what the operator demands; `None` if nothing is demanded.
    pub(crate) fn of(trust: Trust, lock: Option<&Path>, paths: CommandPaths) -> Option<Self> {
        match (lock, trust) {
            (None, Trust::Any) => None,
            (None, Trust::Owner) => Some(Self::new(trust, paths)),
            (Some(file), _) => {
                let help = "write it with `allowexec lock` and the settings of this server";
                let lock = Lock::read(file).map_err(|error| format!("{error}; {help}"));
                Some(Self::new(trust, paths).with_lock(file, lock))
            }
        }
    }

    /// Makes a guard without a lock file.
    pub fn new(trust: Trust, paths: CommandPaths) -> Self {
        Self { trust, lock: Demand::Nothing, paths, known: Known::default() }
    }

    /// Adds a lock file: programs must be what it holds. If it can't be used, no program may run.
    #[must_use]
    pub(crate) fn with_lock(self, file: &Path, lock: Result<Lock, String>) -> Self {
        let lock = match lock {
            Ok(lock) => Demand::Locked(file.to_owned(), lock),
            Err(why) => Demand::Broken(why),
        };
        Self { lock, ..self }
    }

    /// Why the lock file can't be used; `None` if it can, or if there is none.
    pub fn broken_lock(&self) -> Option<&str> {
        match &self.lock {
            Demand::Broken(why) => Some(why),
            Demand::Nothing | Demand::Locked(..) => None,
        }
    }

    /// Whether the lock file holds loaders and libraries; `None` without a usable lock file.
    pub(crate) fn locks_libraries(&self) -> Option<bool> {
        match &self.lock {
            Demand::Locked(_, lock) => Some(lock.libraries),
            Demand::Nothing | Demand::Broken(_) => None,
        }
    }

    /// The files in the lock file. [`Self::prepare`] reads one in advance, so that the first calls don't have to wait for it.
    pub(crate) fn locked_files(&self) -> Vec<PathBuf> {
        match &self.lock {
            Demand::Locked(_, lock) => lock.files.keys().cloned().collect(),
            Demand::Nothing | Demand::Broken(_) => Vec::new(),
        }
    }

    /// Reads a file in advance. Errors are ignored here, since a call that needs the file gets them again.
    pub(crate) fn prepare(&self, file: &Path, now: Duration) {
        self.known.open(file, now).and_then(|seen| seen.sha256()).ok();
    }

    /// Checks a program by its absolute path, right before it is executed. `now` is the time since 1970.
    ///
    /// # Errors
    /// [`Untrusted`]; then it must not be executed.
    pub fn check(&self, program: &Path, now: Duration) -> Result<Checked, Untrusted> {
        self.check_to(Depth::Whole, program, now)
    }

    fn check_to(&self, depth: Depth, program: &Path, now: Duration) -> Result<Checked, Untrusted> {
        if let Demand::Broken(why) = &self.lock {
            return Err(Untrusted::NoLock { why: why.clone() });
        }
        let seen = self.open(program, program, now)?;
        match self.trust {
            Trust::Any => {}
            Trust::Owner => self.look(program, &seen, now, &mut |found| {
                Err(Untrusted::Replaceable { program: program.to_owned(), found })
            })?,
        }
        if let Demand::Locked(file, lock) = &self.lock {
            self.compare((file, lock), program, &seen, now, depth)?;
        }
        Ok(Checked::of(program, seen))
    }

    /// Compares a program, and everything that it needs, with the lock file.
    fn compare(
        &self,
        (file, lock): (&Path, &Lock),
        program: &Path,
        seen: &Seen,
        now: Duration,
        depth: Depth,
    ) -> Result<(), Untrusted> {
        let Some(first) = lock.files.get(program) else {
            return Err(Untrusted::NotLocked { program: program.to_owned(), lock: file.to_owned() });
        };
        let mut differences = Vec::new();
        self.compare_file((program, first), seen, depth, &mut differences);
        if depth == Depth::Whole {
            let (mut passed, mut left) = (BTreeSet::from([program]), vec![first]);
            while let Some(locked) = left.pop() {
                for path in locked.needs() {
                    // The lock file holds each file that it names; this was checked when it was read.
                    let Some(needed) = lock.files.get(path).filter(|_| passed.insert(path)) else { continue };
                    match self.known.open(path, now) {
                        Ok(seen) => self.compare_file((path, needed), &seen, depth, &mut differences),
                        Err(error) => differences.push(Difference::unknown(path, &error)),
                    }
                    left.push(needed);
                }
            }
        }
        if differences.is_empty() {
            return Ok(());
        }
        let more = differences.len().saturating_sub(MOST_NAMED);
        let mut named: Vec<String> = differences.iter().take(MOST_NAMED).map(ToString::to_string).collect();
        if more > 0 {
            named.push(format!("and {more} more"));
        }
        Err(Untrusted::Differs { program: program.to_owned(), lock: file.to_owned(), what: named.join("; ") })
    }

    fn compare_file(
        &self,
        (path, locked): (&Path, &LockedFile),
        seen: &Seen,
        depth: Depth,
        found: &mut Vec<Difference>,
    ) {
        let sha256 = match depth {
            Depth::Glance => seen.known_sha256().unwrap_or(locked.sha256),
            Depth::Whole => match seen.sha256() {
                Ok(sha256) => sha256,
                Err(error) => {
                    found.push(Difference::unknown(path, &error));
                    locked.sha256
                }
            },
        };
        let interpreters = self.interpreters(&seen.contents).unwrap_or_else(|why| {
            found.push(Difference::Unknown { path: path.to_owned(), why: why.to_string() });
            locked.interpreters.clone()
        });
        let now = LockedFile {
            interpreters,
            // If the bytes are the same, the file names the same loader and libraries. The files at their paths are compared too.
            loader: locked.loader.clone(),
            libraries: locked.libraries.clone(),
            ..LockedFile::of(seen, sha256)
        };
        found.extend(Difference::between(path, locked, &now));
    }

    /// Checks what can be checked quickly, so that a call can be refused before it waits for its turn.
    ///
    /// # Errors
    /// [`Untrusted`], as [`Self::check`] would return.
    pub fn glance(&self, program: &Path) -> Result<(), Untrusted> {
        match (self.trust, &self.lock) {
            (Trust::Any, Demand::Locked(_, lock))
                if lock.files.get(program).is_some_and(|locked| self.known.is_still(program, locked.sha256)) =>
            {
                Ok(())
            }
            _ => self.check_to(Depth::Glance, program, Duration::ZERO).map(drop),
        }
    }

    /// Finds the files, directories and links that others than root and the server's user can replace on the way to a
    /// program, and to each file that is executed with it: the first one for each file.
    ///
    /// # Errors
    /// [`Untrusted`], if this can't be found out.
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

    /// Looks for something replaceable on the way to a program and to each file that is executed with it.
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
            let unclear = |why| Untrusted::Unclear { program: program.to_owned(), file: file.clone(), why };
            for needed in self.needed(&contents).map_err(unclear)? {
                if passed.contains(&needed) || passed.len() == MOST {
                    continue;
                }
                passed.push(needed.clone());
                match self.known.open(&needed, now) {
                    Ok(seen) => left.push((needed, seen.contents)),
                    Err(source) => return Err(unknown(&needed, source)),
                }
            }
        }
        Ok(())
    }

    /// The interpreters and loaders that are executed with a file.
    fn needed(&self, contents: &Contents) -> Result<Vec<PathBuf>, Unclear> {
        let loaders = contents.needed.iter().filter_map(|needed| match needed {
            Needed::Loader(loader) => Some(loader.clone()),
            Needed::Interpreter(..) | Needed::Shell => None,
        });
        Ok(self.interpreters(contents)?.into_iter().chain(loaders).collect())
    }

    /// The interpreters that are executed with a file.
    fn interpreters(&self, contents: &Contents) -> Result<BTreeSet<PathBuf>, Unclear> {
        let Interpreters { files, broken, not_found: _ } = Interpreters::of(&contents.needed, &self.paths)?;
        broken.map_or(Ok(files), |named| Err(Unclear::Broken { named }))
    }
}
