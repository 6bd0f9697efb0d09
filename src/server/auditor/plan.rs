//! Opens the audit log that a configuration asks for.

use std::path::{Path, PathBuf};

use crate::audit::log::{AuditError, AuditLog, AuditSettings, SharedFileError};
use crate::audit::{PolicyFile, SessionFacts};
use crate::config::{Config, Row, rows};
use crate::exec::own_binary;
use crate::files::Sha256;
use crate::random;
use crate::server::not_started::NotStarted;
use crate::text::escape_os;

/// The log of a configuration, which is opened once there is a session to be recorded.
pub(in crate::server) struct AuditPlan {
    /// As the operator named it.
    pub file: PathBuf,
    config: Box<Config>,
}

impl AuditPlan {
    /// Makes the plan; `None` without `--audit`.
    pub(in crate::server) fn of(config: &Config) -> Option<Self> {
        let file = config.audit.value.clone()?;
        Some(Self { file, config: Box::new(config.clone()) })
    }

    /// Opens the log.
    ///
    /// # Errors
    /// [`AuditError`].
    pub(super) fn open(&self) -> Result<AuditLog, AuditError> {
        let Self { file, config } = self;
        let mut salt = [0; 16];
        let system = |source| AuditError::File { source: SharedFileError::System { source } };
        random::fill(&mut salt).map_err(system)?;
        let changeable = config.changeable_directories();
        let changeable: Vec<&Path> = changeable.iter().map(PathBuf::as_path).collect();
        let settings = AuditSettings {
            path: &config.surroundings.directory.join(file),
            changeable: &changeable,
            max_size: config.audit_max_size.value,
            sync: config.audit_sync.value,
            session: random::uuid(),
            salt,
            secrets: config.secret_values(),
            clock: config.surroundings.clock(),
        };
        // The binary is large, and nobody waits for its digest before there is something to record.
        let digest = || Sha256::of_stream(std::fs::File::open(own_binary()?)?);
        let program = std::thread::Builder::new().name("digest".into()).spawn(digest).map_err(system)?;
        let row = |row: Row| format!("{}: {}\n", row.name, row.value);
        let config_sha256 = Sha256::of(rows(config).into_iter().map(row).collect::<String>()).to_string();
        let policy = |(path, sha256): &(PathBuf, Sha256)| PolicyFile {
            path: escape_os(path.as_os_str()).into_owned(),
            sha256: sha256.to_string(),
        };
        let policies = config.policy_digests.iter().map(policy).collect();
        let (host, user) = (config.surroundings.host(), config.surroundings.user());
        let sandbox = config.sandbox.value.name().to_owned();
        AuditLog::open(settings, move || SessionFacts {
            version: env!("CARGO_PKG_VERSION"),
            program_sha256: program.join().ok().and_then(Result::ok).map(|digest| digest.to_string()),
            config_sha256,
            policies,
            host,
            user,
            pid: std::process::id(),
            platform: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
            sandbox,
            ..SessionFacts::default()
        })
    }
}

/// Whether the log that the operator asked for could be opened; makes no file.
///
/// # Errors
/// [`NotStarted::Audit`].
pub(crate) fn check_audit(config: &Config) -> Result<(), NotStarted> {
    let Some(file) = &config.audit.value else { return Ok(()) };
    let changeable = config.changeable_directories();
    let changeable: Vec<&Path> = changeable.iter().map(PathBuf::as_path).collect();
    AuditLog::check(&config.surroundings.directory.join(file), &changeable).map_err(|error| not_opened(file, &error))
}

/// Why the server does not start without its log.
pub(super) fn not_opened(file: &Path, error: &AuditError) -> NotStarted {
    NotStarted::Audit { file: escape_os(file.as_os_str()).into_owned(), why: error.to_string() }
}
