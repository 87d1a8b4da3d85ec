//! Changes of workflows, and other proposals.

use std::time::Duration;

use axum::response::Response;
use chancery_api::id::{ChangeId, ProposalId};
use chancery_api::proposals::{
    CARRY_OUT, CHANGE, CHANGE_DIFF, CHANGE_GRAPH, CHANGES, CarryOut, Change, ChangeShown,
    ChangesQuery, Diff, MERGE_CHANGE, PROPOSAL, PROPOSALS, PROPOSE, PROPOSE_CHANGE, Proposal,
    ProposalShown, ProposalsQuery, Propose, ProposeChange, REVISE_CHANGE, SUBMIT_CHANGE,
    SUBMIT_PROPOSAL, Say, Submit, Submitted, WITHDRAW_CHANGE, WITHDRAW_PROPOSAL,
};
use chancery_api::workflows::GraphQuery;
use chancery_api::{Nothing, Page};
use chancery_engine::approval;
use chancery_engine::workflow::{self as engine, Asked, Kind, NewDraft, Written};
use chancery_model::refusal::Code;
use chancery_store::workflow::{ChangeRow, Pictured, ProposalRow};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use uuid::Uuid;

use super::common::{actions, made_id, refused, require_version, said};
use super::page::{after_time, limit, page, told};
use super::workflows::picture;
use super::{Answered, Call, Routes};
use crate::problem::{Fault, Problem};

/// How long others can vote when nobody says.
const VOTING: u32 = 7 * 24 * 3600;

pub(super) fn bind(routes: Routes) -> Routes {
    routes
        .on(&CHANGES, changes)
        .on(&PROPOSE_CHANGE, propose_change)
        .on(&REVISE_CHANGE, revise_change)
        .on(&CHANGE, change)
        .on(&CHANGE_DIFF, diff)
        .on_raw(&CHANGE_GRAPH, graph)
        .on(&SUBMIT_CHANGE, submit_change)
        .on(&WITHDRAW_CHANGE, withdraw_change)
        .on(&MERGE_CHANGE, merge)
        .on(&PROPOSALS, proposals)
        .on(&PROPOSE, propose)
        .on(&PROPOSAL, proposal)
        .on(&SUBMIT_PROPOSAL, submit_proposal)
        .on(&WITHDRAW_PROPOSAL, withdraw_proposal)
        .on(&CARRY_OUT, carry_out)
}

async fn changes(call: Call<ChangesQuery, Nothing>) -> Result<Answered<Page<Change>>, Problem> {
    let ChangesQuery { after, limit: most, workflow, state } = &call.query;
    let (limit, after) = (limit(*most)?, after_time(after.as_deref())?);
    let read = call
        .store()
        .change_page(workflow.as_deref(), state.as_deref(), after.as_ref(), limit + 1)
        .await?;
    let place = |row: &ChangeRow| (row.created_at.clone(), row.change_request_id);
    Ok(page(read, limit, place)?.into())
}

fn no_change(id: Uuid) -> Value {
    json!({ "kind": "workflow_change", "id": id })
}

fn no_proposal(id: Uuid) -> Value {
    json!({ "kind": "proposal", "id": id })
}

async fn found_change<Q, B>(call: &Call<Q, B>) -> Result<ChangeRow, Problem> {
    let id = call.id::<ChangeId>("change")?.0;
    match call.store().workflow_change(id).await? {
        Some(row) => Ok(row),
        None => Err(refused(call.store(), Code::RW001, no_change(id)).await),
    }
}

async fn found_proposal<Q, B>(call: &Call<Q, B>) -> Result<ProposalRow, Problem> {
    let id = call.id::<ProposalId>("proposal")?.0;
    match call.store().proposal(id).await? {
        Some(row) => Ok(row),
        None => Err(refused(call.store(), Code::RW001, no_proposal(id)).await),
    }
}

/// What a change was read as: it moves, and it is rewritten.
fn version_of(row: &ChangeRow) -> String {
    format!("{}-{}", row.revision_no, row.seq)
}

