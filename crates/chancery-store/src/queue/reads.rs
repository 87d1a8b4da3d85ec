//! What the queue looks like.

use serde::Deserialize;
use serde_json::Value;
use uuid::Uuid;

use super::{
    DeadLetterRow, DepthRow, ExecutorClass, JobFilter, JobRow, ReplayRequest, RetryPolicy,
};
use crate::fsm::decode;
use crate::page::After;
use crate::{Error, Store};

impl Store {
    /// Jobs, the newest first.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn jobs(&self, filter: &JobFilter) -> Result<Vec<JobRow>, Error> {
        self.queue_rows(
            "select to_jsonb(v) from queue.v_job v
              where ($1::text is null or v.executor_class = $1) and ($2::text is null or v.state = $2)
              order by v.job_no desc limit $3",
            filter.executor_class.as_deref(),
            filter.state.as_deref(),
            filter.limit,
        )
        .await
    }

    /// One job, wherever it is.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn job(&self, job_id: Uuid) -> Result<Option<JobRow>, Error> {
        let row: Option<Value> =
            sqlx::query_scalar("select to_jsonb(v) from queue.v_job v where v.job_id = $1")
                .bind(job_id)
                .fetch_optional(&self.pool)
                .await?;
        row.map(decode).transpose()
    }

    /// Dead letters, the newest first; `state` is `dead_letter` for those that nobody settled.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn dead_letters(&self, filter: &JobFilter) -> Result<Vec<DeadLetterRow>, Error> {
        self.queue_rows(
            "select to_jsonb(v) || jsonb_build_object('payload', v.payload::jsonb, 'story', v.story::jsonb, 'state', j.state)
               from queue.v_job_dead_letter v join queue.v_logged_job j using (job_id)
              where ($1::text is null or v.executor_class = $1) and ($2::text is null or j.state = $2)
              order by v.died_at desc limit $3",
            filter.executor_class.as_deref(),
            filter.state.as_deref(),
            filter.limit,
        )
        .await
    }

    /// A page of dead letters, the newest first.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn dead_letter_page(
        &self,
        class: Option<&str>,
        state: Option<&str>,
        after: Option<&After>,
        limit: i64,
    ) -> Result<Vec<DeadLetterRow>, Error> {
        let text = "select to_jsonb(v) || jsonb_build_object('payload', v.payload::jsonb, 'story', v.story::jsonb, 'state', j.state)
               from queue.v_job_dead_letter v join queue.v_logged_job j using (job_id)
              where ($1::text is null or v.executor_class = $1) and ($2::text is null or j.state = $2)
                and ($3::timestamptz is null or (v.died_at, v.job_id) < ($3::timestamptz, $4))
              order by v.died_at desc, v.job_id desc limit $5";
        self.paged(text, [class, state], after, limit).await
    }

    /// How deep the queue is.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn queue_depth(&self) -> Result<Vec<DepthRow>, Error> {
        let answer: Value = sqlx::query_scalar(
            "select coalesce(jsonb_agg(to_jsonb(v) order by v.executor_class, v.state), '[]') from queue.v_queue_depth v",
        )
        .fetch_one(&self.pool)
        .await?;
        decode(answer)
    }

    /// Executor classes with their policies.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn executor_classes(&self) -> Result<Vec<ExecutorClass>, Error> {
        let answer: Value = sqlx::query_scalar(
            "select coalesce(jsonb_agg(to_jsonb(v) order by v.executor_class), '[]') from queue.v_executor_class v",
        )
        .fetch_one(&self.pool)
        .await?;
        decode(answer)
    }

    /// Retry policies, also those that no class has.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn retry_policies(&self) -> Result<Vec<RetryPolicy>, Error> {
        let answer: Value = sqlx::query_scalar(
            "select coalesce(jsonb_agg(to_jsonb(v) order by v.policy), '[]') from queue.v_retry_policy v",
        )
        .fetch_one(&self.pool)
        .await?;
        decode(answer)
    }

    /// One dead letter.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn dead_letter(&self, job_id: Uuid) -> Result<Option<DeadLetterRow>, Error> {
        let row: Option<Value> = sqlx::query_scalar(
            "select to_jsonb(v) || jsonb_build_object('payload', v.payload::jsonb, 'story', v.story::jsonb, 'state', j.state)
               from queue.v_job_dead_letter v join queue.v_logged_job j using (job_id) where v.job_id = $1",
        )
        .bind(job_id)
        .fetch_optional(&self.pool)
        .await?;
        row.map(decode).transpose()
    }

    /// What the log has of a job or of a request: its death, and what people did.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn queue_history(&self, id: Uuid) -> Result<Vec<Value>, Error> {
        Ok(sqlx::query_scalar(
            "select to_jsonb(v) from queue.v_history v where v.run_id = $1 order by v.seq",
        )
        .bind(id)
        .fetch_all(&self.pool)
        .await?)
    }

    /// A batch of replays as it stands.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn replay_batch(&self, batch_id: Uuid) -> Result<Vec<ReplayRequest>, Error> {
        let answer: Value = sqlx::query_scalar(
            "select coalesce(jsonb_agg(jsonb_build_object(
                      'dlq_replay_request_id', v.dlq_replay_request_id, 'job_id', v.job_id, 'state', v.proposal_state,
                      'approval_id', v.approval_id, 'replay_job_id', v.replay_job_id, 'outcome', v.outcome_jsonb) order by v.batch_no), '[]')
               from queue.v_dlq_replay_request v where v.batch_id = $1",
        )
        .bind(batch_id)
        .fetch_one(&self.pool)
        .await?;
        decode(answer)
    }

    async fn queue_rows<T: for<'de> Deserialize<'de>>(
        &self,
        query: &'static str,
        class: Option<&str>,
        state: Option<&str>,
        limit: i64,
    ) -> Result<Vec<T>, Error> {
        let rows: Vec<Value> = sqlx::query_scalar(query)
            .bind(class)
            .bind(state)
            .bind(limit)
            .fetch_all(&self.pool)
            .await?;
        rows.into_iter().map(decode).collect()
    }
}
