//! The layer as its users meet it: arguments, variables and a file in, `doctor`'s rows or an error text out.

use std::collections::BTreeMap;
use std::error::Error;
use std::ffi::OsString;
use std::fs;

use super::*;

mod describe;
mod errors;
mod file_errors;
mod sources;

/// The arguments, variables and file of a server's start; the file is `s.yaml` in its directory.
#[derive(Default)]
struct Start {
    arguments: Vec<OsString>,
    variables: BTreeMap<OsString, OsString>,
    file: Option<String>,
}

impl Start {
    /// Arguments, variables as `NAME=VALUE`, and the text of a file that then is named by a flag.
    fn with(arguments: &[&str], variables: &[&str], file: Option<&str>) -> Self {
        let variable = |text: &&str| text.split_once('=').map(|(name, value)| (name.into(), value.into())).unwrap();
        let mut start = Self {
            arguments: arguments.iter().map(OsString::from).collect(),
            variables: variables.iter().map(variable).collect(),
            file: file.map(str::to_owned),
        };
        if start.file.is_some() {
            start.arguments.push("--config=s.yaml".into());
        }
        start
    }

    fn resolve(self) -> Result<Config, ConfigError> {
        let directory = tempfile::tempdir().unwrap();
        if let Some(text) = self.file {
            fs::write(directory.path().join("s.yaml"), text).unwrap();
        }
        let mut parser = lexopt::Parser::from_args(self.arguments);
        let mut flags = Flags::default();
        while let Some(argument) = parser.next().unwrap() {
            let lexopt::Arg::Long(name) = argument else { panic!("{argument:?} is not for this layer") };
            let name = name.to_owned();
            if !flags.accept(&mut parser, &name)? {
                return Err(unknown_flag(&name, &["json", "help"]));
            }
        }
        let directory = directory.path().to_owned();
        Config::resolve(&flags, Surroundings { variables: self.variables, directory })
    }

    /// The row of one setting as `VALUE (SOURCE)`, or the error and its causes.
    fn row(self, name: &str) -> String {
        match self.resolve() {
            Ok(config) => {
                let row = rows(&config).into_iter().find(|row| row.name == name).unwrap();
                format!("{} ({})", row.value, row.source)
            }
            Err(error) => with_causes(&error),
        }
    }
}

fn with_causes(error: &(dyn Error + 'static)) -> String {
    let causes = std::iter::successors(Some(error), |error| (*error).source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join("\n  ")
}
