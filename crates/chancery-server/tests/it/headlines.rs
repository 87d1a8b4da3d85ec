//! What pages say at their heads, over HTTP: true for who reads it, in both languages, with nothing in it that the page would hide.

use serde_json::{Value, json};
use uuid::Uuid;

use crate::person::Person;
use crate::routes_b::{Office, plain};
use crate::scene::{Answer, Scene};

async fn said(scene: &Scene, person: &Person, page: &str, subject: &str, locale: &str) -> Answer {
    let subject = match subject {
        "" => String::new(),
        subject => format!("&subject={subject}"),
    };
    person.get(scene, &format!("/v1/headlines/{page}?locale={locale}{subject}")).await
}

/// The sentence in English and in Vietnamese, each whole, and what is to be done next.
async fn both(
    scene: &Scene,
    person: &Person,
    page: &str,
    subject: &str,
) -> (String, String, Value) {
    let (en, vi) = (
        said(scene, person, page, subject, "en").await,
        said(scene, person, page, subject, "vi").await,
    );
    for (answer, locale) in [(&en, "en"), (&vi, "vi")] {
        let body = &answer.is(200).body;
        assert_eq!((&body["page"], &body["locale"]), (&json!(page), &json!(locale)), "{body}");
        let text = body["sentence"].as_str().expect("a sentence");
        let whole = !text.contains(['{', '}']) && !text.contains("headline.");
        assert!(whole && text.ends_with('.'), "{page}: {text}");
        if let Some(label) = body["action"]["label"].as_str() {
            assert!(!label.contains("headline."), "{page}: {label}");
            let to = body["action"]["to"].as_str().expect("a path");
            assert!(to.starts_with('/') && !to.starts_with("//"), "{page}: {to}");
        }
    }
    assert_eq!(en.body["tone"], vi.body["tone"]);
    assert_eq!(en.body["action"]["to"], vi.body["action"]["to"]);
    let text = |answer: &Answer| answer.body["sentence"].as_str().expect("a sentence").to_owned();
    let mut next = en.body["action"].clone();
    next["tone"] = en.body["tone"].clone();
    (text(&en), text(&vi), next)
}

const LISTS: [&str; 14] = [
    "problems",
    "inbox",
    "runs",
    "workflows",
    "entries",
    "orchestrator",
    "documents",
    "permits",
    "workers",
    "lag",
    "kb",
    "machines",
    "audit",
    "keys",
];

/// Every page of a list has its sentence, also when there is nothing; what is asked wrongly is told like everywhere else.
#[tokio::test]
async fn every_page_has_its_sentence() {
    let office = Office::new().await;
    let Office { scene, alice, sid, .. } = &office;
    for page in LISTS {
        let (en, vi, _) = both(scene, sid, page, "").await;
        assert_ne!(en, vi, "{page}");
    }
    for category in [
        "dlq",
        "silent_worker",
        "overdue_step",
        "schema_violation",
        "event_lag",
        "integrity",
        "failed_cut",
        "orphan_workflow",
    ] {
        both(scene, sid, "category", category).await;
    }
    both(scene, sid, "machine", "step").await;
    both(scene, sid, "workflow", "everything").await;

    let nobody = Uuid::now_v7().simple();
    for (page, prefix, code) in [
        ("run", "wfr", "RW001"),
        ("step", "stp", "RW001"),
        ("task", "tsk", "RW001"),
        ("change", "chg", "RW001"),
        ("approval", "apr", "RA002"),
        ("entry", "ent", "RC001"),
        ("orchestrator_run", "orc", "RO001"),
        ("permit", "prm", "RB019"),
    ] {
        said(scene, sid, page, &format!("{prefix}_{nobody}"), "vi").await.is_refusal(404, code);
        said(scene, sid, page, &format!("ses_{nobody}"), "vi")
            .await
            .is_problem(400, "id_malformed");
        said(scene, sid, page, "..%2Fetc", "vi").await.is_problem(400, "id_malformed");
        said(scene, sid, page, "", "vi").await.is_problem(400, "query_invalid");
    }
    for (page, subject, code) in [
        ("workflow", "nothing", "RW001"),
        ("machine", "nothing", "RS018"),
        ("category", "nothing", "RE040"),
        ("problem", "nothing/x", "RE040"),
        ("problem", "dlq/x", "RE041"),
        ("problem", "dlq", "RE041"),
    ] {
        said(scene, sid, page, subject, "en").await.is_refusal(404, code);
    }
    for (page, subject) in [
        ("document", "nothing"),
        ("kb_document", "no/thing"),
        ("replay", &*format!("bat_{nobody}")),
        ("dance", ""),
        ("", ""),
        ("runs%2F", ""),
    ] {
        said(scene, sid, page, subject, "en").await.is_problem(404, "not_found");
    }
    said(scene, sid, "runs", "x", "en").await.is_problem(400, "query_invalid");
    said(scene, sid, "runs", "", "xx").await.is_problem(400, "query_invalid");
    said(scene, sid, "machine", &"x".repeat(1001), "en").await.is_problem(400, "query_invalid");
    // Who may not see a page is not told its sentence.
    let tom = Person::new(scene, "tom", "human", &["task_pic_human"]).await;
    for page in ["problems", "workers", "permits", "entries", "orchestrator"] {
        said(scene, &tom, page, "", "en").await.is_refusal(403, "RI040");
    }
    said(scene, alice, "category", "integrity", "en").await.is_refusal(403, "RI040");
}

