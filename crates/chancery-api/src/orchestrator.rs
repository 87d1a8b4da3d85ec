//! Runs of the orchestrator.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::action::Action;
use crate::id::{ApprovalId, EntryId, OrchestratorRunId, SourceVersionId};
use crate::page::Page;
use crate::route::{Access, Endpoint, Nothing, Route};

const READ: Access = Access::Permission("orchestrator.read");

/// Which runs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OrchestratorQuery {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 100))]
    pub document: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 100))]
    pub state: Option<String>,
    /// `next` of the page before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 500))]
    pub after: Option<String>,
    /// At most so many; 50 when it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 500))]
    pub limit: Option<u16>,
}

/// A run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OrchestratorRun {
    /// Where it stands in this interface.
    pub run_uuid: OrchestratorRunId,
    /// As every command knows it: `ictr-…`.
    pub run_id: String,
    pub state: String,
    /// How many moves were made; the ETag of a run.
    pub seq: i64,
    pub document_id: String,
    pub prefix: String,
    pub source_version_id: SourceVersionId,
    pub entry_id: EntryId,
    pub started_by: String,
    pub created_at: String,
    pub last_transition_at: String,
}

/// One of the fourteen states.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Milestone {
    pub state: String,
    /// The gate that leads there; the first state has none.
    pub gate: Option<String>,
    /// Where the run is now.
    pub current: bool,
    /// When it was reached, and by whom.
    pub at: Option<String>,
    pub by: Option<String>,
    /// What was found at the gate.
    pub invariants: BTreeMap<String, bool>,
    /// The receipt in the knowledge base.
    pub kb_document: Option<String>,
    /// Hex; the log row.
    pub hash: Option<String>,
}

/// A stop, a failure, or an end outside of the fourteen states.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Halt {
    pub seq: i64,
    pub at: String,
    pub to: String,
    pub by: String,
    pub code: Option<String>,
    pub reason: Option<String>,
    /// The report in the knowledge base.
    pub kb_document: Option<String>,
}

/// What a run asks the sovereign.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Question {
    /// `SG_…`.
    pub gate: String,
    /// Nothing when a stopped run was not resumed yet: then it asks.
    pub approval_id: Option<ApprovalId>,
    /// What an approval would say, word for word.
    pub asks: Option<Map<String, Value>>,
}

/// The backup that was taken before anything was written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Backup {
    pub at: String,
    /// What was pinned about it: digest, size, key.
    pub pins: Map<String, Value>,
}

/// A document of the run in the knowledge base.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunDocument {
    pub path: String,
    pub revision: i32,
    pub kind: String,
    pub author: String,
    pub created_at: String,
    pub signatures: i64,
}

/// A run with everything that was found on its way.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OrchestratorRunShown {
    #[serde(flatten)]
    pub run: OrchestratorRun,
    /// The fourteen, in order.
    pub states: Vec<Milestone>,
    pub halts: Vec<Halt>,
    pub question: Option<Question>,
    pub backup: Option<Backup>,
    pub documents: Vec<RunDocument>,
    pub actions: Vec<Action>,
}

/// Why a run is stopped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StopRun {
    #[schemars(length(min = 1, max = 2000))]
    pub reason: String,
}

/// A run that is stopped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Stopped {
    #[serde(flatten)]
    pub run: OrchestratorRun,
    /// Done before with this key; nothing was done twice.
    pub replayed: bool,
}

pub const RUNS: Endpoint<OrchestratorQuery, Nothing, Page<OrchestratorRun>> = Endpoint::get(
    "orchestrator_runs",
    "/v1/orchestrator/runs",
    READ,
    "Runs of the orchestrator, the newest first.",
);
pub const RUN: Endpoint<Nothing, Nothing, OrchestratorRunShown> = Endpoint::get(
    "orchestrator_run",
    "/v1/orchestrator/runs/{run}",
    READ,
    "A run: its fourteen states, gates, invariants, backup, documents, and what can come next.",
);
pub const STOP: Endpoint<Nothing, StopRun, Stopped> = Endpoint::post(
    "stop_orchestrator_run",
    "/v1/orchestrator/runs/{run}/stop",
    Access::Permission("orchestrator.stop"),
    "Stop a run where it stands.",
)
.signed();
pub const APPROVE: Endpoint<Nothing, Nothing, Nothing> = Endpoint::post(
    "approve_orchestrator_run",
    "/v1/orchestrator/runs/{run}/approve",
    READ,
    "Always refused: a gate is passed behind the login of the reviewers. The refusal says what to run.",
)
.keyless();

pub(crate) const ROUTES: &[&Route] = &[&RUNS.route, &RUN.route, &STOP.route, &APPROVE.route];
