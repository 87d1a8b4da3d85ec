//! The hash chain of the transition log, recomputed from raw columns.
//!
//! `internal.log_hash` computes the same in PostgreSQL when a row is written. The audit never asks the audited database
//! for a hash: it uses this.

use std::fmt::Write as _;

use sha2::{Digest, Sha256};
use uuid::Uuid;

/// One row of `fsm.transition_log` as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogRow {
    pub run_id: Uuid,
    pub seq: i64,
    pub log_id: Uuid,
    pub run_kind: String,
    pub state_machine_id: String,
    pub transition_id: String,
    pub from_state: Option<String>,
    pub to_state: String,
    pub facet: Option<String>,
    pub principal: String,
    pub actor_class: String,
    pub trigger_kind: String,
    pub trigger_ref: String,
    pub reason: Option<String>,
    /// Canonical JSON, as stored.
    pub evidence: String,
    pub event_type: Option<String>,
    pub artefact_digest: Option<Vec<u8>>,
    pub idempotency_key: String,
    pub key_id: Option<Uuid>,
    pub signature: Option<Vec<u8>>,
    /// Microseconds since 1970: timestamps as text follow the session's time zone.
    pub at_micros: i64,
    pub prev_hash: Option<Vec<u8>>,
    pub hash: Vec<u8>,
}

/// The hash that the first logged move of a job is chained to, as `queue.genesis` makes it.
pub fn job_genesis(job_id: Uuid) -> [u8; 32] {
    Sha256::digest(format!("chancery.job.v1,{job_id}")).into()
}

/// The id of the job with this key in this class, as `queue.job_id` makes it.
pub fn job_id(executor_class: &str, key: &str) -> Uuid {
    let digest = Sha256::digest(format!("chancery.job.v1,{executor_class},{key}"));
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&digest[..16]);
    bytes[6] = (bytes[6] & 0x0f) | 0x80;
    bytes[8] = (bytes[8] & 0x0f) | 0xa0;
    Uuid::from_bytes(bytes)
}

impl LogRow {
    /// The hash that this row must carry, over every stored column but the hash itself.
    pub fn expected_hash(&self) -> [u8; 32] {
        let mut text = String::from("chancery.log.v1,");
        let hex_or_empty =
            |bytes: &Option<Vec<u8>>| bytes.as_ref().map(hex::encode).unwrap_or_default();
        let key_id = self.key_id.map(|id| id.to_string()).unwrap_or_default();
        write!(
            text,
            "{},{},{},{},{},{},{},{},",
            self.run_id,
            self.seq,
            self.log_id,
            key_id,
            self.at_micros,
            hex_or_empty(&self.prev_hash),
            hex_or_empty(&self.artefact_digest),
            hex_or_empty(&self.signature),
        )
        .expect("writing to a string cannot fail");
        let texts: [Option<&str>; 14] = [
            Some(&self.run_kind),
            Some(&self.state_machine_id),
            Some(&self.transition_id),
            self.from_state.as_deref(),
            Some(&self.to_state),
            self.facet.as_deref(),
            Some(&self.principal),
            Some(&self.actor_class),
            Some(&self.trigger_kind),
            Some(&self.trigger_ref),
            self.reason.as_deref(),
            Some(&self.evidence),
            self.event_type.as_deref(),
            Some(&self.idempotency_key),
        ];
        let lengths = texts.map(|t| t.map_or_else(|| "-1".to_owned(), |t| t.len().to_string()));
        text.push_str(&lengths.join(","));
        text.push(':');
        texts.into_iter().flatten().for_each(|t| text.push_str(t));
        Sha256::digest(text.as_bytes()).into()
    }
}
