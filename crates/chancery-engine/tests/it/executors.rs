//! RUN-18: built-in executors do steps under the leases of the queue; who comes late is refused.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use chancery_engine::queue::{
    CallBack, Command, Executor, FailureClass, HeaderSecret, Http, HttpSettings, Noop, Program,
    Reached,
};
use chancery_model::refusal::Code;
use chancery_store::queue::NewJob;
use chancery_store::workflow::{Lease, WorkReport};
use chancery_testkit::flows::sha256;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::flow_scene::{FlowScene, Outside};

fn secret(value: &str, goes_to: &str) -> HeaderSecret {
    HeaderSecret { value: value.to_owned(), goes_to: goes_to.parse().expect("a prefix") }
}

fn http(outside: &Outside) -> Arc<dyn Executor> {
    Arc::new(Http::new(HttpSettings {
        allowed: vec![format!("{}/allowed", outside.url).parse().expect("a prefix")],
        secrets: BTreeMap::from([
            ("API_TOKEN".to_owned(), secret("s3cret", &format!("{}/allowed", outside.url))),
            ("OTHER_TOKEN".to_owned(), secret("0ther", &format!("{}/allowed/other", outside.url))),
        ]),
        call_back: Some(CallBack {
            reached: Reached::At("https://chancery.example.org/".to_owned()),
            key: "a key".to_owned(),
        }),
        timeout: Duration::from_secs(10),
    }))
}

fn step_with(executor: &str, with: &Value) -> Value {
    json!({ "executor": executor, "with": with })
}

fn call(outside: &Outside, more: &Value) -> Value {
    let mut with = json!({ "url": format!("{}/allowed/thing", outside.url) });
    for (name, value) in more.as_object().expect("an object") {
        with[name] = value.clone();
    }
    step_with("http", &with)
}

/// The token that stands at the end of the URL for call-backs.
fn token(outside: &Outside) -> String {
    let got = outside.got();
    let url = got.last().expect("a call").header("callback-url").to_owned();
    let token = url.strip_prefix("https://chancery.example.org/v1/callbacks/").expect("our URL");
    assert_eq!(token.len(), 43, "32 bytes");
    token.to_owned()
}

/// The words of executors are those of the database.
#[tokio::test]
async fn failure_classes_are_those_of_the_registry() {
    let scene = FlowScene::new().await;
    for class in FailureClass::ALL {
        let known = format!(
            "select classification from workflow.failure_class_registry where failure_class = '{}'",
            class.as_str()
        );
        assert_eq!(scene.db.text(&known).await, class.classification(), "{class:?}");
    }
}

/// A worker does steps and plain jobs of its class side by side; a step that breaks its contract has failed for good.
#[tokio::test]
async fn a_worker_does_steps_beside_plain_jobs() {
    let scene = FlowScene::new().await;
    let output = json!({ "n": 1.5, "text": "được" });
    let more = json!({
        "executor": "noop", "with": { "output": output },
        "output": { "type": "object", "required": ["n"], "properties": { "n": { "type": "number" } } },
    });
    let (run, good) = scene.flow.one_step("good", &more).await;
    let mut bad = more.clone();
    bad["with"]["output"] = json!({ "n": "one" });
    let (_, bad) = scene.flow.one_step("bad", &bad).await;
    let (_, again) =
        scene.flow.one_step("again", &step_with("noop", &json!({ "fail_attempts": 1 }))).await;
    let (_, never) =
        scene.flow.one_step("never", &step_with("noop", &json!({ "fail_for_good": true }))).await;
    let job = NewJob {
        class: "noop".to_owned(),
        kind: "trial".to_owned(),
        key: "plain".to_owned(),
        ..NewJob::default()
    };
    let plain = scene.store.fn_job_enqueue(&[job], "chancery", "system").await.expect("a job");

    let tally = scene.work("noop", Arc::new(Noop)).await;
    assert_eq!((tally.succeeded, tally.failed, tally.late), (2, 3, 0), "{tally:?}");
    assert_eq!(scene.state(good).await, "completed");
    assert_eq!(scene.output(good).await, output);
    assert_eq!(scene.jobs(good).await, ["succeeded"]);
    assert_eq!(scene.moves(good).await, "precondition_resolved step_claim step_complete");
    let plain = scene.store.job(plain[0].job_id).await.expect("an answer").expect("the job");
    assert_eq!(plain.state, "succeeded");
    assert_eq!(scene.state(bad).await, "failed permanent bad_output");
    assert_eq!(scene.jobs(bad).await, ["dead_letter"]);
    assert_eq!(scene.state(never).await, "failed permanent rejected");
    assert_eq!(scene.state(again).await, "failed transient unclassified");
    assert_eq!(scene.jobs(again).await, ["retry_waiting"]);

    scene.later("1 hour").await;
    let tally = scene.work("noop", Arc::new(Noop)).await;
    assert_eq!((tally.succeeded, tally.failed), (1, 0), "{tally:?}");
    assert_eq!(scene.state(again).await, "completed");
    assert_eq!(
        scene.moves(again).await,
        "precondition_resolved step_claim executor_failure retry_attempt step_complete"
    );
    scene.flow.turn(run).await;
    let state =
        format!("select state_code from workflow.workflow_run where workflow_run_id = '{run}'");
    assert_eq!(scene.db.text(&state).await, "completed");
}

