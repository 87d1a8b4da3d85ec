//! Jobs come into the queue once, whoever asks how often; and every way to ask wrongly has its code.

use chancery_model::refusal::Code::{self, *};
use chancery_store::queue::NewJob;
use chancery_store::{Error, Role};
use serde_json::{Value, json};
use sqlx::Executor as _;
use uuid::Uuid;

use crate::queue_world::{Yard, by, done, job};
use crate::session::{Isolation, Session};
use crate::support::codes;

/// The code of a refusal and its facts.
#[track_caller]
fn refusal<T: std::fmt::Debug>(answer: Result<T, Error>) -> (Code, Value) {
    let error = answer.expect_err("a refusal");
    let refusal = error.refusal().unwrap_or_else(|| panic!("a refusal, not {error:?}"));
    (refusal.code, Value::Object(refusal.problems[0].facts.clone()))
}

/// EVT-3: the same key in a class is the same job: again, in one list, and when it is done already.
#[tokio::test]
async fn a_key_is_one_job_for_good() {
    let yard = Yard::new().await;
    let first = yard.enqueue(&[job("a"), job("b"), job("a")]).await.expect("jobs");
    assert_eq!(first[0].job_id, first[2].job_id, "twice in one list");
    assert_eq!(first.iter().map(|j| j.replayed).collect::<Vec<_>>(), [false, false, true]);
    assert_eq!(yard.db.count("queue.job_queue").await, 2);
    let again = yard.unchanged(yard.enqueue(&[job("b"), job("a")])).await.expect("the same");
    assert_eq!([again[0].job_id, again[1].job_id], [first[1].job_id, first[0].job_id]);
    assert!(again.iter().all(|j| j.replayed));

    let leased = yard.claim(10).await;
    yard.ack(&leased.iter().map(done).collect::<Vec<_>>()).await;
    let after = yard.unchanged(yard.enqueue(&[job("a")])).await.expect("done before");
    assert_eq!((after[0].job_id, after[0].replayed), (first[0].job_id, true));
    assert_eq!(yard.claim(10).await, [], "nothing is done twice");
    // The same key of another class is another job.
    let other = NewJob { class: "command".to_owned(), ..job("a") };
    let other = yard.enqueue(&[other]).await.expect("a job");
    assert_ne!(other[0].job_id, first[0].job_id);
}

/// EVT-3, RE009: a key with another body is refused, whether its job waits, is done, or stands in the same list; then nothing of the
/// list is taken.
#[tokio::test]
async fn a_key_is_not_used_for_another_job() {
    let yard = Yard::new().await;
    let with = |key: &str, change: fn(&mut NewJob)| {
        let mut job = job(key);
        change(&mut job);
        job
    };
    yard.enqueue(&[job("waits"), job("done")]).await.expect("jobs");
    let leased = yard.claim(2).await;
    yard.ack(&[done(&leased[1])]).await;
    let changes: [fn(&mut NewJob); 5] = [
        |job| job.kind = "other".to_owned(),
        |job| job.payload = Some(json!({ "n": 1 })),
        |job| job.payload_ref = Some("doc/1".to_owned()),
        |job| job.source_ref = Some("doc/1".to_owned()),
        |job| job.target_ref = Some("doc/1".to_owned()),
    ];
    for change in changes {
        for list in [
            vec![job("new"), with("waits", change)],
            vec![job("new"), with("done", change)],
            vec![job("twice"), with("twice", change)],
        ] {
            let key = list[1].key.clone();
            let (code, facts) = refusal(yard.unchanged(yard.enqueue(&list)).await);
            assert_eq!(
                (code, &facts["keys"]),
                (RE009, &json!([{ "class": "noop", "key": key }])),
                "{facts}"
            );
        }
    }
    // What does not make it another job does not matter.
    let later = NewJob { max_attempts: Some(7), delay_ms: Some(1000), ..job("waits") };
    assert!(yard.unchanged(yard.enqueue(&[later])).await.expect("the same job")[0].replayed);
}

