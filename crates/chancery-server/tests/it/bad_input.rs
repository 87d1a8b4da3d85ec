//! What is refused, and how it is said: RFC 9457, with the refusal's code where a rule says no.

use std::fs;

use axum::body::Body;
use axum::http::Request;
use chancery_server::Fault;
use chancery_testkit::repo_path;
use serde_json::{Value, json};

use crate::scene::Scene;

async fn jobs(scene: &Scene) -> String {
    scene.db.text("select count(*)::text from queue.job_queue").await
}

/// SEC-1: who does not show the token gets nothing, and learns nothing.
#[tokio::test]
async fn nothing_is_done_without_the_token() {
    let scene = Scene::new().await;
    let token = scene.token.clone();
    let body = json!({ "jobs": [{ "class": "noop", "kind": "k", "key": "k" }] }).to_string();
    let wrong = [
        vec![],
        vec![String::new()],
        vec!["Bearer".to_owned()],
        vec!["Bearer ".to_owned()],
        vec![format!("Basic {token}")],
        vec![format!("Bearer {}", &token[1..])],
        vec![format!("Bearer {token}x")],
        vec![format!("Bearer {}", token.to_lowercase().to_uppercase())],
        vec![format!("Bearer {token}"), format!("Bearer {token}")],
    ];
    for headers in wrong {
        let mut request =
            Request::post("/v1/queue/jobs").header("content-type", "application/json");
        for header in &headers {
            request = request.header("authorization", header);
        }
        let answer = scene.send(request.body(Body::from(body.clone())).expect("a request")).await;
        // A token may be somebody else's, so what is none of ours was looked for.
        let shown = matches!(&*headers, [one] if one.len() > 6 && one.starts_with("Bearer "));
        answer.is_problem(401, if shown { "credential_unknown" } else { "unauthorized" });
        assert_eq!(answer.headers["www-authenticate"], "Bearer");
        assert!(!answer.body.to_string().contains(&token), "{answer:?}");
    }
    assert_eq!(jobs(&scene).await, "0");
    // The scheme's case does not matter.
    let right = Request::post("/v1/queue/jobs")
        .header("content-type", "application/json")
        .header("authorization", format!("bearer {token}"));
    scene.send(right.body(Body::from(body)).expect("a request")).await.is(201);
}

