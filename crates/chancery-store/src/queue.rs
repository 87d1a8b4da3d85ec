//! Jobs: enqueue, lease, report, and what becomes of dead ones. Each function has the name of the door it calls.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sqlx::Row as _;
use sqlx::postgres::PgRow;
use uuid::Uuid;

use crate::fsm::{Signed, decode};
use crate::{Error, Store};

/// A job that is to be done.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewJob {
    /// The executor class that can do it.
    pub class: String,
    pub kind: String,
    /// The same key in a class is the same job.
    pub key: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload_ref: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_ref: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_ref: Option<String>,
    /// Lower numbers go first; 100 when it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<i32>,
    /// Not before, RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_at: Option<String>,
    /// Not before so many milliseconds from now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay_ms: Option<i64>,
    /// The policy of the class says it when it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_attempts: Option<i32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correlation_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub causation_event_id: Option<Uuid>,
}

/// A job as the queue took it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Enqueued {
    pub job_id: Uuid,
    pub key: String,
    /// It was there before.
    pub replayed: bool,
}

/// A job that a worker has, until its lease runs out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LeasedJob {
    pub job_id: Uuid,
    /// The order in which jobs came.
    pub job_no: i64,
    /// The fencing token: a result must bring it.
    pub lease_no: i32,
    pub job_kind: String,
    pub attempt: i32,
    pub payload: Value,
    pub payload_ref: Option<String>,
    pub source_ref: Option<String>,
    pub target_ref: Option<String>,
    pub trace_id: String,
    pub correlation_id: String,
    /// Microseconds since 1970, by the clock of the database.
    pub lease_until: i64,
}

/// How a try ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobOutcome {
    Succeeded,
    /// It may be tried again, as the policy says.
    Failed,
    /// Trying again would not help.
    FailedForGood,
}

impl JobOutcome {
    /// The word of the database.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::FailedForGood => "failed_for_good",
        }
    }
}

/// What a worker reports on a job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JobResult {
    pub job_id: Uuid,
    pub lease_no: i32,
    pub outcome: JobOutcome,
    /// What came of it, or `{"reason": …}`.
    pub detail: Value,
}

/// A result that was not taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LateResult {
    pub job_id: Uuid,
    pub lease_no: i32,
    pub code: String,
    pub problem: String,
    /// What the job is in now; null when there is no such job.
    pub state: Option<String>,
    pub newest_lease_no: Option<i32>,
}

/// What became of a batch of results.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AckReport {
    pub accepted: u64,
    /// Reported before, and taken then.
    pub replayed: u64,
    pub refused: Vec<LateResult>,
}

/// A job as it stands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JobRow {
    pub job_id: Uuid,
    pub executor_class: String,
    pub job_kind: String,
    pub state: String,
    pub priority: i32,
    pub scheduled_at: Option<String>,
    pub lease_no: i32,
    pub lease_owner: Option<String>,
    pub lease_until: Option<String>,
    pub attempts: i32,
    pub max_attempts: Option<i32>,
    pub payload_json: Value,
    pub payload_ref: Option<String>,
    pub source_ref: Option<String>,
    pub target_ref: Option<String>,
    pub idempotency_key: String,
    pub replay_request_id: Option<Uuid>,
    pub failures: Value,
    pub result: Option<Value>,
    pub started_by: String,
    pub trace_id: String,
    pub correlation_id: String,
    pub created_at: String,
    pub finished_at: Option<String>,
}

/// A dead letter as it stands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DeadLetterRow {
    pub job_id: Uuid,
    pub executor_class: String,
    pub job_kind: String,
    /// `dead_letter`, or `cleaned` when it is settled.
    pub state: String,
    pub classification: String,
    pub reason: String,
    pub attempts: i32,
    pub payload: Value,
    pub story: Value,
    pub idempotency_key: String,
    pub trace_id: String,
    pub died_at: String,
}

/// How many jobs of a class stand in a state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DepthRow {
    pub executor_class: String,
    pub state: String,
    pub jobs: i64,
}

/// An executor class with its policy.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExecutorClass {
    pub executor_class: String,
    pub active: bool,
    pub lease_seconds: i32,
    pub max_payload_bytes: i32,
    pub description: String,
    pub policy: String,
    pub max_attempts: i32,
    pub base_delay_ms: i64,
    pub factor: f64,
    pub max_delay_ms: i64,
    pub jitter: f64,
}

/// Which jobs are listed.
#[derive(Debug, Clone, Default)]
pub struct JobFilter {
    pub executor_class: Option<String>,
    pub state: Option<String>,
    pub limit: i64,
}

