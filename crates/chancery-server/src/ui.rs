//! The pages that people see: files that `bin/ui` makes, inside the binary. A debug build reads them where they were made.

use std::sync::LazyLock;

use axum::body::Body;
use axum::extract::Request;
use axum::http::header::{
    ACCEPT, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, IF_NONE_MATCH,
};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::response::{IntoResponse as _, Response};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rust_embed::{Embed, EmbeddedFile};
use sha2::{Digest as _, Sha256};

use crate::problem::{Fault, Problem};

#[derive(Embed)]
#[folder = "../../ui/.output/public"]
#[allow_missing = true]
struct Files;

/// The one page, which finds by the address what to show.
const PAGE: &str = "200.html";

/// What stands here when the binary was built without pages.
const NOT_BUILT: &str = "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Chancery</title><h1>The pages were not built</h1>\
                         <p>Run <code>bin/ui</code> and build again. The <a href=\"/docs\">HTTP API</a> is here.</p></html>";

/// Files whose name has a digest of their content never change.
const FOR_EVER: &str = "public, max-age=31536000, immutable";
const ASK_AGAIN: &str = "no-cache";

/// A page's own scripts are known by their digests: whatever else gets into the page does not run.
static POLICY: LazyLock<HeaderValue> = LazyLock::new(|| {
    let page = Files::get(PAGE).map(|file| file.data.into_owned()).unwrap_or_default();
    let own: String = scripts(&String::from_utf8_lossy(&page))
        .map(|script| format!(" 'sha256-{}'", STANDARD.encode(Sha256::digest(script))))
        .collect();
    let policy = format!(
        "default-src 'none'; script-src 'self'{own}; style-src 'self'; img-src 'self' data: blob:; font-src 'self'; connect-src 'self'; \
         manifest-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    );
    HeaderValue::from_str(&policy).expect("base64 and plain words")
});

/// The texts of the scripts that stand in a page itself.
fn scripts(page: &str) -> impl Iterator<Item = &str> {
    page.split("<script").skip(1).filter_map(|rest| {
        let (head, text) = rest.split_once('>')?;
        let (text, _) = text.split_once("</script>")?;
        (!head.contains("src=") && !text.is_empty()).then_some(text)
    })
}

/// Answers what no route does: a file, or the page to who reads HTML. Programs hear that there is nothing.
pub(crate) async fn show(request: Request) -> Response {
    let path = request.uri().path().trim_start_matches('/');
    let of_the_api = ["v1", "docs", "metrics", "healthz", "readyz"]
        .iter()
        .any(|root| path.split('/').next() == Some(root));
    if of_the_api || !matches!(*request.method(), Method::GET | Method::HEAD) {
        return Problem::of(Fault::NotFound, "see docs/reference/http-api.md").into_response();
    }
    if let Some(file) = Files::get(path).filter(|_| path != PAGE && path != "index.html") {
        let kept = if path.starts_with("_nuxt/") { FOR_EVER } else { ASK_AGAIN };
        return given(&file, kept, request.headers());
    }
    if !reads_pages(request.headers()) {
        return Problem::of(Fault::NotFound, "see docs/reference/http-api.md").into_response();
    }
    let Some(page) = Files::get(PAGE) else {
        let head = [(CONTENT_TYPE, "text/html; charset=utf-8"), (CACHE_CONTROL, "no-store")];
        return (StatusCode::NOT_FOUND, head, NOT_BUILT).into_response();
    };
    let mut answer = given(&page, ASK_AGAIN, request.headers());
    answer.headers_mut().insert(CONTENT_SECURITY_POLICY, POLICY.clone());
    answer
}

fn reads_pages(headers: &HeaderMap) -> bool {
    let accepts = headers.get(ACCEPT).and_then(|accept| accept.to_str().ok());
    accepts.is_some_and(|accept| accept.contains("text/html"))
}

fn given(file: &EmbeddedFile, kept: &'static str, headers: &HeaderMap) -> Response {
    let tag = format!("\"{}\"", hex::encode(&file.metadata.sha256_hash()[..16]));
    let tag = HeaderValue::from_str(&tag).expect("hexadecimal digits");
    let media = file.metadata.mimetype();
    let media = if media.starts_with("text/") {
        format!("{media}; charset=utf-8")
    } else {
        media.to_owned()
    };
    let known = headers.get(IF_NONE_MATCH) == Some(&tag);
    let (status, body) = if known {
        (StatusCode::NOT_MODIFIED, Body::empty())
    } else {
        (StatusCode::OK, Body::from(file.data.to_vec()))
    };
    let mut answer = (status, body).into_response();
    let head = answer.headers_mut();
    head.insert(CONTENT_TYPE, HeaderValue::from_str(&media).expect("a media type"));
    head.insert(CACHE_CONTROL, HeaderValue::from_static(kept));
    head.insert(ETAG, tag);
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scripts_of_a_page_are_those_in_its_text() {
        let page = "<script type=\"module\" src=\"/x.js\"></script><script>a()</script><p>x</p><script id=\"d\">b</script><script></script>";
        assert_eq!(scripts(page).collect::<Vec<_>>(), ["a()", "b"]);
    }
}
