//! The lease protocol: how workers in any language take jobs and report on them; steps of workflows under the lease of a job;
//! call-backs. Ids are plain here: what a worker got, it sends back.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::Nothing;
use crate::route::{Access, Endpoint, Route};

const WORK: Access = Access::Permission("queue.work");
const PUT: Access = Access::Permission("queue.enqueue");
/// No call-back brings more.
const MOST_CALL_BACK_BYTES: usize = 64 * 1024;

const fn yes() -> bool {
    true
}

const fn one() -> i32 {
    1
}

/// Up to so many due jobs of a class.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    pub worker: String,
    #[serde(default = "one")]
    pub limit: i32,
    /// How long to wait for one when there is none.
    #[serde(default)]
    #[schemars(range(max = 30_000))]
    pub wait_ms: u64,
}

/// Reports, and the next jobs, in one go.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Turn {
    pub class: String,
    pub worker: String,
    #[serde(default = "one")]
    pub limit: i32,
    pub results: Vec<JobReport>,
}

/// Reports.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ack {
    pub worker: String,
    pub results: Vec<JobReport>,
}

/// What came of a job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JobReport {
    pub job_id: Uuid,
    pub lease_no: i32,
    pub outcome: Outcome,
    #[serde(default)]
    pub detail: Map<String, Value>,
}

/// How a try ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Succeeded,
    /// It may be tried again, as the policy says.
    Failed,
    /// Trying again would not help.
    FailedForGood,
}

/// Leases that a worker holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Leases {
    pub worker: String,
    pub leases: Vec<Lease>,
}

/// A lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Lease {
    pub job_id: Uuid,
    pub lease_no: i32,
}

/// Jobs that are to be done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewJobs {
    pub jobs: Vec<NewJob>,
}

/// A job that is to be done.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewJob {
    /// The executor class that can do it.
    pub class: String,
    pub kind: String,
    /// The same key in a class is the same job.
    pub key: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload_ref: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_ref: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_ref: Option<String>,
    /// Lower numbers go first; 100 when it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<i32>,
    /// Not before, RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_at: Option<String>,
    /// Not before so many milliseconds from now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay_ms: Option<i64>,
    /// The policy of the class says it when it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_attempts: Option<i32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correlation_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub causation_event_id: Option<Uuid>,
}

/// Jobs that were taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Enqueued {
    pub jobs: Vec<EnqueuedJob>,
}

/// A job as the queue took it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EnqueuedJob {
    pub job_id: Uuid,
    pub key: String,
    /// It was there before.
    pub replayed: bool,
}

/// Jobs that a worker has.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Claimed {
    pub jobs: Vec<GivenJob>,
}

/// A job as a worker gets it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GivenJob {
    pub job_id: Uuid,
    pub job_no: i64,
    /// A result must bring it.
    pub lease_no: i32,
    pub kind: String,
    pub attempt: i32,
    pub payload: Value,
    pub payload_ref: Option<String>,
    pub source_ref: Option<String>,
    pub target_ref: Option<String>,
    pub trace_id: String,
    pub correlation_id: String,
    /// By the clock of the database.
    pub lease_until: String,
}

/// What became of reports.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AckReport {
    pub accepted: u64,
    /// Reported before, and taken then.
    pub replayed: u64,
    pub refused: Vec<LateReport>,
}

/// A report that was not taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LateReport {
    pub job_id: Uuid,
    pub lease_no: i32,
    pub code: String,
    pub problem: String,
    pub state: Option<String>,
    pub newest_lease_no: Option<i32>,
}

/// What became of a turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Turned {
    pub report: AckReport,
    pub jobs: Vec<GivenJob>,
}

/// Which leases go on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Kept {
    pub kept: Vec<Uuid>,
    pub lost: Vec<Uuid>,
}

/// How many leases were given back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Released {
    pub released: i64,
}

/// The work that a leased job is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BeginWork {
    pub worker: String,
    pub job_id: Uuid,
    pub lease_no: i32,
}

/// What an executor reports on its work.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReportWork {
    pub worker: String,
    pub job_id: Uuid,
    pub lease_no: i32,
    /// Such as `step_complete` or `executor_failure`.
    pub call: String,
    #[serde(default)]
    pub evidence: Map<String, Value>,
    #[serde(default)]
    pub document: Option<Map<String, Value>>,
}

