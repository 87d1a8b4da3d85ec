//! EVT-6 under load: many clients, many topics, broken connections. Nothing is lost, nothing comes twice, the order is kept.

use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use chancery_store::fsm::{Move, Start};
use chancery_store::{Role, Store};
use chancery_testkit::{TestDb, slice, until};
use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};
use serde_json::json;
use tokio::sync::Barrier;
use uuid::Uuid;

use crate::ear::{Ear, Served, token};

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

/// How much of everything.
#[derive(Clone, Copy)]
struct Figures {
    topics: usize,
    /// Clients a topic.
    clients: usize,
    /// Moves a second and for how long; as fast as it goes without.
    pace: Option<(u32, Duration)>,
    moves: usize,
}

impl Figures {
    /// A slice, or everything: 1,000 clients, 5,000 deliveries a second.
    fn asked() -> Self {
        match slice::asked("CHANCERY_TEST_LISTENERS").and_then(|n| n.parse::<usize>().ok()) {
            None => Self { topics: 20, clients: 10, pace: None, moves: 1_200 },
            Some(n) => {
                // A little more than is asked for, so that what is asked for is reached.
                let pace = Some((520, Duration::from_secs(30)));
                Self { topics: n / 10, clients: 10, pace, moves: 15_600 }
            }
        }
    }
}

fn begin() -> Start {
    Start {
        run_id: Uuid::now_v7(),
        machine: "meter".to_owned(),
        data: json!({}),
        actor_class: "executor_worker".to_owned(),
        trigger_kind: "rpc".to_owned(),
        trigger_ref: "meter_begin".to_owned(),
        evidence: json!({}),
        principal: "writer".to_owned(),
        idempotency_key: "begin".to_owned(),
        reason: None,
        parent: None,
        trace_id: None,
        signed: None,
    }
}

pub(crate) fn tick(run_id: Uuid) -> Move {
    Move {
        run_id,
        run_kind: "custom".to_owned(),
        from: None,
        to: "running".to_owned(),
        actor_class: "executor_worker".to_owned(),
        trigger_kind: "timer".to_owned(),
        trigger_ref: "meter_tick".to_owned(),
        evidence: json!({}),
        principal: "writer".to_owned(),
        idempotency_key: Uuid::now_v7().to_string(),
        reason: None,
        signed: None,
    }
}

pub(crate) async fn meters(db: &TestDb, count: usize) -> Vec<Uuid> {
    db.service("writer", &["executor_worker"]).await;
    db.machine(METER).await;
    let store = db.store(Role::App);
    let mut runs = Vec::new();
    for _ in 0..count {
        runs.push(store.fn_run_start(&begin()).await.expect("a meter").run_id);
    }
    while store.fn_sequence_events(1000).await.expect("a pass").stamped > 0 {}
    runs
}

pub(crate) fn topic(run: Uuid) -> String {
    format!("run:run_{}", run.simple())
}

/// When each move was committed, as its writer saw it, and how long it took to arrive.
#[derive(Default)]
struct Clock {
    committed: Mutex<HashMap<(Uuid, i64), Instant>>,
    arrived: Mutex<Vec<((Uuid, i64), Instant)>>,
}

impl Clock {
    fn lags(&self) -> Vec<Duration> {
        let committed = self.committed.lock().expect("no panic");
        let mut lags: Vec<Duration> = self
            .arrived
            .lock()
            .expect("no panic")
            .iter()
            // Who hears of it before its writer does waited for nothing.
            .filter_map(|(told, at)| Some(at.saturating_duration_since(*committed.get(told)?)))
            .collect();
        lags.sort_unstable();
        lags
    }
}

struct Listener {
    served: Arc<Served>,
    token: String,
    run: Uuid,
    /// The last number of the run, when all is written.
    last: Arc<AtomicI64>,
    clock: Arc<Clock>,
    ready: Arc<Barrier>,
    rng: StdRng,
    timed: bool,
}

