//! What a call reads does not grow with what was there before, whatever statistics say: counted in rows, so that no clock decides.

use chancery_store::Role;
use chancery_store::consumer::{RELAY, Registration};
use chancery_testkit::TestDb;
use sqlx::AssertSqlSafe;
use uuid::Uuid;

use crate::outbox::{meters, new_meter, tick};
use crate::session::{Isolation, Session, Watch};

const RUNS: usize = 400;
const ROUNDS: usize = 12;
const EVENTS: usize = RUNS * (1 + ROUNDS);
const PAGE: i64 = 50;

/// Planned for the values at hand, and planned for any: a session goes from the one to the other by itself.
const PLANS: [&str; 2] = ["force_custom_plan", "force_generic_plan"];

/// Many runs that have moved often since statistics were taken, which was when each had been born and no more: every index looks as if
/// the run alone found the row, and every table looks a tenth of its size.
async fn moved_since_statistics() -> (TestDb, Vec<Uuid>) {
    let (db, store, runs) = meters(RUNS).await;
    while store.fn_sequence_events(10_000).await.expect("a pass").more {}
    let mut admin = db.superuser().await;
    sqlx::raw_sql("vacuum analyze").execute(&mut admin).await.expect("statistics");
    for _ in 0..ROUNDS {
        for some in runs.chunks(100) {
            let moves: Vec<_> = some.iter().map(|run| tick(*run)).collect();
            let reports = store.fn_state_transition_apply_batch(&moves).await.expect("verdicts");
            assert!(reports.iter().all(|report| report.seq.is_some()), "{reports:?}");
        }
    }
    while store.fn_sequence_events(10_000).await.expect("a pass").more {}
    (db, runs)
}

impl Session {
    /// Rows of runs, of the log and of the events that this session's transaction has read so far.
    async fn rows_read(&mut self) -> i64 {
        sqlx::query_scalar(
            "select coalesce(sum(seq_tup_read + coalesce(idx_tup_fetch, 0)), 0)::bigint from pg_stat_xact_user_tables
              where schemaname in ('fsm', 'event')
                and relname ~ '^(run$|transition_log|event_outbox|event_position|event_sequenced)'",
        )
        .fetch_one(&mut self.connection)
        .await
        .expect("what was read")
    }
}

/// Rows that are looked at again, because a transaction of another test is older than they are: an event and its mark each.
async fn again(watch: &Watch) -> i64 {
    let looked_at_again = "select 2 * count(*) from event.event_outbox o, event.sequencer_cursor c, event.event_sequenced s
                            where o.xid >= pg_snapshot_xmin(c.seen_snapshot) and s.event_id = o.event_id";
    watch.count(looked_at_again).await
}

/// FSM-6: a move finds the head of its run and asks for its key without reading the history of the run, also when statistics say that a
/// run has one row in the log, as after many births. Two indexes of the log begin with the run; the smaller one is the wrong one.
#[tokio::test]
async fn a_move_does_not_read_the_history_of_its_run() {
    let (db, store, runs) = meters(1).await;
    let mut admin = db.superuser().await;
    for statement in [
        "set session_replication_role = replica",
        "alter table fsm.transition_log disable trigger user",
        "insert into fsm.transition_log (run_id, seq, log_id, run_kind, state_machine_id, transition_id, to_state, principal, actor_class,
           trigger_kind, trigger_ref, evidence, idempotency_key, at, hash)
         select gen_random_uuid(), 1, gen_random_uuid(), 'custom', 'meter@1.0.0', 'begin', 'running', 'writer', 'executor_worker',
                'rpc', 'meter_begin', '{}', gen_random_uuid()::text, now(), 'h'
           from generate_series(1, 30000)",
        "vacuum analyze fsm.transition_log",
        "alter table fsm.transition_log enable trigger user",
    ] {
        sqlx::raw_sql(statement).execute(&mut admin).await.expect(statement);
    }
    for _ in 0..4 {
        let moves: Vec<_> = (0..50).map(|_| tick(runs[0])).collect();
        let reports = store.fn_state_transition_apply_batch(&moves).await.expect("verdicts");
        assert!(reports.iter().all(|report| report.seq.is_some()), "{reports:?}");
    }
    for plans in PLANS {
        let mut session = Session::open(&db, Role::App).await;
        session.run(&format!("set plan_cache_mode = {plans}")).await.expect("a setting");
        session.begin(Isolation::ReadCommitted).await;
        let before = session.rows_read().await;
        session.apply(&tick(runs[0])).await.expect("ticked");
        session.run("set constraints all immediate").await.expect("the state is the log's");
        let read = session.rows_read().await - before;
        assert!((1..=3).contains(&read), "{plans}: {read} rows for one move");
        session.rollback().await;
    }
}

