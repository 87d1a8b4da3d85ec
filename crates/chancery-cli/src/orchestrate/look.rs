//! Runs as people read them.

use chancery_engine::orchestrator::sidecar::Run;
use chancery_engine::orchestrator::{Asked, Ended, Phase, STATES, question};
use chancery_store::orchestrator::{RunMove, RunRow};
use serde::Serialize;
use serde_json::Value;

use crate::output::{pairs, short, table, time};

/// What to do next.
pub(super) fn next(ended: &Ended) -> String {
    match ended {
        Ended::ClosedOut { run_id, .. } => format!("run {run_id} is complete"),
        Ended::Paused { run_id, gate, approval_kb_id, .. } => format!(
            "{gate} waits for the sovereign:\n  cutter orchestrate approve --run-id {run_id} --as SOVEREIGN\nthen\n  cutter orchestrate resume --run-id {run_id} --approval-kb-id {approval_kb_id}"
        ),
    }
}

/// What the sovereign is asked to sign.
pub(super) fn asked(asked: &Asked) -> String {
    let mut rows = vec![
        ("run", asked.run_id.clone()),
        ("document", asked.document_id.clone()),
        ("state", asked.state.clone()),
        ("gate", asked.gate.clone()),
    ];
    let facts: Vec<(&str, String)> = asked
        .asks
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(name, _)| !matches!(name.as_str(), "run_id" | "gate" | "document_id"))
        .map(|(name, value)| (name.as_str(), plain(name, value)))
        .collect();
    rows.extend(facts);
    pairs(&rows)
}

fn plain(name: &str, value: &Value) -> String {
    if let ("expires_at", Some(micros)) = (name, value.as_i64())
        && let Ok(at) = jiff::Timestamp::from_microsecond(micros)
    {
        return format!("{micros} ({})", time(&at.to_string()));
    }
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// A run in a list.
#[derive(Debug, Serialize)]
pub(super) struct Line {
    pub(super) run_id: String,
    document_id: String,
    mode: &'static str,
    state: String,
    since: String,
    by: String,
}

impl Line {
    pub(super) fn live(run: &RunRow) -> Self {
        Self {
            run_id: run.run_name.clone(),
            document_id: run.document_id.clone(),
            mode: "live",
            state: run.state.clone(),
            since: run.last_transition_at.clone(),
            by: run.started_by.clone(),
        }
    }

    pub(super) fn rehearsal(run: &Run) -> Self {
        let since = run.phases.values().filter_map(|phase| phase.finished_utc).max();
        Self {
            run_id: run.run_id.to_string(),
            document_id: run.document_id.clone(),
            mode: "dryrun",
            state: run.state.clone(),
            since: since.unwrap_or(run.created_utc).to_string(),
            by: run.created_by.clone(),
        }
    }
}

pub(super) fn list(runs: &[Line]) -> String {
    table(
        &["run", "document", "mode", "state", "since", "by"],
        runs.iter().map(|run| {
            vec![
                run.run_id.clone(),
                run.document_id.clone(),
                run.mode.to_owned(),
                run.state.clone(),
                time(&run.since),
                run.by.clone(),
            ]
        }),
    )
}

/// A rehearsal, which only its file knows.
pub(super) fn rehearsal(run: &Run) -> String {
    let mut text = pairs(&[
        ("run", run.run_id.to_string()),
        ("document", run.document_id.clone()),
        ("mode", "dryrun".to_owned()),
        ("state", run.state.clone()),
        ("asks", question(&run.state).unwrap_or_default().to_owned()),
    ]);
    text.push_str("\n\n");
    let rows = run.phases.values().map(|phase| {
        let held = phase.gate_invariants.values().filter(|holds| **holds).count();
        vec![
            phase.phase.clone(),
            phase.finished_utc.map_or_else(String::new, |at| time(&at.to_string())),
            format!("{held} of {} hold", phase.gate_invariants.len()),
        ]
    });
    text.push_str(&table(&["phase", "at", "invariants"], rows));
    text
}

/// The fourteen states, what was found at each gate, and what comes next.
pub(super) fn status(run: &RunRow, moves: &[RunMove], sidecar: &Value) -> String {
    let mut text = pairs(&[
        ("run", run.run_name.clone()),
        ("document", run.document_id.clone()),
        ("state", run.state.clone()),
        ("entry", run.entry_id.to_string()),
        (
            "sidecar",
            sidecar["state"]
                .as_str()
                .or_else(|| sidecar["stop"].as_str())
                .unwrap_or_default()
                .to_owned(),
        ),
        ("asks", question(&run.state).unwrap_or_default().to_owned()),
    ]);
    text.push_str("\n\n");
    let rows = STATES.iter().map(|state| {
        let reached = moves.iter().rev().find(|one| one.to == *state);
        let gate =
            Phase::ALL.into_iter().find(|phase| phase.to() == *state).map_or("", Phase::gate);
        let invariants = reached.and_then(|one| one.evidence["invariants"].as_object());
        let held = invariants.map_or_else(String::new, |all| {
            format!(
                "{} of {} hold",
                all.values().filter(|v| **v == Value::Bool(true)).count(),
                all.len()
            )
        });
        vec![
            if run.state == *state {
                ">"
            } else if reached.is_some() {
                "x"
            } else {
                ""
            }
            .to_owned(),
            (*state).to_owned(),
            gate.to_owned(),
            reached.map_or_else(String::new, |one| time(&one.at)),
            held,
            reached.map_or_else(String::new, |one| one.principal.clone()),
            reached.map_or_else(String::new, |one| short(&one.hash)),
        ]
    });
    text.push_str(&table(&["", "state", "gate", "at", "invariants", "by", "hash"], rows));
    let halts = moves.iter().filter(|one| !STATES.contains(&one.to.as_str()));
    for one in halts {
        let why = one.reason.as_deref().unwrap_or_default();
        text.push_str(&format!("\n{}  {}  {}  {why}", one.seq, time(&one.at), one.to));
    }
    text
}
