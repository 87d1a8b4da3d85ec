//! APR-1, CUT-1, ORC-4: what people decide over HTTP, and what waits for them.

use chancery_store::Role;
use chancery_testkit::flows::Flow;
use chancery_testkit::shipped;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::routes_a_client::{Person, column};
use crate::scene::Scene;

fn new_request(subject: &str) -> Value {
    json!({
        "kind": "run_transition", "subject_ref": subject, "title": "Cho phép", "facts": { "n": 1 }, "expires_in_seconds": 3600,
    })
}

fn plain(id: &str) -> Uuid {
    let (_, digits) = id.split_once('_').expect("a prefix");
    Uuid::parse_str(digits).expect("an id")
}

/// SEC-2: what an answer embeds needs the permission that its own route needs, of the token and not of its principal alone.
#[tokio::test]
async fn a_token_sees_in_every_answer_what_it_may_see_by_itself() {
    let scene = Scene::new().await;
    let ann = Person::new(&scene, "ann", &["pic_human"]).await;
    let sofia = Person::new(&scene, "sofia", &["sovereign"]).await;
    let (asked, _) = ann.signed("/v1/approvals", "a1", &new_request("thing-1")).await;
    asked.is(201);
    let waiting = async |person: &Person<'_>| {
        let inbox = person.get("/v1/inbox").await;
        let inbox = inbox.is(200);
        (inbox.body["waiting_count"].clone(), inbox.body["not_mine_count"].clone())
    };
    assert_eq!(waiting(&sofia).await, (json!(1), json!(0)));
    let reads = sofia.limited("sofia", &["self.read"]).await;
    assert_eq!(waiting(&reads).await, (json!(0), json!(0)), "approvals are not for this token");
    // It may read them and not vote: it sees that the request is there, and that it is not its to decide.
    let watches = sofia.limited("sofia", &["self.read", "approval.read"]).await;
    assert_eq!(waiting(&watches).await, (json!(0), json!(1)));
    // The limit is that of one request, not of the connection.
    assert_eq!(waiting(&sofia).await, (json!(1), json!(0)));

    let problems = async |person: &Person<'_>| {
        let answer = person.get("/v1/problems").await;
        let categories = answer.is(200).body["categories"].as_array().cloned().unwrap_or_default();
        categories.iter().filter(|category| category["hidden"] == false).count()
    };
    let all = problems(&sofia).await;
    let some = sofia.limited("sofia", &["problems.read", "problems.overdue_step"]).await;
    assert!(all > 1, "{all}");
    assert_eq!(problems(&some).await, 1);
}

