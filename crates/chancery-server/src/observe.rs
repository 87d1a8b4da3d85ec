//! Every request, as figures and traces see it.

use std::time::Instant;

use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderMap, HeaderValue, Method};
use axum::middleware::Next;
use axum::response::Response;
use rand::RngCore as _;
use tracing::Instrument as _;

use crate::host::Host;

/// The header of W3C's trace context.
pub(crate) const TRACEPARENT: &str = "traceparent";

/// Which trace a request is of, and its own place in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Trace {
    /// 32 hexadecimal digits.
    pub(crate) trace_id: String,
    /// The caller's span, 16 digits; nothing when it began here.
    pub(crate) parent_id: Option<String>,
}

impl Trace {
    /// The trace that the caller names. What is no `traceparent` as W3C writes it is none: the caller learns nothing from that, and
    /// nothing of theirs goes on.
    pub(crate) fn told(headers: &HeaderMap) -> Option<Self> {
        let mut shown = headers.get_all(TRACEPARENT).iter();
        let (Some(text), None) = (shown.next(), shown.next()) else { return None };
        let parts: Vec<&str> = text.to_str().ok()?.split('-').collect();
        let hex = |text: &str, digits: usize| {
            text.len() == digits
                && text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
        };
        let id = |text: &str, digits: usize| hex(text, digits) && text.bytes().any(|b| b != b'0');
        match parts[..] {
            ["00", trace, parent, flags] if id(trace, 32) && id(parent, 16) && hex(flags, 2) => {
                Some(Self { trace_id: trace.to_owned(), parent_id: Some(parent.to_owned()) })
            }
            _ => None,
        }
    }

    fn fresh() -> Self {
        Self { trace_id: random::<16>(), parent_id: None }
    }
}

fn random<const N: usize>() -> String {
    let mut bytes = [0; N];
    rand::thread_rng().fill_bytes(&mut bytes);
    // An id is never nothing but zeros.
    bytes[N - 1] |= 1;
    hex::encode(bytes)
}

/// Counts a request, and gives it a span of its trace. What the request starts carries the trace on.
pub(crate) async fn observe(
    State(host): State<Host>,
    mut request: Request,
    next: Next,
) -> Response {
    let begun = Instant::now();
    let method = word(request.method());
    let route = request
        .extensions()
        .get::<MatchedPath>()
        .map_or_else(|| "none".to_owned(), |path| path.as_str().to_owned());
    let Trace { trace_id, parent_id } = Trace::told(request.headers()).unwrap_or_else(Trace::fresh);
    let span_id = random::<8>();
    if let Ok(own) = HeaderValue::from_str(&format!("00-{trace_id}-{span_id}-01")) {
        request.headers_mut().insert(TRACEPARENT, own);
    }
    let span = tracing::info_span!(
        target: "chancery::request",
        "request",
        trace.id = trace_id,
        span.id = span_id,
        span.parent = parent_id,
        http.method = method,
        http.route = route,
        http.status = tracing::field::Empty,
    );
    let response = next.run(request).instrument(span.clone()).await;
    let status = response.status().as_u16();
    span.record("http.status", status);
    host.requests().count(method, &route, status, begun.elapsed());
    response
}

/// Methods that somebody made up are one.
fn word(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::DELETE => "DELETE",
        Method::HEAD => "HEAD",
        Method::OPTIONS => "OPTIONS",
        _ => "other",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_is_taken_as_w3c_writes_it_or_not_at_all() {
        let told = |values: &[&str]| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(TRACEPARENT, HeaderValue::from_str(value).expect("a header"));
            }
            Trace::told(&headers).map(|trace| trace.trace_id)
        };
        let (trace, span) = ("0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331");
        let good = format!("00-{trace}-{span}-01");
        assert_eq!(told(&[&good]).as_deref(), Some(trace));
        for bad in [
            String::new(),
            format!("00-{trace}-{span}"),
            format!("01-{trace}-{span}-01"),
            format!("00-{}-{span}-01", trace.to_uppercase()),
            format!("00-{}-{span}-01", "0".repeat(32)),
            format!("00-{trace}-{}-01", "0".repeat(16)),
            format!("00-{trace}-{span}-01-more"),
        ] {
            assert_eq!(told(&[&bad]), None, "{bad}");
        }
        assert_eq!(told(&[&good, &good]), None, "one of them is not the caller's");
        assert_ne!(Trace::fresh(), Trace::fresh());
    }
}
