//! Brace expansion: `{a,b}` and `{1..9}` make several words of one, on its text, before anything else.
//!
//! bash takes a `{` for an expansion if its `}` follows and there is a `,` or `..` between them at their own level. Where it
//! would pair braces differently than by nesting (`{a},b}`), the word is refused.

use std::collections::HashMap;

use super::bounds::{MOST_BRACE_BYTES, MOST_LEVELS, MOST_WORDS};
use super::quoting::Atom;
use super::tokens::bare;
use super::unreadable::Reason;

/// How much more the braces of a line may make.
pub struct Budget {
    pub words: usize,
    pub bytes: usize,
}

impl Budget {
    pub fn new() -> Self {
        Self { words: MOST_WORDS, bytes: MOST_BRACE_BYTES }
    }
}

/// A pair of braces that is an expansion: the place of `}`, and of each `,` at its level, none in a sequence.
struct Pair {
    close: usize,
    commas: Vec<usize>,
}

/// The pairs of a word, by the place of `{`.
pub fn has_expansion(atoms: &[Atom]) -> Result<bool, Reason> {
    Ok(!pairs(atoms)?.is_empty())
}

/// The words that a word makes, in order. An alternative without anything in it makes none.
pub fn expand(atoms: Vec<Atom>, budget: &mut Budget) -> Result<Vec<Vec<Atom>>, Reason> {
    let pairs = pairs(&atoms)?;
    if pairs.is_empty() {
        budget.words = budget.words.checked_sub(1).ok_or(Reason::TooManyWords)?;
        return Ok(vec![atoms]);
    }
    let mut words = Expansion { atoms: &atoms, pairs, budget }.range(0, atoms.len(), 0)?;
    budget.bytes -= words.iter().flatten().map(size).sum::<usize>();
    // Empty ones were made, too.
    budget.words = budget.words.checked_sub(words.len()).ok_or(Reason::TooManyWords)?;
    words.retain(|word| !word.is_empty());
    Ok(words)
}

fn pairs(atoms: &[Atom]) -> Result<HashMap<usize, Pair>, Reason> {
    let mut pairs = HashMap::new();
    // The open braces: their place, the commas at their level, and whether `..` is there.
    let mut open: Vec<(usize, Vec<usize>, bool)> = Vec::new();
    let mut has_opened = false;
    let mut before = None;
    for (at, character) in atoms.iter().map(bare).enumerate() {
        match (character, open.last_mut()) {
            (Some('{'), _) => {
                open.push((at, Vec::new(), false));
                has_opened = true;
            }
            (Some('}'), None) if has_opened => return Err(Reason::Braces("a `}` without its `{`")),
            (Some('}'), Some(_)) => {
                if let Some((begin, commas, _)) = open.pop().filter(|(_, commas, dots)| *dots || !commas.is_empty()) {
                    pairs.insert(begin, Pair { close: at, commas });
                }
            }
            (Some(','), Some((_, commas, _))) => commas.push(at),
            (Some('.'), Some((_, _, dots))) if before == Some('.') => *dots = true,
            _ => {}
        }
        before = character;
    }
    Ok(pairs)
}

fn size(atom: &Atom) -> usize {
    match atom {
        Atom::Bare(character) => character.len_utf8(),
        Atom::Quoted(text) => text.len() + 1,
        Atom::Variable { name, .. } => name.len() + 1,
    }
}

struct Expansion<'a> {
    atoms: &'a [Atom],
    pairs: HashMap<usize, Pair>,
    budget: &'a Budget,
}

