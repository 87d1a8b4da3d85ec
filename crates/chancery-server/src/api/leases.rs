//! The lease protocol: how workers in any language take jobs, report on them, and do steps of workflows under their lease. Call-backs
//! are open to whoever has the token.

use std::time::Duration;

use axum::http::StatusCode;
use base64::prelude::{BASE64_URL_SAFE_NO_PAD, Engine as _};
use chancery_api::Nothing;
use chancery_api::leases::{
    ACK, Ack, AckReport, BEGIN, BeginWork, CALL_BACK, CLAIM, CallbackTaken, Claim, Claimed,
    ENQUEUE, EXTEND, Enqueued, GivenJob, HEARTBEAT, Heartbeat, HeartbeatTaken, ISSUE_CALLBACK,
    IssueCallback, JobReport, Kept, Leases, NewJob, NewJobs, Outcome, RELEASE, REPORT, Released,
    ReportWork, TURN, Turn, Turned,
};
use chancery_engine::loops::SERVICE;
use chancery_engine::queue::people;
use chancery_model::canonical;
use chancery_model::refusal::Code;
use chancery_store::governance::WorkerHeartbeat;
use chancery_store::queue::{self as rows, JobOutcome, JobResult, LateResult, LeasedJob};
use chancery_store::workflow::{Lease, WorkReport};
use chancery_store::{Error, Store};
use rand::RngCore as _;
use rand::rngs::OsRng;
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};
use tokio::sync::oneshot;
use tokio::time::Instant;
use uuid::Uuid;

use super::common::refused;
use super::page::told;
use super::{Answered, Call, Routes};
use crate::host::Host;
use crate::problem::{Fault, Problem};

/// Nobody waits longer for a job in one request.
const LONGEST_WAIT_MS: u64 = 30_000;

pub(super) fn bind(routes: Routes) -> Routes {
    routes
        .on(&CLAIM, claim)
        .on(&TURN, turn)
        .on(&ACK, ack)
        .on(&EXTEND, extend)
        .on(&RELEASE, release)
        .on(&HEARTBEAT, heartbeat)
        .on(&ENQUEUE, enqueue)
        .on(&BEGIN, begin)
        .on(&REPORT, report)
        .on(&ISSUE_CALLBACK, issue)
        .on(&CALL_BACK, call_back)
}

fn given(jobs: Vec<LeasedJob>) -> Vec<GivenJob> {
    let given = |job: LeasedJob| GivenJob {
        lease_until: jiff::Timestamp::from_microsecond(job.lease_until)
            .unwrap_or_default()
            .to_string(),
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
    };
    jobs.into_iter().map(given).collect()
}

fn results(reports: Vec<JobReport>) -> Vec<JobResult> {
    let result = |JobReport { job_id, lease_no, outcome, detail }| JobResult {
        job_id,
        lease_no,
        outcome: match outcome {
            Outcome::Succeeded => JobOutcome::Succeeded,
            Outcome::Failed => JobOutcome::Failed,
            Outcome::FailedForGood => JobOutcome::FailedForGood,
        },
        detail: Value::Object(detail),
    };
    reports.into_iter().map(result).collect()
}

fn job(new: NewJob) -> rows::NewJob {
    rows::NewJob {
        class: new.class,
        kind: new.kind,
        key: new.key,
        payload: new.payload,
        payload_ref: new.payload_ref,
        source_ref: new.source_ref,
        target_ref: new.target_ref,
        priority: new.priority,
        run_at: new.run_at,
        delay_ms: new.delay_ms,
        max_attempts: new.max_attempts,
        trace_id: new.trace_id,
        correlation_id: new.correlation_id,
        causation_event_id: new.causation_event_id,
    }
}

async fn claim(call: Call<Nothing, Claim>) -> Result<Answered<Claimed>, Problem> {
    let (host, class, asked) = (&call.host, call.text("class"), &call.body);
    if asked.wait_ms > LONGEST_WAIT_MS {
        let detail = format!("wait_ms is at most {LONGEST_WAIT_MS}");
        return Err(Problem::of(Fault::RequestInvalid, detail));
    }
    let deadline = Instant::now() + Duration::from_millis(asked.wait_ms);
    // Before the first look, so that a job that comes in between wakes us.
    let guest = (asked.wait_ms > 0).then(|| host.waiting().enter(class));
    let jobs = loop {
        let jobs = lease(host, call.reader(), class, &asked.worker, asked.limit).await?;
        if jobs.len() >= usize::try_from(asked.limit).unwrap_or(usize::MAX) {
            // There may be more for whoever waits next.
            host.waiting().wake(class);
        }
        let Some(guest) = guest.as_ref().filter(|_| jobs.is_empty()) else { break jobs };
        tokio::select! {
            () = host.stopping() => break jobs,
            () = tokio::time::sleep_until(deadline) => break jobs,
            () = guest.woken() => {}
        }
    };
    Ok(Claimed { jobs: given(jobs) }.into())
}