/// APR-1: asked, shown, voted on and used up. What the vote would refuse stands in the actions, word for word, and nobody is asked to
/// sign it.
#[tokio::test]
async fn an_approval_is_asked_for_and_voted_on() {
    let scene = Scene::new().await;
    let ann = Person::new(&scene, "ann", &["pic_human"]).await;
    let sofia = Person::new(&scene, "sofia", &["sovereign"]).await;
    let both = Person::new(&scene, "both", &["sovereign", "reviewer"]).await;
    let eve = Person::new(&scene, "eve", &["observer"]).await;
    let asked = new_request("thing-1");
    let (stands, signature) = ann.signed("/v1/approvals", "a1", &asked).await;
    let id = stands.is(201).body["approval_id"].as_str().expect("an id").to_owned();
    assert_eq!(
        (&stands.body["state"], &stands.body["missing"]["sovereigns"]),
        (&json!("pending"), &json!(1))
    );
    // The same key is the same request, signed again or not; another body under it is refused unsigned.
    for signature in [Some(&signature), None] {
        let again = ann.change("/v1/approvals", "a1", &asked, signature).await;
        assert_eq!(
            (&again.is(201).body["approval_id"], &again.body["replayed"]),
            (&json!(id), &json!(true))
        );
    }
    let before = scene.db.fingerprint().await;
    ann.change("/v1/approvals", "a1", &new_request("thing-2"), None).await.is_refusal(409, "RA008");
    for (name, value) in [
        ("proposer", json!("sofia")),
        ("state", json!("approved")),
        ("risk", json!("none")),
        ("expires_in_seconds", json!(-1)),
    ] {
        let mut body = asked.clone();
        body[name] = value;
        ann.change("/v1/approvals", "a2", &body, None).await.is_problem(422, "request_invalid");
    }
    let mut digest = asked.clone();
    digest["subject_digest"] = json!("xyz");
    ann.change("/v1/approvals", "a2", &digest, None).await.is_problem(422, "request_invalid");
    eve.change("/v1/approvals", "a2", &asked, None).await.is_refusal(403, "RI040");

    let path = format!("/v1/approvals/{id}");
    let votes = format!("{path}/votes");
    let approve = json!({ "decision": "approve", "rationale": "đồng ý" });
    let labels = |person: &Value| column(person["actions"].as_array().expect("actions"), "label");
    let own = ann.get(&path).await;
    assert_eq!(labels(&own.is(200).body), ["approve", "reject", "abstain"]);
    let codes = |answer: &Value| {
        let problems = answer["actions"][0]["problems"].as_array().expect("problems").clone();
        column(&problems, "code")
    };
    assert_eq!(codes(&own.body), ["RI003", "RA004", "RI040"]);
    ann.change(&votes, "v0", &approve, None).await.is_refusal(403, "RI040");
    let theirs = sofia.get(&path).await;
    assert!(
        theirs.is(200).body["actions"][0]["allowed"] == true
            && theirs.body["missing"]["sovereigns"] == 1
    );
    assert_eq!(both.get(&path).await.is(200).body["actions"].as_array().map(Vec::len), Some(6));
    // Who could vote in two ways says which.
    let unsure = both.change(&votes, "v0", &approve, None).await;
    unsure.is_problem(422, "request_invalid");
    assert!(unsure.body["detail"].as_str().is_some_and(|detail| detail.contains("actor_class")));
    let asked_to_sign = sofia.change(&votes, "v1", &approve, None).await;
    let signature = sofia.sign(&asked_to_sign);
    sofia
        .change(&votes, "v1", &approve, Some(&signature.spoiled()))
        .await
        .is_problem(428, "signature_needed");
    let reject = json!({ "decision": "reject", "rationale": "đồng ý" });
    sofia.change(&votes, "v1", &reject, Some(&signature)).await.is_problem(428, "signature_needed");
    sofia
        .change(&votes, "v1", &json!({ "decision": "maybe" }), None)
        .await
        .is_problem(422, "request_invalid");
    assert_eq!(scene.db.fingerprint().await, before, "nothing was done");

    let can =
        |person: &'static str| format!("/v1/approvals?mine=can_decide&state=pending&kind={person}");
    assert_eq!(column(&sofia.all(&can("run_transition"), 5).await, "approval_id"), [id.as_str()]);
    assert_eq!(ann.all(&can("run_transition"), 5).await.len(), 0);
    let voted = sofia.change(&votes, "v1", &approve, Some(&signature)).await;
    assert_eq!(
        (&voted.is(201).body["state"], &voted.body["replayed"]),
        (&json!("approved"), &json!(false))
    );
    let again = sofia.change(&votes, "v1", &approve, Some(&signature)).await;
    assert_eq!(
        (&again.is(201).body["state"], &again.body["replayed"]),
        (&json!("approved"), &json!(true))
    );
    assert_eq!(scene.db.count("approval.approval_vote").await, 1);
    let late = json!({ "decision": "reject", "actor_class": "reviewer" });
    both.change(&votes, "v2", &late, None).await.is_refusal(409, "RA005");
    let shown = sofia.get(&path).await;
    assert_eq!(
        (&shown.is(200).body["votes"][0]["voter"], &shown.body["tally"]["sovereigns"]),
        (&json!("sofia"), &json!(1))
    );
    assert_eq!(shown.body["actions"][0]["problems"][0]["code"], "RA005");

    for n in 0..4 {
        ann.signed("/v1/approvals", &format!("n{n}"), &new_request(&format!("many-{n}")))
            .await
            .0
            .is(201);
    }
    assert_eq!(ann.all("/v1/approvals", 2).await.len(), 5);
    assert_eq!(ann.all("/v1/approvals?state=pending", 3).await.len(), 4);
    assert_eq!(ann.all("/v1/approvals?subject=many-2", 3).await.len(), 1);
}

