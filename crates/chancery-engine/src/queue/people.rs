//! What people do to jobs: ask for one, take one back, set a dead letter aside, propose to run one again.
//!
//! A person's move is signed here over exactly what the door writes into the log; whether it is allowed is the database's to say.

use std::time::Duration;

use chancery_model::cutter::derived_uuid;
use chancery_model::envelope::{Birth, Move, Statement};
use chancery_store::Store;
use chancery_store::approval::ApprovalReport;
use chancery_store::queue::{Enqueued, JobMove, NewJob, ReplayBatch, ReplayProposal};
use serde::Serialize;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::Error;
use crate::approval::{self, NewRequest};
use crate::identity::acting_class;
use crate::run::Actor;

/// Classes that may ask for a job.
pub const ENQUEUING_CLASSES: [&str; 5] =
    ["pic_human", "escalation_handler", "executor_worker", "mow_orchestrator", "system"];
/// Classes that may take a job back, or a proposal.
pub const CANCELLING_CLASSES: [&str; 4] =
    ["pic_human", "reviewer", "sovereign", "escalation_handler"];
/// Classes that may set a dead letter aside.
pub const DISMISSING_CLASSES: [&str; 2] = ["reviewer", "sovereign"];
/// Classes that may propose a replay, and run it once it is approved.
pub const PROPOSING_CLASSES: [&str; 5] =
    ["pic_human", "reviewer", "sovereign", "escalation_handler", "executor_worker"];

/// The key of a job that nobody named: a new one, so that it is a job of its own.
pub fn key_or_new(key: Option<String>) -> String {
    key.unwrap_or_else(|| Uuid::now_v7().to_string())
}

/// The first class that the principal holds and that may ask for a job. Which one it is makes no difference to the job.
///
/// # Errors
/// When there is no answer.
pub async fn enqueuing_class(store: &Store, principal: &str) -> Result<Option<String>, Error> {
    let principals = store.principals().await?;
    let held = principals.iter().find(|p| p.name == principal).map(|p| &p.actor_classes);
    let mut fitting = ENQUEUING_CLASSES.iter().map(|class| (*class).to_owned());
    Ok(held.and_then(|held| fitting.find(|class| held.contains(class))))
}

/// Puts jobs into the queue, all or none.
///
/// # Errors
/// The database's refusal.
pub async fn enqueue(
    store: &Store,
    actor: &Actor,
    actor_class: &str,
    jobs: &[NewJob],
) -> Result<Vec<Enqueued>, Error> {
    Ok(store.fn_job_enqueue(jobs, &actor.principal, actor_class).await?)
}

/// Which move a person makes, and under which key when none is given: each is made once.
struct Act {
    run_kind: &'static str,
    to: &'static str,
    trigger: &'static str,
    key: &'static str,
}

const CANCEL: Act = Act { run_kind: "job", to: "cancelled", trigger: "job_cancel", key: "cancel" };
const DISMISS: Act = Act { run_kind: "job", to: "cleaned", trigger: "job_dismiss", key: "dismiss" };
const WITHDRAW: Act = Act {
    run_kind: "dlq_replay",
    to: "withdrawn",
    trigger: "dlq_replay_withdraw",
    key: "withdraw",
};

impl Act {
    fn signed(
        &self,
        actor: &Actor,
        actor_class: &str,
        id: Uuid,
        reason: &str,
    ) -> Result<JobMove, Error> {
        let statement = Move {
            run_kind: self.run_kind,
            run_id: id,
            to: self.to,
            principal: &actor.principal,
            actor_class,
            trigger_kind: "rpc",
            trigger_ref: self.trigger,
            evidence: &json!({ "reason": reason }),
            reason: Some(reason),
            idempotency_key: self.key,
            birth: None,
        }
        .statement();
        Ok(JobMove {
            id,
            reason: reason.to_owned(),
            actor_class: actor_class.to_owned(),
            principal: actor.principal.clone(),
            idempotency_key: self.key.to_owned(),
            signed: actor.sign_statement(&statement)?,
        })
    }
}

/// Takes a job back before it is done. A worker that has it finds its result refused.
///
/// # Errors
/// The database's refusal.
pub async fn cancel(
    store: &Store,
    actor: &Actor,
    actor_class: &str,
    job_id: Uuid,
    reason: &str,
) -> Result<Value, Error> {
    Ok(store.fn_job_cancel(&CANCEL.signed(actor, actor_class, job_id, reason)?).await?)
}

/// Sets a dead letter aside without a replay.
///
/// # Errors
/// The database's refusal.
pub async fn dismiss(
    store: &Store,
    actor: &Actor,
    actor_class: &str,
    job_id: Uuid,
    reason: &str,
) -> Result<Value, Error> {
    Ok(store.fn_dead_letter_dismiss(&DISMISS.signed(actor, actor_class, job_id, reason)?).await?)
}

/// Takes a proposal back; the dead letter is free for another one.
///
/// # Errors
/// The database's refusal.
pub async fn withdraw(
    store: &Store,
    actor: &Actor,
    actor_class: &str,
    request_id: Uuid,
    reason: &str,
) -> Result<Value, Error> {
    let withdraw = WITHDRAW.signed(actor, actor_class, request_id, reason)?;
    Ok(store.fn_dlq_replay_withdraw(&withdraw).await?)
}

