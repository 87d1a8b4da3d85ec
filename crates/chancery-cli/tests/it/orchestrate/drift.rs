//! The ground moves under a run: it stops, says what moved, and goes on only by the sovereign's word about exactly that.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::scene::Scene;
use super::tamper::id;
use crate::place::Said;

/// What somebody does under a run.
#[derive(Clone, Copy)]
enum Move<'a> {
    /// Makes a unit under the document's prefix, through the door.
    Unit,
    /// Replaces the body of a writer of units.
    Function(&'a str),
    /// A decision on the run's request that no door made.
    Decision,
    /// The decision on the run's request is no longer there.
    NoDecision,
}

impl Move<'_> {
    fn make(self, scene: &Scene, run: &str, document: &str) {
        match self {
            Self::Unit => drop(scene.as_executor(&format!(
                "select iu.fn_iu_create('{}/stranger', 'X', 'text', 'executor', 'law_unit', 'chapter', p_publication_type => 'law')",
                document.to_uppercase()
            ))),
            Self::Function(name) => drop(scene.one(&format!(
                "do $do$ begin execute replace(pg_get_functiondef('iu.{name}'::regproc), '$function$', '$function$ '); end $do$"
            ))),
            Self::Decision => scene.behind_the_doors(&format!(
                "insert into cutter_governance.review_decision (review_scope, manifest_id, manifest_version, status, verdict, findings, reviewer_class,
                     reviewer_identity, risk_class_assessment, key_id, decision_payload, signature, decision_at, created_at, row_digest,
                     review_decision_id, governance_event_kind, entry_id)
                   select 'x', gen_random_uuid(), 'x', 'x', 'reject', '{{}}', 'x', 'sofia', 'low', gen_random_uuid(), 'x', '', now(), now(), ''::bytea,
                          '{id}', 'cut_review', r.entry_id from orchestrator.run r where r.run_id = '{id}'",
                id = id(run)
            )),
            Self::NoDecision => scene.behind_the_doors(&format!(
                "update cutter_governance.review_decision set entry_id = review_decision_id where review_decision_id = internal.derived_uuid('{}', 'cut_decision')",
                id(run)
            )),
        }
    }

    fn take_back(self, scene: &Scene, run: &str) {
        let id = id(run);
        match self {
            Self::Unit => scene.behind_the_doors(
                "delete from iu.iu_lifecycle_log where unit_id in (select id from iu.information_unit where canonical_address like '%/stranger');
                 delete from iu.unit_version where unit_id in (select id from iu.information_unit where canonical_address like '%/stranger');
                 delete from iu.information_unit where canonical_address like '%/stranger'",
            ),
            Self::Function(_) => {}
            Self::Decision => scene.behind_the_doors(&format!(
                "delete from cutter_governance.review_decision where review_decision_id = '{id}'"
            )),
            Self::NoDecision => scene.behind_the_doors(&format!(
                "update cutter_governance.review_decision d set entry_id = r.entry_id from orchestrator.run r
                  where r.run_id = '{id}' and d.review_decision_id = internal.derived_uuid('{id}', 'cut_decision')"
            )),
        }
    }

    const fn dimension(self) -> &'static str {
        match self {
            Self::Unit => "row_count",
            Self::Function(_) => "functions",
            Self::Decision | Self::NoDecision => "review_decisions",
        }
    }
}

/// The three things as they are now.
fn survey(scene: &Scene, run: &str) -> Value {
    let said = scene.one(&format!("select orchestrator.survey('{}')", id(run)));
    serde_json::from_str(&said).expect("a survey")
}

/// One thing in a survey.
fn one_of(survey: &Value, moved: Move<'_>) -> Value {
    match moved {
        Move::Function(name) => survey["functions"][name].clone(),
        other => survey[other.dimension()].clone(),
    }
}

/// Tables that differ.
fn differ(before: &str, after: &str) -> BTreeSet<String> {
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<BTreeSet<_>>();
    let (before, after) = (lines(before), lines(after));
    let lines = before.symmetric_difference(&after);
    lines.filter_map(|line| line.split_once('|')).map(|(table, _)| table.to_owned()).collect()
}

