//! What waits for its time costs a claim nothing.

use chancery_store::Role;
use serde_json::Value;
use sqlx::{AssertSqlSafe, Executor as _};

use crate::queue_world::{Yard, done};

const CLAIM: &str = "select count(*) from queue.fn_job_claim('noop', 10, 'w', 'hall')";

/// Blocks that a claim touches which also renews the lane's hint and looks for leases that ran out.
async fn blocks(yard: &Yard) -> i64 {
    let mut app = yard.db.connect(Role::App).await;
    // Some without looking: plans and catalogues are read on the way, and again when the clock is another function.
    for _ in 0..3 {
        app.execute(CLAIM).await.expect("a claim");
        yard.later(2_000).await;
    }
    let explain = format!("explain (analyze, buffers, format json) {CLAIM}");
    let plan: Value =
        sqlx::query_scalar(AssertSqlSafe(explain)).fetch_one(&mut app).await.expect("a plan");
    let plan = &plan[0]["Plan"];
    let of = |kind: &str| plan[format!("Shared {kind} Blocks")].as_i64().expect("blocks");
    of("Hit") + of("Read")
}

/// So many lists of 10,000 jobs, through the door.
async fn lists(yard: &Yard, name: &str, count: usize, delay_ms: i64) {
    let mut app = yard.db.connect(Role::App).await;
    for list in 0..count {
        let enqueue = format!(
            "select jsonb_array_length(queue.fn_job_enqueue((
                select jsonb_agg(jsonb_build_object('class', 'noop', 'kind', 'timer', 'key', '{name}{list}-' || n, 'delay_ms', {delay_ms} + sign({delay_ms}) * n * 10))
                  from generate_series(1, 10000) n), 'desk', 'pic_human') -> 'jobs')"
        );
        let taken: i32 =
            sqlx::query_scalar(AssertSqlSafe(enqueue)).fetch_one(&mut app).await.expect("jobs");
        assert_eq!(taken, 10_000);
    }
    yard.as_superuser("analyze queue.job_queue").await;
}

/// EVT-3: 100,000 jobs that wait for their time do not make a claim longer.
#[tokio::test]
async fn a_claim_does_not_scan_the_timers() {
    let yard = Yard::new().await;
    yard.stop_the_clock().await;
    for key in ["a", "b"] {
        yard.put(key).await;
    }
    let empty = blocks(&yard).await;
    lists(&yard, "t", 10, 3_600_000).await;
    for key in ["c", "d"] {
        yard.put(key).await;
    }
    let full = blocks(&yard).await;
    let size = "select relpages::bigint from pg_class where oid = 'queue.job_queue'::regclass";
    let pages: i64 = yard.one(size).await;
    assert!(pages > 2_000, "there is something to scan: {pages}");
    assert!(full < empty + 100, "{empty} blocks without timers, {full} with 100,000");
    assert_eq!(yard.db.count("queue.job_queue where state = 'leased'").await, 4);
    // And the first of them run when their time has come.
    yard.later(3_600_000 + 60_000).await;
    let due = yard.claim(100).await;
    assert_eq!(due.len(), 100);
    assert_eq!(yard.ack(&due.iter().map(done).collect::<Vec<_>>()).await.accepted, 100);
}

/// EVT-3: who looks for leases that ran out does not walk over everything that is due; and finds them in front of it.
#[tokio::test]
async fn a_deep_backlog_is_not_walked_over() {
    let yard = Yard::new().await;
    yard.stop_the_clock().await;
    let lost = yard.put("lost").await;
    assert_eq!(yard.claim(1).await.len(), 1);
    lists(&yard, "j", 2, 0).await;
    let few = blocks(&yard).await;
    lists(&yard, "k", 4, 0).await;
    let many = blocks(&yard).await;
    assert!(many * 10 < few * 13, "{few} blocks with 20,000 jobs due, {many} with 60,000");
    yard.later(31_000).await;
    yard.claim(1).await;
    assert_eq!(yard.state(lost).await, "retry_waiting");
}
