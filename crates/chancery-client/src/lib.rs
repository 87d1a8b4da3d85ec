#![doc = include_str!("../README.md")]

mod error;
mod sign;
mod work;

use std::fmt;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use chancery_api::{Endpoint, Method, Problem, Route, Shape};
use serde::Serialize;
use serde::de::DeserializeOwned;
use ureq::http::Request;
use ureq::tls::{Certificate, RootCerts, TlsConfig};
use uuid::Uuid;

pub use error::Error;
pub use sign::OwnKey;
pub use work::{Begun, Callback, Worker};

/// No answer is larger.
const MOST_BYTES: u64 = 64 * 1024 * 1024;
/// A request is sent so often before the server counts as away.
const TRIES: u32 = 5;
const FIRST_PAUSE: Duration = Duration::from_millis(200);
/// Longer than the longest wait for a job.
const PATIENCE: Duration = Duration::from_secs(60);

/// A way to a server, under one token.
#[derive(Clone)]
pub struct Client {
    agent: ureq::Agent,
    url: String,
    token: String,
    own_key: Option<OwnKey>,
    tries: u32,
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("url", &self.url).finish_non_exhaustive()
    }
}

/// What stands in a path, a query and a body, ready to go out as often as it takes.
struct Outgoing {
    route: &'static Route,
    url: String,
    key: String,
    body: Option<Vec<u8>>,
    signed: Vec<(&'static str, String)>,
}

struct Came {
    status: u16,
    pause: Option<Duration>,
    body: Vec<u8>,
}

impl Client {
    /// A client of the server at `url`, such as `https://chancery.example.org`, that shows this token.
    pub fn new(url: impl Into<String>, token: impl Into<String>) -> Self {
        let roots = rustls_native_certs::load_native_certs().certs;
        let roots = roots.iter().map(|der| Certificate::from_der(der).to_owned()).collect();
        let tls = TlsConfig::builder()
            .root_certs(RootCerts::Specific(Arc::new(roots)))
            .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .build();
        // Redirects are not followed: they would carry the token elsewhere.
        let agent = ureq::Agent::config_builder()
            .tls_config(tls)
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .timeout_global(Some(PATIENCE))
            .user_agent(concat!("chancery-client/", env!("CARGO_PKG_VERSION")))
            .build()
            .new_agent();
        let url = url.into().trim_end_matches('/').to_owned();
        Self { agent, url, token: token.into(), own_key: None, tries: TRIES }
    }

    /// The same, signing with this key where the server asks for it.
    #[must_use]
    pub fn signing(mut self, own_key: OwnKey) -> Self {
        self.own_key = Some(own_key);
        self
    }

    /// The same, sending a request so often at most.
    #[must_use]
    pub fn tries(mut self, tries: u32) -> Self {
        self.tries = tries.max(1);
        self
    }

    /// Asks an endpoint. A change gets a key of its own.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn call<Q, B, A>(
        &self,
        endpoint: &'static Endpoint<Q, B, A>,
        path: &[(&str, &str)],
        query: &Q,
        body: &B,
    ) -> Result<A, Error>
    where
        Q: Serialize,
        B: Serialize,
        A: DeserializeOwned,
    {
        self.call_with_key(endpoint, &Uuid::now_v7().to_string(), path, query, body)
    }

