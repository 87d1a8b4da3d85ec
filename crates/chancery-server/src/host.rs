//! The process: loops and routes, from its start to its end in good order.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::routing::get;
use chancery_engine::loops::{Board, LOOPS, Loops};
use chancery_store::Store;
use chancery_store::managed::Secret;
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::api::{self, Limits};
use crate::body::MOST_BYTES;
use crate::health;
use crate::problem::{Fault, Problem};
use crate::waiting::WaitingRoom;

/// An end in good order takes no longer: requests under way, passes, leases.
const LONGEST_END: Duration = Duration::from_secs(9);

/// What `api.requests_per_minute` is when nobody set it.
const REQUESTS_A_MINUTE: u32 = 6000;

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
    tls: bool,
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
        let waiting = Arc::new(WaitingRoom::default());
        let limits = Limits::new(REQUESTS_A_MINUTE);
        Self(Arc::new(Inner { store, board, token, waiting, stop, limits, tls: false }))
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

    /// Whether browsers come by TLS: then their cookies never go another way.
    pub(crate) fn is_tls(&self) -> bool {
        self.0.tls
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
}

/// Every route.
pub fn router(host: Host) -> Router {
    Router::new()
        .route("/healthz", get(health::alive))
        .route("/readyz", get(health::ready))
        .merge(api::routes(&host))
        .fallback(async || Problem::of(Fault::NotFound, "see docs/reference/lease-protocol.md"))
        .method_not_allowed_fallback(async || {
            Problem::of(Fault::MethodNotAllowed, "see docs/reference/lease-protocol.md")
        })
        .layer(DefaultBodyLimit::max(MOST_BYTES))
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
    let listener = TcpListener::bind(address).await?;
    let address = listener.local_addr()?;
    Ok(Bound { listener, address })
}

/// Answers and runs the loops until `stop` becomes true; then ends in good order, within ten seconds. The loops have connections
/// of their own: requests, however many, can't keep them waiting.
///
/// # Errors
/// When no connection can be taken any more.
pub async fn serve(
    bound: Bound,
    requests: Store,
    loops: &Store,
    holder: &str,
    token: Secret,
    stop: watch::Receiver<bool>,
) -> io::Result<()> {
    let running = Loops::start(LOOPS, loops, holder, &stop);
    let host = Host::new(requests, running.board(), token, stop);
    let (guests, asked) = (host.clone(), host.clone());
    let wakes = tokio::spawn(async move { guests.look_after_guests().await });
    let server = axum::serve(bound.listener, router(host.clone()))
        .with_graceful_shutdown(async move { asked.stopping().await });
    let overdue = async {
        host.stopping().await;
        tokio::time::sleep(LONGEST_END).await;
    };
    let all = async {
        let (served, ()) = tokio::join!(server, running.ended());
        served
    };
    let served = tokio::select! {
        served = all => served,
        () = overdue => {
            tracing::warn!("something did not end in time; leases run out by themselves");
            Ok(())
        }
    };
    wakes.abort();
    served
}
