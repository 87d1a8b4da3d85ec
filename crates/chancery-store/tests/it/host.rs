//! EVT-4: who leads a loop is decided by the database and its time.

use chancery_model::refusal::Code::{RE019, RI001, RI003};
use chancery_store::{LOGINS, Role};
use chancery_testkit::TestDb;
use sqlx::{AssertSqlSafe, Executor as _};

use crate::support::codes;

/// Sets the database's clock so many seconds ahead.
async fn ahead(db: &TestDb, seconds: u32) {
    let clock = format!(
        "create or replace function internal.now() returns timestamptz language sql
         as 'select clock_timestamp() + interval ''{seconds} seconds'''"
    );
    db.superuser().await.execute(AssertSqlSafe(clock)).await.expect("the clock is one function");
}

/// One leads; the next one when its time is over or it gives up.
#[tokio::test]
async fn a_loop_has_one_leader_until_its_time_is_over() {
    let db = TestDb::new().await;
    let store = db.store(Role::App);
    let ask = async |holder: &str, seconds| {
        store.fn_loop_lease("sequencer", holder, seconds, "chancery").await.expect("an answer")
    };
    assert!(ask("a", 60).await.held);
    let second = ask("b", 60).await;
    assert_eq!((second.held, second.holder.as_deref()), (false, Some("a")));
    assert!(ask("a", 60).await.held, "the leader goes on");
    ahead(&db, 59).await;
    assert!(!ask("b", 60).await.held, "its time is not over");
    ahead(&db, 61).await;
    assert!(ask("b", 60).await.held, "a leader that says nothing is replaced");
    let late = ask("a", 60).await;
    assert_eq!((late.held, late.holder.as_deref()), (false, Some("b")));

    assert!(!ask("a", 0).await.held, "who does not lead has nothing to give up");
    assert!(!ask("a", 60).await.held);
    assert!(!ask("b", 0).await.held);
    assert!(ask("a", 60).await.held, "given up is free at once");
    let other = store.fn_loop_lease("partitions", "b", 60, "chancery").await.expect("an answer");
    assert!(other.held, "each loop has its own leader");
}

/// Of a crowd that asks at once, one leads.
#[tokio::test]
async fn a_crowd_gets_one_leader() {
    let db = TestDb::new().await;
    let store = db.store(Role::App);
    let mut crowd = tokio::task::JoinSet::new();
    for n in 0..16 {
        let store = store.clone();
        crowd.spawn(async move {
            let holder = format!("host:{n}");
            store.fn_loop_lease("sequencer", &holder, 60, "chancery").await.expect("an answer")
        });
    }
    let leases = crowd.join_all().await;
    assert_eq!(leases.iter().filter(|lease| lease.held).count(), 1, "{leases:?}");
}

/// Names and times that make no sense are refused, and so is whoever may not lead.
#[tokio::test]
async fn a_lease_of_nonsense_is_refused() {
    let db = TestDb::new().await;
    let store = db.store(Role::App);
    for (name, holder, seconds) in [
        ("", "a", 1),
        ("Sequencer", "a", 1),
        ("sequencer", "", 1),
        ("sequencer", "a b", 1),
        ("sequencer", "a", -1),
        ("sequencer", "a", 3601),
    ] {
        let refused = store.fn_loop_lease(name, holder, seconds, "chancery").await;
        assert_eq!(codes(refused), [RE019], "{name} {holder} {seconds}");
    }
    db.service("worker", &["executor_worker"]).await;
    for (principal, code) in [("nobody", RI001), ("worker", RI003)] {
        let refused = store.fn_loop_lease("sequencer", "a", 1, principal).await;
        assert_eq!(codes(refused), [code]);
        let refused = store.fn_leases_expire(principal).await;
        assert_eq!(codes(refused), [code]);
        let refused = store.fn_partitions_prepare(principal).await;
        assert_eq!(codes(refused), [code]);
    }
    for &role in LOGINS.iter().filter(|role| **role != Role::App) {
        let denied = db.store(role).fn_loop_lease("sequencer", "a", 1, "chancery").await;
        assert!(denied.is_err_and(|error| error.refusal().is_none()), "{}", role.name());
    }
    assert_eq!(db.text("select count(*)::text from queue.loop_lease").await, "0");
}
