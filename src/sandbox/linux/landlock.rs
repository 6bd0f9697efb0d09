//! Landlock: what the kernel supports, rules made of grants, and confining a thread, including the filters of
//! `seccomp`.
//!
//! See landlock(7). Rules are made once and cost a few microseconds each; applying them to a thread costs two system
//! calls.

use std::io;
use std::thread::JoinHandle;

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible as _, LandlockStatus, NetPort,
    PathBeneath, RestrictionStatus, Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetError,
    RulesetStatus, Scope,
};
use rustix::process::{DumpableBehavior, set_dumpable_behavior};

use super::{OwnDomain, capabilities, seccomp};
use crate::network::Network;
use crate::sandbox::level::TCP_RULES;
use crate::sandbox::{Access, Enforcement, Grant, Kernel, Level, SandboxError, SandboxSettings};

/// A thread that confines itself and ends. It shows what the kernel enforces, not only what it reports.
pub(crate) struct KernelProbe(io::Result<JoinHandle<Probed>>);

/// The result of applying a Landlock rule, and whether the seccomp filters could be installed.
type Probed = (Result<RestrictionStatus, RulesetError>, bool);

impl KernelProbe {
    pub(in crate::sandbox) fn start() -> Self {
        let landlock = || Ruleset::default().handle_access(AccessFs::Execute)?.create()?.restrict_self();
        let probe = move || (landlock(), seccomp::confine_thread(Level::Strict, &Network::None).is_ok());
        Self(std::thread::Builder::new().name("sandbox".into()).spawn(probe))
    }

    /// Waits for the thread, and returns what it found.
    pub(crate) fn kernel(self) -> Kernel {
        let Ok(Ok((status, seccomp))) = self.0.map(JoinHandle::join) else {
            return Kernel::Without("the server can't find out whether this kernel has Landlock");
        };
        kernel_of(status, seccomp)
    }
}

