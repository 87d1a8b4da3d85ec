//! Signed envelopes: ed25519 over the DSSE pre-authentication encoding, which binds the payload's type to its bytes.
//!
//! The database verifies a signature before it stores it (`identity.verify_ed25519`), and the audit does it again from the stored
//! row: the payload of a move can be rebuilt from its log row alone. Both judge alike, as strictly as ed25519 can be judged.
//!
//! Every statement has a version: that of a move is its log row's `hash_version`, all others name theirs in their text
//! ([`Domain`]). What was signed under a version is rebuilt by that version's function, which is never edited.

use ed25519_dalek::{Signature, Signer, SigningKey, VerifyingKey};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::canonical;
use crate::chain::LogRow;

/// The type of what is signed in a lane, also stored beside it (`payload_envelope`).
const LANE_PAYLOAD_TYPE: &str = "application/vnd.chancery.cutter.v1+json";

/// What a signature says: the payload and its type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    payload_type: &'static str,
    payload: String,
}

/// The fields of a move that its principal signs.
#[derive(Debug, Clone, Copy)]
pub struct Move<'a> {
    pub run_kind: &'a str,
    pub run_id: Uuid,
    pub to: &'a str,
    pub principal: &'a str,
    pub actor_class: &'a str,
    pub trigger_kind: &'a str,
    pub trigger_ref: &'a str,
    pub evidence: &'a Value,
    pub reason: Option<&'a str>,
    pub idempotency_key: &'a str,
    /// What a run is born as; only the birth of a run has it.
    pub birth: Option<Birth<'a>>,
}

/// What a run is born as: a signed birth is good for this machine and this data only.
#[derive(Debug, Clone, Copy)]
pub struct Birth<'a> {
    /// The machine's name, without its version: which version is active is not the signer's to say.
    pub machine: &'a str,
    pub data: &'a Value,
}

/// What is signed besides moves: texts with a member `domain` that names the domain and the version of the text's list of members,
/// `chancery.DOMAIN.vVERSION`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Domain {
    /// A reviewer's decision.
    Review,
    /// An attestation in a lane.
    Lane,
    /// A request for approval, or a vote.
    Approval,
    /// A signature under a revision.
    Kb,
    /// What a new key says: whose it is.
    Key,
}

impl Domain {
    /// The name that texts have, and the type of what is signed by version; the first one is version 1.
    const fn versions(self) -> (&'static str, &'static [&'static str]) {
        match self {
            Self::Review => ("review", &["application/vnd.chancery.review.v1+json"]),
            Self::Lane => ("cutter", &[LANE_PAYLOAD_TYPE]),
            Self::Approval => ("approval", &["application/vnd.chancery.approval.v1+json"]),
            Self::Kb => ("kb", &["application/vnd.chancery.kb.v1+json"]),
            Self::Key => ("key", &["application/vnd.chancery.key.v1+json"]),
        }
    }

    /// The version of a stored text. A text that names none is taken for one of version 1, which it will not turn out to be.
    ///
    /// # Errors
    /// What the text names instead, when that is no version that this release knows.
    pub fn version_of(self, payload: &str) -> Result<u16, String> {
        let document: Value = serde_json::from_str(payload).unwrap_or_default();
        let Some(named) = document["domain"].as_str() else { return Ok(1) };
        let (domain, types) = self.versions();
        let mut known = (1..).take(types.len());
        known
            .find(|version| named == format!("chancery.{domain}.v{version}"))
            .ok_or_else(|| named.to_owned())
    }

    fn payload_type(self, version: u16) -> &'static str {
        let (_, types) = self.versions();
        types.get(usize::from(version).saturating_sub(1)).copied().unwrap_or(types[0])
    }
}

impl Move<'_> {
    /// The statement to sign. Two moves that differ in any field give different statements.
    pub fn statement(&self) -> Statement {
        self.v1()
    }

    fn v1(&self) -> Statement {
        Statement {
            payload_type: "application/vnd.chancery.move.v1+json",
            payload: canonical::to_string(&json!({
                "run_kind": self.run_kind,
                "run_id": self.run_id,
                "to": self.to,
                "principal": self.principal,
                "actor_class": self.actor_class,
                "trigger": [self.trigger_kind, self.trigger_ref],
                "evidence": self.evidence,
                "reason": self.reason,
                "idempotency_key": self.idempotency_key,
                "machine": self.birth.map(|birth| birth.machine),
                "data_sha256": self.birth.map(|birth| hex::encode(canonical::sha256(birth.data))),
            })),
        }
    }
}

impl Statement {
    /// What a stored text says, under the version that it names.
    ///
    /// # Errors
    /// As [`Domain::version_of`].
    pub fn stored(domain: Domain, payload: &str) -> Result<Self, String> {
        Ok(Self::of(domain, domain.version_of(payload)?, payload))
    }

    fn of(domain: Domain, version: u16, payload: impl Into<String>) -> Self {
        Self { payload_type: domain.payload_type(version), payload: payload.into() }
    }

    /// A reviewer's decision; the payload is [`crate::cutter::decision_payload`].
    pub fn review(payload: impl Into<String>) -> Self {
        Self::of(Domain::Review, 1, payload)
    }

    /// An attestation in a lane; the payload is [`crate::cutter::lane_payload`].
    pub fn lane(payload: impl Into<String>) -> Self {
        Self::of(Domain::Lane, 1, payload)
    }

