//! Reads from a line of a program's output whether something was refused, which path, and for which access.

/// A line of output.
#[derive(Debug, Clone, Copy)]
pub(super) struct Line<'a>(pub &'a str);

impl<'a> Line<'a> {
    pub fn is_denial(&self) -> bool {
        let line = self.0.to_ascii_lowercase();
        ["permission denied", "operation not permitted"].iter().any(|words| line.contains(words))
            || has_code(self.0, &["EACCES", "EPERM"])
    }

    /// Whether the line says that another machine could not be found or reached.
    pub fn fails_to_connect(&self) -> bool {
        let line = self.0.to_ascii_lowercase();
        [
            "resolve host",
            "name resolution",
            "failure resolving",
            "name or service not known",
            "no such host",
            "couldn't connect",
            "failed to connect",
            "network is unreachable",
        ]
        .iter()
        .any(|words| line.contains(words))
            || has_code(self.0, &["EAI_AGAIN", "ENOTFOUND", "ENETUNREACH"])
    }

    pub fn is_of_shared_memory(&self) -> bool {
        ["SemLock", "shm_open", "sem_open", "shared_memory.py", "shared memory"]
            .iter()
            .any(|word| self.0.contains(word))
    }

    /// Whether it is one of a traceback of Python, about code in a file of that name.
    pub fn is_frame_in(&self, file: &str) -> bool {
        let end = |name: &str| name.rsplit('/').next() == Some(file);
        let line = self.0.trim_start();
        let frame = line.strip_prefix("File \"").and_then(|rest| rest.split_once("\", line "));
        frame.is_some_and(|(name, _)| end(name))
            || line.split_once(".py:").is_some_and(|(name, rest)| {
                rest.starts_with(|digit: char| digit.is_ascii_digit()) && end(&format!("{name}.py"))
            })
    }

    /// Whether it is code that opens a file to write it, or that changes one.
    pub fn opens_to_write(&self) -> bool {
        let calls = ["mkdir", "makedirs", "write_text", "write_bytes", "unlink", "rename", "rmdir", "os.remove"];
        let modes = ["'w", "\"w", "'a", "\"a", "'x", "\"x"];
        modes.iter().any(|mode| self.0.contains("open(") && self.0.contains(mode))
            || calls.iter().any(|call| self.0.contains(call))
    }

    /// Whether the line above an error may name the file that it is about: it is a sentence, and no code.
    pub fn may_name_a_file(&self) -> bool {
        let line = self.0.trim_start();
        let is_code = line.starts_with("File \"") || line.starts_with("at ") || line.starts_with('>');
        let has_code = ["){", ");", "=>", "};", " = ", "//"].iter().any(|part| line.contains(part));
        !is_code && !has_code
    }

    /// Whether the line labels a path of its own, as npm does, and the errors of Node.
    pub fn labels_a_path(&self) -> bool {
        let line = self.0.trim_start();
        line.starts_with("path:") || line.contains(" path /") || line.contains(" path: ")
    }

    /// Whether the line names what it is about, even if that is no absolute path.
    pub fn names_something(&self) -> bool {
        let is_reason = |part: &str| {
            let part = part.trim().trim_end_matches('.').to_ascii_lowercase();
            let words: String = part.chars().map(|c| if c.is_ascii_alphabetic() { c } else { ' ' }).collect();
            const WORDS: [&str; 24] = [
                "permission",
                "denied",
                "operation",
                "not",
                "permitted",
                "os",
                "error",
                "errno",
                "permissionerror",
                "eacces",
                "eperm",
                "e",
                "caused",
                "by",
                "npm",
                "err",
                "code",
                "oserror",
                "failed",
                "fatal",
                "the",
                "was",
                "reason",
                "is",
            ];
            words.split_whitespace().all(|word| WORDS.contains(&word))
        };
        !self.0.split(": ").all(is_reason)
    }

