//! Every committed event gets one position, whatever its writers, its sequencers and its servers go through (EVT-2, E8).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use chancery_engine::event::sequence_now;
use chancery_store::fsm::{Move, Start};
use chancery_store::{Error, Role, Store};
use chancery_testkit::{TestDb, slice};
use rand::rngs::StdRng;
use rand::seq::SliceRandom as _;
use rand::{Rng as _, SeedableRng as _};
use serde_json::json;
use uuid::Uuid;

use crate::session::{Isolation, Session, Watch};
use crate::support::{a_move, birth};

/// A machine whose every move is an event, and can always be made again.
pub(crate) const METER: &str = r#"
machine: meter
scope: custom
version: 1.0.0
description: A meter that ticks.
events:
  - { type: meter.started, description: A meter was put up. }
  - { type: meter.ticked, description: A meter moved on. }
guards: []
states:
  - { code: running, class: active, initial: true, color: ui.traffic_light.gray, icon: icon.circle_hollow, label: { en: Running, vi: Chạy }, message: { en: runs, vi: chạy } }
  - { code: stopped, class: terminal, terminal: true, color: ui.traffic_light.gray, icon: icon.circle_hollow, label: { en: Stopped, vi: Dừng }, message: { en: stands, vi: dừng } }
transitions:
  - { id: begin, from: "∅", to: running, actors: [executor_worker], trigger: { kind: rpc, ref: meter_begin }, event: meter.started }
  - { id: tick, from: running, to: running, actors: [executor_worker], trigger: { kind: timer, ref: meter_tick }, event: meter.ticked }
  - { id: stop, from: running, to: stopped, actors: [executor_worker], trigger: { kind: rpc, ref: meter_stop } }
"#;

pub(crate) async fn meters(count: usize) -> (TestDb, Store, Vec<Uuid>) {
    let db = TestDb::new().await;
    db.service("writer", &["executor_worker"]).await;
    db.machine(METER).await;
    let store = db.store(Role::App);
    let mut runs = Vec::new();
    for _ in 0..count {
        runs.push(store.fn_run_start(&new_meter()).await.expect("a meter").run_id);
    }
    (db, store, runs)
}

pub(crate) fn new_meter() -> Start {
    Start { trigger_ref: "meter_begin".to_owned(), ..birth("meter", json!({})) }
}

pub(crate) fn tick(run: Uuid) -> Move {
    a_move(run, "running", "writer", "executor_worker", "timer:meter_tick", json!({}))
}

/// An event by what it tells of: the run and the number of its move.
pub(crate) type Told = (Uuid, i64);

/// Everything with a position, in its order. Fails when positions are not dense, an event stands twice, or a run's events
/// stand in another order than its moves.
pub(crate) async fn delivered(store: &Store) -> Vec<Told> {
    let mut told: Vec<Told> = Vec::new();
    loop {
        let page = store
            .fn_events_after(i64::try_from(told.len()).expect("not that many"), 1_000)
            .await
            .expect("a page");
        if page.is_empty() {
            break;
        }
        for event in page {
            assert_eq!(
                event.position,
                Some(i64::try_from(told.len() + 1).expect("not that many")),
                "positions are dense"
            );
            let data = &event.cloudevent["data"];
            let run = data["run_id"].as_str().and_then(|id| id.parse().ok()).expect("a run");
            told.push((run, data["seq"].as_i64().expect("a number")));
        }
    }
    let mut last: BTreeMap<Uuid, i64> = BTreeMap::new();
    for (run, seq) in &told {
        let before = last.insert(*run, *seq).unwrap_or(0);
        assert!(*seq > before, "run {run}: move {seq} is told after move {before}");
    }
    told
}

/// E8: a reader that goes by the outbox's own numbers loses what commits late; positions lose nothing.
#[tokio::test]
async fn what_commits_late_is_not_skipped() {
    let (db, store, runs) = meters(2).await;
    sequence_now(&store).await.expect("positions");
    let watch = Watch::new(&db);
    let newest = "select coalesce(max(outbox_id), 0) from event.event_outbox";
    let behind = async |last: i64| -> i64 {
        sqlx::query_scalar("select count(*) from event.event_outbox where outbox_id > $1")
            .bind(last)
            .fetch_one(&watch.pool)
            .await
            .expect("a count")
    };
    let start = watch.count(newest).await;
    let mut late = Session::open(&db, Role::App).await;
    late.begin(Isolation::ReadCommitted).await;
    late.apply(&tick(runs[0])).await.expect("written first");
    store.fn_state_transition_apply(&tick(runs[1])).await.expect("written and committed second");

    let naive_first = behind(start).await;
    let naive_cursor = watch.count(newest).await;
    let first = store.fn_sequence_events(100).await.expect("a pass");
    assert_eq!((naive_first, first.stamped), (1, 1), "both readers see the one that is committed");
    late.commit().await.expect("committed last");

    let second = store.fn_sequence_events(100).await.expect("a pass");
    assert_eq!(behind(naive_cursor).await, 0, "a reader by number has passed the late one");
    assert_eq!(second.stamped, 1, "the sequencer has not");
    let told = delivered(&store).await;
    assert_eq!(told[2..], [(runs[1], 2), (runs[0], 2)]);
}

