//! `chancery serve`: the host of the loops, the HTTP API, and the lease protocol for workers.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use chancery_server::telemetry::Collector;
use chancery_server::{Oidc, Options, Tls};
use chancery_store::managed::{Cluster, Secret, secrets};
use chancery_store::{Role, Store};
use clap::{Args, ValueEnum};
use serde_json::json;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tokio::time::MissedTickBehavior;
use uuid::Uuid;

use crate::Context;
use crate::doctor;
use crate::failure::{Failure, Outcome};
use crate::session::Session;

pub(crate) const EXAMPLES: &str = "\
Runs the loops of the product and answers /healthz, /readyz, the API (docs/reference/http-api.md) and the lease protocol \
(docs/reference/lease-protocol.md). Several at once are safe: one of them leads each loop, and another one takes over within seconds when it dies. Programs show the token \
that lies in the data directory. Ctrl-C or SIGTERM ends it in good order, within ten seconds.

Example:
  $ chancery serve
  $ chancery serve --listen 127.0.0.1:0 --json
  $ chancery serve --listen 0.0.0.0:443 --tls-cert chain.pem --tls-key key.pem
  $ curl -fsS http://127.0.0.1:7420/readyz";

/// How often the private server is looked after.
const KEEP_UP_INTERVAL: Duration = Duration::from_secs(2);

/// Connections for requests, and for the loops: a crowd of the one must not starve the other.
const FOR_REQUESTS: u32 = 12;
const FOR_LOOPS: u32 = 6;

#[derive(Debug, Args)]
pub(crate) struct Serve {
    /// Where to listen; port 0 takes a free one
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:7420", value_parser = address)]
    listen: SocketAddr,
    /// Listen also where other machines can read along, without TLS
    #[arg(long)]
    insecure_listen: bool,
    /// Speak TLS with this certificate and what it is signed with, PEM
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// The private key of the certificate, PEM, not readable by everybody
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// Where browsers find this host: scheme and name, without a path
    #[arg(long, value_name = "URL", value_parser = public_url)]
    public_url: Option<String>,
    /// Answer under this host name too, besides localhost, IP addresses and that of --public-url; may be given several times
    #[arg(long, value_name = "NAME", value_parser = host_name)]
    allow_host: Vec<String>,
    /// Let people sign in with this provider of OpenID Connect
    #[arg(long, value_name = "URL", requires_all = ["oidc_client_id", "public_url"])]
    oidc_issuer: Option<String>,
    /// The name that the provider knows this host by
    #[arg(long, value_name = "ID", requires = "oidc_issuer")]
    oidc_client_id: Option<String>,
    /// A file with the secret that the provider gave, if it gave one
    #[arg(long, value_name = "FILE", requires = "oidc_issuer")]
    oidc_client_secret_file: Option<PathBuf>,
    /// How lines of the log are written
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = LogFormat::Text)]
    log_format: LogFormat,
    /// Send traces of requests to this collector of OpenTelemetry, by OTLP over HTTP
    #[arg(long, value_name = "URL", env = "OTEL_EXPORTER_OTLP_ENDPOINT", hide_env_values = true)]
    otlp_endpoint: Option<String>,
    /// Headers for the collector, such as its key
    #[arg(long, env = "OTEL_EXPORTER_OTLP_HEADERS", hide = true, hide_env_values = true)]
    otlp_headers: Option<String>,
    /// The name under which the collector files them
    #[arg(long, env = "OTEL_SERVICE_NAME", hide = true)]
    otlp_service: Option<String>,
}

/// What a line of the log is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// For people.
    Text,
    /// For programs: one object a line.
    Json,
}

impl Serve {
    pub(crate) fn log_format(&self) -> LogFormat {
        self.log_format
    }

    /// Where traces go, if anywhere.
    pub(crate) fn collector(&self) -> Option<Collector> {
        let endpoint = self.otlp_endpoint.clone().filter(|url| !url.is_empty())?;
        Some(Collector {
            endpoint,
            headers: self.otlp_headers.clone(),
            service: self.otlp_service.clone(),
        })
    }
}

/// A place with or without a port, and nothing behind it.
fn public_url(text: &str) -> Result<String, String> {
    let wrong =
        || "it is https://HOST or https://HOST:PORT, or http:// for this machine alone".to_owned();
    let text = text.trim_end_matches('/');
    let place = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    let place = place.ok_or_else(wrong)?;
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | ':' | '[' | ']');
    if place.is_empty() || !place.chars().all(fits) {
        return Err(wrong());
    }
    Ok(text.to_owned())
}

