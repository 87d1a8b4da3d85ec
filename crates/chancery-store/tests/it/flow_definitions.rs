//! RUN-13: definitions. What is wrong with one is said with where and which name; versions come in by approved proposals and by
//! nothing else; runs stay on theirs.

use std::time::Instant;

use chancery_store::workflow::Act;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::flow_world::{Flow, facts, hex, human, sha, step, title, way, when, workflow};

/// What is wrong, as `at: why (name)`.
async fn problems(flow: &Flow, definition: &Value) -> Vec<String> {
    let answer = flow.propose(Uuid::now_v7(), definition).await;
    let Err(_) = &answer else { return Vec::new() };
    facts(answer)["problems"]
        .as_array()
        .expect("problems")
        .iter()
        .map(|p| match p["name"].as_str() {
            Some(name) => format!(
                "{}: {} ({name})",
                p["at"].as_str().unwrap_or("-"),
                p["why"].as_str().unwrap_or("-")
            ),
            None => {
                format!("{}: {}", p["at"].as_str().unwrap_or("-"), p["why"].as_str().unwrap_or("-"))
            }
        })
        .collect()
}

fn with(field: &str, value: Value) -> Value {
    workflow(
        "bad",
        vec![step("work", Value::Object([(field.to_owned(), value)].into_iter().collect()))],
        vec![],
    )
}

/// RUN-13: without a start the one step that nothing leads to is it, wherever it is written.
#[tokio::test]
async fn the_one_first_step_needs_no_start() {
    let definition = workflow("free", vec![human("b"), human("a")], vec![way("a > b")]);
    let (flow, run) = Flow::with(definition).await;
    assert_eq!(flow.states(run).await, "a ready, b not_started");
    let two = workflow("two", vec![human("c"), human("a"), human("b")], vec![way("a > c")]);
    assert_eq!(
        problems(&flow, &two).await,
        ["/steps: no start leads there; name every first step in \"start\" (a, b)"]
    );
}

