//! Proposals: changes of workflows, and everything else that is not changed without being asked for.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use crate::fsm::{Signed, decode};
use crate::{Error, Store};

/// Who does something to a proposal, and how.
#[derive(Debug, Clone)]
pub struct Act<'a> {
    /// `workflow_change` or `proposal`.
    pub run_kind: &'a str,
    pub run_id: Uuid,
    /// `propose`, `submit`, `withdraw` or `merge`.
    pub call: &'a str,
    pub evidence: &'a Value,
    pub principal: &'a str,
    pub actor_class: &'a str,
    pub idempotency_key: &'a str,
    pub reason: Option<&'a str>,
    pub signed: Option<Signed>,
}

/// Where a change of a workflow stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeReport {
    pub change_request_id: Uuid,
    pub workflow: String,
    pub base_version: Option<i32>,
    pub state: String,
    pub revision_no: i32,
    pub definition_sha256: String,
    pub approval_id: Option<Uuid>,
    pub merged_version: Option<i32>,
    pub proposer: String,
    pub title: String,
    #[serde(default)]
    pub replayed: bool,
}

/// A proposal that is not about a workflow.
#[derive(Debug, Clone)]
pub struct NewProposal<'a> {
    /// One of the vocabulary, such as `iu_split`.
    pub kind: &'a str,
    /// What kind of proposer it is, such as `kg_feedback`.
    pub proposer_class: &'a str,
    pub title: &'a str,
    pub affected_iu_ids: &'a [Uuid],
    pub action: &'a Value,
    /// What it rests on: `[{"kind": …, "facts": {…}, "iu_id": …}]`.
    pub usage: &'a Value,
}

/// Where a proposal that is not about a workflow stands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProposalReport {
    pub proposal_id: Uuid,
    pub kind: String,
    pub state: String,
    pub title: String,
    pub proposer: String,
    pub action_sha256: String,
    pub approval_id: Option<Uuid>,
    pub outcome: Option<Value>,
    #[serde(default)]
    pub replayed: bool,
}

/// Where a proposal of either kind stands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Proposed {
    Change(ChangeReport),
    Other(ProposalReport),
}

impl Store {
    /// Writes a change of a workflow, or a new one, as a draft.
    ///
    /// # Errors
    /// The database's refusal; RW003 says what is wrong with the definition.
    pub async fn fn_workflow_propose(
        &self,
        act: &Act<'_>,
        definition: &Value,
        title: &str,
    ) -> Result<ChangeReport, Error> {
        let answer: Value = sqlx::query_scalar(
            "select workflow.fn_workflow_propose($1, $2, $3, $4, $5, $6, $7, $8, $9)",
        )
        .bind(act.run_id)
        .bind(definition)
        .bind(title)
        .bind(act.principal)
        .bind(act.actor_class)
        .bind(act.idempotency_key)
        .bind(act.evidence)
        .bind(act.signed.as_ref().map(|signed| signed.key_id))
        .bind(act.signed.as_ref().map(|signed| &signed.signature))
        .fetch_one(&self.pool)
        .await?;
        decode(answer)
    }

    /// Hands a proposal in, or takes it back.
    ///
    /// # Errors
    /// The database's refusal.
    pub async fn fn_proposal_move(&self, act: &Act<'_>) -> Result<Proposed, Error> {
        let answer: Value = sqlx::query_scalar(
            "select workflow.fn_proposal_move($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
        )
        .bind(act.run_kind)
        .bind(act.run_id)
        .bind(act.call)
        .bind(act.evidence)
        .bind(act.principal)
        .bind(act.actor_class)
        .bind(act.idempotency_key)
        .bind(act.reason)
        .bind(act.signed.as_ref().map(|signed| signed.key_id))
        .bind(act.signed.as_ref().map(|signed| &signed.signature))
        .fetch_one(&self.pool)
        .await?;
        decode(answer)
    }

    /// Brings a proposal to where the votes about it say.
    ///
    /// # Errors
    /// The database's refusal.
    pub async fn fn_proposal_settle(
        &self,
        run_kind: &str,
        run_id: Uuid,
    ) -> Result<Proposed, Error> {
        let answer: Value = sqlx::query_scalar("select workflow.fn_proposal_settle($1, $2)")
            .bind(run_kind)
            .bind(run_id)
            .fetch_one(&self.pool)
            .await?;
        decode(answer)
    }

    /// Makes an approved definition the newest version of its workflow.
    ///
    /// # Errors
    /// The database's refusal; RW004 when somebody else's merge came first.
    pub async fn fn_workflow_merge(&self, act: &Act<'_>) -> Result<ChangeReport, Error> {
        let answer: Value =
            sqlx::query_scalar("select workflow.fn_workflow_merge($1, $2, $3, $4, $5, $6, $7)")
                .bind(act.run_id)
                .bind(act.evidence)
                .bind(act.principal)
                .bind(act.actor_class)
                .bind(act.idempotency_key)
                .bind(act.signed.as_ref().map(|signed| signed.key_id))
                .bind(act.signed.as_ref().map(|signed| &signed.signature))
                .fetch_one(&self.pool)
                .await?;
        decode(answer)
    }

    /// What a change request changes, by meaning.
    ///
    /// # Errors
    /// The database's refusal.
    pub async fn fn_workflow_change_diff(&self, change_request_id: Uuid) -> Result<Value, Error> {
        Ok(sqlx::query_scalar("select workflow.fn_workflow_change_diff($1)")
            .bind(change_request_id)
            .fetch_one(&self.pool)
            .await?)
    }

    /// Writes a proposal that is not about a workflow.
    ///
    /// # Errors
    /// The database's refusal.
    pub async fn fn_proposal_create(
        &self,
        act: &Act<'_>,
        proposal: &NewProposal<'_>,
    ) -> Result<ProposalReport, Error> {
        let answer: Value = sqlx::query_scalar(
            "select governance.fn_proposal_create($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)",
        )
        .bind(act.run_id)
        .bind(proposal.kind)
        .bind(proposal.proposer_class)
        .bind(proposal.title)
        .bind(proposal.affected_iu_ids)
        .bind(proposal.action)
        .bind(proposal.usage)
        .bind(act.evidence)
        .bind(act.principal)
        .bind(act.actor_class)
        .bind(act.idempotency_key)
        .bind(act.signed.as_ref().map(|signed| signed.key_id))
        .bind(act.signed.as_ref().map(|signed| &signed.signature))
        .fetch_one(&self.pool)
        .await?;
        decode(answer)
    }

    /// Records that what was approved is done, with what came of it.
    ///
    /// # Errors
    /// The database's refusal.
    pub async fn fn_proposal_carry_out(
        &self,
        act: &Act<'_>,
        outcome: &Value,
    ) -> Result<ProposalReport, Error> {
        let answer: Value = sqlx::query_scalar(
            "select governance.fn_proposal_carry_out($1, $2, $3, $4, $5, $6, $7, $8)",
        )
        .bind(act.run_id)
        .bind(outcome)
        .bind(act.evidence)
        .bind(act.principal)
        .bind(act.actor_class)
        .bind(act.idempotency_key)
        .bind(act.signed.as_ref().map(|signed| signed.key_id))
        .bind(act.signed.as_ref().map(|signed| &signed.signature))
        .fetch_one(&self.pool)
        .await?;
        decode(answer)
    }
}
