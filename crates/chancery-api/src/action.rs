//! What can be done to a thing, judged for who asks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Something that can be done, and whether the caller may: told by the function that would do it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Action {
    /// The word that a request names it by.
    pub name: String,
    pub label: String,
    /// The state that it leads to, where it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// The class that it is done in.
    pub actor_class: String,
    pub allowed: bool,
    /// What stands against it, each with its code and facts.
    pub problems: Vec<Map<String, Value>>,
    /// What the caller still has to bring.
    #[serde(default)]
    pub needs: Vec<Map<String, Value>>,
    /// The command that does it, where this API is not the way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
}

/// A text in both languages.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Title {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub en: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vi: Option<String>,
}

/// A move of the log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Logged {
    pub seq: i64,
    pub at: String,
    #[serde(rename = "from", alias = "from_state")]
    pub from: Option<String>,
    #[serde(rename = "to", alias = "to_state")]
    pub to: String,
    pub facet: Option<String>,
    pub principal: String,
    pub actor_class: String,
    #[serde(rename = "call", alias = "trigger_ref")]
    pub call: String,
    pub reason: Option<String>,
    pub evidence: Value,
    pub signed: bool,
}
