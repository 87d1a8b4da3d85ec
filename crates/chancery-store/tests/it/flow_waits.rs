//! RUN-5: what is waited for. Facets, each kind of resolution with its proof, and call-backs that come once, in time, from who has
//! the token.

use serde_json::{Value, json};
use uuid::Uuid;

use crate::flow_moves::in_progress;
use crate::flow_world::{By, DESK, Flow, facts, hex, human, sha, single, way, workflow};
use crate::hardening::attempt;

async fn time(flow: &Flow, seconds: i64) -> String {
    flow.one(&format!(
        "select to_char((internal.now() + interval '{seconds} seconds') at time zone 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"')"
    ))
    .await
}

async fn wait_id(flow: &Flow, id: Uuid, facet: &str) -> Uuid {
    flow.one(&format!("select wait_id from workflow.wait where run_id = '{id}' and facet = '{facet}' order by resolved_at is null desc limit 1"))
        .await
}

async fn proof(flow: &Flow, id: Uuid, facet: &str) -> (Value, String) {
    sqlx::query_as("select proof::jsonb, resolved_by from workflow.wait where run_id = $1 and facet = $2 and resolved_at is not null")
        .bind(id)
        .bind(facet)
        .fetch_one(&flow.admin)
        .await
        .expect("a proof")
}

/// A mixed wait keeps every facet and shows the one with the lowest ordinal; it goes on when all of it has come.
#[tokio::test]
async fn a_mixed_wait_keeps_all_and_shows_the_first() {
    let mut definition = workflow(
        "mixed",
        vec![human("a"), human("b"), human("c")],
        vec![way("a > c"), way("b > c")],
    );
    definition["start"] = json!(["a", "b"]);
    let (flow, run) = Flow::with(definition).await;
    let [a, b] = [flow.claimed(run, "a").await, flow.claimed(run, "b").await];
    let until = time(&flow, 60).await;
    let token = hex(&sha(&json!("token")));
    flow.wait_for(
        a,
        json!([
            { "facet": "waiting_time_gate", "until": until },
            { "facet": "waiting_external", "token_sha256": token },
            { "facet": "waiting_human", "of": "rita" },
            { "facet": "waiting_dependency", "step": "b" },
        ]),
    )
    .await
    .expect("waits");
    assert_eq!(flow.row_of(a).await["facet"], "waiting_dependency");
    assert_eq!(flow.number(&format!("select count(*) from workflow.wait where run_id = '{a}' and opened and resolved_at is null")).await, 4);
    let still = |left: i64| {
        let flow = &flow;
        async move {
            assert_eq!(flow.state_of(a).await, "waiting");
            assert_eq!(flow.number(&format!("select count(*) from workflow.wait where run_id = '{a}' and resolved_at is null")).await, left);
        }
    };
    let rita = wait_id(&flow, a, "waiting_human").await;
    let resolved = flow
        .store
        .fn_wait_resolve(rita, &json!({ "yes": 1 }), "rita", "reviewer")
        .await
        .expect("resolved");
    assert!(!resolved.resumed);
    still(3).await;
    let called = flow
        .store
        .fn_callback(&sha(&json!("token")), &json!({ "status": "done" }))
        .await
        .expect("called back");
    assert_eq!(called["resumed"], false);
    still(2).await;
    flow.complete(b, json!({})).await.expect("completed");
    flow.turn().await;
    still(1).await;
    flow.later(59_000).await;
    assert_eq!(flow.ring().await, []);
    flow.later(1_000).await;
    flow.ring().await;
    assert_eq!(
        flow.told(a).await,
        "T3r waiting>in_progress chancery/system event:facet_resolved | step.resumed {}"
    );
    assert_eq!(proof(&flow, a, "waiting_human").await, (json!({ "yes": 1 }), "rita".to_owned()));
    assert_eq!(
        proof(&flow, a, "waiting_external").await,
        (json!({ "answer": { "status": "done" } }), "chancery".to_owned())
    );
    assert_eq!(
        proof(&flow, a, "waiting_dependency").await.0,
        json!({ "step_run_id": b, "state": "completed" })
    );
    assert!(proof(&flow, a, "waiting_time_gate").await.0["until"].is_string());
    let named: Value = flow
        .one(&format!("select evidence::jsonb -> 'waits' from fsm.transition_log where run_id = '{a}' order by seq desc limit 1"))
        .await;
    assert_eq!(named.as_array().map(Vec::len), Some(4), "the move names what came");
}

