//! Reads from an ELF file which loader it names, and what it is linked with. It reads a bounded amount.

use std::ffi::{OsStr, OsString};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// The most program headers that are looked at, and the longest name of a loader.
const MOST_HEADERS: u16 = 64;
const LONGEST_NAME: u64 = 4096;
const PT_INTERP: u32 = 3;
const PT_LOAD: u32 = 1;
const PT_DYNAMIC: u32 = 2;
const DT_NEEDED: u64 = 1;
const DT_STRTAB: u64 = 5;
const DT_RPATH: u64 = 15;
const DT_RUNPATH: u64 = 29;
/// How much is read of the section that names what a file is linked with.
const LARGEST_SECTION: u64 = 256 * 1024;

/// The numbers of this processor in `linux/elf-em.h`; empty for other processors.
const NATIVE: &[u16] = if cfg!(target_arch = "x86_64") {
    &[62, 3]
} else if cfg!(target_arch = "aarch64") {
    &[183]
} else {
    &[]
};

/// The header of an ELF file, see elf(5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Elf {
    is_64: bool,
    is_little: bool,
    machine: u16,
    headers: u64,
    header_size: u16,
    header_count: u16,
}

impl Elf {
    /// Reads the header from the beginning of a file; `None` if it is not an ELF header.
    pub fn parse(head: &[u8]) -> Option<Self> {
        let [0x7f, b'E', b'L', b'F', class @ (1 | 2), data @ (1 | 2), ..] = head else { return None };
        let fields = Fields { bytes: head, is_64: *class == 2, is_little: *data == 1 };
        let (after, sizes) = if fields.is_64 { (32, 54) } else { (28, 42) };
        Some(Self {
            is_64: fields.is_64,
            is_little: fields.is_little,
            machine: fields.half(18)?,
            headers: fields.word(after)?,
            header_size: fields.half(sizes)?,
            header_count: fields.half(sizes + 2)?,
        })
    }

    /// Whether this processor executes it, and not an emulator that gets its path from the kernel.
    pub fn is_native(&self) -> bool {
        NATIVE.contains(&self.machine)
    }

    /// Whether a library of this kind can be loaded into a program of the other.
    pub(super) fn is_alike(&self, other: Self) -> bool {
        (self.is_64, self.is_little, self.machine) == (other.is_64, other.is_little, other.machine)
    }

    /// Reads which loader the file names.
    pub(super) fn interpreter(&self, file: &mut (impl Read + Seek)) -> io::Result<Option<PathBuf>> {
        for index in 0..self.header_count.min(MOST_HEADERS) {
            let header = self.header(index, file)?;
            if header.kind == PT_INTERP {
                let name = name_at(file, header.offset, header.length.min(LONGEST_NAME))?;
                return Ok((!name.is_empty()).then(|| name.into()));
            }
        }
        Ok(None)
    }

    fn header(&self, index: u16, file: &mut (impl Read + Seek)) -> io::Result<Header> {
        let at = u64::from(index).saturating_mul(self.header_size.into());
        file.seek(SeekFrom::Start(self.headers.saturating_add(at)))?;
        let mut header = [0; 56];
        let size = if self.is_64 { 56 } else { 32 };
        file.read_exact(header.get_mut(..size).unwrap_or_default())?;
        let fields = Fields { bytes: &header, is_64: self.is_64, is_little: self.is_little };
        let [offset, address, length] = if self.is_64 { [8, 16, 32] } else { [4, 8, 16] };
        let word = |at| fields.word(at).ok_or(io::ErrorKind::InvalidData);
        let kind = fields.long(0).ok_or(io::ErrorKind::InvalidData)?;
        Ok(Header { kind, offset: word(offset)?, address: word(address)?, length: word(length)? })
    }

