//! Runs of workflows: where they stand and why, and what a reviewer does to them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Nothing;
use crate::action::{Action, Title};
use crate::id::{ApprovalId, StepRunId, TaskRunId, UnitVersionId, WaitId, WorkflowRunId};
use crate::page::Page;
use crate::proposals::Say;
use crate::route::{Access, Endpoint, Route};
use crate::workflows::{Graph, GraphQuery, RunMoved};

const READ: Access = Access::Permission("workflow.read");
const RUN: Access = Access::Permission("workflow.run");

/// Which runs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RunsQuery {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 500))]
    pub after: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 500))]
    pub limit: Option<u16>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 200))]
    pub workflow: Option<String>,
    /// A state, or `open` for all that are not over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 63))]
    pub state: Option<String>,
    /// `gray`, `green`, `yellow` or `red`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 63))]
    pub colour: Option<String>,
}

/// A run of a workflow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkflowRun {
    #[serde(alias = "workflow_run_id")]
    pub run_id: WorkflowRunId,
    pub workflow: String,
    pub version: i32,
    pub inputs: Value,
    /// The step of another run that this one stands for.
    #[serde(alias = "parent_step_run_id")]
    pub parent_step_id: Option<StepRunId>,
    #[serde(alias = "state_code")]
    pub state: String,
    pub seq: i64,
    pub started_by: String,
    pub trace_id: String,
    pub created_at: String,
    pub last_transition_at: String,
    /// `gray`, `green`, `yellow` or `red`.
    #[serde(alias = "rollup_state_code")]
    pub colour: String,
    #[serde(alias = "mandatory_count")]
    pub mandatory: i32,
    #[serde(alias = "completed_count")]
    pub completed: i32,
    pub frozen_at: Option<String>,
}

/// Why a run has its colour.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Rollup {
    pub colour: String,
    /// One sentence.
    pub sentence: Title,
    pub red: i32,
    pub yellow: i32,
    pub green: i32,
    pub skipped: i32,
    /// Optional steps, which do not count.
    pub optional: i32,
    pub mandatory: i32,
    pub completed: i32,
    pub decisive_step_id: Option<StepRunId>,
    pub decisive_step: Option<String>,
    pub decisive_state: Option<String>,
    /// The decisive step is one that the reader may not see.
    pub decisive_is_hidden: bool,
    /// The steps that were considered, as far as the reader may see them.
    pub basis: Vec<StepRunId>,
    pub critical_path: Vec<StepRunId>,
    pub frozen_at: Option<String>,
    pub computed_at: String,
}

/// A run with what can be done to it. The ETag is its seq.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunShown {
    pub run: WorkflowRun,
    pub rollup: Rollup,
    pub actions: Vec<Action>,
}

/// A step that has not begun, and what holds it up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Held {
    pub step_id: StepRunId,
    pub step: String,
    /// Nothing when the reader may not see it.
    pub held_by: Option<StepRunId>,
    pub held_by_step: Option<String>,
}

/// Steps that something before them holds up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Downstream {
    pub items: Vec<Held>,
}

/// Everything that is needed to show a run again, of one moment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Snapshot {
    pub run: SnapshotRun,
    pub steps: Vec<SnapshotStep>,
    pub tasks: Vec<SnapshotTask>,
    /// What is waited for now.
    pub waits: Vec<SnapshotWait>,
    /// Relations that were decided.
    pub ways: Vec<SnapshotWay>,
    /// What happened after this comes with the events after this position.
    pub last_event_position: i64,
}

/// The run of a snapshot.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SnapshotRun {
    pub run_id: WorkflowRunId,
    pub workflow: String,
    pub version: i32,
    pub state: String,
    pub seq: i64,
    pub inputs: Value,
    pub started_by: String,
    pub trace_id: String,
    pub created_at: String,
    pub last_transition_at: String,
    pub colour: String,
    pub red: i32,
    pub yellow: i32,
    pub green: i32,
    pub skipped: i32,
    pub optional: i32,
    pub mandatory: i32,
    pub completed: i32,
    pub frozen_at: Option<String>,
    /// How many steps the reader may not see.
    pub hidden_steps: i32,
}

