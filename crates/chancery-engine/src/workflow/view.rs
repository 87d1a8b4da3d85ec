//! Where a run stands, and why it has its colour.

use std::time::Duration;

use chancery_model::refusal::Code;
use chancery_store::Store;
use chancery_store::workflow::{
    LoggedMove, NoteRow, SnapshotRow, WaitRow, WorkRow, WorkflowRunRow,
};
use serde::Serialize;
use serde_json::json;
use uuid::Uuid;

use crate::Error;
use crate::cutter::{now_micros, refused};

/// A run with its steps, and what explains its colour.
#[derive(Debug, Clone, Serialize)]
pub struct Status {
    #[serde(flatten)]
    pub run: WorkflowRunRow,
    /// Nothing for a run that is gray or green.
    pub why: Option<Why>,
    pub steps: Vec<WorkRow>,
    pub tasks: Vec<WorkRow>,
    /// Steps that cannot begin because of one before them.
    pub held_up: Vec<HeldUp>,
    /// The keys of the steps on the longest chain that is not finished.
    pub critical_path: Vec<String>,
}

/// The decisive step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Why {
    pub step: String,
    pub state: String,
    /// What the step says of itself.
    pub detail: Option<String>,
}

/// A step that cannot begin, and what holds it up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HeldUp {
    pub step: String,
    pub by: String,
}

/// A step or task with all that is known of it.
#[derive(Debug, Clone, Serialize)]
pub struct Detail {
    #[serde(flatten)]
    pub work: WorkRow,
    pub sub_run: Option<Uuid>,
    pub waits: Vec<WaitRow>,
    pub notes: Vec<NoteRow>,
    pub inputs_and_outputs: Vec<SnapshotRow>,
    pub history: Vec<LoggedMove>,
}

/// Where a run stands.
///
/// # Errors
/// RW001 when there is no such run.
pub async fn status(store: &Store, run_id: Uuid) -> Result<Status, Error> {
    let Some(run) = store.workflow_run(run_id).await? else {
        return Err(
            refused(store, Code::RW001, json!({ "kind": "workflow_run", "id": run_id })).await
        );
    };
    let steps = store.workflow_steps(run_id).await?;
    let tasks = store.workflow_tasks(run_id).await?;
    let key = |id: Uuid| {
        let step = steps.iter().find(|step| step.run_id == id);
        step.map_or_else(|| id.to_string(), |step| step.path.clone())
    };
    let held_up = store.fn_workflow_downstream(run_id).await?;
    let held_up = held_up.into_iter().map(|(step, by)| HeldUp { step: key(step), by: key(by) });
    let held_up = held_up.collect();
    let decisive = run.decisive_step_run_id;
    let why = steps.iter().find(|step| Some(step.run_id) == decisive).map(|step| Why {
        step: step.path.clone(),
        state: run.decisive_state_code.clone().unwrap_or_else(|| step.state_code.clone()),
        detail: detail_of(step),
    });
    let on_path = steps.iter().filter(|step| step.on_critical_path);
    let critical_path = on_path.map(|step| step.path.clone()).collect();
    Ok(Status { run, why, steps, tasks, held_up, critical_path })
}

/// What a step says beside its state.
fn detail_of(step: &WorkRow) -> Option<String> {
    match step.state_code.as_str() {
        "blocked" => {
            let reason = step.block_reason.clone().unwrap_or_default();
            let severity = step.blocked_severity.as_deref().unwrap_or("yellow_dark");
            Some(format!("{reason}, {severity}"))
        }
        "ready" | "in_progress" | "waiting" if step.past_deadline => {
            Some("past its deadline".to_owned())
        }
        "waiting" => step.facet.clone(),
        "overdue" => step.deadline.as_ref().map(|deadline| format!("since {deadline}")),
        "failed" | "cannot_complete" => step.failure_class.clone(),
        _ => None,
    }
}

/// A step or task with its waits, its inputs and outputs, and its moves.
///
/// # Errors
/// When there is no answer.
pub async fn detail(store: &Store, work: WorkRow) -> Result<Detail, Error> {
    let id = work.run_id;
    let sub_run = store.workflow_sub_run(id).await?.map(|run| run.workflow_run_id);
    Ok(Detail {
        sub_run,
        waits: store.work_waits(id).await?,
        notes: store.work_notes(id).await?,
        inputs_and_outputs: store.work_snapshots(id).await?,
        history: store.workflow_history(id).await?,
        work,
    })
}

/// A point in time: RFC 3339, or so long from now, such as `90m` or `2d`.
///
/// # Errors
/// What a point in time is.
pub fn moment(text: &str) -> Result<String, String> {
    if let Ok(at) = text.parse::<jiff::Timestamp>() {
        return Ok(at.to_string());
    }
    let wrong = || {
        "a time is a duration from now, such as 30s, 90m, 2h or 7d, or RFC 3339, such as 2030-01-31T09:00:00Z"
            .to_owned()
    };
    let (number, seconds) = [("s", 1), ("m", 60), ("h", 3_600), ("d", 86_400)]
        .into_iter()
        .find_map(|(unit, seconds)| Some((text.strip_suffix(unit)?, seconds)))
        .ok_or_else(wrong)?;
    let number: u64 = number.parse().map_err(|_| wrong())?;
    let from_now = number.checked_mul(seconds).map(Duration::from_secs).ok_or_else(wrong)?;
    let micros = i64::try_from(from_now.as_micros()).map_err(|_| wrong())?;
    // Whole seconds: finer than that nobody means it.
    let at = now_micros().checked_add(micros).map(|at| at / 1_000_000 + 1).ok_or_else(wrong)?;
    jiff::Timestamp::from_second(at).map(|at| at.to_string()).map_err(|_| wrong())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_a_duration_or_rfc_3339() {
        assert_eq!(moment("2030-01-31T09:00:00+07:00").as_deref(), Ok("2030-01-31T02:00:00Z"));
        let later: jiff::Timestamp = moment("2h").expect("a time").parse().expect("RFC 3339");
        let seconds = later.as_microsecond() - now_micros();
        assert!((7_199_000_000..=7_202_000_000).contains(&seconds), "{seconds}");
        for wrong in ["", "2", "h", "-1h", "tomorrow", "2030-01-31", "99999999999999999999d"] {
            assert!(moment(wrong).is_err(), "{wrong}");
        }
    }
}
