//! Raw columns for the audit, which recomputes everything itself.

use chancery_model::chain::LogRow;
use serde_json::Value;
use sqlx::Row as _;
use sqlx::postgres::PgRow;
use uuid::Uuid;

use crate::{Error, Store};

/// A custom run as it is stored, for comparison with its log.
#[derive(Debug, Clone)]
pub struct RunFacts {
    pub run_id: Uuid,
    pub state_machine_id: String,
    pub state: String,
    pub seq: i64,
    pub head_hash: Option<Vec<u8>>,
    pub parent_run_id: Option<Uuid>,
    pub data: Value,
    pub started_by: String,
    pub trace_id: String,
    pub correlation_id: String,
    pub facet: Option<String>,
    /// Microseconds since 1970.
    pub created_at_micros: i64,
    /// Microseconds since 1970.
    pub last_transition_at_micros: i64,
}

impl Store {
    /// A page of the log in the order (run, seq), behind the given row.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn log_page(
        &self,
        after: Option<(Uuid, i64)>,
        limit: i64,
    ) -> Result<Vec<LogRow>, Error> {
        let (run_id, seq) = after.unwrap_or((Uuid::nil(), 0));
        let rows = sqlx::query(
            "select run_id, seq, log_id, run_kind, state_machine_id, transition_id, from_state, to_state, facet, principal, actor_class,
                    trigger_kind, trigger_ref, reason, evidence, event_type, artefact_digest, idempotency_key, key_id, signature,
                    (extract(epoch from at) * 1000000)::bigint as at_micros, prev_hash, hash
               from fsm.v_transition_log where (run_id, seq) > ($1, $2) order by run_id, seq limit $3",
        )
        .bind(run_id)
        .bind(seq)
        .bind(limit)
        .fetch_all(&self.pool)
        .await?;
        rows.iter().map(log_row).collect()
    }

    /// A page of custom runs by id, behind the given one.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn run_page(&self, after: Option<Uuid>, limit: i64) -> Result<Vec<RunFacts>, Error> {
        let rows = sqlx::query(
            "select run_id, state_machine_id, state_code, seq, head_hash, parent_run_id, data, started_by, trace_id, correlation_id, facet,
                    (extract(epoch from created_at) * 1000000)::bigint as created_at_micros,
                    (extract(epoch from last_transition_at) * 1000000)::bigint as last_transition_at_micros
               from fsm.v_run_facts where $1::uuid is null or run_id > $1 order by run_id limit $2",
        )
        .bind(after)
        .bind(limit)
        .fetch_all(&self.pool)
        .await?;
        rows.iter()
            .map(|row| {
                Ok(RunFacts {
                    run_id: row.try_get("run_id")?,
                    state_machine_id: row.try_get("state_machine_id")?,
                    state: row.try_get("state_code")?,
                    seq: row.try_get("seq")?,
                    head_hash: row.try_get("head_hash")?,
                    parent_run_id: row.try_get("parent_run_id")?,
                    data: row.try_get("data")?,
                    started_by: row.try_get("started_by")?,
                    trace_id: row.try_get("trace_id")?,
                    correlation_id: row.try_get("correlation_id")?,
                    facet: row.try_get("facet")?,
                    created_at_micros: row.try_get("created_at_micros")?,
                    last_transition_at_micros: row.try_get("last_transition_at_micros")?,
                })
            })
            .collect()
    }
}

fn log_row(row: &PgRow) -> Result<LogRow, Error> {
    Ok(LogRow {
        run_id: row.try_get("run_id")?,
        seq: row.try_get("seq")?,
        log_id: row.try_get("log_id")?,
        run_kind: row.try_get("run_kind")?,
        state_machine_id: row.try_get("state_machine_id")?,
        transition_id: row.try_get("transition_id")?,
        from_state: row.try_get("from_state")?,
        to_state: row.try_get("to_state")?,
        facet: row.try_get("facet")?,
        principal: row.try_get("principal")?,
        actor_class: row.try_get("actor_class")?,
        trigger_kind: row.try_get("trigger_kind")?,
        trigger_ref: row.try_get("trigger_ref")?,
        reason: row.try_get("reason")?,
        evidence: row.try_get("evidence")?,
        event_type: row.try_get("event_type")?,
        artefact_digest: row.try_get("artefact_digest")?,
        idempotency_key: row.try_get("idempotency_key")?,
        key_id: row.try_get("key_id")?,
        signature: row.try_get("signature")?,
        at_micros: row.try_get("at_micros")?,
        prev_hash: row.try_get("prev_hash")?,
        hash: row.try_get("hash")?,
    })
}
