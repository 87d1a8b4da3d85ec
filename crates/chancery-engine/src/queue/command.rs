//! The executor class `command`: runs programs that an operator allowed, without a shell.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use chancery_store::queue::LeasedJob;
use serde::Deserialize;
use serde_json::json;

use super::executor::{Answer, Executor, Failure};

/// A program that says so ends for good; any other code but 0 may be tried again.
const FOR_GOOD: i32 = 100;

/// Runs `{"program": NAME, "args": [TEXT…]}`, where the name is one of those that were allowed. The program gets the job's id and
/// key in its environment and nothing else of the worker's but PATH. What it prints goes to the worker's stderr, never into the
/// database: it may be anything.
#[derive(Debug, Clone)]
pub struct Command {
    allowed: BTreeMap<String, PathBuf>,
    timeout: Duration,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    program: String,
    #[serde(default)]
    args: Vec<String>,
}

impl Command {
    /// Allows these programs, each by the name that jobs call it.
    #[must_use]
    pub fn new(allowed: BTreeMap<String, PathBuf>, timeout: Duration) -> Self {
        Self { allowed, timeout }
    }
}

impl Executor for Command {
    fn execute<'a>(&'a self, job: &'a LeasedJob) -> Answer<'a> {
        Box::pin(async move {
            let wanted: Wanted = serde_json::from_value(job.payload.clone()).map_err(|error| {
                Failure::for_good(format!("the payload is no command: {error}"))
            })?;
            let path = self.allowed.get(&wanted.program).ok_or_else(|| {
                Failure::for_good(format!("the program {} is not allowed here", wanted.program))
            })?;
            let mut child = tokio::process::Command::new(path)
                .args(&wanted.args)
                .env_clear()
                .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
                .env("CHANCERY_JOB_ID", job.job_id.to_string())
                .env("CHANCERY_JOB_KIND", &job.job_kind)
                .env("CHANCERY_ATTEMPT", job.attempt.to_string())
                .env("CHANCERY_TRACE_ID", &job.trace_id)
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::inherit())
                .kill_on_drop(true)
                .spawn()
                .map_err(|error| {
                    Failure::passing(format!("{} could not be started: {error}", wanted.program))
                })?;
            let Ok(status) = tokio::time::timeout(self.timeout, child.wait()).await else {
                return Err(Failure::passing(format!(
                    "{} took longer than {} s",
                    wanted.program,
                    self.timeout.as_secs()
                )));
            };
            let status = status.map_err(|error| Failure::passing(error.to_string()))?;
            match status.code() {
                Some(0) => Ok(json!({ "exit": 0 })),
                Some(FOR_GOOD) => {
                    Err(Failure::for_good(format!("{} ended with {FOR_GOOD}", wanted.program)))
                }
                code => Err(Failure::passing(format!(
                    "{} ended with {}",
                    wanted.program,
                    code.map_or_else(|| status.to_string(), |code| code.to_string())
                ))),
            }
        })
    }
}