/// A run names the step that decides its colour and leads to it; who may not see that step is not told which it is.
#[tokio::test]
async fn a_run_names_the_step_that_decides() {
    let office = Office::new().await;
    let Office { scene, flow, alice, sid, .. } = &office;
    let (run, steps) = office.run().await;
    let id = |key: &str| {
        let step = steps.iter().find(|one| one["key"] == key).expect("a step");
        step["step_id"].as_str().expect("an id").to_owned()
    };
    let (draft, seal) = (id("draft"), id("seal"));
    let (en, _, next) = both(scene, alice, "run", &run).await;
    assert!(en.starts_with("All is well. 0 % ") && en.contains("(0 of 3)"), "{en}");
    assert_eq!(next["tone"], "good");

    let act = async |person: &Person, path: &str, key: &str, body: Value| {
        person.done(scene, &format!("{path}/moves"), key, &body).await.is(200);
    };
    let path = format!("/v1/steps/{draft}");
    act(alice, &path, "m1", json!({ "call": "step_claim" })).await;
    let block = json!({ "call": "step_block", "evidence": { "block_reason": "missing_input" } });
    act(alice, &path, "m2", block.clone()).await;
    let (en, vi, next) = both(scene, alice, "run", &run).await;
    assert!(en.starts_with("Held up by step 1 “Draft” (blocked, just now)."), "{en}");
    assert!(vi.starts_with("Đang chậm vì bước 1 “Soạn thảo đơn” (bị chặn, vừa xong)."), "{vi}");
    // The sealed step waits behind it as well; alice is told of what she sees.
    assert!(en.ends_with(" 1 step waits behind it."), "{en}");
    let (his, ..) = both(scene, sid, "run", &run).await;
    assert!(his.ends_with(" 2 steps wait behind it."), "{his}");
    assert_eq!(
        next,
        json!({ "tone": "warn", "label": "Go to the cause", "to": format!("/runs/{run}?step={draft}") })
    );
    let (en, vi, _) = both(scene, alice, "step", &draft).await;
    assert!(
        en.contains("blocked: something to work with is missing") && en.contains("alice"),
        "{en}"
    );
    assert!(vi.contains("bị chặn: thiếu dữ liệu đầu vào"), "{vi}");
    let (en, _, next) = both(scene, alice, "runs", "").await;
    let open = alice.get(scene, "/v1/workflow-runs?state=open").await;
    assert_eq!(open.is(200).body["items"].as_array().expect("runs").len(), 1);
    assert_eq!(en, "1 run is open. 1 is yellow.");
    assert_eq!(next["to"], json!(format!("/runs/{run}")));
    let (en, ..) = both(scene, alice, "workflow", "letters").await;
    assert_eq!(en, "Version 1, 2 steps. 1 run is open.", "as many as alice sees");
    let (en, ..) = both(scene, sid, "workflow", "letters").await;
    assert_eq!(en, "Version 1, 3 steps. 1 run is open.");

    // Then it hangs on the sealed step.
    let mended = json!({ "call": "blocker_resolved", "evidence": { "resolution_ref": "t" } });
    act(alice, &path, "m3", mended).await;
    let task = alice.get(scene, &path).await.body["tasks"][0]["task_id"]
        .as_str()
        .expect("a task")
        .to_owned();
    both(scene, alice, "task", &task).await;
    let task = format!("/v1/tasks/{task}");
    act(alice, &task, "t1", json!({ "call": "task_claim" })).await;
    act(alice, &task, "t2", json!({ "call": "task_complete", "document": {} })).await;
    act(alice, &path, "m4", json!({ "call": "step_complete", "document": {} })).await;
    flow.turn(plain(&run)).await;
    let path = format!("/v1/steps/{seal}");
    let sam = Person::new(scene, "sam", "human", &["sovereign", "pic_human"]).await;
    act(&sam, &path, "s1", json!({ "call": "step_claim", "actor_class": "pic_human" })).await;
    act(&sam, &path, "s2", block).await;
    let (en, vi, next) = both(scene, alice, "run", &run).await;
    // Red or yellow: when the critical path is drawn anew is the loop's to choose.
    assert!(en.contains(" a step that you do not see (blocked"), "{en}");
    assert!(!format!("{en}{vi}{next}").contains("seal") && !vi.contains("dấu"), "{en} {vi}");
    assert!(next["to"].is_null(), "{next}");
    let (_, vi, next) = both(scene, sid, "run", &run).await;
    assert!(
        vi.contains("“Đóng dấu mật”") && next["to"].as_str().is_some_and(|to| to.contains(&seal)),
        "{vi}"
    );
    said(scene, alice, "step", &seal, "vi").await.is_refusal(404, "RW001");
    both(scene, sid, "step", &seal).await;
}

