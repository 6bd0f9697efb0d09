//! The system calls that commands never need with any arguments, with the reasons, and the seccomp(2) program for them.
//!
//! Calls that need a capability are not listed (clocks, modules, swap, accounting, the names of the machine), because
//! no command has that capability. Neither are calls that ask for the right to trace a process (ptrace(2),
//! process_vm_readv(2), kcmp(2), pidfd_getfd(2), process_madvise(2), get_robust_list(2), move_pages(2)): Landlock
//! decides on those.

use std::collections::BTreeMap;
use std::ffi::c_long;
use std::mem::offset_of;

use libc::seccomp_data;
use rustix::io::Errno;
use seccompiler::sock_filter;

use crate::network::Network;
use crate::sandbox::Level;

/// Calls that are refused together.
struct Class {
    when: When,
    /// The error that the command gets.
    answer: Errno,
    calls: &'static [c_long],
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum When {
    /// At both levels.
    Always,
    Strict,
    WithoutSockets,
    WithoutClients,
    WithoutServers,
    /// Where the launcher does not have to enter the network of a call first; it refuses them afterwards.
    WithoutOwnNetwork,
}

impl When {
    fn applies(self, level: Level, network: &Network) -> bool {
        match self {
            Self::Always => true,
            Self::Strict => level == Level::Strict,
            Self::WithoutSockets => *network == Network::None,
            Self::WithoutClients => match network {
                Network::None => true,
                Network::Ports(ports) => ports.connect().is_empty(),
                Network::Loopback | Network::Full => false,
            },
            Self::WithoutServers => match network {
                Network::None => true,
                Network::Ports(ports) => ports.listen().is_empty(),
                Network::Loopback | Network::Full => false,
            },
            Self::WithoutOwnNetwork => *network != Network::Loopback,
        }
    }
}

/// Empty if `seccompiler` has no filters for the processor, since not every call has a number there.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64")))]
const CLASSES: &[Class] = &[];

/// If two classes name a call, the later one decides the answer.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64"))]
const CLASSES: &[Class] = &[
    // Their flags, and the mode of a new file, are behind a pointer, where no filter sees them. The C libraries fall back
    // to clone(2), programs that know openat2(2) to openat(2), and those are checked.
    Class { when: When::Always, answer: Errno::NOSYS, calls: &[libc::SYS_clone3, libc::SYS_openat2] },
    // System calls that no filter sees: io_uring makes sockets, and files with any mode.
    Class {
        when: When::Always,
        answer: Errno::PERM,
        calls: &[libc::SYS_io_uring_setup, libc::SYS_io_uring_enter, libc::SYS_io_uring_register],
    },
    // The keys of the user and of the session in which the server was started; some are requested over the network.
    Class {
        when: When::Always,
        answer: Errno::PERM,
        calls: &[libc::SYS_add_key, libc::SYS_request_key, libc::SYS_keyctl],
    },
    Class { when: When::WithoutOwnNetwork, answer: Errno::PERM, calls: &[libc::SYS_setns] },
    // Landlock refuses changes to the mounts that its rules were made in, but not all calls that prepare them.
    Class {
        when: When::Always,
        answer: Errno::PERM,
        calls: &[
            libc::SYS_mount,
            libc::SYS_umount2,
            libc::SYS_pivot_root,
            libc::SYS_open_tree,
            // open_tree_attr(2), for which libc has no name yet.
            467,
            libc::SYS_move_mount,
            libc::SYS_mount_setattr,
            libc::SYS_fsopen,
            libc::SYS_fsconfig,
            libc::SYS_fsmount,
            libc::SYS_fspick,
        ],
    },
    // Files by handles instead of paths; watches on whole file systems; programs in the kernel; page faults of the
    // kernel that wait for a command.
    Class {
        when: When::Always,
        answer: Errno::PERM,
        calls: &[
            libc::SYS_open_by_handle_at,
            libc::SYS_fanotify_init,
            libc::SYS_fanotify_mark,
            libc::SYS_bpf,
            libc::SYS_userfaultfd,
        ],
    },
    // POSIX message queues: Landlock refuses to open one, but not to remove it.
    Class {
        when: When::Always,
        answer: Errno::PERM,
        calls: &[
            libc::SYS_mq_open,
            libc::SYS_mq_unlink,
            libc::SYS_mq_timedsend,
            libc::SYS_mq_timedreceive,
            libc::SYS_mq_notify,
            libc::SYS_mq_getsetattr,
        ],
    },
    // System V IPC: processes of one user share it without a file.
    Class {
        when: When::Strict,
        answer: Errno::PERM,
        calls: &[
            libc::SYS_shmget,
            libc::SYS_shmat,
            libc::SYS_shmctl,
            libc::SYS_semget,
            libc::SYS_semop,
            libc::SYS_semtimedop,
            libc::SYS_semctl,
            libc::SYS_msgget,
            libc::SYS_msgsnd,
            libc::SYS_msgrcv,
            libc::SYS_msgctl,
        ],
    },
    // Landlock does not decide on watches, and they report on files that can't be read. Programs fall back to polling.
    Class {
        when: When::Strict,
        answer: Errno::PERM,
        calls: &[
            #[cfg(target_arch = "x86_64")]
            libc::SYS_inotify_init,
            libc::SYS_inotify_init1,
            libc::SYS_inotify_add_watch,
        ],
    },
    // Calls that observe the whole machine or the kernel's messages.
    Class { when: When::Strict, answer: Errno::PERM, calls: &[libc::SYS_perf_event_open, libc::SYS_syslog] },
    // A socketpair(2) is connected for good, and needs none of these.
    Class { when: When::WithoutSockets, answer: Errno::ACCESS, calls: &[libc::SYS_socket] },
    Class { when: When::WithoutClients, answer: Errno::ACCESS, calls: &[libc::SYS_connect] },
    // Landlock decides on bind(2), but a socket that was not bound listens on a port that the kernel chooses.
    Class {
        when: When::WithoutServers,
        answer: Errno::ACCESS,
        calls: &[libc::SYS_bind, libc::SYS_listen, libc::SYS_accept, libc::SYS_accept4],
    },
];

/// file_setattr(2): the newest call that this list considers. Later ones do not exist at `strict`. New calls have the
/// same number on every processor.
const NEWEST: u32 = 469;
/// The bit of x32, another calling convention on x86-64, which some kernels support. Its calls have other numbers, as
/// those of 32-bit programs do, and end the process that makes them.
#[cfg(target_arch = "x86_64")]
const X32: u32 = 0x4000_0000;

/// The program for a thread. It checks numbers, and the arguments of setpgid(2), which no list of rules can compare.
///
/// It expects that another program refuses other calling conventions.
pub(super) fn program(level: Level, network: &Network) -> Result<Vec<sock_filter>, std::num::TryFromIntError> {
    let mut program = vec![load(offset_of!(seccomp_data, nr))?];
    program.extend(own_groups_alone()?);
    program.extend(search(&stretches(level, network)?)?);
    Ok(program)
}

/// The ranges of numbers with the same answer: where each begins, and the answer.
fn stretches(level: Level, network: &Network) -> Result<Vec<(u32, u32)>, std::num::TryFromIntError> {
    let mut answers = BTreeMap::new();
    for class in CLASSES.iter().filter(|class| class.when.applies(level, network)) {
        for &call in class.calls {
            answers.insert(u32::try_from(call)?, error(class.answer));
        }
    }
    let mut stretches = vec![(0, libc::SECCOMP_RET_ALLOW)];
    let mut begin = |number, answer| {
        if stretches.last().is_some_and(|(begun, _)| *begun == number) {
            stretches.pop();
        }
        stretches.push((number, answer));
    };
    for (number, answer) in answers {
        begin(number, answer);
        begin(number + 1, libc::SECCOMP_RET_ALLOW);
    }
    let newer = if level == Level::Strict { error(Errno::NOSYS) } else { libc::SECCOMP_RET_ALLOW };
    begin(NEWEST + 1, newer);
    #[cfg(target_arch = "x86_64")]
    {
        begin(X32, libc::SECCOMP_RET_KILL_PROCESS);
        // A tracer sets the number of a call to -1 to skip it.
        begin(2 * X32, newer);
    }
    Ok(stretches)
}

/// Lets a process make a group of its own (of 0, or of its own number) and enter no other: if a stopped process is left
/// in the group of the server, the kernel sends SIGHUP to the whole group.
fn own_groups_alone() -> Result<[sock_filter; 8], std::num::TryFromIntError> {
    use libc::{BPF_JEQ, BPF_JMP, BPF_K, BPF_MISC, BPF_TAX, BPF_X};
    Ok([
        // Any other call is found by its number, which is still loaded.
        instruction(BPF_JMP | BPF_JEQ | BPF_K, 0, 7, u32::try_from(libc::SYS_setpgid)?)?,
        load(argument(0))?,
        instruction(BPF_MISC | BPF_TAX, 0, 0, 0)?,
        load(argument(1))?,
        instruction(BPF_JMP | BPF_JEQ | BPF_K, 2, 0, 0)?,
        instruction(BPF_JMP | BPF_JEQ | BPF_X, 1, 0, 0)?,
        answer(error(Errno::PERM))?,
        answer(libc::SECCOMP_RET_ALLOW)?,
    ])
}

/// Finds the range of a number by bisection: a few comparisons for any number, here and when the kernel tests in
/// advance which numbers it need not ask about.
fn search(stretches: &[(u32, u32)]) -> Result<Vec<sock_filter>, std::num::TryFromIntError> {
    let (lower, upper) = stretches.split_at(stretches.len() / 2);
    match (lower, upper) {
        ([], []) => Ok(Vec::new()),
        ([], [(_, only), ..]) => Ok(vec![answer(*only)?]),
        (_, [(begin, _), ..]) => {
            let (below, above) = (search(lower)?, search(upper)?);
            let jump = libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K;
            Ok([vec![instruction(jump, u8::try_from(below.len())?, 0, *begin)?], below, above].concat())
        }
        // The upper half is never the smaller one.
        (_, []) => Ok(Vec::new()),
    }
}

fn error(errno: Errno) -> u32 {
    libc::SECCOMP_RET_ERRNO | errno.raw_os_error().unsigned_abs()
}

/// The offset of the lower half of an argument, which is all that the kernel uses of an `int`.
fn argument(place: usize) -> usize {
    let half = if cfg!(target_endian = "big") { 4 } else { 0 };
    offset_of!(seccomp_data, args) + 8 * place + half
}

fn load(offset: usize) -> Result<sock_filter, std::num::TryFromIntError> {
    instruction(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, u32::try_from(offset)?)
}

fn answer(answer: u32) -> Result<sock_filter, std::num::TryFromIntError> {
    instruction(libc::BPF_RET | libc::BPF_K, 0, 0, answer)
}

fn instruction(code: u32, jt: u8, jf: u8, k: u32) -> Result<sock_filter, std::num::TryFromIntError> {
    Ok(sock_filter { code: u16::try_from(code)?, jt, jf, k })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the program's answer to a call, by the rules of the kernel's machine; only the instructions that are
    /// used.
    fn run(program: &[sock_filter], number: u32, arguments: [u32; 2]) -> u32 {
        let (mut at, mut a, mut x) = (0, 0, 0);
        loop {
            let sock_filter { code, jt, jf, k } = program[at];
            let jump = |taken: bool| usize::from(if taken { jt } else { jf });
            at += 1;
            match code {
                0x20 => {
                    a = match k {
                        0 => number,
                        16 => arguments[0],
                        24 => arguments[1],
                        other => panic!("nothing is at {other}"),
                    }
                }
                0x06 => return k,
                0x07 => x = a,
                0x15 => at += jump(a == k),
                0x1d => at += jump(a == x),
                0x35 => at += jump(a >= k),
                other => panic!("{other:#x} is not used"),
            }
        }
    }

    #[test]
    fn every_number_gets_its_answer() {
        let allow = libc::SECCOMP_RET_ALLOW;
        for (level, network) in [
            (Level::Workspace, Network::Full),
            (Level::Workspace, Network::None),
            (Level::Strict, Network::None),
            (Level::Strict, Network::Full),
            (Level::Strict, Network::Loopback),
            (Level::Strict, "connect:1".parse().unwrap()),
            (Level::Workspace, "listen:1".parse().unwrap()),
            (Level::Workspace, "connect:1,listen:1".parse().unwrap()),
        ] {
            let program = program(level, &network).unwrap();
            for number in 0..600 {
                let listed = CLASSES
                    .iter()
                    .rfind(|class| class.when.applies(level, &network) && class.calls.contains(&c_long::from(number)));
                let expected = match listed {
                    Some(class) => error(class.answer),
                    None if number > 469 && level == Level::Strict => error(Errno::NOSYS),
                    None => allow,
                };
                assert_eq!(run(&program, u32::try_from(number).unwrap(), [0; 2]), expected, "{level} {number}");
            }
            #[cfg(target_arch = "x86_64")]
            for (number, is_killed) in [(X32 - 1, false), (X32, true), (X32 + 41, true), (u32::MAX, false)] {
                let answer = run(&program, number, [0; 2]);
                assert_eq!(answer == libc::SECCOMP_RET_KILL_PROCESS, is_killed, "{level} {number:#x}");
            }
            let setpgid = u32::try_from(libc::SYS_setpgid).unwrap();
            for (arguments, is_allowed) in
                [([0, 0], true), ([7, 0], true), ([7, 7], true), ([0, 7], false), ([7, 8], false)]
            {
                let answer = run(&program, setpgid, arguments);
                assert_eq!(answer == allow, is_allowed, "{level} setpgid{arguments:?}");
            }
        }
    }
}
