//! The lease protocol: how workers in any language take jobs and report on them.

use std::time::Duration;

use axum::Router;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::post;
use chancery_engine::loops::SERVICE;
use chancery_model::refusal::{Code, Problem as Facts, Refusal};
use chancery_store::queue::{
    AckReport, Enqueued, JobOutcome, JobResult, LateResult, LeasedJob, NewJob,
};
use chancery_store::{Error, Store};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use tokio::sync::oneshot;
use tokio::time::Instant;
use uuid::Uuid;

use crate::body::{Asked, answer};
use crate::host::Host;
use crate::problem::{Fault, Problem};

/// Nobody waits longer for a job in one request.
const LONGEST_WAIT_MS: u64 = 30_000;

pub(crate) fn routes() -> Router<Host> {
    Router::new()
        .route("/v1/queue/{class}/claim", post(claim))
        .route("/v1/queue/turn", post(turn))
        .route("/v1/queue/ack", post(ack))
        .route("/v1/queue/extend", post(extend))
        .route("/v1/queue/release", post(release))
        .route("/v1/queue/jobs", post(enqueue))
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Claim {
    worker: String,
    #[serde(default = "one")]
    limit: i32,
    #[serde(default)]
    wait_ms: u64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Turn {
    class: String,
    worker: String,
    #[serde(default = "one")]
    limit: i32,
    results: Vec<Report>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Ack {
    worker: String,
    results: Vec<Report>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Leases {
    worker: String,
    leases: Vec<Lease>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Jobs {
    jobs: Vec<NewJob>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Report {
    job_id: Uuid,
    lease_no: i32,
    outcome: JobOutcome,
    #[serde(default)]
    detail: Map<String, Value>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Lease {
    job_id: Uuid,
    lease_no: i32,
}

/// A job as a worker gets it.
#[derive(Debug, Serialize)]
struct Given {
    job_id: Uuid,
    job_no: i64,
    lease_no: i32,
    kind: String,
    attempt: i32,
    payload: Value,
    payload_ref: Option<String>,
    source_ref: Option<String>,
    target_ref: Option<String>,
    trace_id: String,
    correlation_id: String,
    lease_until: String,
}

const fn one() -> i32 {
    1
}

impl From<LeasedJob> for Given {
    fn from(job: LeasedJob) -> Self {
        let until = jiff::Timestamp::from_microsecond(job.lease_until).unwrap_or_default();
        Self {
            job_id: job.job_id,
            job_no: job.job_no,
            lease_no: job.lease_no,
            kind: job.job_kind,
            attempt: job.attempt,
            payload: job.payload,
            payload_ref: job.payload_ref,
            source_ref: job.source_ref,
            target_ref: job.target_ref,
            trace_id: job.trace_id,
            correlation_id: job.correlation_id,
            lease_until: until.to_string(),
        }
    }
}

impl From<Report> for JobResult {
    fn from(Report { job_id, lease_no, outcome, detail }: Report) -> Self {
        Self { job_id, lease_no, outcome, detail: Value::Object(detail) }
    }
}

fn given(jobs: Vec<LeasedJob>) -> Vec<Given> {
    jobs.into_iter().map(Into::into).collect()
}

async fn claim(
    State(host): State<Host>,
    Path(class): Path<String>,
    Asked(asked): Asked<Claim>,
) -> Result<Response, Problem> {
    let class = word(class)?;
    if asked.wait_ms > LONGEST_WAIT_MS {
        let detail = format!("wait_ms is at most {LONGEST_WAIT_MS}");
        return Err(Problem::of(Fault::RequestInvalid, detail));
    }
    let deadline = Instant::now() + Duration::from_millis(asked.wait_ms);
    // Before the first look, so that a job that comes in between wakes us.
    let guest = (asked.wait_ms > 0).then(|| host.waiting().enter(&class));
    let jobs = loop {
        let jobs = lease(&host, &class, &asked.worker, asked.limit).await?;
        if jobs.len() >= usize::try_from(asked.limit).unwrap_or(usize::MAX) {
            // There may be more for whoever waits next.
            host.waiting().wake(&class);
        }
        let Some(guest) = guest.as_ref().filter(|_| jobs.is_empty()) else { break jobs };
        tokio::select! {
            () = host.stopping() => break jobs,
            () = tokio::time::sleep_until(deadline) => break jobs,
            () = guest.woken() => {}
        }
    };
    Ok(answer(StatusCode::OK, &json!({ "jobs": given(jobs) })))
}

async fn lease(
    host: &Host,
    class: &str,
    worker: &str,
    limit: i32,
) -> Result<Vec<LeasedJob>, Problem> {
    let (class, owner) = (class.to_owned(), worker.to_owned());
    let claim = move |store: Store| async move {
        store.fn_job_claim(&class, limit, &owner, SERVICE).await.map(|jobs| ((), jobs))
    };
    delivered(host, worker, claim).await.map(|((), jobs)| jobs)
}

async fn turn(State(host): State<Host>, Asked(asked): Asked<Turn>) -> Result<Response, Problem> {
    let Turn { class, worker, limit, results } = asked;
    let results: Vec<JobResult> = results.into_iter().map(Into::into).collect();
    let owner = worker.clone();
    let turn = move |store: Store| async move {
        store.fn_job_turn(&class, limit, &owner, SERVICE, &results).await
    };
    let (report, jobs): (AckReport, _) = delivered(&host, &worker, turn).await?;
    Ok(answer(StatusCode::OK, &json!({ "report": report, "jobs": given(jobs) })))
}

/// Leases jobs for a request. When the caller is gone before it has them, they are given back at once instead of lying there
/// until the lease runs out: the work is done beside the request, which ends with its connection.
async fn delivered<T, F, Fut>(
    host: &Host,
    worker: &str,
    work: F,
) -> Result<(T, Vec<LeasedJob>), Problem>
where
    T: Send + 'static,
    F: FnOnce(Store) -> Fut + Send + 'static,
    Fut: Future<Output = Result<(T, Vec<LeasedJob>), Error>> + Send + 'static,
{
    let (give, take) = oneshot::channel();
    let (store, worker) = (host.store().clone(), worker.to_owned());
    tokio::spawn(async move {
        let answer = work(store.clone()).await;
        let Err(Ok((_, jobs))) = give.send(answer) else { return };
        let leases: Vec<_> = jobs.iter().map(|job| (job.job_id, job.lease_no)).collect();
        if !leases.is_empty()
            && let Err(error) = store.fn_job_release(&worker, SERVICE, &leases).await
        {
            tracing::warn!(%error, "jobs of a caller who is gone wait for their lease to run out");
        }
    });
    let answer =
        take.await.map_err(|_| Problem::of(Fault::Internal, "nothing more is told here"))?;
    Ok(answer?)
}

async fn ack(State(host): State<Host>, Asked(asked): Asked<Ack>) -> Result<Response, Problem> {
    let results: Vec<JobResult> = asked.results.into_iter().map(Into::into).collect();
    let report = host.store().fn_job_ack(&asked.worker, SERVICE, &results).await?;
    // Who reports on one job wants to hear about that one.
    if let ([_], [late]) = (&*results, &*report.refused) {
        return Err(Problem::Refused(Box::new(in_words(host.store(), late).await?)));
    }
    Ok(answer(StatusCode::OK, &report))
}

async fn in_words(store: &Store, late: &LateResult) -> Result<Refusal, Problem> {
    let code = Code::from_sqlstate(&late.code)
        .ok_or_else(|| Problem::of(Fault::Internal, "nothing more is told here"))?;
    let facts = json!({
        "job_id": late.job_id, "lease_no": late.lease_no, "state": late.state,
        "newest_lease_no": late.newest_lease_no,
    });
    let facts = facts.as_object().cloned().unwrap_or_default();
    let problem = Facts { code, problem: code.problem().to_owned(), facts };
    Ok(store.refusal(code, vec![problem]).await?)
}

async fn extend(
    State(host): State<Host>,
    Asked(asked): Asked<Leases>,
) -> Result<Response, Problem> {
    let leases = asked.pairs();
    let kept = host.store().fn_job_extend(&asked.worker, SERVICE, &leases).await?;
    let lost: Vec<Uuid> =
        leases.iter().map(|(job_id, _)| *job_id).filter(|job_id| !kept.contains(job_id)).collect();
    Ok(answer(StatusCode::OK, &json!({ "kept": kept, "lost": lost })))
}

async fn release(
    State(host): State<Host>,
    Asked(asked): Asked<Leases>,
) -> Result<Response, Problem> {
    let released = host.store().fn_job_release(&asked.worker, SERVICE, &asked.pairs()).await?;
    Ok(answer(StatusCode::OK, &json!({ "released": released })))
}

async fn enqueue(State(host): State<Host>, Asked(asked): Asked<Jobs>) -> Result<Response, Problem> {
    // PostgreSQL would also take words such as `tomorrow`; what is promised is RFC 3339.
    let mut times = asked.jobs.iter().filter_map(|job| job.run_at.as_ref());
    if let Some(time) = times.find(|time| time.parse::<jiff::Timestamp>().is_err()) {
        let detail = format!("run_at: {time:?} is no time as RFC 3339 writes it");
        return Err(Problem::of(Fault::RequestInvalid, detail));
    }
    let jobs: Vec<Enqueued> = host.store().fn_job_enqueue(&asked.jobs, SERVICE, "system").await?;
    let mut classes: Vec<&str> = asked.jobs.iter().map(|job| job.class.as_str()).collect();
    classes.sort_unstable();
    classes.dedup();
    classes.iter().for_each(|class| host.waiting().wake(class));
    let new = jobs.iter().any(|job| !job.replayed);
    let status = if new { StatusCode::CREATED } else { StatusCode::OK };
    Ok(answer(status, &json!({ "jobs": jobs })))
}

impl Leases {
    fn pairs(&self) -> Vec<(Uuid, i32)> {
        self.leases.iter().map(|lease| (lease.job_id, lease.lease_no)).collect()
    }
}

/// A part of the path, which is no JSON and was not looked at yet.
fn word(text: String) -> Result<String, Problem> {
    if text.contains('\0') {
        return Err(Problem::of(Fault::RequestInvalid, "the class has the character U+0000"));
    }
    Ok(text)
}
