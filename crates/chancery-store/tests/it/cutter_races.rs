//! The phases beside each other: two connections, no sleeps. Whoever is second sees what the first one did, or waits for it.

use chancery_model::refusal::Code::{RC008, RC009, RS004, RS006, RS025};
use chancery_store::Role;
use chancery_store::cutter::Mark;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::cutter_world::{World, cut_on, review_on, sweep_on};
use crate::session::{Isolation, Session, Watch};
use crate::support::codes;

/// CUT-5: of two passes at once each entry is promoted by one, and the passes form one chain.
#[tokio::test]
async fn two_sweeps_promote_each_entry_once() {
    let world = World::new().await;
    let document = world.document("policy", "POL").await;
    for n in 0..3 {
        world.marked(&document, &format!("k{n}")).await;
    }
    let mut first = Session::open(&world.db, Role::CutterExec).await;
    let mut second = Session::open(&world.db, Role::CutterExec).await;
    let pid = second.pid;
    first.begin(Isolation::ReadCommitted).await;
    let one = sweep_on(&mut first.connection, Uuid::now_v7()).await.expect("swept");
    let other = tokio::spawn(async move { sweep_on(&mut second.connection, Uuid::now_v7()).await });
    Watch::new(&world.db).until_blocked(pid).await;
    first.commit().await.expect("committed");
    let two = other.await.expect("an answer").expect("swept");
    assert_eq!((&one["promoted"], &two["promoted"]), (&json!(3), &json!(0)));
    let chain: Vec<i64> = world.one("select array_agg(sweep_seq order by sweep_seq) from cutter_governance.decision_backlog_sweep_log").await;
    assert_eq!(chain, [1, 2]);
}

/// CUT-5: a pass on an old snapshot could not see the pass before it, and is refused.
#[tokio::test]
async fn a_sweep_on_an_old_snapshot_is_refused() {
    let world = World::new().await;
    for isolation in [Isolation::RepeatableRead, Isolation::Serializable] {
        let mut session = Session::open(&world.db, Role::CutterExec).await;
        session.begin(isolation).await;
        assert_eq!(codes(sweep_on(&mut session.connection, Uuid::now_v7()).await), [RS025]);
        session.rollback().await;
    }
}

/// CUT-7: a decision that is superseded while the cut waits is no approval any more.
#[tokio::test]
async fn a_cut_sees_the_decision_that_came_first() {
    let world = World::new().await;
    let document = world.document("policy", "POL").await;
    let entry = world.approved(&document, "k").await;
    let cut = world.a_cut(&document, entry, "executor").await;
    let defer = world.a_review(&document, entry, "defer").await;
    let mut reviewer = Session::open(&world.db, Role::CutterReview).await;
    let mut executor = Session::open(&world.db, Role::CutterExec).await;
    let pid = executor.pid;
    reviewer.begin(Isolation::ReadCommitted).await;
    review_on(&mut reviewer.connection, &defer).await.expect("deferred");
    let cutting = tokio::spawn(async move { cut_on(&mut executor.connection, &cut).await });
    Watch::new(&world.db).until_blocked(pid).await;
    reviewer.commit().await.expect("committed");
    assert_eq!(codes(cutting.await.expect("an answer")), [RS004]);
    assert_eq!(world.status(entry).await, "reviewed_deferred");
    let units: i64 = world.one("select count(*) from iu.information_unit").await;
    assert_eq!(units, 0, "nothing was cut");
}

