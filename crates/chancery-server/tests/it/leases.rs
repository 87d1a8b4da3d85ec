//! EVT-4: the lease protocol, as a worker in any language speaks it.

use std::time::Duration;

use chancery_testkit::{shipped, until};
use serde_json::{Value, json};

use crate::scene::{Answer, Scene};

fn job(key: &str) -> Value {
    json!({ "class": "noop", "kind": "trial", "key": key, "payload": { "n": 1 } })
}

async fn enqueue(scene: &Scene, keys: &[&str]) {
    let jobs: Vec<Value> = keys.iter().map(|key| job(key)).collect();
    scene.post("/v1/queue/jobs", &json!({ "jobs": jobs })).await.is(201);
}

async fn claim(scene: &Scene, limit: u32) -> Vec<Value> {
    let asked = json!({ "worker": "w1", "limit": limit });
    let answer = scene.post("/v1/queue/noop/claim", &asked).await;
    answer.is(200).body["jobs"].as_array().expect("jobs").clone()
}

fn lease(job: &Value) -> Value {
    json!({ "job_id": job["job_id"], "lease_no": job["lease_no"] })
}

fn result(job: &Value, outcome: &str) -> Value {
    json!({ "job_id": job["job_id"], "lease_no": job["lease_no"], "outcome": outcome, "detail": { "seen": 1 } })
}

async fn ack(scene: &Scene, worker: &str, results: &[Value]) -> Answer {
    scene.post("/v1/queue/ack", &json!({ "worker": worker, "results": results })).await
}

async fn state(scene: &Scene, job: &Value) -> String {
    let id = job["job_id"].as_str().expect("an id").parse().expect("an id");
    scene.store.job(id).await.expect("an answer").expect("the job").state
}

/// Enqueued once by its key, leased, kept, reported on once; a late result is a conflict.
#[tokio::test]
async fn a_job_goes_from_its_key_to_its_result() {
    let scene = Scene::new().await;
    let jobs = json!({ "jobs": [job("k")] });
    let first = scene.post("/v1/queue/jobs", &jobs).await;
    assert_eq!(first.is(201).body["jobs"][0]["replayed"], false);
    let again = scene.post("/v1/queue/jobs", &jobs).await;
    assert_eq!(again.is(200).body["jobs"][0]["replayed"], true);
    assert_eq!(first.body["jobs"][0]["job_id"], again.body["jobs"][0]["job_id"]);

    let got = claim(&scene, 5).await;
    assert_eq!(got.len(), 1, "{got:?}");
    let mine = &got[0];
    assert_eq!(
        (&mine["kind"], &mine["payload"]["n"], &mine["lease_no"]),
        (&"trial".into(), &1.into(), &1.into())
    );
    assert!(mine["lease_until"].as_str().is_some_and(|at| at.ends_with('Z')), "{mine}");
    assert!(claim(&scene, 5).await.is_empty(), "it is leased");

    let kept = json!({ "worker": "w1", "leases": [lease(mine), { "job_id": mine["job_id"], "lease_no": 9 }] });
    let kept = scene.post("/v1/queue/extend", &kept).await;
    assert_eq!(kept.is(200).body["kept"], json!([mine["job_id"]]));
    assert_eq!(state(&scene, mine).await, "in_progress");

    let late = json!({ "job_id": mine["job_id"], "lease_no": 9, "outcome": "succeeded" });
    let refused = ack(&scene, "w1", std::slice::from_ref(&late)).await;
    assert_eq!(refused.is_refusal(409, "RE010").body["problems"][0]["newest_lease_no"], 1);
    let accepted = ack(&scene, "w1", &[result(mine, "succeeded")]).await;
    assert_eq!(accepted.is(200).body, json!({ "accepted": 1, "replayed": 0, "refused": [] }));
    let twice = ack(&scene, "w1", &[result(mine, "succeeded")]).await;
    assert_eq!(twice.is(200).body["replayed"], 1);
    assert_eq!(state(&scene, mine).await, "succeeded");

    let nobody = json!({ "job_id": "01a1decd-0b7f-736d-9439-d078b0a6b934", "lease_no": 1, "outcome": "failed" });
    ack(&scene, "w1", std::slice::from_ref(&nobody)).await.is_refusal(404, "RE011");
    // In a batch the late ones stand in the report, beside what was taken.
    let batch = ack(&scene, "w1", &[late, nobody]).await;
    assert_eq!(batch.is(200).body["refused"].as_array().map(Vec::len), Some(2), "{batch:?}");
}

/// A turn reports and leases at once; what was not started can be given back.
#[tokio::test]
async fn a_turn_reports_and_leases_and_a_release_gives_back() {
    let scene = Scene::new().await;
    enqueue(&scene, &["a", "b"]).await;
    let first = claim(&scene, 1).await;
    let turn = json!({ "class": "noop", "worker": "w1", "limit": 1, "results": [result(&first[0], "succeeded")] });
    let turned = scene.post("/v1/queue/turn", &turn).await;
    assert_eq!(turned.is(200).body["report"]["accepted"], 1);
    let second = &turned.body["jobs"][0];
    assert_ne!(second["job_id"], first[0]["job_id"]);

    let back = json!({ "worker": "w1", "leases": [lease(second)] });
    assert_eq!(scene.post("/v1/queue/release", &back).await.is(200).body["released"], 1);
    assert_eq!(state(&scene, second).await, "queued");
    let again = claim(&scene, 1).await;
    assert_eq!((&again[0]["lease_no"], &again[0]["attempt"]), (&2.into(), &1.into()));
    let failed = ack(&scene, "w1", &[result(&again[0], "failed_for_good")]).await;
    assert_eq!(failed.is(200).body["accepted"], 1);
    assert_eq!(state(&scene, second).await, "dead_letter");
}

