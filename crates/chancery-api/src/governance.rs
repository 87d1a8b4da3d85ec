//! What is wrong, what happened, and what is said about it in a line.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::id::{IssueId, SummaryId};
use crate::route::{Access, Endpoint, Nothing, Route};

/// The page of problems: eight categories, the worst first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Problems {
    pub checked_at: String,
    /// One sentence.
    pub headline_en: String,
    pub headline_vi: String,
    pub total: i64,
    /// The category to look at first.
    pub worst: Option<String>,
    pub categories: Vec<Category>,
}

/// A category, counted by the view that lists it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Category {
    pub category: String,
    pub name_en: String,
    pub name_vi: String,
    pub permission: String,
    /// Whether the reader may not see it; then nothing below is told.
    pub hidden: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub causes: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub severity: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oldest: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub what_to_do_en: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub what_to_do_vi: Option<String>,
}

/// Which problems of a category.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProblemQuery {
    /// Those of one cause.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 500))]
    pub cause: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 2000))]
    pub after: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 500))]
    pub limit: Option<u16>,
}

/// Problems that have one cause.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Group {
    pub cause: String,
    pub count: i64,
    pub oldest: String,
    pub severity: String,
}

/// One problem.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProblemItem {
    pub category: String,
    pub item_id: String,
    pub cause: String,
    pub severity: String,
    pub since: String,
    pub title_en: String,
    pub title_vi: String,
    pub facts: Map<String, Value>,
    pub trace_id: Option<String>,
    pub run_kind: Option<String>,
    pub run_id: Option<Uuid>,
    pub issue_id: Option<IssueId>,
}

/// A page of problems, and all their causes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProblemPage {
    pub category: String,
    pub groups: Vec<Group>,
    pub items: Vec<ProblemItem>,
    pub next: Option<String>,
}

/// One problem with its story.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProblemShown {
    #[serde(flatten)]
    pub problem: ProblemItem,
    pub what_to_do_en: String,
    pub what_to_do_vi: String,
    /// The finding about it, with its history.
    pub finding: Option<Map<String, Value>>,
    pub timeline: Timeline,
}

/// What happened, in order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Timeline {
    pub items: Vec<TimelineItem>,
    pub next: Option<String>,
}

/// One thing that happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TimelineItem {
    pub at: String,
    pub source: String,
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

/// What the timeline is of: a trace, an entity or a window; one of them at least.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TimelineQuery {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 32))]
    pub trace: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 100))]
    pub entity_kind: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 200))]
    pub entity_id: Option<String>,
    /// RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 2000))]
    pub after: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 500))]
    pub limit: Option<u16>,
}

/// What a person says about a finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IssueAnswer {
    #[schemars(length(min = 1, max = 2000))]
    pub reason: String,
    /// The class to act in.
    #[schemars(length(min = 1, max = 63))]
    pub actor_class: String,
}

/// Of which category.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SummaryQuery {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 63))]
    pub category: Option<String>,
}

/// Summaries, the newest of each subject.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Summaries {
    pub items: Vec<Summary>,
}

/// What is said in a line, with what it rests on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    pub summary_id: SummaryId,
    pub category: String,
    pub subject: String,
    /// `green`, `yellow` or `red`.
    pub state: String,
    pub text_en: String,
    pub text_vi: String,
    pub facts: Map<String, Value>,
    pub source_event_count: i64,
    pub source_event_total: i64,
    pub source_event_refs: Vec<String>,
    pub time_window: Window,
    pub generated_by: GeneratedBy,
    pub confidence: Option<f64>,
    /// Shown as such, and never the end of a problem.
    pub low_confidence: bool,
    pub trace_id: Option<String>,
    pub prior_summary_id: Option<SummaryId>,
    pub resolved_by: Option<Uuid>,
    pub put_by: String,
    pub created_at: String,
}

/// A summary that is to be put. The database judges it, so that whatever is wrong with it is refused with its code and kept on record;
/// the schema is for those who write one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(with = "SummaryDocument")]
pub struct NewSummary(pub Map<String, Value>);

