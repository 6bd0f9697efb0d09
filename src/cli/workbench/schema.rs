//! `allowexec schema`: the shape of the files that operators write, for editors.

use crate::cli::json_for_people;
use crate::{config, policy};

/// A file that has a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cli) enum Schema {
    Config,
    Policy,
}

impl Schema {
    pub(super) const ALL: [Self; 2] = [Self::Config, Self::Policy];

    /// Its name on the command line.
    pub(super) fn text(self) -> &'static str {
        match self {
            Self::Config => "config",
            Self::Policy => "policy",
        }
    }

    /// The schema, as it is printed and as `init` writes it.
    pub(super) fn json(self) -> String {
        let value = match self {
            Self::Config => config::schema(),
            Self::Policy => policy::rules::texts::schema(),
        };
        json_for_people(&format!("{value:#}\n"))
    }

    /// Where `init` puts it, from where the file is.
    pub(super) fn file(self) -> String {
        format!(".allowexec/{}.schema.json", self.text())
    }

    /// The line in a YAML file from which editors know its schema.
    pub(super) fn line(self) -> String {
        format!("# yaml-language-server: $schema={}\n", self.file())
    }
}
