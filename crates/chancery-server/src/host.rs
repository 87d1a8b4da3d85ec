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
use chancery_store::Store;
use chancery_store::managed::Secret;
use tokio::net::{TcpListener, TcpSocket};
use tokio::sync::watch;

use crate::access;
use crate::api::{self, Limits};
use crate::body::MOST_BYTES;
use crate::feed::Hub;
use crate::metrics::Requests;
use crate::observe;
use crate::patience::Patient;
use crate::problem::{Fault, Problem};
use crate::waiting::WaitingRoom;
use crate::{health, queue, work};

/// An end in good order takes no longer: requests under way, passes, leases.
const LONGEST_END: Duration = Duration::from_secs(9);

/// What lies in the kernel for one connection, in bytes, and how many connections wait to be taken.
const SEND_BUFFER: u32 = 256 * 1024;
const BACKLOG: u32 = 1024;

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
    feed: Arc<Hub>,
    requests: Requests,
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
        Self(Arc::new(Inner {
            store,
            board,
            token,
            waiting,
            stop,
            limits,
            tls: false,
            feed: Arc::default(),
            requests: Requests::default(),
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

    /// Reads events for those who listen, from this store, until the process ends; then sends everybody away.
    pub async fn look_after_listeners(&self, store: &Store) {
        tokio::select! {
            () = self.stopping() => {}
            () = self.feed().look_after(store) => {}
        }
        self.feed().close();
    }
}

/// Every route.
pub fn router(host: Host) -> Router {
    let closed = queue::routes()
        .merge(work::routes())
        .layer(middleware::from_fn_with_state(host.clone(), access::require));
    Router::new()
        .route("/healthz", get(health::alive))
        .route("/readyz", get(health::ready))
        .merge(closed)
        .merge(api::routes(&host))
        .merge(work::open_routes())
        .fallback(async || Problem::of(Fault::NotFound, "see docs/reference/lease-protocol.md"))
        .method_not_allowed_fallback(async || {
            Problem::of(Fault::MethodNotAllowed, "see docs/reference/lease-protocol.md")
        })
        .layer(DefaultBodyLimit::max(MOST_BYTES))
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
    let (listened, feed) = (host.clone(), loops.clone());
    let listeners = tokio::spawn(async move { listened.look_after_listeners(&feed).await });
    let server = axum::serve(Patient(bound.listener), router(host.clone()))
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
    listeners.abort();
    served
}
