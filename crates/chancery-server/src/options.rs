//! How a host is set up.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use chancery_engine::rule_watch::RuleWatch;
use chancery_store::managed::Secret;
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// What a host is told beside its database. The default is a host for this machine alone.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Speaks TLS itself.
    pub tls: Option<Tls>,
    /// Where browsers find it, without a slash at the end: needed for a provider, and where something else speaks TLS for it.
    pub public_url: Option<String>,
    /// Further host names that requests may name; see `--allow-host`.
    pub host_names: Vec<String>,
    /// Who else may say who somebody is.
    pub oidc: Option<Oidc>,
    /// So many requests of one principal in a minute; `api.requests_per_minute` when it is left out.
    pub requests_a_minute: Option<u32>,
    /// So many sign-ins from one address in a minute; `sign_in.per_address_per_minute` when it is left out.
    pub sign_ins_a_minute: Option<u32>,
    pub patience: Patience,
    /// Who compares the rules in the database with the release; without one, they are taken for granted.
    pub rules: Option<RuleWatch>,
}

impl Options {
    /// The host names that the operator gave, without ports.
    pub(crate) fn known_hosts(&self) -> impl Iterator<Item = &str> {
        let public = self.public_url.as_deref().and_then(|url| url.split_once("://"));
        let public = public.map(|(_, place)| place.split(['/', ':']).next().unwrap_or_default());
        self.host_names.iter().map(String::as_str).chain(public)
    }

    /// Whether browsers come by TLS: then their cookies never go another way.
    pub(crate) fn is_tls(&self) -> bool {
        self.tls.is_some()
            || self.public_url.as_deref().is_some_and(|url| url.starts_with("https://"))
    }
}

/// How long a client may take. A slow one costs its own connection, and nobody else's.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    /// For the handshake of TLS, and for the head of a request, also between two requests.
    pub head: Duration,
    /// For a body.
    pub body: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self { head: Duration::from_secs(30), body: Duration::from_secs(10) }
    }
}

/// A provider of OpenID Connect, and who we are to it.
#[derive(Debug, Clone)]
pub struct Oidc {
    /// Exactly as the provider spells itself.
    pub issuer: String,
    pub client_id: String,
    /// A public client has none.
    pub client_secret: Option<Secret>,
}

/// A certificate with its key.
#[derive(Clone)]
pub struct Tls(pub(crate) Arc<ServerConfig>);

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tls(…)")
    }
}

/// Why a certificate can't be used.
#[derive(Debug)]
pub enum TlsError {
    /// A file can't be read, or is no PEM of its kind.
    File(PathBuf, String),
    /// Everybody on this machine can read the key.
    KeyOpen(PathBuf),
    /// The two do not belong together.
    Unfit(String),
}

impl fmt::Display for TlsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path, why) => write!(f, "{}: {why}", path.display()),
            Self::KeyOpen(path) => {
                write!(f, "{}: everybody here can read this key; chmod 600", path.display())
            }
            Self::Unfit(why) => write!(f, "certificate and key can't be used: {why}"),
        }
    }
}

impl std::error::Error for TlsError {}

impl Tls {
    /// Reads a chain of certificates and its private key, both PEM.
    ///
    /// # Errors
    /// When they can't be read, do not belong together, or the key lies open.
    pub fn from_files(certificate: &Path, key: &Path) -> Result<Self, TlsError> {
        use std::os::unix::fs::PermissionsExt as _;
        let unread =
            |path: &Path, why: &dyn fmt::Display| TlsError::File(path.to_owned(), why.to_string());
        let chain = CertificateDer::pem_file_iter(certificate)
            .and_then(Iterator::collect::<Result<Vec<_>, _>>)
            .map_err(|error| unread(certificate, &error))?;
        if chain.is_empty() {
            return Err(unread(certificate, &"there is no certificate in it"));
        }
        let mode = key.metadata().map_err(|error: io::Error| unread(key, &error))?.permissions();
        if mode.mode() & 0o007 != 0 {
            return Err(TlsError::KeyOpen(key.to_owned()));
        }
        // What is wrong inside the key is nobody's to read.
        let private = PrivateKeyDer::from_pem_file(key)
            .map_err(|_| unread(key, &"there is no private key in it"))?;
        let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| TlsError::Unfit(error.to_string()))?
            .with_no_client_auth()
            .with_single_cert(chain, private)
            .map_err(|error| TlsError::Unfit(error.to_string()))?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Self(Arc::new(config)))
    }
}
