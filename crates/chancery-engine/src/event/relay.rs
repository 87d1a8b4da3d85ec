//! The relay: hands events on to a stream of NATS JetStream, in the order of their positions.
//!
//! PostgreSQL keeps how far the relay has come, and the stream itself says how far it really is. Both are asked whenever a
//! connection is new, so it does not matter which side was killed when:
//!
//! | What happened | Position | Last in the stream | Then |
//! |---|---|---|---|
//! | the relay was killed between acknowledgement and position | 5 | 7 | goes on with 8 |
//! | the server lost what it had acknowledged (an acknowledgement is no fsync) | 7 | 5 | sends 6 and 7 again |
//! | the stream was made anew | 7 | nothing, ever | sends everything that is still kept |
//!
//! Events are sent one behind the other without waiting. Each but the first of a batch names the one before it as the
//! stream's last message, and the sequence number that it expects: when one is not taken, none behind it is. So a
//! failure, a second relay or a foreign writer can delay events and never change their order.

use std::time::Duration;

use async_nats::jetstream::message::PublishMessage;
use async_nats::jetstream::stream::{Config, DiscardPolicy, StorageType};
use async_nats::jetstream::{self, ErrorCode, context::GetStreamErrorKind, stream};
use chancery_model::refusal::Code;
use chancery_store::Store;
use chancery_store::consumer::{Lead, NextEvent, RELAY, Registration};
use chancery_store::governance::Issue;
use rand::Rng as _;
use serde::Serialize;
use serde_json::{Value, json};
use tokio::sync::watch;

use super::nats::{Connection, Servers, Trouble, TroubleKind};

/// Who runs a relay holds this class.
pub const ACTOR_CLASS: &str = "executor_worker";
/// So many events are sent before their acknowledgements are waited for.
const BATCH: i32 = 500;
/// For so long a server knows a message's id. Long enough for a restart; what comes later, receivers tell apart.
const DUPLICATE_WINDOW: Duration = Duration::from_secs(10 * 60);
/// How long to wait when there is nothing to send, or somebody else leads.
const IDLE: Duration = Duration::from_millis(200);
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
/// A relay that is to end by itself gives up after so many attempts in a row.
const ATTEMPTS_OF_ONE_RUN: u32 = 5;

/// What a relay is asked to do.
#[derive(Debug, Clone)]
pub struct Options {
    pub servers: Servers,
    pub stream: String,
    /// Subjects begin with it: `PREFIX.KIND.TYPE`.
    pub prefix: String,
    /// The name its position is kept under.
    pub consumer: String,
    pub principal: String,
    /// Send what is there, then end.
    pub once: bool,
}

/// What a relay is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    Connecting,
    /// Another relay of the name is at work.
    Standby,
    Publishing,
    /// Everything is handed on.
    Idle,
    /// Waits for what passes.
    Waiting,
    Ended,
}

/// How a relay is getting on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Status {
    pub state: State,
    pub consumer: String,
    pub stream: String,
    pub position: i64,
    /// Events that the stream took from this process.
    pub published: u64,
    /// Events that the stream had already.
    pub duplicates: u64,
    /// How often a connection was made.
    pub connections: u64,
    /// Attempts in a row that came to nothing.
    pub attempts: u32,
    pub trouble: Option<Trouble>,
}

/// Why a relay ended.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Engine(#[from] crate::Error),
    /// What was asked for cannot be a stream or a subject.
    #[error("{0}")]
    Unfit(String),
    /// The stream is another one.
    #[error("{0}")]
    Stream(String),
    /// It was to end by itself, and could not do its work.
    #[error("{0}")]
    Trouble(Trouble),
    /// It was to end by itself, and another one is at work.
    #[error("another relay of consumer {0} is at work")]
    Led(String),
}

impl From<chancery_store::Error> for Error {
    fn from(error: chancery_store::Error) -> Self {
        Self::Engine(error.into())
    }
}

