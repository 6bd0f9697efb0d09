//! The header: how the server is started, where the transcript plays, and what a replay must know.
//!
//! | key | may be repeated | value |
//! |---|---|---|
//! | `transcript` | no, first line | the version of the format, `1` |
//! | `scenario` | no | `area/name`, for fixtures |
//! | `version` | no | the version of the server that was recorded; a replay need not agree |
//! | `server` | yes | the command that starts the server, split like `args`; without it the server is allowexec |
//! | `directory` | no | the directory that the server was recorded in; a replay names it if a server does not start |
//! | `args` | yes | the server's arguments, split by shell rules (shlex: quotes, backslashes, `#` begins a comment) |
//! | `env` | yes | `NAME=value`, split in the same way; set in addition to PATH and HOME |
//! | `platform` | no | where it plays: `unix`, `windows`, `linux`, `macos`, one or more; without it, everywhere |
//! | `era` | no | `both`: the text is two sessions, see [`Transcript::parse_sessions`](super::Transcript::parse_sessions); no header of a session has it |
//! | `match` | yes | a rule for what may differ, see [`Rule`] |
//! | `setup` | yes | one file, directory, script or link to make in the temporary directory |

use std::fmt;

use super::comparison::shortened;
use super::{Problem, Rule, Setup};

/// How many characters of a first line are shown that is none.
const MOST_SHOWN: usize = 80;

const KEYS: &str = "`transcript`, `scenario`, `version`, `server`, `directory`, `args`, `env`, `platform`, `era`, \
                    `setup`, `match`";

/// The part before the first blank line. Its constructors check that each value fits on a line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Header {
    scenario: Option<String>,
    version: Option<String>,
    server: Vec<String>,
    directory: Option<String>,
    args: Vec<String>,
    env: Vec<(String, String)>,
    platforms: Vec<Platform>,
    setup: Vec<Setup>,
    rules: Vec<Rule>,
}

/// A family of systems or a system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Platform {
    /// Everything that Rust calls `unix`.
    Unix,
    /// Windows.
    Windows,
    /// Linux.
    Linux,
    /// macOS.
    Macos,
}

impl Platform {
    const ALL: [Self; 4] = [Self::Unix, Self::Windows, Self::Linux, Self::Macos];

    /// Whether this program runs there.
    #[must_use]
    pub fn is_here(self) -> bool {
        match self {
            Self::Unix => cfg!(unix),
            Self::Windows => cfg!(windows),
            Self::Linux => cfg!(target_os = "linux"),
            Self::Macos => cfg!(target_os = "macos"),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Unix => "unix",
            Self::Windows => "windows",
            Self::Linux => "linux",
            Self::Macos => "macos",
        }
    }
}

impl Header {
    /// The header with the name of a scenario, `area/name`.
    ///
    /// # Errors
    /// [`Problem::NotOneLine`] for a name that is empty, or holds control characters or outer blanks.
    pub fn with_scenario(self, scenario: &str) -> Result<Self, Problem> {
        Ok(Self { scenario: Some(plain("scenario", scenario)?), ..self })
    }

    /// The header with the version of the server that was recorded.
    ///
    /// # Errors
    /// As [`Header::with_scenario`].
    pub fn with_version(self, version: &str) -> Result<Self, Problem> {
        Ok(Self { version: Some(plain("version", version)?), ..self })
    }

    /// The header with one more word of the command that starts the server.
    ///
    /// # Errors
    /// As [`Header::with_arg`].
    pub fn with_server(mut self, word: &str) -> Result<Self, Problem> {
        self.server.push(self::word("server", word)?);
        Ok(self)
    }

    /// The header with the directory that the server was recorded in.
    ///
    /// # Errors
    /// As [`Header::with_scenario`].
    pub fn with_directory(self, directory: &str) -> Result<Self, Problem> {
        Ok(Self { directory: Some(plain("directory", directory)?), ..self })
    }

    /// The header with one more argument of the server.
    ///
    /// # Errors
    /// [`Problem::NotOneLine`] for one that holds a line break or a null character.
    pub fn with_arg(mut self, arg: &str) -> Result<Self, Problem> {
        self.args.push(word("args", arg)?);
        Ok(self)
    }

