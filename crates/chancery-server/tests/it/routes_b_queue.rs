//! EVT-4, UIG: dead letters, replays, workers, lag and permits over HTTP.

use chancery_engine::approval::{self, Decision};
use chancery_engine::queue::people::approval_of;
use chancery_store::birth::NewFamily;
use chancery_testkit::shipped;
use serde_json::{Value, json};
use sqlx::Executor as _;
use uuid::Uuid;

use crate::person::Person;
use crate::routes_b::plain;
use crate::scene::Scene;

async fn machines(scene: &Scene, names: &[&str]) {
    for machine in shipped().iter().filter(|machine| names.contains(&machine.machine.as_str())) {
        scene.db.definition(machine).await;
    }
}

/// A worker with a token of its own works; its jobs die; people see why, set one aside, and run another again.
#[tokio::test]
async fn dead_jobs_are_seen_dismissed_and_run_again() {
    let scene = Scene::new().await;
    let scene = &scene;
    machines(scene, &["dlq_replay"]).await;
    let alice = Person::new(scene, "alice", "human", &["pic_human"]).await;
    let bob = Person::new(scene, "bob", "human", &["reviewer"]).await;
    let sid = Person::new(scene, "sid", "human", &["sovereign"]).await;
    let hand = Person::new(scene, "hand", "service", &["executor_worker"]).await;

    let jobs: Vec<Value> = (0..3).map(|n| json!({ "class": "noop", "kind": "trial", "key": format!("k{n}"), "payload": { "n": n } })).collect();
    hand.ask(scene, "POST", "/v1/queue/jobs", &[], json!({ "jobs": jobs })).await.is(201);
    let claim = json!({ "worker": "w1", "limit": 3 });
    let claimed = hand.ask(scene, "POST", "/v1/queue/noop/claim", &[], claim.clone()).await;
    let results: Vec<Value> = claimed.is(200).body["jobs"].as_array().expect("jobs").iter().map(|job| {
        json!({ "job_id": job["job_id"], "lease_no": job["lease_no"], "outcome": "failed_for_good", "detail": { "reason": "no such file" } })
    }).collect();
    assert_eq!(results.len(), 3);
    let ack = json!({ "worker": "w1", "results": results });
    assert_eq!(
        hand.ask(scene, "POST", "/v1/queue/ack", &[], ack).await.is(200).body["accepted"],
        3
    );
    alice.ask(scene, "POST", "/v1/queue/noop/claim", &[], claim).await.is_refusal(403, "RI040");

    let queue = alice.get(scene, "/v1/queue").await;
    assert_eq!(queue.is(200).body["dead_letters"], 3, "{queue:?}");
    let first = alice.get(scene, "/v1/queue/dead?limit=2&class=noop").await;
    let next = first.is(200).body["next"].as_str().expect("more").to_owned();
    let second = alice.get(scene, &format!("/v1/queue/dead?limit=2&class=noop&after={next}")).await;
    let ids: Vec<String> = [&first, &second]
        .iter()
        .flat_map(|page| page.body["items"].as_array().expect("items").clone())
        .map(|one| one["job_id"].as_str().expect("an id").to_owned())
        .collect();
    assert!(ids.len() == 3 && ids[0] != ids[1] && ids[1] != ids[2] && ids[0] != ids[2], "{ids:?}");
    assert_eq!(alice.get(scene, "/v1/queue/dead?class=other").await.body["items"], json!([]));

    let shown = alice.get(scene, &format!("/v1/queue/dead/{}", ids[0])).await;
    assert_eq!(shown.is(200).body["letter"]["reason"], "no such file", "{shown:?}");
    assert!(
        shown.body["against_replay"].is_null() && shown.body["payload"]["n"].is_number(),
        "{shown:?}"
    );
    let nobody = Uuid::now_v7().simple();
    alice.get(scene, &format!("/v1/queue/dead/job_{nobody}")).await.is_refusal(404, "RE011");
    alice.get(scene, &format!("/v1/queue/jobs/job_{nobody}")).await.is_refusal(404, "RE011");
    assert_eq!(
        alice.get(scene, &format!("/v1/queue/jobs/{}", ids[0])).await.is(200).body["job"]["state"],
        "dead_letter"
    );

    // Set aside by who may.
    let reason = json!({ "reason": "the order was cancelled" });
    let path = format!("/v1/queue/dead/{}/dismiss", ids[0]);
    let before = scene.db.fingerprint().await;
    let refused = alice.done(scene, &path, "d0", &reason).await;
    assert!([403, 422, 409].contains(&refused.status.as_u16()), "{refused:?}");
    bob.post(scene, &path, "d1", &json!({})).await.is_problem(422, "request_invalid");
    assert_eq!(scene.db.fingerprint().await, before, "nothing changed");
    bob.done(scene, &path, "d1", &reason).await.is(200);
    bob.done(scene, &path, "d1", &reason).await.is(200);
    let all = alice.get(scene, "/v1/queue/dead?state=all").await;
    assert_eq!(all.body["items"].as_array().expect("letters").len(), 3);
    assert_eq!(
        alice.get(scene, "/v1/queue/dead").await.body["items"].as_array().expect("letters").len(),
        2
    );

    // Run again once another approved it.
    let propose =
        json!({ "jobs": [ids[1], ids[2]], "reason": "the file is there now", "stagger_ms": 0 });
    let proposed = alice.done(scene, "/v1/replays", "r1", &propose).await;
    let batch = proposed.is(201).body["batch_id"].as_str().expect("a batch").to_owned();
    let approval = approval_of(plain(&batch));
    let run = json!({ "approval_id": format!("apr_{}", approval.simple()) });
    let path = format!("/v1/replays/{batch}/run");
    let early = alice.done(scene, &path, "r2", &run).await;
    assert!([409, 422].contains(&early.status.as_u16()), "{early:?}");
    approval::vote(&scene.store, &sid.actor(), "sovereign", approval, Decision::Approve, None)
        .await
        .expect("a vote");
    let ran = alice.done(scene, &path, "r2", &run).await;
    assert!(
        ran.is(200).body["requests"]
            .as_array()
            .expect("requests")
            .iter()
            .all(|one| one["replay_job_id"].is_string()),
        "{ran:?}"
    );
    let shown = alice.get(scene, &format!("/v1/replays/{batch}")).await;
    assert_eq!(shown.is(200).body["requests"].as_array().expect("requests").len(), 2);
    alice.get(scene, &format!("/v1/replays/bat_{nobody}")).await.is_problem(404, "not_found");

    alice.get(scene, "/v1/workers").await.is(200);
    assert!(alice.get(scene, "/v1/lag?minutes=5").await.is(200).body["pairs"].is_array());
    alice.get(scene, "/v1/lag?minutes=0").await.is_problem(400, "query_invalid");
}