async fn lease(
    host: &Host,
    principal: &str,
    class: &str,
    worker: &str,
    limit: i32,
) -> Result<Vec<LeasedJob>, Problem> {
    let (class, owner, acting) = (class.to_owned(), worker.to_owned(), principal.to_owned());
    let claim = move |store: Store| async move {
        store.fn_job_claim(&class, limit, &owner, &acting).await.map(|jobs| ((), jobs))
    };
    delivered(host, principal, worker, claim).await.map(|((), jobs)| jobs)
}

async fn turn(call: Call<Nothing, Turn>) -> Result<Answered<Turned>, Problem> {
    let principal = call.reader().to_owned();
    let Turn { class, worker, limit, results: reports } = call.body;
    let results = results(reports);
    let (owner, acting) = (worker.clone(), principal.clone());
    let turn = move |store: Store| async move {
        store.fn_job_turn(&class, limit, &owner, &acting, &results).await
    };
    let (report, jobs): (rows::AckReport, _) =
        delivered(&call.host, &principal, &worker, turn).await?;
    Ok(Turned { report: told(report)?, jobs: given(jobs) }.into())
}

/// Leases jobs for a request. When the caller is gone before it has them, they are given back at once instead of lying there
/// until the lease runs out: the work is done beside the request, which ends with its connection.
async fn delivered<T, F, Fut>(
    host: &Host,
    principal: &str,
    worker: &str,
    work: F,
) -> Result<(T, Vec<LeasedJob>), Problem>
where
    T: Send + 'static,
    F: FnOnce(Store) -> Fut + Send + 'static,
    Fut: Future<Output = Result<(T, Vec<LeasedJob>), Error>> + Send + 'static,
{
    let (give, take) = oneshot::channel();
    let (store, worker, acting) = (host.store().clone(), worker.to_owned(), principal.to_owned());
    tokio::spawn(async move {
        let answer = work(store.clone()).await;
        let Err(Ok((_, jobs))) = give.send(answer) else { return };
        let leases: Vec<_> = jobs.iter().map(|job| (job.job_id, job.lease_no)).collect();
        if !leases.is_empty()
            && let Err(error) = store.fn_job_release(&worker, &acting, &leases).await
        {
            tracing::warn!(%error, "jobs of a caller who is gone wait for their lease to run out");
        }
    });
    let answer =
        take.await.map_err(|_| Problem::of(Fault::Internal, "nothing more is told here"))?;
    Ok(answer?)
}

async fn ack(call: Call<Nothing, Ack>) -> Result<Answered<AckReport>, Problem> {
    let principal = call.reader().to_owned();
    let store = call.host.store();
    let results = results(call.body.results);
    let report = store.fn_job_ack(&call.body.worker, &principal, &results).await?;
    // Who reports on one job wants to hear about that one.
    if let ([_], [late]) = (&*results, &*report.refused) {
        return Err(in_words(store, late).await);
    }
    Ok(told::<AckReport>(report)?.into())
}

async fn in_words(store: &Store, late: &LateResult) -> Problem {
    let Some(code) = Code::from_sqlstate(&late.code) else {
        return Problem::of(Fault::Internal, "nothing more is told here");
    };
    let facts = json!({
        "job_id": late.job_id, "lease_no": late.lease_no, "state": late.state,
        "newest_lease_no": late.newest_lease_no,
    });
    refused(store, code, facts).await
}

fn pairs(leases: &Leases) -> Vec<(Uuid, i32)> {
    leases.leases.iter().map(|lease| (lease.job_id, lease.lease_no)).collect()
}

async fn extend(call: Call<Nothing, Leases>) -> Result<Answered<Kept>, Problem> {
    let leases = pairs(&call.body);
    let kept = call.store().fn_job_extend(&call.body.worker, call.reader(), &leases).await?;
    let lost: Vec<Uuid> =
        leases.iter().map(|(job_id, _)| *job_id).filter(|job_id| !kept.contains(job_id)).collect();
    Ok(Kept { kept, lost }.into())
}

async fn release(call: Call<Nothing, Leases>) -> Result<Answered<Released>, Problem> {
    let leases = pairs(&call.body);
    let released = call.store().fn_job_release(&call.body.worker, call.reader(), &leases).await?;
    Ok(Released { released: told(released)? }.into())
}

