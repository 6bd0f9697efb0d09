//! Commands whose arguments some tools take for paths, on which they decide by other rules than those for commands.

use std::collections::BTreeSet;

use super::entry::{Entry, Imported, Pattern};
use crate::policy::rules::Effect;

/// Commands that name files, of those whose words the tools look at.
const COMMANDS: &str = "\
    awk base64 cat chgrp chmod chown cmp column comm cp cut dd df diff du egrep fgrep file find grep head hexdump join jq less ln ls \
    md5sum mkdir more mv nl od paste readlink realpath rev rg rm rmdir sed sha1sum sha256sum shred sort stat strings tac tail \
    tar tee touch tr tree truncate uniq unlink wc xxd";

/// Whether the words of a command name files.
fn names_files(command: &str) -> bool {
    let name = command.rsplit('/').next().unwrap_or(command);
    COMMANDS.split(' ').any(|known| known == name)
}

/// Takes entries for such commands only as far as no path can leave the project: exact words without such a path, and commands
/// that a shipped profile describes. `denies` is an entry that decides on paths in the project, too: then nothing is taken. Neither is
/// what an entry for all command lines says of them.
pub(super) fn bound(imported: &mut Imported, tool: &str, denies: Option<&Entry>) {
    let elsewhere = format!("{tool} asks about paths outside the project, which words alone don't say");
    let named: BTreeSet<String> = imported
        .entries
        .iter()
        .filter_map(|entry| entry.pattern.command())
        .filter(|name| names_files(name))
        .map(str::to_owned)
        .collect();
    let named = if imported.grants_all() { named } else { BTreeSet::new() };
    if let Some(denies) = denies {
        imported.drop_grants(|entry| {
            let is_bare = matches!(&entry.pattern, Pattern::Exact(words) if words.len() == 1);
            let why = || {
                format!(
                    "`{}` ({}) decides on the files that it names, which words alone don't say",
                    denies.what, denies.place
                )
            };
            (names_files(entry.pattern.words().first()?) && !is_bare).then(why)
        });
        for command in named {
            let pattern = Pattern::Prefix(vec![command]);
            imported.entries.push(Entry { effect: Effect::Deny, pattern, priority: i64::MAX, ..denies.clone() });
        }
    } else {
        imported.only_by_profile.extend(named.into_iter().map(|command| (command, elsewhere.clone())));
    }
    imported.drop_grants(|entry| {
        // Who is asked about all of them is asked about paths outside, too.
        let (first, rest) = entry.pattern.words().split_first().filter(|_| entry.effect == Effect::Allow)?;
        let is_taken = match &entry.pattern {
            Pattern::Exact(_) => !rest.iter().any(|word| may_leave(word)),
            Pattern::Prefix(_) => rest.is_empty(),
            Pattern::Unclear(_) => true,
        };
        let why = || format!("{elsewhere}; describe its operands with `path: read` or `path: write`");
        (names_files(first) && !is_taken).then(why)
    });
    let whole = |entry: &&Entry| {
        let is_whole = matches!(&entry.pattern, Pattern::Prefix(words) if words.len() == 1);
        entry.effect == Effect::Allow && entry.grants() && is_whole
    };
    for entry in imported.entries.iter().filter(whole) {
        let Some(command) = entry.pattern.words().first().filter(|command| names_files(command)) else { continue };
        imported.only_by_profile.push((command.clone(), elsewhere.clone()));
    }
}

/// Whether a word may be a path that leads out of the project, or hold one.
fn may_leave(word: &str) -> bool {
    let is_attached = word.starts_with('-') && word.contains('/');
    word.starts_with('/') || is_attached || word.contains("..") || word.contains("=/")
}
