//! Attestations of the executor and the verifier, and decisions of the review authority.

use chancery_model::cutter::{
    Decision, EXECUTOR_LANE, Lane, LaneSigner, VERIFIER_LANE, decision_payload_of, lane_payload_of,
};
use chancery_model::envelope::{Domain, Statement};
use sha2::{Digest as _, Sha256};

use super::check::Checker;
use super::rows::Row;
use super::signers::Signed;
use super::table;

impl Checker<'_> {
    /// An attestation is signed by whom it names, in that signer's lane.
    pub(super) fn lane(&mut self, signature: Row<'_>) {
        const RULE: &str = "signature_keeps_to_its_lane";
        let executor = signature.opt("cross_reference_change_set_id").is_some();
        let (kind, lane) =
            if executor { ("executor", EXECUTOR_LANE) } else { ("verifier", VERIFIER_LANE) };
        if executor == signature.opt("cross_reference_verify_result_id").is_some() {
            self.wrong(
                signature,
                RULE,
                "a signature is about a change set or about a verification",
            );
        }
        let payload = signature.text("signature_payload");
        let Ok(statement) = Statement::stored(Domain::Lane, payload) else {
            self.statement_version(signature, Domain::Lane, "signature_payload");
            return;
        };
        let hash = hex::encode(Sha256::digest(payload.as_bytes()));
        self.expect_all(
            signature,
            RULE,
            &[
                ("signature_kind", Some(kind)),
                ("signer_dot_id", Some(lane)),
                ("payload_envelope", Some(statement.payload_type())),
                ("payload_hash", Some(&hash)),
            ],
        );
        let bytes = signature.bytes("signature").unwrap_or_default();
        let signed = Signed {
            principal: signature.text("signer_principal"),
            key_id: signature.id("key_id"),
            signature: &bytes,
            at: signature.number("signed_at").unwrap_or_default(),
            recorded_at: signature.number("recorded_at").unwrap_or_default(),
        };
        match self.signers.check(&statement, &signed, "attestation") {
            Ok(()) => self.report.signatures += 1,
            Err(what) => self.wrong(signature, "signature_is_good", what),
        }
    }

    /// What is signed is what the rows say, at the end of the signer's chain as it was.
    pub(super) fn attests(&mut self, signature: Row<'_>, attested: &Lane) {
        const RULE: &str = "signature_follows_its_prior";
        let prior = signature.opt("prior_signature_id");
        let prior_row =
            prior.and_then(|prior| self.rows.one(table::SIGNATURE, "signature_id", prior));
        let lane_seq = signature.number("lane_seq").unwrap_or_default();
        match (prior, prior_row) {
            (None, _) => self.expect(signature, RULE, "lane_seq", Some("1")),
            (Some(_), None) => self.wrong(signature, RULE, "the signature before it is not there"),
            (Some(_), Some(prior)) => {
                for column in ["signer_dot_id", "signer_principal"] {
                    self.expect(signature, RULE, column, prior.opt(column));
                }
                if prior.number("lane_seq").and_then(|seq| seq.checked_add(1)) != Some(lane_seq) {
                    self.wrong(
                        signature,
                        RULE,
                        format!("number {lane_seq} follows {}", prior.text("lane_seq")),
                    );
                }
            }
        }
        let prior_bytes = prior_row.and_then(|prior| prior.bytes("signature"));
        // A version that is not known was named when the signature was looked at.
        let stored = signature.text("signature_payload");
        let Ok(version) = Domain::Lane.version_of(stored) else { return };
        let payload = lane_payload_of(
            version,
            &LaneSigner {
                lane: signature.text("signer_dot_id"),
                signature_id: signature.id("signature_id"),
                principal: signature.text("signer_principal"),
                key_id: signature.id("key_id"),
                tool_revision: signature.text("signer_tool_revision"),
                prior: signature.uuid("prior_signature_id").zip(prior_bytes.as_deref()),
                signed_at: signature.number("signed_at").unwrap_or_default(),
            },
            attested,
        );
        self.expect(signature, "signed_is_what_is_stored", "signature_payload", payload.as_deref());
    }

    /// A decision is signed by its reviewer, and what was signed is what its row says.
    pub(super) fn decision(&mut self, decision: Row<'_>) {
        const RULE: &str = "signed_is_what_is_stored";
        let envelope = self.rows.one(table::ENVELOPE, "envelope_id", decision.text("manifest_id"));
        let Some(envelope) = envelope else {
            self.wrong(decision, RULE, "its manifest is not there");
            return;
        };
        let Some(version) = self.statement_version(decision, Domain::Review, "decision_payload")
        else {
            return;
        };
        let signed_at = decision.number("decision_at").unwrap_or_default();
        let payload = decision_payload_of(
            version,
            &Decision {
                review_decision_id: decision.id("review_decision_id"),
                governance_event_kind: decision.text("governance_event_kind"),
                entry_id: decision.id("entry_id"),
                manifest_id: decision.id("manifest_id"),
                manifest_digest: envelope.sha256("manifest_digest").unwrap_or_default(),
                verdict: decision.text("verdict"),
                findings: &decision.json("findings"),
                rationale: decision.opt("verdict_rationale"),
                risk: decision.text("risk_class_assessment"),
                prior_review_decision_id: decision.uuid("prior_review_decision_id"),
                principal: decision.text("reviewer_identity"),
                key_id: decision.id("key_id"),
                signed_at,
            },
        );
        self.expect_all(
            decision,
            RULE,
            &[
                ("decision_payload", payload.as_deref()),
                ("entry_id", envelope.opt("entry_id")),
                ("manifest_version", envelope.opt("manifest_digest")),
                ("manifest_unit_local_id", None),
                ("review_scope", Some("whole_manifest")),
                ("status", Some("decided")),
                ("reviewer_class", Some("review_authority")),
            ],
        );
        self.canonical(decision, "findings");
        let bytes = decision.bytes("signature").unwrap_or_default();
        let signed = Signed {
            principal: decision.text("reviewer_identity"),
            key_id: decision.id("key_id"),
            signature: &bytes,
            at: signed_at,
            recorded_at: decision.number("created_at").unwrap_or_default(),
        };
        let stored = decision.text("decision_payload");
        let Ok(statement) = Statement::stored(Domain::Review, stored) else { return };
        match self.signers.check(&statement, &signed, "decision") {
            Ok(()) => self.report.signatures += 1,
            Err(what) => self.wrong(decision, "signature_is_good", what),
        }
    }

    /// The version of the statement in a column; says so when no release had it, or none that this one knows of.
    pub(super) fn statement_version(
        &mut self,
        row: Row<'_>,
        domain: Domain,
        column: &str,
    ) -> Option<u16> {
        let version = domain.version_of(row.text(column));
        if let Err(named) = &version {
            self.wrong(row, "statement_version_is_known", unknown_statement(named));
        }
        version.ok()
    }

    /// A column of JSON holds its canonical bytes.
    pub(super) fn canonical(&mut self, row: Row<'_>, column: &str) {
        let canonical = chancery_model::canonical::to_string(&row.json(column));
        self.expect(row, "json_is_canonical", column, Some(&canonical));
    }
}

/// What to say of a statement whose version is not known.
pub(super) fn unknown_statement(named: &str) -> String {
    format!("what was signed is {named}, which is no statement that this release knows")
}
