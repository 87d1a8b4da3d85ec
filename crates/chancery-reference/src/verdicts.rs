//! Claims about single verdicts of the model, each on the smallest table that shows it.

use std::collections::{BTreeMap, BTreeSet};

use crate::invariants::Violation;
use crate::machine;
use crate::model::{Command, Model, Outcome, Principal, Start};
use crate::problem::Problem;
use crate::rules::ACTOR_CLASSES;

fn model(name: &str) -> Model {
    let mut model = Model::new(&machine(name).expect("a machine of the seeds"));
    let everything = BTreeSet::from(ACTOR_CLASSES);
    model.set_principal("ada", Principal { active: true, classes: everything.clone() });
    model.set_principal("gone", Principal { active: false, classes: everything });
    model.set_principal("bare", Principal { active: true, classes: BTreeSet::new() });
    model
}

fn start(key: &str) -> Start {
    Start {
        run: "r".into(),
        actor_class: "mow_orchestrator",
        trigger_kind: "condition_resolved",
        trigger_ref: "run_created",
        principal: "ada".into(),
        idempotency_key: key.into(),
        guard_truths: BTreeMap::new(),
        audit_ref: false,
        facet: None,
        event_payload_valid: true,
    }
}

fn ready(key: &str) -> Command {
    Command {
        run: "r".into(),
        from: Some("not_started"),
        to: "ready",
        actor_class: "mow_orchestrator",
        trigger_kind: "condition_resolved",
        trigger_ref: "precondition_resolved",
        principal: "ada".into(),
        idempotency_key: key.into(),
        guard_truths: BTreeMap::from([("G-PRECONDITION", true)]),
        audit_ref: false,
        facet: None,
        event_payload_valid: true,
    }
}

fn claim(key: &str) -> Command {
    Command {
        from: None,
        to: "in_progress",
        actor_class: "pic_human",
        trigger_kind: "rpc",
        trigger_ref: "step_claim",
        guard_truths: BTreeMap::from([("G-PIC-RESOLVES", true), ("G-EXECUTOR-CLASS", true)]),
        audit_ref: true,
        ..ready(key)
    }
}

fn wait(key: &str, facet: Option<&'static str>) -> Command {
    Command {
        to: "waiting",
        trigger_ref: "step_wait",
        guard_truths: BTreeMap::from([("G-FACET-VOCAB", true)]),
        facet,
        ..claim(key)
    }
}

fn born() -> Model {
    let mut model = model("step");
    assert!(matches!(model.start(&start("k1")), Outcome::Accepted { from: None, seq: 1, .. }));
    model
}

#[track_caller]
fn refuses(outcome: &Outcome, problems: &[Problem]) {
    assert_eq!(outcome, &Outcome::Refused(problems.to_vec()));
}

#[test]
fn accepted_transition_names_its_row() {
    let mut model = born();
    let accepted = Outcome::Accepted {
        from: Some("not_started"),
        to: "ready",
        seq: 2,
        event: Some("step.ready"),
        transition: "T1",
    };
    assert_eq!(model.preview(&ready("k2")), accepted);
    assert_eq!(model.run("r").expect("born").seq(), 1, "a preview changes nothing");
    assert_eq!(model.apply(&ready("k2")), accepted);
    let events: Vec<_> = model.outbox().iter().map(|sent| (sent.seq, sent.event)).collect();
    assert_eq!(events, [(1, "step.created"), (2, "step.ready")]);
}

#[test]
fn unknown_run_is_the_only_problem_reported() {
    let nonsense = Command { to: "nowhere", principal: "nobody".into(), ..ready("k1") };
    refuses(&model("step").apply(&nonsense), &[Problem::RunUnknown]);
}

#[test]
fn missing_key_is_the_only_problem_reported() {
    let nonsense = Command { to: "nowhere", principal: "nobody".into(), ..ready("") };
    refuses(&born().apply(&nonsense), &[Problem::IdempotencyKeyMissing]);
    refuses(&model("step").apply(&nonsense), &[Problem::IdempotencyKeyMissing]);
    refuses(&model("step").start(&start("")), &[Problem::IdempotencyKeyMissing]);
    refuses(&born().apply(&ready("   ")), &[Problem::IdempotencyKeyMissing]);
    refuses(&born().apply(&ready(&"k".repeat(201))), &[Problem::IdempotencyKeyMissing]);
}

#[test]
fn birth_by_nobody_has_no_run_to_judge() {
    let nobody = Start { principal: "nobody".into(), trigger_ref: "other", ..start("") };
    refuses(&model("step").start(&nobody), &[Problem::PrincipalUnknown]);
    assert_eq!(
        model("step").preview_start(&nobody),
        Outcome::Refused(vec![Problem::PrincipalUnknown])
    );
}

