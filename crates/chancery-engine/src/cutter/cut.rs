//! CUT: an approved plan is applied, by an executor that checks what it was told.

use chancery_model::cutter::{EXECUTOR_LANE, Effect, Manifest, executor_attested};
use chancery_model::refusal::Code;
use chancery_store::cutter::{Cut, EntryReport, LaneSignature, PlanEvidence};
use chancery_store::{EvidenceRow, Store};
use serde_json::json;
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use super::finding::Finding;
use super::mark::escalate;
use super::plan::{blocks_of, manifest_of_rows, partition_problems, unstamped};
use super::retry::Retry;
use super::signature::sign_in_lane;
use super::{EXECUTOR_TOOL, decision, now_micros, refused};
use crate::Error;
use crate::run::Actor;

/// Applies the approved plan of a request. A request that was cut before is answered with its change set (`replayed`).
///
/// What fails for a passing reason is tried again; when that is given up, an escalation entry is marked and named in the error.
///
/// # Errors
/// `Untrusted` when the decision or its plan does not hold, `Exhausted`, or the database's refusal.
pub async fn cut(store: &Store, actor: &Actor, entry_id: Uuid) -> Result<EntryReport, Error> {
    // One id for all attempts: a cut whose answer was lost is found again.
    let ids = Ids { change_set: Uuid::now_v7(), signature: Uuid::now_v7() };
    let mut retry = Retry::new(store);
    loop {
        match attempt(store, actor, entry_id, ids).await {
            Ok(report) => return Ok(report),
            Err(error) => match retry.or_give_up(error).await {
                Ok(()) => {}
                Err(Error::Exhausted { attempts, last, .. }) => {
                    return Err(hand_on(store, actor, entry_id, attempts, last).await);
                }
                Err(error) => return Err(error),
            },
        }
    }
}

#[derive(Clone, Copy)]
struct Ids {
    change_set: Uuid,
    signature: Uuid,
}

async fn attempt(
    store: &Store,
    actor: &Actor,
    entry_id: Uuid,
    ids: Ids,
) -> Result<EntryReport, Error> {
    let Some(plan) = store.plan_evidence(entry_id).await? else {
        return Err(refused(store, Code::RC001, json!({ "entry_id": entry_id })).await);
    };
    let prior = store.lane_end(EXECUTOR_LANE, &actor.principal).await?;
    let decision = decision::newest(&plan);
    let approved = decision.filter(|decision| decision.text("verdict") == "approve");
    let Some(decision) = approved.filter(|_| plan.entry.text("status") == "reviewed_approved")
    else {
        // Nothing to apply: it was cut before, or there is no approval. The door says which; whatever it is told, it cannot cut
        // with this, because no effect has this digest.
        let nothing = Cut {
            entry_id,
            change_set_id: ids.change_set,
            review_decision_id: decision.and_then(|decision| decision.uuid("review_decision_id")),
            change_set_digest: [0; 32],
            tool_revision: EXECUTOR_TOOL.to_owned(),
            principal: actor.principal.clone(),
            signature: unsigned(actor, ids.signature, prior.as_ref())?,
        };
        return Ok(store.fn_cut(&nothing).await?);
    };
    let keys = store.signing_keys().await?;
    let manifest = trusted_manifest(&plan, decision, &keys)
        .map_err(|findings| Error::Untrusted { entry_id, findings })?;
    let review_decision_id = decision.uuid("review_decision_id").unwrap_or_default();
    let effect = Effect::of(&manifest, ids.change_set, plan.entry.text("started_by"));
    let change_set_digest = effect.change_set_digest(&manifest, entry_id, review_decision_id);
    let attested =
        executor_attested(entry_id, ids.change_set, &change_set_digest, &manifest.digest());
    let signature = sign_in_lane(
        actor,
        EXECUTOR_LANE,
        EXECUTOR_TOOL,
        ids.signature,
        prior.as_ref(),
        &attested,
    )?;
    let cut = Cut {
        entry_id,
        change_set_id: ids.change_set,
        review_decision_id: Some(review_decision_id),
        change_set_digest,
        tool_revision: EXECUTOR_TOOL.to_owned(),
        principal: actor.principal.clone(),
        signature,
    };
    Ok(store.fn_cut(&cut).await?)
}

/// The manifest that the decision approves, rebuilt from the stored bytes and rows; everything that does not hold otherwise.
pub(crate) fn trusted_manifest(
    plan: &PlanEvidence,
    decision: &EvidenceRow,
    keys: &[chancery_store::identity::SigningKey],
) -> Result<Manifest, Vec<Finding>> {
    let envelope =
        plan.envelopes.iter().find(|e| e.get("envelope_id") == decision.get("manifest_id"));
    let (Some(document), Some(source), Some(envelope)) = (&plan.document, &plan.source, envelope)
    else {
        let facts = json!({ "manifest_id": decision.get("manifest_id") });
        return Err(vec![Finding::new("manifest_missing", facts)]);
    };
    let blocks = blocks_of(&plan.blocks, envelope.text("envelope_id"));
    let manifest = manifest_of_rows(document, envelope, &blocks);
    let body = source.bytes("body").unwrap_or_default();
    let mut findings: Vec<Finding> =
        [&plan.entry, document, source].into_iter().filter_map(unstamped).collect();
    let content_sha256 = <[u8; 32]>::from(Sha256::digest(&body));
    for (row, column) in [(source, "content_sha256"), (envelope, "region_sha")] {
        if row.sha256(column) != Some(content_sha256) {
            let facts = json!({
                "table": row.table, "expected": hex::encode(content_sha256), "found": row.get(column),
            });
            findings.push(Finding::new("source_differs", facts));
        }
    }
    findings.extend(partition_problems(&manifest, &body));
    findings.extend(decision::problems(&plan.entry, decision, envelope, &manifest, keys));
    if findings.is_empty() { Ok(manifest) } else { Err(findings) }
}

/// A signature on nothing, so that the door gets as far as saying why there is nothing to cut.
fn unsigned(
    actor: &Actor,
    signature_id: Uuid,
    prior: Option<&(Uuid, Vec<u8>)>,
) -> Result<LaneSignature, Error> {
    let statement = chancery_model::envelope::Statement::lane(String::new());
    Ok(LaneSignature {
        signature_id,
        prior_signature_id: prior.map(|(id, _)| *id),
        signed_at: now_micros(),
        payload: String::new(),
        signed: actor.sign_statement(&statement)?,
    })
}

/// What kept failing is told to people, if the database can still be told anything.
async fn hand_on(
    store: &Store,
    actor: &Actor,
    entry_id: Uuid,
    attempts: u32,
    last: Box<Error>,
) -> Error {
    let escalation = match store.entry(entry_id).await {
        Ok(Some(entry)) => escalate(store, actor, &entry, &last.to_string()).await,
        Ok(None) => return *last,
        Err(error) => Err(error.into()),
    };
    if let Err(error) = &escalation {
        tracing::warn!(%entry_id, %error, "the failed cut could not be escalated");
    }
    Error::Exhausted { attempts, escalation: escalation.ok(), last }
}