/// CUT-6: the other way round: a decision that waits for the cut finds that it came too late.
#[tokio::test]
async fn a_decision_sees_the_cut_that_came_first() {
    let world = World::new().await;
    let document = world.document("policy", "POL").await;
    let entry = world.approved(&document, "k").await;
    let cut = world.a_cut(&document, entry, "executor").await;
    let defer = world.a_review(&document, entry, "defer").await;
    let mut reviewer = Session::open(&world.db, Role::CutterReview).await;
    let mut executor = Session::open(&world.db, Role::CutterExec).await;
    let pid = reviewer.pid;
    executor.begin(Isolation::ReadCommitted).await;
    cut_on(&mut executor.connection, &cut).await.expect("cut");
    let deciding = tokio::spawn(async move { review_on(&mut reviewer.connection, &defer).await });
    Watch::new(&world.db).until_blocked(pid).await;
    executor.commit().await.expect("committed");
    assert_eq!(codes(deciding.await.expect("an answer")), [RS004]);
    assert_eq!(world.status(entry).await, "cut_applied");
    let stands: bool = world
        .one("select bool_and(superseded_by_review_decision_id is null) from cutter_governance.review_decision")
        .await;
    assert!(stands, "the decision that was cut is not superseded");
}

/// CUT-6: of two decisions at once the second one is told that somebody decided.
#[tokio::test]
async fn two_decisions_at_once_are_one() {
    let world = World::new().await;
    let document = world.document("policy", "POL").await;
    let entry = world.pending(&document, "k").await;
    let approve = world.a_review(&document, entry, "approve").await;
    let mut reject = world.a_review(&document, entry, "reject").await;
    reject.principal = "authority_2".to_owned();
    world.sign_review(&mut reject);
    let mut one = Session::open(&world.db, Role::CutterReview).await;
    let mut two = Session::open(&world.db, Role::CutterReview).await;
    let pid = two.pid;
    one.begin(Isolation::ReadCommitted).await;
    review_on(&mut one.connection, &approve).await.expect("approved");
    let other = tokio::spawn(async move { review_on(&mut two.connection, &reject).await });
    Watch::new(&world.db).until_blocked(pid).await;
    one.commit().await.expect("committed");
    assert_eq!(codes(other.await.expect("an answer")), [RC008]);
    assert_eq!(world.status(entry).await, "reviewed_approved");
}

/// CUT-7: executors that race for one entry make one change set; all others get its answer, whoever they are.
#[tokio::test]
async fn many_executors_make_one_change_set() {
    let world = World::new().await;
    let document = world.document("policy", "POL").await;
    let entry = world.approved(&document, "k").await;
    let mut racers = Vec::new();
    for n in 0..16 {
        let principal = if n % 2 == 0 { "executor" } else { "executor_2" };
        let cut = world.a_cut(&document, entry, principal).await;
        let store = world.exec.clone();
        racers.push(tokio::spawn(async move { store.fn_cut(&cut).await }));
    }
    let mut made = 0;
    let mut sets = std::collections::BTreeSet::new();
    for racer in racers {
        let report = racer.await.expect("an answer").expect("a change set");
        made += usize::from(!report.replayed);
        sets.insert(report.change_set_id.expect("its id"));
    }
    assert_eq!((made, sets.len()), (1, 1));
    let counts: Value = world
        .one("select jsonb_build_object('sets', (select count(*) from cutter_governance.cut_change_set),
                'signatures', (select count(*) from cutter_governance.dot_pair_signature),
                'units', (select count(*) from iu.information_unit))")
        .await;
    assert_eq!(counts, json!({ "sets": 1, "signatures": 1, "units": 3 }));
}

/// CUT-7: one signer's cuts of two entries stand in one chain: the second waits, and is told that the chain moved.
#[tokio::test]
async fn a_chain_has_no_forks() {
    let world = World::new().await;
    let [one, two] = [world.document("a", "AA").await, world.document("b", "BB").await];
    let first = world.approved(&one, "a").await;
    let second = world.approved(&two, "b").await;
    let cut = world.a_cut(&one, first, "executor").await;
    let stale = world.a_cut(&two, second, "executor").await;
    let mut session = Session::open(&world.db, Role::CutterExec).await;
    let mut other = Session::open(&world.db, Role::CutterExec).await;
    let pid = other.pid;
    session.begin(Isolation::ReadCommitted).await;
    cut_on(&mut session.connection, &cut).await.expect("cut");
    let late = tokio::spawn(async move { cut_on(&mut other.connection, &stale).await });
    Watch::new(&world.db).until_blocked(pid).await;
    session.commit().await.expect("committed");
    assert_eq!(codes(late.await.expect("an answer")), [RC009]);
    let again = world.a_cut(&two, second, "executor").await;
    world.exec.fn_cut(&again).await.expect("at the end of the chain");
}

