//! How long the lock of a shared file is waited for.
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
    /// One append takes far less, so whoever holds the lock this long does not append.
    pub const MOST: Duration = Duration::from_secs(1);
    /// The shortest wait, and what each append adds that did not have to wait.
    pub const LEAST: Duration = Duration::from_millis(10);
    /// The longest wait, however much others append: the loop stands still meanwhile.
    const IN_ALL: Duration = Duration::from_secs(10);
    /// The time between two tries.
    const BETWEEN: Duration = Duration::from_millis(1);

    pub fn new() -> Self {
        Self { left: Self::MOST, size: 0 }
    }

    /// Waits a little for the lock of a file that has this size now.
    ///
    /// # Errors
    /// How long it was waited for, if that was long enough.
    pub fn wait(&mut self, wait: &mut Wait, size: u64) -> Result<(), Duration> {
        let (unchanged, in_all) = wait.look(size);
        if unchanged >= self.within(size) || in_all >= Self::IN_ALL {
            *self = Self { left: Duration::ZERO, size };
            return Err(in_all);
        }
        std::thread::sleep(Self::BETWEEN);
        Ok(())
    }

    /// Takes note that the lock was had, and of the size that the file has then.
    pub fn had(&mut self, wait: &Wait, size: u64) {
        match wait.since {
            None => self.left = Self::MOST.min(self.left + Self::LEAST),
            Some(since) if size == self.size => self.left = self.left.saturating_sub(since.elapsed()),
            Some(_) => {}
        }
        self.size = size;
    }

    /// Takes note of the size after an append of our own, which does not count as another process's.
    pub fn appended(&mut self, size: u64) {
        self.size = size;
    }

    /// How long a file that has this size now is waited for.
    fn within(&self, size: u64) -> Duration {
        if size == self.size { self.left.max(Self::LEAST) } else { Self::MOST }
    }
}

/// One wait for the lock.
#[derive(Debug, Default)]
pub(super) struct Wait {
    /// When the lock was not free for the first time.
    began: Option<Instant>,
    /// Since when the file has the size that it has; then the others append in turn, and our turn comes.
    since: Option<Instant>,
    size: u64,
}

impl Wait {
    /// For how long the file has kept this size, which it has now, and for how long it was waited for in all.
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