    /// The header with one more variable of the server's environment.
    ///
    /// # Errors
    /// [`Problem::NoAssignment`] for a name that is empty or holds `=`, [`Problem::NotOneLine`] for a line break or a
    /// null character in either.
    pub fn with_env(mut self, name: &str, value: &str) -> Result<Self, Problem> {
        if name.is_empty() || name.contains('=') {
            return Err(Problem::NoAssignment { found: format!("{name}={value}") });
        }
        self.env.push((word("env", name)?, word("env", value)?));
        Ok(self)
    }

    /// The header with one more platform.
    #[must_use]
    pub fn with_platform(mut self, platform: Platform) -> Self {
        if !self.platforms.contains(&platform) {
            self.platforms.push(platform);
        }
        self
    }

    /// The header with one more file, directory, script or link to make.
    #[must_use]
    pub fn with_setup(mut self, setup: Setup) -> Self {
        self.setup.push(setup);
        self
    }

    /// The header with one more rule for what may differ.
    #[must_use]
    pub fn with_rule(mut self, rule: Rule) -> Self {
        self.rules.push(rule);
        self
    }

    /// The scenario's name, `area/name`.
    #[must_use]
    pub fn scenario(&self) -> Option<&str> {
        self.scenario.as_deref()
    }

    /// The version of the server that was recorded.
    #[must_use]
    pub fn version(&self) -> Option<&str> {
        self.version.as_deref()
    }

    /// The command that starts the server, placeholders not filled; empty for allowexec.
    #[must_use]
    pub fn server(&self) -> &[String] {
        &self.server
    }

    /// The directory that the server was recorded in.
    #[must_use]
    pub fn directory(&self) -> Option<&str> {
        self.directory.as_deref()
    }

    /// The server's arguments, placeholders not filled.
    #[must_use]
    pub fn args(&self) -> &[String] {
        &self.args
    }

    /// The server's variables, placeholders not filled. Of two with one name the last counts.
    #[must_use]
    pub fn env(&self) -> &[(String, String)] {
        &self.env
    }

    /// Where it plays; empty for everywhere.
    #[must_use]
    pub fn platforms(&self) -> &[Platform] {
        &self.platforms
    }

    /// Returns what to make in the temporary directory, in this order.
    #[must_use]
    pub fn setup(&self) -> &[Setup] {
        &self.setup
    }

    /// Returns the rules about what may differ.
    #[must_use]
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// Whether the transcript plays where this program runs.
    #[must_use]
    pub fn plays_here(&self) -> bool {
        self.platforms.is_empty() || self.platforms.iter().any(|platform| platform.is_here())
    }

    pub(super) fn parse_first_line(line: &str) -> Result<(), Problem> {
        let line = line.trim_end_matches([' ', '\t']);
        match line.split_once(':') {
            Some(("transcript", version)) if version.trim_matches([' ', '\t']) == "1" => Ok(()),
            Some(("transcript", version)) => Err(Problem::UnknownVersion { found: version.trim().to_owned() }),
            _ if line.starts_with("{\"seq\":") => Err(Problem::AuditLog),
            _ => Err(Problem::MissingHeader { found: shortened(line, MOST_SHOWN).trim_end().to_owned() }),
        }
    }

