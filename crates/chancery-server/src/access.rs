//! Who may ask: whoever shows the token that lies in the data directory.

use axum::extract::{Request, State};
use axum::http::header::AUTHORIZATION;
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use chancery_engine::loops::SERVICE;
use subtle::ConstantTimeEq as _;

use crate::asking;
use crate::host::Host;
use crate::problem::{Fault, Problem};

/// Lets a request through that shows the token, while requests are taken.
pub(crate) async fn require(State(host): State<Host>, request: Request, next: Next) -> Response {
    if !shows(&request, host.token()) {
        let detail =
            "send `Authorization: Bearer TOKEN`; `chancery serve` says where the token lies";
        return Problem::of(Fault::Unauthorized, detail).into_response();
    }
    if host.is_stopping() {
        return Problem::of(Fault::Stopping, "ask another one, or again").into_response();
    }
    asking::is(SERVICE);
    next.run(request).await
}

fn shows(request: &Request, token: &str) -> bool {
    let mut shown = request.headers().get_all(AUTHORIZATION).iter();
    let (Some(header), None) = (shown.next(), shown.next()) else { return false };
    let Some((scheme, credentials)) = header.as_bytes().split_at_checked(7) else { return false };
    // How long the token is, is no secret.
    scheme.eq_ignore_ascii_case(b"Bearer ") && bool::from(credentials.ct_eq(token.as_bytes()))
}