/// Every problem with a definition, each with its place and its name. Nothing is stored of one that has any.
#[tokio::test]
async fn every_problem_is_named() {
    let flow = Flow::new().await;
    let before = flow.db.fingerprint().await;
    let abc = || vec![human("a"), human("b"), human("c")];
    let mut twice = workflow("bad", vec![human("a"), human("a")], vec![]);
    twice["start"] = json!(["a"]);
    let mut lost = workflow("bad", abc(), vec![way("a > b")]);
    lost["start"] = json!(["a", "z"]);
    let mut inputs = workflow("bad", abc(), vec![way("a > b"), way("b > c")]);
    inputs["inputs"] = json!({ "type": "object", "$ref": "#/else" });
    let task = |more: Value| with("tasks", json!([step("t", more)]));
    for (definition, expected) in [
        (
            json!([]),
            "/steps: a definition is an object with a list of steps and, beyond one, of relations",
        ),
        (
            workflow("bad", vec![], vec![]),
            "/steps: a definition is an object with a list of steps and, beyond one, of relations",
        ),
        (
            workflow("Bad Name", vec![human("a")], vec![]),
            "/workflow: pattern: ^[a-z][a-z0-9_]{0,62}$",
        ),
        (
            workflow("bad", abc(), vec![way("a > b"), way("b > c"), way("c > b")]),
            "/relations: a cycle (b → c → b)",
        ),
        (workflow("bad", vec![human("a")], vec![way("a > a")]), "/relations: a cycle (a → a)"),
        (
            workflow("bad", abc(), vec![way("a > b"), way("b > x")]),
            "/relations/1/to: no such step (x)",
        ),
        (workflow("bad", abc(), vec![way("x > b")]), "/relations/0/from: no such step (x)"),
        (
            workflow("bad", abc(), vec![way("a > b")]),
            "/steps: no start leads there; name every first step in \"start\" (c)",
        ),
        (lost, "/start: no such step (z)"),
        (twice, "/steps/0/key: the key stands twice (a)"),
        (
            with("tasks", json!([human("t"), human("t")])),
            "/steps/0/tasks/1/key: the key stands twice (t)",
        ),
        (
            workflow("bad", abc(), vec![way("a > b"), way("a and> b"), way("b > c")]),
            "/relations/0: the relation stands twice (a → b)",
        ),
        (
            workflow("bad", abc(), vec![way("a condition> b"), way("b > c")]),
            "/relations/0/when: a condition needs a rule (a → b)",
        ),
        (
            workflow(
                "bad",
                abc(),
                vec![json!({ "from": "a", "to": "b", "when": "$.inputs.x == 1" }), way("b > c")],
            ),
            "/relations/0/when: only a condition has a rule (a → b)",
        ),
        (
            workflow("bad", abc(), vec![way("a sub_workflow> b"), way("b > c")]),
            "/relations/0/kind: the step it leads to is no sub-workflow (b)",
        ),
        (
            with("precondition", json!("$.inputs[")),
            "/steps/0/precondition: not an SQL/JSON path ($.inputs[)",
        ),
        (
            with("postcondition", json!("drop table x")),
            "/steps/0/postcondition: not an SQL/JSON path (drop table x)",
        ),
        (
            task(json!({ "precondition": "$$" })),
            "/steps/0/tasks/0/precondition: not an SQL/JSON path ($$)",
        ),
        (
            with("with", json!({ "url": "$.inputs[" })),
            "/steps/0/with: not an SQL/JSON path ($.inputs[)",
        ),
        (
            with("precondition", json!("$.outputs.nobody.x == 1")),
            "/steps/0/precondition: no such step (nobody)",
        ),
        (
            with("precondition", json!("$.outputs[*].x == 1")),
            "/steps/0/precondition: outputs are named as $.outputs.STEP ($.outputs[*].x == 1)",
        ),
        (with("executor", json!("wizard")), "/steps/0/executor: no such executor class (wizard)"),
        (
            with("sub_workflow", json!("nowhere")),
            "/steps/0/sub_workflow: no such workflow (nowhere)",
        ),
        (
            with("pic", json!({ "principal": "nobody" })),
            "/steps/0/pic: name one of principal, class and starter; it must exist (nobody)",
        ),
        (
            with("pic", json!({ "class": "king" })),
            "/steps/0/pic: name one of principal, class and starter; it must exist (king)",
        ),
        (
            with("pic", json!({})),
            "/steps/0/pic: name one of principal, class and starter; it must exist",
        ),
        (with("retry", json!("forever")), "/steps/0/retry: no such retry policy (forever)"),
        (with("deadline", json!("soon")), "/steps/0/deadline: no such length of time (soon)"),
        (with("deadline", json!("-1 day")), "/steps/0/deadline: no such length of time (-1 day)"),
        (with("lane", json!("fast")), "/steps/0/lane: no such lane (fast)"),
        (with("category", json!("law")), "/steps/0/category: no such category (law)"),
        (with("visible_to", json!(["king"])), "/steps/0/visible_to: no such actor class (king)"),
    ] {
        assert_eq!(problems(&flow, &definition).await, [expected], "{definition}");
    }
    for definition in [
        with("output", json!({ "type": "object", "$ref": "#/x" })),
        inputs,
        with("colour", json!("red")),
        with("key", json!("A B")),
    ] {
        assert!(!problems(&flow, &definition).await.is_empty(), "{definition}");
    }
    assert_eq!(before, flow.db.fingerprint().await, "nothing is stored");
}

