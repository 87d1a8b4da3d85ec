//! Runs of the orchestrator, with the real binary, a real PostgreSQL and real processes for the verifier and the backup.

mod batch;
mod crash;
mod dryrun;
mod run;
pub(crate) mod scene;
