//! The kind and parts of a project, by the files in its directory. No link is followed, and reading is bounded.

use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::files::Beneath;

/// The largest file that is read.
const LARGEST: u64 = 1024 * 1024;
/// The most names that are taken from a file or a directory.
const MOST: usize = 60;
/// The most directories that are made because a .gitignore names them.
const MOST_IGNORED: usize = 6;

/// A language or a tool whose files were found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Rust,
    Node,
    Python,
    Go,
    Make,
}

impl Kind {
    const ALL: [Self; 5] = [Self::Rust, Self::Node, Self::Python, Self::Go, Self::Make];

    fn title(self) -> &'static str {
        match self {
            Self::Rust => "Rust",
            Self::Node => "Node",
            Self::Python => "Python",
            Self::Go => "Go",
            Self::Make => "Make",
        }
    }

    /// The files that show this kind; one of them is enough.
    fn files(self) -> &'static [&'static str] {
        match self {
            Self::Rust => &["Cargo.toml"],
            Self::Node => &["package.json"],
            Self::Python => &["pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", "tox.ini"],
            Self::Go => &["go.mod"],
            Self::Make => &["GNUmakefile", "makefile", "Makefile"],
        }
    }
}

/// The project in a directory.
pub(super) struct Project {
    pub root: PathBuf,
    pub place: Beneath,
    pub kinds: Vec<Kind>,
    pub has_git: bool,
    /// The scripts of package.json.
    pub scripts: Vec<String>,
    /// The targets of the Makefile.
    pub targets: Vec<String>,
    /// The directories in it that are not hidden, without its virtual environment.
    pub directories: Vec<String>,
    /// The virtual environment of Python.
    pub venv: Option<Venv>,
    /// The directories that its builds and tests make.
    pub built: Vec<String>,
    /// The directories that its .gitignore names and that are missing: what else makes them can't where the top is not written.
    pub ignored: Vec<String>,
}

/// A virtual environment of Python in the project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Venv {
    /// Its directory, such as `.venv`.
    pub name: String,
    /// The installation of Python that it was made with.
    pub base: Option<PathBuf>,
    /// The names of its programs.
    pub programs: Vec<String>,
}

impl Project {
    pub(super) fn read(root: &Path) -> io::Result<Self> {
        let place = Beneath::open(root)?;
        let mut directories = Vec::new();
        for entry in std::fs::read_dir(root)? {
            let entry = entry?;
            // The type of the entry itself: a link to a directory does not count.
            let name = entry.file_name().into_string().ok().filter(|name| !name.starts_with('.'));
            directories.extend(name.filter(|_| entry.file_type().is_ok_and(|kind| kind.is_dir())));
        }
        directories.sort_unstable();
        let is_there = |file: &&&str| root.join(file).symlink_metadata().is_ok_and(|data| data.is_file());
        let text = |kind: Kind| {
            let file = kind.files().iter().find(is_there)?;
            String::from_utf8(place.read_regular(Path::new(file), LARGEST).ok()?).ok()
        };
        let venv = [".venv", "venv", "env", ".env"].into_iter().find_map(|name| venv(root, &place, name));
        directories.retain(|name| venv.as_ref().is_none_or(|venv| venv.name != *name));
        let kinds: Vec<Kind> =
            Kind::ALL.into_iter().filter(|kind| kind.files().iter().any(|file| is_there(&file))).collect();
        let package = text(Kind::Node).unwrap_or_default();
        let built = built(&kinds, &package, root);
        let ignored = place.read_regular(Path::new(".gitignore"), LARGEST).unwrap_or_default();
        let mut ignored = ignored_directories(&String::from_utf8_lossy(&ignored));
        ignored.retain(|name| !built.contains(name) && root.join(name).symlink_metadata().is_err());
        Ok(Self {
            kinds,
            has_git: root.join(".git").symlink_metadata().is_ok_and(|data| !data.is_symlink()),
            scripts: scripts(&package),
            targets: text(Kind::Make).map(|text| targets(&text)).unwrap_or_default(),
            directories: directories.into_iter().take(MOST).collect(),
            root: root.to_owned(),
            place,
            venv,
            built,
            ignored,
        })
    }

    pub(super) fn is(&self, kind: Kind) -> bool {
        self.kinds.contains(&kind)
    }

    /// In words, for people.
    pub(super) fn description(&self) -> String {
        let kinds: Vec<&str> = self.kinds.iter().map(|kind| kind.title()).collect();
        match kinds.as_slice() {
            [] => "a project of an unrecognised kind (add the commands that you need to the policy)".to_owned(),
            [one] => format!("a {one} project"),
            [first @ .., last] => format!("a project that uses {} and {last}", first.join(", ")),
        }
    }
}

