//! Signing in with a provider of OpenID Connect: the authorization code flow with PKCE, a state and a nonce. Who the provider says
//! somebody is becomes a principal by a link in the database, and by nothing else that the provider says.

mod jwt;

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::http::HeaderMap;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD, Engine as _};
use jiff::Timestamp;
use rand::RngCore as _;
use rand::rngs::OsRng;
use ring::hmac;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;
use ureq::tls::{Certificate, RootCerts, TlsConfig};

use crate::api::cookie;
use crate::options::Oidc;
use crate::problem::{Fault, Problem};

/// What a browser carries from here to the provider and back.
pub(crate) const COOKIE_NAME: &str = "chancery_oidc";
/// Where it comes back to.
pub(crate) const CALLBACK: &str = "/v1/session/oidc/callback";
/// Nobody takes longer to sign in there.
const LONGEST: i64 = 10 * 60;
/// A provider that takes longer is away.
const PATIENCE: Duration = Duration::from_secs(10);
/// What a provider says about itself is good for so long.
const FRESH: Duration = Duration::from_secs(60 * 60);
/// It is used for so long when the provider cannot be asked again.
const MAX_AGE: Duration = Duration::from_secs(24 * 60 * 60);
/// New keys are looked for no more often.
const SELDOM: Duration = Duration::from_secs(60);
/// A sign-in does not wait longer for what the provider says about itself.
const SIGN_IN_WAIT: Duration = Duration::from_secs(3);
/// After a failure the provider is not asked again for so long.
const RETRY_DELAY: Duration = Duration::from_secs(5);
const MOST_BYTES: u64 = 1024 * 1024;

/// A provider, and what is known of it.
pub(crate) struct Provider {
    options: Oidc,
    redirect_uri: String,
    agent: ureq::Agent,
    key: hmac::Key,
    discovery: Arc<Discovery>,
    /// States that came back, until they would be too old anyway.
    used: Mutex<HashMap<String, Instant>>,
}

impl fmt::Debug for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Provider").field("issuer", &self.options.issuer).finish_non_exhaustive()
    }
}

/// What the provider says about itself, asked for by one request at a time.
struct Discovery {
    issuer: String,
    agent: ureq::Agent,
    known: Mutex<Option<(Instant, Arc<Known>)>>,
    /// Held while the provider is asked; the time of the last failure.
    asking: tokio::sync::Mutex<Option<Instant>>,
}

#[derive(Debug)]
struct Known {
    discovered: Discovered,
    jwks: jwt::Jwks,
}

#[derive(Debug, Deserialize)]
struct Discovered {
    issuer: String,
    authorization_endpoint: String,
    token_endpoint: String,
    jwks_uri: String,
    token_endpoint_auth_methods_supported: Option<Vec<String>>,
}

/// What the cookie holds, signed.
#[derive(Debug, Serialize, Deserialize)]
struct Underway {
    state: String,
    nonce: String,
    verifier: String,
    /// Seconds since 1970.
    at: i64,
}

/// Where to send the browser, and what it has to bring back.
pub(crate) struct Start {
    pub(crate) url: String,
    pub(crate) cookie: String,
}

/// What the provider sends the browser back with.
pub(crate) struct CameBack<'a> {
    pub(crate) code: Option<&'a str>,
    pub(crate) state: Option<&'a str>,
    pub(crate) iss: Option<&'a str>,
    pub(crate) error: Option<&'a str>,
}

/// Who the provider says it is.
#[derive(Debug)]
pub(crate) struct Vouched {
    pub(crate) issuer: String,
    pub(crate) subject: String,
}

#[derive(Deserialize)]
struct Tokens {
    id_token: String,
}

fn unfit(why: &str) -> Problem {
    Problem::of(Fault::ProofUnfit, why)
}

fn away(why: &str) -> Problem {
    tracing::warn!(why, "the provider of identities can't be used");
    Problem::of(Fault::ProviderAway, why)
}

fn random() -> String {
    let mut bytes = [0; 32];
    OsRng.fill_bytes(&mut bytes);
    BASE64_URL_SAFE_NO_PAD.encode(bytes)
}