impl Expansion<'_> {
    /// The words that the atoms from `from` to `to` make. Every count is checked before the words are made.
    fn range(&self, from: usize, to: usize, level: usize) -> Result<Vec<Vec<Atom>>, Reason> {
        if level > MOST_LEVELS {
            return Err(Reason::TooManyLevels);
        }
        let mut words: Vec<Vec<Atom>> = vec![Vec::new()];
        let mut bytes = 0_usize;
        let mut at = from;
        while let Some(atom) = self.atoms.get(at).filter(|_| at < to) {
            if let Some(pair) = self.pairs.get(&at) {
                let choices = self.choices(at, pair, level)?;
                let of_choices: usize = choices.iter().flatten().map(size).sum();
                bytes = bytes.saturating_mul(choices.len()).saturating_add(of_choices.saturating_mul(words.len()));
                self.check(words.len().saturating_mul(choices.len()), bytes)?;
                words = match (choices.as_slice(), words.as_mut_slice()) {
                    ([only], _) => {
                        words.iter_mut().for_each(|word| word.extend_from_slice(only));
                        words
                    }
                    (_, [only]) if only.is_empty() => choices,
                    _ => words
                        .iter()
                        .flat_map(|word| choices.iter().map(move |choice| [word.as_slice(), choice].concat()))
                        .collect(),
                };
                at = pair.close + 1;
            } else {
                bytes = bytes.saturating_add(size(atom).saturating_mul(words.len()));
                self.check(words.len(), bytes)?;
                words.iter_mut().for_each(|word| word.push(atom.clone()));
                at += 1;
            }
        }
        Ok(words)
    }

    fn check(&self, words: usize, bytes: usize) -> Result<(), Reason> {
        if words > self.budget.words {
            return Err(Reason::TooManyWords);
        }
        if bytes > self.budget.bytes { Err(Reason::LongBraces) } else { Ok(()) }
    }

    fn choices(&self, open: usize, pair: &Pair, level: usize) -> Result<Vec<Vec<Atom>>, Reason> {
        if pair.commas.is_empty() {
            return self.sequence(self.atoms.get(open + 1..pair.close).unwrap_or_default());
        }
        let mut choices = Vec::new();
        let mut bytes = 0_usize;
        let mut begin = open + 1;
        for end in pair.commas.iter().copied().chain([pair.close]) {
            let made = self.range(begin, end, level + 1)?;
            bytes = bytes.saturating_add(made.iter().flatten().map(size).sum());
            self.check(choices.len().saturating_add(made.len()), bytes)?;
            choices.extend(made);
            begin = end + 1;
        }
        Ok(choices)
    }

    /// Reads `1..9` or `a..e`, and the step after them.
    fn sequence(&self, atoms: &[Atom]) -> Result<Vec<Vec<Atom>>, Reason> {
        let refused = || Reason::Braces("a range that is not `{1..9}` or `{a..e}`");
        let text: String = atoms.iter().map(bare).collect::<Option<_>>().ok_or_else(refused)?;
        let mut parts = text.split("..");
        let (Some(first), Some(last), step, None) = (parts.next(), parts.next(), parts.next(), parts.next()) else {
            return Err(refused());
        };
        let step = step.map_or(Some(1), number).filter(|step| *step > 0).ok_or_else(refused)?;
        let letters = letter(first).zip(letter(last)).filter(|(a, b)| a.is_ascii_lowercase() == b.is_ascii_lowercase());
        let of_letters = letters.map(|(a, b)| (u32::from(a), u32::from(b)));
        let (first, last) = of_letters.or_else(|| number(first).zip(number(last))).ok_or_else(refused)?;
        let count = usize::try_from(first.abs_diff(last) / step).unwrap_or(usize::MAX).saturating_add(1);
        self.check(count, count)?;
        let steps = (0..=first.abs_diff(last) / step).map(|index| index * step);
        let values = steps.map(|offset| if first <= last { first + offset } else { first - offset });
        let spelled = |value: u32| match letters {
            Some(_) => char::from_u32(value).map(Atom::Bare).into_iter().collect(),
            None => value.to_string().chars().map(Atom::Bare).collect(),
        };
        Ok(values.map(spelled).collect())
    }
}

/// A plain decimal number: no sign, no zero in front.
fn number(text: &str) -> Option<u32> {
    let is_plain = (1..=9).contains(&text.len()) && text.chars().all(|c| c.is_ascii_digit());
    let is_padded = text.len() > 1 && text.starts_with('0');
    text.parse().ok().filter(|_| is_plain && !is_padded)
}

fn letter(text: &str) -> Option<char> {
    let mut characters = text.chars();
    characters.next().filter(|first| first.is_ascii_alphabetic() && characters.next().is_none())
}