/// Why a round ended before its time.
enum Fall {
    Passing(Trouble),
    Fatal(Error),
}

impl From<Trouble> for Fall {
    fn from(trouble: Trouble) -> Self {
        Self::Passing(trouble)
    }
}

impl From<chancery_store::Error> for Fall {
    fn from(error: chancery_store::Error) -> Self {
        use chancery_store::Error as E;
        match error {
            E::Away(_) | E::Conflict(_) => {
                Self::Passing(Trouble::new(TroubleKind::Database, error))
            }
            E::Refused(_)
            | E::Schema(_)
            | E::Denied(_)
            | E::Locks(_)
            | E::Bug { .. }
            | E::Managed(_) => Self::Fatal(error.into()),
        }
    }
}

/// An event on its way.
#[derive(Debug)]
struct Outgoing {
    position: i64,
    id: String,
    subject: String,
    body: Vec<u8>,
}

impl Outgoing {
    fn new(prefix: &str, event: &NextEvent) -> Result<Self, Fall> {
        let NextEvent { position, event_id, cloudevent } = event;
        let kind = cloudevent["data"]["run_kind"].as_str();
        let (Some(kind), Some(event_type)) = (kind, cloudevent["type"].as_str()) else {
            let words = format!("the event at position {position} has no kind or type");
            return Err(Fall::Fatal(chancery_store::Error::Schema(words).into()));
        };
        Ok(Self {
            position: *position,
            id: event_id.to_string(),
            subject: format!("{prefix}.{kind}.{event_type}"),
            body: cloudevent.to_string().into(),
        })
    }
}

/// What the database answers to a relay that reads.
enum Read {
    Events(Vec<NextEvent>),
    /// What comes next is no longer kept; the oldest one behind it that is.
    Gap(Option<i64>),
}

/// A connection with what is known of the stream.
struct Session {
    connection: Connection,
    context: jetstream::Context,
    stream: stream::Stream,
    /// The sequence number that the next message expects to follow.
    last_sequence: u64,
    /// Everything up to here is in the stream.
    at: i64,
}

/// Hands events on.
#[derive(Debug)]
pub struct Relay {
    store: Store,
    options: Options,
    lead: Option<Lead>,
    /// Under which this process leads, also after it lost its connection.
    holder: String,
    status: Status,
}

impl Relay {
    /// A relay. Nothing is asked yet.
    ///
    /// # Errors
    /// `Unfit` when the stream or the prefix cannot be one.
    pub fn new(store: Store, options: Options) -> Result<Self, Error> {
        let is_token = |text: &str| {
            !text.is_empty()
                && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
        };
        if !is_token(&options.stream) || options.stream.len() > 64 {
            return Err(Error::Unfit(
                "a stream's name is made of letters, digits, _ and -".to_owned(),
            ));
        }
        if !options.prefix.split('.').all(is_token) || options.prefix.len() > 64 {
            return Err(Error::Unfit(
                "a prefix is made of words of letters, digits, _ and -, with dots between them"
                    .to_owned(),
            ));
        }
        let status = Status {
            state: State::Connecting,
            consumer: options.consumer.clone(),
            stream: options.stream.clone(),
            position: 0,
            published: 0,
            duplicates: 0,
            connections: 0,
            attempts: 0,
            trouble: None,
        };
        let holder = format!("relay-{}", uuid::Uuid::now_v7());
        Ok(Self { store, options, lead: None, holder, status })
    }

