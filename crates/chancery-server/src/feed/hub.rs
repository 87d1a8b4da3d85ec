//! Who listens, and the newest events. Nobody who listens asks the database: one reader puts events here, and they go to those whom
//! they are for.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::body::Bytes;
use chancery_store::access::Bearer;
use chancery_store::feed::FeedListener;
use tokio::sync::{Notify, mpsc};
use uuid::Uuid;

use super::told::{Event, Rights};

/// So many of the newest events are kept for those who come back.
pub(crate) const RING: usize = 16_384;
/// So many wait for one client; it is dropped with the next one, and comes back when it can.
const QUEUE: usize = 2_048;
/// So many listen to one process, and so many of them are one principal.
const MOST: usize = 5_000;
const MOST_A_PRINCIPAL: usize = 256;

/// What was told, and what became of those who listened.
#[derive(Debug, Default)]
pub(crate) struct Figures {
    pub(crate) deliveries: AtomicU64,
    /// Clients that did not read.
    pub(crate) slow: AtomicU64,
    /// Clients whose session or token ended.
    pub(crate) ended: AtomicU64,
    /// Clients that were told to reload.
    pub(crate) gaps: AtomicU64,
    /// Questions of the one reader.
    pub(crate) reads: AtomicU64,
    /// Questions for one client that was too far behind for the ring.
    pub(crate) catch_ups: AtomicU64,
}

impl Figures {
    pub(crate) fn one(counter: &AtomicU64) {
        counter.fetch_add(1, Ordering::Relaxed);
    }
}

/// Everybody who listens to this process.
#[derive(Debug, Default)]
pub(crate) struct Hub {
    state: Mutex<State>,
    arrived: Notify,
    pub(crate) figures: Figures,
}

#[derive(Debug, Default)]
struct State {
    /// Every event behind `base`, up to `head`.
    ring: VecDeque<Arc<Event>>,
    base: i64,
    head: Option<i64>,
    clients: HashMap<u64, Client>,
    /// Who is live, by key.
    topics: HashMap<String, HashSet<u64>>,
    next: u64,
}

#[derive(Debug)]
struct Client {
    how: How,
    rights: Arc<Rights>,
    keys: Vec<String>,
    queue: mpsc::Sender<Bytes>,
    /// Nothing up to here is told again.
    after: i64,
}

/// What somebody showed, by its id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum How {
    Session(Uuid),
    Token(Uuid),
}

/// A client's place; it is free when the value is gone.
#[derive(Debug)]
pub(crate) struct Seat {
    hub: Arc<Hub>,
    id: u64,
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.hub.lock().remove(self.id);
    }
}

/// What somebody finds who wants to hear everything behind a position.
#[derive(Debug)]
pub(crate) enum Joined {
    /// From here on it is told: these, and whatever comes.
    Live(VecDeque<Bytes>),
    /// The ring does not reach that far back.
    Behind,
    /// Its place is no longer there.
    Gone,
}

impl State {
    fn remove(&mut self, id: u64) {
        let Some(client) = self.clients.remove(&id) else { return };
        for key in &client.keys {
            if let Some(ids) = self.topics.get_mut(key) {
                ids.remove(&id);
                if ids.is_empty() {
                    self.topics.remove(key);
                }
            }
        }
    }
}

impl Hub {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place for somebody, who is told nothing yet. `position` is the last one there is.
    pub(crate) fn enter(
        self: &Arc<Self>,
        bearer: &Bearer,
        keys: Vec<String>,
        position: i64,
    ) -> Option<(Seat, Arc<Rights>, mpsc::Receiver<Bytes>)> {
        let rights = Arc::new(Rights {
            principal: bearer.principal.clone(),
            classes: bearer.actor_classes.clone(),
            permissions: bearer.permissions.iter().cloned().collect(),
        });
        let how = if bearer.how == "session" { How::Session } else { How::Token }(bearer.id);
        let (queue, frames) = mpsc::channel(QUEUE);
        let mut state = self.lock();
        let same = state.clients.values().filter(|c| c.rights.principal == bearer.principal);
        if state.clients.len() >= MOST || same.count() >= MOST_A_PRINCIPAL {
            return None;
        }
        let far = i64::try_from(RING).unwrap_or(i64::MAX);
        let stale = state.head.is_none_or(|head| position - head > far);
        if state.clients.is_empty() && stale {
            // Nobody listened for a while: the reader begins anew instead of reading what nobody waits for.
            state.ring.clear();
            state.base = position;
            state.head = Some(position);
        }
        let id = state.next;
        state.next += 1;
        let client = Client { how, rights: Arc::clone(&rights), keys, queue, after: i64::MAX };
        state.clients.insert(id, client);
        drop(state);
        self.arrived.notify_one();
        Some((Seat { hub: Arc::clone(self), id }, rights, frames))
    }

