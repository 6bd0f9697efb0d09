//! Which known program a file under another name is: a link to it, a copy of it, another build of it, or a script that hands its
//! arguments on to it.

use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeSet, HashMap};
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use super::script::{self, UNKNOWN};
use super::wrappers::{known_names, reach_of};

/// How much of a script is read.
const LONGEST_SCRIPT: u64 = 256 * 1024;

/// How many scripts one after the other are followed.
const DEEPEST: usize = 3;

/// Programs that are many in one file: what a link to them does depends on its name.
const HOLD_MANY: [&str; 4] = ["busybox", "toybox", "coreutils", "rustup"];

/// A file that is one of these too is many programs in one, whatever it is called.
const HARMLESS: [&str; 18] = [
    "true", "false", "cat", "ls", "echo", "pwd", "cp", "mkdir", "date", "uname", "basename", "dirname", "head", "wc",
    "id", "sleep", "rustc", "rustfmt",
];

/// The known programs in the directories of a search path, which are looked for if a file is compared with them.
#[derive(Debug, Default)]
pub(crate) struct KnownPrograms {
    places: Vec<PathBuf>,
    by_size: OnceCell<HashMap<u64, Vec<FoundProgram>>>,
    /// Earlier answers, by real path.
    names: RefCell<HashMap<PathBuf, Option<String>>>,
}

/// A program in a directory of the search path.
#[derive(Debug)]
struct FoundProgram {
    /// `None` if its file is one of those that hold many.
    name: Option<String>,
    path: PathBuf,
}

impl KnownPrograms {
    /// Those in these directories.
    pub fn new(places: &[PathBuf]) -> Self {
        Self { places: places.to_vec(), ..Self::default() }
    }

    /// The name of the interpreter or wrapper that this program is, although it has another name; `None` if nothing is known.
    pub fn name_of(&self, program: &Path) -> Option<String> {
        self.named(program, DEEPEST)
    }

    fn named(&self, program: &Path, depth: usize) -> Option<String> {
        let real = program.canonicalize().ok()?;
        if let Some(known) = self.names.borrow().get(&real) {
            return known.clone();
        }
        let name = self.look_at(&real, depth);
        self.names.borrow_mut().insert(real, name.clone());
        name
    }

    fn look_at(&self, real: &Path, depth: usize) -> Option<String> {
        let name = real.file_name()?.to_str()?;
        if HOLD_MANY.contains(&name) {
            return None;
        }
        if reach_of(name).is_some() {
            return Some(name.to_owned());
        }
        let mut file = File::open(real).ok().filter(|file| file.metadata().is_ok_and(|found| found.is_file()))?;
        let mut start = Vec::new();
        file.by_ref().take(LONGEST_SCRIPT).read_to_end(&mut start).ok()?;
        // A shell also runs a text without a first line.
        if start.starts_with(b"#!") || !start.iter().take(256).any(|byte| *byte == 0) {
            return script::program_of(&String::from_utf8_lossy(&start), &|word| self.of_word(word, depth));
        }
        if let Some(name) = super::needed::interpreter_linked(&start, &mut file) {
            return Some(name.to_owned());
        }
        self.copied_as(real)
    }

    /// The known program that a script names with a word.
    fn of_word(&self, word: &str, depth: usize) -> Option<String> {
        let name = word.rsplit('/').next().filter(|name| !name.contains(UNKNOWN))?;
        if reach_of(name).is_some() {
            return Some(name.to_owned());
        }
        let depth = depth.checked_sub(1)?;
        if word.starts_with('/') {
            return self.named(Path::new(word), depth);
        }
        let is_name = !word.is_empty() && !word.contains(['/', UNKNOWN]);
        let mut paths = self.places.iter().filter(|_| is_name).map(|place| place.join(word));
        paths.find(|path| path.is_file()).and_then(|path| self.named(&path, depth))
    }

    /// The known program that has the same contents.
    fn copied_as(&self, file: &Path) -> Option<String> {
        let size = fs::metadata(file).ok()?.len();
        let alike = self.by_size.get_or_init(|| self.look()).get(&size)?;
        let contents = fs::read(file).ok()?;
        let same: Vec<&FoundProgram> =
            alike.iter().filter(|found| fs::read(&found.path).is_ok_and(|other| other == contents)).collect();
        if same.iter().any(|found| found.name.is_none()) {
            return None;
        }
        same.first().and_then(|found| found.name.clone())
    }

    fn look(&self) -> HashMap<u64, Vec<FoundProgram>> {
        let mut by_size: HashMap<_, Vec<FoundProgram>> = HashMap::new();
        let places: BTreeSet<PathBuf> = self.places.iter().filter_map(|place| place.canonicalize().ok()).collect();
        let holds_many = |name: &str| HOLD_MANY.contains(&name) || HARMLESS.contains(&name);
        for place in places {
            let mut names: Vec<String> = match fs::read_dir(&place) {
                Ok(entries) => entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect(),
                // One that may only be searched.
                Err(_) => known_names().chain(HARMLESS).chain(HOLD_MANY).map(str::to_owned).collect(),
            };
            names.retain(|name| reach_of(name).is_some() || holds_many(name));
            names.sort();
            for name in names {
                let path = place.join(&name);
                if let Some(found) = fs::metadata(&path).ok().filter(fs::Metadata::is_file) {
                    let name = Some(name).filter(|name| !holds_many(name));
                    by_size.entry(found.len()).or_default().push(FoundProgram { name, path });
                }
            }
        }
        by_size
    }
}
