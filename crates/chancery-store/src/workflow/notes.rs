//! What people and workers note beside their work: checkpoints and comments.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use super::WorkCall;
use crate::fsm::decode;
use crate::{Error, Store};

/// A note that stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Noted {
    pub run_id: Uuid,
    /// Counted for each step or task.
    pub no: i32,
    pub replayed: bool,
}

/// A checkpoint or a comment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NoteRow {
    /// `checkpoint` or `comment`.
    pub kind: String,
    pub no: i32,
    pub principal: String,
    /// The label of a checkpoint, the text of a comment.
    pub text: String,
    /// The facts of a checkpoint.
    pub facts: Option<Value>,
    pub at: String,
}

impl Store {
    /// Notes how far the work has come. The label is the call's reason, the facts are its evidence.
    ///
    /// # Errors
    /// The database's refusal.
    pub async fn fn_task_checkpoint(&self, call: &WorkCall<'_>) -> Result<Noted, Error> {
        let answer: Value =
            sqlx::query_scalar("select workflow.fn_task_checkpoint($1, $2, $3, $4, $5, $6, $7)")
                .bind(call.run_kind)
                .bind(call.run_id)
                .bind(call.reason)
                .bind(call.evidence)
                .bind(call.principal)
                .bind(call.actor_class)
                .bind(call.idempotency_key)
                .fetch_one(&self.pool)
                .await?;
        decode(answer)
    }

    /// Says something about a step or task. The text is the call's reason.
    ///
    /// # Errors
    /// The database's refusal.
    pub async fn fn_task_comment(&self, call: &WorkCall<'_>) -> Result<Noted, Error> {
        let answer: Value =
            sqlx::query_scalar("select workflow.fn_task_comment($1, $2, $3, $4, $5, $6)")
                .bind(call.run_kind)
                .bind(call.run_id)
                .bind(call.reason)
                .bind(call.principal)
                .bind(call.actor_class)
                .bind(call.idempotency_key)
                .fetch_one(&self.pool)
                .await?;
        decode(answer)
    }

    /// Checkpoints and comments of a step or task, in the order they came.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn work_notes(&self, id: Uuid) -> Result<Vec<NoteRow>, Error> {
        let rows: Vec<Value> = sqlx::query_scalar(
            "select to_jsonb(n) from (
               select 'checkpoint' as kind, c.checkpoint_no as no, c.principal, c.label as text, c.facts, c.reached_at as at
                 from workflow.v_task_checkpoints c where c.run_id = $1
               union all
               select 'comment', c.comment_no, c.principal, c.body, null, c.written_at
                 from workflow.v_task_comments c where c.run_id = $1) n
              order by n.at, n.kind, n.no",
        )
        .bind(id)
        .fetch_all(&self.pool)
        .await?;
        rows.into_iter().map(decode).collect()
    }
}
