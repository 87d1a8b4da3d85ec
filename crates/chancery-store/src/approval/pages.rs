//! Requests for approval in pages, and what waits for somebody.

use serde_json::Value;
use uuid::Uuid;

use super::ApprovalRow;
use crate::access::Action;
use crate::fsm::{ISO, decode};
use crate::page::After;
use crate::{Error, Store};

/// Which requests.
#[derive(Debug, Clone, Default)]
pub struct ApprovalPage {
    pub state: Option<String>,
    pub kind: Option<String>,
    pub subject_ref: Option<String>,
    /// Only those that this reader can vote on.
    pub decidable_by: Option<String>,
    pub after: Option<After>,
    pub limit: i64,
}

impl Store {
    /// Requests, the newest first.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn approvals_page(&self, page: &ApprovalPage) -> Result<Vec<ApprovalRow>, Error> {
        let rows: Vec<Value> = sqlx::query_scalar(approval!(
            "$1",
            " where ($2::text is null or v.report ->> 'state' = $2) and ($3::text is null or r.kind = $3)
                and ($4::text is null or r.subject_ref = $4)
                and ($5::text is null or exists (
                       select from jsonb_array_elements(approval.fn_approval_actions(r.approval_id, $5)) a where a -> 'allowed' = 'true'))
                and ($6::text is null or (r.requested_at, r.approval_id) < ($6::text::timestamptz, $7))
              order by r.requested_at desc, r.approval_id desc limit $8"
        ))
        .bind(ISO)
        .bind(&page.state)
        .bind(&page.kind)
        .bind(&page.subject_ref)
        .bind(&page.decidable_by)
        .bind(page.after.as_ref().map(|after| &after.at))
        .bind(page.after.as_ref().map(|after| after.id))
        .bind(page.limit)
        .fetch_all(&self.pool)
        .await?;
        rows.into_iter().map(decode).collect()
    }

    /// The votes that a reader could cast, and whether they may.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn fn_approval_actions(
        &self,
        approval_id: Uuid,
        reader: &str,
    ) -> Result<Vec<Action>, Error> {
        let actions: Value =
            sqlx::query_scalar(limited!("$3", "approval.fn_approval_actions($1, $2)"))
                .bind(approval_id)
                .bind(reader)
                .bind(self.limit())
                .fetch_one(&self.pool)
                .await?;
        decode(actions)
    }

    /// What waits for a reader, and what is open and not theirs to decide; at most so many of each.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn fn_inbox(&self, reader: &str, limit: i32) -> Result<Value, Error> {
        Ok(sqlx::query_scalar(limited!("$3", "approval.fn_inbox($1, $2)"))
            .bind(reader)
            .bind(limit)
            .bind(self.limit())
            .fetch_one(&self.pool)
            .await?)
    }
}