    pub(super) fn parse_line(&mut self, line: &str) -> Result<(), Problem> {
        // A message has a colon too, but not behind a word.
        let is_key = |key: &str| key.chars().all(|character| character.is_alphanumeric() || "_-".contains(character));
        let Some((key, value)) = line.split_once(':').filter(|(key, _)| is_key(key)) else {
            return Err(Problem::NoKey { found: line.to_owned() });
        };
        let value = value.trim_matches([' ', '\t']);
        let repeated = match key {
            "transcript" => true,
            "scenario" => self.scenario.is_some(),
            "version" => self.version.is_some(),
            "directory" => self.directory.is_some(),
            "platform" => !self.platforms.is_empty(),
            _ => false,
        };
        if repeated {
            return Err(Problem::RepeatedKey { key: key.to_owned() });
        }
        let header = std::mem::take(self);
        *self = match key {
            "scenario" => header.with_scenario(value)?,
            "version" => header.with_version(value)?,
            "server" => split("server", value)?.iter().try_fold(header, |header, word| header.with_server(word))?,
            "directory" => header.with_directory(value)?,
            "args" => split("args", value)?.iter().try_fold(header, |header, arg| header.with_arg(arg))?,
            "env" => split("env", value)?.iter().try_fold(header, |header, pair| match pair.split_once('=') {
                Some((name, value)) => header.with_env(name, value),
                None => Err(Problem::NoAssignment { found: pair.clone() }),
            })?,
            "platform" => parse_platforms(value)?.into_iter().fold(header, Self::with_platform),
            "setup" => header.with_setup(Setup::parse(value)?),
            "match" => header.with_rule(Rule::parse(value)?),
            _ => {
                return Err(Problem::UnknownKey { key: key.to_owned(), known: KEYS.to_owned() });
            }
        };
        Ok(())
    }
}

impl fmt::Display for Header {
    /// Writes the lines in the order of the table above, each with its line end.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "transcript: 1")?;
        if let Some(scenario) = &self.scenario {
            writeln!(f, "scenario: {scenario}")?;
        }
        if let Some(version) = &self.version {
            writeln!(f, "version: {version}")?;
        }
        write_words(f, "server", self.server.iter().map(|word| quote(word)))?;
        if let Some(directory) = &self.directory {
            writeln!(f, "directory: {directory}")?;
        }
        write_words(f, "args", self.args.iter().map(|word| quote(word)))?;
        write_words(f, "env", self.env.iter().map(|(name, value)| quote(&format!("{name}={value}"))))?;
        if !self.platforms.is_empty() {
            let words: Vec<_> = self.platforms.iter().map(|platform| platform.name()).collect();
            writeln!(f, "platform: {}", words.join(" "))?;
        }
        self.setup.iter().try_for_each(|setup| writeln!(f, "setup: {setup}"))?;
        self.rules.iter().try_for_each(|rule| writeln!(f, "match: {rule}"))
    }
}

fn write_words(f: &mut fmt::Formatter<'_>, key: &str, words: impl Iterator<Item = String>) -> fmt::Result {
    let words: Vec<String> = words.collect();
    if words.is_empty() { Ok(()) } else { writeln!(f, "{key}: {}", words.join(" ")) }
}

fn parse_platforms(value: &str) -> Result<Vec<Platform>, Problem> {
    let unknown = |word: &str| Problem::UnknownPlatform { found: word.to_owned() };
    let parse = |word: &str| Platform::ALL.into_iter().find(|p| p.name() == word).ok_or_else(|| unknown(word));
    let platforms = value.split_ascii_whitespace().map(parse).collect::<Result<Vec<_>, _>>()?;
    if platforms.is_empty() { Err(unknown("")) } else { Ok(platforms) }
}

fn plain(key: &'static str, value: &str) -> Result<String, Problem> {
    let outer_blanks = value.trim() != value;
    if value.is_empty() || outer_blanks || value.contains(char::is_control) {
        return Err(Problem::NotOneLine { key, value: value.to_owned() });
    }
    Ok(value.to_owned())
}

fn word(key: &'static str, value: &str) -> Result<String, Problem> {
    if value.contains(['\n', '\r', '\0']) {
        return Err(Problem::NotOneLine { key, value: value.to_owned() });
    }
    Ok(value.to_owned())
}

fn split(key: &'static str, value: &str) -> Result<Vec<String>, Problem> {
    shlex::split(value).ok_or_else(|| Problem::OpenQuotation { key, found: value.to_owned() })
}

/// The word as it is written in `args` and `env`: bare if splitting returns the same word, else quoted by shlex.
fn quote(word: &str) -> String {
    let special = |c: char| c.is_whitespace() || matches!(c, '\'' | '"' | '\\');
    if word.is_empty() || word.starts_with('#') || word.contains(special) {
        // Only a null character can fail here, and `word` above allows none.
        return shlex::try_quote(word).map_or_else(|_| word.to_owned(), std::borrow::Cow::into_owned);
    }
    word.to_owned()
}
