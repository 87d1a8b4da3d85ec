//! What goes wrong and who notices: findings, heartbeats, lag, and events that wait. Each `fn_` has the name of the door it calls.

mod problems;
mod summaries;
mod timeline;

pub use problems::{Category, Group, Problem, ProblemPage, ProblemShown, Problems};
pub use summaries::{GeneratedBy, Summaries, Summary, SummaryShown, Window};
pub use timeline::{Asked, TimelinePage, TimelineRow};

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use crate::fsm::{ISO, Signed, decode};
use crate::{Error, Store};

/// A problem to be logged.
#[derive(Debug, Clone)]
pub struct Issue<'a> {
    /// Who says it.
    pub source: &'a str,
    /// `critical`, `warning`, `info`, or a word that is taken for one of them.
    pub severity: &'a str,
    pub issue_type: &'a str,
    /// One of the governance categories, or `operation`.
    pub issue_class: &'a str,
    pub title: &'a str,
    pub description: Option<&'a str>,
    /// Type and code of what it is about. Reports about the same are one finding.
    pub entity: Option<(&'a str, &'a str)>,
    pub evidence: &'a Value,
    pub principal: &'a str,
    /// With a key, a report that is sent twice counts once.
    pub idempotency_key: Option<&'a str>,
    pub trace_id: Option<&'a str>,
    pub correlation_id: Option<&'a str>,
}

/// Where a finding stands, and what the call did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IssueReport {
    pub issue_id: Uuid,
    /// Born now; otherwise it was open and is counted once more.
    pub opened: bool,
    pub occurrence_count: i64,
    pub severity: String,
    pub state: String,
    /// Done before; nothing was done twice.
    pub replayed: bool,
}

/// What a person does to a finding.
#[derive(Debug, Clone)]
pub struct IssueAnswer<'a> {
    pub issue_id: Uuid,
    pub reason: &'a str,
    pub principal: &'a str,
    pub actor_class: &'a str,
    pub idempotency_key: &'a str,
    pub signed: Option<Signed>,
}

/// A finding.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct IssueRow {
    pub issue_id: Uuid,
    pub issue_type: String,
    pub issue_class: String,
    pub source_system: String,
    pub severity: String,
    pub title: String,
    pub description: Option<String>,
    pub entity_type: Option<String>,
    pub entity_code: Option<String>,
    pub evidence: Value,
    pub occurrence_count: i64,
    pub first_seen_at: String,
    pub last_seen_at: String,
    pub state: String,
    pub trace_id: String,
    pub correlation_id: String,
}

/// Which findings to list.
#[derive(Debug, Clone, Copy, Default)]
pub struct IssueFilter<'a> {
    /// Only those of a category.
    pub issue_class: Option<&'a str>,
    /// Only those of a type.
    pub issue_type: Option<&'a str>,
    /// Also those that are closed.
    pub closed: bool,
}

/// Open findings of a category.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IssueCount {
    pub issue_class: String,
    pub open: i64,
    pub critical: i64,
}

/// A sign of life.
#[derive(Debug, Clone, Copy)]
pub struct Tick<'a> {
    pub worker_class: &'a str,
    pub worker: &'a str,
    /// Whether the work since the last tick went well.
    pub ok: bool,
    pub metadata: &'a Value,
    pub principal: &'a str,
}

/// What a worker of an executor class says over a host.
#[derive(Debug, Clone, Copy)]
pub struct WorkerHeartbeat<'a> {
    pub executor_class: &'a str,
    pub worker: &'a str,
    pub ok: bool,
    pub leaving: bool,
    pub metadata: &'a Value,
    pub principal: &'a str,
}

/// Where a worker stands after its tick.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ticked {
    pub status: String,
    pub was: Option<String>,
    /// It was silent, and its finding was closed with this tick.
    pub recovered: bool,
}

/// A worker that went silent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SilentWorker {
    pub worker_class: String,
    pub worker: String,
    pub issue_id: Uuid,
}

/// What one look at the heartbeats found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SilentCheck {
    pub silent: Vec<SilentWorker>,
    /// Silent workers whose finding a person closed.
    pub forgotten: i64,
}

