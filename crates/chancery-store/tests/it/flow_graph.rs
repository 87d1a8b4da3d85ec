//! RUN-12, RUN-14: the loop. Joins, conditions, skips, preconditions, optional steps, runs on hold and called off, and two replicas at
//! once.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use uuid::Uuid;

use crate::flow_moves::audited;
use crate::flow_world::{DESK, Flow, LOOPS, human, noop, single, step, way, when, workflow};

/// Three first steps and a fourth that they lead to by these ways.
async fn joined(ways: Vec<Value>) -> (Flow, Uuid) {
    let steps = vec![human("a"), human("b"), human("c"), human("z")];
    let mut definition = workflow("join", steps, ways);
    definition["start"] = json!(["a", "b", "c"]);
    Flow::with(definition).await
}

/// Calls a step off, which takes none of its ways.
async fn call_off(flow: &Flow, run: Uuid, key: &str) {
    let id = flow.step(run, key).await;
    let approval = flow.approved("step_cancel", &id.to_string()).await;
    let evidence = audited(json!({ "approval_id": approval }));
    flow.call(id, "step_cancel", evidence, None, crate::flow_world::CHIEF)
        .await
        .expect("called off");
    flow.turn().await;
}

/// A flow in whose database findings can be opened.
async fn with_findings() -> Flow {
    let flow = Flow::new().await;
    let finding =
        chancery_testkit::shipped().into_iter().find(|machine| machine.machine == "finding");
    flow.db.definition(&finding.expect("it ships")).await;
    flow
}

async fn z(flow: &Flow, run: Uuid) -> String {
    let row = flow.row_of(flow.step(run, "z").await).await;
    if row["skipped"] == true {
        "skipped".to_owned()
    } else {
        row["state_code"].as_str().expect("a state").to_owned()
    }
}

/// AND: every way must be taken; one that is not decides against the step.
#[tokio::test]
async fn and_needs_every_way() {
    let (flow, run) = joined(vec![way("a and> z"), way("b and> z"), way("c and> z")]).await;
    flow.do_step(run, "a", json!({})).await;
    flow.do_step(run, "b", json!({})).await;
    assert_eq!(z(&flow, run).await, "not_started");
    flow.do_step(run, "c", json!({})).await;
    assert_eq!(z(&flow, run).await, "ready");

    let (flow, run) = joined(vec![way("a and> z"), way("b and> z"), way("c and> z")]).await;
    flow.do_step(run, "a", json!({})).await;
    call_off(&flow, run, "b").await;
    assert_eq!(z(&flow, run).await, "skipped", "before c is decided");
}

/// OR: one way is enough, and the others change nothing; none of them skips the step.
#[tokio::test]
async fn or_needs_one_way() {
    let (flow, run) = joined(vec![way("a or> z"), way("b or> z"), way("c or> z")]).await;
    call_off(&flow, run, "a").await;
    assert_eq!(z(&flow, run).await, "not_started");
    flow.do_step(run, "b", json!({})).await;
    assert_eq!(z(&flow, run).await, "ready");
    flow.do_step(run, "c", json!({})).await;
    assert_eq!(z(&flow, run).await, "ready");
    let moves: i64 = flow
        .number(&format!(
            "select count(*) from fsm.transition_log where run_id = '{}'",
            flow.step(run, "z").await
        ))
        .await;
    assert_eq!(moves, 2, "born and ready");

    let (flow, run) = joined(vec![way("a or> z"), way("b or> z"), way("c or> z")]).await;
    for key in ["a", "b"] {
        call_off(&flow, run, key).await;
        assert_eq!(z(&flow, run).await, "not_started");
    }
    call_off(&flow, run, "c").await;
    assert_eq!(z(&flow, run).await, "skipped");
}

