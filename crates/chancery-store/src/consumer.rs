//! Durable consumers of events: how far they are, what comes next, what they have got already.

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use serde_json::Value;
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

/// For so long a relay leads that says nothing any more.
const LEAD_SECONDS: i32 = 5;
/// So often it says that it is there.
const LEAD_SAID_AGAIN: Duration = Duration::from_secs(1);

/// What the database says about who leads.
#[derive(Debug, Deserialize)]
struct Lease {
    held: bool,
}

/// The leadership of a consumer's name: a lease, which ends by itself soon after the process is killed.
#[derive(Debug)]
pub struct Lead {
    store: Store,
    consumer: String,
    holder: String,
    principal: String,
    said: Instant,
}

impl Lead {
    /// Whether it still leads.
    pub async fn holds(&mut self) -> bool {
        if self.said.elapsed() < LEAD_SAID_AGAIN {
            return true;
        }
        let said = Instant::now();
        let lease = self.lease(LEAD_SECONDS).await;
        self.said = said;
        lease.is_ok_and(|lease| lease.held)
    }

    /// Gives it up.
    pub async fn resign(self) {
        // What does not answer ends by itself.
        let _ = self.lease(0).await;
    }

    async fn lease(&self, seconds: i32) -> Result<Lease, Error> {
        let lease: Value = sqlx::query_scalar("select event.fn_consumer_lead($1, $2, $3, $4)")
            .bind(&self.consumer)
            .bind(&self.holder)
            .bind(seconds)
            .bind(&self.principal)
            .fetch_one(&self.store.pool)
            .await?;
        decode(lease)
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

    /// The events behind a relay's position, in order and without a gap; or behind `after`.
    ///
    /// # Errors
    /// `Refused` when there is no such relay, or when retention dropped what comes next.
    pub async fn fn_consumer_read(
        &self,
        consumer: &str,
        limit: i32,
        after: Option<i64>,
    ) -> Result<Vec<NextEvent>, Error> {
        let rows: Vec<(i64, Uuid, Value)> = sqlx::query_as(
            "select r_position, r_event_id, r_cloudevent from event.fn_consumer_read($1, $2, $3)",
        )
        .bind(consumer)
        .bind(limit)
        .bind(after)
        .fetch_all(&self.pool)
        .await?;
        let event = |(position, event_id, cloudevent)| NextEvent { position, event_id, cloudevent };
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

    /// Leads a consumer's name; `None` while somebody else does.
    ///
    /// A leader that is cut off from the database and does not know it yet can run beside the next one: what it does must be
    /// safe without.
    ///
    /// # Errors
    /// The database's refusal: RE019, RE030, RI001–RI004.
    pub async fn fn_consumer_lead(
        &self,
        consumer: &str,
        holder: &str,
        principal: &str,
    ) -> Result<Option<Lead>, Error> {
        let lead = Lead {
            store: self.clone(),
            consumer: consumer.to_owned(),
            holder: holder.to_owned(),
            principal: principal.to_owned(),
            said: Instant::now(),
        };
        Ok(lead.lease(LEAD_SECONDS).await?.held.then_some(lead))
    }
}