/// A condition that PostgreSQL could read and never answer is refused when it is written, not when a run meets it.
#[tokio::test]
async fn a_condition_with_a_variable_is_refused() {
    let flow = Flow::new().await;
    let found = problems(&flow, &with("precondition", json!("$someone == 1"))).await;
    assert_eq!(found, ["/steps/0/precondition: a path has no variables but $ ($someone == 1)"]);
    for (rule, why) in [
        (
            "!($.inputs.a ? (@.typo == 1).by == \"x\")",
            "no filters: what is missing in one is dropped in silence",
        ),
        ("$.inputs.list[*] == 1", "no wildcards: name the members"),
        (
            "exists($.inputs.a)",
            "no exists(): what is missing stops the run by itself; ask a declared member for == null",
        ),
        (
            "($.inputs.a == 1) is unknown",
            "no \"is unknown\": what cannot be answered stops the run",
        ),
        ("lax $.inputs.a == 1", "no mode: every condition is asked strictly"),
        (
            "$.inputs.until.datetime() > \"2026-01-01\"",
            "no .datetime(): compare the seconds of a declared time, NAME_s",
        ),
        ("$.inputs.a", "a condition compares"),
    ] {
        let found = problems(&flow, &with("precondition", json!(rule))).await;
        assert_eq!(found, [format!("/steps/0/precondition: {why} ({rule})")]);
    }
    // What the inputs and the outputs are declared to be is known.
    let mut declared = with("precondition", json!("$.inputs.ammount > 1"));
    declared["inputs"] =
        json!({ "type": "object", "properties": { "amount": { "type": "number" } } });
    assert_eq!(
        problems(&flow, &declared).await,
        ["/steps/0/precondition: the document has no such place ($.inputs.ammount)"]
    );
    declared["steps"][0]["precondition"] = json!("$.run.startedby == \"x\"");
    assert_eq!(
        problems(&flow, &declared).await,
        ["/steps/0/precondition: the document has no such place ($.run.startedby)"]
    );
    declared["steps"][0]["precondition"] = json!("$.inputs.amount > 1");
    declared["steps"][0]["postcondition"] = json!("$.output.pages < 3");
    declared["steps"][0]["output"] = json!({ "type": "object", "properties": { "page": {} } });
    assert_eq!(
        problems(&flow, &declared).await,
        ["/steps/0/postcondition: the document has no such place ($.output.pages)"]
    );
    assert_eq!(
        problems(&flow, &with("precondition", json!("$.inputs.price == \"$5 off\""))).await,
        Vec::<String>::new()
    );
}

fn long(steps: usize) -> Value {
    workflow(
        "long",
        (0..steps).map(|n| human(&format!("s{n}"))).collect(),
        (1..steps).map(|n| way(&format!("s{} > s{n}", n - 1))).collect(),
    )
}

/// Bad input: a definition of 20,000 steps simply works; one with a step too many is refused.
#[tokio::test]
#[expect(clippy::print_stdout, reason = "how long it took")]
async fn twenty_thousand_steps_work() {
    let flow = Flow::new().await;
    let began = Instant::now();
    assert_eq!(flow.install(long(20_000)).await, 1);
    let installed = began.elapsed();
    let run = flow.start("long", json!({})).await;
    println!(
        "20,000 steps: installed in {installed:?}, started in {:?}",
        began.elapsed() - installed
    );
    assert_eq!(
        flow.number(&format!(
            "select count(*) from workflow.step_run where workflow_run_id = '{run}'"
        ))
        .await,
        20_000
    );
    flow.do_step(run, "s0", json!({})).await;
    assert_eq!(flow.state_of(flow.step(run, "s1").await).await, "ready");
    flow.as_owner("update config.dot_config set value = '100' where key = 'workflow.max_steps'")
        .await;
    assert_eq!(problems(&flow, &long(101)).await, ["/steps: at most 100 steps"]);
    assert_eq!(problems(&flow, &long(100)).await, Vec::<String>::new());
}

/// The shipped limit is 50,000 steps.
#[tokio::test]
async fn fifty_thousand_and_one_steps_are_refused() {
    let flow = Flow::new().await;
    assert_eq!(problems(&flow, &long(50_001)).await, ["/steps: at most 50000 steps"]);
}

