//! Workflows for tests: people, definitions by the way of proposals, and the loops in this process.

use std::time::{Duration, Instant};

use chancery_engine::registry;
use chancery_engine::run::Actor;
use chancery_model::canonical;
use chancery_model::envelope::Statement;
use chancery_store::fsm::MoveReport;
use chancery_store::queue::LeasedJob;
use chancery_store::workflow::{
    Act, Assignment, Lease, NewRun, RunCall, RunReport, WorkCall, WorkReport,
};
use chancery_store::{Error, Role, Store, Target};
use serde_json::{Value, json};
use sqlx::postgres::{PgPool, PgPoolOptions};
use uuid::Uuid;

use crate::people::actor;

/// Proposes, starts, and does what people do. A service, so that its moves need no signature.
pub const CLERK: &str = "clerk";
/// Approves.
pub const JUDGE: &str = "judge";
/// The principal of the workers.
pub const HAND: &str = "hand";
/// The principal of the loops.
pub const LOOPS: &str = "chancery";

/// A class of executors whose leases are short and whose tries do not run out, for tests that kill workers.
pub const CLASS: &str = "flow";

/// A database with workflows in it.
#[derive(Debug)]
pub struct Flows {
    pub store: Store,
    pub admin: PgPool,
    clerk: Actor,
    judge: Actor,
}

/// How long the two heavy calls of a definition took.
#[derive(Debug, Clone, Copy)]
pub struct Installed {
    pub propose: Duration,
    pub merge: Duration,
}

/// The digest of a document, as evidence names it.
pub fn digest(document: &Value) -> String {
    canonical::sha256(document).iter().map(|byte| format!("{byte:02x}")).collect()
}

impl Flows {
    /// Installs the machines and the people in a migrated database.
    ///
    /// # Panics
    /// When the database says no, as everything here does.
    pub async fn new(target: &Target) -> Self {
        let operator = Store::open(target, Role::Migrator).expect("a store");
        registry::install_product_machines(&operator, "test").await.expect("machines");
        let classes = ["pic_human", "reviewer", "escalation_handler"];
        let clerk = actor(&operator, CLERK, "service", &classes, 71).await;
        let judge = actor(&operator, JUDGE, "human", &["sovereign"], 72).await;
        actor(&operator, HAND, "service", &["executor_worker"], 73).await;
        let policy = "relentless";
        operator
            .fn_retry_policy_put(policy, 1000, 10, 1.0, 10, 0.0, "Tries again and again.")
            .await
            .expect("a policy");
        operator
            .fn_executor_class_put(CLASS, policy, 2, 16384, true, "Short leases.")
            .await
            .expect("a class");
        operator.close().await;
        let admin =
            PgPoolOptions::new().max_connections(2).connect_lazy_with(target.admin_options());
        Self {
            store: Store::with_connections(target, Role::App, 4).expect("a store"),
            admin,
            clerk,
            judge,
        }
    }

    /// Proposes, submits, approves and merges a definition.
    ///
    /// # Panics
    /// When any of it is refused.
    pub async fn install(&self, definition: &Value) -> Installed {
        let change = Uuid::now_v7();
        let sha256 = digest(definition);
        let act = |call, evidence| Act {
            run_kind: "workflow_change",
            run_id: change,
            call,
            evidence,
            principal: CLERK,
            actor_class: "pic_human",
            idempotency_key: call,
            reason: None,
            signed: None,
        };
        let begun = Instant::now();
        let evidence = json!({ "definition_sha256": sha256 });
        self.store
            .fn_workflow_propose(&act("propose", &evidence), definition, "A workflow")
            .await
            .unwrap_or_else(|error| panic!("the definition is in order: {error:?}"));
        let propose = begun.elapsed();
        let evidence = json!({ "digest": sha256 });
        self.store.fn_proposal_move(&act("submit", &evidence)).await.expect("it is handed in");
        let digest = canonical::sha256(definition).to_vec();
        self.approve("workflow_change", change, Some(digest)).await;
        self.store.fn_proposal_settle("workflow_change", change).await.expect("it is settled");
        let begun = Instant::now();
        let evidence = json!({ "audit_ref": "test", "digest": sha256 });
        self.store
            .fn_workflow_merge(&act("merge", &evidence))
            .await
            .unwrap_or_else(|error| panic!("it is merged: {error:?}"));
        Installed { propose, merge: begun.elapsed() }
    }

