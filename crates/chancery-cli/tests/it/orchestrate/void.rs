//! A run is voided by the sovereign, whatever became of it, and another one takes the document to its end.

use chancery_engine::orchestrator::RunId;

use super::scene::Scene;
use super::trouble::stopped;

/// How a run gets to where it is voided.
type Way = fn(&Scene, &str) -> String;

fn void(scene: &Scene, run: &str, reason: &str) -> crate::place::Said {
    scene.orchestrate(&["void", "--run-id", run, "--reason", reason, "--as", "sofia"])
}

/// A run that only the database knows: its starter died before it wrote anything else.
fn pending(scene: &Scene, document: &str) -> String {
    let id = RunId::new(jiff::Timestamp::now());
    scene.one(&format!(
        "set session authorization cutter_exec;
         select orchestrator.fn_orchestrate_start('{}', '{id}', '{document}', gen_random_uuid(), 'executor')",
        id.uuid()
    ));
    id.to_string()
}

fn stopped_run(scene: &Scene, document: &str) -> String {
    let run = scene.started(document);
    let args = ["stop", "--run-id", &run, "--reason", "wait", "--as", "sofia"];
    scene.orchestrate(&args).ends_with(0);
    run
}

fn failed_run(scene: &Scene, document: &str) -> String {
    // The limit was lowered after the run began: what is known before is refused before.
    let run = scene.held(document, "marked");
    let limit = |n: u32| {
        let set = format!(
            "update config.dot_config set value = '{n}' where key = 'orchestrator.max_candidates_per_doc'"
        );
        scene.behind("config.dot_config", &set);
    };
    limit(1);
    stopped(&scene.resume(&run, None).ends_with(3), "STOP_INVARIANT");
    limit(500);
    run
}

/// A verification that failed took the cut back already.
fn failed_verification(scene: &Scene, document: &str) -> String {
    let run = until(scene, document, 8);
    scene.behind(
        "iu.unit_version",
        "update iu.unit_version set body = body || '!' where lifecycle_status = 'draft' and id = (
           select u.version_anchor_ref from iu.information_unit u where u.lifecycle_status = 'draft' order by u.canonical_address limit 1)",
    );
    let said = scene.resume(&run, None).ends_with(3);
    stopped(&said, "STOP_RUN_FAILED");
    run
}

/// A run right after a phase beyond the first gate.
fn until(scene: &Scene, document: &str, phase: u8) -> String {
    let run = scene.started(document);
    scene.taken_until(&run, phase);
    run
}

fn awaiting_lifecycle(scene: &Scene, document: &str) -> String {
    let run = scene.started(document);
    scene.taken_on(&run, 4);
    run
}

/// ORC-2: in every kind of state the void gives up the request, takes the drafts back, and leaves the document free.
#[track_caller]
fn is_voided(scene: &Scene, document: &str, state: &str, way: Way) {
    scene.document(document, 3);
    let run = way(scene, document);
    assert_eq!(scene.state(&run), state);
    let said = scene.orchestrate(&["void", "--run-id", &run, "--reason", "x", "--as", "executor"]);
    stopped(&said.ends_with(3), "STOP_REFUSED");
    assert_eq!(scene.state(&run), state, "only a sovereign voids");

    assert_eq!(void(scene, &run, "withdrawn").ends_with(0).stdout, "voided_sovereign\n");
    let left = scene.one(&format!(
        "select concat_ws(' ', coalesce(max(e.status), 'abandoned'),
           (select count(*) from iu.information_unit u join iu.source_document d on d.address_docprefix = u.doc_code
             where d.document_id = '{document}' and u.deleted_at is null))
           from orchestrator.run r left join cutter_governance.decision_backlog_entry e using (entry_id) where r.run_name = '{run}'"
    ));
    assert_eq!(left, "abandoned 0", "{state}");
    assert!(scene.paper(&run, "void").contains("withdrawn"));

    let before = scene.place.fingerprint();
    void(scene, &run, "again").ends_with(0);
    assert!(before == scene.place.fingerprint(), "a second void changed something");
    let said = scene.resume(&run, None).ends_with(if state == "pending" { 1 } else { 3 });
    stopped(&said, if state == "pending" { "STOP_RUN_NOT_FOUND" } else { "STOP_RUN_VOIDED" });

    let next = scene.started(document);
    scene.completed(&next);
}

/// ORC-2: before anything was written.
#[test]
fn a_run_that_wrote_nothing_is_voided() {
    let scene = Scene::new();
    let ways: [(&str, &str, Way); 5] = [
        ("pending", "pending", pending),
        ("marked", "marked", |scene, document| scene.started_until(document, 2)),
        ("asked", "awaiting_cut_authorization", |scene, document| scene.started(document)),
        ("stopped", "stopped_sovereign", stopped_run),
        ("failed", "failed_mark", failed_run),
    ];
    for (document, state, way) in ways {
        is_voided(&scene, document, state, way);
    }
    scene.audit_is_clean();
}

/// ORC-2: after the units were written, with and without their ledger, and after a verification that failed.
#[test]
fn a_run_that_wrote_drafts_is_voided_and_they_are_taken_back() {
    let scene = Scene::new();
    let ways: [(&str, &str, Way); 4] = [
        ("leg-a", "cut_leg_a_committed", |scene, document| until(scene, document, 6)),
        ("leg-b", "leg_b_recorded", |scene, document| until(scene, document, 8)),
        ("awaiting", "awaiting_lifecycle_authorization", awaiting_lifecycle),
        ("approved", "awaiting_lifecycle_authorization", |scene, document| {
            let run = awaiting_lifecycle(scene, document);
            scene.approved(&run);
            run
        }),
    ];
    for (document, state, way) in ways {
        is_voided(&scene, document, state, way);
    }
    scene.audit_is_clean();
    // The tampered row stays a finding for ever, so this one comes last.
    is_voided(&scene, "tampered", "failed_write_verify", failed_verification);
}

/// ORC-2, ORC-10: what is enacted is immutable, so voiding a run that enacted takes nothing back, and says so.
#[test]
fn what_was_enacted_is_not_taken_back() {
    let scene = Scene::new();
    scene.document("policy", 3);
    let run = scene.started("policy");
    scene.taken_on(&run, 4);
    scene.taken_until(&run, 10);
    assert_eq!(scene.state(&run), "lifecycle_enacted");
    void(&scene, &run, "withdrawn").ends_with(0);
    let enacted = "select count(*) from iu.information_unit where lifecycle_status = 'enacted' and deleted_at is null";
    assert_eq!(scene.one(enacted), "3");
    // Its addresses are taken: another run of the same text is not begun.
    let said = scene.orchestrate(&["start", "policy", "--as", "executor"]).ends_with(3);
    stopped(&said, "STOP_REFUSED");
    assert!(said.stderr.contains("RO013") && said.stderr.contains("addresses_free"), "{said:?}");
    assert_eq!(scene.one(enacted), "3");

    // A run that is closed out is over.
    scene.document("other", 3);
    let other = scene.started("other");
    scene.completed(&other);
    let said = scene.unchanged(&other, || void(&scene, &other, "late")).ends_with(3);
    stopped(&said, "STOP_REFUSED");
    scene.audit_is_clean();
}
