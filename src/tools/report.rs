//! The result of a command that ran in a process of its own, for the client: YAML text, and structured content if the
//! operator asks for it.

use std::path::PathBuf;

use serde_json::{Map, Value};

use super::command_result::{self, CommandResult, Own};
use super::denial::ConfinedBy;
use super::yaml::write_text;
use crate::exec::Output;
use crate::mcp::CallToolResult;
use crate::network::Network;

/// The setting that would give a command a network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum NetworkGrant {
    /// Nothing: it has one.
    #[default]
    None,
    /// The server's setting, which gives this much already.
    OfServer(Given),
    /// Its rule, which takes the rest of the network from it.
    OfRule(Given),
}

/// The part of the network that a command has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Given {
    /// Nothing.
    Nothing,
    /// A loopback of its own.
    Loopback,
    /// Some ports of the machine.
    Ports,
}

impl NetworkGrant {
    /// The setting that would give it to a command that has this network by the server's setting.
    pub fn of_server(network: &Network) -> Self {
        match network {
            Network::None => Self::OfServer(Given::Nothing),
            Network::Loopback => Self::OfServer(Given::Loopback),
            Network::Ports(_) => Self::OfServer(Given::Ports),
            Network::Full => Self::None,
        }
    }

    /// The same, if its rule names the network.
    pub fn of_rule(network: &Network) -> Self {
        match Self::of_server(network) {
            Self::OfServer(given) => Self::OfRule(given),
            grant @ (Self::None | Self::OfRule(_)) => grant,
        }
    }
}

/// Where the operator lists what the sandbox grants. A flag replaces the whole list of a file or of a variable, so the flag is
/// named only if it makes the list.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ListedIn {
    /// In a flag, which may be repeated, or nowhere yet.
    #[default]
    Flag,
    /// In this variable.
    Variable(&'static str),
    /// In the configuration file.
    File,
}

impl ListedIn {
    /// The words for adding a value to the list of this flag, behind "add ".
    pub(crate) fn adding(self, flag: &str, value: &str) -> String {
        format!("{}{}", self.value(flag, value), self.place(flag))
    }

    /// A value of the list, with the flag if that makes the list.
    pub(super) fn value(self, flag: &str, value: &str) -> String {
        match self {
            Self::Flag => format!("`--{flag} {value}`"),
            Self::Variable(_) | Self::File => format!("`{value}`"),
        }
    }

    /// The words for the list, behind its new values; empty if the flag says it.
    pub(super) fn place(self, flag: &str) -> String {
        match self {
            Self::Flag => String::new(),
            Self::Variable(name) => format!(" to `{name}`"),
            Self::File => format!(" to `{flag}:` in the configuration file"),
        }
    }
}

/// Where each kind of grant is listed.
#[derive(Debug, Clone, Copy, Default)]
pub struct GrantLists {
    /// The list of `--read`.
    pub read: ListedIn,
    /// The list of `--write`.
    pub write: ListedIn,
    /// The list of `--exec`.
    pub exec: ListedIn,
    /// The list of `--grant`.
    pub grant: ListedIn,
}

/// The settings that shape a result.
#[derive(Debug, Clone, Default)]
pub struct ReportSettings {
    /// Whether results carry structured content in addition to the text.
    pub structured: bool,
    /// Whether a non-zero exit is an error.
    pub exit_error: bool,
    /// The sandboxes from which a denial probably comes, the likeliest first: that of the command, or those of the commands
    /// of a line. Empty if nothing confines them.
    pub confined: Vec<ConfinedBy>,
    /// The files of a line's redirections that the system did not let it write.
    pub unopened: Vec<PathBuf>,
    /// The directory that the command ran in; `None` if it is not known.
    pub directory: Option<PathBuf>,
    /// Where the operator would add a grant.
    pub lists: GrantLists,
    /// The number by which the whole output can be read; `None` if it is not kept.
    pub kept_as: Option<u64>,
}

/// The hint of the result of an output, if it has one.
pub fn execute_hint(
    output: &Output,
    literal_pattern: Option<&'static str>,
    success: &[i32],
    settings: &ReportSettings,
) -> Option<String> {
    let own = Execute { literal_pattern, success };
    command_result::hint(output.end, [&output.stdout, &output.stderr], settings, &own)
}

