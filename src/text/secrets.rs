//! Values that must not be shown, found in a text however they are spelled there.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

use memchr::memmem::Finder;

use super::{escape, quote, quote_to_judge, write_json_string};

/// A shorter value is not searched for: to replace it wherever it stands would make texts unreadable. Nor is the beginning of a
/// value that is shorter.
pub(crate) const SHORTEST: usize = 4;
/// The most values of one text that are replaced as the caller wants. Further ones become [`SHORT`], so that no text
/// becomes much longer.
const MOST: usize = 1000;
const SHORT: &str = "***";
/// The end of a text that was cut.
const CUT: char = '…';

/// Values that must not be shown.
///
/// A text may hold a value as it is, or escaped and quoted by [`escape`], [`quote`] and the like, once or twice: a search for the
/// value alone would not find that.
#[derive(Clone, Default)]
pub(crate) struct Secrets {
    /// Each spelling, with its value.
    spelled: Vec<(String, String)>,
}

impl Secrets {
    /// Those among the values that are not too short.
    pub(crate) fn new(values: impl IntoIterator<Item = String>) -> Self {
        let mut spelled = Vec::new();
        for value in values.into_iter().filter(|value| value.len() >= SHORTEST) {
            let mut spellings = vec![value.clone()];
            for _ in 0..2 {
                for known in spellings.clone() {
                    let more = SPELLINGS.map(|spell| spell(&known));
                    spellings.extend(more);
                }
                spellings.sort();
                spellings.dedup();
            }
            spelled.extend(spellings.into_iter().map(|spelling| (spelling, value.clone())));
        }
        spelled.sort();
        spelled.dedup_by(|(one, _), (other, _)| one == other);
        Self { spelled }
    }

    /// Whether there is nothing to replace.
    pub(crate) fn are_none(&self) -> bool {
        self.spelled.is_empty()
    }

    /// The text with [`SHORT`] wherever a value stands.
    pub(crate) fn hide<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.replace(text, |_| SHORT.to_owned())
    }

    /// The text with what `stand_in` gives for it wherever a value stands, or the beginning of one where the text was cut.
    pub(crate) fn replace<'t>(&self, text: &'t str, stand_in: impl Fn(&str) -> String) -> Cow<'t, str> {
        let mut found: Vec<_> = self.spelled.iter().map(|(spelling, _)| Occurrences::new(spelling, text)).collect();
        // The next place of each spelling that has one.
        let place_of = |number: usize, found: &Occurrences<'_>| found.next.map(|place| Reverse((place, number)));
        let mut places: BinaryHeap<_> =
            found.iter().enumerate().filter_map(|(number, found)| place_of(number, found)).collect();
        let (mut hidden, mut from, mut replaced) = (String::new(), 0, 0);
        while let Some(&Reverse((start, _))) = places.peek() {
            // Values may overlap, and then all of them goes.
            let (mut end, mut longest) = (start, "");
            while let Some(&Reverse((place, number))) =
                places.peek().filter(|Reverse((place, _))| *place < end.max(start + 1))
            {
                places.pop();
                if let (Some(found), Some((spelling, value))) = (found.get_mut(number), self.spelled.get(number)) {
                    end = end.max(place + spelling.len());
                    longest = if value.len() > longest.len() { value } else { longest };
                    found.advance();
                    places.extend(place_of(number, found));
                }
            }
            replaced += 1;
            hidden += text.get(from..start).unwrap_or_default();
            hidden += &if replaced > MOST { SHORT.to_owned() } else { stand_in(longest) };
            from = end;
        }
        let hidden = match from {
            0 => Cow::Borrowed(text),
            _ => Cow::Owned(hidden + text.get(from..).unwrap_or_default()),
        };
        self.without_beginnings(hidden, replaced, stand_in)
    }

    /// The same for what is left of a value where the text was cut in the middle of it; `replaced` values were replaced before.
    fn without_beginnings<'t>(
        &self,
        text: Cow<'t, str>,
        mut replaced: usize,
        stand_in: impl Fn(&str) -> String,
    ) -> Cow<'t, str> {
        if self.are_none() || !text.contains(CUT) {
            return text;
        }
        let mut beginnings: Vec<_> =
            self.spelled.iter().map(|(spelling, value)| Beginning::new(spelling, value, text.len())).collect();
        let (mut hidden, mut from, mut read) = (String::new(), 0, 0);
        for (cut, _) in text.match_indices(CUT) {
            let before = text.get(from..cut).unwrap_or_default();
            let kept = before.strip_suffix(['"', '`']).unwrap_or(before);
            let end = from + kept.len();
            let (mut length, mut value) = (0, "");
            for beginning in &mut beginnings {
                beginning.read(text.as_bytes().get(read..end).unwrap_or_default());
                if beginning.length > length {
                    (length, value) = (beginning.length, beginning.value);
                }
            }
            read = end;
            if length >= SHORTEST {
                replaced += 1;
                hidden += kept.get(..kept.len() - length).unwrap_or_default();
                hidden += &if replaced > MOST { SHORT.to_owned() } else { stand_in(value) };
                hidden += before.get(kept.len()..).unwrap_or_default();
                (from, read) = (cut, cut);
                beginnings.iter_mut().for_each(|beginning| beginning.length = 0);
            }
        }
        if hidden.is_empty() { text } else { Cow::Owned(hidden + text.get(from..).unwrap_or_default()) }
    }

    /// The length of the longest spelling, in bytes.
    pub(crate) fn longest(&self) -> usize {
        self.spelled.iter().map(|(spelling, _)| spelling.len()).max().unwrap_or(0)
    }
}

