//! What the runner cannot do itself, because it holds the executor's login and no other.

use std::future::Future;
use std::path::Path;

use super::stop::Stop;

/// A backup that another process took.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct TakenBackup {
    /// Of the encrypted file, hex.
    pub sha256: String,
    pub size_bytes: u64,
    pub fingerprint: String,
}

/// Processes with logins and keys of their own.
pub trait Aides {
    /// Dumps and encrypts what the run will touch, with the login of the backup.
    fn take_backup(
        &self,
        run_name: &str,
        file: &Path,
    ) -> impl Future<Output = Result<TakenBackup, Stop>>;

    /// Lets the verifier look at what was written and record its verdict, with its own login and key.
    fn write_verify(&self, run_name: &str) -> impl Future<Output = Result<(), Stop>>;
}

/// Who watches a run.
pub trait Watch {
    /// Where the run stands when the command begins.
    fn standing_at(&mut self, state: &str);
    fn phase_started(&mut self, phase: super::Phase, cap: std::time::Duration);
    /// The phase still works.
    fn tick(&mut self, elapsed: std::time::Duration);
    fn invariant(&mut self, name: &str, holds: bool);
    fn phase_passed(&mut self, state: &str, elapsed: std::time::Duration);
    fn paused(&mut self, gate: &str);
    fn stopped(&mut self, code: &str, reason: &str);
}
