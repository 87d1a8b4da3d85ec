//! Signing in and out, who one is, one's tokens and keys.

use axum::http::header::{CONTENT_TYPE, LOCATION, SET_COOKIE};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse as _, Response};
use base64::prelude::{BASE64_URL_SAFE_NO_PAD, Engine as _};
use chancery_api::Nothing;
use chancery_api::access::{
    CameBack, KEY_REQUESTS, Key, KeyRequest, ME, Me, NEW_KEY_REQUEST, NEW_TOKEN, NewKeyRequest,
    NewPassword, NewToken, OIDC, OIDC_CALLBACK, REVOKE_TOKEN, Reason, SET_PASSWORD, SIGN_IN,
    SIGN_OUT, SignIn, SignedIn, TOKENS, Token, TokenMade,
};
use chancery_api::id::TokenId;
use chancery_api::page::{Page, PageQuery};
use chancery_store::access::{self as store, NewSession, Opened};
use chancery_store::fsm::Signed;
use rand::RngCore as _;
use rand::rngs::OsRng;
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use super::bearer::COOKIE_NAME;
use super::password;
use super::{Answered, Call, Routes};
use crate::asking;
use crate::oidc::{self, Vouched};
use crate::problem::{Fault, Problem};

/// What a page reads to show it in the header `Chancery-Csrf`.
const CSRF_COOKIE_NAME: &str = "chancery_csrf";
/// What our tokens begin with, so that one that got lost can be found.
const TOKEN_PREFIX: &str = "chy_";

pub(super) fn bind(routes: Routes) -> Routes {
    routes
        .on(&SIGN_IN, sign_in)
        .on(&SIGN_OUT, sign_out)
        .on(&ME, me)
        .on(&SET_PASSWORD, set_password)
        .on(&TOKENS, tokens)
        .on(&NEW_TOKEN, new_token)
        .on(&REVOKE_TOKEN, revoke_token)
        .on(&KEY_REQUESTS, key_requests)
        .on(&NEW_KEY_REQUEST, new_key_request)
        .on_raw(&OIDC, sign_in_elsewhere)
        .on_raw(&OIDC_CALLBACK, signed_in_elsewhere)
}

/// What nobody guesses.
fn secret() -> String {
    let mut bytes = [0; 32];
    OsRng.fill_bytes(&mut bytes);
    BASE64_URL_SAFE_NO_PAD.encode(bytes)
}

/// A session that is to be opened: what the browser gets, and what the database keeps.
struct Fresh {
    token: String,
    csrf: String,
    session: NewSession,
}

impl Fresh {
    fn new() -> Self {
        let (token, csrf) = (secret(), secret());
        let digest = |text: &str| Sha256::digest(text.as_bytes()).into();
        let session = NewSession {
            session_id: Uuid::now_v7(),
            token_sha256: digest(&token),
            csrf_sha256: digest(&csrf),
        };
        Self { token, csrf, session }
    }

    /// The session itself, which no script can read, and what scripts show when they write. No other site can send either.
    fn set_cookies(&self, headers: &mut HeaderMap, tls: bool) {
        headers.append(
            SET_COOKIE,
            cookie(COOKIE_NAME, &self.token, "/; HttpOnly; SameSite=Strict", tls),
        );
        headers.append(SET_COOKIE, cookie(CSRF_COOKIE_NAME, &self.csrf, "/; SameSite=Strict", tls));
    }
}

fn cookie(name: &str, value: &str, path_and_more: &str, tls: bool) -> HeaderValue {
    let secure = if tls { "; Secure" } else { "" };
    HeaderValue::from_str(&format!("{name}={value}; Path={path_and_more}{secure}"))
        .expect("base64 is a header")
}

/// Guesses are counted by name in the database, and by address here.
fn admit_sign_in<Q, B>(call: &Call<Q, B>) -> Result<(), Problem> {
    let from = call.peer.map_or_else(|| "-".to_owned(), |peer| peer.to_string());
    call.host.sign_ins().admit(&from)
}

/// What the schema says of a text.
fn bounded(name: &str, text: &str, least: usize, most: usize) -> Result<(), Problem> {
    if (least..=most).contains(&text.chars().count()) {
        return Ok(());
    }
    Err(Problem::of(Fault::RequestInvalid, format!("`{name}` has {least} to {most} characters")))
}

async fn sign_in(call: Call<Nothing, SignIn>) -> Result<Answered<SignedIn>, Problem> {
    admit_sign_in(&call)?;
    let SignIn { name, password } = call.body;
    bounded("name", &name, 1, 63)?;
    bounded("password", &password, 1, 1000)?;
    let store = call.host.store();
    let how = store.fn_sign_in_salt(&name).await?;
    let hash = password::hash(password, how).await?;
    let fresh = Fresh::new();
    let Opened { principal, session_id, expires_at } =
        store.fn_sign_in(&name, &hash, fresh.session).await?;
    asking::is(&principal);
    let mut answered = Answered::from(SignedIn {
        principal,
        session_id: session_id.into(),
        csrf_token: fresh.csrf.clone(),
        expires_at,
    });
    fresh.set_cookies(&mut answered.headers, call.host.is_tls());
    Ok(answered)
}

