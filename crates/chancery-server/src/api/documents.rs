//! Source documents and units.

use axum::http::HeaderValue;
use axum::http::header::ETAG;
use axum::response::Response;
use chancery_api::documents::{
    ADD, Added, DOCUMENT, DOCUMENTS, Document, NewDocument, SOURCE, UNIT, UNITS, Unit, UnitShown,
    WhichSource, WhichText,
};
use chancery_api::id::UnitId;
use chancery_api::{Nothing, Page, PageQuery};
use chancery_engine::iu as engine;
use chancery_store::Store;
use chancery_store::iu::DocumentRow;
use serde_json::json;

use super::bind::bytes;
use super::page::{after, limit, page, told};
use super::{Answered, Call, Routes};
use crate::problem::{Fault, Problem};

pub(super) fn bind(routes: Routes) -> Routes {
    routes
        .on(&DOCUMENTS, list)
        .on(&ADD, add)
        .on(&DOCUMENT, show)
        .on(&UNITS, units)
        .on_raw(&SOURCE, source)
        .on(&UNIT, unit)
}

async fn list(call: Call<PageQuery, Nothing>) -> Result<Answered<Page<Document>>, Problem> {
    let limit = limit(call.query.limit)?;
    let before: Option<String> = after(call.query.after.as_deref())?;
    let documents = call.store().documents_page(before.as_deref(), limit + 1).await?;
    Ok(page(documents, limit, |document| document.document_id.clone())?.into())
}

async fn add(call: Call<Nothing, NewDocument>) -> Result<Answered<Added>, Problem> {
    let NewDocument { document_id, prefix, media_type, text, profile } = &call.body;
    let document = engine::NewDocument {
        document_id,
        prefix: prefix.as_deref(),
        media_type: media_type.as_deref().unwrap_or("text/markdown"),
        body: text.as_bytes(),
        profile: told(profile)?,
    };
    let added = engine::add_document(call.store(), call.reader(), &document).await?;
    let mut answer = json!(added.source);
    answer["would_cut"] = added.cut.units.len().into();
    Ok(told::<Added>(answer)?.into())
}

async fn show(call: Call<Nothing, Nothing>) -> Result<Answered<Document>, Problem> {
    let document = find(call.store(), call.text("document")).await?;
    Ok(Answered::from(told::<Document>(&document)?).version(document.newest_sha256))
}

async fn units(call: Call<PageQuery, Nothing>) -> Result<Answered<Page<Unit>>, Problem> {
    let limit = limit(call.query.limit)?;
    let before: Option<(i32, String)> = after(call.query.after.as_deref())?;
    let document = find(call.store(), call.text("document")).await?;
    let before = before.as_ref().map(|(order, address)| (*order, address.as_str()));
    let units = call.store().units_page(&document.prefix, before, limit + 1).await?;
    Ok(page(units, limit, |unit| (unit.sort_order, unit.address.clone()))?.into())
}

async fn source(call: Call<WhichSource, Nothing>) -> Result<Response, Problem> {
    let version = call.query.version;
    let source = engine::source(call.store(), call.text("document"), version).await?;
    let source = source.ok_or_else(missing)?;
    let etag = HeaderValue::from_str(&format!("\"{}\"", hex::encode(&source.content_sha256)));
    let mut response = bytes("application/octet-stream", source.body);
    response.headers_mut().insert(ETAG, etag.expect("hex is a header"));
    Ok(response)
}

async fn unit(call: Call<WhichText, Nothing>) -> Result<Answered<UnitShown>, Problem> {
    let UnitId(id) = call.id("unit")?;
    let version = call.query.version_id.map(|version| version.0);
    let unit = call.store().unit_text(id, version).await?;
    let unit =
        unit.ok_or_else(|| Problem::of(Fault::NotFound, "there is no such unit or version"))?;
    let hash = unit.unit.content_hash.clone();
    Ok(Answered::from(told::<UnitShown>(unit)?).version(hash))
}

fn missing() -> Problem {
    Problem::of(Fault::NotFound, "there is no such document or version")
}

async fn find(store: &Store, name: &str) -> Result<DocumentRow, Problem> {
    store.documents(Some(name)).await?.into_iter().next().ok_or_else(missing)
}
