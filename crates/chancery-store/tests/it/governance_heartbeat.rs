//! Heartbeats: who is silent, and that nobody is well again without having recovered (EVT-3, UIG-5).

use chancery_engine::governance::Pulse;
use chancery_model::refusal::Code::{RE022, RE023, RE050, RI001, RI003, RI004};
use chancery_store::governance::{IssueAnswer, IssueFilter, Tick, Ticked};
use chancery_store::{Role, Store};
use chancery_testkit::TestDb;
use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, Executor as _};
use uuid::Uuid;

use crate::governance_world::{clock_ahead, events_of, governed, setting};
use crate::hardening::attempt;
use crate::session::{Isolation, Session, Watch};
use crate::support::codes;

async fn tick(store: &Store, worker: &str, ok: bool) -> Ticked {
    let tick =
        Tick { worker_class: "loop", worker, ok, metadata: &json!({}), principal: "chancery" };
    store.fn_heartbeat_tick(&tick).await.expect("a tick")
}

/// The worker `a`, silent, and its finding.
async fn a_silent_worker(db: &TestDb, store: &Store) -> Uuid {
    tick(store, "a", true).await;
    clock_ahead(db, "61 seconds").await;
    let check = store.fn_silent_check("chancery").await.expect("a check");
    assert_eq!(check.silent.len(), 1);
    check.silent[0].issue_id
}

async fn status(db: &TestDb, worker: &str) -> String {
    db.text(&format!("select status from queue.queue_heartbeat where worker = '{worker}'")).await
}

async fn series(db: &TestDb) -> Vec<String> {
    let query = "select worker || ': ' || coalesce(from_status, '-') || ' → ' || coalesce(to_status, '-') from queue.heartbeat_series order by at";
    db.texts(query).await.into_iter().flatten().collect()
}

/// EVT-3: one row a worker, however often it ticks; the series has a row for each change and for nothing else.
#[tokio::test]
async fn a_tick_is_one_row() {
    let (db, store) = governed().await;
    let pulse = Pulse::new(store.clone(), "loop", "a", "chancery");
    for _ in 0..5 {
        let ticked = pulse.beat(true, &json!({ "round": 1 })).await.expect("a beat");
        assert_eq!((ticked.status.as_str(), ticked.recovered), ("ok", false));
    }
    assert_eq!(pulse.beat(false, &json!({ "round": 2 })).await.expect("a beat").status, "warn");
    assert_eq!(
        pulse.beat(true, &json!({ "round": 3 })).await.expect("a beat").was.as_deref(),
        Some("warn")
    );
    let health = store.queue_health().await.expect("health");
    assert_eq!(health.len(), 1);
    assert_eq!((health[0].status.as_str(), health[0].ticks_total), ("ok", 7));
    assert_eq!(health[0].metadata, json!({ "round": 3 }));
    assert!((health[0].threshold_seconds - 60.0).abs() < f64::EPSILON && !health[0].class_frozen);
    assert_eq!(series(&db).await, ["a: - → ok", "a: ok → warn", "a: warn → ok"]);
    assert_eq!(db.count("governance.system_issues").await, 0);

    // In good order: it is not missed afterwards, and ending twice is no error.
    pulse.end().await.expect("ended");
    pulse.end().await.expect("ended before");
    clock_ahead(&db, "1 hour").await;
    assert_eq!(store.fn_silent_check("chancery").await.expect("a check").silent, []);
    assert_eq!(store.queue_health().await.expect("health"), []);
}