async fn sign_out(call: Call<Nothing, Nothing>) -> Result<Answered<Nothing>, Problem> {
    if let Some(bearer) = call.bearer.as_ref().filter(|bearer| bearer.how == "session") {
        call.store().fn_session_end(bearer.id).await?;
    }
    let mut answered = Answered::from(Nothing {});
    for name in [COOKIE_NAME, CSRF_COOKIE_NAME] {
        let gone = cookie(name, "", "/; SameSite=Strict; Max-Age=0", call.host.is_tls());
        answered.headers.append(SET_COOKIE, gone);
    }
    Ok(answered)
}

async fn me(call: Call<Nothing, Nothing>) -> Result<Answered<Me>, Problem> {
    let keys = call.store().signing_keys_of(call.reader()).await?;
    let keys = keys.into_iter().filter(|key| key.revoked_at.is_none()).map(|key| Key {
        key_id: key.key_id.into(),
        public_key: key.public_key,
        registered_at: key.registered_at,
    });
    let keys = keys.collect();
    let Some(bearer) = call.bearer else { unreachable!("the route asks for a permission") };
    Ok(Me {
        principal: bearer.principal,
        kind: bearer.kind,
        actor_classes: bearer.actor_classes,
        permissions: bearer.permissions,
        how: bearer.how,
        expires_at: bearer.expires_at,
        keys,
    }
    .into())
}

async fn set_password(call: Call<Nothing, NewPassword>) -> Result<Answered<Nothing>, Problem> {
    let who = call.reader().to_owned();
    let store = call.host.store();
    let NewPassword { old_password, new_password } = call.body;
    bounded("old_password", &old_password, 1, 1000)?;
    bounded("new_password", &new_password, 12, 1000)?;
    let old = password::hash(old_password, store.fn_sign_in_salt(&who).await?).await?;
    let how = password::fresh();
    let new = password::hash(new_password, how).await?;
    store.fn_password_set(&who, how, &new, Some(&old), Some(&who)).await?;
    Ok(Nothing {}.into())
}

/// A part of a short list, which is read whole.
fn page<T, U>(
    items: Vec<T>,
    query: &PageQuery,
    id: impl Fn(&T) -> Uuid,
    shown: impl Fn(T) -> U,
) -> Result<Page<U>, Problem> {
    let limit = usize::from(query.limit.unwrap_or(50));
    if !(1..=500).contains(&limit) {
        return Err(Problem::of(Fault::QueryInvalid, "`limit` is 1 to 500"));
    }
    let begin = match &query.after {
        None => 0,
        Some(after) => {
            let bytes = BASE64_URL_SAFE_NO_PAD.decode(after).unwrap_or_default();
            let place = Uuid::from_slice(&bytes)
                .ok()
                .and_then(|after| items.iter().position(|item| id(item) == after));
            let place = place.ok_or_else(|| {
                Problem::of(Fault::QueryInvalid, "`after` is `next` of the page before")
            })?;
            place + 1
        }
    };
    let end = items.len().min(begin.saturating_add(limit));
    let last = items[begin..end].last().filter(|_| end < items.len());
    let next = last.map(|item| BASE64_URL_SAFE_NO_PAD.encode(id(item).as_bytes()));
    let items = items.into_iter().skip(begin).take(limit).map(shown).collect();
    Ok(Page { items, next })
}

/// The id of what a key makes: the same key of the same principal is the same thing.
fn made_by(what: &str, principal: &str, key: &str) -> Uuid {
    Uuid::new_v5(&Uuid::NAMESPACE_URL, format!("chancery:{what}:{principal}:{key}").as_bytes())
}

fn token(token: store::ApiToken) -> Token {
    Token {
        token_id: token.token_id.into(),
        label: token.label,
        scopes: token.scopes,
        issued_at: token.issued_at,
        issued_by: token.issued_by,
        expires_at: token.expires_at,
        revoked_at: token.revoked_at,
        revoke_reason: token.revoke_reason,
    }
}

fn key_request(request: store::KeyRequest) -> KeyRequest {
    KeyRequest {
        request_id: request.request_id.into(),
        public_key: request.public_key,
        fingerprint: request.fingerprint,
        requested_at: request.requested_at,
        settled_at: request.settled_at,
        outcome: request.outcome,
    }
}

async fn tokens(call: Call<PageQuery, Nothing>) -> Result<Answered<Page<Token>>, Problem> {
    let tokens = call.store().api_tokens(Some(call.reader())).await?;
    Ok(page(tokens, &call.query, |token| token.token_id, token)?.into())
}

