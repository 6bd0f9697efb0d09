//! The whole sandbox for one set of directories: grants, the rules made of them, and confining a thread.

use std::cell::Cell;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use super::{Access, Domain, Enforcement, Executed, Grant, Kernel, Level, SandboxError};
use crate::files::{Held, Places};
use crate::integrity::CommandPaths;
use crate::network::Network;

/// The operator's settings of the sandbox. What they grant was opened once, and every sandbox made from them grants the
/// same.
#[derive(Debug, Clone)]
pub struct SandboxSettings {
    /// How far commands are confined.
    pub level: Level,
    /// Whether they have a network.
    pub network: Network,
    /// The kernel's support for the sandbox.
    pub kernel: Kernel,
    /// Whether less than the level promises is acceptable.
    pub best_effort: bool,
    /// The programs of the allow-list, with their loaders and interpreters.
    pub programs: Executed,
    /// Where `#!/usr/bin/env NAME` looks names up.
    pub paths: CommandPaths,
    /// The working directories: readable and writable, and at `workspace` executable.
    pub directories: Vec<Arc<Held>>,
    /// Further files and directories that may be read.
    pub read: Vec<Arc<Held>>,
    /// Further ones that may be read and written.
    pub write: Vec<Arc<Held>>,
    /// Further ones that may be read and executed.
    pub exec: Vec<Arc<Held>>,
    /// Where commands may write. Files there must not decide what is granted.
    pub writable: Places,
    /// Whether the directories and what is granted to be written may only be read.
    pub is_read_only: bool,
    /// Whether successive commands share the processes in it, as those of the persistent shell do. Then none of them
    /// may trace another process.
    pub is_shared: bool,
}

/// Confines threads to the grants. The rules are made when the first thread needs them, since at `strict` that means
/// searching the libraries of the system.
#[derive(Debug)]
pub struct Sandbox {
    settings: SandboxSettings,
    /// The level's grants of the system; shared with the sandboxes derived from this one.
    system: Arc<OnceLock<Vec<Grant>>>,
    domain: OnceLock<Domain>,
    /// Identifies this sandbox within the process; never 0.
    number: u64,
}

static LAST_NUMBER: AtomicU64 = AtomicU64::new(0);

thread_local! {
    /// The sandbox that confines this thread; 0 for none.
    static CONFINED_BY: Cell<u64> = const { Cell::new(0) };
}

impl Sandbox {
    /// Makes the sandbox; nothing is confined yet.
    pub fn new(settings: SandboxSettings) -> Self {
        let number = LAST_NUMBER.fetch_add(1, Ordering::Relaxed) + 1;
        Self { settings, system: Arc::default(), domain: OnceLock::new(), number }
    }

    /// Its level.
    pub fn level(&self) -> Level {
        self.settings.level
    }

    /// A sandbox with other settings, which does not search the system again if the level is the same.
    #[must_use]
    pub fn of_settings(&self, settings: SandboxSettings) -> Self {
        let is_same = settings.level == self.settings.level;
        let made = Self::new(settings);
        if is_same { Self { system: Arc::clone(&self.system), ..made } } else { made }
    }

    /// A sandbox that also grants reading and writing these files and directories.
    #[must_use]
    pub fn with_claims(
        &self,
        read: impl IntoIterator<Item = Arc<Held>>,
        written: impl IntoIterator<Item = Arc<Held>>,
    ) -> Self {
        let mut settings = self.settings.clone();
        settings.read.extend(read);
        settings.write.extend(written);
        self.of_settings(settings)
    }

    /// The same sandbox for the persistent shell, in which the shell may be executed, and no command may trace it. The
    /// program is looked up now; to be called before anything is started.
    #[must_use]
    pub fn for_shell(&self, program: Option<&Path>) -> Self {
        let mut settings = self.settings.clone();
        settings.is_shared = true;
        if let Some(program) = program {
            settings.programs.add(program, &settings.paths, &settings.writable);
        }
        Self { system: Arc::clone(&self.system), ..Self::new(settings) }
    }

