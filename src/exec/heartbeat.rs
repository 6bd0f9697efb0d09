//! The heartbeat of a command: reports at regular intervals how long it has run, and what it printed last.

use std::fmt;
use std::time::{Duration, Instant};

use crate::text::{clean, is_plain};

/// The most bytes of the last line that are reported.
const LONGEST_LINE: usize = 200;

/// Where the progress of a command is reported, and how often.
pub struct Heartbeat {
    /// The time between two beats, and before the first.
    pub every: Duration,
    /// Called at each beat with the time since the start, and the last line of output, lossily as text. It must not
    /// block: the thread that calls it keeps the command's deadline.
    pub tell: Box<dyn FnMut(Duration, String) + Send>,
}

impl fmt::Debug for Heartbeat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Heartbeat").field("every", &self.every).finish_non_exhaustive()
    }
}

/// When the next beat is due; kept by the thread that watches the command.
#[derive(Debug)]
pub(crate) struct Beats {
    heartbeat: Heartbeat,
    started: Instant,
    next: Instant,
}

impl Beats {
    /// The beats of a command that was started at `started`.
    pub(crate) fn new(heartbeat: Heartbeat, started: Instant) -> Self {
        Self { next: started + heartbeat.every, heartbeat, started }
    }

    /// Beats if it is time, with the last line, of at most as many bytes as `last_line` is told. Returns the time until
    /// the next beat.
    pub(crate) fn beat(&mut self, last_line: impl FnOnce(usize) -> Vec<u8>) -> Duration {
        let now = Instant::now();
        if now >= self.next {
            self.next = now + self.heartbeat.every;
            (self.heartbeat.tell)(now - self.started, printable(&last_line(LONGEST_LINE)));
        }
        self.next.saturating_duration_since(now)
    }
}

/// A line as it may be put in a message: without terminal sequences, and with blanks for what else is not plain text.
fn printable(line: &[u8]) -> String {
    let start = line.iter().take(3).take_while(|&&byte| byte & 0xC0 == 0x80).count();
    // If the start of the line was cut off, it may begin in the middle of a character.
    let line = if line.len() >= LONGEST_LINE { line.get(start..).unwrap_or_default() } else { line };
    let text: String = clean(&String::from_utf8_lossy(line))
        .text
        .chars()
        .map(|character| if is_plain(character) { character } else { ' ' })
        .collect();
    text.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_shown_without_control_characters_and_without_half_a_character_in_front() {
        assert_eq!(printable(b" \x1b[2K50%\x1b[0m\t\x1b[3"), "50%  [3");
        assert_eq!(printable(b"\xffa"), "\u{fffd}a");
        let long = "é".repeat(200);
        let line = [long.as_bytes(), b"z"].concat();
        assert_eq!(printable(&line[line.len() - LONGEST_LINE..]), "é".repeat(99) + "z");
    }
}
