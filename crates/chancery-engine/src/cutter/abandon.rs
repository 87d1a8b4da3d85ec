//! ABANDON: a request is given up for good, by the sovereign.

use chancery_model::cutter::abandon_evidence;
use chancery_model::envelope::Move;
use chancery_store::Store;
use chancery_store::cutter::{Abandon, EntryReport};
use uuid::Uuid;

use super::RUN_KIND;
use super::retry::Retry;
use crate::Error;
use crate::run::Actor;

/// Why a request is given up.
#[derive(Debug, Clone, Default)]
pub struct AbandonRequest {
    pub reason: String,
    /// What it rests on; the reason by default.
    pub audit_ref: Option<String>,
    /// By default a request is given up once.
    pub idempotency_key: Option<String>,
}

/// Gives a request up; what was cut and not verified is taken back.
///
/// # Errors
/// The database's refusal.
pub async fn abandon(
    store: &Store,
    actor: &Actor,
    entry_id: Uuid,
    request: &AbandonRequest,
) -> Result<EntryReport, Error> {
    let audit_ref = request.audit_ref.as_deref().unwrap_or(&request.reason);
    let idempotency_key =
        request.idempotency_key.clone().unwrap_or_else(|| format!("abandon:{entry_id}"));
    let statement = Move {
        run_kind: RUN_KIND,
        run_id: entry_id,
        to: "abandoned",
        principal: &actor.principal,
        actor_class: "sovereign",
        trigger_kind: "rpc",
        trigger_ref: "abandon",
        evidence: &abandon_evidence(&request.reason, audit_ref),
        reason: Some(&request.reason),
        idempotency_key: &idempotency_key,
        birth: None,
    }
    .statement();
    let abandon = Abandon {
        entry_id,
        reason: request.reason.clone(),
        audit_ref: audit_ref.to_owned(),
        principal: actor.principal.clone(),
        signed: actor.sign_statement(&statement)?,
        idempotency_key,
    };
    let mut retry = Retry::new(store);
    loop {
        match store.fn_abandon(&abandon).await {
            Ok(report) => return Ok(report),
            Err(error) => retry.or_give_up(error.into()).await?,
        }
    }
}
