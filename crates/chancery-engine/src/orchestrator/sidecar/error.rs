//! What can be wrong with a sidecar, and the way forward from each.

use std::io;
use std::path::{Path, PathBuf};

use crate::orchestrator::lock::Holder;
use crate::orchestrator::run_id::RunId;

/// Why a sidecar can't be read, written or used.
///
/// No text of the file is repeated here: what was put into it by hand may be a secret.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no such run here.
    #[error(
        "there is no run {run_id} in {}: `cutter orchestrate list` shows the runs that are there, and CUTTER_RUNS_DIR says where they lie; when the database knows the run, put its folder back from a backup, or void the run",
        root.display()
    )]
    NotFound { run_id: RunId, root: PathBuf },
    /// The run is there already.
    #[error(
        "run {run_id} has begun already: go on with `cutter orchestrate resume --run-id {run_id}`"
    )]
    Exists { run_id: RunId },
    /// The file is torn, or it was never a sidecar.
    #[error(
        "{} {what}: put the file back from a backup, or void the run with `cutter orchestrate void --run-id {run_id}`",
        path.display()
    )]
    Corrupt { run_id: RunId, path: PathBuf, what: String },
    /// The file is whole, but not as it was written.
    #[error(
        "{} {what}, so somebody changed it: undo the change, put the file back from a backup, or void the run with `cutter orchestrate void --run-id {run_id}`",
        path.display()
    )]
    Edited { run_id: RunId, path: PathBuf, what: String },
    /// The file is of another version of this program.
    #[error(
        "{} has schema version {found}, and this program knows version {known}: go on with the version of the program that began the run",
        path.display()
    )]
    Version { path: PathBuf, found: String, known: u64 },
    /// Somebody else works on the run.
    #[error(
        "another process works on run {run_id}{}: wait for it to end, or end it; `cutter orchestrate status --run-id {run_id}` shows how far it is",
        holder.map_or_else(String::new, |holder| format!(" ({holder})"))
    )]
    Busy { run_id: RunId, holder: Option<Holder> },
    /// The disk, or the quota, is full.
    #[error(
        "no space left to {doing} {}: make room and resume the run; its last state is still there ({source})",
        path.display()
    )]
    DiskFull { doing: &'static str, path: PathBuf, source: io::Error },
    /// The file system said no.
    #[error(
        "can't {doing} {}: {source}; its last state is still there: resume the run when the file can be reached",
        path.display()
    )]
    Io { doing: &'static str, path: PathBuf, source: io::Error },
    /// A pin whose name says that it is a secret.
    #[error(
        "{key:?} is the name of a secret, and a sidecar is no place for one: pin a digest or a fingerprint under another name"
    )]
    SecretPin { key: String },
    /// A pin that would not come back as it went.
    #[error("the pin {key:?} {why}")]
    BadPin { key: String, why: &'static str },
}

impl Error {
    /// The code with which a run stops.
    pub fn stop_code(&self) -> &'static str {
        match self {
            Self::NotFound { .. } => "STOP_RUN_NOT_FOUND",
            Self::Exists { .. } => "STOP_RUN_EXISTS",
            Self::Corrupt { .. } => "STOP_SIDECAR_CORRUPT",
            Self::Edited { .. } => "STOP_SIDECAR_EDITED",
            Self::Version { .. } => "STOP_SIDECAR_VERSION",
            Self::Busy { .. } => "STOP_RUN_BUSY",
            Self::DiskFull { .. } => "STOP_DISK_FULL",
            Self::Io { .. } => "STOP_SIDECAR_IO",
            Self::SecretPin { .. } | Self::BadPin { .. } => "STOP_PIN_REFUSED",
        }
    }

    /// A refusal of the file system, by what was being done.
    pub(super) fn of_io(doing: &'static str, path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        match source.kind() {
            // A limit of file sizes is full in the same sense: room has to be made by somebody.
            io::ErrorKind::StorageFull
            | io::ErrorKind::QuotaExceeded
            | io::ErrorKind::FileTooLarge => Self::DiskFull { doing, path, source },
            _ => Self::Io { doing, path, source },
        }
    }
}
