//! The files that starting a program needs besides the program: its ELF loader, its `#!` interpreters, and what env(1)
//! starts.
//!
//! The kernel requires the right to execute each of these files, see execve(2). The amount read of a file is bounded, and a
//! file that is not a program needs nothing. A first line is read as the kernel reads it, and its argument as env(1) does,
//! as long as that is simple; otherwise it is [`Unclear`] what would be executed.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Read, Seek};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::elf::{self, Elf};
use super::wrappers::{Reach, reach_of};
use super::{CommandPaths, Unclear};
use crate::files::{Held, is_executable, open_without_waiting};

/// How much of a file the kernel looks at to find its first line: `BINPRM_BUF_SIZE` since Linux 5.1, `IMG_SHSIZE` on macOS.
const HEAD: u64 = if cfg!(target_os = "linux") { 256 } else { 512 };

/// Whether programs are ELF files; other platforms have formats that are not read here.
const IS_ELF: bool = cfg!(target_os = "linux");

/// env(1) gives a file that the kernel does not execute to this shell, see execvp(3). Shells run such a file themselves.
const SHELL: &str = "/bin/sh";

/// Programs of many names: the first word after their own says which one they are.
const OF_MANY_NAMES: [&str; 3] = ["busybox", "coreutils", "toybox"];

/// Programs that start others, and for which a script is a file in their own language all the same.
const WITH_A_LANGUAGE: &str = "\
    ant bmake cabal cmake dune execlineb gmake groff just make mill nextflow openrc-run pmake rake rdmd remake sbt snakemake \
    stack tcc zx";

/// Interpreters that take a script after the word `run`.
const WITH_RUN: [&str; 2] = ["bun", "deno"];

/// A file that is executed with another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Needed {
    /// The interpreter of a script, with the argument that the first line gives it.
    Interpreter(PathBuf, Option<OsString>),
    /// The loader of an ELF file (Linux).
    Loader(PathBuf),
    /// The shell, for a file that is neither a script nor an ELF file, and that env(1) or a shell starts
    /// (Linux).
    Shell,
}

/// The interpreters of a file, and what it needs but can't be used.
#[derive(Debug, Default)]
pub(crate) struct Interpreters {
    pub files: BTreeSet<PathBuf>,
    /// The file that it names and the kernel can't execute. If env(1) starts the file, it goes on to the next one in
    /// `PATH`.
    pub broken: Option<PathBuf>,
    /// The name that env(1) would start, but does not find.
    pub not_found: Option<OsString>,
}

impl Interpreters {
    /// Finds the interpreters of a file with these needs.
    ///
    /// # Errors
    /// [`Unclear`].
    pub(crate) fn of(needed: &[Needed], paths: &CommandPaths) -> Result<Self, Unclear> {
        let mut found = Self::default();
        for needed in needed {
            match needed {
                Needed::Loader(loader) => {
                    if !is_executable(loader) {
                        found.broken = Some(loader.clone());
                    }
                }
                Needed::Shell => found.add(Path::new(SHELL))?,
                Needed::Interpreter(path, argument) => {
                    found.add(path)?;
                    let argument = argument.as_deref().unwrap_or_default();
                    if !is_env(path) {
                        check_runs_the_script(path, argument.as_bytes())?;
                    } else if !argument.is_empty() {
                        found.add_started_by_env(argument, paths)?;
                    }
                }
            }
        }
        Ok(found)
    }

    fn add(&mut self, path: &Path) -> Result<(), Unclear> {
        if !path.is_absolute() {
            return Err(Unclear::Relative { named: path.to_owned() });
        }
        if is_executable(path) {
            self.files.insert(path.to_owned());
        } else {
            self.broken = Some(path.to_owned());
        }
        Ok(())
    }

    fn add_started_by_env(&mut self, argument: &OsStr, paths: &CommandPaths) -> Result<(), Unclear> {
        let unclear = |why| Unclear::Env { argument: argument.to_string_lossy().into_owned(), why };
        let (name, arguments) = started_by_env(argument.as_bytes()).map_err(unclear)?;
        let name = OsStr::from_bytes(name);
        let started = if name.as_bytes().contains(&b'/') { BTreeSet::from([name.into()]) } else { paths.find(name)? };
        if started.iter().any(|file| is_env(file)) {
            return Err(unclear("it starts env(1) once more"));
        }
        if started.is_empty() {
            self.not_found = Some(name.to_owned());
        }
        started.iter().try_for_each(|file| {
            check_runs_the_script(file, arguments)?;
            self.add(file)
        })
    }
}

