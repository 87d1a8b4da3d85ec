//! A step of a workflow from its job to its report: begun under the lease, worked on, and reported in the transaction that settles
//! the job.

use std::time::Duration;

use chancery_model::canonical;
use chancery_model::refusal::{Code, Refusal};
use chancery_store::queue::LeasedJob;
use chancery_store::workflow::{Assignment, Lease, WorkReport};
use chancery_store::{Error, Store};
use serde_json::{Value, json};

use super::executor::{Executor, Failure};
use super::task::{Outcome, Task, Trouble};

const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// No list or object of an output lies deeper.
const MOST_LEVELS: usize = 64;

/// What became of a job.
#[derive(Debug)]
pub(super) enum Settled {
    /// The report settled it: the step is done or waits, or there was nothing to do.
    Succeeded,
    /// The report settled it: the step has failed.
    Failed,
    /// The lease was lost; the work is somebody else's.
    Late,
    /// It still has to be reported on as any job.
    Open(Result<Value, Failure>),
}

/// Whether a job is a step or task of a workflow.
pub(super) fn is_step(job: &LeasedJob) -> bool {
    matches!(job.job_kind.as_str(), "workflow.step" | "workflow.task")
}

/// Begins the work of a job, has it done, and reports.
pub(super) async fn work(
    store: &Store,
    executor: &dyn Executor,
    job: &LeasedJob,
    worker: &str,
    principal: &str,
) -> Settled {
    let lease = Lease { job_id: job.job_id, lease_no: job.lease_no, worker, principal };
    let assignment = match begin(store, lease).await {
        Ok(assignment) => assignment,
        Err(settled) => return settled,
    };
    if assignment.held || assignment.nothing_to_do {
        tracing::debug!(job_id = %job.job_id, state = assignment.state, "nothing to do now");
        return Settled::Succeeded;
    }
    let kind = assignment.run_kind.clone().unwrap_or_default();
    let task = Task::new(assignment, store, job, worker, principal);
    let answer = executor.work(&task).await.and_then(|outcome| match outcome {
        Outcome::Done(output) => keepable(output).map(Outcome::Done),
        waiting @ Outcome::Waiting(_) => Ok(waiting),
    });
    match report(store, lease, &kind, &answer).await {
        Err(Reported::Refused(refusal)) => {
            tracing::warn!(job_id = %job.job_id, %refusal, "a report was refused");
            refused(store, lease, &kind, &answer, &refusal).await
        }
        Ok(settled) | Err(Reported::Settled(settled)) => settled,
    }
}

/// A report that did not settle the job as it should have.
enum Reported {
    Refused(Box<Refusal>),
    Settled(Settled),
}

async fn begin(store: &Store, lease: Lease<'_>) -> Result<Assignment, Settled> {
    repeated(|| store.fn_work_begin(lease)).await.map_err(|error| match error {
        Error::Refused(refusal) if is_lost(refusal.code) => lost(lease, &refusal),
        // Another job of the same work came after this one.
        Error::Refused(refusal) if refusal.code == Code::RW025 => {
            Settled::Open(Ok(json!({ "nothing_to_do": "another job does this work" })))
        }
        error => Settled::Open(Err(Failure::passing(format!("it could not be begun: {error}")))),
    })
}

async fn report(
    store: &Store,
    lease: Lease<'_>,
    kind: &str,
    answer: &Result<Outcome, Trouble>,
) -> Result<Settled, Reported> {
    let (call, evidence, document, settled) = match answer {
        Ok(Outcome::Done(output)) => (
            format!("{kind}_complete"),
            json!({ "output_sha256": hex::encode(canonical::sha256(output)) }),
            Some(output),
            Settled::Succeeded,
        ),
        Ok(Outcome::Waiting(waits)) => {
            let facets: Vec<&Value> = waits.iter().map(|wait| &wait["facet"]).collect();
            let evidence = json!({ "facets": facets, "waits": waits });
            (format!("{kind}_wait"), evidence, None, Settled::Succeeded)
        }
        Err(Trouble { class, detail }) => (
            "executor_failure".to_owned(),
            json!({
                "classification": class.classification(), "failure_class": class.as_str(), "detail": detail,
            }),
            None,
            Settled::Failed,
        ),
    };
    let report = WorkReport { call: &call, evidence: &evidence, document };
    match repeated(|| store.fn_work_report(lease, &report)).await {
        Ok(_) => Ok(settled),
        Err(Error::Refused(refusal)) if is_lost(refusal.code) => {
            Err(Reported::Settled(lost(lease, &refusal)))
        }
        Err(Error::Refused(refusal)) => Err(Reported::Refused(refusal)),
        Err(error) => Err(Reported::Settled(Settled::Open(Err(Failure::passing(format!(
            "its report could not be taken: {error}"
        )))))),
    }
}