/// Secrets go over TLS, or nowhere beyond this machine.
fn is_safe(url: &str) -> bool {
    let local = ["http://127.0.0.1", "http://localhost", "http://[::1]"];
    let ends = |rest: &str| matches!(rest.bytes().next(), None | Some(b':' | b'/'));
    url.starts_with("https://")
        || local.iter().any(|local| url.strip_prefix(local).is_some_and(ends))
}

impl Provider {
    /// Knows nothing of the provider yet: a host starts without it. The secret is one that all hosts of a data directory have.
    pub(crate) fn new(options: Oidc, public_url: &str, secret: &str) -> Self {
        let roots = rustls_native_certs::load_native_certs().certs;
        let roots = roots.iter().map(|der| Certificate::from_der(der).to_owned()).collect();
        let tls = TlsConfig::builder()
            .root_certs(RootCerts::Specific(Arc::new(roots)))
            .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .build();
        // Redirects are not followed: they could lead anywhere.
        let agent = ureq::Agent::config_builder()
            .tls_config(tls)
            .http_status_as_error(false)
            .max_redirects(0)
            .timeout_global(Some(PATIENCE))
            .user_agent(concat!("chancery/", env!("CARGO_PKG_VERSION")))
            .accept("application/json")
            .build()
            .new_agent();
        let key = Sha256::digest(format!("chancery state of a sign-in\n{secret}"));
        let discovery = Discovery {
            issuer: options.issuer.clone(),
            agent: agent.clone(),
            known: Mutex::default(),
            asking: tokio::sync::Mutex::default(),
        };
        Self {
            redirect_uri: format!("{}{CALLBACK}", public_url.trim_end_matches('/')),
            options,
            agent,
            key: hmac::Key::new(hmac::HMAC_SHA256, &key),
            discovery: Arc::new(discovery),
            used: Mutex::default(),
        }
    }

    /// The way to the provider.
    pub(crate) async fn start(&self) -> Result<Start, Problem> {
        let known = self.discovery.known(FRESH).await?;
        let underway = Underway {
            state: random(),
            nonce: random(),
            verifier: random(),
            at: Timestamp::now().as_second(),
        };
        let challenge = BASE64_URL_SAFE_NO_PAD.encode(Sha256::digest(&underway.verifier));
        let query = serde_urlencoded::to_string([
            ("response_type", "code"),
            ("scope", "openid"),
            ("client_id", &self.options.client_id),
            ("redirect_uri", &self.redirect_uri),
            ("state", &underway.state),
            ("nonce", &underway.nonce),
            ("code_challenge", &challenge),
            ("code_challenge_method", "S256"),
        ])
        .map_err(|_| unfit("the settings of the provider can't be sent"))?;
        let endpoint = &known.discovered.authorization_endpoint;
        let joint = if endpoint.contains('?') { '&' } else { '?' };
        let text = serde_json::to_vec(&underway).expect("plain data");
        let tag = hmac::sign(&self.key, &text);
        let encode = |bytes: &[u8]| BASE64_URL_SAFE_NO_PAD.encode(bytes);
        let cookie = format!("{}.{}", encode(&text), encode(tag.as_ref()));
        Ok(Start { url: format!("{endpoint}{joint}{query}"), cookie })
    }