/// UIW-1: what waits for somebody, each with the one thing to do; what is open and not theirs, with the reason; nothing that they may
/// not see.
#[tokio::test]
async fn the_inbox_holds_what_waits_for_its_reader() {
    let scene = Scene::new().await;
    let flow = Flow::install(&scene.db).await;
    let ann = Person::new(&scene, "ann", &["pic_human"]).await;
    let rob = Person::new(&scene, "rob", &["reviewer"]).await;
    let sofia = Person::new(&scene, "sofia", &["sovereign"]).await;
    let (_, mine) =
        flow.one_step("hers", &json!({ "pic": { "principal": "ann" }, "deadline": "1 day" })).await;
    let (_, open) = flow.one_step("anybodys", &json!({ "pic": { "class": "pic_human" } })).await;
    flow.one_step("hidden", &json!({ "pic": { "principal": "ann" }, "visible_to": ["reviewer"] }))
        .await;
    flow.one_step("machines", &json!({ "executor": "noop" })).await;
    let (_, asks) = flow.one_step("asks", &json!({ "pic": { "starter": true } })).await;
    flow.work(asks, "step_claim", json!({}), None, "claim").await;
    let wait = json!({ "facets": ["waiting_human"], "waits": [{ "facet": "waiting_human", "of": "rob" }] });
    flow.work(asks, "step_wait", wait, None, "wait").await;
    let (asked, _) = ann.signed("/v1/approvals", "a1", &new_request("thing")).await;
    let approval = asked.is(201).body["approval_id"].clone();

    let inbox = async |person: &Person<'_>| person.get("/v1/inbox").await.is(200).body.clone();
    let kinds = |inbox: &Value, list: &str| column(inbox[list].as_array().expect("a list"), "kind");
    let before = scene.db.fingerprint().await;
    let anns = inbox(&ann).await;
    assert_eq!(kinds(&anns, "waiting"), ["step", "step"]);
    let ids = column(anns["waiting"].as_array().expect("a list"), "id");
    let steps: Vec<Uuid> = ids.iter().map(|id| plain(id)).collect();
    assert!(
        ids.iter().all(|id| id.starts_with("stp_"))
            && steps.contains(&mine)
            && steps.contains(&open),
        "{anns}"
    );
    assert_eq!(anns["waiting"][0]["action"]["name"], "step_claim");
    assert!(anns["waiting"][0]["title_vi"].is_string());
    assert_eq!((&anns["waiting_count"], &anns["not_mine_count"]), (&json!(2), &json!(1)));
    let not_hers = &anns["not_mine"][0];
    assert_eq!((&not_hers["id"], &not_hers["action"]["allowed"]), (&approval, &json!(false)));
    assert!(not_hers["action"]["problems"].to_string().contains("RA004"), "{not_hers}");

    let robs = inbox(&rob).await;
    assert_eq!(kinds(&robs, "waiting"), ["approval", "wait"], "{robs}");
    assert_eq!(robs["waiting"][1]["action"]["name"], "answer");
    let sofias = inbox(&sofia).await;
    assert_eq!(kinds(&sofias, "waiting"), ["approval"]);
    assert_eq!(sofias["waiting"][0]["deadline"], asked.body["expires_at"]);
    assert_eq!(sofia.get("/v1/inbox?limit=0").await.is_problem(400, "query_invalid").status, 400);
    assert_eq!(scene.db.fingerprint().await, before, "looking changes nothing");

    // Who has voted waits for the others.
    let abstain = json!({ "decision": "abstain" });
    let votes = format!("/v1/approvals/{}/votes", approval.as_str().expect("an id"));
    rob.signed(&votes, "v1", &abstain).await.0.is(201);
    assert_eq!(kinds(&inbox(&rob).await, "waiting"), ["wait"]);
    // What the inbox offers is what the door does.
    let answered = scene
        .store
        .fn_wait_resolve(
            plain(robs["waiting"][1]["id"].as_str().expect("an id")),
            &json!({ "yes": 1 }),
            "rob",
            "reviewer",
        )
        .await;
    assert!(answered.expect("answered").resumed);
    assert_eq!(kinds(&inbox(&rob).await, "waiting"), Vec::<String>::new());
}

