//! Work of an executor, done by somebody who signs: an agent. A worker of ours is a service and signs nothing; an agent's claim, retry
//! and report are moves of its own, so it signs exactly what the doors will write.

use chancery_model::canonical;
use chancery_store::Store;
use chancery_store::fsm::{MoveReport, Signed};
use chancery_store::queue::JobRow;
use chancery_store::workflow::{Assignment, Lease, WorkReport, WorkRow};
use serde::Serialize;
use serde_json::{Value, json};
use uuid::Uuid;

use super::act::{Statement, target};
use crate::Error;
use crate::run::Actor;

/// The class in which executors act.
const CLASS: &str = "executor_worker";
/// So many jobs with nothing to do are passed over in one look.
const MOST_EMPTY: usize = 100;

/// What a worker got to do.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Taken {
    pub job_id: Uuid,
    pub lease_no: i32,
    pub executor_class: String,
    #[serde(flatten)]
    pub assignment: Assignment,
}

/// What an executor says about its work.
#[derive(Debug, Clone, PartialEq)]
pub enum Report {
    /// With its output.
    Done(Value),
    /// Evidence of [`super::wait_evidence`].
    Waiting(Value),
    /// With a reason of the vocabulary.
    Blocked(String),
    /// A try that failed: a class of the registry, `transient` or `permanent`, and why in words.
    Failed { failure_class: String, classification: String, detail: String },
}

/// Takes up the next work of a class. What this worker holds already comes first: its answer may have been lost, or the process
/// that asked for it. Nothing when the queue has nothing due.
///
/// # Errors
/// The database's refusal.
pub async fn take_next(
    store: &Store,
    actor: &Actor,
    worker: &str,
    class: &str,
) -> Result<Option<Taken>, Error> {
    for job in store.jobs_leased_to(&actor.principal, worker).await? {
        if job.executor_class != class || !is_work(&job.job_kind) {
            continue;
        }
        let taken =
            begin(store, actor, worker, (job.job_id, job.lease_no), class, &job.payload_json);
        if let Some(taken) = taken.await? {
            return Ok(Some(taken));
        }
    }
    for _ in 0..MOST_EMPTY {
        let leased = store.fn_job_claim(class, 1, worker, &actor.principal).await?;
        let Some(job) = leased.into_iter().next() else { return Ok(None) };
        let lease = (job.job_id, job.lease_no);
        if !is_work(&job.job_kind) {
            store.fn_job_release(worker, &actor.principal, &[lease]).await?;
            return Err(Error::Ambiguous(format!(
                "the next job of the class {class} is no step of a workflow ({}); workers do such jobs",
                job.job_kind
            )));
        }
        if let Some(taken) = begin(store, actor, worker, lease, class, &job.payload).await? {
            return Ok(Some(taken));
        }
    }
    Ok(None)
}

fn is_work(job_kind: &str) -> bool {
    matches!(job_kind, "workflow.step" | "workflow.task")
}

/// Begins the work under its lease; nothing when there is nothing to do or the run is on hold.
async fn begin(
    store: &Store,
    actor: &Actor,
    worker: &str,
    (job_id, lease_no): (Uuid, i32),
    class: &str,
    payload: &Value,
) -> Result<Option<Taken>, Error> {
    let lease = Lease { job_id, lease_no, worker, principal: &actor.principal };
    let run_id = payload["run_id"].as_str().and_then(|id| id.parse().ok()).unwrap_or_default();
    let work = store.work(run_id).await?;
    let signed = match &work {
        Some(work) => signed_begin(store, actor, work, lease).await?,
        None => None,
    };
    let assignment = store.work_begin_signed(lease, signed.as_ref()).await?;
    if assignment.held || assignment.nothing_to_do {
        return Ok(None);
    }
    Ok(Some(Taken { job_id, lease_no, executor_class: class.to_owned(), assignment }))
}