/// A wait says what it waits for; one that cannot be resolved by anything is refused.
#[tokio::test]
async fn a_wait_says_what_it_waits_for() {
    let (flow, _, id) = in_progress(json!({})).await;
    for wait in [
        json!({ "facet": "waiting_time_gate" }),
        json!({ "facet": "waiting_time_gate", "until": "soon" }),
        json!({ "facet": "waiting_time_gate", "until": "2026-02-30T00:00:00Z" }),
        json!({ "facet": "waiting_dependency", "step": "nobody" }),
        json!({ "facet": "waiting_dependency", "step": "work" }),
        json!({ "facet": "waiting_human", "of": " " }),
        json!({ "facet": "waiting_external" }),
        json!({ "facet": "waiting_external", "token_sha256": "abc" }),
        json!({ "facet": null }),
        json!("waiting_human"),
    ] {
        let evidence = json!({ "facets": [wait["facet"]], "waits": [wait] });
        assert_eq!(
            flow.refuses(flow.call(id, "step_wait", evidence, None, DESK)).await,
            ["RW007"],
            "{wait}"
        );
    }
    let many: Vec<Value> =
        (0..21).map(|n| json!({ "facet": "waiting_human", "of": format!("p{n}") })).collect();
    assert_eq!(flow.refuses(flow.wait_for(id, json!(many))).await, ["RW007"]);
}

/// What is there already ends the wait at once, with its proof.
#[tokio::test]
async fn a_wait_for_what_is_there_goes_on_at_once() {
    let (flow, run) =
        Flow::with(workflow("past", vec![human("a"), human("b")], vec![way("a > b")])).await;
    flow.do_step(run, "a", json!({})).await;
    let b = flow.claimed(run, "b").await;
    flow.wait_for(b, json!([{ "facet": "waiting_dependency", "step": "a" }]))
        .await
        .expect("waited");
    assert_eq!(
        flow.told(b).await,
        "T3r waiting>in_progress chancery/system event:facet_resolved | step.resumed {}"
    );
    let until = time(&flow, -5).await;
    flow.wait_for(b, json!([{ "facet": "waiting_time_gate", "until": until }]))
        .await
        .expect("waits");
    flow.ring().await;
    assert_eq!(flow.state_of(b).await, "in_progress");
}

/// A person's answer is that person's: nobody else's, with a proof, while somebody waits.
#[tokio::test]
async fn an_answer_comes_from_whom_it_is_waited_for() {
    let (flow, _, id) = in_progress(json!({})).await;
    flow.wait_for(id, json!([{ "facet": "waiting_human", "of": "rita" }])).await.expect("waits");
    let wait = wait_id(&flow, id, "waiting_human").await;
    let yes = json!({ "yes": 1 });
    let resolve = |proof: &'static str, by: By<'static>| {
        let flow = &flow;
        async move {
            let proof: Value = serde_json::from_str(proof).expect("JSON");
            flow.store.fn_wait_resolve(wait, &proof, by.principal, by.class).await
        }
    };
    for (proof, by, why) in [
        (
            "{\"yes\": 1}",
            By { principal: "ralf", class: "reviewer" },
            "it is somebody else's to give",
        ),
        ("{\"yes\": 1}", DESK, "it is somebody else's to give"),
        ("{}", By { principal: "rita", class: "reviewer" }, "there is no proof"),
        (
            "{\"yes\": 1}",
            By { principal: "hall", class: "executor_worker" },
            "it is a person's to give",
        ),
    ] {
        let answer = flow.unchanged(resolve(proof, by)).await;
        assert_eq!(facts(answer)["why"], why);
    }
    assert_eq!(
        flow.refuses(flow.store.fn_wait_resolve(wait, &json!([1]), "rita", "reviewer")).await,
        ["RW009"]
    );
    assert_eq!(
        flow.refuses(flow.store.fn_wait_resolve(Uuid::now_v7(), &yes, "rita", "reviewer")).await,
        ["RW001"]
    );
    assert_eq!(
        flow.refuses(flow.store.fn_wait_resolve(wait, &yes, "rita", "sovereign")).await,
        ["RI003"]
    );
    let rita = By { principal: "rita", class: "reviewer" };
    assert!(resolve("{\"yes\": 1}", rita).await.expect("resolved").resumed);
    assert!(resolve("{\"yes\": 1}", rita).await.expect("the same again").replayed);
    assert_eq!(flow.refuses(resolve("{\"yes\": 2}", rita)).await, ["RW015"], "it is over");

    // Whoever is meant by a word that is no name: anybody but who waits.
    flow.wait_for(id, json!([{ "facet": "waiting_human", "of": "somebody from the archive" }]))
        .await
        .expect("waits");
    let wait = wait_id(&flow, id, "waiting_human").await;
    let own = flow.unchanged(flow.store.fn_wait_resolve(wait, &yes, "desk", "pic_human")).await;
    assert_eq!(facts(own)["why"], "who waits cannot answer");
    flow.store.fn_wait_resolve(wait, &yes, "ralf", "reviewer").await.expect("resolved");
    assert_eq!(flow.state_of(id).await, "in_progress");
}

