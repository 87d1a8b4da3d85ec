//! The machine files against the hand-written tables, row by row, without a database.
//!
//! The two were written from the same text by different hands. A row that only one of them has is a mistake in one of them.

use std::collections::BTreeSet;

use chancery_model::machine::{ActorClass, Definition, State, Transition, TriggerKind};
use chancery_model::refusal::Code;
use chancery_reference as reference;
use chancery_reference::problem::Problem;
use chancery_reference::rules::{ACTOR_CLASSES, Machine, Rule, TRIGGER_KINDS};
use chancery_testkit::shipped;

/// One line a row, so that a difference reads like the table it is missing from.
fn rows_of_file(definition: &Definition) -> Vec<String> {
    let line = |row: &Transition| {
        let (label, from, to, actor) = (&row.label, row.from.as_deref(), &row.to, row.actor.code());
        let (kind, reference) = (row.trigger_kind.code(), &row.trigger_ref);
        let guards = row.guards.join(", ");
        write_row(
            label,
            from,
            to,
            actor,
            (kind, reference),
            &guards,
            row.event.as_deref(),
            row.audit,
        )
    };
    definition.transitions.iter().map(line).collect()
}

fn rows_of_reference(machine: &Machine) -> Vec<String> {
    let line = |rule: Rule| {
        let guards = rule.guards.join(", ");
        write_row(
            rule.label,
            rule.from,
            rule.to,
            rule.actor,
            rule.trigger,
            &guards,
            rule.event,
            rule.audit,
        )
    };
    (machine.rules)().into_iter().map(line).collect()
}

#[expect(clippy::too_many_arguments, reason = "the columns of a table")]
fn write_row(
    label: &str,
    from: Option<&str>,
    to: &str,
    actor: &str,
    trigger: (&str, &str),
    guards: &str,
    event: Option<&str>,
    audit: bool,
) -> String {
    let (from, event, (kind, reference)) =
        (from.unwrap_or("∅"), event.unwrap_or("nothing"), trigger);
    format!(
        "{label}: {from} → {to} by {actor} on {kind}:{reference} if [{guards}] emits {event} audit {audit}"
    )
}

fn states_of_file(definition: &Definition) -> Vec<String> {
    let line = |state: &State| {
        let mut facets: Vec<_> =
            state.facets.iter().map(|facet| (facet.ordinal, facet.code.as_str())).collect();
        facets.sort_unstable();
        let facets: Vec<&str> = facets.into_iter().map(|(_, code)| code).collect();
        write_state(&state.code, state.initial, state.terminal, state.conceptual, &facets)
    };
    definition.states.iter().map(line).collect()
}

fn states_of_reference(machine: &Machine) -> Vec<String> {
    let line = |state: &reference::rules::State| {
        write_state(
            state.code,
            state.code == machine.initial,
            state.terminal,
            state.conceptual,
            state.facets,
        )
    };
    machine.states.iter().map(line).collect()
}

fn write_state(
    code: &str,
    initial: bool,
    terminal: bool,
    conceptual: bool,
    facets: &[&str],
) -> String {
    format!(
        "{code} initial {initial} terminal {terminal} conceptual {conceptual} facets {facets:?}"
    )
}

#[track_caller]
fn check_same(machine: &str, what: &str, file: &[String], reference: &[String]) {
    let (in_file, in_reference): (BTreeSet<_>, BTreeSet<_>) =
        (file.iter().collect(), reference.iter().collect());
    let only_file: Vec<_> = in_file.difference(&in_reference).collect();
    let only_reference: Vec<_> = in_reference.difference(&in_file).collect();
    assert!(
        only_file.is_empty() && only_reference.is_empty(),
        "{machine}: {what} differ\nonly in the file: {only_file:#?}\nonly in the reference: {only_reference:#?}"
    );
    assert_eq!(file.len(), in_file.len(), "{machine}: the file says the same of its {what} twice");
    assert_eq!(
        reference.len(),
        in_reference.len(),
        "{machine}: the reference says the same of its {what} twice"
    );
}

fn pairs() -> Vec<(Definition, Machine)> {
    let files = shipped();
    assert_eq!(files.len(), reference::machines().len());
    let partner = |file: Definition| {
        let machine =
            reference::machine(&file.machine).expect("the reference knows every shipped machine");
        (file, machine)
    };
    files.into_iter().map(partner).collect()
}

/// FSM-2, RUN-3: label, from, to, actor, trigger, guards in order, event and audit of every row.
#[test]
fn the_rows_of_the_files_are_the_rows_of_the_reference() {
    for (file, machine) in pairs() {
        check_same(machine.name, "rows", &rows_of_file(&file), &rows_of_reference(&machine));
        assert!(
            file.transitions.iter().all(|row| !row.proposed),
            "{}: a seed's row is no proposal",
            machine.name
        );
    }
}

/// FSM-2: states with what the engine asks of them, in the same order.
#[test]
fn the_states_of_the_files_are_the_states_of_the_reference() {
    for (file, machine) in pairs() {
        let (written, known) = (states_of_file(&file), states_of_reference(&machine));
        check_same(machine.name, "states", &written, &known);
        assert_eq!(written, known, "{}: the order of the states", machine.name);
        assert_eq!(file.initial_state.as_deref(), Some(machine.initial));
    }
}

/// FSM-9: the files declare exactly the exits of terminal states that the reference knows.
#[test]
fn the_exits_of_terminal_states_are_those_of_the_reference() {
    for (file, machine) in pairs() {
        let terminal = |code: &str| file.state(code).is_some_and(|state| state.terminal);
        let declared: BTreeSet<(&str, &str)> = file
            .transitions
            .iter()
            .filter(|row| row.terminal_exit)
            .filter_map(|row| {
                Some((row.from.as_deref().filter(|from| terminal(from))?, row.label.as_str()))
            })
            .collect();
        assert_eq!(declared, machine.terminal_exits.iter().copied().collect(), "{}", machine.name);
    }
}

/// Every problem the reference has a name for.
const PROBLEMS: [Problem; 22] = [
    Problem::RunUnknown,
    Problem::RunKindUnknown,
    Problem::StateUnknown,
    Problem::NoMatchingTransition,
    Problem::WrongTrigger,
    Problem::TransitionRefusedByGuard { guard: "any" },
    Problem::AuditReferenceMissing,
    Problem::EventTypeNotRegistered,
    Problem::StaleFromState,
    Problem::FacetMissing,
    Problem::TransitionProposed,
    Problem::IdempotencyKeyReused,
    Problem::IdempotencyKeyMissing,
    Problem::EvidenceMalformed,
    Problem::EventPayloadInvalid,
    Problem::PrincipalUnknown,
    Problem::PrincipalInactive,
    Problem::ActorClassNotHeld,
    Problem::LoginMayNotAct,
    Problem::KeyUnknown,
    Problem::KeyRevoked,
    Problem::SignatureRequired,
];

/// FSM-5: one vocabulary of classes, triggers and problems.
#[test]
fn the_words_of_the_reference_are_the_words_of_the_product() {
    let classes: BTreeSet<&str> = ActorClass::ALL.iter().map(|class| class.code()).collect();
    assert_eq!(classes, BTreeSet::from(ACTOR_CLASSES));
    let kinds: BTreeSet<&str> = TriggerKind::ALL.iter().map(|kind| kind.code()).collect();
    assert_eq!(kinds, BTreeSet::from(TRIGGER_KINDS));
    for problem in PROBLEMS {
        let code = Code::from_sqlstate(problem.code()).expect("a code of the product");
        assert_eq!(code.problem(), problem.name());
    }
}
