//! Keys that tests sign with: made from a name, the same in every run.

use chancery_engine::identity::OwnKey;
use chancery_model::canonical;
use chancery_model::envelope::Statement;
use chancery_store::Store;
use ed25519_dalek::SigningKey;
use serde_json::json;
use uuid::Uuid;

/// The key of this name.
pub fn signing_key(name: &str) -> SigningKey {
    SigningKey::from_bytes(&canonical::sha256(&json!({ "key of": name })))
}

/// Its public half.
pub fn public_key(name: &str) -> [u8; 32] {
    signing_key(name).verifying_key().to_bytes()
}

/// With which it says that it is somebody's.
pub fn possession(name: &str, principal: &str) -> [u8; 64] {
    let key = signing_key(name);
    Statement::possession(principal, &key.verifying_key()).sign(&key)
}

/// A signature under a statement.
pub fn sign(name: &str, statement: &Statement) -> Vec<u8> {
    statement.sign(&signing_key(name)).to_vec()
}

/// Registers the key of a principal's own name; gives its id.
///
/// # Panics
/// When the database refuses it.
pub async fn register(operator: &Store, principal: &str) -> Uuid {
    let own = OwnKey { key_id: Uuid::now_v7(), key: signing_key(principal) };
    own.register(operator, principal, None, None).await.expect("a key").key_id
}