/// FSM-7.
#[test]
fn repeated_request_is_replayed_even_after_the_run_moved_on() {
    let mut model = born();
    model.apply(&ready("k2"));
    model.apply(&claim("k3"));
    assert_eq!(model.apply(&ready("k2")), Outcome::Replayed { seq: 2 });
    assert_eq!(model.apply(&Command { from: None, ..ready("k2") }), Outcome::Replayed { seq: 2 });
    assert_eq!(model.apply(&claim("k3")), Outcome::Replayed { seq: 3 });
    let named = Command { from: Some("ready"), ..claim("k3") };
    assert_eq!(model.apply(&named), Outcome::Replayed { seq: 3 });
    assert_eq!(model.start(&start("k1")), Outcome::Replayed { seq: 1 });
    assert_eq!((model.run("r").expect("born").seq(), model.outbox().len()), (3, 3));
}

/// FSM-7.
#[test]
fn key_with_another_request_is_refused_alone() {
    let mut model = born();
    model.apply(&ready("k2"));
    for other in [
        Command { from: Some("ready"), ..ready("k2") },
        Command { to: "nowhere", ..ready("k2") },
        Command { actor_class: "system", ..ready("k2") },
        Command { principal: "nobody".into(), ..ready("k2") },
        Command { trigger_kind: "rpc", ..ready("k2") },
        Command { trigger_ref: "other", ..ready("k2") },
        Command { guard_truths: BTreeMap::new(), ..ready("k2") },
        Command { audit_ref: true, ..ready("k2") },
        Command { facet: Some("waiting_human"), ..ready("k2") },
        Command { event_payload_valid: false, ..ready("k2") },
        ready("k1"),
        // The words of the birth, but asked of a run that is already there.
        Command {
            from: None,
            to: "not_started",
            trigger_ref: "run_created",
            guard_truths: BTreeMap::new(),
            ..ready("k1")
        },
    ] {
        refuses(&model.apply(&other), &[Problem::IdempotencyKeyReused]);
    }
    refuses(&model.start(&start("k2")), &[Problem::IdempotencyKeyReused]);
}

#[test]
fn refused_request_does_not_use_up_its_key() {
    let mut model = born();
    let closed = Command { guard_truths: BTreeMap::new(), ..ready("k2") };
    let guard = "G-PRECONDITION";
    refuses(&model.apply(&closed), &[Problem::TransitionRefusedByGuard { guard }]);
    assert!(matches!(model.apply(&ready("k2")), Outcome::Accepted { seq: 2, .. }));
}

/// FSM-5: all problems, in the order of the vocabulary, guards in the order of the row.
#[test]
fn every_problem_of_a_matching_row_is_reported() {
    let mut model = born();
    let rule = *model.rules_from(Some("in_progress")).find(|rule| rule.label == "T3").expect("T3");
    model.propose(&rule);
    let wrong = Command {
        from: Some("in_progress"),
        actor_class: rule.actor,
        trigger_kind: "timer",
        guard_truths: BTreeMap::from([("G-FACET-VOCAB", false)]),
        event_payload_valid: false,
        principal: "bare".into(),
        ..wait("k2", Some("waiting_for_godot"))
    };
    refuses(
        &model.apply(&wrong),
        &[
            Problem::WrongTrigger,
            Problem::TransitionRefusedByGuard { guard: "G-FACET-VOCAB" },
            Problem::StaleFromState,
            Problem::FacetMissing,
            Problem::TransitionProposed,
            Problem::EventPayloadInvalid,
            Problem::ActorClassNotHeld,
        ],
    );

    let late = Command {
        from: Some("overdue"),
        to: "completed",
        trigger_ref: "step_complete",
        guard_truths: BTreeMap::new(),
        audit_ref: false,
        ..claim("k2")
    };
    refuses(
        &model.apply(&late),
        &[
            Problem::TransitionRefusedByGuard { guard: "G-OUTPUT-CONTRACT" },
            Problem::TransitionRefusedByGuard { guard: "G-POSTCONDITION" },
            Problem::TransitionRefusedByGuard { guard: "G-LATE-COMPLETION" },
            Problem::TransitionRefusedByGuard { guard: "G-TASKS-DONE" },
            Problem::AuditReferenceMissing,
            Problem::StaleFromState,
        ],
    );
}