/// Finds out that a program runs the script: that it is not one such as nice(1), which starts what its arguments name, and that
/// it gets no other file in front of the script. A word that may be the value of an option may be such a file too.
fn check_runs_the_script(program: &Path, arguments: &[u8]) -> Result<(), Unclear> {
    let starts =
        |name: &str| reach_of(name) == Some(Reach::Wrapper) && !WITH_A_LANGUAGE.split(' ').any(|with| with == name);
    let name_of = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let name = name_of(program);
    let mut words = arguments.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).peekable();
    let is_starter = if OF_MANY_NAMES.contains(&name.as_str()) {
        // `busybox nice`, or `coreutils --coreutils-prog-shebang=nice`.
        let first = words.next().unwrap_or_default();
        first.rsplit(|byte| *byte == b'=').next().is_some_and(|name| starts(&String::from_utf8_lossy(name)))
    } else {
        starts(&name) || fs::canonicalize(program).is_ok_and(|real| starts(&name_of(&real)))
    };
    if is_starter {
        return Err(Unclear::Started { named: program.display().to_string() });
    }
    if WITH_RUN.contains(&name.as_str()) {
        words.next_if(|word| *word == b"run");
    }
    match words.find(|word| !word.starts_with(b"-") && !word.starts_with(b"+")) {
        None => Ok(()),
        Some(word) => Err(Unclear::Argument {
            argument: String::from_utf8_lossy(word).into_owned(),
            named: program.display().to_string(),
        }),
    }
}

/// Whether a path leads to env(1), by its own name or by that of the file that it links to.
fn is_env(path: &Path) -> bool {
    let is_named = |path: &Path| path.file_name() == Some(OsStr::new("env"));
    is_named(path) || fs::canonicalize(path).is_ok_and(|real| is_named(&real))
}

/// Facts about a file's execution, from its beginning.
#[derive(Debug, Default)]
pub(crate) struct Head {
    pub needed: Vec<Needed>,
    /// Whether it is an ELF file that this processor executes.
    pub is_native: bool,
}

/// The files that are executed with a file.
///
/// # Errors
/// If it can't be read.
pub(crate) fn needed_by(held: &Held) -> io::Result<Vec<Needed>> {
    read(held).map(|read| read.needed)
}

/// Reads the beginning of a file, and the name of its loader.
///
/// # Errors
/// If it can't be read.
pub(crate) fn read(held: &Held) -> io::Result<Head> {
    let mut file = open_without_waiting(&held.spawn_path())?;
    let mut head = Vec::new();
    file.by_ref().take(HEAD).read_to_end(&mut head)?;
    if let Some(interpreter) = interpreter(&head) {
        return Ok(Head { needed: vec![interpreter], is_native: false });
    }
    if !IS_ELF {
        return Ok(Head::default());
    }
    let Some(elf) = Elf::parse(&head) else {
        return Ok(Head { needed: vec![Needed::Shell], is_native: false });
    };
    let is_native = elf.is_native();
    let needed = elf.interpreter(&mut file)?.map(Needed::Loader).into_iter().collect();
    Ok(Head { needed, is_native })
}

/// The known interpreter whose code is linked into the program that begins like this, see [`elf::interpreter_linked`].
pub(super) fn interpreter_linked(head: &[u8], file: &mut (impl Read + Seek)) -> Option<&'static str> {
    if IS_ELF { elf::interpreter_linked(head, file) } else { None }
}

