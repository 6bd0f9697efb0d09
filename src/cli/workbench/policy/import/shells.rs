//! The shells whose line is read and decided on where no rule names them: `bash -c LINE`.
//!
//! Sources decide on such a call by its own words. So unless a source allows it, the policy names the shell to deny it.

use super::entry::Imported;
use super::tree::Node;
use crate::policy::rules::Effect;

const SHELLS: [&str; 4] = ["bash", "sh", "dash", "zsh"];
/// The directories in which they are known as well.
const DIRECTORIES: [&str; 3] = ["", "/bin/", "/usr/bin/"];
/// The options after which they read a line.
const OPTIONS: [&str; 2] = ["-c", "-lc"];
/// A line that no source names.
const LINE: &str = "another line";

/// The words for shells whose lines the source does not allow.
pub(super) fn denied(imported: &Imported) -> Vec<String> {
    let root = Node::of(imported);
    let words = SHELLS.iter().flat_map(|shell| DIRECTORIES.map(|directory| format!("{directory}{shell}")));
    let allows = |shell: &str, option: &str| {
        let words = [shell, option, LINE].map(str::to_owned);
        root.verdict(&words).effect == Some(Effect::Allow)
    };
    words.filter(|shell| !OPTIONS.iter().all(|option| allows(shell, option))).collect()
}
