//! Problems, the timeline, summaries.

use chancery_api::Nothing;
use chancery_api::governance::{
    ISSUE_ACKNOWLEDGE, ISSUE_RESOLVE, IssueAnswer, NewSummary, PROBLEM, PROBLEM_LIST, PROBLEMS,
    ProblemPage, ProblemQuery, ProblemShown, Problems, SUMMARIES, SUMMARY, SUMMARY_PUT, Summaries,
    Summary, SummaryQuery, SummaryShown, TIMELINE, Timeline, TimelineQuery,
};
use chancery_api::id::{IssueId, SummaryId};
use chancery_engine::governance::{self as engine, Answer};
use chancery_store::governance::Asked;
use jiff::Timestamp;
use serde_json::{Map, Value};

use super::page::{limit, told};
use super::{Answered, Call, Routes};
use crate::problem::{Fault, Problem};

pub(super) fn bind(routes: Routes) -> Routes {
    routes
        .on(&PROBLEMS, problems)
        .on(&PROBLEM_LIST, list)
        .on(&PROBLEM, show)
        .on(&ISSUE_ACKNOWLEDGE, acknowledge)
        .on(&ISSUE_RESOLVE, resolve)
        .on(&TIMELINE, timeline)
        .on(&SUMMARIES, summaries)
        .on(&SUMMARY, summary)
        .on(&SUMMARY_PUT, put)
}

fn most(asked: Option<u16>) -> Result<Option<i32>, Problem> {
    Ok(i32::try_from(limit(asked)?).ok())
}

async fn problems(call: Call<Nothing, Nothing>) -> Result<Answered<Problems>, Problem> {
    let problems = call.store().fn_problems(call.reader()).await?;
    Ok(told::<Problems>(problems)?.into())
}

async fn list(call: Call<ProblemQuery, Nothing>) -> Result<Answered<ProblemPage>, Problem> {
    let ProblemQuery { cause, after, limit } = &call.query;
    let page = call
        .store()
        .fn_problem_list(
            call.reader(),
            call.text("category"),
            cause.as_deref(),
            after.as_deref(),
            most(*limit)?,
        )
        .await?;
    Ok(told::<ProblemPage>(page)?.into())
}

async fn show(call: Call<Nothing, Nothing>) -> Result<Answered<ProblemShown>, Problem> {
    let shown = call
        .store()
        .fn_problem_show(call.reader(), call.text("category"), call.text("item"))
        .await?;
    Ok(told::<ProblemShown>(shown)?.into())
}

async fn acknowledge(
    call: Call<Nothing, IssueAnswer>,
) -> Result<Answered<Map<String, Value>>, Problem> {
    let IssueId(issue_id) = call.id("issue")?;
    let actor = call.actor().await?;
    let report = engine::acknowledge(call.store(), &actor, &said(issue_id, &call)).await?;
    Ok(told::<Map<String, Value>>(report)?.into())
}

async fn resolve(
    call: Call<Nothing, IssueAnswer>,
) -> Result<Answered<Map<String, Value>>, Problem> {
    let IssueId(issue_id) = call.id("issue")?;
    let actor = call.actor().await?;
    let report = engine::resolve(call.store(), &actor, &said(issue_id, &call)).await?;
    Ok(told::<Map<String, Value>>(report)?.into())
}

fn said<'a>(issue_id: uuid::Uuid, call: &'a Call<Nothing, IssueAnswer>) -> Answer<'a> {
    Answer {
        issue_id,
        reason: &call.body.reason,
        actor_class: &call.body.actor_class,
        idempotency_key: Some(call.key()),
    }
}

async fn timeline(call: Call<TimelineQuery, Nothing>) -> Result<Answered<Timeline>, Problem> {
    let TimelineQuery { trace, entity_kind, entity_id, from, to, after, limit } = &call.query;
    let entity = match (entity_kind, entity_id) {
        (Some(kind), Some(id)) => Some((kind.as_str(), id.as_str())),
        (None, None) => None,
        _ => {
            let why = "entity_kind and entity_id go together";
            return Err(Problem::of(Fault::QueryInvalid, why));
        }
    };
    let asked = Asked {
        trace: trace.as_deref(),
        entity,
        from_micros: time(from.as_deref())?,
        to_micros: time(to.as_deref())?,
    };
    let limit = most(*limit)?;
    let page = call.store().fn_timeline(call.reader(), &asked, after.as_deref(), limit).await?;
    Ok(told::<Timeline>(page)?.into())
}

fn time(text: Option<&str>) -> Result<Option<i64>, Problem> {
    let wrong = |_| Problem::of(Fault::QueryInvalid, "a time is as RFC 3339 has it");
    let parse = |text: &str| text.parse::<Timestamp>().map(Timestamp::as_microsecond);
    text.map(parse).transpose().map_err(wrong)
}

async fn summaries(call: Call<SummaryQuery, Nothing>) -> Result<Answered<Summaries>, Problem> {
    let rows = call.store().fn_summary_list(call.reader(), call.query.category.as_deref()).await?;
    let items = rows.into_iter().map(told).collect::<Result<_, _>>()?;
    Ok(Summaries { items }.into())
}

async fn summary(call: Call<Nothing, Nothing>) -> Result<Answered<SummaryShown>, Problem> {
    let SummaryId(id) = call.id("summary")?;
    let shown = call.store().fn_summary_show(call.reader(), id, None, None).await?;
    Ok(told::<SummaryShown>(shown)?.into())
}

async fn put(call: Call<Nothing, NewSummary>) -> Result<Answered<Summary>, Problem> {
    let body = Value::Object(call.body.0.clone());
    let summary = engine::summaries::put(call.store(), &body, call.reader(), call.key()).await?;
    Ok(told::<Summary>(summary)?.into())
}