    /// The absolute path that the line names: the last one in quotes, else the last word that begins with `/`. Neither
    /// a place in code is one (`/a/socket.rb:201:in`), nor what only looks like a path (`//`), nor a shell that speaks.
    pub fn path(&self) -> Option<&'a str> {
        let line = without_shell(self.0);
        let is_path = |word: &&str| {
            let mut parts = word.split('/').skip(1);
            // A masked secret is no part of a path.
            word.starts_with('/')
                && !word.contains("***")
                && parts.next().is_some_and(|first| !first.is_empty())
                && !is_place(word)
        };
        let mut quoted = line.match_indices(['\'', '"', '`', '‘']).filter_map(|(place, quote)| {
            let inner = line.get(place + quote.len()..)?;
            let end = inner.find(match quote {
                "‘" => "’",
                "`" if !inner.contains('`') => "'",
                quote => quote,
            })?;
            inner.get(..end)
        });
        let words = line.split([' ', '\t', '(', ')', '[', ']', '\'', '"', '`', '‘', '’', ',', ';', '=']);
        let mut words = words.map(|word| word.trim_end_matches([':', '.'])).filter(is_path);
        quoted.rfind(is_path).or_else(|| words.next_back())
    }
}

impl<'a> Line<'a> {
    /// The relative path that the line names, if its words can be one: the last word in quotes, else the word in front of the
    /// reason (`sed: couldn't open temporary file ./sedwnYAnk: Permission denied`), but not the program that speaks.
    pub fn relative_path(&self) -> Option<&'a str> {
        const REASONS: [&str; 3] = [": permission denied", ": operation not permitted", ": cannot open"];
        let line = without_shell(self.0);
        let is_path = |word: &&str| {
            let has_odd = word.contains(|c: char| c.is_control() || "()[]{}<>*|;`'\"‘’".contains(c));
            let is_number = word.chars().all(|c| c.is_ascii_digit() || c == '.' && word.len() > 2);
            !word.is_empty()
                && word.len() < 256
                && !has_odd
                && !is_number
                && !word.starts_with(['/', '-', '~'])
                // One that leads upwards may be meant to get out of the project: nobody is told to grant it.
                && !word.split('/').any(|part| part == "..")
                && !is_place(word)
        };
        let mut quoted = line.match_indices(['\'', '"', '`', '‘']).filter_map(|(place, quote)| {
            let (before, inner) = (line.get(..place)?, line.get(place + quote.len()..)?);
            // Neither an apostrophe within a word, nor the function of a traceback of Ruby.
            if before.ends_with(char::is_alphanumeric) || before.ends_with(":in ") {
                return None;
            }
            let end = match quote {
                "‘" => "’",
                "`" if !inner.contains('`') => "'",
                quote => quote,
            };
            inner.get(..inner.find(end)?)
        });
        if let Some(word) = quoted.rfind(is_path) {
            return Some(word);
        }
        let lower = line.to_ascii_lowercase();
        let end = REASONS.iter().filter_map(|reason| lower.find(reason)).min()?;
        let said = line.get(..end)?;
        let (speaker, about) = said.rsplit_once(": ").unwrap_or(("", said));
        let word = about.rsplit(' ').next()?;
        // `run.sh: 1: rm: Permission denied` is about a command that dash found in PATH.
        let is_command = speaker.rsplit(": ").next().is_some_and(|number| number.parse::<u32>().is_ok());
        let is_named = about.contains(' ') || about.contains('/') || !speaker.is_empty() && !is_command;
        Some(word).filter(is_path).filter(|_| is_named)
    }
}

/// Whether the words in front of a path say that it is a temporary file.
pub(super) fn is_temporary(before: &str) -> bool {
    before.to_ascii_lowercase().contains("temporary file")
}

/// Whether a word is a place in code: a file with a line.
fn is_place(word: &str) -> bool {
    word.split(':').skip(1).any(|part| part.starts_with(|first: char| first.is_ascii_digit()))
}

/// The line without the name of the shell in front of it (`/bin/sh: 1: `, `/bin/bash: line 1: `).
fn without_shell(line: &str) -> &str {
    let behind = line.split_once(": ").filter(|(shell, _)| shell.starts_with('/') && !shell.contains(' '));
    let number = behind.and_then(|(_, rest)| rest.strip_prefix("line ").unwrap_or(rest).split_once(": "));
    match number {
        Some((number, rest)) if number.bytes().all(|byte| byte.is_ascii_digit()) => rest,
        Some(_) | None => line,
    }
}

