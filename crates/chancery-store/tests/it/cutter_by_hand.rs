//! F-1…F-8 of the cutter as hand-written SQL: by every login, by the owners, and by a superuser who takes their roles or plays
//! a replica. Nothing goes through, and nothing is changed.

use chancery_store::{LOGINS, Role};
use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Executor as _};
use uuid::Uuid;

use crate::cutter_world::World;
use crate::hardening::{attempt, is_refusal};

/// A database with an entry in each state that matters, and what was written for it.
async fn lived_in() -> World {
    let world = World::new().await;
    world.live().await;
    decided(&world, "rejected", "reject").await;
    world.cut(&world.document("cut", "CUT").await, "cut").await;
    world.approved(&world.document("approved", "APPROVED").await, "approved").await;
    world.pending(&world.document("pending", "PENDING").await, "pending").await;
    // After the last sweep, which would bring it back.
    decided(&world, "deferred", "defer").await;
    world.marked(&world.document("marked", "MARKED").await, "marked").await;
    world
}

async fn decided(world: &World, name: &str, verdict: &str) {
    let document = world.document(name, &name.to_uppercase()).await;
    let entry = world.pending(&document, name).await;
    let review = world.a_review(&document, entry, verdict).await;
    world.review.fn_review(&review).await.expect("decided");
}

/// What seed A forbids, as (name, from, to).
const FORBIDDEN: [(&str, &str, &str); 18] = [
    ("F-1", "reviewed_rejected", "review_pending"),
    ("F-1", "reviewed_rejected", "reviewed_approved"),
    ("F-1", "reviewed_rejected", "cut_applied"),
    ("F-2", "verified_complete", "marked"),
    ("F-2", "verified_complete", "cut_applied"),
    ("F-2", "verified_complete", "verify_failed_escalated"),
    ("F-3", "marked", "cut_applied"),
    ("F-3", "review_pending", "cut_in_progress"),
    ("F-3", "review_pending", "cut_applied"),
    ("F-3", "reviewed_deferred", "cut_applied"),
    ("F-4", "reviewed_approved", "verify_in_progress"),
    ("F-4", "reviewed_approved", "verified_complete"),
    ("F-5", "cut_applied", "cut_applied"),
    ("F-6", "marked", "marked"),
    ("F-7", "verify_failed_escalated", "verified_complete"),
    ("F-8", "marked", "cut_applied"),
    ("F-8", "marked", "verified_complete"),
    ("F-8", "reviewed_approved", "verified_complete"),
];

/// A copy of the newest row of a table with other values in some columns.
fn copy(table: &str, condition: &str, changes: &str) -> String {
    format!(
        "insert into {table} select (jsonb_populate_record(t, jsonb_build_object({changes}))).* from {table} t where {condition} limit 1"
    )
}

/// Every way there is to write the forbidden by hand.
fn forgeries() -> Vec<String> {
    const ENTRY: &str = "cutter_governance.decision_backlog_entry";
    const LOG: &str = "fsm.transition_log";
    let mut statements = Vec::new();
    for (_, from, to) in FORBIDDEN {
        // The state alone; the state with its number; the state with a log row that looks right, in one statement.
        statements.push(format!(
            "update {ENTRY} set status = '{to}', facet = 'forged' where status = '{from}'"
        ));
        statements.push(format!(
            "update {ENTRY} set status = '{to}', seq = seq + 1, head_hash = sha256(head_hash), last_transition_at = now() where status = '{from}'"
        ));
        statements.push(format!(
            "with told as (
               insert into {LOG}
               select (jsonb_populate_record(l, jsonb_build_object('seq', l.seq + 1, 'log_id', gen_random_uuid(), 'from_state', '{from}',
                        'to_state', '{to}', 'idempotency_key', 'forged', 'prev_hash', l.hash, 'hash', sha256(l.hash)))).*
                 from {LOG} l join {ENTRY} e on e.entry_id = l.run_id and e.seq = l.seq where e.status = '{from}' limit 1
               returning run_id, seq, hash, at)
             update {ENTRY} e set status = '{to}', seq = told.seq, head_hash = told.hash, last_transition_at = told.at
               from told where told.run_id = e.entry_id"
        ));
        // An entry that was never marked.
        statements.push(copy(
            ENTRY,
            &format!("t.status = '{from}'"),
            &format!("'entry_id', gen_random_uuid(), 'idempotency_key', 'forged', 'status', '{to}', 'seq', 0, 'head_hash', null"),
        ));
    }
    statements.extend(forged_artefacts());
    statements
}

