//! The sovereign voids a run: by a signed document, with the request given up and the drafts taken back.

use chancery_model::cutter::abandon_evidence;
use chancery_model::envelope::Move;
use chancery_store::orchestrator::{RunReport, RunRow, Void};
use chancery_store::{Role, Store, Target};
use serde_json::json;

use super::approve::put_signed;
use super::document::{page, path};
use super::stop::Stop;
use crate::Error;
use crate::run::Actor;

/// Voids a run. Repeating it changes nothing.
///
/// # Errors
/// The database's refusal; then nothing changed.
pub async fn void(
    target: &Target,
    actor: &Actor,
    run: &RunRow,
    reason: &str,
) -> Result<RunReport, Stop> {
    let void_kb_id = path(&run.run_name, "void");
    let facts = json!({ "run_id": run.run_name, "voids": true, "document_id": run.document_id });
    let body = page("Run voided", run, reason, &facts);
    let evidence = json!({ "void_kb_id": void_kb_id, "audit_ref": void_kb_id, "event": { "approval_kb_id": void_kb_id } });
    let statement = |run_kind, run_id, to, trigger_ref, evidence, key: &str| {
        let statement = Move {
            run_kind,
            run_id,
            to,
            principal: &actor.principal,
            actor_class: "sovereign",
            trigger_kind: "rpc",
            trigger_ref,
            evidence,
            reason: Some(reason),
            idempotency_key: key,
            birth: None,
        }
        .statement();
        actor.sign_statement(&statement)
    };
    let entry_evidence = abandon_evidence(reason, &void_kb_id);
    let entry_key = format!("void:{}", run.run_name);
    let signed = statement(
        "orchestrator_run",
        run.run_id,
        "voided_sovereign",
        "orchestrate_void",
        &evidence,
        "void",
    )?;
    let of_entry = statement(
        "cut_request",
        run.entry_id,
        "abandoned",
        "abandon",
        &entry_evidence,
        &entry_key,
    )?;
    let store = Store::begin(target, Role::CutterReview).await.map_err(Error::from)?;
    let done = async {
        if run.state != "voided_sovereign" {
            put_signed(&store, actor, &void_kb_id, "void", &body, "void").await?;
        }
        let void = Void {
            run_id: run.run_id,
            evidence: &evidence,
            reason,
            principal: &actor.principal,
            signed,
            entry_evidence: &entry_evidence,
            entry_signature: of_entry.map(|signed| signed.signature),
        };
        Ok::<_, Error>(store.fn_orchestrate_void(&void).await?)
    }
    .await;
    match done {
        Ok(report) => {
            store.commit().await.map_err(Error::from)?;
            Ok(report)
        }
        Err(error) => {
            store.roll_back().await;
            Err(Stop::from(error).of_run(&run.run_name))
        }
    }
}
