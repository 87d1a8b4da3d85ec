//! The cutter: requests, decisions, cuts and verdicts. Each function has the name of the door it calls.

mod pages;
mod reads;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use crate::fsm::{Signed, decode};
use crate::{Error, Store};

pub use pages::EntryPage;
pub use reads::{
    ChangeSetRow, CutEvidence, DecisionRow, DependencyRow, EntryDetail, EntryFilter,
    EntryHistoryRow, EntryRow, PlanEvidence, VerifyRow,
};

/// A request to cut, as it is marked.
#[derive(Debug, Clone)]
pub struct Mark {
    pub entry_id: Uuid,
    /// `cut_request` or `escalation`.
    pub kind: String,
    pub payload: Value,
    pub depends_on: Vec<Uuid>,
    pub scenario_ref: Option<String>,
    pub actor_class: String,
    pub principal: String,
    pub reason: Option<String>,
    pub trace_id: Option<String>,
    pub signed: Option<Signed>,
    /// What the cut would make: `{"units": …, "vocabulary": […]}`. Without it only the review looks.
    pub plan: Option<Value>,
}

/// A decision on a manifest, signed twice: as a decision, and as a move.
#[derive(Debug, Clone)]
pub struct Review {
    pub entry_id: Uuid,
    /// `approve`, `reject` or `defer`.
    pub verdict: String,
    /// See `chancery_model::cutter::Manifest::door_json`.
    pub manifest: Value,
    pub manifest_digest: [u8; 32],
    pub envelope_id: Uuid,
    pub review_decision_id: Uuid,
    pub prior_review_decision_id: Option<Uuid>,
    pub findings: Value,
    pub rationale: Option<String>,
    pub risk: String,
    pub tool_revision: String,
    pub principal: String,
    pub idempotency_key: String,
    /// Microseconds since 1970.
    pub signed_at: i64,
    pub decision_payload: String,
    /// Without a key the door says what is missing.
    pub decision: Option<Signed>,
    pub move_signature: Option<Vec<u8>>,
}

/// A decision on enacting the units of a verified cut.
#[derive(Debug, Clone)]
pub struct LifecycleReview {
    pub entry_id: Uuid,
    /// `approve` or `reject`.
    pub verdict: String,
    pub review_decision_id: Uuid,
    /// The decision that the cut rests on.
    pub prior_review_decision_id: Option<Uuid>,
    pub findings: Value,
    pub rationale: Option<String>,
    pub risk: String,
    pub principal: String,
    /// Microseconds since 1970.
    pub signed_at: i64,
    pub decision_payload: String,
    pub decision: Option<Signed>,
}

/// A signature in a lane.
#[derive(Debug, Clone)]
pub struct LaneSignature {
    pub signature_id: Uuid,
    /// The signer's newest signature in the lane.
    pub prior_signature_id: Option<Uuid>,
    /// Microseconds since 1970.
    pub signed_at: i64,
    pub payload: String,
    /// Without a key the door says what is missing.
    pub signed: Option<Signed>,
}

/// A cut that is to be made.
#[derive(Debug, Clone)]
pub struct Cut {
    pub entry_id: Uuid,
    pub change_set_id: Uuid,
    pub review_decision_id: Option<Uuid>,
    pub change_set_digest: [u8; 32],
    pub tool_revision: String,
    pub principal: String,
    pub signature: LaneSignature,
}

/// A verdict on a cut.
#[derive(Debug, Clone)]
pub struct Verify {
    pub entry_id: Uuid,
    pub verify_result_id: Uuid,
    pub change_set_id: Uuid,
    /// `pass` or `fail`.
    pub verdict: String,
    pub findings: Value,
    pub prior_verify_result_id: Option<Uuid>,
    pub tool_revision: String,
    pub principal: String,
    pub signature: LaneSignature,
}

/// Giving a request up.
#[derive(Debug, Clone)]
pub struct Abandon {
    pub entry_id: Uuid,
    pub reason: String,
    pub audit_ref: String,
    pub principal: String,
    pub idempotency_key: String,
    pub signed: Option<Signed>,
}

