//! Completion: possible values for an argument of a prompt.

use serde_json::{Map, Value, json};

use super::{Caching, Revision, seal};

/// The most values that one result may hold.
const MOST_VALUES: usize = 100;

/// The parameters of `completion/complete` for an argument of a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompleteParams<'a> {
    /// The name of the prompt.
    pub prompt: &'a str,
    /// The name of its argument.
    pub argument: &'a str,
    /// The text that the user has typed so far.
    pub value: &'a str,
}

impl<'a> CompleteParams<'a> {
    /// Reads them.
    ///
    /// # Errors
    /// The message for parameters that are invalid, or that refer to something other than a prompt.
    pub fn from_params(params: &'a Map<String, Value>) -> Result<Self, String> {
        let text = |outer: &str, key: &str| params.get(outer)?.get(key)?.as_str();
        let missing = |what: &str| format!("`completion/complete` needs `{what}`, a string");
        match text("ref", "type") {
            Some("ref/prompt") => {}
            Some(_) => {
                return Err("only arguments of prompts are completed: `ref.type` must be `ref/prompt`".to_owned());
            }
            None => return Err(missing("ref.type")),
        }
        Ok(Self {
            prompt: text("ref", "name").ok_or_else(|| missing("ref.name"))?,
            argument: text("argument", "name").ok_or_else(|| missing("argument.name"))?,
            value: text("argument", "value").ok_or_else(|| missing("argument.value"))?,
        })
    }
}

/// The result of `completion/complete`: the first hundred of the values, and how many there are.
pub fn complete_result(values: &[&str], revision: Revision) -> Value {
    let shown: Vec<&str> = values.iter().take(MOST_VALUES).copied().collect();
    let completion = json!({"values": shown, "total": values.len(), "hasMore": values.len() > shown.len()});
    seal(json!({"completion": completion}), revision, Caching::Once)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hundred_values_are_shown_and_all_are_counted() {
        let names: Vec<String> = (0..101).map(|number| number.to_string()).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        for (count, shown, more) in [(0, 0, false), (100, 100, false), (101, 100, true)] {
            let result = complete_result(&names[..count], Revision::V2025_03_26);
            assert_eq!(result["completion"]["values"].as_array().unwrap().len(), shown);
            assert_eq!(result["completion"]["total"], count);
            assert_eq!(result["completion"]["hasMore"], more);
        }
    }
}
