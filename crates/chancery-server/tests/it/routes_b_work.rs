//! RUN-17, UIW-5: steps, tasks and proposals over HTTP.

use serde_json::{Value, json};
use uuid::Uuid;

use crate::routes_b::{Office, plain};
use crate::scene::Answer;

#[track_caller]
fn action(answer: &Answer, name: &str) -> Value {
    let actions = answer.is(200).body["actions"].as_array().expect("actions");
    let found = actions.iter().find(|one| one["name"] == name).cloned();
    found.unwrap_or_else(|| panic!("{name}: {actions:?}"))
}

/// A step from its claim to its output, with everything that people say on the way; each seen again afterwards.
#[tokio::test]
async fn a_step_is_worked_on() {
    let office = Office::new().await;
    let Office { scene, alice, bob, .. } = &office;
    let (_, steps) = office.run().await;
    let id = steps[0]["step_id"].as_str().expect("an id").to_owned();
    let path = format!("/v1/steps/{id}");
    let moves = format!("{path}/moves");

    let shown = alice.get(scene, &path).await;
    assert_eq!(shown.is(200).body["work"]["state"], "ready");
    assert_eq!(action(&shown, "step_claim")["allowed"], true);
    assert_eq!(action(&bob.get(scene, &path).await, "step_claim")["allowed"], false);
    let ready = shown.headers["etag"].to_str().expect("an ETag").to_owned();
    let before = scene.db.fingerprint().await;
    for (body, status, problem) in [
        (json!({ "call": "step_claim", "state": "completed" }), 422, "request_invalid"),
        (json!({}), 422, "request_invalid"),
        (json!({ "call": "step_dance" }), 422, "call_unknown"),
    ] {
        alice.done(scene, &moves, "bad", &body).await.is_problem(status, problem);
    }
    let foreign = format!(
        "/v1/steps/{}/moves",
        steps[0]["step_id"].as_str().expect("an id").replace("stp_", "tsk_")
    );
    let claim = json!({ "call": "step_claim" });
    alice.post(scene, &foreign, "f", &claim).await.is_problem(400, "id_malformed");
    assert_eq!(scene.db.fingerprint().await, before, "nothing changed");

    let (claimed, headers) = alice.signed(scene, "POST", &moves, "m1", &claim).await;
    assert_eq!(claimed.is(200).body["to"], "in_progress");
    let mut headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let same = alice.ask(scene, "POST", &moves, &headers, claim.clone()).await;
    assert_eq!(
        (&same.is(200).body["replayed"], &same.body["seq"]),
        (&json!(true), &claimed.body["seq"])
    );
    headers.push(("if-match", &ready));
    let same = alice.ask(scene, "POST", &moves, &headers, claim.clone()).await;
    assert_eq!(same.is(200).body["replayed"], true, "it was this very request that moved it");
    let release = json!({ "call": "step_release" });
    alice.done(scene, &moves, "m1", &release).await.is_refusal(409, "RS012");
    let stale = [("idempotency-key", "m2"), ("if-match", &*ready)];
    alice.ask(scene, "POST", &moves, &stale, release).await.is_problem(412, "has_changed");

    let note = json!({ "text": "thiếu phụ lục" });
    let noted = bob.post(scene, &format!("{path}/comments"), "n1", &note).await;
    assert_eq!((&noted.is(201).body["no"], &noted.body["replayed"]), (&json!(1), &json!(false)));
    let again = bob.post(scene, &format!("{path}/comments"), "n1", &note).await;
    assert_eq!(again.is(201).body["replayed"], true);
    let far = json!({ "label": "half", "facts": { "page": 12 } });
    alice.post(scene, &format!("{path}/checkpoints"), "n2", &far).await.is(201);
    let later = json!({ "until": "2999-01-01T00:00:00+07:00", "reason": "nghỉ lễ" });
    let moved = bob.post(scene, &format!("{path}/extend"), "e1", &later).await;
    assert!(
        moved.is(200).body["deadline"].as_str().is_some_and(|at| at.starts_with("2998-12-31")),
        "{moved:?}"
    );
    let tomorrow = json!({ "until": "tomorrow", "reason": "x" });
    bob.post(scene, &format!("{path}/extend"), "e2", &tomorrow)
        .await
        .is_problem(422, "request_invalid");

    let block = json!({ "call": "step_block", "evidence": { "block_reason": "missing_input" } });
    assert_eq!(alice.done(scene, &moves, "m3", &block).await.is(200).body["to"], "blocked");
    let worse = json!({ "reason": "the client waits" });
    let worse = bob.post(scene, &format!("{path}/escalate-block"), "x1", &worse).await;
    assert_eq!(worse.is(200).body["severity"], "red");
    let mended =
        json!({ "call": "blocker_resolved", "evidence": { "resolution_ref": "ticket 117" } });
    alice.done(scene, &moves, "m4", &mended).await.is(200);

    let wait = json!({ "call": "step_wait", "evidence": { "facets": ["waiting_human"], "waits": [{ "facet": "waiting_human", "of": "bob" }] } });
    alice.done(scene, &moves, "m5", &wait).await.is(200);
    let waits = alice.get(scene, &path).await.is(200).body["waits"].clone();
    let wait = waits[0]["wait_id"].as_str().expect("a wait").to_owned();
    let answer = format!("/v1/waits/{wait}/answer");
    let proof = json!({ "proof": { "answer": "attached" } });
    alice.post(scene, &answer, "w0", &proof).await.is_refusal(422, "RW015");
    let given = bob.post(scene, &answer, "w1", &proof).await;
    assert_eq!(
        (&given.is(200).body["resumed"], &given.body["replayed"]),
        (&json!(true), &json!(false))
    );
    let nobody = format!("/v1/waits/wai_{}/answer", Uuid::now_v7().simple());
    bob.post(scene, &nobody, "w2", &proof).await.is_refusal(404, "RW001");

    // The task first: a step with tasks is done when they are.
    let task = alice.get(scene, &path).await.is(200).body["tasks"][0]["task_id"]
        .as_str()
        .expect("a task")
        .to_owned();
    let task_moves = format!("/v1/tasks/{task}/moves");
    alice.done(scene, &task_moves, "t1", &json!({ "call": "task_claim" })).await.is(200);
    let done = json!({ "call": "task_complete", "document": { "errors": 0 } });
    alice.done(scene, &task_moves, "t2", &done).await.is(200);
    let shown = alice.get(scene, &format!("/v1/tasks/{task}")).await;
    assert_eq!(
        (&shown.is(200).body["work"]["state"], &shown.body["work"]["task_id"]),
        (&json!("completed"), &json!(task))
    );
    let done = json!({ "call": "step_complete", "document": { "pages": 3 } });
    assert_eq!(alice.done(scene, &moves, "m6", &done).await.is(200).body["to"], "completed");
    let shown = alice.get(scene, &path).await;
    let documents = shown.is(200).body["inputs_and_outputs"].as_array().expect("documents");
    assert!(
        documents.iter().any(|one| one["kind"] == "output" && one["document"]["pages"] == 3),
        "{documents:?}"
    );
    assert_eq!(shown.body["notes"].as_array().expect("notes").len(), 2);
    assert!(
        shown.body["history"]
            .as_array()
            .expect("moves")
            .iter()
            .any(|one| one["call"] == "step_complete" && one["signed"] == true)
    );
    let state =
        format!("select state_code from workflow.step_run where step_run_id = '{}'", plain(&id));
    assert_eq!(scene.db.text(&state).await, "completed");
}

