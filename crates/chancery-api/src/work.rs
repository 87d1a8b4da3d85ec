//! Steps and tasks: what is known of them, and what people say about them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::Nothing;
use crate::action::{Action, Logged};
use crate::id::{ApprovalId, StepRunId, TaskRunId, UnitId, WaitId, WorkflowRunId};
use crate::route::{Access, Endpoint, Route};

const READ: Access = Access::Permission("workflow.read");
const MOVE: Access = Access::Permission("work.move");

/// A step or a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Work {
    /// `step` or `task`.
    #[serde(alias = "run_kind")]
    pub kind: String,
    #[serde(alias = "workflow_run_id")]
    pub run_id: WorkflowRunId,
    #[serde(alias = "step_run_id")]
    pub step_id: StepRunId,
    /// Only a task has one.
    #[serde(default)]
    pub task_id: Option<TaskRunId>,
    /// `STEP`, or `STEP/TASK`.
    pub path: String,
    pub name_en: String,
    pub name_vi: String,
    #[serde(alias = "state_code")]
    pub state: String,
    /// The floor state that it counts as.
    #[serde(alias = "floor_state_code")]
    pub floor: String,
    pub facet: Option<String>,
    /// The same, by the name of its column.
    pub waiting_facet: Option<String>,
    pub seq: i64,
    pub mandatory: bool,
    pub skipped: bool,
    /// Who is in charge.
    #[serde(alias = "pic_id")]
    pub pic: Option<String>,
    /// Who can be, by the definition.
    pub pic_rule: Value,
    #[serde(alias = "executor_class")]
    pub executor: String,
    pub started_at: Option<String>,
    pub deadline: Option<String>,
    /// Now, not once.
    pub past_deadline: bool,
    /// Once, whether it is now or not.
    pub was_late: bool,
    pub overdue_first_at: Option<String>,
    pub completed_at: Option<String>,
    pub completed_after_deadline: Option<bool>,
    pub block_reason: Option<String>,
    pub blocked_since: Option<String>,
    pub blocked_severity: Option<String>,
    pub failure_classification: Option<String>,
    pub failure_class: Option<String>,
    /// Why it failed last, in the words of who reported it.
    pub failure_detail: Option<String>,
    pub retrying: Option<String>,
    /// It was handed up because no try could mend it.
    pub escalated: bool,
    pub retry_count: i32,
    #[serde(alias = "cycle_no")]
    pub cycle: i32,
    pub on_critical_path: bool,
    /// Since when its output is older than the corrected run of its sub-workflow.
    pub stale_since: Option<String>,
    pub last_transition_at: String,
}

/// What a step or task waits for, or waited for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Wait {
    pub wait_id: WaitId,
    pub facet: String,
    pub subject_kind: Option<String>,
    pub subject_ref: Option<String>,
    pub until: Option<String>,
    pub issued_at: String,
    pub opened: bool,
    pub resolved_at: Option<String>,
    pub resolved_by: Option<String>,
    pub proof: Option<Value>,
}

/// What a step or task was given, or gave.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct InOut {
    /// `input` or `output`.
    #[serde(alias = "snapshot_kind")]
    pub kind: String,
    #[serde(alias = "cycle_no")]
    pub cycle: i32,
    pub attempt: i32,
    pub document: Value,
    pub taken_at: String,
}

/// A checkpoint or a comment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Note {
    /// `checkpoint` or `comment`.
    pub kind: String,
    pub no: i32,
    pub principal: String,
    pub text: String,
    /// The facts of a checkpoint.
    pub facts: Option<Value>,
    pub at: String,
}

/// The version of a unit that a step works on: it stays, whatever becomes of the unit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PinnedUnit {
    pub unit_id: UnitId,
    pub address: String,
    pub version: i32,
    pub title: String,
    /// Nothing for who may not read documents.
    pub text: Option<String>,
}

/// A step or task with all that is known of it. The ETag is its seq.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkShown {
    pub work: Work,
    /// The run that stands for it, when it is a sub-workflow.
    pub sub_run_id: Option<WorkflowRunId>,
    pub pinned_unit: Option<PinnedUnit>,
    /// The tasks of a step.
    pub tasks: Vec<Work>,
    pub waits: Vec<Wait>,
    pub notes: Vec<Note>,
    pub inputs_and_outputs: Vec<InOut>,
    pub history: Vec<Logged>,
    pub actions: Vec<Action>,
}

/// A call that the machine names; see `actions`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MoveWork {
    /// Such as `step_claim`.
    #[schemars(length(min = 1, max = 63))]
    pub call: String,
    #[serde(default)]
    pub evidence: Map<String, Value>,
    /// The output of a completion.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub document: Option<Map<String, Value>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 2000))]
    pub reason: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 63))]
    pub actor_class: Option<String>,
}

/// A move that was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Moved {
    pub run_id: Uuid,
    pub seq: Option<i64>,
    pub from: Option<String>,
    pub to: String,
    /// It was done before.
    pub replayed: bool,
}

/// A later deadline.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Extend {
    /// RFC 3339.
    #[schemars(length(max = 64))]
    pub until: String,
    #[schemars(length(min = 1, max = 2000))]
    pub reason: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 63))]
    pub actor_class: Option<String>,
}