    /// Runs until `shutdown` turns true, or once. Whatever can pass is waited for; `told` hears how it goes.
    ///
    /// # Errors
    /// What waiting cannot mend.
    pub async fn run(
        mut self,
        mut shutdown: watch::Receiver<bool>,
        mut told: impl FnMut(&Status),
    ) -> Result<Status, Error> {
        let ended = loop {
            let fall = match self.round(&mut shutdown, &mut told).await {
                Ok(()) => break Ok(()),
                Err(Fall::Fatal(error)) => break Err(error),
                Err(Fall::Passing(fall)) => fall,
            };
            self.status.attempts += 1;
            if self.options.once && self.status.attempts >= ATTEMPTS_OF_ONE_RUN {
                break Err(Error::Trouble(fall));
            }
            let pause = pause(self.status.attempts);
            self.complain(&fall, pause).await;
            self.status.state = State::Waiting;
            self.status.trouble = Some(fall);
            told(&self.status);
            if rest(pause, &mut shutdown).await {
                break Ok(());
            }
        };
        if let Some(lead) = self.lead.take() {
            lead.resign().await;
        }
        ended?;
        self.status.state = State::Ended;
        told(&self.status);
        Ok(self.status)
    }

    /// One connection's life. Ends well when it was asked to end, or when a single run is done.
    async fn round(
        &mut self,
        shutdown: &mut watch::Receiver<bool>,
        told: &mut impl FnMut(&Status),
    ) -> Result<(), Fall> {
        self.become_ready(shutdown, told).await?;
        if *shutdown.borrow() {
            return Ok(());
        }
        let mut session = self.open().await?;
        while !*shutdown.borrow() {
            // Who lost the lead stands back; what it still sends is refused by the stream or known to it.
            if !self.leads().await {
                return Err(Trouble::new(TroubleKind::Database, "the lead is lost").into());
            }
            let batch = self.next(&mut session).await?;
            if batch.is_empty() {
                self.goes_well(State::Idle, told).await?;
                if self.options.once {
                    return Ok(());
                }
                tokio::select! {
                    ended = rest(IDLE, shutdown) => if ended { return Ok(()) },
                    () = session.connection.broke() => return Err(Trouble::gone().into()),
                }
                continue;
            }
            self.status.state = State::Publishing;
            let fall = self.publish(&mut session, &batch).await;
            self.settle(&mut session).await?;
            match fall {
                None => self.goes_well(State::Publishing, told).await?,
                // Another relay was faster, or the stream knew some: look where it stands, and go on from there.
                Some(fall) if fall.kind == TroubleKind::Disturbed => {
                    self.look(&mut session).await?;
                    if session.at < batch[0].position {
                        return Err(fall.into());
                    }
                }
                Some(fall) => return Err(fall.into()),
            }
        }
        Ok(())
    }

    /// The one place where trouble becomes known: a finding about this consumer, counted once more while it lasts.
    async fn complain(&self, fall: &Trouble, pause: Duration) {
        let Status { consumer, position, attempts, .. } = &self.status;
        tracing::warn!(
            consumer,
            position,
            attempts,
            kind = ?fall.kind,
            "{fall}; trying again in {} ms",
            pause.as_millis()
        );
        let evidence = json!({ "kind": fall.kind, "attempts": attempts, "position": position });
        let issue = Issue {
            source: "relay",
            severity: "warning",
            issue_type: "relay_trouble",
            issue_class: "operation",
            title: &format!("events do not reach NATS by way of {consumer}: {fall}"),
            description: None,
            entity: Some(("event_consumer", consumer)),
            evidence: &evidence,
            principal: &self.options.principal,
            idempotency_key: None,
            trace_id: None,
            correlation_id: None,
        };
        // While PostgreSQL is away as well, the next attempt reports it.
        if let Err(error) = self.store.fn_log_issue(&issue).await {
            tracing::warn!(%error, "the trouble could not be logged");
        }
    }

    async fn goes_well(
        &mut self,
        state: State,
        told: &mut impl FnMut(&Status),
    ) -> Result<(), Fall> {
        if self.status.attempts > 0 {
            // Standing where it stands, with a stream that answers, is what closes the finding.
            let Status { consumer, position, .. } = &self.status;
            let principal = &self.options.principal;
            self.store.fn_consumer_advance(consumer, *position, *position, principal).await?;
        }
        let news = self.status.state != state || state == State::Publishing;
        self.status.state = state;
        self.status.attempts = 0;
        self.status.trouble = None;
        if news {
            told(&self.status);
        }
        Ok(())
    }

