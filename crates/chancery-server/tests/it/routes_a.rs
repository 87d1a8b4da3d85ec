//! UIW-1: machines, runs, principals, documents and the knowledge base over HTTP.

use std::collections::BTreeSet;
use std::fs;

use chancery_store::Role;
use chancery_store::iu::NewUnit;
use chancery_testkit::{repo_path, shipped};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::routes_a_client::{Person, column};
use crate::scene::Scene;

fn named(actions: &Value, name: &str) -> Value {
    let all = actions.as_array().expect("actions");
    all.iter().find(|action| action["name"] == name).cloned().unwrap_or_default()
}

async fn purchases(scene: &Scene) {
    let path = repo_path("machines/examples/purchase_approval.yaml");
    scene.db.machine(&fs::read_to_string(path).expect("the example")).await;
}

/// SEC-2, UIW-1: a run is started and moved by a signature that is made where the key lies; repeated it is the same, otherwise it is refused
/// and nothing changes.
#[tokio::test]
async fn a_run_is_started_moved_and_shown() {
    let scene = Scene::new().await;
    purchases(&scene).await;
    let ann = Person::new(&scene, "ann", &["pic_human"]).await;
    let rob = Person::new(&scene, "rob", &["reviewer"]).await;
    let new =
        json!({ "machine": "purchase_approval", "data": { "amount": 120 }, "reason": "giấy in" });

    let before = scene.db.fingerprint().await;
    let asked = ann.change("/v1/runs", "first", &new, None).await;
    let signature = ann.sign(&asked);
    let wrong = ann.change("/v1/runs", "first", &new, Some(&signature.spoiled())).await;
    wrong.is_problem(428, "signature_needed");
    for (body, status, problem) in [
        (json!({ "machine": "purchase_approval", "state": "approved" }), 422, "request_invalid"),
        (
            json!({ "machine": "purchase_approval", "run_id": Uuid::now_v7() }),
            422,
            "request_invalid",
        ),
        (json!({ "machine": "purchase_approval", "data": 1 }), 422, "request_invalid"),
        (json!({}), 422, "request_invalid"),
    ] {
        ann.change("/v1/runs", "bad", &body, None).await.is_problem(status, problem);
    }
    ann.send("POST", "/v1/runs", &[], &new).await.is_problem(428, "idempotency_key_missing");
    assert_eq!(scene.db.fingerprint().await, before, "nothing was done");

    let started = ann.change("/v1/runs", "first", &new, Some(&signature)).await;
    let run = started.is(201).body["run_id"].as_str().expect("an id").to_owned();
    assert!(run.starts_with("run_"), "{run}");
    let again = ann.change("/v1/runs", "first", &new, Some(&signature)).await;
    assert_eq!(
        (&again.is(201).body["run_id"], &again.body["replayed"]),
        (&json!(run), &json!(true))
    );
    assert_eq!(again.body["hash"], started.body["hash"]);
    let signed = "select count(*)::text from fsm.transition_log where run_kind = 'custom' and signature is not null";
    assert_eq!(scene.db.text(signed).await, "1");

    let path = format!("/v1/runs/{run}");
    let shown = ann.get(&path).await;
    assert_eq!(
        (&shown.is(200).body["state"], &shown.headers["etag"]),
        (&json!("draft"), &"\"1\"".parse().expect("an etag"))
    );
    let submit = named(&shown.body["actions"], "purchase_submit");
    assert_eq!((&submit["allowed"], &submit["to"]), (&json!(true), &json!("submitted")));
    // What a caller still has to bring is no objection.
    let cancel = named(&shown.body["actions"], "purchase_cancel");
    assert_eq!(
        (&cancel["allowed"], &cancel["needs"][0]["guard"]),
        (&json!(true), &json!("reason_given"))
    );
    let others = rob.get(&path).await;
    let submit = named(&others.is(200).body["actions"], "purchase_submit");
    assert_eq!(submit["allowed"], false);
    assert!(submit["problems"].to_string().contains("RI003"), "{submit}");

    let moves = format!("{path}/moves");
    let to_submitted = json!({ "to": "submitted" });
    let preview =
        rob.send("POST", &format!("{path}/preview"), &[], &json!({ "to": "approved" })).await;
    assert_eq!(preview.is(200).body["ok"], false);
    let preview = ann.send("POST", &format!("{path}/preview"), &[], &to_submitted).await;
    assert_eq!(preview.is(200).body["ok"], true);

    let stale = [("idempotency-key", "m1"), ("if-match", "\"7\"")];
    ann.send("POST", &moves, &stale, &to_submitted).await.is_problem(412, "has_changed");
    let (moved, signature) = ann.signed(&moves, "m1", &to_submitted).await;
    assert_eq!((&moved.is(200).body["to"], &moved.body["seq"]), (&json!("submitted"), &json!(2)));
    let again = ann.change(&moves, "m1", &to_submitted, Some(&signature)).await;
    assert_eq!(again.is(200).body["replayed"], true);
    assert_eq!(again.body["hash"], moved.body["hash"]);
    // Nobody is asked to sign it first.
    let cancelled = json!({ "to": "cancelled", "evidence": { "reason": "x" } });
    let other = ann.change(&moves, "m1", &cancelled, None).await;
    other.is_refusal(409, "RS012");
    let approved = json!({ "to": "approved", "actor_class": "reviewer" });
    let own = ann.change(&moves, "m2", &approved, None).await;
    assert!(own.is(422).body["problems"].to_string().contains("RI003"), "{own:?}");
    let (approved, _) =
        rob.signed(&moves, "m3", &json!({ "to": "approved", "from": "submitted" })).await;
    assert_eq!(approved.is(200).body["to"], "approved");
    let state = format!("select state_code from fsm.run where run_id = '{}'", &run[4..]);
    assert_eq!(scene.db.text(&state).await, "approved");

    let history = ann.all(&format!("{path}/history"), 2).await;
    assert_eq!(column(&history, "to"), ["draft", "submitted", "approved"]);

    // Pages lose nothing, and filters hold in them.
    for n in 0..5 {
        let body = json!({ "machine": "purchase_approval", "data": { "amount": n } });
        ann.signed("/v1/runs", &format!("n{n}"), &body).await.0.is(201);
    }
    let all: BTreeSet<String> =
        column(&ann.all("/v1/runs", 2).await, "run_id").into_iter().collect();
    assert_eq!(all.len(), 6);
    assert_eq!(ann.all("/v1/runs?machine=purchase_approval&state=draft", 3).await.len(), 5);
    assert_eq!(ann.all("/v1/runs?machine=other", 3).await.len(), 0);
}

