//! The queue as people see it: depths, jobs, dead letters, replays, workers, lag.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Nothing;
use crate::action::Action;
use crate::id::{ApprovalId, BatchId, IssueId, JobId};
use crate::page::Page;
use crate::route::{Access, Endpoint, Route};

const READ: Access = Access::Permission("queue.read");
const REPLAY: Access = Access::Permission("queue.replay");
const SETTLE: Access = Access::Permission("problems.settle");

/// How many jobs of a class stand in a state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Depth {
    #[serde(alias = "executor_class")]
    pub class: String,
    pub state: String,
    pub jobs: i64,
}

/// A class of executors with its policy.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExecutorClass {
    #[serde(alias = "executor_class")]
    pub class: String,
    pub active: bool,
    pub lease_seconds: i32,
    pub max_payload_bytes: i32,
    pub description: String,
    pub policy: String,
    pub max_attempts: i32,
    pub base_delay_ms: i64,
    pub factor: f64,
    pub max_delay_ms: i64,
    pub jitter: f64,
}

/// The queue as a whole.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Queue {
    pub depths: Vec<Depth>,
    pub classes: Vec<ExecutorClass>,
    /// Workers and loops that are known, and those of them that are silent.
    pub workers: i64,
    pub silent_workers: i64,
    /// Dead letters that nobody settled.
    pub dead_letters: i64,
}

/// A job as it stands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Job {
    pub job_id: JobId,
    #[serde(alias = "executor_class")]
    pub class: String,
    #[serde(alias = "job_kind")]
    pub kind: String,
    pub state: String,
    pub priority: i32,
    pub scheduled_at: Option<String>,
    pub lease_no: i32,
    pub lease_owner: Option<String>,
    pub lease_until: Option<String>,
    pub attempts: i32,
    pub max_attempts: Option<i32>,
    #[serde(alias = "payload_json")]
    pub payload: Value,
    pub payload_ref: Option<String>,
    #[serde(alias = "idempotency_key")]
    pub key: String,
    pub failures: Value,
    pub result: Option<Value>,
    pub started_by: String,
    pub trace_id: String,
    pub correlation_id: String,
    pub created_at: String,
    pub finished_at: Option<String>,
}

/// A job and what people did to it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JobShown {
    pub job: Job,
    pub history: Vec<Value>,
}

/// Which dead letters.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeadQuery {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 500))]
    pub after: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 500))]
    pub limit: Option<u16>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 200))]
    pub class: Option<String>,
    /// `dead_letter` for those that nobody settled, which is what is meant when it is left out; or `all`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 63))]
    pub state: Option<String>,
}

/// A job that could not be done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DeadLetter {
    pub job_id: JobId,
    #[serde(alias = "executor_class")]
    pub class: String,
    #[serde(alias = "job_kind")]
    pub kind: String,
    /// `dead_letter`, or `cleaned` when it is settled.
    pub state: String,
    pub classification: String,
    pub reason: String,
    pub attempts: i32,
    #[serde(alias = "idempotency_key")]
    pub key: String,
    pub trace_id: String,
    pub died_at: String,
}

/// A dead letter with its story and what can be done about it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DeadLetterShown {
    pub letter: DeadLetter,
    /// As the database keeps it: without what must not be kept.
    pub payload: Value,
    /// Every try, with what it failed of.
    pub story: Value,
    pub history: Vec<Value>,
    /// In words.
    pub what_to_do: String,
    /// What stands against running it again; nothing when it can be proposed.
    pub against_replay: Option<String>,
    pub actions: Vec<Action>,
}

/// Setting a dead letter aside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Dismiss {
    #[schemars(length(min = 1, max = 2000))]
    pub reason: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 63))]
    pub actor_class: Option<String>,
}

/// Dead jobs that are to run again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProposeReplay {
    #[schemars(length(min = 1, max = 500))]
    pub jobs: Vec<JobId>,
    #[schemars(length(min = 1, max = 2000))]
    pub reason: String,
    /// Milliseconds from one to the next; 1000 when it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 3_600_000))]
    pub stagger_ms: Option<i32>,
    /// How long the approval can be given; a day when it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 60, max = 31_536_000))]
    pub expires_in_seconds: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 63))]
    pub actor_class: Option<String>,
}

/// A batch of replays, and the approval that somebody else gives.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Replay {
    pub batch_id: BatchId,
    pub approval_id: Option<ApprovalId>,
    pub requests: Vec<ReplayRequest>,
    /// The request that others vote on, as it stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<Value>,
    /// It was done before.
    #[serde(default)]
    pub replayed: bool,
}

/// One job of a batch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReplayRequest {
    pub job_id: JobId,
    pub state: String,
    pub approval_id: Option<ApprovalId>,
    pub replay_job_id: Option<JobId>,
    pub outcome: Option<Value>,
}

/// Running an approved batch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RunReplay {
    pub approval_id: ApprovalId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 63))]
    pub actor_class: Option<String>,
}

