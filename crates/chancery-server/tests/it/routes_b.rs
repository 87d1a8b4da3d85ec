//! UIW-4, UIW-5, UIW-7, RUN-17: workflows over HTTP, from the proposal of a definition to its runs, as different readers see them.

use chancery_engine::approval::{self, Decision};
use chancery_engine::workflow::{self as engine, Kind};
use chancery_testkit::flows::Flow;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::person::Person;
use crate::scene::{Answer, Scene};

pub(crate) struct Office {
    pub(crate) scene: Scene,
    pub(crate) flow: Flow,
    pub(crate) alice: Person,
    pub(crate) bob: Person,
    pub(crate) sid: Person,
}

pub(crate) fn letters(first: &str) -> Value {
    json!({
        "workflow": "letters",
        "title": { "en": "Letters", "vi": "Thư từ" },
        "steps": [
            { "key": "draft", "title": { "en": first, "vi": "Soạn thảo đơn" }, "pic": { "starter": true }, "deadline": "2 days",
              "tasks": [{ "key": "spell", "title": { "en": "Spelling", "vi": "Chính tả" }, "pic": { "starter": true } }] },
            { "key": "seal", "title": { "en": "Secret seal", "vi": "Đóng dấu mật" }, "pic": { "class": "sovereign" }, "visible_to": ["sovereign"] },
            { "key": "send", "title": { "en": "Send", "vi": "Gửi đi" }, "pic": { "starter": true } },
        ],
        "relations": [{ "from": "draft", "to": "seal" }, { "from": "seal", "to": "send" }],
    })
}

impl Office {
    pub(crate) async fn new() -> Self {
        let scene = Scene::new().await;
        let flow = Flow::install(&scene.db).await;
        let alice = Person::new(&scene, "alice", "human", &["pic_human", "task_pic_human"]).await;
        let bob = Person::new(&scene, "bob", "human", &["reviewer"]).await;
        let sid = Person::new(&scene, "sid", "human", &["sovereign"]).await;
        Self { scene, flow, alice, bob, sid }
    }

    /// The workflow of letters with a run of it that alice started, whose first step is ready. Gives the run and its steps.
    pub(crate) async fn run(&self) -> (String, Vec<Value>) {
        self.flow.adopt(&letters("Draft")).await;
        let path = "/v1/workflows/letters/runs";
        let started = self.alice.done(&self.scene, path, "start", &json!({})).await;
        let run = started.is(201).body["run_id"].as_str().expect("an id").to_owned();
        self.flow.turn(plain(&run)).await;
        let snapshot = format!("/v1/workflow-runs/{run}/snapshot");
        let steps = self.sid.get(&self.scene, &snapshot).await.is(200).body["steps"].clone();
        (run, steps.as_array().expect("steps").clone())
    }
}

/// An id of the API as the database has it.
pub(crate) fn plain(id: &str) -> Uuid {
    id.split_once('_').expect("a prefix").1.parse().expect("an id")
}

fn names(list: &Value, member: &str) -> Vec<String> {
    let items = list.as_array().unwrap_or_else(|| panic!("a list: {list}"));
    items.iter().map(|one| one[member].as_str().expect("a name").to_owned()).collect()
}

#[track_caller]
fn etag(answer: &Answer) -> String {
    answer.is(200).headers["etag"].to_str().expect("an ETag").to_owned()
}

