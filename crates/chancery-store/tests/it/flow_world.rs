//! A database in which workflows run: people and workers, definitions that came in by proposal, and a clock that stands still.
//!
//! Built on [`Yard`], whose queue and people it shares.

use chancery_model::envelope;
use chancery_store::Error;
use chancery_store::fsm::{Move, MoveReport, Signed};
use chancery_store::queue::LeasedJob;
use chancery_store::workflow::{
    Act, Assignment, ChangeReport, Fired, Lease, NewRun, RunCall, RunReport, WorkCall, WorkReport,
};
use chancery_testkit::{TestDb, keys, repo_path};
use serde_json::{Value, json};
use sqlx::AssertSqlSafe;
use uuid::Uuid;

pub(crate) use crate::flow_words::{
    facts, hex, human, noop, plus, sha, single, step, title, way, when, workflow,
};
use crate::flow_words::{named, refused};
use crate::queue_world::{WORKER, Yard};

/// The principal of the loops.
pub(crate) const LOOPS: &str = "chancery";

pub(crate) struct Flow {
    yard: Yard,
    /// What a door of this room could write, as one query for its digest.
    written: String,
}

impl std::ops::Deref for Flow {
    type Target = Yard;

    fn deref(&self) -> &Yard {
        &self.yard
    }
}

/// Who moves a step, and how.
#[derive(Debug, Clone, Copy)]
pub(crate) struct By<'a> {
    pub(crate) principal: &'a str,
    pub(crate) class: &'a str,
}

/// The person in charge of most steps here: a service, so that nothing must be signed that need not be.
pub(crate) const DESK: By<'static> = By { principal: "desk", class: "pic_human" };
pub(crate) const CHIEF: By<'static> = By { principal: "chief", class: "reviewer" };
pub(crate) const TESS: By<'static> = By { principal: "tess", class: "task_pic_human" };
pub(crate) const ESME: By<'static> = By { principal: "esme", class: "escalation_handler" };

impl Flow {
    pub(crate) async fn new() -> Self {
        Self::on(TestDb::new().await).await
    }

