//! A run as it goes on: each move as it happens, until the run is over.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use chancery_engine::workflow::{Status, status};
use chancery_store::Store;
use serde_json::json;
use uuid::Uuid;

use super::look::note_of;
use crate::Context;
use crate::failure::{Failure, Outcome};
use crate::output::time;

/// So often it is looked.
const EVERY: Duration = Duration::from_millis(300);
/// After so long without a first move somebody should look whether a host runs.
const NOBODY: Duration = Duration::from_secs(5);

/// Says what happens. The run does not need us: Ctrl-C ends only the looking.
pub(super) async fn follow(
    context: &mut Context,
    store: &Store,
    run: Uuid,
    from_the_start: bool,
) -> Result<Outcome, Failure> {
    let mut seen = BTreeMap::new();
    let began = Instant::now();
    let mut asked_for_a_host = false;
    let mut first = !from_the_start;
    loop {
        let now = status(store, run).await?;
        let moves = told(&mut seen, &now);
        // What is there already was shown, or is no news.
        if !std::mem::take(&mut first) {
            for (at, path, state, note) in moves {
                if context.out.is_json() {
                    let line = json!({ "at": at, "what": path, "state": state, "note": note });
                    context.out.line(&line.to_string())?;
                } else {
                    let note = if note.is_empty() { note } else { format!("  {note}") };
                    context.out.line(&format!("{}  {path}  {state}{note}", time(&at)))?;
                }
            }
        }
        match now.run.state_code.as_str() {
            "completed" => return Ok(Outcome::Done),
            "cancelled" => return Ok(Outcome::Failed),
            _ => {}
        }
        if !asked_for_a_host && nothing_began(&now) && began.elapsed() > NOBODY {
            asked_for_a_host = true;
            context.out.note("nothing begins; is a host running? Start one with `chancery serve`");
        }
        tokio::select! {
            () = tokio::time::sleep(EVERY) => {}
            _ = tokio::signal::ctrl_c() => {
                context.out.note(&format!(
                    "the run goes on; look again with `chancery workflow status {run} --follow`"
                ));
                return Ok(Outcome::Done);
            }
        }
    }
}

fn nothing_began(now: &Status) -> bool {
    now.run.state_code == "in_progress"
        && now.steps.iter().all(|step| step.state_code == "not_started" && !step.skipped)
}

type Line = (String, String, String, String);

/// What moved since the last look, the oldest first.
fn told(seen: &mut BTreeMap<String, (i64, bool)>, now: &Status) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    let mut is_new = |path: &str, mark: (i64, bool)| {
        seen.insert(path.to_owned(), mark).is_none_or(|before| before != mark)
    };
    for work in now.steps.iter().chain(&now.tasks) {
        let fresh = is_new(&work.path, (work.seq, work.skipped));
        if fresh && (work.seq > 1 || work.skipped) {
            let state = if work.skipped { "skipped" } else { &work.state_code };
            lines.push((
                work.last_transition_at.clone(),
                work.path.clone(),
                state.to_owned(),
                note_of(work),
            ));
        }
    }
    if is_new("", (now.run.seq, false)) {
        let (at, state) = (now.run.last_transition_at.clone(), now.run.state_code.clone());
        let note =
            format!("{} of {} mandatory steps", now.run.completed_count, now.run.mandatory_count);
        lines.push((at, "run".to_owned(), state, note));
    }
    // A stable order: the run's own move comes after those that led to it.
    lines.sort_by(|a, b| a.0.cmp(&b.0));
    lines
}