/// What is to be said in a line, with what it rests on.
#[derive(JsonSchema)]
#[schemars(rename = "NewSummary")]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "its schema is what it is for")]
struct SummaryDocument {
    /// One of the eight categories of problems, or `executors`.
    category: String,
    /// `*`, or the name of one item of the category.
    #[schemars(length(min = 1, max = 500))]
    subject: String,
    /// `green`, `yellow` or `red`.
    #[schemars(regex(pattern = "^(green|yellow|red)$"))]
    state: String,
    /// One line.
    #[schemars(length(min = 1, max = 500))]
    text_en: String,
    /// One line.
    #[schemars(length(min = 1, max = 500))]
    text_vi: String,
    /// Without contents or secrets.
    #[serde(default)]
    facts: Map<String, Value>,
    /// How many sources it rests on; at least one.
    #[schemars(range(min = 1))]
    source_event_count: i64,
    /// Needed when more are counted than named.
    #[serde(default)]
    source_event_total: Option<i64>,
    /// The sources, at most the first 100.
    #[schemars(length(min = 1, max = 100))]
    source_event_refs: Vec<String>,
    time_window: Window,
    generated_by: GeneratedBy,
    /// From 0 to 1; an agent always says it.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1.0))]
    confidence: Option<f64>,
    /// 32 hexadecimal digits.
    #[serde(default)]
    trace_id: Option<String>,
    /// The event that ended the problem, where green follows yellow or red.
    #[serde(default)]
    resolved_by: Option<Uuid>,
}

/// From when until when.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Window {
    pub start_at: String,
    pub end_at: String,
}

/// Who says so.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GeneratedBy {
    /// `sql_fn`, `deterministic_rule` or `ai_agent`.
    pub summarizer_kind: String,
    pub summarizer_ref: String,
    pub summarizer_version: String,
}

/// A summary with what it rests on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SummaryShown {
    #[serde(flatten)]
    pub summary: Summary,
    pub timeline: Timeline,
}

pub const PROBLEMS: Endpoint<Nothing, Nothing, Problems> = Endpoint::get(
    "problems",
    "/v1/problems",
    Access::Permission("problems.read"),
    "What is wrong now: eight categories, the worst first.",
);
pub const PROBLEM_LIST: Endpoint<ProblemQuery, Nothing, ProblemPage> = Endpoint::get(
    "problem_list",
    "/v1/problems/{category}",
    Access::Permission("problems.read"),
    "The problems of a category, with their causes.",
);
pub const PROBLEM: Endpoint<Nothing, Nothing, ProblemShown> = Endpoint::get(
    "problem",
    "/v1/problems/{category}/{item}",
    Access::Permission("problems.read"),
    "One problem, the finding about it, and what happened.",
);
pub const ISSUE_ACKNOWLEDGE: Endpoint<Nothing, IssueAnswer, Map<String, Value>> = Endpoint::post(
    "issue_acknowledge",
    "/v1/issues/{issue}/acknowledge",
    Access::Permission("problems.settle"),
    "Take a finding up.",
)
.signed();
pub const ISSUE_RESOLVE: Endpoint<Nothing, IssueAnswer, Map<String, Value>> = Endpoint::post(
    "issue_resolve",
    "/v1/issues/{issue}/resolve",
    Access::Permission("problems.settle"),
    "Settle a finding.",
)
.signed();
pub const TIMELINE: Endpoint<TimelineQuery, Nothing, Timeline> = Endpoint::get(
    "timeline",
    "/v1/timeline",
    Access::Permission("workflow.read"),
    "What happened to a trace, an entity or in a window: everything for who may read the audit, one's own for others.",
);
pub const SUMMARIES: Endpoint<SummaryQuery, Nothing, Summaries> = Endpoint::get(
    "summary_list",
    "/v1/summaries",
    Access::Permission("problems.read"),
    "What is said in a line about categories and executor classes.",
);
pub const SUMMARY: Endpoint<Nothing, Nothing, SummaryShown> = Endpoint::get(
    "summary",
    "/v1/summaries/{summary}",
    Access::Permission("problems.read"),
    "A summary with the events it rests on.",
);
pub const SUMMARY_PUT: Endpoint<Nothing, NewSummary, Summary> = Endpoint::post(
    "summary_put",
    "/v1/summaries",
    Access::Permission("summary.write"),
    "Put a summary; the database refuses what its sources do not bear.",
)
.status(201);

pub(crate) const ROUTES: &[&Route] = &[
    &PROBLEMS.route,
    &PROBLEM_LIST.route,
    &PROBLEM.route,
    &ISSUE_ACKNOWLEDGE.route,
    &ISSUE_RESOLVE.route,
    &TIMELINE.route,
    &SUMMARIES.route,
    &SUMMARY.route,
    &SUMMARY_PUT.route,
];
