//! Finds the shared libraries that a program is linked with, and those that they are linked with, as the loader does: by RPATH
//! and RUNPATH, in the cache of ldconfig(8), and in the usual directories; see ld.so(8).
//!
//! If the loader chooses by the features of the processor (`glibc-hwcaps`), all libraries that it may choose are found. What a
//! program opens while it runs (plugins, Python modules), `LD_LIBRARY_PATH` and `/etc/ld.so.preload` are not followed.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Read};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use crate::files::{open_without_waiting, read_regular};
use crate::integrity::elf::{Elf, Linked};

const CACHE: &str = "/etc/ld.so.cache";
/// The beginning of the cache; see `dl-cache.h` of glibc.
const MAGIC: &[u8] = b"glibc-ld.so.cache1.1";
const LARGEST_CACHE: u64 = 16 * 1024 * 1024;
const HEADER: usize = 48;
const ENTRY: usize = 24;
/// How many libraries are followed for one program.
const MOST: usize = 4096;

/// The libraries of one program.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct FoundLibraries {
    /// The libraries, by the paths that the loader opens.
    pub libraries: BTreeSet<PathBuf>,
    /// Names for which no file was found.
    pub missing: BTreeSet<String>,
}

/// The libraries in the system's cache, read once for many programs.
pub(super) struct Libraries {
    cached: BTreeMap<OsString, Vec<PathBuf>>,
}

/// A file whose libraries are to be found: what it names, its directory, and the RPATH that it inherits.
struct Linking {
    linked: Linked,
    origin: PathBuf,
    inherited: Vec<PathBuf>,
}

impl Libraries {
    pub(super) fn of_this_system() -> Self {
        // Systems without this cache don't use glibc's loader.
        let cache = read_regular(Path::new(CACHE), LARGEST_CACHE).unwrap_or_default();
        Self { cached: cached(&cache) }
    }

    /// Finds the libraries of a program, given its real path. A file that is not ELF has none.
    pub(super) fn of(&self, program: &Path) -> io::Result<FoundLibraries> {
        let mut found = FoundLibraries::default();
        let Some((elf, linked)) = linked(program)? else { return Ok(found) };
        let usual = usual_directories(linked.loader.as_deref());
        let origin = |path: &Path| path.parent().map(Path::to_owned).unwrap_or_default();
        let mut left = vec![Linking { linked, origin: origin(program), inherited: Vec::new() }];
        while let Some(Linking { linked, origin: at, inherited }) = left.pop() {
            let own = |paths: &[OsString]| paths.iter().flat_map(|path| expanded(path, &at)).collect::<Vec<_>>();
            let (rpath, runpath) = (own(&linked.rpath), own(&linked.runpath));
            // A RUNPATH disables every RPATH, and is not inherited.
            let rpath: Vec<PathBuf> =
                if runpath.is_empty() { rpath.into_iter().chain(inherited).collect() } else { Vec::new() };
            for name in &linked.needed {
                let files = self.find(name, elf, rpath.iter().chain(&runpath), &usual);
                if files.is_empty() {
                    found.missing.insert(name.to_string_lossy().into_owned());
                }
                for file in files {
                    if found.libraries.len() == MOST || !found.libraries.insert(file.clone()) {
                        continue;
                    }
                    let real = fs::canonicalize(&file)?;
                    if let Some((_, linked)) = self::linked(&real)? {
                        left.push(Linking { linked, origin: origin(&real), inherited: rpath.clone() });
                    }
                }
            }
        }
        Ok(found)
    }

