//! Connections: taken, encrypted where that is asked for, bounded in time, and ended in good order.

use std::future::Future;
use std::net::SocketAddr;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{ConnectInfo, Request};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tower::ServiceExt as _;

use crate::options::{Options, Patience};
use crate::patience::{self, PatientStream};
use crate::request_head::{HeadBytes, MAX_HEAD_BYTES};

/// When no connection can be taken, such as without a free file.
const PAUSE: Duration = Duration::from_millis(100);

/// Takes connections until `stopping`, then lets those end that are under way.
pub(crate) async fn listen(
    listener: TcpListener,
    router: Router,
    options: &Options,
    stopping: impl Future<Output = ()>,
) {
    let graceful = GracefulShutdown::new();
    let tls = options.tls.as_ref().map(|tls| TlsAcceptor::from(tls.0.clone()));
    let patience = options.patience;
    tokio::pin!(stopping);
    loop {
        let taken = tokio::select! {
            taken = listener.accept() => taken,
            () = &mut stopping => break,
        };
        match taken {
            Ok((stream, peer)) => {
                let connection = Connection { peer, router: router.clone(), patience };
                tokio::spawn(connection.begin(stream, tls.clone(), graceful.watcher()));
            }
            Err(error) => {
                tracing::debug!(%error, "a connection was not taken");
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
    drop(listener);
    graceful.shutdown().await;
}

struct Connection {
    peer: SocketAddr,
    router: Router,
    patience: Patience,
}

impl Connection {
    async fn begin(self, stream: TcpStream, tls: Option<TlsAcceptor>, watcher: Watcher) {
        // Answers are small: waiting to fill a packet would cost each of them 40 ms.
        let _ = stream.set_nodelay(true);
        let stream = PatientStream::new(stream, patience::PATIENCE);
        let Some(tls) = tls else { return self.answer(stream, watcher).await };
        match tokio::time::timeout(self.patience.head, tls.accept(stream)).await {
            Ok(Ok(stream)) => self.answer(stream, watcher).await,
            Ok(Err(error)) => tracing::debug!(%error, "no handshake"),
            Err(_) => tracing::debug!("no handshake in time"),
        }
    }

    async fn answer<S>(self, stream: S, watcher: Watcher)
    where
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        let peer = self.peer;
        let service = self.router.map_request(move |request: Request<Incoming>| {
            let head = HeadBytes::of(&request);
            let mut request = request.map(Body::new);
            request.extensions_mut().insert(ConnectInfo(peer));
            request.extensions_mut().insert(head);
            request
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(self.patience.head)
            // Where this ends depends on how the bytes arrive; the exact limit is `request_head`'s.
            .max_buf_size(2 * MAX_HEAD_BYTES)
            .serve_connection(TokioIo::new(stream), TowerToHyperService::new(service));
        if let Err(error) = watcher.watch(connection).await {
            tracing::debug!(%error, "a connection ended early");
        }
    }
}
