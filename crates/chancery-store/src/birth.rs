//! Births: tables under admission, permits, and the inserts that use them. Each function has the name of the door it calls.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use crate::fsm::{Signed, decode};
use crate::{Error, Store};

mod family;
mod reads;
mod writer;

pub use family::{FamilyChange, NewFamily};
pub use reads::{Birth, CommandStep, Family, Permit, PermitCount, Violation};
pub use writer::{InsertError, Rejected, Writer};

/// One object for which a permit is asked for.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ask {
    /// Chosen by who signs for it; the database chooses one where none is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permit_id: Option<Uuid>,
    pub code: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub species: Option<String>,
    /// The family's, when it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// The row that is going to be written, without its code and name; only its digest is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload: Option<Value>,
    /// Over the reservation, in hex.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
}

/// Who asks for permits, and with what.
#[derive(Debug, Clone)]
pub struct PermitRequest<'a> {
    pub collection: &'a str,
    pub asks: &'a [Ask],
    pub principal: &'a str,
    pub actor_class: &'a str,
    /// The command that asks.
    pub dot: &'a str,
    pub approval_id: Option<Uuid>,
    pub batch_id: Option<Uuid>,
    /// The key of the signatures.
    pub key_id: Option<Uuid>,
}

/// Where the newest permit of a code stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PermitReport {
    pub permit_id: Uuid,
    pub collection: String,
    pub code: String,
    pub status: String,
    /// Hex.
    pub request_hash: String,
    pub requested_by: String,
    pub requested_at: String,
    pub expires_at: String,
    pub birth_id: Option<Uuid>,
    /// Why it failed or was revoked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure_reason: Option<String>,
    /// It was revoked before, by the same key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replayed: Option<bool>,
}

/// What became of a request for permits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reserved {
    /// How many were made now; the others were there.
    pub reserved: i64,
    /// In the order of the codes.
    pub permits: Vec<PermitReport>,
}

/// A revocation.
#[derive(Debug, Clone)]
pub struct Revocation {
    pub permit_id: Uuid,
    pub reason: String,
    pub actor_class: String,
    pub principal: String,
    pub idempotency_key: String,
    pub signed: Option<Signed>,
}

/// One thing that was asked of an object before its birth.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PreBirthCheck {
    pub check: String,
    pub ok: bool,
    pub why: Option<String>,
}

/// Whether an object could be born now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PreBirth {
    pub ok: bool,
    pub checks: Vec<PreBirthCheck>,
}

/// The INSERT of an admission and the document it takes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Statement {
    pub statement: String,
    pub document: Value,
}

/// A rehearsal under way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rehearsal {
    pub permits: Vec<PermitReport>,
    /// Makes every deferred constraint speak now.
    pub constraints: String,
}

/// A time in which a family admits births without permits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BrokenGlass {
    pub break_glass_id: Uuid,
    pub collection: String,
    pub opened_at: String,
    pub expires_at: String,
}

/// A pass of the watchdog.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct WatchdogPass {
    pub expired: i64,
    pub more: bool,
}

/// A pass of the handoff.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct HandoffPass {
    pub handed: i64,
    /// Those whose announcement waits.
    pub waiting: i64,
    pub more: bool,
}

impl Store {
    /// Asks for permits, all or none. The same request finds the permits it got before.
    ///
    /// # Errors
    /// The database's refusal.
    pub async fn fn_birth_permit_request(
        &self,
        request: &PermitRequest<'_>,
    ) -> Result<Reserved, Error> {
        let answer: Value = sqlx::query_scalar(
            "select birth.fn_birth_permit_request($1, $2, $3, $4, $5, $6, $7, $8)",
        )
        .bind(request.collection)
        .bind(sqlx::types::Json(request.asks))
        .bind(request.principal)
        .bind(request.actor_class)
        .bind(request.dot)
        .bind(request.approval_id)
        .bind(request.batch_id)
        .bind(request.key_id)
        .fetch_one(&self.pool)
        .await?;
        decode(answer)
    }

    /// Says that the insert of a permit was refused, and why. A permit that moved meanwhile stays as it is.
    ///
    /// # Errors
    /// The database's refusal.
    pub async fn fn_birth_permit_fail(
        &self,
        permit_id: Uuid,
        reason: &str,
        principal: &str,
        actor_class: &str,
    ) -> Result<PermitReport, Error> {
        let answer: Value = sqlx::query_scalar("select birth.fn_birth_permit_fail($1, $2, $3, $4)")
            .bind(permit_id)
            .bind(reason)
            .bind(principal)
            .bind(actor_class)
            .fetch_one(&self.pool)
            .await?;
        decode(answer)
    }

