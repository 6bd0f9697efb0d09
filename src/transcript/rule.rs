//! A rule about what may differ between a transcript and what was played.
//!
//! A rule names places by a JSON pointer (RFC 6901) in which `*` is any one step and `**` any number of them. If a rule
//! holds at a place, the actual value there is replaced by the expected one; everything else stays as it came.

use std::fmt;

use super::Problem;

/// One rule, as it is written after `match:` in a header or on a line of a file next to the transcript.
///
/// ```
/// use allowexec::transcript::Rule;
///
/// let rule = Rule::parse("tools/call /result/content/*/text string")?;
/// assert_eq!(rule.to_string(), "tools/call /result/content/*/text string");
/// # Ok::<(), allowexec::transcript::Problem>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// The method of the message, or of the request that it answers; `None` means any.
    method: Option<String>,
    pointer: String,
    pub(super) how: How,
}

/// The kind of difference that a rule allows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum How {
    /// Anything, or nothing.
    Ignore,
    /// Any string.
    String,
    /// Any number.
    Number,
    /// An array with the same elements.
    Unordered,
    /// The expected value with possible further members, at any depth.
    AtLeast,
    /// Any string that the server makes up in each session. Where the client sends it back, the one that came is sent.
    Fresh,
    /// The value that came at this pointer for the message on this line of the file.
    Same { line: usize, pointer: String },
}

impl How {
    /// All but `same`, which has more than a word.
    const OF_ONE_WORD: [Self; 6] =
        [Self::Ignore, Self::String, Self::Number, Self::Unordered, Self::AtLeast, Self::Fresh];

    fn word(&self) -> &'static str {
        match self {
            Self::Ignore => "ignore",
            Self::String => "string",
            Self::Number => "number",
            Self::Unordered => "unordered",
            Self::AtLeast => "at-least",
            Self::Fresh => "fresh",
            Self::Same { .. } => "same",
        }
    }

    fn from_word(word: &str) -> Option<Self> {
        Self::OF_ONE_WORD.into_iter().find(|how| how.word() == word)
    }
}

/// Lists the words that can follow the pointer of a rule, for people.
pub(super) fn all_words() -> String {
    let words: Vec<String> = How::OF_ONE_WORD.iter().map(|how| format!("`{}`", how.word())).collect();
    format!("{} or `same LINE [POINTER]`", words.join(", "))
}

/// How many `**` the pointer of a rule may have. Each may stand for any number of steps, so that the combinations of more of them
/// would keep a replay busy for hours.
pub(super) const MOST_STARS: usize = 2;

impl Rule {
    /// Parses `[METHOD] POINTER ignore|string|number|unordered|at-least|fresh|same LINE [POINTER]`.
    ///
    /// # Errors
    /// [`Problem::NoRule`] for anything else.
    pub fn parse(text: &str) -> Result<Self, Problem> {
        let no_rule = || Problem::NoRule { found: text.to_owned() };
        let mut words: Vec<&str> = text.split_ascii_whitespace().collect();
        let method = words.first().filter(|word| !word.starts_with('/')).map(|&word| word.to_owned());
        if method.is_some() {
            words.remove(0);
        }
        let (pointer, how) = match words[..] {
            [pointer, word] => (pointer, How::from_word(word).ok_or_else(no_rule)?),
            [pointer, "same", line] => {
                (pointer, How::Same { line: number(line).ok_or_else(no_rule)?, pointer: pointer.to_owned() })
            }
            [pointer, "same", line, other] if other.starts_with('/') => {
                (pointer, How::Same { line: number(line).ok_or_else(no_rule)?, pointer: other.to_owned() })
            }
            _ => return Err(no_rule()),
        };
        if !pointer.starts_with('/') {
            return Err(no_rule());
        }
        if pointer.split('/').filter(|step| *step == "**").count() > MOST_STARS {
            return Err(Problem::ManyStars { found: text.to_owned() });
        }
        Ok(Self { method, pointer: pointer.to_owned(), how })
    }

