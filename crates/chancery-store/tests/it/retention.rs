//! Old partitions go, and nothing that is still needed goes with them (issue of retention; EVT-2, EVT-3).

use chancery_engine::event::sequence_now;
use chancery_store::consumer::Registration;
use chancery_store::event::Retained;
use chancery_store::queue::{JobOutcome, JobResult, NewJob};
use chancery_store::{LOGINS, Role, Store};
use chancery_testkit::{TestDb, shipped};
use serde_json::json;
use sqlx::{AssertSqlSafe, Connection as _, Executor as _};

use crate::outbox::{delivered, meters, tick};

/// Days later, as far as the rules can tell.
async fn after(db: &TestDb, days: u32) {
    let mut admin = db.superuser().await;
    let sql = format!(
        "create or replace function internal.now() returns timestamptz language sql volatile parallel safe
         as $$ select clock_timestamp() + interval '{days} days' $$"
    );
    admin.execute(AssertSqlSafe(sql)).await.expect("another time");
    admin.close().await.expect("the superuser leaves");
}

/// Today's partition of a table, while it is there.
async fn partition(db: &TestDb, table: &str) -> String {
    db.text(&format!(
        "select c.oid::regclass::text from pg_class c
          where c.oid = to_regclass('{table}_' || to_char(clock_timestamp() at time zone 'UTC', 'YYYYMMDD'))"
    ))
    .await
}

/// A pass over everything, and what it did to events.
async fn pass(store: &Store) -> Retained {
    let mut pass = store.fn_retention_apply().await.expect("a pass");
    pass.dropped.retain(|partition| partition.starts_with("event.event_"));
    pass
}

/// Some events, all with positions.
async fn told() -> (TestDb, Store) {
    let (db, store, runs) = meters(3).await;
    for run in runs {
        store.fn_state_transition_apply(&tick(run)).await.expect("a tick");
    }
    sequence_now(&store).await.expect("positions");
    (db, store)
}

async fn relay(store: &Store) {
    let registration = Registration {
        consumer: "far",
        kind: "relay",
        target: "nats:FAR",
        description: "A consumer that is away.",
        principal: "writer",
        actor_class: "executor_worker",
    };
    store.fn_consumer_register(&registration).await.expect("a consumer");
}

#[tokio::test]
async fn old_events_go_by_the_day_and_the_log_stays() {
    let (db, store) = told().await;
    assert_eq!(delivered(&store).await.len(), 6);
    let before = pass(&store).await;
    assert!(before.dropped.is_empty() && before.kept.is_empty(), "{before:?}");

    let outbox = partition(&db, "event.event_outbox").await;
    let sequenced = partition(&db, "event.event_sequenced").await;
    let log = db.count("fsm.transition_log").await;
    after(&db, 31).await;
    let done = pass(&store).await;
    assert_eq!(done.dropped, [outbox, sequenced], "the events first, then what knows of them");
    assert_eq!(done.kept, []);
    assert_eq!(db.count("event.event_outbox").await, 0);
    assert_eq!(db.count("fsm.transition_log").await, log, "evidence is never dropped");

    // What comes afterwards goes on behind the last position, and nothing is told a second time.
    let meter = store.fn_run_start(&crate::outbox::new_meter()).await.expect("a meter").run_id;
    let positions = store.fn_sequence_events(100).await.expect("positions");
    assert_eq!((positions.stamped, positions.last_position), (1, 7));
    let events = store.fn_events_after(0, 100).await.expect("events");
    assert_eq!(events.len(), 1);
    assert_eq!(events[0].cloudevent["subject"], json!(meter));
    let again = pass(&store).await;
    assert!(again.dropped.is_empty(), "{again:?}");
}

#[tokio::test]
async fn events_wait_for_positions_and_for_consumers_but_not_for_ever() {
    let (db, store, runs) = meters(1).await;
    after(&db, 31).await;
    let done = pass(&store).await;
    assert!(done.dropped.is_empty(), "{done:?}");
    assert!(done.kept.iter().any(|kept| kept.why == "events without a position"), "{done:?}");

    after(&db, 0).await;
    sequence_now(&store).await.expect("positions");
    relay(&store).await;
    after(&db, 31).await;
    let done = pass(&store).await;
    assert!(done.dropped.is_empty(), "{done:?}");
    assert!(done.kept.iter().any(|kept| kept.why == "not yet had by far"), "{done:?}");
    assert_eq!(db.count("event.event_outbox").await, 1, "of {runs:?}");

    after(&db, 91).await;
    let done = pass(&store).await;
    assert_eq!(db.count("event.event_outbox").await, 0, "{done:?}");
    let refused = store.fn_consumer_read("far", 10, None).await.expect_err("it was outrun");
    assert_eq!(refused.refusal().expect("a refusal").code.as_str(), "RE034");
}

