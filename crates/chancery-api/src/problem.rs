//! Answers that are no: problem documents as RFC 9457 has them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Why not.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Problem {
    /// `urn:chancery:fault:NAME` or `urn:chancery:refusal:CODE`.
    #[serde(rename = "type")]
    pub kind: String,
    /// One sentence.
    pub title: String,
    pub status: u16,
    /// The word for programs.
    pub problem: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// The code of a refusal by the database.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// Everything that stands against it, with its facts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<Map<String, Value>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// Where more is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub more: Option<String>,
    /// What has to be signed first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to_sign: Option<ToSign>,
    /// For the log of the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
}

/// What the caller signs with its own key before it asks again: the same request, with the headers `Chancery-Key`,
/// `Chancery-Signed-At` and one `Chancery-Signature` a statement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToSign {
    pub key_id: crate::id::KeyId,
    /// Sent back as `Chancery-Signed-At`: microseconds since 1970.
    pub signed_at: i64,
    pub statements: Vec<Statement>,
}

/// One thing to sign.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Statement {
    pub payload_type: String,
    /// What a person reads before signing: canonical JSON.
    pub payload: String,
    /// The bytes that ed25519 signs (DSSE), base64.
    pub bytes: String,
}
