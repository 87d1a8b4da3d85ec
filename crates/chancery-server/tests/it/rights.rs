//! What HTTP lets in is what the machines allow: both are asked, for each actor class and each transition.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use chancery_engine::run::{self as engine, Actor, Birth, Request};
use chancery_model::machine::{Definition, File};
use chancery_store::Role;
use chancery_store::access::NewToken;
use chancery_testkit::{repo_path, shipped};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use crate::person::Person;
use crate::scene::{Answer, Scene};

/// A machine of one's own that gives something to classes which the machines of the product give little.
const ROTA: &str = r#"
machine: rota
scope: custom
version: 1.0.0
description: A shift that is planned, taken, worked and closed.
states:
  - { code: planned, class: idle, initial: true, color: ui.traffic_light.gray, icon: icon.circle_hollow, label: { en: Planned }, message: { en: planned } }
  - { code: taken, class: active, color: ui.traffic_light.green_pale, icon: icon.user, label: { en: Taken }, message: { en: taken } }
  - { code: worked, class: active, color: ui.traffic_light.green, icon: icon.play_filled, label: { en: Worked }, message: { en: worked } }
  - { code: closed, class: terminal, terminal: true, color: ui.traffic_light.green_deep, icon: icon.check_filled, label: { en: Closed }, message: { en: closed } }
transitions:
  - { id: plan, from: "∅", to: planned, actors: [escalation_handler, executor_worker], trigger: { kind: rpc, ref: plan } }
  - { id: take, from: planned, to: taken, actors: [escalation_handler], trigger: { kind: rpc, ref: take } }
  - { id: work, from: planned, to: worked, actors: [executor_worker, task_pic_human], trigger: { kind: rpc, ref: work } }
  - { id: finish, from: [taken, worked], to: closed, actors: [system], trigger: { kind: timer, ref: finish } }
  - { id: close, from: planned, to: closed, actors: [pic_human, mow_orchestrator], trigger: { kind: event, ref: close } }
"#;

/// A route of each permission that follows from machines, and the calls behind it.
struct Door {
    permission: &'static str,
    scopes: &'static [&'static str],
    /// Any call of those machines where none is named.
    calls: &'static [&'static str],
    path: String,
    body: Value,
}

fn doors() -> Vec<Door> {
    let id = || Uuid::now_v7().simple();
    let door = |permission, scopes, calls, path: String, body| Door {
        permission,
        scopes,
        calls,
        path,
        body,
    };
    let reason = json!({ "reason": "a test" });
    vec![
        door(
            "run.move",
            &["custom"],
            &[],
            format!("/v1/runs/run_{}/moves", id()),
            json!({ "to": "closed" }),
        ),
        door(
            "work.move",
            &["step", "task"],
            &[],
            format!("/v1/steps/stp_{}/moves", id()),
            json!({ "call": "step_claim" }),
        ),
        door(
            "workflow.run",
            &["workflow_run"],
            &["workflow_create", "workflow_pause", "workflow_resume", "workflow_cancel"],
            format!("/v1/workflow-runs/wfr_{}/pause", id()),
            json!({}),
        ),
        door(
            "workflow.propose",
            &["proposal"],
            &["propose", "submit", "withdraw", "merge"],
            format!("/v1/changes/chg_{}/submit", id()),
            json!({}),
        ),
        door(
            "entry.move",
            &["cut_request"],
            &["mark", "abandon"],
            format!("/v1/entries/ent_{}/abandon", id()),
            reason.clone(),
        ),
        door(
            "orchestrator.stop",
            &["orchestrator_run"],
            &["orchestrate_stop"],
            format!("/v1/orchestrator/runs/orc_{}/stop", id()),
            reason.clone(),
        ),
        door(
            "birth.request",
            &["birth_permit"],
            &["permit_request"],
            "/v1/births/permits".to_owned(),
            json!({}),
        ),
        door(
            "birth.revoke",
            &["birth_permit"],
            &["permit_revoke"],
            format!("/v1/births/permits/prm_{}/revoke", id()),
            reason.clone(),
        ),
        door(
            "queue.work",
            &["job"],
            &["job_claim", "job_extend", "job_release", "job_ack"],
            "/v1/queue/noop/claim".to_owned(),
            json!({ "worker": "w" }),
        ),
        door(
            "queue.enqueue",
            &["job"],
            &["job_enqueue"],
            "/v1/queue/jobs".to_owned(),
            json!({ "jobs": [] }),
        ),
        door(
            "queue.replay",
            &["job", "dlq_replay"],
            &["job_cancel", "job_dismiss", "dlq_replay_propose", "dlq_replay_withdraw"],
            format!("/v1/queue/dead/job_{}/dismiss", id()),
            reason.clone(),
        ),
        door(
            "problems.settle",
            &["finding"],
            &["issue_acknowledge", "issue_resolve"],
            format!("/v1/issues/iss_{}/resolve", id()),
            reason,
        ),
    ]
}