    /// The files that a name may mean to a program of this kind, from the first place that has any.
    fn find<'a>(
        &self,
        name: &OsStr,
        elf: Elf,
        first: impl Iterator<Item = &'a PathBuf>,
        usual: &[PathBuf],
    ) -> Vec<PathBuf> {
        let fits = |file: &PathBuf| {
            let linked = open_without_waiting(file).ok().and_then(|mut file| head(&mut file).ok().flatten());
            linked.is_some_and(|other| other.is_alike(elf))
        };
        if name.as_bytes().contains(&b'/') {
            // A relative path would be looked up in the directory of each call.
            return Some(PathBuf::from(name)).filter(|path| path.is_absolute() && fits(path)).into_iter().collect();
        }
        let in_directory = |directory: &PathBuf| {
            let levels = fs::read_dir(directory.join("glibc-hwcaps")).into_iter().flatten().flatten();
            let levels = levels.map(|level| level.path().join(name));
            levels.chain([directory.join(name)]).filter(fits).collect::<Vec<_>>()
        };
        let mut first = first.map(in_directory);
        if let Some(files) = first.find(|files| !files.is_empty()) {
            return files;
        }
        let cached: Vec<PathBuf> =
            self.cached.get(name).into_iter().flatten().filter(|file| fits(file)).cloned().collect();
        if !cached.is_empty() {
            return cached;
        }
        usual.iter().map(in_directory).find(|files| !files.is_empty()).unwrap_or_default()
    }
}

/// The ELF header of a file, and what it is linked with; `None` if it is not an ELF file.
fn linked(file: &Path) -> io::Result<Option<(Elf, Linked)>> {
    let mut file = open_without_waiting(file)?;
    match head(&mut file)? {
        Some(elf) => Ok(Some((elf, elf.linked(&mut file)?))),
        None => Ok(None),
    }
}

fn head(file: &mut fs::File) -> io::Result<Option<Elf>> {
    let mut head = Vec::new();
    file.take(64).read_to_end(&mut head)?;
    Ok(Elf::parse(&head))
}

/// The directories of an RPATH or RUNPATH, with variables replaced.
fn expanded(path: &OsStr, origin: &Path) -> Vec<PathBuf> {
    let entries = path.as_bytes().split(|&byte| byte == b':').filter(|entry| !entry.is_empty());
    let one = |entry: &[u8]| -> Vec<PathBuf> {
        let mut text = entry.to_vec();
        for variable in [&b"$ORIGIN"[..], b"${ORIGIN}"] {
            text = replaced(&text, variable, origin.as_os_str().as_bytes());
        }
        // The meaning of `$LIB` differs between systems, so all of them are tried.
        let is_lib =
            |text: &[u8]| text.windows(4).any(|part| part == b"$LIB") || text.windows(6).any(|part| part == b"${LIB}");
        if !is_lib(&text) {
            return vec![OsString::from_vec(text).into()];
        }
        let names = ["lib64", "lib", "lib/x86_64-linux-gnu", "lib/aarch64-linux-gnu"];
        let named = |name: &str| {
            let text = replaced(&replaced(&text, b"${LIB}", name.as_bytes()), b"$LIB", name.as_bytes());
            OsString::from_vec(text).into()
        };
        names.into_iter().map(named).collect()
    };
    entries.flat_map(one).collect()
}

fn replaced(text: &[u8], what: &[u8], with: &[u8]) -> Vec<u8> {
    let mut made = Vec::new();
    let mut rest = text;
    while let Some((at, found)) =
        rest.windows(what.len()).position(|part| part == what).and_then(|at| Some((at, rest.get(at..)?)))
    {
        made.extend(rest.iter().take(at));
        made.extend(with);
        rest = found.get(what.len()..).unwrap_or_default();
    }
    made.extend(rest);
    made
}

fn usual_directories(loader: Option<&Path>) -> Vec<PathBuf> {
    let name = loader.and_then(Path::file_name).unwrap_or_default().to_string_lossy().into_owned();
    if let Some(architecture) = name.strip_prefix("ld-musl-").and_then(|rest| rest.strip_suffix(".so.1")) {
        let named = read_regular(Path::new(&format!("/etc/ld-musl-{architecture}.path")), LARGEST_CACHE);
        let named = named.ok().filter(|text| !text.is_empty());
        let text = named.unwrap_or_else(|| b"/lib:/usr/local/lib:/usr/lib".to_vec());
        let entries = text.split(|byte| matches!(byte, b':' | b'\n')).filter(|entry| !entry.is_empty());
        return entries.map(|entry| PathBuf::from(OsStr::from_bytes(entry))).collect();
    }
    let all =
        ["/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib/aarch64-linux-gnu", "/usr/lib/aarch64-linux-gnu"];
    all.into_iter().chain(["/lib64", "/usr/lib64", "/lib", "/usr/lib"]).map(PathBuf::from).collect()
}

