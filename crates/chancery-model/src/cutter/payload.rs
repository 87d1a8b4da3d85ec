//! The texts that reviewers, executors and verifiers sign, and the evidence of their moves.

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use uuid::Uuid;

use crate::canonical;

/// The executor's lane.
pub const EXECUTOR_LANE: &str = "DOT-991";
/// The verifier's lane.
pub const VERIFIER_LANE: &str = "DOT-992";

/// What a reviewer decides.
#[derive(Debug, Clone, Copy)]
pub struct Decision<'a> {
    pub review_decision_id: Uuid,
    /// `cut_review` or `lifecycle_enactment`.
    pub governance_event_kind: &'a str,
    pub entry_id: Uuid,
    pub manifest_id: Uuid,
    pub manifest_digest: [u8; 32],
    pub verdict: &'a str,
    pub findings: &'a Value,
    pub rationale: Option<&'a str>,
    pub risk: &'a str,
    pub prior_review_decision_id: Option<Uuid>,
    pub principal: &'a str,
    pub key_id: Uuid,
    /// Microseconds since 1970.
    pub signed_at: i64,
}

/// The canonical text that a reviewer signs: which verdict on which manifest, in whose name, after which decision, when.
pub fn decision_payload(decision: &Decision<'_>) -> String {
    decision_v1(decision)
}

/// The text that a reviewer signed under a version, or nothing for one that this release does not know.
pub fn decision_payload_of(version: u16, decision: &Decision<'_>) -> Option<String> {
    (version == 1).then(|| decision_v1(decision))
}

fn decision_v1(decision: &Decision<'_>) -> String {
    canonical::to_string(&json!({
        "domain": "chancery.review.v1",
        "meaning": format!("{} {}", decision.governance_event_kind, decision.verdict),
        "review_decision_id": decision.review_decision_id,
        "governance_event_kind": decision.governance_event_kind,
        "entry_id": decision.entry_id,
        "manifest_id": decision.manifest_id,
        "manifest_digest": hex::encode(decision.manifest_digest),
        "verdict": decision.verdict,
        "findings": decision.findings,
        "rationale": decision.rationale,
        "risk": decision.risk,
        "prior_review_decision_id": decision.prior_review_decision_id,
        "principal": decision.principal,
        "key_id": decision.key_id,
        "signed_at": decision.signed_at,
    }))
}

/// Who signs in a lane, with what, after which signature.
#[derive(Debug, Clone, Copy)]
pub struct LaneSigner<'a> {
    /// [`EXECUTOR_LANE`] or [`VERIFIER_LANE`].
    pub lane: &'a str,
    pub signature_id: Uuid,
    pub principal: &'a str,
    pub key_id: Uuid,
    pub tool_revision: &'a str,
    /// The signer's newest signature in the lane: its id and its bytes.
    pub prior: Option<(Uuid, &'a [u8])>,
    /// Microseconds since 1970.
    pub signed_at: i64,
}

/// What a lane attests; made by [`executor_attested`] and [`verifier_attested`].
#[derive(Debug, Clone, PartialEq)]
pub struct Lane(Map<String, Value>);

impl Lane {
    fn of(value: Value) -> Self {
        match value {
            Value::Object(members) => Self(members),
            other => unreachable!("an attestation is an object, not {other}"),
        }
    }
}

/// What an executor attests: that it applied this.
pub fn executor_attested(
    entry_id: Uuid,
    change_set_id: Uuid,
    change_set_digest: &[u8],
    manifest_digest: &[u8],
) -> Lane {
    Lane::of(json!({
        "meaning": "cut applied",
        "entry_id": entry_id,
        "change_set_id": change_set_id,
        "change_set_digest": hex::encode(change_set_digest),
        "manifest_digest": hex::encode(manifest_digest),
    }))
}

/// What a verifier attests: what it found about this. `manifest_version` is the manifest's digest in hex, as the change set has it.
pub fn verifier_attested(
    entry_id: Uuid,
    verification: &Verification<'_>,
    manifest_version: &str,
) -> Lane {
    Lane::of(json!({
        "meaning": format!("cut verified: {}", verification.verdict),
        "entry_id": entry_id,
        "change_set_id": verification.change_set_id,
        "change_set_digest": hex::encode(verification.change_set_digest),
        "manifest_digest": manifest_version,
        "verify_result_id": verification.verify_result_id,
        "verify_digest": hex::encode(verify_digest(verification)),
        "verdict": verification.verdict,
    }))
}

/// The canonical text that is signed in a lane. It binds everything that the signature's row says and what it attests.
pub fn lane_payload(signer: &LaneSigner<'_>, attested: &Lane) -> String {
    lane_v1(signer, attested)
}

