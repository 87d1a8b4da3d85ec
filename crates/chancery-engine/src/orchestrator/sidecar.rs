//! The sidecar: the working file of one run, beside the database.
//!
//! A run has a folder `<root>/<run_id>/` of its own (ORC-5):
//!
//! - `state.json`: where the run stands ([`Run`]). It is replaced whole, so a reader or a crash meets either the old file
//!   or the new one. It carries a digest of itself, so a torn or edited file is never taken for the truth.
//! - `state.lock`: held by the process that works on the run. [`Sidecar`] is the handle that holds it.
//! - `pre_write.gpg`: the encrypted backup.
//! - `phase-<NN>.md`: the reports of the phases.
//!
//! Looking at a run ([`read`], [`list`]) takes no lock and changes nothing. The JSON Schema of `state.json` is published
//! as `docs/reference/orchestrator-sidecar.schema.json`.

mod error;
mod folder;
mod pins;
mod record;
mod store;
mod text;

#[cfg(test)]
mod tests;

pub use error::Error;
pub use folder::{Folder, list};
pub use pins::Pins;
pub use record::{
    Approval, Artifact, Gate, LastError, Mode, PhaseRecord, PhaseResult, Run, SchemaVersion,
};
pub use store::{Sidecar, Step, read};
