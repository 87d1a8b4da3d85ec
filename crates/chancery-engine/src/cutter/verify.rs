//! VERIFY: an independent verdict on a cut.
//!
//! The verifier cuts the stored source again and derives from that what must stand in every row; `inspect` compares. A pass that
//! the tables contradict is refused by the door as well.

use chancery_model::cutter::{
    VERIFIER_LANE, Verification, escalation_id, rollback_id, verifier_attested,
};
use chancery_model::refusal::Code;
use chancery_store::cutter::{CutEvidence, EntryReport, LaneSignature, Verify};
use chancery_store::{EvidenceRow, Store};
use serde_json::{Value, json};
use uuid::Uuid;

use super::inspect::inspect;
use super::plan::json_of;
use super::retry::Retry;
use super::signature::sign_in_lane;
use super::{VERIFIER_TOOL, now_micros, refused};
use crate::Error;
use crate::run::Actor;

/// A verdict that stands.
#[derive(Debug, Clone)]
pub struct Verified {
    pub report: EntryReport,
    /// `{"findings": […], "checks": {…}, "rule": "rfc8785"}`, as it was signed.
    pub findings: Value,
}

impl Verified {
    /// Whether nothing was found.
    pub fn passed(&self) -> bool {
        self.report.verdict.as_deref() == Some("pass")
    }
}

/// Verifies a cut. When a verdict stands already, it is the answer (`replayed`); nothing is done twice.
///
/// A fail takes the cut back and opens an escalation entry, in the same transaction.
///
/// # Errors
/// The database's refusal, RC019 when there is nothing to verify, or `Exhausted`.
pub async fn verify(store: &Store, actor: &Actor, entry_id: Uuid) -> Result<Verified, Error> {
    run(store, actor, entry_id, false).await
}

/// Verifies a cut although a verdict may stand already; the new one is chained to it. Of a request that is no longer waiting it
/// moves nothing, but a fail opens an escalation.
///
/// # Errors
/// As [`verify`].
pub async fn verify_again(store: &Store, actor: &Actor, entry_id: Uuid) -> Result<Verified, Error> {
    run(store, actor, entry_id, true).await
}

async fn run(store: &Store, actor: &Actor, entry_id: Uuid, again: bool) -> Result<Verified, Error> {
    // One id for all attempts: a verdict whose answer was lost is found again.
    let verify_result_id = Uuid::now_v7();
    let mut retry = Retry::new(store);
    let mut overtaken = false;
    loop {
        match attempt(store, actor, entry_id, verify_result_id, again).await {
            Ok(verified) => return Ok(verified),
            // Somebody verified it between our look and our verdict; the next look sees theirs.
            Err(error) if is_overtaken(&error) && !overtaken => overtaken = true,
            Err(error) => match retry.or_give_up(error).await {
                Ok(()) => {}
                Err(error) => return Err(hand_on(store, actor, entry_id, error).await),
            },
        }
    }
}

/// A verification that was given up is told to people, if the database can still be told anything. Every other error stays what it is.
pub(crate) async fn hand_on(store: &Store, actor: &Actor, entry_id: Uuid, error: Error) -> Error {
    let Error::Exhausted { attempts, last, .. } = error else { return error };
    let why = last.to_string();
    let escalation = store.fn_escalate_verification(entry_id, &why, &actor.principal).await;
    if let Err(error) = &escalation {
        tracing::warn!(%entry_id, %error, "the verification that was given up could not be escalated");
    }
    Error::Exhausted { attempts, escalation: escalation.ok().map(|report| report.entry_id), last }
}

fn is_overtaken(error: &Error) -> bool {
    error.refusal().is_some_and(|refusal| refusal.code == Code::RC019)
}

