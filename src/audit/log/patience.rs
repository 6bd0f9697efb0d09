//! How long to wait for the lock of a shared file.
//!
//! Any process that can read the file can lock it (flock(2)), and could make each append wait. But only a process that
//! appends makes the file grow. So if the file grows, the lock is waited for each time. All other waits together take
//! [`Patience::MOST`]; each append that did not have to wait adds 10 ms to that again.

use std::time::{Duration, Instant};

/// How much waiting is left.
#[derive(Debug)]
pub(super) struct Patience {
    left: Duration,
    /// How large the file was when it was locked, or not, the last time.
    size: u64,
}

impl Patience {
    /// One append takes far less, so a process that holds the lock this long is not appending.
    pub const MOST: Duration = Duration::from_secs(1);
    /// The shortest wait, and what each append adds that did not have to wait.
    pub const LEAST: Duration = Duration::from_millis(10);
    /// The longest wait, however much others append, because the loop can do nothing else meanwhile.
    const IN_ALL: Duration = Duration::from_secs(10);
    /// The time between two tries.
    const BETWEEN: Duration = Duration::from_millis(1);

    pub fn new() -> Self {
        Self { left: Self::MOST, size: 0 }
    }

    /// Waits a little for the lock of a file that has this size now.
    ///
    /// # Errors
    /// How long this has waited, if that was long enough.
    pub fn wait(&mut self, wait: &mut Wait, size: u64) -> Result<(), Duration> {
        let (unchanged, in_all) = wait.look(size);
        if unchanged >= self.within(size) || in_all >= Self::IN_ALL {
            *self = Self { left: Duration::ZERO, size };
            return Err(in_all);
        }
        std::thread::sleep(Self::BETWEEN);
        Ok(())
    }

    /// Notes that the lock was obtained, and the size of the file then.
    pub fn had(&mut self, wait: &Wait, size: u64) {
        match wait.since {
            None => self.left = Self::MOST.min(self.left + Self::LEAST),
            Some(since) if size == self.size => self.left = self.left.saturating_sub(since.elapsed()),
            Some(_) => {}
        }
        self.size = size;
    }

    /// Notes the size after an append of our own, so that it does not count as another process's.
    pub fn appended(&mut self, size: u64) {
        self.size = size;
    }

    /// How long to wait for a file that has this size now.
    fn within(&self, size: u64) -> Duration {
        if size == self.size { self.left.max(Self::LEAST) } else { Self::MOST }
    }
}

/// One wait for the lock.
#[derive(Debug, Default)]
pub(super) struct Wait {
    /// When the lock was first found taken.
    began: Option<Instant>,
    /// Since when the file has had its current size. If it grows, the others append in turn, and our turn will come.
    since: Option<Instant>,
    size: u64,
}

impl Wait {
    /// How long the file has had `size`, its current size, and how long this has waited in all.
    fn look(&mut self, size: u64) -> (Duration, Duration) {
        let now = Instant::now();
        if size != self.size {
            *self = Self { since: None, size, ..*self };
        }
        let (began, since) = (*self.began.get_or_insert(now), *self.since.get_or_insert(now));
        (now - since, now - began)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_grows_for_ever_is_not_waited_for_for_ever() {
        let mut patience = Patience::new();
        let began = Instant::now().checked_sub(Patience::IN_ALL);
        let mut wait = Wait { began, ..Wait::default() };
        let waited = patience.wait(&mut wait, 1).unwrap_err();
        assert!(waited >= Patience::IN_ALL, "{waited:?}");
        // A wait that has just begun goes on.
        assert_eq!(Patience::new().wait(&mut Wait::default(), 1), Ok(()));
    }
}
