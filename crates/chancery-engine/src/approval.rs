//! Approvals: ask for one, vote on it, use it.
//!
//! What is signed is built here from the rows; the database builds it again from what it stores and refuses what differs. Who may
//! vote, what a vote counts for and when a request stands is the database's to say.

use std::time::Duration;

use chancery_model::approval::{self as text, request_payload, vote_payload};
use chancery_model::envelope::Statement;
use chancery_model::refusal::Code;
use chancery_store::Store;
use chancery_store::approval::{
    ApprovalReport, ApprovalRow, Quorum, Request, Tally, Vote, VoteRow,
};
use chancery_store::fsm::{Activated, Signed};
use serde::Serialize;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::Error;
use crate::cutter::refused;
use crate::run::{Actor, signed_by_nobody};

/// Classes whose votes have a part in a quorum.
pub const VOTING_CLASSES: [&str; 3] = ["sovereign", "reviewer", "review_authority"];

/// What is to be approved.
#[derive(Debug, Clone)]
pub struct NewRequest {
    /// The same id with the same request is the same request.
    pub approval_id: Option<Uuid>,
    pub kind: String,
    pub subject_ref: String,
    /// Pins the subject as it is now; a transition's is looked up.
    pub subject_digest: Option<Vec<u8>>,
    /// The least that its kind allows, when it is left out.
    pub risk: Option<String>,
    pub title: String,
    /// An object.
    pub facts: Value,
    pub expires_in: Duration,
}

/// What a voter says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    Approve,
    Reject,
    /// Heard, and neither for nor against it.
    Abstain,
}

impl Decision {
    /// The word of the database.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Approve => "approve",
            Self::Reject => "reject",
            Self::Abstain => "abstain",
        }
    }
}

/// What a quorum still lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Missing {
    pub sovereigns: i64,
    pub reviewers: i64,
    /// Approving votes of anybody, the above included.
    pub approvals: i64,
}

impl Missing {
    pub fn of(quorum: &Quorum, tally: &Tally) -> Self {
        Self {
            sovereigns: (quorum.sovereigns - tally.sovereigns).max(0),
            reviewers: (quorum.reviewers - tally.reviewers).max(0),
            approvals: (quorum.approvals - tally.approvals).max(0),
        }
    }
}

/// A request with its votes.
#[derive(Debug, Clone, Serialize)]
pub struct Shown {
    #[serde(flatten)]
    pub approval: ApprovalRow,
    pub missing: Missing,
    pub votes: Vec<VoteRow>,
}

/// Asks for an approval.
///
/// # Errors
/// The database's refusal; RA001 also for facts that it could not keep.
pub async fn request(
    store: &Store,
    actor: &Actor,
    actor_class: &str,
    new: &NewRequest,
) -> Result<ApprovalReport, Error> {
    let request = signed_request(store, actor, actor_class, new).await?;
    Ok(store.fn_approval_request(&request).await?)
}

/// A request, signed, that was not sent yet: who also signs something else is asked for both at once.
///
/// # Errors
/// As [`request`], but for the database's own.
pub(crate) async fn signed_request(
    store: &Store,
    actor: &Actor,
    actor_class: &str,
    new: &NewRequest,
) -> Result<Request, Error> {
    let mut request = unsigned_request(store, actor, actor_class, new).await?;
    if request.signed.is_none() {
        request.signed = actor.sign_statement(&Statement::approval(request.payload.clone()))?;
    }
    Ok(request)
}

/// Refuses what [`request`] would refuse, without asking for anything: who does something else before they ask learns so before they did it.
/// The database judges the request under a signature that holds for nothing.
///
/// # Errors
/// As [`request`], but for its signature.
pub(crate) async fn is_acceptable(
    store: &Store,
    actor: &Actor,
    actor_class: &str,
    new: &NewRequest,
) -> Result<(), Error> {
    let mut request = unsigned_request(store, actor, actor_class, new).await?;
    request.signed = Some(signed_by_nobody(actor.key_id().unwrap_or_default()));
    match store.fn_approval_request(&request).await {
        Err(error) if error.refusal().is_none_or(|it| it.code != Code::RI051) => Err(error.into()),
        Ok(_) | Err(_) => Ok(()),
    }
}

