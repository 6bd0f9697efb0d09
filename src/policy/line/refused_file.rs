//! How firmly a redirection is refused.

use super::command::Here;
use super::redirection::NULL;
use crate::lines::Redirection;
use crate::policy::RefusalKind;
use crate::policy::rules::{Access, OnDisk, Redirected, Ruled, redirected};

impl Here<'_> {
    /// How firmly a redirection is refused that does not run, or not yet: by what the policy and the rule of its command say of files.
    pub(super) fn refusal_kind(&self, redirection: &Redirection, of: &[Ruled]) -> RefusalKind {
        let (value, access) = match redirection {
            Redirection::Read(value) => (value, Access::Read),
            Redirection::Write { target, .. } => (target, Access::Write),
            Redirection::HereString(value) if self.value(value).is_err() => return RefusalKind::Unclear,
            Redirection::HereString(_) | Redirection::Document(_) => return RefusalKind::Undescribed,
            Redirection::StderrToStdout | Redirection::StdoutToStderr => return RefusalKind::Undescribed,
        };
        let Ok(text) = self.value(value) else { return RefusalKind::Unclear };
        if text == NULL {
            return RefusalKind::Undescribed;
        }
        if access == Access::Write && of.iter().any(|command| command.rule.sandbox.writes_nothing()) {
            return RefusalKind::Denied;
        }
        let mut paths = OnDisk::new(self.directories, &self.position.directory);
        match redirected((&text, access), self.type_of(access), of, &mut paths) {
            Redirected::Denied(_) => RefusalKind::Denied,
            Redirected::Elsewhere(error) => error.refusal_kind(access),
            Redirected::Allowed(_) | Redirected::Ask(..) => RefusalKind::Undescribed,
        }
    }
}
