//! After the commit: the watchdog that expires, and the handoff that meets every birth once and undoes none.

use chancery_store::{Error, Role};
use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, Executor as _};

use crate::birth_world::{BORN, Policy, Shop};
use crate::governance_world::{clock_ahead, setting};
use crate::support::codes;

async fn pass(shop: &Shop) -> Value {
    let mut app = shop.db.connect(Role::App).await;
    sqlx::query_scalar("select birth.fn_birth_handoff('chancery')")
        .fetch_one(&mut app)
        .await
        .expect("a pass")
}

fn handed(handed: i64) -> Value {
    json!({ "handed": handed, "waiting": 0, "more": false })
}

async fn watch(shop: &Shop, limit: i32) -> Value {
    let mut app = shop.db.connect(Role::App).await;
    sqlx::query_scalar("select birth.fn_permit_watchdog($1, 'chancery')")
        .bind(limit)
        .fetch_one(&mut app)
        .await
        .expect("a pass")
}

async fn born(shop: &Shop, code: &str) {
    shop.permits("shop.film", &[code]).await;
    shop.write(&[&film(code)]).await.expect("born");
}

fn film(code: &str) -> String {
    format!("insert into shop.film (code, title) values ('{code}', 'x')")
}

/// The event by which births are announced is switched.
async fn active(shop: &Shop, active: bool) {
    shop.as_owner(&format!("update event.event_type_registry set active = {active} where event_type = 'handoff.object_born'")).await;
}

/// Each birth has one candidate, and each candidate as many events as it was announced: none or one.
async fn candidates(shop: &Shop) -> String {
    shop.db
        .text(
            "select string_agg(concat_ws(' ', c.object_type, c.object_ref, c.state, e.n), ',' order by c.object_ref)
               from birth.birth_registry b left join governance.governance_candidate_state c using (birth_id)
               left join lateral (select count(*) as n from event.event_outbox o where o.subject_id = c.candidate_id and o.event_type = 'handoff.object_born') e on true
              where b.collection_name like 'shop.%'",
        )
        .await
}

/// ADM-7: every birth is handed over once, in the order of commits: also one whose transaction is older than a pass and commits after it.
#[tokio::test]
async fn a_late_commit_is_handed_over_once() {
    let shop = Shop::enforced().await;
    shop.permits("shop.film", &["L-1"]).await;
    let mut late = shop.db.connect(Role::BirthWriter).await;
    late.execute("begin").await.expect("a transaction");
    late.execute(AssertSqlSafe(film("L-1"))).await.expect("inserted");
    born(&shop, "A-1").await;
    born(&shop, "A-2").await;
    assert_eq!(pass(&shop).await, handed(2));
    assert_eq!(pass(&shop).await, handed(0));
    born(&shop, "A-3").await;
    late.execute("commit").await.expect("born");
    born(&shop, "A-4").await;
    assert_eq!(pass(&shop).await, handed(3));
    assert_eq!(pass(&shop).await, handed(0));
    assert_eq!(
        candidates(&shop).await,
        ["A-1", "A-2", "A-3", "A-4", "L-1"]
            .map(|code| format!("shop.film {code} announced 1"))
            .join(",")
    );
    let told: Value = shop.one("select payload from event.event_outbox where event_type = 'handoff.object_born' limit 1").await;
    let mut keys: Vec<&String> = told.as_object().expect("an object").keys().collect();
    keys.sort();
    assert_eq!(
        keys,
        ["birth_id", "change_kind", "governance_role", "object_ref", "object_type"],
        "references and no bodies"
    );
    shop.is_sound().await;
}

