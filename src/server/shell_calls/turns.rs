//! The loop's part in the calls of the persistent shell: what is decided before they wait, and when their turn comes.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{Begun, Context, Running, Turn, Waiting};
use crate::config::LogLevel;
use crate::exec::Limits;
use crate::jsonrpc::{RequestId, encode};
use crate::mcp::CallToolResult;
use crate::policy::{Directories, DirectoryError};
use crate::server::calls::Pending;
use crate::server::event::Event;
use crate::server::feedback::Feedback;
use crate::server::replies::ReplyTo;
use crate::server::{Decided, RequestContext, Server};
use crate::shell::dialect::Change;
use crate::shell::{ShellDecision, ShellJob, Task, decide};
use crate::tools::{ShellCall, ShellCommandFacts, ShellRequest};

impl Server<'_> {
    /// Has the policy decide, and queues what is allowed. The error is the sentence for the model.
    pub(in crate::server) fn queue_for_shell(
        &mut self,
        call: ShellCall,
        directories: Option<Arc<Directories>>,
        tool: &str,
        id: RequestId,
        request: &RequestContext,
        reply_to: ReplyTo,
    ) -> Result<(), String> {
        let ShellCall { what, timeout } = call;
        self.last_key += 1;
        let is_told = self.log.writes(LogLevel::Info);
        let (turn, facts, line, size) = match what {
            ShellRequest::List(_) | ShellRequest::Restart => {
                (Turn::Restart, ShellCommandFacts::default(), String::new(), 0)
            }
            ShellRequest::Command { entry, arguments, literal_pattern } => {
                let ShellDecision { explanation, outcome, change } =
                    decide(&self.policy, &entry, arguments, literal_pattern);
                self.observer.decided(&Decided {
                    call: self.last_key,
                    tool,
                    explanation: &explanation,
                    refusal: outcome.as_ref().err(),
                });
                let command = outcome.map_err(|refusal| refusal.to_string())?;
                let words = command.words();
                let line = if is_told { words.join(" ") } else { String::new() };
                let size = words.iter().map(String::len).sum::<usize>();
                let turn = match change {
                    // Only shown, it is the shell's to print.
                    Some(Change::Show) | None => Turn::Run(command),
                    Some(change) => Turn::Change(change),
                };
                (turn, ShellCommandFacts { word: entry, literal_pattern }, line, size)
            }
        };
        let description =
            if is_told { format!("tool={tool} shell command={line:?}{}", request.trace) } else { String::new() };
        let feedback = Box::new(Feedback::new(&id, tool, request));
        let allowed = feedback.allowed(&facts.word, "the allow-list");
        self.shell.queue(Waiting {
            pending: Pending { id, reply_to, description, feedback },
            turn,
            context: Context { key: self.last_key, facts, revision: request.revision },
            limits: Limits { timeout, ..self.limits },
            size: size + 256,
            directories,
        })?;
        self.tell(allowed).map_err(|error| error.message)?;
        self.start_shell_call().map_err(|error| error.to_string())
    }

    /// Makes sure that the shell stands where the operator allows: a directory that was moved or linked anew between the
    /// check of a `cd` and its run could have led it elsewhere. Then it is started anew before anything else runs.
    pub(in crate::server) fn hold_to_roots(&mut self, before: Option<Arc<Path>>) {
        let decided_in = self.shell.directories.clone();
        let directories = decided_in.as_deref().unwrap_or(self.policy.directories());
        let Some(here) = self.shell.directory.as_deref().filter(|here| before.as_deref() != Some(here)) else { return };
        // Where calls start that name no directory is the operator's choice, and is allowed wherever it lies.
        let is_start = start_of(directories).is_some_and(|start| start == *here);
        let resolved = here.to_str().map(|here| directories.resolve(Some(here)));
        let is_outside = matches!(
            resolved,
            None | Some(Err(DirectoryError::OutsideRoots { .. } | DirectoryError::OutsideWorkspace { .. }))
        );
        self.shell.has_left = !is_start && is_outside;
    }

    /// Starts the next call of the shell's, where none runs; those that are refused at their turn are answered.
    pub(in crate::server) fn start_shell_call(&mut self) -> io::Result<()> {
        while self.shell.is_idle() {
            let Some(call) = self.shell.waiting.pop_front() else { return Ok(()) };
            self.shell.waiting_bytes -= call.size;
            let Waiting { pending, turn, context, limits, directories: decided_in, .. } = call;
            let revision = context.revision;
            let directories = decided_in.as_deref().unwrap_or(self.policy.directories());
            let followed = self.shell.follow(directories);
            let task = followed.and_then(|()| match turn {
                Turn::Run(command) => Ok((Task::Run(command), None)),
                Turn::Restart => Ok((Task::Restart("it was asked for".to_owned()), None)),
                Turn::Change(change) => self.shell.stand().target(&change, directories).map(|target| {
                    let before = self.shell.directory.clone().or_else(|| start_of(directories).map(Arc::from));
                    (Task::ChangeDirectory(target), before)
                }),
            });
            let key = context.key;
            let begun = task.and_then(|(task, before)| {
                let start_directory = directories.base().path;
                let left = "the shell had come to a directory that is not allowed; its state is lost";
                let distrust = std::mem::take(&mut self.shell.has_left).then(|| left.to_owned());
                let job = ShellJob { context, distrust, task, start_directory, limits };
                self.shell.begin(job, pending.feedback.wants_progress()).map(|begun| (begun, before))
            });
            self.shell.directories = decided_in;
            self.shell.is_used = true;
            match begun {
                Ok((begun, before)) => {
                    let stop = match begun {
                        Begun::Runs(stop) => Some(stop),
                        Begun::Ended(finished) => {
                            self.inbox.tell_oneself(Event::ShellFinished(finished));
                            None
                        }
                    };
                    self.shell.running = Some(Running { key, pending: Some(pending), stop, before });
                }
                Err(sentence) => {
                    let line = format!("call id={} {} refused={sentence:?}", pending.id, pending.description);
                    self.log.write(LogLevel::Info, &line);
                    let result = encode::to_json(&CallToolResult::error(sentence).for_revision(revision));
                    self.reply(pending.reply_to, Some(encode::result(&pending.id, &result)))?;
                }
            }
        }
        Ok(())
    }
}

fn start_of(directories: &Directories) -> Option<PathBuf> {
    directories.resolve(None).ok().map(|directory| directory.path().to_owned())
}
