//! One step or task as people read it.

use chancery_engine::workflow::{self as engine, Detail, Step};
use serde_json::Value;

use crate::Context;
use crate::failure::{Failure, Outcome};
use crate::output::{pairs, table, time, yes_no};
use crate::saying::reader;
use crate::workflow::{note_of, pic};

pub(super) async fn show(context: &mut Context, step: &Step) -> Result<Outcome, Failure> {
    let store = reader(context).await?;
    let work = engine::find(&store, step).await?;
    let detail = engine::detail(&store, work).await?;
    context.out.answer(&detail, || text(&detail))?;
    Ok(Outcome::Done)
}

fn text(detail: &Detail) -> String {
    let work = &detail.work;
    let at = |value: &Option<String>| value.as_deref().map(time).unwrap_or_default();
    let who = match work.executor_class.as_str() {
        "human" => work.pic_id.clone().unwrap_or_else(|| pic(&work.pic_rule)),
        other => other.to_owned(),
    };
    let state = if work.skipped { "skipped" } else { &work.state_code };
    let mut text = pairs(&[
        (work.run_kind.as_str(), work.path.clone()),
        ("id", work.run_id.to_string()),
        ("run", work.workflow_run_id.to_string()),
        ("title", work.name_en.clone()),
        ("", work.name_vi.clone()),
        ("state", state.to_owned()),
        ("note", note_of(work)),
        ("why", work.failure_detail.clone().unwrap_or_default()),
        ("who", who),
        ("began", at(&work.started_at)),
        ("deadline", at(&work.deadline)),
        ("overdue first", at(&work.overdue_first_at)),
        ("stale since", at(&work.stale_since)),
        ("done", at(&work.completed_at)),
        ("sub-run", detail.sub_run.map(|id| id.to_string()).unwrap_or_default()),
    ]);
    let mut part = |rows: String| {
        if !rows.is_empty() {
            text.push_str("\n\n");
            text.push_str(&rows);
        }
    };
    part(table(
        &["waits for", "of", "until", "over", "by", "proof", "id"],
        detail.waits.iter().map(|wait| {
            vec![
                wait.facet.clone(),
                wait.subject_ref.clone().unwrap_or_default(),
                at(&wait.until),
                at(&wait.resolved_at),
                wait.resolved_by.clone().unwrap_or_default(),
                wait.proof.as_ref().map(Value::to_string).unwrap_or_default(),
                wait.wait_id.to_string(),
            ]
        }),
    ));
    part(table(
        &["note", "at", "by", "text", "facts"],
        detail.notes.iter().map(|note| {
            vec![
                note.kind.clone(),
                time(&note.at),
                note.principal.clone(),
                note.text.clone(),
                note.facts.as_ref().map(Value::to_string).unwrap_or_default(),
            ]
        }),
    ));
    part(table(
        &["what", "correction", "try", "at", "document"],
        detail.inputs_and_outputs.iter().map(|one| {
            vec![
                one.snapshot_kind.clone(),
                one.cycle_no.to_string(),
                one.attempt.to_string(),
                time(&one.taken_at),
                one.document.to_string(),
            ]
        }),
    ));
    part(table(
        &["move", "at", "from", "to", "by", "as", "trigger", "signed", "reason"],
        detail.history.iter().map(|one| {
            vec![
                one.seq.to_string(),
                time(&one.at),
                one.from_state.clone().unwrap_or_else(|| "∅".to_owned()),
                one.to_state.clone(),
                one.principal.clone(),
                one.actor_class.clone(),
                one.trigger_ref.clone(),
                yes_no(one.signed),
                one.reason.clone().unwrap_or_default(),
            ]
        }),
    ));
    text
}