/// Plain ways: all are decided and at least one is taken. Mixed joins ask for each of their kinds.
#[tokio::test]
async fn plain_and_mixed_joins() {
    let (flow, run) = joined(vec![way("a > z"), way("b > z"), way("c parallel> z")]).await;
    flow.do_step(run, "a", json!({})).await;
    call_off(&flow, run, "b").await;
    assert_eq!(z(&flow, run).await, "not_started");
    flow.do_step(run, "c", json!({})).await;
    assert_eq!(z(&flow, run).await, "ready");

    let (flow, run) = joined(vec![way("a > z"), way("b > z"), way("c > z")]).await;
    for key in ["a", "b", "c"] {
        call_off(&flow, run, key).await;
    }
    assert_eq!(z(&flow, run).await, "skipped");

    let (flow, run) = joined(vec![way("a and> z"), way("b or> z"), way("c or> z")]).await;
    flow.do_step(run, "b", json!({})).await;
    assert_eq!(z(&flow, run).await, "not_started", "and is open");
    flow.do_step(run, "a", json!({})).await;
    assert_eq!(z(&flow, run).await, "ready");
}

/// A branch not taken is skipped all the way down, and what both branches lead to goes on.
#[tokio::test]
async fn a_branch_not_taken_is_skipped_to_its_end() {
    let definition = workflow(
        "branch",
        vec![human("a"), human("b"), human("b2"), human("b3"), human("c"), human("z")],
        vec![
            when("a", "b", "$.outputs.a.x > 10"),
            when("a", "c", "$.outputs.a.x <= 10"),
            way("b > b2"),
            way("b2 and> b3"),
            way("b3 > z"),
            way("c > z"),
        ],
    );
    let (flow, run) = Flow::with(definition).await;
    flow.do_step(run, "a", json!({ "x": 3 })).await;
    let states: BTreeMap<String, String> = flow
        .states(run)
        .await
        .split(", ")
        .map(|s| s.split_once(' ').map(|(k, v)| (k.to_owned(), v.to_owned())).expect("key state"))
        .collect();
    let of = |key: &str| states[key].as_str();
    assert_eq!(
        [of("b"), of("b2"), of("b3"), of("c"), of("z")],
        ["skipped", "skipped", "skipped", "ready", "not_started"]
    );
    flow.do_step(run, "c", json!({})).await;
    flow.do_step(run, "z", json!({})).await;
    assert_eq!(flow.state_of(run).await, "completed");
    let row = flow.row_of(run).await;
    assert_eq!(
        (&row["skipped_count"], &row["mandatory_count"], &row["completed_count"]),
        (&json!(3), &json!(3), &json!(3))
    );
}

/// RUN-13, RUN-14: a condition on something that is not there is neither true nor false. The run stops at it with a finding, nothing is skipped,
/// and it goes on when the output was corrected.
#[tokio::test]
async fn a_way_that_cannot_be_answered_stops_the_run() {
    let definition = workflow(
        "branch",
        vec![human("a"), human("b"), step("c", json!({ "optional": true })), human("z")],
        vec![
            when("a", "b", "!($.outputs.a.x <= 10)"),
            when("a", "c", "$.outputs.a.x <= 10"),
            way("b > z"),
            way("c > z"),
        ],
    );
    let flow = with_findings().await;
    let run = flow.begun(definition).await;
    let a = flow.do_step(run, "a", json!({ "y": 1 })).await;
    assert_eq!(flow.states(run).await, "a completed, b not_started, c not_started, z not_started");
    assert_eq!(flow.row_of(run).await["skipped_count"], 0);
    let finding = "select concat_ws(' ', state, severity, issue_class, evidence ->> 'step_key', evidence ->> 'missing')
                     from governance.system_issues where issue_type = 'condition_unanswered'";
    assert_eq!(flow.db.text(finding).await, "open critical orphan_workflow a [\"$.outputs.a.x\"]");
    let listed =
        "select count(*) from governance.vw_governance_orphan_workflows where item_id is not null";
    assert_eq!(flow.number(listed).await, 1, "it is in the list of problems");
    flow.turn().await;
    assert_eq!(flow.state_of(run).await, "in_progress", "nobody knows yet what else is to be done");

    let approval = flow.approved("step_reopen", &a.to_string()).await;
    let reopened = audited(json!({ "approval_id": approval, "correction_reason": "data_error" }));
    flow.call(a, "step_reopen_for_correction", reopened, None, crate::flow_world::CHIEF)
        .await
        .expect("reopened");
    flow.complete(a, json!({ "x": 30 })).await.expect("completed");
    flow.turn().await;
    assert_eq!(flow.states(run).await, "a completed, b ready, c skipped, z not_started");
    assert!(flow.db.text(finding).await.starts_with("resolved "), "it closes by itself");
}

