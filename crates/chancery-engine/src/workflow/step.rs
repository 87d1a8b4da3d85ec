//! What a person says about a step or task.

use chancery_model::canonical;
use chancery_model::refusal::Code;
use chancery_store::Store;
use chancery_store::fsm::MoveReport;
use chancery_store::workflow::{
    Extended, Lease, Noted, Resolved, Severity, WorkCall, WorkReport, WorkRow,
};
use rand::RngCore as _;
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use super::act::{Said, Statement, class_of, key_of, target};
use crate::Error;
use crate::cutter::refused;
use crate::run::Actor;

/// How a step or task is named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// By its own id.
    Id(Uuid),
    /// By its run and its key there: `STEP`, or `STEP/TASK`.
    At(Uuid, String),
}

/// What a person says. Each is a call that the machine names.
#[derive(Debug, Clone, PartialEq)]
pub enum Verb {
    Claim,
    Release,
    /// Evidence of [`wait_evidence`].
    Wait(Value),
    /// With a reason of the vocabulary.
    Block(String),
    /// With what removed the blocker.
    Unblock(String),
    /// Take an overdue one up again.
    Reengage,
    /// With a reference to what was declared.
    CannotComplete(String),
    /// Hand a failure up.
    Escalate,
    /// With the approval of somebody else.
    Cancel(Uuid),
    /// With the approval of somebody else and a reason of the vocabulary.
    Reopen(Uuid, String),
}

impl Verb {
    /// The trigger that the machine names: most carry the name of what they are about.
    fn call(&self, run_kind: &str) -> String {
        match self {
            Self::Claim => format!("{run_kind}_claim"),
            Self::Release => format!("{run_kind}_release"),
            Self::Wait(_) => format!("{run_kind}_wait"),
            Self::Block(_) => format!("{run_kind}_block"),
            Self::Unblock(_) => "blocker_resolved".to_owned(),
            Self::Reengage => format!("{run_kind}_reengage"),
            Self::CannotComplete(_) => "declare_cannot_complete".to_owned(),
            Self::Escalate => "escalate".to_owned(),
            Self::Cancel(_) => format!("{run_kind}_cancel"),
            Self::Reopen(..) => format!("{run_kind}_reopen_for_correction"),
        }
    }

    fn facts(&self) -> Value {
        match self {
            Self::Claim | Self::Release | Self::Reengage | Self::Escalate => json!({}),
            Self::Wait(evidence) => evidence.clone(),
            Self::Block(reason) => json!({ "block_reason": reason }),
            Self::Unblock(reference) => json!({ "resolution_ref": reference }),
            Self::CannotComplete(reference) => json!({ "declaration_ref": reference }),
            Self::Cancel(approval_id) => json!({ "approval_id": approval_id }),
            Self::Reopen(approval_id, reason) => {
                json!({ "approval_id": approval_id, "correction_reason": reason })
            }
        }
    }
}

/// One thing to wait for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WaitFor {
    /// A time, RFC 3339.
    Until(String),
    /// Another step of the run, by its key.
    Step(String),
    /// Somebody by name, or whoever it is.
    Person(String),
    /// A decision, by its id; the kind says of what, such as `approval`.
    Decision { kind: String, of: String },
    /// A call from outside, by the SHA-256 of its token.
    Call { token_sha256: String },
}

/// The evidence of a wait: every facet, and what each waits for.
pub fn wait_evidence(waits: &[WaitFor]) -> Value {
    let waits: Vec<Value> = waits
        .iter()
        .map(|wait| match wait {
            WaitFor::Until(until) => json!({ "facet": "waiting_time_gate", "until": until }),
            WaitFor::Step(step) => json!({ "facet": "waiting_dependency", "step": step }),
            WaitFor::Person(of) => json!({ "facet": "waiting_human", "of": of }),
            WaitFor::Decision { kind, of } => {
                json!({ "facet": "waiting_human", "subject_kind": kind, "of": of })
            }
            WaitFor::Call { token_sha256 } => {
                json!({ "facet": "waiting_external", "token_sha256": token_sha256 })
            }
        })
        .collect();
    let facets: Vec<&Value> = waits.iter().map(|wait| &wait["facet"]).collect();
    json!({ "facets": facets, "waits": waits })
}

