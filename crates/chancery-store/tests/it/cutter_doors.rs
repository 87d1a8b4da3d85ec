//! F-1…F-8 of the cutter through every door there is: no phase is skipped, repeated or faked by asking nicely.

use chancery_model::refusal::Code::{RS018, RS026};
use chancery_store::fsm::{Move, Start};
use chancery_store::{LOGINS, Role, Store};
use serde_json::{Value, json};
use sqlx::AssertSqlSafe;
use uuid::Uuid;

use crate::cutter_world::{Document, World};
use crate::hardening::attempt;
use crate::support::codes;

/// An entry in each state that is ever stored, and one more in each that can be taken for evidence.
struct Entries {
    world: World,
    by_state: Vec<(&'static str, Uuid)>,
}

/// Every state, as the log may hold it, and the two that it never holds.
const STATES: [&str; 11] = [
    "marked",
    "review_pending",
    "reviewed_approved",
    "reviewed_deferred",
    "reviewed_rejected",
    "cut_in_progress",
    "cut_applied",
    "verify_in_progress",
    "verified_complete",
    "verify_failed_escalated",
    "abandoned",
];

async fn entries() -> Entries {
    let world = World::new().await;
    let mut documents: Vec<Document> = Vec::new();
    for n in 0..9 {
        documents.push(world.document(&format!("doc-{n}"), &format!("DOC-{n}")).await);
    }
    let review = async |n: usize, verdict: &str| {
        let entry = world.pending(&documents[n], &format!("k{n}")).await;
        let review = world.a_review(&documents[n], entry, verdict).await;
        world.review.fn_review(&review).await.expect("decided");
        entry
    };
    // What a sweep would promote comes after the sweeps.
    let rejected = review(0, "reject").await;
    let cut = world.cut(&documents[1], "k1").await;
    let verified = world.verified(&documents[2], "k2").await;
    let (failed, _) = world.failed(&documents[3], "k3").await;
    let abandoned = world.marked(&documents[4], "k4").await;
    world.app.fn_abandon(&world.an_abandonment(abandoned)).await.expect("abandoned");
    let approved = world.approved(&documents[5], "k5").await;
    let pending = world.pending(&documents[6], "k6").await;
    let deferred = review(7, "defer").await;
    let marked = world.marked(&documents[8], "k8").await;
    let by_state = vec![
        ("marked", marked),
        ("review_pending", pending),
        ("reviewed_approved", approved),
        ("reviewed_deferred", deferred),
        ("reviewed_rejected", rejected),
        ("cut_applied", cut),
        ("verified_complete", verified),
        ("verify_failed_escalated", failed),
        ("abandoned", abandoned),
    ];
    for (state, entry) in &by_state {
        assert_eq!(world.status(*entry).await, *state);
    }
    Entries { world, by_state }
}

/// The evidence that would serve each phase best, taken from the entry itself and then from another one.
async fn evidences(world: &World, entry: Uuid) -> Vec<Value> {
    let of = |which: String| async move {
        world
            .one::<Value>(&format!(
                "select jsonb_build_object(
                   'review_decision_id', coalesce(c.review_decision_id, d.review_decision_id), 'manifest_id', d.manifest_id,
                   'manifest_digest', d.manifest_version, 'verdict', d.verdict, 'change_set_id', c.change_set_id,
                   'executor_signature_id', c.executor_signature_id, 'verify_result_id', v.verify_result_id,
                   'verifier_signature_id', v.verifier_signature_id,
                   'sweep_id', (select sweep_id from cutter_governance.decision_backlog_sweep_log order by sweep_seq desc limit 1),
                   'reason', 'because', 'audit_ref', 'A-1')
                 from (select 1) one
                 left join lateral (select * from cutter_governance.review_decision d where {which} order by created_at desc limit 1) d on true
                 left join cutter_governance.cut_change_set c on c.decision_backlog_entry_id = d.entry_id and c.change_kind = 'apply'
                 left join cutter_governance.verify_result v on v.change_set_id = c.change_set_id"
            ))
            .await
    };
    let own = of(format!("d.entry_id = '{entry}'")).await;
    let foreign = of(format!(
        "d.entry_id <> '{entry}' and d.verdict = 'approve' and exists (select from cutter_governance.cut_change_set c where c.decision_backlog_entry_id = d.entry_id)"
    ))
    .await;
    let mut invented = own.clone();
    invented["change_set_id"] = json!(Uuid::now_v7());
    vec![own, foreign, invented, json!({ "reason": "because", "audit_ref": "A-1" })]
}

