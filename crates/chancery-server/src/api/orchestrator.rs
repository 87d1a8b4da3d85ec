//! Runs of the orchestrator.

use chancery_api::action::Action;
use chancery_api::id::OrchestratorRunId;
use chancery_api::orchestrator::{
    APPROVE, Backup, Halt, Milestone, OrchestratorQuery, OrchestratorRun, OrchestratorRunShown,
    Question, RUN, RUNS, STOP, StopRun, Stopped,
};
use chancery_api::{Nothing, Page};
use chancery_engine::kb;
use chancery_engine::orchestrator::{self as engine, Phase, STATES, Stop, question};
use chancery_model::refusal::Code;
use chancery_store::orchestrator::{RunMove, RunRow};
use chancery_store::{Role, Store};
use serde_json::{Value, json};

use super::page::{after_time, limit, page, told};
use super::refusal::refused;
use super::{Answered, Call, Routes};
use crate::problem::{Fault, Problem};

pub(super) fn bind(routes: Routes) -> Routes {
    routes.on(&RUNS, list).on(&RUN, show).on(&STOP, stop).on(&APPROVE, approve)
}

async fn list(
    call: Call<OrchestratorQuery, Nothing>,
) -> Result<Answered<Page<OrchestratorRun>>, Problem> {
    let OrchestratorQuery { document, state, after, limit: most } = &call.query;
    let limit = limit(*most)?;
    let after = after_time(after.as_deref())?;
    let (document, state) = (document.as_deref(), state.as_deref());
    let runs =
        call.store().orchestrator_runs_page(document, state, after.as_ref(), limit + 1).await?;
    Ok(page(runs, limit, |run| (run.created_at.clone(), run.run_id))?.into())
}

async fn show(call: Call<Nothing, Nothing>) -> Result<Answered<OrchestratorRunShown>, Problem> {
    let run = find(&call).await?;
    let moves = call.store().orchestrator_moves(run.run_id).await?;
    let folder = format!("orchestrator/{}", run.run_name.to_lowercase());
    let documents = kb::list(call.store(), Some(&folder)).await?;
    let actions = call.store().fn_actions("orchestrator_run", run.run_id, call.reader()).await?;
    let mut actions: Vec<Action> = told(actions)?;
    let question = asked(call.store(), &run).await?;
    if question.is_some() {
        actions.push(approval(&run, call.reader()));
    }
    let shown = OrchestratorRunShown {
        run: told(&run)?,
        states: milestones(&run, &moves),
        halts: halts(&moves),
        question,
        backup: backup(&moves)?,
        documents: told(documents)?,
        actions,
    };
    Ok(Answered::from(shown).version(run.seq))
}

/// What the run asks the sovereign; a stopped run has a question before it has a request.
async fn asked(store: &Store, run: &RunRow) -> Result<Option<Question>, Problem> {
    let Some(gate) = question(&run.state) else { return Ok(None) };
    let (approval_id, asks) = match engine::asked(store, run).await {
        Ok((asked, _)) => (Some(asked.approval_id.into()), told(asked.asks)?),
        Err(stop) if stop.code == "STOP_NOTHING_ASKED" => (None, None),
        Err(stop) => return Err(problem_of(stop)),
    };
    Ok(Some(Question { gate: gate.to_owned(), approval_id, asks }))
}

/// A gate is passed by a document, a vote and a decision in one transaction, behind the login of the reviewers. This server does not
/// have that login, so it can say what to run and nothing more.
fn approval(run: &RunRow, reader: &str) -> Action {
    let code = Code::RI004;
    let mut problem = refusal_of_gate(run, reader);
    problem["code"] = json!(code);
    problem["problem"] = json!(code.problem());
    Action {
        name: "approve".to_owned(),
        label: "approve".to_owned(),
        label_vi: None,
        to: "approved".to_owned(),
        actor_class: "sovereign".to_owned(),
        allowed: false,
        problems: vec![problem],
        needs: Vec::new(),
    }
}

fn refusal_of_gate(run: &RunRow, reader: &str) -> Value {
    json!({
        "login": Role::App.name(), "actor_class": "review_authority",
        "run": format!("cutter orchestrate approve --run-id {} --as {reader}", run.run_name),
    })
}

