//! Landlock: what the kernel has of it, grants as its rules, and the thread that puts them on itself, with the filters of
//! `seccomp` behind them.
//!
//! See landlock(7). Rules are made once and cost a few microseconds each; to put them on a thread costs two system calls.

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, LandlockStatus, PathBeneath, PathFd, PathFdError, Ruleset,
    RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetStatus, Scope,
};
use rustix::process::{DumpableBehavior, set_dumpable_behavior};
use rustix::thread::{CapabilitySet, capabilities, remove_capability_from_bounding_set, set_capabilities};

use super::{Access, Enforcement, Grant, Kernel, Level, SandboxError, seccomp};

/// Makes a rule and puts it on a thread that ends at once, which tells what the kernel does and not only what it says.
pub(super) fn kernel() -> Kernel {
    let landlock = || Ruleset::default().handle_access(AccessFs::Execute)?.create()?.restrict_self();
    let probe = move || (landlock(), seccomp::confine_thread(Level::Strict).is_ok());
    let probed = std::thread::Builder::new().name("sandbox".into()).spawn(probe);
    let Ok(Ok((status, seccomp))) = probed.map(std::thread::JoinHandle::join) else {
        return Kernel::Without("it could not be found out whether this kernel has Landlock");
    };
    match status {
        Ok(status) if status.ruleset == RulesetStatus::NotEnforced => match status.landlock {
            LandlockStatus::NotEnabled => {
                Kernel::Without("this kernel has Landlock, but it was not enabled at boot (`lsm=landlock,...`)")
            }
            LandlockStatus::NotImplemented | LandlockStatus::Available { .. } => {
                Kernel::Without("this kernel has no Landlock, or it is kept from this process")
            }
        },
        Ok(status) => match status.landlock {
            LandlockStatus::Available { effective_abi, kernel_abi } => {
                let newest = kernel_abi.unwrap_or(effective_abi as i32);
                Kernel::Landlock { abi: u8::try_from(newest).unwrap_or(u8::MAX), seccomp }
            }
            LandlockStatus::NotEnabled | LandlockStatus::NotImplemented => {
                Kernel::Without("this kernel has no Landlock, or it is kept from this process")
            }
        },
        Err(_) => Kernel::Without("this kernel has Landlock, but refuses its use to this process"),
    }
}

/// The rules of one sandbox, ready for any number of threads; `None` where nothing is enforced.
#[derive(Debug)]
pub(super) struct Domain(Option<Rules>);

#[derive(Debug)]
struct Rules {
    landlock: RulesetCreated,
    /// The level that system calls are refused by; `None` where the kernel can't.
    seccomp: Option<Level>,
}

impl Domain {
    /// Makes the rules. What a grant names and does not exist is left out: it can't be reached either.
    pub(super) fn new(enforcement: Enforcement, grants: &[Grant]) -> Result<Self, SandboxError> {
        if !enforcement.is_any() {
            return Ok(Self(None));
        }
        let handled = Handled::new(enforcement);
        let mut ruleset = handled.create().map_err(refused)?;
        for grant in grants {
            let path = match PathFd::new(&grant.path) {
                Ok(path) => path,
                // Not there, or not for this user: nothing to grant.
                Err(PathFdError::OpenCall { .. }) => continue,
                Err(error) => return Err(refused(error)),
            };
            let access = handled.of(grant.access);
            ruleset = ruleset.add_rule(PathBeneath::new(path, access)).map_err(refused)?;
        }
        let seccomp = enforcement.kernel.has_seccomp().then_some(enforcement.level);
        Ok(Self(Some(Rules { landlock: ruleset, seccomp })))
    }