/// What a phase answers: the entry as it is now, whether the call was a repetition, and what the phase made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EntryReport {
    pub entry_id: Uuid,
    pub kind: String,
    pub status: String,
    pub seq: i64,
    pub document_id: Option<String>,
    /// Done before; nothing was done twice.
    pub replayed: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review_decision_id: Option<Uuid>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub manifest_id: Option<Uuid>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change_set_id: Option<Uuid>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub executor_signature_id: Option<Uuid>,
    /// How many units were cut.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub units: Option<i32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verify_result_id: Option<Uuid>,
    /// `approve`, `reject`, `defer`, `pass` or `fail`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verifier_signature_id: Option<Uuid>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rollback_change_set_id: Option<Uuid>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub escalation_ref: Option<Uuid>,
}

/// What a pass of the sweep did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SweepReport {
    pub sweep_id: Uuid,
    pub scanned: i32,
    pub promoted: i32,
    pub entries: Vec<Uuid>,
    pub replayed: bool,
}

impl Store {
    /// Puts a request into the backlog.
    ///
    /// # Errors
    /// `Refused` with every problem; then nothing changed.
    pub async fn fn_mark(&self, mark: &Mark) -> Result<EntryReport, Error> {
        let report: Value = sqlx::query_scalar(
            "select cutter_governance.fn_mark($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)",
        )
        .bind(mark.entry_id)
        .bind(&mark.kind)
        .bind(&mark.payload)
        .bind(&mark.depends_on)
        .bind(&mark.scenario_ref)
        .bind(&mark.actor_class)
        .bind(&mark.principal)
        .bind(&mark.reason)
        .bind(&mark.trace_id)
        .bind(mark.signed.as_ref().map(|s| s.key_id))
        .bind(mark.signed.as_ref().map(|s| &s.signature))
        .bind(&mark.plan)
        .fetch_one(&self.pool)
        .await?;
        decode(report)
    }

    /// Puts what was marked or deferred before the review authority.
    ///
    /// # Errors
    /// `Refused` with every problem; then nothing changed.
    pub async fn fn_sweep(
        &self,
        sweep_id: Uuid,
        actor_class: &str,
        principal: &str,
        trigger_kind: &str,
        limit: Option<i32>,
    ) -> Result<SweepReport, Error> {
        let report: Value =
            sqlx::query_scalar("select cutter_governance.fn_sweep($1, $2, $3, $4, $5)")
                .bind(sweep_id)
                .bind(actor_class)
                .bind(principal)
                .bind(trigger_kind)
                .bind(limit)
                .fetch_one(&self.pool)
                .await?;
        decode(report)
    }

    /// Decides on a manifest.
    ///
    /// # Errors
    /// `Refused` with every problem; then nothing changed.
    pub async fn fn_review(&self, review: &Review) -> Result<EntryReport, Error> {
        let report: Value = sqlx::query_scalar(
            "select cutter_governance.fn_review($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)",
        )
        .bind(review.entry_id)
        .bind(&review.verdict)
        .bind(&review.manifest)
        .bind(review.manifest_digest.as_slice())
        .bind(review.envelope_id)
        .bind(review.review_decision_id)
        .bind(review.prior_review_decision_id)
        .bind(&review.findings)
        .bind(&review.rationale)
        .bind(&review.risk)
        .bind(&review.tool_revision)
        .bind(&review.principal)
        .bind(&review.idempotency_key)
        .bind(review.decision.as_ref().map(|s| s.key_id))
        .bind(review.signed_at)
        .bind(&review.decision_payload)
        .bind(review.decision.as_ref().map(|s| &s.signature))
        .bind(&review.move_signature)
        .fetch_one(&self.pool)
        .await?;
        decode(report)
    }

    /// Decides on enacting the units of a verified cut.
    ///
    /// # Errors
    /// `Refused` with every problem; then nothing changed.
    pub async fn fn_lifecycle_review(
        &self,
        review: &LifecycleReview,
    ) -> Result<EntryReport, Error> {
        let report: Value = sqlx::query_scalar(
            "select cutter_governance.fn_lifecycle_review($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)",
        )
        .bind(review.entry_id)
        .bind(&review.verdict)
        .bind(review.review_decision_id)
        .bind(review.prior_review_decision_id)
        .bind(&review.findings)
        .bind(&review.rationale)
        .bind(&review.risk)
        .bind(&review.principal)
        .bind(review.decision.as_ref().map(|s| s.key_id))
        .bind(review.signed_at)
        .bind(&review.decision_payload)
        .bind(review.decision.as_ref().map(|s| &s.signature))
        .fetch_one(&self.pool)
        .await?;
        decode(report)
    }

