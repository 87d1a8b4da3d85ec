//! Consumers of events: none is left out, none is handed on twice without being told so (EVT-7).

use chancery_engine::event::sequence_now;
use chancery_model::refusal::Code;
use chancery_store::consumer::{RECEIVER, RELAY, Receipt, Registered, Registration};
use chancery_store::{Error, Role, Store};
use chancery_testkit::TestDb;
use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, Executor as _};
use uuid::Uuid;

use crate::governance_world::clock_ahead;
use crate::hardening::sqlstate;
use crate::outbox::{meters, tick};
use crate::support::codes;

const TARGET: &str = "nats:CHANCERY:chancery";

fn registration<'a>(consumer: &'a str, kind: &'a str) -> Registration<'a> {
    Registration {
        consumer,
        kind,
        target: TARGET,
        description: "for a test",
        principal: "writer",
        actor_class: "executor_worker",
    }
}

/// The facts of the one problem that a refusal has, after a look at its code.
#[track_caller]
fn facts<T: std::fmt::Debug>(answer: Result<T, Error>, code: Code) -> Value {
    match answer {
        Err(Error::Refused(refusal)) if refusal.code == code => {
            json!(refusal.problems[0].facts)
        }
        other => panic!("{code} was to be expected: {other:?}"),
    }
}

/// A database with so many events of one meter, and their ids in order.
async fn ticked(events: usize) -> (TestDb, Store, Uuid, Vec<Uuid>) {
    let (db, store, runs) = meters(1).await;
    for _ in 1..events {
        store.fn_state_transition_apply(&tick(runs[0])).await.expect("ticked");
    }
    sequence_now(&store).await.expect("positions");
    let page = store.fn_events_after(0, 1_000).await.expect("events");
    let id = |event: &chancery_store::event::EventRow| {
        event.cloudevent["id"].as_str().and_then(|id| id.parse().ok()).expect("an id")
    };
    let ids = page.iter().map(id).collect();
    (db, store, runs[0], ids)
}

/// EVT-7: a relay reads what it has not handed on, also where nobody runs the sequencer, and its position moves by
/// compare-and-set.
#[tokio::test]
async fn a_relay_advances_over_what_it_read_and_nothing_else() {
    let (_db, store, runs) = meters(3).await;
    let there = store.fn_consumer_register(&registration("nats", RELAY)).await.expect("known");
    let expected = Registered {
        consumer: "nats".to_owned(),
        kind: RELAY.to_owned(),
        target: TARGET.to_owned(),
        position: 0,
    };
    assert_eq!(there, expected);
    assert_eq!(
        store.fn_consumer_register(&registration("nats", RELAY)).await.expect("known"),
        there
    );

    let read = async |limit| {
        let events = store.fn_consumer_read("nats", limit, None).await.expect("events");
        events.iter().map(|event| event.position).collect::<Vec<_>>()
    };
    assert_eq!(read(2).await, [1, 2], "nobody ran the sequencer before");
    assert_eq!(read(500).await, [1, 2, 3], "reading is not handing on");
    let event = store.fn_consumer_read("nats", 1, None).await.expect("an event").remove(0);
    assert_eq!(event.cloudevent["id"], event.event_id.to_string());
    assert_eq!(event.cloudevent["specversion"], "1.0");
    let told = store.fn_events_after(0, 1).await.expect("an event").remove(0);
    assert_eq!(event.cloudevent, told.cloudevent, "what everybody reads");

    let advance = async |from, to| store.fn_consumer_advance("nats", from, to, "writer").await;
    let first = advance(0, 2).await.expect("advanced");
    assert_eq!((first.position, first.repeated), (2, false));
    let again = advance(0, 2).await.expect("the answer may have been lost");
    assert_eq!((again.position, again.repeated), (2, true));
    assert_eq!(
        facts(advance(0, 3).await, Code::RE032),
        json!({ "consumer": "nats", "expected": 0, "position": 2 })
    );
    for (from, to) in [(2, 1), (2, 4)] {
        assert_eq!(
            facts(advance(from, to).await, Code::RE033),
            json!({ "consumer": "nats", "from": from, "to": to, "last": 3 })
        );
    }
    assert_eq!(read(500).await, [3], "what was refused changed nothing");
    let again = store.fn_consumer_read("nats", 500, Some(1)).await.expect("events");
    assert_eq!(again.iter().map(|event| event.position).collect::<Vec<_>>(), [2, 3]);
    assert_eq!(store.fn_consumer_read("nats", 500, Some(9)).await.expect("no events"), []);
    store.fn_state_transition_apply(&tick(runs[0])).await.expect("ticked");
    assert_eq!(advance(2, 3).await.expect("advanced").position, 3);
    assert_eq!(read(500).await, [4], "the sequencer is asked when there is nothing");

    let seen = store.consumers().await.expect("consumers").remove(0);
    assert_eq!((seen.position, seen.behind, seen.outrun), (3, 1, Some(false)));
    assert!(seen.advanced_at.is_some());
}

