//! The knowledge base.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::id::{KeyId, SignatureId};
use crate::page::Page;
use crate::route::{Access, Endpoint, Method, Nothing, Route};

const READ: Access = Access::Permission("kb.read");
const WRITE: Access = Access::Permission("kb.write");

/// Which documents.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KbQuery {
    /// The document at this path and everything below it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 400))]
    pub prefix: Option<String>,
    /// `next` of the page before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 600))]
    pub after: Option<String>,
    /// At most so many; 50 when it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 500))]
    pub limit: Option<u16>,
}

/// A revision without its text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Revision {
    pub path: String,
    pub revision: i32,
    pub kind: String,
    /// Hex.
    pub sha256: String,
    pub bytes: i64,
    pub author: String,
    pub created_at: String,
    /// How many signatures stand under it.
    pub signatures: i64,
}

/// A signature under a revision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KbSignature {
    pub signature_id: SignatureId,
    pub signer: String,
    pub meaning: String,
    pub key_id: KeyId,
    /// Hex.
    pub public_key: String,
    /// What was signed: canonical JSON.
    pub signature_payload: String,
    /// Hex.
    pub signature: String,
    pub recorded_at: String,
}

/// A revision with its text and what stands under it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KbDocument {
    #[serde(flatten)]
    pub revision: Revision,
    pub body: String,
    pub signed: Vec<KbSignature>,
}

/// Which revision of a document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WhichRevision {
    #[schemars(length(min = 1, max = 400))]
    pub path: String,
    /// The newest one when it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub revision: Option<i32>,
}

/// A text that is to be the newest revision of its path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Put {
    #[schemars(length(min = 1, max = 400))]
    pub path: String,
    /// What it is, such as `note` or `report`; `note` when it is left out.
    #[serde(default)]
    #[schemars(length(max = 100))]
    pub kind: Option<String>,
    pub body: String,
    /// Only needed when the caller's first class is not the one to write in.
    #[serde(default)]
    #[schemars(length(max = 100))]
    pub actor_class: Option<String>,
}

/// A signature that is to stand under a revision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Sign {
    #[schemars(length(min = 1, max = 400))]
    pub path: String,
    /// Named, so that nobody signs a text that they did not read.
    #[schemars(range(min = 1))]
    pub revision: i32,
    /// What the signer means by it, such as `approved`.
    #[schemars(length(min = 1, max = 200))]
    pub meaning: String,
    /// Only needed when the caller's first class is not the one to sign in.
    #[serde(default)]
    #[schemars(length(max = 100))]
    pub actor_class: Option<String>,
}

/// A revision that stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Written {
    pub path: String,
    pub revision: i32,
    pub kind: String,
    /// Hex.
    pub sha256: String,
    pub author: String,
    /// Done before; nothing was done twice.
    pub replayed: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature_id: Option<SignatureId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signer: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub meaning: Option<String>,
}

/// Which document to check.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VerifyQuery {
    /// All of them when it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 400))]
    pub path: Option<String>,
}

/// Something that does not fit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Mismatch {
    pub table: String,
    pub key: String,
    /// Which rule does not hold.
    pub rule: String,
    pub what: String,
}

/// Whether texts, digests and signatures fit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Verified {
    pub ok: bool,
    pub revisions: u64,
    pub signatures: u64,
    pub mismatches: Vec<Mismatch>,
}

pub const LIST: Endpoint<KbQuery, Nothing, Page<Revision>> =
    Endpoint::get("kb", "/v1/kb", READ, "The newest revision of each document, by path.");
pub const DOCUMENT: Endpoint<WhichRevision, Nothing, KbDocument> = Endpoint::get(
    "kb_document",
    "/v1/kb/document",
    READ,
    "A revision with its text and signatures. The ETag is its number.",
);
pub const PUT: Endpoint<Nothing, Put, Written> = Endpoint::post(
    "put_kb_document",
    "/v1/kb/document",
    WRITE,
    "Write a revision. With If-Match (0 for a new document) it is refused when there is a newer one. The same text again changes nothing, so it needs no key.",
)
.by(Method::Put)
.keyless();
pub const SIGN: Endpoint<Nothing, Sign, Written> = Endpoint::post(
    "sign_kb_document",
    "/v1/kb/signatures",
    WRITE,
    "Put one's name under a revision.",
)
.signed()
.status(201);
pub const VERIFY: Endpoint<VerifyQuery, Nothing, Verified> = Endpoint::get(
    "verify_kb",
    "/v1/kb/verify",
    READ,
    "Whether texts, digests and signatures fit, computed anew.",
);

pub(crate) const ROUTES: &[&Route] =
    &[&LIST.route, &DOCUMENT.route, &PUT.route, &SIGN.route, &VERIFY.route];
