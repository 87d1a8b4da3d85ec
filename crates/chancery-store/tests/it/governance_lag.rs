//! Lag: percentiles that agree with an exact computation, thresholds, breaches and heals (EVT-5, UIG-6).

use std::time::{Duration, Instant};

use chancery_engine::event::sequence_now;
use chancery_model::refusal::Code::{RE024, RI003};
use chancery_store::governance::{IssueFilter, Lag};
use chancery_store::{Role, Store};
use chancery_testkit::{TestDb, slice};
use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};
use sqlx::{AssertSqlSafe, Executor as _};

use crate::governance_world::{as_a_room, ask, clock_ahead, events_of, governed, setting};
use crate::outbox::{METER, new_meter, tick};
use crate::session::{Isolation, Session};
use crate::support::codes;

const HOUR: Duration = Duration::from_secs(3600);

/// The pair of a lag, to look for.
fn of<'a>(lags: &'a [Lag], producer: &str, consumer: &str) -> &'a Lag {
    lags.iter().find(|lag| lag.producer == producer && lag.consumer == consumer).expect("the pair")
}

/// Deliveries of a consumer, each so many microseconds after its event, at the time that the product's clock says.
async fn deliver(db: &TestDb, consumer: &str, lags: &[i64]) {
    let mut admin = db.superuser().await;
    admin.execute("set role chancery_definer").await.expect("the superuser may");
    sqlx::query(
        "insert into event.consumer_delivery (consumer, position, event_id, producer, event_at, delivered_at)
         select $1, l.n, internal.uuid_v7(), 'custom', t.now - l.micros * interval '1 microsecond', t.now
           from unnest($2::bigint[]) with ordinality l (micros, n), (select internal.now() as now) t",
    )
    .bind(consumer)
    .bind(lags)
    .execute(&mut admin)
    .await
    .expect("deliveries");
}

/// What 100 deliveries late by so many milliseconds look like.
fn late(millis: i64) -> Vec<i64> {
    vec![millis * 1_000; 100]
}

fn events() -> usize {
    slice::amount("CHANCERY_TEST_LAG_EVENTS", 100_000)
}

/// The exact percentile: the smallest value that so many of all do not exceed.
fn exact(sorted: &[i64], share: f64) -> f64 {
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a rank among a million"
    )]
    let rank = (share * sorted.len() as f64).ceil() as usize;
    #[expect(clippy::cast_precision_loss, reason = "microseconds of hours")]
    let millis = sorted[rank.max(1) - 1] as f64 / 1_000.0;
    millis
}

#[track_caller]
fn check_close(what: &str, found: f64, expected: f64) {
    let error = (found - expected).abs() / expected;
    assert!(
        error <= 0.005,
        "{what}: {found} ms, exactly {expected} ms, off by {:.3} %",
        error * 100.0
    );
}

