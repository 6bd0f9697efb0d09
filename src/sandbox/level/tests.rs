//! Needs of each level and network, and their texts.

use super::*;

fn landlock(abi: u8) -> Kernel {
    Kernel::Landlock { abi, seccomp: true }
}

fn outcome(level: Level, network: Network, kernel: Kernel, best_effort: bool) -> String {
    match Enforcement::new(level, network, kernel, best_effort) {
        Ok(enforcement) => enforcement.describe(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn a_level_that_the_kernel_lacks_is_an_error_that_names_what_is_missing() {
    let advice = "run a newer kernel, choose another level, or accept what there is with `--sandbox-best-effort`";
    let of_network = advice.replace("another level", "another level or network");
    let without = Kernel::Without("this kernel was built without Landlock");
    assert_eq!(
        outcome(Level::Workspace, Network::Full, without, false),
        format!(
            "`--sandbox workspace` can't be enforced here: it needs Landlock ABI 3, and this kernel was built without \
             Landlock; missing: access to files and directories, moving files between directories, truncating files; \
             {advice}"
        )
    );
    assert_eq!(
        outcome(Level::Strict, Network::None, landlock(7).at_most(3), false),
        format!(
            "`--sandbox strict` can't be enforced here: it needs Landlock ABI 4 and seccomp filters, and this kernel has \
             Landlock ABI 3; missing: TCP; {advice}"
        )
    );
    let unfiltered = Kernel::Landlock { abi: 7, seccomp: false };
    assert_eq!(
        outcome(Level::Workspace, Network::None, unfiltered, false),
        format!(
            "`--sandbox workspace --network none` can't be enforced here: it needs Landlock ABI 3 and seccomp filters, \
             and this kernel has Landlock ABI 7 and no seccomp filters; missing: sockets of every kind; {of_network}"
        )
    );
    let ports: Network = "connect:5432,listen:3000".parse().unwrap();
    assert_eq!(
        outcome(Level::Workspace, ports.clone(), landlock(3), false),
        format!(
            "`--sandbox workspace --network connect:5432,listen:3000` can't be enforced here: it needs Landlock ABI 4 and \
             seccomp filters, and this kernel has Landlock ABI 3; missing: TCP ports other than those that are named; \
             {of_network}"
        )
    );
    for (level, network, abi) in [
        (Level::Workspace, Network::Full, 3),
        (Level::Workspace, Network::None, 3),
        (Level::Strict, Network::None, 4),
        (Level::Strict, Network::Full, 3),
        (Level::Strict, Network::Loopback, 3),
        (Level::Workspace, ports.clone(), 4),
        (Level::Strict, ports, 4),
    ] {
        let is_enforced = |kernel| Enforcement::new(level, network.clone(), kernel, false).is_ok();
        assert!(is_enforced(landlock(abi)) && !is_enforced(landlock(abi - 1)), "{level} {network}");
        assert_eq!(is_enforced(unfiltered), network == Network::Full, "{level} {network}");
    }
    assert!(Enforcement::new(Level::Off, Network::Full, landlock(0), false).is_ok());
}

#[test]
fn the_best_effort_says_what_is_not_enforced() {
    let none = landlock(7).at_most(0);
    assert_eq!(
        outcome(Level::Strict, Network::None, none, true),
        "strict, but nothing of it is enforced: Landlock is not used"
    );
    assert_eq!(
        outcome(Level::Workspace, Network::Full, Kernel::Landlock { abi: 3, seccomp: false }, true),
        "workspace, enforced by the kernel (Landlock ABI 3): access to files and directories, moving files between \
         directories, truncating files; not enforced: ioctl on devices, signals and abstract sockets, the server's \
         threads, its process group and its limits, message queues, keyrings, namespaces and mounts"
    );
    let of_strict = "access to files and directories, moving files between directories, truncating files";
    let of_both = "ioctl on devices, signals and abstract sockets, the server's threads, its process group and its \
                   limits, message queues, keyrings, namespaces and mounts";
    let more = "System V IPC, file watches and priorities, execution of only the allowed programs";
    let enforced = "enforced by the kernel (Landlock ABI 7, seccomp)";
    assert_eq!(
        outcome(Level::Strict, Network::None, landlock(7), false),
        format!("strict, {enforced}: {of_strict}, TCP, sockets of every kind, {of_both}, {more}")
    );
    assert_eq!(
        outcome(Level::Strict, Network::Full, landlock(7), false),
        format!("strict, {enforced}: {of_strict}, {of_both}, {more}; the network is open")
    );
    assert_eq!(
        outcome(Level::Workspace, Network::None, landlock(7), false),
        format!("workspace, {enforced}: {of_strict}, TCP, sockets of every kind, {of_both}")
    );
    assert_eq!(
        outcome(Level::Workspace, "connect:5432,connect:8080,listen:3000".parse().unwrap(), landlock(7), false),
        format!(
            "workspace, {enforced}, with no network but connections to TCP port 5432 or 8080 and servers on TCP port 3000: \
             {of_strict}, TCP ports other than those that are named, sockets other than TCP, {of_both}"
        )
    );
}