/// RUN-13: of a step that ended without an output it is known that it has none.
#[tokio::test]
async fn what_a_skipped_step_gave_is_null() {
    let mut definition = workflow(
        "gap",
        vec![human("a"), human("b"), human("z")],
        vec![
            when("a", "b", "$.outputs.a.x > 10"),
            when("a", "z", "$.outputs.b == null || $.outputs.b.ok == true"),
        ],
    );
    definition["start"] = json!(["a"]);
    let (flow, run) = Flow::with(definition).await;
    flow.do_step(run, "a", json!({ "x": 3 })).await;
    assert_eq!(flow.states(run).await, "a completed, b skipped, z ready");
    assert_eq!(flow.number("select count(*) from governance.system_issues where issue_type = 'condition_unanswered'").await, 0);
}

/// RUN-11, RUN-13: a step does not begin while it is not known which of its tasks are to be done.
#[tokio::test]
async fn a_task_whose_condition_cannot_be_answered_stops_its_step() {
    let task = json!([step("sign", json!({ "precondition": "!($.inputs.small == true)" }))]);
    let flow = with_findings().await;
    let run = flow.begun(single("tasks", json!({ "tasks": task }))).await;
    assert_eq!(flow.states(run).await, "work not_started");
    assert_eq!(flow.number("select count(*) from workflow.task_run").await, 0, "none was skipped");
    let finding = "select evidence ->> 'what' from governance.system_issues where issue_type = 'condition_unanswered' and state = 'open'";
    assert_eq!(flow.db.text(finding).await, "precondition of task sign");
}

/// A precondition that becomes true later: asked again when another step is done.
#[tokio::test]
async fn a_precondition_is_asked_again() {
    let mut definition = workflow(
        "later",
        vec![
            human("a"),
            step("b", json!({ "precondition": "$.outputs.c.go == true" })),
            human("c"),
        ],
        vec![way("a > b")],
    );
    definition["start"] = json!(["a", "c"]);
    let (flow, run) = Flow::with(definition).await;
    flow.do_step(run, "a", json!({})).await;
    let b = flow.step(run, "b").await;
    let row = flow.row_of(b).await;
    assert_eq!(
        (&row["state_code"], &row["awaits_precondition"]),
        (&json!("not_started"), &json!(true))
    );
    flow.do_step(run, "c", json!({ "go": true })).await;
    let row = flow.row_of(b).await;
    assert_eq!((&row["state_code"], &row["awaits_precondition"]), (&json!("ready"), &json!(false)));
}

/// Optional steps run, and neither hold the run up nor colour it; a run without mandatory steps completes when none is open.
#[tokio::test]
async fn optional_steps_do_not_hold_a_run_up() {
    let optional = |key: &str| step(key, json!({ "optional": true }));
    let mut definition = workflow("opt", vec![human("a"), optional("b")], vec![]);
    definition["start"] = json!(["a", "b"]);
    let (flow, run) = Flow::with(definition).await;
    let b = flow.claimed(run, "b").await;
    flow.block(b).await;
    let row = flow.row_of(run).await;
    assert_eq!((&row["optional_excluded_count"], &row["yellow_count"]), (&json!(1), &json!(0)));
    flow.do_step(run, "a", json!({})).await;
    assert_eq!(flow.state_of(run).await, "completed");

    let definition = workflow("soft", vec![optional("a"), optional("b")], vec![way("a > b")]);
    let run = flow.begun(definition).await;
    assert_eq!(flow.state_of(run).await, "in_progress");
    flow.do_step(run, "a", json!({})).await;
    assert_eq!(flow.state_of(run).await, "in_progress");
    flow.do_step(run, "b", json!({})).await;
    assert_eq!(flow.state_of(run).await, "completed");
}

