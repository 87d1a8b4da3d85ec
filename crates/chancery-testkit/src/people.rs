//! People whose signatures verify, and what they approve.

use std::time::Duration;

use chancery_engine::approval::{self, Decision, NewRequest};
use chancery_engine::identity::OwnKey;
use chancery_engine::run::Actor;
use chancery_store::Store;
use ed25519_dalek::SigningKey;
use serde_json::json;
use uuid::Uuid;

/// Somebody with a key that was made from a number: what they sign verifies.
pub(crate) async fn actor(
    operator: &Store,
    name: &str,
    kind: &str,
    classes: &[&str],
    seed: u8,
) -> Actor {
    let classes: Vec<String> = classes.iter().map(|&class| class.to_owned()).collect();
    operator.fn_principal_add(name, kind, &classes, None).await.expect("a principal");
    let own = OwnKey { key_id: Uuid::now_v7(), key: SigningKey::from_bytes(&[seed; 32]) };
    own.register(operator, name, None, None).await.expect("a key");
    Actor::new(name, Some(own))
}

/// An approval that one asked for and a sovereign gave.
pub(crate) async fn approved(
    store: &Store,
    asks: &Actor,
    sovereign: &Actor,
    kind: &str,
    subject: Uuid,
    digest: Option<Vec<u8>>,
) -> Uuid {
    let request = NewRequest {
        approval_id: None,
        kind: kind.to_owned(),
        subject_ref: subject.to_string(),
        subject_digest: digest,
        risk: None,
        title: "Let it happen".to_owned(),
        facts: json!({}),
        expires_in: Duration::from_secs(600),
    };
    let asked = approval::request(store, asks, "pic_human", &request).await.expect("a request");
    let id = asked.approval_id;
    approval::vote(store, sovereign, "sovereign", id, Decision::Approve, None)
        .await
        .expect("a vote");
    id
}
