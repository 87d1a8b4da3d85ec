//! Why a run does not go on, in one code, one reason and one way forward.

use std::fmt;
use std::time::Duration;

use super::sidecar::Error as SidecarError;
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

    /// The same, with the run's own name in the commands.
    #[must_use]
    pub(super) fn of_run(mut self, name: &str) -> Self {
        self.way = self.way.replace("--run-id RUN", &format!("--run-id {name}"));
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
        Self::new(
            "STOP_EXCEPTION",
            what,
            "the run stands where it stood: report this, with what `cutter orchestrate status --run-id RUN` shows",
        )
    }
}

impl Stop {
    /// Which of both caps it was, and the setting that holds it.
    pub(super) fn over_cap(phase: &str, cap: Duration, of_run: Duration, spent: Duration) -> Self {
        let seconds = |time: Duration| format!("{:.1} s", time.as_secs_f64());
        let reason = if of_run.saturating_sub(spent) < cap {
            format!(
                "the run works longer than it may in all, {} (orchestrator.cap_minutes.run); {} was spent before {phase}",
                seconds(of_run),
                seconds(spent)
            )
        } else {
            format!(
                "{phase} takes longer than it may, {} (orchestrator.cap_minutes.{phase})",
                seconds(cap)
            )
        };
        Self::new("STOP_OVER_CAP", reason, "find out what takes so long")
    }

    /// A run that could not even get its file was not begun.
    pub(super) fn not_begun(error: SidecarError, document_id: &str) -> Self {
        let again = format!("`cutter orchestrate start {document_id}`");
        let way = match &error {
            SidecarError::DiskFull { .. } => format!("nothing was begun: make room, then {again}"),
            SidecarError::Io { .. } => {
                format!("nothing was begun: when the folder can be written, {again}")
            }
            _ => return error.into(),
        };
        Self { way, ..error.into() }
    }
}

/// The code of a stop by drift: one for each dimension of the survey, and the common one for what this release does not know.
pub(super) fn drift_code(dimension: &str) -> &'static str {
    match dimension {
        "functions" => "STOP_DRIFT_FUNCTIONS",
        "invariants" => "STOP_DRIFT_INVARIANTS",
        "review_decisions" => "STOP_DRIFT_REVIEW_DECISIONS",
        "row_count" => "STOP_DRIFT_ROW_COUNT",
        "source_version" => "STOP_DRIFT_SOURCE_VERSION",
        _ => "STOP_DRIFT",
    }
}

impl From<SidecarError> for Stop {
    fn from(error: SidecarError) -> Self {
        // Its words end with the way forward.
        let text = error.to_string();
        let (reason, way) = text.split_once(": ").unwrap_or((&text, "look at the file"));
        Self::new(error.stop_code(), reason, way)
    }
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        let mend = "mend what it says, then `cutter orchestrate resume --run-id RUN`";
        let (code, way) = match &error {
            Error::Store(chancery_store::Error::Away(_)) => (
                "STOP_DATABASE_AWAY",
                "nothing was lost: start the database, then `cutter orchestrate resume --run-id RUN`",
            ),
            Error::File { source, .. } if is_full(source) => (
                "STOP_DISK_FULL",
                "its last state is still there: make room, then `cutter orchestrate resume --run-id RUN`",
            ),
            Error::File { .. } => ("STOP_SIDECAR_IO", mend),
            other => match other.refusal() {
                Some(refusal) if refusal.hint.is_empty() => ("STOP_REFUSED", mend),
                Some(refusal) => ("STOP_REFUSED", refusal.hint.as_str()),
                None => ("STOP_EXCEPTION", mend),
            },
        };
        Self::new(code, error.to_string(), way).because(error)
    }
}

/// Whether somebody has to make room; a limit of file sizes is full in the same sense.
pub(super) fn is_full(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    matches!(error.kind(), StorageFull | QuotaExceeded | FileTooLarge)
}
