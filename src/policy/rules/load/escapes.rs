//! Options that no check of arguments can bound: they follow links, read names from a file, or start a program.

use super::super::error::PolicyWarning;
use super::super::grammar::{OptionRule, Takes};
use super::pinned::is_pinned;

/// A command, one of its options, and what that option does. The empty command stands for every command.
type Escape = (&'static str, &'static str, &'static str);

/// Options, by command, whose value names a program to start, or sets something that can name one.
const STARTS: [(&str, &[&str]); 15] = [
    (
        "tar",
        &[
            "--to-command",
            "-I",
            "--use-compress-program",
            "--checkpoint-action",
            "--rsh-command",
            "-F",
            "--info-script",
            "--new-volume-script",
        ],
    ),
    ("cpio", &["--rsh-command"]),
    ("rg", &["--pre", "--hostname-bin"]),
    ("fd", &["-x", "--exec", "-X", "--exec-batch"]),
    ("sort", &["--compress-program"]),
    ("split", &["--filter"]),
    ("git", &["-c", "--config-env", "--exec-path", "--upload-pack", "--receive-pack", "--open-files-in-pager"]),
    ("rsync", &["-e", "--rsh", "--rsync-path"]),
    ("ssh", &["-o", "-F"]),
    ("scp", &["-o", "-F", "-S"]),
    ("go", &["-exec", "-toolexec", "-vettool"]),
    ("cargo", &["--config"]),
    ("make", &["--eval"]),
    ("npm", &["--script-shell", "--node-options"]),
    ("man", &["-P", "--pager", "-H", "--html"]),
];

/// Options that follow links below what a call names, or read names from a file.
const ESCAPES: [Escape; 35] = [
    ("grep", "-R", "follows links"),
    ("", "--dereference-recursive", "follows links"),
    ("find", "-L", "follows links"),
    ("find", "-H", "follows links"),
    ("find", "-follow", "follows links"),
    ("rg", "-L", "follows links"),
    ("fd", "-L", "follows links"),
    ("ls", "-L", "follows links"),
    ("du", "-L", "follows links"),
    ("tree", "-l", "follows links"),
    ("cp", "-L", "follows links"),
    ("tar", "-h", "follows links"),
    ("rsync", "-L", "follows links"),
    ("chmod", "-R", "works on all that lies beneath"),
    ("chown", "-R", "works on all that lies beneath"),
    ("rg", "--follow", "follows links"),
    ("fd", "--follow", "follows links"),
    ("ls", "--dereference", "follows links"),
    ("du", "--dereference", "follows links"),
    ("cp", "--dereference", "follows links"),
    ("", "--files-from", "reads names from a file"),
    ("", "--files0-from", "reads names from a file"),
    ("", "-files0-from", "reads names from a file"),
    ("", "--from-file", "reads names from a file"),
    ("", "--pathspec-from-file", "reads names from a file"),
    ("", "--exclude-from", "reads names from a file"),
    ("tar", "-T", "reads names from a file"),
    ("tar", "-X", "reads names from a file"),
    ("du", "-X", "reads names from a file"),
    ("xargs", "-a", "reads words from a file"),
    ("grep", "-f", "reads words from a file"),
    ("rg", "-f", "reads words from a file"),
    ("file", "-f", "reads names from a file"),
    ("date", "-f", "reads lines from a file"),
    ("wget", "-i", "reads names from a file"),
];

/// The options of one program that a check of arguments can't bound.
pub(super) struct Escapes {
    reaching: Vec<&'static Escape>,
    starting: &'static [&'static str],
}

impl Escapes {
    /// Looks them up by the program's name, without its directory.
    pub fn of(program: &str) -> Self {
        let is_meant = |command: &str| command.is_empty() || command == program;
        let starting = STARTS.iter().find(|(command, _)| *command == program);
        Self {
            reaching: ESCAPES.iter().filter(|(command, ..)| is_meant(command)).collect(),
            starting: starting.map_or(&[], |(_, spellings)| spellings),
        }
    }

    /// Warns the operator if the option is one of them.
    pub fn check(&self, option: &OptionRule, warnings: &mut Vec<PolicyWarning>) {
        let is_spelled = |spelling: &str| option.spellings.iter().any(|own| own == spelling);
        let mut warn = |text| warnings.push(PolicyWarning { origin: option.origin.clone(), text });
        if let Some((_, spelling, what)) = self.reaching.iter().find(|(_, spelling, _)| is_spelled(spelling)) {
            warn(format!(
                "`{spelling}` {what}, so a call reaches more than its words name; no check of arguments can see that"
            ));
        }
        let starting = self.starting.iter().find(|spelling| is_spelled(spelling));
        if let Some(spelling) = starting.filter(|_| option.takes != Takes::Flag && !is_pinned(&option.takes)) {
            warn(format!("`{spelling}` can start any program that a call names; list its values with `one_of`"));
        }
    }
}
