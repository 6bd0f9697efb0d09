//! The few capabilities of root that commands keep.
//!
//! See capabilities(7). An ordinary user has none to give up. What needs a missing capability needs no filter: no
//! command can set the clock, load a module, change the mounts of the root directory or configure the network.

use rustix::io;
use rustix::thread::{
    CapabilitySet, capabilities, capability_is_in_bounding_set, remove_capability_from_bounding_set, set_capabilities,
};

use crate::network::Network;
use crate::sandbox::Level;

/// For work on files of other users, as in a project that was mounted into a container. Landlock decides which files.
/// `DAC_READ_SEARCH` is not included: it opens files by handles, ignoring all directories (open_by_handle_at(2)). Nor is
/// `FSETID`: it writes programs that everybody runs as root, see `programs_of_the_user` in `seccomp`.
const OF_FILES: CapabilitySet = CapabilitySet::CHOWN.union(CapabilitySet::DAC_OVERRIDE).union(CapabilitySet::FOWNER);

/// For tools that become another user (package managers, databases), and end processes that they started as that user.
const OF_USERS: CapabilitySet = CapabilitySet::KILL
    .union(CapabilitySet::SETUID)
    .union(CapabilitySet::SETGID)
    .union(CapabilitySet::SETPCAP)
    .union(CapabilitySet::SYS_CHROOT);

/// For servers on low ports, and `ping`. Nothing that configures the network.
const OF_NETWORK: CapabilitySet = CapabilitySet::NET_BIND_SERVICE.union(CapabilitySet::NET_RAW);

/// Returns the capabilities that commands of root keep.
fn kept(level: Level, network: &Network) -> CapabilitySet {
    let kept = if level == Level::Strict { OF_FILES } else { OF_FILES.union(OF_USERS) };
    match network {
        Network::None => kept,
        Network::Ports(ports) if ports.listen().is_empty() => kept,
        Network::Loopback | Network::Ports(_) => kept.union(CapabilitySet::NET_BIND_SERVICE),
        Network::Full => kept.union(OF_NETWORK),
    }
}

/// Makes sure that processes started by this thread get no others: execve(2) gives root what is in the bounding set,
/// and without new privileges nothing that this thread does not have. Inheritable capabilities could come back through
/// a file's capabilities; the ambient set is cleared with them.
pub(super) fn give_up(level: Level, network: &Network) -> io::Result<()> {
    let (kept, mut sets) = (kept(level, network), capabilities(None)?);
    let mut own = kept;
    if sets.effective.contains(CapabilitySet::SETPCAP) {
        let each = (0..u64::BITS).map(|bit| CapabilitySet::from_bits_retain(1 << bit));
        // The first capability that the kernel does not know is an error.
        for capability in each.take_while(|capability| capability_is_in_bounding_set(*capability).is_ok()) {
            if !kept.contains(capability) && capability_is_in_bounding_set(capability)? {
                remove_capability_from_bounding_set(capability)?;
            }
        }
        // This thread has to end commands that have changed their user.
        own |= CapabilitySet::KILL;
    }
    sets.permitted &= own;
    sets.effective &= own;
    sets.inheritable = CapabilitySet::empty();
    set_capabilities(None, sets)
}