/// A definition is proposed, rewritten, handed in, approved by somebody else and merged; every move is signed where the key lies.
#[tokio::test]
async fn a_change_goes_from_its_draft_to_a_version() {
    let office = Office::new().await;
    let Office { scene, alice, bob, sid, .. } = &office;
    let body = json!({ "definition": letters("Draft") });

    // Nothing happens before it is signed, and not by anybody else's signature.
    let before = scene.db.fingerprint().await;
    let asked = alice.post(scene, "/v1/changes", "c1", &body).await;
    let mut wrong = bob.sign(&asked);
    wrong.push(("idempotency-key", "c1".to_owned()));
    let wrong: Vec<_> = wrong.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let again = alice.ask(scene, "POST", "/v1/changes", &wrong, body.clone()).await;
    again.is_problem(428, "signature_needed");
    for (more, status, problem) in [
        (json!({ "definition": {}, "state": "merged" }), 422, "request_invalid"),
        (json!({ "title": "no definition" }), 422, "request_invalid"),
        (json!({ "definition": letters("x"), "dance": 1 }), 422, "request_invalid"),
    ] {
        alice.post(scene, "/v1/changes", "c2", &more).await.is_problem(status, problem);
    }
    alice
        .ask(scene, "POST", "/v1/changes", &[], body.clone())
        .await
        .is_problem(428, "idempotency_key_missing");
    assert_eq!(scene.db.fingerprint().await, before, "nothing changed");

    let (made, headers) = alice.signed(scene, "POST", "/v1/changes", "c1", &body).await;
    let id = made.is(201).body["change_id"].as_str().expect("an id").to_owned();
    assert_eq!((&made.body["state"], &made.body["revision_no"]), (&json!("draft"), &json!(1)));
    let headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let same = alice.ask(scene, "POST", "/v1/changes", &headers, body.clone()).await;
    assert_eq!(same.is(201).body["change_id"], json!(id), "the same request, once");
    assert_eq!(scene.db.count("workflow.workflow_change_requests").await, 2);

    // Another revision, of what was read.
    let path = format!("/v1/changes/{id}");
    let shown = alice.get(scene, &path).await;
    let first = etag(&shown);
    assert_eq!(shown.body["hidden_steps"], 1, "{shown:?}");
    assert_eq!(names(&shown.body["definition"]["steps"], "key"), ["draft", "send"]);
    let submit = shown.body["actions"].as_array().expect("actions");
    let submit = submit.iter().find(|one| one["name"] == "submit").expect("a way on");
    assert_eq!(submit["allowed"], true, "{submit}");
    let of_bob = bob.get(scene, &path).await.is(200).body["actions"].clone();
    assert!(
        of_bob.as_array().expect("actions").iter().all(|one| one["allowed"] == false),
        "it is not bob's: {of_bob}"
    );
    let second = json!({ "definition": letters("Draft it") });
    let (revised, _) = alice.signed(scene, "PUT", &path, "c3", &second).await;
    assert_eq!(revised.is(200).body["revision_no"], 2);
    let stale = [("idempotency-key", "c4"), ("if-match", &*first)];
    alice.ask(scene, "PUT", &path, &stale, second.clone()).await.is_problem(412, "has_changed");
    let diff = alice.get(scene, &format!("{path}/diff")).await;
    assert!(!diff.is(200).body.to_string().contains("seal"), "{diff:?}");
    let graph = sid.get(scene, &format!("{path}/graph")).await;
    assert!(names(&graph.is(200).body["nodes"], "id").contains(&"seal".to_owned()));

    // Handed in: both signatures at once. Approved by another, and merged.
    let asked = alice.post(scene, &format!("{path}/submit"), "c5", &json!({})).await;
    let statements = asked.body["to_sign"]["statements"].as_array().expect("statements").len();
    assert_eq!(statements, 2, "the move and the request: {asked:?}");
    let submitted = alice.done(scene, &format!("{path}/submit"), "c5", &json!({})).await;
    let approval = submitted.is(200).body["approval"]["approval_id"].as_str().expect("an id");
    let approval: Uuid = approval.parse().expect("an id");
    alice.done(scene, &format!("{path}/merge"), "early", &json!({})).await.is_refusal(409, "RS004");
    approval::vote(&scene.store, &sid.actor(), "sovereign", approval, Decision::Approve, None)
        .await
        .expect("a vote");
    engine::settle(&scene.store, Kind::Workflow, plain(&id)).await.expect("settled");
    let merged = alice.done(scene, &format!("{path}/merge"), "c6", &json!({})).await;
    assert_eq!(merged.is(200).body["merged_version"], 1);
    let shown = sid.get(scene, &path).await;
    assert_eq!(shown.body["approval"]["state"], "used", "{shown:?}");
    assert_eq!(shown.body["history"].as_array().expect("moves").len(), 5, "{shown:?}");

    // Lists come in pages, whole.
    let first = alice.get(scene, "/v1/changes?limit=1").await;
    let next = first.is(200).body["next"].as_str().expect("more").to_owned();
    let second = alice.get(scene, &format!("/v1/changes?limit=1&after={next}")).await;
    assert!(
        second.body["next"].is_null()
            && second.body["items"][0]["change_id"] != first.body["items"][0]["change_id"]
    );
    alice.get(scene, "/v1/changes?after=nonsense").await.is_problem(400, "query_invalid");
    alice.get(scene, "/v1/changes?limit=0").await.is_problem(400, "query_invalid");
    alice.get(scene, "/v1/changes?dance=1").await.is_problem(400, "query_invalid");
    let merged = alice.get(scene, "/v1/changes?state=merged&workflow=letters").await;
    assert_eq!(merged.body["items"].as_array().expect("one").len(), 1);
    let nobody = Uuid::now_v7().simple();
    alice.get(scene, &format!("/v1/changes/chg_{nobody}")).await.is_refusal(404, "RW001");
    alice.get(scene, &format!("/v1/changes/wfr_{nobody}")).await.is_problem(400, "id_malformed");
    alice.get(scene, "/v1/changes/..%2Fetc").await.is_problem(400, "id_malformed");
}