/// A name as the header Host has it, without its port.
fn host_name(text: &str) -> Result<String, String> {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    if text.is_empty() || !text.chars().all(fits) {
        return Err("expected a host name without a port, such as chancery.example.org".to_owned());
    }
    Ok(text.to_owned())
}

/// What the server is told.
fn options(args: &Serve) -> Result<Options, Failure> {
    let tls = match (&args.tls_cert, &args.tls_key) {
        (Some(certificate), Some(key)) => Some(
            Tls::from_files(certificate, key)
                .map_err(|error| Failure::Usage(format!("TLS: {error}")))?,
        ),
        _ => None,
    };
    let secret = match &args.oidc_client_secret_file {
        Some(file) => {
            let text = fs::read_to_string(file)
                .map_err(|error| Failure::Usage(format!("{}: {error}", file.display())))?;
            Some(Secret::new(text.trim_end()))
        }
        None => None,
    };
    let oidc = args.oidc_issuer.clone().zip(args.oidc_client_id.clone());
    let oidc = oidc.map(|(issuer, client_id)| Oidc { issuer, client_id, client_secret: secret });
    Ok(Options {
        tls,
        oidc,
        public_url: args.public_url.clone(),
        host_names: args.allow_host.clone(),
        ..Options::default()
    })
}

/// `IP:PORT`, or `:PORT` and `localhost:PORT` for this machine alone.
fn address(text: &str) -> Result<SocketAddr, String> {
    let local = text.strip_prefix("localhost:").or_else(|| text.strip_prefix(':'));
    let port = local.and_then(|port| port.parse().ok());
    match port {
        Some(port) => Ok(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port)),
        None => text
            .parse()
            .map_err(|_| "an address is IP:PORT, such as 127.0.0.1:7420 or [::1]:0".to_owned()),
    }
}

pub(crate) async fn serve(context: &mut Context, args: &Serve) -> Result<Outcome, Failure> {
    let options = options(args)?;
    let is_tls = options.tls.is_some();
    let open_to_others = !args.listen.ip().is_loopback() && !is_tls;
    if open_to_others && !args.insecure_listen {
        return Err(Failure::Usage(format!(
            "{} is no address of this machine alone, and there is no TLS: everybody on the way could read the token. Listen at \
             127.0.0.1 behind something that speaks TLS, give it --tls-cert and --tls-key, or say --insecure-listen where you trust \
             the network",
            args.listen
        )));
    }
    let session = Session::open(context).await?;
    // Says what is wrong when the database is not of this release.
    session.store(Role::App).await?.close().await;
    stand_on(&doctor::unsafe_ground(context, &session).await?)?;

    let home = &context.config.home;
    let token = secrets::ensure_token(home)?;
    let requests = Store::with_connections(&session.target, Role::App, FOR_REQUESTS)?;
    let loops = Store::with_connections(&session.target, Role::App, FOR_LOOPS)?;
    let stop = asked_to_end(context)?;
    let bound = chancery_server::bind(args.listen)
        .await
        .map_err(|error| Failure::Failed(format!("can't listen at {}: {error}", args.listen)))?;
    let record = Record::write(home.path(), bound.address())?;

    let holder = format!("serve:{}:{}", std::process::id(), Uuid::now_v7().simple());
    let token_file = secrets::token_path(home);
    let out = &mut context.out;
    out.note(&format!("the token for programs lies in {}", token_file.display()));
    if open_to_others {
        out.note("warning: without TLS everybody on the way can read the token and the jobs");
    }
    let url = format!("{}://{}", if is_tls { "https" } else { "http" }, bound.address());
    if out.is_json() {
        // One line: whoever started us reads it while we run.
        let said = json!({
            "address": bound.address().to_string(), "url": url, "token_file": token_file,
            "address_file": record.path, "holder": holder, "pid": std::process::id(),
        });
        out.line(&said.to_string())?;
    } else {
        out.line(&url)?;
    }
    let keeper = session.cluster.clone().map(|cluster| tokio::spawn(keep_up(cluster)));
    let served =
        chancery_server::serve(bound, requests.clone(), &loops, &holder, token, stop, options)
            .await;
    if let Some(keeper) = keeper {
        keeper.abort();
    }
    requests.close().await;
    loops.close().await;
    record.remove();
    served.map_err(|error| Failure::Failed(error.to_string()))?;
    context.out.note("ended in good order");
    Ok(Outcome::Done)
}

