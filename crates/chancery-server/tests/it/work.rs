//! RUN-18: steps of workflows over HTTP, for workers in any language; RUN-5: call-backs for whoever has the token.

use axum::body::Body;
use axum::http::Request;
use chancery_testkit::flows::Flow;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::scene::{Answer, Scene};

/// A step of the class `noop`, leased by `w1`.
struct Leased {
    scene: Scene,
    step: Uuid,
    job: Value,
}

impl Leased {
    async fn new() -> Self {
        let scene = Scene::new().await;
        let flow = Flow::install(&scene.db).await;
        let more = json!({
            "executor": "noop", "with": { "order": 17 },
            "output": { "type": "object", "required": ["n"], "properties": { "n": { "type": "number" } } },
        });
        let (_, step) = flow.one_step("over_http", &more).await;
        let job = claim(&scene).await;
        Self { scene, step, job }
    }

    /// A request under the lease.
    async fn post(&self, path: &str, more: Value) -> Answer {
        let mut body = json!({ "worker": "w1", "job_id": self.job["job_id"], "lease_no": self.job["lease_no"] });
        for (name, value) in more.as_object().expect("an object") {
            body[name] = value.clone();
        }
        self.scene.post(path, &body).await
    }

    async fn state(&self) -> String {
        let state =
            format!("select state_code from workflow.step_run where step_run_id = '{}'", self.step);
        self.scene.db.text(&state).await
    }

    /// A request of somebody who has nothing but a path.
    async fn call_back(&self, path: &str, body: &str) -> Answer {
        let request = Request::post(path).header("content-type", "application/json");
        self.scene.send(request.body(Body::from(body.to_owned())).expect("a request")).await
    }
}

async fn claim(scene: &Scene) -> Value {
    let got = scene.post("/v1/queue/noop/claim", &json!({ "worker": "w1" })).await;
    let jobs = got.is(200).body["jobs"].as_array().expect("jobs").clone();
    assert_eq!(jobs.len(), 1, "{jobs:?}");
    assert_eq!(jobs[0]["kind"], "workflow.step");
    jobs[0].clone()
}

/// Begin, report, and the same again; a report that is not under the newest lease, or breaks the contract, changes nothing.
#[tokio::test]
async fn a_step_is_begun_and_reported_under_its_lease() {
    let leased = Leased::new().await;
    let begun = leased.post("/v1/work/begin", json!({})).await;
    let begun = &begun.is(200).body;
    assert_eq!((&begun["state"], &begun["key"]), (&json!("in_progress"), &json!("work")));
    assert_eq!(begun["input"]["with"], json!({ "order": 17 }));
    assert_eq!(begun["idempotency_key"], format!("{}/0", leased.step));

    let complete = |n: Value| json!({ "call": "step_complete", "document": { "n": n } });
    let before = leased.scene.db.fingerprint().await;
    let mut late = complete(json!(1));
    late["lease_no"] = json!(9);
    leased.post("/v1/work/report", late).await.is_refusal(409, "RE010");
    let mut other = complete(json!(1));
    other["worker"] = json!("w2");
    leased.post("/v1/work/report", other).await.is_refusal(409, "RE010");
    leased.post("/v1/work/report", complete(json!("one"))).await.is_refusal(422, "RW008");
    let unknown = json!({ "call": "step_dance" });
    leased.post("/v1/work/report", unknown).await.is_refusal(422, "RW002");
    let mut lied = complete(json!(1));
    lied["evidence"] = json!({ "output_sha256": "0".repeat(64) });
    leased.post("/v1/work/report", lied).await.is_refusal(422, "RW009");
    let nobody = json!({ "job_id": "01a1decd-0b7f-736d-9439-d078b0a6b934" });
    leased.post("/v1/work/begin", nobody).await.is_refusal(404, "RE011");
    for more in [json!({}), json!({ "call": 1 }), json!({ "call": "x", "document": [] })] {
        leased.post("/v1/work/report", more).await.is_problem(422, "request_invalid");
    }
    assert_eq!(leased.scene.db.fingerprint().await, before, "nothing changed");

    let done = leased.post("/v1/work/report", complete(json!(1.5))).await;
    assert_eq!(done.is(200).body["to"], "completed", "{done:?}");
    let again = leased.post("/v1/work/report", complete(json!(1.5))).await;
    assert_eq!(again.is(200).body["replayed"], true, "{again:?}");
    assert_eq!(leased.state().await, "completed");
    let job = leased.job["job_id"].as_str().expect("an id").parse().expect("an id");
    let job = leased.scene.store.job(job).await.expect("an answer").expect("the job");
    assert_eq!(job.state, "succeeded", "the report settled it");
}

