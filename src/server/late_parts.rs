//! The parts of a server, which a thread may still be making while the server answers a handshake.
//!
//! Reading all shipped profiles and looking for what they need takes several times as long as the rest of a start. So
//! if a configuration uses profiles, a thread makes the parts. The first request that needs them waits for it; a
//! handshake does not.

use std::io;
use std::ops::Deref;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use super::anchor::AnchorSettings;
use super::audit_plan::AuditPlan;
use super::configured;
use super::event::Event;
use super::inbox::EventSender;
use super::observer::{Observer, Unobserved};
use super::parts::Parts;
use crate::config::{Config, LogLevel, RootsMode};
use crate::mcp::TaskSupport;
use crate::policy::rules::Rules;
use crate::prompts;
use crate::text::Secrets;

/// The parts, or the function that makes them.
pub(super) type Made = LazyLock<Parts, Box<dyn FnOnce() -> Parts + Send>>;

/// What the server needs before its parts are made.
pub(super) struct Opening {
    /// What a handshake tells the model.
    pub instructions: String,
    pub log_level: LogLevel,
    pub max_concurrent: usize,
    pub max_background_calls: usize,
    pub tasks: TaskSupport,
    pub roots: RootsMode,
    pub observer: Arc<dyn Observer>,
    /// Values that are not shown in the log and in the list of calls.
    pub secrets: Arc<Secrets>,
    /// How the audit log is opened, where there is to be one.
    pub audit: Option<AuditPlan>,
    /// The program that keeps its head elsewhere.
    pub anchor: Option<AnchorSettings>,
}

/// The parts. Every access waits until they are made.
pub(crate) struct LateParts {
    made: Arc<Made>,
    pub(super) opening: Opening,
    /// The rules that have to be read before the parts can be made; `None` if they are made already.
    awaited: Option<Arc<Rules>>,
    /// Whether the server still wants them.
    wanted: Arc<Mutex<bool>>,
    /// Whether the thread that makes them has told that they are made.
    is_told: bool,
}

impl LateParts {
    /// The parts of a configuration. They are made now unless that would take long. In this case a mistake in them,
    /// such as a profile's rule with a sandbox that the kernel can't enforce, stops the server after it has started.
    pub fn of(config: &Config) -> Self {
        let is_sandboxed = config.sandbox.value != crate::sandbox::Level::Off;
        if !config.rules.have_profiles()
            || is_sandboxed
            || config.tools.value.has_shell()
            || !config.resource_limits().is_none()
        {
            return Parts::new(config).into();
        }
        let opening = Opening {
            instructions: prompts::instructions(&config.allow_list(), config.tools.value),
            log_level: config.log.value,
            max_concurrent: config.max_concurrent.value,
            max_background_calls: config.max_background_calls.value,
            tasks: if config.background.value { TaskSupport::Optional } else { TaskSupport::Forbidden },
            roots: config.roots.value,
            observer: Arc::new(Unobserved),
            secrets: Arc::new(Secrets::new(config.secret_values())),
            audit: AuditPlan::of(config),
            anchor: configured::anchor_settings(config),
        };
        let rules = Arc::clone(&config.rules);
        let config = config.clone();
        Self::later(opening, rules, move || Parts::new(&config))
    }

    fn later(opening: Opening, rules: Arc<Rules>, make: impl FnOnce() -> Parts + Send + 'static) -> Self {
        let limited = || {
            let parts = make();
            parts.policy.directories().limit_steps();
            parts
        };
        let made: Arc<Made> = Arc::new(LazyLock::new(Box::new(limited)));
        Self { made, opening, awaited: Some(rules), wanted: Arc::new(Mutex::new(true)), is_told: false }
    }

    /// The parts, if they were made before the server.
    pub fn at_start(&self) -> Option<&Parts> {
        self.awaited.is_none().then(|| &**self.made)
    }

    /// Prepares for an event: what calls may walk of their paths is shared by all that one event has decided, such as those of a
    /// batch, or those that have waited for the client's roots.
    pub(super) fn begin_event(&mut self, are_made: bool) {
        self.is_told |= are_made;
        if let Some(parts) = self.if_made() {
            parts.policy.directories().limit_steps();
        }
    }

    /// The parts, without waiting for them.
    pub(super) fn if_made(&self) -> Option<&Parts> {
        (self.awaited.is_none() || self.is_told).then(|| &**self.made)
    }

    /// A shared reference to the parts.
    pub(super) fn shared(&self) -> Arc<Made> {
        Arc::clone(&self.made)
    }