async fn write(
    call: &Call<Nothing, ProposeChange>,
    change_id: Uuid,
) -> Result<Answered<Change>, Problem> {
    let actor = call.actor().await?;
    let written = Written {
        definition: Value::Object(call.body.definition.clone()),
        title: call.body.title.clone(),
        change_id: Some(change_id),
    };
    let said = said(call, call.body.actor_class.as_ref(), None, None);
    let report = engine::propose(call.store(), &actor, &said, &written).await?;
    Ok(told::<Change>(report)?.into())
}

async fn propose_change(call: Call<Nothing, ProposeChange>) -> Result<Answered<Change>, Problem> {
    let id = made_id(&call, "workflow_change");
    write(&call, id).await
}

async fn revise_change(call: Call<Nothing, ProposeChange>) -> Result<Answered<Change>, Problem> {
    let row = found_change(&call).await?;
    require_version(&call, row.change_request_id, version_of(&row)).await?;
    write(&call, row.change_request_id).await
}

/// The approval of a proposal, for who may read approvals. One that is not decided is found by what it is about.
async fn approval_of<Q, B>(
    call: &Call<Q, B>,
    approval_id: Option<Uuid>,
) -> Result<Option<Value>, Problem> {
    let may = call.bearer.as_ref().is_some_and(|bearer| bearer.may("approval.read"));
    match approval_id.filter(|_| may) {
        Some(id) => Ok(Some(told(approval::show(call.store(), id).await?)?)),
        None => Ok(None),
    }
}

async fn change(call: Call<Nothing, Nothing>) -> Result<Answered<ChangeShown>, Problem> {
    let row = found_change(&call).await?;
    let id = row.change_request_id;
    let store = call.store();
    let seen = store.fn_definition_seen(&Pictured::Change(id), call.reader(), true).await?;
    let Some(seen) = seen else { return Err(refused(store, Code::RW001, no_change(id)).await) };
    let version = version_of(&row);
    let shown = ChangeShown {
        definition: seen.definitions.shown.unwrap_or_default(),
        hidden_steps: seen.hidden,
        approval: approval_of(&call, row.approval_id).await?,
        history: told(store.workflow_history(id).await?)?,
        actions: actions(&call, Kind::Workflow.as_str(), id).await?,
        change: told(row)?,
    };
    Ok(Answered::from(shown).version(version))
}

async fn diff(call: Call<Nothing, Nothing>) -> Result<Answered<Diff>, Problem> {
    let id = call.id::<ChangeId>("change")?.0;
    let diff = call.store().fn_change_diff_seen(id, call.reader()).await?;
    Ok(told::<Diff>(diff)?.into())
}

async fn graph(call: Call<GraphQuery, Nothing>) -> Result<Response, Problem> {
    if call.query.version.is_some() {
        return Err(Problem::of(Fault::QueryInvalid, "a change has one version"));
    }
    let id = call.id::<ChangeId>("change")?.0;
    picture(&call, &Pictured::Change(id), None, no_change(id)).await
}

async fn submit<T: DeserializeOwned>(
    call: &Call<Nothing, Submit>,
    kind: Kind,
    id: Uuid,
) -> Result<Answered<Submitted<T>>, Problem> {
    let seconds = call.body.expires_in_seconds.unwrap_or(VOTING);
    let asked = Asked { expires_in: Duration::from_secs(seconds.into()) };
    let actor = call.actor().await?;
    let said = said(call, call.body.actor_class.as_ref(), None, None);
    let done = engine::submit(call.store(), &actor, &said, kind, id, &asked).await?;
    Ok(Submitted { proposal: told(done.proposal)?, approval: told(done.approval)? }.into())
}

async fn submit_change(
    call: Call<Nothing, Submit>,
) -> Result<Answered<Submitted<Change>>, Problem> {
    let row = found_change(&call).await?;
    require_version(&call, row.change_request_id, version_of(&row)).await?;
    submit(&call, Kind::Workflow, row.change_request_id).await
}

async fn submit_proposal(
    call: Call<Nothing, Submit>,
) -> Result<Answered<Submitted<Proposal>>, Problem> {
    let row = found_proposal(&call).await?;
    require_version(&call, row.proposal_id, row.seq).await?;
    submit(&call, Kind::Other, row.proposal_id).await
}

