//! Ends a long command in good order.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Notify;

use crate::failure::Failure;

/// Whether somebody asked the command to end: SIGTERM, or Ctrl-C. Asked twice, it ends at once; the database finishes the
/// statement or forgets it.
#[derive(Debug)]
pub(crate) struct Stop {
    asked: Arc<AtomicBool>,
    wake: Arc<Notify>,
}

impl Stop {
    pub(crate) fn on_signals() -> Result<Self, Failure> {
        let listen = |kind| {
            signal(kind).map_err(|error| Failure::Failed(format!("no signal handler: {error}")))
        };
        let (mut terminate, mut interrupt) =
            (listen(SignalKind::terminate())?, listen(SignalKind::interrupt())?);
        let stop = Self { asked: Arc::default(), wake: Arc::default() };
        let (asked, wake) = (Arc::clone(&stop.asked), Arc::clone(&stop.wake));
        tokio::spawn(async move {
            loop {
                tokio::select! {
                    _ = terminate.recv() => {}
                    _ = interrupt.recv() => {}
                }
                if asked.swap(true, Ordering::Relaxed) {
                    std::process::exit(130);
                }
                wake.notify_one();
            }
        });
        Ok(stop)
    }

    pub(crate) fn asked(&self) -> bool {
        self.asked.load(Ordering::Relaxed)
    }

    pub(crate) async fn wait(&self) {
        while !self.asked() {
            self.wake.notified().await;
        }
    }
}
