//! Runs of the orchestrator, as the database holds them: gates in their order, and every refusal with its facts.

use chancery_model::refusal::Code::{
    RO001, RO002, RO003, RO005, RO006, RO007, RO008, RO009, RO010, RO011,
};
use chancery_store::{Error, Role};
use serde_json::{Value, json};
use sqlx::AssertSqlSafe;
use uuid::Uuid;

use crate::approval_world::refusal;
use crate::orchestrator_world::{FINGERPRINT, GATES, KEY, Run, World};

/// The states in their order.
const STATES: [&str; 14] = [
    "pending",
    "source_pinned",
    "marked",
    "cutplan_ok",
    "pre_write_backup_taken",
    "grants_probed",
    "awaiting_cut_authorization",
    "cut_leg_a_committed",
    "structural_verified",
    "leg_b_recorded",
    "write_verified",
    "awaiting_lifecycle_authorization",
    "lifecycle_enacted",
    "closeout_reported",
];

/// ORC-1, ORC-10: fourteen states in a row; the units are enacted at the end, and every gate asked again gives its first answer.
#[tokio::test]
async fn a_run_goes_from_gate_to_gate() {
    let world = World::new().await;
    let run = world.started("alpha").await;
    for (gate, state) in GATES.iter().zip(&STATES[1..]) {
        world.pass(&run, gate).await;
        assert_eq!(world.state(&run).await, *state, "{gate}");
    }
    let db = &world.cutter.db;
    assert_eq!(db.count("iu.information_unit where lifecycle_status = 'enacted'").await, 3);
    assert_eq!(db.count("iu.unit_version where lifecycle_status = 'enacted'").await, 3);
    let entry = format!(
        "select status from cutter_governance.decision_backlog_entry where entry_id = '{}'",
        run.entry
    );
    assert_eq!(world.text(&entry).await, "verified_complete");
    let index = "kb.revision, regexp_split_to_table(body, E'\\n') line where path like 'orchestrator/runs-index/%'";
    assert_eq!(db.count(&format!("{index} and line like '%{}%'", run.name)).await, 1);

    let before = db.fingerprint().await;
    assert_eq!(world.start(&run).await.expect("again")["replayed"], true);
    for gate in GATES {
        let given = world.given(&run, "SG_cut_authz").await;
        let answer = match gate {
            "IG_mark" => world.mark(&run, &json!({})).await,
            "SG_cut_authz_received" => world.cut_leg_a(&run, &given).await,
            "IG_leg_b_record" => world.leg_b(&run).await,
            "IG_write_verify" => world.write_verify(&run, "pass").await,
            "SG_lifecycle_authz_received" => world.lifecycle_enact(&run, &given).await,
            "IG_closeout" => world.closeout(&run).await,
            gate => world.gate(&run, gate, &json!({})).await,
        };
        let answer = answer.unwrap_or_else(|error| panic!("{gate}: {error:?}"));
        assert_eq!((&answer["replayed"], &answer["gate"]), (&json!(true), &json!(gate)));
    }
    assert_eq!(before, db.fingerprint().await, "nothing changed");
}

/// ORC-8: nothing can be done to a run that is not there.
#[tokio::test]
async fn an_unknown_run_is_refused() {
    let world = World::new().await;
    world.document("alpha").await;
    let run = world.planned("alpha").await;
    let evidence = json!({ "approval_id": Uuid::nil(), "approval_kb_id": "x" });
    for answer in [
        world.gate(&run, "IG_source_pin", &json!({})).await,
        world.mark(&run, &json!({})).await,
        world.cut_leg_a(&run, &evidence).await,
        world.leg_b(&run).await,
        world.write_verify(&run, "pass").await,
        world.lifecycle_enact(&run, &evidence).await,
        world.closeout(&run).await,
        world.halt(&run, "stopped_exception").await,
        world.resume(&run, &evidence).await,
        world.void(&run).await,
    ] {
        assert_eq!(refusal(answer), (RO001, json!({ "run_id": run.id })));
    }
}