async fn heartbeat(call: Call<Nothing, Heartbeat>) -> Result<Answered<HeartbeatTaken>, Problem> {
    let Heartbeat { worker, ok, leaving, metadata } = &call.body;
    let beat = WorkerHeartbeat {
        executor_class: call.text("class"),
        worker,
        ok: *ok,
        leaving: *leaving,
        metadata: &Value::Object(metadata.clone()),
        principal: call.reader(),
    };
    Ok(told::<HeartbeatTaken>(call.store().fn_worker_heartbeat(&beat).await?)?.into())
}

async fn enqueue(call: Call<Nothing, NewJobs>) -> Result<Answered<Enqueued>, Problem> {
    // PostgreSQL would also take words such as `tomorrow`; what is promised is RFC 3339.
    let mut times = call.body.jobs.iter().filter_map(|job| job.run_at.as_ref());
    if let Some(time) = times.find(|time| time.parse::<jiff::Timestamp>().is_err()) {
        let detail = format!("run_at: {time:?} is no time as RFC 3339 writes it");
        return Err(Problem::of(Fault::RequestInvalid, detail));
    }
    let (principal, store) = (call.reader(), call.store());
    let class = if principal == SERVICE {
        "system".to_owned()
    } else {
        // Of who holds none that may, the door says so.
        people::enqueuing_class(store, principal).await?.unwrap_or_default()
    };
    let jobs: Vec<rows::NewJob> = call.body.jobs.iter().cloned().map(job).collect();
    let taken = store.fn_job_enqueue(&jobs, principal, &class).await?;
    let mut classes: Vec<&str> = jobs.iter().map(|job| job.class.as_str()).collect();
    classes.sort_unstable();
    classes.dedup();
    classes.iter().for_each(|class| call.host.waiting().wake(class));
    let new = taken.iter().any(|job| !job.replayed);
    let mut answered = Answered::from(Enqueued { jobs: told(taken)? });
    answered.status = Some(if new { StatusCode::CREATED } else { StatusCode::OK });
    Ok(answered)
}

async fn begin(call: Call<Nothing, BeginWork>) -> Result<Answered<Value>, Problem> {
    let BeginWork { worker, job_id, lease_no } = &call.body;
    let lease = Lease { job_id: *job_id, lease_no: *lease_no, worker, principal: call.reader() };
    Ok(told::<Value>(call.store().fn_work_begin(lease).await?)?.into())
}

async fn report(call: Call<Nothing, ReportWork>) -> Result<Answered<Value>, Problem> {
    let ReportWork { worker, job_id, lease_no, call: name, evidence, document } = &call.body;
    let document = document.clone().map(Value::Object);
    let mut evidence = evidence.clone();
    if let Some(document) = &document {
        // Not every language has RFC 8785; who sends a digest has it checked.
        let digest = || hex::encode(canonical::sha256(document)).into();
        evidence.entry("output_sha256").or_insert_with(digest);
    }
    let evidence = Value::Object(evidence);
    let report = WorkReport { call: name, evidence: &evidence, document: document.as_ref() };
    let lease = Lease { job_id: *job_id, lease_no: *lease_no, worker, principal: call.reader() };
    Ok(told::<Value>(call.store().fn_work_report(lease, &report).await?)?.into())
}

/// Expects a call-back. The token is told once, here; the database has only its digest.
async fn issue(call: Call<Nothing, IssueCallback>) -> Result<Answered<Value>, Problem> {
    let IssueCallback { worker, job_id, lease_no, token_sha256 } = &call.body;
    let lease = Lease { job_id: *job_id, lease_no: *lease_no, worker, principal: call.reader() };
    let (token, digest) = match token_sha256 {
        Some(text) => {
            let wrong = || Problem::of(Fault::RequestInvalid, "token_sha256 is 64 hex digits");
            (None, hex::decode(text).ok().filter(|bytes| bytes.len() == 32).ok_or_else(wrong)?)
        }
        None => {
            let mut bytes = [0; 32];
            OsRng.fill_bytes(&mut bytes);
            let token = BASE64_URL_SAFE_NO_PAD.encode(bytes);
            let digest = Sha256::digest(token.as_bytes()).to_vec();
            (Some(token), digest)
        }
    };
    let mut issued = call.store().fn_callback_issue(lease, &digest).await?;
    issued["token_sha256"] = hex::encode(&digest).into();
    if let Some(token) = token {
        issued["path"] = format!("/v1/callbacks/{token}").into();
        issued["token"] = token.into();
    }
    Ok(issued.into())
}

/// Takes a call-back. A token that is none costs the same look by its digest as one that is.
async fn call_back(
    call: Call<Nothing, Map<String, Value>>,
) -> Result<Answered<CallbackTaken>, Problem> {
    // What is no text is no token of ours.
    let digest = Sha256::digest(call.text("token"));
    call.store().fn_callback(&digest, &Value::Object(call.body.clone())).await?;
    Ok(CallbackTaken { taken: true }.into())
}
