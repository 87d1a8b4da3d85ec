//! What holds for every request: its id, the headers of its answer, and its line in the log.

use std::sync::OnceLock;
use std::time::Instant;

use axum::extract::{MatchedPath, Request, State};
use axum::http::header::{
    CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, STRICT_TRANSPORT_SECURITY,
    X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use axum::middleware::Next;
use axum::response::Response;
use uuid::Uuid;

use crate::body::Patience;
use crate::host::Host;

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
const OPENER_POLICY: HeaderName = HeaderName::from_static("cross-origin-opener-policy");
const RESOURCE_POLICY: HeaderName = HeaderName::from_static("cross-origin-resource-policy");

/// A page takes scripts, styles and pictures from here alone, and none of them from its own text.
const FOR_PAGES: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; \
                         form-action 'self'; base-uri 'none'; frame-ancestors 'none'";
/// What is no page loads nothing, should a browser show it as one.
const FOR_DATA: &str = "default-src 'none'; frame-ancestors 'none'";

/// A request under way.
#[derive(Debug)]
struct Asking {
    id: String,
    principal: OnceLock<String>,
}

tokio::task_local! {
    static ASKING: Asking;
}

/// The id of the request that is answered here.
pub(crate) fn request_id() -> Option<String> {
    ASKING.try_with(|asking| asking.id.clone()).ok()
}

/// Tells the log who asks.
pub(crate) fn is(principal: &str) {
    // Outside a request nobody listens.
    let _ = ASKING.try_with(|asking| asking.principal.set(principal.to_owned()));
}

/// Answers a request with its id and the headers that keep a browser safe, and writes one line: never a query, a header or a body.
pub(crate) async fn ask(State(host): State<Host>, mut request: Request, next: Next) -> Response {
    let id = shown_id(request.headers()).unwrap_or_else(|| Uuid::now_v7().simple().to_string());
    let method = request.method().clone();
    let route = request.extensions().get::<MatchedPath>().cloned();
    request.extensions_mut().insert(Patience(host.options().patience.body));
    let asking = Asking { id: id.clone(), principal: OnceLock::new() };
    let since = Instant::now();
    let (mut response, principal) = ASKING
        .scope(asking, async {
            let response = next.run(request).await;
            (response, ASKING.with(|asking| asking.principal.get().cloned()))
        })
        .await;
    let route = route.as_ref().map_or("-", MatchedPath::as_str);
    let principal = principal.as_deref().unwrap_or("-");
    let status = response.status().as_u16();
    let duration_ms = u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX);
    tracing::info!(target: "chancery::request", id, %method, route, status, duration_ms, principal, "answered");
    protect(response.headers_mut(), host.is_tls());
    if let Ok(id) = HeaderValue::from_str(&id) {
        response.headers_mut().insert(REQUEST_ID, id);
    }
    response
}

/// The id that the client gave: a short word without surprises, once.
fn shown_id(headers: &HeaderMap) -> Option<String> {
    let mut shown = headers.get_all(REQUEST_ID).iter();
    let id = shown.next().filter(|_| shown.next().is_none())?.to_str().ok()?;
    let fits = (8..=128).contains(&id.len())
        && id.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'));
    fits.then(|| id.to_owned())
}

fn protect(headers: &mut HeaderMap, tls: bool) {
    let is_page =
        headers.get(CONTENT_TYPE).is_some_and(|kind| kind.as_bytes().starts_with(b"text/html"));
    let policy = if is_page { FOR_PAGES } else { FOR_DATA };
    for (name, value) in [
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (X_FRAME_OPTIONS, "DENY"),
        (REFERRER_POLICY, "no-referrer"),
        (OPENER_POLICY, "same-origin"),
        (RESOURCE_POLICY, "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    // A route that needs a stricter or another one says so itself.
    headers.entry(CONTENT_SECURITY_POLICY).or_insert(HeaderValue::from_static(policy));
    if tls {
        let year = HeaderValue::from_static("max-age=31536000");
        headers.insert(STRICT_TRANSPORT_SECURITY, year);
    }
}
