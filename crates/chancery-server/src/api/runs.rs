//! Runs of custom machines.

use axum::http::header::IF_MATCH;
use chancery_api::runs::{
    HISTORY, HistoryLine, MOVES, Moved, NewMove, NewRun, PREVIEW, Preview, RUN, RUNS, Run,
    RunShown, RunsQuery, START, Trigger,
};
use chancery_api::{Nothing, Page, PageQuery};

use chancery_engine::run::{self as engine, Actor, Birth, Request};
use chancery_model::refusal::Code;
use chancery_store::Store;
use chancery_store::fsm::{RunFilter, RunRow};
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::page::{after, after_time, limit, page, told};
use super::refusal::refused;
use super::{Answered, Call, Routes};
use crate::problem::Problem;

pub(super) fn bind(routes: Routes) -> Routes {
    routes
        .on(&RUNS, list)
        .on(&START, start)
        .on(&RUN, show)
        .on(&HISTORY, history)
        .on(&MOVES, make_move)
        .on(&PREVIEW, preview)
}

async fn list(call: Call<RunsQuery, Nothing>) -> Result<Answered<Page<Run>>, Problem> {
    let RunsQuery { machine, state, after, limit: most } = &call.query;
    let limit = limit(*most)?;
    let filter = RunFilter {
        machine: machine.clone(),
        state: state.clone(),
        after: after_time(after.as_deref())?,
        limit: limit + 1,
    };
    let runs = call.store().runs_page(&filter).await?;
    Ok(page(runs, limit, |run| (run.created_at.clone(), run.run_id))?.into())
}

async fn start(call: Call<Nothing, NewRun>) -> Result<Answered<Moved>, Problem> {
    let actor = call.actor().await?;
    let NewRun { machine, data, parent_run_id, evidence, reason, actor_class, trigger } =
        call.body.clone();
    let birth = Birth {
        run_id: None,
        data: Some(Value::Object(data)),
        parent: parent_run_id.map(|id| id.0),
        trace_id: call.trace_id(),
        request: request(None, evidence, reason, actor_class, trigger, Some(call.key())),
    };
    let report = engine::start(call.store(), &actor, &machine, &birth).await?;
    Ok(told::<Moved>(report)?.into())
}

async fn show(call: Call<Nothing, Nothing>) -> Result<Answered<RunShown>, Problem> {
    let run = find(call.store(), id(&call)?).await?;
    let actions = call.store().fn_actions("custom", run.run_id, call.reader()).await?;
    let shown = RunShown { run: told(&run)?, actions: told(actions)? };
    Ok(Answered::from(shown).version(run.seq))
}

async fn history(call: Call<PageQuery, Nothing>) -> Result<Answered<Page<HistoryLine>>, Problem> {
    let limit = limit(call.query.limit)?;
    let before: Option<i64> = after(call.query.after.as_deref())?;
    let run = find(call.store(), id(&call)?).await?;
    let moves = call.store().history_page(run.run_id, before.unwrap_or(0), limit + 1).await?;
    Ok(page(moves, limit, |one| one.seq)?.into())
}

async fn make_move(call: Call<Nothing, NewMove>) -> Result<Answered<Moved>, Problem> {
    let run_id = id(&call)?;
    // Who says everything asks the door alone, which looks for the run as well.
    let whole = call.body.actor_class.is_some() && call.body.trigger.is_some();
    if !whole || call.headers.contains_key(IF_MATCH) {
        require_seq(&call, &find(call.store(), run_id).await?).await?;
    }
    let actor = call.actor().await?;
    let NewMove { to, from, evidence, reason, actor_class, trigger } = call.body.clone();
    let request = request(from, evidence, reason, actor_class, trigger, Some(call.key()));
    let report = engine::make_move(call.store(), &actor, run_id, &to, &request).await?;
    Ok(told::<Moved>(report)?.into())
}

/// A run that was moved by this very request is not one that somebody moved meanwhile.
async fn require_seq<Q, B>(call: &Call<Q, B>, run: &RunRow) -> Result<(), Problem> {
    let Err(changed) = call.require_version(run.seq) else { return Ok(()) };
    let history = call.store().history(run.run_id).await?;
    if history.iter().any(|one| one.idempotency_key == call.key()) {
        return Ok(());
    }
    Err(changed)
}

async fn preview(call: Call<Nothing, NewMove>) -> Result<Answered<Preview>, Problem> {
    let run = find(call.store(), id(&call)?).await?;
    let actor = Actor::new(call.reader(), None);
    let NewMove { to, from, evidence, reason, actor_class, trigger } = call.body.clone();
    let request = request(from, evidence, reason, actor_class, trigger, None);
    let preview = engine::preview(call.store(), &actor, run.run_id, &to, &request).await?;
    Ok(told::<Preview>(preview)?.into())
}

fn request(
    from: Option<String>,
    evidence: Map<String, Value>,
    reason: Option<String>,
    actor_class: Option<String>,
    trigger: Option<Trigger>,
    key: Option<&str>,
) -> Request {
    Request {
        from,
        actor_class,
        trigger: trigger.map(|trigger| (trigger.kind, trigger.name)),
        idempotency_key: key.map(str::to_owned),
        evidence: Some(Value::Object(evidence)),
        reason,
    }
}

fn id<Q, B>(call: &Call<Q, B>) -> Result<Uuid, Problem> {
    Ok(call.id::<chancery_api::id::RunId>("run")?.0)
}

async fn find(store: &Store, run_id: Uuid) -> Result<RunRow, Problem> {
    match store.run(run_id).await? {
        Some(run) => Ok(run),
        None => {
            let facts = json!({ "run_kind": "custom", "run_id": run_id });
            Err(refused(store, Code::RS001, facts).await)
        }
    }
}