/// A deadline that was moved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Extended {
    pub run_id: Uuid,
    pub deadline: Option<String>,
    pub state: String,
    pub replayed: bool,
}

/// A block that is worse than it looks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EscalateBlock {
    #[schemars(length(min = 1, max = 2000))]
    pub reason: String,
    /// Needed for an old block.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval_id: Option<ApprovalId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 63))]
    pub actor_class: Option<String>,
}

/// A block that was escalated.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Escalated {
    pub run_id: Uuid,
    pub state: String,
    pub severity: Option<String>,
    pub replayed: bool,
}

/// Something to say.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Comment {
    #[schemars(length(min = 1, max = 4000))]
    pub text: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 63))]
    pub actor_class: Option<String>,
}

/// How far somebody has come.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Checkpoint {
    #[schemars(length(min = 1, max = 200))]
    pub label: String,
    #[serde(default)]
    pub facts: Map<String, Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 63))]
    pub actor_class: Option<String>,
}

/// A note that stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Noted {
    pub run_id: Uuid,
    /// Counted for each step or task.
    pub no: i32,
    pub replayed: bool,
}

/// What is waited for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AnswerWait {
    /// What proves it, not empty.
    pub proof: Map<String, Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 63))]
    pub actor_class: Option<String>,
}

/// A wait that is over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Answered {
    pub wait_id: WaitId,
    /// Nothing else was waited for, so the work goes on.
    pub resumed: bool,
    pub replayed: bool,
}

pub const STEP: Endpoint<Nothing, Nothing, WorkShown> =
    Endpoint::get("show_step", "/v1/steps/{step}", READ, "A step with all that is known of it.");
pub const MOVE_STEP: Endpoint<Nothing, MoveWork, Moved> = Endpoint::post(
    "move_step",
    "/v1/steps/{step}/moves",
    MOVE,
    "Make a call that the machine names: claim, wait, block, complete, and others.",
)
.signed();
pub const EXTEND_STEP: Endpoint<Nothing, Extend, Extended> = Endpoint::post(
    "extend_step",
    "/v1/steps/{step}/extend",
    MOVE,
    "Move a deadline to a later time.",
);
pub const ESCALATE_STEP: Endpoint<Nothing, EscalateBlock, Escalated> = Endpoint::post(
    "escalate_step_block",
    "/v1/steps/{step}/escalate-block",
    MOVE,
    "Say that a block is worse than it looks.",
);
pub const COMMENT_STEP: Endpoint<Nothing, Comment, Noted> = Endpoint::post(
    "comment_step",
    "/v1/steps/{step}/comments",
    MOVE,
    "Say something about a step.",
)
.status(201);
pub const CHECKPOINT_STEP: Endpoint<Nothing, Checkpoint, Noted> = Endpoint::post(
    "checkpoint_step",
    "/v1/steps/{step}/checkpoints",
    MOVE,
    "Note how far the work has come.",
)
.status(201);
pub const TASK: Endpoint<Nothing, Nothing, WorkShown> =
    Endpoint::get("show_task", "/v1/tasks/{task}", READ, "A task with all that is known of it.");
pub const MOVE_TASK: Endpoint<Nothing, MoveWork, Moved> = Endpoint::post(
    "move_task",
    "/v1/tasks/{task}/moves",
    MOVE,
    "Make a call that the machine names: claim, wait, block, complete, and others.",
)
.signed();
pub const EXTEND_TASK: Endpoint<Nothing, Extend, Extended> = Endpoint::post(
    "extend_task",
    "/v1/tasks/{task}/extend",
    MOVE,
    "Move a deadline to a later time.",
);
pub const ESCALATE_TASK: Endpoint<Nothing, EscalateBlock, Escalated> = Endpoint::post(
    "escalate_task_block",
    "/v1/tasks/{task}/escalate-block",
    MOVE,
    "Say that a block is worse than it looks.",
);
pub const COMMENT_TASK: Endpoint<Nothing, Comment, Noted> = Endpoint::post(
    "comment_task",
    "/v1/tasks/{task}/comments",
    MOVE,
    "Say something about a task.",
)
.status(201);
pub const CHECKPOINT_TASK: Endpoint<Nothing, Checkpoint, Noted> = Endpoint::post(
    "checkpoint_task",
    "/v1/tasks/{task}/checkpoints",
    MOVE,
    "Note how far the work has come.",
)
.status(201);
pub const ANSWER_WAIT: Endpoint<Nothing, AnswerWait, Answered> = Endpoint::post(
    "answer_wait",
    "/v1/waits/{wait}/answer",
    MOVE,
    "Give what a step or task waits for from a person.",
);

pub(crate) const ROUTES: &[&Route] = &[
    &STEP.route,
    &MOVE_STEP.route,
    &EXTEND_STEP.route,
    &ESCALATE_STEP.route,
    &COMMENT_STEP.route,
    &CHECKPOINT_STEP.route,
    &TASK.route,
    &MOVE_TASK.route,
    &EXTEND_TASK.route,
    &ESCALATE_TASK.route,
    &COMMENT_TASK.route,
    &CHECKPOINT_TASK.route,
    &ANSWER_WAIT.route,
];
