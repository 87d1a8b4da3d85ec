//! The checker against slow but obvious algorithms, on random graphs (FSM-9).

use std::collections::BTreeSet;
use std::fmt::Write as _;

use chancery_model::machine::{Finding, Rule};
use proptest::prelude::*;

use super::fixture::findings;

const STATES: usize = 6;
const TERMINAL: usize = STATES - 1;
const CONCEPTUAL: [&str; 2] = ["c0", "c1"];

/// One row of a random machine; `via` points into [`CONCEPTUAL`].
#[derive(Clone, Copy, Debug)]
struct Edge {
    from: usize,
    to: usize,
    via: Option<usize>,
}

fn edges() -> impl Strategy<Value = Vec<Edge>> {
    let via = prop_oneof![3 => Just(None), 1 => (0..CONCEPTUAL.len()).prop_map(Some)];
    let edge = (0..STATES, 0..STATES, via).prop_map(|(from, to, via)| Edge { from, to, via });
    prop::collection::vec(edge, 0..12)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Reachability, dead ends and ways out agree with the transitive closure.
    #[test]
    fn structure_agrees_with_the_transitive_closure(edges in edges()) {
        let reaches = closure(&edges);
        let found = findings(&machine(&edges, ""));
        for (state, reached_from_here) in reaches.iter().enumerate() {
            let is_reached = reaches[0][state];
            let has_exit = edges.iter().any(|edge| edge.from == state);
            let ends = state == TERMINAL || reached_from_here[TERMINAL];
            prop_assert_eq!(says(&found, Rule::UnreachableState, state), !is_reached);
            prop_assert_eq!(says(&found, Rule::DeadEnd, state), state != TERMINAL && !has_exit);
            prop_assert_eq!(says(&found, Rule::NoWayOut, state), is_reached && has_exit && !ends);
        }
    }

    /// `always_via` holds exactly when every simple path from birth visits the state.
    #[test]
    fn always_via_agrees_with_the_enumeration_of_all_paths(
        edges in edges(),
        to in 0..STATES,
        visits in 0..STATES + CONCEPTUAL.len(),
    ) {
        let visits = node_name(visits);
        let to = state_name(to);
        let mut paths = Vec::new();
        simple_paths(&edges, &mut vec![0], &mut vec![state_name(0)], &mut paths);
        let detour_exists = paths
            .iter()
            .any(|path| path.last() == Some(&to) && !path.contains(&visits));

        let claim = format!("always_via: {{ to: {to}, visits: {visits} }}");
        let found = findings(&machine(&edges, &claim));
        let violation = found.iter().find(|finding| finding.rule == Rule::AlwaysViaViolated);
        prop_assert_eq!(violation.is_some(), detour_exists);
        if let Some(violation) = violation {
            prop_assert!(is_real_path(&edges, &violation.path), "{violation}");
            prop_assert_eq!(violation.path.last(), Some(&to));
            prop_assert!(!violation.path.contains(&visits), "{violation}");
        }
    }

    /// `never_path` holds exactly when the transitive closure has no such pair.
    #[test]
    fn never_path_agrees_with_the_transitive_closure(
        edges in edges(),
        from in 0..STATES,
        to in 0..STATES,
    ) {
        let one_or_more = edges
            .iter()
            .filter(|edge| edge.from == from)
            .any(|edge| closure(&edges)[edge.to][to]);
        let claim =
            format!("never_path: {{ from: {}, to: {} }}", state_name(from), state_name(to));
        let found = findings(&machine(&edges, &claim));
        let is_violated = found.iter().any(|finding| finding.rule == Rule::NeverPathViolated);
        prop_assert_eq!(is_violated, one_or_more);
    }
}