async fn withdraw<T: DeserializeOwned>(
    call: &Call<Nothing, Say>,
    kind: Kind,
    id: Uuid,
) -> Result<Answered<T>, Problem> {
    let Say { reason, audit_ref, actor_class } = &call.body;
    let said = said(call, actor_class.as_ref(), reason.as_ref(), audit_ref.as_ref());
    let actor = call.actor().await?;
    let done = engine::withdraw(call.store(), &actor, &said, kind, id).await?;
    Ok(told::<T>(done)?.into())
}

async fn withdraw_change(call: Call<Nothing, Say>) -> Result<Answered<Change>, Problem> {
    let row = found_change(&call).await?;
    require_version(&call, row.change_request_id, version_of(&row)).await?;
    withdraw(&call, Kind::Workflow, row.change_request_id).await
}

async fn withdraw_proposal(call: Call<Nothing, Say>) -> Result<Answered<Proposal>, Problem> {
    let row = found_proposal(&call).await?;
    require_version(&call, row.proposal_id, row.seq).await?;
    withdraw(&call, Kind::Other, row.proposal_id).await
}

async fn merge(call: Call<Nothing, Say>) -> Result<Answered<Change>, Problem> {
    let row = found_change(&call).await?;
    require_version(&call, row.change_request_id, version_of(&row)).await?;
    let Say { reason, audit_ref, actor_class } = &call.body;
    let said = said(&call, actor_class.as_ref(), reason.as_ref(), audit_ref.as_ref());
    let actor = call.actor().await?;
    let done = engine::merge(call.store(), &actor, &said, row.change_request_id).await?;
    Ok(told::<Change>(done)?.into())
}

async fn proposals(
    call: Call<ProposalsQuery, Nothing>,
) -> Result<Answered<Page<Proposal>>, Problem> {
    let ProposalsQuery { after, limit: most, kind, state } = &call.query;
    let (limit, after) = (limit(*most)?, after_time(after.as_deref())?);
    let read = call
        .store()
        .proposal_page(kind.as_deref(), state.as_deref(), after.as_ref(), limit + 1)
        .await?;
    let place = |row: &ProposalRow| (row.created_at.clone(), row.proposal_id);
    Ok(page(read, limit, place)?.into())
}

async fn propose(call: Call<Nothing, Propose>) -> Result<Answered<Proposal>, Problem> {
    let actor = call.actor().await?;
    let body = &call.body;
    let draft = NewDraft {
        proposal_id: Some(made_id(&call, "proposal")),
        kind: body.kind.clone(),
        proposer_class: body.proposer_class.clone(),
        title: body.title.clone(),
        affected_iu_ids: body.affected_units.iter().map(|id| id.0).collect(),
        action: Value::Object(body.action.clone()),
        usage: Value::Array(body.usage.clone()),
    };
    let said = said(&call, body.actor_class.as_ref(), None, None);
    let report = engine::create(call.store(), &actor, &said, &draft).await?;
    Ok(told::<Proposal>(report)?.into())
}

async fn proposal(call: Call<Nothing, Nothing>) -> Result<Answered<ProposalShown>, Problem> {
    let row = found_proposal(&call).await?;
    let (id, seq, store) = (row.proposal_id, row.seq, call.store());
    let shown = ProposalShown {
        usage: store.proposal_usage(id).await?,
        approval: approval_of(&call, row.approval_id).await?,
        history: told(store.workflow_history(id).await?)?,
        actions: actions(&call, Kind::Other.as_str(), id).await?,
        proposal: told(row)?,
    };
    Ok(Answered::from(shown).version(seq))
}

async fn carry_out(call: Call<Nothing, CarryOut>) -> Result<Answered<Proposal>, Problem> {
    let row = found_proposal(&call).await?;
    require_version(&call, row.proposal_id, row.seq).await?;
    let CarryOut { outcome, audit_ref, actor_class } = &call.body;
    let said = said(&call, actor_class.as_ref(), None, audit_ref.as_ref());
    let actor = call.actor().await?;
    let outcome = Value::Object(outcome.clone());
    let done = engine::carry_out(call.store(), &actor, &said, row.proposal_id, &outcome).await?;
    Ok(told::<Proposal>(done)?.into())
}