/// Makes the result of an output. `literal_pattern` is what a shell would have expanded in the command line. `success`
/// holds the exit codes that count as success if non-zero codes are errors; empty means only `0`.
///
/// Output that is too long for a message is cut further, and the result says so.
pub fn execute_result(
    output: Output,
    literal_pattern: Option<&'static str>,
    success: &[i32],
    settings: &ReportSettings,
) -> CallToolResult {
    let Output { end, stdout, stderr, limit, .. } = output;
    command_result::result(end, limit, [stdout, stderr], settings, &Execute { literal_pattern, success })
}

struct Execute<'a> {
    literal_pattern: Option<&'static str>,
    success: &'a [i32],
}

impl Own for Execute<'_> {
    const NUMBER: &'static str = "output";

    fn success(&self) -> &[i32] {
        self.success
    }

    fn hint(&self, exit_code: i32) -> Option<String> {
        let pattern = self.literal_pattern.filter(|_| !self.is_success(exit_code))?;
        Some(format!("no shell runs here, so {pattern} was passed on literally"))
    }

    fn write(&self, result: &CommandResult<'_>, yaml: &mut String) {
        write_text(yaml, "stdout", &result.stdout.text);
        write_text(yaml, "stderr", &result.stderr.text);
    }

    fn insert(&self, _outcome: &CommandResult<'_>, _content: &mut Map<String, Value>) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exec::{Captured, End, Limit};
    use serde_json::json;
    use std::time::Duration;

    fn captured(text: &[u8]) -> Captured {
        Captured { head: text.to_vec(), ..Captured::default() }
    }

    fn output(end: End, stdout: Captured, stderr: Captured) -> Output {
        Output { end, stdout, stderr, limit: None, elapsed: Duration::ZERO }
    }

    fn check(output: Output, pattern: Option<&'static str>, is_error: bool, expected: &str) {
        let result = execute_result(output, pattern, &[], &ReportSettings::default());
        assert_eq!((result.text.as_str(), result.is_error), (expected, is_error));
    }

    #[test]
    fn the_text_has_its_keys_in_order_and_only_those_that_apply() {
        let hello = || captured(b"hello\n");
        let nothing = Captured::default;
        check(
            output(End::Exited(0), hello(), nothing()),
            Some("the unquoted `*`"),
            false,
            "exit_code: 0\nstdout: |\n  hello\nstderr: ''\n",
        );
        check(
            output(End::Exited(1), nothing(), hello()),
            None,
            false,
            "exit_code: 1\nstdout: ''\nstderr: |\n  hello\n",
        );
        check(
            output(End::Exited(2), nothing(), nothing()),
            Some("the unquoted `*`"),
            false,
            "exit_code: 2\nhint: no shell runs here, so the unquoted `*` was passed on literally\nstdout: ''\nstderr: ''\n",
        );
        check(
            output(End::Signaled(9), captured(b"\xff"), nothing()),
            None,
            true,
            "exit_code: 137\nsignal: SIGKILL\nlossy: [stdout]\nstdout: \u{fffd}\nstderr: ''\n",
        );
        check(
            output(End::TimedOut(Duration::from_millis(1500)), hello(), nothing()),
            None,
            true,
            "exit_code: 124\ntimed_out: true\nhint: ended after 1500 ms; pass a larger `timeout_ms` if the command needs \
             longer, and make sure that it waits for nobody\nstdout: |\n  hello\nstderr: ''\n",
        );
    }

    #[test]
    fn the_limit_that_was_hit_stands_before_the_output() {
        let limited =
            |end| Output { limit: Some(Limit::Processes), ..output(end, captured(b"x"), Captured::default()) };
        check(limited(End::Exited(1)), None, false, "exit_code: 1\nlimit: processes\nstdout: x\nstderr: ''\n");
        let settings = ReportSettings { structured: true, ..ReportSettings::default() };
        let expected = json!({"exit_code": 1, "limit": "processes", "stdout": "x", "stderr": ""});
        assert_eq!(execute_result(limited(End::Exited(1)), None, &[], &settings).structured_content, Some(expected));
    }

    #[test]
    fn structured_content_says_what_the_text_says_and_is_left_out_of_errors() {
        let settings = ReportSettings { structured: true, exit_error: true, ..ReportSettings::default() };
        let result = |code| {
            execute_result(output(End::Exited(code), captured(b"a\xff"), Captured::default()), None, &[], &settings)
        };
        let expected = json!({"exit_code": 0, "stdout": "a\u{fffd}", "stderr": "", "lossy": ["stdout"]});
        assert_eq!(result(0).structured_content, Some(expected));
        assert_eq!((result(1).structured_content, result(1).is_error), (None, true));
    }
}
