//! The passes of the workflows: the orchestrator of their runs, and their timers.

use std::time::{Duration, Instant};

use chancery_store::{Error, Store};
use futures_util::StreamExt as _;
use futures_util::stream;
use rand::seq::SliceRandom as _;
use uuid::Uuid;

use super::SERVICE;
use super::table::Done;

/// So many runs, or timers, are looked at in one pass.
const AT_MOST: i32 = 200;
/// So many of them at once: a slow one must not keep the others waiting, and the host's connections are for other loops as well.
const AT_ONCE: usize = 2;
/// So many turns a run gets in one pass; a big one goes on with the next.
const TURNS: usize = 20;
/// A pass takes up nothing new after so long: a loop that says nothing for longer than the board is patient counts as ill.
const PASS: Duration = Duration::from_secs(5);

/// What came of a run, or of a timer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Came {
    /// So many moves; more waits when the second is true.
    Moved(i32, bool),
    /// Somebody else is at it.
    Busy,
    /// It failed, and is left alone for a while.
    Deferred,
    /// There was no time left.
    Left,
}

/// RUN-14: what waits for the loop is done, in every run where something does.
pub(super) async fn mow(store: &Store) -> Result<Done, Error> {
    let mut runs = store.fn_mow_next(AT_MOST, SERVICE).await?;
    // Every host gets the same list. In an order of their own, they are seldom at the same run.
    runs.shuffle(&mut rand::thread_rng());
    let came = all(runs, |run| turns(store, run)).await?;
    Ok(told(&came, "moves"))
}

/// RUN-7, RUN-8: what is to happen at a time happens. One host does it: timers ring seldom and wait in one index.
pub(super) async fn timers(store: &Store) -> Result<Done, Error> {
    let due = store.fn_timer_due(AT_MOST, SERVICE).await?;
    let came = all(due, |timer| ring(store, timer)).await?;
    Ok(told(&came, "timers rang"))
}

/// Some at a time, until all are done or the time is over.
async fn all<F>(ids: Vec<Uuid>, one: impl Fn(Uuid) -> F) -> Result<Vec<Came>, Error>
where
    F: Future<Output = Result<Came, Error>>,
{
    let began = Instant::now();
    let one = &one;
    let mut all = Vec::with_capacity(ids.len());
    let work = ids.into_iter().map(|id| async move {
        if began.elapsed() > PASS { Ok(Came::Left) } else { one(id).await }
    });
    let mut came = stream::iter(work).buffer_unordered(AT_ONCE);
    while let Some(one) = came.next().await {
        all.push(one?);
    }
    Ok(all)
}

async fn turns(store: &Store, run: Uuid) -> Result<Came, Error> {
    let mut moved = 0;
    for _ in 0..TURNS {
        match store.fn_mow_turn(run, SERVICE).await {
            Ok(turn) if turn.busy => return Ok(Came::Busy),
            Ok(turn) => {
                moved += turn.moved;
                if !turn.more {
                    return Ok(Came::Moved(moved, false));
                }
            }
            Err(error) => {
                let Some(why) = fault(error)? else { return Ok(Came::Busy) };
                tracing::warn!(workflow.run = %run, "a run of a workflow cannot go on: {why}");
                store.fn_mow_defer(run, &why, SERVICE).await?;
                return Ok(Came::Deferred);
            }
        }
    }
    Ok(Came::Moved(moved, true))
}

async fn ring(store: &Store, timer: Uuid) -> Result<Came, Error> {
    match store.fn_timer_fire(timer, SERVICE).await {
        Ok(fired) => Ok(Came::Moved(i32::from(fired.fired), false)),
        Err(error) => {
            let Some(why) = fault(error)? else { return Ok(Came::Busy) };
            tracing::warn!(timer = %timer, "a timer cannot do what it is for: {why}");
            store.fn_timer_defer(timer, &why, SERVICE).await?;
            Ok(Came::Deferred)
        }
    }
}

/// Why this one cannot go on; nothing when it only met somebody else. What is wrong with everything is the loop's trouble.
fn fault(error: Error) -> Result<Option<String>, Error> {
    match error {
        Error::Conflict(_) => Ok(None),
        Error::Refused(_) => Ok(Some(error.to_string())),
        Error::Bug { ref sqlstate, .. } if sqlstate == "57014" => {
            Ok(Some("a condition runs too long, or there is too much to do at once".to_owned()))
        }
        // One piece of work that is too large for the server must not keep the others from going on.
        Error::Bug { .. } | Error::Locks(_) => Ok(Some(error.to_string())),
        Error::Away(_) | Error::Schema(_) | Error::Denied(_) | Error::Managed(_) => Err(error),
    }
}

fn told(came: &[Came], what: &str) -> Done {
    let count = |it: Came| came.iter().filter(|one| **one == it).count();
    let moved: i32 = came.iter().map(|one| if let Came::Moved(n, _) = one { *n } else { 0 }).sum();
    let more = came.iter().any(|one| matches!(one, Came::Moved(_, true) | Came::Left));
    let detail =
        format!("{moved} {what}, {} busy, {} put off", count(Came::Busy), count(Came::Deferred));
    // What was done may have given another run something to do.
    Done { detail, more: more || moved > 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_wrong_with_one_is_put_off() {
        let bug = |state: &str| Error::Bug { sqlstate: state.to_owned(), message: "m".to_owned() };
        assert!(matches!(fault(Error::Conflict("c".to_owned())), Ok(None)));
        assert!(matches!(fault(bug("57014")), Ok(Some(why)) if why.contains("too long")));
        assert!(matches!(fault(bug("22012")), Ok(Some(_))));
        assert!(matches!(fault(Error::Away("a".to_owned())), Err(Error::Away(_))));
    }

    #[test]
    fn a_pass_goes_on_while_something_moves() {
        assert!(!told(&[Came::Busy, Came::Deferred], "moves").more, "others see to it");
        assert!(told(&[Came::Moved(3, false)], "moves").more);
        assert!(told(&[Came::Left], "moves").more);
        assert_eq!(
            told(&[Came::Moved(3, false), Came::Busy], "moves").detail,
            "3 moves, 1 busy, 0 put off"
        );
    }
}