/// A token for a call from outside, and its SHA-256. The token is told to who shall call, once; the database knows the other.
pub fn callback_token() -> (String, String) {
    let mut bytes = [0_u8; 32];
    rand::rngs::OsRng.fill_bytes(&mut bytes);
    let token = hex::encode(bytes);
    let digest = hex::encode(Sha256::digest(token.as_bytes()));
    (token, digest)
}

/// The step or task that is meant.
///
/// # Errors
/// RW001 when there is none.
pub async fn find(store: &Store, step: &Step) -> Result<WorkRow, Error> {
    let found = match step {
        Step::Id(id) => store.work(*id).await?,
        Step::At(run, path) => store.work_at(*run, path).await?,
    };
    if let Some(found) = found {
        return Ok(found);
    }
    let facts = match step {
        Step::Id(id) => json!({ "kind": "step", "id": id }),
        Step::At(run, path) => {
            let keys: Vec<String> = match store.workflow_run(*run).await? {
                None => Vec::new(),
                Some(_) => {
                    let steps = store.workflow_steps(*run).await?;
                    steps.into_iter().take(50).map(|step| step.path).collect()
                }
            };
            let kind = if keys.is_empty() { "workflow_run" } else { "step" };
            json!({ "kind": kind, "id": run, "key": path, "there_are": keys })
        }
    };
    Err(refused(store, Code::RW001, facts).await)
}

/// Says something about a step or task.
///
/// # Errors
/// The database's refusal, or a class that only the caller can choose.
pub async fn act(
    store: &Store,
    actor: &Actor,
    said: &Said,
    work: &WorkRow,
    verb: &Verb,
) -> Result<MoveReport, Error> {
    let call = verb.call(&work.run_kind);
    let evidence = said.evidence(actor, verb.facts());
    say(store, actor, said, work, &call, &evidence, None).await
}

/// Completes a step or task with its output.
///
/// # Errors
/// The database's refusal, or a class that only the caller can choose.
pub async fn complete(
    store: &Store,
    actor: &Actor,
    said: &Said,
    work: &WorkRow,
    output: &Value,
) -> Result<MoveReport, Error> {
    let facts = json!({ "output_sha256": hex::encode(canonical::sha256(output)) });
    let evidence = said.evidence(actor, facts);
    let call = format!("{}_complete", work.run_kind);
    say(store, actor, said, work, &call, &evidence, Some(output)).await
}

/// Makes a call that the machine names, with evidence as it was given. The digest of an output is put beside it, and who says it
/// stands behind it where nothing else does.
///
/// # Errors
/// The database's refusal, or a class that only the caller can choose.
pub async fn call(
    store: &Store,
    actor: &Actor,
    said: &Said,
    work: &WorkRow,
    call: &str,
    evidence: &Map<String, Value>,
    document: Option<&Value>,
) -> Result<MoveReport, Error> {
    let mut facts = evidence.clone();
    if let Some(document) = document {
        let digest = || hex::encode(canonical::sha256(document)).into();
        facts.entry("output_sha256").or_insert_with(digest);
    }
    let given = facts.get("audit_ref").and_then(Value::as_str).map(str::to_owned);
    let said = Said { audit_ref: said.audit_ref.clone().or(given), ..said.clone() };
    let evidence = said.evidence(actor, Value::Object(facts));
    say(store, actor, &said, work, call, &evidence, document).await
}

async fn say(
    store: &Store,
    actor: &Actor,
    said: &Said,
    work: &WorkRow,
    call: &str,
    evidence: &Value,
    document: Option<&Value>,
) -> Result<MoveReport, Error> {
    let ways = store.workflow_ways(&work.state_machine_id, call, &work.state_code).await?;
    let class = class_of(store, actor, said, &ways, Some(&work.state_code)).await?;
    let (to, trigger_kind) = target(&ways, &work.state_code, &class);
    let key = key_of(store, actor, said, work.run_id, call, work.seq, evidence).await?;
    let reason = said.reason.as_deref();
    let signed = Statement {
        run_kind: &work.run_kind,
        run_id: work.run_id,
        to,
        class: &class,
        trigger: (trigger_kind, call),
        evidence,
        reason,
        key: &key,
        born_as: None,
    }
    .signed_by(actor)?;
    let call = WorkCall {
        run_kind: &work.run_kind,
        run_id: work.run_id,
        call,
        evidence,
        document,
        principal: &actor.principal,
        actor_class: &class,
        idempotency_key: &key,
        reason,
        signed,
    };
    Ok(store.fn_work_move(&call).await?)
}

