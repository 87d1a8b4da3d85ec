//! From a document to verified units: MARK → REVIEW → CUT → VERIFY.
//!
//! Each phase is one call of one door, so one transaction, and safe to make again. What is signed is computed here from the source
//! bytes; the database computes it again from its rows and refuses what differs. The executor trusts no decision that it did not
//! check, and the verifier trusts neither the executor nor the plan: it cuts the source again.

mod abandon;
mod cut;
mod decision;
mod finding;
mod inspect;
mod live;
mod mark;
mod plan;
mod retry;
mod review;
mod show;
mod signature;
mod sweep;
mod verify;

pub use abandon::{AbandonRequest, abandon};
pub use cut::cut;
pub use finding::Finding;
pub use mark::{MarkRequest, mark};
pub use plan::{Plan, plan};
pub(crate) use review::{DecisionIds, sign as sign_review};
pub use review::{ReviewRequest, Verdict, review};
pub use show::{Shown, list, show};
pub use sweep::sweep;
pub(crate) use verify::hand_on as hand_on_verification;
pub use verify::{Verified, verify, verify_again};

pub(crate) use cut::trusted_manifest;
pub(crate) use inspect::inspect;
pub(crate) use plan::manifest_of_source;
pub(crate) use retry::Retry;
pub(crate) use signature::sign_in_lane;

use std::time::{SystemTime, UNIX_EPOCH};

use chancery_model::refusal::{Code, Problem};
use chancery_store::Store;
use serde_json::Value;

use crate::Error;

/// The run kind of requests.
const RUN_KIND: &str = "cut_request";

/// Who wrote the manifest and the decision.
pub const REVIEW_TOOL: &str = concat!("chancery-review/", env!("CARGO_PKG_VERSION"));
/// Who wrote the cut. Deliberately not the verifier's: the two are told apart in the evidence.
pub const EXECUTOR_TOOL: &str = concat!("chancery-executor/", env!("CARGO_PKG_VERSION"));
/// Who wrote the verdict.
pub const VERIFIER_TOOL: &str = concat!("chancery-verifier/", env!("CARGO_PKG_VERSION"));

/// A signature's own time, in microseconds since 1970.
#[expect(
    clippy::disallowed_methods,
    reason = "it decides nothing: the database compares it with its own time"
)]
pub(crate) fn now_micros() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).expect("the clock is past 1970");
    i64::try_from(since.as_micros()).expect("the clock is before the year 290000")
}

/// A refusal in the database's words, for what is found out before a door is asked.
pub(crate) async fn refused(store: &Store, code: Code, facts: Value) -> Error {
    let facts = match facts {
        Value::Object(facts) => facts,
        other => std::iter::once(("given".to_owned(), other)).collect(),
    };
    let problem = Problem { code, problem: code.problem().to_owned(), facts };
    match store.refusal(code, vec![problem]).await {
        Ok(refusal) => chancery_store::Error::Refused(Box::new(refusal)).into(),
        Err(error) => error.into(),
    }
}

/// The first of these classes that a principal holds; the last one when it holds none, so that the database says what is missing.
async fn held_class(store: &Store, principal: &str, classes: &[&str]) -> Result<String, Error> {
    let principals = store.principals().await?;
    let held: &[String] =
        principals.iter().find(|p| p.name == principal).map_or(&[], |p| &p.actor_classes);
    let fitting = classes.iter().find(|class| held.iter().any(|h| h == *class));
    Ok((*fitting.or_else(|| classes.last()).expect("some class can do it")).to_owned())
}