    async fn leads(&mut self) -> bool {
        let Some(lead) = &mut self.lead else { return false };
        let holds = lead.holds().await;
        if !holds {
            self.lead = None;
        }
        holds
    }

    /// Registers, and waits for the lead.
    async fn become_ready(
        &mut self,
        shutdown: &mut watch::Receiver<bool>,
        told: &mut impl FnMut(&Status),
    ) -> Result<(), Fall> {
        self.register().await?;
        while !self.leads().await {
            let Options { consumer, principal, .. } = &self.options;
            self.lead = self.store.fn_consumer_lead(consumer, &self.holder, principal).await?;
            if self.lead.is_some() {
                break;
            }
            if self.options.once {
                return Err(Fall::Fatal(Error::Led(self.options.consumer.clone())));
            }
            if self.status.state != State::Standby {
                self.status.state = State::Standby;
                told(&self.status);
            }
            if rest(IDLE, shutdown).await {
                return Ok(());
            }
        }
        // Whoever led before may have come further since.
        self.register().await
    }

    async fn register(&mut self) -> Result<(), Fall> {
        let Options { consumer, stream, prefix, principal, .. } = &self.options;
        let registration = Registration {
            consumer,
            kind: RELAY,
            target: &format!("nats:{stream}:{prefix}"),
            description: "hands events on to NATS JetStream",
            principal,
            actor_class: ACTOR_CLASS,
        };
        self.status.position = self.store.fn_consumer_register(&registration).await?.position;
        Ok(())
    }

    /// Connects, makes the stream if it is missing, and looks how far it is.
    async fn open(&mut self) -> Result<Session, Fall> {
        let connection = Connection::open(&self.options.servers, "chancery relay").await?;
        self.status.connections += 1;
        let context = connection.jetstream();
        let stream = self.stream(&context).await?;
        let mut session = Session { connection, context, stream, last_sequence: 0, at: i64::MIN };
        self.look(&mut session).await?;
        self.settle(&mut session).await?;
        Ok(session)
    }

    async fn stream(&self, context: &jetstream::Context) -> Result<stream::Stream, Fall> {
        let Options { stream: name, prefix, .. } = &self.options;
        let ours = format!("{prefix}.>");
        let found = match context.get_stream(name).await {
            Ok(found) => found,
            Err(error) => match error.kind() {
                GetStreamErrorKind::JetStream(said)
                    if said.error_code() == ErrorCode::STREAM_NOT_FOUND =>
                {
                    let config = Config {
                        name: name.clone(),
                        subjects: vec![ours.clone()],
                        storage: StorageType::File,
                        // A full stream says so; the alternative forgets what nobody has read.
                        discard: DiscardPolicy::New,
                        duplicate_window: DUPLICATE_WINDOW,
                        description: Some("Events of Chancery as CloudEvents".to_owned()),
                        ..Config::default()
                    };
                    context.create_stream(config).await.map_err(|error| match error.kind() {
                        jetstream::context::CreateStreamErrorKind::JetStream(said)
                            if said.error_code() == ErrorCode::STREAM_SUBJECT_OVERLAP =>
                        {
                            Fall::Fatal(Error::Stream(format!(
                                "another stream has subjects below {prefix} already; choose another --prefix, or name that stream"
                            )))
                        }
                        _ => Trouble::of_create(&error).into(),
                    })?
                }
                _ => return Err(Trouble::of_get(&error).into()),
            },
        };
        let there = &found.cached_info().config;
        if there.subjects != [ours.clone()] {
            return Err(Fall::Fatal(Error::Stream(format!(
                "stream {name} is there with other subjects ({}), and not with {ours}; choose another --stream or --prefix",
                there.subjects.join(", ")
            ))));
        }
        Ok(found)
    }