/// Classes that hold more than their machines give, and why: nobody else is added here.
const BESIDE: &[(&str, &str)] = &[
    // Answers what steps wait for and comments on them, and moves none.
    ("work.move", "sovereign"),
];

fn definitions() -> Vec<Definition> {
    let example = fs::read_to_string(repo_path("machines/examples/purchase_approval.yaml"));
    let own = [ROTA.to_owned(), example.expect("the example")];
    let own = own.iter().map(|text| Definition::from(&File::parse(text).expect("a machine file")));
    shipped().into_iter().chain(own).collect()
}

fn is_let_in(answer: &Answer) -> bool {
    answer.body["code"] != "RI040" && answer.status != 401
}

/// SEC-2: for each class and each transition of each machine: where the machine has a row for the class, behind the login of the server, HTTP
/// lets the class in, and where it has none for anything behind a route, HTTP does not.
#[tokio::test]
async fn http_lets_in_whom_the_machines_know() {
    let scene = Scene::new().await;
    for definition in definitions() {
        scene.db.definition(&definition).await;
    }
    let logins =
        "select actor_class from identity.login_actor_class where login_role = 'chancery_app'";
    let of_the_server: BTreeSet<String> =
        scene.db.texts(logins).await.into_iter().flatten().collect();
    let classes = scene.db.texts("select code from identity.actor_class order by 1").await;
    let classes: Vec<String> = classes.into_iter().flatten().collect();
    assert_eq!(classes.len(), 12);
    let doors = doors();
    let sources = "select distinct permission from identity.permission_source where permission <> 'run.read' order by 1";
    let sources: BTreeSet<String> = scene.db.texts(sources).await.into_iter().flatten().collect();
    let tried: BTreeSet<String> = doors.iter().map(|door| door.permission.to_owned()).collect();
    assert_eq!(sources, tried, "each permission that follows from machines is tried");

    let mut wrong = Vec::new();
    for class in &classes {
        let name = format!("r-{}", class.replace('_', "-"));
        let person = Person::service(&scene, &name, &[class]).await;
        for door in &doors {
            let rows = definitions().into_iter().flat_map(|definition| {
                let scope = definition.scope.code();
                let fits = door.scopes.contains(&scope);
                definition.transitions.into_iter().filter(move |_| fits)
            });
            let known = of_the_server.contains(class)
                && rows.filter(|row| row.actor.code() == class).any(|row| {
                    door.calls.is_empty() || door.calls.contains(&row.trigger_ref.as_str())
                });
            let beside = BESIDE.contains(&(door.permission, class));
            let answer =
                person.post(&scene, &door.path, &Uuid::now_v7().to_string(), &door.body).await;
            if is_let_in(&answer) != (known || beside) {
                wrong.push(format!("{class} at {}: machine {known}, HTTP {answer:?}", door.path));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

fn request(class: &str, key: &str, from: Option<&str>) -> Request {
    Request {
        from: from.map(str::to_owned),
        actor_class: Some(class.to_owned()),
        trigger: None,
        idempotency_key: Some(key.to_owned()),
        evidence: Some(json!({})),
        reason: None,
    }
}

/// SEC-2: a machine of one's own is moved over HTTP by exactly those who move it at the command line, births included; a token takes away from
/// that and adds nothing.
#[tokio::test]
async fn a_machine_of_ones_own_gives_the_same_over_http_as_at_the_command_line() {
    let scene = Scene::new().await;
    let rota = Definition::from(&File::parse(ROTA).expect("a machine file"));
    scene.db.definition(&rota).await;
    let planner = Person::service(&scene, "planner", &["executor_worker"]).await;
    let planned = async || {
        let (key, body) = (Uuid::now_v7().to_string(), json!({ "machine": "rota" }));
        let begun = planner.post(&scene, "/v1/runs", &key, &body).await;
        begun.is(201).body["run_id"].as_str().expect("an id").to_owned()
    };
    let classes = scene.db.texts("select code from identity.actor_class order by 1").await;
    let targets: BTreeSet<&str> = rota.transitions.iter().map(|row| row.to.as_str()).collect();
    let (mut accepted, mut tried) = (BTreeMap::<String, usize>::new(), 0);
    for class in classes.into_iter().flatten() {
        let name = format!("o-{}", class.replace('_', "-"));
        let person = Person::service(&scene, &name, &[&class]).await;
        let actor = Actor::new(name, None);
        for to in &targets {
            let key = Uuid::now_v7().to_string();
            let (engine, http) = if *to == rota.initial_state.as_deref().expect("one") {
                let birth = Birth {
                    run_id: None,
                    data: Some(json!({})),
                    parent: None,
                    trace_id: None,
                    request: request(&class, &key, None),
                };
                let engine = engine::start(&scene.store, &actor, "rota", &birth).await.is_ok();
                let body = json!({ "machine": "rota", "actor_class": class });
                (engine, person.post(&scene, "/v1/runs", &format!("{key}/h"), &body).await)
            } else {
                let [one, other] = [planned().await, planned().await];
                let id: Uuid = one[4..].parse().expect("an id");
                let ask = request(&class, &key, Some("planned"));
                let engine = engine::make_move(&scene.store, &actor, id, to, &ask).await.is_ok();
                let body = json!({ "to": to, "from": "planned", "actor_class": class });
                (engine, person.post(&scene, &format!("/v1/runs/{other}/moves"), &key, &body).await)
            };
            let http = http.status.is_success();
            assert_eq!(engine, http, "{class} to {to}: command line {engine}, HTTP {http}");
            *accepted.entry(class.clone()).or_default() += usize::from(engine);
            tried += 1;
        }
    }
    assert_eq!(tried, 12 * 4);
    let held: Vec<_> =
        accepted.iter().filter(|(_, n)| **n > 0).map(|(c, n)| (c.as_str(), *n)).collect();
    let expected = [
        ("escalation_handler", 2),
        ("executor_worker", 2),
        ("mow_orchestrator", 1),
        ("pic_human", 1),
        ("task_pic_human", 1),
    ];
    assert_eq!(held, expected);

    let token = NewToken {
        token_id: Uuid::now_v7(),
        principal: "o-escalation-handler",
        label: "reads",
        scopes: &["run.read".to_owned()],
        seconds: 3600,
        token_sha256: Sha256::digest(b"chy_reads").into(),
        by_token: None,
        acted_by: None,
    };
    scene.db.store(Role::Migrator).fn_token_issue(&token).await.expect("a token");
    let run = planned().await;
    let before = scene.db.fingerprint().await;
    let narrow = axum::http::Request::post(format!("/v1/runs/{run}/moves"))
        .header("authorization", "Bearer chy_reads")
        .header("content-type", "application/json")
        .header("idempotency-key", "narrow")
        .body(axum::body::Body::from(json!({ "to": "taken" }).to_string()))
        .expect("a request");
    scene.send(narrow).await.is_refusal(403, "RI040");
    assert_eq!(before, scene.db.fingerprint().await, "nothing changed");
}
