//! Where the two ends of a round trip run.
//!
//! A round trip of some microseconds costs three times as much across two cores as on one, and where the scheduler puts a
//! process that sleeps most of the time changes from run to run: such a pair is measured in both places, and left in neither to
//! chance.

/// The cores of a client and of what answers it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(dead_code, reason = "which of them are made depends on the platform")]
pub enum Cores {
    /// As the scheduler likes, where nothing else can be had.
    Any,
    /// Both ends on one core.
    One,
    /// Each end on its own.
    Two,
}

impl Cores {
    /// What a row says of it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Any => "",
            Self::One => ", one core",
            Self::Two => ", two cores",
        }
    }

    /// The bound for this choice: `two` for two cores, otherwise `one`.
    pub fn of(self, one: f64, two: f64) -> f64 {
        match self {
            Self::Any | Self::One => one,
            Self::Two => two,
        }
    }
}

/// Does the work once for each choice of cores: first `start` starts what answers, then `work` is done with it.
#[cfg(target_os = "linux")]
pub fn on_each<T>(start: impl Fn() -> T, mut work: impl FnMut(Cores, T)) {
    use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
    let all = sched_getaffinity(None).expect("this thread has cores");
    let cores: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|core| all.is_set(*core)).take(2).collect();
    let go_to = |core: usize| {
        let mut only = CpuSet::new();
        only.set(core);
        sched_setaffinity(None, &only).expect("it may run on each of them");
    };
    for (choice, answers_on) in [Cores::One, Cores::Two].into_iter().zip(&cores) {
        // What is started inherits the core.
        go_to(*answers_on);
        let started = start();
        go_to(cores[0]);
        work(choice, started);
    }
    sched_setaffinity(None, &all).expect("it ran there before");
}

/// Does the work once.
#[cfg(not(target_os = "linux"))]
pub fn on_each<T>(start: impl Fn() -> T, mut work: impl FnMut(Cores, T)) {
    work(Cores::Any, start());
}