/// A wait for a decision of others is over when the votes decide, and the proof names the approval.
#[tokio::test]
async fn a_wait_for_a_vote_ends_with_the_vote() {
    for (decision, state) in [("approve", "approved"), ("reject", "rejected")] {
        let (flow, _, id) = in_progress(json!({})).await;
        let approval = flow.asked("note", "medium", "N-1").await;
        flow.wait_for(
            id,
            json!([{ "facet": "waiting_human", "subject_kind": "note", "of": "N-1" }]),
        )
        .await
        .expect("waits");
        flow.turn().await;
        assert_eq!(flow.state_of(id).await, "waiting");
        let wait = wait_id(&flow, id, "waiting_human").await;
        let by_hand = flow
            .unchanged(flow.store.fn_wait_resolve(wait, &json!({ "yes": 1 }), "rita", "reviewer"))
            .await;
        assert_eq!(facts(by_hand)["why"], "it is not a person's to give");
        flow.votes(approval, "sofia", decision).await.expect("a vote");
        flow.turn().await;
        assert_eq!(flow.state_of(id).await, "in_progress");
        assert_eq!(
            proof(&flow, id, "waiting_human").await.0,
            json!({ "approval_id": approval, "state": state })
        );
    }
}

/// A decision that nobody makes ends the wait for it as well, when its time is over: who waits can ask anew.
#[tokio::test]
async fn a_wait_for_a_vote_ends_when_the_request_runs_out() {
    let (flow, _, id) = in_progress(json!({})).await;
    let approval = flow.asked("note", "medium", "N-1").await;
    let of_note = json!([{ "facet": "waiting_human", "subject_kind": "note", "of": "N-1" }]);
    flow.wait_for(id, of_note).await.expect("waits");
    flow.turn().await;
    assert!(flow.ring().await.is_empty(), "it has not run out");
    flow.later(40 * 86_400_000).await;
    let fired = flow.ring().await;
    assert_eq!(fired.iter().map(|one| one.done.as_deref()).collect::<Vec<_>>(), [Some("decision")]);
    assert_eq!(flow.state_of(id).await, "in_progress");
    assert_eq!(
        proof(&flow, id, "waiting_human").await.0,
        json!({ "approval_id": approval, "state": "expired" })
    );
}