    /// Asks an endpoint under a key that the caller keeps, so that it can ask again when it was killed meanwhile.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn call_with_key<Q, B, A>(
        &self,
        endpoint: &'static Endpoint<Q, B, A>,
        key: &str,
        path: &[(&str, &str)],
        query: &Q,
        body: &B,
    ) -> Result<A, Error>
    where
        Q: Serialize,
        B: Serialize,
        A: DeserializeOwned,
    {
        let route = &endpoint.route;
        if route.shape != Shape::Json {
            return Err(Error::Malformed(format!("{} does not answer in JSON", route.id)));
        }
        let malformed = |error: &dyn fmt::Display| Error::Malformed(error.to_string());
        let mut url = format!("{}{}", self.url, filled(route.path, path)?);
        let query = serde_urlencoded::to_string(query).map_err(|error| malformed(&error))?;
        if !query.is_empty() {
            url = format!("{url}?{query}");
        }
        let body = (route.body.is_some() && route.method != Method::Delete)
            .then(|| serde_json::to_vec(body).map_err(|error| malformed(&error)))
            .transpose()?;
        let mut outgoing = Outgoing { route, url, key: key.to_owned(), body, signed: Vec::new() };
        let mut came = self.deliver(&outgoing)?;
        if let (428, Some(own_key)) = (came.status, &self.own_key)
            && let Some(wanted) = problem(&came).and_then(|problem| problem.to_sign)
        {
            outgoing.signed = own_key.headers(&wanted)?.into();
            came = self.deliver(&outgoing)?;
        }
        match came.status {
            200..=299 => serde_json::from_slice(&came.body)
                .map_err(|error| Error::Strange(format!("{}: {error}", route.id))),
            status => match problem(&came) {
                Some(problem) => Err(Error::Refused(Box::new(problem))),
                None => Err(Error::Strange(format!("{}: {status} without a reason", route.id))),
            },
        }
    }

    /// Sends a request until there is an answer other than "not now". Every route is safe to repeat: it changes nothing, or has a key.
    fn deliver(&self, outgoing: &Outgoing) -> Result<Came, Error> {
        let mut pause = FIRST_PAUSE;
        let mut tried = 0;
        loop {
            tried += 1;
            let wait = match self.send(outgoing) {
                Ok(came) if matches!(came.status, 429 | 503) && tried < self.tries => came.pause,
                Ok(came) => return Ok(came),
                Err(Error::Away(_)) if tried < self.tries => None,
                Err(error) => return Err(error),
            };
            thread::sleep(wait.unwrap_or(pause));
            pause *= 2;
        }
    }

    fn send(&self, outgoing: &Outgoing) -> Result<Came, Error> {
        let Outgoing { route, url, key, body, signed } = outgoing;
        let mut request = Request::builder()
            .method(route.method.as_str())
            .uri(url)
            .header("authorization", format!("Bearer {}", self.token))
            .header("accept", "application/json");
        if route.writes {
            request = request.header("idempotency-key", key);
        }
        for (name, value) in signed {
            request = request.header(*name, value);
        }
        if body.is_some() {
            request = request.header("content-type", "application/json");
        }
        // What is wrong with a header is not told: it may be the token.
        let malformed = |_| Error::Malformed(format!("{} can't be written", route.id));
        let answer = match body {
            Some(body) => self.agent.run(request.body(body.as_slice()).map_err(malformed)?),
            None => self.agent.run(request.body(()).map_err(malformed)?),
        };
        let away = |error: ureq::Error| match error {
            ureq::Error::BadUri(why) => Error::Malformed(why),
            other => Error::Away(other.to_string()),
        };
        let answer = answer.map_err(away)?;
        let status = answer.status().as_u16();
        let pause = answer.headers().get("retry-after").and_then(|value| value.to_str().ok());
        let pause = pause.and_then(|text| text.parse().ok()).map(Duration::from_secs);
        let body = answer.into_body().into_with_config().limit(MOST_BYTES).read_to_vec();
        Ok(Came { status, pause, body: body.map_err(away)? })
    }
}

fn problem(came: &Came) -> Option<Problem> {
    serde_json::from_slice(&came.body).ok()
}

/// A path with what stands in it; everything but plain letters, digits and `-._~` is escaped.
fn filled(path: &str, parts: &[(&str, &str)]) -> Result<String, Error> {
    let mut filled = path.to_owned();
    for (name, value) in parts {
        let escaped: String = value.bytes().map(escaped).collect();
        if matches!(escaped.as_str(), "" | "." | "..") {
            return Err(Error::Malformed(format!("{value:?} can't stand in a path")));
        }
        filled = filled.replace(&format!("{{{name}}}"), &escaped);
    }
    if filled.contains('{') {
        return Err(Error::Malformed(format!("{path} lacks a part")));
    }
    Ok(filled)
}

fn escaped(byte: u8) -> String {
    match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
            char::from(byte).to_string()
        }
        other => format!("%{other:02X}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_filled_and_nothing_leaves_its_place() {
        assert_eq!(
            filled("/v1/a/{b}/c", &[("b", "x y/é")]).expect("a path"),
            "/v1/a/x%20y%2F%C3%A9/c"
        );
        for bad in ["", ".", ".."] {
            assert!(filled("/v1/{b}", &[("b", bad)]).is_err(), "{bad:?}");
        }
        assert!(filled("/v1/{b}", &[]).is_err());
    }
}
