//! The process: loops and routes, from its start to its end in good order.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware;
use axum::routing::get;
use chancery_engine::loops::{Board, LOOPS, Loops};
use chancery_engine::rule_watch::{CHECK_INTERVAL, RuleWatch};
use chancery_store::Store;
use chancery_store::managed::Secret;
use tokio::net::{TcpListener, TcpSocket};
use tokio::sync::watch;
use tower_http::compression::CompressionLayer;
use tower_http::compression::predicate::{DefaultPredicate, Predicate, SizeAbove};

use crate::api::{self, Guesses, Limits};
use crate::body::MOST_BYTES;
use crate::feed::Hub;
use crate::listen::listen;
use crate::metrics::Requests;
use crate::oidc::Provider;
use crate::options::Options;
use crate::problem::{Fault, Problem};
use crate::waiting::WaitingRoom;
use crate::{asking, health, observe, request_head, ui};

/// An end in good order takes no longer: requests under way, passes, leases.
const LONGEST_END: Duration = Duration::from_secs(9);

/// What lies in the kernel for one connection, in bytes, and how many connections wait to be taken.
const SEND_BUFFER: u32 = 256 * 1024;
const BACKLOG: u32 = 1024;

/// Answers below this many bytes are sent as they are.
const SMALLEST: u64 = 1024;

/// What the settings are when nobody set them.
const REQUESTS_A_MINUTE: u32 = 6000;
const SIGN_INS_A_MINUTE: u32 = 30;

/// What the routes work with.
#[derive(Clone)]
pub struct Host(Arc<Inner>);

struct Inner {
    store: Store,
    board: Arc<Board>,
    token: Secret,
    waiting: Arc<WaitingRoom>,
    stop: watch::Receiver<bool>,
    limits: Limits,
    feed: Arc<Hub>,
    requests: Requests,
    sign_ins: Limits,
    guesses: Guesses,
    provider: Option<Provider>,
    options: Options,
    rules: RuleWatch,
}

impl fmt::Debug for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Host").field("stopping", &self.is_stopping()).finish_non_exhaustive()
    }
}

impl Host {
    /// A host that answers from this store, to those who show this token.
    pub fn new(
        store: Store,
        board: Arc<Board>,
        token: Secret,
        stop: watch::Receiver<bool>,
    ) -> Self {
        Self::with_options(store, board, token, stop, Options::default())
    }

    /// The same, set up otherwise.
    pub fn with_options(
        store: Store,
        board: Arc<Board>,
        token: Secret,
        stop: watch::Receiver<bool>,
        options: Options,
    ) -> Self {
        let rules = options.rules.clone().unwrap_or_else(RuleWatch::trusting);
        let waiting = Arc::new(WaitingRoom::default());
        let limits = Limits::new(options.requests_a_minute.unwrap_or(REQUESTS_A_MINUTE));
        let sign_ins = Limits::new(options.sign_ins_a_minute.unwrap_or(SIGN_INS_A_MINUTE));
        let provider = options.oidc.clone().zip(options.public_url.as_deref());
        let provider = provider.map(|(oidc, url)| Provider::new(oidc, url, token.expose()));
        Self(Arc::new(Inner {
            store,
            board,
            token,
            waiting,
            stop,
            limits,
            feed: Arc::default(),
            requests: Requests::default(),
            sign_ins,
            guesses: Guesses::default(),
            provider,
            options,
            rules,
        }))
    }

    pub(crate) fn store(&self) -> &Store {
        &self.0.store
    }

    pub(crate) fn board(&self) -> &Board {
        &self.0.board
    }

    pub(crate) fn token(&self) -> &str {
        self.0.token.expose()
    }

    pub(crate) fn waiting(&self) -> &Arc<WaitingRoom> {
        &self.0.waiting
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.0.limits
    }

    pub(crate) fn feed(&self) -> &Arc<Hub> {
        &self.0.feed
    }

    pub(crate) fn requests(&self) -> &Requests {
        &self.0.requests
    }

    /// How often one address may try to sign in.
    pub(crate) fn sign_ins(&self) -> &Limits {
        &self.0.sign_ins
    }

    /// How many unknown credentials one address may show.
    pub(crate) fn guesses(&self) -> &Guesses {
        &self.0.guesses
    }

    /// Who else may say who somebody is.
    pub(crate) fn provider(&self) -> Option<&Provider> {
        self.0.provider.as_ref()
    }

    pub(crate) fn options(&self) -> &Options {
        &self.0.options
    }

    /// Whether the rules in the database are those of this release.
    pub(crate) fn rules(&self) -> &RuleWatch {
        &self.0.rules
    }

    /// Whether browsers come by TLS: then their cookies never go another way.
    pub(crate) fn is_tls(&self) -> bool {
        self.0.options.is_tls()
    }

    pub(crate) fn is_stopping(&self) -> bool {
        *self.0.stop.borrow()
    }

    /// Until the process was asked to end.
    pub(crate) async fn stopping(&self) {
        let mut stop = self.0.stop.clone();
        // Nobody is left who could ask: that is an end as well.
        let _ = stop.wait_for(|&asked| asked).await;
    }

