//! Where long polls wait for jobs.
//!
//! Who waits asks nothing. Ten times a second one guest of each class is woken and looks; when it finds as many jobs as it wanted,
//! the next guest is woken at once. So a thousand waiting workers cost ten claims a second, not ten thousand.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

/// So often somebody of each class looks.
const LOOK: Duration = Duration::from_millis(100);

/// The guests of every class.
#[derive(Debug, Default)]
pub(crate) struct WaitingRoom {
    classes: Mutex<HashMap<String, Guests>>,
    entered: Notify,
}

#[derive(Debug, Default)]
struct Guests {
    count: usize,
    wake: Arc<Notify>,
}

/// Somebody who waits; leaves with the value.
#[derive(Debug)]
pub(crate) struct Guest {
    room: Arc<WaitingRoom>,
    class: String,
    wake: Arc<Notify>,
}

impl WaitingRoom {
    pub(crate) fn enter(self: &Arc<Self>, class: &str) -> Guest {
        let wake = {
            let mut classes = self.lock();
            let guests = classes.entry(class.to_owned()).or_default();
            guests.count += 1;
            Arc::clone(&guests.wake)
        };
        self.entered.notify_one();
        Guest { room: Arc::clone(self), class: class.to_owned(), wake }
    }

    /// How many wait.
    pub(crate) fn guests(&self) -> usize {
        self.lock().values().map(|guests| guests.count).sum()
    }

    /// Wakes one guest of a class: there may be something for it.
    pub(crate) fn wake(&self, class: &str) {
        if let Some(guests) = self.lock().get(class) {
            guests.wake.notify_one();
        }
    }

    /// Wakes guests in turn, for as long as it is polled.
    pub(crate) async fn look_after(&self) {
        loop {
            let empty = {
                let classes = self.lock();
                classes.values().for_each(|guests| guests.wake.notify_one());
                classes.is_empty()
            };
            if empty {
                self.entered.notified().await;
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Guests>> {
        // A count that a panic left behind keeps an entry, nothing worse.
        self.classes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Guest {
    /// Until it is this guest's turn to look.
    pub(crate) async fn woken(&self) {
        self.wake.notified().await;
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        let mut classes = self.room.lock();
        if let Some(guests) = classes.get_mut(&self.class) {
            guests.count -= 1;
            if guests.count == 0 {
                classes.remove(&self.class);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One wake-up is one guest's, and nobody stays in the room after leaving.
    #[tokio::test]
    async fn one_guest_of_a_class_is_woken_at_a_time() {
        let room = Arc::new(WaitingRoom::default());
        let (first, second, other) = (room.enter("a"), room.enter("a"), room.enter("b"));
        let short = Duration::from_millis(10);
        room.wake("a");
        tokio::time::timeout(short, first.woken()).await.expect("the first is woken");
        assert!(tokio::time::timeout(short, second.woken()).await.is_err(), "the second is not");
        assert!(tokio::time::timeout(short, other.woken()).await.is_err(), "another class is not");
        let all = async { tokio::join!(first.woken(), second.woken(), other.woken()) };
        tokio::select! {
            _ = all => {}
            () = room.look_after() => unreachable!("it goes on for ever"),
            () = tokio::time::sleep(Duration::from_secs(20)) => panic!("nobody looked after them"),
        }
        drop((first, second, other));
        assert!(room.lock().is_empty());
    }
}
