//! Why a line does not run, as a sentence for the model.

use thiserror::Error;

use super::LineProposal;
use crate::policy::{DirectoryError, quoted};

/// Why a line does not run.
#[derive(Debug, Error)]
pub enum LineRefusal {
    /// The directory that it begins in can't be used, or is not allowed.
    #[error(transparent)]
    Directory(#[from] DirectoryError),
    /// One of its parts is refused.
    #[error("{}: {sentence}{}", named(*number, word), others(allowed.as_deref()))]
    Part {
        /// The number of the command.
        number: usize,
        /// Its first word, without what may be a secret; empty if it has none.
        word: String,
        /// Why.
        sentence: String,
        /// The first words of the commands of the line that are allowed; `None` if the line had begun.
        allowed: Option<Vec<String>>,
    },
    /// A person has to approve it.
    #[error("{0}")]
    NeedsApproval(Box<LineProposal>),
    /// A person has approved it, but it has changed since.
    #[error(
        "{what} is not what it was when a person was asked to approve this line, so it was not run; call it again to have it approved as it is now"
    )]
    ChangedSinceApproval {
        /// The part that differs.
        what: &'static str,
    },
}

fn named(number: usize, word: &str) -> String {
    match (number, word) {
        (0, _) => "a group".to_owned(),
        (number, "") => format!("command {number}"),
        (number, word) => format!("command {number}, {}", quoted(word)),
    }
}

fn others(allowed: Option<&[String]>) -> String {
    match allowed {
        None => String::new(),
        Some([]) => "; nothing of the line was run".to_owned(),
        Some(allowed) => {
            let names: Vec<String> = allowed.iter().map(|word| quoted(word)).collect();
            format!("; nothing of the line was run; allowed in it: {}", names.join(", "))
        }
    }
}

impl LineRefusal {
    /// Whether the line would run if a person approved it.
    pub fn needs_approval(&self) -> bool {
        matches!(self, Self::NeedsApproval(_))
    }
}