/// The text that was signed in a lane under a version, or nothing for one that this release does not know.
pub fn lane_payload_of(version: u16, signer: &LaneSigner<'_>, attested: &Lane) -> Option<String> {
    (version == 1).then(|| lane_v1(signer, attested))
}

fn lane_v1(signer: &LaneSigner<'_>, attested: &Lane) -> String {
    let mut members = attested.0.clone();
    let signer = Lane::of(json!({
        "domain": "chancery.cutter.v1",
        "lane": signer.lane,
        "signature_id": signer.signature_id,
        "principal": signer.principal,
        "key_id": signer.key_id,
        "tool_revision": signer.tool_revision,
        "prior_signature_id": signer.prior.map(|(id, _)| id),
        "prior_signature": signer.prior.map(|(_, signature)| hex::encode(signature)),
        "signed_at": signer.signed_at,
    }));
    members.extend(signer.0);
    canonical::to_string(&Value::Object(members))
}

/// What a verification found, and what follows from it.
#[derive(Debug, Clone, Copy)]
pub struct Verification<'a> {
    pub verify_result_id: Uuid,
    pub change_set_id: Uuid,
    pub change_set_digest: &'a [u8],
    pub executor_signature_id: Uuid,
    /// `pass` or `fail`.
    pub verdict: &'a str,
    pub findings: &'a Value,
    pub prior_verify_result_id: Option<Uuid>,
    /// The change set that takes the cut back; only when a waiting cut fails.
    pub rollback_change_set_id: Option<Uuid>,
    /// The entry that a failure opens.
    pub escalation_ref: Option<Uuid>,
}

/// The digest that a verifier signs: which change set, which verdict, what was found, and what follows from it.
pub fn verify_digest(verification: &Verification<'_>) -> [u8; 32] {
    canonical::sha256(&json!({
        "verify_result_id": verification.verify_result_id,
        "change_set_id": verification.change_set_id,
        "change_set_digest": hex::encode(verification.change_set_digest),
        "executor_signature_id": verification.executor_signature_id,
        "verdict": verification.verdict,
        "findings": verification.findings,
        "prior_verify_result_id": verification.prior_verify_result_id,
        "rollback_change_set_id": verification.rollback_change_set_id,
        "escalation_ref": verification.escalation_ref,
        "v": 1,
    }))
}

/// What the log keeps of a mark: whom the request waits for, and which request it is.
pub fn mark_evidence(depends_on: &[Uuid], payload: &Value) -> Value {
    let mut depends_on = depends_on.to_vec();
    depends_on.sort_unstable();
    depends_on.dedup();
    let digest = Sha256::digest(canonical::to_string(payload).as_bytes());
    json!({ "depends_on": depends_on, "payload_sha256": hex::encode(digest) })
}

/// What the log keeps of a review.
pub fn review_evidence(
    review_decision_id: Uuid,
    manifest_id: Uuid,
    manifest_digest: &[u8],
    verdict: &str,
) -> Value {
    json!({
        "review_decision_id": review_decision_id,
        "manifest_id": manifest_id,
        "manifest_digest": hex::encode(manifest_digest),
        "verdict": verdict,
        "event": { "review_decision_id": review_decision_id },
    })
}

/// What the log keeps of giving an entry up.
pub fn abandon_evidence(reason: &str, audit_ref: &str) -> Value {
    json!({ "reason": reason, "audit_ref": audit_ref, "event": { "reason": reason } })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_lane_says_of_itself_cannot_be_overwritten_by_what_it_attests() {
        let signer = LaneSigner {
            lane: EXECUTOR_LANE,
            signature_id: Uuid::nil(),
            principal: "exec",
            key_id: Uuid::nil(),
            tool_revision: "chancery-executor/1",
            prior: Some((Uuid::nil(), &[0xab])),
            signed_at: 1_700_000_000_123_456,
        };
        let forged = Lane::of(json!({ "lane": VERIFIER_LANE, "meaning": "x" }));
        let text = lane_payload(&signer, &forged);
        let value: Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(value["lane"], EXECUTOR_LANE);
        assert_eq!(value["prior_signature"], "ab");
        assert_eq!(value["signed_at"], 1_700_000_000_123_456_i64);
        assert_eq!(canonical::to_string(&value), text);
    }

    #[test]
    fn dependencies_are_a_set() {
        let (a, b) = (Uuid::from_u128(1), Uuid::from_u128(2));
        let payload = json!({ "idempotency_key": "k" });
        assert_eq!(mark_evidence(&[b, a, b], &payload), mark_evidence(&[a, b], &payload));
    }
}
