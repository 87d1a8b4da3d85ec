//! Durable consumers of events: how far they are, what comes next, what they have got already.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sqlx::Connection as _;
use sqlx::postgres::PgConnection;
use uuid::Uuid;

use crate::fsm::decode;
use crate::{Error, Store};

/// Hands on what it reads.
pub const RELAY: &str = "relay";
/// Takes what a broker brings.
pub const RECEIVER: &str = "receiver";

/// Who is to be registered, and for what.
#[derive(Debug, Clone, Copy)]
pub struct Registration<'a> {
    pub consumer: &'a str,
    /// [`RELAY`] or [`RECEIVER`].
    pub kind: &'a str,
    /// What the position is about; never an address with a password in it.
    pub target: &'a str,
    pub description: &'a str,
    pub principal: &'a str,
    pub actor_class: &'a str,
}

/// A consumer as it stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Registered {
    pub consumer: String,
    pub kind: String,
    pub target: String,
    pub position: i64,
}

/// An event for a relay.
#[derive(Debug, Clone, PartialEq)]
pub struct NextEvent {
    pub position: i64,
    pub event_id: Uuid,
    pub event_type: String,
    pub subject_kind: String,
    pub cloudevent: Value,
}

/// Where a relay stands after an advance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Advanced {
    pub position: i64,
    /// It stood there already.
    pub repeated: bool,
}

/// What a receiver was told about the events that it got.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    /// Got for the first time, in the order of their positions.
    pub new: Vec<Uuid>,
    pub repeated: Vec<Uuid>,
    /// Too old to tell.
    pub forgotten: Vec<Uuid>,
    /// No events of this database.
    pub unknown: Vec<Uuid>,
}

/// A consumer, as operators look at it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConsumerRow {
    pub consumer: String,
    pub kind: String,
    pub target: String,
    pub position: i64,
    pub reached: i64,
    /// So many events lie before it.
    pub behind: i64,
    /// Retention dropped what it has not read.
    pub outrun: Option<bool>,
    pub advanced_at: Option<String>,
}

/// The leadership of a consumer's name. It ends with the connection, also when the process is killed.
#[derive(Debug)]
pub struct Lead {
    // Not the pool's any more: back in the pool it would lead on.
    connection: PgConnection,
}

impl Lead {
    /// Whether the connection still stands, and with it the leadership.
    pub async fn holds(&mut self) -> bool {
        sqlx::query("select 1").execute(&mut self.connection).await.is_ok()
    }

    /// Gives it up.
    pub async fn resign(mut self) {
        // What does not answer has lost it already.
        let _ = sqlx::query("select pg_advisory_unlock_all()").execute(&mut self.connection).await;
        let _ = self.connection.close().await;
    }
}

impl Store {
    /// Registers a consumer, or finds it registered so.
    ///
    /// # Errors
    /// `Refused` with the problem; then nothing changed.
    pub async fn fn_consumer_register(&self, r: &Registration<'_>) -> Result<Registered, Error> {
        let report: Value =
            sqlx::query_scalar("select event.fn_consumer_register($1, $2, $3, $4, $5, $6)")
                .bind(r.consumer)
                .bind(r.kind)
                .bind(r.target)
                .bind(r.description)
                .bind(r.principal)
                .bind(r.actor_class)
                .fetch_one(&self.pool)
                .await?;
        decode(report)
    }

    /// The events behind a relay's position, in order and without a gap.
    ///
    /// # Errors
    /// `Refused` when there is no such relay, or when retention dropped what it has not read.
    pub async fn fn_consumer_read(
        &self,
        consumer: &str,
        limit: i32,
    ) -> Result<Vec<NextEvent>, Error> {
        let rows: Vec<(i64, Uuid, String, String, Value)> = sqlx::query_as(
            "select r_position, r_event_id, r_event_type, r_subject_kind, r_cloudevent from event.fn_consumer_read($1, $2)",
        )
        .bind(consumer)
        .bind(limit)
        .fetch_all(&self.pool)
        .await?;
        let event = |(position, event_id, event_type, subject_kind, cloudevent)| NextEvent {
            position,
            event_id,
            event_type,
            subject_kind,
            cloudevent,
        };
        Ok(rows.into_iter().map(event).collect())
    }

    /// Moves a relay's position on, if it still stands at `from`.
    ///
    /// # Errors
    /// `Refused` with the problem; then nothing changed.
    pub async fn fn_consumer_advance(
        &self,
        consumer: &str,
        from: i64,
        to: i64,
        principal: &str,
    ) -> Result<Advanced, Error> {
        let report: Value = sqlx::query_scalar("select event.fn_consumer_advance($1, $2, $3, $4)")
            .bind(consumer)
            .bind(from)
            .bind(to)
            .bind(principal)
            .fetch_one(&self.pool)
            .await?;
        decode(report)
    }

    /// Tells which events a receiver gets for the first time, and remembers them.
    ///
    /// In a store of [`Store::begin`] it is part of the transaction: then what the event brings about happens once.
    ///
    /// # Errors
    /// `Refused` when there is no such receiver.
    pub async fn fn_event_receive(
        &self,
        consumer: &str,
        event_ids: &[Uuid],
    ) -> Result<Receipt, Error> {
        let report: Value = sqlx::query_scalar("select event.fn_event_receive($1, $2)")
            .bind(consumer)
            .bind(event_ids)
            .fetch_one(&self.pool)
            .await?;
        decode(report)
    }

    /// The consumers, by name.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn consumers(&self) -> Result<Vec<ConsumerRow>, Error> {
        let rows: Vec<Value> = sqlx::query_scalar(
            "select jsonb_build_object('consumer', consumer, 'kind', kind, 'target', target, 'position', position,
                                       'reached', reached, 'behind', behind, 'outrun', outrun, 'advanced_at', advanced_at)
               from event.v_consumer order by consumer",
        )
        .fetch_all(&self.pool)
        .await?;
        rows.into_iter().map(decode).collect()
    }

    /// Leads a consumer's name, on a connection of its own; `None` while somebody else does.
    ///
    /// A leader that is cut off from the database and does not know it yet can run beside the next one: what it does must be
    /// safe without.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn consumer_lead(&self, consumer: &str) -> Result<Option<Lead>, Error> {
        let mut connection = self.pool.acquire().await?;
        let leads: bool = sqlx::query_scalar(
            "select pg_try_advisory_lock(hashtextextended('event.consumer:' || $1, 0))",
        )
        .bind(consumer)
        .fetch_one(&mut *connection)
        .await?;
        Ok(leads.then(|| Lead { connection: connection.detach() }))
    }
}
