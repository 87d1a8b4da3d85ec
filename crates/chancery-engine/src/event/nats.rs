//! NATS, as far as we use it: a connection that says when it is gone, and what its errors mean.

use std::fmt;
use std::time::Duration;

use async_nats::jetstream::context::{
    CreateStreamErrorKind, GetStreamErrorKind, PublishError, PublishErrorKind, RequestErrorKind,
};
use async_nats::jetstream::{self, ErrorCode};
use async_nats::{Client, ConnectErrorKind, ConnectOptions, Event, ServerAddr};
use serde::Serialize;
use tokio::sync::watch;

/// An answer that takes longer counts as none.
pub(super) const ANSWER: Duration = Duration::from_secs(5);

/// The servers of one NATS system. Shown without what lets us in.
#[derive(Clone)]
pub struct Servers(Vec<ServerAddr>);

impl Servers {
    /// Reads addresses: `nats://[USER:PASSWORD@]HOST[:PORT]`, `tls://…`.
    ///
    /// # Errors
    /// Words about the first one that is none. They do not repeat it: it may hold a password.
    pub fn parse<'a>(addresses: impl IntoIterator<Item = &'a str>) -> Result<Self, String> {
        let mut servers = Vec::new();
        for (n, address) in addresses.into_iter().enumerate() {
            let server = address.trim().parse::<ServerAddr>().ok();
            let server = server
                .filter(|server| !server.host().is_empty())
                .ok_or_else(|| format!("server {} is no address like nats://HOST:PORT", n + 1))?;
            if !["nats", "tls"].contains(&server.scheme()) {
                return Err(format!("server {} is not reached by nats:// or tls://", n + 1));
            }
            servers.push(server);
        }
        if servers.is_empty() { Err("there is no server".to_owned()) } else { Ok(Self(servers)) }
    }
}

impl fmt::Display for Servers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, server) in self.0.iter().enumerate() {
            let comma = if n == 0 { "" } else { ", " };
            write!(f, "{comma}{}:{}", server.host(), server.port())?;
        }
        Ok(())
    }
}

impl fmt::Debug for Servers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Servers({self})")
    }
}

/// Why events do not flow for now. All of it can pass, so all of it is tried again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TroubleKind {
    /// No NATS server answers.
    Away,
    /// The server does not let us in.
    Denied,
    /// The server, or our account there, has no JetStream.
    NoJetstream,
    /// The stream or its storage takes nothing more.
    Full,
    /// The server answers, but not in time.
    Slow,
    /// The server refuses for another reason.
    Refused,
    /// Somebody else writes into the stream.
    Disturbed,
    /// PostgreSQL does not answer.
    Database,
}

