//! Names: well formed, unique, known where they are used, used where they are declared.

use std::collections::BTreeSet;

use super::super::appearance::{COLOURS, ICONS};
use super::super::expand::{Definition, Transition};
use super::super::file::{Claim, Invariant};
use super::super::vocabulary::{ANY_STATE, ActorClass, BIRTH, Scope};
use super::finding::{Finding, Rule};
use super::graph::edge;

pub(super) fn check(definition: &Definition, findings: &mut Vec<Finding>) {
    machine_identity(definition, findings);
    shapes(definition, findings);
    duplicates(definition, findings);
    transition_names(definition, findings);
    actors(definition, findings);
    looks(definition, findings);
    invariant_names(definition, findings);
    unused(definition, findings);
    texts(definition, findings);
    rollups(definition, findings);
}

/// Classes in which nobody ever moves such a run.
fn actors(definition: &Definition, findings: &mut Vec<Finding>) {
    let mut reported = BTreeSet::new();
    for row in definition.transitions.iter().filter(|row| !row.actor.can_act(definition.scope)) {
        if reported.insert((row.declaration, row.actor)) {
            let able = ActorClass::ALL.iter().filter(|class| class.can_act(definition.scope));
            let able: Vec<_> = able.map(|class| class.code()).collect();
            let message = format!(
                "{} can be made by {}, which never moves runs of kind {}; choose from {}",
                row.label,
                row.actor,
                definition.scope,
                able.join(", ")
            );
            findings.push(Finding::new(Rule::ActorNeverActs, message).with_path(edge(row)));
        }
    }
}

/// Colours and icons that no page can draw.
fn looks(definition: &Definition, findings: &mut Vec<Finding>) {
    let mut icon = |of: String, icon: &str| {
        if !ICONS.contains(&icon) {
            let message = format!(
                "{of} has the icon {icon}, which has no silhouette; choose from {}",
                ICONS.join(", ")
            );
            findings.push(Finding::new(Rule::UnknownIcon, message));
        }
    };
    for state in &definition.states {
        icon(format!("state {}", state.code), &state.icon);
        for facet in &state.facets {
            icon(format!("facet {} of {}", facet.code, state.code), &facet.icon);
        }
    }
    for state in definition.states.iter().filter(|state| !COLOURS.contains(&state.color.as_str())) {
        let message = format!(
            "state {} has the colour {}, which the palette does not have; choose from {}",
            state.code,
            state.color,
            COLOURS.join(", ")
        );
        findings.push(Finding::new(Rule::UnknownColour, message));
    }
}

fn machine_identity(definition: &Definition, findings: &mut Vec<Finding>) {
    let name = &definition.machine;
    if !is_snake_case(name) {
        findings.push(Finding::new(
            Rule::MalformedMachineName,
            format!("machine {name} is not lower case letters, digits and _"),
        ));
    }
    if let Err(error) = semver::Version::parse(&definition.version) {
        findings.push(Finding::new(
            Rule::MalformedVersion,
            format!("version {} is not a semantic version: {error}", definition.version),
        ));
    }
}

fn shapes(definition: &Definition, findings: &mut Vec<Finding>) {
    let mut expect = |what: &str, name: &str, fits: bool| {
        if !fits {
            let message = format!("{what} {name:?} has a character that names may not have");
            findings.push(Finding::new(Rule::MalformedName, message));
        }
    };
    for state in &definition.states {
        expect("state", &state.code, is_word(&state.code, "_"));
        for facet in &state.facets {
            expect("facet", &facet.code, is_word(&facet.code, "_"));
        }
    }
    for row in first_rows(definition) {
        expect("label", &row.label, is_word(&row.label, "_-"));
        expect("trigger reference", &row.trigger_ref, is_word(&row.trigger_ref, "_-."));
    }
    for guard in &definition.guards {
        expect("guard", &guard.name, is_word(&guard.name, "_-"));
    }
    for event in &definition.events {
        let mut parts = event.event_type.split('.');
        let dotted = event.event_type.contains('.') && parts.all(is_snake_case);
        expect("event", &event.event_type, dotted);
    }
    for invariant in &definition.invariants {
        expect("invariant", &invariant.id, is_word(&invariant.id, "_-."));
    }
    for rollup in &definition.rollup {
        expect("roll-up policy", &rollup.policy, is_snake_case(&rollup.policy));
    }
}

