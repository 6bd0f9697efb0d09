//! Which known program a file under another name is: a link to it, a copy of it, or a script that hands its arguments on to it.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use super::wrappers::{known_names, reach_of};

/// How much of a script is read.
const LONGEST_SCRIPT: u64 = 16 * 1024;

/// The directories of the system's own programs, which stand under their own names there.
const OF_SYSTEM: [&str; 4] = ["/bin", "/sbin", "/usr/bin", "/usr/sbin"];

/// Programs that are many in one file: what a link to them does depends on its name.
const HOLD_MANY: [&str; 4] = ["busybox", "toybox", "coreutils", "rustup"];

/// The known programs in the directories of a search path, which are looked for if a file is compared with them.
#[derive(Debug, Default)]
pub(crate) struct KnownPrograms {
    places: Vec<PathBuf>,
    by_size: OnceCell<HashMap<u64, Vec<(&'static str, PathBuf)>>>,
}

impl KnownPrograms {
    /// Those in these directories.
    pub fn new(places: &[PathBuf]) -> Self {
        Self { places: places.to_vec(), by_size: OnceCell::new() }
    }

    /// The name of the interpreter or wrapper that this program is, although it has another name; `None` if nothing is known.
    pub fn name_of(&self, program: &Path) -> Option<String> {
        let real = program.canonicalize().ok()?;
        let name = real.file_name()?.to_str()?;
        if HOLD_MANY.contains(&name) {
            return None;
        }
        if reach_of(name).is_some() {
            return Some(name.to_owned());
        }
        let mut start = Vec::new();
        File::open(&real).ok()?.take(LONGEST_SCRIPT).read_to_end(&mut start).ok()?;
        if start.starts_with(b"#!") {
            return of_script(&String::from_utf8_lossy(&start));
        }
        let is_of_system = real.parent().is_some_and(|place| OF_SYSTEM.iter().any(|of| place == Path::new(of)));
        if is_of_system { None } else { self.copied_as(&real) }
    }

    /// The known program that has the same contents.
    fn copied_as(&self, file: &Path) -> Option<String> {
        let size = fs::metadata(file).ok()?.len();
        let alike = self.by_size.get_or_init(|| self.look()).get(&size)?;
        let contents = fs::read(file).ok()?;
        let same = alike.iter().find(|(_, path)| fs::read(path).is_ok_and(|other| other == contents));
        same.map(|(name, _)| (*name).to_owned())
    }

    fn look(&self) -> HashMap<u64, Vec<(&'static str, PathBuf)>> {
        let mut by_size: HashMap<_, Vec<_>> = HashMap::new();
        for name in known_names().filter(|name| !HOLD_MANY.contains(name)) {
            for path in self.places.iter().map(|place| place.join(name)) {
                if let Ok(size) = fs::metadata(&path).map(|found| found.len()) {
                    by_size.entry(size).or_default().push((name, path));
                }
            }
        }
        by_size
    }
}

/// The program that reads the arguments of a script: the interpreter if the script is the value of one of its options, as in
/// `#!/usr/bin/awk -f`, or the program that gets all of them from it, as by `exec python3 "$@"`.
fn of_script(script: &str) -> Option<String> {
    let base = |word: &str| word.rsplit('/').next().unwrap_or(word).to_owned();
    let mut lines = script.lines();
    let first = lines.next()?.strip_prefix("#!")?;
    let mut words = first.split_whitespace().skip_while(|word| {
        base(word) == "env" || word.starts_with("-S") || *word == "--split-string" || word.contains('=')
    });
    let interpreter = base(words.next()?);
    let takes_arguments =
        |word: &str| word.starts_with('-') && !word.starts_with("--") && word.contains(['c', 'f', 'i', 's']);
    if reach_of(&interpreter).is_some() && words.any(takes_arguments) {
        return Some(interpreter);
    }
    let handed_on = |line: &str| {
        let line = line.trim();
        if line.starts_with('#') || !(line.contains("\"$@\"") || line.contains("$@") || line.contains("$*")) {
            return None;
        }
        let named = line.split_whitespace().map(|word| word.trim_matches(['"', '\'']));
        let named = named.skip_while(|word| matches!(*word, "exec" | "command" | "-a") || word.contains('=')).map(base);
        named.take(1).find(|name| reach_of(name).is_some())
    };
    lines.find_map(handed_on)
}

#[cfg(test)]
mod tests {
    use super::of_script;

    #[test]
    fn a_script_is_what_reads_its_arguments() {
        for (script, expected) in [
            ("#!/bin/sh\nexec /usr/bin/python3 \"$@\"\n", Some("python3")),
            ("#!/bin/sh\n# comment\nX=1 exec node $*\n", Some("node")),
            ("#!/bin/bash\nenv \"$@\"\n", Some("env")),
            ("#!/usr/bin/awk -f\nBEGIN {}\n", Some("awk")),
            ("#!/usr/bin/env -S sed -nf\n", Some("sed")),
            ("#!/usr/bin/make -f\n", Some("make")),
            ("#!/bin/sh -s\n", Some("sh")),
            ("#!/bin/sh -eu\necho \"$@\"\n", None),
            ("#!/bin/sh\necho ran \"$@\"; cat\n", None),
            ("#!/usr/bin/python3\nimport sys\n", None),
            ("#!/usr/bin/env node\nrequire('./npm')\n", None),
            ("#!/bin/sh\n# exec python3 \"$@\"\ntrue\n", None),
            ("#!", None),
        ] {
            assert_eq!(of_script(script).as_deref(), expected, "{script}");
        }
    }
}
