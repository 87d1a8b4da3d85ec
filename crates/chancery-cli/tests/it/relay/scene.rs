//! A database with meters that tick, a broker of one's own, and relays between them.

use std::io::{BufRead as _, BufReader};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use async_nats::jetstream;
use async_nats::jetstream::consumer::pull::Config as Pull;
use async_nats::jetstream::consumer::{AckPolicy, DeliverPolicy};
use chancery_store::fsm::{Move, Start};
use chancery_store::managed::{BinarySearch, Cluster, Env, Home, Options, find_binaries};
use chancery_store::{Role, Store, Target};
use futures_util::TryStreamExt as _;
use serde_json::{Value, json};
use tempfile::TempDir;
use uuid::Uuid;

use crate::place::{Place, run_it};

/// Waits for a fact; not for time to pass.
pub(super) async fn until(what: &str, mut ask: impl AsyncFnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(120);
    while !ask().await {
        assert!(Instant::now() < deadline, "gave up waiting until {what}");
        chancery_testkit::pause().await;
    }
}

const METER: &str = r#"
machine: meter
scope: custom
version: 1.0.0
description: A meter that ticks.
events:
  - { type: meter.started, description: A meter was put up. }
  - { type: meter.ticked, description: A meter moved on. }
guards: []
states:
  - { code: running, class: active, initial: true, color: ui.traffic_light.gray, icon: icon.circle_hollow, label: { en: Running, vi: Chạy }, message: { en: runs, vi: chạy } }
  - { code: stopped, class: terminal, terminal: true, color: ui.traffic_light.gray, icon: icon.circle_hollow, label: { en: Stopped, vi: Dừng }, message: { en: stands, vi: dừng } }
transitions:
  - { id: begin, from: "∅", to: running, actors: [executor_worker], trigger: { kind: rpc, ref: meter_begin }, event: meter.started }
  - { id: tick, from: running, to: running, actors: [executor_worker], trigger: { kind: timer, ref: meter_tick }, event: meter.ticked }
  - { id: stop, from: running, to: stopped, actors: [executor_worker], trigger: { kind: rpc, ref: meter_stop } }
"#;

/// Meters that write events, and who may hand them on.
pub(super) struct Meters {
    pub(super) place: Place,
    pub(super) store: Store,
    runs: Vec<Uuid>,
}

impl Meters {
    pub(super) async fn new(count: usize) -> Self {
        let place = Place::prepared("meters", |place| {
            for name in ["writer", "relay"] {
                let kind = ["--kind", "service", "--class", "executor_worker"];
                place.done(&[&["principal", "add", name], &kind[..]].concat());
            }
            let file = place.file("meter.yaml", METER);
            place.done(&["machine", "apply", &file]);
        });
        let home = Home::resolve(Some(place.path().to_owned()), &Env::default()).expect("a home");
        let path = std::env::var_os("PATH");
        let binaries = find_binaries(&BinarySearch::on_this_machine(path.as_deref(), &home));
        let cluster = Cluster::open(home, binaries.expect("binaries"), Options::default());
        let target = Target::managed(&cluster.expect("a cluster")).expect("a target");
        let store = Store::open(&target, Role::App).expect("a store");
        let mut runs = Vec::new();
        for _ in 0..count {
            let run_id = Uuid::now_v7();
            let start = Start {
                run_id,
                machine: "meter".to_owned(),
                data: json!({}),
                actor_class: "executor_worker".to_owned(),
                trigger_kind: "rpc".to_owned(),
                trigger_ref: "meter_begin".to_owned(),
                evidence: json!({}),
                principal: "writer".to_owned(),
                idempotency_key: run_id.to_string(),
                reason: None,
                parent: None,
                trace_id: None,
                signed: None,
            };
            store.fn_run_start(&start).await.expect("a meter");
            runs.push(run_id);
        }
        Self { place, store, runs }
    }

    /// Every meter ticks once, in one transaction.
    pub(super) async fn tick(&self) {
        self.tick_with(|_| json!({})).await;
    }

    /// As [`Meters::tick`]; each tells what is said for the meter of that number.
    pub(super) async fn tick_with(&self, payload: impl Fn(usize) -> Value) {
        let tick = |(number, run): (usize, &Uuid)| Move {
            run_id: *run,
            run_kind: "custom".to_owned(),
            from: None,
            to: "running".to_owned(),
            actor_class: "executor_worker".to_owned(),
            trigger_kind: "timer".to_owned(),
            trigger_ref: "meter_tick".to_owned(),
            evidence: json!({ "event": payload(number) }),
            principal: "writer".to_owned(),
            idempotency_key: Uuid::now_v7().to_string(),
            reason: None,
            signed: None,
        };
        let moves: Vec<Move> = self.runs.iter().enumerate().map(tick).collect();
        let made = self.store.fn_state_transition_apply_batch(&moves).await.expect("a batch");
        assert!(made.iter().all(|report| report.ok), "a meter can always tick: {made:?}");
    }

    /// What is committed, by what it tells of: run and number of the move, in the order of positions.
    pub(super) async fn committed(&self) -> Vec<(String, i64)> {
        chancery_engine::event::sequence_now(&self.store).await.expect("positions");
        let mut told = Vec::new();
        let mut after = 0;
        loop {
            let page = self.store.fn_events_after(after, 5_000).await.expect("a page");
            let Some(last) = page.last() else { return told };
            after = last.position.expect("a position");
            told.extend(page.iter().map(|event| what(&event.cloudevent)));
        }
    }

    pub(super) async fn position(&self, consumer: &str) -> i64 {
        let consumers = self.store.consumers().await.expect("consumers");
        consumers.iter().find(|c| c.consumer == consumer).map_or(0, |c| c.position)
    }

