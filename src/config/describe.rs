//! The settings in words: their part of `--help`, and what `doctor` says about each.

use super::config::Config;
use super::feature::Feature;
use super::setting::Source;
use super::spec::{Group, Spec};
use super::table::SETTINGS;

/// The column in which the explanations begin, and the longest line.
const COLUMN: usize = 28;
const WIDTH: usize = 99;

/// A resolved setting as `doctor` prints it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The flag, without its dashes.
    pub name: &'static str,
    /// The value, or words if there is none; the values of `--env` are not shown, since they may be secrets.
    pub value: String,
    /// Where it came from.
    pub source: Source,
}

/// All settings with their values and sources, in the order of the help.
pub fn rows(config: &Config) -> Vec<Row> {
    let row = |spec: &Spec| {
        let shown = (spec.show)(config);
        let value = shown.text.unwrap_or_else(|| spec.default.to_owned());
        Row { name: spec.flag, value, source: shown.source.clone() }
    };
    SETTINGS.iter().map(row).collect()
}

/// The settings' part of `--help`, without those that this build has not: in groups, each with its variable and its default, in lines of less than 100 columns.
pub fn help() -> String {
    let is_built = |spec: &&Spec| Feature::of_setting(spec.flag).is_none_or(Feature::is_built);
    let group = |group: Group| {
        let specs = SETTINGS.iter().filter(is_built).filter(|spec| spec.group == group);
        let explained = specs.map(explained).collect::<String>();
        (!explained.is_empty()).then(|| format!("{}:\n{explained}", group.heading()))
    };
    Group::ALL.into_iter().filter_map(group).collect::<Vec<_>>().join("\n")
}

fn explained(spec: &Spec) -> String {
    let flag = format!("  --{} {}", spec.flag, spec.value);
    let words = format!("{} [{}; default: {}]", spec.help, spec.variable, spec.default);
    let mut text = String::new();
    let mut line = format!("{:COLUMN$}", flag.trim_end());
    if line.len() > COLUMN {
        text.push_str(flag.trim_end());
        text.push('\n');
        line = " ".repeat(COLUMN);
    }
    for word in words.split(' ') {
        if line.len() + word.len() > WIDTH {
            text.push_str(line.trim_end());
            text.push('\n');
            line = " ".repeat(COLUMN);
        }
        line.push_str(word);
        line.push(' ');
    }
    text + line.trim_end() + "\n"
}
