//! What was tried with third-party clients and agents: the tables in the guide and `spec/clients.md` are made of what the runs of
//! `tests/clients` and `tests/agents` have seen. `INSTA_UPDATE=always` writes them.

use std::collections::BTreeSet;

use serde::Deserialize;

use crate::support::made;

const CLIENTS: &str = include_str!("../clients/seen.json");
const AGENTS: &str = include_str!("../agents/seen.json");

/// One mode of one client.
#[derive(Deserialize)]
struct Client {
    client: String,
    version: String,
    mode: String,
    revision: String,
    tried: Vec<String>,
}

/// One mode of one agent.
#[derive(Deserialize)]
struct Agent {
    agent: String,
    package: String,
    version: String,
    mode: String,
    api: String,
    revision: String,
    seen: std::collections::BTreeMap<String, String>,
}

fn clients() -> Vec<Client> {
    serde_json::from_str(CLIENTS).unwrap()
}

fn agents() -> Vec<Agent> {
    serde_json::from_str(AGENTS).unwrap()
}

/// Every step that a client's script has, but those that only some revisions have.
const STEPS: [&str; 13] = [
    "list",
    "call",
    "refused",
    "timeout",
    "cancel",
    "progress",
    "prompts",
    "completion",
    "50 at once",
    "logging",
    "roots",
    "roots required",
    "approval",
];

/// Forms, by which a client asks for an approval, came with this revision.
const FORMS: &str = "2025-06-18";

fn table(heading: &[&str], rows: Vec<Vec<String>>) -> String {
    let line = |cells: Vec<&str>| format!("| {} |\n", cells.join(" | "));
    let rows = rows.iter().map(|row| line(row.iter().map(String::as_str).collect()));
    format!("{}|{}\n{}", line(heading.to_vec()), "---|".repeat(heading.len()), rows.collect::<String>())
}

/// `npm x` with the name in backticks.
fn named(client: &str) -> String {
    let (registry, package) = client.split_once(' ').unwrap();
    format!("{registry} `{package}`")
}

/// The rows that belong together, in the order in which they come.
fn grouped<T>(rows: &[T], key: impl Fn(&T) -> String) -> Vec<Vec<&T>> {
    let mut groups: Vec<Vec<&T>> = Vec::new();
    for row in rows {
        match groups.iter_mut().find(|group| key(group[0]) == key(row)) {
            Some(group) => group.push(row),
            None => groups.push(vec![row]),
        }
    }
    groups
}

fn joined<'a>(words: impl Iterator<Item = &'a str>) -> String {
    words.flat_map(|word| word.split(", ")).collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>().join(", ")
}

/// What no mode of a client was tried with, though its revisions have it.
fn not_tried(modes: &[&Client]) -> String {
    let tried: BTreeSet<&str> =
        modes.iter().flat_map(|mode| &mode.tried).map(|step| step.split(" (").next().unwrap()).collect();
    if !tried.contains("call") {
        let seen = modes.iter().map(|mode| format!("{} in {}", mode.tried.join(", "), mode.revision));
        return format!("all but its own scenarios: {}", seen.collect::<Vec<_>>().join("; "));
    }
    let has_forms = modes.iter().any(|mode| mode.revision.as_str() >= FORMS);
    let missing: Vec<&str> =
        STEPS.into_iter().filter(|step| !tried.contains(step) && (*step != "approval" || has_forms)).collect();
    if missing.is_empty() { "–".to_owned() } else { missing.join(", ") }
}

fn clients_of_guide() -> String {
    let clients = clients();
    let row = |modes: Vec<&Client>| {
        let revisions = joined(modes.iter().map(|mode| mode.revision.as_str()));
        vec![named(&modes[0].client), modes[0].version.clone(), revisions, not_tried(&modes)]
    };
    let groups = grouped(&clients, |client| format!("{} {}", client.client, client.version));
    table(&["client", "version", "revisions", "not tried"], groups.into_iter().map(row).collect())
}

fn clients_of_specification() -> String {
    let row = |client: Client| {
        vec![named(&client.client), client.version, client.mode, client.revision, client.tried.join(", ")]
    };
    table(&["client", "version", "mode", "revision", "what was tried"], clients().into_iter().map(row).collect())
}

