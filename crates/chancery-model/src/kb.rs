//! The text that stands under a revision of a document of the knowledge base with somebody's signature.

use serde_json::json;
use uuid::Uuid;

use crate::canonical;

/// What somebody signs under a revision.
#[derive(Debug, Clone, Copy)]
pub struct Signature<'a> {
    pub signature_id: Uuid,
    pub path: &'a str,
    pub revision: i32,
    /// Of the body.
    pub sha256: &'a [u8],
    /// What the signer means by it.
    pub meaning: &'a str,
    pub principal: &'a str,
    pub key_id: Uuid,
    /// Microseconds since 1970.
    pub signed_at: i64,
}

/// The canonical text that is signed.
pub fn signature_payload(signature: &Signature<'_>) -> String {
    v1(signature)
}

/// The text that was signed under a version, or nothing for one that this release does not know.
pub fn signature_payload_of(version: u16, signature: &Signature<'_>) -> Option<String> {
    (version == 1).then(|| v1(signature))
}

fn v1(signature: &Signature<'_>) -> String {
    canonical::to_string(&json!({
        "domain": "chancery.kb.v1",
        "signature_id": signature.signature_id,
        "path": signature.path,
        "revision": signature.revision,
        "sha256": hex::encode(signature.sha256),
        "meaning": signature.meaning,
        "principal": signature.principal,
        "key_id": signature.key_id,
        "signed_at": signature.signed_at,
    }))
}
