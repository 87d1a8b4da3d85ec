//! Workflows: definitions, their pictures, and starting runs of them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::action::Title;
use crate::id::{ChangeId, StepRunId, WorkflowRunId};
use crate::page::{Page, PageQuery};
use crate::route::{Access, Endpoint, Route};

const READ: Access = Access::Permission("workflow.read");

/// A workflow that can be started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Workflow {
    pub workflow: String,
    /// The newest.
    pub version: i32,
    pub title: Title,
    pub steps: i64,
    /// Runs of any version that are not over.
    pub open_runs: i64,
    pub merged_by: String,
    pub merged_at: String,
}

/// Which version; the newest when it is left out.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VersionQuery {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub version: Option<i32>,
}

/// A version of a workflow. The ETag is the digest of the definition as the reader sees it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkflowVersion {
    pub workflow: String,
    pub version: i32,
    /// Whether it is the newest.
    pub current: bool,
    /// Without the steps that the reader may not see.
    pub definition: Value,
    /// How many those are.
    pub hidden_steps: i32,
    /// Of the whole definition, hex.
    pub definition_sha256: String,
    #[serde(alias = "change_request_id")]
    pub change_id: ChangeId,
    pub merged_by: String,
    pub merged_at: String,
    pub open_runs: i64,
}

/// How a picture is to be made.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GraphQuery {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub version: Option<i32>,
    /// The window in pixels; 1280 × 800 when it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 100_000))]
    pub width: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 100_000))]
    pub height: Option<u32>,
    /// Whether lanes have strips of their own; they have when it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lanes: Option<bool>,
    /// Categories that are one node each, separated by commas.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 2000))]
    pub collapse: Option<String>,
}

/// A picture of a workflow: where every step that the reader may see lies. The origin is the upper left corner.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Graph {
    /// Of what is shown, hex; the ETag is the same.
    pub digest: String,
    pub width: i32,
    pub height: i32,
    pub nodes: Vec<GraphNode>,
    pub edges: Vec<GraphEdge>,
    pub bands: Vec<GraphBand>,
    pub lanes: Vec<GraphStrip>,
    pub groups: Vec<GraphStrip>,
    /// Ids in the order of reading.
    pub topo_order: Vec<String>,
    /// Where the steps of a run stand; only in the picture of a run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub states: Option<Vec<NodeState>>,
}

/// A card.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GraphNode {
    /// The step's key; for a collapsed group `group:` and the category's.
    pub id: String,
    pub x: i32,
    pub y: i32,
    pub w: i32,
    pub h: i32,
    pub rank: usize,
    pub band: usize,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lane: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// `step`, `sub_workflow` or `group`.
    pub kind: String,
    /// In the picture of a change: `added`, `removed` or `changed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mark: Option<String>,
}

/// A line from a card to another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GraphEdge {
    pub from: String,
    pub to: String,
    pub kind: String,
    pub points: Vec<[i32; 2]>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mark: Option<String>,
    /// How many relations it stands for, when it is more than one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relations: Option<usize>,
}

/// A line of the text that the picture is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GraphBand {
    pub y: i32,
    pub h: i32,
}

/// A lane or a category.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GraphStrip {
    pub key: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collapsed: Option<bool>,
    pub boxes: Vec<GraphBox>,
}

/// A rectangle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GraphBox {
    pub x: i32,
    pub y: i32,
    pub w: i32,
    pub h: i32,
}

/// Where the step of a card stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NodeState {
    pub id: String,
    pub step_id: StepRunId,
    pub title: Title,
    pub state: String,
    pub facet: Option<String>,
    pub skipped: bool,
    pub critical: bool,
    pub past_deadline: bool,
    pub pic: Option<String>,
    pub deadline: Option<String>,
    pub blocked_severity: Option<String>,
}

/// A run that is to begin.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StartRun {
    #[serde(default)]
    pub inputs: Map<String, Value>,
    /// The class to act in; needed only by who holds several that may.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 63))]
    pub actor_class: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = "^[0-9a-f]{32}$"))]
    pub trace_id: Option<String>,
}

/// Where a run stands after a move.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunMoved {
    #[serde(alias = "workflow_run_id")]
    pub run_id: WorkflowRunId,
    pub workflow: String,
    pub version: i32,
    pub state: String,
    pub seq: i64,
    #[serde(alias = "rollup")]
    pub colour: String,
    pub mandatory: i32,
    pub completed: i32,
    pub trace_id: String,
    /// It was done before.
    pub replayed: bool,
}

pub const WORKFLOWS: Endpoint<PageQuery, crate::Nothing, Page<Workflow>> = Endpoint::get(
    "list_workflows",
    "/v1/workflows",
    READ,
    "Workflows that can be started, by name.",
);
pub const WORKFLOW: Endpoint<VersionQuery, crate::Nothing, WorkflowVersion> = Endpoint::get(
    "show_workflow",
    "/v1/workflows/{workflow}",
    READ,
    "A version of a workflow, as far as the reader may see it.",
);
pub const WORKFLOW_GRAPH: Endpoint<GraphQuery, crate::Nothing, Graph> = Endpoint::get(
    "workflow_graph",
    "/v1/workflows/{workflow}/graph",
    READ,
    "The picture of a workflow, laid out here.",
);
pub const START_RUN: Endpoint<crate::Nothing, StartRun, RunMoved> = Endpoint::post(
    "start_workflow_run",
    "/v1/workflows/{workflow}/runs",
    Access::Permission("workflow.run"),
    "Begin a run of the newest version.",
)
.signed()
.status(201);

pub(crate) const ROUTES: &[&Route] =
    &[&WORKFLOWS.route, &WORKFLOW.route, &WORKFLOW_GRAPH.route, &START_RUN.route];
