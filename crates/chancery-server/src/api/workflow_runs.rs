//! Runs of workflows.

use std::pin::pin;

use axum::body::{Body, Bytes};
use axum::http::HeaderValue;
use axum::http::header::CONTENT_TYPE;
use axum::response::Response;
use chancery_api::id::WorkflowRunId;
use chancery_api::proposals::Say;
use chancery_api::workflow_runs::{
    CANCEL, CancelRun, DOWNSTREAM, Downstream, PAUSE, RESUME, ROLLUP, RUN_GRAPH, RUN_SHOWN, RUNS,
    Rollup, RunShown, RunsQuery, SNAPSHOT, SnapshotStep, WorkflowRun,
};
use chancery_api::workflows::{GraphQuery, NodeState, RunMoved};
use chancery_api::{Nothing, Page};
use chancery_engine::workflow::{self as engine, RunMove};
use chancery_model::refusal::Code;
use chancery_store::workflow::{Pictured, SnapshotPart, WorkflowRunRow};
use futures_util::{StreamExt as _, stream};
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use uuid::Uuid;

use super::common::{actions, refused, require_version, said};
use super::page::{after_time, limit, page, told};
use super::workflows::picture;
use super::{Answered, Call, Routes};
use crate::problem::{Fault, Problem};

/// So much of a snapshot is sent at once.
const CHUNK: usize = 32 * 1024;
/// The lists of a snapshot, in their order, by the name of their parts.
const LISTS: [(&str, &str); 4] =
    [("step", "steps"), ("task", "tasks"), ("wait", "waits"), ("way", "ways")];

pub(super) fn bind(routes: Routes) -> Routes {
    routes
        .on(&RUNS, list)
        .on(&RUN_SHOWN, show)
        .on_raw(&SNAPSHOT, snapshot)
        .on_raw(&RUN_GRAPH, graph)
        .on(&ROLLUP, rollup)
        .on(&DOWNSTREAM, downstream)
        .on(&PAUSE, pause)
        .on(&RESUME, resume)
        .on(&CANCEL, cancel)
}

async fn list(call: Call<RunsQuery, Nothing>) -> Result<Answered<Page<WorkflowRun>>, Problem> {
    let RunsQuery { after, limit: most, workflow, state, colour } = &call.query;
    let (limit, after) = (limit(*most)?, after_time(after.as_deref())?);
    let read = call
        .store()
        .workflow_run_page(
            workflow.as_deref(),
            state.as_deref(),
            colour.as_deref(),
            after.as_ref(),
            limit + 1,
        )
        .await?;
    let place = |row: &WorkflowRunRow| (row.created_at.clone(), row.workflow_run_id);
    Ok(page(read, limit, place)?.into())
}

fn missing(id: Uuid) -> Value {
    json!({ "kind": "workflow_run", "id": id })
}

async fn found<Q, B>(call: &Call<Q, B>) -> Result<WorkflowRunRow, Problem> {
    let id = call.id::<WorkflowRunId>("run")?.0;
    match call.store().workflow_run(id).await? {
        Some(row) => Ok(row),
        None => Err(refused(call.store(), Code::RW001, missing(id)).await),
    }
}

async fn show(call: Call<Nothing, Nothing>) -> Result<Answered<RunShown>, Problem> {
    let row = found(&call).await?;
    let (id, seq) = (row.workflow_run_id, row.seq);
    let shown = RunShown {
        rollup: told(call.store().fn_rollup_seen(id, call.reader()).await?)?,
        actions: actions(&call, "workflow_run", id).await?,
        run: told(row)?,
    };
    Ok(Answered::from(shown).version(seq))
}

async fn rollup(call: Call<Nothing, Nothing>) -> Result<Answered<Rollup>, Problem> {
    let id = call.id::<WorkflowRunId>("run")?.0;
    let rollup = call.store().fn_rollup_seen(id, call.reader()).await?;
    Ok(told::<Rollup>(rollup)?.into())
}

async fn downstream(call: Call<Nothing, Nothing>) -> Result<Answered<Downstream>, Problem> {
    let id = call.id::<WorkflowRunId>("run")?.0;
    let items = told(call.store().fn_downstream_seen(id, call.reader()).await?)?;
    Ok(Downstream { items }.into())
}

/// Makes one JSON text of the parts of a snapshot.
#[derive(Default)]
struct Snapshot {
    text: String,
    /// How many lists were begun.
    begun: usize,
    /// Whether the list that is open has something in it.
    filled: bool,
}

impl Snapshot {
    fn begin_lists(&mut self, up_to: usize) {
        while self.begun < up_to {
            if self.begun > 0 {
                self.text.push(']');
            }
            self.text.push_str(",\"");
            self.text.push_str(LISTS[self.begun].1);
            self.text.push_str("\":[");
            self.begun += 1;
            self.filled = false;
        }
    }