impl Listener {
    /// Listens until the last move, with breaks; gives the numbers as they came, and how often it came back.
    async fn run(mut self) -> (Vec<i64>, usize) {
        let topic = topic(self.run);
        let mut ear = Ear::listen(self.served.address, &topic, &self.token, None).await;
        let mut at = ear.expect("hello").await.id.expect("a position");
        self.ready.wait().await;
        let (mut seqs, mut breaks) = (Vec::new(), 0);
        while seqs.last().copied().unwrap_or(1) != self.last.load(Ordering::Acquire) {
            let Ok(next) = tokio::time::timeout(Duration::from_secs(60), ear.next()).await else {
                panic!("nothing more comes after {:?}", seqs.last());
            };
            let breaks_now = self.rng.gen_ratio(1, 40) && !self.timed
                || self.timed && self.rng.gen_ratio(1, 400);
            if let Some(heard) = &next {
                assert_eq!(heard.event, "meter.ticked", "{heard:?}");
                assert_eq!(heard.data["subject"]["kind"], "custom");
                let id = heard.id.expect("a position");
                assert!(id > at, "{id} comes after {at}");
                at = id;
                let seq = heard.data["seq"].as_i64().expect("a number");
                seqs.push(seq);
                let mut arrived = self.clock.arrived.lock().expect("no panic");
                arrived.push(((self.run, seq), Instant::now()));
            }
            if next.is_none() || breaks_now {
                breaks += 1;
                ear = Ear::listen(self.served.address, &topic, &self.token, Some(at)).await;
            }
        }
        (seqs, breaks)
    }
}

/// Writers, each with runs of its own, through real moves; gives the last number of each run.
async fn write(
    store: Store,
    runs: Vec<Uuid>,
    figures: Figures,
    share: usize,
    clock: Arc<Clock>,
    seed: u64,
) -> HashMap<Uuid, i64> {
    let mut rng = StdRng::seed_from_u64(seed);
    let mut last: HashMap<Uuid, i64> = runs.iter().map(|run| (*run, 1)).collect();
    let begun = Instant::now();
    for n in 0..figures.moves / share {
        if let Some((a_second, _)) = figures.pace {
            let due = Duration::from_secs_f64(n as f64 * share as f64 / f64::from(a_second));
            tokio::time::sleep_until((begun + due).into()).await;
        }
        let run = runs[rng.gen_range(0..runs.len())];
        let moved = store.fn_state_transition_apply(&tick(run)).await.expect("a tick");
        let seq = moved.seq.expect("a number");
        clock.committed.lock().expect("no panic").insert((run, seq), Instant::now());
        last.insert(run, seq);
    }
    last
}