/// Classes of people who decide about deadlines and blocks, and give what is waited for; the door has the same.
const DECIDING: [&str; 5] =
    ["pic_human", "task_pic_human", "reviewer", "escalation_handler", "sovereign"];

async fn deciding_class(store: &Store, actor: &Actor, said: &Said) -> Result<String, Error> {
    if let Some(class) = &said.class {
        return Ok(class.clone());
    }
    let principals = store.principals().await?;
    let held = principals.iter().find(|p| p.name == actor.principal).map(|p| &p.actor_classes);
    let fits = |class: &&str| held.is_some_and(|held| held.iter().any(|one| one == class));
    // Which of them it is makes no difference to what is decided.
    let first = DECIDING.into_iter().find(fits).map(str::to_owned);
    Ok(first.or_else(|| held.and_then(|held| held.first().cloned())).unwrap_or_default())
}

/// Gives a step or task what it waits for from a person. Without a wait named, the only one that is open.
///
/// # Errors
/// The database's refusal, or several waits of which only the caller can choose.
pub async fn give(
    store: &Store,
    actor: &Actor,
    said: &Said,
    work: &WorkRow,
    wait: Option<Uuid>,
    proof: &Value,
) -> Result<Resolved, Error> {
    let wait = match wait {
        Some(wait) => wait,
        None => {
            let waits = store.work_waits(work.run_id).await?;
            let mut of_people = waits.iter().filter(|wait| wait.facet == "waiting_human");
            let open: Vec<_> =
                of_people.clone().filter(|wait| wait.resolved_at.is_none()).collect();
            match open.as_slice() {
                [only] => only.wait_id,
                // Said again, it is answered again; of nothing at all the door says so.
                [] => of_people.next_back().map_or_else(Uuid::nil, |wait| wait.wait_id),
                several => {
                    let ids: Vec<String> = several
                        .iter()
                        .map(|wait| {
                            let of = wait.subject_ref.as_deref().unwrap_or_default();
                            format!("{} (of {of})", wait.wait_id)
                        })
                        .collect();
                    return Err(Error::Ambiguous(format!(
                        "{} waits for several things; choose one with --wait: {}",
                        work.path,
                        ids.join(", ")
                    )));
                }
            }
        }
    };
    answer(store, actor, said, wait, proof).await
}

/// Gives what one wait is for.
///
/// # Errors
/// The database's refusal.
pub async fn answer(
    store: &Store,
    actor: &Actor,
    said: &Said,
    wait: Uuid,
    proof: &Value,
) -> Result<Resolved, Error> {
    let class = deciding_class(store, actor, said).await?;
    Ok(store.fn_wait_resolve(wait, proof, &actor.principal, &class).await?)
}

/// Moves a deadline to a later time, RFC 3339.
///
/// # Errors
/// The database's refusal.
pub async fn extend(
    store: &Store,
    actor: &Actor,
    said: &Said,
    work: &WorkRow,
    until: &str,
) -> Result<Extended, Error> {
    let class = deciding_class(store, actor, said).await?;
    let key = said.key.clone().unwrap_or_else(|| format!("extend:{until}"));
    let none = Value::Null;
    Ok(store.fn_work_extend(&decision(actor, said, work, &class, &key, &none), until).await?)
}

/// Says that a block is worse than it looks.
///
/// # Errors
/// The database's refusal; RW017 when it needs an approval.
pub async fn escalate_block(
    store: &Store,
    actor: &Actor,
    said: &Said,
    work: &WorkRow,
    approval_id: Option<Uuid>,
) -> Result<Severity, Error> {
    let class = deciding_class(store, actor, said).await?;
    let key = said.key.clone().unwrap_or_else(|| format!("escalate:{}", work.seq));
    let none = Value::Null;
    let call = decision(actor, said, work, &class, &key, &none);
    Ok(store.fn_step_block_escalate(&call, approval_id).await?)
}

