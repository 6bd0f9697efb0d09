//! The entry that decides on a set of command lines.

use std::collections::BTreeMap;

use super::entry::Entry;
use crate::policy::rules::Effect;

/// A decision, and the entry that it comes from.
#[derive(Debug, Clone, Copy)]
pub(super) struct Verdict {
    /// `None` if nothing decides, or nothing certain.
    pub effect: Option<Effect>,
    /// The number of the entry that decides.
    pub by: Option<usize>,
}

impl Verdict {
    pub fn grants(self) -> bool {
        matches!(self.effect, Some(Effect::Allow | Effect::Ask))
    }
}

/// A file or a part of it, which decides for itself.
type Deciding<'e> = (&'e str, Option<&'e str>);

/// Decides on command lines that all of `certain` mean, and that some of `perhaps` may mean. The result is the strictest that can
/// come out, whichever of these do.
///
/// Of several files the strictest decision holds, since nothing says which of them counts more; of parts of a file as well. With `keeps_stricter`, an entry that is
/// overruled by a later one holds all the same, unless it is the wider one.
pub(super) fn decide(entries: &[Entry], certain: &[usize], perhaps: &[usize], keeps_stricter: bool) -> Verdict {
    let mut files: BTreeMap<Deciding<'_>, (Vec<usize>, Vec<usize>)> = BTreeMap::new();
    let file = |number: &usize| match entries.get(*number) {
        Some(entry) => (&*entry.place.file, entry.part.as_deref()),
        None => ("", None),
    };
    for number in certain {
        files.entry(file(number)).or_default().0.push(*number);
    }
    for number in perhaps {
        files.entry(file(number)).or_default().1.push(*number);
    }
    let strictest = files.values().filter_map(|(certain, perhaps)| in_file(entries, certain, perhaps, keeps_stricter));
    match strictest.max_by_key(|(effect, _)| *effect) {
        Some((effect, by)) if certain.iter().any(|number| file(number).1.is_none()) => {
            Verdict { effect: Some(effect), by: Some(by) }
        }
        Some((_, by)) => Verdict { effect: None, by: Some(by) },
        None => Verdict { effect: None, by: None },
    }
}

/// The strictest decision of one file, and its entry.
fn in_file(entries: &[Entry], certain: &[usize], perhaps: &[usize], keeps_stricter: bool) -> Option<(Effect, usize)> {
    let of = |number: &usize| entries.get(*number).map(|entry| (*number, entry));
    let decides = certain.iter().filter_map(of).max_by_key(|(_, entry)| (entry.priority, entry.effect));
    let above = perhaps.iter().filter_map(of).filter(|(_, entry)| match decides {
        Some((_, other)) => entry.priority >= other.priority,
        None => true,
    });
    let overruled = certain.iter().chain(perhaps).filter_map(of).filter(|(_, entry)| match decides {
        Some((_, other)) => keeps_stricter && entry.priority < other.priority && !entry.pattern.covers(&other.pattern),
        None => false,
    });
    let all = decides.into_iter().chain(above).chain(overruled);
    all.map(|(number, entry)| (entry.effect, number)).max_by_key(|(effect, _)| *effect)
}
