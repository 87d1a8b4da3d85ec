//! The orchestrator: one run takes one document from `pending` to `closeout_reported`.

pub mod lock;
pub mod run_id;
pub mod sidecar;