/// Moves the ground, goes on, and sees the run stop with the difference and nothing else.
fn stops(scene: &Scene, run: &str, document: &str, approval: Option<&str>, moved: Move<'_>) {
    let stood = scene.state(run);
    let pinned = survey(scene, run);
    moved.make(scene, run, document);
    let live = survey(scene, run);
    let before = scene.place.fingerprint();
    let said = scene.resume(run, approval).ends_with(3);
    assert!(said.stderr.contains("STOP_DRIFT"), "{said:?}");
    assert_eq!(scene.state(run), "stopped_drift");

    let written = differ(&before, &scene.place.fingerprint());
    let allowed = |table: &str| {
        let of_the_stop = ["orchestrator.run", "fsm.transition_log"].contains(&table)
            // The report, and the runner's signature under it.
            || table.starts_with("kb.revision");
        // A turn is a lock: its row says nothing.
        of_the_stop || table == "queue.turn" || table.starts_with("event.")
    };
    assert!(written.iter().all(|table| allowed(table)), "before {stood}: {written:?}");

    let logged = scene.one(&format!(
        "select evidence from fsm.transition_log where run_id = '{}' order by seq desc limit 1",
        id(run)
    ));
    let logged: Value = serde_json::from_str(&logged).expect("evidence");
    let name = if let Move::Function(name) = moved { json!(name) } else { Value::Null };
    let difference = json!([{
        "dimension": moved.dimension(), "name": name, "pinned": one_of(&pinned, moved), "live": one_of(&live, moved),
    }]);
    assert_eq!(logged["differences"], difference, "before {stood}");
    assert_ne!(one_of(&pinned, moved), one_of(&live, moved));
    let code = format!("STOP_DRIFT_{}", moved.dimension().to_uppercase());
    assert_eq!((&logged["code"], &logged["codes"]), (&json!(code), &json!([code])));
    let report = logged["report_kb_id"].as_str().expect("a report");
    let body = scene.one(&format!("select body from kb.revision where path = '{report}'"));
    for part in [
        one_of(&pinned, moved).to_string(),
        one_of(&live, moved).to_string(),
        "\"context_pins\"".to_owned(),
        format!("cutter orchestrate resume --run-id {run}"),
    ] {
        assert!(body.contains(&part), "the report does not say {part}: {body}");
    }
    let sidecar = scene.sidecar(run);
    assert_eq!(sidecar["state"], "stopped_drift");
    assert_eq!(sidecar["last_error"]["code"], code);
    assert_eq!(sidecar["last_error"]["report_kb_id"], report);
}

/// The sovereign acknowledges what there is now; gives the document. A run that nobody acknowledged stays where it is.
fn acknowledged(scene: &Scene, run: &str) -> String {
    scene.resume(run, None).ends_with(4);
    scene.resume(run, None).ends_with(4);
    assert_eq!(scene.state(run), "stopped_drift", "a plain resume went on");
    let asked = ["approve", "--run-id", run, "--show", "--json"];
    let asked = scene.orchestrate(&asked).ends_with(0).json();
    assert_eq!(asked["gate"], "SG_drift_ack");
    assert_eq!(
        asked["asks"]["survey"],
        survey(scene, run),
        "the sovereign is shown another ground"
    );
    scene.approved(run)
}

/// Acknowledged and resumed: the new ground is pinned.
fn goes_on(scene: &Scene, run: &str, exit: i32) -> Said {
    let approval = acknowledged(scene, run);
    let said = scene.resume(run, Some(&approval)).ends_with(exit);
    let kind = format!(
        "select used_for_ref from approval.approval_use where used_for_ref like '{run}/SG_drift_ack' limit 1"
    );
    assert_eq!(scene.one(&kind), format!("{run}/SG_drift_ack"));
    said
}

/// A run held before this state, wherever that is in it.
fn held(scene: &Scene, document: &str, state: &str) -> String {
    const BEFORE_THE_CUT: [&str; 6] = [
        "source_pinned",
        "marked",
        "cutplan_ok",
        "pre_write_backup_taken",
        "grants_probed",
        "awaiting_cut_authorization",
    ];
    scene.document(document, 3);
    if BEFORE_THE_CUT.contains(&state) {
        return scene.held(document, state);
    }
    let run = scene.started(document);
    if ["lifecycle_enacted", "closeout_reported"].contains(&state) {
        scene.taken_on(&run, 4);
    }
    let approval = scene.approved(&run);
    scene.hold_before(state);
    scene.resume(&run, Some(&approval)).ends_with(1);
    scene.release();
    run
}