    /// Puts the rules on the calling thread, for good, and on all that it starts from now on.
    pub(super) fn confine_thread(&self) -> Result<(), SandboxError> {
        let Some(rules) = &self.0 else { return Ok(()) };
        // This thread is in one domain with its commands, so Landlock would let them trace it (`/proc/PID/task/TID/mem`, ptrace(2)),
        // and with it the whole server. Of a process that is not dumpable only CAP_SYS_PTRACE traces anything. Their signals
        // to it are what seccomp refuses.
        set_dumpable_behavior(DumpableBehavior::NotDumpable).map_err(refused)?;
        give_up_capabilities().map_err(refused)?;
        let status = rules.landlock.try_clone().map_err(refused)?.restrict_self().map_err(refused)?;
        match status.ruleset {
            RulesetStatus::FullyEnforced | RulesetStatus::PartiallyEnforced if status.no_new_privs => {}
            _ => return Err(refused("the rules are not enforced")),
        }
        rules.seccomp.map_or(Ok(()), seccomp::confine_thread).map_err(refused)
    }
}

/// Of root's capabilities those that reach into other processes or the kernel, past all that Landlock decides on.
const GIVEN_UP: [CapabilitySet; 7] = [
    CapabilitySet::SYS_PTRACE,
    CapabilitySet::PERFMON,
    CapabilitySet::SYS_ADMIN,
    CapabilitySet::SYS_MODULE,
    CapabilitySet::SYS_RAWIO,
    CapabilitySet::SYS_BOOT,
    CapabilitySet::BPF,
];

/// Has what this thread starts not get them: execve(2) gives root no more than what is in the bounding set, see
/// capabilities(7). An ordinary user has none, and nothing to give up.
fn give_up_capabilities() -> rustix::io::Result<()> {
    let mut sets = capabilities(None)?;
    for capability in GIVEN_UP.into_iter().filter(|capability| sets.permitted.contains(*capability)) {
        remove_capability_from_bounding_set(capability)?;
    }
    // What is inheritable could come back by a file's capabilities.
    sets.inheritable = CapabilitySet::empty();
    set_capabilities(None, sets)
}

fn refused(source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> SandboxError {
    SandboxError::Rules { source: source.into() }
}

/// What the rules decide on; everything else is as it is without them.
struct Handled {
    files: BitFlags<AccessFs>,
    tcp: bool,
    scopes: bool,
}

impl Handled {
    fn new(enforcement: Enforcement) -> Self {
        let abi = enforcement.kernel.abi();
        // The versions that change what files can be done with. The next such one is 9 (sockets by path), which would
        // take name resolution away from commands, and is not promised.
        let files = match abi {
            0 => BitFlags::EMPTY,
            1 => AccessFs::from_all(ABI::V1),
            2 => AccessFs::from_all(ABI::V2),
            3 | 4 => AccessFs::from_all(ABI::V3),
            _ => AccessFs::from_all(ABI::V5),
        };
        Self { files, tcp: enforcement.level == Level::Strict && abi >= 4, scopes: abi >= 6 }
    }

    fn create(&self) -> Result<RulesetCreated, landlock::RulesetError> {
        let mut ruleset = Ruleset::default().handle_access(self.files)?;
        if self.tcp {
            ruleset = ruleset.handle_access(AccessNet::BindTcp | AccessNet::ConnectTcp)?;
        }
        if self.scopes {
            ruleset = ruleset.scope(Scope::AbstractUnixSocket | Scope::Signal)?;
        }
        ruleset.create()
    }

    fn of(&self, access: Access) -> BitFlags<AccessFs> {
        let read = AccessFs::ReadFile | AccessFs::ReadDir;
        let access = match access {
            Access::List => AccessFs::ReadDir.into(),
            Access::Read => read,
            Access::ReadAndExecute => read | AccessFs::Execute,
            // No devices: a node of a disk, made where writing is granted, would be the whole disk.
            Access::Write => {
                AccessFs::from_all(ABI::V3) & !(AccessFs::Execute | AccessFs::MakeChar | AccessFs::MakeBlock)
            }
            Access::WriteAndExecute => AccessFs::from_all(ABI::V3) & !(AccessFs::MakeChar | AccessFs::MakeBlock),
            Access::Device => AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::IoctlDev,
        };
        access & self.files
    }
}
