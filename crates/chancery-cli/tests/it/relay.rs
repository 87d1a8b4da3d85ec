//! The bridge to NATS JetStream, with a real server (EVT-7).

mod scene;

use std::collections::BTreeSet;
use std::process::Command;
use std::time::{Duration, Instant};

use async_nats::jetstream::stream::{Config, DiscardPolicy};
use chancery_engine::event::Servers;
use chancery_engine::event::wake::{self, Wake, Woken};
use chancery_testkit::slice;
use serde_json::{Value, json};

use crate::place::run_it;
use scene::{Broker, Meters, until, what};

fn wanted_events() -> usize {
    slice::amount("CHANCERY_TEST_RELAY_EVENTS", 1_000)
}

/// The stream holds what is committed: each event once, in the order of positions, and so in each run's order. Trouble is a finding, whose
/// own events come on top of those of the meters: what is there when the relays have ended is handed on first.
async fn assert_delivered(meters: &Meters, broker: &Broker) -> usize {
    meters.place.done(&["relay", "--nats", &broker.url(), "--as", "relay", "--once"]);
    let committed = meters.committed().await;
    let delivered: Vec<_> = broker.delivered().await.iter().map(what).collect();
    let differs = committed.iter().zip(&delivered).position(|(one, other)| one != other);
    assert_eq!(differs, None, "of {} events, {} came", committed.len(), delivered.len());
    assert_eq!(delivered.len(), committed.len());
    delivered.len()
}

/// EVT-7: relay and server are killed again and again while events are written; what is delivered is what was committed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[allow(clippy::print_stdout)] // the figures, for who runs the full number
async fn what_is_committed_is_delivered_whoever_is_killed() {
    const METERS: usize = 100;
    const KILLS: usize = 12;
    let meters = Meters::new(METERS).await;
    let mut broker = Broker::new();
    broker.start().await;
    let wanted = wanted_events();
    let began = Instant::now();
    let mut relay = Some(meters.relay(&broker, &[]));
    let (mut written, mut killed) = (METERS, 0);
    let mut handed_on = Duration::ZERO;
    loop {
        if written < wanted {
            meters.tick().await;
            written += METERS;
            handed_on = began.elapsed();
        }
        let position = usize::try_from(meters.position("nats").await).expect("not negative");
        if killed < KILLS && position * (KILLS + 1) > wanted * (killed + 1) {
            // In turns: the relay, the server, both.
            if killed % 3 != 1 {
                relay.take().expect("it runs").kill();
            }
            if killed % 3 != 0 {
                broker.kill();
                meters.tick().await;
                written += METERS;
                broker.start().await;
            }
            relay = Some(relay.unwrap_or_else(|| meters.relay(&broker, &[])));
            killed += 1;
        }
        if written >= wanted && position >= written && killed == KILLS {
            break;
        }
    }
    let took = began.elapsed();
    let last = relay.expect("it runs").end();
    assert!(last["position"].as_u64() >= u64::try_from(written).ok(), "{last}");
    assert!(assert_delivered(&meters, &broker).await >= written);
    println!(
        "{written} events, {killed} kills: written in {:.1} s, handed on in {:.1} s, {:.0}/s",
        handed_on.as_secs_f64(),
        took.as_secs_f64(),
        written as f64 / took.as_secs_f64()
    );
}

/// EVT-7: a server that is away, closed, without JetStream or full is waited for, and said so; then everything arrives.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_trouble_is_told_and_passes() {
    let meters = Meters::new(50).await;
    let mut broker = Broker::new();
    // A stream that takes some of it: an operator made it so.
    broker.start().await;
    let small = Config {
        name: "CHANCERY".to_owned(),
        subjects: vec!["chancery.>".to_owned()],
        max_bytes: 20_000,
        discard: DiscardPolicy::New,
        ..Config::default()
    };
    broker.jetstream().await.create_stream(small.clone()).await.expect("a stream");
    broker.kill();

    let relay = meters.relay(&broker, &[]);
    relay.meets("away");
    broker.start_with(&["--user", "somebody", "--pass", "else"]).await;
    relay.meets("denied");
    broker.kill();
    broker.start_with(&[]).await;
    relay.meets("no_jetstream");
    broker.kill();
    broker.start().await;
    let full = relay.meets("full");
    let position = full["position"].as_i64().expect("a position");
    assert!((1..50).contains(&position), "{full}");
    let there: Vec<_> = broker.delivered().await.iter().map(what).collect();
    assert_eq!(there, meters.committed().await[..there.len()], "what fits is a beginning");

    let room = Config { max_bytes: -1, ..small };
    broker.jetstream().await.update_stream(room).await.expect("room is made");
    meters.tick().await;
    relay.says("position 100", |line| {
        line["state"] == "idle" && line["position"].as_u64() >= Some(100)
    });
    assert_eq!(relay.end()["trouble"], Value::Null);
    assert!(assert_delivered(&meters, &broker).await >= 102, "and findings that opened and closed");
    let findings = meters.place.superuser(
        "select bool_and(state = 'resolved') and sum(occurrence_count) > 3 from governance.system_issues where issue_type = 'relay_trouble'",
    );
    assert_eq!(findings, "t\n", "each trouble was counted, and its end is known");
}

