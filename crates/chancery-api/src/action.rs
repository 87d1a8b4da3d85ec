//! What can be done to something, as the database judges it for who asks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A call that the machine names from where the thing stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Action {
    pub name: String,
    /// The name of the row of the machine; in the inbox what it is called in words.
    pub label: String,
    /// The same words in Vietnamese, where there are words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label_vi: Option<String>,
    /// Where it leads.
    pub to: String,
    /// The class that who asks would act in.
    pub actor_class: String,
    pub allowed: bool,
    /// What stands against it.
    pub problems: Vec<Value>,
    /// What the caller still has to bring with it.
    pub needs: Vec<Value>,
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
