//! REVIEW: a signed decision on a plan.

use chancery_model::cutter::{Decision, decision_payload, review_evidence};
use chancery_model::envelope::{Move, Statement};
use chancery_model::refusal::Code;
use chancery_store::Store;
use chancery_store::cutter::{EntryReport, Review};
use serde_json::{Value, json};
use uuid::Uuid;

use super::plan::plan;
use super::retry::Retry;
use super::{REVIEW_TOOL, RUN_KIND, decision, refused};
use crate::Error;
use crate::run::Actor;

/// What a reviewer can say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It may be cut as planned.
    Approve,
    /// It is refused for good.
    Reject,
    /// Not now; a later sweep brings it back.
    Defer,
}

impl Verdict {
    /// The word of the database.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Approve => "approve",
            Self::Reject => "reject",
            Self::Defer => "defer",
        }
    }

    /// Where it takes the request. The door says the same; it is part of what the reviewer signs.
    const fn to_state(self) -> &'static str {
        match self {
            Self::Approve => "reviewed_approved",
            Self::Reject => "reviewed_rejected",
            Self::Defer => "reviewed_deferred",
        }
    }
}

/// A decision that is to be made.
#[derive(Debug, Clone)]
pub struct ReviewRequest {
    pub verdict: Verdict,
    pub rationale: Option<String>,
    /// `low`, `medium` or `high`.
    pub risk: String,
    /// What the reviewer found, an object.
    pub findings: Value,
    /// The plan that was looked at; a decision on another one is refused.
    pub manifest_digest: Option<[u8; 32]>,
}

impl ReviewRequest {
    /// A decision with low risk and without words.
    pub fn new(verdict: Verdict) -> Self {
        Self {
            verdict,
            rationale: None,
            risk: "low".to_owned(),
            findings: json!({}),
            manifest_digest: None,
        }
    }
}

/// Decides on the plan of a request. A decision that says again what the newest one says changes nothing.
///
/// # Errors
/// The database's refusal; RC006 when the plan is not the one that was looked at; RI022 when the source cannot be cut.
pub async fn review(
    store: &Store,
    actor: &Actor,
    entry_id: Uuid,
    request: &ReviewRequest,
) -> Result<EntryReport, Error> {
    let plan = plan(store, entry_id).await?;
    if let Some(expected) = request.manifest_digest.filter(|digest| *digest != plan.digest) {
        let facts = json!({
            "entry_id": entry_id, "expected": hex::encode(expected), "found": hex::encode(plan.digest),
        });
        return Err(refused(store, Code::RC006, facts).await);
    }
    let evidence = store.plan_evidence(entry_id).await?;
    let prior = evidence
        .as_ref()
        .and_then(decision::newest)
        .and_then(|newest| newest.uuid("review_decision_id"));
    let ids =
        DecisionIds { envelope: actor.new_id("envelope"), decision: actor.new_id("decision") };
    let review = sign(actor, entry_id, request, &plan, prior, ids)?;
    let mut retry = Retry::new(store);
    loop {
        match store.fn_review(&review).await {
            Ok(report) => return Ok(report),
            Err(error) => retry.or_give_up(error.into()).await?,
        }
    }
}

/// Under which ids a decision and its manifest are written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DecisionIds {
    pub(crate) envelope: Uuid,
    pub(crate) decision: Uuid,
}

/// The decision as its door takes it, signed as a decision and as a move.
pub(crate) fn sign(
    actor: &Actor,
    entry_id: Uuid,
    request: &ReviewRequest,
    plan: &super::Plan,
    prior_review_decision_id: Option<Uuid>,
    ids: DecisionIds,
) -> Result<Review, Error> {
    let DecisionIds { envelope: envelope_id, decision: review_decision_id } = ids;
    let signed_at = actor.signing_time();
    let verdict = request.verdict.as_str();
    let payload = decision_payload(&Decision {
        review_decision_id,
        governance_event_kind: "cut_review",
        entry_id,
        manifest_id: envelope_id,
        manifest_digest: plan.digest,
        verdict,
        findings: &request.findings,
        rationale: request.rationale.as_deref(),
        risk: &request.risk,
        prior_review_decision_id,
        principal: &actor.principal,
        key_id: actor.key_id().unwrap_or_default(),
        signed_at,
    });
    let idempotency_key = format!("review:{review_decision_id}");
    let evidence = review_evidence(review_decision_id, envelope_id, &plan.digest, verdict);
    let statement = Move {
        run_kind: RUN_KIND,
        run_id: entry_id,
        to: request.verdict.to_state(),
        principal: &actor.principal,
        actor_class: "review_authority",
        trigger_kind: "rpc",
        trigger_ref: "review",
        evidence: &evidence,
        reason: request.rationale.as_deref(),
        idempotency_key: &idempotency_key,
        birth: None,
    }
    .statement();
    Ok(Review {
        entry_id,
        verdict: verdict.to_owned(),
        manifest: plan.manifest.door_json(),
        manifest_digest: plan.digest,
        envelope_id,
        review_decision_id,
        prior_review_decision_id,
        findings: request.findings.clone(),
        rationale: request.rationale.clone(),
        risk: request.risk.clone(),
        tool_revision: REVIEW_TOOL.to_owned(),
        principal: actor.principal.clone(),
        idempotency_key,
        signed_at,
        decision: actor.sign_statement(&Statement::review(payload.clone()))?,
        decision_payload: payload,
        move_signature: actor.sign_statement(&statement)?.map(|signed| signed.signature),
    })
}