    /// Whether nobody holds an entry, or the run that drives it, at this moment. Waits for nobody.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn fn_entry_is_free(&self, entry_id: Uuid) -> Result<bool, Error> {
        let free = sqlx::query_scalar("select cutter_governance.fn_entry_is_free($1)")
            .bind(entry_id)
            .fetch_one(&self.pool)
            .await?;
        Ok(free)
    }

    /// The escalation that an earlier failed verification of an entry opened and that is not over.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn fn_standing_escalation(&self, entry_id: Uuid) -> Result<Option<Uuid>, Error> {
        let standing = sqlx::query_scalar("select cutter_governance.fn_standing_escalation($1)")
            .bind(entry_id)
            .fetch_one(&self.pool)
            .await?;
        Ok(standing)
    }

    /// Asks for somebody to look at a cut that could not be verified.
    ///
    /// # Errors
    /// `Refused` with the problem; then nothing changed.
    pub async fn fn_escalate_verification(
        &self,
        entry_id: Uuid,
        reason: &str,
        principal: &str,
    ) -> Result<EntryReport, Error> {
        let report: Value =
            sqlx::query_scalar("select cutter_governance.fn_escalate_verification($1, $2, $3)")
                .bind(entry_id)
                .bind(reason)
                .bind(principal)
                .fetch_one(&self.pool)
                .await?;
        decode(report)
    }

    /// Applies an approved manifest.
    ///
    /// # Errors
    /// `Refused` with every problem; then nothing changed.
    pub async fn fn_cut(&self, cut: &Cut) -> Result<EntryReport, Error> {
        let report: Value = sqlx::query_scalar(
            "select cutter_governance.fn_cut($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)",
        )
        .bind(cut.entry_id)
        .bind(cut.change_set_id)
        .bind(cut.review_decision_id)
        .bind(cut.change_set_digest.as_slice())
        .bind(&cut.tool_revision)
        .bind(&cut.principal)
        .bind(cut.signature.signature_id)
        .bind(cut.signature.prior_signature_id)
        .bind(cut.signature.signed.as_ref().map(|s| s.key_id))
        .bind(cut.signature.signed_at)
        .bind(&cut.signature.payload)
        .bind(cut.signature.signed.as_ref().map(|s| &s.signature))
        .fetch_one(&self.pool)
        .await?;
        decode(report)
    }

    /// Gives a verdict on a cut.
    ///
    /// # Errors
    /// `Refused` with every problem; then nothing changed.
    pub async fn fn_verify(&self, verify: &Verify) -> Result<EntryReport, Error> {
        let report: Value = sqlx::query_scalar(
            "select cutter_governance.fn_verify($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)",
        )
        .bind(verify.entry_id)
        .bind(verify.verify_result_id)
        .bind(verify.change_set_id)
        .bind(&verify.verdict)
        .bind(&verify.findings)
        .bind(verify.prior_verify_result_id)
        .bind(&verify.tool_revision)
        .bind(&verify.principal)
        .bind(verify.signature.signature_id)
        .bind(verify.signature.prior_signature_id)
        .bind(verify.signature.signed.as_ref().map(|s| s.key_id))
        .bind(verify.signature.signed_at)
        .bind(&verify.signature.payload)
        .bind(verify.signature.signed.as_ref().map(|s| &s.signature))
        .fetch_one(&self.pool)
        .await?;
        decode(report)
    }

    /// Gives a request up for good.
    ///
    /// # Errors
    /// `Refused` with every problem; then nothing changed.
    pub async fn fn_abandon(&self, abandon: &Abandon) -> Result<EntryReport, Error> {
        let report: Value =
            sqlx::query_scalar("select cutter_governance.fn_abandon($1, $2, $3, $4, $5, $6, $7)")
                .bind(abandon.entry_id)
                .bind(&abandon.reason)
                .bind(&abandon.audit_ref)
                .bind(&abandon.principal)
                .bind(&abandon.idempotency_key)
                .bind(abandon.signed.as_ref().map(|s| s.key_id))
                .bind(abandon.signed.as_ref().map(|s| &s.signature))
                .fetch_one(&self.pool)
                .await?;
        decode(report)
    }
}
