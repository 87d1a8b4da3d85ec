//! How the process is: alive, and ready.

use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use chancery_engine::loops::LoopState;
use chancery_store::{Error, Release};
use serde::Serialize;
use serde_json::json;

use crate::body::answer;
use crate::host::Host;

/// A probe does not wait longer for the database.
const PATIENCE: Duration = Duration::from_secs(2);

#[derive(Debug, Serialize)]
struct Readiness {
    ready: bool,
    /// Whether it decides: not while the rules in the database differ from this release. It answers readers all the same.
    decides: bool,
    /// Why not.
    reasons: Vec<String>,
    release: Release,
    loops: Vec<LoopState>,
    /// So many requests wait for a job.
    waiting: usize,
}

/// The process answers. Nothing else is looked at: a restart would not bring a database back.
pub(crate) async fn alive() -> Response {
    answer(StatusCode::OK, &json!({ "alive": true }))
}

/// Whether work can be given to this process.
pub(crate) async fn ready(State(host): State<Host>) -> Response {
    let ours = Release::of_this_binary();
    let mut reasons = Vec::new();
    if host.is_stopping() {
        reasons.push("this process is ending".to_owned());
    }
    match tokio::time::timeout(PATIENCE, host.store().release()).await {
        Ok(Ok(theirs)) if theirs.bundle_sha256 == ours.bundle_sha256 => {}
        Ok(Ok(theirs)) => reasons.push(format!(
            "the database has schema {} of release {}, this binary knows schema {} of release {}",
            theirs.schema_version,
            theirs.product_version,
            ours.schema_version,
            ours.product_version
        )),
        Ok(Err(Error::Schema(why))) => reasons.push(why),
        // Probes are not asked who they are: they learn no more than this.
        Ok(Err(_)) | Err(_) => reasons.push("the database gives no answer".to_owned()),
    }
    let mut loops = host.board().loops();
    for state in &mut loops {
        if !state.ok {
            reasons.push(format!("the loop {} does not tick", state.name));
            state.detail = "the log of the process tells more".to_owned();
        }
    }
    let ready = reasons.is_empty();
    let status = if ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let waiting = host.waiting().guests();
    let decides = host.rules().objection().is_none();
    answer(status, &Readiness { ready, decides, reasons, release: ours, loops, waiting })
}