/// Artefacts without their phase, and changes to those that stand.
fn forged_artefacts() -> Vec<String> {
    const ROOM: &str = "cutter_governance";
    let fresh = "gen_random_uuid()";
    let mut statements: Vec<String> = [
        ("cut_change_set", "t.change_kind = 'apply'", format!("'change_set_id', {fresh}, 'rollback_key', 'forged'")),
        ("cut_change_set", "t.change_kind = 'apply'", format!("'change_set_id', {fresh}, 'rollback_key', 'forged', 'review_decision_id', {fresh}")),
        ("cut_change_set_affected_row", "true", format!("'affected_row_id', {fresh}, 'render_order', 99")),
        ("verify_result", "true", format!("'verify_result_id', {fresh}, 'verdict', 'pass', 'escalation_ref', null, 'prior_verify_result_id', t.verify_result_id")),
        ("dot_pair_signature", "t.signature_kind = 'executor'", format!("'signature_id', {fresh}, 'lane_seq', 99, 'prior_signature_id', t.signature_id")),
        ("dot_pair_signature", "t.signature_kind = 'verifier'", format!("'signature_id', {fresh}, 'lane_seq', 99, 'prior_signature_id', t.signature_id")),
        ("review_decision", "t.verdict = 'reject'", format!("'review_decision_id', {fresh}, 'verdict', 'approve', 'prior_review_decision_id', t.review_decision_id")),
        ("manifest_envelope", "true", format!("'envelope_id', {fresh}")),
        ("manifest_unit_block", "true", "'unit_local_id', 'forged', 'render_order', 99, 'proposed_canonical_address', 'X/x'".to_owned()),
        ("decision_backlog_dependency", "true", format!("'dependency_id', {fresh}, 'dependency_kind', 'related_to'")),
        ("decision_backlog_sweep_log", "true", format!("'sweep_id', {fresh}, 'sweep_seq', 99")),
    ]
    .into_iter()
    .map(|(table, condition, changes)| copy(&format!("{ROOM}.{table}"), condition, &changes))
    .collect();
    statements.push(format!(
        "insert into {ROOM}.canonical_address_alias (alias_id, target_unit_id, alias_text, alias_kind, created_by) values ({fresh}, {fresh}, 'x', 'x', 'x')"
    ));
    for (table, change) in [
        ("review_decision", "verdict = 'approve'"),
        ("review_decision", "superseded_by_review_decision_id = null"),
        ("review_decision", "superseded_by_review_decision_id = review_decision_id"),
        ("review_decision", "row_digest = sha256('forged')"),
        ("cut_change_set", "verifier_signature_id = executor_signature_id"),
        ("verify_result", "verdict = 'pass', escalation_ref = null"),
        ("dot_pair_signature", "signer_principal = 'verifier'"),
        ("decision_backlog_sweep_log", "promoted_count = 0"),
        ("decision_backlog_entry", "started_by = 'authority'"),
        ("decision_backlog_entry", "payload = '{}'"),
        ("decision_backlog_entry", "row_digest = sha256('forged')"),
        ("manifest_unit_block", "title = 'forged'"),
    ] {
        statements.push(format!("update {ROOM}.{table} set {change}"));
    }
    statements
}

