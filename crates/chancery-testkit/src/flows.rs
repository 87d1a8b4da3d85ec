//! A row in each table of workflows and of proposals, for tests over all tables. All of it by the doors.

use chancery_engine::run::Actor;
use chancery_model::canonical;
use chancery_store::workflow::{Act, NewProposal, NewRun, WorkCall};
use chancery_store::{Role, Store};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::people::{actor, approved};
use crate::{TestDb, shipped};

const MACHINES: [&str; 4] = ["proposal", "workflow_run", "step", "task"];

/// Writes, asks for approvals and works; a service, so its moves need no signature.
pub const WRITER: &str = "flow_writer";
/// Opens again what is closed.
pub const REVIEWER: &str = "flow_reviewer";
/// Approves.
const SOVEREIGN: &str = "flow_sovereign";

/// A workflow of two steps, and those who work on it.
#[derive(Debug)]
pub struct Flow {
    app: Store,
    writer: Actor,
    sovereign: Actor,
}

/// A run with its steps.
#[derive(Debug, Clone, Copy)]
pub struct Started {
    pub run: Uuid,
    pub first: Uuid,
    pub second: Uuid,
}

/// A row in each table of workflows and of proposals: a workflow of two steps and a task by an approved proposal, and a run of it with
/// a completed step that was opened for correction, a step that waits, a later deadline, and something left for the loop.
///
/// # Panics
/// When the database says no.
pub async fn live(db: &TestDb) {
    let flow = Flow::install(db).await;
    flow.run().await;
    flow.propose_something_else().await;
}

fn definition() -> Value {
    json!({
        "workflow": "everything",
        "title": { "en": "A bit of everything", "vi": "Mỗi thứ một chút" },
        "steps": [
            { "key": "first", "title": { "en": "First", "vi": "Đầu" }, "pic": { "starter": true }, "visible_to": ["reviewer"] },
            { "key": "second", "title": { "en": "Second", "vi": "Hai" }, "pic": { "starter": true }, "deadline": "2 days",
              "tasks": [{ "key": "part", "title": { "en": "Part", "vi": "Phần" }, "pic": { "starter": true } }] },
        ],
        "relations": [{ "from": "first", "to": "second" }],
    })
}

/// The digest that the evidence of a call names.
pub fn sha256(value: &Value) -> String {
    canonical::sha256(value).iter().map(|byte| format!("{byte:02x}")).collect()
}