/// FSM-6: what a batch reads is some rows a move, also in a session that made its plans when there was next to nothing.
#[tokio::test]
async fn a_batch_reads_a_few_rows_a_move() {
    let (db, store, runs) = meters(1).await;
    let mut admin = db.superuser().await;
    sqlx::raw_sql("vacuum analyze").execute(&mut admin).await.expect("statistics");
    let mut sessions = Vec::new();
    for plans in PLANS {
        let mut session = Session::open(&db, Role::App).await;
        session.run(&format!("set plan_cache_mode = {plans}")).await.expect("a setting");
        for _ in 0..8 {
            session.batch(&[tick(runs[0])]).await.expect("ticked");
        }
        sessions.push((plans, session));
    }
    let mut runs = Vec::new();
    for _ in 0..RUNS {
        runs.push(store.fn_run_start(&new_meter()).await.expect("a meter").run_id);
    }
    for (plans, mut session) in sessions {
        for size in [1, 50, RUNS] {
            let moves: Vec<_> = runs[..size].iter().map(|run| tick(*run)).collect();
            session.begin(Isolation::ReadCommitted).await;
            let before = session.rows_read().await;
            let reports = session.batch(&moves).await.expect("verdicts");
            assert!(reports.iter().all(|report| report.ok), "{reports:?}");
            let read = session.rows_read().await - before;
            // Its run looked at, locked and written.
            let size = i64::try_from(size).expect("not that many");
            assert!((3 * size..=4 * size).contains(&read), "{plans}: {read} rows for {size} moves");
            session.rollback().await;
        }
    }
}

/// EVT-2, EVT-7: a page of events is read by position alone, at the beginning, in the middle and at the end of all there are; and a pass
/// of the sequencer reads what is new.
#[tokio::test]
async fn a_page_of_events_reads_its_own_rows() {
    let (db, runs) = moved_since_statistics().await;
    let store = db.store(Role::App);
    let watch = Watch::new(&db);
    let relay = Registration {
        consumer: "far",
        kind: RELAY,
        target: "nats:A:a",
        description: "for a test",
        principal: "writer",
        actor_class: "executor_worker",
    };
    store.fn_consumer_register(&relay).await.expect("a relay");
    let events = i64::try_from(EVENTS).expect("not that many");
    for plans in PLANS {
        let mut session = Session::open(&db, Role::App).await;
        session.run(&format!("set plan_cache_mode = {plans}")).await.expect("a setting");
        for after in [0, events / 2, events - PAGE] {
            for page in [
                format!("select count(*) from event.fn_events_after({after}, {PAGE})"),
                format!("select count(*) from event.fn_consumer_read('far', {PAGE}, {after})"),
                format!(
                    "select jsonb_array_length(event.fn_feed({after}, {PAGE}) -> 'events')::bigint"
                ),
                format!(
                    "select count(cloudevent) from event.v_event where position > {after} and position <= {after} + {PAGE}"
                ),
            ] {
                session.begin(Isolation::ReadCommitted).await;
                let before = session.rows_read().await;
                let told: i64 = sqlx::query_scalar(AssertSqlSafe(page.clone()))
                    .fetch_one(&mut session.connection)
                    .await
                    .expect("a page");
                assert_eq!(told, PAGE, "{page}");
                let read = session.rows_read().await - before;
                // A position, an event and a log row each; and a few to find where the page begins.
                let most = 3 * PAGE + 10 + again(&watch).await;
                assert!((3 * PAGE..=most).contains(&read), "{plans}: {read} rows for {page}");
                session.rollback().await;
            }
        }
        for run in &runs[..10] {
            store.fn_state_transition_apply(&tick(*run)).await.expect("ticked");
        }
        session.begin(Isolation::ReadCommitted).await;
        let old = again(&watch).await;
        let before = session.rows_read().await;
        session.run("select event.fn_sequence_events(10000)").await.expect("a pass");
        let read = session.rows_read().await - before;
        assert!((10..=40 + old).contains(&read), "{plans}: {read} rows for ten new events");
        session.commit().await.expect("they have positions");
    }
}