fn kernel_of(status: Result<RestrictionStatus, RulesetError>, seccomp: bool) -> Kernel {
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

/// The rules of one sandbox, ready for any number of threads; `None` if nothing is enforced.
#[derive(Debug)]
pub(in crate::sandbox) struct Domain(Option<Rules>);

#[derive(Debug)]
struct Rules {
    landlock: RulesetCreated,
    /// Whether they confine signals.
    scopes: bool,
    /// The enforcement by the system call filters.
    enforcement: Enforcement,
    /// Whether nothing may be traced in it.
    is_shared: bool,
    /// Whether nothing may be changed in it.
    is_read_only: bool,
}

impl Domain {
    /// Makes the rules from handles.
    pub(in crate::sandbox) fn new(
        enforcement: Enforcement,
        grants: &[Grant],
        settings: &SandboxSettings,
    ) -> Result<Self, SandboxError> {
        let SandboxSettings { is_shared, is_read_only, .. } = *settings;
        if !enforcement.is_any() {
            return Ok(Self(None));
        }
        let handled = Handled::new(&enforcement);
        let mut ruleset = handled.create().map_err(refused)?;
        for grant in grants {
            let rule = PathBeneath::new(&*grant.held, handled.of(grant.access));
            ruleset = ruleset.add_rule(rule).map_err(refused)?;
        }
        if let Network::Ports(ports) = &enforcement.network {
            let connect = ports.connect().iter().map(|port| NetPort::new(*port, AccessNet::ConnectTcp));
            let listen = ports.listen().iter().map(|port| NetPort::new(*port, AccessNet::BindTcp));
            for rule in connect.chain(listen) {
                ruleset = ruleset.add_rule(rule).map_err(refused)?;
            }
        }
        Ok(Self(Some(Rules { landlock: ruleset, scopes: handled.scopes, enforcement, is_shared, is_read_only })))
    }

    /// Applies the rules to the calling thread, for good, and to everything that it starts from now on.
    pub(in crate::sandbox) fn confine_thread(&self) -> Result<(), SandboxError> {
        let Some(rules) = &self.0 else { return Ok(()) };
        // This thread is in the same domain as its commands, so Landlock would let them trace it
        // (`/proc/PID/task/TID/mem`, ptrace(2)), and with it the whole server. Only a process with CAP_SYS_PTRACE can
        // trace one that is not dumpable. seccomp refuses their signals to it.
        set_dumpable_behavior(DumpableBehavior::NotDumpable).map_err(refused)?;
        let Enforcement { level, network, kernel } = &rules.enforcement;
        capabilities::give_up(*level, network).map_err(refused)?;
        let status = rules.landlock.try_clone().map_err(refused)?.restrict_self().map_err(refused)?;
        match status.ruleset {
            RulesetStatus::FullyEnforced | RulesetStatus::PartiallyEnforced if status.no_new_privs => {}
            _ => return Err(refused("the rules are not enforced")),
        }
        if rules.scopes {
            OwnDomain::enter();
        }
        if kernel.has_seccomp() {
            seccomp::confine_thread(*level, network).map_err(refused)?;
            if rules.is_shared {
                seccomp::refuse_tracing().map_err(refused)?;
            }
            if rules.is_read_only {
                seccomp::refuse_changes().map_err(refused)?;
            }
        }
        Ok(())
    }
}

fn refused(source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> SandboxError {
    SandboxError::Rules { source: source.into() }
}

/// The access that the rules restrict; everything else is as without them.
struct Handled {
    files: BitFlags<AccessFs>,
    tcp: bool,
    scopes: bool,
}

impl Handled {
    fn new(enforcement: &Enforcement) -> Self {
        let abi = enforcement.kernel.abi();
        // The versions that added rights for files.
        let mut files = match abi {
            0 => BitFlags::EMPTY,
            1 => AccessFs::from_all(ABI::V1),
            2 => AccessFs::from_all(ABI::V2),
            3 | 4 => AccessFs::from_all(ABI::V3),
            _ => AccessFs::from_all(ABI::V5),
        };
        // In a network of its own there is nothing that TCP could reach.
        let has_tcp_rules = enforcement.has_tcp_rules();
        // Sockets by path. With the whole network they stay open, since name lookups use them (nscd, systemd-resolved).
        if has_tcp_rules && abi >= 9 {
            files |= AccessFs::ResolveUnix;
        }
        Self { files, tcp: has_tcp_rules && abi >= TCP_RULES, scopes: abi >= 6 }
    }

    fn create(&self) -> Result<RulesetCreated, RulesetError> {
        let mut ruleset = Ruleset::default().handle_access(self.files)?;
        if self.tcp {
            ruleset = ruleset.handle_access(AccessNet::BindTcp | AccessNet::ConnectTcp)?;
        }
        if self.scopes {
            // All of it or an error: `OwnDomain` signals every process that the rules do not protect.
            let strictly = ruleset.set_compatibility(CompatLevel::HardRequirement);
            let scoped = strictly.scope(Scope::AbstractUnixSocket | Scope::Signal)?;
            ruleset = scoped.set_compatibility(CompatLevel::BestEffort);
        }
        ruleset.create()
    }

    fn of(&self, access: Access) -> BitFlags<AccessFs> {
        let read = AccessFs::ReadFile | AccessFs::ReadDir;
        let access = match access {
            Access::Read => read,
            Access::ReadAndExecute => read | AccessFs::Execute,
            // No devices: a disk node, made in a writable directory, would give access to the whole disk.
            Access::Write => {
                AccessFs::from_all(ABI::V3) & !(AccessFs::Execute | AccessFs::MakeChar | AccessFs::MakeBlock)
            }
            Access::WriteAndExecute => AccessFs::from_all(ABI::V3) & !(AccessFs::MakeChar | AccessFs::MakeBlock),
            Access::Device => AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::IoctlDev,
        };
        access & self.files
    }
}

/// Gives up what the launcher got when it entered the network of a call, and the way into others.
///
/// # Errors
/// If the system refuses it; then the launcher must not start anything.
pub(crate) fn confine_in_own_network(level: Level) -> Result<(), SandboxError> {
    capabilities::give_up(level, &Network::Loopback).map_err(refused)?;
    seccomp::refuse_entering().map_err(refused)
}
