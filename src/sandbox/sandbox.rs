//! All of a sandbox for one set of directories: what is granted, the rules made of it, and the thread that is confined.

use std::cell::Cell;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use super::{Domain, Enforcement, Grant, Kernel, Level, SandboxError};

/// What the operator says of the sandbox. All paths are absolute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SandboxSettings {
    /// How far commands are confined.
    pub level: Level,
    /// What the kernel can.
    pub kernel: Kernel,
    /// Whether less than the level promises will do.
    pub best_effort: bool,
    /// Where the programs of the allow-list were found.
    pub programs: Vec<PathBuf>,
    /// Where `#!/usr/bin/env NAME` looks names up.
    pub search_path: Vec<PathBuf>,
    /// The directories of the work: to be read and written, and at `workspace` to be executed from.
    pub directories: Vec<PathBuf>,
    /// What else may be read.
    pub read: Vec<PathBuf>,
    /// What else may be read and written.
    pub write: Vec<PathBuf>,
    /// What else may be read and executed; of a file with its loader and its interpreters.
    pub exec: Vec<PathBuf>,
}

/// Confines threads to what is granted. The rules are made when the first thread needs them, since at `strict` that looks
/// through the libraries of the system.
#[derive(Debug)]
pub struct Sandbox {
    settings: SandboxSettings,
    /// What the level grants of the system; shared with the sandboxes that are made of this one.
    system: Arc<OnceLock<Vec<Grant>>>,
    domain: OnceLock<Domain>,
    /// Tells this sandbox from every other one of the process; never 0.
    number: u64,
}

static LAST_NUMBER: AtomicU64 = AtomicU64::new(0);

thread_local! {
    /// The sandbox that this thread is confined by; 0 for none.
    static CONFINED_BY: Cell<u64> = const { Cell::new(0) };
}

impl Sandbox {
    /// Makes the sandbox; nothing is confined yet.
    pub fn new(settings: SandboxSettings) -> Self {
        let number = LAST_NUMBER.fetch_add(1, Ordering::Relaxed) + 1;
        Self { settings, system: Arc::default(), domain: OnceLock::new(), number }
    }

    /// A sandbox that grants these directories of the work as well.
    #[must_use]
    pub fn with_directories(&self, directories: &[PathBuf]) -> Self {
        let mut settings = self.settings.clone();
        settings.directories.extend_from_slice(directories);
        Self { system: Arc::clone(&self.system), ..Self::new(settings) }
    }

    /// The same sandbox, in which this program may be executed as well.
    #[must_use]
    pub fn with_program(&self, program: PathBuf) -> Self {
        let mut settings = self.settings.clone();
        settings.programs.push(program);
        Self { system: Arc::clone(&self.system), ..Self::new(settings) }
    }

    /// Whether it confines anything, or refuses to run what it can't confine.
    pub fn is_on(&self) -> bool {
        self.enforcement().map_or(true, |enforcement| enforcement.is_any())
    }

    /// What of it is enforced.
    ///
    /// # Errors
    /// [`SandboxError::NotEnforceable`] where that is too little.
    pub fn enforcement(&self) -> Result<Enforcement, SandboxError> {
        let SandboxSettings { level, kernel, best_effort, .. } = self.settings;
        Enforcement::new(level, kernel, best_effort)
    }

    /// Confines the calling thread, and all that it starts from now on, for good. A second time is nothing.
    ///
    /// # Errors
    /// [`SandboxError`]; then nothing must be started by this thread.
    pub fn confine_thread(&self) -> Result<(), SandboxError> {
        let enforcement = self.enforcement()?;
        if !enforcement.is_any() {
            return Ok(());
        }
        match CONFINED_BY.get() {
            0 => {}
            number if number == self.number => return Ok(()),
            _ => return Err(SandboxError::OtherDomain),
        }
        let domain = match self.domain.get() {
            Some(domain) => domain,
            None => {
                // Two threads may both make it; one of them is kept, and both are the same.
                let made = Domain::new(enforcement, &self.grants())?;
                self.domain.get_or_init(|| made)
            }
        };
        domain.confine_thread()?;
        CONFINED_BY.set(self.number);
        Ok(())
    }

    /// Everything that is granted; nothing on a platform that can't confine.
    pub fn grants(&self) -> Vec<Grant> {
        let system = self.system.get_or_init(|| super::system_grants(self.settings.level));
        system.iter().cloned().chain(super::own_grants(&self.settings)).collect()
    }

    /// Finds out beforehand what confining the first thread would have to wait for.
    pub fn prepare(&self) {
        self.grants();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_made_of_a_sandbox_does_not_look_through_the_system_again() {
        let settings = SandboxSettings {
            level: Level::Strict,
            kernel: Kernel::Landlock { abi: 4, seccomp: false },
            best_effort: false,
            programs: Vec::new(),
            search_path: Vec::new(),
            directories: Vec::new(),
            read: Vec::new(),
            write: Vec::new(),
            exec: Vec::new(),
        };
        let one = Sandbox::new(settings);
        for other in [one.with_program("/bin/sh".into()), one.with_directories(&["/tmp".into()])] {
            assert!(Arc::ptr_eq(&one.system, &other.system));
            assert!(other.grants().len() > other.system.get().unwrap().len() || cfg!(not(target_os = "linux")));
        }
    }
}