/// A step that is for some classes only is nowhere for the others: in the definition, pictures, runs, search, nor by its id.
#[tokio::test]
async fn what_a_reader_may_not_see_is_nowhere() {
    let office = Office::new().await;
    let Office { scene, alice, sid, .. } = &office;
    let (run, steps) = office.run().await;
    let seal = steps.iter().find(|one| one["key"] == "seal").expect("the sealed step");
    let seal = seal["step_id"].as_str().expect("an id");
    let run_path = format!("/v1/workflow-runs/{run}");

    let first = alice.get(scene, "/v1/workflows?limit=1").await;
    let next = first.is(200).body["next"].as_str().expect("more").to_owned();
    let second = alice.get(scene, &format!("/v1/workflows?limit=1&after={next}")).await;
    assert_eq!(
        [&first.body["items"][0]["workflow"], &second.body["items"][0]["workflow"]],
        ["everything", "letters"]
    );
    for path in [
        "/v1/workflows/letters".to_owned(),
        "/v1/workflows/letters/graph".to_owned(),
        format!("{run_path}/snapshot"),
        format!("{run_path}/graph"),
        format!("{run_path}/downstream"),
        run_path.clone(),
        "/v1/search?q=seal".to_owned(),
        format!("/v1/search?q=dong+dau&run={run}"),
    ] {
        let (hers, his) = (alice.get(scene, &path).await, sid.get(scene, &path).await);
        let text = hers.is(200).body.to_string();
        assert!(!text.contains("seal") && !text.contains(seal), "{path}: {text}");
        if !path.ends_with("downstream") && path != run_path {
            assert!(his.is(200).body.to_string().contains("seal"), "{path}: {his:?}");
        }
    }
    alice.get(scene, &format!("/v1/steps/{seal}")).await.is_refusal(404, "RW001");
    sid.get(scene, &format!("/v1/steps/{seal}")).await.is(200);
    let before = scene.db.fingerprint().await;
    let claim = json!({ "call": "step_claim" });
    alice
        .post(scene, &format!("/v1/steps/{seal}/moves"), "k", &claim)
        .await
        .is_refusal(404, "RW001");
    assert_eq!(scene.db.fingerprint().await, before, "nothing changed");

    // The picture is known by what it shows.
    let (hers, his) = (
        alice.get(scene, "/v1/workflows/letters/graph").await,
        sid.get(scene, "/v1/workflows/letters/graph").await,
    );
    assert_ne!(etag(&hers), etag(&his));
    let known = [("if-none-match", &*etag(&hers))];
    let path = "/v1/workflows/letters/graph";
    assert_eq!(alice.ask(scene, "GET", path, &known, Value::Null).await.is(304).body, Value::Null);
    assert_eq!(names(&hers.body["nodes"], "id"), ["draft", "send"]);
    alice.get(scene, "/v1/workflows/letters/graph?version=9").await.is_refusal(404, "RW001");
    alice.get(scene, "/v1/workflows/nothing").await.is_refusal(404, "RW001");
    alice.get(scene, "/v1/workflows/letters/graph?width=0").await.is_problem(400, "query_invalid");

    // A snapshot is whole: it is what the API says, and of one moment.
    let snapshot = alice.get(scene, &format!("{run_path}/snapshot")).await;
    let read: chancery_api::workflow_runs::Snapshot =
        serde_json::from_value(snapshot.is(200).body.clone()).expect("a snapshot");
    assert_eq!((read.run.hidden_steps, read.steps.len(), read.tasks.len()), (1, 2, 1));
    assert_eq!(read.steps[0].state, "ready");
    assert!(read.last_event_position >= 0);
    // It is a stream, and comes whole to who takes it compressed, as browsers do.
    let (small, path) = ([("accept-encoding", "gzip")], format!("{run_path}/snapshot"));
    let small = alice.ask(scene, "GET", &path, &small, Value::Null).await;
    assert_eq!(small.is(200).headers["content-encoding"], "gzip");
    assert_eq!(small.body["steps"], snapshot.body["steps"]);
    // Seed C §6.2: the versions of units that steps and tasks work on are in it.
    assert!(read.steps.iter().all(|step| step.pinned_version_id.is_none()));
    let (unit, mut admin) = (Uuid::now_v7(), scene.db.superuser().await);
    for table in ["step_run", "task_run"] {
        let pin = format!(
            "alter table workflow.{table} disable trigger all; update workflow.{table} set pinned_iu_version_id = '{unit}'"
        );
        sqlx::raw_sql(sqlx::AssertSqlSafe(pin)).execute(&mut admin).await.expect("pinned by hand");
    }
    let pinned = alice.get(scene, &format!("{run_path}/snapshot")).await;
    let unit = json!(format!("unv_{}", unit.simple()));
    for list in ["steps", "tasks"] {
        let rows = pinned.is(200).body[list].as_array().expect("a list");
        assert!(!rows.is_empty() && rows.iter().all(|one| one["pinned_version_id"] == unit));
    }
    let nobody = Uuid::now_v7().simple();
    alice
        .get(scene, &format!("/v1/workflow-runs/wfr_{nobody}/snapshot"))
        .await
        .is_refusal(404, "RW001");
}

