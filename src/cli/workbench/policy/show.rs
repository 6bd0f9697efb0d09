//! `allowexec policy show`: the shipped profiles, as a list or as YAML to copy and change.

use std::path::Path;

use serde_json::{Value, json};

use crate::cli::error::CliError;
use crate::cli::{Outcome, print, print_json};
use crate::policy::rules::{Rules, profile_names, profile_text};
use crate::text::nearest;

pub(super) fn run(names: &[String], json: bool) -> Result<Outcome, CliError> {
    if names.is_empty() {
        return list(json);
    }
    let texts: Vec<(&str, &str)> =
        names.iter().map(|name| Ok((name.as_str(), text(name)?))).collect::<Result<_, CliError>>()?;
    if json {
        let profiles: Vec<Value> = texts.iter().map(|(name, text)| json!({"name": name, "text": text})).collect();
        return print_json(&json!({"profiles": profiles}));
    }
    // Several are the documents of one stream.
    let texts: Vec<&str> = texts.into_iter().map(|(_, text)| text).collect();
    print(&texts.join("---\n"))
}

fn text(name: &str) -> Result<&'static str, CliError> {
    profile_text(name).ok_or_else(|| {
        let shown = name.escape_debug();
        let help = match nearest(name, profile_names()) {
            Some(nearest) => format!("did you mean `{nearest}`?"),
            None if Path::new(name).is_file() => {
                format!("`allowexec policy test {shown}` looks at a policy of your own")
            }
            None => format!("the profiles are {}", profile_names().collect::<Vec<_>>().join(", ")),
        };
        CliError::Policy { why: format!("no profile is called `{shown}`; {help}") }
    })
}

fn list(json: bool) -> Result<Outcome, CliError> {
    let mut rows = Vec::new();
    for name in profile_names() {
        let rules =
            Rules::read(&[], &[name.to_owned()], &[]).map_err(|error| CliError::Policy { why: error.to_string() })?;
        let commands: Vec<String> = rules.iter().map(|command| command.name.clone()).collect();
        rows.push((name, summary(text(name)?), commands));
    }
    if json {
        let row = |(name, summary, commands): &(&str, String, Vec<String>)| json!({"name": name, "summary": summary, "commands": commands});
        return print_json(&json!({"profiles": rows.iter().map(row).collect::<Vec<Value>>()}));
    }
    let width = rows.iter().map(|(name, ..)| name.len()).max().unwrap_or_default();
    print(&rows.iter().map(|(name, summary, _)| format!("{name:<width$}  {summary}\n")).collect::<String>())
}

/// The first sentence of the comment at the top of a profile.
fn summary(text: &str) -> String {
    let comment = text.lines().map_while(|line| line.strip_prefix('#')).take_while(|line| !line.trim().is_empty());
    let comment = comment.map(str::trim).collect::<Vec<_>>().join(" ");
    comment.split_inclusive(". ").next().unwrap_or_default().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_profile_says_in_its_first_sentence_what_it_is_for() {
        for name in profile_names() {
            let summary = summary(text(name).unwrap());
            assert!(summary.ends_with('.') && summary.len() > 20 && summary.len() < 160, "{name}: {summary:?}");
        }
    }

    #[test]
    fn an_unknown_name_is_refused_with_the_nearest() {
        let error = text("git-readonyl").unwrap_err().to_string();
        assert_eq!(error, "no profile is called `git-readonyl`; did you mean `git-readonly`?");
        assert!(text("x").unwrap_err().to_string().contains("the profiles are git-readonly, coreutils-readonly"));
    }
}