/// A call-back: unknown, before the wait, used twice, late, for another try; and never to be taken over by another step.
#[tokio::test]
async fn a_call_back_comes_once_and_in_time() {
    let (flow, run) = Flow::with(single("auto", json!({ "executor": "noop" }))).await;
    let id = flow.step(run, "work").await;
    let token = sha(&json!("secret"));
    let answer = json!({ "status": "done" });
    assert_eq!(flow.refuses(flow.store.fn_callback(&token, &answer)).await, ["RW012"]);
    let job = flow.working().await;
    flow.store.fn_callback_issue(Flow::lease(&job), &token).await.expect("issued");
    assert_eq!(
        flow.refuses(flow.store.fn_callback_issue(Flow::lease(&job), b"short")).await,
        ["RW012"]
    );
    assert_eq!(flow.refuses(flow.store.fn_callback(&token, &json!(7))).await, ["RW009"]);
    // Before the wait is on record: kept, and the wait is over as soon as it begins.
    let called = flow.store.fn_callback(&token, &answer).await.expect("called back");
    assert_eq!(called["resumed"], false);
    assert_eq!(flow.refuses(flow.store.fn_callback(&token, &answer)).await, ["RW013"]);
    let waits = json!({ "facets": ["waiting_external"], "waits": [{ "facet": "waiting_external", "token_sha256": hex(&token) }] });
    flow.report(&job, "step_wait", waits.clone(), None).await.expect("waited");
    assert_eq!(flow.state_of(id).await, "in_progress");
    let job = flow.working().await;
    assert_eq!(
        flow.refuses(flow.report(&job, "step_wait", waits, None)).await,
        ["RW012"],
        "a token is one wait"
    );

    let token = sha(&json!("second"));
    flow.store.fn_callback_issue(Flow::lease(&job), &token).await.expect("issued");
    let waits = json!({ "facets": ["waiting_external"], "waits": [{ "facet": "waiting_external", "token_sha256": hex(&token) }] });
    flow.report(&job, "step_wait", waits, None).await.expect("waits");
    assert_eq!(flow.state_of(id).await, "waiting");
    assert_eq!(
        flow.store.fn_callback(&token, &answer).await.expect("called back")["resumed"],
        true
    );
    let job = flow.working().await;
    assert_eq!(flow.begin(&job).await.expect("again").waits.len(), 2, "the worker sees what came");

    // Late: the try it belonged to failed, or the work ended.
    let token = sha(&json!("third"));
    flow.store.fn_callback_issue(Flow::lease(&job), &token).await.expect("issued");
    flow.report_failed(&job, "transient", "timeout").await;
    assert_eq!(flow.refuses(flow.store.fn_callback(&token, &answer)).await, ["RW014"]);
    flow.later(3_600_000).await;
    let job = flow.working().await;
    assert_eq!(
        flow.refuses(flow.store.fn_callback(&token, &answer)).await,
        ["RW014"],
        "of an earlier try"
    );
    let token = sha(&json!("fourth"));
    flow.store.fn_callback_issue(Flow::lease(&job), &token).await.expect("issued");
    flow.report_done(&job, json!({})).await.expect("completed");
    assert_eq!(flow.refuses(flow.store.fn_callback(&token, &answer)).await, ["RW014"]);
    let stored: i64 =
        flow.number("select count(*) from workflow.wait w where w.*::text like '%secret%'").await;
    assert_eq!(stored, 0, "tokens are known by their digest alone");
}

/// A call-back whose run was called off is late.
#[tokio::test]
async fn a_call_back_of_a_run_that_was_called_off_is_late() {
    let (flow, run) = Flow::with(single("auto", json!({ "executor": "noop" }))).await;
    let id = flow.step(run, "work").await;
    let job = flow.working().await;
    let token = sha(&json!("secret"));
    flow.store.fn_callback_issue(Flow::lease(&job), &token).await.expect("issued");
    let waits = json!({ "facets": ["waiting_external"], "waits": [{ "facet": "waiting_external", "token_sha256": hex(&token) }] });
    flow.report(&job, "step_wait", waits, None).await.expect("waits");
    flow.cancel_run(run).await;
    assert_eq!(flow.refuses(flow.store.fn_callback(&token, &json!({}))).await, ["RW014"]);
    assert_eq!(flow.state_of(id).await, "waiting");
}

/// A waiting row without a facet cannot be committed, also not by a superuser with every trigger off.
#[tokio::test]
async fn a_wait_without_a_facet_cannot_be_stored() {
    let (flow, _, id) = in_progress(json!({})).await;
    flow.wait_for(id, json!([{ "facet": "waiting_human", "of": "rita" }])).await.expect("waits");
    let mut admin = flow.db.superuser().await;
    let bare = format!(
        "do $$ begin alter table workflow.step_run disable trigger user; update workflow.step_run set facet = null where step_run_id = '{id}'; end $$"
    );
    assert_eq!(
        attempt(&mut admin, &bare).await.as_deref(),
        Some("23514"),
        "a constraint of the table"
    );
    let elsewhere = format!(
        "do $$ begin alter table workflow.step_run disable trigger user; update workflow.step_run set state_code = 'in_progress' where step_run_id = '{id}'; end $$"
    );
    assert_eq!(
        attempt(&mut admin, &elsewhere).await.as_deref(),
        Some("23514"),
        "nor a facet without a wait"
    );
}