/// The machine of a graph: `s0` is born, the last state is terminal, row `i` is called `e<i>`.
fn machine(edges: &[Edge], claim: &str) -> String {
    let mut text =
        "machine: random\nscope: custom\nversion: 1.0.0\ndescription: x\nstates:\n".to_owned();
    let mut state = |code: &str, flags: &str| {
        let _ = writeln!(
            text,
            "  - {{ code: {code}, class: idle, {flags}color: ui.traffic_light.gray, icon: icon.circle_hollow, label: {{ en: x }}, message: {{ en: x }} }}"
        );
    };
    for index in 0..STATES {
        let flags = match index {
            0 => "initial: true, ",
            TERMINAL => "terminal: true, ",
            _ => "",
        };
        state(&state_name(index), flags);
    }
    for code in CONCEPTUAL {
        state(code, "conceptual: true, ");
    }
    let rest = "actors: [system], trigger: { kind: rpc, ref: go }";
    let _ = writeln!(text, "transitions:\n  - {{ id: birth, from: \"∅\", to: s0, {rest} }}");
    for (index, edge) in edges.iter().enumerate() {
        let via = edge.via.map(|via| format!("via: {}, ", CONCEPTUAL[via])).unwrap_or_default();
        let _ = writeln!(
            text,
            "  - {{ id: e{index}, from: s{}, to: s{}, {via}{rest} }}",
            edge.from, edge.to
        );
    }
    if !claim.is_empty() {
        let _ = writeln!(text, "invariants:\n  - {{ id: I, why: x, {claim} }}");
    }
    text
}

/// `closure[a][b]`: `b` can be reached from `a`, also in no step at all.
fn closure(edges: &[Edge]) -> [[bool; STATES]; STATES] {
    let mut reaches = [[false; STATES]; STATES];
    for (state, row) in reaches.iter_mut().enumerate() {
        row[state] = true;
    }
    for edge in edges {
        reaches[edge.from][edge.to] = true;
    }
    for middle in 0..STATES {
        for from in 0..STATES {
            for to in 0..STATES {
                reaches[from][to] |= reaches[from][middle] && reaches[middle][to];
            }
        }
    }
    reaches
}

/// Collects every path from the last of `states` that enters no stored state twice.
///
/// A way around a state never needs to enter another state twice, so simple paths are enough.
fn simple_paths(
    edges: &[Edge],
    states: &mut Vec<usize>,
    names: &mut Vec<String>,
    paths: &mut Vec<Vec<String>>,
) {
    paths.push(names.clone());
    let here = states[states.len() - 1];
    for edge in edges.iter().filter(|edge| edge.from == here) {
        if states.contains(&edge.to) {
            continue;
        }
        let length = names.len();
        names.extend(edge.via.map(|via| CONCEPTUAL[via].to_owned()));
        names.push(state_name(edge.to));
        states.push(edge.to);
        simple_paths(edges, states, names, paths);
        states.pop();
        names.truncate(length);
    }
}

/// Whether state, label, state, … follows rows that exist, from birth on.
fn is_real_path(edges: &[Edge], path: &[String]) -> bool {
    let mut hops: BTreeSet<(String, String, String)> = BTreeSet::new();
    hops.insert(("∅".to_owned(), "birth".to_owned(), state_name(0)));
    for (index, edge) in edges.iter().enumerate() {
        let label = format!("e{index}");
        let (from, to) = (state_name(edge.from), state_name(edge.to));
        match edge.via.map(|via| CONCEPTUAL[via].to_owned()) {
            None => drop(hops.insert((from, label, to))),
            Some(via) => {
                hops.insert((from, label.clone(), via.clone()));
                hops.insert((via, label, to));
            }
        }
    }
    let hop = |at: usize| (path[at].clone(), path[at + 1].clone(), path[at + 2].clone());
    path[0] == "∅" && (0..path.len() - 1).step_by(2).all(|at| hops.contains(&hop(at)))
}

fn says(found: &[Finding], rule: Rule, state: usize) -> bool {
    let name = state_name(state);
    let of_rule = found.iter().filter(|finding| finding.rule == rule);
    of_rule.into_iter().any(|finding| finding.message.split(' ').any(|word| word == name))
}

fn state_name(index: usize) -> String {
    format!("s{index}")
}

/// States first, then conceptual states.
fn node_name(index: usize) -> String {
    if index < STATES { state_name(index) } else { CONCEPTUAL[index - STATES].to_owned() }
}