/// One request of a batch of replays.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReplayRequest {
    pub dlq_replay_request_id: Uuid,
    pub job_id: Uuid,
    pub state: String,
    pub approval_id: Option<Uuid>,
    pub replay_job_id: Option<Uuid>,
    pub outcome: Option<Value>,
}

/// A batch of replays.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReplayBatch {
    pub batch_id: Uuid,
    /// What its approval must be about, in hex.
    pub subject_digest: String,
    pub requests: Vec<ReplayRequest>,
    #[serde(default)]
    pub replayed: bool,
}

/// What a person does to one job: cancel it, set its letter aside, withdraw a proposal.
#[derive(Debug, Clone)]
pub struct JobMove {
    /// The job, or the request.
    pub id: Uuid,
    pub reason: String,
    pub actor_class: String,
    pub principal: String,
    pub idempotency_key: String,
    pub signed: Option<Signed>,
}

/// A batch of replays that is to be proposed.
#[derive(Debug, Clone)]
pub struct ReplayProposal {
    pub batch_id: Uuid,
    pub job_ids: Vec<Uuid>,
    pub reason: String,
    pub stagger_ms: i32,
    pub actor_class: String,
    pub principal: String,
    pub key_id: Option<Uuid>,
    /// One a job, in their order.
    pub signatures: Option<Vec<Vec<u8>>>,
}

impl Store {
    /// Puts jobs into the queue, all or none.
    ///
    /// # Errors
    /// The database's refusal.
    pub async fn fn_job_enqueue(
        &self,
        jobs: &[NewJob],
        principal: &str,
        actor_class: &str,
    ) -> Result<Vec<Enqueued>, Error> {
        let answer: Value = sqlx::query_scalar("select queue.fn_job_enqueue($1, $2, $3) -> 'jobs'")
            .bind(sqlx::types::Json(jobs))
            .bind(principal)
            .bind(actor_class)
            .fetch_one(&self.pool)
            .await?;
        decode(answer)
    }

    /// Leases up to so many due jobs to a worker, in the order in which they came.
    ///
    /// # Errors
    /// The database's refusal.
    pub async fn fn_job_claim(
        &self,
        class: &str,
        limit: i32,
        worker: &str,
        principal: &str,
    ) -> Result<Vec<LeasedJob>, Error> {
        let rows = sqlx::query(CLAIM)
            .bind(class)
            .bind(limit)
            .bind(worker)
            .bind(principal)
            .fetch_all(&self.pool)
            .await?;
        in_order(rows.iter().map(leased))
    }

    /// Reports on jobs.
    ///
    /// # Errors
    /// The database's refusal of the whole batch; late results are part of the report.
    pub async fn fn_job_ack(
        &self,
        worker: &str,
        principal: &str,
        results: &[JobResult],
    ) -> Result<AckReport, Error> {
        let columns = Columns::of(results);
        let answer: Value = sqlx::query_scalar("select queue.fn_job_ack($1, $2, $3, $4, $5, $6)")
            .bind(worker)
            .bind(principal)
            .bind(columns.job_ids)
            .bind(columns.lease_nos)
            .bind(columns.outcomes)
            .bind(columns.details)
            .fetch_one(&self.pool)
            .await?;
        decode(answer)
    }

    /// Reports on jobs and leases the next ones, in one transaction.
    ///
    /// # Errors
    /// The database's refusal; then neither happened.
    pub async fn fn_job_turn(
        &self,
        class: &str,
        limit: i32,
        worker: &str,
        principal: &str,
        results: &[JobResult],
    ) -> Result<(AckReport, Vec<LeasedJob>), Error> {
        let columns = Columns::of(results);
        let rows = sqlx::query(TURN)
            .bind(class)
            .bind(limit)
            .bind(worker)
            .bind(principal)
            .bind(columns.job_ids)
            .bind(columns.lease_nos)
            .bind(columns.outcomes)
            .bind(columns.details)
            .fetch_all(&self.pool)
            .await?;
        let (first, rest) = rows
            .split_first()
            .ok_or_else(|| Error::Schema("a turn without a report".to_owned()))?;
        let report = decode(first.try_get("report")?)?;
        Ok((report, in_order(rest.iter().map(leased))?))
    }