/// The project that a directory belongs to: the nearest one, itself or above, that holds files of a project; or `.git`;
/// else the directory itself. What is `too_wide` is none.
pub(super) fn root_of(here: &Path, is_too_wide: impl Fn(&Path) -> bool) -> PathBuf {
    let holds = |directory: &Path, file: &str| directory.join(file).symlink_metadata().is_ok();
    let is_project = |directory: &&Path| {
        Kind::ALL.iter().flat_map(|kind| kind.files()).any(|file| holds(directory, file)) || holds(directory, ".git")
    };
    let above = here.ancestors().take_while(|directory| !is_too_wide(directory));
    above.clone().find(is_project).unwrap_or(here).to_owned()
}

/// The virtual environment of that name, with the installation that its `pyvenv.cfg` names, pyenv's included.
fn venv(root: &Path, place: &Beneath, name: &str) -> Option<Venv> {
    let settings = place.read_regular(&Path::new(name).join("pyvenv.cfg"), LARGEST).ok()?;
    let settings = String::from_utf8_lossy(&settings).into_owned();
    let bin = root.join(name).join(if cfg!(windows) { "Scripts" } else { "bin" });
    let mut programs: Vec<String> = std::fs::read_dir(bin)
        .ok()?
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| is_name(name))
        .collect();
    programs.sort_unstable();
    let home = settings.lines().filter_map(|line| line.split_once('=')).find(|(key, _)| key.trim() == "home");
    let base = home.map(|(_, bin)| PathBuf::from(bin.trim())).filter(|bin| bin.is_absolute());
    // `bin` of the installation, whose libraries lie beside it.
    let base = base.and_then(|bin| Some(crate::files::canonicalize(&bin).unwrap_or(bin).parent()?.to_owned()));
    Some(Venv { name: name.to_owned(), base, programs })
}

/// The directories that builds and tests of the project make, by what its files say.
fn built(kinds: &[Kind], package: &str, root: &Path) -> Vec<String> {
    let mut names: Vec<&str> = Vec::new();
    for kind in kinds {
        match kind {
            Kind::Rust => names.push("target"),
            Kind::Python => names.extend([".pytest_cache", ".mypy_cache", ".ruff_cache"]),
            Kind::Node => {
                let says = |words: &[&str]| words.iter().any(|word| package.contains(word));
                names.extend(says(&["\"build\"", "dist"]).then_some("dist"));
                names.extend(says(&["\"react-scripts\"", "build/", "\"@sveltejs/kit\""]).then_some("build"));
                names.extend(says(&["\"next\""]).then_some(".next"));
                names.extend(says(&["\"test\"", "coverage"]).then_some("coverage"));
                let is_installed = root.join("node_modules").symlink_metadata().is_ok_and(|data| data.is_dir());
                names.extend(is_installed.then_some("node_modules/.cache"));
            }
            Kind::Go | Kind::Make => {}
        }
    }
    names.into_iter().map(str::to_owned).collect()
}

/// The directories at the top that a .gitignore names plainly: `/name/`, or `name/`, which is also meant for the top. None is hidden, looks
/// secret, or is what programs are installed in.
///
/// A file with more than [`MOST_IGNORED`] such lines is a template of what any project could have; then only `/name/` counts.
fn ignored_directories(text: &str) -> Vec<String> {
    let is_installed =
        |name: &str| ["node_modules", "vendor", "env", "venv", "virtualenv", "lib", "lib64"].contains(&name);
    let is_secret = |name: &str| {
        ["secret", "credential", "token", "password", "key", "private", "cert"].iter().any(|word| name.contains(word))
    };
    let name_of = |line: &str| {
        let name = line.strip_prefix('/').unwrap_or(line).strip_suffix('/')?;
        let small = name.to_ascii_lowercase();
        (is_name(name) && !is_installed(&small) && !is_secret(&small)).then(|| name.to_owned())
    };
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    let is_taken_back = |line: &str| {
        lines.iter().any(|other| {
            other
                .strip_prefix('!')
                .is_some_and(|kept| kept.trim_matches('/').split('/').next() == Some(line.trim_matches('/')))
        })
    };
    let mut named: Vec<(&str, String)> = lines.iter().filter_map(|line| Some((*line, name_of(line)?))).collect();
    named.retain(|(line, _)| !is_taken_back(line));
    let is_template = named.len() > MOST_IGNORED;
    let mut names: Vec<String> =
        named.into_iter().filter(|(line, _)| line.starts_with('/') || !is_template).map(|(_, name)| name).collect();
    names.sort_unstable();
    names.dedup();
    names.truncate(MOST_IGNORED);
    names
}

