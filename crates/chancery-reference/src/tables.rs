//! Claims about the tables themselves, before anything runs on them.

use std::collections::BTreeSet;

use crate::rules::{ACTOR_CLASSES, Machine, Rule, TRIGGER_KINDS};
use crate::{machine, machines};

fn table(name: &str) -> (Machine, Vec<Rule>) {
    let machine = machine(name).expect("a machine of the seeds");
    let rules = (machine.rules)();
    (machine, rules)
}

#[track_caller]
fn check_size(name: &str, states: usize, rules: usize) {
    let (machine, rows) = table(name);
    assert_eq!((machine.states.len(), rows.len()), (states, rules), "{name}");
}

/// RUN-3: a row too many or too few shows here first.
#[test]
fn tables_have_the_size_the_seeds_add_up_to() {
    // birth 1, T1 1, T0s 1, T2 2, T2r 1, T3 2, T3r 1, T4 2, T4r 2, T5 1, T6 1, T6p 1, T7 2, T8 2, T8r 1,
    // T9 3, T9o 1, T10 1, T11 1, T12 3 states × 2 actors = 6, T12r 1, T13 8, B0…B7 8
    check_size("step", 10, 50);
    // birth 2, T1 1, T0s 1, T2 1, T2x 1, T2r 1, T3 3, T3r 1, T4 3, T4r 3, T5 1, T6 1, T6p 1, T7 2, T8 2,
    // T8r 1, T9 3, T9o 1, T10 1, T11 1, T12 3 states × 3 actors = 9, T12r 1, T13 8
    check_size("task", 10, 49);
    // birth 5, W1 1, W2 1, W3 3, W4 1, W5 1, W6 1
    check_size("workflow_run", 5, 13);
    // mark 3, escalate 1, promote 2, repromote 2, approve 1, defer 1, reject 1, redefer 1, cut 1,
    // verify_pass 1, verify_fail 1, abandon 11 states − 2 conceptual − abandoned = 8
    check_size("cut_request", 11, 23);
    // states: main 14 + failed 11 + stopped 4 + voided 1;
    // rows: birth 1, forward 13, failures 11 + 1 (the verifier's), stops 13 × 4 = 52,
    // resumes 4 × 13 = 52, voids 13 + 4 + 11 = 28
    check_size("orchestrator_run", 30, 158);
    // birth 4, consume 1, finalize 1, fail 2, expire 1, revoke 2
    check_size("birth_permit", 6, 11);
    // receive 1, announce 1
    check_size("governance_candidate", 2, 2);
    // birth 5, submit 5, withdraw 5, discard 5, open 1, approve 1, reject 1, return 2, merge 4
    check_size("proposal", 7, 29);
    // birth 5, claim 2, extend 1, release 2, succeed 2, retry 2, expire 2, fail 2, give_up 2, die 1,
    // cancel 4 states × 4 actors = 16, settle 1, dismiss 2
    check_size("job", 9, 40);
    // birth 5, schedule 1, withdraw 4, complete 1
    check_size("dlq_replay", 4, 11);
    // birth 6, acknowledge 4, resolve 2 × 4 = 8, settle 2 × 5 = 10, recover 2 × 5 = 10, heal 2
    check_size("finding", 5, 40);
    assert_eq!(machines().len(), 11);
}

#[test]
fn a_row_is_found_by_from_to_and_actor() {
    for machine in machines() {
        let mut seen = BTreeSet::new();
        for rule in (machine.rules)() {
            assert!(seen.insert((rule.from, rule.to, rule.actor)), "{}: {rule:?}", machine.name);
        }
    }
}

#[test]
fn rows_use_only_words_of_the_vocabularies() {
    for machine in machines() {
        let stored = |code: &str| machine.state(code).is_some_and(|state| !state.conceptual);
        for rule in (machine.rules)() {
            assert!(stored(rule.to) && rule.from.is_none_or(stored), "{}: {rule:?}", machine.name);
            assert!(ACTOR_CLASSES.contains(&rule.actor), "{}: {rule:?}", machine.name);
            assert!(TRIGGER_KINDS.contains(&rule.trigger.0), "{}: {rule:?}", machine.name);
        }
    }
}

#[test]
fn births_lead_to_the_initial_state_and_nowhere_else() {
    for machine in machines() {
        let births: Vec<_> =
            (machine.rules)().into_iter().filter(|rule| rule.from.is_none()).collect();
        assert!(!births.is_empty(), "{}", machine.name);
        assert!(births.iter().all(|rule| rule.to == machine.initial), "{}", machine.name);
    }
}