/// ORC-2, ORC-5: a run is named after its time and its id, and is about a document that is there and free.
#[tokio::test]
async fn a_start_needs_a_name_and_a_free_document() {
    let world = World::new().await;
    world.document("alpha").await;
    let run = world.planned("alpha").await;
    let another = Uuid::now_v7();
    let before = world.cutter.db.fingerprint().await;
    for name in
        ["", "ictr-today", &format!("ictr-20260914T080000Z-{another}"), &run.name.to_uppercase()]
    {
        let misnamed = Run { name: name.to_owned(), ..run.clone() };
        assert_eq!(
            refusal(world.start(&misnamed).await),
            (RO009, json!({ "run_uuid": run.id, "run_id": name }))
        );
    }
    let lost = Run { document: "nowhere".to_owned(), ..run.clone() };
    assert_eq!(refusal(world.start(&lost).await), (RO006, json!({ "document_id": "nowhere" })));
    assert_eq!(before, world.cutter.db.fingerprint().await, "nothing changed");

    world.start(&run).await.expect("started");
    let second = world.planned("alpha").await;
    let taken = |state: &str| {
        let (verb, reason) =
            if state.starts_with("failed_") { ("void", " --reason TEXT") } else { ("resume", "") };
        let way = format!("cutter orchestrate {verb} --run-id {}{reason}", run.name);
        json!({ "document_id": "alpha", "run_id": run.name, "state": state, "way": way })
    };
    assert_eq!(refusal(world.start(&second).await), (RO007, taken("pending")));
    // The request belongs to the first one, whatever the document.
    world.document("beta").await;
    let borrowed = Run { entry: run.entry, ..world.planned("beta").await };
    let mut facts = taken("pending");
    facts["document_id"] = json!("beta");
    assert_eq!(refusal(world.start(&borrowed).await), (RO007, facts));
    // Neither a stop nor a failure frees the document; voiding does.
    world.halt(&run, "failed_source_pin").await.expect("failed");
    assert_eq!(refusal(world.start(&second).await), (RO007, taken("failed_source_pin")));
    world.void(&run).await.expect("voided");
    world.start(&second).await.expect("started");
}

/// ORC-10: a version is enacted once; the next version has a run of its own.
#[tokio::test]
async fn an_enacted_version_is_not_run_again() {
    let world = World::new().await;
    let run = world.started("alpha").await;
    world.drive(&run, "IG_closeout").await;
    let again = world.planned("alpha").await;
    let facts = json!({ "document_id": "alpha", "source_version_id": run.manifest.source_version_id, "run_id": run.name });
    assert_eq!(refusal(world.start(&again).await), (RO008, facts));
    world.version("alpha", "# Other\n\ntext\n").await;
    world.start(&again).await.expect("a new version");
}

/// ORC-1, ORC-10: gates are passed in their order, each by its own door and its own actor.
#[tokio::test]
async fn a_gate_that_is_not_next_is_refused() {
    let world = World::new().await;
    let run = world.started("alpha").await;
    let not_next = |state: &str, gate: &str, class: &str| {
        (RO005, json!({ "run_id": run.name, "state": state, "gate": gate, "actor_class": class }))
    };
    for (done, state) in STATES.iter().enumerate() {
        let before = world.cutter.db.fingerprint().await;
        let later = GATES.iter().skip(done + 1).copied();
        for gate in later.filter(|gate| {
            !["SG_cut_authz_received", "SG_lifecycle_authz_received", "IG_leg_b_record"]
                .contains(gate)
        }) {
            let class =
                if gate == "IG_write_verify" { "verifier_dot992" } else { "executor_dot991" };
            let answer = match gate {
                // Its door marks first; what it marked is gone with the refusal.
                "IG_mark" => world.mark(&run, &json!({})).await,
                "IG_write_verify" => world.write_verify(&run, "pass").await,
                "IG_closeout" => world.closeout(&run).await,
                _ => world.gate(&run, gate, &json!({})).await,
            };
            assert_eq!(refusal(answer), not_next(state, gate, class));
        }
        // No gate of another door, no gate that is none, no failure of another gate, no way back.
        if let Some(next) = GATES.get(done) {
            for gate in ["nonsense", "IG_cut_leg_a_execute"] {
                let answer = world.gate(&run, gate, &json!({})).await;
                assert_eq!(
                    refusal(answer),
                    not_next(state, gate, "executor_dot991"),
                    "before {next}"
                );
            }
        }
        let failed = if *state == "lifecycle_enacted" { "failed_mark" } else { "failed_closeout" };
        for to in [failed, "voided_sovereign", "closeout_reported"] {
            assert_eq!(refusal(world.halt(&run, to).await), not_next(state, to, "executor_dot991"));
        }
        let resumed = world.resume(&run, &json!({ "approval_id": Uuid::nil() })).await;
        assert_eq!(refusal(resumed), not_next(state, "resume", "executor_dot991"));
        assert_eq!(before, world.cutter.db.fingerprint().await, "{state}: nothing changed");
        if let Some(gate) = GATES.get(done) {
            world.pass(&run, gate).await;
        }
    }
}

