//! Why a run is not begun, not gone on with, or over: the database's refusal as a stop, with the command that leads on.

use chancery_model::refusal::Code;
use chancery_store::orchestrator::RunRow;
use serde_json::Value;

use super::sidecar::Sidecar;
use super::stop::Stop;
use crate::Error;

pub(super) fn over(run: &RunRow, sidecar: &Sidecar) -> Stop {
    let why = sidecar
        .run()
        .last_error
        .as_ref()
        .map_or(String::new(), |error| format!(": {}", error.reason));
    if run.state.starts_with("voided_") {
        return Stop::new(
            "STOP_RUN_VOIDED",
            format!("run {} was voided by the sovereign", run.run_name),
            format!("start another one: `cutter orchestrate start {}`", run.document_id),
        );
    }
    Stop::new(
        "STOP_RUN_FAILED",
        format!("run {} is {}{why}", run.run_name, run.state),
        format!(
            "mend the cause, let the sovereign void the run (`cutter orchestrate void --run-id {} --reason …`), then `cutter orchestrate start {}`",
            run.run_name, run.document_id
        ),
    )
}

pub(super) fn refused_start(error: Error) -> Stop {
    let fact = |problem: &chancery_model::refusal::Problem, name: &str| {
        problem.facts.get(name).and_then(Value::as_str).map(str::to_owned)
    };
    let ways: Vec<String> = error
        .refusal()
        .map(|refusal| refusal.problems.iter().filter_map(|p| fact(p, "way")).collect())
        .unwrap_or_default();
    let code = match error.refusal().map(|refusal| refusal.code) {
        Some(Code::RO006) => "STOP_DOCUMENT_UNKNOWN",
        Some(Code::RO007 | Code::RO008) => "STOP_REPLAY_CONFLICT",
        Some(Code::RO013) => {
            let way = format!("{}, then start again", ways.join("; "));
            return Stop::new("STOP_REFUSED", error.to_string(), way).because(error);
        }
        _ => return error.into(),
    };
    if let Some(way) = ways.first() {
        return Stop::new(code, error.to_string(), way.clone()).because(error);
    }
    let hint = error.refusal().map_or_else(String::new, |refusal| refusal.hint.clone());
    let run = error
        .refusal()
        .and_then(|r| r.problems.first())
        .and_then(|p| p.facts.get("run_id"))
        .and_then(Value::as_str);
    let way = run.map_or_else(|| hint.clone(), |run| hint.replace("RUN", run));
    Stop::new(code, error.to_string(), way).because(error)
}

pub(super) fn refused_approval_stop(stop: Stop, run: &RunRow) -> Stop {
    let differs = stop
        .source
        .as_ref()
        .and_then(|error| error.refusal())
        .map(|refusal| {
            let fields = refusal
                .problems
                .iter()
                .filter_map(|p| p.facts.get("differs_in"))
                .filter_map(Value::as_str);
            fields.collect::<Vec<_>>().join(", ")
        })
        .filter(|fields| !fields.is_empty());
    let reason = differs
        .map_or_else(|| stop.reason.clone(), |fields| format!("the approval differs in {fields}"));
    Stop {
        code: "STOP_APPROVAL_REFUSED",
        reason,
        way: format!(
            "let the sovereign approve what is asked: `cutter orchestrate approve --run-id {}`",
            run.run_name
        ),
        source: stop.source,
    }
}