/// A run is started once, shown with why it has its colour, put on hold and let go by who may, and by nobody else.
#[tokio::test]
async fn a_run_is_started_and_steered() {
    let office = Office::new().await;
    let Office { scene, alice, bob, .. } = &office;
    let (run, _) = office.run().await;
    let path = format!("/v1/workflow-runs/{run}");
    let again = alice.done(scene, "/v1/workflows/letters/runs", "start", &json!({})).await;
    assert_eq!((&again.body["run_id"], &again.body["replayed"]), (&json!(run), &json!(true)));
    let other = json!({ "inputs": { "n": 1 } });
    let other = alice.done(scene, "/v1/workflows/letters/runs", "start", &other).await;
    assert!(
        [409, 422].contains(&other.status.as_u16()),
        "the key stands for another start: {other:?}"
    );
    alice.done(scene, "/v1/workflows/nothing/runs", "s", &json!({})).await.is_refusal(404, "RW001");

    let shown = alice.get(scene, &path).await;
    let version = etag(&shown);
    let rollup = &shown.body["rollup"];
    assert_eq!(rollup["colour"], "green", "{shown:?}");
    assert!(
        rollup["sentence"]["vi"].as_str().is_some_and(|text| text.contains("bước")),
        "{rollup}"
    );
    assert_eq!(
        alice.get(scene, &format!("{path}/rollup")).await.body["sentence"],
        rollup["sentence"]
    );
    let pause = |answer: &Answer| {
        let actions = answer.body["actions"].as_array().expect("actions").clone();
        actions.into_iter().find(|one| one["name"] == "workflow_pause").expect("a way on")
    };
    assert_eq!(pause(&shown)["allowed"], false, "alice is no reviewer");
    assert_eq!(pause(&bob.get(scene, &path).await)["allowed"], true);

    let before = scene.db.fingerprint().await;
    let refused = alice.done(scene, &format!("{path}/pause"), "p", &json!({})).await;
    refused.is_refusal(409, "RS004");
    assert_eq!(scene.db.fingerprint().await, before, "nothing changed");
    let reason = json!({ "reason": "a holiday" });
    let held = bob.done(scene, &format!("{path}/pause"), "p1", &reason).await;
    assert_eq!(held.is(200).body["state"], "paused");
    let stale = [("idempotency-key", "p2"), ("if-match", &*version)];
    bob.ask(scene, "POST", &format!("{path}/resume"), &stale, json!({}))
        .await
        .is_problem(412, "has_changed");
    let on = bob.done(scene, &format!("{path}/resume"), "p3", &json!({})).await;
    assert_eq!(on.is(200).body["state"], "in_progress");
    let cancel = json!({ "approval_id": format!("apr_{}", Uuid::now_v7().simple()) });
    bob.done(scene, &format!("{path}/cancel"), "p4", &cancel).await.is_refusal(404, "RA002");

    for n in 0..4 {
        let key = format!("more-{n}");
        alice.done(scene, "/v1/workflows/everything/runs", &key, &json!({})).await.is(201);
    }
    let mut seen = Vec::new();
    let mut next = String::new();
    loop {
        let page = alice.get(scene, &format!("/v1/workflow-runs?limit=2{next}")).await;
        seen.extend(names(&page.is(200).body["items"], "run_id"));
        let Some(cursor) = page.body["next"].as_str() else { break };
        next = format!("&after={cursor}");
    }
    let mut once = seen.clone();
    once.sort_unstable();
    once.dedup();
    assert_eq!((seen.len(), once.len()), (5, 5), "nothing lost, nothing twice");
    let open = alice.get(scene, "/v1/workflow-runs?workflow=letters&state=open&colour=green").await;
    assert_eq!(names(&open.body["items"], "run_id"), [run]);
}