/// ORC-8, ORC-9: the three dimensions, each before several gates. After an acknowledgement the run goes on from where it stood.
#[test]
fn a_run_stops_before_any_gate_when_the_ground_moved() {
    let scene = Scene::new();
    let cases: [(&str, Move<'_>, i32); 10] = [
        ("marked", Move::Function("fn_iu_apply_edit_draft"), 4),
        ("cutplan_ok", Move::Decision, 4),
        ("pre_write_backup_taken", Move::Unit, 4),
        ("grants_probed", Move::Function("fn_iu_enact"), 4),
        // Nobody is asked on a ground that moved.
        ("awaiting_cut_authorization", Move::Function("fn_iu_create"), 4),
        ("structural_verified", Move::Decision, 4),
        ("leg_b_recorded", Move::Unit, 4),
        // The verifier is another process.
        ("write_verified", Move::NoDecision, 4),
        ("awaiting_lifecycle_authorization", Move::Function("fn_iu_enact"), 4),
        ("closeout_reported", Move::Unit, 0),
    ];
    for (state, moved, exit) in cases {
        let document = state.replace('_', "-");
        let run = held(&scene, &document, state);
        let stood = scene.state(&run);
        if stood == "grants_probed" {
            // As if the line had been cut a moment earlier, before the request was made.
            scene.behind_the_doors(&format!(
                "delete from approval.approval_request where subject_ref = '{run}'"
            ));
        }
        stops(&scene, &run, &document, None, moved);
        if matches!(moved, Move::Decision | Move::NoDecision)
            || state == "pre_write_backup_taken"
            || state == "leg_b_recorded"
        {
            // Nothing good comes of these: whoever moved the ground puts it back, and the sovereign acknowledges that.
            moved.take_back(&scene, &run);
        }
        goes_on(&scene, &run, exit);
        let back = scene.one(&format!(
            "select to_state from fsm.transition_log where run_id = '{}' and from_state = 'stopped_drift'", id(&run)));
        assert_eq!(back, stood, "it went on somewhere else");
        assert_eq!(scene.sidecar(&run)["last_error"], Value::Null);
    }
}

/// ORC-8, ORC-9: a writer is replaced while the run waits at its first gate. The acknowledgement is about that one replacement: after
/// another one it is refused, and the cut's own authorization is still good afterwards.
#[test]
fn an_acknowledgement_is_about_exactly_what_was_shown() {
    let scene = Scene::new();
    scene.document("policy", 3);
    let run = scene.started("policy");
    let cut = scene.approved(&run);
    let moved = Move::Function("fn_iu_create");
    stops(&scene, &run, "policy", Some(&cut), moved);
    // The authorization of the cut is no acknowledgement.
    let said = scene.resume(&run, Some(&cut)).ends_with(3);
    assert!(said.stderr.contains("STOP_APPROVAL_REFUSED"), "{said:?}");

    let first = acknowledged(&scene, &run);
    moved.make(&scene, &run, "policy");
    let before = survey(&scene, &run);
    let said = scene.resume(&run, Some(&first)).ends_with(3);
    assert!(said.stderr.contains("STOP_APPROVAL_REFUSED"), "{said:?}");
    assert_eq!(scene.state(&run), "stopped_drift");
    assert_eq!(scene.one("select count(*) from iu.information_unit"), "0");

    goes_on(&scene, &run, 4);
    assert_eq!(scene.state(&run), "awaiting_cut_authorization");
    let pinned = scene.sidecar(&run)["context_pins"]["survey"]["functions"].clone();
    assert_eq!(pinned, before["functions"], "the new ground is not pinned");
    scene.resume(&run, Some(&cut)).ends_with(4);
    assert_eq!(scene.state(&run), "awaiting_lifecycle_authorization");

    // The same at the second gate, with another one.
    let enact = scene.approved(&run);
    stops(&scene, &run, "policy", Some(&enact), Move::Function("fn_iu_enact"));
    assert_eq!(
        scene.one("select count(*) from iu.information_unit where lifecycle_status <> 'draft'"),
        "0"
    );
    goes_on(&scene, &run, 4);
    scene.resume(&run, Some(&enact)).ends_with(0);
    assert_eq!(scene.state(&run), "closeout_reported");
    assert_eq!(
        scene.one("select count(*) from iu.information_unit where lifecycle_status = 'enacted'"),
        "3"
    );
}

/// Seed D §7: a run that broke off in the middle of a phase goes on only if what its last gate found still holds; that it does not
/// is drift, in none of the three dimensions.
#[test]
fn what_the_last_gate_found_is_looked_at_again_after_a_crash() {
    let scene = Scene::new();
    scene.document("law", 3);
    let run = scene.started("law");
    let approval = scene.approved(&run);
    scene.hold_before("leg_b_recorded");
    scene.resume(&run, Some(&approval)).ends_with(1);
    scene.release();
    assert_eq!(scene.state(&run), "structural_verified");
    scene.behind_the_doors(
        "update iu.information_unit set section_type = 'chapter' where sort_order = 1",
    );
    let said = scene.resume(&run, None).ends_with(3);
    assert!(said.stderr.contains("STOP_DRIFT"), "{said:?}");
    assert_eq!(scene.state(&run), "stopped_drift");
    let differences = scene.one(&format!(
        "select evidence::jsonb -> 'differences' from fsm.transition_log where run_id = '{}' order by seq desc limit 1",
        id(&run)
    ));
    let expected = json!([{ "dimension": "invariants", "name": "section_type_cardinality", "pinned": true, "live": false }]);
    assert_eq!(serde_json::from_str::<Value>(&differences).expect("JSON"), expected);
    assert_eq!(scene.one("select count(*) from cutter_governance.cut_change_set"), "0");
}