/// A call-back needs no sign-in, is taken once, and brings the step on; its token stands nowhere.
#[tokio::test]
async fn a_call_back_is_taken_once_from_whoever_has_the_token() {
    let leased = Leased::new().await;
    leased.post("/v1/work/begin", json!({})).await.is(200);
    let issued = leased.post("/v1/work/callback", json!({})).await;
    let issued = issued.is(201).body.clone();
    let path = issued["path"].as_str().expect("a path").to_owned();
    let token = issued["token"].as_str().expect("a token");
    assert_eq!((token.len(), path.as_str()), (43, &*format!("/v1/callbacks/{token}")));
    let kept = format!("select count(*)::text from workflow.wait w where w::text like '%{token}%'");
    assert_eq!(leased.scene.db.text(&kept).await, "0");
    let own = json!({ "token_sha256": "xyz" });
    leased.post("/v1/work/callback", own).await.is_problem(422, "request_invalid");

    let wait = json!({ "call": "step_wait", "evidence": {
        "facets": ["waiting_external"],
        "waits": [{ "facet": "waiting_external", "token_sha256": issued["token_sha256"] }] } });
    leased.post("/v1/work/report", wait).await.is(200);
    assert_eq!(leased.state().await, "waiting");

    let before = leased.scene.db.fingerprint().await;
    for nobody in ["/v1/callbacks/x", "/v1/callbacks/%00", "/v1/callbacks/%ff", &format!("{path}x")]
    {
        leased.call_back(nobody, "{}").await.is_refusal(404, "RW012");
    }
    leased.call_back(&path, "{").await.is_problem(400, "body_malformed");
    leased.call_back(&path, "[]").await.is_problem(422, "request_invalid");
    let large = json!({ "a": "x".repeat(64 * 1024) }).to_string();
    leased.call_back(&path, &large).await.is_problem(413, "body_too_large");
    let plain = Request::post(&path).body(Body::from("{}")).expect("a request");
    leased.scene.send(plain).await.is_problem(415, "media_type");
    leased.scene.get(&path).await.is_problem(405, "method_not_allowed");
    assert_eq!(leased.scene.db.fingerprint().await, before, "nothing changed");

    let taken = leased.call_back(&path, r#"{"n": 4}"#).await;
    assert_eq!(taken.is(200).body, json!({ "taken": true }));
    leased.call_back(&path, r#"{"n": 5}"#).await.is_refusal(409, "RW013");
    assert_eq!(leased.state().await, "in_progress");

    let leased = Leased { job: claim(&leased.scene).await, ..leased };
    let begun = leased.post("/v1/work/begin", json!({})).await;
    let proof = &begun.is(200).body["waits"][0]["proof"]["answer"];
    assert_eq!(*proof, json!({ "n": 4 }));
    let complete = json!({ "call": "step_complete", "document": proof });
    leased.post("/v1/work/report", complete).await.is(200);
    leased.call_back(&path, r#"{"n": 6}"#).await.is_refusal(409, "RW014");
    leased.scene.stop.send_replace(true);
    leased.call_back(&path, "{}").await.is_problem(503, "stopping");
}

/// Steps are closed to those who show no token.
#[tokio::test]
async fn steps_are_closed_to_strangers() {
    let leased = Leased::new().await;
    let before = leased.scene.db.fingerprint().await;
    for path in ["/v1/work/begin", "/v1/work/report", "/v1/work/callback"] {
        leased.call_back(path, "{}").await.is_problem(401, "unauthorized");
    }
    assert_eq!(leased.scene.db.fingerprint().await, before);
}