    /// Learns from the stream where it ends.
    async fn look(&self, session: &mut Session) -> Result<(), Fall> {
        let info = session.stream.get_info().await.map_err(|error| {
            Trouble::new(TroubleKind::Slow, format!("the stream could not be asked: {error}"))
        })?;
        session.last_sequence = info.state.last_sequence;
        let first_look = session.at == i64::MIN;
        let told =
            if info.state.messages == 0 { None } else { self.position_of_last(session).await? };
        session.at = match told {
            Some(at) if first_look => at,
            // The server may know an id and have the message no more; its word for what it took stands.
            Some(at) => at.max(session.at),
            None if first_look && info.state.last_sequence == 0 => {
                // A stream without a past gets whatever is kept.
                match self.read(1, Some(0)).await? {
                    Read::Events(_) => 0,
                    Read::Gap(next) => next.map_or(self.status.position, |next| next - 1),
                }
                .min(self.status.position)
            }
            None if first_look => self.status.position,
            None => session.at,
        };
        Ok(())
    }

    /// The position of the stream's last message, when it is one of our events.
    async fn position_of_last(&self, session: &Session) -> Result<Option<i64>, Fall> {
        let Some((position, id)) = message(session, session.last_sequence).await? else {
            return Ok(None);
        };
        // A stream that another database fed has other events at these positions.
        let same = match self.read(1, Some(position - 1)).await? {
            Read::Events(here) => here.first().is_some_and(|here| here.event_id.to_string() == id),
            Read::Gap(_) => false,
        };
        // What the stream is ahead counts when it has all of it: a message that somebody put there by hand has none before it.
        let ahead = u64::try_from(position - self.status.position).unwrap_or_default();
        let whole = ahead == 0
            || match session.last_sequence.checked_sub(ahead - 1) {
                Some(first) => message(session, first)
                    .await?
                    .is_some_and(|(position, _)| position == self.status.position + 1),
                None => false,
            };
        Ok((same && whole).then_some(position))
    }

    async fn read(&self, limit: i32, after: Option<i64>) -> Result<Read, Fall> {
        match self.store.fn_consumer_read(&self.options.consumer, limit, after).await {
            Ok(events) => Ok(Read::Events(events)),
            // Behind the relay's own position a gap is an end, behind another one it is an answer.
            Err(error) => match error.refusal() {
                Some(refusal) if refusal.code == Code::RE034 && after.is_some() => {
                    let next = refusal.problems.first().and_then(|p| p.facts.get("next")?.as_i64());
                    Ok(Read::Gap(next))
                }
                _ => Err(error.into()),
            },
        }
    }

    /// Brings the position in PostgreSQL up to what the stream has.
    async fn settle(&mut self, session: &mut Session) -> Result<(), Fall> {
        if session.at <= self.status.position {
            return Ok(());
        }
        let Options { consumer, principal, .. } = &self.options;
        let from = self.status.position;
        match self.store.fn_consumer_advance(consumer, from, session.at, principal).await {
            Ok(advanced) => self.status.position = advanced.position,
            Err(error) => {
                // Another relay of the name was faster: begin again from where it stands.
                if error.refusal().is_some_and(|refusal| refusal.code == Code::RE032) {
                    let words = "another relay of the name moved on";
                    return Err(Trouble::new(TroubleKind::Disturbed, words).into());
                }
                return Err(error.into());
            }
        }
        Ok(())
    }

