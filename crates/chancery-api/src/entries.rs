//! Requests to cut, and what came of them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::action::Action;
use crate::documents::Profile;
use crate::id::{
    ChangeSetId, DecisionId, EntryId, KeyId, ManifestId, SignatureId, SourceVersionId,
    VerifyResultId,
};
use crate::page::Page;
use crate::route::{Access, Endpoint, Nothing, Route};

const READ: Access = Access::Permission("entry.read");
const MOVE: Access = Access::Permission("entry.move");

/// Which requests.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EntriesQuery {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 100))]
    pub status: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 100))]
    pub document: Option<String>,
    /// `next` of the page before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 500))]
    pub after: Option<String>,
    /// At most so many; 50 when it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 500))]
    pub limit: Option<u16>,
}

/// A request as it stands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Entry {
    pub entry_id: EntryId,
    /// `cut_request` or `escalation`.
    pub kind: String,
    pub status: String,
    pub document_id: Option<String>,
    pub source_version_id: Option<SourceVersionId>,
    pub escalation_of: Option<EntryId>,
    pub scenario_ref: Option<String>,
    pub payload: Map<String, Value>,
    pub started_by: String,
    pub state_machine_id: String,
    /// How many moves were made; the ETag of an entry.
    pub seq: i64,
    pub trace_id: String,
    pub emitted_at: String,
    pub last_transition_at: String,
}

/// One of the four stages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Stage {
    /// `mark`, `review`, `cut` or `verify`.
    pub stage: String,
    pub done: bool,
    pub by: Option<String>,
    pub at: Option<String>,
    /// `approve`, `reject`, `defer`, `pass` or `fail`.
    pub verdict: Option<String>,
    /// Whether it was signed by who did it.
    pub signed: bool,
}

/// A rule on a way that leads on from here, and whether it holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Guard {
    pub guard: String,
    /// The call that it stands before.
    pub action: String,
    pub to: String,
    /// Nothing where it depends on what the caller brings.
    pub holds: Option<bool>,
    /// What it asks, where it does not hold.
    pub means: Option<String>,
}

/// What a request waits for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Dependency {
    pub entry_id: EntryId,
    pub dependency_kind: String,
    pub status: String,
}

/// A decision on a request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReviewDecision {
    pub review_decision_id: DecisionId,
    pub governance_event_kind: String,
    pub verdict: String,
    pub reviewer: String,
    pub risk: String,
    pub rationale: Option<String>,
    pub findings: Value,
    pub manifest_id: ManifestId,
    /// Hex.
    pub manifest_digest: String,
    pub unit_count: i32,
    pub prior_review_decision_id: Option<DecisionId>,
    pub superseded_by: Option<DecisionId>,
    pub key_id: KeyId,
    pub decision_at: String,
}

/// What a cut wrote, or took back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChangeSet {
    pub change_set_id: ChangeSetId,
    /// `apply` or `compensate`.
    pub change_kind: String,
    pub review_decision_id: DecisionId,
    pub units: i32,
    pub executor_signature_id: Option<SignatureId>,
    pub rollback_of: Option<ChangeSetId>,
    pub rollback_reason: Option<String>,
    /// Hex.
    pub change_set_digest: String,
    pub tool_revision: String,
    pub emitted_by: String,
    pub emitted_at: String,
}

/// A verdict on a cut.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct VerifyResult {
    pub verify_result_id: VerifyResultId,
    pub change_set_id: ChangeSetId,
    pub verdict: String,
    pub findings: Value,
    pub verifier: String,
    pub tool_revision: String,
    pub verifier_signature_id: SignatureId,
    pub rollback_change_set_id: Option<ChangeSetId>,
    pub verified_at: String,
}

/// A move of a request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EntryMove {
    pub seq: i64,
    pub at: String,
    pub from: Option<String>,
    pub to: String,
    pub change_kind: String,
    pub principal: String,
    pub actor_class: String,
    pub reason: Option<String>,
    pub evidence: Value,
    pub event_type: Option<String>,
    pub signed: bool,
    /// Hex.
    pub hash: String,
}

/// A request with everything that happened to it, and what can come next.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EntryShown {
    #[serde(flatten)]
    pub entry: Entry,
    /// Mark, review, cut, verify, in this order.
    pub stages: Vec<Stage>,
    pub guards: Vec<Guard>,
    pub depends_on: Vec<Dependency>,
    pub decisions: Vec<ReviewDecision>,
    pub change_sets: Vec<ChangeSet>,
    pub verify_results: Vec<VerifyResult>,
    /// The entries that failures of this one opened.
    pub escalations: Vec<EntryId>,
    pub history: Vec<EntryMove>,
    pub actions: Vec<Action>,
}

/// A request that is to be marked; what is left out follows from the document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewEntry {
    #[schemars(length(min = 1, max = 63))]
    pub document_id: String,
    /// The newest one when it is left out.
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub version: Option<i32>,
    /// Requests that must be verified before this one is cut.
    #[serde(default)]
    #[schemars(length(max = 100))]
    pub depends_on: Vec<EntryId>,
    #[serde(default)]
    pub profile: Option<Profile>,
    #[serde(default)]
    #[schemars(length(max = 100))]
    pub unit_kind: Option<String>,
    #[serde(default)]
    #[schemars(length(max = 100))]
    pub publication_type: Option<String>,
    #[serde(default)]
    #[schemars(length(max = 200))]
    pub scenario_ref: Option<String>,
    #[serde(default)]
    #[schemars(length(max = 2000))]
    pub reason: Option<String>,
    /// Only needed when the caller's first class is not the one to mark in.
    #[serde(default)]
    #[schemars(length(max = 100))]
    pub actor_class: Option<String>,
}

/// Why a request is given up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Abandon {
    #[schemars(length(min = 1, max = 2000))]
    pub reason: String,
    /// What it rests on; the reason when it is left out.
    #[serde(default)]
    #[schemars(length(max = 500))]
    pub audit_ref: Option<String>,
}

/// Where a request stands now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EntryMoved {
    pub entry_id: EntryId,
    pub kind: String,
    pub status: String,
    pub seq: i64,
    pub document_id: Option<String>,
    /// Done before; nothing was done twice.
    pub replayed: bool,
}

pub const ENTRIES: Endpoint<EntriesQuery, Nothing, Page<Entry>> =
    Endpoint::get("entries", "/v1/entries", READ, "Requests to cut, the newest first.");
pub const MARK: Endpoint<Nothing, NewEntry, EntryMoved> =
    Endpoint::post("mark", "/v1/entries", MOVE, "Ask for a document to be cut.")
        .signed()
        .status(201);
pub const ENTRY: Endpoint<Nothing, Nothing, EntryShown> = Endpoint::get(
    "entry",
    "/v1/entries/{entry}",
    READ,
    "A request: its four stages, its rules, its history, and what can come next.",
);
pub const ABANDON: Endpoint<Nothing, Abandon, EntryMoved> = Endpoint::post(
    "abandon_entry",
    "/v1/entries/{entry}/abandon",
    MOVE,
    "Give a request up for good; what was cut and not verified is taken back.",
)
.signed();

pub(crate) const ROUTES: &[&Route] = &[&ENTRIES.route, &MARK.route, &ENTRY.route, &ABANDON.route];
