//! Proofs of the invariants a machine declares about itself.

use std::collections::BTreeSet;

use super::super::expand::{Definition, Transition};
use super::super::file::{AlwaysVia, Claim, Invariant, NeverEdge, NeverPath, Separation};
use super::super::vocabulary::{ANY_STATE, BIRTH};
use super::finding::{Finding, Rule};
use super::graph::{Graph, edge};

pub(super) fn check(definition: &Definition, graph: &Graph<'_>, findings: &mut Vec<Finding>) {
    for invariant in &definition.invariants {
        let violations = match &invariant.claim {
            Claim::NeverEdge(claim) => never_edge(definition, invariant, claim),
            Claim::NeverPath(claim) => never_path(definition, graph, invariant, claim),
            Claim::AlwaysVia(claim) => always_via(graph, invariant, claim),
            Claim::Separation(claim) => separation(definition, graph, invariant, claim),
        };
        findings.extend(violations);
    }
}

fn never_edge(definition: &Definition, invariant: &Invariant, claim: &NeverEdge) -> Vec<Finding> {
    let is_actor = |row: &Transition| claim.actors.is_empty() || claim.actors.contains(&row.actor);
    let from_any = claim.from.iter().any(|name| name == ANY_STATE);
    let is_from = |name: &str| match name {
        BIRTH => names(&claim.from, BIRTH) || (from_any && !claim.actors.is_empty()),
        _ => from_any || names(&claim.from, name),
    };
    let is_to = |name: &str| {
        (names(&claim.to, name) || names(&claim.to, ANY_STATE)) && !names(&claim.except, name)
    };
    // A conceptual state is passed on the way; `*` does not mean it, only its own name does.
    let is_forbidden = |row: &Transition| {
        let (from, to) = (row.from_code(), row.to.as_str());
        let direct = is_from(from) && is_to(to);
        let passing = row.via.as_deref().is_some_and(|via| {
            (is_from(from) && names(&claim.to, via) && !names(&claim.except, via))
                || (names(&claim.from, via) && is_to(to))
        });
        is_actor(row) && (direct || passing)
    };
    definition
        .transitions
        .iter()
        .filter(|row| is_forbidden(row))
        .map(|row| {
            let what = format!("{} by {} is such an edge", row.label, row.actor);
            violated(Rule::NeverEdgeViolated, invariant, &what).with_path(edge(row))
        })
        .collect()
}

fn never_path(
    definition: &Definition,
    graph: &Graph<'_>,
    invariant: &Invariant,
    claim: &NeverPath,
) -> Vec<Finding> {
    let sources = resolve(definition, &claim.from);
    let targets = resolve(definition, &claim.to);
    let path_from =
        |from: &&str| graph.shortest_path(from, |name| targets.contains(name), |_| false);
    sources
        .iter()
        .filter_map(path_from)
        .map(|path| violated(Rule::NeverPathViolated, invariant, "there is a way").with_path(path))
        .collect()
}

fn always_via(graph: &Graph<'_>, invariant: &Invariant, claim: &AlwaysVia) -> Vec<Finding> {
    let detour = graph.shortest_path(BIRTH, |name| name == claim.to, |name| name == claim.visits);
    let what = format!("a way to {} does not visit {}", claim.to, claim.visits);
    detour
        .map(|path| violated(Rule::AlwaysViaViolated, invariant, &what).with_path(path))
        .into_iter()
        .collect()
}

fn separation(
    definition: &Definition,
    graph: &Graph<'_>,
    invariant: &Invariant,
    claim: &Separation,
) -> Vec<Finding> {
    let [first, second] = &claim.edges;
    let rows_of = |label| definition.transitions.iter().filter(move |row| &row.label == label);
    let mut findings = Vec::new();
    let mut reported = BTreeSet::new();
    for earlier in rows_of(first) {
        for later in rows_of(second) {
            if earlier.actor == later.actor && reported.insert(earlier.actor) {
                let what = format!("{} may do both {first} and {second}", earlier.actor);
                findings.push(
                    violated(Rule::SeparationViolated, invariant, &what)
                        .with_path(path_over_both(graph, earlier, later)),
                );
            }
        }
    }
    if let Some(row) = rows_of(second).find(|row| !row.guards.contains(&claim.guard)) {
        let what = format!("{second} does not carry the guard {}", claim.guard);
        findings.push(violated(Rule::SeparationViolated, invariant, &what).with_path(edge(row)));
    }
    findings
}

/// How one hand would do both: the two edges, joined by the way between them where there is one.
fn path_over_both(graph: &Graph<'_>, earlier: &Transition, later: &Transition) -> Vec<String> {
    let mut path = edge(earlier);
    let start = later.from_code();
    if earlier.to == start {
        path.pop();
    } else if let Some(between) = graph.shortest_path(&earlier.to, |name| name == start, |_| false)
    {
        path.pop();
        path.extend(between);
        path.pop();
    }
    path.extend(edge(later));
    path
}

fn violated(rule: Rule, invariant: &Invariant, what: &str) -> Finding {
    Finding::new(rule, format!("{} ({}): {what}", invariant.id, invariant.why))
}

fn names(list: &[String], name: &str) -> bool {
    list.iter().any(|entry| entry == name)
}

/// The names of a selection, with `*` as every stored state.
fn resolve<'a>(definition: &'a Definition, selection: &'a [String]) -> BTreeSet<&'a str> {
    let mut resolved: BTreeSet<&str> = selection.iter().map(String::as_str).collect();
    if resolved.remove(ANY_STATE) {
        resolved
            .extend(definition.states.iter().filter(|s| !s.conceptual).map(|s| s.code.as_str()));
    }
    resolved
}
