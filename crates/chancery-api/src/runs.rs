//! Runs of custom machines.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::action::Action;
use crate::id::RunId;
use crate::page::{Page, PageQuery};
use crate::route::{Access, Endpoint, Nothing, Route};

const READ: Access = Access::Permission("run.read");
const MOVE: Access = Access::Permission("run.move");

/// Which runs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RunsQuery {
    /// By name, or `NAME@VERSION`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 200))]
    pub machine: Option<String>,
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Run {
    pub run_id: RunId,
    /// `NAME@VERSION`.
    pub state_machine_id: String,
    pub state: String,
    pub terminal: bool,
    pub facet: Option<String>,
    /// How many moves were made; the ETag of a run.
    pub seq: i64,
    pub parent_run_id: Option<RunId>,
    pub data: Map<String, Value>,
    pub started_by: String,
    pub trace_id: String,
    pub created_at: String,
    pub last_transition_at: String,
}

/// A run and what can be done to it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunShown {
    #[serde(flatten)]
    pub run: Run,
    pub actions: Vec<Action>,
}

/// A move that was made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HistoryLine {
    pub seq: i64,
    pub at: String,
    pub from: Option<String>,
    pub to: String,
    pub principal: String,
    pub actor_class: String,
    pub trigger: String,
    pub transition_id: String,
    pub reason: Option<String>,
    pub evidence: Value,
    pub event_type: Option<String>,
    pub event_position: Option<i64>,
    pub idempotency_key: String,
    pub signed: bool,
    /// Hex; each row's covers the one before.
    pub hash: String,
}

/// What starts a run: the kind and the name of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Trigger {
    #[schemars(length(min = 1, max = 100))]
    pub kind: String,
    #[schemars(length(min = 1, max = 200))]
    pub name: String,
}

/// A run that is to be started.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewRun {
    /// By name, or `NAME@VERSION`.
    #[schemars(length(min = 1, max = 200))]
    pub machine: String,
    #[serde(default)]
    pub data: Map<String, Value>,
    #[serde(default)]
    pub parent_run_id: Option<RunId>,
    #[serde(default)]
    pub evidence: Map<String, Value>,
    #[serde(default)]
    #[schemars(length(max = 2000))]
    pub reason: Option<String>,
    /// Only needed when the caller holds several classes that may start it.
    #[serde(default)]
    #[schemars(length(max = 100))]
    pub actor_class: Option<String>,
    /// Only needed where several lead to the first state.
    #[serde(default)]
    pub trigger: Option<Trigger>,
}

/// A move that is to be made, or looked at.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewMove {
    #[schemars(length(min = 1, max = 100))]
    pub to: String,
    /// The state that the caller believes it to be in; it is refused when that is not so.
    #[serde(default)]
    #[schemars(length(max = 100))]
    pub from: Option<String>,
    #[serde(default)]
    pub evidence: Map<String, Value>,
    #[serde(default)]
    #[schemars(length(max = 2000))]
    pub reason: Option<String>,
    /// Only needed when the caller holds several classes that may make it.
    #[serde(default)]
    #[schemars(length(max = 100))]
    pub actor_class: Option<String>,
    /// Only needed where several lead there.
    #[serde(default)]
    pub trigger: Option<Trigger>,
}

/// A move that was made, now or when its key was first used.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Moved {
    pub run_id: RunId,
    pub transition_id: Option<String>,
    pub emitted_event_type: Option<String>,
    pub from: Option<String>,
    pub to: String,
    pub seq: Option<i64>,
    /// Hex.
    pub hash: Option<String>,
    /// Done before with this key; nothing was done twice.
    pub replayed: bool,
}

/// What a move would be answered with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Preview {
    pub ok: bool,
    pub transition_id: Option<String>,
    pub emitted_event_type: Option<String>,
    /// What stands against it, each with its code and facts.
    pub problems: Vec<Map<String, Value>>,
}

pub const RUNS: Endpoint<RunsQuery, Nothing, Page<Run>> =
    Endpoint::get("runs", "/v1/runs", READ, "Runs of custom machines, the newest first.");
pub const START: Endpoint<Nothing, NewRun, Moved> =
    Endpoint::post("start_run", "/v1/runs", MOVE, "Start a run.").signed().status(201);
pub const RUN: Endpoint<Nothing, Nothing, RunShown> = Endpoint::get(
    "run",
    "/v1/runs/{run}",
    READ,
    "A run and what the caller can do to it. The ETag is its number of moves.",
);
pub const HISTORY: Endpoint<PageQuery, Nothing, Page<HistoryLine>> =
    Endpoint::get("run_history", "/v1/runs/{run}/history", READ, "Its moves, the oldest first.");
pub const MOVES: Endpoint<Nothing, NewMove, Moved> = Endpoint::post(
    "move_run",
    "/v1/runs/{run}/moves",
    MOVE,
    "Make a move. With If-Match it is refused when somebody moved it meanwhile.",
)
.signed();
pub const PREVIEW: Endpoint<Nothing, NewMove, Preview> = Endpoint::post(
    "preview_move",
    "/v1/runs/{run}/preview",
    READ,
    "What a move would be answered with. Changes nothing.",
)
.keyless();

pub(crate) const ROUTES: &[&Route] =
    &[&RUNS.route, &START.route, &RUN.route, &HISTORY.route, &MOVES.route, &PREVIEW.route];
