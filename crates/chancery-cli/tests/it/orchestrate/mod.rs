//! Runs of the orchestrator, with the real binary, a real PostgreSQL and real processes for the verifier and the backup.

mod bad_input;
mod batch;
mod crash;
mod dryrun;
mod refused_approvals;
mod run;
pub(crate) mod scene;
mod stops;
mod trouble;
mod void;
