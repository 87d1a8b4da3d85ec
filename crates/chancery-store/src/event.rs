//! Events: the sequencer's pass, reading by position, and the record of refused events.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use crate::fsm::decode;
use crate::{Error, Store};

/// What one pass of the sequencer did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sequenced {
    pub stamped: i64,
    pub last_position: i64,
    /// The pass took as much as it was allowed to; there may be more.
    pub more: bool,
}

/// What the retention did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Retained {
    pub dropped: Vec<String>,
    /// Old enough, and still needed.
    pub kept: Vec<KeptPartition>,
}

/// A partition that stays, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptPartition {
    pub partition: String,
    pub why: String,
}

/// An event at its position.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EventRow {
    pub position: Option<i64>,
    pub cloudevent: Value,
}

impl Store {
    /// Gives every committed event that has none a position.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn fn_sequence_events(&self, limit: i32) -> Result<Sequenced, Error> {
        let pass: Result<Value, sqlx::Error> =
            sqlx::query_scalar("select event.fn_sequence_events($1)")
                .bind(limit)
                .fetch_one(&self.pool)
                .await;
        match pass.map_err(Error::from) {
            Err(error @ Error::Conflict(_)) => {
                self.end_stalled_pass().await?;
                Err(error)
            }
            pass => decode(pass?),
        }
    }

    /// Ends the session that holds the cursor of positions open and does not go on: a pass takes milliseconds. It is one of our own
    /// login, since no other may make a pass; so the server lets us, and nobody else's session is touched.
    async fn end_stalled_pass(&self) -> Result<(), Error> {
        let _ended: Vec<bool> = sqlx::query_scalar(
            "select pg_terminate_backend(a.pid)
               from pg_stat_activity a join pg_locks l on l.pid = a.pid
              where l.relation = 'event.sequencer_cursor'::regclass and l.mode = 'RowShareLock' and l.granted
                and a.pid <> pg_backend_pid() and a.usename = session_user and a.state <> 'active'
                and a.datname = current_database()",
        )
        .fetch_all(&self.pool)
        .await?;
        Ok(())
    }

    /// Drops the partitions that are older than their retention says.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn fn_retention_apply(&self) -> Result<Retained, Error> {
        let report: Value =
            sqlx::query_scalar("select event.fn_retention_apply()").fetch_one(&self.pool).await?;
        decode(report)
    }

    /// Records that an event was refused, after the refused transaction rolled back.
    ///
    /// # Errors
    /// `Refused` when the code is not an event's.
    pub async fn fn_event_validation_record(
        &self,
        event_type: &str,
        code: &str,
        facts: &Value,
    ) -> Result<i64, Error> {
        Ok(sqlx::query_scalar("select event.fn_event_validation_record($1, $2, $3)")
            .bind(event_type)
            .bind(code)
            .bind(facts)
            .fetch_one(&self.pool)
            .await?)
    }

    /// The next events behind `after`, in the order of their positions; none when there is none.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn fn_events_after(&self, after: i64, limit: i32) -> Result<Vec<EventRow>, Error> {
        let rows: Vec<(Option<i64>, Value)> =
            sqlx::query_as("select r_position, r_cloudevent from event.fn_events_after($1, $2)")
                .bind(after)
                .bind(limit)
                .fetch_all(&self.pool)
                .await?;
        Ok(rows
            .into_iter()
            .map(|(position, cloudevent)| EventRow { position, cloudevent })
            .collect())
    }

    /// The events of one run, sequenced or not, in the order of its moves.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn events_of_run(&self, run_id: Uuid) -> Result<Vec<EventRow>, Error> {
        let rows: Vec<(Option<i64>, Value)> =
            sqlx::query_as("select event_position, cloudevent from fsm.v_history where run_id = $1 and event_type is not null order by seq")
                .bind(run_id)
                .fetch_all(&self.pool)
                .await?;
        Ok(rows
            .into_iter()
            .map(|(position, cloudevent)| EventRow { position, cloudevent })
            .collect())
    }
}
