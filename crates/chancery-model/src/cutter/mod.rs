//! The cutter's documents, built from values alone: ids of parts, manifests, effects, and the texts that are signed.
//!
//! The functions of `sql/cutter_governance` make the same bytes from their rows and refuse what differs; a test puts the same
//! random values to both. Whoever executes, verifies or audits a cut uses this, and asks the database for no digest.

mod effect;
mod id;
mod manifest;
mod payload;
mod snapshot;

pub use effect::{ChangeSet, Effect, UnitEffect, change_set_digest, effect_digest};
pub use id::{
    abandonment_id, derived_uuid, entry_id, escalation_id, rollback_id, verification_given_up_id,
};
pub use manifest::{FIRST_CUT, Manifest, ManifestUnit};
pub use payload::{
    Decision, EXECUTOR_LANE, Lane, LaneSigner, VERIFIER_LANE, Verification, abandon_evidence,
    decision_payload, decision_payload_of, executor_attested, lane_payload, lane_payload_of,
    mark_evidence, review_evidence, verifier_attested, verify_digest,
};
pub use snapshot::retired_snapshot;