/// FSM-9: what the loader proves of the files holds of the tables too.
#[test]
fn every_stored_state_is_reachable_and_only_terminal_ones_end() {
    for machine in machines() {
        let rules = (machine.rules)();
        let mut reached = BTreeSet::from([machine.initial]);
        let mut grown = 0;
        while grown != reached.len() {
            grown = reached.len();
            let next = rules.iter().filter(|rule| rule.from.is_some_and(|f| reached.contains(f)));
            reached.extend(next.map(|rule| rule.to).collect::<Vec<_>>());
        }
        for state in machine.states.iter().filter(|state| !state.conceptual) {
            assert!(reached.contains(state.code), "{}: {} unreachable", machine.name, state.code);
            let leaves = rules.iter().any(|rule| rule.from == Some(state.code));
            assert!(leaves || state.terminal, "{}: {} is a dead end", machine.name, state.code);
        }
    }
}

#[test]
fn exits_of_terminal_states_are_exactly_the_declared_ones() {
    for machine in machines() {
        let terminal = |code: &&str| machine.state(code).is_some_and(|state| state.terminal);
        let exits: BTreeSet<_> = (machine.rules)()
            .iter()
            .filter_map(|rule| Some((rule.from.filter(terminal)?, rule.label)))
            .collect();
        let declared: BTreeSet<_> = machine.terminal_exits.iter().copied().collect();
        assert_eq!(exits, declared, "{}", machine.name);
    }
}

#[track_caller]
fn check_sources(rules: &[Rule], to: &str, sources: &[&str]) {
    let from: BTreeSet<_> =
        rules.iter().filter(|rule| rule.to == to).filter_map(|rule| rule.from).collect();
    assert_eq!(from, sources.iter().copied().collect(), "{to}");
}

/// CUT-1, F-1…F-8: where each phase can be entered from is the whole of the forbidden list.
#[test]
fn cutter_phases_are_entered_only_from_the_phase_before() {
    let (_, rules) = table("cut_request");
    check_sources(&rules, "marked", &[]);
    check_sources(&rules, "review_pending", &["marked", "reviewed_deferred"]);
    check_sources(&rules, "reviewed_approved", &["review_pending"]);
    check_sources(&rules, "reviewed_deferred", &["review_pending", "reviewed_approved"]);
    check_sources(&rules, "reviewed_rejected", &["review_pending"]);
    check_sources(&rules, "cut_applied", &["reviewed_approved"]);
    check_sources(&rules, "verified_complete", &["cut_applied"]);
    check_sources(&rules, "verify_failed_escalated", &["cut_applied"]);
    assert!(!rules.iter().any(|rule| rule.actor == "observer"), "F-6: cutter_ro never writes");
}

/// CUT-11: who cuts cannot verify, and the verifier's rows carry the guard on the principal.
#[test]
fn cutter_separates_cutting_from_verifying() {
    let (_, rules) = table("cut_request");
    let actors = |labels: &[&str]| -> BTreeSet<_> {
        rules.iter().filter(|rule| labels.contains(&rule.label)).map(|rule| rule.actor).collect()
    };
    let verify = ["verify_pass", "verify_fail"];
    assert!(actors(&["cut"]).is_disjoint(&actors(&verify)));
    assert!(actors(&["mark"]).is_disjoint(&actors(&["approve", "defer", "reject"])));
    let guarded = |rule: &&Rule| rule.guards.contains(&"G-VERIFY-SOD");
    assert_eq!(rules.iter().filter(guarded).count(), 2);
}

/// ORC-1: one forward transition a state on the main line.
#[test]
fn orchestrator_states_have_one_way_forward() {
    let (machine, rules) = table("orchestrator_run");
    let line = &machine.states[..14];
    for pair in line.windows(2) {
        let forward: Vec<_> = rules
            .iter()
            .filter(|rule| {
                rule.from == Some(pair[0].code) && line.iter().any(|s| s.code == rule.to)
            })
            .collect();
        assert_eq!(forward.len(), 1, "{}", pair[0].code);
        assert_eq!(forward[0].to, pair[1].code);
        assert_eq!(forward[0].label, forward[0].trigger.1);
        assert_eq!(forward[0].event, Some(format!("orchestrator.{}", pair[1].code).as_str()));
    }
}

/// C §4.3: a task differs from a step by its PIC, its words, and what only steps contain.
#[test]
fn task_and_step_share_the_floor() {
    let (step, step_rules) = table("step");
    let (task, task_rules) = table("task");
    assert_eq!(step.states, task.states);
    let edges = |rules: &[Rule]| -> BTreeSet<_> {
        let bridge = |rule: &&Rule| !rule.label.starts_with('B');
        rules.iter().filter(bridge).map(|rule| (rule.from, rule.to, rule.audit)).collect()
    };
    assert_eq!(edges(&step_rules), edges(&task_rules));
    for (name, rules) in [("step.", step_rules), ("task.", task_rules)] {
        assert!(rules.iter().all(|rule| rule.event.is_some_and(|event| event.starts_with(name))));
    }
}
