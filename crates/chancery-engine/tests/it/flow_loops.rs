//! RUN-14, RUN-8: the loops of the workflows, in hosts that share the work, go on when one of them ends, and do not wait behind a run
//! that cannot go on.

use chancery_engine::loops::{LOOPS, Loops};
use chancery_store::Role;
use chancery_store::workflow::NewRun;
use chancery_testkit::workflows::{CLERK, Flows, digest};
use chancery_testkit::{TestDb, until};
use serde_json::{Value, json};
use tokio::sync::watch;
use uuid::Uuid;

fn titled(key: &str) -> Value {
    json!({ "key": key, "title": { "en": key, "vi": key } })
}

/// A workflow of one step with something more to it.
fn of_one_step(name: &str, more: &Value) -> Value {
    let mut step = titled("only");
    for (field, value) in more.as_object().into_iter().flatten() {
        step[field] = value.clone();
    }
    json!({ "workflow": name, "title": { "en": name, "vi": name }, "steps": [step] })
}

async fn only_step(flows: &Flows, run: Uuid) -> Uuid {
    flows.store.work_at(run, "only").await.expect("an answer").expect("the step").run_id
}

async fn state(flows: &Flows, run: Uuid) -> String {
    let step = flows.store.work_at(run, "only").await.expect("an answer");
    step.expect("the step").state_code
}

/// Two hosts drive the same runs, one of them ends, and every step became ready exactly once.
#[tokio::test]
async fn hosts_share_the_runs_and_do_nothing_twice() {
    let db = TestDb::new().await;
    let flows = Flows::new(db.target()).await;
    flows.install(&of_one_step("letter", &json!({}))).await;
    let (end_first, first_stop) = watch::channel(false);
    let (end_second, second_stop) = watch::channel(false);
    let store = db.store(Role::App);
    let first = Loops::start(LOOPS, &store, "first", &first_stop);
    let second = Loops::start(LOOPS, &store, "second", &second_stop);
    let mut runs = Vec::new();
    for _ in 0..10 {
        runs.push(flows.start("letter").await);
    }
    end_first.send_replace(true);
    first.ended().await;
    for _ in 0..10 {
        runs.push(flows.start("letter").await);
    }
    for run in &runs {
        until("its step is ready", async || state(&flows, *run).await == "ready").await;
    }
    end_second.send_replace(true);
    second.ended().await;
    for run in runs {
        let step = only_step(&flows, run).await;
        let moves = flows.store.workflow_history(step).await.expect("its moves");
        let states: Vec<&str> = moves.iter().map(|one| one.to_state.as_str()).collect();
        assert_eq!(states, ["not_started", "ready"]);
    }
}

/// A condition that runs too long is ended, its run is put off with a finding, and another run goes on.
#[tokio::test]
async fn a_condition_without_an_end_holds_up_nobody_else() {
    let db = TestDb::new().await;
    let flows = Flows::new(db.target()).await;
    let endless =
        "exists($.inputs.n[*] ? (exists($.inputs.n[*] ? (exists($.inputs.n[*] ? (@ == -1))))))";
    flows.install(&of_one_step("endless", &json!({ "precondition": "$.inputs.n == 1" }))).await;
    // Such a rule is refused today. One that was stored before is asked as it is.
    let stored = format!(
        "update workflow.workflow_step_def set precondition = '{endless}' where precondition is not null"
    );
    assert_eq!(db.forge(&[&stored]).await, 1);
    flows.install(&of_one_step("letter", &json!({}))).await;
    let inputs = json!({ "n": (0..3000).collect::<Vec<i32>>() });
    let slow = Uuid::now_v7();
    let begun = flows
        .store
        .fn_workflow_start(&NewRun {
            workflow_run_id: slow,
            workflow: "endless",
            inputs: &inputs,
            evidence: &json!({ "inputs_sha256": digest(&inputs) }),
            principal: CLERK,
            actor_class: "pic_human",
            idempotency_key: "asked-for",
            trace_id: None,
            signed: None,
        })
        .await;
    begun.expect("a run");
    let quick = flows.start("letter").await;

    let (end, stop) = watch::channel(false);
    let loops = Loops::start(LOOPS, &flows.store, "host", &stop);
    until("the other run goes on", async || state(&flows, quick).await == "ready").await;
    let finding = format!(
        "select description from governance.system_issues where issue_type = 'workflow_turn_failed' and entity_code = '{slow}'"
    );
    until("the finding is there", async || db.text(&finding).await.contains("too long")).await;
    assert_eq!(state(&flows, slow).await, "not_started", "what took too long is undone");
    let put_off = format!(
        "select (tries > 0 and not_before > internal.now() - interval '1 minute')::text from workflow.agenda where workflow_run_id = '{slow}'"
    );
    assert_eq!(db.text(&put_off).await, "true", "it is tried again later");
    end.send_replace(true);
    loops.ended().await;
}

/// A deadline that passes is seen by the loop of the timers.
#[tokio::test]
async fn a_deadline_passes_by_itself() {
    let db = TestDb::new().await;
    let flows = Flows::new(db.target()).await;
    flows.install(&of_one_step("letter", &json!({ "deadline": "1 hour" }))).await;
    let run = flows.start("letter").await;
    flows.quiet().await;
    let step = only_step(&flows, run).await;
    let claimed = flows.call(step, "step_claim", &json!({ "audit_ref": "test" }), None).await;
    claimed.expect("it is taken up");
    db.forge(&["create or replace function internal.now() returns timestamptz language sql
                as 'select clock_timestamp() + interval ''2 hours'''"])
        .await;
    let (end, stop) = watch::channel(false);
    let loops = Loops::start(LOOPS, &flows.store, "host", &stop);
    until("it is overdue", async || state(&flows, run).await == "overdue").await;
    end.send_replace(true);
    loops.ended().await;
    let moves = flows.store.workflow_history(step).await.expect("its moves");
    let last = moves.last().expect("a move");
    assert_eq!(
        (last.trigger_ref.as_str(), last.actor_class.as_str()),
        ("deadline_passed", "system")
    );
}