/// Nothing lost, nothing twice, in order: what each client heard is what was written. In steady state nobody asks the database but the
/// one reader. With all clients the lag from commit to client is measured as well.
#[expect(clippy::print_stdout, reason = "a run tells what it measured")]
#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_lost_and_nothing_comes_twice() {
    let figures = Figures::asked();
    let writers = if figures.pace.is_some() { 12 } else { 4 };
    let db = TestDb::new().await;
    let runs = meters(&db, figures.topics).await;
    let mut tokens = Vec::new();
    for n in 0..5 {
        let name = format!("ear{n}");
        db.service(&name, &["observer"]).await;
        tokens.push(token(&db, &name, &["self.read", "run.read"]).await.1);
    }
    let served = Arc::new(Served::new(&db).await);
    let all = figures.topics * figures.clients;
    let (clock, ready) = (Arc::new(Clock::default()), Arc::new(Barrier::new(all + 1)));
    let mut lasts: HashMap<Uuid, Arc<AtomicI64>> = HashMap::new();
    let mut listening = Vec::new();
    for n in 0..all {
        let run = runs[n % runs.len()];
        let last = Arc::clone(lasts.entry(run).or_insert_with(|| Arc::new(AtomicI64::new(-1))));
        let listener = Listener {
            served: Arc::clone(&served),
            token: tokens[n % tokens.len()].clone(),
            run,
            last,
            clock: Arc::clone(&clock),
            ready: Arc::clone(&ready),
            rng: StdRng::seed_from_u64(n as u64),
            timed: figures.pace.is_some(),
        };
        listening.push((run, tokio::spawn(listener.run())));
    }
    ready.wait().await;
    until("everybody listens", async || served.figure("chancery_sse_clients").await >= all as f64)
        .await;

    let begun = Instant::now();
    let store = db.store(Role::App);
    let writing: Vec<_> = (0..writers)
        .map(|n| {
            let own = runs.iter().copied().skip(n).step_by(writers).collect();
            tokio::spawn(write(store.clone(), own, figures, writers, Arc::clone(&clock), n as u64))
        })
        .collect();
    let mut written = HashMap::new();
    for one in writing {
        written.extend(one.await.expect("a writer"));
    }
    let took = begun.elapsed();
    // One move more for each run, so that everybody hears an end.
    for (run, last) in &lasts {
        last.store(written[run] + 1, Ordering::Release);
        store.fn_state_transition_apply(&tick(*run)).await.expect("the last tick");
    }
    let (mut heard, mut breaks) = (0, 0);
    for (run, one) in listening {
        let (seqs, broke) = one.await.expect("a listener");
        let expected: Vec<i64> = (2..=written[&run] + 1).collect();
        assert_eq!(seqs, expected, "{run}");
        heard += seqs.len();
        breaks += broke;
    }
    assert!(breaks > all / 4, "connections broke: {breaks}");
    assert_eq!(served.figure(r#"chancery_feed_queries_total{by="catch_up"}"#).await, 0.0);
    let lags = clock.lags();
    let quantile = |q: f64| lags[((lags.len() - 1) as f64 * q) as usize];
    let (p50, p99) = (quantile(0.5), quantile(0.99));
    let a_second = heard as f64 / took.as_secs_f64();
    println!(
        "{all} clients, {} topics, {breaks} broken connections: {heard} deliveries, {a_second:.0} a second; commit to client p50 {p50:?}, p99 {p99:?}, worst {:?}",
        figures.topics,
        quantile(1.0)
    );
    if figures.pace.is_some() {
        assert!(a_second >= 5_000.0, "{a_second:.0} deliveries a second");
        assert!(p99 <= Duration::from_millis(250), "commit to client: p99 {p99:?}");
    }
}

/// Who does not read is dropped while others go on; when it comes back it hears all of it.
#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_does_not_read_is_dropped_and_comes_back() {
    const BATCHES: usize = 90;
    let db = TestDb::new().await;
    let runs = meters(&db, 20).await;
    db.service("ear", &["observer"]).await;
    let (_, token) = token(&db, "ear", &["self.read", "run.read"]).await;
    let served = Served::new(&db).await;
    let topics: Vec<String> = runs.iter().map(|run| topic(*run)).collect();
    let topics = topics.join(",");
    let mut slow = Ear::listen(served.address, &topics, &token, None).await;
    let first = slow.expect("hello").await.id.expect("a position");
    let mut quick = Ear::listen(served.address, &topics, &token, None).await;
    let expected = BATCHES * 100;
    let quick = tokio::spawn(async move {
        let mut told = Vec::new();
        while told.len() < expected {
            let heard = quick.next().await.expect("it reads, so it is told");
            if heard.event != "hello" {
                told.push(heard);
            }
        }
        told
    });
    let store = db.store(Role::App);
    for _ in 0..BATCHES {
        let moves: Vec<Move> = runs.iter().cycle().take(100).map(|run| tick(*run)).collect();
        store.fn_state_transition_apply_batch(&moves).await.expect("ticks");
    }
    let told = quick.await.expect("the quick one");
    assert_eq!(served.figure(r#"chancery_sse_drops_total{why="slow"}"#).await, 1.0);

    // It reads what was on its way, finds the end, and asks for the rest.
    let (mut late, mut at, mut came_back) = (Vec::new(), first, 0);
    while late.len() < expected {
        match slow.next().await {
            Some(heard) => {
                at = heard.id.expect("a position");
                late.push(heard);
            }
            None => {
                came_back += 1;
                slow = Ear::listen(served.address, &topics, &token, Some(at)).await;
            }
        }
    }
    assert_eq!(came_back, 1);
    assert_eq!(late, told);
    drop(slow);
    served.end().await;
}