    /// Reads what the file is linked with; nothing if it is linked statically.
    pub(super) fn linked(&self, file: &mut (impl Read + Seek)) -> io::Result<Linked> {
        let mut linked = Linked::default();
        let headers = (0..self.header_count.min(MOST_HEADERS)).map(|index| self.header(index, file));
        let headers: Vec<Header> = headers.collect::<io::Result<_>>()?;
        let Some(dynamic) = headers.iter().find(|header| header.kind == PT_DYNAMIC) else { return Ok(linked) };
        let section = read_at(file, dynamic.offset, dynamic.length.min(LARGEST_SECTION))?;
        let width = if self.is_64 { 8 } else { 4 };
        let fields = Fields { bytes: &section, is_64: self.is_64, is_little: self.is_little };
        let entry = |index: usize| Some((fields.word(index * 2 * width)?, fields.word((index * 2 + 1) * width)?));
        let entries: Vec<(u64, u64)> = (0..).map_while(entry).take_while(|(tag, _)| *tag != 0).collect();
        let Some((_, address)) = entries.iter().find(|(tag, _)| *tag == DT_STRTAB) else { return Ok(linked) };
        // The entry holds the table's address in memory, so find the segment that is loaded there.
        let holds = |header: &&Header| {
            header.kind == PT_LOAD && (header.address..header.address.saturating_add(header.length)).contains(address)
        };
        let Some(load) = headers.iter().find(holds) else { return Ok(linked) };
        let strings = load.offset.saturating_add(address - load.address);
        for (tag, at) in entries {
            let list = match tag {
                DT_NEEDED => &mut linked.needed,
                DT_RPATH => &mut linked.rpath,
                DT_RUNPATH => &mut linked.runpath,
                _ => continue,
            };
            list.push(name_at(file, strings.saturating_add(at), LONGEST_NAME)?);
        }
        linked.loader = self.interpreter(file)?;
        Ok(linked)
    }
}

/// Libraries that hold an interpreter, and its name.
const INTERPRETERS: [(&str, &str); 20] = [
    ("libpython", "python3"),
    ("libpypy", "pypy3"),
    ("libperl", "perl"),
    ("libruby", "ruby"),
    ("libluajit", "luajit"),
    ("liblua", "lua"),
    ("libtcl", "tclsh"),
    ("libtk", "wish"),
    ("libguile", "guile"),
    ("libnode", "node"),
    ("libphp", "php"),
    ("libjvm", "java"),
    ("libjli", "java"),
    ("libR", "R"),
    ("libjulia", "julia"),
    ("liboctinterp", "octave"),
    ("libmono", "mono"),
    ("libmonosgen", "mono"),
    ("libquickjs", "qjs"),
    ("libswipl", "swipl"),
];

/// Libraries that say nothing of what a program is.
const COMMON: &str = "\
    ld-linux ld-musl ld64 libatomic libbsd libc libcrypt libdl libedit libexpat libffi libgcc_s libgmp libhistory libintl libm \
    libncurses libncursesw libnsl libpthread libreadline libresolv librt libstdc++ libtinfo libtinfow libutil libz linux-vdso";

/// The name of the interpreter that a program is linked with, and with nothing else of a kind. A program that has other libraries
/// too, such as a debugger, has an interpreter among other things.
pub(super) fn interpreter_linked(head: &[u8], file: &mut (impl Read + Seek)) -> Option<&'static str> {
    let linked = Elf::parse(head)?.linked(file).ok()?;
    // The name of a library ends where its version begins: `libpython3.13t.so.1.0`, `libtcl8.6.so`, `libjulia-internal.so`.
    let is_of = |library: &str, name: &str| {
        library.strip_prefix(name).is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_lowercase() || c == '_'))
    };
    let mut found = None;
    for library in &linked.needed {
        let library = library.to_str()?;
        match INTERPRETERS.iter().find(|(name, _)| is_of(library, name)) {
            Some((_, name)) => found = found.or(Some(*name)),
            None if COMMON.split(' ').any(|name| is_of(library, name)) => {}
            None => return None,
        }
    }
    found
}

/// The files that an ELF file is linked with, see ld.so(8).
#[derive(Debug, Default)]
pub(super) struct Linked {
    pub loader: Option<PathBuf>,
    pub needed: Vec<OsString>,
    pub rpath: Vec<OsString>,
    pub runpath: Vec<OsString>,
}

