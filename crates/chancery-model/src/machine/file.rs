//! The machine file: what a person writes.
//!
//! Parsing refuses unknown fields, unknown words and wrong types. Everything a well-formed file can
//! still get wrong (a name used twice, a state nobody reaches) is left to the checker, which reports
//! all of it at once.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Deserializer, Error as _};
use serde::{Deserialize, Serialize};

use super::vocabulary::{ActorClass, GuardKind, Lane, Scope, SemanticClass, Stream, TriggerKind};

/// One text in several languages: locale → text.
pub type Text = BTreeMap<String, String>;

/// A machine file, as written.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct File {
    pub machine: String,
    pub scope: Scope,
    pub version: String,
    pub description: String,
    /// What a run is started with, in the subset of [`super::schema_subset`].
    #[serde(default)]
    pub data: Option<serde_json::Value>,
    #[serde(default)]
    pub events: Vec<Event>,
    #[serde(default)]
    pub guards: Vec<Guard>,
    /// In order of display: the place in this list is the state's ordinal.
    pub states: Vec<DeclaredState>,
    pub transitions: Vec<DeclaredTransition>,
    #[serde(default)]
    pub invariants: Vec<Invariant>,
    #[serde(default)]
    pub rollup: Vec<Rollup>,
}

/// An event type the machine emits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Event {
    /// Dotted; the part before the first dot is the event's domain.
    #[serde(rename = "type")]
    pub event_type: String,
    pub description: String,
    #[serde(default = "default_stream")]
    pub stream: Stream,
    #[serde(default = "default_lane")]
    pub lane: Lane,
    /// What the payload extension must look like, in the subset of [`super::schema_subset`].
    #[serde(default = "any_object")]
    pub schema: serde_json::Value,
}

/// A named condition a transition may depend on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Guard {
    pub name: String,
    pub kind: GuardKind,
    /// A predicate over `{run, evidence, actor, config, now}`, in the part of SQL/JSON path that [`super::rule`] reads; config guards
    /// only.
    #[serde(default)]
    pub rule: Option<String>,
    /// What the guard reads besides the run, so that the engine can lock it first.
    #[serde(default)]
    pub reads: Vec<String>,
    pub description: String,
}

/// A state, as written.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeclaredState {
    pub code: String,
    pub class: SemanticClass,
    #[serde(default)]
    pub initial: bool,
    #[serde(default)]
    pub terminal: bool,
    /// Only passed inside a transaction, never stored; named by the `via` of a transition.
    #[serde(default)]
    pub conceptual: bool,
    pub color: String,
    pub icon: String,
    pub label: Text,
    pub message: Text,
    #[serde(default)]
    pub derived: Option<Derived>,
    #[serde(default)]
    pub facets: Vec<DeclaredFacet>,
}

/// Why a state above the floor exists, and what it shrinks to where only the floor is known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Derived {
    pub floor_equivalent: String,
    pub justification: String,
}

/// A finer word for a state; a state with facets is entered only with one of them.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeclaredFacet {
    pub code: String,
    /// With several facets at once, the lowest ordinal is shown first.
    pub ordinal: u32,
    pub icon: String,
    pub label: Text,
}

/// A transition, as written: every `from` × every `to` × every actor is one row.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeclaredTransition {
    pub id: String,
    #[serde(deserialize_with = "one_or_many")]
    pub from: Vec<String>,
    #[serde(deserialize_with = "one_or_many")]
    pub to: Vec<String>,
    #[serde(deserialize_with = "at_least_one_actor")]
    pub actors: Vec<ActorClass>,
    pub trigger: Trigger,
    #[serde(default)]
    pub guards: Vec<String>,
    #[serde(default)]
    pub event: Option<String>,
    /// The evidence must carry an `audit_ref`.
    #[serde(default)]
    pub audit: bool,
    /// What the evidence of the move must look like, in the subset of [`super::schema_subset`].
    #[serde(default)]
    pub evidence: Option<serde_json::Value>,
    #[serde(default)]
    pub rollback_to: Option<String>,
    #[serde(default)]
    pub via: Option<String>,
    /// Known, but closed until governance approves it.
    #[serde(default)]
    pub proposed: bool,
    /// Leaving a terminal state is meant.
    #[serde(default)]
    pub terminal_exit: bool,
}

/// What sets a transition off.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trigger {
    pub kind: TriggerKind,
    #[serde(rename = "ref")]
    pub reference: String,
}

/// A claim about the whole graph that the checker proves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "InvariantEntry")]
pub struct Invariant {
    pub id: String,
    pub why: String,
    #[serde(flatten)]
    pub claim: Claim,
}

/// The four forms of a claim.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Claim {
    /// No single transition leads from one of these states to one of those.
    NeverEdge(NeverEdge),
    /// No way of one or more transitions leads from one of these states to one of those.
    NeverPath(NeverPath),
    /// Every way from birth to a state passes another state.
    AlwaysVia(AlwaysVia),
    /// Two transitions are never in one hand.
    Separation(Separation),
}

