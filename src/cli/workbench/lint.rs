//! `allowexec lint`: checks recorded sessions against the protocol.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::json;

use super::replay::{LARGEST, read, transcripts};
use crate::cli::error::CliError;
use crate::cli::{Outcome, print, print_json, stdio};
use crate::files::read_regular;
use crate::lint::{Finding, Schema, lint};
use crate::text::{counted, escape};
use crate::transcript::{Era, Transcript};

/// The findings of each file, or why it can't be read.
type Results = Vec<(String, Result<Vec<Finding>, String>)>;

pub(super) fn run(named: &[String], schema: Option<&str>, as_json: bool) -> Result<Outcome, CliError> {
    let schemas = schema.map(schemas).transpose()?.unwrap_or_default();
    if schemas.is_empty() {
        stdio::note(
            "messages are not checked against a schema; name the directory of the official schemas with `--schema DIR`",
        );
    }
    let check = |file: &str| -> Result<Vec<Finding>, String> {
        let text = read(file)?;
        let first_line = Transcript::first_line_of_body(&text);
        let sessions = Transcript::parse_sessions(file, &text).map_err(|error| error.to_string())?;
        let of_session = |(era, session): &(Option<Era>, Transcript)| {
            let in_era = era.map_or_else(String::new, |era| format!(" (in the {era} session)"));
            let findings = lint(session, first_line, &schemas);
            findings.into_iter().map(move |finding| Finding { what: format!("{}{in_era}", finding.what), ..finding })
        };
        Ok(sessions.iter().flat_map(of_session).collect())
    };
    let results: Results = transcripts(named)?.into_iter().map(|file| (file.clone(), check(&file))).collect();
    let findings: usize = results.iter().map(|(_, result)| result.as_ref().map_or(0, Vec::len)).sum();
    let broken = results.iter().filter(|(_, result)| result.is_err()).count();
    if as_json {
        print_json(&json!(results.iter().map(|(file, result)| to_json(file, result)).collect::<Vec<_>>()))?;
    } else {
        for (file, result) in &results {
            print(&to_text(file, result))?;
        }
        let broken = if broken == 0 { String::new() } else { format!(", {broken} broken") };
        let (found, files) = (counted(findings as u64, "finding"), counted(results.len() as u64, "file"));
        print(&format!("{found} in {files}{broken}\n"))?;
    }
    Ok(match (broken, findings) {
        (0, 0) => Outcome::Good,
        (0, _) => Outcome::Bad,
        (_, _) => Outcome::Status(2),
    })
}

fn to_text(file: &str, result: &Result<Vec<Finding>, String>) -> String {
    let finding = |finding: &Finding| {
        let Finding { line, side, rule, what } = finding;
        format!("{}:{line}: {side}: {rule}: {}\n", escape(file), escape(what))
    };
    match result {
        Ok(findings) => findings.iter().map(finding).collect(),
        Err(why) => format!("{}\n", escape(why)),
    }
}

fn to_json(file: &str, result: &Result<Vec<Finding>, String>) -> serde_json::Value {
    let finding = |finding: &Finding| {
        let Finding { line, side, rule, what } = finding;
        json!({"line": line, "side": side.to_string(), "rule": rule, "what": what})
    };
    match result {
        Ok(findings) => json!({"file": file, "findings": findings.iter().map(finding).collect::<Vec<_>>()}),
        Err(why) => json!({"file": file, "error": why}),
    }
}

/// The directory with the schema of the extension for tasks, and the revision that it extends.
const TASKS: (&str, &str) = ("ext-tasks", "2026-07-28");

/// The schemas of a directory: `REVISION/schema.json`, as in the repository of the specification, and
/// `ext-tasks/schema.json`, as in that of the extension.
fn schemas(directory: &str) -> Result<BTreeMap<String, Schema>, CliError> {
    let failed = |path: &Path, why: &dyn std::fmt::Display| CliError::Transcript {
        why: format!("flag `--schema`: {}: {why}", path.display()),
    };
    let read = |path: &Path| {
        let text = read_regular(path, LARGEST).map_err(|error| failed(path, &error))?;
        Schema::parse(&text).map_err(|error| failed(path, &error))
    };
    let root = Path::new(directory);
    let mut schemas = BTreeMap::new();
    for entry in fs::read_dir(root).map_err(|error| failed(root, &error))? {
        let entry = entry.map_err(|error| failed(root, &error))?;
        let path = entry.path().join("schema.json");
        let name = entry.file_name().to_string_lossy().into_owned();
        // The directory also holds extensions and drafts.
        if !name.starts_with("20") || !path.is_file() {
            continue;
        }
        schemas.insert(name, read(&path)?);
    }
    let (extension, revision) = (root.join(TASKS.0).join("schema.json"), TASKS.1);
    if let Some(schema) = schemas.remove(revision) {
        let schema = if extension.is_file() { schema.extended_by(&read(&extension)?) } else { schema };
        schemas.insert(revision.to_owned(), schema);
    }
    match schemas.is_empty() {
        true => Err(failed(root, &"expected `REVISION/schema.json` in it")),
        false => Ok(schemas),
    }
}
