//! The orchestrator: one run takes one document from `pending` to `closeout_reported`, through eleven gates that pass by themselves
//! and two at which it waits for a sovereign.
//!
//! The database decides and knows where a run stands; the sidecar is its working file. Each phase is one transaction that ends with the
//! move, so a process can die at any instant: the next one looks at the database, brings the sidecar up to it, and goes on.

mod aides;
mod approve;
mod authority;
pub mod backup;
pub mod batch;
mod document;
mod halt;
pub mod lock;
mod phase;
mod phases;
mod plan;
mod refresh;
mod refused_runs;
mod rehearse;
pub mod run_id;
mod runner;
pub mod sidecar;
mod sign_documents;
mod stop;
mod view;
mod void;
mod write_verify;

pub use aides::{Aides, TakenBackup, Watch};
pub use approve::{Approved, Asked, approve, asked};
pub use authority::Question;
pub use document::approval_path;
pub use halt::stop;
pub use phase::{Phase, STATES, question};
pub use plan::Choice;
pub use refresh::refresh_sidecar;
pub use rehearse::{
    Rehearsal, approve_rehearsal, rehearsal_asks, remove_rehearsal, stop_rehearsal, void_rehearsal,
};
pub use run_id::RunId;
pub use runner::{Ended, Runner};
pub use stop::Stop;
pub use void::void;
pub use write_verify::write_verify;