/// See [`Claim::NeverEdge`].
///
/// `*` stands for every stored state. A birth is an edge out of `*` only when `actors` are named:
/// otherwise every machine would break "nothing leads to the initial state".
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NeverEdge {
    #[serde(deserialize_with = "one_or_many")]
    pub from: Vec<String>,
    #[serde(deserialize_with = "one_or_many")]
    pub to: Vec<String>,
    /// Targets the claim does not speak of.
    #[serde(default)]
    pub except: Vec<String>,
    /// Only rows of these actors; all rows when empty.
    #[serde(default)]
    pub actors: Vec<ActorClass>,
}

/// See [`Claim::NeverPath`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NeverPath {
    #[serde(deserialize_with = "one_or_many")]
    pub from: Vec<String>,
    #[serde(deserialize_with = "one_or_many")]
    pub to: Vec<String>,
}

/// See [`Claim::AlwaysVia`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AlwaysVia {
    pub to: String,
    pub visits: String,
}

/// See [`Claim::Separation`]: the actor classes are disjoint and the second edge carries the guard.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Separation {
    /// Labels of the earlier and the later transition.
    pub edges: [String; 2],
    pub guard: String,
}

/// How the colour of a workflow run follows from its steps.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rollup {
    pub policy: String,
    pub active: bool,
    #[serde(default = "empty_object")]
    pub config: serde_json::Value,
}

/// Where a machine file could not be understood, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    /// 1-based; absent when the file as a whole is at fault.
    pub line: Option<usize>,
    /// 1-based, like `line`.
    pub column: Option<usize>,
    /// What is wrong, with the way to it: `states[2].class: unknown variant …`.
    pub message: String,
}

impl File {
    /// Reads a machine file.
    pub fn parse(text: &str) -> Result<File, ParseError> {
        serde_yaml_ng::from_str(text).map_err(|error| ParseError::from(&error))
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let (Some(line), Some(column)) = (self.line, self.column) {
            write!(f, "line {line}, column {column}: ")?;
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for ParseError {}

impl From<&serde_yaml_ng::Error> for ParseError {
    fn from(error: &serde_yaml_ng::Error) -> Self {
        let mut message = error.to_string();
        let Some(at) = error.location() else {
            return Self { line: None, column: None, message };
        };
        // The library repeats the place in its text; one place is enough.
        let place = format!(" at line {} column {}", at.line(), at.column());
        if message.ends_with(&place) {
            message.truncate(message.len() - place.len());
        }
        Self { line: Some(at.line()), column: Some(at.column()), message }
    }
}

/// The written form of [`Invariant`]: exactly one of the four forms is filled in.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct InvariantEntry {
    id: String,
    why: String,
    never_edge: Option<NeverEdge>,
    never_path: Option<NeverPath>,
    always_via: Option<AlwaysVia>,
    separation: Option<Separation>,
}

impl TryFrom<InvariantEntry> for Invariant {
    type Error = String;

    fn try_from(entry: InvariantEntry) -> Result<Self, String> {
        let InvariantEntry { id, why, never_edge, never_path, always_via, separation } = entry;
        let mut claims = [
            never_edge.map(Claim::NeverEdge),
            never_path.map(Claim::NeverPath),
            always_via.map(Claim::AlwaysVia),
            separation.map(Claim::Separation),
        ]
        .into_iter()
        .flatten();
        match (claims.next(), claims.next()) {
            (Some(claim), None) => Ok(Self { id, why, claim }),
            (None, _) | (Some(_), Some(_)) => Err(format!(
                "invariant {id} needs exactly one of never_edge, never_path, always_via, separation"
            )),
        }
    }
}

fn default_stream() -> Stream {
    Stream::Update
}

fn default_lane() -> Lane {
    Lane::Immediate
}

fn any_object() -> serde_json::Value {
    serde_json::json!({ "type": "object" })
}

fn empty_object() -> serde_json::Value {
    serde_json::json!({})
}

/// A name alone, or a list of names; an empty list would make a transition vanish unseen.
fn one_or_many<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "expected a name or a list of names")]
    enum Names {
        One(String),
        Many(Vec<String>),
    }
    match Names::deserialize(deserializer)? {
        Names::One(name) => Ok(vec![name]),
        Names::Many(names) if names.is_empty() => Err(D::Error::custom("the list is empty")),
        Names::Many(names) => Ok(names),
    }
}

fn at_least_one_actor<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<ActorClass>, D::Error> {
    let actors = Vec::<ActorClass>::deserialize(deserializer)?;
    if actors.is_empty() {
        return Err(D::Error::custom("a transition needs at least one actor"));
    }
    Ok(actors)
}