/// Bodies that are no request.
#[tokio::test]
async fn a_malformed_request_is_told_what_is_wrong() {
    let scene = Scene::new().await;
    let (claim, queue) = ("/v1/queue/noop/claim", "/v1/queue/jobs");
    let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    let deep = format!(
        r#"{{"jobs":[{{"class":"noop","kind":"k","key":"k","payload":{{"a":{}}}}}]}}"#,
        nested(70)
    );
    let large = format!(r#"{{"worker":"{}"}}"#, "w".repeat(1024 * 1024));
    for (path, body, status, problem) in [
        (claim, "", 400, "body_malformed"),
        (claim, "{", 400, "body_malformed"),
        (claim, r#"{"worker":"w"} x"#, 400, "body_malformed"),
        (claim, r#"{"worker":"\u0000"}"#, 400, "body_malformed"),
        (queue, &deep, 400, "body_malformed"),
        (queue, &nested(200_000), 400, "body_malformed"),
        (claim, &large, 413, "body_too_large"),
        (claim, "[]", 422, "request_invalid"),
        (claim, "{}", 422, "request_invalid"),
        (claim, r#"{"worker":"w","secret":1}"#, 422, "request_invalid"),
        (claim, r#"{"worker":1}"#, 422, "request_invalid"),
        (claim, r#"{"worker":"w","limit":3000000000}"#, 422, "request_invalid"),
        (claim, r#"{"worker":"w","wait_ms":30001}"#, 422, "request_invalid"),
        (claim, r#"{"worker":"w","wait_ms":-1}"#, 422, "request_invalid"),
        ("/v1/queue/%00/claim", r#"{"worker":"w"}"#, 400, "id_malformed"),
        (
            queue,
            r#"{"jobs":[{"class":"noop","kind":"k","key":"k","state":"done"}]}"#,
            422,
            "request_invalid",
        ),
        (
            "/v1/queue/ack",
            r#"{"worker":"w","results":[{"job_id":"x","lease_no":1,"outcome":"succeeded"}]}"#,
            422,
            "request_invalid",
        ),
        (
            "/v1/queue/ack",
            r#"{"worker":"w","results":[{"job_id":"01a1decd-0b7f-736d-9439-d078b0a6b934","lease_no":1,"outcome":"won"}]}"#,
            422,
            "request_invalid",
        ),
        ("/v1/queue/turn", r#"{"worker":"w","results":[]}"#, 422, "request_invalid"),
        ("/v1/queue/extend", r#"{"worker":"w"}"#, 422, "request_invalid"),
        ("/v1/queue/nonsense", "{}", 404, "not_found"),
    ] {
        let answer = scene.send(scene.request(path, body.to_owned())).await;
        answer.is_problem(status, problem);
        assert!(
            answer.body["detail"].is_string() && answer.body.get("code").is_none(),
            "{answer:?}"
        );
    }
    scene.get("/v1/queue/jobs").await.is_problem(405, "method_not_allowed");
    let plain = Request::post(claim)
        .header("authorization", format!("Bearer {}", scene.token))
        .header("content-type", "text/plain")
        .body(Body::from(r#"{"worker":"w"}"#));
    scene.send(plain.expect("a request")).await.is_problem(415, "media_type");
    assert_eq!(jobs(&scene).await, "0");
}

/// What a rule refuses comes with its code, its facts and a hint.
#[tokio::test]
async fn a_refusal_is_told_with_its_code() {
    let scene = Scene::new().await;
    let enqueue = async |job: Value| scene.post("/v1/queue/jobs", &json!({ "jobs": [job] })).await;
    let good = json!({ "class": "noop", "kind": "k", "key": "k", "payload": { "n": 1 } });
    enqueue(good.clone()).await.is(201);
    let with = |name: &str, value: Value| {
        let mut job = good.clone();
        job[name] = value;
        job
    };
    enqueue(with("class", json!("nobody"))).await.is_refusal(404, "RE006");
    enqueue(with("delay_ms", json!(-1))).await.is_refusal(422, "RE007");
    enqueue(with("run_at", json!("yesterday"))).await.is_problem(422, "request_invalid");
    enqueue(with("payload", json!({ "password": "x" }))).await.is_refusal(422, "RE008");
    enqueue(with("payload", json!({ "n": "x".repeat(20_000) }))).await.is_refusal(422, "RE008");
    enqueue(with("kind", json!("another"))).await.is_refusal(409, "RE009");
    scene.post("/v1/queue/jobs", &json!({ "jobs": [] })).await.is_refusal(422, "RE007");
    for (path, body) in [
        ("/v1/queue/noop/claim", json!({ "worker": "w", "limit": 0 })),
        ("/v1/queue/noop/claim", json!({ "worker": "w", "limit": 1_000_000 })),
        ("/v1/queue/noop/claim", json!({ "worker": "" })),
        ("/v1/queue/ack", json!({ "worker": "a b", "results": [] })),
        ("/v1/queue/release", json!({ "worker": "a b", "leases": [] })),
    ] {
        scene.post(path, &body).await.is_refusal(422, "RE018");
    }
    scene
        .post("/v1/queue/nobody/claim", &json!({ "worker": "w", "wait_ms": 30_000 }))
        .await
        .is_refusal(404, "RE006");
    assert_eq!(jobs(&scene).await, "1");
    // A database that is away is no refusal: the same key makes it safe to ask again.
    scene.store.close().await;
    let away = enqueue(good).await;
    away.is_problem(503, "database_away");
    assert_eq!(away.headers["retry-after"], "1");
}

/// Every fault stands in the reference with its status.
#[test]
fn every_fault_is_described() {
    let path = repo_path("docs/reference/http-api.md");
    let text = fs::read_to_string(path).expect("the reference");
    for fault in Fault::ALL {
        let row = format!("| `{}` | {} |", fault.name(), fault.status().as_u16());
        assert!(text.contains(&row), "{row} is missing");
    }
}
