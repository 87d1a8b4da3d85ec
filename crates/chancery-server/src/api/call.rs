//! What a function of a route gets, and gives.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::str::FromStr;

use axum::http::{HeaderMap, StatusCode};
use base64::prelude::{BASE64_STANDARD, Engine as _};
use chancery_api::id::{KeyId, Malformed};
use chancery_engine::run::{Actor, RemoteKey};
use chancery_store::Store;
use chancery_store::access::Bearer;
use jiff::Timestamp;

use crate::host::Host;
use crate::observe::Trace;
use crate::problem::{Fault, Problem};

/// Nobody signs more statements at once.
const MOST_SIGNATURES: usize = 500;
/// What was shown to be signed is good for so long.
const SIGNING_TIME: i64 = 15 * 60 * 1_000_000;

/// A request that was let in, in parts.
#[derive(Clone)]
pub(crate) struct Call<Q, B> {
    pub(crate) host: Host,
    /// Reads with the permissions of the credential, which may be fewer than those of its principal.
    pub(crate) store: Store,
    /// Nobody, on open routes.
    pub(crate) bearer: Option<Bearer>,
    pub(crate) path: BTreeMap<String, String>,
    pub(crate) query: Q,
    pub(crate) body: B,
    /// What the change is known by; routes that change nothing have none.
    pub(crate) key: Option<String>,
    pub(crate) headers: HeaderMap,
    /// Where it comes from, as far as a socket tells.
    pub(crate) peer: Option<IpAddr>,
    /// Whether this only finds out what the database would refuse before anybody is asked to sign: see [`RemoteKey::rehearses`].
    pub(crate) rehearses: bool,
}

/// An answer that is yes.
#[derive(Debug)]
pub(crate) struct Answered<A> {
    pub(crate) value: A,
    pub(crate) status: Option<StatusCode>,
    /// The version of what is shown.
    pub(crate) version: Option<String>,
    pub(crate) headers: HeaderMap,
}

impl<A> From<A> for Answered<A> {
    fn from(value: A) -> Self {
        Self { value, status: None, version: None, headers: HeaderMap::new() }
    }
}

impl<A> Answered<A> {
    /// With its version, which becomes the ETag.
    #[expect(clippy::needless_pass_by_value, reason = "a number or a text, as it is at hand")]
    pub(crate) fn version(mut self, version: impl ToString) -> Self {
        self.version = Some(version.to_string());
        self
    }
}

impl<Q, B> Call<Q, B> {
    pub(crate) fn store(&self) -> &Store {
        &self.store
    }

    /// Who asks; routes that ask for a permission always have one.
    pub(crate) fn reader(&self) -> &str {
        self.bearer.as_ref().map_or("", |bearer| bearer.principal.as_str())
    }

    /// What stands in the path under this name.
    pub(crate) fn text(&self, name: &str) -> &str {
        self.path.get(name).map_or("", String::as_str)
    }

    /// The id that stands in the path under this name.
    pub(crate) fn id<T: FromStr<Err = Malformed>>(&self, name: &str) -> Result<T, Problem> {
        self.text(name)
            .parse()
            .map_err(|why: Malformed| Problem::of(Fault::IdMalformed, why.to_string()))
    }

    /// The trace that this request is of: its caller's, or one of its own. Runs that it starts carry it.
    pub(crate) fn trace_id(&self) -> Option<String> {
        Trace::told(&self.headers).map(|trace| trace.trace_id)
    }

    /// What the change is known by. The binder made sure that routes that write have it.
    pub(crate) fn key(&self) -> &str {
        self.key.as_deref().unwrap_or_default()
    }

    /// Whether who asks has a key to sign with.
    pub(crate) fn can_sign(&self) -> bool {
        self.bearer.as_ref().is_some_and(|bearer| bearer.keys.iter().any(|key| !key.revoked))
    }

    /// Refuses when the caller read another version than this. The doors compare states again when they move; this spares the
    /// caller a decision on something that is no longer there.
    #[expect(clippy::needless_pass_by_value, reason = "a number or a text, as it is at hand")]
    pub(crate) fn require_version(&self, version: impl ToString) -> Result<(), Problem> {
        let Some(wanted) = self.headers.get(axum::http::header::IF_MATCH) else { return Ok(()) };
        let etag = format!("\"{}\"", version.to_string());
        let met = wanted.to_str().is_ok_and(|wanted| {
            wanted.split(',').any(|one| matches!(one.trim(), "*") || one.trim() == etag)
        });
        if met {
            Ok(())
        } else {
            Err(Problem::of(Fault::HasChanged, format!("it is at {etag} now")))
        }
    }

    /// Who acts. People and agents sign with a key that lies with them: the first time they are told what to sign, the second time
    /// they bring the signatures. Services act under the server's login alone.
    pub(crate) async fn actor(&self) -> Result<Actor, Problem> {
        let principal = self.reader();
        let wrong = |what: &str| Problem::of(Fault::SignatureMalformed, what.to_owned());
        let header = |name: &str| self.headers.get(name).and_then(|value| value.to_str().ok());
        // They came with the bearer: one question less for each request that moves something.
        let keys = self.bearer.as_ref().map_or(&[][..], |bearer| &bearer.keys);
        let mut live = keys.iter().filter(|key| !key.revoked);
        let key = match header("chancery-key") {
            Some(text) => {
                let id: KeyId =
                    text.parse().map_err(|_| wrong("Chancery-Key is the id of a key"))?;
                let own = keys.iter().find(|key| key.key_id == id.0);
                own.ok_or_else(|| wrong("Chancery-Key is no key of yours"))?
            }
            // The newest one; who has none gets the database's word for it.
            None => match live.next_back() {
                Some(key) => key,
                None => return Ok(Actor::new(principal, None)),
            },
        };
        let now = Timestamp::now().as_microsecond();
        let asked_at = match header("chancery-signed-at") {
            Some(text) => text
                .parse()
                .ok()
                .filter(|at: &i64| (now - at).abs() <= SIGNING_TIME)
                .ok_or_else(|| {
                    wrong(
                        "Chancery-Signed-At is what the answer 428 told, not older than 15 minutes",
                    )
                })?,
            None => now,
        };
        let signatures = header("chancery-signature").unwrap_or_default();
        let signatures = signatures
            .split(',')
            .map(str::trim)
            .filter(|text| !text.is_empty())
            .take(MOST_SIGNATURES)
            .map(|text| BASE64_STANDARD.decode(text).ok().filter(|bytes| bytes.len() == 64))
            .collect::<Option<Vec<_>>>()
            .ok_or_else(|| {
                wrong("Chancery-Signature is signatures of 64 bytes in base64, separated by commas")
            })?;
        let public_key = hex::decode(&key.public_key).unwrap_or_default();
        let request = self.key().to_owned();
        let key_id = key.key_id;
        Ok(Actor::elsewhere(
            principal,
            RemoteKey {
                key_id,
                public_key,
                signatures,
                asked_at,
                request,
                rehearses: self.rehearses,
            },
        ))
    }
}
