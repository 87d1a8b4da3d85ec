//! RUN-18: programs that work steps to their end against a real server, over a real socket: the Rust client, and the worker of the docs.

use std::process::{Command, Stdio};
use std::time::Duration;

use chancery_client::{Client, Error, Worker};
use chancery_testkit::flows::Flow;
use chancery_testkit::repo_path;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use crate::scene::{Scene, listening};

/// A step of the class `noop` that gives a number.
async fn step(scene: &Scene, name: &str, flow: &Flow) -> Uuid {
    let more = json!({
        "executor": "noop", "with": { "order": 17 },
        "output": { "type": "object", "required": ["n"], "properties": { "n": { "type": "number" } } },
    });
    let (_, step) = flow.one_step(name, &more).await;
    assert_eq!(state(scene, step).await, "ready");
    step
}

async fn state(scene: &Scene, step: Uuid) -> String {
    let state = format!("select state_code from workflow.step_run where step_run_id = '{step}'");
    scene.db.text(&state).await
}

fn members(value: &Value) -> Map<String, Value> {
    value.as_object().cloned().expect("an object")
}

/// Claim, begin, extend, wait for a call-back, report; what is refused comes with its code, and what was done twice counts once.
#[tokio::test]
async fn the_rust_client_works_a_step_to_its_end() {
    let scene = Scene::new().await;
    let flow = Flow::install(&scene.db).await;
    let step = step(&scene, "by_rust", &flow).await;
    let url = listening(&scene).await;
    let token = scene.worker_token("rust-bot").await;
    let worked = tokio::task::spawn_blocking(move || {
        let client = Client::new(url.as_str(), token);
        let worker = Worker::new(client, "rust-1");
        let jobs = worker.claim("noop", 5, Duration::from_secs(5)).expect("jobs");
        let [job] = &jobs[..] else { panic!("one job, not {jobs:?}") };
        let begun = worker.begin(job).expect("begun");
        assert_eq!((begun.key.as_str(), &begun.input["with"]), ("work", &json!({ "order": 17 })));
        assert_eq!(worker.extend(&jobs).expect("kept").kept, [job.job_id]);
        let wrong = worker.complete(job, members(&json!({ "n": "one" })));
        assert_eq!(wrong.expect_err("refused").problem(), Some("RW008"));

        let callback = worker.expect_callback(job).expect("a call-back");
        worker.wait_for(job, &callback).expect("it waits");
        let answer = Command::new("curl")
            .args([
                "-sS",
                "-X",
                "POST",
                "-H",
                "Content-Type: application/json",
                "-d",
                r#"{"n": 4}"#,
            ])
            .arg(format!("{url}{}", callback.path))
            .output()
            .expect("curl");
        assert_eq!(String::from_utf8_lossy(&answer.stdout), r#"{"taken":true}"#);
        let jobs = worker.claim("noop", 1, Duration::from_secs(5)).expect("jobs");
        let [again] = &jobs[..] else { panic!("one job, not {jobs:?}") };
        let begun = worker.begin(again).expect("begun");
        let output = members(&begun.waits[0]["proof"]["answer"]);
        let late = worker.complete(job, output.clone()).expect_err("settled");
        assert!(matches!(late, Error::Refused(_)), "{late:?}");
        assert_eq!(worker.complete(again, output.clone()).expect("done")["to"], "completed");
        assert_eq!(worker.complete(again, output).expect("the same")["replayed"], true);

        // Nobody listens there: it is tried again, then told.
        let nobody = Worker::new(Client::new("http://127.0.0.1:9", "t").tries(2), "rust-1");
        let away = nobody.claim("noop", 1, Duration::ZERO).expect_err("nobody");
        assert!(matches!(away, Error::Away(_)), "{away:?}");
        let stranger = Worker::new(Client::new(url, "chy_unknown"), "rust-1");
        let refused = stranger.claim("noop", 1, Duration::ZERO).expect_err("a stranger");
        assert_eq!(refused.problem(), Some("RI041"));
    });
    worked.await.expect("it worked");
    assert_eq!(state(&scene, step).await, "completed");
    let output = format!(
        "select document::text from workflow.step_run_snapshot where run_id = '{step}' and snapshot_kind = 'output'"
    );
    assert_eq!(scene.db.texts(&output).await, [Some(r#"{"n":4}"#.to_owned())]);
}

/// The program in `docs/how-to/work-as-a-program.md`, as it stands there.
#[tokio::test]
async fn the_worker_of_the_docs_works_steps_to_their_end() {
    let page =
        std::fs::read_to_string(repo_path("docs/how-to/work-as-a-program.md")).expect("the page");
    let (_, rest) = page.split_once("```python\n").expect("a program");
    let (program, _) = rest.split_once("```").expect("its end");
    let lines = program.lines().filter(|line| !line.trim().is_empty()).count();
    assert!(lines <= 31, "{lines} lines are more than a page should show");

    let scene = Scene::new().await;
    let flow = Flow::install(&scene.db).await;
    let first = step(&scene, "by_python", &flow).await;
    let strange = flow.one_step("not_ours", &json!({ "executor": "noop", "with": {} })).await.1;
    let url = listening(&scene).await;
    let python = Command::new("python3")
        .args(["-c", program])
        .env("CHANCERY_URL", url)
        .env("CHANCERY_TOKEN", scene.worker_token("python-bot").await)
        .env("CHANCERY_CLASS", "noop")
        .env("CHANCERY_STEPS", "2")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("python3");
    let ended = tokio::task::spawn_blocking(move || python.wait_with_output()).await;
    let ended = ended.expect("a thread").expect("its end");
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success(), "{said}");
    assert_eq!(String::from_utf8_lossy(&ended.stdout), "work: done\nwork: done\n", "{said}");
    assert_eq!(state(&scene, first).await, "completed");
    assert_eq!(state(&scene, strange).await, "failed");
}