/// A worker or loop as the heartbeats know it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Worker {
    #[serde(alias = "worker_class")]
    pub class: String,
    pub worker: String,
    #[serde(alias = "executor_kind")]
    pub kind: String,
    pub status: String,
    pub class_frozen: bool,
    pub last_tick_at: String,
    pub last_ok_at: Option<String>,
    pub silent_since: Option<String>,
    pub threshold_seconds: f64,
    pub issue_id: Option<IssueId>,
    pub ticks_total: i64,
    pub metadata: Value,
}

/// Workers and loops.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Workers {
    pub items: Vec<Worker>,
    /// What the caller can do to a class of workers.
    pub actions: Vec<Action>,
}

/// Why a class of workers is frozen or thawed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FreezeWorkers {
    #[schemars(length(min = 1, max = 1000))]
    pub reason: String,
    /// Only needed when the caller holds several classes that may.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 63))]
    pub actor_class: Option<String>,
}

/// A class of workers as it stands now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkersFrozen {
    pub class: String,
    pub frozen: bool,
    pub reason: String,
}

/// How far back.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LagQuery {
    /// An hour when it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 44_640))]
    pub minutes: Option<u32>,
}

/// How late consumers are, pair by pair.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Lag {
    pub pairs: Vec<LagPair>,
}

/// One producer and one consumer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LagPair {
    pub producer: String,
    pub consumer: String,
    pub count: i64,
    pub p50_ms: f64,
    pub p95_ms: f64,
    pub p99_ms: f64,
    pub max_ms: f64,
    pub trend: Vec<LagPoint>,
}

/// A minute of a pair, beside the thresholds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LagPoint {
    pub minute: String,
    pub count: i64,
    pub p50_ms: f64,
    pub p95_ms: f64,
    pub p99_ms: f64,
    pub max_ms: f64,
    pub p50_threshold_ms: f64,
    pub p95_threshold_ms: f64,
    pub p99_threshold_ms: f64,
}

pub const QUEUE: Endpoint<Nothing, Nothing, Queue> =
    Endpoint::get("show_queue", "/v1/queue", READ, "How deep the queue is, and how it is.");
pub const JOB: Endpoint<Nothing, Nothing, JobShown> =
    Endpoint::get("show_job", "/v1/queue/jobs/{job}", READ, "A job, wherever it is.");
pub const DEAD: Endpoint<DeadQuery, Nothing, Page<DeadLetter>> =
    Endpoint::get("list_dead_letters", "/v1/queue/dead", READ, "Dead letters, the newest first.");
pub const DEAD_LETTER: Endpoint<Nothing, Nothing, DeadLetterShown> = Endpoint::get(
    "show_dead_letter",
    "/v1/queue/dead/{job}",
    READ,
    "A dead letter with its story and what can be done about it.",
);
pub const DISMISS: Endpoint<Nothing, Dismiss, Value> = Endpoint::post(
    "dismiss_dead_letter",
    "/v1/queue/dead/{job}/dismiss",
    REPLAY,
    "Set a dead letter aside without running it again.",
)
.signed();
pub const PROPOSE_REPLAY: Endpoint<Nothing, ProposeReplay, Replay> = Endpoint::post(
    "propose_replay",
    "/v1/replays",
    REPLAY,
    "Propose to run dead jobs again, and ask for the approval it needs.",
)
.signed()
.status(201);
pub const SHOW_REPLAY: Endpoint<Nothing, Nothing, Replay> =
    Endpoint::get("show_replay", "/v1/replays/{batch}", READ, "A batch of replays as it stands.");
pub const RUN_REPLAY: Endpoint<Nothing, RunReplay, Replay> =
    Endpoint::post("run_replay", "/v1/replays/{batch}/run", REPLAY, "Run an approved batch.");
pub const WORKERS: Endpoint<Nothing, Nothing, Workers> = Endpoint::get(
    "list_workers",
    "/v1/workers",
    READ,
    "Workers and loops, and when they last ticked.",
);
pub const FREEZE: Endpoint<Nothing, FreezeWorkers, WorkersFrozen> = Endpoint::post(
    "freeze_workers",
    "/v1/workers/{class}/freeze",
    SETTLE,
    "Freeze a class of workers: silent ones do not recover until it is thawed.",
)
.keyless();
pub const THAW: Endpoint<Nothing, FreezeWorkers, WorkersFrozen> = Endpoint::post(
    "thaw_workers",
    "/v1/workers/{class}/thaw",
    SETTLE,
    "Thaw a class of workers: silent ones recover with their next good tick.",
)
.keyless();
pub const LAG: Endpoint<LagQuery, Nothing, Lag> = Endpoint::get(
    "show_lag",
    "/v1/lag",
    READ,
    "How late consumers are, with trend and thresholds.",
);

pub(crate) const ROUTES: &[&Route] = &[
    &QUEUE.route,
    &JOB.route,
    &DEAD.route,
    &DEAD_LETTER.route,
    &DISMISS.route,
    &PROPOSE_REPLAY.route,
    &SHOW_REPLAY.route,
    &RUN_REPLAY.route,
    &WORKERS.route,
    &FREEZE.route,
    &THAW.route,
    &LAG.route,
];