/// A program gets its input on stdin and says its output; only what is allowed runs, and exit codes say whether to try again.
#[tokio::test]
async fn a_command_answers_with_what_it_prints() {
    let scene = FlowScene::new().await;
    let folder = tempfile::tempdir().expect("a folder");
    let script = |name: &str, text: &str| -> (String, Program) {
        use std::os::unix::fs::PermissionsExt as _;
        let path = folder.path().join(name);
        std::fs::write(&path, format!("#!/bin/sh\n{text}\n")).expect("a script");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("its mode");
        let options = ["--format".to_owned()].into();
        (name.to_owned(), Program { path, options })
    };
    let allowed = BTreeMap::from([
        script(
            "echo",
            r#"printf '{"arg": "%s", "key": "%s", "input": %s}' "$1" "$CHANCERY_IDEMPOTENCY_KEY" "$(cat)""#,
        ),
        script("quiet", "exit 0"),
        script("silly", "echo no JSON"),
        script("list", "echo '[1]'"),
        script("busy", "exit 3"),
        script("never", "exit 100"),
        script("slow", "exec sleep 60"),
        script("loud", "exec head -c 2000000 /dev/zero"),
    ]);
    let executor: Arc<dyn Executor> = Arc::new(Command::new(allowed, Duration::from_secs(2)));
    let mut steps = BTreeMap::new();
    for name in ["echo", "quiet", "silly", "list", "busy", "never", "slow", "loud", "absent"] {
        let with = json!({ "program": name, "args": ["; rm -rf $HOME"] });
        let (_, step) =
            scene.flow.one_step(&format!("of_{name}"), &step_with("command", &with)).await;
        steps.insert(name, step);
    }
    // Options come from a definition, or from whatever the data of a run holds: those that the operator named are taken, no others.
    for (name, argument) in [
        ("named", "--format"),
        ("with_value", "--format=pdf"),
        ("unnamed", "--output=/etc/passwd"),
        ("longer", "--formatted"),
        ("short", "-o"),
        ("end_of_options", "--"),
    ] {
        let with = json!({ "program": "echo", "args": [argument] });
        let (_, step) =
            scene.flow.one_step(&format!("option_{name}"), &step_with("command", &with)).await;
        steps.insert(name, step);
    }
    scene.work("command", executor).await;
    for (name, expected) in [
        ("named", "completed"),
        ("with_value", "completed"),
        ("unnamed", "failed permanent not_allowed"),
        ("longer", "failed permanent not_allowed"),
        ("short", "failed permanent not_allowed"),
        ("end_of_options", "failed permanent not_allowed"),
        ("echo", "completed"),
        ("quiet", "completed"),
        ("silly", "failed permanent bad_output"),
        ("list", "failed permanent bad_output"),
        ("busy", "failed transient unclassified"),
        ("never", "failed permanent bad_request"),
        ("slow", "failed transient timeout"),
        ("loud", "failed permanent bad_output"),
        ("absent", "failed permanent not_allowed"),
    ] {
        assert_eq!(scene.state(steps[name]).await, expected, "{name}");
    }
    let said = scene.output(steps["echo"]).await;
    assert_eq!(said["arg"], "; rm -rf $HOME", "there is no shell");
    assert_eq!(said["key"], format!("{}/0", steps["echo"]));
    assert_eq!(said["input"]["with"]["program"], "echo");
    assert_eq!(scene.output(steps["quiet"]).await, json!({}));
}

