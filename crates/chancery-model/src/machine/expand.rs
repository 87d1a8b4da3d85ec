//! The expanded form of a machine: what the checker proves and the database stores.
//!
//! Serialised, it is the one JSON document PostgreSQL receives. The same file gives the same bytes.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::file::{
    DeclaredState, DeclaredTransition, Derived, Event, File, Guard, Invariant, Rollup, Text,
};
use super::vocabulary::{ActorClass, BIRTH, Scope, SemanticClass, TriggerKind};

/// A machine with every list multiplied out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Definition {
    pub machine: String,
    pub scope: Scope,
    pub version: String,
    pub description: String,
    /// Left out where the file declares none, so that the document of an older file stays what it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<serde_json::Value>,
    /// The first state marked initial; the checker refuses none and several.
    pub initial_state: Option<String>,
    pub states: Vec<State>,
    pub transitions: Vec<Transition>,
    pub guards: Vec<Guard>,
    pub events: Vec<Event>,
    pub invariants: Vec<Invariant>,
    pub rollup: Vec<Rollup>,
    pub messages: Vec<Message>,
}

/// A state with its ordinal and the keys of its texts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    pub code: String,
    /// 1-based place in the file.
    pub ordinal: usize,
    pub class: SemanticClass,
    pub initial: bool,
    pub terminal: bool,
    pub conceptual: bool,
    pub color: String,
    pub icon: String,
    pub label_key: String,
    pub message_key: String,
    pub derived: Option<Derived>,
    pub facets: Vec<Facet>,
}

/// A facet with the key of its text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facet {
    pub code: String,
    pub ordinal: u32,
    pub icon: String,
    pub label_key: String,
}

/// One stored row: one way for one actor class from one state to one other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Transition {
    /// `<machine>@<version>#<label>:<from or ∅>><to>/<actor>`.
    pub transition_id: String,
    pub label: String,
    /// Nothing for the birth of a run.
    pub from: Option<String>,
    pub to: String,
    pub actor: ActorClass,
    pub trigger_kind: TriggerKind,
    pub trigger_ref: String,
    pub guards: Vec<String>,
    pub event: Option<String>,
    pub audit: bool,
    /// Left out where the file declares none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<serde_json::Value>,
    pub rollback_to: Option<String>,
    pub via: Option<String>,
    pub proposed: bool,
    /// As declared for the whole transition, so also true on its rows that leave other states.
    pub terminal_exit: bool,
    /// Which transition of the file the row came from: two of them may wrongly share a label.
    #[serde(skip)]
    pub declaration: usize,
}

/// One text in one language.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Message {
    pub key: String,
    pub locale: String,
    pub text: String,
}

impl Definition {
    /// The id under which the registry knows this version: `<machine>@<version>`.
    pub fn id(&self) -> String {
        format!("{}@{}", self.machine, self.version)
    }

    /// The definition that a document of the registry holds.
    ///
    /// # Errors
    /// When the document is of another shape than this crate writes.
    pub fn from_document(document: &serde_json::Value) -> Result<Self, serde_json::Error> {
        let mut definition = Self::deserialize(document)?;
        // The document does not say which rows were one declaration. In the registry labels are unique, and the rows of one
        // stand together.
        let mut declaration = 0;
        for index in 1..definition.transitions.len() {
            if definition.transitions[index].label != definition.transitions[index - 1].label {
                declaration += 1;
            }
            definition.transitions[index].declaration = declaration;
        }
        Ok(definition)
    }

    /// The state of that code.
    pub fn state(&self, code: &str) -> Option<&State> {
        self.states.iter().find(|state| state.code == code)
    }
}

impl Transition {
    /// The state the row leaves, [`BIRTH`] for none.
    pub fn from_code(&self) -> &str {
        self.from.as_deref().unwrap_or(BIRTH)
    }
}

