//! Every invariant of every gate, made false by itself.
//!
//! The database is changed as its superuser in a transaction that is rolled back, so that one run serves all cases. Where an
//! invariant is about what the phase writes, the phase's own door is called in that transaction first. Where it is about what the
//! runner computed, the recorded evidence of the gate is changed instead: nothing in the database can make it false.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::scene::Scene;
use super::tamper::{CLOSE, OPEN, id};

/// One invariant and the way to make it false.
struct Case {
    gate: &'static str,
    invariant: &'static str,
    /// What happens to the database; `{…}` are filled in.
    ground: &'static str,
    /// The evidence, from the recorded one, `e`.
    says: &'static str,
}

const fn ground(gate: &'static str, invariant: &'static str, ground: &'static str) -> Case {
    Case { gate, invariant, ground, says: "e" }
}

const fn said(gate: &'static str, invariant: &'static str, says: &'static str) -> Case {
    Case { gate, invariant, ground: "", says }
}

/// Gates whose invariants stand while the run waits for its first authorization.
const BEFORE_THE_CUT: &[Case] = &[
    ground("IG_source_pin", "source_document_exists", "{open} delete from iu.source_document where document_id = 'policy'"),
    ground("IG_source_pin", "source_version_is_latest",
        "{open} insert into iu.source_version select gen_random_uuid(), document_id, version_seq + 1, media_type, sha256('x'), 1, 'x', created_by,
           created_at, row_digest from iu.source_version where document_id = 'policy'"),
    ground("IG_source_pin", "manifest_digest_matches",
        "{open} insert into cutter_governance.manifest_envelope
           select gen_random_uuid(), 'first_cut', 'accepted', r.entry_id::text, r.entry_id, r.document_id, r.source_version_id, ''::bytea, p ->> 'profile',
                  p ->> 'unit_kind', p ->> 'publication_type', 1, sha256('another plan'), 'x', 'x', now(), 'x', now(), null, ''::bytea
             from orchestrator.run r, orchestrator.pins(r.run_id) p where r.run_id = {run}"),
    ground("IG_mark", "region_sha_matches",
        "{open} alter table iu.source_version drop constraint source_is_what_its_digest_says;
         update iu.source_version set body = set_byte(body, 0, 42) where document_id = 'policy'"),
    ground("IG_mark", "mark_rowset_within_limit", "{open} update config.dot_config set value = '2' where key = 'orchestrator.max_candidates_per_doc'"),
    ground("IG_mark", "request_awaits_review", "{open} update cutter_governance.decision_backlog_entry set status = 'marked' where entry_id = {entry}"),
    said("IG_cutplan", "writer_digest_stable", r#"e || jsonb_build_object('rebuilt_writer_digest', repeat('0', 64))"#),
    said("IG_cutplan", "exactly_n_rows", r#"e || '{"planned_rows": 2}'"#),
    ground("IG_cutplan", "vocabulary_known", "{open} delete from config.dot_config where key like 'vocab.unit\\_kind.%'"),
    said("IG_cutplan", "idempotency_keys_distinct", r#"e || '{"distinct_keys": 2}'"#),
    ground("IG_cutplan", "addresses_free", "{stranger}"),
    said("IG_backup", "backup_target_reachable", "e || jsonb_build_object('read_back_sha', repeat('0', 64))"),
    ground("IG_backup", "key_fingerprint_matches",
        "{open} insert into orchestrator.backup_key select now(), repeat('A', 40), public_key, pinned_by, pin_seq + 1, row_digest from orchestrator.backup_key"),
    said("IG_backup", "backup_sha_recorded", "jsonb_set(e, '{pins,backup_bytes}', '0')"),
    said("IG_backup", "sidecar_written", "e - 'sidecar_sha256'"),
    said("IG_backup", "sidecar_written", "e #- '{pins,backup_utc}'"),
    ground("IG_grant_probe", "executor_may_write_units", "revoke execute on function iu.fn_iu_apply_edit_draft from cutter_exec"),
    ground("IG_grant_probe", "verifier_may_record", "revoke select on cutter_governance.v_verify_result from cutter_verify"),
    ground("IG_grant_probe", "verifier_may_record", "revoke execute on function cutter_governance.fn_verify from cutter_verify"),
    ground("IG_grant_probe", "verifier_may_record", "revoke execute on function orchestrator.fn_write_verify from cutter_verify"),
    ground("IG_grant_probe", "reader_may_see_decisions", "revoke select on cutter_governance.v_review_decision from chancery_app"),
    ground("IG_grant_probe", "nothing_open_to_public", "grant execute on function cutter_governance.fn_review to public"),
    ground("IG_grant_probe", "no_direct_table_rights", "grant insert on cutter_governance.verify_result to cutter_exec"),
    ground("IG_grant_probe", "no_direct_table_rights", "grant update (body) on iu.unit_version to public"),
    ground("IG_grant_probe", "no_direct_table_rights", "grant chancery_definer to cutter_verify"),
    ground("SG_cut_authz_request", "request_is_complete", "{open} {rewrite} where path = {path} || 'sg1-cut-authz-request'"),
    ground("SG_cut_authz_request", "approval_is_asked_for", "{open} update approval.approval_request set subject_ref = 'another' where subject_ref = '{name}'"),
    ground("SG_cut_authz_request", "decision_is_new", "{open} {decide} internal.derived_uuid({run}, 'cut_decision'), 'cut_review', gen_random_uuid()"),
];

/// After the sovereign answered, before the runner went on.
const CUT_AUTHORIZED: &[Case] = &[
    ground(
        "SG_cut_authz_received",
        "approval_authorizes_exactly_this",
        "{open} {rewrite} where path = {path} || 'sg1-cut-authz-approval'",
    ),
    ground(
        "SG_cut_authz_received",
        "decision_is_the_sovereigns",
        "{open} update cutter_governance.review_decision set reviewer_identity = 'simon' where entry_id = {entry}",
    ),
];

/// Leg A, called in the same transaction.
const CUT: &[Case] = &[
    said(
        "IG_cut_leg_a_execute",
        "writer_digest_is_the_approved_one",
        "e || jsonb_build_object('writer_digest', repeat('0', 64))",
    ),
    ground(
        "IG_cut_leg_a_execute",
        "exactly_n_created",
        "{open} delete from iu.information_unit where id = {unit}",
    ),
    ground("IG_cut_leg_a_execute", "one_transaction", "{open} {apart}"),
    ground(
        "IG_cut_leg_a_execute",
        "none_but_drafts",
        "{open} update iu.information_unit set lifecycle_status = 'retired' where id = {unit}",
    ),
];

/// Gates whose invariants stand while the run waits for its second authorization.
const BEFORE_ENACTMENT: &[Case] = &[
    ground("IG_structural_verify", "row_count", "{open} update iu.information_unit set doc_code = 'ELSEWHERE' where id = {unit}"),
    ground("IG_structural_verify", "address_distinct", "{open} update iu.information_unit set canonical_address = canonical_address || '-x' where id = {unit}"),
    ground("IG_structural_verify", "version_count",
        "{open} insert into iu.unit_version select gen_random_uuid(), unit_id, 2, title, body, content_hash, lifecycle_status, content_profile, created_at,
           created_by, enacted_at, row_digest from iu.unit_version where unit_id = {unit}"),
    ground("IG_structural_verify", "version_seq_is_1", "{open} update iu.unit_version set version_seq = 2 where unit_id = {unit}"),
    ground("IG_structural_verify", "anchor_exact", "{open} update iu.information_unit set content_anchor_ref = 'elsewhere' where id = {unit}"),
    ground("IG_structural_verify", "content_hash_distinct", "{open} update iu.unit_version set content_hash = repeat('0', 64) where unit_id = {unit}"),
    ground("IG_structural_verify", "body_hash_match", "{open} update iu.unit_version set body = body || '!' where unit_id = {unit}"),
    ground("IG_structural_verify", "lifecycle_all_draft", "{open} update iu.unit_version set lifecycle_status = 'enacted' where unit_id = {unit}"),
    ground("IG_structural_verify", "section_type_cardinality", "{open} update iu.information_unit set section_type = 'chapter' where id = {unit}"),
    ground("IG_structural_verify", "no_unexpected_rows", "{stranger}"),
    ground("IG_structural_verify", "forbidden_id_zero", "{open} {forbid}"),
    ground("IG_leg_b_record", "change_set_is_unique",
        "{open} create temporary table another as select * from cutter_governance.cut_change_set where change_set_id = {set};
         update another set change_set_id = gen_random_uuid(), rollback_key = 'x', review_decision_id = gen_random_uuid();
         insert into cutter_governance.cut_change_set select * from another"),
    ground("IG_leg_b_record", "manifest_and_signature_are_there",
        "{open} update cutter_governance.dot_pair_signature set cross_reference_change_set_id = gen_random_uuid() where cross_reference_change_set_id = {set}"),
    ground("IG_leg_b_record", "ledger_is_exact", "{open} delete from cutter_governance.cut_change_set_affected_row where target_row_id = {unit}"),
    ground("IG_leg_b_record", "lanes_do_not_overlap",
        "{open} update identity.principal set actor_classes = actor_classes || '{verifier_dot992}' where name = 'executor'"),
    ground("IG_write_verify", "verifier_is_not_the_executor", "{open} update identity.principal set actor_classes = '{executor_dot991}' where name = 'verifier'"),
    ground("IG_write_verify", "result_passes_and_is_signed",
        "{open} update cutter_governance.verify_result set verdict = 'fail', escalation_ref = gen_random_uuid() where change_set_id = {set}"),
    ground("IG_write_verify", "only_one_result",
        "{open} create temporary table another as select * from cutter_governance.verify_result where change_set_id = {set};
         update another set prior_verify_result_id = verify_result_id, verify_result_id = gen_random_uuid();
         insert into cutter_governance.verify_result select * from another"),
    ground("SG_lifecycle_authz_request", "request_is_complete", "{open} {rewrite} where path = {path} || 'sg2-lifecycle-authz-request'"),
    ground("SG_lifecycle_authz_request", "approval_is_asked_for",
        "{open} update approval.approval_request set subject_ref = 'another' where subject_ref = '{name}' and kind = 'lifecycle_authorization'"),
    ground("SG_lifecycle_authz_request", "decision_is_new",
        "{open} {decide} internal.derived_uuid({run}, 'lifecycle_decision'), 'lifecycle_enactment', gen_random_uuid()"),
];

const ENACTMENT_AUTHORIZED: &[Case] = &[
    ground(
        "SG_lifecycle_authz_received",
        "approval_authorizes_exactly_this",
        "{open} {rewrite} where path = {path} || 'sg2-lifecycle-authz-approval'",
    ),
    ground(
        "SG_lifecycle_authz_received",
        "decision_is_the_sovereigns",
        "{open} update cutter_governance.review_decision set governance_event_kind = 'cut_review', prior_review_decision_id = null where entry_id = {entry}",
    ),
];

/// The enactment, called in the same transaction.
const ENACTMENT: &[Case] = &[
    ground(
        "IG_lifecycle_enact_execute",
        "all_enacted",
        "{open} update iu.unit_version set lifecycle_status = 'draft' where unit_id = {unit};
         update iu.information_unit set lifecycle_status = 'draft' where id = {unit}",
    ),
    ground(
        "IG_lifecycle_enact_execute",
        "none_partly",
        "{open} update iu.unit_version set lifecycle_status = 'draft' where unit_id = {unit}",
    ),
    ground("IG_lifecycle_enact_execute", "one_transaction", "{open} {apart}"),
    ground(
        "IG_lifecycle_enact_execute",
        "lifecycle_log_is_complete",
        "{open} delete from iu.iu_lifecycle_log where unit_id = {unit} and change_kind = 'enacted'",
    ),
    ground(
        "IG_lifecycle_enact_execute",
        "immutability_is_armed",
        "set constraints all immediate; alter table iu.unit_version enable trigger trg_uv_enacted_immut",
    ),
];

const CLOSED_OUT: &[Case] = &[
    ground(
        "IG_closeout",
        "all_documents_are_there",
        "{open} delete from kb.revision where path = {path} || '07-structural-verify'",
    ),
    ground(
        "IG_closeout",
        "all_documents_are_there",
        "{open} delete from kb.revision where path = {path} || 'sg2-lifecycle-authz-approval'",
    ),
    ground(
        "IG_closeout",
        "documents_are_as_written",
        "{open} insert into kb.revision select path, revision + 1, kind, 'other', sha256('other'), author, created_at, row_digest
           from kb.revision where path = {path} || '08-leg-b-record'",
    ),
    ground(
        "IG_closeout",
        "run_stands_in_the_index",
        "{open} update kb.revision set body = body || '{name}', sha256 = sha256(convert_to(body || '{name}', 'UTF8')) where path like 'orchestrator/runs-index/%'",
    ),
    said("IG_closeout", "sidecar_is_complete", "e - 'sidecar_sha256'"),
    said(
        "IG_closeout",
        "sidecar_is_complete",
        "jsonb_set(e, '{sidecar_gates}', (e -> 'sidecar_gates') - 'IG_backup')",
    ),
];

const ALL: [&[Case]; 7] = [
    BEFORE_THE_CUT,
    CUT_AUTHORIZED,
    CUT,
    BEFORE_ENACTMENT,
    ENACTMENT_AUTHORIZED,
    ENACTMENT,
    CLOSED_OUT,
];

/// Gates that `fn_orchestrate_gate` opens: there the door itself is asked as well.
const BY_THE_DOOR: [&str; 5] =
    ["IG_source_pin", "IG_cutplan", "IG_backup", "IG_grant_probe", "IG_structural_verify"];

fn filled(sql: &str, run: &str) -> String {
    let unit = "(select s.unit_id from orchestrator.units({run}) s order by s.local_id limit 1)";
    [
        ("{open}", OPEN),
        ("{stranger}", "set session authorization cutter_exec; select iu.fn_iu_create('POLICY/stranger', 'Stranger', 'text', 'executor', 'law_unit', 'chapter', p_publication_type => 'law'); reset session authorization"),
        ("{rewrite}", "update kb.revision set body = replace(body, '\"document_id\"', '\"document\"'), sha256 = sha256(convert_to(replace(body, '\"document_id\"', '\"document\"'), 'UTF8'))"),
        ("{decide}", "insert into cutter_governance.review_decision (review_scope, manifest_id, manifest_version, status, verdict, findings, reviewer_class, reviewer_identity,
             risk_class_assessment, key_id, decision_payload, signature, decision_at, created_at, row_digest, review_decision_id, governance_event_kind, entry_id)
           select 'x', gen_random_uuid(), 'x', 'x', 'approve', '{}', 'x', 'sofia', 'low', gen_random_uuid(), 'x', '', now(), now(), ''::bytea,"),
        ("{apart}", "do $apart$ begin update iu.information_unit set updated_by = updated_by where id = {unit}; exception when division_by_zero then null; end $apart$"),
        ("{forbid}", "update config.dot_config set value = '[\"POLICY/%\"]' where key = 'orchestrator.forbidden_addresses'"),
        ("{path}", "'orchestrator/' || lower('{name}') || '/'"),
        ("{unit}", unit),
        ("{set}", "internal.derived_uuid({run}, 'change_set')"),
        ("{entry}", "(select r.entry_id from orchestrator.run r where r.run_id = {run})"),
        ("{run}", &format!("'{}'::uuid", id(run))),
        ("{name}", run),
    ]
    .into_iter()
    .fold(sql.to_owned(), |sql, (mark, text)| sql.replace(mark, text))
}

/// A run, and how to look at its gates.
struct Look<'a> {
    scene: &'a Scene,
    run: &'a str,
    /// The evidence of a gate, as SQL; what its move recorded when empty.
    evidence: String,
    /// What is done first.
    first: String,
}

impl Look<'_> {
    fn found(&self, gate: &str, ground: &str, says: &str) -> Value {
        let evidence = match self.evidence.as_str() {
            "" => format!(
                "(select l.evidence::jsonb from fsm.transition_log l where l.run_id = {{run}} and l.idempotency_key = '{gate}')"
            ),
            given => given.to_owned(),
        };
        let sql = format!(
            "begin; {first}; {ground}; {CLOSE}
             select 'FOUND ' || orchestrator.fn_gate_preview({{run}}, '{gate}', (select {says} from (select {evidence} as e) x))::text; rollback",
            first = self.first,
        );
        marked(&self.scene.one(&filled(&sql, self.run)), "FOUND ")
    }

    /// What the door says, with the run put back before its gate.
    fn refused(&self, gate: &str, ground: &str, says: &str) -> Value {
        let sql = format!(
            "begin; {ground}; {OPEN}
             create temporary table said as select l.seq, l.from_state, (select {says} from (select l.evidence::jsonb as e) x) as evidence
               from fsm.transition_log l where l.run_id = {{run}} and l.idempotency_key = '{gate}';
             grant select on said to public;
             update orchestrator.run r set state_code = s.from_state from said s where r.run_id = {{run}};
             delete from fsm.transition_log l using said s where l.run_id = {{run}} and l.seq >= s.seq;
             {CLOSE}
             set session authorization cutter_exec;
             do $door$
             declare
               v_detail text;
             begin
               perform orchestrator.fn_orchestrate_gate({{run}}, '{gate}', (select s.evidence from said s), 'text', 'executor');
             exception when sqlstate 'RO002' or sqlstate 'RO003' then
               get stacked diagnostics v_detail = pg_exception_detail;
               perform set_config('said.detail', v_detail, false);
             end
             $door$;
             select 'DETAIL ' || current_setting('said.detail', true); rollback"
        );
        marked(&self.scene.one(&filled(&sql, self.run)), "DETAIL ")["problems"][0].clone()
    }

    fn check(&self, cases: &[Case]) {
        let gates: BTreeSet<&str> = cases.iter().map(|case| case.gate).collect();
        for gate in gates {
            let sound = self.found(gate, "", "e");
            assert!(violated(&sound["invariants"]).is_empty(), "{gate}: {sound}");
        }
        for Case { gate, invariant, ground, says } in cases {
            let found = self.found(gate, ground, says);
            assert_eq!(violated(&found["invariants"]), [*invariant], "{gate}: {ground}{says}");
            if !BY_THE_DOOR.contains(gate) {
                continue;
            }
            let refused = self.refused(gate, ground, says);
            // Before the first gate nothing is pinned, so nothing can have drifted.
            if found["drift"] == serde_json::json!([]) || *gate == "IG_source_pin" {
                assert_eq!(refused["code"], "RO002", "{gate} {invariant}");
                assert_eq!(refused["violated"], serde_json::json!([invariant]), "{gate}");
                assert_eq!(refused["invariants"], found["invariants"], "{gate}");
            } else {
                assert_eq!(refused["code"], "RO003", "{gate} {invariant}");
            }
        }
    }
}

#[track_caller]
fn marked(printed: &str, mark: &str) -> Value {
    let line = printed.lines().find_map(|line| line.strip_prefix(mark));
    let line = line.unwrap_or_else(|| panic!("nothing was said: {printed}"));
    serde_json::from_str(line).unwrap_or_else(|error| panic!("no JSON ({error}): {line}"))
}

/// The invariants that are not true.
fn violated(invariants: &Value) -> Vec<&str> {
    let all = invariants.as_object().expect("invariants");
    assert!(!all.is_empty(), "no invariants");
    all.iter()
        .filter(|(_, holds)| **holds != Value::Bool(true))
        .map(|(name, _)| name.as_str())
        .collect()
}

/// ORC-3: every invariant of every gate is checked against the live database, and each of them can fail by itself.
#[test]
fn each_invariant_fails_by_itself() {
    let scene = Scene::new();
    scene.document("policy", 5);
    let run = scene.started("policy");
    every_invariant_is_in_the_table(&scene, &run);
    let before = scene.place.fingerprint();
    let recorded = Look { scene: &scene, run: &run, evidence: String::new(), first: String::new() };
    recorded.check(BEFORE_THE_CUT);

    let answered = |said: &Value| {
        format!(
            "'{}'::jsonb",
            serde_json::json!({ "approval_id": said["approval_id"], "approval_kb_id": said["approval_kb_id"] })
        )
    };
    assert_eq!(scene.place.fingerprint(), before, "a transaction was not rolled back");
    let approve = ["approve", "--run-id", &run, "--as", "sofia", "--json"];
    let given = scene.orchestrate(&approve).ends_with(0).json();
    let evidence = answered(&given);
    Look { evidence: evidence.clone(), ..recorded }.check(CUT_AUTHORIZED);
    let first = door("fn_cut_leg_a", &evidence);
    let written = "encode(cutter_governance.writer_digest(internal.derived_uuid({run}, 'manifest'), 'executor'), 'hex')";
    let evidence = format!("{evidence} || jsonb_build_object('writer_digest', {written})");
    Look { scene: &scene, run: &run, evidence, first }.check(CUT);

    scene.resume(&run, given["approval_kb_id"].as_str()).ends_with(4);
    let recorded = Look { scene: &scene, run: &run, evidence: String::new(), first: String::new() };
    recorded.check(BEFORE_ENACTMENT);
    let given = scene.orchestrate(&approve).ends_with(0).json();
    let evidence = answered(&given);
    Look { evidence: evidence.clone(), ..recorded }.check(ENACTMENT_AUTHORIZED);
    let first = door("fn_lifecycle_enact", &evidence);
    Look { scene: &scene, run: &run, evidence, first }.check(ENACTMENT);

    scene.resume(&run, given["approval_kb_id"].as_str()).ends_with(0);
    Look { scene: &scene, run: &run, evidence: String::new(), first: String::new() }
        .check(CLOSED_OUT);
}

/// The phase's own door, called by the executor's login.
fn door(name: &str, evidence: &str) -> String {
    format!(
        "set session authorization cutter_exec; select orchestrator.{name}({{run}}, {evidence}, 'text', 'test', 'executor'); reset session authorization"
    )
}

/// A new invariant without a case stops here.
fn every_invariant_is_in_the_table(scene: &Scene, run: &str) {
    let names = scene.one(&filled(
        "select g.gate || ' ' || i.key
           from (select distinct unnest(t.guard_ids) as gate from fsm.transition_def t
                   join fsm.state_machine_def m using (state_machine_id) where m.scope = 'orchestrator_run' and m.active) g,
                jsonb_each(orchestrator.gate_invariants(g.gate, {run}, '{}')) i",
        run,
    ));
    let known: BTreeSet<String> =
        ALL.into_iter().flatten().map(|case| format!("{} {}", case.gate, case.invariant)).collect();
    let found: BTreeSet<String> = names.lines().map(str::to_owned).collect();
    assert_eq!(found, known, "the gates of the database and the table of this test");
    let gates: BTreeMap<&str, usize> = found.iter().filter_map(|name| name.split_once(' ')).fold(
        BTreeMap::new(),
        |mut all, (gate, _)| {
            *all.entry(gate).or_default() += 1;
            all
        },
    );
    assert_eq!(gates.keys().filter(|gate| gate.starts_with("IG_")).count(), 11, "{gates:?}");
    assert_eq!(gates["IG_structural_verify"], 11);
}