/// A merge makes a new version; runs stay on theirs, whatever is merged after them.
#[tokio::test]
async fn runs_stay_on_their_version() {
    let flow = Flow::new().await;
    assert_eq!(
        flow.install(workflow("doc", vec![human("a"), human("b")], vec![way("a > b")])).await,
        1
    );
    let old = flow.start("doc", json!({})).await;
    assert_eq!(
        flow.install(workflow("doc", vec![human("a"), human("c")], vec![way("a > c")])).await,
        2
    );
    let new = flow.start("doc", json!({})).await;
    flow.do_step(old, "a", json!({})).await;
    flow.do_step(new, "a", json!({})).await;
    assert_eq!(flow.states(old).await, "a completed, b ready");
    assert_eq!(flow.states(new).await, "a completed, c ready");
    let versions: i64 =
        flow.number("select count(*) from workflow.workflow_version where workflow = 'doc'").await;
    assert_eq!(versions, 2);
}

/// Bad input: a merge that somebody else's merge made stale; and nothing of it is used up or stored.
#[tokio::test]
async fn a_stale_merge_is_refused() {
    let flow = Flow::new().await;
    flow.install(workflow("doc", vec![human("a")], vec![])).await;
    let late = flow.approved_change(&workflow("doc", vec![human("late")], vec![])).await;
    flow.install(workflow("doc", vec![human("b")], vec![])).await;
    assert_eq!(flow.refuses(flow.merge(late)).await, ["RW004"]);
    // The same for two that are both new.
    let [one, two] = [
        flow.approved_change(&workflow("fresh", vec![human("a")], vec![])).await,
        flow.approved_change(&workflow("fresh", vec![human("b")], vec![])).await,
    ];
    let merged = flow.merge(one).await.expect("merged");
    assert_eq!((merged.merged_version, merged.replayed), (Some(1), false));
    assert!(flow.unchanged(flow.merge(one)).await.expect("the same").replayed);
    assert_eq!(flow.refuses(flow.merge(two)).await, ["RW004"]);
}

/// Nothing is merged that is not approved, and what it refers to is looked at again.
#[tokio::test]
async fn a_merge_needs_the_approval_of_this_very_text() {
    let flow = Flow::new().await;
    let definition = workflow("doc", vec![human("a")], vec![]);
    let id = Uuid::now_v7();
    flow.propose(id, &definition).await.expect("a draft");
    assert_eq!(flow.refuses(flow.merge(id)).await, ["RS004"], "a draft");
    assert_eq!(flow.refuses(flow.merge(Uuid::now_v7())).await, ["RW001"]);
    let wrong = json!({ "digest": hex(&sha(&json!({}))) });
    assert_eq!(
        flow.refuses(flow.proposal_move("workflow_change", id, "submit", wrong, "petra")).await,
        ["G-DIGEST-PINNED"]
    );
    let right = json!({ "digest": hex(&sha(&definition)) });
    assert_eq!(
        flow.refuses(flow.proposal_move("workflow_change", id, "submit", right.clone(), "rita"))
            .await,
        ["G-PROPOSER"]
    );
    assert_eq!(
        flow.refuses(flow.proposal_move("workflow_change", id, "explode", right, "petra")).await,
        ["RW002"]
    );
    flow.submit(id, &definition).await;
    assert_eq!(flow.refuses(flow.merge(id)).await, ["RS004"], "submitted");
    // A request about another text is not about this one.
    let other = flow.review_asked("workflow_change", id, &sha(&json!({}))).await;
    flow.votes(other, "sofia", "approve").await.expect("a vote");
    assert_eq!(flow.settle("workflow_change", id).await, "submitted");
    let approval = flow.review_asked("workflow_change", id, &sha(&definition)).await;
    assert_eq!(flow.settle("workflow_change", id).await, "review");
    assert_eq!(flow.refuses(flow.merge(id)).await, ["RS004"], "in review");
    // Who wrote it does not vote on it.
    assert_eq!(flow.refuses(flow.votes(approval, "petra", "approve")).await.len(), 1);
    assert_eq!(flow.settle("workflow_change", id).await, "review");
    flow.votes(approval, "sofia", "approve").await.expect("a vote");
    // A vote makes the timer ring, so nobody has to ask.
    flow.ring().await;
    let state: String = flow.one(&format!("select proposal_state from workflow.workflow_change_requests where change_request_id = '{id}'")).await;
    assert_eq!(state, "approved");
    let unaudited = Act {
        run_kind: "workflow_change",
        run_id: id,
        call: "merge",
        evidence: &json!({}),
        principal: "petra",
        actor_class: "pic_human",
        idempotency_key: "merge",
        reason: None,
        signed: None,
    };
    assert_eq!(
        flow.refuses(flow.store.fn_workflow_merge(&flow.signed(unaudited).await)).await,
        ["RS007"]
    );
    flow.merge(id).await.expect("merged");
}

