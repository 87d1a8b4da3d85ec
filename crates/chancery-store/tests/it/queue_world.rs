//! A database with a queue at work: its machines, a worker, people, and a clock that can be stopped.

use std::sync::atomic::{AtomicI64, Ordering};

use chancery_model::cutter::derived_uuid;
use chancery_model::envelope;
use chancery_store::queue::{
    AckReport, Enqueued, JobMove, JobOutcome, JobResult, JobRow, LeasedJob, NewJob, ReplayBatch,
    ReplayProposal,
};
use chancery_store::{Error, Role, Store};
use chancery_testkit::{TestDb, keys, repo_path};
use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, Executor as _};
use uuid::Uuid;

use crate::approval_world::Panel;

/// The worker that most tests are about.
pub(crate) const WORKER: &str = "hall:1";

/// Jobs beside the people of [`Panel`], who propose replays and vote on them.
pub(crate) struct Yard {
    panel: Panel,
    pub(crate) store: Store,
    /// Where the stopped clock stands, in microseconds since 1970.
    now: AtomicI64,
}

impl std::ops::Deref for Yard {
    type Target = Panel;

    fn deref(&self) -> &Panel {
        &self.panel
    }
}

impl Yard {
    pub(crate) async fn new() -> Self {
        Self::on(TestDb::new().await).await
    }

    /// In a database that has other things in it.
    pub(crate) async fn on(db: TestDb) -> Self {
        Self::beside(Panel::on(db).await).await
    }

    /// Beside people who are there already.
    pub(crate) async fn beside(panel: Panel) -> Self {
        for machine in ["job", "dlq_replay"] {
            let path = repo_path(&format!("machines/{machine}.yaml"));
            panel.db.machine(&std::fs::read_to_string(path).expect("a shipped machine")).await;
        }
        for (name, class) in [
            ("hall", "executor_worker"),
            ("desk", "pic_human"),
            ("chief", "reviewer"),
            ("guest", "observer"),
        ] {
            panel.db.service(name, &[class]).await;
        }
        let store = panel.db.store(Role::App);
        Self { panel, store, now: AtomicI64::new(0) }
    }

    pub(crate) fn into_db(self) -> TestDb {
        self.panel.db
    }

    /// Leaves a row in every table of the room.
    pub(crate) async fn live(&self) {
        let dead = self.dead("dead", 1).await;
        self.propose(Uuid::now_v7(), &dead, 0).await.expect("a batch");
        self.put("done").await;
        let leased = self.claim(1).await;
        assert_eq!(self.ack(&[done(&leased[0])]).await.accepted, 1);
        self.put("waiting").await;
    }

    // ── time ────────────────────────────────────────────────────────────────────────────────────────────────────────

    /// The clock stands still from now on, until it is moved.
    pub(crate) async fn stop_the_clock(&self) {
        let now: i64 = self.one("select internal.micros(clock_timestamp())").await;
        self.now.store(now, Ordering::SeqCst);
        self.later(0).await;
    }

    pub(crate) async fn as_superuser(&self, statement: &str) {
        self.admin.execute(AssertSqlSafe(statement.to_owned())).await.expect("a superuser may");
    }

    /// So many milliseconds pass.
    pub(crate) async fn later(&self, millis: i64) {
        let now = self.now.fetch_add(millis * 1000, Ordering::SeqCst) + millis * 1000;
        let clock = format!(
            "create or replace function internal.now() returns timestamptz language sql as
             $$ select timestamptz 'epoch' + interval '{now} microseconds' $$"
        );
        // Written out: guards ask for the time as well, and their role may call little else.
        self.admin.execute(AssertSqlSafe(clock)).await.expect("the clock is one function");
    }

    // ── what a superuser sees ───────────────────────────────────────────────────────────────────────────────────────

    pub(crate) async fn row(&self, job: Uuid) -> JobRow {
        self.store.job(job).await.expect("an answer").expect("a job")
    }

    pub(crate) async fn state(&self, job: Uuid) -> String {
        self.row(job).await.state
    }

    /// Milliseconds until the job is due.
    pub(crate) async fn waits(&self, job: Uuid) -> i64 {
        self.one(&format!(
            "select ceil(extract(epoch from scheduled_at - internal.now()) * 1000)::bigint from queue.job_queue where job_id = '{job}'"
        ))
        .await
    }

    pub(crate) async fn events(&self, event_type: &str) -> i64 {
        self.db.count(&format!("event.event_outbox where event_type = '{event_type}'")).await
    }

    /// Refused, and nothing changed.
    pub(crate) async fn unchanged<T>(&self, act: impl Future<Output = T>) -> T {
        let before = self.db.fingerprint().await;
        let answer = act.await;
        assert_eq!(before, self.db.fingerprint().await, "nothing changed");
        answer
    }

    // ── what workers and people do ──────────────────────────────────────────────────────────────────────────────────

    pub(crate) async fn enqueue(&self, jobs: &[NewJob]) -> Result<Vec<Enqueued>, Error> {
        self.store.fn_job_enqueue(jobs, "desk", "pic_human").await
    }

    /// One plain job.
    pub(crate) async fn put(&self, key: &str) -> Uuid {
        self.enqueue(&[job(key)]).await.expect("a job")[0].job_id
    }

    pub(crate) async fn claim(&self, limit: i32) -> Vec<LeasedJob> {
        self.claim_as(WORKER, limit).await
    }

    pub(crate) async fn claim_as(&self, worker: &str, limit: i32) -> Vec<LeasedJob> {
        self.store.fn_job_claim("noop", limit, worker, "hall").await.expect("a claim")
    }