    /// A relay that works until it is ended.
    pub(super) fn relay(&self, broker: &Broker, more: &[&str]) -> Running {
        let url = broker.url();
        let args = [&["relay", "--nats", &url, "--as", "relay", "--json"], more].concat();
        let mut command = self.place.command(&args);
        Running::new(command.stdout(Stdio::piped()).stderr(Stdio::null()))
    }
}

pub(super) fn what(event: &Value) -> (String, i64) {
    let data = &event["data"];
    (data["run_id"].as_str().expect("a run").to_owned(), data["seq"].as_i64().expect("a number"))
}

/// A relay at work, and what it says.
pub(super) struct Running {
    child: Child,
    lines: Receiver<Value>,
}

impl Running {
    fn new(command: &mut Command) -> Self {
        let mut child = command.spawn().expect("a relay");
        let (tell, lines) = channel();
        let stdout = BufReader::new(child.stdout.take().expect("its stdout"));
        std::thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                let line = serde_json::from_str(&line).unwrap_or_else(|_| json!({ "text": line }));
                if tell.send(line).is_err() {
                    break;
                }
            }
        });
        Self { child, lines }
    }

    /// The next line for which this holds.
    #[track_caller]
    pub(super) fn says(&self, what: &str, holds: impl Fn(&Value) -> bool) -> Value {
        let mut heard = Vec::new();
        loop {
            match self.lines.recv_timeout(Duration::from_secs(60)) {
                Ok(line) if holds(&line) => return line,
                Ok(line) => heard.push(line),
                Err(error) => panic!("never said {what} ({error}): {heard:#?}"),
            }
        }
    }

    #[track_caller]
    pub(super) fn is(&self, state: &str) -> Value {
        self.says(state, |line| line["state"] == state)
    }

    #[track_caller]
    pub(super) fn meets(&self, kind: &str) -> Value {
        self.says(kind, |line| line["trouble"]["kind"] == kind)
    }

    pub(super) fn signal(&self, signal: &str) {
        run_it(Command::new("kill").args([signal, &self.child.id().to_string()])).ends_with(0);
    }

    pub(super) fn kill(mut self) {
        self.child.kill().expect("it runs");
        self.child.wait().expect("it ends");
    }

    /// Asked to end, it ends well.
    pub(super) fn end(mut self) -> Value {
        self.signal("-TERM");
        let last = self.is("ended");
        assert!(self.child.wait().expect("it ends").success());
        last
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Nothing of a test may stay behind.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A NATS server of one's own: it keeps its port and its folder when it is started again.
pub(super) struct Broker {
    pub(super) folder: TempDir,
    port: u16,
    child: Option<Child>,
}

impl Broker {
    /// Not started yet.
    pub(super) fn new() -> Self {
        let folder = tempfile::Builder::new().prefix("nats-").tempdir().expect("a folder");
        let free = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = free.local_addr().expect("its number").port();
        Self { folder, port, child: None }
    }

    pub(super) fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    /// With JetStream.
    pub(super) async fn start(&mut self) {
        let storage = self.folder.path().join("store");
        let storage = storage.to_str().expect("a plain path");
        self.start_with(&["-js", "-sd", storage]).await;
    }

    pub(super) async fn start_with(&mut self, args: &[&str]) {
        assert!(self.child.is_none(), "it runs already");
        let mut server = Command::new(program());
        server.args(["-a", "127.0.0.1", "-p", &self.port.to_string()]).args(args);
        server.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        self.child = Some(server.spawn().expect("nats-server (bin/setup installs it)"));
        let port = self.port;
        until("the broker listens", async || TcpStream::connect(("127.0.0.1", port)).is_ok()).await;
    }

    /// Kills it like a power cut of the process: nothing is flushed.
    pub(super) fn kill(&mut self) {
        let mut child = self.child.take().expect("it runs");
        child.kill().expect("it runs");
        child.wait().expect("it ends");
    }

    pub(super) async fn jetstream(&self) -> jetstream::Context {
        jetstream::new(async_nats::connect(self.url()).await.expect("a connection"))
    }

    /// Everything in the stream, in its order.
    pub(super) async fn delivered(&self) -> Vec<Value> {
        let stream = self.jetstream().await.get_stream("CHANCERY").await.expect("a stream");
        let wanted = stream.cached_info().state.messages;
        let config = Pull {
            deliver_policy: DeliverPolicy::All,
            ack_policy: AckPolicy::None,
            ..Pull::default()
        };
        let consumer = stream.create_consumer(config).await.expect("a consumer");
        let mut told = Vec::new();
        while (told.len() as u64) < wanted {
            let batch = consumer.fetch().max_messages(1_000).messages().await.expect("messages");
            let batch: Vec<_> = batch.try_collect().await.expect("messages");
            told.extend(batch.iter().map(|message| {
                let event: Value = serde_json::from_slice(&message.payload).expect("JSON");
                let headers = message.headers.as_ref().expect("headers");
                let id = headers.get("Nats-Msg-Id").expect("an id").as_str();
                assert_eq!(event["id"], id, "the message's id is the event's");
                let kind = &event["data"]["run_kind"].as_str().expect("a kind");
                let subject =
                    format!("chancery.{kind}.{}", event["type"].as_str().expect("a type"));
                assert_eq!(message.subject.as_str(), subject);
                event
            }));
        }
        told
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        if self.child.is_some() {
            self.kill();
        }
    }
}

/// Debian puts it where only root's PATH leads.
fn program() -> PathBuf {
    let beside = PathBuf::from("/usr/sbin/nats-server");
    if beside.exists() { beside } else { PathBuf::from("nats-server") }
}