/// Permits are asked for, signed, once; and taken back by somebody else.
#[tokio::test]
async fn permits_are_asked_for_and_taken_back() {
    let scene = Scene::new().await;
    let scene = &scene;
    machines(scene, &["birth_permit"]).await;
    let alice = Person::new(scene, "alice", "human", &["pic_human"]).await;
    let bob = Person::new(scene, "bob", "human", &["reviewer"]).await;
    let mut admin = scene.db.superuser().await;
    admin.execute("create schema shop").await.expect("a schema");
    admin
        .execute("create table shop.film (code text primary key, title text)")
        .await
        .expect("a table");
    let family = NewFamily {
        table: "shop.film".to_owned(),
        code_column: Some("code".to_owned()),
        enforce: true,
        ..NewFamily::default()
    };
    scene.db.target().fn_family_put(&family, "chancery").await.expect("a family");

    let families = alice.get(scene, "/v1/births/families").await;
    assert!(families.is(200).body.to_string().contains("shop.film"), "{families:?}");
    let body =
        json!({ "collection": "shop.film", "objects": [{ "code": "F-1" }, { "code": "F-2" }] });
    let before = scene.db.fingerprint().await;
    let asked = alice.post(scene, "/v1/births/permits", "b1", &body).await;
    assert_eq!(
        asked.body["to_sign"]["statements"].as_array().expect("statements").len(),
        2,
        "{asked:?}"
    );
    let none = json!({ "collection": "shop.none", "objects": [{ "code": "F-1" }] });
    alice.post(scene, "/v1/births/permits", "b0", &none).await.is_refusal(404, "RB002");
    assert_eq!(scene.db.fingerprint().await, before, "nothing changed");
    let made = alice.done(scene, "/v1/births/permits", "b1", &body).await;
    assert_eq!(made.is(201).body["reserved"], 2, "{made:?}");
    let again = alice.done(scene, "/v1/births/permits", "b1", &body).await;
    assert_eq!(again.is(201).body["reserved"], 0, "they are there");

    let page =
        alice.get(scene, "/v1/births/permits?limit=1&collection=shop.film&status=RESERVED").await;
    let next = page.is(200).body["next"].as_str().expect("more").to_owned();
    let rest = alice.get(scene, &format!("/v1/births/permits?limit=1&after={next}")).await;
    let (one, other) =
        (&page.body["items"][0]["permit_id"], &rest.is(200).body["items"][0]["permit_id"]);
    assert!(one != other && one.is_string() && other.is_string(), "{page:?} {rest:?}");
    let id = one.as_str().expect("an id");
    let shown = bob.get(scene, &format!("/v1/births/permits/{id}")).await;
    let actions = shown.is(200).body["actions"].as_array().expect("actions").clone();
    assert!(
        actions.iter().any(|one| one["name"] == "permit_revoke" && one["allowed"] == true),
        "{actions:?}"
    );
    let path = format!("/v1/births/permits/{id}/revoke");
    let reason = json!({ "reason": "not needed" });
    alice.post(scene, &path, "v0", &reason).await.is_refusal(403, "RI040");
    assert_eq!(bob.done(scene, &path, "v1", &reason).await.is(200).body["status"], "REVOKED");
    let nobody = format!("/v1/births/permits/prm_{}", Uuid::now_v7().simple());
    alice.get(scene, &nobody).await.is_refusal(404, "RB019");
}