/// How an agent does a step, in words for a reader.
fn how(modes: &[&Agent], step: &str) -> String {
    let seen: BTreeSet<&str> = modes.iter().filter_map(|mode| mode.seen.get(step)).map(String::as_str).collect();
    let words = seen.into_iter().map(|seen| match (step, seen) {
        ("elicitation", "cancel") => "cancels its form",
        ("elicitation", "decline") => "declines its form",
        ("elicitation", "no forms") => "shows no forms",
        ("roots", "no roots") => "none",
        ("cancel", "yes") => "cancels the call",
        ("cancel", "no limit of its own") => "none",
        (_, seen) => seen,
    });
    words.collect::<Vec<_>>().join(", ")
}

fn agents_of_guide() -> String {
    let agents = agents();
    let row = |modes: Vec<&Agent>| {
        let revisions = joined(modes.iter().map(|mode| mode.revision.as_str()));
        let first = vec![modes[0].agent.clone(), modes[0].version.clone(), revisions];
        first.into_iter().chain(["roots", "elicitation", "cancel"].map(|step| how(&modes, step))).collect()
    };
    let heading =
        ["agent", "version", "revisions", "roots", "asked for approval, with nobody there", "own limit for a call"];
    table(&heading, grouped(&agents, |agent| agent.package.clone()).into_iter().map(row).collect())
}

fn agents_of_specification() -> String {
    let row = |agent: Agent| {
        let seen =
            agent.seen.iter().map(|(step, how)| if how == "yes" { step.clone() } else { format!("{step}: {how}") });
        let seen = seen.collect::<Vec<_>>().join(", ");
        vec![format!("npm `{}`", agent.package), agent.version, agent.mode, agent.api, agent.revision, seen]
    };
    let heading = ["agent", "version", "mode", "API of the model", "revision", "what was seen"];
    table(&heading, agents().into_iter().map(row).collect())
}

#[test]
fn the_tables_say_what_the_runs_have_seen() {
    made::part("spec/guide/tested.md", "agents", "tests/agents/run.sh", &agents_of_guide());
    made::part("spec/guide/tested.md", "clients", "tests/clients/run.sh", &clients_of_guide());
    made::part("spec/clients.md", "agents", "tests/agents/run.sh", &agents_of_specification());
    made::part("spec/clients.md", "clients", "tests/clients/run.sh", &clients_of_specification());
}

#[test]
fn the_runs_have_seen_the_versions_that_they_install() {
    let installs = include_str!("../clients/run.sh").replace("==", "@");
    let crates = include_str!("../clients/rmcp_client/Cargo.toml");
    let clients = clients();
    for Client { client, version, .. } in &clients {
        let (_, package) = client.split_once(' ').unwrap();
        let version = version.split(" over ").next().unwrap();
        let installed = match package {
            "rmcp" => crates.contains(&format!("rmcp = {{ version = \"={version}\"")),
            "@modelcontextprotocol/sdk" => {
                let versions = installs.lines().find(|line| line.starts_with("for version in ")).expect("the loop");
                versions.trim_end_matches("; do").split(' ').any(|one| one == version)
            }
            _ => installs.split_whitespace().any(|word| word == format!("{package}@{version}")),
        };
        assert!(installed, "{package} {version} is not what the run installs");
    }
    assert!(clients.len() >= 20, "clients are missing");
    let lines: Vec<&str> =
        include_str!("../agents/run.sh").lines().filter(|line| line.starts_with("installed ")).collect();
    let seen: BTreeSet<String> = agents().iter().map(|agent| format!("{}@{}", agent.package, agent.version)).collect();
    assert_eq!(lines.iter().map(|line| line.split(' ').nth(2).unwrap().to_owned()).collect::<BTreeSet<_>>(), seen);
}

#[test]
fn every_agent_made_the_calls_that_the_guide_speaks_of() {
    let agents = agents();
    for modes in grouped(&agents, |agent| agent.package.clone()) {
        for step in ["hello", "refusal", "timeout", "shell", "background", "lines", "interrupt", "setup"] {
            assert_eq!(how(&modes, step), "yes", "{}: {step}", modes[0].agent);
        }
    }
    let (claim, _) = include_str!("../../spec/guide/tested.md").split_once("<!-- agents").unwrap();
    let claim = claim.split_whitespace().collect::<Vec<_>>().join(" ");
    for word in
        ["allowed calls", "refusals", "timeouts", "persistent shell", "background", "interrupt", "`allowexec setup`"]
    {
        assert!(claim.contains(word), "the page no longer says `{word}`: {claim}");
    }
}