fn milestones(run: &RunRow, moves: &[RunMove]) -> Vec<Milestone> {
    let told = |state: &&str| {
        let reached = moves.iter().rfind(|one| one.to == **state);
        let invariants = reached.and_then(|one| one.evidence["invariants"].as_object());
        let invariants = invariants.into_iter().flatten();
        Milestone {
            state: (*state).to_owned(),
            gate: Phase::before(state).map(|phase| phase.gate().to_owned()),
            current: run.state == **state,
            at: reached.map(|one| one.at.clone()),
            by: reached.map(|one| one.principal.clone()),
            invariants: invariants.map(|(name, holds)| (name.clone(), *holds == true)).collect(),
            kb_document: reached.and_then(|one| text(&one.evidence, "kb_doc_id")),
            hash: reached.map(|one| one.hash.clone()),
        }
    };
    STATES.iter().map(told).collect()
}

fn halts(moves: &[RunMove]) -> Vec<Halt> {
    let outside = moves.iter().filter(|one| !STATES.contains(&one.to.as_str()));
    let halt = |one: &RunMove| Halt {
        seq: one.seq,
        at: one.at.clone(),
        to: one.to.clone(),
        by: one.principal.clone(),
        code: text(&one.evidence, "code"),
        reason: one.reason.clone(),
        kb_document: text(&one.evidence, "report_kb_id"),
    };
    outside.map(halt).collect()
}

fn backup(moves: &[RunMove]) -> Result<Option<Backup>, Problem> {
    let taken = moves.iter().rfind(|one| one.to == Phase::Backup.to());
    let told = |one: &RunMove| {
        let pins = match &one.evidence["pins"] {
            Value::Null => json!({}),
            pins => pins.clone(),
        };
        Ok(Backup { at: one.at.clone(), pins: told(pins)? })
    };
    taken.map(told).transpose()
}

fn text(evidence: &Value, name: &str) -> Option<String> {
    evidence[name].as_str().map(str::to_owned)
}

async fn stop(call: Call<Nothing, StopRun>) -> Result<Answered<Stopped>, Problem> {
    let run = find(&call).await?;
    let StopRun { reason } = &call.body;
    let moves = call.store().orchestrator_moves(run.run_id).await?;
    if let Some(before) = moves.iter().find(|one| one.idempotency_key == call.key()) {
        let same = before.principal == call.reader() && before.reason.as_ref() == Some(reason);
        if !same || before.to != "stopped_sovereign" {
            let facts = json!({ "run_id": run.run_name, "idempotency_key": call.key() });
            return Err(refused(call.store(), Code::RS012, facts).await);
        }
        return Ok(Stopped { run: told(run)?, replayed: true }.into());
    }
    call.require_version(run.seq)?;
    let actor = call.actor().await?;
    engine::stop(call.store(), &actor, &run, None, reason, Some(call.key()))
        .await
        .map_err(problem_of)?;
    let now = find(&call).await?;
    // It was stopped before: to stop it again moves nothing.
    let replayed = now.seq == run.seq;
    Ok(Stopped { run: told(now)?, replayed }.into())
}

async fn approve(call: Call<Nothing, Nothing>) -> Result<Answered<Nothing>, Problem> {
    let run = find(&call).await?;
    let facts = refusal_of_gate(&run, call.reader());
    Err(refused(call.store(), Code::RI004, facts).await)
}

async fn find<Q, B>(call: &Call<Q, B>) -> Result<RunRow, Problem> {
    let OrchestratorRunId(id) = call.id("run")?;
    match call.store().orchestrator_run_by_id(id).await? {
        Some(run) => Ok(run),
        None => Err(refused(call.store(), Code::RO001, json!({ "run_id": id })).await),
    }
}

/// What the database said, or that this is a defect.
fn problem_of(stop: Stop) -> Problem {
    match stop.source {
        Some(error) => (*error).into(),
        None => {
            tracing::error!(%stop, "a request failed");
            Problem::of(Fault::Internal, "nothing more is told here")
        }
    }
}