/// A proposal that is not about a workflow, from its draft to what came of it.
#[tokio::test]
async fn a_proposal_is_written_and_taken_back() {
    let office = Office::new().await;
    let Office { scene, alice, .. } = &office;
    let body = json!({
        "kind": "no_action", "proposer_class": "kg_feedback", "title": "Leave it", "action": { "why": "đủ rồi" },
        "usage": [{ "kind": "read", "facts": { "times": 3 } }],
    });
    let made = alice.done(scene, "/v1/proposals", "p1", &body).await;
    let id = made.is(201).body["proposal_id"].as_str().expect("an id").to_owned();
    let path = format!("/v1/proposals/{id}");
    let shown = alice.get(scene, &path).await;
    assert_eq!(
        (&shown.is(200).body["proposal"]["state"], &shown.body["usage"][0]["kind"]),
        (&json!("draft"), &json!("read"))
    );
    assert_eq!(action(&shown, "submit")["allowed"], true);
    let submitted = alice.done(scene, &format!("{path}/submit"), "p2", &json!({})).await;
    assert!(submitted.is(200).body["approval"]["approval_id"].is_string(), "{submitted:?}");
    let out = json!({ "outcome": { "done": true } });
    let early = alice.done(scene, &format!("{path}/carry-out"), "p3", &out).await;
    assert!([403, 409, 422].contains(&early.status.as_u16()), "nobody approved it: {early:?}");
    let listed = alice.get(scene, "/v1/proposals?kind=no_action").await;
    assert_eq!(listed.is(200).body["items"][0]["proposal_id"], json!(id));
    let nobody = format!("/v1/proposals/prp_{}/withdraw", Uuid::now_v7().simple());
    alice.post(scene, &nobody, "p4", &json!({})).await.is_refusal(404, "RW001");

    let other = alice.done(scene, "/v1/proposals", "p5", &body).await;
    let other = other.is(201).body["proposal_id"].as_str().expect("an id").to_owned();
    assert_ne!(other, id, "another key, another proposal");
    let mut changed = body.clone();
    changed["action"] = json!({ "why": "other" });
    let before = scene.db.fingerprint().await;
    let clash = alice.done(scene, "/v1/proposals", "p5", &changed).await;
    assert!([409, 422].contains(&clash.status.as_u16()), "{clash:?}");
    assert_eq!(scene.db.fingerprint().await, before, "nothing changed");
}