/// What is answered at once is the output; the call carries its key, its trace and what the headers name, and goes nowhere else.
#[tokio::test]
async fn a_call_that_is_answered_at_once() {
    let scene = FlowScene::new().await;
    let outside = Outside::new(&[(200, r#"{"price": 12.5}"#)]);
    let more = json!({
        "body": { "order": 17 }, "headers": { "Authorization": { "env": "API_TOKEN" }, "X-Kind": "trial" }, "callback": true,
    });
    let (_, step) = scene.flow.one_step("call", &call(&outside, &more)).await;
    scene.work("http", http(&outside)).await;
    assert_eq!(scene.state(step).await, "completed");
    assert_eq!(scene.output(step).await, json!({ "price": 12.5 }));
    let got = outside.got();
    let [got] = &got[..] else { panic!("one call: {got:?}") };
    assert_eq!(
        (got.line.as_str(), got.body.as_str()),
        ("POST /allowed/thing HTTP/1.1", r#"{"order":17}"#)
    );
    assert_eq!(got.header("idempotency-key"), format!("{step}/0"));
    assert_eq!((got.header("authorization"), got.header("x-kind")), ("s3cret", "trial"));
    let trace = format!(
        "select r.trace_id from workflow.step_run s join workflow.workflow_run r using (workflow_run_id) where s.step_run_id = '{step}'"
    );
    let trace = format!("00-{}-", scene.db.text(&trace).await);
    assert!(got.header("traceparent").starts_with(&trace), "{got:?}");
    let leaked = "select count(*)::text from fsm.transition_log where evidence like '%s3cret%'";
    assert_eq!(scene.db.text(leaked).await, "0");

    let beside = step_with("http", &json!({ "url": format!("{}/elsewhere", outside.url) }));
    let (_, beside) = scene.flow.one_step("beside", &beside).await;
    let unnamed = json!({ "headers": { "X": { "env": "PATH" } } });
    let (_, unnamed) = scene.flow.one_step("unnamed", &call(&outside, &unnamed)).await;
    // Another address that may be called does not get what is meant for its neighbour.
    let misdirected = json!({ "headers": { "X": { "env": "OTHER_TOKEN" } } });
    let (_, misdirected) = scene.flow.one_step("misdirected", &call(&outside, &misdirected)).await;
    let forged = json!({ "headers": { "Idempotency-Key": "mine" } });
    let (_, forged) = scene.flow.one_step("forged", &call(&outside, &forged)).await;
    scene.work("http", http(&outside)).await;
    assert_eq!(scene.state(beside).await, "failed permanent not_allowed");
    assert_eq!(scene.state(unnamed).await, "failed permanent not_allowed");
    assert_eq!(scene.state(misdirected).await, "failed permanent not_allowed");
    assert_eq!(scene.state(forged).await, "failed permanent bad_request");
    assert_eq!(outside.got().len(), 1, "nothing of that was sent");
}

/// T10: what may work another time is tried again with the same key; what will not is failed for good.
#[tokio::test]
async fn a_call_that_fails_is_tried_again_with_the_same_key() {
    let scene = FlowScene::new().await;
    let outside = Outside::new(&[(500, "{}"), (429, "{}"), (200, r#"{"ok": true}"#)]);
    let (_, step) = scene.flow.one_step("flaky", &call(&outside, &json!({}))).await;
    for (later, expected) in [
        ("0 s", "failed transient unavailable"),
        ("1 hour", "failed transient unavailable"),
        ("2 hours", "completed"),
    ] {
        scene.later(later).await;
        scene.work("http", http(&outside)).await;
        assert_eq!(scene.state(step).await, expected);
    }
    let keys: Vec<String> =
        outside.got().iter().map(|got| got.header("idempotency-key").to_owned()).collect();
    assert_eq!(keys, vec![format!("{step}/0"); 3]);
    assert_eq!(
        scene.moves(step).await,
        "precondition_resolved step_claim executor_failure retry_attempt executor_failure retry_attempt step_complete"
    );
}

/// What is no good answer is a failure of its class.
#[tokio::test]
async fn a_call_that_is_answered_badly() {
    let scene = FlowScene::new().await;
    for (name, status, body, expected) in [
        ("gone", 404, "{}", "failed permanent bad_request"),
        ("moved", 302, "{}", "failed permanent bad_request"),
        ("slow", 408, "{}", "failed transient timeout"),
        ("odd", 200, "no JSON", "failed permanent bad_output"),
        ("nul", 200, r#"{"a": "\u0000"}"#, "failed permanent bad_output"),
        ("list", 200, "[]", "failed permanent bad_output"),
    ] {
        let outside = Outside::new(&[(status, body)]);
        let (_, step) = scene.flow.one_step(name, &call(&outside, &json!({}))).await;
        scene.work("http", http(&outside)).await;
        assert_eq!(scene.state(step).await, expected, "{name}");
        assert_eq!(outside.got().len(), 1, "{name}: redirects are not followed");
    }
    let mut away = Outside::new(&[(200, "{}")]);
    away.url = "http://127.0.0.1:1".to_owned();
    let (_, step) = scene.flow.one_step("away", &call(&away, &json!({}))).await;
    scene.work("http", http(&away)).await;
    assert_eq!(scene.state(step).await, "failed transient unavailable");
}

/// A call-back is taken once, and only while the step waits for it.
#[tokio::test]
async fn a_call_that_is_called_back_later() {
    let scene = FlowScene::new().await;
    let outside = Outside::new(&[(202, "")]);
    let (_, step) =
        scene.flow.one_step("later", &call(&outside, &json!({ "callback": true }))).await;
    scene.work("http", http(&outside)).await;
    assert_eq!(scene.state(step).await, "waiting");
    let facet = format!("select facet from workflow.step_run where step_run_id = '{step}'");
    assert_eq!(scene.db.text(&facet).await, "waiting_external");
    let token = token(&outside);
    let kept = format!("select count(*)::text from workflow.wait w where w::text like '%{token}%'");
    assert_eq!(scene.db.text(&kept).await, "0", "the token itself is nowhere");

    let digest = Sha256::digest(token.as_bytes()).to_vec();
    let answer = json!({ "price": 7 });
    let nobody = scene.store.fn_callback(&Sha256::digest(b"x"), &answer).await;
    assert_eq!(nobody.expect_err("a refusal").refusal().map(|r| r.code), Some(Code::RW012));
    let taken = scene.store.fn_callback(&digest, &answer).await.expect("taken");
    assert_eq!(taken["resumed"], true);
    let twice = scene.store.fn_callback(&digest, &answer).await;
    assert_eq!(twice.expect_err("a refusal").refusal().map(|r| r.code), Some(Code::RW013));
    assert_eq!(scene.state(step).await, "in_progress");
    scene.work("http", http(&outside)).await;
    assert_eq!(scene.state(step).await, "completed");
    assert_eq!(scene.output(step).await, answer);
    assert_eq!(outside.got().len(), 1, "it was called once");
    let after = scene.store.fn_callback(&digest, &answer).await;
    assert_eq!(after.expect_err("a refusal").refusal().map(|r| r.code), Some(Code::RW014));
    assert_eq!(scene.output(step).await, answer, "nothing changed");
}

/// Who is called can be faster than the worker: the answer comes before the wait is on record.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_back_before_the_wait_is_not_lost() {
    let scene = FlowScene::new().await;
    let (store, handle) = (scene.store.clone(), tokio::runtime::Handle::current());
    let said = Arc::new(Mutex::new(None));
    let taken = Arc::clone(&said);
    let outside = Outside::that(
        &[(202, "")],
        Box::new(move |got| {
            let token = got.header("callback-url").rsplit('/').next().expect("a token");
            let digest = Sha256::digest(token.as_bytes());
            let answer = handle.block_on(store.fn_callback(&digest, &json!({ "fast": true })));
            *taken.lock().expect("the answer") = Some(answer.expect("taken"));
        }),
    );
    let (_, step) =
        scene.flow.one_step("fast", &call(&outside, &json!({ "callback": true }))).await;
    scene.work("http", http(&outside)).await;
    let said = said.lock().expect("the answer").clone();
    assert_eq!(said.expect("it was called")["resumed"], false, "nothing waited yet");
    assert_eq!(scene.state(step).await, "completed");
    assert_eq!(scene.output(step).await, json!({ "fast": true }));
    assert_eq!(
        scene.moves(step).await,
        "precondition_resolved step_claim step_wait facet_resolved step_complete"
    );
}

/// A worker that lost its lease after it had called: its wait is refused, and the next worker's call expects the same call-back, because
/// who was called may know only that.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_is_repeated_expects_the_same_call_back() {
    let scene = Arc::new(FlowScene::new().await);
    let (there, handle) = (Arc::clone(&scene), tokio::runtime::Handle::current());
    let calls = AtomicU32::new(0);
    let outside = Outside::that(
        &[(202, "")],
        Box::new(move |_| {
            if calls.fetch_add(1, Ordering::Relaxed) == 0 {
                handle.block_on(async {
                    there.later("1 hour").await;
                    there.store.fn_leases_expire("chancery").await.expect("expired");
                });
            }
        }),
    );
    let (_, step) =
        scene.flow.one_step("twice", &call(&outside, &json!({ "callback": true }))).await;
    let tally = scene.work("http", http(&outside)).await;
    assert_eq!((tally.late, tally.succeeded), (1, 0), "{tally:?}");
    let first = token(&outside);
    assert_eq!(scene.state(step).await, "in_progress", "a late report moves nothing");

    scene.later("2 hours").await;
    scene.work("http", http(&outside)).await;
    assert_eq!(outside.got().len(), 2);
    assert_eq!(token(&outside), first);
    assert_eq!(scene.state(step).await, "waiting");
    let taken = scene.store.fn_callback(&Sha256::digest(first.as_bytes()), &json!({})).await;
    assert_eq!(taken.expect("taken")["resumed"], true);
    scene.work("http", http(&outside)).await;
    assert_eq!(scene.state(step).await, "completed");
}

/// A worker that was stopped and comes back late is refused; the step is done once, by the other one.
#[tokio::test]
async fn a_late_worker_is_refused_and_the_step_is_done_once() {
    let scene = FlowScene::new().await;
    let (_, step) = scene
        .flow
        .one_step("late", &step_with("noop", &json!({ "output": { "by": "the second" } })))
        .await;
    let leased = scene.store.fn_job_claim("noop", 1, "stopped", "chancery").await.expect("a claim");
    let lease = Lease {
        job_id: leased[0].job_id,
        lease_no: leased[0].lease_no,
        worker: "stopped",
        principal: "chancery",
    };
    let begun = scene.store.fn_work_begin(lease).await.expect("begun");
    assert_eq!(begun.state, "in_progress");
    scene.later("1 hour").await;
    scene.store.fn_leases_expire("chancery").await.expect("expired");
    scene.later("2 hours").await;
    let tally = scene.work("noop", Arc::new(Noop)).await;
    assert_eq!((tally.succeeded, tally.failed), (1, 0), "{tally:?}");
    assert_eq!(scene.output(step).await, json!({ "by": "the second" }));

    let before = scene.db.fingerprint().await;
    let output = json!({ "by": "the first" });
    let evidence = json!({ "output_sha256": sha256(&output) });
    let report = WorkReport { call: "step_complete", evidence: &evidence, document: Some(&output) };
    let refused = scene.store.fn_work_report(lease, &report).await.expect_err("a refusal");
    let code = refused.refusal().map(|refusal| refusal.code);
    assert!(matches!(code, Some(Code::RE010 | Code::RE011)), "{refused:?}");
    assert_eq!(scene.db.fingerprint().await, before, "nothing changed");
    assert_eq!(scene.moves(step).await, "precondition_resolved step_claim step_complete");
}

/// RUN-11, RUN-18: a rule that does not let a result in makes no permanent failure of the work. A step with open tasks waits for them; one
/// whose postcondition does not hold is tried again, and its dead letter names the guard.
#[tokio::test]
async fn a_refusal_by_a_rule_is_no_permanent_failure() {
    let scene = FlowScene::new().await;
    let title = json!({ "en": "Sign", "vi": "Ký" });
    let more = json!({
        "executor": "noop", "tasks": [{ "key": "sign", "title": title, "pic": { "starter": true } }],
    });
    let (_, step) = scene.flow.one_step("signed", &more).await;
    let tally = scene.work("noop", Arc::new(Noop)).await;
    assert_eq!((tally.succeeded, tally.failed, tally.late), (1, 0, 0), "{tally:?}");
    assert_eq!(scene.state(step).await, "waiting");
    assert_eq!(scene.jobs(step).await, ["succeeded"]);

    let more = json!({
        "executor": "noop", "with": { "output": { "sum": 0 } }, "postcondition": "$.output.sum > 0",
        "output": { "type": "object", "required": ["sum"], "properties": { "sum": { "type": "number" } } },
    });
    let (_, step) = scene.flow.one_step("unmet", &more).await;
    scene.work("noop", Arc::new(Noop)).await;
    assert_eq!(scene.state(step).await, "failed transient refused");
    assert_eq!(scene.jobs(step).await, ["retry_waiting"]);
    let why = format!(
        "select evidence::jsonb ->> 'detail' from fsm.transition_log where run_id = '{step}' and trigger_ref = 'executor_failure'"
    );
    let detail = scene.db.text(&why).await;
    assert!(detail.contains("RS006") && detail.contains("G-POSTCONDITION"), "{detail}");
    for hours in 1..40 {
        scene.later(&format!("{hours} hours")).await;
        scene.work("noop", Arc::new(Noop)).await;
        if scene.jobs(step).await == ["dead_letter"] {
            break;
        }
    }
    assert_eq!(scene.state(step).await, "failed transient refused");
    let letter =
        format!("select d::text from queue.job_dead_letter d where d::text like '%{step}%'");
    let letter = scene.db.text(&letter).await;
    assert!(letter.contains("G-POSTCONDITION"), "{letter}");
}
