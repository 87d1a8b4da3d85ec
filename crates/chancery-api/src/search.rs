//! Finding things by what they are called.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Nothing;
use crate::action::Title;
use crate::id::WorkflowRunId;
use crate::route::{Access, Endpoint, Route};

/// What is looked for. Accents and case count for nothing, and đ is d.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SearchQuery {
    #[schemars(length(min = 1, max = 200))]
    pub q: String,
    /// Kinds, separated by commas: `step`, `workflow`, `run`, `document`, `unit`, `kb`, `principal`. All when it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 200))]
    pub kinds: Option<String>,
    /// Only the steps of this run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<WorkflowRunId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 100))]
    pub limit: Option<u16>,
}

/// What was found, the best first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Found {
    pub items: Vec<Hit>,
}

/// One thing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Hit {
    pub kind: String,
    /// What it is asked for by.
    pub id: String,
    pub name: String,
    #[serde(default)]
    pub title: Option<Title>,
    /// What it belongs to.
    #[serde(default)]
    pub of: Option<String>,
    #[serde(default)]
    pub state: Option<String>,
}

pub const SEARCH: Endpoint<SearchQuery, Nothing, Found> = Endpoint::get(
    "search",
    "/v1/search",
    Access::Permission("workflow.read"),
    "What is called like this, as far as the reader may see it.",
);

pub(crate) const ROUTES: &[&Route] = &[&SEARCH.route];