/// Starts the private server again when it dies, and keeps its log from growing without end. A server that somebody stopped stays
/// stopped. Whether it is there is asked every two seconds, so that a server that cannot start is not tried in a tight loop.
async fn keep_up(cluster: Cluster) {
    let mut ticks = tokio::time::interval(KEEP_UP_INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let cluster = cluster.clone();
        let looked = tokio::task::spawn_blocking(move || (cluster.revive(), cluster.limit_log()));
        match looked.await {
            Ok((Ok(Some(started)), _)) => {
                tracing::warn!(pid = started.pid, "PostgreSQL had died and was started again");
            }
            Ok((Err(error), _)) => tracing::error!(%error, "PostgreSQL died and cannot be started"),
            Ok((Ok(None), Err(error))) => tracing::warn!(%error, "its log cannot be rotated"),
            Ok((Ok(None), Ok(_))) | Err(_) => {}
        }
    }
}

fn stand_on(unsafe_ground: &[chancery_store::ground::Check]) -> Result<(), Failure> {
    if unsafe_ground.is_empty() {
        return Ok(());
    }
    let lines: Vec<String> = unsafe_ground
        .iter()
        .map(|check| {
            let mend = check.mend.as_deref().unwrap_or_default();
            format!("  {}: {}; mend: {mend}", check.name, check.found)
        })
        .collect();
    Err(Failure::Failed(format!(
        "the ground is unsafe, see `chancery doctor`:\n{}",
        lines.join("\n")
    )))
}

/// Becomes true with SIGTERM or Ctrl-C. Asked twice, the process ends at once; leases run out by themselves.
fn asked_to_end(context: &Context) -> Result<watch::Receiver<bool>, Failure> {
    let listen =
        |kind| signal(kind).map_err(|error| Failure::Failed(format!("no signal handler: {error}")));
    let (mut terminate, mut interrupt) =
        (listen(SignalKind::terminate())?, listen(SignalKind::interrupt())?);
    let (ask, asked) = watch::channel(false);
    let out = context.out.clone();
    tokio::spawn(async move {
        loop {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
            if ask.send_replace(true) {
                std::process::exit(130);
            }
            out.note("ending; once more ends it at once");
        }
    });
    Ok(asked)
}

/// The file that says where the newest host of this data directory listens.
struct Record {
    path: PathBuf,
    text: String,
}

impl Record {
    fn write(home: &Path, address: SocketAddr) -> Result<Self, Failure> {
        let path = home.join("serve.address");
        let text = format!("{address}\n");
        // Put in place whole: whoever waits for it must not read half of it.
        let draft = home.join(format!("serve.address.{}", std::process::id()));
        fs::write(&draft, &text)
            .and_then(|()| fs::rename(&draft, &path))
            .map_err(|error| Failure::Failed(format!("{}: {error}", path.display())))?;
        Ok(Self { path, text })
    }

    /// Removes it, unless another host has written its own.
    fn remove(&self) {
        if fs::read_to_string(&self.path).is_ok_and(|text| text == self.text) {
            // It only misleads for as long as nobody listens there.
            let _ = fs::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_public_url_is_a_place_and_nothing_more() {
        for (text, expected) in [
            ("https://c.example.org", "https://c.example.org"),
            ("https://c.example.org:8443/", "https://c.example.org:8443"),
            ("http://127.0.0.1:7420", "http://127.0.0.1:7420"),
        ] {
            assert_eq!(public_url(text), Ok(expected.to_owned()));
        }
        for wrong in ["", "c.example.org", "https://", "https://a/b", "https://a?b", "https://u@a"]
        {
            assert!(public_url(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_address_without_a_host_is_of_this_machine_alone() {
        for (text, expected) in [
            (":0", "127.0.0.1:0"),
            ("localhost:80", "127.0.0.1:80"),
            ("[::1]:7420", "[::1]:7420"),
            ("0.0.0.0:1", "0.0.0.0:1"),
        ] {
            assert_eq!(address(text).map(|a| a.to_string()), Ok(expected.to_owned()));
        }
        for wrong in ["", ":", ":x", ":65536", "7420", "example.org:80", "127.0.0.1"] {
            assert!(address(wrong).is_err(), "{wrong}");
        }
    }
}
