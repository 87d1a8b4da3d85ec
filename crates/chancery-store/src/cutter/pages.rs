//! Requests to cut, in pages.

use serde_json::Value;
use uuid::Uuid;

use super::EntryRow;
use crate::access::Action;
use crate::fsm::{ISO, decode};
use crate::page::After;
use crate::{Error, Store};

/// Which requests.
#[derive(Debug, Clone, Default)]
pub struct EntryPage {
    pub status: Option<String>,
    pub document_id: Option<String>,
    pub after: Option<After>,
    pub limit: i64,
}

impl Store {
    /// Requests to cut, the newest first.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn entries_page(&self, page: &EntryPage) -> Result<Vec<EntryRow>, Error> {
        let rows: Vec<Value> = sqlx::query_scalar(
            "select to_jsonb(e) - 'facet' - 'head_hash' - 'row_digest' || jsonb_build_object(
                      'payload', e.payload::jsonb, 'emitted_at', to_char(e.emitted_at at time zone 'UTC', $1),
                      'last_transition_at', to_char(e.last_transition_at at time zone 'UTC', $1))
               from cutter_governance.v_decision_backlog_entry e
              where ($2::text is null or e.status = $2) and ($3::text is null or e.document_id = $3)
                and ($4::text is null or (e.emitted_at, e.entry_id) < ($4::text::timestamptz, $5))
              order by e.emitted_at desc, e.entry_id desc limit $6",
        )
        .bind(ISO)
        .bind(&page.status)
        .bind(&page.document_id)
        .bind(page.after.as_ref().map(|after| &after.at))
        .bind(page.after.as_ref().map(|after| after.id))
        .bind(page.limit)
        .fetch_all(&self.pool)
        .await?;
        rows.into_iter().map(decode).collect()
    }

    /// The keys of the moves of a request.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn entry_keys(&self, entry_id: Uuid) -> Result<Vec<String>, Error> {
        Ok(sqlx::query_scalar(
            "select l.idempotency_key from fsm.v_transition_log l where l.run_id = $1 order by l.seq",
        )
        .bind(entry_id)
        .fetch_all(&self.pool)
        .await?)
    }

    /// What can be done to a request, and whether the reader may.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn fn_entry_actions(
        &self,
        entry_id: Uuid,
        reader: &str,
    ) -> Result<Vec<Action>, Error> {
        let actions: Value =
            sqlx::query_scalar("select cutter_governance.fn_entry_actions($1, $2)")
                .bind(entry_id)
                .bind(reader)
                .fetch_one(&self.pool)
                .await?;
        decode(actions)
    }
}
