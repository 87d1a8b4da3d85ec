//! Answers that are no: problem documents as RFC 9457 has them.

use axum::http::header::{CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use base64::prelude::{BASE64_STANDARD, Engine as _};
use chancery_api::problem::{Statement, ToSign};
use chancery_model::refusal::{Code, Refusal};
use serde_json::{Value, json};

use crate::asking;

/// What is wrong with a request or with us, where no rule of the database says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    Unauthorized,
    HostUnknown,
    HeadTooLarge,
    NotFound,
    MethodNotAllowed,
    BodyMalformed,
    BodyTooLarge,
    BodyTooSlow,
    MediaType,
    RequestInvalid,
    QueryInvalid,
    IdMalformed,
    KeyMissing,
    SignatureNeeded,
    SignatureMalformed,
    CsrfMissing,
    HasChanged,
    TooMany,
    ProofUnfit,
    ProviderAway,
    Stopping,
    DatabaseAway,
    DatabaseBusy,
    LocksExhausted,
    SchemaDiffers,
    RulesDiffer,
    Internal,
}

impl Fault {
    /// Every fault; `docs/reference/http-api.md` describes each.
    pub const ALL: &[Self] = &[
        Self::Unauthorized,
        Self::HostUnknown,
        Self::HeadTooLarge,
        Self::NotFound,
        Self::MethodNotAllowed,
        Self::BodyMalformed,
        Self::BodyTooLarge,
        Self::BodyTooSlow,
        Self::MediaType,
        Self::RequestInvalid,
        Self::QueryInvalid,
        Self::IdMalformed,
        Self::KeyMissing,
        Self::SignatureNeeded,
        Self::SignatureMalformed,
        Self::CsrfMissing,
        Self::HasChanged,
        Self::TooMany,
        Self::ProofUnfit,
        Self::ProviderAway,
        Self::Stopping,
        Self::DatabaseAway,
        Self::DatabaseBusy,
        Self::LocksExhausted,
        Self::SchemaDiffers,
        Self::RulesDiffer,
        Self::Internal,
    ];

    /// The word for programs.
    pub const fn name(self) -> &'static str {
        self.words().0
    }

    /// The status it is answered with.
    pub const fn status(self) -> StatusCode {
        self.words().1
    }

    const fn words(self) -> (&'static str, StatusCode, &'static str) {
        match self {
            Self::Unauthorized => (
                "unauthorized",
                StatusCode::UNAUTHORIZED,
                "The request shows no token, or not ours.",
            ),
            Self::HostUnknown => (
                "host_unknown",
                StatusCode::MISDIRECTED_REQUEST,
                "This server does not answer under this host name.",
            ),
            Self::HeadTooLarge => (
                "head_too_large",
                StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
                "The head of the request is too large.",
            ),
            Self::NotFound => ("not_found", StatusCode::NOT_FOUND, "There is nothing here."),
            Self::MethodNotAllowed => (
                "method_not_allowed",
                StatusCode::METHOD_NOT_ALLOWED,
                "This is asked with another method.",
            ),
            Self::BodyMalformed => {
                ("body_malformed", StatusCode::BAD_REQUEST, "The body is no JSON that can be kept.")
            }
            Self::BodyTooLarge => (
                "body_too_large",
                StatusCode::PAYLOAD_TOO_LARGE,
                "The body is larger than this route takes.",
            ),
            Self::BodyTooSlow => {
                ("body_too_slow", StatusCode::REQUEST_TIMEOUT, "The body did not arrive in time.")
            }
            Self::MediaType => (
                "media_type",
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "The body is not sent as application/json.",
            ),
            Self::RequestInvalid => (
                "request_invalid",
                StatusCode::UNPROCESSABLE_ENTITY,
                "The request has a member too many, too few, or of another kind.",
            ),
            Self::QueryInvalid => (
                "query_invalid",
                StatusCode::BAD_REQUEST,
                "The address has a parameter too many, too few, or of another kind.",
            ),
            Self::IdMalformed => (
                "id_malformed",
                StatusCode::BAD_REQUEST,
                "This is no id of what the route is about.",
            ),
            Self::KeyMissing => (
                "idempotency_key_missing",
                StatusCode::PRECONDITION_REQUIRED,
                "What changes something comes with an Idempotency-Key.",
            ),
            Self::SignatureNeeded => (
                "signature_needed",
                StatusCode::PRECONDITION_REQUIRED,
                "This has to be signed with the caller's own key first.",
            ),
            Self::SignatureMalformed => (
                "signature_malformed",
                StatusCode::BAD_REQUEST,
                "The headers of the signature are not what they should be.",
            ),
            Self::CsrfMissing => (
                "csrf_missing",
                StatusCode::FORBIDDEN,
                "What a browser changes comes with the token that it got when it signed in.",
            ),
            Self::HasChanged => (
                "has_changed",
                StatusCode::PRECONDITION_FAILED,
                "It has changed since it was read.",
            ),
            Self::TooMany => (
                "too_many_requests",
                StatusCode::TOO_MANY_REQUESTS,
                "There were too many requests of one principal, or sign-ins from one address.",
            ),
            Self::ProofUnfit => (
                "proof_unfit",
                StatusCode::UNAUTHORIZED,
                "What the provider sent the browser back with does not say who it is.",
            ),
            Self::ProviderAway => (
                "provider_away",
                StatusCode::SERVICE_UNAVAILABLE,
                "The provider of identities can't be asked.",
            ),
            Self::Stopping => {
                ("stopping", StatusCode::SERVICE_UNAVAILABLE, "This process is ending.")
            }
            Self::DatabaseAway => (
                "database_away",
                StatusCode::SERVICE_UNAVAILABLE,
                "The database gave no answer; it is unknown whether it did what was asked.",
            ),
            Self::DatabaseBusy => (
                "database_busy",
                StatusCode::SERVICE_UNAVAILABLE,
                "Somebody else was in the way; nothing was done.",
            ),
            Self::LocksExhausted => (
                "locks_exhausted",
                StatusCode::SERVICE_UNAVAILABLE,
                "The database has no room for more locks; nothing was done.",
            ),
            Self::SchemaDiffers => (
                "schema_differs",
                StatusCode::SERVICE_UNAVAILABLE,
                "The database is not of this release.",
            ),
            Self::RulesDiffer => (
                "rules_differ",
                StatusCode::SERVICE_UNAVAILABLE,
                "The rules in the database are not those of this release; nothing is decided by them.",
            ),
            Self::Internal => (
                "internal",
                StatusCode::INTERNAL_SERVER_ERROR,
                "This is a defect; the log of the process tells more.",
            ),
        }
    }
}