/// A step of a snapshot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SnapshotStep {
    pub step_id: StepRunId,
    pub no: i32,
    pub key: String,
    pub title: Title,
    pub state: String,
    /// The floor state that it counts as.
    pub floor: String,
    /// `idle`, `active`, `wait`, `red` or `terminal`.
    pub class: String,
    pub facet: Option<String>,
    pub seq: i64,
    pub mandatory: bool,
    pub skipped: bool,
    /// Who is in charge.
    pub pic: Option<String>,
    pub executor: String,
    /// The version of a unit that it works on, kept as it was when the work began.
    pub pinned_version_id: Option<UnitVersionId>,
    pub started_at: Option<String>,
    pub deadline: Option<String>,
    pub past_deadline: bool,
    pub completed_at: Option<String>,
    pub completed_after_deadline: Option<bool>,
    pub block_reason: Option<String>,
    pub blocked_severity: Option<String>,
    pub failure_class: Option<String>,
    pub retrying: Option<String>,
    pub cycle: i32,
    pub critical: bool,
    pub milestone: bool,
    pub lane: Option<String>,
    pub category: Option<String>,
    pub last_transition_at: String,
}

/// A task of a snapshot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SnapshotTask {
    pub task_id: TaskRunId,
    pub step_id: StepRunId,
    pub no: i32,
    pub key: String,
    pub title: Title,
    pub state: String,
    pub floor: String,
    pub class: String,
    pub facet: Option<String>,
    pub seq: i64,
    pub skipped: bool,
    pub pic: Option<String>,
    pub executor: String,
    /// The version of a unit that it works on, kept as it was when the work began.
    pub pinned_version_id: Option<UnitVersionId>,
    pub deadline: Option<String>,
    pub past_deadline: bool,
    pub completed_at: Option<String>,
    pub last_transition_at: String,
}

/// Something that is waited for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SnapshotWait {
    pub wait_id: WaitId,
    /// The step or task that waits.
    pub of: String,
    pub facet: String,
    pub subject_kind: Option<String>,
    pub subject_ref: Option<String>,
    pub until: Option<String>,
}

/// A relation that was decided.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SnapshotWay {
    pub from: String,
    pub to: String,
    pub taken: bool,
}

/// Calling a run off.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CancelRun {
    /// The approval of somebody else.
    pub approval_id: ApprovalId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 2000))]
    pub reason: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 500))]
    pub audit_ref: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 63))]
    pub actor_class: Option<String>,
}

pub const RUNS: Endpoint<RunsQuery, Nothing, Page<WorkflowRun>> = Endpoint::get(
    "list_workflow_runs",
    "/v1/workflow-runs",
    READ,
    "Runs of workflows, the newest first; those of sub-workflows are among them.",
);
pub const RUN_SHOWN: Endpoint<Nothing, Nothing, RunShown> = Endpoint::get(
    "show_workflow_run",
    "/v1/workflow-runs/{run}",
    READ,
    "A run, why it has its colour, and what can be done to it.",
);
pub const SNAPSHOT: Endpoint<Nothing, Nothing, Snapshot> = Endpoint::get(
    "workflow_run_snapshot",
    "/v1/workflow-runs/{run}/snapshot",
    READ,
    "Everything that is needed to show a run again, of one moment.",
);
pub const RUN_GRAPH: Endpoint<GraphQuery, Nothing, Graph> = Endpoint::get(
    "workflow_run_graph",
    "/v1/workflow-runs/{run}/graph",
    READ,
    "The picture of a run, with where its steps stand.",
);
pub const ROLLUP: Endpoint<Nothing, Nothing, Rollup> = Endpoint::get(
    "workflow_run_rollup",
    "/v1/workflow-runs/{run}/rollup",
    READ,
    "Why a run has its colour, computed from all its steps.",
);
pub const DOWNSTREAM: Endpoint<Nothing, Nothing, Downstream> = Endpoint::get(
    "workflow_run_downstream",
    "/v1/workflow-runs/{run}/downstream",
    READ,
    "Steps that have not begun because something before them holds them up.",
);
pub const PAUSE: Endpoint<Nothing, Say, RunMoved> = Endpoint::post(
    "pause_workflow_run",
    "/v1/workflow-runs/{run}/pause",
    RUN,
    "Put a run on hold.",
)
.signed();
pub const RESUME: Endpoint<Nothing, Say, RunMoved> = Endpoint::post(
    "resume_workflow_run",
    "/v1/workflow-runs/{run}/resume",
    RUN,
    "Let a run go on.",
)
.signed();
pub const CANCEL: Endpoint<Nothing, CancelRun, RunMoved> = Endpoint::post(
    "cancel_workflow_run",
    "/v1/workflow-runs/{run}/cancel",
    RUN,
    "Call a run off, with an approval of exactly this.",
)
.signed();

pub(crate) const ROUTES: &[&Route] = &[
    &RUNS.route,
    &RUN_SHOWN.route,
    &SNAPSHOT.route,
    &RUN_GRAPH.route,
    &ROLLUP.route,
    &DOWNSTREAM.route,
    &PAUSE.route,
    &RESUME.route,
    &CANCEL.route,
];