#[test]
fn without_a_row_only_what_needs_no_row_is_reported() {
    let mut model = born();
    let nowhere = Command {
        from: Some("ready"),
        to: "nowhere",
        guard_truths: BTreeMap::new(),
        event_payload_valid: false,
        principal: "nobody".into(),
        ..ready("k2")
    };
    refuses(
        &model.apply(&nowhere),
        &[Problem::StateUnknown, Problem::StaleFromState, Problem::PrincipalUnknown],
    );
    let skip = Command { to: "completed", principal: "gone".into(), ..nowhere };
    refuses(
        &model.apply(&skip),
        &[Problem::NoMatchingTransition, Problem::StaleFromState, Problem::PrincipalInactive],
    );
}

/// CUT-2: S5 is a word of the machine, but no row leads to it.
#[test]
fn conceptual_state_is_known_and_cannot_be_entered() {
    let mut model = model("cut_request");
    let mark = Start {
        actor_class: "executor_dot991",
        trigger_kind: "rpc",
        trigger_ref: "mark",
        guard_truths: BTreeMap::from([("G-MARK-IDEM", true)]),
        ..start("k1")
    };
    assert!(matches!(model.start(&mark), Outcome::Accepted { transition: "mark", .. }));
    let cut = Command { from: None, to: "cut_in_progress", ..ready("k2") };
    refuses(&model.apply(&cut), &[Problem::NoMatchingTransition]);
}

#[test]
fn second_birth_of_a_run_is_stale() {
    refuses(&born().start(&start("k2")), &[Problem::StaleFromState]);
}

/// FSM-11.
#[test]
fn proposed_row_fires_once_approved() {
    let mut model = born();
    let rule = *model.rules_from(Some("not_started")).find(|rule| rule.label == "T1").expect("T1");
    model.propose(&rule);
    refuses(&model.apply(&ready("k2")), &[Problem::TransitionProposed]);
    model.approve(&rule);
    assert!(matches!(model.apply(&ready("k2")), Outcome::Accepted { .. }));
}

/// RUN-5.
#[test]
fn waiting_is_entered_and_left_with_its_facet() {
    let mut model = born();
    model.apply(&ready("k2"));
    model.apply(&claim("k3"));
    refuses(&model.apply(&wait("k4", None)), &[Problem::FacetMissing]);
    model.apply(&wait("k4", Some("waiting_human")));
    assert_eq!(model.run("r").expect("born").facet(), Some("waiting_human"));
    let resume = Command {
        to: "in_progress",
        actor_class: "system",
        trigger_kind: "event",
        trigger_ref: "facet_resolved",
        guard_truths: BTreeMap::from([("G-FACET-RESOLVED", true)]),
        facet: Some("waiting_human"),
        ..claim("k5")
    };
    assert!(matches!(model.apply(&resume), Outcome::Accepted { transition: "T3r", .. }));
    assert_eq!(model.run("r").expect("born").facet(), None, "a facet nobody waits in is not kept");
}

/// An invariant that cannot fail proves nothing.
#[test]
fn each_invariant_sees_a_forged_run() {
    let honest = || {
        let mut model = born();
        model.apply(&ready("k2"));
        assert_eq!(model.check_invariants(), Ok(()));
        model
    };

    let mut forged = honest();
    forged.runs.get_mut("r").expect("born").history[1].seq = 3;
    assert!(matches!(forged.check_invariants(), Err(Violation::SeqNotDense { .. })));

    let mut forged = honest();
    forged.runs.get_mut("r").expect("born").seq = 7;
    assert!(matches!(forged.check_invariants(), Err(Violation::SeqNotDense { .. })));

    let mut forged = honest();
    forged.runs.get_mut("r").expect("born").history[1].from = Some("blocked");
    assert!(matches!(forged.check_invariants(), Err(Violation::HistoryBroken { .. })));

    let mut forged = honest();
    forged.runs.get_mut("r").expect("born").state = "completed";
    assert!(matches!(forged.check_invariants(), Err(Violation::StateDisagrees { .. })));

    let mut forged = honest();
    let run = forged.runs.get_mut("r").expect("born");
    run.history[0].to = "cancelled";
    run.history[1].from = Some("cancelled");
    assert!(matches!(forged.check_invariants(), Err(Violation::TerminalLeft { .. })));

    let mut forged = honest();
    forged.runs.get_mut("r").expect("born").facet = Some("waiting_human");
    assert!(matches!(forged.check_invariants(), Err(Violation::FacetDisagrees { .. })));

    let mut forged = honest();
    forged.outbox.pop();
    assert!(matches!(forged.check_invariants(), Err(Violation::OutboxDisagrees { .. })));
}
