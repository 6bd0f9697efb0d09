//! The confinement of commands in words: for a person who is asked, for models, and for the operator.

use super::Confinement;
use super::granted::Granted;
use crate::network::Network;
use crate::policy::rules::{CommandRule, SandboxRule};
use crate::sandbox::{Level, Named};

/// The most directories that a model is told.
const MOST_PLACES: usize = 6;

impl Confinement {
    /// Describes the enforcement, as the end of a sentence; `None` with the level `off`.
    pub fn describe(&self) -> Option<String> {
        let enforcement = self.enforcement.as_ref().ok().filter(|_| self.is_on())?;
        Some(enforcement.describe())
    }

    /// How the calls of a rule are confined, for the person who approves one.
    pub(in crate::server) fn describe_for(&self, rule: &CommandRule) -> String {
        let SandboxRule { level, exec_own, network, paths_claimed, writes: _ } = &rule.sandbox;
        let Some(level) = level else {
            return match self.describe() {
                Some(described) if rule.sandbox.writes_nothing() => {
                    format!("{described}; it writes nothing, as its rule says")
                }
                Some(described) => described,
                None if rule.sandbox.writes_nothing() => "off, but it writes nothing, as its rule says".to_owned(),
                None => "off: nothing confines it".to_owned(),
            };
        };
        let network = network.as_ref().map(|network| match network {
            Network::None => "without a network".to_owned(),
            Network::Loopback => "with a loopback network of its own".to_owned(),
            Network::Ports(ports) => format!("with no network but {}", ports.in_words()),
            Network::Full => "with a network".to_owned(),
        });
        let also = [
            rule.sandbox.writes_nothing().then_some("writes nothing"),
            exec_own.then_some("executes only itself"),
            network.as_deref(),
            paths_claimed.then_some("touches only the files that it names"),
        ];
        let also = also.into_iter().flatten().map(|also| format!(", {also}"));
        format!("{}, as its rule says{}", level.name(), also.collect::<String>())
    }

    /// Describes the sandbox for models: where commands can write, and whether they have a network.
    pub(in crate::server) fn describe_for_models(&self) -> Option<String> {
        let enforced = self.enforcement.as_ref().ok().filter(|enforcement| enforcement.is_any() && self.is_on())?;
        let mut places: Vec<String> =
            self.writable.iter().take(MOST_PLACES).map(|path| format!("`{}`", path.display())).collect();
        match self.writable.len() - places.len() {
            0 => {}
            more => places.push(format!("{more} more directories")),
        }
        places.push("`$TMPDIR`".to_owned());
        let last = places.pop().unwrap_or_default();
        let places = if places.is_empty() { last } else { format!("{} and {last}", places.join(", ")) };
        let network = match &enforced.network {
            Network::Full => String::new(),
            Network::None => ", and have no network".to_owned(),
            Network::Ports(ports) => format!(", and have no network but {}", ports.in_words()),
            Network::Loopback => {
                ", and each call has a loopback network of its own and no other, so start a server in the call that asks it"
                    .to_owned()
            }
        };
        let reads =
            if enforced.level == Level::Strict { "; they can read only these and the system's files" } else { "" };
        Some(format!(
            "Sandbox: commands can write only in {places}{network}{reads}. `Permission denied` elsewhere comes from the sandbox."
        ))
    }

    /// Each preset by name, with a text that says what it grants; empty if nothing is confined.
    pub fn describe_presets(&self) -> Vec<(&'static str, String)> {
        let list =
            |named: &[Named]| named.iter().map(|named| named.path.display().to_string()).collect::<Vec<_>>().join(", ");
        let described = self.presets.iter().map(|Granted { preset, read, executed }| {
            let parts = [("to be read: ", read), ("to be read and executed: ", executed)];
            let parts = parts.into_iter().filter(|(_, named)| !named.is_empty());
            let parts: Vec<String> = parts.map(|(what, named)| format!("{what}{}", list(named))).collect();
            let nothing = || "nothing of it is in the home directory".to_owned();
            (preset.name(), Some(parts.join("; ")).filter(|text| !text.is_empty()).unwrap_or_else(nothing))
        });
        described.collect()
    }
}
