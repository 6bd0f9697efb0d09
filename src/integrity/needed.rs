//! What starting a program needs besides the program: its ELF loader, its `#!` interpreters, and what env(1) starts.
//!
//! The kernel requires the right to execute each of these files, see execve(2). The amount read of a file is bounded, and a
//! file that is not a program needs nothing.

use std::ffi::OsStr;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::contents::Contents;
#[cfg(target_os = "linux")]
use super::elf::Elf;
use crate::files::{Held, open_without_waiting};

/// How much of a first line counts; the kernel reads 256 bytes of it.
const FIRST_LINE: u64 = 512;

/// A file that is executed with another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Needed {
    /// The interpreter of a script.
    Path(PathBuf),
    /// What env(1) starts, to be looked up.
    Name(PathBuf),
    /// The loader of an ELF file.
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "programs have another format there"))]
    Loader(PathBuf),
}

impl Needed {
    /// The file; `None` where no directory of the search path has it.
    pub(crate) fn find(self, search_path: &[PathBuf]) -> Option<PathBuf> {
        match self {
            Self::Path(path) | Self::Loader(path) => Some(path),
            Self::Name(name) => search_path.iter().map(|entry| entry.join(&name)).find(|path| path.is_file()),
        }
    }
}

/// The interpreters that a file names, as they are found.
pub(super) fn interpreters<'a>(
    contents: &'a Contents,
    search_path: &'a [PathBuf],
) -> impl Iterator<Item = PathBuf> + 'a {
    let named = contents.needed.iter().filter(|needed| !matches!(needed, Needed::Loader(_)));
    named.filter_map(|needed| needed.clone().find(search_path))
}

/// What the beginning of a file says of its execution.
#[derive(Debug, Default)]
pub(crate) struct Head {
    pub needed: Vec<Needed>,
    /// Whether it is an ELF file that this processor executes.
    pub is_native: bool,
}

/// What is executed with a file besides itself.
///
/// # Errors
/// Where it can't be read.
#[cfg(target_os = "linux")]
pub(crate) fn needed_by(held: &Held) -> io::Result<Vec<Needed>> {
    read(held).map(|read| read.needed)
}

/// Reads the beginning of a file, and the name of its loader.
///
/// # Errors
/// Where it can't be read.
pub(crate) fn read(held: &Held) -> io::Result<Head> {
    let mut file = open_without_waiting(&held.spawn_path())?;
    let mut head = Vec::new();
    file.by_ref().take(FIRST_LINE).read_to_end(&mut head)?;
    if let Some(line) = head.strip_prefix(b"#!") {
        return Ok(Head { needed: shebang(line), is_native: false });
    }
    #[cfg(target_os = "linux")]
    if let Some(elf) = Elf::parse(&head) {
        let needed = elf.interpreter(&mut file)?.map(Needed::Loader).into_iter().collect();
        return Ok(Head { needed, is_native: elf.is_native() });
    }
    Ok(Head::default())
}

/// Reads the first line after `#!`: the interpreter, and if that is env(1), what it starts in turn.
fn shebang(line: &[u8]) -> Vec<Needed> {
    let line = line.split(|&byte| byte == b'\n').next().unwrap_or_default();
    let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    let Some(interpreter) = words.next().map(|word| Path::new(OsStr::from_bytes(word))) else { return Vec::new() };
    let mut needed = vec![Needed::Path(interpreter.to_owned())];
    if interpreter.file_name() == Some(OsStr::new("env")) {
        // Options and assignments come before the name; `-S` may be attached to it.
        let words = words.map(|word| word.strip_prefix(b"-S").unwrap_or(word));
        let name = words.filter(|word| !word.is_empty()).find(|word| !word.starts_with(b"-") && !word.contains(&b'='));
        needed.extend(name.map(|name| {
            let name = PathBuf::from(OsStr::from_bytes(name));
            if name.components().count() > 1 { Needed::Path(name) } else { Needed::Name(name) }
        }));
    }
    needed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_first_line_names_its_interpreter_and_what_env_starts() {
        let check = |line: &str, expected: &[&str]| {
            let shown = shebang(line.as_bytes()).into_iter().map(|needed| match needed {
                Needed::Path(path) | Needed::Loader(path) => path.display().to_string(),
                Needed::Name(name) => format!("name {}", name.display()),
            });
            assert_eq!(shown.collect::<Vec<_>>(), expected, "{line:?}");
        };
        check("/bin/sh\necho", &["/bin/sh"]);
        check(" /bin/sh -e\n", &["/bin/sh"]);
        check("/usr/bin/env python3\n", &["/usr/bin/env", "name python3"]);
        check("/usr/bin/env -S A=b python3 -u\n", &["/usr/bin/env", "name python3"]);
        check("/usr/bin/env -Spython3 -u", &["/usr/bin/env", "name python3"]);
        check("/usr/bin/env /opt/x/tool\n", &["/usr/bin/env", "/opt/x/tool"]);
        check("/usr/bin/env\n", &["/usr/bin/env"]);
        check("\n", &[]);
    }
}
