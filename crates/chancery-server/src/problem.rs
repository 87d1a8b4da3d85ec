//! Answers that are no: problem documents as RFC 9457 has them.

use axum::http::header::{CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use chancery_model::refusal::{Code, Refusal};
use serde_json::{Value, json};

/// What is wrong with a request or with us, where no rule of the database says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    Unauthorized,
    NotFound,
    MethodNotAllowed,
    BodyMalformed,
    BodyTooLarge,
    BodyTooSlow,
    MediaType,
    RequestInvalid,
    Stopping,
    DatabaseAway,
    DatabaseBusy,
    SchemaDiffers,
    Internal,
}

impl Fault {
    /// Every fault; `docs/reference/lease-protocol.md` describes each.
    pub const ALL: &[Self] = &[
        Self::Unauthorized,
        Self::NotFound,
        Self::MethodNotAllowed,
        Self::BodyMalformed,
        Self::BodyTooLarge,
        Self::BodyTooSlow,
        Self::MediaType,
        Self::RequestInvalid,
        Self::Stopping,
        Self::DatabaseAway,
        Self::DatabaseBusy,
        Self::SchemaDiffers,
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
            Self::SchemaDiffers => (
                "schema_differs",
                StatusCode::SERVICE_UNAVAILABLE,
                "The database is not of this release.",
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
    Fault { fault: Fault, detail: String },
    Refused(Box<Refusal>),
}

impl Problem {
    pub(crate) fn of(fault: Fault, detail: impl Into<String>) -> Self {
        Self::Fault { fault, detail: detail.into() }
    }

    fn status(&self) -> StatusCode {
        match self {
            Self::Fault { fault, .. } => fault.status(),
            Self::Refused(refusal) => status_of(refusal.code),
        }
    }

    fn document(&self) -> Value {
        match self {
            Self::Fault { fault, detail } => {
                let (name, status, title) = fault.words();
                json!({
                    "type": format!("urn:chancery:fault:{name}"), "title": title, "status": status.as_u16(),
                    "detail": detail, "problem": name,
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
        Code::RE006 | Code::RE011 | Code::RW001 | Code::RW012 => StatusCode::NOT_FOUND,
        Code::RE009
        | Code::RE010
        | Code::RE012
        | Code::RW006
        | Code::RW013
        | Code::RW014
        | Code::RW025 => StatusCode::CONFLICT,
        Code::RI001 | Code::RI002 | Code::RI003 | Code::RI004 => StatusCode::FORBIDDEN,
        _ => StatusCode::UNPROCESSABLE_ENTITY,
    }
}

impl From<chancery_store::Error> for Problem {
    fn from(error: chancery_store::Error) -> Self {
        use chancery_store::Error;
        match error {
            Error::Refused(refusal) => Self::Refused(refusal),
            Error::Conflict(_) => Self::of(Fault::DatabaseBusy, "ask again"),
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
        let mut response = (status, self.document().to_string()).into_response();
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if status == StatusCode::SERVICE_UNAVAILABLE {
            headers.insert(RETRY_AFTER, HeaderValue::from_static("1"));
        }
        if status == StatusCode::UNAUTHORIZED {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}