/// A request that somebody else made for the writer does not count: the writer could vote on what they wrote.
#[tokio::test]
async fn a_request_of_somebody_else_does_not_count() {
    let flow = Flow::new().await;
    let definition = workflow("doc", vec![human("a")], vec![]);
    let id = Uuid::now_v7();
    flow.propose_as(id, &definition, "rita").await.expect("a draft");
    let digest = json!({ "digest": hex(&sha(&definition)) });
    flow.proposal_move("workflow_change", id, "submit", digest, "rita").await.expect("submitted");
    let by_petra = flow.review_asked("workflow_change", id, &sha(&definition)).await;
    flow.votes(by_petra, "sofia", "approve").await.expect("a vote");
    assert_eq!(flow.settle("workflow_change", id).await, "submitted");
}

/// A draft is written again by its writer, each text kept; what was handed in stands until it is taken back.
#[tokio::test]
async fn a_draft_is_edited_by_its_writer() {
    let flow = Flow::new().await;
    let [one, two] =
        [workflow("doc", vec![human("a")], vec![]), workflow("doc", vec![human("b")], vec![])];
    let id = Uuid::now_v7();
    assert_eq!(flow.propose(id, &one).await.expect("a draft").revision_no, 1);
    assert_eq!(flow.unchanged(flow.propose(id, &one)).await.expect("the same").revision_no, 1);
    assert_eq!(flow.propose(id, &two).await.expect("edited").revision_no, 2);
    assert_eq!(flow.refuses(flow.propose_as(id, &one, "rita")).await, ["RW005"]);
    let elsewhere = workflow("other", vec![human("a")], vec![]);
    assert_eq!(flow.refuses(flow.propose(id, &elsewhere)).await, ["RW005"]);
    flow.submit(id, &two).await;
    assert_eq!(flow.refuses(flow.propose(id, &one)).await, ["RW005"]);
    flow.proposal_move("workflow_change", id, "withdraw", json!({}), "petra")
        .await
        .expect("taken back");
    assert_eq!(flow.propose(id, &one).await.expect("edited").revision_no, 3);
    assert_eq!(
        flow.number(&format!(
            "select count(*) from workflow.change_revision where change_request_id = '{id}'"
        ))
        .await,
        3
    );
    let untitled = Act {
        run_kind: "workflow_change",
        run_id: Uuid::now_v7(),
        call: "propose",
        evidence: &json!({ "definition_sha256": hex(&sha(&one)) }),
        principal: "petra",
        actor_class: "pic_human",
        idempotency_key: "propose",
        reason: None,
        signed: None,
    };
    assert_eq!(
        flow.refuses(flow.store.fn_workflow_propose(&flow.signed(untitled).await, &one, " ")).await,
        ["RW026"]
    );
}