/// On hold nothing new begins: no claim, no job; what is under way may end, and the loop goes on where it was afterwards.
#[tokio::test]
async fn a_run_on_hold_begins_nothing() {
    let mut definition =
        workflow("hold", vec![human("a"), human("b"), noop("c"), human("d")], vec![way("a > d")]);
    definition["start"] = json!(["a", "b", "c"]);
    let (flow, run) = Flow::with(definition).await;
    let a = flow.claimed(run, "a").await;
    let [b, c, d] =
        [flow.step(run, "b").await, flow.step(run, "c").await, flow.step(run, "d").await];
    flow.pause(run).await;
    let colour = flow.row_of(run).await["last_rollup_at"].clone();
    assert_eq!(
        flow.refuses(flow.call(b, "step_claim", audited(json!({})), None, DESK)).await,
        ["RW006"]
    );
    let job = flow.leased().await;
    let held = flow.begin(&job).await.expect("an answer");
    assert!(held.held, "{held:?}");
    assert_eq!(flow.state_of(c).await, "ready");
    assert_eq!(flow.claim(10).await.len(), 0, "not at once again");
    flow.complete(a, json!({})).await.expect("what was under way ends");
    flow.turn().await;
    assert_eq!(flow.state_of(d).await, "not_started");
    assert_eq!(flow.row_of(run).await["last_rollup_at"], colour, "the colour stands still");
    flow.resume(run).await;
    flow.turn().await;
    assert_eq!(flow.state_of(d).await, "ready");
    flow.later(5_000).await;
    let job = flow.working().await;
    assert_eq!(job.attempt, 1, "being held was no try");
    flow.report_done(&job, json!({})).await.expect("completed");
    flow.do_step(run, "b", json!({})).await;
    flow.do_step(run, "d", json!({})).await;
    assert_eq!(flow.state_of(run).await, "completed");
}

/// A run that was called off: its jobs have nothing to do, its agenda and timers are gone, and reports come too late.
#[tokio::test]
async fn a_run_that_was_called_off_does_nothing() {
    let mut definition = workflow("off", vec![noop("a"), noop("b")], vec![]);
    definition["start"] = json!(["a", "b"]);
    let (flow, run) = Flow::with(definition).await;
    let jobs = flow.claim(10).await;
    assert_eq!(jobs.len(), 2);
    flow.begin(&jobs[0]).await.expect("begun");
    flow.cancel_run(run).await;
    assert_eq!(flow.refuses(flow.report_done(&jobs[0], json!({}))).await, ["RW006"]);
    let second = flow.begin(&jobs[1]).await.expect("an answer");
    assert!(second.nothing_to_do);
    for table in ["agenda", "timer"] {
        assert_eq!(
            flow.number(&format!(
                "select count(*) from workflow.{table} where workflow_run_id = '{run}'"
            ))
            .await,
            0
        );
    }
}

/// Parameters, inputs and outputs as a step sees them (MOIT, MOUT): paths are resolved when it is taken up.
#[tokio::test]
async fn a_step_gets_what_its_parameters_name() {
    let definition = workflow(
        "data",
        vec![
            human("a"),
            step(
                "b",
                json!({ "executor": "noop", "with": { "url": "$.inputs.url", "n": "$.outputs.a.n", "deep": ["$.outputs.a.missing", "plain"] } }),
            ),
        ],
        vec![way("a > b")],
    );
    let flow = Flow::new().await;
    flow.install(definition).await;
    let run = flow.start("data", json!({ "url": "https://example.org" })).await;
    flow.do_step(run, "a", json!({ "n": 7 })).await;
    let job = flow.leased().await;
    let work = flow.begin(&job).await.expect("begun");
    let input = work.input.expect("an input");
    assert_eq!(
        input["with"],
        json!({ "url": "https://example.org", "n": 7, "deep": [null, "plain"] })
    );
    assert_eq!(input["outputs"], json!({ "a": { "n": 7 } }));
    let snapshot = flow.store.fn_workflow_run_snapshot(run).await.expect("a snapshot");
    assert!(snapshot.is_object());
}