/// EVT-7: who is not registered, or as something else, gets nothing; a name stays with its target.
#[tokio::test]
async fn a_consumer_is_what_it_was_registered_as() {
    let (_db, store, _) = meters(1).await;
    store.fn_consumer_register(&registration("nats", RELAY)).await.expect("a relay");
    store.fn_consumer_register(&registration("shed", RECEIVER)).await.expect("a receiver");
    let unknown = |consumer, kind| json!({ "consumer": consumer, "kind": kind });
    for consumer in ["nobody", "shed"] {
        assert_eq!(
            facts(store.fn_consumer_read(consumer, 1, None).await, Code::RE030),
            unknown(consumer, RELAY)
        );
        assert_eq!(
            facts(store.fn_consumer_advance(consumer, 0, 0, "writer").await, Code::RE030),
            unknown(consumer, RELAY)
        );
    }
    assert_eq!(
        facts(store.fn_event_receive("nats", &[]).await, Code::RE030),
        unknown("nats", RECEIVER)
    );

    let other = Registration { target: "nats:OTHER:chancery", ..registration("nats", RELAY) };
    assert_eq!(
        facts(store.fn_consumer_register(&other).await, Code::RE031)["registered"],
        json!({ "kind": RELAY, "target": TARGET })
    );
    for unfit in [
        registration("Nats", RELAY),
        registration("", RELAY),
        registration("nats.eu", RELAY),
        registration("eu", "broker"),
        Registration { target: "", ..registration("eu", RELAY) },
        Registration { target: "two words", ..registration("eu", RELAY) },
    ] {
        facts(store.fn_consumer_register(&unfit).await, Code::RE031);
    }
    let bystander = Registration { actor_class: "reviewer", ..registration("eu", RELAY) };
    facts(store.fn_consumer_register(&bystander).await, Code::RI003);
    let nobody = store.fn_consumer_advance("nats", 0, 0, "nobody").await;
    assert_eq!(codes(nobody), [Code::RI001]);
    assert_eq!(store.consumers().await.expect("consumers").len(), 2);
}

/// EVT-7: retention that dropped what a consumer has not read is told, and never skipped over.
#[tokio::test]
async fn a_consumer_that_was_outrun_is_told() {
    let (db, store, _, _) = ticked(5).await;
    store.fn_consumer_register(&registration("nats", RELAY)).await.expect("known");
    store.fn_consumer_advance("nats", 0, 1, "writer").await.expect("advanced");
    // An event in the middle goes first: what lies before it is handed on, what lies behind it is not.
    db.forge(&["delete from event.event_position where position = 4"]).await;
    let read = store.fn_consumer_read("nats", 100, None).await.expect("what is before the gap");
    assert_eq!(read.iter().map(|event| event.position).collect::<Vec<_>>(), [2, 3]);
    db.forge(&["delete from event.event_position where position < 4"]).await;
    assert_eq!(
        facts(store.fn_consumer_read("nats", 100, None).await, Code::RE034),
        json!({ "consumer": "nats", "position": 1, "next": 5 })
    );
    assert_eq!(store.consumers().await.expect("consumers")[0].outrun, Some(true));
    // Whoever comes new begins with what is there.
    store.fn_consumer_register(&registration("again", RELAY)).await.expect("known");
    let read = store.fn_consumer_read("again", 100, None).await.expect("events");
    assert_eq!(read.iter().map(|event| event.position).collect::<Vec<_>>(), [5]);
    // And nothing left at all is no empty answer either.
    db.forge(&["delete from event.event_position"]).await;
    assert_eq!(
        facts(store.fn_consumer_read("again", 100, None).await, Code::RE034)["next"],
        json!(null)
    );
}