    /// Takes a permit back that was not used.
    ///
    /// # Errors
    /// The database's refusal.
    pub async fn fn_birth_permit_revoke(
        &self,
        revocation: &Revocation,
    ) -> Result<PermitReport, Error> {
        let signed = revocation.signed.as_ref();
        let answer: Value =
            sqlx::query_scalar("select birth.fn_birth_permit_revoke($1, $2, $3, $4, $5, $6, $7)")
                .bind(revocation.permit_id)
                .bind(&revocation.reason)
                .bind(&revocation.actor_class)
                .bind(&revocation.principal)
                .bind(&revocation.idempotency_key)
                .bind(signed.map(|signed| signed.key_id))
                .bind(signed.map(|signed| signed.signature.as_slice()))
                .fetch_one(&self.pool)
                .await?;
        decode(answer)
    }

    /// The codes as rows of the family say them: 7 for 007 where they are numbers. What is signed names the code, so it is asked first.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn fn_codes_normal(
        &self,
        collection: &str,
        codes: &[&str],
    ) -> Result<Vec<String>, Error> {
        Ok(sqlx::query_scalar("select birth.fn_codes_normal($1, $2)")
            .bind(collection)
            .bind(codes)
            .fetch_one(&self.pool)
            .await?)
    }

    /// Draws ids for permits from the sequence of the family's code: the same ids to the same batch.
    ///
    /// # Errors
    /// The database's refusal: RB002, RB021, RB022, RI001–RI003.
    pub async fn fn_codes_draw(
        &self,
        collection: &str,
        count: i32,
        batch_id: Uuid,
        principal: &str,
        actor_class: &str,
    ) -> Result<Vec<String>, Error> {
        Ok(sqlx::query_scalar("select birth.fn_codes_draw($1, $2, $3, $4, $5)")
            .bind(collection)
            .bind(count)
            .bind(batch_id)
            .bind(principal)
            .bind(actor_class)
            .fetch_one(&self.pool)
            .await?)
    }

    /// Whether an object could be born now, check by check. Writes nothing.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn fn_pre_birth_check(
        &self,
        collection: &str,
        code: &str,
        name: Option<&str>,
        dot_origin: &str,
    ) -> Result<PreBirth, Error> {
        let answer: Value = sqlx::query_scalar("select birth.fn_pre_birth_check($1, $2, $3, $4)")
            .bind(collection)
            .bind(code)
            .bind(name)
            .bind(dot_origin)
            .fetch_one(&self.pool)
            .await?;
        decode(answer)
    }

    /// The INSERT that an admission makes, for a [`Writer`] to run.
    ///
    /// # Errors
    /// The database's refusal: RB002, RB020.
    pub async fn fn_birth_statement(
        &self,
        collection: &str,
        code: &str,
        name: Option<&str>,
        payload: Option<&Value>,
    ) -> Result<Statement, Error> {
        let answer: Value = sqlx::query_scalar("select birth.fn_birth_statement($1, $2, $3, $4)")
            .bind(collection)
            .bind(code)
            .bind(name)
            .bind(payload.map(sqlx::types::Json))
            .fetch_one(&self.pool)
            .await?;
        decode(answer)
    }

    /// Lets a family admit births without permits for a while.
    ///
    /// # Errors
    /// The database's refusal.
    pub async fn fn_break_glass(
        &self,
        collection: &str,
        approval_id: Uuid,
        reason: &str,
        minutes: i32,
        actor_class: &str,
        principal: &str,
    ) -> Result<BrokenGlass, Error> {
        let answer: Value =
            sqlx::query_scalar("select birth.fn_break_glass($1, $2, $3, $4, $5, $6)")
                .bind(collection)
                .bind(approval_id)
                .bind(reason)
                .bind(minutes)
                .bind(actor_class)
                .bind(principal)
                .fetch_one(&self.pool)
                .await?;
        decode(answer)
    }

    /// Expires permits whose time ran out, and looks whether every gate is in place.
    ///
    /// # Errors
    /// The database's refusal.
    pub async fn fn_permit_watchdog(
        &self,
        limit: i32,
        principal: &str,
    ) -> Result<WatchdogPass, Error> {
        let answer: Value = sqlx::query_scalar("select birth.fn_permit_watchdog($1, $2)")
            .bind(limit)
            .bind(principal)
            .fetch_one(&self.pool)
            .await?;
        decode(answer)
    }

    /// Hands births to governance that were committed since the last pass, each once.
    ///
    /// # Errors
    /// The database's refusal.
    pub async fn fn_birth_handoff(&self, principal: &str) -> Result<HandoffPass, Error> {
        let answer: Value = sqlx::query_scalar("select birth.fn_birth_handoff($1)")
            .bind(principal)
            .fetch_one(&self.pool)
            .await?;
        decode(answer)
    }
}
