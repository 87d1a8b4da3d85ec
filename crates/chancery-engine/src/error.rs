//! What a use-case can end with.

use std::path::PathBuf;

use chancery_model::envelope::Statement;
use chancery_model::machine::{Finding, ParseError};
use chancery_model::refusal::Refusal;
use uuid::Uuid;

use crate::cutter;

/// An error of a use-case.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Store(#[from] chancery_store::Error),
    /// A file could not be read or written.
    #[error("{path}: {source}")]
    File { path: PathBuf, source: std::io::Error },
    /// The machine file is not one.
    #[error("{path}: {source}")]
    Parse { path: PathBuf, source: ParseError },
    /// The checker found something.
    #[error("{machine} does not hold together: {} finding(s)", findings.len())]
    Unsound { machine: String, findings: Vec<Finding> },
    /// A stored definition cannot be drawn.
    #[error("the workflow cannot be drawn: {0}")]
    Picture(String),
    /// The keystore has no usable key.
    #[error("{0}")]
    Key(String),
    /// The key lies elsewhere, and its owner has to sign these first. What comes after them was not done.
    #[error("this has to be signed with key {key_id}")]
    Unsigned { statements: Vec<Statement>, key_id: Uuid, asked_at: i64 },
    /// The request leaves open what only the caller can say.
    #[error("{0}")]
    Ambiguous(String),
    /// The executor does not trust what it was told to do: the decision, or the plan it is about, does not hold.
    #[error("the decision on entry {entry_id} does not hold: {}", cutter::Finding::list(findings))]
    Untrusted { entry_id: Uuid, findings: Vec<cutter::Finding> },
    /// What kept failing for a passing reason was given up, and handed on where that was possible.
    #[error("gave up after {attempts} attempts: {last}{}", handed_on(*escalation))]
    Exhausted { attempts: u32, escalation: Option<Uuid>, last: Box<Error> },
}

fn handed_on(escalation: Option<Uuid>) -> String {
    escalation.map_or_else(String::new, |entry| {
        format!("; entry {entry} asks for somebody to look at it")
    })
}

impl Error {
    /// The refusal of the database, when it is one.
    pub fn refusal(&self) -> Option<&Refusal> {
        match self {
            Self::Store(error) => error.refusal(),
            Self::File { .. }
            | Self::Parse { .. }
            | Self::Unsound { .. }
            | Self::Picture(_)
            | Self::Key(_)
            | Self::Unsigned { .. }
            | Self::Ambiguous(_)
            | Self::Untrusted { .. } => None,
            Self::Exhausted { last, .. } => last.refusal(),
        }
    }
}
