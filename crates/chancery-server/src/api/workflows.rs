//! Workflows, their pictures, and starting runs of them.

use std::sync::LazyLock;

use axum::response::Response;
use chancery_api::workflows::{
    GraphQuery, NodeState, RunMoved, START_RUN, StartRun, VersionQuery, WORKFLOW, WORKFLOW_GRAPH,
    WORKFLOWS, Workflow, WorkflowVersion,
};
use chancery_api::{Nothing, Page, PageQuery};
use chancery_engine::workflow::{self as engine, Pictures};
use chancery_model::layout::{Layout, Options};
use chancery_model::refusal::Code;
use chancery_store::workflow::Pictured;
use serde::Serialize;
use serde_json::{Value, json};

use super::common::{refused, said, versioned};
use super::page::{after, limit, page, told};
use super::{Answered, Call, Routes};
use crate::problem::{Fault, Problem};

/// Pictures are known by the digests of what they show, so one store of them serves the process.
static PICTURES: LazyLock<Pictures> = LazyLock::new(Pictures::default);

pub(super) fn bind(routes: Routes) -> Routes {
    routes
        .on(&WORKFLOWS, list)
        .on(&WORKFLOW, show)
        .on_raw(&WORKFLOW_GRAPH, graph)
        .on(&START_RUN, start)
}

async fn list(call: Call<PageQuery, Nothing>) -> Result<Answered<Page<Workflow>>, Problem> {
    let limit = limit(call.query.limit)?;
    let after: Option<String> = after(call.query.after.as_deref())?;
    let read = call.store().workflow_page(after.as_deref(), limit + 1).await?;
    Ok(page(read, limit, |one| one.workflow.clone())?.into())
}

fn unknown(name: &str, version: Option<i32>) -> Value {
    json!({ "kind": "workflow", "id": name, "version": version })
}

async fn show(call: Call<VersionQuery, Nothing>) -> Result<Answered<WorkflowVersion>, Problem> {
    let (store, name, version) = (call.store(), call.text("workflow"), call.query.version);
    let of = Pictured::Version { workflow: name.to_owned(), version };
    let found = store.workflow_version(name, version).await?;
    let seen = store.fn_definition_seen(&of, call.reader(), true).await?;
    let (Some(found), Some(seen)) = (found, seen) else {
        return Err(refused(store, Code::RW001, unknown(name, version)).await);
    };
    let digest = hex::encode(&seen.definitions.shown_sha256);
    let mut row = json!(found);
    row["definition"] = seen.definitions.shown.unwrap_or_default();
    row["hidden_steps"] = seen.hidden.into();
    Ok(Answered::from(told::<WorkflowVersion>(row)?).version(digest))
}

/// A picture as it is sent.
#[derive(Serialize)]
struct Sent<'a> {
    digest: &'a str,
    #[serde(flatten)]
    layout: &'a Layout,
    #[serde(skip_serializing_if = "Option::is_none")]
    states: Option<Vec<NodeState>>,
}

fn options(query: &GraphQuery) -> Result<Options, Problem> {
    let side = |given: Option<u32>, usual: u32| match given.unwrap_or(usual) {
        n @ 1..=100_000 => Ok(n),
        _ => Err(Problem::of(Fault::QueryInvalid, "a side is between 1 and 100000 pixels")),
    };
    let collapse = query.collapse.as_deref().unwrap_or_default();
    Ok(Options {
        width: side(query.width, 1280)?,
        height: side(query.height, 800)?,
        lanes: query.lanes.unwrap_or(true),
        collapsed: collapse.split(',').filter(|one| !one.is_empty()).map(str::to_owned).collect(),
    })
}

/// A picture for who asks; its ETag is the digest of what is shown. With states it is told anew each time.
pub(super) async fn picture(
    call: &Call<GraphQuery, Nothing>,
    of: &Pictured,
    states: Option<Vec<NodeState>>,
    missing: Value,
) -> Result<Response, Problem> {
    let options = options(&call.query)?;
    let seen = PICTURES.seen(call.store(), of, call.reader(), &options).await?;
    let Some((layout, digest)) = seen else {
        return Err(refused(call.store(), Code::RW001, missing).await);
    };
    let digest = hex::encode(digest);
    let version = match &states {
        None => digest.clone(),
        Some(states) => {
            use sha2::Digest as _;
            let text = json!([digest, states]).to_string();
            hex::encode(sha2::Sha256::digest(text.as_bytes()))
        }
    };
    Ok(versioned(&call.headers, &version, &Sent { digest: &digest, layout: &layout, states }))
}

async fn graph(call: Call<GraphQuery, Nothing>) -> Result<Response, Problem> {
    let (workflow, version) = (call.text("workflow").to_owned(), call.query.version);
    let missing = unknown(&workflow, version);
    picture(&call, &Pictured::Version { workflow, version }, None, missing).await
}

async fn start(call: Call<Nothing, StartRun>) -> Result<Answered<RunMoved>, Problem> {
    let (store, name) = (call.store(), call.text("workflow"));
    // Nobody is asked to sign about what is not there.
    if store.workflow_version(name, None).await?.is_none() {
        return Err(refused(store, Code::RW001, unknown(name, None)).await);
    }
    let actor = call.actor().await?;
    let start = engine::Start {
        workflow: name.to_owned(),
        inputs: Value::Object(call.body.inputs.clone()),
        run_id: None,
        trace_id: call.body.trace_id.clone().or_else(|| call.trace_id()),
    };
    let said = said(&call, call.body.actor_class.as_ref(), None, None);
    let report = engine::start(call.store(), &actor, &said, &start).await?;
    Ok(told::<RunMoved>(report)?.into())
}