/// Who tries: how to connect, and what to become.
pub(crate) fn impostors() -> Vec<(String, Option<Role>, Vec<&'static str>)> {
    let mut all: Vec<(String, Option<Role>, Vec<&'static str>)> =
        LOGINS.iter().map(|&role| (role.name().to_owned(), Some(role), vec![])).collect();
    for (name, statement) in [
        ("owner", "set role chancery_owner"),
        ("definer", "set role chancery_definer"),
        ("guard", "set role chancery_guard"),
    ] {
        all.push((format!("migrator as {name}"), Some(Role::Migrator), vec![statement]));
        all.push((format!("superuser as {name}"), None, vec![statement]));
        all.push((
            format!("superuser as {name}, replica"),
            None,
            vec!["set session_replication_role = replica", statement],
        ));
    }
    all.push(("superuser".to_owned(), None, vec![]));
    all.push((
        "superuser, replica".to_owned(),
        None,
        vec!["set session_replication_role = replica"],
    ));
    all.push((
        "superuser with the writer's mark".to_owned(),
        None,
        vec!["set app.canonical_writer = 'fn_iu_create'"],
    ));
    all.push((
        "superuser as definer with the writer's mark".to_owned(),
        None,
        vec!["set app.canonical_writer = 'fn_iu_enact'", "set role chancery_definer"],
    ));
    all
}

async fn as_impostor(world: &World, role: Option<Role>, steps: &[&'static str]) -> PgConnection {
    let mut connection = match role {
        Some(role) => world.db.connect(role).await,
        None => world.db.superuser().await,
    };
    for step in steps {
        connection.execute(*step).await.expect("who may become it");
    }
    connection
}

/// What is tried as everybody: the answers that are no refusal, and the rows, which must be what they were.
async fn nobody_can(world: &World, statements: &[String]) {
    let before = world.db.fingerprint().await;
    let mut found = Vec::new();
    for (name, role, steps) in impostors() {
        let mut connection = as_impostor(world, role, &steps).await;
        for statement in statements {
            match attempt(&mut connection, statement).await {
                None => found.push(format!("{name}: {statement}: went through")),
                Some(state) if is_refusal(&state) => {}
                Some(state) => found.push(format!("{name}: {statement}: {state}")),
            }
        }
    }
    assert_eq!(found, Vec::<String>::new());
    assert_eq!(before, world.db.fingerprint().await, "nothing changed");
}

/// CUT-1, CUT-10, F-1…F-8: no state, no log row, no entry and no artefact is written by hand, whoever holds the pen.
#[tokio::test]
async fn nothing_forbidden_is_written_by_hand() {
    let world = lived_in().await;
    for (name, from, _) in FORBIDDEN {
        let count: i64 = world
            .one(&format!("select count(*) from cutter_governance.decision_backlog_entry where status = '{from}'"))
            .await;
        assert!(count > 0, "{name} has an entry in {from} to try it on");
    }
    nobody_can(&world, &forgeries()).await;
}

/// IU-3, CUT-10: nor is a unit, a text, a draft, a source or their history.
#[tokio::test]
async fn no_unit_is_written_by_hand() {
    let world = lived_in().await;
    let fresh = "gen_random_uuid()";
    let mut statements = vec![
        copy(
            "iu.information_unit",
            "t.deleted_at is null",
            &format!("'id', {fresh}, 'canonical_address', 'FORGED/one'"),
        ),
        copy("iu.unit_version", "true", &format!("'id', {fresh}, 'version_seq', 99")),
        copy("iu.iu_lifecycle_log", "true", &format!("'lifecycle_log_id', {fresh}, 'seq', 99")),
        copy(
            "iu.source_document",
            "true",
            "'document_id', 'forged', 'address_docprefix', 'FORGED'",
        ),
        copy(
            "iu.source_version",
            "true",
            &format!("'source_version_id', {fresh}, 'version_seq', 99"),
        ),
        copy("iu.unit_edit_draft", "true", &format!("'draft_id', {fresh}")),
    ];
    for (table, change) in [
        ("information_unit", "lifecycle_status = 'draft'"),
        ("information_unit", "lifecycle_status = 'enacted'"),
        ("information_unit", "deleted_at = now()"),
        ("information_unit", "deleted_at = null"),
        ("information_unit", "canonical_address = 'FORGED/' || id"),
        ("information_unit", "owner_ref = 'forged'"),
        ("information_unit", "row_digest = sha256('forged')"),
        ("unit_version", "body = 'forged'"),
        ("unit_version", "body = 'forged', content_hash = encode(sha256('forged'), 'hex')"),
        ("unit_version", "lifecycle_status = 'enacted', enacted_at = now()"),
        ("unit_version", "lifecycle_status = 'draft', enacted_at = null"),
        ("iu_lifecycle_log", "actor = 'forged'"),
        ("source_version", "body = 'forged', byte_length = 6, content_sha256 = sha256('forged')"),
        ("source_document", "address_docprefix = 'FORGED'"),
        ("unit_edit_draft", "body = 'forged'"),
    ] {
        statements.push(format!("update iu.{table} set {change}"));
    }
    nobody_can(&world, &statements).await;
}

/// CUT-7, CUT-8: also with every trigger out of the way, the tables themselves hold lanes, cross-references and chains apart.
#[tokio::test]
async fn signatures_keep_to_their_lane_without_any_trigger() {
    let world = lived_in().await;
    let mut admin = world.db.superuser().await;
    let executor = "t.signature_kind = 'executor'";
    let verifier = "t.signature_kind = 'verifier'";
    let fresh = format!("'signature_id', '{}'", Uuid::now_v7());
    let end = format!("{fresh}, 'lane_seq', t.lane_seq + 50, 'prior_signature_id', t.signature_id");
    let change_set: Uuid =
        world.one("select change_set_id from cutter_governance.cut_change_set limit 1").await;
    let result: Uuid =
        world.one("select verify_result_id from cutter_governance.verify_result limit 1").await;
    let cases = [
        (
            "an executor in the verifier's lane",
            executor,
            format!("{end}, 'signer_dot_id', 'DOT-992'"),
            "signature_keeps_to_its_lane",
        ),
        (
            "a verifier in the executor's lane",
            verifier,
            format!("{end}, 'signer_dot_id', 'DOT-991'"),
            "signature_keeps_to_its_lane",
        ),
        (
            "a verifier that says executor",
            verifier,
            format!("{end}, 'signature_kind', 'executor'"),
            "signature_keeps_to_its_lane",
        ),
        (
            "both cross-references",
            executor,
            format!("{end}, 'cross_reference_verify_result_id', '{result}'"),
            "signature_has_one_cross_reference",
        ),
        (
            "no cross-reference",
            executor,
            format!("{end}, 'cross_reference_change_set_id', null"),
            "signature_has_one_cross_reference",
        ),
        (
            "an executor about a verdict",
            executor,
            format!(
                "{end}, 'cross_reference_change_set_id', null, 'cross_reference_verify_result_id', '{result}'"
            ),
            "signature_keeps_to_its_lane",
        ),
        (
            "a verifier about a change set",
            verifier,
            format!(
                "{end}, 'cross_reference_verify_result_id', null, 'cross_reference_change_set_id', '{change_set}'"
            ),
            "signature_keeps_to_its_lane",
        ),
        (
            "another text than was hashed",
            executor,
            format!("{end}, 'signature_payload', '{{}}'"),
            "signature_hash_is_of_its_payload",
        ),
        (
            "a short signature",
            executor,
            format!("{end}, 'signature', '\\x00'"),
            "signature_is_ed25519",
        ),
        (
            "a second chain",
            executor,
            format!("{fresh}, 'lane_seq', 1, 'prior_signature_id', null"),
            "signature_chain_has_no_forks",
        ),
        (
            "a beginning in the middle",
            executor,
            format!("{fresh}, 'lane_seq', 77, 'prior_signature_id', null"),
            "signature_chain_starts_at_one",
        ),
        (
            "a fork",
            "t.lane_seq = (select max(lane_seq) from cutter_governance.dot_pair_signature) and t.signature_kind = 'executor'",
            format!("{fresh}, 'lane_seq', 77, 'prior_signature_id', t.prior_signature_id"),
            "dot_pair_signature_prior_signature_id_key",
        ),
    ];
    for (name, which, changes, constraint) in cases {
        let statement = copy("cutter_governance.dot_pair_signature", which, &changes);
        admin.execute("begin").await.expect("a transaction");
        admin
            .execute("alter table cutter_governance.dot_pair_signature disable trigger user")
            .await
            .expect("a superuser may");
        let error = admin.execute(AssertSqlSafe(statement)).await.expect_err(name);
        let named = error.as_database_error().and_then(|error| error.constraint());
        assert_eq!(named, Some(constraint), "{name}: {error}");
        admin.execute("rollback").await.expect("a rollback");
    }
}

/// CUT-3, F-5: also without triggers there is one change set a decision, one compensation a change set, one first verdict.
#[tokio::test]
async fn a_decision_is_cut_once_without_any_trigger() {
    let world = lived_in().await;
    let mut admin = world.db.superuser().await;
    let fresh = "gen_random_uuid()";
    for (table, which, changes, constraint) in [
        (
            "cut_change_set",
            "t.change_kind = 'apply'",
            format!("'change_set_id', {fresh}, 'rollback_key', 'x'"),
            "change_set_once_a_decision",
        ),
        (
            "cut_change_set",
            "t.change_kind = 'compensate'",
            format!("'change_set_id', {fresh}, 'rollback_key', 'x'"),
            "change_set_is_compensated_once",
        ),
        (
            "cut_change_set",
            "t.change_kind = 'apply'",
            format!("'change_set_id', {fresh}"),
            "cut_change_set_rollback_key_key",
        ),
        (
            "cut_change_set",
            "t.change_kind = 'apply'",
            "'verifier_signature_id', t.executor_signature_id".to_owned(),
            "change_set_has_no_verifier",
        ),
        (
            "cut_change_set",
            "t.change_kind = 'apply'",
            "'executor_signature_id', null".to_owned(),
            "applied_set_is_signed",
        ),
        (
            "verify_result",
            "t.prior_verify_result_id is null",
            format!("'verify_result_id', {fresh}"),
            "verify_result_first_once",
        ),
        (
            "verify_result",
            "t.verdict = 'fail'",
            format!("'verify_result_id', {fresh}, 'escalation_ref', null"),
            "failure_is_escalated",
        ),
        (
            "verify_result",
            "t.verdict = 'pass'",
            format!("'verify_result_id', {fresh}, 'verdict', 'fail'"),
            "failure_is_escalated",
        ),
        (
            "manifest_envelope",
            "true",
            format!("'envelope_id', {fresh}, 'source_doc_ref', 'another'"),
            "manifest_names_its_entry",
        ),
        (
            "review_decision",
            "t.prior_review_decision_id is not null",
            format!("'review_decision_id', {fresh}"),
            "decision_is_superseded_once",
        ),
    ] {
        admin.execute("begin").await.expect("a transaction");
        let off = format!("alter table cutter_governance.{table} disable trigger user");
        admin.execute(AssertSqlSafe(off)).await.expect("a superuser may");
        let statement = copy(&format!("cutter_governance.{table}"), which, &changes);
        let error = admin.execute(AssertSqlSafe(statement)).await.expect_err(constraint);
        let named = error.as_database_error().and_then(|error| error.constraint());
        assert_eq!(named, Some(constraint), "{error}");
        admin.execute("rollback").await.expect("a rollback");
    }
}
