//! A step or task of a workflow as an executor sees it, and what it can say about it.

use std::future::Future;
use std::pin::Pin;

use chancery_store::Store;
use chancery_store::queue::LeasedJob;
use chancery_store::workflow::{Assignment, Lease};
use serde_json::{Value, json};

/// What an executor says about a step: what came of it or what it waits for, or why it failed.
pub type Work<'a> = Pin<Box<dyn Future<Output = Result<Outcome, Trouble>> + Send + 'a>>;

/// Where a step stands after an executor had it.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// Done, with this output: an object that meets the step's contract.
    Done(Value),
    /// It goes on when all of these have come; another job takes it up then. Each is `{facet, …}` as the store wants it.
    Waiting(Vec<Value>),
}

/// How work fails; the registry of the database has the same words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureClass {
    Timeout,
    Unavailable,
    Unclassified,
    BadRequest,
    BadOutput,
    NotAllowed,
    Rejected,
    /// A rule did not let the result in.
    Refused,
}

impl FailureClass {
    /// Every class that executors use.
    pub const ALL: [Self; 8] = [
        Self::Timeout,
        Self::Unavailable,
        Self::Unclassified,
        Self::BadRequest,
        Self::BadOutput,
        Self::NotAllowed,
        Self::Rejected,
        Self::Refused,
    ];

    /// The word of the database.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Timeout => "timeout",
            Self::Unavailable => "unavailable",
            Self::Unclassified => "unclassified",
            Self::BadRequest => "bad_request",
            Self::BadOutput => "bad_output",
            Self::NotAllowed => "not_allowed",
            Self::Rejected => "rejected",
            Self::Refused => "refused",
        }
    }

    /// Whether trying again can help: `transient` or `permanent`.
    pub const fn classification(self) -> &'static str {
        match self {
            Self::Timeout | Self::Unavailable | Self::Unclassified | Self::Refused => "transient",
            Self::BadRequest | Self::BadOutput | Self::NotAllowed | Self::Rejected => "permanent",
        }
    }
}

/// Why a step failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trouble {
    pub class: FailureClass,
    /// For people; it stands in the log of the step, so it carries no secret.
    pub detail: String,
}

macro_rules! troubles {
    ($($name:ident => $class:ident,)*) => {$(
        #[doc = concat!("As `", stringify!($name), "`.")]
        pub fn $name(detail: impl Into<String>) -> Self {
            Self { class: FailureClass::$class, detail: detail.into() }
        }
    )*};
}

impl Trouble {
    troubles! {
        timeout => Timeout,
        unavailable => Unavailable,
        unclassified => Unclassified,
        bad_request => BadRequest,
        bad_output => BadOutput,
        not_allowed => NotAllowed,
        rejected => Rejected,
        refused => Refused,
    }
}

/// A step or task under way.
#[derive(Debug)]
pub struct Task {
    pub assignment: Assignment,
    store: Store,
    job: LeasedJob,
    worker: String,
    principal: String,
}

impl Task {
    pub(super) fn new(
        assignment: Assignment,
        store: &Store,
        job: &LeasedJob,
        worker: &str,
        principal: &str,
    ) -> Self {
        Self {
            assignment,
            store: store.clone(),
            job: job.clone(),
            worker: worker.to_owned(),
            principal: principal.to_owned(),
        }
    }

    /// The parameters that the definition gives, with every path resolved; null when it gives none.
    pub fn with(&self) -> &Value {
        self.assignment.input.as_ref().map_or(&Value::Null, |input| &input["with"])
    }

    /// Everything that there is to work with: `{with, inputs, outputs, unit_version}`.
    pub fn input(&self) -> Value {
        self.assignment.input.clone().unwrap_or_else(|| json!({}))
    }

    /// The first try is 1.
    pub fn attempt(&self) -> i32 {
        self.assignment.attempt.unwrap_or(1)
    }

    /// The same for every try of the same work.
    pub fn idempotency_key(&self) -> &str {
        self.assignment.idempotency_key.as_deref().unwrap_or_default()
    }

    /// 32 hex digits.
    pub fn trace_id(&self) -> &str {
        self.assignment.trace_id.as_deref().unwrap_or(&self.job.trace_id)
    }

    pub fn job(&self) -> &LeasedJob {
        &self.job
    }

    /// What a call-back of this try brought.
    pub fn called_back(&self) -> Option<&Value> {
        let answered = self.assignment.waits.iter().filter(|wait| {
            wait["facet"] == "waiting_external" && wait["resolved"] == Value::Bool(true)
        });
        answered.filter_map(|wait| wait["proof"].get("answer")).next_back()
    }

    /// What this try waited for a decision on, newest last.
    pub fn waited_for<'a>(&'a self, subject_kind: &'a str) -> impl Iterator<Item = &'a str> {
        let of_kind =
            self.assignment.waits.iter().filter(move |wait| wait["subject_kind"] == subject_kind);
        of_kind.filter_map(|wait| wait["subject_ref"].as_str())
    }

    /// Says that a call-back with this digest of its token may come. Before the call goes out, so that the answer cannot be too early.
    ///
    /// # Errors
    /// When the database does not take it; then nothing must go out.
    pub async fn expect_call_back(&self, token_sha256: &[u8]) -> Result<(), Trouble> {
        match self.store.fn_callback_issue(self.lease(), token_sha256).await {
            Ok(_) => Ok(()),
            Err(error) => Err(Trouble::unavailable(format!("no call-back can be taken: {error}"))),
        }
    }

    pub(super) fn lease(&self) -> Lease<'_> {
        Lease {
            job_id: self.job.job_id,
            lease_no: self.job.lease_no,
            worker: &self.worker,
            principal: &self.principal,
        }
    }
}
