//! The rules for a project's commands: shipped profiles, and commands that these leave out on purpose but the project needs.

use std::fmt::Write as _;

use super::configuration::home_of;
use super::project::{Kind, Project};
use crate::config::Surroundings;
use crate::sandbox::SandboxError;

/// Returns the policy. `loopback` says whether this system can give each call a network of its own, for tests that start servers, and
/// `is_locked` whether the settings must let commands write the repository before calls can commit.
pub(super) fn text(
    project: &Project,
    surroundings: &Surroundings,
    loopback: &Result<(), SandboxError>,
    is_locked: bool,
) -> String {
    let mut profiles = vec!["coreutils-readonly", "search"];
    if project.has_git {
        profiles.push("git-readonly");
    }
    for kind in &project.kinds {
        match kind {
            Kind::Python => profiles.push("python-tools"),
            Kind::Go => profiles.push("go-check"),
            // Their rules follow below.
            Kind::Rust | Kind::Node | Kind::Make => {}
        }
    }
    let mut text = format!(
        "# The commands that may run, and their arguments, for {}. Anything else is refused.\n\
         # `allowexec policy show NAME` prints a profile; `allowexec policy test {}` runs the examples below.\n\
         version: 1\n\
         # With coreutils-write among them, calls also make, copy, move, remove and edit files (mkdir, cp, mv, rm, sed -i).\n\
         profiles: [{}]\n",
        project.description(),
        super::POLICY,
        profiles.join(", ")
    );
    if project.is(Kind::Rust) {
        text.push_str(RUST_SETS);
    }
    let mut commands = String::new();
    if project.has_git {
        commands.push_str(&git(project, surroundings, is_locked));
    }
    if project.is(Kind::Python) {
        commands.push_str(&python(project));
    }
    if project.is(Kind::Rust) {
        commands.push_str(&rust(surroundings));
    }
    if project.is(Kind::Node) && !project.scripts.is_empty() {
        commands.push_str(&node(&project.scripts));
    }
    if project.is(Kind::Make) && !project.targets.is_empty() {
        commands.push_str(&make(&project.targets));
    }
    if commands.contains(NETWORK) {
        let network = if loopback.is_ok() { "network: loopback" } else { "network: none" };
        commands = commands.replace(NETWORK, network);
        // Writing to a string can't fail.
        let _ = writeln!(
            text,
            "# The profiles of cargo and pytest take every network away; their rules below say what tests get."
        );
    }
    if !commands.is_empty() {
        let _ = write!(text, "commands:\n{commands}");
    }
    text
}

/// The words of the rules for the network of the project's tests.
const NETWORK: &str = "network: TESTS";

const RUST_SETS: &str = r#"sets:
  common:
    "--locked, --offline": flag
    "-q, --quiet": flag
    "-v, --verbose": flag
  build:
    "-p, --package": {text: {chars: "A-Za-z0-9_.:@-", max_length: 200}}
    "--workspace, --all-targets, --lib, --bins, --tests, --examples, --benches": flag
    "--bin, --test, --example, --bench": {text: {chars: "A-Za-z0-9_-", max_length: 100}}
    "-F, --features": {text: {chars: "A-Za-z0-9_/,-", max_length: 500}}
    "--all-features, --no-default-features": flag
    "-r, --release": flag
"#;

/// Returns the rule for cargo: the profile cargo-check, and building and testing.
fn rust(surroundings: &Surroundings) -> String {
    let toolchain = toolchain(surroundings)
        .map(|name| format!("    env: {{set: {{RUSTUP_TOOLCHAIN: {}}}}}\n", super::configuration::yaml(&name)));
    format!(
        r#"  cargo:
    extends: cargo-check
{}    subcommands:
      build:
        use: [common, build]
      test:
        use: [common, build]
        options: {{"--no-run, --no-fail-fast, --doc": flag}}
        operands: [{{name: FILTER, text: {{chars: "A-Za-z0-9_:", max_length: 200}}, count: "0..1"}}]
        after_double_dash: [{{one_of: [--nocapture, --ignored, --include-ignored, --exact], count: "0.."}}]
    timeout: 10m
    sandbox: {{network: TESTS}}
    examples:
      allow: [cargo build --release, cargo test, "cargo test parser::", cargo test -- --nocapture, cargo clippy]
      refuse: [cargo publish, cargo login, cargo test --config x]
"#,
        toolchain.unwrap_or_default()
    )
}