/// Asks a gate for which one thing is wrong.
async fn violated(world: &World, run: &Run, gate: &str, evidence: &Value) -> Value {
    let before = world.cutter.db.fingerprint().await;
    let answer = match gate {
        "IG_mark" => world.mark(run, evidence).await,
        _ => world.gate(run, gate, evidence).await,
    };
    let (code, facts) = refusal(answer);
    assert_eq!((code, &facts["run_id"], &facts["gate"]), (RO002, &json!(run.name), &json!(gate)));
    let mut keys: Vec<&String> = facts.as_object().expect("facts").keys().collect();
    keys.sort();
    assert_eq!(keys, ["gate", "invariants", "run_id", "violated"]);
    let wrong = facts["invariants"]
        .as_object()
        .expect("names")
        .iter()
        .filter(|(_, held)| **held != json!(true));
    assert_eq!(facts["violated"], json!(wrong.map(|(name, _)| name).collect::<Vec<_>>()));
    assert_eq!(
        before,
        world.cutter.db.fingerprint().await,
        "{gate}: nothing changed, the receipt neither"
    );
    facts["violated"].clone()
}

/// ORC-3: what the runner says is held against what is pinned and what is there, by name.
#[tokio::test]
async fn an_invariant_that_does_not_hold_is_named() {
    let world = World::new().await;
    let run = world.started("alpha").await;
    let cases: [(&str, &str, Value, &str); 13] = [
        ("IG_source_pin", "/pins/manifest_digest", json!("none"), "manifest_digest_matches"),
        ("IG_mark", "/region_sha", json!("other"), "region_sha_matches"),
        ("IG_mark", "/pins/candidate_count", json!(0), "mark_rowset_within_limit"),
        ("IG_mark", "/pins/candidate_count", json!(20_001), "mark_rowset_within_limit"),
        ("IG_cutplan", "/rebuilt_writer_digest", json!("other"), "writer_digest_stable"),
        ("IG_cutplan", "/rebuilt_manifest_digest", json!("other"), "writer_digest_stable"),
        ("IG_cutplan", "/planned_rows", json!(4), "exactly_n_rows"),
        ("IG_cutplan", "/vocabulary", json!(["unit_kind.nonsense"]), "vocabulary_known"),
        ("IG_cutplan", "/distinct_keys", json!(2), "idempotency_keys_distinct"),
        ("IG_backup", "/read_back_sha", json!("other"), "backup_target_reachable"),
        ("IG_backup", "/pins/backup_fingerprint", json!("F".repeat(40)), "key_fingerprint_matches"),
        ("IG_backup", "/pins/backup_bytes", json!(0), "backup_sha_recorded"),
        ("IG_backup", "/sidecar_sha256", json!(""), "sidecar_written"),
    ];
    let mut at = "";
    for (gate, member, value, name) in cases {
        if at != gate && !at.is_empty() {
            world.pass(&run, at).await;
        }
        at = gate;
        let mut evidence = world.evidence(&run, gate);
        *evidence.pointer_mut(member).expect("a member") = value;
        assert_eq!(violated(&world, &run, gate, &evidence).await, json!([name]), "{gate}{member}");
    }
}

