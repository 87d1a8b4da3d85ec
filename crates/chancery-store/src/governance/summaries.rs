//! What is said in a line about a category or an executor class, with what it rests on.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use super::TimelinePage;
use crate::fsm::decode;
use crate::{Error, Store};

/// From when to when.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Window {
    pub start_at: String,
    pub end_at: String,
}

/// Who made a summary.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GeneratedBy {
    /// `sql_fn`, `ai_agent` or `deterministic_rule`.
    pub summarizer_kind: String,
    pub summarizer_ref: String,
    pub summarizer_version: String,
}

/// A summary with its evidence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    pub summary_id: Uuid,
    /// One of the eight categories, or `executors`.
    pub category: String,
    /// `*` for the whole category, an item of it, or the executor class.
    pub subject: String,
    /// `green`, `yellow` or `red`.
    pub state: String,
    pub text_en: String,
    pub text_vi: String,
    pub facts: Value,
    pub source_event_count: i64,
    pub source_event_total: i64,
    /// The first hundred.
    pub source_event_refs: Vec<String>,
    pub time_window: Window,
    pub generated_by: GeneratedBy,
    pub confidence: Option<f64>,
    /// Its maker is less sure than the setting asks for: shown as such, and it ends no problem.
    pub low_confidence: bool,
    pub trace_id: Option<String>,
    pub prior_summary_id: Option<Uuid>,
    /// The event that ended the problem, where it turned green.
    pub resolved_by: Option<Uuid>,
    pub put_by: String,
    pub created_at: String,
    /// What to ask [`Store::fn_summary_show`] for.
    pub drill_down: Uuid,
}

/// A summary and what happened to what it rests on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SummaryShown {
    #[serde(flatten)]
    pub summary: Summary,
    pub timeline: TimelinePage,
}

/// What one pass of the built-in summarizers did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summaries {
    pub written: i64,
    /// Summaries that turned green without the event of an end; each is a finding.
    pub found: i64,
}

impl Store {
    /// Puts a summary. What is sent twice with one key stands once.
    ///
    /// # Errors
    /// `Refused` with the problem; then nothing changed.
    pub async fn fn_summary_put(
        &self,
        put: &Value,
        principal: &str,
        idempotency_key: &str,
    ) -> Result<Summary, Error> {
        let report: Value = sqlx::query_scalar("select governance.fn_summary_put($1, $2, $3)")
            .bind(put)
            .bind(principal)
            .bind(idempotency_key)
            .fetch_one(&self.pool)
            .await?;
        decode(report)
    }

    /// The newest summary of every subject, red first.
    ///
    /// # Errors
    /// `Refused` when the reader may not see problems, or there is no such category.
    pub async fn fn_summary_list(
        &self,
        reader: &str,
        category: Option<&str>,
    ) -> Result<Vec<Summary>, Error> {
        let rows: Value = sqlx::query_scalar(limited!("$3", "governance.fn_summary_list($1, $2)"))
            .bind(reader)
            .bind(category)
            .bind(self.limit())
            .fetch_one(&self.pool)
            .await?;
        decode(rows)
    }

    /// A summary with the timeline of what it rests on.
    ///
    /// # Errors
    /// `Refused` when there is none, or the reader may not see it.
    pub async fn fn_summary_show(
        &self,
        reader: &str,
        summary_id: Uuid,
        after: Option<&str>,
        limit: Option<i32>,
    ) -> Result<SummaryShown, Error> {
        let shown: Value =
            sqlx::query_scalar(limited!("$5", "governance.fn_summary_show($1, $2, $3, $4)"))
                .bind(reader)
                .bind(summary_id)
                .bind(after)
                .bind(limit)
                .bind(self.limit())
                .fetch_one(&self.pool)
                .await?;
        decode(shown)
    }

    /// Writes the summaries that have something new to say, and looks for those that nothing explains.
    ///
    /// # Errors
    /// `Refused` with the problem; then nothing changed.
    pub async fn fn_summaries_run(&self, principal: &str) -> Result<Summaries, Error> {
        let report: Value = sqlx::query_scalar("select governance.fn_summaries_run($1)")
            .bind(principal)
            .fetch_one(&self.pool)
            .await?;
        decode(report)
    }
}
