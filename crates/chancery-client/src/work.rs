//! The lease protocol: take jobs, do them, report.

use std::time::Duration;

use chancery_api::Nothing;
use chancery_api::leases::{
    ACK, Ack, AckReport, BEGIN, BeginWork, CLAIM, Claim, Claimed, EXTEND, GivenJob, HEARTBEAT,
    Heartbeat, HeartbeatTaken, ISSUE_CALLBACK, IssueCallback, JobReport, Kept, Lease, Leases,
    Outcome, RELEASE, REPORT, ReportWork,
};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use crate::{Client, Error};

/// A worker: a client under a name that no other worker has at the same time.
#[derive(Debug, Clone)]
pub struct Worker {
    client: Client,
    name: String,
}

/// Work that was begun.
#[derive(Debug, Clone, Deserialize)]
pub struct Begun {
    /// The run is on hold, and the job went back to the queue.
    pub held: bool,
    /// Somebody else ended the work, and the job is settled.
    pub nothing_to_do: bool,
    /// `step` or `task`.
    #[serde(default)]
    pub run_kind: String,
    #[serde(default)]
    pub run_id: Option<Uuid>,
    /// The name in the definition.
    #[serde(default)]
    pub key: String,
    #[serde(default)]
    pub attempt: i32,
    /// The same for every try: for whatever is called.
    #[serde(default)]
    pub idempotency_key: String,
    /// `{with, inputs, outputs, unit_version}`.
    #[serde(default)]
    pub input: Value,
    /// The JSON Schema that the output meets.
    #[serde(default)]
    pub output_contract: Value,
    /// What this try waited for, with its proofs.
    #[serde(default)]
    pub waits: Vec<Value>,
}

/// A call-back that will come. The token is told once.
#[derive(Clone, Deserialize)]
pub struct Callback {
    pub wait_id: Uuid,
    pub token_sha256: String,
    /// Where it is posted, on the server.
    pub path: String,
}

impl std::fmt::Debug for Callback {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The path has the token in it.
        f.debug_struct("Callback").field("wait_id", &self.wait_id).finish_non_exhaustive()
    }
}

fn lease(job: &GivenJob) -> Lease {
    Lease { job_id: job.job_id, lease_no: job.lease_no }
}

fn typed<T: serde::de::DeserializeOwned>(answer: Value) -> Result<T, Error> {
    serde_json::from_value(answer).map_err(|error| Error::Strange(error.to_string()))
}

impl Worker {
    /// A worker of this name: letters, digits and `. _ : @ -`.
    pub fn new(client: Client, name: impl Into<String>) -> Self {
        Self { client, name: name.into() }
    }

