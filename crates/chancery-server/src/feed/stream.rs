//! What one client is sent: what it missed, then what comes.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use chancery_store::{Error, Store};
use futures_util::{StreamExt as _, stream};
use tokio::sync::{Semaphore, mpsc};

use super::hub::{Figures, Hub, Joined, Seat};
use super::told::{self, Event, Rights};

/// A stream with nothing to tell says so, so that whatever stands between knows that it lives.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// So many clients at once are served from the database, a page at a time.
static CATCH_UPS: Semaphore = Semaphore::const_new(4);
const PAGE: i32 = 1_000;
/// Who is further behind reloads: it would cost more to tell what was than what is.
const MOST_BEHIND: i64 = 100_000;

/// One client's.
pub(crate) struct Client {
    pub(crate) hub: Arc<Hub>,
    pub(crate) store: Store,
    pub(crate) seat: Seat,
    pub(crate) rights: Arc<Rights>,
    pub(crate) keys: Vec<String>,
    pub(crate) frames: mpsc::Receiver<Bytes>,
    /// To be sent next.
    pub(crate) pending: VecDeque<Bytes>,
    /// Everything up to here was told, or is pending; nothing when it is live.
    pub(crate) behind: Option<i64>,
}

impl Client {
    /// The body of the answer.
    pub(crate) fn into_body(self) -> Body {
        let frames = stream::unfold(self, async |mut client| {
            let frame = client.next().await?;
            Some((Ok::<_, std::convert::Infallible>(frame), client))
        });
        // What compresses answers may ask once more after the end.
        Body::from_stream(frames.fuse())
    }

    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if let Some(frame) = self.pending.pop_front() {
                Figures::one(&self.hub.figures.deliveries);
                return Some(frame);
            }
            let Some(after) = self.behind else { return self.live().await };
            match self.hub.join(&self.seat, after) {
                Joined::Gone => return None,
                Joined::Live(missed) => {
                    self.pending = missed;
                    self.behind = None;
                }
                // It asks again, from the last that it got.
                Joined::Behind => self.catch_up(after).await.ok()?,
            }
        }
    }

    async fn live(&mut self) -> Option<Bytes> {
        match tokio::time::timeout(HEARTBEAT, self.frames.recv()).await {
            Ok(frame) => {
                if frame.is_some() {
                    Figures::one(&self.hub.figures.deliveries);
                }
                frame
            }
            Err(_) => Some(Bytes::from_static(b": alive\n\n")),
        }
    }

    /// One page of the database for this client alone.
    async fn catch_up(&mut self, after: i64) -> Result<(), Error> {
        // The permit is not held while the client reads.
        let page = {
            let _permit = CATCH_UPS.acquire().await;
            Figures::one(&self.hub.figures.catch_ups);
            self.store.fn_feed(after, PAGE).await?
        };
        if page.missing || page.last - after > MOST_BEHIND {
            Figures::one(&self.hub.figures.gaps);
            self.pending.push_back(told::from("gap", page.last));
            self.behind = Some(page.last);
            return Ok(());
        }
        let events = page.events.into_iter().map(Event::new);
        let mine = events.filter(|event| event.is_for(&self.keys, &self.rights));
        self.pending.extend(mine.map(|event| event.frame));
        self.behind = Some(page.upto);
        Ok(())
    }
}