/// Who could ask for a move with some right: login, principal, class, trigger.
fn askers(world: &World) -> [(&Store, &'static str, &'static str, &'static [&'static str]); 8] {
    [
        (&world.exec, "executor", "executor_dot991", &["mark", "sweep", "cut"]),
        (&world.exec, "everyone", "executor_dot991", &["mark", "sweep", "cut"]),
        (&world.verify, "verifier", "verifier_dot992", &["verify", "escalate"]),
        (&world.review, "authority", "review_authority", &["review"]),
        (&world.review, "authority_2", "review_authority", &["review"]),
        (&world.app, "sweeper", "system", &["sweep"]),
        (&world.app, "sovereign", "sovereign", &["abandon"]),
        (&world.app, "everyone", "pic_human", &["mark"]),
    ]
}

fn a_move(
    entry: Uuid,
    to: &str,
    principal: &str,
    class: &str,
    trigger: &str,
    evidence: &Value,
) -> Move {
    Move {
        run_id: entry,
        run_kind: "cut_request".to_owned(),
        from: None,
        to: to.to_owned(),
        actor_class: class.to_owned(),
        trigger_kind: "rpc".to_owned(),
        trigger_ref: trigger.to_owned(),
        evidence: evidence.clone(),
        principal: principal.to_owned(),
        idempotency_key: Uuid::now_v7().to_string(),
        reason: None,
        signed: None,
    }
}

/// CUT-1, F-1…F-8: the general door moves no entry, whatever it is asked, by whom, and with whose evidence.
#[tokio::test]
async fn the_general_door_is_no_way_round_the_phases() {
    let Entries { world, by_state } = entries().await;
    let before = world.db.fingerprint().await;
    for (_, entry) in by_state {
        for evidence in evidences(&world, entry).await {
            for (login, principal, class, triggers) in askers(&world) {
                let mut moves = Vec::new();
                for trigger in triggers {
                    for to in STATES {
                        moves.push(a_move(entry, to, principal, class, trigger, &evidence));
                    }
                }
                for report in login.fn_state_transition_apply_batch(&moves).await.expect("reports")
                {
                    let told: Vec<_> = report.problems.iter().map(|problem| problem.code).collect();
                    assert_eq!((report.ok, told.as_slice()), (false, [RS026].as_slice()));
                }
                let alone = login.fn_state_transition_apply(&moves[0]).await;
                assert_eq!(codes(alone), [RS026]);
            }
        }
    }
    assert_eq!(before, world.db.fingerprint().await, "nothing changed");
}

/// CUT-1: nor is an entry born as a run of a custom machine, nor a custom run under the machine of the room.
#[tokio::test]
async fn no_entry_is_born_past_its_door() {
    let world = World::new().await;
    let document = world.document("policy", "POL").await;
    let entry = world.marked(&document, "k").await;
    let before = world.db.fingerprint().await;
    for machine in ["cut_request", "cut_request@1.2.0"] {
        for run_id in [entry, Uuid::now_v7()] {
            let start = Start {
                run_id,
                machine: machine.to_owned(),
                data: world.a_mark(&document, "k").payload,
                actor_class: "pic_human".to_owned(),
                trigger_kind: "rpc".to_owned(),
                trigger_ref: "mark".to_owned(),
                evidence: json!({}),
                principal: "everyone".to_owned(),
                idempotency_key: "k".to_owned(),
                reason: None,
                parent: None,
                trace_id: None,
                signed: None,
            };
            assert_eq!(codes(world.app.fn_run_start(&start).await), [RS018], "{machine}");
        }
    }
    assert_eq!(before, world.db.fingerprint().await, "nothing changed");
}