fn duplicates(definition: &Definition, findings: &mut Vec<Finding>) {
    let mut report = |rule: Rule, what: &str, names: Vec<String>| {
        for name in repeated(names) {
            findings.push(Finding::new(rule, format!("{what} {name} is declared twice")));
        }
    };
    let states = definition.states.iter().map(|state| state.code.clone());
    report(Rule::DuplicateState, "state", states.collect());
    let labels = first_rows(definition).map(|row| row.label.clone());
    report(Rule::DuplicateLabel, "transition", labels.collect());
    let guards = definition.guards.iter().map(|guard| guard.name.clone());
    report(Rule::DuplicateGuard, "guard", guards.collect());
    let events = definition.events.iter().map(|event| event.event_type.clone());
    report(Rule::DuplicateEvent, "event", events.collect());
    let invariants = definition.invariants.iter().map(|invariant| invariant.id.clone());
    report(Rule::DuplicateInvariant, "invariant", invariants.collect());
    let rollups = definition.rollup.iter().map(|rollup| rollup.policy.clone());
    report(Rule::DuplicateRollup, "roll-up policy", rollups.collect());
    for state in &definition.states {
        let codes = state.facets.iter().map(|facet| format!("{} of {}", facet.code, state.code));
        report(Rule::DuplicateFacet, "facet", codes.collect());
        let ordinals = state.facets.iter().map(|f| format!("{} of {}", f.ordinal, state.code));
        report(Rule::DuplicateFacetOrdinal, "facet ordinal", ordinals.collect());
    }
    for row in first_rows(definition) {
        let guards = row.guards.iter().map(|guard| format!("{guard} of {}", row.label));
        report(Rule::RepeatedGuard, "guard", guards.collect());
    }

    let mut seen = BTreeSet::new();
    for row in &definition.transitions {
        if !seen.insert((row.from_code(), &row.to, row.actor)) {
            let message = format!(
                "{} → {} by {} has two rows, the second from {}",
                row.from_code(),
                row.to,
                row.actor,
                row.label
            );
            findings.push(Finding::new(Rule::DuplicateTransition, message).with_path(edge(row)));
        }
    }
}

fn transition_names(definition: &Definition, findings: &mut Vec<Finding>) {
    let known = Known::of(definition);
    let mut reported = BTreeSet::new();
    for row in &definition.transitions {
        let states = [
            ("from", row.from.as_ref()),
            ("to", Some(&row.to)),
            ("via", row.via.as_ref()),
            ("rollback_to", row.rollback_to.as_ref()),
        ];
        for (field, state) in states {
            let Some(state) = state else { continue };
            if !known.states.contains(state.as_str()) && reported.insert((row.declaration, state)) {
                let message = format!("{field} of {} names the state {state}", row.label);
                findings.push(Finding::new(Rule::UnknownState, message).with_path(edge(row)));
            }
        }
    }
    for row in first_rows(definition) {
        for guard in row.guards.iter().filter(|guard| !known.guards.contains(guard.as_str())) {
            let message = format!("{} uses the guard {guard}, which is not declared", row.label);
            findings.push(Finding::new(Rule::UnknownGuard, message).with_path(edge(row)));
        }
        if let Some(event) =
            row.event.as_ref().filter(|event| !known.events.contains(event.as_str()))
        {
            let message = format!("{} emits {event}, which is not declared", row.label);
            findings.push(Finding::new(Rule::UnknownEvent, message).with_path(edge(row)));
        }
    }
}

fn invariant_names(definition: &Definition, findings: &mut Vec<Finding>) {
    let known = Known::of(definition);
    for invariant in &definition.invariants {
        let mut report = |rule: Rule, what: &str, name: &str| {
            let message = format!("invariant {} names the {what} {name}", invariant.id);
            findings.push(Finding::new(rule, message));
        };
        for state in states_named_in(invariant) {
            if !known.states.contains(state) {
                report(Rule::UnknownState, "state", state);
            }
        }
        if let Claim::Separation(separation) = &invariant.claim {
            for label in
                separation.edges.iter().filter(|label| !known.labels.contains(label.as_str()))
            {
                report(Rule::UnknownLabel, "transition", label);
            }
            if !known.guards.contains(separation.guard.as_str()) {
                report(Rule::UnknownGuard, "guard", &separation.guard);
            }
        }
    }
}

