//! Being woken: a worker on another machine hears over NATS that something happened.
//!
//! PostgreSQL stays the truth. A worker looks there first, and again whenever it is told [`Woken::Poll`]: when it starts,
//! when the broker was away, and after every interval in which nothing came. What NATS brings only makes it look sooner.
//! So a lost wake-up costs an interval and never an event.
//!
//! Where an event's effect must happen exactly once, call `fn_event_receive` in the transaction of the effect instead.

use std::time::Duration;

use async_nats::jetstream::consumer::pull::Config;
use async_nats::jetstream::consumer::{AckPolicy, DeliverPolicy, PullConsumer};
use async_nats::jetstream::message::Message;
use chancery_store::Store;
use chancery_store::consumer::{RECEIVER, Receipt, Registration};
use futures_util::TryStreamExt as _;
use serde_json::Value;
use uuid::Uuid;

use super::nats::{Connection, Servers, Trouble, TroubleKind};
use crate::Error;

/// So many events are taken at a time.
const BATCH: usize = 100;

/// Whom to wake, and from where.
#[derive(Debug, Clone)]
pub struct Options {
    pub servers: Servers,
    pub stream: String,
    pub prefix: String,
    /// Which subjects below the prefix, such as `custom.>`; all of them without.
    pub only: Option<String>,
    /// The name that receipts are kept under, in PostgreSQL and in JetStream. Processes that share it share the events.
    pub receiver: String,
    pub principal: String,
    pub actor_class: String,
    /// Look into PostgreSQL at least so often.
    pub interval: Duration,
}

/// Why a worker was woken.
#[derive(Debug, Clone, PartialEq)]
pub enum Woken {
    /// These events came, each for the first time, as CloudEvents in the order of their positions.
    Events(Vec<Value>),
    /// Look for yourself: nothing came, or what came may have been lost.
    Poll,
}

struct Session {
    connection: Connection,
    consumer: PullConsumer,
}

/// A worker's ear.
pub struct Wake {
    store: Store,
    options: Options,
    session: Option<Session>,
    /// What was handed out, and is acknowledged when the worker comes back.
    handed_out: Vec<Message>,
    /// Something may have been received and not handed out.
    look_first: bool,
}

impl std::fmt::Debug for Wake {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Wake")
            .field("options", &self.options)
            .field("connected", &self.session.is_some())
            .finish_non_exhaustive()
    }
}

impl Wake {
    /// Registers the receiver. NATS is not asked yet.
    ///
    /// # Errors
    /// When the database refuses or does not answer.
    pub async fn open(store: Store, options: Options) -> Result<Self, Error> {
        let registration = Registration {
            consumer: &options.receiver,
            kind: RECEIVER,
            target: &format!("nats:{}:{}", options.stream, subject(&options)),
            description: "is woken over NATS JetStream",
            principal: &options.principal,
            actor_class: &options.actor_class,
        };
        store.fn_consumer_register(&registration).await?;
        Ok(Self { store, options, session: None, handed_out: Vec::new(), look_first: true })
    }

    /// Waits for the next reason to look. Coming back says that what was handed out before is dealt with.
    ///
    /// A call that is cut short costs nothing: the next one answers with [`Woken::Poll`].
    ///
    /// # Errors
    /// When the database refuses or does not answer. NATS that is away is no error.
    pub async fn next(&mut self) -> Result<Woken, Error> {
        for message in self.handed_out.drain(..) {
            // An acknowledgement that is lost brings the event again, and the receipt knows it.
            let _ = message.ack().await;
        }
        if std::mem::take(&mut self.look_first) {
            return Ok(Woken::Poll);
        }
        match self.listen().await {
            Ok(messages) if messages.is_empty() => Ok(Woken::Poll),
            Ok(messages) => self.receive(messages).await,
            Err(trouble) => {
                tracing::debug!(kind = ?trouble.kind, "not woken for now: {trouble}");
                self.session = None;
                tokio::time::sleep(self.options.interval).await;
                Ok(Woken::Poll)
            }
        }
    }

    /// Waits for messages, for an interval at most.
    async fn listen(&mut self) -> Result<Vec<Message>, Trouble> {
        let session = match &mut self.session {
            Some(session) => session,
            none => none.insert(connect(&self.options).await?),
        };
        let wrong = |error: &dyn std::fmt::Display| Trouble::new(TroubleKind::Away, error);
        let ask = async {
            let consumer = &session.consumer;
            let first = consumer.batch().max_messages(1).expires(self.options.interval);
            let first = first.messages().await.map_err(|e| wrong(&e))?;
            let mut messages: Vec<Message> = first.try_collect().await.map_err(|e| wrong(&e))?;
            if !messages.is_empty() {
                let rest = consumer.fetch().max_messages(BATCH - 1).messages().await;
                let rest = rest.map_err(|e| wrong(&e))?;
                messages.extend(rest.try_collect::<Vec<_>>().await.map_err(|e| wrong(&e))?);
            }
            Ok(messages)
        };
        tokio::select! {
            messages = ask => messages,
            () = session.connection.broke() => Err(Trouble::gone()),
        }
    }

    async fn receive(&mut self, messages: Vec<Message>) -> Result<Woken, Error> {
        let events: Vec<(Uuid, Value)> = messages
            .iter()
            .filter_map(|message| {
                let event: Value = serde_json::from_slice(&message.payload).ok()?;
                Some((event["id"].as_str()?.parse().ok()?, event))
            })
            .collect();
        let ids: Vec<Uuid> = events.iter().map(|(id, _)| *id).collect();
        // From here on a call that is cut short may leave a receipt behind.
        self.look_first = true;
        let receipt = self.store.fn_event_receive(&self.options.receiver, &ids).await?;
        self.look_first = false;
        self.handed_out = messages;
        tell_of_the_strange(&self.options.receiver, &receipt);
        let mut new = Vec::with_capacity(receipt.new.len());
        for id in &receipt.new {
            new.extend(
                events.iter().find(|(given, _)| given == id).map(|(_, event)| event.clone()),
            );
        }
        // What is not new is acknowledged with the next call, and a worker that looks once too often does no harm.
        Ok(if new.is_empty() { Woken::Poll } else { Woken::Events(new) })
    }
}

fn tell_of_the_strange(receiver: &str, receipt: &Receipt) {
    if !receipt.forgotten.is_empty() || !receipt.unknown.is_empty() {
        tracing::warn!(
            receiver,
            forgotten = receipt.forgotten.len(),
            unknown = receipt.unknown.len(),
            "events came that are too old to tell whether they came before, or not of this database"
        );
    }
}

/// The subjects that are listened to.
fn subject(options: &Options) -> String {
    format!("{}.{}", options.prefix, options.only.as_deref().unwrap_or(">"))
}

async fn connect(options: &Options) -> Result<Session, Trouble> {
    let connection = Connection::open(&options.servers, "chancery worker").await?;
    let stream = connection.jetstream().get_stream(&options.stream).await;
    let stream = stream.map_err(|error| Trouble::of_get(&error))?;
    let config = Config {
        durable_name: Some(options.receiver.clone()),
        filter_subject: subject(options),
        deliver_policy: DeliverPolicy::All,
        ack_policy: AckPolicy::Explicit,
        ack_wait: Duration::from_secs(30),
        ..Config::default()
    };
    let consumer = stream
        .get_or_create_consumer(&options.receiver, config)
        .await
        .map_err(|error| Trouble::new(TroubleKind::Refused, error))?;
    Ok(Session { connection, consumer })
}