/// A long poll gets a job that comes later, whoever enqueued it, and ends with the process.
#[tokio::test]
async fn a_long_poll_gets_what_comes_later() {
    let scene = Scene::new().await;
    let host = scene.host.clone();
    let wakes = tokio::spawn(async move { host.look_after_guests().await });
    let long = json!({ "worker": "w1", "wait_ms": 30_000 });
    let wait = || scene.post("/v1/queue/noop/claim", &long);
    let by_hand = async {
        let job = serde_json::from_value(job("later")).expect("a job");
        scene.store.fn_job_enqueue(&[job], "chancery", "system").await.expect("a job");
    };
    let (answer, ()) = tokio::join!(wait(), by_hand);
    assert_eq!(answer.is(200).body["jobs"].as_array().map(Vec::len), Some(1), "{answer:?}");

    let short = scene.post("/v1/queue/noop/claim", &json!({ "worker": "w1", "wait_ms": 1 })).await;
    assert_eq!(short.is(200).body["jobs"], json!([]), "nothing came in time");

    let mut waiting = Box::pin(wait());
    tokio::select! {
        answer = &mut waiting => panic!("there is nothing: {answer:?}"),
        () = tokio::task::yield_now() => {}
    }
    scene.stop.send_replace(true);
    let ended = tokio::time::timeout(Duration::from_secs(10), waiting).await.expect("it ends");
    assert_eq!(ended.is(200).body["jobs"], json!([]));
    wakes.await.expect("it ends as well");
    scene.post("/v1/queue/noop/claim", &long).await.is_problem(503, "stopping");
}

/// A caller who is gone before it has its jobs does not keep them.
#[tokio::test]
async fn jobs_of_a_caller_who_is_gone_are_given_back() {
    let scene = Scene::new().await;
    enqueue(&scene, &["k"]).await;
    let admin = scene.db.hold("lock table queue.lane in access exclusive mode").await;
    let asked = json!({ "worker": "gone" });
    let mut request = Box::pin(scene.post("/v1/queue/noop/claim", &asked));
    let blocked = "select count(*)::text from pg_locks l join pg_database d on d.oid = l.database
                    where not l.granted and d.datname = current_database()";
    tokio::select! {
        answer = &mut request => panic!("the lane is locked: {answer:?}"),
        () = until("the claim waits", async || scene.db.text(blocked).await == "1") => {}
    }
    drop(request);
    admin.let_go().await;
    let job = "select state || ' ' || lease_no || ' ' || attempts from queue.job_queue";
    until("it is given back", async || scene.db.text(job).await == "queued 1 0").await;
}

/// RUN-18: a worker over HTTP is seen with the others, is found when it falls silent, and is not missed when it leaves.
#[tokio::test]
async fn a_worker_over_http_has_a_heartbeat() {
    let scene = Scene::new().await;
    for machine in shipped() {
        scene.db.definition(&machine).await;
    }
    let beat = async |more: Value| {
        let mut body = json!({ "worker": "w1" });
        body.as_object_mut().expect("an object").extend(more.as_object().expect("one").clone());
        scene.post("/v1/queue/noop/heartbeat", &body).await
    };
    let seen = async || {
        let query = "select worker_class || ' ' || worker || ' ' || executor_kind || ' ' || status || ' ' || ticks_total from queue.queue_heartbeat";
        scene.db.texts(query).await
    };
    let first = beat(json!({ "metadata": { "version": "1.4.0" } })).await;
    assert_eq!(first.is(200).body["worker"], "chancery/w1");
    assert_eq!(first.body["status"], "ok");
    assert_eq!(beat(json!({ "ok": false })).await.is(200).body["status"], "warn");
    assert_eq!(seen().await, [Some("noop chancery/w1 external_worker warn 2".to_owned())]);

    // What is malformed changes nothing.
    for (path, body, status, code) in [
        ("/v1/queue/none/heartbeat", json!({ "worker": "w1" }), 404, "RE006"),
        ("/v1/queue/noop/heartbeat", json!({ "worker": "a b" }), 422, "RE018"),
        (
            "/v1/queue/noop/heartbeat",
            json!({ "worker": "w1", "metadata": { "password": "x" } }),
            422,
            "RE022",
        ),
    ] {
        let refused = scene.post(path, &body).await;
        assert_eq!(
            (refused.status.as_u16(), &refused.body["code"]),
            (status, &json!(code)),
            "{body}"
        );
    }
    assert_eq!(seen().await, [Some("noop chancery/w1 external_worker warn 2".to_owned())]);

    // It says nothing for longer than its class may, and comes back.
    let late = "update queue.queue_heartbeat set last_tick_at = last_tick_at - interval '1 day'";
    assert_eq!(scene.db.forge(&[late]).await, 1);
    scene.store.fn_silent_check("chancery").await.expect("looked for");
    assert_eq!(seen().await, [Some("noop chancery/w1 external_worker silent 2".to_owned())]);
    let silent = "select count(*)::text from governance.vw_governance_silent_workers where item_id like '%chancery/w1%'";
    assert_eq!(scene.db.text(silent).await, "1");
    let back = beat(json!({})).await;
    assert_eq!(
        (&back.is(200).body["status"], &back.body["recovered"]),
        (&json!("ok"), &json!(true))
    );
    assert_eq!(beat(json!({ "leaving": true })).await.is(200).body["removed"], true);
    assert_eq!(seen().await, []);
}