/// A worker or loop as the heartbeats know it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkerHealth {
    pub worker_class: String,
    pub worker: String,
    pub executor_kind: String,
    pub status: String,
    pub class_frozen: bool,
    pub last_tick_at: String,
    pub last_ok_at: Option<String>,
    pub silent_since: Option<String>,
    pub threshold_seconds: f64,
    pub issue_id: Option<Uuid>,
    pub ticks_total: i64,
    pub metadata: Value,
}

/// The lag of one pair over a window.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Lag {
    /// The kind of run that the events are about.
    pub producer: String,
    /// `sequencer`, or a durable consumer.
    pub consumer: String,
    pub count: i64,
    pub p50_ms: f64,
    pub p95_ms: f64,
    pub p99_ms: f64,
    pub max_ms: f64,
}

/// What one pass of the lag recorder did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LagRecorded {
    /// Rows of the series.
    pub recorded: i64,
    /// Pairs above a threshold, as `producer/consumer`.
    pub breached: Vec<String>,
    pub healed: Vec<String>,
}

/// One minute of a pair's lag, beside the thresholds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LagPoint {
    pub minute: String,
    pub producer: String,
    pub consumer: String,
    pub count: i64,
    pub p50_ms: f64,
    pub p95_ms: f64,
    pub p99_ms: f64,
    pub max_ms: f64,
    pub p50_threshold_ms: f64,
    pub p95_threshold_ms: f64,
    pub p99_threshold_ms: f64,
}

/// What one pass over the pending events did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingRetried {
    pub emitted: i64,
    pub waiting: i64,
    /// Given up; each is a finding.
    pub dead: i64,
}

impl Store {
    /// Logs a problem: a new finding, or one more occurrence of an open one.
    ///
    /// # Errors
    /// `Refused` with the problem; then nothing changed.
    pub async fn fn_log_issue(&self, issue: &Issue<'_>) -> Result<IssueReport, Error> {
        let report: Value = sqlx::query_scalar(
            "select governance.fn_log_issue($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)",
        )
        .bind(issue.source)
        .bind(issue.severity)
        .bind(issue.title)
        .bind(issue.description)
        .bind(issue.entity.map(|(kind, _)| kind))
        .bind(issue.entity.map(|(_, code)| code))
        .bind(issue.issue_type)
        .bind(issue.evidence)
        .bind(issue.principal)
        .bind(issue.issue_class)
        .bind(issue.idempotency_key)
        .bind(issue.trace_id)
        .bind(issue.correlation_id)
        .fetch_one(&self.pool)
        .await?;
        decode(report)
    }

    /// A person takes a finding up.
    ///
    /// # Errors
    /// `Refused` with every problem; then nothing changed.
    pub async fn fn_issue_acknowledge(
        &self,
        answer: &IssueAnswer<'_>,
    ) -> Result<IssueReport, Error> {
        self.answer("select governance.fn_issue_acknowledge($1, $2, $3, $4, $5, $6, $7)", answer)
            .await
    }

    /// A person settles a finding.
    ///
    /// # Errors
    /// `Refused` with every problem; then nothing changed.
    pub async fn fn_issue_resolve(&self, answer: &IssueAnswer<'_>) -> Result<IssueReport, Error> {
        self.answer("select governance.fn_issue_resolve($1, $2, $3, $4, $5, $6, $7)", answer).await
    }

    async fn answer(
        &self,
        sql: &'static str,
        answer: &IssueAnswer<'_>,
    ) -> Result<IssueReport, Error> {
        let report: Value = sqlx::query_scalar(sql)
            .bind(answer.issue_id)
            .bind(answer.reason)
            .bind(answer.principal)
            .bind(answer.actor_class)
            .bind(answer.idempotency_key)
            .bind(answer.signed.as_ref().map(|s| s.key_id))
            .bind(answer.signed.as_ref().map(|s| &s.signature))
            .fetch_one(&self.pool)
            .await?;
        decode(report)
    }

