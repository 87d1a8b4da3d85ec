//! A workflow from its proposal to a run that went every way, all of it by the doors of the store.

use std::time::Duration;

use chancery_engine::approval::{self, Decision, NewRequest};
use chancery_engine::audit::{self, Pins, Report};
use chancery_engine::identity::OwnKey;
use chancery_engine::registry;
use chancery_engine::run::Actor;
use chancery_model::canonical;
use chancery_model::cutter::derived_uuid;
use chancery_store::workflow::{Act, Lease, NewProposal, NewRun, RunCall, WorkCall, WorkReport};
use chancery_store::{Role, Store};
use chancery_testkit::TestDb;
use ed25519_dalek::SigningKey;
use serde_json::{Value, json};
use uuid::Uuid;

/// Writes, asks and works; a service, so its moves need no signature.
const WRITER: &str = "writer";
const REVIEWER: &str = "reviewer";
const PRODUCT: &str = "chancery";

pub(crate) struct Scene {
    pub(crate) db: TestDb,
    app: Store,
    writer: Actor,
    sovereign: Actor,
    /// A run that was completed, and one that was called off.
    pub(crate) run: Uuid,
    pub(crate) off: Uuid,
}

async fn actor(operator: &Store, name: &str, kind: &str, classes: &[&str], seed: u8) -> Actor {
    let classes: Vec<String> = classes.iter().map(|&class| class.to_owned()).collect();
    operator.fn_principal_add(name, kind, &classes, None).await.expect("a principal");
    let own = OwnKey { key_id: Uuid::now_v7(), key: SigningKey::from_bytes(&[seed; 32]) };
    own.register(operator, name, None, None).await.expect("a key");
    Actor::new(name, Some(own))
}

