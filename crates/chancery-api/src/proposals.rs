//! Proposals: changes of workflows, and everything else that is not changed without being asked for.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::Nothing;
use crate::action::{Action, Logged};
use crate::id::{ApprovalId, ChangeId, ProposalId, UnitId};
use crate::page::Page;
use crate::route::{Access, Endpoint, Method, Route};
use crate::workflows::{Graph, GraphQuery};

const READ: Access = Access::Permission("workflow.read");
const WRITE: Access = Access::Permission("workflow.propose");

/// Which changes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChangesQuery {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 500))]
    pub after: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 500))]
    pub limit: Option<u16>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 200))]
    pub workflow: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 63))]
    pub state: Option<String>,
}

/// Which proposals.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProposalsQuery {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 500))]
    pub after: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 500))]
    pub limit: Option<u16>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 63))]
    pub kind: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 63))]
    pub state: Option<String>,
}

/// A change of a workflow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Change {
    #[serde(alias = "change_request_id")]
    pub change_id: ChangeId,
    pub workflow: String,
    /// The version it was written against; nothing for a new workflow.
    pub base_version: Option<i32>,
    pub state: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seq: Option<i64>,
    pub title: String,
    pub proposer: String,
    pub revision_no: i32,
    /// Hex.
    pub definition_sha256: String,
    pub approval_id: Option<ApprovalId>,
    pub merged_version: Option<i32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_transition_at: Option<String>,
    /// It was done before.
    #[serde(default)]
    pub replayed: bool,
}

/// A change with what can be done to it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ChangeShown {
    pub change: Change,
    /// The newest revision, without the steps that the reader may not see.
    pub definition: Value,
    pub hidden_steps: i32,
    /// The request that others vote on, with its quorum and the votes so far.
    pub approval: Option<Value>,
    pub history: Vec<Logged>,
    pub actions: Vec<Action>,
}

/// A definition as it should be.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProposeChange {
    pub definition: Map<String, Value>,
    /// By default what the definition calls itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 200))]
    pub title: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 63))]
    pub actor_class: Option<String>,
}

/// How a proposal is handed in.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Submit {
    /// How long others can vote; seven days when it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 60, max = 31_536_000))]
    pub expires_in_seconds: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 63))]
    pub actor_class: Option<String>,
}

/// Something that is said of a proposal or a run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Say {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 2000))]
    pub reason: Option<String>,
    /// What stands behind it; by default the word of who asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 500))]
    pub audit_ref: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 63))]
    pub actor_class: Option<String>,
}

/// A proposal that was handed in, and the request that others vote on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Submitted<T> {
    pub proposal: T,
    pub approval: Value,
}

/// What a change changes, by meaning.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Diff {
    pub workflow: String,
    pub base_version: Option<i32>,
    pub current_version: Option<i32>,
    pub state: String,
    /// Runs that stay on the version it was written against.
    pub runs_on_base: i64,
    pub fields: Value,
    /// `added`, `removed` and `changed`, each changed one field by field.
    pub steps: Value,
    pub relations: Value,
}

/// A proposal that is not about a workflow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Proposal {
    pub proposal_id: ProposalId,
    pub kind: String,
    pub state: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seq: Option<i64>,
    pub title: String,
    pub proposer: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proposer_class: Option<String>,
    #[serde(default, alias = "affected_iu_ids")]
    pub affected_units: Vec<UnitId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<Value>,
    /// Hex.
    pub action_sha256: String,
    pub approval_id: Option<ApprovalId>,
    pub outcome: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_transition_at: Option<String>,
    /// It was done before.
    #[serde(default)]
    pub replayed: bool,
}

/// A proposal with what it rests on and what can be done to it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProposalShown {
    pub proposal: Proposal,
    pub usage: Vec<Value>,
    pub approval: Option<Value>,
    pub history: Vec<Logged>,
    pub actions: Vec<Action>,
}

/// A proposal that is to be written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Propose {
    #[schemars(length(min = 1, max = 63))]
    pub kind: String,
    #[schemars(length(min = 1, max = 63))]
    pub proposer_class: String,
    #[schemars(length(min = 1, max = 200))]
    pub title: String,
    #[serde(default)]
    pub affected_units: Vec<UnitId>,
    pub action: Map<String, Value>,
    /// What it rests on: `[{"kind": …, "facts": {…}, "iu_id": …}]`.
    #[serde(default)]
    pub usage: Vec<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 63))]
    pub actor_class: Option<String>,
}

