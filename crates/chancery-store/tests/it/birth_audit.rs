//! AUD-1, ADM-1…ADM-8: the audit replays permits, births, policies, broken glass, the handoff and the ledger of commands; whatever is
//! changed behind the triggers' back is found and named.

mod scene;

use chancery_engine::audit::Mismatch;

use self::scene::Scene;

const PERMIT: &str = "birth.birth_admission_permit";
const BIRTH: &str = "birth.birth_registry";
const GLASS: &str = "birth.break_glass";
const FAMILY: &str = "birth.family";
const FAMILY_LOG: &str = "birth.family_log";
const CANDIDATE: &str = "governance.governance_candidate_state";
const COMMAND: &str = "iu.dot_iu_command_run";
const LOG: &str = "fsm.transition_log";
const REQUEST: &str = "approval.approval_request";
const USE: &str = "approval.approval_use";

/// AUD-1, ADM-2, ADM-4: whatever way a permit went, it replays, and what people did is signed.
#[tokio::test]
async fn every_way_of_a_permit_replays() {
    let scene = Scene::new().await;
    let report = scene.audit().await;
    assert_eq!(report.mismatches, []);
    for table in [BIRTH, GLASS, FAMILY_LOG, CANDIDATE, COMMAND] {
        let rows = report.evidence.get(table).copied().unwrap_or_default();
        let stored = scene.db.count(table).await;
        assert_eq!(i64::try_from(rows), Ok(stored), "{table}");
        assert!(stored > 0, "{table}");
    }
    let statuses = scene
        .db
        .text("select string_agg(concat(status, ' ', n), ', ' order by status) from (select status, count(*) as n from birth.birth_admission_permit group by 1) s")
        .await;
    assert_eq!(statuses, "EXPIRED 1, FAILED 2, FINALIZED 4, RESERVED 1, REVOKED 1");
    let admissions = scene
        .db
        .text("select string_agg(concat(admission, ' ', n), ', ' order by admission) from (select admission, count(*) as n from birth.birth_registry group by 1) s")
        .await;
    assert_eq!(admissions, "break_glass 1, missing 1, permit 4");
    // A reservation and a revocation; two requests and two votes.
    assert_eq!(report.signatures, 6);
    let findings = scene.db.count("governance.system_issues").await;
    assert_eq!(i64::try_from(report.runs), Ok(9 + 6 + findings));
}