/// UIG-5: a worker is silent after the threshold of its class, with one finding however often it is looked at.
#[tokio::test]
async fn silence_is_found_by_the_threshold_of_the_class() {
    let (db, store) = governed().await;
    setting(&db, "heartbeat.threshold.patient", "3600").await;
    setting(&db, "heartbeat.threshold.broken", "\"soon\"").await;
    for class in ["loop", "patient", "broken"] {
        let worker = Tick {
            worker_class: class,
            worker: "a",
            ok: true,
            metadata: &json!({}),
            principal: "chancery",
        };
        store.fn_heartbeat_tick(&worker).await.expect("a tick");
    }
    assert_eq!(store.fn_silent_check("chancery").await.expect("a check").silent, []);
    clock_ahead(&db, "61 seconds").await;
    let seen = store.fn_silent_check("chancery").await.expect("a check");
    let found: Vec<&str> = seen.silent.iter().map(|w| w.worker_class.as_str()).collect();
    // A threshold that is no number is none: the default holds.
    assert_eq!(found, ["broken", "loop"]);
    for _ in 0..3 {
        assert_eq!(store.fn_silent_check("chancery").await.expect("a check").silent, []);
    }
    let filter = IssueFilter { issue_class: Some("silent_worker"), ..IssueFilter::default() };
    let issues = store.issues(filter, 10).await.expect("findings");
    assert_eq!(issues.len(), 2);
    let about =
        issues.iter().find(|i| i.entity_code.as_deref() == Some("loop/a")).expect("the finding");
    assert_eq!((about.issue_type.as_str(), about.occurrence_count), ("worker_silent", 1));
    assert_eq!(about.evidence["threshold_seconds"], json!(60));
    clock_ahead(&db, "3601 seconds").await;
    assert_eq!(
        store.fn_silent_check("chancery").await.expect("a check").silent[0].worker_class,
        "patient"
    );
}

/// C §7.5: only a tick that was well, outside a freeze, ends a silence, and finding.recovered comes with it.
#[tokio::test]
async fn a_silent_worker_recovers_by_a_good_tick_outside_a_freeze() {
    let (db, store) = governed().await;
    let issue = a_silent_worker(&db, &store).await;
    assert_eq!(events_of(&db, issue).await, ["finding.opened"]);

    let bad = tick(&store, "a", false).await;
    assert_eq!((bad.status.as_str(), bad.recovered), ("silent", false), "it ticks, but not well");
    store
        .fn_heartbeat_freeze("loop", true, "looking into it", "operator", "pic_human")
        .await
        .expect("frozen");
    assert!(store.queue_health().await.expect("health")[0].class_frozen);
    let frozen = tick(&store, "a", true).await;
    assert_eq!((frozen.status.as_str(), frozen.recovered), ("silent", false), "well, but frozen");
    assert_eq!(
        store.fn_silent_check("chancery").await.expect("a check").silent,
        [],
        "still the same silence"
    );
    assert_eq!(events_of(&db, issue).await, ["finding.opened"]);
    assert_eq!(status(&db, "a").await, "silent");

    store
        .fn_heartbeat_freeze("loop", false, "understood", "operator", "pic_human")
        .await
        .expect("thawed");
    assert_eq!(status(&db, "a").await, "silent", "a thaw is no tick");
    let well = tick(&store, "a", true).await;
    assert_eq!(
        (well.status.as_str(), well.was.as_deref(), well.recovered),
        ("ok", Some("silent"), true)
    );
    assert_eq!(events_of(&db, issue).await, ["finding.opened", "finding.recovered"]);
    assert_eq!(
        db.text(&format!("select state from governance.system_issues where issue_id = '{issue}'"))
            .await,
        "recovered"
    );
    assert_eq!(
        series(&db).await,
        [
            "a: - → ok",
            "a: ok → silent",
            "*: thawed → frozen",
            "*: frozen → thawed",
            "a: silent → ok"
        ]
    );

    // The next silence is another finding.
    clock_ahead(&db, "10 minutes").await;
    let again = store.fn_silent_check("chancery").await.expect("a check");
    assert_ne!(again.silent[0].issue_id, issue);
}

