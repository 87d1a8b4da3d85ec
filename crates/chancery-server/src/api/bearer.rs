//! Who asks: a token in the header, or the cookie of a browser. The database says whose it is, with every request.

use std::net::IpAddr;

use axum::http::HeaderMap;
use axum::http::header::{AUTHORIZATION, COOKIE};
use chancery_api::Method;
use chancery_engine::loops::SERVICE;
use chancery_model::refusal::Code;
use chancery_store::access::Bearer;
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;
use uuid::Uuid;

use crate::host::Host;
use crate::problem::{Fault, Problem};

pub(crate) const COOKIE_NAME: &str = "chancery_session";
/// What a form must show.
const CSRF: &str = "chancery-csrf";
/// What the token in the data directory is for: workers on this machine.
const LOCAL_PERMISSIONS: [&str; 3] = ["queue.enqueue", "queue.read", "queue.work"];

/// Whoever shows a token or a cookie that is good.
pub(crate) async fn bearer(
    host: &Host,
    method: Method,
    headers: &HeaderMap,
    peer: Option<IpAddr>,
) -> Result<Bearer, Problem> {
    let mut shown = headers.get_all(AUTHORIZATION).iter();
    match (shown.next(), shown.next()) {
        (Some(header), None) => {
            let token = header
                .as_bytes()
                .split_at_checked(7)
                .filter(|(scheme, _)| scheme.eq_ignore_ascii_case(b"Bearer "));
            let Some((_, token)) = token else { return Err(nobody()) };
            // How long the token is, is no secret.
            if bool::from(token.ct_eq(host.token().as_bytes())) {
                return Ok(local());
            }
            look_up(host, "token", token, peer).await
        }
        (Some(_), Some(_)) => Err(nobody()),
        (None, _) => {
            let Some(cookie) = cookie(headers, COOKIE_NAME) else { return Err(nobody()) };
            let bearer = look_up(host, "session", cookie.as_bytes(), peer).await?;
            if method != Method::Get && !shows_csrf(headers, &bearer) {
                return Err(Problem::of(Fault::CsrfMissing, "send the header Chancery-Csrf"));
            }
            Ok(bearer)
        }
    }
}

/// Whose a credential is, as the database says.
async fn look_up(
    host: &Host,
    how: &str,
    secret: &[u8],
    peer: Option<IpAddr>,
) -> Result<Bearer, Problem> {
    let digest = Sha256::digest(secret).into();
    host.guesses().admit(peer, &digest)?;
    let found = host.store().fn_bearer(how, &digest).await;
    match &found {
        Ok(_) => host.guesses().was_known(digest),
        Err(error) if error.refusal().is_some_and(|refusal| refusal.code == Code::RI041) => {
            host.guesses().was_unknown(peer);
        }
        Err(_) => {}
    }
    Ok(found?)
}

fn nobody() -> Problem {
    Problem::of(Fault::Unauthorized, "sign in, or send `Authorization: Bearer TOKEN`")
}

/// What a cookie of this name holds, if there is exactly one.
pub(crate) fn cookie(headers: &HeaderMap, wanted: &str) -> Option<String> {
    let mut found = headers
        .get_all(COOKIE)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .filter(|(name, _)| *name == wanted)
        .map(|(_, value)| value.to_owned());
    found.next().filter(|_| found.next().is_none())
}

fn shows_csrf(headers: &HeaderMap, bearer: &Bearer) -> bool {
    let shown = headers.get(CSRF).map(|value| hex::encode(Sha256::digest(value.as_bytes())));
    let known = bearer.csrf_sha256.as_deref().unwrap_or_default();
    shown.is_some_and(|shown| bool::from(shown.as_bytes().ct_eq(known.as_bytes())))
}

/// Whoever can read the data directory acts as the service, for jobs alone.
fn local() -> Bearer {
    Bearer {
        how: "token".to_owned(),
        id: Uuid::nil(),
        principal: SERVICE.to_owned(),
        kind: "service".to_owned(),
        actor_classes: Vec::new(),
        permissions: LOCAL_PERMISSIONS.iter().map(|&permission| permission.to_owned()).collect(),
        csrf_sha256: None,
        expires_at: String::new(),
        keys: Vec::new(),
    }
}
