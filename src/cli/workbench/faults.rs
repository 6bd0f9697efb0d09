//! Faults on demand: a server that is slow, or loses or breaks messages.

use std::io::{self, Write};
use std::time::Duration;

/// The bytes in each piece of a message that is split, and the pause between the pieces.
const PIECE: usize = 7;
const PAUSE: Duration = Duration::from_millis(1);

/// The faults in the messages to the client, which are counted from 1.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::cli) struct Faults {
    /// The pause before each message.
    pub delay: Duration,
    /// The messages that are not sent.
    pub drop: Vec<usize>,
    /// The messages that are cut in the middle of their JSON.
    pub garble: Vec<usize>,
    /// The message after which the output is closed.
    pub close_after: Option<usize>,
    /// Whether each message is written in pieces.
    pub split_writes: bool,
}

/// Output that gets one message with each write, as a mock writes them.
pub(super) struct Faulty<W> {
    pub stream: W,
    pub faults: Faults,
    pub count: usize,
}

impl<W: Write> Write for Faulty<W> {
    fn write(&mut self, message: &[u8]) -> io::Result<usize> {
        let Faults { delay, drop, garble, close_after, split_writes } = &self.faults;
        if close_after.is_some_and(|last| self.count >= last) {
            return Err(io::Error::new(io::ErrorKind::BrokenPipe, "closed by `--close-after`"));
        }
        self.count += 1;
        if !delay.is_zero() {
            std::thread::sleep(*delay);
        }
        let half = message.get(..message.len() / 2).unwrap_or_default();
        let garbled = [half, b"\n"].concat();
        let sent: &[u8] = match (drop.contains(&self.count), garble.contains(&self.count)) {
            (true, _) => b"",
            (false, true) => &garbled,
            (false, false) => message,
        };
        for piece in sent.chunks(if *split_writes { PIECE } else { sent.len().max(1) }) {
            self.stream.write_all(piece)?;
            self.stream.flush()?;
            if *split_writes {
                std::thread::sleep(PAUSE);
            }
        }
        if *close_after == Some(self.count) {
            return Err(io::Error::new(io::ErrorKind::BrokenPipe, "closed by `--close-after`"));
        }
        Ok(message.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each write of the three messages under these faults.
    fn written(faults: Faults) -> (Vec<String>, bool) {
        #[derive(Default)]
        struct Writes(Vec<String>);
        impl Write for Writes {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                self.0.push(String::from_utf8(bytes.to_vec()).unwrap());
                Ok(bytes.len())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let mut faulty = Faulty { stream: Writes::default(), faults, count: 0 };
        let open = ["{\"id\":1}\n", "{\"id\":2}\n", "{\"id\":3}\n"]
            .iter()
            .all(|line| faulty.write_all(line.as_bytes()).is_ok());
        (faulty.stream.0, open)
    }

    #[test]
    fn each_fault_does_what_it_says_and_nothing_else() {
        let lines = |lines: &[&str]| lines.iter().map(|&line| line.to_owned()).collect::<Vec<_>>();
        let none = Faults::default();
        let (one, two, three) = ("{\"id\":1}\n", "{\"id\":2}\n", "{\"id\":3}\n");
        assert_eq!(written(none.clone()), (lines(&[one, two, three]), true));
        assert_eq!(written(Faults { drop: vec![1, 3], ..none.clone() }), (lines(&[two]), true));
        assert_eq!(written(Faults { garble: vec![2], ..none.clone() }), (lines(&[one, "{\"id\n", three]), true));
        assert_eq!(written(Faults { close_after: Some(2), ..none.clone() }), (lines(&[one, two]), false));
        let split = ["{\"id\":1", "}\n", "{\"id\":2", "}\n", "{\"id\":3", "}\n"];
        assert_eq!(written(Faults { split_writes: true, ..none }), (lines(&split), true));
    }
}