    /// Findings, the newest first.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn issues(
        &self,
        filter: IssueFilter<'_>,
        limit: i64,
    ) -> Result<Vec<IssueRow>, Error> {
        let rows: Vec<Value> = sqlx::query_scalar(
            "select to_jsonb(i) || jsonb_build_object(
                      'first_seen_at', to_char(i.first_seen_at at time zone 'UTC', $1), 'last_seen_at', to_char(i.last_seen_at at time zone 'UTC', $1))
               from governance.v_system_issues i
              where ($2::text is null or i.issue_class = $2) and ($3::text is null or i.issue_type = $3)
                and ($4 or i.state in ('open', 'acknowledged'))
              order by i.first_seen_at desc, i.issue_id desc limit $5",
        )
        .bind(ISO)
        .bind(filter.issue_class)
        .bind(filter.issue_type)
        .bind(filter.closed)
        .bind(limit)
        .fetch_all(&self.pool)
        .await?;
        rows.into_iter().map(decode).collect()
    }

    /// How many findings are open, by category.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn issue_counts(&self) -> Result<Vec<IssueCount>, Error> {
        let rows: Vec<Value> = sqlx::query_scalar(
            "select jsonb_build_object('issue_class', i.issue_class, 'open', count(*), 'critical', count(*) filter (where i.severity = 'critical'))
               from governance.v_system_issues i where i.state in ('open', 'acknowledged') group by i.issue_class order by i.issue_class",
        )
        .fetch_all(&self.pool)
        .await?;
        rows.into_iter().map(decode).collect()
    }

    /// A worker says that it lives.
    ///
    /// # Errors
    /// `Refused` with the problem; then nothing changed.
    pub async fn fn_heartbeat_tick(&self, tick: &Tick<'_>) -> Result<Ticked, Error> {
        let ticked: Value =
            sqlx::query_scalar("select queue.fn_heartbeat_tick($1, $2, $3, $4, $5)")
                .bind(tick.worker_class)
                .bind(tick.worker)
                .bind(tick.ok)
                .bind(tick.metadata)
                .bind(tick.principal)
                .fetch_one(&self.pool)
                .await?;
        decode(ticked)
    }

    /// A worker of an executor class says that it lives, or that it leaves.
    ///
    /// # Errors
    /// `Refused` with the problem; then nothing changed.
    pub async fn fn_worker_heartbeat(&self, beat: &WorkerHeartbeat<'_>) -> Result<Value, Error> {
        Ok(sqlx::query_scalar("select queue.fn_worker_heartbeat($1, $2, $3, $4, $5, $6)")
            .bind(beat.executor_class)
            .bind(beat.worker)
            .bind(beat.ok)
            .bind(beat.leaving)
            .bind(beat.metadata)
            .bind(beat.principal)
            .fetch_one(&self.pool)
            .await?)
    }

    /// A worker ends in good order. Gives whether it was known.
    ///
    /// # Errors
    /// `Refused` when it is silent; then nothing changed.
    pub async fn fn_heartbeat_deregister(
        &self,
        worker_class: &str,
        worker: &str,
        principal: &str,
    ) -> Result<bool, Error> {
        let report: Value = sqlx::query_scalar("select queue.fn_heartbeat_deregister($1, $2, $3)")
            .bind(worker_class)
            .bind(worker)
            .bind(principal)
            .fetch_one(&self.pool)
            .await?;
        Ok(report["removed"] == true)
    }

    /// Makes a worker known that does not tick, with its true last activity. Gives whether it was new.
    ///
    /// # Errors
    /// `Refused` with the problem; then nothing changed.
    pub async fn fn_heartbeat_register_passive(
        &self,
        worker_class: &str,
        worker: &str,
        executor_kind: &str,
        last_activity_micros: i64,
        metadata: &Value,
        principal: &str,
    ) -> Result<bool, Error> {
        let report: Value = sqlx::query_scalar(
            "select queue.fn_heartbeat_register_passive($1, $2, $3, timestamptz 'epoch' + $4 * interval '1 microsecond', $5, $6)",
        )
        .bind(worker_class)
        .bind(worker)
        .bind(executor_kind)
        .bind(last_activity_micros)
        .bind(metadata)
        .bind(principal)
        .fetch_one(&self.pool)
        .await?;
        Ok(report["registered"] == true)
    }

    /// Freezes a class, or thaws it: silent workers of a frozen class do not recover.
    ///
    /// # Errors
    /// `Refused` with the problem; then nothing changed.
    pub async fn fn_heartbeat_freeze(
        &self,
        worker_class: &str,
        frozen: bool,
        reason: &str,
        principal: &str,
        actor_class: &str,
    ) -> Result<(), Error> {
        sqlx::query("select queue.fn_heartbeat_freeze($1, $2, $3, $4, $5)")
            .bind(worker_class)
            .bind(frozen)
            .bind(reason)
            .bind(principal)
            .bind(actor_class)
            .execute(&self.pool)
            .await?;
        Ok(())
    }

    /// Whether a reader may freeze and thaw, as actions.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn fn_freeze_actions(&self, reader: &str) -> Result<Value, Error> {
        Ok(sqlx::query_scalar("select queue.fn_freeze_actions($1)")
            .bind(reader)
            .fetch_one(&self.pool)
            .await?)
    }

    /// Finds the workers that went silent.
    ///
    /// # Errors
    /// `Refused` with the problem; then nothing changed.
    pub async fn fn_silent_check(&self, principal: &str) -> Result<SilentCheck, Error> {
        let check: Value = sqlx::query_scalar("select queue.fn_silent_check($1)")
            .bind(principal)
            .fetch_one(&self.pool)
            .await?;
        decode(check)
    }

    /// Every worker and loop that is known.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn queue_health(&self) -> Result<Vec<WorkerHealth>, Error> {
        let rows: Vec<Value> = sqlx::query_scalar(
            "select to_jsonb(h) || jsonb_build_object(
                      'last_tick_at', to_char(h.last_tick_at at time zone 'UTC', $1), 'last_ok_at', to_char(h.last_ok_at at time zone 'UTC', $1),
                      'silent_since', to_char(h.silent_since at time zone 'UTC', $1))
               from queue.v_queue_health h order by h.worker_class, h.worker",
        )
        .bind(ISO)
        .fetch_all(&self.pool)
        .await?;
        rows.into_iter().map(decode).collect()
    }

    /// The lag of every pair over the window.
    ///
    /// # Errors
    /// `Refused` when the window is shorter than a minute or longer than a year.
    pub async fn fn_event_lag_compute(&self, window: Duration) -> Result<Vec<Lag>, Error> {
        let rows: Vec<Value> = sqlx::query_scalar(
            "select to_jsonb(l) from event.fn_event_lag_compute(make_interval(secs => $1)) l",
        )
        .bind(window.as_secs_f64())
        .fetch_all(&self.pool)
        .await?;
        rows.into_iter().map(decode).collect()
    }

    /// Brings the series up to date, and opens and heals the findings about it.
    ///
    /// # Errors
    /// `Refused` with the problem; then nothing changed.
    pub async fn fn_event_lag_record(&self, principal: &str) -> Result<LagRecorded, Error> {
        let recorded: Value = sqlx::query_scalar("select event.fn_event_lag_record($1)")
            .bind(principal)
            .fetch_one(&self.pool)
            .await?;
        decode(recorded)
    }

    /// The trend of the lag, minute by minute, over the window.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn event_lag_trend(&self, window: Duration) -> Result<Vec<LagPoint>, Error> {
        let rows: Vec<Value> = sqlx::query_scalar(
            "select to_jsonb(l) || jsonb_build_object('minute', to_char(l.minute at time zone 'UTC', $1))
               from event.v_event_lag l where l.minute >= now() - make_interval(secs => $2)
              order by l.minute, l.producer, l.consumer",
        )
        .bind(ISO)
        .bind(window.as_secs_f64())
        .fetch_all(&self.pool)
        .await?;
        rows.into_iter().map(decode).collect()
    }

    /// Tries events again that could not be emitted.
    ///
    /// # Errors
    /// `Refused` with the problem; then nothing changed.
    pub async fn fn_event_pending_retry(
        &self,
        limit: i32,
        principal: &str,
    ) -> Result<PendingRetried, Error> {
        let retried: Value = sqlx::query_scalar("select event.fn_event_pending_retry($1, $2)")
            .bind(limit)
            .bind(principal)
            .fetch_one(&self.pool)
            .await?;
        decode(retried)
    }
}