async fn attempt(
    store: &Store,
    actor: &Actor,
    entry_id: Uuid,
    verify_result_id: Uuid,
    again: bool,
) -> Result<Verified, Error> {
    let Some(evidence) = store.cut_evidence(entry_id).await? else {
        return Err(refused(store, Code::RC001, json!({ "entry_id": entry_id })).await);
    };
    let change_set = evidence.change_sets.iter().find(|set| set.text("change_kind") == "apply");
    let Some(change_set) = change_set else {
        let facts = json!({ "entry_id": entry_id, "status": evidence.plan.entry.get("status") });
        return Err(refused(store, Code::RC019, facts).await);
    };
    let standing = newest_verdict(&evidence, change_set);
    let ours = evidence
        .verify_results
        .iter()
        .find(|row| row.uuid("verify_result_id") == Some(verify_result_id));
    if let Some(standing) = ours.or(if again { None } else { standing }) {
        return repeat(store, actor, entry_id, change_set, standing).await;
    }
    let keys = store.signing_keys().await?;
    let inspection = inspect(&evidence, change_set, &keys);
    let verdict = if inspection.findings.is_empty() { "pass" } else { "fail" };
    let findings = inspection.document();
    let waiting = evidence.plan.entry.text("status") == "cut_applied";
    let failed = verdict == "fail";
    let change_set_digest = change_set.bytes("change_set_digest").unwrap_or_default();
    // What was escalated before and is still open is not escalated once more.
    let standing_escalation =
        if failed && !waiting { store.fn_standing_escalation(entry_id).await? } else { None };
    let verification = Verification {
        verify_result_id,
        change_set_id: change_set.uuid("change_set_id").unwrap_or_default(),
        change_set_digest: &change_set_digest,
        executor_signature_id: change_set.uuid("executor_signature_id").unwrap_or_default(),
        verdict,
        findings: &findings,
        prior_verify_result_id: standing.and_then(|row| row.uuid("verify_result_id")),
        rollback_change_set_id: (failed && waiting).then(|| rollback_id(verify_result_id)),
        escalation_ref: failed
            .then(|| standing_escalation.unwrap_or_else(|| escalation_id(verify_result_id))),
    };
    let prior = store.lane_end(VERIFIER_LANE, &actor.principal).await?;
    let attested = verifier_attested(entry_id, &verification, change_set.text("manifest_version"));
    let verify = Verify {
        entry_id,
        verify_result_id,
        change_set_id: verification.change_set_id,
        verdict: verdict.to_owned(),
        findings: findings.clone(),
        prior_verify_result_id: verification.prior_verify_result_id,
        tool_revision: VERIFIER_TOOL.to_owned(),
        principal: actor.principal.clone(),
        signature: sign_in_lane(
            actor,
            VERIFIER_LANE,
            VERIFIER_TOOL,
            // A retry signs again: another text under the same id would be another signature.
            Uuid::now_v7(),
            prior.as_ref(),
            &attested,
        )?,
    };
    Ok(Verified { report: store.fn_verify(&verify).await?, findings })
}

/// The verdict that no other one follows.
fn newest_verdict<'a>(
    evidence: &'a CutEvidence,
    change_set: &EvidenceRow,
) -> Option<&'a EvidenceRow> {
    let about_it = || {
        evidence
            .verify_results
            .iter()
            .filter(|row| row.get("change_set_id") == change_set.get("change_set_id"))
    };
    about_it().find(|row| {
        !about_it().any(|next| next.get("prior_verify_result_id") == row.get("verify_result_id"))
    })
}

/// Asks the door for a verdict that stands; it answers before it looks at who asks for what.
async fn repeat(
    store: &Store,
    actor: &Actor,
    entry_id: Uuid,
    change_set: &EvidenceRow,
    standing: &EvidenceRow,
) -> Result<Verified, Error> {
    let findings = json_of(standing, "findings");
    let verify = Verify {
        entry_id,
        verify_result_id: standing.uuid("verify_result_id").unwrap_or_default(),
        change_set_id: change_set.uuid("change_set_id").unwrap_or_default(),
        verdict: standing.text("verdict").to_owned(),
        findings: findings.clone(),
        prior_verify_result_id: standing.uuid("prior_verify_result_id"),
        tool_revision: VERIFIER_TOOL.to_owned(),
        principal: actor.principal.clone(),
        signature: LaneSignature {
            signature_id: standing.uuid("verifier_signature_id").unwrap_or_default(),
            prior_signature_id: None,
            signed_at: now_micros(),
            payload: String::new(),
            signed: None,
        },
    };
    Ok(Verified { report: store.fn_verify(&verify).await?, findings })
}
