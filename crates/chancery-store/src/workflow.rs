//! Workflows: definitions, runs, steps and tasks, and the loops that drive them. Each function has the name of the door it calls.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use crate::fsm::{MoveReport, Signed, decode};
use crate::{Error, Store};

mod graph;
mod loops;
mod notes;
mod pages;
mod proposals;
mod reads;
mod seen;
mod work;

pub use graph::{Definitions, Pictured};
pub use loops::{Fired, Turn};
pub use notes::{NoteRow, Noted};
pub use proposals::{Act, ChangeReport, NewProposal, ProposalReport, Proposed};
pub use reads::{
    ChangeRow, Listing, LoggedMove, ProposalRow, SnapshotRow, VersionRow, WaitRow, Way, WorkRow,
    WorkflowRow, WorkflowRunRow,
};
pub use seen::{PinnedUnit, Seen, SnapshotPart};
pub use work::{Assignment, Extended, Lease, Resolved, Severity, WorkCall, WorkReport};

/// A run that is to begin.
#[derive(Debug, Clone)]
pub struct NewRun<'a> {
    pub workflow_run_id: Uuid,
    pub workflow: &'a str,
    pub inputs: &'a Value,
    /// Names the digest of the inputs.
    pub evidence: &'a Value,
    pub principal: &'a str,
    pub actor_class: &'a str,
    pub idempotency_key: &'a str,
    pub trace_id: Option<&'a str>,
    pub signed: Option<Signed>,
}

/// Where a run stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunReport {
    pub workflow_run_id: Uuid,
    pub workflow: String,
    pub version: i32,
    pub state: String,
    pub seq: i64,
    /// The colour: gray, green, yellow or red.
    pub rollup: String,
    pub frozen_at: Option<String>,
    /// Mandatory steps that are not skipped.
    pub mandatory: i32,
    /// Those of them that are completed.
    pub completed: i32,
    pub decisive_step_run_id: Option<Uuid>,
    pub trace_id: String,
    #[serde(default)]
    pub replayed: bool,
}

/// What a reviewer does to a run.
#[derive(Debug, Clone)]
pub struct RunCall<'a> {
    pub workflow_run_id: Uuid,
    /// `workflow_pause`, `workflow_resume` or `workflow_cancel`.
    pub call: &'a str,
    pub evidence: &'a Value,
    pub principal: &'a str,
    pub actor_class: &'a str,
    pub idempotency_key: &'a str,
    pub reason: Option<&'a str>,
    pub signed: Option<Signed>,
}

impl Store {
    /// Begins a run of the newest version of a workflow.
    ///
    /// # Errors
    /// The database's refusal.
    pub async fn fn_workflow_start(&self, run: &NewRun<'_>) -> Result<RunReport, Error> {
        let answer: Value = sqlx::query_scalar(
            "select workflow.fn_workflow_start($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
        )
        .bind(run.workflow_run_id)
        .bind(run.workflow)
        .bind(run.inputs)
        .bind(run.evidence)
        .bind(run.principal)
        .bind(run.actor_class)
        .bind(run.idempotency_key)
        .bind(run.trace_id)
        .bind(run.signed.as_ref().map(|signed| signed.key_id))
        .bind(run.signed.as_ref().map(|signed| &signed.signature))
        .fetch_one(&self.pool)
        .await?;
        decode(answer)
    }

    /// Puts a run on hold, lets it go on, or calls it off.
    ///
    /// # Errors
    /// The database's refusal.
    pub async fn fn_workflow_move(&self, call: &RunCall<'_>) -> Result<RunReport, Error> {
        let answer: Value = sqlx::query_scalar(
            "select workflow.fn_workflow_move($1, $2, $3, $4, $5, $6, $7, $8, $9)",
        )
        .bind(call.workflow_run_id)
        .bind(call.call)
        .bind(call.evidence)
        .bind(call.principal)
        .bind(call.actor_class)
        .bind(call.idempotency_key)
        .bind(call.reason)
        .bind(call.signed.as_ref().map(|signed| signed.key_id))
        .bind(call.signed.as_ref().map(|signed| &signed.signature))
        .fetch_one(&self.pool)
        .await?;
        decode(answer)
    }

    /// The roll-up of a run, computed from all its steps.
    ///
    /// # Errors
    /// The database's refusal.
    pub async fn fn_workflow_rollup_compute(&self, workflow_run_id: Uuid) -> Result<Value, Error> {
        Ok(sqlx::query_scalar("select workflow.fn_workflow_rollup_compute($1)")
            .bind(workflow_run_id)
            .fetch_one(&self.pool)
            .await?)
    }

    /// Everything that is needed to show a run again.
    ///
    /// # Errors
    /// The database's refusal.
    pub async fn fn_workflow_run_snapshot(&self, workflow_run_id: Uuid) -> Result<Value, Error> {
        Ok(sqlx::query_scalar("select workflow.fn_workflow_run_snapshot($1)")
            .bind(workflow_run_id)
            .fetch_one(&self.pool)
            .await?)
    }

    /// The open steps that something before them holds up, each with what holds it up.
    ///
    /// # Errors
    /// The database's refusal.
    pub async fn fn_workflow_downstream(
        &self,
        workflow_run_id: Uuid,
    ) -> Result<Vec<(Uuid, Uuid)>, Error> {
        Ok(sqlx::query_as(
            "select d.step_run_id, d.held_by from workflow.fn_workflow_downstream($1) d",
        )
        .bind(workflow_run_id)
        .fetch_all(&self.pool)
        .await?)
    }

    /// How bad the block of a step is; nothing when it is not blocked.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn fn_step_blocked_severity(
        &self,
        step_run_id: Uuid,
    ) -> Result<Option<String>, Error> {
        Ok(sqlx::query_scalar("select workflow.fn_step_blocked_severity($1)")
            .bind(step_run_id)
            .fetch_one(&self.pool)
            .await?)
    }

    /// Whether somebody is in charge of a step and can act.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn fn_step_pic_resolves(&self, step_run_id: Uuid) -> Result<bool, Error> {
        Ok(sqlx::query_scalar("select workflow.fn_step_pic_resolves($1)")
            .bind(step_run_id)
            .fetch_one(&self.pool)
            .await?)
    }

    /// Takes a call-back, once, from whoever has its token.
    ///
    /// # Errors
    /// The database's refusal.
    pub async fn fn_callback(&self, token_sha256: &[u8], answer: &Value) -> Result<Value, Error> {
        Ok(sqlx::query_scalar("select workflow.fn_callback($1, $2)")
            .bind(token_sha256)
            .bind(answer)
            .fetch_one(&self.pool)
            .await?)
    }

    /// What a person says about a step or task.
    ///
    /// # Errors
    /// The database's refusal.
    pub async fn fn_work_move(&self, call: &WorkCall<'_>) -> Result<MoveReport, Error> {
        let answer: Value = sqlx::query_scalar(
            "select workflow.fn_work_move($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
        )
        .bind(call.run_kind)
        .bind(call.run_id)
        .bind(call.call)
        .bind(call.evidence)
        .bind(call.document)
        .bind(call.principal)
        .bind(call.actor_class)
        .bind(call.idempotency_key)
        .bind(call.reason)
        .bind(call.signed.as_ref().map(|signed| signed.key_id))
        .bind(call.signed.as_ref().map(|signed| &signed.signature))
        .fetch_one(&self.pool)
        .await?;
        decode(answer)
    }
}