/// EVT-2: an old transaction that stays open keeps nobody else's events back.
#[tokio::test]
async fn an_open_transaction_delays_only_its_own_events() {
    let (db, store, runs) = meters(3).await;
    sequence_now(&store).await.expect("positions");
    let mut old = Session::open(&db, Role::App).await;
    old.begin(Isolation::ReadCommitted).await;
    old.apply(&tick(runs[0])).await.expect("written, not committed");
    for n in 0..5 {
        store.fn_state_transition_apply(&tick(runs[1])).await.expect("ticked");
        let pass = store.fn_sequence_events(100).await.expect("a pass");
        assert_eq!(pass.stamped, 1, "round {n}");
    }
    old.rollback().await;
    assert_eq!(
        store.fn_sequence_events(100).await.expect("a pass").stamped,
        0,
        "what was rolled back never was"
    );
    assert_eq!(delivered(&store).await.len(), 8);
}

/// EVT-2: the order of a run's events is that of its moves, also when the transaction numbers run the other way.
#[tokio::test]
async fn a_runs_order_does_not_follow_transaction_numbers() {
    for limit in [1, 2, 100] {
        let (db, store, runs) = meters(4).await;
        sequence_now(&store).await.expect("positions");
        let watch = Watch::new(&db);
        let mut sessions = Vec::new();
        for _ in 0..3 {
            let mut session = Session::open(&db, Role::App).await;
            session.begin(Isolation::ReadCommitted).await;
            sessions.push(session);
        }
        let [mut early, mut between, mut late] =
            <[Session; 3]>::try_from(sessions).ok().expect("three");
        // Each gets its number with its first write: early, between, late.
        early.apply(&tick(runs[1])).await.expect("a write elsewhere");
        between.apply(&tick(runs[2])).await.expect("a write elsewhere");
        late.apply(&tick(runs[0])).await.expect("move 2 of the run");
        let (pid, contested) = (early.pid, runs[0]);
        let waiting = tokio::spawn(async move {
            early.apply(&tick(contested)).await.expect("move 3 of the run, by the lower number");
            early.commit().await.expect("committed");
        });
        watch.until_blocked(pid).await;
        late.commit().await.expect("committed");
        waiting.await.expect("no panic");
        while store.fn_sequence_events(limit).await.expect("a pass").more {}
        between.commit().await.expect("committed");
        while store.fn_sequence_events(limit).await.expect("a pass").more {}
        let told = delivered(&store).await;
        assert_eq!(
            told.iter().filter(|(run, _)| *run == runs[0]).map(|(_, seq)| *seq).collect::<Vec<_>>(),
            [1, 2, 3]
        );
        assert_eq!(told.len(), 8);
    }
}

/// EVT-2: a forged copy of an event, which only somebody without need of rights can write, stops no other event and is not
/// delivered in its place.
#[tokio::test]
async fn a_forged_copy_stops_nothing() {
    let (db, store, runs) = meters(1).await;
    let forged = sqlx::query(
        "insert into event.event_outbox (event_id, created_at, event_type, subject_kind, subject_id, subject_seq, principal,
                                         trace_id, correlation_id, payload)
         select event_id, created_at, event_type, subject_kind, subject_id, subject_seq, principal, trace_id, correlation_id,
                '{\"forged\": true}'
           from event.event_outbox",
    )
    .execute(&mut db.superuser().await)
    .await;
    // A database that refuses the superuser as well is none the worse.
    if forged.is_ok() {
        store.fn_state_transition_apply(&tick(runs[0])).await.expect("ticked");
        sequence_now(&store).await.expect("the sequencer goes on");
        let told = store.fn_events_after(0, 10).await.expect("events");
        assert!(told.iter().all(|event| event.cloudevent["data"]["forged"].is_null()), "{told:?}");
        assert_eq!(delivered(&store).await, [(runs[0], 1), (runs[0], 2)]);
    }
}

/// What the crowd below shares.
struct Crowd {
    runs: Vec<Uuid>,
    wanted: usize,
    /// What the writers know to be committed.
    committed: Mutex<BTreeSet<Told>>,
    rolled_back: AtomicUsize,
    done: AtomicBool,
    passes: AtomicUsize,
    restarts: AtomicUsize,
}

const WRITERS: u64 = 16;

fn wanted_events() -> usize {
    slice::amount("CHANCERY_TEST_EVENTS", 3_000)
}