/// Reads the cache: the files of each name, in its order. If it is cut off or has another format, less is found.
fn cached(cache: &[u8]) -> BTreeMap<OsString, Vec<PathBuf>> {
    // The cache may begin with an older format.
    let start = cache.windows(MAGIC.len()).position(|part| part == MAGIC);
    let Some(cache) = start.and_then(|start| cache.get(start..)) else { return BTreeMap::new() };
    let number = |at: usize| {
        let bytes = cache.get(at..at.checked_add(4)?)?.try_into().ok()?;
        usize::try_from(u32::from_ne_bytes(bytes)).ok()
    };
    let text = |at: usize| {
        let rest = cache.get(at..)?;
        Some(OsStr::from_bytes(rest.split(|&byte| byte == 0).next()?))
    };
    let mut found: BTreeMap<OsString, Vec<PathBuf>> = BTreeMap::new();
    for index in 0..number(MAGIC.len()).unwrap_or_default() {
        let at = HEADER + index * ENTRY;
        let (Some(key), Some(value)) = (number(at + 4).and_then(text), number(at + 8).and_then(text)) else { break };
        found.entry(key.to_owned()).or_default().push(value.into());
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_libraries_of_a_program_are_those_that_the_loader_opens() {
        let libraries = Libraries::of_this_system();
        let program = fs::canonicalize("/proc/self/exe").unwrap();
        let found = libraries.of(&program).unwrap();
        assert_eq!(found.missing, BTreeSet::new());
        // What this very process has mapped at its start.
        let maps = fs::read_to_string("/proc/self/maps").unwrap();
        let mapped = maps.lines().filter_map(|line| Some(line.split_once('/')?.1)).map(|path| format!("/{path}"));
        let mapped: BTreeSet<PathBuf> = mapped.filter(|path| path.contains(".so")).map(PathBuf::from).collect();
        let real: BTreeSet<PathBuf> = found.libraries.iter().map(|path| fs::canonicalize(path).unwrap()).collect();
        let loaders = |path: &&PathBuf| !path.to_string_lossy().contains("/ld-");
        let [mapped, real] = [&mapped, &real].map(|paths| paths.iter().filter(loaders).collect::<BTreeSet<_>>());
        assert_eq!(mapped, real);
        assert!(!mapped.is_empty() || cfg!(target_env = "musl"));
        assert_eq!(libraries.of(Path::new("/etc/hostname")).unwrap_or_default(), FoundLibraries::default());
    }

    #[test]
    fn variables_of_a_runpath_are_replaced() {
        let check = |path: &str, expected: &[&str]| {
            let found = expanded(OsStr::new(path), Path::new("/opt/t/bin"));
            assert_eq!(found, expected.iter().map(PathBuf::from).collect::<Vec<_>>(), "{path}");
        };
        check("$ORIGIN/../lib:/a::${ORIGIN}", &["/opt/t/bin/../lib", "/a", "/opt/t/bin"]);
        check("/x/$LIB", &["/x/lib64", "/x/lib", "/x/lib/x86_64-linux-gnu", "/x/lib/aarch64-linux-gnu"]);
        check("", &[]);
    }

    #[test]
    fn no_cache_is_too_odd() {
        let mut cache = MAGIC.to_vec();
        cache.extend(2u32.to_ne_bytes());
        cache.resize(HEADER, 0);
        for (key, value) in [(96u32, 104u32), (u32::MAX, 0)] {
            for number in [0, key, value, 0, 0, 0] {
                cache.extend(number.to_ne_bytes());
            }
        }
        cache.extend(b"liba.so\0/lib/a.so\0");
        let expected: BTreeMap<OsString, Vec<PathBuf>> = [("liba.so".into(), vec!["/lib/a.so".into()])].into();
        assert_eq!(cached(&cache), expected);
        for length in 0..cache.len() {
            cached(cache.get(..length).unwrap());
        }
        assert!(cached(b"another format").is_empty());
    }
}