async fn machines(scene: &Scene) {
    for machine in shipped() {
        if matches!(machine.machine.as_str(), "cut_request" | "orchestrator_run") {
            scene.db.definition(&machine).await;
        }
    }
}

async fn document(person: &Person<'_>, name: &str) {
    let prefix = name.to_uppercase();
    let new = json!({ "document_id": name, "prefix": prefix, "text": "# One\n\ntext\n\n## Two\n\nmore\n" });
    person.send("POST", "/v1/documents", &[], &new).await.is(201);
}

/// CUT-1: a request is marked and given up over HTTP; its stages, its rules and what can come next are told to each reader as the
/// database judges them.
#[tokio::test]
async fn an_entry_is_marked_shown_and_abandoned() {
    let scene = Scene::new().await;
    machines(&scene).await;
    scene.db.service("executor", &["executor_dot991"]).await;
    let ann = Person::new(&scene, "ann", &["pic_human"]).await;
    let sofia = Person::new(&scene, "sofia", &["sovereign"]).await;
    for name in ["one", "two", "three"] {
        document(&ann, name).await;
    }
    let new = json!({ "document_id": "one" });
    let before = scene.db.fingerprint().await;
    ann.change("/v1/entries", "k1", &json!({ "document_id": "none" }), None)
        .await
        .is_refusal(422, "RC002");
    ann.change("/v1/entries", "k1", &json!({ "document_id": "one", "status": "marked" }), None)
        .await
        .is_problem(422, "request_invalid");
    let foreign =
        json!({ "document_id": "one", "depends_on": [format!("run_{}", Uuid::now_v7().simple())] });
    ann.change("/v1/entries", "k1", &foreign, None).await.is_problem(422, "request_invalid");
    assert_eq!(scene.db.fingerprint().await, before, "nothing was done");
    let (marked, signature) = ann.signed("/v1/entries", "k1", &new).await;
    let id = marked.is(201).body["entry_id"].as_str().expect("an id").to_owned();
    let again = ann.change("/v1/entries", "k1", &new, Some(&signature)).await;
    assert_eq!(
        (&again.is(201).body["entry_id"], &again.body["replayed"]),
        (&json!(id), &json!(true))
    );
    let other = ann.change("/v1/entries", "k1", &json!({ "document_id": "two" }), None).await;
    other.is_refusal(409, "RC015");
    let mut others = Vec::new();
    for (n, name) in ["two", "three"].into_iter().enumerate() {
        let body = json!({ "document_id": name, "depends_on": [id] });
        let (marked, _) = ann.signed("/v1/entries", &format!("m{n}"), &body).await;
        others.push(marked.is(201).body["entry_id"].as_str().expect("an id").to_owned());
    }
    assert_eq!(ann.all("/v1/entries", 1).await.len(), 3);
    assert_eq!(
        column(&ann.all("/v1/entries?document=one&status=marked", 2).await, "entry_id"),
        [id.as_str()]
    );

    let path = format!("/v1/entries/{id}");
    let shown = sofia.get(&path).await;
    let stages = shown.is(200).body["stages"].as_array().expect("stages").clone();
    assert_eq!(column(&stages, "stage"), ["mark", "review", "cut", "verify"]);
    assert_eq!(
        (&stages[0]["by"], &stages[0]["signed"], &stages[1]["done"]),
        (&json!("ann"), &json!(true), &json!(false))
    );
    let abandon = shown.body["actions"]
        .as_array()
        .expect("actions")
        .iter()
        .find(|a| a["name"] == "abandon")
        .expect("abandon")
        .clone();
    assert_eq!(abandon["allowed"], true, "{abandon}");
    assert_eq!(shown.headers["etag"], "\"1\"");
    let guard = shown.body["guards"]
        .as_array()
        .expect("guards")
        .iter()
        .find(|g| g["guard"] == "G-ABANDON-REASON")
        .expect("a guard")
        .clone();
    assert_eq!((&guard["action"], &guard["holds"]), (&json!("abandon"), &Value::Null));
    let anns = ann.get(&path).await;
    assert!(
        anns.is(200).body["actions"]
            .as_array()
            .is_some_and(|all| all.iter().all(|a| a["allowed"] == false))
    );

    let give_up = format!("{path}/abandon");
    let reason = json!({ "reason": "nhầm tài liệu" });
    let stale = [("idempotency-key", "x1"), ("if-match", "\"4\"")];
    sofia.send("POST", &give_up, &stale, &reason).await.is_problem(412, "has_changed");
    let not_hers = ann.change(&give_up, "x0", &reason, None).await;
    not_hers.is_refusal(403, "RI003");
    let (gone, signature) = sofia.signed(&give_up, "x1", &reason).await;
    assert_eq!((&gone.is(200).body["status"], &gone.body["seq"]), (&json!("abandoned"), &json!(2)));
    let again = sofia.change(&give_up, "x1", &reason, Some(&signature)).await;
    assert_eq!(
        (&again.is(200).body["status"], &again.body["replayed"]),
        (&json!("abandoned"), &json!(true))
    );
    let status = format!(
        "select status from cutter_governance.decision_backlog_entry where entry_id = '{}'",
        plain(&id)
    );
    assert_eq!(scene.db.text(&status).await, "abandoned");
    assert_eq!(
        column(sofia.get(&path).await.body["history"].as_array().expect("moves"), "to"),
        ["marked", "abandoned"]
    );

    // What a run drives is not given up by hand, and the list of what can be done says so in the same words.
    let (run, entry) = (Uuid::now_v7(), Uuid::now_v7());
    let start = format!(
        "select orchestrator.fn_orchestrate_start('{run}', 'ictr-20260914T080000Z-{run}', 'two', '{entry}', 'executor') ->> 'state'"
    );
    assert_eq!(scene.db.text_as(Role::CutterExec, &start).await, "pending");
    let driven = format!("update orchestrator.run set entry_id = '{}'", plain(&others[0]));
    assert_eq!(scene.db.forge(&[&driven]).await, 1);
    let path = format!("/v1/entries/{}", others[0]);
    let driven = sofia.get(&path).await;
    let actions = driven.is(200).body["actions"].as_array().expect("actions").clone();
    let abandon = actions.iter().find(|action| action["name"] == "abandon").expect("abandon");
    assert_eq!(abandon["problems"][0]["code"], "RO010");
    let refused = sofia.change(&format!("{path}/abandon"), "x2", &reason, None).await;
    assert_eq!(refused.is_refusal(409, "RO010").body["problems"][0], abandon["problems"][0]);
}