/// What is called like something is found without its accents, by a part of a word, and only by who may see it.
#[tokio::test]
async fn things_are_found_by_what_they_are_called() {
    let office = Office::new().await;
    let Office { scene, alice, sid, .. } = &office;
    let (run, _) = office.run().await;
    for (query, found) in [
        ("soan+thao+don", "letters/draft"),
        ("SO%E1%BA%A0N", "letters/draft"),
        ("oan", "letters/draft"),
        ("%C4%91%C6%A1n", "letters/draft"),
        ("gui", "letters/send"),
        ("g", "letters/send"),
    ] {
        let hits = alice.get(scene, &format!("/v1/search?kinds=step&q={query}")).await;
        assert!(
            names(&hits.is(200).body["items"], "id").contains(&found.to_owned()),
            "{query}: {hits:?}"
        );
    }
    for nothing in ["%25", "_", "%20", "xyz"] {
        let hits = alice.get(scene, &format!("/v1/search?q={nothing}")).await;
        assert_eq!(hits.is(200).body["items"], json!([]), "{nothing}");
    }
    let run_hit = alice.get(scene, &format!("/v1/search?kinds=run&q={run}")).await;
    assert_eq!(names(&run_hit.body["items"], "id"), [run]);
    let people = "/v1/search?kinds=principal&q=ali";
    assert_eq!(
        alice.get(scene, people).await.body["items"],
        json!([]),
        "alice may not list people"
    );
    assert_eq!(names(&sid.get(scene, people).await.body["items"], "id"), ["alice"]);
    alice.get(scene, "/v1/search?q=").await.is_problem(400, "query_invalid");
    alice.get(scene, "/v1/search").await.is_problem(400, "query_invalid");
    alice.get(scene, "/v1/search?q=a&kinds=secret").await.is_problem(400, "query_invalid");

    let words = alice.get(scene, "/v1/words?locale=vi").await;
    assert_eq!(words.is(200).body["refusals"]["RW001"]["problem"], "not_in_workflows");
    let label = words.body["messages"].as_object().expect("messages").len();
    assert!(label > 50, "{label}");
    let known = [("if-none-match", &*etag(&words))];
    alice.ask(scene, "GET", "/v1/words?locale=vi", &known, Value::Null).await.is(304);
    alice.get(scene, "/v1/words?locale=xx").await.is_problem(400, "query_invalid");
    let tokens = alice.get(scene, "/v1/state-tokens").await;
    let states = tokens.is(200).body["states"].as_array().expect("states").clone();
    let blocked = states.iter().find(|one| one["machine"] == "step" && one["state"] == "blocked");
    let blocked = blocked.expect("a state");
    assert!(blocked["colour"].is_string() && blocked["icon"].is_string(), "{blocked}");
    assert!(blocked["label"]["vi"].is_string() && blocked["label"]["en"].is_string(), "{blocked}");
}

