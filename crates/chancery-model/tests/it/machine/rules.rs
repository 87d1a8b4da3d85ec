//! Every rule has a machine that breaks it (FSM-9, FSM-10, FSM-8).
//!
//! A case breaks a good machine in one place and names all that the checker must then report.

use std::collections::BTreeSet;

use chancery_model::machine::Rule;

use super::fixture::{FLOOR, PURCHASE, findings, replace_once};

/// FSM-9: what is sound is not refused.
#[test]
fn good_machines_have_no_findings() {
    assert_eq!(findings(PURCHASE), []);
    assert_eq!(findings(FLOOR), []);
}

/// FSM-9: a failed check has a name, and a counter-example where a path can show the fault.
#[test]
fn each_broken_machine_is_found_with_its_counter_example() {
    for case in cases() {
        case.run();
    }
}

#[test]
fn every_rule_has_a_broken_machine() {
    let broken: BTreeSet<_> = cases().iter().map(|case| case.rule).collect();
    let missing: Vec<_> = Rule::ALL.iter().filter(|rule| !broken.contains(rule)).collect();
    assert!(missing.is_empty(), "no case breaks {missing:?}");
}

fn cases() -> Vec<Case> {
    [
        names(),
        texts_and_rollups(),
        structure(),
        floor(),
        guards_and_payloads(),
        answers(),
        invariants(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn names() -> Vec<Case> {
    vec![
        breaks(Rule::MalformedMachineName).by("machine: purchase\n", "machine: Purchase\n"),
        breaks(Rule::MalformedVersion).by("version: 1.0.0", "version: 1.0-beta"),
        breaks(Rule::MalformedName).by("ref: payday", "ref: on pay day"),
        breaks(Rule::MalformedName).by("{ id: revise,", "{ id: 're>vise',"),
        breaks(Rule::MalformedName).by("{ id: P-4,", "{ id: 'P 4',"),
        breaks(Rule::MalformedName)
            .by("{ type: purchase.paid,", "{ type: paid,")
            .by("event: purchase.paid", "event: paid"),
        // Nobody ever moves a run of one's own in these classes.
        breaks(Rule::ActorNeverActs)
            .by("actors: [pic_human], trigger: { kind: rpc, ref: purchase_revise }",
                "actors: [review_authority], trigger: { kind: rpc, ref: purchase_revise }")
            .path("submitted revise draft"),
        breaks(Rule::UnknownColour).by("color: ui.traffic_light.red, icon", "color: ui.traffic_light.reed, icon"),
        breaks(Rule::UnknownIcon).by("ordinal: 20, icon: icon.key", "ordinal: 20, icon: icon.coins"),
        breaks(Rule::UnknownIcon).by("icon: icon.seal_filled", "icon: seal_filled"),
        breaks(Rule::DuplicateState)
            .by("  - { code: paid,", &format!("{APPROVED_AGAIN}  - {{ code: paid,")),
        breaks(Rule::DuplicateLabel).by("{ id: revise,", "{ id: submit,"),
        breaks(Rule::DuplicateTransition)
            .by("actors: [pic_human, executor_worker]", "actors: [pic_human, pic_human]")
            .path("draft submit submitted"),
        breaks(Rule::DuplicateTransition)
            .by("transitions:\n", &format!("transitions:\n{PAY_TWICE}"))
            .path("approved pay paid"),
        breaks(Rule::DuplicateGuard)
            .by("guards:\n", "guards:\n  - { name: four_eyes, kind: config, rule: '1 == 1', description: again }\n"),
        breaks(Rule::DuplicateEvent)
            .by("events:\n", "events:\n  - { type: purchase.paid, description: again }\n"),
        breaks(Rule::DuplicateFacet)
            .by("code: waiting_budget, ordinal: 20, icon: icon.key, label: { en: Waits for the budget }",
                "code: waiting_chief, ordinal: 20, icon: icon.key, label: { en: Waits for the chief }"),
        breaks(Rule::DuplicateFacetOrdinal).by("ordinal: 20", "ordinal: 10"),
        breaks(Rule::DuplicateInvariant).by("{ id: P-4,", "{ id: P-5,"),
        breaks(Rule::DuplicateRollup)
            .by("scope: custom\n", "scope: custom\nrollup: [{ policy: worst, active: true }, { policy: worst, active: false }]\n")
            .also(&[Rule::RollupOutsideWorkflowRun]),
        breaks(Rule::RepeatedGuard).by("guards: [within_limit]", "guards: [within_limit, within_limit]"),
        breaks(Rule::UnknownState)
            .by("from: submitted, to: draft", "from: sent, to: draft")
            .path("sent revise draft"),
        breaks(Rule::UnknownState)
            .by("rollback_to: draft", "rollback_to: drafted")
            .path("draft submit submitted"),
        breaks(Rule::UnknownState)
            .by("from: submitted, to: draft", "from: submitted, to: \"∅\"")
            .path("submitted revise ∅"),
        breaks(Rule::UnknownState).by("visits: approved", "visits: approval").also(&[Rule::AlwaysViaViolated]),
        // `*` here would hold of every machine, and so prove nothing.
        breaks(Rule::UnknownState).by("to: paid, visits: approved", "to: \"*\", visits: approved"),
        breaks(Rule::UnknownGuard)
            .by("guards: [within_limit]", "guards: [within_limit, weekday]")
            .path("draft submit submitted"),
        breaks(Rule::UnknownGuard)
            .by("guard: four_eyes }", "guard: six_eyes }")
            .also(&[Rule::SeparationViolated]),
        breaks(Rule::UnknownEvent)
            .by("from: submitted, to: draft, actors: [pic_human],",
                "from: submitted, to: draft, actors: [pic_human], event: purchase.revised,")
            .path("submitted revise draft"),
        breaks(Rule::UnknownLabel).by("edges: [submit, approve]", "edges: [hand_in, approve]"),
        breaks(Rule::UnusedGuard).by("guards: [within_limit]", "guards: []"),
        breaks(Rule::UnusedEvent).by(", event: purchase.paid", ""),
    ]
}

fn texts_and_rollups() -> Vec<Case> {
    vec![
        breaks(Rule::EnglishTextMissing).by("{ en: May be paid }", "{ vi: Có thể trả }"),
        breaks(Rule::EnglishTextMissing).by("{ en: Waits for the chief }", "{ en: '' }"),
        breaks(Rule::ConflictingText).by(
            "label: { en: Paid }, message: { en: Nothing left to do } }",
            "label: { en: Paid }, message: { en: Nothing left to do }, facets: [{ code: waiting_chief, ordinal: 1, icon: icon.circle_hollow, label: { en: Other words } }] }",
        ),
        breaks(Rule::RollupOutsideWorkflowRun)
            .by("scope: custom\n", "scope: custom\nrollup: [{ policy: worst, active: true }]\n"),
    ]
}

fn structure() -> Vec<Case> {
    vec![
        // The machine still has its birth row, which now leads to no initial state.
        breaks(Rule::InitialStateMissing)
            .by("initial: true, ", "")
            .also(&[Rule::BirthNotToInitial]),
        breaks(Rule::SeveralInitialStates)
            .by("{ code: approved,", "{ code: approved, initial: true,"),
        breaks(Rule::BirthMissing).by(OPEN, "").also(&[Rule::UnusedEvent]),
        breaks(Rule::BirthNotToInitial)
            .by("from: \"∅\", to: draft", "from: \"∅\", to: submitted")
            .path("∅ open submitted"),
        breaks(Rule::UnreachableState).by("states:\n", &format!("states:\n{ARCHIVED}")),
        breaks(Rule::DeadEnd)
            .by("code: paid, class: terminal, terminal: true", "code: paid, class: terminal")
            .path("∅ open draft submit submitted approve approved pay paying pay paid"),
        // From `paid` one can only stay in `paid`.
        breaks(Rule::NoWayOut)
            .by("code: paid, class: terminal, terminal: true", "code: paid, class: terminal")
            .by("transitions:\n", &format!("transitions:\n{PAY_AGAIN}"))
            .also(&[Rule::NeverPathViolated])
            .path("∅ open draft submit submitted approve approved pay paying pay paid"),
        breaks(Rule::UndeclaredTerminalExit)
            .by("terminal_exit: true, ", "")
            .path("rejected reopen draft"),
        breaks(Rule::TerminalExitWithoutTerminal)
            .by("from: [rejected, approved], to: draft", "from: approved, to: draft")
            .path("approved reopen draft"),
        breaks(Rule::ConceptualStateUnused)
            .by("via: paying, ", "")
            .also(&[Rule::AlwaysViaViolated]),
        breaks(Rule::ConceptualStateWithEdges)
            .by("from: submitted, to: draft", "from: submitted, to: paying")
            .path("submitted revise paying")
            .also(&[Rule::NeverEdgeViolated]),
        breaks(Rule::ViaNotConceptual)
            .by("from: submitted, to: draft", "from: submitted, via: rejected, to: draft")
            .path("submitted revise draft"),
    ]
}

/// FSM-10: the nine floor states stand word for word in every step and task machine.
fn floor() -> Vec<Case> {
    let mut cases = vec![
        breaks(Rule::FloorStateMissing)
            .on(FLOOR)
            .by("  - { code: overdue, class: red, color: ui.traffic_light.red_pale, icon: icon.clock_alert, label: { en: Overdue }, message: { en: Too late } }\n", "")
            .by("to: [waiting, blocked, overdue,", "to: [waiting, blocked,")
            .by("from: [waiting, blocked, overdue,", "from: [waiting, blocked,"),
        breaks(Rule::FloorStateAltered).on(FLOOR).by("code: ready, class: active", "code: ready, class: idle"),
        breaks(Rule::FloorStateAltered).on(FLOOR).by("ui.traffic_light.red_pale", "ui.traffic_light.red"),
        breaks(Rule::FloorStateAltered).on(FLOOR).by("code: failed,", "code: failed, derived: { floor_equivalent: blocked, justification: why not },"),
        breaks(Rule::FloorStateAltered)
            .on(FLOOR)
            .by("code: cannot_complete,", "code: cannot_complete, terminal: true,")
            .also(&[Rule::UndeclaredTerminalExit]),
        breaks(Rule::DerivedWithoutFloorEquivalent)
            .on(FLOOR)
            .by("floor_equivalent: cannot_complete", "floor_equivalent: gone"),
        breaks(Rule::DerivedWithoutFloorEquivalent)
            .on(FLOOR)
            .by("justification: The need went away", "justification: ' '"),
    ];
    let derived =
        "derived: { floor_equivalent: cannot_complete, justification: The need went away }, ";
    for scope in ["step", "task", "workflow_run"] {
        cases.push(
            breaks(Rule::DerivedWithoutFloorEquivalent)
                .on(FLOOR)
                .by("scope: task", &format!("scope: {scope}"))
                .by(derived, ""),
        );
    }
    cases
}

/// FSM-8: a guard's rule is data or a registered function, never both, and users have data only.
fn guards_and_payloads() -> Vec<Case> {
    let rule = "kind: config\n    rule: '$.actor.principal != $.run.movers.submit'\n";
    vec![
        breaks(Rule::ConfigGuardWithoutRule).by(rule, "kind: config\n"),
        breaks(Rule::ConfigGuardWithoutRule).by(rule, "kind: config\n    rule: ''\n"),
        breaks(Rule::PredicateGuardWithRule)
            .by("scope: custom", "scope: cut_request")
            .by(rule, &rule.replace("config", "predicate_fn")),
        breaks(Rule::PredicateGuardInCustom).by(rule, "kind: predicate_fn\n"),
        breaks(Rule::ForeignReadInCustom).by("reads: [history]", "reads: [history, approval]"),
        breaks(Rule::SchemaOutsideSubset).by("minimum: 0", "exclusiveMinimum: 0"),
        breaks(Rule::DeniedPayloadKey).by(
            "properties: { amount: { type: number, minimum",
            "properties: { password: { type: string }, amount: { type: number, minimum",
        ),
        breaks(Rule::SchemaOutsideSubset)
            .by("data: { type: object,", "data: { type: object, minProperties: 1,"),
        breaks(Rule::SchemaOutsideSubset).by("minLength: 1 }", "minLength: -1 }"),
    ]
}

/// FSM-8: a rule that could hold unanswered, or reads what is not there, is found with the place that it reads.
fn answers() -> Vec<Case> {
    let four_eyes = "$.actor.principal != $.run.movers.submit";
    let written = |rule: &'static str| breaks_rule(Rule::OpenRule, four_eyes, rule);
    vec![
        breaks_rule(Rule::MalformedRule, four_eyes, "$.actor.principal"),
        breaks_rule(Rule::MalformedRule, four_eyes, "$.actor.principal =="),
        breaks_rule(Rule::MalformedRule, four_eyes, "true"),
        written("exists($.run.movers.submit ? (@ != \"ana\"))"),
        written("!($.run.movers ? (@.typo == 1).submit == \"ana\")"),
        written("$.run.movers.* != $.actor.principal"),
        written("($.run.movers.submit == \"x\") is unknown"),
        written("lax $.run.movers.submit != $.actor.principal"),
        written("$.now.datetime() > $.evidence.event.datetime()"),
        breaks_rule(Rule::UnknownMember, four_eyes, "!($.actor.principal == $.run.startedby)")
            .path("submitted approve approved"),
        breaks_rule(Rule::UnknownMember, four_eyes, "!($.actor.principal == $.run.movers.sumbit)")
            .path("submitted approve approved"),
        breaks_rule(Rule::UnknownMember, four_eyes, "$.actor.id != $.run.movers.submit")
            .path("submitted approve approved"),
        breaks_rule(Rule::UnknownMember, "$.run.data.amount <= 1000", "$.run.data.ammount <= 1000")
            .path("draft submit submitted"),
        breaks_rule(
            Rule::UnknownMember,
            "$.evidence.reason like_regex",
            "$.evidence.resn like_regex",
        )
        .path("submitted reject rejected"),
        // The event of a submission says the amount, that of a decision does not.
        breaks_rule(
            Rule::UnknownMember,
            "$.evidence.reason like_regex",
            "$.evidence.event.amount like_regex",
        )
        .path("submitted reject rejected"),
        breaks(Rule::UnknownMember)
            .by(
                "{ reason: { type: string, minLength: 1 } }",
                "{ remark: { type: string, minLength: 1 } }",
            )
            .path("submitted reject rejected"),
        breaks(Rule::UndeclaredRead).by("    reads: [history]\n", ""),
        breaks_rule(Rule::UndeclaredRead, four_eyes, "!($.run.children.open > 0)"),
        breaks_rule(Rule::UndeclaredRead, four_eyes, "$.run.parent.terminal == false"),
    ]
}

fn breaks_rule(rule: Rule, old: &str, new: &str) -> Case {
    breaks(rule).by(old, new)
}

/// FSM-9: each form of invariant is proven over the whole graph.
fn invariants() -> Vec<Case> {
    vec![
        breaks(Rule::NeverEdgeViolated)
            .by("from: rejected, to: \"*\", except: [draft]", "from: rejected, to: \"*\"")
            .path("rejected reopen draft"),
        // The edge passes a conceptual state that the claim names.
        breaks(Rule::NeverEdgeViolated)
            .by("from: [draft, submitted], to: [paying, paid]", "from: approved, to: paying")
            .path("approved pay paid"),
        breaks(Rule::NeverEdgeViolated)
            .by("from: [draft, submitted], to: [paying, paid]", "from: paying, to: \"*\"")
            .path("approved pay paid"),
        // A birth is an edge too where the claim is about an actor.
        breaks(Rule::NeverEdgeViolated)
            .by("to: draft, actors: [pic_human], trigger: { kind: rpc, ref: purchase_open }",
                "to: draft, actors: [escalation_handler], trigger: { kind: rpc, ref: purchase_open }")
            .path("∅ open draft"),
        breaks(Rule::NeverPathViolated)
            .by("never_path: { from: paid, to: \"*\" }", "never_path: { from: submitted, to: paid }")
            .path("submitted approve approved pay paying pay paid"),
        // One edge or more: a state may not come back to itself either.
        breaks(Rule::NeverPathViolated)
            .by("never_path: { from: paid, to: \"*\" }", "never_path: { from: draft, to: draft }")
            .path("draft submit submitted revise draft"),
        // A proposed row counts: it may be approved tomorrow.
        breaks(Rule::NeverPathViolated)
            .by("never_path: { from: paid, to: \"*\" }", "never_path: { from: rejected, to: [paid, draft] }")
            .path("rejected reopen draft"),
        breaks(Rule::AlwaysViaViolated)
            .by("transitions:\n", &format!("transitions:\n{PAY_UNSEEN}"))
            .path("∅ open draft submit submitted pay_unseen paying pay_unseen paid")
            .also(&[Rule::NeverEdgeViolated]),
        breaks(Rule::AlwaysViaViolated)
            .by("always_via: { to: paid, visits: paying }", "always_via: { to: rejected, visits: approved }")
            .path("∅ open draft submit submitted reject rejected"),
        breaks(Rule::SeparationViolated)
            .by("to: approved, actors: [reviewer]", "to: approved, actors: [reviewer, executor_worker]")
            .path("draft submit submitted approve approved"),
        breaks(Rule::SeparationViolated)
            .by("separation: { edges: [submit, approve], guard: four_eyes }",
                "separation: { edges: [open, revise], guard: four_eyes }")
            .path("∅ open draft submit submitted revise draft"),
        breaks(Rule::SeparationViolated)
            .by("to: approved, actors: [reviewer], trigger: { kind: rpc, ref: purchase_decide }, guards: [four_eyes]",
                "to: approved, actors: [reviewer], trigger: { kind: rpc, ref: purchase_decide }")
            .path("submitted approve approved"),
    ]
}

const OPEN: &str = "  - { id: open, from: \"∅\", to: draft, actors: [pic_human], trigger: { kind: rpc, ref: purchase_open }, event: purchase.opened }\n";
const PAY_AGAIN: &str = "  - { id: again, from: paid, to: paid, actors: [system], trigger: { kind: timer, ref: again } }\n";
const PAY_TWICE: &str = "  - { id: pay_twice, from: approved, to: paid, via: paying, actors: [system], trigger: { kind: timer, ref: payday } }\n";
const PAY_UNSEEN: &str = "  - { id: pay_unseen, from: submitted, to: paid, via: paying, actors: [system], trigger: { kind: timer, ref: payday } }\n";
const APPROVED_AGAIN: &str = "  - { code: approved, class: active, color: ui.traffic_light.green, icon: icon.check_filled, label: { en: Approved }, message: { en: May be paid } }\n";
const ARCHIVED: &str = "  - { code: archived, class: terminal, terminal: true, color: ui.traffic_light.gray, icon: icon.archive, label: { en: Archived }, message: { en: Put away } }\n";

struct Case {
    rule: Rule,
    text: String,
    path: &'static str,
    also: &'static [Rule],
}

fn breaks(rule: Rule) -> Case {
    Case { rule, text: PURCHASE.to_owned(), path: "", also: &[] }
}

impl Case {
    /// Breaks another machine than the purchase; stands before `by`.
    fn on(self, base: &str) -> Self {
        Self { text: base.to_owned(), ..self }
    }

    fn by(self, old: &str, new: &str) -> Self {
        Self { text: replace_once(&self.text, old, new), ..self }
    }

    /// The counter-example: states and labels, parted by spaces.
    fn path(self, path: &'static str) -> Self {
        Self { path, ..self }
    }

    /// Other rules that cannot but break along with it.
    fn also(self, also: &'static [Rule]) -> Self {
        Self { also, ..self }
    }

    fn run(&self) {
        let found = findings(&self.text);
        let rules: BTreeSet<_> = found.iter().map(|finding| finding.rule).collect();
        let expected: BTreeSet<_> = self.also.iter().copied().chain([self.rule]).collect();
        assert_eq!(rules, expected, "{found:#?}");
        let paths: Vec<_> = found
            .iter()
            .filter(|finding| finding.rule == self.rule)
            .map(|finding| finding.path.join(" "))
            .collect();
        assert!(paths.iter().any(|path| path == self.path), "{} not in {paths:?}", self.path);
    }
}
