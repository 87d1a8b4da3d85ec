//! The knowledge base.

use axum::http::HeaderMap;
use axum::http::header::IF_MATCH;
use chancery_api::kb::{
    DOCUMENT, KbDocument, KbQuery, LIST, PUT, Put, Revision, SIGN, Sign, VERIFY, Verified,
    VerifyQuery, WhichRevision, Written,
};
use chancery_api::{Nothing, Page};
use chancery_engine::audit::{self, Pins};
use chancery_engine::identity::acting_class;
use chancery_engine::kb::{self as engine, Writer};
use chancery_model::refusal::Code;
use chancery_store::Store;
use serde_json::json;

use super::page::{after, limit, page, told};
use super::{Answered, Call, Routes};
use crate::problem::{Fault, Problem};

pub(super) fn bind(routes: Routes) -> Routes {
    routes.on(&LIST, list).on(&DOCUMENT, show).on(&PUT, put).on(&SIGN, sign).on(&VERIFY, verify)
}

async fn list(call: Call<KbQuery, Nothing>) -> Result<Answered<Page<Revision>>, Problem> {
    let KbQuery { prefix, after: before, limit: most } = &call.query;
    let limit = limit(*most)?;
    let before: Option<String> = after(before.as_deref())?;
    let folder = prefix.as_deref().map(|prefix| prefix.trim_end_matches('/'));
    let folder = folder.filter(|folder| !folder.is_empty());
    let rows = call.store().kb_page(folder, before.as_deref(), limit + 1).await?;
    Ok(page(rows, limit, |row| row.path.clone())?.into())
}

async fn show(call: Call<WhichRevision, Nothing>) -> Result<Answered<KbDocument>, Problem> {
    let WhichRevision { path, revision } = &call.query;
    let document = engine::get(call.store(), path, *revision).await?.ok_or_else(missing)?;
    let revision = document.revision.revision;
    Ok(Answered::from(told::<KbDocument>(document)?).version(revision))
}

async fn put(call: Call<Nothing, Put>) -> Result<Answered<Written>, Problem> {
    let expected = expected(&call.headers)?;
    let Put { path, kind, body, actor_class } = &call.body;
    let class = class(call.store(), call.reader(), actor_class.as_deref()).await?;
    let writer = Writer { principal: call.reader(), actor_class: &class };
    let kind = kind.as_deref().unwrap_or("note");
    let written = engine::put(call.store(), writer, path, kind, body.as_bytes(), expected).await;
    match written {
        Ok(report) => {
            let revision = report.revision;
            Ok(Answered::from(told::<Written>(report)?).version(revision))
        }
        Err(error) if error.refusal().is_some_and(|refusal| refusal.code == Code::RA021) => Err(
            Problem::of(Fault::HasChanged, "somebody wrote meanwhile: read it, then write yours"),
        ),
        Err(error) => Err(error.into()),
    }
}

/// The revision that the caller wrote on: 0 for a new document, nothing for whatever is there.
fn expected(headers: &HeaderMap) -> Result<Option<i32>, Problem> {
    let Some(wanted) = headers.get(IF_MATCH) else { return Ok(None) };
    let wanted = wanted.to_str().unwrap_or_default().trim();
    if wanted == "*" {
        return Ok(None);
    }
    let number = wanted.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
    let number = number.and_then(|text| text.parse().ok()).filter(|number| *number >= 0);
    number.map(Some).ok_or_else(|| {
        Problem::of(Fault::HasChanged, "If-Match is the ETag of one revision, or \"0\"")
    })
}

async fn sign(call: Call<Nothing, Sign>) -> Result<Answered<Written>, Problem> {
    let actor = call.actor().await?;
    let Sign { path, revision, meaning, actor_class } = &call.body;
    let class = class(call.store(), call.reader(), actor_class.as_deref()).await?;
    // Nobody is asked to sign what is not there.
    if engine::get(call.store(), path, Some(*revision)).await?.is_none() {
        return Err(missing());
    }
    let report = engine::sign(call.store(), &actor, &class, path, Some(*revision), meaning).await?;
    Ok(told::<Written>(report)?.into())
}

async fn verify(call: Call<VerifyQuery, Nothing>) -> Result<Answered<Verified>, Problem> {
    let path = call.query.path.as_deref();
    let report = audit::verify_kb(call.store(), path, Pins::default()).await?;
    let revisions = report.evidence.get("kb.revision").copied().unwrap_or_default();
    if path.is_some() && revisions == 0 {
        return Err(missing());
    }
    let answer = json!({
        "ok": report.ok(), "revisions": revisions, "signatures": report.signatures, "mismatches": report.mismatches,
    });
    Ok(told::<Verified>(answer)?.into())
}

async fn class(store: &Store, reader: &str, asked: Option<&str>) -> Result<String, Problem> {
    Ok(match asked {
        Some(class) => class.to_owned(),
        None => acting_class(store, reader, &[]).await?,
    })
}

fn missing() -> Problem {
    Problem::of(Fault::NotFound, "there is no such document or revision")
}
