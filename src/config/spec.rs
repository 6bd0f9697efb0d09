//! One row of the table of settings: what the flags, the help, the completions and `doctor` know about a setting.

use super::config::Config;
use super::error::ConfigError;
use super::given::Given;
use super::setting::Source;

/// One setting.
#[derive(Debug)]
pub struct Spec {
    /// The flag without its dashes. With `_` for `-` it is the key in the file.
    pub flag: &'static str,
    /// The type of its value.
    pub takes: Takes,
    /// The name of the value in the help; empty for a switch.
    pub value: &'static str,
    /// The environment variable.
    pub variable: &'static str,
    /// The part of the help that lists it.
    pub group: Group,
    /// The default: a value as one would write it, or words if there is no such value.
    pub default: &'static str,
    /// One sentence for the help, without the default.
    pub help: &'static str,
    /// Parses what a source gives and replaces the setting in the configuration.
    pub(super) set: fn(&mut Config, &Given) -> Result<(), ConfigError>,
    /// The resolved value as text, with its source.
    pub show: fn(&Config) -> Shown<'_>,
}

/// The type of a setting's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    /// On or off: a flag without a value.
    Switch,
    /// One text.
    Text,
    /// One number, mostly with a unit.
    Number,
    /// A list: comma-separated in flags, which may be repeated, and in variables.
    List,
}

/// The parts of the help, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// Which commands are allowed.
    Commands,
    /// Where commands run.
    Directories,
    /// The access of commands to files and the network.
    Sandbox,
    /// How long commands run and how much they print.
    Limits,
    /// How much of the machine commands can use.
    Resources,
    /// Which environment variables commands get.
    Environment,
    /// The results that clients get.
    Results,
    /// The log and other output for the operator, and the sources of settings.
    Operation,
}

impl Group {
    /// All groups in their order.
    pub const ALL: [Group; 8] = [
        Group::Commands,
        Group::Directories,
        Group::Sandbox,
        Group::Limits,
        Group::Resources,
        Group::Environment,
        Group::Results,
        Group::Operation,
    ];

    /// The heading in the help.
    pub fn heading(self) -> &'static str {
        match self {
            Group::Commands => "What may run",
            Group::Directories => "Where it runs",
            Group::Sandbox => "What commands can touch (Linux)",
            Group::Limits => "How long and how much",
            Group::Resources => "How much of the machine commands can use (Unix)",
            Group::Environment => "What commands get",
            Group::Results => "What clients get",
            Group::Operation => "What the operator gets",
        }
    }
}

/// A value as `doctor` prints it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown<'a> {
    /// The value, or `None` if there is none: then [`Spec::default`] is printed.
    pub text: Option<String>,
    /// Where it came from.
    pub source: &'a Source,
}

impl Spec {
    /// The key in the file.
    pub fn key(&self) -> String {
        self.flag.replace('-', "_")
    }
}