/// CUT-11: who may call which door, tried by calling it. A door that a login may call answers with a refusal of its own for
/// nothing but nulls; every other login is turned away before it.
#[tokio::test]
async fn each_duty_has_its_doors_and_no_others() {
    const DOORS: [(&str, usize, &[Role]); 21] = [
        ("cutter_governance.fn_mark", 11, &[Role::App, Role::CutterExec]),
        ("cutter_governance.fn_sweep", 5, &[Role::App, Role::CutterExec]),
        ("cutter_governance.fn_review", 18, &[Role::CutterReview]),
        ("cutter_governance.fn_lifecycle_review", 12, &[Role::CutterReview]),
        ("cutter_governance.fn_cut", 12, &[Role::CutterExec]),
        ("cutter_governance.fn_verify", 14, &[Role::CutterVerify]),
        ("cutter_governance.fn_abandon", 7, &[Role::App]),
        ("cutter_governance.fn_entry_actions", 2, &[Role::App]),
        ("cutter_governance.fn_entry_is_free", 1, &[Role::CutterExec, Role::CutterVerify]),
        ("cutter_governance.fn_standing_escalation", 1, &[Role::CutterVerify]),
        ("cutter_governance.fn_escalate_verification", 3, &[Role::CutterVerify]),
        ("iu.fn_dot_iu_command_log", 8, &[Role::App]),
        ("iu.fn_source_add", 5, &[Role::App, Role::CutterExec]),
        ("iu.fn_iu_create", 15, &[Role::CutterExec]),
        ("iu.fn_iu_edit_draft", 5, &[Role::CutterExec]),
        ("iu.fn_iu_apply_edit_draft", 3, &[Role::CutterExec]),
        ("iu.fn_iu_enact", 8, &[Role::CutterExec]),
        (
            "iu.fn_iu_create_plan",
            9,
            &[Role::App, Role::CutterExec, Role::CutterVerify, Role::CutterReview],
        ),
        (
            "iu.fn_iu_classify_existing",
            1,
            &[Role::App, Role::CutterExec, Role::CutterVerify, Role::CutterReview],
        ),
        (
            "iu.fn_iu_resolve_default",
            2,
            &[Role::App, Role::CutterExec, Role::CutterVerify, Role::CutterReview],
        ),
        (
            "iu.fn_content_hash",
            1,
            &[Role::App, Role::CutterExec, Role::CutterVerify, Role::CutterReview],
        ),
    ];
    let world = World::new().await;
    let before = world.db.fingerprint().await;
    for &login in LOGINS {
        let mut connection = world.db.connect(login).await;
        for (door, arguments, callers) in DOORS {
            let nulls = vec!["null"; arguments].join(", ");
            let answer = attempt(&mut connection, &format!("select {door}({nulls})")).await;
            let told = format!("{} calls {door}: {answer:?}", login.name());
            if callers.contains(&login) {
                let refused_or_read = answer.as_deref().is_none_or(|state| state.starts_with('R'));
                assert!(refused_or_read, "{told}");
            } else {
                assert_eq!(answer.as_deref(), Some("42501"), "{told}");
            }
        }
    }
    assert_eq!(before, world.db.fingerprint().await, "nothing changed");
    let others: Vec<String> = sqlx::query_scalar(AssertSqlSafe(format!(
        "select n.nspname || '.' || p.proname from pg_proc p join pg_namespace n on n.oid = p.pronamespace
          where n.nspname in ('iu', 'cutter_governance') and exists (
            select from aclexplode(p.proacl) a where a.grantee::regrole::text in ({})) order by 1",
        LOGINS.iter().map(|login| format!("'{}'", login.name())).collect::<Vec<_>>().join(", ")
    )))
    .fetch_all(&mut world.db.superuser().await)
    .await
    .expect("doors");
    let mut listed: Vec<&str> = DOORS.iter().map(|(door, ..)| *door).collect();
    listed.sort_unstable();
    assert_eq!(others, listed, "every door stands in the list");
}