/// UIG-5, C §7.5: whoever settles problems freezes and thaws a class of workers, with a reason; the pages say who may. Everybody else is refused,
/// and so is a class that never ticked.
#[tokio::test]
async fn a_class_of_workers_is_frozen_and_thawed() {
    let scene = Scene::new().await;
    let scene = &scene;
    let alice = Person::new(scene, "alice", "human", &["pic_human"]).await;
    let ola = Person::new(scene, "ola", "human", &["observer"]).await;
    let hand = Person::new(scene, "hand", "service", &["executor_worker"]).await;
    hand.ask(scene, "POST", "/v1/queue/noop/heartbeat", &[], json!({ "worker": "w1" }))
        .await
        .is(200);
    let frozen = async || {
        alice.get(scene, "/v1/workers").await.is(200).body["items"][0]["class_frozen"].clone()
    };
    let actions = async |who: &Person| {
        let actions = who.get(scene, "/v1/workers").await.is(200).body["actions"].clone();
        let allowed = |n: usize| (actions[n]["name"].clone(), actions[n]["allowed"].clone());
        [allowed(0), allowed(1)]
    };
    assert_eq!(
        actions(&alice).await,
        [(json!("freeze"), json!(true)), (json!("thaw"), json!(true))]
    );
    assert_eq!(
        actions(&ola).await,
        [(json!("freeze"), json!(false)), (json!("thaw"), json!(false))]
    );
    let class = alice.get(scene, "/v1/workers").await.body["items"][0]["class"]
        .as_str()
        .expect("a class")
        .to_owned();
    let path = |verb: &str| format!("/v1/workers/{class}/{verb}");

    let before = scene.db.fingerprint().await;
    let reason = json!({ "reason": "the disk is replaced" });
    for who in [&ola, &hand] {
        who.ask(scene, "POST", &path("freeze"), &[], reason.clone()).await.is_refusal(403, "RI040");
    }
    let blank = json!({ "reason": " " });
    alice.ask(scene, "POST", &path("freeze"), &[], blank).await.is_refusal(422, "RE022");
    let unknown = alice.ask(scene, "POST", "/v1/workers/nobodys/freeze", &[], reason.clone()).await;
    unknown.is_refusal(404, "RE050");
    assert_eq!(before, scene.db.fingerprint().await, "nothing changed");

    let answer = alice.ask(scene, "POST", &path("freeze"), &[], reason.clone()).await;
    assert_eq!((&answer.is(200).body["frozen"], frozen().await), (&json!(true), json!(true)));
    let answer = alice.ask(scene, "POST", &path("thaw"), &[], reason).await;
    assert_eq!((&answer.is(200).body["frozen"], frozen().await), (&json!(false), json!(false)));
}