/// Dead jobs that are to run again.
#[derive(Debug, Clone)]
pub struct Proposal {
    /// The same id with the same proposal is the same batch.
    pub batch_id: Option<Uuid>,
    pub job_ids: Vec<Uuid>,
    pub reason: String,
    /// Milliseconds from one to the next.
    pub stagger_ms: i32,
    /// How long the approval can be given.
    pub expires_in: Duration,
}

/// A batch that stands, and the request that somebody else votes on.
#[derive(Debug, Clone, Serialize)]
pub struct Proposed {
    #[serde(flatten)]
    pub batch: ReplayBatch,
    pub approval: ApprovalReport,
}

/// The approval that is asked for with a batch: one a batch, so that a repeated proposal asks once.
pub fn approval_of(batch_id: Uuid) -> Uuid {
    derived_uuid(batch_id, "approval")
}

/// What a replay would run, and what stands against it. Changes nothing.
///
/// # Errors
/// When there is no answer.
pub async fn preview(
    store: &Store,
    job_ids: &[Uuid],
    stagger_ms: i32,
) -> Result<Vec<Value>, Error> {
    // The ids that a batch would give its requests are not known before it has one.
    let mut plan = store.fn_dlq_replay_preview(Uuid::nil(), job_ids, stagger_ms).await?;
    for one in plan.iter_mut().filter_map(Value::as_object_mut) {
        one.remove("dlq_replay_request_id");
        one.remove("replay_key");
    }
    Ok(plan)
}

/// Proposes to run dead jobs again and asks for the approval that it needs.
///
/// # Errors
/// The database's refusal.
pub async fn propose(
    store: &Store,
    actor: &Actor,
    actor_class: &str,
    proposal: &Proposal,
) -> Result<Proposed, Error> {
    let batch_id = proposal.batch_id.unwrap_or_else(Uuid::now_v7);
    let mut request = NewRequest {
        approval_id: Some(approval_of(batch_id)),
        kind: "dlq_replay".to_owned(),
        subject_ref: batch_id.to_string(),
        subject_digest: None,
        risk: None,
        title: match proposal.job_ids.as_slice() {
            [one] => format!("Run the dead job {one} again"),
            several => format!("Run {} dead jobs again", several.len()),
        },
        facts: json!({
            "jobs": proposal.job_ids, "reason": proposal.reason, "stagger_ms": proposal.stagger_ms,
        }),
        expires_in: proposal.expires_in,
    };
    // The batch is kept before the approval is asked for, so whatever would be refused of that is refused first.
    approval::is_acceptable(store, actor, actor_class, &request).await?;
    let births = proposal
        .job_ids
        .iter()
        .map(|job_id| birth_of(actor, actor_class, batch_id, *job_id, &proposal.reason));
    let signatures = actor.sign_statements(births)?;
    let signatures: Option<Vec<Vec<u8>>> =
        signatures.into_iter().map(|signed| Some(signed?.signature)).collect();
    let batch = store
        .fn_dlq_replay_propose(&ReplayProposal {
            batch_id,
            job_ids: proposal.job_ids.clone(),
            reason: proposal.reason.clone(),
            stagger_ms: proposal.stagger_ms,
            actor_class: actor_class.to_owned(),
            principal: actor.principal.clone(),
            key_id: actor.key_id(),
            signatures: signatures.filter(|_| actor.key_id().is_some()),
        })
        .await;
    let batch = actor.past_rehearsal(batch)?;
    request.subject_digest =
        batch.as_ref().ok().and_then(|batch| hex::decode(&batch.subject_digest).ok());
    let approval = approval::request(store, actor, actor_class, &request).await?;
    Ok(Proposed { batch: batch?, approval })
}

/// What is signed for the birth of one request of a batch.
fn birth_of(
    actor: &Actor,
    actor_class: &str,
    batch_id: Uuid,
    job_id: Uuid,
    reason: &str,
) -> Statement {
    let evidence = json!({ "job_id": job_id, "batch_id": batch_id, "reason": reason });
    Move {
        run_kind: "dlq_replay",
        run_id: derived_uuid(batch_id, &job_id.to_string()),
        to: "submitted",
        principal: &actor.principal,
        actor_class,
        trigger_kind: "rpc",
        trigger_ref: "dlq_replay_propose",
        evidence: &evidence,
        reason: Some(reason),
        idempotency_key: "propose",
        birth: Some(Birth { machine: "dlq_replay", data: &Value::Null }),
    }
    .statement()
}

/// Runs an approved batch. Doing it again gives what is there.
///
/// # Errors
/// The database's refusal.
pub async fn run(
    store: &Store,
    actor: &Actor,
    actor_class: &str,
    batch_id: Uuid,
    approval_id: Uuid,
) -> Result<ReplayBatch, Error> {
    Ok(store.fn_dlq_replay(batch_id, approval_id, actor_class, &actor.principal).await?)
}

/// The class in which somebody freezes and thaws workers: of those that may, the one that they hold.
///
/// # Errors
/// `Ambiguous` when they hold several, or when there is no answer.
pub async fn freezing_class(store: &Store, principal: &str) -> Result<String, Error> {
    let able = store.classes_that_may("problems.settle").await?;
    let able: Vec<&str> = able.iter().map(String::as_str).collect();
    acting_class(store, principal, &able).await
}
