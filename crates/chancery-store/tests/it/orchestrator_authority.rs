//! What the sovereign says: an approval is for exactly one gate of one run, and a stopped run goes on by the sovereign's word.

use chancery_engine::kb::{self, Writer};
use chancery_model::refusal::Code::{RA006, RI030, RO004, RO005, RS004, RS006};
use chancery_store::Role;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::approval_world::refusal;
use crate::orchestrator_world::{Authority, Run, World, block};

/// Every field that an approval binds, and another value for it.
fn mutations() -> Vec<(&'static str, Value)> {
    vec![
        ("run_id", json!("ictr-20260914T080000Z-00000000-0000-7000-8000-000000000000")),
        ("gate", json!("SG_lifecycle_authz")),
        ("document_id", json!("beta")),
        ("source_version_id", json!(Uuid::nil())),
        ("writer_digest", json!("00".repeat(32))),
        ("manifest_digest", json!("00".repeat(32))),
        ("change_set_id", json!(Uuid::nil())),
        ("review_decision_id", json!(Uuid::nil())),
        ("approval_id", json!(Uuid::nil())),
        ("nonce", json!("another")),
        ("expires_at", json!(1)),
        ("authorizes", json!(false)),
    ]
}

/// ORC-4: every bound field changed or left out, one at a time, at both gates: refused, naming exactly that field, nothing changed.
#[tokio::test]
async fn an_approval_with_any_field_changed_is_refused() {
    let world = World::new().await;
    let run = world.started("alpha").await;
    world.drive(&run, "IG_grant_probe").await;
    for gate in ["SG_cut_authz", "SG_lifecycle_authz"] {
        let authority = world.request(&run, gate).await;
        world.vote(&authority).await;
        let execute = async |evidence: &Value| match gate {
            "SG_cut_authz" => world.cut_leg_a(&run, evidence).await,
            _ => world.lifecycle_enact(&run, evidence).await,
        };
        let mut bound: Vec<&str> =
            authority.said.as_object().expect("an object").keys().map(String::as_str).collect();
        bound.sort_unstable();
        let mut named: Vec<&str> = mutations().iter().map(|(field, _)| *field).collect();
        named.sort_unstable();
        assert_eq!(bound, named, "every field has its case");
        for (field, value) in mutations() {
            let value = if authority.said[field] == value { json!("SG_cut_authz") } else { value };
            for other in [Some(value), None] {
                let mut changed = authority.clone();
                let said = changed.said.as_object_mut().expect("an object");
                match &other {
                    Some(value) => drop(said.insert(field.to_owned(), value.clone())),
                    None => drop(said.remove(field)),
                }
                world.sign(&changed, gate).await;
                let before = world.cutter.db.fingerprint().await;
                let expected = json!({
                    "run_id": run.name, "gate": gate, "differs_in": field, "expected": authority.said[field], "found": other,
                });
                assert_eq!(refusal(execute(&authority.evidence()).await), (RO004, expected));
                assert_eq!(
                    before,
                    world.cutter.db.fingerprint().await,
                    "{gate} {field}: nothing changed"
                );
            }
        }
        without_a_word(&world, &run, gate, &authority).await;
        // As it was asked for, it is accepted: the cases above failed for what was changed alone.
        world.sign(&authority, gate).await;
        let (code, _) = refusal(execute(&authority.evidence()).await);
        let undecided = if gate == "SG_cut_authz" { RS004 } else { RI030 };
        assert_eq!(code, undecided, "only the decision is missing");
        match gate {
            "SG_cut_authz" => {
                world.review(&run).await;
                for gate in [
                    "SG_cut_authz_received",
                    "IG_structural_verify",
                    "IG_leg_b_record",
                    "IG_write_verify",
                ] {
                    world.pass(&run, gate).await;
                }
            }
            _ => {
                world.lifecycle_review(&run).await;
                world.pass(&run, "SG_lifecycle_authz_received").await;
            }
        }
    }
}