/// EVT-7: each event is new once, in whatever order it comes; what comes in order leaves no row.
#[tokio::test]
async fn a_receiver_gets_each_event_once() {
    let (db, store, _, ids) = ticked(8).await;
    store.fn_consumer_register(&registration("shed", RECEIVER)).await.expect("known");
    let receive = async |which: &[usize]| {
        let given: Vec<Uuid> = which.iter().map(|n| ids[n - 1]).collect();
        let receipt = store.fn_event_receive("shed", &given).await.expect("a receipt");
        let numbers = |found: &[Uuid]| -> Vec<usize> {
            let number = |id: &Uuid| ids.iter().position(|i| i == id).expect("one of ours") + 1;
            found.iter().map(number).collect()
        };
        assert!(receipt.forgotten.is_empty() && receipt.unknown.is_empty());
        (numbers(&receipt.new), numbers(&receipt.repeated))
    };
    let rows = async || db.count("event.event_receipt").await;
    let position = async || {
        let shed = store.consumers().await.expect("consumers").remove(0);
        (shed.position, shed.reached, shed.behind)
    };

    assert_eq!(receive(&[1, 2]).await, (vec![1, 2], vec![]));
    assert_eq!((rows().await, position().await), (0, (2, 2, 6)), "in order: no row");
    assert_eq!(receive(&[7, 5, 2, 5]).await, (vec![5, 7], vec![2]));
    assert_eq!((rows().await, position().await), (2, (2, 7, 1)));
    assert_eq!(receive(&[5, 4, 3]).await, (vec![3, 4], vec![5]));
    assert_eq!((rows().await, position().await), (1, (5, 7, 1)), "the gap is filled up to 5");
    assert_eq!(receive(&[6, 8]).await, (vec![6, 8], vec![]));
    assert_eq!((rows().await, position().await), (0, (8, 8, 0)));
    assert_eq!(receive(&[1, 2, 3, 4, 5, 6, 7, 8]).await, (vec![], vec![1, 2, 3, 4, 5, 6, 7, 8]));
    assert_eq!(receive(&[]).await, (vec![], vec![]));

    let strange = Uuid::now_v7();
    let receipt = store.fn_event_receive("shed", &[strange]).await.expect("a receipt");
    assert_eq!(receipt, Receipt { unknown: vec![strange], ..Receipt::default() });
}

/// EVT-7: a receiver that never gets some of the events remembers a bounded number, and says what it cannot tell.
#[tokio::test]
async fn a_receivers_memory_is_bounded() {
    let (db, store, _, ids) = ticked(10).await;
    db.forge(&["update config.dot_config set value = '4' where key = 'event.receipt.window'"])
        .await;
    store.fn_consumer_register(&registration("shed", RECEIVER)).await.expect("known");
    for n in [2, 4, 6, 8, 10] {
        let receipt = store.fn_event_receive("shed", &[ids[n - 1]]).await.expect("a receipt");
        assert_eq!(receipt.new, [ids[n - 1]]);
    }
    // The next call sees what the last one reached.
    let receipt = store.fn_event_receive("shed", &ids).await.expect("a receipt");
    assert_eq!(receipt.new, [ids[6], ids[8]], "7 and 9");
    assert_eq!(receipt.repeated, [ids[5], ids[7], ids[9]], "6, 8 and 10");
    assert_eq!(receipt.forgotten, ids[..5], "nobody can tell 2 and 4 from 1, 3 and 5 for ever");
    assert!(db.count("event.event_receipt").await <= 5);
}

/// EVT-7: two processes behind one name share the events; none gets what the other one has.
#[tokio::test]
async fn two_receivers_of_a_name_never_both_get_an_event() {
    let (_db, store, _, ids) = ticked(60).await;
    store.fn_consumer_register(&registration("shed", RECEIVER)).await.expect("known");
    let one = async |step: usize| {
        let mut got = Vec::new();
        for n in 0..ids.len() {
            // Each goes through all of them, in an order of its own.
            let id = ids[n * step % ids.len()];
            got.extend(store.fn_event_receive("shed", &[id]).await.expect("a receipt").new);
        }
        got
    };
    let (mut all, others) = tokio::join!(one(7), one(11));
    assert!(!all.is_empty() && !others.is_empty(), "both took part");
    all.extend(others);
    all.sort_unstable();
    let mut expected = ids.clone();
    expected.sort_unstable();
    assert_eq!(all, expected);
}

