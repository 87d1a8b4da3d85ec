//! RUN-8: one timer service. Decided by the clock of the database, found by an index however many wait, fired once, safe against a
//! restart: what has to happen is a row.

use std::time::Instant;

use chancery_store::Role;
use serde_json::json;
use uuid::Uuid;

use crate::flow_moves::in_progress;
use crate::flow_world::{Flow, LOOPS, human, step, workflow};

/// 100,000 timers wait, and the few that have rung are found without reading the others.
#[tokio::test]
#[expect(clippy::print_stdout, reason = "how long it took")]
async fn a_hundred_thousand_timers_are_not_scanned() {
    let (flow, run, id) = in_progress(json!({ "deadline": "1 minute" })).await;
    let many = format!(
        "insert into workflow.timer (timer_id, due_at, timer_kind, run_kind, run_id, workflow_run_id)
         select gen_random_uuid(), internal.now() + interval '1 day' + n * interval '1 second', 'deadline', 'step', gen_random_uuid(), '{run}'
           from generate_series(1, 100000) n"
    );
    flow.db.forge(&[&many]).await;
    flow.as_superuser("analyze workflow.timer").await;
    flow.later(61_000).await;
    // Asked through the door, on one connection whose own counts are looked at.
    let read = "select coalesce(sum(seq_tup_read + idx_tup_fetch), 0)::bigint from pg_stat_xact_all_tables where relid = 'workflow.timer'::regclass";
    let mut app = flow.db.connect(Role::App).await;
    sqlx::query("begin").execute(&mut app).await.expect("begun");
    let began = Instant::now();
    let due: Vec<Uuid> = sqlx::query_scalar("select workflow.fn_timer_due(100, 'chancery')")
        .fetch_one(&mut app)
        .await
        .expect("due");
    println!("100,000 timers: asked in {:?}", began.elapsed());
    let rows: i64 = sqlx::query_scalar(read).fetch_one(&mut app).await.expect("counts");
    sqlx::query("rollback").execute(&mut app).await.expect("over");
    assert_eq!(due.len(), 1);
    assert!(rows <= 10, "{rows} rows of 100,001 were read");
    let fired = flow.store.fn_timer_fire(due[0], LOOPS).await.expect("fired");
    assert_eq!((fired.fired, fired.done.as_deref()), (true, Some("overdue")));
    assert_eq!(flow.state_of(id).await, "overdue");
}

/// Two replicas fire the same timers at once: each happens once.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_timer_fires_once() {
    let flow = Flow::new().await;
    let steps: Vec<_> =
        (0..10).map(|n| step(&format!("s{n}"), json!({ "deadline": "1 minute" }))).collect();
    let mut definition = workflow("many", steps, vec![]);
    definition["start"] = (0..10).map(|n| format!("s{n}")).collect();
    let run = flow.begun(definition).await;
    for n in 0..10 {
        flow.claimed(run, &format!("s{n}")).await;
    }
    flow.later(61_000).await;
    let due = flow.store.fn_timer_due(100, LOOPS).await.expect("due");
    assert_eq!(due.len(), 10);
    let replicas: Vec<_> = (0..4)
        .map(|_| {
            let (store, due) = (flow.db.store(Role::App), due.clone());
            tokio::spawn(async move {
                let mut fired = 0;
                for timer in due {
                    fired += i32::from(
                        store.fn_timer_fire(timer, LOOPS).await.expect("an answer").fired,
                    );
                }
                fired
            })
        })
        .collect();
    let mut fired = 0;
    for replica in replicas {
        fired += replica.await.expect("a replica");
    }
    assert_eq!(fired, 10);
    assert_eq!(
        flow.number("select count(*) from fsm.transition_log where transition_id like '%#T5:%'")
            .await,
        10
    );
    assert_eq!(flow.store.fn_timer_due(100, LOOPS).await.expect("due"), Vec::<Uuid>::new());
}

/// A replica that asked and died before it fired: the timer is still there. One that fired is not; one that was moved does nothing.
#[tokio::test]
async fn a_timer_outlives_who_asked_for_it() {
    let (flow, _, id) = in_progress(json!({ "deadline": "1 minute" })).await;
    flow.later(61_000).await;
    let due = flow.store.fn_timer_due(100, LOOPS).await.expect("due");
    // Somebody fires it in a transaction that never commits.
    let mut app = flow.db.connect(Role::App).await;
    for statement in [
        "begin".to_owned(),
        format!("select workflow.fn_timer_fire('{}', 'chancery')", due[0]),
        "rollback".to_owned(),
    ] {
        sqlx::Executor::execute(&mut app, sqlx::AssertSqlSafe(statement)).await.expect("done");
    }
    assert_eq!(flow.state_of(id).await, "in_progress");
    assert_eq!(flow.db.store(Role::App).fn_timer_due(100, LOOPS).await.expect("due"), due);
    assert!(flow.store.fn_timer_fire(due[0], LOOPS).await.expect("fired").fired);
    assert!(
        !flow.unchanged(flow.store.fn_timer_fire(due[0], LOOPS)).await.expect("an answer").fired
    );
    assert!(
        !flow
            .unchanged(flow.store.fn_timer_fire(Uuid::now_v7(), LOOPS))
            .await
            .expect("an answer")
            .fired
    );
}

/// Not before its time, and not by anybody but the loops.
#[tokio::test]
async fn a_timer_is_the_clocks() {
    let (flow, _, id) = in_progress(json!({ "deadline": "1 minute" })).await;
    let timer: Uuid =
        flow.one(&format!("select timer_id from workflow.timer where run_id = '{id}'")).await;
    assert!(
        !flow.unchanged(flow.store.fn_timer_fire(timer, LOOPS)).await.expect("an answer").fired
    );
    assert_eq!(flow.refuses(flow.store.fn_timer_fire(timer, "desk")).await, ["RI003"]);
    assert_eq!(flow.refuses(flow.store.fn_timer_due(1, "desk")).await, ["RI003"]);
    assert_eq!(flow.refuses(flow.store.fn_mow_next(1, "desk")).await, ["RI003"]);
}

/// A timer whose deed fails rings again later, with a finding; the others do not wait for it.
#[tokio::test]
async fn a_timer_that_fails_is_put_off() {
    let flow = Flow::new().await;
    let path = chancery_testkit::repo_path("machines/finding.yaml");
    flow.db.machine(&std::fs::read_to_string(path).expect("a shipped machine")).await;
    let mut definition =
        workflow("one", vec![step("work", json!({ "deadline": "1 minute" })), human("b")], vec![]);
    definition["start"] = json!(["work", "b"]);
    let run = flow.begun(definition).await;
    let id = flow.claimed(run, "work").await;
    flow.later(61_000).await;
    let due = flow.store.fn_timer_due(1, LOOPS).await.expect("due");
    flow.store.fn_timer_defer(due[0], "no connection", LOOPS).await.expect("put off");
    assert_eq!(flow.store.fn_timer_due(1, LOOPS).await.expect("due"), Vec::<Uuid>::new());
    flow.later(1_000).await;
    flow.ring().await;
    assert_eq!(flow.state_of(id).await, "overdue");
}