/// A reader that stays holds up the drop, never the writers.
#[tokio::test]
async fn a_partition_in_use_is_left_for_another_time() {
    let (db, store) = told().await;
    let outbox = partition(&db, "event.event_outbox").await;
    let mut reader = db.connect(Role::Auditor).await;
    let mut reading = reader.begin().await.expect("a transaction");
    reading.execute("select count(*) from event.v_event").await.expect("a look");
    after(&db, 31).await;
    let done = pass(&store).await;
    assert!(done.dropped.is_empty(), "{done:?}");
    assert!(
        done.kept.iter().any(|kept| kept.partition == outbox && kept.why == "in use"),
        "{done:?}"
    );
    store.fn_run_start(&crate::outbox::new_meter()).await.expect("writers go on");
    reading.rollback().await.expect("the reader ends");
    let done = pass(&store).await;
    assert!(done.dropped.contains(&outbox), "{done:?}");
}

#[tokio::test]
async fn finished_jobs_go_by_the_day_and_live_ones_stay() {
    let db = TestDb::new().await;
    for machine in shipped().iter().filter(|machine| machine.machine == "job") {
        db.definition(machine).await;
    }
    let store = db.store(Role::App);
    let job = |key: &str| NewJob {
        class: "noop".to_owned(),
        kind: "trial".to_owned(),
        key: key.to_owned(),
        ..NewJob::default()
    };
    let jobs = [job("done"), job("waiting")];
    store.fn_job_enqueue(&jobs, "chancery", "system").await.expect("two jobs");
    let leased = store.fn_job_claim("noop", 1, "w1", "chancery").await.expect("a lease");
    let result = JobResult {
        job_id: leased[0].job_id,
        lease_no: leased[0].lease_no,
        outcome: JobOutcome::Succeeded,
        detail: json!({}),
    };
    assert_eq!(store.fn_job_ack("w1", "chancery", &[result]).await.expect("a report").accepted, 1);
    let finished = partition(&db, "queue.job_finished").await;
    assert_eq!(db.count("queue.job_finished").await, 1);
    let dropped = async || {
        let pass = store.fn_retention_apply().await.expect("a pass");
        let of_jobs = |partition: &String| partition.starts_with("queue.job_finished");
        pass.dropped.into_iter().filter(of_jobs).collect::<Vec<_>>()
    };
    after(&db, 13).await;
    assert_eq!(dropped().await, Vec::<String>::new());
    after(&db, 15).await;
    assert_eq!(dropped().await, [finished]);
    assert_eq!((db.count("queue.job_finished").await, db.count("queue.job_queue").await), (0, 1));
    assert_eq!(store.job(leased[0].job_id).await.expect("an answer"), None);
}

/// SEC-3: no login drops a partition by hand, and no table of evidence is in the list of what may be dropped.
#[tokio::test]
async fn nobody_else_drops() {
    let (db, _) = told().await;
    let outbox = partition(&db, "event.event_outbox").await;
    for login in LOGINS {
        let mut connection = db.connect(*login).await;
        for sql in [
            format!("drop table {outbox}"),
            format!("alter table event.event_outbox detach partition {outbox}"),
            "delete from config.partitioned_table".to_owned(),
            "update config.dot_config set value = '0' where key like 'retention.%'".to_owned(),
        ] {
            let denied = connection.execute(AssertSqlSafe(sql.clone())).await;
            let error = denied.expect_err(&sql);
            let code = error.as_database_error().and_then(|e| e.code().map(|c| c.into_owned()));
            assert_eq!(code.as_deref(), Some("42501"), "{}: {sql}: {error}", login.name());
        }
    }
    assert_eq!(
        db.text("select count(*)::text from config.partitioned_table t join audit.evidence_def e using (table_name)").await,
        "0"
    );
}