    /// Keeps leases for as long again; what is missing in the answer was lost.
    ///
    /// # Errors
    /// The database's refusal.
    pub async fn fn_job_extend(
        &self,
        worker: &str,
        principal: &str,
        leases: &[(Uuid, i32)],
    ) -> Result<Vec<Uuid>, Error> {
        let (job_ids, lease_nos): (Vec<Uuid>, Vec<i32>) = leases.iter().copied().unzip();
        Ok(sqlx::query_scalar("select queue.fn_job_extend($1, $2, $3, $4)")
            .bind(worker)
            .bind(principal)
            .bind(job_ids)
            .bind(lease_nos)
            .fetch_one(&self.pool)
            .await?)
    }

    /// Gives jobs back that were not started.
    ///
    /// # Errors
    /// The database's refusal.
    pub async fn fn_job_release(
        &self,
        worker: &str,
        principal: &str,
        leases: &[(Uuid, i32)],
    ) -> Result<i32, Error> {
        let (job_ids, lease_nos): (Vec<Uuid>, Vec<i32>) = leases.iter().copied().unzip();
        Ok(sqlx::query_scalar("select queue.fn_job_release($1, $2, $3, $4)")
            .bind(worker)
            .bind(principal)
            .bind(job_ids)
            .bind(lease_nos)
            .fetch_one(&self.pool)
            .await?)
    }

    /// Takes a job back before it is done.
    ///
    /// # Errors
    /// The database's refusal.
    pub async fn fn_job_cancel(&self, cancel: &JobMove) -> Result<Value, Error> {
        self.job_move("select queue.fn_job_cancel($1, $2, $3, $4, $5, $6, $7)", cancel).await
    }

    /// Sets a dead letter aside.
    ///
    /// # Errors
    /// The database's refusal.
    pub async fn fn_dead_letter_dismiss(&self, dismiss: &JobMove) -> Result<Value, Error> {
        self.job_move("select queue.fn_dead_letter_dismiss($1, $2, $3, $4, $5, $6, $7)", dismiss)
            .await
    }

    /// Takes a proposal to replay back.
    ///
    /// # Errors
    /// The database's refusal.
    pub async fn fn_dlq_replay_withdraw(&self, withdraw: &JobMove) -> Result<Value, Error> {
        self.job_move("select queue.fn_dlq_replay_withdraw($1, $2, $3, $4, $5, $6, $7)", withdraw)
            .await
    }

    async fn job_move(&self, door: &'static str, request: &JobMove) -> Result<Value, Error> {
        Ok(sqlx::query_scalar(door)
            .bind(request.id)
            .bind(&request.reason)
            .bind(&request.actor_class)
            .bind(&request.principal)
            .bind(&request.idempotency_key)
            .bind(request.signed.as_ref().map(|signed| signed.key_id))
            .bind(request.signed.as_ref().map(|signed| signed.signature.clone()))
            .fetch_one(&self.pool)
            .await?)
    }