/// An answer that is no.
#[derive(Debug)]
pub(crate) enum Problem {
    Fault {
        fault: Fault,
        detail: String,
    },
    /// A fault that is over after so many seconds.
    Later {
        fault: Fault,
        detail: String,
        seconds: u64,
    },
    Refused(Box<Refusal>),
    /// What has to be signed before it is done.
    Unsigned(Box<chancery_api::problem::ToSign>),
}

impl Problem {
    pub(crate) fn of(fault: Fault, detail: impl Into<String>) -> Self {
        Self::Fault { fault, detail: detail.into() }
    }

    /// Whether nothing but a signature is missing, or does not hold.
    pub(crate) fn is_about_the_signature(&self) -> bool {
        match self {
            Self::Unsigned(_) => true,
            Self::Refused(refusal) => {
                refusal.code == Code::RI051
                    && refusal.problems.iter().all(|problem| problem.code == Code::RI051)
            }
            Self::Fault { .. } | Self::Later { .. } => false,
        }
    }

    fn status(&self) -> StatusCode {
        match self {
            Self::Fault { fault, .. } | Self::Later { fault, .. } => fault.status(),
            Self::Refused(refusal) => status_of(refusal.code),
            Self::Unsigned(_) => Fault::SignatureNeeded.status(),
        }
    }

    fn document(&self) -> Value {
        match self {
            Self::Fault { fault, detail } | Self::Later { fault, detail, .. } => {
                let (name, status, title) = fault.words();
                json!({
                    "type": format!("urn:chancery:fault:{name}"), "title": title, "status": status.as_u16(),
                    "detail": detail, "problem": name,
                })
            }
            Self::Unsigned(to_sign) => {
                let (name, status, title) = Fault::SignatureNeeded.words();
                json!({
                    "type": format!("urn:chancery:fault:{name}"), "title": title, "status": status.as_u16(), "problem": name,
                    "detail": "sign each statement, then ask again with Chancery-Key, Chancery-Signed-At and Chancery-Signature",
                    "to_sign": to_sign,
                })
            }
            Self::Refused(refusal) => {
                let Refusal { code, title, hint, problems } = &**refusal;
                json!({
                    "type": format!("urn:chancery:refusal:{code}"), "title": title,
                    "status": status_of(*code).as_u16(), "code": code, "problem": code.problem(),
                    "problems": problems, "hint": hint, "more": format!("docs/errors/{code}.md"),
                })
            }
        }
    }
}

