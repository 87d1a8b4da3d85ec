//! What can be done to a thing, judged for who asks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Something that can be done, and whether the caller may: told by the function that would do it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
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