/// SEC-2: ids that are missing, malformed or of something else, cursors and limits that are none.
#[tokio::test]
async fn what_is_not_there_is_told_apart_from_what_is_no_id() {
    let scene = Scene::new().await;
    purchases(&scene).await;
    let sofia = Person::new(&scene, "sofia", &["sovereign"]).await;
    let id = Uuid::now_v7().simple().to_string();
    let before = scene.db.fingerprint().await;
    for (path, prefix, status, code) in [
        ("/v1/runs/ID", "run", 404, Some("RS001")),
        ("/v1/runs/ID/history", "run", 404, Some("RS001")),
        ("/v1/approvals/ID", "apr", 404, Some("RA002")),
        ("/v1/entries/ID", "ent", 404, Some("RC001")),
        ("/v1/orchestrator/runs/ID", "orc", 404, Some("RO001")),
        ("/v1/units/ID", "unt", 404, None),
    ] {
        let at = |id: &str| path.replace("ID", id);
        let missing = sofia.get(&at(&format!("{prefix}_{id}"))).await;
        match code {
            Some(code) => missing.is_refusal(status, code),
            None => missing.is_problem(status, "not_found"),
        };
        for bad in [
            "1",
            "x",
            &format!("wfr_{id}"),
            &format!("{prefix}_{}", id.to_uppercase()),
            "..%2f..%2fetc",
        ] {
            sofia.get(&at(bad)).await.is_problem(400, "id_malformed");
        }
    }
    let orc = format!("orc_{id}");
    for (path, body) in [
        (format!("/v1/runs/run_{id}/moves"), json!({ "to": "x" })),
        (format!("/v1/approvals/apr_{id}/votes"), json!({ "decision": "approve" })),
        (format!("/v1/entries/ent_{id}/abandon"), json!({ "reason": "x" })),
        (format!("/v1/orchestrator/runs/{orc}/stop"), json!({ "reason": "x" })),
    ] {
        sofia.change(&path, "k", &body, None).await.is(404);
        let mut more = body.clone();
        more["signed"] = json!(true);
        sofia.change(&path, "k", &more, None).await.is_problem(422, "request_invalid");
    }
    for path in [
        "/v1/documents/none",
        "/v1/documents/none/units",
        "/v1/documents/none/source",
        "/v1/principals/none",
        "/v1/kb/document?path=none",
        "/v1/kb/verify?path=none",
    ] {
        sofia.get(path).await.is_problem(404, "not_found");
    }
    sofia.get("/v1/machines/none").await.is_refusal(404, "RS018");
    sofia.get("/v1/machines/purchase_approval?version=9.9.9").await.is_refusal(404, "RS018");
    for list in [
        "runs",
        "machines",
        "principals",
        "documents",
        "kb",
        "approvals",
        "entries",
        "orchestrator/runs",
    ] {
        for query in [
            "limit=0",
            "limit=501",
            "limit=x",
            "after=x",
            "after=bnVsbA",
            "after=IlwwIg",
            "colour=red",
        ] {
            let answer = sofia.get(&format!("/v1/{list}?{query}")).await;
            answer.is_problem(400, "query_invalid");
        }
    }
    sofia.get("/v1/approvals?state=done").await.is_problem(400, "query_invalid");
    assert_eq!(scene.db.fingerprint().await, before, "nothing was done");
}