/// ORC-9: each of the three things that must not change under a run, changed for real, stops the next gate and is shown.
#[tokio::test]
async fn drift_is_found_in_each_dimension() {
    let world = World::new().await;
    for (n, dimension) in ["functions", "review_decisions", "row_count"].into_iter().enumerate() {
        let run = world.started(["alpha", "beta", "gamma"][n]).await;
        world.drive(&run, "IG_cutplan").await;
        let (change, back, name) = match dimension {
            "functions" => (
                "do $$ begin execute replace(pg_get_functiondef('iu.fn_iu_apply_edit_draft'::regproc), 'begin', 'begin -- changed'); end $$".to_owned(),
                "do $$ begin execute replace(pg_get_functiondef('iu.fn_iu_apply_edit_draft'::regproc), 'begin -- changed', 'begin'); end $$".to_owned(),
                json!("fn_iu_apply_edit_draft"),
            ),
            "review_decisions" => (
                format!(
                    "insert into cutter_governance.review_decision (review_decision_id, governance_event_kind, entry_id, manifest_id, manifest_version,
                       review_scope, status, verdict, findings, reviewer_class, reviewer_identity, risk_class_assessment, key_id, decision_payload, signature,
                       decision_at, created_at, row_digest)
                     values ('{0}', 'cut_review', '{1}', '{0}', '', 'whole_manifest', 'decided', 'approve', '{{}}', 'review_authority', 'sara', 'low', '{0}', '',
                       sha512(''), now(), now(), '')",
                    Uuid::now_v7(), run.entry
                ),
                format!("delete from cutter_governance.review_decision where entry_id = '{}'", run.entry),
                Value::Null,
            ),
            _ => {
                let unit = "insert into iu.information_unit select (jsonb_populate_record(null::iu.information_unit, to_jsonb(u) || jsonb_build_object(
                              'id', gen_random_uuid(), 'doc_code', 'GAMMA', 'canonical_address', 'GAMMA/x', 'deleted_at', null))).* from iu.information_unit u limit 1";
                let other = world.started("delta").await;
                world.drive(&other, "SG_cut_authz_received").await;
                (unit.to_owned(), "delete from iu.information_unit where doc_code = 'GAMMA'".to_owned(), Value::Null)
            }
        };
        world.cutter.db.forge(&[&change]).await;
        let before = world.cutter.db.fingerprint().await;
        let evidence = world.evidence(&run, "IG_backup");
        let (code, facts) = refusal(world.gate(&run, "IG_backup", &evidence).await);
        let pinned = facts["differences"][0]["pinned"].clone();
        let live = facts["differences"][0]["live"].clone();
        assert_ne!(pinned, live);
        if dimension != "functions" {
            assert_eq!((&pinned, &live), (&json!(0), &json!(1)));
        }
        let difference =
            json!({ "dimension": dimension, "name": name, "pinned": pinned, "live": live });
        let expected = json!({ "run_id": run.name, "state": "cutplan_ok", "dimension": dimension, "differences": [difference] });
        assert_eq!((code, facts), (RO003, expected));
        assert_eq!(before, world.cutter.db.fingerprint().await, "nothing changed");
        // Put right, it goes on.
        world.cutter.db.forge(&[&back]).await;
        world.pass(&run, "IG_backup").await;
    }
}

/// ORC-10: a request that a run drives is moved by that run alone.
#[tokio::test]
async fn the_direct_way_is_closed_to_a_request_of_a_run() {
    let world = World::new().await;
    let run = world.started("alpha").await;
    world.drive(&run, "IG_grant_probe").await;
    let cutter = &world.cutter;
    let driven = |phase: &str, state: &str| {
        (
            RO010,
            json!({ "entry_id": run.entry, "phase": phase, "run_id": run.name, "state": state }),
        )
    };
    let engine = |error: chancery_engine::Error| match error {
        chancery_engine::Error::Store(error) => error,
        other => panic!("a refusal, not {other:?}"),
    };
    let abandon =
        chancery_engine::cutter::AbandonRequest { reason: "no".to_owned(), ..Default::default() };
    let before = cutter.db.fingerprint().await;
    // Before its gate the sovereign's own decision does not count either.
    for id in [run.part("cut_decision"), Uuid::now_v7()] {
        let review = world.a_review(&run, id).await;
        let answer = cutter.review.fn_review(&review).await.map(|_| Value::Null);
        assert_eq!(refusal(answer), driven("review", "grants_probed"));
    }
    let given_up =
        chancery_engine::cutter::abandon(&cutter.app, cutter.actor("sol"), run.entry, &abandon)
            .await;
    assert_eq!(
        refusal(given_up.map(|_| Value::Null).map_err(engine)),
        driven("abandon", "grants_probed")
    );
    assert_eq!(before, cutter.db.fingerprint().await, "nothing changed");

    world.pass(&run, "SG_cut_authz_request").await;
    let cut = chancery_engine::cutter::cut(&cutter.exec, cutter.actor("edith"), run.entry).await;
    assert_eq!(
        refusal(cut.map(|_| Value::Null).map_err(engine)),
        driven("cut", "awaiting_cut_authorization")
    );
    for gate in ["SG_cut_authz_received", "IG_structural_verify", "IG_leg_b_record"] {
        world.pass(&run, gate).await;
    }
    let verified =
        chancery_engine::cutter::verify(&cutter.verifier, cutter.actor("vera"), run.entry).await;
    assert_eq!(
        refusal(verified.map(|_| Value::Null).map_err(engine)),
        driven("verify", "leg_b_recorded")
    );
    world.pass(&run, "IG_write_verify").await;
    let review = world.a_lifecycle_review(&run, run.part("lifecycle_decision")).await;
    let answer = cutter.review.fn_lifecycle_review(&review).await.map(|_| Value::Null);
    assert_eq!(refusal(answer), driven("lifecycle_review", "write_verified"));
}