/// What came of an approved proposal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CarryOut {
    pub outcome: Map<String, Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 500))]
    pub audit_ref: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 63))]
    pub actor_class: Option<String>,
}

pub const CHANGES: Endpoint<ChangesQuery, Nothing, Page<Change>> =
    Endpoint::get("list_changes", "/v1/changes", READ, "Changes of workflows, the newest first.");
pub const PROPOSE_CHANGE: Endpoint<Nothing, ProposeChange, Change> =
    Endpoint::post("propose_change", "/v1/changes", WRITE, "Write a definition as a draft.")
        .signed()
        .status(201);
pub const REVISE_CHANGE: Endpoint<Nothing, ProposeChange, Change> = Endpoint::post(
    "revise_change",
    "/v1/changes/{change}",
    WRITE,
    "Write the next revision of a draft.",
)
.by(Method::Put)
.signed();
pub const CHANGE: Endpoint<Nothing, Nothing, ChangeShown> = Endpoint::get(
    "show_change",
    "/v1/changes/{change}",
    READ,
    "A change, its approval and what can be done to it.",
);
pub const CHANGE_DIFF: Endpoint<Nothing, Nothing, Diff> = Endpoint::get(
    "change_diff",
    "/v1/changes/{change}/diff",
    READ,
    "What a change changes, by meaning.",
);
pub const CHANGE_GRAPH: Endpoint<GraphQuery, Nothing, Graph> = Endpoint::get(
    "change_graph",
    "/v1/changes/{change}/graph",
    READ,
    "A change beside what it changes, on one picture.",
);
pub const SUBMIT_CHANGE: Endpoint<Nothing, Submit, Submitted<Change>> = Endpoint::post(
    "submit_change",
    "/v1/changes/{change}/submit",
    WRITE,
    "Hand a change in and ask for the approval it needs.",
)
.signed();
pub const WITHDRAW_CHANGE: Endpoint<Nothing, Say, Change> = Endpoint::post(
    "withdraw_change",
    "/v1/changes/{change}/withdraw",
    WRITE,
    "Take a change back before others were asked, as a draft; a draft is given up for good.",
)
.signed();
pub const MERGE_CHANGE: Endpoint<Nothing, Say, Change> = Endpoint::post(
    "merge_change",
    "/v1/changes/{change}/merge",
    WRITE,
    "Make an approved definition the newest version.",
)
.signed();
pub const PROPOSALS: Endpoint<ProposalsQuery, Nothing, Page<Proposal>> = Endpoint::get(
    "list_proposals",
    "/v1/proposals",
    READ,
    "Proposals that are not about workflows, the newest first.",
);
pub const PROPOSE: Endpoint<Nothing, Propose, Proposal> =
    Endpoint::post("propose", "/v1/proposals", WRITE, "Write a proposal as a draft.")
        .signed()
        .status(201);
pub const PROPOSAL: Endpoint<Nothing, Nothing, ProposalShown> = Endpoint::get(
    "show_proposal",
    "/v1/proposals/{proposal}",
    READ,
    "A proposal, what it rests on, its approval and what can be done to it.",
);
pub const SUBMIT_PROPOSAL: Endpoint<Nothing, Submit, Submitted<Proposal>> = Endpoint::post(
    "submit_proposal",
    "/v1/proposals/{proposal}/submit",
    WRITE,
    "Hand a proposal in and ask for the approval it needs.",
)
.signed();
pub const WITHDRAW_PROPOSAL: Endpoint<Nothing, Say, Proposal> = Endpoint::post(
    "withdraw_proposal",
    "/v1/proposals/{proposal}/withdraw",
    WRITE,
    "Take a proposal back before others were asked, as a draft; a draft is given up for good.",
)
.signed();
pub const CARRY_OUT: Endpoint<Nothing, CarryOut, Proposal> = Endpoint::post(
    "carry_out_proposal",
    "/v1/proposals/{proposal}/carry-out",
    WRITE,
    "Record that what was approved is done.",
)
.signed();

pub(crate) const ROUTES: &[&Route] = &[
    &CHANGES.route,
    &PROPOSE_CHANGE.route,
    &REVISE_CHANGE.route,
    &CHANGE.route,
    &CHANGE_DIFF.route,
    &CHANGE_GRAPH.route,
    &SUBMIT_CHANGE.route,
    &WITHDRAW_CHANGE.route,
    &MERGE_CHANGE.route,
    &PROPOSALS.route,
    &PROPOSE.route,
    &PROPOSAL.route,
    &SUBMIT_PROPOSAL.route,
    &WITHDRAW_PROPOSAL.route,
    &CARRY_OUT.route,
];
