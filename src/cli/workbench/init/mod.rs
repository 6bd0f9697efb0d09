//! `allowexec init`: a starter configuration and policy for the project in the current directory.
//!
//! - `project`: what the project is, by its files, which are read without following a link
//! - `policy`: the rules for its commands
//! - `configuration`: the settings, with what the sandbox has to grant for them
//!
//! It makes two files, their JSON schemas, and the directories that builds and tests write. Existing files are never replaced.

mod configuration;
mod policy;
mod project;

use std::io;
use std::path::{Path, PathBuf};

pub(super) use configuration::yaml;
use project::Project;

use super::schema::Schema;
use crate::cli::error::CliError;
use crate::cli::{CONFIGURATION, Outcome, print, stdio};
use crate::config::Surroundings;
use crate::exec::Launcher;
use crate::files::{Beneath, create_directories};

const POLICY: &str = "allowexec-policy.yaml";
/// Keeps what only editors read out of the repository.
const IGNORED: &str = ".allowexec/.gitignore";

/// The files that mark a cache, for git and for backups (https://bford.info/cachedir/).
const MARKS: [(&str, &str); 2] = [
    (".gitignore", "*\n"),
    (
        "CACHEDIR.TAG",
        "Signature: 8a477f597d28d172789f06886806bc55\n# This file is a cache directory tag, see https://bford.info/cachedir/\n",
    ),
];

/// The note that commands can't write to the whole project.
const WRITES_PARTS: &str = "\nIn the sandbox, commands can read the project, but write only to the directories that the configuration names.\n\
                            To let them write to the whole project, keep these files outside of it: allowexec init --to DIR\n";

/// Writes both files into the directory of the project, or into `elsewhere`, which is made if it is missing.
///
/// In a subdirectory the project is the directory above that holds it. A home directory and the root of the file system
/// are none, unless `force` says so.
pub(super) fn run(elsewhere: Option<&str>, force: bool) -> Result<Outcome, CliError> {
    let surroundings = Surroundings::of_this_process()?;
    let here = real(surroundings.directory.clone());
    let home = surroundings.variable("HOME").map(PathBuf::from).map(real);
    let is_too_wide = |directory: &Path| directory.parent().is_none() || home.as_deref() == Some(directory);
    let root = if is_too_wide(&here) { here.clone() } else { project::root_of(&here, is_too_wide) };
    if is_too_wide(&root) && !force {
        stdio::note(&format!(
            "`{}` is {}, so nothing was written: commands could read everything in it; go to the directory of a project, or \
             add `--force`",
            crate::text::escape(&root.display().to_string()),
            if root.parent().is_none() { "the root of the file system" } else { "your home directory" }
        ));
        return Ok(Outcome::Bad);
    }
    if root != here {
        stdio::note(&format!("the project is `{}`", crate::text::escape(&root.display().to_string())));
    }
    let to = elsewhere.map_or_else(|| root.clone(), |to| here.join(to).components().collect());
    let failed = |file: &Path| {
        let file = file.display().to_string();
        move |source: io::Error| CliError::Write { file, source: source.into() }
    };
    if elsewhere.is_some() {
        create_directories(&to).map_err(failed(&to))?;
    }
    // The kernel compares paths without links.
    let to = real(to);
    let place = Beneath::open(&to).map_err(failed(&to))?;
    let files = [to.join(POLICY), to.join(CONFIGURATION)];
    // A link that leads nowhere exists, too.
    if let Some(file) = files.iter().find(|file| file.symlink_metadata().is_ok()) {
        stdio::note(&format!(
            "`{}` already exists, so nothing was written; edit it, or move it away and try again",
            file.display()
        ));
        return Ok(Outcome::Bad);
    }
    let project = Project::read(&root).map_err(failed(&root))?;
    let is_writable = to.starts_with(&root);
    let made = if is_writable { make_directories(&project)? } else { Vec::new() };
    let loopback = Launcher::try_own_network();
    let is_locked = !configuration::repositories(&project, is_writable).is_empty();
    let policy = Schema::Policy.line() + &policy::text(&project, &surroundings, &loopback, is_locked);
    let settings = configuration::text(&project, &surroundings, &to.join(POLICY), is_writable, &loopback);
    let settings = Schema::Config.line() + &settings;
    for schema in Schema::ALL {
        write_beside(&place, &schema.file(), &schema.json()).map_err(failed(&to.join(schema.file())))?;
    }
    write_beside(&place, IGNORED, "*\n").map_err(failed(&to.join(IGNORED)))?;
    for (file, text) in [(POLICY, &policy), (CONFIGURATION, &settings)] {
        place.create_file(Path::new(file), text.as_bytes(), false).map_err(failed(&to.join(file)))?;
    }
    if let Some(cache) = configuration::missing_cache(&project, &surroundings) {
        stdio::note(&format!(
            "warning: Go's build cache `{0}` does not exist yet; run `go build` once, then add `{0}` to `write` in {CONFIGURATION}",
            cache.display()
        ));
    }
    let named = if is_writable && to == root { CONFIGURATION.to_owned() } else { files[1].display().to_string() };
    let next = crate::text::escape(&named).into_owned();
    print(&format!(
        "wrote `{POLICY}` and `{CONFIGURATION}` for {}\n{}\n\
         See what they allow:  allowexec doctor --config {next}\n\
         Connect a client:     allowexec setup CLIENT --config {next}\n{}",
        project.description(),
        said_of(&made),
        if is_writable { WRITES_PARTS } else { "" }
    ))
}

/// Writes a file for editors and git. One that is there already stays: it may be of a later version.
fn write_beside(place: &Beneath, file: &str, text: &str) -> io::Result<()> {
    match place.create_file(Path::new(file), text.as_bytes(), false) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        written => written,
    }
}

fn real(path: PathBuf) -> PathBuf {
    crate::files::canonicalize(&path).unwrap_or(path)
}

/// Makes what builds and tests write, since the sandbox grants only what exists when the server starts. Cargo takes an empty
/// `Cargo.lock` for a missing one.
///
/// pytest and cargo mark their caches only when they make them, so that git and backups leave them out. So it is done here.
///
/// Returns what it has made.
fn make_directories(project: &Project) -> Result<Vec<String>, CliError> {
    let done = |name: &str, made: io::Result<()>| match made {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            let file = project.root.join(name).display().to_string();
            Err(CliError::Write { file, source: error.into() })
        }
        Ok(()) | Err(_) => Ok(()),
    };
    let mut made = Vec::new();
    for name in project.built.iter().chain(&project.ignored) {
        let is_new = project.root.join(name).symlink_metadata().is_err();
        done(name, project.place.create_directory(Path::new(name)))?;
        made.extend(is_new.then(|| name.clone()));
        for (file, text) in MARKS.iter().filter(|_| is_new && (name.ends_with("cache") || name == "target")) {
            let file = format!("{name}/{file}");
            done(&file, write_beside(&project.place, &file, text))?;
        }
    }
    if configuration::lacks_lock(project) {
        done("Cargo.lock", project.place.create_file(Path::new("Cargo.lock"), b"", false))?;
        made.push("Cargo.lock".to_owned());
    }
    Ok(made)
}

/// Says what was made beside the two files; empty if it is nothing.
fn said_of(made: &[String]) -> String {
    let names: Vec<String> = made.iter().map(|name| format!("`{name}`")).collect();
    match names.as_slice() {
        [] => String::new(),
        names => format!("made {}, so that builds and tests can write there\n", names.join(", ")),
    }
}