    /// Leases up to `limit` due jobs of a class; when there is none, waits for one, up to 30 seconds.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn claim(&self, class: &str, limit: i32, wait: Duration) -> Result<Vec<GivenJob>, Error> {
        let wait_ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
        let asked = Claim { worker: self.name.clone(), limit, wait_ms };
        let Claimed { jobs } =
            self.client.call(&CLAIM, &[("class", class)], &Nothing {}, &asked)?;
        Ok(jobs)
    }

    /// Keeps leases; what is lost belongs to somebody else by now.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn extend(&self, jobs: &[GivenJob]) -> Result<Kept, Error> {
        self.client.call(&EXTEND, &[], &Nothing {}, &self.leases(jobs))
    }

    /// Gives jobs back that were not begun.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn release(&self, jobs: &[GivenJob]) -> Result<(), Error> {
        self.client.call(&RELEASE, &[], &Nothing {}, &self.leases(jobs)).map(|_| ())
    }

    /// Says that this worker of a class lives; `ok` is whether its work since the last heartbeat went well. A worker that once said so and then
    /// says nothing is found silent.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn heartbeat(&self, class: &str, ok: bool) -> Result<HeartbeatTaken, Error> {
        self.beat(class, ok, false)
    }

    /// This worker of a class ends in good order and is not missed.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn leave(&self, class: &str) -> Result<HeartbeatTaken, Error> {
        self.beat(class, true, true)
    }

    fn beat(&self, class: &str, ok: bool, leaving: bool) -> Result<HeartbeatTaken, Error> {
        let beat = Heartbeat { worker: self.name.clone(), ok, leaving, metadata: Map::new() };
        self.client.call(&HEARTBEAT, &[("class", class)], &Nothing {}, &beat)
    }

    fn leases(&self, jobs: &[GivenJob]) -> Leases {
        Leases { worker: self.name.clone(), leases: jobs.iter().map(lease).collect() }
    }

    /// Reports on a plain job.
    ///
    /// # Errors
    /// `Refused` with RE010 when the lease is not the newest.
    pub fn ack(
        &self,
        job: &GivenJob,
        outcome: Outcome,
        detail: Map<String, Value>,
    ) -> Result<AckReport, Error> {
        let Lease { job_id, lease_no } = lease(job);
        let results = vec![JobReport { job_id, lease_no, outcome, detail }];
        self.client.call(&ACK, &[], &Nothing {}, &Ack { worker: self.name.clone(), results })
    }

    /// Begins the step or task that a job is about.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn begin(&self, job: &GivenJob) -> Result<Begun, Error> {
        let Lease { job_id, lease_no } = lease(job);
        let asked = BeginWork { worker: self.name.clone(), job_id, lease_no };
        typed(self.client.call(&BEGIN, &[], &Nothing {}, &asked)?)
    }

    /// Says what came of the work; `call` is a trigger of its machine.
    ///
    /// # Errors
    /// `Refused` with RE010 when the lease is not the newest, RW008 when the output breaks its contract.
    pub fn report(
        &self,
        job: &GivenJob,
        call: &str,
        evidence: Map<String, Value>,
        document: Option<Map<String, Value>>,
    ) -> Result<Value, Error> {
        let Lease { job_id, lease_no } = lease(job);
        let asked = ReportWork {
            worker: self.name.clone(),
            job_id,
            lease_no,
            call: call.to_owned(),
            evidence,
            document,
        };
        self.client.call(&REPORT, &[], &Nothing {}, &asked)
    }

    /// The work is done; this is its output.
    ///
    /// # Errors
    /// As [`Worker::report`].
    pub fn complete(&self, job: &GivenJob, output: Map<String, Value>) -> Result<Value, Error> {
        let call = if job.kind == "workflow.task" { "task_complete" } else { "step_complete" };
        self.report(job, call, Map::new(), Some(output))
    }

    /// The work failed; a transient failure is tried again as the policy says.
    ///
    /// # Errors
    /// As [`Worker::report`].
    pub fn fail(
        &self,
        job: &GivenJob,
        transient: bool,
        failure_class: &str,
        detail: &str,
    ) -> Result<Value, Error> {
        let classification = if transient { "transient" } else { "permanent" };
        let evidence = json!({
            "classification": classification, "failure_class": failure_class, "detail": detail,
        });
        let evidence = evidence.as_object().cloned().unwrap_or_default();
        self.report(job, "executor_failure", evidence, None)
    }

    /// Expects a call-back: ask for it before calling out, so that the answer can't come too early.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn expect_callback(&self, job: &GivenJob) -> Result<Callback, Error> {
        let Lease { job_id, lease_no } = lease(job);
        let asked =
            IssueCallback { worker: self.name.clone(), job_id, lease_no, token_sha256: None };
        typed(self.client.call(&ISSUE_CALLBACK, &[], &Nothing {}, &asked)?)
    }

    /// Lets the work wait for a call-back; the job is settled, another one comes with the answer.
    ///
    /// # Errors
    /// As [`Worker::report`].
    pub fn wait_for(&self, job: &GivenJob, callback: &Callback) -> Result<Value, Error> {
        let call = if job.kind == "workflow.task" { "task_wait" } else { "step_wait" };
        let evidence = json!({
            "facets": ["waiting_external"],
            "waits": [{ "facet": "waiting_external", "token_sha256": callback.token_sha256 }],
        });
        self.report(job, call, evidence.as_object().cloned().unwrap_or_default(), None)
    }
}
