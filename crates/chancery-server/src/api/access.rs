//! Signing in and out, and who one is.

use axum::http::HeaderValue;
use axum::http::header::SET_COOKIE;
use base64::prelude::{BASE64_URL_SAFE_NO_PAD, Engine as _};
use chancery_api::Nothing;
use chancery_api::access::{Key, ME, Me, SIGN_IN, SIGN_OUT, SignIn, SignedIn};
use chancery_store::access::{NewSession, Opened};
use rand::RngCore as _;
use rand::rngs::OsRng;
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use super::bearer::COOKIE_NAME;
use super::password;
use super::{Answered, Call, Routes};
use crate::problem::Problem;

pub(super) fn bind(routes: Routes) -> Routes {
    routes.on(&SIGN_IN, sign_in).on(&SIGN_OUT, sign_out).on(&ME, me)
}

/// A session that is to be opened: what the browser gets, and what the database keeps.
pub(crate) struct Fresh {
    pub(crate) token: String,
    pub(crate) csrf: String,
    pub(crate) session: NewSession,
}

impl Fresh {
    pub(crate) fn new() -> Self {
        let secret = || {
            let mut bytes = [0; 32];
            OsRng.fill_bytes(&mut bytes);
            BASE64_URL_SAFE_NO_PAD.encode(bytes)
        };
        let (token, csrf) = (secret(), secret());
        let digest = |text: &str| Sha256::digest(text.as_bytes()).into();
        let session = NewSession {
            session_id: Uuid::now_v7(),
            token_sha256: digest(&token),
            csrf_sha256: digest(&csrf),
        };
        Self { token, csrf, session }
    }

    /// The cookie, which no script can read and no other site can send.
    pub(crate) fn cookie(&self, secure: bool) -> HeaderValue {
        let secure = if secure { "; Secure" } else { "" };
        let text =
            format!("{COOKIE_NAME}={}; Path=/; HttpOnly; SameSite=Strict{secure}", self.token);
        HeaderValue::from_str(&text).expect("base64 is a header")
    }
}

async fn sign_in(call: Call<Nothing, SignIn>) -> Result<Answered<SignedIn>, Problem> {
    let SignIn { name, password } = call.body;
    let store = call.host.store();
    let how = store.fn_sign_in_salt(&name).await?;
    let hash = password::hash(password, how).await?;
    let fresh = Fresh::new();
    let Opened { principal, session_id, expires_at } =
        store.fn_sign_in(&name, &hash, fresh.session).await?;
    let mut answered = Answered::from(SignedIn {
        principal,
        session_id: session_id.into(),
        csrf_token: fresh.csrf.clone(),
        expires_at,
    });
    answered.headers.insert(SET_COOKIE, fresh.cookie(call.host.is_tls()));
    Ok(answered)
}

async fn sign_out(call: Call<Nothing, Nothing>) -> Result<Answered<Nothing>, Problem> {
    if let Some(bearer) = call.bearer.as_ref().filter(|bearer| bearer.how == "session") {
        call.store().fn_session_end(bearer.id).await?;
    }
    let mut answered = Answered::from(Nothing {});
    let gone = format!("{COOKIE_NAME}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0");
    answered.headers.insert(SET_COOKIE, HeaderValue::from_str(&gone).expect("plain text"));
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
