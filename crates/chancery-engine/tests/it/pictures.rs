//! Pictures of workflows are laid out once for a definition, and show a step in one place wherever it is shown: UIW-4, UIW-5, UIW-7.

use std::sync::Arc;

use chancery_engine::workflow::Pictures;
use chancery_model::layout::{Mark, Options};
use chancery_store::workflow::{Act, Pictured};
use chancery_testkit::TestDb;
use chancery_testkit::workflows::{CLERK, Flows, digest};
use serde_json::{Value, json};
use uuid::Uuid;

fn definition(keys: &[&str]) -> Value {
    let title = json!({ "en": "a title", "vi": "một tên" });
    json!({
        "workflow": "pictured", "title": title,
        "steps": keys.iter().map(|key| json!({ "key": key, "title": title })).collect::<Vec<_>>(),
        "relations": keys.windows(2).map(|pair| json!({ "from": pair[0], "to": pair[1] })).collect::<Vec<_>>(),
    })
}

async fn scene() -> (TestDb, Flows) {
    let db = TestDb::new().await;
    let flows = Flows::new(db.target()).await;
    flows.install(&definition(&["a", "b", "c"])).await;
    (db, flows)
}

fn of_name() -> Pictured {
    Pictured::Version { workflow: "pictured".to_owned(), version: None }
}

/// UIW-4, UIW-5
#[tokio::test]
async fn a_definition_and_its_run_have_one_picture_that_is_made_once() {
    let (_db, flows) = scene().await;
    let run = flows.start("pictured").await;
    let (pictures, options) = (Pictures::default(), Options::default());
    let first = pictures.of(&flows.store, &of_name(), &options).await.expect("an answer");
    let first = first.expect("a picture");
    let ids: Vec<_> = first.nodes.iter().map(|node| node.id.as_str()).collect();
    assert_eq!(ids, ["a", "b", "c"]);

    let of_run = pictures.of(&flows.store, &Pictured::Run(run), &options).await.expect("an answer");
    assert!(Arc::ptr_eq(&first, &of_run.expect("a picture")), "the run's picture was made anew");
    let narrow = Options { width: 200, ..options };
    let other = pictures.of(&flows.store, &of_name(), &narrow).await.expect("an answer");
    assert!(!Arc::ptr_eq(&first, &other.expect("a picture")), "another window is another picture");

    let nobody = Pictured::Run(Uuid::now_v7());
    assert_eq!(pictures.of(&flows.store, &nobody, &narrow).await.expect("an answer"), None);
}

/// UIW-7
#[tokio::test]
async fn a_change_is_shown_beside_what_it_changes_and_drawn_anew_when_it_is_written_anew() {
    let (_db, flows) = scene().await;
    let change = Uuid::now_v7();
    let write = async |keys: &[&str]| {
        let proposed = definition(keys);
        let evidence = json!({ "definition_sha256": digest(&proposed) });
        let act = Act {
            run_kind: "workflow_change",
            run_id: change,
            call: "propose",
            evidence: &evidence,
            principal: CLERK,
            actor_class: "pic_human",
            idempotency_key: "propose",
            reason: None,
            signed: None,
        };
        flows.store.fn_workflow_propose(&act, &proposed, "a change").await.expect("a draft");
    };
    let pictures = Pictures::default();
    let marks = async || {
        let (what, options) = (Pictured::Change(change), Options::default());
        let picture = pictures.of(&flows.store, &what, &options);
        let picture = picture.await.expect("an answer").expect("a picture");
        let mut marks: Vec<_> =
            picture.nodes.iter().map(|node| (node.id.clone(), node.mark)).collect();
        marks.sort_by(|left, right| left.0.cmp(&right.0));
        marks
    };
    let mark = |key: &str, mark| (key.to_owned(), Some(mark));
    write(&["a", "c", "d"]).await;
    let expected = [
        mark("a", Mark::Kept),
        mark("b", Mark::Removed),
        mark("c", Mark::Kept),
        mark("d", Mark::Added),
    ];
    assert_eq!(marks().await, expected);
    write(&["a", "b", "c", "d"]).await;
    assert_eq!(marks().await[1], mark("b", Mark::Kept));
}