    /// An approval by the judge of what the clerk asks for; gives its id.
    ///
    /// # Panics
    /// When it is not approved.
    pub async fn approve(&self, kind: &str, subject: Uuid, digest: Option<Vec<u8>>) -> Uuid {
        let approval = Uuid::now_v7();
        let state: String = sqlx::query_scalar(
            "with asked as (
               select internal.micros(internal.now()) as now),
             request as (
               select approval.request_payload(jsonb_populate_record(null::approval.approval_request, jsonb_build_object(
                        'approval_id', $1, 'kind', k.kind, 'subject_kind', k.subject_kind, 'subject_ref', $3::text, 'subject_digest', $4, 'risk', k.risk,
                        'title', 'Let it happen', 'facts', '{}', 'expires_at', internal.from_micros(a.now + 600000000), 'proposer', $5, 'key_id', $6,
                        'signed_at', internal.from_micros(a.now)))) as payload, a.now, k.risk
                 from approval.approval_kind k, asked a where k.kind = $2)
             select json_build_object('payload', r.payload, 'now', r.now, 'risk', r.risk)::text from request r",
        )
        .bind(approval)
        .bind(kind)
        .bind(subject.to_string())
        .bind(&digest)
        .bind(CLERK)
        .bind(self.clerk.key.as_ref().map(|own| own.key_id))
        .fetch_one(&self.admin)
        .await
        .expect("the text to sign");
        let asked: Value = serde_json::from_str(&state).expect("a document");
        let now = asked["now"].as_i64().expect("a time");
        let text = |value: &Value| value.as_str().expect("a text").to_owned();
        // By the database's clock, which a test may have set, so not by the use-case for people.
        let signed = |actor: &Actor, payload: &str| {
            let own = actor.key.as_ref().expect("a key");
            let signature = Statement::approval(payload).sign(&own.key).to_vec();
            Some(chancery_store::fsm::Signed { key_id: own.key_id, signature })
        };
        self.store
            .fn_approval_request(&chancery_store::approval::Request {
                approval_id: approval,
                kind: kind.to_owned(),
                subject_ref: subject.to_string(),
                subject_digest: digest,
                risk: text(&asked["risk"]),
                title: "Let it happen".to_owned(),
                facts: json!({}),
                expires_at: now + 600_000_000,
                principal: CLERK.to_owned(),
                actor_class: "pic_human".to_owned(),
                signed_at: now,
                payload: text(&asked["payload"]),
                signed: signed(&self.clerk, &text(&asked["payload"])),
            })
            .await
            .expect("a request");
        let vote = Uuid::now_v7();
        let payload: String = sqlx::query_scalar(
            "select approval.vote_payload($1, $2, r.row_digest, 'approve', null, $3, 'sovereign', $4, $5)
               from approval.approval_request r where r.approval_id = $2",
        )
        .bind(vote)
        .bind(approval)
        .bind(JUDGE)
        .bind(self.judge.key.as_ref().map(|own| own.key_id))
        .bind(now)
        .fetch_one(&self.admin)
        .await
        .expect("the text to sign");
        let report = self
            .store
            .fn_approval_vote(&chancery_store::approval::Vote {
                vote_id: vote,
                approval_id: approval,
                decision: "approve".to_owned(),
                rationale: None,
                principal: JUDGE.to_owned(),
                actor_class: "sovereign".to_owned(),
                signed_at: now,
                signed: signed(&self.judge, &payload),
                payload,
            })
            .await
            .expect("a vote");
        assert_eq!(report.state, "approved");
        approval
    }

    /// Starts a run without inputs.
    ///
    /// # Panics
    /// When it is refused.
    pub async fn start(&self, workflow: &str) -> Uuid {
        let workflow_run_id = Uuid::now_v7();
        let inputs = json!({});
        self.store
            .fn_workflow_start(&NewRun {
                workflow_run_id,
                workflow,
                inputs: &inputs,
                evidence: &json!({ "inputs_sha256": digest(&inputs) }),
                principal: CLERK,
                actor_class: "pic_human",
                idempotency_key: "asked-for",
                trace_id: None,
                signed: None,
            })
            .await
            .unwrap_or_else(|error| panic!("a run: {error:?}"));
        workflow_run_id
    }

    /// Turns the loop and rings the timers until there is nothing to do now.
    ///
    /// # Panics
    /// When a turn or a timer fails.
    pub async fn quiet(&self) {
        loop {
            let runs = self.store.fn_mow_next(100, LOOPS).await.expect("runs");
            let timers = self.store.fn_timer_due(100, LOOPS).await.expect("timers");
            if runs.is_empty() && timers.is_empty() {
                return;
            }
            for run in runs {
                // A call that was just refused may hold the run for a moment longer: PostgreSQL answers before it lets go. Then the
                // turn steps aside, and the next round finds the run again.
                let turn = self.store.fn_mow_turn(run, LOOPS).await;
                turn.unwrap_or_else(|error| panic!("a turn: {error:?}"));
            }
            for timer in timers {
                let fired = self.store.fn_timer_fire(timer, LOOPS).await;
                fired.unwrap_or_else(|error| panic!("a timer: {error:?}"));
            }
        }
    }

    /// What the clerk says about a step, under a key of its own.
    ///
    /// # Errors
    /// The database's refusal.
    pub async fn call(
        &self,
        step: Uuid,
        call: &str,
        evidence: &Value,
        document: Option<&Value>,
    ) -> Result<MoveReport, Error> {
        let actor_class = match call {
            "step_cancel" | "step_reopen_for_correction" => "reviewer",
            "escalate" => "escalation_handler",
            _ => "pic_human",
        };
        self.store
            .fn_work_move(&WorkCall {
                run_kind: "step",
                run_id: step,
                call,
                evidence,
                document,
                principal: CLERK,
                actor_class,
                idempotency_key: &Uuid::now_v7().to_string(),
                reason: None,
                signed: None,
            })
            .await
    }

    /// What the clerk does to a run: `workflow_pause` and the like.
    ///
    /// # Errors
    /// The database's refusal.
    pub async fn run_call(
        &self,
        run: Uuid,
        call: &str,
        approval: Option<Uuid>,
    ) -> Result<RunReport, Error> {
        self.store
            .fn_workflow_move(&RunCall {
                workflow_run_id: run,
                call,
                evidence: &json!({ "audit_ref": "test", "approval_id": approval }),
                principal: CLERK,
                actor_class: "reviewer",
                idempotency_key: &Uuid::now_v7().to_string(),
                reason: None,
                signed: None,
            })
            .await
    }

    /// Leases up to so many jobs of a class.
    ///
    /// # Errors
    /// The database's refusal.
    pub async fn lease(
        &self,
        class: &str,
        limit: i32,
        worker: &str,
    ) -> Result<Vec<LeasedJob>, Error> {
        self.store.fn_job_claim(class, limit, worker, HAND).await
    }

    /// Begins the work of a leased job.
    ///
    /// # Errors
    /// The database's refusal.
    pub async fn begin(&self, job: &LeasedJob, worker: &str) -> Result<Assignment, Error> {
        self.store.fn_work_begin(lease_of(job, worker)).await
    }

    /// Reports on the work of a leased job.
    ///
    /// # Errors
    /// The database's refusal.
    pub async fn report(
        &self,
        job: &LeasedJob,
        worker: &str,
        call: &str,
        evidence: &Value,
        document: Option<&Value>,
    ) -> Result<MoveReport, Error> {
        let report = WorkReport { call, evidence, document };
        self.store.fn_work_report(lease_of(job, worker), &report).await
    }
}

fn lease_of<'a>(job: &LeasedJob, worker: &'a str) -> Lease<'a> {
    Lease { job_id: job.job_id, lease_no: job.lease_no, worker, principal: HAND }
}