/// A request as it is to be signed; signed where the same was asked for before.
async fn unsigned_request(
    store: &Store,
    actor: &Actor,
    actor_class: &str,
    new: &NewRequest,
) -> Result<Request, Error> {
    if has_nul(&new.facts) {
        let facts =
            json!({ "kind": new.kind, "reason": "a text in the facts has a NUL character" });
        return Err(refused(store, Code::RA001, facts).await);
    }
    let kinds = store.approval_kinds().await?;
    let kind = kinds.iter().find(|kind| kind.kind == new.kind);
    // Of a kind that nobody knows there is nothing to fill in; the door says which there are.
    let subject_kind = kind.map(|kind| kind.subject_kind.clone()).unwrap_or_default();
    let risk = new.risk.clone().or_else(|| kind.map(|kind| kind.risk.clone())).unwrap_or_default();
    let subject_digest = match &new.subject_digest {
        None if subject_kind == "transition" => definition_of(store, &new.subject_ref).await?,
        given => given.clone(),
    };
    let approval_id = new.approval_id.unwrap_or_else(|| actor.new_id("approval"));
    let signed_at = actor.signing_time();
    let ttl = i64::try_from(new.expires_in.as_micros()).unwrap_or(i64::MAX);
    let mut request = Request {
        approval_id,
        kind: new.kind.clone(),
        subject_ref: new.subject_ref.clone(),
        subject_digest,
        risk,
        title: new.title.clone(),
        facts: new.facts.clone(),
        expires_at: signed_at.saturating_add(ttl),
        principal: actor.principal.clone(),
        actor_class: actor_class.to_owned(),
        signed_at,
        payload: String::new(),
        signed: None,
    };
    if new.approval_id.is_some()
        && let Some(same) = as_asked_before(store, &request, &subject_kind).await?
    {
        return Ok(same);
    }
    let key_id = actor.key_id().unwrap_or_default();
    request.payload = payload_of(&request, &subject_kind, key_id);
    Ok(request)
}

fn payload_of(request: &Request, subject_kind: &str, key_id: Uuid) -> String {
    request_payload(&text::Request {
        approval_id: request.approval_id,
        kind: &request.kind,
        subject_kind,
        subject_ref: &request.subject_ref,
        subject_digest: request.subject_digest.as_deref(),
        risk: &request.risk,
        title: &request.title,
        facts: &request.facts,
        expires_at: request.expires_at,
        principal: &request.principal,
        key_id,
        signed_at: request.signed_at,
    })
}

/// The request as it was signed when its id was first used, if it says the same but for its times.
async fn as_asked_before(
    store: &Store,
    request: &Request,
    subject_kind: &str,
) -> Result<Option<Request>, Error> {
    let Some(row) = store.approval_request_row(request.approval_id).await? else { return Ok(None) };
    let key_id = row.uuid("key_id").unwrap_or_default();
    let mut same = request.clone();
    same.expires_at = row.number("expires_at").unwrap_or_default();
    same.signed_at = row.number("signed_at").unwrap_or_default();
    same.payload = payload_of(&same, subject_kind, key_id);
    let signature = row.bytes("signature").unwrap_or_default();
    same.signed = Some(Signed { key_id, signature });
    Ok((same.payload == row.text("request_payload")).then_some(same))
}

/// The digest of the definition that a transition is part of.
async fn definition_of(store: &Store, transition_id: &str) -> Result<Option<Vec<u8>>, Error> {
    let machine = transition_id.split('#').next().unwrap_or_default();
    let machines = store.machines().await?;
    let found = machines.iter().find(|known| known.state_machine_id == machine);
    Ok(found.and_then(|known| hex::decode(&known.definition_sha256).ok()))
}