/// A document that nobody signed, that the wrong person signed, with the wrong meaning, of the wrong kind, or none at all.
async fn without_a_word(world: &World, run: &Run, gate: &str, authority: &Authority) {
    let cutter = &world.cutter;
    let execute = async |evidence: &Value| match gate {
        "SG_cut_authz" => world.cut_leg_a(run, evidence).await,
        _ => world.lifecycle_enact(run, evidence).await,
    };
    let differs = |field: &str, expected: Value, found: Value| {
        (
            RO004,
            json!({ "run_id": run.name, "gate": gate, "differs_in": field, "expected": expected, "found": found }),
        )
    };
    let sara = Writer { principal: "sara", actor_class: "sovereign" };
    let body = block(&authority.said);
    let evidence =
        |path: &str| json!({ "approval_id": authority.approval_id, "approval_kb_id": path });
    let path = run.path(&format!("{}-other-approval", gate.to_lowercase()));
    // Below a run the sovereign writes approvals alone.
    let note = format!("notes/{}", gate.to_lowercase().replace('_', "-"));
    assert_eq!(
        refusal(execute(&evidence(&path)).await),
        differs("document", json!("approval"), json!(path)),
        "there is none"
    );
    kb::put(&cutter.review, sara, &note, "note", body.as_bytes(), None).await.expect("written");
    kb::sign(&cutter.review, cutter.actor("sara"), "sovereign", &note, None, gate)
        .await
        .expect("signed");
    assert_eq!(
        refusal(execute(&evidence(&note)).await),
        differs("document", json!("approval"), json!(note)),
        "a note"
    );
    kb::put(&cutter.review, sara, &path, "approval", b"I approve.", None).await.expect("written");
    assert_eq!(
        refusal(execute(&evidence(&path)).await),
        differs("document", json!("approval"), json!(path)),
        "no JSON"
    );
    let unsigned = differs("signature", json!("sovereign"), json!(path));
    kb::put(&cutter.review, sara, &path, "approval", body.as_bytes(), None).await.expect("written");
    assert_eq!(refusal(execute(&evidence(&path)).await), unsigned, "not signed");
    kb::sign(&cutter.review, cutter.actor("sara"), "sovereign", &path, None, "read")
        .await
        .expect("signed");
    assert_eq!(refusal(execute(&evidence(&path)).await), unsigned, "signed as read");
    kb::sign(&cutter.review, cutter.actor("rita"), "review_authority", &path, None, gate)
        .await
        .expect("signed");
    assert_eq!(refusal(execute(&evidence(&path)).await), unsigned, "signed by somebody else");
    let nothing = json!({ "approval_id": Uuid::nil(), "approval_kb_id": path });
    assert_eq!(
        refusal(execute(&nothing).await),
        differs("approval_id", Value::Null, json!(Uuid::nil()))
    );
}

/// APR-1, ORC-4: the document is not enough; the approval must stand as well.
#[tokio::test]
async fn a_signed_document_without_the_vote_is_not_enough() {
    let world = World::new().await;
    let run = world.started("alpha").await;
    world.drive(&run, "IG_grant_probe").await;
    let authority = world.request(&run, "SG_cut_authz").await;
    world.sign(&authority, "SG_cut_authz").await;
    world.review(&run).await;
    let (code, facts) = refusal(world.cut_leg_a(&run, &authority.evidence()).await);
    assert_eq!((code, &facts["state"]), (RA006, &json!("pending")));
    world.vote(&authority).await;
    world.cut_leg_a(&run, &authority.evidence()).await.expect("authorized");
}

/// ORC-4: an approval of another run is none, however good it is there.
#[tokio::test]
async fn an_approval_of_another_run_is_refused() {
    let world = World::new().await;
    let (one, two) = (world.started("alpha").await, world.started("beta").await);
    world.drive(&one, "SG_cut_authz_request").await;
    world.drive(&two, "SG_cut_authz_request").await;
    let given = world.given(&one, "SG_cut_authz").await;
    let error = world.cut_leg_a(&two, &given).await.expect_err("of another run");
    let refused = error.refusal().expect("a refusal");
    let mut fields: Vec<&str> = refused
        .problems
        .iter()
        .filter_map(|problem| problem.facts["differs_in"].as_str())
        .collect();
    fields.sort_unstable();
    assert_eq!(refused.code, RO004);
    assert_eq!(
        fields,
        [
            "change_set_id",
            "document_id",
            "manifest_digest",
            "review_decision_id",
            "run_id",
            "source_version_id",
            "writer_digest"
        ]
    );
    assert_eq!(world.state(&two).await, "awaiting_cut_authorization");
}