    /// Starts a thread that makes the parts and then tells the loop.
    ///
    /// # Errors
    /// If no thread can be started; then the first access makes the parts.
    pub(super) fn make(&self, events: EventSender) -> io::Result<()> {
        let Some(rules) = self.awaited.clone() else { return Ok(()) };
        let (made, wanted) = (Arc::downgrade(&self.made), Arc::clone(&self.wanted));
        let make = move || {
            // This takes most of the time, and leaves nothing behind if the server ends meanwhile.
            let count = rules.iter().count();
            debug_assert!(count > 0, "there is a profile");
            {
                let wanted = wanted.lock().unwrap_or_else(PoisonError::into_inner);
                let Some(made) = made.upgrade().filter(|_| *wanted) else { return };
                LazyLock::force(&made);
            }
            events.send(Event::PartsMade);
        };
        std::thread::Builder::new().name("parts".into()).spawn(make).map(drop)
    }
}

/// Parts that were made before the server.
impl From<Parts> for LateParts {
    fn from(mut parts: Parts) -> Self {
        let opening = Opening {
            instructions: prompts::instructions(parts.policy.allow_list(), parts.toolbox.which()),
            log_level: parts.log_level,
            max_concurrent: parts.max_concurrent,
            max_background_calls: parts.max_background_calls,
            tasks: parts.task_support(),
            roots: parts.roots,
            observer: Arc::clone(&parts.observer),
            secrets: Arc::clone(&parts.secrets),
            audit: parts.audit.take(),
            anchor: parts.anchor.take(),
        };
        let made: Arc<Made> = Arc::new(LazyLock::new(Box::new(move || parts)));
        LazyLock::force(&made);
        Self { made, opening, awaited: None, wanted: Arc::default(), is_told: false }
    }
}

impl Deref for LateParts {
    type Target = Parts;

    fn deref(&self) -> &Parts {
        &self.made
    }
}

/// The parts hold a directory for temporary files, which is removed when they are dropped. So this waits for a thread
/// that is making them, and keeps a thread that has not begun from beginning.
impl Drop for LateParts {
    fn drop(&mut self) {
        *self.wanted.lock().unwrap_or_else(PoisonError::into_inner) = false;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::config::Surroundings;
    use crate::server::inbox::Inbox;

    fn config() -> Config {
        let surroundings = Surroundings::of_this_process().unwrap();
        Config::builder(surroundings).setting("profile", ["search"]).build().unwrap()
    }

    /// Parts that count how often they are made.
    fn counted(config: &Config) -> (LateParts, Arc<AtomicUsize>) {
        let count = Arc::new(AtomicUsize::new(0));
        let LateParts { opening, .. } = &LateParts::of(config);
        let Opening { instructions, log_level, max_concurrent, max_background_calls, tasks, roots, observer, .. } =
            opening;
        let (log_level, tasks, roots) = (*log_level, *tasks, *roots);
        let (max_concurrent, max_background_calls) = (*max_concurrent, *max_background_calls);
        let (instructions, observer) = (instructions.clone(), Arc::clone(observer));
        let (audit, anchor, secrets) = (None, None, Arc::default());
        let opening = Opening {
            instructions,
            log_level,
            max_concurrent,
            max_background_calls,
            tasks,
            roots,
            observer,
            secrets,
            audit,
            anchor,
        };
        let (made, config, rules) = (Arc::clone(&count), config.clone(), Arc::clone(&config.rules));
        let make = move || {
            made.fetch_add(1, Ordering::Relaxed);
            Parts::new(&config)
        };
        (LateParts::later(opening, rules, make), count)
    }

    #[test]
    fn what_a_handshake_needs_is_there_before_the_parts_are_made() {
        let config = config();
        let (parts, count) = counted(&config);
        assert!(parts.at_start().is_none());
        assert!(parts.opening.instructions.contains("Allowed: grep, find."), "{}", parts.opening.instructions);
        assert_eq!(parts.opening.instructions, LateParts::from(Parts::new(&config)).opening.instructions);
        drop(parts.shared());
        assert_eq!(count.load(Ordering::Relaxed), 0);
        assert_eq!(parts.policy.allow_list().names(), ["grep", "find"]);
        assert_eq!(count.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn parts_that_nobody_wants_any_more_are_not_made_and_those_in_the_making_are_waited_for() {
        let (parts, count) = counted(&config());
        let (events, mut inbox) = Inbox::new();
        parts.make(events).unwrap();
        assert!(matches!(inbox.next(), Some(Event::PartsMade)));
        assert_eq!(count.load(Ordering::Relaxed), 1);
        let (parts, count) = counted(&config());
        let wanted = Arc::clone(&parts.wanted);
        drop(parts);
        assert!(!*wanted.lock().unwrap());
        assert_eq!(count.load(Ordering::Relaxed), 0);
    }
}
