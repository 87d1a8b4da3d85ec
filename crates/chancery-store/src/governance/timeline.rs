//! What happened across all rooms, by trace, entity or window; never a tail of everything.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use crate::fsm::decode;
use crate::{Error, Store};

/// What a timeline is asked for: a trace, an entity with its kind, or a window.
#[derive(Debug, Clone, Copy, Default)]
pub struct Asked<'a> {
    pub trace: Option<&'a str>,
    /// Kind and id.
    pub entity: Option<(&'a str, &'a str)>,
    /// Microseconds since 1970.
    pub from_micros: Option<i64>,
    /// Microseconds since 1970.
    pub to_micros: Option<i64>,
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimelineRow {
    pub at: String,
    /// `move`, `refused`, `unit`, `approval`, `vote`, `decision`, `heartbeat`, `identity` or `summary`.
    pub source: String,
    /// Tells it apart from everything else that happened at the same time.
    pub key: String,
    pub trace_id: Option<String>,
    pub correlation_id: Option<String>,
    pub entity_kind: String,
    pub entity_id: String,
    pub seq: Option<i64>,
    pub from: Option<String>,
    pub to: Option<String>,
    pub event_type: Option<String>,
    pub event_id: Option<Uuid>,
    pub principal: String,
    pub actor_class: Option<String>,
    pub signed: bool,
    pub reason: Option<String>,
}

/// A page of a timeline, in the order of time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimelinePage {
    pub items: Vec<TimelineRow>,
    /// Leads to the next page.
    pub next: Option<String>,
}

impl Store {
    /// A page of what happened, as far as the reader may see it.
    ///
    /// # Errors
    /// `Refused` when nothing bounds the question, the window is too wide, or the cursor is none.
    pub async fn fn_timeline(
        &self,
        reader: &str,
        asked: &Asked<'_>,
        after: Option<&str>,
        limit: Option<i32>,
    ) -> Result<TimelinePage, Error> {
        let page: Value = sqlx::query_scalar(limited!(
            "$9",
            "audit.fn_timeline($1, $2, $3, $4, timestamptz 'epoch' + $5 * interval '1 microsecond',
                                   timestamptz 'epoch' + $6 * interval '1 microsecond', $7, $8)"
        ))
        .bind(reader)
        .bind(asked.trace)
        .bind(asked.entity.map(|(kind, _)| kind))
        .bind(asked.entity.map(|(_, id)| id))
        .bind(asked.from_micros)
        .bind(asked.to_micros)
        .bind(after)
        .bind(limit)
        .bind(self.limit())
        .fetch_one(&self.pool)
        .await?;
        decode(page)
    }
}