/// A call-back that will come.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IssueCallback {
    pub worker: String,
    pub job_id: Uuid,
    pub lease_no: i32,
    /// Of a token that the worker made itself, hex.
    #[serde(default)]
    pub token_sha256: Option<String>,
}

/// A sign of life of a worker.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Heartbeat {
    pub worker: String,
    /// Whether the work since the last one went well: only such a heartbeat ends a silence.
    #[serde(default = "yes")]
    pub ok: bool,
    /// The worker ends in good order and is not missed.
    #[serde(default)]
    pub leaving: bool,
    /// References for the health page, such as a version or a host; no secrets.
    #[serde(default)]
    pub metadata: Map<String, Value>,
}

/// Where the worker stands after its heartbeat.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HeartbeatTaken {
    /// As the health views name it: its principal and its own name.
    pub worker: String,
    /// `ok`, `warn` or `silent`; nothing for one that leaves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// It was silent, and its finding was closed.
    #[serde(default)]
    pub recovered: bool,
    /// It left, and was known before.
    #[serde(default)]
    pub removed: bool,
}

/// Whether the call-back was taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CallbackTaken {
    pub taken: bool,
}

pub const CLAIM: Endpoint<Nothing, Claim, Claimed> =
    Endpoint::post("claim_jobs", "/v1/queue/{class}/claim", WORK, "Lease due jobs of a class.")
        .keyless();
pub const TURN: Endpoint<Nothing, Turn, Turned> = Endpoint::post(
    "turn_jobs",
    "/v1/queue/turn",
    WORK,
    "Report and lease the next jobs in one transaction.",
)
.keyless();
pub const ACK: Endpoint<Nothing, Ack, AckReport> =
    Endpoint::post("report_jobs", "/v1/queue/ack", WORK, "Report on jobs.").keyless();
pub const EXTEND: Endpoint<Nothing, Leases, Kept> =
    Endpoint::post("extend_leases", "/v1/queue/extend", WORK, "Keep leases.").keyless();
pub const RELEASE: Endpoint<Nothing, Leases, Released> = Endpoint::post(
    "release_leases",
    "/v1/queue/release",
    WORK,
    "Give jobs back that were not begun.",
)
.keyless();
pub const HEARTBEAT: Endpoint<Nothing, Heartbeat, HeartbeatTaken> = Endpoint::post(
    "worker_heartbeat",
    "/v1/queue/{class}/heartbeat",
    WORK,
    "Say that a worker lives, or that it leaves.",
)
.keyless();
pub const ENQUEUE: Endpoint<Nothing, NewJobs, Enqueued> =
    Endpoint::post("enqueue_jobs", "/v1/queue/jobs", PUT, "Put jobs into the queue, all or none.")
        .keyless()
        .status(201)
        .or_status(200);
pub const BEGIN: Endpoint<Nothing, BeginWork, Value> = Endpoint::post(
    "begin_work",
    "/v1/work/begin",
    WORK,
    "Begin the work that a leased job is about.",
)
.keyless();
pub const REPORT: Endpoint<Nothing, ReportWork, Value> = Endpoint::post(
    "report_work",
    "/v1/work/report",
    WORK,
    "Report on the work, and settle its job with it.",
)
.keyless();
pub const ISSUE_CALLBACK: Endpoint<Nothing, IssueCallback, Value> = Endpoint::post(
    "issue_callback",
    "/v1/work/callback",
    WORK,
    "Expect a call-back; its token is told once, here.",
)
.keyless()
.status(201);
pub const CALL_BACK: Endpoint<Nothing, Map<String, Value>, CallbackTaken> = Endpoint::post(
    "call_back",
    "/v1/callbacks/{token}",
    Access::Open,
    "Call back: the token is the right.",
)
.keyless()
.at_most(MOST_CALL_BACK_BYTES);

pub(crate) const ROUTES: &[&Route] = &[
    &CLAIM.route,
    &TURN.route,
    &ACK.route,
    &EXTEND.route,
    &RELEASE.route,
    &HEARTBEAT.route,
    &ENQUEUE.route,
    &BEGIN.route,
    &REPORT.route,
    &ISSUE_CALLBACK.route,
    &CALL_BACK.route,
];