async fn new_token(call: Call<Nothing, NewToken>) -> Result<Answered<TokenMade>, Problem> {
    let principal = call.reader();
    let NewToken { label, scopes, expires_in_seconds } = &call.body;
    bounded("label", label, 1, 200)?;
    let secret = format!("{TOKEN_PREFIX}{}", secret());
    let wanted = store::NewToken {
        token_id: made_by("token", principal, call.key()),
        principal,
        label,
        scopes,
        seconds: *expires_in_seconds,
        token_sha256: Sha256::digest(&secret).into(),
        // A token gives no more than it has.
        by_token: call.bearer.as_ref().filter(|by| by.how == "token").map(|by| by.id),
        acted_by: Some(principal),
    };
    let made = call.store().fn_token_issue(&wanted).await?;
    Ok(TokenMade { secret, token: token(made) }.into())
}

async fn revoke_token(call: Call<Nothing, Reason>) -> Result<Answered<Token>, Problem> {
    bounded("reason", &call.body.reason, 1, 1000)?;
    let TokenId(id) = call.id("token")?;
    // To whoever asks, the token of somebody else is as little there as one that nobody has.
    let own = call.store().api_tokens(Some(call.reader())).await?;
    if !own.iter().any(|token| token.token_id == id) {
        return Err(Problem::of(Fault::NotFound, "you have no such token"));
    }
    let revoked = call.store().fn_token_revoke(id, &call.body.reason, Some(call.reader())).await?;
    Ok(token(revoked).into())
}

async fn key_requests(
    call: Call<PageQuery, Nothing>,
) -> Result<Answered<Page<KeyRequest>>, Problem> {
    let requests = call.store().key_requests(Some(call.reader())).await?;
    Ok(page(requests, &call.query, |request| request.request_id, key_request)?.into())
}

async fn new_key_request(
    call: Call<Nothing, NewKeyRequest>,
) -> Result<Answered<KeyRequest>, Problem> {
    let key = &call.body.public_key;
    let is_lower = key.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
    let key = hex::decode(key).ok().filter(|key| key.len() == 32 && is_lower).ok_or_else(|| {
        Problem::of(Fault::RequestInvalid, "`public_key` is 32 bytes as 64 lower case hex digits")
    })?;
    let possession = hex::decode(&call.body.possession)
        .map_err(|_| Problem::of(Fault::RequestInvalid, "`possession` is a signature in hex"))?;
    let id = made_by("key", call.reader(), call.key());
    let replaces = match &call.body.replaces {
        None => None,
        Some(old) => {
            let signature = hex::decode(&old.signature).map_err(|_| {
                Problem::of(Fault::RequestInvalid, "`signature` is a signature in hex")
            })?;
            Some(Signed { key_id: old.key_id.0, signature })
        }
    };
    let store = call.store();
    let asked =
        store.fn_key_request(id, call.reader(), &key, &possession, replaces.as_ref()).await?;
    Ok(key_request(asked).into())
}

fn provider<Q, B>(call: &Call<Q, B>) -> Result<&oidc::Provider, Problem> {
    let none = || Problem::of(Fault::NotFound, "no provider of identities is set up here");
    call.host.provider().ok_or_else(none)
}

async fn sign_in_elsewhere(call: Call<Nothing, Nothing>) -> Result<Response, Problem> {
    let oidc::Start { url, cookie: text } = provider(&call)?.start().await?;
    let location = HeaderValue::from_str(&url)
        .map_err(|_| Problem::of(Fault::ProviderAway, "its address can't be sent"))?;
    // Lax: the browser comes back from another site.
    let path = "/v1/session/oidc; HttpOnly; SameSite=Lax; Max-Age=600";
    let brought = cookie(oidc::COOKIE_NAME, &text, path, call.host.is_tls());
    Ok((StatusCode::SEE_OTHER, [(LOCATION, location), (SET_COOKIE, brought)]).into_response())
}

async fn signed_in_elsewhere(call: Call<CameBack, Nothing>) -> Result<Response, Problem> {
    // A page of our own sends the browser on: the cookie of the session does not come along from another site.
    const PAGE: &str = "<!doctype html><meta charset=utf-8><meta http-equiv=refresh content=\"0; url=/\"><title>Chancery</title>\
                        <p><a href=/>Signed in.</a>";
    admit_sign_in(&call)?;
    let came = oidc::CameBack {
        code: call.query.code.as_deref(),
        state: call.query.state.as_deref(),
        iss: call.query.iss.as_deref(),
        error: call.query.error.as_deref(),
    };
    let Vouched { issuer, subject } = provider(&call)?.finish(&call.headers, came).await?;
    let fresh = Fresh::new();
    let opened = call.store().fn_sign_in_oidc(&issuer, &subject, fresh.session).await?;
    asking::is(&opened.principal);
    let mut response = ([(CONTENT_TYPE, "text/html; charset=utf-8")], PAGE).into_response();
    fresh.set_cookies(response.headers_mut(), call.host.is_tls());
    let path = "/v1/session/oidc; HttpOnly; SameSite=Lax; Max-Age=0";
    let gone = cookie(oidc::COOKIE_NAME, "", path, call.host.is_tls());
    response.headers_mut().append(SET_COOKIE, gone);
    Ok(response)
}
