//! EVT-6: what changes is told as it happens, from the positions of the outbox.
//!
//! One reader a process asks for what is new and hands it on; nobody who listens costs a query. It asks only while somebody listens.

mod hub;
mod stream;
mod told;

use std::collections::HashSet;
use std::time::Duration;

use chancery_store::feed::FeedPage;
use chancery_store::{Error, Store};

pub(crate) use hub::{Figures, Hub};
pub(crate) use stream::Client;
pub(crate) use told::{PREFIXES, approval_changed, from};

use self::told::Event;

/// From one question to the next, when there was nothing more.
const LOOK: Duration = Duration::from_millis(30);
const PAGE: i32 = 500;
/// As many as a pass of the sequencer takes.
const PASS: i32 = 10_000;
/// After an error.
const PAUSE: Duration = Duration::from_millis(500);
/// Whose session or token ended is sent away within this and a question.
const GUARD: Duration = Duration::from_secs(2);
/// Requests for approval and votes have no position: they are looked for so often, so far back.
const APPROVALS: Duration = Duration::from_millis(500);
const BACK: Duration = Duration::from_secs(60);
/// Who hears of approvals.
pub(crate) const APPROVAL_KEYS: [&str; 2] = ["approvals", "inbox"];

impl Hub {
    /// Reads for everybody, for as long as it is polled.
    pub(crate) async fn look_after(&self, store: &Store) {
        tokio::join!(self.read(store), self.guard(store), self.approvals(store));
    }

    async fn read(&self, store: &Store) {
        let mut failed = false;
        loop {
            let after = self.head().await;
            let pause = match self.turn(store, after).await {
                Ok(more) => {
                    failed = false;
                    if more { Duration::ZERO } else { LOOK }
                }
                Err(error) => {
                    if !failed {
                        tracing::warn!(%error, "the feed stands still; trying again");
                    }
                    failed = true;
                    PAUSE
                }
            };
            tokio::time::sleep(pause).await;
        }
    }

    /// One page. When there is something without a position, the sequencer is asked: its loop would come to it as well, later.
    async fn turn(&self, store: &Store, after: i64) -> Result<bool, Error> {
        let mut page = self.page(store, after).await?;
        if page.unstamped && page.upto == page.last {
            store.fn_sequence_events(PASS).await?;
            page = self.page(store, page.upto).await?;
        }
        Ok(page.upto < page.last)
    }

    async fn page(&self, store: &Store, after: i64) -> Result<FeedPage, Error> {
        Figures::one(&self.figures.reads);
        let mut page = store.fn_feed(after, PAGE).await?;
        let events = std::mem::take(&mut page.events);
        self.publish(after, page.upto, events.into_iter().map(Event::new));
        Ok(page)
    }

    async fn guard(&self, store: &Store) {
        loop {
            tokio::time::sleep(GUARD).await;
            let shown = self.shown();
            if shown.0.is_empty() && shown.1.is_empty() {
                continue;
            }
            // Without the database there is nothing to tell either.
            if let Ok(good) = store.fn_feed_listeners(&shown.0, &shown.1).await {
                self.keep(&shown, good);
            }
        }
    }

    async fn approvals(&self, store: &Store) {
        // What the last question found; nothing while nobody listened.
        let mut known: Option<HashSet<_>> = None;
        loop {
            tokio::time::sleep(APPROVALS).await;
            if !self.has(&APPROVAL_KEYS) {
                known = None;
                continue;
            }
            let Ok(found) = store.fn_feed_approvals(BACK).await else { continue };
            let tell = |approval| {
                let frame = told::approval_changed(approval);
                self.hint(&APPROVAL_KEYS, "approval.read", &frame);
            };
            match &known {
                // Somebody came before this first question: perhaps something happened in between.
                None => tell(None),
                Some(known) => {
                    let fresh = found.iter().rev().filter(|one| !known.contains(*one));
                    let mut told = HashSet::new();
                    for one in fresh {
                        if told.insert(one.approval_id) {
                            tell(Some(one.approval_id));
                        }
                    }
                }
            }
            known = Some(found.into_iter().collect());
        }
    }
}