/// EVT-5: percentiles agree with an exact computation, folded or not, over minutes together or each alone. `make test-soak` does
/// it with 1,000,000 events.
#[tokio::test]
#[expect(clippy::print_stdout, reason = "the figures of the lag")]
async fn percentiles_agree_with_an_exact_computation() {
    let (db, store) = governed().await;
    let count = events();
    let mut random = StdRng::seed_from_u64(5);
    // A lognormal body with a heavy tail, from a fraction of a millisecond to hours.
    let mut lag = |scale: f64, spread: f64| -> i64 {
        let normal: f64 = (0..12).map(|_| random.r#gen::<f64>()).sum::<f64>() - 6.0;
        let body = scale * (spread * normal).exp();
        let tail = if random.gen_bool(0.02) { 100.0 } else { 1.0 };
        #[expect(clippy::cast_possible_truncation, reason = "microseconds")]
        let micros = (body * tail) as i64;
        micros.max(1)
    };
    let consumers = [("relay", 3_000.0, 1.0), ("search", 250_000.0, 1.7)];
    let samples: Vec<(&str, Vec<i64>)> = consumers
        .iter()
        .map(|(name, scale, spread)| {
            (*name, (0..count / 4).map(|_| lag(*scale, *spread)).collect())
        })
        .collect();
    // Half of the events are the sequencer's: really in the outbox, with positions, of two kinds of runs.
    let sequenced: Vec<i64> = (0..count / 2).map(|_| lag(40_000.0, 1.3)).collect();

    let began = Instant::now();
    let mut admin = db.superuser().await;
    admin.execute("set role chancery_definer").await.expect("the superuser may");
    for (consumer, lags) in &samples {
        for part in lags.chunks(50_000) {
            sqlx::query(
                "insert into event.consumer_delivery (consumer, position, event_id, producer, event_at, delivered_at)
                 select $1, l.n, internal.uuid_v7(), 'custom', t.at - l.micros * interval '1 microsecond', t.at
                   from (select n, micros, now() - n % 50 * interval '1 minute' as at from unnest($2::bigint[]) with ordinality l (micros, n)) l (n, micros, at),
                        lateral (select l.at) t",
            )
            .bind(consumer)
            .bind(part)
            .execute(&mut admin)
            .await
            .expect("deliveries");
        }
    }
    admin.execute("select event.fn_sequence_events(1)").await.expect("a cursor");
    let mut written = 0_i64;
    for part in sequenced.chunks(50_000) {
        sqlx::query(
            "with given as (
               select l.n + $2 as n, now() - (l.n % 50 * interval '1 minute') as at, l.micros, internal.uuid_v7() as id
                 from unnest($1::bigint[]) with ordinality l (micros, n)),
             told as (
               insert into event.event_outbox (event_id, created_at, event_type, subject_kind, subject_id, subject_seq, principal, trace_id, correlation_id, payload)
               select g.id, g.at - g.micros * interval '1 microsecond', 'meter.ticked', case g.n % 2 when 0 then 'custom' else 'cut_request' end, g.id, 1, 'x', 'x', 'x', '{}'
                 from given g
               returning event_id, xid, outbox_id, created_at)
             insert into event.event_position (position, event_id, xid, outbox_id, event_created_at, stamped_at)
             select g.n, t.event_id, t.xid, t.outbox_id, t.created_at, g.at from told t join given g on g.id = t.event_id",
        )
        .bind(part)
        .bind(written)
        .execute(&mut admin)
        .await
        .expect("positions");
        written += i64::try_from(part.len()).expect("not that many");
    }
    sqlx::query("update event.sequencer_cursor set last_position = $1")
        .bind(written)
        .execute(&mut admin)
        .await
        .expect("a cursor");
    let wrote = began.elapsed();

    let by_kind = |rest: usize| -> Vec<i64> {
        // The number of an event begins at 1 in each part, and parts are even.
        let mut kind: Vec<i64> = sequenced
            .iter()
            .enumerate()
            .filter(|(n, _)| (n + 1) % 2 == rest)
            .map(|(_, l)| *l)
            .collect();
        kind.sort_unstable();
        kind
    };
    let mut expected =
        vec![("custom", "sequencer", by_kind(0)), ("cut_request", "sequencer", by_kind(1))];
    for (consumer, lags) in &samples {
        let mut sorted = lags.clone();
        sorted.sort_unstable();
        expected.push(("custom", consumer, sorted));
    }
    let check = |when: &str, lags: &[Lag]| {
        for (producer, consumer, sorted) in &expected {
            let lag = of(lags, producer, consumer);
            let pair = format!("{when} {producer}/{consumer}");
            assert_eq!(lag.count, i64::try_from(sorted.len()).expect("few"), "{pair}");
            check_close(&format!("{pair} p50"), lag.p50_ms, exact(sorted, 0.50));
            check_close(&format!("{pair} p95"), lag.p95_ms, exact(sorted, 0.95));
            check_close(&format!("{pair} p99"), lag.p99_ms, exact(sorted, 0.99));
            check_close(&format!("{pair} max"), lag.max_ms, exact(sorted, 1.0));
            for part in [lag.p50_ms, lag.p95_ms, lag.p99_ms] {
                assert!(part <= lag.max_ms, "{pair}: {part} of at most {}", lag.max_ms);
            }
        }
        assert_eq!(lags.len(), expected.len(), "{when}");
    };
    let window = 2 * HOUR;
    let began = Instant::now();
    check("before", &store.fn_event_lag_compute(window).await.expect("lags"));
    let unfolded = began.elapsed();
    let began = Instant::now();
    let recorded = store.fn_event_lag_record("chancery").await.expect("recorded");
    let folded = began.elapsed();
    // Every other minute is of the other kind of run.
    assert!(recorded.recorded >= 150, "two consumers of 50 minutes, two kinds of 25: {recorded:?}");
    let began = Instant::now();
    check("after", &store.fn_event_lag_compute(window).await.expect("lags"));
    let computed = began.elapsed();
    // The second pass has nothing left to fold but the findings' own events, and counts nothing twice.
    store.fn_event_lag_record("chancery").await.expect("recorded");
    check(
        "twice",
        &store
            .fn_event_lag_compute(window)
            .await
            .expect("lags")
            .into_iter()
            .filter(|l| l.producer != "finding")
            .collect::<Vec<_>>(),
    );
    println!(
        "{count} events: written in {wrote:.1?}, computed unfolded in {unfolded:.2?}, folded in {folded:.2?}, computed in {computed:.2?}"
    );
    let trend = store.event_lag_trend(window).await.expect("a trend");
    let minutes = trend.iter().filter(|point| point.consumer == "relay").count();
    assert!((50..=51).contains(&minutes), "{minutes} minutes of the trend");
}

