//! Who does a job. An executor knows nothing of leases: it gets a job and says what came of it.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use chancery_store::queue::LeasedJob;
use serde_json::{Value, json};

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
/// job's id is the key to give to whatever is called.
pub trait Executor: fmt::Debug + Send + Sync {
    fn execute<'a>(&'a self, job: &'a LeasedJob) -> Answer<'a>;
}

/// Does nothing, successfully. For trials a payload can ask for time (`sleep_ms`) and for failures: `fail_attempts` first tries, or
/// `fail_for_good`.
#[derive(Debug, Clone, Copy, Default)]
pub struct Noop;

impl Executor for Noop {
    fn execute<'a>(&'a self, job: &'a LeasedJob) -> Answer<'a> {
        Box::pin(async move {
            if let Some(pause) = job.payload["sleep_ms"].as_u64() {
                tokio::time::sleep(Duration::from_millis(pause)).await;
            }
            if job.payload["fail_for_good"].as_bool() == Some(true) {
                return Err(Failure::for_good("the payload asked for it"));
            }
            let failing = job.payload["fail_attempts"].as_i64().unwrap_or(0);
            if i64::from(job.attempt) <= failing {
                return Err(Failure::passing(format!(
                    "try {} of {failing} that fail",
                    job.attempt
                )));
            }
            Ok(json!({}))
        })
    }
}
