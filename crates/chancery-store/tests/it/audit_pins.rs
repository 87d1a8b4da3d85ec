//! AUD-1, SEC-1: what an auditor asks of those whose keys are pinned. A person signs every move; a service signs its attestations and decisions, and its
//! moves are held by its login.

use chancery_engine::audit::{self, Pins, Report};
use chancery_store::{Role, Store};
use chancery_testkit::keys;
use serde_json::json;

use crate::approval_world::Panel;
use crate::support::{LETTER, birth, check};

fn pins(names: &[&str]) -> Pins {
    let mut pins = Pins::default();
    for name in names {
        pins.add(name, &hex::encode(keys::public_key(name))).expect("a key");
    }
    pins
}

async fn audited(auditor: &Store, names: &[&str]) -> Report {
    audit::verify(auditor, pins(names), |_| ()).await.expect("an audit")
}

/// AUD-1: unsigned moves of a pinned service are no finding and are said; one of a pinned person is found, whatever the settings say.
#[tokio::test]
async fn a_pinned_service_need_not_sign_and_a_pinned_person_must() {
    let panel = Panel::new().await;
    let db = &panel.db;
    db.service("writer", &["executor_worker"]).await;
    db.machine(LETTER).await;
    let operator = db.store(Role::Migrator);
    keys::register(&operator, "writer").await;
    let store = db.store(Role::App);
    let letter = store.fn_run_start(&birth("letter", json!({ "words": 3 }))).await;
    let letter = letter.expect("a letter").run_id;
    let auditor = db.store(Role::Auditor);
    let report = audited(&auditor, &["writer", "rita"]).await;
    assert_eq!(report.mismatches, []);
    let said: Vec<_> = report.unsigned_services.iter().collect();
    assert_eq!(said, [(&"writer".to_owned(), &1)]);
    let nobody = audited(&auditor, &[]).await;
    assert_eq!((nobody.mismatches.len(), nobody.unsigned_services.len()), (0, 0));

    // Rita moves it without a signature, once nobody has to sign any more.
    panel
        .as_owner("update config.dot_config set value = 'false' where key = 'identity.signature_required.human'")
        .await;
    let mut unsigned = check(letter);
    unsigned.principal = "rita".to_owned();
    store.fn_state_transition_apply(&unsigned).await.expect("moved");
    assert_eq!(audited(&auditor, &["writer"]).await.mismatches, []);
    let report = audited(&auditor, &["writer", "rita"]).await;
    let found: Vec<&str> = report.mismatches.iter().map(|m| m.what.as_str()).collect();
    assert_eq!(found, ["rita must sign, and this move carries no signature"]);
}