/// The toolchain of rustup that the rule must name, if there is no `stable`.
fn toolchain(surroundings: &Surroundings) -> Option<String> {
    let home = home_of(surroundings, "RUSTUP_HOME", ".rustup")?;
    let toolchains = std::fs::read_dir(home.join("toolchains")).ok()?;
    let mut names: Vec<String> = toolchains.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
    names.sort_unstable();
    if names.iter().any(|name| name.starts_with("stable")) { None } else { names.pop() }
}

/// The person's name and address, since git does not read the person's own settings here.
fn git(project: &Project, surroundings: &Surroundings, is_locked: bool) -> String {
    let home = home_of(surroundings, "HOME", "");
    let settings = home_of(surroundings, "XDG_CONFIG_HOME", ".config");
    let (name, email) = crate::cli::workbench::git::person(&project.root, home.as_deref(), settings.as_deref());
    let (Some(name), Some(email)) = (name, email) else { return String::new() };
    let (name, email) = (super::configuration::yaml(&name), super::configuration::yaml(&email));
    let also = match is_locked {
        true => format!(", and take in what is commented out under `write` in {}", super::CONFIGURATION),
        false => String::new(),
    };
    format!(
        r#"  git:
    extends: git-readonly
    # To let calls commit, say git-commit in place of git-readonly here{also}: add, commit, restore, stash and switch.
    # These variables say who commits, since git does not read your own settings here.
    env:
      set: {{GIT_AUTHOR_NAME: {name}, GIT_AUTHOR_EMAIL: {email}, GIT_COMMITTER_NAME: {name}, GIT_COMMITTER_EMAIL: {email}}}
"#
    )
}

/// The programs of the project's virtual environment, by their names and by their paths.
fn python(project: &Project) -> String {
    let Some(venv) = &project.venv else { return String::new() };
    let bin = if cfg!(windows) { "Scripts" } else { "bin" };
    let environment = project.root.join(&venv.name);
    let has = |name: &str| venv.programs.iter().any(|program| program == name);
    let mut text = String::new();
    for name in ["pytest", "mypy", "ruff"].into_iter().filter(|name| has(name)) {
        // Absolute, as all paths that `init` writes, because clients may start servers in any directory.
        let program = super::configuration::yaml(&environment.join(bin).join(name).display().to_string());
        for word in
            [super::configuration::yaml(name), super::configuration::yaml(&format!("{}/{bin}/{name}", venv.name))]
        {
            // Writing to a string can't fail.
            let _ = write!(text, "  {word}:\n    extends: python-tools\n    program: {program}\n");
            if name == "pytest" {
                text.push_str("    sandbox: {network: TESTS}\n");
            }
        }
    }
    let root = super::configuration::yaml(&environment.display().to_string());
    let searched =
        super::configuration::yaml(&format!("{}:/usr/local/bin:/usr/bin:/bin", environment.join(bin).display()));
    if has("pytest") {
        for name in ["python", "python3"].into_iter().filter(|name| has(name)) {
            let program = super::configuration::yaml(&environment.join(bin).join(name).display().to_string());
            for word in [name.to_owned(), format!("{}/{bin}/{name}", venv.name)] {
                let rule = PYTHON
                    .replace("ROOT", &root)
                    .replace("SEARCHED", &searched)
                    .replace("NAME", &super::configuration::yaml(&word))
                    .replace("PROGRAM", &program);
                text.push_str(&rule);
            }
        }
    }
    text
}

const PYTHON: &str = r#"  NAME:
    # Only as `-m pytest`, whose tests are the project's code.
    program: PROGRAM
    syntax: operands
    forms:
      - operands: [{one_of: [-m]}, {one_of: [pytest]}, {name: ARGUMENT, text: {chars: "A-Za-z0-9_./:[], =-", first: "-", relative: true, max_length: 500}, count: "0.."}]
      - operands: [{one_of: [-V, --version]}]
    # As `activate` sets them: Python finds its environment by the path that it is started by.
    env: {set: {VIRTUAL_ENV: ROOT, PATH: SEARCHED}, unset: [PYTEST_ADDOPTS, PYTEST_PLUGINS, PYTEST_DEBUG, PYTHONPATH, PYTHONHOME, PYTHONSTARTUP, PYTHONINSPECT]}
    timeout: 5m
    sandbox: {level: workspace}
    examples:
      allow: [[NAME, -m, pytest], [NAME, -m, pytest, -x, "tests/test_a.py::test_b", -k, "one or two"]]
      refuse: [[NAME], [NAME, -c, x], [NAME, -m, pip, install, x]]
