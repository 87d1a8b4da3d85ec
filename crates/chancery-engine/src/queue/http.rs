//! The executor class `http`: calls a URL that an operator allowed. The answer comes at once, or later by a call-back.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use base64::prelude::{BASE64_URL_SAFE_NO_PAD, Engine as _};
use chancery_model::strict_json;
use chancery_store::queue::LeasedJob;
use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use ureq::http::{HeaderName, HeaderValue, Method, Request};
use ureq::tls::{Certificate, RootCerts, TlsConfig};

use super::executor::{Answer, Executor, Failure};
use super::prefix::Prefix;
use super::task::{Outcome, Task, Trouble, Work};

/// No answer is larger; the database takes less.
const MOST_BYTES: u64 = 1024 * 1024;

/// What the call itself says; a definition must not say otherwise.
const OWN_HEADERS: [&str; 9] = [
    "callback-url",
    "connection",
    "content-length",
    "content-type",
    "host",
    "idempotency-key",
    "te",
    "traceparent",
    "transfer-encoding",
];

/// Where call-backs reach us.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reached {
    /// As `chancery serve` is seen from outside, such as `https://chancery.example.org`.
    At(String),
    /// At the address in the file that `chancery serve` writes: who is called is on this machine.
    AsFileSays(PathBuf),
}

/// How call-backs reach us.
#[derive(Clone)]
pub struct CallBack {
    pub reached: Reached,
    /// Tokens are made from it, so that a try that was interrupted and is gone on with by another worker expects the same call-back:
    /// who was called knows the call by its idempotency key, and may answer the first one only.
    pub key: String,
}

impl fmt::Debug for CallBack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallBack").field("reached", &self.reached).finish_non_exhaustive()
    }
}

impl CallBack {
    fn url(&self, token: &str) -> Result<String, Trouble> {
        let base = match &self.reached {
            Reached::At(base) => base.clone(),
            Reached::AsFileSays(path) => {
                let address = std::fs::read_to_string(path).map_err(|error| {
                    Trouble::unavailable(format!("nobody takes call-backs here now: {error}"))
                })?;
                format!("http://{}", address.trim())
            }
        };
        Ok(format!("{}/v1/callbacks/{token}", base.trim_end_matches('/')))
    }

    /// 32 bytes that nobody can guess who does not have the key.
    fn token(&self, task: &Task) -> String {
        let key = self.key.as_bytes();
        let said = format!("{}#{}", task.idempotency_key(), task.attempt());
        let inner = Sha256::new().chain_update(key).chain_update(said.as_bytes()).finalize();
        let outer = Sha256::new().chain_update(key).chain_update(inner).finalize();
        BASE64_URL_SAFE_NO_PAD.encode(outer)
    }
}

/// A value that headers may name, and the only place it is sent to: a definition that calls another address does not get it.
#[derive(Clone)]
pub struct HeaderSecret {
    pub value: String,
    pub goes_to: Prefix,
}

impl fmt::Debug for HeaderSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HeaderSecret").field("goes_to", &self.goes_to).finish_non_exhaustive()
    }
}

/// What an operator lets calls do.
#[derive(Clone)]
pub struct HttpSettings {
    /// Only URLs below one of these are called.
    pub allowed: Vec<Prefix>,
    /// Values that headers may name instead of saying them, so that no secret stands in the database.
    pub secrets: BTreeMap<String, HeaderSecret>,
    pub call_back: Option<CallBack>,
    /// So long a call may take, from its first byte to the last of the answer.
    pub timeout: Duration,
}

impl fmt::Debug for HttpSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpSettings")
            .field("allowed", &self.allowed)
            .field("secrets", &self.secrets.keys())
            .field("call_back", &self.call_back)
            .field("timeout", &self.timeout)
            .finish()
    }
}

/// Calls `{"url": URL, "method": "POST", "body": {…}, "headers": {NAME: TEXT or {"env": NAME}}, "callback": true}`. The answer of a
/// step is its output when it is a JSON object. Redirects are not followed: they could lead anywhere.
pub struct Http {
    agent: ureq::Agent,
    settings: HttpSettings,
}

impl fmt::Debug for Http {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Http").field("settings", &self.settings).finish_non_exhaustive()
    }
}

