//! EVT-6: who is told what, from where on, and until when.

use chancery_store::Role;
use chancery_testkit::flows::Flow;
use chancery_testkit::{TestDb, shipped, until};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::ear::{Ear, Served, token};
use crate::feed_load::{meters, tick, topic};

/// What a refused request says.
async fn refused(served: &Served, query: &str, token: &str, status: u16) -> Value {
    let path = format!("/v1/events{query}");
    let ear = Ear::ask(served.address, &path, token, None).await.expect("an answer");
    assert_eq!(ear.status, status, "{query}: {}", ear.head);
    serde_json::from_str(&ear.text().await).expect("a problem document")
}

/// Everything that comes up to an event of this type about this thing.
async fn upto(ear: &mut Ear, event: &str, id: &str) -> Vec<(String, Value)> {
    let mut told = Vec::new();
    loop {
        let heard = tokio::time::timeout(std::time::Duration::from_secs(20), ear.next());
        let heard = heard.await.expect("in time").expect("the stream goes on");
        let last = heard.event == event && heard.data["subject"]["id"] == id;
        told.push((heard.event, heard.data));
        if last {
            return told;
        }
    }
}

/// A step that only some classes may see is told to those alone; what one is in charge of lies in one's own inbox; a topic needs its
/// permission; requests for approval are told to who may read them.
#[tokio::test(flavor = "multi_thread")]
async fn everybody_hears_what_they_may() {
    let db = TestDb::new().await;
    for machine in shipped() {
        db.definition(&machine).await;
    }
    let flow = Flow::install(&db).await;
    db.service("watcher", &["observer"]).await;
    db.service("checker", &["reviewer"]).await;
    let scopes =
        ["self.read", "workflow.read", "approval.read", "problems.read", "problems.overdue_step"];
    let (_, watcher) = token(&db, "watcher", &scopes).await;
    let (_, checker) = token(&db, "checker", &scopes).await;
    let (_, writer) = token(&db, "flow_writer", &["self.read", "workflow.read", "work.move"]).await;
    let run = flow.start("first").await;
    let store = db.store(Role::App);
    while store.fn_sequence_events(1000).await.expect("a pass").stamped > 0 {}
    // From here on its loops turn the run.
    let served = Served::new(&db).await;

    let here = format!("run:wfr_{}", run.run.simple());
    let listen = async |topics: &str, token: &str| {
        let mut ear = Ear::listen(served.address, topics, token, None).await;
        ear.expect("hello").await;
        ear
    };
    // The first who hears of approvals: the first question is answered with a word that something may have changed.
    let mut approvals = listen("approvals", &watcher).await;
    let mut seen_by_watcher = listen(&here, &watcher).await;
    // By its plain UUID, as a log or a command prints it; the database knows what it is.
    let mut seen_by_checker = listen(&format!("run:{}", run.run), &checker).await;
    let mut of_workflow = listen("workflow:everything", &checker).await;
    let mut problems = listen("problems", &checker).await;
    let mut inbox = listen("inbox", &writer).await;
    let mut other_inbox = listen("inbox,problems", &watcher).await;
    // Approvals have no positions: who comes back is told to look once.
    let mut back = Ear::listen(served.address, "approvals", &watcher, Some(1)).await;
    let note = back.expect("approval.changed").await;
    assert_eq!((note.id, &note.data["subject"]), (None, &Value::Null));
    drop(back);

    // The first step is for reviewers' eyes; the second is open.
    flow.work(run.first, "step_claim", json!({}), None, "claim").await;
    flow.complete(run.first, json!({ "n": 1 }), "complete").await;
    let state =
        format!("select state_code from workflow.step_run where step_run_id = '{}'", run.second);
    until("the second step is ready", async || db.text(&state).await == "ready").await;
    flow.work(run.second, "step_claim", json!({}), None, "claim 2").await;
    let gate = json!({ "facets": ["waiting_time_gate"], "waits": [{ "facet": "waiting_time_gate", "until": "2998-01-01T00:00:00Z" }] });
    flow.work(run.second, "step_wait", gate, None, "wait").await;
    let (first, second) =
        (format!("stp_{}", run.first.simple()), format!("stp_{}", run.second.simple()));

    let all = upto(&mut seen_by_checker, "step.waiting", &second).await;
    let told = |told: &[(String, Value)], id: &str| -> Vec<String> {
        let mine = told.iter().filter(|(_, data)| data["subject"]["id"] == id);
        mine.map(|(event, _)| event.clone()).collect()
    };
    assert_eq!(told(&all, &first), ["step.started", "step.completed"]);
    assert_eq!(told(&all, &second), ["step.ready", "step.started", "step.waiting"]);
    let (_, last) = all.last().expect("something");
    assert_eq!(
        (&last["type"], &last["from"], &last["to"]),
        (&json!("step.waiting"), &json!("in_progress"), &json!("waiting"))
    );
    assert_eq!(
        last["run"],
        json!({ "kind": "workflow_run", "id": format!("wfr_{}", run.run.simple()) })
    );
    assert_eq!(last["trace_id"].as_str().map(str::len), Some(32));
    let members: Vec<&String> = last.as_object().expect("an object").keys().collect();
    assert_eq!(
        members,
        ["position", "type", "subject", "seq", "from", "to", "at", "trace_id", "run"],
        "references only"
    );

    let some = upto(&mut seen_by_watcher, "step.waiting", &second).await;
    assert_eq!(told(&some, &first), Vec::<String>::new(), "hidden from observers");
    assert_eq!(told(&some, &second), ["step.ready", "step.started", "step.waiting"]);
    let all = upto(&mut of_workflow, "step.waiting", &second).await;
    assert_eq!(told(&all, &first), ["step.started", "step.completed"]);
    let red = upto(&mut problems, "step.waiting", &second).await;
    assert_eq!(told(&red, &second), ["step.waiting"]);
    let mine = upto(&mut inbox, "step.waiting", &second).await;
    assert_eq!(told(&mine, &second), ["step.ready", "step.started", "step.waiting"]);
    let others = upto(&mut other_inbox, "step.waiting", &second).await;
    assert_eq!(
        told(&others, &second),
        ["step.waiting"],
        "as a problem; nobody else's inbox has it"
    );

    // A request and a vote have no position, and are told all the same, once somebody listens.
    assert_eq!(approvals.expect("approval.changed").await.data["subject"], Value::Null);
    flow.adopt(&json!({ "workflow": "other", "title": { "en": "o", "vi": "o" }, "relations": [],
                        "steps": [{ "key": "a", "title": { "en": "a", "vi": "a" } }] }))
        .await;
    let asked = db.text("select approval_id::text from approval.approval_request order by requested_at desc limit 1").await;
    let asked: Uuid = asked.parse().expect("an id");
    upto(&mut approvals, "approval.changed", &format!("apr_{}", asked.simple())).await;

    // Refused, each for its reason; nothing is listened to.
    let moves = async || db.text("select count(*)::text from fsm.transition_log").await;
    let before = moves().await;
    until("who left is gone", async || served.figure("chancery_sse_clients").await == 7.0).await;
    let no = refused(&served, &format!("?topics={here},approvals"), &writer, 403).await;
    assert_eq!(
        (&no["code"], &no["problems"][0]["permission"]),
        (&json!("RI040"), &json!("approval.read"))
    );
    let missing = format!("?topics=run:wfr_{}", Uuid::now_v7().simple());
    assert_eq!(refused(&served, &missing, &writer, 404).await["code"], "RS001");
    let foreign = format!("?topics=run:orc_{}", run.run.simple());
    assert_eq!(refused(&served, &foreign, &writer, 404).await["code"], "RS001");
    let nowhere = format!("?topics=run:{}", Uuid::now_v7());
    assert_eq!(refused(&served, &nowhere, &writer, 404).await["code"], "RS001");
    assert_eq!(refused(&served, "?topics=workflow:none", &writer, 404).await["code"], "RW001");
    for bad in [
        "",
        "?topics=",
        "?topics=run:x",
        "?topics=inbox&other=1",
        "?topics=inbox&after=-1",
        "?topics=inbox&after=x",
    ] {
        assert_eq!(refused(&served, bad, &writer, 400).await["problem"], "query_invalid", "{bad}");
    }
    assert_eq!(refused(&served, "?topics=inbox", "nobody", 401).await["code"], "RI041");
    assert_eq!(refused(&served, "?topics=inbox", &served.host_token, 403).await["code"], "RI040");
    assert_eq!(served.figure("chancery_sse_clients").await, 7.0);
    assert_eq!(moves().await, before, "nothing moved");
    served.end().await;
}

