//! Steps and tasks: what people decide about them, and how executors work on them under the lease of a job.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use crate::fsm::{MoveReport, Signed, decode};
use crate::{Error, Store};

/// What a person says about a step or task.
#[derive(Debug, Clone)]
pub struct WorkCall<'a> {
    /// `step` or `task`.
    pub run_kind: &'a str,
    pub run_id: Uuid,
    /// The trigger that the machine names, such as `step_claim`.
    pub call: &'a str,
    pub evidence: &'a Value,
    /// The output of a completion.
    pub document: Option<&'a Value>,
    pub principal: &'a str,
    pub actor_class: &'a str,
    pub idempotency_key: &'a str,
    pub reason: Option<&'a str>,
    pub signed: Option<Signed>,
}

/// The lease that a worker works under.
#[derive(Debug, Clone, Copy)]
pub struct Lease<'a> {
    pub job_id: Uuid,
    pub lease_no: i32,
    pub worker: &'a str,
    pub principal: &'a str,
}

/// What an executor reports.
#[derive(Debug, Clone)]
pub struct WorkReport<'a> {
    /// The trigger that the machine names, such as `step_complete` or `executor_failure`.
    pub call: &'a str,
    pub evidence: &'a Value,
    /// The output of a completion.
    pub document: Option<&'a Value>,
}

/// What an executor gets to do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Assignment {
    /// The run is on hold; the job went back to the queue.
    #[serde(default)]
    pub held: bool,
    /// Somebody else ended the work; the job is settled.
    #[serde(default)]
    pub nothing_to_do: bool,
    pub state: String,
    #[serde(default)]
    pub run_kind: Option<String>,
    #[serde(default)]
    pub run_id: Option<Uuid>,
    #[serde(default)]
    pub workflow_run_id: Option<Uuid>,
    #[serde(default)]
    pub key: Option<String>,
    #[serde(default)]
    pub started_by: Option<String>,
    #[serde(default)]
    pub pic_id: Option<String>,
    #[serde(default)]
    pub attempt: Option<i32>,
    #[serde(default)]
    pub cycle_no: Option<i32>,
    #[serde(default)]
    pub deadline: Option<String>,
    #[serde(default)]
    pub trace_id: Option<String>,
    /// The same for every try of the same work: what an outside system can recognise a repetition by.
    #[serde(default)]
    pub idempotency_key: Option<String>,
    #[serde(default)]
    pub input: Option<Value>,
    #[serde(default)]
    pub output_contract: Option<Value>,
    /// What the work waited for in this try, with the proofs.
    #[serde(default)]
    pub waits: Vec<Value>,
}

/// A wait that a person ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resolved {
    pub wait_id: Uuid,
    /// Nothing else was waited for, so the work goes on.
    pub resumed: bool,
    pub replayed: bool,
}

/// A deadline that was moved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Extended {
    pub run_id: Uuid,
    pub deadline: Option<String>,
    pub state: String,
    pub replayed: bool,
}

/// A block that was escalated.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Severity {
    pub run_id: Uuid,
    pub state: String,
    pub severity: Option<String>,
    pub replayed: bool,
}

impl Store {
    /// Begins the work that a leased job is about.
    ///
    /// # Errors
    /// The database's refusal.
    pub async fn fn_work_begin(&self, lease: Lease<'_>) -> Result<Assignment, Error> {
        self.work_begin_signed(lease, None).await
    }

    /// As [`Store::fn_work_begin`], signed: agents sign the claim that it makes.
    ///
    /// # Errors
    /// The database's refusal.
    pub async fn work_begin_signed(
        &self,
        lease: Lease<'_>,
        signed: Option<&Signed>,
    ) -> Result<Assignment, Error> {
        let answer: Value =
            sqlx::query_scalar("select workflow.fn_work_begin($1, $2, $3, $4, $5, $6)")
                .bind(lease.job_id)
                .bind(lease.lease_no)
                .bind(lease.worker)
                .bind(lease.principal)
                .bind(signed.map(|signed| signed.key_id))
                .bind(signed.map(|signed| &signed.signature))
                .fetch_one(&self.pool)
                .await?;
        decode(answer)
    }

