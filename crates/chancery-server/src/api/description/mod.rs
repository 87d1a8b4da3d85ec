//! The API about itself: the OpenAPI document, and a page made of it that runs nothing and asks nobody else.

mod html;

use std::sync::LazyLock;

use axum::body::Body;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, HeaderName, IF_NONE_MATCH,
};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse as _, Response};
use chancery_api::Nothing;
use chancery_api::description::{DOCS, DOCS_STYLE, OPENAPI};
use chancery_api::openapi::document;
use sha2::{Digest as _, Sha256};

use super::{Call, Routes};
use crate::problem::Problem;

const STYLE: &str = include_str!("style.css");
/// The page needs its style and nothing else.
const PAGE_POLICY: &str = "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// A text that is the same for as long as the process lives.
struct Text {
    text: String,
    etag: HeaderValue,
}

impl Text {
    fn new(text: String) -> Self {
        let digest = hex::encode(&Sha256::digest(&text)[..16]);
        let etag = HeaderValue::from_str(&format!("\"{digest}\"")).expect("hex is a header");
        Self { text, etag }
    }

    /// The text, or that the caller has it.
    fn answer(&'static self, media: &'static str, asked: &HeaderMap) -> Response {
        let known = asked
            .get(IF_NONE_MATCH)
            .and_then(|value| value.to_str().ok())
            .is_some_and(|tags| tags.split(',').any(|tag| is_same(tag.trim(), &self.etag)));
        let (status, body) = if known {
            (StatusCode::NOT_MODIFIED, Body::empty())
        } else {
            (StatusCode::OK, Body::from(self.text.as_str()))
        };
        let headers: [(HeaderName, HeaderValue); 3] = [
            (CONTENT_TYPE, HeaderValue::from_static(media)),
            (ETAG, self.etag.clone()),
            (CACHE_CONTROL, HeaderValue::from_static("no-cache")),
        ];
        (status, headers, body).into_response()
    }
}

fn is_same(tag: &str, etag: &HeaderValue) -> bool {
    tag == "*" || tag.strip_prefix("W/").unwrap_or(tag).as_bytes() == etag.as_bytes()
}

static DOCUMENT: LazyLock<Text> =
    LazyLock::new(|| Text::new(document(env!("CARGO_PKG_VERSION")).to_string()));
static PAGE: LazyLock<Text> =
    LazyLock::new(|| Text::new(html::page(&document(env!("CARGO_PKG_VERSION")))));
static LOOK: LazyLock<Text> = LazyLock::new(|| Text::new(STYLE.to_owned()));

pub(super) fn bind(routes: Routes) -> Routes {
    routes.on_raw(&OPENAPI, openapi).on_raw(&DOCS, docs).on_raw(&DOCS_STYLE, style)
}

async fn openapi(call: Call<Nothing, Nothing>) -> Result<Response, Problem> {
    Ok(DOCUMENT.answer("application/json", &call.headers))
}

async fn docs(call: Call<Nothing, Nothing>) -> Result<Response, Problem> {
    let mut page = PAGE.answer("text/html; charset=utf-8", &call.headers);
    page.headers_mut().insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(PAGE_POLICY));
    Ok(page)
}

async fn style(call: Call<Nothing, Nothing>) -> Result<Response, Problem> {
    Ok(LOOK.answer("text/css; charset=utf-8", &call.headers))
}