/// ORC-8: a stopped run goes back to where it was stopped, by an approval of exactly this stop, and an approval is for one stop.
#[tokio::test]
async fn a_stopped_run_goes_on_by_the_sovereigns_word() {
    let world = World::new().await;
    let run = world.started("alpha").await;
    world.drive(&run, "IG_mark").await;
    world.stop(&run).await.expect("stopped");
    let (code, _) =
        refusal(world.gate(&run, "IG_cutplan", &world.evidence(&run, "IG_cutplan")).await);
    assert_eq!((code, world.state(&run).await.as_str()), (RO005, "stopped_sovereign"));

    let first = world.ask(&run, "SG_resume_stopped").await;
    world.sign(&first, "SG_resume_stopped").await;
    assert_eq!(refusal(world.resume(&run, &first.evidence()).await).0, RA006, "nobody voted");
    world.vote(&first).await;
    world.resume(&run, &first.evidence()).await.expect("resumed");
    assert_eq!(world.state(&run).await, "marked");
    assert_eq!(world.resume(&run, &first.evidence()).await.expect("again")["replayed"], true);
    world.pass(&run, "IG_cutplan").await;

    world.halt(&run, "stopped_exception").await.expect("stopped");
    let second = world.ask(&run, "SG_resume_stopped").await;
    let old = json!({ "approval_id": second.approval_id, "approval_kb_id": first.path });
    let error = world.resume(&run, &old).await.expect_err("the document of the first stop");
    let refused = error.refusal().expect("a refusal");
    assert_eq!(refused.code, RO004);
    let mut fields: Vec<&str> = refused
        .problems
        .iter()
        .filter_map(|problem| problem.facts["differs_in"].as_str())
        .collect();
    fields.sort_unstable();
    assert_eq!(fields, ["approval_id", "expires_at", "nonce", "stopped_seq", "stopped_state"]);
    assert_eq!(world.state(&run).await, "stopped_exception");
    world.authorize(&run, "SG_resume_stopped", &second).await;
    world.resume(&run, &second.evidence()).await.expect("resumed");
    world.pass(&run, "IG_backup").await;
}

/// ORC-8, ORC-9: the sovereign acknowledges exactly the drift that is there; with another one the word is void.
#[tokio::test]
async fn an_acknowledged_drift_is_the_new_ground() {
    let world = World::new().await;
    let run = world.started("alpha").await;
    world.drive(&run, "IG_mark").await;
    let change = |from: &str, to: &str| {
        format!(
            "do $$ begin execute replace(pg_get_functiondef('iu.fn_iu_apply_edit_draft'::regproc), '{from}', '{to}'); end $$"
        )
    };
    world.cutter.db.forge(&[&change("begin", "begin -- one")]).await;
    world.halt(&run, "stopped_drift").await.expect("stopped");
    let authority = world.ask(&run, "SG_drift_ack").await;
    world.authorize(&run, "SG_drift_ack", &authority).await;
    world.cutter.db.forge(&[&change("begin -- one", "begin -- two")]).await;
    let (code, facts) = refusal(world.resume(&run, &authority.evidence()).await);
    assert_eq!((code, &facts["differs_in"]), (RO004, &json!("survey")), "{facts}");
    world.cutter.db.forge(&[&change("begin -- two", "begin -- one")]).await;
    world.resume(&run, &authority.evidence()).await.expect("resumed");
    world.pass(&run, "IG_cutplan").await;
}