    /// In a database that has other things in it.
    pub(crate) async fn on(db: TestDb) -> Self {
        let yard = Yard::on(db).await;
        for machine in ["step", "task", "workflow_run", "proposal"] {
            let path = repo_path(&format!("machines/{machine}.yaml"));
            yard.db.machine(&std::fs::read_to_string(path).expect("a shipped machine")).await;
        }
        for (name, classes) in [
            ("tess", &["task_pic_human"][..]),
            ("esme", &["escalation_handler"]),
            ("dora", &["pic_human", "task_pic_human"]),
        ] {
            yard.db.service(name, classes).await;
        }
        yard.stop_the_clock().await;
        let written = yard
            .one(
                "select $q$select md5(concat_ws(' ', $q$ || string_agg(
                          format($q$(select md5(coalesce(string_agg(md5(t::text), ' ' order by md5(t::text)), '')) from %s t)$q$, c.oid::regclass), ', ') || '))'
                   from pg_class c
                  where (c.relnamespace in ('workflow'::regnamespace, 'approval'::regnamespace, 'governance'::regnamespace, 'queue'::regnamespace)
                         and c.relkind in ('r', 'p') and not c.relispartition)
                     or c.oid in ('fsm.transition_log'::regclass, 'event.event_outbox'::regclass)",
            )
            .await;
        Self { yard, written }
    }

    /// With this one definition, and a run of it that the loop has begun.
    pub(crate) async fn with(definition: Value) -> (Self, Uuid) {
        let flow = Self::new().await;
        let run = flow.begun(definition).await;
        (flow, run)
    }

    pub(crate) async fn begun(&self, definition: Value) -> Uuid {
        let name = definition["workflow"].as_str().expect("a name").to_owned();
        self.install(definition).await;
        self.start(&name, json!({})).await
    }

    // ── proposals ───────────────────────────────────────────────────────────────────────────────────────────────────

    /// The same with a signature, where there is a person.
    pub(crate) async fn signed<'a>(&self, mut act: Act<'a>) -> Act<'a> {
        act.signed = self.signature(&act).await;
        act
    }

    /// A person's signature under a call. Where it leads stands in the rows, or would lead from another state.
    async fn signature(&self, act: &Act<'_>) -> Option<Signed> {
        if !["petra", "sofia", "silas", "rita", "ralf"].contains(&act.principal) {
            return None;
        }
        let edge: Option<(String, String, Option<String>)> = sqlx::query_as(
            "select t.to_state, t.trigger_kind, case when p.state_machine_id is null then m.name end
               from fsm.run_peek($1, $2) p
               join fsm.state_machine_def m
                 on m.state_machine_id = coalesce(p.state_machine_id,
                      (select a.state_machine_id from fsm.state_machine_def a join fsm.run_kind_def k on k.scope = a.scope
                        where k.run_kind = $1 and a.active))
               join fsm.transition_def t on t.state_machine_id = m.state_machine_id
              where t.trigger_ref = $3 and t.actor_class = $4
              order by t.from_state is not distinct from p.state_code desc, t.to_state limit 1",
        )
        .bind(act.run_kind)
        .bind(act.run_id)
        .bind(act.call)
        .bind(act.actor_class)
        .fetch_optional(&self.admin)
        .await
        .expect("an edge, or none");
        let (to, trigger_kind, machine) = edge.unwrap_or_default();
        let statement = envelope::Move {
            run_kind: act.run_kind,
            run_id: act.run_id,
            to: &to,
            principal: act.principal,
            actor_class: act.actor_class,
            trigger_kind: &trigger_kind,
            trigger_ref: act.call,
            evidence: act.evidence,
            reason: act.reason,
            idempotency_key: act.idempotency_key,
            birth: machine
                .as_deref()
                .map(|machine| envelope::Birth { machine, data: &Value::Null }),
        };
        let signature = keys::sign(act.principal, &statement.statement());
        Some(Signed { key_id: self.key(act.principal), signature })
    }

    pub(crate) async fn propose(
        &self,
        id: Uuid,
        definition: &Value,
    ) -> Result<ChangeReport, Error> {
        self.propose_as(id, definition, "petra").await
    }

    pub(crate) async fn propose_as(
        &self,
        id: Uuid,
        definition: &Value,
        principal: &str,
    ) -> Result<ChangeReport, Error> {
        let evidence = json!({ "definition_sha256": hex(&sha(definition)) });
        let act = Act {
            run_kind: "workflow_change",
            run_id: id,
            call: "propose",
            evidence: &evidence,
            principal,
            actor_class: if principal == "rita" { "reviewer" } else { "pic_human" },
            idempotency_key: "propose",
            reason: None,
            signed: None,
        };
        self.store.fn_workflow_propose(&self.signed(act).await, definition, "A change").await
    }

    /// A move of a proposal by petra.
    pub(crate) async fn proposal_move(
        &self,
        kind: &str,
        id: Uuid,
        call: &str,
        evidence: Value,
        principal: &str,
    ) -> Result<Value, Error> {
        let key = Uuid::now_v7().to_string();
        let act = Act {
            run_kind: kind,
            run_id: id,
            call,
            evidence: &evidence,
            principal,
            actor_class: if principal == "rita" { "reviewer" } else { "pic_human" },
            idempotency_key: &key,
            reason: None,
            signed: None,
        };
        let answer = self.store.fn_proposal_move(&self.signed(act).await).await?;
        Ok(serde_json::to_value(answer).expect("JSON"))
    }

    pub(crate) async fn submit(&self, id: Uuid, definition: &Value) {
        let evidence = json!({ "digest": hex(&sha(definition)) });
        self.proposal_move("workflow_change", id, "submit", evidence, "petra")
            .await
            .expect("submitted");
    }

    /// A request of petra's for the approval of exactly this.
    pub(crate) async fn review_asked(&self, kind: &str, id: Uuid, digest: &[u8]) -> Uuid {
        let mut ask = self.an_ask(kind, "medium", &id.to_string()).await;
        ask.subject_digest = Some(digest.to_vec());
        self.sign_ask(&mut ask).await;
        self.ask(&ask).await.expect("a request");
        ask.approval_id
    }

    pub(crate) async fn settle(&self, kind: &str, id: Uuid) -> String {
        let answer = self.store.fn_proposal_settle(kind, id).await.expect("settled");
        let answer = serde_json::to_value(answer).expect("JSON");
        answer["state"].as_str().expect("a state").to_owned()
    }

    pub(crate) async fn merge(&self, id: Uuid) -> Result<ChangeReport, Error> {
        let act = Act {
            run_kind: "workflow_change",
            run_id: id,
            call: "merge",
            evidence: &json!({ "audit_ref": "A-merge" }),
            principal: "petra",
            actor_class: "pic_human",
            idempotency_key: "merge",
            reason: None,
            signed: None,
        };
        self.store.fn_workflow_merge(&self.signed(act).await).await
    }

    /// A definition that is approved and not merged.
    pub(crate) async fn approved_change(&self, definition: &Value) -> Uuid {
        let id = Uuid::now_v7();
        self.propose(id, definition).await.expect("a draft");
        self.submit(id, definition).await;
        let approval = self.review_asked("workflow_change", id, &sha(definition)).await;
        assert_eq!(self.settle("workflow_change", id).await, "review");
        self.votes(approval, "sofia", "approve").await.expect("a vote");
        assert_eq!(self.settle("workflow_change", id).await, "approved");
        id
    }

    /// A definition by the whole way of a proposal; gives its version.
    pub(crate) async fn install(&self, definition: Value) -> i32 {
        let id = self.approved_change(&definition).await;
        self.merge(id).await.expect("merged").merged_version.expect("a version")
    }

    // ── runs ────────────────────────────────────────────────────────────────────────────────────────────────────────

    /// A run that the loop has begun.
    pub(crate) async fn start(&self, workflow: &str, inputs: Value) -> Uuid {
        let run = Uuid::now_v7();
        self.start_as(run, workflow, inputs).await.expect("a run");
        self.turn().await;
        run
    }

    pub(crate) async fn start_as(
        &self,
        run: Uuid,
        workflow: &str,
        inputs: Value,
    ) -> Result<RunReport, Error> {
        self.store
            .fn_workflow_start(&NewRun {
                workflow_run_id: run,
                workflow,
                inputs: &inputs,
                evidence: &json!({ "inputs_sha256": hex(&sha(&inputs)) }),
                principal: "desk",
                actor_class: "pic_human",
                idempotency_key: "start",
                trace_id: None,
                signed: None,
            })
            .await
    }

    /// The loop, until nothing waits for it.
    pub(crate) async fn turn(&self) {
        loop {
            let runs = self.store.fn_mow_next(100, LOOPS).await.expect("runs");
            if runs.is_empty() {
                return;
            }
            for run in runs {
                self.store.fn_mow_turn(run, LOOPS).await.expect("a turn");
            }
        }
    }

    /// Every timer that has rung, until none has.
    pub(crate) async fn ring(&self) -> Vec<Fired> {
        let mut fired = Vec::new();
        loop {
            let due = self.store.fn_timer_due(100, LOOPS).await.expect("timers");
            if due.is_empty() {
                return fired;
            }
            assert!(fired.len() < 1000, "timers that ring for ever: {fired:?}");
            for timer in due {
                fired.push(self.store.fn_timer_fire(timer, LOOPS).await.expect("fired"));
            }
        }
    }

    pub(crate) async fn run_move(
        &self,
        run: Uuid,
        call: &str,
        evidence: Value,
        by: By<'_>,
    ) -> Result<RunReport, Error> {
        let key = Uuid::now_v7().to_string();
        self.store
            .fn_workflow_move(&RunCall {
                workflow_run_id: run,
                call,
                evidence: &evidence,
                principal: by.principal,
                actor_class: by.class,
                idempotency_key: &key,
                reason: None,
                signed: None,
            })
            .await
    }

    pub(crate) async fn pause(&self, run: Uuid) {
        self.run_move(run, "workflow_pause", json!({ "audit_ref": "A-pause" }), CHIEF)
            .await
            .expect("paused");
    }

    pub(crate) async fn resume(&self, run: Uuid) {
        self.run_move(run, "workflow_resume", json!({ "audit_ref": "A-resume" }), CHIEF)
            .await
            .expect("resumed");
    }

    pub(crate) async fn cancel_run(&self, run: Uuid) {
        let approval = self.approved("workflow_cancel", &run.to_string()).await;
        let evidence = json!({ "audit_ref": "A-cancel", "approval_id": approval });
        self.run_move(run, "workflow_cancel", evidence, CHIEF).await.expect("cancelled");
    }

    // ── steps and tasks ─────────────────────────────────────────────────────────────────────────────────────────────

    pub(crate) async fn step(&self, run: Uuid, key: &str) -> Uuid {
        self.one(&format!(
            "select step_run_id from workflow.step_run where workflow_run_id = '{run}' and step_key = '{key}'"
        ))
        .await
    }

    pub(crate) async fn task(&self, run: Uuid, key: &str) -> Uuid {
        self.one(&format!(
            "select task_run_id from workflow.task_run where workflow_run_id = '{run}' and task_key = '{key}'"
        ))
        .await
    }

    /// A step, a task or a run as its row is.
    pub(crate) async fn row_of(&self, id: Uuid) -> Value {
        self.one(&format!(
            "select coalesce((select to_jsonb(s) from workflow.step_run s where s.step_run_id = '{id}'),
                             (select to_jsonb(t) from workflow.task_run t where t.task_run_id = '{id}'),
                             (select to_jsonb(r) from workflow.workflow_run r where r.workflow_run_id = '{id}'))"
        ))
        .await
    }

    pub(crate) async fn state_of(&self, id: Uuid) -> String {
        self.row_of(id).await["state_code"].as_str().expect("a state").to_owned()
    }

    /// `key state` of every step of a run, in order; a skipped one says so.
    pub(crate) async fn states(&self, run: Uuid) -> String {
        self.one(&format!(
            "select string_agg(step_key || ' ' || case when skipped then 'skipped' else state_code end, ', ' order by step_no)
               from workflow.step_run where workflow_run_id = '{run}'"
        ))
        .await
    }

    pub(crate) async fn colour(&self, run: Uuid) -> String {
        self.row_of(run).await["rollup_state_code"].as_str().expect("a colour").to_owned()
    }

    /// The newest move as its log row and its event say: `T2 ready>in_progress desk/pic_human rpc:step_claim A-1 | step.started {}`.
    /// What the row says agrees with both.
    pub(crate) async fn told(&self, id: Uuid) -> String {
        let row = self.row_of(id).await;
        let (told, to, seq, hash): (String, String, i64, String) = sqlx::query_as(
            "select concat_ws(' ', split_part(split_part(l.transition_id, '#', 2), ':', 1), coalesce(l.from_state, '∅') || '>' || l.to_state,
                              l.principal || '/' || l.actor_class, l.trigger_kind || ':' || l.trigger_ref, l.evidence::jsonb ->> 'audit_ref',
                              '|', o.event_type, o.payload::text),
                    l.to_state, l.seq, '\\x' || encode(l.hash, 'hex')
               from fsm.transition_log l left join event.event_outbox o on o.event_id = l.log_id and o.subject_id = l.run_id and o.subject_seq = l.seq
              where l.run_id = $1 order by l.seq desc limit 1",
        )
        .bind(id)
        .fetch_one(&self.admin)
        .await
        .expect("a log row");
        assert_eq!(
            (&row["state_code"], &row["seq"], &row["head_hash"]),
            (&json!(to), &json!(seq), &json!(hash)),
            "the row says what its log says"
        );
        told
    }

    /// A call of somebody's on a step or a task, with a key of its own.
    pub(crate) async fn call(
        &self,
        id: Uuid,
        call: &str,
        evidence: Value,
        output: Option<Value>,
        by: By<'_>,
    ) -> Result<MoveReport, Error> {
        self.call_keyed(id, call, evidence, output, by, &Uuid::now_v7().to_string()).await
    }

    pub(crate) async fn call_keyed(
        &self,
        id: Uuid,
        call: &str,
        evidence: Value,
        output: Option<Value>,
        by: By<'_>,
        key: &str,
    ) -> Result<MoveReport, Error> {
        let kind: String = self
            .one(&format!("select case when exists (select from workflow.task_run where task_run_id = '{id}') then 'task' else 'step' end"))
            .await;
        self.store
            .fn_work_move(&WorkCall {
                run_kind: &kind,
                run_id: id,
                call,
                evidence: &evidence,
                document: output.as_ref(),
                principal: by.principal,
                actor_class: by.class,
                idempotency_key: key,
                reason: None,
                signed: None,
            })
            .await
    }

    pub(crate) async fn claim_by(&self, id: Uuid, by: By<'_>) {
        let call = if by.class == "task_pic_human" { "task_claim" } else { "step_claim" };
        self.call(id, call, json!({ "audit_ref": "A-claim" }), None, by).await.expect("claimed");
    }

    /// A step of the run's, by its key, taken up by the desk.
    pub(crate) async fn claimed(&self, run: Uuid, key: &str) -> Uuid {
        let id = self.step(run, key).await;
        self.claim_by(id, DESK).await;
        id
    }

    pub(crate) async fn complete(&self, id: Uuid, output: Value) -> Result<MoveReport, Error> {
        self.complete_by(id, output, DESK).await
    }

    pub(crate) async fn complete_by(
        &self,
        id: Uuid,
        output: Value,
        by: By<'_>,
    ) -> Result<MoveReport, Error> {
        let call = if by.class == "task_pic_human" { "task_complete" } else { "step_complete" };
        let evidence = json!({ "audit_ref": "A-done", "output_sha256": hex(&sha(&output)) });
        self.call(id, call, evidence, Some(output), by).await
    }

    /// A step of the run's taken up and completed by the desk, and the loop after it.
    pub(crate) async fn do_step(&self, run: Uuid, key: &str, output: Value) -> Uuid {
        let id = self.claimed(run, key).await;
        self.complete(id, output).await.expect("completed");
        self.turn().await;
        id
    }

    pub(crate) async fn block(&self, id: Uuid) {
        let evidence = json!({ "audit_ref": "A-block", "block_reason": "missing_input" });
        self.call(id, "step_block", evidence, None, DESK).await.expect("blocked");
    }

    pub(crate) async fn wait_for(&self, id: Uuid, waits: Value) -> Result<MoveReport, Error> {
        let facets: Vec<&Value> =
            waits.as_array().expect("waits").iter().map(|wait| &wait["facet"]).collect();
        let evidence = json!({ "facets": facets, "waits": waits });
        self.call(id, "step_wait", evidence, None, DESK).await
    }

    /// Whatever is done, nothing that the doors of this room write is changed by it. Quicker than a look at every table.
    pub(crate) async fn unchanged<T>(&self, act: impl Future<Output = T>) -> T {
        let before: String = self.one(&self.written).await;
        let answer = act.await;
        assert_eq!(before, self.one::<String>(&self.written).await, "nothing changed");
        answer
    }

    /// Refused, with nothing changed: what the refusal names.
    pub(crate) async fn refuses<T: std::fmt::Debug>(
        &self,
        act: impl Future<Output = Result<T, Error>>,
    ) -> Vec<String> {
        refused(self.unchanged(act).await)
    }

    // ── executors ───────────────────────────────────────────────────────────────────────────────────────────────────

    /// The one job of the class, leased by the hall.
    pub(crate) async fn leased(&self) -> LeasedJob {
        let mut jobs = self.claim(10).await;
        assert_eq!(jobs.len(), 1, "one job: {jobs:?}");
        jobs.remove(0)
    }

    pub(crate) fn lease(job: &LeasedJob) -> Lease<'static> {
        Lease { job_id: job.job_id, lease_no: job.lease_no, worker: WORKER, principal: "hall" }
    }

    pub(crate) async fn begin(&self, job: &LeasedJob) -> Result<Assignment, Error> {
        self.store.fn_work_begin(Self::lease(job)).await
    }

    /// The job leased and its work begun.
    pub(crate) async fn working(&self) -> LeasedJob {
        let job = self.leased().await;
        self.begin(&job).await.expect("begun");
        job
    }

    pub(crate) async fn report(
        &self,
        job: &LeasedJob,
        call: &str,
        evidence: Value,
        output: Option<Value>,
    ) -> Result<MoveReport, Error> {
        let report = WorkReport { call, evidence: &evidence, document: output.as_ref() };
        self.store.fn_work_report(Self::lease(job), &report).await
    }

    pub(crate) async fn report_done(
        &self,
        job: &LeasedJob,
        output: Value,
    ) -> Result<MoveReport, Error> {
        let evidence = json!({ "output_sha256": hex(&sha(&output)) });
        self.report(job, "step_complete", evidence, Some(output)).await
    }

    pub(crate) async fn report_failed(&self, job: &LeasedJob, class: &str, failure: &str) {
        let evidence = json!({ "classification": class, "failure_class": failure });
        self.report(job, "executor_failure", evidence, None).await.expect("a failure");
    }

    // ── previews ────────────────────────────────────────────────────────────────────────────────────────────────────

    /// What the engine would say to this move, for those that doors never ask for without reason.
    pub(crate) async fn preview(
        &self,
        id: Uuid,
        to: &str,
        class: &str,
        trigger: &str,
        evidence: Value,
    ) -> Vec<String> {
        let kind: String = self
            .one(&format!("select run_kind from fsm.transition_log where run_id = '{id}' limit 1"))
            .await;
        let (trigger_kind, trigger_ref) = trigger.split_once(':').expect("kind:ref");
        let preview = self
            .store
            .fn_state_transition_validate(&Move {
                run_id: id,
                run_kind: kind,
                from: None,
                to: to.to_owned(),
                actor_class: class.to_owned(),
                trigger_kind: trigger_kind.to_owned(),
                trigger_ref: trigger_ref.to_owned(),
                evidence,
                principal: match class {
                    "pic_human" => "desk",
                    "task_pic_human" => "tess",
                    "reviewer" => "chief",
                    "escalation_handler" => "esme",
                    _ => LOOPS,
                }
                .to_owned(),
                idempotency_key: "preview".to_owned(),
                reason: None,
                signed: None,
            })
            .await
            .expect("a preview");
        preview.problems.iter().map(|p| named(p.code, p.facts.get("guard"))).collect()
    }

    /// A number of something as a superuser counts it.
    pub(crate) async fn number(&self, query: &str) -> i64 {
        sqlx::query_scalar(AssertSqlSafe(query.to_owned()))
            .fetch_one(&self.admin)
            .await
            .expect("a number")
    }
}