/// Whether one of these codes is a word of the line.
fn has_code(line: &str, codes: &[&str]) -> bool {
    line.split(|character: char| !character.is_ascii_alphanumeric() && character != '_')
        .any(|word| codes.contains(&word))
}

pub(super) fn is_of_network(line: &str) -> bool {
    let line = line.to_ascii_lowercase();
    let mut words = line.split(|character: char| !character.is_ascii_alphabetic() && !"._-/".contains(character));
    words.any(|word| {
        ["socket", "connect", "connecting", "connection", "network", "resolve", "listen", "bind", "getaddrinfo"]
            .contains(&word)
    }) || line.contains("/dev/tcp/")
        || line.contains("/dev/udp/")
}

/// Whether what was refused is to wait for connections.
pub(super) fn is_listening(line: &str) -> bool {
    let line = line.to_ascii_lowercase();
    line.split(|character: char| !character.is_ascii_alphabetic()).any(|word| word == "listen" || word == "bind")
}

pub(super) fn is_write(line: &str) -> bool {
    let line = line.to_ascii_lowercase();
    [
        "create",
        "write",
        "writing",
        "mkdir",
        "touch",
        "unlink",
        "remove",
        "rename",
        "delete",
        "truncate",
        "overwrite",
        "mkstemp",
        "cannot move",
    ]
    .iter()
    .any(|words| line.contains(words))
}

/// Whether a file was to be removed, renamed or replaced.
pub(super) fn is_replacement(line: &str) -> bool {
    let line = line.to_ascii_lowercase();
    ["unlink", "remove", "rename", "delete", "cannot move"].iter().any(|words| line.contains(words))
}

/// Whether a program could not be started: shells print only the path, and other programs mention executing or spawning.
pub(super) fn is_execution(before: &str, behind: &str) -> bool {
    let before = before.to_ascii_lowercase();
    // `sh: 1: `, `bash: line 1: `, `run.sh: 1: `.
    let is_shells = before.split_once(": ").is_some_and(|(shell, rest)| {
        let rest = rest.trim_end_matches(": ").trim_start_matches("line ");
        !shell.contains(' ') && (rest.is_empty() && shell.ends_with("sh") || rest.parse::<u32>().is_ok())
    });
    let says_more = before.contains("open") || behind.to_ascii_lowercase().contains("directory");
    (is_shells && !says_more) || ["exec", "spawn", "cannot run"].iter().any(|words| before.contains(words))
}

/// Whether the words around a path say that it was to be opened, for whatever.
pub(super) fn is_opened(before: &str, behind: &str) -> bool {
    let around = [before, behind].map(str::to_ascii_lowercase);
    around.iter().any(|words| words.split(|character: char| !character.is_alphanumeric()).any(|word| word == "open"))
}

/// Whether a word is a regular expression of JavaScript rather than a path (`/abc/g`).
pub(super) fn is_pattern(path: &str) -> bool {
    let flags = path.rsplit('/').next().unwrap_or_default();
    path.matches('/').count() == 2 && flags.chars().all(|flag| "dgimsuvy".contains(flag))
}

/// Whether a path is one of those that hold secrets, which no hint asks for.
pub(super) fn is_secret(path: &str) -> bool {
    const PARTS: [&str; 22] = [
        ".ssh",
        ".aws",
        ".gnupg",
        ".azure",
        ".kube",
        ".docker",
        ".password-store",
        "keyrings",
        "kwalletd",
        ".netrc",
        ".git-credentials",
        "credentials",
        "credentials.toml",
        "credentials.json",
        ".pgpass",
        ".pypirc",
        ".vault-token",
        "gcloud",
        "shadow",
        "gshadow",
        ".env",
        "gh",
    ];
    let mut parts = path.split('/');
    parts.any(|part| {
        PARTS.contains(&part)
            || part.starts_with("id_")
            || [".pem", ".key", ".kdbx"].iter().any(|end| part.ends_with(end))
    })
}
