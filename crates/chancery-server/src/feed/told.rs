//! An event as it goes over the wire: made once, shared by everybody who is told.

use std::collections::HashSet;
use std::fmt::Write as _;

use axum::body::Bytes;
use chancery_api::events::{From as Position, Subject, Told};
use chancery_store::feed::{FeedEvent, FeedPlace};
use serde::Serialize;
use uuid::Uuid;

/// Kinds of runs by the prefix of their ids.
pub(crate) const PREFIXES: [(&str, &str); 10] = [
    ("workflow_run", "wfr"),
    ("custom", "run"),
    ("orchestrator_run", "orc"),
    ("cut_request", "ent"),
    ("workflow_change", "chg"),
    ("proposal", "prp"),
    ("step", "stp"),
    ("task", "tsk"),
    ("job", "job"),
    ("finding", "iss"),
];

/// What somebody may who listens.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Rights {
    pub(crate) principal: String,
    pub(crate) classes: Vec<String>,
    pub(crate) permissions: HashSet<String>,
}

/// An event in the ring.
#[derive(Debug)]
pub(crate) struct Event {
    pub(crate) position: i64,
    pub(crate) places: Vec<FeedPlace>,
    seen_by: Option<Vec<String>>,
    pub(crate) frame: Bytes,
}

impl Event {
    pub(crate) fn new(event: FeedEvent) -> Self {
        let FeedEvent { position, seen_by, topics: places, .. } = event;
        let told = Told {
            position,
            kind: event.event_type,
            subject: subject(&event.kind, event.id),
            seq: event.seq,
            from: event.from,
            to: event.to,
            at: event.at,
            trace_id: event.trace_id,
            run: subject(&event.run_kind, event.run_id),
        };
        let frame = frame(Some(position), &told.kind, &told);
        Self { position, places, seen_by, frame }
    }

    /// Whether who listens to these keys is told of it.
    pub(crate) fn is_for(&self, keys: &[String], rights: &Rights) -> bool {
        let seen = self
            .seen_by
            .as_ref()
            .is_none_or(|classes| classes.iter().any(|class| rights.classes.contains(class)));
        seen && self.places.iter().any(|place| {
            keys.contains(&place.key)
                && rights.permissions.contains(&place.permission)
                && place.principal.as_ref().is_none_or(|one| *one == rights.principal)
        })
    }
}

fn subject(kind: &str, id: Uuid) -> Subject {
    let id = PREFIXES.iter().find(|(known, _)| *known == kind).map_or_else(
        // It has no routes of its own.
        || id.to_string(),
        |(_, prefix)| format!("{prefix}_{}", id.simple()),
    );
    Subject { kind: kind.to_owned(), id }
}

/// One event as Server-Sent Events write it. JSON has no line breaks of its own, and words of events are plain.
fn frame(position: Option<i64>, kind: &str, data: &impl Serialize) -> Bytes {
    let mut text = String::with_capacity(512);
    if let Some(position) = position {
        let _ = writeln!(text, "id: {position}");
    }
    let data = serde_json::to_string(data).expect("references are plain data");
    let _ = write!(text, "event: {kind}\ndata: {data}\n\n");
    text.into()
}

/// The first one of a new stream, or what a stream that missed something is told: behind this position everything comes.
pub(crate) fn from(kind: &str, position: i64) -> Bytes {
    frame(Some(position), kind, &Position { position })
}

/// A request for approval changed; without one, perhaps some did. It has no position, and is worth a look at what one shows.
pub(crate) fn approval_changed(approval: Option<Uuid>) -> Bytes {
    #[derive(Serialize)]
    struct Changed {
        #[serde(rename = "type")]
        kind: &'static str,
        subject: Option<Subject>,
    }
    let subject = approval
        .map(|id| Subject { kind: "approval".to_owned(), id: format!("apr_{}", id.simple()) });
    frame(None, "approval.changed", &Changed { kind: "approval.changed", subject })
}