/// EVT-7: when the stream does not take one event, it gets none behind it, although it would take them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_event_overtakes_one_that_is_not_taken() {
    let meters = Meters::new(20).await;
    let mut broker = Broker::new();
    broker.start().await;
    let narrow = Config {
        name: "CHANCERY".to_owned(),
        subjects: vec!["chancery.>".to_owned()],
        max_message_size: 2_000,
        ..Config::default()
    };
    let context = broker.jetstream().await;
    context.create_stream(narrow.clone()).await.expect("a stream");
    let note = |number| {
        let length = if number == 7 { 3_000 } else { 3 };
        json!({ "note": "x".repeat(length) })
    };
    meters.tick_with(note).await;
    meters.tick().await;
    let relay = meters.relay(&broker, &[]);
    let refused = relay.meets("refused");
    assert_eq!(refused["position"], 27, "twenty births, then seven ticks: {refused}");
    relay.meets("refused");
    let there: Vec<_> = broker.delivered().await.iter().map(what).collect();
    assert_eq!(
        there,
        meters.committed().await[..27],
        "nothing behind it, however often it is tried"
    );

    let wide = Config { max_message_size: -1, ..narrow };
    context.update_stream(wide).await.expect("a wider stream");
    relay.says("position 60", |line| {
        line["state"] == "idle" && line["position"].as_u64() >= Some(60)
    });
    relay.end();
    assert_eq!(assert_delivered(&meters, &broker).await, 62);

    // A later event that somebody put into the stream by hand does not stand for those before it.
    meters.tick().await;
    meters.committed().await;
    let last = meters.store.fn_events_after(81, 1).await.expect("an event").remove(0);
    let by_hand =
        context.publish("chancery.custom.meter.ticked", last.cloudevent.to_string().into());
    by_hand.await.expect("sent").await.expect("taken");
    let url = broker.url();
    let said = meters.place.done(&["relay", "--nats", &url, "--as", "relay", "--once"]);
    assert_eq!(said.stdout, "20 handed on, position 82 in stream CHANCERY\n");
}

/// EVT-7: of two relays one works and one stands by. One that does not know that it was replaced changes nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_relays_do_not_disturb_each_other() {
    let meters = Meters::new(100).await;
    let mut broker = Broker::new();
    broker.start().await;
    let first = meters.relay(&broker, &[]);
    first.is("idle");
    let second = meters.relay(&broker, &[]);
    second.is("standby");
    let once = meters.place.run(&["relay", "--nats", &broker.url(), "--as", "relay", "--once"]);
    assert!(once.ends_with(1).stderr.contains("another relay of consumer nats is at work"));

    // The first one sleeps, and its lead is taken from it meanwhile; it wakes in the middle of the second one's work.
    first.signal("-STOP");
    let taken = meters.place.superuser(
        "set role chancery_definer; update event.event_consumer set lead_until = now() - interval '1 second' where lead_until > now() returning consumer",
    );
    assert!(taken.contains("nats"), "{taken}");
    for _ in 0..10 {
        meters.tick().await;
    }
    second.is("publishing");
    first.signal("-CONT");
    for _ in 0..10 {
        meters.tick().await;
    }
    second.says("all", |line| line["state"] == "idle" && line["position"].as_u64() >= Some(2_100));
    first.is("standby");
    second.kill();
    meters.tick().await;
    first.says("all", |line| line["state"] == "idle" && line["position"].as_u64() >= Some(2_200));
    first.end();
    assert!(assert_delivered(&meters, &broker).await >= 2_200);
}