/// What waits for somebody is counted as the inbox lists it, a change says what it changes and what it lacks.
#[tokio::test]
async fn a_change_says_what_it_lacks_and_for_whom() {
    let office = Office::new().await;
    let Office { scene, alice, bob, sid, .. } = &office;
    let body = json!({ "definition": crate::routes_b::letters("Draft") });
    let made = alice.done(scene, "/v1/changes", "c1", &body).await;
    let change = made.is(201).body["change_id"].as_str().expect("an id").to_owned();
    let (en, vi, next) = both(scene, alice, "change", &change).await;
    assert!(en.starts_with("Proposal for letters: adds 2 steps"), "what alice sees: {en}");
    assert!(vi.contains("Bản nháp của alice"), "{vi}");
    assert_eq!(next["label"], "Hand it in");
    let (en, ..) = both(scene, sid, "change", &change).await;
    assert!(en.contains("adds 3 steps"), "{en}");

    let path = format!("/v1/changes/{change}/submit");
    let handed = alice.done(scene, &path, "c2", &json!({})).await;
    let approval = handed.is(200).body["approval"]["approval_id"].as_str().expect("an id");
    let approval = format!("apr_{}", approval.replace("apr_", "").replace('-', ""));
    let (en, _, next) = both(scene, bob, "change", &change).await;
    assert!(en.contains("No run changes until 1 more person approves."), "{en}");
    assert_eq!(next["to"], json!(format!("/approvals/{approval}")));
    for person in [alice, bob, sid] {
        let inbox = person.get(scene, "/v1/inbox").await;
        let waiting = inbox.is(200).body["waiting_count"].as_i64().expect("a count");
        let (en, vi, next) = both(scene, person, "inbox", "").await;
        match waiting {
            0 => assert_eq!(en, "Nothing waits for you."),
            1 => assert!(
                en.starts_with("1 thing waits for you: “") && vi.starts_with("1 việc chờ bạn"),
                "{en}"
            ),
            n => assert!(en.starts_with(&format!("{n} things wait for you")), "{en}"),
        }
        assert_eq!(next["to"].is_string(), waiting > 0);
    }
    let (en, _, next) = both(scene, sid, "approval", &approval).await;
    assert!(en.contains("lacks 1 vote") && en.contains("expires in"), "{en}");
    assert_eq!((&next["label"], &next["tone"]), (&json!("Review and sign"), &json!("warn")));
    let (_, _, next) = both(scene, alice, "approval", &approval).await;
    assert!(next["label"].is_null(), "her own request is not hers to decide: {next}");
    let (en, ..) = both(scene, sid, "workflows", "").await;
    assert_eq!(en, "1 workflow can be started. 1 change waits to be decided.");
}

/// The page of problems, a category and a problem say what the lists say, and lead to the worst.
#[tokio::test]
async fn problems_are_said_as_they_are_listed() {
    let office = Office::new().await;
    let Office { scene, sid, alice, .. } = &office;
    let (_, steps) = office.run().await;
    let draft = steps[0]["step_id"].as_str().expect("an id").to_owned();
    let moves = format!("/v1/steps/{draft}/moves");
    alice.done(scene, &moves, "m1", &json!({ "call": "step_claim" })).await.is(200);
    let block = json!({ "call": "step_block", "evidence": { "block_reason": "missing_iu" } });
    alice.done(scene, &moves, "m2", &block).await.is(200);
    let late = format!(
        "update workflow.step_run set deadline = deadline - interval '10 days' where step_run_id = '{}'",
        plain(&draft)
    );
    scene.db.forge(&[&late]).await;

    let page = sid.get(scene, "/v1/problems").await;
    let (en, vi, next) = both(scene, sid, "problems", "").await;
    assert_eq!(
        (&json!(en), &json!(vi)),
        (&page.is(200).body["headline_en"], &page.body["headline_vi"])
    );
    let to = next["to"].as_str().expect("the worst").to_owned();
    assert_eq!(to, format!("/governance/problems/overdue_step/step%3A{}", plain(&draft)));
    let listed = sid.get(scene, "/v1/problems/overdue_step").await;
    let items = listed.is(200).body["items"].as_array().expect("items").clone();
    let (en, ..) = both(scene, sid, "category", "overdue_step").await;
    assert!(en.starts_with(&format!("Overdue steps: {}, 1 cause.", items.len())), "{en}");
    let (_, vi, next) =
        both(scene, sid, "problem", &format!("overdue_step/step:{}", plain(&draft))).await;
    assert!(vi.contains("Soạn thảo đơn trong letters đã quá hạn, 8 ngày trước."), "{vi}");
    assert_eq!(next["to"], json!(format!("/steps/{draft}")));
    let (en, _, next) = both(scene, sid, "step", &draft).await;
    assert!(en.contains("It was due 8 days ago.") && next["tone"] == "bad", "{en}");
}