/// EVT-2, E8: sixteen writers with overlapping transactions, two sequencers that are killed and started again all the time,
/// and a reader that follows: what was committed is delivered, once, densely, and in each run's order.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crowd_of_writers_loses_and_repeats_nothing() {
    let (db, store, runs) = meters(48).await;
    let db = Arc::new(db);
    let births = runs.iter().map(|run| (*run, 1)).collect();
    let crowd = Arc::new(Crowd {
        runs,
        wanted: wanted_events(),
        committed: Mutex::new(births),
        rolled_back: AtomicUsize::new(0),
        done: AtomicBool::new(false),
        passes: AtomicUsize::new(0),
        restarts: AtomicUsize::new(0),
    });
    let sequencers: Vec<_> =
        (0..2).map(|n| tokio::spawn(sequencer(Arc::clone(&db), Arc::clone(&crowd), n))).collect();
    let follower = tokio::spawn(follower(store.clone(), Arc::clone(&crowd)));
    let writers: Vec<_> = (0..WRITERS)
        .map(|n| tokio::spawn(writer(Arc::clone(&db), Arc::clone(&crowd), n)))
        .collect();
    for writer in writers {
        writer.await.expect("a writer does not fail");
    }
    crowd.done.store(true, Ordering::Release);
    for sequencer in sequencers {
        sequencer.await.expect("a sequencer does not fail");
    }
    let followed = follower.await.expect("the reader saw no gap");
    while store.fn_sequence_events(97).await.expect("a pass").more {}

    let told = delivered(&store).await;
    assert_eq!(told[..followed.len()], followed, "what was read once is never told otherwise");
    let committed = crowd.committed.lock().expect("no writer panicked").clone();
    assert_eq!(told.len(), committed.len(), "none twice");
    assert_eq!(
        told.into_iter().collect::<BTreeSet<_>>(),
        committed,
        "what was committed is what was delivered"
    );
    let watch = Watch::new(&db);
    let stored = watch.count("select count(*) from event.event_outbox").await;
    assert_eq!(
        stored,
        i64::try_from(committed.len()).expect("not that many"),
        "what was rolled back is not there"
    );
    assert!(committed.len() >= crowd.wanted);
    assert!(crowd.rolled_back.load(Ordering::Relaxed) > 0, "some transactions were rolled back");
    assert!(crowd.restarts.load(Ordering::Relaxed) > 10, "the sequencers were restarted");
}

/// Makes transactions of one to five moves of different runs and leaves them open for a while.
async fn writer(db: Arc<TestDb>, crowd: Arc<Crowd>, n: u64) {
    let mut random = StdRng::seed_from_u64(n);
    let mut session = Session::open(&db, Role::App).await;
    while crowd.committed.lock().expect("no writer panicked").len() < crowd.wanted {
        let count = random.gen_range(1..=5);
        let mut chosen: Vec<Uuid> =
            crowd.runs.choose_multiple(&mut random, count).copied().collect();
        // In one order, as a batch would: two writers that want the same runs wait for each other and do not deadlock.
        chosen.sort_unstable();
        session.begin(Isolation::ReadCommitted).await;
        let mut told = Vec::new();
        for run in chosen {
            let report = session.apply(&tick(run)).await.expect("a meter can always tick");
            told.push((run, report.seq.expect("a made move has a number")));
            // A round trip is a while that needs no clock.
            for _ in 0..random.gen_range(0..3) {
                session.run("select 1").await.expect("a round trip");
            }
        }
        if random.gen_bool(0.1) {
            session.rollback().await;
            crowd.rolled_back.fetch_add(1, Ordering::Relaxed);
        } else {
            session.commit().await.expect("committed");
            crowd.committed.lock().expect("no writer panicked").extend(told);
        }
    }
}

/// Sequences a few passes at a time; each life ends with its connection cut, often in the middle of a pass.
async fn sequencer(db: Arc<TestDb>, crowd: Arc<Crowd>, n: u64) {
    let mut random = StdRng::seed_from_u64(WRITERS + n);
    while !crowd.done.load(Ordering::Acquire) {
        let store = Store::with_connections(db.target(), Role::App, 1).expect("a store");
        for _ in 0..random.gen_range(1..4) {
            match store.fn_sequence_events(97).await {
                Ok(_) => crowd.passes.fetch_add(1, Ordering::Relaxed),
                Err(error) => panic!("a pass: {error}"),
            };
        }
        let cut = random.gen_range(1..40);
        tokio::select! {
            biased;
            () = yields(cut) => {}
            pass = store.fn_sequence_events(97) => match pass {
                Ok(_) | Err(Error::Conflict(_)) => {}
                Err(error) => panic!("a pass: {error}"),
            },
        }
        crowd.restarts.fetch_add(1, Ordering::Relaxed);
    }
}

async fn yields(count: usize) {
    for _ in 0..count {
        tokio::task::yield_now().await;
    }
}

/// Reads by position while everything goes on; a gap, even for a moment, would be a lost event.
async fn follower(store: Store, crowd: Arc<Crowd>) -> Vec<Told> {
    let mut told: Vec<Told> = Vec::new();
    while !crowd.done.load(Ordering::Acquire) {
        let page = store
            .fn_events_after(i64::try_from(told.len()).expect("not that many"), 50)
            .await
            .expect("a page");
        for event in page {
            assert_eq!(
                event.position,
                Some(i64::try_from(told.len() + 1).expect("not that many")),
                "no gap"
            );
            let data = &event.cloudevent["data"];
            let run = data["run_id"].as_str().and_then(|id| id.parse().ok()).expect("a run");
            told.push((run, data["seq"].as_i64().expect("a number")));
        }
        tokio::task::yield_now().await;
    }
    told
}