    /// What a replay would run, and what stands against it.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn fn_dlq_replay_preview(
        &self,
        batch_id: Uuid,
        job_ids: &[Uuid],
        stagger_ms: i32,
    ) -> Result<Vec<Value>, Error> {
        let answer: Value = sqlx::query_scalar("select queue.fn_dlq_replay_preview($1, $2, $3)")
            .bind(batch_id)
            .bind(job_ids)
            .bind(stagger_ms)
            .fetch_one(&self.pool)
            .await?;
        decode(answer)
    }

    /// Proposes to run dead jobs again.
    ///
    /// # Errors
    /// The database's refusal.
    pub async fn fn_dlq_replay_propose(
        &self,
        proposal: &ReplayProposal,
    ) -> Result<ReplayBatch, Error> {
        let answer: Value = sqlx::query_scalar(
            "select queue.fn_dlq_replay_propose($1, $2, $3, $4, $5, $6, $7, $8)",
        )
        .bind(proposal.batch_id)
        .bind(&proposal.job_ids)
        .bind(&proposal.reason)
        .bind(proposal.stagger_ms)
        .bind(&proposal.actor_class)
        .bind(&proposal.principal)
        .bind(proposal.key_id)
        .bind(&proposal.signatures)
        .fetch_one(&self.pool)
        .await?;
        decode(answer)
    }

    /// Runs an approved batch of dead jobs again.
    ///
    /// # Errors
    /// The database's refusal.
    pub async fn fn_dlq_replay(
        &self,
        batch_id: Uuid,
        approval_id: Uuid,
        actor_class: &str,
        principal: &str,
    ) -> Result<ReplayBatch, Error> {
        let answer: Value = sqlx::query_scalar("select queue.fn_dlq_replay($1, $2, $3, $4)")
            .bind(batch_id)
            .bind(approval_id)
            .bind(actor_class)
            .bind(principal)
            .fetch_one(&self.pool)
            .await?;
        decode(answer)
    }

    /// Puts a retry policy into the registry.
    ///
    /// # Errors
    /// The database's refusal.
    #[expect(clippy::too_many_arguments, reason = "one for each column")]
    pub async fn fn_retry_policy_put(
        &self,
        policy: &str,
        max_attempts: i32,
        base_delay_ms: i64,
        factor: f64,
        max_delay_ms: i64,
        jitter: f64,
        description: &str,
    ) -> Result<Value, Error> {
        Ok(sqlx::query_scalar(
            "select queue.fn_retry_policy_put($1, $2, $3, $4::numeric, $5, $6::numeric, $7)",
        )
        .bind(policy)
        .bind(max_attempts)
        .bind(base_delay_ms)
        .bind(factor)
        .bind(max_delay_ms)
        .bind(jitter)
        .bind(description)
        .fetch_one(&self.pool)
        .await?)
    }

    /// Puts an executor class into the registry.
    ///
    /// # Errors
    /// The database's refusal.
    pub async fn fn_executor_class_put(
        &self,
        class: &str,
        policy: &str,
        lease_seconds: i32,
        max_payload_bytes: i32,
        active: bool,
        description: &str,
    ) -> Result<Value, Error> {
        Ok(sqlx::query_scalar("select queue.fn_executor_class_put($1, $2, $3, $4, $5, $6)")
            .bind(class)
            .bind(policy)
            .bind(lease_seconds)
            .bind(max_payload_bytes)
            .bind(active)
            .bind(description)
            .fetch_one(&self.pool)
            .await?)
    }

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
            "select to_jsonb(v) || jsonb_build_object('payload', v.payload::jsonb, 'story', v.story::jsonb)
               from queue.v_job_dead_letter v
              where ($1::text is null or v.executor_class = $1) and ($2::text is null or v.state = $2)
              order by v.died_at desc limit $3",
            filter.executor_class.as_deref(),
            filter.state.as_deref(),
            filter.limit,
        )
        .await
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

const CLAIM: &str = "select job_id, job_no, lease_no, job_kind, attempt, payload_json, payload_ref, source_ref, target_ref, trace_id,
        correlation_id, (extract(epoch from lease_until) * 1000000)::bigint as lease_until
   from queue.fn_job_claim($1, $2, $3, $4)";
const TURN: &str = "select job_id, job_no, lease_no, job_kind, attempt, payload_json, payload_ref, source_ref, target_ref, trace_id,
        correlation_id, (extract(epoch from lease_until) * 1000000)::bigint as lease_until, report
   from queue.fn_job_turn($1, $2, $3, $4, $5, $6, $7, $8)";

/// Results as the door takes them: a list a column.
struct Columns<'a> {
    job_ids: Vec<Uuid>,
    lease_nos: Vec<i32>,
    outcomes: Vec<&'static str>,
    details: Vec<&'a Value>,
}

impl<'a> Columns<'a> {
    fn of(results: &'a [JobResult]) -> Self {
        Self {
            job_ids: results.iter().map(|result| result.job_id).collect(),
            lease_nos: results.iter().map(|result| result.lease_no).collect(),
            outcomes: results.iter().map(|result| result.outcome.as_str()).collect(),
            details: results.iter().map(|result| &result.detail).collect(),
        }
    }
}

fn leased(row: &PgRow) -> Result<LeasedJob, sqlx::Error> {
    Ok(LeasedJob {
        job_id: row.try_get(0)?,
        job_no: row.try_get(1)?,
        lease_no: row.try_get(2)?,
        job_kind: row.try_get(3)?,
        attempt: row.try_get(4)?,
        payload: row.try_get(5)?,
        payload_ref: row.try_get(6)?,
        source_ref: row.try_get(7)?,
        target_ref: row.try_get(8)?,
        trace_id: row.try_get(9)?,
        correlation_id: row.try_get(10)?,
        lease_until: row.try_get(11)?,
    })
}

/// An update answers in the order of the table; work is done in the order in which it came.
fn in_order(
    jobs: impl Iterator<Item = Result<LeasedJob, sqlx::Error>>,
) -> Result<Vec<LeasedJob>, Error> {
    let mut jobs = jobs.collect::<Result<Vec<_>, _>>()?;
    jobs.sort_unstable_by_key(|job| job.job_no);
    Ok(jobs)
}