    /// Whom the provider vouches for.
    pub(crate) async fn finish(
        &self,
        headers: &HeaderMap,
        came: CameBack<'_>,
    ) -> Result<Vouched, Problem> {
        let shown = cookie(headers, COOKIE_NAME);
        let underway = shown.and_then(|shown| self.opened(&shown));
        let underway = underway.ok_or_else(|| unfit("this browser began no sign-in here"))?;
        let age = Timestamp::now().as_second() - underway.at;
        if !(-60..=LONGEST).contains(&age) {
            return Err(unfit("this sign-in took too long; begin anew"));
        }
        let same = |state: &str| bool::from(state.as_bytes().ct_eq(underway.state.as_bytes()));
        if !came.state.is_some_and(same) {
            return Err(unfit("the answer is to another sign-in"));
        }
        if !self.uses(&underway.state) {
            return Err(unfit("this answer was used already; begin anew"));
        }
        if came.iss.is_some_and(|iss| iss != self.options.issuer) {
            return Err(unfit("the answer is of another issuer"));
        }
        if came.error.is_some() {
            return Err(unfit("the provider signed nobody in"));
        }
        let code = came.code.ok_or_else(|| unfit("the answer has no code"))?;
        let known = self.discovery.known(FRESH).await?;
        let token = self.exchange(&known.discovered, code, &underway.verifier).await?;
        let expected = jwt::Expected {
            issuer: &self.options.issuer,
            client_id: &self.options.client_id,
            nonce: &underway.nonce,
            now: Timestamp::now().as_second(),
        };
        let mut claims = jwt::claims(&token, &known.jwks, expected);
        if claims.as_ref().err() == Some(&jwt::Unfit::KeyUnknown) {
            // Providers change their keys.
            let known = self.discovery.refreshed(SELDOM).await?;
            claims = jwt::claims(&token, &known.jwks, expected);
        }
        let claims = claims.map_err(|why| unfit(why.why()))?;
        Ok(Vouched { issuer: self.options.issuer.clone(), subject: claims.sub })
    }

    fn opened(&self, cookie: &str) -> Option<Underway> {
        let (text, tag) = cookie.split_once('.')?;
        let text = BASE64_URL_SAFE_NO_PAD.decode(text).ok()?;
        let tag = BASE64_URL_SAFE_NO_PAD.decode(tag).ok()?;
        hmac::verify(&self.key, &text, &tag).ok()?;
        serde_json::from_slice(&text).ok()
    }

    /// Whether this is the first time.
    fn uses(&self, state: &str) -> bool {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        let longest = Duration::from_secs(LONGEST.unsigned_abs() + 60);
        used.retain(|_, at| at.elapsed() < longest);
        used.insert(state.to_owned(), Instant::now()).is_none()
    }

    /// The token for a code.
    async fn exchange(
        &self,
        discovered: &Discovered,
        code: &str,
        verifier: &str,
    ) -> Result<String, Problem> {
        let mut form = vec![
            ("grant_type", "authorization_code".to_owned()),
            ("code", code.to_owned()),
            ("redirect_uri", self.redirect_uri.clone()),
            ("code_verifier", verifier.to_owned()),
            ("client_id", self.options.client_id.clone()),
        ];
        let by_header = discovered
            .token_endpoint_auth_methods_supported
            .as_ref()
            .is_none_or(|methods| methods.iter().any(|method| method == "client_secret_basic"));
        let mut authorization = None;
        if let Some(secret) = &self.options.client_secret {
            if by_header {
                let word = |text: &str| {
                    let pair = serde_urlencoded::to_string([("", text)]).unwrap_or_default();
                    pair.trim_start_matches('=').to_owned()
                };
                let pair = format!("{}:{}", word(&self.options.client_id), word(secret.expose()));
                authorization = Some(format!("Basic {}", BASE64_STANDARD.encode(pair)));
            } else {
                form.push(("client_secret", secret.expose().to_owned()));
            }
        }
        let body =
            serde_urlencoded::to_string(form).map_err(|_| unfit("the code can't be sent"))?;
        let mut request = self
            .agent
            .post(&discovered.token_endpoint)
            .header("content-type", "application/x-www-form-urlencoded");
        if let Some(authorization) = authorization {
            request = request.header("authorization", authorization);
        }
        let (status, body) = ask(move || request.send(body)).await?;
        if status != 200 {
            return Err(unfit("the provider does not take its own code"));
        }
        let tokens: Tokens = serde_json::from_slice(&body)
            .map_err(|_| unfit("the provider gives no token of identity"))?;
        Ok(tokens.id_token)
    }
}

