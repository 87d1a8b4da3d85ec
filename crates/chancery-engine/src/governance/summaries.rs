//! Summaries by agents: what an agent says over HTTP is put like any other summary, and the database judges it.

use std::time::Duration;

use chancery_store::Store;
use chancery_store::governance::Summary;
use serde_json::Value;
use ureq::http::{HeaderValue, Request};

use crate::Error;
use crate::queue::agent;
use crate::run::record_refused_event;

/// No answer is larger: a summary is a line and at most a hundred references.
const MOST_BYTES: u64 = 256 * 1024;

/// An agent may think this long.
const PATIENCE: Duration = Duration::from_secs(30);

/// Why an agent's answer is none.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum AskError {
    /// The address or the token cannot be used.
    #[error("the agent can't be asked: {0}")]
    Unusable(String),
    /// No answer came.
    #[error("the agent does not answer: {0}")]
    Unreachable(String),
    /// What came is no summary.
    #[error("the agent answered with something else: {0}")]
    NoSummary(String),
}

/// Asks an agent for a summary of these facts: a POST of them, answered with the document that [`put`] takes. Nothing in the answer is
/// trusted: the database looks at every word of it.
///
/// # Errors
/// When there is no answer, or it is no JSON object.
pub async fn ask_ai(url: &str, token: &str, facts: &Value) -> Result<Value, AskError> {
    // What is wrong with the token is not told.
    let mut bearer = HeaderValue::try_from(format!("Bearer {token}"))
        .map_err(|_| AskError::Unusable("its token can't stand in a header".to_owned()))?;
    bearer.set_sensitive(true);
    let request = Request::post(url)
        .header("authorization", bearer)
        .header("content-type", "application/json")
        .body(facts.to_string())
        .map_err(|error| AskError::Unusable(error.to_string()))?;
    // The client waits on sockets, so it gets a thread of its own.
    let asked = tokio::task::spawn_blocking(move || {
        let answer = agent(PATIENCE).run(request)?;
        let status = answer.status().as_u16();
        let body = answer.into_body().into_with_config().limit(MOST_BYTES).read_to_vec()?;
        Ok::<_, ureq::Error>((status, body))
    });
    let (status, body) = asked
        .await
        .map_err(|error| AskError::Unreachable(error.to_string()))?
        .map_err(|error| AskError::Unreachable(error.to_string()))?;
    if !(200..300).contains(&status) {
        return Err(AskError::NoSummary(format!("status {status}")));
    }
    match serde_json::from_slice(&body) {
        Ok(Value::Object(summary)) => Ok(Value::Object(summary)),
        Ok(_) => Err(AskError::NoSummary("it is no object".to_owned())),
        Err(error) => Err(AskError::NoSummary(error.to_string())),
    }
}

/// Puts a summary. One that is refused is on record in the refused events.
///
/// # Errors
/// The refusal; then nothing else changed.
pub async fn put(
    store: &Store,
    summary: &Value,
    principal: &str,
    idempotency_key: &str,
) -> Result<Summary, Error> {
    let answer = store.fn_summary_put(summary, principal, idempotency_key).await;
    if let Err(error) = &answer {
        record_refused_event(store, principal, error).await;
    }
    Ok(answer?)
}