/// CUT-11, F-6: the observer reads its views and nothing else, and none of the columns that were left out.
#[tokio::test]
async fn the_observer_sees_what_happened_and_no_more() {
    const WITHOUT: [(&str, &[&str]); 12] = [
        ("canonical_address_alias", &["rationale", "scenario_ref"]),
        ("cut_change_set", &["payload_summary", "rollback_key", "rollback_reason"]),
        ("cut_change_set_affected_row", &["after_state_snapshot", "before_state_snapshot"]),
        ("decision_backlog_dependency", &[]),
        ("decision_backlog_entry", &["idempotency_key", "payload", "scenario_ref"]),
        ("decision_backlog_history", &["change_diff", "rationale"]),
        ("decision_backlog_sweep_log", &["report_summary"]),
        (
            "dot_pair_signature",
            &["payload_envelope", "payload_hash", "signature", "signature_payload"],
        ),
        ("manifest_envelope", &["rationale"]),
        ("manifest_unit_block", &["region_sha", "span_end", "span_start", "title"]),
        (
            "review_decision",
            &[
                "decision_payload",
                "findings",
                "reviewer_identity",
                "signature",
                "verdict_rationale",
            ],
        ),
        ("verify_result", &["findings"]),
    ];
    let world = World::new().await;
    world.live().await;
    let mut admin = world.db.superuser().await;
    let mut observer = world.db.connect(Role::CutterReadOnly).await;
    for (table, without) in WITHOUT {
        let left_out: Vec<String> = sqlx::query_scalar(
            "select t.attname::text from pg_attribute t
              where t.attrelid = ('cutter_governance.' || $1)::regclass and t.attnum > 0 and not t.attisdropped
                -- Which version a digest is of is for those who compute it again.
                and t.attname <> 'digest_version'
                and not exists (select from pg_attribute v where v.attrelid = ('cutter_governance.v_' || $1 || '_observe')::regclass
                                   and v.attname = t.attname)
              order by t.attname collate \"C\"",
        )
        .bind(table)
        .fetch_all(&mut admin)
        .await
        .expect("columns");
        assert_eq!(left_out, without, "{table}");
        let view = format!("select * from cutter_governance.v_{table}_observe");
        assert_eq!(attempt(&mut observer, &view).await, None, "{table} can be observed");
        for column in without {
            let peek = format!("select {column} from cutter_governance.v_{table}_observe");
            assert_eq!(
                attempt(&mut observer, &peek).await.as_deref(),
                Some("42703"),
                "{table}.{column}"
            );
        }
        let table_itself = format!("select from cutter_governance.{table}");
        assert_eq!(
            attempt(&mut observer, &table_itself).await.as_deref(),
            Some("42501"),
            "{table}"
        );
    }
    let readable: Vec<String> = sqlx::query_scalar(
        "select c.relname::text from pg_class c join pg_namespace n on n.oid = c.relnamespace
          where n.nspowner = 'chancery_owner'::regrole and c.relkind in ('r', 'p', 'v', 'S')
            and has_table_privilege('cutter_ro', c.oid, 'select, insert, update, delete, truncate') order by c.relname::text collate \"C\"",
    )
    .fetch_all(&mut admin)
    .await
    .expect("what the observer reaches");
    let mut expected: Vec<String> =
        WITHOUT.iter().map(|(table, _)| format!("v_{table}_observe")).collect();
    expected.sort();
    assert_eq!(readable, expected);
    let callable: i64 = sqlx::query_scalar(
        "select count(*) from pg_proc p join pg_namespace n on n.oid = p.pronamespace
          where n.nspowner = 'chancery_owner'::regrole and has_function_privilege('cutter_ro', p.oid, 'execute')",
    )
    .fetch_one(&mut admin)
    .await
    .expect("a count");
    assert_eq!(callable, 0, "F-6: the observer has no door at all");
}
