//! What a person does to a finding, signed with the person's key.

use chancery_model::envelope::Move;
use chancery_store::Store;
use chancery_store::governance::{IssueAnswer, IssueReport};
use serde_json::json;
use uuid::Uuid;

use crate::Error;
use crate::run::Actor;

const RUN_KIND: &str = "finding";

/// What a person says about a finding.
#[derive(Debug, Clone)]
pub struct Answer<'a> {
    pub issue_id: Uuid,
    /// What is being done about it, or why it is settled.
    pub reason: &'a str,
    /// The class the person acts in.
    pub actor_class: &'a str,
    /// By default an answer of a kind is given once.
    pub idempotency_key: Option<&'a str>,
}

/// Takes a finding up.
///
/// # Errors
/// The database's refusal.
pub async fn acknowledge(
    store: &Store,
    actor: &Actor,
    answer: &Answer<'_>,
) -> Result<IssueReport, Error> {
    let key = answer.idempotency_key.unwrap_or("acknowledge");
    Ok(store
        .fn_issue_acknowledge(&signed(actor, answer, "acknowledged", "issue_acknowledge", key)?)
        .await?)
}

/// Settles a finding.
///
/// # Errors
/// The database's refusal.
pub async fn resolve(
    store: &Store,
    actor: &Actor,
    answer: &Answer<'_>,
) -> Result<IssueReport, Error> {
    let key = answer.idempotency_key.unwrap_or("resolve");
    Ok(store.fn_issue_resolve(&signed(actor, answer, "resolved", "issue_resolve", key)?).await?)
}

/// The move that the door makes of the answer, with the person's signature under it.
fn signed<'a>(
    actor: &'a Actor,
    answer: &'a Answer<'a>,
    to: &str,
    trigger_ref: &str,
    idempotency_key: &'a str,
) -> Result<IssueAnswer<'a>, Error> {
    let statement = Move {
        run_kind: RUN_KIND,
        run_id: answer.issue_id,
        to,
        principal: &actor.principal,
        actor_class: answer.actor_class,
        trigger_kind: "rpc",
        trigger_ref,
        evidence: &json!({ "reason": answer.reason }),
        reason: Some(answer.reason),
        idempotency_key,
        birth: None,
    }
    .statement();
    Ok(IssueAnswer {
        issue_id: answer.issue_id,
        reason: answer.reason,
        principal: &actor.principal,
        actor_class: answer.actor_class,
        idempotency_key,
        signed: actor.sign_statement(&statement)?,
    })
}
