//! The network of commands in the sandbox, as a setting or a rule names it. What enforces it is in `sandbox`.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// The sockets that commands in the sandbox can use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Network {
    /// No sockets except the two ends of a socketpair(2).
    None,
    /// A loopback interface of the call's own, and nothing else.
    Loopback,
    /// TCP on these ports of the machine's network, and nothing else.
    Ports(Ports),
    /// Everything that they could do without the sandbox, except abstract Unix sockets outside it.
    Full,
}

impl Network {
    /// Those that are one word, the strictest first.
    pub const WORDS: [(&'static str, Self); 3] =
        [("none", Self::None), ("loopback", Self::Loopback), ("full", Self::Full)];

    /// Ports, as a regular expression of JSON Schema; not whether the numbers are too large.
    pub(crate) const PORTS_PATTERN: &'static str =
        r"^\s*(connect|listen):[1-9][0-9]{0,4}(\s*,\s*(connect|listen):[1-9][0-9]{0,4})*\s*$";

    /// Whether it allows nothing that `other` does not allow. A loopback of a call's own and ports of the machine are
    /// not comparable.
    pub fn is_within(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::None, _) | (_, Self::Full) => true,
            (Self::Ports(ports), Self::Ports(of)) => {
                ports.connect.is_subset(&of.connect) && ports.listen.is_subset(&of.listen)
            }
            (one, other) => one == other,
        }
    }
}

impl FromStr for Network {
    type Err = NetworkError;

    /// Reads a word, or ports with commas between them, around which there may be blanks.
    fn from_str(text: &str) -> Result<Self, NetworkError> {
        let word = |text: &str| Self::WORDS.into_iter().find(|(word, _)| *word == text);
        if let Some((_, network)) = word(text) {
            return Ok(network);
        }
        if !text.contains([':', ',']) {
            return Err(NetworkError::NotOne);
        }
        let mut ports = Ports { connect: BTreeSet::new(), listen: BTreeSet::new() };
        for entry in text.split(',').map(str::trim_ascii) {
            if let Some((word, _)) = word(entry) {
                return Err(NetworkError::BesidePorts { word });
            }
            let not_a_port = || NetworkError::NotAPort { entry: entry.to_owned() };
            let (what, number) = entry.split_once(':').ok_or_else(not_a_port)?;
            let set = match what {
                "connect" => &mut ports.connect,
                "listen" => &mut ports.listen,
                _ => return Err(not_a_port()),
            };
            // Neither a sign nor zeros in front.
            let is_plain = |port: &u16| *port > 0 && port.to_string() == number;
            set.insert(number.parse().ok().filter(is_plain).ok_or_else(not_a_port)?);
        }
        Ok(Self::Ports(ports))
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::Loopback => f.write_str("loopback"),
            Self::Ports(ports) => ports.fmt(f),
            Self::Full => f.write_str("full"),
        }
    }
}

/// TCP ports of the machine's network: at least one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ports {
    connect: BTreeSet<u16>,
    listen: BTreeSet<u16>,
}

impl Ports {
    /// Those that commands may connect to, on whatever host.
    pub fn connect(&self) -> &BTreeSet<u16> {
        &self.connect
    }

    /// Those that commands may listen on, at whatever address of the machine.
    pub fn listen(&self) -> &BTreeSet<u16> {
        &self.listen
    }

    /// Returns the ports as the end of a sentence.
    pub fn in_words(&self) -> String {
        let list = |ports: &BTreeSet<u16>| {
            let ports: Vec<String> = ports.iter().map(ToString::to_string).collect();
            match ports.as_slice() {
                [first @ .., last] if !first.is_empty() => format!("{} or {last}", first.join(", ")),
                all => all.concat(),
            }
        };
        let parts = [("connections to", &self.connect), ("servers on", &self.listen)];
        let parts = parts.into_iter().filter(|(_, ports)| !ports.is_empty());
        let parts: Vec<String> = parts.map(|(what, ports)| format!("{what} TCP port {}", list(ports))).collect();
        parts.join(" and ")
    }
}