/// Reads the first line as `load_script` of Linux does (`fs/binfmt_script.c`): only blanks separate words, a NUL ends the line, and
/// the rest after the interpreter is one argument. `None` if the kernel would not execute it.
fn interpreter(head: &[u8]) -> Option<Needed> {
    let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t');
    let is_cut = head.len() as u64 == HEAD;
    let rest = head.strip_prefix(b"#!")?;
    // If the last byte that the kernel has does not end the line, it becomes the end of what is copied. Other systems let `#` end
    // the line.
    let rest = if is_cut && rest.last() != Some(&b'\n') { rest.split_last()?.1 } else { rest };
    let ends = |byte: &u8| matches!(byte, b'\n' | 0) || !cfg!(target_os = "linux") && *byte == b'#';
    let end = rest.iter().position(ends);
    let line = rest.get(..end.unwrap_or(rest.len()))?;
    // Blanks don't count at the end of a line or of the kernel's buffer, but they do before a NUL and at the end of the file.
    let is_trimmed = match end.and_then(|end| rest.get(end)) {
        Some(0) => false,
        Some(_) => true,
        None => is_cut,
    };
    let line = trim_start(line, is_blank);
    let is_whole = !is_cut || end.is_some() || line.iter().any(is_blank);
    let kept =
        if is_trimmed { line.iter().rposition(|byte| !is_blank(byte)).map_or(0, |last| last + 1) } else { line.len() };
    let line = line.get(..kept)?;
    let split = line.iter().position(is_blank).unwrap_or(line.len());
    let (name, argument) = line.split_at_checked(split)?;
    let argument = trim_start(argument, is_blank);
    if name.is_empty() || !is_whole {
        return None;
    }
    let argument = (!argument.is_empty()).then(|| OsStr::from_bytes(argument).to_owned());
    Some(Needed::Interpreter(OsStr::from_bytes(name).into(), argument))
}

fn trim_start(bytes: &[u8], is_dropped: impl Fn(&u8) -> bool) -> &[u8] {
    let start = bytes.iter().position(|byte| !is_dropped(byte)).unwrap_or(bytes.len());
    bytes.get(start..).unwrap_or_default()
}

