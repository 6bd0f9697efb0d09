//! The commands of a line whose failure its status does not tell.

/// The status of a command, with the failure that it shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Status {
    pub code: i32,
    /// The number of the failure among [`Failures`], if it is one of a command's.
    of: Option<usize>,
}

impl Status {
    /// Makes a status that shows no failure of a command.
    pub(super) fn of_code(code: i32) -> Self {
        Self { code, of: None }
    }
}

/// The commands that have failed so far, in the order of their ends.
#[derive(Debug, Default)]
pub(super) struct Failures(Vec<(String, i32)>);

impl Failures {
    /// Takes the status of a command. `name` is `None` if its failure needs no mention.
    pub(super) fn status(&mut self, code: i32, name: Option<String>) -> Status {
        let Some(name) = name.filter(|_| code != 0) else { return Status::of_code(code) };
        self.0.push((name, code));
        Status { code, of: Some(self.0.len() - 1) }
    }

    /// Returns the failures that the status of the whole line does not show.
    pub(super) fn without(self, last: Status) -> Vec<(String, i32)> {
        let failures = self.0.into_iter().enumerate();
        failures.filter(|(number, _)| Some(*number) != last.of).map(|(_, failure)| failure).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_told_unless_the_status_of_the_line_is_its_own() {
        let mut failures = Failures::default();
        let first = failures.status(1, Some("grep".to_owned()));
        let last = failures.status(2, Some("cargo test".to_owned()));
        assert_eq!(failures.status(3, None), Status::of_code(3));
        assert_eq!(failures.status(0, Some("true".to_owned())), Status::of_code(0));
        assert_ne!(first, last);
        assert_eq!(failures.without(last), [("grep".to_owned(), 1)]);
    }
}
