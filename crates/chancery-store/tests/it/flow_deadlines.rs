//! RUN-8: deadlines. A breach stays on record for ever, whatever comes after it; only work in progress becomes overdue.

use chancery_store::workflow::{Extended, WorkCall};
use chancery_store::{Error, Role};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::flow_moves::{audited, in_progress};
use crate::flow_world::{CHIEF, DESK, Flow, human, single, step, way, workflow};
use crate::hardening::{attempt, is_refusal};

async fn extend(
    flow: &Flow,
    id: Uuid,
    after: &str,
    key: &str,
    reason: &str,
) -> Result<Extended, Error> {
    let deadline: String = flow
        .one(&format!("select to_char((internal.now() + interval '{after}') at time zone 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"')"))
        .await;
    let call = WorkCall {
        run_kind: "step",
        run_id: id,
        call: "extend",
        evidence: &json!({}),
        document: None,
        principal: "desk",
        actor_class: "pic_human",
        idempotency_key: key,
        reason: Some(reason),
        signed: None,
    };
    flow.store.fn_work_extend(&call, &deadline).await
}

/// Extended, overdue again, taken up again, completed: the first breach is the one on record.
#[tokio::test]
async fn the_first_breach_stays() {
    let (flow, _, id) = in_progress(json!({ "deadline": "1 minute" })).await;
    flow.later(60_000).await;
    flow.ring().await;
    let first = flow.row_of(id).await["overdue_first_at"].clone();
    assert!(first.is_string());
    extend(&flow, id, "1 minute", "one", "late mail").await.expect("extended");
    assert_eq!(flow.ring().await, []);
    flow.later(60_000).await;
    flow.ring().await;
    assert_eq!(flow.state_of(id).await, "overdue", "the new deadline passed as well");
    flow.call(id, "step_reengage", audited(json!({})), None, DESK).await.expect("taken up again");
    flow.later(5_000).await;
    flow.complete(id, json!({})).await.expect("completed");
    let row = flow.row_of(id).await;
    assert_eq!(row["overdue_first_at"], first);
    assert_eq!(
        (&row["completed_after_deadline"], &row["sla_breach_duration"]),
        (&json!(true), &json!("00:00:05"))
    );
    assert!(
        flow.told(id).await.contains("\"sla_breach_duration\": \"00:00:05\""),
        "in T8's event too"
    );
}

/// A deadline that was moved in time leaves no breach but the mark that it was overdue once.
#[tokio::test]
async fn a_recovered_step_completes_in_time() {
    let (flow, _, id) = in_progress(json!({ "deadline": "1 minute" })).await;
    flow.later(61_000).await;
    flow.ring().await;
    extend(&flow, id, "1 hour", "one", "late mail").await.expect("extended");
    flow.complete(id, json!({})).await.expect("completed");
    let row = flow.row_of(id).await;
    assert!(row["overdue_first_at"].is_string());
    assert_eq!(
        (&row["completed_after_deadline"], &row["sla_breach_duration"]),
        (&json!(false), &Value::Null)
    );
}

/// A deadline is moved forward only, with a reason, of work that is open, in a run that is; the same again changes nothing.
#[tokio::test]
async fn a_deadline_moves_forward_with_a_reason() {
    let (flow, run, id) = in_progress(json!({ "deadline": "1 hour" })).await;
    assert_eq!(
        flow.refuses(extend(&flow, id, "30 minutes", "a", "why")).await,
        ["RW016"],
        "earlier than before"
    );
    assert_eq!(flow.refuses(extend(&flow, id, "-1 hours", "a", "why")).await, ["RW016"]);
    assert_eq!(flow.refuses(extend(&flow, id, "2 hours", "a", " ")).await, ["RS027"]);
    let done = extend(&flow, id, "2 hours", "a", "why").await.expect("extended");
    assert!(!done.replayed);
    assert!(extend(&flow, id, "2 hours", "a", "why").await.expect("the same").replayed);
    assert_eq!(flow.refuses(extend(&flow, id, "3 hours", "a", "why")).await, ["RS012"]);
    assert_eq!(
        flow.number(&format!(
            "select count(*) from workflow.timer where run_id = '{id}' and timer_kind = 'deadline'"
        ))
        .await,
        1
    );
    flow.later(3_601_000).await;
    assert_eq!(flow.ring().await, [], "the old deadline does not ring");
    flow.cancel_run(run).await;
    assert_eq!(flow.refuses(extend(&flow, id, "5 hours", "b", "why")).await, ["RW006"]);

    let (flow, _, id) = in_progress(json!({ "deadline": "1 hour" })).await;
    flow.complete(id, json!({})).await.expect("completed");
    assert_eq!(flow.refuses(extend(&flow, id, "2 hours", "a", "why")).await, ["RW016"]);
    assert_eq!(
        flow.number(&format!("select count(*) from workflow.timer where run_id = '{id}'")).await,
        0
    );
}

/// A later deadline that was given before the step's turn stands when its turn comes.
#[tokio::test]
async fn a_deadline_given_ahead_stands() {
    let definition = workflow(
        "ahead",
        vec![human("a"), step("b", json!({ "deadline": "1 minute" })), human("c")],
        vec![way("a > b"), way("a > c")],
    );
    let (flow, run) = Flow::with(definition).await;
    let [b, c] = [flow.step(run, "b").await, flow.step(run, "c").await];
    for id in [b, c] {
        extend(&flow, id, "1 hour", "a", "known to be slow").await.expect("extended");
    }
    let [before_b, before_c] =
        [flow.row_of(b).await["deadline"].clone(), flow.row_of(c).await["deadline"].clone()];
    flow.do_step(run, "a", json!({})).await;
    assert_eq!(
        (flow.row_of(b).await["deadline"].clone(), flow.row_of(c).await["deadline"].clone()),
        (before_b, before_c)
    );
    flow.claimed(run, "b").await;
    flow.later(61_000).await;
    assert_eq!(flow.ring().await, []);
}

/// A waiting, blocked, ready or failed step past its deadline keeps its state and has the breach beside it; it is overdue when work on
/// it goes on.
#[tokio::test]
async fn what_is_not_in_progress_keeps_its_state() {
    for from in ["ready", "waiting", "blocked", "failed"] {
        let (flow, run) =
            Flow::with(single("auto", json!({ "deadline": "1 minute", "executor": "noop" }))).await;
        let id = flow.step(run, "work").await;
        if from != "ready" {
            let job = flow.working().await;
            match from {
                "waiting" => drop(
                    flow.wait_for(id, json!([{ "facet": "waiting_human", "of": "rita" }]))
                        .await
                        .expect("waits"),
                ),
                "blocked" => flow.block(id).await,
                _ => flow.report_failed(&job, "transient", "timeout").await,
            }
        }
        let before = flow.told(id).await;
        flow.later(61_000).await;
        let fired = flow.ring().await;
        assert_eq!(fired[0].done.as_deref(), Some("breach"), "{from}");
        assert_eq!(
            (flow.told(id).await, flow.state_of(id).await),
            (before, from.to_owned()),
            "no move"
        );
        let row = flow.row_of(id).await;
        assert!(row["overdue_first_at"].is_string());
        let shown: bool = flow
            .one(&format!(
                "select past_deadline from workflow.v_step_run where step_run_id = '{id}'"
            ))
            .await;
        assert!(shown);
        if from == "blocked" {
            flow.call(
                id,
                "blocker_resolved",
                audited(json!({ "resolution_ref": "R" })),
                None,
                DESK,
            )
            .await
            .expect("freed");
            flow.ring().await;
            assert_eq!(flow.state_of(id).await, "overdue");
            assert_eq!(flow.row_of(id).await["overdue_first_at"], row["overdue_first_at"]);
        }
    }
}

/// A step that stands for a sub-workflow follows that run, also past its deadline; that it was late stays.
#[tokio::test]
async fn a_late_sub_workflow_is_late_on_record() {
    let flow = Flow::new().await;
    flow.install(workflow("inner", vec![human("x")], vec![])).await;
    let run = flow
        .begun(workflow(
            "outer",
            vec![step("sub", json!({ "sub_workflow": "inner", "deadline": "1 minute" }))],
            vec![],
        ))
        .await;
    let id = flow.step(run, "sub").await;
    let inner: Uuid = flow
        .one(&format!(
            "select workflow_run_id from workflow.workflow_run where parent_step_run_id = '{id}'"
        ))
        .await;
    flow.later(61_000).await;
    flow.ring().await;
    assert_eq!(flow.state_of(id).await, "in_progress");
    flow.do_step(inner, "x", json!({})).await;
    let row = flow.row_of(id).await;
    assert_eq!(
        (&row["state_code"], &row["completed_after_deadline"]),
        (&json!("completed"), &json!(true))
    );
    assert!(flow.told(id).await.contains("\"completed_after_deadline\": true"));
}

/// Nothing nulls the breach: not by hand, by any login, owner or superuser; and no correction does.
#[tokio::test]
async fn nobody_takes_a_breach_back() {
    let (flow, _, id) = in_progress(json!({ "deadline": "1 minute" })).await;
    flow.later(61_000).await;
    flow.ring().await;
    flow.complete(id, json!({})).await.expect("completed");
    let before = flow.row_of(id).await;
    let mut found = Vec::new();
    for (role, steps) in [
        (Some(Role::App), &[][..]),
        (Some(Role::Migrator), &["set role chancery_owner"]),
        (Some(Role::Migrator), &["set role chancery_definer"]),
        (None, &["set role chancery_definer"]),
        (None, &["set session_replication_role = replica"]),
        (None, &[]),
    ] {
        let mut connection = match role {
            Some(role) => flow.db.connect(role).await,
            None => flow.db.superuser().await,
        };
        for step in steps {
            sqlx::Executor::execute(&mut connection, *step).await.expect("who may become it");
        }
        for change in [
            "overdue_first_at = null",
            "completed_after_deadline = false",
            "sla_breach_duration = null",
            "sla_breach_duration = interval '1 second'",
            "completed_at = now()",
            "completion_actor_id = 'dora'",
            "deadline = now() + interval '1 day'",
        ] {
            let statement =
                format!("update workflow.step_run set {change} where step_run_id = '{id}'");
            match attempt(&mut connection, &statement).await {
                Some(state) if is_refusal(&state) => {}
                other => found.push(format!("{role:?} {steps:?} {change}: {other:?}")),
            }
        }
    }
    assert_eq!(found, Vec::<String>::new());
    let approval = flow.approved("step_reopen", &id.to_string()).await;
    let reopened = audited(json!({ "approval_id": approval, "correction_reason": "data_error" }));
    flow.call(id, "step_reopen_for_correction", reopened, None, CHIEF).await.expect("reopened");
    flow.complete(id, json!({ "better": 1 })).await.expect("in time");
    let after = flow.row_of(id).await;
    for field in [
        "overdue_first_at",
        "completed_after_deadline",
        "sla_breach_duration",
        "completed_at",
        "completion_actor_id",
    ] {
        assert_eq!(before[field], after[field], "{field}");
    }
}