/// ADM-7: passes at once, while births go on: each birth once.
#[tokio::test]
async fn passes_at_once_hand_each_birth_over_once() {
    let shop = Shop::enforced().await;
    setting(&shop.db, "birth.handoff.max_batch", "7").await;
    let all: Vec<String> = (0..60).map(|n| format!("P-{n}")).collect();
    shop.permits("shop.film", &all.iter().map(String::as_str).collect::<Vec<_>>()).await;
    let mut tasks = Vec::new();
    for chunk in all.chunks(15) {
        let (mut writer, chunk) = (shop.db.connect(Role::BirthWriter).await, chunk.to_vec());
        tasks.push(tokio::spawn(async move {
            for code in chunk {
                writer.execute(AssertSqlSafe(film(&code))).await.expect("born");
            }
            0
        }));
    }
    for _ in 0..4 {
        let mut app = shop.db.connect(Role::App).await;
        tasks.push(tokio::spawn(async move {
            let mut count = 0;
            for _ in 0..10 {
                let report: Value = sqlx::query_scalar("select birth.fn_birth_handoff('chancery')")
                    .fetch_one(&mut app)
                    .await
                    .expect("a pass");
                count += report["handed"].as_i64().expect("a number");
            }
            count
        }));
    }
    let mut count = 0;
    for task in tasks {
        count += task.await.expect("no panic");
    }
    loop {
        let report = pass(&shop).await;
        count += report["handed"].as_i64().expect("a number");
        if report["more"] == json!(false) {
            break;
        }
    }
    assert_eq!(count, 60);
    assert_eq!(shop.db.count("governance.governance_candidate_state").await, 60);
    assert_eq!(
        shop.db.count("event.event_outbox where event_type = 'handoff.object_born'").await,
        60
    );
    shop.is_sound().await;
}

/// ADM-7: a pass takes so many and says that there are more; what was handed over in another cluster is passed by.
#[tokio::test]
async fn a_pass_says_whether_there_is_more() {
    let shop = Shop::enforced().await;
    setting(&shop.db, "birth.handoff.max_batch", "2").await;
    for n in 0..5 {
        born(&shop, &format!("A-{n}")).await;
    }
    assert_eq!(pass(&shop).await, json!({ "handed": 2, "waiting": 0, "more": true }));
    assert_eq!(pass(&shop).await, json!({ "handed": 2, "waiting": 0, "more": true }));
    assert_eq!(pass(&shop).await, handed(1));
    shop.as_owner("update birth.handoff_cursor set system_identifier = 1").await;
    assert_eq!(
        pass(&shop).await,
        handed(0),
        "numbers of another cluster mean nothing, candidates do"
    );
    shop.as_owner("update birth.handoff_cursor set system_identifier = 1, seen_snapshot = '900000000:900000000:'").await;
    born(&shop, "A-6").await;
    assert_eq!(pass(&shop).await, handed(1), "not even where they are ahead of ours");
}

/// ADM-7: while the event is inactive its announcement waits in event_pending; when it is active it is emitted, once. The birth stands.
#[tokio::test]
async fn an_announcement_waits_for_its_event() {
    let shop = Shop::enforced().await;
    active(&shop, false).await;
    born(&shop, "F-9").await;
    assert_eq!(pass(&shop).await, json!({ "handed": 1, "waiting": 1, "more": false }));
    assert_eq!(pass(&shop).await, handed(0));
    assert_eq!(
        (shop.film("F-9").await.as_str(), candidates(&shop).await.as_str()),
        (BORN, "shop.film F-9 received 0")
    );
    assert_eq!(shop.db.text("select concat_ws(' ', event_type, subject_kind, state, attempts, reason) from event.event_pending").await, "handoff.object_born governance_candidate pending 0 RE001");
    let store = shop.db.store(Role::App);
    let tried = store.fn_event_pending_retry(10, "chancery").await.expect("a pass");
    assert_eq!((tried.emitted, tried.waiting), (0, 1));
    active(&shop, true).await;
    clock_ahead(&shop.db, "1 hour").await;
    let tried = store.fn_event_pending_retry(10, "chancery").await.expect("a pass");
    assert_eq!((tried.emitted, tried.waiting), (1, 0));
    assert_eq!(candidates(&shop).await, "shop.film F-9 announced 1");
    clock_ahead(&shop.db, "1 day").await;
    assert_eq!(store.fn_event_pending_retry(10, "chancery").await.expect("a pass").emitted, 0);
    assert_eq!(pass(&shop).await, handed(0));
    assert_eq!(shop.findings().await, Vec::<String>::new());
    shop.is_sound().await;
}