    /// What comes behind what the stream has.
    async fn next(&self, session: &mut Session) -> Result<Vec<Outgoing>, Fall> {
        let position = self.status.position;
        let lost = (session.at < position).then_some(session.at);
        let events = match self.read(BATCH, lost).await? {
            Read::Events(events) => events,
            Read::Gap(next) => {
                // The stream lost what retention dropped as well; what comes behind it is not held back.
                let end = next.map_or(position, |next| position.min(next - 1));
                let Options { consumer, stream, .. } = &self.options;
                let from = session.at + 1;
                tracing::warn!(
                    consumer,
                    "stream {stream} lost events {from} to {end}, which are no longer kept"
                );
                session.at = end;
                return Box::pin(self.next(session)).await;
            }
        };
        if events.first().is_some_and(|first| first.position != session.at + 1) {
            let words = "another relay of the name moved on";
            return Err(Trouble::new(TroubleKind::Disturbed, words).into());
        }
        let prefix = &self.options.prefix;
        events.iter().map(|event| Outgoing::new(prefix, event)).collect()
    }

    /// Sends a batch. Moves the session to the last event of it that the stream has, with all before it.
    async fn publish(&mut self, session: &mut Session, batch: &[Outgoing]) -> Option<Trouble> {
        let mut acknowledgements = Vec::with_capacity(batch.len());
        let mut fall = None;
        let mut before: Option<&str> = None;
        for (expected, event) in (session.last_sequence..).zip(batch) {
            let mut message = PublishMessage::build()
                .payload(event.body.clone().into())
                .header("Content-Type", "application/cloudevents+json")
                .message_id(&event.id)
                .expected_stream(&self.options.stream)
                .expected_last_sequence(expected);
            if let Some(before) = before {
                message = message.expected_last_message_id(before);
            }
            before = Some(&event.id);
            let subject = event.subject.clone();
            tokio::select! {
                sent = session.context.send_publish(subject, message) => match sent {
                    Ok(acknowledgement) => acknowledgements.push(acknowledgement),
                    Err(error) => fall = Some(Trouble::of_publish(&error)),
                },
                () = session.connection.broke() => fall = Some(Trouble::gone()),
            }
            if fall.is_some() {
                break;
            }
        }
        for (event, acknowledgement) in batch.iter().zip(acknowledgements) {
            let taken = tokio::select! {
                taken = acknowledgement.into_future() => taken.map_err(|error| Trouble::of_publish(&error)),
                () = session.connection.broke() => Err(Trouble::gone()),
            };
            match taken {
                Ok(taken) if taken.duplicate => self.status.duplicates += 1,
                Ok(taken) => {
                    self.status.published += 1;
                    session.last_sequence = taken.sequence;
                }
                // What comes behind it was sent on the condition that this one is there.
                Err(trouble) => return Some(trouble),
            }
            session.at = event.position;
        }
        fall
    }
}

/// The position and id of the event in a message of the stream; `None` when there is no such message, or none with an event.
async fn message(session: &Session, sequence: u64) -> Result<Option<(i64, String)>, Fall> {
    let found = match session.stream.get_raw_message(sequence).await {
        Ok(found) => found,
        // Taken out by hand, or out of its time meanwhile.
        Err(error) if error.kind() == stream::LastRawMessageErrorKind::NoMessageFound => {
            return Ok(None);
        }
        Err(error) => {
            let words = format!("a message of the stream could not be read: {error}");
            return Err(Trouble::new(TroubleKind::Slow, words).into());
        }
    };
    let Ok(event) = serde_json::from_slice::<Value>(&found.payload) else { return Ok(None) };
    let position = event["sequence"].as_i64().filter(|position| *position > 0);
    Ok(position.zip(event["id"].as_str().map(str::to_owned)))
}

/// Ever longer, and never the same for two relays that lost the same server.
fn pause(attempts: u32) -> Duration {
    let longest = FIRST_PAUSE.saturating_mul(1 << attempts.min(10)).min(LONGEST_PAUSE);
    longest.mul_f64(rand::thread_rng().gen_range(0.5..1.0))
}

/// Waits; true when it was asked to end meanwhile.
async fn rest(pause: Duration, shutdown: &mut watch::Receiver<bool>) -> bool {
    tokio::select! {
        () = tokio::time::sleep(pause) => false,
        // Nobody left who could ask is as good as being asked.
        _ = shutdown.wait_for(|ended| *ended) => true,
    }
}