/// As the setting and the rule take them.
impl fmt::Display for Ports {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let connect = self.connect.iter().map(|port| format!("connect:{port}"));
        let listen = self.listen.iter().map(|port| format!("listen:{port}"));
        f.write_str(&connect.chain(listen).collect::<Vec<_>>().join(","))
    }
}

/// Why a text names no network.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum NetworkError {
    /// It is one word, but none of the three.
    #[error("expected `none`, `loopback`, `full`, or ports such as `connect:5432,listen:3000`")]
    NotOne,
    /// One of several entries is not a port.
    #[error("`{entry}` names no port; expected `connect:PORT` or `listen:PORT`, with a number from 1 to 65535")]
    NotAPort {
        /// The entry.
        entry: String,
    },
    /// A word among ports.
    #[error(
        "`{word}` can't be combined with ports; write `{word}` alone, or ports alone (those of the machine do not exist in a \
         loopback network of a call's own)"
    )]
    BesidePorts {
        /// The word.
        word: &'static str,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Result<&str, &str>) {
        let found = text.parse::<Network>();
        let found = found.map(|network| network.to_string()).map_err(|error| error.to_string());
        assert_eq!(found.as_deref().map_err(String::as_str), expected, "{text}");
    }

    #[test]
    fn words_and_ports_are_read() {
        for (word, network) in Network::WORDS {
            check(word, Ok(word));
            assert_eq!(network.to_string(), word);
        }
        check("connect:5432", Ok("connect:5432"));
        check("listen:1", Ok("listen:1"));
        check("listen:3000, connect:65535,connect:80 ,connect:80", Ok("connect:80,connect:65535,listen:3000"));
        let unknown = "expected `none`, `loopback`, `full`, or ports such as `connect:5432,listen:3000`";
        for text in ["", "None", "5432", "connect"] {
            check(text, Err(unknown));
        }
        for entry in [
            "connect:",
            "connect:0",
            "connect:65536",
            "connect:+5",
            "connect:05",
            "connect:http",
            "connect:3000-3010",
            "connect:1:2",
            "connect: 5",
            "bind:80",
            ":80",
            "udp",
            "",
        ] {
            let named = format!(
                "`{entry}` names no port; expected `connect:PORT` or `listen:PORT`, with a number from 1 to 65535"
            );
            check(&format!("listen:1,{entry}"), Err(&named));
        }
        let beside = "`loopback` can't be combined with ports; write `loopback` alone, or ports alone (those of the machine \
                      do not exist in a loopback network of a call's own)";
        check("loopback,connect:5432", Err(beside));
        check("connect:5432, loopback", Err(beside));
    }

    #[test]
    fn what_is_allowed_is_said_in_words() {
        let check = |text: &str, expected: &str| match text.parse().unwrap() {
            Network::Ports(ports) => assert_eq!(ports.in_words(), expected),
            other => panic!("{other}"),
        };
        check("connect:5432", "connections to TCP port 5432");
        check("listen:3000,listen:3001", "servers on TCP port 3000 or 3001");
        check("connect:3,connect:2,connect:1,listen:9", "connections to TCP port 1, 2 or 3 and servers on TCP port 9");
    }

    #[test]
    fn a_narrower_network_allows_nothing_more() {
        let is_within = |one: &str, other: &str| one.parse::<Network>().unwrap().is_within(&other.parse().unwrap());
        let strictest_first = ["none", "connect:1", "connect:1,listen:2", "full"];
        for (place, one) in strictest_first.iter().enumerate() {
            for (other_place, other) in strictest_first.iter().enumerate() {
                assert_eq!(is_within(one, other), place <= other_place, "{one} {other}");
            }
        }
        assert!(!is_within("loopback", "connect:1") && !is_within("connect:1", "loopback"));
        assert!(!is_within("connect:1", "listen:1") && !is_within("connect:1", "connect:2"));
    }
}