/// A program header.
struct Header {
    kind: u32,
    offset: u64,
    address: u64,
    length: u64,
}

/// Reads at an offset, up to the end of the file.
fn read_at(file: &mut (impl Read + Seek), offset: u64, length: u64) -> io::Result<Vec<u8>> {
    file.seek(SeekFrom::Start(offset))?;
    let mut bytes = Vec::new();
    file.take(length).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads a name that ends with a NUL.
fn name_at(file: &mut (impl Read + Seek), offset: u64, longest: u64) -> io::Result<OsString> {
    let bytes = read_at(file, offset, longest)?;
    Ok(OsStr::from_bytes(bytes.split(|&byte| byte == 0).next().unwrap_or_default()).to_owned())
}

/// Numbers in the byte order and width of the file.
struct Fields<'a> {
    bytes: &'a [u8],
    is_64: bool,
    is_little: bool,
}

impl Fields<'_> {
    fn number(&self, at: usize, size: usize) -> Option<u64> {
        let bytes = self.bytes.get(at..at.checked_add(size)?)?;
        let join = |number: u64, byte: &u8| (number << 8) | u64::from(*byte);
        Some(if self.is_little { bytes.iter().rev().fold(0, join) } else { bytes.iter().fold(0, join) })
    }

    fn half(&self, at: usize) -> Option<u16> {
        u16::try_from(self.number(at, 2)?).ok()
    }

    fn long(&self, at: usize) -> Option<u32> {
        u32::try_from(self.number(at, 4)?).ok()
    }

    fn word(&self, at: usize) -> Option<u64> {
        self.number(at, if self.is_64 { 8 } else { 4 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    /// A header of either width and byte order, with one program header that names `/ld`.
    fn elf(is_64: bool, is_little: bool) -> Vec<u8> {
        let mut bytes = vec![0x7f, b'E', b'L', b'F', if is_64 { 2 } else { 1 }, if is_little { 1 } else { 2 }, 1];
        bytes.resize(200, 0);
        let mut put = |at: usize, size: usize, number: u64| {
            for (index, byte) in number.to_le_bytes().iter().take(size).enumerate() {
                bytes[at + if is_little { index } else { size - 1 - index }] = *byte;
            }
        };
        let width = if is_64 { 8 } else { 4 };
        put(if is_64 { 32 } else { 28 }, width, 64);
        put(if is_64 { 54 } else { 42 }, 2, if is_64 { 56 } else { 32 });
        put(if is_64 { 56 } else { 44 }, 2, 1);
        put(64, 4, PT_INTERP.into());
        put(if is_64 { 72 } else { 68 }, width, 150);
        put(if is_64 { 96 } else { 80 }, width, 4);
        bytes[150..154].copy_from_slice(b"/ld\0");
        bytes
    }

    #[test]
    fn the_loader_is_read_off_the_file_in_every_width_and_byte_order() {
        for (is_64, is_little) in [(true, true), (true, false), (false, true), (false, false)] {
            let bytes = elf(is_64, is_little);
            let parsed = Elf::parse(&bytes).unwrap();
            assert_eq!(
                parsed.interpreter(&mut Cursor::new(&bytes)).unwrap(),
                Some("/ld".into()),
                "{is_64} {is_little}"
            );
        }
    }

    #[test]
    fn no_file_is_too_odd() {
        let whole = elf(true, true);
        for length in 0..whole.len() {
            let bytes = whole.get(..length).unwrap();
            if let Some(elf) = Elf::parse(bytes) {
                // It may fail, but must not panic or run without end.
                elf.interpreter(&mut Cursor::new(bytes)).ok();
                elf.linked(&mut Cursor::new(bytes)).ok();
            }
        }
        let mut far = whole;
        far[32..40].copy_from_slice(&u64::MAX.to_le_bytes());
        far[56..58].copy_from_slice(&u16::MAX.to_le_bytes());
        Elf::parse(&far).unwrap().interpreter(&mut Cursor::new(&far)).ok();
    }
}
