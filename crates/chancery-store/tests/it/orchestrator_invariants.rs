//! ORC-3: every invariant of every gate, asked of the live database. For each one something is changed so that exactly it fails.
//!
//! The changes are a superuser's, in a transaction that is rolled back, with triggers off and constraints gone.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Executor as _};

use crate::orchestrator_world::{FINGERPRINT, GATES, Run, World, digest};

/// What makes an invariant fail.
enum Change {
    /// Statements; `{run}` and the like stand for what [`filled`] knows.
    Live(&'static str),
    /// Another value in what the runner brings along.
    Told(&'static str, Value),
}
use Change::{Live, Told};

/// Everything off but the triggers that an invariant asks for.
const DISARM: &str = "
do $$ declare r record; begin
  perform set_config('session_replication_role', 'replica', true);
  for r in select t.tgrelid::regclass as t, t.tgname as name from pg_trigger t join pg_class c on c.oid = t.tgrelid
             join pg_namespace n on n.oid = c.relnamespace
            where n.nspowner = 'chancery_owner'::regrole and not t.tgisinternal and t.tgparentid = 0 and t.tgname !~ '_enacted_immut$' loop
    execute format('alter table %s disable trigger %I', r.t, r.name);
  end loop;
  for r in select k.conrelid::regclass as t, k.conname as name from pg_constraint k join pg_namespace n on n.oid = k.connamespace
            where n.nspowner = 'chancery_owner'::regrole and k.contype in ('c', 'u', 'f') and k.conrelid <> 0 and k.conparentid = 0 loop
    execute format('alter table %s drop constraint if exists %I cascade', r.t, r.name);
  end loop;
  for r in select i.indexrelid::regclass as name from pg_index i join pg_class c on c.oid = i.indrelid join pg_namespace n on n.oid = c.relnamespace
            where n.nspowner = 'chancery_owner'::regrole and i.indisunique and not i.indisprimary loop
    execute format('drop index if exists %s', r.name);
  end loop;
end $$";

/// A copy of a row with some columns changed.
macro_rules! copied {
    ($table:literal, $where:literal, $changed:literal) => {
        concat!(
            "insert into ",
            $table,
            " select (jsonb_populate_record(null::",
            $table,
            ", to_jsonb(c) || jsonb_build_object(",
            $changed,
            "))).* from ",
            $table,
            " c where ",
            $where,
            " limit 1"
        )
    };
}

/// The cases, by gate.
fn cases() -> Vec<(&'static str, &'static str, Change)> {
    let decision_is_new = copied!(
        "cutter_governance.review_decision",
        "true",
        "'review_decision_id', '{cut_decision}'"
    );
    let enacting_is_new = copied!(
        "cutter_governance.review_decision",
        "true",
        "'review_decision_id', '{lifecycle_decision}'"
    );
    let another_document = "insert into kb.revision select path, revision + 1, kind, replace(body, '{name}', 'another'), sha256, author, created_at, row_digest
                              from kb.revision where path = '{request}'";
    let asked_otherwise =
        "update approval.approval_request set kind = 'note' where subject_ref = '{name}'";
    let expires_otherwise = "update approval.approval_request set expires_at = expires_at + interval '1 second' where subject_ref = '{name}'";
    let decided_by_another = "update cutter_governance.review_decision set reviewer_identity = 'rita' where entry_id = '{entry}'";
    vec![
        ("IG_source_pin", "source_document_exists", Live("delete from iu.source_document where document_id = '{document}'")),
        (
            "IG_source_pin",
            "source_version_is_latest",
            Live(copied!("iu.source_version", "document_id = '{document}'", "'source_version_id', gen_random_uuid(), 'version_seq', 2")),
        ),
        (
            "IG_source_pin",
            "manifest_digest_matches",
            Live(copied!(
                "cutter_governance.manifest_envelope",
                "status = 'accepted'",
                "'envelope_id', gen_random_uuid(), 'source_version_id', '{source}', 'manifest_digest', '\\x00'"
            )),
        ),
        ("IG_mark", "region_sha_matches", Live("update iu.source_version set body = body || 'x' where source_version_id = '{source}'")),
        ("IG_mark", "mark_rowset_within_limit", Live("update config.dot_config set value = '2' where key = 'orchestrator.max_candidates_per_doc'")),
        (
            "IG_mark",
            "request_awaits_review",
            Live("update cutter_governance.decision_backlog_entry set status = 'marked' where entry_id = '{entry}'"),
        ),
        (
            "IG_cutplan",
            "writer_digest_stable",
            Live("update fsm.transition_log set evidence = replace(evidence, '{manifest_digest}', 'another') where run_id = '{run}'"),
        ),
        ("IG_cutplan", "exactly_n_rows", Told("/planned_rows", json!(4))),
        ("IG_cutplan", "vocabulary_known", Live("delete from config.dot_config where key = 'vocab.section_type.heading'")),
        ("IG_cutplan", "idempotency_keys_distinct", Told("/distinct_keys", json!(2))),
        (
            "IG_cutplan",
            "addresses_free",
            Live(copied!("iu.information_unit", "true", "'id', gen_random_uuid(), 'doc_code', '{prefix}', 'deleted_at', null")),
        ),
        ("IG_backup", "backup_target_reachable", Told("/read_back_sha", json!(digest("other")))),
        (
            "IG_backup",
            "key_fingerprint_matches",
            Live(copied!("orchestrator.backup_key", "true", "'pin_seq', 2, 'fingerprint', repeat('F', 40)")),
        ),
        ("IG_backup", "backup_sha_recorded", Told("/pins/backup_bytes", json!(0))),
        ("IG_backup", "sidecar_written", Told("/sidecar_sha256", json!("none"))),
        ("IG_grant_probe", "executor_may_write_units", Live("{revoke:iu.fn_iu_enact:cutter_exec}")),
        ("IG_grant_probe", "executor_may_write_units", Live("{revoke:iu.fn_iu_create:cutter_exec}")),
        ("IG_grant_probe", "executor_may_write_units", Live("{revoke:iu.fn_iu_apply_edit_draft:cutter_exec}")),
        ("IG_grant_probe", "verifier_may_record", Live("{revoke:cutter_governance.fn_verify:cutter_verify}")),
        ("IG_grant_probe", "verifier_may_record", Live("revoke select on cutter_governance.v_verify_result from cutter_verify")),
        ("IG_grant_probe", "reader_may_see_decisions", Live("revoke select on cutter_governance.v_review_decision from chancery_app")),
        ("IG_grant_probe", "nothing_open_to_public", Live("grant execute on function orchestrator.holds(jsonb) to public")),
        ("IG_grant_probe", "no_direct_table_rights", Live("grant insert on iu.information_unit to cutter_exec")),
        ("IG_grant_probe", "no_direct_table_rights", Live("grant delete on orchestrator.run to public")),
        ("SG_cut_authz_request", "request_is_complete", Live(another_document)),
        ("SG_cut_authz_request", "approval_is_asked_for", Live(asked_otherwise)),
        ("SG_cut_authz_request", "decision_is_new", Live(decision_is_new)),
        ("SG_cut_authz_received", "approval_authorizes_exactly_this", Live(expires_otherwise)),
        ("SG_cut_authz_received", "decision_is_the_sovereigns", Live(decided_by_another)),
        ("IG_cut_leg_a_execute", "writer_digest_is_the_approved_one", Told("/writer_digest", json!("another"))),
        ("IG_cut_leg_a_execute", "exactly_n_created", Live("delete from iu.information_unit where id = '{unit}'")),
        ("IG_cut_leg_a_execute", "one_transaction", Live("{before}")),
        ("IG_cut_leg_a_execute", "none_but_drafts", Live("update iu.information_unit set lifecycle_status = 'enacted' where id = '{unit}'")),
        ("IG_structural_verify", "row_count", Live("update iu.information_unit set deleted_at = now() where id = '{unit}'")),
        ("IG_structural_verify", "address_distinct", Live("update iu.information_unit set canonical_address = 'X/y' where id = '{unit}'")),
        (
            "IG_structural_verify",
            "version_count",
            Live(copied!("iu.unit_version", "unit_id = '{unit}'", "'id', gen_random_uuid(), 'version_seq', 2")),
        ),
        ("IG_structural_verify", "version_seq_is_1", Live("update iu.unit_version set version_seq = 2 where unit_id = '{unit}'")),
        ("IG_structural_verify", "anchor_exact", Live("update iu.information_unit set content_anchor_ref = 'x' where id = '{unit}'")),
        ("IG_structural_verify", "content_hash_distinct", Live("update iu.unit_version set content_hash = 'x' where unit_id = '{unit}'")),
        ("IG_structural_verify", "body_hash_match", Live("update iu.unit_version set body = body || 'x' where unit_id = '{unit}'")),
        ("IG_structural_verify", "lifecycle_all_draft", Live("update iu.unit_version set lifecycle_status = 'enacted' where unit_id = '{unit}'")),
        ("IG_structural_verify", "section_type_cardinality", Live("update iu.information_unit set section_type = 'part' where id = '{unit}'")),
        ("IG_structural_verify", "no_unexpected_rows", Live(copied!("iu.information_unit", "id = '{unit}'", "'id', gen_random_uuid()"))),
        (
            "IG_structural_verify",
            "forbidden_id_zero",
            Live("update config.dot_config set value = '[\"{prefix}/tw%\"]' where key = 'orchestrator.forbidden_addresses'"),
        ),
        (
            "IG_leg_b_record",
            "change_set_is_unique",
            Live(copied!("cutter_governance.cut_change_set", "change_set_id = '{change_set}'", "'change_set_id', gen_random_uuid()")),
        ),
        (
            "IG_leg_b_record",
            "manifest_and_signature_are_there",
            Live("update cutter_governance.dot_pair_signature set cross_reference_change_set_id = null where cross_reference_change_set_id = '{change_set}'"),
        ),
        (
            "IG_leg_b_record",
            "ledger_is_exact",
            Live("delete from cutter_governance.cut_change_set_affected_row where target_row_id = '{unit}'"),
        ),
        (
            "IG_leg_b_record",
            "lanes_do_not_overlap",
            Live("update identity.principal set actor_classes = actor_classes || '{verifier_dot992}' where name = 'edith'"),
        ),
        (
            "IG_write_verify",
            "verifier_is_not_the_executor",
            Live("update identity.principal set actor_classes = '{observer}' where name = 'vera'"),
        ),
        (
            "IG_write_verify",
            "result_passes_and_is_signed",
            Live("update cutter_governance.verify_result set verdict = 'fail' where change_set_id = '{change_set}'"),
        ),
        (
            "IG_write_verify",
            "only_one_result",
            Live(copied!("cutter_governance.verify_result", "change_set_id = '{change_set}'", "'verify_result_id', gen_random_uuid()")),
        ),
        ("SG_lifecycle_authz_request", "request_is_complete", Live(another_document)),
        ("SG_lifecycle_authz_request", "approval_is_asked_for", Live(asked_otherwise)),
        ("SG_lifecycle_authz_request", "decision_is_new", Live(enacting_is_new)),
        ("SG_lifecycle_authz_received", "approval_authorizes_exactly_this", Live(expires_otherwise)),
        ("SG_lifecycle_authz_received", "decision_is_the_sovereigns", Live(decided_by_another)),
        (
            "IG_lifecycle_enact_execute",
            "all_enacted",
            Live("{unarmed} update iu.information_unit set lifecycle_status = 'draft' where id = '{unit}';
                  update iu.unit_version set lifecycle_status = 'draft' where unit_id = '{unit}'; {armed}"),
        ),
        (
            "IG_lifecycle_enact_execute",
            "none_partly",
            Live("{unarmed} update iu.unit_version set enacted_at = null where unit_id = '{unit}'; {armed}"),
        ),
        (
            "IG_lifecycle_enact_execute",
            "lifecycle_log_is_complete",
            Live("delete from iu.iu_lifecycle_log where unit_id = '{unit}' and change_kind = 'enacted'"),
        ),
        ("IG_lifecycle_enact_execute", "immutability_is_armed", Live("alter table iu.unit_version enable trigger trg_uv_enacted_immut")),
        ("IG_lifecycle_enact_execute", "immutability_is_armed", Live("alter table iu.information_unit disable trigger trg_iu_enacted_immut")),
        ("IG_closeout", "all_documents_are_there", Live("delete from kb.revision where path like 'orchestrator/%/03-cutplan'")),
        ("IG_closeout", "run_stands_in_the_index", Live("delete from kb.revision where path like 'orchestrator/runs-index/%'")),
        ("IG_closeout", "sidecar_is_complete", Told("/sidecar_sha256", json!(""))),
    ]
}

/// The statements for this run.
fn filled(statements: &str, run: &Run, gate: &str) -> String {
    let mut text = statements.to_owned();
    if let Some(revoke) =
        statements.strip_prefix("{revoke:").and_then(|rest| rest.strip_suffix('}'))
    {
        let (function, role) = revoke.split_once(':').expect("a function and a role");
        let (room, name) = function.split_once('.').expect("room.function");
        text = format!(
            "do $$ declare r regprocedure; begin
               for r in select p.oid from pg_proc p where p.proname = '{name}' and p.pronamespace = '{room}'::regnamespace loop
                 execute format('revoke execute on function %s from {role}', r);
               end loop; end $$"
        );
    }
    let request = if gate.starts_with("SG_cut") {
        "sg1-cut-authz-request"
    } else {
        "sg2-lifecycle-authz-request"
    };
    let values: BTreeMap<&str, String> = BTreeMap::from([
        ("{run}", run.id.to_string()),
        ("{name}", run.name.clone()),
        ("{entry}", run.entry.to_string()),
        ("{document}", run.document.clone()),
        ("{prefix}", run.manifest.prefix.clone()),
        ("{source}", run.manifest.source_version_id.to_string()),
        ("{unit}", run.effect.units[0].unit_id.to_string()),
        ("{change_set}", run.part("change_set").to_string()),
        ("{cut_decision}", run.part("cut_decision").to_string()),
        ("{lifecycle_decision}", run.part("lifecycle_decision").to_string()),
        ("{request}", run.path(request)),
        ("{manifest_digest}", run.manifest.digest().iter().map(|byte| format!("{byte:02x}")).collect()),
        ("{before}", String::new()),
        ("{unarmed}", "alter table iu.information_unit disable trigger trg_iu_enacted_immut; alter table iu.unit_version disable trigger trg_uv_enacted_immut;".to_owned()),
        ("{armed}", "alter table iu.information_unit enable always trigger trg_iu_enacted_immut; alter table iu.unit_version enable always trigger trg_uv_enacted_immut".to_owned()),
    ]);
    for (name, value) in values {
        text = text.replace(name, &value);
    }
    text
}

async fn invariants(
    admin: &mut PgConnection,
    run: &Run,
    gate: &str,
    evidence: &Value,
) -> BTreeMap<String, bool> {
    let found: Value = sqlx::query_scalar("select orchestrator.gate_invariants($1, $2, $3)")
        .bind(gate)
        .bind(run.id)
        .bind(evidence)
        .fetch_one(admin)
        .await
        .unwrap_or_else(|error| panic!("{gate}: {error}"));
    serde_json::from_value(found).expect("names and truths")
}

/// Tries the cases of a gate; gives the names that were tried.
async fn try_gate(world: &World, run: &Run, gate: &str, evidence: &Value) -> usize {
    let mut admin = world.cutter.db.superuser().await;
    let mut tried = BTreeSet::new();
    let run_sql = async |admin: &mut PgConnection, statements: &str| {
        let done = admin.execute(AssertSqlSafe(statements.to_owned())).await;
        done.unwrap_or_else(|error| panic!("{gate}: {statements}: {error}"));
    };
    // Whole transactions and no savepoints: what is written after one has another transaction's number.
    let enter = format!("begin; {DISARM}");
    let touch = format!(
        "update iu.information_unit set id = id where doc_code = '{}'",
        run.manifest.prefix
    );
    let mut count = 0;
    let names: BTreeSet<String> = {
        run_sql(&mut admin, &enter).await;
        if gate == "IG_cut_leg_a_execute" {
            run_sql(&mut admin, &touch).await;
        }
        let honest = invariants(&mut admin, run, gate, evidence).await;
        run_sql(&mut admin, "rollback").await;
        assert!(honest.values().all(|held| *held), "{gate}: {honest:?}");
        honest.into_keys().collect()
    };
    for (_, name, change) in cases().into_iter().filter(|(of, ..)| *of == gate) {
        run_sql(&mut admin, &enter).await;
        let mut evidence = evidence.clone();
        let mut touched = touch.clone();
        if name == "one_transaction" {
            touched.push_str(&format!(" and id <> '{}'", run.effect.units[0].unit_id));
        }
        if gate == "IG_cut_leg_a_execute" {
            run_sql(&mut admin, &touched).await;
        }
        match change {
            Live(statements) => run_sql(&mut admin, &filled(statements, run, gate)).await,
            Told(member, value) => *evidence.pointer_mut(member).expect("a member") = value,
        }
        let found = invariants(&mut admin, run, gate, &evidence).await;
        let failed: Vec<&String> =
            found.iter().filter(|(_, held)| !**held).map(|(name, _)| name).collect();
        assert_eq!(failed, [name], "{gate}: exactly this one");
        run_sql(&mut admin, "rollback").await;
        tried.insert(name.to_owned());
        count += 1;
    }
    assert_eq!(tried, names, "{gate}: every invariant has its case");
    count
}

/// ORC-3: each invariant of each gate fails alone, and each has its case here.
#[tokio::test]
async fn every_invariant_fails_alone() {
    let world = World::new().await;
    // Something to copy rows from.
    let other = world.started("other").await;
    world.drive(&other, "SG_cut_authz_received").await;
    let run = world.started("alpha").await;
    let mut tried = 0;
    for gate in GATES {
        let evidence = world.evidence(&run, gate);
        match gate {
            // What these ask for is there once their phase has written it.
            "IG_mark" | "IG_leg_b_record" | "IG_write_verify" => {
                world.pass(&run, gate).await;
                tried += try_gate(&world, &run, gate, &evidence).await;
            }
            "SG_cut_authz_request" | "SG_lifecycle_authz_request" => {
                let of = gate.trim_end_matches("_request");
                let authority = world.request(&run, of).await;
                let asked = json!({ "approval_id": authority.approval_id });
                tried += try_gate(&world, &run, gate, &asked).await;
                world.authorize(&run, of, &authority).await;
            }
            "SG_cut_authz_received" | "SG_lifecycle_authz_received" => {
                let mut given = world.given(&run, gate.trim_end_matches("_received")).await;
                world.pass(&run, gate).await;
                tried += try_gate(&world, &run, gate, &given).await;
                given["writer_digest"] =
                    world.evidence(&run, "IG_cutplan")["rebuilt_writer_digest"].clone();
                let execute = if gate == "SG_cut_authz_received" {
                    "IG_cut_leg_a_execute"
                } else {
                    "IG_lifecycle_enact_execute"
                };
                tried += try_gate(&world, &run, execute, &given).await;
            }
            "IG_closeout" => {
                world.pass(&run, gate).await;
                let mut evidence = evidence;
                evidence["index_kb_id"] = json!(world.text("select path from kb.revision where path like 'orchestrator/runs-index/%'").await);
                tried += try_gate(&world, &run, gate, &evidence).await;
            }
            _ => {
                tried += try_gate(&world, &run, gate, &evidence).await;
                world.pass(&run, gate).await;
            }
        }
    }
    assert_eq!(tried, cases().len(), "every case was tried");
    assert_eq!(
        world.text("select fingerprint from orchestrator.backup_key").await,
        FINGERPRINT,
        "everything was rolled back"
    );
}
