//! Steps and tasks.

use chancery_api::Nothing;
use chancery_api::id::{StepRunId, TaskRunId, WaitId};
use chancery_api::work::{
    ANSWER_WAIT, AnswerWait, Answered as AnsweredWait, CHECKPOINT_STEP, CHECKPOINT_TASK,
    COMMENT_STEP, COMMENT_TASK, Checkpoint, Comment, ESCALATE_STEP, ESCALATE_TASK, EXTEND_STEP,
    EXTEND_TASK, EscalateBlock, Escalated, Extend, Extended, MOVE_STEP, MOVE_TASK, MoveWork, Moved,
    Noted, PinnedUnit, STEP, TASK, Work, WorkShown,
};
use chancery_engine::workflow as engine;
use chancery_model::refusal::Code;
use chancery_store::workflow::WorkRow;
use serde_json::{Value, json};

use super::common::{actions, refused, require_version, said};
use super::page::told;
use super::{Answered, Call, Routes};
use crate::problem::{Fault, Problem};

pub(super) fn bind(routes: Routes) -> Routes {
    routes
        .on(&STEP, show)
        .on(&TASK, show)
        .on(&MOVE_STEP, move_it)
        .on(&MOVE_TASK, move_it)
        .on(&EXTEND_STEP, extend)
        .on(&EXTEND_TASK, extend)
        .on(&ESCALATE_STEP, escalate)
        .on(&ESCALATE_TASK, escalate)
        .on(&COMMENT_STEP, comment)
        .on(&COMMENT_TASK, comment)
        .on(&CHECKPOINT_STEP, checkpoint)
        .on(&CHECKPOINT_TASK, checkpoint)
        .on(&ANSWER_WAIT, answer_wait)
}

/// The step or task that the path names. One that the reader may not see is none.
async fn found<Q, B>(call: &Call<Q, B>) -> Result<WorkRow, Problem> {
    let (kind, id) = if call.path.contains_key("task") {
        ("task", call.id::<TaskRunId>("task")?.0)
    } else {
        ("step", call.id::<StepRunId>("step")?.0)
    };
    let store = call.store();
    if store.fn_work_seen(kind, id, call.reader()).await?
        && let Some(row) = store.work(id).await?
        && row.run_kind == kind
    {
        return Ok(row);
    }
    Err(refused(store, Code::RW001, json!({ "kind": kind, "id": id })).await)
}

/// A row in the words of the API: a task has an id beside that of its step.
fn work(row: &WorkRow) -> Result<Work, Problem> {
    let (task, id) = (row.run_kind == "task", row.run_id);
    let mut row = json!(row);
    if let Some(row) = row.as_object_mut() {
        row.remove("run_id");
    }
    let mut work: Work = told(row)?;
    work.task_id = task.then(|| id.into());
    Ok(work)
}

async fn show(call: Call<Nothing, Nothing>) -> Result<Answered<WorkShown>, Problem> {
    let row = found(&call).await?;
    let store = call.store();
    let (id, kind, seq, run) = (row.run_id, row.run_kind.clone(), row.seq, row.workflow_run_id);
    let detail = engine::detail(store, row).await?;
    let reads = call.bearer.as_ref().is_some_and(|bearer| bearer.may("doc.read"));
    let pinned_unit = store.pinned_unit(id).await?.map(|pinned| PinnedUnit {
        unit_id: pinned.unit_id.into(),
        address: pinned.address,
        version: pinned.version,
        title: pinned.title,
        text: reads.then_some(pinned.text),
    });
    let tasks = if kind == "step" {
        let tasks = store.workflow_tasks(run).await?;
        tasks.iter().filter(|task| task.step_run_id == id).map(work).collect::<Result<_, _>>()?
    } else {
        Vec::new()
    };
    let shown = WorkShown {
        sub_run_id: detail.sub_run.map(Into::into),
        pinned_unit,
        tasks,
        waits: told(detail.waits)?,
        notes: told(detail.notes)?,
        inputs_and_outputs: told(detail.inputs_and_outputs)?,
        history: told(detail.history)?,
        actions: actions(&call, &kind, id).await?,
        work: work(&detail.work)?,
    };
    Ok(Answered::from(shown).version(seq))
}

async fn move_it(call: Call<Nothing, MoveWork>) -> Result<Answered<Moved>, Problem> {
    let row = found(&call).await?;
    require_version(&call, row.run_id, row.seq).await?;
    let MoveWork { call: name, evidence, document, reason, actor_class } = &call.body;
    let document = document.clone().map(Value::Object);
    let said = said(&call, actor_class.as_ref(), reason.as_ref(), None);
    let actor = call.actor().await?;
    let report =
        engine::call(call.store(), &actor, &said, &row, name, evidence, document.as_ref()).await?;
    Ok(told::<Moved>(report)?.into())
}

async fn extend(call: Call<Nothing, Extend>) -> Result<Answered<Extended>, Problem> {
    let row = found(&call).await?;
    let Extend { until, reason, actor_class } = &call.body;
    // PostgreSQL would also take words such as `tomorrow`; what is promised is RFC 3339.
    let until: jiff::Timestamp = until
        .parse()
        .map_err(|_| Problem::of(Fault::RequestInvalid, "until: a time as RFC 3339 writes it"))?;
    let said = said(&call, actor_class.as_ref(), Some(reason), None);
    let actor = call.actor().await?;
    let done = engine::extend(call.store(), &actor, &said, &row, &until.to_string()).await?;
    Ok(told::<Extended>(done)?.into())
}

async fn escalate(call: Call<Nothing, EscalateBlock>) -> Result<Answered<Escalated>, Problem> {
    let row = found(&call).await?;
    let EscalateBlock { reason, approval_id, actor_class } = &call.body;
    let said = said(&call, actor_class.as_ref(), Some(reason), None);
    let actor = call.actor().await?;
    let approval = approval_id.map(|id| id.0);
    let done = engine::escalate_block(call.store(), &actor, &said, &row, approval).await?;
    Ok(told::<Escalated>(done)?.into())
}

async fn comment(call: Call<Nothing, Comment>) -> Result<Answered<Noted>, Problem> {
    let row = found(&call).await?;
    let Comment { text, actor_class } = &call.body;
    let said = said(&call, actor_class.as_ref(), Some(text), None);
    let actor = call.actor().await?;
    Ok(told::<Noted>(engine::comment(call.store(), &actor, &said, &row).await?)?.into())
}

async fn checkpoint(call: Call<Nothing, Checkpoint>) -> Result<Answered<Noted>, Problem> {
    let row = found(&call).await?;
    let Checkpoint { label, facts, actor_class } = &call.body;
    let said = said(&call, actor_class.as_ref(), Some(label), None);
    let actor = call.actor().await?;
    let facts = Value::Object(facts.clone());
    let noted = engine::checkpoint(call.store(), &actor, &said, &row, &facts).await?;
    Ok(told::<Noted>(noted)?.into())
}

async fn answer_wait(call: Call<Nothing, AnswerWait>) -> Result<Answered<AnsweredWait>, Problem> {
    let (store, id) = (call.store(), call.id::<WaitId>("wait")?.0);
    if !store.fn_work_seen("wait", id, call.reader()).await? {
        return Err(refused(store, Code::RW001, json!({ "kind": "wait", "id": id })).await);
    }
    let AnswerWait { proof, actor_class } = &call.body;
    let said = said(&call, actor_class.as_ref(), None, None);
    let actor = call.actor().await?;
    let proof = Value::Object(proof.clone());
    let done = engine::answer(store, &actor, &said, id, &proof).await?;
    Ok(told::<AnsweredWait>(done)?.into())
}