fn unused(definition: &Definition, findings: &mut Vec<Finding>) {
    let used_guards: BTreeSet<_> =
        definition.transitions.iter().flat_map(|row| &row.guards).collect();
    for guard in definition.guards.iter().filter(|guard| !used_guards.contains(&guard.name)) {
        let message = format!("guard {} is declared and no transition carries it", guard.name);
        findings.push(Finding::new(Rule::UnusedGuard, message));
    }
    let used_events: BTreeSet<_> =
        definition.transitions.iter().filter_map(|row| row.event.as_ref()).collect();
    for event in definition.events.iter().filter(|event| !used_events.contains(&event.event_type)) {
        let message = format!("event {} is declared and no transition emits it", event.event_type);
        findings.push(Finding::new(Rule::UnusedEvent, message));
    }
}

fn texts(definition: &Definition, findings: &mut Vec<Finding>) {
    let english: BTreeSet<_> = definition
        .messages
        .iter()
        .filter(|message| message.locale == "en" && !message.text.trim().is_empty())
        .map(|message| message.key.as_str())
        .collect();
    for state in &definition.states {
        let facets = state.facets.iter().map(|facet| &facet.label_key);
        for key in [&state.label_key, &state.message_key].into_iter().chain(facets) {
            if !english.contains(key.as_str()) {
                let message = format!("{key} has no English text");
                findings.push(Finding::new(Rule::EnglishTextMissing, message));
            }
        }
    }
    // Messages are sorted, so two wordings of one key stand side by side.
    for pair in definition.messages.windows(2) {
        let [first, second] = pair else { continue };
        if (&first.key, &first.locale) == (&second.key, &second.locale) {
            let message = format!(
                "{} in {} reads both {:?} and {:?}",
                first.key, first.locale, first.text, second.text
            );
            findings.push(Finding::new(Rule::ConflictingText, message));
        }
    }
}

fn rollups(definition: &Definition, findings: &mut Vec<Finding>) {
    if definition.scope != Scope::WorkflowRun && !definition.rollup.is_empty() {
        let message = format!("a machine of scope {} has nothing to roll up", definition.scope);
        findings.push(Finding::new(Rule::RollupOutsideWorkflowRun, message));
    }
}

/// The names a machine declares.
struct Known<'a> {
    states: BTreeSet<&'a str>,
    guards: BTreeSet<&'a str>,
    events: BTreeSet<&'a str>,
    labels: BTreeSet<&'a str>,
}

impl<'a> Known<'a> {
    fn of(definition: &'a Definition) -> Self {
        Self {
            states: definition.states.iter().map(|state| state.code.as_str()).collect(),
            guards: definition.guards.iter().map(|guard| guard.name.as_str()).collect(),
            events: definition.events.iter().map(|event| event.event_type.as_str()).collect(),
            labels: definition.transitions.iter().map(|row| row.label.as_str()).collect(),
        }
    }
}

/// The states a claim names, without `*` and `∅` where these have a meaning.
///
/// Anywhere else they are unknown names: a claim about them would hold of every machine.
fn states_named_in(invariant: &Invariant) -> Vec<&str> {
    let (from, to, exact) = match &invariant.claim {
        Claim::NeverEdge(claim) => (&*claim.from, &*claim.to, claim.except.iter().collect()),
        Claim::NeverPath(claim) => (&*claim.from, &*claim.to, Vec::new()),
        Claim::AlwaysVia(claim) => (&[][..], &[][..], vec![&claim.to, &claim.visits]),
        Claim::Separation(_) => (&[][..], &[][..], Vec::new()),
    };
    let from = from.iter().filter(|name| *name != ANY_STATE && *name != BIRTH);
    let to = to.iter().filter(|name| *name != ANY_STATE);
    from.chain(to).chain(exact).map(String::as_str).collect()
}

/// One row for each transition of the file.
fn first_rows(definition: &Definition) -> impl Iterator<Item = &Transition> {
    let mut last = None;
    let mut is_new = move |row: &Transition| last.replace(row.declaration) != Some(row.declaration);
    definition.transitions.iter().filter(move |row| is_new(row))
}

fn repeated(names: Vec<String>) -> BTreeSet<String> {
    let mut seen = BTreeSet::new();
    names.into_iter().filter(|name| !seen.insert(name.clone())).collect()
}

fn is_snake_case(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
}

fn is_word(name: &str, also: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || also.contains(c))
}
