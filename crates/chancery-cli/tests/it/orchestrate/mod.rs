//! Runs of the orchestrator, with the real binary, a real PostgreSQL and real processes for the verifier and the backup.

mod bad_input;
mod batch;
mod crash;
mod drift;
mod dryrun;
mod failed_gates;
mod invariants;
mod orphans;
mod outlook;
mod papers;
mod random_kills;
mod refused_approvals;
mod run;
pub(crate) mod scene;
mod stops;
mod tamper;
mod trouble;
mod void;