/// What the door writes when it begins: a claim of what is ready, another try of what failed, and nothing otherwise. Under the lease
/// nobody else can bring the one to the other.
async fn signed_begin(
    store: &Store,
    actor: &Actor,
    work: &WorkRow,
    lease: Lease<'_>,
) -> Result<Option<Signed>, Error> {
    let key = format!("chancery:begin:{}#{}", lease.job_id, lease.lease_no);
    let mut evidence = under(lease, json!({}));
    let call = match work.state_code.as_str() {
        "ready" => format!("{}_claim", work.run_kind),
        "failed" => {
            evidence["idempotency_key"] = json!(key);
            "retry_attempt".to_owned()
        }
        _ => return Ok(None),
    };
    sign(store, actor, work, &call, &evidence, &key).await
}

/// Reports on a step or task that this worker took up; the report settles the job. The same report again is the first one again.
///
/// # Errors
/// The database's refusal: RE010 when the lease is lost or was never this worker's, RE011 when the work has no job.
pub async fn report(
    store: &Store,
    actor: &Actor,
    worker: &str,
    work: &WorkRow,
    report: &Report,
) -> Result<MoveReport, Error> {
    let kind = &work.run_kind;
    let (call, facts, document) = match report {
        Report::Done(output) => {
            let digest = hex::encode(canonical::sha256(output));
            (format!("{kind}_complete"), json!({ "output_sha256": digest }), Some(output))
        }
        Report::Waiting(evidence) => (format!("{kind}_wait"), evidence.clone(), None),
        Report::Blocked(reason) => {
            (format!("{kind}_block"), json!({ "block_reason": reason }), None)
        }
        Report::Failed { failure_class, classification, detail } => {
            let facts = json!({
                "classification": classification, "failure_class": failure_class, "detail": detail,
            });
            ("executor_failure".to_owned(), facts, None)
        }
    };
    let (job_id, lease_no) = lease_of(store, actor, worker, work).await?;
    let lease = Lease { job_id, lease_no, worker, principal: &actor.principal };
    let evidence = under(lease, facts);
    let key = format!("chancery:report:{job_id}#{lease_no}");
    let signed = sign(store, actor, work, &call, &evidence, &key).await?;
    let report = WorkReport { call: &call, evidence: &evidence, document };
    Ok(store.work_report_signed(lease, &report, signed.as_ref()).await?)
}

/// The lease to report under. A job that this worker settled before is found by what it did last; of anybody else's the door says so.
async fn lease_of(
    store: &Store,
    actor: &Actor,
    worker: &str,
    work: &WorkRow,
) -> Result<(Uuid, i32), Error> {
    let of_this =
        |job: &JobRow| job.payload_json["run_id"].as_str() == Some(&work.run_id.to_string());
    let leased = store.jobs_leased_to(&actor.principal, worker).await?.into_iter().find(of_this);
    let job = match leased {
        None => store.job_of_work(work.run_id).await?,
        leased => leased,
    };
    Ok(job.map_or((Uuid::nil(), 0), |job| (job.job_id, job.lease_no)))
}

/// Evidence as the doors complete it.
fn under(lease: Lease<'_>, facts: Value) -> Value {
    let mut evidence = facts;
    evidence["audit_ref"] = json!(format!("job:{}#{}", lease.job_id, lease.lease_no));
    evidence["worker"] = json!(lease.worker);
    evidence
}

async fn sign(
    store: &Store,
    actor: &Actor,
    work: &WorkRow,
    call: &str,
    evidence: &Value,
    key: &str,
) -> Result<Option<Signed>, Error> {
    let ways = store.workflow_ways(&work.state_machine_id, call, &work.state_code).await?;
    let (to, trigger_kind) = target(&ways, &work.state_code, CLASS);
    Statement {
        run_kind: &work.run_kind,
        run_id: work.run_id,
        to,
        class: CLASS,
        trigger: (trigger_kind, call),
        evidence,
        reason: None,
        key,
        born_as: None,
    }
    .signed_by(actor)
}