/// AUD-1, ADM-2, ADM-5: a permit, a birth, a policy, a glass or a step that was changed with its digest, or taken away, is named.
#[tokio::test]
async fn what_was_changed_about_a_birth_is_named() {
    let scene = Scene::new().await;
    scene
        .keep(&[PERMIT, BIRTH, GLASS, FAMILY, FAMILY_LOG, CANDIDATE, COMMAND, LOG, REQUEST, USE])
        .await;
    let artefacts = "artefacts_are_in_the_log";
    let admitted = "birth_was_admitted";
    let left = "policy_is_as_it_was_left";
    let glass = "glass_was_approved";
    let fact = "step_is_a_fact";
    let born = "candidate_is_what_was_born";
    let by_permit = "entity_code = 'F-7'";
    for (table, condition, set, named, rule) in [
        (BIRTH, by_permit, "born_at = born_at - interval '1 day'", LOG, artefacts),
        (BIRTH, by_permit, "entity_name = 'another'", BIRTH, "birth_is_what_was_permitted"),
        (BIRTH, by_permit, "xid = '3'", BIRTH, "birth_is_what_was_permitted"),
        (BIRTH, by_permit, "permit_id = gen_random_uuid()", BIRTH, admitted),
        (
            BIRTH,
            by_permit,
            "permit_id = null, admission = 'missing', dot_origin = 'by_hand'",
            BIRTH,
            admitted,
        ),
        (
            BIRTH,
            by_permit,
            "permit_id = (select permit_id from birth.birth_admission_permit where entity_code = 'F-2')",
            PERMIT,
            "permit_has_its_birth",
        ),
        (
            BIRTH,
            by_permit,
            "permit_id = (select permit_id from birth.birth_admission_permit where entity_code = 'F-8')",
            BIRTH,
            "birth_has_one_permit",
        ),
        (BIRTH, by_permit, "admission = 'missing'", BIRTH, admitted),
        (BIRTH, by_permit, "status = 'gone'", BIRTH, admitted),
        (BIRTH, "entity_code = 'G-1'", "admission = 'missing'", BIRTH, admitted),
        (BIRTH, "entity_code = 'G-1'", "born_at = born_at + interval '1 hour'", BIRTH, admitted),
        (BIRTH, "entity_code = 'N-1'", "admission = 'break_glass'", BIRTH, admitted),
        (BIRTH, "entity_code = 'N-1'", "collection_name = 'shop.film'", BIRTH, admitted),
        (BIRTH, "entity_code = 'N-1'", "collection_name = 'iu.information_unit'", BIRTH, admitted),
        (BIRTH, "entity_code = 'N-1'", "born_at = born_at - interval '1 day'", BIRTH, admitted),
        (
            BIRTH,
            "entity_code = 'N-1'",
            "entity_code = 'G-1', collection_name = 'shop.film'",
            BIRTH,
            "birth_is_once_a_code",
        ),
        (GLASS, "true", "expires_at = expires_at + interval '5 minutes'", REQUEST, glass),
        (GLASS, "true", "reason = 'because'", REQUEST, glass),
        (GLASS, "true", "collection_name = 'shop.note'", REQUEST, glass),
        (GLASS, "true", "opened_by = 'ben'", USE, glass),
        (GLASS, "true", "opened_by = 'ben'", FAMILY, left),
        (GLASS, "true", "approval_id = gen_random_uuid()", GLASS, glass),
        (GLASS, "true", "break_glass_id = gen_random_uuid()", GLASS, glass),
        (USE, "used_for_kind = 'birth_family'", "used_by = 'ben'", USE, glass),
        (
            USE,
            "used_for_kind = 'birth_family'",
            "used_for_ref = 'shop.note'",
            USE,
            "use_is_what_was_approved",
        ),
        (
            USE,
            "used_for_kind = 'birth_request'",
            "used_for_ref = 'shop.note'",
            USE,
            "admission_was_approved",
        ),
        (
            REQUEST,
            "kind = 'birth_admission'",
            "subject_ref = 'shop.deed/D-2'",
            REQUEST,
            "admission_was_approved",
        ),
        (FAMILY_LOG, "collection_name = 'shop.film'", "policy = '{\"active\":true}'", FAMILY, left),
        (
            FAMILY_LOG,
            "collection_name = 'shop.film'",
            "policy = policy || ' '",
            FAMILY_LOG,
            "json_is_canonical",
        ),
        (
            FAMILY_LOG,
            "collection_name = 'shop.note'",
            "action = 'changed'",
            FAMILY_LOG,
            "changes_follow_each_other",
        ),
        (FAMILY_LOG, "action = 'broke_glass'", "principal = 'ben'", FAMILY, left),
        (
            FAMILY_LOG,
            "collection_name = 'shop.note'",
            "principal = 'nobody'",
            FAMILY_LOG,
            "changes_follow_each_other",
        ),
        (CANDIDATE, "object_ref = 'F-7'", "object_ref = 'F-8'", CANDIDATE, born),
        (
            CANDIDATE,
            "object_ref = 'F-7'",
            "birth_id = gen_random_uuid()",
            CANDIDATE,
            "row_has_an_origin",
        ),
        (
            CANDIDATE,
            "object_ref = 'F-7'",
            "created_at = created_at - interval '1 day'",
            LOG,
            "birth_facts_are_unchanged",
        ),
        (COMMAND, "phase = 'HANDOFF_ENQ'", "phase = 'EXPIRED'", COMMAND, "steps_follow_each_other"),
        (COMMAND, "phase = 'HANDOFF_ENQ'", "phase = 'EXPIRED'", COMMAND, fact),
        (COMMAND, "phase = 'FAILED'", "phase = 'CONSUMED'", COMMAND, fact),
        (COMMAND, "phase = 'FAILED'", "phase = 'CONSUMED'", COMMAND, "attempts_follow_an_end"),
        (
            COMMAND,
            "phase = 'DONE'",
            "request_hash = sha256('x')",
            COMMAND,
            "steps_follow_each_other",
        ),
        (COMMAND, "phase = 'DONE'", "request_hash = sha256('x')", COMMAND, fact),
        (COMMAND, "attempt = 2", "attempt = 3", COMMAND, "attempts_follow_an_end"),
        (COMMAND, "phase = 'DONE'", "actor = 'nobody'", COMMAND, fact),
    ] {
        scene.restamped(table, condition, set).await;
        scene.names(&format!("{table}: {set}"), named, rule).await;
        scene.put_back(table).await;
    }
    let equals = "state_equals_log";
    let unchanged = "birth_facts_are_unchanged";
    let logged = "permit_is_as_it_was_logged";
    for (statement, table, named, rule) in [
        (
            "update birth.birth_admission_permit set entity_name = 'x' where entity_code = 'F-2'",
            PERMIT,
            LOG,
            unchanged,
        ),
        (
            "update birth.birth_admission_permit set entity_code = 'F-9' where entity_code = 'F-2'",
            PERMIT,
            PERMIT,
            "permit_is_as_it_was_reserved",
        ),
        (
            "update birth.birth_admission_permit set request_hash = sha256('x') where entity_code = 'F-2'",
            PERMIT,
            PERMIT,
            "permit_is_as_it_was_reserved",
        ),
        (
            "update birth.birth_admission_permit set expires_at = expires_at + interval '1 day' where entity_code = 'F-2'",
            PERMIT,
            LOG,
            unchanged,
        ),
        (
            "update birth.birth_admission_permit set status = 'RESERVED' where entity_code = 'F-4'",
            PERMIT,
            PERMIT,
            equals,
        ),
        (
            "update birth.birth_admission_permit set live = true where entity_code = 'F-5'",
            PERMIT,
            PERMIT,
            logged,
        ),
        (
            "update birth.birth_admission_permit set consumed_by = 'somebody' where entity_code = 'F-7'",
            PERMIT,
            LOG,
            "log_agrees_with_its_rows",
        ),
        (
            "update birth.birth_admission_permit set consumed_xid = '3' where entity_code = 'F-2'",
            PERMIT,
            PERMIT,
            logged,
        ),
        (
            "update birth.birth_admission_permit set finalized_birth_id = gen_random_uuid() where entity_code = 'F-7'",
            PERMIT,
            PERMIT,
            logged,
        ),
        (
            "update birth.birth_admission_permit set approval_id = null where entity_code = 'D-1'",
            PERMIT,
            LOG,
            unchanged,
        ),
        ("delete from birth.birth_admission_permit where entity_code = 'F-7'", PERMIT, LOG, equals),
        (
            "delete from birth.birth_admission_permit where entity_code = 'F-7'",
            PERMIT,
            BIRTH,
            admitted,
        ),
        ("delete from birth.birth_registry where entity_code = 'F-7'", BIRTH, LOG, artefacts),
        (
            "delete from birth.birth_registry where entity_code = 'F-7'",
            BIRTH,
            CANDIDATE,
            "row_has_an_origin",
        ),
        ("delete from birth.birth_registry where entity_code = 'F-7'", BIRTH, COMMAND, fact),
        (
            "delete from governance.governance_candidate_state where object_ref = 'F-7'",
            CANDIDATE,
            LOG,
            equals,
        ),
        (
            "delete from governance.governance_candidate_state where object_ref = 'F-7'",
            CANDIDATE,
            COMMAND,
            fact,
        ),
        ("delete from birth.break_glass", GLASS, BIRTH, admitted),
        ("delete from birth.break_glass", GLASS, USE, "row_has_an_origin"),
        (
            "delete from approval.approval_use where used_for_kind = 'birth_family'",
            USE,
            GLASS,
            glass,
        ),
        (
            "delete from approval.approval_use where used_for_kind = 'birth_request'",
            USE,
            LOG,
            artefacts,
        ),
        ("delete from birth.family_log where action = 'broke_glass'", FAMILY_LOG, FAMILY, left),
        (
            "delete from birth.family_log where collection_name = 'shop.note'",
            FAMILY_LOG,
            FAMILY,
            left,
        ),
        (
            "update birth.family set enforced_from = null where collection_name = 'shop.film'",
            FAMILY,
            FAMILY,
            left,
        ),
        (
            "update birth.family set enforced_from = null where collection_name = 'iu.information_unit'",
            FAMILY,
            FAMILY,
            left,
        ),
        (
            "update birth.family set active = false where collection_name = 'shop.note'",
            FAMILY,
            FAMILY,
            left,
        ),
        ("delete from birth.family where collection_name = 'shop.note'", FAMILY, FAMILY_LOG, left),
        (
            "delete from iu.dot_iu_command_run where phase = 'HANDOFF_ENQ'",
            COMMAND,
            COMMAND,
            "steps_follow_each_other",
        ),
        (
            "delete from iu.dot_iu_command_run where phase = 'FAILED'",
            COMMAND,
            COMMAND,
            "attempts_follow_an_end",
        ),
        (
            "update fsm.transition_log set principal = 'ada' where run_kind = 'birth_permit' and to_state = 'REVOKED'",
            LOG,
            LOG,
            "signature_is_good",
        ),
        (
            "update fsm.transition_log set signature = null, key_id = null where run_kind = 'birth_permit' and signature is not null and seq = 1",
            LOG,
            LOG,
            "signature_is_good",
        ),
        (
            "update fsm.transition_log set actor_class = 'pic_human' where run_kind = 'birth_permit' and to_state = 'FINALIZED'",
            LOG,
            LOG,
            "move_is_legal",
        ),
        (
            "delete from fsm.transition_log where run_id in (select run_id from fsm.transition_log where to_state = 'REVOKED')",
            LOG,
            PERMIT,
            "every_run_has_a_log",
        ),
        (
            "delete from fsm.transition_log where run_kind = 'birth_permit' and to_state = 'FINALIZED'",
            LOG,
            BIRTH,
            "row_has_an_origin",
        ),
    ] {
        scene.forged(&[statement]).await;
        scene.names(statement, named, rule).await;
        scene.put_back(table).await;
    }
    assert_eq!(scene.found().await, [], "everything was put back");
}

