//! `[tmp]` and `[version]`: text that changes from run to run, filled in before playing and removed from what came.
//!
//! Only this file normalises, for tests and replay alike. Everything else must be the same in each run.

use std::io;
use std::path::Path;

use serde_json::Value;

const TMP: &str = "[tmp]";
const VERSION: &str = "[version]";
/// The end of the keys under which a server says what it is.
const INFO: &str = "serverInfo";

/// The values of the placeholders in one play.
#[derive(Debug, Clone, Default)]
pub struct Placeholders {
    /// The canonical spelling of the temporary directory.
    tmp: Option<String>,
    /// Every spelling of it that may come back, the longest first.
    spellings: Vec<String>,
    /// Whether a spelling counts only as a whole path or the beginning of one.
    only_paths: bool,
    /// Whether the versions of servers stay as they came.
    keeps_versions: bool,
}

impl Placeholders {
    /// Only `[version]`: `[tmp]` is sent and shown unchanged.
    #[must_use]
    pub fn version_only() -> Self {
        Self::default()
    }

    /// `[version]`, and `[tmp]` for this directory, which must exist. Its canonical spelling is filled in. These
    /// spellings are removed: as given and canonical, plain and in JSON, with either slash.
    ///
    /// # Errors
    /// The file system's error for the path; `InvalidInput` if it is not UTF-8.
    pub fn with_tmp(directory: &Path) -> io::Result<Self> {
        let no_utf8 = || io::Error::new(io::ErrorKind::InvalidInput, format!("`{}` is not UTF-8", directory.display()));
        let canonical = crate::files::canonicalize(directory)?;
        let canonical = canonical.to_str().ok_or_else(no_utf8)?;
        let given = directory.to_str().ok_or_else(no_utf8)?;
        let mut spellings = Vec::new();
        for path in [canonical, given] {
            // A result's YAML can quote a path, and JSON then quotes that text again.
            let once = in_json(path);
            spellings.extend([in_json(&once), once, path.replace('\\', "/"), path.to_owned()]);
        }
        spellings.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        spellings.dedup();
        Ok(Self { tmp: Some(canonical.to_owned()), spellings, ..Self::default() })
    }

    /// `[version]`, and `[tmp]` for the directory that a recorded server runs in, so that the recording plays in another.
    ///
    /// A project's directory may have a short name that is part of other words, so it counts only as a whole path or
    /// the beginning of one. The root of the file system is in every path, so it is never replaced.
    ///
    /// # Errors
    /// As [`Placeholders::with_tmp`].
    pub fn of_recording(directory: &Path) -> io::Result<Self> {
        if directory.parent().is_none() {
            return Ok(Self::version_only());
        }
        Ok(Self { only_paths: true, ..Self::with_tmp(directory)? })
    }

    /// The same without `[version]`: the version of another program than this one is part of what it answers.
    #[must_use]
    pub fn keeping_versions(self) -> Self {
        Self { keeps_versions: true, ..self }
    }

    /// Fills the directory into plain text: arguments, variables, files.
    #[must_use]
    pub fn fill(&self, text: &str) -> String {
        self.tmp.as_ref().map_or_else(|| text.to_owned(), |tmp| text.replace(TMP, tmp))
    }

    /// Fills the directory into a line of JSON, escaped as within a string; the line need not be valid.
    #[must_use]
    pub fn fill_json(&self, line: &str) -> String {
        self.tmp.as_ref().map_or_else(|| line.to_owned(), |tmp| line.replace(TMP, &in_json(tmp)))
    }

    /// Removes the directory from a line, and the version from every `serverInfo` in it unless versions are kept.
    #[must_use]
    pub fn hide(&self, line: &str) -> String {
        let line = self.hide_directory(line);
        if self.keeps_versions { line } else { hide_versions(&line) }
    }

    /// Removes only the directory from a text.
    #[must_use]
    pub fn hide_directory(&self, text: &str) -> String {
        let hide = |text: String, path: &String| {
            if self.only_paths { replace_paths(&text, path, TMP) } else { text.replace(path, TMP) }
        };
        self.spellings.iter().fold(text.to_owned(), hide)
    }
}

/// Replaces `path` unless it is part of a longer name: neither `/usr/app` nor `/application` contains `/app`.
fn replace_paths(text: &str, path: &str, with: &str) -> String {
    let mut replaced = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(path) {
        let (before, found) = rest.split_at(start);
        let after = found.get(path.len()..).unwrap_or_default();
        replaced.push_str(before);
        // A path can begin after an escape of JSON (`\n`) just as after a blank.
        let escape = ["\\n", "\\r", "\\t"].iter().any(|escape| replaced.ends_with(escape));
        let begins = escape || !replaced.ends_with(|c: char| is_in_name(c) || c == '.' || c == ']');
        let ends = !after.starts_with(is_in_name);
        replaced.push_str(if begins && ends { with } else { path });
        rest = after;
    }
    replaced.push_str(rest);
    replaced
}

fn is_in_name(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-')
}

fn in_json(text: &str) -> String {
    let quoted = Value::from(text).to_string();
    quoted.trim_start_matches('"').strip_suffix('"').unwrap_or(&quoted).to_owned()
}

/// Takes the version in every `serverInfo` for the wanted one if that is the placeholder, or if any version will do.
pub(super) fn same_versions(wanted: &Value, came: &mut Value, any_will_do: bool) {
    match (wanted, came) {
        (Value::Object(wanted), Value::Object(came)) => {
            for (name, came) in came {
                let Some(wanted) = wanted.get(name) else { continue };
                let versions = wanted.get("version").zip(came.get_mut("version")).filter(|_| name.ends_with(INFO));
                if let Some((Value::String(wanted), Value::String(came))) = versions {
                    if any_will_do || wanted == VERSION {
                        wanted.clone_into(came);
                    }
                }
                same_versions(wanted, came, any_will_do);
            }
        }
        (Value::Array(wanted), Value::Array(came)) => {
            wanted.iter().zip(came).for_each(|(wanted, came)| same_versions(wanted, came, any_will_do));
        }
        _ => {}
    }
}

/// Works on the text, because parsing and printing would sort the keys. Within a JSON string every quotation mark has a
/// backslash, so `serverInfo":` is always the end of a key.
fn hide_versions(line: &str) -> String {
    const KEY: &str = "serverInfo\":";
    let mut hidden = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(start) = rest.find(KEY) {
        let (before, after) = rest.split_at(start + KEY.len());
        hidden.push_str(before);
        let mut objects = serde_json::Deserializer::from_str(after).into_iter::<Value>();
        let info = objects.next().and_then(Result::ok);
        let (object, after) = after.split_at_checked(objects.byte_offset()).unwrap_or((after, ""));
        rest = after;
        match info.as_ref().and_then(|info| info.get("version")).and_then(Value::as_str) {
            Some(version) => hidden.push_str(&replace_value(object, "\"version\":", version)),
            None => hidden.push_str(object),
        }
    }
    hidden.push_str(rest);
    hidden
}

/// Replaces the string after `key` by `[version]`, if it is the one that the parser read.
fn replace_value(object: &str, key: &str, value: &str) -> String {
    let value = Value::from(value).to_string();
    let Some((before, after)) = object.split_once(key) else {
        return object.to_owned();
    };
    let blanks = after.len() - after.trim_start().len();
    match after.trim_start().strip_prefix(value.as_str()) {
        Some(tail) => format!("{before}{key}{}\"{VERSION}\"{tail}", " ".repeat(blanks)),
        None => object.to_owned(),
    }
}