    /// Describes the files that are not granted although a program may need them, one sentence each.
    pub fn warnings(&self) -> Vec<String> {
        let grants = super::own_grants(&self.settings);
        let executed = grants.iter().filter(|grant| {
            // The programs themselves are among the grants, but none of them holds another file.
            matches!(grant.access, Access::ReadAndExecute | Access::WriteAndExecute)
        });
        let system = super::executed_anyway(self.settings.level).iter().map(Path::new);
        let granted: Vec<&Path> = system.chain(executed.map(|grant| grant.held.path())).collect();
        self.settings.programs.warnings(&granted)
    }

    /// Whether it confines anything, or refuses to run what it can't confine.
    pub fn is_on(&self) -> bool {
        self.enforcement().map_or(true, |enforcement| enforcement.is_any())
    }

    /// Whether each call in it has a network of its own, which has to be made before the thread of the call confines itself.
    pub fn has_own_network(&self) -> bool {
        self.settings.network == Network::Loopback && self.settings.level > Level::Off && self.is_on()
    }

    /// Returns the enforcement of its level by the kernel.
    ///
    /// # Errors
    /// [`SandboxError::NotEnforceable`] if that is too little, or [`SandboxError::NotReadOnly`].
    pub fn enforcement(&self) -> Result<Enforcement, SandboxError> {
        let SandboxSettings { level, kernel, best_effort, is_read_only, .. } = self.settings;
        Enforcement::new(level, self.settings.network.clone(), kernel, best_effort).map_err(|error| {
            let needed = level.needs();
            if is_read_only && level == Level::Workspace && kernel.abi() < needed {
                SandboxError::NotReadOnly { needed, found: kernel.to_string() }
            } else {
                error
            }
        })
    }

    /// Confines the calling thread, and everything that it starts from now on, for good. A second call has no effect.
    ///
    /// # Errors
    /// [`SandboxError`]; then this thread must not start anything.
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
                // Two threads may both make it; one result is kept, and both are the same.
                let made = Domain::new(enforcement, &self.grants(), &self.settings)?;
                self.domain.get_or_init(|| made)
            }
        };
        domain.confine_thread()?;
        CONFINED_BY.set(self.number);
        Ok(())
    }

    /// Everything that is granted; empty on a platform that can't confine.
    pub fn grants(&self) -> Vec<Grant> {
        let system = self.system.get_or_init(|| super::system_grants(self.settings.level, &self.settings.writable));
        system.iter().cloned().chain(super::own_grants(&self.settings)).collect()
    }

    /// Whether an access to a path is granted, links followed as far as the path exists. For hints: what is decided, the
    /// kernel decides.
    pub fn allows(&self, path: &Path, access: Access) -> bool {
        let Some(place) = path.ancestors().find_map(|there| {
            let behind = path.strip_prefix(there).ok()?;
            Some(std::fs::canonicalize(there).ok()?.join(behind))
        }) else {
            return false;
        };
        let includes = |granted: Access| match access {
            Access::Read => true,
            Access::ReadAndExecute => matches!(granted, Access::ReadAndExecute | Access::WriteAndExecute),
            Access::Write | Access::Device => {
                matches!(granted, Access::Write | Access::WriteAndExecute | Access::Device)
            }
            Access::WriteAndExecute => granted == Access::WriteAndExecute,
        };
        self.grants().iter().any(|grant| includes(grant.access) && place.starts_with(grant.held.path()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_made_of_a_sandbox_does_not_look_through_the_system_again() {
        let settings = SandboxSettings {
            level: Level::Strict,
            network: Network::Full,
            kernel: Kernel::Landlock { abi: 4, seccomp: false },
            best_effort: false,
            programs: Executed::default(),
            paths: CommandPaths::default(),
            directories: Vec::new(),
            read: Vec::new(),
            write: Vec::new(),
            exec: Vec::new(),
            writable: Places::default(),
            is_read_only: false,
            is_shared: false,
        };
        let one = Sandbox::new(settings);
        let other = one.for_shell(Some(Path::new("/bin/sh")));
        assert!(Arc::ptr_eq(&one.system, &other.system));
        assert!(other.grants().len() > other.system.get().unwrap().len() || cfg!(not(target_os = "linux")));
    }
}