/// C §7.5: nobody makes a silent worker well by hand, forgets it, or forges its recovery.
#[tokio::test]
async fn a_silence_does_not_end_by_hand() {
    let (db, store) = governed().await;
    let issue = a_silent_worker(&db, &store).await;
    assert_eq!(codes(store.fn_heartbeat_deregister("loop", "a", "chancery").await), [RE023]);
    let before = db.fingerprint().await;
    let well =
        "update queue.queue_heartbeat set status = 'ok', issue_id = null, silent_since = null";
    let statements = [
        format!("{well} where worker = 'a'"),
        format!("{well}, last_ok_at = now() + interval '1 day' where worker = 'a'"),
        "update queue.queue_heartbeat set status = 'warn', issue_id = null, silent_since = null where worker = 'a'".to_owned(),
        "update queue.queue_heartbeat set silent_since = now() - interval '1 year' where worker = 'a'".to_owned(),
        "delete from queue.queue_heartbeat where worker = 'a'".to_owned(),
    ];
    for role in ["chancery_definer", "chancery_owner", "postgres"] {
        let mut admin = db.superuser().await;
        if role != "postgres" {
            admin
                .execute(AssertSqlSafe(format!("set role {role}")))
                .await
                .expect("the superuser may");
        }
        for statement in &statements {
            let code = attempt(&mut admin, statement).await;
            let expected: &[&str] =
                if role == "postgres" { &["RS015", "RE023"] } else { &["RE023"] };
            assert!(
                code.as_deref().is_some_and(|code| expected.contains(&code)),
                "{role}: {statement}: {code:?}"
            );
        }
    }
    assert_eq!(before, db.fingerprint().await);
    assert_eq!(events_of(&db, issue).await, ["finding.opened"]);
}

/// UIG-5: a person may settle the finding of a worker that will not come back; the worker is then forgotten, and known anew when
/// it does come back after all.
#[tokio::test]
async fn a_person_settles_a_silence() {
    let (db, store) = governed().await;
    let issue = a_silent_worker(&db, &store).await;
    let settle = async |issue_id: Uuid| {
        let answer = IssueAnswer {
            issue_id,
            reason: "the machine is gone",
            principal: "operator",
            actor_class: "pic_human",
            idempotency_key: "k",
            signed: None,
        };
        store.fn_issue_resolve(&answer).await.expect("settled");
    };
    settle(issue).await;
    assert_eq!(status(&db, "a").await, "silent", "that it is settled does not make it well");
    assert_eq!(store.fn_silent_check("chancery").await.expect("a check").forgotten, 1);
    assert_eq!(db.count("queue.queue_heartbeat").await, 0);

    tick(&store, "a", true).await;
    clock_ahead(&db, "1 hour").await;
    let issue = store.fn_silent_check("chancery").await.expect("a check").silent[0].issue_id;
    settle(issue).await;
    let back = tick(&store, "a", true).await;
    assert_eq!(
        (back.status.as_str(), back.recovered),
        ("ok", false),
        "nothing was open to recover from"
    );
    assert_eq!(events_of(&db, issue).await, ["finding.opened", "finding.resolved"]);
}

/// COMPANIONS §7.6: a worker that is known not to tick is registered as it is, never as healthy.
#[tokio::test]
async fn a_passive_worker_is_registered_with_its_true_age() {
    let (db, store) = governed().await;
    let long_ago = 1_700_000_000_000_000;
    let register = async |at: i64, kind: &str| {
        store
            .fn_heartbeat_register_passive(
                "legacy",
                "old-1",
                kind,
                at,
                &json!({ "seen": "log" }),
                "chancery",
            )
            .await
    };
    assert_eq!(
        codes(register(i64::from(u32::MAX) * 1_000_000, "DOT").await),
        [RE022],
        "in the future"
    );
    assert_eq!(codes(register(long_ago, "MOT").await), [RE022], "MOT is never an executor");
    assert!(register(long_ago, "DOT").await.expect("registered"));
    assert_eq!(status(&db, "old-1").await, "warn");
    let health = store.queue_health().await.expect("health");
    assert!(health[0].last_tick_at.starts_with("2023-11-14") && health[0].last_ok_at.is_none());
    assert_eq!(health[0].ticks_total, 0);
    assert!(!register(long_ago + 1, "DOT").await.expect("known"), "it stays as it is");
    let silent = store.fn_silent_check("chancery").await.expect("a check").silent;
    assert_eq!(silent[0].worker, "old-1");
    assert_eq!(status(&db, "old-1").await, "silent");
}