/// EVT-5: the sequencer is a consumer of every kind of run, from the move to its position.
#[tokio::test]
async fn the_sequencers_lag_is_measured() {
    let (db, store) = governed().await;
    db.service("writer", &["executor_worker"]).await;
    db.machine(METER).await;
    let meter = store.fn_run_start(&new_meter()).await.expect("a meter").run_id;
    for _ in 0..9 {
        store.fn_state_transition_apply(&tick(meter)).await.expect("a tick");
    }
    clock_ahead(&db, "90 seconds").await;
    sequence_now(&store).await.expect("positions");
    for folded in [false, true] {
        let lags = store.fn_event_lag_compute(HOUR).await.expect("lags");
        let lag = of(&lags, "custom", "sequencer");
        assert_eq!(lag.count, 10, "folded: {folded}");
        assert!((89_000.0..100_000.0).contains(&lag.p50_ms), "{lag:?}");
        store.fn_event_lag_record("chancery").await.expect("recorded");
    }
    let issue = &store.issues(IssueFilter::default(), 10).await.expect("findings")[0];
    assert_eq!(
        (issue.issue_type.as_str(), issue.entity_code.as_deref()),
        ("event_lag_breach", Some("custom/sequencer"))
    );
    assert_eq!(issue.severity, "critical", "half of all events are late");
}

/// EVT-5: a delivery that commits late is folded late, not lost; none is folded twice.
#[tokio::test]
async fn a_delivery_that_commits_late_is_counted_once() {
    let (db, store) = governed().await;
    db.service("writer", &["executor_worker"]).await;
    db.machine(METER).await;
    as_a_room(&db).await;
    let meter = store.fn_run_start(&new_meter()).await.expect("a meter").run_id;
    store.fn_state_transition_apply(&tick(meter)).await.expect("a tick");
    sequence_now(&store).await.expect("positions");
    let has = "select room.ask('select event.record_delivery(''relay'', array_agg(event_id))::text from event.event_outbox where subject_seq = 1')";
    let had = "select event.record_delivery_upto('relay', 1, 2)::text";
    let mut late = Session::open(&db, Role::App).await;
    late.begin(Isolation::ReadCommitted).await;
    late.run(has).await.expect("delivered first");
    assert_eq!(ask(&db, had).await.expect("delivered second").as_deref(), Some("1"));
    store.fn_event_lag_record("chancery").await.expect("recorded");
    let count = async || {
        of(&store.fn_event_lag_compute(HOUR).await.expect("lags"), "custom", "relay").count
    };
    assert_eq!(count().await, 1, "the late one is not committed");
    late.commit().await.expect("committed last");
    assert_eq!(count().await, 2, "seen before it is folded");
    for _ in 0..3 {
        store.fn_event_lag_record("chancery").await.expect("recorded");
        assert_eq!(count().await, 2, "folded once");
    }
    assert_eq!(
        db.text("select sum(count)::text from event.event_lag_series where consumer = 'relay'")
            .await,
        "2"
    );
    let unknown = "select event.record_delivery('relay', array['00000000-0000-0000-0000-000000000000'::uuid])::text";
    assert_eq!(ask(&db, unknown).await.expect("an answer").as_deref(), Some("0"));
}

async fn lag_findings(store: &Store) -> Vec<(String, i64)> {
    let filter = IssueFilter { issue_class: Some("event_lag"), ..IssueFilter::default() };
    let rows = store.issues(filter, 10).await.expect("findings");
    rows.into_iter()
        .map(|row| (row.entity_code.unwrap_or_default(), row.occurrence_count))
        .collect()
}