/// EVT-7: what comes again after the broker forgot it, or lost it, is new to nobody; and a worker is woken without NATS too.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_gets_each_event_once() {
    let meters = Meters::new(30).await;
    let mut broker = Broker::new();
    let options = wake::Options {
        servers: Servers::parse([broker.url().as_str()]).expect("a server"),
        stream: "CHANCERY".to_owned(),
        prefix: "chancery".to_owned(),
        only: None,
        receiver: "shed".to_owned(),
        principal: "writer".to_owned(),
        actor_class: "executor_worker".to_owned(),
        interval: Duration::from_millis(200),
    };
    let mut wake = Wake::open(meters.store.clone(), options).await.expect("an ear");
    for _ in 0..3 {
        assert_eq!(wake.next().await.expect("an answer"), Woken::Poll, "no broker: look yourself");
    }
    broker.start().await;
    let forgets = Config {
        name: "CHANCERY".to_owned(),
        subjects: vec!["chancery.>".to_owned()],
        duplicate_window: Duration::from_millis(100),
        ..Config::default()
    };
    let context = broker.jetstream().await;
    context.create_stream(forgets).await.expect("a stream");

    let url = broker.url();
    let relay = || meters.place.done(&["relay", "--nats", &url, "--as", "relay", "--once"]);
    let mut got = Vec::new();
    let hear = async |wake: &mut Wake, got: &mut Vec<_>, wanted: usize| {
        until("the worker heard it all", async || {
            if let Woken::Events(events) = wake.next().await.expect("an answer") {
                got.extend(events.iter().map(what));
            }
            got.len() >= wanted
        })
        .await;
    };
    assert_eq!(relay().stdout, "30 handed on, position 30 in stream CHANCERY\n");
    hear(&mut wake, &mut got, 30).await;

    // Sent again when the broker has forgotten the ids.
    for event in broker.delivered().await {
        let id = event["id"].as_str().expect("an id").to_owned();
        let subject = format!("chancery.custom.{}", event["type"].as_str().expect("a type"));
        until("the broker forgot the id", async || {
            let message = async_nats::jetstream::message::PublishMessage::build()
                .payload(event.to_string().into())
                .message_id(&id);
            let sent = context.send_publish(subject.clone(), message).await.expect("sent");
            !sent.await.expect("taken").duplicate
        })
        .await;
    }
    // A broker whose storage is set back to what it was before a tick.
    wake.next().await.expect("what was handed out is acknowledged");
    broker.kill();
    let (store, copy) = (broker.folder.path().join("store"), broker.folder.path().join("copy"));
    run_it(Command::new("cp").arg("-a").arg(&store).arg(&copy)).ends_with(0);
    broker.start().await;
    meters.tick().await;
    relay();
    hear(&mut wake, &mut got, 60).await;
    broker.kill();
    std::fs::remove_dir_all(&store).expect("its storage");
    std::fs::rename(&copy, &store).expect("its storage of before");
    broker.start().await;
    let again = relay().stdout;
    assert_eq!(again, "30 handed on, position 60 in stream CHANCERY\n", "what was lost");
    meters.tick().await;
    relay();
    hear(&mut wake, &mut got, 90).await;

    let stored: Vec<_> = broker.delivered().await.iter().map(what).collect();
    assert_eq!(stored.len(), 120, "the stream has thirty events twice");
    let once: BTreeSet<_> = got.iter().cloned().collect();
    assert_eq!((got.len(), once.len()), (90, 90), "the worker has none twice");
    assert_eq!(got, meters.committed().await, "in their order");
}

/// EVT-7: what cannot be right is refused at once, in words, and without the password.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_right_is_refused() {
    let meters = Meters::new(1).await;
    let mut broker = Broker::new();
    broker.start().await;
    let url = broker.url().replace("//", "//me:geheim@");
    let relay = |more: &[&str]| {
        let args = [&["relay", "--nats", &url, "--as", "relay", "--once"], more].concat();
        let said = meters.place.run(&args);
        assert!(!said.stderr.contains("geheim") && !said.stdout.contains("geheim"), "{said:?}");
        said
    };
    let other = Config {
        name: "OTHER".to_owned(),
        subjects: vec!["other.>".to_owned()],
        ..Config::default()
    };
    broker.jetstream().await.create_stream(other).await.expect("a stream");
    let said = relay(&["--stream", "OTHER"]).ends_with(1);
    assert!(
        said.stderr.contains("stream OTHER is there with other subjects (other.>)"),
        "{said:?}"
    );
    let said = relay(&["--consumer", "overlap", "--prefix", "other.below"]).ends_with(1);
    assert!(said.stderr.contains("another stream has subjects below other.below"), "{said:?}");
    for unfit in [["--stream", "two words"], ["--prefix", "chancery.*"], ["--prefix", "a..b"]] {
        relay(&unfit).ends_with(2);
    }
    meters.place.run(&["relay", "--nats", "http://x", "--as", "relay"]).ends_with(2);

    relay(&["--consumer", "mine"]).ends_with(0);
    let url = broker.url();
    let mine = ["relay", "--nats", &url, "--as", "relay", "--once", "--consumer", "mine"];
    let refused = meters.place.refused("RE031", &[&mine[..], &["--stream", "ELSEWHERE"]].concat());
    assert_eq!(refused["problems"][0]["registered"]["target"], "nats:CHANCERY:chancery");
    meters.place.refused("RI001", &["relay", "--nats", &url, "--as", "nobody", "--once"]);
    // A server that stays away is given up, when the relay is to end by itself.
    broker.kill();
    let said = relay(&["--consumer", "mine"]).ends_with(1);
    assert!(said.stderr.contains("no NATS server answers at 127.0.0.1:"), "{said:?}");
}