/// Bad input: what a worker may not say is refused, and nothing changes.
#[tokio::test]
async fn a_malformed_tick_is_refused() {
    let (db, store) = governed().await;
    db.service("executor", &["executor_dot991"]).await;
    let before = db.fingerprint().await;
    let (nothing, secret, list) = (json!({}), json!({ "a": [{ "PASSWORD": "t0p" }] }), json!([]));
    let large = json!({ "text": "x".repeat(3_000) });
    let long = "x".repeat(201);
    let good = Tick {
        worker_class: "loop",
        worker: "a",
        ok: true,
        metadata: &nothing,
        principal: "chancery",
    };
    let refused: [(&str, Tick<'_>); 6] = [
        ("worker_class", Tick { worker_class: "No Class", ..good }),
        ("worker", Tick { worker: " ", ..good }),
        ("worker", Tick { worker: &long, ..good }),
        ("metadata", Tick { metadata: &list, ..good }),
        ("metadata", Tick { metadata: &large, ..good }),
        ("metadata", Tick { metadata: &secret, ..good }),
    ];
    for (field, tick) in refused {
        let error = store.fn_heartbeat_tick(&tick).await.expect_err(field);
        let refusal = error.refusal().expect("a refusal");
        assert_eq!((refusal.code, &refusal.problems[0].facts["field"]), (RE022, &json!(field)));
        assert!(!format!("{error:?}").contains("t0p"));
    }
    assert_eq!(
        codes(store.fn_heartbeat_tick(&Tick { principal: "nobody", ..good }).await).first(),
        Some(&RI001)
    );
    assert_eq!(
        codes(store.fn_heartbeat_tick(&Tick { principal: "operator", ..good }).await),
        [RI003]
    );
    assert_eq!(
        codes(store.fn_heartbeat_tick(&Tick { principal: "executor", ..good }).await).last(),
        Some(&RI003)
    );
    let exec = db.store(Role::CutterExec);
    assert!(
        codes(exec.fn_heartbeat_tick(&good).await).contains(&RI004),
        "chancery acts for the app's classes only"
    );
    let freeze = async |reason: &str, class: &str| {
        let who = if class == "system" { "chancery" } else { "operator" };
        codes(store.fn_heartbeat_freeze("loop", true, reason, who, class).await)
    };
    assert_eq!(freeze(" ", "pic_human").await, [RE022]);
    assert_eq!(freeze("because", "system").await, [RE022], "a person freezes");
    assert_eq!(freeze("because", "reviewer").await, [RI003]);
    // A name that no worker ever had would hold nobody up.
    let unknown = store.fn_heartbeat_freeze("lopo", true, "because", "operator", "pic_human").await;
    let refusal = unknown.expect_err("no such class");
    let problem = &refusal.refusal().expect("a refusal").problems[0];
    assert_eq!((problem.code, &problem.facts["worker_class"]), (RE050, &json!("lopo")));
    assert_eq!(freeze("\t", "pic_human").await, [RE022], "a tab is no reason");
    assert_eq!(codes(store.fn_silent_check("operator").await), [RI003]);
    assert_eq!(before, db.fingerprint().await);

    exec.fn_heartbeat_tick(&Tick { principal: "executor", ..good })
        .await
        .expect("in its own class");
}

/// EVT-3: a worker that ticks while it is looked at is not silent; two that register at once are one; two that look at once find
/// a silence once.
#[tokio::test]
async fn ticks_and_checks_do_not_race() {
    let (db, store) = governed().await;
    tick(&store, "a", true).await;
    clock_ahead(&db, "61 seconds").await;
    let mut ticking = Session::open(&db, Role::App).await;
    ticking.begin(Isolation::ReadCommitted).await;
    ticking
        .run("select queue.fn_heartbeat_tick('loop', 'a', true, '{}', 'chancery')")
        .await
        .expect("a tick");
    assert_eq!(store.fn_silent_check("chancery").await.expect("it does not wait").silent, []);
    ticking.commit().await.expect("ticked");
    assert_eq!(store.fn_silent_check("chancery").await.expect("a check").silent, []);

    let watching = Watch::new(&db);
    let mut first = Session::open(&db, Role::App).await;
    first.begin(Isolation::ReadCommitted).await;
    let register = "select queue.fn_heartbeat_tick('loop', 'b', true, '{}', 'chancery')";
    first.run(register).await.expect("registered");
    let mut second = Session::open(&db, Role::App).await;
    let pid = second.pid;
    let waiting = tokio::spawn(async move { second.run(register).await.expect("ticked") });
    watching.until_blocked(pid).await;
    first.commit().await.expect("registered");
    waiting.await.expect("ticked");
    assert_eq!(
        db.text("select ticks_total::text from queue.queue_heartbeat where worker = 'b'").await,
        "2"
    );

    clock_ahead(&db, "1 hour").await;
    let checks: Vec<_> = (0..8)
        .map(|_| {
            let store = store.clone();
            tokio::spawn(async move {
                store.fn_silent_check("chancery").await.expect("a check").silent.len()
            })
        })
        .collect();
    let mut found = 0;
    for check in checks {
        found += check.await.expect("no panic");
    }
    assert_eq!(found, 2, "a and b, once each");
    assert_eq!(db.count("governance.system_issues where occurrence_count = 1").await, 2);

    // Eight workers' worth of recoveries at once close it once.
    let ticks: Vec<_> = (0..8)
        .map(|_| {
            let store = store.clone();
            tokio::spawn(async move { tick(&store, "a", true).await.recovered })
        })
        .collect();
    let mut recovered = 0;
    for tick in ticks {
        recovered += i32::from(tick.await.expect("no panic"));
    }
    assert_eq!(recovered, 1);
    assert_eq!(db.count("event.event_outbox where event_type = 'finding.recovered'").await, 1);
}

/// EVT-3: ticks stay cheap: a tick that changes nothing writes beside its row and touches no index.
#[tokio::test]
async fn ticks_touch_no_index() {
    let (db, store) = governed().await;
    let metadata: Value = json!({ "jobs": 14 });
    for _ in 0..50 {
        let tick = Tick {
            worker_class: "loop",
            worker: "a",
            ok: true,
            metadata: &metadata,
            principal: "chancery",
        };
        store.fn_heartbeat_tick(&tick).await.expect("a tick");
    }
    // One way or another the figures arrive: of the 49 updates nearly all stayed on their page.
    chancery_testkit::until("the statistics tell of 49 updates", || async {
        db.text("select (n_tup_upd = 49 and n_tup_hot_upd >= 45)::text from pg_stat_user_tables where relid = 'queue.queue_heartbeat'::regclass").await == "true"
    })
    .await;
}

/// Retention: the series has partitions for the days ahead, which nobody empties.
#[tokio::test]
async fn the_series_is_partitioned_by_day() {
    let (db, store) = governed().await;
    store.fn_silent_check("chancery").await.expect("a check");
    store.fn_silent_check("chancery").await.expect("another check makes nothing new");
    for table in ["queue.heartbeat_series", "event.consumer_delivery", "event.event_lag_series"] {
        let partitions = db
            .texts(&format!("select relid::regclass::text from pg_partition_tree('{table}') where isleaf order by 1"))
            .await;
        assert_eq!(partitions.len(), 9, "today, seven days ahead and the rest: {partitions:?}");
        let unguarded = db
            .count(&format!(
                "pg_partition_tree('{table}') p where not exists (select from pg_trigger t where t.tgrelid = p.relid and t.tgname = 'is_never_emptied' and t.tgenabled = 'A')"
            ))
            .await;
        assert_eq!(unguarded, 0, "{table}");
    }
    tick(&store, "a", true).await;
    let fallen_through = db.count("queue.heartbeat_series_default").await;
    assert_eq!(fallen_through, 0, "today's row is in today's partition");
}