impl From<&File> for Definition {
    fn from(file: &File) -> Self {
        let states = file
            .states
            .iter()
            .enumerate()
            .map(|(index, state)| expand_state(file, index + 1, state))
            .collect();
        let transitions = file
            .transitions
            .iter()
            .enumerate()
            .flat_map(|(index, transition)| expand_transition(file, index, transition))
            .collect();
        Self {
            machine: file.machine.clone(),
            scope: file.scope,
            version: file.version.clone(),
            description: file.description.clone(),
            data: file.data.clone(),
            initial_state: file.states.iter().find(|s| s.initial).map(|s| s.code.clone()),
            states,
            transitions,
            guards: file.guards.clone(),
            events: file.events.clone(),
            invariants: file.invariants.clone(),
            rollup: file.rollup.clone(),
            messages: collect_messages(file),
        }
    }
}

fn expand_state(file: &File, ordinal: usize, state: &DeclaredState) -> State {
    let facets = state.facets.iter().map(|facet| Facet {
        code: facet.code.clone(),
        ordinal: facet.ordinal,
        icon: facet.icon.clone(),
        label_key: facet_key(file, &facet.code),
    });
    State {
        code: state.code.clone(),
        ordinal,
        class: state.class,
        initial: state.initial,
        terminal: state.terminal,
        conceptual: state.conceptual,
        color: state.color.clone(),
        icon: state.icon.clone(),
        label_key: state_key(file, &state.code, "label"),
        message_key: state_key(file, &state.code, "short"),
        derived: state.derived.clone(),
        facets: facets.collect(),
    }
}

fn expand_transition(
    file: &File,
    declaration: usize,
    declared: &DeclaredTransition,
) -> Vec<Transition> {
    let mut rows = Vec::new();
    for from in &declared.from {
        for to in &declared.to {
            for &actor in &declared.actors {
                rows.push(Transition {
                    transition_id: format!(
                        "{}@{}#{}:{from}>{to}/{actor}",
                        file.machine, file.version, declared.id
                    ),
                    label: declared.id.clone(),
                    from: (from != BIRTH).then(|| from.clone()),
                    to: to.clone(),
                    actor,
                    trigger_kind: declared.trigger.kind,
                    trigger_ref: declared.trigger.reference.clone(),
                    guards: declared.guards.clone(),
                    event: declared.event.clone(),
                    audit: declared.audit,
                    evidence: declared.evidence.clone(),
                    rollback_to: declared.rollback_to.clone(),
                    via: declared.via.clone(),
                    proposed: declared.proposed,
                    terminal_exit: declared.terminal_exit,
                    declaration,
                });
            }
        }
    }
    rows
}

/// Texts of the three workflow scopes are shared, so that `completed` reads the same everywhere.
fn state_key(file: &File, code: &str, part: &str) -> String {
    let owner = match file.scope {
        Scope::Step | Scope::Task | Scope::WorkflowRun => "state",
        Scope::CutRequest
        | Scope::OrchestratorRun
        | Scope::BirthPermit
        | Scope::Job
        | Scope::DlqReplay
        | Scope::Finding
        | Scope::GovernanceCandidate
        | Scope::Proposal
        | Scope::Custom => &file.machine,
    };
    format!("{owner}.{code}.{part}")
}

/// A user's machine keeps its facets' texts to itself: it must not reword the product's.
fn facet_key(file: &File, code: &str) -> String {
    match file.scope {
        Scope::Custom => format!("{}.facet.{code}.label", file.machine),
        Scope::Step
        | Scope::Task
        | Scope::WorkflowRun
        | Scope::CutRequest
        | Scope::OrchestratorRun
        | Scope::BirthPermit
        | Scope::Job
        | Scope::DlqReplay
        | Scope::Finding
        | Scope::GovernanceCandidate
        | Scope::Proposal => format!("facet.{code}.label"),
    }
}

/// All texts, sorted; a facet that two states share word for word appears once.
fn collect_messages(file: &File) -> Vec<Message> {
    let mut messages = BTreeSet::new();
    let mut add = |key: String, text: &Text| {
        for (locale, text) in text {
            messages.insert(Message {
                key: key.clone(),
                locale: locale.clone(),
                text: text.clone(),
            });
        }
    };
    for state in &file.states {
        add(state_key(file, &state.code, "label"), &state.label);
        add(state_key(file, &state.code, "short"), &state.message);
        for facet in &state.facets {
            add(facet_key(file, &facet.code), &facet.label);
        }
    }
    messages.into_iter().collect()
}