/// UIW-7: who reads a workflow without the steps for others' eyes can't write it back without them, as a change or as a draft of one.
#[tokio::test]
async fn a_writer_does_not_drop_what_they_do_not_see() {
    let office = Office::new().await;
    let Office { scene, flow, alice, sid, .. } = &office;
    flow.adopt(&letters("Draft")).await;
    let seen = alice.get(scene, "/v1/workflows/letters").await.is(200).body["definition"].clone();
    assert_eq!(names(&seen["steps"], "key"), ["draft", "send"]);
    let mut seen = seen;
    seen["relations"] = json!([{ "from": "draft", "to": "send" }]);
    let before = scene.db.fingerprint().await;
    let body = json!({ "definition": seen });
    let refused = alice.done(scene, "/v1/changes", "c1", &body).await;
    refused.is_refusal(422, "RW028");
    assert_eq!(refused.body["problems"][0]["missing"], 1);
    assert!(!refused.body.to_string().contains("seal"), "which it is stays untold: {refused:?}");
    assert_eq!(scene.db.fingerprint().await, before, "nothing changed");

    // Whole it is taken; and so is a draft of it only when it stays whole.
    let whole = json!({ "definition": letters("Draft it") });
    let made = alice.done(scene, "/v1/changes", "c2", &whole).await;
    let id = made.is(201).body["change_id"].as_str().expect("an id").to_owned();
    let path = format!("/v1/changes/{id}");
    let (cut, _) = alice.signed(scene, "PUT", &path, "c3", &body).await;
    cut.is_refusal(422, "RW028");
    let (kept, _) =
        alice.signed(scene, "PUT", &path, "c4", &json!({ "definition": letters("Write") })).await;
    assert_eq!(kept.is(200).body["revision_no"], 2);
    // Who sees the step may leave it out.
    let removed = sid.done(scene, "/v1/changes", "c5", &body).await;
    assert_eq!(removed.is(201).body["state"], "draft");
}
