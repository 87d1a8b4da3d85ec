//! The executor class `command`: runs programs that an operator allowed, without a shell.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use chancery_model::strict_json;
use chancery_store::queue::LeasedJob;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::executor::{Answer, Executor, Failure};
use super::task::{Outcome, Task, Trouble, Work};

/// A program that says so ends for good; any other code but 0 may be tried again.
const FOR_GOOD: i32 = 100;
/// No output is larger; the database takes less.
const MOST_BYTES: u64 = 1024 * 1024;

/// Runs `{"program": NAME, "args": [TEXT…]}`, where the name is one of those that were allowed. The program gets the job's id and
/// key in its environment and nothing else of the worker's but PATH. What a job prints goes nowhere and what it complains about to the
/// worker's stderr, never into the database: it may be anything. A step gets its input on stdin, and a JSON object that it prints
/// is its output.
#[derive(Debug, Clone)]
pub struct Command {
    allowed: BTreeMap<String, Program>,
    timeout: Duration,
}

/// A program that jobs may call. Arguments often come from the data of a run, so none of them becomes an option of the program that the
/// operator did not name: `--output=/etc/passwd` in a field of a form is refused.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Program {
    pub path: PathBuf,
    /// Arguments that begin with `-`, each without what follows its `=`.
    pub options: BTreeSet<String>,
}

impl Program {
    fn permits(&self, argument: &str) -> bool {
        let option = argument.split('=').next().unwrap_or_default();
        !argument.starts_with('-') || self.options.contains(option)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    program: String,
    #[serde(default)]
    args: Vec<Value>,
}

impl Wanted {
    /// Arguments as text: a path of a definition may have found a number.
    fn args(&self) -> Result<Vec<String>, String> {
        self.args
            .iter()
            .map(|arg| match arg {
                Value::String(text) if !text.contains('\0') => Ok(text.clone()),
                Value::Number(number) => Ok(number.to_string()),
                Value::Bool(yes) => Ok(yes.to_string()),
                other => Err(format!("{other} can be no argument")),
            })
            .collect()
    }
}

impl Command {
    /// Allows these programs, each by the name that jobs call it.
    #[must_use]
    pub fn new(allowed: BTreeMap<String, Program>, timeout: Duration) -> Self {
        Self { allowed, timeout }
    }

    /// The program and its arguments, when the operator allowed both.
    fn call(&self, wanted: &Wanted) -> Result<(&Path, Vec<String>), Trouble> {
        let name = &wanted.program;
        let program = self.allowed.get(name).ok_or_else(|| {
            Trouble::not_allowed(format!("the program {name} is not allowed here"))
        })?;
        let args = wanted.args().map_err(Trouble::bad_request)?;
        if let Some(option) = args.iter().find(|arg| !program.permits(arg)) {
            let option = option.split('=').next().unwrap_or_default();
            return Err(Trouble::not_allowed(format!(
                "the program {name} may not be called with the option {option}; an operator allows it with --allow-option {name}={option}"
            )));
        }
        Ok((&program.path, args))
    }
}

fn prepared(path: &Path, args: Vec<String>, job: &LeasedJob) -> tokio::process::Command {
    let mut command = tokio::process::Command::new(path);
    command
        .args(args)
        .env_clear()
        .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
        .env("CHANCERY_JOB_ID", job.job_id.to_string())
        .env("CHANCERY_JOB_KIND", &job.job_kind)
        .env("CHANCERY_TRACE_ID", &job.trace_id)
        .stderr(Stdio::inherit())
        .kill_on_drop(true);
    command
}

fn code_of(status: ExitStatus) -> String {
    status.code().map_or_else(|| status.to_string(), |code| code.to_string())
}

impl Executor for Command {
    fn execute<'a>(&'a self, job: &'a LeasedJob) -> Answer<'a> {
        Box::pin(async move {
            let wanted: Wanted = serde_json::from_value(job.payload.clone()).map_err(|error| {
                Failure::for_good(format!("the payload is no command: {error}"))
            })?;
            let (path, args) =
                self.call(&wanted).map_err(|trouble| Failure::for_good(trouble.detail))?;
            let mut child = prepared(path, args, job)
                .env("CHANCERY_ATTEMPT", job.attempt.to_string())
                .stdin(Stdio::null())
                .stdout(Stdio::null())
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
            let why = format!("{} ended with {}", wanted.program, code_of(status));
            match status.code() {
                Some(0) => Ok(json!({ "exit": 0 })),
                Some(FOR_GOOD) => Err(Failure::for_good(why)),
                _ => Err(Failure::passing(why)),
            }
        })
    }

    fn work<'a>(&'a self, task: &'a Task) -> Work<'a> {
        Box::pin(async move {
            let wanted: Wanted = serde_json::from_value(task.with().clone())
                .map_err(|error| Trouble::bad_request(format!("`with` is no command: {error}")))?;
            let (path, args) = self.call(&wanted)?;
            let mut command = prepared(path, args, task.job());
            command
                .env("CHANCERY_ATTEMPT", task.attempt().to_string())
                .env("CHANCERY_IDEMPOTENCY_KEY", task.idempotency_key())
                .env("CHANCERY_STEP", task.assignment.key.as_deref().unwrap_or_default());
            let running = converse(command, task.input().to_string());
            let said = tokio::time::timeout(self.timeout, running).await.map_err(|_| {
                Trouble::timeout(format!(
                    "{} took longer than {} s",
                    wanted.program,
                    self.timeout.as_secs()
                ))
            })?;
            let (status, stdout) = said.map_err(|error| {
                Trouble::unavailable(format!("{} could not be run: {error}", wanted.program))
            })?;
            // Who says too much is cut off, and its exit code says only that.
            if stdout.len() as u64 > MOST_BYTES {
                let why = format!("{} printed more than a mebibyte", wanted.program);
                return Err(Trouble::bad_output(why));
            }
            let why = format!("{} ended with {}", wanted.program, code_of(status));
            match status.code() {
                Some(0) => output(&wanted.program, &stdout).map(Outcome::Done),
                Some(FOR_GOOD) => Err(Trouble::bad_request(why)),
                _ => Err(Trouble::unclassified(why)),
            }
        })
    }
}

/// Gives a program its input, and takes what it prints.
async fn converse(
    mut command: tokio::process::Command,
    input: String,
) -> std::io::Result<(ExitStatus, Vec<u8>)> {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
    let give = async move {
        // A program need not read its input.
        if let Some(mut stdin) = stdin {
            let _ = stdin.write_all(input.as_bytes()).await;
        }
    };
    let take = async move {
        let mut said = Vec::new();
        if let Some(stdout) = stdout {
            stdout.take(MOST_BYTES + 1).read_to_end(&mut said).await?;
        }
        Ok::<_, std::io::Error>(said)
    };
    // When more is said than anybody takes, the pipe is closed and the program ends.
    let ((), said) = tokio::join!(give, take);
    Ok((child.wait().await?, said?))
}

fn output(program: &str, stdout: &[u8]) -> Result<Value, Trouble> {
    if stdout.trim_ascii().is_empty() {
        return Ok(json!({}));
    }
    strict_json::from_slice(stdout)
        .map_err(|error| Trouble::bad_output(format!("{program} printed no JSON: {error}")))
}
