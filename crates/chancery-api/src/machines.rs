//! Machines: states and the moves between them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::page::{Page, PageQuery};
use crate::route::{Access, Endpoint, Nothing, Route, Shape};

const READ: Access = Access::Permission("machine.read");

/// A version of a machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Machine {
    /// `NAME@VERSION`.
    pub state_machine_id: String,
    pub scope: String,
    pub name: String,
    pub version: String,
    /// New runs are of this version.
    pub active: bool,
    pub description: String,
    pub initial_state: String,
    pub states: i64,
    pub transitions: i64,
    /// Hex.
    pub definition_sha256: String,
}

/// A version of a machine with all its rules.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MachineRules {
    #[serde(flatten)]
    pub machine: Machine,
    /// Guards that the definition names and nobody registered: until then it cannot be active.
    pub guards_not_registered: Vec<String>,
    /// Events, guards, states, transitions, invariants and messages, as they were applied.
    pub definition: Map<String, Value>,
}

/// Which version of a machine.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WhichVersion {
    /// The active one when it is left out, or else the newest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 100))]
    pub version: Option<String>,
}

pub const MACHINES: Endpoint<PageQuery, Nothing, Page<Machine>> =
    Endpoint::get("machines", "/v1/machines", READ, "Machines and their versions, by name.");
pub const MACHINE: Endpoint<WhichVersion, Nothing, MachineRules> = Endpoint::get(
    "machine",
    "/v1/machines/{name}",
    READ,
    "A machine with its states and transitions. The ETag is the digest of its definition.",
);
pub const DIAGRAM: Endpoint<WhichVersion, Nothing, String> = Endpoint::get(
    "machine_diagram",
    "/v1/machines/{name}/diagram",
    READ,
    "A machine as a page of Markdown with a mermaid diagram.",
)
.shape(Shape::Text);

pub(crate) const ROUTES: &[&Route] = &[&MACHINES.route, &MACHINE.route, &DIAGRAM.route];