    /// Reports on the work, and settles its job with it.
    ///
    /// # Errors
    /// The database's refusal; RE010 when the lease is lost.
    pub async fn fn_work_report(
        &self,
        lease: Lease<'_>,
        report: &WorkReport<'_>,
    ) -> Result<MoveReport, Error> {
        self.work_report_signed(lease, report, None).await
    }

    /// As [`Store::fn_work_report`], signed: agents sign their reports.
    ///
    /// # Errors
    /// The database's refusal; RE010 when the lease is lost.
    pub async fn work_report_signed(
        &self,
        lease: Lease<'_>,
        report: &WorkReport<'_>,
        signed: Option<&Signed>,
    ) -> Result<MoveReport, Error> {
        let answer: Value = sqlx::query_scalar(
            "select workflow.fn_work_report($1, $2, $3, $4, $5, $6, $7, $8, $9)",
        )
        .bind(lease.job_id)
        .bind(lease.lease_no)
        .bind(lease.worker)
        .bind(lease.principal)
        .bind(report.call)
        .bind(report.evidence)
        .bind(report.document)
        .bind(signed.map(|signed| signed.key_id))
        .bind(signed.map(|signed| &signed.signature))
        .fetch_one(&self.pool)
        .await?;
        decode(answer)
    }

    /// Says that a call-back with this digest of its token will come. Gives the id of the wait.
    ///
    /// # Errors
    /// The database's refusal.
    pub async fn fn_callback_issue(
        &self,
        lease: Lease<'_>,
        token_sha256: &[u8],
    ) -> Result<Value, Error> {
        Ok(sqlx::query_scalar("select workflow.fn_callback_issue($1, $2, $3, $4, $5)")
            .bind(lease.job_id)
            .bind(lease.lease_no)
            .bind(lease.worker)
            .bind(lease.principal)
            .bind(token_sha256)
            .fetch_one(&self.pool)
            .await?)
    }

    /// Gives what a step or task waits for.
    ///
    /// # Errors
    /// The database's refusal.
    pub async fn fn_wait_resolve(
        &self,
        wait_id: Uuid,
        proof: &Value,
        principal: &str,
        actor_class: &str,
    ) -> Result<Resolved, Error> {
        let answer: Value = sqlx::query_scalar("select workflow.fn_wait_resolve($1, $2, $3, $4)")
            .bind(wait_id)
            .bind(proof)
            .bind(principal)
            .bind(actor_class)
            .fetch_one(&self.pool)
            .await?;
        decode(answer)
    }

    /// Moves a deadline; `deadline` is RFC 3339.
    ///
    /// # Errors
    /// The database's refusal.
    pub async fn fn_work_extend(
        &self,
        call: &WorkCall<'_>,
        deadline: &str,
    ) -> Result<Extended, Error> {
        let answer: Value = sqlx::query_scalar(
            "select workflow.fn_work_extend($1, $2, $3::timestamptz, $4, $5, $6, $7)",
        )
        .bind(call.run_kind)
        .bind(call.run_id)
        .bind(deadline)
        .bind(call.reason)
        .bind(call.principal)
        .bind(call.actor_class)
        .bind(call.idempotency_key)
        .fetch_one(&self.pool)
        .await?;
        decode(answer)
    }

    /// Says that a block is worse than it looks.
    ///
    /// # Errors
    /// The database's refusal.
    pub async fn fn_step_block_escalate(
        &self,
        call: &WorkCall<'_>,
        approval_id: Option<Uuid>,
    ) -> Result<Severity, Error> {
        let answer: Value = sqlx::query_scalar(
            "select workflow.fn_step_block_escalate($1, $2, $3, $4, $5, $6, $7)",
        )
        .bind(call.run_kind)
        .bind(call.run_id)
        .bind(approval_id)
        .bind(call.reason)
        .bind(call.principal)
        .bind(call.actor_class)
        .bind(call.idempotency_key)
        .fetch_one(&self.pool)
        .await?;
        decode(answer)
    }
}