/// Whether a name can be written in a rule unchanged.
fn is_name(name: &str) -> bool {
    let is_first = |character: char| character.is_ascii_alphanumeric() || character == '_';
    name.len() <= 60
        && name.starts_with(is_first)
        && name.chars().all(|character| character.is_ascii_alphanumeric() || "_.:-".contains(character))
}

/// The scripts of a package.json, without those that npm runs before or after others, and those that install or publish.
fn scripts(text: &str) -> Vec<String> {
    let package: Option<Value> = serde_json::from_str(text).ok();
    let scripts = package.as_ref().and_then(|package| package.get("scripts")).and_then(Value::as_object);
    let names: Vec<&String> = scripts.into_iter().flatten().map(|(name, _)| name).collect();
    let is_around = |name: &str| {
        let rest = name.strip_prefix("pre").or(name.strip_prefix("post"));
        let of = rest.filter(|rest| !rest.is_empty());
        of.is_some_and(|of| names.iter().any(|name| *name == of) || ["install", "publish", "pack"].contains(&of))
    };
    let leads_out =
        |name: &str| ["deploy", "publish", "release", "install", "prepare"].iter().any(|word| name.contains(word));
    // These listen for connections until they are ended, and the sandbox leaves them no network.
    let serves =
        |name: &str| name.split([':', '-']).any(|part| ["dev", "start", "serve", "watch", "preview"].contains(&part));
    let kept = names.iter().filter(|name| is_name(name) && !is_around(name) && !leads_out(name) && !serves(name));
    kept.map(|name| (*name).clone()).take(MOST).collect()
}

/// The targets of a Makefile that are plain names, without those that install or publish.
fn targets(text: &str) -> Vec<String> {
    let mut targets: Vec<String> = Vec::new();
    let leads_out = |name: &str| ["deploy", "publish", "release", "install"].iter().any(|word| name.contains(word));
    for line in text.lines().filter(|line| !line.starts_with(['\t', ' ', '#', '.'])) {
        let Some((names, rest)) = line.split_once(':') else { continue };
        // `NAME := VALUE`, and `NAME = a:b`.
        if rest.starts_with('=') || rest.starts_with(":=") || names.contains('=') {
            continue;
        }
        for name in names.split_whitespace().filter(|name| is_name(name) && !leads_out(name)) {
            if !targets.iter().any(|known| known == name) && targets.len() < MOST {
                targets.push(name.to_owned());
            }
        }
    }
    targets
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gitignore_names_directories_at_the_top_plainly_or_not_at_all() {
        let check = |text: &str, expected: &[&str]| assert_eq!(ignored_directories(text), expected, "{text}");
        check("/autocomplete/\ntarget/\n**/*.rs.bk\n", &["autocomplete", "target"]);
        check("out/ \r\n/out/\n", &["out"]);
        // Files, patterns, paths, comments, and what is taken back.
        check("a\n/b\nc*/\n[d]/\n/e/f/\n# g/\n!h/\n\\#i/\n/j/\n!/j/keep\n../\n./\n/\n", &[]);
        // Hidden, secret, or installed.
        check(".git/\n.env/\n.claude/\n/.vscode/\n", &[]);
        check("secrets/\n/API-Keys/\nprivate/\ntls-certs/\nnode_modules/\nvendor/\nENV/\nvenv/\n", &[]);
        // A template.
        let template = "build/\ndevelop-eggs/\ndist/\ndownloads/\neggs/\nparts/\nsdist/\nvar/\nwheels/\n";
        check(template, &[]);
        check(&format!("{template}/generated/\n"), &["generated"]);
    }

    #[test]
    fn scripts_and_targets_are_plain_names_that_neither_install_nor_publish() {
        let package = r#"{"scripts": {"test": "x", "pretest": "x", "test:unit": "x", "deploy": "x", "a b": "x", "prettier": "x", "-x": ""}}"#;
        assert_eq!(scripts(package), ["prettier", "test", "test:unit"]);
        assert_eq!(scripts("{"), <[&str; 0]>::default());
        let makefile = ".PHONY: all\nCC := cc\nX = a:b\nall: main.o | dir\n\tcc: x\nmain.o: main.c\n%.o: %.c\ninstall: all\n\
                        test lint:: all\n$(X): y\nall: more\n";
        assert_eq!(targets(makefile), ["all", "main.o", "test", "lint"]);
    }
}