    pub(crate) async fn ack(&self, results: &[JobResult]) -> AckReport {
        self.ack_as(WORKER, results).await
    }

    pub(crate) async fn ack_as(&self, worker: &str, results: &[JobResult]) -> AckReport {
        self.store.fn_job_ack(worker, "hall", results).await.expect("a report")
    }

    pub(crate) async fn cancel(&self, job: Uuid, key: &str) -> Result<Value, Error> {
        self.store.fn_job_cancel(&by(job, "desk", "pic_human", key)).await
    }

    pub(crate) async fn dismiss(&self, job: Uuid) -> Result<Value, Error> {
        self.store.fn_dead_letter_dismiss(&by(job, "chief", "reviewer", "dismiss")).await
    }

    pub(crate) async fn withdraw(&self, request: Uuid) -> Result<Value, Error> {
        self.store.fn_dlq_replay_withdraw(&by(request, "desk", "pic_human", "withdraw")).await
    }

    /// So many jobs that died at their first try.
    pub(crate) async fn dead(&self, prefix: &str, count: usize) -> Vec<Uuid> {
        let jobs: Vec<NewJob> = (0..count).map(|n| job(&format!("{prefix}{n}"))).collect();
        let ids = self.enqueue(&jobs).await.expect("jobs").iter().map(|j| j.job_id).collect();
        let leased = self.claim(i32::try_from(count).expect("few")).await;
        let results: Vec<JobResult> = leased
            .iter()
            .map(|job| result(job, JobOutcome::FailedForGood, json!({ "reason": "no such file" })))
            .collect();
        assert_eq!(self.ack(&results).await.accepted, count as u64);
        ids
    }

    pub(crate) async fn propose(
        &self,
        batch: Uuid,
        jobs: &[Uuid],
        stagger_ms: i32,
    ) -> Result<ReplayBatch, Error> {
        self.store.fn_dlq_replay_propose(&self.proposal(batch, jobs, stagger_ms)).await
    }

    /// A proposal of petra's.
    pub(crate) fn proposal(&self, batch: Uuid, jobs: &[Uuid], stagger_ms: i32) -> ReplayProposal {
        ReplayProposal {
            batch_id: batch,
            job_ids: jobs.to_vec(),
            reason: "the file is there now".to_owned(),
            stagger_ms,
            actor_class: "pic_human".to_owned(),
            principal: "petra".to_owned(),
            key_id: Some(self.key("petra")),
            signatures: Some(jobs.iter().map(|job| Self::signed_birth(batch, *job)).collect()),
        }
    }

    /// Petra's signature under the birth of one request of a batch.
    fn signed_birth(batch: Uuid, job: Uuid) -> Vec<u8> {
        let reason = "the file is there now";
        let statement = envelope::Move {
            run_kind: "dlq_replay",
            run_id: derived_uuid(batch, &job.to_string()),
            to: "submitted",
            principal: "petra",
            actor_class: "pic_human",
            trigger_kind: "rpc",
            trigger_ref: "dlq_replay_propose",
            evidence: &json!({ "job_id": job, "batch_id": batch, "reason": reason }),
            reason: Some(reason),
            idempotency_key: "propose",
            birth: Some(envelope::Birth { machine: "dlq_replay", data: &Value::Null }),
        };
        keys::sign("petra", &statement.statement())
    }

    /// A request of petra's for the approval of a batch.
    pub(crate) async fn ask_for(&self, batch: &ReplayBatch) -> Uuid {
        let mut ask = self.an_ask("dlq_replay", "low", &batch.batch_id.to_string()).await;
        let digest = &batch.subject_digest;
        let byte = |at| u8::from_str_radix(&digest[at..at + 2], 16).expect("a digest");
        ask.subject_digest = Some((0..digest.len()).step_by(2).map(byte).collect());
        self.sign_ask(&mut ask).await;
        self.ask(&ask).await.expect("a request");
        ask.approval_id
    }

    /// A batch that stands, with its approval by rita.
    pub(crate) async fn approved_batch(
        &self,
        jobs: &[Uuid],
        stagger_ms: i32,
    ) -> (ReplayBatch, Uuid) {
        let batch = self.propose(Uuid::now_v7(), jobs, stagger_ms).await.expect("a batch");
        let approval = self.ask_for(&batch).await;
        let report = self.votes(approval, "rita", "approve").await.expect("a vote");
        assert_eq!(report["state"], "approved", "{report}");
        (batch, approval)
    }

    pub(crate) async fn replay(&self, batch: Uuid, approval: Uuid) -> Result<ReplayBatch, Error> {
        self.store.fn_dlq_replay(batch, approval, "pic_human", "desk").await
    }
}

pub(crate) fn job(key: &str) -> NewJob {
    NewJob {
        class: "noop".to_owned(),
        kind: "test".to_owned(),
        key: key.to_owned(),
        ..NewJob::default()
    }
}

pub(crate) fn result(job: &LeasedJob, outcome: JobOutcome, detail: Value) -> JobResult {
    JobResult { job_id: job.job_id, lease_no: job.lease_no, outcome, detail }
}

pub(crate) fn done(job: &LeasedJob) -> JobResult {
    result(job, JobOutcome::Succeeded, json!({}))
}

pub(crate) fn failed(job: &LeasedJob, reason: &str) -> JobResult {
    result(job, JobOutcome::Failed, json!({ "reason": reason }))
}

pub(crate) fn by(id: Uuid, principal: &str, class: &str, key: &str) -> JobMove {
    JobMove {
        id,
        reason: "not needed any more".to_owned(),
        actor_class: class.to_owned(),
        principal: principal.to_owned(),
        idempotency_key: key.to_owned(),
        signed: None,
    }
}