/// Somebody who comes back hears what was missed, from the ring or from the database; what retention dropped is a gap that says from where
/// on to reload; a token that is revoked ends the stream, and so does the end of the process.
#[tokio::test(flavor = "multi_thread")]
async fn a_stream_resumes_from_any_position_and_ends_with_its_token() {
    let db = TestDb::new().await;
    let runs = meters(&db, 2).await;
    db.service("ear", &["observer"]).await;
    let (token_id, good) = token(&db, "ear", &["self.read", "run.read", "queue.read"]).await;
    let store = db.store(Role::App);
    let topics = format!("{},{}", topic(runs[0]), topic(runs[1]));
    for n in 0..30 {
        store.fn_state_transition_apply(&tick(runs[n % 2])).await.expect("a tick");
    }
    while store.fn_sequence_events(1000).await.expect("a pass").stamped > 0 {}

    // Nobody listened yet: what was before comes from the database.
    let served = Served::new(&db).await;
    let catch_ups = async || served.figure(r#"chancery_feed_queries_total{by="catch_up"}"#).await;
    let mut late = Ear::listen(served.address, &topics, &good, Some(2)).await;
    for position in 3..=32 {
        let heard = late.expect("meter.ticked").await;
        assert_eq!((heard.id, &heard.data["position"]), (Some(position), &json!(position)));
    }
    assert_eq!(catch_ups().await, 1.0);
    // From now on it comes from the ring; one who comes back is no question to the database.
    let mut now = Ear::listen(served.address, &topics, &good, None).await;
    assert_eq!(now.expect("hello").await.id, Some(32));
    store.fn_state_transition_apply(&tick(runs[0])).await.expect("a tick");
    assert_eq!(now.expect("meter.ticked").await.id, Some(33));
    assert_eq!(late.expect("meter.ticked").await.id, Some(33));
    let path = format!("/v1/events?topics={topics}&after=32");
    let mut back = Ear::ask(served.address, &path, &good, None).await.expect("an answer");
    assert_eq!(back.expect("meter.ticked").await.id, Some(33), "by the address");
    let mut header = Ear::ask(served.address, &path, &good, Some(33)).await.expect("an answer");
    store.fn_state_transition_apply(&tick(runs[1])).await.expect("a tick");
    assert_eq!(header.expect("meter.ticked").await.id, Some(34), "the header goes first");
    assert_eq!(catch_ups().await, 1.0);

    // A position that is not there yet, and positions that are gone.
    let mut ahead = Ear::listen(served.address, &topics, &good, Some(1_000)).await;
    assert_eq!(ahead.expect("gap").await.data, json!({ "position": 34 }));
    let gone = db.forge(&["delete from event.event_outbox where outbox_id in (select outbox_id from event.event_position where position <= 10)"]).await;
    assert_eq!(gone, 10);
    let mut outrun = Ear::listen(served.address, &topics, &good, Some(5)).await;
    assert_eq!(outrun.expect("gap").await.id, Some(34));
    store.fn_state_transition_apply(&tick(runs[1])).await.expect("a tick");
    assert_eq!(outrun.expect("meter.ticked").await.id, Some(35), "and goes on from there");
    assert_eq!(ahead.expect("meter.ticked").await.id, Some(35));
    let mut kept = Ear::listen(served.address, &topics, &good, Some(10)).await;
    assert_eq!(kept.expect("meter.ticked").await.id, Some(11), "what is there is told");

    // The token's end is the stream's, soon, also of who hears nothing; other tokens go on.
    let (_, other) = token(&db, "ear", &["self.read", "run.read"]).await;
    let mut stays = Ear::listen(served.address, &topic(runs[0]), &other, None).await;
    stays.expect("hello").await;
    let operator = db.store(Role::Migrator);
    operator.fn_token_revoke(token_id, "lost", None).await.expect("revoked");
    let ends = async {
        for ear in [&mut now, &mut late, &mut outrun, &mut kept] {
            while ear.next().await.is_some() {}
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(5), ends).await.expect("within 5 seconds");
    until("all of its streams are gone", async || {
        served.figure("chancery_sse_clients").await < 2.0
    })
    .await;
    assert_eq!(refused(&served, "?topics=inbox", &good, 401).await["code"], "RI043");
    store.fn_state_transition_apply(&tick(runs[0])).await.expect("a tick");
    assert_eq!(stays.expect("meter.ticked").await.id, Some(36));
    served.end().await;
    assert_eq!(stays.next().await, None, "the process ended in good order");
}