/// Votes on a request. A vote that says again what the voter's newest one says changes nothing.
///
/// # Errors
/// The database's refusal.
pub async fn vote(
    store: &Store,
    actor: &Actor,
    actor_class: &str,
    approval_id: Uuid,
    decision: Decision,
    rationale: Option<&str>,
) -> Result<ApprovalReport, Error> {
    let row = store.approval_request_row(approval_id).await?;
    // Computed from the columns that the voter was shown, never taken from the row: a vote on a row that was tampered with is
    // refused by the database. Of a request that is not there, the door says so.
    let request_digest = row.and_then(|row| row.digest()).unwrap_or_default();
    let cast = |vote_id, key_id, signed_at| {
        vote_payload(&text::Vote {
            vote_id,
            approval_id,
            request_digest: &request_digest,
            decision: decision.as_str(),
            rationale,
            principal: &actor.principal,
            actor_class,
            key_id,
            signed_at,
        })
    };
    let mut vote = Vote {
        vote_id: actor.new_id("vote"),
        approval_id,
        decision: decision.as_str().to_owned(),
        rationale: rationale.map(str::to_owned),
        principal: actor.principal.clone(),
        actor_class: actor_class.to_owned(),
        signed_at: actor.signing_time(),
        payload: String::new(),
        signed: None,
    };
    let votes = store.votes(approval_id).await?;
    let newest = votes.iter().find(|vote| vote.voter == actor.principal && vote.counts);
    if let Some(newest) = newest
        && cast(newest.vote_id, newest.key_id, newest.signed_at_micros) == newest.vote_payload
        // With a key that is revoked it does not count any more: who says the same again votes anew.
        && !is_revoked(store, newest.key_id).await?
    {
        vote.vote_id = newest.vote_id;
        vote.signed_at = newest.signed_at_micros;
        vote.payload.clone_from(&newest.vote_payload);
        let signature = hex::decode(&newest.signature).unwrap_or_default();
        vote.signed = Some(Signed { key_id: newest.key_id, signature });
    } else {
        let key_id = actor.key_id().unwrap_or_default();
        vote.payload = cast(vote.vote_id, key_id, vote.signed_at);
        vote.signed = actor.sign_statement(&Statement::approval(vote.payload.clone()))?;
    }
    Ok(store.fn_approval_vote(&vote).await?)
}

async fn is_revoked(store: &Store, key_id: Uuid) -> Result<bool, Error> {
    let keys = store.signing_keys().await?;
    Ok(keys.iter().any(|key| key.key_id == key_id && key.revoked_at.is_some()))
}

/// Shows a request with its votes and what its quorum lacks.
///
/// # Errors
/// RA002 when there is no such request.
pub async fn show(store: &Store, approval_id: Uuid) -> Result<Shown, Error> {
    let Some(approval) = store.approval(approval_id).await? else {
        return Err(refused(store, Code::RA002, json!({ "approval_id": approval_id })).await);
    };
    let missing = Missing::of(&approval.quorum, &approval.tally);
    Ok(Shown { missing, votes: store.votes(approval_id).await?, approval })
}

/// Lets a proposed transition fire, by an approval of exactly this transition.
///
/// # Errors
/// The database's refusal.
pub async fn activate_transition(
    store: &Store,
    principal: &str,
    actor_class: &str,
    transition_id: &str,
    approval_id: Uuid,
) -> Result<Activated, Error> {
    Ok(store.fn_transition_activate(transition_id, approval_id, principal, actor_class).await?)
}

/// PostgreSQL keeps no NUL in a text.
fn has_nul(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains('\0'),
        Value::Array(items) => items.iter().any(has_nul),
        Value::Object(members) => {
            members.iter().any(|(name, value)| name.contains('\0') || has_nul(value))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}