/// What the database will not have. The step moved on meanwhile or waits for its tasks; or the answer itself is wrong, which is a failure
/// of the step; or a rule does not let a good answer in. That may be another time, so it is never a failure for good.
async fn refused(
    store: &Store,
    lease: Lease<'_>,
    kind: &str,
    answer: &Result<Outcome, Trouble>,
    refusal: &Refusal,
) -> Settled {
    // A begin that finds nothing to do settles the job.
    let now = match begin(store, lease).await {
        Ok(now) if now.held || now.nothing_to_do => return Settled::Succeeded,
        Ok(now) => now,
        Err(settled) => return settled,
    };
    let why = why(refusal);
    let trouble = match answer {
        // Only work in time can wait; the next try is in time again.
        Ok(Outcome::Waiting(_)) if now.state == "overdue" => Trouble::timeout(why),
        _ if !is_about_the_answer(refusal.code) => Trouble::refused(why),
        Ok(Outcome::Done(_)) => Trouble::bad_output(why),
        Ok(Outcome::Waiting(_)) | Err(_) => Trouble::bad_request(why),
    };
    match report(store, lease, kind, &Err(trouble)).await {
        Ok(settled) | Err(Reported::Settled(settled)) => settled,
        Err(Reported::Refused(refusal)) => {
            let why = self::why(&refusal);
            Settled::Open(Err(Failure::passing(format!("its report was refused: {why}"))))
        }
    }
}

/// Whether a refusal says that what the executor answered is malformed or breaks what was agreed: the same again would be refused again.
fn is_about_the_answer(code: Code) -> bool {
    matches!(code, Code::RW007 | Code::RW008 | Code::RW009 | Code::RW012 | Code::RW024)
}

/// A refusal with everything that stood against it by name, guards too: it stands in the log of the step and in its dead letter.
fn why(refusal: &Refusal) -> String {
    let named = refusal.problems.iter().map(|problem| {
        let guard = problem.facts.get("guard").and_then(Value::as_str);
        let guard = guard.map(|guard| format!(" by {guard}")).unwrap_or_default();
        format!("{} {}{guard}", problem.code, problem.problem)
    });
    let named: Vec<String> = named.collect();
    format!("{} ({})", refusal.title, named.join(", "))
}

fn is_lost(code: Code) -> bool {
    matches!(code, Code::RE010 | Code::RE011)
}

fn lost(lease: Lease<'_>, refusal: &Refusal) -> Settled {
    tracing::warn!(job_id = %lease.job_id, lease_no = lease.lease_no, code = %refusal.code, "the lease was lost; what came of the work is dropped");
    Settled::Late
}

/// Asks until the database answers. The doors of work bear repetition: the same report again is the first answer again.
async fn repeated<T, F: Future<Output = Result<T, Error>>>(
    mut ask: impl FnMut() -> F,
) -> Result<T, Error> {
    let mut pause = FIRST_PAUSE;
    loop {
        match ask().await {
            Err(error @ (Error::Away(_) | Error::Conflict(_))) => {
                tracing::debug!(%error, "asking again");
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(LONGEST_PAUSE);
            }
            answer => return answer,
        }
    }
}

/// An output that PostgreSQL can keep.
fn keepable(output: Value) -> Result<Value, Trouble> {
    if !output.is_object() {
        return Err(Trouble::bad_output("the output is no JSON object"));
    }
    match unkeepable(&output, 1) {
        Some(why) => Err(Trouble::bad_output(why)),
        None => Ok(output),
    }
}

fn unkeepable(value: &Value, level: usize) -> Option<&'static str> {
    const NUL: &str = "a text of the output has the character U+0000";
    if level > MOST_LEVELS {
        return Some("the output is nested deeper than 64 levels");
    }
    match value {
        Value::String(text) => text.contains('\0').then_some(NUL),
        Value::Array(items) => items.iter().find_map(|item| unkeepable(item, level + 1)),
        Value::Object(members) => members.iter().find_map(|(name, member)| {
            if name.contains('\0') { Some(NUL) } else { unkeepable(member, level + 1) }
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}