    /// A request for approval or a vote on one; the payload is [`crate::approval::request_payload`] or
    /// [`crate::approval::vote_payload`].
    pub fn approval(payload: impl Into<String>) -> Self {
        Self::of(Domain::Approval, 1, payload)
    }

    /// A signature under a revision; the payload is [`crate::kb::signature_payload`].
    pub fn kb(payload: impl Into<String>) -> Self {
        Self::of(Domain::Kb, 1, payload)
    }

    /// What a new key signs: whose it is. Without it somebody could register a key that they do not have.
    pub fn possession(principal: &str, key: &VerifyingKey) -> Self {
        let payload = canonical::to_string(&json!({
            "domain": "chancery.key.v1",
            "meaning": "this key is mine",
            "principal": principal,
            "public_key": hex::encode(key.as_bytes()),
        }));
        Self::of(Domain::Key, 1, payload)
    }

    /// What an old key signs for a new one of the same principal: that the new one takes its place.
    pub fn replacement(principal: &str, key: &VerifyingKey, old_key_id: Uuid) -> Self {
        let payload = canonical::to_string(&json!({
            "domain": "chancery.key.v1",
            "meaning": "this key replaces mine",
            "old_key_id": old_key_id,
            "principal": principal,
            "public_key": hex::encode(key.as_bytes()),
        }));
        Self::of(Domain::Key, 1, payload)
    }

    /// Its type, which is signed as well.
    pub fn payload_type(&self) -> &'static str {
        self.payload_type
    }

    /// What is signed.
    pub fn payload(&self) -> &str {
        &self.payload
    }

    /// Rebuilds what was signed from a stored row of version 1; `data` is the run's, for the birth row only.
    ///
    /// # Errors
    /// When the stored evidence is not JSON: then no signature can be good for it.
    pub fn of_log_row_v1(row: &LogRow, data: Option<&Value>) -> Result<Self, serde_json::Error> {
        let evidence: Value = serde_json::from_str(&row.evidence)?;
        Ok(Move {
            run_kind: &row.run_kind,
            run_id: row.run_id,
            to: &row.to_state,
            principal: &row.principal,
            actor_class: &row.actor_class,
            trigger_kind: &row.trigger_kind,
            trigger_ref: &row.trigger_ref,
            evidence: &evidence,
            reason: row.reason.as_deref(),
            idempotency_key: &row.idempotency_key,
            birth: data.map(|data| Birth { machine: name_of(&row.state_machine_id), data }),
        }
        .v1())
    }

    /// DSSE v1: lengths before bytes, so that no two (type, payload) pairs encode alike.
    pub fn pre_authentication_encoding(&self) -> Vec<u8> {
        format!(
            "DSSEv1 {} {} {} {}",
            self.payload_type.len(),
            self.payload_type,
            self.payload.len(),
            self.payload
        )
        .into_bytes()
    }

    /// Signs the statement.
    pub fn sign(&self, key: &SigningKey) -> [u8; 64] {
        key.sign(&self.pre_authentication_encoding()).to_bytes()
    }

    /// Whether `signature` is this key's signature of this statement. Malformed keys and signatures are simply not good.
    pub fn is_signed_by(&self, public_key: &[u8], signature: &[u8]) -> bool {
        is_signature(public_key, &self.pre_authentication_encoding(), signature)
    }
}

/// The public key that these bytes are, unless nobody may have it: bytes that are no point, or not the one encoding of their
/// point, or a point of small order, under which one signature is good for every text.
pub fn public_key(bytes: &[u8]) -> Option<VerifyingKey> {
    let key = VerifyingKey::from_bytes(bytes.try_into().ok()?).ok()?;
    let is_canonical = key.to_edwards().compress().as_bytes() == key.as_bytes();
    (is_canonical && !key.is_weak()).then_some(key)
}

/// Whether this is the ed25519 signature of these bytes by this key, as strictly as the database judges it.
pub fn is_signature(key: &[u8], message: &[u8], signature: &[u8]) -> bool {
    let Some(key) = public_key(key) else { return false };
    let Ok(signature) = Signature::from_slice(signature) else { return false };
    key.verify_strict(message, &signature).is_ok()
}

/// The name in a machine id, `name@version`; a bare name is one already.
pub fn name_of(machine: &str) -> &str {
    machine.split('@').next().unwrap_or(machine)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// AUD-1: a statement says of which version it is, and one of another is not mistaken for one of this.
    #[test]
    fn a_statement_names_its_version() {
        let text = |domain: &str| json!({ "domain": domain, "meaning": "x" }).to_string();
        for (domain, name) in [
            (Domain::Review, "review"),
            (Domain::Lane, "cutter"),
            (Domain::Approval, "approval"),
            (Domain::Kb, "kb"),
            (Domain::Key, "key"),
        ] {
            let first = text(&format!("chancery.{name}.v1"));
            assert_eq!(domain.version_of(&first), Ok(1));
            let statement = Statement::stored(domain, &first).expect("a known version");
            assert_eq!(
                statement.payload_type(),
                format!("application/vnd.chancery.{name}.v1+json")
            );
            for other in [format!("chancery.{name}.v2"), format!("chancery.{name}.v01"), "x".into()]
            {
                assert_eq!(domain.version_of(&text(&other)), Err(other));
            }
        }
        assert_eq!(Domain::Kb.version_of("not JSON"), Ok(1));
    }
}