/// SEC-2, UIW-1: machines with their pictures, principals with their keys; who may not see them is told so.
#[tokio::test]
async fn machines_and_principals_are_shown() {
    let scene = Scene::new().await;
    purchases(&scene).await;
    let rob = Person::new(&scene, "rob", &["reviewer"]).await;
    let tess = Person::new(&scene, "tess", &["task_pic_human"]).await;
    let machines = column(&rob.all("/v1/machines", 1).await, "state_machine_id");
    let once: std::collections::BTreeSet<&String> = machines.iter().collect();
    assert_eq!(
        once.len(),
        machines.len(),
        "none is lost between pages, none is there twice: {machines:?}"
    );
    let are_there = |name: &str| machines.iter().any(|machine| machine == name);
    assert!(["purchase_approval@1.0.0", "job@1.1.0"].into_iter().all(are_there), "{machines:?}");
    let machine = rob.get("/v1/machines/purchase_approval").await;
    assert_eq!(machine.is(200).body["definition"]["states"].as_array().map(Vec::len), Some(8));
    let etag = machine.headers["etag"].to_str().expect("an etag").trim_matches('"').to_owned();
    assert_eq!(machine.body["definition_sha256"], etag.as_str());
    let same = tess.get("/v1/machines/purchase_approval?version=1.0.0").await;
    assert_eq!(same.is(200).body["state_machine_id"], machine.body["state_machine_id"]);
    let picture = rob.raw("GET", "/v1/machines/purchase_approval/diagram", &[], None).await;
    assert_eq!(picture.headers["content-type"], "text/plain; charset=utf-8");
    let text = String::from_utf8(picture.bytes).expect("text");
    assert!(text.contains("stateDiagram-v2") && text.contains("draft --> submitted"), "{text}");

    let names = column(&rob.all("/v1/principals", 1).await, "name");
    assert_eq!(names, ["chancery", "rob", "tess"]);
    let shown = rob.get("/v1/principals/tess").await;
    assert_eq!(shown.is(200).body["actor_classes"], json!(["task_pic_human"]));
    assert!(shown.body["keys"][0]["key_id"].as_str().is_some_and(|id| id.starts_with("key_")));
    assert_eq!(shown.body["keys"][0]["public_key"].as_str().map(str::len), Some(64));
    tess.get("/v1/principals").await.is_refusal(403, "RI040");
    tess.get("/v1/principals/none").await.is_refusal(403, "RI040");
}