impl Discovery {
    /// What the provider says about itself: as it was said within this time, or before that while it is being asked again.
    async fn known(self: &Arc<Self>, age: Duration) -> Result<Arc<Known>, Problem> {
        if let Some(known) = self.within(age) {
            return Ok(known);
        }
        if let Some(known) = self.within(MAX_AGE) {
            tokio::spawn(Arc::clone(self).ask_once(age));
            return Ok(known);
        }
        self.refreshed(age).await
    }

    /// As it was said within this time. The question goes on when this sign-in no longer waits, so that a later one has the answer.
    async fn refreshed(self: &Arc<Self>, age: Duration) -> Result<Arc<Known>, Problem> {
        let asked = tokio::spawn(Arc::clone(self).ask_once(age));
        match tokio::time::timeout(SIGN_IN_WAIT, asked).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(_)) => Err(away("the provider can't be asked")),
            Err(_) => Err(away("the provider does not answer in time")),
        }
    }

    async fn ask_once(self: Arc<Self>, age: Duration) -> Result<Arc<Known>, Problem> {
        let mut failed_at = self.asking.lock().await;
        // Somebody else asked meanwhile.
        if let Some(known) = self.within(age) {
            return Ok(known);
        }
        if failed_at.is_some_and(|at| at.elapsed() < RETRY_DELAY) {
            return Err(away("the provider could not be asked a moment ago"));
        }
        let answer = self.ask().await;
        *failed_at = answer.is_err().then(Instant::now);
        let known = Arc::new(answer?);
        let mut slot = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        *slot = Some((Instant::now(), Arc::clone(&known)));
        Ok(known)
    }

    fn within(&self, age: Duration) -> Option<Arc<Known>> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.as_ref().filter(|(at, _)| at.elapsed() < age).map(|(_, known)| Arc::clone(known))
    }

    async fn ask(&self) -> Result<Known, Problem> {
        let issuer = &self.issuer;
        let place = format!("{}/.well-known/openid-configuration", issuer.trim_end_matches('/'));
        let discovered: Discovered = self.get(place).await?;
        if discovered.issuer != *issuer {
            return Err(away("the provider calls itself otherwise"));
        }
        let endpoints =
            [&discovered.authorization_endpoint, &discovered.token_endpoint, &discovered.jwks_uri];
        if !endpoints.iter().all(|url| is_safe(url)) {
            return Err(away("the provider names addresses without TLS"));
        }
        let jwks = self.get(discovered.jwks_uri.clone()).await?;
        Ok(Known { discovered, jwks })
    }

    async fn get<T: DeserializeOwned>(&self, url: String) -> Result<T, Problem> {
        if !is_safe(&url) {
            return Err(away("the provider is asked over TLS only"));
        }
        let agent = self.agent.clone();
        let (status, body) = ask(move || agent.get(url).call()).await?;
        match status {
            200 => {
                serde_json::from_slice(&body).map_err(|_| away("the provider answers otherwise"))
            }
            _ => Err(away("the provider does not answer")),
        }
    }
}

/// The client waits on sockets, so it gets a thread of its own.
async fn ask(
    call: impl FnOnce() -> Result<ureq::http::Response<ureq::Body>, ureq::Error> + Send + 'static,
) -> Result<(u16, Vec<u8>), Problem> {
    let asked = tokio::task::spawn_blocking(move || {
        let answer = call()?;
        let status = answer.status().as_u16();
        let body = answer.into_body().into_with_config().limit(MOST_BYTES).read_to_vec()?;
        Ok::<_, ureq::Error>((status, body))
    });
    match asked.await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(_)) | Err(_) => Err(away("the provider can't be reached")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_leave_this_machine_over_tls_alone() {
        for good in [
            "https://login.example.org",
            "http://127.0.0.1:9000/token",
            "http://localhost",
            "http://[::1]:1/",
        ] {
            assert!(is_safe(good), "{good}");
        }
        for bad in [
            "http://login.example.org",
            "http://127.0.0.1.example.org",
            "http://localhost@example.org",
            "http://localhostess",
            "file:///etc/passwd",
            "HTTPS",
            "",
        ] {
            assert!(!is_safe(bad), "{bad}");
        }
    }
}
