//! Bodies: JSON of a bounded size and depth, and nothing in it that nobody asked for.

use std::time::Duration;

use axum::body::Bytes;
use axum::extract::{FromRequest, Request};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use chancery_model::strict_json;
use hyper::body::Body as _;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::problem::{Fault, Problem};

/// No body is larger.
pub(crate) const MOST_BYTES: usize = 1024 * 1024;
/// No list or object lies deeper. The parser has a bound of its own, so that reading can't exhaust the stack.
const MOST_LEVELS: usize = 64;
/// A body that takes longer is not waited for. It stands in the extensions of a request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Patience(pub(crate) Duration);

/// A body as the route wants it.
pub(crate) struct Asked<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Asked<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        if !is_json(&request) {
            return Err(Problem::of(Fault::MediaType, "send `Content-Type: application/json`"));
        }
        // Who says that it is too much is not waited for.
        if request.body().size_hint().lower() > MOST_BYTES as u64 {
            return Err(too_large());
        }
        let patience = request.extensions().get::<Patience>();
        let patience = patience.map_or(Duration::from_secs(10), |patience| patience.0);
        let bytes = tokio::time::timeout(patience, Bytes::from_request(request, state))
            .await
            .map_err(|_| {
                Problem::of(
                    Fault::BodyTooSlow,
                    format!("send it within {} seconds", patience.as_secs_f32()),
                )
            })?
            .map_err(|rejection| match rejection.status() {
                StatusCode::PAYLOAD_TOO_LARGE => too_large(),
                _ => Problem::of(Fault::BodyMalformed, "the body ended early"),
            })?;
        asked(&bytes).map(Asked)
    }
}

fn too_large() -> Problem {
    Problem::of(Fault::BodyTooLarge, "send less at once, or references")
}

fn is_json(request: &Request) -> bool {
    let kind = request.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    kind.and_then(|kind| kind.split(';').next())
        .is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"))
}

pub(crate) fn asked<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    let value = strict_json::from_slice(bytes)
        .map_err(|error| Problem::of(Fault::BodyMalformed, error.to_string()))?;
    if let Some(why) = unkeepable(&value, 1) {
        return Err(Problem::of(Fault::BodyMalformed, why));
    }
    serde_json::from_value(value)
        .map_err(|error| Problem::of(Fault::RequestInvalid, error.to_string()))
}

/// What PostgreSQL could not keep, or nobody could follow.
fn unkeepable(value: &Value, level: usize) -> Option<&'static str> {
    const NUL: &str = "a text has the character U+0000";
    if level > MOST_LEVELS {
        return Some("it is nested deeper than 64 levels");
    }
    match value {
        Value::String(text) => text.contains('\0').then_some(NUL),
        Value::Array(items) => items.iter().find_map(|item| unkeepable(item, level + 1)),
        Value::Object(members) => members.iter().find_map(|(name, member)| {
            if name.contains('\0') { Some(NUL) } else { unkeepable(member, level + 1) }
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

/// An answer in JSON.
pub(crate) fn answer(status: StatusCode, value: &impl Serialize) -> Response {
    let text = serde_json::to_string(value).expect("answers are plain data");
    (status, [(CONTENT_TYPE, "application/json")], text).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(body: &str) -> Option<Fault> {
        match asked::<Value>(body.as_bytes()) {
            Ok(_) => None,
            Err(Problem::Fault { fault, .. }) => Some(fault),
            Err(other) => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_cannot_be_kept_is_refused_before_the_database_sees_it() {
        let nested = |levels: usize| format!("{}1{}", "[".repeat(levels), "]".repeat(levels));
        for good in ["{}", r#"{"a": [1, null, "\u0001"]}"#, &nested(63)] {
            assert_eq!(fault(good), None, "{good}");
        }
        for bad in [
            "",
            "{",
            "{} {}",
            "{'a': 1}",
            r#"{"a": {"b": 1, "b": 2}}"#,
            r#"{"a": "\u0000"}"#,
            r#"{"a\u0000": 1}"#,
            r#""\ud800""#,
            "1e999",
            &nested(64),
            &nested(100_000),
        ] {
            assert_eq!(fault(bad), Some(Fault::BodyMalformed), "{:.40}", bad);
        }
    }
}