/// What keeps events from flowing, in words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Trouble {
    pub kind: TroubleKind,
    pub message: String,
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Trouble {
    pub(super) fn new(kind: TroubleKind, message: impl fmt::Display) -> Self {
        Self { kind, message: message.to_string() }
    }

    pub(super) fn gone() -> Self {
        Self::new(TroubleKind::Away, "the connection to the NATS server broke")
    }

    /// What an error of the JetStream API means.
    pub(super) fn of_api(error: &jetstream::Error) -> Self {
        let kind = match error.error_code() {
            ErrorCode::JETSTREAM_NOT_ENABLED
            | ErrorCode::JETSTREAM_NOT_ENABLED_FOR_ACCOUNT
            | ErrorCode::NO_ACCOUNT => TroubleKind::NoJetstream,
            ErrorCode::STREAM_STORE_FAILED
            | ErrorCode::STORAGE_RESOURCES_EXCEEDED
            | ErrorCode::MEMORY_RESOURCES_EXCEEDED
            | ErrorCode::INSUFFICIENT_RESOURCES
            | ErrorCode::ACCOUNT_RESOURCES_EXCEEDED
            | ErrorCode::STREAM_MAX_STREAM_BYTES_EXCEEDED => TroubleKind::Full,
            _ => TroubleKind::Refused,
        };
        Self::new(kind, format!("JetStream says: {error}"))
    }

    pub(super) fn of_publish(error: &PublishError) -> Self {
        let said =
            std::error::Error::source(error).and_then(|e| e.downcast_ref::<jetstream::Error>());
        match error.kind() {
            PublishErrorKind::TimedOut => {
                Self::new(TroubleKind::Slow, "the NATS server did not acknowledge in time")
            }
            PublishErrorKind::BrokenPipe => Self::gone(),
            PublishErrorKind::StreamNotFound => {
                Self::new(TroubleKind::Refused, "the stream is gone")
            }
            PublishErrorKind::WrongLastMessageId | PublishErrorKind::WrongLastSequence => {
                Self::new(TroubleKind::Disturbed, "somebody else writes into the stream")
            }
            PublishErrorKind::MaxAckPending | PublishErrorKind::MaxPayloadExceeded => {
                Self::new(TroubleKind::Refused, error)
            }
            PublishErrorKind::Other => {
                said.map_or_else(|| Self::new(TroubleKind::Refused, error), Self::of_api)
            }
        }
    }

    pub(super) fn of_get(error: &jetstream::context::GetStreamError) -> Self {
        match error.kind() {
            GetStreamErrorKind::JetStream(said) => Self::of_api(&said),
            GetStreamErrorKind::Request => {
                let why = std::error::Error::source(error)
                    .and_then(|e| e.downcast_ref::<jetstream::context::RequestError>())
                    .map(jetstream::context::RequestError::kind);
                Self::of_request(why)
            }
            GetStreamErrorKind::EmptyName | GetStreamErrorKind::InvalidStreamName => {
                Self::new(TroubleKind::Refused, error)
            }
        }
    }

    pub(super) fn of_create(error: &jetstream::context::CreateStreamError) -> Self {
        match error.kind() {
            CreateStreamErrorKind::JetStream(said) => Self::of_api(&said),
            CreateStreamErrorKind::JetStreamUnavailable => {
                Self::of_request(Some(RequestErrorKind::NoResponders))
            }
            CreateStreamErrorKind::TimedOut => Self::of_request(Some(RequestErrorKind::TimedOut)),
            CreateStreamErrorKind::EmptyStreamName
            | CreateStreamErrorKind::InvalidStreamName
            | CreateStreamErrorKind::DomainAndExternalSet
            | CreateStreamErrorKind::Response
            | CreateStreamErrorKind::NotFound
            | CreateStreamErrorKind::ResponseParse => Self::new(TroubleKind::Refused, error),
        }
    }

    fn of_request(kind: Option<RequestErrorKind>) -> Self {
        match kind {
            Some(RequestErrorKind::NoResponders) => Self::new(
                TroubleKind::NoJetstream,
                "the NATS server has no JetStream (start it with -js), or not for this account",
            ),
            Some(RequestErrorKind::TimedOut) => {
                Self::new(TroubleKind::Slow, "JetStream did not answer in time")
            }
            Some(RequestErrorKind::InvalidSubject | RequestErrorKind::Other) | None => {
                Self::new(TroubleKind::Away, "JetStream could not be asked")
            }
        }
    }
}

/// A connection. It does not come back by itself: who uses it looks first at what the server has.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) client: Client,
    gone: watch::Receiver<bool>,
}

impl Connection {
    pub(super) async fn open(servers: &Servers, name: &str) -> Result<Self, Trouble> {
        let (tell, gone) = watch::channel(false);
        let options = ConnectOptions::new()
            .name(name)
            .connection_timeout(ANSWER)
            .request_timeout(Some(ANSWER))
            .max_reconnects(1)
            .event_callback(move |event| {
                if matches!(event, Event::Disconnected | Event::Closed) {
                    tell.send_replace(true);
                }
                std::future::ready(())
            });
        let client = options.connect(servers.0.clone()).await.map_err(|error| {
            let kind = match error.kind() {
                ConnectErrorKind::Authentication | ConnectErrorKind::AuthorizationViolation => {
                    TroubleKind::Denied
                }
                ConnectErrorKind::ServerParse
                | ConnectErrorKind::Dns
                | ConnectErrorKind::TimedOut
                | ConnectErrorKind::Tls
                | ConnectErrorKind::Io
                | ConnectErrorKind::MaxReconnects => TroubleKind::Away,
            };
            Trouble::new(kind, format!("no NATS server answers at {servers}: {error}"))
        })?;
        Ok(Self { client, gone })
    }

    pub(super) fn jetstream(&self) -> jetstream::Context {
        jetstream::ContextBuilder::new().timeout(ANSWER).build(self.client.clone())
    }

    /// Waits until the connection breaks.
    pub(super) async fn broke(&mut self) {
        // A channel without a sender belongs to a client that ended.
        let _ = self.gone.wait_for(|gone| *gone).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// No password in logs.
    #[test]
    fn servers_are_shown_without_what_lets_us_in() {
        let servers = Servers::parse(["nats://me:geheim@a.example", " tls://b.example:4333"]);
        let servers = servers.expect("two servers");
        assert_eq!(servers.to_string(), "a.example:4222, b.example:4333");
        assert!(!format!("{servers:?}").contains("geheim"));
        for wrong in ["", "http://a.example", "nats://me:geheim@:x"] {
            let said = Servers::parse([wrong]).expect_err(wrong);
            assert!(!said.contains("geheim"), "{said}");
        }
    }
}