/// Returns the name of the program that env(1) starts with this argument from a first line, and the rest of the
/// argument. Only simple arguments are understood.
fn started_by_env(argument: &[u8]) -> Result<(&[u8], &[u8]), &'static str> {
    const NOTHING: &str = "it names no program";
    let split = argument.strip_prefix(b"-S").or_else(|| argument.strip_prefix(b"--split-string="));
    let words = match split {
        Some(words) => words,
        // The Linux kernel passes it as one argument.
        None if cfg!(target_os = "linux") => {
            return match argument {
                [b'-', ..] => Err("it has options of env(1)"),
                _ if argument.contains(&b'=') => Err(NOTHING),
                _ => Ok((argument, b"")),
            };
        }
        None => argument,
    };
    let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t'..=b'\r');
    let mut rest = trim_start(words, is_blank);
    while !rest.is_empty() {
        let (word, behind) = rest.split_at(rest.iter().position(is_blank).unwrap_or(rest.len()));
        rest = trim_start(behind, is_blank);
        if word.first() == Some(&b'#') || word.iter().any(|byte| matches!(byte, b'\'' | b'"' | b'\\' | b'$')) {
            return Err("it has quotes, escapes, variables or a comment");
        }
        match word {
            [b'-', ..] => return Err("it has options of env(1) besides `-S`"),
            [b'P', b'A', b'T', b'H', b'=', ..] => return Err("it sets `PATH`"),
            [b'=', ..] => return Err("it sets a variable without a name"),
            _ if word.contains(&b'=') => {}
            _ => return Ok((word, rest)),
        }
    }
    Err(NOTHING)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_first_line_is_read_as_the_kernel_reads_it() {
        let check = |head: &[u8], expected: Option<(&str, Option<&str>)>| {
            let expected = expected.map(|(path, argument)| Needed::Interpreter(path.into(), argument.map(Into::into)));
            assert_eq!(interpreter(head), expected, "{:?}", String::from_utf8_lossy(head));
        };
        check(b"#!/bin/sh\necho", Some(("/bin/sh", None)));
        check(b"#! \t/bin/sh \t-e  -u \t\n", Some(("/bin/sh", Some("-e  -u"))));
        check(b"#!/bin/sh -e ", Some(("/bin/sh", Some("-e "))));
        check(b"#!/bin/sh\r\n", Some(("/bin/sh\r", None)));
        check(b"#!/bin/sh\x0b-e\n", Some(("/bin/sh\x0b-e", None)));
        for nothing in [b"" as &[u8], b"#", b"#!", b"#! \t\n", b" #!/bin/sh\n", b"# !/bin/sh\n"] {
            check(nothing, None);
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_long_first_line_is_cut_where_the_kernel_cuts_it() {
        let read = |line: String| interpreter(&line.as_bytes()[..line.len().min(256)]);
        let named = |path: &str, argument: Option<String>| Needed::Interpreter(path.into(), argument.map(Into::into));
        assert_eq!(read(format!("#!/bin/sh {}\n", "x".repeat(300))), Some(named("/bin/sh", Some("x".repeat(245)))));
        assert_eq!(read(format!("#!/bin/sh -e{}\n", " ".repeat(300))), Some(named("/bin/sh", Some("-e".to_owned()))));
        for (length, is_read) in [(252, true), (253, true), (254, false), (300, false)] {
            let path = format!("/{}", "x".repeat(length - 1));
            assert_eq!(read(format!("#!{path}\nrest")), is_read.then(|| named(&path, None)), "{length}");
        }
        // A NUL ends the line, and what follows it does not count.
        assert_eq!(read("#!/bin/sh\0 -e\n".to_owned()), Some(named("/bin/sh", None)));
        assert_eq!(read("#!/bin/sh -e \0-u\n".to_owned()), Some(named("/bin/sh", Some("-e ".to_owned()))));
    }

    #[test]
    fn a_program_that_starts_what_its_arguments_name_is_known_by_its_name_or_its_file() {
        let dir = tempfile::tempdir().unwrap();
        let link = dir.path().join("calm");
        fs::write(dir.path().join("nice"), "").unwrap();
        std::os::unix::fs::symlink("nice", &link).unwrap();
        for (program, arguments, starts) in [
            ("/usr/bin/nice", "python3", true),
            ("/opt/timeout", "", true),
            (link.to_str().unwrap(), "python3", true),
            ("/usr/bin/uv", "run --script", true),
            ("/lib64/ld-linux-x86-64.so.2", "/usr/bin/python3", true),
            ("/bin/busybox", "env python3", true),
            ("/bin/busybox", "sh -e", false),
            ("/bin/busybox", "", false),
            ("/bin/coreutils", "--coreutils-prog-shebang=nohup python3", true),
            ("/bin/coreutils", "--coreutils-prog-shebang=cat", false),
            ("/usr/bin/make", "-f", false),
            ("/usr/bin/python3", "-u", false),
            ("/bin/sh", "nice", true),
            ("/bin/sh", "/opt/other", true),
            ("/usr/bin/choom", "-n 5 sh", true),
            ("/bin/sh", " -e", false),
            ("/bin/sh", "-e /opt/other", true),
            ("/bin/busybox", "sh /opt/other", true),
            ("/usr/bin/deno", "run --allow-read", false),
            ("/usr/bin/deno", "run other", true),
        ] {
            let checked = check_runs_the_script(Path::new(program), arguments.as_bytes());
            assert_eq!(checked.is_err(), starts, "{program} {arguments}");
        }
    }

    #[test]
    fn what_env_starts_is_told_only_where_it_is_simple() {
        for (argument, expected) in [
            ("python3", Ok("python3")),
            ("/opt/x/tool", Ok("/opt/x/tool")),
            ("-S python3 -u 'x'", Ok("python3")),
            ("-Spython3 -u", Ok("python3")),
            ("--split-string=A=b \t python3 -u", Ok("python3")),
            ("-", Err("options")),
            ("-i", Err("options")),
            ("-iS python3", Err("options")),
            ("--split-string python3", Err("options")),
            ("-S -i python3", Err("options")),
            ("-S -u PATH python3", Err("options")),
            ("-S A=b PATH=/x python3", Err("sets `PATH`")),
            ("-S A='b c' python3", Err("quotes")),
            ("-S ${X} python3", Err("quotes")),
            ("-S py\\_thon3", Err("quotes")),
            ("-S #python3", Err("quotes")),
            ("-S A=b", Err("names no program")),
            ("-S", Err("names no program")),
        ] {
            let told = started_by_env(argument.as_bytes()).map(|(name, _)| String::from_utf8_lossy(name));
            match expected {
                Ok(name) => assert_eq!(told, Ok(name.into()), "{argument}"),
                Err(why) => assert!(told.as_ref().is_err_and(|told| told.contains(why)), "{argument}: {told:?}"),
            }
        }
    }
}