/// ADM-6, ADM-7: an announcement that can never be made is dead after its tries, and a finding; so is one that may not even wait. The births
/// stand.
#[tokio::test]
async fn an_announcement_dies_and_the_birth_stands() {
    let shop = Shop::enforced().await;
    setting(&shop.db, "event_pending.max_attempts", "2").await;
    active(&shop, false).await;
    born(&shop, "F-9").await;
    assert_eq!(pass(&shop).await["waiting"], 1);
    let store = shop.db.store(Role::App);
    for hours in 1..=2 {
        clock_ahead(&shop.db, &format!("{hours} hours")).await;
        store.fn_event_pending_retry(10, "chancery").await.expect("a pass");
    }
    assert_eq!(shop.db.text("select state from event.event_pending").await, "dead");
    assert_eq!(
        shop.db.texts("select issue_type from governance.system_issues").await,
        [Some("handoff_dlq".to_owned())]
    );
    assert_eq!(
        (shop.film("F-9").await.as_str(), candidates(&shop).await.as_str()),
        (BORN, "shop.film F-9 received 0")
    );

    active(&shop, true).await;
    shop.as_owner("update event.event_type_registry set payload_schema = '{\"type\": \"object\", \"required\": [\"never\"]}' where event_type = 'handoff.object_born'").await;
    born(&shop, "F-10").await;
    assert_eq!(pass(&shop).await, json!({ "handed": 1, "waiting": 1, "more": false }));
    let birth = shop
        .db
        .text("select birth_id::text from birth.birth_registry where entity_code = 'F-10'")
        .await;
    assert!(
        shop.findings().await.contains(&format!("handoff_dlq {birth}")),
        "{:?}",
        shop.findings().await
    );
    assert_eq!((shop.film("F-10").await.as_str(), pass(&shop).await), (BORN, handed(0)));
    shop.is_sound().await;
}

/// ADM-4, ADM-7: births without a permit are a finding of their family, made by the pass that meets them, so that no birth waits for one.
#[tokio::test]
async fn a_missing_permit_is_a_finding() {
    let shop = Shop::open().await;
    shop.protect("shop.film", &Policy::reported("code")).await.expect("protected");
    shop.protect("shop.ticket", &Policy::enforced("code")).await.expect("protected");
    shop.write(&[&film("F-3"), &film("F-4")]).await.expect("only reported");
    assert_eq!(shop.findings().await, Vec::<String>::new(), "a birth does not wait for findings");
    assert_eq!(pass(&shop).await, handed(2));
    assert_eq!(shop.findings().await, ["permit_missing shop.film"]);
    let said = "select concat_ws(' ', severity, evidence ->> 'births', evidence ->> 'code', evidence ->> 'login', occurrence_count) from governance.system_issues";
    assert_eq!(shop.db.text(said).await, "warning 2 F-3 birth_writer 1");
    pass(&shop).await;
    assert_eq!(shop.db.text(said).await, "warning 2 F-3 birth_writer 1", "once");
    shop.write(&[&film("F-5")]).await.expect("only reported");
    pass(&shop).await;
    assert_eq!(shop.db.text(said).await, "warning 1 F-5 birth_writer 2");
    let violations = shop.db.text("select string_agg(entity_code || ' ' || violation, ',' order by entity_code) from birth.v_birth_admission_violation").await;
    assert_eq!(violations, "F-3 permit_missing,F-4 permit_missing,F-5 permit_missing");
}

/// ADM-6: the watchdog expires what is past its time, so many a pass, and says so; the view counts permits by where they stand.
#[tokio::test]
async fn the_watchdog_expires_and_tells() {
    let shop = Shop::open().await;
    shop.protect("shop.film", &Policy { ttl: Some(60), ..Policy::enforced("code") })
        .await
        .expect("protected");
    shop.protect("shop.ticket", &Policy { ttl: Some(3600), ..Policy::enforced("code") })
        .await
        .expect("protected");
    shop.permits("shop.film", &["F-3", "F-4", "F-5"]).await;
    shop.permits("shop.ticket", &["3"]).await;
    born(&shop, "F-6").await;
    assert_eq!(watch(&shop, 10).await, json!({ "expired": 0, "more": false }));
    clock_ahead(&shop.db, "61 seconds").await;
    let status = "select string_agg(concat_ws(' ', collection_name, status, permits), ',' order by collection_name, status) from birth.v_birth_admission_permit_status";
    assert_eq!(
        shop.db.text(status).await,
        "shop.film FINALIZED 1,shop.film RESERVED_AGED 3,shop.ticket RESERVED 1"
    );
    assert_eq!(watch(&shop, 2).await, json!({ "expired": 2, "more": true }));
    assert_eq!(watch(&shop, 2).await, json!({ "expired": 1, "more": false }));
    assert_eq!(watch(&shop, 2).await, json!({ "expired": 0, "more": false }));
    assert_eq!(
        shop.db.text(status).await,
        "shop.film EXPIRED 3,shop.film FINALIZED 1,shop.ticket RESERVED 1"
    );
    assert_eq!(shop.findings().await, ["birth_permit_expired shop.film"]);
    assert_eq!(
        shop.film("F-3").await,
        "rows 0 | permits EXPIRED | births - | log RESERVED>EXPIRED | told reserved,expired"
    );
    shop.is_sound().await;
}