impl Flow {
    fn act<'a>(run_kind: &'a str, run_id: Uuid, call: &'a str, evidence: &'a Value) -> Act<'a> {
        Act {
            run_kind,
            run_id,
            call,
            evidence,
            principal: WRITER,
            actor_class: "pic_human",
            idempotency_key: call,
            reason: None,
            signed: None,
        }
    }

    /// An approval that the writer asked for and the sovereign gave.
    async fn approved(&self, kind: &str, subject: Uuid, digest: Option<Vec<u8>>) -> Uuid {
        approved(&self.app, &self.writer, &self.sovereign, kind, subject, digest).await
    }

    /// The machines, the people, and the workflow, from its proposal to its first version.
    ///
    /// # Panics
    /// When the database says no.
    pub async fn install(db: &TestDb) -> Self {
        for machine in
            shipped().iter().filter(|machine| MACHINES.contains(&machine.machine.as_str()))
        {
            db.definition(machine).await;
        }
        db.service(REVIEWER, &["reviewer"]).await;
        let operator = db.store(Role::Migrator);
        let flow = Self {
            writer: actor(&operator, WRITER, "service", &["pic_human", "task_pic_human"], 61).await,
            sovereign: actor(&operator, SOVEREIGN, "human", &["sovereign"], 62).await,
            app: db.store(Role::App),
        };
        flow.adopt(&definition()).await;
        flow
    }

    /// A workflow from its proposal to its first version.
    ///
    /// # Panics
    /// When the database says no.
    pub async fn adopt(&self, definition: &Value) {
        let id = Uuid::now_v7();
        let (digest, kind) = (sha256(definition), "workflow_change");
        let said = json!({ "definition_sha256": digest });
        let drafted = Self::act(kind, id, "propose", &said);
        self.app
            .fn_workflow_propose(&drafted, definition, "A new workflow")
            .await
            .expect("a draft");
        let said = json!({ "digest": digest });
        self.app.fn_proposal_move(&Self::act(kind, id, "submit", &said)).await.expect("handed in");
        let pinned = canonical::sha256(definition).to_vec();
        let approval = self.approved(kind, id, Some(pinned)).await;
        self.app.fn_proposal_settle(kind, id).await.expect("approved");
        let said = json!({ "audit_ref": approval, "approval_id": approval });
        let merged = self.app.fn_workflow_merge(&Self::act(kind, id, "merge", &said)).await;
        assert_eq!(merged.expect("merged").merged_version, Some(1));
    }

    /// A workflow of one step of an executor, from its proposal to a run whose step waits for a worker. Gives the run and the step.
    ///
    /// # Panics
    /// When the database says no.
    pub async fn one_step(&self, name: &str, more: &Value) -> (Uuid, Uuid) {
        let title = json!({ "en": name, "vi": name });
        let mut step = json!({ "key": "work", "title": title });
        for (field, value) in more.as_object().expect("the fields of a step") {
            step[field] = value.clone();
        }
        self.adopt(&json!({ "workflow": name, "title": title, "steps": [step], "relations": [] }))
            .await;
        let run = self.begin(name, "start").await;
        (run, self.step(run, "work").await)
    }

    async fn begin(&self, workflow: &str, key: &str) -> Uuid {
        let (run, inputs) = (Uuid::now_v7(), json!({}));
        let evidence = json!({ "inputs_sha256": sha256(&inputs) });
        let started = NewRun {
            workflow_run_id: run,
            workflow,
            inputs: &inputs,
            evidence: &evidence,
            principal: WRITER,
            actor_class: "pic_human",
            idempotency_key: key,
            trace_id: None,
            signed: None,
        };
        self.app.fn_workflow_start(&started).await.expect("a run");
        self.turn(run).await;
        run
    }

    async fn step(&self, run: Uuid, key: &str) -> Uuid {
        let snapshot = self.app.fn_workflow_run_snapshot(run).await.expect("the run");
        let steps = snapshot["steps"].as_array().expect("steps");
        let found = steps.iter().find(|step| step["step_key"] == key).expect("a step");
        found["step_run_id"].as_str().expect("an id").parse().expect("an id")
    }

    /// A new run, whose first step is ready.
    ///
    /// # Panics
    /// When the database says no.
    pub async fn start(&self, key: &str) -> Started {
        let run = self.begin("everything", key).await;
        Started {
            run,
            first: self.step(run, "first").await,
            second: self.step(run, "second").await,
        }
    }

    async fn run(&self) {
        let Started { run, first, second } = self.start("start").await;
        self.work(first, "step_claim", json!({}), None, "first claim").await;
        self.complete(first, json!({ "n": 1.5 }), "first end").await;
        self.turn(run).await;
        self.work(second, "step_claim", json!({}), None, "second claim").await;
        let evidence = json!({});
        let later = WorkCall {
            reason: Some("nghỉ lễ"),
            ..call(second, "extend", &evidence, None, "extend")
        };
        self.app.fn_work_extend(&later, "2999-01-01T00:00:00Z").await.expect("a later deadline");
        let facts = json!({ "page": 12 });
        let reached = WorkCall {
            reason: Some("nửa đường"),
            ..call(second, "checkpoint", &facts, None, "far")
        };
        self.app.fn_task_checkpoint(&reached).await.expect("a checkpoint");
        let said = WorkCall {
            reason: Some("thiếu phụ lục"),
            ..call(second, "comment", &facts, None, "say")
        };
        self.app.fn_task_comment(&said).await.expect("a comment");
        let gate = json!({ "facets": ["waiting_time_gate"], "waits": [{ "facet": "waiting_time_gate", "until": "2998-01-01T00:00:00Z" }] });
        self.work(second, "step_wait", gate, None, "wait").await;

        let approval = self.approved("step_reopen", first, None).await;
        let evidence = json!({ "audit_ref": approval, "approval_id": approval, "correction_reason": "data_error" });
        let again = WorkCall {
            principal: REVIEWER,
            actor_class: "reviewer",
            ..call(first, "step_reopen_for_correction", &evidence, None, "again")
        };
        self.app.fn_work_move(&again).await.expect("opened again");
        // Nobody turns the loop any more, so what this leaves for it stays.
        self.complete(first, json!({ "n": 2 }), "second end").await;
    }

    /// One turn of the loop, which has something to do.
    ///
    /// # Panics
    /// When it has nothing to do.
    pub async fn turn(&self, run: Uuid) {
        let turn = self.app.fn_mow_turn(run, "chancery").await.expect("a turn");
        assert!(!turn.busy && turn.moved > 0, "{turn:?}");
    }

    /// The writer completes a step.
    ///
    /// # Panics
    /// When the database says no.
    pub async fn complete(&self, step: Uuid, output: Value, key: &str) {
        let digest = json!({ "output_sha256": sha256(&output) });
        self.work(step, "step_complete", digest, Some(&output), key).await;
    }

    /// The writer says something about a step.
    ///
    /// # Panics
    /// When the database says no.
    pub async fn work(
        &self,
        step: Uuid,
        name: &str,
        mut said: Value,
        document: Option<&Value>,
        key: &str,
    ) {
        said["audit_ref"] = json!("A-1");
        let done = self.app.fn_work_move(&call(step, name, &said, document, key)).await;
        done.unwrap_or_else(|error| panic!("{name}: {error:?}"));
    }

    async fn propose_something_else(&self) {
        let proposal = NewProposal {
            kind: "no_action",
            proposer_class: "kg_feedback",
            title: "Leave it as it is",
            affected_iu_ids: &[],
            action: &json!({ "why": "đủ rồi" }),
            usage: &json!([{ "kind": "read", "facts": { "times": 3.50 } }]),
        };
        let act = Self::act("proposal", Uuid::now_v7(), "propose", &Value::Null);
        let act = Act { evidence: &json!({}), ..act };
        self.app.fn_proposal_create(&act, &proposal).await.expect("a proposal");
    }
}

fn call<'a>(
    step: Uuid,
    name: &'a str,
    evidence: &'a Value,
    document: Option<&'a Value>,
    key: &'a str,
) -> WorkCall<'a> {
    WorkCall {
        run_kind: "step",
        run_id: step,
        call: name,
        evidence,
        document,
        principal: WRITER,
        actor_class: "pic_human",
        idempotency_key: key,
        reason: None,
        signed: None,
    }
}