/// Nobody decides in time: the timer gives the proposal back to its writer. Rejected stays rejected.
#[tokio::test]
async fn an_undecided_proposal_goes_back() {
    let flow = Flow::new().await;
    let definition = workflow("doc", vec![human("a")], vec![]);
    for voted in [false, true] {
        let id = Uuid::now_v7();
        flow.propose(id, &definition).await.expect("a draft");
        flow.submit(id, &definition).await;
        let approval = flow.review_asked("workflow_change", id, &sha(&definition)).await;
        flow.settle("workflow_change", id).await;
        if voted {
            flow.votes(approval, "sofia", "approve").await.expect("a vote");
            flow.ring().await;
        }
        flow.later(60_000).await;
        flow.ring().await;
        let told: String = flow
            .one(&format!(
                "select l.from_state || '>' || l.to_state || ' ' || l.trigger_ref || ' ' || o.event_type from fsm.transition_log l
                   join event.event_outbox o on o.event_id = l.log_id where l.run_id = '{id}' order by l.seq desc limit 1"
            ))
            .await;
        let from = if voted { "approved" } else { "review" };
        assert_eq!(told, format!("{from}>draft approval_expired proposal.returned"));
        assert_eq!(flow.refuses(flow.merge(id)).await, ["RS004"]);
        // It can be handed in and decided again.
        flow.submit(id, &definition).await;
        let again = flow.review_asked("workflow_change", id, &sha(&definition)).await;
        assert_eq!(flow.settle("workflow_change", id).await, "review");
        flow.votes(again, "sofia", "reject").await.expect("a vote");
        assert_eq!(flow.settle("workflow_change", id).await, "rejected");
        assert_eq!(flow.refuses(flow.merge(id)).await, ["RS004"]);
    }
}

/// UIW-7: what a change changes, by meaning: added, removed, changed field by field, and the runs that stay on the old version.
#[tokio::test]
async fn a_change_is_told_field_by_field() {
    let flow = Flow::new().await;
    let old = workflow(
        "doc",
        vec![human("a"), step("b", json!({ "deadline": "1 day" })), human("c")],
        vec![way("a > b"), way("b > c")],
    );
    flow.install(old).await;
    flow.start("doc", json!({})).await;
    let mut new = workflow(
        "doc",
        vec![human("d"), step("b", json!({ "deadline": "2 days", "optional": true })), human("a")],
        vec![when("a", "b", "$.inputs.x == 1"), way("b > d")],
    );
    new["start"] = json!(["a"]);
    new["title"] = title("Document");
    let id = Uuid::now_v7();
    flow.propose(id, &new).await.expect("a draft");
    let diff = flow.store.fn_workflow_change_diff(id).await.expect("a diff");
    assert_eq!(
        (&diff["base_version"], &diff["current_version"], &diff["runs_on_base"]),
        (&json!(1), &json!(1), &json!(1))
    );
    assert_eq!(
        diff["steps"],
        json!({
            "added": [human("d")], "removed": [human("c")],
            "changed": [{ "id": "b", "fields": [
                { "field": "deadline", "old": "1 day", "new": "2 days" }, { "field": "optional", "old": null, "new": true }] }],
        })
    );
    assert_eq!(
        diff["relations"],
        json!({
            "added": [way("b > d")], "removed": [way("b > c")],
            "changed": [{ "id": "a → b", "fields": [
                { "field": "kind", "old": null, "new": "condition" }, { "field": "when", "old": null, "new": "$.inputs.x == 1" }] }],
        })
    );
    let fields: Vec<&Value> =
        diff["fields"].as_array().expect("fields").iter().map(|f| &f["field"]).collect();
    assert_eq!(fields, [&json!("start"), &json!("title")]);
    assert_eq!(flow.refuses(flow.store.fn_workflow_change_diff(Uuid::now_v7())).await, ["RW001"]);
}

/// Inputs that a workflow asks for are asked for; each step sees the pinned definition's contract.
#[tokio::test]
async fn inputs_meet_their_contract() {
    let flow = Flow::new().await;
    let mut definition = workflow("doc", vec![human("a")], vec![]);
    definition["inputs"] = json!({ "type": "object", "required": ["name"], "properties": { "name": { "type": "string" } }, "additionalProperties": false });
    flow.install(definition).await;
    for inputs in [json!({}), json!({ "name": 7 }), json!({ "name": "x", "more": 1 })] {
        assert_eq!(flow.refuses(flow.start_as(Uuid::now_v7(), "doc", inputs)).await, ["RW010"]);
    }
    assert_eq!(flow.refuses(flow.start_as(Uuid::now_v7(), "doc", json!([]))).await, ["RW009"]);
    let big = json!({ "name": "x".repeat(70_000) });
    assert_eq!(flow.refuses(flow.start_as(Uuid::now_v7(), "doc", big)).await, ["RW009"]);
    flow.start("doc", json!({ "name": "x" })).await;
}