fn sha256(value: &Value) -> String {
    canonical::sha256(value).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn title(text: &str) -> Value {
    json!({ "en": text, "vi": text })
}

/// A branch, a join, a step with a task, one for an executor, and one that is not needed.
pub(crate) fn definition() -> Value {
    json!({
        "workflow": "purchase", "title": title("Purchase"),
        "inputs": { "type": "object", "properties": { "item": { "type": "string" } } },
        "steps": [
            { "key": "intake", "title": title("Intake"), "deadline": "1 hour" },
            { "key": "small", "title": title("Small") },
            { "key": "large", "title": title("Large"), "deadline": "2 days",
              "tasks": [{ "key": "part", "title": title("Part"), "deadline": "1 day" }] },
            { "key": "extra", "title": title("Extra"), "optional": true, "visible_to": ["reviewer"] },
            { "key": "order", "title": title("Order"), "executor": "http", "with": { "item": "$.inputs.item" } },
        ],
        "relations": [
            { "from": "intake", "to": "large", "kind": "condition", "when": "$.outputs.intake.amount > 10" },
            { "from": "intake", "to": "small", "kind": "condition", "when": "$.outputs.intake.amount <= 10" },
            { "from": "intake", "to": "extra" },
            { "from": "large", "to": "order", "kind": "or" },
            { "from": "small", "to": "order", "kind": "or" },
        ],
    })
}

impl Scene {
    /// Nothing but the people and the machines.
    pub(crate) async fn empty() -> Self {
        let db = TestDb::new().await;
        let operator = db.store(Role::Migrator);
        registry::install_product_machines(&operator, "test").await.expect("the machines");
        db.service(REVIEWER, &["reviewer"]).await;
        let classes = ["pic_human", "task_pic_human"];
        Self {
            writer: actor(&operator, WRITER, "service", &classes, 71).await,
            sovereign: actor(&operator, "sovereign", "human", &["sovereign"], 72).await,
            app: db.store(Role::App),
            run: Uuid::now_v7(),
            off: Uuid::now_v7(),
            db,
        }
    }

    pub(crate) async fn new() -> Self {
        let scene = Self::empty().await;
        scene.adopt(&definition()).await;
        scene.propose_something_else().await;
        scene.every_way().await;
        scene
    }

    pub(crate) fn step(&self, key: &str) -> Uuid {
        derived_uuid(self.run, key)
    }

    pub(crate) async fn audit(&self) -> Report {
        let auditor = self.db.store(Role::Auditor);
        audit::verify(&auditor, Pins::default(), |_| ()).await.expect("an audit")
    }

    /// From now on the clock of the database is so much later.
    async fn later(&self, interval: &str) {
        let clock = format!(
            "create or replace function internal.now() returns timestamptz language sql
             as 'select clock_timestamp() + interval ''{interval}'''"
        );
        self.db.forge(&[&clock]).await;
    }

    // ── proposals ───────────────────────────────────────────────────────────────────────────────────────────────────

    async fn approved(&self, kind: &str, subject: Uuid, digest: Option<Vec<u8>>) -> Uuid {
        let request = NewRequest {
            approval_id: None,
            kind: kind.to_owned(),
            subject_ref: subject.to_string(),
            subject_digest: digest,
            risk: None,
            title: "Let it happen".to_owned(),
            facts: json!({}),
            expires_in: Duration::from_secs(86_400),
        };
        let asked = approval::request(&self.app, &self.writer, "pic_human", &request)
            .await
            .expect("a request");
        let id = asked.approval_id;
        approval::vote(&self.app, &self.sovereign, "sovereign", id, Decision::Approve, None)
            .await
            .expect("a vote");
        id
    }

    fn act<'a>(kind: &'a str, id: Uuid, call: &'a str, evidence: &'a Value) -> Act<'a> {
        Act {
            run_kind: kind,
            run_id: id,
            call,
            evidence,
            principal: WRITER,
            actor_class: "pic_human",
            idempotency_key: call,
            reason: None,
            signed: None,
        }
    }

    /// A workflow from its draft, which was written twice, to its version.
    pub(crate) async fn adopt(&self, definition: &Value) {
        let (id, kind) = (Uuid::now_v7(), "workflow_change");
        let mut first = definition.clone();
        first["title"] = title("To be written better");
        for text in [&first, definition] {
            let said = json!({ "definition_sha256": sha256(text) });
            let act = Self::act(kind, id, "propose", &said);
            self.app.fn_workflow_propose(&act, text, "A workflow").await.expect("a draft");
        }
        let said = json!({ "digest": sha256(definition) });
        self.app.fn_proposal_move(&Self::act(kind, id, "submit", &said)).await.expect("handed in");
        let digest = canonical::sha256(definition).to_vec();
        let approval = self.approved(kind, id, Some(digest)).await;
        self.app.fn_proposal_settle(kind, id).await.expect("approved");
        let said = json!({ "audit_ref": approval });
        self.app.fn_workflow_merge(&Self::act(kind, id, "merge", &said)).await.expect("merged");
    }

    async fn propose_something_else(&self) {
        let (id, kind) = (Uuid::now_v7(), "proposal");
        let action = json!({ "why": "đủ rồi" });
        let proposal = NewProposal {
            kind: "no_action",
            proposer_class: "kg_feedback",
            title: "Leave it as it is",
            affected_iu_ids: &[],
            action: &action,
            usage: &json!([{ "kind": "read", "facts": { "times": 3 } }, { "kind": "cited", "facts": {} }]),
        };
        let said = json!({});
        let act = Self::act(kind, id, "propose", &said);
        self.app.fn_proposal_create(&act, &proposal).await.expect("a proposal");
        let said = json!({ "digest": sha256(&action) });
        self.app.fn_proposal_move(&Self::act(kind, id, "submit", &said)).await.expect("handed in");
        let digest = canonical::sha256(&action).to_vec();
        let approval = self.approved(kind, id, Some(digest)).await;
        self.app.fn_proposal_settle(kind, id).await.expect("approved");
        let said = json!({ "audit_ref": approval });
        let act = Self::act(kind, id, "merge", &said);
        self.app.fn_proposal_carry_out(&act, &json!({ "done": true })).await.expect("carried out");
    }

    // ── runs ────────────────────────────────────────────────────────────────────────────────────────────────────────

    pub(crate) async fn start(&self, run: Uuid, workflow: &str) {
        let inputs = json!({ "item": "bàn" });
        let evidence = json!({ "inputs_sha256": sha256(&inputs) });
        let started = NewRun {
            workflow_run_id: run,
            workflow,
            inputs: &inputs,
            evidence: &evidence,
            principal: WRITER,
            actor_class: "pic_human",
            idempotency_key: "start",
            trace_id: None,
            signed: None,
        };
        self.app.fn_workflow_start(&started).await.expect("a run");
        self.turn(run).await;
    }

    /// The loop does all there is to do in a run.
    async fn turn(&self, run: Uuid) {
        while self.app.fn_mow_turn(run, PRODUCT).await.expect("a turn").more {}
    }

    async fn say(&self, kind: &str, id: Uuid, call: &str, said: Value, output: Option<Value>) {
        let (principal, class) = match call.split_once('_') {
            Some((_, "reopen_for_correction" | "cancel")) => (REVIEWER, "reviewer"),
            _ if kind == "task" => (WRITER, "task_pic_human"),
            _ => (WRITER, "pic_human"),
        };
        let mut said = said;
        said["audit_ref"] = json!("A-1");
        if let Some(output) = &output {
            said["output_sha256"] = json!(sha256(output));
        }
        let key = Uuid::now_v7().to_string();
        let call = WorkCall {
            run_kind: kind,
            run_id: id,
            call,
            evidence: &said,
            document: output.as_ref(),
            principal,
            actor_class: class,
            idempotency_key: &key,
            reason: None,
            signed: None,
        };
        let done = self.app.fn_work_move(&call).await;
        done.unwrap_or_else(|error| panic!("{}: {error:?}", call.call));
    }

    async fn executor(&self, step: Uuid, call: &str, said: Value, output: Option<Value>) {
        let leased = self.app.fn_job_claim("http", 1, "hand-1", PRODUCT).await.expect("a claim");
        let lease = Lease {
            job_id: leased[0].job_id,
            lease_no: leased[0].lease_no,
            worker: "hand-1",
            principal: PRODUCT,
        };
        let begun = self.app.fn_work_begin(lease).await.expect("begun");
        assert_eq!((begun.run_id, begun.state.as_str()), (Some(step), "in_progress"));
        let mut said = said;
        if let Some(output) = &output {
            said["output_sha256"] = json!(sha256(output));
        }
        let report = WorkReport { call, evidence: &said, document: output.as_ref() };
        self.app.fn_work_report(lease, &report).await.expect("reported");
    }

    /// A run of one step of a worker's, which waits for its task; completed, opened again, and completed once more. `stage` is called after
    /// each of these.
    pub(crate) async fn completed_twice(&self, mut stage: impl AsyncFnMut(&str)) {
        self.adopt(&json!({
            "workflow": "sent", "title": title("Sent"),
            "steps": [{ "key": "post", "title": title("Post"), "executor": "http", "deadline": "1 hour",
                        "tasks": [{ "key": "sign", "title": title("Sign") }] }],
        }))
        .await;
        self.start(self.run, "sent").await;
        let post = self.step("post");
        let sign = derived_uuid(post, "sign");
        let again = self.approved("step_reopen", post, None).await;
        let leased = self.app.fn_job_claim("http", 1, "hand-1", PRODUCT).await.expect("a claim");
        let lease = Lease {
            job_id: leased[0].job_id,
            lease_no: leased[0].lease_no,
            worker: "hand-1",
            principal: PRODUCT,
        };
        let begun = self.app.fn_work_begin(lease).await.expect("begun");
        assert!(begun.nothing_to_do, "{begun:?}");
        stage("waiting").await;
        self.say("task", sign, "task_claim", json!({}), None).await;
        self.say("task", sign, "task_complete", json!({}), Some(json!({ "by": "hand" }))).await;
        self.executor(post, "step_complete", json!({}), Some(json!({ "n": 1 }))).await;
        self.turn(self.run).await;
        stage("completed").await;
        let said = json!({ "approval_id": again, "correction_reason": "data_error" });
        self.say("step", post, "step_reopen_for_correction", said, None).await;
        stage("in_progress").await;
        self.later("2 hours").await;
        for timer in self.app.fn_timer_due(10, PRODUCT).await.expect("timers") {
            self.app.fn_timer_fire(timer, PRODUCT).await.expect("fired");
        }
        self.say("step", post, "step_reengage", json!({}), None).await;
        stage("in_progress").await;
        self.executor(post, "step_complete", json!({}), Some(json!({ "n": 2 }))).await;
        self.turn(self.run).await;
        stage("completed").await;
    }

    async fn every_way(&self) {
        self.start(self.run, "purchase").await;
        self.start(self.off, "purchase").await;
        let (intake, large, extra) = (self.step("intake"), self.step("large"), self.step("extra"));
        // Asked for before the clock of the database goes ahead of those who sign.
        let again = self.approved("step_reopen", large, None).await;
        let cancel = self.approved("step_cancel", extra, None).await;
        let off = self.approved("workflow_cancel", self.off, None).await;

        self.say("step", intake, "step_claim", json!({}), None).await;
        let wait = json!({ "facets": ["waiting_human"], "waits": [{ "facet": "waiting_human", "of": "the buyer" }] });
        self.say("step", intake, "step_wait", wait, None).await;
        let wait = self.db.text("select wait_id::text from workflow.wait").await;
        let wait: Uuid = wait.parse().expect("an id");
        let proof = json!({ "said": "yes" });
        self.app.fn_wait_resolve(wait, &proof, REVIEWER, "reviewer").await.expect("resolved");
        self.say("step", intake, "step_block", json!({ "block_reason": "missing_input" }), None)
            .await;
        let found = json!({ "resolution_ref": "mail 7" });
        self.say("step", intake, "blocker_resolved", found, None).await;
        self.later("2 hours").await;
        for timer in self.app.fn_timer_due(10, PRODUCT).await.expect("timers") {
            self.app.fn_timer_fire(timer, PRODUCT).await.expect("fired");
        }
        self.say("step", intake, "step_complete", json!({}), Some(json!({ "amount": 20 }))).await;
        self.turn(self.run).await;

        let part = derived_uuid(large, "part");
        self.say("step", large, "step_claim", json!({}), None).await;
        self.say("task", part, "task_claim", json!({}), None).await;
        self.say("task", part, "task_complete", json!({}), Some(json!({ "part": 1 }))).await;
        self.say("step", large, "step_complete", json!({}), Some(json!({ "n": 1 }))).await;
        let said = json!({ "approval_id": again, "correction_reason": "data_error" });
        self.say("step", large, "step_reopen_for_correction", said, None).await;
        self.extend(large).await;
        self.say("step", large, "step_complete", json!({}), Some(json!({ "n": 2 }))).await;
        self.say("step", extra, "step_cancel", json!({ "approval_id": cancel }), None).await;
        self.turn(self.run).await;

        let order = self.step("order");
        let failed = json!({ "classification": "transient", "failure_class": "unavailable" });
        self.executor(order, "executor_failure", failed, None).await;
        self.later("5 hours").await;
        self.executor(order, "step_complete", json!({}), Some(json!({ "order": 7 }))).await;
        self.turn(self.run).await;

        let said = json!({ "approval_id": off, "audit_ref": off });
        let call = RunCall {
            workflow_run_id: self.off,
            call: "workflow_cancel",
            evidence: &said,
            principal: REVIEWER,
            actor_class: "reviewer",
            idempotency_key: "off",
            reason: None,
            signed: None,
        };
        self.app.fn_workflow_move(&call).await.expect("called off");
    }

    async fn extend(&self, step: Uuid) {
        let said = json!({});
        let call = WorkCall {
            run_kind: "step",
            run_id: step,
            call: "extend",
            evidence: &said,
            document: None,
            principal: WRITER,
            actor_class: "pic_human",
            idempotency_key: "extend",
            reason: Some("nghỉ lễ"),
            signed: None,
        };
        self.app.fn_work_extend(&call, "2100-01-01T00:00:00Z").await.expect("a later deadline");
    }

    // ── tampering ───────────────────────────────────────────────────────────────────────────────────────────────────

    pub(crate) async fn forged(&self, statements: &[&str]) {
        assert!(self.db.forge(statements).await > 0, "{statements:?}");
    }

    /// Keeps copies of tables and drops what would refuse a forger.
    pub(crate) async fn keep(&self, tables: &[&str]) {
        for table in tables {
            let copy = format!("create table public.{} as table {table}", copy_of(table));
            self.db.forge(&[&copy]).await;
        }
        let constraints = self
            .db
            .texts(
                "select format('alter table %s drop constraint %I cascade', k.conrelid::regclass, k.conname)
                   from pg_constraint k join pg_namespace n on n.oid = k.connamespace
                  where (n.nspname in ('workflow', 'approval') or k.conrelid in ('governance.proposal'::regclass, 'governance.iu_usage_evidence'::regclass))
                    and k.contype in ('c', 'u', 'f') and k.conrelid <> 0 and k.conislocal and k.conparentid = 0",
            )
            .await;
        for constraint in constraints.into_iter().flatten() {
            self.db.forge(&[&constraint]).await;
        }
    }

    pub(crate) async fn put_back(&self, table: &str) {
        self.forged(&[
            &format!("delete from {table}"),
            &format!("insert into {table} table public.{}", copy_of(table)),
        ])
        .await;
    }

    /// Changes rows as somebody who has our code would: their own digests fit again.
    pub(crate) async fn restamped(&self, table: &str, condition: &str, set: &str) {
        let stamp = self
            .db
            .text(&format!(
                "select quote_ident(tgname) from pg_trigger where tgrelid = '{table}'::regclass and tgfoid = 'audit.stamp_{}'::regproc",
                table.replace('.', "_")
            ))
            .await;
        self.forged(&[
            &format!("alter table {table} enable always trigger {stamp}"),
            &format!(
                "create temp table forged on commit drop as select * from {table} where {condition}"
            ),
            &format!("update forged set {set}"),
            &format!("delete from {table} where {condition}"),
            &format!("insert into {table} select * from forged"),
        ])
        .await;
    }

    /// The audit names a row of this table by this rule.
    pub(crate) async fn names(&self, what: &str, table: &str, rule: &str) {
        let found = self.audit().await.mismatches;
        let named = found.iter().any(|one| one.table == table && one.rule == rule);
        let found: Vec<String> = found.iter().map(ToString::to_string).collect();
        assert!(named, "{what}: {rule} of {table}, not {found:#?}");
    }
}

fn copy_of(table: &str) -> String {
    format!("kept_{}", table.replace('.', "_"))
}
