//! The server as a snippet for each client's file, and as a command line for a shell.

use std::borrow::Cow;

use serde_json::{Map, Value, json};

use crate::cli::json_for_people;
use crate::text::is_plain;

/// The name of the server in clients.
pub(super) const NAME: &str = "allowexec";

/// How the server is started.
pub(super) struct Server {
    pub program: String,
    pub arguments: Vec<String>,
}

/// The shape of a client's file.
#[derive(Clone, Copy)]
pub(super) enum Snippet {
    /// `mcpServers`, with `type` and `tools` if the client wants them.
    McpServers { is_typed: bool },
    /// A table of `config.toml`.
    Codex,
    /// The program and the arguments are one list.
    Opencode,
    /// `servers`.
    Vscode,
    /// `context_servers`.
    Zed,
}

impl Snippet {
    pub(super) fn format(self) -> &'static str {
        match self {
            Self::Codex => "toml",
            Self::McpServers { .. } | Self::Opencode | Self::Vscode | Self::Zed => "json",
        }
    }

    /// The key that holds servers, if the file is JSON.
    pub(super) fn key(self) -> Option<&'static str> {
        match self {
            Self::McpServers { .. } => Some("mcpServers"),
            Self::Codex => None,
            Self::Opencode => Some("mcp"),
            Self::Vscode => Some("servers"),
            Self::Zed => Some("context_servers"),
        }
    }

    /// The snippet, without a line end at its end.
    pub(super) fn text(self, server: &Server) -> String {
        let Server { program, arguments } = server;
        let json = match self {
            Self::McpServers { is_typed: false } => entry("mcpServers", json!({"command": program, "args": arguments})),
            Self::McpServers { is_typed: true } => {
                entry("mcpServers", json!({"type": "local", "command": program, "args": arguments, "tools": ["*"]}))
            }
            Self::Codex => {
                let list: Vec<String> = arguments.iter().map(|argument| toml(argument)).collect();
                return format!("[mcp_servers.{NAME}]\ncommand = {}\nargs = [{}]", toml(program), list.join(", "));
            }
            Self::Opencode => {
                let command: Vec<&String> = std::iter::once(program).chain(arguments).collect();
                let server = json!({"type": "local", "command": command, "enabled": true});
                let mut file = entry("mcp", server);
                file.insert("$schema".into(), "https://opencode.ai/config.json".into());
                file
            }
            Self::Vscode => entry("servers", json!({"type": "stdio", "command": program, "args": arguments})),
            Self::Zed => entry(
                "context_servers",
                json!({"source": "custom", "enabled": true, "command": program, "args": arguments, "env": {}}),
            ),
        };
        json_for_people(&format!("{:#}", Value::Object(json)))
    }
}

fn entry(key: &str, server: Value) -> Map<String, Value> {
    Map::from_iter([(key.to_owned(), json!({ NAME: server }))])
}

/// JSON on one line.
pub(super) fn compact(value: &Value) -> String {
    json_for_people(&value.to_string())
}

/// A basic string of TOML: its escapes are not quite those of JSON.
fn toml(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            _ if is_plain(character) => quoted.push(character),
            _ => quoted.push_str(&format!("\\U{:08X}", u32::from(character))),
        }
    }
    quoted.push('"');
    quoted
}

/// A line for the shell of this system, without anything that controls a terminal; `None` if its shell has no way to write a word so.
pub(super) fn command_line(words: &[String]) -> Option<String> {
    let quote: fn(&str) -> Cow<'_, str> = if cfg!(windows) { for_windows } else { for_posix };
    let line = words.iter().map(|word| quote(word)).collect::<Vec<_>>().join(" ");
    line.chars().all(is_plain).then_some(line)
}

/// A word that is not plain is in `$'…'`, with the bytes of such characters as octal digits (POSIX 2024, bash, zsh, ksh).
fn for_posix(word: &str) -> Cow<'_, str> {
    if word.chars().all(is_plain) {
        // It rejects only NUL, which is not plain.
        return shlex::try_quote(word).unwrap_or(Cow::Borrowed(word));
    }
    let mut quoted = String::from("$'");
    for character in word.chars() {
        match character {
            '\'' | '\\' => quoted.extend(['\\', character]),
            _ if is_plain(character) => quoted.push(character),
            _ => {
                let mut bytes = [0; 4];
                let bytes = character.encode_utf8(&mut bytes).bytes();
                quoted.extend(bytes.map(|byte| format!("\\{byte:03o}")));
            }
        }
    }
    quoted.push('\'');
    Cow::Owned(quoted)
}

/// A word quoted as programs on Windows split their command lines: in double quotes, with a `\` before each inner quote, and
/// with each `\` before a quote doubled. cmd.exe passes this on unchanged unless it contains a `%`.
fn for_windows(word: &str) -> Cow<'_, str> {
    let is_bare = |character: char| character.is_alphanumeric() || "-_./:\\,=+@".contains(character);
    if !word.is_empty() && word.chars().all(is_bare) {
        return Cow::Borrowed(word);
    }
    let mut quoted = String::from("\"");
    let mut backslashes = 0;
    for character in word.chars() {
        if character == '"' {
            quoted.extend(std::iter::repeat_n('\\', backslashes + 1));
        }
        backslashes = if character == '\\' { backslashes + 1 } else { 0 };
        quoted.push(character);
    }
    quoted.extend(std::iter::repeat_n('\\', backslashes));
    quoted.push('"');
    Cow::Owned(quoted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_language_quotes_in_its_own_way() {
        let word = "a 'b' \"c\" $d \\ é\u{1b}";
        assert_eq!(for_posix(word), "$'a \\'b\\' \"c\" $d \\\\ é\\033'");
        let word_in_sight = word.trim_end_matches('\u{1b}');
        assert_eq!(shlex::split(&for_posix(word_in_sight)).unwrap(), [word_in_sight]);
        assert_eq!(for_posix("\n1\u{202e}"), "$'\\0121\\342\\200\\256'");
        assert_eq!(for_posix("--allow"), "--allow");
        assert_eq!(toml(word), "\"a 'b' \\\"c\\\" $d \\\\ é\\U0000001B\"");
        assert_eq!(for_windows("C:\\bin\\x.exe"), "C:\\bin\\x.exe");
        assert_eq!(for_windows("a b\\"), "\"a b\\\\\"");
        assert_eq!(for_windows("{\"a\\\"\":1}"), "\"{\\\"a\\\\\\\"\\\":1}\"");
        assert_eq!(for_windows(""), "\"\"");
    }
}