/// RUN-17, seed C §2.2, §6.2: a run as a relation: what the function says, and the steps that its colour rests on.
#[tokio::test]
async fn a_run_is_a_relation_too() {
    let (flow, run) =
        Flow::with(workflow("w", vec![human("a"), human("b")], vec![way("a > b")])).await;
    flow.claimed(run, "a").await;
    let row: Value = flow
        .one(&format!("select to_jsonb(v) from workflow.workflow_run_snapshot v where v.workflow_run_id = '{run}'"))
        .await;
    let said = flow.store.fn_workflow_run_snapshot(run).await.expect("a snapshot");
    assert_eq!(row["snapshot"], said);
    assert_eq!(row["rollup_basis_jsonb"], json!([flow.step(run, "a").await]));
    assert_eq!(
        (&row["workflow"], &row["rollup_state_code"], &row["state_code"]),
        (&json!("w"), &json!("green"), &json!("in_progress"))
    );
}

/// Two replicas, and four, turn the same runs at once: every step becomes ready once, is born once, has one job.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn replicas_never_do_a_thing_twice() {
    let flow = Flow::new().await;
    let mut steps = vec![human("a")];
    steps.extend((0..12).map(|n| noop(&format!("s{n}"))));
    steps.push(human("z"));
    let mut ways: Vec<Value> = (0..12).map(|n| way(&format!("a > s{n}"))).collect();
    ways.extend((0..12).map(|n| way(&format!("s{n} and> z"))));
    flow.install(workflow("wide", steps, ways)).await;
    let mut runs = Vec::new();
    for _ in 0..4 {
        let run = Uuid::now_v7();
        flow.start_as(run, "wide", json!({})).await.expect("a run");
        runs.push(run);
    }
    let together = || async {
        let replicas: Vec<_> = (0..4)
            .map(|_| {
                let store = flow.db.store(chancery_store::Role::App);
                tokio::spawn(async move {
                    loop {
                        let next = store.fn_mow_next(100, LOOPS).await.expect("runs");
                        if next.is_empty() {
                            return;
                        }
                        for run in next {
                            store.fn_mow_turn(run, LOOPS).await.expect("a turn");
                        }
                    }
                })
            })
            .collect();
        for replica in replicas {
            replica.await.expect("a replica");
        }
    };
    together().await;
    for run in &runs {
        let a = flow.claimed(*run, "a").await;
        flow.complete(a, json!({})).await.expect("completed");
    }
    together().await;
    assert_eq!(
        flow.number("select count(*) from queue.job_queue where job_kind = 'workflow.step'").await,
        48
    );
    assert_eq!(flow.number("select count(*) from fsm.transition_log where run_kind = 'step' and transition_id like '%#T1:%'").await, 4 * 13);
    loop {
        let jobs = flow.claim(20).await;
        if jobs.is_empty() {
            break;
        }
        for job in jobs {
            flow.begin(&job).await.expect("begun");
            flow.report_done(&job, json!({})).await.expect("completed");
        }
    }
    together().await;
    for run in runs {
        flow.do_step(run, "z", json!({})).await;
        assert_eq!(flow.state_of(run).await, "completed");
    }
    let twice: i64 = flow
        .number("select count(*) from (select run_id, to_state from fsm.transition_log where run_kind = 'step' group by 1, 2 having count(*) > 1) x")
        .await;
    assert_eq!(twice, 0);
}

/// A turn that fails is put off with a finding; the other runs go on.
#[tokio::test]
async fn a_run_that_cannot_go_on_does_not_stop_the_others() {
    let flow = Flow::new().await;
    let path = chancery_testkit::repo_path("machines/finding.yaml");
    flow.db.machine(&std::fs::read_to_string(path).expect("a shipped machine")).await;
    flow.install(single("auto", json!({ "executor": "noop" }))).await;
    let run = Uuid::now_v7();
    flow.start_as(run, "auto", json!({})).await.expect("a run");
    flow.as_owner(
        "update queue.executor_class_registry set active = false where executor_class = 'noop'",
    )
    .await;
    assert_eq!(flow.refuses(flow.store.fn_mow_turn(run, LOOPS)).await, ["RE006"]);
    flow.store.fn_mow_defer(run, "the class is gone", LOOPS).await.expect("put off");
    assert_eq!(flow.store.fn_mow_next(10, LOOPS).await.expect("runs"), Vec::<Uuid>::new());
    flow.as_owner(
        "update queue.executor_class_registry set active = true where executor_class = 'noop'",
    )
    .await;
    flow.later(1_000).await;
    flow.turn().await;
    assert_eq!(flow.states(run).await, "work ready");
}