/// A refusal's status: what is not there, what came too late or stands against another, who may not, and what is not well-formed.
fn status_of(code: Code) -> StatusCode {
    match code {
        Code::RE006
        | Code::RE011
        | Code::RE020
        | Code::RE040
        | Code::RE041
        | Code::RE049
        | Code::RE050
        | Code::RW001
        | Code::RW012
        | Code::RS001
        | Code::RS018
        | Code::RA002
        | Code::RB002
        | Code::RC001
        | Code::RO001
        | Code::RB019
        | Code::RI028
        | Code::RI050 => StatusCode::NOT_FOUND,
        Code::RE009
        | Code::RE010
        | Code::RE012
        | Code::RW006
        | Code::RW013
        | Code::RW014
        | Code::RW025
        | Code::RS004
        | Code::RS009
        | Code::RS012
        | Code::RS023
        | Code::RA005
        | Code::RA008
        | Code::RA021
        | Code::RC015
        | Code::RC023
        | Code::RO005
        | Code::RO010 => StatusCode::CONFLICT,
        Code::RI041 | Code::RI042 | Code::RI043 | Code::RI044 | Code::RI045 => {
            StatusCode::UNAUTHORIZED
        }
        Code::RI001 | Code::RI002 | Code::RI003 | Code::RI004 | Code::RI040 | Code::RI046 => {
            StatusCode::FORBIDDEN
        }
        _ => StatusCode::UNPROCESSABLE_ENTITY,
    }
}

impl From<chancery_engine::Error> for Problem {
    fn from(error: chancery_engine::Error) -> Self {
        use chancery_engine::Error;
        match error {
            Error::Store(error) => error.into(),
            Error::Unsigned { statements, key_id, asked_at } => Self::Unsigned(Box::new(ToSign {
                key_id: key_id.into(),
                signed_at: asked_at,
                statements: statements
                    .iter()
                    .map(|statement| Statement {
                        payload_type: statement.payload_type().to_owned(),
                        payload: statement.payload().to_owned(),
                        bytes: BASE64_STANDARD.encode(statement.pre_authentication_encoding()),
                    })
                    .collect(),
            })),
            // Written for the command line; a request has a member instead.
            Error::Ambiguous(why) => {
                let why = why.replace("--class", "actor_class").replace("--actor", "actor_class");
                Self::of(Fault::RequestInvalid, why)
            }
            error @ (Error::File { .. }
            | Error::Parse { .. }
            | Error::Unsound { .. }
            | Error::Picture(_)
            | Error::Key(_)
            | Error::Untrusted { .. }
            | Error::Exhausted { .. }) => {
                tracing::error!(%error, "a request failed");
                Self::of(Fault::Internal, "nothing more is told here")
            }
        }
    }
}

impl From<chancery_store::Error> for Problem {
    fn from(error: chancery_store::Error) -> Self {
        use chancery_store::Error;
        match error {
            Error::Refused(refusal) => Self::Refused(refusal),
            Error::Conflict(_) => Self::of(Fault::DatabaseBusy, "ask again"),
            Error::Locks(message) => {
                tracing::error!(message, "no room for more locks: raise max_locks_per_transaction");
                Self::of(
                    Fault::LocksExhausted,
                    "ask for fewer things at once; the operator raises max_locks_per_transaction and restarts PostgreSQL",
                )
            }
            Error::Away(_) => {
                Self::of(Fault::DatabaseAway, "ask again; the same key is the same job")
            }
            Error::Schema(_) => Self::of(Fault::SchemaDiffers, "run `chancery migrate`"),
            // What PostgreSQL says about the inside is for the operator.
            error @ (Error::Denied(_) | Error::Bug { .. } | Error::Managed(_)) => {
                tracing::error!(%error, "a request failed");
                Self::of(Fault::Internal, "nothing more is told here")
            }
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = self.status();
        let seconds = if let Self::Later { seconds, .. } = self { seconds } else { 1 };
        let mut document = self.document();
        if let Some(id) = asking::request_id() {
            document["request_id"] = id.into();
        }
        let mut response = (status, document.to_string()).into_response();
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if matches!(status, StatusCode::SERVICE_UNAVAILABLE | StatusCode::TOO_MANY_REQUESTS) {
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        if status == StatusCode::UNAUTHORIZED {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}
