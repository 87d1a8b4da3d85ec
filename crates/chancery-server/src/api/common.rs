//! What functions of many routes need: refusals in words, answers that a client may have already.

use axum::http::header::{CACHE_CONTROL, ETAG, IF_NONE_MATCH};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse as _, Response};
use chancery_api::action::Action;
use chancery_engine::workflow::Said;
use chancery_model::refusal::{Code, Problem as Facts};
use chancery_store::Store;
use serde::Serialize;
use serde_json::{Value, json};
use uuid::Uuid;

use super::Call;
use super::page::told;
use crate::body::answer;
use crate::problem::Problem;

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
    told(call.store().fn_actions(kind, id, call.reader()).await?)
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