/// EVT-5, UIG-6: above a threshold there is a finding; it heals when the pair is measured below all of them again, with its event,
/// and not by silence.
#[tokio::test]
async fn a_breach_is_a_finding_until_it_is_measured_away() {
    let (db, store) = governed().await;
    deliver(&db, "relay", &late(900)).await;
    let recorded = store.fn_event_lag_record("chancery").await.expect("recorded");
    assert_eq!((recorded.breached.len(), recorded.recorded), (0, 1), "below every threshold");

    clock_ahead(&db, "10 minutes").await;
    let mut tail = late(10);
    tail[..8].fill(20_000_000);
    deliver(&db, "relay", &tail).await;
    assert_eq!(
        store.fn_event_lag_record("chancery").await.expect("recorded").breached,
        ["custom/relay"]
    );
    assert_eq!(
        store.fn_event_lag_record("chancery").await.expect("recorded").breached,
        ["custom/relay"]
    );
    assert_eq!(
        lag_findings(&store).await,
        [("custom/relay".to_owned(), 2)],
        "the same breach, counted"
    );
    let issue = store.issues(IssueFilter::default(), 1).await.expect("findings").remove(0);
    assert_eq!(issue.severity, "warning", "only the tail is late");
    assert_eq!(issue.evidence["breached"], serde_json::json!(["p95", "p99"]));
    assert_eq!(
        issue.evidence["thresholds"],
        serde_json::json!({ "p50": 1000, "p95": 5000, "p99": 15000 })
    );

    // Nothing was measured for an hour: no news is not good news.
    clock_ahead(&db, "1 hour").await;
    let recorded = store.fn_event_lag_record("chancery").await.expect("recorded");
    assert!(recorded.healed.is_empty() && recorded.breached.is_empty());
    assert_eq!(lag_findings(&store).await.len(), 1);

    deliver(&db, "relay", &late(20)).await;
    let recorded = store.fn_event_lag_record("chancery").await.expect("recorded");
    assert_eq!(recorded.healed, ["custom/relay"]);
    assert_eq!(lag_findings(&store).await, []);
    assert_eq!(events_of(&db, issue.issue_id).await, ["finding.opened", "finding.healed"]);
    let evidence = db
        .text(&format!(
            "select evidence from fsm.transition_log where run_id = '{}' and seq = 2",
            issue.issue_id
        ))
        .await;
    assert!(evidence.contains(r#""measured":{"count":100"#), "{evidence}");
    assert!(
        store.fn_event_lag_record("chancery").await.expect("recorded").healed.is_empty(),
        "once"
    );
}

/// C §7.6: a pair may have a threshold of its own, for one percentile or for all.
#[tokio::test]
async fn a_pair_has_its_own_threshold() {
    let (db, store) = governed().await;
    deliver(&db, "relay", &late(2_000)).await;
    deliver(&db, "archive", &late(2_000)).await;
    setting(&db, "event_lag.threshold.custom.archive.p50", "60000").await;
    assert_eq!(
        store.fn_event_lag_record("chancery").await.expect("recorded").breached,
        ["custom/relay"]
    );
    setting(&db, "event_lag.threshold.custom.archive.p99", "100").await;
    assert_eq!(
        store.fn_event_lag_record("chancery").await.expect("recorded").breached,
        ["custom/archive", "custom/relay"]
    );
    let trend = store.event_lag_trend(HOUR).await.expect("a trend");
    let point = trend.iter().find(|point| point.consumer == "archive").expect("a point");
    assert_eq!(
        (point.p50_threshold_ms, point.p95_threshold_ms, point.p99_threshold_ms),
        (60_000.0, 5_000.0, 100.0)
    );
}

/// Bad input: a window without a figure is refused; recording is the system's.
#[tokio::test]
async fn a_window_has_bounds() {
    let (_db, store) = governed().await;
    for seconds in [0, 59, 400 * 86_400] {
        assert_eq!(codes(store.fn_event_lag_compute(Duration::from_secs(seconds)).await), [RE024]);
    }
    assert_eq!(store.fn_event_lag_compute(HOUR).await.expect("nothing yet"), []);
    assert_eq!(codes(store.fn_event_lag_record("operator").await), [RI003]);
}

/// EVT-5: recorders at once fold each sample once, and open and heal a finding once.
#[tokio::test]
async fn recorders_at_once_fold_once() {
    let (db, store) = governed().await;
    deliver(&db, "relay", &late(2_000)).await;
    let tasks: Vec<_> = (0..6)
        .map(|_| {
            let store = store.clone();
            tokio::spawn(async move {
                store.fn_event_lag_record("chancery").await.expect("recorded").recorded
            })
        })
        .collect();
    let mut folded = 0;
    for task in tasks {
        folded += task.await.expect("no panic");
    }
    assert_eq!(folded, 1);
    assert_eq!(db.text("select sum(count)::text from event.event_lag_series").await, "100");
    assert_eq!(db.count("governance.system_issues").await, 1);
    let admin = &mut db.superuser().await;
    for statement in
        ["update event.event_lag_series set count = 1", "delete from event.consumer_delivery"]
    {
        let error = admin.execute(AssertSqlSafe(statement)).await.expect_err("appended only");
        assert!(
            error.to_string().contains("door")
                || error
                    .as_database_error()
                    .and_then(|e| e.code().map(|c| c == "RS016" || c == "RS015"))
                    .unwrap_or(false),
            "{error}"
        );
    }
}
