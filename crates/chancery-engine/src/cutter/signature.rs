//! Signatures: whose key, and whether a lane's attestation says what it must.

use chancery_model::cutter::{EXECUTOR_LANE, Lane, LaneSigner, lane_payload, lane_payload_of};
use chancery_model::envelope::{Domain, Statement};
use chancery_store::EvidenceRow;
use chancery_store::cutter::LaneSignature;
use chancery_store::identity::SigningKey;
use serde_json::json;
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use super::finding::Finding;
use super::now_micros;
use super::plan::unstamped;
use crate::Error;
use crate::run::Actor;

/// The public key that a row was signed with, when it is the signer's and was not revoked when the row was recorded.
pub(crate) fn key_of(
    keys: &[SigningKey],
    row: &EvidenceRow,
    signer: &str,
    recorded: &str,
) -> Result<Vec<u8>, Finding> {
    let facts = json!({ "table": row.table, "signer": signer, "key_id": row.get("key_id") });
    let key_id = row.uuid("key_id");
    let Some(key) = keys.iter().find(|key| Some(key.key_id) == key_id) else {
        return Err(Finding::new("key_unknown", facts));
    };
    if key.principal != signer {
        return Err(Finding::new("key_of_somebody_else", facts));
    }
    // The database's own time: the signer's clock may be a little off.
    let at = row.number(recorded);
    if key.revoked_at_micros.is_some_and(|revoked| at.is_none_or(|at| revoked <= at)) {
        return Err(Finding::new("key_revoked", facts));
    }
    hex::decode(&key.public_key).map_err(|_| Finding::new("key_unknown", facts))
}

/// Signs in a lane, at the end of the signer's chain.
pub(crate) fn sign_in_lane(
    actor: &Actor,
    lane: &str,
    tool_revision: &str,
    signature_id: Uuid,
    prior: Option<&(Uuid, Vec<u8>)>,
    attested: &Lane,
) -> Result<LaneSignature, Error> {
    let signed_at = now_micros();
    let payload = lane_payload(
        &LaneSigner {
            lane,
            signature_id,
            principal: &actor.principal,
            key_id: actor.key_id().unwrap_or_default(),
            tool_revision,
            prior: prior.map(|(id, signature)| (*id, signature.as_slice())),
            signed_at,
        },
        attested,
    );
    Ok(LaneSignature {
        signature_id,
        prior_signature_id: prior.map(|(id, _)| *id),
        signed_at,
        signed: actor.sign_statement(&Statement::lane(payload.clone()))?,
        payload,
    })
}

/// What stands against an executor's signature on a change set.
pub(super) fn executor_problems(
    change_set: &EvidenceRow,
    signatures: &[EvidenceRow],
    attested: &Lane,
    keys: &[SigningKey],
) -> Vec<Finding> {
    let mut findings = Vec::new();
    let named = change_set.get("executor_signature_id");
    let Some(signature) = signatures.iter().find(|row| row.get("signature_id") == named) else {
        findings.push(Finding::new("signature_missing", json!({ "signature_id": named })));
        return findings;
    };
    let signer = signature.text("signer_principal");
    let mut differs = |column: &str, expected: &str, found: &str| {
        if expected != found {
            let facts = json!({ "column": column, "expected": expected, "found": found });
            findings.push(Finding::new("signature_differs", facts));
        }
    };
    let payload = signature.text("signature_payload");
    differs("signature_kind", "executor", signature.text("signature_kind"));
    differs("signer_dot_id", EXECUTOR_LANE, signature.text("signer_dot_id"));
    differs("signer_principal", change_set.text("emitted_by"), signer);
    differs(
        "signer_tool_revision",
        change_set.text("executor_tool_revision"),
        signature.text("signer_tool_revision"),
    );
    // It may be older than this release.
    let version = Domain::Lane.version_of(payload).unwrap_or_default();
    let statement = Statement::stored(Domain::Lane, payload);
    let payload_type = statement.as_ref().map_or("", Statement::payload_type);
    differs("payload_envelope", payload_type, signature.text("payload_envelope"));
    differs("payload_hash", &hex::encode(Sha256::digest(payload)), signature.text("payload_hash"));
    differs(
        "cross_reference_change_set_id",
        change_set.text("change_set_id"),
        signature.text("cross_reference_change_set_id"),
    );
    differs(
        "cross_reference_verify_result_id",
        "",
        signature.text("cross_reference_verify_result_id"),
    );

    let (prior, broken_link) = prior_of(signature, signatures);
    findings.extend(broken_link);
    let expected = lane_payload_of(
        version,
        &LaneSigner {
            lane: EXECUTOR_LANE,
            signature_id: signature.uuid("signature_id").unwrap_or_default(),
            principal: signer,
            key_id: signature.uuid("key_id").unwrap_or_default(),
            tool_revision: signature.text("signer_tool_revision"),
            prior: prior.as_ref().map(|(id, bytes)| (*id, bytes.as_slice())),
            signed_at: signature.number("signed_at").unwrap_or_default(),
        },
        attested,
    );
    if expected.as_deref() != Some(payload) {
        let facts = json!({ "expected": expected, "found": payload });
        findings.push(Finding::new("signature_payload_differs", facts));
    }
    match key_of(keys, signature, signer, "recorded_at") {
        Ok(public_key) => {
            let bytes = signature.bytes("signature").unwrap_or_default();
            if !statement.is_ok_and(|statement| statement.is_signed_by(&public_key, &bytes)) {
                let facts = json!({ "signer": signer, "of": "cut_change_set" });
                findings.push(Finding::new("signature_bad", facts));
            }
        }
        Err(finding) => findings.push(finding),
    }
    findings.extend(unstamped(signature));
    findings
}

/// The signature that this one chains to, and what is wrong with the link.
fn prior_of(
    signature: &EvidenceRow,
    signatures: &[EvidenceRow],
) -> (Option<(Uuid, Vec<u8>)>, Option<Finding>) {
    let broken = |why: &str| {
        let facts =
            json!({ "why": why, "prior_signature_id": signature.get("prior_signature_id") });
        Some(Finding::new("signature_chain_broken", facts))
    };
    let lane_seq = signature.number("lane_seq").unwrap_or_default();
    let Some(prior_id) = signature.uuid("prior_signature_id") else {
        let link = if lane_seq == 1 { None } else { broken("the first of a chain has number 1") };
        return (None, link);
    };
    let prior = signatures.iter().find(|row| row.uuid("signature_id") == Some(prior_id));
    let Some(prior) = prior else {
        return (Some((prior_id, Vec::new())), broken("the prior signature is missing"));
    };
    let same = |column: &str| prior.get(column) == signature.get(column);
    let link = if !same("signer_dot_id") || !same("signer_principal") {
        broken("the prior signature is another signer's or lane's")
    } else if prior.number("lane_seq") != Some(lane_seq - 1) {
        broken("the numbers do not follow each other")
    } else {
        None
    };
    (Some((prior_id, prior.bytes("signature").unwrap_or_default())), link)
}