    /// Tells somebody everything behind a position, if the ring has it. In one step, so that nothing falls between what was and what
    /// comes.
    pub(crate) fn join(&self, seat: &Seat, after: i64) -> Joined {
        let mut state = self.lock();
        let State { ring, base, head, clients, topics, .. } = &mut *state;
        let Some(client) = clients.get_mut(&seat.id) else { return Joined::Gone };
        if after < *base {
            return Joined::Behind;
        }
        let first = ring.partition_point(|event| event.position <= after);
        let missed = ring
            .range(first..)
            .filter(|event| event.is_for(&client.keys, &client.rights))
            .map(|event| event.frame.clone())
            .collect();
        client.after = after.max(head.unwrap_or(after));
        for key in &client.keys {
            topics.entry(key.clone()).or_default().insert(seat.id);
        }
        Joined::Live(missed)
    }

    /// Waits until somebody listens; gives the position that the reader goes on from.
    pub(crate) async fn head(&self) -> i64 {
        loop {
            {
                let state = self.lock();
                if let Some(head) = state.head.filter(|_| !state.clients.is_empty()) {
                    return head;
                }
            }
            self.arrived.notified().await;
        }
    }

    /// Puts a page behind `after` into the ring and tells those whom it is for.
    pub(crate) fn publish(&self, after: i64, upto: i64, events: impl IntoIterator<Item = Event>) {
        let mut state = self.lock();
        if state.head != Some(after) {
            // The reader began anew meanwhile.
            return;
        }
        let mut full = Vec::new();
        for event in events {
            let event = Arc::new(event);
            let State { clients, topics, .. } = &mut *state;
            let listeners = event.places.iter().filter_map(|place| topics.get(&place.key));
            for id in listeners.flatten() {
                let Some(client) = clients.get_mut(id) else { continue };
                if event.position <= client.after || !event.is_for(&client.keys, &client.rights) {
                    continue;
                }
                client.after = event.position;
                if client.queue.try_send(event.frame.clone()).is_err() {
                    // Not a word more: it has to come back for all that it missed.
                    client.after = i64::MAX;
                    full.push(*id);
                }
            }
            state.ring.push_back(event);
        }
        for id in full {
            Figures::one(&self.figures.slow);
            state.remove(id);
        }
        let extra = state.ring.len().saturating_sub(RING);
        if extra > 0 {
            let gone = state.ring.drain(..extra).next_back().map(|event| event.position);
            state.base = gone.unwrap_or(state.base);
        }
        state.head = Some(upto);
    }

    /// Tells everybody who listens to one of these keys and may: something without a position.
    pub(crate) fn hint(&self, keys: &[&str], permission: &str, frame: &Bytes) {
        let mut state = self.lock();
        let State { clients, topics, .. } = &mut *state;
        let ids: HashSet<u64> =
            keys.iter().filter_map(|key| topics.get(*key)).flatten().copied().collect();
        let mut full = Vec::new();
        for id in ids {
            let Some(client) = clients.get(&id) else { continue };
            if client.rights.permissions.contains(permission)
                && client.queue.try_send(frame.clone()).is_err()
            {
                full.push(id);
            }
        }
        for id in full {
            Figures::one(&self.figures.slow);
            state.remove(id);
        }
    }

    /// Whether somebody listens to one of these keys.
    pub(crate) fn has(&self, keys: &[&str]) -> bool {
        let state = self.lock();
        keys.iter().any(|key| state.topics.contains_key(*key))
    }

    /// How many listen.
    pub(crate) fn clients(&self) -> usize {
        self.lock().clients.len()
    }

    /// The last position that was told, if anybody ever listened.
    pub(crate) fn position(&self) -> Option<i64> {
        self.lock().head
    }

    /// What everybody showed: sessions and tokens.
    pub(crate) fn shown(&self) -> (Vec<Uuid>, Vec<Uuid>) {
        let shown: HashSet<How> = self.lock().clients.values().map(|client| client.how).collect();
        let mut ids = (Vec::new(), Vec::new());
        for how in shown {
            match how {
                How::Session(id) => ids.0.push(id),
                How::Token(id) => ids.1.push(id),
            }
        }
        ids
    }

    /// Drops those of the asked whose session or token is no longer good; the others may what they may now.
    pub(crate) fn keep(&self, asked: &(Vec<Uuid>, Vec<Uuid>), good: Vec<FeedListener>) {
        let good: HashMap<Uuid, Arc<Rights>> = good
            .into_iter()
            .map(|listener| {
                let rights = Rights {
                    principal: listener.principal,
                    classes: listener.actor_classes,
                    permissions: listener.permissions.into_iter().collect(),
                };
                (listener.id, Arc::new(rights))
            })
            .collect();
        let asked: HashSet<&Uuid> = asked.0.iter().chain(&asked.1).collect();
        let mut state = self.lock();
        let mut ended = Vec::new();
        for (id, client) in &mut state.clients {
            let (How::Session(shown) | How::Token(shown)) = client.how;
            match good.get(&shown) {
                Some(rights) => client.rights = Arc::clone(rights),
                None if asked.contains(&shown) => ended.push(*id),
                // It came while we asked.
                None => {}
            }
        }
        for id in ended {
            Figures::one(&self.figures.ended);
            state.remove(id);
        }
    }

    /// Sends everybody away.
    pub(crate) fn close(&self) {
        let mut state = self.lock();
        let ids: Vec<u64> = state.clients.keys().copied().collect();
        ids.into_iter().for_each(|id| state.remove(id));
    }
}