/// EVT-3, RE006–RE008: what is wrong with a job is said, with its place; nothing of the list is taken.
#[tokio::test]
async fn a_job_that_is_wrong_is_refused_with_its_place() {
    let yard = Yard::new().await;
    let good = json!({ "class": "noop", "kind": "test", "key": "good" });
    let with = |member: &str, value: Value| {
        let mut job = good.clone();
        job["key"] = json!("bad");
        job[member] = value;
        job
    };
    let long = "x".repeat(20_000);
    let mut both = with("delay_ms", json!(5));
    both["run_at"] = json!("2030-01-01T00:00:00Z");
    let wrong = [
        (RE006, with("class", json!("nobody"))),
        (RE006, with("class", Value::Null)),
        (RE007, with("kind", json!(" "))),
        (RE007, with("kind", json!("x".repeat(201)))),
        (RE007, with("key", json!(""))),
        (RE007, with("key", Value::Null)),
        (RE007, with("priority", json!(-1))),
        (RE007, with("priority", json!("high"))),
        (RE007, with("priority", json!(5_000_000_000_i64))),
        (RE007, with("delay_ms", json!(-1))),
        (RE007, with("delay_ms", json!(1e15))),
        (RE007, both),
        (RE007, with("run_at", json!("infinity"))),
        (RE007, with("run_at", json!("tomorrow-ish"))),
        (RE007, with("max_attempts", json!(0))),
        (RE007, with("max_attempts", json!(1001))),
        (RE007, with("trace_id", json!("00000000000000000000000000000000"))),
        (RE007, with("trace_id", json!("xyz"))),
        (RE007, with("payload", json!([1]))),
        (RE007, with("source_ref", json!(long))),
        (RE007, with("causation_event_id", json!("x"))),
        (RE007, with("replay_request_id", json!(Uuid::now_v7()))),
        (RE007, with("colour", json!("red"))),
        (RE007, json!("a text")),
        (RE008, with("payload", json!({ "deep": [{ "Password": "hunter2" }] }))),
        (RE008, with("payload", json!({ "text": long }))),
    ];
    let mut app = Session::open(&yard.db, Role::App).await;
    let before = yard.db.fingerprint().await;
    for (expected, bad) in wrong {
        let (code, facts) = refusal(list(&mut app, &json!([good, bad])).await);
        assert_eq!(code, expected, "{bad}: {facts}");
        assert!(!facts.to_string().contains("hunter2"), "{facts}");
        if let Some(place) = facts["malformed"].as_array() {
            assert_eq!(place[0]["job"], 2, "{facts}");
        }
    }
    for not_a_list in [json!([]), json!({}), Value::Null] {
        assert_eq!(refusal(list(&mut app, &not_a_list).await).0, RE007);
    }
    let many: Vec<Value> = (0..10_001).map(|_| good.clone()).collect();
    assert_eq!(refusal(list(&mut app, &Value::Array(many)).await).0, RE007);
    assert_eq!(before, yard.db.fingerprint().await, "nothing changed");
}

async fn list(app: &mut Session, jobs: &Value) -> Result<Value, Error> {
    Ok(sqlx::query_scalar("select queue.fn_job_enqueue($1, 'desk', 'pic_human')")
        .bind(jobs)
        .fetch_one(&mut app.connection)
        .await?)
}

/// EVT-3: who may not enqueue is told so; and a snapshot that could not see what was just done is not good enough.
#[tokio::test]
async fn a_job_has_somebody_behind_it_and_a_fresh_look() {
    let yard = Yard::new().await;
    let asked = async |principal: &str, class: &str| {
        codes(yard.store.fn_job_enqueue(&[job("a")], principal, class).await)
    };
    assert_eq!(asked("nobody", "pic_human").await, [RI001]);
    assert_eq!(asked("hall", "pic_human").await, [RI003]);
    assert_eq!(asked("guest", "observer").await, [RI004], "an observer moves nothing");
    assert_eq!(asked("chief", "reviewer").await, [RI003], "no row of the machine is for them");
    for isolation in [Isolation::RepeatableRead, Isolation::Serializable] {
        let mut app = Session::open(&yard.db, Role::App).await;
        app.begin(isolation).await;
        let one = json!([job("a")]);
        assert_eq!(codes(list(&mut app, &one).await), [RS025]);
        app.rollback().await;
    }
    assert_eq!(yard.db.count("queue.job_queue").await, 0);
    yard.admin
        .execute("update fsm.state_machine_def set active = false where scope = 'job'")
        .await
        .expect_err("closed");
    yard.db.forge(&["update fsm.state_machine_def set active = false where scope = 'job'"]).await;
    assert_eq!(codes(yard.enqueue(&[job("a")]).await), [RS018]);
}

