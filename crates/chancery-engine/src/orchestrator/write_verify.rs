//! The verifier's part of a run: another process, another login, another key.

use chancery_model::cutter::{
    VERIFIER_LANE, Verification, escalation_id, rollback_id, verifier_attested,
};
use chancery_model::refusal::Code;
use chancery_store::Store;
use chancery_store::orchestrator::{Gate, RunReport, RunRow};
use serde_json::json;

use super::document::page;
use super::plan::Ids;
use super::stop::Stop;
use crate::Error;
use crate::cutter::{Retry, VERIFIER_TOOL, hand_on_verification, inspect, sign_in_lane};
use crate::run::Actor;

/// Looks at what the run wrote, from the source alone, and records the verdict.
///
/// # Errors
/// The database's refusal; then nothing changed.
pub async fn write_verify(store: &Store, actor: &Actor, run: &RunRow) -> Result<RunReport, Stop> {
    let ids = Ids::of(run.run_id);
    let mut retry = Retry::new(store);
    loop {
        let evidence = store.cut_evidence(run.entry_id).await.map_err(Error::from)?;
        let evidence = evidence.ok_or_else(|| Stop::bug("the run's request is not there"))?;
        let change_set = evidence
            .change_sets
            .iter()
            .find(|set| set.uuid("change_set_id") == Some(ids.change_set));
        let Some(change_set) = change_set else {
            return Err(Stop::new(
                "STOP_REFUSED",
                format!("run {} has no change set to verify; it is {}", run.run_name, run.state),
                format!("go on with it: `cutter orchestrate resume --run-id {}`", run.run_name),
            ));
        };
        let keys = store.signing_keys().await.map_err(Error::from)?;
        let inspection = inspect(&evidence, change_set, &keys);
        let verdict = if inspection.findings.is_empty() { "pass" } else { "fail" };
        let failed = verdict == "fail";
        let findings = inspection.document();
        let digest = change_set.bytes("change_set_digest").unwrap_or_default();
        let verification = Verification {
            verify_result_id: ids.verify_result,
            change_set_id: ids.change_set,
            change_set_digest: &digest,
            executor_signature_id: change_set.uuid("executor_signature_id").unwrap_or_default(),
            verdict,
            findings: &findings,
            prior_verify_result_id: None,
            rollback_change_set_id: failed.then(|| rollback_id(ids.verify_result)),
            escalation_ref: failed.then(|| escalation_id(ids.verify_result)),
        };
        let prior = store.lane_end(VERIFIER_LANE, &actor.principal).await.map_err(Error::from)?;
        let attested =
            verifier_attested(run.entry_id, &verification, change_set.text("manifest_version"));
        let signature = sign_in_lane(
            actor,
            VERIFIER_LANE,
            VERIFIER_TOOL,
            ids.verifier_signature,
            prior.as_ref(),
            &attested,
        )?;
        let facts = json!({ "verdict": verdict, "checks": findings["checks"], "code": failed.then_some("STOP_VERIFICATION_FAILED") });
        let words = if failed {
            "The verifier found differences. The cut is taken back, and an escalation asks for somebody to look at it."
        } else {
            "The verifier cut the source again and found every row as it must be."
        };
        let document = page("Write verified", run, words, &facts);
        let gate = Gate {
            run_id: run.run_id,
            evidence: &facts,
            document: &document,
            principal: &actor.principal,
        };
        match store.fn_write_verify(gate, verdict, &findings, VERIFIER_TOOL, &signature).await {
            Ok(report) => return Ok(report),
            Err(error)
                if error.refusal().is_some_and(|r| matches!(r.code, Code::RC009 | Code::RC013)) =>
            {
                if let Err(error) = retry.or_give_up(error.into()).await {
                    let error = hand_on_verification(store, actor, run.entry_id, error).await;
                    return Err(error.into());
                }
            }
            Err(error) => return Err(Error::from(error).into()),
        }
    }
}