    fn push(&mut self, SnapshotPart { part, body }: &SnapshotPart) {
        if let Some(list) = LISTS.iter().position(|(name, _)| name == part) {
            self.begin_lists(list + 1);
            if self.filled {
                self.text.push(',');
            }
            self.filled = true;
            self.text.push_str(body);
        } else if part == "run" {
            self.text.push_str("{\"run\":");
            self.text.push_str(body);
        } else {
            self.begin_lists(LISTS.len());
            self.text.push_str("],\"last_event_position\":");
            self.text.push_str(body);
            self.text.push('}');
        }
    }
}

/// Sends a snapshot while it is read. It is read at the database's pace: a slow client holds no connection to it.
async fn snapshot(call: Call<Nothing, Nothing>) -> Result<Response, Problem> {
    let id = call.id::<WorkflowRunId>("run")?.0;
    let (store, reader) = (call.store().clone(), call.reader().to_owned());
    let (give, take) = mpsc::unbounded_channel::<Result<Bytes, std::io::Error>>();
    let (begin, begun) = oneshot::channel();
    tokio::spawn(async move {
        let mut parts = pin!(store.fn_run_parts(id, &reader));
        let (mut begin, mut snapshot) = (Some(begin), Snapshot::default());
        while let Some(part) = parts.next().await {
            match (part, begin.take()) {
                (Ok(part), begin) => {
                    snapshot.push(&part);
                    let whole = part.part == "end";
                    if (whole || snapshot.text.len() >= CHUNK)
                        && give.send(Ok(std::mem::take(&mut snapshot.text).into())).is_err()
                    {
                        return;
                    }
                    if let Some(begin) = begin {
                        let _ = begin.send(Ok(()));
                    }
                }
                (Err(error), Some(begin)) => {
                    let _ = begin.send(Err(error));
                    return;
                }
                (Err(error), None) => {
                    tracing::warn!(%error, "a snapshot broke off");
                    let _ = give.send(Err(std::io::Error::other("the snapshot broke off")));
                    return;
                }
            }
        }
    });
    let lost = |_| Problem::of(Fault::Internal, "nothing more is told here");
    begun.await.map_err(lost)??;
    let body = stream::unfold(take, |mut take| async move { Some((take.recv().await?, take)) });
    // What compresses answers may ask once more after the end.
    let mut response = Response::new(Body::from_stream(body.fuse()));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    Ok(response)
}

async fn graph(call: Call<GraphQuery, Nothing>) -> Result<Response, Problem> {
    if call.query.version.is_some() {
        return Err(Problem::of(Fault::QueryInvalid, "a run has one version"));
    }
    let id = call.id::<WorkflowRunId>("run")?.0;
    let mut states = Vec::new();
    {
        let mut parts = pin!(call.store().fn_run_parts(id, call.reader()));
        while let Some(part) = parts.next().await {
            let SnapshotPart { part, body } = part?;
            if part == "step" {
                states.push(state_of(&body)?);
            }
        }
    }
    picture(&call, &Pictured::Run(id), Some(states), missing(id)).await
}

fn state_of(body: &str) -> Result<NodeState, Problem> {
    let step: SnapshotStep = serde_json::from_str(body).map_err(|error| {
        tracing::error!(%error, "a step is not what the API says");
        Problem::of(Fault::Internal, "nothing more is told here")
    })?;
    Ok(NodeState {
        id: step.key,
        step_id: step.step_id,
        title: step.title,
        state: step.state,
        facet: step.facet,
        skipped: step.skipped,
        critical: step.critical,
        past_deadline: step.past_deadline,
        pic: step.pic,
        deadline: step.deadline,
        blocked_severity: step.blocked_severity,
    })
}

async fn moved(call: &Call<Nothing, Say>, what: RunMove) -> Result<Answered<RunMoved>, Problem> {
    let row = found(call).await?;
    require_version(call, row.workflow_run_id, row.seq).await?;
    let Say { reason, audit_ref, actor_class } = &call.body;
    let said = said(call, actor_class.as_ref(), reason.as_ref(), audit_ref.as_ref());
    let actor = call.actor().await?;
    let id = row.workflow_run_id;
    let report = engine::move_run(call.store(), &actor, &said, id, what).await?;
    Ok(told::<RunMoved>(report)?.into())
}

async fn pause(call: Call<Nothing, Say>) -> Result<Answered<RunMoved>, Problem> {
    moved(&call, RunMove::Pause).await
}

async fn resume(call: Call<Nothing, Say>) -> Result<Answered<RunMoved>, Problem> {
    moved(&call, RunMove::Resume).await
}

async fn cancel(call: Call<Nothing, CancelRun>) -> Result<Answered<RunMoved>, Problem> {
    let row = found(&call).await?;
    require_version(&call, row.workflow_run_id, row.seq).await?;
    let CancelRun { approval_id, reason, audit_ref, actor_class } = &call.body;
    let said = said(&call, actor_class.as_ref(), reason.as_ref(), audit_ref.as_ref());
    let actor = call.actor().await?;
    let what = RunMove::Cancel(approval_id.0);
    let id = row.workflow_run_id;
    let report = engine::move_run(call.store(), &actor, &said, id, what).await?;
    Ok(told::<RunMoved>(report)?.into())
}