/// ORC-2: a void takes back what was written and not enacted, at every state, and frees the document.
#[tokio::test]
async fn a_void_takes_back_what_was_written() {
    let world = World::new().await;
    let gates = [
        "",
        "IG_mark",
        "SG_cut_authz_request",
        "SG_cut_authz_received",
        "IG_leg_b_record",
        "IG_write_verify",
        "SG_lifecycle_authz_received",
    ];
    for (n, gate) in gates.into_iter().enumerate() {
        let run = world.started(&format!("doc{n}")).await;
        if !gate.is_empty() {
            world.drive(&run, gate).await;
        }
        world.void(&run).await.unwrap_or_else(|error| panic!("{gate}: {error:?}"));
        assert_eq!(world.void(&run).await.expect("again")["replayed"], true);
        assert_eq!(world.state(&run).await, "voided_sovereign");
        let live = format!("iu.information_unit where doc_code = 'DOC{n}' and deleted_at is null");
        let enacted = gate == "SG_lifecycle_authz_received";
        assert_eq!(world.cutter.db.count(&live).await, if enacted { 3 } else { 0 }, "{gate}");
        let entry = format!(
            "select coalesce((select status from cutter_governance.decision_backlog_entry where entry_id = '{}'), '')",
            run.entry
        );
        assert_eq!(
            world.text(&entry).await,
            if gate.is_empty() { "" } else { "abandoned" },
            "{gate}"
        );
        let next = world.planned(&format!("doc{n}")).await;
        world.start(&next).await.expect("the document is free");
    }
}

/// ORC-2: a run that failed or was stopped is voided as well, one that is closed out is not, and only by a document about this run.
#[tokio::test]
async fn what_is_over_by_success_is_not_voided() {
    let world = World::new().await;
    let failed = world.started("failed").await;
    world.drive(&failed, "IG_leg_b_record").await;
    world.write_verify(&failed, "fail").await.expect("a verdict");
    assert_eq!(world.state(&failed).await, "failed_write_verify");
    world.void(&failed).await.expect("voided");
    let stopped = world.started("stopped").await;
    world.drive(&stopped, "SG_cut_authz_received").await;
    world.stop(&stopped).await.expect("stopped");
    world.void(&stopped).await.expect("voided");
    let live = "iu.information_unit where deleted_at is null";
    assert_eq!(world.cutter.db.count(live).await, 0, "everything was taken back");

    let done = world.started("done").await;
    world.drive(&done, "IG_closeout").await;
    let error = world.void(&done).await.expect_err("it is over");
    assert_eq!(error.refusal().map(|refusal| refusal.code), Some(RS004));
    assert_eq!(world.state(&done).await, "closeout_reported");
    assert_eq!(world.cutter.db.count(live).await, 3, "what is enacted stays");

    // The guard asks for a document that names the run: another one's does not do.
    let run = world.started("other").await;
    let misled = Run { name: done.name.clone(), ..run.clone() };
    let error = world.void(&misled).await.expect_err("the document is about another run");
    assert_eq!(error.refusal().map(|refusal| refusal.code), Some(RS006));
    assert_eq!(world.state(&run).await, "pending");
    assert_eq!(world.cutter.mismatches().await, []);
}

/// ORC-4, SEC-3: a sovereign who was put out of office authorizes nothing any more, whatever was signed before.
#[tokio::test]
async fn who_is_no_longer_sovereign_authorizes_nothing() {
    let world = World::new().await;
    let run = world.started("alpha").await;
    world.drive(&run, "SG_cut_authz_request").await;
    let given = world.given(&run, "SG_cut_authz").await;
    let operator = world.cutter.db.store(Role::Migrator);
    operator.fn_principal_set_active("sara", false, None).await.expect("put out of office");
    let facts = json!({
        "run_id": run.name, "gate": "SG_cut_authz", "differs_in": "signature", "expected": "sovereign",
        "found": given["approval_kb_id"],
    });
    assert_eq!(refusal(world.cut_leg_a(&run, &given).await), (RO004, facts));
    assert_eq!(world.cutter.db.count("iu.information_unit").await, 0);
}