/// A client that trusts what the machine trusts and follows no redirect: it could lead anywhere.
pub(crate) fn agent(timeout: Duration) -> ureq::Agent {
    let roots = rustls_native_certs::load_native_certs().certs;
    let roots = roots.iter().map(|der| Certificate::from_der(der).to_owned()).collect();
    let tls = TlsConfig::builder()
        .root_certs(RootCerts::Specific(Arc::new(roots)))
        .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .build();
    ureq::Agent::config_builder()
        .tls_config(tls)
        .http_status_as_error(false)
        .max_redirects(0)
        .max_redirects_will_error(false)
        .timeout_global(Some(timeout))
        .user_agent(concat!("chancery/", env!("CARGO_PKG_VERSION")))
        .accept("application/json")
        .build()
        .new_agent()
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    url: String,
    #[serde(default)]
    method: Option<String>,
    #[serde(default)]
    body: Option<Value>,
    #[serde(default)]
    headers: BTreeMap<String, Said>,
    #[serde(default)]
    callback: bool,
}

/// What a header says.
#[derive(Deserialize)]
#[serde(untagged)]
enum Said {
    Text(String),
    Env { env: String },
}

/// What came back.
struct Answered {
    status: u16,
    body: Vec<u8>,
}

impl Http {
    #[must_use]
    pub fn new(settings: HttpSettings) -> Self {
        Self { agent: agent(settings.timeout), settings }
    }

    fn request(
        &self,
        wanted: &Wanted,
        key: &str,
        trace_id: &str,
    ) -> Result<Request<String>, Trouble> {
        if !self.settings.allowed.iter().any(|prefix| prefix.covers(&wanted.url)) {
            let why = format!("{} is not below an address that is allowed here", wanted.url);
            return Err(Trouble::not_allowed(why));
        }
        let method = match wanted.method.as_deref().unwrap_or("POST") {
            "GET" => Method::GET,
            "POST" => Method::POST,
            "PUT" => Method::PUT,
            "PATCH" => Method::PATCH,
            "DELETE" => Method::DELETE,
            other => return Err(Trouble::bad_request(format!("{other} is no method for this"))),
        };
        let has_body = matches!(method, Method::POST | Method::PUT | Method::PATCH);
        if !has_body && wanted.body.is_some() {
            return Err(Trouble::bad_request(format!("a {method} has no body")));
        }
        let span = &hex::encode(Sha256::digest(key.as_bytes()))[..16];
        let mut request = Request::builder()
            .method(method)
            .uri(&wanted.url)
            .header("idempotency-key", key)
            .header("traceparent", format!("00-{trace_id}-{span}-01"));
        for (name, said) in &wanted.headers {
            let (name, value) = self.header(&wanted.url, name, said)?;
            request = request.header(name, value);
        }
        let body = if has_body {
            request = request.header("content-type", "application/json");
            wanted.body.as_ref().map_or_else(|| "{}".to_owned(), Value::to_string)
        } else {
            String::new()
        };
        request
            .body(body)
            .map_err(|error| Trouble::bad_request(format!("this can't be asked: {error}")))
    }

    fn header(
        &self,
        url: &str,
        name: &str,
        said: &Said,
    ) -> Result<(HeaderName, HeaderValue), Trouble> {
        let wrong = |why: &str| Trouble::bad_request(format!("the header {name:?} {why}"));
        let word = HeaderName::try_from(name).map_err(|_| wrong("has no name"))?;
        if OWN_HEADERS.contains(&word.as_str()) {
            return Err(wrong("is said by the call itself"));
        }
        let text = match said {
            Said::Text(text) => text,
            Said::Env { env } => {
                let secret = self.settings.secrets.get(env).ok_or_else(|| {
                    Trouble::not_allowed(format!("the variable {env} is not allowed here"))
                })?;
                if !secret.goes_to.covers(url) {
                    let why = format!("the variable {env} is sent to {} only", secret.goes_to);
                    return Err(Trouble::not_allowed(why));
                }
                &secret.value
            }
        };
        // What is wrong with the value is not told: it may be a secret.
        let mut value =
            HeaderValue::try_from(text).map_err(|_| wrong("has a value that can't be sent"))?;
        value.set_sensitive(matches!(said, Said::Env { .. }));
        Ok((word, value))
    }