/// ADM-6: a watchdog that slept is a finding of its own, until it keeps up again.
#[tokio::test]
async fn a_silent_watchdog_is_a_finding() {
    let shop = Shop::open().await;
    shop.protect("shop.film", &Policy { ttl: Some(60), ..Policy::enforced("code") })
        .await
        .expect("protected");
    shop.permits("shop.film", &["F-3", "F-4"]).await;
    clock_ahead(&shop.db, "10 minutes").await;
    assert_eq!(watch(&shop, 1).await, json!({ "expired": 1, "more": true }));
    assert!(shop.findings().await.contains(&"birth_permit_silent_gap permits".to_owned()));
    watch(&shop, 10).await;
    assert!(
        shop.findings().await.contains(&"birth_permit_silent_gap permits".to_owned()),
        "the rest was late as well"
    );
    watch(&shop, 10).await;
    assert_eq!(shop.findings().await, ["birth_permit_expired shop.film"]);
    let ended = shop.db.text("select state from governance.system_issues where issue_type = 'birth_permit_silent_gap'").await;
    assert_eq!(ended, "healed");
}

/// ADM-6: a permit that is being taken when the watchdog comes is the insert's. The watchdog does not wait for it, which could close a
/// circle with somebody who waits for what it holds; it comes again, and expires what was given back.
#[tokio::test]
async fn the_watchdog_leaves_a_permit_in_use() {
    let shop = Shop::open().await;
    shop.protect("shop.film", &Policy { ttl: Some(60), ..Policy::enforced("code") })
        .await
        .expect("protected");
    shop.permits("shop.film", &["F-7", "F-8", "F-9"]).await;
    let mut writer = shop.db.connect(Role::BirthWriter).await;
    let mut fickle = shop.db.connect(Role::BirthWriter).await;
    for (writer, code) in [(&mut writer, "F-9"), (&mut fickle, "F-8")] {
        writer.execute("begin").await.expect("a transaction");
        writer.execute(AssertSqlSafe(film(code))).await.expect("in time");
    }
    clock_ahead(&shop.db, "2 minutes").await;
    assert_eq!(
        watch(&shop, 10).await,
        json!({ "expired": 1, "more": false }),
        "the one that nobody uses"
    );
    writer.execute("commit").await.expect("born");
    fickle.execute("rollback").await.expect("given back");
    assert_eq!(watch(&shop, 10).await, json!({ "expired": 1, "more": false }), "what came back");
    assert_eq!(shop.film("F-9").await, BORN);
    shop.is_sound().await;
}

/// ADM-6, ADM-7, SEC-3: these are the system's doors, behind the product's login.
#[tokio::test]
async fn only_the_system_watches_and_hands_over() {
    let shop = Shop::enforced().await;
    let before = shop.everything().await;
    for door in [
        "select birth.fn_birth_handoff('clerk')",
        "select birth.fn_permit_watchdog(1, 'clerk')",
        "select birth.fn_birth_handoff(null)",
    ] {
        let answer = codes(shop.run(Role::App, &[door]).await);
        assert!(answer[0].as_str().starts_with("RI"), "{door}: {answer:?}");
    }
    for role in [Role::BirthWriter, Role::CutterExec, Role::Auditor] {
        for door in [
            "select birth.fn_birth_handoff('chancery')",
            "select birth.fn_permit_watchdog(1, 'chancery')",
        ] {
            let answer = shop.run(role, &[door]).await.expect_err("not its door");
            assert!(matches!(answer, Error::Denied(_)), "{role:?} {door}: {answer:?}");
        }
    }
    assert_eq!(before, shop.everything().await, "nothing changed");
}
