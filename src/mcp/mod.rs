//! The wire types of MCP under the schema's own names, and the differences between revisions.
//!
//! Knows nothing of processes and of the server's loop. Written according to the public schemas,
//! `schema/<revision>/schema.json` of modelcontextprotocol/modelcontextprotocol.

mod completion;
mod elicitation;
mod lifecycle;
mod logging;
mod meta;
mod progress;
mod prompt;
mod revision;
mod roots;
mod subscription;
#[cfg_attr(not(feature = "background"), path = "no_task.rs")]
mod task;
mod tool;

pub(crate) use completion::{CompleteParams, complete_result};
pub(crate) use elicitation::{
    Approval, ELICITATION_CREATE, approval_params, has_form_elicitation, input_required_result,
};
pub(crate) use lifecycle::{
    Implementation, InitializeParams, TASKS_EXTENSION, TaskSupport, discover_result, initialize_result, takes_tasks,
};
pub(crate) use logging::{LoggingLevel, message_params};
pub(crate) use meta::{RequestMeta, TraceContext, related_task_meta};
pub(crate) use progress::{ProgressToken, progress_params};
pub(crate) use prompt::{Prompt, PromptArgument, prompt_result};
pub use revision::Revision;
pub(crate) use roots::{ROOTS_LIST, has_roots, root_uris, roots_required_capabilities};
pub(crate) use subscription::{acknowledged_params, check_listen_params, listen_result, wanted_tasks};
pub(crate) use task::*;
pub use tool::CallToolResult;
pub(crate) use tool::{Tool, ToolAnnotations, says_error};

use serde_json::{Value, json};

/// The revision that the client asks for is not one that is served without a handshake.
pub const UNSUPPORTED_PROTOCOL_VERSION: i32 = -32022;
/// The request needs a capability that the client did not declare.
pub const MISSING_CLIENT_CAPABILITY: i32 = -32021;

/// How long a client may cache a list or the discovery, in milliseconds: they never change while the server runs.
const TTL_MS: u64 = 3_600_000;

/// Whether a client may cache a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Caching {
    /// Lists and discovery.
    Cacheable,
    /// Everything else.
    Once,
}

/// Completes a result object for the revision: the modern one requires `resultType`, the server's name, and `ttlMs` and
/// `cacheScope` for results that can be cached.
pub fn seal(mut result: Value, revision: Revision, caching: Caching) -> Value {
    if let (true, Value::Object(members)) = (revision.is_modern(), &mut result) {
        members.insert("resultType".into(), json!("complete"));
        members.insert("_meta".into(), meta::server_meta());
        if caching == Caching::Cacheable {
            members.insert("ttlMs".into(), json!(TTL_MS));
            members.insert("cacheScope".into(), json!("private"));
        }
    }
    result
}
