//! Requests for approval, votes, and what waits for the caller.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::action::Action;
use crate::id::{ApprovalId, KeyId, VoteId, WorkflowRunId};
use crate::page::Page;
use crate::route::{Access, Endpoint, Nothing, Route};

const READ: Access = Access::Permission("approval.read");

/// Where a request stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalState {
    Pending,
    Approved,
    Rejected,
    Expired,
    Used,
}

/// Which of them concern the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mine {
    /// Those that the caller can vote on.
    CanDecide,
}

/// Which requests.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ApprovalsQuery {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<ApprovalState>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 100))]
    pub kind: Option<String>,
    /// What it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 500))]
    pub subject: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mine: Option<Mine>,
    /// `next` of the page before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 500))]
    pub after: Option<String>,
    /// At most so many; 50 when it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 500))]
    pub limit: Option<u16>,
}

/// How the newest votes stand.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Tally {
    pub sovereigns: i64,
    pub reviewers: i64,
    pub approvals: i64,
    pub rejects: i64,
}

/// What an approval needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Quorum {
    pub sovereigns: i64,
    pub reviewers: i64,
    pub approvals: i64,
    pub rejects_allowed: i64,
}

/// What a quorum still lacks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Missing {
    pub sovereigns: i64,
    pub reviewers: i64,
    /// Approving votes of anybody, the above included.
    pub approvals: i64,
}

/// What an approval was used for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Used {
    pub used_for_kind: String,
    pub used_for_ref: String,
    pub used_by: String,
    pub used_at: String,
}

/// A request as it stands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Approval {
    pub approval_id: ApprovalId,
    pub kind: String,
    pub subject_kind: String,
    pub subject_ref: String,
    /// Hex.
    pub subject_digest: Option<String>,
    pub risk: String,
    pub title: String,
    pub facts: Map<String, Value>,
    pub proposer: String,
    pub state: ApprovalState,
    pub tally: Tally,
    pub quorum: Quorum,
    pub requested_at: String,
    pub expires_at: String,
    /// Hex; what a vote is about.
    pub request_digest: String,
    pub used: Option<Used>,
}

/// A vote as it stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Vote {
    pub vote_id: VoteId,
    pub voter: String,
    pub vote_seq: i32,
    pub decision: Decision,
    pub rationale: Option<String>,
    /// `sovereign`, `reviewer` or `other`.
    pub counted_as: String,
    pub key_id: KeyId,
    /// What was signed: canonical JSON.
    pub vote_payload: String,
    /// Hex.
    pub signature: String,
    pub voted_at: String,
    /// Whether it is the newest of its voter, so the one that counts.
    pub counts: bool,
}

/// A request with its votes, what it lacks, and what the caller can do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ApprovalShown {
    #[serde(flatten)]
    pub approval: Approval,
    pub missing: Missing,
    pub votes: Vec<Vote>,
    pub actions: Vec<Action>,
}

/// A request that is to be made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewApproval {
    #[schemars(length(min = 1, max = 100))]
    pub kind: String,
    #[schemars(length(min = 1, max = 500))]
    pub subject_ref: String,
    /// Pins the subject as it is now, hex; a transition's is looked up.
    #[serde(default)]
    #[schemars(regex(pattern = "^[0-9a-f]{64}$"))]
    pub subject_digest: Option<String>,
    /// The least that its kind allows, when it is left out.
    #[serde(default)]
    pub risk: Option<Risk>,
    #[schemars(length(min = 1, max = 500))]
    pub title: String,
    #[serde(default)]
    pub facts: Map<String, Value>,
    /// How long it can be voted on.
    #[schemars(range(min = 1, max = 31_536_000))]
    pub expires_in_seconds: u32,
    /// Only needed when the caller's first class is not the one to ask in.
    #[serde(default)]
    #[schemars(length(max = 100))]
    pub actor_class: Option<String>,
}

/// How much care a decision needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Risk {
    Low,
    Medium,
    High,
}

/// What a voter says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    Approve,
    Reject,
    /// Heard, and neither for nor against it.
    Abstain,
}

/// A vote that is to be cast.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewVote {
    pub decision: Decision,
    #[serde(default)]
    #[schemars(length(max = 2000))]
    pub rationale: Option<String>,
    /// Only needed when the caller holds several classes that count.
    #[serde(default)]
    #[schemars(length(max = 100))]
    pub actor_class: Option<String>,
}

/// Where a request stands now.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Standing {
    pub approval_id: ApprovalId,
    pub kind: String,
    pub subject_kind: String,
    pub subject_ref: String,
    pub risk: String,
    pub title: String,
    pub proposer: String,
    pub state: ApprovalState,
    pub tally: Tally,
    pub quorum: Quorum,
    pub missing: Missing,
    /// Hex.
    pub request_digest: String,
    pub expires_at: String,
    /// Done before; nothing was done twice.
    pub replayed: bool,
}

/// How much of the inbox.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InboxQuery {
    /// At most so many of each list; 50 when it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 500))]
    pub limit: Option<u16>,
}

/// What something that waits is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Waiting {
    /// A request to vote on.
    Approval,
    /// A run of the orchestrator that asks the sovereign.
    Gate,
    /// A step that one is in charge of, or could take.
    Step,
    /// A task of a step.
    Task,
    /// What a step or task waits for and the caller can give.
    Wait,
}

/// Something that waits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct InboxItem {
    pub kind: Waiting,
    /// Its id, with the prefix of its kind: `apr`, `stp`, `tsk` or `wai`.
    pub id: String,
    pub title: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title_vi: Option<String>,
    /// What it belongs to: a workflow, or what an approval is of.
    pub about: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workflow_run_id: Option<WorkflowRunId>,
    pub since: String,
    pub deadline: Option<String>,
    /// The one thing to do about it.
    pub action: Action,
}

/// What waits for the caller, and what does not.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Inbox {
    /// The nearest deadline first.
    pub waiting: Vec<InboxItem>,
    /// How many there are in all.
    pub waiting_count: i64,
    /// What is open and the caller cannot decide; the action says why.
    pub not_mine: Vec<InboxItem>,
    pub not_mine_count: i64,
}

pub const APPROVALS: Endpoint<ApprovalsQuery, Nothing, Page<Approval>> =
    Endpoint::get("approvals", "/v1/approvals", READ, "Requests for approval, the newest first.");
pub const REQUEST: Endpoint<Nothing, NewApproval, Standing> = Endpoint::post(
    "request_approval",
    "/v1/approvals",
    Access::Permission("approval.request"),
    "Ask for an approval.",
)
.signed()
.status(201);
pub const APPROVAL: Endpoint<Nothing, Nothing, ApprovalShown> = Endpoint::get(
    "approval",
    "/v1/approvals/{approval}",
    READ,
    "A request with its votes, what it lacks, and whether the caller can vote.",
);
pub const VOTE: Endpoint<Nothing, NewVote, Standing> = Endpoint::post(
    "vote",
    "/v1/approvals/{approval}/votes",
    Access::Permission("approval.vote"),
    "Vote on a request. The newest vote of a voter counts.",
)
.signed()
.status(201);
pub const INBOX: Endpoint<InboxQuery, Nothing, Inbox> = Endpoint::get(
    "inbox",
    "/v1/inbox",
    Access::Permission("self.read"),
    "What waits for the caller, and what is open and not theirs to decide.",
);

pub(crate) const ROUTES: &[&Route] =
    &[&APPROVALS.route, &REQUEST.route, &APPROVAL.route, &VOTE.route, &INBOX.route];
