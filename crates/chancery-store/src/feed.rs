//! What a process tells those who listen: events at their positions with where each is told, and who is still there to be told. Each
//! function has the name of the door it calls.

use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;
use uuid::Uuid;

use crate::fsm::decode;
use crate::{Error, Store};

/// A page of events.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct FeedPage {
    /// The last position there is.
    pub last: i64,
    /// How far this page reaches.
    pub upto: i64,
    /// Retention dropped something of it.
    pub missing: bool,
    /// The sequencer has something to do.
    pub unstamped: bool,
    pub events: Vec<FeedEvent>,
}

/// An event, and where it is told.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct FeedEvent {
    pub position: i64,
    #[serde(rename = "type")]
    pub event_type: String,
    pub kind: String,
    pub id: Uuid,
    pub seq: i64,
    pub from: Option<String>,
    pub to: String,
    pub at: String,
    pub trace_id: String,
    /// The run that it is part of: a step's is the run of its workflow.
    pub run_kind: String,
    pub run_id: Uuid,
    /// The classes that may see it; `None` is everyone.
    pub seen_by: Option<Vec<String>>,
    pub topics: Vec<FeedPlace>,
}

/// A topic under which an event is told, to those who have the permission, and to that principal alone where one is named.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(from = "PlaceRow")]
pub struct FeedPlace {
    pub key: String,
    pub permission: String,
    pub principal: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum PlaceRow {
    ForAll(String, String),
    ForOne(String, String, String),
}

impl From<PlaceRow> for FeedPlace {
    fn from(row: PlaceRow) -> Self {
        let (key, permission, principal) = match row {
            PlaceRow::ForAll(key, permission) => (key, permission, None),
            PlaceRow::ForOne(key, permission, principal) => (key, permission, Some(principal)),
        };
        Self { key, permission, principal }
    }
}

/// What somebody listens to.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct FeedTopics {
    /// The last position there is.
    pub position: i64,
    pub topics: Vec<FeedTopic>,
}

/// A topic as it was asked for, the key that events name, and what it needs.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct FeedTopic {
    pub topic: String,
    pub key: String,
    pub permission: String,
}

/// A session or token that is good, and what it may now.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct FeedListener {
    pub id: Uuid,
    pub principal: String,
    pub actor_classes: Vec<String>,
    pub permissions: Vec<String>,
}

/// A request for approval that is new, or has a new vote.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
pub struct FeedApproval {
    pub approval_id: Uuid,
    pub vote_id: Option<Uuid>,
}

impl Store {
    /// The events behind a position.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn fn_feed(&self, after: i64, limit: i32) -> Result<FeedPage, Error> {
        let page: Value = sqlx::query_scalar("select event.fn_feed($1, $2)")
            .bind(after)
            .bind(limit)
            .fetch_one(&self.pool)
            .await?;
        decode(page)
    }

    /// What these topics are and need. A run is named as `run:KIND:ID`.
    ///
    /// # Errors
    /// `Refused` when there is no such run or workflow.
    pub async fn fn_feed_topics(&self, topics: &[String]) -> Result<FeedTopics, Error> {
        let topics: Value = sqlx::query_scalar("select event.fn_feed_topics($1)")
            .bind(topics)
            .fetch_one(&self.pool)
            .await?;
        decode(topics)
    }

    /// Which of these sessions and tokens are still good.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn fn_feed_listeners(
        &self,
        sessions: &[Uuid],
        tokens: &[Uuid],
    ) -> Result<Vec<FeedListener>, Error> {
        let listeners: Value = sqlx::query_scalar("select event.fn_feed_listeners($1, $2)")
            .bind(sessions)
            .bind(tokens)
            .fetch_one(&self.pool)
            .await?;
        decode(listeners)
    }

    /// Requests for approval and votes of the last while.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn fn_feed_approvals(&self, back: Duration) -> Result<Vec<FeedApproval>, Error> {
        let approvals: Value =
            sqlx::query_scalar("select event.fn_feed_approvals(make_interval(secs => $1))")
                .bind(back.as_secs_f64())
                .fetch_one(&self.pool)
                .await?;
        decode(approvals)
    }

    /// Connections of the pool: open, and of these idle.
    pub fn connections(&self) -> (u32, usize) {
        (self.pool.size(), self.pool.num_idle())
    }
}