/// ORC-1, ORC-4: a run is shown with its fourteen states and stopped by a signature; its gates stay behind the login of the reviewers,
/// and the API says what to run.
#[tokio::test]
async fn a_run_of_the_orchestrator_is_shown_and_stopped() {
    let scene = Scene::new().await;
    machines(&scene).await;
    scene.db.service("executor", &["executor_dot991"]).await;
    let ann = Person::new(&scene, "ann", &["pic_human"]).await;
    let sofia = Person::new(&scene, "sofia", &["sovereign"]).await;
    let mut runs = Vec::new();
    for name in ["one", "two", "three"] {
        document(&ann, name).await;
        let (id, entry) = (Uuid::now_v7(), Uuid::now_v7());
        let run = format!("ictr-20260914T080000Z-{id}");
        let start = format!(
            "select orchestrator.fn_orchestrate_start('{id}', '{run}', '{name}', '{entry}', 'executor') ->> 'state'"
        );
        assert_eq!(scene.db.text_as(Role::CutterExec, &start).await, "pending");
        runs.push((format!("orc_{}", id.simple()), run));
    }
    assert_eq!(ann.all("/v1/orchestrator/runs", 2).await.len(), 3);
    assert_eq!(ann.all("/v1/orchestrator/runs?document=two&state=pending", 2).await.len(), 1);
    let (id, name) = &runs[0];
    let path = format!("/v1/orchestrator/runs/{id}");
    let shown = sofia.get(&path).await;
    let states = shown.is(200).body["states"].as_array().expect("states").clone();
    assert_eq!(
        (states.len(), &states[0]["current"], &states[1]["gate"]),
        (14, &json!(true), &json!("IG_source_pin"))
    );
    assert_eq!((&shown.body["run_id"], &shown.body["question"]), (&json!(name), &Value::Null));
    let stop_of = |body: &Value| {
        let all = body["actions"].as_array().expect("actions").clone();
        all.into_iter().find(|action| action["name"] == "orchestrate_stop").expect("a stop")
    };
    assert_eq!(stop_of(&shown.body)["allowed"], true);
    assert_eq!(stop_of(&ann.get(&path).await.body)["allowed"], false);

    let stop = format!("{path}/stop");
    let reason = json!({ "reason": "phụ lục sai" });
    ann.change(&stop, "s1", &reason, None).await.is_refusal(403, "RI040");
    let stale = [("idempotency-key", "s1"), ("if-match", "\"9\"")];
    sofia.send("POST", &stop, &stale, &reason).await.is_problem(412, "has_changed");
    let (stopped, signature) = sofia.signed(&stop, "s1", &reason).await;
    assert_eq!(
        (&stopped.is(200).body["state"], &stopped.body["replayed"]),
        (&json!("stopped_sovereign"), &json!(false))
    );
    let again = sofia.change(&stop, "s1", &reason, Some(&signature)).await;
    assert_eq!(
        (&again.is(200).body["seq"], &again.body["replayed"]),
        (&stopped.body["seq"], &json!(true))
    );
    sofia.change(&stop, "s1", &json!({ "reason": "khác" }), None).await.is_refusal(409, "RS012");
    // What is stopped stays stopped: another request moves nothing.
    let (twice, _) = sofia.signed(&stop, "s2", &reason).await;
    assert_eq!(
        (&twice.is(200).body["seq"], &twice.body["replayed"]),
        (&stopped.body["seq"], &json!(true))
    );
    let state = format!("select state_code from orchestrator.run where run_name = '{name}'");
    assert_eq!(scene.db.text(&state).await, "stopped_sovereign");

    let shown = sofia.get(&path).await;
    assert_eq!(shown.is(200).body["halts"][0]["reason"], "phụ lục sai");
    assert_eq!(shown.body["documents"][0]["kind"], "report");
    assert_eq!(
        (&shown.body["question"]["gate"], &shown.body["question"]["approval_id"]),
        (&json!("SG_resume_stopped"), &Value::Null)
    );
    let all = shown.body["actions"].as_array().expect("actions");
    let approve = all.iter().find(|action| action["name"] == "approve").expect("the gate");
    let command = format!("cutter orchestrate approve --run-id {name} --as sofia");
    assert_eq!(
        (&approve["allowed"], &approve["problems"][0]["run"]),
        (&json!(false), &json!(command))
    );
    let before = scene.db.fingerprint().await;
    let refused = sofia.send("POST", &format!("{path}/approve"), &[], &json!({})).await;
    assert_eq!(refused.is_refusal(403, "RI004").body["problems"][0]["run"], command.as_str());
    assert_eq!(scene.db.fingerprint().await, before, "nothing was done");

    // A gate waits for the sovereign; the name of no run is no command.
    for (n, subject) in [name.as_str(), "x; rm -rf /"].into_iter().enumerate() {
        let mut request = new_request(subject);
        request["kind"] = json!("resume_stopped");
        ann.signed("/v1/approvals", &format!("g{n}"), &request).await.0.is(201);
    }
    let inbox = sofia.get("/v1/inbox").await;
    let waiting = inbox.is(200).body["waiting"].as_array().expect("a list");
    let gates: Vec<&Value> = waiting.iter().filter(|item| item["kind"] == "gate").collect();
    assert_eq!((gates.len(), waiting.len()), (1, 2), "{waiting:?}");
    assert_eq!(
        (&gates[0]["action"]["problems"][0]["run"], &gates[0]["action"]["allowed"]),
        (&json!(command), &json!(false))
    );
}