"#;

fn node(scripts: &[String]) -> String {
    let list = scripts.iter().map(|name| super::configuration::yaml(name)).collect::<Vec<_>>().join(", ");
    let first = scripts.first().map(String::as_str).unwrap_or_default();
    let test =
        if scripts.iter().any(|name| name == "test") { "      test: {after_double_dash: [*files]}\n" } else { "" };
    let file = "{name: FILE, path: {access: read, exists: true}, count: \"0..\"}";
    let test = test.replace("*files", file);
    format!(
        r#"  npm:
    # package.json decides what a script does; the sandbox limits it. With `extends: node-develop` here, any script may run with any
    # words (`npm run lint -- --fix`); that profile has no network, so then say `network: loopback` in `sandbox`, too.
    insert: [--script-shell=/bin/sh, --node-options=, --no-update-notifier, --no-fund, --no-audit, --logs-max=0]
    subcommands:
      run:
        options: {{"-s, --silent": flag, "--if-present": flag}}
        operands: [{{name: SCRIPT, one_of: [{list}]}}]
        after_double_dash: [{file}]
{test}      ls:
        options: {{"--depth": {{integer: [0, 100]}}, "--json": flag}}
    env: {{unset: [NODE_OPTIONS, NODE_PATH, npm_config_script_shell, npm_config_prefix, npm_config_userconfig, npm_config_globalconfig]}}
    timeout: 10m
    sandbox: {{level: workspace}}
    examples:
      allow: [{}]
      refuse: [npm publish, npm exec x, {}]
"#,
        super::configuration::yaml(&format!("npm run {first}")),
        super::configuration::yaml(&format!("npm run {first} --script-shell=x"))
    )
}

fn make(targets: &[String]) -> String {
    let list = targets.iter().map(|name| super::configuration::yaml(name)).collect::<Vec<_>>().join(", ");
    let first = targets.first().map(String::as_str).unwrap_or_default();
    format!(
        r#"  make:
    # The Makefile decides what a target does; the sandbox limits it.
    options:
      "-j, --jobs": {{integer: [1, 64], optional: true}}
      "-k, --keep-going": flag
      "-s, --silent": flag
    operands: [{{name: TARGET, one_of: [{list}], count: "0.."}}]
    env: {{unset: [MAKEFLAGS, GNUMAKEFLAGS, MFLAGS, MAKEFILES, MAKELEVEL, MAKEOVERRIDES]}}
    timeout: 10m
    sandbox: {{level: workspace}}
    examples:
      allow: [make, {}]
      refuse: [make SHELL=x, make -f x, make -C .. all, make --eval=x]
"#,
        super::configuration::yaml(&format!("make {first}"))
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_name_a_network_only_where_their_profile_takes_it_away() {
        let place = tempfile::tempdir().unwrap();
        for (file, text) in
            [("package.json", r#"{"scripts": {"test": "x"}}"#), ("Makefile", "all:\n"), ("Cargo.toml", "")]
        {
            std::fs::write(place.path().join(file), text).unwrap();
        }
        let project = Project::read(place.path()).unwrap();
        let surroundings = Surroundings::of_this_process().unwrap();
        let source = std::io::Error::from(std::io::ErrorKind::PermissionDenied);
        let missing = SandboxError::NoOwnNetwork { what: "a namespace", source, mend: "allow\nthem".to_owned() };
        for (loopback, network) in [(Ok(()), "network: loopback"), (Err(missing), "network: none")] {
            let policy = text(&project, &surroundings, &loopback, true);
            assert!(!policy.contains("TESTS"), "{policy}");
            assert_eq!(policy.matches("{network: ").count(), 1, "{policy}");
            assert!(policy.contains(&format!("sandbox: {{{network}}}")), "{policy}");
        }
    }
}
