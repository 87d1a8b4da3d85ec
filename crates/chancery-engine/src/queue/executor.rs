//! Who does a job. An executor knows nothing of leases: it gets a job, or a step of a workflow, and says what came of it.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use chancery_store::queue::LeasedJob;
use serde_json::{Value, json};

use super::task::{Outcome, Task, Trouble, Work};

/// Why a job was not done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// For people; it stands in the dead letter, so it carries no secret.
    pub reason: String,
    /// Trying again would not help.
    pub for_good: bool,
}

impl Failure {
    /// It may work another time.
    pub fn passing(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), for_good: false }
    }

    /// It will not work another time either.
    pub fn for_good(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), for_good: true }
    }
}

/// What an executor answers: a small object, or why not.
pub type Answer<'a> = Pin<Box<dyn Future<Output = Result<Value, Failure>> + Send + 'a>>;

/// Does the jobs of a class. A job can come twice (its worker was lost before it could report), so it must bear repetition: the
/// job's id, and the idempotency key of a step, are the keys to give to whatever is called.
pub trait Executor: fmt::Debug + Send + Sync {
    fn execute<'a>(&'a self, job: &'a LeasedJob) -> Answer<'a>;

    /// Works on a step or task of a workflow.
    fn work<'a>(&'a self, _: &'a Task) -> Work<'a> {
        Box::pin(async { Err(Trouble::not_allowed("this executor does no steps of workflows")) })
    }
}

/// Does nothing, successfully. For trials a payload can ask for time (`sleep_ms`) and for failures: `fail_attempts` first tries, or
/// `fail_for_good`. A step says so in `with`, where `output` is what comes of it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Noop;

impl Noop {
    async fn pretend(asked: &Value, attempt: i32) -> Result<(), Failure> {
        if let Some(pause) = asked["sleep_ms"].as_u64() {
            tokio::time::sleep(Duration::from_millis(pause)).await;
        }
        if asked["fail_for_good"].as_bool() == Some(true) {
            return Err(Failure::for_good("the payload asked for it"));
        }
        let failing = asked["fail_attempts"].as_i64().unwrap_or(0);
        if i64::from(attempt) <= failing {
            return Err(Failure::passing(format!("try {attempt} of {failing} that fail")));
        }
        Ok(())
    }
}

impl Executor for Noop {
    fn execute<'a>(&'a self, job: &'a LeasedJob) -> Answer<'a> {
        Box::pin(async move {
            Self::pretend(&job.payload, job.attempt).await?;
            Ok(json!({}))
        })
    }

    fn work<'a>(&'a self, task: &'a Task) -> Work<'a> {
        Box::pin(async move {
            let with = task.with();
            Self::pretend(with, task.attempt()).await.map_err(|failure| {
                if failure.for_good {
                    Trouble::rejected(failure.reason)
                } else {
                    Trouble::unclassified(failure.reason)
                }
            })?;
            Ok(Outcome::Done(with.get("output").cloned().unwrap_or_else(|| json!({}))))
        })
    }
}