    /// The client waits on sockets, so it gets a thread of its own.
    async fn call(&self, request: Request<String>) -> Result<Answered, Trouble> {
        let agent = self.agent.clone();
        let called = tokio::task::spawn_blocking(move || {
            let answer = agent.run(request)?;
            let status = answer.status().as_u16();
            let body = answer.into_body().into_with_config().limit(MOST_BYTES).read_to_vec()?;
            Ok::<_, ureq::Error>(Answered { status, body })
        });
        let called =
            called.await.map_err(|error| Trouble::unclassified(format!("cut short: {error}")))?;
        called.map_err(|error| match error {
            ureq::Error::Timeout(what) => Trouble::timeout(format!("no answer in time ({what})")),
            ureq::Error::BodyExceedsLimit(_) => {
                Trouble::bad_output("the answer is larger than a mebibyte")
            }
            ureq::Error::BadUri(why) => Trouble::bad_request(why),
            other => Trouble::unavailable(format!("it could not be reached: {other}")),
        })
    }

    async fn step(&self, task: &Task) -> Result<Outcome, Trouble> {
        // What was asked for has come by a call-back meanwhile.
        if let Some(answer) = task.called_back() {
            return Ok(Outcome::Done(answer.clone()));
        }
        let wanted: Wanted = serde_json::from_value(task.with().clone())
            .map_err(|error| Trouble::bad_request(format!("`with` is no call: {error}")))?;
        let mut request = self.request(&wanted, task.idempotency_key(), task.trace_id())?;
        let mut expected = None;
        if wanted.callback {
            let call_back = self.settings.call_back.as_ref().ok_or_else(|| {
                Trouble::not_allowed("this worker does not know where call-backs reach us")
            })?;
            let token = call_back.token(task);
            let digest = Sha256::digest(token.as_bytes());
            let mut url = HeaderValue::try_from(call_back.url(&token)?).map_err(|_| {
                Trouble::not_allowed("the address for call-backs can't stand in a header")
            })?;
            url.set_sensitive(true);
            request.headers_mut().insert("callback-url", url);
            task.expect_call_back(&digest).await?;
            expected = Some(hex::encode(digest));
        }
        let answered = self.call(request).await?;
        if let (202, Some(token_sha256)) = (answered.status, expected) {
            let wait = json!({ "facet": "waiting_external", "token_sha256": token_sha256 });
            return Ok(Outcome::Waiting(vec![wait]));
        }
        answered.output().map(Outcome::Done)
    }
}

impl Answered {
    /// The status, when it is a good one.
    fn status(&self) -> Result<u16, Trouble> {
        let why = format!("it answered {}", self.status);
        match self.status {
            200..=299 => Ok(self.status),
            408 => Err(Trouble::timeout(why)),
            429 | 500..=599 => Err(Trouble::unavailable(why)),
            _ => Err(Trouble::bad_request(why)),
        }
    }

    fn output(&self) -> Result<Value, Trouble> {
        let status = self.status()?;
        if self.body.trim_ascii().is_empty() {
            return Ok(json!({}));
        }
        strict_json::from_slice(&self.body).map_err(|error| {
            Trouble::bad_output(format!("it answered {status}, and no JSON: {error}"))
        })
    }
}

impl Executor for Http {
    fn execute<'a>(&'a self, job: &'a LeasedJob) -> Answer<'a> {
        Box::pin(async move {
            let wanted: Wanted = serde_json::from_value(job.payload.clone())
                .map_err(|error| Failure::for_good(format!("the payload is no call: {error}")))?;
            if wanted.callback {
                return Err(Failure::for_good("only a step of a workflow can be called back"));
            }
            let call = async {
                let request = self.request(&wanted, &job.job_id.to_string(), &job.trace_id)?;
                self.call(request).await?.status()
            };
            let status = call.await.map_err(|Trouble { class, detail }| Failure {
                for_good: class.classification() == "permanent",
                reason: detail,
            })?;
            // A job has a result, not an output: what was answered may be anything.
            Ok(json!({ "status": status }))
        })
    }

    fn work<'a>(&'a self, task: &'a Task) -> Work<'a> {
        Box::pin(self.step(task))
    }
}