/// EVT-7: what rolls back was not received.
#[tokio::test]
async fn a_receipt_holds_with_the_transaction_of_its_effect() {
    let (db, store, run, ids) = ticked(2).await;
    store.fn_consumer_register(&registration("shed", RECEIVER)).await.expect("known");
    for (commits, new) in [(false, true), (true, true), (true, false)] {
        let effect = Store::begin(db.target(), Role::App).await.expect("a transaction");
        let receipt = effect.fn_event_receive("shed", &ids).await.expect("a receipt");
        assert_eq!(!receipt.new.is_empty(), new);
        if new {
            effect.fn_state_transition_apply(&tick(run)).await.expect("the effect");
        }
        if commits { effect.commit().await.expect("committed") } else { effect.roll_back().await }
    }
    assert_eq!(store.run(run).await.expect("a run").expect("it is there").seq, 3);
}

/// EVT-7, SoD: relays read with the login of the loops; workers of the cutter are woken, nobody else has a door.
#[tokio::test]
async fn each_login_has_its_doors() {
    let (db, store, _, ids) = ticked(1).await;
    store.fn_consumer_register(&registration("nats", RELAY)).await.expect("a relay");
    store.fn_consumer_register(&registration("shed", RECEIVER)).await.expect("a receiver");
    for role in [Role::CutterExec, Role::CutterVerify] {
        let store = db.store(role);
        store.fn_event_receive("shed", &ids).await.expect("a worker's login may be woken");
        let read = store.fn_consumer_read("nats", 1, None).await;
        assert!(matches!(read, Err(Error::Denied(_))), "{read:?}");
    }
    for role in [Role::CutterReview, Role::Auditor, Role::Migrator] {
        let received = db.store(role).fn_event_receive("shed", &ids).await;
        assert!(matches!(received, Err(Error::Denied(_))), "{received:?}");
    }
}

/// EVT-7, SEC-3: one leads at a time, by a lease that no other login can take; it ends soon after its holder says nothing any more.
#[tokio::test]
async fn one_leads_a_consumers_name() {
    let (db, store, _) = meters(1).await;
    let other = db.store(Role::App);
    for consumer in ["nats", "eu"] {
        store.fn_consumer_register(&registration(consumer, RELAY)).await.expect("registered");
    }
    // What anybody can take holds up nobody.
    let mut low = db.connect(Role::CutterReadOnly).await;
    db.superuser()
        .await
        .execute("grant execute on function pg_advisory_lock(bigint) to public")
        .await
        .expect("a superuser may");
    low.execute("select pg_advisory_lock(hashtextextended('event.consumer:nats', 0))")
        .await
        .expect("anybody may");
    let denied = low.execute("select event.fn_consumer_lead('nats', 'x', 5, 'writer')").await;
    assert_eq!(sqlstate(&denied.expect_err("no right")), "42501");
    let lead = async |store: &Store, consumer: &str, holder: &str| {
        store.fn_consumer_lead(consumer, holder, "writer").await.expect("an answer")
    };
    let mut first = lead(&store, "nats", "a").await.expect("free");
    assert!(first.holds().await);
    assert!(lead(&other, "nats", "b").await.is_none());
    assert!(lead(&other, "eu", "b").await.is_some(), "each name has its own");
    assert!(lead(&store, "nats", "a").await.is_some(), "who leads may say so again");
    first.resign().await;
    let second = lead(&other, "nats", "b").await.expect("free again");
    clock_ahead(&db, "6 seconds").await;
    let third = lead(&store, "nats", "a").await.expect("nobody said anything for so long");
    second.resign().await;
    assert!(lead(&other, "nats", "b").await.is_none(), "who lost the lead gives nothing up");
    third.resign().await;
    for (holder, seconds) in [("", 5), ("a b", 5), ("a", -1), ("a", 3601)] {
        let door =
            format!("select event.fn_consumer_lead('nats', '{holder}', {seconds}, 'writer')");
        let mut app = db.connect(Role::App).await;
        let refused = app.execute(AssertSqlSafe(door)).await.map_err(Error::from);
        assert_eq!(codes(refused), [Code::RE019]);
    }
    assert_eq!(codes(store.fn_consumer_lead("none", "a", "writer").await), [Code::RE030]);
}
