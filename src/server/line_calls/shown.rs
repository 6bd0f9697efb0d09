//! The properties of a line of several commands that a person sees: each command with its directory, its redirections and what it reads.

use serde_json::{Value, json};

use crate::policy::line::{LineProposal, ShownPart};
use crate::server::question::{Property, Shows, quoted};
use crate::text::quote_to_judge as shown;

impl LineProposal {
    /// About how many bytes the words of a line take.
    pub(in crate::server) fn length(&self) -> usize {
        let of_part = |part: &ShownPart| {
            let words = part.words().iter().chain(part.redirections().flatten());
            words.map(|word| word.len() + 3).sum::<usize>() + part.directory().len()
        };
        self.parts().iter().map(of_part).sum()
    }

    /// The commands, each as one property; the operator's program gets all of them as one list.
    pub(in crate::server) fn properties(&self, shows: Shows) -> Vec<Property> {
        let commands: Vec<Value> = self.parts().iter().map(|part| to_json(part, shows)).collect();
        let mut properties: Vec<Property> = self.parts().iter().map(|part| of_part(part, shows)).collect();
        let of_line = match shows {
            Shows::All => Some(json!(self.text())),
            Shows::NoSecrets => None,
        };
        properties.push(Property::new(
            "how they are connected",
            of_line.as_ref().and_then(Value::as_str).map(shown),
            "line",
            of_line,
        ));
        properties.push(Property::new("", None, "commands", Some(Value::Array(commands))));
        properties
    }
}

fn words(part: &ShownPart, shows: Shows) -> &[String] {
    match shows {
        Shows::All => part.words(),
        Shows::NoSecrets => part.shown(),
    }
}

fn of_part(part: &ShownPart, shows: Shows) -> Property {
    let name = match part.number() {
        0 => "a group".to_owned(),
        number => format!("command {number}"),
    };
    let mut text: Vec<String> =
        part.variables().iter().map(|(name, value)| format!("{name}={}", shown(value))).collect();
    text.push(quoted(words(part, shows)));
    if part.is_as_found() {
        text.push("(and what its patterns find then)".to_owned());
    }
    for redirection in part.redirections() {
        let (operator, rest) = redirection.split_first().map_or(("", &[][..]), |(first, rest)| (first.as_str(), rest));
        text.push(format!("{operator} {}", quoted(rest)).trim_end().to_owned());
    }
    text.push(format!("in {}", shown(part.directory())));
    text.extend(part.reads().map(|what| format!("reading {what}")));
    if part.asks() {
        text.push("(asked for)".to_owned());
    }
    text.retain(|piece| !piece.is_empty());
    Property { name: name.into(), text: Some(text.join(" ")), key: None, value: None }
}

fn to_json(part: &ShownPart, shows: Shows) -> Value {
    json!({
        "part": part.number(),
        "argv": words(part, shows),
        "cwd": part.directory(),
        "redirections": part.redirections().collect::<Vec<_>>(),
        "reads": part.reads(),
        "as_found": part.is_as_found(),
        "asks": part.asks(),
        "env": part.variables().iter().map(|(name, value)| (name.clone(), json!(value))).collect::<serde_json::Map<_, _>>(),
        "program": part.program().map(|program| program.to_string_lossy()),
    })
}
