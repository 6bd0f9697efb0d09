//! Stands where the plan of a call of the persistent shell would, in a build without it: there is no such call.

use std::sync::Arc;

use super::{Deciding, Planned, Stopped};
use crate::policy::Directories;
use crate::server::shell_runner::ShellRunner;
use crate::tools::ShellCall;

impl Deciding<'_> {
    pub(in crate::server) fn shell(
        &mut self,
        call: ShellCall,
        _: Option<Arc<Directories>>,
        _: &ShellRunner,
    ) -> Result<Planned, Stopped> {
        match call {}
    }
}
