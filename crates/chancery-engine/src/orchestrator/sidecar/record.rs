//! What stands in `state.json`, in the order in which it stands there.

use indexmap::IndexMap;
use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use uuid::Uuid;

use super::pins::{EXACT, Pins};
use crate::orchestrator::run_id::RunId;

/// Where a run stands, and how it came there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    pub run_id: RunId,
    pub created_utc: Timestamp,
    /// The principal who began it.
    pub created_by: String,
    /// The document's own name, for example `ICX-LAW-2026-001`.
    pub document_id: String,
    pub source_document_id: Uuid,
    pub source_version_id: Uuid,
    pub mode: Mode,
    /// One of the fourteen states, or `failed_…`, `stopped_…`, `voided_…`.
    pub state: String,
    /// By name, in the order in which they were entered.
    pub phases: IndexMap<String, PhaseRecord>,
    pub sovereign_approvals: Vec<Approval>,
    /// By phase: what makes a repetition of it the same act.
    pub idempotency_keys: IndexMap<String, String>,
    pub context_pins: Pins,
    pub last_error: Option<LastError>,
    pub schema_version: SchemaVersion,
    /// Approvals that this run has used; none counts twice.
    pub consumed_approval_ids: Vec<String>,
    /// Time spent at work since the last approved resume; waiting at a gate does not count.
    #[serde(serialize_with = "at_most_exact")]
    pub elapsed_ms: u64,
}

/// A time that overflowed is still a long time; written as it is, the file could not be read again.
fn at_most_exact<S: Serializer>(number: &u64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64((*number).min(EXACT))
}

impl Run {
    /// A run of which nothing has been done.
    pub fn begun(
        run_id: RunId,
        created_utc: Timestamp,
        created_by: &str,
        document_id: &str,
        source_version_id: Uuid,
        mode: Mode,
    ) -> Self {
        Self {
            run_id,
            created_utc,
            created_by: created_by.to_owned(),
            document_id: document_id.to_owned(),
            source_document_id: chancery_model::cutter::entry_id(document_id),
            source_version_id,
            mode,
            state: "pending".to_owned(),
            phases: IndexMap::new(),
            sovereign_approvals: Vec::new(),
            idempotency_keys: IndexMap::new(),
            context_pins: Pins::default(),
            last_error: None,
            schema_version: SchemaVersion,
            consumed_approval_ids: Vec::new(),
            elapsed_ms: 0,
        }
    }
}

/// Whether a run writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Goes through everything and leaves the database as it was.
    Dryrun,
    /// Does it.
    Live,
}

/// How one phase went.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PhaseRecord {
    pub phase: String,
    pub started_utc: Timestamp,
    pub finished_utc: Option<Timestamp>,
    pub result: PhaseResult,
    /// By name, in the order in which they were checked.
    pub gate_invariants: IndexMap<String, bool>,
    /// The path of the phase's document in the knowledge base.
    pub kb_doc_id: Option<String>,
    pub artifacts: Vec<Artifact>,
}

/// How far a phase is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PhaseResult {
    Passed,
    Failed,
    /// Begun. A crash leaves this behind, and resume looks at the ground again.
    Running,
}

/// A file that a phase made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Artifact {
    pub path: String,
    /// In hex.
    pub sha256: String,
}

/// What a sovereign was asked for, and what came of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Approval {
    pub gate: Gate,
    pub requested_utc: Timestamp,
    /// The approval's path in the knowledge base, once there is one.
    pub approval_kb_id: Option<String>,
    pub review_decision_id: Option<Uuid>,
    /// When the approval was found good.
    pub validated_utc: Option<Timestamp>,
}

/// A question that only a sovereign can answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Gate {
    /// May the units be written?
    #[serde(rename = "SG_cut_authz")]
    CutAuthz,
    /// May the units be enacted?
    #[serde(rename = "SG_lifecycle_authz")]
    LifecycleAuthz,
    /// May a stopped run go on?
    #[serde(rename = "SG_resume_stopped")]
    ResumeStopped,
    /// May a run go on though the ground has moved?
    #[serde(rename = "SG_drift_ack")]
    DriftAck,
}

/// Why the run stopped last.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LastError {
    /// `STOP_…`.
    pub code: String,
    /// The gate that said no, when it was one.
    pub gate: Option<String>,
    pub reason: String,
    pub at_utc: Timestamp,
    /// The path of the stop-route report in the knowledge base.
    pub report_kb_id: Option<String>,
}

/// The version of this file's shape, which is the only one this program reads and writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SchemaVersion;

impl SchemaVersion {
    pub const NUMBER: u64 = 1;
}

impl Serialize for SchemaVersion {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(Self::NUMBER)
    }
}

impl<'de> Deserialize<'de> for SchemaVersion {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = u64::deserialize(deserializer)?;
        if number == Self::NUMBER { Ok(Self) } else { Err(de::Error::custom("another version")) }
    }
}