/// CUT-7: what a cut waits for cannot be given up beside it: the blocker is locked until the cut is done.
#[tokio::test]
async fn a_blocker_stays_verified_while_its_dependant_is_cut() {
    let world = World::new().await;
    let [one, two] = [world.document("a", "AA").await, world.document("b", "BB").await];
    let blocker = world.verified(&one, "a").await;
    let waiting = Mark { depends_on: vec![blocker], ..world.a_mark(&two, "b") };
    let entry = world.exec.fn_mark(&waiting).await.expect("marked").entry_id;
    world.swept().await;
    let review = world.a_review(&two, entry, "approve").await;
    world.review.fn_review(&review).await.expect("approved");
    let cut = world.a_cut(&two, entry, "executor").await;

    let mut sovereign = Session::open(&world.db, Role::App).await;
    let mut executor = Session::open(&world.db, Role::CutterExec).await;
    let pid = executor.pid;
    sovereign.begin(Isolation::ReadCommitted).await;
    sovereign
        .run(&format!("select cutter_governance.fn_abandon('{blocker}', 'wrong', 'A-1', 'sovereign', 'give up')"))
        .await
        .expect("given up");
    let cutting = tokio::spawn(async move { cut_on(&mut executor.connection, &cut).await });
    Watch::new(&world.db).until_blocked(pid).await;
    sovereign.commit().await.expect("committed");
    assert_eq!(
        codes(cutting.await.expect("an answer")),
        [RS006],
        "G-CUT-DEPS, seen after the wait"
    );
}

/// CUT-7, CUT-12: one executor cuts a request and what it waits for at the same time. The blocker's cut must not wait for the
/// signer's chain behind a cut that waits for the blocker: entries are locked before chains.
#[tokio::test]
async fn a_cut_and_its_blockers_cut_do_not_wait_for_each_other() {
    let world = World::new().await;
    let [one, two] = [world.document("a", "AA").await, world.document("b", "BB").await];
    let blocker = world.approved(&one, "a").await;
    let waiting = Mark { depends_on: vec![blocker], ..world.a_mark(&two, "b") };
    let entry = world.exec.fn_mark(&waiting).await.expect("marked").entry_id;
    world.swept().await;
    let review = world.a_review(&two, entry, "approve").await;
    world.review.fn_review(&review).await.expect("approved");
    let dependant = world.a_cut(&two, entry, "executor").await;
    let of_blocker = world.a_cut(&one, blocker, "executor").await;

    let watch = Watch::new(&world.db);
    let mut chain = watch.pool.begin().await.expect("a transaction");
    sqlx::query("set local role chancery_definer").execute(&mut *chain).await.expect("the definer");
    sqlx::query("select internal.take_turn('cutter_governance.lane:DOT-991:executor')")
        .execute(&mut *chain)
        .await
        .expect("the chain is held");
    let [mut first, mut second] = [
        Session::open(&world.db, Role::CutterExec).await,
        Session::open(&world.db, Role::CutterExec).await,
    ];
    let [pid_of_first, pid_of_second] = [first.pid, second.pid];
    let first = tokio::spawn(async move { cut_on(&mut first.connection, &dependant).await });
    watch.until_blocked_or_done(pid_of_first, &first).await;
    let second = tokio::spawn(async move { cut_on(&mut second.connection, &of_blocker).await });
    watch.until_blocked(pid_of_second).await;
    chain.rollback().await.expect("the chain is free");
    assert_eq!(codes(first.await.expect("an answer")), [RS006], "the blocker is not verified yet");
    second.await.expect("an answer").expect("the blocker is cut");
    assert_eq!(world.status(blocker).await, "cut_applied");
}
