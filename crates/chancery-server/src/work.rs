//! Steps of workflows under the lease of a job, and call-backs: how workers in any language do what the built-in ones do.

use axum::Router;
use axum::extract::rejection::PathRejection;
use axum::extract::{DefaultBodyLimit, Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::post;
use base64::prelude::{BASE64_URL_SAFE_NO_PAD, Engine as _};
use chancery_engine::loops::SERVICE;
use chancery_model::canonical;
use chancery_store::workflow::{Lease, WorkReport};
use rand::RngCore as _;
use rand::rngs::OsRng;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use crate::body::{Asked, answer};
use crate::host::Host;
use crate::problem::{Fault, Problem};

/// No call-back brings more.
const MOST_CALL_BACK_BYTES: usize = 64 * 1024;

pub(crate) fn routes() -> Router<Host> {
    Router::new()
        .route("/v1/work/begin", post(begin))
        .route("/v1/work/report", post(report))
        .route("/v1/work/callback", post(issue))
}

/// What is open to whoever has a token: the token is the right.
pub(crate) fn open_routes() -> Router<Host> {
    let limit = DefaultBodyLimit::max(MOST_CALL_BACK_BYTES);
    Router::new().route("/v1/callbacks/{token}", post(call_back).layer(limit))
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Begin {
    worker: String,
    job_id: Uuid,
    lease_no: i32,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Report {
    worker: String,
    job_id: Uuid,
    lease_no: i32,
    call: String,
    #[serde(default)]
    evidence: Map<String, Value>,
    #[serde(default)]
    document: Option<Map<String, Value>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Issue {
    worker: String,
    job_id: Uuid,
    lease_no: i32,
    /// Of a token that the worker made itself, hex.
    #[serde(default)]
    token_sha256: Option<String>,
}

fn lease(worker: &str, job_id: Uuid, lease_no: i32) -> Lease<'_> {
    Lease { job_id, lease_no, worker, principal: SERVICE }
}

async fn begin(State(host): State<Host>, Asked(asked): Asked<Begin>) -> Result<Response, Problem> {
    let lease = lease(&asked.worker, asked.job_id, asked.lease_no);
    let assignment = host.store().fn_work_begin(lease).await?;
    Ok(answer(StatusCode::OK, &assignment))
}

async fn report(
    State(host): State<Host>,
    Asked(asked): Asked<Report>,
) -> Result<Response, Problem> {
    let Report { worker, job_id, lease_no, call, mut evidence, document } = asked;
    let document = document.map(Value::Object);
    if let Some(document) = &document {
        // Not every language has RFC 8785; who sends a digest has it checked.
        let digest = || hex::encode(canonical::sha256(document)).into();
        evidence.entry("output_sha256").or_insert_with(digest);
    }
    let evidence = Value::Object(evidence);
    let report = WorkReport { call: &call, evidence: &evidence, document: document.as_ref() };
    let report = host.store().fn_work_report(lease(&worker, job_id, lease_no), &report).await?;
    Ok(answer(StatusCode::OK, &report))
}

/// Expects a call-back. The token is told once, here; the database has only its digest.
async fn issue(State(host): State<Host>, Asked(asked): Asked<Issue>) -> Result<Response, Problem> {
    let lease = lease(&asked.worker, asked.job_id, asked.lease_no);
    let (token, digest) = match &asked.token_sha256 {
        Some(text) => {
            let wrong = || Problem::of(Fault::RequestInvalid, "token_sha256 is 64 hex digits");
            (None, hex::decode(text).ok().filter(|bytes| bytes.len() == 32).ok_or_else(wrong)?)
        }
        None => {
            let mut bytes = [0; 32];
            OsRng.fill_bytes(&mut bytes);
            let token = BASE64_URL_SAFE_NO_PAD.encode(bytes);
            let digest = Sha256::digest(token.as_bytes()).to_vec();
            (Some(token), digest)
        }
    };
    let mut issued = host.store().fn_callback_issue(lease, &digest).await?;
    issued["token_sha256"] = hex::encode(&digest).into();
    if let Some(token) = token {
        issued["path"] = format!("/v1/callbacks/{token}").into();
        issued["token"] = token.into();
    }
    Ok(answer(StatusCode::CREATED, &issued))
}

/// Takes a call-back. A token that is none costs the same look by its digest as one that is.
async fn call_back(
    State(host): State<Host>,
    token: Result<Path<String>, PathRejection>,
    asked: Result<Asked<Map<String, Value>>, Problem>,
) -> Result<Response, Problem> {
    if host.is_stopping() {
        return Err(Problem::of(Fault::Stopping, "ask another one, or again"));
    }
    let Asked(document) = asked?;
    // What is no text is no token of ours.
    let digest = Sha256::digest(token.map(|Path(token)| token).unwrap_or_default());
    host.store().fn_callback(&digest, &Value::Object(document)).await?;
    Ok(answer(StatusCode::OK, &json!({ "taken": true })))
}
