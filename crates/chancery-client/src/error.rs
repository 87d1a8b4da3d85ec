//! Why a call gave no answer.

use chancery_api::Problem;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The server said no, and why.
    #[error("{} ({})", .0.title, .0.code.as_deref().unwrap_or(&.0.problem))]
    Refused(Box<Problem>),
    /// The server was not reached, or not in time, as often as was tried. Whether it did what was asked is unknown: ask again with the
    /// same key.
    #[error("the server gave no answer: {0}")]
    Away(String),
    /// The answer is none of this API.
    #[error("this is no answer of Chancery: {0}")]
    Strange(String),
    /// What the server wants signed is not what it says, or not for this key.
    #[error("this is not signed: {0}")]
    NotSigned(String),
    /// The call itself is wrong.
    #[error("this can't be asked: {0}")]
    Malformed(String),
}

impl Error {
    /// The code of a refusal, or the word of a fault.
    pub fn problem(&self) -> Option<&str> {
        match self {
            Self::Refused(problem) => Some(problem.code.as_deref().unwrap_or(&problem.problem)),
            Self::Away(_) | Self::Strange(_) | Self::NotSigned(_) | Self::Malformed(_) => None,
        }
    }
}
