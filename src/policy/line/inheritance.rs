//! The redirections of groups, and the commands within that inherit the streams: for each of them a redirection of its group counts as
//! one of its own.

use std::collections::{BTreeMap, BTreeSet};

use crate::lines::{Redirection, Stream};
use crate::policy::rules::Ruled;

/// A redirection of a group: the place of the group, and its number there. All that leave no stream to what they open, since another
/// follows, count as one, for every command of the group.
type Origin = (usize, usize);
const REPLACED: usize = usize::MAX;

/// The redirections of the groups around a place of the line that its streams come from.
#[derive(Debug, Clone, Default)]
pub(super) struct Streams {
    stdin: Option<Origin>,
    stdout: Option<Origin>,
    stderr: Option<Origin>,
    /// The groups around that have opened files which no stream leads to.
    replaced: Vec<Origin>,
}

impl Streams {
    /// The streams of a stage, of which the others are pipes.
    pub(super) fn of_stage(&self, is_first: bool, is_last: bool) -> Self {
        let Self { stdin, stdout, stderr, replaced } = self.clone();
        Self { stdin: stdin.filter(|_| is_first), stdout: stdout.filter(|_| is_last), stderr, replaced }
    }

    /// The streams after the redirections of the group or the command at this place, and after `|&`.
    pub(super) fn redirected(&self, place: usize, redirections: &[Redirection], pipes_stderr: bool) -> Self {
        let mut now = self.clone();
        for (number, redirection) in redirections.iter().enumerate() {
            let this = Some((place, number));
            match redirection {
                Redirection::Read(_) | Redirection::Document(_) | Redirection::HereString(_) => now.stdin = this,
                Redirection::Write { stream: Stream::Stdout, .. } => now.stdout = this,
                Redirection::Write { stream: Stream::Stderr, .. } => now.stderr = this,
                Redirection::Write { stream: Stream::Both, .. } => (now.stdout, now.stderr) = (this, this),
                Redirection::StderrToStdout => now.stderr = now.stdout,
                Redirection::StdoutToStderr => now.stdout = now.stderr,
            }
        }
        if now.replaced_of(place, redirections).next().is_some() {
            now.replaced.push((place, REPLACED));
        }
        if pipes_stderr {
            now.stderr = now.stdout;
        }
        now
    }

    /// The redirections of a group that open files to which these streams do not lead.
    fn replaced_of(&self, place: usize, redirections: &[Redirection]) -> impl Iterator<Item = Origin> {
        let opens = |redirection: &Redirection| matches!(redirection, Redirection::Read(_) | Redirection::Write { .. });
        let opened = redirections.iter().enumerate().filter(move |(_, redirection)| opens(redirection));
        let leads = [self.stdin, self.stdout, self.stderr];
        opened.map(move |(number, _)| (place, number)).filter(move |origin| !leads.contains(&Some(*origin)))
    }
}

/// The commands that each redirection of a group counts for.
#[derive(Debug, Default)]
pub(super) struct Inheritance {
    /// The rules of those commands, each once.
    by_origin: BTreeMap<Origin, Vec<Ruled>>,
    /// The redirections that leave no stream to what they open.
    replaced: BTreeSet<Origin>,
    /// The commands that inherit something, by their places, with what their words were decided by.
    commands: BTreeMap<usize, Option<Ruled>>,
}

impl Inheritance {
    /// Takes in a group at this place, whose streams are these after its redirections.
    pub(super) fn add_group(&mut self, place: usize, redirections: &[Redirection], streams: &Streams) {
        self.replaced.extend(streams.replaced_of(place, redirections));
    }

    /// Takes in a command at this place, whose streams are these after its own redirections.
    pub(super) fn add_command(&mut self, place: usize, streams: &Streams, ruled: Option<&Ruled>) {
        let Streams { stdin, stdout, stderr, replaced } = streams;
        let of_groups = [stdin, stdout, stderr].into_iter().flatten().chain(replaced);
        for origin in of_groups.filter(|(of, _)| *of != place) {
            self.commands.insert(place, ruled.cloned());
            let rules = self.by_origin.entry(*origin).or_default();
            rules.extend(ruled.filter(|ruled| !rules.contains(ruled)).cloned());
        }
    }

    /// The rules that a redirection of a group counts for.
    pub(super) fn rules_of(&self, place: usize, number: usize) -> &[Ruled] {
        let origin = if self.replaced.contains(&(place, number)) { (place, REPLACED) } else { (place, number) };
        self.by_origin.get(&origin).map_or(&[], Vec::as_slice)
    }

    /// Whether the redirections of the groups around a command were decided for it as it is now.
    pub(super) fn is_decided_for(&self, place: usize, ruled: Option<&Ruled>) -> bool {
        self.commands.get(&place).is_none_or(|decided| decided.as_ref() == ruled)
    }
}