/// IU-1, UIW-5: a document comes back byte for byte; what cannot be cut is not stored; a unit with the text that holds, or one that was pinned.
#[tokio::test]
async fn a_document_is_stored_as_it_is() {
    let scene = Scene::new().await;
    let ann = Person::new(&scene, "ann", &["pic_human"]).await;
    let eve = Person::new(&scene, "eve", &["observer"]).await;
    let text = "# Một\r\n\r\nđầu  \n\n## Hai\n\ncuối — không xuống dòng";
    let new = json!({ "document_id": "luat", "prefix": "LUAT", "text": text });
    let before = scene.db.fingerprint().await;
    eve.send("POST", "/v1/documents", &[], &new).await.is_refusal(403, "RI040");
    let with = |name: &str, value: Value| {
        let mut body = new.clone();
        body[name] = value;
        body
    };
    let send = async |body: Value| ann.send("POST", "/v1/documents", &[], &body).await;
    send(with("text", json!("   "))).await.is_refusal(422, "RI022");
    send(with("document_id", json!("../x"))).await.is_refusal(422, "RI020");
    send(with("created_by", json!("rob"))).await.is_problem(422, "request_invalid");
    send(with("text", json!("x".repeat(1024 * 1024)))).await.is_problem(413, "body_too_large");
    assert_eq!(scene.db.fingerprint().await, before, "nothing was done");

    let added = send(new.clone()).await;
    assert_eq!(
        (&added.is(201).body["version_seq"], &added.body["replayed"]),
        (&json!(1), &json!(false))
    );
    assert_eq!(send(new.clone()).await.is(201).body["replayed"], true);
    let later = format!("{text}\n\n## Ba\n");
    assert_eq!(send(with("text", json!(later))).await.is(201).body["version_seq"], 2);
    let source = |query: &'static str| eve.raw("GET", query, &[], None);
    let newest = source("/v1/documents/luat/source").await;
    assert_eq!(newest.bytes, later.as_bytes());
    assert_eq!(newest.headers["content-type"], "application/octet-stream");
    let first = source("/v1/documents/luat/source?version=1").await;
    assert_eq!(first.bytes, text.as_bytes());
    assert_eq!(source("/v1/documents/luat/source?version=3").await.status, 404);
    let shown = eve.get("/v1/documents/luat").await;
    assert_eq!(shown.is(200).body["versions"], 2);
    let etag = newest.headers["etag"].to_str().expect("an etag").trim_matches('"');
    assert_eq!(shown.body["newest_sha256"], etag);
    for n in 0..3 {
        let body =
            json!({ "document_id": format!("d{n}"), "prefix": format!("DOC{n}"), "text": text });
        send(body).await.is(201);
    }
    let names = column(&eve.all("/v1/documents", 2).await, "document_id");
    assert_eq!(names, ["d0", "d1", "d2", "luat"]);

    let gate = shipped().into_iter().find(|machine| machine.machine == "birth_permit");
    scene.db.definition(&gate.expect("units are born through it")).await;
    scene.db.service("executor", &["executor_dot991"]).await;
    let exec = scene.db.store(Role::CutterExec);
    let mut units = Vec::new();
    for n in 1..=3 {
        let unit = NewUnit {
            canonical_address: format!("LUAT/u{n}"),
            title: format!("Điều {n}"),
            body: format!("nội dung {n}"),
            actor: "executor".to_owned(),
            unit_kind: Some("law_unit".to_owned()),
            section_type: Some("article".to_owned()),
            owner_ref: Some("ann".to_owned()),
            publication_type: Some("law".to_owned()),
            sort_order: 10 - n,
            ..NewUnit::default()
        };
        let made = exec.fn_iu_create(&unit).await.expect("a unit");
        units.push(made["unit_id"].as_str().expect("an id").to_owned());
    }
    let listed = eve.all("/v1/documents/luat/units", 2).await;
    assert_eq!(column(&listed, "address"), ["LUAT/u3", "LUAT/u2", "LUAT/u1"]);
    let first = listed[2].clone();
    exec.fn_iu_edit_draft(Uuid::from_u128(7), "LUAT/u1", "Điều 1", "nội dung mới", "executor")
        .await
        .expect("a draft");
    exec.fn_iu_apply_edit_draft(Uuid::from_u128(7), "executor", None).await.expect("a version");
    let path = format!("/v1/units/unt_{}", units[0].replace('-', ""));
    let newest = eve.get(&path).await;
    assert_eq!(
        (&newest.is(200).body["body"], &newest.body["version_seq"]),
        (&json!("nội dung mới"), &json!(2))
    );
    assert_eq!(newest.body["document_id"], "luat");
    let version = first["version_id"].as_str().expect("an id");
    let pinned = eve.get(&format!("{path}?version_id={version}")).await;
    assert_eq!(
        (&pinned.is(200).body["body"], &pinned.body["newest_version_seq"]),
        (&json!("nội dung 1"), &json!(2))
    );
    eve.get(&format!("{path}?version_id=unv_{}", Uuid::now_v7().simple()))
        .await
        .is_problem(404, "not_found");
    eve.get(&format!("{path}?version_id=unt_{}", Uuid::now_v7().simple()))
        .await
        .is_problem(400, "query_invalid");
}

