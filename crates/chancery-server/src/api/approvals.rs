//! Requests for approval, votes, and what waits for the caller.

use std::time::Duration;

use chancery_api::approvals::{
    APPROVAL, APPROVALS, Approval, ApprovalShown, ApprovalsQuery, Decision, INBOX, Inbox,
    InboxQuery, Mine, NewApproval, NewVote, REQUEST, Standing, VOTE,
};
use chancery_api::id::{ApprovalId, StepRunId, TaskRunId, WaitId};
use chancery_api::{Nothing, Page};
use chancery_engine::Error;
use chancery_engine::approval::{self as engine, Missing, NewRequest, VOTING_CLASSES};
use chancery_engine::identity::acting_class;
use chancery_store::approval::{ApprovalPage, ApprovalReport};
use chancery_store::page::After;
use jiff::Timestamp;
use serde_json::{Value, json};
use uuid::Uuid;

use super::page::{after_time, limit, page, told};
use super::refusal::refused_for;
use super::{Answered, Call, Routes};
use crate::problem::{Fault, Problem};

pub(super) fn bind(routes: Routes) -> Routes {
    routes
        .on(&APPROVALS, list)
        .on(&REQUEST, request)
        .on(&APPROVAL, show)
        .on(&VOTE, vote)
        .on(&INBOX, inbox)
}

async fn list(call: Call<ApprovalsQuery, Nothing>) -> Result<Answered<Page<Approval>>, Problem> {
    let ApprovalsQuery { state, kind, subject, mine, after, limit: most } = &call.query;
    let limit = limit(*most)?;
    let asked = ApprovalPage {
        state: told(state)?,
        kind: kind.clone(),
        subject_ref: subject.clone(),
        decidable_by: mine.map(|Mine::CanDecide| call.reader().to_owned()),
        after: after_time(after.as_deref())?,
        limit: limit + 1,
    };
    let rows = call.store().approvals_page(&asked).await?;
    Ok(page(rows, limit, |row| After { at: row.requested_at.clone(), id: row.approval_id })?.into())
}

async fn request(call: Call<Nothing, NewApproval>) -> Result<Answered<Standing>, Problem> {
    let actor = call.actor().await?;
    let body = call.body.clone();
    let class = match body.actor_class {
        Some(class) => class,
        None => acting_class(call.store(), call.reader(), &[]).await?,
    };
    let digest = body.subject_digest.map(hex::decode).transpose();
    let digest = digest.ok().filter(|d| d.as_ref().is_none_or(|bytes| bytes.len() == 32));
    let Some(subject_digest) = digest else {
        return Err(Problem::of(Fault::RequestInvalid, "subject_digest is 64 hexadecimal digits"));
    };
    // The key names the request, so the same key can never ask twice.
    let name = json!(["approval_request", call.reader(), call.key()]).to_string();
    let new = NewRequest {
        approval_id: Some(Uuid::new_v5(&Uuid::NAMESPACE_OID, name.as_bytes())),
        kind: body.kind,
        subject_ref: body.subject_ref,
        subject_digest,
        risk: told(body.risk)?,
        title: body.title,
        facts: Value::Object(body.facts),
        expires_in: Duration::from_secs(body.expires_in_seconds.into()),
    };
    let report = engine::request(call.store(), &actor, &class, &new).await?;
    standing(&report)
}

async fn show(call: Call<Nothing, Nothing>) -> Result<Answered<ApprovalShown>, Problem> {
    let ApprovalId(id) = call.id("approval")?;
    let shown = engine::show(call.store(), id).await?;
    let actions = call.store().fn_approval_actions(id, call.reader()).await?;
    let mut answer = json!(shown);
    answer["actions"] = json!(actions);
    Ok(told::<ApprovalShown>(answer)?.into())
}

async fn vote(call: Call<Nothing, NewVote>) -> Result<Answered<Standing>, Problem> {
    let ApprovalId(id) = call.id("approval")?;
    let actor = call.actor().await?;
    let NewVote { decision, rationale, actor_class } = &call.body;
    let class = match actor_class {
        Some(class) => class.clone(),
        None => acting_class(call.store(), call.reader(), &VOTING_CLASSES).await?,
    };
    let decision = match decision {
        Decision::Approve => engine::Decision::Approve,
        Decision::Reject => engine::Decision::Reject,
        Decision::Abstain => engine::Decision::Abstain,
    };
    let cast = engine::vote(call.store(), &actor, &class, id, decision, rationale.as_deref()).await;
    match cast {
        // Nobody is asked to sign what would be refused.
        Err(unsigned @ Error::Unsigned { .. }) => {
            let actions = call.store().fn_approval_actions(id, call.reader()).await?;
            let action =
                actions.iter().find(|action| action.actor_class == class && !action.allowed);
            Err(match action {
                Some(action) => refused_for(call.store(), &action.problems).await,
                None => unsigned.into(),
            })
        }
        cast => standing(&cast?),
    }
}

fn standing(report: &ApprovalReport) -> Result<Answered<Standing>, Problem> {
    let mut answer = json!(report);
    answer["missing"] = json!(Missing::of(&report.quorum, &report.tally));
    let expires = Timestamp::from_microsecond(report.expires_at).unwrap_or(Timestamp::MAX);
    answer["expires_at"] = json!(format!("{expires:.6}"));
    Ok(told::<Standing>(answer)?.into())
}

async fn inbox(call: Call<InboxQuery, Nothing>) -> Result<Answered<Inbox>, Problem> {
    let limit = i32::try_from(limit(call.query.limit)?).unwrap_or(i32::MAX);
    let mut inbox = call.store().fn_inbox(call.reader(), limit).await?;
    for list in ["waiting", "not_mine"] {
        for item in inbox[list].as_array_mut().into_iter().flatten() {
            let Some(id) = item["id"].as_str().and_then(|id| id.parse::<Uuid>().ok()) else {
                continue;
            };
            item["id"] = match item["kind"].as_str() {
                Some("step") => json!(StepRunId(id)),
                Some("task") => json!(TaskRunId(id)),
                Some("wait") => json!(WaitId(id)),
                _ => json!(ApprovalId(id)),
            };
        }
    }
    Ok(told::<Inbox>(inbox)?.into())
}
