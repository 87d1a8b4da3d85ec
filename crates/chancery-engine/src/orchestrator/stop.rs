//! Why a run does not go on, in one code, one reason and one way forward.

use std::fmt;

use crate::Error;

/// A stop. Nothing is retried and no gate is skipped: whoever reads it decides.
#[derive(Debug)]
pub struct Stop {
    /// `STOP_…`.
    pub code: &'static str,
    pub reason: String,
    /// What to do now.
    pub way: String,
    /// What the database or the file system said.
    pub source: Option<Box<Error>>,
}

impl Stop {
    pub fn new(code: &'static str, reason: impl Into<String>, way: impl Into<String>) -> Self {
        Self { code, reason: reason.into(), way: way.into(), source: None }
    }

    #[must_use]
    pub fn because(mut self, error: Error) -> Self {
        self.source = Some(Box::new(error));
        self
    }
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}; {}", self.code, self.reason, self.way)
    }
}

impl std::error::Error for Stop {}

impl Stop {
    pub(super) fn bug(what: &str) -> Self {
        Self::new("STOP_EXCEPTION", what, "report this; the run stands where it stood")
    }
}

impl From<super::sidecar::Error> for Stop {
    fn from(error: super::sidecar::Error) -> Self {
        // Its words end with the way forward.
        let text = error.to_string();
        let (reason, way) = text.split_once(": ").unwrap_or((&text, "look at the file"));
        Self::new(error.stop_code(), reason, way)
    }
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        let way = "mend what it says, then resume the run";
        let (code, way) = match &error {
            Error::Store(chancery_store::Error::Away(_)) => {
                ("STOP_DATABASE_AWAY", "start the database, then resume the run; nothing was lost")
            }
            Error::File { source, .. }
                if matches!(
                    source.kind(),
                    std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded
                ) =>
            {
                ("STOP_DISK_FULL", "make room, then resume the run; its last state is still there")
            }
            Error::File { .. } => ("STOP_SIDECAR_IO", way),
            other => match other.refusal() {
                Some(_) => ("STOP_REFUSED", way),
                None => ("STOP_EXCEPTION", way),
            },
        };
        Self::new(code, error.to_string(), way).because(error)
    }
}
