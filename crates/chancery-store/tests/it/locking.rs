//! Two connections race a guard against the rows it reads. Nobody sleeps: a test waits until PostgreSQL says that a
//! session stands in front of a lock, and only then lets the other one go on.
//!
//! The machines: a dossier completes only when none of its papers is open; a done paper is reopened only while its
//! dossier goes on. Whatever the order, there is never a completed dossier with an open paper.

use chancery_model::refusal::Code::{self, *};
use chancery_store::fsm::{Move, MoveReport, Start};
use chancery_store::{Error, Role};
use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};
use uuid::Uuid;

use crate::archive::{
    BROKEN, archive, complete, dossier, finish, new_dossier, new_paper, reopen, review, stamp,
};
use crate::session::{Isolation, Session};
use crate::support::codes;

/// What a racer does to a dossier with one paper, done.
#[derive(Debug, Clone)]
enum Act {
    Move(Move),
    Start(Start),
}

impl Act {
    async fn on(&self, session: &mut Session) -> Result<MoveReport, Error> {
        match self {
            Self::Move(m) => session.apply(m).await,
            Self::Start(s) => session.start(s).await,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Reopen,
    Start,
    Complete,
}

impl Kind {
    fn act(self, dossier: Uuid, paper: Uuid) -> Act {
        match self {
            Self::Reopen => Act::Move(reopen(paper)),
            Self::Start => Act::Start(new_paper(dossier)),
            Self::Complete => Act::Move(complete(dossier)),
        }
    }

    /// How the loser is told.
    const fn refusal(self) -> Code {
        match self {
            Self::Reopen | Self::Complete => RS006,
            Self::Start => RS024,
        }
    }
}

/// Every pair that must not both succeed, in both orders of arrival.
const RACES: [(Kind, Kind); 4] = [
    (Kind::Reopen, Kind::Complete),
    (Kind::Complete, Kind::Reopen),
    (Kind::Start, Kind::Complete),
    (Kind::Complete, Kind::Start),
];

/// FSM-8: the second racer waits for the first and is then judged by what the first left behind.
#[tokio::test]
async fn a_guard_waits_for_the_rows_it_reads() {
    let (db, store, watch) = archive().await;
    for (first, second) in RACES {
        for commits in [true, false] {
            let (dossier, papers) = dossier(&store, 1).await;
            let mut leader = Session::open(&db, Role::App).await;
            let mut follower = Session::open(&db, Role::App).await;
            leader.begin(Isolation::ReadCommitted).await;
            first
                .act(dossier, papers[0])
                .on(&mut leader)
                .await
                .expect("nobody is in the first one's way");

            let act = second.act(dossier, papers[0]);
            let pid = follower.pid;
            let waiting = tokio::spawn(async move { act.on(&mut follower).await });
            watch.until_blocked(pid).await;
            if commits {
                leader.commit().await.expect("the first one's move holds");
                let answer = waiting.await.expect("no panic");
                assert_eq!(codes(answer), [second.refusal()], "{second:?} after {first:?}");
            } else {
                leader.rollback().await;
                waiting.await.expect("no panic").unwrap_or_else(|error| {
                    panic!("{second:?} after {first:?} was rolled back: {error}")
                });
            }
            assert_eq!(watch.count(BROKEN).await, 0, "{first:?}, then {second:?}");
        }
    }
}

/// FSM-8: what a guard has read stays as it was until the transaction ends, also for movers that read nothing themselves.
#[tokio::test]
async fn what_a_guard_read_stays_as_it_was() {
    let (db, store, watch) = archive().await;
    for reads_parent in [true, false] {
        let (dossier, papers) = dossier(&store, 2).await;
        let (guarded, others) = if reads_parent {
            (reopen(papers[0]), vec![review(dossier)])
        } else {
            (complete(dossier), papers.iter().copied().map(stamp).collect())
        };
        let mut reader = Session::open(&db, Role::App).await;
        reader.begin(Isolation::ReadCommitted).await;
        reader.apply(&guarded).await.expect("the guard holds");
        let mut waiting = Vec::new();
        for other in others {
            let mut session = Session::open(&db, Role::App).await;
            let pid = session.pid;
            waiting.push(tokio::spawn(async move { session.apply(&other).await }));
            watch.until_blocked(pid).await;
        }
        reader.commit().await.expect("the guarded move holds");
        for other in waiting {
            other.await.expect("no panic").expect("free to move again");
        }
    }
}

/// FSM-8: an act that reads other rows is refused outright to a caller whose snapshot could be older than its locks, and
/// nothing changes.
#[tokio::test]
async fn reading_others_needs_a_fresh_look() {
    let (db, store, _watch) = archive().await;
    let (dossier, papers) = dossier(&store, 1).await;
    let before = db.fingerprint().await;
    for kind in [Kind::Reopen, Kind::Start, Kind::Complete] {
        for isolation in [Isolation::RepeatableRead, Isolation::Serializable] {
            let mut session = Session::open(&db, Role::App).await;
            session.begin(isolation).await;
            let answer = kind.act(dossier, papers[0]).on(&mut session).await;
            assert_eq!(codes(answer), [RS025], "{kind:?} at {isolation:?}");
        }
    }
    assert_eq!(before, db.fingerprint().await);
}

/// FSM-8: a caller that keeps an old snapshot gets a conflict, a refusal or its way, but never breaks the invariant.
/// The first racer stays at READ COMMITTED, so that nothing can rest on serialisable snapshots alone.
#[tokio::test]
async fn an_old_snapshot_breaks_no_invariant() {
    let (db, store, watch) = archive().await;
    let mut broken = Vec::new();
    for (first, second) in RACES {
        for isolation in Isolation::ALL {
            for overlap in [true, false] {
                let (dossier, papers) = dossier(&store, 1).await;
                let mut leader = Session::open(&db, Role::App).await;
                let mut follower = Session::open(&db, Role::App).await;
                follower.begin(isolation).await;
                leader.begin(Isolation::ReadCommitted).await;
                first
                    .act(dossier, papers[0])
                    .on(&mut leader)
                    .await
                    .expect("the first one's way is free");
                let act = second.act(dossier, papers[0]);
                let answer = if overlap {
                    let pid = follower.pid;
                    let waiting = tokio::spawn(async move {
                        let answer = act.on(&mut follower).await;
                        finish_transaction(&mut follower, answer).await
                    });
                    watch.until_blocked_or_done(pid, &waiting).await;
                    leader.commit().await.expect("the first one's move holds");
                    waiting.await.expect("no panic")
                } else {
                    leader.commit().await.expect("the first one's move holds");
                    let answer = act.on(&mut follower).await;
                    finish_transaction(&mut follower, answer).await
                };
                match answer {
                    Ok(_) => broken.push(format!(
                        "{first:?}, then {second:?} at {isolation:?}, overlapping: {overlap}"
                    )),
                    Err(error) if isolation == Isolation::ReadCommitted => {
                        assert_eq!(codes::<MoveReport>(Err(error)), [second.refusal()]);
                    }
                    Err(Error::Conflict(_) | Error::Refused(_)) => {}
                    Err(error) => panic!("{first:?}, then {second:?} at {isolation:?}: {error}"),
                }
            }
        }
    }
    assert_eq!(broken, Vec::<String>::new(), "both succeeded");
    assert_eq!(watch.count(BROKEN).await, 0);
}

async fn finish_transaction(
    session: &mut Session,
    answer: Result<MoveReport, Error>,
) -> Result<MoveReport, Error> {
    match answer {
        Ok(report) => session.commit().await.map(|()| report),
        Err(error) => {
            session.rollback().await;
            Err(error)
        }
    }
}

/// FSM-6: of two movers from one state exactly one gets through; the other learns that the run has moved on.
#[tokio::test]
async fn one_of_two_movers_wins() {
    let (db, store, watch) = archive().await;
    let dossier = store.fn_run_start(&new_dossier()).await.expect("a dossier").run_id;
    for (commits, from) in
        [(true, None), (true, Some("open")), (false, None), (false, Some("open"))]
    {
        let paper = store.fn_run_start(&new_paper(dossier)).await.expect("a paper").run_id;
        let second = Move { from: from.map(str::to_owned), ..finish(paper) };
        let mut leader = Session::open(&db, Role::App).await;
        let mut follower = Session::open(&db, Role::App).await;
        leader.begin(Isolation::ReadCommitted).await;
        leader.apply(&finish(paper)).await.expect("the first mover is alone");
        let pid = follower.pid;
        let waiting = tokio::spawn(async move { follower.apply(&second).await });
        watch.until_blocked(pid).await;
        if commits {
            leader.commit().await.expect("the first move holds");
            let expected = if from.is_some() { RS009 } else { RS004 };
            assert_eq!(codes(waiting.await.expect("no panic")), [expected]);
        } else {
            leader.rollback().await;
            waiting.await.expect("no panic").expect("the second mover is alone now");
        }
        let run = store.run(paper).await.expect("an answer").expect("the paper");
        assert_eq!((run.state.as_str(), run.seq), ("done", 2), "one effect");
    }
}

/// FSM-7: one key from two connections at once has one effect, and both get the same answer.
#[tokio::test]
async fn one_key_from_two_connections_has_one_effect() {
    let (db, store, watch) = archive().await;
    let dossier = store.fn_run_start(&new_dossier()).await.expect("a dossier").run_id;
    let paper = store.fn_run_start(&new_paper(dossier)).await.expect("a paper").run_id;
    for act in [Act::Move(finish(paper)), Act::Start(new_paper(dossier)), Act::Move(reopen(paper))]
    {
        for commits in [false, true] {
            let mut leader = Session::open(&db, Role::App).await;
            let mut follower = Session::open(&db, Role::App).await;
            leader.begin(Isolation::ReadCommitted).await;
            let first = act.on(&mut leader).await.expect("the first one");
            let (pid, same) = (follower.pid, act.clone());
            let waiting = tokio::spawn(async move {
                follower.begin(Isolation::ReadCommitted).await;
                let answer = same.on(&mut follower).await;
                follower.rollback().await;
                answer
            });
            watch.until_blocked(pid).await;
            if commits {
                leader.commit().await.expect("the first one holds");
            } else {
                leader.rollback().await;
            }
            let second = waiting.await.expect("no panic").expect("the same request");
            assert_eq!(second.replayed, commits);
            let one_effect = MoveReport { replayed: false, ..second };
            if commits {
                assert_eq!(one_effect, first, "the same answer");
            }
        }
    }
}

/// FSM-6: a paper can be begun while its dossier moves from one open state to another.
#[tokio::test]
async fn a_parent_that_moves_on_still_takes_children() {
    let (db, store, watch) = archive().await;
    let dossier = store.fn_run_start(&new_dossier()).await.expect("a dossier").run_id;
    let mut leader = Session::open(&db, Role::App).await;
    let mut follower = Session::open(&db, Role::App).await;
    leader.begin(Isolation::ReadCommitted).await;
    leader.apply(&review(dossier)).await.expect("the dossier is reviewed");
    let pid = follower.pid;
    let waiting = tokio::spawn(async move { follower.start(&new_paper(dossier)).await });
    watch.until_blocked(pid).await;
    leader.commit().await.expect("the review holds");
    waiting.await.expect("no panic").expect("the dossier goes on, so it takes papers");
}

/// Two batches, made of the same open papers by `moves` (for the first, for the second), of which a third session holds one in the middle:
/// both have taken what they can before either gets on. They come to an end without a deadlock.
pub(crate) async fn two_batches_finish_each_paper_once(moves: impl Fn(bool, &[Uuid]) -> Vec<Move>) {
    let (db, store, watch) = archive().await;
    let dossier = store.fn_run_start(&new_dossier()).await.expect("a dossier").run_id;
    let mut papers = Vec::new();
    for _ in 0..9 {
        papers.push(store.fn_run_start(&new_paper(dossier)).await.expect("a paper").run_id);
    }
    let mut holder = Session::open(&db, Role::App).await;
    holder.begin(Isolation::ReadCommitted).await;
    holder.apply(&finish(papers[4])).await.expect("the middle one");
    let mut waiting = Vec::new();
    for second in [false, true] {
        let moves = moves(second, &papers);
        let mut session = Session::open(&db, Role::App).await;
        let pid = session.pid;
        waiting.push(tokio::spawn(async move { session.batch(&moves).await }));
        watch.until_blocked(pid).await;
    }
    holder.rollback().await;
    let mut made = 0;
    for batch in waiting {
        let reports = batch.await.expect("no panic").expect("no deadlock");
        made += reports.iter().filter(|report| report.ok).count();
    }
    assert_eq!(made, papers.len(), "each paper was finished once");
}

/// FSM-6: batches lock in one order, whatever order they are given in.
#[tokio::test]
async fn opposite_batches_do_not_deadlock() {
    two_batches_finish_each_paper_once(|second, papers| {
        let mut moves: Vec<Move> = papers.iter().copied().map(finish).collect();
        if second {
            moves.reverse();
        }
        moves
    })
    .await;
}

/// FSM-6: batches whose guards read each other's runs crosswise come to an end. One of them may be told to try again, and
/// then nothing of it was done.
#[tokio::test]
async fn batches_that_read_crosswise_come_to_an_end() {
    let (db, store, watch) = archive().await;
    let (one, _) = dossier(&store, 0).await;
    let (two, of_two) = dossier(&store, 1).await;
    let of_one = store.fn_run_start(&new_paper(one)).await.expect("a paper").run_id;
    store.fn_state_transition_apply(&finish(of_one)).await.expect("finished");
    assert!(one < two && of_two[0] < of_one, "the papers' order is not their dossiers'");

    let mut holder = Session::open(&db, Role::App).await;
    holder.begin(Isolation::ReadCommitted).await;
    holder.apply(&reopen(of_two[0])).await.expect("the first paper is held");
    let mut waiting = Vec::new();
    for moves in [vec![reopen(of_two[0]), reopen(of_one)], vec![complete(one), complete(two)]] {
        let mut session = Session::open(&db, Role::App).await;
        let pid = session.pid;
        waiting.push(tokio::spawn(async move {
            loop {
                match session.batch(&moves).await {
                    Err(Error::Conflict(_)) => {}
                    answer => return answer,
                }
            }
        }));
        watch.until_blocked(pid).await;
    }
    holder.rollback().await;
    for batch in waiting {
        let reports = batch.await.expect("no panic").expect("an answer in the end");
        let made = reports.iter().filter(|report| report.ok).count();
        assert!(
            made == 0 || made == 2,
            "whole, or refused by what the other batch did: {reports:?}"
        );
    }
    assert_eq!(watch.count(BROKEN).await, 0);
}

/// FSM-8: many racers at once: no deadlock, and the invariant holds after every round.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crowd_of_racers_breaks_nothing() {
    const ROUNDS: u64 = 200;
    const RACERS: u64 = 8;
    let (db, store, watch) = archive().await;
    let mut sessions = Vec::new();
    for _ in 0..RACERS {
        sessions.push(Session::open(&db, Role::App).await);
    }
    let mut made = 0;
    for round in 0..ROUNDS {
        let (dossier, papers) = dossier(&store, 2).await;
        let racers: Vec<_> = sessions
            .drain(..)
            .zip(0..)
            .map(|(mut session, n)| {
                let papers = papers.clone();
                tokio::spawn(async move {
                    // The seed is the round and the racer: a failure can be run again.
                    let mut random = StdRng::seed_from_u64(round * RACERS + n);
                    let mut made = 0;
                    for _ in 0..random.gen_range(1..=3) {
                        let paper = papers[random.gen_range(0..papers.len())];
                        let act = match random.gen_range(0..5) {
                            0 => Kind::Complete.act(dossier, paper),
                            1 => Kind::Start.act(dossier, paper),
                            2 | 3 => Kind::Reopen.act(dossier, paper),
                            _ => Act::Move(finish(paper)),
                        };
                        session.begin(Isolation::ReadCommitted).await;
                        let answer = act.on(&mut session).await;
                        match finish_transaction(&mut session, answer).await {
                            Ok(_) => made += 1,
                            Err(Error::Refused(_)) => {}
                            Err(error) => panic!("round {round}, racer {n}, {act:?}: {error}"),
                        }
                    }
                    (session, made)
                })
            })
            .collect();
        for racer in racers {
            let (session, moves) = racer.await.expect("no deadlock, no conflict");
            made += moves;
            sessions.push(session);
        }
        assert_eq!(watch.count(BROKEN).await, 0, "after round {round}");
    }
    assert!(made > ROUNDS, "the racers did race: {made} moves");
    let deadlocks = watch
        .count("select deadlocks from pg_stat_database where datname = current_database()")
        .await;
    assert_eq!(deadlocks, 0);
}
