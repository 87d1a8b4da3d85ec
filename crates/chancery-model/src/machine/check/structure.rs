//! The shape of the graph: one beginning, no state that nobody reaches, no state that nobody leaves.

use std::collections::BTreeSet;

use super::super::expand::{Definition, State, Transition};
use super::finding::{Finding, Rule};
use super::graph::{Graph, edge};

pub(super) fn check(definition: &Definition, graph: &Graph<'_>, findings: &mut Vec<Finding>) {
    beginning(definition, findings);
    conceptual_states(definition, findings);
    reachability(definition, graph, findings);
    terminal_exits(definition, findings);
}

fn beginning(definition: &Definition, findings: &mut Vec<Finding>) {
    let initial: Vec<_> =
        definition.states.iter().filter(|s| s.initial).map(|s| s.code.as_str()).collect();
    if initial.is_empty() {
        findings.push(Finding::new(Rule::InitialStateMissing, "no state is initial"));
    }
    if initial.len() > 1 {
        let message = format!("{} are all initial", initial.join(", "));
        findings.push(Finding::new(Rule::SeveralInitialStates, message));
    }
    let births = || definition.transitions.iter().filter(|row| row.from.is_none());
    if births().next().is_none() {
        let message = "no transition has the birth of a run as its from";
        findings.push(Finding::new(Rule::BirthMissing, message));
    }
    for row in births().filter(|row| !initial.contains(&row.to.as_str())) {
        let message = format!("{} by {} gives birth to {}", row.label, row.actor, row.to);
        findings.push(Finding::new(Rule::BirthNotToInitial, message).with_path(edge(row)));
    }
}

fn conceptual_states(definition: &Definition, findings: &mut Vec<Finding>) {
    for state in definition.states.iter().filter(|state| state.conceptual) {
        let is_this = |code: &Option<String>| code.as_ref() == Some(&state.code);
        if !definition.transitions.iter().any(|row| is_this(&row.via)) {
            let message = format!("{} is conceptual and no transition passes it", state.code);
            findings.push(Finding::new(Rule::ConceptualStateUnused, message));
        }
        let touches = |row: &&Transition| is_this(&row.from) || row.to == state.code;
        if let Some(row) = definition.transitions.iter().find(touches) {
            let message =
                format!("{} is conceptual, yet {} starts or ends in it", state.code, row.label);
            findings
                .push(Finding::new(Rule::ConceptualStateWithEdges, message).with_path(edge(row)));
        }
    }
    let mut reported = BTreeSet::new();
    for row in &definition.transitions {
        let via = row.via.as_ref().and_then(|code| definition.state(code));
        if via.is_some_and(|state| !state.conceptual) && reported.insert(row.declaration) {
            let message = format!("via of {} names a state that is stored", row.label);
            findings.push(Finding::new(Rule::ViaNotConceptual, message).with_path(edge(row)));
        }
    }
}

fn reachability(definition: &Definition, graph: &Graph<'_>, findings: &mut Vec<Finding>) {
    let is_terminal = |code: &str| definition.state(code).is_some_and(|state| state.terminal);
    let has_exit = |state: &State| {
        definition.transitions.iter().any(|row| row.from.as_ref() == Some(&state.code))
    };
    for state in definition.states.iter().filter(|state| !state.conceptual) {
        let way_in = graph.path_from_birth(&state.code);
        if way_in.is_none() {
            let message = format!("no way from birth leads to {}", state.code);
            findings.push(Finding::new(Rule::UnreachableState, message));
        }
        if state.terminal {
            continue;
        }
        if !has_exit(state) {
            let message = format!("{} is not terminal and nothing leaves it", state.code);
            findings
                .push(Finding::new(Rule::DeadEnd, message).with_path(way_in.unwrap_or_default()));
        } else if let Some(way_in) = way_in
            && graph.shortest_path(&state.code, is_terminal, |_| false).is_none()
        {
            let message = format!("no way from {} leads to a terminal state", state.code);
            findings.push(Finding::new(Rule::NoWayOut, message).with_path(way_in));
        }
    }
}

fn terminal_exits(definition: &Definition, findings: &mut Vec<Finding>) {
    let leaves_terminal = |row: &Transition| {
        row.from.as_ref().and_then(|code| definition.state(code)).is_some_and(|s| s.terminal)
    };
    let mut reported = BTreeSet::new();
    for row in &definition.transitions {
        if leaves_terminal(row)
            && !row.terminal_exit
            && reported.insert((row.declaration, row.from_code()))
        {
            let message = format!(
                "{} leaves the terminal state {} without terminal_exit",
                row.label,
                row.from_code()
            );
            findings.push(Finding::new(Rule::UndeclaredTerminalExit, message).with_path(edge(row)));
        }
    }
    // One transition may leave terminal and other states alike, so the declaration is judged whole.
    let needed: BTreeSet<_> = definition
        .transitions
        .iter()
        .filter(|row| leaves_terminal(row))
        .map(|row| row.declaration)
        .collect();
    let mut reported = BTreeSet::new();
    for row in definition.transitions.iter().filter(|row| row.terminal_exit) {
        if !needed.contains(&row.declaration) && reported.insert(row.declaration) {
            let message = format!("{} is a terminal_exit and leaves no terminal state", row.label);
            findings.push(
                Finding::new(Rule::TerminalExitWithoutTerminal, message).with_path(edge(row)),
            );
        }
    }
}