    /// Wakes those who wait for jobs, until the process ends.
    pub async fn look_after_guests(&self) {
        tokio::select! {
            () = self.stopping() => {}
            () = self.waiting().look_after() => {}
        }
    }

    /// Reads events for those who listen, from this store, until the process ends; then sends everybody away.
    pub async fn look_after_listeners(&self, store: &Store) {
        tokio::select! {
            () = self.stopping() => {}
            () = self.feed().look_after(store) => {}
        }
        self.feed().close();
    }
}

/// A picture of 500 steps is a tenth when it is compressed; small answers only grow, and events are sent as they come.
fn worth_it() -> impl Predicate {
    DefaultPredicate::new().and(SizeAbove::new(SMALLEST))
}

/// Every route.
pub fn router(host: Host) -> Router {
    Router::new()
        .route("/healthz", get(health::alive))
        .route("/readyz", get(health::ready))
        .merge(api::routes(&host))
        .fallback(ui::show)
        .method_not_allowed_fallback(async || {
            Problem::of(Fault::MethodNotAllowed, "see docs/reference/http-api.md")
        })
        .layer(DefaultBodyLimit::max(MOST_BYTES))
        .layer(CompressionLayer::new().compress_when(worth_it()))
        .layer(middleware::from_fn_with_state(host.clone(), request_head::check))
        .layer(middleware::from_fn_with_state(host.clone(), asking::ask))
        .layer(middleware::from_fn_with_state(host.clone(), observe::observe))
        .with_state(host)
}

/// A place that takes connections.
#[derive(Debug)]
pub struct Bound {
    listener: TcpListener,
    address: SocketAddr,
}

impl Bound {
    /// Where it is.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

/// Opens a place to listen at.
///
/// # Errors
/// When it is taken or not ours.
pub async fn bind(address: SocketAddr) -> io::Result<Bound> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    socket.set_reuseaddr(true)?;
    // Connections have it from here. Without a bound, the kernel keeps megabytes for each client that does not read.
    socket.set_send_buffer_size(SEND_BUFFER)?;
    socket.bind(address)?;
    let listener = socket.listen(BACKLOG)?;
    let address = listener.local_addr()?;
    Ok(Bound { listener, address })
}

/// Answers and runs the loops until `stop` becomes true; then ends in good order, within ten seconds. The loops have connections
/// of their own: requests, however many, can't keep them waiting.
///
/// # Errors
/// When the settings can't be read.
pub async fn serve(
    bound: Bound,
    requests: Store,
    loops: &Store,
    holder: &str,
    token: Secret,
    stop: watch::Receiver<bool>,
    options: Options,
) -> io::Result<()> {
    let options = with_settings(options, &requests).await.map_err(io::Error::other)?;
    let rules = RuleWatch::default();
    // Before anything is decided; where it can't be known, nothing is.
    rules.check(loops).await.map_err(io::Error::other)?;
    let options = Options { rules: Some(rules.clone()), ..options };
    let running = Loops::watched(LOOPS, loops, holder, &stop, &rules);
    let host = Host::with_options(requests, running.board(), token, stop, options);
    let guests = host.clone();
    let wakes = tokio::spawn(async move { guests.look_after_guests().await });
    let (listened, feed) = (host.clone(), loops.clone());
    let listeners = tokio::spawn(async move { listened.look_after_listeners(&feed).await });
    let interval = comparison_interval(loops).await.map_err(io::Error::other)?;
    let comparing = loops.clone();
    let comparisons = tokio::spawn(async move { rules.run(&comparing, interval).await });
    let server = listen(bound.listener, router(host.clone()), host.options(), host.stopping());
    let overdue = async {
        host.stopping().await;
        tokio::time::sleep(LONGEST_END).await;
    };
    let all = async {
        tokio::join!(server, running.ended());
    };
    tokio::select! {
        () = all => {}
        () = overdue => {
            tracing::warn!("something did not end in time; leases run out by themselves");
        }
    }
    wakes.abort();
    comparisons.abort();
    listeners.abort();
    Ok(())
}

/// How often the rules are compared with the release.
async fn comparison_interval(store: &Store) -> Result<Duration, chancery_store::Error> {
    let seconds = store.setting("drift.check_seconds").await?.and_then(|value| value.as_u64());
    Ok(seconds.filter(|&seconds| seconds > 0).map_or(CHECK_INTERVAL, Duration::from_secs))
}

/// What is not said stands in the database.
async fn with_settings(options: Options, store: &Store) -> Result<Options, chancery_store::Error> {
    let setting = async |said: Option<u32>, key: &str| -> Result<_, chancery_store::Error> {
        if said.is_some() {
            return Ok(said);
        }
        let value = store.setting(key).await?.and_then(|value| value.as_u64());
        Ok(value.and_then(|value| u32::try_from(value).ok()))
    };
    let requests_a_minute = setting(options.requests_a_minute, "api.requests_per_minute").await?;
    let sign_ins_a_minute =
        setting(options.sign_ins_a_minute, "sign_in.per_address_per_minute").await?;
    Ok(Options { requests_a_minute, sign_ins_a_minute, ..options })
}