/// AUD-1: no column of a permit, of a birth or of what stands around it can be changed unnoticed.
#[tokio::test]
async fn no_column_about_a_birth_can_be_changed_unnoticed() {
    let scene = Scene::new().await;
    let tables = [
        "birth.birth_admission_permit",
        "birth.birth_registry",
        "birth.break_glass",
        "birth.family_log",
        "governance.governance_candidate_state",
        "iu.dot_iu_command_run",
    ];
    scene.keep(&tables).await;
    let mut tried = 0;
    for table in tables {
        let columns = scene
            .db
            .texts(&format!(
                "select attname || ' ' || atttypid::regtype::text from pg_attribute
                  where attrelid = '{table}'::regclass and attnum > 0 and not attisdropped"
            ))
            .await;
        for column in columns.into_iter().flatten() {
            let (column, kind) = column.split_once(' ').expect("a column and its type");
            let value = match kind {
                "text" | "name" => format!("coalesce({column}, '') || 'x'"),
                "uuid" => "gen_random_uuid()".to_owned(),
                "smallint" | "integer" | "bigint" => format!("{column} + 100"),
                "bytea" => "sha256('x')".to_owned(),
                "boolean" => format!("not {column}"),
                "xid8" => "'3'".to_owned(),
                "internal.canonical_object" => "'{\"x\":1}'".to_owned(),
                "timestamp with time zone" => {
                    format!("coalesce({column}, now()) + interval '1 microsecond'")
                }
                other => panic!("say how to change {column}, which is {other}"),
            };
            scene.forged(&[&format!("update {table} set {column} = {value}")]).await;
            let found = scene.found().await;
            let named = |mismatch: &Mismatch| mismatch.table == table || mismatch.table == LOG;
            assert!(found.iter().any(named), "{table}.{column}: {found:?}");
            scene.put_back(table).await;
            tried += 1;
        }
    }
    assert_eq!(tried, 27 + 15 + 9 + 9 + 16 + 14);
    assert_eq!(scene.found().await, [], "everything was put back");
}
