//! What changes, told as it happens.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::route::{Access, Endpoint, Nothing, Route, Shape};

/// What to listen to, and from where on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Listen {
    /// Up to 20 topics, separated by commas: `run:ID` (of a workflow, a custom machine, the orchestrator, an entry, a proposal),
    /// `workflow:NAME`, `problems`, `inbox`, `approvals`.
    #[schemars(length(min = 1, max = 2000))]
    pub topics: String,
    /// The position of the last event that was seen; the header `Last-Event-ID` says the same and goes first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub after: Option<i64>,
}

/// The data of an event: references only. Whoever wants more asks for the thing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Told {
    pub position: i64,
    /// Such as `step.completed`; `hello`, `gap` and `approval.changed` are the feed's own.
    #[serde(rename = "type")]
    pub kind: String,
    pub subject: Subject,
    /// The number of the move.
    pub seq: i64,
    pub from: Option<String>,
    pub to: String,
    pub at: String,
    pub trace_id: String,
    /// The run that the subject is part of.
    pub run: Subject,
}

/// A thing: its kind, and its id as routes take it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Subject {
    pub kind: String,
    pub id: String,
}

/// What `hello` and `gap` carry: behind this position everything is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct From {
    pub position: i64,
}

pub const EVENTS: Endpoint<Listen, Nothing, Nothing> = Endpoint::get(
    "events",
    "/v1/events",
    Access::Permission("self.read"),
    "Listen to what changes, as Server-Sent Events.",
)
.shape(Shape::Events);

pub const METRICS: Endpoint<Nothing, Nothing, Nothing> = Endpoint::get(
    "metrics",
    "/metrics",
    Access::Permission("queue.read"),
    "Figures of this process, as Prometheus reads them.",
)
.shape(Shape::Text);

pub(crate) const ROUTES: &[&Route] = &[&EVENTS.route, &METRICS.route];