/// Notes how far somebody has come with a step or task: what to go on from.
///
/// # Errors
/// The database's refusal.
pub async fn checkpoint(
    store: &Store,
    actor: &Actor,
    said: &Said,
    work: &WorkRow,
    facts: &Value,
) -> Result<Noted, Error> {
    let class = deciding_class(store, actor, said).await?;
    let key = note_key(said, &json!(["checkpoint", said.reason, facts]));
    Ok(store.fn_task_checkpoint(&decision(actor, said, work, &class, &key, facts)).await?)
}

/// Says something about a step or task, in the words of the reason.
///
/// # Errors
/// The database's refusal.
pub async fn comment(
    store: &Store,
    actor: &Actor,
    said: &Said,
    work: &WorkRow,
) -> Result<Noted, Error> {
    let class = deciding_class(store, actor, said).await?;
    let key = note_key(said, &json!(["comment", said.reason]));
    let none = Value::Null;
    Ok(store.fn_task_comment(&decision(actor, said, work, &class, &key, &none)).await?)
}

/// The same words again are the same note, unless a key says otherwise.
fn note_key(said: &Said, note: &Value) -> String {
    said.key.clone().unwrap_or_else(|| hex::encode(canonical::sha256(note)))
}

fn decision<'a>(
    actor: &'a Actor,
    said: &'a Said,
    work: &'a WorkRow,
    class: &'a str,
    key: &'a str,
    evidence: &'a Value,
) -> WorkCall<'a> {
    WorkCall {
        run_kind: &work.run_kind,
        run_id: work.run_id,
        call: "",
        evidence,
        document: None,
        principal: &actor.principal,
        actor_class: class,
        idempotency_key: key,
        reason: said.reason.as_deref(),
        signed: None,
    }
}

/// What an executor that is no worker of ours says of a try that failed.
#[derive(Debug, Clone)]
pub struct Failed {
    pub job_id: Uuid,
    pub lease_no: i32,
    pub worker: String,
    /// One of the registry.
    pub failure_class: String,
    /// `transient` or `permanent`.
    pub classification: String,
}

/// Reports that a try failed, under the lease of its job.
///
/// # Errors
/// The database's refusal; RE010 when the lease is lost.
pub async fn fail(
    store: &Store,
    actor: &Actor,
    said: &Said,
    failed: &Failed,
) -> Result<MoveReport, Error> {
    let mut facts = json!({
        "classification": failed.classification, "failure_class": failed.failure_class,
    });
    if let Some(reason) = &said.reason {
        facts["reason"] = json!(reason);
    }
    let evidence = said.evidence(actor, facts);
    let lease = Lease {
        job_id: failed.job_id,
        lease_no: failed.lease_no,
        worker: &failed.worker,
        principal: &actor.principal,
    };
    let report = WorkReport { call: "executor_failure", evidence: &evidence, document: None };
    Ok(store.fn_work_report(lease, &report).await?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_names_every_facet_and_what_it_waits_for() {
        let evidence = wait_evidence(&[
            WaitFor::Person("bob".to_owned()),
            WaitFor::Until("2030-01-01T00:00:00Z".to_owned()),
        ]);
        assert_eq!(evidence["facets"], json!(["waiting_human", "waiting_time_gate"]));
        assert_eq!(evidence["waits"][0], json!({ "facet": "waiting_human", "of": "bob" }));
        assert_eq!(wait_evidence(&[])["waits"], json!([]), "the door says what is missing");
    }

    #[test]
    fn a_token_is_unguessable_and_its_digest_is_not_it() {
        let (token, digest) = callback_token();
        assert_eq!((token.len(), digest.len()), (64, 64));
        assert_ne!(token, digest);
        assert_ne!(callback_token().0, token);
    }

    #[test]
    fn a_call_carries_the_name_of_what_it_is_about() {
        assert_eq!(Verb::Claim.call("task"), "task_claim");
        assert_eq!(Verb::Unblock("r".to_owned()).call("task"), "blocker_resolved");
        assert_eq!(Verb::Escalate.call("step"), "escalate");
    }
}