/// EVT-3, RE013, RE014: a policy with a negative delay, a class without a policy and the like are refused; what is good is followed
/// from then on.
#[tokio::test]
async fn policies_and_classes_are_data_within_bounds() {
    let yard = Yard::new().await;
    let operator = yard.db.store(Role::Migrator);
    type Policy = (&'static str, i32, i64, f64, i64, f64, &'static str);
    let good: Policy = ("brisk", 3, 10, 2.0, 1000, 0.5, "Three quick tries.");
    let put =
        async |p: Policy| operator.fn_retry_policy_put(p.0, p.1, p.2, p.3, p.4, p.5, p.6).await;
    let wrong: [Policy; 11] = [
        ("Brisk!", 3, 10, 2.0, 1000, 0.5, "d"),
        ("brisk", 0, 10, 2.0, 1000, 0.5, "d"),
        ("brisk", 1001, 10, 2.0, 1000, 0.5, "d"),
        ("brisk", 3, -1, 2.0, 1000, 0.5, "d"),
        ("brisk", 3, 10, 0.5, 1000, 0.5, "d"),
        ("brisk", 3, 10, 101.0, 1000, 0.5, "d"),
        ("brisk", 3, 10, 2.0, 9, 0.5, "d"),
        ("brisk", 3, 10, 2.0, 2_592_000_001, 0.5, "d"),
        ("brisk", 3, 10, 2.0, 1000, -0.1, "d"),
        ("brisk", 3, 10, 2.0, 1000, 1.1, "d"),
        ("brisk", 3, 10, 2.0, 1000, 0.5, " "),
    ];
    for policy in wrong {
        assert_eq!(refusal(yard.unchanged(put(policy)).await).0, RE013, "{policy:?}");
    }
    put(good).await.expect("a policy");
    let class = async |class: &str, policy: &str, lease: i32, bytes: i32| {
        operator.fn_executor_class_put(class, policy, lease, bytes, true, "Posts letters.").await
    };
    for (name, policy, lease, bytes) in [
        ("Post Office", "brisk", 30, 1000),
        ("post", "nothing", 30, 1000),
        ("post", "brisk", 0, 1000),
        ("post", "brisk", 86_401, 1000),
        ("post", "brisk", 30, 1),
        ("post", "brisk", 30, 2_000_000),
    ] {
        let (code, facts) = refusal(yard.unchanged(class(name, policy, lease, bytes)).await);
        assert_eq!((code, &facts["policy"]), (RE014, &json!(policy)));
        assert_eq!(facts["policies"], json!(["brisk", "once", "patient", "standard"]));
    }
    class("post", "brisk", 30, 1000).await.expect("a class");
    let letter = NewJob { class: "post".to_owned(), ..job("a") };
    let id = yard.enqueue(std::slice::from_ref(&letter)).await.expect("a job")[0].job_id;
    assert_eq!(yard.row(id).await.max_attempts, Some(3));
    operator.fn_executor_class_put("post", "brisk", 30, 1000, false, "Shut.").await.expect("shut");
    let (code, facts) = refusal(yard.store.fn_job_claim("post", 1, "w", "hall").await);
    assert_eq!((code, &facts["known"]), (RE006, &json!(["command", "cutter", "http", "noop"])));
    let another = NewJob { key: "b".to_owned(), ..letter };
    assert_eq!(refusal(yard.enqueue(&[another]).await).0, RE006);
    for role in [Role::App, Role::Auditor, Role::CutterExec] {
        let answer = yard.db.store(role).fn_retry_policy_put("x", 1, 0, 1.0, 0, 0.0, "d").await;
        assert!(answer.expect_err("closed").refusal().is_none(), "no right at all");
    }
}

/// EVT-3, RE018: a worker has a name, a claim a number.
#[tokio::test]
async fn a_claim_is_well_formed() {
    let yard = Yard::new().await;
    yard.put("a").await;
    let before = yard.db.fingerprint().await;
    for (limit, worker) in [(0, "w"), (-1, "w"), (5001, "w"), (1, ""), (1, "a b"), (1, "-x")] {
        let (code, _) = refusal(yard.store.fn_job_claim("noop", limit, worker, "hall").await);
        assert_eq!(code, RE018, "{limit} {worker}");
        let turn = yard.store.fn_job_turn("noop", limit, worker, "hall", &[]).await;
        assert_eq!(codes(turn), [RE018]);
    }
    assert_eq!(codes(yard.store.fn_job_extend("a b", "hall", &[]).await), [RE018]);
    assert_eq!(codes(yard.store.fn_job_release("a b", "hall", &[]).await), [RE018]);
    assert_eq!(codes(yard.store.fn_job_claim("noop", 1, "w", "desk").await), [RI003]);
    assert_eq!(codes(yard.store.fn_job_ack("w", "nobody", &[]).await), [RI001]);
    assert_eq!(before, yard.db.fingerprint().await, "nothing changed");
}

/// EVT-3, RE011, RE012: what is not there or done cannot be taken back; a reason is asked for.
#[tokio::test]
async fn what_is_done_cannot_be_taken_back() {
    let yard = Yard::new().await;
    let unknown = Uuid::now_v7();
    let [finished, waiting] = [yard.put("a").await, yard.put("b").await];
    let leased = yard.claim(1).await;
    yard.ack(&[done(&leased[0])]).await;
    let before = yard.db.fingerprint().await;
    for (id, code) in [(unknown, RE011), (finished, RE012)] {
        let (found, facts) = refusal(yard.cancel(id, "c").await);
        assert_eq!((found, &facts["job_id"]), (code, &json!(id)));
        assert_eq!(refusal(yard.dismiss(id).await).0, code);
    }
    // Nothing dead about it; an observer; no reason.
    assert_eq!(codes(yard.dismiss(waiting).await), [RS004]);
    let guest = yard.store.fn_job_cancel(&by(waiting, "guest", "observer", "c")).await;
    assert_eq!(codes(guest), [RS004, RI004]);
    let mut app = yard.db.connect(Role::App).await;
    let silent = format!("select queue.fn_job_cancel('{waiting}', null, 'pic_human', 'desk', 'c')");
    let error = app.execute(sqlx::AssertSqlSafe(silent)).await.expect_err("no reason");
    assert_eq!(crate::hardening::sqlstate(&error), "RS006");
    assert_eq!(before, yard.db.fingerprint().await, "nothing changed");
}