/// KB-1: a revision is written on the one that was read, signed by who read it, and what somebody changed behind our backs is found.
#[tokio::test]
async fn the_knowledge_base_is_written_signed_and_verified() {
    let scene = Scene::new().await;
    let ann = Person::new(&scene, "ann", &["pic_human"]).await;
    let eve = Person::new(&scene, "eve", &["observer"]).await;
    let put = async |on: &str, body: &str| {
        let body = json!({ "path": "notes/one", "body": body });
        let headers: Vec<(&str, &str)> =
            if on.is_empty() { vec![] } else { vec![("if-match", on)] };
        ann.send("PUT", "/v1/kb/document", &headers, &body).await
    };
    let first = put("\"0\"", "một").await;
    assert_eq!(
        (&first.is(200).body["revision"], &first.headers["etag"]),
        (&json!(1), &"\"1\"".parse().expect("an etag"))
    );
    assert_eq!(put("\"0\"", "một").await.is(200).body["replayed"], true);
    put("\"0\"", "khác").await.is_problem(412, "has_changed");
    put("revision 1", "khác").await.is_problem(412, "has_changed");
    assert_eq!(put("\"1\"", "hai").await.is(200).body["revision"], 2);
    put("\"1\"", "ba").await.is_problem(412, "has_changed");
    let bad = json!({ "path": "../etc", "body": "x" });
    ann.send("PUT", "/v1/kb/document", &[], &bad).await.is_refusal(422, "RA020");
    let owned = json!({ "path": "notes/one", "body": "x", "author": "eve" });
    ann.send("PUT", "/v1/kb/document", &[], &owned).await.is_problem(422, "request_invalid");
    eve.send("PUT", "/v1/kb/document", &[], &json!({ "path": "a", "body": "x" }))
        .await
        .is_refusal(403, "RI040");
    assert_eq!(scene.db.count("kb.revision").await, 2);

    let sign = json!({ "path": "notes/one", "revision": 2, "meaning": "approved" });
    let (signed, signature) = ann.signed("/v1/kb/signatures", "s1", &sign).await;
    assert_eq!(
        (&signed.is(201).body["signer"], &signed.body["replayed"]),
        (&json!("ann"), &json!(false))
    );
    let again = ann.change("/v1/kb/signatures", "s1", &sign, Some(&signature)).await;
    assert_eq!(
        (&again.is(201).body["signature_id"], &again.body["replayed"]),
        (&signed.body["signature_id"], &json!(true))
    );
    let other = json!({ "path": "notes/one", "revision": 1, "meaning": "approved" });
    ann.change("/v1/kb/signatures", "s1", &other, Some(&signature))
        .await
        .is_problem(428, "signature_needed");
    let none = json!({ "path": "notes/one", "revision": 9, "meaning": "approved" });
    ann.change("/v1/kb/signatures", "s2", &none, None).await.is_problem(404, "not_found");
    assert_eq!(scene.db.count("kb.revision_signature").await, 1);

    let shown = eve.get("/v1/kb/document?path=notes/one").await;
    assert_eq!(
        (&shown.is(200).body["body"], &shown.headers["etag"]),
        (&json!("hai"), &"\"2\"".parse().expect("an etag"))
    );
    assert_eq!(shown.body["signed"][0]["signer"], "ann");
    assert_eq!(
        eve.get("/v1/kb/document?path=notes/one&revision=1").await.is(200).body["body"],
        "một"
    );
    for path in ["notes/two", "notes/b/c", "other"] {
        let body = json!({ "path": path, "body": "x" });
        ann.send("PUT", "/v1/kb/document", &[], &body).await.is(200);
    }
    assert_eq!(
        column(&eve.all("/v1/kb", 1).await, "path"),
        ["notes/b/c", "notes/one", "notes/two", "other"]
    );
    assert_eq!(
        column(&eve.all("/v1/kb?prefix=notes/", 2).await, "path"),
        ["notes/b/c", "notes/one", "notes/two"]
    );
    let fits = eve.get("/v1/kb/verify").await;
    assert_eq!(
        fits.is(200).body,
        json!({ "ok": true, "revisions": 5, "signatures": 1, "mismatches": [] })
    );
    scene
        .db
        .forge(&["update kb.revision set author = 'eve' where path = 'notes/one' and revision = 2"])
        .await;
    let forged = eve.get("/v1/kb/verify?path=notes/one").await;
    assert_eq!(forged.is(200).body["ok"], false);
    assert_eq!(forged.body["mismatches"][0]["table"], "kb.revision");
}
