//! What waits for its time costs a claim nothing.

use chancery_store::Role;
use serde_json::Value;
use sqlx::{AssertSqlSafe, Executor as _};

use crate::queue_world::{Yard, done};

/// Blocks that a statement touched, its functions included.
async fn blocks(yard: &Yard, statement: &str) -> i64 {
    let mut app = yard.db.connect(Role::App).await;
    // Once without looking: plans and catalogues are read on the way.
    app.execute(AssertSqlSafe(statement.to_owned())).await.expect("a claim");
    let explain = format!("explain (analyze, buffers, format json) {statement}");
    let plan: Value =
        sqlx::query_scalar(AssertSqlSafe(explain)).fetch_one(&mut app).await.expect("a plan");
    let plan = &plan[0]["Plan"];
    ["Shared Hit Blocks", "Shared Read Blocks"]
        .iter()
        .map(|k| plan[*k].as_i64().expect("blocks"))
        .sum()
}

/// EVT-3: 100,000 jobs that wait for their time do not make a claim longer.
#[tokio::test]
async fn a_claim_does_not_scan_the_timers() {
    let yard = Yard::new().await;
    let claim = "select count(*) from queue.fn_job_claim('noop', 10, 'w', 'hall')";
    for key in ["a", "b"] {
        yard.put(key).await;
    }
    let empty = blocks(&yard, claim).await;
    // Through the door in lists, by a loop on the server: 100,000 requests in one call are refused.
    let mut app = yard.db.connect(Role::App).await;
    for list in 0..10 {
        let enqueue = format!(
            "select jsonb_array_length(queue.fn_job_enqueue((
                select jsonb_agg(jsonb_build_object('class', 'noop', 'kind', 'timer', 'key', 't{list}-' || n, 'delay_ms', 3600000 + n * 10))
                  from generate_series(1, 10000) n), 'desk', 'pic_human') -> 'jobs')"
        );
        let taken: i32 =
            sqlx::query_scalar(AssertSqlSafe(enqueue)).fetch_one(&mut app).await.expect("timers");
        assert_eq!(taken, 10_000);
    }
    yard.admin.execute("analyze queue.job_queue").await.expect("statistics");
    for key in ["c", "d"] {
        yard.put(key).await;
    }
    let full = blocks(&yard, claim).await;
    let pages: i64 = yard
        .one("select relpages::bigint from pg_class where oid = 'queue.job_queue'::regclass")
        .await;
    assert!(pages > 2_000, "there is something to scan: {pages}");
    assert!(full < empty + 60, "{empty} blocks without timers, {full} with 100,000");
    assert_eq!(yard.db.count("queue.job_queue where state = 'leased'").await, 4);
    // And the first of them runs when its time has come.
    yard.stop_the_clock().await;
    yard.later(3_600_000 + 60_000).await;
    let due = yard.claim(100).await;
    assert_eq!(due.len(), 100);
    assert_eq!(yard.ack(&due.iter().map(done).collect::<Vec<_>>()).await.accepted, 100);
}