/// The places of a spelling in a text, those that overlap too.
///
/// Clients choose both, so each byte of the text may be read only once. Where nothing of the spelling has been read yet, the
/// faster search goes on.
struct Occurrences<'s> {
    text: &'s [u8],
    finder: Finder<'s>,
    beginning: Beginning<'s>,
    /// How much of the text was read.
    read: usize,
    /// The next place.
    next: Option<usize>,
}

impl<'s> Occurrences<'s> {
    fn new(spelling: &'s str, text: &'s str) -> Self {
        let (text, finder) = (text.as_bytes(), Finder::new(spelling));
        let next = finder.find(text);
        // Most spellings are nowhere, and need no borders.
        let beginning = Beginning::new(if next.is_some() { spelling } else { "" }, "", text.len());
        let mut found = Self { text, finder, beginning, read: 0, next };
        if let Some(place) = next {
            found.stand_behind(place);
        }
        found
    }

    /// Moves on to the next place.
    fn advance(&mut self) {
        self.next = self.find();
    }

    fn find(&mut self) -> Option<usize> {
        let length = self.beginning.spelling.len();
        while self.beginning.length > 0 {
            self.beginning.read_byte(*self.text.get(self.read)?);
            self.read += 1;
            if self.beginning.length == length {
                return self.read.checked_sub(length);
            }
        }
        let place = self.read + self.finder.find(self.text.get(self.read..)?)?;
        self.stand_behind(place);
        Some(place)
    }

    fn stand_behind(&mut self, place: usize) {
        self.beginning.length = self.beginning.spelling.len();
        self.read = place + self.beginning.length;
    }
}

/// The length of a spelling's beginning at the end of the text so far: the search of Knuth, Morris and Pratt, which
/// reads each byte once.
struct Beginning<'s> {
    spelling: &'s [u8],
    value: &'s str,
    /// For each beginning, the length of the longest shorter one that it ends with.
    borders: Vec<usize>,
    length: usize,
}

impl<'s> Beginning<'s> {
    /// Of a spelling that is searched for in a text of this length.
    fn new(spelling: &'s str, value: &'s str, text: usize) -> Self {
        let spelling = spelling.as_bytes();
        let spelling = spelling.get(..=text).unwrap_or(spelling);
        let mut beginning = Self { spelling, value, borders: vec![0], length: 0 };
        for byte in spelling.iter().skip(1) {
            beginning.read_byte(*byte);
            beginning.borders.push(beginning.length);
        }
        beginning.length = 0;
        beginning
    }

    fn read(&mut self, bytes: &[u8]) {
        // What stands further in front is no part of it.
        let last = bytes.len().checked_sub(self.spelling.len()).and_then(|start| bytes.get(start..));
        self.length = if last.is_some() { 0 } else { self.length };
        last.unwrap_or(bytes).iter().for_each(|byte| self.read_byte(*byte));
    }

    fn read_byte(&mut self, byte: u8) {
        while self.length > 0 && self.spelling.get(self.length) != Some(&byte) {
            self.length = self.borders.get(self.length - 1).copied().unwrap_or(0);
        }
        self.length += usize::from(self.spelling.get(self.length) == Some(&byte));
    }
}

/// How a value may be spelled by what makes the texts.
const SPELLINGS: [fn(&str) -> String; 6] = [
    |value| escape(value).into_owned(),
    |value| inside(&quote(value, usize::MAX).to_string()),
    |value| inside(&quote_to_judge(value)),
    |value| inside(&format!("{value:?}")),
    |value| {
        let mut json = Vec::new();
        write_json_string(&mut json, value);
        inside(&String::from_utf8_lossy(&json))
    },
    |value| {
        // In a URI.
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte);
        let spell = |byte| if is_plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
        value.bytes().map(spell).collect()
    },
];

/// A text without the quotes around it.
fn inside(quoted: &str) -> String {
    quoted.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(quoted).to_owned()
}

impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Secrets").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hidden(values: &[&str], text: &str) -> String {
        Secrets::new(values.iter().map(|&value| value.to_owned()))
            .replace(text, |value| format!("<{}>", value.len()))
            .into_owned()
    }

    #[test]
    fn a_value_is_found_however_it_is_spelled() {
        let value = "pl\"an\\t\n\u{202e}ed'    \u{5d0}";
        let quoted = quote(value, usize::MAX).to_string();
        for text in [
            value.to_owned(),
            escape(value).into_owned(),
            quoted.clone(),
            quote(&quoted, usize::MAX).to_string(),
            quote(&escape(value), usize::MAX).to_string(),
            quote_to_judge(value),
            format!("{value:?}"),
            serde_json::to_string(value).unwrap(),
            format!("file:///{}", SPELLINGS[5](value)),
        ] {
            let hidden = hidden(&[value], &format!("a {text} b"));
            assert!(hidden.starts_with("a ") && hidden.ends_with(" b"), "{hidden}");
            assert!(hidden.contains(&format!("<{}>", value.len())) && !hidden.contains("pl"), "{text}: {hidden}");
        }
    }

    #[test]
    fn values_that_overlap_are_hidden_as_one_and_short_ones_are_not() {
        assert_eq!(hidden(&["pass", "password", "abc"], "--a=password abc pass"), "--a=<8> abc <4>");
        assert_eq!(hidden(&["abcd", "cdefgh", "gh123"], "xabcdefgh123y"), "x<6>y");
        assert_eq!(hidden(&["aaaa"], "baaaaaaaaab"), "b<4>b");
        assert_eq!(hidden(&["ababac"], "ababababac ababac"), "abab<6> <6>");
        assert_eq!(hidden(&["abab"], "xababab abab y"), "x<4> <4> y");
        assert_eq!(hidden(&["größe"], "größe größ größe"), "<7> größ <7>");
        assert!(matches!(Secrets::new(["value".to_owned()]).hide("other"), Cow::Borrowed("other")));
    }

    #[test]
    fn the_beginning_of_a_value_that_was_cut_is_hidden() {
        let value = "s".repeat(100);
        assert_eq!(hidden(&[&value], &format!("not `a {}…` b", "s".repeat(60))), "not `a <100>…` b");
        assert_eq!(hidden(&["planted"], "x=\"a plan\"…+3 y=\"plant\""), "x=\"a <7>\"…+3 y=\"plant\"");
        assert_eq!(hidden(&["planted"], "pla… … planted…"), "pla… … <7>…");
    }

    #[test]
    fn many_cuts_are_looked_at_once_however_long_the_values_are() {
        let value = format!("{}b", "a".repeat(100_000));
        let almost = format!("{}c…", "a".repeat(100_000));
        let text = format!("{}{almost}aaab…aaaa\"…", "…".repeat(700_000));
        assert_eq!(hidden(&[&value], &text), format!("{}{almost}aaab…<100001>\"…", "…".repeat(700_000)));
        let many = "aaaa…".repeat(2 * MOST);
        let expected = ["<100001>…".repeat(MOST), format!("{SHORT}…").repeat(MOST)].concat();
        assert_eq!(hidden(&[&value], &many), expected);
        assert_eq!(hidden(&["ababac"], "ababab… xababa… aba…"), "ab<6>… x<6>… aba…");
        // A value may hold the mark itself.
        assert_eq!(hidden(&["ab…cd…ef"], "ab…cd… ab…x ab…"), "<12>… ab…x ab…");
    }

    #[test]
    fn values_that_stand_at_every_character_are_looked_at_once() {
        let text = format!("b{}b", "a".repeat(200_000));
        let values: Vec<String> = (20_000..20_008).map(|length| "a".repeat(length)).collect();
        assert_eq!(Secrets::new(values).hide(&text), format!("b{SHORT}b"));
        // Most spellings of most values are nowhere.
        let odd = (1000..1032).map(|number| format!("{number}'\"\\\t\u{202e}\u{5d0}"));
        let secrets = Secrets::new(odd.chain(["abcd".to_owned()]));
        assert_eq!(secrets.hide(&"abcd.".repeat(100_000)), "***.".repeat(100_000));
    }

    #[test]
    fn many_values_take_no_more_room_than_they_had_and_little_time() {
        let text = "prodtest".repeat(200_000);
        let secrets = Secrets::new(["prod", "test", "none of it"].map(str::to_owned));
        let hidden = secrets.replace(&text, |_| "x".repeat(71));
        assert!(hidden.len() <= text.len() + 71 * MOST, "{}", hidden.len());
        assert!(!hidden.contains("prod") && !hidden.contains("test"));
    }
}
