//! Figures and traces: what an operator's own tools see of the process. No secret is in either.

use std::sync::{Arc, Mutex};

use axum::body::Body;
use axum::http::Request;
use chancery_server::router;
use chancery_server::telemetry::{Collector, Exporter};
use chancery_testkit::until;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpListener;
use tower::ServiceExt as _;
use tracing_subscriber::layer::SubscriberExt as _;

use crate::ear::token;
use crate::feed_load::METER;
use crate::scene::Scene;

type Batches = Arc<Mutex<Vec<(String, Value)>>>;

/// A collector that keeps what it is sent: the head of each request, and the document.
async fn collector() -> (String, Batches) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a place to listen");
    let address = format!("http://{}", listener.local_addr().expect("an address"));
    let batches = Batches::default();
    let kept = Arc::clone(&batches);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let mut stream = BufReader::new(stream);
            let mut head = String::new();
            while !head.ends_with("\r\n\r\n") {
                if stream.read_line(&mut head).await.unwrap_or(0) == 0 {
                    break;
                }
            }
            head.make_ascii_lowercase();
            let length = head
                .lines()
                .find_map(|line| line.strip_prefix("content-length: ")?.parse().ok())
                .unwrap_or(0);
            let mut body = vec![0; length];
            stream.read_exact(&mut body).await.expect("a body");
            let document = serde_json::from_slice(&body).expect("JSON");
            let answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}";
            stream.write_all(answer.as_bytes()).await.expect("an answer");
            kept.lock().expect("no panic").push((head, document));
        }
    });
    (address, batches)
}

/// A request's span goes to the collector under the trace that its caller named, and the run that it starts is of that trace; a
/// malformed trace is not taken. Figures count by route, never by address, and are closed to strangers.
#[tokio::test]
async fn a_trace_goes_from_the_caller_to_the_run_and_to_the_collector() {
    let (endpoint, batches) = collector().await;
    let exporter = Exporter::start(&Collector {
        endpoint: format!("{endpoint}/"),
        headers: Some("x-key=k1, x-other=2".to_owned()),
        service: Some("office".to_owned()),
    });
    let subscriber = tracing_subscriber::registry().with(exporter.layer());
    let _guard = tracing::subscriber::set_default(subscriber);

    let scene = Scene::new().await;
    scene.db.service("writer", &["executor_worker"]).await;
    scene.db.machine(METER).await;
    let scopes = ["self.read", "run.read", "run.move", "queue.read"];
    let (_, secret) = token(&scene.db, "writer", &scopes).await;
    let (trace, parent) = ("0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331");
    let start = |key: &str, traceparent: String| {
        Request::post("/v1/runs")
            .header("authorization", format!("Bearer {secret}"))
            .header("content-type", "application/json")
            .header("idempotency-key", key)
            .header("traceparent", traceparent)
            .body(Body::from(json!({ "machine": "meter" }).to_string()))
            .expect("a request")
    };
    let begun = scene.send(start("a", format!("00-{trace}-{parent}-01"))).await;
    begun.is(201);
    scene.send(start("b", format!("00-{}-{parent}-01", "0".repeat(32)))).await.is(201);
    scene.get("/v1/nowhere/secret-in-the-address").await.is(404);
    let traces = scene.db.texts("select trace_id from fsm.run order by created_at").await;
    assert_eq!((traces.len(), traces[0].as_deref()), (2, Some(trace)));
    assert_ne!(traces[1].as_deref(), Some("0".repeat(32).as_str()));

    drop(exporter);
    until("the collector has them", async || {
        let spans = |batch: &(String, Value)| {
            batch.1["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().map_or(0, Vec::len)
        };
        batches.lock().expect("no panic").iter().map(spans).sum::<usize>() >= 3
    })
    .await;
    let batches = batches.lock().expect("no panic").clone();
    let (head, document) = &batches[0];
    assert!(head.starts_with("post /v1/traces "), "{head}");
    assert!(head.contains("x-key: k1\r\n") && head.contains("x-other: 2\r\n"), "{head}");
    let resource = &document["resourceSpans"][0]["resource"]["attributes"];
    assert_eq!(resource[0], json!({ "key": "service.name", "value": { "stringValue": "office" } }));
    let spans: Vec<&Value> = batches
        .iter()
        .flat_map(|(_, document)| {
            document["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().expect("spans")
        })
        .collect();
    let named = |name: &str| -> Vec<&Value> {
        spans.iter().copied().filter(|span| span["name"] == name).collect()
    };
    let starts = named("POST /v1/runs");
    assert_eq!(starts.len(), 2, "{spans:?}");
    let (first, second) = (starts[0], starts[1]);
    assert_eq!((&first["traceId"], &first["parentSpanId"]), (&json!(trace), &json!(parent)));
    assert_eq!(first["spanId"].as_str().map(str::len), Some(16));
    assert_eq!(first["attributes"][2]["value"]["intValue"], "201");
    assert_eq!(second["traceId"].as_str(), traces[1].as_deref(), "its own trace");
    assert_eq!(second.get("parentSpanId"), None);
    assert_eq!(named("GET none").len(), 1);

    // Figures: for who may read the queue, the token of the data directory among them.
    scene.get("/metrics").await.is_problem(401, "unauthorized");
    let (_, narrow) = token(&scene.db, "writer", &["self.read"]).await;
    let ask = async |token: &str| {
        let request = Request::get("/metrics").header("authorization", format!("Bearer {token}"));
        let request = request.body(Body::empty()).expect("a request");
        let answer = router(scene.host.clone()).oneshot(request).await.expect("an answer");
        let (parts, body) = answer.into_parts();
        let bytes = axum::body::to_bytes(body, usize::MAX).await.expect("a body");
        (parts.status.as_u16(), String::from_utf8(bytes.to_vec()).expect("UTF-8"))
    };
    assert_eq!(ask(&narrow).await.0, 403);
    for good in [&secret, &scene.token] {
        let (status, text) = ask(good).await;
        assert_eq!(status, 200);
        for line in [
            r#"chancery_http_requests_total{method="POST",route="/v1/runs",status="201"} 2"#,
            r#"chancery_http_requests_total{method="GET",route="none",status="404"} 1"#,
            r#"chancery_http_request_seconds_count{method="POST",route="/v1/runs"} 2"#,
            "chancery_sse_clients 0",
            r#"chancery_loop_ok{loop="sequencer"} 0"#,
            r#"chancery_pool_connections{state="open"} "#,
            "chancery_database_up 1",
            "chancery_events_position 0",
        ] {
            assert!(text.lines().any(|one| one.starts_with(line)), "{line}\n{text}");
        }
        assert!(!text.contains("secret-in-the-address"));
    }
    let told = format!("{batches:?}");
    for hidden in [secret.as_str(), scene.token.as_str(), "secret-in-the-address"] {
        assert!(!told.contains(hidden));
    }
}
