//! The row `serve` of the CLI: probes say whether the process is alive and ready, and why not.

use chancery_engine::loops::{LOOPS, Loops};
use chancery_testkit::until;
use serde_json::Value;
use tokio::sync::watch;

use crate::scene::Scene;

fn reasons(body: &Value) -> Vec<&str> {
    body["reasons"].as_array().expect("reasons").iter().filter_map(Value::as_str).collect()
}

/// Nobody is asked who they are; ready is who has a database of its release and loops that tick.
#[tokio::test]
async fn a_host_says_whether_it_is_ready_and_why_not() {
    let scene = Scene::new().await;
    assert_eq!(scene.get("/healthz").await.is(200).body["alive"], true);
    let not_yet = scene.get("/readyz").await;
    assert_eq!(not_yet.is(503).body["ready"], false);
    assert_eq!(reasons(&not_yet.body).len(), LOOPS.len(), "{not_yet:?}");
    assert!(scene.board.loops().iter().all(|state| !state.ok));

    let (end, stop) = watch::channel(false);
    let loops = Loops::start(LOOPS, &scene.store, "host", &stop);
    let scene = scene.with_loops(loops.board(), stop.clone());
    until("all loops ticked", async || scene.get("/readyz").await.status == 200).await;
    let ready = scene.get("/readyz").await;
    assert_eq!(ready.body["loops"].as_array().map(Vec::len), Some(LOOPS.len()), "{ready:?}");
    assert_eq!(reasons(&ready.body), Vec::<&str>::new());

    // Another release than this binary's.
    scene.db.forge(&["update internal.release set bundle_sha256 = repeat('0', 64)"]).await;
    let other = scene.get("/readyz").await;
    assert!(reasons(&other.is(503).body)[0].contains("this binary knows schema"), "{other:?}");
    scene.store.close().await;
    let away = scene.get("/readyz").await;
    assert!(reasons(&away.is(503).body).contains(&"the database gives no answer"), "{away:?}");
    assert_eq!(scene.get("/healthz").await.is(200).body["alive"], true, "it is still alive");

    end.send_replace(true);
    let ending = scene.get("/readyz").await;
    assert!(reasons(&ending.is(503).body).contains(&"this process is ending"), "{ending:?}");
    loops.ended().await;
}
