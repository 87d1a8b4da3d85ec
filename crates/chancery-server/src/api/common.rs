//! What functions of many routes need: pages, refusals in words, answers that a client may have already.

use axum::http::header::{CACHE_CONTROL, ETAG, IF_NONE_MATCH};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse as _, Response};
use base64::prelude::{BASE64_URL_SAFE_NO_PAD, Engine as _};
use chancery_api::Page;
use chancery_api::action::Action;
use chancery_engine::workflow::Said;
use chancery_model::refusal::{Code, Problem as Facts};
use chancery_store::Store;
use chancery_store::page::After;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use uuid::Uuid;

use super::Call;
use crate::body::answer;
use crate::problem::{Fault, Problem};

/// So many when nobody says.
const PAGE: u16 = 50;
const LARGEST_PAGE: u16 = 500;

/// How many a page has at most.
pub(super) fn size(limit: Option<u16>) -> Result<usize, Problem> {
    match limit.unwrap_or(PAGE) {
        n @ 1..=LARGEST_PAGE => Ok(n.into()),
        _ => {
            Err(Problem::of(Fault::QueryInvalid, format!("limit is between 1 and {LARGEST_PAGE}")))
        }
    }
}

/// Rows to ask for: one more tells whether there is another page.
pub(super) fn rows(size: usize) -> i64 {
    i64::try_from(size).unwrap_or(i64::MAX).saturating_add(1)
}

/// Where a page begins. A cursor is what a page before told and nothing else.
pub(super) fn after<T: DeserializeOwned>(cursor: Option<&str>) -> Result<Option<T>, Problem> {
    let wrong = || Problem::of(Fault::QueryInvalid, "after is `next` of a page of this list");
    let Some(cursor) = cursor else { return Ok(None) };
    let bytes = BASE64_URL_SAFE_NO_PAD.decode(cursor).map_err(|_| wrong())?;
    serde_json::from_slice(&bytes).map(Some).map_err(|_| wrong())
}

/// Where a page of things with a time begins.
pub(super) fn after_time(cursor: Option<&str>) -> Result<Option<After>, Problem> {
    let Some((at, id)) = after::<(String, Uuid)>(cursor)? else { return Ok(None) };
    if at.parse::<jiff::Timestamp>().is_err() {
        return Err(Problem::of(Fault::QueryInvalid, "after is `next` of a page of this list"));
    }
    Ok(Some(After { at, id }))
}

/// A page of what was read, of which the last one may be one too many.
pub(super) fn page<R, T, K: Serialize>(
    mut read: Vec<R>,
    size: usize,
    place: impl Fn(&R) -> K,
    make: impl Fn(R) -> Result<T, Problem>,
) -> Result<Page<T>, Problem> {
    let more = read.len() > size;
    read.truncate(size);
    let next = read
        .last()
        .filter(|_| more)
        .map(|last| BASE64_URL_SAFE_NO_PAD.encode(json!(place(last)).to_string()));
    let items = read.into_iter().map(make).collect::<Result<_, _>>()?;
    Ok(Page { items, next })
}

/// A row in the words of the API.
pub(super) fn shaped<T: DeserializeOwned>(row: impl Serialize) -> Result<T, Problem> {
    serde_json::to_value(row).and_then(serde_json::from_value).map_err(|error| {
        tracing::error!(%error, "a row is not what the API says");
        Problem::of(Fault::Internal, "nothing more is told here")
    })
}

/// A refusal that the database would give.
pub(super) async fn refused(store: &Store, code: Code, facts: Value) -> Problem {
    let facts = facts.as_object().cloned().unwrap_or_default();
    let problem = Facts { code, problem: code.problem().to_owned(), facts };
    match store.refusal(code, vec![problem]).await {
        Ok(refusal) => Problem::Refused(Box::new(refusal)),
        Err(error) => error.into(),
    }
}

/// What can be done to a run, for who asks.
pub(super) async fn actions<Q, B>(
    call: &Call<Q, B>,
    kind: &str,
    id: Uuid,
) -> Result<Vec<Action>, Problem> {
    shaped(call.store().fn_actions(kind, id, call.reader()).await?)
}

/// What is said beside a verb; the key of the request is that of the move.
pub(super) fn said<Q, B>(
    call: &Call<Q, B>,
    class: Option<&String>,
    reason: Option<&String>,
    audit_ref: Option<&String>,
) -> Said {
    Said {
        class: class.cloned(),
        reason: reason.cloned(),
        audit_ref: audit_ref.cloned(),
        key: Some(call.key().to_owned()),
    }
}

/// The id of what a request makes: the same request makes the same thing.
pub(super) fn made_id<Q, B>(call: &Call<Q, B>, what: &str) -> Uuid {
    let name = json!([what, call.reader(), call.key()]);
    Uuid::new_v5(&Uuid::NAMESPACE_OID, name.to_string().as_bytes())
}

/// An answer with its ETag, or that the client has it already. It is one's own: no cache on the way keeps it.
pub(super) fn versioned(headers: &HeaderMap, version: &str, value: &impl Serialize) -> Response {
    let etag = format!("\"{version}\"");
    let known = headers.get_all(IF_NONE_MATCH).iter().filter_map(|one| one.to_str().ok());
    let mut response = if known.flat_map(|one| one.split(',')).any(|one| one.trim() == etag) {
        StatusCode::NOT_MODIFIED.into_response()
    } else {
        answer(StatusCode::OK, value)
    };
    if let Ok(etag) = HeaderValue::from_str(&etag) {
        response.headers_mut().insert(ETAG, etag);
    }
    let kept = HeaderValue::from_static("private, no-cache");
    response.headers_mut().insert(CACHE_CONTROL, kept);
    response
}

/// Refuses when the caller read another version than this, unless what moved it since is this very request: who repeats it because
/// the answer got lost is answered as the first time.
pub(super) async fn require_version<Q, B>(
    call: &Call<Q, B>,
    id: Uuid,
    version: impl ToString,
) -> Result<(), Problem> {
    let Err(problem) = call.require_version(version) else { return Ok(()) };
    let history = call.store().workflow_history(id).await?;
    let own = |one: &chancery_store::workflow::LoggedMove| {
        one.idempotency_key == call.key() && one.principal == call.reader()
    };
    if history.iter().any(own) { Ok(()) } else { Err(problem) }
}