    /// Parses the file next to a transcript: a rule on each line; blank lines and lines that begin with `#` are
    /// ignored.
    ///
    /// # Errors
    /// The first line that is not a rule, counted from 1, and what is wrong with it.
    pub fn parse_file(text: &str) -> Result<Vec<Self>, (usize, Problem)> {
        let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'));
        lines.map(|(index, line)| Self::parse(line).map_err(|problem| (index + 1, problem))).collect()
    }

    fn new(method: Option<&str>, pointer: &str, how: How) -> Self {
        Self { method: method.map(str::to_owned), pointer: pointer.to_owned(), how }
    }

    /// Returns the rules about differences in any session.
    pub(super) fn usual() -> Vec<Self> {
        let mut usual = Vec::new();
        for method in ["initialize", "server/discover"] {
            usual.push(Self::new(Some(method), "/result/capabilities", How::AtLeast));
            usual.push(Self::new(Some(method), "/result/serverInfo", How::Ignore));
            usual.push(Self::new(Some(method), "/result/instructions", How::Ignore));
        }
        for (place, how) in [("progress", How::Number), ("total", How::Number), ("message", How::String)] {
            usual.push(Self::new(Some("notifications/progress"), &format!("/params/{place}"), how));
        }
        usual
    }

    /// Returns the rules about strings that the protocol itself has servers make up. They are never the same, so these
    /// rules hold with [`Strictness::Strict`](super::Strictness::Strict), too.
    pub(super) fn usually_fresh() -> Vec<Self> {
        let anywhere =
            ["/id", "/result/requestState", "/result/taskId", "/result/task/taskId"].map(|place| (None, place));
        let in_method = [
            ("notifications/tasks", "/params/taskId"),
            ("notifications/tasks/status", "/params/taskId"),
            ("elicitation/create", "/params/elicitationId"),
        ];
        let in_method = in_method.map(|(method, place)| (Some(method), place));
        anywhere.into_iter().chain(in_method).map(|(method, place)| Self::new(method, place, How::Fresh)).collect()
    }

    pub(super) fn is_fresh(&self) -> bool {
        self.how == How::Fresh
    }

    /// Whether it is about messages of this method.
    pub(super) fn applies_to(&self, method: Option<&String>) -> bool {
        self.method.is_none() || self.method.as_ref() == method
    }

    /// The steps of its pointer.
    pub(super) fn steps(&self) -> Vec<String> {
        self.pointer.split('/').skip(1).map(unescaped).collect()
    }
}

fn number(word: &str) -> Option<usize> {
    word.parse().ok().filter(|number| *number > 0)
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(method) = &self.method {
            write!(f, "{method} ")?;
        }
        write!(f, "{} ", self.pointer)?;
        f.write_str(self.how.word())?;
        match &self.how {
            How::Same { line, pointer } if *pointer == self.pointer => write!(f, " {line}"),
            How::Same { line, pointer } => write!(f, " {line} {pointer}"),
            How::Ignore | How::String | How::Number | How::Unordered | How::AtLeast | How::Fresh => Ok(()),
        }
    }
}

fn unescaped(step: &str) -> String {
    step.replace("~1", "/").replace("~0", "~")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_that_is_none_is_refused() {
        for text in ["", "ignore", "/a", "/a any", "a ignore", "m /a same", "/a same 0", "/a same 1 b", "m n /a ignore"]
        {
            assert!(Rule::parse(text).is_err(), "{text}");
        }
        assert!(Rule::parse("/**/a/**/b ignore").is_ok());
        let said = Rule::parse("m /**/a/**/b/** ignore").unwrap_err().to_string();
        assert_eq!(said, "expected at most 2 `**` in a pointer, found `m /**/a/**/b/** ignore`");
        let file = "# why\n\n/a ignore\nm /b same 3\n";
        let rules = Rule::parse_file(file).unwrap();
        assert_eq!(rules.iter().map(ToString::to_string).collect::<Vec<_>>(), ["/a ignore", "m /b same 3"]);
        assert_eq!(Rule::parse_file("/a ignore\nx\n").unwrap_err().0, 2);
        let said = Rule::parse("/a any").unwrap_err().to_string();
        let expected = "expected `[METHOD] POINTER` and `ignore`, `string`, `number`, `unordered`, `at-least`, `fresh` or \
                        `same LINE [POINTER]`, found `/a any`";
        assert_eq!(said, expected);
    }
}