/// ORC-6: a backup key is an armored public key with its whole fingerprint; the one that holds is pinned once.
#[tokio::test]
async fn a_backup_key_is_pinned_by_its_fingerprint() {
    let world = World::new().await;
    let before = world.cutter.db.fingerprint().await;
    let lower = FINGERPRINT.to_lowercase();
    for (fingerprint, key) in [
        ("ABCD", KEY),
        (&lower, KEY),
        (FINGERPRINT, "-----BEGIN PGP PRIVATE KEY BLOCK-----"),
        (FINGERPRINT, ""),
    ] {
        assert_eq!(
            refusal(world.pin_key(fingerprint, key).await),
            (RO011, json!({ "fingerprint": fingerprint }))
        );
    }
    assert_eq!(world.pin_key(FINGERPRINT, KEY).await.expect("again")["replayed"], true);
    assert_eq!(before, world.cutter.db.fingerprint().await, "nothing changed");
    let other = "F".repeat(40);
    assert_eq!(world.pin_key(&other, KEY).await.expect("another")["replayed"], false);
    let pinned = world.text("select string_agg(pin_seq || ' ' || fingerprint, ',' order by pin_seq) from orchestrator.backup_key").await;
    assert_eq!(pinned, format!("1 {FINGERPRINT},2 {other}"));
}

/// SEC-3: each door of the room is open to its duty and closed to every other login.
#[tokio::test]
async fn the_doors_are_for_their_duties() {
    let world = World::new().await;
    let run = world.started("alpha").await;
    let doors = [
        (
            format!(
                "orchestrator.fn_orchestrate_gate('{}', 'IG_source_pin', '{{}}', 'x', 'edith')",
                run.id
            ),
            &[Role::CutterExec][..],
        ),
        (
            format!("orchestrator.fn_closeout('{}', '{{}}', 'x', 'edith')", run.id),
            &[Role::CutterExec],
        ),
        (
            format!("orchestrator.fn_orchestrate_resume('{}', '{{}}', 'x', 'edith')", run.id),
            &[Role::CutterExec],
        ),
        (
            format!(
                "orchestrator.fn_write_verify('{}', '{{}}', 'x', 'pass', '{{}}', 'x', 'vera', null, null, 1, '', '')",
                run.id
            ),
            &[Role::CutterVerify],
        ),
        (
            format!(
                "orchestrator.fn_orchestrate_void('{}', '{{}}', 'x', 'sara', null, null, '{{}}', null)",
                run.id
            ),
            &[Role::App, Role::CutterReview],
        ),
        ("orchestrator.fn_backup_key_pin('', '', '')".to_owned(), &[Role::Migrator]),
    ];
    for (door, open_to) in doors {
        for role in [
            Role::App,
            Role::CutterExec,
            Role::CutterVerify,
            Role::CutterReview,
            Role::Auditor,
            Role::Migrator,
        ] {
            let mut connection = world.login(role).await;
            let asked =
                sqlx::query(AssertSqlSafe(format!("select {door}"))).execute(&mut connection).await;
            let error: Error = asked.expect_err("refused either way").into();
            assert_eq!(
                error.refusal().is_some(),
                open_to.contains(&role),
                "{door} as {role:?}: {error:?}"
            );
        }
    }
}
