//! SG_3: a run that stops says so in the database, with a report that holds everything and the command to go on.

use chancery_model::envelope::Move;
use chancery_store::Store;
use chancery_store::orchestrator::{Gate, Halt, RunRow};
use serde_json::{Value, json};

use super::document::{approval_path, page, path};
use super::phase::{Phase, question};
use super::sidecar::{Run, Sidecar};
use super::stop::Stop;
use crate::Error;
use crate::run::Actor;

/// Where a run is halted, and why.
pub(super) struct Halted {
    /// `STOP_…`.
    pub(super) code: &'static str,
    pub(super) to: String,
    pub(super) facts: Value,
}

/// Halts a run; gives the way forward.
pub(super) async fn halt(
    store: &Store,
    actor: &Actor,
    sidecar: &Sidecar,
    run: &RunRow,
    phase: Phase,
    halted: &Halted,
    stop: &Stop,
) -> Result<String, Stop> {
    let way = way_on(run, &halted.to, run.seq + 1);
    let mut evidence = halted.facts.clone();
    evidence["code"] = json!(halted.code);
    evidence["gate"] = json!(phase.gate());
    let report_kb_id = path(&run.run_name, &format!("stop-route-report-{}", run.seq + 1));
    evidence["report_kb_id"] = json!(report_kb_id);
    let reason = shortened(&stop.reason);
    evidence["event"] =
        json!({ "gate": phase.gate(), "reason": halted.code, "report_kb_id": report_kb_id });
    let document = report(run, sidecar.run(), &evidence, &reason, &way);
    let key = format!("halt:{}", run.seq + 1);
    let halt = Halt {
        gate: Gate {
            run_id: run.run_id,
            evidence: &evidence,
            document: &document,
            principal: &actor.principal,
        },
        to: &halted.to,
        actor_class: "executor_dot991",
        reason: &reason,
        idempotency_key: &key,
        signed: None,
    };
    store.fn_orchestrate_halt(&halt).await.map_err(Error::from)?;
    Ok(way)
}

/// The sovereign stops a run; without a key of the caller's, once from where it stands.
///
/// # Errors
/// The database's refusal; then nothing changed.
pub async fn stop(
    store: &Store,
    actor: &Actor,
    run: &RunRow,
    sidecar: Option<&Run>,
    reason: &str,
    key: Option<&str>,
) -> Result<(), Stop> {
    let to = "stopped_sovereign";
    let report_kb_id = path(&run.run_name, &format!("stop-route-report-{}", run.seq + 1));
    let evidence = json!({
        "code": "STOP_SOVEREIGN", "report_kb_id": report_kb_id,
        "event": { "gate": run.state, "reason": "STOP_SOVEREIGN", "report_kb_id": report_kb_id },
    });
    let way = way_on(run, to, run.seq + 1);
    let document = match sidecar {
        Some(sidecar) => report(run, sidecar, &evidence, reason, &way),
        None => page("Stop-route report", run, &format!("{reason}\n\n{way}"), &evidence),
    };
    let key = key.map_or_else(|| format!("halt:{}", run.seq + 1), str::to_owned);
    let statement = Move {
        run_kind: "orchestrator_run",
        run_id: run.run_id,
        to,
        principal: &actor.principal,
        actor_class: "sovereign",
        trigger_kind: "rpc",
        trigger_ref: "orchestrate_stop",
        evidence: &evidence,
        reason: Some(reason),
        idempotency_key: &key,
        birth: None,
    }
    .statement();
    let halt = Halt {
        gate: Gate {
            run_id: run.run_id,
            evidence: &evidence,
            document: &document,
            principal: &actor.principal,
        },
        to,
        actor_class: "sovereign",
        reason,
        idempotency_key: &key,
        signed: actor.sign_statement(&statement)?,
    };
    let halted = store.fn_orchestrate_halt(&halt).await;
    halted.map_err(|error| Stop::from(Error::from(error)).of_run(&run.run_name))?;
    Ok(())
}

fn report(run: &RunRow, sidecar: &Run, evidence: &Value, reason: &str, way: &str) -> String {
    let dump = json!({ "stop": evidence, "sidecar": sidecar });
    page("Stop-route report", run, &format!("{reason}\n\n{way}"), &dump)
}

/// The exact commands that lead on from a halt that is the run's `seq`th move.
pub(super) fn way_on(run: &RunRow, to: &str, seq: i64) -> String {
    let name = &run.run_name;
    let executor = &run.started_by;
    let again = format!("cutter orchestrate start {} --as {executor}", run.document_id);
    if to.starts_with("voided_") {
        return format!("start another run:\n  {again}");
    }
    if to.starts_with("failed_") {
        return format!(
            "mend the cause, then\n  cutter orchestrate void --run-id {name} --reason … --as SOVEREIGN\n  {again}"
        );
    }
    let resume = format!("cutter orchestrate resume --run-id {name}");
    let approval = approval_path(name, question(to).unwrap_or_default(), seq);
    format!(
        "when the sovereign lets it go on:\n  {resume} --as {executor}\n  cutter orchestrate approve --run-id {name} --as SOVEREIGN\n  {resume} --approval-kb-id {approval} --as {executor}"
    )
}

fn shortened(reason: &str) -> String {
    reason.chars().take(2000).collect()
}
